"""Softmax on handwritten digits, trained by workers and parameter servers in three ways.

Two servers own the weights and the offsets, with Adagrad's state. Workers fetch both, compute the gradient of half a
batch, and send it. Synchronised, two half batches are one step, and the training is that of digits.py: it recognizes
as many digits. With a backup worker, a step takes the first two gradients of three. Without synchronisation, each
gradient is a step.

    python papers_examples/tensorflow/parameter_servers.py
    python papers_examples/tensorflow/parameter_servers.py processes

The first runs servers and workers on a network in this process, which is deterministic, and loses and delays messages;
the second in a process each, any of which may be killed. `main` is the loss of a worker at a step.

The digits come from scikit-learn: pip install "tagloom[learn]".

Source: "TensorFlow: a system for large-scale machine learning" (Abadi and others, OSDI 2016), section 4.4, from a
description; the model and the numbers are ours.
"""

import sys

import tagloom as tl
from digits import digits

BATCH, STEPS = 50, 100
w, b = tl.Variable(tl.zeros((64, 10)), name="w"), tl.Variable(tl.zeros(10), name="b")


def loss_of_batch(number):
    """The loss of the batch of this number."""
    pixels, labels, *_ = digits()
    batch = (number * BATCH + tl.arange(BATCH)) % len(labels)
    scores = tl.log_softmax(pixels[batch] @ w + b)
    return -tl.mean(tl.sum(tl.one_hot(labels[batch], 10) * scores, axis=-1))


@tl.function
def main(worker: tl.int64, step: tl.int64) -> tl.float64:
    """The loss of one of two workers at a step."""
    return loss_of_batch(2 * step + worker)


@tl.function
def count_correct() -> tl.int64:
    """How many of the held-out digits are recognized."""
    *_, pixels, labels = digits()
    return tl.count_nonzero(tl.argmax(pixels @ w + b, axis=1) == labels)


EXPECTED = [{"run": ("main", 1, 0), "result": 2.302585092994046, "size": "quick"}]

WAYS = {
    "synchronised": {"steps": STEPS},
    "with a backup worker": {"steps": STEPS, "workers": 3, "aggregate": 2},
    "asynchronous": {"steps": 2 * STEPS, "synchronisation": "async"},
}
HEADING = [
    "| way | workers | steps | gradients dropped | oldest, in steps | peers that died | held-out digits recognized |",
    "|---|---|---|---|---|---|---|",
]


def train(cluster="network:1", **way):
    """Train from the beginning, in one of the ways; returns the report."""
    w.assign(tl.zeros((64, 10)))
    b.assign(tl.zeros(10))
    optimizer = tl.optimizers.Adagrad(rate=0.5)
    options = {"servers": 2, "checkpoint_steps": 20, "cluster": cluster, "engine": "reference"}
    return tl.train(main, (w, b), optimizer, **options, **way)


def table(cluster="network:1") -> list[str]:
    """The rows of the README's table."""
    rows = []
    for name, way in WAYS.items():
        report = train(cluster, **way)
        count = digits()[3].shape[0]
        rows.append(
            f"| {name} | {way.get('workers', 2)} | {way['steps']} | {report.dropped_gradients} "
            f"| {report.largest_staleness} | {report.deaths} | {count_correct():d} of {count} |"
        )
    return rows


if __name__ == "__main__":
    print(*HEADING, *table(*sys.argv[1:]), sep="\n")
