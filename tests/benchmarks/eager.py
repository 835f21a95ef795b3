"""Single eager ops compared with other systems: `python tests/benchmarks/eager.py [--quick] [--only NAME...]
[--json FILE]`.

On small arrays, the time of an op is its dispatch. The table has microseconds for one op, alone and while it is
recorded for a gradient. All systems are in one process, on one thread, and take turns, sample by sample; figures
are medians, with the least of all samples in brackets, since other processes slow some down. Samples of recorded
ops include the beginning and end of a tape, or graph, once for 100 ops. The promises, which are about medians, come
last."""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from promises import EAGER, report_promises, summary_line
from surroundings import machine
from table import markdown, number

OPS = {
    "add": "x + y",
    "sub": "x - y",
    "mul": "x * y",
    "scale": "x * 2.0",
    "less": "x < y",
    "tanh": "tanh(x)",
    "exp": "exp(x)",
    "sum": "sum(x)",
    "matmul": "x @ y",
    "reshape": "reshape(x, shape)",
    "index": "x[3]",
    "slice": "x[2:5]",
}
"""What is timed, by name."""
ARRAYS = ("matmul", "reshape", "index", "slice")
"""What numbers do not have."""
KEPT = 100
"""How many ops one tape records."""
ALONE = "    begun = clock()\n    for _ in repeat(None, times):\n        {0}\n    return clock() - begun\n"
RECORDED = """    begun = clock()
    for _ in repeat(None, times // KEPT):
        {1}
            for _ in repeat(None, KEPT):
                {0}
    return clock() - begun
"""


class System(NamedTuple):
    """A system: its module, its names of functions and arrays, and how it records."""

    module: str
    functions: Callable[[Any], dict[str, Any]]
    array: Callable[[Any, Any], Any]
    recording: str = ""


def _named(module: Any) -> dict[str, Any]:
    return {name: getattr(module, name) for name in ("tanh", "exp", "sum", "reshape")}


def _tensorflow(tf: Any) -> dict[str, Any]:
    functions = {"tanh": tf.tanh, "exp": tf.exp, "sum": tf.reduce_sum, "reshape": tf.reshape}
    return functions | {"GradientTape": tf.GradientTape}


def _torch(module: Any, array: Any) -> Any:
    return module.from_numpy(np.array(array))


SYSTEMS = {
    "NumPy": System("numpy", _named, lambda np, array: array[()]),
    "tagloom": System("tagloom", _named, lambda tl, array: tl.asarray(array)),
    "PyTorch": System("torch", _named, _torch),
    "TF eager": System("tensorflow", _tensorflow, lambda tf, array: tf.constant(array)),
    "tagloom, tape": System(
        "tagloom",
        lambda tl: _named(tl) | {"Tape": tl.Tape},
        lambda tl, array: tl.asarray(array),
        "with Tape() as tape:\n            tape.watch((x, y))",
    ),
    "PyTorch, grad": System(
        "torch", _named, lambda torch, array: _torch(torch, array).requires_grad_(), "if True:\n            pass"
    ),
    "TF, tape": System(
        "tensorflow",
        _tensorflow,
        lambda tf, array: tf.constant(array),
        "with GradientTape() as tape:\n            tape.watch((x, y))",
    ),
}


class EagerOp(NamedTuple):
    """An op on arrays of one dtype and shape."""

    op: str
    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        text = "0-d" if not self.shape else "x".join(map(str, self.shape))
        return f"`{OPS[self.op]}` | {text} | {self.dtype}"

    def operands(self) -> tuple[Any, Any]:
        """Those that all systems get."""
        dice = np.random.default_rng(0)
        return tuple(np.asarray(dice.normal(size=self.shape)).astype(self.dtype) for _ in range(2))  # type: ignore[return-value]

    def wanted(self) -> Any:
        """What NumPy gives."""
        return eval(OPS[self.op], _names(SYSTEMS["NumPy"], self))


def cases(only: list[str]) -> Iterator[EagerOp]:
    """All measured ops."""
    for op in only:
        for shape in ((), (10, 10)):
            if shape or op not in ARRAYS:
                yield from (EagerOp(op, dtype, shape) for dtype in ("float32", "float64"))


def _names(system: System, case: EagerOp) -> dict[str, Any]:
    """The names that a statement of a system uses."""
    module = importlib.import_module(system.module)
    x, y = (system.array(module, each) for each in case.operands())
    return {**system.functions(module), "x": x, "y": y, "shape": (5, 20)}


def build_timer(system: System, case: EagerOp) -> Callable[[int], float]:
    """A function that gives the seconds of this many ops; raises ValueError if the values are not NumPy's."""
    names = _names(system, case)
    result = eval(OPS[case.op], dict(names))
    plain = result.detach().numpy() if hasattr(result, "detach") else np.asarray(result)
    if not np.allclose(plain, case.wanted(), rtol=1e-5, atol=1e-6):
        raise ValueError(f"WRONG: {plain} and not {case.wanted()}")
    body = (RECORDED if system.recording else ALONE).format(OPS[case.op], system.recording)
    names |= {"clock": perf_counter, "repeat": importlib.import_module("itertools").repeat, "KEPT": KEPT}
    exec(f"def run(times):\n{body}", names)
    run: Callable[[int], float] = names["run"]
    return run


def measure(case: EagerOp, present: list[str], samples: int, seconds: float) -> dict[str, list[float]]:
    """Microseconds of an op in each system, sample by sample in turns."""
    runs = {name: build_timer(SYSTEMS[name], case) for name in present}
    times = {}
    for name, run in runs.items():
        run(KEPT)
        times[name] = max(1, round(seconds / max(run(10 * KEPT) / 10, 1e-9))) * KEPT
    results: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(samples):
        for name, run in runs.items():
            results[name].append(1e6 * run(times[name]) / times[name])
    return results


def _single_thread(present: list[str]) -> dict[str, str]:
    """One thread for each system; the versions."""
    modules = {SYSTEMS[name].module: importlib.import_module(SYSTEMS[name].module) for name in present}
    if "torch" in modules:
        modules["torch"].set_num_threads(1)
    if "tensorflow" in modules:
        modules["tensorflow"].config.threading.set_intra_op_parallelism_threads(1)
        modules["tensorflow"].config.threading.set_inter_op_parallelism_threads(1)
    return {name: f"{name} {module.__version__}" for name, module in modules.items()}


def line(case: EagerOp, medians: dict[str, float], least: dict[str, float]) -> list[str]:
    """A line of the table: microseconds, and the ratio of tagloom's time to PyTorch's; medians, with the least in
    brackets."""
    ratios = []
    for ours, theirs in (("tagloom", "PyTorch"), ("tagloom, tape", "PyTorch, grad")):
        both = {ours, theirs} <= set(least)
        ratios.append(f"{medians[ours] / medians[theirs]:.2f} ({least[ours] / least[theirs]:.2f})" if both else "")
    return [str(case), *(f"{number(medians[name])} ({number(least[name])})" for name in least), *ratios]


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few and short samples, for trying")
    parser.add_argument("--only", nargs="+", choices=list(OPS), default=list(OPS), metavar="NAME", help=" ".join(OPS))
    modules = sorted({system.module for system in SYSTEMS.values()})
    parser.add_argument("--systems", nargs="+", choices=modules, default=modules, help="these only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all samples")
    asked, about = parser.parse_args(), machine()
    absent = [name for name in asked.systems if importlib.util.find_spec(name) is None]
    present = [name for name, each in SYSTEMS.items() if each.module in asked.systems and each.module not in absent]
    versions = _single_thread(present)
    gc.freeze()  # collections of garbage are not to look through what all systems have imported
    samples, seconds = (3, 0.0005) if asked.quick else (60, 0.002)
    results = {case: measure(case, present, samples, seconds) for case in cases(asked.only)}
    least = {case: {name: min(each) for name, each in row.items()} for case, row in results.items()}
    where = f"{about['processor']}, {about['processors']} processors, load {about['load']:.1f} at first"
    missing = [f"Not installed: {', '.join(absent)}."] * bool(absent)
    header = ["op", "shape", "dtype", *present, "tagloom / PyTorch", "recorded"]
    medians = {case: {name: statistics.median(each) for name, each in row.items()} for case, row in results.items()}
    table = markdown(header, [line(case, medians[case], row) for case, row in least.items()])
    by_op = {str(case): row for case, row in medians.items()}
    kept = [report_promises(by_op, EAGER), f"Promises: {summary_line(by_op, EAGER)}."]
    print("\n\n".join([f"{about['date']}, {where}", ", ".join(versions.values()), *missing, table, *kept]))
    if asked.json:
        rows = [{**case._asdict(), "microseconds": row} for case, row in results.items()]
        asked.json.write_text(json.dumps({"machine": about, "versions": versions, "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
