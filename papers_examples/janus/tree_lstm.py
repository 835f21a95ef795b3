"""A TreeLSTM (Tai and others, 2015) over Python node objects, trained on trees of any shape by one graph.

python papers_examples/janus/tree_lstm.py
"""

import random

import tagloom as tl
from layers import Dense, random_array, train

UNITS = 4


class Node:
    """A node of a tree: a leaf has a vector, another node two children."""

    def __init__(self, vector, left=None, right=None):
        self.vector, self.left, self.right = vector, left, right


class TreeLSTM:
    def __init__(self):
        self.leaf, self.inner = Dense(3, 3 * UNITS, 1), Dense(2 * UNITS, 5 * UNITS, 2)
        self.exit = tl.Variable(random_array((UNITS,), 3))
        self.optimizer = tl.optimizers.Adagrad(rate=0.1)
        self.trees = 0

    def encode(self, node):
        """The visible vector and the memory of a node."""
        if node.left is None:
            gates = self.leaf.apply(node.vector)
            out, memory = gates[8:12], tl.sigmoid(gates[0:4]) * tl.tanh(gates[4:8])
        else:
            left, left_memory = self.encode(node.left)
            right, right_memory = self.encode(node.right)
            gates = self.inner.apply(tl.concat([left, right]))
            out, memory = gates[16:20], tl.sigmoid(gates[0:4]) * tl.tanh(gates[4:8])
            memory = memory + tl.sigmoid(gates[8:12]) * left_memory + tl.sigmoid(gates[12:16]) * right_memory
        return tl.sigmoid(out) * tl.tanh(memory), memory

    def step(self, tree, label):
        with tl.Tape() as tape:
            vector, _ = self.encode(tree)
            loss = (tl.sum(vector * self.exit) - label) ** 2
        variables = [self.exit, self.leaf.parameters(), self.inner.parameters()]
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        self.trees += 1
        return loss


make = TreeLSTM


def random_tree(draw, leaves):
    """A random tree with this many leaves."""
    vector = tl.asarray([draw.uniform(-1.0, 1.0) for _ in range(3)])
    if leaves == 1:
        return Node(vector)
    count = draw.randrange(1, leaves)
    return Node(vector, random_tree(draw, count), random_tree(draw, leaves - count))


def inputs(number):
    return random_tree(random.Random(number), 2 + number % 5), 1.0 if number % 2 else -1.0


if __name__ == "__main__":
    train(make, inputs)
