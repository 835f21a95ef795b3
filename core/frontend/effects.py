"""The words of the language that do more than compute: cells, effects and random numbers.

In a trace they add to the program. Outside of one, effects happen eagerly, and random numbers are drawn by count; cells
belong to a run.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..errors import TagloomError, Usage
from ..ops.effect import formatted
from ..types import HandleType, Type, admit_element, as_type
from ..value import admit
from .eager.recording import hearing, no_cells, record_without_rule
from .generator import shape_of_draw, shared
from .trace.captures import read
from .trace.source_location import here
from .trace.symbol import Symbol
from .trace.trace import RegionTrace, apply, current, number_of, to_operand, weakly

_INT = Type(dtypes.int64)


def cells(n: Any, dtype: Any, /) -> Any:
    """`n` empty write-once cells, each for one value of a dtype, or of a type such as tl.Array[tl.float64, 3].

    A handle of them; `put` fills a cell, and `get`, or `a[i]`, has its value, as soon as it is there. Only in a
    tl.function.
    """
    region = _region("cells")
    try:
        element = admit_element(as_type(dtype))
    except Usage as error:
        error.where = here()
        raise
    return _act(region, "cells", [to_operand(number_of(n), _INT)], element=element)


def put(cells: Any, i: Any, value: Any, /) -> Any:
    """Put a value into cell `i`; the handle, for what comes after. A second put to a cell is a trap."""
    region, handle = _region("put"), to_operand(cells)
    element = handle.type.dtype.element if isinstance(handle.type.dtype, HandleType) else None
    adapted = weakly(number_of(value), element.dtype if element and element.is_scalar else None)
    return _act(region, "put", [handle, to_operand(number_of(i), _INT), adapted])


def get(cells: Any, i: Any, /) -> Any:
    """The value of cell `i`, as soon as it has been put; also written `cells[i]`."""
    return _act(_region("get"), "get", [to_operand(cells), to_operand(number_of(i), _INT)])


def collect(cells: Any, /) -> Any:
    """The values of all cells as an array, as soon as all have been put."""
    return _act(_region("collect"), "collect", [to_operand(cells)])


def print(*parts: Any) -> None:
    """Print a line when the program runs: texts and values, with a space between them. Lines are in program order."""
    operands = [number_of(part) for part in parts if not isinstance(part, str)]
    text = " ".join(part.replace("{", "{{").replace("}", "}}") if isinstance(part, str) else "{}" for part in parts)
    region = current()
    if region is None:
        builtins.print(formatted(text, tuple(map(_concrete, operands))))
    else:
        _act(region, "print", list(map(to_operand, operands)), text=text)


def callback(function: Callable[..., Any], *operands: Any, returns: Any) -> Any:
    """What a Python function returns, called with these values when the program runs; of dtype or type `returns`.

    Callbacks are called one after another, in program order. Where one raises, or returns anything else, the firing
    traps.
    """
    if not callable(function):
        raise Usage("callback wants a Python function", where=here(), got=repr(function))
    try:
        type_ = as_type(returns)
    except TagloomError as error:
        error.where = here()
        raise
    region = current()
    if region is None:
        return admit(function(*map(_concrete, operands)), type_)
    region.instance.callbacks.append(function)
    place = str(len(region.instance.callbacks) - 1)
    given = [to_operand(number_of(operand)) for operand in operands]
    made = _act(region, "callback", given, function=place, returns=type_)
    record_without_rule("callback", list(map(read, operands)), made)
    return made


def breakpoint(when: Any = True, /) -> None:
    """Where a debugger stops, if `when` is true; a run goes on."""
    region = current()
    if region is not None:
        _act(region, "breakpoint", [to_operand(number_of(when))])


def uniform(shape: Sequence[int] = (), /) -> Any:
    """Random numbers from 0 below 1, float64. In a function, which ones depends on the run's seed, on this node, and on
    the tag; outside of one, on how many were drawn before, and on `tl.set_seed`."""
    region, sizes = current(), shape_of_draw(shape)
    return _act(region, "uniform", [], shape=sizes) if region is not None else shared().uniform(sizes)


def normal(shape: Sequence[int] = (), /) -> Any:
    """Random numbers of the normal distribution of mean 0 and variance 1, float64; which ones, as of `uniform`."""
    region, sizes = current(), shape_of_draw(shape)
    return _act(region, "normal", [], shape=sizes) if region is not None else shared().normal(sizes)


def integers(low: Any, high: Any, shape: Sequence[int] = (), /) -> Any:
    """Random integers from `low` below `high`, int64; which ones, as of `uniform`."""
    region, sizes = current(), shape_of_draw(shape)
    if region is None:
        return shared().integers(low, high, sizes)
    bounds = [to_operand(number_of(bound), _INT) for bound in (low, high)]
    return _act(region, "integers", bounds, shape=sizes)


def permutation(n: Any, /) -> Any:
    """The numbers from 0 below `n`, int64, in random order; which one, as of `uniform`."""
    region = current()
    if region is None:
        return shared().permutation(n)
    return _act(region, "permutation", [to_operand(number_of(n), _INT)])


def _act(region: RegionTrace, op: str, operands: Sequence[Any], **attributes: Any) -> Any:
    return Symbol(apply(region, op, operands, tuple(attributes.items())))


def _region(word: str) -> RegionTrace:
    region = current()
    if region is None:
        raise Usage(f"{word} belongs to a run", where=here(), hint="use it in a tl.function, and call that or run it")
    if hearing():
        raise no_cells()
    return region


def _concrete(operand: Any) -> Any:
    return admit(operand)


Symbol.get = staticmethod(get)
