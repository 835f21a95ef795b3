"""How runs on the fast machine end: exactly at every limit, in time, and at Ctrl-C; none crashes the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.generators.effect_programs import Witness
from support.laws.fast_laws import RunOptionsSample, differences, start_fast_run
from support.programs.fast_programs import deferring, endless, flood, printing, triangle
from tagloom.interp.engines.fast import store
from tagloom.interp.engines.fast.lazy_sequences import IntegerSeries
from tagloom.interp.engines.limits import Limits, resident_memory

TESTS = Path(__file__).resolve().parents[3]


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


def limit_of(outcome: tl.Outcome) -> str:
    """The limit that ended a run."""
    assert outcome.status == "Exhausted" and isinstance(outcome.error, tl.Exhausted)
    return str(outcome.error.limit)


@pytest.mark.full
@pytest.mark.parametrize("limit", ["firings", "tokens", "depth"])
@pytest.mark.parametrize(("function", "argument"), [(fib, 3), (deferring, 4)], ids=["fib", "deferring"])
def test_every_value_of_a_limit(function: tl.Function, argument: int, limit: str) -> None:
    """S12: a run ends at the same step as on the reference for every value of a limit, from 0 to the first without
    effect."""
    stats = function.run(argument, engine="reference", world=Witness()).stats
    most = {"firings": stats.firings, "tokens": stats.largest_flight + stats.largest_store, "depth": 3}[limit]
    for number in range(most + 2):
        for name in ("waves", "lifo") if limit != "firings" else ("random:3",):
            asked = RunOptionsSample(name, Limits(**{limit: number}))
            assert list(differences(function.graph, [argument], asked)) == []


def test_a_get_is_deferred_at_the_limit_on_firings() -> None:
    """S12: after the last allowed firing, tokens may still wait and be deferred; the next firing exceeds the limit."""

    @tl.function
    def early(n: tl.int64) -> tl.int64:
        return tl.get(tl.cells(1, tl.int64), n)

    firings = early.run(0, engine="reference").firings
    for name in ("fifo", "lifo"):
        for number in range(firings + 1):
            assert list(differences(early.graph, [0], RunOptionsSample(name, Limits(firings=number)))) == []
    out = early.run(0, engine="fast", limits=Limits(firings=firings))
    assert (out.status, len(out.residue)) == ("Deadlocked", 2)


@pytest.mark.full
def test_a_limit_on_seconds() -> None:
    """S12: a run ends soon after its seconds; with 0 it does not begin; with enough it is not affected."""
    begin = time.monotonic()
    out = endless.run(1, engine="fast", limits=Limits(seconds=0.2, firings=10**15))
    assert limit_of(out) == "seconds" and 0.2 <= time.monotonic() - begin < 20
    assert (out.firings > 0, out.open_activations > 0) == (True, True)
    none = endless.run(1, engine="fast", limits=Limits(seconds=0))
    assert (limit_of(none), none.firings) == ("seconds", 0)
    assert fib.run(5, engine="fast", limits=Limits(seconds=60)).value == 8


@pytest.mark.parametrize("name", ["waves", "lifo"])
def test_bytes(name: str) -> None:
    """S12: a growing run stops before its arrays exceed the limit on bytes; with a limit of 0 it does not begin."""
    assert limit_of(fib.run(5, engine="fast", schedule=name, limits=Limits(bytes=1))) == "bytes"
    room = 64 * 2**20
    limits = Limits(bytes=resident_memory() + room, firings=10**15, tokens=10**15, depth=10**15)
    begin = resident_memory()
    out = flood.run(1, engine="fast", schedule=name, limits=limits)
    assert limit_of(out) == "bytes" and resident_memory() - begin < 2 * room


def test_bytes_of_arrays() -> None:
    """Large arrays of the program count for the limit on bytes."""

    @tl.function
    def growing(x: tl.Array[tl.float64, None]) -> tl.Array[tl.float64, None]:
        return growing(x + 1.0) + x

    out = growing.run(np.zeros(2**17), engine="fast", limits=Limits(bytes=resident_memory() + 40 * 2**20, depth=10_000))
    assert limit_of(out) == "bytes" and out.firings < 10 * 200


@pytest.mark.usefixtures("handled")
def test_ctrl_c_completes_the_firing() -> None:
    """Ctrl-C during a print completes that firing, and the reference can continue from the state without printing
    again."""
    for line in range(5):
        world = Witness()

        def press(said: str, world: Witness = world, line: int = line) -> None:
            world.lines.append(said)
            if len(world.lines) == line + 1:
                os.kill(os.getpid(), signal.SIGINT)

        world.print = press  # type: ignore[method-assign]
        run = start_fast_run(printing.graph, [8], "fifo", Limits(), world)
        stopped = run.resume()
        assert isinstance(stopped, tl.Exhausted) and stopped.limit == "interrupt"
        printed = [number for number, node in enumerate(printing.graph.nodes) if node.op == "print"]
        assert sum(run.stats().by_node[number] for number in printed) == len(world.lines)
        assert run.resume() is None and len(world.lines) == 8


CHILD = """
import os, random, signal, sys, threading, time
sys.path.insert(0, {tests!r})
import numpy as np
from support.observe.ctrl_c import press_in_a_run
from support.observe.lateness import is_soon
from support.programs.fast_programs import *
signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs tests in the background ignores it
{code}
"""


def in_a_process(code: str, seconds: float = 250.0) -> list[str]:
    """The output of code in a separate process; fails if the process fails or takes too long."""
    child = CHILD.format(tests=str(TESTS), code=code)
    ran = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, timeout=seconds)
    assert ran.returncode == 0, (ran.returncode, ran.stderr[-2000:])
    return ran.stdout.split()


INTERRUPTED = """
triangle.run(3, engine="fast")  # compiled now
runs = [(endless, 1, "fifo"), (arrays, np.zeros(3), "fifo"), (wide, 17, "random:1")]
runs += [(bounded, 14, "waves"), (far, 1, "waves")]
for function, argument, schedule in runs:
    def seconds_late():
        pressed = press_in_a_run(0.5)
        out = function.run(argument, engine="fast", schedule=schedule, limits=HUGE)
        late = time.perf_counter() - pressed[0]
        assert out.status == "Exhausted" and out.error.limit == "interrupt", out
        assert out.firings > 0 and len(out.stats.by_node) == len(function.graph.nodes)
        assert sum(1 for _ in out.residue) == len(out.residue)
        return late
    print(is_soon(seconds_late, 0.2))
"""


@pytest.mark.full
def test_ctrl_c_ends_any_run() -> None:
    """Ctrl-C ends any run within 0.2 s, with an outcome that can be inspected."""
    assert in_a_process(INTERRUPTED) == ["True"] * 5


FUZZED = """
dice = random.Random({seed})
number = lambda: dice.choice((0, 1, dice.randrange(40), dice.randrange(3000), 10**5, 2**62))
for _ in range({runs}):
    function, argument = dice.choice(((triangle, 50), (wide, 9), (bounded, 5), (endless, 1), (arrays, np.zeros(3))))
    seconds = dice.choice((None, 0.0, 0.01))
    limits = Limits(firings=min(number(), 20_000), tokens=number(), depth=number(), seconds=seconds)
    schedule = dice.choice(("waves", "fifo", "lifo", f"random:{{dice.randrange(2**64)}}"))
    until, k = dice.choice(("quiet", "result", "trap")), dice.choice((None, 1, 3, 2**62))
    out = function.run(argument, engine="fast", limits=limits, until=until, schedule=schedule, k=k)
    assert out.firings <= limits.firings and out.stats.deepest_tag <= limits.depth
    assert len(tuple(out.residue)) == len(out.residue)
print({runs})
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("seed", "runs"), [(1, 200), pytest.param(2, 5_000, marks=[pytest.mark.heavy, pytest.mark.timeout(3600)])]
)
def test_no_limit_crashes_the_process(seed: int, runs: int) -> None:
    """No combination of limits, schedule, bound and stops crashes the process or leaves an incomplete outcome."""
    assert in_a_process(FUZZED.format(seed=seed, runs=runs), 3000.0) == [str(runs)]


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("name", ["waves", "lifo"])
@pytest.mark.parametrize("promised", [2**62, 2**28])
def test_large_arrays_are_not_copied_when_they_grow(name: str, promised: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large arrays are allocated with all the room that they may need, so that no copy delays Ctrl-C; if the system
    does not allow that, they get less, and grow later."""
    copied, true_grow, true_aligned = [0], store.TokenStore.grow, store.aligned_words

    def grow(self: store.TokenStore) -> None:
        copied.append(self.growth_bytes())
        true_grow(self)

    def aligned(words: int) -> Any:
        if 8 * words > promised:
            raise MemoryError
        return true_aligned(words)

    monkeypatch.setattr(store.TokenStore, "grow", grow)
    monkeypatch.setattr(store, "aligned_words", aligned)
    out = triangle.run(400_000, engine="fast", schedule=name, limits=Limits(depth=10**6))
    assert (out.value, out.stats.deepest_tag) == (400_000 * 400_001 // 2, 400_000)
    assert max(copied) < (store.SMALL_GROWTH_FACTOR * store.SMALL_ARRAY_BYTES if promised == 2**62 else promised)


DEEP = """
from tagloom.interp.engines.limits import resident_memory
before = resident_memory()
out = triangle.run(10**7, engine="fast", schedule="fifo", limits=Limits(firings=10**10, tokens=10**9, depth=10**8))
if out.status == "Exhausted":
    assert out.error.limit == "bytes" and "bytes of memory" in str(out.error), out.error
else:
    assert out.value == 10**7 * (10**7 + 1) // 2 and out.stats.deepest_tag == 10**7 and not out.residue
print((resident_memory() - before) // 2**20, out.status)
"""


@pytest.mark.heavy
@pytest.mark.timeout(1800)
def test_ten_million_live_activations() -> None:
    """Ten million nested calls return, or end at the limit on bytes, in the memory of their frames."""
    megabytes, status = in_a_process(DEEP, 1500.0)
    print(megabytes, "MiB", status)
    assert status in ("Returned", "Exhausted")


@pytest.mark.full
def test_statistics_of_waves_are_copied_on_demand() -> None:
    """A long run returns its outcome at once: figures of waves are copied only when they are read."""

    @tl.function
    def count(n: tl.int64) -> tl.int64:
        return tl.while_loop(lambda i: i < n, lambda i: i + 1, 0)[0]

    out = count.run(3000, engine="fast")
    assert isinstance(out.stats.profile, IntegerSeries) and isinstance(out.stats.waiting, IntegerSeries)
    assert out.stats == count.run(3000, engine="reference").stats
    assert (len(out.stats.profile), sum(out.stats.profile)) == (out.stats.span, out.firings)


@pytest.mark.full
@pytest.mark.parametrize("limit", ["firings", "tokens", "depth", "bytes"])
def test_limits_beyond_words(limit: str) -> None:
    """S12: on every engine, a limit too large for a machine word is no limit."""
    for number in (2**62, 2**63 - 1, 2**63, 10**30):
        for engine in ("fast", "compiled", "reference"):
            assert fib.run(5, engine=engine, limits=Limits(**{limit: number})).value == 8
