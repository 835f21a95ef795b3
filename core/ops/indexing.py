"""Indexing: ops that take elements of arrays or replace them, by a static key, by computed indices, or by a mask.

A static key is the text between the brackets of `x[1:, ..., None, 0]`. A bound that is an operand is written `?`, as in
`x[?:, ...]`.
"""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..errors import Invalid
from ..types import Type, broadcast_shape
from .gradient_rules import Term, adjoint_rule, iota, movement_rule, scatter_back, zeros_like
from .op import DynamicSizes, OpBuilder, Stacking, TrapCondition, op
from .type_rules import Sizes, check_numeric, check_rank, describe_shapes, promote_operands, require_sizes, resolve_axis

KeyEntry: TypeAlias = int | slice | EllipsisType | None
IndexKey: TypeAlias = tuple[KeyEntry, ...]
OPEN_BOUND = "?"
"""The bound of a slice that an operand holds."""
_INTEGER_PATTERN = re.compile(r"[+-]?[0-9]{1,19}")
_REQUIRED_KEY = 'integers, slices, None and ..., as in key="1:, ..., None, -1"'


def format_key(key: IndexKey) -> str:
    """A key as text.

    >>> format_key((slice(1, None), Ellipsis, None, slice(None, None, -1), -1))
    '1:, ..., None, ::-1, -1'
    """
    return ", ".join(map(_format_entry, key))


def _format_entry(entry: KeyEntry) -> str:
    if isinstance(entry, slice):
        parts = [entry.start, entry.stop, *[entry.step] * (entry.step is not None)]
        return ":".join("" if part is None else str(part) for part in parts)
    return "..." if entry is Ellipsis else str(entry)


@functools.lru_cache(maxsize=1024)
def parse_key(text: object) -> IndexKey:
    """Parse a key; raises Invalid for other text.

    >>> parse_key("1:?, ..., None, -1")
    (slice(1, '?', None), Ellipsis, None, -1)
    """
    if not isinstance(text, str):
        raise Invalid("this is not a valid key", required=_REQUIRED_KEY, got=repr(text), python=IndexError)
    key = tuple(_parse_entry(part.strip(), text) for part in text.split(",")) if text.strip() else ()
    if key.count(Ellipsis) > 1:
        raise Invalid("more than one ...", required="... once", got=text, python=IndexError)
    return key


def _parse_integer(digits: str, text: str) -> int:
    number, (low, high) = int(digits), dtypes.int64.range
    if not low <= number <= high:
        raise Invalid("an index does not fit into int64", required=f"{low} to {high}", got=text, python=IndexError)
    return number


def _parse_entry(part: str, text: str) -> KeyEntry:
    if part in ("...", "None"):
        return Ellipsis if part == "..." else None
    if _INTEGER_PATTERN.fullmatch(part):
        return _parse_integer(part, text)
    bounds = [bound.strip() for bound in part.split(":")]
    if not 2 <= len(bounds) <= 3 or not all(
        bound in ("", OPEN_BOUND) or _INTEGER_PATTERN.fullmatch(bound) for bound in bounds
    ):
        raise Invalid("this is not a valid key", required=_REQUIRED_KEY, got=text, python=IndexError)
    start, stop, step = [
        bound if bound == OPEN_BOUND else _parse_integer(bound, text) if bound else None for bound in (*bounds, "")[:3]
    ]
    if step == 0:
        raise Invalid("slice step cannot be zero", required="a step other than 0", got=text)
    return slice(start, stop, step)


def indexed_shape(x: Type, key: IndexKey) -> Sizes:
    """The shape of the elements that a key takes; raises Invalid if it does not fit."""
    sizes = require_sizes(x)
    count = sum(entry is not None and entry is not Ellipsis for entry in key)
    if count > len(sizes):
        message = f"there are more indices than axes: {count} for shape {describe_shapes(sizes)}"
        raise Invalid(message, required=f"{len(sizes)} at most", got=format_key(key))
    full = key if Ellipsis in key else (*key, Ellipsis)
    position = full.index(Ellipsis)
    spread = (*full[:position], *[slice(None)] * (len(sizes) - count), *full[position + 1 :])
    shape: list[int | None] = []
    axis = 0
    for entry in spread:
        if entry is None:
            shape.append(1)
            continue
        if isinstance(entry, slice):
            shape.append(_slice_size(sizes[axis], entry))
        elif isinstance(entry, int):
            _check_index_range(entry, axis, sizes)
        axis += 1
    return check_rank(tuple(shape))


def _slice_size(size: int | None, entry: slice) -> int | None:
    if size is None or OPEN_BOUND in (entry.start, entry.stop, entry.step):
        return None
    return len(range(*entry.indices(size)))


def fill_key(key: str, bounds: Sequence[int]) -> str:
    """A key with these bounds for those that it leaves open.

    >>> fill_key("?:?, 0", [1, -1])
    '1:-1, 0'
    """
    low, high = dtypes.int64.range
    parts = key.split(OPEN_BOUND)
    return "".join(
        part + (str(min(max(bounds[number], low), high)) if number < len(bounds) else "")
        for number, part in enumerate(parts)
    )


KEY_BOUNDS = DynamicSizes("key", lambda key: key.count(OPEN_BOUND) if isinstance(key, str) else 0, fill_key)
"""The attribute `key`, whose bounds of slices may be operands."""


def _check_index_range(index: int, axis: int, sizes: Sizes) -> None:
    size = sizes[axis]
    if size is not None and not -size <= index < size:
        message = f"there is no index {index} along axis {axis} of shape {describe_shapes(sizes)}"
        raise Invalid(message, required=f"{-size} to {size - 1}" if size else "elements", got=index, python=IndexError)


def index_type(x: Type, key: object) -> Type:
    check_numeric(x)
    return Type(x.dtype, indexed_shape(x, parse_key(key)))


def take_type(x: Type, indices: Type, axis: object) -> Type:
    check_numeric(x)
    check_numeric(indices, kinds="iu")
    position = resolve_axis(axis, x)
    return Type(
        x.dtype, check_rank((*require_sizes(x)[:position], *require_sizes(indices), *require_sizes(x)[position + 1 :]))
    )


def take_along_axis_type(x: Type, indices: Type, axis: object) -> Type:
    check_numeric(x)
    check_numeric(indices, kinds="iu")
    position, sizes, index_sizes = resolve_axis(axis, x), require_sizes(x), require_sizes(indices)
    if len(sizes) != len(index_sizes):
        message = f"shapes {describe_shapes(sizes, index_sizes)} have different numbers of axes"
        raise Invalid(message, required="the same number of axes", got=f"{x} and {indices}")
    other_sizes = _broadcast_sizes(*((*shape[:position], 1, *shape[position + 1 :]) for shape in (sizes, index_sizes)))
    return Type(x.dtype, (*other_sizes[:position], index_sizes[position], *other_sizes[position + 1 :]))


def _broadcast_sizes(*shapes: Any) -> Any:
    try:
        return broadcast_shape(list(shapes))
    except Invalid as error:
        error.message = f"shapes {describe_shapes(*shapes)} do not broadcast"
        raise


def gather_type(*operands: Type) -> Type:
    _check_operand_count(operands, 2, "an array, and an index for each of its first axes")
    x, *indices = operands
    check_numeric(x)
    for number, index in enumerate(indices):
        if index.dtype.kind not in "iu":
            raise Invalid(
                f"index {number} is not of integers",
                required="an integer dtype",
                got=index,
                hint="indices are the last operands: gather(x, index), scatter(x, values, index)",
                python=TypeError,
            )
    axes = len(require_sizes(x))
    if not 0 < len(indices) <= axes:
        message = f"{len(indices)} indices into shape {describe_shapes(require_sizes(x))}"
        required = f"1 to {axes} indices" if axes else "an array with axes"
        raise Invalid(message, required=required, got=len(indices), python=IndexError)
    index_shape = _broadcast_sizes(*map(require_sizes, indices))
    return Type(x.dtype, check_rank((*index_shape, *require_sizes(x)[len(indices) :])))


def _check_operand_count(operands: Sequence[Type], fewest: int, required: str) -> None:
    if len(operands) < fewest:
        raise Invalid("too few operands", required=required, got=len(operands), python=IndexError)


def scatter_type(*operands: Type) -> Type:
    _check_operand_count(operands, 3, "an array, values, and an index for each of its first axes")
    x, values, *indices = operands
    check_numeric(x, values)
    target = gather_type(x, *indices)
    _check_values(values, target, x)
    return x


def _check_values(values: Type, target: Type, x: Type) -> None:
    """Raise Invalid for values that cannot replace these elements of x."""
    if promote_operands((x, values)) is not x.dtype:
        hint = f"convert them with tl.astype(values, tl.{x.dtype!r})"
        raise Invalid("the values have the wrong dtype", required=x.dtype, got=values, hint=hint, python=TypeError)
    if values.shape is None or _broadcast_sizes(values.shape, target.shape) != target.shape:
        target_shape = target.shape or ()
        if None not in (*require_sizes(values), *target_shape) or len(require_sizes(values)) > len(target_shape):
            message = (
                f"shape {describe_shapes(require_sizes(values))} does not broadcast to {describe_shapes(target_shape)}"
            )
            raise Invalid(message, required=f"values of shape {describe_shapes(target_shape)}", got=values)


def scatter_index_type(x: Type, values: Type, key: object) -> Type:
    check_numeric(values)
    _check_values(values, index_type(x, key), x)
    return x


def scatter_numbers_type(*operands: Type) -> Type:
    check_numeric(*operands[:1], kinds="iuf")
    return scatter_type(*operands)


def boolean_mask_type(x: Type, mask: Type) -> Type:
    check_numeric(x)
    if mask.dtype is not dtypes.bool:
        raise Invalid(
            "the mask is not of dtype bool", required="bool", got=mask, hint="compare first", python=IndexError
        )
    have, over = require_sizes(x), require_sizes(mask)
    fits = all(None in (size, other) or other in (size, 0) for size, other in zip(have, over, strict=False))
    if len(over) > len(have) or not fits:
        message = f"a mask of shape {describe_shapes(over)} does not fit shape {describe_shapes(have)}"
        raise Invalid(message, required="the sizes of the first axes, or 0", got=f"{x} and {mask}", python=IndexError)
    return Type(x.dtype, (None, *have[len(over) :]))


def is_out_of_range(indices: Any, size: int) -> Any:
    return (indices < -size) | (indices >= size)


def is_taken_out_of_range(x: Any, indices: Any, axis: int) -> Any:
    return is_out_of_range(indices, np.shape(x)[axis])


def is_any_out_of_range(x: Any, *indices: Any) -> Any:
    """Which indices are out of range, for one axis; for several axes, whether any index is."""
    masks = [is_out_of_range(index_array, size) for index_array, size in zip(indices, np.shape(x), strict=False)]
    return masks[0] if len(masks) == 1 else any(map(np.any, masks))


def is_scatter_out_of_range(x: Any, values: Any, *indices: Any) -> Any:
    return is_any_out_of_range(x, *indices)


def int64_indices(*indices: Any) -> tuple[npt.NDArray[np.int64], ...]:
    """Indices of any integer dtype as int64, which NumPy requires; they are within range."""
    return tuple(np.asarray(index_array).astype(np.int64) for index_array in indices)


_MAX_SEQUENTIAL_WRITES = 32
"""Up to this many elements are written one by one, which takes 0.43 us each; finding the last value for each position
takes 34 us for 1,000."""


def scatter_array(x: Any, values: Any, *indices: Any) -> Any:
    """If several values have one position, the last one wins. NumPy leaves that open."""
    positions = np.broadcast_arrays(*int64_indices(*indices))
    if not positions[0].size:
        return np.asarray(x)  # nothing to write, so no copy is needed
    result = np.array(x, order="C")
    sizes, item_sizes = result.shape[: len(positions)], result.shape[len(positions) :]
    rows = np.broadcast_to(values, (*positions[0].shape, *item_sizes)).reshape(positions[0].size, *item_sizes)
    if positions[0].size <= _MAX_SEQUENTIAL_WRITES:
        for number, index in enumerate(zip(*(index_array.ravel().tolist() for index_array in positions), strict=True)):
            result[index] = rows[number]
        return result
    numbers = np.ravel_multi_index(positions, sizes, mode="wrap").ravel()
    unique_numbers, last = np.unique(numbers[::-1], return_index=True)
    result.reshape(math.prod(sizes), *item_sizes)[unique_numbers] = rows[::-1][last]
    return result


def scatter_index_array(x: Any, values: Any, key: str) -> Any:
    result = np.array(x)
    result[parse_key(key)] = values
    return result


def scatter_add_array(x: Any, values: Any, *indices: Any) -> Any:
    result = np.array(x)
    np.add.at(result, int64_indices(*indices), values)
    return result


def scatter_extremum_array(ufunc: np.ufunc, x: Any, values: Any, *indices: Any) -> Any:
    """The first of equal zeros stays; NumPy leaves their sign to the processor."""
    positions, result = int64_indices(*indices), np.array(x)
    ufunc.at(result, positions, values)
    is_zero = result == 0
    spread = np.broadcast_to(values, is_zero[positions].shape)
    hits = is_zero[positions] & (spread == 0)
    if result.dtype.kind == "f" and hits.any():
        numbers = np.arange(result.size).reshape(result.shape)[positions]
        unique_numbers, first = np.unique(numbers[hits], return_index=True)
        result.reshape(-1)[unique_numbers] = spread[hits][first]
        np.copyto(result, x, where=is_zero & (np.asarray(x) == 0))
    return result


def scatter_mul_array(x: Any, values: Any, *indices: Any) -> Any:
    result = np.array(x)
    np.multiply.at(result, int64_indices(*indices), values)
    return result


def take_along_axis_array(x: Any, indices: Any, axis: int) -> Any:
    """np.take_along_axis, except that the other axes broadcast."""
    position = axis % np.ndim(x)

    def other_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:position], 1, *shape[position + 1 :])

    common_shape = np.broadcast_shapes(other_axes(np.shape(x)), other_axes(np.shape(indices)))
    spread = [
        np.broadcast_to(array, (*common_shape[:position], np.shape(array)[position], *common_shape[position + 1 :]))
        for array in (x, indices)
    ]
    return np.take_along_axis(spread[0], spread[1], position)


def take_adjoint(g: Term, z: Term, x: Term, indices: Term, axis: int) -> Term:
    if resolve_axis(axis, x.type) == 0:
        return zeros_like(x).scatter_add(g, indices)
    return scatter_back("take", g, x, indices, axis=axis)


def scatter_values_adjoint(g: Term, z: Term, x: Term, values: Term, *indices: Term) -> Term:
    """Only the last of several values for one position has an adjoint. To find it, the numbers of the values are
    scattered in the same way: a value is the last if its own number is at its position. The integers elsewhere do not
    matter."""
    current = g.gather(*indices)
    numbers = iota(current.size(axis=None)).reshape_like(current)
    last = x.astype(dtype=dtypes.int64).scatter(numbers, *indices).gather(*indices)
    return last.equal(numbers).where(current, 0.0).sum_like(values)


def extremum_x_adjoint(g: Term, z: Term, x: Term, values: Term, *indices: Term) -> Term:
    return x.equal(z).where(extremum_share(g, z, x, values, *indices), 0.0)


def extremum_values_adjoint(g: Term, z: Term, x: Term, values: Term, *indices: Term) -> Term:
    share = extremum_share(g, z, x, values, *indices).gather(*indices)
    return values.equal(z.gather(*indices)).where(share, 0.0).sum_like(values)


def extremum_share(g: Term, z: Term, x: Term, values: Term, *indices: Term) -> Term:
    """The adjoint of each extremum, divided by the number of elements and values that are equal to it."""
    equal_values = values.equal(z.gather(*indices)).astype(dtype=x.type.dtype)
    return g / x.equal(z).astype(dtype=x.type.dtype).scatter_add(equal_values, *indices)


def scatter_mul_values_adjoint(g: Term, z: Term, x: Term, values: Term, *indices: Term) -> Term:
    """For each value its element of x times all other values for the same place. Nothing is divided by a factor, so
    that zeros do no harm; the rule forms an array with an element for each pair of values."""
    spread = values.broadcast_like(g.gather(*indices))
    index_shape = functools.reduce(lambda first, second: first.broadcast_like(second), indices)
    flat_indices = [index.broadcast_like(index_shape).reshape(shape=(-1,)) for index in indices]
    numbers = iota(flat_indices[0].size(axis=None))
    is_other = numbers.not_equal(numbers.index(key=":, None"))
    for axis, index in enumerate(flat_indices):
        place = index.astype(dtype=dtypes.int64)
        place = place.less(0).where(place + x.size(axis=axis), place)
        is_other = is_other.logical_and(place.equal(place.index(key=":, None")))
    elements = x.gather(*flat_indices)
    flat_values = spread.reshape_like(elements)
    rest = ", None" * (len(require_sizes(elements.type)) - 1)
    other_values = is_other.index(key=f":, :{rest}").where(flat_values.index(key="None"), 1.0)
    slopes = elements * other_values.prod(axis=1, keepdims=False)
    return slopes.multiply_no_nan(g.gather(*flat_indices)).reshape_like(spread).sum_like(values)


def row_adjoint(
    builder: OpBuilder, op: str, adjoint: Any, operands: Sequence[Any], attributes: Mapping[str, Any]
) -> tuple[Any, Any] | None:
    """The adjoint of the operand from which an op takes rows, as two vectors: the numbers of the rows, and the adjoint
    of each. None if the op does not take rows of its first operand."""
    if op not in ("take", "gather") or len(operands) != 2:
        return None
    x, indices, g = (Term(builder, operand) for operand in (*operands, adjoint))
    if op == "take" and resolve_axis(attributes["axis"], x.type) != 0:
        return None
    rows = indices if indices.type.dtype is dtypes.int64 else indices.astype(dtype=dtypes.int64)
    shape = indices.type.shape
    if shape is None or len(shape) != 1:
        rows = rows.reshape(shape=(-1,))
        g = g.reshape_like(x.take(rows, axis=0))
    return rows.less(0).where(rows + x.size(axis=0), rows).value, g.value


def index_trap(predicate: Callable[..., Any], index_axis: Callable[..., int | None]) -> TrapCondition:
    """The trap of an op with computed indices, where the predicate says that one is out of range."""
    return TrapCondition(predicate, "an index is out of range", error=IndexError, index_axis=index_axis)


def taken_axis(x: Type, indices: Type, axis: int) -> int | None:
    return resolve_axis(axis, x)


def gathered_axis(x: Type, *indices: Type) -> int | None:
    return 0 if len(indices) == 1 else None


def scattered_axis(x: Type, values: Type, *indices: Type) -> int | None:
    return gathered_axis(x, *indices)


def index_stacking(x: Type, key: str) -> Stacking | None:
    """A key with an entry for the axis of the stack."""
    return None if OPEN_BOUND in key else Stacking((len(x.shape or ()),), {"key": f":, {key}" if key.strip() else ":"})


def scatter_index_stacking(x: Type, values: Type, key: str) -> Stacking | None:
    single = index_stacking(x, key)
    if single is None or values.is_scalar:
        return None
    return Stacking((*single.ranks, len(index_type(x, key).shape or ())), single.attributes, broadcasts=False)


op(
    "index",
    arity=1,
    type_rule=index_type,
    numpy=lambda x, key: np.asarray(x)[parse_key(key)],
    specialize_numpy=lambda _, key: operator.itemgetter(parse_key(key)),
    stacking=index_stacking,
    attributes=("key",),
    shape_rule=None,
    is_data_movement=True,
    dynamic_sizes=KEY_BOUNDS,
    gradient=adjoint_rule(lambda g, z, x, *bounds, key: zeros_like(x).scatter_index(g, *bounds, key=key)),
    doc="""`x[key]` with a static key, written as text (attribute `key`): integers, slices, None for a new axis of size
1, and ... for all other axes. A slice is cut to the size of its axis; an integer out of range traps. Bounds of slices
may be operands; then a step of 0 traps.

>>> tl.index([[1, 2, 3], [4, 5, 6]], "::-1, 1:").tolist()
[[5, 6], [2, 3]]
""",
)
op(
    "take",
    arity=2,
    type_rule=take_type,
    numpy=lambda x, indices, axis: np.take(x, int64_indices(indices)[0], axis=axis),
    attributes=("axis",),
    shape_rule=None,
    same_dtype_operands=(0, 1),
    trap_condition=index_trap(is_taken_out_of_range, taken_axis),
    has_innocuous_rounding=True,
    gradient=adjoint_rule(take_adjoint, None),
    doc="""The elements at these indices, integers of any shape, along an axis (attribute `axis`, which may be left out
for one axis). Negative indices count from the end; one out of range traps.

>>> tl.take([10, 20, 30], [2, 0, -1]).tolist()
[30, 10, 30]
""",
)
op(
    "take_along_axis",
    arity=2,
    type_rule=take_along_axis_type,
    numpy=lambda x, indices, axis: take_along_axis_array(x, int64_indices(indices)[0], axis),
    attributes=("axis",),
    shape_rule=None,
    same_dtype_operands=(0, 1),
    trap_condition=index_trap(is_taken_out_of_range, taken_axis),
    has_innocuous_rounding=True,
    gradient=movement_rule("take_along_axis"),
    doc="""The elements along an axis (attribute `axis`) at indices that differ for each place of the other axes, which
broadcast; argsort returns such indices. Negative indices count from the end; one out of range traps.

>>> tl.take_along_axis([[10, 20], [30, 40]], [[1], [0]], axis=1).tolist()
[[20], [30]]
""",
)
op(
    "gather",
    arity=None,
    type_rule=gather_type,
    numpy=lambda x, *indices: np.asarray(x)[int64_indices(*indices)],
    shape_rule=None,
    same_dtype_operands=(0, 1),
    trap_condition=index_trap(is_any_out_of_range, gathered_axis),
    has_innocuous_rounding=True,
    gradient=adjoint_rule(lambda g, z, x, *indices: zeros_like(x).scatter_add(g, *indices), None),
    doc="""`x[i, j, ...]`: integers, or arrays of integers that broadcast, are indices along the first axes. Negative
indices count from the end; one out of range traps.

>>> tl.gather([[1, 2], [3, 4]], [0, 1], [1, 1]).tolist()
[2, 4]
""",
)
op(
    "scatter",
    arity=None,
    type_rule=scatter_type,
    numpy=scatter_array,
    shape_rule=None,
    same_dtype_operands=(0, 2),
    trap_condition=index_trap(is_scatter_out_of_range, scattered_axis),
    has_innocuous_rounding=True,
    gradient=adjoint_rule(lambda g, z, x, values, *indices: g.scatter(0.0, *indices), scatter_values_adjoint, None),
    doc="""x with the elements that `gather(x, i, j, ...)` takes replaced by values, which broadcast to their shape. Of
several values for one place the last one stays, in the order of the indices.

>>> tl.scatter([1, 2, 3], 0, [0, 2]).tolist()
[0, 2, 0]
""",
)
op(
    "scatter_add",
    arity=None,
    type_rule=scatter_numbers_type,
    numpy=scatter_add_array,
    shape_rule=None,
    same_dtype_operands=(0, 2),
    trap_condition=index_trap(is_scatter_out_of_range, scattered_axis),
    gradient=adjoint_rule(
        lambda g, z, x, values, *indices: g,
        lambda g, z, x, values, *indices: g.gather(*indices).sum_like(values),
        None,
    ),
    doc="""x with values added to the elements that `gather(x, i, j, ...)` takes; they broadcast to their shape.
Several values for one place are all added, in the order of the indices. float32 is added in float64, and rounded once.

>>> tl.scatter_add([0, 0, 0], [1, 10, 100], [0, 2, 0]).tolist()
[101, 0, 10]
""",
)


def scatter_extremum_op(name: str, ufunc: np.ufunc, noun: str, example: str) -> None:
    """Declare scatter_max or scatter_min."""
    op(
        name,
        arity=None,
        type_rule=scatter_numbers_type,
        numpy=functools.partial(scatter_extremum_array, ufunc),
        shape_rule=None,
        same_dtype_operands=(0, 2),
        trap_condition=index_trap(is_scatter_out_of_range, scattered_axis),
        has_innocuous_rounding=True,
        gradient=adjoint_rule(extremum_x_adjoint, extremum_values_adjoint, None),
        doc=f"""x with the elements that `gather(x, i, j, ...)` takes replaced by the {noun} of them and the values for
their places, which broadcast to their shape. NaN if one of these is NaN; of equal zeros the first, x before the values.

>>> tl.{name}([1, 2, 3], [5, 0, 4], [0, 2, 0]).tolist()
{example}
""",
    )


scatter_extremum_op("scatter_max", np.maximum, "largest", "[5, 2, 3]")
scatter_extremum_op("scatter_min", np.minimum, "smallest", "[1, 2, 0]")
op(
    "scatter_mul",
    arity=None,
    type_rule=scatter_numbers_type,
    numpy=scatter_mul_array,
    shape_rule=None,
    same_dtype_operands=(0, 2),
    trap_condition=index_trap(is_scatter_out_of_range, scattered_axis),
    gradient=adjoint_rule(
        lambda g, z, x, values, *indices: (zeros_like(x) + 1.0).scatter_mul(values, *indices).multiply_no_nan(g),
        scatter_mul_values_adjoint,
        None,
    ),
    doc="""x with the elements that `gather(x, i, j, ...)` takes multiplied by values, which broadcast to their shape.
Several values for one place are all factors, in the order of the indices. Integers wrap; float32 is multiplied in
float64, and rounded once.

>>> tl.scatter_mul([1, 2, 3], [2, 10, 100], [0, 2, 0]).tolist()
[200, 2, 30]
""",
)
op(
    "scatter_index",
    arity=2,
    type_rule=scatter_index_type,
    numpy=scatter_index_array,
    stacking=scatter_index_stacking,
    attributes=("key",),
    dynamic_sizes=KEY_BOUNDS,
    shape_rule=None,
    has_innocuous_rounding=True,
    gradient=adjoint_rule(
        lambda g, z, x, values, *bounds, key: g.scatter_index(0.0, *bounds, key=key),
        lambda g, z, x, values, *bounds, key: g.index(*bounds, key=key).sum_like(values),
    ),
    doc="""x with the elements that `index(x, key)` takes replaced by values, which broadcast to their shape. Bounds of
slices may be operands.

>>> tl.scatter_index([[1, 2, 3], [4, 5, 6]], 0, "1, ::2").tolist()
[[1, 2, 3], [0, 5, 0]]
""",
)
op(
    "boolean_mask",
    arity=2,
    type_rule=boolean_mask_type,
    numpy=lambda x, mask: np.asarray(x)[np.asarray(mask)],
    shape_rule=None,
    same_dtype_operands=(0, 1),
    has_innocuous_rounding=True,
    gradient=movement_rule("boolean_mask"),
    doc="""`x[mask]`: the elements where the mask is true, in the order of their indices, along one axis that replaces
those of the mask. Their number is known at run time. A mask has the sizes of the first axes of x, or 0.

>>> tl.boolean_mask([1, 2, 3], [True, False, True]).tolist()
[1, 3]
""",
)
