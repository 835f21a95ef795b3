"""The comparison policy: where results of other systems may differ from the reference. It is one table, policy.tsv.

A row is for ops, kinds of dtypes of the first operand, and a condition on the operands and the result. `treatment` says
which differences are permitted there:

trap       The reference traps. A backend may report it in any way, or give any value.
claim      Systems differ by design. The sweep reports what a backend does; no program is judged by it.
flush      A denormal number may count as zero.
zero-sign  The sign of a zero is open.
window     Floats may differ by `ulp` units in the last place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...core import dtypes
from ...core.types import Type
from ...core.value import is_float_array


class PolicyRule(NamedTuple):
    """A row of the policy."""

    condition: str
    ops: frozenset[str]
    kinds: str
    treatment: str
    ulp: int
    reason: str

    def covers(self, op: str, operands: Sequence[Type]) -> bool:
        """Whether the row is for an op on operands of these types."""
        return ("*" in self.ops or op in self.ops) and operands[0].dtype.kind in self.kinds

    def holds(self, operands: Sequence[Any], result: Any) -> npt.NDArray[np.bool_]:
        """Where the condition holds, element by element or as a whole."""
        with np.errstate(all="ignore"):
            return np.asarray(
                CONDITIONS[self.condition]([np.asarray(operand) for operand in operands], np.asarray(result))
            )


@cache
def policy_rules() -> tuple[PolicyRule, ...]:
    """The rows of the policy, in order."""
    lines = files(__package__).joinpath("policy.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")][1:]
    return tuple(
        PolicyRule(condition, frozenset(ops.split()), kinds, treatment, int(ulp), reason)
        for condition, ops, kinds, treatment, ulp, reason in rows
    )


def rules_for(op: str, operands: Sequence[Type]) -> list[PolicyRule]:
    """The rows for an op on operands of these types."""
    return [rule for rule in policy_rules() if rule.covers(op, operands)]


def window_of(op: str, operands: Sequence[Type]) -> int:
    """By how many ulp the result of an op may differ; 0 for ops that every system computes alike."""
    return max((rule.ulp for rule in rules_for(op, operands) if rule.treatment == "window"), default=0)


Operands = Sequence[npt.NDArray[Any]]


def _limits(array: npt.NDArray[Any]) -> Any:
    dtype = dtypes.from_numpy(array.dtype)
    assert dtype is not None
    return dtype.limits


def _is_denormal(array: npt.NDArray[Any]) -> Any:
    if not is_float_array(array):
        return False
    return (array != 0) & (np.abs(array) < _limits(array).smallest_normal)


def flush_denormals(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array with zeros of the same signs in place of its denormal elements.

    >>> flush_denormals(np.array([-5e-324, 0.5]))
    array([-0. ,  0.5])
    """
    if not is_float_array(array):
        return array
    with np.errstate(invalid="ignore"):
        return np.where(_is_denormal(array), np.copysign(array.dtype.type(0), array), array)


def _is_beyond_range(operands: Operands, result: npt.NDArray[Any]) -> Any:
    if result.dtype.kind not in "iu":
        return False
    info = np.iinfo(result.dtype)
    return (operands[0] < float(info.min)) | (operands[0] >= float(info.max)) | np.isinf(operands[0])


def _is_near_integer(operands: Operands, result: npt.NDArray[Any]) -> Any:
    quotient = operands[0] / operands[1]
    is_large = np.abs(quotient) > 1 / _limits(quotient).eps
    return (np.floor(quotient) != result) | is_large | _is_denormal(quotient)


def _is_overflowing_quotient(operands: Operands, result: npt.NDArray[Any]) -> Any:
    return (operands[0] == np.iinfo(operands[0].dtype).min) & (operands[1] == -1)


def _has_infinite_operand(operands: Operands, result: npt.NDArray[Any]) -> Any:
    return ~np.isfinite(operands[0]) | ~np.isfinite(operands[1]) | (operands[1] == 0)


def _has_denormal(operands: Operands, result: npt.NDArray[Any]) -> Any:
    arrays = (*operands, result)
    if all(array.shape == result.shape for array in arrays):
        return np.any([_is_denormal(array) | np.zeros(array.shape, bool) for array in arrays], axis=0)
    return any(np.any(_is_denormal(array)) for array in arrays)


def _has_zero(operands: Operands, result: npt.NDArray[Any]) -> Any:
    if all(operand.shape == result.shape for operand in operands):
        return np.any([array == 0 for array in (*operands, result)], axis=0)
    return any(np.any(array == 0) for array in (*operands, result))


CONDITIONS: Mapping[str, Callable[[Operands, npt.NDArray[Any]], Any]] = {
    "always": lambda operands, result: True,
    "zero-divisor": lambda operands, result: operands[1] == 0,
    "negative-exponent": lambda operands, result: operands[1] < 0,
    "negative-shift": lambda operands, result: operands[1] < 0,
    "out-of-range-index": lambda operands, result: False,
    "overflowing-quotient": _is_overflowing_quotient,
    "wide-exponent": lambda operands, result: operands[1] >= 64,
    "wide-shift": lambda operands, result: operands[1] >= 8 * operands[0].dtype.itemsize,
    "out-of-range-cast": _is_beyond_range,
    "nan-cast": lambda operands, result: np.isnan(operands[0]) & (result.dtype.kind in "iu"),
    "nan-operand": lambda operands, result: np.isnan(operands[-1]),
    "near-integer-quotient": _is_near_integer,
    "infinite-operand": _has_infinite_operand,
    "denormal": _has_denormal,
    "zero": _has_zero,
}
"""The conditions by name: where they hold, given operands and result. Where the reference traps there is no result, and
the condition only names the case."""
