"""`tl.CheckpointManager`: a folder with the last few checkpoints of some objects."""

from __future__ import annotations

import operator
import os
import re
from pathlib import Path
from typing import SupportsIndex

from ...core.errors import Usage
from ...core.frontend.trace.source_location import user_location
from .checkpoint import Checkpoint
from .restore import RestoreReport

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
                "how many checkpoints are kept is a number", where=user_location(), required="1 or more", got=repr(keep)
            )
        self._checkpoint = checkpoint
        self._folder = Path(folder)
        self._keep = keep

    @property
    def paths(self) -> list[Path]:
        """The existing checkpoints, the latest last."""
        numbered = [
            (int(found[1]), path) for path in self._files() if (found := _FILE_NAME_PATTERN.fullmatch(path.name))
        ]
        return [path for _, path in sorted(numbered)]

    @property
    def latest(self) -> Path | None:
        """The checkpoint of the highest step, or None."""
        return next(reversed(self.paths), None)

    def save(self, step: SupportsIndex) -> Path:
        """Save the checkpoint of a step, an integer from 0 up, and delete the oldest ones. Raises Usage if there is one
        of a later step, which would stay the latest, and for the reasons of `Checkpoint.save`."""
        number, latest = operator.index(step), self.latest
        if number < 0:
            raise Usage("this is no step", where=user_location(), required="an integer from 0 up", got=number)
        path = self._folder / f"step-{number}.safetensors"
        if latest is not None and int(_FILE_NAME_PATTERN.fullmatch(latest.name)[1]) > number:  # type: ignore[index]
            raise Usage(
                "there is a checkpoint of a later step", where=user_location(), got=latest, hint="save elsewhere"
            )
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Usage(
                "this folder cannot be made", where=user_location(), got=self._folder, hint=error.strerror
            ) from None
        self._checkpoint.save(path)
        for old in self.paths[: -self._keep]:
            old.unlink(missing_ok=True)
        return path

    def restore_latest(self) -> RestoreReport | None:
        """Restore from the checkpoint of the highest step; None if there is none."""
        latest = self.latest
        return None if latest is None else self._checkpoint.restore(latest)

    def _files(self) -> list[Path]:
        return list(self._folder.iterdir()) if self._folder.is_dir() else []
