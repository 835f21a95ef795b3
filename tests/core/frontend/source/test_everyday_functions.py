"""Everyday functions: plain Python that was written without the converter in mind does what Python does, or is refused
in words. Their table is in docs/autograph-internals.md."""

from __future__ import annotations

import inspect
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from support.laws.python_laws import RUNS, disagreements, is_refusal
from support.programs.everyday import (
    algorithms,
    collections_of_numbers,
    coursework,
    exercises,
    homework,
    mixed,
    numbers,
    objects,
    operators,
    projects,
    puzzles,
    scripts,
    searches,
    sequences,
    simulations,
    textbook,
    workday,
)
from support.programs.everyday.table import EVERYDAY
from support.programs.reference.table import Entry

SUBJECTS = (
    algorithms,
    collections_of_numbers,
    coursework,
    mixed,
    numbers,
    objects,
    operators,
    projects,
    scripts,
    searches,
    sequences,
    simulations,
    textbook,
    exercises,
    homework,
    puzzles,
    workday,
)
assert SUBJECTS, "they fill the table"
ENTRIES = sorted(EVERYDAY, key=lambda entry: entry.name)
"""The table, in an order that does not depend on which of its modules is imported first."""
SAMPLE = ENTRIES[::12]
"""The functions that the inner part checks."""
OTHERS = [entry for first in range(1, 12) for entry in ENTRIES[first::12]]
"""All others: any number of the first ones are of all subjects."""


def outcome(entry: Entry) -> str:
    """How a converted function compares with Python, with all arguments symbolic, and with every second one."""
    count = len(inspect.signature(entry.function).parameters)
    masks = [[True] * count, *([[k % 2 == free for k in range(count)] for free in (0, 1)] if count > 1 else [])]
    try:
        found = list(disagreements(entry.function, entry.inputs, RUNS[:1], masks))
    except (tl.Invalid, tl.Usage) as error:
        assert is_refusal(error), error
        return f"refused: {error}"
    return "\n".join(found) or "right"


def check(entry: Entry) -> None:
    """An accepted function agrees; a refused one is refused in these words, and a gap is as described."""
    found = outcome(entry)
    if entry.gap:
        assert entry.gap in found, found
        return
    assert found.startswith(f"refused: {entry.refusal}" if entry.refusal else "right"), found


def test_the_numbers_of_the_guide() -> None:
    """The guide to ordinary Python counts the right, refused and wrong functions of this table."""
    wrong, refused = sum(bool(entry.gap) for entry in ENTRIES), sum(bool(entry.refusal) for entry in ENTRIES)
    guide = " ".join((Path(__file__).resolve().parents[4] / "docs" / "autograph.md").read_text("utf-8").split())
    assert f"Of {len(ENTRIES)} functions as programmers write them, {len(ENTRIES) - wrong - refused} give" in guide
    assert f"{refused} are refused with a clear error, and {wrong} differ" in guide


def parameters(entries: list[Entry]) -> list[Any]:
    return [pytest.param(each, id=each.name) for each in entries]


@pytest.mark.filterwarnings("ignore:.* calls itself with symbolic arguments")
@pytest.mark.parametrize("entry", parameters(SAMPLE))
def test_a_sample_of_everyday_functions(entry: Entry) -> None:
    """One function in twelve agrees with Python in value, type, printed lines and exception."""
    check(entry)


@pytest.mark.filterwarnings("ignore:.* calls itself with symbolic arguments")
@pytest.mark.full(first=250)
@pytest.mark.parametrize("entry", parameters(OTHERS))
def test_everyday_functions(entry: Entry) -> None:
    """All others agree, too."""
    check(entry)


def main() -> None:
    """Print how many functions agree, differ and are refused, and those that do not agree."""
    endings: Counter[str] = Counter()
    for entry in ENTRIES:
        found = outcome(entry)
        kind = "right" if found == "right" else "refused" if found.startswith("refused") else "wrong"
        endings[kind] += 1
        if kind != "right":
            print(f"{entry.name}: {found}")
    print(f"{len(ENTRIES)} functions: {dict(endings)}")


if __name__ == "__main__":
    main()
