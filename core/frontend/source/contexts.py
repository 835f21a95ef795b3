"""Context managers in converted code: their methods are converted; those that may suppress an exception are known."""

from __future__ import annotations

import contextlib
import dis
import inspect
import sys
from contextvars import ContextVar
from types import FunctionType
from typing import Any, Protocol

from ...errors import Invalid, describe_class
from ..trace.program_builder import current_region
from ..trace.python_operations import hides_fault
from ..trace.source_location import is_installed_file, is_internal_file, user_location
from .user_code import is_convertible

_HARMLESS_CLASSES = (contextlib.nullcontext, contextlib.closing, contextlib.redirect_stdout, contextlib.redirect_stderr)
_HARMLESS_MODULES = ("tagloom", "_thread", "threading", "_io", "io", "tempfile", "decimal", "numpy", "warnings")
"""Modules whose context managers suppress no exception."""
_ACTIVE: ContextVar[tuple[Any, ...]] = ContextVar("active contexts", default=())
"""The context managers of the `with` statements around the code."""


class ContextOperators(Protocol):
    """The operators of converted code that a `with` needs."""

    def call(self, function: Any, /, *arguments: Any, **keywords: Any) -> Any: ...

    def position(self) -> Any: ...

    def check_effects(self, start: Any, middle: Any, lines: Any = None) -> None: ...


class ConvertedContext:
    """A context manager in converted code: calls the methods of another one by these operators."""

    def __init__(self, operators: ContextOperators, manager: Any) -> None:
        self.operators, self.manager = operators, manager

    def __enter__(self) -> Any:
        result = self._perform("__enter__")
        self.token = _ACTIVE.set((*_ACTIVE.get(), self.manager))
        self.start = self.operators.position()
        return result

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> Any:
        _ACTIVE.reset(self.token)
        if kind is not None and kind.__module__.startswith("tagloom"):  # of the trace, which ends or begins anew
            is_suppressed = self.manager.__exit__(kind, error, trace)
        else:
            middle = self.operators.position()
            is_suppressed = self._perform("__exit__", kind, error, trace)
            self.operators.check_effects(self.start, middle)
        region = current_region() if is_suppressed else None
        if region is not None and isinstance(error, Exception) and hides_fault(self._suppressed_classes(), error):
            region.specialization.keep_error(error)
        return is_suppressed

    def _suppressed_classes(self) -> Any:
        """The classes of the exceptions that the manager may suppress; none for managers of libraries for tests."""
        if isinstance(self.manager, contextlib.suppress):
            return self.manager._exceptions  # type: ignore[attr-defined]
        file = getattr(sys.modules.get(type(self.manager).__module__), "__file__", None) or ""
        is_of_library = is_installed_file(file) and type(self.manager).__module__ != "contextlib"
        return () if is_of_library else Exception

    def _perform(self, name: str, *arguments: Any) -> Any:
        method = getattr(type(self.manager), name)
        is_of_user = type(method) is FunctionType and is_convertible(method)
        return self.operators.call(method, self.manager, *arguments) if is_of_user else method(self.manager, *arguments)


def refuse_suppression() -> None:
    """Raises Invalid (F4) where a context manager around the code may suppress an exception, or treats it in a way of
    its own: a symbolic condition decides whether there is one."""
    region = current_region()
    for manager in _ACTIVE.get() if region is not None else ():
        if may_suppress(manager):
            assert region is not None, "without a trace nothing is symbolic"
            refusal = Invalid(
                "a symbolic condition decides whether an exception is raised in a `with` that may suppress it",
                rule="F4",
                where=user_location(),
                got=f"{describe_class(manager)}",
                hint="write `try` and `except` in place of the `with`, or test the condition by an `if`",
            )
            region.specialization.keep_error(refusal)
            raise refusal


def may_suppress(manager: Any) -> bool:
    """Whether a context manager may suppress an exception, or do something else than without one.

    >>> may_suppress(contextlib.nullcontext()), may_suppress(contextlib.suppress(KeyError))
    (False, True)
    """
    if isinstance(manager, contextlib._GeneratorContextManager):
        return not is_internal_file(manager.gen.gi_code.co_filename)  # type: ignore[attr-defined]
    kind = type(manager)
    if kind in _HARMLESS_CLASSES or kind.__module__.partition(".")[0] in _HARMLESS_MODULES:
        return False
    method = kind.__exit__
    return type(method) is not FunctionType or not _ignores_exceptions(method)


def _ignores_exceptions(method: FunctionType) -> bool:
    """Whether an `__exit__` reads none of its arguments but the instance, and returns None or False."""
    code = method.__code__
    collected = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    arguments = set(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount + collected])
    instructions = list(dis.get_instructions(code))
    for position, instruction in enumerate(instructions):
        if instruction.argval in arguments or (
            isinstance(instruction.argval, tuple) and arguments & set(instruction.argval)
        ):
            return False
        last = instructions[position - 1]
        if instruction.opname == "RETURN_VALUE" and not (last.opname.startswith("LOAD_CONST") and not last.argval):
            return False
    return True
