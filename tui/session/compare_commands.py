"""Commands that compare two runs, with other schedules, arguments or engines, or of an edited program, and show where
they first differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...core.errors import Usage
from ...interp.engines.registry import resolve_engine
from ...interp.queries.difference import Difference, first_difference
from ..load import split_target
from ..run_start import Start
from .arguments import CommandArguments
from .command import CommandGroup
from .describe import describe_position, position_data
from .fast_forward import run_until
from .fork_commands import columns
from .reply import CommandResult
from .run import SessionRun
from .session import Session
from .state import RunDifference

comparison_commands = CommandGroup[Session]("comparing")


@comparison_commands.register(
    "compare",
    "NAME | --schedule S | --k K | --seed N | --args ARGS | --engine E | FILE[:NAME] [ARGS]",
    key="%",
    help="run both to their ends, and say where they differ first",
)
def compare(session: Session, words: CommandArguments) -> CommandResult:
    run = session.run
    run.history.all_events()
    other = _resolve_other_run(session, words)
    other.history.all_events()
    places = [run.history.position, other.history.position]
    found = _find_difference(run, other)
    for each, place in zip((run, other), places, strict=True):
        each.history.jump(place)
    if found is None:
        session.update_state(difference=None, current=run.name)
        return CommandResult([f"{run.name} and {other.name} do the same"], {"with": other.name, "differs": False})
    session.update_state(
        difference=RunDifference(run.name, other.name, _difference_positions(run, other, found)), current=run.name
    )
    lines = [f"first is {run.name}, second is {other.name}; `difference` goes there", *str(found).splitlines()]
    return CommandResult(lines, {"with": other.name, "differs": True, **_difference_data(found)})


def _resolve_other_run(session: Session, words: CommandArguments) -> SessionRun:
    """The run to compare with, started if it does not exist yet."""
    changed, engine, rest = words.take_run_options(), words.take_option("--engine"), words.remaining_words()
    if engine is not None and resolve_engine(engine) != "reference":
        raise Usage("the debugger steps the reference machine", required="reference", got=engine)
    if len(rest) == 1 and not changed and engine is None:
        known = session.snapshot.find_run(rest[0])
        if known is not None:
            return known
    run = session.run
    start = _other_start(run.start, rest, words.usage)
    if not changed and engine is None and not rest:
        raise Usage("nothing says with what to compare", required=words.usage)
    start = start.with_options(**changed)
    ways = [*(f"{value}" if name == "schedule" else f"{name}-{value}" for name, value in changed.items()), engine]
    other = session.add_run(
        start.history(session.world), start, _other_name(run.name, "-".join(filter(None, ways)), rest)
    )
    session.update_state(current=run.name)
    return other


def _other_name(name: str, way: str, rest: tuple[str, ...]) -> str:
    """The name of the other run: its schedule, other options, engine, arguments, or file."""
    if way:
        return f"{name}-{Path(way).name}".replace(":", "-")
    if rest[0] == "--args":
        return f"{name}({','.join(rest[1:])})".replace(" ", "")[:40]
    return Path(split_target(rest[0])[0]).stem


def _other_start(start: Start | None, rest: tuple[str, ...], usage: str) -> Start:
    """The start of the other run: with other arguments, or from another file with the same ones."""
    if rest and rest[0] != "--args":
        if start is None:
            return Start(rest[0], rest[1:])
        return Start(rest[0], rest[1:] or start.words, start.options)
    if start is None:
        raise Usage("this run was made from no file", hint="compare FILE[:NAME] ARGS")
    return Start(start.target, rest[1:], start.options) if rest else start


def _find_difference(run: SessionRun, other: SessionRun) -> Difference | None:
    for each in (run, other):
        each.history.jump(len(each.history))
        run_until(each.history, lambda state, event: False)
    return first_difference(run.history.ask.index, other.history.ask.index)


def _difference_positions(run: SessionRun, other: SessionRun, found: Difference) -> tuple[int, int]:
    """The positions right after the firings that differ; the end for a run without one."""
    firings = (found.first, found.second)
    ends = (len(run.history), len(other.history))
    one, two = (end if firing is None else firing.number + 1 for firing, end in zip(firings, ends, strict=True))
    return one, two


def _difference_data(found: Difference) -> dict[str, Any]:
    firing = found.firing
    return {
        "kind": found.kind,
        "node": None if firing is None else str(firing.node),
        "tag": None if firing is None else str(firing.tag),
        "events": [None if side is None else side.number for side in (found.first, found.second)],
        "arguments": [str(changed) for changed in found.arguments],
    }


@comparison_commands.register("difference", key="D", help="to where the runs that were compared differ first, in both")
def difference(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    apart = session.snapshot.difference
    if apart is None:
        raise Usage("no two runs were compared that differ", hint="compare NAME")
    pair = (session.find_run(apart.first), session.find_run(apart.second))
    for run, position in zip(pair, apart.positions, strict=True):
        run.goto(position)
    session.update_state(current=apart.first)
    one, two = (describe_position(run.name, run.history) for run in pair)
    return CommandResult(list(columns(one, two)), {"sides": [position_data(run.name, run.history) for run in pair]})
