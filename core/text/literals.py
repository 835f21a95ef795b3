"""Reading literals: numbers, `true` and `false`, brackets, and `int8(3)`.

In a program a literal determines its own type (`parse_literal`); an argument takes its parameter's (`parse_value`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from .. import dtypes
from ..errors import Malformed, Usage, plural
from ..types import MAX_AXES, Shape, Type
from ..value import Literal, Value, admit, literal, normalize

_TOKEN = re.compile(r"\s*([\[\],]|[^\s\[\],]+)")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_MAX_DIGITS = 100
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*([eE][+-]?[0-9]+)?|\.[0-9]+([eE][+-]?[0-9]+)?|inf|nan)", re.I | re.A)
_TYPED_LITERAL = re.compile(r"\s*([a-z]+[0-9]*)\s*(\[[^\]]*\])?\s*\((.*)\)\s*", re.S)
_BOOLEANS = {"true": True, "True": True, "false": False, "False": False}
T = TypeVar("T")
"""The type of a parameter, or None."""
_EXPECTED = "a number, true, false, [...] of them, or a dtype before (...)"


def parse_literal(text: str) -> Literal:
    """The literal in a text, with its own type; raises Malformed where there is none.

    >>> parse_literal("[1, 2.5]").type, parse_literal("int8(3)").type
    (Type(dtype=float64, shape=(2,)), Type(dtype=int8, shape=()))
    """
    parts = split_type(text)
    if parts is None:
        value = parse_nested(text)
        if not _has_elements(value):
            raise Malformed("an array without elements has no dtype", got=text, hint="write float64[0]([])")
        try:
            return literal(value)
        except Usage as error:
            raise Malformed(error.message, got=text, hint="write its dtype, as in uint64(...)") from None
    type_, content = parts
    return literal(parse_untyped(content, type_, text), type_)


def check_literal(text: str) -> str:
    """The text itself, if it is a literal of some type; raises Malformed otherwise.

    >>> check_literal("[[], []]")
    '[[], []]'
    """
    parts = split_type(text)
    parse_nested(text if parts is None else parts[1])
    return text


def parse_value(text: str, expected_type: Type) -> Value:
    """The value of a literal of type `expected_type`: `-3`, `2.5`, `true`, `nan`, `[1, 2]`.

    Raises Malformed where the text is not a literal, or not one of that type.

    >>> from tagloom.core.dtypes import int64
    >>> parse_value("[1, 2]", Type(int64, (2,)))
    array([1, 2])
    """
    try:
        return _parse_value(text, expected_type)
    except Malformed as error:
        expected = error.required if isinstance(error.required, str) else None
        error.required, error.hint = expected_type, error.hint or expected
        raise


def _parse_value(text: str, expected_type: Type) -> Value:
    parts = split_type(text)
    if parts is None:
        return parse_untyped(text, expected_type, text)
    own_type, content = parts
    value = parse_untyped(content, own_type, text)
    if own_type.dtype is not expected_type.dtype or not expected_type.admits(
        Type(own_type.dtype, np.shape(np.asarray(value)))
    ):
        raise Malformed("not a literal of this type", got=text)
    return value


def split_type(text: str) -> tuple[Type, str] | None:
    """The type and the content of the parentheses in `int8(3)`."""
    match = _TYPED_LITERAL.fullmatch(text)
    if match is None:
        return None
    dtype_name, shape, content = match.groups()
    if dtype_name not in dtypes.BY_NAME:
        raise Malformed("there is no such dtype", required=", ".join(dtypes.BY_NAME), got=text)
    return Type(dtypes.BY_NAME[dtype_name], parse_shape(shape, text)), content


def parse_shape(brackets: str | None, text: str) -> Shape:
    """The sizes in `[2, 0]`; without brackets an unknown shape."""
    if brackets is None:
        return None
    sizes = [size.strip() for size in brackets[1:-1].split(",")]
    if not all(size.isascii() and size.isdigit() and len(size) < 10 for size in sizes) or len(sizes) > MAX_AXES:
        raise Malformed("not a shape", required=f"[3] or [2, 0], of at most {MAX_AXES} sizes", got=text)
    return tuple(map(int, sizes))


def parse_untyped(text: str, expected_type: Type, literal_text: str) -> Value:
    """The value of text without a type, as a value of `expected_type`."""
    value = parse_nested(text)
    try:
        return (
            admit(value, expected_type) if _has_elements(value) else empty_array(np.array(value).shape, expected_type)
        )
    except Usage as error:
        hint = error.message if error.required is None else None
        raise Malformed("not a literal of this type", required=expected_type, got=literal_text, hint=hint) from None


def empty_array(shape: tuple[int, ...], expected_type: Type) -> Value:
    """An array without elements. It has the expected shape if that is known, since brackets cannot write every empty
    shape."""
    sizes = [size for size in expected_type.shape or () if size is not None]
    if shape == (0,) and 0 in sizes and len(sizes) == len(expected_type.shape or ()):
        try:
            return normalize(np.zeros(sizes), expected_type)
        except ValueError:
            raise Usage("these sizes are too large for an array") from None
    return admit(np.zeros(shape, expected_type.dtype.numpy), expected_type)


def _has_elements(value: object) -> bool:
    while isinstance(value, list) and value:
        value = value[0]
    return not isinstance(value, list)


def parse_nested(text: str) -> object:
    """Numbers in brackets, as nested lists. The stack is explicit, so that a million brackets do
    not overflow Python's."""
    stack: list[list[object]] = [[]]
    is_separated = True
    for token in _TOKEN.findall(text):
        if token == ",":
            if is_separated:
                break
            is_separated = True
            continue
        if token == "]":
            if len(stack) == 1 or (is_separated and stack[-1]):
                break
            row = stack.pop()
            stack[-1].append(row)
        elif not is_separated:
            break
        elif token == "[":
            stack.append([])
            continue
        else:
            stack[-1].append(parse_number(token, text))
        is_separated = False
    else:
        if len(stack) == 1 and len(stack[0]) == 1 and not is_separated:
            return check_rectangular(stack[0][0], text)
    raise Malformed("not a literal", required=_EXPECTED, got=text)


def parse_number(word: str, text: str) -> Any:
    """The number or bool that a word denotes; raises Malformed for other words."""
    if word in _BOOLEANS:
        return _BOOLEANS[word]
    if _INTEGER.fullmatch(word):
        if len(word) <= _MAX_DIGITS:
            return int(word)
    elif _FLOAT.fullmatch(word):
        number = float(word)
        if math.isfinite(number) or word.strip("+-").lower() in ("inf", "nan"):
            return number
        raise Malformed("this number does not fit into float64", got=text)
    raise Malformed("not a literal", required=_EXPECTED, got=text)


def check_rectangular(value: object, text: str) -> object:
    """The nested lists, after checking that they form an array."""
    required = f"rows of one length, at most {MAX_AXES} deep, of numbers or of bools"
    level, rows = 0, [value]
    while any(isinstance(row, list) for row in rows):
        lengths = {len(row) if isinstance(row, list) else -1 for row in rows}
        level += 1
        if len(lengths) > 1 or level > MAX_AXES:
            raise Malformed("not an array", required=required, got=text)
        rows = [item for row in rows if isinstance(row, list) for item in row]
    if len({type(row) is bool for row in rows}) > 1:
        raise Malformed("not an array", required=required, got=text)
    return value


def read_argument_words(
    name: str, parameters: Sequence[tuple[str, T]], words: Sequence[str], parse: Callable[[str, T, str], Value]
) -> list[Value]:
    """The arguments of a call, read from words: `parse` reads each word with the parameter's name and type. Raises
    Usage if there are too many or too few words."""
    if len(parameters) != len(words):
        signature = ", ".join(f"{name}: {type_ or '?'}" for name, type_ in parameters)
        raise Usage(
            f"{name} takes {plural(len(parameters), 'argument')}",
            required=f"{name}({signature})",
            got=", ".join(words) or "none",
            python=TypeError,
        )
    return [parse(name, type_, word) for (name, type_), word in zip(parameters, words, strict=True)]
