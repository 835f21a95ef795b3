"""The characters of strings that are known only when the program runs, such as the digits of a symbolic integer.

A string has parts, which are joined where it is printed or returned (`SymbolicText`), or it is the list of its code
points, whose length may be symbolic (`Characters`). A program reads the code points: it compares strings, takes their
length and characters, and converts them to numbers. A loop that makes a string longer carries its code points.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

import numpy as np

from ...errors import Invalid
from ..trace.captures import read_variable
from ..trace.choice import Choice
from ..trace.numbers import number_kind
from ..trace.python_operations import perform
from ..trace.source_location import user_location
from ..trace.stacked_items import StackedItems, has_stacked_items
from ..trace.symbol import array_namespace
from ..trace.text import AS_CHARACTERS, TEXTS, CodePoints, FormattedValue, Text, is_text
from . import library, open_lists
from .convert import convert
from .items import get_item
from .open_lists import get_open_item
from .option_operations import choose_operands
from .raising import located_exception, stage_assertion
from .trees import is_symbolic

_SYMBOL_MARK = "<symbolic "
"""The beginning of the text of a symbol that Python has formatted while tracing."""


def refusal_method(use: str) -> Any:
    """A method that refuses this use of a string."""

    def method(self: Any, *arguments: object) -> NoReturn:
        refuse_text(use, self)

    return method


class RunString:
    """A string that the run computes. It refuses what Python asks of a string while the function is traced."""

    __slots__ = ()
    __bool__, __len__, __iter__ = refusal_method("bool()"), refusal_method("len()"), refusal_method("iteration")
    __getitem__, __contains__, __mod__ = refusal_method("an index"), refusal_method("`in`"), refusal_method("%")
    __hash__ = refusal_method("use as a key of a dict or set")


class SymbolicText(RunString, Text):
    """A string with symbolic values in it, which can be joined and printed.

    >>> SymbolicText(("n=", 3)) + "!"
    <text n=3!>
    """

    __slots__ = ()
    VALUE_HINT = "strings can be printed and returned; ops take numbers, such as the one that the string shows"
    """The hint where a program needs a value."""

    def __add__(self, other: Any) -> Any:
        return SymbolicText((*self.parts, *_parts(other))) if isinstance(other, str | Text) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return SymbolicText((*_parts(other), *self.parts)) if isinstance(other, str | Text) else NotImplemented

    def __str__(self) -> str:
        """The text with the names of the symbols, for messages of errors."""
        return "".join(map(_describe_part, self.parts))

    def __repr__(self) -> str:
        return f"<text {self}>"

    def __mul__(self, count: Any) -> Any:
        return SymbolicText(self.parts * count) if type(count) is int and count > 0 else as_characters(self) * count

    __rmul__, __hash__ = __mul__, RunString.__hash__

    def __eq__(self, other: object) -> Any:
        return as_characters(self) == other

    def __ne__(self, other: object) -> Any:
        return as_characters(self) != other

    def __lt__(self, other: Any) -> Any:
        return as_characters(self) < other

    def __le__(self, other: Any) -> Any:
        return as_characters(self) <= other

    def __gt__(self, other: Any) -> Any:
        return as_characters(self) > other

    def __ge__(self, other: Any) -> Any:
        return as_characters(self) >= other

    def __getattr__(self, name: str) -> Any:
        check_method(name)
        return getattr(as_characters(self), name)


SymbolicText.__name__ = "string that the run computes"  # in messages


def _parts(text: str | Text) -> tuple[Any, ...]:
    return text.parts if isinstance(text, Text) else (check_text(text),)


def _describe_part(part: Any) -> str:
    """A part of a text while tracing: a value is its name in braces.

    >>> _describe_part("n = ")
    'n = '
    """
    value = part.value if isinstance(part, FormattedValue) else part
    return f"{{{value._tagloom_value.name}}}" if is_symbolic(value) else str(value)


class Characters(RunString, CodePoints):
    """A string by its code points. Their number may be symbolic."""

    __slots__ = ()
    VALUE_HINT = "an array of its code points is tl.asarray([ord(c) for c in text])"
    """The hint where a program needs a value."""

    def length(self) -> Any:
        """`len(self)`."""
        return open_lists.item_count(self.codes)

    def item(self, index: Any) -> Any:
        """`self[index]`."""
        item = _item_of(self.codes, index)
        return as_text(item if isinstance(index, slice) else [item])

    def __add__(self, other: Any) -> Any:
        if not is_text(other):
            return NotImplemented
        return as_text([*self.codes, *as_characters(other).codes])

    def __radd__(self, other: Any) -> Any:
        return as_characters(other) + self if is_text(other) else NotImplemented

    def __mul__(self, count: Any) -> Any:
        if not self.codes:
            return ""
        is_known = type(count) in (bool, int)
        return as_text(self.codes * count if is_known else open_lists.repeat_items(self.codes, count))

    __rmul__, __hash__ = __mul__, RunString.__hash__

    def __eq__(self, other: object) -> Any:
        return is_text(other) and _apply(library.same_codes, self.codes, as_characters(other).codes)

    def __ne__(self, other: object) -> Any:
        return not is_text(other) or _apply(library.different_codes, self.codes, as_characters(other).codes)

    def _compare(self, other: Any) -> Any:
        return _apply(library.compare_items, self.codes, as_characters(other).codes)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other) < 0 if is_text(other) else NotImplemented

    def __le__(self, other: Any) -> Any:
        return self._compare(other) <= 0 if is_text(other) else NotImplemented

    def __gt__(self, other: Any) -> Any:
        return self._compare(other) > 0 if is_text(other) else NotImplemented

    def __ge__(self, other: Any) -> Any:
        return self._compare(other) >= 0 if is_text(other) else NotImplemented

    def isdigit(self) -> Any:
        """Whether all characters are digits, and there is one."""
        return _apply(library.are_digits, self.codes)

    isdecimal = isnumeric = isdigit

    def isalpha(self) -> Any:
        """Whether all characters are letters, and there is one."""
        return _apply(library.are_letters, self.codes)

    def isspace(self) -> Any:
        """Whether all characters are spaces, and there is one."""
        return _apply(library.are_spaces, self.codes)

    def upper(self) -> Any:
        """The string in capital letters."""
        return as_text(_apply(library.upper_codes, self.codes))

    def lower(self) -> Any:
        """The string in small letters."""
        return as_text(_apply(library.lower_codes, self.codes))

    def lstrip(self, characters: Any = None) -> Any:
        """The string without spaces, or without these characters, at its start."""
        return as_text(_apply(library.strip_codes, self.codes, codes_to_strip(characters)))

    def rstrip(self, characters: Any = None) -> Any:
        """The string without spaces, or without these characters, at its end."""
        return as_text(_apply(library.strip_end_codes, self.codes, codes_to_strip(characters)))

    def strip(self, characters: Any = None) -> Any:
        """The string without spaces, or without these characters, at both ends."""
        return as_characters(self.lstrip(characters)).rstrip(characters)

    def rjust(self, width: Any, fill: Any = " ") -> Any:
        """The string with characters before it, up to a width."""
        return as_text([*self._filling("str.rjust", width, fill), *self.codes])

    def ljust(self, width: Any, fill: Any = " ") -> Any:
        """The string with characters after it, up to a width."""
        return as_text([*self.codes, *self._filling("str.ljust", width, fill)])

    def _filling(self, use: str, width: Any, fill: Any) -> list[Any]:
        """The code points that are missing up to a width."""
        codes: list[Any] = _apply(library.filling_codes, width - self.length(), self._single_code(use, fill))
        return codes

    def zfill(self, width: Any) -> Any:
        """The string with zeros between its sign and its digits, up to a width."""
        return as_text(_apply(library.fill_with_zeros, self.codes, width))

    def startswith(self, prefix: Any, *limits: Any) -> Any:
        """Whether the string begins with another one."""
        return _apply(library.starts_with, self.codes, self._operand("startswith", prefix, *limits))

    def endswith(self, suffix: Any, *limits: Any) -> Any:
        """Whether the string ends with another one."""
        return _apply(library.ends_with, self.codes, self._operand("endswith", suffix, *limits))

    def find(self, part: Any, *limits: Any) -> Any:
        """The position of the first occurrence of a string; -1 if there is none."""
        return _apply(library.find_codes, self.codes, self._operand("find", part, *limits))

    def index(self, part: Any, *limits: Any) -> Any:
        """The position of the first occurrence of a string; a ValueError if there is none."""
        return _apply(library.index_codes, self.codes, self._operand("index", part, *limits))

    def replace(self, part: Any, other: Any, *limits: Any) -> Any:
        """The string with another one in place of each occurrence of a part."""
        operands = self._operand("replace", part, *limits), self._operand("replace", other)
        return as_text(_apply(library.replace_codes, self.codes, *operands))

    def count(self, part: Any, *limits: Any) -> Any:
        """How often the string has a part."""
        return _apply(library.count_codes, self.codes, self._operand("count", part, *limits))

    def has(self, part: Any) -> Any:
        """`part in self`."""
        codes = self._operand("__contains__", part)
        if type(open_lists.item_count(codes)) is int and open_lists.item_count(codes) == 1:
            return _apply(library.has_item, self.codes, _item_of(codes, 0))
        return self.find(part) >= 0

    def _operand(self, method: str, text: Any, *limits: Any) -> list[Any]:
        """The code points of an argument of a method. Raises Invalid (F4) for what is no string, and for limits."""
        if limits or not is_text(text):
            refuse_text(f"str.{method} with these arguments", self)
        return as_characters(text).codes

    @staticmethod
    def _single_code(use: str, text: Any) -> Any:
        codes = as_characters(text).codes if is_text(text) else []
        if type(open_lists.item_count(codes)) is not int or open_lists.item_count(codes) != 1:
            refuse_text(f"{use} of other than one character", text)
        return _item_of(codes, 0)

    def number(self) -> Any:
        """`int(self)`."""
        return _apply(library.number_of_codes, self.codes)

    def number_in_base(self, base: Any) -> Any:
        """`int(self, base)`. Raises Invalid (F4) for a base that is symbolic or 0."""
        if type(base) is not int or base == 0:
            raise Invalid("int() of a symbolic string needs a known base", rule="F4", where=user_location())
        perform(int, "0", base)  # which raises ValueError for others
        letter = {number: ord(name) for name, number in _BASES.items() if name.islower()}.get(base, 0)
        return _apply(library.number_in_base, self.codes, base, letter)

    def code(self) -> Any:
        """`ord(self)`."""
        return self._single_code("ord()", self)

    def printable(self) -> FormattedValue:
        """The code points as an array, which is printed as a string."""
        return FormattedValue(open_lists.stack_items(self.codes).columns, "s")

    __str__, __format__ = refusal_method("str()"), refusal_method("format()")

    def __repr__(self) -> str:
        return "<text of symbolic length>"

    def __getattr__(self, name: str) -> Any:
        check_method(name)
        refuse_text(f"str.{name}", self)


def check_method(name: str) -> None:
    """Raises AttributeError for what is no method of strings."""
    if name.startswith("_") or not hasattr(str, name):
        raise AttributeError(f"'str' object has no attribute {name!r}")


def refuse_text(use: str, text: Any) -> NoReturn:
    """Raises Invalid (F4) for a use of a string that a program does not have."""
    raise Invalid(
        f"{use} is not supported for a string that is known only when the program runs",
        rule="F4",
        where=user_location(),
        got=str(text)[:200] if isinstance(text, Text) else repr(text),
        hint="keep its characters as numbers, such as int(c) or ord(c), in a list",
        python=TypeError,
    )


def sort_characters(text: Any, is_reversed: bool) -> list[Any]:
    """`sorted(text, reverse=is_reversed)`, of a symbolic string: a list of characters."""
    codes = as_characters(text).codes
    if not codes:
        return []
    ordered = array_namespace().sort(open_lists.stack_items(codes).columns, descending=is_reversed)
    rows = array_namespace().expand_dims(ordered, axis=1)
    return [StackedItems(Characters([StackedItems(rows)]))]


def is_symbolic_text(value: Any) -> bool:
    """Whether a value is a string that is known only when the program runs, and not one of several."""
    return isinstance(value, TEXTS)


def as_characters(text: Any) -> Characters:
    """The characters of a string. Raises Invalid (F4) for one with a symbolic value in it that is not an integer."""
    if isinstance(text, Characters):
        return text
    if type(text) is Choice:
        chosen = choose_operands(lambda option: Characters(as_characters(option).codes), text)
        return as_characters(chosen)
    codes = list[Any]()
    for part in (text,) if isinstance(text, str) else text.parts:
        codes += _part_codes(part, text)
    return Characters(codes)


AS_CHARACTERS.cell_contents = as_characters


def as_text(codes: list[Any]) -> Any:
    """The string with these code points; one of Python if all of them are known.

    >>> as_text([104, 105])
    'hi'
    """
    return "".join(map(chr, codes)) if all(type(code) is int for code in codes) else Characters(codes)


def character(code: Any) -> Characters:
    """`chr(code)`, of a symbolic integer."""
    return Characters([_apply(library.check_code, code)])


_INTEGER_FORMAT = re.compile(r"(?:(.)?([<>=^]))?([-+ ]?)(#?)(0?)(\d*)([bdoxX]?)")
"""A format of integers: what fills it, where the number is, its sign, prefix, zeros, width and base."""
_BASES = {"b": 2, "o": 8, "x": 16, "X": 16}


def format_integer(number: Any, specification: str) -> list[Any] | None:
    """The code points of `format(number, specification)`, of a symbolic integer; None for other formats."""
    match = _INTEGER_FORMAT.fullmatch(specification)
    if match is None:
        return None
    fill, alignment, sign, prefix, zeros, width, kind = match.groups()
    if zeros and not alignment:
        fill, alignment = "0", "="
    prefix_codes = list(map(ord, f"0{kind}")) if prefix and kind in _BASES else []
    layout = list(map(ord, sign.strip("-"))), ord(fill or (zeros or " ")), alignment or ">", int(width or 0)
    codes: list[Any] = _apply(
        library.format_integer, number, _BASES.get(kind, 10), 65 if kind == "X" else 97, prefix_codes, *layout
    )
    return codes


def greatest_character(text: Any, is_least: bool) -> Any:
    """`max(text)`, or `min(text)`, of a symbolic string. An empty one is a trap: a ValueError."""
    codes = open_lists.stack_items(as_characters(text).codes).columns
    has_codes = codes.shape[0] > 0
    name = "min" if is_least else "max"
    empty = located_exception(ValueError(f"{name}() arg is an empty sequence"))
    if is_symbolic(read_variable(has_codes)):
        stage_assertion(has_codes, empty)
    return as_text([getattr(array_namespace(), name)(codes)])


def codes_to_strip(characters: Any) -> list[int]:
    """The code points of the characters that a method strips; those of Python's ASCII spaces for None."""
    if characters is None:
        return [9, 10, 11, 12, 13, 28, 29, 30, 31, 32]
    if type(characters) is not str:
        refuse_text("str.strip of these characters", characters)
    return list(map(ord, characters))


def _part_codes(part: Any, text: Any) -> list[Any]:
    if isinstance(part, str):
        return list(map(ord, part))
    if isinstance(part, CodePoints):
        return part.codes
    value, specification = part if isinstance(part, FormattedValue) else (part, "")
    value = read_variable(value)
    if is_symbolic_integer(value):
        codes = format_integer(value, specification) if specification else _apply(library.codes_of_integer, value)
        if codes is not None:
            return codes
    elif is_symbolic(value) and number_kind(value) == "b" and not specification:
        return _apply(library.codes_of_bool, value)  # type: ignore[no-any-return]
    elif not is_symbolic(value) and number_kind(value) == "b" and not specification:
        return list(map(ord, str(bool(value))))
    elif not is_symbolic(value) and np.asarray(value).dtype.kind == "i" and specification not in ("r", "s"):
        return list(map(ord, format(int(value), specification)))  # while the structure of a loop is found
    raise Invalid(
        "the characters of a string with a float, an array or a format in it are known only when the program runs",
        rule="F4",
        where=user_location(),
        required="strings, integers and bools in it",
        got=str(text)[:200],
        hint="print the string, or compute with the numbers in it",
        python=TypeError,
    )


def is_symbolic_integer(value: Any) -> bool:
    """Whether a value is an integer that is known only when the program runs."""
    type_ = value._tagloom_value.type if is_symbolic(value) else None
    return type_ is not None and type_.is_scalar and type_.dtype.kind == "i"


def _item_of(codes: list[Any], index: Any) -> Any:
    is_staged = has_stacked_items(codes)
    if isinstance(index, slice) and not is_staged and not any(map(is_symbolic, (index.start, index.stop, index.step))):
        return codes[index]
    if is_staged or isinstance(index, slice):
        return get_open_item(codes, index)
    return get_item(codes, index) if is_symbolic(read_variable(index)) else perform(lambda: codes[index])


def _apply(function: Any, *arguments: Any) -> Any:
    return convert(function)(*arguments)


def check_text(text: str) -> str:
    """A string that Python has formatted while tracing. Raises Invalid (F4) if there is a symbolic value in it."""
    if _SYMBOL_MARK in text:
        raise Invalid(
            "a symbolic value is formatted while the function is traced",
            rule="F4",
            where=user_location(),
            got=text[:200],
            hint='print(f"n = {n}"), or print("n =", n), prints it when the program runs',
            python=TypeError,
        )
    return text
