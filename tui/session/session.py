"""The session: runs with their positions, breakpoints, bookmarks and watches; `execute` takes a command line and
returns plain data.

A command is a function of the session; it changes the session's state by `update_state`, or moves a history. `undo`
reverts both. A command that fails leaves the state unchanged. The focus, that is, what the views show, is not part of
the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from ...core.errors import TagloomError, Usage
from ...core.tag import ROOT, Tag
from ...core.world import World
from ...deprecation import RenamedAttribute
from ...interp.breakpoints.breakpoint import PROGRAM_BREAKPOINT_CONDITION, program_breakpoint
from ...interp.history.history import History
from ...interp.queries.ask import parse_tag
from ..load import split_target
from ..run_start import RunRequest, StartOptions
from .command import (
    MAX_LENGTH,
    Command,
    CommandArguments,
    CommandReply,
    CommandResult,
    error_result,
    find_command,
    sanitize,
)
from .run import BreakpointSpec, SessionRun

UNDO_COMMANDS = ("undo", "redo")
"""The commands that move through the undo history; they are not recorded in it."""
STEP_GROUP = "moving"
"""The group of commands that, when interrupted, leave the run at the position reached."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A named position in a run."""

    name: str
    run: str
    position: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunDifference:
    """The first difference of two runs: in each, the position right after the event that differs, or the end."""

    first: str
    second: str
    positions: tuple[int, int]
    node: str = ""
    tag: str = ""
    """The node whose firing differs, and its tag; empty if only arguments differ."""


@dataclass(frozen=True, slots=True)
class SessionState:
    """The state that `undo` restores: runs in the order of creation, their positions, breakpoints, bookmarks and
    watches. Immutable."""

    runs: tuple[SessionRun, ...] = ()
    positions: tuple[int, ...] = ()
    """The position of each run; up to date only in snapshots, because the histories move."""
    current: str | None = None
    breakpoints: tuple[BreakpointSpec, ...] = ()
    last_breakpoint_number: int = 0
    """The largest number ever given to a breakpoint."""
    watches: tuple[str, ...] = ()
    bookmarks: tuple[Bookmark, ...] = ()
    difference: RunDifference | None = None

    def find_run(self, name: str) -> SessionRun | None:
        return next((run for run in self.runs if run.name == name), None)

    @property
    def run_names(self) -> Iterator[str]:
        return (run.name for run in self.runs)


class FoundNode(NamedTuple):
    """A node that `select` or `search` found, and where the run was then."""

    name: str
    """The full name."""
    run_name: str
    position: int


@dataclass(frozen=True, slots=True)
class Focus:
    """What the views show. It is not part of the state that `undo` restores."""

    node_name: str | None = None
    """The full name of the inspected node; None is the current one."""
    node_tag: str | None = None
    """The tag under which it is inspected; None is that of its last firing."""
    found_node: FoundNode | None = None
    """The node that is inspected, and that the graph shows, until the run moves."""
    root_tag: str | None = None
    """The activation to which the views are restricted, with all activations below it; None shows all."""
    folded_names: tuple[str, ...] = ()
    """The functions and loops drawn as one box."""
    unfolded_names: tuple[str, ...] = ()
    """The functions, loops and bundles drawn in full, even if the graph then exceeds its pane."""
    is_full: bool = False
    """Whether each node of the graph is drawn, without bundles."""
    array_slice: str = ""
    """The slice of arrays shown by the inspector; if empty, the whole array."""
    event_condition: str = ""
    """The condition on listed events; if empty, all are listed."""
    other_run: str | None = None
    """The run that is shown beside the current one."""


class Session:
    """A debugger without a screen."""

    def __init__(self, commands: Mapping[str, Command[Session]], options: StartOptions | None = None) -> None:
        self.commands = commands
        self.options = options or StartOptions()
        self.is_finished = False
        """Whether the user has quit."""
        self.printed_lines: list[str] = []
        """The lines that programs printed during the last command."""
        self._notes: list[str] = []
        """Additional lines of the last command's reply."""
        self.world = World(self.printed_lines.append)
        self.focus = Focus()
        self._state = SessionState()
        self._undo_stack: list[tuple[str, SessionState]] = []
        self._redo_stack: list[tuple[str, SessionState]] = []

    # Commands

    def execute(self, line: str) -> CommandReply:
        """Execute a command line. Errors become replies; nothing is raised."""
        self.printed_lines.clear()
        self._notes.clear()
        before = self.snapshot
        name, command, is_done = line.strip(), None, True
        try:
            command, words = self._parse_line(line)
            name = command.name
            result = command.handler(self, words)
        except TagloomError as error:
            self._restore(before)
            result, is_done = error_result(error), False
        except KeyboardInterrupt:
            if command is None or command.group != STEP_GROUP:
                self._restore(before)
            where = f"after {self.history.position:,} events" if self._state.runs else "before any run"
            paused = self.history.paused_position if self._state.runs else None
            lines = [f"interrupted {where}", *([] if paused is None else [describe_paused_machine(paused)])]
            result, is_done = CommandResult(lines, {"error": "interrupted"}), False
        if name not in UNDO_COMMANDS and self.snapshot != before:
            self._undo_stack.append((line.strip(), before))
            self._redo_stack.clear()
        parts = (*self.printed_lines, *result.text, *self._notes)
        text = tuple(sanitize(line) for part in parts for line in part.split("\n"))
        return CommandReply(line.strip(), is_done, text, {**result.data, "printed": list(self.printed_lines)})

    def describe_progress(self) -> str:
        """The stage and the position of the running command, such as `, at 300 of 500 events`; empty without a run.
        Thread-safe."""
        if self.snapshot.current is None:
            return ""
        position, count = self.history.current_position, len(self.history)
        stage = f", {self.history.current_stage}" if self.history.current_stage else ""
        return f"{stage}, at {position:,}{f' of {count:,}' if position < count else ''} events"

    def _parse_line(self, line: str) -> tuple[Command[Session], CommandArguments]:
        if len(line) > MAX_LENGTH:
            raise Usage("the line is too long", required=f"{MAX_LENGTH:,} characters at most", got=f"{len(line):,}")
        if "\0" in line:
            raise Usage("a command has no NUL character", got=repr(line[:80]))
        name, _, argument_text = line.strip().partition(" ")
        command = find_command(self.commands, name)
        return command, CommandArguments(command.usage, argument_text.strip())

    # The state, and undo

    @property
    def snapshot(self) -> SessionState:
        """The current state, with positions up to date."""
        return replace(self._state, positions=tuple(run.history.position for run in self._state.runs))

    def update_state(self, **changed: Any) -> None:
        """Change the session's state."""
        self._state = replace(self._state, **changed)

    def note(self, line: str) -> None:
        """Add a line to the reply of the running command."""
        self._notes.append(line)

    def _restore(self, state: SessionState) -> None:
        for run, position in zip(state.runs, state.positions, strict=True):
            if run.history.position != position:
                run.goto(position)
        self._state = state

    def undo(self) -> str:
        """Undo the last command that changed something, and return its line; raises Usage if there is none."""
        return self._restore_from(self._undo_stack, self._redo_stack, "nothing to undo")

    def redo(self) -> str:
        """Redo the last undone command, and return its line; raises Usage if there is none."""
        return self._restore_from(self._redo_stack, self._undo_stack, "nothing to redo")

    def _restore_from(
        self, source: list[tuple[str, SessionState]], target: list[tuple[str, SessionState]], message: str
    ) -> str:
        if not source:
            raise Usage(message)
        (line, state), current = source[-1], self.snapshot
        self._restore(state)  # if this is interrupted, both stacks are unchanged
        source.pop()
        target.append((line, current))
        return line

    # Runs

    @property
    def run(self) -> SessionRun:
        """The current run; raises Usage if there is none."""
        run = self._state.find_run(self._state.current or "")
        if run is None:
            raise Usage("there is no run yet", hint="load FILE[:NAME] ARGS")
        return run

    @property
    def history(self) -> History:
        return self.run.history

    def find_run(self, name: str) -> SessionRun:
        """The run of this name; raises Usage if there is none."""
        run = self._state.find_run(name)
        if run is None:
            raise Usage(f"there is no run {name!r}", required=", ".join(self._state.run_names) or None)
        return run

    @property
    def other_run(self) -> SessionRun | None:
        """The run that is shown beside the current one, if any."""
        name = self.focus.other_run
        return None if name is None or name == self._state.current else self._state.find_run(name)

    @property
    def shown_difference(self) -> RunDifference | None:
        """The first difference between the current run and the run beside it, if they were compared."""
        last, other = self._state.difference, self.other_run
        if last is None or other is None or {last.first, last.second} != {self.run.name, other.name}:
            return None
        return last

    @contextmanager
    def swap_runs(self) -> Iterator[None]:
        """In this context, the run beside the current one and the current one change places, for views of the other
        one. Commands do not run in it."""
        run, other = self.run, self.other_run
        if other is None:
            raise Usage("there is no run beside this one", hint="beside NAME")
        focus = self.focus
        try:
            self.update_state(current=other.name)
            self.focus = replace(focus, other_run=run.name)
            yield
        finally:
            self.update_state(current=run.name)
            self.focus = focus

    do = RenamedAttribute("execute")
    load = RenamedAttribute("load_run")

    def load_run(self, start: RunRequest) -> SessionRun:
        """Start a run, and switch to it."""
        return self.add_run(start.history(self.world), start)

    def add_run(self, history: History, start: RunRequest | None = None, name: str | None = None) -> SessionRun:
        """Add a history as a run, and switch to it. If the program has `tl.breakpoint` nodes, set a breakpoint for
        them, unless there is one."""
        run = SessionRun(self.unique_run_name(name or history.name), history, start)
        self.enter_run(run)
        conditions = {point.condition for point in self._state.breakpoints}
        if program_breakpoint(history.graph) is not None and PROGRAM_BREAKPOINT_CONDITION not in conditions:
            self.add_breakpoint(PROGRAM_BREAKPOINT_CONDITION)
        return run

    def enter_run(self, run: SessionRun) -> None:
        """Add a run, and switch to it."""
        self.update_state(runs=(*self._state.runs, run), current=run.name)

    def check_output_path(self, name: str) -> Path:
        """The path with this name; raises Usage if a run was loaded from it, so that it must not be overwritten."""
        file = Path(name)
        starts = [run.start for run in self._state.runs if run.start is not None]
        if any(file.resolve() == Path(split_target(start.target)[0]).resolve() for start in starts):
            raise Usage("the output would replace the file that a run began from", required="another file", got=name)
        return file

    def unique_run_name(self, preferred: str) -> str:
        """An unused name for a run: the preferred one, if necessary with a number."""
        names, name, number = set(self._state.run_names), preferred, 2
        while name in names:
            name, number = f"{preferred}-{number}", number + 1
        return name

    def add_breakpoint(self, condition: str, ignore: int = 0, log: str | None = None) -> BreakpointSpec:
        """Set a breakpoint."""
        point = BreakpointSpec(self._state.last_breakpoint_number + 1, condition, ignore, log)
        self.update_state(breakpoints=(*self._state.breakpoints, point), last_breakpoint_number=point.number)
        return point

    # The current position

    @property
    def current_tag(self) -> Tag:
        """The current activation: the activation of the last event, or the innermost open activation around it."""
        history = self.history
        tag: Tag | None = history.last_event.token.tag if history.last_event is not None else ROOT
        while tag is not None and tag not in history.state.records:
            tag = tag.parent
        return tag or ROOT

    def find_node(self, name: str) -> int:
        """The number of the node with this name; raises Usage, with the closest matches, if there is none."""
        graph = self.history.graph
        try:
            return graph.only(name)
        except Usage as error:
            names = [name for node in graph.nodes for name in (node.name, str(node))]
            close = get_close_matches(name, names, 3, 0.6) if error.required is None else []
            error.hint = f"did you mean {' or '.join(close)}?" if close else error.hint
            raise

    @property
    def root_tag(self) -> Tag | None:
        """The activation to which the views are restricted, if the current run can have it; None if all are shown."""
        with suppress(Usage):
            return None if self.focus.root_tag is None else parse_tag(self.history.graph, self.focus.root_tag)
        return None

    def node_number(self, name: str) -> int | None:
        """The number of the node with this full name; None if the current run does not have it."""
        return next((at for at, node in enumerate(self.history.graph.nodes) if str(node) == name), None)

    @property
    def found_node(self) -> int | None:
        """The node that `select` or `search` found, until the run moves; None if there is none."""
        found_node = self.focus.found_node
        if found_node is None or (found_node.run_name, found_node.position) != (self.run.name, self.history.position):
            return None
        return self.node_number(found_node.name)

    @property
    def inspected_node(self) -> int | None:
        """The inspected node: the found one, or the selected one, if the current run has it, or the current one."""
        selected = None if self.focus.node_name is None else self.node_number(self.focus.node_name)
        numbers = (self.found_node, selected, self.current_node)
        return next((number for number in numbers if number is not None), None)

    def show_node(self, number: int) -> None:
        """Inspect a node, and show it in the graph, until the run moves."""
        found_node = FoundNode(str(self.history.graph.nodes[number]), self.run.name, self.history.position)
        self.focus = replace(self.focus, found_node=found_node)

    @property
    def current_node(self) -> int | None:
        """The current node: the node that received the last token; at the beginning, the node that will receive the
        first token; None in a run without events."""
        history = self.history
        if history.last_event is not None:
            return history.last_event.token.node
        return history.state.flight[0].node if history.state.flight else None


def describe_paused_machine(position: int) -> str:
    """A line for a run whose fast machine stopped far ahead of the session's position."""
    return f"the fast machine paused at {position:,} events: the same command continues from there"


def completions(session: Session, line: str) -> Iterator[str]:
    """The words that could complete a line: names of commands, nodes, runs and bookmarks."""
    if " " not in line.lstrip():
        yield from session.commands
        return
    state = session.snapshot
    yield from state.run_names
    yield from (f"@{mark.name}" for mark in state.bookmarks)
    if state.runs:
        yield from dict.fromkeys(name for node in session.history.graph.nodes for name in (node.name, str(node)))


def complete_line(session: Session, line: str) -> str | None:
    """The line with its last word completed; None if there is no completion."""
    before, space, word = line.rpartition(" ")
    if not word:
        return None
    match = next(
        (completion for completion in completions(session, line) if completion.startswith(word) and completion != word),
        None,
    )
    return None if match is None else f"{before}{space}{match}"
