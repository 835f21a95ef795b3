"""What the rules of programs say of what breaks them, and where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from . import hints
from .act import ROWS
from .errors import Invalid
from .problem import problem
from .program import Function, Node, Operand, Region, Var
from .types import Type
from .value import Literal


def untaken(error: Invalid, node: Node, operands: list[Type], where: object) -> Invalid:
    """V4: what the rule of an op says of operands that it does not take."""
    literals = [operand if isinstance(operand, Literal) else None for operand in node.inputs]
    hint = hints.fitting(ROWS[node.op], operands, literals, node.attributes)
    required = error.required or "operands that the op takes"
    message, got = f"{node.op}: {error.message}", error.got if node.attributes else operands
    return problem("V4", message, where, required=required, got=got, hint=hint)


def steady(type_: Type, found: Type, start: Operand) -> str:
    """How a loop variable of one type, of which the next value would be another, can keep its type."""
    if type_.dtype is found.dtype:
        return "start it with an open size, as a parameter x: float64[?] has"
    better = hints.rewritten(start, found.dtype) if isinstance(start, Literal) else None
    return f"start it with {f'`{better}`' if better else 'that type'}, or convert with astype"


def apart_in(variables: Sequence[Var], sides: dict[str, list[Type]], where: object) -> Iterator[Invalid]:
    """V5: the variables of a loop that have not one type in all its parts."""
    for (name, _), outside, *inside in zip(variables, *sides.values(), strict=True):
        if any(type_ != inside[0] for type_ in inside) or not inside[0].admits(outside):
            yield problem(
                "V5",
                f"loop variable {name} has more than one type",
                where,
                required="one type",
                got=", ".join(f"{type_} {side}" for side, type_ in zip(sides, [outside, *inside], strict=True)),
                hint="write that of the operand in both regions, or convert the operand with astype",
            )


def place_at(node: Node) -> object:
    return node.location or (node.name if node.results else node.op)


def place_of(function: Function) -> object:
    return function.location or function.name


def origin_of(region: Region, place: int, where: object) -> object:
    """Where what a region yields at a place is made: at a node of it, or at `where`."""
    name = region.results[place] if place < len(region.results) else None
    made = [place_at(node) for node in region.nodes if any(result.name == name for result in node.results)]
    return made[-1] if made else where


def names_in(region: Region, place: object) -> list[tuple[str, object]]:
    """The parameters of a region, and the nodes in it that are called as one of them."""
    names = [parameter.name for phase in region.phases() for parameter in phase.parameters]
    made = [(result.name, place_at(node)) for ph in region.phases() for node in ph.nodes for result in node.results]
    return [*((name, place) for name in names), *dict(pair for pair in made if pair[0] in names).items()]


def duplicates(named: Iterable[tuple[str, object]], what: str) -> Iterator[Invalid]:
    """V2: each name that stands for two things, where it is given the second time."""
    seen: dict[str, int] = {}
    for name, where in named:
        seen[name] = seen.get(name, 0) + 1
        if seen[name] == 2:
            message = f"two {what} have one name"
            hint = "give one of them another name"
            yield problem("V2", message, where, required="unique names", got=name, hint=hint)
