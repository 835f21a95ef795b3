"""The sweep over ops: which dtypes it has, and what it finds at the floats of 16 bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from support.twins.wrong_backends import FlushedDenormals, RightBackend, compute
from tagloom.core import dtypes
from tagloom.core.dtypes import FLOAT_FORMATS
from tagloom.core.ops.op import OPS
from tagloom.core.program.program import Node
from tagloom.core.value import Value, admit
from tagloom.interp.oracle.edge_programs import exact_samples
from tagloom.interp.oracle.policy import flush_denormals
from tagloom.interp.oracle.sweep import ORDINARY, op_samples, sweep


class RoundTowardsZero(RightBackend):
    """Sums and products of floats of 16 bits are rounded towards zero."""

    def op(self, node: Node, operands: list[Value]) -> Value:
        dtype = node.results[0].type.dtype
        if dtype not in FLOAT_FORMATS or node.op not in ("add", "multiply"):
            return super().op(node, operands)
        with np.errstate(all="ignore"):
            wide = [np.asarray(operand).astype(np.float32) for operand in operands]
            exact = wide[0] + wide[1] if node.op == "add" else wide[0] * wide[1]
            near = exact.astype(dtype.numpy)
            is_beyond = np.abs(near.astype(np.float32)) > np.abs(exact)
            towards_zero = np.nextafter(near, np.zeros_like(near))
        return admit(np.where(is_beyond & np.isfinite(near), towards_zero, near).astype(dtype.numpy))


class RoundsNothing(RightBackend):
    """The results of sums of floats of 16 bits have 32 bits."""

    def op(self, node: Node, operands: list[Value]) -> Value:
        result = compute(node, operands)
        is_narrow = node.results[0].type.dtype in FLOAT_FORMATS
        return admit(np.asarray(result).astype(np.float32)) if node.op == "add" and is_narrow else result


class ScalesDenormals(RightBackend):
    """Denormal operands are doubled."""

    def op(self, node: Node, operands: list[Value]) -> Value:
        arrays = [np.asarray(operand) for operand in operands]
        with np.errstate(over="ignore"):
            doubled = [np.where(flush_denormals(each) == 0, each * each.dtype.type(2), each) for each in arrays]
        return compute(node, [admit(each) for each in doubled])


class PrefersOtherZero(RightBackend):
    """The minimum of two zeros is the second one."""

    def op(self, node: Node, operands: list[Value]) -> Value:
        first, second = map(np.asarray, operands)
        return admit(np.where((first == 0) & (second == 0), second, compute(node, operands)))


class LosesNan(RightBackend):
    """The minimum of a zero and NaN is the zero."""

    def op(self, node: Node, operands: list[Value]) -> Value:
        first, second = map(np.asarray, operands)
        return admit(np.where((first == 0) & np.isnan(second), first, compute(node, operands)))


def reported(backend: RightBackend, name: str, group: str) -> set[str]:
    """What the sweep reports of an op on a group of float32 and float64."""
    results = sweep(backend, [name])  # type: ignore[arg-type]
    return {result.reported_verdict for result in results if result.group == group and "float16" not in result.label}


def verdicts(backend: RightBackend, names: Sequence[str]) -> dict[tuple[str, str], str]:
    """The verdicts of the sweep by the sample and the group."""
    return {(result.label, result.group): result.verdict for result in sweep(backend, names)}  # type: ignore[arg-type]


def test_every_dtype_is_swept() -> None:
    """The sweep has each dtype, and each op that takes float32 at both floats of 16 bits, but for `bitcast`, which
    reads bits."""
    labels = {(sample.row.name, dtype) for sample in op_samples() for dtype in sample.operand_dtypes}
    assert {dtype for _, dtype in labels} == set(dtypes.ALL)
    for dtype in FLOAT_FORMATS:
        assert {name for name, each in labels if each is dtype} == {
            name for name, each in labels if each is dtypes.float32
        }


def test_generated_programs_have_no_floats_of_16_bits() -> None:
    """The programs that `--fuzz` writes stay as they were."""
    samples = [sample for ops in exact_samples().values() for listed in ops.values() for sample in listed]
    assert samples
    for sample in samples:
        named = {*sample.operand_dtypes, *(value for _, value in sample.attributes)}
        assert not named & FLOAT_FORMATS.keys()


@pytest.mark.full
@pytest.mark.parametrize("twin", [RoundTowardsZero, RoundsNothing])
def test_wrong_rounding_is_found(twin: type[RightBackend]) -> None:
    """A backend that rounds sums of 16 bits in another way, or not at all, differs on ordinary operands; a right one
    does not."""
    names = ["add", "multiply", "sum", "exp"]
    right, wrong = verdicts(RightBackend(), names), verdicts(twin(), names)
    assert set(right.values()) <= {"alike", "claimed"}
    for dtype in FLOAT_FORMATS:
        assert right[f"add {dtype!r}", ORDINARY] == "alike"
        assert wrong[f"add {dtype!r}", ORDINARY] in ("different", "error")
    assert {label for (label, _), verdict in wrong.items() if verdict in ("different", "error")} <= {
        f"{name} {dtype!r}" for name in ("add", "multiply") for dtype in FLOAT_FORMATS
    }


@pytest.mark.full
@pytest.mark.parametrize("op", ["sqrt", "add", "pow", "less", "floor"])
def test_only_what_flushing_explains_is_permitted(op: str) -> None:
    """A backend for which denormal numbers are zero differs as the policy permits; one that doubles them is wrong."""
    assert reported(FlushedDenormals(), op, "denormal") == {"claimed"}
    assert reported(RightBackend(), op, "denormal") == {"alike"}
    if op == "sqrt":
        assert reported(ScalesDenormals(), op, "denormal") == {"different"}


@pytest.mark.full
def test_only_the_sign_of_a_zero_is_open() -> None:
    """A backend may choose either zero as the minimum of two; one that loses a NaN beside a zero is wrong, and its
    example is such a pair."""
    assert reported(PrefersOtherZero(), "minimum", "zero") == {"alike"}
    assert reported(LosesNan(), "minimum", "zero") == {"different"}
    examples = [each.example for each in sweep(LosesNan(), ["minimum"]) if each.group == "zero"]  # type: ignore[arg-type]
    assert examples and all("nan" in str(example) for example in examples)


@pytest.mark.full
def test_the_reference_conforms_at_16_bits() -> None:
    """A backend that computes every op as its row says is alike on all operands of 16 bits."""
    names = [name for name, row in OPS.items() if row.arity == 1 and row.scalar is not None]
    results = [each for each in sweep(RightBackend(), names) if "float16" in each.label]  # type: ignore[arg-type]
    assert len(results) > 100 and {result.verdict for result in results} == {"alike"}
