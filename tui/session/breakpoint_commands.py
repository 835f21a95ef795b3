"""Breakpoints and logpoints: set, listed, changed."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from ...core.errors import Malformed, Usage, counted
from .arguments import Words, number
from .breakpoints import Point, compiled
from .command import Group
from .reply import Said
from .session import Session

stopping = Group("stopping")
_IGNORE = re.compile(r"(.*\S)\s+ignore\s+(\S+)", re.DOTALL)
_LOG = re.compile(r'(.*\S)\s+"([^"]*)"', re.DOTALL)


def _set(session: Session, condition: str, ignore: int = 0, log: str | None = None) -> Said:
    """Set one, if it means something for the current run."""
    compiled(Point(0, condition, ignore, log), session.history.graph)
    point = session.add_point(condition, ignore, log)
    return Said([f"breakpoint {point}"], {"breakpoint": _data(point)})


def _data(point: Point) -> dict[str, Any]:
    names = ("number", "condition", "ignore", "log", "enabled")
    return {name: getattr(point, name) for name in names}


@stopping.row("break", "CONDITION [ignore N]", key="b", help="stop where a condition holds, after N hits")
def break_(session: Session, words: Words) -> Said:
    text = words.text
    if not text:
        words.next("a condition")
    ignoring = _IGNORE.fullmatch(text)
    condition, times = (ignoring[1], number(ignoring[2], 0, words.usage)) if ignoring else (text, 0)
    return _set(session, condition, times)


@stopping.row("log", 'CONDITION "TEXT"', key="L", help="say a text, with {expressions}, where a condition holds")
def log(session: Session, words: Words) -> Said:
    found = _LOG.fullmatch(words.text)
    if found is None:
        example = "log node == 'add' and fired \"{tag}: {inputs[0]}\""
        raise Malformed(
            "this is no log point", required=words.usage, got=words.text[:80] or None, hint=f"as in {example}"
        )
    return _set(session, found[1], 0, found[2])


def _number(words: Words) -> int:
    """The number of a breakpoint, as the only word."""
    wanted = words.number("the number of a breakpoint", 1)
    words.done()
    return wanted


def _replaced(session: Session, wanted: int, **changed: Any) -> Said:
    point = _point(session, wanted)
    made = replace(point, **changed)
    session.change(points=tuple(made if each is point else each for each in session.situation.points))
    return Said([f"breakpoint {made}"], {"breakpoint": _data(made)})


def _point(session: Session, wanted: int) -> Point:
    points = session.situation.points
    found = next((point for point in points if point.number == wanted), None)
    if found is None:
        there = ", ".join(str(point.number) for point in points)
        raise Usage(f"there is no breakpoint {wanted}", required=f"one of {there}" if there else None)
    return found


@stopping.row("ignore", "N HITS", key=",i", help="let breakpoint N pass over so many hits")
def ignore(session: Session, words: Words) -> Said:
    wanted, hits = words.number("the number of a breakpoint", 1), words.number("HITS")
    words.done()
    return _replaced(session, wanted, ignore=hits)


@stopping.row("enable", "N", key=",e", help="let breakpoint N look at events again", reverse="disable")
def enable(session: Session, words: Words) -> Said:
    return _replaced(session, _number(words), enabled=True)


@stopping.row("disable", "N", key=",d", help="let breakpoint N look at nothing", reverse="enable")
def disable(session: Session, words: Words) -> Said:
    return _replaced(session, _number(words), enabled=False)


@stopping.row("delete", "[N]", key=",D", help="take breakpoint N away; without N, all")
def delete(session: Session, words: Words) -> Said:
    if not words:
        session.change(points=())
        return Said(["there are no breakpoints"])
    point = _point(session, _number(words))
    session.change(points=tuple(each for each in session.situation.points if each is not point))
    return Said([f"deleted {point}"], {"breakpoint": _data(point)})


@stopping.row("breaks", key="B", help="the breakpoints, with how often each was hit up to here")
def breaks(session: Session, words: Words) -> Said:
    words.done()
    lines, rows = list[str](), list[dict[str, Any]]()
    points, run = session.situation.points, session.run
    for point in points:
        found = run.stops.hits(points, point.number, run.history)
        hits, since = found or (None, 0)
        said = f"means nothing in {run.name}" if hits is None else counted(hits, "hit")
        begins = f" since event {since:,}" if since else ""
        lines.append(f"  {point}: {said}{begins}")
        rows.append({**_data(point), "hits": hits})
    return Said(lines or ["there are no breakpoints"], {"breakpoints": rows})
