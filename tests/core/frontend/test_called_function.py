"""Errors name the function that the user called, not the ops and functions of which it consists."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.frontend.called_function import public_functions

MATRIX = np.ones((2, 3))
WRONG = (object(), "text", 3.5, -1, (1.5,), MATRIX, {"a": 1}, None)
OTHERS = {"init_scope", "loop_options", "__array_namespace_info__"}
"""Functions without arguments."""


def wrong_calls(function: Any) -> Iterator[tuple[Any, ...]]:
    """Arguments for the required parameters: all wrong ones, and one that is wrong beside matrices."""
    parameters = inspect.signature(function).parameters.values()
    count = sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    for wrong in WRONG:
        yield (wrong,) * max(count, 1)
        for position in range(count):
            yield (*[MATRIX] * position, wrong, *[MATRIX] * (count - position - 1))


def unnamed_errors() -> Iterator[str]:
    """The errors of wrong calls, outside of a trace and in one, that are not tagloom's or do not name the function."""
    for name, function in public_functions():
        if name in OTHERS:
            continue
        for arguments in wrong_calls(function):
            for in_trace in (False, True):
                try:
                    if in_trace:
                        tl.function(lambda x, f=function, a=arguments: (f(*a), x)[1])(1.0)
                    else:
                        function(*arguments)
                except tl.Trap:  # the arguments are right, but have no value
                    pass
                except tl.TagloomError as error:
                    if name.removeprefix("linalg.") not in str(error):
                        yield f"{name}{arguments}: {error}"
                except Exception as error:
                    yield f"{name}{arguments}: {error!r}"


@pytest.mark.full
def test_errors_name_the_called_function() -> None:
    """If a public function is called with wrong arguments, the error is one of tagloom's, and names this function."""
    assert list(unnamed_errors()) == []


@pytest.mark.inner(first=3)
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tl.zeros((3.0,)), "zeros: a size is not an integer"),
        (lambda: tl.function(lambda n: tl.zeros((n,)))(3.0), "V4: zeros: a size is not an integer"),
        (lambda: tl.linalg.det(3.0), "det: "),
        (lambda: tl.eye(2.5), "eye: "),
        (lambda: tl.cond(True, 1, 2), "cond: a branch, condition or body must be a function"),
        (lambda: tl.linspace(0, 1, 2.5), "linspace: "),
        (lambda: tl.dot_product_attention(MATRIX, MATRIX, 3), "dot_product_attention: "),
        (lambda: tl.map(lambda x: tl.expand_dims(x, axis=7), MATRIX), "expand_dims: "),
        (lambda: tl.zeros(2) + tl.zeros(3), "add: "),
        (lambda: tl.function(lambda x: tl.ones(2) + [x])(2.0), "F1: a list of symbolic values is not a value"),
        (lambda: tl.zeros(2)[5.5], "an index is not an integer"),
    ],
)  # fmt: skip
def test_the_name_is_that_of_the_user(call: Any, message: str) -> None:
    """The error names the function that the user's code calls, and neither what it is made of nor what calls that code;
    for an operator it names the op, for an index no function."""
    with pytest.raises(tl.TagloomError) as caught:
        call()
    assert str(caught.value).removeprefix("V4: ").startswith(message.removeprefix("V4: "))


def test_the_law_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the search for the called function, errors name inner ops, or nothing."""
    monkeypatch.setattr(tl.TagloomError, "find_called_function", None)
    with pytest.raises(tl.Usage, match=r"^a size is not an integer"):
        tl.zeros((3.0,))
    assert any("zeros" in line for line in unnamed_errors())
