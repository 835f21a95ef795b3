"""Arrays of NumPy in a program: operators, functions, methods, items, and changes in place.

An array that has a name is an object of the table, in the pool of its place, so identity and aliases are exact; its
elements are a field of the pool. The result of an operation is a value without a name. Without axes it is a scalar of
NumPy, which never changes; any other array gets a row of the table when it is assigned, stored or passed on. A view has
the elements of another array, so it may be an operand, and gets no name; it is computed again if an array has changed
since.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...core import dtypes
from ...core.errors import TagloomError, with_article
from ...core.frontend.array_api.indexing import getitem
from ...core.frontend.eager.array import ConcreteArray
from ...core.frontend.source.array_writes import VIEWS, with_elements
from ...core.frontend.source.numpy_functions import FUNCTIONS, METHODS, apply_implementation
from ...core.frontend.trace.mutable_arrays import is_basic_key
from ...core.frontend.trace.symbol import Symbol
from ...core.types import Type
from ...core.value import literal
from . import arithmetic
from .heap import ITEMS, FieldKey, HeapKey
from .layouts import (
    ArrayPool,
    ConstantLayout,
    Layout,
    NotSpeculable,
    NumpyLayout,
    ReferenceLayout,
    TupleLayout,
    UnionLayout,
    number_kind,
    parts,
)
from .staging import NONE_VALUE, StagedValue, Staging, constant_leaf

_OPERATORS = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mult": np.multiply,
    "Div": np.divide,
    "FloorDiv": np.floor_divide,
    "Mod": np.remainder,
    "MatMult": np.matmul,
    "Pow": np.power,
    "Lt": np.less,
    "LtE": np.less_equal,
    "Gt": np.greater,
    "GtE": np.greater_equal,
    "Eq": np.equal,
    "NotEq": np.not_equal,
    "USub": np.negative,
}
"""The function of NumPy for each operator that a graph has."""
_BOOL_OPERATORS = {
    "BitAnd": np.logical_and,
    "BitOr": np.logical_or,
    "BitXor": np.logical_xor,
    "Invert": np.logical_not,
}
"""The functions for operators on arrays of bools."""
_IN_PLACE = ("fill", "sort")
"""Methods that change their array."""
_SCALAR_RESULTS = frozenset(
    (
        *("all", "amax", "amin", "any", "argmax", "argmin", "clip", "count_nonzero", "dot", "float64", "inner", "max"),
        *("mean", "median", "min", "norm", "prod", "round", "std", "sum", "trapezoid", "var", "vdot"),
    )
)
"""The functions of NumPy, beside ufuncs, whose result without axes is a scalar; that of others is an array."""
_SCALAR_METHODS = _SCALAR_RESULTS | {"astype", "copy"}
"""The same for methods."""


class NumpyView(NamedTuple):
    """A view in an expression."""

    leaf: Symbol | ConcreteArray
    """The leaf that stands for it, which no other value has."""
    elements: dict[HeapKey, tuple[Any, ...]]
    """The elements of all arrays when it was computed."""
    compute: Callable[[], StagedValue]
    """Computes it from the present elements."""


def is_reference(layout: Layout) -> bool:
    """Whether a value is an array of the table."""
    return isinstance(layout, ReferenceLayout) and all(issubclass(owner, ArrayPool) for owner in layout.classes)


def is_numpy(layout: Layout) -> bool:
    """Whether a value is an array or scalar of NumPy."""
    return isinstance(layout, NumpyLayout) or is_reference(layout)


def read_elements(staging: Staging, value: StagedValue) -> StagedValue:
    """The present elements of an array of the table or of a view; any other value is unchanged."""
    if isinstance(value.layout, NumpyLayout) and value.layout.is_view:
        return _read_view(staging, value)
    if not is_reference(value.layout):
        return value
    assert staging.current_node is not None
    elements = staging.for_each_class(value, staging.current_node, partial(_elements_in, staging))
    _require_one_type(elements.layout)
    return elements


def _elements_in(staging: Staging, pool: type, array: StagedValue) -> StagedValue:
    """The present elements of an array of a pool."""
    elements = staging.read_row(FieldKey(pool, ITEMS), array, staging.current_node)  # type: ignore[arg-type]
    _require_one_type(elements.layout)
    return elements


def _require_one_type(layout: Layout) -> None:
    """Raise NotSpeculable if the arrays of a place have different dtypes or numbers of axes."""
    if not isinstance(layout, NumpyLayout):
        raise NotSpeculable(f"an array of NumPy that may be {with_article(layout)} has no graph")


def _read_view(staging: Staging, value: StagedValue) -> StagedValue:
    view = staging.views.get(id(value.leaves[0]))
    if view is None:
        raise NotSpeculable("a view of an array of NumPy that a branch chooses has no graph")
    elements = _array_elements(staging)
    is_current = elements.keys() == view.elements.keys() and all(
        leaf is old for key in elements for leaf, old in zip(elements[key], view.elements[key], strict=True)
    )
    return value if is_current else view.compute()


def _array_elements(staging: Staging) -> dict[HeapKey, tuple[Any, ...]]:
    """The present elements of the arrays that the call may have changed."""
    heap = staging.state.heap
    return {key: heap[key] for key in heap if isinstance(key, FieldKey) and issubclass(key.owner, ArrayPool)}


def _as_view(staging: Staging, value: StagedValue, compute: Callable[[], StagedValue]) -> StagedValue:
    """The value of an operation as a view, which `compute` computes again."""
    assert isinstance(value.layout, NumpyLayout)
    array = value.leaves[0]
    leaf = Symbol(array._tagloom_value) if isinstance(array, Symbol) else ConcreteArray(array._value)
    staging.views[id(leaf)] = NumpyView(leaf, _array_elements(staging), compute)
    return StagedValue(replace(value.layout, is_view=True), (leaf,))


def name_array(staging: Staging, value: StagedValue) -> StagedValue:
    """A value that is assigned, stored or passed on: a new array gets a row of the table. Raises NotSpeculable for a
    view, which is part of another array."""
    layout = value.layout
    has_arrays = any(isinstance(part, NumpyLayout) and not part.type.is_scalar for part in parts(layout))
    if isinstance(layout, UnionLayout) and has_arrays:
        return staging.dispatch(value, lambda option: name_array(staging, option))
    if isinstance(layout, TupleLayout) and has_arrays:
        return staging.tuple_of([name_array(staging, item) for item in staging.items(value)], layout.kind)
    if not isinstance(layout, NumpyLayout) or not has_arrays:
        return value
    if layout.is_view:
        raise NotSpeculable("a view of an array of NumPy is more than an operand")
    node: Any = staging.current_node
    pool = staging.pool_of_site(np.ndarray, node)
    array, key = staging.allocate(pool, node), FieldKey(pool, ITEMS)
    staging.write_heap(key, value, node, lambda: staging.index_in(key, array), is_new=True)
    return array


def operate(staging: Staging, name: str, values: Sequence[StagedValue], node: ast.AST) -> StagedValue:
    """An operator; an augmented assignment changes the elements of an array of the table."""
    values_read = [read_elements(staging, value) for value in values]
    layouts = [value.layout for value in values_read]
    are_bools = all(isinstance(layout, NumpyLayout) and layout.type.dtype is dtypes.bool for layout in layouts)
    function = (_BOOL_OPERATORS if are_bools else _OPERATORS).get(name) or _OPERATORS.get(name)
    if function is None:
        raise NotSpeculable(f"`{name}` of arrays of NumPy has no graph")
    result = call_function(staging, function, values_read, {})
    if not isinstance(node, ast.AugAssign) or not is_reference(values[0].layout):
        return result
    old, new = layouts[0], result.layout
    assert isinstance(old, NumpyLayout) and isinstance(new, NumpyLayout)
    if old.type != new.type:
        raise NotSpeculable(f"{with_article(new)} is assigned in place to {with_article(old)}")
    _write_elements(staging, values[0], lambda _: result, node)
    return values[0]


def _write_elements(
    staging: Staging, value: StagedValue, compute: Callable[[StagedValue], StagedValue], node: ast.AST
) -> None:
    """Give an array of the table the elements that are computed from its present ones."""

    def write(pool: type, array: StagedValue) -> StagedValue:
        key, elements = FieldKey(pool, ITEMS), compute(_elements_in(staging, pool, array))
        staging.requirements.changed_arrays.add(pool)
        staging.write_heap(key, elements, node, lambda: staging.index_in(key, array))
        return NONE_VALUE

    staging.for_each_class(value, node, write)


def operand(staging: Staging, value: StagedValue) -> Any:
    """An operand of a function of NumPy: a constant, a symbol, or a nest of them."""
    value = read_elements(staging, value)
    if isinstance(value.layout, TupleLayout):
        items = [operand(staging, item) for item in staging.items(value)]
        return items if value.layout.kind is list else tuple(items)
    if isinstance(value.layout, ConstantLayout):
        return constant_leaf(value.layout)
    if isinstance(value.layout, NumpyLayout) or number_kind(value.layout) is not None:
        return value.leaves[0]
    raise NotSpeculable(f"{with_article(value.layout)} beside an array of NumPy has no graph")


def call_function(
    staging: Staging, function: Any, values: Sequence[StagedValue], keywords: dict[str, StagedValue]
) -> StagedValue:
    """A call of a function of NumPy."""
    is_scalar = isinstance(function, np.ufunc) or function.__name__ in _SCALAR_RESULTS
    return _call(staging, FUNCTIONS[function], function.__name__, values, keywords, is_scalar)


def call_method(
    staging: Staging,
    array: StagedValue,
    name: str,
    values: Sequence[StagedValue],
    keywords: dict[str, StagedValue],
    node: ast.AST,
) -> StagedValue:
    """`array.name(*values, **keywords)`."""
    if name == "fill" and len(values) == 1 and not keywords and is_reference(array.layout):
        write_item(staging, array, staging.constant(...), values[0], node)
        return NONE_VALUE
    layout = array.layout
    is_scalar = isinstance(layout, NumpyLayout) and layout.type.is_scalar
    owner = layout.types[0].dtype.numpy.type if is_scalar else np.ndarray
    if name not in METHODS or name in (*_IN_PLACE, "item", "tolist") or not hasattr(owner, name):
        raise NotSpeculable(f"method {name} of an array of NumPy has no graph")
    return _call(staging, METHODS[name], name, [array, *values], keywords, name in _SCALAR_METHODS)


def _call(
    staging: Staging,
    implementation: Any,
    name: str,
    values: Sequence[StagedValue],
    keywords: dict[str, StagedValue],
    is_scalar: bool,
) -> StagedValue:
    """A call of an implementation. `is_scalar` says whether a result without axes is a scalar, not an array."""

    def compute() -> StagedValue:
        arguments = [operand(staging, value) for value in values]
        options = {keyword: operand(staging, value) for keyword, value in keywords.items()}
        result = _compute(staging, lambda: apply_implementation(implementation, f"np.{name}", arguments, options))
        if result is NotImplemented:
            raise NotSpeculable(f"this call of np.{name} has no graph")
        return _wrap(result, is_scalar)

    return _as_view(staging, compute(), compute) if name in VIEWS else compute()


def _compute(staging: Staging, operation: Callable[[], Any]) -> Any:
    """The result of an operation. Raises NotSpeculable for operands that NumPy refuses."""
    try:
        return staging.located(operation)
    except TagloomError:
        raise
    except (TypeError, ValueError) as error:
        raise NotSpeculable(f"NumPy refuses these operands: {error}") from None


def _wrap(result: Any, is_scalar: bool) -> StagedValue:
    """The result of an operation, as a value without a name."""
    if isinstance(result, np.ndarray | np.generic):
        result = ConcreteArray(literal(np.asarray(result)))
    if not isinstance(result, Symbol | ConcreteArray):
        raise NotSpeculable("the result of a function of NumPy has no graph")
    type_ = result._type
    if type_.shape is None or None in type_.shape or type_.dtype not in NUMPY_DTYPES:
        raise NotSpeculable(f"an array of NumPy of type {type_} has no graph")
    if type_.is_scalar and not is_scalar:
        raise NotSpeculable("an array of NumPy without axes has no graph")
    return StagedValue(NumpyLayout(type_), (result,))


NUMPY_DTYPES = (dtypes.bool, dtypes.int64, dtypes.float64)
"""The dtypes of arrays of NumPy in a graph. Beside these, Python's numbers are promoted as arrays are."""
_FLOAT = Type(dtypes.float64, ())


def read_attribute(staging: Staging, array: StagedValue, name: str) -> StagedValue:
    """`array.name`."""
    value = read_elements(staging, array)
    assert isinstance(value.layout, NumpyLayout)
    shape: tuple[Any, ...] = value.layout.type.shape or ()
    match name:
        case "shape":
            return staging.tuple_of([_size(staging, value, axis) for axis in range(len(shape))])
        case "ndim":
            return staging.constant(len(shape))
        case "size":
            return _size(staging, value, None)
        case "T":
            return _call(staging, FUNCTIONS[np.transpose], "transpose", [array], {}, is_scalar=True)
    raise NotSpeculable(f"attribute {name} of an array of NumPy has no graph")


def _size(staging: Staging, elements: StagedValue, axis: int | None) -> StagedValue:
    """The number of elements along an axis; None stands for all axes."""
    shape: tuple[Any, ...] = elements.layout.types[0].shape or ()
    sizes = shape if axis is None else shape[axis : axis + 1]
    if None in sizes:
        return staging.number("i", staging.emit("size", elements.leaves[0], axis=axis))
    return staging.constant(int(np.prod(sizes)))


def read_item(staging: Staging, array: StagedValue, key: Any) -> StagedValue:
    """`array[key]`: an element, a view, or a new array."""
    is_scalar = all(entry is not ... for entry in (key if type(key) is tuple else (key,)))

    def compute() -> StagedValue:
        elements = read_elements(staging, array).leaves[0]
        return _wrap(_compute(staging, lambda: getitem(elements, key)), is_scalar)

    value = compute()
    assert isinstance(value.layout, NumpyLayout)
    return _as_view(staging, value, compute) if is_basic_key(key) and not value.layout.type.is_scalar else value


def write_item(staging: Staging, array: StagedValue, index: StagedValue, value: StagedValue, node: ast.AST) -> None:
    """`array[index] = value`."""
    key, content = staging.array_key(index), operand(staging, value)
    if isinstance(content, list | tuple):
        raise NotSpeculable("items that are assigned to an array of NumPy have no graph")
    is_float = number_kind(value.layout) == "f" or value.layout == NumpyLayout(_FLOAT)

    def compute(elements: StagedValue) -> StagedValue:
        is_truncated = is_float and elements.layout.types[0].dtype is dtypes.int64  # Python raises for NaN and infinity
        new = staging.leaf_of(arithmetic.truncate(staging, value, node)) if is_truncated else content
        changed = _wrap(_compute(staging, lambda: with_elements(elements.leaves[0], key, new)), is_scalar=False)
        if changed.layout != elements.layout:
            raise NotSpeculable("an assignment to elements of an array of NumPy has no graph")
        return changed

    _write_elements(staging, array, compute, node)
