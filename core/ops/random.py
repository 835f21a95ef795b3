"""Random numbers from a counter-based generator.

A random effect draws by the seed of the run, the node and the tag. An op NAME_at draws by its operands: a seed, and the
number of the draw, which the program counts. With the same key both draw the same numbers.

A draw has a key of 64 bits. Its element i, a scalar being element 0, has the key splitmix64(key, i), and the n-th word
of an element with key e is splitmix64(e, n).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..errors import Invalid
from ..hashing import MASK64, splitmix64
from ..types import Type
from ..value import Value, normalize
from .effects import EffectOp, effect_op
from .op import MAX_ELEMENTS, TrapCondition, dynamic_size_count, op
from .type_rules import SHAPE_SIZES, check_sizes

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
    radius_number = ((splitmix64(key, 0) >> 11) + 1) * 2.0**-53
    angle_number = (splitmix64(key, 1) >> 11) * 2.0**-53
    return math.sqrt(-2.0 * math.log(radius_number)) * math.cos(2.0 * math.pi * angle_number)


def shape_size(shape: tuple[int, ...]) -> int:
    """The number of elements of a shape; raises MemoryError if no array may have as many."""
    if math.prod(filter(None, shape)) > MAX_ELEMENTS:
        raise MemoryError(f"an array of shape {shape}")
    return math.prod(shape)


def draw_array(key: int, shape: tuple[int, ...], draw: Any, type_: Type) -> Value:
    size = shape_size(shape)
    flat = np.fromiter((draw(splitmix64(key, i)) for i in range(size)), type_.dtype.numpy, size)
    return normalize(flat.reshape(shape), type_)


def draw_words(key: int, size: int, number: int) -> npt.NDArray[np.uint64]:
    """The word of this number of each element of a draw."""
    keys = splitmix64_array(np.full(size, key, np.uint64), np.arange(size, dtype=np.uint64))
    words: npt.NDArray[np.uint64] = splitmix64_array(keys, np.uint64(number))
    return words


def draw_uniform_array(key: int, shape: tuple[int, ...]) -> Value:
    """The same as `draw_uniform` for each element: 0.02 us instead of 2."""
    if not shape:
        return draw_uniform(splitmix64(key, 0))
    numbers = (draw_words(key, shape_size(shape), 0) >> np.uint64(11)) * 2.0**-53
    return normalize(numbers.reshape(shape), Type(dtypes.float64))


def draw_normal_array(key: int, shape: tuple[int, ...]) -> Value:
    """The same as `draw_normal` for each element. NumPy's logarithms and cosines may have different bits than
    Python's."""
    if not shape:
        return draw_normal(splitmix64(key, 0))
    size = shape_size(shape)
    radius_numbers = ((draw_words(key, size, 0) >> np.uint64(11)) + np.uint64(1)) * 2.0**-53
    angles = 2.0 * math.pi * ((draw_words(key, size, 1) >> np.uint64(11)) * 2.0**-53)
    pairs = zip(radius_numbers.tolist(), angles.tolist(), strict=True)
    numbers = [math.sqrt(-2.0 * math.log(radius_number)) * math.cos(angle) for radius_number, angle in pairs]
    return normalize(np.array(numbers, np.float64).reshape(shape), Type(dtypes.float64))


def float_draw_type(shape: Any) -> Type:
    return Type(dtypes.float64, check_sizes(shape, bound=2**63))


def integers_type(low: Type, high: Type, shape: Any) -> Type:
    if (low, high) != (_INT64, _INT64):
        raise Invalid("the bounds have the wrong type", required="two int64", got=f"{low}, {high}", python=TypeError)
    return Type(dtypes.int64, check_sizes(shape, bound=2**63))


def draw_integers(key: int, low: Any, high: Any, shape: tuple[int, ...]) -> Value:
    return draw_array(key, shape, lambda element_key: low + draw_below(element_key, high - low), _INT64)


def permutation_type(size: Type) -> Type:
    if size != _INT64:
        hint = "tl.take(x, tl.permutation(len(x))) shuffles an array" if size.shape else None
        raise Invalid("the size has the wrong type", required="int64", got=size, hint=hint, python=TypeError)
    return Type(dtypes.int64, (None,))


def draw_permutation(key: int, size: Any) -> Value:
    """The Fisher-Yates shuffle, from the last position to the first."""
    if size > MAX_ELEMENTS:
        raise MemoryError(f"a permutation of {size} numbers")
    numbers = list(range(size))
    for last in range(size - 1, 0, -1):
        drawn = draw_below(splitmix64(key, last), last + 1)
        numbers[last], numbers[drawn] = numbers[drawn], numbers[last]
    return normalize(np.array(numbers, np.int64), Type(dtypes.int64, (size,)))


uniform = effect_op(
    "uniform",
    arity=0,
    type_rule=float_draw_type,
    attributes=("shape",),
    dynamic_sizes=SHAPE_SIZES,
    draw=draw_uniform_array,
    doc="Uniform numbers from 0 below 1, float64: 53 bits of the first word. Sizes of `shape` may be operands; () "
    "draws one number.",
)
normal_ = effect_op(
    "normal",
    arity=0,
    type_rule=float_draw_type,
    attributes=("shape",),
    dynamic_sizes=SHAPE_SIZES,
    draw=draw_normal_array,
    doc="Normal numbers of mean 0 and variance 1, float64, by Box and Muller's transform.",
)
integers = effect_op(
    "integers",
    arity=2,
    type_rule=integers_type,
    attributes=("shape",),
    dynamic_sizes=SHAPE_SIZES,
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


def count_key(seed: int, count: int) -> int:
    """The key of the `count`-th draw of a seed."""
    return splitmix64(splitmix64(int(seed) & MASK64, 0), int(count) & MASK64)


def counted_draw_type(row: EffectOp, seed: Type, count: Type, *operands: Type, **attributes: Any) -> Type:
    if (seed, count) != (_INT64, _INT64):
        raise Invalid("the seed or the count is not of int64", required="two int64", got=f"{seed}, {count}")
    sizes = (_INT64,) * dynamic_size_count(row, attributes)  # sizes: `check_dynamic_sizes` has checked them
    return row.type_rule(*operands, *sizes, **attributes)


def draw_by_count(row: EffectOp, seed: Any, count: Any, *operands: Any, **attributes: Any) -> Value:
    """The draw that the effect of this row makes with the same key."""
    assert row.draw is not None
    return row.draw(count_key(seed, count), *map(int, operands), **attributes)


def splitmix64_array(seeds: Any, numbers: Any) -> Any:
    """`splitmix64` of each pair of elements."""
    with np.errstate(over="ignore"):
        z = seeds + (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def draw_by_count_op(row: EffectOp, doc: str, trap_condition: TrapCondition | None = None) -> None:
    """Declare the op that draws by count what a random effect draws by the key of its tag."""
    assert row.arity is not None
    arity = 2 + row.arity
    op(
        f"{row.name}_at",
        arity=arity,
        type_rule=partial(counted_draw_type, row),
        numpy=partial(draw_by_count, row),
        attributes=row.attributes,
        dynamic_sizes=row.dynamic_sizes,
        shape_rule=None,
        same_dtype_operands=(arity, arity),
        trap_condition=trap_condition,
        doc=doc,
    )


draw_by_count_op(
    uniform,
    """Uniform numbers from 0 below 1, float64: the `count`-th draw of a seed, both int64. Sizes of `shape` may be
operands. `tl.Generator` counts.

>>> tl.uniform_at(7, 0) < 1.0
True
""",
)
draw_by_count_op(
    normal_,
    """Normal numbers of mean 0 and variance 1, float64: the `count`-th draw of a seed, both int64. Sizes of
`shape` may be operands. `tl.Generator` counts.

>>> tl.normal_at(7, 0, shape=(2, 3)).shape
(2, 3)
""",
)
draw_by_count_op(
    integers,
    """Uniform integers from `low` below `high`, int64: the `count`-th draw of a seed, all int64. Sizes of `shape` may
be operands. Traps on an empty range. `tl.Generator` counts.

>>> tl.integers_at(7, 0, 5, 6)
5
""",
    trap_condition=TrapCondition(lambda seed, count, low, high, shape: low >= high, "integers of an empty range"),
)
draw_by_count_op(
    permutation,
    """The numbers from 0 below `n`, int64, in random order: the `count`-th draw of a seed, all int64. Traps on a
negative n. `tl.Generator` counts.

>>> sorted(tl.permutation_at(7, 0, 4).tolist())
[0, 1, 2, 3]
""",
    trap_condition=TrapCondition(lambda seed, count, size: size < 0, "permutation of fewer than no numbers"),
)
