"""The graph of objects: all objects reachable by named edges, each once, breadth first.

An edge is named by an attribute, a dict key, or a position in a list or tuple. Functions, classes and modules are code,
and are not searched; properties are not read.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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

from ...core.errors import Usage
from ...core.frontend.eager.array import ConcreteArray
from ...core.frontend.eager.variable import Variable
from ...core.frontend.trace.pytree import is_named_tuple
from ...core.frontend.trace.source_location import user_location
from ..function.function import BoundMethods, Function

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
    """A tensor of a file whose variable does not exist yet."""

    value: object


class ObjectEdges(NamedTuple):
    """The parts of an object: those with a name, in name order, and those that a file cannot name."""

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
    edges = ObjectEdges({}, [])
    if not can_hold_variables(node) or isinstance(node, Variable | PendingTensor):
        return edges
    for name, part in (*container_items(node), *attribute_items(node)):
        if not can_hold_variables(part):
            continue
        if name is None or name in edges.by_name or not is_encodable(name):
            edges.unnamed_parts.append(part)
        else:
            edges.by_name[name] = part
    return edges


def can_hold_variables(part: object) -> bool:
    """Whether an object may be or contain a variable: plain values and code do not."""
    return not isinstance(part, (*_VALUE_CLASSES, *_CODE_CLASSES, ConcreteArray))


def container_items(node: Any) -> Iterator[tuple[str | None, object]]:
    """The items of Python's own containers."""
    if isinstance(node, dict):
        items = list(node.items())
        yield from sort_by_name((str(key), part) for key, part in items if type(key) in (str, int))
        for key, part in items:
            if type(key) not in (str, int):
                yield from ((None, key), (None, part))
    elif is_named_tuple(type(node)):
        yield from zip(node._fields, node, strict=True)
    elif isinstance(node, list | tuple | deque):
        yield from ((str(position), part) for position, part in enumerate(list(node)))
    elif isinstance(node, set | frozenset):
        yield from ((None, part) for part in list(node))


def attribute_items(node: Any) -> Iterator[tuple[str, object]]:
    """The attributes of an object, with their names."""
    attributes = list(vars(node).items()) if type(node).__dictoffset__ else []
    yield from sort_by_name((name, part) for name, part in (*attributes, *slot_items(node)) if type(name) is str)


def slot_items(node: Any) -> Iterator[tuple[str, object]]:
    """The values of `__slots__`, with their names."""
    kind: Any = type(node)
    for name, slot in slot_members(kind):
        try:
            yield name, slot.__get__(node)
        except AttributeError:
            continue


@functools.lru_cache(maxsize=1024)
def slot_members(kind: Any) -> tuple[tuple[str, MemberDescriptorType], ...]:
    """The slots that a class and its bases declare in `__slots__`, with their descriptors."""
    return tuple(
        (name, member)
        for base in kind.__mro__
        for name, member in vars(base).items()
        if isinstance(member, MemberDescriptorType)
    )


def sort_by_name(parts: Iterable[tuple[str, object]]) -> list[tuple[str, object]]:
    """Parts in the order of their names."""
    return sorted(parts, key=lambda part: part[0])


def is_encodable(name: str) -> bool:
    """Whether UTF-8 can encode a name: a lone surrogate cannot be encoded."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


@dataclass(slots=True)
class ObjectNode:
    """A reachable object: the edge that first led to it, and the numbers of the objects that its own edges lead to."""

    value: object
    parent: int = 0
    edge_name: str = ""
    edges: dict[str, int] = field(default_factory=dict)
    unnamed_parts: list[object] = field(default_factory=list)


def find_objects(root: object, extra_edges: Mapping[int, Mapping[str, object]] | None = None) -> list[ObjectNode]:
    """The objects reachable from a root, breadth first; edges are followed in the order of names.

    `extra_edges` has additional edges, by the identity of an object, which follow its own.
    """
    nodes, numbers = [ObjectNode(root)], {id(root): 0}
    for number, node in enumerate(nodes):  # a worklist: the loop appends to it
        edges, node.unnamed_parts = find_edges(node.value)
        for name, part in (edges | dict((extra_edges or {}).get(id(node.value), {}))).items():
            if id(part) not in numbers:
                numbers[id(part)] = len(nodes)
                nodes.append(ObjectNode(part, number, name))
            node.edges[name] = numbers[id(part)]
    return nodes


def find_variables(nodes: Sequence[ObjectNode]) -> Iterator[tuple[int, Variable]]:
    """The variables among these objects, with their numbers."""
    return ((number, node.value) for number, node in enumerate(nodes) if isinstance(node.value, Variable))


def find_tensors(nodes: Sequence[ObjectNode]) -> Iterator[tuple[int, Variable | PendingTensor]]:
    """As `find_variables`, but with the pending tensors, too."""
    return (
        (number, node.value) for number, node in enumerate(nodes) if isinstance(node.value, Variable | PendingTensor)
    )


def object_path(nodes: Sequence[ObjectNode], number: int) -> str:
    """The path of an object: the names of the edges that first led to it, joined by points.

    A point or a backslash in a name is escaped by a backslash. So is a path that safetensors files use themselves.

    >>> object_path([ObjectNode({}), ObjectNode({}, 0, "a.b"), ObjectNode(None, 1, "c")], 2)
    'a\\\\.b.c'
    """
    names: list[str] = []
    while number:
        names.append(nodes[number].edge_name.replace("\\", "\\\\").replace(".", "\\."))
        number = nodes[number].parent
    path = ".".join(reversed(names))
    return f"\\{path}" if path == "__metadata__" else path


def check_all_named(nodes: Sequence[ObjectNode]) -> None:
    """Raise Usage if a variable is reachable only through edges without names, since a file could not contain it."""
    numbers = {id(node.value) for node in nodes}
    for number, node in enumerate(nodes):
        variable = find_unreached_variable(node.unnamed_parts, numbers)
        if variable is not None:
            raise Usage(
                f"variable {variable.name} has no name in a file",
                where=user_location(),
                required="names of attributes, strings or integers as keys of dicts, lists or tuples",
                got=f"a set, or other keys, in {object_path(nodes, number) or 'the checkpoint'}",
            )


def find_unreached_variable(parts: Sequence[object], reached_ids: set[int]) -> Variable | None:
    """The first variable reachable from these objects that is not in `reached_ids`."""
    queue, visited_ids = [part for part in parts if id(part) not in reached_ids], {id(part) for part in parts}
    for target in queue:  # a worklist: the loop appends to it
        if isinstance(target, Variable):
            return target
        by_name, unnamed_parts = find_edges(target)
        for part in (*by_name.values(), *unnamed_parts):
            if id(part) not in visited_ids and id(part) not in reached_ids:
                visited_ids.add(id(part))
                queue.append(part)
    return None


def find_ancestors(targets: Iterable[int], edges: Sequence[Mapping[str, int]]) -> set[int]:
    """The numbers of the targets, and of all objects from which edges lead to them. `edges` has the edges of each
    object.

    >>> find_ancestors([2], [{"a": 1, "b": 3}, {"w": 2}, {}, {}]) == {0, 1, 2}
    True
    """
    sources: dict[int, list[int]] = {}
    for number, own_edges in enumerate(edges):
        for target in own_edges.values():
            sources.setdefault(target, []).append(number)
    queue = list(targets)
    ancestors = set(queue)
    for number in queue:  # a worklist: the loop appends to it
        new = [source for source in sources.get(number, ()) if source not in ancestors]
        ancestors.update(new)
        queue.extend(new)
    return ancestors
