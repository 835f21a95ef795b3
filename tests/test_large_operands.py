"""Messages about large arrays have the type, some elements, and the element at fault, in one readable line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.frontend.eager.apply import apply
from tagloom.core.types import Type, type_of
from tagloom.core.value import MAX_PRINTED_ELEMENTS, abbreviate, format_value

MANY = np.arange(3000)


@tl.function
def divided(x: tl.Array[tl.int64, None], y: tl.Array[tl.int64, None]) -> tl.Array[tl.int64, None]:
    return x // y


@tl.function
def take_at(x: tl.Array[tl.int64, None], at: tl.Array[tl.int64, None]) -> tl.Array[tl.int64, None]:
    return tl.take(x, at)


def error_lines(call: Callable[[], Any]) -> list[str]:
    """The lines of the error, all of them short."""
    with pytest.raises(tl.TagloomError) as caught:
        call()
    lines = [*str(caught.value).splitlines(), *getattr(caught.value, "__notes__", [])]
    assert all(len(line) < 160 for line in lines)
    return lines


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("engine", ["reference", "fast", "compiled"])
def test_a_trap_says_which_element(engine: str) -> None:
    """S5: a trap shows its operands, and those of the last element for which the op has no value."""
    lines = error_lines(lambda: divided.run(MANY, MANY - 5, engine=engine).value)
    assert "  got: floor_divide int64[3000](0, 1, 2, ..., 2999), int64[3000](-5, -4, -3, ..., 2994)" in lines
    assert "  the last operand is 0 at [5]" in lines
    assert "  the last operand is 3000 at [75]" in error_lines(
        lambda: take_at.run(MANY, MANY[:100] * 40, engine=engine).value
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x // (x - 5), "  the last operand is 0 at [5]"),
        (lambda x: tl.reshape(x, (30, 100)) // tl.reshape(x - 105, (30, 100)), "  the last operand is 0 at [1, 5]"),
        (lambda x: x // 0, "  got: int64[3000](0, 1, 2, ..., 2999), 0"),
        (lambda x: tl.take(x, x[:40] - 3001), "  the last operand is -3001 at [0]"),
        (lambda x: tl.take(x, [1, 3000]), "  got: int64[3000](0, 1, 2, ..., 2999), [1, 3000]"),
        (lambda x: tl.scatter(x, 0, x + 1), "  the last operand is 3000 at [2999]"),
    ],
)
def test_an_eager_trap_shows_the_element(call: Callable[[Any], Any], message: str) -> None:
    """A trap outside of functions shows them as well."""
    assert message in error_lines(lambda: call(tl.asarray(MANY)))


def test_no_element_is_named_if_several_operands_decide() -> None:
    """A trap shows no element if it is not the last operand alone that determines which one is at fault."""
    x = tl.reshape(tl.asarray(MANY), (30, 100))
    lines = error_lines(lambda: tl.gather(x, MANY[:40], MANY[:40]))
    assert not any("the last operand" in line for line in lines)


def misfit(op: str, *operands: Any, **attributes: Any) -> tl.Function:
    """An op on arrays of open sizes."""
    types = [Type(type_of(each).dtype, (None,) * np.ndim(each)) for each in operands]
    return tl.function(input_signature=types)(
        {
            2: lambda x, y: apply(op, x, y, **attributes),
            3: lambda x, y, z: apply(op, x, y, z, **attributes),
        }[len(operands)]
    )


MISFITS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("floor_divide", (MANY[:40], MANY[:50]), {}),
    ("floor_divide", (np.ones(40), np.zeros(50)), {}),
    ("remainder", (MANY[:40], MANY[:50]), {}),
    ("solve", (np.eye(40), np.ones((50, 1))), {}),
    ("gather", (np.ones((40, 40)), MANY[:40], MANY[:50]), {}),
    ("take_along_axis", (np.ones((4, 40)), MANY[:50].reshape(5, 10)), {"axis": 0}),
    ("repeat", (np.ones(40), MANY[:50] - 3), {"axis": 0}),
]


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("engine", ["reference", "fast", "compiled"])
@pytest.mark.parametrize(("op", "operands", "attributes"), MISFITS, ids=lambda each: each if type(each) is str else "")
def test_shapes_that_do_not_fit(op: str, operands: Any, attributes: Any, engine: str) -> None:
    """A trap about shapes blames no element, not even a float that is 0."""
    lines = error_lines(lambda: misfit(op, *operands, **attributes).run(*operands, engine=engine).value)
    assert lines[0].startswith("S5: ") and not any("the last operand" in line for line in lines)


def test_a_wrong_argument_is_abbreviated() -> None:
    """An argument of the wrong type is neither printed in full nor copied."""
    lines = error_lines(lambda: divided.run(MANY * 0.5, MANY))
    assert "  got: float64[3000](0.0, 0.5, 1.0, ..., 1499.5)" in lines
    lines = error_lines(lambda: divided.run(np.broadcast_to(0.5, (10**6, 10**6)), MANY))
    assert "  got: float64[1000000, 1000000](0.5, 0.5, 0.5, ..., 0.5)" in lines


@pytest.mark.parametrize("size", [0, 1, MAX_PRINTED_ELEMENTS, MAX_PRINTED_ELEMENTS + 1])
def test_a_short_array_is_printed_in_full(size: int) -> None:
    """A short array is printed in full."""
    value = np.arange(size)
    assert (abbreviate(value) == format_value(value)) is (size <= MAX_PRINTED_ELEMENTS)
