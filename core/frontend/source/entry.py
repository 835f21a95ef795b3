"""Entry: the Python functions that a trace calls, converted."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType
from typing import Any

from ...errors import TagloomError
from ..trace.annotation import DerivedFunction, PositionalCall
from ..trace.program_builder import current_region
from ..trace.stacked_items import has_stacked_items
from .convert import convert
from .printing import open_line_of_function
from .program_operators import OPERATORS
from .raising import is_raised_after_effects, stage_failure
from .recursion import PythonCall
from .state import staging_depth
from .user_code import is_convertible

__all__ = ["OPERATORS", "convert_callable", "prepare_entry"]


def convert_callable(python: Any) -> Any:
    """A callable with converted code, where it is a function, a method, a `functools.partial` or an instance of a class
    with `__call__` in Python; any other callable unchanged."""
    if type(python) is FunctionType:
        return convert(python) if is_convertible(python) else python
    if type(python) is MethodType and type(python.__func__) is FunctionType:
        return MethodType(convert_callable(python.__func__), python.__self__)
    if type(python) is DerivedFunction:
        return convert_callable(python.implementation)
    if type(python) is PositionalCall:
        return PositionalCall(convert_callable(python.python), python.signature)
    if type(python) is functools.partial:
        return functools.partial(convert_callable(python.func), *python.args, **python.keywords)
    method = type(python).__dict__.get("__call__")
    if type(method) is FunctionType and is_convertible(method):
        return MethodType(convert(method), python)
    return python


def add_list_note(error: Exception, arguments: Iterable[Any]) -> None:
    """Add a note to Python's error for a list that is used as an array: how to make an array of it."""
    is_of_list = isinstance(error, TypeError | AttributeError) and "list" in str(error)
    if is_of_list and not isinstance(error, TagloomError) and any(map(has_stacked_items, arguments)):
        error.add_note("an argument that is a list stays a list; tl.asarray(xs) makes an array of a list of numbers")


def prepare_entry(python: Callable[..., Any]) -> Callable[..., Any]:
    """The body of a function of the program, as its trace calls it: converted, and on the stack of calls, so that a
    call of itself becomes a call of the program."""
    converted = convert_callable(python)
    if isinstance(python, DerivedFunction) and type(python.implementation) is not PositionalCall:
        return converted  # type: ignore[no-any-return]
    code = None if isinstance(python, DerivedFunction) else getattr(python, "__code__", None)

    def run(*arguments: Any, **keywords: Any) -> Any:
        region = current_region()
        assert region is not None, "only a trace prepares a function"
        stack = region.specialization.python_calls
        outer_calls = len(stack)
        if code is not None:
            stack.append(PythonCall(code, staging_depth(), None, (arguments, keywords)))
        with open_line_of_function(region) as end_line:
            try:
                result = converted(*arguments, **keywords)
                end_line()
                return result
            except Exception as error:
                end_line()
                if not is_raised_after_effects(region, error):
                    add_list_note(error, [*arguments, *keywords.values()])
                    raise
                return stage_failure(region, error)
            finally:
                del stack[outer_calls:]

    return run
