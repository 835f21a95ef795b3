"""Functions as syntax become a program, with types still to be inferred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..program.infer import HOLE
from ..program.program import MOST_NESTED, PULLED, Function, Location, Node, Operand, Region, Var
from ..types import Type
from . import syntax
from .atoms import Lines, attribute, literal, name, type_
from .fault import Fault

REGIONS = {"cond": ("then", "else"), "while_loop": ("while", "do")}
"""What the regions of an op are called."""


def function(given: syntax.Function, lines: Lines) -> Function:
    """A function; its results' types are holes where it says none."""
    where = lines.at(given.at, given.body.word.spot.line)
    body = _region(given.body, lines, 0)
    results = tuple(map(type_, given.results)) if given.results is not None else (HOLE,) * len(body.results)
    phases = [_region(phase.body, lines, 0) for phase in given.phases]
    returned = tuple(map(_returned, given.phases))
    return Function(name(given.body.word), _chained([body, *phases]), results, where, returned)


def _returned(phase: syntax.Phase) -> tuple[Type, ...]:
    if phase.results is None:
        raise Fault(
            "a pullback says what it returns", phase.body.word.spot, required="-> and types, behind the brackets"
        )
    return tuple(map(type_, phase.results))


def _chained(phases: Sequence[Region]) -> Region:
    """The first of these regions, with the others as its further phases."""
    first, *further = phases
    return replace(first, pullback=_chained(further)) if further else first


def _region(given: syntax.Region, lines: Lines, depth: int) -> Region:
    if depth > MOST_NESTED:
        raise Fault("regions nest too deep", given.word.spot, required=f"{MOST_NESTED} at most")
    nodes = []
    for statement in given.nodes:
        if isinstance(statement, syntax.From):
            lines.enter(statement)
        else:
            nodes.append(_node(statement, lines, depth))
    parameters = tuple(Var(name(word), _declared(said)) for word, said in given.parameters)
    return Region(parameters, tuple(nodes), tuple(map(_operand, given.results)))


def _declared(said: syntax.Word | None) -> Type:
    return type_(said) if said else HOLE


def _node(given: syntax.Node, lines: Lines, depth: int) -> Node:
    _check_regions(given)
    where: Location | None = lines.at(given.at, given.op.spot.line)
    names = PULLED if given.op.text == "pullback" else "function"
    attributes: list[tuple[str, object]] = [(names, name(given.callee))] if given.callee else []
    attributes += [attribute(each) for each in given.arguments if isinstance(each, syntax.Attribute)]
    return Node(
        name(given.op),
        tuple(map(_operand, _positional(given.arguments))),
        tuple(Var(name(word), _declared(said)) for word, said in given.targets),
        tuple(_chained([_region(each, lines, depth + 1) for each in phases]) for phases in _phases(given)),
        tuple(attributes),
        where,
    )


def _positional(
    arguments: Sequence[syntax.Word | syntax.Written | syntax.Attribute],
) -> list[syntax.Word | syntax.Written]:
    """The operands, which come before the attributes."""
    operands: list[syntax.Word | syntax.Written] = []
    for number, given in enumerate(arguments):
        if isinstance(given, syntax.Attribute):
            continue
        if number > len(operands):
            raise Fault("operands come before attributes", given.spot)
        operands.append(given)
    return operands


def _operand(given: syntax.Word | syntax.Written) -> Operand:
    return literal(given) if isinstance(given, syntax.Written) else name(given)


def _phases(given: syntax.Node) -> list[list[syntax.Region]]:
    """The regions of a node, each with its further phases, which stand behind it."""
    found: list[list[syntax.Region]] = []
    for region in given.regions or ():
        if region.word.text == "pullback" and found:
            found[-1].append(region)
        else:
            found.append([region])
    return found


def _check_regions(given: syntax.Node) -> None:
    """The regions are called as those of their op; where an op has another number of them, each is called `region`."""
    wanted, op = REGIONS.get(given.op.text, ()), given.op
    if given.regions is None:
        if wanted:
            hint = f"they stand in braces behind it: {{ {wanted[0]}(...) {{ ... }} {wanted[1]}(...) {{ ... }} }}"
            raise Fault(f"{op.text} has no regions", op.spot, required=f"`{wanted[0]}` and `{wanted[1]}`", hint=hint)
        return
    found = [phases[0].word for phases in _phases(given)]
    if tuple(word.text for word in found) == wanted or all(word.text == "region" for word in found):
        return
    if not wanted:
        raise Fault(f"{op.text} takes no regions", found[0].spot, hint="only cond and while_loop do")
    strange = [word for k, word in enumerate(found) if word.text not in wanted[k : k + 1]]
    raise Fault(
        f"not the regions of {op.text}",
        (strange or [op])[0].spot,
        required=f"`{wanted[0]}` and `{wanted[1]}`, in this order",
    )
