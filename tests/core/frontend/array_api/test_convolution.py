"""Convolutions, direct and transposed, agree with a loop over their definition, with JAX and with PyTorch; each is the
adjoint of the other."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tagloom.core import dtypes
from tagloom.core.program.validate import program_problems
from tagloom.core.types import Type

DICE = np.random.default_rng(3)
OPTIONS = ("strides", "padding", "dilations", "input_dilations", "groups")


def integers(*shape: int) -> Any:
    """Small integers as floats: their sums of products are exact."""
    return DICE.integers(-3, 4, shape).astype(np.float64)


def convolve_by_loop(x: Any, weights: Any, options: dict[str, Any]) -> Any:
    """The convolution by its definition: one product after another."""
    outputs, channels, *kernel = weights.shape
    strides, pads, dilations, input_dilations, groups = (options[name] for name in OPTIONS)
    extents = [(n - 1) * e + 1 + sum(pair) for n, e, pair in zip(x.shape[2:], input_dilations, pads, strict=True)]
    counts = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(extents, kernel, dilations, strides, strict=True)]
    result = np.zeros((len(x), outputs, *counts))
    for place, offset in itertools.product(np.ndindex(*counts), np.ndindex(*kernel)):
        source = []
        for axis, (p, k) in enumerate(zip(place, offset, strict=True)):
            spot = p * strides[axis] + k * dilations[axis] - pads[axis][0]
            element, between = divmod(spot, input_dilations[axis])
            source += [element] if not between and 0 <= element < x.shape[2 + axis] else []
        for output, channel in np.ndindex(outputs, channels) if len(source) == len(kernel) else ():
            column = x[(slice(None), output // (outputs // groups) * channels + channel, *source)]
            result[(slice(None), output, *place)] += column * weights[(output, channel, *offset)]
    return result


def transpose_by_loop(x: Any, weights: Any, options: dict[str, Any], output_padding: int) -> Any:
    """The transposed convolution by its definition: each element of x adds its multiple of the kernel."""
    channels, outputs, *kernel = weights.shape
    strides, pads, dilations, _, groups = (options[name] for name in OPTIONS)
    sizes = [
        (n - 1) * s - sum(pair) + (k - 1) * d + 1 + output_padding
        for n, s, pair, k, d in zip(x.shape[2:], strides, pads, kernel, dilations, strict=True)
    ]
    result = np.zeros((len(x), outputs * groups, *(max(size, 0) for size in sizes)))
    for place, offset in itertools.product(np.ndindex(*x.shape[2:]), np.ndindex(*kernel)):
        target = []
        for axis, (p, k) in enumerate(zip(place, offset, strict=True)):
            spot = p * strides[axis] + k * dilations[axis] - pads[axis][0]
            target += [spot] if 0 <= spot < sizes[axis] else []
        for channel, output in np.ndindex(channels, outputs) if len(target) == len(kernel) else ():
            column = x[(slice(None), channel, *place)] * weights[(channel, output, *offset)]
            result[(slice(None), channel // (channels // groups) * outputs + output, *target)] += column
    return result


@st.composite
def settings(draw: st.DrawFn) -> dict[str, Any]:
    """The sizes and options of a convolution; windows fit into x."""
    axes = draw(st.sampled_from([1, 2, 3]))

    def per_axis(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) for _ in range(axes))

    kernel, dilations, input_dilations = per_axis(1, 3), per_axis(1, 3), per_axis(1, 2)
    pads = tuple(zip(per_axis(0, 2 if axes < 3 else 1), per_axis(0, 1), strict=True))
    sizes = [
        max(draw(st.integers(1, 3)), -(-((k - 1) * d - before - after) // e) + 1)
        for k, d, e, (before, after) in zip(kernel, dilations, input_dilations, pads, strict=True)
    ]
    groups = draw(st.integers(1, 3))
    return {
        "x": integers(draw(st.integers(1, 2)), groups * draw(st.integers(1, 2)), *sizes),
        "kernel": kernel,
        "outputs": groups * draw(st.integers(1, 2)),
        "options": {
            "strides": per_axis(1, 3),
            "padding": pads,
            "dilations": dilations,
            "input_dilations": input_dilations,
            "groups": groups,
        },
    }


def direct(setting: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """x, weights and options of a direct convolution."""
    options = setting["options"]
    channels = setting["x"].shape[1] // options["groups"]
    return setting["x"], integers(setting["outputs"], channels, *setting["kernel"]), options


def transposed(setting: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """x, weights and options of a transposed convolution."""
    options = {name: each for name, each in setting["options"].items() if name != "input_dilations"}
    outputs = setting["outputs"] // options["groups"]
    return setting["x"], integers(setting["x"].shape[1], outputs, *setting["kernel"]), options


@given(settings())
def test_convolutions_are_their_loops(setting: dict[str, Any]) -> None:
    """Values are exact, eagerly and as a program."""
    x, weights, options = direct(setting)
    expected = convolve_by_loop(x, weights, options)
    for result in (tl.conv(x, weights, **options), tl.function(lambda a, b: tl.conv(a, b, **options))(x, weights)):
        np.testing.assert_array_equal(np.asarray(result), expected)


@given(settings(), st.integers(0, 2))
def test_transposed_convolutions_are_their_loops(setting: dict[str, Any], more: int) -> None:
    """Values are exact; a padding that leaves nothing is refused."""
    x, weights, options = transposed(setting)
    expected = transpose_by_loop(x, weights, setting["options"], more)
    if not expected.size:
        with pytest.raises(tl.Invalid, match="no window"):
            tl.conv_transpose(x, weights, output_padding=more, **options)
    else:
        result = tl.conv_transpose(x, weights, output_padding=more, **options)
        np.testing.assert_array_equal(np.asarray(result), expected)


@hypothesis_settings(max_examples=30)
@given(settings())
def test_each_is_the_adjoint_of_the_other(setting: dict[str, Any]) -> None:
    """The gradient of <conv(x, w), y> along x is conv_transpose(y, w); that along w, and second derivatives, are the
    same products with other operands."""
    x, weights, options = direct({**setting, "options": {**setting["options"], "input_dilations": 1}})
    extents = [(k - 1) * d + 1 for k, d in zip(setting["kernel"], options["dilations"], strict=True)]
    spans = [n + sum(pair) - width for n, pair, width in zip(x.shape[2:], options["padding"], extents, strict=True)]
    assume(min(spans) >= 0)
    y = integers(*np.shape(tl.conv(x, weights, **options)))
    product = tl.function(lambda a, b: tl.sum(tl.conv(a, b, **options) * y))
    along_x, along_weights = map(np.asarray, tl.grad(product, (0, 1))(x, weights))
    del options["input_dilations"]
    unused = tuple(span % s for span, s in zip(spans, options["strides"], strict=True))
    np.testing.assert_array_equal(along_x, np.asarray(tl.conv_transpose(y, weights, output_padding=unused, **options)))
    assert float(np.sum(along_weights * weights)) == float(np.sum(along_x * x)) == float(product(x, weights))
    u = integers(*x.shape)
    mixed = tl.grad(tl.function(lambda b: tl.sum(tl.grad(product, 0)(x, b) * u)))(weights)
    np.testing.assert_array_equal(np.asarray(mixed), np.asarray(tl.grad(product, 1)(u, weights)))


OPENED = [
    ((None, 4, 5), {"groups": 2}),
    ((2, None, 5), {"groups": 2}),
    ((None, None, None), {"groups": 2, "dilations": 2}),
    ((2, 4, None), {"groups": 4, "input_dilations": 2}),
    ((None, 4, None), {"groups": 1, "input_dilations": 3, "padding": ((2, 1),)}),
    ((None, 4, None), {"groups": 2, "padding": "SAME"}),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "options"), OPENED, ids=str)
def test_sizes_that_types_leave_open(shape: Any, options: dict[str, Any]) -> None:
    """The result does not depend on which sizes the type leaves open, nor on the engine."""
    x, weights = integers(2, 4, 5), integers(4, 4 // options["groups"], 3)
    expected = np.asarray(tl.conv(x, weights, **options))

    def f(a):  # type: ignore[no-untyped-def]
        return tl.conv(a, weights, **options)

    f.__annotations__["a"] = Type(dtypes.float64, shape)
    function = tl.function(f)
    np.testing.assert_array_equal(np.asarray(function(x)), expected)
    np.testing.assert_array_equal(np.asarray(function.run(x, engine="fast").value), expected)


@pytest.mark.heavy
def test_compiled_agrees() -> None:
    x, weights = integers(2, 4, 5), integers(2, 2, 3)
    function = tl.function(lambda a, b: tl.conv(a, b, groups=2, dilations=2, padding=1, input_dilations=2))
    results = [np.asarray(function.run(x, weights, engine=engine).value) for engine in ("reference", "compiled")]
    np.testing.assert_array_equal(*results)


def test_s5_channels_of_groups_must_match() -> None:
    """S5: where the type leaves the channels open, other than those of the groups trap."""

    def f(x: tl.Array[tl.float64, None, None, None]):  # type: ignore[no-untyped-def]
        return tl.conv(x, np.ones((4, 2, 1)), groups=2)

    function = tl.function(f)
    assert function.run(np.ones((1, 4, 3))).status == "Returned"
    for channels in (1, 2, 3, 5, 6, 8):
        assert function.run(np.ones((1, channels, 3))).status == "Trapped", channels


def test_groups_are_one_product() -> None:
    """A program has one matrix product, whatever the number of groups."""
    for groups in (2, 64):
        function = tl.function(lambda a, b, groups=groups: tl.conv(a, b, groups=groups))
        program = function.trace(np.ones((1, groups, 9)), np.ones((groups, 1, 3)))
        assert tl.print_program(program.program).count("= matmul") == 1


@pytest.mark.parametrize("size", [5, 6])
@pytest.mark.parametrize(("kernel", "stride", "dilation"), [(3, 1, 1), (4, 1, 1), (3, 2, 1), (2, 3, 1), (3, 2, 2)])
def test_same_padding(size: int, kernel: int, stride: int, dilation: int) -> None:
    """SAME gives ceil(size / stride) windows, and size * stride elements when transposed."""
    options: dict[str, Any] = {"padding": "SAME", "strides": stride, "dilations": dilation}
    assert np.shape(tl.conv(integers(1, 1, size), integers(1, 1, kernel), **options)) == (1, 1, -(-size // stride))
    assert np.shape(tl.conv_transpose(integers(1, 1, size), integers(1, 1, kernel), **options)) == (1, 1, size * stride)


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: tl.conv(integers(1, 3, 5), integers(2, 1, 2), groups=2), r"required: 2 channels of x\n.*got: 3"),
        (lambda: tl.conv(integers(1, 2, 5), integers(3, 1, 2), groups=2), "do not divide the output channels"),
        (lambda: tl.conv(integers(1, 2, 5), integers(2, 1, 2), groups=0), "groups must be a positive number"),
        (lambda: tl.conv(integers(1, 1, 5), integers(1, 1, 2), padding="same"), 'required: "SAME", "VALID"'),
        (lambda: tl.conv(integers(1, 1, 5), integers(1, 1, 2), padding=((-1, 0),)), "padding for each spatial axis"),
        (lambda: tl.conv(integers(1, 1, 5), integers(1, 1, 2), dilations=0), "dilation for each spatial axis"),
        (lambda: tl.conv(integers(1, 1, 4), integers(1, 1, 3), dilations=2), r"no window of shape \(5,\) fits"),
        (lambda: tl.conv_transpose(integers(1, 3, 4), integers(2, 1, 3), groups=2), "2 channels of x"),
        (lambda: tl.conv_transpose(integers(1, 2, 4), integers(2, 1, 3), output_padding=-1), "output padding for each"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused(refused: Any, message: str) -> None:
    with pytest.raises((tl.Invalid, tl.Usage), match=message) as error:
        refused()
    assert "test_convolution.py" in str(error.value.where)


def test_v3_windows_may_leave_out_dilations() -> None:
    """V3: texts without the attribute `dilations` are valid, and print as they were; another number of them is not."""
    text = "func f(x: int64[5]) -> int64[{size}, 2] {{\n  y = windows x, shape=[2], strides=[1]{more}\n  return y\n}}\n"
    for more, size in (("", 4), (", dilations=[3]", 2)):
        source = text.format(more=more, size=size)
        program = tl.parse(source).program
        assert tl.print_program(program, locations=False).split("#")[0].strip() == source.strip()
        assert tl.from_json(tl.to_json(program)) == program
    with pytest.raises(tl.Invalid, match="strides and dilations"):
        tl.windows([1, 2, 3], (2,), dilations=(1, 1))
    wrong = tl.parse(text.format(more="", size=4).replace("strides", "dilations")).program
    assert [problem.rule for problem in program_problems(wrong)] == ["V3", "V6"]


PEERS = [
    {"strides": (2, 1), "padding": ((1, 0), (2, 2)), "dilations": (1, 2), "input_dilations": (2, 1), "groups": 2},
    {"strides": (1, 2), "padding": "SAME", "dilations": (2, 1), "input_dilations": (1, 1), "groups": 1},
    {"strides": (3, 1), "padding": "VALID", "dilations": (1, 2), "input_dilations": (1, 1), "groups": 4},
]


@pytest.mark.parametrize("options", PEERS, ids=str)
def test_jax_agrees(options: dict[str, Any]) -> None:
    jax = pytest.importorskip("jax")
    x, weights = integers(2, 4, 7, 6), integers(4, 4 // options["groups"], 3, 2)
    expected = jax.lax.conv_general_dilated(
        x.astype(np.float32), weights.astype(np.float32), options["strides"], options["padding"],
        lhs_dilation=options["input_dilations"], rhs_dilation=options["dilations"],
        feature_group_count=options["groups"],
    )  # fmt: skip
    np.testing.assert_array_equal(np.asarray(tl.conv(x, weights, **options)), expected)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (3, 2), (4, 3), (3, 3)])
def test_jax_transposes_alike(kernel: int, stride: int, padding: str) -> None:
    jax = pytest.importorskip("jax")
    x, weights = integers(2, 3, 5), integers(3, 4, kernel)
    expected = jax.lax.conv_transpose(
        x.astype(np.float32), weights.astype(np.float32), (stride,), padding,
        dimension_numbers=("NCH", "OIH", "NCH"), transpose_kernel=True,
    )  # fmt: skip
    np.testing.assert_array_equal(np.asarray(tl.conv_transpose(x, weights, strides=stride, padding=padding)), expected)


@pytest.mark.parametrize(("stride", "dilation", "groups", "more"), [*itertools.product((1, 2), (1, 2), (1, 2), (0, 1))])
def test_torch_transposes_alike(stride: int, dilation: int, groups: int, more: int) -> None:
    torch = pytest.importorskip("torch")
    if more >= max(stride, dilation):
        pytest.skip("PyTorch refuses this output padding")
    x, weights = integers(2, 4, 5, 4), integers(4, 3, 2, 3)
    options = {"padding": 1, "output_padding": more, "groups": groups}
    expected = torch.nn.functional.conv_transpose2d(
        torch.from_numpy(x), torch.from_numpy(weights), stride=stride, dilation=dilation, **options
    )
    result = tl.conv_transpose(x, weights, strides=stride, dilations=dilation, **options)
    np.testing.assert_array_equal(np.asarray(result), expected.numpy())
