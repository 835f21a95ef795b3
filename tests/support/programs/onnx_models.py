"""ONNX models for tests: made by ONNX's helpers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

FLOAT, INT32, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL


def value(name: str, element: int = FLOAT, *sizes: Any) -> ValueInfoProto:
    """The declaration of an array."""
    return helper.make_tensor_value_info(name, element, sizes)


def model(
    nodes: Sequence[NodeProto], inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto], opset: int = 21,
    functions: Any = (), imports: Any = (), **tensors: Any,
) -> ModelProto:  # fmt: skip
    """A model of these nodes, with tensors by name."""
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in tensors.items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, initializers)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset), *imports], functions=functions, ir_version=10
    )


def count_up(limit: int, first: bool = True) -> ModelProto:
    """Adds x to a total while the total is below 10, at most `limit` times; and collects the totals."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["total", "x"], ["next"]),
            helper.make_node("Less", ["next", "ten"], ["goes_on"]),
            helper.make_node("Identity", ["next"], ["seen"]),
        ],
        "body",
        [value("k", INT64), value("is_going", BOOL), value("total")],
        [value("goes_on", BOOL), value("next"), value("seen")],
    )
    loop = helper.make_node("Loop", ["limit", "first", "x"], ["last", "totals"], body=body)
    return model(
        [loop], [value("x")], [value("last"), value("totals", FLOAT, None)],
        limit=np.int64(limit), first=np.array(first), ten=np.float32(10),
    )  # fmt: skip


def nested_loops(depth: int) -> ModelProto:
    """Adds 1 in so many loops inside one another, each of n trips."""

    def body(level: int) -> GraphProto:
        inner = helper.make_node("Add", [f"v{level}", "one"], [f"r{level}"])
        if level:
            inner = helper.make_node("Loop", ["n", "", f"v{level}"], [f"r{level}"], body=body(level - 1))
        going = helper.make_node("Identity", [f"c{level}"], [f"d{level}"])
        inputs = [value(f"i{level}", INT64), value(f"c{level}", BOOL), value(f"v{level}")]
        return helper.make_graph([inner, going], "body", inputs, [value(f"d{level}", BOOL), value(f"r{level}")])

    loop = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body(depth - 1))
    return model([loop], [value("x"), value("n", INT64)], [value("y")], one=np.float32(1))


def scan_columns() -> ModelProto:
    """The running sums of the columns of a matrix."""
    body = helper.make_graph(
        [helper.make_node("Add", ["total", "column"], ["next"]), helper.make_node("Identity", ["next"], ["sum"])],
        "body",
        [value("total", FLOAT, 2), value("column", FLOAT, 2)],
        [value("next", FLOAT, 2), value("sum", FLOAT, 2)],
    )
    scan = helper.make_node(
        "Scan",
        ["start", "x"],
        ["last", "sums"],
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_output_axes=[1],
    )
    outputs = [value("last", FLOAT, 2), value("sums", FLOAT, 2, 3)]
    return model([scan], [value("x", FLOAT, 2, 3)], outputs, start=np.zeros(2, np.float32))


def text_hash() -> ModelProto:
    """Java's hash of a text: the sum of its codes, each times a power of 31, in int32."""
    body = helper.make_graph(
        [
            helper.make_node("Gather", ["codes", "k"], ["code"], name="/step/code"),
            helper.make_node("Sub", ["last", "k"], ["places"], name="/step/places"),
            helper.make_node("Pow", ["base", "places"], ["weight"], name="/step/weight"),
            helper.make_node("Mul", ["code", "weight"], ["term"], name="/step/term"),
            helper.make_node("Add", ["total", "term"], ["next_total"], name="/step/total"),
            helper.make_node("Identity", ["goes_on"], ["still_goes_on"], name="/step/goes_on"),
        ],
        "body",
        [value("k", INT64), value("goes_on", BOOL), value("total", INT32)],
        [value("still_goes_on", BOOL), value("next_total", INT32)],
    )
    count = helper.make_node("Size", ["codes"], ["count"], name="/count")
    last = helper.make_node("Sub", ["count", "one"], ["last"], name="/last")
    loop = helper.make_node("Loop", ["count", "true", "zero"], ["hash"], name="/step", body=body)
    constants = {"base": np.int32(31), "zero": np.int32(0), "one": np.int64(1), "true": np.array(True)}
    return model([count, last, loop], [value("codes", INT32, None)], [value("hash", INT32)], **constants)


def greedy_decoder() -> ModelProto:
    """A recurrent network that emits the most likely token, and reads it again, until token 3 or a limit: a loop that
    ends by its data."""
    random = np.random.default_rng(7)
    sizes = {"embedding": (12, 8), "recurrence": (8, 8), "projection": (8, 12)}
    weights = {name: random.normal(size=shape).astype(np.float32) for name, shape in sizes.items()}
    body = helper.make_graph(
        [
            helper.make_node("Gather", ["embedding", "token"], ["embedded"], name="/decoder/embed"),
            helper.make_node("MatMul", ["state", "recurrence"], ["recurrent"], name="/decoder/cell/product"),
            helper.make_node("Add", ["embedded", "recurrent"], ["sum"], name="/decoder/cell/add"),
            helper.make_node("Tanh", ["sum"], ["next_state"], name="/decoder/cell/tanh"),
            helper.make_node("MatMul", ["next_state", "projection"], ["logits"], name="/decoder/project"),
            helper.make_node("ArgMax", ["logits"], ["next_token"], axis=1, keepdims=0, name="/decoder/choose"),
            helper.make_node("Equal", ["next_token", "end"], ["is_end"]),
            helper.make_node("Not", ["is_end"], ["goes_on"]),
            helper.make_node("Identity", ["next_token"], ["emitted"]),
        ],
        "decode_one",
        [value("k", INT64), value("is_going", BOOL), value("token", INT64, 1), value("state", FLOAT, 1, 8)],
        [value("goes_on", BOOL, 1), value("next_token", INT64, 1), value("next_state", FLOAT, 1, 8),
         value("emitted", INT64, 1)],
    )  # fmt: skip
    loop = helper.make_node(
        "Loop", ["limit", "first", "start", "zeros"], ["last", "final", "tokens"], body=body, name="decode"
    )
    graph = model(
        [loop], [value("start", INT64, 1), value("limit", INT64)], [value("tokens", INT64, "count", 1)],
        first=np.array(True), zeros=np.zeros((1, 8), np.float32), end=np.array([3]), **weights,
    )  # fmt: skip
    graph.graph.name = "greedy_decoding"
    return graph
