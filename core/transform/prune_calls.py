"""Pruning functions with one call site: their unneeded results and parameters go (P3).

A function with several call sites, or a recursive one, stays whole, since each call site relies on it. So does a
function with a pullback or a gradient rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ..graph.scope import used_names
from ..program.program import Node, Program, Region
from .prune_results import ResultPruner, has_pullback, used_parameters


class _CallSite(NamedTuple):
    """A call with its caller, and the positions of the needed results. The first result stays: it names the node."""

    caller: str
    node: Node
    required_results: tuple[int, ...]
    is_caller_prunable: bool = False
    """Whether the caller may be pruned too, so that values nobody needs there go."""


def prune_calls(program: Program) -> Program:
    """The program whose functions return and take only what their one call site needs."""
    while (place := next(_prunable_calls(program), None)) is not None:
        program = _prune_call(program, place)
    return program


def _prunable_calls(program: Program) -> Iterator[_CallSite]:
    """The single call sites of functions that have unneeded results or unused parameters."""
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
    """Whether a function may be pruned: it is not the entry and has neither a pullback nor a gradient rule."""
    return name != program.entry and not (program[name].gradient_rule or has_pullback(program[name].body))


def _calls_with_uses(region: Region) -> Iterator[tuple[Node, set[str]]]:
    """The calls in a region and in regions inside it, each with the names used in its region."""
    used = used_names(region)
    for phase in region.phases():
        for node in phase.nodes:
            if node.op == "call":
                yield node, used
            for inner in node.regions:
                yield from _calls_with_uses(inner)


def _prune_call(program: Program, place: _CallSite) -> Program:
    """The program with one callee pruned to what its call needs, and with its caller pruned where that is allowed.
    Functions that nobody calls any more go."""
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
    """The region with one node replaced, wherever it is inside."""
    nodes = tuple(
        new if node is old else replace(node, regions=tuple(_replace_node(inner, old, new) for inner in node.regions))
        for node in region.nodes
    )
    return replace(region, nodes=nodes, pullback=region.pullback and _replace_node(region.pullback, old, new))
