"""The characters of strings that are known only when the program runs, such as the digits of a symbolic integer.

A string has parts, which are joined where it is printed or returned (`SymbolicText`), or it is the list of its code
points, whose length may be symbolic (`Characters`). A program reads the code points: it compares strings, takes their
length and characters, and converts them to numbers. A loop that makes a string longer carries its code points.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ...errors import Invalid
from ..trace.captures import read_variable
from ..trace.choice import Choice
from ..trace.python_operations import perform
from ..trace.pytree import TEXTS
from ..trace.source_location import user_location
from ..trace.stacked_items import has_stacked_items
from ..trace.text import AS_CHARACTERS, CodePoints, FormattedValue, Text
from . import library, open_lists
from .convert import convert
from .items import get_item
from .open_lists import get_open_item
from .option_operations import choose_operands
from .trees import is_symbolic

_SYMBOL_MARK = "<symbolic "
"""What the text of a symbol begins with, where Python has formatted it while tracing."""


class SymbolicText(Text):
    """A string with symbolic values in it, which can be joined and printed.

    >>> SymbolicText(("n=", 3)) + "!"
    <text n=3!>
    """

    __slots__ = ()
    VALUE_HINT = "a string is not a value of a program: Python's print prints it when the program runs"
    """What to write where a program needs a value."""

    def __add__(self, other: Any) -> Any:
        return SymbolicText((*self.parts, *_parts(other))) if isinstance(other, str | Text) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return SymbolicText((*_parts(other), *self.parts)) if isinstance(other, str | Text) else NotImplemented

    def __str__(self) -> str:
        """The text with the names of the symbols, for messages of errors."""
        return "".join(map(_describe_part, self.parts))

    def __repr__(self) -> str:
        return f"<text {self}>"

    def refuse(self, *arguments: object, **options: object) -> NoReturn:
        """Raises Invalid (F4) for what a program does not do with strings."""
        refuse_text(str(self)[:200])

    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __mod__ = __hash__ = refuse

    def __mul__(self, count: Any) -> Any:
        return SymbolicText(self.parts * count) if type(count) is int and count > 0 else as_characters(self) * count

    __rmul__ = __mul__

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
        if name.startswith("_") or not hasattr(str, name):
            raise AttributeError(name)
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


class Characters(CodePoints):
    """A string by its code points. Their number may be symbolic."""

    __slots__ = ()
    VALUE_HINT = "an array of its code points is tl.asarray([ord(c) for c in text])"
    """What to write where a program needs a value."""

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

    __rmul__ = __mul__

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
        return as_text(_apply(library.strip_codes, self.codes, _codes_to_strip(characters)))

    def rstrip(self, characters: Any = None) -> Any:
        """The string without spaces, or without these characters, at its end."""
        return as_text(_apply(library.strip_end_codes, self.codes, _codes_to_strip(characters)))

    def strip(self, characters: Any = None) -> Any:
        """The string without spaces, or without these characters, at both ends."""
        return as_characters(self.lstrip(characters)).rstrip(characters)

    def rjust(self, width: Any, fill: Any = " ") -> Any:
        """The string with characters before it, up to a width."""
        return as_text([*_apply(library.filling_codes, width - self.length(), self._single_code(fill)), *self.codes])

    def ljust(self, width: Any, fill: Any = " ") -> Any:
        """The string with characters after it, up to a width."""
        return as_text([*self.codes, *_apply(library.filling_codes, width - self.length(), self._single_code(fill))])

    def zfill(self, width: Any) -> Any:
        """The string with zeros between its sign and its digits, up to a width."""
        return as_text(_apply(library.fill_with_zeros, self.codes, width))

    def startswith(self, prefix: Any) -> Any:
        """Whether the string begins with another one."""
        return self._has_part(prefix, lambda count: slice(0, count))

    def endswith(self, suffix: Any) -> Any:
        """Whether the string ends with another one."""
        return self._has_part(suffix, lambda count: slice(-count, None))

    def _has_part(self, part: Any, place: Callable[[int], slice]) -> Any:
        if type(part) is not str:
            self.refuse()
        return self.item(place(len(part))) == part if part else True

    def find(self, part: Any) -> Any:
        """The position of the first occurrence of a string; -1 if there is none."""
        return _apply(library.find_codes, self.codes, as_characters(part).codes) if is_text(part) else self.refuse()

    def index(self, part: Any) -> Any:
        """The position of the first occurrence of a string; a ValueError if there is none."""
        return _apply(library.index_codes, self.codes, as_characters(part).codes) if is_text(part) else self.refuse()

    def replace(self, part: Any, other: Any) -> Any:
        """The string with another one in place of each occurrence of a part."""
        if not (is_text(part) and is_text(other)) or (type(part) is str and not part):
            self.refuse()
        return as_text(_apply(library.replace_codes, self.codes, as_characters(part).codes, as_characters(other).codes))

    def count(self, part: Any) -> Any:
        """How often the string has a part."""
        if not is_text(part) or (type(part) is str and not part):
            self.refuse()
        return _apply(library.count_codes, self.codes, as_characters(part).codes)

    def has(self, part: Any) -> Any:
        """`part in self`."""
        if not is_text(part):
            self.refuse()
        codes = as_characters(part).codes
        if type(open_lists.item_count(codes)) is int and open_lists.item_count(codes) == 1:
            return _apply(library.has_item, self.codes, _item_of(codes, 0))
        return self.find(part) >= 0

    def _single_code(self, text: Any) -> Any:
        codes = as_characters(text).codes if is_text(text) else []
        if type(open_lists.item_count(codes)) is not int or open_lists.item_count(codes) != 1:
            self.refuse()
        return _item_of(codes, 0)

    def number(self) -> Any:
        """`int(self)`."""
        return _apply(library.number_of_codes, self.codes)

    def code(self) -> Any:
        """`ord(self)`."""
        return self._single_code(self)

    def printable(self) -> FormattedValue:
        """The code points as an array, which is printed as a string."""
        return FormattedValue(open_lists.stack_items(self.codes).columns, "s")

    def refuse(self, *arguments: object, **options: object) -> NoReturn:
        """Raises Invalid (F4) for what a program does not do with strings."""
        refuse_text(repr(self))

    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __mod__ = __hash__ = refuse
    __str__ = __format__ = refuse

    def __repr__(self) -> str:
        return "<text of symbolic length>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.refuse()


def refuse_text(description: str) -> NoReturn:
    """Raises Invalid (F4) for what a program does not do with strings."""
    raise Invalid(
        "a string with a symbolic value in it is known only when the program runs",
        rule="F4",
        where=user_location(),
        required="print, or, for strings of integers, ==, <, a loop, len(), int(), ord(), an index, or `in`",
        got=description,
        hint="keep its characters as numbers, such as int(c) or ord(c), in a list",
        python=TypeError,
    )


def is_text(value: Any) -> bool:
    """Whether a value is a string, known or not, or one of several."""
    return isinstance(value, (str, *TEXTS)) or (type(value) is Choice and all(map(is_text, value.options)))


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


def binary_text(number: Any) -> Characters:
    """`bin(number)`, of a symbolic integer."""
    return Characters(_apply(library.codes_of_binary, number))


def _codes_to_strip(characters: Any) -> list[int]:
    """The code points of the characters that a method strips; those of Python's ASCII spaces for None."""
    if characters is None:
        return [9, 10, 11, 12, 13, 28, 29, 30, 31, 32]
    if type(characters) is not str:
        refuse_text("characters to strip that are known only when the program runs")
    return list(map(ord, characters))


def _part_codes(part: Any, text: Any) -> list[Any]:
    if isinstance(part, str):
        return list(map(ord, part))
    if isinstance(part, CodePoints):
        return part.codes
    value = read_variable(part)
    if isinstance(part, FormattedValue):
        text.refuse()
    if not is_symbolic(value) and np.asarray(value).dtype.kind == "i":  # while the structure of a loop is found
        return list(map(ord, str(int(value))))
    if not is_symbolic_integer(value):
        text.refuse()
    return _apply(library.codes_of_integer, value)  # type: ignore[no-any-return]


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
