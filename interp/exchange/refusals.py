"""Refusals of programs that cannot be imported, exported or run elsewhere: their kinds, the errors of importers, and
`tl`, the functions from which imported programs are composed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.errors import Malformed, Usage
from ...core.escape import escape_line
from ...core.frontend.trace.source_location import user_location
from ...core.frontend.trace.symbol import array_namespace

tl: Any = array_namespace()
"""The functions from which rows are composed."""
REFUSAL_KINDS = ("construct", "op", "dtype", "shape", "attribute", "kernel", "limit", "trap", "invalid")
"""The kinds of unsupported features: a construct (recursion, effects), an op, a dtype for it, shapes that are known at
run time only, a value of an attribute, an implementation of a pair of op and dtype, a size or number above a limit, or
a way to trap; or the program breaks a rule."""


class Unsupported(Usage):
    """A model needs a feature that tagloom lacks; `kind` is one of REFUSAL_KINDS."""

    kind = "op"
    undetermined_inputs: Sequence[str] = ()
    """The inputs of a model, at least one of which must be a constant so that it can be imported."""


def unsupported(kind: str, message: str, **details: Any) -> Unsupported:
    """The error for a model that cannot be imported. The message, which may have names of the model, stays one line."""
    assert kind in REFUSAL_KINDS, kind
    error = Unsupported(escape_line(message), where=user_location(), **details)
    error.kind = kind
    return error


def require(condition: Any, message: str) -> None:
    """Check a condition on operands: raises Malformed if it is known not to hold; if it is known only at run time, the
    run traps."""
    if not isinstance(condition, bool | np.bool_):
        tl.assert_(condition, message)
    elif not condition:
        raise Malformed(message, where=user_location())
