"""Programs as Python source: the table has every op, and NumPy computes from the source what the program means."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from support.generators.generator import Case, cases
from tagloom.core import dtypes
from tagloom.core.graph.lower import lower
from tagloom.core.ops.op import OPS, lookup_op
from tagloom.core.program.program import Program, Var
from tagloom.core.types import Type
from tagloom.core.value import is_same_value
from tagloom.interp.exchange.export.compose import compose, compositions, entry_keys
from tagloom.interp.exchange.export.python_source import (
    JAX,
    NUMPY,
    TENSORFLOW,
    TENSORFLOW_FUNCTION,
    TENSORFLOW_XLA,
    TORCH,
    Dialect,
    numpy_expression,
    to_python,
    to_script,
)
from tagloom.interp.exchange.export.walker import OpUse, Refusal
from tagloom.interp.oracle.adapters import DIALECTS, load_adapter
from tagloom.interp.oracle.judge import FAILURES, judge, run_reference
from tagloom.interp.oracle.protocol import Answer

TARGETS = (*dict.fromkeys(each.column or each.name for each in DIALECTS.values()), "onnx", "stablehlo")


def parse_program(text: str) -> Program:
    program = tl.parse(text).program
    assert program is not None
    return program


NARROW = """func main(x: bfloat16[2], h: float16) -> bfloat16[2], float16 {
  y = multiply x, bfloat16([0.1, nan])
  z = add h, float16(0.1)
  return y, z
}"""


@pytest.mark.parametrize(
    ("dialect", "constant"),
    [
        (JAX, "lax.convert_element_type(np.array([0.10009765625, float('nan')], np.float32), jnp.bfloat16)"),
        (TORCH, "torch.from_numpy(np.array(np.array([0.10009765625, float('nan')], np.float32))).to(torch.bfloat16)"),
        (TENSORFLOW, "tf.cast(tf.constant(np.array([0.10009765625, float('nan')], np.float32)), tf.bfloat16)"),
    ],
)
def test_bfloat16_has_the_name_of_the_system(dialect: Dialect, constant: str) -> None:
    """NumPy has no bfloat16: its constants are those of float32, which the system converts without loss."""
    lines = to_python(parse_program(NARROW), dialect).splitlines()
    product = next(line for line in lines if "y = " in line)
    assert ast.unparse(ast.parse(constant)) in ast.unparse(ast.parse(product.strip()))
    assert any("np.float16(0.0999755859375)" in line for line in lines)


def test_numpy_has_no_bfloat16() -> None:
    """Constants, conversions and the results of scripts are refused, where NumPy would need the dtype."""
    program = parse_program(NARROW)
    narrow = np.ones(2, dtypes.bfloat16.numpy)
    with pytest.raises(Refusal, match="no bfloat16"):
        to_python(program, NUMPY)
    with pytest.raises(Refusal, match="no bfloat16"):
        to_script(program, TORCH, (narrow, np.float16(1)), (narrow, np.float16(1)))


@pytest.mark.parametrize("target", TARGETS)
def test_every_op_has_an_entry(target: str) -> None:
    """For every row of the registry and every kind of dtype, the table has an expression that can be parsed, or says
    why there is none; and it has no entry of another op."""
    table = compositions(target)
    assert {key.partition(":")[0] for key in table} == set(OPS)
    for key, entry in table.items():
        assert key in {each for kind in "biuf" for each in entry_keys(key.partition(":")[0], kind)}, key
        assert entry[:1] != "-" or len(entry) > 10, key
        if not entry.startswith("-"):
            ast.parse(entry, mode="eval")
    for name in OPS:
        for kind in "biuf":
            assert any(key in table for key in entry_keys(name, kind)), (name, kind)


def test_the_narrowest_entry_counts() -> None:
    """An entry for a kind of dtype comes before that of the op."""

    def entry(name: str, dtype: dtypes.DType) -> str:
        use = OpUse(lookup_op(name), (Type(dtype),), Var("y", Type(dtype)), {})
        return ast.unparse(compose(compositions("onnx"), use))

    assert entry("negative", dtypes.uint8) == "Sub(0, x)"
    assert entry("negative", dtypes.int8) == "Neg(x)"
    with pytest.raises(Refusal, match="assert of bool: no value of an array ends a run"):
        entry("assert", dtypes.bool)


def answer_of(program: Program, arguments: list[object]) -> Answer:
    """What NumPy computes, in this process."""
    try:
        return Answer("returned", tuple(load_adapter("numpy").compile(program)(arguments)))  # type: ignore[arg-type]
    except Refusal as refusal:
        return Answer("refused", cause=refusal.kind, message=refusal.message)
    except Exception as error:
        return Answer("error", message=repr(error))


@pytest.mark.full
@pytest.mark.parametrize("arrays", [False, True])
def test_numpy_agrees_on_generated_programs(arrays: bool) -> None:
    """Of generated programs with conds, loops and recursion, NumPy computes what the reference does, under the policy;
    at least every eighth is not refused."""
    judged: list[str] = []

    @given(cases(exact=True, arrays=arrays))
    @settings(max_examples=25)
    def law(case: Case) -> None:
        outcome = run_reference(case.program, case.arguments, graph=lower(case.program))
        judgement = judge(case.program, case.arguments, outcome, answer_of(case.program, case.arguments))
        judged.append(judgement.verdict)
        assert judgement.verdict not in FAILURES, judgement

    law()
    assert judged.count("alike") >= len(judged) // 8


FIB = """
func fib(n: int64) -> int64 {
  small = less_equal n, 1
  r = cond small, n {
    then(m: int64) {
      yield m
    }
    else(m: int64) {
      p = subtract m, 1
      q = subtract m, 2
      a = call fib p
      b = call fib q
      s = add a, b
      yield s
    }
  }
  return r
}
"""

LOOP = """
func main(n: int64, np: int64) -> int64, float64 {
  i, x, m = while_loop 0, 1.5, n {
    while(i: int64, x: float64, n: int64) {
      lambda = less i, n
      yield lambda
    }
    do(i: int64, x: float64, n: int64) {
      j = add i, 1
      y = multiply x, 1.25
      yield j, y, n
    }
  }
  k = add i, np
  return k, x
}
"""


def test_recursion() -> None:
    """Eager Python recurs; JAX, which inlines calls, refuses in words."""
    namespace: dict[str, object] = {}
    exec(to_python(parse_program(FIB), NUMPY), namespace)
    assert namespace["main"](10) == (55,)  # type: ignore[operator]
    with pytest.raises(Refusal, match="fib is recursive, and this target has no recursion") as refused:
        to_python(parse_program(FIB), JAX)
    assert refused.value.kind == "construct"


def test_names_of_python() -> None:
    """Names of values that are words of Python, or names of modules, are changed."""
    source = to_python(parse_program(LOOP), NUMPY)
    assert "lambda_1 = np.less(i, n_1)" in source and "def main(n, np_1):" in source
    namespace: dict[str, object] = {}
    exec(source, namespace)
    assert namespace["main"](3, 4) == (7, 1.5 * 1.25**3)  # type: ignore[operator]


def test_the_loop_of_jax() -> None:
    """JAX gets its own loops and conds."""
    source = to_python(parse_program(LOOP), JAX)
    assert "lax.while_loop(lambda state: i_while(*state)[0], lambda state: i_do(*state)," in source


def test_main_is_the_entry_function() -> None:
    """A program may call a function named `main` that is not its entry."""
    text = """
    func f(n: int64) -> int64 {
      m = call main n
      y = add m, 1
      return y
    }
    func main(n: int64) -> int64 {
      y = multiply n, 2
      return y
    }
    """
    namespace: dict[str, Any] = {}
    exec(to_python(parse_program(text), NUMPY), namespace)
    assert namespace["main"](np.int64(5)) == (11,)


def test_the_loops_of_tensorflow() -> None:
    """TensorFlow gets its own loops, with the sizes that may change; only eagerly it recurs."""
    source = to_python(parse_program(LOOP), TENSORFLOW)
    assert "tf.while_loop(lambda *state: i_while(*state)[0], i_do, (" in source and "shape_invariants" not in source
    open_sizes = LOOP.replace("float64", "float64[?, 2]").replace("1.5, n", "start, n")
    open_sizes = open_sizes.replace("np: int64)", "np: int64, start: float64[?, 2])")
    source = to_python(parse_program(open_sizes), TENSORFLOW_FUNCTION)
    assert "shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 2]), tf.TensorShape([]),))" in source
    assert "def fib(n):" in to_python(parse_program(FIB), TENSORFLOW)
    with pytest.raises(Refusal, match="fib is recursive"):
        to_python(parse_program(FIB), TENSORFLOW_XLA)


@pytest.mark.parametrize(
    "value",
    [
        *(True, -3, 1.5, float("nan"), float("-inf"), -0.0, np.uint64(2**64 - 1), np.float32(0.1)),
        *(np.array([[1, 2]], np.int8), np.zeros((0, 3), np.float32), np.array([np.inf, -0.0, np.nan])),
    ],
    ids=str,
)
def test_constants_keep_their_bits(value: object) -> None:
    """The expression of a constant has its dtype, its shape and its bits."""
    assert is_same_value(eval(numpy_expression(np.asarray(value)), {"np": np}), value)


@pytest.mark.parametrize(
    "text, kind",
    [
        ('func main(p: bool) -> bool {\n  y = assert p, error="ValueError", message="no"\n  return y\n}', "op"),
        ("func main(n: int64) -> int64 {\n  a = cells n, dtype=int64\n  y = get a, 0\n  return y\n}", "construct"),
        ("func main() -> float64 {\n  y = uniform 0.0, 1.0, shape=[]\n  return y\n}", "construct"),
        ('func main(x: float64[3], n: int64) -> float64[?] {\n  y = index x, n, key="?:"\n  return y\n}', "shape"),
    ],
)  # fmt: skip
def test_refusals_name_their_kind(text: str, kind: str) -> None:
    """What cannot be said is refused, with the kind of what is missing."""
    with pytest.raises(Refusal) as refused:
        to_python(parse_program(text), NUMPY)
    assert refused.value.kind == kind
