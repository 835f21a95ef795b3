"""The start of the run that `FILE[:NAME] ARGS` names, as a history, for the command line and for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.errors import Usage
from ..core.world import World
from ..deprecation import renamed_attributes
from ..interp.engines.limits import Limits
from ..interp.engines.protocol import RunOptions
from ..interp.function.function import Function, history_of_arguments
from ..interp.history.history import History
from ..interp.machine.schedule import Script
from ..interp.records.event_sink import is_log
from .load import Runnable, check_rules, find_program, parse_arguments, program_and_graph


@dataclass(frozen=True, slots=True)
class StartOptions:
    """The options of a run, as in `run_graph`."""

    schedule: str | Script = "waves"
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    k: int | None = None
    unchecked: bool = False
    whole: bool = False
    """Whether every event is stepped and recorded, so that the fast machine never skips ahead."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A request to run `FILE[:NAME]`: its name, the arguments as words, and the options."""

    target: str
    words: tuple[str, ...] = ()
    options: StartOptions = field(default_factory=StartOptions)

    def history(self, world: World) -> History:
        """The run at its beginning; for a log of events, the run at its end. The file is read again each time.

        Raises Usage, Malformed and Invalid if there is no such program, or it cannot be run.
        """
        if is_log(self.target):
            if self.words:
                raise Usage("a log already has its arguments", got=" ".join(self.words))
            return History.load(self.target, world=world)
        return begin_history(find_program(self.target), self.words, self.options, world)

    def with_options(self, **changed: Any) -> RunRequest:
        """The same request with another schedule, or other options."""
        return replace(self, options=replace(self.options, **changed))


def begin_history(subject: Runnable, words: Sequence[str], options: StartOptions, world: World) -> History:
    """The beginning of a run of a loaded program; raises Usage, Malformed and Invalid if it cannot be run."""
    check_rules(subject, unchecked=options.unchecked)
    values = parse_arguments(subject, words)
    settings: dict[str, Any] = {
        "schedule": options.schedule,
        "limits": options.limits,
        "seed": options.seed,
        "k": options.k,
        "world": world,
    }
    if isinstance(subject, Function):
        program_and_graph(subject, values)
        return history_of_arguments(subject, subject.source.unflatten_arguments(values), RunOptions(**settings))
    return History(program_and_graph(subject)[1], values, unchecked=options.unchecked, **settings)


def load_run(
    target: str,
    *words: str,
    schedule: str | Script = "waves",
    limits: Limits | None = None,
    seed: int = 0,
    k: int | None = None,
    unchecked: bool = False,
    world: World | None = None,
) -> History:
    """The run that `tagloom run TARGET WORDS` executes, at its beginning; for a log (`.jsonl`, `.npz`), at its end.

    `target` is `FILE[:NAME]`; a Python file is executed. Arguments are words in the text form: `"3"`, `"[1, 2]"`.
    Raises Usage, Malformed or Invalid if there is no such program, or it cannot be run.
    """
    options = StartOptions(schedule, Limits() if limits is None else limits, seed, k, unchecked)
    return RunRequest(target, words, options).history(world or World())


__getattr__ = renamed_attributes(__name__, Start="RunRequest")
