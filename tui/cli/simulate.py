"""`tagloom simulate`: how long steps of a training with parameter servers take on clusters of any size, in virtual
time."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ...core.errors import Usage
from ...interp.training.parameter_servers.virtual_time import STEP_KINDS, step_times
from .terminal import print_text

SERVERS = 16
WORKERS, BACKUP_STEP_WORKERS = "1,10,25,50,100,1000,10000", "50"
BACKUPS = "0,1,2,3,4,5,6"
"""The defaults: the figures of the paper, and beyond."""
HEADINGS = ("workers", "backup", "median", "mean", "10 %", "90 %", "gain", "published")
_WIDTH = 10


def simulate(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="The kind of step: null, dense-100MB, dense-1GB, sparse or backup.")
    ] = "null",
    workers: Annotated[
        str | None, typer.Option(metavar="N,N,...", help="Numbers of workers.", show_default=False)
    ] = None,
    servers: Annotated[int, typer.Option(help="The number of servers.")] = SERVERS,
    backups: Annotated[
        str | None,
        typer.Option(
            "--backup", metavar="N,N,...", help="Numbers of backup workers, beside those whose gradients a step takes."
        ),
    ] = None,
    size: Annotated[float | None, typer.Option("--bytes", help="How many bytes a worker fetches.")] = None,
    work: Annotated[float | None, typer.Option(help="How many milliseconds a worker computes.")] = None,
    straggling: Annotated[
        str | None,
        typer.Option(
            help="How the work varies: none, lognormal:SIGMA, exponential:MEAN, pareto:ALPHA, slow:PROBABILITY:MEAN, "
            "or several joined by +."
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="How many steps to draw; by default from 9 to 200, depending on their size.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of the random numbers.")] = 0,
) -> None:
    """Simulate training steps in virtual time.

    The training has parameter servers. A step ends when all workers have fetched values, computed, and pushed a
    gradient; with backup workers, when enough have. The parameters of each kind are fitted to the figures of the
    TensorFlow paper (OSDI 2016), which are printed beside those of the model. `gain` says how much faster a step is
    than in the first row, per worker, backup workers included.
    """
    if kind not in STEP_KINDS:
        raise Usage(f"no kind of step is called {kind!r}", required=", ".join(STEP_KINDS))
    for name, number, least in (("--bytes", size, 0), ("--work", work, 0), ("--steps", steps, 1), ("--seed", seed, 0)):
        if number is not None and not least <= number < math.inf:
            raise Usage(f"{name} is out of range", required=f"from {least} up", got=number)
    has_backups = kind == "backup"
    options = {"size": size, "work": work, "straggling": straggling}
    changes: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    step_kind = STEP_KINDS[kind]._replace(**changes)
    if changes or servers != SERVERS:
        step_kind = step_kind._replace(published={})
    worker_counts = read_counts("--workers", workers or (BACKUP_STEP_WORKERS if has_backups else WORKERS), 1)
    backup_counts = read_counts("--backup", backups or (BACKUPS if has_backups else "0"), 0)
    has_heading = False
    for worker_count in worker_counts:
        first_mean: float | None = None
        for backup_count in backup_counts:
            times = step_times(step_kind, worker_count, servers, backup_count, steps, seed)
            mean = statistics.mean(times)
            gain = None if first_mean is None else first_mean / mean * worker_count / (worker_count + backup_count) - 1
            first_mean = mean if first_mean is None else first_mean
            published = step_kind.published.get(backup_count if has_backups else worker_count)
            if not has_heading:
                has_heading = True
                print_text(f"{kind}: milliseconds of a step, with {servers:,} server{'s' * (servers != 1)}")
                print_text(table_row(HEADINGS))
            print_text(table_row(row_cells(worker_count, backup_count, times, gain, published)), flush=True)


def table_row(cells: Sequence[str]) -> str:
    """A row of the table."""
    return "".join(f"{cell:>{_WIDTH}}" for cell in cells).rstrip()


def row_cells(
    workers: int, backups: int, times: Sequence[float], gain: float | None, published: float | None
) -> list[str]:
    """The cells of a row.

    >>> row_cells(50, 2, [1.0, 2.0, 3.0], 0.09, None)
    ['50', '2', '2.00', '2.00', '1.20', '2.80', '9.0 %', '']
    """
    deciles = statistics.quantiles(times, n=10, method="inclusive") if len(times) > 1 else list(times) * 9
    numbers = statistics.median(times), statistics.mean(times), deciles[0], deciles[8]
    return [
        f"{workers:,}",
        f"{backups:,}",
        *map(format_time, numbers),
        "" if gain is None else f"{100 * gain:.1f} %",
        "" if published is None else format_time(published),
    ]


def format_time(time: float) -> str:
    """A time with three digits at least.

    >>> format_time(1.7561), format_time(748.7), format_time(64204.3)
    ('1.76', '749', '64,204')
    """
    return f"{time:,.{2 if time < 10 else 1 if time < 100 else 0}f}"


def read_counts(option: str, text: str, least: int) -> Sequence[int]:
    """The numbers of an option, separated by commas; raises Usage for anything else."""
    words = text.split(",")
    if not all(word.strip().isascii() and word.strip().isdigit() and len(word) <= 9 for word in words):
        raise Usage(f"{option} takes integers separated by commas", required="as in 1,10,100", got=text[:80])
    counts = [int(word) for word in words]
    if min(counts) < least:
        raise Usage(f"{option} is out of range", required=f"from {least} up", got=min(counts))
    return counts
