"""The machine's next step, as the event that the reference would make, as far as breakpoints need it."""

from __future__ import annotations

from ...image.image import PORT_BITS, NodeColumn, PortColumn
from ...machine.event import Event, Token
from ...machine.state import State
from .host_firings import HostFirings
from .registers import Register
from .store import TokenStore


def next_event(store: TokenStore, host: HostFirings) -> tuple[State, Event]:
    """The event, without the tokens that it sends and the activations that it closes; and a state that has done it, of
    which only the counts are there: of steps, of firings, and by node. The node does not act on cells or the world."""
    r, image = store.registers, store.image
    position = int(r[Register.STOP_POSITION])
    words, word = store.ring[(r[Register.FLIGHT_HEAD] + position) & len(store.ring) - 1].tolist()
    at, frame = words & (1 << PORT_BITS) - 1, words >> PORT_BITS
    number = int(image.ports[at, PortColumn.NODE])
    token = Token(number, at - image.first_port[number], store.tag(frame), store.to_value(word, image.port_types[at]))
    event = Event(token, position, None, (), (), None, (), bool(r[Register.WAVE_REMAINING] == 1))
    full = int(image.nodes[number, NodeColumn.OPERAND_MASK])
    bits = int(store.memory[frame + image.nodes[number, NodeColumn.MASK_WORD]] | image.ports[at, PortColumn.BIT])
    if bits & full == full:
        rule, inputs = host.rules[number], host.current_delivery().inputs
        trap = None if rule.find_trap is None else rule.find_trap(inputs)
        outputs = () if trap is not None else rule.compute(inputs, token.tag)
        event = event._replace(inputs=inputs, outputs=outputs, trap=trap)
    state = State.__new__(State)
    state.firings_by_node, state.firings, state.steps = (
        store.firing_counts.tolist(),
        int(r[Register.FIRINGS]),
        int(r[Register.STEPS]) + 1,
    )
    if event.fired:
        state.firings_by_node[number] += 1
        state.firings += 1
    return state, event
