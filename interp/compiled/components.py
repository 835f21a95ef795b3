"""Which functions call which: components of functions that recur through each other, and who reaches what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...core.program import Function, Node, Program


def callees(function: Function) -> list[str]:
    """The functions that a function calls, each once."""
    nodes = function.body.walk()
    return list(dict.fromkeys(node.attribute("function") for node in nodes if node.op == "call"))


def components(program: Program) -> list[tuple[Function, ...]]:
    """The functions that a run may call: those together that reach each other, what is called before who calls it.

    Tarjan's algorithm, with a stack of its own.
    """
    graph = {function.name: callees(function) for function in program.reachable()}
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    open_, found = [], []
    walk: list[tuple[str, int]] = [(program.entry, 0)]
    while walk:
        name, at = walk.pop()
        if name not in number:
            number[name] = low[name] = len(number)
            open_.append(name)
        for position in range(at, len(graph[name])):
            other = graph[name][position]
            if other not in number:
                walk += [(name, position), (other, 0)]
                break
            if other in open_:
                low[name] = min(low[name], low[other])
        else:
            if low[name] == number[name]:
                members = open_[open_.index(name) :]
                del open_[-len(members) :]
                found.append(tuple(program[member] for member in members))
    return found


def recur(members: tuple[Function, ...]) -> bool:
    """Whether the functions of a component may call themselves, by way of others or not."""
    return len(members) > 1 or members[0].name in callees(members[0])


def recurs(program: Program) -> bool:
    """Whether any function may."""
    return any(map(recur, components(program)))


def reaching(program: Program, has: Callable[[Node], bool]) -> frozenset[str]:
    """The functions in which there is such a node, or that call one which reaches it."""
    functions = program.reachable()
    called: Mapping[str, Sequence[str]] = {function.name: callees(function) for function in functions}
    reached = {function.name for function in functions if any(map(has, function.body.walk()))}
    while True:
        more = {name for name in called if name not in reached and not reached.isdisjoint(called[name])}
        if not more:
            return frozenset(reached)
        reached |= more
