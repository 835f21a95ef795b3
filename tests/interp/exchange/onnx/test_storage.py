"""Storage types of ONNX: casts round to their values, and imported models move these values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import tagloom as tl

onnx = pytest.importorskip("onnx")

import ml_dtypes  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402
from support.programs.onnx_models import BOOL, FLOAT, INT64, model, value  # noqa: E402
from tagloom.core.value import is_same_value  # noqa: E402
from tagloom.interp.exchange.onnx import storage  # noqa: E402
from tagloom.interp.exchange.onnx.backend import TagloomBackend  # noqa: E402
from tagloom.interp.exchange.onnx.storage import StorageType, cast_to_storage  # noqa: E402

TYPES = [each for each in StorageType if each.name in onnx.TensorProto.DataType.keys()]  # noqa: SIM118
INTEGERS = [each for each in TYPES if each.is_integer]
SIGNED_FLOATS = [each for each in TYPES if not each.is_integer and each is not StorageType.FLOAT8E8M0]
HALVES = np.arange(2**16, dtype=np.uint16).view(np.float16)
"""All values of float16."""
SOURCES: dict[str, Callable[[], Any]] = {
    "float32": lambda: HALVES.astype(np.float32),
    "float64": lambda: HALVES.astype(np.float64),
    "bfloat16": lambda: np.arange(2**16, dtype=np.uint16).view(ml_dtypes.bfloat16),
    "near float16": lambda: near(HALVES[np.isfinite(HALVES)].astype(np.float32)),
}
FLOAT8 = StorageType.FLOAT8E4M3FN


def near(numbers: Any) -> Any:
    """The neighbours of numbers, on both sides."""
    return np.concatenate([np.nextafter(numbers, np.inf), np.nextafter(numbers, -np.inf)], dtype=numbers.dtype)


def check_cast(type_: StorageType, numbers: Any, saturate: bool) -> None:
    """Raises AssertionError where a cast gives other values than `ml_dtypes` does, or other signs of zero."""
    got = np.asarray(cast_to_storage(numbers, type_, saturate=saturate).carrier)
    with np.errstate(all="ignore"):
        packed = numpy_helper.saturate_cast(numbers, type_.numpy) if saturate else numbers.astype(type_.numpy)
        required = packed.astype(type_.carrier.numpy)
        has_sign = ~np.isnan(required) & (numbers == numbers)
    np.testing.assert_array_equal(got, required)
    np.testing.assert_array_equal(np.signbit(got)[has_sign], np.signbit(required)[has_sign])


@pytest.mark.full
@pytest.mark.parametrize("type_", SIGNED_FLOATS, ids=lambda each: each.name)
def test_casts_of_float16(type_: StorageType) -> None:
    """A cast of each float16 is the nearest value, as `ml_dtypes` rounds, with and without saturation."""
    for saturate in (True, False):
        check_cast(type_, HALVES, saturate)


@pytest.mark.heavy
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("type_", SIGNED_FLOATS, ids=lambda each: each.name)
def test_casts_of_other_floats(type_: StorageType, source: str) -> None:
    """A cast rounds once, from whatever dtype."""
    for saturate in (True, False):
        check_cast(type_, SOURCES[source](), saturate)


@pytest.mark.full
@pytest.mark.parametrize("type_", SIGNED_FLOATS, ids=lambda each: each.name)
def test_a_cast_that_rounds_halves_away(type_: StorageType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison detects a cast that takes the greater of two values that are equally near."""
    monkeypatch.setattr(storage, "nearest_even_starts", storage.nearest_up_starts)
    monkeypatch.setattr(storage, "rounding_constants", storage.rounding_tables)
    with pytest.raises(AssertionError):
        check_cast(type_, HALVES, saturate=True)


@pytest.mark.parametrize("type_", INTEGERS, ids=lambda each: each.name)
def test_casts_to_integers(type_: StorageType) -> None:
    """Integers lose their higher bits, and floats their fractions before."""
    for dtype in (np.int8, np.uint8, np.int32, np.uint64, np.float16, np.float32):
        kind = np.dtype(dtype).kind
        numbers = np.arange(0 if kind == "u" else -128, 128).astype(dtype) * dtype(0.75 if kind == "f" else 1)
        got = np.asarray(cast_to_storage(numbers, type_).carrier)
        required = numbers.astype(np.int64).astype(type_.numpy).astype(type_.carrier.numpy)
        np.testing.assert_array_equal(got, required, repr(dtype))


def test_carriers() -> None:
    """A carrier contains each value of the type, and a cast leaves each as it is."""
    for type_ in TYPES:
        bits = (ml_dtypes.iinfo if type_.is_integer else ml_dtypes.finfo)(type_.numpy).bits
        packed = np.arange(2**bits, dtype=np.uint8).view(type_.numpy)
        carrier = packed.astype(type_.carrier.numpy)
        np.testing.assert_array_equal(carrier.astype(np.float64), packed.astype(np.float64), type_.name)
        again = np.asarray(cast_to_storage(carrier, type_, saturate=False).carrier)
        np.testing.assert_array_equal(again.astype(np.float64), carrier.astype(np.float64), type_.name)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize(
    "round_mode, saturate, results",
    [
        ("up", True, [0.5, 1, 2, 4, 2.0**-127, 2.0**-127, 2.0**127, 2.0**127, np.nan]),
        ("down", True, [0.5, 1, 1, 2, 2.0**-127, 2.0**-127, 2.0**127, 2.0**127, np.nan]),
        ("nearest", True, [0.5, 1, 2, 2, 2.0**-127, 2.0**-127, 2.0**127, 2.0**127, np.nan]),
        ("nearest", False, [0.5, 1, 2, 2, np.nan, np.nan, np.nan, np.nan, np.nan]),
    ],
)
def test_powers_of_two(round_mode: str, saturate: bool, results: list[float]) -> None:
    """A cast to FLOAT8E8M0 rounds as `round_mode` says. Without saturation, what is out of range is NaN."""
    numbers = np.array([0.5, 1, 1.5, 2.5, 0, 2.0**-128, 1.6 * 2.0**127, np.inf, np.nan])
    for dtype in (np.float32, np.float64):
        got = cast_to_storage(numbers.astype(dtype), StorageType.FLOAT8E8M0, saturate=saturate, round_mode=round_mode)
        np.testing.assert_array_equal(np.asarray(got.carrier).astype(np.float64), results)
    with pytest.raises(tl.Malformed, match="round_mode"):
        cast_to_storage(numbers, StorageType.FLOAT8E8M0, round_mode="odd")


@pytest.mark.full
@pytest.mark.parametrize("round_mode", ["up", "down", "nearest"])
def test_powers_of_two_from_float16(round_mode: str) -> None:
    """Positive numbers of float16 become the powers of two that ONNX's computation gives."""
    numbers = HALVES[(HALVES > 0) & (np.inf > HALVES)]
    required = numpy_helper.to_float8e8m0(numbers, True, round_mode).astype(np.float64)
    got = cast_to_storage(numbers, StorageType.FLOAT8E8M0, round_mode=round_mode)
    np.testing.assert_array_equal(np.asarray(got.carrier).astype(np.float64), required)


@pytest.mark.full
@pytest.mark.parametrize(
    "type_",
    [each if each is FLOAT8 else pytest.param(each, marks=pytest.mark.heavy) for each in TYPES],
    ids=lambda each: each.name,
)
def test_engines(type_: StorageType) -> None:
    """Every engine that takes arrays casts each positive float16, and back, as the reference does."""
    nodes = [cast_node("x", "packed", type_.value), cast_node("packed", "y", FLOAT)]
    outputs = [value("packed", type_.value, None), value("y", FLOAT, None)]
    function = tl.from_onnx(model(nodes, [value("x", FLOAT, None)], outputs, onnx.defs.onnx_opset_version()))
    numbers = HALVES[~np.signbit(HALVES)].astype(np.float32)
    required = function.run(numbers, engine="reference").value
    for engine in ("fast", "compiled", "distributed"):
        results = function.run(numbers, engine=engine).value
        assert all(map(is_same_value, results, required)), engine


def cast_node(x: str, y: str, element: int) -> Any:
    return helper.make_node("Cast", [x], [y], to=element)


WEIGHTS = np.arange(-6, 6).reshape(3, 4).astype(ml_dtypes.int4)
X = np.array([[1.0, -2.0, 3.3], [0.5, 0.26, 800.0]], np.float32)
GRID = X.astype(FLOAT8.numpy).astype(np.float32)
GRID[1, 2] = 448


def run(graph: Any, *inputs: Any) -> tuple[Any, ...]:
    """The results of a model, by the backend."""
    return TagloomBackend.prepare(graph, engine="reference").run(list(inputs))  # type: ignore[no-any-return]


def packed_weights() -> None:
    """An initializer of packed bytes is read, moved and dequantized, with a zero point."""
    nodes = [
        helper.make_node("Transpose", ["weights"], ["turned"]),
        helper.make_node("Reshape", ["turned", "sizes"], ["flat"]),
        helper.make_node("DequantizeLinear", ["flat", "scale", "zero"], ["y"]),
    ]
    tensors = {
        "weights": WEIGHTS,
        "sizes": np.array([12]),
        "scale": np.float32(0.5),
        "zero": np.int8(1).astype(ml_dtypes.int4),
    }
    graph = model(nodes, [], [value("flat", StorageType.INT4.value, 12), value("y", FLOAT, 12)], 21, **tensors)
    assert graph.graph.initializer[0].raw_data == b"\xba\xdc\xfe\x10\x32\x54"
    flat, numbers = run(graph)
    assert flat.dtype == ml_dtypes.int4
    required = WEIGHTS.astype(int).T.reshape(-1)
    np.testing.assert_array_equal(flat.astype(int), required)
    np.testing.assert_array_equal(numbers, (required - 1) / 2)


def large_weights() -> None:
    """A large initializer is a hidden argument, an array of the carrier."""
    weights = np.random.default_rng(0).normal(size=(20, 20)).astype(FLOAT8.numpy)
    nodes = [
        helper.make_node("DequantizeLinear", ["weights", "scale"], ["numbers"]),
        helper.make_node("MatMul", ["x", "numbers"], ["y"]),
    ]
    graph = model(nodes, [value("x", FLOAT, 20)], [value("y", FLOAT, 20)], 21, weights=weights, scale=np.float32(2))
    hidden = tl.from_onnx(graph).program.main.body.parameters[1]
    assert hidden.name == "weights" and hidden.type.dtype is tl.float16
    x = np.arange(20, dtype=np.float32)
    np.testing.assert_allclose(run(graph, x)[0], x @ (2 * weights.astype(np.float32)), rtol=1e-5)


def branches() -> None:
    """A condition gives a value of a storage type from either branch."""
    bodies = []
    for name, operand in (("then", "packed"), ("else", "other")):
        node = helper.make_node("Identity", [operand], [f"{name}_result"])
        bodies.append(helper.make_graph([node], name, [], [value(f"{name}_result", FLOAT8.value, 2, 3)]))
    nodes = [
        cast_node("x", "packed", FLOAT8.value),
        helper.make_node("If", ["condition"], ["chosen"], then_branch=bodies[0], else_branch=bodies[1]),
        cast_node("chosen", "y", FLOAT),
    ]
    outputs = [value("chosen", FLOAT8.value, 2, 3), value("y", FLOAT, 2, 3)]
    other = np.ones((2, 3), FLOAT8.numpy)
    graph = model(nodes, [value("condition", BOOL), value("x", FLOAT, 2, 3)], outputs, 25, other=other)
    for condition, required in ((True, GRID), (False, other.astype(np.float32))):
        chosen, y = run(graph, np.array(condition), X)
        assert chosen.dtype == FLOAT8.numpy
        np.testing.assert_array_equal(y, required)


def loop_body(has_end: bool) -> Any:
    """Doubles a value of a storage type, and collects it; goes on while the first element is below 4."""
    nodes = [
        cast_node("packed", "numbers", FLOAT),
        helper.make_node("Add", ["numbers", "numbers"], ["sums"]),
        cast_node("sums", "next", FLOAT8.value),
        helper.make_node("ReduceMax", ["numbers"], ["greatest"], keepdims=0),
        helper.make_node("Less", ["greatest", "four"], ["is_small"]),
        helper.make_node("Identity", ["is_small" if has_end else "is_going"], ["goes_on"]),
        helper.make_node("Identity", ["packed"], ["element"]),
    ]
    inputs = [value("k", INT64), value("is_going", BOOL), value("packed", FLOAT8.value, 3)]
    outputs = [value("goes_on", BOOL), value("next", FLOAT8.value, 3), value("element", FLOAT8.value, 3)]
    return helper.make_graph(nodes, "body", inputs, outputs)


def loop(has_end: bool) -> None:
    """A loop carries and collects values of a storage type."""
    nodes = [helper.make_node("Loop", ["n", "", "x"], ["last", "all"], body=loop_body(has_end))]
    outputs = [value("last", FLOAT8.value, 3), value("all", FLOAT8.value, None, 3)]
    graph = model(nodes, [value("n", INT64), value("x", FLOAT8.value, 3)], outputs, 25, four=np.float32(4))
    last, collected = run(graph, np.int64(2), np.array([0.5, 1.25, -240]).astype(FLOAT8.numpy))
    assert last.dtype == collected.dtype == FLOAT8.numpy
    assert last.astype(float).tolist() == [2, 5, -448]
    assert collected.astype(float).tolist() == [[0.5, 1.25, -240], [1, 2.5, -448]]


def scan() -> None:
    """A scan takes slices of an array of a storage type, and collects such values."""
    nodes = [
        cast_node("slice", "numbers", FLOAT),
        helper.make_node("Add", ["sum", "numbers"], ["next"]),
        helper.make_node("Identity", ["slice"], ["element"]),
    ]
    int4 = StorageType.INT4.value
    inputs = [value("sum", FLOAT, 3), value("slice", int4, 3)]
    body = helper.make_graph(nodes, "body", inputs, [value("next", FLOAT, 3), value("element", int4, 3)])
    node = helper.make_node(
        "Scan", ["zeros", "weights"], ["total", "all"], body=body, num_scan_inputs=1, scan_input_axes=[1],
        scan_output_directions=[1],
    )  # fmt: skip
    zeros = np.zeros(3, np.float32)
    outputs = [value("total", FLOAT, 3), value("all", int4, 4, 3)]
    total, collected = run(model([node], [], outputs, 25, zeros=zeros, weights=WEIGHTS))
    np.testing.assert_array_equal(total, WEIGHTS.astype(np.float32).sum(axis=1))
    np.testing.assert_array_equal(collected.astype(int), WEIGHTS.astype(int).T[::-1])


def function_of_the_model() -> None:
    """A function of the model takes and returns values of a storage type."""
    nodes = [cast_node("x", "numbers", FLOAT), cast_node("numbers", "y", FLOAT8.value)]
    requant = helper.make_function("mine", "requant", ["x"], ["y"], nodes, [helper.make_opsetid("", 25)])
    call = helper.make_node("requant", ["packed"], ["result"], domain="mine")
    graph = model(
        [cast_node("x", "packed", FLOAT8.value), call, cast_node("result", "y", FLOAT)], [value("x", FLOAT, 2, 3)],
        [value("y", FLOAT, 2, 3)], 25, [requant], [helper.make_opsetid("mine", 1)],
    )  # fmt: skip
    assert "call" in [node.op for node in tl.from_onnx(graph).program.main.body.nodes]
    np.testing.assert_array_equal(run(graph, X)[0], GRID)


def moved_values() -> None:
    """Operators that move values keep the type, without rounding again."""
    nodes = [
        helper.make_node("Pad", ["x", "pads"], ["wide"]),
        helper.make_node("Unsqueeze", ["wide", "axes"], ["cube"]),
        helper.make_node("Identity", ["cube"], ["same"]),
        helper.make_node("Dropout", ["same"], ["all"]),
        helper.make_node("ConstantOfShape", ["sizes"], ["ones"], value=helper.make_tensor("one", 17, [1], [1.0])),
        helper.make_node("CastLike", ["all", "ones"], ["y"]),
    ]
    outputs = [value("y", FLOAT8.value, 1, None), value("ones", FLOAT8.value, 2)]
    tensors = {"pads": np.array([1, 0]), "axes": np.array([0]), "sizes": np.array([2])}
    graph = model(nodes, [value("x", FLOAT8.value, None)], outputs, 23, **tensors)
    y, ones = run(graph, np.array([1.5, -0.0]).astype(FLOAT8.numpy))
    assert y.dtype == ones.dtype == FLOAT8.numpy
    assert y.astype(float).tolist() == [[0, 1.5, 0]] and ones.astype(float).tolist() == [1, 1]
    ops = [node.op for node in tl.from_onnx(graph).program.main.body.nodes]
    assert ops.count("searchsorted") == 1  # that of the input


def product() -> None:
    """A matrix product of quantized floats is rounded at its end."""
    one = np.float32(1)
    x, y = (np.array(each).astype(FLOAT8.numpy) for each in ([[1.0, 2.5]], [[3.0], [0.25]]))
    names = ["x", "one", "zero", "y", "one", "zero", "one", "zero"]
    node = helper.make_node("QLinearMatMul", names, ["z"])
    graph = model([node], [], [value("z", FLOAT8.value, 1, 1)], 21, x=x, y=y, one=one, zero=np.zeros((), FLOAT8.numpy))
    assert run(graph)[0].astype(float).tolist() == [[3.5]]


def quantized(type_: StorageType, required: list[float]) -> None:
    """Numbers are limited to the range of the type, which an attribute may give."""
    node = helper.make_node("QuantizeLinear", ["x", "scale"], ["y"], output_dtype=type_.value)
    graph = model([node], [value("x", FLOAT, None)], [value("y", type_.value, None)], 25, scale=np.float32(2))
    (y,) = run(graph, np.array([-1e4, -5, -1, 0, 1, 3, 5, 1e4], np.float32))
    assert y.dtype == type_.numpy and y.astype(float).tolist() == required


def scaled_by_powers() -> None:
    """Blocks of FLOAT4E2M1 with a scale of FLOAT8E8M0 each, as in microscaling formats."""
    power = StorageType.FLOAT8E8M0
    scales = np.array([2.0**-20, 2.0**20]).astype(power.numpy)
    names = {"axis": 0, "block_size": 2}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scales"], ["packed"], output_dtype=23, **names),
        helper.make_node("DequantizeLinear", ["packed", "scales"], ["y"], output_dtype=FLOAT, **names),
    ]
    outputs = [value("packed", StorageType.FLOAT4E2M1.value, 4), value("y", FLOAT, 4)]
    x = np.array([1.1 * 2.0**-20, -9, 2.0**21, 2.0**30])
    for element in (FLOAT, onnx.TensorProto.BFLOAT16):
        packed, y = run(model(nodes, [value("x", element, 4)], outputs, 28, scales=scales), x)
        assert packed.dtype == ml_dtypes.float4_e2m1fn and packed.astype(float).tolist() == [1, -6, 2, 6]
        assert y.tolist() == [2.0**-20, -6 * 2.0**-20, 2.0**21, 6 * 2.0**20]


CASES: dict[str, Callable[[], None]] = {
    "packed weights": packed_weights,
    "large weights": large_weights,
    "a condition": branches,
    "a loop that its data end": partial(loop, has_end=True),
    "a loop that its limit ends": partial(loop, has_end=False),
    "a scan": scan,
    "a function of the model": function_of_the_model,
    "moved values": moved_values,
    "a product": product,
    "scaled by powers of two": scaled_by_powers,
    "quantized to int2": partial(quantized, StorageType.INT2, [-2, -2, 0, 0, 0, 1, 1, 1]),
    "quantized to uint4": partial(quantized, StorageType.UINT4, [0, 0, 0, 0, 0, 2, 2, 15]),
    "quantized to float4": partial(quantized, StorageType.FLOAT4E2M1, [-6, -2, -0.5, 0, 0.5, 1.5, 2, 6]),
    "quantized to float8": partial(quantized, FLOAT8, [-448, -2.5, -0.5, 0, 0.5, 1.5, 2.5, 448]),
}


@pytest.mark.inner(first=4)
@pytest.mark.parametrize("case", CASES)
def test_cases(case: str) -> None:
    """A model with values of storage types computes what ONNX says."""
    CASES[case]()


def test_inputs() -> None:
    """An input of a storage type takes an array of the carrier, rounded to the type; a constant for it may be an array
    of `ml_dtypes`, too. The result is an array of the carrier."""
    nodes = [helper.make_node("Identity", ["x"], ["y"])]
    graph = model(nodes, [value("x", FLOAT8.value, 2)], [value("y", FLOAT8.value, 2)], 25)
    result = tl.from_onnx(graph).run(np.float16([1.03, -500])).value
    assert result.dtype == np.float16 and result.tolist() == [1, -448]
    for constant in ([1.03, -3], np.array([1.0, -3]).astype(FLOAT8.numpy)):
        assert tl.from_onnx(graph, x=constant).run().value.tolist() == [1, -3]


def test_refusals() -> None:
    """Bits of a storage type are refused in words, and arithmetic as ONNX's checker refuses it."""
    node = helper.make_node("BitCast", ["x"], ["y"], to=onnx.TensorProto.UINT8)
    graph = model([node], [value("x", FLOAT8.value, 2)], [value("y", onnx.TensorProto.UINT8, 2)], 26)
    with pytest.raises(tl.TagloomError, match="no bits of values of ONNX's type float8e4m3fn"):
        tl.from_onnx(graph).program  # noqa: B018
    node = helper.make_node("Add", ["x", "x"], ["y"])
    graph = model([node], [value("x", FLOAT8.value, 2)], [value("y", FLOAT8.value, 2)], 25)
    with pytest.raises(tl.Malformed, match="Add does not take this"):
        tl.from_onnx(graph).program  # noqa: B018
