"""`tl.Checkpoint` saves and restores the variables of some objects; `tl.CheckpointManager` keeps the last few
checkpoints in a folder."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np

from ...core.errors import Usage
from ...core.files import path_errors, remove_stale_files
from ...core.frontend.eager.variable import Variable
from ...core.frontend.trace.captures import PENDING_RESTORES
from ...core.frontend.trace.program_builder import current_region
from ...core.frontend.trace.source_location import user_location
from ..function.function import BoundMethods
from .file import CheckpointNode, read_checkpoint, write_checkpoint
from .objects import can_hold_variables, check_all_named, find_ancestors, find_objects, find_tensors, object_path
from .restore import Restoration, RestoreReport


class Checkpoint:
    """The variables reachable from some objects, through attributes, dict keys, and positions in lists and tuples.

    Raises Usage for an object that cannot contain a variable, such as a number.

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
        self._objects = {name: target for name, target in objects.items() if not isinstance(target, BoundMethods)}
        for name, target in self._objects.items():
            if not can_hold_variables(target):
                raise Usage(
                    f"{name} cannot contain a variable",
                    where=user_location(),
                    required="a variable, or an object, dict or list that leads to some",
                    got=repr(target)[:80],
                    hint=f"write {name}=tl.Variable(...), and assign to it",
                    python=TypeError,
                )
        self._restoration: Restoration | None = None

    def __repr__(self) -> str:
        return f"<checkpoint of {', '.join(self._objects) or 'nothing'}>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the values of all variables to a file, atomically: if it is interrupted, the old file is unchanged.

        Restored values whose variables do not exist yet are written, too. Raises Usage if there are no variables, if
        one has no name, or if the file cannot be written.
        """
        check_not_tracing("saved")
        nodes = find_objects(self._objects, self._pending_parts())
        check_all_named(nodes)
        names = {number: object_path(nodes, number) for number, _ in find_tensors(nodes)}
        if not names:
            raise Usage(
                "there are no variables to save",
                where=user_location(),
                hint="only variables that objects hold are saved",
            )
        tensors = {names[number]: np.asarray(variable.value) for number, variable in find_tensors(nodes)}
        saved_numbers = sorted(find_ancestors([0, *names], [node.edges for node in nodes]))
        positions = {number: position for position, number in enumerate(saved_numbers)}
        file_nodes = [
            CheckpointNode(
                {name: positions[target] for name, target in nodes[number].edges.items() if target in positions},
                names.get(number),
            )
            for number in positions
        ]
        write_checkpoint(path, file_nodes, tensors)

    def restore(self, path: str | os.PathLike[str]) -> RestoreReport:
        """Assign the values of a file to the variables; the report says what did not match.

        Variables created later get their values when they are first used, or by `complete()`, as long as this
        checkpoint exists. Raises Usage or Malformed, and assigns nothing, if the file is not a complete checkpoint.
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
                "there is no restored checkpoint to complete", where=user_location(), hint="call restore(path) first"
            )
        return self._fill(self._restoration, lambda variable: True)

    def fill_new_variables(self) -> None:
        """Assign restored values to the variables that have not been used yet."""
        if self._restoration is not None:
            self._fill(self._restoration, lambda variable: variable._resource.is_new)

    def _pending_parts(self) -> Mapping[int, Mapping[str, object]]:
        """The restored values whose variables do not exist yet, by the identity of the object that should lead to
        them."""
        if self._restoration is None:
            return {}
        self.fill_new_variables()
        return self._restoration.pending_parts()

    def _fill(self, restoration: Restoration, is_allowed: Callable[[Variable], bool]) -> RestoreReport:
        report = restoration.fill(is_allowed)
        if report.only_in_file:
            PENDING_RESTORES.add(self)
        else:
            PENDING_RESTORES.discard(self)
        return report


def check_not_tracing(action: str) -> None:
    """Raise Usage while tracing, because traced values are not known."""
    if current_region() is not None:
        raise Usage(
            f"a checkpoint cannot be {action} in traced code",
            where=user_location(),
            hint="do it outside of the program",
        )


def check_step(step: SupportsIndex) -> int:
    """Return a number of steps as an int; raises Usage for anything but an integer from 0 up."""
    python: type[Exception] = ValueError
    try:
        number = operator.index(step)
    except TypeError:
        number, python = -1, TypeError
    if number < 0:
        message, required = "step must be a number of steps", "an integer from 0 up"
        raise Usage(message, where=user_location(), required=required, got=repr(step), python=python)
    return number


_FILE_NAME_PATTERN = re.compile(r"step-(0|[1-9][0-9]*)\.safetensors")


class CheckpointManager:
    """The last `keep` checkpoints of `checkpoint`, in a folder, as files `step-NUMBER.safetensors`.

    >>> import tagloom as tl, tempfile
    >>> step = tl.Variable(0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     manager = tl.CheckpointManager(tl.Checkpoint(step=step), folder, keep=2)
    ...     for _ in range(3):
    ...         step.assign_add(10)
    ...         path = manager.save(step)
    ...     step.assign(0)
    ...     report = manager.restore_latest()
    ...     int(step), [path.name for path in manager.paths]
    (30, ['step-20.safetensors', 'step-30.safetensors'])
    """

    def __init__(self, checkpoint: Checkpoint, folder: str | os.PathLike[str], *, keep: int = 3) -> None:
        if type(keep) is not int or keep < 1:
            raise Usage(
                "keep must be the number of checkpoints to keep",
                where=user_location(),
                required="1 or more",
                got=repr(keep),
                python=ValueError if type(keep) is int else TypeError,
            )
        self._checkpoint = checkpoint
        self._folder = Path(folder)
        self._keep = keep

    @property
    def paths(self) -> list[Path]:
        """The existing checkpoints, the latest last."""
        numbered = [
            (int(match[1]), path) for path in self._files() if (match := _FILE_NAME_PATTERN.fullmatch(path.name))
        ]
        return [path for _, path in sorted(numbered)]

    @property
    def latest(self) -> Path | None:
        """The checkpoint of the highest step, or None."""
        return next(reversed(self.paths), None)

    def save(self, step: SupportsIndex) -> Path:
        """Save the checkpoint of a step, an integer from 0 up, and delete the oldest ones, and leftovers of killed
        writers. Raises Usage if there is a checkpoint of a later step, and as `Checkpoint.save` does."""
        number, latest = check_step(step), self.latest
        path = self._folder / f"step-{number}.safetensors"
        if latest is not None and int(_FILE_NAME_PATTERN.fullmatch(latest.name)[1]) > number:  # type: ignore[index]
            raise Usage(
                "there is a checkpoint of a later step", where=user_location(), got=latest, hint="save elsewhere"
            )
        with path_errors(self._folder, "this folder cannot be created", user_location()):
            self._folder.mkdir(parents=True, exist_ok=True)
        self._checkpoint.save(path)
        remove_stale_files(self._folder)
        for old in self.paths[: -self._keep]:
            old.unlink(missing_ok=True)
        return path

    def restore_latest(self) -> RestoreReport | None:
        """Restore from the checkpoint of the highest step; None if there is none."""
        latest = self.latest
        return None if latest is None else self._checkpoint.restore(latest)

    def _files(self) -> list[Path]:
        with path_errors(self._folder, "this folder cannot be read", user_location()):
            return list(self._folder.iterdir()) if self._folder.is_dir() else []
