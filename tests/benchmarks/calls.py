"""The time of a call of a small program: `python tests/benchmarks/calls.py`.

The programs compute `x * 2 + 1` for a number, and for an array of 1,000 float64. The ways take turns in one process; a
figure is the least of many samples of processor time, in microseconds, with the median in brackets. JAX and PyTorch are
left out where they are not installed."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import tagloom as tl
from table import markdown, number

SIZES = {"a number": 3.0, "1,000 elements": np.arange(1000.0)}
ROUNDS, CALLS, FIRST_CALLS = 100, 200, 1000


def formula(x):  # type: ignore[no-untyped-def]
    """The program."""
    return x * 2.0 + 1.0


def jax_call(argument: Any) -> Callable[[], Any] | None:
    """A call of JAX, which waits for the result; None if JAX is not installed."""
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    function = jax.jit(formula)
    return lambda: function(argument).block_until_ready()


def torch_call(argument: Any) -> Callable[[], Any] | None:
    """A call of PyTorch, op by op; None if it is not installed."""
    try:
        import torch
    except ImportError:
        return None
    tensor = torch.tensor(argument)
    return lambda: formula(tensor)


def calls_of(argument: Any) -> dict[str, Callable[[], Any]]:
    """The ways to call the program with an argument."""
    function, by_hand = tl.function(formula), numba.njit(formula)
    array = tl.asarray(argument)
    calls = {
        "f(x)": lambda: function(argument),
        "f(x) of an array of tagloom": lambda: function(array),
        'f.run(x, engine="compiled")': lambda: function.run(argument, engine="compiled").value,
        "numba": lambda: by_hand(argument),
        "JAX": jax_call(argument),
        "PyTorch": torch_call(argument),
        "NumPy": lambda: formula(argument),
    }
    return {name: call for name, call in calls.items() if call is not None}


def microseconds(calls: dict[str, Callable[[], Any]]) -> dict[str, list[float]]:
    """The processor time of each call, in samples."""
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(FIRST_CALLS):
            call()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            begin = time.process_time()
            for _ in range(CALLS):
                call()
            samples[name].append((time.process_time() - begin) / CALLS * 1e6)
    return samples


def main() -> None:
    """Measure, and print a table."""
    os.environ["TAGLOOM_ENGINE"] = "compiled"
    results = {size: microseconds(calls_of(argument)) for size, argument in SIZES.items()}
    names = next(iter(results.values()))
    lines = [
        [name, *(f"{number(min(each[name]))} ({number(statistics.median(each[name]))})" for each in results.values())]
        for name in names
    ]
    print(markdown(["call", *(f"{size}, us" for size in results)], lines))


if __name__ == "__main__":
    main()
