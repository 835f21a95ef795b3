"""Rows of importers: each defines an operation of another system by a Python function of its operands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ...core.errors import Malformed, TagloomError
from ...core.frontend.trace.source_location import user_location
from .refusals import unsupported


class ForeignRow(Protocol):
    """A row of an importer: the function that computes an operation of another system."""

    @property
    def name(self) -> str: ...

    @property
    def compute(self) -> Callable[..., Any]: ...


def keyword_parameters(compute: Callable[..., Any]) -> frozenset[str]:
    """The names of the keyword parameters of a row's function: the attributes that it takes, and more."""
    parameters = inspect.signature(compute).parameters.values()
    return frozenset(parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY)


def call_row(row: ForeignRow, operands: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """The result of a row, or its results. Raises Malformed if it does not take these operands."""
    try:
        return row.compute(*operands, **keywords)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, TagloomError):
            raise
        details = f"{type(error).__name__}: {error}"
        raise Malformed(f"{row.name} does not take these operands", where=user_location(), got=details) from error
    except MemoryError as error:
        raise unsupported("limit", f"{row.name} needs more memory than there is", got=error) from None


def as_results(result: Any) -> Sequence[Any]:
    """The results of a row, several or one."""
    return result if isinstance(result, tuple | list) else (result,)
