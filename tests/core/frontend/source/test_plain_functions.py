"""Converted functions agree with Python: with concrete values, and with symbolic ones on engines and schedules."""

from __future__ import annotations

import os
import runpy
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.programs.plain_functions import CASES
from tagloom.core.frontend.source.convert import convert
from tagloom.core.frontend.source.entry import OPERATORS

INPUTS = [(function, arguments) for function, inputs in CASES for arguments in inputs]
NAMES = [f"{function.__name__}{arguments}" for function, arguments in INPUTS]
RUNS: list[dict[str, Any]] = [
    {"engine": "reference", "schedule": "fifo"},
    {"engine": "reference", "schedule": "lifo"},
    {"engine": "reference", "schedule": "random:7"},
    {"engine": "fast"},
]


@pytest.mark.inner(first=26)
@pytest.mark.parametrize(("function", "arguments"), INPUTS, ids=NAMES)
def test_converted_functions_do_what_python_does(function: Any, arguments: tuple[Any, ...]) -> None:
    """With concrete values, the converted function returns what the original returns."""
    assert OPERATORS.cell_contents is not None
    assert convert(function)(*arguments) == function(*arguments)


@pytest.mark.inner(first=8)
@pytest.mark.parametrize(("function", "arguments"), INPUTS, ids=NAMES)
def test_staged_functions_do_what_python_does(function: Any, arguments: tuple[Any, ...]) -> None:
    """With symbolic values, the program returns what the original returns, under each schedule, with equal counts of
    firings."""
    staged, firings = tl.function(function), set()
    for options in RUNS:
        out = staged.run(*arguments, **options)
        assert out.error is None, out.error
        assert np.array_equal(np.asarray(out.value), np.asarray(function(*arguments))), options
        firings.add(out.firings)
    assert len(firings) == 1


def search(xs, key, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        if xs[i] == key:
            break
    return 0


def search_table(xs, key, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        for j in range(n):
            if xs[i, j] == key:
                return i * 10 + j
    return -1


def fib(n):  # type: ignore[no-untyped-def]
    return 1 if n <= 1 else staged_fib(n - 1) + staged_fib(n - 2)


staged_fib = tl.function(fib)


@tl.function
def fib_by_cond(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib_by_cond(n - 1) + fib_by_cond(n - 2))


def test_a_break_costs_few_firings_a_trip() -> None:
    """A loop that searches an array and breaks fires at most 21 nodes a trip."""
    staged, xs = tl.function(search), np.arange(100)
    counts = [staged.run(xs, -1, n, engine="reference").firings for n in (20, 40)]
    assert counts[1] - counts[0] <= 21 * 20


@pytest.mark.full
def test_a_return_out_of_two_loops_costs_few_firings() -> None:
    """A search of an 8 x 8 table that finds nothing fires at most 2,200 nodes."""
    out = tl.function(search_table).run(np.arange(64).reshape(8, 8), -1, 8, engine="reference")
    assert out.value == -1 and out.firings <= 2200


@pytest.mark.full
def test_recursion_is_the_program_that_one_would_write() -> None:
    """Plain recursion without annotations fires as often as the same function written with cond."""
    assert staged_fib.run(10).firings == fib_by_cond.run(10).firings == 1591


REFUSALS = {
    "a trap of arrays in a try": (
        "try: return tl.asarray([6, 7]) // n\nexcept ZeroDivisionError: return 0",
        "F4: floor_divide may raise ZeroDivisionError in a `try`, when the program runs",
    ),
    "an effect before a loop ends in a try": (
        "try:\n  while n < 9:\n    print(n)\n    n += 1\n    if n == 5: raise KeyError\nexcept KeyError: n = 0",
        "F4: whether a `try` catches an exception depends on an effect in its body",
    ),
    "unassigned": ("if n > 1: x = 1\nreturn x", "F4: variable x is used, but not assigned on every path"),
    "types": (
        "if n > 1: x = 1.5\nelse: x = tl.astype(n, tl.int32)\nreturn x",
        "V5: x has different types after the branches of `if`",
    ),
    "an iterator": ("it = iter([1, 2])\nif n > 0:\n  for k in it: n += k\nreturn n", "F4: a list_iterator is advanced"),
    "a string": (
        "return len(str(n / 2))",
        "F4: the characters of a string with a float, an array or a format in it are known only",
    ),
    "format": (
        "return len('{:.3f}'.format(n / 2))",
        "F4: the characters of a string with a float, an array or a format in it are known only",
    ),
    "a precision": ("return f'{1.5:.{n}f}'", "F4: this format of a symbolic value is not supported"),
    "a format": ("print(f'{tl.asarray([n]):03d}'); return n", "F1: asarray: a list of symbolic values is not a value"),
    "a method": ("return tl.arange(n).partition(1)", "arrays have no attribute partition"),
    "identity": ("return n is n + 1", "F4: `is` does not compare numbers"),
    "repetition": ("return len((0,) * n)", "F4: a tuple is repeated a symbolic number of times"),
    "locals": ("return locals()['n']", "F4: locals() is not supported"),
    "globals": ("return n + len(globals())", "F4: globals() is not supported"),
    "vars": ("return n + len(vars())", "F4: vars() is not supported"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_are_in_words(name: str, tmp_path: Path) -> None:
    """What cannot be part of a program is refused by name, with the line."""
    body, words = REFUSALS[name]
    text = "import tagloom as tl\n\n\n@tl.function\ndef f(n):\n" + textwrap.indent(body, "    ")
    path = tmp_path / "user.py"
    path.write_text(text, encoding="utf-8")
    namespace = runpy.run_path(str(path))
    with pytest.raises((tl.Invalid, tl.Usage)) as refused:
        namespace["f"](3)
    assert str(refused.value).startswith(words)
    assert "user.py:" in str(refused.value)


def test_a_symbolic_message_has_the_names_of_values() -> None:
    """The message of an exception is known while tracing: in it, a symbolic value is its name."""

    def f(n):  # type: ignore[no-untyped-def]
        if n < 0:
            raise ValueError(f"{n} is below {0}")
        return n

    out = tl.function(f).run(-3)
    assert isinstance(out.error, ValueError) and "ValueError: {n} is below 0" in str(out.error)


def test_code_without_source_says_so() -> None:
    """A function made by exec runs as it is; an error says why it is not converted."""
    namespace: dict[str, Any] = {}
    exec("def f(n): return 1 if n > 0 else 2", namespace)
    with pytest.raises(tl.Invalid, match="needs a concrete value") as refused:
        tl.function(namespace["f"])(3)
    assert "f is not converted, since it has no source" in (refused.value.hint or "")


@pytest.mark.parametrize("text", ["str(n)", "f'{n}'", "'%s' % n", "'{}'.format(n)", "''.join([str(k) for k in [n]])"])
def test_code_without_source_computes_with_no_name_of_a_symbol(text: str) -> None:
    """The text of a symbol is refused in a function that is not converted: it is not the text of the value."""
    namespace: dict[str, Any] = {}
    exec(f"def f(n): return len({text})\ndef g(n): return n + len(str(31)) + len(repr(n)) * 0", namespace)
    with pytest.raises(tl.Invalid, match="F1: str\\(\\), print\\(\\) or an f-string needs a concrete value") as refused:
        tl.function(namespace["f"])(31)
    assert "f is not converted, since it has no source" in (refused.value.hint or "")
    assert tl.function(namespace["g"])(31) == 33


@pytest.mark.parametrize("constant", ["2", "3", "True", "1.0", "1", "-0.0", "0.0"])
def test_an_edited_file_that_is_executed_again_has_its_own_source(constant: str, tmp_path: Path) -> None:
    """What is converted is the source of the code, whatever was read of its file before; constants are part of it."""
    path = tmp_path / "edited.py"
    path.write_text("def f(n):\n    return 7\n")
    before = runpy.run_path(str(path))["f"]
    assert convert(before)(1) == 7
    path.write_text(f"def f(n):\n    return {constant}\n")
    os.utime(path, ns=(1, 1))
    after = runpy.run_path(str(path))["f"]
    assert repr(convert(after)(1)) == repr(after(1)) == repr(eval(constant))


def prints(n):  # type: ignore[no-untyped-def]
    print("start")
    text = f"n = {n}"
    while n > 0:
        print(text + "!", f"{n!r} and {n * n}", sep=": ")
        n -= 1
    print([n, "a"], (n,), {"n": n}, "n = " + str(n), f"{3:03d}", None)
    return n


def test_printed_lines_are_those_of_python(capsys: pytest.CaptureFixture[str]) -> None:
    """Converted code prints when the program runs, in order, and each time; symbolic values in strings have their
    values."""
    prints(3)
    lines = capsys.readouterr().out
    staged = tl.function(prints)
    for _ in range(2):
        staged(3)
        assert capsys.readouterr().out == lines
