"""Assignments to elements of arrays: `x[i] = v`, `x[mask] += v`, as NumPy performs them.

Only an array that the function has created itself can change: by a function of NumPy, or by `x.copy()`. A change of an
argument would not reach the caller.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...errors import Invalid
from ..array_api.indexing import DynamicIndex, expand_ellipsis, getitem, normalize_entry, stack_indices
from ..eager.apply import apply
from ..eager.recording import recording_tapes
from ..trace.captures import read_variable
from ..trace.mutable_arrays import (
    ArrayView,
    CopiedArrayChange,
    MutableArray,
    PossibleView,
    copied_arrays,
    has_other_names,
    loop_copy,
    note_possible_view,
    owner_of,
)
from ..trace.numbers import number_kind
from ..trace.program_builder import ChangedArray, ProgramBuilder, current_region
from ..trace.python_operations import fail_as_python
from ..trace.source_location import user_location
from ..trace.symbol import Symbol, array_namespace
from .raising import located_exception, stage_assertion
from .state import ElementsPlace, is_outside, record_write, register_created, staging_depth
from .trees import has_symbols, is_array

_COPY_HINT = "change a copy, x = x.copy(), or write x = tl.scatter(x, value, i)"


def as_mutable(result: Any) -> Any:
    """The result of a function of NumPy that is a new array: one whose elements can be assigned. Anything else is
    unchanged."""
    if type(result) is not Symbol or current_region() is None or not is_array(result):
        return result
    builder = _builder()
    if builder.changed_arrays is None:
        builder.has_new_arrays = True
        return result
    result.__class__ = MutableArray  # the same object, which tapes may know
    return register_created(result)


VIEWS = frozenset(
    (
        *("array_split", "asarray", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to", "diag", "diagonal"),
        *("dsplit", "expand_dims", "flip", "fliplr", "flipud", "hsplit", "imag", "matrix_transpose", "moveaxis"),
        *("permute_dims", "ravel", "real", "reshape", "rollaxis", "rot90", "split", "squeeze", "swapaxes"),
        *("transpose", "view", "vsplit"),
        *("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
)
"""The functions and methods of NumPy that may return a part of their argument, which shares its elements."""


def note_result(name: str, result: Any, operands: Iterable[Any]) -> Any:
    """The result of a function or method of NumPy that has this name: a new array, or one that may share the elements
    of an operand."""
    parts = [part for operand in operands for part in (operand if type(operand) in (list, tuple) else [operand])]
    if name in VIEWS:
        for part in parts:
            result = note_possible_view(result, part)
        return result
    if isinstance(result, Symbol) and any(result is part for part in parts):
        result = Symbol(result._tagloom_value)
    return as_mutable(result)


def note_known_result(result: Any, operands: Iterable[Any]) -> Any:
    """The result of a function of NumPy whose operands are all known while tracing. Notes where a new array was
    created; it is one of the program if code that follows makes it hold symbolic values."""
    region = current_region()
    is_new = type(result) is np.ndarray and result.base is None and not any(result is operand for operand in operands)
    if region is None or not is_new or result.dtype.kind not in "biuf" or result.ndim == 0:
        return result
    builder, line = region.specialization.program_builder, str(user_location())
    if line in (builder.changed_arrays or ()):
        return as_mutable(apply("identity", result))
    builder.known_arrays[id(result)] = weakref.ref(result), line
    return result


def change_known_array(array: np.ndarray[Any, Any], *operands: Any) -> None:
    """Announce a change of an array of NumPy, with these as elements, operands or indices.

    If it will have symbolic elements, the function is traced again, with this array, or the array
    that it is a part of, as a value of the program. Raises Invalid (F4) for an array that the function has not created,
    or that the trace has copied."""
    region = current_region()
    if region is None:
        return
    if not (staging_depth() or any(map(has_symbols, operands))):
        check_not_copied(array)
        return
    make_value(array)
    _refuse("an array is changed, by symbolic values, that the function has not created", array)


def make_value(array: np.ndarray[Any, Any]) -> None:
    """If the function has created this array of NumPy, have the function traced again, with the array, or the array
    that it is a part of, as a value of the program."""
    if is_created(array):
        raise ChangedArray(_builder().known_arrays[id(owner_of(array))][1])


def is_created(array: Any) -> bool:
    """Whether the function has created an array of NumPy, which may become a value of the program."""
    if not isinstance(array, np.ndarray) or current_region() is None:
        return False
    owner, builder = owner_of(array), _builder()
    reference, line = builder.known_arrays.get(id(owner), (None, ""))
    return reference is not None and reference() is owner and line not in (builder.changed_arrays or ())


def may_change(array: Any) -> bool:
    """Whether an augmented assignment may change an array of the program, or one that has its elements."""
    if not isinstance(array, Symbol) or current_region() is None:
        return False
    builder = _builder()
    is_first = builder.changed_arrays is None and builder.has_new_arrays
    return has_other_names(array) or (is_first and is_array(array))


def _builder() -> ProgramBuilder:
    region = current_region()
    assert region is not None, "only a trace has symbolic values"
    return region.specialization.program_builder


def set_elements(array: Symbol, key: Any, value: Any) -> None:
    """`array[key] = value`. Raises Invalid (F4) for an array that may have other names which the trace does not know;
    IndexError and the like as NumPy does."""
    if isinstance(value, ArrayView) and value.base is array and value.key is key:  # as `x[i] += 1` assigns it
        return
    if array._type.is_scalar:
        fail_as_python(TypeError(f"a number, of dtype {array.dtype}, does not support item assignment"))
    _check_mutable(array)
    _replace(array, with_elements(Symbol(array._tagloom_value), key, value))


def augment_array(operate: Callable[..., Any], array: Symbol, operand: Any) -> Any:
    """`array += operand`, or another augmented assignment, which `operate` computes: it changes the array itself, and
    returns it. Where a tape records, and no array changes otherwise, it returns a new array.

    Raises TypeError where the result has a dtype of a higher kind, as NumPy does."""
    if recording_tapes() and _builder().changed_arrays is None:
        return operate(array, operand)
    _check_mutable(array)
    dtype = array.dtype
    if dtype.kind in "biu" and number_kind(operand) == "f":
        _refuse_cast("float64", dtype)
    if number_kind(operand) is not None:
        require_in_bounds(read_variable(operand), dtype)
    result = operate(Symbol(array._tagloom_value), operand)
    if "biuf".index(result.dtype.kind) > "biuf".index(dtype.kind):
        _refuse_cast(result.dtype, dtype)
    is_whole = result._type == array._type
    _replace(array, result if is_whole else with_elements(Symbol(array._tagloom_value), ..., result))
    return array


def _refuse_cast(source: Any, target: Any) -> NoReturn:
    fail_as_python(TypeError(f"cannot cast {source} to {target}, the dtype of the array that is changed"))


def _replace(array: Symbol, changed: Any) -> None:
    """Give an array the elements of this one."""
    while isinstance(array, ArrayView):
        base, key = array.base, array.key
        array, changed = base, with_elements(Symbol(base._tagloom_value), key, changed)
    record_write(ElementsPlace(array))
    array._tagloom_value = changed._tagloom_value


def _check_mutable(array: Symbol) -> None:
    if not has_other_names(array) and _builder().changed_arrays is None:
        raise ChangedArray
    copy = loop_copy(array)
    try:
        if isinstance(array, PossibleView):
            _refuse("an array is changed that may share its elements with another one", array)
        if not has_other_names(array):
            _refuse("an array is changed that the function has not created", array)
    except Invalid as refusal:
        if copy is None:
            raise
        raise CopiedArrayChange(copy, refusal) from None
    if is_outside(owner_of(array)._tagloom_value):
        _refuse("an array is changed that another function of the program has created", array)
    if recording_tapes():
        _refuse("an array is changed while a tape records", array)
    check_not_copied(array)


def check_not_copied(array: Any) -> None:
    """Raises Invalid (F4) for a change of an array, symbolic or of NumPy, that the trace has copied: the copies would
    not change."""
    owner = owner_of(array)
    copied = copied_arrays(owner).get(id(owner))
    if copied is not None:
        _refuse(f"an array is changed of which a branch, a loop or a list has a copy, made at {copied[1]}", array)


def _refuse(message: str, array: Any) -> NoReturn:
    raise Invalid(
        message, rule="F4", where=user_location(), got=repr(array), hint=_COPY_HINT, python=NotImplementedError
    )


# The new value


def with_elements(array: Symbol, key: Any, value: Any) -> Any:
    """The value of an array after `array[key] = value`."""
    namespace = array_namespace()
    value = _to_dtype(value, array)
    key = tuple(map(_index_entry, key)) if isinstance(key, tuple) else _index_entry(key)
    entries = list(key) if isinstance(key, tuple) else [key]
    if len(entries) == 1 and _is_mask(entries[0]) and _rank(value) == 0 and _rank(entries[0]) == array.ndim:
        return namespace.where(namespace.asarray(entries[0]), value, array)
    if not any(map(_is_mask, entries)):
        bounds: list[Any] = []
        parts = [normalize_entry(entry, bounds) for entry in expand_ellipsis(array, entries)]
        count = sum(isinstance(part, DynamicIndex) or type(part) is int for part in parts)
        leading, trailing = parts[:count], parts[count:]
        is_leading = all(isinstance(part, DynamicIndex) or type(part) is int for part in leading)
        if count and is_leading and all(part == slice(None) for part in trailing):
            indices = [part.value if isinstance(part, DynamicIndex) else part for part in leading]
            return namespace.scatter(array, value, *indices)
        if not any(isinstance(part, DynamicIndex) for part in parts):
            return namespace.scatter_index(array, value, key)
    sizes = namespace.shape(array)
    total = math.prod(sizes)
    positions = getitem(namespace.reshape(namespace.arange(total), sizes), key)
    flat = namespace.scatter(namespace.reshape(array, (total,)), value, positions)
    return namespace.reshape(flat, sizes)


def require_in_bounds(numbers: Any, dtype: DType) -> None:
    """Stage the assertion that elements of this dtype can hold numbers, which may be an array of them, without their
    fractions: else it is NumPy's OverflowError."""
    are_numbers = isinstance(numbers, Symbol) and numbers.dtype in (dtypes.int64, dtypes.float64)
    if not are_numbers or dtype.kind not in "iu" or dtype is dtypes.int64:
        return
    namespace, bounds = array_namespace(), np.iinfo(str(dtype))
    integers = namespace.astype(numbers, dtypes.int64)
    is_in_bounds = integers >= max(bounds.min, -(2**63))
    if bounds.max < 2**63:
        is_in_bounds = namespace.logical_and(is_in_bounds, integers <= bounds.max)
    error = OverflowError(f"Python integer out of bounds for {dtype}")
    stage_assertion(namespace.all(is_in_bounds), located_exception(error))


def _index_entry(entry: Any) -> Any:
    return stack_indices(read_variable(entry))


def _rank(value: Any) -> int | None:
    return 0 if number_kind(value) is not None else value.ndim


def _is_mask(entry: Any) -> bool:
    if isinstance(entry, Symbol):
        return entry.dtype.kind == "b"
    return isinstance(entry, list | np.ndarray | bool | np.bool_) and np.asarray(entry).dtype == bool


def _to_dtype(value: Any, array: Symbol) -> Any:
    """What is assigned, in the dtype of an array: NumPy drops the fractions of a float that an array of integers
    gets."""
    namespace, dtype = array_namespace(), array.dtype
    value = read_variable(value)
    if isinstance(value, Symbol):
        if number_kind(value) is not None:
            require_in_bounds(value, dtype)
        return value if value.dtype is dtype else namespace.astype(value, dtype)
    if isinstance(value, list | tuple):
        value = namespace.asarray(value)
        return _to_dtype(value, array) if isinstance(value, Symbol) else namespace.astype(value, dtype)
    element = np.zeros(np.shape(value), dtype.numpy)
    element[...] = value  # raises what NumPy raises
    return namespace.asarray(element)
