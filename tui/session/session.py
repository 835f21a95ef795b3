"""The session: runs with their positions, breakpoints, bookmarks and watches; `execute` takes a command line and
returns plain data.

A command is a function of the session; it changes the session's state by `update_state`, or moves a history. `undo`
undoes everything that it did. A command that fails leaves everything unchanged.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ...core.errors import TagloomError, Usage
from ...core.tag import ROOT, Tag
from ...core.world import World
from ...interp.breakpoints.breakpoint import PROGRAM_BREAKPOINT_CONDITION, program_breakpoint
from ...interp.history.history import History
from ...interp.queries.ask import parse_tag
from ..load import split_target
from ..run_start import Start, StartOptions
from .arguments import MAX_LENGTH, CommandArguments
from .breakpoints import BreakpointSpec
from .command import Command, find_command
from .focus import Focus
from .reply import CommandReply, CommandResult, error_result, sanitize
from .run import SessionRun
from .state import SessionState

UNDO_COMMANDS = ("undo", "redo")
"""The commands that move through the undo history and are themselves not undone."""
STEP_GROUP = "moving"
"""The group of commands that stay at the position reached when interrupted."""


class Session:
    """A debugger without a screen."""

    def __init__(self, commands: Mapping[str, Command[Session]], options: StartOptions | None = None) -> None:
        self.commands = commands
        self.options = options or StartOptions()
        self.is_finished = False
        """Whether the user wants to leave."""
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
        """Execute a command line. Errors are replies too; nothing is raised."""
        self.printed_lines.clear()
        self._notes.clear()
        before = self.snapshot
        name, command, is_done = line.strip(), None, True
        try:
            command, words = self._parse_line(line)
            name = command.name
            said = command.handler(self, words)
        except TagloomError as error:
            self._restore(before)
            said, is_done = error_result(error), False
        except KeyboardInterrupt:
            if command is None or command.group != STEP_GROUP:
                self._restore(before)
            said, is_done = self._interrupt_result(), False
        if name not in UNDO_COMMANDS and self.snapshot != before:
            self._undo_stack.append((line.strip(), before))
            self._redo_stack.clear()
        parts = (*self.printed_lines, *said.text, *self._notes)
        text = tuple(sanitize(each) for part in parts for each in part.split("\n"))
        return CommandReply(line.strip(), is_done, text, {**said.data, "printed": list(self.printed_lines)})

    def _parse_line(self, line: str) -> tuple[Command[Session], CommandArguments]:
        if len(line) > MAX_LENGTH:
            raise Usage("the line is too long", required=f"{MAX_LENGTH:,} characters at most", got=f"{len(line):,}")
        if "\0" in line:
            raise Usage("no line has a NUL in it", got=repr(line[:80]))
        name, _, rest = line.strip().partition(" ")
        command = find_command(self.commands, name)
        return command, CommandArguments(command.usage, rest.strip())

    def _interrupt_result(self) -> CommandResult:
        at = f"after {self.history.position:,} events" if self._state.runs else "before any run"
        return CommandResult([f"interrupted: it stands {at}"], {"error": "interrupted"})

    # What stands

    @property
    def snapshot(self) -> SessionState:
        """Everything that commands change, as a value."""
        return replace(self._state, positions=tuple(run.history.position for run in self._state.runs))

    def update_state(self, **changed: Any) -> None:
        """Change the session's state."""
        self._state = replace(self._state, **changed)

    def note(self, line: str) -> None:
        """Add a line to the reply of the running command."""
        self._notes.append(line)

    def _restore(self, situation: SessionState) -> None:
        for run, position in zip(situation.runs, situation.positions, strict=True):
            if run.history.position != position:
                run.goto(position)
        self._state = situation

    def undo(self) -> str:
        """Undo the last command that changed something, and return its line; raises Usage if there is none."""
        return self._restore_from(self._undo_stack, self._redo_stack, "nothing to undo")

    def redo(self) -> str:
        """Redo the last undone command, and return its line; raises Usage if there is none."""
        return self._restore_from(self._redo_stack, self._undo_stack, "nothing to redo")

    def _restore_from(
        self, taken: list[tuple[str, SessionState]], kept: list[tuple[str, SessionState]], nothing: str
    ) -> str:
        if not taken:
            raise Usage(nothing)
        (line, situation), here = taken[-1], self.snapshot
        self._restore(situation)  # which somebody may stop: then nothing was taken back
        taken.pop()
        kept.append((line, here))
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

    def do(self, line: str) -> CommandReply:
        """The old name of `execute`."""
        warnings.warn("Session.do is now Session.execute", DeprecationWarning, stacklevel=2)
        return self.execute(line)

    def load(self, start: Start) -> SessionRun:
        """The old name of `load_run`."""
        warnings.warn("Session.load is now Session.load_run", DeprecationWarning, stacklevel=2)
        return self.load_run(start)

    def load_run(self, start: Start) -> SessionRun:
        """Start a run, and switch to it."""
        return self.add_run(start.history(self.world), start)

    def add_run(self, history: History, start: Start | None = None, name: str | None = None) -> SessionRun:
        """Add a history as a run, and switch to it; if the program has breakpoints of its own, they become the first
        ones."""
        run = SessionRun(self.unique_run_name(name or history.name), history, start)
        self.enter_run(run)
        own = program_breakpoint(history.graph)
        if own is not None and all(
            point.condition != PROGRAM_BREAKPOINT_CONDITION for point in self._state.breakpoints
        ):
            self.add_breakpoint(PROGRAM_BREAKPOINT_CONDITION)
        return run

    def enter_run(self, run: SessionRun) -> None:
        """Add a run, and switch to it."""
        self.update_state(runs=(*self._state.runs, run), current=run.name)

    def check_output_path(self, name: str) -> Path:
        """A path that may be written: raises Usage if a run was loaded from it."""
        file = Path(name)
        starts = [run.start for run in self._state.runs if run.start is not None]
        if any(file.resolve() == Path(split_target(start.target)[0]).resolve() for start in starts):
            raise Usage("a run began from this file", required="another file", got=name)
        return file

    def unique_run_name(self, wanted: str) -> str:
        """A name that no run has: the given one, or that with a number."""
        names, name, number = set(self._state.run_names), wanted, 2
        while name in names:
            name, number = f"{wanted}-{number}", number + 1
        return name

    def add_breakpoint(self, condition: str, ignore: int = 0, log: str | None = None) -> BreakpointSpec:
        """Set a breakpoint."""
        point = BreakpointSpec(self._state.last_breakpoint_number + 1, condition, ignore, log)
        self.update_state(breakpoints=(*self._state.breakpoints, point), last_breakpoint_number=point.number)
        return point

    # Where one is

    @property
    def current_tag(self) -> Tag:
        """The current activation: that of the last event, or the innermost open one around it."""
        history = self.history
        tag: Tag | None = history.last_event.token.tag if history.last_event is not None else ROOT
        while tag is not None and tag not in history.state.records:
            tag = tag.parent
        return tag or ROOT

    def find_node(self, name: str) -> int:
        """The number of the node of this name; raises Usage, with the closest match, if there is none."""
        graph = self.history.graph
        try:
            return graph.only(name)
        except Usage as error:
            names = [known for node in graph.nodes for known in (node.name, str(node))]
            close = get_close_matches(name, names, 3, 0.6) if error.required is None else []
            error.hint = f"do you mean {' or '.join(close)}?" if close else error.hint
            raise

    @property
    def root_tag(self) -> Tag | None:
        """The activation that alone is shown, if the current run can have it; None if all are shown."""
        with suppress(Usage):
            return None if self.focus.root_tag is None else parse_tag(self.history.graph, self.focus.root_tag)
        return None

    def node_number(self, name: str) -> int | None:
        """The number of the node with this full name; None if the current run has none."""
        return next((at for at, node in enumerate(self.history.graph.nodes) if str(node) == name), None)

    @property
    def inspected_node(self) -> int | None:
        """The inspected node: the selected one, if the current run has it, or the current one."""
        selected = None if self.focus.node_name is None else self.node_number(self.focus.node_name)
        return self.current_node if selected is None else selected

    @property
    def current_node(self) -> int | None:
        """The current node: the one that received the last token; at the beginning, the one that will receive the
        first; None if nothing ever happens."""
        history = self.history
        if history.last_event is not None:
            return history.last_event.token.node
        return history.state.flight[0].node if history.state.flight else None
