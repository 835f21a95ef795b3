"""Arrays in the text: ops element by element as loops, literals, and draws.

Sizes are checked where types leave them open: what does not broadcast traps, before anything else about an op does.
Elements are computed as scalars are, but for those functions whose last bits are NumPy's choice (jit.loops).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, NamedTuple, Protocol

from ....core.ops.op import MOST_ELEMENTS
from ....core.program.program import Node
from ....core.types import Type
from ..jit import kernels
from ..jit.kernels import LANES, lane
from .chains import Chain, by_numpy, called, computed_in, too_many
from .layout import element, numpy
from .text import Text

_ALIGNED = 64
"""The bytes of a line of a processor's memory."""
STRIP = 4096
"""How many elements of an innermost axis are computed between two looks at whether the run is to end."""


class Value(NamedTuple):
    """Text of a value, and its type."""

    text: str
    type: Type


class Turned(Value):
    """A matrix whose rows are meant as columns; its type is the one that is meant."""


class Writer(Protocol):
    """Who writes the function that an op is in."""

    made: Text
    spent: set[str]

    def line(self, text: str) -> None: ...
    def made_of(self, text: str) -> str: ...
    def inside(self, head: str) -> AbstractContextManager[None]: ...
    def outlined(self) -> AbstractContextManager[tuple[str, str]]: ...
    def fresh(self, of: str = "v") -> str: ...
    def trap(self, node: Node | Chain, inputs: Sequence[Value], condition: str) -> None: ...
    def too_large(self, node: Node | Chain, inputs: Sequence[Value], condition: str) -> None: ...
    def draw_key(self, node: Node) -> str: ...
    def elsewhere(self, condition: str) -> None: ...
    def look(self) -> None: ...


def empty(writer: Writer, sizes: Sequence[str], type_: Type) -> str:
    return writer.made_of(f"e.empty(({', '.join(sizes)},), {numpy(element(type_.dtype))})")


def beside(writer: Writer, sizes: Sequence[str], types: Sequence[Type]) -> list[str]:
    """Arrays of some types and of the same sizes, which are known and small, in one piece of memory: to make and free
    one takes 50 ns, as long as what is computed of 64 elements."""
    if len(types) < 2:
        return [empty(writer, sizes, each) for each in types]
    count, ends = math.prod(map(int, sizes)), [0]
    for each in types:
        ends.append(ends[-1] + -(count * each.dtype.numpy.itemsize // -_ALIGNED) * _ALIGNED)
    block, shape = writer.made_of(f"e.empty(({ends[-1]},), np.uint8)"), f"({', '.join(sizes)},)"
    return [
        writer.made_of(f"e.cut({block}, {begin}, {shape}, {numpy(element(each.dtype))})")
        for begin, each in zip(ends[:-1], types, strict=True)
    ]


def literal(writer: Writer, array: Any, type_: Type) -> str:
    """An array that is made anew wherever it stands."""
    if not array.size:
        return empty(writer, list(map(str, array.shape)), type_)
    elements = ", ".join(kernels.constant(each, type_.dtype) for each in array.ravel())
    return writer.made_of(f"np.array([{elements}], {numpy(element(type_.dtype))}).reshape({array.shape})")


def elementwise(writer: Writer, node: Node, inputs: Sequence[Value]) -> str:
    """An op on arrays, or on arrays and scalars."""
    result = node.results[0].type
    sizes = broadcast(writer, inputs, lambda condition: writer.trap(node, inputs, condition))
    if too_many(sizes) != "False":
        writer.too_large(node, inputs, too_many(sizes))
    places = [_place(writer, value, sizes) for value in inputs]
    scalars = [Type(value.type.dtype) for value in inputs]
    condition = kernels.trap_condition(node.op, scalars, Type(result.dtype), [_at(place) for place in places])
    if condition is not None:
        found = writer.made_of("False")
        with _over(writer, sizes) as at:
            writer.line(f"{found} = {found} or {_filled(condition, at)}")
        writer.trap(node, inputs, found)
    made = empty(writer, sizes, result)
    if by_numpy(node):
        _numpys(writer, node, places, sizes, made, result)
        return made
    texts = [_at(place) for place in places]
    text = kernels.expression(node.op, scalars, Type(result.dtype), node.attributes, texts)
    with _over(writer, sizes) as at:
        writer.line(f"{made}[{', '.join(at)}] = {_filled(text, at)}")
    return made


class _Place(NamedTuple):
    """Where the elements of an operand are: for each axis of it the number of the result's, and by what the index
    counts; a scalar has no axes and is its text."""

    text: str
    type: Type
    axes: tuple[tuple[int, str], ...]


def _place(writer: Writer, value: Value, sizes: Sequence[str]) -> _Place:
    shape = value.type.shape or ()
    first = len(sizes) - len(shape)
    axes = []
    for at, size in enumerate(shape):
        if size is None:
            step = writer.made_of(f"1 if {value.text}.shape[{at}] != 1 else 0")
        else:
            step = "0" if size == 1 and sizes[first + at] != "1" else "1"
        axes.append((first + at, step))
    return _Place(value.text, value.type, tuple(axes))


def stretched(writer: Writer, value: Value, sizes: Sequence[str]) -> str:
    """A copy of an array, of the sizes that it broadcasts to."""
    made, place = empty(writer, sizes, value.type), _place(writer, value, sizes)
    with _over(writer, sizes) as at:
        writer.line(f"{made}[{', '.join(at)}] = {_filled(_at(place), at)}")
    return made


def _at(place: _Place) -> str:
    """An element in its lane, the indices being `axis_0_`, `axis_1_`, ..."""
    if place.type.is_scalar:
        return place.text
    indices = [{"1": f"axis_{axis}_", "0": "0"}.get(step, f"axis_{axis}_ * {step}") for axis, step in place.axes]
    return f"{LANES[lane(place.type.dtype)]}({place.text}[{', '.join(indices)}])"


def _filled(text: str, at: Sequence[str]) -> str:
    for axis in reversed(range(len(at))):
        text = text.replace(f"axis_{axis}_", at[axis])
    return text


def broadcast(writer: Writer, values: Sequence[Value], trap: Callable[[str], None]) -> list[str]:
    """Text of the sizes to which values broadcast; `trap` writes what happens on a condition on which they do not."""
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
        made.append(_size(writer, trap, fixed, open_))
    return made


def _size(writer: Writer, trap: Callable[[str], None], fixed: int | None, open_: Sequence[str]) -> str:
    """One size of the result, of one that is known, if it is not 1, and some that are not."""
    if fixed is not None:
        for size in open_:
            trap(f"{size} != {fixed} and {size} != 1")
        return str(fixed)
    size = writer.made_of(open_[0])
    for other in open_[1:]:
        trap(f"{size} != 1 and {other} != 1 and {other} != {size}")
        size = writer.made_of(f"{other} if {size} == 1 else {size}")
    return size


class _over:  # noqa: N801 - read as a word
    """The loops over all elements; gives the names of the indices."""

    def __init__(self, writer: Writer, sizes: Sequence[str]) -> None:
        self.writer, self.sizes, self.stack = writer, sizes, ExitStack()

    def __enter__(self) -> list[str]:
        writer, names = self.writer, [self.writer.fresh("i") for _ in self.sizes]
        for name, size in zip(names[:-1], self.sizes, strict=False):
            self.stack.enter_context(writer.inside(f"for {name} in range({size}):"))
        begin, size = writer.fresh("i"), self.sizes[-1]
        self.stack.enter_context(writer.inside(f"for {begin} in range(0, {size}, {STRIP}):"))
        writer.look()
        end = f"min({begin} + {STRIP}, {size})"
        self.stack.enter_context(writer.inside(f"for {names[-1]} in range({begin}, {end}):"))
        return names

    def __exit__(self, *_: object) -> None:
        self.stack.close()


def _numpys(
    writer: Writer, node: Node, places: Sequence[_Place], sizes: Sequence[str], made: str, result: Type
) -> None:
    """A function that NumPy computes, of copies of the operands in the result's shape."""
    wide = Type(computed_in(node), result.shape)
    copies = [empty(writer, sizes, wide) for _ in places]
    with _over(writer, sizes) as at:
        for copy, place in zip(copies, places, strict=True):
            writer.line(f"{copy}[{', '.join(at)}] = {_filled(_at(place), at)}")
    into = made if result.dtype is wide.dtype else copies[0]
    writer.line(f"n.{called(node)}({', '.join([*copies, into])})")
    if into is not made:
        with _over(writer, sizes) as at:
            writer.line(f"{made}[{', '.join(at)}] = {into}[{', '.join(at)}]")


def drawn(writer: Writer, node: Node, inputs: Sequence[Value]) -> str:
    """Random numbers: one, or an array of a size that is known, or a permutation."""
    texts = [value.text for value in inputs]
    if node.op == "permutation":
        writer.trap(node, inputs, f"{texts[0]} < 0")
        writer.too_large(node, inputs, f"{texts[0]} > {MOST_ELEMENTS}")
        return writer.made_of(f"d.permutation({writer.draw_key(node)}, {texts[0]})")
    if node.op == "integers":
        writer.trap(node, inputs, f"{texts[0]} >= {texts[1]}")
    result, key = node.results[0].type, writer.draw_key(node)
    if result.is_scalar:
        return writer.made_of(_draw(node, key, "0", texts))
    sizes = [str(size) for size in result.shape or ()]
    if math.prod(filter(None, result.shape or ())) > MOST_ELEMENTS:
        writer.too_large(node, inputs, "True")
    made = empty(writer, sizes, result)
    flat, index = writer.made_of(f"{made}.reshape(-1)"), writer.fresh("i")
    with writer.inside(f"for {index} in range({flat}.size):"):
        writer.line(f"{flat}[{index}] = {_draw(node, key, index, texts)}")
    return made


def _draw(node: Node, key: str, index: str, texts: Sequence[str]) -> str:
    return f"d.{node.op}({', '.join([f'd.splitmix64({key}, uint64({index}))', *texts])})"
