"""A series acts as the tuple of its elements."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tagloom.interp.engines.fast.lazy_sequences import IntegerSeries

NUMBERS = st.lists(st.integers(0, 3), max_size=6).map(tuple)


@given(NUMBERS, NUMBERS)
def test_a_series_acts_as_a_tuple(some: tuple[int, ...], others: tuple[int, ...]) -> None:
    """A series compares, hashes, prints, counts and slices as its tuple, on either side of an operator."""
    result = IntegerSeries(np.array(some, np.int64))
    assert (result == others, others == result) == (some == others, some == others)
    assert (result == IntegerSeries(np.array(others, np.int64))) == (some == others)
    assert (hash(result), repr(result), len(result), list(result)) == (hash(some), repr(some), len(some), list(some))
    assert (result[1:], result[::2], sum(result)) == (some[1:], some[::2], sum(some))
    assert all(type(number) is int and number == result[at] for at, number in enumerate(result))
    assert copy.deepcopy(result) == some == pickle.loads(pickle.dumps(result))
    assert result != list(some)


@given(NUMBERS)
def test_numpy_gets_the_array_itself(some: tuple[int, ...]) -> None:
    """NumPy gets a read-only view without a copy; a copy is writable and has the requested dtype."""
    numbers = np.array(some, np.int32)
    result = IntegerSeries(numbers)
    seen, copied, cast = np.asarray(result), np.array(result), np.asarray(result, np.float64)
    assert (seen.base is numbers or not some) and seen.dtype == np.int32 and not seen.flags.writeable
    assert copied.flags.writeable and not np.shares_memory(copied, numbers) and cast.dtype == np.float64
    assert all(np.array_equal(array, numbers) for array in (seen, copied, cast))
    assert np.asarray(result, copy=False).base is not None
    with pytest.raises(ValueError, match="copy"):
        np.asarray(result, np.float64, copy=False)
