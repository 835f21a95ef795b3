"""Shapes: ops that compute nothing, and say where elements stand. What the standard has besides is made of these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import methodcaller
from typing import Any

import numpy as np

from .. import dtypes
from ..errors import Invalid
from ..types import Type, join_shapes
from .attribute import said
from .axes import BEYOND, Sizes, axes_of, axis_of, check_rank, count, numbers, sizes, static_sizes, stretches, words
from .gradients.shape import RULES
from .op import op
from .rules import promoted


def _broadcast(x: Type, shape: object) -> Type:
    numbers(x)
    wanted = static_sizes(shape)
    if x.shape is not None and not stretches(x.shape, wanted):
        message = f"shape {words(x.shape or ())} does not broadcast to {words(wanted)}"
        raise Invalid(message, required=f"a shape that broadcasts to {said(shape)}", got=x)
    return Type(x.dtype, wanted)


def _broadcast_like(x: Type, y: Type) -> Type:
    numbers(x, y)
    return Type(x.dtype, join_shapes([x.shape, y.shape]))


def _reshaped(x: Type, shape: object) -> Type:
    numbers(x)
    wanted = static_sizes(shape, -1)
    if wanted.count(-1) > 1:
        raise Invalid("only one size is left to be found", required="-1 at most once", got=said(shape))
    have, others = count(x, None), math.prod([size for size in wanted if size != -1])
    rest = None if have is None else have // others if others else 0
    made: Sizes = tuple(rest if size == -1 else size for size in wanted)
    if have is not None and (math.prod(made) != have or (-1 in wanted and others == 0)):  # type: ignore[arg-type]
        message = f"shape {words(x.shape or ())} does not become {words(wanted)}"
        raise Invalid(message, required=f"a shape of {have} elements", got=said(shape))
    return Type(x.dtype, made)


def _reshaped_like(x: Type, y: Type) -> Type:
    numbers(x, y)
    have, wanted = count(x, None), count(y, None)
    if None not in (have, wanted) and have != wanted:
        message = f"shape {words(x.shape or ())} does not become {words(y.shape or ())}"
        raise Invalid(message, required=f"a shape of {have} elements", got=y)
    return Type(x.dtype, y.shape)


def _permuted(x: Type, axes: object) -> Type:
    numbers(x)
    order = axes_of(axes if isinstance(axes, tuple) else (axes,), x)
    if len(order) < len(sizes(x)):
        raise Invalid("an axis is missing", required=f"all {len(sizes(x))} axes", got=f"axes={said(axes)} of {x}")
    return Type(x.dtype, tuple(sizes(x)[axis] for axis in order))


def _squeezed(x: Type, axis: object) -> Type:
    numbers(x)
    gone = axes_of(axis, x)
    wide = [at for at in gone if sizes(x)[at] not in (1, None)]
    if wide:
        message = f"axis {wide[0]} of shape {words(sizes(x))} has another size than 1"
        raise Invalid(message, required="size 1", got=f"axis={said(axis)} of {x}")
    return Type(x.dtype, tuple(size for at, size in enumerate(sizes(x)) if at not in gone))


def _rolled(x: Type, shift: object, axis: object) -> Type:
    numbers(x)
    if axis is not None:
        axes = [axis_of(each, x) for each in (axis if isinstance(axis, tuple) else (axis,))]
    steps = shift if isinstance(shift, tuple) else (shift,)
    are_short = all(type(step) is int and abs(step) < BEYOND for step in steps)
    if not are_short or len(steps) != (1 if axis is None else len(axes)):
        required = f"as many integers as axes, below {BEYOND:,}"
        raise Invalid("a shift for each axis", required=required, got=f"shift={said(shift)}")
    return x


def _concatenated(*operands: Type, axis: object) -> Type:
    if not operands:
        raise Invalid("nothing to concatenate", required="at least one array", got="none")
    numbers(*operands)
    first = sizes(operands[0])
    at = axis_of(axis, operands[0])
    if any(len(sizes(each)) != len(first) for each in operands):
        raise _no_row(operands, at)
    made = []
    for number, along in enumerate(zip(*map(sizes, operands), strict=True)):
        known = {size for size in along if size is not None}
        if number != at and len(known) > 1:
            raise _no_row(operands, at)
        total = None if None in along else sum(along)
        made.append(total if number == at else next(iter(known), None))
    return Type(promoted(operands), tuple(made))


def _no_row(operands: Sequence[Type], axis: int) -> Invalid:
    message = f"shapes {words(*(each.shape or () for each in operands))} do not concatenate along axis {axis}"
    return Invalid(message, required="as many axes, of the same sizes but along that one", got=list(map(str, operands)))


def _windowed(x: Type, shape: object, strides: object) -> Type:
    numbers(x)
    wide, steps = static_sizes(shape, 1), static_sizes(strides, 1)
    have = sizes(x)
    if len(wide) != len(steps) or len(wide) > len(have):
        required = f"as many strides as sizes, {len(have)} at most"
        raise Invalid("windows of other axes", required=required, got=f"{said(shape)} and {said(strides)}")
    kept, along = have[: len(have) - len(wide)], have[len(have) - len(wide) :]
    if any(size is not None and size < width for size, width in zip(along, wide, strict=True)):
        message = f"no window of shape {words(wide)} fits into shape {words(have)}"
        raise Invalid(message, required="windows that are no larger", got=x)
    places = (None if n is None else (n - w) // s + 1 for n, w, s in zip(along, wide, steps, strict=True))
    return Type(x.dtype, check_rank((*kept, *places, *wide)))


def _windows(x: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    every: Any = np.lib.stride_tricks.sliding_window_view(x, shape, tuple(range(-len(shape), 0)))
    return every[(..., *(slice(None, None, step) for step in strides), *[slice(None)] * len(shape))]


def _size(x: Type, axis: object) -> Type:
    numbers(x)
    if axis is not None:
        axis_of(axis, x)
    return Type(dtypes.int64)


def _moved(
    name: str, arity: int | None, types: Any, numpy: Any, attributes: tuple[str, ...], doc: str, **columns: Any
) -> None:
    columns |= {"attributes": attributes, "gradient": RULES.get(name), "doc": doc}
    columns |= {} if arity is None else {"alike": (0, 1)}
    op(name, arity=arity, types=types, numpy=numpy, shape=None, moves=True, **columns)


_moved(
    "broadcast_to",
    1,
    _broadcast,
    np.broadcast_to,
    ("shape",),
    """The elements again and again, so that the shape is `shape`; traps where it does not broadcast to that.

>>> tl.broadcast_to([1, 2], (2, 2)).tolist()
[[1, 2], [1, 2]]
""",
)
op(
    "broadcast_like",
    arity=2,
    types=_broadcast_like,
    numpy=lambda x, y: np.broadcast_to(x, np.broadcast_shapes(np.shape(x), np.shape(y))),
    alike=(0, 1),
    innocuous=True,
    gradient=RULES["broadcast_like"],
    doc="""x in the shape to which x and y broadcast. Of y only the shape counts.

>>> tl.broadcast_like(0.5, [1, 2, 3]).tolist()
[0.5, 0.5, 0.5]
""",
)
_moved(
    "reshape",
    1,
    _reshaped,
    lambda x, shape: np.asarray(x).reshape(shape),
    ("shape",),
    """The elements, in the order of their indices, in another shape; a size of -1 is what is left. Traps where there
are more elements, or fewer.

>>> tl.reshape([1, 2, 3, 4], (2, -1)).tolist()
[[1, 2], [3, 4]]
""",
    static=lambda _, shape: methodcaller("reshape", shape),
)
op(
    "reshape_like",
    arity=2,
    types=_reshaped_like,
    numpy=lambda x, y: np.asarray(x).reshape(np.shape(y)),
    shape=None,
    alike=(0, 1),
    innocuous=True,
    gradient=RULES["reshape_like"],
    doc="""The elements of x, in the order of their indices, in the shape of y. Of y only the shape counts. Traps where
there are more elements, or fewer.

>>> tl.reshape_like([1, 2, 3, 4], [[0, 0], [0, 0]]).tolist()
[[1, 2], [3, 4]]
""",
)
_moved(
    "permute_dims",
    1,
    _permuted,
    lambda x, axes: np.asarray(x).transpose(axes),
    ("axes",),
    """The axes in another order: axis k of the result is axis `axes[k]` of x.

>>> tl.permute_dims([[1, 2, 3]], (1, 0)).tolist()
[[1], [2], [3]]
""",
    static=lambda _, axes: methodcaller("transpose", axes),
)
_moved(
    "squeeze",
    1,
    _squeezed,
    lambda x, axis: np.squeeze(x, axis),
    ("axis",),
    """Without these axes (attribute `axis`), each of which has size 1: else it traps.

>>> tl.squeeze([[1, 2]], 0).tolist()
[1, 2]
""",
)
_moved(
    "roll",
    1,
    _rolled,
    lambda x, shift, axis: np.roll(x, shift, axis),
    ("shift", "axis"),
    """The elements moved on by `shift` places along an axis, those that leave at its end coming in at its beginning;
with `axis` None along all axes, in the order of their indices.

>>> tl.roll([1, 2, 3, 4], 1).tolist()
[4, 1, 2, 3]
""",
)
_moved(
    "concat",
    None,
    _concatenated,
    lambda *arrays, axis: np.concatenate(arrays, axis=axis),
    ("axis",),
    """Arrays one after another along an axis (attribute `axis`; `tl.concat` takes None, too: their elements, in
order). Sizes along the others are the same: else it traps. Dtypes promote.

>>> tl.concat([[1, 2], [3]]).tolist()
[1, 2, 3]
""",
)
_moved(
    "windows",
    1,
    _windowed,
    _windows,
    ("shape", "strides"),
    """Every part of the shape `shape` along the last axes, `strides` apart: as many axes more, for what is in each.
Convolutions are products with these, and pooling the largest or the mean of each. Traps where none fits.

>>> tl.windows([1, 2, 3, 4], (2,), strides=(2,)).tolist()
[[1, 2], [3, 4]]
""",
)
_moved(
    "size",
    1,
    _size,
    lambda x, axis: np.size(x, axis),
    ("axis",),
    """How many elements there are along an axis (attribute `axis`; None: in all), int64.

>>> tl.size([[1, 2, 3]]), tl.size([[1, 2, 3]], axis=0)
(3, 1)
""",
)
