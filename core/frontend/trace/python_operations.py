"""Operations of Python that tagloom performs for the user's code. What they raise, the user's code raises; any other
exception that comes from tagloom is a fault of tagloom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...errors import TagloomError, Usage
from .source_location import is_installed_file, is_tagloom_file, raising_codes

RAISED_AT = "_tagloom_location"
"""The attribute of an exception that the user's code raises by `raise` or `assert`: the line."""


def perform(operation: Callable[..., Any], /, *operands: Any, **keywords: Any) -> Any:
    """The result of an operation or a function of Python for operands of the user."""
    return operation(*operands, **keywords)


def fail_as_python(error: Exception) -> NoReturn:
    """Raise the exception that Python raises for an operation that tagloom performs in its own way."""
    raise error


_PERFORMING = (perform.__code__, fail_as_python.__code__)


def is_of_user(error: BaseException) -> bool:
    """Whether the user's code raises an exception, perhaps by an operation that tagloom performs for it."""
    codes = raising_codes(error)
    if hasattr(error, RAISED_AT) or isinstance(error, TagloomError):
        return hasattr(error, RAISED_AT) or codes[-1:] == [fail_as_python.__code__]
    for code in reversed(codes):
        if not is_installed_file(code.co_filename):
            return code in _PERFORMING or not is_tagloom_file(code.co_filename)
    return True


def operands_of(error: BaseException) -> tuple[Any, ...]:
    """The operands of the operation that raised an exception; none where tagloom has not performed it."""
    entry, operands = error.__traceback__, ()
    while entry is not None:
        if entry.tb_frame.f_code is perform.__code__:
            names = entry.tb_frame.f_locals
            owner = getattr(names["operation"], "__self__", None)
            operands = owner, *names["operands"], *names["keywords"].values()
        entry = entry.tb_next
    return operands


def hides_fault(classes: Any, error: Exception) -> bool:
    """Whether handlers of these classes catch a refusal or a fault of tagloom, where Python raises nothing. It is no
    refusal if Python raises a TypeError or AttributeError for the value, too; a handler may name a class of tagloom."""
    if is_of_user(error) or (isinstance(error, Usage) and isinstance(error, TypeError | AttributeError)):
        return False
    return _catches(classes, error)


def _catches(classes: Any, error: Exception) -> bool:
    """Whether one of these classes, in tuples within tuples, is a class of Python that catches an error."""
    if isinstance(classes, tuple):
        return any(_catches(part, error) for part in classes)
    return isinstance(error, classes) and not issubclass(classes, TagloomError)
