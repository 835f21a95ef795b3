"""The step that the machine stands before, as the event that the reference would make of it: as much as is asked."""

from __future__ import annotations

from ...image.image import NODE, PORT, PORT_BITS
from ...machine.event import Event, Token
from ...machine.state import State
from .host_firings import Outside
from .registers import R
from .store import Store


def coming(store: Store, outside: Outside) -> tuple[State, Event]:
    """The event, without the tokens that it sends and the activations that it closes; and a state that has done it, of
    which only the counts are there: of steps, of firings, and by node. The node does not act on cells or the world."""
    r, image = store.registers, store.image
    position = int(r[R.POSITION])
    words, word = store.ring[(r[R.HEAD] + position) & len(store.ring) - 1].tolist()
    at, frame = words & (1 << PORT_BITS) - 1, words >> PORT_BITS
    number = int(image.ports[at, PORT.NODE])
    token = Token(number, at - image.first_port[number], store.tag(frame), store.value(word, image.port_types[at]))
    event = Event(token, position, None, (), (), None, (), bool(r[R.AHEAD] == 1))
    full = int(image.nodes[number, NODE.FULL])
    bits = int(store.memory[frame + image.nodes[number, NODE.STATE]] | image.ports[at, PORT.BIT])
    if bits & full == full:
        rule, inputs = outside.rules[number], outside.delivery().inputs
        trap = None if rule.trap is None else rule.trap(inputs)
        outputs = () if trap is not None else rule.compute(inputs, token.tag)
        event = event._replace(inputs=inputs, outputs=outputs, trap=trap)
    state = State.__new__(State)
    state.counts, state.firings, state.steps = store.counts.tolist(), int(r[R.FIRINGS]), int(r[R.STEPS]) + 1
    if event.fired:
        state.counts[number] += 1
        state.firings += 1
    return state, event
