"""A beam search of TensorFlow: an LSTM emits tokens, and the three best sequences go on until the best one ends.

`python -m tests.support.programs.tensorflow_models FOLDER` saves it with random weights: docs/models/beam_search.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import tensorflow as tf

TOKENS, WIDTH, HIDDEN, BEAM = 7, 5, 8, 3
END = 3


def random_tensor(seed: int, *sizes: int) -> Any:
    return tf.constant(np.random.RandomState(seed).standard_normal(sizes).astype(np.float32))


class Decoder(tf.Module):  # type: ignore[misc]
    """An LSTM with an embedding before it and logits behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = tf.Variable(random_tensor(0, TOKENS, WIDTH), name="embedding")
        self.kernel = tf.Variable(0.4 * random_tensor(1, WIDTH + HIDDEN, 4 * HIDDEN), name="kernel")
        self.logits = tf.Variable(random_tensor(2, HIDDEN, TOKENS), name="logits")

    def step(self, tokens: Any, hidden: Any, cell: Any) -> Any:
        """The logits of the next tokens, and the new state."""
        with tf.name_scope("lstm"):
            x = tf.gather(self.embedding, tokens)
            i, f, g, o = tf.split(tf.matmul(tf.concat([x, hidden], 1), self.kernel), 4, 1)
            cell = tf.sigmoid(f + 1.0) * cell + tf.sigmoid(i) * tf.tanh(g)
            hidden = tf.sigmoid(o) * tf.tanh(cell)
        with tf.name_scope("logits"):
            return tf.matmul(hidden, self.logits), hidden, cell

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.int32)])  # type: ignore[untyped-decorator]
    def search(self, start: Any, steps: Any) -> Any:
        """The tokens of each step, the sequences that they continue, and the scores."""
        hidden = cell = tf.zeros([BEAM, HIDDEN])
        scores, tokens = tf.constant([0.0] + [-1e9] * (BEAM - 1)), tf.fill([BEAM], start)
        words = parents = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=[BEAM])
        goes_on, k = tf.constant(True), 0
        while tf.logical_and(k < steps, goes_on):
            logits, hidden, cell = self.step(tokens, hidden, cell)
            with tf.name_scope("choice"):
                total = tf.reshape(scores[:, None] + tf.nn.log_softmax(logits), [-1])
                scores, index = tf.math.top_k(total, BEAM)
                parent, tokens = index // TOKENS, index % TOKENS
            with tf.name_scope("beam"):
                hidden, cell = tf.gather(hidden, parent), tf.gather(cell, parent)
                words, parents = words.write(k, tokens), parents.write(k, parent)
            goes_on = tf.not_equal(tokens[0], END)
            k += 1
        return {"words": words.stack(), "parents": parents.stack(), "scores": scores}


if __name__ == "__main__":
    decoder = Decoder()
    tf.saved_model.save(decoder, sys.argv[1], signatures=decoder.search)
