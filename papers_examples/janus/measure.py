"""Times of the TreeRNN over node objects, in one run: Python on eager arrays, speculated, and PyTorch if it is there.

    python papers_examples/janus/measure.py

Each way encodes the same eight trees until it has taken half a second, at least three times; the table has the least
time in milliseconds. The first three runs, which watch and compile, do not count.
"""

import os
import sys
import time
from pathlib import Path


def least_time(run, seconds=0.5):
    """The least time that a way takes, in milliseconds."""
    for _ in range(3):
        run()
    times = []
    while sum(times) < seconds or len(times) < 3:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1000.0 * min(times)


def torch_way(tree_rnn):
    """The same network and trees in PyTorch, which runs them op by op; None where it is not installed."""
    try:
        import torch
    except ImportError:
        return None

    def array(numbers):
        return torch.tensor(numbers, dtype=torch.float64)

    left, right, bias = map(array, tree_rnn.random_weights())

    def encode(node):
        if node.left is None:
            return node.vector
        return torch.tanh(encode(node.left) @ left + encode(node.right) @ right + bias)

    trees = tree_rnn.random_trees(array)

    def run():
        with torch.no_grad():
            return [encode(tree) for tree in trees]

    return run


def main():
    os.environ.setdefault("TAGLOOM_ENGINE", "compiled")
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import tagloom as tl
    import tree_rnn

    model, trees = tree_rnn.model(), tree_rnn.random_trees()
    speculated = tl.speculate(engine="compiled")(tree_rnn.encode)  # of a chosen engine, even where it is slower
    ways = {
        "Python on eager arrays": lambda: [tree_rnn.encode(model, tree) for tree in trees],
        "tl.speculate": lambda: [speculated(model, tree) for tree in trees],
        "PyTorch, eager": torch_way(tree_rnn),
    }
    times = {name: least_time(run) for name, run in ways.items() if run is not None}
    print("| eight trees of 20 to 60 leaves | milliseconds | as fast as eager tagloom |", "|---|---|---|", sep="\n")
    for name, milliseconds in times.items():
        print(f"| {name} | {milliseconds:.3g} | {times['Python on eager arrays'] / milliseconds:.3g} times |")


if __name__ == "__main__":
    main()
