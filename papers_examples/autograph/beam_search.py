"""Beam search that stops when every beam has ended, as one writes it in Python.

A table has the logits of each word after each word. The search keeps the best `BEAMS` sentences; word 0 ends one. The
`break` depends on symbolic values.

    tagloom run papers_examples/autograph/beam_search.py 12

Source: beam search of "AutoGraph" (Moldovan and others, arXiv 1810.08061), from a description. Its published benchmark
draws logits with NumPy, which tracing freezes in the graph; here they are a table in both ways of running.
"""

import numpy as np
import tagloom as tl

BEAMS, WORDS, LONGEST = 3, 10, 32
LOGITS = tl.asarray(np.random.default_rng(4).normal(0.0, 2.0, (WORDS, WORDS)))
NEVER = -1e9


def search(max_length):
    """The words of the best sentences, (BEAMS, LONGEST), their log-probabilities, and how many steps it took."""
    log_probabilities = tl.log_softmax(LOGITS)
    stay = tl.where(tl.arange(WORDS) == 0, 0.0, NEVER)
    words, last_words = tl.zeros((BEAMS, LONGEST), dtype=tl.int64), tl.ones(BEAMS, dtype=tl.int64)
    scores = tl.where(tl.arange(BEAMS) == 0, 0.0, NEVER)
    steps = 0
    for t in range(max_length):
        is_complete = tl.expand_dims(last_words == 0, axis=1)
        gains = tl.where(is_complete, stay, tl.take(log_probabilities, last_words, axis=0))
        candidates = tl.expand_dims(scores, axis=1) + gains
        scores, best = tl.topk(tl.reshape(candidates, (BEAMS * WORDS,)), BEAMS)
        last_words = best % WORDS
        is_new = tl.arange(LONGEST) == t
        words = tl.where(is_new, tl.expand_dims(last_words, axis=1), tl.take(words, best // WORDS, axis=0))
        steps = t + 1
        if tl.all(last_words == 0):
            break
    return words, scores, steps


@tl.function
def main(max_length: tl.int64) -> tl.float64:
    """The log-probability of the best sentence."""
    _, scores, _ = search(max_length)
    return scores[0]


@tl.function
def steps(max_length: tl.int64) -> tl.int64:
    """How many words the search looks ahead."""
    return search(max_length)[2]


@tl.function
def best(max_length: tl.int64) -> tl.Array[tl.int64, LONGEST]:
    return search(max_length)[0][0, :]


EXPECTED = [
    {"run": ("main", 12), "result": -1.5205100883544391, "within": 1e-12, "firings": 504, "size": "quick"},
    {"run": ("steps", 32), "result": 9, "firings": 503, "size": "quick"},
]
WAYS = {"eager": lambda: search(32)[1], "loop in the graph": lambda: main(32)}
CLAIM = "2 to 3.2 times as fast as eager"

if __name__ == "__main__":
    print("op by op:", search(12)[1])
    print("as a program:", main(12), "after", steps(12), "steps")
