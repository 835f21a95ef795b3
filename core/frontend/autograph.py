"""Control of conversion: what `tl.autograph` offers. `tl.function` converts Python by itself; see docs/autograph.md."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

from ..errors import Usage
from .trace.annotation import underlying_function
from .trace.program_builder import current_region
from .trace.source_location import explain_unconverted, mark_inline, user_location

_Function = TypeVar("_Function", bound=Callable[..., Any])


def do_not_convert(function: _Function) -> _Function:
    """Mark a Python function, and the functions defined in it, so that `tl.function` runs them unconverted; returns it.

    An `if`, `while` or `for` in it needs conditions that are known while it is traced.

    >>> import tagloom as tl
    >>> @tl.function
    ... @tl.autograph.do_not_convert
    ... def f(n):
    ...     return 1 if n > 0 else 2
    >>> f(1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tagloom.core.errors.Invalid: F1: `x if p else y` needs a concrete value...
    """
    python = underlying_function(function)
    pending: list[CodeType] = [python.__code__]
    for code in pending:  # a worklist: the loop appends to it
        explain_unconverted(code, f"{python.__name__} is marked do_not_convert")
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return function


def inline(function: _Function) -> _Function:
    """Mark a Python function as one whose calls are not calls of the program: its operations are nodes of the caller.
    Returns it.

    >>> import tagloom as tl
    >>> @inline
    ... def square(x):
    ...     return x * x
    >>> [function.name for function in tl.function(lambda x: square(x)).trace(3).program.functions]
    ['function']
    """
    mark_inline(underlying_function(function).__code__)
    return function


def loop_options(*, parallel_iterations: int) -> None:
    """A statement in the body of a `while` or `for`: if the loop is one of the program, at most this many of its
    iterations run at once, as with `tl.while_loop`. In Python it does nothing.

    Raises Usage where a function under trace calls it anywhere else.

    >>> import tagloom as tl
    >>> @tl.function
    ... def power(x, n):
    ...     y = x
    ...     for _ in range(n):
    ...         loop_options(parallel_iterations=1)
    ...         y = y * x
    ...     return y
    >>> power(2, 3), "parallel_iterations=1" in tl.print_program(power.trace(2, 3).program)
    (16, True)
    """
    if current_region() is not None:
        raise Usage(
            "loop_options is not in the body of a loop",
            where=user_location(),
            hint="write it in the body of a while or for, of a function that is converted",
        )


def to_code(function: Any) -> str:
    """The converted code of a Python function, or of a `tl.function`, for reading: each operator begins with `ag__`.

    Raises Usage, in words, where the function cannot be converted.

    >>> def f(n):
    ...     return n if n > 0 else -n
    >>> print(to_code(f))
    def f(n):
        return ag__.if_exp(n > 0, lambda: n, lambda: -n)
    """
    from .source.convert import describe_conversion  # here: import tagloom needs no converter

    return describe_conversion(underlying_function(getattr(function, "_python", function)))
