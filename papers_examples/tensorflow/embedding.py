"""A sharded embedding: part, gather on each shard, stitch; and a step that touches few rows.

A table of 1,000 vectors lies in three shards, row i in shard i % 3. A look-up parts the ids by shard, gathers from each
those that it has, and stitches them together in the order of the ids: on machines with a shard each, no shard ever
moves. The gradient is asked for by rows, and is as small as what was looked up; a step of Adagrad computes with these
rows of the table and of its slots, and changes no others, and a word that comes twice has the sum of both. Values stay
what they were, so the rows that do not change are copied, of shards of which some do.

The loss pulls the vectors of neighbours in a sentence together.

    tagloom run papers_examples/tensorflow/embedding.py "[3, 14, 15, 92, 65, 35, 89, 79, 3, 23]"

Source: "TensorFlow: a system for large-scale machine learning" (Abadi and others, OSDI 2016), section 4.2, from a
description; loss and numbers are ours.
"""

import tagloom as tl

COUNT = 1000
Ids = tl.Array[tl.int64, None]


def first():
    """Vectors to begin with: sines of different lengths."""
    rows = tl.reshape(tl.arange(float(COUNT)), (-1, 1))
    return tl.sin(rows * tl.asarray([1.0, 2.0, 3.0, 5.0]))


words = tl.Embedding(first(), shards=3, name="words")
optimizer = tl.optimizers.Adagrad(rate=0.5)


def apart(sentence):
    """How far the vectors of words are from those of the next ones, squared."""
    rows = words(sentence)
    return tl.sum((rows[1:, :] - rows[:-1, :]) ** 2)


@tl.function
def main(sentence: Ids) -> tl.float64:
    """One step; gives the loss before it."""
    loss, gradients = tl.value_and_grad(apart, words.shards, rows=words.shards)(sentence)
    optimizer.apply(gradients, words.shards)
    return loss


SENTENCE = [3, 14, 15, 92, 65, 35, 89, 79, 3, 23]
EXPECTED = [{"run": ("main", SENTENCE), "result": 48.40614500862392, "size": "quick"}]


def changed():
    """How many rows of each shard are not what they were at first."""
    whole = first()
    return [int(tl.count_nonzero(tl.any(shard != whole[k::3, :], axis=1))) for k, shard in enumerate(words.shards)]


HEADING = ["| steps | loss | rows changed, by shard |", "|---|---|---|"]


def table() -> list[str]:
    """The rows of the README's table."""
    rows = []
    for steps in (1, 9, 40):
        losses = [main(SENTENCE) for _ in range(steps)]
        rows.append(f"| {steps} more | {losses[-1]:.3g} | {', '.join(map(str, changed()))} |")
    return rows


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
