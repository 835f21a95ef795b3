"""Comparison of a call in the graph with the same call in Python, on copies of its objects."""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.errors import with_article
from ...core.frontend.eager.array import ConcreteArray
from ...core.frontend.eager.variable import Variable
from ..training.optimizers import Optimizer
from .heap import attributes_of, is_object, is_tuple
from .layouts import POOLS

TOLERANCE = 1e-9
"""The largest relative difference of equal floats: the last bits of arrays depend on the engine."""


def copy_objects(values: Any, constants: Mapping[int, Any]) -> Any:
    """A deep copy of values. These `constants`, by identity, are not copied. The copy of an optimizer has the slots of
    the copies of its variables."""
    memo: dict[int, Any] = dict(constants)
    copied = copy.deepcopy(values, memo)
    originals = memo.get(id(memo), [])
    numbers = {
        original._resource.creation_order: memo[id(original)]._resource.creation_order
        for original in originals
        if type(original) is Variable
    }
    for original in originals:
        if issubclass(type(original), Optimizer):
            memo[id(original)]._names = {numbers.get(number, number): name for number, name in original._names.items()}
    return copied


def first_difference(in_graph: Mapping[str, Any], in_python: Mapping[str, Any]) -> str | None:
    """The first difference between values of the same names, or between what they reach, in words: numbers, classes,
    keys, or which objects are the same. None if there is none.

    >>> first_difference({"result": [1, {"a": 2.0}]}, {"result": [1, {"a": 3.0}]})
    "result[1]['a'] is 2.0 in the graph, 3.0 in Python"
    """
    partners: dict[int, Any] = {}
    worklist = [(value, in_python[name], name) for name, value in in_graph.items()]
    for first, second, place in worklist:  # a worklist: the loop appends to it
        texts = f"{_describe(first)} in the graph, {_describe(second)} in Python"
        if type(first) is not type(second) or not _is_equal(first, second):
            return f"{place} is {texts}"
        parts = _parts(first, place)
        if parts is None or first is second:
            continue
        if id(first) in partners or id(second) in partners:
            if partners.get(id(first)) is not second or partners.get(id(second)) is not first:
                return f"{place} is not the same object in the graph as in Python"
            continue
        partners |= {id(first): second, id(second): first}
        parts_in_python = _parts(second, place)
        assert parts_in_python is not None
        if list(parts) != list(parts_in_python):
            return f"{place} has the parts {', '.join(parts)} in the graph, {', '.join(parts_in_python)} in Python"
        worklist += [(parts[name], parts_in_python[name], name) for name in parts]
    return None


def _parts(value: Any, place: str) -> dict[str, Any] | None:
    """The parts of a value, by their places; None for a number, an array, or an object that is compared by identity."""
    if type(value) is list or is_tuple(value):
        return {f"{place}[{position}]": item for position, item in enumerate(value)}
    if type(value) is deque:
        return {f"{place}[{position}]": item for position, item in enumerate(value)}
    if type(value) is set:
        return {f"an item of {place}": sorted(map(_describe, value))}
    if type(value) in POOLS and isinstance(value, dict):
        return {f"{place}[{_describe(key)}]": item for key, item in value.items()}
    if type(value) is np.ndarray:
        return {}
    if type(value) is Variable:
        return {f"{place}.value": value._resource.value}
    if is_object(value) or issubclass(type(value), Optimizer):
        return {f"{place}.{name}": item for name, item in attributes_of(value).items() if name != "_names"}
    return None


def _is_equal(first: Any, second: Any) -> bool:
    """Whether two values of one class are equal, apart from their parts."""
    if type(first) is float:
        return math.isclose(first, second, rel_tol=TOLERANCE, abs_tol=TOLERANCE**2) or repr(first) == repr(second)
    if type(first) in (bool, int, str, type(None)):
        return bool(first == second)
    if type(first) is ConcreteArray:
        arrays = np.asarray(first), np.asarray(second)
        return first._type == second._type and np.allclose(*arrays, rtol=TOLERANCE, atol=TOLERANCE**2, equal_nan=True)
    if isinstance(first, np.ndarray | np.generic):
        is_same_type = first.dtype == second.dtype and first.shape == second.shape
        return is_same_type and np.allclose(first, second, rtol=TOLERANCE, atol=TOLERANCE**2, equal_nan=True)
    return _parts(first, "") is not None or first is second


def _describe(value: Any) -> str:
    """A value in words; runs no code of the user."""
    is_plain = type(value) in (bool, int, float, str, type(None), ConcreteArray)
    return repr(value)[:80] if is_plain else f"{with_article(type(value).__qualname__)}"
