"""Texts: strings with symbolic values in them, which are known only when the program runs. They can be joined and
printed, and are refused in words elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ...errors import Invalid
from ..trace.captures import read_variable
from ..trace.source_location import user_location
from .staging import is_symbolic

_SYMBOL_MARK = "<symbolic "
"""What the text of a symbol begins with, where Python has formatted it while tracing."""


class SymbolicText:
    """A string with symbolic values in it.

    >>> SymbolicText(("n=", 3)) + "!"
    <text n=3!>
    """

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts
        """Strings and symbolic values, in order."""

    def __add__(self, other: Any) -> Any:
        return SymbolicText((*self.parts, *text_parts(other))) if _is_text(other) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return SymbolicText((*text_parts(other), *self.parts)) if _is_text(other) else NotImplemented

    def __str__(self) -> str:
        """The text with the names of the symbols, for messages of errors."""
        return "".join(map(str, self.parts))

    def __repr__(self) -> str:
        return f"<text {self}>"

    def _refuse(self, *arguments: object, **options: object) -> NoReturn:
        raise Invalid(
            "a string with a symbolic value in it is known only when the program runs",
            rule="F4",
            where=user_location(),
            got=str(self)[:200],
            hint="print it; print takes strings and values",
            python=TypeError,
        )

    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __mul__ = __rmul__ = __mod__ = __hash__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._refuse()


def _is_text(value: Any) -> bool:
    return isinstance(value, str | SymbolicText)


def text_parts(value: Any, *, is_quoted: bool = False) -> tuple[Any, ...]:
    """What `str(value)` consists of, or `repr(value)` if quoted: strings and symbolic values.

    >>> text_parts((1, "a"))
    ("(1, 'a')",)
    """
    value = read_variable(value)
    if is_symbolic(value):
        return (value,)
    if isinstance(value, SymbolicText) and not is_quoted:
        return value.parts
    if type(value) in (list, tuple, dict):
        return tuple(_merge_strings(_container_parts(value)))
    return (check_text(repr(value) if is_quoted else str(value)),)


_BRACKETS = {"list": ("[", "]"), "tuple": ("(", ")"), "dict": ("{", "}")}


def _container_parts(container: Any) -> Iterator[Any]:
    opening, closing = _BRACKETS[type(container).__name__]
    yield opening
    for position, item in enumerate(container):
        yield ", " if position else ""
        yield from text_parts(item, is_quoted=True)
        if type(container) is dict:
            yield from (": ", *text_parts(container[item], is_quoted=True))
    yield "," + closing if type(container) is tuple and len(container) == 1 else closing


def _merge_strings(parts: Iterator[Any]) -> Iterator[Any]:
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
        else:
            yield from (text, part)
            text = ""
    yield text


def join_text(*texts: Any) -> Any:
    """An f-string, of its constant parts and its fields."""
    if all(isinstance(each, str) for each in texts):
        return "".join(texts)
    return SymbolicText(tuple(part for each in texts for part in text_parts(each)))


def field(value: Any, conversion: str, specification: Any = "") -> Any:
    """`{value!conversion:specification}` in an f-string. Raises Invalid (F4) where a symbolic value has one."""
    parts = text_parts(value, is_quoted=conversion in ("r", "a"))
    if any(is_symbolic(part) for part in parts):
        if specification:
            raise Invalid(
                "a format of a symbolic value is not supported",
                rule="F4",
                where=user_location(),
                got=f"format {str(specification)!r}",
                hint="print the value as it is, or format the result of a run",
            )
        return SymbolicText(parts)
    conversions: dict[str, Callable[[Any], str]] = {"r": repr, "a": ascii, "s": str}
    value = conversions[conversion](value) if conversion else value
    return check_text(format(value, specification))


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
