"""The engine `cuda` under `lifo`: many threads run the calls of a recursion, depth first. All on the simulator."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import Phase, given, settings
from support.generators.generator import Case
from support.generators.scalar_cases import scalar_cases
from support.observe.kernel_tables import ELEMENTARY
from support.programs.recursions import (
    ackermann,
    falling,
    fib,
    fib_twice,
    is_even,
    leaves,
    sum_of_fibs,
    while_even,
)
from tagloom.core.graph.lower import lower
from tagloom.core.value import fingerprint
from tagloom.interp.engines.cuda import depth_first, device
from tagloom.interp.engines.cuda.depth_first import DepthFirstRun
from tagloom.interp.engines.cuda.fork_code import LEFT
from tagloom.interp.engines.cuda.round_kernels import RoundControl
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.protocol import Job, RunOptions
from tagloom.interp.engines.reference import default_structure, run_graph
from tagloom.interp.engines.registry import find_engine, run
from tagloom.interp.outcome.outcome import Outcome

LIFO = RunOptions(schedule="lifo")


def ending(out: Outcome) -> tuple[Any, ...]:
    """The part of an outcome that engines without tokens have: the status, the results, or the first trap."""
    results = [None if result is None else fingerprint(result) for result in out.results]
    return (out.status, results) if out.status != "Trapped" else (out.status, str(out.traps[0]))


def agrees(function: tl.Function, arguments: list[Any], **options: Any) -> bool:
    """Whether a depth-first run ends as on the reference."""
    out = function.run(*arguments, engine="cuda", schedule="lifo", **options)
    assert out.engine == "cuda"
    return ending(out) == ending(function.run(*arguments, engine="reference", **options))


RECURSIONS: dict[str, tuple[tl.Function, list[Any]]] = {
    "fib": (fib, [8]),
    "ackermann": (ackermann, [2, 3]),
    "is_even": (is_even, [9]),
    "leaves": (leaves, [3, np.float32(0.75)]),
    "while_even": (while_even, [7]),
    "sum_of_fibs": (sum_of_fibs, [5]),
    "fib_twice": (fib_twice, [5]),
    "falling": (falling, [3, 5]),
}


def no_second_run(*_: Any, **__: Any) -> None:
    """In place of `run_compiled`, where no run may need it."""
    raise tl.Crash("a run that returns is made again")


@pytest.mark.inner(first=2)
@pytest.mark.parametrize(("function", "arguments"), RECURSIONS.values(), ids=[*RECURSIONS])
def test_recursion(monkeypatch: pytest.MonkeyPatch, function: tl.Function, arguments: list[Any]) -> None:
    """Recursions end as on the reference: with two calls at once, and calls in arguments, loops and conditions."""
    monkeypatch.setattr(depth_first, "run_compiled", no_second_run)
    assert agrees(function, arguments)


@pytest.mark.full
def test_generated_programs() -> None:
    """Generated programs of scalars end as on the reference, with its first trap, or are refused."""
    examples, limits = (40, Limits(firings=2_000)) if device.is_simulated() else (300, Limits(firings=20_000))
    endings, engine = Counter[str](), find_engine("cuda")

    @settings(max_examples=examples, phases=[Phase.generate], deadline=None)
    @given(scalar_cases())
    def ends_alike(case: Case) -> None:
        graph = lower(case.program)
        if not device.is_simulated() and not ELEMENTARY.isdisjoint(node.op for node in graph.nodes):
            return
        job = Job(graph, default_structure(graph), case.program)
        if engine.unsupported(job, LIFO) is not None:
            endings["Refused"] += 1
            return
        wanted = run_graph(graph, case.arguments, limits=limits)
        if wanted.status in ("Returned", "Trapped"):
            with pytest.MonkeyPatch.context() as patch:
                if wanted.status == "Returned":
                    patch.setattr(depth_first, "run_compiled", no_second_run)
                got = run(job, case.arguments, LIFO, "cuda")
            assert ending(got) == ending(wanted)
        endings[wanted.status] += 1

    ends_alike()
    assert endings["Returned"], endings


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[DepthFirstRun]:
    """The depth-first runs of a test."""
    started, initialize = list[DepthFirstRun](), DepthFirstRun.__init__

    def note(self: DepthFirstRun, *arguments: Any) -> None:
        initialize(self, *arguments)
        started.append(self)

    monkeypatch.setattr(DepthFirstRun, "__init__", note)
    return started


def test_frames_are_reused(runs: list[DepthFirstRun]) -> None:
    """Memory is bounded by threads and depth, not by the number of calls; ready calls are distributed."""
    assert agrees(fib, [12])
    if device.is_simulated():
        calls, depth, threads = 465, 12, depth_first.MAX_SIMULATED_THREADS
        assert runs[0].control[RoundControl.NEXT_FRAME] < 2 * threads * depth < calls
    assert runs[0].distributions > 1


@pytest.mark.full
def test_a_chain_of_calls_takes_few_rounds(runs: list[DepthFirstRun]) -> None:
    """Rounds get longer where there is nothing to distribute: a chain of 200 calls is some 800 blocks."""
    assert agrees(is_even, [200])
    assert runs[0].rounds <= 5


@pytest.mark.full
def test_arrays_grow(monkeypatch: pytest.MonkeyPatch, runs: list[DepthFirstRun]) -> None:
    """Frames and the room for ready ones are doubled; a thread that has found no room begins its block again."""
    monkeypatch.setattr(depth_first, "FIRST_FRAMES", 0)
    monkeypatch.setattr(depth_first, "FIRST_ROWS", 2)
    for function, arguments in RECURSIONS.values():
        assert agrees(function, arguments)
    assert max(run.frame_room for run in runs) >= 16 and max(run.rows for run in runs) >= 8


@pytest.mark.full
def test_fuel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that takes more fuel than a round gives is begun again with more."""
    monkeypatch.setattr(depth_first, "FIRST_FUEL", 1)
    monkeypatch.setattr(depth_first, "MAX_FUEL", 1)
    assert agrees(falling, [2, 5]) and agrees(leaves, [2, np.float32(1.5)])


@pytest.mark.full
def test_traps() -> None:
    """A run with traps reports the first in program order, with its operands and the calls around it."""
    assert agrees(falling, [3, 3]) and agrees(falling, [2, 0])


@pytest.mark.full
@pytest.mark.parametrize("depth", [0, 1, 4, 5, 6, 2**64])
def test_the_limit_on_depth_is_exact(depth: int) -> None:
    out = fib.run(6, engine="cuda", schedule="lifo", limits=Limits(depth=depth))
    wanted = fib.run(6, engine="reference", limits=Limits(depth=depth))
    assert (out.status, getattr(out.error, "limit", None)) == (wanted.status, getattr(wanted.error, "limit", None))
    assert out.results == wanted.results


@tl.function
def endless(n: tl.int64) -> tl.int64:
    """A recursion whose calls do not end."""
    loop = lambda: tl.while_loop(lambda k: k >= 0, lambda k: (k * 0,), n)[0]  # noqa: E731
    return tl.cond(n <= 0, loop, lambda: endless(n - 1) + endless(n - 2))


@pytest.mark.full
def test_seconds_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits on seconds and bytes end a run between two rounds."""
    monkeypatch.setattr(depth_first, "FUEL_FACTOR", 1)
    for name, number in (("seconds", 0.2), ("bytes", 1)):
        out = endless.run(3, engine="cuda", schedule="lifo", limits=Limits(**{name: number}))
        assert (out.status, getattr(out.error, "limit", None)) == ("Exhausted", name)


@pytest.mark.full
def test_ctrl_c(handled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a run between two rounds."""
    used, launches = depth_first.launch, list[Any]()

    def launch(*arguments: Any) -> None:
        used(*arguments)
        launches.append(arguments)
        if len(launches) == 1:
            signal.raise_signal(signal.SIGINT)

    fib.run(3, engine="cuda", schedule="lifo")
    monkeypatch.setattr(depth_first, "launch", launch)
    out = fib.run(8, engine="cuda", schedule="lifo")
    assert (out.status, getattr(out.error, "limit", None)) == ("Exhausted", "interrupt")


@tl.function
def loop(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i < n, lambda i: (i + 1,), 0)[0]


@tl.function
def random_tree(n: tl.int64) -> tl.float64:
    return tl.cond(n <= 0, tl.uniform, lambda: random_tree(n - 1) + random_tree(n - 2))


@tl.function
def array_tree(n: tl.int64) -> tl.Array[tl.float64, 2]:
    return tl.cond(n <= 0, lambda: tl.zeros(2), lambda: array_tree(n - 1) + array_tree(n - 2))


REFUSALS: list[tuple[Any, dict[str, Any], str]] = [
    (loop, {}, "it runs depth first only functions that call themselves"),
    (random_tree, {}, "it has no random numbers, as uniform: frames"),
    (array_tree, {}, "it has no kernel for|it supports only scalars"),
    (fib, {"keep": "events"}, "it keeps no events"),
    (fib, {"until": "result"}, "until='result'"),
    (fib, {"k": 2}, "it does not support k-bounds"),
]


@pytest.mark.parametrize(("function", "options", "why"), REFUSALS, ids=[why for _, _, why in REFUSALS])
def test_refusals(function: tl.Function, options: dict[str, Any], why: str) -> None:
    """Unsupported options and programs are refused before the run starts."""
    with pytest.raises(tl.Usage, match=f"engine cuda cannot run this\n  got: .*({why})"):
        function.run(5, engine="cuda", schedule="lifo", **options)


# On a device

COMPILE = """
import sys
from pathlib import Path
from types import SimpleNamespace
import numba.cuda.dispatcher
import tagloom as tl
from numba import cuda, int64
from tagloom.interp.engines.cuda import depth_first

numba.cuda.dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))

@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2))

row, table, module = int64[::1], int64[:, ::1], {}
source = depth_first.round_source(depth_first.fork_code(fib.trace(3).program), is_simulated=False)
exec(source.replace("cache=True", ""), module)
SIGNATURES = {
    "run_round": (row, table, row, row, row, int64),
    "count_ready": (row, table, row, row, int64),
    "sum_keys": (row, row),
    "sort_ready": (row, table, row, row, row, int64),
    "distribute": (table, row, row, row),
}
for name in depth_first.KERNELS:
    text = cuda.compile_ptx(module[name].py_func, SIGNATURES[name], cc=(9, 0))[0]
    Path(sys.argv[1], name + ".ptx").write_text(text)
"""
MAX_REGISTERS = 64
"""The most registers of a kernel with which 1,024 threads run on a multiprocessor at once."""


@pytest.mark.full
def test_kernels_compile_for_a_gpu(tmp_path: Path) -> None:
    """Without a device, numba-cuda compiles the kernels to PTX; ptxas, where it is installed, to machine code without
    spills."""
    if importlib.util.find_spec("numba_cuda") is None:
        pytest.skip("numba-cuda is not installed: pip install numba-cuda[cu12]")
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "0"}
    subprocess.run([sys.executable, "-c", COMPILE, str(tmp_path)], check=True, env=environment)
    files = sorted(tmp_path.glob("*.ptx"))
    assert [path.stem for path in files] == sorted(depth_first.KERNELS)
    if (ptxas := shutil.which("ptxas")) is None:
        pytest.skip("ptxas is not installed")
    for path in files:
        command = [ptxas, "-v", "-arch=sm_90", str(path), "-o", str(path.with_suffix(".cubin"))]
        report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
        registers, spills = re.findall(r"Used (\d+) registers", report), re.findall(r"(\d+) bytes spill", report)
        assert int(registers[0]) <= MAX_REGISTERS and set(spills) == {"0"}, report


# Twins


MAX_LAUNCHES = 200
"""The most launches of a run; right kernels need fewer."""


def is_caught(monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str]) -> bool:
    """Whether kernels with another text end a recursion wrongly, fail, or come to no end."""
    used, used_launch, launches = depth_first.round_source, depth_first.launch, list[Any]()

    def counted_launch(kernel: Any, *arguments: Any) -> None:
        launches.append(kernel)
        if len(launches) > MAX_LAUNCHES:
            raise tl.Crash("the run comes to no end")
        used_launch(kernel, *arguments)

    def changed_source(code: Any, *, is_simulated: bool) -> str:
        text = used(code, is_simulated=is_simulated)
        return change(text)

    monkeypatch.setattr(depth_first, "FIRST_FUEL", 3)
    monkeypatch.setattr(depth_first, "MAX_FUEL", 192)
    monkeypatch.setattr(depth_first, "launch", counted_launch)
    monkeypatch.setattr(depth_first, "round_source", changed_source)
    monkeypatch.setattr(depth_first, "run_compiled", no_second_run)
    try:
        for name in ("fib", "ackermann", "leaves"):
            launches.clear()
            if not agrees(*RECURSIONS[name]):
                return True
    except (tl.Crash, IndexError, ValueError):
        return True
    return False


TWINS = {
    "the first call to return joins": (", -1) == 1:", ", -1) >= 1:"),
    "the last ready frame is lost": ("range(t, control[9]", "range(t, control[9] - 1"),
    "a frame goes to a thread twice": ("            row += 1\n", "            row += place + 1 < control[9]\n"),
    "all calls have the same frame": ("    return frame, free\n", "    return frame - frame % 2, free\n"),
    "a thread forgets the block it was in": ("        pool[frame * FRAME_WORDS + PC] = pc\n", ""),
    "the level is not passed on": (f"* FRAME_WORDS + {LEFT}] = left - 1", f"* FRAME_WORDS + {LEFT}] = 0"),
}


@pytest.mark.full
@pytest.mark.parametrize(("old", "new"), TWINS.values(), ids=[*TWINS])
def test_a_wrong_kernel_is_caught(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """Every wrong kernel is caught by a recursion."""

    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    assert is_caught(monkeypatch, change)


@pytest.mark.full
def test_the_right_kernel_is_not_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_caught(monkeypatch, lambda text: text + "# no change\n")
