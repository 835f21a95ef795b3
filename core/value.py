"""Values: what tokens carry. A scalar is a Python bool, int or float; anything else a read-only array.

Owns how values are admitted, compared, written and read. Two values are the same if their bits are:
NaN is itself, and -0.0 is not 0.0.
"""

from __future__ import annotations

import builtins
import re
import struct
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from . import dtypes
from .errors import Malformed, Usage
from .types import Type, type_of

Value: TypeAlias = builtins.bool | int | float | npt.NDArray[np.generic]
_INTEGER = re.compile(r"[+-]?[0-9]+")
_TOKEN = re.compile(r"\s*([\[\],]|[^\s\[\],]+)")


def admit(value: object, wanted: Type | None = None) -> Value:
    """The value that stands for a Python object, as type `wanted` if given.

    Where a float is wanted a Python int will do, and in a list too. Arrays are copied and made read-only, so that no
    token changes under way.

    Raises Usage where the object is no value, or not of the wanted type.

    >>> from tagloom.core.dtypes import float64
    >>> admit(3, Type(float64))
    3.0
    """
    if type(value) is int and wanted is not None and wanted in (Type(dtypes.float64), Type(dtypes.float64, None)):
        value = _as_float(value)
    found = type_of(value)
    if wanted is None or wanted.admits(found):
        return normal(value, found)
    adapted = Type(wanted.dtype, found.shape)
    if isinstance(value, list) and (found.dtype is dtypes.int64 or not np.size(value)) and wanted.admits(adapted):
        return normal(value, adapted)
    raise Usage("a value of the wrong type", required=wanted, got=f"{show(value)} of type {found}")


def _as_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        raise Usage("this integer does not fit into float64", got=f"one of {number.bit_length():,} bits") from None


def normal(value: object, as_: Type) -> Value:
    """A value in its one form: Python scalars for 0-d, else a read-only array of the type's dtype."""
    array = np.array(value, dtype=as_.dtype.numpy)
    if array.ndim == 0:
        return array.item()  # type: ignore[no-any-return]
    array.flags.writeable = False
    return array


def same(one: object, other: object) -> builtins.bool:
    """Whether two values have the same type and the same bits.

    >>> same(float("nan"), float("nan")), same(0.0, -0.0), same(1, 1.0)
    (True, False, False)
    """
    return fingerprint(one) == fingerprint(other)


def fingerprint(value: object) -> tuple[str, tuple[int, ...], bytes]:
    """A hashable key of a value's type and bits."""
    match value:
        case builtins.bool():
            return "|b1", (), b"\1" if value else b"\0"
        case int():
            return "<i8", (), value.to_bytes(8, "little", signed=True)
        case float():
            return "<f8", (), struct.pack("<d", value)
    array = np.asarray(value)
    return array.dtype.str, array.shape, array.tobytes()


def show(value: object) -> str:
    """A value in the text form.

    >>> show(True), show(-3), show(float("inf")), show(np.array([1.0, 2.5]))
    ('true', '-3', 'inf', '[1.0, 2.5]')
    """
    if isinstance(value, np.ndarray | np.generic):
        return show(value.tolist())
    if isinstance(value, list):
        return f"[{', '.join(map(show, value))}]"
    if isinstance(value, builtins.bool):
        return "true" if value else "false"
    return repr(value)


def read(text: str, wanted: Type) -> Value:
    """The value that a literal of the text form means, as a type: `-3`, `2.5`, `true`, `nan`, `[1, 2]`.

    Raises Malformed where the text is no literal, or not one of that type.

    >>> from tagloom.core.dtypes import int64
    >>> read("[1, 2]", Type(int64, (2,)))
    array([1, 2])
    """
    try:
        return admit(_nested(text, wanted), wanted)
    except Usage as error:
        raise Malformed("not a literal of this type", required=wanted, got=text, hint=error.message) from None


def _nested(text: str, wanted: Type) -> object:
    """Read brackets with a stack of our own: a million of them are no reason to overflow Python's."""
    stack: list[list[object]] = [[]]
    separated = True
    for token in _TOKEN.findall(text):
        if token == ",":
            if separated:
                break
            separated = True
            continue
        if token == "]":
            if len(stack) == 1 or (separated and stack[-1]):
                break
            done = stack.pop()
            stack[-1].append(done)
        elif not separated:
            break
        elif token == "[":
            stack.append([])
            continue
        else:
            stack[-1].append(_number(token, wanted))
        separated = False
    else:
        if len(stack) == 1 and len(stack[0]) == 1 and not separated:
            read = stack[0][0]
            return _array(read, text, wanted) if isinstance(read, list) else read
    raise Malformed("not a literal", required=wanted, got=text, hint="a number, true, false, or [...] of them")


def _array(rows: list[object], text: str, wanted: Type) -> Value:
    try:
        return np.array(rows, dtype=wanted.dtype.numpy)
    except ValueError:
        hint = "rows of one length, nested at most 64 deep"
        raise Malformed("not an array", required=wanted, got=text, hint=hint) from None


def _number(word: str, wanted: Type) -> Value:
    if wanted.dtype is dtypes.bool and word in ("true", "false", "True", "False"):
        return word in ("true", "True")
    try:
        if wanted.dtype is dtypes.int64 and _INTEGER.fullmatch(word) and len(word) < 100:
            number = int(word)
            type_of(number)
            return number
        if wanted.dtype is dtypes.float64 and word.isascii() and "_" not in word:
            return float(word)
    except ValueError:
        pass
    raise Malformed("not a literal of this type", required=wanted, got=word)


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant in a program or on a port. Equal literals have the same type and the same bits."""

    value: Value
    type: Type

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, Literal) and self.type == other.type and same(self.value, other.value)

    def __hash__(self) -> int:
        return hash((self.type, fingerprint(self.value)))

    def __str__(self) -> str:
        return show(self.value)


def literal(value: object, wanted: Type | None = None) -> Literal:
    """A literal from a Python object; raises Usage as `admit` does."""
    admitted = admit(value, wanted)
    return Literal(admitted, type_of(admitted))
