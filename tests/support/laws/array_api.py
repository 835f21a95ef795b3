"""The Python Array API standard 2024.12 as a judge: the calls of array_api_calls.txt, in NumPy and in tagloom."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import array_api_strict as strict
import numpy as np
import tagloom as tl
from tagloom.core import dtypes

strict.set_array_api_strict_flags(api_version="2024.12")

CALLS = Path(__file__).with_name("array_api_calls.txt")


def _groups() -> dict[str, dict[str, list[str]]]:
    """The calls of the standard's functions, by group."""
    results: dict[str, dict[str, list[str]]] = {}
    name = ""
    for line in CALLS.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            functions = results[line[1:-1]] = {}
        elif line and not line.startswith("#"):
            name, _, texts = line.partition(": ") if not line.startswith(" ") else (name, "", line)
            functions.setdefault(name, []).extend(text.strip() for text in texts.split(" | "))
    return results


GROUPS = _groups()
COMPLEX = "there are no complex dtypes"
LEFT_OUT = {**dict.fromkeys(("conj", "imag", "real"), COMPLEX), "isin": "of 2025.12", "broadcast_shapes": "of 2025.12"}
"""Functions of the standard that tagloom lacks, and why."""


class Call(NamedTuple):
    """A call of a standard function, and the dtype of its operands."""

    group: str
    function: str
    text: str
    dtype: dtypes.DType

    def __str__(self) -> str:
        return f"{self.text} of {self.dtype!r}"


STANDARD_DTYPES = [dtype for dtype in dtypes.ALL if dtype not in dtypes.FLOAT_FORMATS]
"""The dtypes of the standard."""


def calls() -> Iterator[Call]:
    """Every call with every dtype."""
    for group, functions in GROUPS.items():
        for function, texts in functions.items():
            for text, dtype in itertools.product(texts, STANDARD_DTYPES):
                yield Call(group, function, text, dtype)


def operands(xp: Any, dtype: dtypes.DType) -> dict[str, Any]:
    """The operands of calls, as arrays of a namespace."""
    numbers = [1.5, -2.0, 0.0, 3.25, 2.0, -0.5, 4.0, 1.0, 0.25, 7.0, 2.5, 1.0]
    if dtype.kind == "b":
        numbers = [number > 0 for number in numbers]
    if dtype.is_integer:
        numbers = [int(number) if dtype.kind == "i" else int(abs(number)) for number in numbers]
    of = np.array(numbers, dtype.numpy)
    shapes = {
        "s": of[3], "v": of[:3], "w": of[[3, 1, 3]], "m": of[:6].reshape(2, 3), "t": of.reshape(2, 2, 3),
        "n": of[:0], "z": of[:0].reshape(0, 3), "c": of[6:9].reshape(1, 3),
        "p": of[[6, 7, 7, 4]].reshape(2, 2), "q": of[[3, 7, 0, 6]].reshape(2, 2),
        "i": np.array([1, 0, 1]), "j": np.array([0, 0]), "b": np.array([True, False, True]),
        "k": np.array([[True, False, True], [False, False, True]]),
    }  # fmt: skip
    results = {name: xp.asarray(np.asarray(array)) for name, array in shapes.items()}
    return {**results, "xp": xp, "d": getattr(xp, repr(dtype))}


def answer(xp: Any, call: Call) -> Any:
    """The result of a call in a namespace as plain data; if it raises, the class of the exception."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return plain(eval(call.text, {}, operands(xp, call.dtype)))
    except Exception as error:
        return type(error)


def plain(value: Any) -> Any:
    """A result of either namespace as NumPy arrays, with dtypes as names."""
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, dtypes.DType):
        return f"dtype {value!r}"
    if type(value).__name__ == "DType":
        return f"dtype {value._np_dtype.name}"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return np.asarray(value if isinstance(value, np.ndarray | np.generic) else getattr(value, "_array", value))


def agrees(call: Call) -> bool:
    """Whether tagloom answers a call as array-api-strict does. Quotients of integers, which the standard leaves open
    and array-api-strict refuses, may be NumPy's instead."""
    result = answer(tl, call)
    is_open = call.function in ("divide", "x / y") and call.dtype.is_integer
    return alike(answer(strict, call), result) or (is_open and alike(answer(np, call), result))


def alike(one: Any, other: Any) -> bool:
    """Whether dtypes and shapes are equal, and values too, floats approximately."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        near = {"float32": 1e-5, "float64": 1e-12}.get(one.dtype.name, 0.0)
        return bool(np.allclose(one, other, rtol=near, atol=near, equal_nan=True))
    if isinstance(one, type) and isinstance(other, type):
        return issubclass(one, Exception) and issubclass(other, tl.TagloomError)
    return type(one) is type(other) and (one == other or one != one)
