"""Errors, sorted by whose fault they are. Each has rule, where, tag, required, got and hint, and most also derive from
a built-in exception, so that `except IndexError` catches an index that is out of range.

This module defines the form of all errors; the module that detects a fault raises the error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, Self

from .escape import escape_controls, escape_line

MAX_LINE_LENGTH = 2_000
"""The most characters of a line of an error."""


def abbreviate_line(line: str) -> str:
    """The line, or its beginning and its length if it has more than MAX_LINE_LENGTH characters.

    >>> abbreviate_line("got: 3"), len(abbreviate_line("got: " + 10**6 * "9"))
    ('got: 3', 2026)
    """
    return line if len(line) <= MAX_LINE_LENGTH else f"{line[:MAX_LINE_LENGTH]}... ({len(line):,} characters)"


class TagloomError(Exception):
    """The base of every error that tagloom raises on purpose.

    >>> print(Invalid("port 1 of add has two sources", rule="V2", where="sum.py:12",
    ...               required="one source", got="2", hint="put a merge before it"))
    V2: port 1 of add has two sources (sum.py:12)
      required: one source
      got: 2
      hint: put a merge before it
    """

    default_python: ClassVar[type[Exception] | None] = None
    """The built-in exception from which errors of this class also derive, unless `python` names another."""
    names_function: ClassVar[bool] = False
    """Whether errors of this class name the function of tagloom that the user called."""
    find_called_function: ClassVar[Callable[[], str | None] | None] = None
    """Finds the name of that function; filled by the front end."""

    def __new__(cls, *arguments: Any, python: type[Exception] | None = None, **details: Any) -> Self:
        """Create an error whose class derives from this class and from the built-in exception `python`."""
        python = cls.default_python if python is None else python
        kind: Any = (
            cls
            if python is None or issubclass(cls, python)
            else _JOINED_CLASSES.get((cls, python)) or _join_classes(cls, python)
        )
        error: Self = super(TagloomError, kind).__new__(kind, *arguments)
        return error

    def __init__(
        self,
        message: str,
        *,
        python: type[Exception] | None = None,
        rule: str | None = None,
        where: object = None,
        tag: object = None,
        required: object = None,
        got: object = None,
        hint: str | None = None,
        excerpt: str | None = None,
    ) -> None:
        Exception.__init__(self, message)  # `super()` could be a user's exception, with other parameters
        self.message = message
        self.rule = rule
        self.where = where
        self.tag = tag
        self.required = required
        self.got = got
        self.hint = hint
        self.excerpt = excerpt
        """Lines of the faulty text, with a caret under the culprit."""
        find = type(self).find_called_function
        self.function = find() if find is not None and self.names_function else None
        """The function of tagloom that the user called, if it raised the error."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles name the two classes, since the class derived from them has no name of its own."""
        python = getattr(type(self), "joined_python", None)
        kind = type(self) if python is None else type(self).__bases__[0]
        return _rebuild, (kind, python, self.args), self.__dict__

    def __str__(self) -> str:
        head = self.message
        if self.function is not None and not re.search(rf"\b{re.escape(self.function)}\b", head):
            head = f"{self.function}: {head}"
        head = f"{self.rule}: {head}" if self.rule else head
        if self.where is not None and str(self.where) not in self.message:
            head += f" ({escape_line(str(self.where))})"
        if self.tag is not None:
            head += f" under {escape_line(str(self.tag))}"
        if self.excerpt is not None:
            head += f"\n{self.excerpt}"
        details = (("required", self.required), ("got", self.got), ("hint", self.hint))
        lines = (f"  {label}: {escape_line(str(detail))}" for label, detail in details if detail is not None)
        return "\n".join(map(abbreviate_line, [*escape_controls(head).split("\n"), *lines]))


_JOINED_CLASSES: dict[tuple[Any, Any], Any] = {}


def _join_classes(kind: Any, python: Any) -> Any:
    """A class derived from both, with the name and docstring of the first."""
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    joined_class = type(kind.__name__, (kind, python), {**names, "joined_python": python})
    return _JOINED_CLASSES.setdefault((kind, python), joined_class)


def can_join(kind: type[TagloomError], python: type[BaseException]) -> bool:
    """Whether there can be an error of both classes.

    >>> can_join(Trap, KeyError), can_join(Trap, SystemExit)
    (True, False)
    """
    try:
        return issubclass(python, Exception) and isinstance(kind("", python=python), python)
    except Exception:  # incompatible layouts, or a user's class whose constructor raises
        return False


def _rebuild(kind: type[TagloomError], python: type[Exception] | None, arguments: tuple[Any, ...]) -> TagloomError:
    return kind(*arguments, python=python)


class Usage(TagloomError):
    """The caller's fault: a wrong argument, a name that does not exist, an unknown option."""

    default_python = ValueError
    names_function = True


class Malformed(TagloomError):
    """The text's fault: it cannot be read at all."""

    default_python = ValueError


class Invalid(TagloomError):
    """The program's or the graph's fault, seen before it runs: it breaks a numbered rule."""

    default_python = ValueError
    names_function = True


class Trap(TagloomError):
    """The program's fault, seen while it runs: an operation has no value for its operands."""

    default_python = ValueError


class Exhausted(TagloomError):
    """A limit ended the run."""

    limit: str | None = None
    """The limit that ended the run: the name of a limit of `tl.Limits`; `stack`, the native stack of engine compiled;
    or `interrupt`, Ctrl-C."""


class Deadlock(TagloomError):
    """The run became quiescent before it had all its results."""


class Broken(TagloomError):
    """A graph that breaks the rules was run nevertheless, and something went wrong."""


class Disagreement(TagloomError):
    """Two machines, or two schedules, differ on a program on which they must agree."""


class Crash(TagloomError):
    """Our own fault: it cannot happen on a valid graph. Please report it."""

    program: Any = None
    """The program on which an engine failed, if it is known; its text form is a note of the error."""


def require_class(value: object, required_class: type, *, how: str) -> None:
    """Raise Usage, which is also a TypeError, if a value is not of this class; `how` says how to get one that is."""
    if not isinstance(value, required_class):
        message = f"this is not a {required_class.__name__}"
        raise Usage(message, got=describe_class(value), hint=how, python=TypeError)


def with_article(noun: object) -> str:
    """A noun with its indefinite article.

    >>> with_article("list"), with_article("int"), with_article("uint8")
    ('a list', 'an int', 'a uint8')
    >>> with_article("one ndarray")
    'one ndarray'
    """
    if str(noun).startswith("one "):
        return str(noun)
    return f"{'an' if re.match('[aeio]|u(?!int|ni)', str(noun), re.IGNORECASE) else 'a'} {noun}"


def describe_class(value: object) -> str:
    """The name of the class of a value, with its article.

    >>> describe_class(3), describe_class("")
    ('an int', 'a str')
    """
    return with_article(type(value).__name__)


def plural(number: int, noun: str) -> str:
    """A count with its noun.

    >>> plural(1, "token"), plural(2500, "token")
    ('1 token', '2,500 tokens')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"
