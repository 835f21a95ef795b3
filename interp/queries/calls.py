"""The calls of a run: each with its arguments, its results, the calls that it makes, its loops and its cells.

A call is an activation of a function. Its own calls are those made in its body, in its loops included. A call of a
function that was differentiated has phases: its arguments and results, then the adjoints of the results and of the
arguments, and so on (docs/gradients.md). Hidden arguments and results, which only order effects, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

from ...core import dtypes
from ...core.graph.graph import Edge, Graph
from ...core.graph.nesting import LoopInfo, PhaseMap
from ...core.ops.effects import EFFECT_OPS, resource_of
from ...core.tag import ENVIRONMENT, ROOT, Site, Tag
from ...core.types import Handle, Type
from ...core.value import Value
from ..machine.event import Event, Token

Rank = tuple[tuple[int, int], ...]
"""The rank of a tag below a call: for each step, the first node of the site, and the iteration."""


class CarriedVariable(NamedTuple):
    """A loop variable: its merge, its name, and whether its last value is used after the loop."""

    merge: int
    name: str
    is_result: bool


class CellStore(NamedTuple):
    """The store that filled a cell: its event and tag, and the value."""

    event: int
    tag: Tag
    value: Value


@dataclass(slots=True, eq=False)
class LoopRun:
    """One run of a loop: for each iteration, the values of its variables by merge, without those that never change. If
    the loop ended, the last iteration is the iteration whose condition did not hold."""

    site: Site
    parent: Tag
    iterations: list[dict[int, Value]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class FunctionCall:
    """A call: the function, and its arguments and results by phase. A result that has not come is None."""

    tag: Tag
    function: str
    arguments: tuple[tuple[Value, ...], ...]
    results: tuple[tuple[Value | None, ...], ...]
    own_calls: list[FunctionCall] = field(default_factory=list)
    loops: list[LoopRun] = field(default_factory=list)
    cells: dict[Handle, dict[int, CellStore]] = field(default_factory=dict)
    """The cells that it made, in program order, with the stores that filled them."""
    trap: Event | None = None
    """The first firing of the call itself that trapped."""

    @property
    def is_finished(self) -> bool:
        """Whether all results of all its phases have come."""
        return not any(value is None for phase in self.results for value in phase)


class RootArgument(NamedTuple):
    """An argument of the root activation, by its position among the visible arguments. It enters through no merge: it
    may go to any port, to several, or to none. It has a separate type, so that no reader takes it for a node."""

    position: int


Gate: TypeAlias = int | RootArgument
"""Where a value enters or leaves an activation: the number of a merge or of a return, or an argument of the root."""


def gate_order(gate: Gate) -> tuple[int, int]:
    """The sort key of gates: the arguments of the root, then nodes by number.

    >>> sorted([3, RootArgument(1), 0, RootArgument(0)], key=gate_order)
    [RootArgument(position=0), RootArgument(position=1), 0, 3]
    """
    return (-1, gate.position) if isinstance(gate, RootArgument) else (gate, 0)


class PhaseGates:
    """The nodes at which tokens enter and leave activations, and their phases (docs/gradients.md)."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        has_phases = any(node.phase for node in graph.nodes)
        phases = PhaseMap(graph) if has_phases else None
        self._phases = [0 if phases is None else phases.phase_of(number) for number in range(len(graph.nodes))]
        outputs = (output for node in graph.nodes if node.op == "reenter" for output in node.outputs)
        self._adjoint_merges = {edge.node for output in outputs for edge in output.edges}
        """The merges that receive the adjoint of a loop variable in each iteration."""

    def phase_of(self, gate: Gate) -> int:
        """The phase of a return, or of a merge through which a value enters; that of an argument of the root is 0."""
        if isinstance(gate, RootArgument):
            return 0
        node = self._graph.nodes[gate]
        return node.phase if node.op == "return" else self._phases[gate]

    def entering_tokens(self, event: Event) -> Iterable[Token]:
        """The tokens of a firing that enter an activation: those sent as arguments and loop variables, or the adjoint
        of a loop variable that has arrived."""
        number = event.token.node
        if self._graph.nodes[number].op in ("call", "enter", "next_iteration"):
            return event.sent
        return (event.token,) if number in self._adjoint_merges else ()


class CallTree:
    """The calls of a run, from its events. `root` is the call of the entry."""

    def __init__(self, graph: Graph, arguments: Sequence[Value], events: Iterable[Event]) -> None:
        self.graph = graph
        self._gates = PhaseGates(graph)
        self._callees: Mapping[Site, str] = {**dict(graph.calls), ENVIRONMENT: graph.name}
        self._arguments = tuple(arguments)
        self._inputs: dict[Tag, dict[int, Value]] = {ROOT: {}}
        self._returns: dict[Tag, dict[int, Value]] = {}
        self._traps: dict[Tag, Event] = {}
        self._stores: dict[Handle, dict[int, CellStore]] = {}
        self.event_count = 0
        for event in events:
            self._record_event(self.event_count, event)
            self.event_count += 1
        self.calls = self._build_calls()
        self.root = self.calls[ROOT]

    def _record_event(self, number: int, event: Event) -> None:
        if event.inputs is None:
            return
        tag, node = event.token.tag, self.graph.nodes[event.token.node]
        for token in self._gates.entering_tokens(event):
            self._inputs.setdefault(token.tag, {})[token.node] = token.value
        if event.trap is not None:
            self._traps.setdefault(self.call_tag(tag), event)
        elif node.op == "return" and event.outputs:
            self._returns.setdefault(tag, {})[event.token.node] = event.outputs[0][1]
        elif node.op == "cells":
            self._stores[event.outputs[0][1]] = {}  # type: ignore[index]
        elif node.op == "store":
            handle, cell, value = event.inputs[:3]
            self._stores.setdefault(handle, {})[cell] = CellStore(number, tag, value)  # type: ignore[arg-type, index]

    @staticmethod
    def call_tag(tag: Tag) -> Tag:
        """The innermost call around a tag."""
        return next(ancestor for ancestor in tag.self_and_ancestors() if ancestor.site.kind == "call")

    def _build_calls(self) -> dict[Tag, FunctionCall]:
        calls: dict[Tag, FunctionCall] = {}
        loops: dict[tuple[Tag, Site], dict[int, dict[int, Value]]] = {}
        for tag, inputs in self._inputs.items():
            if tag.site.kind == "call":
                calls[tag] = self._build_call(tag, inputs)
            elif tag.parent is not None:
                merges = [variable.merge for variable in self.loop_variables(tag.site)]
                row = {merge: inputs[merge] for merge in merges if merge in inputs}
                loops.setdefault((tag.parent, tag.site), {})[tag.iteration] = row
        for tag, call in calls.items():
            if tag.parent is not None:
                calls[self.call_tag(tag.parent)].own_calls.append(call)
            call.trap = self._traps.get(tag)
        for (parent, site), rows in loops.items():
            call = calls[self.call_tag(parent)]
            call.loops.append(LoopRun(site, parent, [rows[number] for number in sorted(rows)]))
        for handle, stores in self._stores.items():
            calls[self.call_tag(handle.tag)].cells[handle] = stores
        for call in calls.values():
            call.own_calls.sort(key=lambda candidate: self.rank(candidate.tag, call.tag))
            call.loops.sort(
                key=lambda candidate: (self.rank(candidate.parent, call.tag), self._first_nodes[candidate.site])
            )
            handles = sorted(call.cells, key=lambda firing: (self.rank(firing.tag, call.tag), firing.node))
            call.cells = {handle: call.cells[handle] for handle in handles}
        return calls

    def _build_call(self, tag: Tag, inputs: Mapping[int, Value]) -> FunctionCall:
        entered = [(merge, value) for merge, value in sorted(inputs.items()) if not self._is_hidden(merge)]
        returned = self._returns.get(tag, {})
        count = 1 + max((self._gates.phase_of(merge) for merge, _ in entered), default=0)
        phases = [tuple(value for merge, value in entered if self._gates.phase_of(merge) == at) for at in range(count)]
        return FunctionCall(
            tag,
            self._callees.get(tag.site, "?"),
            (self._arguments,) if tag == ROOT else tuple(phases),
            tuple(tuple(returned.get(number) for number in self._return_nodes(tag.site, at)) for at in range(count)),
        )

    def _return_nodes(self, site: Site, phase: int) -> list[int]:
        """The return nodes of a phase of a call, in the order of results, without the hidden ones."""
        if site == ENVIRONMENT:
            return list(self.graph.results)
        numbers = self._returns_by_site.get(site, ())
        return [number for number in numbers if self.graph.nodes[number].phase == phase and not self._is_hidden(number)]

    @cached_property
    def _returns_by_site(self) -> dict[Site, list[int]]:
        returns: dict[Site, list[int]] = {}
        for number, node in enumerate(self.graph.nodes):
            if node.op == "return" and node.site is not None:
                returns.setdefault(node.site, []).append(number)
        return returns

    def _is_hidden(self, number: int) -> bool:
        """Whether a merge or return belongs to a trigger or an order token, which lowering adds."""
        node = self.graph.nodes[number]
        name = re.sub(r"_\d+$", "", node.name.rpartition(".")[2])
        return node.outputs[0].type.dtype is dtypes.bool and name in _HIDDEN_NAMES

    @cached_property
    def _first_nodes(self) -> dict[Site, int]:
        """The first node of each site, which orders the sites of a function."""
        first: dict[Site, int] = {}
        for number, node in enumerate(self.graph.nodes):
            if node.site is not None:
                first.setdefault(node.site, number)
        return first

    def rank(self, tag: Tag, call: Tag) -> Rank:
        """The rank of a tag in the program order of a call around it."""
        steps = []
        for ancestor in tag.self_and_ancestors():
            if ancestor == call:
                break
            steps.append((self._first_nodes.get(ancestor.site, -1), ancestor.iteration))
        return tuple(reversed(steps))

    def stored_values(self, handle: Handle, call: Tag) -> dict[int, Value]:
        """The values of cells by number, without those that were not stored by this call or by calls below it."""
        stores = self._stores.get(handle, {})
        return {number: store.value for number, store in stores.items() if call in store.tag.self_and_ancestors()}

    # What the graph says

    def parameters(self, function: str) -> tuple[tuple[str, Type], ...]:
        """The names and types of the parameters of a function that is called, without the hidden ones."""
        merges = {
            edge.node
            for node in self.graph.nodes
            if node.op == "call" and not node.phase and node.site and self._callees.get(node.site) == function
            for edge in node.outputs[0].edges
        }
        nodes = [self.graph.nodes[merge] for merge in sorted(merges) if not self._is_hidden(merge)]
        return tuple((node.name, node.outputs[0].type) for node in nodes)

    def loop_variables(self, site: Site) -> tuple[CarriedVariable, ...]:
        """The variables of a loop that change from iteration to iteration, in order; no adjoints, no hidden ones."""
        return self._variables_by_loop.get(site, ())

    @cached_property
    def _variables_by_loop(self) -> dict[Site, tuple[CarriedVariable, ...]]:
        variables_by_loop: dict[Site, list[CarriedVariable]] = {}
        graph, sources = self.graph, self.graph.sources()
        for number, node in enumerate(graph.nodes):
            if node.op != "next_iteration" or node.site is None or node.phase or not node.outputs[0].edges:
                continue
            merge = node.outputs[0].edges[0].node
            name = graph.nodes[merge].name.rpartition(".")[2]
            switches = [edge.node for edge in graph.nodes[merge].outputs[0].edges if edge.port == 0]
            switches = [switch for switch in switches if graph.nodes[switch].op == "switch"]
            source = next(iter(sources.get(Edge(number, 0), ())), None)
            is_constant = source is not None and source.node in switches and source.output == 0
            if is_constant or self._is_hidden(merge) or self._gates.phase_of(merge):
                continue
            exits = [edge.node for switch in switches for edge in graph.nodes[switch].outputs[1].edges]
            is_result = any(graph.nodes[exit_].op == "exit" and graph.nodes[exit_].outputs[0].edges for exit_ in exits)
            variables_by_loop.setdefault(node.site, []).append(CarriedVariable(merge, name, is_result))
        return {site: tuple(sorted(variables)) for site, variables in variables_by_loop.items()}

    def loop_ordinals(self, function: str) -> dict[Site, tuple[int, ...]]:
        """The loops of a function by their order in it: (1,) is its second loop, (1, 0) the first loop in that."""
        sites = [site for site in self._first_nodes if site.kind == "loop" and site.function == function]
        counts: dict[tuple[int, ...], int] = {}
        ordinals: dict[Site, tuple[int, ...]] = {}
        for site in sorted(
            sites, key=lambda site: (len(self._loop_info.enclosing_loops(site)), self._first_nodes[site])
        ):
            outer = self._loop_info.enclosing_loops(site)[:-1]
            prefix = ordinals.get(outer[-1], ()) if outer else ()
            ordinals[site] = (*prefix, counts.setdefault(prefix, 0))
            counts[prefix] += 1
        return ordinals

    @cached_property
    def _loop_info(self) -> LoopInfo:
        return LoopInfo(self.graph)

    @cached_property
    def impure_functions(self) -> frozenset[str]:
        """The functions whose results depend on more than their arguments: on effects or on random draws, their own or
        those of their callees."""
        impure = {
            node.function
            for node in self.graph.nodes
            if resource_of(node.op) is not None or (node.op in EFFECT_OPS and EFFECT_OPS[node.op].draw is not None)
        }
        callers = [(site.function, callee) for site, callee in self.graph.calls]
        while impure_callers := {caller for caller, callee in callers if callee in impure and caller not in impure}:
            impure |= impure_callers
        return frozenset(impure)

    def location(self, function: str) -> str | None:
        """The line at which a function begins, if it is known."""
        return next((str(n.location) for n in self.graph.nodes if n.function == function and n.location), None)


_HIDDEN_NAMES = {"trigger", *(row.resource for row in EFFECT_OPS.values() if row.resource is not None)}


def walk_calls(call: FunctionCall) -> Iterator[FunctionCall]:
    """A call and all calls below it, callers first."""
    stack = [call]
    while stack:
        entry = stack.pop()
        yield entry
        stack.extend(reversed(entry.own_calls))
