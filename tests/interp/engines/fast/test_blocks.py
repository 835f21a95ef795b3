"""Blocks: the machine with blocks makes the steps of the machine without, and the laws catch broken blocks. Blocks
under `lifo` make many deliveries, those under `waves` and `fifo` one."""

from __future__ import annotations

import re
from itertools import count
from random import Random
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from support.engines.block_interpreter import interpreted_blocks
from support.generators.effect_programs import Witness, act_cases
from support.generators.generator import Case, cases
from support.laws.block_laws import block_violations, start_block_run
from support.laws.fast_laws import comparable_fields
from support.programs.not_strict import NOT_STRICT
from support.twins.broken_twin import Break, broken, caught
from tagloom.core.frontend.trace.pytree import flat_treedef
from tagloom.core.graph.lower import lower
from tagloom.core.text import parse_program
from tagloom.interp.engines.fast import block_generation, block_loader, blocks
from tagloom.interp.engines.fast.block_loader import load_blocks
from tagloom.interp.engines.fast.layout import DeliveryOrder
from tagloom.interp.engines.fast.store import TokenStore
from tagloom.interp.engines.jit import compiler_process, native
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.image.image import Image, cached_image


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def loops(n: tl.int64) -> tl.float64:
    """A loop in a loop in a call, with a division that traps at the end."""

    def inner(i: Any) -> Any:
        return tl.while_loop(lambda j, s: j < n, lambda j, s: (j + 1, s * 0.5 + i), 0, 0.0)[1]

    total = tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + inner(i)), 0, 0.0)[1]
    return total + tl.astype(n // (n - 5), tl.float64)


@tl.function
def array_loops(n: tl.int64, v: tl.Array[tl.float64, 3]) -> tl.float64:
    """Loops whose activations fire in Python, which builds their tags, and close in blocks; the second one traps."""

    def scaled(i: Any) -> Any:
        return tl.sum(v * tl.astype(i, tl.float64)) + 1.0 / tl.astype(i + 1, tl.float64)

    first = tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + scaled(i) + scaled(i + 1)), 0, 0.0)[1]
    quotient = lambda i: tl.astype(1 // (i - 7), tl.float64)  # noqa: E731
    return first + tl.sum(tl.while_loop(lambda i, w: i < n, lambda i, w: (i + 1, w + quotient(i)), 0, v)[1])


FIB, LOOPS, ENDLESS = Case(fib.program, [11]), Case(loops.program, [7]), Case(parse_program(NOT_STRICT), [2, 0])
ARRAY_LOOPS = Case(array_loops.program, [8, np.ones(3)])


@tl.function
def sum_from(cells: tl.Cells[tl.int64], first: int, count: int) -> int:
    total = 0
    for i in range(count):
        total += cells[first + i]
    return total


@tl.function
def read_twice(n: int) -> int:
    """Sum up n cells, and then n cells that are never filled, in activations that take the frames of the first ones."""
    cells = tl.cells(2 * n, tl.int64)
    for i in range(n):
        tl.put(cells, i, i)
    total = sum_from(cells, 0, n)
    return sum_from(cells, n, n + total - total)


READS = Case(read_twice.program, [5])
SCHEDULES = ("lifo", "waves", "fifo")
YOUNGEST, OLDEST = DeliveryOrder.YOUNGEST, DeliveryOrder.OLDEST


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_recursion_with_blocks(schedule: str) -> None:
    """Outcomes, states after any number of steps, and limits that are just met are the reference's."""
    assert list(block_violations(FIB, Random(1), schedule)) == []


@pytest.mark.full
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    "case",
    [LOOPS, Case(loops.program, [5]), ENDLESS, ARRAY_LOOPS, READS],
    ids=["loops", "a trap", "not strict", "arrays", "tags of closed activations"],
)
def test_blocks_on_chosen_programs(case: Case, schedule: str) -> None:
    """So they are in nested loops, at a trap, where a function returns before its argument comes, and where Python has
    built the tags of activations that blocks close."""
    assert list(block_violations(case, Random(1), schedule)) == []


@pytest.mark.full
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("case", [FIB, LOOPS, ARRAY_LOOPS, READS])
def test_states_between_blocks_can_be_exported(case: Case, schedule: str) -> None:
    """A run that stops again and again, and whose state is exported, goes on as if it did not."""
    graph = lower(case.program)
    expected = run_graph(graph, case.arguments, schedule=schedule)
    run = start_block_run(graph, case.arguments, schedule, Limits(), Witness(), interpreted_blocks)
    error = None
    while error is None and run.steps < expected.stats.steps:
        error = run.resume(97)
        run.state()
    outcome = run.outcome(error, flat_treedef(len(graph.results)))
    assert comparable_fields(outcome) == comparable_fields(expected)


@settings(max_examples=10)
@given(cases(), st.sampled_from(SCHEDULES))
def test_blocks_on_generated_programs(case: Case, schedule: str) -> None:
    """So they are on all generated programs."""
    assert list(block_violations(case, Random(1), schedule, tries=2)) == []


@settings(max_examples=5)
@given(cases(arrays=True) | act_cases(), st.sampled_from(SCHEDULES))
def test_blocks_beside_host_firings(case: Case, schedule: str) -> None:
    """So they are where arrays, cells and effects leave most firings to Python."""
    assert list(block_violations(case, Random(1), schedule, tries=2)) == []


@pytest.mark.heavy
@settings(max_examples=6)
@given(cases(), st.sampled_from(SCHEDULES))
def test_machine_code_of_blocks(case: Case, schedule: str) -> None:
    """The machine code of a text does what Python does."""
    assert list(block_violations(case, Random(1), schedule, load=load_blocks, tries=1)) == []


@pytest.mark.full
def test_machine_code_of_wave_blocks() -> None:
    """So does that of blocks of one delivery."""
    assert list(block_violations(FIB, Random(1), "waves", load=load_blocks, tries=1)) == []


@pytest.mark.full
@pytest.mark.parametrize(("case", "firings", "paths"), [(FIB, 2581, 715), (LOOPS, 1105, 140)], ids=["fib", "loops"])
def test_firings_of_paths(case: Case, firings: int, paths: int) -> None:
    """A path makes several firings: 3.6 in the recursion, 7.9 in short loops."""
    graph = lower(case.program)
    run = start_block_run(graph, case.arguments, "lifo", Limits(), Witness(), interpreted_blocks)
    made: list[int] = []

    def count() -> None:
        made.append(int(run.store.path_counts.sum()))
        type(run.store).count_paths(run.store)

    run.store.count_paths = count  # type: ignore[method-assign]
    outcome = run.outcome(run.resume(), flat_treedef(1))
    assert (outcome.firings, sum(made)) == (firings, paths)


@pytest.mark.full
def test_host_firings_count_no_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """What paths have done is counted once a run, not after each firing by Python, which takes less time."""

    @tl.function
    def beside_arrays(n: tl.int64, start: tl.Array[tl.float64, 3]) -> tl.float64:
        after = tl.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * 0.5 + tl.astype(i, tl.float64)), 0, start)
        return tl.sum(after[1])

    calls: list[TokenStore] = []
    true = TokenStore.count_paths

    def count_paths(store: TokenStore) -> None:
        calls.append(store)
        true(store)

    monkeypatch.setattr(TokenStore, "count_paths", count_paths)
    case = Case(beside_arrays.program, [30, np.ones(3)])
    graph = lower(case.program)
    run = start_block_run(graph, case.arguments, "lifo", Limits(), Witness(), interpreted_blocks)
    outcome = run.outcome(run.resume(), flat_treedef(1))
    assert outcome.status == "Returned" and len(calls) == 2  # where the run goes over to blocks, and at its end
    assert outcome.stats.by_node == run_graph(graph, case.arguments, schedule="lifo").stats.by_node


def test_short_runs_compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first steps of a program neither generate blocks nor request machine code."""
    monkeypatch.setattr(block_loader, "generate_blocks", None)
    image = cached_image(lower(fib.program), {})
    for order in DeliveryOrder:
        assert block_loader.block_loader(image, order).find(image, block_loader.LOOKUP_STEPS - 1) is None


@pytest.mark.full
def test_long_runs_request_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """After enough steps the blocks are requested in the background; without compiler processes they are not."""
    requested: list[str] = []
    monkeypatch.setattr(compiler_process.Compilation, "request", lambda self: requested.append(self.task.name))
    monkeypatch.setattr(compiler_process.Compilation, "is_on_disk", lambda self: False)
    for is_enabled in (False, True):
        monkeypatch.setattr(compiler_process, "is_enabled", lambda value=is_enabled: value)
        image = cached_image(lower(fib.program), {})
        block_generation.block_program(image, OLDEST)
        loader = block_loader.BlockLoader(OLDEST)
        assert loader.find(image, block_loader.COMPILE_STEPS - 1) is None and requested == []
        assert loader.find(image, 1) is None and requested == []
        assert loader.find(image, block_loader.SLICE_STEPS) is None and requested == ["blocks"] * is_enabled


@pytest.mark.full
def test_generation_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are generated in slices between bursts, and each run continues where the one before has stopped."""
    monkeypatch.setattr(block_loader, "SLICE_SECONDS", 1e-9)
    ticks = count()
    monkeypatch.setattr(block_generation, "perf_counter", lambda: next(ticks) * 1e-9 / 2)
    monkeypatch.setattr(compiler_process, "is_enabled", lambda: False)
    image = cached_image(lower(fib.program), {})
    block_generation._programs.pop(image, None)
    loader, calls = block_loader.BlockLoader(YOUNGEST, steps=block_loader.LOOKUP_STEPS), 0
    while image not in block_generation._programs:
        loader.find(image, block_loader.SLICE_STEPS)
        calls += 1
        assert calls < 1_000
    program = block_generation.block_program(image, YOUNGEST)
    block_generation._programs.pop(image)
    again = block_generation.block_program(image, YOUNGEST)
    assert calls > 10 and program is not None and again is not None and program.text == again.text


def test_runs_that_end_leave_few_generations() -> None:
    """What runs have begun to generate is kept for the latest few images only, and not twice for one."""
    images = [Image.__new__(Image) for _ in range(block_generation.MAX_UNFINISHED + 2)]
    for image in [*images, images[-1]]:
        assert not block_generation.generate_blocks(image, OLDEST, -1.0)
    assert [image for image, _ in block_generation._generations] == images[-block_generation.MAX_UNFINISHED :]
    block_generation._generations.clear()


@pytest.mark.full
def test_large_graphs_have_no_blocks() -> None:
    """A graph of many nodes costs a run no time: what is known of their order grows with the square of their number."""

    @tl.function
    def chain(start: tl.int64) -> tl.int64:
        x: Any = start
        for number in range(block_generation.MAX_NODES):
            x = x * 3 + number
        return x

    for order in (YOUNGEST, OLDEST):
        assert block_generation.block_program(cached_image(lower(chain.program), {}), order) is None
        assert sum(1 for _ in block_generation.write_blocks(cached_image(lower(chain.program), {}), order)) == 0


@pytest.mark.full
def test_damaged_blocks_are_not_compiled_in_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose blocks are damaged on disk goes on without them, and removes the file."""
    monkeypatch.setattr(native, "compile_object", None)
    monkeypatch.setattr(native, "_functions", {})
    image = cached_image(lower(loops.program), {})
    program = block_generation.block_program(image, OLDEST)
    assert program is not None
    path = native.native_path("blocks", program.text)
    path.write_bytes(b"damaged")
    loader = block_loader.BlockLoader(OLDEST)
    assert loader.find(image, block_loader.LOOKUP_STEPS) is None
    assert loader.is_abandoned and not path.exists()


@pytest.mark.full
def test_word_code() -> None:
    """The language of blocks: words that wrap, tests, loops, and jumps between cases."""
    functions = """
LIMIT = 1 << 40
def triple(x):
    return x * 3
def steps(x, a, b):
    count, state = 0, x & 1
    while count < a:
        match state:
            case 0 | 7:
                x = x >> 1
                count += 1
                if not x & 1 or x == -1:
                    state = 0
                    continue
                go(1)
            case 1:
                x = min(triple(x) + b, LIMIT)
                count += 1
                state = 0
            case _:
                break
    return x * LIMIT ^ ~count
"""
    kernels = "from numba import int64\ndef scalar_kernels(group, code, a, b, c):\n    return int64(0)\n"
    text = "\n".join([native.WORD_CODE, kernels, native.SECOND_PART, functions])
    compiled = native.load_native("steps", text, "steps", 3)

    def expected(x: int, a: int, b: int) -> int:
        count, state = 0, x & 1
        while count < a:
            if state == 0:
                x, count = x >> 1, count + 1
                if not x & 1 or x == -1:
                    continue
            x, count, state = min(3 * x + b, 2**40), count + 1, 0
        return (x * 2**40 ^ ~count) + 2**63 & 2**64 - 1

    for x in (27, -5, 2**62, 1, 0):
        assert compiled(x, 9, 1) + 2**63 == expected(x, 9, 1)


# Broken blocks


def rewritten(pattern: str, replacement: str) -> Break:
    """Blocks in whose text something is replaced everywhere."""

    def how(patch: pytest.MonkeyPatch) -> None:
        text = blocks.BlockWriter.text
        patch.setattr(blocks.BlockWriter, "text", lambda self: re.sub(pattern, replacement, text(self)))

    return how


def sends_in_reverse(patch: pytest.MonkeyPatch) -> None:
    true = blocks.BlockWriter.find_targets

    def reversed_targets(self: Any, *arguments: Any) -> Any:
        targets = true(self, *arguments)
        return targets[::-1] if isinstance(targets, list) else targets

    patch.setattr(blocks.BlockWriter, "find_targets", reversed_targets)


def waits_for_nothing(patch: pytest.MonkeyPatch) -> None:
    true = blocks.FrameFacts.are_set
    patch.setattr(blocks.FrameFacts, "are_set", lambda self, *bits: true(self, *bits) in (True, None))


def forgets_bits_of_frames(patch: pytest.MonkeyPatch) -> None:
    true = blocks.BlockWriter.version
    patch.setattr(blocks.BlockWriter, "version", lambda self, *of: true(self, *of)._replace(set_bits=()))


WAVE_TWINS: dict[str, Break] = {
    "a firing is not counted": rewritten(r"peek\(path_counts, (\d*[05])\) \+ 1", r"peek(path_counts, \1)"),
    "a wave has one delivery more": rewritten(r"if wave_remaining == 0", "if wave_remaining == -1"),
    "a wave ends before its last tokens are sent": rewritten(r"wave_remaining = end - head", "wave_remaining = 1"),
    "the clock does not count waves": rewritten(r"if has_wave_clock:", "if has_wave_clock > 1:"),
    "more deliveries than the budget": rewritten(r"while remaining > 0", "while remaining > -1"),
    "the largest flight counts the delivered token": rewritten(r"end - head \+ (\d+)\)", r"end - head + 1 + \1)"),
    "two tokens in one slot": rewritten(r"\+ 1 & mask\) << 1", "+ 0 & mask) << 1"),
    "the tag of a closed activation is kept": rewritten(r"drop_tag\(a, r, \w+\)", "0"),
    "nothing traps": rewritten(r"if traps\(", "if 0 * traps("),
    "calls go one deeper": rewritten("> depth_limit", "> depth_limit + 1"),
    "an output sends in the wrong order": sends_in_reverse,
    "a node does not wait for its partners": waits_for_nothing,
}


TWINS: dict[str, Break] = {
    "a firing is not counted": rewritten(r"peek\(path_counts, (\d*[05])\) \+ 1", r"peek(path_counts, \1)"),
    "paths go beyond the limit": rewritten(r"remaining (<|>=) LARGEST_PATH", r"remaining \1 1"),
    "a frame is free while a token is in it": rewritten(r"& 4294967295 == 0", "& 4294967294 == 0"),
    "the tag of a closed activation is kept": rewritten(r"drop_tag\(a, r, \w+\)", "0"),
    "the largest flight is that between blocks": rewritten(r" +largest_flight = max.*\n", ""),
    "nothing traps": rewritten(r"if traps\(", "if 0 * traps("),
    "calls go one deeper": rewritten("> depth_limit", "> depth_limit + 1"),
    "two tokens in one slot": rewritten(r"\+ 1 & mask\) << 1", "+ 0 & mask) << 1"),
    "an output sends in the wrong order": sends_in_reverse,
    "a node does not wait for its partners": waits_for_nothing,
    "a frame is taken for an empty one": forgets_bits_of_frames,
}


def is_wrong(how: Break, case: Case, schedule: str) -> bool:
    """Whether broken blocks break a law. An error while they are generated is not counted: it would prove nothing."""
    with broken(how):
        block_generation._programs.clear()
        for order in (YOUNGEST, OLDEST):
            block_generation.block_program(cached_image(lower(case.program), {}), order)
        try:
            return next(block_violations(case, Random(1), schedule), None) is not None
        except (AssertionError, LookupError, OverflowError, ValueError, tl.Crash):
            return True
        finally:
            block_generation._programs.clear()


@pytest.mark.heavy
@pytest.mark.parametrize("name", TWINS)
def test_the_laws_catch_broken_blocks(name: str) -> None:
    """Every change of what blocks do breaks a law, on a program on which true blocks keep the laws."""
    chosen = st.sampled_from([FIB, LOOPS, Case(loops.program, [5]), ENDLESS, ARRAY_LOOPS, READS])
    case = caught(chosen | cases(), lambda case: is_wrong(TWINS[name], case, "lifo"), name, 60)
    assert list(block_violations(case, Random(1))) == []


@pytest.mark.heavy
@pytest.mark.parametrize("name", WAVE_TWINS)
def test_the_laws_catch_broken_blocks_under_waves(name: str) -> None:
    """So does every change of what blocks of one delivery do."""
    chosen = st.sampled_from([FIB, LOOPS, Case(loops.program, [5]), ENDLESS, ARRAY_LOOPS, READS])
    case = caught(chosen | cases(), lambda case: is_wrong(WAVE_TWINS[name], case, "waves"), name, 60)
    assert list(block_violations(case, Random(1), "waves")) == []
