"""Functions of JAX and texts of StableHLO as programs: they compute what JAX computes."""

from __future__ import annotations

import base64
import itertools
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from attack.command_line import run_words

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from support.programs.stablehlo_modules import TEXT  # noqa: E402
from tagloom.core.program.evaluate import evaluate  # noqa: E402
from tagloom.interp.exchange.export.stablehlo import to_stablehlo  # noqa: E402
from tagloom.interp.exchange.export.walker import Refusal  # noqa: E402
from tagloom.interp.exchange.stablehlo.model import module_function  # noqa: E402
from tagloom.interp.exchange.stablehlo.module import read_module  # noqa: E402
from tagloom.interp.exchange.stablehlo.parse import __file__ as parse_file  # noqa: E402
from tagloom.interp.exchange.stablehlo.parse import parse  # noqa: E402
from tagloom.interp.oracle.generate import FuzzCase, FuzzWriter  # noqa: E402
from tagloom.viz.graph_view import graph_view  # noqa: E402
from tagloom.viz.source_lines import local_line  # noqa: E402

MODEL = Path(__file__).parents[4] / "docs" / "models" / "sorting.mlir"


def floats(*shape: int) -> Any:
    return np.random.RandomState(sum(shape) + len(shape)).standard_normal(shape).astype(np.float32)


INTEGERS = np.array([3, -1, 7, 2, -9], np.int32)
X, V = floats(3, 4), floats(5)
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}


def case(*arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function of JAX with its arguments."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES[function.__name__] = function, arguments
        return function

    return register


@case(np.int32(10))
def while_loop(n):
    return lax.while_loop(
        lambda c: c[0] > 1, lambda c: (jnp.where(c[0] % 2 == 0, c[0] // 2, 3 * c[0] + 1), c[1] + 1), (n, 0)
    )


@case(X, floats(4, 5), V)
def gradient_of_layers(x, w, b):
    return jax.grad(lambda w, b: jnp.sum(jnp.tanh(x @ w + b) ** 2), (0, 1))(w, b)


@case(V)
def scan(x):
    return lax.scan(lambda c, e: (c * 0.5 + e, c + 1), jnp.float32(0), x)


@case(V)
def gradient_of_scan(x):
    step = lambda c, e: (jnp.sin(c) * e + e, c * c)  # noqa: E731
    return jax.grad(lambda x: lax.scan(step, jnp.float32(0.3), x)[1].sum())(x)


@case(V, 7)
def fori_loop(x, n):
    return lax.fori_loop(0, n, lambda i, y: y.at[i % 5].add(i * 1.0), x)


@case(V, 2)
def branches(x, i):
    return lax.switch(i, [jnp.sin, jnp.cos, jnp.exp], x), lax.cond(x[0] > 0, lambda: (x, 1), lambda: (x * 2, 2))


@case(X)
def activations(x):
    return jax.nn.softmax(x), jax.nn.log_softmax(x, 0), jax.nn.gelu(x), jax.nn.silu(x), jax.scipy.special.logsumexp(x)


@case(X)
def vmap(x):
    return jax.vmap(lambda row: jnp.dot(row, row) * row)(x)


@case(X)
def reductions(x):
    return (x.sum(0), x.max(1), x.min(), x.prod(1), jnp.argmax(x, 1), jnp.argmin(x), (x > 0).any(0), (x > 0).all(),
            jnp.var(x, 0), jnp.median(x), lax.reduce(x, jnp.float32(1), lambda a, b: a * b + a, (0,)),
            jnp.argmax(jnp.zeros((0, 2)) if x.size == 0 else x * 0), jnp.argmax(x.at[1, 1].set(jnp.nan)))  # fmt: skip


@case(X)
def cumulative(x):
    return (jnp.cumsum(x, 1), jnp.cumprod(x, 0), lax.cummax(x, 1), lax.cummin(x, 0, reverse=True),
            lax.cumlogsumexp(x, 1), lax.cumsum(x, 0, reverse=True), lax.associative_scan(jnp.multiply, x))  # fmt: skip


@case(X)
def sorting(x):
    return (jnp.sort(x), jnp.argsort(x, 0), jnp.sort(x, descending=True), lax.top_k(x, 2),
            lax.sort((jnp.round(x), x), num_keys=2), jnp.lexsort((x[0], jnp.round(x[1]))),
            jnp.sort(x.at[0, 1].set(jnp.nan).at[1, 0].set(-0.0)))  # fmt: skip


@case(np.array([np.nan, 1, -0.0, -2, 0, -np.inf], np.float16))
def sorting_of_halves(x):
    brain = x[1:].astype(jnp.bfloat16)
    return (jnp.sort(x), jnp.argsort(x), jnp.sort(brain), lax.top_k(x, 4), lax.top_k(brain, 4),
            lax.sort((brain, x[1:]), num_keys=2))  # fmt: skip


@case(X, INTEGERS)
def gathers(x, i):
    return (x[1], x[:, 1:3], x[::-1, ::2], x[jnp.array([0, 2, 1])], x[jnp.array([0, 2]), jnp.array([1, 3])],
            jnp.take(x, i, axis=0), jnp.take(x, i % 3, axis=1), jnp.take_along_axis(x, jnp.argsort(x, 1), 1),
            jnp.take(x, i, axis=0, mode="clip"), jax.vmap(lambda row, k: row[k])(x, i[:3] % 4))  # fmt: skip


@case(jnp.asarray(X), INTEGERS)
def scatters(x, i):
    return (x.at[1].set(2.0), x.at[:, 1].add(1.0), x.at[i].add(1.0), x.at[i, 1].mul(2.0), x.at[i].max(0.5),
            x.at[0:2, 1:3].set(0), x.at[i].set(5.0, mode="drop"), x.at[i % 3, i % 4].min(0.0),
            jax.vmap(lambda row, k: row.at[k].set(9.0))(x, i[:3] % 4))  # fmt: skip


@case(X, 1)
def dynamic_slices(x, i):
    return (lax.dynamic_slice(x, (i, i + 1), (2, 2)), lax.dynamic_update_slice(x, jnp.ones((1, 2)), (i, 9)), x[i],
            lax.dynamic_index_in_dim(x, i, 1), lax.dynamic_slice(x, (-7, i), (1, 4)))  # fmt: skip


@case(X)
def shapes(x):
    return (x.T, x.reshape(2, 6), jnp.concatenate([x, x], 1), jnp.pad(x, ((1, 2), (0, 1))), jnp.flip(x),
            jnp.tile(x, (2, 1)), jnp.repeat(x, 2, 0), jnp.roll(x, 1, 1), jnp.broadcast_to(x[0], (2, 4)),
            lax.pad(x, jnp.float32(1), ((1, -1, 2), (-1, 0, 1))), jnp.tril(x), jnp.eye(3), jnp.arange(100))  # fmt: skip


@case(floats(1, 6, 7, 2), floats(3, 3, 2, 4))
def convolutions(x, k):
    numbers = lax.conv_dimension_numbers(x.shape, k.shape, ("NHWC", "HWIO", "NHWC"))
    convolve = lambda x, k: lax.conv_general_dilated(x, k, (1, 2), "SAME", dimension_numbers=numbers)  # noqa: E731
    return convolve(x, k), jax.grad(lambda x, k: (convolve(x, k) ** 2).sum(), (0, 1))(x, k)


@case(floats(1, 6, 7, 2))
def windows(x):
    largest = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")  # noqa: E731
    sums = lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 2, 1), (1, 1, 2, 1), "SAME")  # noqa: E731
    return largest(x), sums(x), jax.grad(lambda x: largest(x).sum())(x), jax.grad(lambda x: (sums(x) ** 2).sum())(x)


@case(INTEGERS)
def integers(i):
    return (i // 2, i % 3, lax.div(i, jnp.int32(0)), lax.rem(i, jnp.int32(-4)), i << 2, i >> 1,
            lax.shift_right_logical(i, jnp.int32(1)), i ^ 3, ~i, lax.population_count(i), lax.clz(i), i**3, jnp.sign(i),
            lax.bitcast_convert_type(i, jnp.float32), i.astype(jnp.uint8), i.astype(jnp.float32))  # fmt: skip


ZEROS = np.array([0.0, -0.0, 0.0, -0.0, 1, -1], np.float32)


@case(ZEROS, np.array([0.0, 0.0, -0.0, -0.0, 1, 2], np.float32))
def signed_zeros(x, y):
    return (jnp.maximum(x, y), jnp.minimum(x, y), jnp.maximum(x, 0.0), jnp.minimum(x, 0.0), jnp.maximum(-0.0, x),
            jnp.minimum(-0.0, x), jnp.maximum(0.0, x), jax.nn.relu(x), jnp.clip(x, -0.0, 0.0), lax.clamp(0.0, x, 6.0),
            jnp.sign(x), lax.top_k(x, 4), jax.grad(lambda x: jnp.maximum(x, y).sum())(x))  # fmt: skip


@case(np.array([[True, False, True], [True, True, False]]))
def sorted_bools(b):
    return jnp.sort(b), jnp.argsort(b, axis=1), jnp.sort(b, axis=0, descending=True)


@case(X)
def windows_with_a_start(x):
    return (lax.reduce_window(x, np.float32(0.5), lax.add, (2, 3), (1, 2), "SAME"),
            lax.reduce_window(x, np.float32(2), lax.mul, (2, 2), (1, 1), [(1, 0), (0, 1)], base_dilation=(2, 1)),
            lax.reduce_window(x, np.float32(0), lax.max, (2, 2), (1, 1), "SAME"))  # fmt: skip


@case(V)
def elementwise(x):
    return (jnp.floor(x), jnp.round(x * 3), lax.round(x * 2), x % 1.5, lax.rem(x, jnp.float32(0.3)), jnp.exp2(x),
            lax.rsqrt(jnp.abs(x)), x**2, jnp.arctan2(x, x + 1), jnp.clip(x, -0.5, 0.5), jnp.isnan(x), jnp.sinh(x),
            jnp.arcsinh(x), lax.erf(x), lax.lgamma(jnp.abs(x)), lax.erf_inv(x * 0.3), jnp.cbrt(x),
            x.astype(jnp.int32), lax.digamma(jnp.abs(x) + 1), jnp.nextafter(x, x + 1), jnp.hypot(x, x))  # fmt: skip


@case(np.array([0, 42], np.uint32))
def random_numbers(data):
    first, second = jax.random.split(jax.random.wrap_key_data(data))
    return (jax.random.uniform(first, (3,)), jax.random.normal(second, (2, 2)), jax.random.randint(first, (4,), 0, 10),
            jax.random.categorical(first, jnp.arange(3.0)), jax.random.permutation(second, 5))  # fmt: skip


@case(np.array([7, 8, 2**32 - 2, 2**32 - 1], np.uint32))
def random_bits(state):
    """The counter overflows; axes are even, odd, and none."""
    bits = lax.rng_bit_generator
    philox, threefry = lax.RandomAlgorithm.RNG_PHILOX, lax.RandomAlgorithm.RNG_THREE_FRY
    return (bits(state, (3, 5)), bits(state, (9,), jnp.uint8, philox), bits(state, (), algorithm=philox),
            bits(state, (5, 3), algorithm=threefry), bits(state, (3, 2, 2), algorithm=threefry))  # fmt: skip


@case(X, np.arange(8, dtype=np.uint8).reshape(2, 4) * 37)
def bits_of_other_widths(x, b):
    return (lax.bitcast_convert_type(x, jnp.int8), lax.bitcast_convert_type(b, jnp.float32), x.view(jnp.uint16),
            lax.bitcast_convert_type(jnp.full((2, 2), 3, jnp.uint16), jnp.int32))  # fmt: skip


@case(floats(2, 3, 4), floats(2, 4, 5))
def products(x, y):
    return (jnp.einsum("bij,bjk->bik", x, y), jnp.einsum("bij,bjk->ik", x, y), jnp.tensordot(x, y, ((0, 2), (0, 1))),
            jnp.outer(x[0, 0], y[0, 0]), jnp.dot(x[0, 0], y[0, :, 0]), jnp.inner(x, x))  # fmt: skip


@case({"w": X, "b": (V, floats(2, 3))}, np.float32(2))
def nested_arguments(p, s):
    return {"q": p["w"] * s, "r": [p["b"][0], p["b"][1].sum()]}


@case(X)
def functions_of_functions(x):
    inner = jax.jit(lambda y: jnp.sin(y) * 2)
    return inner(x) + inner(x + 1), jax.checkpoint(inner)(x), lax.map(lambda row: jnp.cumsum(inner(row)), x)


@case(X)
def second_derivatives(x):
    return jax.jacfwd(jax.grad(lambda v: jnp.sum(jnp.sin(v) * v**2)))(x[0]), jax.jvp(jnp.tanh, (x,), (x,))


@case(floats(2, 4, 4), floats(4, 3))
def linear_algebra(x, b):
    symmetric = x @ x.swapaxes(-1, -2) + jnp.eye(4)
    factor = jnp.linalg.cholesky(symmetric)
    return (factor, jnp.linalg.solve(symmetric[0], b), jnp.linalg.inv(symmetric), jnp.linalg.det(x),
            jax.scipy.linalg.solve_triangular(factor[0], b, lower=True, trans=1),
            jax.grad(lambda x: jnp.linalg.slogdet(x)[1])(symmetric[0]), jax.scipy.linalg.lu(x[0]))  # fmt: skip


def check_agrees(required: Any, got: Any) -> None:
    """Raises where results differ in structure, dtypes or shapes, in the signs of zeros, or in numbers: floats by more
    than rounding."""
    leaves, structure = jax.tree_util.tree_flatten(required)
    own_leaves, own_structure = jax.tree_util.tree_flatten(got)
    assert structure == own_structure
    for one, other in zip(map(np.asarray, leaves), map(np.asarray, own_leaves), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.dtype.kind != "f":
            np.testing.assert_array_equal(other, one)
        else:
            np.testing.assert_allclose(other, one, rtol=2e-5, atol=2e-6)
            are_zero = (one == 0) & (other == 0)
            np.testing.assert_array_equal(np.signbit(one[are_zero]), np.signbit(other[are_zero]))


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_functions_of_jax(name: str) -> None:
    """A function of JAX, imported, gives JAX's result on the reference machine, under two schedules."""
    function, arguments = CASES[name]
    required, imported = jax.jit(function)(*arguments), tl.from_jax(function, *arguments)
    for schedule in ("fifo", "random:3"):
        check_agrees(required, imported.run(*arguments, engine="reference", schedule=schedule).value)


@pytest.mark.full
def test_a_broken_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    """A generator that rotates by another distance in one of its rounds is caught."""
    from tagloom.interp.exchange.stablehlo.rows import random_bits

    monkeypatch.setattr(random_bits, "THREEFRY_ROTATIONS", ((13, 15, 26, 6), (17, 29, 16, 25)))
    with pytest.raises(AssertionError):
        test_functions_of_jax("random_bits")


@pytest.mark.full
@pytest.mark.parametrize("name", ["while_loop", "fori_loop", "scan", "signed_zeros"])
def test_functions_of_jax_compiled(name: str) -> None:
    """So does it, compiled."""
    function, arguments = CASES[name]
    check_agrees(
        jax.jit(function)(*arguments), tl.from_jax(function, *arguments).run(*arguments, engine="compiled").value
    )


def check_operations(seeds: range) -> None:
    """Raises where an operation with drawn dimension numbers does not compute what JAX computes."""
    from support.generators.jax_operations import OPERATIONS

    compared = 0
    for seed in seeds:
        draw = OPERATIONS[seed % len(OPERATIONS)]
        try:
            function, arguments = draw(Random(seed))
            required = jax.jit(function)(*arguments)
        except (TypeError, ValueError):
            continue  # against JAX's rules
        with np.errstate(all="ignore"):
            got = tl.from_jax(function, *arguments).run(*arguments, engine="reference").value
        pairs = zip(jax.tree_util.tree_leaves(required), jax.tree_util.tree_leaves(got), strict=True)
        for one, other in ((np.asarray(one), np.asarray(other)) for one, other in pairs):
            assert (one.dtype, one.shape) == (other.dtype, other.shape), (draw, seed)
            np.testing.assert_allclose(other, one, rtol=2e-5, atol=1e-4, err_msg=f"{draw.__name__}, seed {seed}")
        compared += 1
    assert compared > len(seeds) / 2


@pytest.mark.full
def test_operations_with_drawn_dimensions() -> None:
    """Operations with drawn shapes, dimension numbers and options compute what JAX computes."""
    check_operations(range(20))


@pytest.mark.heavy
def test_many_operations_with_drawn_dimensions() -> None:
    """The same, for 1,000."""
    check_operations(range(20, 1020))


@pytest.mark.full
@pytest.mark.parametrize("x", [np.float32(3), np.array([3], np.float32)], ids=["scalar", "vector"])
def test_scatter_with_empty_index_vectors(x: Any) -> None:
    """Every update counts, as in StableHLO's interpreter; XLA's CPU backend applies the last one only, or fails."""
    axes = tuple(range(np.ndim(x)))
    numbers = lax.ScatterDimensionNumbers((), inserted_window_dims=axes, scatter_dims_to_operand_dims=())
    places, updates = np.zeros((4, 0), np.int32), np.array([-1, 2, 5, -3], np.float32)
    text = jax.jit(lambda x, u: lax.scatter_mul(x, places, u, numbers)).lower(x, updates).as_text()
    np.testing.assert_array_equal(np.asarray(tl.from_stablehlo(text)(x, updates)), x * 30, strict=True)


@pytest.mark.full
def test_gradients() -> None:
    """tagloom differentiates an imported function as JAX differentiates the original."""

    def loss(x):
        return lax.fori_loop(0, 3, lambda _, y: jnp.tanh(y) * 1.5, x).sum()

    check_agrees(jax.grad(lambda x: lax.scan(lambda y, _: (jnp.tanh(y) * 1.5, 0), x, None, 3)[0].sum())(V),
                 tl.grad(tl.from_jax(loss, V))(V))  # fmt: skip


def from_text(text: str) -> tl.Function:
    """The function of a text, which is parsed in this process: that is quicker, and the text is ours."""
    return module_function(read_module(parse(text.encode())))


def static_cases(seed: int) -> Iterator[tuple[FuzzCase, str]]:
    """Generated programs that StableHLO can say, with their texts."""
    for number in itertools.count():
        generated = FuzzWriter(Random(f"{seed}:{number}")).write_case()
        try:
            yield generated, to_stablehlo(generated.program)
        except Refusal:
            continue


def check_round_trips(count: int, seed: int) -> None:
    """Raises where a program that was exported and imported has another outcome."""
    ran = 0
    for (program, arguments), text in itertools.islice(static_cases(seed), count):
        expected = evaluate(program, arguments, max_steps=500, max_depth=100).results
        if expected is None:
            continue
        ran += 1
        imported = from_text(text)
        value = imported.run(*arguments, engine="reference").value
        results = value if isinstance(value, tuple) else (value,)
        for one, other in zip(expected, results, strict=True):
            one, other = np.asarray(one), np.asarray(other)
            assert (one.dtype, one.shape) == (other.dtype, other.shape), text
            np.testing.assert_allclose(other, one, rtol=1e-6, err_msg=text)
    assert ran > count // 2


@pytest.mark.full
def test_round_trips() -> None:
    """A generated program, exported and imported again, has the same outcome."""
    check_round_trips(10, 3)


@pytest.mark.heavy
def test_many_round_trips() -> None:
    """The same, for 500 programs."""
    check_round_trips(500, 4)


@pytest.mark.full
def test_commands(tmp_path: Path) -> None:
    """A module runs, is shown, checked, played and debugged by its file."""
    file = tmp_path / "collatz.mlir"
    file.write_bytes(TEXT.read_bytes())
    assert run_words(["run", str(file), "6"]).out == "int32(8)\nint32(41)\n"
    assert tl.from_stablehlo(file)(6) == tl.from_stablehlo(str(file))(6) == (8, 41)
    with pytest.raises(tl.Usage, match="cannot be read"):
        tl.from_stablehlo("none.mlir")
    shown = run_words(["show", str(file), "--form", "program"])
    assert shown.code == 0 and "while_loop" in shown.out
    assert "agrees" in run_words(["check", str(file), "3"]).out
    page = tmp_path / "page.html"
    assert run_words(["play", str(file), "3", "-o", str(page)]).code == 0 and page.stat().st_size > 10_000
    stepped = run_words(["debug", str(file), "3", "--headless"], ["break op == 'call'", "continue", "where"])
    assert "%next = func.call @step(%m)" in stepped.out


@pytest.mark.full
def test_bytecode_and_names_of_jax() -> None:
    """Bytecode is read as text is. The names that JAX gives to operations are scopes, those of arguments parameters."""
    from jax import export

    def layer(x, w):
        with jax.named_scope("dense"):
            return jnp.tanh(x @ w)

    exported = export.export(jax.jit(layer))(X, floats(4, 5)).mlir_module_serialized
    imported = tl.from_stablehlo(bytes(exported))
    check_agrees(layer(X, floats(4, 5)), imported.run(X, floats(4, 5)).value)
    assert [variable.name for variable in imported.program.main.body.parameters] == ["x", "w"]
    node = next(node for node in imported.program.main.body.nodes if node.op == "tanh")
    assert [entry.name for entry in node.location.scopes] == ["dense", "tanh"]


@pytest.mark.full
def test_python_functions_are_scopes() -> None:
    """The Python functions that the imported function calls are scopes, each call of its own; the function itself and
    those that called it are not."""

    def norm(x):
        return x - jnp.mean(x)

    def block(x):
        return norm(jnp.exp(norm(x))) * 2.0

    imported = tl.from_jax(lambda x: block(jnp.tanh(x)), X)
    paths = [[entry.name for entry in node.location.scopes] for node in imported.program.main.body.nodes]
    assert all(path[0] == "block" for path in paths if path[-1] != "tanh" and path != ["return"])
    assert ["block", "norm", "sub"] in paths and ["block", "exp"] in paths and ["tanh"] in paths
    titles = [cluster.title for cluster in graph_view(imported.graph).root.walk() if cluster.kind == "scope"]
    assert titles.count("norm") == 2 and titles.count("block") == 1


@pytest.mark.full
def test_lines_of_python() -> None:
    """An operation is at the expression of Python that traced it, in the functions that JAX traced; what JAX's own
    functions compute is in the text of the module. The setting of JAX that this needs is as before."""

    @jax.jit
    def norm(x):
        return x / jnp.sqrt(x)

    def iterate(n, x):
        step = lambda s: (s[0] - 1, jnp.sin(norm(s[1])) + x)  # noqa: E731
        with jax.named_scope("repetition"):
            return lax.while_loop(lambda s: s[0] > 0, step, (n, x))[1]

    def model(n, x):
        return iterate(n // 2, jnp.cos(x))

    limit = jax.config.jax_traceback_in_locations_limit
    imported = tl.from_jax(model, 6, np.float32(1))
    assert jax.config.jax_traceback_in_locations_limit == limit
    found = {}
    for node in (node for function in imported.program.functions for node in function.body.walk()):
        if node.location.file == __file__:
            span, line = node.location.span, local_line(node.location)
            calls = [(entry.name, local_line(entry.location).strip()[:12]) for entry in node.location.scopes]
            found[node.op] = line[span.column : span.end_column], calls
    in_loop = [("iterate", "return itera"), ("repetition", "return lax.w")]
    assert found["cos"] == ("jnp.cos(x)", [("cos", "return itera")])
    assert found["while_loop"] == ("lax.while_loop(lambda s: s[0] > 0, step, (n, x))", in_loop)
    assert found["sin"] == ("jnp.sin(norm(s[1]))", [*in_loop, ("sin", "step = lambd")])
    assert found["sqrt"] == ("jnp.sqrt(x)", [("sqrt", "return x / j")])
    division = imported.program["floor_divide"].body.nodes[0]
    assert division.location.file == "model.mlir" and "stablehlo" in local_line(division.location)


@pytest.mark.full
def test_locations_without_source() -> None:
    """A function whose source is not known has the lines of the module's text, and the same scopes."""
    namespace: dict[str, Any] = {"jnp": jnp}
    exec(
        compile("def half(x):\n    return x / 2\ndef f(x):\n    return half(jnp.sin(x))\n", "<text>", "exec"), namespace
    )
    nodes = tl.from_jax(namespace["f"], 1.0).program.main.body.nodes
    assert all(node.location.file.endswith(".mlir") for node in nodes)
    assert [[entry.name for entry in node.location.scopes] for node in nodes] == [["sin"], ["half", "div"]]


@pytest.mark.heavy
def test_functions_of_tensorflow() -> None:
    """TensorFlow gives the StableHLO that XLA gets, and its loops are loops."""
    tensorflow = pytest.importorskip("tensorflow")

    def grow(x, n):
        k = 0
        while k < n:
            x = tensorflow.tanh(x) * 2.0 + tensorflow.cast(k, tensorflow.float32)
            k += 1
        return x

    arguments = tensorflow.ones(3), tensorflow.constant(3)
    function = tensorflow.function(grow, jit_compile=True)
    text = function.experimental_get_compiler_ir(*arguments)(stage="stablehlo")
    imported = tl.from_stablehlo(text)
    value = imported.run(np.ones(3, np.float32), 3, engine="reference").value
    np.testing.assert_allclose(value, function(*arguments).numpy(), rtol=1e-6)
    ops = [node.op for each in imported.program.functions for node in each.body.walk()]
    assert ops.count("while_loop") == 1


def damage(text: str, dice: Random) -> str:
    """A text, cut off, or with a part removed, repeated or changed."""
    start = dice.randrange(len(text))
    match dice.randrange(4):
        case 0:
            return text[:start]
        case 1:
            return text[:start] + text[start + dice.randrange(1, 20) :]
        case 2:
            return text[:start] + text[start : start + 30] + text[start:]
    words = text.split(" ")
    words[dice.randrange(len(words))] = dice.choice(words)
    return " ".join(words)


PARSE_ALL = """
import base64, json, sys
from parse import limit_resources, parse
limit_resources(0)
for text in json.load(sys.stdin):
    try:
        print(json.dumps(parse(base64.b64decode(text))), flush=True)
    except Exception as error:
        print(json.dumps(type(error).__name__), flush=True)
"""


def parse_apart(contents: list[bytes]) -> tuple[list[Any], str]:
    """What the parser says of contents, in one process: a document of each, or the class of its error. If it crashes on
    one, those before and its last words."""
    command = [sys.executable, "-c", PARSE_ALL]
    folder = str(Path(parse_file).parent)
    options: dict[str, Any] = {"env": {**os.environ, "PYTHONPATH": folder}, "timeout": 1200, "errors": "replace"}
    texts = json.dumps([base64.b64encode(content).decode() for content in contents])
    ran = subprocess.run(command, input=texts, capture_output=True, text=True, **options)
    lines = [line for line in ran.stdout.splitlines() if line]
    assert ran.returncode or len(lines) == len(contents)
    return list(map(json.loads, lines)), ran.stderr


def ending_of(parsed: Any, argument: Any) -> str:
    """What becomes of a module that the parser has read; raises where that is no error of ours."""
    if isinstance(parsed, str):
        return parsed
    try:
        imported = module_function(read_module(parsed))
        return str(imported.run(argument, engine="reference", limits=tl.Limits(firings=2_000)).status)
    except tl.TagloomError as error:
        assert not isinstance(error, tl.Crash), error
        return type(error).__name__


def check_damaged(count: int, seed: int) -> None:
    """Raises where a damaged text crashes the parser, or raises something that is no error of ours."""
    dice, text = random.Random(seed), TEXT.read_text()
    texts = [damage(text, dice) for _ in range(count)]
    documents, errors = parse_apart([each.encode() for each in texts])
    assert len(documents) == count, f"the parser crashes on {texts[len(documents)]}\n{errors}"
    assert len({ending_of(document, 6) for document in documents}) > 1


def check_damaged_bytecode(count: int, seed: int) -> Counter[str]:
    """Raises where damaged bytecode raises something that is no error of ours; returns the number of each ending. The
    reader of MLIR may crash: that ends its process, and the import with an error."""
    from jax import export

    dice, ends = random.Random(seed), Counter[str]()
    function = jax.jit(lambda n: lax.while_loop(lambda c: c[0] > 1, lambda c: (c[0] // 2, c[1] + c[0]), (n, 0)))
    content = bytes(export.export(function)(np.int32(0)).mlir_module_serialized)
    pending = [damage_bytes(content, dice) for _ in range(count)]
    while pending:
        documents, _ = parse_apart(pending)
        for document in documents:
            ends[ending_of(document, np.int32(6))] += 1
        if len(documents) < len(pending):
            ends["crash"] += 1
            if ends["crash"] == 1:
                with pytest.raises(tl.Malformed, match="not a module of StableHLO"):
                    tl.from_stablehlo(pending[len(documents)])
        pending = pending[len(documents) + 1 :]
    return ends


def damage_bytes(content: bytes, dice: Random) -> bytes:
    """Bytes with some changed, or cut off behind a place."""
    damaged = bytearray(content)
    if dice.random() < 0.2:
        return bytes(damaged[: dice.randrange(4, len(damaged))])
    for _ in range(dice.choice((1, 1, 4))):
        damaged[dice.randrange(4, len(damaged))] = dice.randrange(256)
    return bytes(damaged)


@pytest.mark.full
def test_damaged_texts(tmp_path: Path) -> None:
    """A damaged text runs, or is refused by an error of ours, which says where; so is one from a file, at the command
    line."""
    check_damaged(40, 1)
    with pytest.raises(tl.Malformed, match="expected operation name"):
        tl.from_stablehlo("module {")
    file = tmp_path / "damaged.mlir"
    for content in (b"", b"\xff\xfe", TEXT.read_bytes()[:900], b"ML\xefR" + TEXT.read_bytes()):
        file.write_bytes(content)
        result = run_words(["show", str(file)])
        assert not result.raised and "Traceback" not in result.err and result.code in (1, 2)


@pytest.mark.heavy
def test_many_damaged_texts() -> None:
    """The same, for 2,000 texts."""
    check_damaged(2_000, 2)


@pytest.mark.full
def test_damaged_bytecode() -> None:
    """Damaged bytecode runs, or is refused by an error of ours."""
    assert len(check_damaged_bytecode(30, 1)) > 1


@pytest.mark.heavy
@pytest.mark.timeout(7200)
def test_much_damaged_bytecode() -> None:
    """The same, for 2,000 modules."""
    assert check_damaged_bytecode(2_000, 2)["Returned"]


@pytest.mark.full
def test_a_function_of_a_file(tmp_path: Path) -> None:
    """An imported function counts as defined where the function of JAX is, so that commands find it."""
    file = tmp_path / "squares.py"
    file.write_text("import tagloom as tl\n\n\ndef square(x):\n    return x * x\n\n\nmain = tl.from_jax(square, 1.0)\n")
    assert run_words(["run", str(file), "3"]).out == "float32(9.0)\n"
    shown = run_words(["show", str(file), "--form", "program"])
    assert "multiply x, x" in shown.out


@pytest.mark.parametrize(
    "line, words",
    [
        ("%y = stablehlo.custom_call @code(%x) : (tensor<2xf32>) -> tensor<2xf32>", "a call of code"),
        ("%y = chlo.bessel_i1e %x : tensor<2xf32> -> tensor<2xf32>", "no operation chlo.bessel_i1e"),
        ("%z = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xf8E4M3FN>\n"
         "%y = stablehlo.convert %z : (tensor<2xf8E4M3FN>) -> tensor<2xf32>", "no values of MLIR's type f8E4M3FN"),
        ("%z = stablehlo.constant dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>\n"
         "%y = stablehlo.real %z : (tensor<2xcomplex<f32>>) -> tensor<2xf32>", "no values of MLIR's type complex"),
    ],
)  # fmt: skip
@pytest.mark.full
def test_refusals(line: str, words: str) -> None:
    """What tagloom lacks is refused by its name, with its line."""
    text = f"func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{\n{line}\nreturn %y : tensor<2xf32>\n}}"
    with pytest.raises(tl.Usage, match=words) as raised:
        from_text(text).program  # noqa: B018
    assert re.search(r"\(main(_\d+)?\.mlir:2\)", str(raised.value))


@pytest.mark.full
@pytest.mark.parametrize(
    "element, words", [("?xf32", "known only at run time"), ("complex<f32>", "no values of MLIR's type complex")]
)
def test_refused_parameters(element: str, words: str) -> None:
    """A parameter of a type that tagloom lacks is refused with the line of its function."""
    text = f"\nfunc.func @main(%x: tensor<{element}>) -> tensor<{element}> {{\nreturn %x : tensor<{element}>\n}}"
    with pytest.raises(tl.Usage, match=words) as raised:
        from_text(text)
    assert re.search(r"\(main(_\d+)?\.mlir:2\)", str(raised.value))


@pytest.mark.full
def test_a_recursive_function() -> None:
    """MLIR does not forbid recursion, and tagloom has it."""
    text = """func.func @main(%n: tensor<i32>) -> tensor<i32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %stops = stablehlo.compare LE, %n, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %y = "stablehlo.if"(%stops) ({
        stablehlo.return %one : tensor<i32>
      }, {
        %m = stablehlo.subtract %n, %one : tensor<i32>
        %f = func.call @main(%m) : (tensor<i32>) -> tensor<i32>
        %p = stablehlo.multiply %n, %f : tensor<i32>
        stablehlo.return %p : tensor<i32>
      }) : (tensor<i1>) -> tensor<i32>
      return %y : tensor<i32>
    }"""
    assert from_text(text).run(5, engine="reference").value == 120


@pytest.mark.full
def test_hostile_modules() -> None:
    """A constant beyond all memory is not made before the run; what crashes the parser crashes its process only."""
    text = """func.func @main() -> tensor<i32> {
      %big = stablehlo.constant dense<1> : tensor<1000000x1000000xi32>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %y = stablehlo.reduce(%big init: %zero) applies stablehlo.add across dimensions = [0, 1] : \
(tensor<1000000x1000000xi32>, tensor<i32>) -> tensor<i32>
      return %y : tensor<i32>
    }"""
    imported = from_text(text)
    assert imported.program.main.results[0].shape == ()
    nested = "module {" * 50_000
    with pytest.raises(tl.Malformed, match="not a module of StableHLO"):
        tl.from_stablehlo(nested)


@pytest.mark.full
def test_a_transformer_with_a_decoding_loop() -> None:
    """The model of the docs sorts digits: it reads its own tokens until the end token."""
    sort_digits = tl.from_stablehlo(MODEL)
    for digits in ([3, 1, 7, 1], [0, 5, 2, 4]):
        value = sort_digits.run(np.array(digits, np.int32), engine="reference").value
        assert value.tolist() == [*sorted(digits), 9]
    nodes = [node for function in sort_digits.program.functions for node in function.body.walk()]
    assert [node.op for node in nodes].count("while_loop") == 1
    scopes = {entry.name for node in nodes for entry in getattr(node.location, "scopes", ())}
    assert {"embed", "attention", "mlp", "head"} <= scopes
