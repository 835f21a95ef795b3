"""Rules of arrays whose sizes the run decides."""

from __future__ import annotations

from collections.abc import Mapping

from ..op import Gradient
from .index import movement_rule
from .term import Term, adjoint_rule, iota, zeros_like


def _arange_step_adjoint(g: Term, z: Term, start: Term, stop: Term, step: Term) -> Term:
    """How many steps lie before each number."""
    numbers = iota(g.size(axis=None)).astype(dtype=g.type.dtype)
    return numbers.multiply_no_nan(g).sum(axis=None, keepdims=False)


def _unique_values_adjoint(g: Term, z: Term, x: Term) -> Term:
    """Of equal elements it is the first that stands there."""
    return zeros_like(x).reshape(shape=(-1,)).scatter_add(g, x.unique_indices()).reshape_like(x)


RULES: Mapping[str, Gradient] = {
    "arange": adjoint_rule(
        lambda g, z, start, stop, step: g.sum(axis=None, keepdims=False), None, _arange_step_adjoint
    ),
    "repeat": movement_rule("repeat"),
    "unique_values": adjoint_rule(_unique_values_adjoint),
}
