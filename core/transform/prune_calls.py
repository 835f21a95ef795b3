"""Functions with fewer results: what is left of those that only one place calls, which needs no others (P3).

Where a function is called at several places, or calls itself, each of them is to find it as it was: it stays whole. So
does one that goes back, or has a gradient of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ..graph.scope import names_used
from ..program.program import Node, Program, Region
from .prune_results import FewerResults, goes_back, parameters_used


class _Place(NamedTuple):
    """A call: the function that it stands in, and the results that are needed; the first stays, as the node's name."""

    caller: str
    node: Node
    wanted: tuple[int, ...]
    is_in_one: bool = False
    """Whether the caller may have fewer results, too, so that what nobody needs there is left out."""


def with_fewer_calls(program: Program) -> Program:
    """A program whose functions give, and take, what those who call them need, as far as their calls go."""
    while (place := next(_wide(program), None)) is not None:
        program = _narrowed(program, place)
    return program


def _wide(program: Program) -> Iterator[_Place]:
    """Calls of which not all results are needed, or arguments taken, of functions that may have fewer."""
    functions = program.reachable()
    places: dict[str, list[_Place]] = {}
    for function in functions:
        for node, used in _calls(function.body):
            wanted = tuple(at for at, result in enumerate(node.results) if at == 0 or result.name in used)
            places.setdefault(node.attribute("function"), []).append(_Place(function.name, node, wanted))
    rules = {function.rule for function in functions}
    once = {
        name: found[0]
        for name, found in places.items()
        if len(found) == 1 and name not in rules and _may_have_fewer(program, name)
    }
    for function in functions:
        place = once.get(function.name)
        if place is None:
            continue
        gives, takes = len(place.wanted), len(parameters_used(function.body))
        if (gives, takes) != (len(function.results), len(function.body.parameters)):
            yield place._replace(is_in_one=place.caller in once)


def _may_have_fewer(program: Program, name: str) -> bool:
    """Whether a function is neither the entry nor goes back, and has no gradient of its own."""
    return name != program.entry and not (program[name].rule or goes_back(program[name].body))


def _calls(region: Region) -> Iterator[tuple[Node, set[str]]]:
    """The calls in a region and in those within it, each with the names that are used around it."""
    used = names_used(region)
    for phase in region.phases():
        for node in phase.nodes:
            if node.op == "call":
                yield node, used
            for inner in node.regions:
                yield from _calls(inner)


def _narrowed(program: Program, place: _Place) -> Program:
    """What is left where a call needs no more than this; of the caller, too, where that may be. What nobody calls any
    more is left out."""
    fewer, callee = FewerResults(program), program[place.node.attribute("function")]
    body = fewer.region(callee.body, place.wanted)
    taken = parameters_used(body)
    called = replace(
        callee,
        body=replace(body, parameters=tuple(body.parameters[at] for at in taken)),
        results=tuple(callee.results[at] for at in place.wanted),
    )
    inputs = tuple(place.node.inputs[at] for at in taken)
    node = replace(place.node, inputs=inputs, results=tuple(place.node.results[at] for at in place.wanted))
    caller = program[place.caller]
    body = _with(caller.body, place.node, node)
    if place.is_in_one:
        body = fewer.region(body, range(len(body.results)))
    made = {called.name: called, caller.name: replace(caller, body=body)}
    whole = replace(program, functions=tuple(made.get(each.name, each) for each in program.functions))
    return replace(whole, functions=whole.reachable())


def _with(region: Region, old: Node, new: Node) -> Region:
    """A region in which, or in those within it, one node has become another."""
    nodes = tuple(
        new if node is old else replace(node, regions=tuple(_with(inner, old, new) for inner in node.regions))
        for node in region.nodes
    )
    return replace(region, nodes=nodes, pullback=region.pullback and _with(region.pullback, old, new))
