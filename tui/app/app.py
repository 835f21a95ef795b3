"""The Textual app of the debugger: a screen of panes that shows a session. Keys, clicks and typed lines become session
commands."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Offset
from textual.reactive import reactive
from textual.screen import Screen
from textual.widgets import Static

from ...core.errors import TagloomError
from ...interp.history.segment import freeze_objects
from ...viz.style import DARK, LIGHT
from ..panes.arrange import OTHER_PANES, PANES, key_of
from ..panes.graph import GraphLayout, LayoutRequest, draft_layout, lay_out_graph
from ..panes.help import help_pages, key_hints, second_key_hints
from ..panes.page import PageRow
from ..panes.screen import ScreenPresenter, ScreenSnapshot, needs_arguments, suggest_line
from ..panes.tour import Tour
from ..session.command import LEADER_KEY, Command, find_command
from ..session.session import Session
from .ascii import AsciiApp
from .command_line import CommandLine, KeyHints, command_for_pasted_file
from .driver import QuickEscapeDriver
from .graph import GraphPane
from .modals import HelpModal, PaneJumpModal, SessionCommandProvider
from .pane import Pane
from .pane_layout import PaneLayout
from .themes import THEMES, load_preference, row_text, save_preference
from .worker import BackgroundWorker, FileWatcher

SWITCH_INTERVAL = 0.001
"""Python's thread switch interval in seconds: how long the screen's thread waits each time for the session's thread.
With Python's default of 5 ms the screen was delayed by up to 68 ms, with 1 ms by up to 37 (fib(20), 2 cores)."""

WATCH_INTERVAL = 0.5
"""The seconds between two checks of a watched file."""

REFRESHING = "refreshing the panes"
"""What runs when a snapshot is taken without a command."""

ZOOM_RANGE = (-1, 4)
"""The smallest and the largest zoom of the graph."""


class Debugger(AsciiApp):
    """The debugger app."""

    CSS_PATH = "app.tcss"
    TITLE = "tagloom"
    COMMANDS = AsciiApp.COMMANDS | {SessionCommandProvider}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "stop", show=False),
        Binding("ctrl+c", "stop", "stop", show=False, priority=True),
        Binding("full_stop", "follow", "follow", show=False),
        Binding("less_than_sign", "zoom(-1)", "smaller", show=False),
        Binding("greater_than_sign", "zoom(1)", "larger", show=False),
        Binding("f2", "toggle_maximized", "one pane", show=False),
        Binding("f3", "switch_theme", "light or dark", show=False),
        Binding("f1", "explain", "help", show=False),
        Binding("ctrl+o", "jump", "jump", show=False),
    ]

    is_leader_pending = reactive(False, init=False)
    """Whether the leader key was pressed and the second key is pending."""

    def __init__(self, session: Session, *, watches_file: bool = False, shows_tour: bool = False) -> None:
        super().__init__()
        self._watches_file, self._shows_tour = watches_file, shows_tour
        self.session = session
        self._tour: Tour | None = None
        self.presenter = ScreenPresenter(session)
        self._command_worker, self._layout_worker = BackgroundWorker("session"), BackgroundWorker("layout")
        self._command_queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._pending_commands = 0
        self._pending_layout: LayoutRequest | None = None
        self._failed_layouts: dict[str, LayoutRequest] = {}
        self._other_run: str | None = None
        """The last layout of each pane, if it failed or was stopped."""
        self._is_layout_stopped = False
        """Whether the user has stopped the layout."""
        self._command_started_at: float | None = None
        self._current_command = ""
        self._saved_switch_interval = sys.getswitchinterval()
        self._file_watcher = FileWatcher(session)
        self._saved_theme = ""
        """The theme as last saved or loaded; empty until one is set at startup."""
        self.command_keys = {command.key: command for command in session.commands.values() if command.key}
        self.pane_keys = {key_of(pane): pane for pane in PANES}

    # The screen

    def get_driver_class(self) -> type[Driver]:
        """Textual's driver; for a terminal, one that is quick to take Escape for a key."""
        driver = super().get_driver_class()
        return QuickEscapeDriver if driver is LinuxDriver else driver

    @property
    def is_command_running(self) -> bool:
        """Whether a command runs that Escape stops."""
        return self._command_started_at is not None and self._current_command != REFRESHING

    def compose(self) -> ComposeResult:
        yield PaneLayout()
        yield Static(id="tour")
        yield CommandLine(self.session)
        yield Static(id="last-event")
        yield Static(id="status")
        yield KeyHints()

    def on_mount(self) -> None:
        sys.setswitchinterval(SWITCH_INTERVAL)
        for theme in THEMES:
            self.register_theme(theme)
        saved_theme = load_preference("theme")
        self.theme = saved_theme if saved_theme in self.available_themes else THEMES[0].name
        self._saved_theme = self.theme
        self.run_worker(self._process_commands(), name="commands")
        self.set_interval(0.1, self._report_progress)
        if self._watches_file:
            self.set_interval(WATCH_INTERVAL, self._reload_if_edited)
        self.call_after_refresh(self._focus_graph)
        if self._shows_tour and not load_preference("tour"):
            save_preference("tour", "seen")
            self.call_after_refresh(self.action_tour)

    def _focus_graph(self) -> None:
        """Focus a pane at startup; otherwise the app in a browser receives no keys."""
        first = self.screen_stack[0]
        if not isinstance(first.focused, Pane):
            first.set_focus(first.query_one(GraphPane))

    async def on_unmount(self) -> None:
        sys.setswitchinterval(self._saved_switch_interval)
        self._is_layout_stopped = True
        await self._layout_worker.close()
        await self._command_worker.close()

    @property
    def pane_layout(self) -> PaneLayout:
        return self.screen_stack[0].query_one(PaneLayout)

    def panes(self) -> Mapping[str, Pane]:
        return self.pane_layout.panes()

    @on(events.Resize)
    def _handle_resize(self) -> None:
        self.call_later(self._arrange_screen)  # Textual updates its size after this event

    def _arrange_screen(self) -> None:
        """Arrange the panes for the new size of the screen."""
        self.pane_layout.place_panes()
        self.request_snapshot()
        self._show_key_hints()

    def action_front(self, pane: str) -> None:
        """Bring a pane to the front and focus it."""
        self.is_leader_pending = False
        self.pane_layout.bring_to_front(pane)
        self.request_snapshot()
        self.screen.set_focus(self.panes()[pane])  # at once: the next key may refer to it
        self._continue_tour(f"pane {pane}")

    def action_toggle_maximized(self) -> None:
        """Maximize the focused pane, or restore it."""
        self.pane_layout.toggle_maximized(self._current_pane())
        self.request_snapshot()

    def action_switch_theme(self) -> None:
        names = [theme.name for theme in THEMES]
        self.theme = names[(names.index(self.theme) + 1) % len(names)] if self.theme in names else names[0]

    def watch_theme(self, theme: str) -> None:
        """Save the new theme and redraw everything."""
        if self._saved_theme not in ("", theme):
            save_preference("theme", theme)
            self._saved_theme = theme
        self._apply_colours()
        self.request_snapshot()

    def _apply_colours(self) -> None:
        theme = self.current_theme
        background = theme.background or (DARK if theme.dark else LIGHT).background
        for pane in self.query(Pane):
            pane.set_colours(theme.dark, background)
        self._show_key_hints()
        self._show_tour()

    def action_explain(self) -> None:
        """Show help for the focused pane, then for the keys."""
        pane = self._current_pane()
        self.push_screen(
            HelpModal(
                f"help: {pane}", help_pages(pane, self.session.commands.values(), HelpModal.page_width(self.size.width))
            )
        )

    def _current_pane(self) -> str:
        """The focused pane."""
        return self.focused.pane if isinstance(self.focused, Pane) else "graph"

    def action_tour(self) -> None:
        """Begin the tour, in a strip over the lowest pane."""
        self._tour = Tour(self.session)
        self._show_tour()

    def _continue_tour(self, action: str) -> None:
        """Tell the tour what the user has done."""
        if self._tour is not None:
            self._tour.note_action(action)
            self._show_tour()

    def _show_tour(self) -> None:
        """Show the present step of the tour, or hide its strip."""
        strip, tour = self.screen_stack[0].query_one("#tour", Static), self._tour
        strip.display = tour is not None
        if tour is not None:
            strip.border_title, strip.border_subtitle = tour.title, "Esc closes"
            dark = self.current_theme.dark
            strip.update(Text("\n", no_wrap=True).join(row_text(row, dark) for row in tour.rows()))

    def action_jump(self) -> None:
        """Show a letter over each visible pane, to jump by."""
        offsets = {name: pane.region.offset + Offset(2, 1) for name, pane in self.panes().items() if pane.display}
        self.push_screen(PaneJumpModal(offsets), lambda pane: self.action_front(pane) if pane else None)

    @on(events.DescendantFocus)
    def _show_key_hints(self) -> None:
        """Show the keys of the screen, or of the command line."""
        is_line_open, width = isinstance(self.screen_stack[0].focused, CommandLine), self.size.width
        rows = (
            second_key_hints(self.session.commands.values(), width)
            if self.is_leader_pending
            else (key_hints(width, is_line_open=is_line_open),)
        )
        self.screen_stack[0].query_one(KeyHints).show_rows(rows, self.current_theme.dark)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette's entries that are not session commands: they change the display."""
        yield SystemCommand("help (F1)", "explain the current pane, and list all keys", self.action_explain)
        yield SystemCommand("tour", "learn the keys on this run, in a minute", self.action_tour)
        yield SystemCommand("one pane (F2)", "maximize the pane, or restore it", self.action_toggle_maximized)
        yield SystemCommand("light or dark (F3)", "switch between light and dark", self.action_switch_theme)
        yield SystemCommand("command line (:)", "type any command, with completion by Tab", self.action_type)
        yield SystemCommand("theme", "choose a colour theme", self.action_change_theme)
        yield SystemCommand("larger (>)", "zoom the graph in, or unfold it", partial(self.action_zoom, 1))
        yield SystemCommand("smaller (<)", "zoom the graph out, or fold it", partial(self.action_zoom, -1))
        yield SystemCommand("follow (.)", "turn following the run in the graph on or off", self.action_follow)
        yield SystemCommand("jump (^o)", "jump to a pane by its letter", self.action_jump)
        for key, pane in self.pane_keys.items():
            yield SystemCommand(f"pane {pane} ({key})", f"go to the pane {pane}", partial(self.action_front, pane))
        yield SystemCommand("screenshot", "save the screen as SVG", self.deliver_screenshot)

    def action_zoom(self, by: int) -> None:
        self.presenter.zoom = min(max(self.presenter.zoom + by, ZOOM_RANGE[0]), ZOOM_RANGE[1])
        self.request_snapshot()

    def action_follow(self) -> None:
        graph = self.query_one(GraphPane)
        graph.is_following = not graph.is_following
        graph.show_content(graph.picture)
        graph.scroll_to_event()

    # Commands

    async def on_event(self, event: events.Event) -> None:
        """Handle keys of commands and panes immediately, because the next key may be for the dialog that they open."""
        is_key = isinstance(event, events.Key) and not event.is_forwarded
        if is_key and len(self.screen_stack) == 1 and not isinstance(self.focused, CommandLine):
            assert isinstance(event, events.Key)
            if self._handle_screen_key(event.key if event.key == "escape" else event.character or ""):
                return
        await super().on_event(event)

    def _handle_screen_key(self, character: str) -> bool:
        """Handle a character or Escape if it is a key of the screen; returns whether it was."""
        if self.is_leader_pending:
            return self._handle_second_key(character)
        if character == LEADER_KEY:
            self.is_leader_pending = True
        elif character in self.pane_keys:
            self.action_front(self.pane_keys[character])
        elif character == ":":
            self.action_type()
        elif character in self.command_keys:
            self.invoke_command(self.command_keys[character])
        else:
            return False
        return True

    def _handle_second_key(self, character: str) -> bool:
        """Handle a key after the leader; returns whether it was printable. A key without a command does nothing."""
        self.is_leader_pending = False
        command = self.command_keys.get(LEADER_KEY + character)
        if command is not None:
            self.invoke_command(command)
        return bool(character) and character.isprintable()

    def watch_is_leader_pending(self, leads: bool) -> None:
        """Show the possible second keys below the panes instead of the other lines."""
        self.screen_stack[0].set_class(leads, "leading")
        self._show_key_hints()

    def invoke_command(self, command: Command[Session]) -> None:
        """Run a command, or open the command line if it needs arguments."""
        if needs_arguments(command):
            self.action_type(suggest_line(self.session, command, self._cursor_row()))
        else:
            self.do(command.name)

    def _cursor_row(self) -> PageRow | None:
        return self.focused.cursor_row() if isinstance(self.focused, Pane) else None

    def action_type(self, line: str = "") -> None:
        self.query_one(CommandLine).open_with(line)

    def on_paste(self, event: events.Paste) -> None:
        """Open the command line for a file that was dropped on the terminal."""
        if line := command_for_pasted_file(event.text):
            self.action_type(line)

    @on(CommandLine.Submitted)
    def _submit_line(self, event: CommandLine.Submitted) -> None:
        line = self.query_one(CommandLine)
        line.action_leave()
        if event.value.strip():
            line.add_to_history(event.value.strip())
            self.do(event.value.strip())

    @on(Pane.CommandRequested)
    def _run_requested_command(self, event: Pane.CommandRequested) -> None:
        """Run the command of a pane; one from a pane of the run beside the current one makes that run the current
        one."""
        if event.pane in OTHER_PANES and self._other_run is not None:
            self.do(f"switch {self._other_run}")
            self.screen.set_focus(self.panes()[event.pane.removeprefix("other ")])  # that run's pane from now on
        self.do(event.line)

    def do(self, line: str) -> None:
        """Queue a command line; quitting does not wait for the queue."""
        self.is_leader_pending = False
        leave = self.session.commands["quit"]
        if line in (leave.name, leave.key):
            self.exit(0)
            return
        self._pending_commands += 1
        self._command_queue.put_nowait(line)

    def request_snapshot(self) -> None:
        """Request a new snapshot of all panes."""
        self._pending_commands += 1
        self._command_queue.put_nowait(None)

    async def _process_commands(self) -> None:
        """Run the queued commands one after the other, in a separate thread."""
        while True:
            line = await self._command_queue.get()
            layout, presenter = self.pane_layout, self.presenter
            self._command_started_at, self._current_command = time.monotonic(), line or REFRESHING
            take_snapshot = (
                partial(presenter.snapshot, layout.sizes)
                if line is None
                else partial(presenter.do, line, layout.sizes_with_front)
            )
            snapshot = await self._command_worker.run(take_snapshot)
            if snapshot is not None:
                self.show_snapshot(snapshot)
                if snapshot.is_stopped and snapshot.reply is not None and not snapshot.reply.ok:
                    await self._refresh_screen()  # with a snapshot beside it, the answer came some 50 ms later
                    self.request_snapshot()  # the panes follow, and can be stopped, too
            else:  # it was stopped before the first snapshot
                self.request_snapshot()
            self._pending_commands, self._command_started_at = self._pending_commands - 1, None

    async def _refresh_screen(self) -> None:
        """Wait until the screen shows what its widgets have."""
        is_shown = asyncio.Event()
        self.call_after_refresh(is_shown.set)
        await is_shown.wait()

    async def wait_until_idle(self) -> None:
        """Wait until no work is pending; for tests."""
        while self._pending_commands or self._pending_layout is not None:
            await asyncio.sleep(0.002)

    def action_stop(self) -> None:
        """Stop the running command, and clear the queue; if there is none, close the tour, or stop the layout."""
        waiting = [self._command_queue.get_nowait() for _ in range(self._command_queue.qsize())]
        self._pending_commands -= len(waiting)
        is_running = self.is_command_running
        if self._tour is not None and not is_running and not any(waiting):
            self._tour = None
            self._show_tour()
        elif self._pending_layout is not None and not is_running and not any(waiting):
            self._is_layout_stopped = True
            self._layout_worker.stop()
        self._command_worker.stop()
        if None in waiting:
            self.request_snapshot()

    def _report_progress(self) -> None:
        """Show which command is running, and for how many seconds, if it takes long."""
        if self._command_started_at is None or time.monotonic() - self._command_started_at < 0.3:
            return
        seconds = time.monotonic() - self._command_started_at
        progress = f" … {self._current_command}: {seconds:.0f} s{self.session.describe_progress()}; Esc stops it"
        self.query_one("#last-event", Static).update(Text(progress, no_wrap=True), layout=False)

    def _reload_if_edited(self) -> None:
        """Reload the program if its file was edited."""
        if not self._pending_commands and self._file_watcher.has_changed():
            self.do("reload")

    # Snapshots

    def show_snapshot(self, snapshot: ScreenSnapshot) -> None:
        """Show a snapshot."""
        if snapshot.reply is not None and snapshot.reply.ok:
            self._continue_tour(find_command(self.session.commands, snapshot.reply.command.split()[0]).name)
        panes, dark = self.panes(), self.current_theme.dark
        self.query_one("#status", Static).update(row_text(snapshot.status, dark), layout=False)
        last = snapshot.last_event._replace(spans=snapshot.last_event.fit(self.size.width))
        self.query_one("#last-event", Static).update(row_text(last, dark), layout=False)
        if snapshot.front_pane is not None and not panes[snapshot.front_pane].display:
            self.pane_layout.bring_to_front(snapshot.front_pane)
        if snapshot.is_stopped:
            return
        self._other_run, has_other = snapshot.other_run, snapshot.other_run is not None
        if has_other != self.pane_layout.has_other:
            self.pane_layout.has_other = has_other
            self.pane_layout.place_panes()
            self.request_snapshot()
        for name, page in snapshot.pages.items():
            panes[name].show_content(page)
        if "graph" in self.pane_layout.sizes and (snapshot.picture is not None or "graph" in snapshot.layout_requests):
            panes["graph"].show_content(snapshot.picture)
        if has_other:
            other_pane = panes[OTHER_PANES[0]]
            assert isinstance(other_pane, GraphPane)
            other_pane.show_content(snapshot.other_picture)
            if snapshot.other_picture is not None and other_pane.pane not in snapshot.layout_requests:
                other_pane.show_message("")  # it may have the layout of the other pane
        panes["timeline"].show_content(snapshot.timeline)
        self._start_layout(snapshot.layout_requests)

    def _start_layout(self, requests: Mapping[str, LayoutRequest]) -> None:
        """Start the first of some layouts that has not failed, unless it is running."""
        ready = [pane for pane, request in requests.items() if self._failed_layouts.get(pane) != request]
        if not ready or requests[ready[0]] == self._pending_layout:
            return
        if self._pending_layout is not None:
            self._layout_worker.stop()
        self._pending_layout = requests[ready[0]]
        self.run_worker(self._run_layout(self._pending_layout, ready[0]), name="layout", exclusive=True, group="layout")

    async def _run_layout(self, request: LayoutRequest, pane: str) -> None:
        """Lay the graph of a pane out in the background: a large graph first with most of it folded."""
        graph = self.panes()[pane]
        assert isinstance(graph, GraphPane)
        start = time.monotonic()
        timer = self.set_interval(
            0.5, lambda: graph.show_message(f"laying out the graph … {time.monotonic() - start:.0f} s; Esc stops it")
        )
        self._is_layout_stopped = False
        try:
            before = self.presenter.graph_layouts.get(pane)
            if before is None or not before.request.is_resized(request):
                self._use_layout(await self._layout_worker.run(lambda: draft_layout(request)), pane)
            layout = None
            while layout is None and not self._is_layout_stopped:  # an interrupt of the layout before may come late
                layout = await self._layout_worker.run(lambda: lay_out_graph(request))
            if layout is None:
                self._give_up_layout(request, graph, "the layout was stopped; Enter or a click here restarts it")
            else:
                self._failed_layouts.pop(pane, None)
                graph.show_message("")
                self._use_layout(layout, pane)
        except TagloomError as error:
            self._give_up_layout(request, graph, f"{str(error).splitlines()[0]}; < folds it")
        finally:
            timer.stop()
            if self._pending_layout is request:
                self._pending_layout = None

    def _give_up_layout(self, request: LayoutRequest, graph: GraphPane, message: str) -> None:
        """Show in a pane why it has no layout, and continue with the layout of the other pane, if that is pending."""
        self._failed_layouts[graph.pane] = request
        graph.show_message(message)
        self.request_snapshot()

    def _use_layout(self, layout: GraphLayout | None, pane: str) -> None:
        """Show a new layout in a pane, if there is one."""
        if layout is not None:
            self.presenter.graph_layouts[pane] = layout
            freeze_objects(self)  # else the garbage collector scans it and all of Textual for 100 ms now and then
            self.request_snapshot()

    @on(GraphPane.LayoutRequested)
    def _restart_layout(self) -> None:
        """Start a layout that was stopped or failed again."""
        self._failed_layouts.clear()
        self.request_snapshot()
