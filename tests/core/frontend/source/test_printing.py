"""`print` with parts of lines, and with the items of lists of symbolic length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tagloom as tl
from support.laws.python_laws import RUNS, disagreements
from support.programs.printed import PRINTED


@pytest.mark.parametrize("function, inputs", [pytest.param(f, inputs, id=f.__name__) for f, *inputs in PRINTED])
def test_printed_lines(function: Callable[..., Any], inputs: list[Any]) -> None:
    """A function prints the lines that Python prints."""
    assert list(disagreements(function, inputs, RUNS[:1])) == []


def test_a_line_costs_one_print() -> None:
    """The items of a list of numbers are one operand of the line."""

    @tl.function
    def show(xs: Any) -> None:
        print(*[x for x in xs if x > 1], sep=", ")

    (node,) = [node for node in show.trace([3, 1, 2]).program.functions[0].body.nodes if node.op == "print"]
    assert node.attribute("text") == "{:j, }"


def test_floats_in_a_loop_are_refused() -> None:
    """A loop of the program cannot collect floats in a line."""

    @tl.function
    def show(n: Any, x: Any) -> None:
        for _ in range(n):
            print(x, end=" ")

    with pytest.raises(
        tl.Invalid, match=r"the line that print\(..., end=...\) has begun changes its structure"
    ) as error:
        show(3, 2.5)
    assert error.value.hint is not None and "print whole lines" in error.value.hint
