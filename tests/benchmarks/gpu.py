"""What the engine `cuda` takes: `python tests/benchmarks/gpu.py [--quick] [--json FILE] [--minutes M] [--only STEP...]`

Writes one JSON document, of which each step adds its part as soon as it is done. Every step runs in a process of its
own, since a fault on a GPU ends all that a process can do there; a step that takes too long, or comes too late for the
minutes of the whole, is skipped and says so. `--quick` takes the smallest sizes, and runs on numba's simulator
(NUMBA_ENABLE_CUDASIM=1), where times mean nothing: it tries the script.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from runpy import run_path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import tagloom as tl
from cores import ack, fib, loops, tak, tree
from numba import cuda
from surroundings import machine
from tagloom.core.errors import TagloomError
from tagloom.interp.engines.cuda import depth_first, device, kernels, map_run, wave
from tagloom.interp.engines.fast.run import FastRun

RUNS = 3
STEP_SECONDS = 240.0
"""The most seconds of a step."""
LIFO_PROGRAMS = 20
"""The most generated programs under `lifo`: each has kernels of its own, which take some seconds to compile."""
RUN_SECONDS = 15.0
"""The limit on the seconds of a run."""
primes = run_path(str(Path(__file__).resolve().parents[2] / "papers_examples" / "recursion" / "primes.py"))["main"]
PUBLISHED = [
    {"system": "GTaP (arXiv 2604.05982), GH200", "program": "fib(40)", "seconds": 0.0768},
    {"system": "GTaP with a sequential cutoff, GH200", "program": "fib(40)", "seconds": 0.0033},
    {"system": "HVM2, RTX 4090", "program": "tree sum, 2^28 leaves", "seconds": 0.82},
    {"system": "HVM2, RTX 4090", "program": "bitonic sort, 2^18", "seconds": 0.24},
]
"""Figures that others have published, on their machines."""


class Row(NamedTuple):
    """A program, its arguments, and arguments to try it with."""

    name: str
    function: Any
    full: tuple[int, ...]
    quick: tuple[int, ...]


ROWS = [
    *(Row(f"fib({n})", fib, (n,), (5,)) for n in range(30, 37)),
    *(Row(f"tree sum, 2^{n} leaves", tree, (n, 0), (3, 0)) for n in (20, 24, 28)),
    Row("tak(24, 16, 8)", tak, (24, 16, 8), (3, 2, 1)),
    Row("ack(3, 8)", ack, (3, 8), (1, 2)),
    Row("primes(7500)", primes, (7500,), (4,)),
    Row("1,000 loops of 1,000 iterations in a loop", loops, (1000,), (2,)),
]
UNWRITTEN = {"bitonic sort, 2^18": "HVM2's program sorts a tree of values; `cuda` has scalars only"}
"""Programs that the engine has no form for, and why."""
WAYS: dict[str, dict[str, Any]] = {
    "cuda, waves": {"engine": "cuda", "schedule": "waves"},
    "cuda, lifo": {"engine": "cuda", "schedule": "lifo"},
    "fast, lifo": {"engine": "fast", "schedule": "lifo"},
    "fast, all cores": {"engine": "fast", "cores": len(os.sched_getaffinity(0))},
    "compiled": {"engine": "compiled"},
}


@tl.function
def collatz(n: tl.int64) -> tl.int64:
    k = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return k


@tl.function
def mandelbrot(x: tl.float64, y: tl.float64) -> tl.int64:
    a, b, k = 0.0, 0.0, 0
    while a * a + b * b <= 4.0 and k < 100:
        a, b, k = a * a - b * b + x, 2.0 * a * b + y, k + 1
    return k


# Measuring


class DeviceUse:
    """What runs do on the device: the bytes that they allocate, the seconds of each kernel, and runs left to `fast`."""

    def __init__(self) -> None:
        self.bytes, self.moved_runs, self.kernel_seconds = 0, 0, Counter[str]()
        self._allocate, self._resume = wave.allocate, FastRun.resume

    def note(self) -> None:
        """Note allocations and moves from here on."""

        def allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
            self.bytes += math.prod(shape) * dtype.itemsize
            return self._allocate(shape, dtype)

        def resume(run: FastRun, *arguments: Any) -> Any:
            self.moved_runs += 1
            return self._resume(run, *arguments)

        wave.allocate = depth_first.allocate = map_run.allocate = allocate
        FastRun.resume = resume

    def time_kernels(self) -> None:
        """Time each launch from here on. The host waits before and after it, so kernels run one at a time."""

        def timed(launch: Callable[..., None]) -> Callable[..., None]:
            def launch_timed(kernel: Any, count: int, *arguments: Any) -> None:
                device.numba_cuda().synchronize()
                begin = time.perf_counter()
                launch(kernel, count, *arguments)
                device.numba_cuda().synchronize()
                self.kernel_seconds[kernel.py_func.__name__] += time.perf_counter() - begin

            return launch_timed

        depth_first.launch, map_run.launch = timed(depth_first.launch), timed(map_run.launch)
        wave.launch_blocks = timed(wave.launch_blocks)


def time_run(function: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, float]:
    """The outcome of a run, and its seconds."""
    begin = time.perf_counter()
    outcome = function.run(*arguments, limits=tl.Limits(depth=10**6, seconds=RUN_SECONDS), **options)
    return outcome, time.perf_counter() - begin


def measure(function: Any, arguments: tuple[Any, ...], options: dict[str, Any], quick: tuple[Any, ...]) -> Any:
    """The figures of one way to run a program; the first run, on small arguments, loads and compiles its code."""
    begin, use = time.perf_counter(), DeviceUse()
    try:
        time_run(function, quick, options)
    except TagloomError as error:
        return {"refused": " ".join(str(error).splitlines()[1:2] or [str(error)]).strip().removeprefix("got: ")}
    compiling, samples = time.perf_counter() - begin, list[float]()
    use.note()
    while len(samples) < RUNS and sum(samples) < RUN_SECONDS:
        outcome, seconds = time_run(function, arguments, options)
        samples.append(seconds)
        if outcome.status != "Returned":
            break
    figures = {"first_call": compiling, "seconds": samples, "status": outcome.status}
    if outcome.status == "Returned":
        figures["value"] = int(outcome.value) if np.ndim(outcome.value) == 0 else int(np.sum(outcome.value))
    if outcome.measured_stats is not None:
        calls = sum(outcome.stats.activations_by_site.values()) + 1
        figures |= {"firings": outcome.firings, "calls": calls, "span": outcome.stats.span}
        figures |= {f"{name}_per_second": figures[name] / median(samples) for name in ("firings", "calls")}
    if options["engine"] == "cuda":
        figures |= {"bytes_allocated": use.bytes // len(samples), "runs_left_to_fast": use.moved_runs}
        use.time_kernels()
        _, seconds = time_run(function, arguments, options)
        share = 1 - min(sum(use.kernel_seconds.values()) / median(samples), 1)
        figures |= {
            "kernel_seconds": dict(use.kernel_seconds),
            "share_outside_kernels": share,
            "one_at_a_time": seconds,
        }
    return figures


# Steps: each is a function of whether sizes are small


def surroundings(is_quick: bool) -> Any:
    facts = machine() | {"device": device.describe_device()}
    if not device.is_simulated():
        current = device.numba_cuda().get_current_device()
        facts |= {"name": str(current.name), "multiprocessors": current.MULTIPROCESSOR_COUNT}
    return facts


def correctness(is_quick: bool) -> Any:
    """Generated programs compared with the reference: of 600, those without ops of a GPU's own library."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from hypothesis import HealthCheck, Phase, given, settings
    from support.generators.scalar_cases import scalar_cases
    from support.laws.wave_laws import outcome_differences
    from support.observe.kernel_tables import ELEMENTARY
    from tagloom.core.graph.lower import lower
    from tagloom.core.value import fingerprint
    from tagloom.interp.engines.protocol import Job, RunOptions
    from tagloom.interp.engines.reference import default_structure, run_graph
    from tagloom.interp.engines.registry import find_engine, run

    if not device.is_simulated():
        kernels.opcodes_of = lambda image: (None, None)  # one kernel for all programs, compiled once
    counts, wrong, limits = Counter[str](), list[str](), tl.Limits(firings=200 if is_quick else 2_000)

    @settings(
        max_examples=8 if is_quick else 600, phases=[Phase.generate], deadline=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(scalar_cases())
    def compare(case: Any) -> None:
        graph = lower(case.program)
        if not ELEMENTARY.isdisjoint(node.op for node in graph.nodes):
            return
        wanted = run_graph(graph, case.arguments, limits=limits)
        job = Job(graph, default_structure(graph), case.program)
        for schedule in ("waves", "lifo"):
            options = RunOptions(schedule=schedule, limits=limits)
            if find_engine("cuda").unsupported(job, options) is not None:
                counts[f"{schedule}, refused"] += 1
                continue
            if schedule == "lifo" and wanted.status not in ("Returned", "Trapped"):
                continue  # it may never end without tokens
            if schedule == "lifo" and counts["lifo, compiled"] >= LIFO_PROGRAMS:
                continue
            if schedule == "lifo":
                counts["lifo, compiled"] += 1
            out = run(job, case.arguments, options, "cuda")
            if schedule == "waves":
                differs = bool(outcome_differences(out, wanted, case.arguments, limits))
            else:
                differs = [*map(fingerprint, out.results)] != [*map(fingerprint, wanted.results)]
                differs = out.status != wanted.status or (wanted.status == "Returned" and differs)
            counts[f"{schedule}, {wanted.status}"] += 1
            if differs:
                wrong.append(f"{schedule}: {graph.name} of {case.arguments} is {out.status}, not {wanted.status}")

    compare()
    return {"programs": dict(counts), "wrong": wrong}


def program_step(row: Row) -> Callable[[bool], Any]:
    """The step of a program: all ways to run it, one after another."""

    def step(is_quick: bool) -> Any:
        arguments = row.quick if is_quick else row.full
        found = {way: measure(row.function, arguments, options, row.quick) for way, options in WAYS.items()}
        values = {figures["value"] for figures in found.values() if "value" in figures}
        return found | {"agree": len(values) <= 1}

    return step


def map_step(function: Any, columns: Callable[[int], tuple[Any, ...]]) -> Callable[[bool], Any]:
    """The step of a map, and of a kernel that was written by hand."""

    def step(is_quick: bool) -> Any:
        sizes, found = (8,) if is_quick else (10**6, 10**7), dict[str, Any]()
        mapped = tl.vmap(function)
        for size in sizes:
            quick, arguments = columns(4), columns(size)
            engines = ("cuda", "compiled")
            figures = {name: measure(mapped, arguments, {"engine": name}, quick) for name in engines}
            figures["by hand"] = measure_by_hand(function, arguments)
            figures["torch"] = measure_torch(function, arguments)
            found[f"{size:,} elements"] = figures
        return found

    return step


def measure_by_hand(function: Any, arguments: tuple[Any, ...]) -> Any:
    """A kernel of numba.cuda, with the columns copied to the device and back as in a run."""
    kernel, result = cuda.jit(HAND_WRITTEN[function.name]), np.zeros(len(arguments[0]), np.int64)
    samples = []
    for _ in range(RUNS + 1):
        begin = time.perf_counter()
        columns = [*map(cuda.to_device, arguments)]
        target = cuda.device_array(result.shape, result.dtype)
        device.launch(kernel, len(result), *columns, target)
        target.copy_to_host(result)
        samples.append(time.perf_counter() - begin)
    return {"first_call": samples[0], "seconds": samples[1:], "value": int(result.sum())}


def collatz_by_hand(n: Any, result: Any) -> None:
    i = cuda.grid(1)
    if i < n.size:
        m, k = n[i], 0
        while m > 1:
            m = m // 2 if m % 2 == 0 else 3 * m + 1
            k += 1
        result[i] = k


def mandelbrot_by_hand(x: Any, y: Any, result: Any) -> None:
    i = cuda.grid(1)
    if i < x.size:
        a, b, k = 0.0, 0.0, 0
        while a * a + b * b <= 4.0 and k < 100:
            a, b, k = a * a - b * b + x[i], 2.0 * a * b + y[i], k + 1
        result[i] = k


HAND_WRITTEN = {"collatz": collatz_by_hand, "mandelbrot": mandelbrot_by_hand}


def measure_torch(function: Any, arguments: tuple[Any, ...]) -> Any:
    """Mandelbrot on whole arrays by PyTorch, where it is installed and has the device."""
    try:
        import torch
    except ImportError:
        return {"refused": "torch is not installed"}
    if not torch.cuda.is_available() or function is not mandelbrot:
        return {"refused": "torch has no GPU" if function is mandelbrot else "no form on arrays"}
    samples = []
    for _ in range(RUNS + 1):
        begin = time.perf_counter()
        x, y = (torch.tensor(column, device="cuda") for column in arguments)
        a, b = torch.zeros_like(x), torch.zeros_like(x)
        k = torch.zeros(len(x), dtype=torch.int64, device="cuda")
        inside = torch.ones(len(x), dtype=torch.bool, device="cuda")
        for _ in range(100):
            inside &= a * a + b * b <= 4.0
            k += inside
            a, b = torch.where(inside, a * a - b * b + x, a), torch.where(inside, 2.0 * a * b + y, b)
        value = int(k.sum())
        samples.append(time.perf_counter() - begin)
    return {"first_call": samples[0], "seconds": samples[1:], "value": value}


def sum_of_fibs(numbers: Any, totals: Any) -> None:
    i = cuda.grid(1)
    if i < numbers.size:
        stack = cuda.local.array(64, np.int64)
        stack[0], top, total = numbers[i], 1, 0
        while top > 0:
            top -= 1
            m = stack[top]
            while m > 1:
                stack[top] = m - 2
                top += 1
                m -= 1
            total += m
        cuda.atomic.add(totals, 0, total)


def fib_by_hand(is_quick: bool) -> Any:
    """fib by a kernel that was written by hand: the host finds the calls of one depth, and a thread computes each, with
    a stack in local memory."""
    n, cutoff = (9, 3) if is_quick else (36, 18)
    leaves = Counter({n: 1})
    for _ in range(cutoff):
        children = Counter[int]()
        for m, count in leaves.items():
            for child in (m - 1, m - 2) if m > 1 else (m,):
                children[child] += count
        leaves = children
    column = np.repeat(np.array([*leaves], np.int64), [*leaves.values()])
    compiled, samples = cuda.jit(sum_of_fibs), list[float]()
    for _ in range(RUNS + 1):
        begin, totals = time.perf_counter(), cuda.to_device(np.zeros(1, np.int64))
        device.launch(compiled, len(column), cuda.to_device(column), totals)
        value = int(totals.copy_to_host()[0])
        samples.append(time.perf_counter() - begin)
    return {"n": n, "threads": len(column), "value": value, "first_call": samples[0], "seconds": samples[1:]}


CHANGES = {
    "as it is": "",
    "counters off": """\
    if number < BLOCK_COUNTERS:
        cuda.atomic.add(block_counts, number, 1)
    else:
        cuda.atomic.add(counts, number, 1)
""",
    "profile off": """\
    profile[r[16], 0] = r[5] - r[15]
    profile[r[16], 1] = r[2]
""",
}
"""Parts of the kernel of a wave that it can do without: counts of firings by node, and the profile of waves."""


def parts_of_a_wave(is_quick: bool) -> Any:
    """What the parts of the kernel of a wave take: fib under `waves` without each."""
    used, found = kernels.wave_source, {}
    for name, part in CHANGES.items():

        def source(image: Any, name: str = name, part: str = part) -> str:
            text = used(image)
            assert part in text, name
            return text.replace(part, "    return\n" if name == "counters off" else "") if part else text

        kernels.wave_source = source
        found[name] = measure(fib, (5,) if is_quick else (32,), WAYS["cuda, waves"], (5,))
    return found


TOOLS = {
    "ncu, a wide wave": ("ncu", ["--kernel-name", "regex:deliver_wave", "--launch-skip", "80", "--launch-count", "1"]),
    "ncu, a round": ("ncu", ["--kernel-name", "regex:run_round", "--launch-skip", "12", "--launch-count", "1"]),
    "memcheck": ("compute-sanitizer", ["--tool", "memcheck"]),
    "racecheck": ("compute-sanitizer", ["--tool", "racecheck"]),
}
"""Tools of CUDA, with their arguments; each runs both schedules, or that of its kernel."""


def tools(is_quick: bool) -> Any:
    """The reports of the tools that are installed."""
    found = {}
    for name, (tool, options) in TOOLS.items():
        if shutil.which(tool) is None:
            found[name] = {"refused": f"{tool} is not installed"}
            continue
        schedules = ["waves"] if "wave" in name else ["lifo"] if "round" in name else ["waves", "lifo"]
        for schedule in schedules:
            size = "28" if tool == "ncu" else "12"
            command = [tool, *options, sys.executable, __file__, "--run", schedule, size]
            ran = subprocess.run(command, capture_output=True, text=True, timeout=STEP_SECONDS / len(TOOLS))
            errors = re.findall(r"ERROR SUMMARY: (\d+)|(\d+) hazards?", ran.stdout)
            found[f"{name}, {schedule}"] = {
                "exit_code": ran.returncode,
                "errors": errors,
                "report": ran.stdout[-20_000:],
            }
    return found


STEPS: dict[str, Callable[[bool], Any]] = {
    "surroundings": surroundings,
    "correctness": correctness,
    "Mandelbrot, mapped": map_step(mandelbrot, lambda n: (np.linspace(-2.0, 1.0, n), np.linspace(-1.0, 1.0, n))),
    "Collatz, mapped": map_step(collatz, lambda n: (np.arange(1, n + 1),)),
    "fib by hand": fib_by_hand,
    **{row.name: program_step(row) for row in ROWS},
    "parts of a wave": parts_of_a_wave,
    "tools": tools,
}


# Runs of steps


def run_step(name: str, *, is_quick: bool, seconds: float) -> Any:
    """What a step finds in a process of its own."""
    command = [sys.executable, __file__, "--step", name, *["--quick"] * is_quick]
    begin = time.perf_counter()
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"skipped": f"it took more than {seconds:.0f} s"}
    if ran.returncode:
        return {"failed": (ran.stdout + ran.stderr)[-4_000:]}
    return json.loads(ran.stdout.splitlines()[-1]) | {"step_seconds": time.perf_counter() - begin}


def failures(document: dict[str, Any]) -> Iterator[str]:
    """The steps that failed, and those with wrong values."""
    for name, found in document["steps"].items():
        if "failed" in found or found.get("wrong") or found.get("agree") is False:
            yield name


def main() -> int:
    """Run one step, or all of them and write the document."""
    parser = argparse.ArgumentParser(description="What the engine cuda takes, as one JSON document.")
    parser.add_argument("--quick", action="store_true", help="the smallest sizes")
    parser.add_argument("--json", default="gpu.json", help="the file to write")
    parser.add_argument("--minutes", type=float, default=24.0, help="the time for all steps")
    parser.add_argument("--only", nargs="+", choices=STEPS, help="some of the steps")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        schedule, size = options.run
        print(fib.run(int(size), engine="cuda", schedule=schedule).value)
        return 0
    if options.step:
        print(json.dumps(STEPS[options.step](options.quick)))
        return 0
    end, document = (
        time.monotonic() + 60 * options.minutes,
        {"published": PUBLISHED, "unwritten": UNWRITTEN, "steps": {}},
    )
    for name in options.only or STEPS:
        seconds = min(STEP_SECONDS, end - time.monotonic())
        found = run_step(name, is_quick=options.quick, seconds=seconds) if seconds > 1 else {"skipped": "no time left"}
        document["steps"][name] = found
        Path(options.json).write_text(json.dumps(document, indent=1))
        print(
            name, *(f"{kind}: {found[kind]}" for kind in ("skipped", "failed", "wrong") if found.get(kind)), flush=True
        )
    wrong = [*failures(document)]
    print(f"wrote {options.json}" + (f"; wrong or failed: {', '.join(wrong)}" if wrong else ""))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
