"""The graph of objects: everything that named edges lead to, each object once, nearest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...core.errors import Usage
from ...core.frontend.eager.variable import Variable
from ...core.frontend.trace.source_location import user_location
from .edges import PendingTensor, find_edges


@dataclass(slots=True)
class ObjectNode:
    """A reachable object: the edge that first led to it, and the numbers of the objects that its own edges lead to."""

    value: object
    parent: int = 0
    edge_name: str = ""
    edges: dict[str, int] = field(default_factory=dict)
    unnamed_parts: list[object] = field(default_factory=list)


def find_objects(root: object, extra_edges: Mapping[int, Mapping[str, object]] | None = None) -> list[ObjectNode]:
    """The objects reachable from a root: the root first, then by number of edges, in the order of names.

    `extra_edges` has additional edges by the identity of an object; they come after its own.
    """
    there, numbers = [ObjectNode(root)], {id(root): 0}
    for number, each in enumerate(there):  # grows while it is walked
        named, each.unnamed_parts = find_edges(each.value)
        for name, part in (named | dict((extra_edges or {}).get(id(each.value), {}))).items():
            if id(part) not in numbers:
                numbers[id(part)] = len(there)
                there.append(ObjectNode(part, number, name))
            each.edges[name] = numbers[id(part)]
    return there


def find_variables(there: Sequence[ObjectNode]) -> Iterator[tuple[int, Variable]]:
    """The variables among these objects, with their numbers."""
    return ((number, each.value) for number, each in enumerate(there) if isinstance(each.value, Variable))


def find_tensors(there: Sequence[ObjectNode]) -> Iterator[tuple[int, Variable | PendingTensor]]:
    """The same, with the pending tensors that have no variable yet."""
    return (
        (number, each.value) for number, each in enumerate(there) if isinstance(each.value, Variable | PendingTensor)
    )


def object_path(there: Sequence[ObjectNode], number: int) -> str:
    """The path of an object: the names of the edges that first led to it, joined by points.

    A point or a backslash in a name has a backslash before it. A name that the file uses for itself begins with a
    backslash.

    >>> object_path([ObjectNode({}), ObjectNode({}, 0, "a.b"), ObjectNode(None, 1, "c")], 2)
    'a\\\\.b.c'
    """
    names: list[str] = []
    while number:
        names.append(there[number].edge_name.replace("\\", "\\\\").replace(".", "\\."))
        number = there[number].parent
    made = ".".join(reversed(names))
    return f"\\{made}" if made == "__metadata__" else made


def check_all_named(there: Sequence[ObjectNode]) -> None:
    """Raise Usage if a variable is reachable only through edges without names, since a file would not have it."""
    numbers = {id(each.value) for each in there}
    for number, each in enumerate(there):
        lost = _find_unreached_variable(each.unnamed_parts, numbers)
        if lost is not None:
            raise Usage(
                f"variable {lost.name} has no name in a file",
                where=user_location(),
                required="names of attributes, strings or integers as keys of dicts, lists or tuples",
                got=f"a set, or other keys, in {object_path(there, number) or 'the checkpoint'}",
            )


def _find_unreached_variable(parts: Sequence[object], known: set[int]) -> Variable | None:
    """The first variable reachable from these objects that is not in `known`."""
    waiting, seen = [part for part in parts if id(part) not in known], {id(part) for part in parts}
    for each in waiting:  # grows while it is walked
        if isinstance(each, Variable):
            return each
        named, nameless = find_edges(each)
        for part in (*named.values(), *nameless):
            if id(part) not in seen and id(part) not in known:
                seen.add(id(part))
                waiting.append(part)
    return None


def find_ancestors(targets: Iterable[int], named: Sequence[Mapping[str, int]]) -> set[int]:
    """The numbers of the objects from which edges lead to the targets, which are included; `named` has the edges of
    each object.

    >>> find_ancestors([2], [{"a": 1, "b": 3}, {"w": 2}, {}, {}]) == {0, 1, 2}
    True
    """
    sources: dict[int, list[int]] = {}
    for number, edges_of in enumerate(named):
        for target in edges_of.values():
            sources.setdefault(target, []).append(number)
    waiting = list(targets)
    kept = set(waiting)
    for number in waiting:  # grows while it is walked
        new = [source for source in sources.get(number, ()) if source not in kept]
        kept.update(new)
        waiting.extend(new)
    return kept
