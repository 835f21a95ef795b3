"""Functions with a gradient rule: the form that `custom_gradient` gives a call.

Such a function computes nothing. Its parameters are the inputs of the gradient, its results, and the captures of its
rule, in this order; it returns the results unchanged. Its rule is another function: from the captures and the adjoints
of the float results it computes the adjoints of the inputs. The reverse of the first phase is a call of the rule, at
every order, and that call is differentiated like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..program.program import Function, Node, Program, Region, Var


@dataclass(frozen=True)
class RuleParameters:
    """The parameters of a function with a rule, by their role."""

    inputs: tuple[Var, ...]
    outputs: tuple[Var, ...]
    captures: tuple[Var, ...]


def rule_parameters(program: Program, function: Function) -> RuleParameters:
    """Split the parameters of a function with a rule by their role."""
    assert function.gradient_rule is not None
    parameters, by = function.body.parameters, len(program[function.gradient_rule].results)
    end = by + len(function.results)
    return RuleParameters(parameters[:by], parameters[by:end], parameters[end:])


def relevant_parameters(program: Program, function: Function) -> Sequence[int]:
    """The positions of the parameters on which the results depend, as far as gradients are concerned: all, or with a
    rule the inputs, and the captures once the function is split."""
    count = len(function.body.parameters)
    if function.gradient_rule is None:
        return range(count)
    parts = rule_parameters(program, function)
    closed = range(len(parts.inputs) + len(parts.outputs), count) if function.body.pullback else ()
    return [*range(len(parts.inputs)), *closed]


def remove_rules(program: Program) -> Program:
    """The program without gradient rules. A call of a function with a rule that was not differentiated becomes
    identities."""
    idle = {
        function.name for function in program.functions if function.gradient_rule and function.body.pullback is None
    }
    functions = (
        replace(function, gradient_rule=None, body=_bypass_idle_calls(program, function.body, idle))
        for function in program.functions
    )
    found = replace(program, functions=tuple(functions))
    return replace(found, functions=found.reachable_functions())


def _bypass_idle_calls(program: Program, region: Region, idle: set[str]) -> Region:
    nodes: list[Node] = []
    for node in region.nodes:
        if node.op == "call" and node.attribute("function") in idle:
            by = len(rule_parameters(program, program[node.attribute("function")]).inputs)
            nodes += [
                Node("identity", (node.inputs[by + at],), (result,), (), (), node.location)
                for at, result in enumerate(node.results)
            ]
        else:
            inner = tuple(_bypass_idle_calls(program, each, idle) for each in node.regions)
            nodes.append(replace(node, regions=inner) if inner else node)
    later = _bypass_idle_calls(program, region.pullback, idle) if region.pullback else None
    return replace(region, nodes=tuple(nodes), pullback=later)
