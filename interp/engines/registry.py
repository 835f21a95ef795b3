"""The registry of engines: the engines of this package, and engines that other packages register as entry points; `run`
runs a job on one of them.

    [project.entry-points."tagloom.engines"]
    mine = "my_package:ENGINE"

An engine is imported on first use. A failed import is an error of that engine only.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from ...core.errors import Usage
from ...core.program.program import Program
from ...core.value import Value, abbreviate
from ..machine.schedule import FIXED_SCHEDULES, resolve_schedule, schedule
from ..machine.state import check_seed
from ..outcome.outcome import Outcome
from .compiled import engine as compiled_engine
from .protocol import Engine, Job, RunOptions, check_until

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "tagloom.engines"
"""The entry-point group of engines."""
ENGINE_VARIABLE = "TAGLOOM_ENGINE"
"""The environment variable that names the default engine."""
DEFAULT_ENGINE = "auto"
_BUILT_IN = {
    "auto": ".auto:ENGINE",
    "reference": ".reference:ENGINE",
    "fast": ".fast.engine:ENGINE",
    "compiled": ".compiled.engine:ENGINE",
    "cuda": ".cuda.engine:ENGINE",
    "distributed": ".distributed.engine:ENGINE",
}
"""The engines of this package: module and object, by name."""


@cache
def third_party_engines() -> dict[str, EntryPoint]:
    """The entry points of other packages, by name. The names of this package's engines cannot be overridden."""
    from importlib.metadata import entry_points  # here: most runs need no other engines, and this takes 40 ms

    return {point.name: point for point in entry_points(group=GROUP) if point.name not in _BUILT_IN}


def engine_names() -> tuple[str, ...]:
    """The names of all engines: ours first, then those of other packages in alphabetical order."""
    return (*_BUILT_IN, *sorted(third_party_engines()))


def resolve_engine(name: str | None) -> str:
    """The name of the engine to use; for None, the name in the environment variable, or else `auto`.

    Raises Usage for an unknown name.
    """
    resolved = name or os.environ.get(ENGINE_VARIABLE) or DEFAULT_ENGINE
    if resolved not in _BUILT_IN and resolved not in third_party_engines():
        source = "" if name else f" (set by {ENGINE_VARIABLE})"
        raise Usage(f"no engine is called {resolved!r}{source}", required=", ".join(engine_names()), python=KeyError)
    return resolved


@cache
def find_engine(name: str) -> Engine:
    """The engine of this name. Raises Usage if there is none, or if it cannot be loaded."""
    resolve_engine(name)
    if name in _BUILT_IN:
        module, _, attribute = _BUILT_IN[name].partition(":")
        engine: Engine = getattr(import_module(module, __package__), attribute)
        return engine
    point = third_party_engines()[name]
    try:
        engine = point.load()
    except Exception as error:
        raise unusable_error(point, f"it cannot be imported: {abbreviate(str(error))}") from error
    missing = [member for member in ("name", "unsupported", "run") if not hasattr(engine, member)]
    if missing:
        raise unusable_error(point, f"it has no {' and no '.join(missing)}")
    if engine.name != name:
        raise unusable_error(point, f"it calls itself {engine.name!r}")
    return engine


def unusable_error(point: EntryPoint, reason: str) -> Usage:
    """The error for an engine of another package that cannot be used."""
    package = f" of {point.dist.name}" if point.dist else ""
    return Usage(
        f"engine {point.name}{package} cannot be used",
        required="an object with name, unsupported and run (interp/engines/protocol.py)",
        got=f"{point.value}: {reason}",
    )


MAX_CORES = 64


def run(job: Job, arguments: Sequence[object], options: RunOptions, engine: str | None = None) -> Outcome:
    """Run a job; the outcome says how it ended, and on which engine.

    Raises Usage if the arguments do not fit, an option is invalid, or the engine does not support the job;
    KeyboardInterrupt if the user pressed Ctrl-C and the outcome does not say so.
    """
    name = resolve_engine(engine)
    if options.schedule not in FIXED_SCHEDULES:
        options = options._replace(schedule=resolve_schedule(options.schedule))
        schedule(options.schedule)
    check_until(options.until)
    check_seed(options.seed)
    engine_object = find_engine(name)
    if options.cores is not None:
        check_cores(engine_object, options)
    if options.has_worker_options and not getattr(engine_object, "has_workers", False):
        raise Usage("this engine has no workers", required="engine='distributed'", got=f"engine={name!r}")
    reason = engine_object.unsupported(job, options)
    if reason is not None:
        raise Usage(f"engine {name} cannot run this", got=reason, hint=f'engine="{DEFAULT_ENGINE}" runs every program')
    return engine_object.run(job, arguments, options)


def call_quickly(program: Program, arguments: Sequence[object]) -> tuple[Value, ...] | None:
    """The results of a program on the default engine with default options, without an outcome, which takes half of the
    time of a small run. None where `run` must run it: only machine code of `compiled` that is in memory, and returned
    quickly the last time, runs here. Raises KeyboardInterrupt at Ctrl-C."""
    if resolve_engine(None) not in ("auto", "compiled"):
        return None
    return compiled_engine.call_quickly(program, arguments)


def check_cores(engine: Engine, options: RunOptions) -> None:
    """Raises Usage for an invalid number of cores, and for options that several cores do not allow."""
    cores = options.cores
    if not isinstance(cores, int) or isinstance(cores, bool) or not 1 <= cores <= MAX_CORES:
        raise Usage("cores must be a positive integer", required=f"an integer from 1 to {MAX_CORES}", got=repr(cores))
    parallel_options = getattr(engine, "parallel_options", None)
    if parallel_options is None:
        parallel = [name for name in _BUILT_IN if hasattr(find_engine(name), "parallel_options")]
        required = " or ".join(f"engine={name!r}" for name in parallel)
        raise Usage("this engine runs on one core", required=required, got=f"engine={engine.name!r}")
    for option, required_value in parallel_options.items():
        if (value := getattr(options, option)) != required_value:
            required = f"{option}={required_value!r}"
            got = f"{option}={str(value) if isinstance(value, os.PathLike) else value!r}"
            raise Usage("this option does not allow several cores", required=required, got=got)


def is_reference_or_selector(engine: Engine) -> bool:
    """Whether an engine is the reference, or chooses among others: a caller may then run on the reference itself."""
    return engine is find_engine("reference") or getattr(engine, "is_selector", False)
