"""ONNX Runtime: models built by hand with `onnx.helper`, loops as Loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, checker, helper
from rows import INNER, OFFSET, REPEATED, SLOPE, A, C, Size, array, cell, dtype_of, factors, links, tree

from systems import Built, Unable

_TYPES = {np.dtype(np.int64): TensorProto.INT64, np.dtype(np.float32): TensorProto.FLOAT}
_TYPES |= {np.dtype(np.float64): TensorProto.DOUBLE, np.dtype(np.bool_): TensorProto.BOOL}
_node = helper.make_node


class Writer:
    """The nodes of a graph, each with a name of its own."""

    def __init__(self, prefix: str) -> None:
        self.prefix, self.nodes = prefix, list[Any]()

    def __call__(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"{self.prefix}{len(self.nodes)}"
        self.nodes.append(_node(op, inputs, [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        value = np.asarray(value)
        return self("Constant", value=helper.make_tensor("", _TYPES[value.dtype], value.shape, value.ravel()))


def _info(name: str, dtype: Any, shape: Sequence[int | str] | None = ()) -> Any:
    return helper.make_tensor_value_info(name, _TYPES[np.dtype(dtype)], shape)


def _loop(
    write: Writer, iterations: str, start: str, dtype: Any, shape: Any, step: Callable[[Writer, str, str], str]
) -> str:
    """A Loop that carries one value; `step` writes its body, from the iteration's number and that value."""
    prefix = f"{write.prefix}b"
    body = Writer(prefix)
    out = step(body, f"{prefix}_i", f"{prefix}_x")
    body.nodes += [_node("Identity", [f"{prefix}_c"], [f"{prefix}_go"])]
    inputs = [_info(f"{prefix}_i", np.int64), _info(f"{prefix}_c", np.bool_), _info(f"{prefix}_x", dtype, shape)]
    outputs = [_info(f"{prefix}_go", np.bool_), _info(out, dtype, shape)]
    return write(
        "Loop",
        iterations,
        write.constant(np.bool_(True)),
        start,
        body=helper.make_graph(body.nodes, "b", inputs, outputs),
    )


def _session(write: Writer, out: str, inputs: list[Any], dtype: Any, shape: Any = ()) -> Any:
    graph = helper.make_graph(write.nodes, "main", inputs, [_info(out, dtype, shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # or it burns what others are timed on
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _step(body: Writer, x: str, term: str) -> str:
    return body("Add", body("Mul", x, body("Add", x, term)), body.constant(np.int64(C)))


def scalar() -> Any:
    write = Writer("n")
    one = write.constant(np.int64(1))
    out = _loop(write, "n", one, np.int64, (), lambda body, i, x: _step(body, x, body.constant(np.int64(A))))
    return _session(write, out, [_info("n", np.int64)], np.int64)


def nested() -> Any:
    def outer(body: Writer, i: str, x: str) -> str:
        term = body("Add", i, body.constant(np.int64(A)))
        return _loop(body, "m", x, np.int64, (), lambda inner, j, y: _step(inner, y, term))

    write = Writer("n")
    out = _loop(write, "n", write.constant(np.int64(1)), np.int64, (), outer)
    return _session(write, out, [_info("n", np.int64), _info("m", np.int64)], np.int64)


def text(row: str, n: int) -> Any:
    """The straight-line rows."""
    write = Writer("n")
    if row == "wide":
        products = [write("Mul", "x", write.constant(np.float64(factor))) for factor in factors(n)]
        out = tree(products, lambda y, z: write("Add", y, z))
    else:
        out = "x"
        for factor, term in links(n):
            out = write("Add", write("Mul", out, write.constant(np.float64(factor))), write.constant(np.float64(term)))
    return _session(write, out, [_info("x", np.float64)], np.float64)


def recurrent(hidden: int) -> Any:
    write = Writer("n")

    def step(body: Writer, i: str, h: str) -> str:
        return body("Tanh", body("Add", body("MatMul", h, "w"), "x"))

    out = _loop(write, "n", "h", np.float32, ("b", hidden), step)
    inputs = [_info("n", np.int64), _info("w", np.float32, (hidden, hidden))]
    inputs += [_info(name, np.float32, ("b", hidden)) for name in "hx"]
    return _session(write, out, inputs, np.float32, ("b", hidden))


def arrays(row: str) -> Any:
    """The rows over elements."""
    write, dtype, out = Writer("n"), dtype_of(row), "x"
    for _ in range(REPEATED[row]):
        if row.startswith("exptanh"):
            # Tanh of the CPU provider has no float64 in all versions: where it has none, building fails, and says so.
            out = write("Tanh", write("Exp", write("Neg", out)))
        else:
            out = write("Add", write("Mul", "a", out), "b")
    if row == "sum":
        out = write("ReduceSum", out, keepdims=0)
    scalars = [] if row.startswith("exptanh") else [_info("a", dtype), _info("b", dtype)]
    return _session(write, out, [_info("x", dtype, ("n",)), *scalars], dtype, () if row == "sum" else ("n",))


_made: dict[str, Any] = {}


def build(system: str, row: str, size: Size) -> Built:
    """A run of any row without recursion."""
    feed: dict[str, Any]
    make: Callable[[], Any]
    if row in ("scalar", "nested"):
        make, feed = {"scalar": scalar, "nested": nested}[row], {"n": np.int64(size[0])}
        feed |= {"m": np.int64(INNER)} if row == "nested" else {}
    elif row in ("wide", "chain"):
        make, feed = lambda: text(row, *size), {"x": np.float64(1.5)}
    elif row.startswith("cell"):
        make, feed = lambda: recurrent(int(row[4:])), dict(zip("hwx", cell(int(row[4:])), strict=True))
        feed["n"] = np.int64(size[0])
    elif row in REPEATED:
        make, feed = lambda: arrays(row), {"x": array(row, *size)}
        feed |= {} if row.startswith("exptanh") else {"a": dtype_of(row)(SLOPE), "b": dtype_of(row)(OFFSET)}
    else:
        raise Unable("no recursion")
    feed = {name: np.asarray(value) for name, value in feed.items()}
    key = f"{row} {size}" if row in ("wide", "chain") else row

    def run() -> Any:
        if key not in _made:
            _made[key] = make()
        (value,) = _made[key].run(None, feed)
        return value if value.shape else value.item()

    return Built(run)
