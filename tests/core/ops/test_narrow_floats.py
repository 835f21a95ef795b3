"""float16 and bfloat16: conversions round once, every op has the result of float32 rounded, and every form of a value
keeps all of them."""

from __future__ import annotations

import json
import math
import pickle
from bisect import bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tagloom as tl
from support.generators.edges import EDGES
from tagloom.core import dtypes
from tagloom.core.dtypes import FLOAT_FORMATS, DType, float32, float64
from tagloom.core.frontend.array_api import neural_network, numeric
from tagloom.core.json.cursor import JsonCursor
from tagloom.core.json.value import read_value, value_to_json_text
from tagloom.core.ops import cast, scalar_kernels
from tagloom.core.ops import op as op_module
from tagloom.core.ops.op import OPS, build_kernel, trap_message
from tagloom.core.text.literals import parse_literal
from tagloom.core.types import Type, type_of
from tagloom.core.value import admit, format_value, is_same_value, round_floats
from tagloom.interp.engines.distributed.packing import pack, unpack
from tagloom.interp.image.image import decode_word, encode_word
from tagloom.interp.oracle.sweep import OpSample, op_samples

Rounding = Callable[[float, DType], float]
each_dtype = pytest.mark.parametrize("dtype", FLOAT_FORMATS, ids=repr)


pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
"""NumPy warns of signalling NaNs, and of numbers beyond the range."""


def all_numbers(dtype: DType) -> npt.NDArray[Any]:
    """All 65,536 numbers of a dtype, by their bits."""
    return np.arange(2**16, dtype=np.uint16).view(dtype.numpy)


@cache
def sorted_numbers(dtype: DType) -> list[float]:
    """The numbers from 0 to the largest one. The position of a number is its bits, so that even ones have even
    positions. In the place of infinity is the number that would follow."""
    numbers = [float(number) for number in all_numbers(dtype)[: 2**15] if np.isfinite(number)]
    return [*numbers, 2 * numbers[-1] - numbers[-2]]


def nearest(x: float, dtype: DType, numbers: list[float]) -> float:
    """The number nearest to x, by exact arithmetic."""
    if math.isnan(x) or math.isinf(x):
        return x
    position = min(bisect_right(numbers, abs(x)), len(numbers) - 1)
    low, high = numbers[position - 1], numbers[position]
    below, above = Fraction(abs(x)) - Fraction(low), Fraction(high) - Fraction(abs(x))
    is_up = above < below or (above == below and position % 2 == 0)
    size = (math.inf if position == len(numbers) - 1 else high) if is_up else low
    return math.copysign(size, x)


def rounding_cases(dtype: DType, numbers: list[float]) -> Iterator[float]:
    """Numbers, the middles between neighbours, floats just beside these, and floats of any size."""
    random, count = Random(0), len(numbers)
    positions = [0, 1, 2, count - 3, count - 2, *(random.randrange(count - 1) for _ in range(200))]
    for position in positions:
        middle = (numbers[position] + numbers[position + 1]) / 2
        for size in (numbers[position], middle, math.nextafter(middle, 0.0), math.nextafter(middle, math.inf)):
            yield from (size, -size)
    yield from np.random.default_rng(0).integers(0, 2**64, 500, np.uint64).view(np.float64).tolist()
    yield from (1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan)


def misrounded(rounding: Rounding, dtype: DType) -> list[float]:
    """The cases that a function does not round to the nearest number."""
    numbers = sorted_numbers(dtype)
    return [
        x
        for x in rounding_cases(dtype, numbers)
        if not is_same_value(float(rounding(x, dtype)), nearest(x, dtype, numbers))
    ]


def astype(x: float, dtype: DType, shape: tuple[int, ...] = ()) -> float:
    """The result of the op on a scalar, or on an array of one element."""
    kernel = build_kernel(OPS["astype"], [Type(float64, shape)], Type(dtype, shape), (("dtype", dtype),))
    return float(np.asarray(kernel(np.full(shape, x) if shape else x)).ravel()[0])


ROUNDINGS: dict[str, Rounding] = {
    "array": lambda x, dtype: round_floats(np.array(x), dtype),  # type: ignore[dict-item, return-value]
    "scalar": lambda x, dtype: scalar_kernels.round_float(x, *FLOAT_FORMATS[dtype]),
    "astype": astype,
    "astype of an array": lambda x, dtype: astype(x, dtype, (1,)),
}


def truncate(x: float, dtype: DType) -> float:
    """A broken twin: rounds toward zero."""
    numbers = sorted_numbers(dtype)
    return math.copysign(numbers[max(bisect_right(numbers, abs(x)) - 1, 0)], x) if math.isfinite(x) else x


def round_twice(x: float, dtype: DType) -> float:
    """A broken twin: rounds to float32, and then to the dtype."""
    return float(np.float32(x).astype(dtype.numpy))


def round_half_away(x: float, dtype: DType) -> float:
    """A broken twin: rounds ties away from zero."""
    return float(round_floats(np.array(math.nextafter(x, math.copysign(math.inf, x))), dtype)) if x == x else x


@pytest.mark.full
@each_dtype
@pytest.mark.parametrize("name", ROUNDINGS)
def test_conversions_round_once(name: str, dtype: DType) -> None:
    """A float64 becomes the nearest number, of two equally near ones the even one; subnormal numbers, zeros with their
    sign and NaN stay, and a number beyond the range becomes infinite."""
    assert not misrounded(ROUNDINGS[name], dtype)


@pytest.mark.full
@each_dtype
@pytest.mark.parametrize("twin", [truncate, round_twice, round_half_away])
def test_wrong_roundings_are_caught(twin: Rounding, dtype: DType) -> None:
    """Truncation, rounding twice and rounding ties away from zero break the law."""
    assert misrounded(twin, dtype)


def test_literals_and_lists_round_once() -> None:
    """A Python number, a list and a literal are rounded once, as `astype` rounds them: through float32, this one would
    be a tie, and become 1."""
    number = 1 + 2**-8 + 2**-40
    for value in (
        admit(number, Type(tl.bfloat16)),
        parse_literal(f"bfloat16({number!r})").value,
        tl.asarray([number], dtype=tl.bfloat16)[0].__array__(),
        read_value(JsonCursor({"dtype": "bfloat16", "data": number})),
    ):
        assert float(np.asarray(value)) == 1 + 2**-7


def test_numbers_beyond_the_range_are_refused() -> None:
    """A Python number that no finite number is near to is refused, as for float32, where an op would give infinity."""
    for dtype, number in ((tl.float16, 65520.0), (tl.bfloat16, 3.4e38)):
        with pytest.raises(tl.Usage, match="does not fit into"):
            admit(number, Type(dtype))
        assert float(tl.astype(number, dtype)) == math.inf


# Ops


def narrow_samples() -> list[OpSample]:
    """Every row with attributes, on operands one of which is a float of 16 bits, or with such a result."""
    value_dtypes = (*FLOAT_FORMATS, dtypes.bool, dtypes.int16, dtypes.uint16, float32, float64)
    return [
        sample
        for sample in op_samples(value_dtypes=value_dtypes)
        if sample.row.narrow_compute_dtype is not None
        and any(dtype in FLOAT_FORMATS for dtype in (*sample.operand_dtypes, dict(sample.attributes).get("dtype")))
    ]


SAMPLES = narrow_samples()
each_sampled_row = pytest.mark.parametrize("name", sorted({sample.row.name for sample in SAMPLES}))


def operands_of(sample: OpSample, shape: tuple[int, ...]) -> Iterator[tuple[Any, ...]]:
    """Operands of a shape, of edge values and small numbers: a few tuples for each op."""
    random, count = Random(0), math.prod(shape)
    for _ in range(4 if shape else 40):
        values = [[random.choice(EDGES[dtype]) for _ in range(count)] for dtype in sample.operand_dtypes]
        arrays = [np.array(each, d.numpy).reshape(shape) for each, d in zip(values, sample.operand_dtypes, strict=True)]
        yield tuple(map(admit, arrays))
    small = [np.arange(1, 1 + count).reshape(shape).astype(dtype.numpy) for dtype in sample.operand_dtypes]
    yield tuple(map(admit, small))


def has_result(sample: OpSample, operands: tuple[Any, ...]) -> bool:
    """Whether an op does not trap on these operands, nor has a result of any size."""
    if (
        sample.row.result_elements is not None
        and sample.row.result_elements(*operands, **dict(sample.attributes)) > 100
    ):
        return False
    return trap_message(sample.row, operands, sample.attributes) is None


def wrong_results(sample: OpSample, shape: tuple[int, ...]) -> Iterator[tuple[Any, ...]]:
    """The operands on which an op does not have the result of float32, rounded."""
    types = [Type(dtype, shape) for dtype in sample.operand_dtypes]
    try:
        result = sample.row.type_rule(*types, **dict(sample.attributes))
    except tl.Invalid:  # of other shapes
        return
    is_narrow = result.dtype in FLOAT_FORMATS
    wide_dtype = sample.row.narrow_compute_dtype if is_narrow else result.dtype
    assert wide_dtype is not None
    attributes = tuple((name, wide_dtype if value in FLOAT_FORMATS else value) for name, value in sample.attributes)
    wide_types = [Type(type_.dtype.compute_dtype, type_.shape) for type_ in types]
    wide_kernel = build_kernel(sample.row, wide_types, Type(wide_dtype, result.shape), attributes)
    kernel = build_kernel(sample.row, types, result, sample.attributes)
    for operands in operands_of(sample, shape):
        if not has_result(sample, operands):
            continue
        pairs = zip(operands, wide_types, strict=True)
        wide = admit(wide_kernel(*(admit(np.asarray(value).astype(type_.dtype.numpy)) for value, type_ in pairs)))
        expected = admit(round_floats(np.asarray(wide), result.dtype)) if is_narrow else wide
        actual = kernel(*operands)
        if not is_same_value(actual, expected) or type_of(actual).dtype is not result.dtype:
            yield operands


@pytest.mark.full
@each_sampled_row
def test_every_op_computes_in_float32_and_rounds(name: str) -> None:
    """On scalars, vectors and matrices of both dtypes an op has the result that it has on the same numbers in float32,
    rounded once; `astype` has that of float64, rounded once."""
    samples = [sample for sample in SAMPLES if sample.row.name == name]
    assert samples
    for sample in samples:
        for shape in ((), (4,), (3, 3)):
            assert list(wrong_results(sample, shape)) == []


@pytest.mark.parametrize("name", ["add", "exp", "astype", "divide"])
def test_ops_that_truncate_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that cut the last bits off, instead of rounding, break the law."""

    def cut(array: Any, dtype: DType) -> Any:
        rounded = round_floats(array, dtype)
        below = np.nextafter(rounded.astype(np.float32), np.float32(0)).astype(dtype.numpy)
        return np.where(np.abs(rounded.astype(np.float64)) > np.abs(array), below, rounded).astype(dtype.numpy)

    monkeypatch.setattr(cast, "round_floats", cut)
    monkeypatch.setattr(
        op_module,
        "rounding_constructor",
        lambda dtype: lambda number: cast.narrow_value(np.float32(number) * 0.99, dtype),
    )
    samples = [sample for sample in SAMPLES if sample.row.name == name]
    assert any(list(wrong_results(sample, shape)) for sample in samples for shape in ((), (4,)))


@each_dtype
def test_nextafter_is_the_next_number_of_the_dtype(dtype: DType) -> None:
    """nextafter steps from each finite number to the next one of its own dtype, not of float32."""
    numbers = all_numbers(dtype)[: 2**15]
    finite = numbers[np.isfinite(numbers)]
    up = np.asarray(tl.nextafter(finite, np.array(np.inf, dtype.numpy)))
    assert np.array_equal(up.view(np.uint16), finite.view(np.uint16) + 1)


def test_both_dtypes_together_are_float32() -> None:
    """Ops that compute, that only move elements, and that step give float32 for operands of both dtypes."""
    one, other = np.array([0.1, 0.2], np.float16), np.array([0.1, 0.3], tl.bfloat16.numpy)
    wide = one.astype(np.float32), other.astype(np.float32)
    for function in (
        tl.add,
        lambda x, y: tl.concat([x, y]),
        tl.nextafter,
        tl.maximum,
        lambda x, y: tl.where(x < y, x, y),
    ):
        assert is_same_value(np.asarray(function(one, other)), np.asarray(function(*wide)))


REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "mean": tl.mean,
    "mean along an axis": lambda x: tl.mean(x, axis=0, keepdims=True),
    "var": lambda x: tl.var(x, correction=1),
    "std": tl.std,
    "logsumexp": tl.logsumexp,
    "softmax": tl.softmax,
    "log_softmax": tl.log_softmax,
    "layer_norm": tl.layer_norm,
    "vector_norm": tl.linalg.vector_norm,
    "vector_norm of order 3": lambda x: tl.linalg.vector_norm(x, ord=3),
    "clip_by_norm": lambda x: tl.clip_by_norm(x, 5.0),
    "layer_norm with a scale": lambda x: tl.layer_norm(
        x, scale=np.full(1, 3, x.dtype), offset=np.full(1, 0.5, x.dtype)
    ),
    "sigmoid": tl.sigmoid,
    "silu": tl.silu,
    "gelu": tl.gelu,
    "gelu by tanh": lambda x: tl.gelu(x, approximate=True),
    "attention": lambda x: tl.dot_product_attention(x[:50, None], x[None, :50].mT, x[:50, None], causal=True),
}
"""Functions of several ops that round once."""


def rounds_once(function: Callable[[Any], Any], dtype: DType) -> bool:
    """Whether a function has the results of float32, rounded: on numbers whose squares are beyond float16, on small
    ones, and on more elements than float16 can count."""
    dice = np.random.default_rng(0)
    for values in (
        [300.0, 400.0],
        [6e4, 6e4, 4e2],
        dice.normal(size=50),
        np.zeros(70_000),
        [math.nan, 1.0],
        [math.inf, 2.0],
    ):
        narrow = round_floats(np.asarray(values, np.float64), dtype)
        expected = round_floats(np.asarray(function(narrow.astype(np.float32))), dtype)
        if not is_same_value(admit(np.asarray(function(narrow))), admit(expected)):
            return False
    return True


@pytest.mark.full
@each_dtype
@pytest.mark.parametrize("name", REDUCTIONS)
def test_means_norms_and_softmax_round_once(name: str, dtype: DType) -> None:
    """A function that adds up many elements, or their squares, computes in float32, and rounds its result once: a mean
    is finite even where the sum is beyond the range."""
    assert rounds_once(REDUCTIONS[name], dtype)


@pytest.mark.full
@pytest.mark.parametrize("name", ["mean", "std", "softmax", "silu", "gelu by tanh", "attention"])
def test_rounding_after_each_op_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions that do not widen their operand break the law."""
    for module in (numeric, neural_network):
        monkeypatch.setattr(module, "widen", lambda x: x)
    assert not rounds_once(REDUCTIONS[name], tl.float16)


@each_dtype
def test_global_norms_do_not_overflow(dtype: DType) -> None:
    """The norm of all gradients together is float32, and the clipped ones keep their dtype."""
    gradients = {"w": tl.asarray([300.0, 0.0], dtype=dtype), "b": tl.asarray(400.0, dtype=dtype)}
    clipped, length = tl.clip_by_global_norm(gradients, 1.0)
    assert float(length) == 500.0 and type_of(np.asarray(length)).dtype is float32
    assert {each.dtype for each in clipped.values()} == {dtype}
    assert abs(float(clipped["b"]) - 0.8) < 0.01


@pytest.mark.full
@each_dtype
@pytest.mark.parametrize("bounds", [(0.0, 1e5, 3), (0.0, 100.0, 1000), (0.0, 6e4, 70_000)])
def test_ranges_round_once(bounds: tuple[float, float, int], dtype: DType) -> None:
    """Evenly spaced numbers are those of float64, rounded: also where the last one is beyond the range, or there are
    more of them than float16 can count."""
    expected = round_floats(np.linspace(*bounds), dtype)
    assert np.asarray(tl.linspace(*bounds, dtype=dtype)).tobytes() == expected.tobytes()
    traced = tl.function(lambda first, last: tl.linspace(first, last, bounds[2], dtype=dtype))
    assert np.asarray(traced(*bounds[:2])).tobytes() == expected.tobytes()


# Forms of values


@each_dtype
def test_bitcast_keeps_all_bits(dtype: DType) -> None:
    """Each of the 65,536 numbers has bits of its own, both ways, signalling NaNs included."""
    numbers = all_numbers(dtype)
    for integer in (dtypes.int16, dtypes.uint16):
        bits = np.asarray(tl.bitcast(numbers, integer))
        assert np.array_equal(bits, numbers.view(integer.numpy))
        assert np.asarray(tl.bitcast(bits, dtype)).tobytes() == numbers.tobytes()
    for number in numbers[:: 2**16 // 500]:
        assert tl.bitcast(tl.bitcast(number, tl.uint16), dtype).view(np.uint16) == number.view(np.uint16)


@pytest.mark.full
@each_dtype
def test_scalar_functions_know_the_bits(dtype: DType) -> None:
    """The functions that machine code is made of agree with NumPy, and keep the first bits of a quiet NaN."""
    format_ = FLOAT_FORMATS[dtype]
    for bits, number in enumerate(all_numbers(dtype).astype(np.float32).astype(np.float64).tolist()):
        assert is_same_value(scalar_kernels.float_of_bits(bits, *format_), number)
        quiet_bit = 1 << (format_.significand_bits - 2) if number != number else 0
        restored = scalar_kernels.float_bits(scalar_kernels.float_of_bits(bits, *format_), *format_)
        assert restored == bits | quiet_bit


@pytest.mark.full
@each_dtype
def test_all_forms_keep_all_numbers(dtype: DType) -> None:
    """Text, JSON, words of logs and of machines restore each of the 65,536 numbers; packed documents and pickles
    restore their bits."""
    numbers = admit(all_numbers(dtype))
    assert is_same_value(parse_literal(format_value(numbers)).value, numbers)
    assert is_same_value(read_value(JsonCursor(json.loads(value_to_json_text(numbers)))), numbers)
    (unpacked,) = unpack(pack([numbers]))
    pickled = np.asarray(pickle.loads(pickle.dumps(tl.asarray(numbers))))
    assert unpacked.tobytes() == pickled.tobytes() == all_numbers(dtype).tobytes()
    assert unpacked.dtype == pickled.dtype == dtype.numpy
    for number in all_numbers(dtype)[::7]:
        assert is_same_value(decode_word(encode_word(number, dtype), dtype), number)
        assert is_same_value(read_value(JsonCursor(json.loads(value_to_json_text(number)))), number)


@each_dtype
def test_text_is_the_shortest_that_restores_a_number(dtype: DType) -> None:
    """A number is printed with as few digits as restore it."""
    for number in all_numbers(dtype)[1 : 2**15 : 97]:
        if not np.isfinite(number):
            continue
        digits = format_value(number)[len(repr(dtype)) + 1 : -1].partition("e")[0].replace(".", "").strip("0")
        shorter = f"{float(number):.{max(len(digits) - 2, 0)}e}"
        assert len(digits) == 1 or float(round_floats(np.array(float(shorter)), dtype)) != float(number)


@each_dtype
def test_checkpoints_keep_the_bits(dtype: DType, tmp_path: Path) -> None:
    """A checkpoint has the 16 bits of each number, which other readers of safetensors know as F16 and BF16."""
    path = tmp_path / "numbers.safetensors"
    tl.Checkpoint(x=tl.Variable(all_numbers(dtype))).save(path)
    assert (b'"F16"' if dtype is tl.float16 else b'"BF16"') in path.read_bytes()[:2000]
    target = tl.Variable(np.zeros(2**16, dtype.numpy))
    tl.Checkpoint(x=target).restore(path)
    assert np.asarray(target).tobytes() == all_numbers(dtype).tobytes()
