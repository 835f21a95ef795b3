"""How a run ended, as data, and how to say it.

S12 A run ends in one of five ways, decided in this order:
    Broken      a graph that breaks the rules was run all the same, and S4 was breached
    Exhausted   a limit would have been exceeded
    Trapped     the machine became quiet (or was told to stop at a trap), and at least one firing had trapped
    Returned    all results have come
    Deadlocked  the machine became quiet, and a result is missing
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from typing import Literal as Word

from ...core.display import Drawn, Played
from ...core.errors import Broken, Deadlock, Exhausted, TagloomError, Trap, Usage, counted
from ...core.frontend.trace.pytree import LEAF, Structure, unflatten
from ...core.graph.graph import Edge, Graph
from ...core.ops import cells
from ...core.ops.op import culprit
from ...core.tag import Site, Tag
from ...core.value import Value, shortly
from ..machine.cells import Put
from ..machine.event import Cell, Event, Token
from ..machine.state import State
from .critical_path import Firing, critical_path, time_on
from .describe import bound_said, briefly, cell_said
from .program_order import program_order
from .shares import activations
from .statistics import Stats

Status: TypeAlias = Word["Broken", "Exhausted", "Trapped", "Returned", "Deadlocked"]


class Waiting(NamedTuple):
    """A token of the residue. It was delivered to a port of a node, and left without partners; or it stays at an empty
    cell, or is held by a bound."""

    node: int
    port: int
    tag: Tag
    value: Value
    stays: Cell | int | None = None
    """The cell at which it is parked, or the bound on the iterations of the loop that holds it."""


@dataclass(frozen=True, slots=True)
class Outcome(Drawn, Played):
    """What a run left behind.

    `results` has None where a result did not come. `traps` are in program order. `events` are there if the run
    was told to keep them. `error` is what `fn(...)` raises; None if the run returned.
    """

    status: Status
    graph: Graph = field(repr=False)
    results: tuple[Value | None, ...]
    missing: tuple[int, ...]
    structure: Structure
    """How the results nest, as the function returned them."""
    measured: Stats | None = field(repr=False)
    """None where an engine computes results without counting what that takes."""
    traps: tuple[TagloomError, ...] = field(repr=False)
    residue: Sequence[Waiting] = field(repr=False)
    """What was left waiting, in program order; of a large run a sequence that is made when it is looked at."""
    open_activations: int
    engine: str
    schedule: str
    error: TagloomError | None
    kept: Sequence[Event] | None = field(default=None, repr=False)
    """Of the last ones a sequence that is made, from the end backwards, when it is looked at."""
    first_kept: int = 0
    """How many steps were made before the first event that is kept: 0 where all are, or none."""
    trapped: tuple[Event, ...] = field(default=(), repr=False)
    """The firings that `traps` speaks of."""
    log: Path | None = None
    """Where the run was told to write its events."""
    cores: int = 1
    """How many cores of the processor ran it at once."""

    @property
    def single(self) -> bool:
        """Whether there is one result, rather than several that nest."""
        return self.structure == LEAF

    @property
    def value(self) -> Any:
        """The result, nested as the function returned it; raises how the run ended where a part is missing."""
        if self.missing:
            assert self.error is not None
            raise self.error
        return unflatten(self.structure, self.results[: -len(self.structure.behind) or None])

    @property
    def variables(self) -> dict[str, Value | None]:
        """What variables that the function assigns hold at the end, by name; they are kept where the run returned."""
        return dict(zip(self.structure.behind, self.results[self.structure.size :], strict=True))

    @property
    def stats(self) -> Stats:
        """What the run took; raises Usage where the engine does not measure it."""
        if self.measured is None:
            raise Usage(f"engine {self.engine} computes results, and measures nothing", hint='engine="reference" does')
        return self.measured

    @property
    def firings(self) -> int:
        """S1: how many nodes fired."""
        return self.stats.firings

    @property
    def puts_twice(self) -> bool:
        """Whether a cell was put more than once: its value was the schedule's choice, and so may the rest be."""
        return any(cells.SECOND_PUT in str(event.trap) for event in self.trapped)

    @property
    def events(self) -> Sequence[Event]:
        """The run, step by step, or of `keep=N` its end: the first of these is that of step `first_kept`, counted from
        0. Raises Usage if none were kept."""
        if self.kept is None and self.log is not None:
            raise Usage("this run wrote its events to a file", got=self.log, hint=f'tl.read_events("{self.log}")')
        if self.kept is None:
            raise Usage("this run kept no events", hint='run it with keep="events"')
        return self.kept

    @property
    def _whole(self) -> Sequence[Event]:
        """All events; raises Usage where only the last ones were kept."""
        if self.first_kept:
            got = f"the last {len(self.events):,}, from step {self.first_kept:,} on"
            raise Usage("this run did not keep all events", got=got, hint='run it with keep="events"')
        return self.events

    def values(self, node: str) -> dict[Tag, Value]:
        """What came out of a node, by tag: of its first output, wherever that sent something.

        `node` is a name as in the graph: `add`, or `fib.add` where several functions have one. Raises Usage where
        no node, or more than one, is called so, and where the run did not keep all events.
        """
        events, found = self._whole, self.graph.only(node)
        return {
            event.token.tag: value
            for event in events
            if event.fired and event.token.node == found
            for output, value in event.outputs
            if output == 0
        }

    def activations(self) -> dict[str, int]:
        """How often each function was called, the first call included."""
        return activations(self.graph, self.stats)

    def critical_path(self) -> tuple[Firing, ...]:
        """A longest chain of firings, each with an operand of the one before, the same under every schedule; raises
        Usage where the run did not keep all events."""
        return critical_path(self.graph, self._whole)

    def time_on(self, processors: float) -> int:
        """T_p: the time of the run's firings on so many processors, each of a unit, greedily; raises Usage where the
        run did not keep all events, and where `processors` is no number of them."""
        return time_on(self.graph, self._whole, processors)


def ending(
    state: State,
    stats: Stats,
    stopped: TagloomError | None,
    until: str,
    *,
    left: Sequence[Waiting] | None = None,
    open_activations: int | None = None,
    **details: Any,
) -> Outcome:
    """The outcome of a run that has ended in this state; `stopped` is the Broken or Exhausted that ended it, `until`
    what it was told to go on to. Where the state has no records, `left` is the residue, and `open_activations` says how
    many there were."""
    graph = state.graph
    missing = tuple(position for position in range(len(graph.results)) if position not in state.results)
    trapped = _trapped(state)
    traps = _traps(state, trapped)
    residue = _residue(state) if left is None else left
    status, error = _status(graph, stopped, missing, [] if until == "result" and not missing else traps, residue)
    return Outcome(
        status=status,
        graph=graph,
        results=tuple(state.results.get(position) for position in range(len(graph.results))),
        missing=missing,
        measured=stats,
        traps=tuple(traps),
        residue=residue,
        open_activations=len(state.records) if open_activations is None else open_activations,
        error=error,
        trapped=trapped,
        **details,
    )


def _status(
    graph: Graph,
    stopped: TagloomError | None,
    missing: tuple[int, ...],
    traps: Sequence[TagloomError],
    residue: Sequence[Waiting],
) -> tuple[Status, TagloomError | None]:
    """S12."""
    if isinstance(stopped, Broken):
        return "Broken", stopped
    if stopped is not None:
        if not missing:
            stopped.add_note('  its results had come all the same: `--until result` (until="result") stops there')
        return "Exhausted", stopped
    if traps:
        return "Trapped", traps[0]
    if not missing:
        return "Returned", None
    return "Deadlocked", _deadlock(graph, missing, residue)


def _residue(state: State) -> tuple[Waiting, ...]:
    found = [
        Waiting(node, port, tag, value)
        for tag, record in state.records.items()
        for node, held in record.waiting.items()
        for port, value in held.items()
    ]
    for handle, block in state.cells.blocks.items():
        for number, tokens in block.parked.items():
            found += [Waiting(*token, Cell(handle, number)) for token in tokens]
    for tag, entries in state.held.items():
        bound = state.bounds.get(tag.site, max(state.bounds.values()))  # another loop's, where rules are broken
        found += [Waiting(*token, bound) for _, token in entries]
    return in_order(state.graph, found)


def in_order(graph: Graph, found: Sequence[Waiting]) -> tuple[Waiting, ...]:
    """What was left waiting, in program order."""
    ranks = program_order(graph, ((waiting.tag, waiting.node) for waiting in found))
    return tuple(sorted(found, key=lambda waiting: (ranks[waiting.tag, waiting.node], waiting.port)))


def _trapped(state: State) -> tuple[Event, ...]:
    """The firings that trapped, in program order; of the puts to one cell, the second in program order."""
    events = [event for event in state.traps if not puts_of(state, event)]
    twice = {event.inputs[:2]: puts for event in state.traps if event.inputs and (puts := puts_of(state, event))}
    events += [_second(state.graph, puts) for puts in twice.values()]
    ranks = program_order(state.graph, ((event.token.tag, event.token.node) for event in events))
    return tuple(sorted(events, key=lambda event: ranks[event.token.tag, event.token.node]))


def puts_of(state: State, event: Event) -> tuple[Put, ...]:
    """All puts to a cell that was put to more than once, if that is what an event trapped on."""
    if state.graph.nodes[event.token.node].op != "store" or event.inputs is None:
        return ()
    handle, number, _ = event.inputs
    return state.cells.blocks[handle].puts.get(number, ())  # type: ignore[index, arg-type]


def _second(graph: Graph, puts: tuple[Put, ...]) -> Event:
    """The put at which a sequential evaluation would trap, whichever it was in this run."""
    ranks = program_order(graph, ((put.tag, put.node) for put in puts))
    second = sorted(puts, key=lambda put: ranks[put.tag, put.node])[1]
    trap = cells.second_put_trap(second.inputs[1])  # type: ignore[arg-type]
    token = Token(second.node, 0, second.tag, second.inputs[0])
    return Event(token, 0, second.inputs, (), (), trap, (), False)


_PUTS = 16
"""How many puts to one cell a trap lists."""


def _traps(state: State, trapped: Sequence[Event]) -> list[Trap]:
    callers, found = _callers(state.graph), []
    for event in trapped:
        error = _trap(state.graph, event, callers)
        puts = puts_of(state, event)
        ranks = program_order(state.graph, ((put.tag, put.node) for put in puts))
        for put in sorted(puts, key=lambda put: ranks[put.tag, put.node])[:_PUTS]:
            node = state.graph.nodes[put.node]
            error.add_note(f"  {shortly(put.inputs[2])} put by {node} ({node.where}) under {put.tag}")
        if len(puts) > _PUTS:
            error.add_note(f"  and {len(puts) - _PUTS:,} more")
        found.append(error)
    return found


def trap_of(graph: Graph, event: Event) -> Trap:
    """What to say of one firing that trapped, but for a second put."""
    return _trap(graph, event, _callers(graph))


def _trap(graph: Graph, event: Event, callers: dict[Site, str]) -> Trap:
    """S5: a trap, with its operands and the calls and iterations around it."""
    assert event.inputs is not None
    node = graph.nodes[event.token.node]
    operands = event.inputs[: len(event.inputs) - node.triggered]
    error = Trap(
        f"{event.trap} at node {node}",
        rule="S5",
        where=node.where,
        tag=event.token.tag,
        got=f"{node.op} {', '.join(briefly(graph, operand) for operand in operands)}",
    )
    which = culprit(node.op, operands, node.attributes, event.trap or "")
    for line in (*which, *_call_stack(graph, event.token.tag, callers)):
        error.add_note(line)
    return error


def _call_stack(graph: Graph, tag: Tag, callers: dict[Site, str]) -> list[str]:
    """A tag as a call stack, innermost first: a line a call or iteration. Where it is deep, only the inner ones and
    the root are there, so that it costs the same at any depth."""
    shown = tag.depth if tag.depth <= 12 else 10
    lines = [
        f"  in iteration {step.iteration} of {callers[step.site]}"
        if step.site.kind == "loop"
        else f"  in {callers[step.site]}"
        for step in islice(tag.steps(), shown)
    ]
    if shown < tag.depth:
        lines.append(f"  ... {tag.depth - shown:,} more ...")
    return [*lines, f"  in {graph.name}"]


def _callers(graph: Graph) -> dict[Site, str]:
    """What a call stack says of each site: which function is called or which loop runs, and where."""
    callees = dict(graph.calls)
    return {
        node.site: f"{callees.get(node.site)}, called by {node.site} ({node.where})"
        if node.op == "call"
        else f"{node.site} ({node.where})"
        for node in graph.nodes
        if node.site is not None and node.op in ("call", "enter") and not node.phase
    }


def _deadlock(graph: Graph, missing: tuple[int, ...], residue: Sequence[Waiting]) -> Deadlock:
    """What waits, for which port under which tag, and what should have fed it."""
    error = Deadlock(
        "the run became quiet, and results are missing",
        rule="S12",
        where=graph.name,
        required=counted(len(graph.results), "result"),
        got=f"{len(graph.results) - len(missing):,}, and {counted(len(residue), 'waiting token')}",
        hint=_way_out(residue),
    )
    sources = graph.sources()
    for waiting in [each for each in residue if each.stays is not None][:16]:
        error.add_note(_stays(graph, waiting))
    staying = {(waiting.node, waiting.tag) for waiting in residue if waiting.stays is not None}
    held: dict[tuple[int, Tag], set[int]] = {}
    for waiting in residue:
        if (waiting.node, waiting.tag) in staying:
            continue
        held.setdefault((waiting.node, waiting.tag), set()).add(waiting.port)
    for (number, tag), ports in list(held.items())[:8]:
        node = graph.nodes[number]
        line = f" ({node.location})" if node.location else ""
        for port in range(len(node.ports)):
            if node.ports[port] is None and port not in ports:
                makers = [str(graph.nodes[s.node]) for s in sources.get(Edge(number, port), []) if s.node >= 0]
                fed = " or ".join(makers) or "nothing"
                error.add_note(f"  {node}{line} waits for port {port} under {tag}, fed by {fed}")
    return error


def _way_out(residue: Sequence[Waiting]) -> str:
    """What may help against a deadlock."""
    if not residue:
        return "no token waits: one was never sent"
    held = [waiting for waiting in residue if isinstance(waiting.stays, int)]
    if held:
        return f"a larger bound on the iterations of {held[0].tag.site} may do: --k N, or k=N"
    return "`tagloom show` draws the graph"


def _stays(graph: Graph, waiting: Waiting) -> str:
    """Where a token stays: at which cell, or by which bound."""
    node = graph.nodes[waiting.node]
    line = f" ({node.location})" if node.location else ""
    if isinstance(waiting.stays, Cell):
        return f"  {node}{line} waits under {waiting.tag} for {cell_said(graph, waiting.stays)}, which nobody has put"
    assert waiting.stays is not None
    return f"  a token for {node}{line} is held under {waiting.tag}: {bound_said(waiting.tag, waiting.stays)}"


def exhausted(what: str, limit: str, number: float) -> Exhausted:
    """A limit was reached: `limit` is its name in Limits and, after `--max-`, on the command line."""
    option = "--timeout N" if limit == "seconds" else f"--max-{limit} N"
    error = Exhausted(
        f"the run exceeds the limit of {number:,} on {what}",
        rule="S12",
        hint=f"if the program ends, raise the limit: {option}, or limits=tl.Limits({limit}=N)",
    )
    error.limit = limit
    return error
