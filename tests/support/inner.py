"""The inner part of the tests: which of them plain `pytest` runs, by one rule, and how many examples laws try there.

`pytest` runs the inner part, `pytest -m "not heavy"` the full product. A test belongs to the inner part unless

1. it is marked `full` or `heavy`; or
2. it is marked `inner(first=N)` and N of its parametrisations come before it. With `of_each=REGEX` the first N are
   counted for each text that REGEX matches at the start of their ids, such as the name of an op; or
3. its id has a dtype between dashes that does not represent its kind: see REPRESENTATIVES. One parametrisation of each
   test stays.

What rules 2 and 3 leave out is marked `full` as well. `tests/test_inner.py` proves what the inner part contains.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import settings

KINDS = {
    "bool": ("bool",),
    "int64": ("int8", "int16", "int32", "int64"),
    "uint8": ("uint8", "uint16", "uint32", "uint64"),
    "float64": ("float32", "float64"),
}
"""The dtypes of each kind, by the one that represents it."""

OTHER_DTYPES = frozenset(dtype for dtypes in KINDS.values() for dtype in dtypes) - frozenset(KINDS)
EXAMPLES = 10
"""Of so many examples of a law the inner part tries one."""


def mark_full(items: Iterable[pytest.Item]) -> None:
    """Marks as `full` every test that rules 2 and 3 leave out of the inner part."""
    tests: dict[str, list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for parametrised in tests.values():
        inner = {id(item) for item in inner_of(parametrised)}
        for item in parametrised:
            if id(item) not in inner:
                item.add_marker(pytest.mark.full)


def inner_of(items: list[pytest.Function]) -> list[pytest.Function]:
    """The parametrisations of one test that belong to the inner part by rules 2 and 3: at least one."""
    represented = [item for item in items if OTHER_DTYPES.isdisjoint(item.callspec.id.split("-"))] or items[:1]
    marker = items[0].get_closest_marker("inner")
    return represented if marker is None else first_of(represented, **marker.kwargs)


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


def try_fewer_examples(items: Iterable[pytest.Item]) -> None:
    """Lets laws that Hypothesis tests try one in EXAMPLES of their examples, and one at least."""
    for item in items:
        law = getattr(item, "obj", None)
        if hasattr(law, "hypothesis"):
            all_of_them: settings = law._hypothesis_internal_use_settings
            fewer = -(-all_of_them.max_examples // EXAMPLES)
            law._hypothesis_internal_use_settings = settings(all_of_them, max_examples=fewer)
