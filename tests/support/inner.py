"""The inner part of the tests: which of them plain `pytest` runs, by one rule, and how many examples laws try.

`pytest` runs the inner part, `pytest -m "not heavy"` the full product, and `pytest FILE` the tests of the file that the
full product has. A test belongs to the inner part unless

1. it is marked `full` or `heavy`; or
2. its id has, between dashes, a dtype that does not represent its kind (see KINDS), and another parametrisation of the
   same test remains; or
3. it is marked `inner(first=N)`, and N parametrisations that remain come before it. With `of_each=REGEX` those are
   counted separately for each text that REGEX matches at the start of an id, such as the name of an op.

What rules 2 and 3 leave out is marked `full` as well. Of a test that is marked `full(first=N)`, with or without
`of_each`, only so many parametrisations are in the full product; the others are heavy. `tests/test_inner.py` proves
what the inner part contains.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

INNER, FULL = "not full and not heavy", "not heavy"
"""The two values of `-m`; pyproject.toml has the first."""

KINDS = {
    "bool": ("bool",),
    "int64": ("int8", "int16", "int32", "int64"),
    "uint8": ("uint8", "uint16", "uint32", "uint64"),
    "float64": ("float32", "float64", "float16", "bfloat16"),
}
"""The dtypes of each kind, by their representative."""

COMPILING = (
    "tests/interp/engines/fast/test_machine.py::test_corpus",
    "tests/tui/cli/test_cli.py::test_cores",
    "tests/interp/engines/fast/test_events.py::test_kept_events_are_the_reference_s[pages-fib-9-waves]",
    "tests/interp/engines/compiled/test_data_movement.py::test_traps[take a row]",
)
"""Tests, each of which needs machine code that is compiled once for all processes; the second is not in the inner
part."""

OTHER_DTYPES = frozenset(dtype for dtypes in KINDS.values() for dtype in dtypes) - frozenset(KINDS)
INNER_EXAMPLES, FULL_EXAMPLES = 25, 3
"""The inner part tries one in 25 examples of a law, the full product one in 3. `pytest FILE` and `pytest -m law` try
all."""


def mark_full(items: Iterable[pytest.Item]) -> None:
    """Marks as `full` every test that rules 2 and 3 leave out of the inner part, and as `heavy` every one that the
    full product leaves out."""
    tests: dict[str, list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for parametrised in tests.values():
        for item in left_out_of_full(parametrised):
            item.add_marker(pytest.mark.heavy)
        inner = {id(item) for item in inner_of(parametrised)}
        for item in parametrised:
            if id(item) not in inner:
                item.add_marker(pytest.mark.full)


def inner_of(items: list[pytest.Function]) -> list[pytest.Function]:
    """The parametrisations of one test that belong to the inner part: at least one, if one is not marked."""
    unmarked = [item for item in items if not any(item.get_closest_marker(mark) for mark in ("full", "heavy"))]
    represented = [item for item in unmarked if OTHER_DTYPES.isdisjoint(item.callspec.id.split("-"))] or unmarked[:1]
    marker = items[0].get_closest_marker("inner")
    return represented if marker is None else first_of(represented, **marker.kwargs)


def left_out_of_full(items: list[pytest.Function]) -> list[pytest.Function]:
    """The parametrisations of one test that are heavy because it is marked `full(first=N)`."""
    marker = items[0].get_closest_marker("full")
    if marker is None or not marker.kwargs:
        return []
    product = {id(item) for item in first_of(items, **marker.kwargs)}
    return [item for item in items if id(item) not in product]


def first_of(items: list[pytest.Function], first: int, of_each: str = "") -> list[pytest.Function]:
    """The first parametrisations, of each text that `of_each` matches at the start of their ids."""
    count: Counter[str] = Counter()
    chosen = []
    for item in items:
        match = re.match(of_each, item.callspec.id)
        group = match[0] if match else ""
        count[group] += 1
        if count[group] <= first:
            chosen.append(item)
    return chosen


def spread_compiling(items: list[pytest.Item]) -> None:
    """Puts the first half of COMPILING first, and the second half in the middle, where the second of two processes
    begins: each then compiles machines that the other one loads. The order of COMPILING counts: tests of compiled
    programs need the token machine too, which the other process has compiled by then, and follow in the middle."""
    compiling = {item.nodeid: item for item in items if item.nodeid in COMPILING}
    others = [item for item in items if item.nodeid not in COMPILING]
    half, middle = len(COMPILING) // 2, len(others) // 2
    first, second = ([compiling[id] for id in ids if id in compiling] for ids in (COMPILING[:half], COMPILING[half:]))
    items[:] = [*first, *others[:middle], *second, *others[middle:]]


def is_law(item: pytest.Item) -> bool:
    """Whether Hypothesis tests it, with examples that it draws."""
    return hasattr(getattr(item, "obj", None), "hypothesis")


def mark_laws(items: Iterable[pytest.Item]) -> None:
    """Marks every law as `law`."""
    for item in filter(is_law, items):
        item.add_marker(pytest.mark.law)


def try_fewer_examples(items: Iterable[pytest.Item], one_in: int) -> None:
    """Lets laws that are not heavy try one in so many of their examples, and one at least."""
    laws: set[Any] = {getattr(item, "obj") for item in items if is_law(item) and not is_heavy(item)}  # noqa: B009
    for law in laws:  # the parametrisations of a test share its function
        all_of_them: settings = law._hypothesis_internal_use_settings
        fewer = -(-all_of_them.max_examples // one_in)
        law._hypothesis_internal_use_settings = settings(all_of_them, max_examples=fewer)


def is_heavy(item: pytest.Item) -> bool:
    return item.get_closest_marker("heavy") is not None
