"""Futures: a run whose firings are computed in batches agrees with the reference, and the laws catch broken batches."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch
from support.generators.effect_programs import Witness, act_cases
from support.generators.generator import Case, cases
from support.laws.fast_laws import SCHEDULES, comparable_fields, option_violations, run_fast, violations
from support.twins.broken_twin import Break, broken
from tagloom.core.graph.lower import lower
from tagloom.core.ops.op import OPS
from tagloom.core.types import Type
from tagloom.interp.engines.fast import futures, run
from tagloom.interp.engines.fast.futures import FuturePlan, Futures, Pools, Signature, firing_cost
from tagloom.interp.engines.fast.host_firings import HostFirings
from tagloom.interp.engines.fast.layout import FutureColumn, Register
from tagloom.interp.engines.fast.store import TokenStore
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.long_ops import OpAbandoned
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.image.image import cached_image

WIDTH = 4
ROW = tl.Array[tl.float32, WIDTH]


@tl.function
def leaf_or_pair(n: tl.int64, x: ROW, w: tl.Array[tl.float32, WIDTH, WIDTH], words: tl.Array[tl.float32, 3, WIDTH]):  # type: ignore[no-untyped-def,valid-type]
    """The state of a node of a full tree: of a word, or of two children."""

    def pair() -> Any:
        left = leaf_or_pair(n - 1, x + 1.0, w, words)
        right = leaf_or_pair(n - 1, x * 0.5, w, words)
        return tl.tanh((left + right) @ w) + x

    return tl.cond(n <= 0, lambda: tl.take(words, n % 3, axis=0) * x, pair)


@tl.function
def slope(n: tl.int64, x: ROW, w: tl.Array[tl.float32, WIDTH, WIDTH], words: tl.Array[tl.float32, 3, WIDTH]):  # type: ignore[no-untyped-def,valid-type]
    """The loss of a tree, and its gradients."""
    return tl.value_and_grad(lambda x, w, words: tl.sum(leaf_or_pair(n, x, w, words)), argnums=(0, 1, 2))(x, w, words)


def tree_arguments(depth: int) -> list[Any]:
    draw = np.random.default_rng(3)
    return [depth, *(draw.standard_normal(shape).astype(np.float32) for shape in ((4,), (4, 4), (3, 4)))]


TREE = Case(slope.program, tree_arguments(5))


@pytest.fixture
def small_batches(monkeypatch: MonkeyPatch) -> None:
    """Batches of any number of firings, so that small programs have some."""
    batch_everything(monkeypatch)


def batch_everything(patch: MonkeyPatch) -> None:
    patch.setattr(run, "MIN_HOST_FIRINGS", 1)
    patch.setattr(futures, "MIN_BATCHED_FUTURES", 1)
    patch.setattr(futures, "MIN_BATCH_FIRINGS", 2)


def tree_violations(case: Case) -> list[str]:
    """How runs of a program differ from the reference's, under all schedules."""
    graph, differences = lower(case.program), list[str]()
    for name in SCHEDULES:
        expected = comparable_fields(run_graph(graph, case.arguments, schedule=name, world=Witness()))
        actual = comparable_fields(run_fast(graph, case.arguments, name, Limits(), Witness()))
        differences += [f"{name}: {key}" for key, value in expected.items() if actual[key] != value]
    return differences


@pytest.mark.full
def test_a_tree_has_the_reference_results() -> None:
    """A recursion over a tree, and its gradients, has the reference's results to the bit, its firings by node, critical
    path, profile and store, under every schedule."""
    assert tree_violations(TREE) == []


@tl.function
def large_sums(n: tl.int64, x: tl.Array[tl.float64, 100], y: tl.Array[tl.float64, 60]) -> Any:  # type: ignore[valid-type]
    """Sums of products of 6,000 elements, some of which are equal."""
    row = tl.reshape(y, (1, 60))

    def step(i: Any, x: Any, total: Any, last: Any) -> Any:
        column = tl.reshape(x, (100, 1))
        product, equal = tl.matmul(column, row), tl.matmul(column, row)
        other = tl.matmul(column * y[0], row)
        return i + 1, x + 1.0, total + product + equal + other, last + product[i % 3]

    return tl.while_loop(lambda i, *_: i < n, step, 0, x, tl.zeros((100, 60)), tl.zeros(60))


LARGE = Case(large_sums.program, [9, np.linspace(-1.0, 1.0, 100), np.linspace(0.0, 2.0, 60)])

SIX = [tl.Array[dtype, 6] for dtype in (tl.bool, tl.uint8, tl.int64, tl.uint64, tl.float32, tl.float64)]
BOOLS, BYTES, INTEGERS, UNSIGNED, SINGLES, DOUBLES = SIX


@tl.function
def elements(n: tl.int64, b: BOOLS, u8: BYTES, i64: INTEGERS, u64: UNSIGNED, f32: SINGLES, f64: DOUBLES) -> tl.float64:  # type: ignore[valid-type]
    """Sums of elements of arrays, at indices from -3 to 6: of arguments, and of arrays that the run computes."""

    def step(i: Any, total: Any) -> Any:
        index = i % 10 - 3
        own = tl.take(f64 * tl.astype(i, tl.float64), tl.take(u8, abs(index)))
        return i + 1, total + own + sum(tl.astype(tl.take(x, index), tl.float64) for x in (b, u8, i64, u64, f32, f64))

    return tl.while_loop(lambda i, total: i < n, step, 0, 0.0)[1]


NUMBERS = [0.0, 1.0, 2.0, 3.0, 0.0, 5.0]
ELEMENTS = [np.array(NUMBERS).astype(type_.dtype.numpy) for type_ in SIX]


def element_violations() -> list[str]:
    """The same of a program that takes elements: to its end, and to a trap."""
    return [each for trips in (9, 20) for each in tree_violations(Case(elements.program, [trips, *ELEMENTS]))]


@pytest.mark.full
def test_elements(small_batches: None) -> None:
    """The machine takes elements of arrays of every kind, and leaves indices that count from the end, and traps, to
    Python."""
    assert element_violations() == []
    fired = list[str]()
    with MonkeyPatch.context() as patch:
        true_fire = HostFirings.fire
        patch.setattr(
            HostFirings, "fire", lambda self, d: (fired.append(self.rules[d.node].node.op), true_fire(self, d))[1]
        )
        assert elements.run(9, *ELEMENTS, engine="fast").status == "Returned"
    assert fired.count("take") == 6 * 3 + 9  # each array at indices from -3 to -1, and the new arrays


@pytest.mark.full
def test_large_arrays(small_batches: None) -> None:
    """Large arrays, which are computed when they are needed, and some of which are equal."""
    assert tree_violations(LARGE) == []


def count_batches(depth: int) -> tuple[int, int, list[int]]:
    """The firings that are computed, the batches, and the futures of each computation, of the tree of this depth."""
    computed, batches, sizes = 0, 0, list[int]()
    with MonkeyPatch.context() as patch:
        one_batch, some_alone, compute = Pools.compute_batch, Pools.compute_one_by_one, Futures.compute

        def count_batch(self: Pools, signature: Signature, first: int, last: int) -> bool:
            nonlocal computed, batches
            is_batch = one_batch(self, signature, first, last)
            computed, batches = computed + is_batch * (last - first), batches + is_batch
            return is_batch

        def count_alone(self: Pools, signature: Signature, first: int, last: int) -> None:
            nonlocal computed
            computed += last - first
            some_alone(self, signature, first, last)

        def count_futures(self: Futures) -> None:
            sizes.append(int(self._store.registers[Register.FUTURES]))
            compute(self)

        patch.setattr(Pools, "compute_batch", count_batch)
        patch.setattr(Pools, "compute_one_by_one", count_alone)
        patch.setattr(Futures, "compute", count_futures)
        outcome = leaf_or_pair.run(*tree_arguments(depth), engine="fast", schedule="waves")
    assert outcome.status == "Returned"
    return computed, batches, [size for size in sizes if size]


@pytest.mark.full
def test_a_level_of_a_tree_is_a_batch(small_batches: None) -> None:
    """Of a full tree of depth 6, with 64 leaves, the values are computed once, at the end: the operands of all nodes
    first, then level by level. The number of batches grows with the depth, that of firings with the size."""
    firings, batches, sizes = count_batches(6)
    more_firings, more_batches, _ = count_batches(7)
    assert sizes == [firings]
    # 63 pairs have two operands to compute, and then a sum, product, tanh and sum; 64 leaves a word and a product
    assert firings == 63 * 6 + 64 * 2
    assert more_firings == 127 * 6 + 128 * 2
    assert more_batches - batches <= 8


@settings(max_examples=15, phases=[Phase.generate], deadline=None)
@given(cases(arrays=True), st.integers(0, 2**32 - 1).map(Random))
def test_programs_of_arrays(case: Case, dice: Random) -> None:
    """Programs of arrays, computed in batches of any size, have the reference's results, traps, residue and statistics;
    every limit ends them at the same step, and they can be handed over at any step."""
    with MonkeyPatch.context() as patch:
        batch_everything(patch)
        assert list(violations(case, ("waves", dice.choice(SCHEDULES[1:])), handovers=(0, 40))) == []
        assert list(option_violations(case, dice, 2)) == []


@settings(max_examples=10, phases=[Phase.generate], deadline=None)
@given(act_cases(bounded=False))
def test_programs_with_effects(case: Case) -> None:
    """Programs with cells, effects and random numbers, computed in batches of any size, agree with the reference."""
    with MonkeyPatch.context() as patch:
        batch_everything(patch)
        assert list(violations(case, ("waves",), handovers=(0, 40))) == []


@pytest.mark.heavy
@pytest.mark.timeout(7200)
def test_many_programs_of_arrays() -> None:
    """The same on 250 programs of arrays."""

    @settings(max_examples=250, deadline=None)
    @given(cases(arrays=True), st.integers(0, 2**32 - 1).map(Random))
    def check(case: Case, dice: Random) -> None:
        assert list(violations(case, SCHEDULES, handovers=(0, 7, 40))) == []
        assert list(option_violations(case, dice, 2)) == []

    with MonkeyPatch.context() as patch:
        batch_everything(patch)
        check()


@pytest.mark.full
def test_a_trap_behind_futures(small_batches: None) -> None:
    """An index that the run computes traps at its node with its operands, which are computed for that; the firings of
    the same node with other indices send futures."""

    @tl.function
    def picked(n: tl.int64, x: ROW) -> ROW:
        def pick(i: Any, y: Any) -> Any:
            return i + 1, y + tl.take(tl.stack([y, y * 2.0]), i // 3, axis=0)

        return tl.while_loop(lambda i, y: i < n, pick, 0, x)[1]

    x = np.arange(4, dtype=np.float32)
    case = Case(picked.program, [5, x])
    assert tree_violations(case) == []
    case.arguments[0] = 9
    assert tree_violations(case) == []
    outcome = picked.run(9, x, engine="fast", schedule="waves")
    assert "an index is out of range" in str(outcome.traps[0])


@pytest.mark.full
def test_arrays_without_elements(small_batches: None) -> None:
    """Batches of arrays without elements."""

    @tl.function
    def loop(n: tl.int64, x: tl.Array[tl.float64, 2, 0]) -> tl.Array[tl.float64, 2, 0]:  # type: ignore[valid-type]
        turned = lambda y: tl.permute_dims(tl.permute_dims(y, (1, 0)) + 1.0, (1, 0))  # noqa: E731
        return tl.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, turned(y)), 0, x)[1]

    assert tree_violations(Case(loop.program, [30, np.zeros((2, 0))])) == []


@pytest.mark.full
def test_limits_are_exact_with_futures(small_batches: None) -> None:
    """Limits on firings, tokens and depth end a run at the same firing as on the reference, with the same residue."""
    graph = lower(TREE.program)
    for limits in (Limits(firings=400), Limits(firings=1_007), Limits(tokens=40), Limits(depth=3)):
        expected = run_graph(graph, TREE.arguments, limits=limits, world=Witness())
        actual = run_fast(graph, TREE.arguments, "waves", limits, Witness())
        assert comparable_fields(actual) == comparable_fields(expected), limits


def test_few_bytes_of_futures_are_kept() -> None:
    """A loop over arrays of 256 KB computes them whenever the results to come have some megabytes: the memory of a run
    grows with the limit on futures, not with its length."""
    sizes = list[int]()

    @tl.function
    def loop(n: tl.int64, x: tl.Array[tl.float64, 2**15]) -> tl.Array[tl.float64, 2**15]:  # type: ignore[valid-type]
        return tl.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y + 1.0), 0, x)[1]

    with MonkeyPatch.context() as patch:
        compute = Futures.compute
        patch.setattr(futures, "MAX_FUTURE_COST", 2**20)
        patch.setattr(
            Futures,
            "compute",
            lambda self: (sizes.append(int(self._store.registers[Register.FUTURE_COST])), compute(self))[1],
        )
        outcome = loop.run(150, np.zeros(2**15), engine="fast", schedule="waves")
    assert outcome.value[0] == 150.0  # type: ignore[index]
    assert max(sizes) <= 2**20 + 2**18 and len(sizes) > 15


@pytest.mark.full
def test_futures_keep_few_bytes_alive() -> None:
    """A loop that draws large arrays and reads a few elements of each keeps few of them alive, although the firings
    that read them are still to be computed."""

    @tl.function
    def loop(n: tl.int64, x: tl.Array[tl.float64, 4]) -> tl.Array[tl.float64, 4]:  # type: ignore[valid-type]
        return tl.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y + tl.uniform((2**15,))[0:4]), 0, x)[1]

    most, compute = list[int](), Futures.compute

    def measure(self: Futures) -> None:
        most.append(sum(getattr(value, "nbytes", 0) for value in self._store.objects))
        compute(self)

    with MonkeyPatch.context() as patch:
        patch.setattr(futures, "MAX_FUTURE_COST", 2**20)
        patch.setattr(Futures, "compute", measure)
        outcome = loop.run(100, np.zeros(4), engine="fast", schedule="waves")
    assert outcome.status == "Returned" and max(most) <= 2**21


def test_the_cost_of_futures_bounds_the_time_of_their_computation() -> None:
    """A firing that computes long, and has a small result, costs its time: a limit on time or Ctrl-C may have to wait
    for all futures, since the tokens that are left have values. Long decompositions are no futures."""
    wide, tall, small = (Type(tl.float64, shape) for shape in ((16, 4096), (4096, 16), (16, 16)))
    assert firing_cost(OPS["matmul"], (wide, tall, small)) >= 2**18
    assert firing_cost(OPS["add"], (small, small, small)) == 256 * 8

    @tl.function
    def factors(x: tl.Array[tl.float64, 8, 8], y: tl.Array[tl.float64, 128, 128]) -> Any:  # type: ignore[valid-type]
        return tl.linalg.qr(x)[0], tl.linalg.qr(y)[0]

    plan = FuturePlan(cached_image(factors.graph, {}))
    assert {signature.operands[0].shape for signature in plan.signatures} == {(8, 8)}


@pytest.mark.full
def test_a_limit_ends_the_computation(small_batches: None) -> None:
    """A limit on time ends a run while futures are computed; its outcome has the values of the tokens that are left."""
    graph = lower(TREE.program)
    with MonkeyPatch.context() as patch:
        true_batch, calls = Pools.compute_batch, list[int]()

        def stop(self: Pools, *given: Any) -> bool:
            calls.append(1)
            if len(calls) == 5:
                raise OpAbandoned("seconds")
            return true_batch(self, *given)

        patch.setattr(Pools, "compute_batch", stop)
        outcome = run_fast(graph, TREE.arguments, "waves", Limits(seconds=60), Witness())
        assert outcome.status == "Exhausted" and "seconds" in str(outcome.error)
        assert all(isinstance(each.value, np.ndarray | float | int | np.generic) for each in outcome.residue)
    assert len(calls) > 5


@dataclass(frozen=True)
class BrokenBatches:
    """Broken batches, with a description."""

    description: str
    break_code: Break

    def __str__(self) -> str:
        return self.description


def mix_tags(patch: MonkeyPatch) -> None:
    """Each result of a batch goes to the firing under the next tag."""
    true_batch = Pools.compute_batch

    def compute_batch(self: Pools, signature: Signature, first: int, last: int) -> bool:
        is_batch = true_batch(self, signature, first, last)
        if is_batch:
            rows = self._rows[self._results[first:last]]
            pool = self._pools[signature.result_pool]
            pool[rows] = pool[np.roll(rows, 1)]
        return is_batch

    patch.setattr(Pools, "compute_batch", compute_batch)


def share_first_operands(patch: MonkeyPatch) -> None:
    """All firings of a batch get the operands of the first."""
    true_batch = Pools.compute_batch

    def compute_batch(self: Pools, signature: Signature, first: int, last: int) -> bool:
        self._operands = self._operands.copy()
        self._operands[first:last, 1:] = self._operands[first, 1:]
        return true_batch(self, signature, first, last)

    patch.setattr(Pools, "compute_batch", compute_batch)


def ignore_levels(patch: MonkeyPatch) -> None:
    """A batch does not wait for the batches of its operands."""
    true_batches = Futures._compute_in_batches

    def compute_in_batches(self: Futures, table: Any, *given: Any) -> Any:
        table = table.copy()
        table[:, FutureColumn.LEVEL] = 1
        return true_batches(self, table, *given)

    patch.setattr(Futures, "_compute_in_batches", compute_in_batches)


def keep_references(patch: MonkeyPatch) -> None:
    """Operands of a batch are never freed, and results that no token needs are kept."""
    patch.setattr(Pools, "results", lambda self, check_limits: {})


def read_beyond_arrays(patch: MonkeyPatch) -> None:
    """The machine takes an index that is out of range by one."""
    true_bound = futures.index_bound
    patch.setattr(futures, "index_bound", lambda *given: None if true_bound(*given) is None else true_bound(*given) + 1)
    patch.setattr(futures, "_plans", {})


def read_dead_arrays(patch: MonkeyPatch) -> None:
    """The machine reads an array by the elements of another that had its number before."""

    def free_objects(self: TokenStore, numbers: Any) -> None:
        for number in numbers:
            self.objects[number] = None
        self.unused_objects += numbers

    patch.setattr(TokenStore, "free_objects", free_objects)


def mistake_equal_arrays(patch: MonkeyPatch) -> None:
    """All large arrays that equal another one count as equal to the first of them."""

    def large_number(self: Pools, word: int) -> int:
        return next(iter(self._equal_numbers.values())) if word in self._equal_numbers else word

    patch.setattr(Pools, "_large_number", large_number)


TWINS = [
    BrokenBatches("a batch mixes tags", mix_tags),
    BrokenBatches("a batch shares the second operand", share_first_operands),
    BrokenBatches("levels are ignored", ignore_levels),
    BrokenBatches("no result is kept", keep_references),
    BrokenBatches("indices beyond an array are read", read_beyond_arrays),
    BrokenBatches("elements of dead arrays are read", read_dead_arrays),
    BrokenBatches("large arrays are mistaken", mistake_equal_arrays),
]


@pytest.mark.full
@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: str(twin).replace(" ", "_"))
def test_broken_batches_are_caught(twin: BrokenBatches, small_batches: None) -> None:
    """The tree, elements and large arrays show each broken computation: its results differ, or the run fails. Memory
    beyond an array may hold any number."""
    with broken(twin.break_code):
        try:
            differences = [*tree_violations(TREE), *element_violations(), *tree_violations(LARGE)]
        except (AssertionError, ArithmeticError, RecursionError, ValueError, tl.TagloomError):
            return
        assert differences, f"no law caught this: {twin}"
