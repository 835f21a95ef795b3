"""What the functions of the standard ask of their arguments."""

from __future__ import annotations

import math
import operator
from contextlib import suppress
from typing import Any

import numpy as np

from ...dtypes import DType
from ...errors import Invalid, Usage
from ...types import Type
from ..api import apply
from ..trace.source_location import user_location
from ..trace.trace import to_operand, unwrap_weak


def type_of(x: Any) -> Type:
    """The type of a value, symbolic or not."""
    return to_operand(unwrap_weak(x)).type


def rank_of(x: Any) -> int:
    """How many axes an array has; raises Invalid where that is not known."""
    return len(shape_of(x))


def shape_of(x: Any) -> tuple[int | None, ...]:
    """The shape of an array of which it is known how many axes it has; raises Invalid for others."""
    type_ = type_of(x)
    if type_.shape is None:
        hint = "say how many axes it has, as in tl.Array[tl.float64, None, 3]"
        what = "it is not known how many axes this array has"
        raise Invalid(what, rule="V4", where=user_location(), required="known axes", got=type_, hint=hint)
    return type_.shape


def static_integer(number: Any, what: str) -> int:
    """A static integer; raises Usage for anything else."""
    if not isinstance(number, bool | np.bool_):
        with suppress(TypeError):
            return operator.index(number)
    raise Usage(f"{what} is no integer", where=user_location(), required="an integer", got=repr(number))


def static_number(number: Any, what: str) -> float:
    """A static number; raises Usage for anything else."""
    if isinstance(number, int | float | np.integer | np.floating) and not isinstance(number, bool):
        return float(number)
    raise Usage(f"{what} is no static number", where=user_location(), required="as in 1.0", got=repr(number))


def static_integers(numbers: Any, what: str) -> tuple[int, ...]:
    """Static integers, one or several."""
    return tuple(static_integer(each, what) for each in (numbers if isinstance(numbers, tuple | list) else (numbers,)))


def static_axis(axis: Any) -> Any:
    """An attribute `axis`: None, an integer, or a tuple of several."""
    if axis is None:
        return None
    axes = static_integers(axis, "an axis")
    return axes[0] if len(axes) == 1 else axes


def resolve_axis(axis: Any, x: Any, extra: int = 0) -> int:
    """An axis of x, counted from the first; `extra` is how many axes x will have more."""
    rank, wanted = rank_of(x) + extra, static_integer(axis, "an axis")
    if not -rank <= wanted < rank:
        required = f"{-rank} to {rank - 1}" if rank else "an array with axes"
        raise Invalid(
            "there is no such axis", rule="V4", where=user_location(), required=required, got=f"axis={wanted}"
        )
    return wanted % rank


def resolve_axes(axes: Any, x: Any, extra: int = 0) -> tuple[int, ...]:
    """Several axes, each once."""
    given = static_integers(axes, "an axis")
    rank = rank_of(x) + extra * len(given)
    found = tuple(resolve_axis(each, x, rank - rank_of(x)) for each in given)
    if len(set(found)) < len(found):
        raise Invalid(
            "an axis stands there twice", rule="V4", where=user_location(), required="each axis once", got=axes
        )
    return found


def resolve_optional_axis(axis: Any, x: Any) -> int:
    """An axis, which may be left out where there is only one."""
    if axis is not None:
        return static_integer(axis, "an axis")
    if rank_of(x) != 1:
        raise Usage("along which axis?", where=user_location(), required="an axis", got=type_of(x))
    return 0


def static_size(size: Any, what: str) -> int:
    """One size that is known; raises Usage for anything else."""
    count = static_integer(size, what)
    if count < 0:
        raise Usage(f"{what} is from 0 up", where=user_location(), got=repr(size))
    return count


def static_shape(shape: Any) -> tuple[int, ...]:
    """A shape that is known; raises Usage for anything else."""
    if None in (shape if isinstance(shape, tuple | list) else (shape,)):
        hint = "tl.zeros_like(x), tl.full_like(x, 1) and tl.broadcast_like(y, x) take the shape of an array"
        raise Usage("a size is not known", where=user_location(), required="integers", got=repr(shape), hint=hint)
    sizes = static_integers(shape, "a size")
    if any(size < 0 for size in sizes):
        raise Usage("a size is from 0 up", where=user_location(), got=repr(shape))
    return sizes


def element_count(x: Any, axis: Any = None) -> Any:
    """How many elements there are along axes: a number where that is known, else one that the run finds."""
    type_, axes = type_of(x), None if axis is None else static_integers(axis, "an axis")
    if type_.shape is not None:
        along = [type_.shape[at] for at in (range(len(type_.shape)) if axes is None else resolve_axes(axes, x))]
        if None not in along:
            return math.prod(along)
    if axes is None:
        return apply("size", x, axis=None)
    found = [apply("size", x, axis=each) for each in axes]
    return math.prod(found[1:], start=found[0])


def check_dtype(dtype: Any) -> None:
    """Refuse what is no dtype; None is one that is left open."""
    if not (dtype is None or isinstance(dtype, DType)):
        raise Usage("this is no dtype", where=user_location(), required="as in dtype=tl.float64", got=repr(dtype))


def numpy_scalar(value: Any, dtype: DType) -> Any:
    """A number of a dtype, which is no concrete array: what is made with it is like what else it is made of."""
    return dtype.numpy.type(value)


def check_numeric(*arrays: Any) -> None:
    """Refuse what no numbers are."""
    for type_ in map(type_of, arrays):
        if type_.dtype.kind not in "iuf":
            what, hint = "these are no numbers", "convert with tl.astype(x, tl.int64)"
            raise Invalid(
                what, rule="V4", where=user_location(), required="an integer or a float dtype", got=type_, hint=hint
            )


def check_floating(x: Any, function: str) -> None:
    """Refuse what no floats are, in the name of a function."""
    if type_of(x).dtype.kind != "f":
        what, hint = f"{function}: these are no floats", "convert with tl.astype(x, tl.float64)"
        raise Invalid(what, rule="V4", where=user_location(), required="float32 or float64", got=type_of(x), hint=hint)


def check_indices(x: Any) -> None:
    """Refuse what no integers are."""
    if not type_of(x).dtype.is_integer:
        raise Invalid(
            "these are no indices", rule="V4", where=user_location(), required="an integer dtype", got=type_of(x)
        )


def astype(x: Any, dtype: DType | None) -> Any:
    """x as this dtype, if it is not; None leaves it as it is."""
    check_dtype(dtype)
    return x if dtype is None or type_of(x).dtype is dtype else apply("astype", x, dtype=dtype)
