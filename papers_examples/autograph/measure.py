"""The table of docs/papers.md: what the paper reports, and what is measured here.

    python papers_examples/autograph/measure.py

Each way of running a program is run until it has taken half a second, at least three times; the table has the least
time in milliseconds. The first run, which traces and compiles, does not count. Programs run on the engine `compiled`,
unless TAGLOOM_ENGINE names another.
"""

import importlib
import os
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PROGRAMS = ("dynamic_rnn", "mnist", "beam_search", "lbfgs", "maml", "seq2seq", "tree_lstm", "tree_prod")
HEADING = ["| program | the paper | here: milliseconds | as fast as eager |", "|---|---|---|---|"]


def least_time(run, seconds=0.5):
    """The least time that a way takes, in milliseconds."""
    run()
    times = []
    while sum(times) < seconds or len(times) < 3:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1000.0 * min(times)


def row(name):
    """A program's row."""
    module = importlib.import_module(name)
    times = {way: least_time(run) for way, run in module.WAYS.items()}
    eager = times["eager"]
    cells = ", ".join(f"{way} {milliseconds:.3g}" for way, milliseconds in times.items())
    ratios = ", ".join(f"{way} {eager / time:.3g} times" for way, time in times.items() if way != "eager")
    return f"| [{name}](../papers_examples/autograph/{name}.py) | {module.CLAIM} | {cells} | {ratios} |"


def main():
    os.environ.setdefault("TAGLOOM_ENGINE", "compiled")
    sys.path.insert(0, str(FOLDER))
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}", file=sys.stderr)
    print(*HEADING, sep="\n")
    for name in PROGRAMS:
        print(row(name), flush=True)


if __name__ == "__main__":
    main()
