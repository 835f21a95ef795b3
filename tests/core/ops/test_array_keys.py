"""The brackets of `x[...]`: keys of every kind, in every order, agree with NumPy's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import tagloom as tl

X = np.arange(24).reshape(2, 3, 4)
ENTRIES: list[Any] = [
    *(np.array([0, 1]), np.array([[1], [0]]), np.array([1]), 0, -1),
    *(None, slice(None), slice(1, None), slice(None, None, -1), ...),
]


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("count", [1, 2, 3, pytest.param(4, marks=pytest.mark.heavy)])
def test_keys_agree_with_numpy(count: int) -> None:
    """A key gives NumPy's result or is refused. A key of static entries, or with adjacent index arrays after nothing
    but new axes, is refused only if NumPy refuses it."""
    for key in itertools.product(ENTRIES, repeat=count):
        expected, result = _taken(X, key), _taken(tl.asarray(X), key)
        if result is None:
            assert expected is None or not _is_taken(key), key
        else:
            assert expected is not None and result.shape == expected.shape and np.array_equal(result, expected), key


def _taken(x: Any, key: tuple[Any, ...]) -> Any:
    try:
        return np.asarray(x[key])
    except (IndexError, tl.TagloomError):
        return None


def _is_taken(key: tuple[Any, ...]) -> bool:
    late = [at for at, each in enumerate(key) if isinstance(each, np.ndarray)]
    if len(late) < 2:
        return not late or all(type(each) is not int for each in key)
    before, side, behind = key[: late[0]], key[late[0] : late[-1] + 1], key[late[-1] + 1 :]
    alone = all(each is None for each in before) and all(type(each) is not int for each in behind)
    return alone and all(isinstance(each, np.ndarray | int) for each in side)
