"""A detector as a model of ONNX: two convolutions, a head for boxes and one for scores, and a `Loop` that takes the
best box and drops those that overlap it, until no score is left: non-maximum suppression.

`python -m tests.support.programs.detector FILE` writes it: docs/models/detector.onnx.
"""

from __future__ import annotations

import re
import sys
from ast import literal_eval
from pathlib import Path
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, checker, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
SIZE, CELLS = 16, 4
"""The pixels and the anchor boxes along a side of the image."""
MOST_BOXES, MIN_SCORE, MAX_OVERLAP = 8, 0.5, 0.4


NODE = re.compile(r"(\w+) = (\w+)\(([\w, ]+)\) ?(.*)")


def nodes(prefix: str, text: str) -> list[NodeProto]:
    """Nodes written RESULT = OP(OPERANDS) {ATTRIBUTES}; their names begin with the prefix."""
    return [
        helper.make_node(op, operands.split(", "), [name], f"{prefix}/{name}", **literal_eval(attributes or "{}"))
        for name, op, operands, attributes in NODE.findall(text)
    ]


SUPPRESSION = """
best = ArgMax(scores) {"axis": 0}
box = Gather(boxes, best) {"axis": 0}
score = Gather(scores, best) {"axis": 0}
low = Slice(boxes, zero, two, one)
high = Slice(boxes, two, four, one)
best_low = Slice(box, zero, two, one)
best_high = Slice(box, two, four, one)
inner_low = Max(low, best_low)
inner_high = Min(high, best_high)
sides = Sub(inner_high, inner_low)
common_sides = Relu(sides)
common = ReduceProd(common_sides, one) {"keepdims": 0}
all_sides = Sub(high, low)
area = ReduceProd(all_sides, one) {"keepdims": 0}
best_sides = Sub(best_high, best_low)
best_area = ReduceProd(best_sides, one) {"keepdims": 0}
areas = Add(area, best_area)
union = Sub(areas, common)
overlap = Div(common, union)
is_apart = Less(overlap, max_overlap)
next_scores = Where(is_apart, scores, no_score)
greatest = ReduceMax(next_scores) {"keepdims": 0}
goes_on = Greater(greatest, min_score)
"""


def suppression() -> GraphProto:
    """The body of the loop."""
    value = helper.make_tensor_value_info
    inputs = [value("number", INT64, []), value("condition", BOOL, []), value("scores", FLOAT, [CELLS**2])]
    outputs = [value("goes_on", BOOL, []), value("next_scores", FLOAT, [CELLS**2])]
    outputs += [value("box", FLOAT, [1, 4]), value("score", FLOAT, [1])]
    return helper.make_graph(nodes("/suppress", SUPPRESSION), "suppress", inputs, outputs)


def detector() -> ModelProto:
    """The model: an image of SIZE by SIZE pixels to the boxes that remain, and their scores."""
    random = np.random.RandomState(1)
    y, x = np.meshgrid(range(CELLS), range(CELLS), indexing="ij")
    anchors = np.stack([3.0 * x, 3.0 * y, 3.0 * x + 5, 3.0 * y + 5], -1).reshape(-1, 4)
    tensors: dict[str, Any] = {
        "first": random.randn(4, 1, 3, 3) * 0.5,
        "second": random.randn(6, 4, 3, 3) * 0.4,
        "to_boxes": random.randn(4, 6, 1, 1) * 0.1,
        "to_scores": random.randn(1, 6, 1, 1) * 0.5,
        "anchors": anchors,
        "max_overlap": MAX_OVERLAP,
        "min_score": MIN_SCORE,
        "no_score": [0.0],
    }
    arrays = {name: np.asarray(tensor, np.float32) for name, tensor in tensors.items()}
    arrays |= {"rows": np.array([-1, 4]), "flat": np.array([-1]), "most": np.array(MOST_BOXES), "go": np.array(True)}
    arrays |= {name: np.array([number]) for name, number in {"zero": 0, "one": 1, "two": 2, "four": 4}.items()}
    graph = [
        *nodes("/backbone", """
            wide = Conv(image, first) {"pads": [1, 1, 1, 1], "strides": [2, 2]}
            edges = Relu(wide)
            narrow = Conv(edges, second) {"pads": [1, 1, 1, 1], "strides": [2, 2]}
            features = Relu(narrow)"""),
        *nodes("/boxes", """
            channels = Conv(features, to_boxes)
            last = Transpose(channels) {"perm": [0, 2, 3, 1]}
            offsets = Reshape(last, rows)
            boxes = Add(offsets, anchors)"""),
        *nodes("/scores", """
            logits = Conv(features, to_scores)
            row = Reshape(logits, flat)
            all_scores = Sigmoid(row)"""),
        helper.make_node("Loop", ["most", "go", "all_scores"], ["rest", "found", "confidence"], name="/suppress",
                         body=suppression()),
    ]  # fmt: skip
    value = helper.make_tensor_value_info
    outputs = [value("found", FLOAT, ["n", 1, 4]), value("confidence", FLOAT, ["n", 1])]
    initializers = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    image = value("image", FLOAT, [1, 1, SIZE, SIZE])
    model = helper.make_model(
        helper.make_graph(graph, "detector", [image], outputs, initializers),
        opset_imports=[helper.make_opsetid("", 21)],
        ir_version=10,
    )
    checker.check_model(model)
    return model


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(detector().SerializeToString())
