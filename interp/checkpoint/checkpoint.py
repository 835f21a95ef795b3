"""`tl.Checkpoint`: saving and restoring the variables of some objects."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakSet

import numpy as np

from ...core.errors import Usage
from ...core.frontend.eager.variable import Variable
from ...core.frontend.trace.captures import Resource
from ...core.frontend.trace.source_location import user_location
from ...core.frontend.trace.trace import current_region
from ..function.bound_methods import BoundMethods
from .edges import can_hold_variables
from .file import CheckpointNode, read_checkpoint, write_checkpoint
from .objects import check_all_named, find_ancestors, find_objects, find_tensors, object_path
from .restore import Restoration, RestoreReport


class Checkpoint:
    """The variables reachable from some objects, through attributes, dict keys, and positions in lists and tuples.

    Raises Usage for an object that can hold no variable, such as a number.

    >>> import tagloom as tl, tempfile
    >>> model = {"w": tl.Variable([1.0, 2.0]), "b": tl.Variable(0.5)}
    >>> checkpoint = tl.Checkpoint(model=model)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint.save(f"{folder}/model.safetensors")
    ...     model["w"].assign([0.0, 0.0])
    ...     report = checkpoint.restore(f"{folder}/model.safetensors")
    >>> model["w"].value, report.restored
    (asarray([1., 2.], dtype=float64), ('model.b', 'model.w'))
    """

    def __init__(self, **objects: Any) -> None:
        self._objects = {name: each for name, each in objects.items() if not isinstance(each, BoundMethods)}
        for name, each in self._objects.items():
            if not can_hold_variables(each):
                raise Usage(
                    f"{name} can hold no variable",
                    where=user_location(),
                    required="a variable, or an object, dict or list that leads to some",
                    got=repr(each)[:80],
                    hint=f"write {name}=tl.Variable(...), and assign to it",
                )
        self._restoration: Restoration | None = None

    def __repr__(self) -> str:
        return f"<checkpoint of {', '.join(self._objects) or 'nothing'}>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the values of all variables to a file, atomically: if it is interrupted, the old file stays.

        Restored values without a variable yet are written too, in their places. Raises Usage if there are no variables,
        if one has no name, or if the file cannot be written.
        """
        check_not_tracing("saved")
        there = find_objects(self._objects, self._pending_parts())
        check_all_named(there)
        names = {number: object_path(there, number) for number, _ in find_tensors(there)}
        if not names:
            raise Usage("there are no variables to save", where=user_location(), hint="only what objects hold is found")
        held = {names[number]: np.asarray(each.value) for number, each in find_tensors(there)}
        leading = sorted(find_ancestors([0, *names], [each.edges for each in there]))
        kept = {number: position for position, number in enumerate(leading)}
        nodes = [
            CheckpointNode(
                {name: kept[target] for name, target in there[number].edges.items() if target in kept},
                names.get(number),
            )
            for number in kept
        ]
        write_checkpoint(path, nodes, held)

    def restore(self, path: str | os.PathLike[str]) -> RestoreReport:
        """Assign the values of a file to the variables, and report what did not match.

        Variables created later get their values when they are first used, or by `complete()`, as long as this
        checkpoint exists. Raises Usage or Malformed, and assigns nothing, if the file is no complete checkpoint.
        """
        check_not_tracing("restored")
        check_all_named(find_objects(self._objects))
        self._restoration = Restoration(self._objects, read_checkpoint(path))
        return self.complete()

    def complete(self) -> RestoreReport:
        """Assign the file's values to the variables created since `restore`, and report what has not matched so far.
        Raises Usage if nothing was restored."""
        check_not_tracing("restored")
        if self._restoration is None:
            raise Usage(
                "nothing was restored that could be completed", where=user_location(), hint="call restore(path) first"
            )
        return self._fill(self._restoration, lambda variable: True)

    def fill_new_variables(self) -> None:
        """Assign restored values to the variables that have not been used yet."""
        if self._restoration is not None:
            self._fill(self._restoration, lambda variable: variable._resource.is_new)

    def _pending_parts(self) -> Mapping[int, Mapping[str, object]]:
        """The restored values without a variable, by the object that is to lead to them."""
        if self._restoration is None:
            return {}
        self.fill_new_variables()
        return self._restoration.pending_parts()

    def _fill(self, restoration: Restoration, may: Callable[[Variable], bool]) -> RestoreReport:
        report = restoration.fill(may)
        if report.only_in_file:
            _incomplete_checkpoints.add(self)
        else:
            _incomplete_checkpoints.discard(self)
        return report


_incomplete_checkpoints: WeakSet[Checkpoint] = WeakSet()
"""The checkpoints with restored values for variables that did not exist."""


def _fill_all_new_variables() -> None:
    for checkpoint in list(_incomplete_checkpoints):
        checkpoint.fill_new_variables()


def check_not_tracing(what: str) -> None:
    """Raise Usage while tracing, because traced values are not known."""
    if current_region() is not None:
        raise Usage(
            f"a checkpoint is {what} by Python, and not by programs", where=user_location(), hint="do it outside"
        )


Resource.on_first_use = staticmethod(_fill_all_new_variables)
