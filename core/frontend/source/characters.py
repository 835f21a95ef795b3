"""The characters of strings that are known only when the program runs, such as the digits of a symbolic integer.

A string is the list of its code points, whose length may be symbolic. A program reads such a string: it compares it,
takes its length and its characters, and converts them to numbers. It is no value of a program: no loop carries it, and
no function returns it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...errors import Invalid
from ..effects import FormattedValue
from ..trace.captures import read_variable
from ..trace.python_operations import perform
from ..trace.source_location import user_location
from ..trace.stacked_items import has_stacked_items
from ..trace.text import Text
from . import library, open_lists
from .convert import convert
from .items import get_item
from .open_lists import get_open_item
from .trees import is_symbolic

_DIGITS = frozenset("0123456789")
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
        return SymbolicText((*self.parts, *_parts(other))) if isinstance(other, str | SymbolicText) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return SymbolicText((*_parts(other), *self.parts)) if isinstance(other, str | SymbolicText) else NotImplemented

    def __str__(self) -> str:
        """The text with the names of the symbols, for messages of errors."""
        return "".join(map(_describe_part, self.parts))

    def __repr__(self) -> str:
        return f"<text {self}>"

    def refuse(self, *arguments: object, **options: object) -> NoReturn:
        """Raises Invalid (F4) for what a program does not do with strings."""
        refuse_text(str(self)[:200])

    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __mul__ = __rmul__ = __mod__ = __hash__ = refuse

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


def _parts(text: str | SymbolicText) -> tuple[Any, ...]:
    return text.parts if isinstance(text, SymbolicText) else (check_text(text),)


def _describe_part(part: Any) -> str:
    """A part of a text while tracing: a value is its name in braces.

    >>> _describe_part("n = ")
    'n = '
    """
    value = part.value if isinstance(part, FormattedValue) else part
    return f"{{{value._tagloom_value.name}}}" if is_symbolic(value) else str(value)


class Characters:
    """A string, by its code points and the characters that it may have."""

    __slots__ = ("alphabet", "codes")
    VALUE_HINT = "a string of symbolic length is not a value of a program: return its characters as numbers"
    """What to write where a program needs a value."""

    def __init__(self, codes: list[Any], alphabet: frozenset[str]) -> None:
        self.codes, self.alphabet = codes, alphabet

    def length(self) -> Any:
        """`len(self)`."""
        return open_lists.item_count(self.codes)

    def item(self, index: Any) -> Characters:
        """`self[index]`."""
        item = _item_of(self.codes, index)
        return Characters(item if isinstance(index, slice) else [item], self.alphabet)

    def __add__(self, other: Any) -> Any:
        if not is_text(other):
            return NotImplemented
        others = as_characters(other)
        return Characters([*self.codes, *others.codes], self.alphabet | others.alphabet)

    def __radd__(self, other: Any) -> Any:
        return as_characters(other) + self if is_text(other) else NotImplemented

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
        if not all(map(str.isascii, self.alphabet)):
            self.refuse()
        return _apply(library.are_digits, self.codes)

    isdecimal = isnumeric = isdigit

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

    def count(self, part: Any) -> Any:
        """How often the string has a character."""
        return _apply(library.count_item, self.codes, self._single_code(part))

    def has(self, part: Any) -> Any:
        """`part in self`, for a character."""
        return _apply(library.has_item, self.codes, self._single_code(part))

    def _single_code(self, text: Any) -> Any:
        codes = as_characters(text).codes if is_text(text) else []
        if type(open_lists.item_count(codes)) is not int or open_lists.item_count(codes) != 1:
            self.refuse()
        return _item_of(codes, 0)

    def number(self) -> Any:
        """`int(self)`."""
        if not all(char.isascii() and (char.isalnum() or char in "+-.") for char in self.alphabet):
            self.refuse()  # Python ignores spaces and underscores, and knows other digits
        return _apply(library.number_of_codes, self.codes)

    def code(self) -> Any:
        """`ord(self)`."""
        return self._single_code(self)

    def refuse(self, *arguments: object, **options: object) -> NoReturn:
        """Raises Invalid (F4) for what a program does not do with strings."""
        refuse_text(repr(self))

    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __mul__ = __rmul__ = __mod__ = __hash__ = refuse
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
    """Whether a value is a string, known or not."""
    return isinstance(value, str | SymbolicText | Characters)


def is_symbolic_text(value: Any) -> bool:
    """Whether a value is a string that is known only when the program runs."""
    return isinstance(value, SymbolicText | Characters)


def as_characters(text: Any) -> Characters:
    """The characters of a string. Raises Invalid (F4) for one with a symbolic value in it that is not an integer."""
    if isinstance(text, Characters):
        return text
    result = Characters([], frozenset())
    for part in (text,) if isinstance(text, str) else text.parts:
        result = result + _part_characters(part, text)
    return result


def binary_text(number: Any) -> Characters:
    """`bin(number)`, of a symbolic integer."""
    return Characters(_apply(library.codes_of_binary, number), frozenset("-01b"))


def _part_characters(part: Any, text: SymbolicText) -> Characters:
    if isinstance(part, str):
        return Characters(list(map(ord, part)), frozenset(part))
    value = read_variable(part)
    if isinstance(part, FormattedValue) or not is_symbolic_integer(value):
        text.refuse()
    return Characters(_apply(library.codes_of_integer, value), _DIGITS | {"-"})


def is_symbolic_integer(value: Any) -> bool:
    """Whether a value is an integer that is known only when the program runs."""
    type_ = value._tagloom_value.type if is_symbolic(value) else None
    return type_ is not None and type_.is_scalar and type_.dtype.kind == "i"


def _item_of(codes: list[Any], index: Any) -> Any:
    is_staged = has_stacked_items(codes)
    if isinstance(index, slice) and not is_staged and not any(map(is_symbolic, (index.start, index.stop, index.step))):
        return codes[index]
    if is_staged:
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
