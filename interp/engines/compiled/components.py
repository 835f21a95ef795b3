"""The call graph of phases: its strongly connected components, and reachability."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ....core.program.program import Function, Node, Program
from .phases import FunctionPhase, PhaseKey, phase_callees


def strongly_connected_components(program: Program) -> list[tuple[FunctionPhase, ...]]:
    """The strongly connected components of the phases that a run can reach, callees before callers.

    Tarjan's algorithm, with an explicit stack.
    """
    graph = {
        (function.name, number): calls
        for function in program.reachable_functions()
        for number, calls in enumerate(phase_callees(function))
    }
    number: dict[PhaseKey, int] = {}
    low: dict[PhaseKey, int] = {}
    open_, found = list[PhaseKey](), []
    walk: list[tuple[PhaseKey, int]] = [((program.entry, 0), 0)]
    while walk:
        key, at = walk.pop()
        if key not in number:
            number[key] = low[key] = len(number)
            open_.append(key)
        for position in range(at, len(graph[key])):
            other = graph[key][position]
            if other not in number:
                walk += [(key, position), (other, 0)]
                break
            if other in open_:
                low[key] = min(low[key], low[other])
        else:
            if low[key] == number[key]:
                members = open_[open_.index(key) :]
                del open_[-len(members) :]
                found.append(tuple(FunctionPhase(program[name], phase) for name, phase in members))
    return found


def is_recursive_group(members: tuple[FunctionPhase, ...]) -> bool:
    """Whether the phases of a component can call themselves, directly or not."""
    return len(members) > 1 or members[0].key in phase_callees(members[0].function)[members[0].number]


def is_recursive(program: Program) -> bool:
    """Whether any function can call itself."""
    return any(map(is_recursive_group, strongly_connected_components(program)))


def functions_reaching(program: Program, has: Callable[[Node], bool]) -> frozenset[str]:
    """The functions that contain such a node, or that can reach one by calls."""
    functions = program.reachable_functions()
    calls: Mapping[str, Sequence[str]] = {function.name: _callees(function) for function in functions}
    reached = {function.name for function in functions if any(map(has, function.body.walk()))}
    while True:
        more = {name for name in calls if name not in reached and not reached.isdisjoint(calls[name])}
        if not more:
            return frozenset(reached)
        reached |= more


def _callees(function: Function) -> list[str]:
    """The functions that a function calls."""
    return [node.attribute("function") for node in function.body.walk() if node.op == "call"]
