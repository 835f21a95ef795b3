"""Sampled softmax: of many classes, only the right one and a few others are computed, and represent all.

A language of 200 words, in which each word has one successor; a model with a vector for each word and for each
next word is to learn it. The full softmax computes 200 logits for each example. The sampled one computes that
of the right word, and those of 8 others, drawn from the log-uniform distribution for the whole batch; each
logit is reduced by the logarithm of its word's expected count among the 8. Each step draws others, by the run's
seed.

`main` trains with samples, `whole` without. Both return the loss of the full softmax afterwards.

    tagloom run papers_examples/tensorflow/sampled_softmax.py 100

Source: "TensorFlow: a system for large-scale machine learning" (Abadi and others, OSDI 2016), section 6.4, from a
description; there it is a language model of 40,000 words, with 512 samples. The language is ours.
"""

import tagloom as tl

WORDS, WIDTH, BATCH, SAMPLES = 200, 16, 50, 8


def spread(phase):
    """Initial vectors: sines of many lengths."""
    rows = tl.reshape(tl.arange(float(WORDS)), (-1, 1)) + 1.0
    return tl.sin(rows * (tl.arange(float(WIDTH)) + 1.0) * phase) / 4.0


vectors, nexts = tl.Variable(spread(1.7), name="vectors"), tl.Variable(spread(2.3), name="nexts")
biases = tl.Variable(tl.zeros(WORDS), name="biases")
optimizer = tl.optimizers.Adagrad(rate=0.5)
MODEL = (vectors, nexts, biases)


@tl.autograph.inline
def next_words(words):
    """The language: the successor of each word."""
    return (7 * words + 3) % WORDS


@tl.autograph.inline
def sampled_loss(words):
    candidates = tl.log_uniform_candidates(SAMPLES, WORDS)
    return tl.sampled_softmax(vectors[words], next_words(words), nexts, biases, candidates)


@tl.autograph.inline
def exact_loss(words):
    logits = tl.log_softmax(vectors[words] @ nexts.T + biases)
    return -tl.mean(tl.take_along_axis(logits, tl.expand_dims(next_words(words), axis=1), axis=1))


@tl.autograph.inline
def train(loss, steps):
    for k in range(steps):
        gradients = tl.grad(loss, MODEL)((k * BATCH + tl.arange(BATCH)) % WORDS)
        optimizer.apply(gradients, MODEL)
    return exact_loss(tl.arange(WORDS))


@tl.function
def main(steps: tl.int64) -> tl.float64:
    return train(sampled_loss, steps)


@tl.function
def whole(steps: tl.int64) -> tl.float64:
    return train(exact_loss, steps)


def reset():
    """Restores the initial weights."""
    for variable, initial in zip(MODEL, (spread(1.7), spread(2.3), tl.zeros(WORDS)), strict=True):
        variable.assign(initial)
    for slots in optimizer.slots.values():
        slots["squares"].assign(tl.full_like(slots["squares"], optimizer.initial))


EXPECTED = [{"run": ("main", 10), "result": 5.244119263622817, "size": "quick"}]


HEADING = ["| classes in a step | before | 50 steps | 100 steps |", "|---|---|---|---|"]


def table() -> list[str]:
    """The rows of the README's table."""
    rows = []
    for label, function in (("8 of 200, sampled", main), ("all", whole)):
        losses = []
        for steps in (0, 50, 100):
            reset()
            losses.append(f"{function(steps):.4f}")
        rows.append(f"| {label} | {' | '.join(losses)} |")
    return rows


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
