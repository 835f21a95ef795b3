"""Operations of expressions on values of every sort."""

from __future__ import annotations

import numpy as np
import pytest
from tagloom.core.tag import ROOT
from tagloom.interp.breakpoints import values as expression_values


class Odd:
    """A value of an unknown class, whose == fails."""

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        raise ZeroDivisionError

    __repr__ = __str__


A, B = object(), object()
EMPTY = np.zeros(0)


@pytest.mark.parametrize(
    "one, sign, other, holds",
    [
        (1, "==", True, False),
        (1, "!=", True, False),
        (True, "<", True, False),
        (True, "==", np.bool(True), True),
        (None, "==", None, False),
        (None, "!=", 1, False),
        (float("nan"), "!=", float("nan"), True),
        (np.float32(0.1), "==", 0.1, False),
        (np.float32(0.5), "==", 0.5, True),
        (np.array([0.1], np.float32), "==", 0.1, False),
        (np.uint64(2**64 - 1), ">", -1, True),
        (np.int8(5), "<", 1000, True),
        (2**53 + 1, "==", float(2**53), False),
        (np.array([1, 2]), ">", 0, True),
        (np.array([1, 2]), "!=", 1, False),
        (np.array([1, 2]), "==", np.array([1, 2]), True),
        (np.array([1, 2]), "==", np.array([1, 2, 3]), False),
        (np.array([True]), "==", True, True),
        (np.array([True]), "==", 1, False),
        (EMPTY, "==", EMPTY, False),
        (EMPTY, "!=", 1, False),
        (A, "==", A, True),
        (A, "==", B, False),
        (A, "!=", B, True),
        (A, "<", B, False),
        (A, "==", 1, False),
        (A, "!=", 1, False),
        (Odd(), "==", Odd(), False),
    ],
)
def test_comparisons_that_make_sense(one: object, sign: str, other: object, holds: bool) -> None:
    """Comparable values compare; all other comparisons are false, != too, and none raises."""
    assert expression_values.comparison(sign)(one, other) is holds


@pytest.mark.parametrize(
    "one, sign, other, result",
    [
        (np.int8(127), "+", 1, 128),
        (np.array([127], np.int8), "+", 1, [128]),
        (1, "/", 0, None),
        (1.5, "%", 0.0, None),
        (1, "//", np.array([1, 0]), None),
        (np.array([1, 2]), "*", np.array([1, 2, 3]), None),
        (np.array([1], np.uint64), "-", 10**30, None),
        (10**99, "*", 1e300, float("inf")),
        (2**1023, "*", 2, None),
        (2**1023, "*", 1, 2**1023),
        (2**1024 - 1, "/", 0.5, None),
        (True, "+", 1, None),
        (None, "+", 1, None),
        ("a", "+", "b", None),
        (A, "*", 2, None),
    ],
)
def test_computations_have_a_result_or_none(one: object, sign: str, other: object, result: object) -> None:
    """Sums are exact for every dtype; an operation without a result gives None."""
    actual = expression_values.computation(sign)(one, other)
    assert (actual.tolist() if isinstance(actual, np.ndarray) else actual) == result


def test_values_of_unknown_classes() -> None:
    """Values of unknown classes have some text, and count as false."""
    assert [expression_values.format_operand(it) for it in (None, True, 2**70, Odd(), "x", ROOT)] == [
        "?", "true", str(2**70), "<Odd>", "x", "main",
    ]  # fmt: skip
    assert [expression_values.is_true(it) for it in (Odd(), A, None, EMPTY, np.array([1, 0]), np.int8(2))] == [
        False, False, False, False, False, True,
    ]  # fmt: skip
