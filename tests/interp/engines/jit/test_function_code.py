"""Generated functions compute the same bits whether LLVM compiles them alone or with numba's analyses, and release the
references that they take."""

from __future__ import annotations

import ast
import ctypes
import operator
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys
from tagloom.core.python_ast import parse_python
from tagloom.interp.engines.jit import arrays, function_code, intrinsics, native, parallel_loops
from tagloom.interp.engines.jit.memory import kernel

NAMES: dict[str, Any] = {
    "m_read_i": intrinsics.read_i,
    "w_block_at": parallel_loops.block_at,
    "w_array_at": parallel_loops.array_at,
    "w_data_address": parallel_loops.data_address,
    "e_empty": arrays.empty,
    "np_sqrt": np.sqrt,
    **{name: getattr(numba, name) for name in ("boolean", "float32", "float64", "int8", "int64", "uint8", "uint64")},
    **{f"np_{name}": getattr(np, name) for name in ("bool_", "float32", "float64", "int64", "uint8", "uint64")},
}
"""What the functions of a text may call."""
COUNT = 37
KINDS = {"x": "float32", "y": "float64", "i": "int64", "u": "uint64", "b": "bool_"}
"""The operands of generated loops: a name and a dtype of each."""


def by_llvm(text: str) -> Callable[[int, int, int], int]:
    """The function `loop` of a text, compiled by `function_code`."""
    return compiled(text, "loop", 3)


def compiled(text: str, name: str, arity: int) -> Callable[..., int]:
    """A function of words of a text, compiled by `function_code`."""
    symbol = f"test_{abs(hash(text))}"
    code, _ = function_code.compile_functions(text, dict(NAMES), {name: symbol})
    engine = native.load_object(code)
    word = ctypes.c_int64
    function: Callable[..., int] = ctypes.CFUNCTYPE(word, *[word] * arity)(engine.get_function_address(symbol))
    return function


def by_numba(text: str) -> Callable[[int, int, int], Any]:
    """The function `loop` of a text, compiled by numba."""
    names = dict(NAMES)
    exec(text, names)
    loop = kernel(names["loop"])
    run: Callable[[int, int, int], Any] = numba.njit(lambda words, first, last: loop(words, first, last))
    return run


def operands() -> list[np.ndarray[Any, Any]]:
    """Arrays of numbers, some of them special, one for each kind."""
    source = np.random.default_rng(1)
    floats = np.concatenate([[0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 3.0], source.normal(size=COUNT - 7) * 5])
    whole = np.concatenate([[0, -1, 2**63 - 1, -(2**63)], source.integers(-9, 9, COUNT - 4)])
    return [
        floats.astype(np.float32),
        floats[::-1].copy(),
        whole.astype(np.int64),
        whole.astype(np.uint64),
        source.integers(0, 2, COUNT).astype(bool),
    ]


def results(run: Callable[[int, int, int], Any], inputs: Sequence[Any], count: int) -> list[bytes]:
    """The bytes of `count` results in float64, after a run over all elements."""
    outputs = [np.full(COUNT, 7.0) for _ in range(count)]
    words = np.array([array.ctypes.data for array in (*inputs, *outputs)], np.int64)
    run(words.ctypes.data, 0, COUNT)
    return [output.tobytes() for output in outputs]


def write_loop(draw: random.Random, count: int = 6) -> str:
    """The text of a loop with `count` results: each an expression of elements and of earlier results."""
    names = {"f": ["x", "y"], "i": ["i"], "u": ["u"], "b": ["b"]}

    def pick(kind: str) -> str:
        return draw.choice(names[kind])

    def write(kind: str) -> str:
        condition = draw.choice([pick("b"), f"({pick('f')} < {pick('f')})", f"({pick('i')} >= 3)"])
        match kind:
            case "f":
                a, b = pick("f"), pick("f")
                texts = [f"({a} + {b})", f"({a} * {b})", f"({a} / {b})", f"(-{a})", f"abs({a})", f"np_sqrt(abs({a}))"]
                texts += [f"float32({a})", f"float64({pick('i')})", f"({a} if {condition} else {b})", f"({a} - 0.5)"]
            case "i" | "u":
                a, b = pick(kind), pick(kind)
                texts = [f"({a} & {b})", f"({a} | {b})", f"({a} ^ {b})", f"(~{a})", f"({a} >> {kind_of(kind)}(3))"]
                texts += [f"{kind_of(kind)}({kind_of(kind)[:-2]}8({a}))", f"({a} if {condition} else {b})"]
            case _:
                a, b = pick("b"), condition
                texts = [f"({a} and {b})", f"({a} or {b})", f"(not {a})", f"({pick('f')} == {pick('f')})", b]
                texts += [f"({pick('u')} < {pick('u')})", f"({a} != {b})"]
        return draw.choice(texts)

    def kind_of(kind: str) -> str:
        return "int64" if kind == "i" else "uint64"

    lines = ["def loop(c, first, last):", " n = last - first"]
    for index, (name, dtype) in enumerate(KINDS.items()):
        lines.append(f" {name}_in = w_block_at(c, {index}, first, n, np_{dtype})")
    for index in range(count):
        lines.append(f" r{index}_out = w_block_at(c, {len(KINDS) + index}, first, n, np_float64)")
    lines.append(" for j in range(n):")
    lanes = {"x": "", "y": "", "i": "int64", "u": "uint64", "b": "boolean"}
    lines += [f"  {name} = {lane}({name}_in[j])" for name, lane in lanes.items()]
    for index in range(count):
        kind = draw.choice("ffiub")
        lines += [f"  r{index} = {write(kind)}", f"  r{index}_out[j] = float64(r{index})"]
        names[kind].append(f"r{index}")
    return "\n".join([*lines, ""])


def check(text: str, count: int = 6) -> None:
    """Both compilers give the same bits, and the text is within the subset."""
    (definition,) = parse_python(text).body
    assert isinstance(definition, ast.FunctionDef)
    inputs = operands()
    assert results(by_llvm(text), inputs, count) == results(by_numba(text), inputs, count), text


@pytest.fixture
def no_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    """numba compiles no expression of a text."""
    monkeypatch.setattr(function_code._FunctionCompiler, "call_numba", None)


@pytest.mark.full(first=1)
@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("seed", range(4))
def test_generated_loops_have_the_bits_of_numba(seed: int) -> None:
    check(write_loop(random.Random(seed)))


@pytest.mark.heavy
@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("first", range(4, 204, 20))
def test_many_generated_loops_have_the_bits_of_numba(first: int) -> None:
    for seed in range(first, first + 20):
        check(write_loop(random.Random(seed)))


STAGES = """\
def loop(c, first, last):
 memory = e_empty((8 * 16,), np_uint8)
 for begin in range(first, last, 16):
  if m_read_i(c, 1) == 0: return
  n = min(16, last - begin)
  xs = w_block_at(c, 0, begin, n, np_float64)
  ys = w_block_at(c, 1, begin, n, np_float64)
  zs = w_array_at(w_data_address(memory), n, np_float64)
  for k in range(n):
   zs[k] = xs[k] * 2.0
  for k in range(n):
   v = zs[k]
   ys[k] = v + xs[k] if v > inf or not v <= 1.0 else float64(ys.size)
"""


def test_a_loop_over_blocks_in_stages(monkeypatch: pytest.MonkeyPatch, no_fallback: None) -> None:
    """A loop may allocate memory, write an array in one stage and read it in the next, and return early."""
    monkeypatch.setitem(NAMES, "inf", np.inf)
    monkeypatch.setitem(NAMES, "min", intrinsics.minimum)
    x = np.linspace(-2, 2, COUNT)
    expected = np.where(x * 2 <= 1, [16.0] * 32 + [5.0] * 5, x * 3)
    assert results(by_llvm(STAGES), [x], 1) == [expected.tobytes()]


def test_numba_compiles_an_expression_outside_of_the_subset(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a power, or a comparison of three."""
    text = """\
def loop(c, first, last):
 xs = w_block_at(c, 0, first, last - first, np_float64)
 ys = w_block_at(c, 1, first, last - first, np_float64)
 for k in range(last - first):
  y = xs[k] ** 2
  while y > 0.25: y = y / 2.0
  ys[k] = y if 0.0 < y < 0.2 else -y
"""
    x = np.linspace(0, 1, COUNT)
    assert results(by_llvm(text), [x], 1) == results(by_numba(text), [x], 1)
    monkeypatch.setattr(function_code._FunctionCompiler, "call_numba", None)
    with pytest.raises(TypeError):
        by_llvm(text)


OUTSIDE = {
    "a variable of two types": " k = 3\n for j in range(n): k = xs[j]",
    "an index that has another value": " k = 3\n for k in range(n): ys[k] = xs[k]\n ys[0] = k",
    "an index after its loop": " for k in range(n): ys[k] = xs[k]\n ys[0] = k",
    "a loop backwards": " for k in range(n - 1, -1, -1): ys[k] = xs[k]",
    "a value of another type in an array": " for k in range(n): ys[k] = xs",
    "a second name of an array": " zs = ys\n for k in range(n): zs[k] = ys[n - 1 - k]",
}


@pytest.mark.full(first=1)
@pytest.mark.parametrize("body", OUTSIDE.values(), ids=list(OUTSIDE))
def test_a_text_outside_of_the_subset_is_refused(body: str) -> None:
    head = "def loop(c, first, last):\n n = last - first\n xs = w_block_at(c, 0, first, n, np_float64)"
    with pytest.raises(function_code.UnsupportedText):
        by_llvm(f"{head}\n ys = w_block_at(c, 1, first, n, np_float64)\n{body}\n")


REFERENCES = """\
@Array(float64, 1, 'C')(int64, Array(float64, 1, 'C'), Array(float64, 1, 'C'))
def pick(n, x, y):
 x = e_receive(x)
 z = e_zeros((4,), np_float64)
 if n == 0: return x
 if n == 1:
  y = z
  return y
 return
@int64(int64, int64)
def entry(c, n):
 a = e_zeros((3,), np_float64)
 b = e_zeros((5,), np_float64)
 total = 0
 for i in range(n):
  total = total + a.size
  a, b = b, a
  d = pick(i, a, b)
  if i == 2: d = e_subarray(b, 1, (2,))
  total = total + d.size
  while True:
   f = pick(1, a, d)
   if total > 13: break
   total = total + f.size
   if total > 99: return 0
  pick(0, a, b)
 if n == 4:
  a = pick(0, e_transfer(b), a)
 g = e_zeros((2,), np_float64)
 h = pick(0, g, a)
 if n > 2:
  total = total + g.size
  if n == 3:
   total = total + h.size
   h = pick(1, h, a)
 elif n == 1:
  g = h
  total = total + g.size
 else:
  total = total + 1
 m_write(c, 0, total + a.size)
 return 0
"""


def values_by_python() -> list[int]:
    """What the text computes as Python."""
    words: list[int] = []
    namespace: dict[str, Any] = {
        "e_zeros": lambda sizes, _: np.zeros(sizes),
        "e_subarray": lambda array, begin, sizes: array[begin : begin + sizes[0]],
        "e_transfer": lambda array: array,
        "e_receive": lambda array: array,
        "m_write": lambda base, index, value: words.append(value),
        "Array": lambda *_: lambda *_: lambda function: function,
        "int64": lambda *_: lambda function: function,
        **dict.fromkeys(("float64", "np_float64")),
    }
    exec(REFERENCES.replace(" return\n", " return e_zeros((0,), 0)\n"), namespace)
    for n in range(6):
        namespace["entry"](0, n)
    return words


@pytest.fixture
def count_allocations(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    _nrt_python.memsys_enable_stats()
    for name in ("zeros", "subarray", "transfer", "receive"):
        monkeypatch.setitem(NAMES, f"e_{name}", getattr(arrays, name))
    monkeypatch.setitem(NAMES, "m_write", intrinsics.write)
    monkeypatch.setitem(NAMES, "Array", numba.types.Array)
    yield
    _nrt_python.memsys_disable_stats()


def leaked_arrays(text: str) -> tuple[list[int], int]:
    """What a text computes for several arguments, and how many arrays are not released."""
    entry, word = compiled(text, "entry", 2), np.zeros(1, np.int64)
    before, values = rtsys.get_allocation_stats(), list[int]()  # type: ignore[no-untyped-call]
    for n in range(6):
        assert entry(word.ctypes.data, n) == 0
        values.append(int(word[0]))
    after = rtsys.get_allocation_stats()  # type: ignore[no-untyped-call]
    return values, (after.alloc - before.alloc) - (after.free - before.free)


@pytest.mark.usefixtures("count_allocations")
def test_a_function_says_that_memory_is_exhausted() -> None:
    """By a number other than 0, from whatever depth."""
    text = REFERENCES.replace("e_zeros((5,)", "e_zeros((5 + (n << 50),)")
    entry, word = compiled(text, "entry", 2), np.zeros(1, np.int64)
    assert entry(word.ctypes.data, 0) == 0 != entry(word.ctypes.data, 5)


@pytest.mark.usefixtures("count_allocations")
def test_functions_release_what_they_take() -> None:
    """Whatever way the code takes: branches, loops, and returns in the middle."""
    assert leaked_arrays(REFERENCES) == (values_by_python(), 0)


AGAIN = """\
@int64(int64, int64)
def entry(c, n):
 x = e_zeros((4,), np_float64)
 w = x
 e_transfer(w)
 for i in range(2):
  while True:
   if n < 9: y = x
   else: y = e_zeros((4,), np_float64)
   if n < 9: break
   y[0] = 1.0
 m_write(c, 0, n)
 return 0
"""


@pytest.mark.usefixtures("count_allocations")
def test_a_loop_that_runs_again_releases_an_array_once() -> None:
    """The reference that no callee takes over keeps `x`; a second release by way of `y` would take it away."""
    assert leaked_arrays(AGAIN) == ([*range(6)], 6)


@pytest.mark.usefixtures("count_allocations")
@pytest.mark.parametrize("part", ["release", "release_variables", "release_temporaries"])
def test_a_reference_that_is_not_released_leaks(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def skip(compiler: function_code._FunctionCompiler, *_: object) -> None:
        compiler.temporaries.clear()

    monkeypatch.setattr(function_code._FunctionCompiler, part, skip)
    assert leaked_arrays(REFERENCES)[1] > 0


def test_a_wrong_operator_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law detects an operator that is another one where two numbers are equal."""
    text = write_loop(random.Random(0))
    text = f"{text[: text.index('  r0 =')]}  r0 = y < y\n  r0_out[j] = float64(r0)\n"
    monkeypatch.setitem(function_code._OPERATORS, ast.Lt, operator.le)
    with pytest.raises(AssertionError):
        check(text, 1)
