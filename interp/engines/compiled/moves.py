"""The text of ops that move elements, or fold them along axes, for which jit.moves has machine code; where nothing is
to move, an array is the same elements in another shape.

What is not here is left to Python: arrays of many axes, dtypes of two bytes, keys that step over axes whose size only
the run knows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....core import dtypes
from ....core.dtypes import DType
from ....core.ops.axes import axes_of, axis_of
from ....core.ops.key import read_key
from ....core.program.program import Node
from ....core.types import Type
from ..jit.kernels import LANES, lane
from ..jit.state import ADD, COPY, LARGEST, MOVES, SMALLEST, SUM, TAKE
from .chains import too_many
from .elementwise import Value, Writer, broadcast, empty
from .layout import element, numpy

MOST_AXES = 4
_WIDTHS = {1: 1, 4: 4, 8: 8}


class _Moved(NamedTuple):
    """For each axis of what is made, text of its size and of how far apart its elements are in the operand, and text of
    where the first one is."""

    sizes: list[str]
    strides: list[str]
    begin: str = "0"


def written(writer: Writer, node: Node, inputs: Sequence[Value]) -> str | None:
    """One of the ops of this table; None where it is left to Python."""
    types = [*(value.type for value in inputs), node.results[0].type]
    fits = all(len(each.shape or ()) <= MOST_AXES and _width(each.dtype) in _WIDTHS for each in types)
    return WRITTEN[node.op](writer, node, inputs) if node.op in WRITTEN and fits else None


def _width(dtype: DType) -> int:
    return dtype.numpy.itemsize


def sizes_of(value: Value) -> list[str]:
    """Text of the sizes of an array."""
    shape = value.type.shape or ()
    return [f"{value.text}.shape[{axis}]" if size is None else str(size) for axis, size in enumerate(shape)]


def times(sizes: Sequence[str]) -> str:
    """Text of a product, computed where it can be; one of int64, since no array has more elements."""
    known = min(math.prod(int(size) for size in sizes if size.isdigit()), dtypes.int64.range[1])
    others = [size for size in sizes if not size.isdigit()]
    return " * ".join([*others, *[str(known)] * (known != 1 or not others)]) if known else "0"


def strides_of(sizes: Sequence[str]) -> list[str]:
    """Text of how far apart elements are along each axis."""
    return [times(sizes[axis + 1 :]) for axis in range(len(sizes))]


def _as_array(writer: Writer, value: Value) -> Value:
    """A scalar as an array of one element."""
    if not value.type.is_scalar:
        return value
    type_ = Type(value.type.dtype, (1,))
    made = empty(writer, ["1"], type_)
    writer.line(f"{made}[0] = {value.text}")
    return Value(made, type_)


def _call(writer: Writer, which: int, to: str, of: Value, words: Sequence[str], *, from_: str = "0") -> str:
    """Have something done with the elements of an array from a number on; text of whether an index was outside."""
    width = _width(of.type.dtype)
    begin = f"w.address({of.text})" + (f" + {width} * ({from_})" if from_ != "0" else "")
    given = [str(which), to, begin, *words]
    done = writer.made_of(f"moves({', '.join([*given, *['0'] * (MOVES - len(given))])})")
    writer.line(f"w.keep({of.text})")
    return done


def _four(texts: Sequence[str], rest: str) -> list[str]:
    return [rest] * (MOST_AXES - len(texts)) + list(texts)


def _copied(writer: Writer, made: str, of: Value, moved: _Moved, to: _Moved | None = None) -> None:
    """Copy elements of an array to another one, from its first on or as `to` says."""
    width = _width(of.type.dtype)
    strides = strides_of(moved.sizes) if to is None else to.strides
    address = f"w.address({made})" + ("" if to is None or to.begin == "0" else f" + {width} * ({to.begin})")
    words = [str(width), *_four(moved.sizes, "1"), *_four(strides, "0"), *_four(moved.strides, "0")]
    _call(writer, COPY, address, of, words, from_=moved.begin)
    writer.line(f"w.keep({made})")


def _checked(writer: Writer, node: Node, inputs: Sequence[Value], sizes: Sequence[str]) -> None:
    if too_many(sizes) != "False":
        writer.too_large(node, inputs, too_many(sizes))


def _part(writer: Writer, value: Value, begin: str, sizes: Sequence[str]) -> str:
    """Elements that lie one after another, in another shape."""
    return writer.made_of(f"e.part({value.text}, int64({begin}), ({''.join(f'int64({size}), ' for size in sizes)}))")


def _again(value: Value, rank: int) -> list[str]:
    """The strides of an array that is broadcast to so many axes."""
    sizes = sizes_of(value)
    strides = [
        "0" if size == "1" else stride if size.isdigit() else f"({stride} if {size} != 1 else 0)"
        for size, stride in zip(sizes, strides_of(sizes), strict=True)
    ]
    return ["0"] * (rank - len(strides)) + strides


def _broadcast(writer: Writer, node: Node, inputs: Sequence[Value]) -> str | None:
    result, x = node.results[0].type, inputs[0]
    if result.is_scalar:
        return x.text
    if node.op == "broadcast_like":
        sizes = broadcast(writer, inputs, lambda condition: writer.trap(node, inputs, condition))
    elif None in (x.type.shape or ()):
        return None
    else:
        sizes = [str(size) for size in result.shape or ()]
    _checked(writer, node, inputs, sizes)
    made, of = empty(writer, sizes, result), _as_array(writer, x)
    _copied(writer, made, of, _Moved(sizes, _again(of, len(sizes))))
    return made


def _permuted(writer: Writer, node: Node, inputs: Sequence[Value]) -> str:
    (x,), axes = inputs, node.attribute("axes")
    order = axes_of(axes if isinstance(axes, tuple) else (axes,), x.type)
    sizes, strides = sizes_of(x), strides_of(sizes_of(x))
    moved = _Moved([sizes[axis] for axis in order], [strides[axis] for axis in order])
    made = empty(writer, moved.sizes, node.results[0].type)
    _copied(writer, made, x, moved)
    return made


def _reshaped(writer: Writer, node: Node, inputs: Sequence[Value]) -> str | None:
    """reshape_like, squeeze, and reshape to sizes that types know."""
    x, result = inputs[0], node.results[0].type
    if x.type.is_scalar or result.is_scalar or (node.op == "reshape" and None in (result.shape or ())):
        return None
    if node.op == "squeeze":
        gone = axes_of(node.attribute("axis"), x.type)
        for axis in (axis for axis in gone if (x.type.shape or ())[axis] is None):
            writer.trap(node, inputs, f"{x.text}.shape[{axis}] != 1")
        return _part(writer, x, "0", [size for axis, size in enumerate(sizes_of(x)) if axis not in gone])
    wanted = inputs[1] if node.op == "reshape_like" else Value("", result)
    sizes = sizes_of(wanted)
    if None in (*(x.type.shape or ()), *(wanted.type.shape or ())):
        writer.trap(node, inputs, f"{times(sizes_of(x))} != {times(sizes)}")
    return _part(writer, x, "0", sizes)


def _keyed(value: Value, key: str) -> _Moved | None:
    """What a key takes of an array, if it says nothing of axes whose sizes are not known."""
    sizes, entries = sizes_of(value), read_key(key)
    taken = sum(entry is not None and entry is not Ellipsis for entry in entries)
    full = entries if Ellipsis in entries else (*entries, Ellipsis)
    at = full.index(Ellipsis)
    spread = (*full[:at], *[slice(None)] * (len(sizes) - taken), *full[at + 1 :])
    axis, begin, moved = 0, list[str](), _Moved([], [])
    for entry in spread:
        if entry is None:
            moved.sizes.append("1")
            moved.strides.append("0")
            continue
        size, stride = sizes[axis], strides_of(sizes)[axis]
        axis += 1
        if entry == slice(None):
            moved.sizes.append(size)
            moved.strides.append(stride)
        elif not size.isdigit():
            return None
        elif isinstance(entry, slice):
            steps = range(*entry.indices(int(size)))
            moved.sizes.append(str(len(steps)))
            moved.strides.append(times([stride, str(steps.step)]) if steps.step > 0 else f"-({stride} * {-steps.step})")
            begin.append(times([stride, str(steps.start)]))
        elif isinstance(entry, int):
            begin.append(times([stride, str(entry % int(size))]))
    return moved._replace(begin=" + ".join(each for each in begin if each != "0") or "0")


def _indexed(writer: Writer, node: Node, inputs: Sequence[Value]) -> str | None:
    (x,), result = inputs, node.results[0].type
    if x.type.is_scalar:
        return _part(writer, _as_array(writer, x), "0", ["1"] * len(result.shape or ())) if result.shape else x.text
    moved = _keyed(x, node.attribute("key"))
    if moved is None or len(moved.sizes) > MOST_AXES:
        return None
    if result.is_scalar:
        return writer.made_of(f"{LANES[lane(result.dtype)]}({_part(writer, x, moved.begin, ['1'])}[0])")
    dense = strides_of(moved.sizes)
    pairs = zip(moved.sizes, moved.strides, dense, strict=True)
    if all(size == "1" or stride == wanted for size, stride, wanted in pairs):
        return _part(writer, x, moved.begin, moved.sizes)
    made = empty(writer, moved.sizes, result)
    _copied(writer, made, x, moved)
    return made


def _whole(writer: Writer, value: Value) -> str:
    """An array to write to: a copy, or the array itself where nobody else has it, or will."""
    if value.text in writer.spent:
        return value.text
    made = empty(writer, sizes_of(value), value.type)
    _copied(writer, made, value, _Moved([times(sizes_of(value))], ["1"]))
    return made


def _put(writer: Writer, node: Node, inputs: Sequence[Value]) -> str | None:
    """scatter_index, of values that fit by what types know."""
    x, values = inputs
    moved = None if x.type.is_scalar else _keyed(x, node.attribute("key"))
    if moved is None or len(moved.sizes) > MOST_AXES or values.type.dtype is not x.type.dtype:
        return None
    given = sizes_of(values)
    pairs = zip(reversed(given), reversed(moved.sizes), strict=False)
    if len(given) > len(moved.sizes) or not all(size.isdigit() and size in ("1", wanted) for size, wanted in pairs):
        return None
    made, of = _whole(writer, x), _as_array(writer, values)
    rank = len(moved.sizes)
    _copied(writer, made, of, _Moved(moved.sizes, _again(of, rank)), moved)
    return made


def _taken(writer: Writer, node: Node, inputs: Sequence[Value]) -> str | None:
    x, indices = inputs
    result, sizes = node.results[0].type, sizes_of(x)
    at = axis_of(node.attribute("axis"), x.type)
    if indices.type.dtype is not dtypes.int64:
        return None
    if indices.type.is_scalar and at == 0:
        row = writer.made_of(f"{indices.text} + ({sizes[0]} if {indices.text} < 0 else 0)")
        writer.trap(node, inputs, f"uint64({row}) >= uint64({sizes[0]})")
        if result.is_scalar:
            return writer.made_of(f"{LANES[lane(result.dtype)]}({x.text}[uint64({row})])")
        return _part(writer, x, f"{row} * {strides_of(sizes)[0]}", sizes[1:])
    made_sizes = [*sizes[:at], *sizes_of(indices), *sizes[at + 1 :]]
    if result.is_scalar or not made_sizes:
        return None
    _checked(writer, node, inputs, made_sizes)
    made, index = empty(writer, made_sizes, result), _as_array(writer, indices)
    row = times([*sizes[at + 1 :], str(_width(x.type.dtype))])
    words = [row, f"w.address({index.text})", times(sizes_of(index)), times(sizes[:at]), sizes[at]]
    outside = _call(writer, TAKE, f"w.address({made})", x, words)
    writer.line(f"w.keep({made})")
    writer.line(f"w.keep({index.text})")
    writer.trap(node, inputs, f"{outside} != 0")
    return made


def _added(writer: Writer, node: Node, inputs: Sequence[Value]) -> str | None:
    """scatter_add along the first axis, of values of just the shape of their place; several of float32, which are
    rounded once, are left to Python."""
    x, values, *places = inputs
    if len(places) != 1 or x.type.is_scalar or values.type.dtype is not x.type.dtype or x.type.dtype.kind != "f":
        return None
    (indices,) = places
    wanted = (*(indices.type.shape or ()), *(x.type.shape or ())[1:])
    if indices.type.dtype is not dtypes.int64 or values.type.shape != wanted or None in wanted:
        return None
    if x.type.dtype is dtypes.float32 and not indices.type.is_scalar:
        return None
    index, of, made = _as_array(writer, indices), _as_array(writer, values), _whole(writer, x)
    count, row = times(sizes_of(index)), times(sizes_of(x)[1:])
    words = [str(_width(x.type.dtype)), f"w.address({index.text})", count, sizes_of(x)[0], row]
    outside = _call(writer, ADD, f"w.address({made})", of, words)
    writer.line(f"w.keep({made})")
    writer.line(f"w.keep({index.text})")
    writer.trap(node, inputs, f"{outside} != 0")
    return made


def _joined(writer: Writer, node: Node, inputs: Sequence[Value]) -> str | None:
    """concat of arrays of one dtype, whose sizes along all other axes are known."""
    result, at = node.results[0].type, axis_of(node.attribute("axis"), inputs[0].type)
    others = [size for each in inputs for axis, size in enumerate(each.type.shape or ()) if axis != at]
    if any(each.type.dtype is not result.dtype for each in inputs) or None in others:
        return None
    widths = [sizes_of(each)[at] for each in inputs]
    whole = str(sum(map(int, widths))) if all(map(str.isdigit, widths)) else writer.made_of(" + ".join(widths))
    sizes = [whole if axis == at else size for axis, size in enumerate(sizes_of(inputs[0]))]
    _checked(writer, node, inputs, sizes)
    made, begin = empty(writer, sizes, result), list[str]()
    strides = strides_of(sizes)
    for each, width in zip(inputs, widths, strict=True):
        to = _Moved(sizes, strides, f"({' + '.join(begin)}) * {strides[at]}" if begin else "0")
        _copied(writer, made, each, _Moved(sizes_of(each), strides_of(sizes_of(each))), to)
        begin.append(width)
    return made


def _folded(writer: Writer, which: int, of: Value, made: str, strides: Sequence[str]) -> None:
    """Fold an array into one whose elements are so far apart, 0 along the axes that go."""
    words = [str(_width(of.type.dtype)), *_four(sizes_of(of), "1"), *_four(strides, "0")]
    _call(writer, which, f"w.address({made})", of, words)
    writer.line(f"w.keep({made})")


def _sum_like(writer: Writer, node: Node, inputs: Sequence[Value]) -> str | None:
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
            writer.trap(node, inputs, f"{size} != 1 and {size} != {other}")
    return _summed(writer, x, wanted, ["0"] * new + _again(y, len(wanted)), result)


def _summed(writer: Writer, x: Value, sizes: Sequence[str], strides: Sequence[str], result: Type) -> str:
    """Sums in float64, rounded at the end."""
    made = writer.made_of(f"np.zeros(({''.join(f'{size}, ' for size in sizes or ['1'])}), np.float64)")
    _folded(writer, SUM, x, made, strides)
    narrow = result.dtype is dtypes.float32
    if result.is_scalar:
        return writer.made_of(f"float64(float32({made}[0]))" if narrow else f"{made}[0]")
    return writer.made_of(f"{made}.astype({numpy(element(result.dtype))})") if narrow else made


def _reduced(writer: Writer, node: Node, inputs: Sequence[Value]) -> str | None:
    """sum along several axes, max and min of floats."""
    (x,), result, axis = inputs, node.results[0].type, node.attribute("axis")
    if x.type.dtype.kind != "f" or x.type.is_scalar:
        return None
    have = sizes_of(x)
    gone = range(len(have)) if axis is None else axes_of(axis, x.type)
    kept = [size for at, size in enumerate(have) if at not in gone]
    dense = iter(strides_of(kept))
    strides = ["0" if at in gone else next(dense) for at in range(len(have))]
    sizes = ["1" if at in gone else size for at, size in enumerate(have)] if node.attribute("keepdims") else kept
    if node.op == "sum":
        return _summed(writer, x, sizes, strides, result)
    if any(not have[at].isdigit() for at in gone):
        writer.trap(node, inputs, f"{times([have[at] for at in gone])} == 0")
    made = empty(writer, sizes or ["1"], Type(result.dtype, result.shape or (1,)))
    _folded(writer, LARGEST if node.op == "max" else SMALLEST, x, made, strides)
    return writer.made_of(f"{LANES[lane(result.dtype)]}({made}[0])") if result.is_scalar else made


def _size(writer: Writer, node: Node, inputs: Sequence[Value]) -> str:
    sizes, axis = sizes_of(inputs[0]), node.attribute("axis")
    return writer.made_of(f"int64({times(sizes) if axis is None else sizes[axis_of(axis, inputs[0].type)]})")


WRITTEN: dict[str, Callable[[Writer, Node, Sequence[Value]], str | None]] = {
    "broadcast_to": _broadcast,
    "broadcast_like": _broadcast,
    "permute_dims": _permuted,
    "reshape": _reshaped,
    "reshape_like": _reshaped,
    "squeeze": _reshaped,
    "index": _indexed,
    "scatter_index": _put,
    "take": _taken,
    "scatter_add": _added,
    "concat": _joined,
    "sum_like": _sum_like,
    "sum": _reduced,
    "max": _reduced,
    "min": _reduced,
    "size": _size,
}
