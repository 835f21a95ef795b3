"""Test operands for rows of the op registry: their number, shapes, dtypes and attributes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from random import Random
from typing import Any, TypeAlias

import numpy as np
from support.generators.edges import EDGES
from tagloom.core import dtypes
from tagloom.core.errors import Invalid
from tagloom.core.ops.op import Op, dynamic_size_count, trap_message
from tagloom.core.types import Type
from tagloom.core.value import Value, admit

Attributes: TypeAlias = tuple[tuple[str, Any], ...]
Case: TypeAlias = tuple[str, tuple[Value, ...], Attributes]
"""An op, operands and attributes."""
SHAPES = ((), (3,), (0,), (2, 3), (1, 3), (0, 3), (3, 3), (3, 0))
SOME = (dtypes.int64, dtypes.uint8, dtypes.bool, dtypes.float32, dtypes.float64)

_AXES = (None, 0, -1)
_CHOICES: dict[str, tuple[Any, ...]] = {
    "axis": (0, -1),
    "axes": ((), (0,), (1, 0)),
    "descending": (False, True),
    "dilations": (None, (1,), (2,)),
    "error": ("AssertionError", "KeyError"),
    "full_matrices": (False, True),
    "message": ("", "not so"),
    "mode": ("reduced", "complete"),
    "lower": (False, True),
    "transpose_a": (False, True),
    "unit_diagonal": (False, True),
    "offset": (0, 1, -2),
    "upper": (False, True),
    "dtype": dtypes.ALL,
    "keepdims": (False, True),
    "key": ("::-1", "1", "..., None", "None, 1:", ":, 0", "?:", ":?, None, ::-1", "::?", ":, ?:?"),
    "shape": ((), (3,), (1, 3), (-1,), (0,), (None,), (None, 3), (-1, None), (None, None)),
    "shift": ((1,), (-2,)),
    "side": ("left", "right"),
    "strides": ((1,), (2,)),
}
_OWN: dict[tuple[str, str], tuple[Any, ...]] = {
    **{(name, "axis"): (*_AXES, (0,), ()) for name in ("sum", "prod", "max", "min", "all", "any")},
    **{(name, "axis"): _AXES for name in ("argmax", "argmin", "size")},
    **{(name, "axis"): _AXES for name in ("unique_values", "unique_indices", "inverse_indices", "value_counts")},
    ("roll", "axis"): (None, (0,), (-1,)),
    ("squeeze", "axis"): ((0,), ()),
    ("broadcast_to", "shape"): ((), (3,), (2, 3), (1, 3), (0, 3), (None, 3), (None,), (2, None, None)),
    ("windows", "shape"): ((1,), (2,)),
}


def arities(row: Op, given_: Attributes = ()) -> tuple[int, ...]:
    """The numbers of operands that tests pass to a row with these attributes."""
    if row.arity:
        return (row.arity + dynamic_size_count(row, dict(given_)),)
    return {"gather": (2,), "concat": (2, 3)}.get(row.name, (3,))


def attributes(row: Op) -> Iterator[Attributes]:
    """Every combination of attribute values that tests pass to a row."""
    choices = [_OWN.get((row.name, name), _CHOICES[name]) for name in row.attributes]
    for values in itertools.product(*choices):
        yield tuple(zip(row.attributes, values, strict=True))


def value(shape: tuple[int, ...], dtype: dtypes.DType, seed: int) -> Value:
    """An array of small random integers, valid as indices too, with repeated elements."""
    numbers = np.random.default_rng(seed).integers(-1 if dtype.kind in "if" else 0, 3, size=shape)
    return admit(numbers.astype(dtype.numpy))


def choices(row: Op) -> Iterator[tuple[tuple[tuple[int, ...], ...], list[dtypes.DType], Attributes]]:
    """Combinations of operand shapes, dtypes and attributes, valid and invalid for the row's type rule. Operands that
    hold sizes have no axes."""
    for count, given_ in itertools.product(arities(row), attributes(row)):
        sizes = dynamic_size_count(row, dict(given_))
        for shapes in itertools.product(SHAPES, repeat=count) if count < 3 else zip(*[SHAPES[:5]] * count, strict=True):
            for dtype, other in itertools.product(SOME, (dtypes.int64, dtypes.bool, None)):
                kinds = [dtype, *[other or dtype] * (count - 1), *[other or dtypes.uint8] * sizes]
                yield (*shapes, *[()] * sizes), kinds, given_


def drawn(shapes: Sequence[tuple[int, ...]], kinds: Sequence[dtypes.DType]) -> tuple[Value, ...]:
    """Operands with these shapes and dtypes."""
    return tuple(value(*each, seed) for seed, each in enumerate(zip(shapes, kinds, strict=True)))


def operands(row: Op) -> Iterator[tuple[tuple[Value, ...], Attributes]]:
    """Operands and attributes for every combination in `choices`."""
    for shapes, kinds, given_ in choices(row):
        yield drawn(shapes, kinds), given_


def cases(row: Op, count: int) -> list[Case]:
    """A sample of these combinations, each once with small numbers and once with edge values of the dtype."""
    dice = Random(row.name)
    every = list(choices(row))
    found: list[Case] = []
    for shapes, kinds, attributes in dice.sample(every, min(count, len(every))):
        found.append((row.name, drawn(shapes, kinds), attributes))
        edges = [np.array([dice.choice(EDGES[kind]) for _ in range(int(np.prod(shape)))], kind.numpy).reshape(shape)
                 for shape, kind in zip(shapes, kinds, strict=True)]  # fmt: skip
        found.append((row.name, tuple(admit(each) for each in edges), attributes))
    return found


def edge_cases(row: Op) -> Iterator[Case]:
    """Calls of a row without a trap that have a scalar, or an axis of size 0, among their operands: one for each
    combination of shapes and attributes, with dtypes in turn."""
    seen = set[Any]()
    for shapes, kinds, given_ in Random(row.name).sample(every := list(choices(row)), len(every)):
        if (shapes, given_) in seen or not any(shape == () or 0 in shape for shape in shapes):
            continue
        with suppress(Invalid):
            row.type_rule(*map(Type, kinds, shapes), **dict(given_))
            values = drawn(shapes, kinds)
            if trap_message(row, values, given_) is None:
                seen.add((shapes, given_))
                yield row.name, values, given_
