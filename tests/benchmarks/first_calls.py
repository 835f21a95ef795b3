"""Where the first call of `compiled` spends processor time: `python tests/benchmarks/first_calls.py [--only NAME...]
[--runs N] [--empty] [--names]`.

Each run is a process of its own, with a copy of a cache that has only what all programs share; with `--empty`, with an
empty one. Timers stand around the passes of numba and the calls of LLVM, and a stage within another one does not count
for the outer one. A figure is the median of the runs. Then comes the first call in a second process, which finds all
code on disk. Where JAX is installed, the last line has the first call of its step, in processes that take turns with
the others; JAX is imported before it, numba during it."""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from table import markdown, number

HERE = Path(__file__).resolve().parent
ROWS = {"softmax": 10, "mlp": 100, "lstm": 32, "treernn": 1, "treelstm": 1, "l2hmc": 10, "fib": 20}
"""The programs, each with the size of its batch, or its argument. fib is loaded without numba."""
ROWS_OF_JAX = {"softmax", "mlp", "lstm", "l2hmc"}
SHARED_FILES = ("moves.o", "runtime.o", "matmul_*.o", "thread_pool.o")
"""The files in the cache of what all programs share."""
OTHER = "tracing, and all else"
ANALYSES, LOWERING = "numba, of scalar columns: bytecode, type inference", "numba, of scalar columns: lowering to LLVM"
GENERATION, LOADING = "generating text, and from it LLVM's instructions", "importing, and loading shared parts"
TEXT, PASSES, CODE = "LLVM's text, written and read", "LLVM's passes", "LLVM's machine code"
LINKING, CACHE = "linking", "cache on disk, both ways, and loading modules"
STAGES = (OTHER, LOADING, GENERATION, ANALYSES, LOWERING, TEXT, PASSES, CODE, LINKING, CACHE)
COUNTS = ("functions that numba compiles", "LLVM's text, MB")


class StageTimers:
    """Processor time by stage: that of the innermost stage that runs."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.counts: defaultdict[str, float] = defaultdict(float)
        self.names: list[str] = []
        self.active, self.since = [OTHER], time.process_time()

    def switch(self) -> None:
        """Charge the time since the last switch to the active stage."""
        now = time.process_time()
        self.seconds[self.active[-1]] += now - self.since
        self.since = now

    def wrap(self, owner: Any, name: str, stage: str, observe: Callable[..., None] | None = None) -> None:
        """Charge the calls of a function to a stage; `observe` gets the result and the arguments of each."""
        function = getattr(owner, name)

        @functools.wraps(function)
        def timed(*arguments: Any, **options: Any) -> Any:
            self.switch()
            self.active.append(stage)
            try:
                result = function(*arguments, **options)
            finally:
                self.switch()
                self.active.pop()
            if observe is not None:
                observe(result, *arguments)
            return result

        setattr(owner, name, timed)

    def install(self) -> None:
        """Put timers around the stages of numba and LLVM."""
        import llvmlite.binding as llvm
        from llvmlite import ir
        from numba.core import caching, codegen, compiler, typed_passes
        from numba.core.compiler_machinery import PassManager

        def count_text(text: str, *_: Any) -> None:
            self.counts[COUNTS[1]] += len(text) / 2**20

        def count_function(_: Any, pipeline: Any, function: Any, *rest: Any) -> None:
            self.counts[COUNTS[0]] += 1
            self.names.append(function.__qualname__)

        def wrap_generator(*_: Any) -> None:
            function_code = importlib.import_module("tagloom.interp.engines.jit.function_code")
            if not hasattr(function_code._optimize, "__wrapped__"):
                self.wrap(function_code._ModuleCompiler, "compile", GENERATION)
                self.wrap(function_code, "_optimize", PASSES)

        run = importlib.import_module("tagloom.interp.engines.compiled.run")
        self.wrap(run, "load_entry", GENERATION)
        self.wrap(importlib.import_module("tagloom.interp.engines.jit.native"), "execute_head", LOADING, wrap_generator)
        self.wrap(compiler.CompilerBase, "compile_extra", ANALYSES, count_function)
        self.wrap(PassManager, "run", ANALYSES)
        self.wrap(typed_passes.NativeLowering, "run_pass", LOWERING)
        self.wrap(ir.Module, "__repr__", TEXT, count_text)
        self.wrap(ir.Module, "__str__", TEXT)
        self.wrap(llvm, "parse_assembly", TEXT)
        self.wrap(llvm.ModuleRef, "verify", TEXT)
        self.wrap(codegen.CPUCodeLibrary, "_optimize_functions", PASSES)
        self.wrap(codegen.CPUCodeLibrary, "_optimize_final_module", PASSES)
        self.wrap(llvm.ModuleRef, "link_in", LINKING)
        self.wrap(codegen.CPUCodeLibrary, "_get_module_for_linking", LINKING)
        self.wrap(codegen.JITCodeLibrary, "_finalize_specific", CODE)
        self.wrap(llvm.TargetMachine, "emit_object", CODE)
        self.wrap(caching.Cache, "load_overload", CACHE)
        self.wrap(caching.Cache, "save_overload", CACHE)


def first_call(row: str) -> None:
    """In a process of its own: the first call of a row, with the time of each stage."""
    timers = StageTimers()
    import tagloom as tl

    importlib.import_module("tagloom.interp.engines.compiled.run")
    run = build(row, tl)
    timers.install()
    timers.switch()
    timers.seconds.clear()
    begun = time.process_time()
    run()
    timers.switch()
    total = time.process_time() - begun
    print(json.dumps({"seconds": timers.seconds, "counts": timers.counts, "all": total, "names": timers.names}))


def second_process(row: str) -> None:
    """In a process of its own: the first call of a row whose code is on disk."""
    import tagloom as tl

    run = build(row, tl)
    begun = time.process_time()
    run()
    print(json.dumps({"all": time.process_time() - begun}))


def first_call_of_jax(row: str) -> None:
    """In a process of its own: the first call of a row by JAX."""
    step = importlib.import_module("systems.jax_training").step(row, ROWS[row])
    begun = time.process_time()
    step()
    print(json.dumps({"all": time.process_time() - begun}))


def build(row: str, tl: Any) -> Callable[[], Any]:
    """A call of a row."""
    if row == "fib":
        fib = importlib.import_module("systems.tagloom")._of_papers("fib", "fib")
        return lambda: fib.run(ROWS[row], engine="compiled").value
    training = importlib.import_module("systems.tagloom_training")
    step, arguments = training.step(row), training.arguments(row, ROWS[row])
    return lambda: step.run(*arguments, engine="compiled").value


def measure(row: str, folder: str, option: str = "--child") -> dict[str, Any]:
    """The first call of a row in a new process, with this cache."""
    environment = {"PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    environment |= {"TAGLOOM_CACHE": folder, "TAGLOOM_BACKGROUND": "off"}
    environment |= {"PYTHONDONTWRITEBYTECODE": ""}  # users import compiled modules, too
    command = [sys.executable, str(HERE / "first_calls.py"), option, row]
    process = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=True)
    result: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return result


def shared_cache(folder: str, rows: list[str]) -> None:
    """Fill a cache with what all programs share: of all that these rows put there, what is not theirs."""
    for row in rows:
        measure(row, folder)
    for path in Path(folder, "tagloom").iterdir():
        if not any(any(path.glob(pattern)) for pattern in SHARED_FILES):
            shutil.rmtree(path)


def main() -> None:
    """Measure the rows, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=ROWS, default=list(ROWS), metavar="NAME")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--empty", action="store_true", help="with an empty cache")
    parser.add_argument("--names", action="store_true", help="also the names of the functions that numba compiles")
    children = {"child": first_call, "second-child": second_process, "jax-child": first_call_of_jax}
    for child in children:
        parser.add_argument(f"--{child}", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    for child, function in children.items():
        if row := getattr(asked, child.replace("-", "_")):
            function(row)
            return
    results: dict[str, list[dict[str, Any]]] = {row: [] for row in asked.only}
    second_results: dict[str, list[float]] = {row: [] for row in asked.only}
    jax_results: dict[str, list[float]] = {row: [] for row in asked.only}
    has_jax = importlib.util.find_spec("jax") is not None
    with TemporaryDirectory() as shared:
        if not asked.empty:
            shared_cache(shared, asked.only)
        for _ in range(asked.runs):
            for row in asked.only:
                with TemporaryDirectory() as folder:
                    shutil.copytree(shared, folder, dirs_exist_ok=True)
                    results[row].append(measure(row, folder))
                    second_results[row].append(measure(row, folder, "--second-child")["all"])
                    if has_jax and row in ROWS_OF_JAX:
                        jax_results[row].append(measure(row, folder, "--jax-child")["all"])

    def medians(part: str, key: str) -> list[str]:
        return [number(statistics.median(run[part].get(key, 0) for run in runs)) for runs in results.values()]

    lines = [[stage, *medians("seconds", stage)] for stage in STAGES]
    lines.append(["all", *(number(statistics.median(run["all"] for run in runs)) for runs in results.values())])
    lines += [[count, *medians("counts", count)] for count in COUNTS]
    lines.append(["second process, all", *(number(statistics.median(runs)) for runs in second_results.values())])
    if has_jax:
        lines.append(["JAX, all", *(number(statistics.median(runs)) if runs else "" for runs in jax_results.values())])
    print(markdown(["stage, s of processor time", *results], lines))
    if asked.names:
        for row, runs in results.items():
            print(row, *sorted(runs[-1]["names"]), sep="\n  ")


if __name__ == "__main__":
    main()
