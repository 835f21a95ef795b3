"""Host firings, which the machine leaves to Python: traps, ops on arrays, cells, effects and random numbers.

The reference's rule for the node computes the outputs; the machine then completes the firing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from ....core.ops.effects import EFFECT_OPS, resource_of
from ....core.ops.op import OPS, dynamic_size_count, is_undefined
from ....core.tag import Tag
from ....core.value import Value
from ...image.image import PORT_BITS, PORT_MASK, NodeColumn, PortColumn, SiteColumn, is_boxed
from ...image.opcodes import Opcode
from ...machine.cells import CellHeap
from ...machine.effects import Outputs
from ...machine.event import CellAddress, ClosedActivation, Event, Token
from ...machine.fire import FiringRule
from ...machine.state import State
from ...outcome.outcome import limit_exceeded
from ..long_ops import compute_abandonable, exceeds_memory, may_take_long
from .futures import Futures, has_few_elements
from .layout import HostResult, HostResultKind, MachineOption, Register
from .store import TokenStore


class HostDelivery(NamedTuple):
    """The token at which the machine stopped, and the operands of its node."""

    node: int
    port: int
    frame: int
    word: int
    position: int
    inputs: tuple[Value, ...]


class HostFiringNote(NamedTuple):
    """The fields of the event of a host firing that are not in the journal; see `Event`."""

    trap: str | None = None
    deferred_at: CellAddress | None = None
    woken_tokens: tuple[Token, ...] = ()
    woken_words: tuple[int, ...] = ()
    """The first word of each of these tokens: its frame and port."""


class HostFirings:
    """The state of a run outside the machine: cells, the world, traps, and the words of deferred reads."""

    def __init__(self, store: TokenStore, state: State) -> None:
        self.store = store
        self._state = state
        self.stop_reason: Callable[[], str | None] = lambda: None
        """Returns the reason, if any, to end the run during a long firing."""
        self.memory_limit = sys.maxsize
        self.world = state.world
        self.cells = CellHeap()
        self.traps: list[Event] = []
        self.deferred_words: dict[tuple[int, int, Tag], tuple[int, int]] = {}
        """The two words of the token of each deferred read, by node, port and tag."""
        self._small_nodes: dict[int, bool] = {}
        self.notes: list[HostFiringNote] = []
        """The notes on the host firings in the journal, if there is a journal."""

    @property
    def rules(self) -> tuple[FiringRule, ...]:
        """The rules of all nodes, computed on first use."""
        return self._state.rules

    def current_token(self) -> HostDelivery:
        """The token at which the machine stopped, without operands."""
        store, image = self.store, self.store.image
        r = store.registers
        position = int(r[Register.STOP_POSITION])
        token, word = store.ring[(r[Register.FLIGHT_HEAD] + position) & (len(store.ring) - 1)].tolist()
        port_index, frame = token & PORT_MASK, token >> PORT_BITS
        number = int(image.ports[port_index, PortColumn.NODE])
        return HostDelivery(number, port_index - image.first_port[number], frame, word, position, ())

    def current_delivery(self) -> HostDelivery:
        """The token at which the machine stopped, with the operands of its node."""
        return self.with_operands(self.current_token())

    def with_operands(self, delivery: HostDelivery) -> HostDelivery:
        """A token with the operands of its node."""
        store, image = self.store, self.store.image
        number, port, frame, word, *_ = delivery
        first, rule = image.first_port[number], self._state.rules[number]
        port_index = first + port
        if rule.operands is None:
            inputs: list[Any] = [store.to_value(word, image.port_types[port_index])]
        else:
            inputs = [
                store.to_value(
                    word if operand_port == port else self.waiting_word(frame, first + operand_port),
                    image.port_types[first + operand_port],
                )
                if rule.node.ports[operand_port] is None
                else literal
                for operand_port, literal in enumerate(rule.operands)
            ]
        return delivery._replace(inputs=tuple(inputs))

    def send_future(self, token: HostDelivery, futures: Futures) -> bool:
        """Have the machine send a future for the firing of this token, if it may; returns whether it does."""
        operands = futures.find_operands(token.node, self._port_index(token), token.frame, token.word)
        if operands is None:
            return False
        self.check_limits(self._state.rules[token.node], token, 1)
        self._write_result(HostResultKind.ONE_OUTPUT, futures.note(token.node, operands))
        return True

    def share_elements(self, delivery: HostDelivery, futures: Futures) -> None:
        """Let the machine make further firings on the array of this one, if it takes an element."""
        if delivery.inputs:
            port = self._port_index(delivery)
            futures.share_elements(delivery.node, delivery.frame, port, delivery.word, delivery.inputs[0])

    def fire(self, delivery: HostDelivery) -> None:
        """Perform the firing and pass its outputs to the machine; raises MemoryError if the result does not fit."""
        rule, store = self._state.rules[delivery.node], self.store
        tag = store.tag(delivery.frame) if rule.effect or draws_random(rule) else None
        token = Token(delivery.node, delivery.port, tag, store.to_value(delivery.word, self._port_type(delivery)))  # type: ignore[arg-type]
        if resource_of(rule.node.op) is not None:
            self.check_limits(rule, delivery, len(rule.edges))
        outputs: Outputs = ()
        woken_tokens: tuple[Token, ...] = ()
        if rule.effect is not None:
            outputs, trap, deferred_at, woken_tokens = rule.effect(
                self.cells.blocks, self.world, token, delivery.inputs
            )
            if deferred_at is not None:
                self.cells.defer(deferred_at, token)
                self._add_note(HostFiringNote(deferred_at=deferred_at))
                self.deferred_words[token[:3]] = (
                    delivery.frame << PORT_BITS | self._port_index(delivery),
                    delivery.word,
                )
                self._write_result(HostResultKind.DEFERRED_READ)
                return
        else:
            outputs, trap = self._compute(rule, delivery.node, delivery.inputs, tag)
            if trap is not None:
                token = token._replace(tag=store.tag(delivery.frame))
        self.check_limits(rule, delivery, len(outputs))
        if trap is not None or rule.effect is not None:
            self._apply_effects(rule, token, delivery, outputs, trap, woken_tokens)
        words = tuple(self.deferred_words[token[:3]][0] for token in woken_tokens)
        self._add_note(HostFiringNote(trap, woken_tokens=woken_tokens, woken_words=words))
        self._wake(woken_tokens)
        self._return_outputs(rule, delivery, outputs)

    def _compute(
        self, rule: FiringRule, node: int, inputs: tuple[Value, ...], tag: Tag | None
    ) -> tuple[Outputs, str | None]:
        """`FiringRule.fire`, where only nodes that draw random numbers need the tag. Raises OpAbandoned if a limit or
        Ctrl-C ends the run meanwhile."""
        row = OPS.get(rule.node.op)
        if row is not None and self._has_few_elements(node) and not is_undefined(row, inputs, rule.node.attributes):
            return rule.compute(inputs, tag), None  # type: ignore[arg-type]
        if exceeds_memory(rule.node, inputs, self.memory_limit):
            raise MemoryError
        if not may_take_long(rule.node.op, inputs, rule.node.outputs[0].type):
            return rule.fire(inputs, tag)  # type: ignore[arg-type]
        return compute_abandonable(lambda: rule.fire(inputs, tag), self.stop_reason)  # type: ignore[arg-type]

    def _has_few_elements(self, node: int) -> bool:
        """Whether a node of an op computes few elements, and its operands have the sizes that their types say: it does
        not take long, and traps only for its values."""
        if node not in self._small_nodes:
            image, graph_node = self.store.image, self.store.image.graph.nodes[node]
            first = image.first_port[node]
            types = *image.port_types[first : first + len(graph_node.ports)], graph_node.outputs[0].type
            is_small = not graph_node.has_trigger and all(map(has_few_elements, types))
            is_dynamic = dynamic_size_count(OPS[graph_node.op], dict(graph_node.attributes)) > 0
            self._small_nodes[node] = is_small and not is_dynamic and not OPS[graph_node.op].has_superlinear_work
        return self._small_nodes[node]

    def _add_note(self, note: HostFiringNote) -> None:
        if self.store.retired_objects is not None:
            self.notes.append(note)

    def check_limits(self, rule: FiringRule, delivery: HostDelivery, outputs: int) -> None:
        """Raises Exhausted if the firing, or the tokens that it sends from the first `outputs` outputs, would exceed a
        limit."""
        store = self.store
        limit = int(store.options[MachineOption.FIRING_LIMIT])
        if store.registers[Register.FIRINGS] >= limit:
            raise limit_exceeded("firings", "firings", limit)
        site = store.image.site_list[store.site_of(delivery.frame)]
        targets = zip(rule.edges[:outputs], rule.routes[:outputs], strict=True)
        sent = sum(len(edges if routes is None else routes.get(site, routes[None])) for edges, routes in targets)
        limit = int(store.options[MachineOption.TOKEN_LIMIT])
        if store.live_tokens + sent - rule.required_tokens > limit:
            raise limit_exceeded("tokens at once", "tokens", limit)

    def _apply_effects(
        self,
        rule: FiringRule,
        token: Token,
        delivery: HostDelivery,
        outputs: Outputs,
        trap: str | None,
        woken_tokens: tuple[Token, ...],
    ) -> None:
        """Apply the firing's effects on cells and record its trap, in the form of an event."""
        closed = self._closed_activations(rule, delivery) if trap is not None else ()
        ends = bool(self.store.registers[Register.WAVE_REMAINING] == 1)
        event = Event(token, delivery.position, delivery.inputs, outputs, (), trap, closed, ends, None, woken_tokens)
        if rule.effect is not None:
            self.cells.apply(event, rule.node.op)
        if trap is not None:
            self.traps.append(event)

    def record_releases(self, count: int) -> None:
        """S16: add the tokens that the last trap released to its event. The machine releases them after the firing."""
        store = self.store
        rows = store.throttled[store.release_rows[:count]].tolist()
        tokens = (
            (step, store.to_token(token & PORT_MASK, store.tag(token >> PORT_BITS), word))
            for step, token, word, *_ in rows
        )
        self.traps[-1] = self.traps[-1]._replace(released=tuple(tokens))

    def _closed_activations(self, rule: FiringRule, delivery: HostDelivery) -> tuple[ClosedActivation, ...]:
        """S11: the activations that close when a node fires and sends nothing."""
        store, frame, closed = self.store, delivery.frame, []
        pending = store.pending_count(frame) - rule.required_tokens
        fired_nodes = {delivery.node}
        while not pending:
            closed.append(ClosedActivation(store.tag(frame), frozenset(fired_nodes | self.fired_nodes(frame))))
            frame, fired_nodes = store.parent_of(frame), set()
            if not frame:
                break
            pending = store.pending_count(frame) - 1
        return tuple(closed)

    def fired_nodes(self, frame: int) -> set[int]:
        """The nodes that have fired in an activation."""
        image, memory = self.store.image, self.store.memory
        scope = image.sites[self.store.site_of(frame), SiteColumn.SCOPE]
        members = image.scope_members[scope]
        rows = image.nodes[members]
        return set(
            members[(memory[frame + rows[:, NodeColumn.MASK_WORD]] & rows[:, NodeColumn.FIRED_BIT]) != 0].tolist()
        )

    def _wake(self, tokens: tuple[Token, ...]) -> None:
        store = self.store
        store.reserve_woken(len(tokens))
        for position, token in enumerate(tokens):
            store.woken_tokens[position] = self.deferred_words.pop(token[:3])
        store.host_result[HostResult.WOKEN_COUNT] = len(tokens)
        store.reserve_ring(len(tokens) + store.image.max_fanout)

    def _return_outputs(self, rule: FiringRule, delivery: HostDelivery, outputs: Outputs) -> None:
        """Pass the outputs to the machine. New objects get numbers; operands lose a reference."""
        words = [self.store.to_word(value, rule.node.outputs[output].type, 0) for output, value in outputs]
        self._write_result(
            (HostResultKind.NO_OUTPUT, HostResultKind.ONE_OUTPUT, HostResultKind.TWO_OUTPUTS)[len(words)], *words
        )
        if self.store.image.nodes[delivery.node, NodeColumn.CODE] == Opcode.FALLBACK:
            self._release_operands(rule, delivery)

    def _release_operands(self, rule: FiringRule, delivery: HostDelivery) -> None:
        store, image = self.store, self.store.image
        first = image.first_port[delivery.node]
        for port, literal in enumerate(rule.node.ports):
            if literal is None and is_boxed(image.port_types[first + port]):
                store.drop_reference(
                    delivery.word if port == delivery.port else self.waiting_word(delivery.frame, first + port)
                )

    def waiting_word(self, frame: int, port_index: int) -> int:
        """The word of the operand that waits at a port."""
        return int(self.store.memory[frame + self.store.image.ports[port_index, PortColumn.OPERAND_WORD]])

    def _write_result(self, kind: HostResultKind, *words: int) -> None:
        self.store.host_result[HostResult.KIND] = kind
        self.store.host_result[HostResult.FIRST_OUTPUT : HostResult.FIRST_OUTPUT + len(words)] = words

    def _port_type(self, delivery: HostDelivery) -> Any:
        return self.store.image.port_types[self._port_index(delivery)]

    def _port_index(self, delivery: HostDelivery) -> int:
        return self.store.image.first_port[delivery.node] + delivery.port


def draws_random(rule: FiringRule) -> bool:
    """Whether a node draws random numbers, which need the key of its tag."""
    return rule.node.op in EFFECT_OPS and EFFECT_OPS[rule.node.op].draw is not None
