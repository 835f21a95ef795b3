"""Which phases of functions call which: components of those that recur through each other, and who reaches what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ....core.program.program import Function, Node, Program
from .phases import Key, Phase, called


def components(program: Program) -> list[tuple[Phase, ...]]:
    """The phases of functions that a run may begin: those together that reach each other, what is called before who
    calls it.

    Tarjan's algorithm, with a stack of its own.
    """
    graph = {
        (function.name, number): calls
        for function in program.reachable()
        for number, calls in enumerate(called(function))
    }
    number: dict[Key, int] = {}
    low: dict[Key, int] = {}
    open_, found = list[Key](), []
    walk: list[tuple[Key, int]] = [((program.entry, 0), 0)]
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
                found.append(tuple(Phase(program[name], phase) for name, phase in members))
    return found


def recur(members: tuple[Phase, ...]) -> bool:
    """Whether the phases of a component may begin themselves, by way of others or not."""
    return len(members) > 1 or members[0].key in called(members[0].function)[members[0].number]


def recurs(program: Program) -> bool:
    """Whether any function may."""
    return any(map(recur, components(program)))


def reaching(program: Program, has: Callable[[Node], bool]) -> frozenset[str]:
    """The functions in which there is such a node, or that call one which reaches it."""
    functions = program.reachable()
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
