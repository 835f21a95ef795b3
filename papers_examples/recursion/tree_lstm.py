"""TreeLSTM: each node of a tree has a memory, with a gate for each child.

A node has a visible vector h of 64 numbers, and a memory c of 64 numbers. With s the logistic function,

    a word    i, o, u = word wx + bx                           c = s(i) tanh(u)
    a pair    i, f, g, o, u = concat(h left, h right) wh + bh     c = s(i) tanh(u) + s(f) c left + s(g) c right

and h = s(o) tanh(c) for both; words have 35 numbers. All else is as in tree_rnn.py, whose forms know only the state of
a node: here it is h and c, concatenated. So the recursion, the cells, the loop and the graph for each batch have the
same code for both networks, and their critical paths grow alike.

    tagloom run papers_examples/recursion/tree_lstm.py "[-1, -1, 0]" "[-1, -1, 1]" "[11, 0, -1]" "[1, 2, 0]" "[2]"

Source: the forms are those of "Recursive functions in static dataflow graphs", arXiv 2410.20225; the network, a binary
TreeLSTM of these sizes, is one that papers on recursion in graphs measure. Written from a description.
"""

import numpy as np
import tagloom as tl
from sentiment_trees import NOT_GOOD, REVIEW, WORDS, Trees
from tree_rnn import LABELS, LEARNING, WIDTH, TreeRNN, learning, table

HIDDEN = 64


@tl.autograph.inline
def sigmoid(x):
    return 0.5 * (tl.tanh(0.5 * x) + 1.0)


class TreeLSTM(TreeRNN):
    """The network: the states of nodes, for the forms of `TreeRNN`. A state is both vectors, concatenated."""

    state = tl.Array[tl.float64, 2 * HIDDEN]

    def make(self, weights):
        self.words = weights(len(WORDS), WIDTH, "words")
        self.wx, self.bx = weights(WIDTH, 3 * HIDDEN, "wx"), tl.Variable(np.zeros(3 * HIDDEN), name="bx")
        self.wh, self.bh = weights(2 * HIDDEN, 5 * HIDDEN, "wh"), tl.Variable(np.zeros(5 * HIDDEN), name="bh")
        self.u, self.bs = weights(HIDDEN, LABELS, "u"), tl.Variable(np.zeros(LABELS), name="bs")
        self.decayed_weights = (self.wx, self.wh, self.u)
        self.variables = (self.words, self.wx, self.bx, self.wh, self.bh, self.u, self.bs)

    @tl.autograph.inline
    def leaf(self, word):
        i, o, u = split_vectors(self.words[word] @ self.wx + self.bx)
        return join_state(sigmoid(i) * tl.tanh(u), o)

    @tl.autograph.inline
    def combine(self, left, right):
        (h_left, c_left), (h_right, c_right) = split_vectors(left), split_vectors(right)
        i, f, g, o, u = split_vectors(tl.concat([h_left, h_right]) @ self.wh + self.bh)
        return join_state(sigmoid(i) * tl.tanh(u) + sigmoid(f) * c_left + sigmoid(g) * c_right, o)

    @tl.autograph.inline
    def guess(self, state):
        return tl.log_softmax(state[..., :HIDDEN] @ self.u + self.bs)


@tl.autograph.inline
def join_state(c, o):
    """The state of a node: its visible vector, and its memory c."""
    return tl.concat([sigmoid(o) * tl.tanh(c), c])


@tl.autograph.inline
def split_vectors(x):
    """The vectors of 64 numbers in a concatenation."""
    return [x[k : k + HIDDEN] for k in range(0, x.shape[0], HIDDEN)]


NET = TreeLSTM()


@tl.function
def main(trees: Trees) -> tl.float64:
    return NET.recursion(trees)


@tl.function
def loop(trees: Trees) -> tl.float64:
    return NET.loop(trees)


EXPECTED = [
    {
        "run": ("main", NOT_GOOD),
        "result": 5.755586403685484,
        "within": 1e-12,
        "calls": {"main": 1, "recursion": 1, "node": 3},
        "size": "quick",
    },
    *(
        {"run": (name, REVIEW), "result": 11.254340185797497, "within": 1e-12, "calls": calls, "size": "quick"}
        for name, calls in (("main", {"main": 1, "recursion": 1, "node": 16}), ("loop", {"loop": 1, "loop_1": 1}))
    ),
]


if __name__ == "__main__":
    print("not good: a loss of", float(main(NOT_GOOD)), "before training; the tables take a minute", flush=True)
    print(*table(TreeLSTM(), "span"), "", *LEARNING, learning(TreeLSTM()), sep="\n")
