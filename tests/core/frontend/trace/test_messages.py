"""What users of other libraries write first: it works, or the message says what to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.frontend.trace import symbol

VECTOR = np.array([1.0, 2.0, 4.0])
STATIC = "a parameter annotated tl.Static is concrete"
SEPARATE = "separate arguments: while_loop(cond, body, i, x)"


def body(i: Any, x: Any) -> Any:
    return i + 1, 2 * x


def failing(x: Any) -> Any:
    raise ValueError("bad")


MESSAGES: dict[str, tuple[Callable[..., Any], Any, str, str]] = {
    "zeros of a float": (lambda x: tl.zeros((x,)), 2.0, "a size is not an integer", "an integer dtype"),
    "an axis": (lambda n: tl.sum(VECTOR, axis=n), 0, "an axis needs a concrete value", STATIC),
    "a tuple of loop variables": (
        lambda x: tl.while_loop(lambda i, x: i < 3, body, (0, x)), 2.0, "the loop variables are one tuple", SEPARATE,
    ),
    "a list of loop variables": (
        lambda x: tl.while_loop(lambda i, x: i < 3, body, [0, x]), 2.0, "the loop variables are one list", SEPARATE,
    ),
    "a list of numbers": (
        lambda _: tl.while_loop(lambda i, x: i < 3, body, [0, 1]), 2.0, "the loop variables are one list", SEPARATE,
    ),
    "a list of one": (
        lambda _: tl.while_loop(lambda i: i < 3, lambda i: i + 1, [0]),
        2.0,
        "the condition of while_loop is not one bool",
        "pass loop variables as separate arguments",
    ),
    "a format": (lambda x: f"{x:.2f}", 2.0, "this is not a value of a program", "a bool, int or float"),
    "a format that is not converted": (
        tl.autograph.do_not_convert(lambda x: f"{x:.2f}"),
        2.0,
        "a format needs a concrete value",
        "tl.print",
    ),
    "in": (tl.autograph.do_not_convert(lambda x: 2.0 in x), VECTOR, "`in` needs a concrete value", "tl.any(x == a)"),
    "method": (lambda x: x.mean(), VECTOR, "arrays have no attribute mean", "write tl.mean(x)"),
    "ravel": (lambda x: x.ravel(), VECTOR, "arrays have no attribute ravel", "tl.reshape(x, (-1,))"),
    "item": (lambda x: x[0].item(), VECTOR, "arrays have no attribute item", "concrete arrays"),
    "at": (lambda x: x.at[0].set(1.0), VECTOR, "arrays have no attribute at", "tl.scatter(x, value, index)"),
    "np.sum": (lambda x: np.sum(x), VECTOR, "np.sum needs a concrete value", "write tl.sum"),
    "np.max": (lambda x: np.max(x), VECTOR, "np.max needs a concrete value", "write tl.max"),
    "np.exp": (lambda x: np.exp(x), VECTOR, "np.exp needs a concrete value", "write tl.exp"),
    "np.multiply.accumulate": (
        lambda x: np.multiply.accumulate(x), VECTOR, "np.multiply.accumulate needs", "tagloom's function of that name",
    ),
    "iterating over a scalar": (lambda x: sum(x), 2.0, "iterating, or unpacking, needs", "tl.foldl"),
    "a callback without returns": (
        lambda x: tl.callback(failing, x), 2.0, "callback needs the type of its result", "returns=tl.float64",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_say_what_to_write(name: str) -> None:
    """The error is one of tagloom's, names what was written and its line, and says what to write instead."""
    python, argument, message, advice = MESSAGES[name]
    with pytest.raises(tl.TagloomError) as caught:
        tl.function(python)(argument)
    text = str(caught.value)
    assert message in text and advice in text and "test_messages.py" in text
    assert isinstance(caught.value, AttributeError) == ("no attribute" in str(caught.value))


def unpack(x: Any) -> Any:
    a, b, c = x
    return a * b + c


ITERATIONS: dict[str, tuple[Callable[..., Any], float]] = {
    "sum": (lambda x: sum(x), 7.0),
    "a comprehension": (lambda x: sum([2 * each for each in x]), 14.0),
    "unpacking": (unpack, 6.0),
    "zip": (lambda x: sum(a * b for a, b in zip(x, x, strict=True)), 21.0),
    "enumerate": (lambda x: sum(k * each for k, each in enumerate(x)), 10.0),
    "reversed": (lambda x: next(iter(reversed(x))), 4.0),
    "a star": (lambda x: tl.stack([*x])[1], 2.0),
    "len": (lambda x: 1.0 * len(x), 3.0),
    "divmod": (lambda x: divmod(x, 3)[0][2] + divmod(9, x)[1][2], 2.0),
}


@pytest.mark.parametrize("name", ITERATIONS)
def test_arrays_of_known_size_are_sequences(name: str) -> None:
    """A symbol whose first axis has a static size has its elements and its length, as a concrete array has."""
    python, value = ITERATIONS[name]
    assert tl.function(python)(VECTOR) == float(python(tl.asarray(VECTOR))) == value
    assert tl.function(lambda x: sum(a[0] for a in x))(np.ones((3, 2))) == 3.0


def test_arrays_of_unknown_or_large_size_are_not_unrolled() -> None:
    """F1: without a static size, or with a large one, the message names loops."""
    is_open = tl.function(lambda x: sum(x), input_signature=[tl.Array[tl.float64, None]])
    for function, size in ((is_open, 3), (tl.function(lambda x: sum(x)), symbol.MAX_UNROLLED_ELEMENTS + 1)):
        with pytest.raises(tl.Invalid, match="iterating, or unpacking, needs") as refused:
            function(np.ones(size))
        assert "tl.while_loop, tl.map or tl.foldl" in str(refused.value)
    with pytest.raises(TypeError, match=r"len\(\) needs"):
        tl.function(lambda x: len(x), input_signature=[tl.Array[tl.float64, None]])(VECTOR)


def test_a_callback_without_a_name_is_named_once() -> None:
    """S5: the trap of a callback names its function if it has a name."""
    for python, said in (
        (failing, "callback failing raised ValueError: bad"),
        (lambda x: 1 / 0, "the callback raised"),
    ):
        with pytest.raises(tl.Trap) as trapped:
            calling(python)(1.0)
        assert said in str(trapped.value)


def calling(python: Any) -> Any:
    """A function that calls a Python function back."""
    return tl.function(lambda x: tl.callback(python, x, returns=tl.float64))
