"""Models on Python objects: eager tagloom, speculated, PyTorch eager, and torch.compile with its number of graphs.

    python tests/benchmarks/objects.py [--seconds S] [--backend NAME] [--ablation]

All ways run in one process, in turn, so that a load on the machine meets all of them; the table has the least time of
each in milliseconds. The first five runs, which watch, trace and compile, do not count. Results are compared first. A
TreeRNN and a TreeLSTM encode the same trees of node objects; an RNN takes steps and keeps its state in an attribute.
The functions are the same for both libraries; `library` is an attribute of the models.

With `--ablation`, the other ways are speculation without one of its assumptions: the shapes of arrays, which are open
then, or the classes of objects, which then may be None or of another class at each place; or without both; and
speculation that also unrolls loops over ranges whose number of iterations is constant, up to 64. A way without a graph
has no time. The last row of a model is the parallelism of its graph on the reference machine: how many nodes fire at a
time, on average, which is no speed. `--only` may then also name programs of papers_examples/janus: their ways train
models of their own, a step at a time.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

SIZE = 16
ENGINE = os.environ.get("TAGLOOM_ENGINE", "compiled")
LEAVES = (20, 30, 25, 40)
WARMING_RUNS = 5
PROGRAMS = Path(__file__).resolve().parents[2] / "papers_examples" / "janus"
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


@contextmanager
def unrolled_ranges() -> Iterator[None]:
    """In the block, graphs are made with loops over ranges of constant bounds unrolled."""
    from tagloom.interp.speculation.generation import Generation
    from tagloom.interp.speculation.layouts import ConstantLayout
    from tagloom.interp.speculation.staging import MAX_UNROLLED

    run_range = Generation._run_range

    def run_or_unroll(generation: Any, statement: Any, bounds: Any) -> None:
        values = [bound.layout.value for bound in bounds if isinstance(bound.layout, ConstantLayout)]
        if len(values) < len(bounds) or len(range(*values)) > MAX_UNROLLED:
            run_range(generation, statement, bounds)
        else:
            generation._run_unrolled(statement, [generation.constant(value) for value in range(*values)])

    with patch.object(Generation, "_run_range", run_or_unroll):
        yield


def make_program_way(name, decorate):
    """What trains a model of papers_examples/janus by one step, decorated, and returns the loss; the inputs of four
    steps take turns."""
    sys.path.insert(0, str(PROGRAMS))
    module = importlib.import_module(name)
    model, step = module.make(), decorate(type(module.make()).step)
    turns = itertools.cycle([module.inputs(number) for number in range(4)])
    return lambda: [step(model, *next(turns))]


def make_tagloom_way(name, decorate):
    """What runs a row, or a program of papers_examples/janus, in tagloom."""
    import tagloom as tl

    if name not in ROWS:
        return make_program_way(name, decorate)
    function, shapes = ROWS[name]
    return make_way(decorate(function), tl, tl.asarray, shapes, name != "RNN")


def parallelism(name):
    """The average number of nodes that fire at a time in the graph of a row, for its largest input."""
    import tagloom as tl

    functions: list[Any] = []

    def decorate(function):
        functions.append(tl.speculate(engine="reference")(function))
        return functions[0]

    run = make_tagloom_way(name, decorate)
    for _ in range(WARMING_RUNS):
        run()
    return functions[0].last_outcome.stats.parallelism


def make_ablation(name):
    """The ways of an ablation by their names, with the reason for each that has no graph."""
    import tagloom as tl

    ways, reasons = {"tagloom, eager": make_tagloom_way(name, lambda function: function)}, {}
    contexts = {
        "without shapes and classes": without_assumptions(True, True),
        "without shapes": without_assumptions(True, False),
        "without classes": without_assumptions(False, True),
        "tl.speculate": nullcontext(),
        "with ranges unrolled": unrolled_ranges(),
    }
    for _ in range(WARMING_RUNS):
        ways["tagloom, eager"]()
    for way, context in contexts.items():
        functions: list[Any] = []

        def decorate(function, functions=functions):
            functions.append(tl.speculate(engine=ENGINE)(function))
            return functions[0]

        with context:
            ways[way] = make_tagloom_way(name, decorate)
            for _ in range(WARMING_RUNS):
                ways[way]()
        if functions[0].graph is None:
            reasons[way] = functions[0].reason or ["it is not made yet", *functions[0].events][-1]
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
    parser.add_argument("--only", nargs="+", default=list(ROWS), metavar="NAME", help=f"of {', '.join(ROWS)}")
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
            results = {way: [float(each) for each in run()] for way, run in ways.items() if way not in reasons}
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
