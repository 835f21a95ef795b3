"""Graphs that TensorFlow has written, which tests and docs read without it.
`python tests/support/programs/tensorflow_graphs.py` writes them with TensorFlow.
"""

from __future__ import annotations

import shutil
from pathlib import Path

FOLDER = Path(__file__).parent
FRAMES = FOLDER.parents[2] / "docs" / "models" / "collatz.pbtxt"
"""The steps of Collatz's sequence: a graph of TensorFlow 1, with frames."""
FUNCTIONS = FOLDER / "collatz_functions.pb"
"""The same, by While and If."""
SAVED_MODEL = FOLDER / "scaled_sums"
"""x -> x * w + sum(b), with variables w and b."""


def write_graphs() -> None:
    """Write the files, which needs TensorFlow."""
    import tensorflow as tf
    from google.protobuf import text_format

    v1 = tf.compat.v1

    def following(n):
        return tf.cond(tf.equal(n % 2, 0), lambda: n // 2, lambda: 3 * n + 1, name="following")

    def collatz(n):
        start = (n, tf.constant(0, name="zero"))
        return tf.while_loop(lambda n, steps: n > 1, lambda n, steps: (following(n), steps + 1), start, name="sequence")

    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        n = v1.placeholder(tf.int32, [], name="n")
        tf.identity(collatz(n)[1], name="steps")
    FRAMES.write_text(text_format.MessageToString(graph.as_graph_def()))
    v1.enable_control_flow_v2()
    function = tf.function(lambda n: collatz(n)[1]).get_concrete_function(tf.TensorSpec([], tf.int32, name="n"))
    FUNCTIONS.write_bytes(function.graph.as_graph_def().SerializeToString())

    class Scaling(tf.Module):
        def __init__(self):
            super().__init__()
            self.w, self.b = tf.Variable(3.0, name="w"), tf.Variable([[1.0, 2.0]], name="b")

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
        def __call__(self, x):
            return x * self.w + tf.reduce_sum(self.b)

    model = Scaling()
    shutil.rmtree(SAVED_MODEL, ignore_errors=True)
    tf.saved_model.save(model, SAVED_MODEL, signatures=model.__call__)


if __name__ == "__main__":
    write_graphs()
