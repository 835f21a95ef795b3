"""Firings that the machine leaves to Python: traps, ops on arrays, cells, effects and random numbers.

What they do is the reference's rule for their node; the machine gets the values, and does what is left of the firing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ....core.ops.effect_op import ACTS, resource_of
from ....core.tag import Tag
from ....core.value import Value
from ...image.image import NODE, PORT, PORT_BITS, SITE, is_boxed
from ...image.opcodes import Code
from ...machine.cells import Heap
from ...machine.effects import Outputs
from ...machine.event import Cell, Closed, Event, Token
from ...machine.fire import Rule
from ...machine.state import State
from ...outcome.outcome import exhausted
from .registers import Given, Kind, Options, R
from .store import Store


class Delivery(NamedTuple):
    """The token that the machine stopped at, and what its node fires on."""

    number: int
    port: int
    frame: int
    word: int
    position: int
    inputs: tuple[Value, ...]


class Said(NamedTuple):
    """What events say of a firing that was done outside, and words do not: `Event` has what each is."""

    trap: str | None = None
    parked: Cell | None = None
    woken: tuple[Token, ...] = ()


class Outside:
    """What a run has besides its words: cells, the world, traps, and where parked tokens came from."""

    def __init__(self, store: Store, state: State) -> None:
        self.store = store
        self._state = state
        self.world = state.world
        self.cells = Heap()
        self.traps: list[Event] = []
        self.parked: dict[tuple[int, int, Tag], tuple[int, int]] = {}
        """The words of each parked token, as they were in the flight."""
        self.said: list[Said] = []
        """What the journal, where there is one, does not have of the firings in it that were done outside."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Those of all nodes, worked out when they are asked for."""
        return self._state.rules

    def delivery(self) -> Delivery:
        """The token that the machine stopped at."""
        store, image = self.store, self.store.image
        r = store.registers
        position = int(r[R.POSITION])
        token, word = store.ring[(r[R.HEAD] + position) & (len(store.ring) - 1)].tolist()
        at, frame = token & (1 << PORT_BITS) - 1, token >> PORT_BITS
        number = int(image.ports[at, PORT.NODE])
        first, rule = image.first_port[number], self._state.rules[number]
        port = at - first
        if rule.operands is None:
            inputs: list[Any] = [store.value(word, image.port_types[at])]
        else:
            inputs = [
                store.value(
                    word if other == port else self._waits(frame, first + other), image.port_types[first + other]
                )
                if rule.node.ports[other] is None
                else literal
                for other, literal in enumerate(rule.operands)
            ]
        return Delivery(number, port, frame, word, position, tuple(inputs))

    def fire(self, given: Delivery) -> None:
        """Do what the node does, and tell the machine; raises MemoryError where the result does not fit."""
        rule, store = self._state.rules[given.number], self.store
        tag = store.tag(given.frame) if rule.acts or rule.trap or _draws(rule) else None
        token = Token(given.number, given.port, tag, store.value(given.word, self._type(given)))  # type: ignore[arg-type]
        if resource_of(rule.node.op) is not None:
            self._check(rule, given, len(rule.edges))
        trap = None if rule.trap is None else rule.trap(given.inputs)
        outputs: Outputs = ()
        woken: tuple[Token, ...] = ()
        if rule.acts is not None:
            outputs, trap, parked, woken = rule.acts(self.cells.blocks, self.world, token, given.inputs)
            if parked is not None:
                self.cells.park(parked, token)
                self._say(Said(parked=parked))
                self.parked[token[:3]] = (given.frame << PORT_BITS | self._at(given), given.word)
                self._tell(Kind.PARKED)
                return
        elif trap is None:
            outputs = rule.compute(given.inputs, tag)  # type: ignore[arg-type]
        self._check(rule, given, len(outputs))
        if trap is not None or rule.acts is not None:
            self._note(rule, token, given, outputs, trap, woken)
        self._say(Said(trap, woken=woken))
        self._wake(woken)
        self._send(rule, given, outputs)

    def _say(self, said: Said) -> None:
        if self.store.dying is not None:
            self.said.append(said)

    def _check(self, rule: Rule, given: Delivery, outputs: int) -> None:
        """Raises Exhausted where a firing would be one too many, or the tokens that it sends, from so many outputs."""
        store = self.store
        most = int(store.options[Options.FIRINGS])
        if store.registers[R.FIRINGS] >= most:
            raise exhausted("firings", "firings", most)
        site = store.image.site_list[store.site_of(given.frame)]
        ways = zip(rule.edges[:outputs], rule.routes[:outputs], strict=True)
        sent = sum(len(edges if routes is None else routes.get(site, routes[None])) for edges, routes in ways)
        limit = int(store.options[Options.TOKENS])
        if store.live + sent - rule.needs > limit:
            raise exhausted("tokens at once", "tokens", limit)

    def _note(
        self, rule: Rule, token: Token, given: Delivery, outputs: Outputs, trap: str | None, woken: tuple[Token, ...]
    ) -> None:
        """What the firing does to cells, and that it trapped: as an event, which is what those who ask later want."""
        closed = self._closed(rule, given) if trap is not None else ()
        ends = bool(self.store.registers[R.AHEAD] == 1)
        event = Event(token, given.position, given.inputs, outputs, (), trap, closed, ends, None, woken)
        if rule.acts is not None:
            self.cells.apply(event, rule.node.op)
        if trap is not None:
            self.traps.append(event)

    def note_released(self, count: int) -> None:
        """S16: the firing that trapped last has let so many held tokens go, which is known only afterwards."""
        store, image, found = self.store, self.store.image, []
        for step, token, word, *_ in store.held[store.due[:count]].tolist():
            at = token & (1 << PORT_BITS) - 1
            number, tag = int(image.ports[at, PORT.NODE]), store.tag(token >> PORT_BITS)
            value = store.value(word, image.port_types[at])
            found.append((step, Token(number, at - image.first_port[number], tag, value)))
        self.traps[-1] = self.traps[-1]._replace(released=tuple(found))

    def _closed(self, rule: Rule, given: Delivery) -> tuple[Closed, ...]:
        """S11: the activations that close where a node fires and sends nothing."""
        store, frame, closed = self.store, given.frame, []
        pending = store.pending(frame) - rule.needs
        fired = {given.number}
        while not pending:
            closed.append(Closed(store.tag(frame), frozenset(fired | self.fired(frame))))
            frame, fired = store.parent_of(frame), set()
            if not frame:
                break
            pending = store.pending(frame) - 1
        return tuple(closed)

    def fired(self, frame: int) -> set[int]:
        """The nodes that have fired in an activation."""
        image, memory = self.store.image, self.store.memory
        scope = image.sites[self.store.site_of(frame), SITE.SCOPE]
        members = image.members[scope]
        rows = image.nodes[members]
        return set(members[(memory[frame + rows[:, NODE.STATE]] & rows[:, NODE.FIRED]) != 0].tolist())

    def _wake(self, woken: tuple[Token, ...]) -> None:
        store = self.store
        store.fit_woken(len(woken))
        for position, token in enumerate(woken):
            store.woken[position] = self.parked.pop(token[:3])
        store.given[Given.WOKEN] = len(woken)
        store.fit_ring(len(woken) + store.image.fan)

    def _send(self, rule: Rule, given: Delivery, outputs: Outputs) -> None:
        """Tell the machine what comes out; objects get numbers, and those that were used up are let go."""
        words = [self.store.word(value, rule.node.outputs[output].type, 0) for output, value in outputs]
        self._tell((Kind.NONE, Kind.ONE, Kind.TWO)[len(words)], *words)
        if self.store.image.nodes[given.number, NODE.CODE] == Code.LEAVE:
            self._drop(rule, given)

    def _drop(self, rule: Rule, given: Delivery) -> None:
        store, image = self.store, self.store.image
        first = image.first_port[given.number]
        for port, literal in enumerate(rule.node.ports):
            if literal is None and is_boxed(image.port_types[first + port]):
                store.drop(given.word if port == given.port else self._waits(given.frame, first + port))

    def _waits(self, frame: int, at: int) -> int:
        """The operand that waits at a port."""
        return int(self.store.memory[frame + self.store.image.ports[at, PORT.WAIT]])

    def _tell(self, kind: Kind, *words: int) -> None:
        self.store.given[Given.KIND] = kind
        self.store.given[Given.FIRST : Given.FIRST + len(words)] = words

    def _type(self, given: Delivery) -> Any:
        return self.store.image.port_types[self._at(given)]

    def _at(self, given: Delivery) -> int:
        return self.store.image.first_port[given.number] + given.port


def _draws(rule: Rule) -> bool:
    """Whether a node draws random numbers, whose key is that of its tag."""
    return rule.node.op in ACTS and ACTS[rule.node.op].draw is not None
