"""Programs as ONNX models: the checker accepts them, and ONNX's own evaluator computes what they mean."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.program.evaluate import evaluate
from tagloom.core.program.program import Program
from tagloom.core.value import is_same_value
from tagloom.interp.exchange.export.walker import Refusal
from tagloom.interp.oracle.adapters import load_adapter
from tagloom.interp.oracle.generate import FuzzWriter

onnx = pytest.importorskip("onnx")

LOOP = """
func main(n: int64, x: float64[2]) -> int64, float64[2] {
  i, y, m = while_loop 0, x, n {
    while(i: int64, x: float64[2], n: int64) {
      p = less i, n
      yield p
    }
    do(i: int64, x: float64[2], n: int64) {
      j = add i, 1
      p = less j, 2
      y = cond p, x {
        then(x: float64[2]) {
          z = call square x
          yield z
        }
        else(x: float64[2]) {
          yield x
        }
      }
      yield j, y, n
    }
  }
  return i, y
}
func square(x: float64[2]) -> float64[2] {
  y = multiply x, x
  return y
}
"""


def parse_program(text: str) -> Program:
    program = tl.parse(text).program
    assert program is not None
    return program


def model_of(program: Program) -> Any:
    from tagloom.interp.exchange.export.onnx_model import to_onnx

    return to_onnx(program)


def results_of(program: Program, *arguments: Any) -> list[Any]:
    """What the evaluator of the `onnx` package computes."""
    return list(load_adapter("onnx-reference").compile(program)(arguments))


def operators(nodes: Any) -> list[str]:
    """The operators of nodes, and of the graphs in them."""
    names = []
    for node in nodes:
        names.append(node.op_type)
        for attribute in node.attribute:
            names += operators(attribute.g.node)
    return names


def test_structure() -> None:
    """A loop is one Loop, whose condition is computed before it and in it; a cond is one If; a function of the program
    is a function of the model."""
    model = model_of(parse_program(LOOP))
    names = operators(model.graph.node)
    assert [names.count(name) for name in ("Loop", "If", "square", "Less")] == [1, 1, 1, 3]
    assert [function.name for function in model.functions] == ["square"]
    assert operators(model.functions[0].node) == ["Mul", "Identity"]
    assert [each.type.tensor_type.elem_type for each in model.graph.output] == [onnx.TensorProto.INT64, 11]


def test_names_of_a_model() -> None:
    """The inputs of a model have the names of the parameters, also where a function that is called has the same."""
    model = model_of(parse_program(LOOP))
    assert [each.name for each in model.graph.input] == ["n", "x"]
    assert [each.name for each in model.graph.output] == ["result0", "result1"]


@pytest.mark.parametrize("trips, right", [(0, [2.0, 3.0]), (1, [4.0, 9.0]), (3, [4.0, 9.0])])
def test_a_loop_runs(trips: int, right: list[float]) -> None:
    """A loop makes as many trips as it should, also none."""
    count, vector = results_of(parse_program(LOOP), trips, np.array([2.0, 3.0]))
    assert count == trips and vector.tolist() == right


def test_generated_programs() -> None:
    """Generated programs with loops, conds, calls and dead code give the same bits as the evaluator of programs, unless
    ONNX lacks one of their ops."""
    count = 0
    for number in range(25):
        program, arguments = FuzzWriter(Random(number)).write_case()
        expected = evaluate(program, arguments, max_steps=500, max_depth=100).results
        if expected is not None:
            try:
                results = results_of(program, *arguments)
            except Refusal:
                continue
            count += 1
            assert len(results) == len(expected) and all(map(is_same_value, expected, results)), number
    assert count > 15


def test_a_swapped_carry_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exporter that yields loop variables in the wrong order computes something else: the comparison sees it."""
    from tagloom.interp.exchange.export.onnx_model import OnnxTarget

    loop = OnnxTarget.loop

    def swapped(target: Any, results: Any, starts: Any, regions: Any) -> Any:
        condition, body = regions
        return loop(target, results, starts, (condition, body._replace(write=lambda names: [*body.write(names)][::-1])))

    text = """
    func main() -> int64, int64 {
      i, j = while_loop 0, 5 {
        while(i: int64, j: int64) {
          p = less i, 3
          yield p
        }
        do(i: int64, j: int64) {
          k = add i, 1
          yield k, j
        }
      }
      return i, j
    }
    """
    assert results_of(parse_program(text)) == [3, 5]
    monkeypatch.setattr(OnnxTarget, "loop", swapped)
    assert results_of(parse_program(text)) == [5, 1]


@pytest.mark.parametrize(
    "key",
    ["1:", "::-1", "-1", "..., 0", "None, 1, ::2", "0, None, ..., None", "5:1:-2", "-2:, 0:0", ""],
)
def test_slices(key: str) -> None:
    """A key of slices, indices and new axes takes the same elements as NumPy's."""
    x = np.arange(12.0).reshape(4, 3)
    y = eval(f"x[{key or '()'}]", {"x": x})
    shape = ", ".join(map(str, y.shape))
    text = f'func main(x: float64[4, 3]) -> float64[{shape}] {{\n  y = index x, key="{key}"\n  return y\n}}'
    assert is_same_value(results_of(parse_program(text.replace("float64[]", "float64")), x)[0], y[()])


@pytest.mark.parametrize("op", ["any", "all"])
@pytest.mark.parametrize("elements", [[], [False], [True, False], [True, True]])
def test_reductions_to_bool(op: str, elements: list[bool]) -> None:
    """`any` and `all` are those of NumPy, also of no elements."""
    x = np.array(elements, bool)
    text = f"func main(x: bool[{x.size}]) -> bool {{\n  y = {op} x, axis=0, keepdims=false\n  return y\n}}"
    assert is_same_value(results_of(parse_program(text), x)[0], getattr(np, op)(x))


@pytest.mark.parametrize(
    "text, kind, words",
    [
        (
            "func f(n: int64) -> int64 {\n  m = call f n\n  return m\n}",
            "construct",
            "f is recursive, and this target has no recursion",
        ),
        ("func f(n: int8) -> int8 {\n  m = pow n, n\n  return m\n}", "dtype", r"ONNX has no Pow of tensor\(int8\)"),
        ("func f(x: float64) -> float64 {\n  y = cbrt x\n  return y\n}", "op", "cbrt of float64: there is no such op"),
    ],
)
def test_refusals(text: str, kind: str, words: str) -> None:
    """What ONNX cannot say is refused in words."""
    with pytest.raises(Refusal, match=words) as refused:
        model_of(parse_program(text))
    assert refused.value.kind == kind
