"""Rows that do not compute element by element: how many operands and which attributes tests give them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, TypeAlias

from tagloom.core import dtypes
from tagloom.core.op import Op

Attributes: TypeAlias = tuple[tuple[str, Any], ...]

_AXES = (None, 0, -1)
_CHOICES: dict[str, tuple[Any, ...]] = {
    "axis": (0, -1),
    "axes": ((0,), (1, 0)),
    "descending": (False, True),
    "full_matrices": (False, True),
    "mode": ("reduced", "complete"),
    "offset": (0, 1, -2),
    "upper": (False, True),
    "dtype": dtypes.ALL,
    "keepdims": (False, True),
    "key": ("::-1", "1", "..., None", "None, 1:", ":, 0"),
    "shape": ((3,), (1, 3), (-1,)),
    "shift": ((1,), (-2,)),
    "side": ("left", "right"),
    "strides": ((1,), (2,)),
}
_OWN: dict[tuple[str, str], tuple[Any, ...]] = {
    **{(name, "axis"): (*_AXES, (0,)) for name in ("sum", "prod", "max", "min", "all", "any")},
    **{(name, "axis"): _AXES for name in ("argmax", "argmin", "size")},
    ("roll", "axis"): (None, (0,), (-1,)),
    ("squeeze", "axis"): ((0,), ()),
    ("broadcast_to", "shape"): ((3,), (2, 3), (1, 3)),
    ("windows", "shape"): ((1,), (2,)),
}


def arities(row: Op) -> tuple[int, ...]:
    """How many operands are given to a row."""
    return (row.arity,) if row.arity else {"gather": (2,), "concat": (2, 3)}.get(row.name, (3,))


def attributes(row: Op) -> Iterator[Attributes]:
    """The attributes that are given to a row."""
    choices = [_OWN.get((row.name, name), _CHOICES[name]) for name in row.attributes]
    for values in itertools.product(*choices):
        yield tuple(zip(row.attributes, values, strict=True))
