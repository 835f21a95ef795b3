"""The op record and the registry. An op is a row, declared once, in its family's file.

Columns: what it takes, what type it makes, what it computes on scalars and on arrays, where it has no value.
Results are cast to the row's dtype here, never by a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType, MethodDescriptorType
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from .. import dtypes
from ..dtypes import DType
from ..errors import Invalid, Usage
from ..types import Shape, Type, broadcast_shape, type_of
from ..value import MAX_PRINTED_ELEMENTS, Value, format_value, normalize
from .cast import (
    ERROR_STATE,
    IGNORE_ERRORS,
    build_elementwise,
    compose_casts,
    float64_cast,
    numpy_cast,
    round_to_float32,
    unboxing_cast,
)

TypeRule: TypeAlias = Callable[..., Type]
Kernel: TypeAlias = Callable[..., Value]
Attributes: TypeAlias = tuple[tuple[str, Any], ...]


class OpBuilder(Protocol):
    """What a gradient rule calls ops with: nodes of a program that is being made, or values, eagerly."""

    def __call__(self, op: str, *operands: Any, **attributes: Any) -> Any:
        """The op of these operands: each is what the rule was given, what this gave, or a Python number, which takes
        the dtype of what it meets."""

    def type(self, operand: Any) -> Type:
        """The type of an operand, as far as it is known."""


Gradient: TypeAlias = Callable[..., Any]
"""`gradient(do, index, adjoint, result, *operands, **attributes)`: the adjoint of the operand at `index`, given that of
the result, or None where that operand has none. It is asked for operands of floats only, calls ops and computes
nothing, so that one rule serves graphs, tapes and every order. Of an op that broadcasts it may have the shape of the
result: whoever asked sums it to that of the operand."""


@dataclass(frozen=True, slots=True)
class TrapCondition:
    """Where an op has no value: `when` says for which operands (scalars or arrays), `message` why. It takes the
    attributes by keyword, too; `kinds` are those of the last operand that it is asked for."""

    predicate: Callable[..., Any]
    message: str
    dtype_kinds: str = "iu"


class ScalarFunction(NamedTuple):
    """What computes plain numbers: a function that never raises and that numba can compile, and what it takes after
    the operands. `int` among these is the class of the result's integers, whatever a machine has for them."""

    function: Callable[..., Any]
    extra_arguments: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class ScalarByDtype:
    """A scalar column that depends on dtypes: that of the first operand, and that of the result. Of these only the
    kinds may decide which function it is."""

    select: Callable[[DType, DType], ScalarFunction]


@dataclass(frozen=True, slots=True)
class Op:
    """A row of the table of ops.

    `types` maps operand types to the result's type or raises Invalid. `scalar` is the op's meaning on Python
    scalars and never raises; `numpy` computes arrays. `undefined` says which operands trap. `attributes` names
    the static attributes, which `types`, `numpy` and `bound` take by keyword; `scalar` has the result's dtype to go by.

    An op without a `scalar` column is not computed element by element: `numpy` is its meaning on scalars too. `shape`
    is that of the result, by those of the operands, and raises Invalid where these do not fit; `misfit` is what they
    do not do. Without it the type rule says both, of what the operands turn out to be. `bound` says how far an engine
    may be from the exact result; without one all engines make the same bits.

    `arity` is None where any number of operands from 1 will do. `alike` says which of the operands share a dtype, which
    Python's numbers among them take: those from a place on, and before another.

    Arrays of float32 are computed in float64 and rounded, as scalars are, unless `narrow` is there: then that computes
    them as they are, each element within 2 ulp of the exact number, or as `bound` says. `innocuous` says that rounding
    twice gives the bits of rounding once, as for sums, products, quotients and roots, and what rounds nothing
    (Figueroa, When is double rounding innocuous?, 1995): then nobody sees that `numpy` computes them as they are.
    `moves` says that elements are moved alone, of which nothing is computed.

    `static` makes of the types of operands and the attributes what `numpy` is with them, where that is quicker, else
    None; a method of NumPy's arrays is one that fills a new array, row after row. With `widens` it takes float32 for
    float64 by itself; where the row is `narrow`, it takes float32 as it is. `alone` is what `numpy` makes of one
    number.

    `gradient` is the rule of its adjoints; an op of floats without one cannot be differentiated.
    """

    name: str
    arity: int | None
    type_rule: TypeRule
    numpy: Callable[..., Any]
    doc: str
    scalar: Callable[..., Any] | ScalarByDtype | None = None
    symbol: str = ""
    attributes: tuple[str, ...] = ()
    trap_condition: TrapCondition | None = None
    shape_rule: Callable[[list[Shape]], Shape] | None = broadcast_shape
    shape_mismatch: str = "do not broadcast"
    same_dtype_operands: tuple[int, int | None] = (0, None)
    error_bound: Callable[..., Any] | None = None
    numpy_float32: Callable[..., Any] | None = None
    has_innocuous_rounding: bool = False
    is_data_movement: bool = False
    specialize_numpy: Callable[..., Callable[..., Any] | None] | None = None
    accepts_float32: bool = False
    numpy_scalar: Callable[[Any], Any] | None = None
    gradient: Gradient | None = None

    def computes_in_float32(self, dtype: DType) -> bool:
        """Whether arrays are computed in float32, the result being of this dtype."""
        return self.numpy_float32 is not None and dtype is dtypes.float32

    @property
    def output_count(self) -> int:
        """How many a node of a graph has."""
        return 1

    def scalar_kernel(self, operand: DType, result: DType) -> ScalarFunction:
        """What computes scalars, the first operand and the result being of these dtypes."""
        assert self.scalar is not None
        return (
            self.scalar.select(operand, result)
            if isinstance(self.scalar, ScalarByDtype)
            else ScalarFunction(self.scalar)
        )

    def __repr__(self) -> str:
        return f"<op {self.name}>"


_REGISTRY: dict[str, Op] = {}
OPS: Mapping[str, Op] = MappingProxyType(_REGISTRY)
"""Every op that computes a value, by name, in the order of the families."""


def op(name: str, **columns: Any) -> Op:
    """Declare a row."""
    assert name not in _REGISTRY, f"{name} is declared twice"
    row = Op(name=name, **columns)
    _REGISTRY[name] = row
    return row


def lookup_op(name: str) -> Op:
    """The row of an op; raises Usage where there is none."""
    if name not in OPS:
        raise Usage(f"no op is called {name!r}", hint=f"the ops are {', '.join(OPS)}")
    return OPS[name]


def wrap(number: int, dtype: DType = dtypes.int64) -> int:
    """An integer modulo 2 to the number of bits, in the range of its dtype: the table's cast to integers.

    >>> wrap(2**63) == -2**63, wrap(300, dtypes.uint8), wrap(200, dtypes.int8)
    (True, 44, -56)
    """
    low, high = dtype.range
    return ((number - low) & (high - low)) + low


_LOW, _HIGH = dtypes.int64.range


def build_kernel(
    row: Op, operands: Sequence[Type], result: Type, attributes: Attributes = (), *, may_alias: bool = False
) -> Kernel:
    """What computes this op on operands of these types: on scalars the scalar column, if it has one, else NumPy's.

    `shares` says that nobody writes to the elements of operands, so that a result may have the same.
    """
    if row.scalar is None:
        return _array_kernel(row, operands, result, attributes, may_alias=may_alias)
    if result.shape is None:
        return _dynamic_shape_kernel(row, operands, result, attributes)
    if not result.is_scalar:
        return _array_kernel(row, operands, result, attributes, may_alias=may_alias)
    compute = _append_arguments(*row.scalar_kernel(operands[0].dtype, result.dtype))
    if any(type_.dtype not in dtypes.PYTHON_DTYPES for type_ in (*operands, result)):
        return _boxed_kernel(compute, operands, result.dtype)
    if result.dtype is not dtypes.int64:
        return compute

    def wrapped(*operands: Value) -> Value:
        number = compute(*operands)
        return number if _LOW <= number <= _HIGH else wrap(number)

    return wrapped


def _dynamic_shape_kernel(row: Op, operands: Sequence[Type], result: Type, attributes: Attributes) -> Kernel:
    """Where only the run tells whether the operands are scalars."""
    on_scalars = build_kernel(row, operands, Type(result.dtype), attributes)
    on_arrays = _array_kernel(row, operands, result, attributes)

    def compute(*operands: Value) -> Value:
        return on_arrays(*operands) if any(isinstance(o, np.ndarray) for o in operands) else on_scalars(*operands)

    return compute


def _array_function(row: Op, attributes: Attributes, *, is_float32: bool) -> Callable[..., Any]:
    """What computes arrays, of operands alone."""
    column = row.numpy_float32 if is_float32 and row.numpy_float32 else row.numpy
    return partial(column, **dict(attributes)) if attributes else column


def _append_arguments(function: Callable[..., Any], further: tuple[Any, ...]) -> Callable[..., Any]:
    """A function of the operands alone."""
    return (lambda *operands: function(*operands, *further)) if further else function


def _boxed_kernel(column: Callable[..., Any], operands: Sequence[Type], dtype: DType) -> Kernel:
    """On scalars that are not all Python's own: they are unboxed, and the result is boxed."""
    box, computed = _box_function(dtype), compose_casts(list(map(unboxing_cast, operands)), column)
    return lambda *operands: box(computed(*operands))


def _box_function(dtype: DType) -> Callable[[Any], Any]:
    """The table's cast of a number of Python's."""
    make = dtype.numpy.type
    if dtype.is_integer:
        return lambda number: wrap(number, dtype) if dtype in dtypes.PYTHON_DTYPES else make(wrap(number, dtype))
    return (
        (lambda number: number)
        if dtype in dtypes.PYTHON_DTYPES
        else round_to_float32
        if dtype is dtypes.float32
        else make
    )


def _array_kernel(
    row: Op, operands: Sequence[Type], result: Type, attributes: Attributes, *, may_alias: bool = False
) -> Kernel:
    if row.numpy_scalar is not None and operands[0].is_scalar:
        number, alone = _scalar_constructor(result.dtype), row.numpy_scalar
        return lambda x: number(alone(x))
    is_narrow = row.computes_in_float32(result.dtype)
    quick = row.specialize_numpy(*operands, **dict(attributes)) if row.specialize_numpy else None
    column = quick or _array_function(row, attributes, is_float32=is_narrow)
    makes_new = isinstance(column, np.ufunc | MethodDescriptorType) and column is not np.matmul
    is_wide = not (is_narrow or row.has_innocuous_rounding or row.is_data_movement or (quick and row.accepts_float32))
    casts = list(map(float64_cast if is_wide else numpy_cast, operands))
    if makes_new and len({type_.dtype for type_ in operands}) == 1 and not is_wide:
        casts = [None] * len(operands)  # beside an array NumPy takes Python's numbers for its dtype
    wanted, array, number = result.dtype.numpy, np.ndarray, _scalar_constructor(result.dtype)
    if makes_new and result.shape:
        return build_elementwise(column, casts, wanted)
    computed, is_array = compose_casts(casts, column), bool(result.shape)

    def normalize_result(made: Any, operands: tuple[Value, ...]) -> Value:
        """What a column made, in the one form of a value."""
        if type(made) is not array:
            return normalize(made, result) if is_array else number(made)
        if not made.ndim:
            return normalize(made, result)
        if made.dtype is not wanted:
            made = made.astype(wanted, "C")
        elif not may_alias and (made.base is not None or any(made is each for each in operands)):
            made = made.copy()
        flags = made.flags
        if may_alias and not flags.writeable and flags.c_contiguous:  # a part of an operand
            return made  # type: ignore[no-any-return]
        if not flags.c_contiguous or (may_alias and made.base is not None):
            made = made.copy()
        made.setflags(False)
        return made  # type: ignore[no-any-return]

    def compute(*operands: Value) -> Value:
        before = ERROR_STATE.set(IGNORE_ERRORS)
        try:
            return normalize_result(computed(*operands), operands)
        finally:
            ERROR_STATE.reset(before)

    begin, end, narrow = ERROR_STATE.set, ERROR_STATE.reset, np.float32 if result.dtype is dtypes.float32 else None

    def compute_number(x: Value) -> Value:
        """One number of an array, written out: 0.2 us less."""
        before = begin(IGNORE_ERRORS)
        try:
            made = computed(x)
            if type(made) is array:
                return normalize(made, result)
            return narrow(float(made)) if narrow else number(made)
        finally:
            end(before)

    def compute_data_movement(*operands: Value) -> Value:
        """What needs no word about floats: 0.15 us less."""
        return normalize_result(computed(*operands), operands)

    def compute_view(x: Value) -> Value:
        """A part of an array mostly, which is in order already: 0.2 us less."""
        made = computed(x)
        flags = made.flags
        return made if flags.c_contiguous and not flags.writeable else normalize_result(made, (x,))

    if not row.is_data_movement:
        return compute_number if result.is_scalar and len(operands) == 1 else compute
    return compute_view if may_alias and is_array and len(operands) == 1 else compute_data_movement


def _scalar_constructor(dtype: DType) -> Callable[[Any], Any]:
    """What makes a scalar of one of NumPy's."""
    if dtype in dtypes.PYTHON_DTYPES:
        return {"f": float, "b": bool}.get(dtype.kind, int)
    make = dtype.numpy.type
    if dtype is dtypes.float32:
        return lambda number: number if type(number) is make else make(float(number))
    return make


MAX_ELEMENTS = 2**30
"""How many elements an op may make: 8 GiB of float64. A column and a row of a megabyte each broadcast to more."""


def trap_message(row: Op, operands: tuple[Value, ...], attributes: Attributes = ()) -> str | None:
    """Why the op has no value for these operands, or None where it has one.

    Sizes that types leave unknown may turn out not to fit: that is a trap of every op. Of an op that computes element
    by element, a result without elements has none that could trap.

    Raises MemoryError, before anything is allocated, where the result would have more than MOST_ELEMENTS; sizes of 0
    count as 1 there, since NumPy bounds their product with the others too.
    """
    if row.scalar is None or any(isinstance(operand, np.ndarray) for operand in operands):
        try:
            shape = _result_shape(row, operands, attributes)
        except Invalid as error:
            return error.message
        if math.prod(filter(None, shape)) > MAX_ELEMENTS:
            raise MemoryError(f"an array of shape {shape}")
        if 0 in shape and row.scalar is not None:
            return None
    undefined = row.trap_condition
    if undefined is None or np.asarray(operands[-1]).dtype.kind not in undefined.dtype_kinds:
        return None
    return undefined.message if np.any(undefined.predicate(*operands, **dict(attributes))) else None


def describe_trapping_element(
    op: str, operands: Sequence[Value], attributes: Attributes, message: str
) -> Iterator[str]:
    """A note on a trap with this message: which element of the last operand the op has no value for, where it is an
    element that it has none for, of an array that messages do not write out."""
    undefined = OPS[op].trap_condition if op in OPS else None
    if undefined is None or message != undefined.message:
        return
    last = operands[-1]
    if isinstance(last, np.ndarray) and last.size > MAX_PRINTED_ELEMENTS:
        those = np.asarray(undefined.predicate(*operands, **dict(attributes)))
        if those.shape == last.shape:
            index = [int(at) for at in np.unravel_index(np.argmax(those), those.shape)]
            yield f"  the last operand is {format_value(last[tuple(index)])} at {index}"


def _result_shape(row: Op, operands: tuple[Value, ...], attributes: Attributes) -> tuple[int | None, ...]:
    """The shape of the result; a size that values decide is None. Raises Invalid, with words for a trap."""
    if row.shape_rule is None:
        return row.type_rule(*map(type_of, operands), **dict(attributes)).shape or ()
    try:
        return row.shape_rule(list(map(_operand_shape, operands))) or ()
    except Invalid as error:
        error.message = f"shapes {' and '.join(map(str, map(_operand_shape, operands)))} {row.shape_mismatch}"
        raise


def _operand_shape(operand: Any) -> tuple[int, ...]:
    return np.shape(operand)


def can_trap(row: Op, result: Type) -> bool:
    """Whether this op, with a result of this type, can trap at all: machines ask before they run."""
    if row.shape_rule is None or (row.arity != 1 and (row.scalar is None or not result.is_scalar)):
        return True
    return row.trap_condition is not None and result.dtype.kind in row.trap_condition.dtype_kinds
