"""Softmax on handwritten digits: 64 pixels, 10 digits, one layer, trained by Adagrad.

`step` is one program: the loss of a batch, its gradient, and Adagrad's update of the weights and of its slots.
`step_by_step` runs it repeatedly, from Python. `main` is one program of the whole training: a loop in the graph around
the same step, followed by the number of held-out digits that it recognizes. On one engine both have the same bits. A
quarter of the digits, every fourth, is held out.

    tagloom run papers_examples/tensorflow/digits.py 300

The digits come from scikit-learn: pip install "tagloom[learn]".

Source: the sample program of the talk on "TensorFlow: a system for large-scale machine learning" (Abadi and others,
OSDI 2016), from a description; there it is 784 pixels, batches of 10 and 10,000 steps at the rate 0.01.
"""

import functools

import tagloom as tl

BATCH, HELD_OUT = 100, 4


@functools.cache
def digits():
    """The pixels, from 0 to 1, and the digits: for training, and held out."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise SystemExit('the digits are scikit-learn\'s: pip install "tagloom[learn]"') from error
    pixels, labels = load_digits(return_X_y=True)
    with tl.init_scope():
        is_test = [k % HELD_OUT == HELD_OUT - 1 for k in range(len(labels))]
        train = [not flag for flag in is_test]
        return [
            tl.asarray(part) for part in (pixels[train] / 16.0, labels[train], pixels[is_test] / 16.0, labels[is_test])
        ]


w, b = tl.Variable(tl.zeros((64, 10)), name="w"), tl.Variable(tl.zeros(10), name="b")
optimizer = tl.optimizers.Adagrad(rate=0.5)


def cross_entropy(x, labels):
    return -tl.mean(tl.sum(tl.one_hot(labels, 10) * tl.log_softmax(x @ w + b), axis=-1))


@tl.function
def step(k: tl.int64) -> tl.float64:
    """The k-th step; returns the loss before it."""
    pixels, labels, *_ = digits()
    batch = (k * BATCH + tl.arange(BATCH)) % len(labels)
    loss, gradients = tl.value_and_grad(cross_entropy, (w, b))(pixels[batch], labels[batch])
    optimizer.apply(gradients, (w, b))
    return loss


@tl.function
def count_correct() -> tl.int64:
    """How many of the held-out digits are recognized."""
    *_, pixels, labels = digits()
    return tl.count_nonzero(tl.argmax(pixels @ w + b, axis=1) == labels)


@tl.function
def main(steps: tl.int64) -> tl.int64:
    for k in range(steps):
        step(k)
    return count_correct()


def step_by_step(steps, log=None):
    """The training from Python, with a bar on terminals, and losses in the file `log`; returns the losses, too."""
    run, losses = tl.progress(range(steps), log=log, name="digits"), []
    for k in run:
        losses.append(float(step(k)))
        run.log(loss=losses[-1])
    return count_correct(), losses


EXPECTED = [
    {"run": ("main", 100), "result": 417, "size": "quick"},
    {"run": ("main", 300), "result": 430, "size": "heavy"},
]


HEADING = ["| steps | loss of the last batch | held-out digits recognized | |", "|---|---|---|---|"]


def table() -> list[str]:
    """The rows of the README's table."""
    rows, count, run = [], digits()[3].shape[0], tl.progress(range(300), name="digits")
    for k in run:
        loss = float(step(k))
        run.log(loss=loss)
        if (k + 1) % 100 == 0:
            correct = int(count_correct())
            rows.append(f"| {k + 1} | {loss:.3f} | {correct} of {count} | {100 * correct / count:.1f} % |")
    return rows


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
