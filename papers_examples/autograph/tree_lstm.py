"""A TreeLSTM that recurs over a tree, as one writes it in Python.

`embed` calls itself for the two parts of a node, so the program is one graph for all trees, without annotations on it.
Trees are arrays: `left` and `right` have the numbers of the parts, -1 for a word.

    tagloom run papers_examples/autograph/tree_lstm.py "[1, -1, -1]" "[2, -1, -1]"

Source: TreeLSTM of "AutoGraph" (Moldovan and others, arXiv 1810.08061), from a description; sizes are ours. Its two
published speeds, 36.75 and 15.41 steps a second, are those of Lantern's own logs of 2018.
"""

import numpy as np
import tagloom as tl

UNITS = 8
RNG = np.random.default_rng(9)
WORDS = tl.Variable(RNG.normal(0.0, 0.5, (64, UNITS)), name="words")
WX = tl.Variable(RNG.normal(0.0, 0.4, (UNITS, 3 * UNITS)), name="WX")
WH = tl.Variable(RNG.normal(0.0, 0.4, (2 * UNITS, 5 * UNITS)), name="WH")
Numbers = tl.Array[tl.int64, None]


def parts(x):
    return [x[k : k + UNITS] for k in range(0, x.shape[0], UNITS)]


def embed(i, left, right):
    """The visible vector and the memory of node i."""
    if left[i] < 0:
        enter, out, new = parts(WORDS[i, :] @ WX)
        memory = tl.sigmoid(enter) * tl.tanh(new)
    else:
        h1, c1 = embed(left[i], left, right)
        h2, c2 = embed(right[i], left, right)
        enter, keep1, keep2, out, new = parts(tl.concat([h1, h2]) @ WH)
        memory = tl.sigmoid(enter) * tl.tanh(new) + tl.sigmoid(keep1) * c1 + tl.sigmoid(keep2) * c2
    return tl.sigmoid(out) * tl.tanh(memory), memory


def balanced_tree(depth):
    """A balanced tree with 2^depth words, as the parts of each node: node 0 is the root, i has 2 i + 1 and 2 i + 2."""
    inner = 2**depth - 1
    nodes = tl.arange(2 * inner + 1)
    return tl.where(nodes < inner, 2 * nodes + 1, -1), tl.where(nodes < inner, 2 * nodes + 2, -1)


@tl.function
def main(left: Numbers, right: Numbers) -> tl.float64:
    """The sum of squares of the root's vector."""
    h, _ = embed(0, left, right)
    return tl.sum(h * h)


@tl.function
def gradient(left: Numbers, right: Numbers) -> tl.Array[tl.float64, UNITS, 3 * UNITS]:
    return tl.grad(main, WX)(left, right)


def eager(depth):
    h, _ = embed(0, *balanced_tree(depth))
    return tl.sum(h * h)


PAIR = [1, -1, -1], [2, -1, -1]
EXPECTED = [
    {"run": ("main", *PAIR), "result": 0.04464679108878264, "within": 1e-12, "firings": 161, "size": "quick"},
    {"run": ("main", [-1], [-1]), "result": 0.08683958396454261, "within": 1e-12, "firings": 51, "size": "quick"},
]
WAYS = {"eager": lambda: eager(4), "recursion in the graph": lambda: main(*balanced_tree(4))}
CLAIM = "36.75 steps a second, PyTorch 15.41 (figures of Lantern, not of the front end)"

if __name__ == "__main__":
    print("op by op:", eager(3))
    print("as a program:", main(*balanced_tree(3)), "in", main.run(*balanced_tree(3)).firings, "firings")
