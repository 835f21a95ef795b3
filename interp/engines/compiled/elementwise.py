"""Code generation for arrays: elementwise ops as loops, literals, and draws.

Where sizes are dynamic, they are checked: operands that do not broadcast trap before any other fault of the op.
Elements are computed as scalars are, except by functions whose last bits NumPy decides (jit.numpy_loops).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, NamedTuple, Protocol

from ....core.ops.op import MAX_ELEMENTS
from ....core.program.program import Node
from ....core.types import Type
from ..jit import kernels
from ..jit.kernels import LANE_TYPES, lane
from .chains import FusedChain, exceeds_max_elements, is_ufunc_node, ufunc_dtype, ufunc_name
from .layout import numba_dtype, numpy_dtype
from .text import GeneratedModule

_ALIGNMENT = 64
"""The bytes of a cache line."""
STRIP_ELEMENTS = 4096
"""The elements of an innermost axis that are computed between two polls."""


class TypedExpression(NamedTuple):
    """The text of a value, and its type."""

    text: str
    type: Type


class Transposed(TypedExpression):
    """A matrix to be read transposed; its type is that of the transpose."""


class ArrayEmitter(Protocol):
    """The part of FunctionEmitter that emitters of array ops need."""

    module: GeneratedModule
    dead_operands: set[str]

    def emit(self, text: str) -> None: ...
    def assign(self, text: str) -> str: ...
    def block(self, head: str) -> AbstractContextManager[None]: ...
    def outline(self) -> AbstractContextManager[tuple[str, str]]: ...
    def fresh_name(self, of: str = "v") -> str: ...
    def emit_trap(self, node: Node | FusedChain, inputs: Sequence[TypedExpression], condition: str) -> None: ...
    def emit_memory_exit(self, node: Node | FusedChain, inputs: Sequence[TypedExpression], condition: str) -> None: ...
    def emit_draw_key(self, node: Node) -> str: ...
    def emit_fallback_exit(self, condition: str) -> None: ...
    def emit_poll(self) -> None: ...


def emit_empty(writer: ArrayEmitter, sizes: Sequence[str], type_: Type) -> str:
    return writer.assign(f"e.empty(({', '.join(sizes)},), {numpy_dtype(numba_dtype(type_.dtype))})")


def emit_empty_together(writer: ArrayEmitter, sizes: Sequence[str], types: Sequence[Type]) -> list[str]:
    """Allocate arrays of the same static, small sizes in one block: to allocate and free an array takes 50 ns, as long
    as computing 64 elements."""
    if len(types) < 2:
        return [emit_empty(writer, sizes, each) for each in types]
    count, ends = math.prod(map(int, sizes)), [0]
    for each in types:
        ends.append(ends[-1] + -(count * each.dtype.numpy.itemsize // -_ALIGNMENT) * _ALIGNMENT)
    block, shape = writer.assign(f"e.empty(({ends[-1]},), np.uint8)"), f"({', '.join(sizes)},)"
    return [
        writer.assign(f"e.array_in_block({block}, {begin}, {shape}, {numpy_dtype(numba_dtype(each.dtype))})")
        for begin, each in zip(ends[:-1], types, strict=True)
    ]


def emit_array_literal(writer: ArrayEmitter, array: Any, type_: Type) -> str:
    """Emit an array literal, built anew at each evaluation."""
    if not array.size:
        return emit_empty(writer, list(map(str, array.shape)), type_)
    elements = ", ".join(kernels.literal_expression(each, type_.dtype) for each in array.ravel())
    return writer.assign(f"np.array([{elements}], {numpy_dtype(numba_dtype(type_.dtype))}).reshape({array.shape})")


def emit_elementwise(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit an elementwise op on arrays, or on arrays and scalars."""
    result = node.results[0].type
    sizes = broadcast_sizes(writer, inputs, lambda condition: writer.emit_trap(node, inputs, condition))
    if exceeds_max_elements(sizes) != "False":
        writer.emit_memory_exit(node, inputs, exceeds_max_elements(sizes))
    places = [_index_operand(writer, value, sizes) for value in inputs]
    scalars = [Type(value.type.dtype) for value in inputs]
    condition = kernels.trap_condition(
        node.op, scalars, Type(result.dtype), [_element_expression(place) for place in places]
    )
    if condition is not None:
        found = writer.assign("False")
        with _ElementLoops(writer, sizes) as at:
            writer.emit(f"{found} = {found} or {_substitute_indices(condition, at)}")
        writer.emit_trap(node, inputs, found)
    made = emit_empty(writer, sizes, result)
    if is_ufunc_node(node):
        _emit_ufunc_call(writer, node, places, sizes, made, result)
        return made
    texts = [_element_expression(place) for place in places]
    text = kernels.expression(node.op, scalars, Type(result.dtype), node.attributes, texts)
    with _ElementLoops(writer, sizes) as at:
        writer.emit(f"{made}[{', '.join(at)}] = {_substitute_indices(text, at)}")
    return made


class _IndexedOperand(NamedTuple):
    """How loops index an operand: for each of its axes, the number of the result's axis and the index expression; a
    scalar has no axes and is its text."""

    text: str
    type: Type
    result_axes: tuple[tuple[int, str], ...]


def _index_operand(writer: ArrayEmitter, value: TypedExpression, sizes: Sequence[str]) -> _IndexedOperand:
    shape = value.type.shape or ()
    first = len(sizes) - len(shape)
    axes = []
    for at, size in enumerate(shape):
        if size is None:
            step = writer.assign(f"1 if {value.text}.shape[{at}] != 1 else 0")
        else:
            step = "0" if size == 1 and sizes[first + at] != "1" else "1"
        axes.append((first + at, step))
    return _IndexedOperand(value.text, value.type, tuple(axes))


def emit_broadcast_copy(writer: ArrayEmitter, value: TypedExpression, sizes: Sequence[str]) -> str:
    """Emit a copy of an array, broadcast to these sizes."""
    made, place = emit_empty(writer, sizes, value.type), _index_operand(writer, value, sizes)
    with _ElementLoops(writer, sizes) as at:
        writer.emit(f"{made}[{', '.join(at)}] = {_substitute_indices(_element_expression(place), at)}")
    return made


def _element_expression(place: _IndexedOperand) -> str:
    """Text of an element in its lane; the indices are `axis_0_`, `axis_1_`, ..."""
    if place.type.is_scalar:
        return place.text
    indices = [{"1": f"axis_{axis}_", "0": "0"}.get(step, f"axis_{axis}_ * {step}") for axis, step in place.result_axes]
    return f"{LANE_TYPES[lane(place.type.dtype)]}({place.text}[{', '.join(indices)}])"


def _substitute_indices(text: str, at: Sequence[str]) -> str:
    for axis in reversed(range(len(at))):
        text = text.replace(f"axis_{axis}_", at[axis])
    return text


def broadcast_sizes(writer: ArrayEmitter, values: Sequence[TypedExpression], trap: Callable[[str], None]) -> list[str]:
    """Text of the sizes to which values broadcast; `trap` emits the trap for a condition under which they do not."""
    shapes = [(value, value.type.shape) for value in values if value.type.shape]
    rank = max(len(shape) for _, shape in shapes)
    made = []
    for axis in range(rank):
        known: set[int] = set()
        open_ = []
        for value, shape in shapes:
            at = axis - (rank - len(shape))
            if at >= 0 and shape[at] is None:
                open_.append(f"{value.text}.shape[{at}]")
            elif at >= 0:
                known.add(shape[at] or 0)
        fixed = max(known - {1}, default=1) if known - {1} or not open_ else None
        made.append(_broadcast_size(writer, trap, fixed, open_))
    return made


def _broadcast_size(writer: ArrayEmitter, trap: Callable[[str], None], fixed: int | None, open_: Sequence[str]) -> str:
    """One size of the result: from a static size other than 1, if there is one, and the dynamic sizes."""
    if fixed is not None:
        for size in open_:
            trap(f"{size} != {fixed} and {size} != 1")
        return str(fixed)
    size = writer.assign(open_[0])
    for other in open_[1:]:
        trap(f"{size} != 1 and {other} != 1 and {other} != {size}")
        size = writer.assign(f"{other} if {size} == 1 else {size}")
    return size


class _ElementLoops:
    """A context inside the loops over all elements; yields the index names."""

    def __init__(self, writer: ArrayEmitter, sizes: Sequence[str]) -> None:
        self.writer, self.sizes, self.exit_stack = writer, sizes, ExitStack()

    def __enter__(self) -> list[str]:
        writer, names = self.writer, [self.writer.fresh_name("i") for _ in self.sizes]
        for name, size in zip(names[:-1], self.sizes, strict=False):
            self.exit_stack.enter_context(writer.block(f"for {name} in range({size}):"))
        begin, size = writer.fresh_name("i"), self.sizes[-1]
        self.exit_stack.enter_context(writer.block(f"for {begin} in range(0, {size}, {STRIP_ELEMENTS}):"))
        writer.emit_poll()
        end = f"min({begin} + {STRIP_ELEMENTS}, {size})"
        self.exit_stack.enter_context(writer.block(f"for {names[-1]} in range({begin}, {end}):"))
        return names

    def __exit__(self, *_: object) -> None:
        self.exit_stack.close()


def _emit_ufunc_call(
    writer: ArrayEmitter, node: Node, places: Sequence[_IndexedOperand], sizes: Sequence[str], made: str, result: Type
) -> None:
    """Emit a NumPy loop on copies of the operands, broadcast to the result's shape."""
    wide = Type(ufunc_dtype(node), result.shape)
    copies = [emit_empty(writer, sizes, wide) for _ in places]
    with _ElementLoops(writer, sizes) as at:
        for copy, place in zip(copies, places, strict=True):
            writer.emit(f"{copy}[{', '.join(at)}] = {_substitute_indices(_element_expression(place), at)}")
    into = made if result.dtype is wide.dtype else copies[0]
    writer.emit(f"n.{ufunc_name(node)}({', '.join([*copies, into])})")
    if into is not made:
        with _ElementLoops(writer, sizes) as at:
            writer.emit(f"{made}[{', '.join(at)}] = {into}[{', '.join(at)}]")


def emit_draw(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit a draw: a scalar, an array of static size, or a permutation."""
    texts = [value.text for value in inputs]
    if node.op == "permutation":
        writer.emit_trap(node, inputs, f"{texts[0]} < 0")
        writer.emit_memory_exit(node, inputs, f"{texts[0]} > {MAX_ELEMENTS}")
        return writer.assign(f"d.permutation({writer.emit_draw_key(node)}, {texts[0]})")
    if node.op == "integers":
        writer.emit_trap(node, inputs, f"{texts[0]} >= {texts[1]}")
    result, key = node.results[0].type, writer.emit_draw_key(node)
    if result.is_scalar:
        return writer.assign(_draw_expression(node, key, "0", texts))
    sizes = [str(size) for size in result.shape or ()]
    if math.prod(filter(None, result.shape or ())) > MAX_ELEMENTS:
        writer.emit_memory_exit(node, inputs, "True")
    made = emit_empty(writer, sizes, result)
    flat, index = writer.assign(f"{made}.reshape(-1)"), writer.fresh_name("i")
    with writer.block(f"for {index} in range({flat}.size):"):
        writer.emit(f"{flat}[{index}] = {_draw_expression(node, key, index, texts)}")
    return made


def _draw_expression(node: Node, key: str, index: str, texts: Sequence[str]) -> str:
    return f"d.{node.op}({', '.join([f'd.splitmix64({key}, uint64({index}))', *texts])})"
