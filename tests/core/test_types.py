"""Types: which values they admit, how shapes join, and what annotations are types."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given
from hypothesis import strategies as st
from tagloom.core import dtypes
from tagloom.core.dtypes import DType
from tagloom.core.types import Array, Shape, Type, as_type, broadcast_shape, type_of

known_shapes = st.lists(st.integers(0, 3), max_size=4).map(tuple)
shapes: st.SearchStrategy[Shape] = st.none() | st.lists(st.none() | st.integers(0, 3), max_size=3).map(tuple)
all_types = st.builds(Type, st.sampled_from(dtypes.ALL), shapes)
concrete = st.builds(Type, st.sampled_from(dtypes.ALL), known_shapes)


@given(all_types, concrete)
def test_v9_admits_agrees_with_values(type_: Type, value: Type) -> None:
    """V9: a type admits a known type exactly if the dtypes are equal and every size that it knows is."""
    assert value.shape is not None
    sizes = type_.shape
    fits = sizes is None or (
        len(sizes) == len(value.shape) and all(n in (None, m) for n, m in zip(sizes, value.shape, strict=True))
    )
    assert type_.admits(value) == (type_.dtype is value.dtype and fits)


@given(all_types, all_types, concrete)
def test_v9_admits_is_inclusion(wide: Type, narrow: Type, value: Type) -> None:
    """V9: a type admits itself, and every value of the types that it admits; two types admit each other only if they
    are equal."""
    assert wide.admits(wide)
    if wide.admits(narrow):
        assert wide.admits(value) or not narrow.admits(value)
        assert not narrow.admits(wide) or wide == narrow


@given(st.lists(known_shapes, max_size=4))
def test_v4_shapes_join_as_numpy_s(given_shapes: list[tuple[int, ...]]) -> None:
    """V4: known shapes join as in numpy.broadcast_shapes, and are refused if it refuses them."""
    try:
        expected = np.broadcast_shapes(*given_shapes)
    except ValueError:
        with pytest.raises(tl.Invalid, match="do not broadcast") as refused:
            broadcast_shape(list(given_shapes))
        assert refused.value.required == "equal sizes, or 1"
    else:
        assert broadcast_shape(list(given_shapes)) == expected


@given(st.lists(shapes, min_size=1, max_size=3))
def test_v4_unknown_sizes_join_safely(given_shapes: list[Shape]) -> None:
    """V4: whatever unknown sizes turn out to be, the joined shape admits the shape of the result, and refused shapes
    could never be broadcast."""
    try:
        joined = broadcast_shape(given_shapes)
    except tl.Invalid:
        joined = ()
        refused = True
    else:
        refused = False
    for outcome in itertools.islice(outcomes(given_shapes), 200):
        try:
            shape = np.broadcast_shapes(*outcome)
        except ValueError:
            continue
        assert not refused and Type(dtypes.bool, joined).admits(Type(dtypes.bool, shape))


def outcomes(given_shapes: list[Shape]) -> Any:
    """Some of the shapes that shapes with unknown sizes may turn out to be."""
    sizes = (1, 2, 3)
    ranks = [
        [(), (1,), (2, 3)] if s is None else itertools.product(*(sizes if n is None else (n,) for n in s))
        for s in given_shapes
    ]
    return itertools.product(*ranks)


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (Type(dtypes.int64), "int64"),
        (Type(dtypes.bool, None), "bool[...]"),
        (Type(dtypes.float64, (3, None)), "float64[3, ?]"),
        (Type(dtypes.float64, (0,)), "float64[0]"),
    ],
)
def test_the_printed_form_of_types(type_: Type, text: str) -> None:
    """A type prints as its dtype, followed by its shape unless it is a scalar."""
    assert str(type_) == text and type_.is_scalar == (text == "int64")


@pytest.mark.parametrize(
    ("annotation", "type_"),
    [
        (tl.int64, Type(dtypes.int64)),
        (tl.bool, Type(dtypes.bool)),
        (int, Type(dtypes.int64)),
        (float, Type(dtypes.float64)),
        (bool, Type(dtypes.bool)),
        (Array[tl.float64, 3, None], Type(dtypes.float64, (3, None))),
        (Array[tl.float64], Type(dtypes.float64, (None,))),
        (Array[tl.float64, ...], Type(dtypes.float64, None)),
        (Array[tl.int64, 0], Type(dtypes.int64, (0,))),
        (Array[tl.int64, None], Type(dtypes.int64, (None,))),
    ],
    ids=str,
)
def test_annotations(annotation: object, type_: Type) -> None:
    """A dtype, Array[dtype, sizes...], and Python's int, float and bool are types."""
    assert as_type(annotation) == type_


@pytest.mark.parametrize(
    "annotation", [str, None, 3, "int64", list[int], complex, Array, np.int64, DType, ()], ids=repr
)
def test_wrong_annotations_are_refused(annotation: object) -> None:
    """Anything else is refused, with the valid annotations."""
    with pytest.raises(tl.Usage, match="not a type") as refused:
        as_type(annotation)
    assert refused.value.got == repr(annotation) and "tl.Array[dtype, sizes...]" in str(refused.value.required)


@pytest.mark.parametrize("item", [(), 3, "int64", int, (int, 3), (3, tl.int64), None], ids=repr)
def test_array_needs_a_dtype_first(item: object) -> None:
    """Array[...] without a dtype in front is refused."""
    with pytest.raises(tl.Usage, match="takes a dtype first"):
        Array[item]


@pytest.mark.parametrize("size", [-1, 1.0, "3", True, Ellipsis, (3,)], ids=repr)
def test_array_needs_sizes(size: object) -> None:
    """A size is a non-negative integer, or None."""
    with pytest.raises(tl.Usage, match="a size is a non-negative integer") as refused:
        Array[tl.int64, 2, size]
    assert repr(size) in str(refused.value.got)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "int64"),
        (True, "bool"),
        (-0.5, "float64"),
        (np.int64(3), "int64"),
        (np.bool_(True), "bool"),
        (np.float64(3), "float64"),
        ([1, 2], "int64[2]"),
        ((1.0, 2), "float64[2]"),
        ([], "float64[0]"),
        (np.zeros((2, 0), dtype=bool), "bool[2, 0]"),
        (np.array(3), "int64"),
        (-(2**63), "int64"),
        (2**63 - 1, "int64"),
    ],
    ids=repr,
)
def test_type_of(value: object, text: str) -> None:
    """The type of a concrete value is that of the NumPy array of it."""
    assert str(type_of(value)) == text


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [None, "text", 1j, object(), {}, {1}, np.datetime64(1, "s"), np.zeros(3, complex), np.array(["a"]), int, b"1"]
    + [
        2**63,
        -(2**63) - 1,
        [2**63],
        [[2**63, 1]],
        [2**70],
        [[1], [1, 2]],
        [1, [2]],
        nested(65),
        nested(100_000),
        np.array([None]),
        [None],
    ],
    ids=lambda value: f"{type(value).__name__}",
)
def test_other_objects_are_no_values(value: object) -> None:
    """Any other object is refused with Usage, and no NumPy exception is raised."""
    with pytest.raises(tl.Usage) as refused:
        type_of(value)
    assert refused.value.got is not None and len(str(refused.value.got)) < 200


def test_an_array_with_a_mask_is_refused() -> None:
    with pytest.raises(TypeError, match="arrays have no masks"):
        type_of(np.ma.masked_array([1.0, 2.0], [True, False]))
