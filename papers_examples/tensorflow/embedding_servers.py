"""A sharded embedding on parameter servers: rows travel, the table does not.

The table of embedding.py, 1,000 vectors in three shards, each on a server of its own. Two workers have a sentence each.
A worker computes the ids of its words, asks each server for the rows of its shard, and stitches them together; then it
sends the gradient of these rows back. A step takes the mean of both gradients. It changes only the rows of their words;
a word that occurs several times, or in both sentences, gets the sum of what they say of it.

    python papers_examples/tensorflow/embedding_servers.py
    python papers_examples/tensorflow/embedding_servers.py processes

The first runs servers and workers on a network in this process, which loses and delays messages, and on which some
die; the second in a process each. `main` is the loss of a sentence with the first vectors.

Source: "TensorFlow: a system for large-scale machine learning" (Abadi and others, OSDI 2016), section 4.2, from a
description; loss and numbers are ours.
"""

import sys

import tagloom as tl
from embedding import COUNT, initial_vectors

SENTENCES = ((3, 14, 15, 92, 65, 35, 89, 79, 3, 23), (27, 18, 28, 18, 28, 45, 90, 45, 23, 53))
words = tl.Embedding(initial_vectors(), shards=3, name="words")
optimizer = tl.optimizers.Adagrad(rate=0.5)


def ids(worker, step):
    """The words of a worker's sentence."""
    return tl.asarray(SENTENCES)[worker]


def loss(worker, step, vectors):
    """The squared distances of the vectors of words from those of the next words."""
    return tl.sum((vectors[1:, :] - vectors[:-1, :]) ** 2)


@tl.function
def main(worker: tl.int64) -> tl.float64:
    """The loss of the sentence of a worker."""
    return loss(worker, 0, words(ids(worker, 0)))


EXPECTED = [
    {"run": ("main", 0), "result": 48.40614500862392, "size": "quick"},
]


def changed_words():
    """The words whose vectors have changed."""
    whole, shards = initial_vectors(), words.shards
    return [k for k in range(COUNT) if tl.any(shards[k % len(shards)][k // len(shards)] != whole[k])]


def train(steps, cluster="network:1"):
    """Train further; returns the mean loss of the last step."""
    options = {"workers": 2, "servers": 3, "cluster": cluster, "engine": "reference", "checkpoint_steps": 5}
    return tl.train(loss, (), optimizer, steps=steps, tables=[(words, ids)], **options).losses[-1]


HEADING = ["| steps | loss before the last | vectors changed, of 1,000 |", "|---|---|---|"]


def table(cluster="network:1") -> list[str]:
    """The rows of the README's table."""
    return [f"| {steps} more | {train(steps, cluster):.3g} | {len(changed_words())} |" for steps in (1, 9, 40)]


if __name__ == "__main__":
    print(*HEADING, *table(*sys.argv[1:]), sep="\n")
