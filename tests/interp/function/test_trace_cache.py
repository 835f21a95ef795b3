"""The traces of a function in its cache, and the messages about them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.interp.function import function


def test_each_difference_is_named() -> None:
    """A new trace names its difference from the nearest earlier one: dtype, shape, structure, text, object."""

    class Model:
        name = "net"

    @tl.function
    def f(x, how, model):  # type: ignore[no-untyped-def]
        return (x["a"] if isinstance(x, dict) else x) * 2

    one, other = Model(), Model()
    f(np.ones((3, 4)), "train", one)
    f(np.ones((3, 4)), "train", one)
    f(np.ones((5, 4)), "train", one)
    f(np.ones((5, 4), np.float32), "train", one)
    f(np.ones((5, 4), np.float32), "eval", one)
    f(np.ones((5, 4), np.float32), "eval", other)
    f({"a": 1.0}, "eval", other)
    assert f.explain().splitlines() == [
        "f: 6 specializations",
        "  1. (float64[3, 4], 'train', <Model net>)",
        "     the first call",
        "  2. (float64[5, 4], 'train', <Model net>)",
        "     unlike 1: x has shape (5, 4), and not (3, 4)",
        "  3. (float32[5, 4], 'train', <Model net>)",
        "     unlike 2: x was float64, and is float32",
        "  4. (float32[5, 4], 'eval', <Model net>)",
        "     unlike 3: how was 'train', and is 'eval'",
        "  5. (float32[5, 4], 'eval', <Model net>)",
        "     unlike 4: model is a different <Model net>",
        "  6. ({a: float64}, 'eval', <Model net>)",
        "     unlike 5: x nests as {a: float64}, and not as float32[5, 4]",
    ]


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ((1, 2), 1),
        ((1, 1.0, True, np.int64(1), np.ones((), np.int64)), 3),
        ((1.0, np.float64(1.0), np.float32(1.0), tl.asarray(1.0)), 2),
        ((np.ones(2), tl.ones(2), np.ones(2, np.float32), tl.ones(3)), 3),
    ],
)
def test_later_calls_find_the_trace_of_their_types(values: tuple[Any, ...], count: int) -> None:
    """A call finds the trace of its types, whatever the classes of its arrays and numbers, and adds none; its result
    does not depend on whether another call has come before."""
    f = tl.function(lambda x: x + x)
    rounds = [[f(value) for value in values] for _ in range(3)]
    assert all(repr(later) == repr(rounds[0]) for later in rounds)
    assert f.explain().startswith(f"<lambda>: {count} specialization")


def test_an_integer_beyond_int64_is_refused_by_every_call() -> None:
    """The first call of a function and later ones refuse an integer beyond int64 by the same error."""

    def successor(n: Any) -> Any:
        return n + 1

    fresh, warm = tl.function(successor), tl.function(successor)
    warm(1), warm(2)
    messages = []
    for f in (fresh, warm):
        with pytest.raises(OverflowError) as caught:
            f(2**63)
        messages.append(str(caught.value))
    assert messages[0] == messages[1] and "argument n of successor" in messages[0]


def test_the_nearest_trace_differs_least() -> None:
    """The nearest trace differs in the fewest respects: in dtype or shape, rather than in both."""
    f = tl.function(lambda x: tl.sum(x))
    for sizes, dtype in (((2,), np.float64), ((2,), np.float32), ((3,), np.float64), ((4,), np.int64)):
        f(np.ones(sizes, dtype))
    assert [line.strip() for line in f.explain().splitlines() if "unlike" in line] == [
        "unlike 1: x was float64, and is float32",
        "unlike 1: x has shape (3,), and not (2,)",
        "unlike 3: x was float64, and is int64; x has shape (4,), and not (3,)",
    ]


def test_shapes_are_relaxed() -> None:
    """Arguments that differ in sizes share one program from the second size on; another rank or dtype has its own."""

    @tl.function(relax_shapes=True)
    def total(x):  # type: ignore[no-untyped-def]
        return tl.sum(x)

    actual = [float(total(np.ones(shape))) for shape in ((2, 3), (4, 3), (9, 3), (2, 3), (2, 5), (7, 8), (3,))]
    assert actual == [6.0, 12.0, 27.0, 6.0, 10.0, 56.0, 3.0]
    reply = total.explain()
    assert reply.startswith("total: 4 specializations") and "shapes are relaxed to (float64[?, 3])" in reply
    assert "(float64[?, ?])" in reply


def test_a_bounded_cache() -> None:
    """The least recently used trace is evicted with a message, and made again on demand."""

    @tl.function(maximum_specializations=2)
    def f(x):  # type: ignore[no-untyped-def]
        return x + 1

    for size in (1, 2, 1, 3):
        f(np.ones(size))
    reply = f.explain()
    assert "2 specializations, 1 dropped: no more than 2 are kept" in reply and "(float64[2])" not in reply
    assert np.asarray(f(np.ones(2))).tolist() == [2.0, 2.0]


def test_a_signature_makes_one_program() -> None:
    """With an input signature, arguments that do not fit are refused, and never traced."""

    @tl.function(input_signature=[tl.Array[tl.float64, None], tl.int64])
    def f(x, n):  # type: ignore[no-untyped-def]
        return tl.sum(x) * tl.astype(n, tl.float64)

    assert f(np.ones(3), 2) == 6.0 and f(np.ones(5), 1) == 5.0
    with pytest.raises(tl.Usage, match="wrong type"):
        f(np.ones((2, 2)), 1)
    assert f.explain().startswith("f: 1 specialization")
    with pytest.raises(tl.Usage, match="the signature of <lambda> has the wrong length"):
        tl.function(input_signature=[tl.int64])(lambda: 1)()


def test_static_parameters() -> None:
    """`tl.Static` takes Python numbers and flags: each value has its own program, without the branches not taken."""

    @tl.function
    def f(x: tl.float64, training: tl.Static, times: tl.Static):  # type: ignore[no-untyped-def]
        for _ in range(times):
            x = x * 2.0 if training else x + 1.0
        return x

    assert (f(1.0, True, 3), f(1.0, False, 3), f(1.0, True, 1)) == (8.0, 4.0, 2.0)
    assert [node.op for node in f.trace(1.0, False, 2).program.main.body.nodes] == ["add", "add"]
    assert "training was True, and is False" in f.explain()


def test_each_instance_has_its_own_function() -> None:
    """Each instance has its own function, which recursion finds again."""

    class Tree:
        def __init__(self, base: float) -> None:
            self.base = base

        @tl.function
        def power(self, n: tl.int64) -> tl.float64:
            return tl.cond(n <= 0, lambda: 1.0, lambda: self.base * self.power(n - 1))

    two, three = Tree(2.0), Tree(3.0)
    assert (two.power(5), three.power(2), two.power.run(3).value) == (32.0, 9.0, 8.0)
    assert two.power is two.power and len(two.power.program.functions) == 1


def test_closures_are_arguments() -> None:
    """A concrete array that a function closes over is in its program by name, whatever its size, and is
    differentiated."""
    table = tl.asarray(np.arange(10_000.0))
    f = tl.function(lambda i: tl.take(table, i))
    assert float(f(7)) == 7.0
    assert [name for name, _ in f.trace(7).program.main.body.parameters] == ["i", "table"]
    inner = tl.function(lambda x: x * table[1])
    outer = tl.function(lambda x: tl.while_loop(lambda k, y: k < 3, lambda k, y: (k + 1, inner(y) + table[2]), 0, x)[1])
    assert float(outer(1.0)) == 7.0
    with tl.Tape() as tape:
        tape.watch(table)
        y = outer(1.0)
    assert np.asarray(tape.gradient(y, table))[:3].tolist() == [0.0, 9.0, 3.0]


@pytest.mark.full
def test_symbolic_closures() -> None:
    """An inner function closes over the traced values around it, with recursion and gradients."""

    @tl.function
    def f(x: tl.float64) -> tl.float64:
        scaled = tl.function(lambda w: w * x * x)

        @tl.function
        def power(n):  # type: ignore[no-untyped-def]
            return tl.cond(n <= 0, lambda: x, lambda: power(n - 1) * x)

        looped = tl.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + scaled(y)), 0, x)[1]
        return tl.grad(scaled)(3.0) + looped + power(2)

    def plain(x: float) -> float:
        return x**2 + x * (1 + x * x) ** 3 + x**3

    assert f(2.0) == plain(2.0)
    slope = (plain(2.0 + 1e-6) - plain(2.0 - 1e-6)) / 2e-6
    assert abs(tl.grad(f)(2.0) - slope) < 1e-6 * slope
    assert [run.value for engine in ("fast", "compiled") if (run := f.run(2.0, engine=engine))] == [plain(2.0)] * 2


def test_concurrent_steps_are_consistent() -> None:
    """Concurrent steps over one variable each return consistent results."""
    from concurrent.futures import ThreadPoolExecutor

    w = tl.Variable(np.zeros(3), name="w")

    @tl.function
    def step(x):  # type: ignore[no-untyped-def]
        w.assign(tl.full((3,), 1.0) * x)
        return tl.sum(w)

    def one(k: int) -> Any:
        return float(step(float(k)))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(24))) == [3.0 * k for k in range(24)]
    assert len(set(np.asarray(w).tolist())) == 1


def test_methods_belong_to_class_and_instance(tmp_path: Path) -> None:
    """Methods of one name are distinct: in two classes, overridden, on copies of an instance, and after a
    checkpoint."""

    class One:
        f = tl.function(lambda self, x: x + 1.0)
        g = tl.function(lambda self, x: x * self.by)
        by = 10.0

        @tl.function
        def named(self, x):  # type: ignore[no-untyped-def]
            return x * self.by

    class Two(One):
        @tl.function
        def named(self, x):  # type: ignore[no-untyped-def]
            return super().named(x) + 1.0

    one, two = One(), Two()
    assert (one.f(3.0), one.g(3.0), two.named(2.0)) == (4.0, 30.0, 21.0)
    for other in (copy.copy(one), copy.deepcopy(one)):
        other.by = 100.0
        assert (other.g(2.0), one.g(2.0)) == (200.0, 20.0)
    one.w = tl.Variable(1.0)  # type: ignore[attr-defined]
    tl.Checkpoint(one=one).save(tmp_path / "one.safetensors")
    assert tl.Checkpoint(one=one).restore(tmp_path / "one.safetensors").restored == ("one.w",)


def test_equal_static_values_share_a_program() -> None:
    """Equal static values share a program: tuples, enums and NumPy numbers too; 0.0 and -0.0 are different, and NaN is
    one value."""

    @tl.function
    def f(x: tl.float64, how: tl.Static):  # type: ignore[no-untyped-def]
        return x * (how if isinstance(how, float) else 1.0)

    for how in ((0, (1, "a")), (0, (1, "a")), np.int64(3), np.int64(3), 0.0, -0.0, float("nan"), float("nan")):
        f(1.0, how)
    assert f.explain().startswith("f: 5 specializations")
    assert np.signbit(f(1.0, -0.0)) and not np.signbit(f(1.0, 0.0))


def _repeated_results() -> None:
    """The results of calls with arrays, the first time and the second."""

    @tl.function
    def f(x: tl.Array[tl.float64, None], y):  # type: ignore[no-untyped-def]
        return x + y

    @tl.function
    def g(x, how: tl.Static):  # type: ignore[no-untyped-def]
        return x * float(how[0])

    ones, halves, thirds = np.ones(2), np.array([0.5]), np.array([1 / 3])
    for _ in range(2):
        assert np.asarray(f(ones, ones)).tolist() == [2.0, 2.0]
        assert np.asarray(f(ones, np.ones((3, 2)))).shape == (3, 2)
        assert np.asarray(f(ones, np.ones(2, np.float32))).tolist() == [2.0, 2.0]
        assert [float(g(ones, how)[0]) for how in (halves, thirds)] == [0.5, 1 / 3]
        with pytest.raises(tl.Usage, match="wrong type"):
            f(np.ones((2, 2)), ones)
        with pytest.raises(tl.Usage, match="takes 2 arguments"):
            f(ones)
    assert f.explain().startswith("f: 3 specializations") and g.explain().startswith("g: 2 specializations")


def test_dtype_and_shape_select_the_trace() -> None:
    """A second call acts as the first: refusals are repeated, and a static array is compared by identity."""
    _repeated_results()


def test_incomplete_keys_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin whose keys omit the dtype or the shape is caught."""
    for key in (lambda given: tuple(each.shape for each in given), lambda given: tuple(each.dtype for each in given)):
        monkeypatch.setattr(function, "_short_key", key)
        with pytest.raises((AssertionError, tl.Usage)):
            _repeated_results()
