"""Code generation for ops that move elements or reduce them along axes; jit.moves does the work. Where no element
moves, the result is a view with another shape.

Left to Python: arrays of too many axes, dtypes of two bytes, and keys that step over axes whose sizes are known only at
run time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....core import dtypes
from ....core.dtypes import DType
from ....core.ops.indexing import parse_key
from ....core.ops.rules import resolve_axes, resolve_axis
from ....core.program.program import Node
from ....core.types import Type
from ..jit.kernels import LANE_TYPES, lane
from ..jit.state import (
    STRIDED_ADD_ROWS,
    STRIDED_COPY,
    STRIDED_MAX,
    STRIDED_MIN,
    STRIDED_PARAMETERS,
    STRIDED_SUM,
    STRIDED_TAKE_ROWS,
)
from .chains import exceeds_max_elements
from .elementwise import ArrayEmitter, TypedExpression, broadcast_sizes, emit_empty
from .layout import numba_dtype, numpy_dtype

MAX_AXES = 4
_ITEM_SIZES = {1: 1, 4: 4, 8: 8}


class _StridedView(NamedTuple):
    """A strided view of an operand: text of the size and stride of each result axis, and of the offset of its first
    element."""

    sizes: list[str]
    strides: list[str]
    offset: str = "0"


def emit_strided_op(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    """Emit an op of the table EMITTERS; None where it is left to Python."""
    types = [*(value.type for value in inputs), node.results[0].type]
    fits = all(len(each.shape or ()) <= MAX_AXES and _item_size(each.dtype) in _ITEM_SIZES for each in types)
    return EMITTERS[node.op](writer, node, inputs) if node.op in EMITTERS and fits else None


def _item_size(dtype: DType) -> int:
    return dtype.numpy.itemsize


def sizes_of(value: TypedExpression) -> list[str]:
    """Text of the sizes of an array."""
    shape = value.type.shape or ()
    return [f"{value.text}.shape[{axis}]" if size is None else str(size) for axis, size in enumerate(shape)]


def product_expression(sizes: Sequence[str]) -> str:
    """Text of a product of sizes, folded where they are constants; it fits int64, since no array has more elements."""
    known = min(math.prod(int(size) for size in sizes if size.isdigit()), dtypes.int64.range[1])
    others = [size for size in sizes if not size.isdigit()]
    return " * ".join([*others, *[str(known)] * (known != 1 or not others)]) if known else "0"


def contiguous_strides(sizes: Sequence[str]) -> list[str]:
    """Text of the strides of a C-contiguous array, in elements."""
    return [product_expression(sizes[axis + 1 :]) for axis in range(len(sizes))]


def _as_array(writer: ArrayEmitter, value: TypedExpression) -> TypedExpression:
    """A scalar as an array of one element."""
    if not value.type.is_scalar:
        return value
    type_ = Type(value.type.dtype, (1,))
    made = emit_empty(writer, ["1"], type_)
    writer.emit(f"{made}[0] = {value.text}")
    return TypedExpression(made, type_)


def _emit_strided_call(
    writer: ArrayEmitter, which: int, to: str, of: TypedExpression, words: Sequence[str], *, offset: str = "0"
) -> str:
    """Emit a call of `strided_op` on an array, from an offset on; return the text of whether an index was out of
    bounds."""
    width = _item_size(of.type.dtype)
    begin = f"w.data_address({of.text})" + (f" + {width} * ({offset})" if offset != "0" else "")
    given = [str(which), to, begin, *words]
    done = writer.assign(f"strided_op({', '.join([*given, *['0'] * (STRIDED_PARAMETERS - len(given))])})")
    writer.emit(f"w.keep_alive({of.text})")
    return done


def _pad_axes(texts: Sequence[str], rest: str) -> list[str]:
    return [rest] * (MAX_AXES - len(texts)) + list(texts)


def _emit_copy(
    writer: ArrayEmitter, made: str, of: TypedExpression, moved: _StridedView, to: _StridedView | None = None
) -> None:
    """Emit a copy of a view into an array, from its start or into the view `to`."""
    width = _item_size(of.type.dtype)
    strides = contiguous_strides(moved.sizes) if to is None else to.strides
    address = f"w.data_address({made})" + ("" if to is None or to.offset == "0" else f" + {width} * ({to.offset})")
    words = [str(width), *_pad_axes(moved.sizes, "1"), *_pad_axes(strides, "0"), *_pad_axes(moved.strides, "0")]
    _emit_strided_call(writer, STRIDED_COPY, address, of, words, offset=moved.offset)
    writer.emit(f"w.keep_alive({made})")


def _emit_size_check(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression], sizes: Sequence[str]) -> None:
    if exceeds_max_elements(sizes) != "False":
        writer.emit_memory_exit(node, inputs, exceeds_max_elements(sizes))


def _emit_subarray(writer: ArrayEmitter, value: TypedExpression, begin: str, sizes: Sequence[str]) -> str:
    """Emit a view of contiguous elements in another shape."""
    return writer.assign(f"e.subarray({value.text}, int64({begin}), ({''.join(f'int64({size}), ' for size in sizes)}))")


def _broadcast_strides(value: TypedExpression, rank: int) -> list[str]:
    """The strides of an array that is broadcast to `rank` axes."""
    sizes = sizes_of(value)
    strides = [
        "0" if size == "1" else stride if size.isdigit() else f"({stride} if {size} != 1 else 0)"
        for size, stride in zip(sizes, contiguous_strides(sizes), strict=True)
    ]
    return ["0"] * (rank - len(strides)) + strides


def _emit_broadcast(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    result, x = node.results[0].type, inputs[0]
    if result.is_scalar:
        return x.text
    if node.op == "broadcast_like":
        sizes = broadcast_sizes(writer, inputs, lambda condition: writer.emit_trap(node, inputs, condition))
    elif None in (x.type.shape or ()):
        return None
    else:
        sizes = [str(size) for size in result.shape or ()]
    _emit_size_check(writer, node, inputs, sizes)
    made, of = emit_empty(writer, sizes, result), _as_array(writer, x)
    _emit_copy(writer, made, of, _StridedView(sizes, _broadcast_strides(of, len(sizes))))
    return made


def _emit_permute_dims(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    (x,), axes = inputs, node.attribute("axes")
    order = resolve_axes(axes if isinstance(axes, tuple) else (axes,), x.type)
    sizes, strides = sizes_of(x), contiguous_strides(sizes_of(x))
    moved = _StridedView([sizes[axis] for axis in order], [strides[axis] for axis in order])
    made = emit_empty(writer, moved.sizes, node.results[0].type)
    _emit_copy(writer, made, x, moved)
    return made


def _emit_reshape(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    """Emit reshape_like, squeeze, and reshape to static sizes."""
    x, result = inputs[0], node.results[0].type
    if x.type.is_scalar or result.is_scalar or (node.op == "reshape" and None in (result.shape or ())):
        return None
    if node.op == "squeeze":
        gone = resolve_axes(node.attribute("axis"), x.type)
        for axis in (axis for axis in gone if (x.type.shape or ())[axis] is None):
            writer.emit_trap(node, inputs, f"{x.text}.shape[{axis}] != 1")
        return _emit_subarray(writer, x, "0", [size for axis, size in enumerate(sizes_of(x)) if axis not in gone])
    wanted = inputs[1] if node.op == "reshape_like" else TypedExpression("", result)
    sizes = sizes_of(wanted)
    if None in (*(x.type.shape or ()), *(wanted.type.shape or ())):
        writer.emit_trap(node, inputs, f"{product_expression(sizes_of(x))} != {product_expression(sizes)}")
    return _emit_subarray(writer, x, "0", sizes)


def _key_view(value: TypedExpression, key: str) -> _StridedView | None:
    """The view that an indexing key selects; None if it needs sizes that are not static."""
    sizes, entries = sizes_of(value), parse_key(key)
    taken = sum(entry is not None and entry is not Ellipsis for entry in entries)
    full = entries if Ellipsis in entries else (*entries, Ellipsis)
    at = full.index(Ellipsis)
    spread = (*full[:at], *[slice(None)] * (len(sizes) - taken), *full[at + 1 :])
    axis, begin, moved = 0, list[str](), _StridedView([], [])
    for entry in spread:
        if entry is None:
            moved.sizes.append("1")
            moved.strides.append("0")
            continue
        size, stride = sizes[axis], contiguous_strides(sizes)[axis]
        axis += 1
        if entry == slice(None):
            moved.sizes.append(size)
            moved.strides.append(stride)
        elif not size.isdigit():
            return None
        elif isinstance(entry, slice):
            steps = range(*entry.indices(int(size)))
            moved.sizes.append(str(len(steps)))
            moved.strides.append(
                product_expression([stride, str(steps.step)]) if steps.step > 0 else f"-({stride} * {-steps.step})"
            )
            begin.append(product_expression([stride, str(steps.start)]))
        elif isinstance(entry, int):
            begin.append(product_expression([stride, str(entry % int(size))]))
    return moved._replace(offset=" + ".join(each for each in begin if each != "0") or "0")


def _emit_index(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    (x,), result = inputs, node.results[0].type
    if x.type.is_scalar:
        return (
            _emit_subarray(writer, _as_array(writer, x), "0", ["1"] * len(result.shape or ()))
            if result.shape
            else x.text
        )
    moved = _key_view(x, node.attribute("key"))
    if moved is None or len(moved.sizes) > MAX_AXES:
        return None
    if result.is_scalar:
        return writer.assign(f"{LANE_TYPES[lane(result.dtype)]}({_emit_subarray(writer, x, moved.offset, ['1'])}[0])")
    dense = contiguous_strides(moved.sizes)
    pairs = zip(moved.sizes, moved.strides, dense, strict=True)
    if all(size == "1" or stride == wanted for size, stride, wanted in pairs):
        return _emit_subarray(writer, x, moved.offset, moved.sizes)
    made = emit_empty(writer, moved.sizes, result)
    _emit_copy(writer, made, x, moved)
    return made


def _emit_writable(writer: ArrayEmitter, value: TypedExpression) -> str:
    """An array that may be written: a copy, or the array itself where this is its last use and it is unique."""
    if value.text in writer.dead_operands:
        return value.text
    made = emit_empty(writer, sizes_of(value), value.type)
    _emit_copy(writer, made, value, _StridedView([product_expression(sizes_of(value))], ["1"]))
    return made


def _emit_scatter_index(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    """Emit scatter_index, for values whose types show that they fit."""
    x, values = inputs
    moved = None if x.type.is_scalar else _key_view(x, node.attribute("key"))
    if moved is None or len(moved.sizes) > MAX_AXES or values.type.dtype is not x.type.dtype:
        return None
    given = sizes_of(values)
    pairs = zip(reversed(given), reversed(moved.sizes), strict=False)
    if len(given) > len(moved.sizes) or not all(size.isdigit() and size in ("1", wanted) for size, wanted in pairs):
        return None
    made, of = _emit_writable(writer, x), _as_array(writer, values)
    rank = len(moved.sizes)
    _emit_copy(writer, made, of, _StridedView(moved.sizes, _broadcast_strides(of, rank)), moved)
    return made


def _emit_take(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    x, indices = inputs
    result, sizes = node.results[0].type, sizes_of(x)
    at = resolve_axis(node.attribute("axis"), x.type)
    if indices.type.dtype is not dtypes.int64:
        return None
    if indices.type.is_scalar and at == 0:
        row = writer.assign(f"{indices.text} + ({sizes[0]} if {indices.text} < 0 else 0)")
        writer.emit_trap(node, inputs, f"uint64({row}) >= uint64({sizes[0]})")
        if result.is_scalar:
            return writer.assign(f"{LANE_TYPES[lane(result.dtype)]}({x.text}[uint64({row})])")
        return _emit_subarray(writer, x, f"{row} * {contiguous_strides(sizes)[0]}", sizes[1:])
    made_sizes = [*sizes[:at], *sizes_of(indices), *sizes[at + 1 :]]
    if result.is_scalar or not made_sizes:
        return None
    _emit_size_check(writer, node, inputs, made_sizes)
    made, index = emit_empty(writer, made_sizes, result), _as_array(writer, indices)
    row = product_expression([*sizes[at + 1 :], str(_item_size(x.type.dtype))])
    words = [
        row,
        f"w.data_address({index.text})",
        product_expression(sizes_of(index)),
        product_expression(sizes[:at]),
        sizes[at],
    ]
    outside = _emit_strided_call(writer, STRIDED_TAKE_ROWS, f"w.data_address({made})", x, words)
    writer.emit(f"w.keep_alive({made})")
    writer.emit(f"w.keep_alive({index.text})")
    writer.emit_trap(node, inputs, f"{outside} != 0")
    return made


def _emit_scatter_add(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    """Emit scatter_add along the first axis, for values of exactly the shape of their target. Left to Python: several
    float32 values, whose sum is rounded once."""
    x, values, *places = inputs
    if len(places) != 1 or x.type.is_scalar or values.type.dtype is not x.type.dtype or x.type.dtype.kind != "f":
        return None
    (indices,) = places
    wanted = (*(indices.type.shape or ()), *(x.type.shape or ())[1:])
    if indices.type.dtype is not dtypes.int64 or values.type.shape != wanted or None in wanted:
        return None
    if x.type.dtype is dtypes.float32 and not indices.type.is_scalar:
        return None
    index, of, made = _as_array(writer, indices), _as_array(writer, values), _emit_writable(writer, x)
    count, row = product_expression(sizes_of(index)), product_expression(sizes_of(x)[1:])
    words = [str(_item_size(x.type.dtype)), f"w.data_address({index.text})", count, sizes_of(x)[0], row]
    outside = _emit_strided_call(writer, STRIDED_ADD_ROWS, f"w.data_address({made})", of, words)
    writer.emit(f"w.keep_alive({made})")
    writer.emit(f"w.keep_alive({index.text})")
    writer.emit_trap(node, inputs, f"{outside} != 0")
    return made


def _emit_concat(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    """Emit concat of arrays of one dtype whose sizes along all other axes are static."""
    result, at = node.results[0].type, resolve_axis(node.attribute("axis"), inputs[0].type)
    others = [size for each in inputs for axis, size in enumerate(each.type.shape or ()) if axis != at]
    if any(each.type.dtype is not result.dtype for each in inputs) or None in others:
        return None
    widths = [sizes_of(each)[at] for each in inputs]
    whole = str(sum(map(int, widths))) if all(map(str.isdigit, widths)) else writer.assign(" + ".join(widths))
    sizes = [whole if axis == at else size for axis, size in enumerate(sizes_of(inputs[0]))]
    _emit_size_check(writer, node, inputs, sizes)
    made, begin = emit_empty(writer, sizes, result), list[str]()
    strides = contiguous_strides(sizes)
    for each, width in zip(inputs, widths, strict=True):
        to = _StridedView(sizes, strides, f"({' + '.join(begin)}) * {strides[at]}" if begin else "0")
        _emit_copy(writer, made, each, _StridedView(sizes_of(each), contiguous_strides(sizes_of(each))), to)
        begin.append(width)
    return made


def _emit_fold(writer: ArrayEmitter, which: int, of: TypedExpression, made: str, strides: Sequence[str]) -> None:
    """Emit a reduction into an array with these strides, 0 along reduced axes."""
    words = [str(_item_size(of.type.dtype)), *_pad_axes(sizes_of(of), "1"), *_pad_axes(strides, "0")]
    _emit_strided_call(writer, which, f"w.data_address({made})", of, words)
    writer.emit(f"w.keep_alive({made})")


def _emit_sum_like(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    x, y = inputs
    result = node.results[0].type
    if x.type.dtype.kind != "f" or x.type.is_scalar:
        return x.text if x.type.is_scalar and y.type.is_scalar and x.type.dtype.kind == "f" else None
    have, wanted = sizes_of(x), sizes_of(y)
    new = len(have) - len(wanted)
    if new < 0:
        return None
    for size, other in zip(wanted, have[new:], strict=True):
        if not (size.isdigit() and other.isdigit()):
            writer.emit_trap(node, inputs, f"{size} != 1 and {size} != {other}")
    return _emit_sum(writer, x, wanted, ["0"] * new + _broadcast_strides(y, len(wanted)), result)


def _emit_sum(
    writer: ArrayEmitter, x: TypedExpression, sizes: Sequence[str], strides: Sequence[str], result: Type
) -> str:
    """Emit a sum in float64, rounded at the end."""
    made = writer.assign(f"np.zeros(({''.join(f'{size}, ' for size in sizes or ['1'])}), np.float64)")
    _emit_fold(writer, STRIDED_SUM, x, made, strides)
    narrow = result.dtype is dtypes.float32
    if result.is_scalar:
        return writer.assign(f"float64(float32({made}[0]))" if narrow else f"{made}[0]")
    return writer.assign(f"{made}.astype({numpy_dtype(numba_dtype(result.dtype))})") if narrow else made


def _emit_reduction(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    """Emit sum along several axes, and max and min of floats."""
    (x,), result, axis = inputs, node.results[0].type, node.attribute("axis")
    if x.type.dtype.kind != "f" or x.type.is_scalar:
        return None
    have = sizes_of(x)
    gone = range(len(have)) if axis is None else resolve_axes(axis, x.type)
    kept = [size for at, size in enumerate(have) if at not in gone]
    dense = iter(contiguous_strides(kept))
    strides = ["0" if at in gone else next(dense) for at in range(len(have))]
    sizes = ["1" if at in gone else size for at, size in enumerate(have)] if node.attribute("keepdims") else kept
    if node.op == "sum":
        return _emit_sum(writer, x, sizes, strides, result)
    if any(not have[at].isdigit() for at in gone):
        writer.emit_trap(node, inputs, f"{product_expression([have[at] for at in gone])} == 0")
    made = emit_empty(writer, sizes or ["1"], Type(result.dtype, result.shape or (1,)))
    _emit_fold(writer, STRIDED_MAX if node.op == "max" else STRIDED_MIN, x, made, strides)
    return writer.assign(f"{LANE_TYPES[lane(result.dtype)]}({made}[0])") if result.is_scalar else made


def _emit_size(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    sizes, axis = sizes_of(inputs[0]), node.attribute("axis")
    return writer.assign(
        f"int64({product_expression(sizes) if axis is None else sizes[resolve_axis(axis, inputs[0].type)]})"
    )


EMITTERS: dict[str, Callable[[ArrayEmitter, Node, Sequence[TypedExpression]], str | None]] = {
    "broadcast_to": _emit_broadcast,
    "broadcast_like": _emit_broadcast,
    "permute_dims": _emit_permute_dims,
    "reshape": _emit_reshape,
    "reshape_like": _emit_reshape,
    "squeeze": _emit_reshape,
    "index": _emit_index,
    "scatter_index": _emit_scatter_index,
    "take": _emit_take,
    "scatter_add": _emit_scatter_add,
    "concat": _emit_concat,
    "sum_like": _emit_sum_like,
    "sum": _emit_reduction,
    "max": _emit_reduction,
    "min": _emit_reduction,
    "size": _emit_size,
}
