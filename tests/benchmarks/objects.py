"""Models on Python objects: eager tagloom, speculated, PyTorch eager, and torch.compile with its number of graphs.

    python tests/benchmarks/objects.py [--seconds S] [--backend NAME] [--ablation]

All ways run in one process, in turn, so that a load on the machine meets all of them; the table has the least time of
each in milliseconds. The first five runs, which watch, trace and compile, do not count. Results are compared first. A
TreeRNN and a TreeLSTM encode the same trees of node objects; an RNN takes steps and keeps its state in an attribute.
The functions are the same for both libraries; `library` is an attribute of the models.

With `--ablation`, the other ways are speculation without one of its assumptions: the shapes of arrays, which are open
then, or the classes of objects, which then may be None or of another class at each place; or without both. A way
without a graph has no time. The last row of a model is the parallelism of its graph on the reference machine: how many
nodes fire at a time, on average. That is no speed, and loops are unrolled in all ways or in none: of the four steps of
JANUS's ablation, unrolling and parallel execution are not measured.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

SIZE = 16
ENGINE = os.environ.get("TAGLOOM_ENGINE", "compiled")
LEAVES = (20, 30, 25, 40)
WARMING_RUNS = 5
WALK_SECONDS = 60.0
"""How long to wait for the machine code that reads objects; without it, Python reads them."""


class Node:
    """A node of a tree: a leaf has a vector, another node two children."""

    def __init__(self, vector, left=None, right=None):
        self.vector, self.left, self.right = vector, left, right


class Model:
    """Weights of these shapes, by name."""

    def __init__(self, library, array, **shapes):
        self.library, self.steps = library, 0
        for seed, (name, shape) in enumerate(shapes.items()):
            setattr(self, name, array(numbers(shape, seed)))


def numbers(shape, seed):
    """Nested lists of random numbers."""
    draw = random.Random(seed)

    def nested(sizes):
        return [nested(sizes[1:]) for _ in range(sizes[0])] if sizes else draw.uniform(-0.3, 0.3)

    return nested(shape)


def make_trees(array):
    """Random trees, whose vectors `array` makes."""
    draw = random.Random(1)

    def tree(leaves):
        vector = array([draw.uniform(-0.3, 0.3) for _ in range(SIZE)])
        if leaves == 1:
            return Node(vector)
        count = draw.randrange(1, leaves)
        return Node(vector, tree(count), tree(leaves - count))

    return [tree(leaves) for leaves in LEAVES]


def encode_tree(model, node):
    """The vector of a tree, by a TreeRNN."""
    if node.left is None:
        return node.vector
    children = encode_tree(model, node.left) @ model.left + encode_tree(model, node.right) @ model.right
    return model.library.tanh(children + model.bias)


def encode_with_memory(model, node):
    """The visible vector and the memory of a tree, by a TreeLSTM."""
    sigmoid, tanh = model.library.sigmoid, model.library.tanh
    if node.left is None:
        gates = node.vector @ model.leaf
        memory = sigmoid(gates[0:16]) * tanh(gates[16:32])
        return sigmoid(gates[32:48]) * tanh(memory), memory
    left, left_memory = encode_with_memory(model, node.left)
    right, right_memory = encode_with_memory(model, node.right)
    gates = left @ model.left + right @ model.right
    memory = sigmoid(gates[0:16]) * tanh(gates[16:32])
    memory = memory + sigmoid(gates[32:48]) * left_memory + sigmoid(gates[48:64]) * right_memory
    return sigmoid(gates[64:80]) * tanh(memory), memory


def encode_by_lstm(model, node):
    """The vector of a tree, by a TreeLSTM."""
    hidden, _ = encode_with_memory(model, node)
    return hidden


def run_steps(model, x):
    """Fifty steps of an RNN, whose state is an attribute."""
    for _ in range(50):
        model.state = model.library.tanh(x + model.state @ model.weight)
        model.steps += 1
    return model.state


ROWS: dict[str, tuple[Callable[..., Any], dict[str, tuple[int, ...]]]] = {
    "TreeRNN": (encode_tree, {"left": (16, 16), "right": (16, 16), "bias": (16,)}),
    "TreeLSTM": (encode_by_lstm, {"leaf": (16, 48), "left": (16, 80), "right": (16, 80)}),
    "RNN": (run_steps, {"weight": (16, 16), "state": (16,)}),
}
"""The function of each row, and the shapes of its weights."""


def make_way(function, library, array, shapes, is_tree):
    """What runs a function over its inputs, once; returns the last result."""
    model = Model(library, array, **shapes)
    inputs = make_trees(array) if is_tree else [array(numbers((SIZE,), 9))]

    def run():
        return [function(model, each) for each in inputs][-1]

    return run


def make_ways(name, backend):
    """The ways to run a row by their names, and a function that says how many graphs torch.compile has made."""
    import tagloom as tl

    function, shapes = ROWS[name]
    rest = shapes, name != "RNN"
    ways = {
        "tagloom, eager": make_way(function, tl, tl.asarray, *rest),
        "tl.speculate": make_way(
            tl.speculate(engine=ENGINE)(function), tl, tl.asarray, *rest
        ),  # even where it is slower
    }
    try:
        import torch
    except ImportError:
        return ways, lambda: 0
    torch.set_grad_enabled(False)
    torch._dynamo.reset()

    def array(values):
        return torch.tensor(values, dtype=torch.float64)

    ways["PyTorch, eager"] = make_way(function, torch, array, *rest)
    ways["torch.compile"] = make_way(torch.compile(function, backend=backend), torch, array, *rest)
    return ways, lambda: torch._dynamo.utils.counters["stats"].pop("unique_graphs", 0)


class Stranger:
    """Objects of this class are at no place."""


@contextmanager
def without_assumptions(drop_shapes: bool, drop_classes: bool) -> Iterator[None]:
    """In the block, graphs are made without assumptions on the shapes of arrays or on the classes of objects."""
    from tagloom.core.types import Type
    from tagloom.interp.speculation.heap import Observation
    from tagloom.interp.speculation.layouts import ArrayLayout, Pool, ReferenceLayout

    sound = Observation.layout_of

    def layout_of(observation: Any, value: Any, place: object) -> Any:
        layout = sound(observation, value, place)
        if drop_shapes and isinstance(layout, ArrayLayout):
            return ArrayLayout(Type(layout.type.dtype, (None,) * len(layout.type.shape or ())))
        if (
            drop_classes
            and isinstance(layout, ReferenceLayout)
            and not any(issubclass(c, Pool) for c in layout.classes)
        ):
            return ReferenceLayout(layout.classes | {Stranger}, True)
        return layout

    with patch.object(Observation, "layout_of", layout_of):
        yield


def parallelism(name):
    """The average number of nodes that fire at a time in the graph of a row, for its largest input."""
    import tagloom as tl

    function, shapes = ROWS[name]
    speculated = tl.speculate(engine="reference")(function)
    run = make_way(speculated, tl, tl.asarray, shapes, name != "RNN")
    for _ in range(WARMING_RUNS):
        run()
    return speculated.last_outcome.stats.parallelism


def make_ablation(name):
    """The ways of an ablation by their names, with the reason for each that has no graph."""
    import tagloom as tl

    function, shapes = ROWS[name]
    rest = tl, tl.asarray, shapes, name != "RNN"
    ways, reasons = {"tagloom, eager": make_way(function, *rest)}, {}
    dropped = {"shapes": (True, False), "classes": (False, True), "shapes and classes": (True, True)}
    for names, options in {"": (False, False), **dropped}.items():
        way = f"without {names}" if names else "tl.speculate"
        speculated = tl.speculate(engine=ENGINE)(function)
        with without_assumptions(*options):
            ways[way] = make_way(speculated, *rest)
            for _ in range(WARMING_RUNS):
                ways[way]()
        if speculated.graph is None:
            reasons[way] = speculated.reason
    return ways, reasons


def load_walk():
    """Wait until the machine code that reads objects is loaded; afterwards, the next run uses it."""
    from tagloom.interp.speculation.walk import find_kernel

    deadline = time.monotonic() + WALK_SECONDS
    while find_kernel() is None and time.monotonic() < deadline:
        time.sleep(0.1)


def least_times(ways, seconds):
    """The least time of each way in milliseconds; the ways take turns."""
    times = {name: [] for name in ways}
    while any(sum(each) < seconds for each in times.values()):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            times[name].append(time.perf_counter() - start)
    return {name: 1000.0 * min(each) for name, each in times.items()}


def main() -> int:
    """Measure and print; returns 1 if two ways have different results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="of each way and row")
    parser.add_argument("--backend", default="inductor", help="of torch.compile")
    parser.add_argument("--ablation", action="store_true", help="without some of the assumptions")
    parser.add_argument("--only", nargs="+", choices=list(ROWS), default=list(ROWS))
    options = parser.parse_args()
    os.environ.setdefault("TAGLOOM_ENGINE", ENGINE)
    load_walk()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    print(
        "| model | way | milliseconds | as fast as PyTorch, or eager tagloom without it | graphs |",
        "|---|---|---|---|---|",
        sep="\n",
    )
    is_right = True
    for name in options.only:
        reasons: dict[str, str] = {}
        if options.ablation:
            (ways, reasons), count_graphs = make_ablation(name), lambda: 0
        else:
            ways, count_graphs = make_ways(name, options.backend)
        for _ in range(WARMING_RUNS):
            results = {way: [float(each) for each in run()] for way, run in ways.items()}
        expected = results["tagloom, eager"]
        is_right &= all(abs(a - b) < 1e-9 for each in results.values() for a, b in zip(each, expected, strict=True))
        graphs = count_graphs()
        times = least_times({way: run for way, run in ways.items() if way not in reasons}, options.seconds)
        base = times.get("PyTorch, eager", times["tagloom, eager"])
        for way, each in times.items():
            made = str(graphs) if way == "torch.compile" else ""
            print(f"| {name} | {way} | {each:.3g} | {base / each:.3g} times | {made} |", flush=True)
        for way, reason in reasons.items():
            print(f"| {name} | {way} | no graph, since {reason} | | |", flush=True)
        if options.ablation:
            print(f"| {name} | parallelism | | {parallelism(name):.3g} nodes at a time | |", flush=True)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
