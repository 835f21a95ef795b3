"""Named edges: the parts of a Python object, and the name of each part.

Attributes have their names, dict values their keys, list and tuple elements their positions. Functions, classes and
modules are code and hold no state; properties are not read.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterable, Iterator
from types import (
    BuiltinFunctionType,
    EllipsisType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    NoneType,
)
from typing import Any, NamedTuple

import numpy as np

from ...core.frontend.eager.array import ConcreteArray
from ...core.frontend.eager.variable import Variable
from ...core.frontend.trace.pytree import is_named_tuple
from ..function.bound_methods import BoundMethods
from ..function.function import Function

_CODE_CLASSES = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, Function, BoundMethods)
_VALUE_CLASSES = (
    NoneType,
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    bytearray,
    range,
    EllipsisType,
    np.generic,
    np.ndarray,
)


class PendingTensor(NamedTuple):
    """A tensor of a file without a variable yet."""

    value: object


class ObjectEdges(NamedTuple):
    """The parts of an object: by name, in name order, and those without a name that a file could have."""

    by_name: dict[str, object]
    unnamed_parts: list[object]


def find_edges(node: object) -> ObjectEdges:
    """The edges from an object to its parts.

    >>> class Layer:
    ...     def __init__(self):
    ...         self.size, self.weights = 3, [[], []]
    >>> find_edges(Layer())
    ObjectEdges(by_name={'weights': [[], []]}, unnamed_parts=[])
    >>> find_edges({"b": [], "a": {}, (1, 2): []})
    ObjectEdges(by_name={'a': {}, 'b': []}, unnamed_parts=[(1, 2), []])
    """
    found = ObjectEdges({}, [])
    if not can_hold_variables(node) or isinstance(node, Variable | PendingTensor):
        return found
    for name, part in (*_container_items(node), *_attributes(node)):
        if not can_hold_variables(part):
            continue
        if name is None or name in found.by_name or not _is_encodable(name):
            found.unnamed_parts.append(part)
        else:
            found.by_name[name] = part
    return found


def can_hold_variables(part: object) -> bool:
    """Whether an object may be or hold a variable: plain values and code do not."""
    return not isinstance(part, (*_VALUE_CLASSES, *_CODE_CLASSES, ConcreteArray))


def _container_items(node: Any) -> Iterator[tuple[str | None, object]]:
    """The items of Python's own containers."""
    if isinstance(node, dict):
        items = list(node.items())
        yield from _sort_by_name((str(key), part) for key, part in items if type(key) in (str, int))
        for key, part in items:
            if type(key) not in (str, int):
                yield from ((None, key), (None, part))
    elif is_named_tuple(type(node)):
        yield from zip(node._fields, node, strict=True)
    elif isinstance(node, list | tuple | deque):
        yield from ((str(position), part) for position, part in enumerate(list(node)))
    elif isinstance(node, set | frozenset):
        yield from ((None, part) for part in list(node))


def _attributes(node: Any) -> Iterator[tuple[str, object]]:
    own = list(vars(node).items()) if type(node).__dictoffset__ else []
    yield from _sort_by_name((name, part) for name, part in (*own, *_slot_values(node)) if type(name) is str)


def _slot_values(node: Any) -> Iterator[tuple[str, object]]:
    kind: Any = type(node)
    for name, slot in _slot_members(kind):
        try:
            yield name, slot.__get__(node)
        except AttributeError:
            continue


@functools.lru_cache(maxsize=1024)
def _slot_members(kind: Any) -> tuple[tuple[str, MemberDescriptorType], ...]:
    return tuple(
        (name, member)
        for each in kind.__mro__
        for name, member in vars(each).items()
        if isinstance(member, MemberDescriptorType)
    )


def _sort_by_name(parts: Iterable[tuple[str, object]]) -> list[tuple[str, object]]:
    return sorted(parts, key=lambda part: part[0])


def _is_encodable(name: str) -> bool:
    """Whether UTF-8 can encode a name: a lone surrogate cannot be encoded."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)
