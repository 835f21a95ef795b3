"""The app: a screen of panes over a session. A key, a click or a line is a command; panes show what came of it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable, Mapping
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.geometry import Offset
from textual.reactive import reactive
from textual.screen import Screen
from textual.widgets import Static

from ...core.errors import TagloomError
from ...interp.history.collector import set_aside
from ...viz.style import DARK, LIGHT
from ..panes.arrange import PANES, key_of
from ..panes.graph import Paper, laid_out
from ..panes.help import TOUR, following, help_pages, hints
from ..panes.page import Row
from ..panes.screen import Looker, Seen
from ..panes.status import line_for, wants_words
from ..session.command import LEADER, Command
from ..session.session import Session
from .ascii import Lettered
from .command_line import CommandLine
from .file_watcher import Watched
from .graph import GraphPane
from .hints import Hints
from .modals import Jump, Sheet
from .palette import Commands, of_screen
from .pane import Pane
from .pane_layout import Desk
from .preferences import recall, remember
from .themes import THEMES, text_of
from .worker import Work

SWITCH = 0.001
"""So many seconds the screen waits for the thread of the session, each time that it wants to go on. By Python's own
5 ms, the screen was held up for 68 ms at most, by 1 ms for 37 (fib(20), 2 cores)."""

EVERY = 0.5
"""So many seconds go by between two looks at a file that is watched."""

ZOOMS = (-1, 4)
"""The least and the largest zoom of the graph."""


class Debugger(Lettered):
    """The debugger on screen."""

    CSS_PATH = "app.tcss"
    TITLE = "tagloom"
    COMMANDS = Lettered.COMMANDS | {Commands}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "stop", show=False),
        Binding("ctrl+c", "stop", "stop", show=False, priority=True),
        Binding("full_stop", "follow", "follow", show=False),
        Binding("less_than_sign", "zoom(-1)", "smaller", show=False),
        Binding("greater_than_sign", "zoom(1)", "larger", show=False),
        Binding("f2", "alone", "one pane", show=False),
        Binding("f3", "colours", "light or dark", show=False),
        Binding("f1", "explain", "help", show=False),
        Binding("ctrl+o", "jump", "jump", show=False),
    ]

    leads = reactive(False, init=False)
    """Whether the first of two strokes was made, and the second is awaited."""

    def __init__(self, session: Session, *, watches: bool = False, tours: bool = False) -> None:
        super().__init__()
        self._watches, self._tours = watches, tours
        self.session = session
        self.looker = Looker(session)
        self._work, self._layouts = Work("session"), Work("layout")
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._pending = 0
        self._laying: Paper | None = None
        self._given_up: Paper | None = None
        self._began: float | None = None
        self._doing = ""
        self._switched = sys.getswitchinterval()
        self._watched = Watched(session)
        self._remembered = ""
        """The theme that is remembered, or that nobody has changed; none before one is chosen at the start."""
        self.keys = {command.key: command for command in session.commands.values() if command.key}
        self.digits = {key_of(pane): pane for pane in PANES}

    # The screen

    def compose(self) -> ComposeResult:
        yield Desk()
        yield CommandLine(self.session)
        yield Static(id="happened")
        yield Static(id="status")
        yield Hints()

    def on_mount(self) -> None:
        sys.setswitchinterval(SWITCH)
        for theme in THEMES:
            self.register_theme(theme)
        kept = recall("theme")
        self.theme = kept if kept in self.available_themes else THEMES[0].name
        self._remembered = self.theme
        self.run_worker(self._consume(), name="commands")
        self.set_interval(0.1, self._progress)
        if self._watches:
            self.set_interval(EVERY, self._notice_edit)
        self.call_after_refresh(self._begin_in_graph)
        if self._tours and not recall("tour"):
            remember("tour", "seen")
            self.call_after_refresh(self.action_tour)

    def _begin_in_graph(self) -> None:
        """Have the keyboard in some pane from the start: in a browser nothing else gives it one."""
        first = self.screen_stack[0]
        if not isinstance(first.focused, Pane):
            first.set_focus(first.query_one(GraphPane))

    async def on_unmount(self) -> None:
        sys.setswitchinterval(self._switched)
        await self._layouts.close()
        await self._work.close()

    @property
    def desk(self) -> Desk:
        return self.screen_stack[0].query_one(Desk)

    def panes(self) -> Mapping[str, Pane]:
        return self.desk.panes()

    @on(events.Resize)
    def _resized(self) -> None:
        self.call_later(self._fill)  # Textual knows the new size only when it has had this event too

    def _fill(self) -> None:
        """Fill the screen, which has another size."""
        self.desk.stand()
        self.look()
        self._hint()

    def action_front(self, pane: str) -> None:
        """Show a pane, and go there."""
        self.leads = False
        self.desk.bring(pane)
        self.look()
        self.screen.set_focus(self.panes()[pane])  # at once: the next key may be about it

    def action_alone(self) -> None:
        """Give the pane where one is all the room, or take it back."""
        self.desk.turn_alone(self._pane())
        self.look()

    def action_colours(self) -> None:
        names = [theme.name for theme in THEMES]
        self.theme = names[(names.index(self.theme) + 1) % len(names)] if self.theme in names else names[0]

    def watch_theme(self, theme: str) -> None:
        """Another theme: it is remembered, and everything is drawn anew."""
        if self._remembered not in ("", theme):
            remember("theme", theme)
            self._remembered = theme
        self._dress()
        self.look()

    def _dress(self) -> None:
        theme = self.current_theme
        paper = theme.background or (DARK if theme.dark else LIGHT).paper
        for pane in self.query(Pane):
            pane.dress(theme.dark, paper)
        self._hint()

    def action_explain(self) -> None:
        """Explain the pane where one is; then the keys."""
        pane = self._pane()
        self.push_screen(
            Sheet(f"help: {pane}", help_pages(pane, self.session.commands.values(), Sheet.columns(self.size.width)))
        )

    def _pane(self) -> str:
        """The pane where one is."""
        return self.focused.pane if isinstance(self.focused, Pane) else "graph"

    def action_tour(self) -> None:
        self.push_screen(Sheet("a tour of a minute", TOUR))

    def action_jump(self) -> None:
        """A letter over each pane that is shown."""
        places = {name: pane.region.offset + Offset(2, 1) for name, pane in self.panes().items() if pane.display}
        self.push_screen(Jump(places), lambda pane: self.action_front(pane) if pane else None)

    @on(events.DescendantFocus)
    def _hint(self) -> None:
        """Say which keys help where one is."""
        focused = self.screen_stack[0].focused
        pane = focused.pane if isinstance(focused, Pane) else "line" if isinstance(focused, CommandLine) else ""
        width = self.size.width
        rows = following(self.session.commands.values(), width) if self.leads else (hints(pane, width),)
        self.screen_stack[0].query_one(Hints).show(rows, self.current_theme.dark)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """What the palette has besides the commands of the session."""
        return of_screen(self)

    def action_zoom(self, by: int) -> None:
        self.looker.zoom = min(max(self.looker.zoom + by, ZOOMS[0]), ZOOMS[1])
        self.look()

    def action_follow(self) -> None:
        graph = self.query_one(GraphPane)
        graph.follows = not graph.follows
        graph.show(graph.picture)
        graph.reveal()

    # Commands

    async def on_event(self, event: events.Event) -> None:
        """A key is a command, or leads to a pane, at once: what is typed next may be for what it opens."""
        is_key = isinstance(event, events.Key) and not event.is_forwarded
        if is_key and len(self.screen_stack) == 1 and not isinstance(self.focused, CommandLine):
            assert isinstance(event, events.Key)
            if self._takes(event.key if event.key == "escape" else event.character or ""):
                return
        await super().on_event(event)

    def _takes(self, character: str) -> bool:
        """Whether a character, or Escape, is a key of the screen; then it is done."""
        if self.leads:
            return self._follows(character)
        if character == LEADER:
            self.leads = True
        elif character in self.digits:
            self.action_front(self.digits[character])
        elif character == ":":
            self.action_type()
        elif character in self.keys:
            self.command(self.keys[character])
        else:
            return False
        return True

    def _follows(self, character: str) -> bool:
        """Whether a character is taken as a second stroke: all are, and those that are none lead nowhere."""
        self.leads = False
        command = self.keys.get(LEADER + character)
        if command is not None:
            self.command(command)
        return bool(character) and character.isprintable()

    def watch_leads(self, leads: bool) -> None:
        """What may follow stands below the panes, in the place of all else."""
        self.screen_stack[0].set_class(leads, "leading")
        self._hint()

    def command(self, command: Command) -> None:
        """Do a command; where it wants more words, ask for them."""
        if wants_words(command):
            self.action_type(line_for(self.session, command, self._about()))
        else:
            self.do(command.name)

    def _about(self) -> Row | None:
        return self.focused.about() if isinstance(self.focused, Pane) else None

    def action_type(self, line: str = "") -> None:
        self.query_one(CommandLine).begin(line)

    @on(CommandLine.Submitted)
    def _typed(self, event: CommandLine.Submitted) -> None:
        line = self.query_one(CommandLine)
        line.action_leave()
        if event.value.strip():
            line.keep(event.value.strip())
            self.do(event.value.strip())

    @on(Pane.Asked)
    def _asked_for(self, event: Pane.Asked) -> None:
        self.do(event.line)

    def do(self, line: str) -> None:
        """Have a command done, after those that are on the way; who wants to leave does not wait for those."""
        self.leads = False
        leave = self.session.commands["quit"]
        if line in (leave.name, leave.key):
            self.exit(0)
            return
        self._pending += 1
        self._lines.put_nowait(line)

    def look(self) -> None:
        """Have all panes look at the session again."""
        self._pending += 1
        self._lines.put_nowait(None)

    async def _consume(self) -> None:
        """Do one command after the other, in a thread of its own."""
        while True:
            line = await self._lines.get()
            desk, looker = self.desk, self.looker
            self._began, self._doing = time.monotonic(), line or "looking"
            seen = await self._work.do(
                lambda: looker.look(desk.sizes) if line is None else looker.do(line, desk.sizes_with)  # noqa: B023
            )
            if seen is not None:
                self.see(seen)
            else:  # it was told to stop before anything could be seen
                self.look()
            self._pending, self._began = self._pending - 1, None

    async def settled(self) -> None:
        """Wait until nothing is on the way: tests do."""
        while self._pending or self._laying is not None:
            await asyncio.sleep(0.002)

    def action_stop(self) -> None:
        """Stop what is being done, the layout too, and forget the commands that are on the way."""
        self._layouts.stop()
        waiting = [self._lines.get_nowait() for _ in range(self._lines.qsize())]
        self._pending -= len(waiting)
        self._work.stop()
        if None in waiting:
            self.look()

    def _progress(self) -> None:
        """Say that something goes on for long, and for how long."""
        if self._began is None or time.monotonic() - self._began < 0.3:
            return
        seconds, at = time.monotonic() - self._began, ""
        if self.session.situation.current is not None:
            history = self.session.history
            reached = history.reached
            known = f" of {len(history):,}" if reached <= len(history) else ""
            at = f", at {reached:,}{known} events"
        said = f" … {self._doing}: {seconds:.0f} s{at}; Esc stops it"
        self.query_one("#happened", Static).update(Text(said, no_wrap=True), layout=False)

    def _notice_edit(self) -> None:
        """Begin again where the program's file was edited."""
        if not self._pending and self._watched.has_changed():
            self.do("reload")

    # What is seen

    def see(self, seen: Seen) -> None:
        """Show what is to be seen."""
        panes, dark = self.panes(), self.current_theme.dark
        self.query_one("#status", Static).update(text_of(seen.status, dark), layout=False)
        self.query_one("#happened", Static).update(text_of(seen.happened, dark), layout=False)
        if seen.front is not None and not panes[seen.front].display:
            self.desk.bring(seen.front)
        if seen.is_stopped:
            return
        for name, page in seen.pages.items():
            panes[name].show(page)
        if "graph" in self.desk.sizes and (seen.picture is not None or seen.wanted is not None):
            panes["graph"].show(seen.picture)
        panes["timeline"].show(seen.timeline)
        if seen.wanted is not None:
            self._lay_out(seen.wanted)

    def _lay_out(self, paper: Paper) -> None:
        if paper not in (self._laying, self._given_up):
            if self._laying is not None:
                self._layouts.stop()
            self._laying = paper
            self.run_worker(self._laid_out(paper), name="layout", exclusive=True, group="layout")

    async def _laid_out(self, paper: Paper) -> None:
        """Lay the graph out, meanwhile the rest goes on."""
        graph = self.query_one(GraphPane)
        began = time.monotonic()
        ticking = self.set_interval(
            0.5, lambda: graph.told(f"the graph is laid out … {time.monotonic() - began:.0f} s")
        )
        try:
            draft = await self._layouts.do(lambda: laid_out(paper))
            graph.told("" if draft is not None else "the layout was stopped; < and > try another")
            self._given_up = None if draft is not None else paper
            self.looker.draft = draft or self.looker.draft
            set_aside(self)  # else the collector looks at it, and at all of Textual, for 100 ms now and then
        except TagloomError as error:
            self._given_up = paper
            graph.told(f"{str(error).splitlines()[0]}; < folds it")
        finally:
            ticking.stop()
            if self._laying is paper:
                self._laying = None
        if self.looker.draft is not None and self.looker.draft.paper is paper:
            self.look()
