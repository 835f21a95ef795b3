"""Programs as StableHLO text: its structure is that of the program, and StableHLO's interpreter computes the same."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core import dtypes
from tagloom.core.program.evaluate import evaluate
from tagloom.core.program.program import Program
from tagloom.core.types import Type
from tagloom.core.value import is_same_value
from tagloom.interp.exchange.export.stablehlo import dense_text, to_stablehlo
from tagloom.interp.exchange.export.walker import Refusal
from tagloom.interp.oracle.adapters import load_adapter
from tagloom.interp.oracle.generate import FuzzCase, FuzzWriter

LOOP = """
func main(n: int32, x: float64[2]) -> int32, float64[2] {
  i, y, m = while_loop int32(0), x, n {
    while(i: int32, x: float64[2], n: int32) {
      p = less i, n
      yield p
    }
    do(i: int32, x: float64[2], n: int32) {
      j = add i, int32(1)
      y = multiply x, 1.5
      yield j, y, n
    }
  }
  return i, y
}
"""
TEXT = """\
module {
  func.func public @main(%n: tensor<i32>, %x: tensor<2xf64>) -> (tensor<i32>, tensor<2xf64>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %i_2:3 = "stablehlo.while"(%c, %x, %n) ({
      ^block(%i: tensor<i32>, %x_1: tensor<2xf64>, %n_1: tensor<i32>):
        %p = "stablehlo.compare"(%i, %n_1) {comparison_direction = #stablehlo<comparison_direction LT>} : \
(tensor<i32>, tensor<i32>) -> tensor<i1>
        "stablehlo.return"(%p) : (tensor<i1>) -> ()
    }, {
      ^block(%i_1: tensor<i32>, %x_2: tensor<2xf64>, %n_2: tensor<i32>):
        %c_1 = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %i_1, %c_1 : tensor<i32>
        %c_2 = stablehlo.constant dense<1.5> : tensor<f64>
        %c_2_1 = "stablehlo.broadcast_in_dim"(%c_2) {broadcast_dimensions = array<i64>} : (tensor<f64>) -> tensor<2xf64>
        %y = stablehlo.multiply %x_2, %c_2_1 : tensor<2xf64>
        "stablehlo.return"(%j, %y, %n_2) : (tensor<i32>, tensor<2xf64>, tensor<i32>) -> ()
    }) : (tensor<i32>, tensor<2xf64>, tensor<i32>) -> (tensor<i32>, tensor<2xf64>, tensor<i32>)
    return %i_2#0, %i_2#1 : tensor<i32>, tensor<2xf64>
  }
}
"""


def parse_program(text: str) -> Program:
    program = tl.parse(text).program
    assert program is not None
    return program


def results_of(program: Program, *arguments: Any) -> list[Any]:
    """What StableHLO's interpreter computes; skips the test where jaxlib is missing."""
    pytest.importorskip("jaxlib")
    return list(load_adapter("stablehlo").compile(program)(arguments))


def test_a_loop() -> None:
    """A loop is a while with two regions; a scalar is broadcast where the reference does it by itself."""
    assert to_stablehlo(parse_program(LOOP)) == TEXT


def static_cases(count: int) -> Iterator[FuzzCase]:
    """The first generated programs whose sizes are all static: StableHLO has no others."""
    cases = (FuzzWriter(Random(f"13:{number}")).write_case() for number in itertools.count())
    return itertools.islice((case for case in cases if not has_open_sizes(case.program)), count)


def has_open_sizes(program: Program) -> bool:
    """Whether the exporter refuses the program because of a size that is known only at run time."""
    try:
        to_stablehlo(program)
    except Refusal as refusal:
        assert refusal.kind == "shape", refusal
        return True
    return False


def test_structure_of_generated_programs() -> None:
    """In the text of generated programs there is a while for each loop, an if for each cond and a function for each
    function; every name is defined once, before it is used."""
    for program, _ in static_cases(30):
        text = to_stablehlo(program)
        functions = program.reachable_functions()
        ops = [node.op for function in functions for node in function.body.walk()]
        assert text.count('"stablehlo.while"') == ops.count("while_loop")
        assert text.count('"stablehlo.if"') == ops.count("cond")
        assert text.count("func.func") == len(functions) and text.count("func.call") == ops.count("call")
        assert text.count("{") == text.count("}")
        names: set[str] = set()
        for line in text.splitlines():
            left, equals, right = line.partition(" = ")
            is_definition = bool(equals) and left.lstrip().startswith("%")
            parameters = re.findall(r"(%\w+): ", line)
            new = [*parameters, *([left.strip().partition(":")[0]] if is_definition else [])]
            assert names.isdisjoint(new) and len(set(new)) == len(new), line
            assert set(re.findall(r"%\w+", right if is_definition else line)) - set(parameters) <= names, line
            names.update(new)


def test_generated_programs_run() -> None:
    """The interpreter computes the bits of the evaluator of programs."""
    for program, arguments in static_cases(25):
        expected = evaluate(program, arguments, max_steps=500, max_depth=100).results
        if expected is not None:
            results = results_of(program, *arguments)
            assert len(results) == len(expected) and all(map(is_same_value, expected, results)), program


@pytest.mark.parametrize(
    "value",
    [
        *(True, -3, 1.5, 1e300, float("nan"), float("-inf"), -0.0, np.uint64(2**64 - 1), np.float32(0.1)),
        *(np.array([[1, 2]], np.int8), np.zeros((0, 3), np.float32), np.array([True, False]), np.float32(1e-40)),
    ],
    ids=str,
)
def test_constants_keep_their_bits(value: Any) -> None:
    """A constant comes back from the interpreter with its dtype, its shape and its bits."""
    array = np.asarray(value)
    type_ = Type(dtypes.from_numpy(array.dtype), array.shape)
    sizes = f"[{', '.join(map(str, array.shape))}]" if array.ndim else ""
    program = parse_program(f"func main(x: {type_.dtype!r}{sizes}) -> {type_.dtype!r}{sizes} {{\n  return x\n}}")
    assert is_same_value(results_of(program, value)[0], value)


def test_constants_as_text() -> None:
    """Numbers that decimals cannot say are written by their bits."""
    assert dense_text(1e300, Type(dtypes.float64)) == "dense<0x7E37E43C8800759C> : tensor<f64>"
    assert dense_text([[True], [False]], Type(dtypes.bool, (2, 1))) == "dense<[[true], [false]]> : tensor<2x1xi1>"
    assert dense_text(np.zeros((0, 3)), Type(dtypes.float64, (0, 3))) == "dense<> : tensor<0x3xf64>"


@pytest.mark.parametrize("key", ["1:", "::-1", "-1", "..., 0", "None, 1, ::2", "5:1:-2", "-2:, 0:0", ""])
def test_slices(key: str) -> None:
    """A key of slices, indices and new axes takes the same elements as NumPy's."""
    x = np.arange(12.0).reshape(4, 3)
    y = eval(f"x[{key or '()'}]", {"x": x})
    shape = f"[{', '.join(map(str, y.shape))}]" if np.ndim(y) else ""
    text = f'func main(x: float64[4, 3]) -> float64{shape} {{\n  y = index x, key="{key}"\n  return y\n}}'
    assert is_same_value(results_of(parse_program(text), x)[0], y)


@pytest.mark.parametrize(
    "text, kind, words",
    [
        ("func f(n: int64) -> int64 {\n  m = call f n\n  return m\n}", "construct", "f is recursive"),
        ("func f(x: float64[?]) -> float64[?] {\n  y = add x, x\n  return y\n}", "shape", "needs sizes before the run"),
        (
            "func f(x: float64[2]) -> float64[2] {\n  y = sort x, axis=0, descending=false\n  return y\n}",
            "op",
            "sort of",
        ),
    ],
)
def test_refusals(text: str, kind: str, words: str) -> None:
    """What StableHLO cannot say is refused in words."""
    with pytest.raises(Refusal, match=words) as refused:
        to_stablehlo(parse_program(text))
    assert refused.value.kind == kind
