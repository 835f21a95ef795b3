"""Random effects: draws from a counter-based generator, which depend only on the seed of the run, the node and the tag.

A draw has a key of 64 bits. Its element i, a scalar being element 0, has the key splitmix64(key, i), and the n-th word
of an element with key e is splitmix64(e, n).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..errors import Invalid
from ..mix import splitmix64
from ..types import MAX_AXES, Shape, Type
from ..value import Value, normalize
from .attribute import format_attribute
from .effect_op import effect_op
from .op import MAX_ELEMENTS

_INT64 = Type(dtypes.int64)


def draw_key(seed: int, node: int, tag: int) -> int:
    """The key of a draw, from the seed of the run and the keys of the node's qualified name and of the tag."""
    return splitmix64(tag ^ node, seed)


def draw_below(key: int, size: int) -> int:
    """A uniform number from 0 below `size`: Lemire's multiplication, with the first word that is not rejected."""
    rejected, number = 2**64 % size, 0
    while True:
        product = splitmix64(key, number) * size
        if product % 2**64 >= rejected:
            return product >> 64
        number += 1


def draw_uniform(key: int) -> float:
    return (splitmix64(key, 0) >> 11) * 2.0**-53


def draw_normal(key: int) -> float:
    """Box and Muller's transform of two words, the first of them in (0, 1]."""
    one = ((splitmix64(key, 0) >> 11) + 1) * 2.0**-53
    other = (splitmix64(key, 1) >> 11) * 2.0**-53
    return math.sqrt(-2.0 * math.log(one)) * math.cos(2.0 * math.pi * other)


def shape_size(shape: tuple[int, ...]) -> int:
    """The number of elements of a shape; raises MemoryError if no array may have as many."""
    if math.prod(filter(None, shape)) > MAX_ELEMENTS:
        raise MemoryError(f"an array of shape {shape}")
    return math.prod(shape)


def draw_array(key: int, shape: tuple[int, ...], draw: Any, type_: Type) -> Value:
    size = shape_size(shape)
    flat = np.fromiter((draw(splitmix64(key, i)) for i in range(size)), type_.dtype.numpy, size)
    return normalize(flat.reshape(shape), type_)


def _check_shape(shape: object) -> Shape:
    fits = isinstance(shape, tuple) and len(shape) <= MAX_AXES
    if isinstance(shape, tuple) and fits and all(type(size) is int and 0 <= size < 2**63 for size in shape):
        return shape
    required = f"sizes, as in shape=[2, 3], {MAX_AXES} at most"
    raise Invalid("this is no shape", required=required, got=format_attribute(shape))


def float_draw_type(shape: Any) -> Type:
    return Type(dtypes.float64, _check_shape(shape))


def integers_type(low: Type, high: Type, shape: Any) -> Type:
    if (low, high) != (_INT64, _INT64):
        raise Invalid("bounds of another type", required="two int64", got=f"{low}, {high}")
    return Type(dtypes.int64, _check_shape(shape))


def draw_integers(key: int, low: Any, high: Any, shape: tuple[int, ...]) -> Value:
    return draw_array(key, shape, lambda each: low + draw_below(each, high - low), _INT64)


def permutation_type(size: Type) -> Type:
    if size != _INT64:
        raise Invalid("a size of another type", required="int64", got=size)
    return Type(dtypes.int64, (None,))


def draw_permutation(key: int, size: Any) -> Value:
    """Fisher and Yates: the last place first, each swapped with one up to it."""
    if size > MAX_ELEMENTS:
        raise MemoryError(f"a permutation of {size} numbers")
    numbers = list(range(size))
    for last in range(size - 1, 0, -1):
        other = draw_below(splitmix64(key, last), last + 1)
        numbers[last], numbers[other] = numbers[other], numbers[last]
    return normalize(np.array(numbers, np.int64), Type(dtypes.int64, (size,)))


uniform = effect_op(
    "uniform",
    arity=0,
    type_rule=float_draw_type,
    attributes=("shape",),
    draw=lambda key, shape: draw_array(key, shape, draw_uniform, Type(dtypes.float64)),
    doc="Uniform numbers from 0 below 1, float64: 53 bits of the first word. `shape` is static; () draws one number.",
)
normal_ = effect_op(
    "normal",
    arity=0,
    type_rule=float_draw_type,
    attributes=("shape",),
    draw=lambda key, shape: draw_array(key, shape, draw_normal, Type(dtypes.float64)),
    doc="Normal numbers of mean 0 and variance 1, float64, by Box and Muller's transform.",
)
integers = effect_op(
    "integers",
    arity=2,
    type_rule=integers_type,
    attributes=("shape",),
    draw=draw_integers,
    trap_reason=lambda low, high: "integers of an empty range" if low >= high else None,
    doc="Uniform integers from `low` below `high`, int64. Traps on an empty range.",
)
permutation = effect_op(
    "permutation",
    arity=1,
    type_rule=permutation_type,
    draw=draw_permutation,
    trap_reason=lambda size: "permutation of fewer than no numbers" if size < 0 else None,
    doc="The numbers from 0 below `n` in random order, int64, uniformly. Traps on a negative n.",
)
