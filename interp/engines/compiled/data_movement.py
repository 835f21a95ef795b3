"""Code generation for ops that move elements or reduce them along axes; jit.strided_ops does the work. Where no element
moves, the result is a view with another shape.

Python computes the rest: arrays of too many axes, dtypes of two bytes, and sizes that are not int64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....core import dtypes
from ....core.dtypes import DType
from ....core.ops.indexing import OPEN_BOUND, parse_key
from ....core.ops.op import MAX_ELEMENTS, OPS, dynamic_size_count
from ....core.ops.type_rules import ATTRIBUTE_INTEGER_BOUND, resolve_axes, resolve_axis
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
from .elementwise import broadcast_sizes, emit_empty
from .emitter import FunctionEmitter, TypedExpression

LOOP_AXES = 4
"""The most axes that `strided_op` has loops for."""
_ITEM_SIZES = (1, 4, 8)
"""The bytes of elements that `strided_op` moves."""


class StridedView(NamedTuple):
    """A strided view of an operand: text of the size and stride of each result axis, and of the offset of its first
    element."""

    sizes: list[str]
    strides: list[str]
    offset: str = "0"


def emit_strided_op(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    """Emit an op of the table MOVE_EMITTERS; None where it is left to Python."""
    types = [*(value.type for value in inputs), node.results[0].type]
    fits = all(len(type_.shape or ()) <= LOOP_AXES and _item_size(type_.dtype) in _ITEM_SIZES for type_ in types)
    return MOVE_EMITTERS[node.op](emitter, node, inputs) if node.op in MOVE_EMITTERS and fits else None


def _item_size(dtype: DType) -> int:
    return dtype.numpy.itemsize


def product_expression(sizes: Sequence[str]) -> str:
    """Text of a product of sizes, folded where they are constants; it fits int64, since no array has more elements."""
    constant = min(math.prod(int(size) for size in sizes if size.isdigit()), dtypes.int64.range[1])
    expressions = [size for size in sizes if not size.isdigit()]
    return " * ".join([*expressions, *[str(constant)] * (constant != 1 or not expressions)]) if constant else "0"


def contiguous_strides(sizes: Sequence[str]) -> list[str]:
    """Text of the strides of a C-contiguous array, in elements."""
    return [product_expression(sizes[axis + 1 :]) for axis in range(len(sizes))]


def _as_array(emitter: FunctionEmitter, value: TypedExpression) -> TypedExpression:
    """A scalar as an array of one element."""
    if not value.type.is_scalar:
        return value
    type_ = Type(value.type.dtype, (1,))
    array = emit_empty(emitter, ["1"], type_)
    emitter.emit(f"{array}[0] = {value.text}")
    return TypedExpression(array, type_)


def emit_strided_call(
    emitter: FunctionEmitter,
    operation: int,
    output: str,
    operand: TypedExpression,
    words: Sequence[str],
    *,
    offset: str = "0",
) -> str:
    """Emit a call of `strided_op` on an array, from an offset on; return the variable that is 1 if an index is out of
    bounds."""
    parameters = [str(operation), output, element_reference(operand.text, offset), *words]
    return emitter.assign(f"strided_op({', '.join([*parameters, *['0'] * (STRIDED_PARAMETERS - len(parameters))])})")


def element_reference(array: str, offset: str) -> str:
    """Text of an argument of `strided_op` that refers to the elements of an array, from an offset on."""
    return array if offset == "0" else f"({array}, int64({offset}))"


def _pad_axes(texts: Sequence[str], fill: str) -> list[str]:
    return [fill] * (LOOP_AXES - len(texts)) + list(texts)


def emit_strided_copy(
    emitter: FunctionEmitter, array: str, operand: TypedExpression, view: StridedView, target: StridedView | None = None
) -> None:
    """Emit a copy of a view into an array, from its start or into the view `target`."""
    width = _item_size(operand.type.dtype)
    strides = contiguous_strides(view.sizes) if target is None else target.strides
    output = element_reference(array, "0" if target is None else target.offset)
    words = [str(width), *_pad_axes(view.sizes, "1"), *_pad_axes(strides, "0"), *_pad_axes(view.strides, "0")]
    emit_strided_call(emitter, STRIDED_COPY, output, operand, words, offset=view.offset)


def emit_subarray(emitter: FunctionEmitter, value: TypedExpression, begin: str, sizes: Sequence[str]) -> str:
    """Emit a view of contiguous elements in another shape."""
    return emitter.assign(
        f"e.subarray({value.text}, int64({begin}), ({''.join(f'int64({size}), ' for size in sizes)}))"
    )


def broadcast_strides(value: TypedExpression, rank: int) -> list[str]:
    """The strides of an array that is broadcast to `rank` axes."""
    sizes = value.sizes
    strides = [
        "0" if size == "1" else stride if size.isdigit() else f"({stride} if {size} != 1 else 0)"
        for size, stride in zip(sizes, contiguous_strides(sizes), strict=True)
    ]
    return ["0"] * (rank - len(strides)) + strides


def dynamic_operands(node: Node, inputs: Sequence[TypedExpression]) -> list[TypedExpression] | None:
    """The operands that hold sizes of an attribute; None if one is not int64."""
    count = dynamic_size_count(OPS[node.op], dict(node.attributes))
    operands = list(inputs[len(inputs) - count :])
    return operands if all(operand.type.dtype is dtypes.int64 for operand in operands) else None


def emit_shape_check(
    emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression], sizes: Sequence[str], minimum: int = 0
) -> None:
    """Emit the checks of sizes that are operands: a size below `minimum` traps; else a size that no array can have
    takes the exit for results that are too large."""
    for size in sizes:
        emitter.emit_trap(node, inputs, f"{size} < {minimum}")
    for size in sizes:
        emitter.emit_memory_exit(node, inputs, f"{size} >= {ATTRIBUTE_INTEGER_BOUND}")


def emit_fit_check(
    emitter: FunctionEmitter,
    node: Node,
    inputs: Sequence[TypedExpression],
    sizes: Sequence[str],
    target_sizes: Sequence[str],
) -> bool:
    """Emit the traps for sizes that do not broadcast to others. False if types show that they never do."""
    for size, target in zip(reversed(sizes), reversed(target_sizes), strict=False):
        if size in ("1", target):
            continue
        if size.isdigit() and target.isdigit():
            return False
        emitter.emit_trap(node, inputs, f"{size} != {target}" + ("" if size.isdigit() else f" and {size} != 1"))
    return len(sizes) <= len(target_sizes)


def emit_broadcast(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    """Emit broadcast_to and broadcast_like."""
    result, x, dynamic = node.results[0].type, inputs[0], dynamic_operands(node, inputs)
    if result.is_scalar:
        return x.text
    if dynamic is None:
        return None
    if node.op == "broadcast_like":
        sizes = broadcast_sizes(emitter, inputs, lambda condition: emitter.emit_trap(node, inputs, condition))
    else:
        operands = iter(dynamic)
        sizes = [next(operands).text if size is None else str(size) for size in node.attribute("shape")]
        emit_shape_check(emitter, node, inputs, [size.text for size in dynamic])
        emit_fit_check(emitter, node, inputs, x.sizes, sizes)
    emitter.emit_size_check(node, inputs, sizes)
    array, operand = emit_empty(emitter, sizes, result), _as_array(emitter, x)
    emit_strided_copy(emitter, array, operand, StridedView(sizes, broadcast_strides(operand, len(sizes))))
    return array


def emit_permute_dims(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit permute_dims."""
    (x,), axes = inputs, node.attribute("axes")
    if x.type.is_scalar:
        return x.text
    order = resolve_axes(axes if isinstance(axes, tuple) else (axes,), x.type)
    sizes, strides = x.sizes, contiguous_strides(x.sizes)
    view = StridedView([sizes[axis] for axis in order], [strides[axis] for axis in order])
    array = emit_empty(emitter, view.sizes, node.results[0].type)
    emit_strided_copy(emitter, array, x, view)
    return array


def emit_reshape(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    """Emit reshape_like, squeeze and reshape."""
    x, result = inputs[0], node.results[0].type
    if x.type.is_scalar and result.is_scalar:
        return x.text
    if node.op == "reshape" and None in (result.shape or ()):
        reshaped_sizes = emit_reshaped_sizes(emitter, node, inputs)
        return None if reshaped_sizes is None else emit_subarray(emitter, _as_array(emitter, x), "0", reshaped_sizes)
    if node.op == "squeeze":
        squeezed_axes = resolve_axes(node.attribute("axis"), x.type)
        for axis in (axis for axis in squeezed_axes if (x.type.shape or ())[axis] is None):
            emitter.emit_trap(node, inputs, f"{x.text}.shape[{axis}] != 1")
        sizes = [size for axis, size in enumerate(x.sizes) if axis not in squeezed_axes]
    else:
        target = inputs[1] if node.op == "reshape_like" else TypedExpression("", result)
        sizes = target.sizes
        if None in (*(x.type.shape or ()), *(target.type.shape or ())):
            emitter.emit_trap(node, inputs, f"{product_expression(x.sizes)} != {product_expression(sizes)}")
    if result.is_scalar:
        return emitter.assign(f"{LANE_TYPES[lane(result.dtype)]}({emit_subarray(emitter, x, '0', ['1'])}[0])")
    return emit_subarray(emitter, _as_array(emitter, x), "0", sizes)


def emit_reshaped_sizes(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> list[str] | None:
    """Emit the sizes of a reshape with operands, or to a size that is inferred from an unknown number of elements."""
    dynamic, count = dynamic_operands(node, inputs), emitter.assign(product_expression(inputs[0].sizes))
    if dynamic is None:
        return None
    emit_shape_check(emitter, node, inputs, [size.text for size in dynamic], minimum=-1)
    operands = iter(dynamic)
    requested = [next(operands).text if size is None else str(size) for size in node.attribute("shape")]
    inferred = " + ".join(f"int64({size} == -1)" for size in requested if not size.isdigit())
    product = " * ".join(f"float64(1 if {size} == -1 else {size})" for size in requested)
    emitter.emit_trap(node, inputs, f"{inferred} > 1 or {product} > {float(MAX_ELEMENTS)}")
    known_product = emitter.assign(f"int64({product})")
    emitter.emit_trap(
        node,
        inputs,
        f"({known_product} == 0 or {count} % {known_product} != 0) if {inferred} == 1 else {known_product} != {count}",
    )
    return [
        size if size.isdigit() else emitter.assign(f"{count} // {known_product} if {size} == -1 else {size}")
        for size in requested
    ]


def emit_slice(
    emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression], entry: slice, bounds: list[str], size: str
) -> tuple[str, str, str]:
    """Emit the first index of a slice, its step, and the number of its elements, which are known only at run time."""
    texts = [bounds.pop(0) if bound == OPEN_BOUND else bound for bound in (entry.start, entry.stop, entry.step)]
    start, stop, step = texts
    if entry.step == OPEN_BOUND:
        emitter.emit_trap(node, inputs, f"{step} == 0")
    flags = f"{start is not None}, {stop is not None}"
    numbers = (f"int64({text or 0})" for text in (start, stop, 1 if step is None else step, size))
    slice_bounds = emitter.assign(f"e.slice_range({', '.join(numbers)}, {flags})")
    return emitter.assign(f"{slice_bounds}[0]"), str(1 if step is None else step), emitter.assign(f"{slice_bounds}[1]")


def emit_key_view(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> StridedView | None:
    """Emit the bounds and the checks of an indexing key; return the view of the first operand that it selects, or None
    where a bound is not int64."""
    value, dynamic = inputs[0], dynamic_operands(node, inputs)
    if dynamic is None:
        return None
    sizes, entries, bounds = value.sizes, parse_key(node.attribute("key")), [bound.text for bound in dynamic]
    indexed_axes = sum(entry is not None and entry is not Ellipsis for entry in entries)
    entries_with_ellipsis = entries if Ellipsis in entries else (*entries, Ellipsis)
    ellipsis_index = entries_with_ellipsis.index(Ellipsis)
    axis_entries = (
        *entries_with_ellipsis[:ellipsis_index],
        *[slice(None)] * (len(sizes) - indexed_axes),
        *entries_with_ellipsis[ellipsis_index + 1 :],
    )
    axis, offsets, view = 0, list[str](), StridedView([], [])
    for entry in axis_entries:
        if entry is None:
            view.sizes.append("1")
            view.strides.append("0")
            continue
        size, stride = sizes[axis], contiguous_strides(sizes)[axis]
        axis += 1
        if entry == slice(None):
            view.sizes.append(size)
            view.strides.append(stride)
        elif isinstance(entry, slice) and (not size.isdigit() or OPEN_BOUND in (entry.start, entry.stop, entry.step)):
            first, step, count = emit_slice(emitter, node, inputs, entry, bounds, size)
            view.sizes.append(count)
            view.strides.append(stride if step == "1" else f"{step} * ({stride})")
            offsets.append(f"{first} * ({stride})")
        elif isinstance(entry, slice):
            steps = range(*entry.indices(int(size)))
            view.sizes.append(str(len(steps)))
            view.strides.append(
                product_expression([stride, str(steps.step)]) if steps.step > 0 else f"-({stride} * {-steps.step})"
            )
            offsets.append(product_expression([stride, str(steps.start)]))
        elif isinstance(entry, int) and size.isdigit():
            offsets.append(product_expression([stride, str(entry % int(size))]))
        elif isinstance(entry, int):
            emitter.emit_trap(node, inputs, f"{size} <= {entry if entry >= 0 else -entry - 1}")
            offsets.append(f"{entry if entry >= 0 else f'({size} - {-entry})'} * ({stride})")
    return view._replace(offset=" + ".join(offset for offset in offsets if offset != "0") or "0")


def emit_index(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    """Emit index: a view where the elements are contiguous, else a copy."""
    x, result = inputs[0], node.results[0].type
    if x.type.is_scalar:
        return (
            emit_subarray(emitter, _as_array(emitter, x), "0", ["1"] * len(result.shape or ()))
            if result.shape
            else x.text
        )
    view = emit_key_view(emitter, node, inputs)
    if view is None or len(view.sizes) > LOOP_AXES:
        return None
    if result.is_scalar:
        return emitter.assign(f"{LANE_TYPES[lane(result.dtype)]}({emit_subarray(emitter, x, view.offset, ['1'])}[0])")
    dense_strides = contiguous_strides(view.sizes)
    pairs = zip(view.sizes, view.strides, dense_strides, strict=True)
    if all(size == "1" or stride == dense_stride for size, stride, dense_stride in pairs):
        return emit_subarray(emitter, x, view.offset, view.sizes)
    array = emit_empty(emitter, view.sizes, result)
    emit_strided_copy(emitter, array, x, view)
    return array


def emit_writable(emitter: FunctionEmitter, value: TypedExpression) -> str:
    """An array that may be written: a copy, or the array itself where this is its last use and it is unique."""
    return value.text if value.text in emitter.dead_operands else emit_copy(emitter, value)


def emit_copy(emitter: FunctionEmitter, value: TypedExpression) -> str:
    """Emit a copy of an array."""
    array = emit_empty(emitter, value.sizes, value.type)
    emit_strided_copy(emitter, array, value, StridedView([product_expression(value.sizes)], ["1"]))
    return array


def emit_scatter_index(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    """Emit scatter_index."""
    x, values = inputs[:2]
    if x.type.is_scalar or values.type.dtype is not x.type.dtype:
        return None
    view = emit_key_view(emitter, node, inputs)
    if view is None or len(view.sizes) > LOOP_AXES:
        return None
    if not emit_fit_check(emitter, node, inputs, values.sizes, view.sizes):
        return None
    array, operand = emit_writable(emitter, x), _as_array(emitter, values)
    rank = len(view.sizes)
    emit_strided_copy(emitter, array, operand, StridedView(view.sizes, broadcast_strides(operand, rank)), view)
    return array


def emit_row(emitter: FunctionEmitter, index: str, size: str) -> str:
    """Emit the row that an index selects; a negative one counts from the end."""
    return emitter.assign(f"{index} + ({index} >> 63 & {size})")


def emit_take(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    """Emit take: a row for a scalar index along the first axis, else a copy of rows."""
    x, indices = inputs
    result, sizes = node.results[0].type, x.sizes
    axis = resolve_axis(node.attribute("axis"), x.type)
    if indices.type.dtype is not dtypes.int64:
        return None
    if indices.type.is_scalar and axis == 0:
        row = emit_row(emitter, indices.text, sizes[0])
        emitter.emit_trap(node, inputs, f"uint64({row}) >= uint64({sizes[0]})")
        if result.is_scalar:
            return emitter.assign(f"{LANE_TYPES[lane(result.dtype)]}({x.text}[uint64({row})])")
        return emit_subarray(emitter, x, f"{row} * {contiguous_strides(sizes)[0]}", sizes[1:])
    result_sizes = [*sizes[:axis], *indices.sizes, *sizes[axis + 1 :]]
    if result.is_scalar or not result_sizes:
        return None
    emitter.emit_size_check(node, inputs, result_sizes)
    array, index = emit_empty(emitter, result_sizes, result), _as_array(emitter, indices)
    row = product_expression([*sizes[axis + 1 :], str(_item_size(x.type.dtype))])
    words = [
        row,
        index.text,
        product_expression(index.sizes),
        product_expression(sizes[:axis]),
        sizes[axis],
    ]
    is_outside = emit_strided_call(emitter, STRIDED_TAKE_ROWS, array, x, words)
    emitter.emit_trap(node, inputs, f"{is_outside} != 0")
    return array


def emit_scatter(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    """Emit scatter of one row or element: scalar indices along the first axes."""
    x, values, *indices = inputs
    are_scalars = all(index.type.is_scalar and index.type.dtype is dtypes.int64 for index in indices)
    if not are_scalars or values.type.dtype is not x.type.dtype:
        return None
    rows = []
    for index, size in zip(indices, x.sizes, strict=False):
        rows.append(emit_row(emitter, index.text, size))
        emitter.emit_trap(node, inputs, f"uint64({rows[-1]}) >= uint64({size})")
    row_sizes, strides = x.sizes[len(rows) :], contiguous_strides(x.sizes)
    if not emit_fit_check(emitter, node, inputs, values.sizes, row_sizes):
        return None
    array = emit_writable(emitter, x)
    if row_sizes:
        operand, offset = (
            _as_array(emitter, values),
            " + ".join(f"{row} * {stride}" for row, stride in zip(rows, strides, strict=False)),
        )
        source = StridedView(row_sizes, broadcast_strides(operand, len(row_sizes)))
        emit_strided_copy(emitter, array, operand, source, StridedView(row_sizes, strides[len(rows) :], offset))
    else:
        emitter.emit(f"{array}[{', '.join(f'uint64({row})' for row in rows)}] = {values.text}")
    return array


def emit_scatter_add(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    """Emit scatter_add along the first axis, for values of exactly the shape of their target. Left to Python: several
    float32 values, whose sum is rounded once."""
    x, values, *index_operands = inputs
    if (
        len(index_operands) != 1
        or x.type.is_scalar
        or values.type.dtype is not x.type.dtype
        or x.type.dtype.kind != "f"
    ):
        return None
    (indices,) = index_operands
    value_shape = (*(indices.type.shape or ()), *(x.type.shape or ())[1:])
    if indices.type.dtype is not dtypes.int64 or values.type.shape != value_shape or None in value_shape:
        return None
    if x.type.dtype is dtypes.float32 and not indices.type.is_scalar:
        return None
    index, operand, array = _as_array(emitter, indices), _as_array(emitter, values), emit_writable(emitter, x)
    count, row = product_expression(index.sizes), product_expression(x.sizes[1:])
    words = [str(_item_size(x.type.dtype)), index.text, count, x.sizes[0], row]
    is_outside = emit_strided_call(emitter, STRIDED_ADD_ROWS, array, operand, words)
    emitter.emit_trap(node, inputs, f"{is_outside} != 0")
    return array


def emit_concat(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    """Emit concat of arrays of one dtype whose sizes along all other axes are static."""
    result, axis = node.results[0].type, resolve_axis(node.attribute("axis"), inputs[0].type)
    other_sizes = [
        size for input_ in inputs for other_axis, size in enumerate(input_.type.shape or ()) if other_axis != axis
    ]
    if any(input_.type.dtype is not result.dtype for input_ in inputs) or None in other_sizes:
        return None
    widths = [input_.sizes[axis] for input_ in inputs]
    total = str(sum(map(int, widths))) if all(map(str.isdigit, widths)) else emitter.assign(" + ".join(widths))
    sizes = [total if other_axis == axis else size for other_axis, size in enumerate(inputs[0].sizes)]
    emitter.emit_size_check(node, inputs, sizes)
    array, offsets = emit_empty(emitter, sizes, result), list[str]()
    strides = contiguous_strides(sizes)
    for input_, width in zip(inputs, widths, strict=True):
        target = StridedView(sizes, strides, f"({' + '.join(offsets)}) * {strides[axis]}" if offsets else "0")
        emit_strided_copy(emitter, array, input_, StridedView(input_.sizes, contiguous_strides(input_.sizes)), target)
        offsets.append(width)
    return array


def emit_fold(
    emitter: FunctionEmitter,
    operation: int,
    operand: TypedExpression,
    array: str,
    strides: Sequence[str],
    sizes: Sequence[str] = (),
) -> None:
    """Emit a reduction into an array with these strides, 0 along reduced axes; `sizes` of the operand may combine
    several of its axes."""
    words = [str(_item_size(operand.type.dtype)), *_pad_axes(sizes or operand.sizes, "1"), *_pad_axes(strides, "0")]
    emit_strided_call(emitter, operation, array, operand, words)


def emit_sum_like(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    """Emit sum_like, of floats. Where nothing is added the elements are copied: a sum that begins at 0.0 has no
    -0.0."""
    x, y = inputs
    result = node.results[0].type
    if x.type.dtype.kind != "f" or x.type.is_scalar:
        return x.text if x.type.is_scalar and y.type.is_scalar and x.type.dtype.kind == "f" else None
    sizes, target_sizes = x.sizes, y.sizes
    new_axes = len(sizes) - len(target_sizes)
    if new_axes < 0:
        return None
    unequal_axes = []
    for size, x_size in zip(target_sizes, sizes[new_axes:], strict=True):
        if not (size.isdigit() and x_size.isdigit()):
            emitter.emit_trap(node, inputs, f"{size} != 1 and {size} != {x_size}")
        if size != x_size and (size == "1" or not size.isdigit()):
            unequal_axes.append("True" if size.isdigit() and x_size.isdigit() else f"{size} != {x_size}")
    strides = ["0"] * new_axes + broadcast_strides(y, len(target_sizes))
    if new_axes or "True" in unequal_axes:
        return emit_axis_sum(emitter, x, target_sizes, strides, result)
    if not unequal_axes:
        return emit_writable(emitter, x)
    total = emitter.fresh_name()
    with emitter.block(f"if {' or '.join(unequal_axes)}:"):
        emitter.emit(f"{total} = {emit_axis_sum(emitter, x, target_sizes, strides, result)}")
    with emitter.block("else:"):
        emitter.emit(f"{total} = {emit_writable(emitter, x)}")
    return total


def emit_axis_sum(
    emitter: FunctionEmitter,
    x: TypedExpression,
    sizes: Sequence[str],
    strides: Sequence[str],
    result: Type,
    operand_sizes: Sequence[str] = (),
) -> str:
    """Emit a sum in float64, rounded at the end; the arguments are as for `emit_fold`."""
    sums = emitter.assign(f"e.zeros(({''.join(f'{size}, ' for size in sizes or ['1'])}), np.float64)")
    emit_fold(emitter, STRIDED_SUM, x, sums, strides, operand_sizes)
    is_narrow = result.dtype is dtypes.float32
    if result.is_scalar:
        return emitter.assign(f"float64(float32({sums}[0]))" if is_narrow else f"{sums}[0]")
    if not is_narrow:
        return sums
    array = emitter.assign(f"e.empty(({''.join(f'{size}, ' for size in sizes)}), np.float32)")
    emitter.emit(f"p.round_to_float32({sums}, {array}, {sums}.size)")
    return array


def emit_reduction(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str | None:
    """Emit sum along several axes, and max and min of floats."""
    (x,), result, axis = inputs, node.results[0].type, node.attribute("axis")
    if x.type.dtype.kind != "f" or x.type.is_scalar:
        return None
    sizes_before = x.sizes
    reduced_axes = range(len(sizes_before)) if axis is None else resolve_axes(axis, x.type)
    remaining_sizes = [size for number, size in enumerate(sizes_before) if number not in reduced_axes]
    dense_strides = iter(contiguous_strides(remaining_sizes))
    strides = ["0" if number in reduced_axes else next(dense_strides) for number in range(len(sizes_before))]
    sizes = (
        ["1" if number in reduced_axes else size for number, size in enumerate(sizes_before)]
        if node.attribute("keepdims")
        else remaining_sizes
    )
    if node.op == "sum":
        return emit_axis_sum(emitter, x, sizes, strides, result)
    if any(not sizes_before[number].isdigit() for number in reduced_axes):
        emitter.emit_trap(node, inputs, f"{product_expression([sizes_before[number] for number in reduced_axes])} == 0")
    array = emit_empty(emitter, sizes or ["1"], Type(result.dtype, result.shape or (1,)))
    emit_fold(emitter, STRIDED_MAX if node.op == "max" else STRIDED_MIN, x, array, strides)
    return emitter.assign(f"{LANE_TYPES[lane(result.dtype)]}({array}[0])") if result.is_scalar else array


def emit_size(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit size."""
    sizes, axis = inputs[0].sizes, node.attribute("axis")
    return emitter.assign(
        f"int64({product_expression(sizes) if axis is None else sizes[resolve_axis(axis, inputs[0].type)]})"
    )


MOVE_EMITTERS: dict[str, Callable[[FunctionEmitter, Node, Sequence[TypedExpression]], str | None]] = {
    "broadcast_to": emit_broadcast,
    "broadcast_like": emit_broadcast,
    "permute_dims": emit_permute_dims,
    "reshape": emit_reshape,
    "reshape_like": emit_reshape,
    "squeeze": emit_reshape,
    "index": emit_index,
    "scatter_index": emit_scatter_index,
    "take": emit_take,
    "scatter": emit_scatter,
    "scatter_add": emit_scatter_add,
    "concat": emit_concat,
    "sum_like": emit_sum_like,
    "sum": emit_reduction,
    "max": emit_reduction,
    "min": emit_reduction,
    "size": emit_size,
}
"""The emitter of each op that moves or reduces elements; it returns None where Python computes the node."""
