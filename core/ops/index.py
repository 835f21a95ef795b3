"""Taking elements out of arrays, and putting others in: by a static key, by indices that a run computes, by a mask."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..errors import Invalid
from ..types import Type, join_shapes
from .axes import axis_of, check_rank, numbers, sizes, words
from .gradients.index import RULES
from .key import indexed, read_key
from .op import Undefined, op
from .rules import promoted


def _static(x: Type, key: object) -> Type:
    numbers(x)
    return Type(x.dtype, indexed(x, read_key(key)))


def _taken(x: Type, indices: Type, axis: object) -> Type:
    numbers(x)
    numbers(indices, kinds="iu")
    at = axis_of(axis, x)
    return Type(x.dtype, check_rank((*sizes(x)[:at], *sizes(indices), *sizes(x)[at + 1 :])))


def _taken_along(x: Type, indices: Type, axis: object) -> Type:
    numbers(x)
    numbers(indices, kinds="iu")
    at, have, wanted = axis_of(axis, x), sizes(x), sizes(indices)
    if len(have) != len(wanted):
        message = f"shapes {words(have, wanted)} have different numbers of axes"
        raise Invalid(message, required="as many axes", got=f"{x} and {indices}")
    rest = _joined((*have[:at], 1, *have[at + 1 :]), (*wanted[:at], 1, *wanted[at + 1 :]))
    return Type(x.dtype, (*rest[:at], wanted[at], *rest[at + 1 :]))


def _joined(*shapes: Any) -> Any:
    try:
        return join_shapes(list(shapes))
    except Invalid as error:
        error.message = f"shapes {words(*shapes)} do not broadcast"
        raise


def _gathered(*operands: Type) -> Type:
    _check_some(operands, 2, "an array, and an index for each of its first axes")
    x, *indices = operands
    numbers(x)
    numbers(*indices, kinds="iu")
    if not 0 < len(indices) <= len(sizes(x)):
        message = f"{len(indices)} indices into shape {words(sizes(x))}"
        raise Invalid(message, required=f"1 to {len(sizes(x))}", got=len(indices))
    where = _joined(*map(sizes, indices))
    return Type(x.dtype, check_rank((*where, *sizes(x)[len(indices) :])))


def _check_some(operands: Sequence[Type], fewest: int, required: str) -> None:
    if len(operands) < fewest:
        raise Invalid("too few operands", required=required, got=len(operands))


def _scattered(*operands: Type) -> Type:
    _check_some(operands, 3, "an array, values, and an index for each of its first axes")
    x, values, *indices = operands
    numbers(x, values)
    place = _gathered(x, *indices)
    _check_values(values, place, x)
    return x


def _check_values(values: Type, place: Type, x: Type) -> None:
    """Refuse values that do not go to a place in x."""
    if promoted((x, values)) is not x.dtype:
        hint = f"convert them with tl.astype(values, tl.{x.dtype!r})"
        raise Invalid("values of another dtype", required=x.dtype, got=values, hint=hint)
    if values.shape is None or _joined(values.shape, place.shape) != place.shape:
        wanted = place.shape or ()
        if None not in (*sizes(values), *wanted) or len(sizes(values)) > len(wanted):
            message = f"shape {words(sizes(values))} does not broadcast to {words(wanted)}"
            raise Invalid(message, required=f"values of shape {words(wanted)}", got=values)


def _put_static(x: Type, values: Type, key: object) -> Type:
    numbers(values)
    _check_values(values, _static(x, key), x)
    return x


def _added(*operands: Type) -> Type:
    numbers(*operands[:1], kinds="iuf")
    return _scattered(*operands)


def _masked(x: Type, mask: Type) -> Type:
    numbers(x)
    if mask.dtype is not dtypes.bool:
        raise Invalid("the mask is no bool", required="bool", got=mask, hint="compare first")
    have, over = sizes(x), sizes(mask)
    alike = all(None in (size, other) or size == other for size, other in zip(have, over, strict=False))
    if len(over) > len(have) or not alike:
        message = f"a mask of shape {words(over)} does not fit shape {words(have)}"
        raise Invalid(message, required="the sizes of the first axes", got=f"{x} and {mask}")
    return Type(x.dtype, (None, *have[len(over) :]))


def _outside(indices: Any, size: int) -> Any:
    return (indices < -size) | (indices >= size)


def _any_outside(x: Any, *indices: Any) -> Any:
    """Of indices along one axis, which; of others, whether any."""
    those = [_outside(each, size) for each, size in zip(indices, np.shape(x), strict=False)]
    return those[0] if len(those) == 1 else any(map(np.any, those))


def _put_outside(x: Any, values: Any, *indices: Any) -> Any:
    return _any_outside(x, *indices)


def _places(*indices: Any) -> tuple[npt.NDArray[np.int64], ...]:
    """Indices that are inside: of any integer dtype, as NumPy wants them."""
    return tuple(np.asarray(each).astype(np.int64) for each in indices)


_FEW = 32
"""So many places are put one by one, which takes 0.43 us each; 1,000 take 34 us otherwise."""


def _put(x: Any, values: Any, *indices: Any) -> Any:
    """Where several go to one place the last stays: NumPy leaves that open."""
    at = np.broadcast_arrays(*_places(*indices))
    if not at[0].size:
        return np.asarray(x)  # which is not copied where arrays are shared
    made = np.array(x, order="C")
    sizes, rest = made.shape[: len(at)], made.shape[len(at) :]
    given = np.broadcast_to(values, (*at[0].shape, *rest)).reshape(at[0].size, *rest)
    if at[0].size <= _FEW:
        for number, place in enumerate(zip(*(each.ravel().tolist() for each in at), strict=True)):
            made[place] = given[number]
        return made
    numbers = np.ravel_multi_index(at, sizes, mode="wrap").ravel()
    places, last = np.unique(numbers[::-1], return_index=True)
    made.reshape(math.prod(sizes), *rest)[places] = given[::-1][last]
    return made


def _put_at(x: Any, values: Any, key: str) -> Any:
    made = np.array(x)
    made[read_key(key)] = values
    return made


def _add(x: Any, values: Any, *indices: Any) -> Any:
    made = np.array(x)
    np.add.at(made, _places(*indices), values)
    return made


def _take_along(x: Any, indices: Any, axis: int) -> Any:
    """As NumPy's, but that the other axes broadcast."""
    at = axis % np.ndim(x)

    def others(shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:at], 1, *shape[at + 1 :])

    over = np.broadcast_shapes(others(np.shape(x)), others(np.shape(indices)))
    spread = [np.broadcast_to(each, (*over[:at], np.shape(each)[at], *over[at + 1 :])) for each in (x, indices)]
    return np.take_along_axis(spread[0], spread[1], at)


_OUTSIDE = "an index is out of range"

op(
    "index",
    arity=1,
    types=_static,
    numpy=lambda x, key: np.asarray(x)[read_key(key)],
    static=lambda _, key: operator.itemgetter(read_key(key)),
    attributes=("key",),
    shape=None,
    moves=True,
    gradient=RULES["index"],
    doc="""What `x[key]` takes, the key being static: integers, slices, None for a new axis of size 1, and ... for the
axes that nothing is said of; as text (attribute `key`). A slice takes what there is, an integer outside traps.

>>> tl.index([[1, 2, 3], [4, 5, 6]], "::-1, 1:").tolist()
[[5, 6], [2, 3]]
""",
)
op(
    "take",
    arity=2,
    types=_taken,
    numpy=lambda x, indices, axis: np.take(x, _places(indices)[0], axis=axis),
    attributes=("axis",),
    shape=None,
    alike=(0, 1),
    undefined=Undefined(lambda x, indices, axis: _outside(indices, np.shape(x)[axis]), _OUTSIDE),
    innocuous=True,
    gradient=RULES["take"],
    doc="""The elements at these indices, integers of any shape, along an axis (attribute `axis`; it may be left out
where there is only one). Negative ones count from the end; one outside traps.

>>> tl.take([10, 20, 30], [2, 0, -1]).tolist()
[30, 10, 30]
""",
)
op(
    "take_along_axis",
    arity=2,
    types=_taken_along,
    numpy=lambda x, indices, axis: _take_along(x, _places(indices)[0], axis),
    attributes=("axis",),
    shape=None,
    alike=(0, 1),
    undefined=Undefined(lambda x, indices, axis: _outside(indices, np.shape(x)[axis]), _OUTSIDE),
    innocuous=True,
    gradient=RULES["take_along_axis"],
    doc="""For each place of the other axes, which broadcast, the elements at its own indices along an axis (attribute
`axis`), as argsort gives them. Negative ones count from the end; one outside traps.

>>> tl.take_along_axis([[10, 20], [30, 40]], [[1], [0]], axis=1).tolist()
[[20], [30]]
""",
)
op(
    "gather",
    arity=None,
    types=_gathered,
    numpy=lambda x, *indices: np.asarray(x)[_places(*indices)],
    shape=None,
    alike=(0, 1),
    undefined=Undefined(_any_outside, _OUTSIDE),
    innocuous=True,
    gradient=RULES["gather"],
    doc="""What `x[i, j, ...]` takes: integers, or arrays of them which broadcast, are indices along the first axes.
Negative ones count from the end; one outside traps.

>>> tl.gather([[1, 2], [3, 4]], [0, 1], [1, 1]).tolist()
[2, 4]
""",
)
op(
    "scatter",
    arity=None,
    types=_scattered,
    numpy=_put,
    shape=None,
    alike=(0, 2),
    undefined=Undefined(_put_outside, _OUTSIDE),
    innocuous=True,
    gradient=RULES["scatter"],
    doc="""x with other values at the places that `gather(x, i, j, ...)` takes, to whose shape they broadcast. Where
several go to one place, the last stays, in the order of the indices.

>>> tl.scatter([1, 2, 3], 0, [0, 2]).tolist()
[0, 2, 0]
""",
)
op(
    "scatter_add",
    arity=None,
    types=_added,
    numpy=_add,
    shape=None,
    alike=(0, 2),
    undefined=Undefined(_put_outside, _OUTSIDE),
    gradient=RULES["scatter_add"],
    doc="""x with values added at the places that `gather(x, i, j, ...)` takes, to whose shape they broadcast. Where
several go to one place all are added, in the order of the indices. float32 is added in float64, and rounded once.

>>> tl.scatter_add([0, 0, 0], [1, 10, 100], [0, 2, 0]).tolist()
[101, 0, 10]
""",
)
op(
    "scatter_index",
    arity=2,
    types=_put_static,
    numpy=_put_at,
    attributes=("key",),
    shape=None,
    innocuous=True,
    gradient=RULES["scatter_index"],
    doc="""x with other values at the places that `index(x, key)` takes (attribute `key`), to whose shape they
broadcast.

>>> tl.scatter_index([[1, 2, 3], [4, 5, 6]], 0, "1, ::2").tolist()
[[1, 2, 3], [0, 5, 0]]
""",
)
op(
    "boolean_mask",
    arity=2,
    types=_masked,
    numpy=lambda x, mask: np.asarray(x)[np.asarray(mask)],
    shape=None,
    alike=(0, 1),
    innocuous=True,
    gradient=RULES["boolean_mask"],
    doc="""What `x[mask]` takes: the elements where the mask holds, in the order of their indices, along one axis in
the place of those of the mask. How many, the run decides.

>>> tl.boolean_mask([1, 2, 3], [True, False, True]).tolist()
[1, 3]
""",
)
