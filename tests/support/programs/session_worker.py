"""Runs graphs in sessions of TensorFlow 1: a line of JSON with a GraphDef as text, and what to fetch for which x, p and
q; returns a line with the values, "dead" for those that do not have one."""

from __future__ import annotations

import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf
from google.protobuf import text_format


def run(text: str, runs: list[list[object]]) -> list[object]:
    graph, results = tf.Graph(), list[object]()
    config = tf.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    with graph.as_default():
        tf.import_graph_def(text_format.Parse(text, tf.GraphDef()), name="")
        with tf.Session(graph=graph, config=config) as session:
            for fetch, x, p, q in runs:
                try:
                    value = session.run(fetch if ":" in str(fetch) else f"{fetch}:0", {"x:0": x, "p:0": p, "q:0": q})
                    results.append(float(value))
                except tf.errors.InvalidArgumentError as error:
                    if "does not have value" not in str(error):
                        raise
                    results.append("dead")
    return results


if __name__ == "__main__":
    tf.disable_eager_execution()
    for line in sys.stdin:
        print(json.dumps(run(**json.loads(line))), flush=True)
