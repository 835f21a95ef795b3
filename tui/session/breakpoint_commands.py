"""Commands that set, list and change breakpoints and logpoints."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from ...core.errors import Malformed, Usage, plural
from .arguments import CommandArguments, parse_number
from .breakpoints import BreakpointSpec, compile_breakpoint
from .command import CommandGroup
from .reply import CommandResult
from .session import Session

breakpoint_commands = CommandGroup[Session]("stopping")
_IGNORE_PATTERN = re.compile(r"(.*\S)\s+ignore\s+(\S+)", re.DOTALL)
_LOG_PATTERN = re.compile(r'(.*\S)\s+"([^"]*)"', re.DOTALL)


def _set_breakpoint(session: Session, condition: str, ignore: int = 0, log: str | None = None) -> CommandResult:
    """Set a breakpoint, if it compiles for the current run."""
    compile_breakpoint(BreakpointSpec(0, condition, ignore, log), session.history.graph)
    point = session.add_breakpoint(condition, ignore, log)
    return CommandResult([f"breakpoint {point}"], {"breakpoint": _breakpoint_data(point)})


def _breakpoint_data(point: BreakpointSpec) -> dict[str, Any]:
    names = ("number", "condition", "ignore", "log", "enabled")
    return {name: getattr(point, name) for name in names}


@breakpoint_commands.register(
    "break", "CONDITION [ignore N]", key="b", help="stop where a condition holds, after N hits"
)
def break_command(session: Session, words: CommandArguments) -> CommandResult:
    text = words.text
    if not text:
        words.next_word("a condition")
    ignoring = _IGNORE_PATTERN.fullmatch(text)
    condition, times = (ignoring[1], parse_number(ignoring[2], 0, words.usage)) if ignoring else (text, 0)
    return _set_breakpoint(session, condition, times)


@breakpoint_commands.register(
    "log", 'CONDITION "TEXT"', key="L", help="say a text, with {expressions}, where a condition holds"
)
def log(session: Session, words: CommandArguments) -> CommandResult:
    found = _LOG_PATTERN.fullmatch(words.text)
    if found is None:
        example = "log node == 'add' and fired \"{tag}: {inputs[0]}\""
        raise Malformed(
            "this is no log point", required=words.usage, got=words.text[:80] or None, hint=f"as in {example}"
        )
    return _set_breakpoint(session, found[1], 0, found[2])


def _parse_breakpoint_number(words: CommandArguments) -> int:
    """The number of a breakpoint, from the only word."""
    wanted = words.next_number("the number of a breakpoint", 1)
    words.expect_end()
    return wanted


def _replace_breakpoint(session: Session, wanted: int, **changed: Any) -> CommandResult:
    point = _find_breakpoint(session, wanted)
    made = replace(point, **changed)
    session.update_state(breakpoints=tuple(made if each is point else each for each in session.snapshot.breakpoints))
    return CommandResult([f"breakpoint {made}"], {"breakpoint": _breakpoint_data(made)})


def _find_breakpoint(session: Session, wanted: int) -> BreakpointSpec:
    points = session.snapshot.breakpoints
    found = next((point for point in points if point.number == wanted), None)
    if found is None:
        there = ", ".join(str(point.number) for point in points)
        raise Usage(f"there is no breakpoint {wanted}", required=f"one of {there}" if there else None)
    return found


@breakpoint_commands.register("ignore", "N HITS", key=",i", help="let breakpoint N pass over so many hits")
def ignore(session: Session, words: CommandArguments) -> CommandResult:
    wanted, hits = words.next_number("the number of a breakpoint", 1), words.next_number("HITS")
    words.expect_end()
    return _replace_breakpoint(session, wanted, ignore=hits)


@breakpoint_commands.register("enable", "N", key=",e", help="let breakpoint N look at events again", reverse="disable")
def enable(session: Session, words: CommandArguments) -> CommandResult:
    return _replace_breakpoint(session, _parse_breakpoint_number(words), enabled=True)


@breakpoint_commands.register("disable", "N", key=",d", help="let breakpoint N look at nothing", reverse="enable")
def disable(session: Session, words: CommandArguments) -> CommandResult:
    return _replace_breakpoint(session, _parse_breakpoint_number(words), enabled=False)


@breakpoint_commands.register("delete", "[N]", key=",D", help="take breakpoint N away; without N, all")
def delete(session: Session, words: CommandArguments) -> CommandResult:
    if not words:
        session.update_state(breakpoints=())
        return CommandResult(["there are no breakpoints"])
    point = _find_breakpoint(session, _parse_breakpoint_number(words))
    session.update_state(breakpoints=tuple(each for each in session.snapshot.breakpoints if each is not point))
    return CommandResult([f"deleted {point}"], {"breakpoint": _breakpoint_data(point)})


@breakpoint_commands.register("breaks", key="B", help="the breakpoints, with how often each was hit up to here")
def breaks(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    lines, rows = list[str](), list[dict[str, Any]]()
    points, run = session.snapshot.breakpoints, session.run
    for point in points:
        found = run.breakpoints.hits(points, point.number, run.history)
        hits, since = found or (None, 0)
        said = f"means nothing in {run.name}" if hits is None else plural(hits, "hit")
        begins = f" since event {since:,}" if since else ""
        lines.append(f"  {point}: {said}{begins}")
        rows.append({**_breakpoint_data(point), "hits": hits})
    return CommandResult(lines or ["there are no breakpoints"], {"breakpoints": rows})
