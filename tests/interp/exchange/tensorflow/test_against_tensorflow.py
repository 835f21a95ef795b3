"""Functions of TensorFlow as programs: they compute what TensorFlow computes."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from random import Random
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.program.evaluate import evaluate
from tagloom.interp.exchange.export.python_source import TENSORFLOW_FUNCTION, to_python
from tagloom.interp.exchange.export.walker import Refusal
from tagloom.interp.exchange.tensorflow.messages import DATA_TYPES, SCHEMAS
from tagloom.interp.oracle.generate import FuzzWriter

pytestmark = pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed")


@pytest.fixture(scope="module")
def tf() -> Iterator[Any]:
    """TensorFlow."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow

    yield tensorflow


def floats(*shape: int) -> Any:
    return np.random.RandomState(sum(shape) + len(shape)).standard_normal(shape).astype(np.float32)


X, Y, V, P = floats(3, 4), floats(3, 4) + 2, floats(5), np.abs(floats(3, 4)) + np.float32(0.1)
INTEGERS, DIVISORS = np.array([7, -7, 6, -6, 0], np.int32), np.array([2, 2, -4, -3, 5], np.int32)
B, C = np.array([True, False, True, False, True]), np.array([True, True, False, False, True])
IMAGE, KERNEL = floats(2, 6, 5, 3), floats(3, 2, 3, 4)
S = np.eye(3, dtype=np.float32) * 3 + floats(3, 3) * np.float32(0.1)
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}


def case(name: str, compute: Callable[..., Any], *arguments: Any) -> None:
    CASES[name] = compute, arguments


for _name in ("Abs", "Acosh", "Asinh", "Atan", "Ceil", "Cos", "Cosh", "Digamma", "Erf", "Erfc", "Exp", "Expm1", "Floor",
              "Inv", "IsFinite", "IsInf", "IsNan", "Lgamma", "Log", "Log1p", "Neg", "Reciprocal", "Relu", "Relu6",
              "Rint", "Round", "Rsqrt", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Square",
              "Tan", "Tanh", "Elu", "Selu", "LeakyRelu", "Softmax", "LogSoftmax", "L2Loss"):  # fmt: skip
    case(_name, lambda tf, x, name=_name: raw(tf, name, x), P + 1)
for _name in ("Acos", "Asin", "Atanh", "Ndtri"):
    case(_name, lambda tf, x, name=_name: raw(tf, name, x), np.array([0.1, 0.5, 0.9], np.float32))
for _name in ("AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Pow", "Atan2", "FloorDiv", "FloorMod", "Greater",
              "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual", "SquaredDifference", "DivNoNan", "Xlogy",
              "Xdivy", "Xlog1py", "MulNoNan", "TruncateMod", "NextAfter", "ApproximateEqual"):  # fmt: skip
    case(_name, lambda tf, x, y, name=_name: raw(tf, name, x, y), P, P[::-1].copy() * 2)
for _name in ("AddV2", "FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "BitwiseAnd", "BitwiseOr", "BitwiseXor",
              "Maximum", "Sub"):  # fmt: skip
    case(f"{_name} of integers", lambda tf, x, y, name=_name: raw(tf, name, x, y), INTEGERS, DIVISORS)
for _name in ("LogicalAnd", "LogicalOr"):
    case(_name, lambda tf, x, y, name=_name: raw(tf, name, x, y), B, C)
case("LogicalNot", lambda tf, x: tf.logical_not(x), B)
case("Invert", lambda tf, x: raw(tf, "Invert", x), INTEGERS)
case("shifts", lambda tf, x: (tf.bitwise.left_shift(x, 3), tf.bitwise.right_shift(x, 1)), INTEGERS)
case("broadcasting", lambda tf, x, v: x + v[:4] * tf.ones([3, 1]), X, V)
case("AddN", lambda tf, x, y: tf.add_n([x, y, x]), X, Y)
case("Cast", lambda tf, x: (tf.cast(x, tf.int32), tf.cast(x, tf.float64), tf.cast(x, tf.bool)), X * 3)
case("Bitcast", lambda tf, x: tf.bitcast(x, tf.int32), X)
case("SelectV2", lambda tf, x, y: tf.where(x > y, x, y * 2), X, Y)
case("Select", lambda tf, x, y: tf.compat.v1.where(x[:, 0] > 0, x, y), X, Y)
case("clip", lambda tf, x: tf.clip_by_value(x, -0.5, 0.5), X)
case("gradients", lambda tf, x: tf.gradients(tf.tanh(tf.sigmoid(x) * tf.sqrt(x)) / x, x)[0], P)
case(
    "gradients of layers",
    lambda tf, x: tf.gradients(tf.nn.relu(x @ tf.transpose(x)) + tf.nn.softplus(x[:, :3]), x)[0],
    X,
)
for _name in ("sum", "prod", "max", "min", "mean", "logsumexp", "euclidean_norm", "variance", "std"):
    case(
        f"reduce_{_name}",
        lambda tf, x, name=_name: [
            getattr(tf.math, f"reduce_{name}")(x, axis, keepdims)
            for axis in (0, -1, None, [0, 1])
            for keepdims in (False, True)
        ],
        X,
    )
for _name in ("sum", "prod", "max", "min", "mean"):
    case(f"reduce_{_name} of integers", lambda tf, x, name=_name: getattr(tf, f"reduce_{name}")(x), np.abs(INTEGERS))
case("reduce_all", lambda tf, x: (tf.reduce_all(x), tf.reduce_any(x, 0)), B)
case("argmax", lambda tf, x: (tf.argmax(x, 1), tf.argmin(x, 0, tf.int32), tf.argmax(x)), X)
case(
    "cumsum",
    lambda tf, x: [
        tf.cumsum(x, axis, exclusive, reverse)
        for axis in (0, 1)
        for exclusive in (False, True)
        for reverse in (False, True)
    ],
    X,
)
case("cumprod", lambda tf, x: [tf.math.cumprod(x, 1, exclusive) for exclusive in (False, True)], X)
case("matmul", lambda tf, x, y: (tf.matmul(x, y, transpose_b=True), tf.matmul(x, y, transpose_a=True)), X, Y)
case("batched matmul", lambda tf, x: tf.matmul(x, x, transpose_b=True), floats(2, 3, 4))
case("einsum", lambda tf, x, y: tf.einsum("ij,kj->ik", x, y), X, Y)
case("linear algebra", lambda tf, x: (tf.linalg.inv(x), tf.linalg.det(x), tf.linalg.solve(x, x + 1)), S)
case("shapes", lambda tf, x: (tf.shape(x), tf.size(x), tf.rank(x), tf.shape(x, tf.int64)), X)
case(
    "reshape",
    lambda tf, x: (tf.reshape(x, [2, -1]), tf.reshape(x, [-1]), tf.reshape(x, tf.reverse(tf.shape(x), [0]))),
    X,
)
case(
    "expand_dims", lambda tf, x: (tf.expand_dims(x, 1), tf.squeeze(tf.expand_dims(x, -1)), tf.squeeze(x[None], [0])), X
)
case("transpose", lambda tf, x: (tf.transpose(x), tf.transpose(x[None], [1, 0, 2])), X)
case("concat", lambda tf, x, y: (tf.concat([x, y], 0), tf.concat([x, y], -1), tf.stack([x, y], 1)), X, Y)
case("split", lambda tf, x: (tf.unstack(x, axis=1), tf.split(x, 2, 1), tf.split(x, [1, -1], 0)), X)
case(
    "slices",
    lambda tf, x: (x[1], x[:, 2], x[::-1], x[..., 1:3], x[1:, None, ::2], x[-1, -2], tf.slice(x, [1, 0], [-1, 2])),
    X,
)
case("slices at run time", lambda tf, x, k: (x[k], x[:k], x[k:, 1]), X, np.int32(1))
case("tile", lambda tf, x: (tf.tile(x, [2, 1]), tf.broadcast_to(x[:1], [3, 4]), tf.repeat(x, 2, axis=0)), X)
case("fill", lambda tf, x: (tf.fill([2, 3], x[0, 0]), tf.zeros_like(x), tf.ones_like(x), tf.zeros([2], tf.int64)), X)
case("range", lambda tf, n: (tf.range(n), tf.range(1, n, 2), tf.range(5), tf.linspace(0.0, 1.0, 5)), np.int32(6))
case(
    "pad",
    lambda tf, x: (
        tf.pad(x, [[1, 2], [0, 1]]),
        tf.pad(x, [[1, 1], [2, 0]], constant_values=7.0),
        tf.pad(x, [[1, 2], [2, 1]], "REFLECT"),
        tf.pad(x, [[1, 2], [2, 1]], "SYMMETRIC"),
    ),
    X,
)
case(
    "reverse",
    lambda tf, x: (tf.reverse(x, [0]), tf.reverse(x, [-1, 0]), tf.roll(x, 1, 1), tf.roll(x, [1, -2], [0, 1])),
    X,
)
case("diagonals", lambda tf, x: (tf.linalg.band_part(x, 1, 0), tf.linalg.band_part(x, -1, 1)), X)
case(
    "gather",
    lambda tf, x: (
        tf.gather(x, [2, 0]),
        tf.gather(x, [[1], [3]], axis=1),
        tf.gather_nd(x, [[0, 1], [2, 3]]),
        tf.gather(x, [[1, 0], [3, 3], [2, 2]], axis=1, batch_dims=1),
    ),
    X,
)
case(
    "scatter",
    lambda tf, x: (
        tf.scatter_nd([[1], [1], [4]], x, [5, 4]),
        tf.tensor_scatter_nd_update(x, [[0], [2]], x[:2]),
        tf.tensor_scatter_nd_add(x, [[0, 1], [0, 1]], [1.0, 2.0]),
        tf.tensor_scatter_nd_max(x, [[0, 1]], [9.0]),
    ),
    X,
)
case(
    "one_hot",
    lambda tf, i: (tf.one_hot(i, 4), tf.one_hot(i, 4, on_value=5, off_value=-1, axis=0, dtype=tf.int32)),
    np.array([1, 3, 0], np.int32),
)
case("where", lambda tf, x: (tf.where(x), tf.boolean_mask(V, x)), B)
case("top_k", lambda tf, x: (*tf.math.top_k(x, 2), tf.sort(x), tf.argsort(x, direction="DESCENDING")), X)
case("unique", lambda tf, x: tuple(tf.unique(x)), np.array([3, 1, 3, 2, 1], np.int32))
case(
    "segments",
    lambda tf, x: (tf.math.unsorted_segment_sum(x, [0, 2, 0], 3), tf.math.unsorted_segment_max(x, [0, 1, 0], 2)),
    X,
)
case("reverse_sequence", lambda tf, x: tf.reverse_sequence(x, [1, 4, 2], seq_axis=1), X)
case(
    "convolutions",
    lambda tf, x, k: [
        tf.nn.conv2d(x, k, stride, padding, dilations=spacing)
        for stride in (1, 2)
        for padding in ("SAME", "VALID")
        for spacing in ((1, 2) if stride == 1 else (1,))
    ],
    IMAGE,
    KERNEL,
)
case("depthwise convolution", lambda tf, x, k: tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], "SAME"), IMAGE, KERNEL)
case("pools", lambda tf, x: [pool(x, 2, stride, padding) for pool in (tf.nn.max_pool2d, tf.nn.avg_pool2d)
                             for stride in (1, 2) for padding in ("SAME", "VALID")], IMAGE)  # fmt: skip
case("batch norm", lambda tf, x: (tf.compat.v1.nn.fused_batch_norm(x, [1.0, 2.0, 3.0], [0.0, 1.0, 0.0])[0],
                                  tf.nn.batch_normalization(x, 0.1, 2.0, 0.5, 1.5, 1e-3)), IMAGE)  # fmt: skip
case(
    "losses",
    lambda tf, x: (
        tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(x), x),
        tf.nn.sparse_softmax_cross_entropy_with_logits([1, 0, 3], x),
    ),
    X,
)
case("bias", lambda tf, x: tf.nn.bias_add(x, [1.0, 2.0, 3.0]), IMAGE)


def loop_of_loops(tf: Any, n: Any) -> Any:
    def outer(i: Any, total: Any) -> Any:
        inner = tf.while_loop(
            lambda j, s: j < i, lambda j, s: (j + 1, tf.cond(s > 9, lambda: s - 9, lambda: s + i * j)), (0, total)
        )
        return i + 1, inner[1]

    return tf.while_loop(lambda i, total: i < n, outer, (0, 1))


def collected(tf: Any, n: Any) -> Any:
    array = tf.TensorArray(tf.int32, size=n)
    _, array = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, i * i)), (0, array))
    return array.stack(), array.size()


def grown(tf: Any, n: Any) -> Any:
    """The list has a gap at its beginning, of zeros."""
    array = tf.TensorArray(tf.int32, size=1, dynamic_size=True, element_shape=[2])
    _, array = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, [i, i * i])), (2, array))
    return array.stack(), array.size()


case("loops in loops", loop_of_loops, np.int32(5))
case("lists of arrays that grow", grown, np.int32(5))
case("lists of arrays", collected, np.int32(4))
case(
    "switch_case",
    lambda tf, n: [tf.switch_case(n + k, [lambda: n, lambda: n * 2, lambda: n * 3]) for k in (-3, 0, 1, 5)],
    np.int32(1),
)
case(
    "scan", lambda tf, x: (tf.scan(lambda a, e: a * 0.5 + e, x), tf.map_fn(lambda e: e * e, x), tf.foldl(tf.add, x)), V
)
case("gradient of a loop", lambda tf, x: tf.gradients(
    tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * y + x), (0, x))[1], x)[0], np.float32(0.5))  # fmt: skip


def raw(tf: Any, name: str, *operands: Any) -> Any:
    """An op by its name in graphs."""
    function = getattr(tf.raw_ops, name)
    names = [each for each in inspect.signature(function).parameters if each != "name"]
    return function(**dict(zip(names, operands, strict=False)))


def check_case(tf: Any, compute: Callable[..., Any], arguments: tuple[Any, ...], *, is_frozen: bool) -> None:
    """A function computes the same here and in TensorFlow: functional, or with frames."""
    types = [tf.TensorSpec(argument.shape, argument.dtype) for argument in arguments]
    concrete = tf.function(lambda *each: compute(tf, *each)).get_concrete_function(*types)
    expected = tf.nest.flatten(concrete(*map(tf.constant, arguments)))
    if is_frozen:
        from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

        frozen = convert_variables_to_constants_v2(concrete, lower_control_flow=True)
        names = [[tensor.name for tensor in each] for each in (frozen.inputs, frozen.outputs)]
        imported = tl.from_tensorflow(frozen.graph.as_graph_def(), inputs=names[0], outputs=names[1])
    else:
        imported = tl.from_tensorflow(concrete)
    actual = tf.nest.flatten(imported(*arguments))
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        assert np.asarray(one).dtype == other.dtype.as_numpy_dtype and np.asarray(one).shape == tuple(other.shape)
        np.testing.assert_allclose(np.asarray(one), other.numpy(), rtol=2e-5, atol=2e-6)


TENTHS, NAN = np.array([1, 0.3, -0.3, 5, -1e-20], np.float32), np.float32("nan")
NEGATIVE = np.array([[-7, 2, -4], [2**31 - 1, 2**31 - 1, -1]], np.int32)
case("FloorDiv rounds the quotient", lambda tf, x: (x // 0.1, tf.constant([1.0]) // 0.1), TENTHS)
case("means of integers", lambda tf, x: (tf.reduce_mean(x), tf.reduce_mean(x, 1),
                                         tf.reduce_mean(tf.cast(x, tf.uint8))), NEGATIVE)  # fmt: skip
case("argmax of NaN", lambda tf, x: (tf.argmax(x), tf.argmin(x, 1)), np.array([[1, NAN], [NAN, NAN]], np.float32))
case("a slice that drops an axis", lambda tf, x: tf.raw_ops.StridedSlice(
    input=x, begin=[2], end=[3], strides=[1], begin_mask=1, shrink_axis_mask=1), X)  # fmt: skip
case("the rest of an array", lambda tf, x, n: tf.slice(x, [2], [n]), V, np.int32(-1))
case("ranges of floats", lambda tf, x: (tf.range(0.0, 0.3, 0.1), tf.range(1.0, 0.0, -0.3)), V)
case("one_hot of bytes", lambda tf, x: tf.one_hot(x, 300), np.array([0, 255], np.uint8))
case("empty segments", lambda tf, x: (tf.math.unsorted_segment_min(x, [0, -1, 3], 4),
                                      tf.math.unsorted_segment_max(x, [0, -1, 3], 4)), X)  # fmt: skip
case("gradient of a scan", lambda tf, x: tf.gradients(
    tf.reduce_sum(tf.scan(lambda a, e: a * 0.5 + e * e, x)), x)[0], V)  # fmt: skip
case("ensure_shape", lambda tf, x: tf.ensure_shape(x, [None, 4]), X)

REJECTED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "gather": (lambda tf, x, i: tf.gather(x, i), (V, np.array([0, -1], np.int32))),
    "gather_nd": (lambda tf, x, i: tf.gather_nd(x, i), (X, np.array([[0, -1]], np.int32))),
    "scatter_nd": (lambda tf, x, i: tf.scatter_nd(i, x, [3, 4]), (X, np.array([[0], [1], [-1]], np.int32))),
    "update": (lambda tf, x, i: tf.tensor_scatter_nd_update(x, i, [1.0]), (V, np.array([[-1]], np.int32))),
    "segments": (lambda tf, x, i: tf.math.unsorted_segment_sum(x, i, 2), (X, np.array([0, 1, 2], np.int32))),
    "labels": (
        lambda tf, x, i: tf.nn.sparse_softmax_cross_entropy_with_logits(i, x), (X, np.array([0, -1, 2], np.int32)),
    ),
    "element of a list": (
        lambda tf, x, i: tf.TensorArray(tf.float32, size=3).unstack(x).read(i), (X, np.int32(-1)),
    ),
    "slice that begins before": (lambda tf, x, k: tf.slice(x, [k], [1]), (V, np.int32(-1))),
    "slice that ends behind": (lambda tf, x, k: tf.slice(x, [k], [3]), (V, np.int32(3))),
    "reverse_sequence": (lambda tf, x, n: tf.reverse_sequence(x, n, 1), (X, np.array([1, 5, 2], np.int32))),
    "ensure_shape": (lambda tf, x, n: tf.ensure_shape(x[:n], [2, 4]), (X, np.int32(1))),
}  # fmt: skip
"""What TensorFlow refuses for these arguments when it runs."""


@pytest.mark.full
@pytest.mark.parametrize("name", REJECTED)
def test_what_tensorflow_refuses(tf: Any, name: str) -> None:
    """An index or a shape that TensorFlow refuses gives no value here."""
    compute, arguments = REJECTED[name]
    types = [tf.TensorSpec(argument.shape, argument.dtype) for argument in arguments]
    concrete = tf.function(lambda *each: compute(tf, *each)).get_concrete_function(*types)
    with pytest.raises(tf.errors.InvalidArgumentError):
        concrete(*map(tf.constant, arguments))
    with pytest.raises(tl.TagloomError):
        np.asarray(tl.from_tensorflow(concrete)(*arguments))


@pytest.mark.full
def test_gradients_by_rows_are_refused(tf: Any) -> None:
    """A result that is no array is refused, though it has one as its part."""
    concrete = tf.function(lambda x: tf.gradients(tf.gather(x, [0, 0]), x)).get_concrete_function(
        tf.TensorSpec([3, 2], tf.float32)
    )
    with pytest.raises(tl.Usage, match="IndexedSlices"):
        tl.from_tensorflow(concrete)(X[:, :2].copy())


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_cases(tf: Any, name: str) -> None:
    """An imported function gives the numbers of TensorFlow."""
    check_case(tf, *CASES[name], is_frozen=False)


@pytest.mark.full
@pytest.mark.parametrize(
    "name", ["loops in loops", "lists of arrays", "switch_case", "scan", "gradient of a loop", "Select"]
)
def test_frames(tf: Any, name: str) -> None:
    """So does its graph with frames."""
    check_case(tf, *CASES[name], is_frozen=True)


IN_ONE_GRAPH = replace(TENSORFLOW_FUNCTION, entry="main")
"""The dialect of functions that a graph of the caller traces."""


def reimported(tf: Any, program: Any, arguments: tuple[Any, ...]) -> tl.Function:
    """A program, exported to functions of TensorFlow and imported back."""
    names: dict[str, Any] = {}
    exec(to_python(program, IN_ONE_GRAPH), names)
    values = [np.asarray(argument) for argument in arguments]
    with tf.Graph().as_default() as graph:
        inputs = [tf.compat.v1.placeholder(each.dtype, each.shape, f"x{k}") for k, each in enumerate(values)]
        results = tf.nest.flatten(names["main"](*inputs))
        outputs = [tf.identity(tf.convert_to_tensor(result)).name for result in results]
    return tl.from_tensorflow(graph.as_graph_def(), inputs=[each.name for each in inputs], outputs=outputs)


def check_generated(tf: Any, count: int, seed: int) -> None:
    """Raises where a generated program comes back with another outcome."""
    compared = 0
    for number in range(10 * count):
        program, arguments = FuzzWriter(Random(f"{seed}:{number}")).write_case()
        expected = evaluate(program, arguments, max_steps=500, max_depth=100).results
        if expected is None:
            continue
        try:
            imported = reimported(tf, program, arguments)
        except (Refusal, tf.errors.OpError, ValueError, TypeError):  # TensorFlow lacks it
            continue
        value = imported.run(*arguments, engine="reference").value
        results = value if isinstance(value, tuple) else (value,)
        for one, other in zip(expected, results, strict=True):
            one, other = np.asarray(one), np.asarray(other)
            assert (one.dtype, one.shape) == (other.dtype, other.shape), number
            np.testing.assert_allclose(other, one, rtol=1e-6, err_msg=str(number))
        compared += 1
        if compared == count:
            return
    raise AssertionError(f"TensorFlow took only {compared} of {10 * count} programs")


@pytest.fixture(params=["functions", "frames"])
def control_flow(tf: Any, request: Any) -> Iterator[str]:
    """The form in which TensorFlow writes loops and conditionals."""
    if request.param == "frames":
        tf.compat.v1.disable_control_flow_v2()
    yield request.param
    tf.compat.v1.enable_control_flow_v2()


@pytest.mark.full
def test_generated_programs(tf: Any, control_flow: str) -> None:
    """A program that is exported to TensorFlow and imported back has the same outcome."""
    check_generated(tf, 10, 3)


@pytest.mark.heavy
@pytest.mark.timeout(7200)
def test_many_generated_programs(tf: Any, control_flow: str) -> None:
    """The same, for 100 programs."""
    check_generated(tf, 100, 4)


@pytest.mark.full
def test_variables(tf: Any) -> None:
    """Variables of a concrete function keep their values from run to run, and TensorFlow's stay as they are."""
    count, weights = tf.Variable(0, name="count"), tf.Variable([1.0, 2.0], name="weights")

    @tf.function
    def function(n):
        for k in tf.range(n):
            count.assign_add(k)
            if k > 1:
                weights.assign(weights * 2.0)
        return {"count": count + 0, "weights": weights.read_value()}

    imported = tl.from_tensorflow(function.get_concrete_function(tf.TensorSpec([], tf.int32)))
    first, second = imported(np.int32(4)), imported(np.int32(3))
    assert int(first["count"]) == 6 and np.asarray(first["weights"]).tolist() == [4.0, 8.0]
    assert int(second["count"]) == 9 and int(count.numpy()) == 0


@pytest.mark.full
def test_a_list_of_open_sizes(tf: Any) -> None:
    """The elements of a list may have sizes that are known only at run time."""

    @tf.function
    def doubled(x):
        rows = tf.TensorArray(tf.float32, size=3)
        for k in tf.range(3):
            x = x * 2.0
            rows = rows.write(k, x)
        return rows.stack()

    imported = tl.from_tensorflow(doubled.get_concrete_function(tf.TensorSpec([None, 2], tf.float32)))
    for count in (1, 4):
        x = floats(count, 2)
        np.testing.assert_array_equal(np.asarray(imported(x)), doubled(tf.constant(x)).numpy())


@pytest.mark.full
def test_the_fields_of_messages(tf: Any) -> None:
    """The fields that are read have the numbers of TensorFlow's own descriptors."""
    from tensorflow.core.framework import function_pb2, graph_pb2, tensor_pb2, types_pb2
    from tensorflow.core.protobuf import saved_model_pb2, tensor_bundle_pb2

    pending = [graph_pb2.GraphDef, function_pb2.FunctionDef, tensor_pb2.TensorProto, saved_model_pb2.SavedModel,
               tensor_bundle_pb2.BundleHeaderProto, tensor_bundle_pb2.BundleEntryProto]  # fmt: skip
    descriptors, checked = [each.DESCRIPTOR for each in pending], set()
    while descriptors:
        descriptor = descriptors.pop()
        if descriptor.full_name in checked:
            continue
        checked.add(descriptor.full_name)
        descriptors += [field.message_type for field in descriptor.fields if field.message_type is not None]
        is_read = descriptor.name in SCHEMAS and descriptor.full_name != "tensorflow.ListValue"  # of struct.proto
        for field in SCHEMAS[descriptor.name].fields.values() if is_read else ():
            assert descriptor.fields_by_name[field.name].number == field.number, (descriptor.name, field.name)
    names = {number: name.removeprefix("DT_") for name, number in types_pb2.DataType.items()}
    assert all(names[number] == name for number, name in DATA_TYPES.items())
