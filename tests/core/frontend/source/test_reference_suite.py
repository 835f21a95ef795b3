"""The reference suite: plain functions by behaviour, each natively and converted, with concrete, symbolic and mixed
arguments: the same result, printed lines and exception, or a refusal in words, with the line."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import tagloom as tl
from support.laws.python_laws import RUNS, disagreements
from support.programs.reference import calls, conditionals, exits, loops, places, types
from support.programs.reference.table import ENTRIES, Entry

SUBJECTS = (calls, conditionals, exits, loops, places, types)
assert SUBJECTS, "they fill the table"


def parameters(entries: list[Entry]) -> list[Any]:
    """The entries, by name; a gap is a strict xfail with its reason."""
    return [
        pytest.param(each, id=each.name, marks=[pytest.mark.xfail(reason=each.gap, strict=True)] if each.gap else [])
        for each in entries
    ]


ACCEPTED = parameters([each for each in ENTRIES if not each.refusal])
REFUSED = parameters([each for each in ENTRIES if each.refusal])


@pytest.mark.inner(first=16)
@pytest.mark.parametrize("entry", ACCEPTED)
def test_symbolic_arguments(entry: Entry) -> None:
    """The program does what Python does, and so does the converted function with concrete arguments."""
    symbolic = [True] * len(inspect.signature(entry.function).parameters)
    assert list(disagreements(entry.function, entry.inputs, RUNS[:1], [symbolic])) == []


@pytest.mark.full
@pytest.mark.parametrize("entry", ACCEPTED)
def test_schedules_and_mixed_arguments(entry: Entry) -> None:
    """Three schedules and `fast`, with equal counts of firings; and every second argument known."""
    count = len(inspect.signature(entry.function).parameters)
    assert list(disagreements(entry.function, entry.inputs, RUNS, [[True] * count])) == []
    if entry.mixed and count > 1:
        mixed = [[k % 2 == free for k in range(count)] for free in (0, 1)]
        assert list(disagreements(entry.function, entry.inputs, RUNS[:1], mixed)) == []


@pytest.mark.heavy
@pytest.mark.parametrize("entry", ACCEPTED)
def test_compiled(entry: Entry) -> None:
    """Machine code of the program does what Python does."""
    symbolic = [True] * len(inspect.signature(entry.function).parameters)
    assert list(disagreements(entry.function, entry.inputs, [("compiled", "waves")], [symbolic])) == []


@pytest.mark.inner(first=15)
@pytest.mark.parametrize("entry", REFUSED)
def test_refusals(entry: Entry) -> None:
    """What cannot be part of a program is refused in these words, at this line."""
    lines, first = inspect.getsourcelines(entry.function)
    marked = [first + k for k, text in enumerate(lines) if "# refused" in text]
    with pytest.raises(tl.Invalid) as refused:
        tl.function(entry.function).run(*entry.inputs[0])
    assert str(refused.value).startswith(entry.refusal)
    assert refused.value.where is not None and [refused.value.where.line] == marked
