"""Rules that families of ops share: static attributes, checks of axes, sizes and dtypes, type rules of elementwise ops,
scalar columns that depend on dtypes, and error bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import DType, promote
from ..errors import Invalid
from ..types import MAX_AXES, HandleType, Shape, Type, broadcast_shape
from .op import DynamicSizes, ScalarByDtype, ScalarFunction, TypeRule

TYPE_ATTRIBUTES = ("element", "returns")
"""The attributes that are types. `dtype` is a dtype; any other is a string, a number, a bool, or a tuple of these."""


def format_attribute(value: object) -> str:
    """An attribute as text for messages, mostly as the text form writes it.

    >>> format_attribute((2, 3)), format_attribute("a"), format_attribute(True), format_attribute(None)
    ('[2, 3]', '"a"', 'true', 'none')
    """
    match value:
        case tuple() | list():
            return f"[{', '.join('?' if item is None else format_attribute(item) for item in value)}]"
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case None | bool():
            return {None: "none", True: "true", False: "false"}[value]
        case Type() | DType():
            return str(value) if isinstance(value, Type) else repr(value)
    return str(value)


Sizes = tuple[int | None, ...]
ATTRIBUTE_INTEGER_BOUND = 2**53
"""Integer attributes are smaller in magnitude: programs are also JSON, whose integers are exact up to here."""
_UNKNOWN_RANK_HINT = "declare its axes, as in tl.Array[tl.float64, None, 3]"


def check_numeric(*operands: Type, kinds: str = "biuf") -> None:
    """Raise Invalid for operands of other dtype kinds, and for handles of cells."""
    names = {"b": "bool", "i": "an integer dtype", "u": "an integer dtype", "f": "a float dtype"}
    for operand in operands:
        if isinstance(operand.dtype, HandleType):
            raise Invalid(
                "ops cannot compute with handles of cells",
                required="a number or an array",
                got=operand,
                python=TypeError,
            )
        if operand.dtype.kind not in kinds:
            required = " or ".join(dict.fromkeys(names[kind] for kind in kinds))
            raise Invalid(
                "an operand has the wrong kind of dtype",
                required=required,
                got=operand,
                hint="convert with tl.astype",
                python=TypeError,
            )


def require_sizes(x: Type) -> Sizes:
    """The sizes of an array; raises Invalid if the number of its axes is unknown."""
    if x.shape is None:
        raise Invalid(
            "the number of axes of this array is unknown",
            required="a known number of axes",
            got=x,
            hint=_UNKNOWN_RANK_HINT,
        )
    return x.shape


def resolve_axis(axis: object, x: Type) -> int:
    """The axis counted from the first; raises Invalid if the array has no such axis."""
    hint = "axis=None means all axes; the type of an array says how many it has, as in tl.Array[tl.float64, None, 3]"
    if x.shape is None or type(axis) is not int or not -len(x.shape) <= axis < len(x.shape):
        count = "an array of known axes" if x.shape is None else f"none, or a number of the {len(x.shape)} axes"
        raise Invalid(
            "there is no such axis",
            required=count,
            got=f"axis={format_attribute(axis)} of {x}",
            hint=hint,
            python=IndexError,
        )
    return axis % len(x.shape)


def resolve_axes(axes: object, x: Type) -> tuple[int, ...]:
    """The axes counted from the first; raises Invalid if one is repeated."""
    if not isinstance(axes, tuple):
        return (resolve_axis(axes, x),)
    resolved = tuple(resolve_axis(axis, x) for axis in axes)
    if len(set(resolved)) < len(resolved):
        raise Invalid("an axis is repeated", required="each axis once", got=f"axis={format_attribute(axes)}")
    return resolved


def reduced_shape(x: Type, axis: object, keepdims: object) -> Shape:
    """The shape after a reduction along these axes; None is all axes."""
    check_bool(keepdims, "keepdims")
    if axis is None:
        return () if not keepdims else None if x.shape is None else (1,) * len(x.shape)
    axes, sizes = resolve_axes(axis, x), enumerate(require_sizes(x))
    return tuple(1 if position in axes else size for position, size in sizes if keepdims or position not in axes)


def element_count(x: Type, axis: object) -> int | None:
    """The number of elements along these axes, or None where it is unknown."""
    if x.shape is None:
        return None
    sizes = x.shape if axis is None else [x.shape[position] for position in resolve_axes(axis, x)]
    return 0 if 0 in sizes else None if None in sizes else math.prod(filter(None, sizes))


def check_static_sizes(shape: object, minimum: int = 0, bound: int = ATTRIBUTE_INTEGER_BOUND) -> tuple[int, ...]:
    """The sizes in an attribute, from `minimum` below `bound`; raises Invalid for anything else."""
    if (
        isinstance(shape, tuple)
        and len(shape) <= MAX_AXES
        and all(type(size) is int and minimum <= size < bound for size in shape)
    ):
        return shape
    required = f"at most {MAX_AXES} sizes, as in shape=[2, 3]"
    raise Invalid("this is not a valid shape", required=required, got=format_attribute(shape))


def check_sizes(shape: object, minimum: int = 0, bound: int = ATTRIBUTE_INTEGER_BOUND) -> Sizes:
    """The sizes in an attribute, as `check_static_sizes` checks them; a size that is left open is None."""
    if isinstance(shape, tuple):
        check_static_sizes(tuple(0 if size is None else size for size in shape), minimum, bound)
        return shape
    return check_static_sizes(shape, minimum, bound)


def _count_open_sizes(shape: object) -> int:
    return shape.count(None) if isinstance(shape, tuple) else 0


def fill_shape(shape: Sizes, sizes: Sequence[int], minimum: int = 0) -> Sizes:
    """A shape with these sizes for those that it leaves open. Raises Invalid, with the words of NumPy, for a size below
    `minimum`; MemoryError for a size that no array has.

    >>> fill_shape((None, 3), [2])
    (2, 3)
    """
    if min(sizes) < minimum:
        raise Invalid("negative dimensions are not allowed", required=f"sizes from {minimum} up", got=min(sizes))
    if max(sizes) >= ATTRIBUTE_INTEGER_BOUND:
        raise MemoryError(f"a size of {max(sizes)}")
    remaining = iter(sizes)
    return tuple(next(remaining) if size is None else size for size in shape)


SHAPE_SIZES = DynamicSizes("shape", _count_open_sizes, fill_shape)
"""The attribute `shape`, whose sizes may be operands."""


def can_broadcast(shape: Sizes, target: Sizes) -> bool:
    """Whether an array may broadcast to this shape; an unknown size may turn out to fit."""
    pairs = zip(reversed(shape), reversed(target), strict=False)
    return len(shape) <= len(target) and all(size in (None, 1, other) or other is None for size, other in pairs)


def check_rank(shape: Sizes) -> Sizes:
    """The shape; raises Invalid if it has more axes than an array may have."""
    if len(shape) > MAX_AXES:
        raise Invalid("the array has too many axes", required=f"{MAX_AXES} axes at most", got=len(shape))
    return shape


def describe_shapes(*shapes: Sequence[int | None]) -> str:
    """Shapes in the form that messages use.

    >>> describe_shapes((2, None), ())
    '(2, ?) and ()'
    """
    return " and ".join(str(tuple(shape)).replace("None", "?") for shape in shapes)


def check_bool(value: Any, name: str) -> bool:
    """The value of an attribute; raises Invalid unless it is a bool."""
    if type(value) is not bool:
        raise Invalid(f"{name} is not a bool", required="true or false", got=format_attribute(value), python=TypeError)
    return value


_KIND_NAMES = {"b": "bool", "i": "an integer dtype", "f": "a float dtype"}


def elementwise_type_rule(kinds: str, result: DType | None = None) -> TypeRule:
    """The type rule of an op whose operands, of these kinds (b, i for integers of both signs, f), broadcast and
    promote. The result has the promoted dtype, or `result`."""

    def rule(*operands: Type) -> Type:
        dtype = promote_operands(operands)
        if dtype.kind.replace("u", "i") not in kinds:
            raise Invalid(
                "the operands have the wrong kind of dtype",
                required=" or ".join(_KIND_NAMES[kind] for kind in kinds),
                got=", ".join(map(str, operands)),
                hint=_convert_hint(dtype, kinds),
                python=TypeError,
            )
        return Type(result or dtype, broadcast_shape([operand.shape for operand in operands]))

    return rule


def promote_operands(operands: Sequence[Type]) -> DType:
    """The dtype to which the operands promote; raises Invalid for operands of different kinds, which do not promote."""
    dtype: DType | None = operands[0].dtype
    for operand in operands[1:]:
        dtype = dtype and promote(dtype, operand.dtype)
    if dtype is None:
        raise Invalid(
            "the dtypes of the operands do not promote to a common one",
            required="dtypes of one kind, or integers that fit into a signed dtype",
            got=", ".join(map(str, operands)),
            hint="convert one with tl.astype(x, dtype)",
            python=TypeError,
        )
    return dtype


def scalar_by_kind(
    integer_function: Callable[..., Any], *extra_arguments: Any, fallback: Callable[..., Any]
) -> ScalarByDtype:
    """A scalar column with one function for integers, which takes these extra arguments, and one for other dtypes."""
    for_integers, for_others = ScalarFunction(integer_function, extra_arguments), ScalarFunction(fallback)
    return ScalarByDtype(lambda operand, result: for_integers if result.is_integer else for_others)


def short_symbol(name: str) -> str:
    """The name of an op as its symbol, if it is short enough."""
    return name if len(name) <= 4 else ""


def rounding_bound(count: int, magnitude: Any, *operands: Any) -> Any:
    """The error bound of a sum of `count` terms, where `magnitude` is the sum of their absolute values."""
    dtype = np.result_type(*operands)
    if dtype.kind != "f":
        return np.zeros_like(magnitude)
    return (count * 2.0**-53 + (2.0**-24 if dtype == np.float32 else 0.0)) * magnitude


def _convert_hint(dtype: DType, kinds: str) -> str:
    if dtype.is_integer and "f" in kinds:
        return "convert with tl.astype(x, tl.float64)"
    if dtype is dtypes.bool:
        return f"convert with tl.astype(x, tl.{'int64' if 'i' in kinds else 'float64'})"
    return "compare first, or convert with tl.astype"
