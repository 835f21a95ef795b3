"""The session: runs, where each stands, and what was noted; `do` takes a line, and answers with plain data.

A command is a function of the session; it changes what stands here by `change`, or moves a history. All that it did is
undone by `undo`. A command that fails leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ...core.errors import TagloomError, Usage
from ...core.tag import ROOT, Tag
from ...core.world import World
from ...interp.breakpoints.breakpoint import IN_PROGRAMS, in_programs
from ...interp.history.history import History
from ...interp.queries.ask import tag_of
from ..load import split_target
from ..run_start import Options, Start
from .arguments import LONGEST, Words
from .breakpoints import Point
from .command import Command, found
from .focus import Focus
from .reply import Reply, Said, complaint, visible
from .run import Run
from .state import Situation

TIME = ("undo", "redo")
"""The commands that go over what commands did, and are themselves not undone."""
MOVING = "moving"
"""The group of commands that, interrupted, stay where they have come to."""


class Session:
    """A debugger without a screen."""

    def __init__(self, commands: Mapping[str, Command], options: Options | None = None) -> None:
        self.commands = commands
        self.options = options or Options()
        self.is_over = False
        """Whether somebody wants to leave."""
        self.printed: list[str] = []
        """What the programs printed in the last command."""
        self._notes: list[str] = []
        """What is said besides of the last command."""
        self.world = World(self.printed.append)
        self.focus = Focus()
        self._now = Situation()
        self._past: list[tuple[str, Situation]] = []
        self._future: list[tuple[str, Situation]] = []

    # Commands

    def do(self, line: str) -> Reply:
        """Do what a line says. What is wrong with it, or comes to nothing, is a reply too; nothing is raised."""
        self.printed.clear()
        self._notes.clear()
        before = self.situation
        name, command, is_done = line.strip(), None, True
        try:
            command, words = self._read(line)
            name = command.name
            said = command.run(self, words)
        except TagloomError as error:
            self._return(before)
            said, is_done = complaint(error), False
        except KeyboardInterrupt:
            if command is None or command.group != MOVING:
                self._return(before)
            said, is_done = self._interrupted(), False
        if name not in TIME and self.situation != before:
            self._past.append((line.strip(), before))
            self._future.clear()
        parts = (*self.printed, *said.text, *self._notes)
        text = tuple(visible(each) for part in parts for each in part.split("\n"))
        return Reply(line.strip(), is_done, text, {**said.data, "printed": list(self.printed)})

    def _read(self, line: str) -> tuple[Command, Words]:
        if len(line) > LONGEST:
            raise Usage("the line is too long", required=f"{LONGEST:,} characters at most", got=f"{len(line):,}")
        if "\0" in line:
            raise Usage("no line has a NUL in it", got=repr(line[:80]))
        name, _, rest = line.strip().partition(" ")
        command = found(self.commands, name)
        return command, Words(command.usage, rest.strip())

    def _interrupted(self) -> Said:
        at = f"after {self.history.position:,} events" if self._now.runs else "before any run"
        return Said([f"interrupted: it stands {at}"], {"error": "interrupted"})

    # What stands

    @property
    def situation(self) -> Situation:
        """All that commands change, as a value."""
        return replace(self._now, positions=tuple(run.history.position for run in self._now.runs))

    def change(self, **changed: Any) -> None:
        """Change what stands."""
        self._now = replace(self._now, **changed)

    def note(self, line: str) -> None:
        """Say a line more of the command that is being done."""
        self._notes.append(line)

    def _return(self, situation: Situation) -> None:
        for run, position in zip(situation.runs, situation.positions, strict=True):
            if run.history.position != position:
                run.reach(position)
        self._now = situation

    def undo(self) -> str:
        """Take back the last command that changed something, and say which; raises Usage where there is none."""
        return self._turn(self._past, self._future, "nothing to undo")

    def redo(self) -> str:
        """Do again what was undone last, and say what; raises Usage where there is nothing."""
        return self._turn(self._future, self._past, "nothing to redo")

    def _turn(self, taken: list[tuple[str, Situation]], kept: list[tuple[str, Situation]], nothing: str) -> str:
        if not taken:
            raise Usage(nothing)
        (line, situation), here = taken[-1], self.situation
        self._return(situation)  # which somebody may stop: then nothing was taken back
        taken.pop()
        kept.append((line, here))
        return line

    # Runs

    @property
    def run(self) -> Run:
        """The current run; raises Usage where there is none."""
        run = self._now.named(self._now.current or "")
        if run is None:
            raise Usage("there is no run yet", hint="load FILE[:NAME] ARGS")
        return run

    @property
    def history(self) -> History:
        return self.run.history

    def named(self, name: str) -> Run:
        """The run of this name; raises Usage where there is none."""
        run = self._now.named(name)
        if run is None:
            raise Usage(f"there is no run {name!r}", required=", ".join(self._now.names) or None)
        return run

    def load(self, start: Start) -> Run:
        """Begin a run, and go to it."""
        return self.add(start.history(self.world), start)

    def add(self, history: History, start: Start | None = None, name: str | None = None) -> Run:
        """Take a history as a run, and go to it; where the program has breakpoints of its own, they are the first."""
        run = Run(self.fresh(name or history.name), history, start)
        self.enter(run)
        own = in_programs(history.graph)
        if own is not None and all(point.condition != IN_PROGRAMS for point in self._now.points):
            self.add_point(IN_PROGRAMS)
        return run

    def enter(self, run: Run) -> None:
        """Add a run, and go to it."""
        self.change(runs=(*self._now.runs, run), current=run.name)

    def unused(self, name: str) -> Path:
        """A file that may be written: raises Usage where a run began from it."""
        file = Path(name)
        starts = [run.start for run in self._now.runs if run.start is not None]
        if any(file.resolve() == Path(split_target(start.target)[0]).resolve() for start in starts):
            raise Usage("a run began from this file", required="another file", got=name)
        return file

    def fresh(self, wanted: str) -> str:
        """A name that no run has: the one that is wanted, or that and a number."""
        names, name, number = set(self._now.names), wanted, 2
        while name in names:
            name, number = f"{wanted}-{number}", number + 1
        return name

    def add_point(self, condition: str, ignore: int = 0, log: str | None = None) -> Point:
        """Set a breakpoint."""
        point = Point(self._now.numbered + 1, condition, ignore, log)
        self.change(points=(*self._now.points, point), numbered=point.number)
        return point

    # Where one is

    @property
    def tag(self) -> Tag:
        """The activation where one stands: that of the last event, or the innermost around it that is still open."""
        history = self.history
        tag: Tag | None = history.last.token.tag if history.last is not None else ROOT
        while tag is not None and tag not in history.state.records:
            tag = tag.parent
        return tag or ROOT

    def find(self, name: str) -> int:
        """The number of the node of this name; raises Usage, with what was probably meant, where there is none."""
        graph = self.history.graph
        try:
            return graph.only(name)
        except Usage as error:
            names = [known for node in graph.nodes for known in (node.name, str(node))]
            close = get_close_matches(name, names, 3, 0.6) if error.required is None else []
            error.hint = f"do you mean {' or '.join(close)}?" if close else error.hint
            raise

    @property
    def only(self) -> Tag | None:
        """The activation that alone is shown, where the current run can have it; None where all are."""
        with suppress(Usage):
            return None if self.focus.only is None else tag_of(self.history.graph, self.focus.only)
        return None

    def numbered(self, name: str) -> int | None:
        """The number of the node of this name in full; None where the current run has none."""
        return next((at for at, node in enumerate(self.history.graph.nodes) if str(node) == name), None)

    @property
    def inspected(self) -> int | None:
        """The node that is inspected: the one that is selected, where the current run has it, or the present one."""
        selected = None if self.focus.node is None else self.numbered(self.focus.node)
        return self.node if selected is None else selected

    @property
    def node(self) -> int | None:
        """The node where one stands: to which the last token came; at the beginning, to which the first will; None
        where nothing ever happens."""
        history = self.history
        if history.last is not None:
            return history.last.token.node
        return history.state.flight[0].node if history.state.flight else None
