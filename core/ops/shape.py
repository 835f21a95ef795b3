"""Shapes: ops that only move elements. Other functions of the standard are composed of these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import add, methodcaller
from typing import Any

import numpy as np

from .. import dtypes
from ..errors import Invalid
from ..types import Type, broadcast_shape
from .gradient_rules import Term, adjoint_rule, movement_rule
from .op import OpBuilder, Stacking, op
from .type_rules import (
    ATTRIBUTE_INTEGER_BOUND,
    SHAPE_SIZES,
    Sizes,
    can_broadcast,
    check_numeric,
    check_rank,
    check_sizes,
    check_static_sizes,
    describe_shapes,
    element_count,
    fill_shape,
    format_attribute,
    promote_operands,
    require_sizes,
    resolve_axes,
    resolve_axis,
)


def broadcast_to_type(x: Type, shape: object) -> Type:
    check_numeric(x)
    sizes = check_sizes(shape)
    if x.shape is not None and not can_broadcast(x.shape, sizes):
        message = f"shape {describe_shapes(x.shape or ())} does not broadcast to {describe_shapes(sizes)}"
        raise Invalid(message, required=f"a shape that broadcasts to {format_attribute(shape)}", got=x)
    return Type(x.dtype, sizes)


def broadcast_like_type(x: Type, y: Type) -> Type:
    check_numeric(x, y)
    return Type(x.dtype, broadcast_shape([x.shape, y.shape]))


def reshape_type(x: Type, shape: object) -> Type:
    check_numeric(x)
    requested = check_sizes(shape, -1)
    if None in requested:
        return Type(x.dtype, tuple(None if size == -1 else size for size in requested))
    if requested.count(-1) > 1:
        raise Invalid("more than one size is -1", required="-1 at most once", got=format_attribute(shape))
    count, known_size = element_count(x, None), math.prod([size or 0 for size in requested if size != -1])
    inferred_size = None if count is None else count // known_size if known_size else 0
    sizes: Sizes = tuple(inferred_size if size == -1 else size for size in requested)
    if count is not None and (math.prod(sizes) != count or (-1 in requested and known_size == 0)):  # type: ignore[arg-type]
        message = f"shape {describe_shapes(x.shape or ())} does not become {describe_shapes(requested)}"
        raise Invalid(message, required=f"a shape of {count} elements", got=format_attribute(shape))
    return Type(x.dtype, sizes)


def reshape_like_type(x: Type, y: Type) -> Type:
    check_numeric(x, y)
    count, target_count = element_count(x, None), element_count(y, None)
    if None not in (count, target_count) and count != target_count:
        message = f"shape {describe_shapes(x.shape or ())} does not become {describe_shapes(y.shape or ())}"
        raise Invalid(message, required=f"a shape of {count} elements", got=y)
    return Type(x.dtype, y.shape)


def permute_dims_type(x: Type, axes: object) -> Type:
    check_numeric(x)
    order = resolve_axes(axes if isinstance(axes, tuple) else (axes,), x)
    if len(order) < len(require_sizes(x)):
        raise Invalid(
            "an axis is missing",
            required=f"all {len(require_sizes(x))} axes",
            got=f"axes={format_attribute(axes)} of {x}",
        )
    return Type(x.dtype, tuple(require_sizes(x)[axis] for axis in order))


def squeeze_type(x: Type, axis: object) -> Type:
    check_numeric(x)
    axes = resolve_axes(axis, x)
    wide = [position for position in axes if require_sizes(x)[position] not in (1, None)]
    if wide:
        message = f"axis {wide[0]} of shape {describe_shapes(require_sizes(x))} has another size than 1"
        raise Invalid(message, required="size 1", got=f"axis={format_attribute(axis)} of {x}")
    return Type(x.dtype, tuple(size for position, size in enumerate(require_sizes(x)) if position not in axes))


def roll_type(x: Type, shift: object, axis: object) -> Type:
    check_numeric(x)
    if axis is not None:
        axes = [resolve_axis(axis_, x) for axis_ in (axis if isinstance(axis, tuple) else (axis,))]
    steps = shift if isinstance(shift, tuple) else (shift,)
    are_short = all(type(step) is int and abs(step) < ATTRIBUTE_INTEGER_BOUND for step in steps)
    if not are_short or len(steps) != (1 if axis is None else len(axes)):
        required = f"as many integers as axes, below {ATTRIBUTE_INTEGER_BOUND:,}"
        raise Invalid(
            "the number of shifts is not the number of axes", required=required, got=f"shift={format_attribute(shift)}"
        )
    return x


def concat_type(*operands: Type, axis: object) -> Type:
    if not operands:
        raise Invalid("nothing to concatenate", required="at least one array", got="none")
    check_numeric(*operands)
    first = require_sizes(operands[0])
    position = resolve_axis(axis, operands[0])
    if any(len(require_sizes(operand)) != len(first) for operand in operands):
        raise _concat_error(operands, position)
    sizes = []
    for number, axis_sizes in enumerate(zip(*map(require_sizes, operands), strict=True)):
        fixed_sizes = {size for size in axis_sizes if size is not None}
        if number != position and len(fixed_sizes) > 1:
            raise _concat_error(operands, position)
        total = None if None in axis_sizes else sum(axis_sizes)
        sizes.append(total if number == position else next(iter(fixed_sizes), None))
    return Type(promote_operands(operands), tuple(sizes))


def _concat_error(operands: Sequence[Type], axis: int) -> Invalid:
    message = (
        f"shapes {describe_shapes(*(operand.shape or () for operand in operands))} do not concatenate along axis {axis}"
    )
    return Invalid(
        message,
        required="the same number of axes, and the same sizes except along that axis",
        got=" and ".join(map(str, operands)),
    )


def windows_type(x: Type, shape: object, strides: object, dilations: object = None) -> Type:
    check_numeric(x)
    window, steps = check_static_sizes(shape, 1), check_static_sizes(strides, 1)
    spacings = (1,) * len(window) if dilations is None else check_static_sizes(dilations, 1)
    sizes = require_sizes(x)
    if not len(window) == len(steps) == len(spacings) or len(window) > len(sizes):
        attributes = (shape, strides) if dilations is None else (shape, strides, dilations)
        noun = "strides" if dilations is None else "strides and dilations"
        required = f"as many {noun} as sizes, {len(sizes)} at most"
        message = f"the sizes and the {noun} of windows do not match"
        raise Invalid(message, required=required, got=" and ".join(map(format_attribute, attributes)))
    extent = window_extent(window, spacings)
    leading, axis_sizes = sizes[: len(sizes) - len(window)], sizes[len(sizes) - len(window) :]
    if any(size is not None and size < width for size, width in zip(axis_sizes, extent, strict=True)):
        message = f"no window of shape {describe_shapes(extent)} fits into shape {describe_shapes(sizes)}"
        raise Invalid(message, required="windows that are not larger than the array", got=x)
    counts = (None if n is None else (n - w) // s + 1 for n, w, s in zip(axis_sizes, extent, steps, strict=True))
    return Type(x.dtype, check_rank((*leading, *counts, *window)))


def window_extent(shape: Sequence[int], dilations: Sequence[int]) -> tuple[int, ...]:
    """The sizes of the part of an array over which a window spreads.

    >>> window_extent((3, 2), (1, 4))
    (3, 5)
    """
    return tuple((size - 1) * spacing + 1 for size, spacing in zip(shape, dilations, strict=True))


def windows_array(
    x: Any, shape: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...] | None = None
) -> Any:
    spacings = dilations or (1,) * len(shape)
    all_windows: Any = np.lib.stride_tricks.sliding_window_view(
        x, window_extent(shape, spacings), tuple(range(-len(shape), 0))
    )
    return all_windows[(..., *(slice(None, None, step) for step in (*strides, *spacings)))]


def size_type(x: Type, axis: object) -> Type:
    check_numeric(x)
    if axis is not None:
        resolve_axis(axis, x)
    return Type(dtypes.int64)


def permute_dims_adjoint(g: Term, z: Term, x: Term, axes: Any) -> Term:
    order = [resolve_axis(axis, x.type) for axis in (axes if isinstance(axes, tuple) else (axes,))]
    return g.permute_dims(axes=tuple(order.index(axis) for axis in range(len(order))))


def roll_adjoint(g: Term, z: Term, x: Term, shift: Any, axis: Any) -> Term:
    return g.roll(shift=tuple(-step for step in shift) if isinstance(shift, tuple) else -shift, axis=axis)


def concat_gradient(builder: OpBuilder, index: int, adjoint: Any, result: Any, *operands: Any, axis: int) -> Any:
    """The adjoint of an operand is its part of the result's adjoint; where sizes are unknown, its position is computed
    at run time."""
    position = resolve_axis(axis, builder.type(operands[0]))
    parts = [Term(builder, operand) for operand in operands[: index + 1]]
    widths = [require_sizes(part.type)[position] for part in parts]

    def part(g: Term, z: Term, *_: Term, axis: int) -> Term:
        if None not in widths:
            start = sum(filter(None, widths[:-1]))
            return g.index(key=f"{':, ' * position}{start}:{start + (widths[-1] or 0)}")
        ends = [
            reduce(add, (part_.size(axis=position) for part_ in parts[:count])) for count in (index, index + 1) if count
        ]
        return g.take(g.op("arange", ends[0] if index else 0, ends[-1], 1), axis=position)

    return adjoint_rule(part)(builder, index, adjoint, result, *operands, axis=axis)


def concat_stacking(*operands: Type, axis: int) -> Stacking:
    ranks = tuple(len(require_sizes(operand)) for operand in operands)
    return Stacking(ranks, {"axis": resolve_axis(axis, operands[0]) + 1}, broadcasts=False)


def permute_dims_stacking(x: Type, axes: Any) -> Stacking:
    order = resolve_axes(axes if isinstance(axes, tuple) else (axes,), x)
    return Stacking((len(order),), {"axes": (0, *(axis + 1 for axis in order))})


def broadcast_like_stacking(x: Type, y: Type) -> Stacking:
    return Stacking((len(require_sizes(broadcast_like_type(x, y))),) * 2)


def movement_op(
    name: str, arity: int | None, types: Any, numpy: Any, attributes: tuple[str, ...], doc: str, **columns: Any
) -> None:
    columns |= {"attributes": attributes, "doc": doc}
    columns |= {} if arity is None else {"same_dtype_operands": (0, 1)}
    op(name, arity=arity, type_rule=types, numpy=numpy, shape_rule=None, is_data_movement=True, **columns)


movement_op(
    "broadcast_to",
    1,
    broadcast_to_type,
    np.broadcast_to,
    ("shape",),
    """x broadcast to the shape `shape`; traps if it does not broadcast. Sizes may be operands.

>>> tl.broadcast_to([1, 2], (2, 2)).tolist()
[[1, 2], [1, 2]]
""",
    dynamic_sizes=SHAPE_SIZES,
    gradient=adjoint_rule(lambda g, z, x, *sizes, shape: g.sum_like(x)),
)
op(
    "broadcast_like",
    arity=2,
    type_rule=broadcast_like_type,
    numpy=lambda x, y: np.broadcast_to(x, np.broadcast_shapes(np.shape(x), np.shape(y))),
    stacking=broadcast_like_stacking,
    same_dtype_operands=(0, 1),
    has_innocuous_rounding=True,
    gradient=adjoint_rule(lambda g, z, x, y: g.sum_like(x), None),
    doc="""x broadcast to the shape of x and y together. Only the shape of y counts.

>>> tl.broadcast_like(0.5, [1, 2, 3]).tolist()
[0.5, 0.5, 0.5]
""",
)
movement_op(
    "reshape",
    1,
    reshape_type,
    lambda x, shape: np.asarray(x).reshape(shape),
    ("shape",),
    """The elements, in the order of their indices, in another shape; a size of -1 is inferred. Traps if the number of
elements differs. Sizes may be operands.

>>> tl.reshape([1, 2, 3, 4], (2, -1)).tolist()
[[1, 2], [3, 4]]
""",
    specialize_numpy=lambda _, shape: methodcaller("reshape", shape),
    dynamic_sizes=replace(SHAPE_SIZES, fill=partial(fill_shape, minimum=-1)),
    gradient=adjoint_rule(lambda g, z, x, *sizes, shape: g.reshape_like(x)),
)
op(
    "reshape_like",
    arity=2,
    type_rule=reshape_like_type,
    numpy=lambda x, y: np.asarray(x).reshape(np.shape(y)),
    shape_rule=None,
    same_dtype_operands=(0, 1),
    has_innocuous_rounding=True,
    gradient=adjoint_rule(lambda g, z, x, y: g.reshape_like(x), None),
    doc="""The elements of x, in the order of their indices, in the shape of y. Only the shape of y counts. Traps if the
number of elements differs.

>>> tl.reshape_like([1, 2, 3, 4], [[0, 0], [0, 0]]).tolist()
[[1, 2], [3, 4]]
""",
)
movement_op(
    "permute_dims",
    1,
    permute_dims_type,
    lambda x, axes: np.asarray(x).transpose(axes),
    ("axes",),
    """The axes in another order: axis k of the result is axis `axes[k]` of x.

>>> tl.permute_dims([[1, 2, 3]], (1, 0)).tolist()
[[1], [2], [3]]
""",
    specialize_numpy=lambda _, axes: methodcaller("transpose", axes),
    stacking=permute_dims_stacking,
    gradient=adjoint_rule(permute_dims_adjoint),
)
movement_op(
    "squeeze",
    1,
    squeeze_type,
    lambda x, axis: np.squeeze(x, axis),
    ("axis",),
    """x without these axes (attribute `axis`); traps if one does not have size 1.

>>> tl.squeeze([[1, 2]], 0).tolist()
[1, 2]
""",
    gradient=adjoint_rule(lambda g, z, x, axis: g.reshape_like(x)),
)
movement_op(
    "roll",
    1,
    roll_type,
    lambda x, shift, axis: np.roll(x, shift, axis),
    ("shift", "axis"),
    """The elements shifted by `shift` places along an axis, from its end back to its beginning; with `axis` None along
all axes, in the order of their indices.

>>> tl.roll([1, 2, 3, 4], 1).tolist()
[4, 1, 2, 3]
""",
    gradient=adjoint_rule(roll_adjoint),
)
movement_op(
    "concat",
    None,
    concat_type,
    lambda *arrays, axis: np.concatenate(arrays, axis=axis),
    ("axis",),
    """Arrays joined along an axis (attribute `axis`; `tl.concat` also takes None, which joins their elements in order).
Traps if sizes along other axes differ. Dtypes promote.

>>> tl.concat([[1, 2], [3]]).tolist()
[1, 2, 3]
""",
    stacking=concat_stacking,
    gradient=concat_gradient,
)
movement_op(
    "windows",
    1,
    windows_type,
    windows_array,
    ("shape", "strides", "dilations"),
    """All windows of shape `shape` along the last axes, `strides` apart; their elements, `dilations` apart (by default
1), are along as many new last axes. A convolution is a product with them; pooling takes the largest element or the mean
of each. Traps if none fits.

>>> tl.windows([1, 2, 3, 4], (2,), strides=(2,)).tolist()
[[1, 2], [3, 4]]
""",
    attribute_defaults={"dilations": None},
    optional_attributes=("dilations",),
    gradient=movement_rule("windows"),
)
movement_op(
    "size",
    1,
    size_type,
    lambda x, axis: np.size(x, axis),
    ("axis",),
    """The number of elements along an axis (attribute `axis`; None: of all elements), int64.

>>> tl.size([[1, 2, 3]]), tl.size([[1, 2, 3]], axis=0)
(3, 1)
""",
)
