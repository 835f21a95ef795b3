"""Comparison of a call in the graph with the same call in Python, on copies of its objects."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.frontend.eager.array import ConcreteArray
from ...core.frontend.eager.variable import Variable
from ..training.optimizers import Optimizer
from .heap import is_object

TOLERANCE = 1e-9
"""How far floats may be apart, relatively: the last bits of arrays are those of the engine."""


def copy_objects(values: Any, constants: Mapping[int, Any]) -> Any:
    """A copy of values with all that they reach, but not of these constants by identity. The copy of an optimizer has
    the slots of the copies of its variables."""
    memo: dict[int, Any] = dict(constants)
    copied = copy.deepcopy(values, memo)
    originals = memo.get(id(memo), [])
    numbers = {
        each._resource.creation_order: memo[id(each)]._resource.creation_order
        for each in originals
        if type(each) is Variable
    }
    for each in originals:
        if issubclass(type(each), Optimizer):
            memo[id(each)]._names = {numbers.get(number, number): name for number, name in each._names.items()}
    return copied


def first_difference(in_graph: Mapping[str, Any], in_python: Mapping[str, Any]) -> str | None:
    """Where values of the same names, or what they reach, differ first, in words: numbers, classes, keys, or which
    objects are the same. None where they do not.

    >>> first_difference({"result": [1, {"a": 2.0}]}, {"result": [1, {"a": 3.0}]})
    "result[1]['a'] is 2.0 in the graph, 3.0 in Python"
    """
    partners: dict[int, Any] = {}
    pending = [(value, in_python[name], name) for name, value in in_graph.items()]
    for first, second, place in pending:  # a worklist: the loop appends to it
        texts = f"{_describe(first)} in the graph, {_describe(second)} in Python"
        if type(first) is not type(second) or not _is_equal(first, second):
            return f"{place} is {texts}"
        parts = _parts(first, place)
        if parts is None or first is second:
            continue
        if id(first) in partners or id(second) in partners:
            if partners.get(id(first)) is not second or partners.get(id(second)) is not first:
                return f"{place} is another object in the graph than in Python"
            continue
        partners |= {id(first): second, id(second): first}
        others = _parts(second, place)
        assert others is not None
        if list(parts) != list(others):
            return f"{place} has the parts {', '.join(parts)} in the graph, {', '.join(others)} in Python"
        pending += [(parts[name], others[name], name) for name in parts]
    return None


def _parts(value: Any, place: str) -> dict[str, Any] | None:
    """What a value has, by the place of each; None for a number, an array or what is compared by identity."""
    if type(value) in (list, tuple):
        return {f"{place}[{position}]": item for position, item in enumerate(value)}
    if type(value) is dict:
        return {f"{place}[{key!r}]": item for key, item in value.items()}
    if type(value) is Variable:
        return {f"{place}.value": value._resource.value}
    if is_object(value) or issubclass(type(value), Optimizer):
        return {f"{place}.{name}": item for name, item in value.__dict__.items() if name != "_names"}
    return None


def _is_equal(one: Any, other: Any) -> bool:
    """Whether two values of one class are equal, as far as they have no parts."""
    if type(one) is float:
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE**2) or repr(one) == repr(other)
    if type(one) in (bool, int, str, type(None)):
        return bool(one == other)
    if type(one) is ConcreteArray:
        arrays = np.asarray(one), np.asarray(other)
        return one._type == other._type and np.allclose(*arrays, rtol=TOLERANCE, atol=TOLERANCE**2, equal_nan=True)
    return _parts(one, "") is not None or one is other


def _describe(value: Any) -> str:
    """A value in words; no code of the user runs for it."""
    is_plain = type(value) in (bool, int, float, str, type(None), ConcreteArray)
    return repr(value)[:80] if is_plain else f"a {type(value).__qualname__}"
