"""Shared parts of the importers of foreign programs: the functions from which imported programs are composed, and the
errors for features that tagloom lacks."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ...core.errors import Malformed, TagloomError, Usage
from ...core.frontend.trace.source_location import user_location
from ...core.frontend.trace.symbol import array_namespace
from .export.walker import REFUSAL_KINDS

tl: Any = array_namespace()
"""The functions from which rows are composed."""


class ForeignRow(Protocol):
    """A row of an importer: what an operation of another system computes."""

    @property
    def name(self) -> str: ...

    @property
    def compute(self) -> Callable[..., Any]: ...


class Unsupported(Usage):
    """A model needs a feature that tagloom lacks; `kind` is one of REFUSAL_KINDS."""

    kind = "op"
    undetermined: Sequence[str] = ()
    """The inputs of a model, at least one of which must be a constant so that it can be imported."""


def unsupported(kind: str, message: str, **details: Any) -> Unsupported:
    """The error for a model that cannot be imported."""
    assert kind in REFUSAL_KINDS, kind
    error = Unsupported(message, where=user_location(), **details)
    error.kind = kind
    return error


def require(condition: Any, message: str) -> None:
    """Check a condition on operands: raises Malformed if it is known not to hold; if it is known only at run time, the
    run traps."""
    if not isinstance(condition, bool | np.bool_):
        tl.assert_(condition, message)
    elif not condition:
        raise Malformed(message, where=user_location())


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


def identifier(name: str, default: str) -> str:
    """A foreign name as an identifier.

    >>> identifier("layer.0/weight", "constant"), identifier("", "constant")
    ('layer_0_weight', 'constant')
    """
    text = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name).strip("_")[:40]
    is_name = text.isidentifier() and not keyword.iskeyword(text)
    return text if is_name else f"{default}_{text}" if text else default
