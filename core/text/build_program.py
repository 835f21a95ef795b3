"""Building the functions of a program from their syntax. Types may still be holes, to be inferred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..program.infer import HOLE
from ..program.program import MAX_NESTING, PULLBACK_TARGET, Function, Location, Node, Operand, Region, Var
from ..types import Type
from . import syntax
from .atoms import LocationResolver, read_attribute, read_literal, read_name, read_type
from .fault import SyntaxFault

REGION_KEYWORDS = {"cond": ("then", "else"), "while_loop": ("while", "do")}
"""The keywords of the regions of an op."""


def build_function(given: syntax.FunctionSyntax, lines: LocationResolver) -> Function:
    """The function of this syntax; results without types have holes."""
    where = lines.resolve(given.location, given.body.keyword.position.line)
    body = _build_region(given.body, lines, 0)
    results = (
        tuple(map(read_type, given.result_types)) if given.result_types is not None else (HOLE,) * len(body.results)
    )
    phases = [_build_region(phase.body, lines, 0) for phase in given.pullbacks]
    returned = tuple(map(_build_pullback_types, given.pullbacks))
    return Function(read_name(given.body.keyword), _link_phases([body, *phases]), results, where, returned)


def _build_pullback_types(phase: syntax.PullbackSyntax) -> tuple[Type, ...]:
    if phase.result_types is None:
        raise SyntaxFault(
            "a pullback says what it returns", phase.body.keyword.position, required="-> and types, behind the brackets"
        )
    return tuple(map(read_type, phase.result_types))


def _link_phases(phases: Sequence[Region]) -> Region:
    """The first of these regions, with the others as its further phases."""
    first, *further = phases
    return replace(first, pullback=_link_phases(further)) if further else first


def _build_region(given: syntax.RegionSyntax, lines: LocationResolver, depth: int) -> Region:
    if depth > MAX_NESTING:
        raise SyntaxFault("regions nest too deep", given.keyword.position, required=f"{MAX_NESTING} at most")
    nodes = []
    for statement in given.statements:
        if isinstance(statement, syntax.SourceFileSyntax):
            lines.enter_source_file(statement)
        else:
            nodes.append(_build_node(statement, lines, depth))
    parameters = tuple(Var(read_name(word), _build_declared_type(said)) for word, said in given.parameters)
    return Region(parameters, tuple(nodes), tuple(map(_build_operand, given.results)))


def _build_declared_type(said: syntax.SyntaxToken | None) -> Type:
    return read_type(said) if said else HOLE


def _build_node(given: syntax.NodeSyntax, lines: LocationResolver, depth: int) -> Node:
    _check_regions(given)
    where: Location | None = lines.resolve(given.location, given.op.position.line)
    names = PULLBACK_TARGET if given.op.text == "pullback" else "function"
    attributes: list[tuple[str, object]] = [(names, read_name(given.callee))] if given.callee else []
    attributes += [read_attribute(each) for each in given.arguments if isinstance(each, syntax.AttributeSyntax)]
    return Node(
        read_name(given.op),
        tuple(map(_build_operand, _operand_syntax(given.arguments))),
        tuple(Var(read_name(word), _build_declared_type(said)) for word, said in given.targets),
        tuple(
            _link_phases([_build_region(each, lines, depth + 1) for each in phases]) for phases in _group_phases(given)
        ),
        tuple(attributes),
        where,
    )


def _operand_syntax(
    arguments: Sequence[syntax.SyntaxToken | syntax.LiteralSyntax | syntax.AttributeSyntax],
) -> list[syntax.SyntaxToken | syntax.LiteralSyntax]:
    """The operands; raises SyntaxFault where one follows an attribute."""
    operands: list[syntax.SyntaxToken | syntax.LiteralSyntax] = []
    for number, given in enumerate(arguments):
        if isinstance(given, syntax.AttributeSyntax):
            continue
        if number > len(operands):
            raise SyntaxFault("operands come before attributes", given.position)
        operands.append(given)
    return operands


def _build_operand(given: syntax.SyntaxToken | syntax.LiteralSyntax) -> Operand:
    return read_literal(given) if isinstance(given, syntax.LiteralSyntax) else read_name(given)


def _group_phases(given: syntax.NodeSyntax) -> list[list[syntax.RegionSyntax]]:
    """The regions of a node, each with the `pullback` regions that follow it."""
    found: list[list[syntax.RegionSyntax]] = []
    for region in given.regions or ():
        if region.keyword.text == "pullback" and found:
            found[-1].append(region)
        else:
            found.append([region])
    return found


def _check_regions(given: syntax.NodeSyntax) -> None:
    """The regions have the keywords of their op, or are all called `region`, which can also write a wrong number of
    them."""
    wanted, op = REGION_KEYWORDS.get(given.op.text, ()), given.op
    if given.regions is None:
        if wanted:
            hint = f"they stand in braces behind it: {{ {wanted[0]}(...) {{ ... }} {wanted[1]}(...) {{ ... }} }}"
            raise SyntaxFault(
                f"{op.text} has no regions", op.position, required=f"`{wanted[0]}` and `{wanted[1]}`", hint=hint
            )
        return
    found = [phases[0].keyword for phases in _group_phases(given)]
    if tuple(word.text for word in found) == wanted or all(word.text == "region" for word in found):
        return
    if not wanted:
        raise SyntaxFault(f"{op.text} takes no regions", found[0].position, hint="only cond and while_loop do")
    strange = [word for k, word in enumerate(found) if word.text not in wanted[k : k + 1]]
    raise SyntaxFault(
        f"not the regions of {op.text}",
        (strange or [op])[0].position,
        required=f"`{wanted[0]}` and `{wanted[1]}`, in this order",
    )
