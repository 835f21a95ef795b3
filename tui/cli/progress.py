"""Progress of a training: a bar on stderr, and metrics in a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sized
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ...core.errors import Usage
from ...core.frontend.trace.source_location import user_location
from ...interp.training.metrics import append_metrics

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

T = TypeVar("T")


class progress(Generic[T]):  # noqa: N801 - a lowercase name, as that of range
    """Iterates over the steps of a training, with a bar on stderr that shows the progress and the remaining time.

    `run.log(loss=...)` shows metrics beside the bar, and, if there is a file `log`, appends them to it as a line of
    JSON with the number of the step: the step itself, if steps are integers, else its index. Without a terminal there
    is no bar; NO_COLOR is honoured.

    >>> import tagloom as tl, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = tl.progress(range(3), log=f"{folder}/run.jsonl")
    ...     for step in run:
    ...         run.log(loss=1.0 / (step + 1))
    ...     print(Path(folder, "run.jsonl").read_text().splitlines()[1])
    {"step": 1, "loss": 0.5}
    """

    def __init__(
        self, steps: Iterable[T], /, *, log: str | os.PathLike[str] | None = None, name: str = "training"
    ) -> None:
        self._steps, self._path, self._name = steps, log, name
        self._step: int | None = None
        self._metrics_text = ""

    def __iter__(self) -> Iterator[T]:
        total = len(self._steps) if isinstance(self._steps, Sized) else None
        with progress_bar() as bar:
            task = None if bar is None else bar.add_task(self._name, total=total, metrics="")
            for index, step in enumerate(self._steps):
                self._step = int(step) if isinstance(step, int) else index
                yield step
                if bar is not None and task is not None:
                    bar.update(task, advance=1, metrics=self._metrics_text)
        self._step = None

    def log(self, **metrics: Any) -> None:
        """Log numbers of this step. Raises Usage if they are not numbers, or if no step is running."""
        if self._step is None:
            raise Usage(
                "metrics can be logged only during a step",
                where=user_location(),
                hint="for step in run: ... run.log(loss=loss)",
            )
        if self._path is not None:
            append_metrics(self._path, self._step, metrics)
        self._metrics_text = "  ".join(f"{name} {float(value):.4g}" for name, value in metrics.items())


def progress_bar() -> Bar | nullcontext[None]:
    """A bar, if stderr is a terminal that can move its cursor."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return nullcontext()
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, TextColumn("{task.fields[metrics]}"), console=Console(stderr=True))
