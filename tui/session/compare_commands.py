"""Two runs compared: of other schedules, arguments, engines, or of an edited program; and where they differ first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...core.errors import Usage
from ...interp.engines.engine import named
from ...interp.queries.difference import Difference, first_difference
from ..load import split_target
from ..run_start import Start
from .arguments import Words
from .command import Group
from .describe import place_data, place_said
from .fast_forward import on_to
from .fork_commands import columns
from .reply import Said
from .run import Run
from .session import Session
from .state import Apart

comparing = Group("comparing")


@comparing.row(
    "compare",
    "NAME | --schedule S | --k K | --seed N | --args ARGS | --engine E | FILE[:NAME] [ARGS]",
    key="%",
    help="run both to their ends, and say where they differ first",
)
def compare(session: Session, words: Words) -> Said:
    run = session.run
    run.history.whole()
    other = _other(session, words)
    other.history.whole()
    places = [run.history.position, other.history.position]
    found = _compared(run, other)
    for each, place in zip((run, other), places, strict=True):
        each.history.jump(place)
    if found is None:
        session.change(apart=None, current=run.name)
        return Said([f"{run.name} and {other.name} do the same"], {"with": other.name, "differs": False})
    session.change(apart=Apart(run.name, other.name, _places(run, other, found)), current=run.name)
    lines = [f"first is {run.name}, second is {other.name}; `difference` goes there", *str(found).splitlines()]
    return Said(lines, {"with": other.name, "differs": True, **_data(found)})


def _other(session: Session, words: Words) -> Run:
    """The run to compare with, made where it is not there yet."""
    changed, engine, rest = words.run_options(), words.option("--engine"), words.rest()
    if engine is not None and named(engine) != "reference":
        raise Usage("the debugger steps the reference machine", required="reference", got=engine)
    if len(rest) == 1 and not changed and engine is None:
        known = session.situation.named(rest[0])
        if known is not None:
            return known
    run = session.run
    start = _start(run.start, rest, words.usage)
    if not changed and engine is None and not rest:
        raise Usage("nothing says with what to compare", required=words.usage)
    start = start.otherwise(**changed)
    ways = [*(f"{value}" if name == "schedule" else f"{name}-{value}" for name, value in changed.items()), engine]
    other = session.add(start.history(session.world), start, _name(run.name, "-".join(filter(None, ways)), rest))
    session.change(current=run.name)
    return other


def _name(name: str, way: str, rest: tuple[str, ...]) -> str:
    """What the other run is called: by its schedule, other options or engine, its arguments, or its file."""
    if way:
        return f"{name}-{Path(way).name}".replace(":", "-")
    if rest[0] == "--args":
        return f"{name}({','.join(rest[1:])})".replace(" ", "")[:40]
    return Path(split_target(rest[0])[0]).stem


def _start(start: Start | None, rest: tuple[str, ...], usage: str) -> Start:
    """How the other run begins: on other arguments, or from another file on the same ones."""
    if rest and rest[0] != "--args":
        if start is None:
            return Start(rest[0], rest[1:])
        return Start(rest[0], rest[1:] or start.words, start.options)
    if start is None:
        raise Usage("this run was made from no file", hint="compare FILE[:NAME] ARGS")
    return Start(start.target, rest[1:], start.options) if rest else start


def _compared(run: Run, other: Run) -> Difference | None:
    for each in (run, other):
        each.history.jump(len(each.history))
        on_to(each.history, lambda state, event: False)
    return first_difference(run.history.ask.index, other.history.ask.index)


def _places(run: Run, other: Run, found: Difference) -> tuple[int, int]:
    """Where each has done what differs; the end of one that does not do it."""
    firings = (found.first, found.second)
    ends = (len(run.history), len(other.history))
    one, two = (end if firing is None else firing.number + 1 for firing, end in zip(firings, ends, strict=True))
    return one, two


def _data(found: Difference) -> dict[str, Any]:
    firing = found.firing
    return {
        "kind": found.kind,
        "node": None if firing is None else str(firing.node),
        "tag": None if firing is None else str(firing.tag),
        "events": [None if side is None else side.number for side in (found.first, found.second)],
        "arguments": [str(changed) for changed in found.arguments],
    }


@comparing.row("difference", key="D", help="to where the runs that were compared differ first, in both")
def difference(session: Session, words: Words) -> Said:
    words.done()
    apart = session.situation.apart
    if apart is None:
        raise Usage("no two runs were compared that differ", hint="compare NAME")
    pair = (session.named(apart.first), session.named(apart.second))
    for run, position in zip(pair, apart.places, strict=True):
        run.reach(position)
    session.change(current=apart.first)
    one, two = (place_said(run.name, run.history) for run in pair)
    return Said(list(columns(one, two)), {"sides": [place_data(run.name, run.history) for run in pair]})
