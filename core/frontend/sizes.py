"""Sizes and other integers among the arguments of functions: static ones, and symbolic sizes, which become operands."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..errors import Invalid, TagloomError, Usage
from .trace.captures import VariableBase, read_variable
from .trace.program_builder import to_operand
from .trace.source_location import user_location
from .trace.stacked_items import has_stacked_items
from .trace.symbol import ArrayOperators, Symbol


def static_integer(number: Any, noun: str, python: type[Exception] = TypeError) -> int:
    """A static integer, called `noun` in messages; raises Invalid (F1) for a symbol, and Usage, which is also of the
    class `python`, for anything else."""
    if isinstance(number, Symbol):
        hint = "a parameter annotated tl.Static is concrete, and the function is traced for each of its values"
        if "size" in noun:
            hint += "; tl.zeros_like(x) and tl.broadcast_like(y, x) take the shape of an array"
        message = f"{noun} needs a concrete value, and {number!r} is symbolic while tagloom traces the function"
        raise Invalid(message, rule="F1", where=user_location(), hint=hint, python=TypeError)
    if not isinstance(number, bool | np.bool_):
        try:
            return operator.index(number)
        except TagloomError:
            raise
        except TypeError:
            pass
    raise Usage(
        f"{noun} is not an integer", where=user_location(), required="an integer", got=repr(number), python=python
    )


def static_integers(numbers: Any, noun: str) -> tuple[int, ...]:
    """Static integers, given as one integer, a tuple or a list; raises Usage for anything else."""
    return tuple(
        static_integer(number, noun) for number in (numbers if isinstance(numbers, tuple | list) else (numbers,))
    )


def static_size(size: Any, noun: str) -> int:
    """A static size, called `noun` in messages; raises Usage unless it is an integer from 0 up."""
    count = static_integer(size, noun)
    if count < 0:
        raise Usage(f"{noun} is negative", where=user_location(), got=repr(size))
    return count


def static_shape(shape: Any) -> tuple[int, ...]:
    """A static shape, given as a size or as a tuple or list of sizes; raises Usage for anything else."""
    if any(size is None for size in (shape if isinstance(shape, tuple | list) else (shape,))):
        hint = "tl.zeros_like(x), tl.full_like(x, 1) and tl.broadcast_like(y, x) take the shape of an array"
        raise Usage("a size is not static", where=user_location(), required="integers", got=repr(shape), hint=hint)
    sizes = static_integers(shape, "a size")
    if any(size < 0 for size in sizes):
        raise Usage("a size is negative", where=user_location(), got=repr(shape))
    return sizes


def open_shape(shape: Any) -> tuple[tuple[int | None, ...], list[Any]]:
    """A shape as the attribute and the operands of a node: its sizes, None for a symbolic one, and the symbolic ones.

    The shape is a size, a tuple or list of sizes, or an array of sizes along one axis. Raises Usage for anything else.
    """
    shape = read_variable(shape) if isinstance(shape, VariableBase) else shape
    if has_stacked_items(shape):
        shape = Symbol(to_operand(shape))  # type: ignore[arg-type]
    if isinstance(shape, ArrayOperators | np.ndarray) and shape.ndim == 1:
        shape = [shape[position] for position in range(len(shape))]  # type: ignore[arg-type]
    sizes = [
        read_variable(size) if isinstance(size, VariableBase) else size
        for size in (shape if isinstance(shape, tuple | list) else (shape,))
    ]
    symbols = [size for size in sizes if isinstance(size, Symbol)]
    static = iter(static_integers([size for size in sizes if not isinstance(size, Symbol)], "a size"))
    return tuple(None if isinstance(size, Symbol) else next(static) for size in sizes), symbols


def open_sizes(shape: Any) -> tuple[tuple[int | None, ...], list[Any]]:
    """The same, for sizes that are not inferred: raises Usage for a negative one, and for None."""
    parts = shape if isinstance(shape, tuple | list) else [shape]
    if any(size is None for size in parts):
        static_shape(parts)  # which refuses it, in words
    sizes, symbols = open_shape(shape)
    if any(size is not None and size < 0 for size in sizes):
        raise Usage("a size is negative", where=user_location(), got=repr(shape))
    return sizes, symbols
