"""Sentiment trees: sentences as data, and one recursion that labels all of them.

A sentence is a binary tree over its words, and every node has a sentiment. A word has a valence, and a factor that
scales the part to its right: "not" negates it, "very" doubles it. So the value of a node is

    value(left) + factor(left) * value(right)

where the factor is 1 except for such words. The label is 0, 1 or 2: negative, neutral or positive. So "not very good"
is -2, and depends on the whole tree.

A tree is no part of the program. It is data: arrays with a place for each node, in which children come before their
parents. They give the places of its children, its word and its label, or -1 if it has none. Several trees share the
arrays, with a list of their roots. (In the thesis, the children of node i are nodes 2i and 2i + 1. A deep tree needs
2^depth places that way; with stored places a tree of n words needs 2n - 1.) `main` adds up the values of the roots; its
graph is the same for every tree, and each node of a tree is a call.

    tagloom run papers_examples/recursion/sentiment_trees.py "[-1, -1, 0]" "[-1, -1, 1]" "[11, 0, -1]" "[1, 2, 0]" "[2]"

is "not good": -1.

Source: the trees are what the TreeRNN of "Recursive functions in static dataflow graphs" (arXiv 2410.20225, and the
thesis of the same title, 2018) is trained on. Theirs are film reviews; these are generated, with a seed, and the rule
is ours.
"""

from typing import NamedTuple

import numpy as np
import tagloom as tl

LEXICON = {
    "good": (1, 1), "fine": (1, 1), "lovely": (1, 1), "superb": (2, 1),
    "bad": (-1, 1), "dull": (-1, 1), "weak": (-1, 1), "awful": (-2, 1),
    "film": (0, 1), "plot": (0, 1), "and": (0, 1),
    "not": (0, -1), "never": (0, -1), "very": (0, 2), "truly": (0, 2),
}  # fmt: skip
"""The valence of each word, and its factor."""
WORDS = tuple(LEXICON)
VALENCES, FACTORS = (np.array(column) for column in zip(*LEXICON.values(), strict=True))
PLAIN, SCALING = np.flatnonzero(FACTORS == 1), np.flatnonzero(FACTORS != 1)

Places = tl.Array[tl.int64, None]


class Trees(NamedTuple):
    """Trees with n nodes in all. Children come before their parents."""

    left: Places
    right: Places
    word: Places
    label: Places
    roots: Places


def value(trees, node):
    """The value of a node, computed in Python."""
    if trees.left[node] < 0:
        return int(VALENCES[trees.word[node]])
    left = trees.left[node]
    factor = FACTORS[trees.word[left]] if trees.left[left] < 0 else 1
    return value(trees, left) + int(factor) * value(trees, trees.right[node])


def build_trees(shapes):
    """Trees from nested pairs of words such as ("not", ("very", "good"))."""
    trees = Trees([], [], [], [], [])

    def node(shape):
        children = (-1, -1) if isinstance(shape, str) else tuple(map(node, shape))
        word = WORDS.index(shape) if isinstance(shape, str) else -1
        for column, entry in zip(trees, (*children, word), strict=False):
            column.append(entry)
        number = len(trees.left) - 1
        trees.label.append(1 + int(np.sign(value(trees, number))))
        return number

    trees.roots.extend(map(node, shapes))
    return Trees(*(np.array(column, np.int64) for column in trees))


def random_shape(dice, words):
    """A nested pair of this many words, of any shape; words that scale stand on the left."""
    if words == 1:
        return WORDS[dice.choice(PLAIN)]
    if dice.random() < 0.4:
        return WORDS[dice.choice(SCALING)], random_shape(dice, words - 1)
    left = int(dice.integers(1, words))
    return random_shape(dice, left), random_shape(dice, words - left)


def batches(seed, count, size=5, max_words=8):
    """This many batches of trees, each with 2 to `max_words` words."""
    dice = np.random.default_rng(seed)
    shapes = [[random_shape(dice, int(dice.integers(2, max_words + 1))) for _ in range(size)] for _ in range(count)]
    return [build_trees(batch) for batch in shapes]


def chain_tree(words):
    """The deepest possible tree: each word scales all later ones."""
    shape = "good"
    for k in range(words - 1):
        shape = ("not" if k % 3 else "lovely"), shape
    return build_trees([shape])


def balanced_tree(depth):
    """The flattest possible tree, with 2^depth words."""

    def shape(depth, k=0):
        return WORDS[k % len(PLAIN)] if depth == 0 else (shape(depth - 1, 2 * k), shape(depth - 1, 2 * k + 1))

    return build_trees([shape(depth)])


@tl.function
def sentiment(trees: Trees, node: tl.int64) -> tuple[tl.int64, tl.int64]:
    """The value of a node, and its factor."""
    if trees.left[node] < 0:
        return tl.asarray(VALENCES)[trees.word[node]], tl.asarray(FACTORS)[trees.word[node]]
    left, factor = sentiment(trees, trees.left[node])
    right, _ = sentiment(trees, trees.right[node])
    return left + factor * right, 1


@tl.function
def main(trees: Trees) -> tl.int64:
    return tl.foldl(lambda total, root: total + sentiment(trees, root)[0], 0, trees.roots)


NOT_GOOD = build_trees([("not", "good")])
REVIEW = build_trees([("film", ("not", ("very", "good"))), (("lovely", "plot"), ("and", ("truly", "superb")))])
EXPECTED = [
    {"run": ("main", NOT_GOOD), "result": -1, "calls": {"main": 1, "sentiment": 3}, "size": "quick"},
    {"run": ("main", REVIEW), "result": 3, "calls": {"main": 1, "sentiment": 16}, "size": "quick"},
    {"run": ("main", balanced_tree(5)), "result": 0, "calls": {"main": 1, "sentiment": 63}, "size": "quick"},
]


if __name__ == "__main__":
    print("not good:", main(NOT_GOOD))
    print("film not very good; lovely plot and truly superb:", main(REVIEW))
