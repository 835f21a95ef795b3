"""The sweep over ops: every row of the registry at every dtype, over edge values, on a backend.

Operands are grouped by the row of the policy that covers them, and each group is one program of one op. So a backend
that crashes on MIN // -1 loses that group only, and the result is a profile: the ops that the backend computes and
lacks, and its behaviour where systems differ by design.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...core import dtypes
from ...core.dtypes import DType
from ...core.errors import Invalid
from ...core.ops.op import OPS, Attributes, Op, build_kernel, trap_message
from ...core.program.program import FunctionDef, Node, Program, Region, Var
from ...core.types import Type, type_of
from ...core.value import Value, abbreviate, admit, format_value
from .backend_process import Backend
from .judge import FAILURES, Judgement, JudgementVerdict, close_elements, judge_failure
from .policy import flush_denormals, rules_for, window_of
from .protocol import Answer

SWEEP_VERSION = 2
"""The version of the sweep: it changes if the sweep has other cases, or judges a case in another way."""
ORDINARY, TRAP = "ordinary", "trap"
"""The groups of operands that no row of the policy covers, and of those on which the reference traps."""


class OpSample(NamedTuple):
    """An op at dtypes: the data for a program of that op alone."""

    row: Op
    operand_dtypes: tuple[DType, ...]
    attributes: Attributes

    @property
    def label(self) -> str:
        """The op, the dtypes of its operands, and its attributes, in a line."""
        words = [self.row.name, *dict.fromkeys(map(repr, self.operand_dtypes))]
        return " ".join([*words, *(f"{name}={describe_attribute(value)}" for name, value in self.attributes)])


class SweepResult(NamedTuple):
    """The behaviour of a backend for an op at dtypes, on one group of operands. `example` is an operand tuple on which
    it differs, with both results; if the policy permits only some differences, it is one that is not permitted."""

    label: str
    group: str
    verdict: JudgementVerdict
    reason: str
    size: int
    differences: int
    example: str | None = None
    is_permitted: bool = False
    """Whether the policy permits the difference, or the failure, if there is one."""

    @property
    def reported_verdict(self) -> str:
        """The verdict; `claimed` for a failure that the policy permits."""
        return "claimed" if self.is_permitted and self.verdict in FAILURES else self.verdict


def describe_attribute(value: object) -> str:
    """An attribute in a label: without spaces."""
    return repr(value).replace(" ", "")


SAMPLE_ATTRIBUTES: dict[str, tuple[Any, ...]] = {
    "axis": (0,),
    "keepdims": (False, True),
    "descending": (False, True),
    "shape": ((1, -1),),
    "axes": ((0,),),
    "side": ("left",),
    "offset": (0,),
    "key": ("::-1", "1:"),
    "shift": ((1,),),
    "strides": (None,),
}
"""For each attribute, the values that the sweep gives it; a combination that a row refuses is left out."""
OWN_ATTRIBUTES: dict[tuple[str, str], tuple[Any, ...]] = {
    ("broadcast_to", "shape"): ((2, None),),
    ("roll", "axis"): ((0,),),
    ("squeeze", "axis"): ((),),
}


def edge_values(dtype: DType) -> list[Value]:
    """Values of a dtype at which kernels often fail, and a few ordinary ones."""
    if dtype.kind == "b":
        return [False, True]
    if dtype.is_integer:
        low, high = dtype.range
        numbers: list[Any] = [0, 1, 2, 3, 7, 63, 64, dtype.bits - 1, dtype.bits, high - 1, high]
        numbers += [-1, -2, -7, low + 1, low]
        return [admit(number, Type(dtype)) for number in dict.fromkeys(numbers) if low <= number <= high]
    info = dtype.limits
    numbers = [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 7.0, 88.5, 1e6 + 0.5, float(2**31), float(2**63)]
    numbers += [float(info.max), float(info.smallest_normal), float(info.smallest_subnormal), np.inf]
    numbers = [number for number in numbers if number <= float(info.max) or np.isinf(number)]
    return [admit(float(number), Type(dtype)) for number in [*numbers, *(-number for number in numbers), np.nan]]


def op_samples(names: Sequence[str] | None = None, value_dtypes: Sequence[DType] = dtypes.ALL) -> Iterator[OpSample]:
    """Every row at every one of these dtypes that its type rule accepts; all operands have one dtype, except those that
    must be bool or an index."""
    sample_attributes = {**SAMPLE_ATTRIBUTES, "dtype": value_dtypes}
    for row in OPS.values():
        if names is not None and row.name not in names:
            continue
        choices = [OWN_ATTRIBUTES.get((row.name, name), sample_attributes.get(name, ())) for name in row.attributes]
        for values in itertools.product(*choices):
            attributes = tuple(zip(row.attributes, values, strict=True))
            for dtype in value_dtypes:
                operand_dtypes = accepted_dtypes(row, dtype, attributes)
                if operand_dtypes is not None:
                    yield OpSample(row, operand_dtypes, attributes)


def accepted_dtypes(row: Op, dtype: DType, attributes: Attributes) -> tuple[DType, ...] | None:
    """The dtypes of the operands of a row whose values are of this dtype; None if it accepts none."""
    arity = row.arity or 2
    for pattern in ((dtype,) * arity, (dtypes.bool, *(dtype,) * (arity - 1)), (dtype, *(dtypes.int64,) * (arity - 1))):
        candidate = pattern[:arity]
        if candidate[-1] is not dtype and candidate[0] is not dtype:
            continue
        try:
            row.type_rule(*(Type(dtype, (3,)) for dtype in candidate), **dict(attributes))
        except Invalid:
            continue
        return candidate
    return None


def operand_groups(sample: OpSample) -> dict[str, list[tuple[Value, ...]]]:
    """The tuples of edge values on which the sweep calls an elementwise op, by group."""
    groups: dict[str, list[tuple[Value, ...]]] = {}
    kernel, types = sample_kernel(sample, ())
    rules = [rule for rule in rules_for(sample.row.name, types) if rule.treatment not in ("window", "trap")]
    for operands in itertools.product(*map(edge_values, sample.operand_dtypes)):
        if trap_message(sample.row, operands, sample.attributes) is not None:
            group = TRAP
        else:
            result = kernel(*operands)
            group = next((rule.condition for rule in rules if np.any(rule.holds(operands, result))), ORDINARY)
        groups.setdefault(group, []).append(operands)
    return groups


def sample_kernel(sample: OpSample, shape: tuple[int, ...]) -> tuple[Any, list[Type]]:
    """The kernel of a sample on operands of a shape, and their types."""
    types = [Type(dtype, shape) for dtype in sample.operand_dtypes]
    result = sample.row.type_rule(*types, **dict(sample.attributes))
    return build_kernel(sample.row, types, result, sample.attributes), types


def sample_program(sample: OpSample, types: Sequence[Type]) -> Program:
    """The program that applies the op to its parameters."""
    parameters = tuple(Var(name, type_) for name, type_ in zip("xyzw", types, strict=False))
    result = Var("r", sample.row.type_rule(*types, **dict(sample.attributes)))
    node = Node(
        sample.row.name, tuple(parameter.name for parameter in parameters), (result,), attributes=sample.attributes
    )
    return Program((FunctionDef("main", Region(parameters, (node,), ("r",)), (result.type,)),), "main")


def sweep(backend: Backend, names: Sequence[str] | None = None) -> Iterator[SweepResult]:
    """The results of a backend on every sample, a result for each group of operands."""
    for sample in op_samples(names):
        if sample.row.scalar is not None:
            for group, every_tuple in operand_groups(sample).items():
                operand_tuples = every_tuple[:1] if group == TRAP else every_tuple
                columns = [
                    admit(np.array(column, dtype.numpy))
                    for column, dtype in zip(zip(*operand_tuples, strict=True), sample.operand_dtypes, strict=True)
                ]
                yield run_group(backend, sample, group, columns)
        else:
            vectors = [sample_vector(dtype, position) for position, dtype in enumerate(sample.operand_dtypes)]
            if trap_message(sample.row, tuple(vectors), sample.attributes) is None:
                yield run_group(backend, sample, ORDINARY, vectors)


def sample_vector(dtype: DType, position: int) -> Value:
    """A vector of small numbers, which are indices too."""
    numbers = [[2, 0, 1, 1], [0, 1, 1, 0]][position % 2]
    return admit(np.array(numbers).astype(dtype.numpy))


def group_treatment(sample: OpSample, group: str) -> str | None:
    """The treatment that the policy has for a group of operands; None for ordinary ones."""
    rules = rules_for(sample.row.name, list(map(Type, sample.operand_dtypes)))
    return TRAP if group == TRAP else next((rule.treatment for rule in rules if rule.condition == group), None)


def run_group(backend: Backend, sample: OpSample, group: str, operands: Sequence[Value]) -> SweepResult:
    """Run one op on one group of operands, and compare."""
    types = list(map(type_of, operands))
    answer = backend.run(sample_program(sample, types), operands)
    if group == TRAP:
        return trap_result(sample, answer, operands)
    failure = judge_failure(answer)
    if failure is not None:
        return failure_result(sample, group, failure, operands)
    return compare_group(sample, group, operands, answer)


def failure_result(sample: OpSample, group: str, failure: Judgement, operands: Sequence[Value]) -> SweepResult:
    """The behaviour of a backend that has no results."""
    is_permitted = group_treatment(sample, group) in ("claim", TRAP)
    size = int(np.size(np.asarray(operands[0])))
    return SweepResult(sample.label, group, failure.verdict, failure.reason, size, 0, is_permitted=is_permitted)


def compare_group(sample: OpSample, group: str, operands: Sequence[Value], answer: Answer) -> SweepResult:
    """Compare the results of one op on one group of operands: by their bits, then as the policy permits."""
    arrays = list(map(np.asarray, operands))
    kernel, types = sample_kernel(sample, arrays[0].shape)
    required, actual = np.asarray(kernel(*operands)), np.asarray(answer.results[0])
    if required.dtype != actual.dtype or required.shape != actual.shape:
        reason = f"the result is of type {type_of(actual)} instead of {type_of(required)}"
        return SweepResult(sample.label, group, "different", reason, arrays[0].size, arrays[0].size)
    treatment, window = group_treatment(sample, group), window_of(sample.row.name, types)
    is_same = close_elements(required, actual, window, has_open_zeros=treatment in ("zero-sign", "flush"))
    if np.all(is_same):
        return SweepResult(sample.label, group, "alike", "", arrays[0].size, 0)
    is_difference_permitted = is_same
    if treatment == "claim":
        is_difference_permitted = np.ones_like(is_same)
    elif treatment == "flush":
        is_difference_permitted = is_same | flushed_elements(kernel, arrays, actual, window)
    is_permitted = bool(np.all(is_difference_permitted))
    position = tuple(
        index[0] for index in np.nonzero(np.atleast_1d(~(is_same if is_permitted else is_difference_permitted)))
    )
    at = position if sample.row.scalar is not None else None
    words = ", ".join(
        format_value(array[at] if at else operand) for array, operand in zip(arrays, operands, strict=True)
    )
    required_element, actual_element = (abbreviate(np.atleast_1d(value)[position]) for value in (required, actual))
    example = f"{sample.row.name}({words}): required {required_element}, got {actual_element}"
    differences = int(np.sum(~is_same))
    reason = f"{differences} of {is_same.size} differ"
    return SweepResult(
        sample.label, group, "different", reason, arrays[0].size, differences, example, is_permitted=is_permitted
    )


def flushed_elements(
    kernel: Any, operands: Sequence[npt.NDArray[Any]], actual: npt.NDArray[Any], window: int
) -> npt.NDArray[np.bool_]:
    """The positions where results follow from counting some denormal operands, or the denormal result, as zero."""
    is_explained = np.zeros(actual.shape, bool)
    for choice in itertools.product(*((operand, flush_denormals(operand)) for operand in operands)):
        result = np.asarray(kernel(*map(admit, choice)))
        for possible_result in (result, flush_denormals(result)):
            is_explained |= close_elements(possible_result, actual, window, has_open_zeros=True)
    return is_explained


def trap_result(sample: OpSample, answer: Answer, operands: Sequence[Value]) -> SweepResult:
    """The behaviour of a backend where the reference traps."""
    failure, size = judge_failure(answer), int(np.size(np.asarray(operands[0])))
    if answer.kind in ("trapped", "error"):
        return SweepResult(sample.label, TRAP, "alike", "both trap", size, 0)
    if failure is not None:
        return failure_result(sample, TRAP, failure, operands)
    value = abbreviate(np.asarray(answer.results[0]).reshape(-1)[0])
    return SweepResult(sample.label, TRAP, "undecided", f"gives {value} where the reference traps", size, 0)
