"""Restoring: which variable gets what a file has, and what did not match.

The match is greedy, from the root along edges of the same name ("TensorFlow Eager", arXiv 1903.01855, section 4): an
object that was matched stays so, whatever other edges lead to it. It depends on nothing but names: no class, and no
order in which things were made.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ...core.errors import Usage, counted
from ...core.frontend.eager.array import Concrete
from ...core.frontend.eager.variable import Variable
from ...core.frontend.trace.source_location import here
from ...core.types import Type
from .edges import Left, edges
from .file import Saved
from .objects import found, leading_to, name_of, variables

MOST_SAID = 20
"""How many variables of a kind a report shows."""


class Mismatch(NamedTuple):
    """A variable that a file has with another type. It keeps its value."""

    name: str
    file: Type
    program: Type

    def __str__(self) -> str:
        return f"{self.name}: {self.file} in the file, {self.program} in the program"


@dataclass(frozen=True, slots=True)
class Report:
    """What a checkpoint gave to which variables, by their paths."""

    file: str
    restored: tuple[str, ...]
    only_in_file: tuple[str, ...]
    only_in_program: tuple[str, ...]
    mismatched: tuple[Mismatch, ...]

    @property
    def is_complete(self) -> bool:
        """Whether all that the file has was given, and all that the program has got something."""
        return not (self.only_in_file or self.only_in_program or self.mismatched)

    def check(self) -> None:
        """Raises Usage where the file and the program did not match entirely; what did has been restored."""
        if not self.is_complete:
            hint = "what matches was restored; what only one of them has may be meant so"
            raise Usage("a checkpoint and a program differ", where=here(), got=str(self), hint=hint)

    def __str__(self) -> str:
        lines = [f"{counted(len(self.restored), 'variable')} restored from {self.file}"]
        for words, names in (
            ("only in the file", self.only_in_file),
            ("only in the program", self.only_in_program),
            ("of different types", self.mismatched),
        ):
            if names:
                lines.append(f"  {words}:")
                lines += [f"    {name}" for name in names[:MOST_SAID]]
                lines += [f"    and {len(names) - MOST_SAID:,} more"] * (len(names) > MOST_SAID)
        return "\n".join(lines)


class Restoration:
    """A file that was read, and the variables that have got something of it.

    Its tensors are kept until each of them has been given."""

    def __init__(self, root: object, saved: Saved) -> None:
        self._root = root
        self._path, self._nodes = saved.path, saved.nodes
        self._tensors = dict(saved.tensors)
        self._given: dict[int, tuple[weakref.ref[Variable], str]] = {}
        """By the identity of the variable: it, and the name of the tensor that it got."""
        self._met: set[str] = set()
        """The tensors that a variable has met, though it may be gone since: it got them, or was of another type."""
        self._left: frozenset[str] = frozenset()
        """Those that none had at the last `fill`."""

    def fill(self, may: Callable[[Variable], bool]) -> Report:
        """Give every variable that matches what the file has for it, if it has got nothing yet, and may."""
        there, matches = found(self._root), dict(self._matches())
        restored, missing, mismatched, taken = [], [], [], set()
        for number, variable in variables(there):
            name, given, tensor = name_of(there, number), self._given_to(variable), matches.get(id(variable))
            if given is not None:
                taken.add(given)
                restored.append(name)
            elif tensor is None or tensor not in self._tensors:
                missing.append(name)
            elif not (want := Type(variable.dtype, variable.shape)).admits(have := self._tensors[tensor].type):
                taken.add(tensor)
                mismatched.append(Mismatch(name, have, want))
            elif may(variable):
                taken.add(tensor)
                restored.append(name)
                self._give(variable, tensor)
        left = tuple(node.tensor for node in self._nodes if node.tensor is not None and node.tensor not in taken)
        self._met |= taken
        self._left = frozenset(left) - self._met
        if not left:
            self._tensors.clear()
        return Report(self._path, tuple(restored), left, tuple(missing), tuple(mismatched))

    def left(self) -> dict[int, dict[str, object]]:
        """What the file has and no variable had met at the last `fill`: for each object that matches one of the file,
        by its identity, what is to be under names that it does not have. Its parts are dicts, and `Left`s."""
        pairs = self._pairs()
        parts: dict[int, object] = {number: each for each, number in reversed(pairs)}
        lost = [number for number, node in enumerate(self._nodes) if node.tensor in self._left]
        leading = leading_to(lost, [node.edges for node in self._nodes])
        made: list[tuple[dict[str, object], int]] = []

        def part(number: int) -> object:
            tensor = self._nodes[number].tensor
            if number not in parts and tensor is not None:
                parts[number] = Left(Concrete(self._tensors[tensor]))
            elif number not in parts:
                made.append(({}, number))
                parts[number] = made[-1][0]
            return parts[number]

        def others(number: int, there: Collection[str]) -> dict[str, object]:
            edges_of = self._nodes[number].edges.items()
            return {name: part(target) for name, target in edges_of if target in leading and name not in there}

        objects = ((each, number) for each, number in pairs if not isinstance(each, Variable))
        lacking = {id(each): others(number, edges(each).named) for each, number in objects}
        for holder, number in made:  # grows while it is walked
            holder.update(others(number, ()))
        return lacking

    def _matches(self) -> Iterator[tuple[int, str]]:
        """The identities of variables, with the names of the tensors that they match."""
        for each, number in self._pairs():
            tensor = self._nodes[number].tensor
            if isinstance(each, Variable) and tensor is not None:
                yield id(each), tensor

    def _pairs(self) -> list[tuple[object, int]]:
        """The objects of the program, with the numbers of those of the file that they match, nearest first."""
        pairs, known = [(self._root, 0)], {id(self._root)}
        for each, number in pairs:  # grows while it is walked
            node = self._nodes[number]
            for name, part in edges(each).named.items():
                if name in node.edges and id(part) not in known:
                    known.add(id(part))
                    pairs.append((part, node.edges[name]))
        return pairs

    def _given_to(self, variable: Variable) -> str | None:
        given = self._given.get(id(variable))
        return given[1] if given is not None and given[0]() is variable else None

    def _give(self, variable: Variable, tensor: str) -> None:
        self._given[id(variable)] = weakref.ref(variable), tensor
        variable._resource.is_new = False
        variable.assign(Concrete(self._tensors[tensor]))
