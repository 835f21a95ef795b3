"""Random numbers by count: pure ops whose operands are a seed and the number of the draw, which the program counts.

Random effects use the seed of the run and the tag instead; with the same key both draw the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..errors import Invalid
from ..mix import MASK64, splitmix64
from ..types import Type
from ..value import Value
from . import random
from .effect_op import EffectOp
from .op import TrapCondition, op

_INT64 = Type(dtypes.int64)


def count_key(seed: int, count: int) -> int:
    """The key of the `count`-th draw of a seed."""
    return splitmix64(splitmix64(int(seed) & MASK64, 0), int(count) & MASK64)


def counted_draw_type(row: EffectOp, seed: Type, count: Type, *operands: Type, **attributes: Any) -> Type:
    given = (seed, count, *operands)
    if any(type_ != _INT64 for type_ in given):
        raise Invalid("seeds, counts and bounds are int64", required="int64", got=", ".join(map(str, given)))
    return row.type_rule(*operands, **attributes)


def draw_uniform_array(seed: Any, count: Any, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    size = random.shape_size(shape)
    keys = splitmix64_array(np.full(size, count_key(seed, count), np.uint64), np.arange(size, dtype=np.uint64))
    numbers: npt.NDArray[np.float64] = (splitmix64_array(keys, np.uint64(0)) >> np.uint64(11)) * 2.0**-53
    return numbers.reshape(shape)


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


def draw_by_count_op(
    row: EffectOp, doc: str, numpy: Callable[..., Any] | None = None, trap_condition: TrapCondition | None = None
) -> None:
    """Declare the op that draws by count what a random effect draws by the key of its tag."""
    assert row.arity is not None
    arity = 2 + row.arity
    op(
        f"{row.name}_at",
        arity=arity,
        type_rule=partial(counted_draw_type, row),
        numpy=numpy or partial(draw_by_count, row),
        attributes=row.attributes,
        shape_rule=None,
        same_dtype_operands=(arity, arity),
        trap_condition=trap_condition,
        doc=doc,
    )


draw_by_count_op(
    random.uniform,
    """Uniform numbers from 0 below 1, float64: the `count`-th draw of a seed, both int64. `shape` is static.
`tl.Generator` counts.

>>> tl.uniform_at(7, 0) < 1.0
True
""",
    numpy=draw_uniform_array,
)
draw_by_count_op(
    random.normal_,
    """Normal numbers of mean 0 and variance 1, float64: the `count`-th draw of a seed, both int64. `shape` is
static. `tl.Generator` counts.

>>> tl.normal_at(7, 0, shape=(2, 3)).shape
(2, 3)
""",
)
draw_by_count_op(
    random.integers,
    """Uniform integers from `low` below `high`, int64: the `count`-th draw of a seed, all int64. `shape` is static.
Traps on an empty range. `tl.Generator` counts.

>>> tl.integers_at(7, 0, 5, 6)
5
""",
    trap_condition=TrapCondition(lambda seed, count, low, high, shape: low >= high, "integers of an empty range"),
)
draw_by_count_op(
    random.permutation,
    """The numbers from 0 below `n`, int64, in random order: the `count`-th draw of a seed, all int64. Traps on a
negative n. `tl.Generator` counts.

>>> sorted(tl.permutation_at(7, 0, 4).tolist())
[0, 1, 2, 3]
""",
    trap_condition=TrapCondition(lambda seed, count, size: size < 0, "permutation of fewer than no numbers"),
)
