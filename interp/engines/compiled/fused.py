"""The text of chains: loops over blocks of elements, in stages (chains.py says which).

A sum of all that a loop makes is one of sums of its blocks, each in a place of its own: it does not depend on how many
cores there are, and what is summed need not be written.

Where types leave sizes open, it is asked whether all arrays of a loop are of one shape; if they are not, they are
stretched to the one that they broadcast to.
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
from ..jit.kernels import LANES, lane
from ..jit.state import LARGE
from . import elementwise as arrays
from . import layout, products
from .chains import BLOCK, Chain, Loop, by_numpy, called, computed_in, staged, too_many
from .elementwise import Value, Writer, beside, empty

TINY = 1024
"""Of how many elements arrays are made in one piece of memory, which is there as long as one of them."""


def chain(writer: Writer, links: Chain, value: Callable[[Operand], Value]) -> dict[Operand, Value]:
    """Write a chain; the values that others use, among others."""
    inside = {node.name for node in links.nodes}
    operands = dict.fromkeys(operand for node in links.nodes for operand in node.inputs if operand not in inside)
    values = {operand: value(operand) for operand in operands}
    outside = dict(values)
    for loop in links.loops:
        given = [values[operand] for operand in loop.given]
        sizes, stretched = _of_one_shape(writer, links, given, outside)
        if loop.kept or loop.total:
            read = {**values, **dict(zip(loop.given, stretched, strict=True))}
            values.update(_Loops(writer, loop, read, sizes).written())
    return values


def _of_one_shape(
    writer: Writer, links: Chain, given: Sequence[Value], outside: Mapping[Operand, Value]
) -> tuple[list[str], list[Value]]:
    """The sizes to which arrays broadcast, and the arrays stretched to these, if they are not so already."""
    sizes, same = _sizes(given)
    held = [outside[operand] for operand in links.given]
    if not same:
        _check_size(writer, links, held, sizes)
        return sizes, list(given)
    sizes = [writer.made_of(size) for size in sizes]
    differ = writer.made_of(f"not ({' and '.join(same)})")
    with writer.inside(f"if {differ}:"):
        found = arrays.broadcast(writer, given, lambda condition: writer.trap(links, held, condition))
        for size, text in zip(sizes, found, strict=True):
            writer.line(f"{size} = {text}")
    _check_size(writer, links, held, sizes)
    stretched = [Value(writer.made_of(text), type_) for text, type_ in given]
    with writer.inside(f"if {differ}:"):
        for value in stretched:
            writer.line(f"{value.text} = {arrays.stretched(writer, value, sizes)}")
    return sizes, stretched


def _check_size(writer: Writer, links: Chain, held: Sequence[Value], sizes: Sequence[str]) -> None:
    if too_many(sizes) != "False":
        writer.too_large(links, held, too_many(sizes))


def _sizes(values: Sequence[Value]) -> tuple[list[str], list[str]]:
    """Text of the sizes of arrays that may be of one shape, and what must hold for that."""
    sizes, same = [], []
    for axis in range(len(values[0].type.shape or ())):
        found = [(value.type.shape or ())[axis] for value in values]
        known = {str(size) for size in found if size is not None}
        open_ = [f"{value.text}.shape[{axis}]" for value, size in zip(values, found, strict=True) if size is None]
        first, *others = [*known, *dict.fromkeys(open_)]
        sizes.append(first)
        same += [f"{other} == {first}" for other in others]
    return sizes, same


def _in_lane(value: Value) -> str:
    return f"{LANES[lane(value.type.dtype)]}({value.text})"


def _apart(writer: Writer, sizes: Sequence[str], types: Sequence[Type]) -> list[str]:
    return [empty(writer, sizes, each) for each in types]


class _Loops:
    """Writes one loop of a chain, in stages."""

    def __init__(self, writer: Writer, loop: Loop, given: Mapping[Operand, Value], sizes: Sequence[str]) -> None:
        self.writer, self.loop, self.given, self.sizes = writer, loop, given, sizes
        self.stages = staged(loop)
        self.nodes = {node.name: node for node in loop.nodes}
        self.blocks: dict[Operand, str] = {}
        """Where the elements of a block lie in memory: of what is given, and of what is stored."""
        self.copied: dict[tuple[str, int], str] = {}
        """The same of copies in the dtype of a loop of NumPy's: of a node's operand by its number, and of its result,
        which is number -1."""
        self.locals: dict[Operand, str] = {}
        self.index = writer.fresh("i")
        self.sums = ""
        """Where the sums of the blocks lie, if there are any: added up in one order, whoever computed them."""
        self.kind = LANES[lane(loop.total.results[0].type.dtype)] if loop.total else ""

    def written(self) -> dict[str, Value]:
        writer = self.writer
        types, make = [self.nodes[name].results[0].type for name in self.loop.kept], beside if self.is_tiny else _apart
        made = dict(zip(self.loop.kept, make(writer, self.sizes, types), strict=True))
        for text in made.values() if not self.is_small else ():
            writer.line(f"n.advise({text})")
        whole: dict[Operand, Value] = {operand: self.given[operand] for operand in self.loop.given}
        whole |= {name: Value(text, self.nodes[name].results[0].type) for name, text in made.items()}
        scalars: dict[Operand, Value] = {
            operand: self.given[operand]
            for node in self.loop.nodes
            for operand in node.inputs
            if operand not in self.nodes and self.type_of(operand).is_scalar and not isinstance(operand, Literal)
        }
        count = writer.made_of(f"{next(iter(whole.values())).text}.size")
        values = {name: Value(text, self.nodes[name].results[0].type) for name, text in made.items()}
        if self.loop.total is None:
            self.shared(whole, scalars, count)
            return values
        sum_ = self.loop.total.results[0]
        self.sums = writer.made_of(f"np.zeros(({count} + {BLOCK - 1}) // {BLOCK}, np.{self.kind})")
        self.shared(whole, scalars, count)
        return {**values, sum_.name: Value(products.total(writer, self.loop.total, self.sums), sum_.type)}

    @property
    def is_small(self) -> bool:
        """Whether it is known that there are few elements."""
        return all(size.isdigit() for size in self.sizes) and math.prod(map(int, self.sizes)) < LARGE

    @property
    def is_tiny(self) -> bool:
        """Whether arrays are so small that to make them takes as long as to compute them."""
        return self.is_small and math.prod(map(int, self.sizes)) <= TINY

    def shared(self, whole: Mapping[Operand, Value], scalars: Mapping[Operand, Value], count: str) -> None:
        """The loop as a function of its own, and that the crew is asked to compute it (jit.crew): what it needs is
        passed in words."""
        writer = self.writer
        sums, at_sums = self.sums, 2 + len(whole) + len(scalars)
        with writer.outlined() as (part, c):
            state = writer.made_of(f"m.read_i({c}, 0)")
            size = writer.made_of(f"m.read_i({c}, 1)")
            flat = {operand: writer.made_of(f"m.read_i({c}, {at})") for at, operand in enumerate(whole, 2)}
            for at, (operand, (_, type_)) in enumerate(scalars.items(), 2 + len(whole)):
                text = writer.made_of(f"m.read_{lane(type_.dtype)}({c}, {at})")
                self.given = {**self.given, operand: Value(text, type_)}
            if sums:
                blocks = f"({size} + {BLOCK - 1}) // {BLOCK}"
                self.sums = writer.made_of(f"w.array(m.read_i({c}, {at_sums}), {blocks}, np.{self.kind})")
            self.blockwise(flat, state)
        self.sums = sums
        given = [*(value.text for value in whole.values()), *(_in_lane(value) for value in scalars.values())]
        address = writer.made_of(f"e.words((s, {', '.join([count, *given, *[sums] * bool(sums)])}))")
        with writer.inside(f"if not w.share_large(s, {writer.made.alike[part]}(), {address}, {count}):"):
            writer.line("raise MemoryError")
        held = [*[sums] * bool(sums), *(value.text for value in whole.values())]
        writer.line(f"w.keep(({', '.join(held)},))")
        if not self.is_small:
            writer.look()

    def blockwise(self, whole: Mapping[Operand, str], state: str) -> None:
        """The elements from `first` to before `last`, block by block."""
        writer = self.writer
        buffers, begin = self.buffers(), writer.fresh("i")
        width = writer.made_of(f"(min({BLOCK}, last - first) + 7) // 8 * 64")
        memory = writer.made_of(f"e.empty(({len(buffers)} * {width},), np.uint8)") if buffers else ""
        with writer.inside(f"for {begin} in range(first, last, {BLOCK}):"):
            writer.line(f"if m.look({state}) != 0: return")
            count = writer.made_of(f"min({BLOCK}, last - {begin})")
            for operand, address in whole.items():
                dtype = self.type_of(operand).dtype
                given = f"{address} + {dtype.numpy.itemsize} * {begin}, {count}, {layout.numpy(layout.element(dtype))}"
                self.blocks[operand] = writer.made_of(f"w.array({given})")
            for at, (key, dtype) in enumerate(buffers.items()):
                place = f"w.address({memory}) + {at} * {width}, {count}, {layout.numpy(layout.element(dtype))}"
                (self.blocks if isinstance(key, str) else self.copied)[key] = writer.made_of(f"w.array({place})")  # type: ignore[index]
            for stage in range(self.stages.count):
                self.stage(stage, count)
            if self.loop.total:
                block = self.blocks[self.loop.total.inputs[0]]
                writer.line(f"{self.sums}[{begin} // {BLOCK}] = p.total({block}, {self.kind}(0))")
        if buffers:
            writer.line(f"w.keep({memory})")

    def buffers(self) -> dict[str | tuple[str, int], DType]:
        """What else lies in memory, and of what dtype: values by name, copies as in `copied`."""
        found: dict[str | tuple[str, int], DType] = {
            node.name: node.results[0].type.dtype
            for node in self.loop.nodes
            if node.name in self.stages.stored and node.name not in self.loop.kept
        }
        for node in filter(by_numpy, self.loop.nodes):
            dtype = computed_in(node)
            types = [*map(self.type_of, node.inputs), node.results[0].type]
            for at, type_ in zip([*range(len(node.inputs)), -1], types, strict=True):
                if type_.is_scalar or type_.dtype is not dtype:
                    found[node.name, at] = dtype
        return found

    def type_of(self, operand: Operand) -> Type:
        if isinstance(operand, str) and operand in self.nodes:
            return self.nodes[operand].results[0].type
        return self.given[operand].type

    def stage(self, stage: int, count: str) -> None:
        """A loop over the elements of a block, and then what NumPy makes of these."""
        self.locals, body, calls = {}, list[str](), list[str]()
        for node in self.loop.nodes:
            if self.stages.ready[node.name] == stage and (node.name, -1) in self.copied:
                body += self.named(node, f"{self.copied[node.name, -1]}[{self.index}]")
        for node in self.loop.nodes:
            if self.stages.of[node.name] != stage:
                continue
            if by_numpy(node):
                body += self.copies(node)
                calls.append(self.numpys(node))
            else:
                body += self.computed(node)
        if body:
            with self.writer.inside(f"for {self.index} in range({count}):"):
                for line in body:
                    self.writer.line(line)
        for call in calls:
            self.writer.line(call)

    def named(self, node: Node, text: str) -> list[str]:
        """Lines that give an element its name, and a place in memory if it is to have one."""
        name = self.locals[node.name] = self.writer.fresh()
        stored = [f"{self.blocks[node.name]}[{self.index}] = {name}"] if node.name in self.stages.stored else []
        is_narrow = node.results[0].type.dtype is dtypes.float32
        return [f"{name} = float32({text})" if is_narrow else f"{name} = {text}", *stored]

    def element(self, operand: Operand, lines: list[str]) -> str:
        """An element of an operand: of float32 as such, of others in its lane; adds the line that reads it, if it must
        be read."""
        dtype = self.type_of(operand).dtype
        if self.type_of(operand).is_scalar:
            text = self.given[operand].text
            return f"float32({text})" if dtype is dtypes.float32 else text
        if operand not in self.locals:
            self.locals[operand] = self.writer.fresh()
            read = f"{self.blocks[operand]}[{self.index}]"
            lines.append(
                f"{self.locals[operand]} = {read if dtype is dtypes.float32 else f'{LANES[lane(dtype)]}({read})'}"
            )
        return self.locals[operand]

    def in_lane(self, operand: Operand, lines: list[str]) -> str:
        text = self.element(operand, lines)
        return f"float64({text})" if self.type_of(operand).dtype is dtypes.float32 else text

    def computed(self, node: Node) -> list[str]:
        lines: list[str] = []
        dtypes_, result = [self.type_of(operand).dtype for operand in node.inputs], node.results[0].type.dtype
        form = kernels.in_own_width(node.op, dtypes_, result)
        if form is not None:
            texts = [self.element(operand, lines) for operand in node.inputs]
            return lines + self.named(node, form.format(*texts))
        texts = [self.in_lane(operand, lines) for operand in node.inputs]
        text = kernels.expression(node.op, list(map(Type, dtypes_)), Type(result), node.attributes, texts)
        return lines + self.named(node, text)

    def copies(self, node: Node) -> list[str]:
        """Operands of one of NumPy's loops that do not lie in memory as it wants them."""
        lines: list[str] = []
        for at, operand in enumerate(node.inputs):
            if (node.name, at) in self.copied:
                text = self.in_lane(operand, lines)
                lines.append(f"{self.copied[node.name, at]}[{self.index}] = {text}")
        return lines

    def numpys(self, node: Node) -> str:
        places = [self.copied.get((node.name, at)) or self.blocks[each] for at, each in enumerate(node.inputs)]
        result = self.copied.get((node.name, -1)) or self.blocks[node.name]
        return f"n.{called(node)}({', '.join([*places, result])})"
