"""Programs of several features at once: each call does what it does in Python, and most run in a graph."""

from __future__ import annotations

import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from support import object_programs
from support.container_programs import CONTAINER_PROGRAMS
from support.everyday_programs import EVERYDAY_PROGRAMS
from support.keyed_programs import KEYED_PROGRAMS
from support.numpy_programs import NUMPY_PROGRAMS
from support.object_edge_cases import ALL, EDGE_CASES
from support.object_scenarios import SCENARIOS
from support.research_programs import RESEARCH_PROGRAMS
from support.speculation import run_calls, run_speculated
from support.stateful_programs import STATEFUL_PROGRAMS
from tagloom.interp.speculation.speculative_function import INTERNAL_ERROR

pytestmark = pytest.mark.full
TABLES = (
    CONTAINER_PROGRAMS,
    object_programs.PROGRAMS,
    STATEFUL_PROGRAMS,
    EVERYDAY_PROGRAMS,
    RESEARCH_PROGRAMS,
    NUMPY_PROGRAMS,
    KEYED_PROGRAMS,
)
PROGRAMS = {name: table[name] for table in TABLES for name in table}
BY_TURNS = [name for names in zip_longest(*TABLES) for name in names if name is not None]
"""The names, from each table in turn: the first ones are of all kinds."""
LAST_CALLS = 3
WITHOUT_ASSERTIONS = """
import tagloom as tl

@tl.speculate(engine="reference")
def judge(items, k):
    try:
        items.append(k)
        assert k > 0
    except AssertionError:
        items.append("caught")
    return len(items)

items = []
for k in (1, 2, 3, 1, 0, 2, 0, 3):
    judge(items, k)
print(items, judge.counts.graph > 0)
"""
"""A program that `python -O` runs."""
IN_PYTHON = {
    "views_of_numpy": "the base of an array of NumPy",
    "arrays_with_two_names": "`is` of arrays",
    "growing_product": "ints of more than 62 bits",
    "equality_in_lists": "`in` a list of objects with `__eq__`",
    "methods_as_values": "bound methods as values",
    "growing_texts": "strings to which each iteration of a loop adds",
    "deleted_attribute": "`del` of an attribute",
    "attribute_of_a_descriptor": "a descriptor of a class of the program",
    "comparisons_that_count": "tuples that are compared by order",
    "numpy_array_with_two_names": "two arrays of NumPy that share elements",
    "total_of_several_classes": "a call of `type` in a comparison",
    "growth_by_powers": "a power of a float",
    "attributes_by_getattr": "`__getattr__`",
    "batches_of_a_generator": "a generator",
    "view_in_an_attribute": "two arrays of NumPy that share elements",
    "overlap_after_some_calls": "two arrays of NumPy that share elements",
    "row_with_a_name": "a view of an array of NumPy",
    "floats_added_to_counts": "every call raises",
    "arrays_without_axes": "arrays of NumPy without axes",
    "array_without_axes_that_is_kept": "an array of NumPy without axes",
    "constant_without_axes": "an array of NumPy without axes",
    "constant_of_another_dtype": "an array of NumPy of another dtype",
    "indices_of_another_dtype": "an array of NumPy of another dtype",
    "two_dtypes_at_one_place": "arrays of NumPy of two dtypes",
    "operands_that_numpy_refuses": "every call raises",
    "property_in_a_pattern": "a property in a pattern",
    "attribute_with_two_patterns": "an attribute with two patterns",
    "range_of_a_user_backwards": "a range of an object",
    "sorted_tuples_of_objects": "`sorted` of objects with `__lt__`",
    "positional_parameter_by_keyword": "every call raises",
    "keys_of_several_classes": "keys of more than four layouts",
}
"""The programs that stay in Python for good, with the reason."""


def test_names_are_unique() -> None:
    assert len(ALL) == len(SCENARIOS) + len(EDGE_CASES) + len(PROGRAMS)


@pytest.mark.full(first=60)
@pytest.mark.parametrize("name", BY_TURNS)
def test_program(name: str) -> None:
    """Results, printed lines, exceptions and all state are those of Python after each call. Programs that are not in
    the table of Python are not given up."""
    seen, function, _ = run_speculated(PROGRAMS[name])
    expected = run_calls(PROGRAMS[name], lambda python: python)
    for position, (seen_state, expected_state) in enumerate(zip(seen, expected, strict=True)):
        assert seen_state == expected_state, f"call {position}"
    assert not [event for event in function.events if INTERNAL_ERROR in event]
    assert function.builds <= function.build_bound
    assert (function.reason is not None) == (name in IN_PYTHON), function.explain()
    assert name in IN_PYTHON or function.counts.graph >= 5


def test_without_assertions(tmp_path: Path) -> None:
    """Under `python -O`, a graph checks no `assert`, as Python does."""
    file = tmp_path / "judged.py"
    file.write_text(WITHOUT_ASSERTIONS)
    seen = subprocess.run([sys.executable, "-O", str(file)], capture_output=True, text=True, check=True).stdout
    assert seen == "[1, 2, 3, 1, 0, 2, 0, 3] True\n"


@pytest.mark.heavy
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in IN_PYTHON])
def test_program_with_each_assumption_broken(name: str) -> None:
    """Where any assertion fails in the last calls, Python runs them from their start, and nothing is left of the
    graph's runs."""
    expected = run_calls(PROGRAMS[name], lambda python: python)
    _, function, _ = run_speculated(PROGRAMS[name])
    assert function.graph is not None
    for number in range(len(function.graph.assumptions)):

        def break_late(position: int, number: int = number) -> AbstractContextManager[Any]:
            is_late = position >= len(expected) - LAST_CALLS
            return tl.testing.break_assumption(number) if is_late else nullcontext()

        seen, _, _ = run_speculated(PROGRAMS[name], break_late)
        assert seen == expected, number
