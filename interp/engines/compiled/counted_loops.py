"""Counted loops: `i < n`, where n is invariant and i grows by a constant."""

from __future__ import annotations

from dataclasses import dataclass

from ....core import dtypes
from ....core.program.program import Node, Operand, Region
from ....core.types import Type
from ....core.value import Literal

_INT = Type(dtypes.int64)
_LARGEST_STEP = 2**20


@dataclass(frozen=True, slots=True)
class InductionVariable:
    """An induction variable: its index, its step, and its bound, a constant or the loop variable `bound_index`."""

    index: int
    step: int
    bound: int = 0
    bound_index: int | None = None


def find_induction_variable(loop: Node) -> InductionVariable | None:
    """The induction variable of a loop whose condition is only a comparison with a bound; else None."""
    condition, body = loop.regions
    if len(condition.nodes) != 1 or condition.nodes[0].op != "less" or condition.results != (condition.nodes[0].name,):
        return None
    one, other = condition.nodes[0].inputs
    index, invariant = _parameter_index(condition, one), _parameter_index(condition, other)
    if index is None or condition.parameters[index].type != _INT:
        return None
    step = _constant_step(body, index)
    if step is None:
        return None
    if isinstance(other, Literal):
        return InductionVariable(index, step, bound=int(other.value)) if other.type == _INT else None  # type: ignore[arg-type]
    if invariant is None or condition.parameters[invariant].type != _INT:
        return None
    stays = body.results[invariant] == body.parameters[invariant].name
    return InductionVariable(index, step, bound_index=invariant) if stays else None


def _parameter_index(region: Region, operand: Operand) -> int | None:
    """The index of the parameter that an operand is."""
    names = [parameter.name for parameter in region.parameters]
    return names.index(operand) if isinstance(operand, str) and operand in names else None


def _constant_step(body: Region, index: int) -> int | None:
    """The constant by which a loop variable grows."""
    for node in body.nodes:
        if node.op == "add" and node.name == body.results[index]:
            steps = [operand for operand in node.inputs if isinstance(operand, Literal)]
            if body.parameters[index].name in node.inputs and len(steps) == 1 and steps[0].type == _INT:
                step = int(steps[0].value)  # type: ignore[arg-type]
                return step if 0 < step <= _LARGEST_STEP else None
    return None
