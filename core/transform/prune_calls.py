"""Functions with fewer results: what is left of those that only one place calls, which needs no others (P3).

Where a function is called at several places, or calls itself, each of them is to find it as it was: it stays whole. So
does one that goes back, or has a gradient of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ..graph.scope import used_names
from ..program.program import Node, Program, Region
from .prune_results import ResultPruner, has_pullback, used_parameters


class _CallSite(NamedTuple):
    """A call: the function that it stands in, and the results that are needed; the first stays, as the node's name."""

    caller: str
    node: Node
    required_results: tuple[int, ...]
    is_caller_prunable: bool = False
    """Whether the caller may have fewer results, too, so that what nobody needs there is left out."""


def prune_calls(program: Program) -> Program:
    """A program whose functions give, and take, what those who call them need, as far as their calls go."""
    while (place := next(_prunable_calls(program), None)) is not None:
        program = _prune_call(program, place)
    return program


def _prunable_calls(program: Program) -> Iterator[_CallSite]:
    """Calls of which not all results are needed, or arguments taken, of functions that may have fewer."""
    functions = program.reachable_functions()
    places: dict[str, list[_CallSite]] = {}
    for function in functions:
        for node, used in _calls_with_uses(function.body):
            wanted = tuple(at for at, result in enumerate(node.results) if at == 0 or result.name in used)
            places.setdefault(node.attribute("function"), []).append(_CallSite(function.name, node, wanted))
    rules = {function.gradient_rule for function in functions}
    once = {
        name: found[0]
        for name, found in places.items()
        if len(found) == 1 and name not in rules and _is_prunable(program, name)
    }
    for function in functions:
        place = once.get(function.name)
        if place is None:
            continue
        gives, takes = len(place.required_results), len(used_parameters(function.body))
        if (gives, takes) != (len(function.results), len(function.body.parameters)):
            yield place._replace(is_caller_prunable=place.caller in once)


def _is_prunable(program: Program, name: str) -> bool:
    """Whether a function is neither the entry nor goes back, and has no gradient of its own."""
    return name != program.entry and not (program[name].gradient_rule or has_pullback(program[name].body))


def _calls_with_uses(region: Region) -> Iterator[tuple[Node, set[str]]]:
    """The calls in a region and in those within it, each with the names that are used around it."""
    used = used_names(region)
    for phase in region.phases():
        for node in phase.nodes:
            if node.op == "call":
                yield node, used
            for inner in node.regions:
                yield from _calls_with_uses(inner)


def _prune_call(program: Program, place: _CallSite) -> Program:
    """What is left where a call needs no more than this; of the caller, too, where that may be. What nobody calls any
    more is left out."""
    fewer, callee = ResultPruner(program), program[place.node.attribute("function")]
    body = fewer.prune_region(callee.body, place.required_results)
    taken = used_parameters(body)
    called = replace(
        callee,
        body=replace(body, parameters=tuple(body.parameters[at] for at in taken)),
        results=tuple(callee.results[at] for at in place.required_results),
    )
    inputs = tuple(place.node.inputs[at] for at in taken)
    node = replace(place.node, inputs=inputs, results=tuple(place.node.results[at] for at in place.required_results))
    caller = program[place.caller]
    body = _replace_node(caller.body, place.node, node)
    if place.is_caller_prunable:
        body = fewer.prune_region(body, range(len(body.results)))
    made = {called.name: called, caller.name: replace(caller, body=body)}
    whole = replace(program, functions=tuple(made.get(each.name, each) for each in program.functions))
    return replace(whole, functions=whole.reachable_functions())


def _replace_node(region: Region, old: Node, new: Node) -> Region:
    """A region in which, or in those within it, one node has become another."""
    nodes = tuple(
        new if node is old else replace(node, regions=tuple(_replace_node(inner, old, new) for inner in node.regions))
        for node in region.nodes
    )
    return replace(region, nodes=nodes, pullback=region.pullback and _replace_node(region.pullback, old, new))
