"""Checks of the arguments of array functions: types, static numbers, axes, shapes and dtypes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...errors import Invalid, Usage
from ...types import Type
from ..eager.apply import apply
from ..sizes import static_integer, static_integers
from ..trace.program_builder import to_operand, unwrap_weak
from ..trace.source_location import user_location


def type_of(x: Any) -> Type:
    """The type of a value, symbolic or not."""
    return to_operand(unwrap_weak(x)).type


def rank_of(x: Any) -> int:
    """The number of axes of an array; raises Invalid (V4) where the rank is unknown."""
    return len(shape_of(x))


def shape_of(x: Any) -> tuple[int | None, ...]:
    """The shape of an array; sizes may be None. Raises Invalid (V4) where the rank is unknown."""
    type_ = type_of(x)
    if type_.shape is None:
        hint = "annotate it with its axes, as in tl.Array[tl.float64, None, 3]"
        message = "the rank of this array is not known"
        raise Invalid(
            message, rule="V4", where=user_location(), required="a known number of axes", got=type_, hint=hint
        )
    return type_.shape


def static_number(number: Any, noun: str) -> float:
    """A static number, called `noun` in messages; raises Usage for anything else."""
    if isinstance(number, int | float | np.integer | np.floating) and not isinstance(number, bool):
        return float(number)
    raise Usage(
        f"{noun} is not a static number",
        where=user_location(),
        required="a Python number",
        got=repr(number),
        python=TypeError,
    )


def static_axis(axis: Any) -> Any:
    """The attribute `axis` of an op: None, an integer, or a tuple of several."""
    if axis is None:
        return None
    axes = static_integers(axis, "an axis")
    return axes[0] if len(axes) == 1 else axes


def resolve_axis(axis: Any, x: Any, extra: int = 0) -> int:
    """An axis of x as a number from 0; `extra` is the number of axes that x will get. Raises Invalid (V4) where there
    is no such axis."""
    rank, position = rank_of(x) + extra, static_integer(axis, "an axis")
    if not -rank <= position < rank:
        required = f"{-rank} to {rank - 1}" if rank else "an array with axes"
        raise Invalid(
            "there is no such axis",
            rule="V4",
            where=user_location(),
            required=required,
            got=f"axis={position}",
            python=IndexError,
        )
    return position % rank


def resolve_axes(axes: Any, x: Any, extra: int = 0) -> tuple[int, ...]:
    """Axes of x as numbers from 0; with `extra=1`, x will get as many axes. Raises Invalid (V4) for duplicates."""
    numbers = static_integers(axes, "an axis")
    resolved = tuple(resolve_axis(axis, x, extra * len(numbers)) for axis in numbers)
    if len(set(resolved)) < len(resolved):
        raise Invalid("an axis occurs twice", rule="V4", where=user_location(), required="each axis once", got=axes)
    return resolved


def resolve_optional_axis(axis: Any, x: Any) -> int:
    """An axis, which may be None where there is only one; raises Usage where there are several."""
    if axis is not None:
        return static_integer(axis, "an axis")
    if rank_of(x) != 1:
        raise Usage(
            "the axis is left out",
            where=user_location(),
            required="axis=..., or an array with one axis",
            got=type_of(x),
        )
    return 0


def static_sizes(x: Any, function: str, axes: Iterable[int] | None = None, hint: str | None = None) -> tuple[int, ...]:
    """The sizes of an array along axes, by default along all. Raises Invalid (V4), in the name of a function, where one
    is not static."""
    shape = shape_of(x)
    sizes = [shape[axis] for axis in (range(len(shape)) if axes is None else axes)]
    if None in sizes:
        message = f"{function} needs static sizes"
        raise Invalid(message, rule="V4", where=user_location(), required="static sizes", got=type_of(x), hint=hint)
    return tuple(size for size in sizes if size is not None)


def element_count(x: Any, axis: Any = None) -> Any:
    """The number of elements along axes, or of all: a Python int where it is static, else an array computed at run
    time."""
    type_, axes = type_of(x), None if axis is None else static_integers(axis, "an axis")
    if type_.shape is not None:
        axis_sizes = [
            type_.shape[position] for position in (range(len(type_.shape)) if axes is None else resolve_axes(axes, x))
        ]
        if None not in axis_sizes:
            return math.prod(axis_sizes)
    if axes is None:
        return apply("size", x, axis=None)
    sizes = [apply("size", x, axis=number) for number in axes]
    return math.prod(sizes[1:], start=sizes[0])


def check_dtype(dtype: Any) -> None:
    """Raises Usage for anything but a dtype or None."""
    if dtype is not None:
        require_dtype(dtype)


def require_dtype(dtype: Any) -> None:
    """Raises Usage for anything but a dtype."""
    if not isinstance(dtype, DType):
        is_class = isinstance(dtype, type)
        named = (is_class and dtypes.BY_PYTHON.get(dtype)) or dtypes.BY_NAME.get(getattr(dtype, "__name__", str(dtype)))
        raise Usage(
            "this is not a dtype",
            where=user_location(),
            required="a dtype, such as tl.float64",
            got=repr(dtype),
            hint=None if not named else f"write tl.{named!r}",
            python=TypeError,
        )


def check_matrix(x: Any) -> None:
    """Raises Invalid (V4) for an array with fewer than two axes."""
    if rank_of(x) < 2:
        raise Invalid(
            "this is not a matrix", rule="V4", where=user_location(), required="2 axes or more", got=type_of(x)
        )


def numpy_scalar(value: Any, dtype: DType) -> Any:
    """A NumPy scalar of a dtype. Unlike a concrete array, it does not make the result of an op a concrete array."""
    return dtype.numpy.type(value)


def check_numeric(*arrays: Any) -> None:
    """Raises Invalid (V4) for arrays whose dtype is not numeric."""
    for type_ in map(type_of, arrays):
        if type_.dtype.kind not in "iuf":
            message, hint = "these are not numbers", "convert with tl.astype(x, tl.int64)"
            raise Invalid(
                message,
                rule="V4",
                where=user_location(),
                required="an integer or a float dtype",
                got=type_,
                hint=hint,
                python=TypeError,
            )


def check_floating(x: Any, function: str) -> None:
    """Raises Invalid (V4), in the name of a function, for an array that is not of floats."""
    if type_of(x).dtype.kind != "f":
        message, hint = f"{function}: these are not floats", "convert with tl.astype(x, tl.float64)"
        raise Invalid(
            message,
            rule="V4",
            where=user_location(),
            required="a float dtype",
            got=type_of(x),
            hint=hint,
            python=TypeError,
        )


def check_indices(x: Any) -> None:
    """Raises Invalid (V4) for indices that are not integers."""
    if not type_of(x).dtype.is_integer:
        raise Invalid(
            "indices must be integers",
            rule="V4",
            where=user_location(),
            required="an integer dtype",
            got=type_of(x),
            python=TypeError,
        )


def astype(x: Any, dtype: DType | None) -> Any:
    """x converted to a dtype; unchanged if it has that dtype, or the dtype is None."""
    check_dtype(dtype)
    return x if dtype is None or type_of(x).dtype is dtype else apply("astype", x, dtype=dtype)


def widen(x: Any) -> Any:
    """x in the dtype that ops compute it in: float32 for floats of 16 bits. A function of several ops that widens its
    operand, and converts its result back, rounds once."""
    return astype(x, type_of(x).dtype.compute_dtype)
