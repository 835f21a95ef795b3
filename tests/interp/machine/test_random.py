"""S15: random numbers depend on seed, node and tag only, follow the published formulas, and look random."""

from __future__ import annotations

import hashlib
import math
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from tagloom.core.hashing import splitmix64
from tagloom.core.ops.random import draw_below
from tagloom.core.program.evaluate import evaluate

INT64 = 2**63
PROGRAM = """
func main(n: int64) -> float64[2], float64, int64[2], int64[?], float64, float64 {
  u = uniform shape=[2]
  v = normal shape=[]
  w = integers -100, 100, shape=[2]
  p = permutation n
  c = call inner n
  loop, l = while_loop 0, 0.0 {
    while(i: int64, x: float64) {
      less = less i, 3
      yield less
    }
    do(i: int64, x: float64) {
      y = uniform shape=[]
      add = add i, 1
      yield add, y
    }
  }
  return u, v, w, p, c, l
}

func inner(n: int64) -> float64 {
  u = uniform shape=[]
  return u
}
"""


GOLDEN: dict[str, Any] = {
    "u": [0.6917769093297992, 0.7756754366261933],
    "v": 0.37544909087355505,
    "w": [5, -91],
    "p": [2, 0, 6, 4, 3, 5, 1],
    "c": 0.7091121412948987,
    "l": 0.7450483650561319,
}


def splitmix64_by_state(seed: int, number: int) -> int:
    """SplitMix64 as published: the generator with a state, run until its output of this number, counted from 0."""
    state, z = seed, 0
    for _ in range(number + 1):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = state
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z = ((z ^ (z >> shift)) * factor) % 2**64
        z ^= z >> 31
    return z


def name_key(name: str) -> int:
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return sum(byte << (8 * place) for place, byte in enumerate(digest))


def draw_key(seed: int, node: str, *path: tuple[str, int]) -> int:
    tag = name_key("main")
    for site, iteration in path:
        tag = splitmix64_by_state(tag ^ name_key(site), iteration)
    return splitmix64_by_state(tag ^ name_key(node), seed)


def unit(key: int, element: int = 0) -> float:
    return (splitmix64_by_state(splitmix64_by_state(key, element), 0) >> 11) / 2**53


def below(size: int, element: int) -> int:
    number = 0
    while (splitmix64_by_state(element, number) * size) % 2**64 < 2**64 % size:
        number += 1
    return (splitmix64_by_state(element, number) * size) >> 64


def gauss(key: int) -> float:
    element = splitmix64_by_state(key, 0)
    u, v = ((splitmix64_by_state(element, 0) >> 11) + 1) / 2**53, (splitmix64_by_state(element, 1) >> 11) / 2**53
    return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)


def shuffled(size: int, key: int) -> list[int]:
    numbers = list(range(size))
    for j in range(size - 1, 0, -1):
        other = below(j + 1, splitmix64_by_state(key, j))
        numbers[j], numbers[other] = numbers[other], numbers[j]
    return numbers


@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_s15_draws_follow_the_documented_formulas(seed: int) -> None:
    """S15: every kind of draw, in the root, a call and a loop, gives what the formulas of docs/state.md give when
    computed separately."""
    program = tl.parse_program(PROGRAM)
    out = tl.run_graph(tl.lower(program), [7], seed=seed)
    u, w = draw_key(seed, "main.u"), draw_key(seed, "main.w")
    expected = [
        [unit(u, 0), unit(u, 1)],
        gauss(draw_key(seed, "main.v")),
        [below(200, splitmix64_by_state(w, element)) - 100 for element in (0, 1)],
        shuffled(7, draw_key(seed, "main.p")),
        unit(draw_key(seed, "inner.u", ("call main.c", 0))),
        unit(draw_key(seed, "main.y", ("loop main.loop", 2))),
    ]
    assert [np.asarray(result).tolist() for result in out.results] == expected
    assert [np.asarray(result).tolist() for result in evaluate(program, [7], seed=seed).results or ()] == expected


def test_s15_the_first_numbers_of_seed_0_never_change() -> None:
    """S15: the numbers of seed 0 are these, in every version."""
    u, v, w, p, c, last = tl.run_graph(tl.lower(tl.parse_program(PROGRAM)), [7]).results
    assert np.asarray(u).tolist() == GOLDEN["u"]
    assert (v, np.asarray(w).tolist(), np.asarray(p).tolist(), c, last) == tuple(GOLDEN[name] for name in "vwpcl")


@tl.function
def one(n: tl.int64) -> tl.float64:
    return tl.uniform()


@tl.function
def two(n: tl.int64) -> tuple[tl.float64, tl.float64]:
    return one(n), one(n)


@tl.function
def several(n: tl.int64) -> tl.float64:
    """A draw in each iteration and in a call of each."""
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s * 2.0 + one(i) + tl.uniform()), 0, 0.0)[1]


def test_s15_two_sites_draw_different_numbers() -> None:
    """S15: a function that is called from two sites draws two numbers, and the same two in the next run."""
    one_run, other = two.run(1), two.run(2)
    assert one_run.results[0] != one_run.results[1]
    assert one_run.results == other.results


def test_s15_each_iteration_draws_its_own_numbers() -> None:
    """S15: ten iterations, each with a draw and a call that draws, draw twenty different numbers."""
    out = several.run(10, keep="events")
    drawn = [value for name in ("one.uniform", "several.uniform") for value in out.values(name).values()]
    assert len(set(drawn)) == len(drawn) == 20


@pytest.mark.parametrize("schedule", ["fifo", "lifo", "random:1", "random:2"])
def test_s15_draws_do_not_depend_on_the_schedule(schedule: str) -> None:
    """S15: every schedule gives the same numbers, with iterations one at a time too."""
    assert several.run(8, schedule=schedule).results == several.run(8).results
    assert several.run(8, schedule=schedule, k=1).results == several.run(8).results


def test_s15_each_seed_draws_other_numbers() -> None:
    """S15: each seed has its own numbers, the largest seed too. Larger ones are refused."""
    assert len({one.run(1, seed=seed).value for seed in (0, 1, 2, 2**63, 2**64 - 1)}) == 5
    for seed in (-1, 2**64, 1.0, True, None):
        with pytest.raises(tl.Usage, match="seed"):
            one.run(1, seed=seed)  # type: ignore[arg-type]


def test_s15_a_draw_depends_on_its_own_name_and_place_only() -> None:
    """S15: other nodes, other parameter names and other draws do not change a draw: only its own name and place do."""
    plain = "func main(n: int64) -> float64 {\n  u = uniform shape=[]\n  return u\n}"
    more = """
        func main(m: int64, k: float64) -> float64 {
          before = uniform shape=[3]
          add = add m, 1
          print = permutation add
          u = uniform shape=[]
          after = normal shape=[]
          return u
        }
    """
    renamed = plain.replace("u ", "v ").replace("return u", "return v")
    actual = [tl.run_graph(tl.lower(tl.parse_program(plain)), [1]).results]
    actual.append(tl.run_graph(tl.lower(tl.parse_program(more)), [1, 2.0]).results)
    other = tl.run_graph(tl.lower(tl.parse_program(renamed)), [1]).results
    assert actual[0] == actual[1] != other


@tl.function
def between(low: tl.int64, high: tl.int64) -> tl.Array[tl.int64, 20]:
    return tl.integers(low, high, 20)


@tl.function
def ordered(n: tl.int64) -> tl.Array[tl.int64, None]:
    return tl.permutation(n)


EXTREMES = st.sampled_from([-INT64, -INT64 + 1, -1, 0, 1, INT64 - 2, INT64 - 1]) | st.integers(-INT64, INT64 - 1)


@settings(max_examples=60)
@given(EXTREMES, EXTREMES, st.integers(0, 2**64 - 1))
def test_integers_are_in_their_range(low: int, high: int, seed: int) -> None:
    """Integers lie from low to below high, for any two int64; an empty range traps."""
    out = between.run(low, high, seed=seed)
    if low >= high:
        assert out.status == "Trapped" and out.traps[0].message.startswith("integers of an empty range")
    else:
        assert all(low <= number < high for number in out.value.tolist())


@settings(max_examples=30)
@given(st.integers(-2, 60), st.integers(0, 2**64 - 1))
def test_a_permutation_has_each_number_once(n: int, seed: int) -> None:
    """A permutation of n has each number from 0 to n - 1 once; a negative n traps."""
    out = ordered.run(n, seed=seed)
    if n < 0:
        assert out.traps[0].message.startswith("permutation of fewer than no numbers")
    else:
        assert sorted(out.value.tolist()) == list(range(n))


@given(st.integers(0, 2**64 - 1), st.integers(1, 2**64))
def test_numbers_below_a_size_follow_the_formula(key: int, size: int) -> None:
    """The code's number below a size is that of the documented formula."""
    assert 0 <= draw_below(key, size) == below(size, key) < size


@tl.function
def many(n: tl.int64):  # type: ignore[no-untyped-def]
    return tl.uniform(10_000), tl.normal(10_000), tl.integers(0, 10, 10_000)


def test_draws_look_random() -> None:
    """10,000 draws lie in [0, 1), fill twenty equal parts about equally (chi-square on 19 degrees of freedom: below
    43.8 in 999 of 1,000 cases), and have the expected mean, variance and correlation of neighbours."""
    uniform, normal, integers = many.run(0, seed=1).results
    uniform, normal, integers = map(np.asarray, (uniform, normal, integers))
    assert uniform.min() >= 0 and uniform.max() < 1
    for counts in (np.histogram(uniform, 20, (0, 1))[0], np.bincount(integers, minlength=10)):
        even = 10_000 / len(counts)
        assert ((counts - even) ** 2 / even).sum() < 43.8
    assert abs(uniform.mean() - 0.5) < 0.01 and abs(normal.mean()) < 0.04 and abs(normal.var() - 1) < 0.06
    assert abs(np.corrcoef(uniform[1:], uniform[:-1])[0, 1]) < 0.04
    assert abs(np.mean(np.abs(normal) < 1) - 0.6827) < 0.02


@pytest.mark.full
def test_all_permutations_occur() -> None:
    """Each of the six permutations of three numbers occurs about a hundred times in 600 seeds."""
    actual = [tuple(ordered.run(3, seed=seed).value.tolist()) for seed in range(600)]
    assert len(set(actual)) == 6 and all(60 < actual.count(order) < 140 for order in set(actual))


@pytest.mark.parametrize("shape", [(2**20, 2**20), (0, 2**62, 2**62), (2**31,)])
def test_s12_a_draw_beyond_memory_is_exhausted(shape: tuple[int, ...]) -> None:
    """S12: a draw of more than 2^30 elements does not fit into memory (a size of 0 counts as 1), and allocates
    nothing."""

    @tl.function
    def large(n: tl.int64):  # type: ignore[no-untyped-def]
        return tl.uniform(shape)

    out = large.run(0)
    assert out.status == "Exhausted" and "does not fit into memory" in str(out.error)
    assert evaluate(large.program, [0]).status == "Exhausted"


def test_a_draw_of_a_negative_size_traps() -> None:
    """S12: a size that only the run computes may be 0, but not negative."""

    @tl.function
    def draw(n: tl.int64):  # type: ignore[no-untyped-def]
        return tl.uniform(n)

    assert np.shape(draw.run(0).value) == (0,)
    assert draw.run(-1).status == evaluate(draw.program, [-1]).status == "Trapped"


def test_an_empty_draw() -> None:
    """A shape with a size of 0 gives an empty array, and so does a permutation of 0."""

    @tl.function
    def empty(n: tl.int64):  # type: ignore[no-untyped-def]
        return tl.normal((2, 0, 3)), tl.permutation(n)

    assert [np.shape(result) for result in empty.run(0).results] == [(2, 0, 3), (0,)]


@pytest.mark.parametrize("size", [2**63 + 1, 2**63 + 2**62, 3 * 2**62 - 1, 2**64 - 1])
def test_words_are_rejected(size: int) -> None:
    """For a range so wide that many words are rejected, the number is that of the first word that is not."""
    for key in range(50):
        word = next(w for w in map(partial(splitmix64, key), count()) if (w * size) % 2**64 >= 2**64 % size)
        assert draw_below(key, size) == (word * size) >> 64
