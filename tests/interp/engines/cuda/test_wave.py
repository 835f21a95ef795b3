"""Waves on the device leave the reference's states at the same ticks of its clock."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from support.laws.fast_laws import comparable_fields
from support.laws.wave_laws import ticks, wave_differences
from support.programs.hand_written_graphs import counting_loop
from tagloom.core import dtypes
from tagloom.core.frontend.trace.pytree import flat_treedef
from tagloom.core.graph.graph import Graph
from tagloom.core.text import parse_graph
from tagloom.core.types import Type
from tagloom.core.value import admit
from tagloom.interp.engines.cuda import device, kernels
from tagloom.interp.engines.cuda.wave import WaveRun
from tagloom.interp.engines.cuda.wave_kernels import KERNELS
from tagloom.interp.engines.fast.layout import Register
from tagloom.interp.engines.jit import cache
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import admit_arguments, first_state, run_graph
from tagloom.interp.image.image import Image, build_image

ENDING = ("status", "results", "residue", "open", "trapped")
NUMBERS = [name for name, dtype in dtypes.BY_NAME.items() if dtype.kind in "iuf"]


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def nested(n: tl.int64) -> tl.int64:
    """A nested loop; the inner one makes no trip the first time."""

    def outer(i: tl.int64, s: tl.int64) -> Any:
        return i + 1, tl.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + j * i), 0, s)[1]

    return tl.while_loop(lambda i, s: i < n, outer, 0, 0)[1]


@tl.function
def even(n: tl.int64) -> tl.bool:
    return tl.cond(n == 0, lambda: True, lambda: odd(n - 1))


@tl.function
def odd(n: tl.int64) -> tl.bool:
    return tl.cond(n == 0, lambda: False, lambda: even(n - 1))


@tl.function
def two_results(n: tl.int64, x: tl.float64) -> tl.float64:
    """Two arguments and two results, an unused argument, and calls in a loop."""

    def pair(a: tl.float64, b: tl.int64) -> Any:
        return tl.where(a > 2.0, a, -a), a * 2.0

    def step(i: tl.int64, s: tl.float64) -> Any:
        one, two = pair(s, i)
        return i + 1, one + two

    return tl.while_loop(lambda i, s: i < n, step, 0, x)[1]


def loop_over(dtype: tl.DType) -> Graph:
    """A loop and calls in which a number of this dtype overflows, by addition or by squares."""

    def python(n: Any, x: Any) -> Any:
        def step(i: Any, y: Any) -> Any:
            return i + 1, tl.cond(y > x, lambda: y + x, lambda: y * y)

        return tl.while_loop(lambda i, y: i < n, step, 0, x)[1]

    python.__annotations__ = {"n": tl.int64, "x": dtype, "return": dtype}
    return tl.function(python).graph


def started_run(graph: Graph, arguments: Sequence[Any]) -> WaveRun:
    return WaveRun(first_state(graph, admit_arguments(graph, arguments), "waves"), Limits())


def differences(graph: Graph, arguments: Sequence[Any]) -> list[str]:
    """Where a wave leaves another state than the reference."""
    return list(wave_differences(started_run(graph, arguments), graph, arguments, Limits()))


@tl.function
def quotient(n: tl.int64) -> tl.int64:
    """Divides by 2, 1 and 0, while calls continue."""
    return tl.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + n // (2 - i) + fib(i)), 0, 0)[1]


@tl.function
def powers(x: tl.float64) -> tl.float64:
    """A loop in a loop, whose gradient goes back through the iterations of both."""

    def outer(i: Any, y: Any) -> Any:
        return i + 1, tl.while_loop(lambda j, _: j < i, lambda j, t: (j + 1, t * x + y), 0, y)[1]

    return tl.while_loop(lambda i, _: i < 3, outer, 0, x)[1]


@tl.function
def power(x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.cond(n <= 0, lambda: x * 0.0 + 1.0, lambda: x * power(x, n - 1))


TRIPS = parse_graph("""
graph twice(x: int64) -> int64 {
  site twice.first calls trips
  site twice.second calls trips
  send = call[first] x
  back = return[first] trips.out:1
  send_again = call[second] back
  back_again = return[second] trips.out:1
  trips.x = merge send, send_again
  trips.entered = enter[up] trips.x
  trips.i = merge trips.entered, trips.next
  trips.below = less trips.i, 5
  trips.way = switch trips.i, trips.below
  trips.j = add trips.way:0, 1
  trips.next = next_iteration[up] trips.j
  trips.out = exit[up] trips.way:1
  return back_again
}
""")
"""How many trips a loop makes is what a function returns, to two places."""
COUNTING = counting_loop([("total", 0), ("trips", 1)])
GRAPHS = [
    (quotient.graph, (9,)),
    (COUNTING, (3,)),
    (TRIPS, (2,)),
    (fib.graph, (5,)),
    (nested.graph, (4,)),
    (even.graph, (5,)),
    (two_results.graph, (3, -1.5)),
    (tl.grad(powers).trace(1.25).graph, (1.25,)),
    (tl.grad(power).trace(1.25, 3).graph, (1.25, 3)),
]


@pytest.mark.full
@pytest.mark.parametrize(
    ("graph", "arguments"),
    GRAPHS,
    ids=["quotient", "count", "trips", "fib", "nested", "even", "two_results", "powers", "power"],
)
def test_every_wave(graph: Graph, arguments: tuple[Any, ...]) -> None:
    """After every wave, the tokens in flight, the waiting tokens, the open activations and the traps are the
    reference's."""
    assert not differences(graph, arguments)


@pytest.mark.full
@pytest.mark.parametrize("name", NUMBERS)
def test_every_wave_of_a_loop_over_a_dtype(name: str) -> None:
    """Numbers of every dtype wrap, round and overflow as in the reference."""
    dtype = dtypes.BY_NAME[name]
    large = dtype.range[1] - 1 if dtype.is_integer else float(dtype.limits.max) / 2
    assert not differences(loop_over(dtype), (4, admit(large, Type(dtype))))


def test_kernels_are_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Kernels that one process compiled are on disk for the next, with their machine code if there is any."""
    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path))
    for hits in (0, 1):
        monkeypatch.setattr(cache, "_modules", {})
        loaded = started_run(fib.graph, [3])._kernels
        assert set(loaded) == set(KERNELS)
        if not device.is_simulated():
            assert {name: sum(kernel.stats.cache_hits.values()) for name, kernel in loaded.items()} == dict.fromkeys(
                KERNELS, hits
            )
    (folder,) = (tmp_path / "tagloom").iterdir()
    assert (folder / "wave.py").read_text() == kernels.wave_source(build_image(fib.graph))
    assert (folder / "sums.json").exists()


@pytest.mark.full
def test_an_inspected_run_leaves_nothing() -> None:
    """A run that is inspected after each wave ends without tokens, activations and tags."""
    run = started_run(fib.graph, [4])
    while run.state().flight:
        run.run_waves(1)
    store = run.fallback.store
    assert (store.live_tokens, int(store.registers[Register.OPEN_ACTIVATIONS]), list(store.frames()), store.tags) == (
        0,
        0,
        [],
        {},
    )


@pytest.mark.full
def test_a_started_run_continues_on_the_device() -> None:
    """A run that the reference begins continues on the device after any wave, with the same end."""
    wanted = comparable_fields(run_graph(fib.graph, [4], schedule="waves"))
    for waves in (0, 1, 7, 20):
        *_, state = islice(ticks(fib.graph, [4], Limits()), waves + 1)
        run = WaveRun(state, Limits())
        stopped = run.run_to_end()
        got = comparable_fields(run.outcome(stopped, flat_treedef(1)))
        assert got["stats"].by_node == wanted["stats"].by_node
        assert [got[key] for key in ENDING] == [wanted[key] for key in ENDING]


COMPILE = """
import sys
from pathlib import Path
from types import SimpleNamespace
import numba.cuda.dispatcher
from numba import cuda, int32, int64
import tagloom as tl
from tagloom.interp.engines.cuda import kernels
from tagloom.interp.image.image import build_image

@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2))

numba.cuda.dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))
kernels.describe_device = lambda: "compute capability 9.0"
module = {}
exec(kernels.wave_source(build_image(fib.graph)).replace("cache=True", ""), module)
row, table, tables, profile = int64[::1], int64[:, ::1], int64[:, :, ::1], int32[:, ::1]
rows = row, row, tables, row, table, table, row, table, table, table, row, table, row, profile, table, row
arguments = *rows, int64
Path(sys.argv[1]).write_text(cuda.compile_ptx(module["deliver_wave"].py_func, arguments, cc=(9, 0))[0])
"""
MAX_REGISTERS = 96
"""The most registers of the kernel with which five blocks of 128 threads run on a multiprocessor at once."""


@pytest.mark.full
def test_the_kernel_compiles_for_a_gpu(tmp_path: Path) -> None:
    """Without a device, numba-cuda compiles the kernel to PTX; ptxas, where it is installed, to machine code without
    spills."""
    if importlib.util.find_spec("numba_cuda") is None:
        pytest.skip("numba-cuda is not installed: pip install numba-cuda[cu12]")
    environment, ptx = {**os.environ, "NUMBA_ENABLE_CUDASIM": "0"}, tmp_path / "wave.ptx"
    subprocess.run([sys.executable, "-c", COMPILE, str(ptx)], check=True, env=environment)
    assert ".visible .entry" in ptx.read_text()
    if (ptxas := shutil.which("ptxas")) is None:
        pytest.skip("ptxas is not installed")
    command = [ptxas, "-v", "-arch=sm_90", str(ptx), "-o", str(tmp_path / "wave.cubin")]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    registers, spills = re.findall(r"Used (\d+) registers", report), re.findall(r"(\d+) bytes spill", report)
    assert int(registers[0]) <= MAX_REGISTERS and set(spills) == {"0"}, report


# Twins


def widest_difference(monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str]) -> bool:
    """Whether kernels with another text leave a wrong state after some wave of some graph, or fail."""
    used = kernels.wave_source

    def changed_source(image: Image) -> str:
        text = used(image)
        assert change(text) != text
        return change(text)

    monkeypatch.setattr(kernels, "wave_source", changed_source)
    try:
        return any(differences(graph, arguments) for graph, arguments in (*GRAPHS[:1], *GRAPHS[3:5], *GRAPHS[6:8]))
    except (tl.Crash, IndexError, KeyError, ValueError):
        return True


TWINS = {
    "both tokens of a node wait": ("(old_bits | bit) & operand_mask", "old_bits & operand_mask"),
    "two frames for one activation": ("if opened:", "if False:"),
    "an unused frame that seems open": ("            mem[child + 1] = -1\n", ""),
    "the first block ends the wave": ("== cuda.gridDim.x - 1", "== 0"),
    "a closed activation stays pending": ("pending = cuda.atomic.add(mem, frame + 2, -1) - 1", "return"),
    "a block that keeps its counts": ("        if block_counts[number]:", "        if block_counts[number] > 1:"),
    "no trap": ("row = cuda.atomic.add(control, 4, 1)", "row = 10**6"),
    "no link to the iteration before": ("mem[target + link_word] = frame", "pass"),
    "every wave reads the first half": ("half = r[1], r[16] & 1", "half = r[1], 0"),
}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize(("old", "new"), TWINS.values(), ids=[*TWINS])
def test_a_wrong_kernel_is_caught(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """Every wrong kernel leaves a wrong state after some wave."""
    assert widest_difference(monkeypatch, lambda text: text.replace(old, new))


@pytest.mark.full
def test_a_count_before_what_it_depends_on_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that takes a firing's own tokens off its activation before it adds what it sends to another is caught: an
    activation that waits for the result closes."""
    own = "            if own:\n                add_pending(r, mem, frame, own, dropped_tags, totals)\n"

    def earlier(text: str) -> str:
        start, end = text.replace(own, "").split("            if target == frame:\n                own += sent\n", 1)
        start += "            if target == frame:\n                own += sent\n" + own
        return start + end

    assert widest_difference(monkeypatch, earlier)
