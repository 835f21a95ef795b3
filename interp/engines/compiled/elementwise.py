"""Code generation for elementwise ops on arrays: one op as nested loops; a chain of ops (`fusion`) as fused loops over
blocks of elements, in stages. Also array literals, draws, and sums of all elements, with which a fused loop may end.

Elements are computed as scalars are, except by functions whose last bits NumPy decides (jit.numpy_loops). Where sizes
are dynamic, they are checked: an op whose operands do not broadcast traps before any other check. For a chain, the code
checks whether all arrays of a loop have one shape, and broadcasts them otherwise.

A sum over a loop is a sum of block sums, each stored in its own place: it does not depend on the number of cores, and
the summed array need not be written.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from ....core import dtypes
from ....core.dtypes import DType
from ....core.ops.effects import EFFECT_OPS
from ....core.ops.op import MAX_ELEMENTS, dynamic_size_count
from ....core.program.program import Node, Operand
from ....core.types import Type
from ....core.value import Literal
from ..jit import kernels
from ..jit.kernels import LANE_TYPES, lane
from ..jit.state import PARALLEL_MIN_ELEMENTS
from .emitter import FunctionEmitter, TypedExpression
from .fusion import (
    BLOCK_ELEMENTS,
    FusedChain,
    FusedLoop,
    assign_stages,
    is_ufunc_node,
    ufunc_dtype,
    ufunc_name,
)
from .layout import numba_dtype, numpy_dtype

_ALIGNMENT = 64
"""The bytes of a cache line."""
TINY_ELEMENTS = 1024
"""Arrays of at most this many elements share one allocation, which is freed with the last of them."""
STRIP_ELEMENTS = 4096
"""The elements of an innermost axis that are computed between two polls."""


def emit_empty(emitter: FunctionEmitter, sizes: Sequence[str], type_: Type) -> str:
    """Emit an array whose elements are not written yet."""
    emitter.emit_memory_charge(sizes, type_.dtype)
    return emitter.assign(f"e.empty(({', '.join(sizes)},), {numpy_dtype(numba_dtype(type_.dtype))})")


def flat_expression(array: str) -> str:
    """Text of a view of all elements of an array, with one axis."""
    return f"e.subarray({array}, 0, ({array}.size,))"


def emit_empty_together(emitter: FunctionEmitter, sizes: Sequence[str], types: Sequence[Type]) -> list[str]:
    """Allocate arrays of the same static, small sizes in one block: to allocate and free an array takes 50 ns, as long
    as computing 64 elements."""
    if len(types) < 2:
        return [emit_empty(emitter, sizes, type_) for type_ in types]
    count, ends = math.prod(map(int, sizes)), [0]
    for type_ in types:
        ends.append(ends[-1] + -(count * type_.dtype.numpy.itemsize // -_ALIGNMENT) * _ALIGNMENT)
    block, shape = emitter.assign(f"e.empty(({ends[-1]},), np.uint8)"), f"({', '.join(sizes)},)"
    return [
        emitter.assign(f"e.array_in_block({block}, {begin}, {shape}, {numpy_dtype(numba_dtype(type_.dtype))})")
        for begin, type_ in zip(ends[:-1], types, strict=True)
    ]


def emit_array_literal(emitter: FunctionEmitter, array: Any, type_: Type) -> str:
    """Emit an array literal: a copy of a constant of the module."""
    if not array.size:
        return emit_empty(emitter, list(map(str, array.shape)), type_)
    constants, native = emitter.module.constants, numba_dtype(type_.dtype).replace("boolean", "bool")
    encoded = base64.b64encode(array.astype(type_.dtype.numpy).tobytes()).decode()
    name = constants.setdefault(f'e.decode_array("{encoded}", "{native}", {array.shape})', f"c{len(constants)}")
    emitter.emit_memory_charge(list(map(str, array.shape)), type_.dtype)
    return emitter.assign(f"e.copy_constant({name})")


def emit_elementwise(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit an elementwise op on arrays, or on arrays and scalars."""
    result = node.results[0].type
    sizes = broadcast_sizes(emitter, inputs, lambda condition: emitter.emit_trap(node, inputs, condition))
    emitter.emit_size_check(node, inputs, sizes)
    operands = [index_operand(emitter, value, sizes) for value in inputs]
    scalars = [Type(value.type.dtype) for value in inputs]
    condition = kernels.trap_condition(
        node.op, scalars, Type(result.dtype), [element_expression(operand) for operand in operands]
    )
    if condition is not None:
        traps = emitter.assign("False")
        with element_loops(emitter, sizes) as indices:
            emitter.emit(f"{traps} = {traps} or {substitute_indices(condition, indices)}")
        emitter.emit_trap(node, inputs, traps)
    array = emit_empty(emitter, sizes, result)
    if is_ufunc_node(node):
        emit_ufunc_call(emitter, node, operands, sizes, array, result)
        return array
    texts = [element_expression(operand) for operand in operands]
    text = kernels.expression(node.op, scalars, Type(result.dtype), node.attributes, texts)
    with element_loops(emitter, sizes) as indices:
        emitter.emit(f"{array}[{', '.join(indices)}] = {substitute_indices(text, indices)}")
    return array


class IndexedOperand(NamedTuple):
    """How loops index an operand: for each of its axes, the number of the result's axis and the step, an expression
    that is 0 where the axis is broadcast. A scalar has no axes; `text` is its value."""

    text: str
    type: Type
    result_axes: tuple[tuple[int, str], ...]


def index_operand(emitter: FunctionEmitter, value: TypedExpression, sizes: Sequence[str]) -> IndexedOperand:
    """How loops over a result of these sizes index an operand."""
    shape = value.type.shape or ()
    first = len(sizes) - len(shape)
    axes = []
    for axis, size in enumerate(shape):
        if size is None:
            step = emitter.assign(f"1 if {value.text}.shape[{axis}] != 1 else 0")
        else:
            step = "0" if size == 1 and sizes[first + axis] != "1" else "1"
        axes.append((first + axis, step))
    return IndexedOperand(value.text, value.type, tuple(axes))


def emit_broadcast_copy(
    emitter: FunctionEmitter, value: TypedExpression, sizes: Sequence[str], type_: Type | None = None
) -> str:
    """Emit a copy of an array, broadcast to these sizes, with the dtype of `type_` if that is given."""
    copy, source = emit_empty(emitter, sizes, type_ or value.type), index_operand(emitter, value, sizes)
    with element_loops(emitter, sizes) as indices:
        emitter.emit(f"{copy}[{', '.join(indices)}] = {substitute_indices(element_expression(source), indices)}")
    return copy


def element_expression(operand: IndexedOperand) -> str:
    """Text of an element in its lane; the indices are `axis_0_`, `axis_1_`, ..."""
    if operand.type.is_scalar:
        return operand.text
    indices = [
        {"1": f"axis_{axis}_", "0": "0"}.get(step, f"axis_{axis}_ * {step}") for axis, step in operand.result_axes
    ]
    return f"{LANE_TYPES[lane(operand.type.dtype)]}({operand.text}[{', '.join(indices)}])"


def substitute_indices(text: str, indices: Sequence[str]) -> str:
    """The text of an element, with the names of the loop indices."""
    for axis in reversed(range(len(indices))):
        text = text.replace(f"axis_{axis}_", indices[axis])
    return text


def broadcast_sizes(
    emitter: FunctionEmitter, values: Sequence[TypedExpression], trap: Callable[[str], None]
) -> list[str]:
    """Text of the sizes to which values broadcast; `trap` emits the trap for a condition under which they do not."""
    shapes = [(value, value.type.shape) for value in values if value.type.shape]
    rank = max(len(shape) for _, shape in shapes)
    sizes = []
    for axis in range(rank):
        static_sizes: set[int] = set()
        dynamic_sizes = []
        for value, shape in shapes:
            operand_axis = axis - (rank - len(shape))
            if operand_axis >= 0 and shape[operand_axis] is None:
                dynamic_sizes.append(f"{value.text}.shape[{operand_axis}]")
            elif operand_axis >= 0:
                static_sizes.add(shape[operand_axis] or 0)
        static_size = max(static_sizes - {1}, default=1) if static_sizes - {1} or not dynamic_sizes else None
        sizes.append(_broadcast_size(emitter, trap, static_size, dynamic_sizes))
    return sizes


def _broadcast_size(
    emitter: FunctionEmitter, trap: Callable[[str], None], static_size: int | None, dynamic_sizes: Sequence[str]
) -> str:
    """One size of the result: from a static size other than 1, if there is one, and the dynamic sizes."""
    if static_size is not None:
        for size in dynamic_sizes:
            trap(f"{size} != {static_size} and {size} != 1")
        return str(static_size)
    size = emitter.assign(dynamic_sizes[0])
    for other_size in dynamic_sizes[1:]:
        trap(f"{size} != 1 and {other_size} != 1 and {other_size} != {size}")
        size = emitter.assign(f"{other_size} if {size} == 1 else {size}")
    return size


def is_static_and_small(sizes: Sequence[str]) -> bool:
    """Whether loops over these sizes certainly have few iterations, and need no poll."""
    return all(size.isdigit() for size in sizes) and math.prod(map(int, sizes)) <= STRIP_ELEMENTS


@contextmanager
def element_loops(emitter: FunctionEmitter, sizes: Sequence[str]) -> Iterator[list[str]]:
    """A context inside the loops over all elements; yields the index names. They poll after STRIP_ELEMENTS elements at
    the latest."""
    names = [emitter.fresh_name("i") for _ in sizes]
    with ExitStack() as blocks:
        for name, size in zip(names[:-1], sizes, strict=False):
            blocks.enter_context(emitter.block(f"for {name} in range({size}):"))
        begin, size = "0", sizes[-1]
        end = size
        if not is_static_and_small(sizes):
            if not is_static_and_small([size]):
                begin = emitter.fresh_name("i")
                blocks.enter_context(emitter.block(f"for {begin} in range(0, {size}, {STRIP_ELEMENTS}):"))
                end = f"m.minimum({begin} + {STRIP_ELEMENTS}, {size})"
            emitter.emit_poll()
        blocks.enter_context(emitter.block(f"for {names[-1]} in range({begin}, {end}):"))
        yield names


def emit_ufunc_call(
    emitter: FunctionEmitter,
    node: Node,
    operands: Sequence[IndexedOperand],
    sizes: Sequence[str],
    array: str,
    result: Type,
) -> None:
    """Emit a NumPy loop on copies of the operands, broadcast to the result's shape."""
    wide_type = Type(ufunc_dtype(node), result.shape)
    copies = [emit_empty(emitter, sizes, wide_type) for _ in operands]
    with element_loops(emitter, sizes) as indices:
        for copy, operand in zip(copies, operands, strict=True):
            emitter.emit(f"{copy}[{', '.join(indices)}] = {substitute_indices(element_expression(operand), indices)}")
    output = array if result.dtype is wide_type.dtype else copies[0]
    emitter.emit(f"n.{ufunc_name(node)}({', '.join([*copies, output])})")
    if output is not array:
        with element_loops(emitter, sizes) as indices:
            emitter.emit(f"{array}[{', '.join(indices)}] = {output}[{', '.join(indices)}]")


def emit_element_copy(emitter: FunctionEmitter, into: str, array: str, begin: str = "0") -> None:
    """Emit a copy of all elements of an array to an offset."""
    flat, index = emitter.assign(flat_expression(array)), emitter.fresh_name("i")
    with emitter.block(f"for {index} in range({flat}.size):"):
        emitter.emit(f"{into}[{begin} + {index}] = {flat}[{index}]")


def emit_draw(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit a draw: a scalar, an array, or a permutation."""
    count = len(inputs) - dynamic_size_count(EFFECT_OPS[node.op], dict(node.attributes))
    texts, dynamic = [value.text for value in inputs[:count]], inputs[count:]
    for size in dynamic:
        emitter.emit_trap(node, inputs, f"{size.text} < 0")
    if node.op == "permutation":
        emitter.emit_trap(node, inputs, f"{texts[0]} < 0")
        emitter.emit_memory_exit(node, inputs, f"{texts[0]} > {MAX_ELEMENTS}")
        return emitter.assign(f"d.permutation({emitter.emit_draw_key(node)}, {texts[0]})")
    if node.op == "integers":
        emitter.emit_trap(node, inputs, f"{texts[0]} >= {texts[1]}")
    result, key = node.results[0].type, emitter.emit_draw_key(node)
    if result.is_scalar:
        return emitter.assign(draw_expression(node, key, "0", texts))
    operands = iter(dynamic)
    sizes = [f"int64({next(operands).text})" if size is None else str(size) for size in node.attribute("shape")]
    emitter.emit_size_check(node, inputs, sizes)
    array = emit_empty(emitter, sizes, result)
    flat, index = emitter.assign(flat_expression(array)), emitter.fresh_name("i")
    with emitter.block(f"for {index} in range({flat}.size):"):
        emitter.emit(f"{flat}[{index}] = {draw_expression(node, key, index, texts)}")
    return array


def draw_expression(node: Node, key: str, index: str, texts: Sequence[str]) -> str:
    """Text of the number that a draw takes for an index."""
    return f"d.{node.op}({', '.join([f'd.splitmix64({key}, uint64({index}))', *texts])})"


def sum_expression(array: str, dtype: str, lane_type: str) -> str:
    """Text of the sum of all elements of an array of a dtype of numba, in a lane."""
    if dtype in ("float32", "float64"):
        return f"p.sum_{dtype}({array}, {array}.size)"
    return f"p.sum_all({array}, {lane_type}(0))"


def emit_full_sum(emitter: FunctionEmitter, node: Node, array: str, dtype: str) -> str:
    """Emit the sum of all elements of an array of a dtype of numba, as the result of a sum over all axes."""
    result = node.results[0].type
    lane_type = LANE_TYPES[lane(result.dtype)]
    text = emitter.assign(rounded_format(result).format(sum_expression(array, dtype, lane_type)))
    if result.is_scalar:
        return text
    rank = len(result.shape or ())
    array = emit_empty(emitter, ["1"] * rank, result)
    emitter.emit(f"{array}[{', '.join(['0'] * rank)}] = {text}")
    return array


def rounded_format(type_: Type) -> str:
    """A format for a sum's text: rounded to its dtype, in its lane."""
    lane_type = LANE_TYPES[lane(type_.dtype)]
    return f"{lane_type}(float32({{}}))" if numba_dtype(type_.dtype) == "float32" else f"{lane_type}({{}})"


def emit_chain(
    emitter: FunctionEmitter, chain: FusedChain, value: Callable[[Operand], TypedExpression]
) -> dict[Operand, TypedExpression]:
    """Emit a chain; return its values by operand, at least those that other nodes use."""
    own_names = {node.name for node in chain.nodes}
    operands = dict.fromkeys(operand for node in chain.nodes for operand in node.inputs if operand not in own_names)
    values = {operand: value(operand) for operand in operands}
    operand_values = dict(values)
    for loop in chain.loops:
        arrays = [values[operand] for operand in loop.inputs]
        sizes, broadcast_arrays = emit_common_shape(emitter, chain, arrays, operand_values)
        if loop.outputs or loop.sum_node:
            loop_values = {**values, **dict(zip(loop.inputs, broadcast_arrays, strict=True))}
            values.update(BlockLoop(emitter, loop, loop_values, sizes).emit_loop())
    return values


def emit_common_shape(
    emitter: FunctionEmitter,
    chain: FusedChain,
    arrays: Sequence[TypedExpression],
    operand_values: Mapping[Operand, TypedExpression],
) -> tuple[list[str], list[TypedExpression]]:
    """Emit the broadcast sizes of the arrays, and copies broadcast to these where needed."""
    sizes, conditions = common_sizes(arrays)
    operands = [operand_values[operand] for operand in chain.inputs]
    if not conditions:
        emitter.emit_size_check(chain, operands, sizes)
        return sizes, list(arrays)
    sizes = [emitter.assign(size) for size in sizes]
    is_different = emitter.assign(f"not ({' and '.join(conditions)})")
    with emitter.block(f"if {is_different}:"):
        broadcast = broadcast_sizes(emitter, arrays, lambda condition: emitter.emit_trap(chain, operands, condition))
        for size, text in zip(sizes, broadcast, strict=True):
            emitter.emit(f"{size} = {text}")
    emitter.emit_size_check(chain, operands, sizes)
    broadcast_arrays = [TypedExpression(emitter.assign(text), type_) for text, type_ in arrays]
    with emitter.block(f"if {is_different}:"):
        for value in broadcast_arrays:
            emitter.emit(f"{value.text} = {emit_broadcast_copy(emitter, value, sizes)}")
    return sizes, broadcast_arrays


def common_sizes(values: Sequence[TypedExpression]) -> tuple[list[str], list[str]]:
    """Text of the sizes of arrays that may have one shape, and of the condition under which they do."""
    sizes, conditions = [], []
    for axis in range(len(values[0].type.shape or ())):
        axis_sizes = [(value.type.shape or ())[axis] for value in values]
        static_sizes = {str(size) for size in axis_sizes if size is not None}
        dynamic_sizes = [
            f"{value.text}.shape[{axis}]" for value, size in zip(values, axis_sizes, strict=True) if size is None
        ]
        size, *more_sizes = [*static_sizes, *dict.fromkeys(dynamic_sizes)]
        sizes.append(size)
        conditions += [f"{another_size} == {size}" for another_size in more_sizes]
    return sizes, conditions


class BlockLoop:
    """One loop of a chain while it is emitted: over blocks of elements, and over each block in stages."""

    def __init__(
        self,
        emitter: FunctionEmitter,
        loop: FusedLoop,
        operands: Mapping[Operand, TypedExpression],
        sizes: Sequence[str],
    ) -> None:
        self.emitter, self.loop, self.operands, self.sizes = emitter, loop, operands, sizes
        self.stages = assign_stages(loop)
        self.nodes = {node.name: node for node in loop.nodes}
        self.block_arrays: dict[Operand, str] = {}
        """The array of a block's elements in memory, for operands and for stored values."""
        self.converted_blocks: dict[tuple[str, int], str] = {}
        """The array of a block's elements in the dtype of a NumPy loop: by node, for its operand at a position, or, at
        position -1, for its result."""
        self.element_names: dict[Operand, str] = {}
        self.index = emitter.fresh_name("i")
        self.block_sums = ""
        """The array of block sums, if there are any: they are added in one order, whichever thread computed them."""
        self.sum_lane = LANE_TYPES[lane(loop.sum_node.results[0].type.dtype)] if loop.sum_node else ""

    def emit_loop(self) -> dict[str, TypedExpression]:
        """Emit the loop; return its outputs, and its sum."""
        emitter, loop = self.emitter, self.loop
        types = [self.nodes[name].results[0].type for name in loop.outputs]
        if self.is_tiny:
            texts = emit_empty_together(emitter, self.sizes, types)
        else:
            texts = [emit_empty(emitter, self.sizes, type_) for type_ in types]
        for text in texts if not self.is_small else ():
            emitter.emit(f"n.advise_huge_pages({text}, {text}.nbytes)")
        outputs = dict(zip(loop.outputs, map(TypedExpression, texts, types), strict=True))
        arrays: dict[Operand, TypedExpression] = {operand: self.operands[operand] for operand in loop.inputs}
        arrays.update(outputs)
        scalars: dict[Operand, TypedExpression] = {
            operand: self.operands[operand]
            for node in loop.nodes
            for operand in node.inputs
            if operand not in self.nodes and self.type_of(operand).is_scalar and not isinstance(operand, Literal)
        }
        count = emitter.assign(f"{next(iter(arrays.values())).text}.size")
        if loop.sum_node:
            block_count = f"({count} + {BLOCK_ELEMENTS - 1}) // {BLOCK_ELEMENTS}"
            self.block_sums = emitter.assign(f"e.zeros(({block_count},), np.{self.sum_lane})")
        self.emit_parallel(arrays, scalars, count)
        if loop.sum_node:
            sum_variable = loop.sum_node.results[0]
            text = emit_full_sum(emitter, loop.sum_node, self.block_sums, self.sum_lane)
            outputs[sum_variable.name] = TypedExpression(text, sum_variable.type)
        return outputs

    @property
    def is_small(self) -> bool:
        """Whether the element count is static and small."""
        return all(size.isdigit() for size in self.sizes) and math.prod(map(int, self.sizes)) < PARALLEL_MIN_ELEMENTS

    @property
    def is_tiny(self) -> bool:
        """Whether the arrays are so small that allocating one takes as long as computing it."""
        return self.is_small and math.prod(map(int, self.sizes)) <= TINY_ELEMENTS

    def emit_parallel(
        self, arrays: Mapping[Operand, TypedExpression], scalars: Mapping[Operand, TypedExpression], count: str
    ) -> None:
        """Outline the loop as a function that the thread pool runs (jit.function_code); its operands are passed
        in words."""
        emitter = self.emitter
        sums, sums_index = self.block_sums, 2 + len(arrays) + len(scalars)
        with emitter.outline() as (function, c):
            state = emitter.assign(f"m.read_i({c}, 0)")
            word_indices = {operand: index for index, operand in enumerate(arrays, 2)}
            for index, (operand, (_, type_)) in enumerate(scalars.items(), 2 + len(arrays)):
                text = emitter.assign(f"m.read_{lane(type_.dtype)}({c}, {index})")
                self.operands = {**self.operands, operand: TypedExpression(text, type_)}
            if sums:
                blocks = f"(m.read_i({c}, 1) + {BLOCK_ELEMENTS - 1}) // {BLOCK_ELEMENTS}"
                self.block_sums = emitter.assign(
                    f"w.array_at(m.read_i({c}, {sums_index}), {blocks}, np.{self.sum_lane})"
                )
            self.emit_blocks(c, word_indices, state)
        self.block_sums = sums
        words = [value.text for value in arrays.values()]
        words += [f"{LANE_TYPES[lane(type_.dtype)]}({text})" for text, type_ in scalars.values()]
        words += [sums] * bool(sums)
        emitter.emit(f"{emitter.module.outline_aliases[function]}(s, {count}, ({', '.join(words)},))")
        if not self.is_small:
            emitter.emit_poll()

    def emit_blocks(self, words: str, word_indices: Mapping[Operand, int], state: str) -> None:
        """Emit the loop over the blocks of elements `first` to `last` (exclusive) of arrays whose addresses are in
        words."""
        emitter = self.emitter
        buffers, begin = self.buffer_dtypes(), emitter.fresh_name("i")
        width = memory = ""
        if buffers:
            width = emitter.assign(f"(m.minimum({BLOCK_ELEMENTS}, last - first) + 7) // 8 * 64")
            memory = emitter.assign(f"e.empty(({len(buffers)} * {width},), np.uint8)")
        with emitter.block(f"for {begin} in range(first, last, {BLOCK_ELEMENTS}):"):
            emitter.emit(f"if m.load_relaxed({state}) != 0: return")
            count = emitter.assign(f"m.minimum({BLOCK_ELEMENTS}, last - {begin})")
            for operand, index in word_indices.items():
                kind = numpy_dtype(numba_dtype(self.type_of(operand).dtype))
                self.block_arrays[operand] = emitter.assign(f"w.block_at({words}, {index}, {begin}, {count}, {kind})")
            for number, (key, dtype) in enumerate(buffers.items()):
                kind = numpy_dtype(numba_dtype(dtype))
                block_address = f"w.data_address({memory}) + {number} * {width}"
                block = emitter.assign(f"w.array_at({block_address}, {count}, {kind})")
                if isinstance(key, str):
                    self.block_arrays[key] = block
                else:
                    self.converted_blocks[key] = block
            for stage in range(self.stages.count):
                self.emit_stage(stage, count)
            if self.loop.sum_node:
                block = self.block_arrays[self.loop.sum_node.inputs[0]]
                kind = numba_dtype(self.type_of(self.loop.sum_node.inputs[0]).dtype)
                block_sum = sum_expression(block, kind, self.sum_lane)
                emitter.emit(f"{self.block_sums}[{begin} // {BLOCK_ELEMENTS}] = {block_sum}")
        if buffers:
            emitter.emit(f"w.keep_alive({memory})")

    def buffer_dtypes(self) -> dict[str | tuple[str, int], DType]:
        """The buffers of a block and their dtypes: values by name, copies as in `converted_blocks`."""
        buffers: dict[str | tuple[str, int], DType] = {
            node.name: node.results[0].type.dtype
            for node in self.loop.nodes
            if node.name in self.stages.stored_values and node.name not in self.loop.outputs
        }
        for node in filter(is_ufunc_node, self.loop.nodes):
            dtype = ufunc_dtype(node)
            types = [*map(self.type_of, node.inputs), node.results[0].type]
            for position, type_ in zip([*range(len(node.inputs)), -1], types, strict=True):
                if type_.is_scalar or type_.dtype is not dtype:
                    buffers[node.name, position] = dtype
        return buffers

    def type_of(self, operand: Operand) -> Type:
        """The type of an operand or of a node of the loop."""
        if isinstance(operand, str) and operand in self.nodes:
            return self.nodes[operand].results[0].type
        return self.operands[operand].type

    def emit_stage(self, stage: int, count: str) -> None:
        """Emit a stage: a loop over the elements of a block, then calls of NumPy's loops on the results."""
        self.element_names, body, calls = {}, list[str](), list[str]()
        for node in self.loop.nodes:
            if self.stages.ready_stage[node.name] == stage and (node.name, -1) in self.converted_blocks:
                body += self.assign_element(node, f"{self.converted_blocks[node.name, -1]}[{self.index}]")
        for node in self.loop.nodes:
            if self.stages.stage_of[node.name] != stage:
                continue
            if is_ufunc_node(node):
                body += self.copy_lines(node)
                calls.append(self.ufunc_call(node))
            else:
                body += self.op_lines(node)
        if body:
            with self.emitter.block(f"for {self.index} in range({count}):"):
                for line in body:
                    self.emitter.emit(line)
        for call in calls:
            self.emitter.emit(call)

    def assign_element(self, node: Node, text: str) -> list[str]:
        """Lines that assign an element to a variable, and to its buffer if it has one."""
        name = self.element_names[node.name] = self.emitter.fresh_name()
        stored_text = (
            [f"{self.block_arrays[node.name]}[{self.index}] = {name}"] if node.name in self.stages.stored_values else []
        )
        is_narrow = node.results[0].type.dtype is dtypes.float32
        return [f"{name} = float32({text})" if is_narrow else f"{name} = {text}", *stored_text]

    def element_expression(self, operand: Operand, lines: list[str]) -> str:
        """Text of an element of an operand: float32 in its own dtype, others in their lane. Appends the line that loads
        it, if needed."""
        dtype = self.type_of(operand).dtype
        if self.type_of(operand).is_scalar:
            text = self.operands[operand].text
            return f"float32({text})" if dtype is dtypes.float32 else text
        if operand not in self.element_names:
            self.element_names[operand] = self.emitter.fresh_name()
            element = f"{self.block_arrays[operand]}[{self.index}]"
            text = element if dtype is dtypes.float32 else f"{LANE_TYPES[lane(dtype)]}({element})"
            lines.append(f"{self.element_names[operand]} = {text}")
        return self.element_names[operand]

    def lane_expression(self, operand: Operand, lines: list[str]) -> str:
        """Text of an element of an operand in its lane."""
        text = self.element_expression(operand, lines)
        return f"float64({text})" if self.type_of(operand).dtype is dtypes.float32 else text

    def op_lines(self, node: Node) -> list[str]:
        """Lines that compute an element of a node."""
        lines: list[str] = []
        dtypes_, result = [self.type_of(operand).dtype for operand in node.inputs], node.results[0].type.dtype
        op_format = kernels.native_width_format(node.op, dtypes_, result)
        if op_format is not None:
            texts = [self.element_expression(operand, lines) for operand in node.inputs]
            return lines + self.assign_element(node, op_format.format(*texts))
        texts = [self.lane_expression(operand, lines) for operand in node.inputs]
        text = kernels.expression(node.op, list(map(Type, dtypes_)), Type(result), node.attributes, texts)
        return lines + self.assign_element(node, text)

    def copy_lines(self, node: Node) -> list[str]:
        """Lines that copy those operands of a NumPy loop that are not in memory in its dtype."""
        lines: list[str] = []
        for position, operand in enumerate(node.inputs):
            if (node.name, position) in self.converted_blocks:
                text = self.lane_expression(operand, lines)
                lines.append(f"{self.converted_blocks[node.name, position]}[{self.index}] = {text}")
        return lines

    def ufunc_call(self, node: Node) -> str:
        """The call of the NumPy loop that computes a block of a node."""
        operand_blocks = [
            self.converted_blocks.get((node.name, position)) or self.block_arrays[operand]
            for position, operand in enumerate(node.inputs)
        ]
        result = self.converted_blocks.get((node.name, -1)) or self.block_arrays[node.name]
        return f"n.{ufunc_name(node)}({', '.join([*operand_blocks, result])})"
