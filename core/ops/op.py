"""The registry of ops. An op is one row, declared once, in the file of its family; everything else is derived from it.

Columns hold the types that an op takes and returns, its kernels for scalars and for arrays, the operands on which it
traps, its gradient, and its documentation. Results are cast to their dtype here, never by a kernel. So kernels see no
floats of 16 bits, except those that only move them: ops compute in float32, and the result is rounded once.

A row with a fault (a column that is missing, misspelt, or raises) breaks only the programs that use its op: these get
an error that names the op and the column. tests/core/ops/test_rows.py lists the faults of all rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial, wraps
from types import MappingProxyType, MethodDescriptorType
from typing import Any, NamedTuple, NoReturn, Protocol, TypeAlias

import numpy as np

from .. import dtypes
from ..dtypes import DType
from ..errors import Invalid, TagloomError, Usage
from ..types import Shape, Type, broadcast_shape, type_of
from ..value import MAX_PRINTED_ELEMENTS, Value, format_value, normalize
from .cast import (
    ERROR_STATE,
    IGNORE_ERRORS,
    build_elementwise,
    compose_casts,
    float64_cast,
    narrow_value,
    numpy_cast,
    round_to_float32,
    rounding_constructor,
    unboxing_cast,
    widen_array,
)

TypeRule: TypeAlias = Callable[..., Type]
Kernel: TypeAlias = Callable[..., Value]
Attributes: TypeAlias = tuple[tuple[str, Any], ...]


class OpBuilder(Protocol):
    """Applies ops for a gradient rule: adds nodes to a program, or computes values eagerly."""

    def __call__(self, op: str, *operands: Any, **attributes: Any) -> Any:
        """Apply an op. An operand is one of the rule's, the result of another call, or a Python number, which takes
        the dtype of the other operands."""

    def type(self, operand: Any) -> Type:
        """The type of an operand; sizes may be unknown."""


Gradient: TypeAlias = Callable[..., Any]
"""`gradient(builder, index, adjoint, result, *operands, **attributes)` returns the adjoint of the operand at `index`,
given the adjoint of the result, or None if that operand has no adjoint. It is called for float operands only. It
applies ops and computes nothing itself, so that one rule serves graphs, tapes and every order of derivative. For an op
that broadcasts, the adjoint may have the shape of the result: the caller sums it to the shape of the operand."""


@dataclass(frozen=True, slots=True)
class TrapCondition:
    """The operands for which an op has no value, and the message of the trap. `predicate` takes the operands, scalars
    or arrays, and the attributes by keyword, except those of an op with a `scalar` column; it is called only where the
    dtype of the last operand is of one of `dtype_kinds`. Unless floats are among these kinds, only the shapes of float
    operands matter."""

    predicate: Callable[..., Any]
    message: str | Callable[..., str]
    """Or a function that returns it, given the attributes by keyword."""
    dtype_kinds: str = "iu"
    error: type[Exception] | None = ValueError
    """The exception from which the trap also derives; None if the message begins with its name."""
    index_axis: Callable[..., int | None] | None = None
    """The axis of operand 0 along which the last operand is the only index; None if there is no such axis. A scalar
    index that is at least 0 and less than the size of this axis does not trap. Takes the types of the operands, and
    the attributes by keyword."""

    def describe(self, attributes: Attributes) -> str:
        """The message of the trap of an op with these attributes."""
        return self.message if isinstance(self.message, str) else self.message(**dict(attributes))


@dataclass(frozen=True, slots=True)
class DynamicSizes:
    """An attribute in which some sizes may be left open: operands hold them, which the run computes. A size that is
    left open is written `?`, and takes one operand, an integer without axes. These operands follow the others."""

    attribute: str
    count: Callable[[Any], int]
    """The number of sizes that a value of the attribute leaves open."""
    fill: Callable[[Any, Sequence[int]], Any]
    """The attribute with these sizes; raises Invalid with the message of a trap, or MemoryError."""


class Stacking(NamedTuple):
    """The rule by which an op computes stacks of operands. A stack has one more axis, in front; along it, the op
    computes each element as it does alone, to the bit."""

    ranks: tuple[int, ...]
    """For each operand, the number of its axes behind that of the stack, once axes of size 1 are inserted in front."""
    attributes: Mapping[str, Any] = MappingProxyType({})
    """The attributes of the op on stacks."""
    broadcasts: bool = True
    """Whether the op broadcasts an operand that is the same for the whole stack."""


class ScalarFunction(NamedTuple):
    """A function of plain numbers that never raises and that numba can compile, and its arguments after the operands.
    Among these, `int` stands for the integer type of the result on the machine that runs the function."""

    function: Callable[..., Any]
    extra_arguments: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class ScalarByDtype:
    """A scalar column that depends on the dtypes of the first operand and of the result. The choice of the function may
    depend only on their kinds, except for a function that is called with the dtypes' ranges."""

    select: Callable[[DType, DType], ScalarFunction]


@dataclass(frozen=True, slots=True)
class Op:
    """A row of the table of ops.

    Required columns:

    - `name`.
    - `arity`: the number of operands; None is any number from 1.
    - `type_rule`: maps the types of operands, and the attributes by keyword, to the type of the result, or raises
      Invalid.
    - `numpy`: computes arrays. Without a `scalar` column it computes scalars too.
    - `doc`: a sentence that says what the op computes, and a doctest.

    Columns with defaults:

    - `scalar`: the meaning of the op on Python scalars, element by element; never raises, and numba can compile it. It
      knows no attribute but the dtype of the result.
    - `gradient`: the rule of its adjoints; an op on floats without a rule cannot be differentiated.
    - `symbol`: the operator or short word that pictures show.
    - `attributes`: the names of the static attributes, which `type_rule`, `numpy` and `error_bound` take by keyword;
      `attribute_defaults` has default values of the last ones.
    - `optional_attributes`: the last of `attributes`, which a node may leave out together. Columns that take attributes
      have Python defaults for them: `attribute_defaults`.
    - `dynamic_sizes`: the attribute some of whose sizes may be operands, which follow those that `arity` counts. With
      these operands the op is the op without them, whose attribute the run completes; `type_rule` takes the attribute
      with sizes left open, all other columns but `gradient` only the complete one.
    - `result_elements`: the number of elements of a result whose size depends on the values of the operands.
    - `namespace`: the module in which users find the function of the op, "tagloom" or "linalg", where that is derived
      from the row; None where it is written by hand, in core/frontend/array_api, or there is none. The default is
      "tagloom" for an op with a `scalar` column, else None.
    - `trap_condition`: the operands for which the op has no value.
    - `shape_rule`: the shape of the result from the shapes of the operands; raises Invalid where these do not fit, and
      `shape_mismatch` is the verb of that message. With None the type rule does both, on the types at run time.
    - `same_dtype_operands`: the operands, from one index to another, that share a dtype, which Python numbers among
      them take.
    - `promotes_integers_to_float`: the function of the op, and its operator, convert operands of integer dtypes to
      float64 first, in nodes of their own, where no operand is a float array. The op itself takes floats only.
    - `error_bound`: how far an engine may be from the exact result; without it, all engines give the same bits.
    - `numpy_float32`: computes arrays of float32 without widening them, each element within 2 ulp of the exact number,
      or within `error_bound`. Without it they are computed in float64 and rounded, as scalars are.
    - `narrow_compute_dtype`: the dtype of the result of `numpy` that is rounded to float16 or bfloat16; operands of
      these dtypes arrive as float32. None where columns take arrays of these dtypes, as where elements are only moved.
    - `has_innocuous_rounding`: rounding twice gives the bits of rounding once, as for sums, products, quotients, roots,
      and ops that do not round (Figueroa, When is double rounding innocuous?, 1995): `numpy` computes float32 without
      widening.
    - `is_data_movement`: elements are only moved.
    - `has_superlinear_work`: the time grows faster than the operands and the result, as for sorts and products of
      matrices.
    - `float_loop`: NumPy's function whose own loop decides the last bits of arrays of floats. Compiled code calls that
      loop; arrays of other ops are computed there by the `scalar` column.
    - `specialize_numpy`: returns a faster function than `numpy` for some types of operands and attributes, else None.
      A method of NumPy's arrays is one that fills a new array. With `accepts_float32` it widens float32 by itself; in a
      row with `numpy_float32` it takes float32 unchanged.
    - `numpy_scalar`: the same as `numpy`, for a single number.
    - `stacking`: how the op computes stacks, a function of the types of the operands, all of whose sizes are known, and
      of the attributes by keyword; or None where it does not. Ops with a `scalar` column compute stacks anyway.
    """

    name: str
    arity: int | None
    type_rule: TypeRule
    numpy: Callable[..., Any]
    doc: str
    scalar: Callable[..., Any] | ScalarByDtype | None = None
    symbol: str = ""
    attributes: tuple[str, ...] = ()
    attribute_defaults: Mapping[str, Any] = field(default_factory=dict, hash=False)
    optional_attributes: tuple[str, ...] = ()
    dynamic_sizes: DynamicSizes | None = None
    result_elements: Callable[..., int] | None = None
    namespace: str | None = None
    trap_condition: TrapCondition | None = None
    shape_rule: Callable[[list[Shape]], Shape] | None = broadcast_shape
    shape_mismatch: str = "do not broadcast"
    same_dtype_operands: tuple[int, int | None] = (0, None)
    promotes_integers_to_float: bool = False
    error_bound: Callable[..., Any] | None = None
    numpy_float32: Callable[..., Any] | None = None
    narrow_compute_dtype: DType | None = dtypes.float32
    has_innocuous_rounding: bool = False
    is_data_movement: bool = False
    has_superlinear_work: bool = False
    float_loop: np.ufunc | None = None
    specialize_numpy: Callable[..., Callable[..., Any] | None] | None = None
    accepts_float32: bool = False
    numpy_scalar: Callable[[Any], Any] | None = None
    stacking: Callable[..., Stacking | None] | None = None
    gradient: Gradient | None = None
    faults: tuple[str, ...] = ()
    """The reasons for which the row cannot be used, each with the name of a column; set by `op`."""

    def computes_in_float32(self, dtype: DType) -> bool:
        """Whether arrays are computed in float32 where the result has this dtype."""
        return self.numpy_float32 is not None and dtype is dtypes.float32

    @property
    def output_count(self) -> int:
        """The number of outputs of a node of a graph."""
        return 1

    def has_attributes(self, names: Sequence[str]) -> bool:
        """Whether a node of this op may have exactly these attributes, in this order."""
        required_count = len(self.attributes) - len(self.optional_attributes)
        return tuple(names) in (self.attributes, self.attributes[:required_count])

    def scalar_kernel(self, operand: DType, result: DType) -> ScalarFunction:
        """The function that computes scalars, for the dtypes of the first operand and of the result."""
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

_COLUMNS = {column.name for column in fields(Op)} - {"name", "faults"}
_REQUIRED_COLUMNS: dict[str, Any] = {"arity": None, "type_rule": None, "numpy": None, "doc": ""}
"""The columns that every row needs, with placeholders for a row that lacks one."""


def op(name: str, **columns: Any) -> Op:
    """Declare a row. It is registered whatever its faults are; the type rule of a faulty row raises Usage."""
    assert name not in _REGISTRY, f"{name} is declared twice"
    missing = [f"the column {column} is missing" for column in _REQUIRED_COLUMNS if column not in columns]
    unknown = [f"there is no column {column}" for column in columns if column not in _COLUMNS]
    faults = (*missing, *unknown, *_column_faults(columns))
    columns = {**_REQUIRED_COLUMNS, **{key: column for key, column in columns.items() if key in _COLUMNS}}
    columns.setdefault("namespace", "tagloom" if columns.get("scalar") is not None else None)
    columns["type_rule"] = (
        _fault_type_rule(name, faults) if faults else _name_column(name, "type_rule", columns["type_rule"])
    )
    if columns.get("dynamic_sizes") and not faults:
        columns["type_rule"] = check_dynamic_sizes(columns["dynamic_sizes"], columns["type_rule"])
    if callable(columns.get("gradient")):
        columns["gradient"] = _name_column(name, "gradient", columns["gradient"])
    row = Op(name=name, faults=faults, **columns)
    _REGISTRY[name] = row
    return row


def _column_faults(columns: Mapping[str, Any]) -> Iterator[str]:
    """The faults of single columns."""
    arity, scalar = columns.get("arity"), columns.get("scalar")
    if arity is not None and (type(arity) is not int or arity < 1):
        yield f"the column arity is {arity!r}, not a number of operands from 1 up"
    for name in ("type_rule", "numpy"):
        if name in columns and not callable(columns[name]):
            yield f"the column {name} is not a function"
    functions = "gradient", "error_bound", "numpy_float32", "shape_rule", "specialize_numpy", "numpy_scalar", "stacking"
    for name in functions:
        if columns.get(name) is not None and not callable(columns[name]):
            yield f"the column {name} is not a function"
    if scalar is not None and not isinstance(scalar, ScalarByDtype) and not callable(scalar):
        yield "the column scalar is not a function"


def fault_error(name: str, faults: str) -> Usage:
    """The error of a program that uses an op whose row has a fault."""
    return Usage(f"the row of the op {name!r} is broken: {faults}", hint="correct its row; other ops are not affected")


def column_error(row: Op, operands: Sequence[Value], error: Exception) -> Exception:
    """The error of a program whose kernel raised an exception. It names the op and the column. Errors of tagloom, and
    memory and recursion errors, are returned unchanged."""
    if isinstance(error, TagloomError | MemoryError | RecursionError):
        return error
    is_scalar = row.scalar is not None and not any(isinstance(operand, np.ndarray) for operand in operands)
    fault = fault_error(row.name, f"the column {'scalar' if is_scalar else 'numpy'} raised {error!r}")
    fault.__cause__ = error
    return fault


def raise_column_error(row: Op, operands: Sequence[Value], error: Exception) -> NoReturn:
    """Raise `column_error`, with the exception of the kernel as its cause."""
    kernel_error = column_error(row, operands, error)
    raise kernel_error from kernel_error.__cause__


def _fault_type_rule(name: str, faults: Sequence[str]) -> TypeRule:
    """The type rule of a row with faults: it raises an error that lists them."""

    def type_rule(*_: Type, **__: Any) -> Type:
        raise fault_error(name, "; ".join(faults))

    return type_rule


def _name_column(name: str, column: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A column whose exceptions, unless they are tagloom's, become errors that name the op and the column."""

    @wraps(function, updated=())
    def call(*operands: Any, **attributes: Any) -> Any:
        try:
            return function(*operands, **attributes)
        except (TagloomError, MemoryError, RecursionError):
            raise
        except Exception as error:
            raise fault_error(name, f"the column {column} raised {error!r}") from error

    return call


class SizedRow(Protocol):
    """The columns from which the number of operands of an op follows."""

    @property
    def arity(self) -> int | None: ...

    @property
    def dynamic_sizes(self) -> DynamicSizes | None: ...


def dynamic_size_count(row: SizedRow, attributes: Mapping[str, Any]) -> int:
    """The number of operands that hold sizes of an attribute."""
    dynamic = row.dynamic_sizes
    return 0 if dynamic is None else dynamic.count(attributes.get(dynamic.attribute))


def operand_count(row: SizedRow, attributes: Mapping[str, Any]) -> int | None:
    """The number of operands that an op takes with these attributes; None for any number."""
    return None if row.arity is None else row.arity + dynamic_size_count(row, attributes)


def fill_dynamic_sizes(
    row: SizedRow, operands: tuple[Any, ...], attributes: Attributes
) -> tuple[tuple[Any, ...], Attributes]:
    """The operands that hold no sizes, and the attributes, completed by the sizes. Raises Invalid with the message of a
    trap, or MemoryError."""
    dynamic, count = row.dynamic_sizes, dynamic_size_count(row, dict(attributes))
    if dynamic is None or count == 0:
        return operands, attributes
    sizes = list(map(int, operands[len(operands) - count :]))
    complete = tuple(
        (name, dynamic.fill(value, sizes) if name == dynamic.attribute else value) for name, value in attributes
    )
    return operands[: len(operands) - count], complete


def check_dynamic_sizes(dynamic: DynamicSizes, type_rule: TypeRule) -> TypeRule:
    """A type rule that also takes the operands which hold sizes; raises Invalid unless they are integers without
    axes."""

    @wraps(type_rule)
    def check(*operands: Type, **attributes: Any) -> Type:
        count = dynamic.count(attributes[dynamic.attribute])
        sizes = operands[len(operands) - count :]
        for size in sizes:
            if not size.is_scalar or not size.dtype.is_integer:
                raise Invalid(
                    "a size is not an integer", required="an integer dtype, no axes", got=size, python=TypeError
                )
        return type_rule(*operands[: len(operands) - count], **attributes)

    return check


def lookup_op(name: str) -> Op:
    """The row of an op; raises Usage where there is none."""
    if name not in OPS:
        raise Usage(f"no op is called {name!r}", hint=f"the ops are {', '.join(OPS)}", python=KeyError)
    return OPS[name]


def wrap(number: int, dtype: DType = dtypes.int64) -> int:
    """An integer modulo 2 to the number of bits, in the range of a dtype.

    >>> wrap(2**63) == -2**63, wrap(300, dtypes.uint8), wrap(200, dtypes.int8)
    (True, 44, -56)
    """
    low, high = dtype.range
    return ((number - low) & (high - low)) + low


_LOW, _HIGH = dtypes.int64.range


def build_kernel(
    row: Op, operands: Sequence[Type], result: Type, attributes: Attributes = (), *, may_alias: bool = False
) -> Kernel:
    """The function that computes an op on operands of these types: the scalar column on scalars, if there is one, else
    the NumPy column.

    With `may_alias` a result may share elements with an operand, since nothing writes to operands.
    """
    if dynamic_size_count(row, dict(attributes)):
        return _dynamic_size_kernel(row, operands, result, attributes, may_alias=may_alias)
    moves_narrow_floats = row.narrow_compute_dtype is None and _has_narrow_floats(operands, result)
    if row.scalar is None or moves_narrow_floats:
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

    def kernel(*operands: Value) -> Value:
        number = compute(*operands)
        return number if _LOW <= number <= _HIGH else wrap(number)

    return kernel


def _dynamic_size_kernel(
    row: Op, operands: Sequence[Type], result: Type, attributes: Attributes, *, may_alias: bool
) -> Kernel:
    """A kernel for an op with sizes as operands. At run time it reads the sizes and calls the kernel for these."""
    types = operands[: row.arity]

    def compute(*operands: Value) -> Value:
        others, complete = fill_dynamic_sizes(row, operands, attributes)
        return build_kernel(row, types, result, complete, may_alias=may_alias)(*others)

    return compute


def _dynamic_shape_kernel(row: Op, operands: Sequence[Type], result: Type, attributes: Attributes) -> Kernel:
    """A kernel for a result of unknown shape: it checks at run time whether the operands are scalars."""
    on_scalars = build_kernel(row, operands, Type(result.dtype), attributes)
    on_arrays = _array_kernel(row, operands, result, attributes)

    def compute(*operands: Value) -> Value:
        has_array = any(isinstance(operand, np.ndarray) for operand in operands)
        return on_arrays(*operands) if has_array else on_scalars(*operands)

    return compute


def _array_function(row: Op, attributes: Attributes, *, is_float32: bool) -> Callable[..., Any]:
    """The column that computes arrays, as a function of the operands alone."""
    column = row.numpy_float32 if is_float32 and row.numpy_float32 else row.numpy
    return partial(column, **dict(attributes)) if attributes else column


def _append_arguments(function: Callable[..., Any], extra_arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The function with these arguments after the operands."""
    return (lambda *operands: function(*operands, *extra_arguments)) if extra_arguments else function


def _boxed_kernel(column: Callable[..., Any], operands: Sequence[Type], dtype: DType) -> Kernel:
    """A kernel for scalars of dtypes that are not Python's own: it unboxes operands and boxes the result."""
    box, computed = _box_function(dtype), compose_casts(list(map(unboxing_cast, operands)), column)
    return lambda *operands: box(computed(*operands))


def _box_function(dtype: DType) -> Callable[[Any], Any]:
    """The cast of a Python number to a scalar of this dtype."""
    if dtype in dtypes.FLOAT_FORMATS:
        return rounding_constructor(dtype)
    constructor = dtype.numpy.type
    if dtype.is_integer:
        return lambda number: wrap(number, dtype) if dtype in dtypes.PYTHON_DTYPES else constructor(wrap(number, dtype))
    return (
        (lambda number: number)
        if dtype in dtypes.PYTHON_DTYPES
        else round_to_float32
        if dtype is dtypes.float32
        else constructor
    )


def _array_kernel(
    row: Op, operands: Sequence[Type], result: Type, attributes: Attributes, *, may_alias: bool = False
) -> Kernel:
    wide_dtype = None if row.is_data_movement else row.narrow_compute_dtype
    if {type_.dtype for type_ in operands} >= dtypes.FLOAT_FORMATS.keys():  # NumPy does not promote one to the other
        wide_dtype = dtypes.float32
    if wide_dtype is not None and _has_narrow_floats(operands, result):
        return _narrow_kernel(row, operands, result, attributes, wide_dtype)
    if row.numpy_scalar is not None and operands[0].is_scalar:
        number, scalar_function = _scalar_constructor(result.dtype), row.numpy_scalar
        return lambda x: number(scalar_function(x))
    is_narrow = row.computes_in_float32(result.dtype)
    special_column = row.specialize_numpy(*operands, **dict(attributes)) if row.specialize_numpy else None
    column = special_column or _array_function(row, attributes, is_float32=is_narrow)
    fills_new_array = isinstance(column, np.ufunc | MethodDescriptorType) and column is not np.matmul
    is_wide = not (
        is_narrow or row.has_innocuous_rounding or row.is_data_movement or (special_column and row.accepts_float32)
    )
    casts = list(map(float64_cast if is_wide else numpy_cast, operands))
    if fills_new_array and len({type_.dtype for type_ in operands}) == 1 and not is_wide:
        casts = [None] * len(operands)  # NumPy gives Python numbers the dtype of the array operand
    if fills_new_array and result.shape:
        return build_elementwise(column, casts, result.dtype.numpy)
    return _normalizing_kernel(row, compose_casts(casts, column), len(operands), result, may_alias=may_alias)


def _normalizing_kernel(row: Op, computed: Callable[..., Any], arity: int, result: Type, *, may_alias: bool) -> Kernel:
    """The kernel that brings what NumPy computes into the canonical form of values, in a form for each case."""
    numpy_dtype, array, number = result.dtype.numpy, np.ndarray, _scalar_constructor(result.dtype)
    is_array = bool(result.shape)

    def normalize_result(output: Any, operands: tuple[Value, ...]) -> Value:
        """The result of a column in the canonical form of values."""
        if type(output) is not array:
            return normalize(output, result) if is_array else number(output)
        if not output.ndim:
            return normalize(output, result)
        if output.dtype is not numpy_dtype:
            output = output.astype(numpy_dtype, "C")
        elif not may_alias and (output.base is not None or any(output is operand for operand in operands)):
            output = output.copy()
        flags = output.flags
        if may_alias and not flags.writeable and flags.c_contiguous:  # a view of an operand
            return output  # type: ignore[no-any-return]
        if not flags.c_contiguous or (may_alias and output.base is not None):
            output = output.copy()
        output.setflags(False)
        return output  # type: ignore[no-any-return]

    def compute(*operands: Value) -> Value:
        token = ERROR_STATE.set(IGNORE_ERRORS)
        try:
            return normalize_result(computed(*operands), operands)
        finally:
            ERROR_STATE.reset(token)

    set_state, reset_state = ERROR_STATE.set, ERROR_STATE.reset
    float32 = np.float32 if result.dtype is dtypes.float32 else None

    def compute_number(x: Value) -> Value:
        """The kernel for one operand and a scalar result. Inlining saves 0.2 us."""
        token = set_state(IGNORE_ERRORS)
        try:
            output = computed(x)
            if type(output) is array:
                return normalize(output, result)
            return float32(float(output)) if float32 else number(output)
        finally:
            reset_state(token)

    def compute_data_movement(*operands: Value) -> Value:
        """Leaves NumPy's error state alone, which moving elements does not need: 0.15 us less."""
        return normalize_result(computed(*operands), operands)

    def compute_view(x: Value) -> Value:
        """Returns a view of the operand, which mostly is in canonical form already: 0.2 us less."""
        output = computed(x)
        flags = output.flags
        return output if flags.c_contiguous and not flags.writeable else normalize_result(output, (x,))

    if not row.is_data_movement:
        return compute_number if result.is_scalar and arity == 1 else compute
    return compute_view if may_alias and is_array and arity == 1 else compute_data_movement


def _has_narrow_floats(operands: Sequence[Type], result: Type) -> bool:
    """Whether an operand or the result of an op is float16 or bfloat16."""
    return any(type_.dtype in dtypes.FLOAT_FORMATS for type_ in (*operands, result))


def _narrow_kernel(
    row: Op, operands: Sequence[Type], result: Type, attributes: Attributes, wide_dtype: DType
) -> Kernel:
    """The kernel for arrays of floats of 16 bits: that for float32 operands, whose result, of a wide dtype, is
    rounded."""
    is_narrow = result.dtype in dtypes.FLOAT_FORMATS
    kernel = _array_kernel(
        row,
        [Type(type_.dtype.compute_dtype, type_.shape) for type_ in operands],
        Type(wide_dtype, result.shape) if is_narrow else result,
        tuple((name, wide_dtype if is_narrow and value is result.dtype else value) for name, value in attributes),
    )
    if not is_narrow:
        return lambda *operands: kernel(*map(widen_array, operands))
    return lambda *operands: narrow_value(kernel(*map(widen_array, operands)), result.dtype)


def _scalar_constructor(dtype: DType) -> Callable[[Any], Any]:
    """The constructor of scalars of this dtype from NumPy's."""
    if dtype in dtypes.PYTHON_DTYPES:
        return {"f": float, "b": bool}.get(dtype.kind, int)
    constructor = dtype.numpy.type
    if dtype is dtypes.float32:
        return lambda number: number if type(number) is constructor else constructor(float(number))
    return constructor


MAX_ELEMENTS = 2**30
"""The maximal number of elements of a result: 8 GiB of float64. A column and a row of a megabyte each broadcast to
more."""


def trap_message(row: Op, operands: tuple[Value, ...], attributes: Attributes = ()) -> str | None:
    """The trap message if the op has no value for these operands, or None.

    Every op traps where sizes that types leave unknown do not fit at run time. An op that computes element by element
    does not trap if its result has no elements.

    Raises MemoryError, before anything is allocated, if the result would have more than MAX_ELEMENTS; sizes of 0 count
    as 1 there, since NumPy bounds the product of the other sizes too.
    """
    try:
        operands, attributes = fill_dynamic_sizes(row, operands, attributes)
    except Invalid as error:
        return error.message
    if row.scalar is None or any(isinstance(operand, np.ndarray) for operand in operands):
        try:
            shape = _result_shape(row, operands, attributes)
        except Invalid as error:
            return error.message
        if math.prod(filter(None, shape)) > MAX_ELEMENTS:
            raise MemoryError(f"an array of shape {shape}")
        if 0 in shape and row.scalar is not None:
            return None
    return row.trap_condition.describe(attributes) if is_undefined(row, operands, attributes) else None  # type: ignore[union-attr]


def is_undefined(row: Op, operands: tuple[Value, ...], attributes: Attributes = ()) -> bool:
    """Whether the condition of a row says that the op has no value for these operands, whose shapes fit."""
    undefined, operands = row.trap_condition, tuple(map(widen_array, operands))
    if undefined is None or np.asarray(operands[-1]).dtype.kind not in undefined.dtype_kinds:
        return False
    try:
        keywords = {} if row.scalar is not None else dict(attributes)
        return bool(np.any(undefined.predicate(*operands, **keywords)))
    except (TagloomError, MemoryError):
        raise
    except Exception as error:
        raise fault_error(row.name, f"the column trap_condition raised {error!r}") from error


def index_bound(row: Op, operands: Sequence[Type], attributes: Attributes = ()) -> int | None:
    """A number such that an op on operands of these types does not trap if its last operand, a scalar index, is at
    least 0 and less; None if nothing like that is known."""
    condition = row.trap_condition
    if condition is None or condition.index_axis is None or not operands[-1].is_scalar:
        return None
    axis, shape = condition.index_axis(*operands, **dict(attributes)), operands[0].shape
    return None if axis is None or shape is None else shape[axis]


def describe_trapping_element(
    op: str, operands: Sequence[Value], attributes: Attributes, message: str
) -> Iterator[str]:
    """A note on a trap with this message that names the element of the last operand which traps, if that operand is an
    array too large for messages."""
    undefined = OPS[op].trap_condition if op in OPS else None
    if undefined is None or message != undefined.describe(attributes):
        return
    last = operands[-1]
    if isinstance(last, np.ndarray) and last.size > MAX_PRINTED_ELEMENTS:
        keywords = {} if OPS[op].scalar is not None else dict(attributes)
        mask = np.asarray(undefined.predicate(*map(widen_array, operands), **keywords))
        if mask.shape == last.shape:
            index = [int(position) for position in np.unravel_index(np.argmax(mask), mask.shape)]
            yield f"  the last operand is {format_value(last[tuple(index)])} at {index}"


def _result_shape(row: Op, operands: tuple[Value, ...], attributes: Attributes) -> tuple[int | None, ...]:
    """The shape of the result; a size that depends on values is None. Raises Invalid with the message of a trap."""
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
    """Whether this op can trap at all with a result of this type; machines check it before a run."""
    if row.shape_rule is None or (row.arity != 1 and (row.scalar is None or not result.is_scalar)):
        return True
    return row.trap_condition is not None and result.dtype.kind in row.trap_condition.dtype_kinds
