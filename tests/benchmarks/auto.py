"""A step that is called often, on `auto`: `python tests/benchmarks/auto.py [--calls N]`.

A training step of a small perceptron with Adam is called a thousand times, where nothing is compiled yet. The total is
compared with that of `compiled`, whose code is there, and what the reference takes until it is there. The exit code is
1 if the total is more than 1.3 times as much, or the parameters differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
from surroundings import machine
from table import markdown, number

PROMISE = 1.3
SIZES, BATCH = (16, 32, 4), 8


def build_step() -> tuple[Any, tuple[Any, ...], Any]:
    """The step, its arguments, and the parameters that it changes."""
    import tagloom as tl

    generator = np.random.default_rng(0)
    inputs, hidden, outputs = SIZES
    shapes = {"w1": (inputs, hidden), "b1": (hidden,), "w2": (hidden, outputs), "b2": (outputs,)}
    variables = {name: tl.Variable(0.3 * generator.normal(size=shape), name=name) for name, shape in shapes.items()}
    optimizer = tl.optimizers.Adam(0.001)

    def loss(x: Any, y: Any) -> Any:
        v = variables
        return tl.mean((tl.tanh(x @ v["w1"] + v["b1"]) @ v["w2"] + v["b2"] - y) ** 2)

    @tl.function
    def step(x: Any, y: Any) -> Any:
        value, gradients = tl.value_and_grad(loss, variables)(x, y)
        optimizer.apply(gradients, variables)
        return value

    optimizer.make_slots(variables)
    return step, (generator.normal(size=(BATCH, inputs)), generator.normal(size=(BATCH, outputs))), variables


def measure_calls(engine: str, calls: int) -> None:
    """In a process of its own: print the seconds of all calls, of the slowest, until the code was requested, and until
    a call used it; and a checksum of the parameters."""
    step, arguments, variables = build_step()
    traced = step.trace(*arguments)
    from tagloom.interp.engines import auto

    warmup = auto.find_warmup(auto.Job(traced.graph, traced.structure, traced.program))
    if engine == "compiled":
        step.run(*arguments, engine=engine)
    slowest, requested, compiled, firings = 0.0, None, None, None
    began = time.perf_counter()
    for _ in range(calls):
        call = time.perf_counter()
        out = step.run(*arguments, engine=engine, measures=False)
        now = time.perf_counter()
        slowest = max(slowest, now - call)
        if warmup.compilation is not None and requested is None:
            requested = call - began
        if out.engine == "compiled" and compiled is None:
            compiled = now - began
        if out.engine == "reference":
            firings = out.firings
    total = time.perf_counter() - began
    checksum = float(sum(np.sum(np.asarray(each.value)) for each in variables.values()))
    print(json.dumps([total, slowest, requested, compiled, firings, checksum]))


def run_process(engine: str, calls: int, folder: str) -> list[Any]:
    """What `measure_calls` prints in a process whose cache is this folder."""
    environment = {name: value for name, value in os.environ.items() if name != "TAGLOOM_BACKGROUND"}
    command = [sys.executable, __file__, "--engine", engine, "--calls", str(calls)]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment | {"TAGLOOM_CACHE": folder})
    if ran.returncode:
        raise SystemExit(ran.stderr)
    figures: list[Any] = json.loads(ran.stdout)
    return figures


def main() -> int:
    """Measure and print; 1 if the promise is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.engine:
        measure_calls(options.engine, options.calls)
        return 0
    about = machine()
    with tempfile.TemporaryDirectory() as folder:
        auto = run_process("auto", options.calls, folder)
        compiled = run_process("compiled", options.calls, folder)
    rows = [("auto, nothing compiled before", auto), ("compiled", compiled)]
    header = ["engine", "total, s", "slowest call, s", "code requested after, s", "first call with it ended after, s"]
    print(f"{about['date']}, {about['processor']}, {about['processors']} processors, load {about['load']:.1f} at first")
    print(f"\n{options.calls} calls of {auto[4]} firings each\n")
    print(markdown(header, [[name, *(number(each) for each in figures[:4])] for name, figures in rows]))
    if auto[3] is None:
        print("\nThe code was not there before the last call: all calls were on the reference.")
    wait = (auto[0] if auto[3] is None else auto[3]) - auto[2]
    ratio = auto[0] / (compiled[0] + wait)
    is_same = abs(auto[5] - compiled[5]) <= 1e-6 * abs(compiled[5])
    verdict = "met" if ratio <= PROMISE else "missed"
    print(f"\nTotal over `compiled` and the wait: {ratio:.2f}; promised {PROMISE}: {verdict}.")
    if not is_same:
        print(f"WRONG: the parameters add up to {auto[5]}, and not to {compiled[5]}")
    return int(ratio > PROMISE or not is_same)


if __name__ == "__main__":
    sys.exit(main())
