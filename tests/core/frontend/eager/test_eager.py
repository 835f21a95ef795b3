"""Functions of tagloom outside of a trace: plain functions of values."""

from __future__ import annotations

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.frontend.eager.array import ConcreteArray
from tagloom.core.value import is_same_value


def test_values_compute_eagerly() -> None:
    """On concrete values a function gives its result, and branches and loops just run."""
    assert tl.add(1, 2.5) == 3.5 and is_same_value(tl.multiply([1, 2], 3), np.array([3, 6]))
    assert tl.cond(True, lambda: 1, lambda: 1 // 0) == 1 and tl.cond(np.bool_(False), lambda: 1, lambda: "any") == "any"
    assert tl.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, 2 * i), 0, 0.5) == (3, 4.0)


def test_v5_loops_keep_their_types() -> None:
    """V5: a loop variable keeps its first type, as in a trace; an integer may become a float."""
    (x,) = tl.while_loop(lambda x: x < 3.0, lambda x: 4, 0.5)
    assert is_same_value(x, 4.0)
    with pytest.raises(tl.Invalid, match="loop variable i changes its type"):
        tl.while_loop(lambda i: i < 3, lambda i: i + 0.5, 0)
    with pytest.raises(tl.Invalid, match="does not return one value for each loop variable"):
        tl.while_loop(lambda i: i < 3, lambda i: (i, i), 0)


@pytest.mark.parametrize("pred", [1, 0.0, [True], np.array([True, False])], ids=repr)
def test_v5_a_predicate_is_one_bool(pred: object) -> None:
    """V5: values that Python would take for true are not predicates."""
    with pytest.raises(tl.Invalid, match="the predicate is not one bool") as refused:
        tl.cond(pred, lambda: 1, lambda: 2)
    assert refused.value.rule == "V5" and "test_eager.py" in str(refused.value.where)


def test_rules_hold_outside_of_traces() -> None:
    """V4, S5: wrong operands are refused, and operands without a value trap, at the user's line."""
    with pytest.raises(tl.Invalid, match="add: the dtypes of the operands do not promote to a common one") as refused:
        tl.add(1, True)
    assert refused.value.rule == "V4" and "test_eager.py" in str(refused.value.where)
    with pytest.raises(tl.Invalid, match="these shapes do not broadcast"):
        tl.add([1, 2], [1, 2, 3])
    with pytest.raises(tl.Trap, match="integer remainder by zero"):
        tl.remainder([3, 4], [1, 0])
    with pytest.raises(tl.Usage, match="where takes 3 operands"):
        tl.where(True, 1)


def test_loop_variables_keep_their_kind() -> None:
    """A variable that begins as a concrete array, or becomes one in the body, is one in the body, the condition and the
    result. Python numbers stay Python's, and NumPy's keep their dtypes."""
    (x,) = tl.while_loop(lambda x: x < 3, lambda x: x.__array_namespace__().add(x, 1), tl.asarray(0))
    assert isinstance(x, ConcreteArray) and int(x) == 3
    result = tl.while_loop(lambda k, x: k < 2, lambda k, x: (k + 1, tl.asarray(x)), 0, 1.5)
    assert type(result[0]) is int and isinstance(result[1], ConcreteArray)
    total = tl.foldl(lambda carried, x: carried + x, tl.asarray(0.0), tl.asarray([1.0, 2.0, 3.0]))
    assert isinstance(total, ConcreteArray) and float(total) == 6.0
    assert type(tl.while_loop(lambda x: x < 3, lambda x: x + 1, np.int64(0))[0]) is np.int64
    assert type(tl.foldl(lambda carried, x: carried + x, 0.0, [1.0])) is float
