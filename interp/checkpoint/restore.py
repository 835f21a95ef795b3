"""Restoring: the objects of a program are matched with those of a file, and a report says what did not match.

The match is greedy, from the root along edges of the same name ("TensorFlow Eager", arXiv 1903.01855, section 4): a
matched object stays matched, whatever other edges lead to it. It depends only on names, and not on classes or on the
order in which objects were created.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ...core.errors import Usage, plural
from ...core.escape import escape_line
from ...core.frontend.eager.array import ConcreteArray
from ...core.frontend.eager.variable import Variable
from ...core.frontend.trace.source_location import user_location
from ...core.types import Type
from .file import CheckpointContents
from .objects import PendingTensor, find_ancestors, find_edges, find_objects, find_variables, object_path

MAX_LISTED = 20
"""The limit on the variables that each part of a report lists."""


class Mismatch(NamedTuple):
    """A variable whose type in the file differs, so that it keeps its value."""

    name: str
    file: Type
    program: Type

    def __str__(self) -> str:
        return f"{escape_line(self.name)}: {self.file} in the file, {self.program} in the program"


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """The result of a restore, by the paths of variables."""

    file: str
    restored: tuple[str, ...]
    only_in_file: tuple[str, ...]
    only_in_program: tuple[str, ...]
    mismatched: tuple[Mismatch, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every tensor of the file was assigned, and every variable of the program got a value."""
        return not (self.only_in_file or self.only_in_program or self.mismatched)

    def check(self) -> None:
        """Raise Usage if the file and the program did not match completely; the matched variables have been
        restored."""
        if not self.is_complete:
            hint = "the variables that match were restored; the others may differ on purpose"
            raise Usage("a checkpoint and a program differ", where=user_location(), got=str(self), hint=hint)

    def __str__(self) -> str:
        lines = [f"{plural(len(self.restored), 'variable')} restored from {escape_line(self.file)}"]
        for words, names in (
            ("only in the file", self.only_in_file),
            ("only in the program", self.only_in_program),
            ("of different types", self.mismatched),
        ):
            if names:
                lines.append(f"  {words}:")
                lines += [f"    {escape_line(str(name))}" for name in names[:MAX_LISTED]]
                lines += [f"    and {len(names) - MAX_LISTED:,} more"] * (len(names) > MAX_LISTED)
        return "\n".join(lines)


class Restoration:
    """The restoration of a file: its contents, and the variables that were assigned from it. Tensors are kept until all
    have been used."""

    def __init__(self, root: object, contents: CheckpointContents) -> None:
        self._root = root
        self._path, self._nodes = contents.path, contents.nodes
        self._tensors = dict(contents.tensors)
        self._assigned_tensors: dict[int, tuple[weakref.ref[Variable], str]] = {}
        """By the identity of a variable: the variable, and the name of the tensor that was assigned to it."""
        self._matched_tensors: set[str] = set()
        """The tensors that have matched a variable, whether it was assigned or of a different type, and even if it no
        longer exists."""
        self._pending_tensors: frozenset[str] = frozenset()
        """The tensors that matched no variable at the last `fill`."""

    def fill(self, is_allowed: Callable[[Variable], bool]) -> RestoreReport:
        """Assign their values in the file to all allowed variables that match and have not been assigned yet."""
        nodes, matches = find_objects(self._root), dict(self._match_tensors())
        restored, missing, mismatched, used_tensors = [], [], [], set()
        for number, variable in find_variables(nodes):
            name, assigned, tensor = (
                object_path(nodes, number),
                self._assigned_tensor(variable),
                matches.get(id(variable)),
            )
            if assigned is not None:
                used_tensors.add(assigned)
                restored.append(name)
            elif tensor is None or tensor not in self._tensors:
                missing.append(name)
            elif not (program_type := Type(variable.dtype, variable.shape)).admits(
                file_type := self._tensors[tensor].type
            ):
                used_tensors.add(tensor)
                mismatched.append(Mismatch(name, file_type, program_type))
            elif is_allowed(variable):
                used_tensors.add(tensor)
                restored.append(name)
                self._assign_tensor(variable, tensor)
        unused_tensors = tuple(
            node.tensor for node in self._nodes if node.tensor is not None and node.tensor not in used_tensors
        )
        self._matched_tensors |= used_tensors
        self._pending_tensors = frozenset(unused_tensors) - self._matched_tensors
        if not unused_tensors:
            self._tensors.clear()
        return RestoreReport(self._path, tuple(restored), unused_tensors, tuple(missing), tuple(mismatched))

    def pending_parts(self) -> dict[int, dict[str, object]]:
        """The parts of the file that matched no variable at the last `fill`: by the identity of each matched object,
        its missing parts by name, which are dicts and `PendingTensor`s."""
        pairs = self._match_objects()
        parts: dict[int, object] = {number: target for target, number in reversed(pairs)}
        pending = [number for number, node in enumerate(self._nodes) if node.tensor in self._pending_tensors]
        ancestors = find_ancestors(pending, [node.edges for node in self._nodes])
        unfinished: list[tuple[dict[str, object], int]] = []

        def build_part(number: int) -> object:
            tensor = self._nodes[number].tensor
            if number not in parts and tensor is not None:
                parts[number] = PendingTensor(ConcreteArray(self._tensors[tensor]))
            elif number not in parts:
                unfinished.append(({}, number))
                parts[number] = unfinished[-1][0]
            return parts[number]

        def missing_parts(number: int, names: Collection[str]) -> dict[str, object]:
            edges_of = self._nodes[number].edges.items()
            return {name: build_part(target) for name, target in edges_of if target in ancestors and name not in names}

        objects = ((target, number) for target, number in pairs if not isinstance(target, Variable))
        missing = {id(target): missing_parts(number, find_edges(target).by_name) for target, number in objects}
        for part, number in unfinished:  # a worklist: the loop appends to it
            part.update(missing_parts(number, ()))
        return missing

    def _match_tensors(self) -> Iterator[tuple[int, str]]:
        """The identities of the matched variables, with the names of their tensors."""
        for target, number in self._match_objects():
            tensor = self._nodes[number].tensor
            if isinstance(target, Variable) and tensor is not None:
                yield id(target), tensor

    def _match_objects(self) -> list[tuple[object, int]]:
        """The objects of the program, with the numbers of the matching objects of the file, nearest first."""
        pairs, matched = [(self._root, 0)], {id(self._root)}
        for target, number in pairs:  # a worklist: the loop appends to it
            node = self._nodes[number]
            for name, part in find_edges(target).by_name.items():
                if name in node.edges and id(part) not in matched:
                    matched.add(id(part))
                    pairs.append((part, node.edges[name]))
        return pairs

    def _assigned_tensor(self, variable: Variable) -> str | None:
        assignment = self._assigned_tensors.get(id(variable))
        return assignment[1] if assignment is not None and assignment[0]() is variable else None

    def _assign_tensor(self, variable: Variable, tensor: str) -> None:
        self._assigned_tensors[id(variable)] = weakref.ref(variable), tensor
        variable._resource.is_new = False
        variable.assign(ConcreteArray(self._tensors[tensor]))
