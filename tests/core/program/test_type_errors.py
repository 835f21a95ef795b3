"""Every mistake in types is refused at its place: a table of them, each in a file of its own with the line marked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tagloom as tl
from support.programs.userfile import load

HEADER = """
from __future__ import annotations
import dataclasses, typing
import numpy as np
import tagloom as tl

@dataclasses.dataclass
class Point:
    x: tl.float64
    y: tl.float64

@dataclasses.dataclass
class Other:
    x: tl.float64
    y: tl.float64

@tl.function
def half(x: tl.float64) -> tl.float64:
    return x / 2

@tl.function
def norm(p: Point) -> tl.float64:
    return p.x * p.x + p.y * p.y

"""
F = "@tl.function\ndef f(n: tl.int64, x: tl.float64){result}:\n"

# The body, the rule that it breaks, and what the error says: {0} is the marked line, {-1} the one before it.
MISTAKES: dict[str, tuple[str, str | None, str]] = {
    "operands": ("m = tl.astype(n, tl.int32)\nreturn m * x  # here", "V4", "multiply"),
    "operands in a branch": (
        "return tl.cond(\nn < 0,\nlambda: x,\nlambda: x + tl.astype(n, tl.int32),  # here\n)",
        "V4",
        "add",
    ),
    "operands of a comparison": (
        "return tl.cond(\ntl.astype(n, tl.int8) < x,  # here\nlambda: n, lambda: n)",
        "V4",
        "less",
    ),
    "operand of a function": ("return tl.sqrt(n)  # here", "V4", "sqrt"),
    "operand of logic": ("return tl.logical_and(n > 0, n)  # here", "V4", "logical_and"),
    "branches of where": ("return tl.where(n > 0, n, x)  # here", "V4", "where"),
    "shapes": ("return np.zeros(2) + x + np.zeros(3)  # here", "V4", "do not broadcast"),
    "predicate": ("m = n * 2\nreturn tl.cond(m, lambda: 1, lambda: 2)  # here", "V5", "got: int64 (user.py:{-1})"),
    "predicate of several": ("return tl.cond({'p': n > 0}, lambda: 1, lambda: 2)  # here", "V5", "got: {p}"),
    "branches": (
        "return tl.cond(  # here\nn < 0,\nlambda: n + 1,\nlambda: x + 1,\n)",
        "V5",
        "required: int64 (user.py:{2})\n  got: float64 (user.py:{3})",
    ),
    "a literal in a branch": (
        "return tl.cond(  # here\nn < 0,\nlambda: n + 1,\nlambda: 1.5,\n)",
        "V5",
        "required: int64 (user.py:{2})\n  got: float64 (user.py:{3})",
    ),
    "a part of a branch": (
        "p = Point(x, x)\nq = Point(x, n)\nreturn tl.cond(n < 0, lambda: p, lambda: q)  # here",
        "V5",
        "got: int64",
    ),
    "structures of branches": (
        "return tl.cond(  # here\nn < 0,\nlambda: Point(x, x),\nlambda: (x, x),\n)",
        "V5",
        "required: Point(x, y) (user.py:{2})\n  got: (value, value) (user.py:{3})",
    ),
    "classes of branches": (
        "return tl.cond(n < 0, lambda: Point(x, x), lambda: Other(x, x))  # here",
        "V5",
        "got: Other(x, y)",
    ),
    "keys of branches": (
        "return tl.cond(n < 0, lambda: {'a': n}, lambda: {'b': n})  # here",
        "V5",
        "required: {a} (user.py:{0})\n  got: {b}",
    ),
    "condition of a loop": (
        "return tl.while_loop(  # here\nlambda i: i - n,\nlambda i: i + 1, 0)[0]",
        "V5",
        "required: bool\n  got: int64 (user.py:{1})",
    ),
    "a loop variable": (
        "return tl.while_loop(\nlambda i, y: i < n,\nlambda i, y: (i + 1, y * tl.astype(i, tl.int32)),  # here\n0, x)",
        "V4",
        "multiply",
    ),
    "a loop variable's type": (
        "return tl.while_loop(\nlambda i, y: i < n,\nlambda i, y: (i + 1, y > 1.0),  # here\n0, x)",
        "V5",
        "y changes its type\n  required: float64 (user.py:{-2})\n  got: bool (user.py:{0})",
    ),
    "a literal for a loop variable": (
        "return tl.while_loop(\nlambda i: i < n,\nlambda i: 1.5,  # here\n0)",
        "V5",
        "required: int64 (user.py:{-2})\n  got: float64 (user.py:{0})",
    ),
    "a part of a loop variable": (
        "def body(p):\n    q = p.x > p.y  # here\n    return Point(p.y, q)\n"
        "return tl.while_loop(lambda p: p.x < 3.0, body, Point(x, x))",
        "V5",
        "loop variable p.y changes its type\n  required: float64 (user.py:{2})\n  got: bool (user.py:{0})",
    ),
    "a loop variable's rank": (
        "return tl.while_loop(\nlambda a: True,\nlambda a: a + np.ones(3),  # here\nx)",
        "V5",
        "pass it through a tl.function whose parameter is tl.Type(tl.float64, None)",
    ),
    "a loop variable's structure": (
        "return tl.while_loop(\nlambda p, i: i < n,\nlambda p, i: ((p.x, p.y), i + 1),  # here\nPoint(x, x), 0)",
        "V5",
        "p changes its structure\n  required: Point(x, y) (user.py:{-2})\n  got: (value, value) (user.py:{0})",
    ),
    "a single loop variable's structure": (
        "return tl.while_loop(\nlambda p: p.x < 3.0,\nlambda p: (p.x, p.y),  # here\nPoint(x, x))",
        "V5",
        "p changes its structure",
    ),
    "an argument": ("m = n > 3\nreturn half(m)  # here", "V6", "required: float64\n  got: bool (user.py:{-1})"),
    "a literal argument": ("return half(True)  # here", None, "required: float64"),
    "an argument of a class": ("return norm((x, x))  # here", "V6", "required: Point(x, y)\n  got: (value, value)"),
    "an argument of another class": ("return norm(Other(x, x))  # here", "V6", "got: Other(x, y)"),
    "a part of an argument": ("return norm(Point(x, n))  # here", "V6", "argument p.y of norm has the wrong type"),
    "a class for a value": ("return half(Point(x, x))  # here", "V6", "required: one value\n  got: Point(x, y)"),
    "an operand that nests": ("return n + (n, n)  # here", "F1", "a tuple of symbolic values is not a value"),
    "an operand of a class": ("return Point(x, x) + x  # here", None, "not a value of a program"),
    "an operand that is a dict": ("return x * {'a': 1}  # here", None, "not a value of a program"),
    "a result's part": ("return Point(x, tl.sqrt(n))  # here", "V4", "sqrt"),
    "a dict for a value": ("return half({1: x})  # here", "V6", "required: one value"),
}

RESULTS: dict[str, tuple[str, str, str]] = {
    "its type": ("tl.int64", "return n > 1", "required: int64\n  got: bool (user.py:{3})"),
    "its class": ("Point", "return Other(x, x)", "required: Point(x, y)\n  got: Other(x, y)"),
    "a part": ("Point", "m = n + 1\nreturn Point(x, m)", "required: float64\n  got: int64 (user.py:{3})"),
    "its keys": ("Point", "return {'x': x, 'y': x}", "required: Point(x, y)\n  got: {x, y}"),
    "its number": (
        "tuple[tl.int64, tl.int64]",
        "return n, n, n",
        "required: (value, value)\n  got: (value, value, value)",
    ),
    "its nesting": (
        "tuple[tl.int64, Point]",
        "return n, (x, x)",
        "required: (value, Point(x, y))\n  got: (value, (value, value))",
    ),
    "an annotation": ("list[tl.int64]", "return n", "not a type"),
    "a part of an annotation": ("tuple[tl.int64, str]", "return n", "not a type"),
}


def numbered(said: str, line: int) -> str:
    return re.sub(r"\{(-?\d)\}", lambda found: str(line + int(found[1])), said)


def trace_error(folder: Path, text: str) -> tuple[tl.TagloomError, int]:
    """The error of the trace of f, which is at the marked line."""
    module, here = load(folder, text, HEADER)
    with pytest.raises(tl.TagloomError) as caught:
        module.f.program  # noqa: B018 - tracing is what it does
    assert caught.value.where == here
    return caught.value, here.line


@pytest.mark.inner(first=18)
@pytest.mark.parametrize("name", MISTAKES)
def test_v4_v5_v6_type_errors_are_at_their_line(name: str, tmp_path: Path) -> None:
    """V4, V5, V6: a wrong type is refused at its own line, with both types and the lines that they come from."""
    body, rule, message = MISTAKES[name]
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    error, line = trace_error(tmp_path, F.format(result="") + lines)
    text = str(error).replace(f" ({error.where})", "", 1)
    assert error.rule == rule and numbered(message, line) in text, text


@pytest.mark.parametrize("name", RESULTS)
def test_wrong_result_types_are_refused_at_the_definition(name: str, tmp_path: Path) -> None:
    """A function that returns another type than annotated is refused at its definition; the error names the line of the
    result, if known."""
    result, body, text = RESULTS[name]
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    head = F.format(result=f" -> {result}").replace("@tl.function", "@tl.function  # here")
    error, line = trace_error(tmp_path, head + lines)
    assert numbered(text, line - 1) in str(error)
