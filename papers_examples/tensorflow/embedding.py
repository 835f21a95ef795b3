"""A sharded embedding: partition, gather on each shard, stitch; and a step that changes few rows.

A table of 1,000 vectors is in three shards, row i in shard i % 3. A lookup partitions the ids by shard, gathers from
each shard, and stitches the rows together in the order of the ids: with a machine for each shard, no shard ever moves.
The gradient is by rows, as small as the lookup. A step of Adagrad computes with these rows of the table and of its
slots, and changes no others; a word that occurs twice gets the sum of both gradients. Values are immutable, so in a
shard that changes, the other rows are copied.

The loss pulls the vectors of neighbours in a sentence together.

    tagloom run papers_examples/tensorflow/embedding.py "[3, 14, 15, 92, 65, 35, 89, 79, 3, 23]"

Source: "TensorFlow: a system for large-scale machine learning" (Abadi and others, OSDI 2016), section 4.2, from a
description; loss and numbers are ours.
"""

import tagloom as tl

COUNT = 1000
Ids = tl.Array[tl.int64, None]


def initial_vectors():
    """Initial vectors: sines of different lengths."""
    rows = tl.reshape(tl.arange(float(COUNT)), (-1, 1))
    return tl.sin(rows * tl.asarray([1.0, 2.0, 3.0, 5.0]))


words = tl.Embedding(initial_vectors(), shards=3, name="words")
optimizer = tl.optimizers.Adagrad(rate=0.5)


def squared_distances(sentence):
    """The squared distances of the vectors of words from those of the next words."""
    rows = words(sentence)
    return tl.sum((rows[1:, :] - rows[:-1, :]) ** 2)


@tl.function
def main(sentence: Ids) -> tl.float64:
    """One step; returns the loss before it."""
    loss, gradients = tl.value_and_grad(squared_distances, words.shards, rows=words.shards)(sentence)
    optimizer.apply(gradients, words.shards)
    return loss


SENTENCE = [3, 14, 15, 92, 65, 35, 89, 79, 3, 23]
EXPECTED = [{"run": ("main", SENTENCE), "result": 48.40614500862392, "size": "quick"}]


def count_changed_rows():
    """How many rows of each shard have changed."""
    whole = initial_vectors()
    return [int(tl.count_nonzero(tl.any(shard != whole[k::3, :], axis=1))) for k, shard in enumerate(words.shards)]


HEADING = ["| steps | loss | rows changed, by shard |", "|---|---|---|"]


def table() -> list[str]:
    """The rows of the README's table."""
    rows = []
    for steps in (1, 9, 40):
        losses = [main(SENTENCE) for _ in range(steps)]
        rows.append(f"| {steps} more | {losses[-1]:.3g} | {', '.join(map(str, count_changed_rows()))} |")
    return rows


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
