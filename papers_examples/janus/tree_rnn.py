"""A TreeRNN over Python node objects (Socher and others, 2011): one graph for trees of all shapes.

python papers_examples/janus/tree_rnn.py
"""

import random

import tagloom as tl

SIZE = 16


class Node:
    """A node of a tree: a leaf has a vector, another node two children."""

    def __init__(self, vector, left=None, right=None):
        self.vector, self.left, self.right = vector, left, right


class TreeRNN:
    """The network: a node's vector is computed from those of its children."""

    def __init__(self, left, right, bias):
        self.left, self.right, self.bias = left, right, bias

    def encode(self, node):
        if node.left is None:
            return node.vector
        children = self.encode(node.left) @ self.left + self.encode(node.right) @ self.right
        return tl.tanh(children + self.bias)


def encode(model, node):
    """The vector of a tree."""
    return model.encode(node)


def random_vector(draw):
    return [draw.uniform(-0.4, 0.4) for _ in range(SIZE)]


def random_weights(seed=0):
    """The weights as lists: of the left child, of the right one, and the bias."""
    draw = random.Random(seed)
    left, right = ([random_vector(draw) for _ in range(SIZE)] for _ in range(2))
    return left, right, random_vector(draw)


def random_tree(draw, leaves, array=tl.asarray):
    """A random tree with this many leaves, whose vectors `array` makes."""
    if leaves == 1:
        return Node(array(random_vector(draw)))
    count = draw.randrange(1, leaves)
    zeros = array([0.0] * SIZE)
    return Node(zeros, random_tree(draw, count, array), random_tree(draw, leaves - count, array))


def random_trees(array=tl.asarray, seed=1):
    """Eight trees of 20 to 60 leaves."""
    draw = random.Random(seed)
    return [random_tree(draw, leaves, array) for leaves in (20, 30, 25, 40, 50, 60, 35, 45)]


def model():
    return TreeRNN(*map(tl.asarray, random_weights()))


speculated = tl.speculate(encode)


def main():
    network = model()
    for tree in random_trees():
        difference = speculated(network, tree) - encode(network, tree)
        assert float(tl.max(tl.abs(difference))) < 1e-12
    print(speculated.explain())


if __name__ == "__main__":
    main()
