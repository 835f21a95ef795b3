"""The graph of objects: everything that named edges lead to, each once, nearest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...core.errors import Usage
from ...core.frontend.eager.variable import Variable
from ...core.frontend.trace.source_location import here
from .edges import Left, edges


@dataclass(slots=True)
class Found:
    """An object that was found: by which edge first, and the numbers of those that its own edges lead to."""

    thing: object
    source: int = 0
    name: str = ""
    edges: dict[str, int] = field(default_factory=dict)
    nameless: list[object] = field(default_factory=list)


def found(root: object, more: Mapping[int, Mapping[str, object]] | None = None) -> list[Found]:
    """The objects that a root leads to, itself first, then by the number of edges, and in the order of their names.

    `more` has edges that come behind those of an object, by its identity.
    """
    there, numbers = [Found(root)], {id(root): 0}
    for number, each in enumerate(there):  # grows while it is walked
        named, each.nameless = edges(each.thing)
        for name, part in (named | dict((more or {}).get(id(each.thing), {}))).items():
            if id(part) not in numbers:
                numbers[id(part)] = len(there)
                there.append(Found(part, number, name))
            each.edges[name] = numbers[id(part)]
    return there


def variables(there: Sequence[Found]) -> Iterator[tuple[int, Variable]]:
    """The variables among objects that were found, with their numbers."""
    return ((number, each.thing) for number, each in enumerate(there) if isinstance(each.thing, Variable))


def tensors(there: Sequence[Found]) -> Iterator[tuple[int, Variable | Left]]:
    """These, and the tensors for which there are none."""
    return ((number, each.thing) for number, each in enumerate(there) if isinstance(each.thing, Variable | Left))


def name_of(there: Sequence[Found], number: int) -> str:
    """What an object is called: the names of the edges that first led to it, with points between them.

    A point in a name has a backslash before it, and so has a backslash. A name that the file has for itself begins
    with one.

    >>> name_of([Found({}), Found({}, 0, "a.b"), Found(None, 1, "c")], 2)
    'a\\\\.b.c'
    """
    names: list[str] = []
    while number:
        names.append(there[number].name.replace("\\", "\\\\").replace(".", "\\."))
        number = there[number].source
    made = ".".join(reversed(names))
    return f"\\{made}" if made == "__metadata__" else made


def check_named(there: Sequence[Found]) -> None:
    """Raises Usage where a variable is to be found by no named edges, since a file would not have it."""
    numbers = {id(each.thing) for each in there}
    for number, each in enumerate(there):
        lost = _variable_among(each.nameless, numbers)
        if lost is not None:
            raise Usage(
                f"variable {lost.name} has no name in a file",
                where=here(),
                required="names of attributes, strings or integers as keys of dicts, lists or tuples",
                got=f"a set, or other keys, in {name_of(there, number) or 'the checkpoint'}",
            )


def _variable_among(parts: Sequence[object], known: set[int]) -> Variable | None:
    """The first variable that these objects lead to and nobody knows."""
    waiting, seen = [part for part in parts if id(part) not in known], {id(part) for part in parts}
    for each in waiting:  # grows while it is walked
        if isinstance(each, Variable):
            return each
        named, nameless = edges(each)
        for part in (*named.values(), *nameless):
            if id(part) not in seen and id(part) not in known:
                seen.add(id(part))
                waiting.append(part)
    return None


def leading_to(targets: Iterable[int], named: Sequence[Mapping[str, int]]) -> set[int]:
    """The numbers of the objects from which edges lead to some, these included; `named` has the edges of each.

    >>> leading_to([2], [{"a": 1, "b": 3}, {"w": 2}, {}, {}]) == {0, 1, 2}
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
