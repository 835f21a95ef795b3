"""Exceptions of converted functions: `raise` and `assert` where a symbolic condition decides.

An arm of a symbolic branch that raises becomes an assertion of the program that fails, a trap. The value of such an arm
is computed from the assertion, whose firing sends nothing, so what needs it does not run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import Invalid, TagloomError
from ...ops.effects import exception_name
from ...types import HandleType, Type
from ..eager.apply import apply
from ..trace.program_builder import RegionBuilder, TracedOperand, current_region, emit_op, to_operand
from ..trace.source_location import raising_location, user_location

_LOCATION = "_tagloom_location"
"""The attribute of an exception that converted code raises: the line of the `raise`."""
SYMBOL_TEXT = re.compile(r"<symbolic \w+: ")
"""The beginning of the text of a symbol, in `str` and in f-strings."""
_FAILURE = "_tagloom_failure"
"""The attribute of an exception that both arms of a branch raise: what stands for the assertions of both."""
_HANDLER_DEPTH: ContextVar[int] = ContextVar("handler depth", default=0)


def raised(error: Any) -> Any:
    """The exception of a `raise`, marked as one that the function raises on purpose."""
    if isinstance(error, type) and issubclass(error, Exception):
        error = error()
    if isinstance(error, Exception):
        setattr(error, _LOCATION, user_location())
    return error


def is_raised(error: Exception) -> bool:
    """Whether converted code has raised this exception: by `raise` or `assert`, or since it divides a known number by
    zero, looks up a known key or index that is not there, or reads a variable that is not assigned."""
    if hasattr(error, _LOCATION):
        return True
    if isinstance(error, TagloomError) or not isinstance(error, ArithmeticError | LookupError | NameError):
        return False
    setattr(error, _LOCATION, raising_location(error))
    return True


@contextmanager
def handlers() -> Iterator[None]:
    """Surrounds the body of a `try` that has handlers."""
    token = _HANDLER_DEPTH.set(_HANDLER_DEPTH.get() + 1)
    try:
        yield
    finally:
        _HANDLER_DEPTH.reset(token)


def stage_assertion(condition: Any, error: Exception) -> Any:
    """Add an assertion to the program under trace, which traps with this exception. Returns its result.

    Raises Invalid (F4) in a `try` with handlers, which a trap does not reach, and for a message with symbolic parts.
    """
    where, region = getattr(error, _LOCATION, None) or user_location(), current_region()
    if _HANDLER_DEPTH.get() and region is not None:
        refusal = Invalid(
            f"a symbolic condition decides whether {type(error).__name__} is raised in a `try`",
            rule="F4",
            where=where,
            hint="write the condition as an `if` in place of the `try`: a program does not handle exceptions",
        )
        region.specialization.deferred_error = refusal  # raised after the trace, since a handler may catch it here
        raise refusal
    message = str(error.args[0]) if len(error.args) == 1 else str(error)
    if SYMBOL_TEXT.search(message):
        raise Invalid(
            f"the message of {type(error).__name__} is symbolic",
            rule="F4",
            where=where,
            required="a text that is known while tracing",
            hint="the trap shows the operands; tl.print prints values when the program runs",
        )
    return apply("assert", condition, error=exception_name(type(error)), message=message)


def stage_failure(region: RegionBuilder, error: Any) -> Any:
    """The result of an assertion that fails with this exception, in the region of an arm that raises it."""
    failure = getattr(error, _FAILURE, None)
    if failure is not None:  # both arms of a branch in this region raise
        return failure
    failure = stage_assertion(False, error)
    region.nodes[-1] = replace(region.nodes[-1], location=getattr(error, _LOCATION, None) or region.nodes[-1].location)
    return failure


def raise_from_here(region: RegionBuilder, failure: Any, error: Any) -> Any:
    """Both arms of a branch in this region raise. In the arm of a branch, this ends that arm; at the outermost level of
    a function, the result stands for all that follows."""
    if region.parent is None:
        return failure
    setattr(error, _FAILURE, failure)
    raise error


def unreached_operand(failure: Any, type_: Type) -> TracedOperand:
    """A value of this type that is computed from an assertion that fails, so never."""
    if isinstance(type_.dtype, HandleType):
        size = apply("where", failure, 0, 0)
        region = current_region()
        assert region is not None, "an arm is part of a trace"
        return emit_op(region, "cells", [to_operand(size)], (("element", type_.dtype.element),))
    zeros = np.zeros([size or 0 for size in type_.shape or ()], type_.dtype.numpy)
    return to_operand(apply("where", failure, zeros, zeros))
