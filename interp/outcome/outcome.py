"""Outcomes: how a run ended, as data, and the errors that describe it.

S12 A run ends in one of five ways, decided in this order:
    Broken      a graph that breaks the rules was run all the same, and S4 was breached
    Exhausted   a limit would have been exceeded
    Trapped     the machine became quiescent (or was told to stop at a trap), and at least one firing had trapped
    Returned    all results have come
    Deadlocked  the machine became quiescent, and a result is missing
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from typing import Literal as Word

from ...core.display import PlayerMixin, SvgReprMixin
from ...core.errors import Broken, Deadlock, Exhausted, TagloomError, Trap, Usage, plural
from ...core.frontend.trace.pytree import LEAF, TreeDef, unflatten_result
from ...core.graph.graph import Edge, Graph
from ...core.ops import effects
from ...core.ops.op import describe_trapping_element
from ...core.tag import Site, Tag
from ...core.types import OPAQUE_CLASSES, DeadTokenValue, Handle
from ...core.value import Value, abbreviate, format_value
from ..machine.cells import CellWrite
from ..machine.event import CellAddress, Event, Token
from ..machine.state import State
from .critical_path import CriticalFiring, critical_path, time_on
from .deadlock import DeadlockCause, array_name, deadlock_cause, describe_cause
from .program_order import program_order
from .residue import ResidueToken, collect_residue
from .statistics import Stats, activations
from .timeline import TimelineEntry
from .worker_lanes import WorkerLanes

Status: TypeAlias = Word["Broken", "Exhausted", "Trapped", "Returned", "Deadlocked"]


class ClusterUse(NamedTuple):
    """How a run used its workers.

    `messages` has the number of messages sent since the last rollback, by class (`engines/distributed/messages.py`);
    `deaths` is the number of workers that died and were replaced; `devices` are the devices of the program, in the
    order of their workers. `timeline` has what they and the driver have done, by time, if that was recorded. If the run
    kept events, `lanes` has the worker of each. `unmet_constraints` are the constraints by `tl.device` that a soft
    placement did not keep, each with the device of its nodes. `machine` is that of the workers: `reference`, or `fast`
    for compiled ones.
    """

    workers: int
    messages: Mapping[str, int]
    checkpoints: int
    deaths: int
    devices: tuple[str, ...] = ()
    timeline: tuple[TimelineEntry, ...] = ()
    lanes: WorkerLanes | None = None
    unmet_constraints: tuple[str, ...] = ()
    machine: str = "reference"


@dataclass(frozen=True, slots=True)
class Outcome(SvgReprMixin, PlayerMixin):
    """The outcome of a run.

    `results` has None for a missing result. `traps` are in program order. `events` exist if the run kept them. `error`
    is what `fn(...)` raises; None if the run returned.
    """

    status: Status
    graph: Graph = field(repr=False)
    results: tuple[Value | None, ...]
    missing: tuple[int, ...]
    structure: TreeDef = field(repr=False)
    """How the results nest, as the function returned them."""
    measured_stats: Stats | None = field(repr=False)
    """None if the engine counts nothing."""
    traps: tuple[TagloomError, ...] = field(repr=False)
    residue: Sequence[ResidueToken] = field(repr=False)
    """The tokens left over, in program order; for a large run, a sequence that is built on first access."""
    open_activations: int
    engine: str
    schedule: str
    error: TagloomError | None
    kept_events: Sequence[Event] | None = field(default=None, repr=False)
    """The events, if the run kept them; if only the last ones, possibly a sequence that is built on first access."""
    first_kept: int = 0
    """The number of steps before the first event kept: 0 if all or none are kept."""
    trap_events: tuple[Event, ...] = field(default=(), repr=False)
    """The firings behind `traps`."""
    log: Path | None = None
    """The file that the run wrote its events to."""
    cores: int = 1
    """The number of processor cores that the run used."""
    cluster: ClusterUse | None = field(default=None, repr=False)
    """How the run used its workers, if it had any."""

    @property
    def has_single_result(self) -> bool:
        """Whether the function returns a single value, not a nest of values."""
        return self.structure == LEAF

    @property
    def value(self) -> Any:
        """The result, nested as the function returned it; raises the run's error where a part is missing."""
        if self.missing:
            assert self.error is not None
            raise self.error
        return unflatten_result(self.structure, self.results[: -len(self.structure.assigned_names) or None])

    @property
    def variables(self) -> dict[str, Value | None]:
        """The final values of the variables that the function assigns, by name. They are assigned only if the run
        returned."""
        return dict(zip(self.structure.assigned_names, self.results[self.structure.size :], strict=True))

    @property
    def stats(self) -> Stats:
        """The measures of the run; raises Usage where the engine does not count."""
        if self.measured_stats is None:
            raise Usage(
                f"this run of engine {self.engine} computed results only, and measured nothing",
                hint='engine="reference" measures a run',
            )
        return self.measured_stats

    @property
    def firings(self) -> int:
        """The work: the number of firings."""
        return self.stats.firings

    @property
    def has_double_write(self) -> bool:
        """Whether a cell was stored to more than once: its value, and so possibly other results, depended on the
        schedule."""
        return any(effects.SECOND_PUT_MESSAGE in str(event.trap) for event in self.trap_events)

    @property
    def events(self) -> Sequence[Event]:
        """The events of the run; with `keep=N`, the last N, from number `first_kept` on. Raises Usage if none were
        kept."""
        if self.kept_events is None and self.log is not None:
            raise Usage("this run wrote its events to a file", got=self.log, hint=f'tl.read_events("{self.log}")')
        if self.kept_events is None:
            raise Usage("this run kept no events", hint='run it with keep="events"')
        return self.kept_events

    @property
    def _all_events(self) -> Sequence[Event]:
        """All events; raises Usage if the run did not keep them all."""
        if self.first_kept:
            got = f"the last {len(self.events):,}, from step {self.first_kept:,} on"
            raise Usage("this run did not keep all events", got=got, hint='run it with keep="events"')
        return self.events

    def values(self, node: str) -> dict[Tag, Value]:
        """The values that the first output of a node sent, by tag.

        `node` is a name as in the graph: `add`, or `fib.add` where several functions have one. Raises Usage where no
        node, or more than one, has this name, and where the run did not keep all events.
        """
        events, node_number = self._all_events, self.graph.only(node)
        return {
            event.token.tag: value
            for event in events
            if event.is_firing and event.token.node == node_number
            for output, value in event.outputs
            if output == 0
        }

    def activations(self) -> dict[str, int]:
        """How often each function was called, the first call included."""
        return activations(self.graph, self.stats)

    def critical_path(self) -> tuple[CriticalFiring, ...]:
        """A longest chain of firings, in which each firing uses a result of the previous one; it is the same under
        every schedule. Raises Usage if the run did not keep all events."""
        return critical_path(self.graph, self._all_events)

    def time_on(self, processors: float) -> int:
        """T_p: the time of the run on `processors`, one unit per firing, by greedy list scheduling. Raises Usage if the
        run did not keep all events, or if `processors` is neither a positive integer nor infinite."""
        return time_on(self.graph, self._all_events, processors)


def value_or_raise(outcome: Outcome) -> Any:
    """The value of an outcome; raises its error if the run did not return, and KeyboardInterrupt if Ctrl-C ended it."""
    if isinstance(outcome.error, Exhausted) and outcome.error.limit == "interrupt":
        raise KeyboardInterrupt from outcome.error
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


def value_outcome(
    graph: Graph,
    structure: TreeDef,
    engine: str,
    results: Sequence[Value] | None,
    error: TagloomError | None = None,
    trap_events: tuple[Event, ...] = (),
) -> Outcome:
    """The outcome of an engine without tokens: its results, or the trap or limit that ended the run.

    It has no statistics, no residue and no events.
    """
    status: Status = "Returned" if results is not None else "Trapped" if isinstance(error, Trap) else "Exhausted"
    count = len(graph.results)
    return Outcome(
        status=status,
        graph=graph,
        results=(None,) * count if results is None else tuple(results),
        missing=tuple(range(count)) if results is None else (),
        structure=structure,
        measured_stats=None,
        traps=(error,) if isinstance(error, Trap) else (),
        residue=(),
        open_activations=0,
        engine=engine,
        schedule="sequential",
        error=error,
        trap_events=trap_events,
    )


def build_outcome(
    state: State,
    stats: Stats,
    stop_error: TagloomError | None,
    until: str,
    *,
    residue_override: Sequence[ResidueToken] | None = None,
    open_activations: int | None = None,
    **details: Any,
) -> Outcome:
    """The outcome of a run that ended in this state. `stop_error` is the Broken or Exhausted error that ended it, if
    any, and `until` the option of the run. `residue_override` and `open_activations` are for engines that export no
    activation records into the state."""
    graph = state.graph
    missing = tuple(position for position in range(len(graph.results)) if position not in state.results)
    trap_events = _collect_trap_events(state)
    traps = _build_traps(state, trap_events)
    residue = collect_residue(state) if residue_override is None else residue_override
    status, error = decide_status(
        graph, stop_error, missing, [] if until == "result" and not missing else traps, residue
    )
    return Outcome(
        status=status,
        graph=graph,
        results=tuple(state.results.get(position) for position in range(len(graph.results))),
        missing=missing,
        measured_stats=stats,
        traps=tuple(traps),
        residue=residue,
        open_activations=len(state.records) if open_activations is None else open_activations,
        error=error,
        trap_events=trap_events,
        **details,
    )


def decide_status(
    graph: Graph,
    error: TagloomError | None,
    missing: tuple[int, ...],
    traps: Sequence[TagloomError],
    residue: Sequence[ResidueToken],
) -> tuple[Status, TagloomError | None]:
    """S12."""
    if isinstance(error, Broken):
        return "Broken", error
    if error is not None:
        if not missing:
            error.add_note('  all its results had arrived: `--until result` (until="result") stops there')
        return "Exhausted", error
    if traps:
        return "Trapped", traps[0]
    if not missing:
        return "Returned", None
    return "Deadlocked", build_deadlock(graph, missing, residue)


def _collect_trap_events(state: State) -> tuple[Event, ...]:
    """The firings that trapped, in program order. All second stores to one cell count as one trap, at the store that is
    second in program order."""
    events = [event for event in state.trap_events if not conflicting_writes(state, event)]
    conflicts = {
        event.inputs[:2]: writes
        for event in state.trap_events
        if event.inputs and (writes := conflicting_writes(state, event))
    }
    events += [second_write_event(state.graph, writes) for writes in conflicts.values()]
    ranks = program_order(state.graph, ((event.token.tag, event.token.node) for event in events))
    return tuple(sorted(events, key=lambda event: ranks[event.token.tag, event.token.node]))


def conflicting_writes(state: State, event: Event) -> tuple[CellWrite, ...]:
    """All stores to the cell of an event that trapped because the cell was full; empty if it trapped for another
    reason."""
    if state.graph.nodes[event.token.node].op != "store" or event.inputs is None:
        return ()
    handle, number, _ = event.inputs
    return state.cells.blocks[handle].writes.get(number, ())  # type: ignore[index, arg-type]


def second_write_event(graph: Graph, writes: tuple[CellWrite, ...]) -> Event:
    """The event of the store at which a sequential evaluation would trap, whichever store trapped in this run."""
    ranks = program_order(graph, ((write.tag, write.node) for write in writes))
    second = sorted(writes, key=lambda write: ranks[write.tag, write.node])[1]
    trap = effects.second_put_trap_message(second.inputs[1])  # type: ignore[arg-type]
    token = Token(second.node, 0, second.tag, second.inputs[0])
    return Event(token, 0, second.inputs, (), (), trap, (), False)


_MAX_WRITES_LISTED = 16
"""The most stores to one cell that the error for a trap lists."""


def _build_traps(state: State, trap_events: Sequence[Event]) -> list[Trap]:
    descriptions, traps = describe_sites(state.graph), []
    for event in trap_events:
        error = _build_trap(state.graph, event, descriptions)
        writes = conflicting_writes(state, event)
        ranks = program_order(state.graph, ((write.tag, write.node) for write in writes))
        for write in sorted(writes, key=lambda write: ranks[write.tag, write.node])[:_MAX_WRITES_LISTED]:
            node = state.graph.nodes[write.node]
            error.add_note(f"  {abbreviate(write.inputs[2])} put by {node} ({node.origin}) under {write.tag}")
        if len(writes) > _MAX_WRITES_LISTED:
            error.add_note(f"  and {len(writes) - _MAX_WRITES_LISTED:,} more")
        traps.append(error)
    return traps


def build_trap(graph: Graph, event: Event) -> Trap:
    """The error for a firing that trapped, except for a second store to a cell."""
    return _build_trap(graph, event, describe_sites(graph))


def _build_trap(graph: Graph, event: Event, descriptions: dict[Site, str]) -> Trap:
    """S5: the error for a trap, with its operands and call stack."""
    assert event.inputs is not None
    node = graph.nodes[event.token.node]
    operands = event.inputs[: len(event.inputs) - node.has_trigger]
    error = Trap(
        f"{event.trap} at node {node}",
        rule="S5",
        where=node.origin,
        tag=event.token.tag,
        got=f"{node.op} {', '.join(abbreviate_value(graph, operand) for operand in operands)}",
        python=effects.trap_class(node.op, event.trap or ""),
    )
    element = describe_trapping_element(node.op, operands, node.attributes, event.trap or "")
    for line in (*element, *describe_call_stack(graph, event.token.tag, descriptions)):
        error.add_note(line)
    return error


def describe_call_stack(graph: Graph, tag: Tag, descriptions: dict[Site, str]) -> list[str]:
    """A tag as a call stack, innermost first, one line per call or iteration, with the `descriptions` of sites. A deep
    stack is cut to the inner lines and the root, so that the cost does not grow with depth."""
    count = tag.depth if tag.depth <= 12 else 10
    lines = [
        f"  in iteration {step.iteration} of {descriptions[step.site]}"
        if step.site.kind == "loop"
        else f"  in {descriptions[step.site]}"
        for step in islice(tag.self_and_ancestors(), count)
    ]
    if count < tag.depth:
        lines.append(f"  ... {tag.depth - count:,} more ...")
    return [*lines, f"  in {graph.name}"]


def describe_sites(graph: Graph) -> dict[Site, str]:
    """A line of a call stack for each site: the function that is called or the loop that runs, and where."""
    callees = dict(graph.calls)
    return {
        node.site: f"{callees.get(node.site)}, called by {node.site} ({node.origin})"
        if node.op == "call"
        else f"{node.site} ({node.origin})"
        for node in graph.nodes
        if node.site is not None and node.op in ("call", "enter") and not node.phase
    }


def build_deadlock(graph: Graph, missing: tuple[int, ...], residue: Sequence[ResidueToken]) -> Deadlock:
    """The error for a deadlock. If reads are deferred, it begins with the cell that nothing fills, and the reads that
    lead to it; otherwise it lists the waiting tokens, and the nodes that should have sent the missing ones."""
    cause = deadlock_cause(graph, missing, residue)
    throttled = next((token for token in residue if isinstance(token.blocked_on, int)), None)
    error = Deadlock(
        "the run became quiescent, and results are missing",
        rule="S12",
        where=graph.name,
        required=plural(len(graph.results), "result"),
        got=f"{len(graph.results) - len(missing):,}, and {plural(len(residue), 'waiting token')}",
        hint=_deadlock_hint(graph, residue, throttled, cause),
    )
    lines = [] if cause is None else [f"  {line}" for line in describe_cause(graph, cause)]
    if throttled is not None:
        assert isinstance(throttled.blocked_on, int)
        lines.append(f"  {throttled.tag} has not begun: {describe_bound(throttled.tag, throttled.blocked_on)}")
    if lines:
        error.excerpt = "\n".join(lines)
    else:
        for line in _describe_waiting_nodes(graph, residue):
            error.add_note(line)
    return error


def _describe_waiting_nodes(graph: Graph, residue: Sequence[ResidueToken]) -> Iterator[str]:
    """A line for each port that got no token, of the first nodes that wait."""
    sources = graph.sources()
    waiting_ports: dict[tuple[int, Tag], set[int]] = {}
    for token in residue:
        waiting_ports.setdefault((token.node, token.tag), set()).add(token.port)
    for (number, tag), ports in islice(waiting_ports.items(), 8):
        node = graph.nodes[number]
        line = f" ({node.location})" if node.location else ""
        for port in range(len(node.ports)):
            if node.ports[port] is None and port not in ports:
                senders = [str(graph.nodes[s.node]) for s in sources.get(Edge(number, port), []) if s.node >= 0]
                sender_text = " or ".join(senders) or "nothing"
                yield f"  {node}{line} waits for port {port} under {tag}, fed by {sender_text}"


def _deadlock_hint(
    graph: Graph, residue: Sequence[ResidueToken], throttled: ResidueToken | None, cause: DeadlockCause | None
) -> str:
    """A hint on how to fix a deadlock."""
    if throttled is not None:
        return f"try a larger bound on the iterations of {throttled.tag.site}: --k N, or k=N"
    if cause is not None:
        array = array_name(graph.nodes[cause.reads[-1].cell.handle.node])
        return (
            f"fill the cell of {array} with a value that does not depend on this read"
            if cause.is_cycle
            else f"fill {array}, or do not read it there"
        )
    if not residue:
        return "no token waits: one was never sent"
    return f"in `tagloom debug`, `why-not {graph.nodes[residue[0].node]} {residue[0].tag}` says where its token is"


def limit_exceeded(quantity: str, limit: str, number: float) -> Exhausted:
    """The error for an exceeded limit; `limit` is its name in Limits and, after `--max-`, on the command line."""
    option = "--timeout N" if limit == "seconds" else f"--max-{limit} N"
    error = Exhausted(
        f"the run exceeds the limit of {number:,} on {quantity}",
        rule="S12",
        hint=f"if the program ends, raise the limit: {option}, or limits=tl.Limits({limit}=N)",
    )
    error.limit = limit
    return error


def describe_value(graph: Graph, value: Value) -> str:
    """A value as a literal; for a handle, the node that made the cells and its tag; for a dead token, where it died."""
    if isinstance(value, DeadTokenValue):
        return f"dead, from {graph.nodes[value.node]}:{value.port} under {value.tag}"
    return f"{graph.nodes[value.node]} under {value.tag}" if isinstance(value, Handle) else format_value(value)


def abbreviate_value(graph: Graph, value: Value) -> str:
    """A value as `describe_value` writes it, with large arrays abbreviated."""
    return describe_value(graph, value) if isinstance(value, OPAQUE_CLASSES) else abbreviate(value)


def describe_cell(graph: Graph, cell: CellAddress) -> str:
    """A cell in words: its number, and the node that made it."""
    handle, number = cell
    return f"cell {number} of {graph.nodes[handle.node]}, made under {handle.tag}"


def describe_bound(tag: Tag, bound: int) -> str:
    """Why a token is throttled."""
    return f"iteration {tag.iteration - bound} is still busy, and the bound of {tag.site} is {bound}"
