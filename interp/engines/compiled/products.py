"""Code generation for sums and matrix products, which jit.matrices computes."""

from __future__ import annotations

from ....core.dtypes import DType
from ....core.program.program import Node
from ....core.types import Type
from ..jit.kernels import LANE_TYPES, lane
from . import elementwise as arrays
from .chains import exceeds_max_elements
from .elementwise import ArrayEmitter, Transposed, TypedExpression, broadcast_sizes
from .layout import numba_dtype, numpy_dtype, tuple_expression

MATMUL_SUM_OPS = ("matmul", "sum")


def emit_matmul_or_sum(writer: ArrayEmitter, node: Node, inputs: list[TypedExpression]) -> str:
    """Emit one of MATMUL_SUM_OPS."""
    return _emit_matmul(writer, node, inputs) if node.op == "matmul" else _emit_sum(writer, node, inputs[0])


def emit_full_sum(writer: ArrayEmitter, node: Node, array: str) -> str:
    """Emit the sum of all elements of an array, as the result of a sum over all axes."""
    made = node.results[0].type
    kind = LANE_TYPES[lane(made.dtype)]
    text = writer.assign(_rounded_format(made).format(f"p.sum_all({array}, {kind}(0))"))
    if made.is_scalar:
        return text
    sizes = tuple_expression(["1"] * len(made.shape or ()))
    return writer.assign(f"np.full({sizes}, {text}).astype({numpy_dtype(numba_dtype(made.dtype))})")


def _rounded_format(made: Type) -> str:
    """A format for a sum's text: rounded to its dtype, in its lane."""
    kind = LANE_TYPES[lane(made.dtype)]
    return f"{kind}(float32({{}}))" if numba_dtype(made.dtype) == "float32" else f"{kind}({{}})"


def _emit_sum(writer: ArrayEmitter, node: Node, given: TypedExpression) -> str:
    """Emit a sum over all axes, or along one."""
    type_, made = given.type, node.results[0].type
    if type_.is_scalar:
        return given.text
    kind, axis, rank = LANE_TYPES[lane(made.dtype)], node.attribute("axis"), len(type_.shape or ())
    if axis is None:
        return emit_full_sum(writer, node, given.text)
    sizes = _size_expressions(given)
    before, after = sizes[: axis % rank], sizes[axis % rank + 1 :]
    folded = [_product_expression(before), sizes[axis % rank], _product_expression(after)]
    sums = writer.assign(f"p.sum_middle_axis({given.text}.reshape({tuple_expression(folded)}), np.{kind})")
    if made.is_scalar:
        return writer.assign(_rounded_format(made).format(f"{sums}[0, 0]"))
    shape = [*before, *["1"] * node.attribute("keepdims"), *after]
    return writer.assign(f"{sums}.astype({numpy_dtype(numba_dtype(made.dtype))}).reshape({tuple_expression(shape)})")


def _emit_matmul(writer: ArrayEmitter, node: Node, inputs: list[TypedExpression]) -> str:
    """Emit a product: of two matrices, or of two stacks of matrices."""
    made, (one, other) = node.results[0].type, map(_size_expressions, inputs)
    inner, below = one[-1], other[-2:][0]
    if inner != below:
        writer.emit_trap(node, inputs, f"{inner} != {below}")
    leading = [TypedExpression(text, Type(type_.dtype, (type_.shape or ())[:-2])) for text, type_ in inputs]
    high = any(value.type.shape for value in leading)
    stack = (
        broadcast_sizes(writer, leading, lambda condition: writer.emit_trap(node, inputs, condition)) if high else []
    )
    shape = [*stack, *one[-2:-1], *(other[-1:] if len(other) > 1 else [])]
    if shape and exceeds_max_elements(shape) != "False":
        writer.emit_memory_exit(node, inputs, exceeds_max_elements(shape))
    if turned := _emit_transposed_matmul(writer, made, inputs):
        return turned
    texts = [_factor_expression(value, made) for value in inputs]
    x = texts[0] if len(one) > 1 else f"{texts[0]}.reshape((1, {inner}))"
    y = texts[1] if len(other) > 1 else f"{texts[1]}.reshape(({below}, 1))"
    shapes = [type_.shape or () for _, type_ in inputs]
    shapes = [shapes[0] if len(one) > 1 else (1, *shapes[0]), shapes[1] if len(other) > 1 else (*shapes[1], 1)]
    if stack:
        pairs = zip((x, y), inputs, shapes, strict=True)
        factors = [
            TypedExpression(writer.assign(text), Type(_factor_dtype(value, made), shape))
            for text, value, shape in pairs
        ]
        product = _emit_stacked_matmul(writer, made, factors, stack)
    else:
        product = writer.assign(_matmul_expression(made, x, y))
    if made.is_scalar:
        return writer.assign(f"{LANE_TYPES[lane(made.dtype)]}({product}[0, 0])")
    return writer.assign(f"{product}.reshape({tuple_expression(shape)})")


def _emit_transposed_matmul(writer: ArrayEmitter, made: Type, factors: list[TypedExpression]) -> str | None:
    """Emit a product of two matrices one of which is transposed; None where neither is."""
    texts, name = ", ".join(value.text for value in factors), numba_dtype(made.dtype)
    if isinstance(factors[0], Transposed):
        return writer.assign(f"matmul_transposed_left_{name}(s, {texts})")
    return writer.assign(f"matmul_transposed_right_{name}({texts})") if isinstance(factors[1], Transposed) else None


def _factor_dtype(value: TypedExpression, made: Type) -> DType:
    """The dtype in which an operand is multiplied: the result's if that is a float, else its own."""
    return made.dtype if made.dtype.kind == "f" else value.type.dtype


def _factor_expression(value: TypedExpression, made: Type) -> str:
    if _factor_dtype(value, made) is value.type.dtype:
        return value.text
    return f"{value.text}.astype({numpy_dtype(numba_dtype(made.dtype))})"


def _matmul_expression(made: Type, x: str, y: str) -> str:
    if made.dtype.kind == "f":
        return f"matmul_{numba_dtype(made.dtype)}(s, {x}, {y})"
    return f"p.integer_matmul({x}, {y}, {numpy_dtype(numba_dtype(made.dtype))})"


def _emit_stacked_matmul(writer: ArrayEmitter, made: Type, factors: list[TypedExpression], stack: list[str]) -> str:
    """Emit the products of two stacks of matrices, one after another."""
    count, given = _product_expression(stack), []
    for factor in factors:
        sizes = [writer.assign(size) for size in _size_expressions(factor)[-2:]]
        whole = arrays.emit_broadcast_copy(writer, factor, [*stack, *sizes])
        given.append(writer.assign(f"{whole}.reshape({tuple_expression([count, *sizes])})"))
    sizes = [count, f"{given[0]}.shape[1]", f"{given[1]}.shape[2]"]
    product = writer.assign(f"e.empty({tuple_expression(sizes)}, {numpy_dtype(numba_dtype(made.dtype))})")
    index = writer.fresh_name("i")
    with writer.block(f"for {index} in range({count}):"):
        writer.emit_poll()
        writer.emit(f"{product}[{index}] = {_matmul_expression(made, f'{given[0]}[{index}]', f'{given[1]}[{index}]')}")
    return product


def _product_expression(sizes: list[str]) -> str:
    return f"({' * '.join(sizes)})" if sizes else "1"


def _size_expressions(value: TypedExpression) -> list[str]:
    shape = value.type.shape or ()
    return [f"{value.text}.shape[{axis}]" if size is None else str(size) for axis, size in enumerate(shape)]
