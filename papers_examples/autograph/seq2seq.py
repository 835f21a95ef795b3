"""A sequence to a sequence: an encoder reads words, a decoder writes them, until it writes the end.

Both are loops of Python over recurrent cells. In `forced_loss` the decoder reads the right words, whatever it has
written; `greedy` feeds it what it has written, and its `break` depends on that.

    tagloom run papers_examples/autograph/seq2seq.py "[3, 1, 4, 1, 5]" "[5, 1, 4, 1, 3, 0]"

Source: seq2seq of "AutoGraph" (Moldovan and others, arXiv 1810.08061), from a description. Its published benchmark
drops the result of `TensorArray.write` and never updates its state; here both are done.
"""

import numpy as np
import tagloom as tl

WORDS, UNITS, LONGEST = 8, 12, 10
RNG = np.random.default_rng(7)
E = tl.Variable(RNG.normal(0.0, 0.5, (WORDS, UNITS)), name="E")
W, U, V = (tl.Variable(RNG.normal(0.0, 0.5, (UNITS, UNITS)), name=name) for name in "WUV")
OUT = tl.Variable(RNG.normal(0.0, 0.5, (UNITS, WORDS)), name="OUT")
Sentence = tl.Array[tl.int64, None]


def encode(source):
    h = tl.zeros(UNITS)
    for t in range(source.shape[0]):
        h = tl.tanh(E[source[t], :] @ W + h @ U)
    return h


def decode(word, h):
    """The next state, and the log-probabilities of the next word."""
    h = tl.tanh(E[word, :] @ W + h @ V)
    return h, tl.log_softmax(h @ OUT)


def forced_loss(source, target):
    """The mean loss of the target's words; word 0 begins and ends a sentence."""
    h, word, loss = encode(source), 0, 0.0
    for t in range(target.shape[0]):
        h, scores = decode(word, h)
        word = target[t]
        loss -= scores[word]
    return loss / float(target.shape[0])


def greedy(source):
    """The words that the decoder writes, followed by zeros, and how many there are."""
    h, word, words, count = encode(source), 0, tl.zeros(LONGEST, dtype=tl.int64), 0
    for t in range(LONGEST):
        h, scores = decode(word, h)
        word = tl.argmax(scores)
        words = tl.where(tl.arange(LONGEST) == t, word, words)
        count = t + 1
        if word == 0:
            break
    return words, count


@tl.function
def main(source: Sentence, target: Sentence) -> tl.float64:
    return forced_loss(source, target)


@tl.function
def word_count(source: Sentence) -> tl.int64:
    """How many words the decoder writes."""
    return greedy(source)[1]


@tl.function
def gradient(source: Sentence, target: Sentence) -> tl.Array[tl.float64, UNITS, WORDS]:
    """The gradient by the output layer."""
    return tl.grad(main, OUT)(source, target)


SOURCE, TARGET = [3, 1, 4, 1, 5], [5, 1, 4, 1, 3, 0]
EXPECTED = [
    {"run": ("main", SOURCE, TARGET), "result": 2.373037996031145, "within": 1e-12, "firings": 624, "size": "quick"},
    {"run": ("word_count", SOURCE), "result": 6, "firings": 530, "size": "quick"},
]
LONG = [1 + k % 7 for k in range(48)]
WAYS = {
    "eager": lambda: forced_loss(tl.asarray(LONG), tl.asarray(LONG)),
    "loop in the graph": lambda: main(LONG, LONG),
}
CLAIM = "1.18 to 3.05 times as fast as eager"

if __name__ == "__main__":
    source, target = tl.asarray(SOURCE), tl.asarray(TARGET)
    print("op by op:", forced_loss(source, target), greedy(source)[0])
    print("as a program:", main(source, target), "and", word_count(source), "words")
