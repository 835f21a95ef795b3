"""Effects and random numbers: cells, printing, callbacks, breakpoints and random draws.

In a trace these functions add nodes to the program. Outside a trace, effects happen eagerly, and cells are refused,
since they belong to a run.

A draw depends in a trace on the run's seed, the node and the tag. Outside a trace, and wherever a `Generator` is used,
it depends on a seed and a count of earlier draws, which are variables. So the draws of a generator are in program
order, through branches, loops and calls, and are the same on every engine and schedule.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import Any

from .. import dtypes
from ..errors import TagloomError, Usage
from ..ops.effects import exception_name, format_text
from ..ops.op import OPS
from ..types import HandleType, Type, as_type, check_element_type
from ..value import admit
from .eager.apply import apply
from .eager.recording import cells_not_recorded_error, record_nondifferentiable, recording_tapes
from .eager.variable import Variable
from .sizes import open_sizes
from .trace.captures import read_variable
from .trace.program_builder import RegionBuilder, current_region, emit_op, to_operand, to_weak_operand, unwrap_weak
from .trace.source_location import user_location
from .trace.symbol import Symbol
from .trace.text import FormattedValue

_INT = Type(dtypes.int64)


def cells(n: Any, dtype: Any, /) -> Any:
    """Create `n` empty write-once cells, each for one value of a dtype, or of a type such as tl.Array[tl.float64, 3].

    Returns a handle `a`. `put` fills a cell; `get`, or `a[i]`, reads it as soon as it is filled. Only in a tl.function:
    raises Usage elsewhere.
    """
    region = _require_region("cells")
    try:
        element = check_element_type(as_type(dtype))
    except Usage as error:
        error.where = user_location()
        raise
    return _emit_effect(region, "cells", [to_operand(unwrap_weak(n), _INT)], element=element)


def put(cells: Any, i: Any, value: Any, /) -> Any:
    """Put a value into cell `i`, from 0. Returns the handle: an op that uses it is ordered after the put.

    A second put to a cell traps, and so does an index out of range. Raises Usage outside a tl.function.
    """
    region, handle = _require_region("put"), to_operand(cells)
    element = handle.type.dtype.element if isinstance(handle.type.dtype, HandleType) else None
    operand = to_weak_operand(unwrap_weak(value), element.dtype if element and element.is_scalar else None)
    return _emit_effect(region, "put", [handle, to_operand(unwrap_weak(i), _INT), operand])


def get(cells: Any, i: Any, /) -> Any:
    """The value of cell `i`, as soon as the cell is filled; also written `cells[i]`. Until then the read is deferred.

    Traps on an index out of range. Raises Usage outside a tl.function.
    """
    return _emit_effect(_require_region("get"), "get", [to_operand(cells), to_operand(unwrap_weak(i), _INT)])


def collect(cells: Any, /) -> Any:
    """The values of all cells as an array, as soon as all are filled; the first axis counts the cells.

    Raises Usage outside a tl.function.
    """
    return _emit_effect(_require_region("collect"), "collect", [to_operand(cells)])


def print(*parts: Any) -> None:
    """Print a line of strings and values, separated by spaces, when the program runs. Lines are in program order."""
    separated = [text for part in parts for text in (" ", part)]
    print_joined(*separated[1:])


def print_joined(*parts: Any) -> None:
    """Print a line of strings and values, as `print` does, without spaces between them. A value is a literal, or has a
    format of Python (`FormattedValue`)."""
    pieces, operands = list[str](), list[Any]()
    for part in parts:
        if isinstance(part, str):
            pieces.append(part.replace("{", "{{").replace("}", "}}"))
            continue
        is_formatted = isinstance(part, FormattedValue)
        value, placeholder = (part.value, f"{{:{part.specification}}}") if is_formatted else (part, "{}")
        pieces.append(placeholder)
        operands.append(unwrap_weak(value))
    text = "".join(pieces)
    region = current_region()
    if region is None:
        builtins.print(format_text(text, tuple(map(_admit_operand, operands))))
    else:
        _emit_effect(region, "print", list(map(to_operand, operands)), text=text)


def callback(function: Callable[..., Any], *operands: Any, returns: Any = ...) -> Any:
    """Call a Python function with these values when the program runs. Returns its result, of the dtype or type
    `returns`.

    Callbacks are called one at a time, in program order. Where one raises an exception, or returns a value of another
    type, the firing traps.
    """
    if not callable(function):
        raise Usage(
            "the first argument of callback is not a function",
            where=user_location(),
            got=repr(function),
            python=TypeError,
        )
    if returns is ...:
        raise Usage(
            "callback needs the type of its result",
            where=user_location(),
            required="returns=tl.float64, or another dtype or type",
            hint="a function that returns nothing may return 0, with returns=tl.int64; tl.print prints values",
            python=TypeError,
        )
    try:
        type_ = as_type(returns)
    except TagloomError as error:
        error.where = user_location()
        raise
    region = current_region()
    if region is None:
        return admit(function(*map(_admit_operand, operands)), type_)
    region.specialization.callbacks.append(function)
    index = str(len(region.specialization.callbacks) - 1)
    inputs = [to_operand(unwrap_weak(operand)) for operand in operands]
    result = _emit_effect(region, "callback", inputs, function=index, returns=type_)
    record_nondifferentiable("callback", list(map(read_variable, operands)), result)
    return result


def assert_(condition: Any, message: str = "", /, *, error: type[Exception] = AssertionError) -> None:
    """Trap unless all elements of a condition are true. The trap is also an exception of the class `error`.

    An assertion guards nothing: what does not depend on the trapped firing still runs (docs/semantics.md, S5).

    >>> assert_(2 > 1)
    """
    if not (isinstance(error, type) and issubclass(error, Exception)):
        raise Usage("this is not an exception", where=user_location(), got=repr(error), python=TypeError)
    apply("assert", condition, error=exception_name(error), message=str(message))


def breakpoint(condition: Any = True, /) -> None:
    """Stop a debugger here if `condition` is true. Runs without a debugger continue."""
    region = current_region()
    if region is not None:
        _emit_effect(region, "breakpoint", [to_operand(unwrap_weak(condition))])


def uniform(shape: Any = ()) -> Any:
    """Uniformly distributed random numbers from 0 below 1, float64. In a function they depend on the run's seed, this
    node and the tag; outside, on the seed of `tl.set_seed` and the number of earlier draws."""
    region, (sizes, symbols) = current_region(), open_sizes(shape)
    if region is None:
        return default_generator().uniform(shape)
    return _emit_effect(region, "uniform", map(to_operand, symbols), shape=sizes)


def normal(shape: Any = ()) -> Any:
    """Random numbers of the normal distribution with mean 0 and variance 1, float64; seeded as `uniform`."""
    region, (sizes, symbols) = current_region(), open_sizes(shape)
    if region is None:
        return default_generator().normal(shape)
    return _emit_effect(region, "normal", map(to_operand, symbols), shape=sizes)


def integers(low: Any, high: Any, /, shape: Any = ()) -> Any:
    """Uniformly distributed random integers from `low` below `high`, int64; seeded as `uniform`."""
    region, (sizes, symbols) = current_region(), open_sizes(shape)
    if region is None:
        return default_generator().integers(low, high, shape)
    bounds = [to_operand(unwrap_weak(bound), _INT) for bound in (low, high)]
    return _emit_effect(region, "integers", [*bounds, *map(to_operand, symbols)], shape=sizes)


def permutation(n: Any, /) -> Any:
    """The integers from 0 below `n`, int64, in random order; seeded as `uniform`."""
    region = current_region()
    if region is None:
        return default_generator().permutation(n)
    return _emit_effect(region, "permutation", [to_operand(unwrap_weak(n), _INT)])


def _emit_effect(region: RegionBuilder, op: str, operands: Iterable[Any], **attributes: Any) -> Any:
    return Symbol(emit_op(region, op, list(operands), tuple(attributes.items())))


def _require_region(name: str) -> RegionBuilder:
    region = current_region()
    if region is None:
        raise Usage(
            f"{name} works only in a run",
            where=user_location(),
            hint="use it in a tl.function, and call that or run it",
        )
    if recording_tapes():
        raise cells_not_recorded_error()
    return region


def _admit_operand(operand: Any) -> Any:
    return admit(operand)


def uniform_at(seed: Any, count: Any, /, *, shape: Any = ()) -> Any:
    sizes, symbols = open_sizes(shape)
    return apply("uniform_at", seed, count, *symbols, shape=sizes)


def normal_at(seed: Any, count: Any, /, *, shape: Any = ()) -> Any:
    sizes, symbols = open_sizes(shape)
    return apply("normal_at", seed, count, *symbols, shape=sizes)


def integers_at(seed: Any, count: Any, low: Any, high: Any, /, *, shape: Any = ()) -> Any:
    sizes, symbols = open_sizes(shape)
    return apply("integers_at", seed, count, low, high, *symbols, shape=sizes)


def permutation_at(seed: Any, count: Any, n: Any, /) -> Any:
    return apply("permutation_at", seed, count, n)


for function in (uniform_at, normal_at, integers_at, permutation_at):
    function.__doc__ = OPS[function.__name__].doc


class Generator:
    """A generator of random numbers, determined by its seed. `tl.Checkpoint` saves its seed and count.

    Raises Usage for a seed that is not an integer from 0 below 2**63.

    >>> g, h = Generator(7), Generator(7)
    >>> first, second = g.uniform((2,)), g.uniform((2,))
    >>> bool((first == h.uniform((2,)))[0]), bool((first == second)[0])
    (True, False)
    """

    def __init__(self, seed: int = 0) -> None:
        if type(seed) is not int or not 0 <= seed < 2**63:
            raise Usage(
                "this is not a seed", where=user_location(), required="an integer from 0 below 2**63", got=repr(seed)
            )
        self.seed = Variable(seed, name="seed", trainable=False)
        self.count = Variable(0, name="count", trainable=False)

    def __repr__(self) -> str:
        return f"<generator of seed {int(self.seed._resource.value)}, {int(self.count._resource.value)} drawn>"

    def uniform(self, shape: Any = ()) -> Any:
        """Uniformly distributed numbers from 0 below 1, float64."""
        return uniform_at(*self._advance(), shape=shape)

    def normal(self, shape: Any = ()) -> Any:
        """Numbers of the normal distribution with mean 0 and variance 1, float64."""
        return normal_at(*self._advance(), shape=shape)

    def integers(self, low: Any, high: Any, shape: Any = ()) -> Any:
        """Uniformly distributed integers from `low` below `high`, int64. Traps on an empty range."""
        return integers_at(*self._advance(), low, high, shape=shape)

    def permutation(self, n: Any) -> Any:
        """The integers from 0 below `n`, int64, in random order. Traps on a negative n."""
        return permutation_at(*self._advance(), n)

    def _advance(self) -> tuple[Any, Any]:
        count = self.count.value
        self.count.assign_add(1)
        return self.seed.value, count


_DEFAULT_GENERATOR: list[Generator] = []


def default_generator() -> Generator:
    """The generator of the draws outside functions."""
    if not _DEFAULT_GENERATOR:
        _DEFAULT_GENERATOR.append(Generator(0))
    return _DEFAULT_GENERATOR[0]


def set_seed(seed: int) -> None:
    """Set the seed of the random numbers that `tl.uniform`, `tl.normal`, `tl.integers` and `tl.permutation` draw
    outside functions, and restart their sequence. A run uses its own seed.

    >>> import tagloom as tl
    >>> set_seed(1)
    >>> x = tl.uniform()
    >>> set_seed(1)
    >>> bool(x == tl.uniform())
    True
    """
    _DEFAULT_GENERATOR[:] = [Generator(seed)]
