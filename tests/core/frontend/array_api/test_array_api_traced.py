"""The judge's calls as programs: on symbolic values of known or open sizes, the functions of the standard give what
they give on concrete arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.laws.array_api import GROUPS, Call, alike, answer, operands, plain
from tagloom.core import dtypes
from tagloom.core.types import Type, type_of

SOME = (dtypes.float64, dtypes.int8, dtypes.bool)
STATIC = ("data types", "constants")
"""Groups whose functions say something of types, and compute nothing."""
texts = [
    (group, text)
    for group, functions in GROUPS.items()
    if group not in STATIC
    for name, of in functions.items()
    if name != "from_dlpack"  # of a symbolic value there is nothing to take over yet
    for text in of
    if not text.endswith((".shape", ".dtype"))
]
WANTS_SIZES = ("unstack", "cross", "tensordot", "matrix_power", "matrix_rank", "pinv")
"""Functions that refuse arrays whose sizes are not known, in some of the calls: how many results there are, or what is
static, depends on them."""


def program(text: str, dtype: dtypes.DType, *, opened: bool) -> tuple[Any, list[Any]]:
    """A call as a function of its operands, and the operands."""
    given = operands(tl, dtype)
    names = [name for name in given if name not in ("xp", "d") and re.search(rf"\b{name}\b", text)]
    known: dict[str, Any] = {"xp": tl, "d": given["d"]}
    arguments = [np.asarray(given[name]) for name in names]
    texts = []
    for name, argument in zip(names, arguments, strict=True):
        known[f"{name}_type"] = _opened(type_of(argument)) if opened else type_of(argument)
        texts.append(f"{name}: {name}_type")
    exec(f"def f({', '.join(texts)}):\n made = {text}\n return tuple(made) if type(made) is list else made", known)
    return tl.function(known["f"]), arguments


def _opened(type_: Type) -> Type:
    return Type(type_.dtype, tuple(None for _ in type_.shape or ()))


def result_of(text: str, dtype: dtypes.DType, engine: str, *, opened: bool) -> Any:
    """The result of a program, or the class of the error with which it is refused or traps."""
    function, arguments = program(text, dtype, opened=opened)
    try:
        outcome = function.run(*arguments, engine=engine)
    except tl.TagloomError as error:
        return type(error)
    return type(outcome.error) if outcome.error is not None else plain(_values(outcome.value))


def _values(value: Any) -> Any:
    return [_values(each) for each in value] if isinstance(value, tuple | list) else np.asarray(value)


def _as_arrays(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_arrays(each) for each in value]
    return value if isinstance(value, type) else np.asarray(value)


def differences(engine: str, *, opened: bool, group: str) -> Iterator[str]:
    """Calls of a group whose programs give other results. Eager arrays refuse operators on what the standard does not
    mix; in programs these give what NumPy gives, and a number for a bool where Python does."""
    for of, text in texts:
        for dtype in SOME if of == group else ():
            expected = _as_arrays(answer(tl, Call(group, "", text, dtype)))
            result = result_of(text, dtype, engine, opened=opened)
            refused = isinstance(result, type) and any(name in text for name in WANTS_SIZES)
            both = isinstance(result, type) and isinstance(expected, type)
            nothing = isinstance(expected, list) and not expected  # which no function returns
            if group == "operators" and isinstance(expected, type) and not both:
                is_number = dtype == tl.bool and text in ("+s", "abs(s)")
                expected = np.asarray(1) if is_number else _as_arrays(answer(np, Call(group, "", text, dtype)))
            if not nothing and not (both or (opened and refused) or alike(expected, result)):
                yield f"{text} of {dtype!r}: {expected}, and as a program {result}"


@pytest.mark.full
@pytest.mark.parametrize("opened", [False, True], ids=["known", "open"])
@pytest.mark.parametrize("group", [group for group in GROUPS if group not in STATIC])
def test_programs_give_the_same(group: str, opened: bool) -> None:
    """Programs agree on the reference, with known and with open sizes."""
    assert list(differences("reference", opened=opened, group=group)) == []


@pytest.mark.heavy
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("group", [group for group in GROUPS if group not in STATIC])
def test_programs_give_the_same_on_fast(group: str) -> None:
    """Programs agree on `fast`."""
    assert list(differences("fast", opened=True, group=group)) == []
