"""Running a job: on the engine that is named, or on the one that suits it."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.errors import Usage
from ..machine.schedule import resolve_schedule, schedule
from ..machine.state import check_seed
from ..outcome.outcome import Outcome
from .limits import check_until
from .protocol import Job, RunOptions
from .registry import find_engine, resolve_engine

MAX_CORES = 64
_PARALLEL_OPTIONS = {"engine": "fast", "schedule": "waves", "until": "quiet", "keep": None}
"""The only options with which a run may have several cores."""


def run(job: Job, arguments: Sequence[object], options: RunOptions, engine: str | None = None) -> Outcome:
    """Run a job; how it ends is data, the engine that ran it included.

    Raises Usage where the arguments do not fit, an option has no such value, or the engine does not support the job;
    and KeyboardInterrupt where the user pressed Ctrl-C and the outcome does not say so.
    """
    name, order = resolve_engine(engine), resolve_schedule(options.schedule)
    if order is not options.schedule:
        options = options._replace(schedule=order)
    check_until(options.until)
    check_seed(options.seed)
    schedule(options.schedule)
    if options.cores is not None:
        check_cores(name, options)
    chosen = find_engine(name)
    reason = chosen.unsupported(job, options)
    if reason is not None:
        other = "fast" if find_engine("fast").unsupported(job, options) is None else "reference"
        raise Usage(f"engine {name} cannot run this", got=reason, hint=f'engine="{other}" does, and so does "auto"')
    return chosen.run(job, arguments, options)


def check_cores(engine_name: str, options: RunOptions) -> None:
    """Raises Usage where the number of cores is none, or another option does not go with several cores."""
    cores = options.cores
    if not isinstance(cores, int) or isinstance(cores, bool) or not 1 <= cores <= MAX_CORES:
        raise Usage("a run is on some cores", required=f"an integer from 1 to {MAX_CORES}", got=repr(cores))
    actual = {"engine": engine_name, "schedule": options.schedule, "until": options.until, "keep": options.keep}
    for option, value in actual.items():
        if value != _PARALLEL_OPTIONS[option]:
            required = f"{option}={_PARALLEL_OPTIONS[option]!r}"
            raise Usage("a run cannot have several cores so", required=required, got=f"{option}={value!r}")
