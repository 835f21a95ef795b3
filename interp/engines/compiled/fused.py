"""Code generation for chains (chains.py): loops over blocks of elements, in stages.

A sum over a loop is a sum of block sums, each stored in its own place: it does not depend on the number of cores, and
the summed array need not be written.

Where sizes are dynamic, the code checks whether all arrays of a loop have one shape, and broadcasts them otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from ....core import dtypes
from ....core.dtypes import DType
from ....core.program.program import Node, Operand
from ....core.types import Type
from ....core.value import Literal
from ..jit import kernels
from ..jit.kernels import LANE_TYPES, lane
from ..jit.state import PARALLEL_MIN_ELEMENTS
from . import elementwise as arrays
from . import layout, products
from .chains import (
    BLOCK_ELEMENTS,
    FusedChain,
    FusedLoop,
    assign_stages,
    exceeds_max_elements,
    is_ufunc_node,
    ufunc_dtype,
    ufunc_name,
)
from .elementwise import ArrayEmitter, TypedExpression, emit_empty, emit_empty_together

TINY_ELEMENTS = 1024
"""Arrays of at most this many elements share one allocation, which is freed with the last of them."""


def emit_chain(
    writer: ArrayEmitter, links: FusedChain, value: Callable[[Operand], TypedExpression]
) -> dict[Operand, TypedExpression]:
    """Emit a chain; return at least the values that others use."""
    inside = {node.name for node in links.nodes}
    operands = dict.fromkeys(operand for node in links.nodes for operand in node.inputs if operand not in inside)
    values = {operand: value(operand) for operand in operands}
    outside = dict(values)
    for loop in links.loops:
        given = [values[operand] for operand in loop.inputs]
        sizes, stretched = _emit_common_shape(writer, links, given, outside)
        if loop.outputs or loop.sum_node:
            read = {**values, **dict(zip(loop.inputs, stretched, strict=True))}
            values.update(_FusedLoopEmitter(writer, loop, read, sizes).emit_loop())
    return values


def _emit_common_shape(
    writer: ArrayEmitter,
    links: FusedChain,
    given: Sequence[TypedExpression],
    outside: Mapping[Operand, TypedExpression],
) -> tuple[list[str], list[TypedExpression]]:
    """Emit the broadcast sizes of the arrays, and copies broadcast to these where needed."""
    sizes, same = _common_sizes(given)
    held = [outside[operand] for operand in links.inputs]
    if not same:
        _emit_size_check(writer, links, held, sizes)
        return sizes, list(given)
    sizes = [writer.assign(size) for size in sizes]
    differ = writer.assign(f"not ({' and '.join(same)})")
    with writer.block(f"if {differ}:"):
        found = arrays.broadcast_sizes(writer, given, lambda condition: writer.emit_trap(links, held, condition))
        for size, text in zip(sizes, found, strict=True):
            writer.emit(f"{size} = {text}")
    _emit_size_check(writer, links, held, sizes)
    stretched = [TypedExpression(writer.assign(text), type_) for text, type_ in given]
    with writer.block(f"if {differ}:"):
        for value in stretched:
            writer.emit(f"{value.text} = {arrays.emit_broadcast_copy(writer, value, sizes)}")
    return sizes, stretched


def _emit_size_check(
    writer: ArrayEmitter, links: FusedChain, held: Sequence[TypedExpression], sizes: Sequence[str]
) -> None:
    if exceeds_max_elements(sizes) != "False":
        writer.emit_memory_exit(links, held, exceeds_max_elements(sizes))


def _common_sizes(values: Sequence[TypedExpression]) -> tuple[list[str], list[str]]:
    """Text of the sizes of arrays that may have one shape, and of the condition under which they do."""
    sizes, same = [], []
    for axis in range(len(values[0].type.shape or ())):
        found = [(value.type.shape or ())[axis] for value in values]
        known = {str(size) for size in found if size is not None}
        open_ = [f"{value.text}.shape[{axis}]" for value, size in zip(values, found, strict=True) if size is None]
        first, *others = [*known, *dict.fromkeys(open_)]
        sizes.append(first)
        same += [f"{other} == {first}" for other in others]
    return sizes, same


def _lane_expression(value: TypedExpression) -> str:
    return f"{LANE_TYPES[lane(value.type.dtype)]}({value.text})"


def _emit_empty_separately(writer: ArrayEmitter, sizes: Sequence[str], types: Sequence[Type]) -> list[str]:
    return [emit_empty(writer, sizes, each) for each in types]


class _FusedLoopEmitter:
    """Emits one loop of a chain, in stages."""

    def __init__(
        self, writer: ArrayEmitter, loop: FusedLoop, given: Mapping[Operand, TypedExpression], sizes: Sequence[str]
    ) -> None:
        self.writer, self.loop, self.operands, self.sizes = writer, loop, given, sizes
        self.stages = assign_stages(loop)
        self.nodes = {node.name: node for node in loop.nodes}
        self.block_arrays: dict[Operand, str] = {}
        """Where the elements of a block are in memory: those of operands, and those of stored values."""
        self.converted_blocks: dict[tuple[str, int], str] = {}
        """The same for copies in the dtype of a NumPy loop: of a node's operand by its position, and of its result, at
        position -1."""
        self.element_names: dict[Operand, str] = {}
        self.index = writer.fresh_name("i")
        self.block_sums = ""
        """The array of block sums, if there are any: they are added in one order, whichever thread computed them."""
        self.sum_lane = LANE_TYPES[lane(loop.sum_node.results[0].type.dtype)] if loop.sum_node else ""

    def emit_loop(self) -> dict[str, TypedExpression]:
        writer = self.writer
        types, make = (
            [self.nodes[name].results[0].type for name in self.loop.outputs],
            emit_empty_together if self.is_tiny else _emit_empty_separately,
        )
        made = dict(zip(self.loop.outputs, make(writer, self.sizes, types), strict=True))
        for text in made.values() if not self.is_small else ():
            writer.emit(f"n.advise_huge_pages({text})")
        whole: dict[Operand, TypedExpression] = {operand: self.operands[operand] for operand in self.loop.inputs}
        whole |= {name: TypedExpression(text, self.nodes[name].results[0].type) for name, text in made.items()}
        scalars: dict[Operand, TypedExpression] = {
            operand: self.operands[operand]
            for node in self.loop.nodes
            for operand in node.inputs
            if operand not in self.nodes and self.type_of(operand).is_scalar and not isinstance(operand, Literal)
        }
        count = writer.assign(f"{next(iter(whole.values())).text}.size")
        values = {name: TypedExpression(text, self.nodes[name].results[0].type) for name, text in made.items()}
        if self.loop.sum_node is None:
            self.emit_parallel(whole, scalars, count)
            return values
        sum_ = self.loop.sum_node.results[0]
        self.block_sums = writer.assign(
            f"np.zeros(({count} + {BLOCK_ELEMENTS - 1}) // {BLOCK_ELEMENTS}, np.{self.sum_lane})"
        )
        self.emit_parallel(whole, scalars, count)
        return {
            **values,
            sum_.name: TypedExpression(products.emit_full_sum(writer, self.loop.sum_node, self.block_sums), sum_.type),
        }

    @property
    def is_small(self) -> bool:
        """Whether the element count is static and small."""
        return all(size.isdigit() for size in self.sizes) and math.prod(map(int, self.sizes)) < PARALLEL_MIN_ELEMENTS

    @property
    def is_tiny(self) -> bool:
        """Whether allocating the arrays takes as long as computing them."""
        return self.is_small and math.prod(map(int, self.sizes)) <= TINY_ELEMENTS

    def emit_parallel(
        self, whole: Mapping[Operand, TypedExpression], scalars: Mapping[Operand, TypedExpression], count: str
    ) -> None:
        """Outline the loop as a function that the thread pool runs (jit.thread_pool). Its operands are passed in
        words."""
        writer = self.writer
        sums, at_sums = self.block_sums, 2 + len(whole) + len(scalars)
        with writer.outline() as (part, c):
            state = writer.assign(f"m.read_i({c}, 0)")
            size = writer.assign(f"m.read_i({c}, 1)")
            flat = {operand: writer.assign(f"m.read_i({c}, {at})") for at, operand in enumerate(whole, 2)}
            for at, (operand, (_, type_)) in enumerate(scalars.items(), 2 + len(whole)):
                text = writer.assign(f"m.read_{lane(type_.dtype)}({c}, {at})")
                self.operands = {**self.operands, operand: TypedExpression(text, type_)}
            if sums:
                blocks = f"({size} + {BLOCK_ELEMENTS - 1}) // {BLOCK_ELEMENTS}"
                self.block_sums = writer.assign(f"w.array_at(m.read_i({c}, {at_sums}), {blocks}, np.{self.sum_lane})")
            self.emit_blocks(flat, state)
        self.block_sums = sums
        given = [*(value.text for value in whole.values()), *(_lane_expression(value) for value in scalars.values())]
        address = writer.assign(f"e.pack_words((s, {', '.join([count, *given, *[sums] * bool(sums)])}))")
        part = writer.module.outline_aliases[part]
        with writer.block(f"if not w.parallel_for_large(s, {part}(), {address}, {count}):"):
            writer.emit("raise MemoryError")
        held = [*[sums] * bool(sums), *(value.text for value in whole.values())]
        writer.emit(f"w.keep_alive(({', '.join(held)},))")
        if not self.is_small:
            writer.emit_poll()

    def emit_blocks(self, whole: Mapping[Operand, str], state: str) -> None:
        """Emit the loop over the blocks of elements `first` to `last` (exclusive)."""
        writer = self.writer
        buffers, begin = self.buffer_dtypes(), writer.fresh_name("i")
        width = writer.assign(f"(min({BLOCK_ELEMENTS}, last - first) + 7) // 8 * 64")
        memory = writer.assign(f"e.empty(({len(buffers)} * {width},), np.uint8)") if buffers else ""
        with writer.block(f"for {begin} in range(first, last, {BLOCK_ELEMENTS}):"):
            writer.emit(f"if m.load_relaxed({state}) != 0: return")
            count = writer.assign(f"min({BLOCK_ELEMENTS}, last - {begin})")
            for operand, address in whole.items():
                dtype = self.type_of(operand).dtype
                kind = layout.numpy_dtype(layout.numba_dtype(dtype))
                place = f"{address} + {dtype.numpy.itemsize} * {begin}"
                self.block_arrays[operand] = writer.assign(f"w.array_at({place}, {count}, {kind})")
            for at, (key, dtype) in enumerate(buffers.items()):
                kind = layout.numpy_dtype(layout.numba_dtype(dtype))
                place = f"w.data_address({memory}) + {at} * {width}"
                block = writer.assign(f"w.array_at({place}, {count}, {kind})")
                if isinstance(key, str):
                    self.block_arrays[key] = block
                else:
                    self.converted_blocks[key] = block
            for stage in range(self.stages.count):
                self.emit_stage(stage, count)
            if self.loop.sum_node:
                block = self.block_arrays[self.loop.sum_node.inputs[0]]
                writer.emit(f"{self.block_sums}[{begin} // {BLOCK_ELEMENTS}] = p.sum_all({block}, {self.sum_lane}(0))")
        if buffers:
            writer.emit(f"w.keep_alive({memory})")

    def buffer_dtypes(self) -> dict[str | tuple[str, int], DType]:
        """The buffers of a block and their dtypes: values by name, copies as in `converted_blocks`."""
        found: dict[str | tuple[str, int], DType] = {
            node.name: node.results[0].type.dtype
            for node in self.loop.nodes
            if node.name in self.stages.stored_values and node.name not in self.loop.outputs
        }
        for node in filter(is_ufunc_node, self.loop.nodes):
            dtype = ufunc_dtype(node)
            types = [*map(self.type_of, node.inputs), node.results[0].type]
            for at, type_ in zip([*range(len(node.inputs)), -1], types, strict=True):
                if type_.is_scalar or type_.dtype is not dtype:
                    found[node.name, at] = dtype
        return found

    def type_of(self, operand: Operand) -> Type:
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
            with self.writer.block(f"for {self.index} in range({count}):"):
                for line in body:
                    self.writer.emit(line)
        for call in calls:
            self.writer.emit(call)

    def assign_element(self, node: Node, text: str) -> list[str]:
        """Lines that assign an element to a variable, and to its buffer if it has one."""
        name = self.element_names[node.name] = self.writer.fresh_name()
        stored = (
            [f"{self.block_arrays[node.name]}[{self.index}] = {name}"] if node.name in self.stages.stored_values else []
        )
        is_narrow = node.results[0].type.dtype is dtypes.float32
        return [f"{name} = float32({text})" if is_narrow else f"{name} = {text}", *stored]

    def element_expression(self, operand: Operand, lines: list[str]) -> str:
        """Text of an element of an operand: float32 in its own dtype, others in their lane. Appends the line that loads
        it, if needed."""
        dtype = self.type_of(operand).dtype
        if self.type_of(operand).is_scalar:
            text = self.operands[operand].text
            return f"float32({text})" if dtype is dtypes.float32 else text
        if operand not in self.element_names:
            self.element_names[operand] = self.writer.fresh_name()
            read = f"{self.block_arrays[operand]}[{self.index}]"
            text = read if dtype is dtypes.float32 else f"{LANE_TYPES[lane(dtype)]}({read})"
            lines.append(f"{self.element_names[operand]} = {text}")
        return self.element_names[operand]

    def lane_expression(self, operand: Operand, lines: list[str]) -> str:
        text = self.element_expression(operand, lines)
        return f"float64({text})" if self.type_of(operand).dtype is dtypes.float32 else text

    def op_lines(self, node: Node) -> list[str]:
        lines: list[str] = []
        dtypes_, result = [self.type_of(operand).dtype for operand in node.inputs], node.results[0].type.dtype
        form = kernels.native_width_format(node.op, dtypes_, result)
        if form is not None:
            texts = [self.element_expression(operand, lines) for operand in node.inputs]
            return lines + self.assign_element(node, form.format(*texts))
        texts = [self.lane_expression(operand, lines) for operand in node.inputs]
        text = kernels.expression(node.op, list(map(Type, dtypes_)), Type(result), node.attributes, texts)
        return lines + self.assign_element(node, text)

    def copy_lines(self, node: Node) -> list[str]:
        """Lines that copy the operands of a NumPy loop that are not in memory in its dtype."""
        lines: list[str] = []
        for at, operand in enumerate(node.inputs):
            if (node.name, at) in self.converted_blocks:
                text = self.lane_expression(operand, lines)
                lines.append(f"{self.converted_blocks[node.name, at]}[{self.index}] = {text}")
        return lines

    def ufunc_call(self, node: Node) -> str:
        places = [
            self.converted_blocks.get((node.name, at)) or self.block_arrays[each] for at, each in enumerate(node.inputs)
        ]
        result = self.converted_blocks.get((node.name, -1)) or self.block_arrays[node.name]
        return f"n.{ufunc_name(node)}({', '.join([*places, result])})"
