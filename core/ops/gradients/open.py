"""Rules of arrays whose sizes the run decides."""

from __future__ import annotations

from collections.abc import Mapping

from ..op import Gradient
from .index import moving
from .term import Term, adjoints, counted, zero


def _steps(g: Term, z: Term, start: Term, stop: Term, step: Term) -> Term:
    """How many steps lie before each number."""
    numbers = counted(g.size(axis=None)).astype(dtype=g.type.dtype)
    return numbers.multiply_no_nan(g).sum(axis=None, keepdims=False)


def _first(g: Term, z: Term, x: Term) -> Term:
    """Of equal elements it is the first that stands there."""
    return zero(x).reshape(shape=(-1,)).scatter_add(g, x.unique_indices()).reshape_like(x)


RULES: Mapping[str, Gradient] = {
    "arange": adjoints(lambda g, z, start, stop, step: g.sum(axis=None, keepdims=False), None, _steps),
    "repeat": moving("repeat"),
    "unique_values": adjoints(_first),
}
