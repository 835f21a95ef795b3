"""The text of sums and of matrix products, which jit.products computes."""

from __future__ import annotations

from ....core.dtypes import DType
from ....core.program.program import Node
from ....core.types import Type
from ..jit.kernels import LANES, lane
from . import elementwise as arrays
from .chains import too_many
from .elementwise import Turned, Value, Writer, broadcast
from .layout import element, numpy, result

NAMES = ("matmul", "sum")


def written(writer: Writer, node: Node, inputs: list[Value]) -> str:
    """One of the ops of these NAMES."""
    return _matmul(writer, node, inputs) if node.op == "matmul" else _sum(writer, node, inputs[0])


def total(writer: Writer, node: Node, array: str) -> str:
    """The sum of all elements of an array, as the value of a sum over all axes."""
    made = node.results[0].type
    kind = LANES[lane(made.dtype)]
    text = writer.made_of(_rounded(made).format(f"p.total({array}, {kind}(0))"))
    if made.is_scalar:
        return text
    sizes = result(["1"] * len(made.shape or ()))
    return writer.made_of(f"np.full({sizes}, {text}).astype({numpy(element(made.dtype))})")


def _rounded(made: Type) -> str:
    """An element of a sum, in its lane."""
    kind = LANES[lane(made.dtype)]
    return f"{kind}(float32({{}}))" if element(made.dtype) == "float32" else f"{kind}({{}})"


def _sum(writer: Writer, node: Node, given: Value) -> str:
    """A sum over all axes, or along one."""
    type_, made = given.type, node.results[0].type
    if type_.is_scalar:
        return given.text
    kind, axis, rank = LANES[lane(made.dtype)], node.attribute("axis"), len(type_.shape or ())
    if axis is None:
        return total(writer, node, given.text)
    sizes = _sizes(given)
    before, after = sizes[: axis % rank], sizes[axis % rank + 1 :]
    folded = [_times(before), sizes[axis % rank], _times(after)]
    sums = writer.made_of(f"p.along({given.text}.reshape({result(folded)}), np.{kind})")
    if made.is_scalar:
        return writer.made_of(_rounded(made).format(f"{sums}[0, 0]"))
    shape = [*before, *["1"] * node.attribute("keepdims"), *after]
    return writer.made_of(f"{sums}.astype({numpy(element(made.dtype))}).reshape({result(shape)})")


def _matmul(writer: Writer, node: Node, inputs: list[Value]) -> str:
    """A product, as one of matrices, or of as many as a stack has."""
    made, (one, other) = node.results[0].type, map(_sizes, inputs)
    inner, below = one[-1], other[-2:][0]
    if inner != below:
        writer.trap(node, inputs, f"{inner} != {below}")
    leading = [Value(text, Type(type_.dtype, (type_.shape or ())[:-2])) for text, type_ in inputs]
    high = any(value.type.shape for value in leading)
    stack = broadcast(writer, leading, lambda condition: writer.trap(node, inputs, condition)) if high else []
    shape = [*stack, *one[-2:-1], *(other[-1:] if len(other) > 1 else [])]
    if shape and too_many(shape) != "False":
        writer.too_large(node, inputs, too_many(shape))
    if turned := _turned(writer, made, inputs):
        return turned
    texts = [_as(value, made) for value in inputs]
    x = texts[0] if len(one) > 1 else f"{texts[0]}.reshape((1, {inner}))"
    y = texts[1] if len(other) > 1 else f"{texts[1]}.reshape(({below}, 1))"
    shapes = [type_.shape or () for _, type_ in inputs]
    shapes = [shapes[0] if len(one) > 1 else (1, *shapes[0]), shapes[1] if len(other) > 1 else (*shapes[1], 1)]
    if stack:
        pairs = zip((x, y), inputs, shapes, strict=True)
        factors = [Value(writer.made_of(text), Type(_kind(value, made), shape)) for text, value, shape in pairs]
        product = _stacked(writer, made, factors, stack)
    else:
        product = writer.made_of(_product(made, x, y))
    if made.is_scalar:
        return writer.made_of(f"{LANES[lane(made.dtype)]}({product}[0, 0])")
    return writer.made_of(f"{product}.reshape({result(shape)})")


def _turned(writer: Writer, made: Type, factors: list[Value]) -> str | None:
    """A product of two matrices of which one has its rows as columns; None where none has."""
    texts, name = ", ".join(value.text for value in factors), element(made.dtype)
    if isinstance(factors[0], Turned):
        return writer.made_of(f"turned_{name}(s, {texts})")
    return writer.made_of(f"few_{name}({texts})") if isinstance(factors[1], Turned) else None


def _kind(value: Value, made: Type) -> DType:
    """The dtype in which an operand is multiplied: the result's where that is of floats, else its own."""
    return made.dtype if made.dtype.kind == "f" else value.type.dtype


def _as(value: Value, made: Type) -> str:
    if _kind(value, made) is value.type.dtype:
        return value.text
    return f"{value.text}.astype({numpy(element(made.dtype))})"


def _product(made: Type, x: str, y: str) -> str:
    if made.dtype.kind == "f":
        return f"product_{element(made.dtype)}(s, {x}, {y})"
    return f"p.of_integers({x}, {y}, {numpy(element(made.dtype))})"


def _stacked(writer: Writer, made: Type, factors: list[Value], stack: list[str]) -> str:
    """Products of the matrices of two stacks, one after another."""
    count, given = _times(stack), []
    for factor in factors:
        sizes = [writer.made_of(size) for size in _sizes(factor)[-2:]]
        whole = arrays.stretched(writer, factor, [*stack, *sizes])
        given.append(writer.made_of(f"{whole}.reshape({result([count, *sizes])})"))
    sizes = [count, f"{given[0]}.shape[1]", f"{given[1]}.shape[2]"]
    product = writer.made_of(f"e.empty({result(sizes)}, {numpy(element(made.dtype))})")
    index = writer.fresh("i")
    with writer.inside(f"for {index} in range({count}):"):
        writer.look()
        writer.line(f"{product}[{index}] = {_product(made, f'{given[0]}[{index}]', f'{given[1]}[{index}]')}")
    return product


def _times(sizes: list[str]) -> str:
    return f"({' * '.join(sizes)})" if sizes else "1"


def _sizes(value: Value) -> list[str]:
    shape = value.type.shape or ()
    return [f"{value.text}.shape[{axis}]" if size is None else str(size) for axis, size in enumerate(shape)]
