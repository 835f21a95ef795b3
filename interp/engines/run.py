"""Running a job on an engine."""

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
"""The only options that a run on several cores allows."""


def run(job: Job, arguments: Sequence[object], options: RunOptions, engine: str | None = None) -> Outcome:
    """Run a job; the outcome says how it ended, and on which engine.

    Raises Usage if the arguments do not fit, an option is invalid, or the engine does not support the job;
    KeyboardInterrupt if the user pressed Ctrl-C and the outcome does not say so.
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
    """Raises Usage for an invalid number of cores, and for options that several cores do not allow."""
    cores = options.cores
    if not isinstance(cores, int) or isinstance(cores, bool) or not 1 <= cores <= MAX_CORES:
        raise Usage("a run is on some cores", required=f"an integer from 1 to {MAX_CORES}", got=repr(cores))
    actual = {"engine": engine_name, "schedule": options.schedule, "until": options.until, "keep": options.keep}
    for option, value in actual.items():
        if value != _PARALLEL_OPTIONS[option]:
            required = f"{option}={_PARALLEL_OPTIONS[option]!r}"
            raise Usage("a run cannot have several cores so", required=required, got=f"{option}={value!r}")
