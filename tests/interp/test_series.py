"""A series is the tuple that it stands for, to whoever looks at it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tagloom.interp.series import Series

NUMBERS = st.lists(st.integers(0, 3), max_size=6).map(tuple)


@given(NUMBERS, NUMBERS)
def test_it_is_a_tuple_to_whoever_looks(some: tuple[int, ...], others: tuple[int, ...]) -> None:
    """It equals, hashes, prints, counts and is sliced as its tuple, on either side, and is told from others."""
    made = Series(np.array(some, np.int64))
    assert (made == others, others == made) == (some == others, some == others)
    assert (made == Series(np.array(others, np.int64))) == (some == others)
    assert (hash(made), repr(made), len(made), list(made)) == (hash(some), repr(some), len(some), list(some))
    assert (made[1:], made[::2], sum(made)) == (some[1:], some[::2], sum(some))
    assert all(type(number) is int and number == made[at] for at, number in enumerate(made))
    assert copy.deepcopy(made) == some == pickle.loads(pickle.dumps(made))
    assert made != list(some)
