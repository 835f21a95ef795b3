"""Operations of `jax.lax` with random shapes, dimension numbers and options. Some draws break JAX's rules."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np
from jax import lax

Drawn: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function and its arguments."""


def sizes(dice: Random, count: int, most: int = 4, least: int = 1) -> tuple[int, ...]:
    return tuple(dice.randint(least, most) for _ in range(count))


def numbers(dice: Random, shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    return (np.random.RandomState(dice.randrange(2**31)).standard_normal(shape) * 3).astype(dtype)


def some(dice: Random, items: Any, least: int = 0) -> tuple[int, ...]:
    """Some of the items, in order."""
    chosen = list(items)
    return tuple(sorted(dice.sample(chosen, dice.randint(least, len(chosen)))))


def indices(dice: Random, shape: tuple[int, ...]) -> Any:
    """Indices of which some are out of range."""
    return np.random.RandomState(dice.randrange(2**31)).randint(-3, 7, shape).astype(np.int32)


def dot_general(dice: Random) -> Drawn:
    batch, contracted = sizes(dice, dice.randint(0, 2)), sizes(dice, dice.randint(0, 2), 4, 0)
    shapes, roles = [], []
    for _ in range(2):
        parts = [batch, contracted, sizes(dice, dice.randint(0, 2))]
        rank = sum(map(len, parts))
        order = dice.sample(range(rank), rank)
        flat = [size for part in parts for size in part]
        shapes.append(tuple(flat[order.index(axis)] for axis in range(rank)))
        roles.append((tuple(order[len(batch) : len(batch) + len(contracted)]), tuple(order[: len(batch)])))
    dimensions = ((roles[0][0], roles[1][0]), (roles[0][1], roles[1][1]))
    dtype = dice.choice([np.float32, np.int32])
    arguments = tuple(numbers(dice, shape, dtype) for shape in shapes)
    return lambda x, y: lax.dot_general(x, y, dimensions), arguments


def gather(dice: Random) -> Drawn:
    rank = dice.randint(1, 3)
    shape = sizes(dice, rank, 5, 2)
    taken = tuple(dice.randint(1, size) for size in shape)
    collapsed = some(dice, [axis for axis in range(rank) if taken[axis] == 1])
    batch, indexed = sizes(dice, dice.randint(0, 2), 3), tuple(dice.sample(range(rank), dice.randint(0, rank)))
    offsets = tuple(sorted(dice.sample(range(len(batch) + rank - len(collapsed)), rank - len(collapsed))))
    dimensions = lax.GatherDimensionNumbers(offsets, collapsed, indexed)
    mode = dice.choice(["clip", "fill"])
    arguments = numbers(dice, shape), indices(dice, (*batch, len(indexed)))
    return lambda x, i: lax.gather(x, i, dimensions, taken, mode=mode), arguments


def scatter(dice: Random) -> Drawn:
    """With one index at least: XLA applies only the last of the updates where there is none."""
    rank = dice.randint(1, 3)
    shape = sizes(dice, rank, 5, 2)
    indexed = tuple(dice.sample(range(rank), dice.randint(1, rank)))
    inserted, batch = some(dice, range(rank)), sizes(dice, dice.randint(0, 2), 3)
    kept = [axis for axis in range(rank) if axis not in inserted]
    total = len(batch) + len(kept)
    windows = tuple(sorted(dice.sample(range(total), len(kept))))
    parts, window_sizes = iter(batch), iter([dice.randint(1, shape[axis]) for axis in kept])
    updates = tuple(next(window_sizes) if axis in windows else next(parts) for axis in range(total))
    dimensions = lax.ScatterDimensionNumbers(windows, inserted, indexed)
    function = dice.choice([lax.scatter_add, lax.scatter_min, lax.scatter_max, lax.scatter_mul])
    mode = dice.choice(["clip", "drop"])
    arguments = np.round(numbers(dice, shape)), indices(dice, (*batch, len(indexed))), np.round(numbers(dice, updates))
    return lambda x, i, u: function(x, i, u, dimensions, mode=mode), arguments


def convolution(dice: Random) -> Drawn:
    rank, groups = dice.randint(1, 2), dice.choice([1, 1, 2])
    batch_groups = 2 if groups == 1 and dice.random() < 0.3 else 1
    strides, spread, gaps = (sizes(dice, rank, 2) for _ in range(3))
    padding = [(dice.randint(-1, 2), dice.randint(-1, 2)) for _ in range(rank)]
    options = {"lhs_dilation": spread, "rhs_dilation": gaps, "feature_group_count": groups}
    image = (2 * batch_groups, 2 * groups, *sizes(dice, rank, 6, 3))
    kernel = (2 * groups * batch_groups, 2, *sizes(dice, rank, 3))

    def convolve(x: Any, k: Any) -> Any:
        return lax.conv_general_dilated(x, k, strides, padding, batch_group_count=batch_groups, **options)

    return convolve, (numbers(dice, image), numbers(dice, kernel))


def reduce_window(dice: Random) -> Drawn:
    rank = dice.randint(1, 3)
    window, strides, spread, gaps = sizes(dice, rank, 3), *(sizes(dice, rank, 2) for _ in range(3))
    padding = [(dice.randint(0, 2), dice.randint(0, 2)) for _ in range(rank)]
    function, start = dice.choice([(lax.add, 0.0), (lax.max, -np.inf), (lax.min, np.inf), (lax.mul, 1.0)])
    first = np.float32(start)
    return (
        lambda x: lax.reduce_window(x, first, function, window, strides, padding, spread, gaps),
        (numbers(dice, sizes(dice, rank, 5, 2)),),
    )


def pad(dice: Random) -> Drawn:
    shape = sizes(dice, dice.randint(1, 3), 4, dice.choice([0, 1, 1, 1]))
    widths = [(dice.randint(-2, 3), dice.randint(-2, 3), dice.randint(0, 2)) for _ in shape]
    return lambda x: lax.pad(x, np.float32(7), widths), (numbers(dice, shape),)


def broadcast_in_dim(dice: Random) -> Drawn:
    shape = sizes(dice, dice.randint(0, 3), 3)
    rank = len(shape) + dice.randint(0, 2)
    axes = tuple(sorted(dice.sample(range(rank), len(shape))))
    target = list(sizes(dice, rank, 3))
    for axis, size in zip(axes, shape, strict=True):
        target[axis] = size if size > 1 else target[axis]
    return lambda x: lax.broadcast_in_dim(x, tuple(target), axes) * 2 + 1, (numbers(dice, shape),)


def sort(dice: Random) -> Drawn:
    shape = sizes(dice, dice.randint(1, 3), 5)
    axis, keys = dice.randrange(len(shape)), dice.randint(1, 2)
    x, y = (np.round(numbers(dice, shape)) for _ in range(2))
    if dice.random() < 0.3:
        x.flat[0] = np.nan
    return lambda x, y: lax.sort((x, y, x + y), dimension=axis, num_keys=keys), (x, y)


def reduce(dice: Random) -> Drawn:
    """By a function that is none of JAX's; its start is neutral, as XLA requires."""
    shape = sizes(dice, dice.randint(1, 3), 4, dice.choice([0, 1, 1, 1]))
    axes = some(dice, range(len(shape)))
    start = np.float32(0)
    return lambda x: lax.reduce(x, start, lambda a, b: (a + b) * 1.0, axes), (numbers(dice, shape),)


def integers(dice: Random) -> Drawn:
    """Integers, the ends of their range and zero among them."""
    info = np.iinfo(dtype := dice.choice([np.int8, np.int16, np.int32, np.uint8, np.uint32]))
    ends = [info.min, info.max, 0, 1, 2, 3]
    x, y = (np.array([dice.choice([*ends, dice.randint(info.min, info.max)]) for _ in range(8)], dtype) for _ in "xy")
    functions: list[Callable[..., Any]] = [
        *(lax.div, lax.rem, lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic, lax.bitwise_xor),
        *(lax.max, jnp.floor_divide, jnp.remainder),
        *(lambda x, y: lax.population_count(x) + lax.clz(y), lambda x, y: lax.convert_element_type(x, jnp.float32)),
        *(lambda x, y: lax.argmax(x, 0, np.int32), lambda x, y: lax.cumsum(x), lambda x, y: lax.sign(x) * y),
        *(lambda x, y: lax.reduce_xor(x, (0,)), lambda x, y: lax.reduce_and(x, (0,))),
    ]
    return dice.choice(functions), (x, y)


OPERATIONS = (
    *(broadcast_in_dim, convolution, dot_general, gather, integers, pad, reduce, reduce_window, scatter, sort),
)
