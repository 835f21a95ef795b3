"""Functions as syntax become a program, with types still to be inferred."""

from __future__ import annotations

from collections.abc import Sequence

from ..infer import HOLE
from ..program import MOST_NESTED, Function, Location, Node, Operand, Region, Var
from ..types import Type
from . import syntax
from .fault import Fault
from .names import Lines, attribute, literal, name, type_

REGIONS = {"cond": ("then", "else"), "while_loop": ("while", "do")}
"""What the regions of an op are called."""


def function(given: syntax.Function, lines: Lines) -> Function:
    """A function; its results' types are holes where it says none."""
    where = lines.at(given.at, given.body.word.spot.line)
    body = _region(given.body, lines, 0)
    results = tuple(map(type_, given.results)) if given.results is not None else (HOLE,) * len(body.results)
    return Function(name(given.body.word), body, results, where)


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
    attributes: list[tuple[str, object]] = [("function", name(given.callee))] if given.callee else []
    attributes += [attribute(each) for each in given.arguments if isinstance(each, syntax.Attribute)]
    return Node(
        name(given.op),
        tuple(map(_operand, _positional(given.arguments))),
        tuple(Var(name(word), _declared(said)) for word, said in given.targets),
        tuple(_region(inner, lines, depth + 1) for inner in given.regions or ()),
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


def _check_regions(given: syntax.Node) -> None:
    """The regions are called as those of their op; where an op has another number of them, each is called `region`."""
    wanted, op = REGIONS.get(given.op.text, ()), given.op
    if given.regions is None:
        if wanted:
            hint = f"they stand in braces behind it: {{ {wanted[0]}(...) {{ ... }} {wanted[1]}(...) {{ ... }} }}"
            raise Fault(f"{op.text} has no regions", op.spot, required=f"`{wanted[0]}` and `{wanted[1]}`", hint=hint)
        return
    found = [region.word for region in given.regions]
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
