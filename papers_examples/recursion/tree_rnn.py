"""TreeRNN: a network that recurs over its data, on one static graph, in four forms with the same gradients.

A node of a sentiment tree has a vector of 35 numbers. That of a word is looked up; that of a pair is relu(concat(left,
right) w1 + b1). A softmax of every vector predicts the node's label. The loss of some trees is the sum over all their
nodes, for each tree, plus 0.02 times half the sum of squares of the weights.

`recursion`   a call for each node of the data. Calls of siblings run at once, and so do their reverse passes
`cells`       the recursion writes vectors to write-once cells, and one product guesses the labels of all nodes
`loop`        a loop over all nodes, children first, on cells
`unrolled`    Python recurs while it traces: a graph of its own for each batch of trees, with a copy of the body for
              each node; the others have one graph for all trees

All four have the same loss and the same gradients, and differ in their parallelism. The critical path of the recursion
grows with the depth of a tree, by 12 firings a level, and by 26 or 27 with gradients. That of the loop grows with the
size of a tree, however flat it is: its counter starts an iteration every 5 waves, and the adjoints of cells return one
iteration after another. The same holds for `cells`, whose handle passes through all calls, one after another. `python
papers_examples/recursion/tree_rnn.py` prints the tables of the README.

    tagloom run papers_examples/recursion/tree_rnn.py "[-1, -1, 0]" "[-1, -1, 1]" "[11, 0, -1]" "[1, 2, 0]" "[2]"

is the loss of "not good" before training; `train` trains, with five trees in each step.

Source: "Recursive functions in static dataflow graphs", arXiv 2410.20225, and the thesis of the same title (2018), from
a description. It compares these forms, and prints no numbers of the recursion.
"""

import numpy as np
import tagloom as tl
from sentiment_trees import NOT_GOOD, REVIEW, WORDS, Trees, balanced_tree, batches, chain_tree

WIDTH, LABELS, L2 = 35, 3, 0.02
FORMS = ("recursion", "cells", "loop", "unrolled")


class TreeRNN:
    """The network, with weights drawn from a seed."""

    state = tl.Array[tl.float64, WIDTH]

    def __init__(self, seed=0):
        dice = np.random.default_rng(seed)

        def weights(rows, columns, name):
            bound = (6.0 / (rows + columns)) ** 0.5
            return tl.Variable(dice.uniform(-bound, bound, (rows, columns)), name=name)

        self.make(weights)
        self.optimizer = tl.optimizers.Adam(0.01)

    def make(self, weights):
        self.words, self.w1 = weights(len(WORDS), WIDTH, "words"), weights(2 * WIDTH, WIDTH, "w1")
        self.b1 = tl.Variable(np.zeros(WIDTH), name="b1")
        self.u, self.bs = weights(WIDTH, LABELS, "u"), tl.Variable(np.zeros(LABELS), name="bs")
        self.decayed_weights = (self.w1, self.u)
        self.variables = (self.words, self.w1, self.b1, self.u, self.bs)

    @tl.autograph.inline
    def leaf(self, word):
        return self.words[word]

    @tl.autograph.inline
    def combine(self, left, right):
        return tl.maximum(tl.concat([left, right]) @ self.w1 + self.b1, 0.0)

    @tl.autograph.inline
    def guess(self, state):
        """The log-probabilities of all labels."""
        return tl.log_softmax(state @ self.u + self.bs)

    @tl.autograph.inline
    def loss(self, total, trees):
        decay = 0.5 * L2 * sum(tl.sum(weights * weights) for weights in self.decayed_weights)
        return total / tl.astype(tl.size(trees.roots), tl.float64) + decay

    @tl.autograph.inline
    def loss_of_all(self, states, trees):
        """The loss, from the states of all nodes at once."""
        labels = tl.expand_dims(trees.label, axis=1)
        return self.loss(-tl.sum(tl.take_along_axis(self.guess(states), labels, axis=1)), trees)

    @tl.function
    def node(self, trees: Trees, i: tl.int64):
        """The state of a node, and the losses of the node and all nodes below it."""
        if trees.left[i] < 0:
            state, child_losses = self.leaf(trees.word[i]), 0.0
        else:
            left, left_loss = self.node(trees, trees.left[i])
            right, right_loss = self.node(trees, trees.right[i])
            state, child_losses = self.combine(left, right), left_loss + right_loss
        return state, child_losses - self.guess(state)[trees.label[i]]

    @tl.function
    def recursion(self, trees: Trees) -> tl.float64:
        total = tl.foldl(lambda total, root: total + self.node(trees, root)[1], 0.0, trees.roots)
        return self.loss(total, trees)

    @tl.function
    def fill(self, trees: Trees, i: tl.int64, states):
        """The cells of states, after puts for a node and all nodes below it."""
        if trees.left[i] < 0:
            return tl.put(states, i, self.leaf(trees.word[i]))
        left_states = self.fill(trees, trees.left[i], states)
        child_states = self.fill(trees, trees.right[i], left_states)
        return tl.put(child_states, i, self.combine(child_states[trees.left[i]], child_states[trees.right[i]]))

    @tl.function
    def cells(self, trees: Trees) -> tl.float64:
        empty = tl.cells(tl.size(trees.left), self.state)
        states = tl.foldl(lambda states, root: self.fill(trees, root, states), empty, trees.roots)
        return self.loss_of_all(tl.collect(states), trees)

    @tl.function
    def loop(self, trees: Trees) -> tl.float64:
        count = tl.size(trees.left)
        states = tl.cells(count, self.state)
        for i in range(count):
            if trees.left[i] < 0:
                state = self.leaf(trees.word[i])
            else:
                state = self.combine(states[trees.left[i]], states[trees.right[i]])
            states = tl.put(states, i, state)
        return self.loss_of_all(tl.collect(states), trees)

    @tl.function
    def unrolled(self, trees: tl.Static) -> tl.float64:
        @tl.autograph.inline
        def node(i):
            if trees.left[i] < 0:
                state, child_losses = self.leaf(int(trees.word[i])), 0.0
            else:
                (left, left_loss), (right, right_loss) = node(trees.left[i]), node(trees.right[i])
                state, child_losses = self.combine(left, right), left_loss + right_loss
            return state, child_losses - self.guess(state)[int(trees.label[i])]

        return self.loss(sum(node(root)[1] for root in trees.roots), trees)

    @tl.function
    def count_correct(self, trees: Trees) -> tl.int64:
        """How many trees have the right label at the root."""

        def add_root(count, root):
            state, _ = self.node(trees, root)
            return count + tl.astype(tl.argmax(self.guess(state)) == trees.label[root], tl.int64)

        return tl.foldl(add_root, 0, trees.roots)

    def slopes(self, form):
        """The function that gives the loss and its gradients in one of the forms."""
        return tl.value_and_grad(getattr(self, form), self.variables)

    @tl.function
    def step(self, trees: Trees) -> tl.float64:
        """The loss, followed by one step of Adam."""
        loss, slopes = tl.value_and_grad(self.recursion, self.variables)(trees)
        self.optimizer.apply(slopes, self.variables)
        return loss


def train(net, epochs, count=4, engine=None, log=None):
    """The mean loss of each epoch of this many batches of five trees; with a bar on terminals, and a line for each
    epoch in the file `log`."""
    trees, losses = batches(seed=1, count=count), []
    run = tl.progress(range(epochs), log=log, name=type(net).__name__)
    for _ in run:
        losses.append(float(np.mean([net.step.run(batch, engine=engine).value for batch in trees])))
        run.log(loss=losses[-1])
    return losses


NET = TreeRNN()
main, cells, loop, unrolled = (getattr(NET, form) for form in FORMS)
EXPECTED = [
    {
        "run": ("main", NOT_GOOD),
        "result": 3.6441325532426125,
        "within": 1e-12,
        "calls": {"recursion": 1, "node": 3},
        "size": "quick",
    },
    *(
        {"run": (name, REVIEW), "result": 9.364420405609302, "within": 1e-12, "calls": calls, "size": "quick"}
        for name, calls in (
            ("main", {"recursion": 1, "node": 16}),
            ("cells", {"cells": 1, "fill": 16}),
            ("loop", {"loop": 1}),
            ("unrolled", {"unrolled": 1}),
        )
    ),
]
MEASURES = {
    "span": lambda out: out.stats.span,
    "work": lambda out: out.firings,
    "nodes": lambda out: len(out.graph.nodes),
}


def table(net, *measures):
    """The README's tables: of the loss, and of loss and gradients, in each form. Except for the span, a chain has the
    figures of a balanced tree with as many words."""
    chains = [("a chain", 2**k, chain_tree(2**k)) for k in (2, 3, 4)]
    balanced_trees = [("balanced", 2**k, balanced_tree(k)) for k in (2, 3, 4)]
    outcomes = [
        (kind, words, [(getattr(net, form).run(trees), net.slopes(form).run(trees)) for form in FORMS])
        for kind, words, trees in chains + balanced_trees
    ]
    heading = f"| | {type(net).__name__} | words | {' | '.join(f'`{form}`' for form in FORMS)} |"
    rows = []
    for name in measures:
        if name != "nodes":
            rows += [*[""] * bool(rows), heading, "|---|---|---|---|---|---|---|"]
        for kind, words, pairs in outcomes if name == "span" else outcomes[3:]:
            cells = [", ".join(f"{MEASURES[name](out):,}" for out in pair) for pair in pairs]
            rows.append(f"| {name} | {kind} | {words} | {' | '.join(cells)} |")
    return rows


LEARNING = [
    "| network | 1 | 2 | 3 | 4 | 5 | correct before | correct after |",
    "|---|---|---|---|---|---|---|---|",
]


def learning(net):
    """A row of the README's table of training: losses, and how many of 40 other trees are labelled correctly, before
    and after. The steps are compiled, since there are 200 of them."""
    test_batches = batches(seed=2, count=8)
    before = sum(int(net.count_correct(batch)) for batch in test_batches)
    losses = [f"{loss:.2f}" for loss in train(net, 5, 40, "compiled")]
    after = sum(int(net.count_correct(batch)) for batch in test_batches)
    return f"| {type(net).__name__} | {' | '.join(losses)} | {before} | {after} |"


if __name__ == "__main__":
    print("not good: a loss of", float(main(NOT_GOOD)), "before training; the tables take a minute", flush=True)
    print(*table(TreeRNN(), "span", "work", "nodes"), "", *LEARNING, learning(TreeRNN()), sep="\n")
