"""Modal screens: the help for a pane, letters to jump by, and the command palette."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar, Protocol, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Offset
from textual.screen import ModalScreen
from textual.widgets import Label, Static

from ..session.command import Command
from ..session.session import Session

JUMP_LETTERS = "asdfghjklqwertyuiop"


class HelpModal(ModalScreen[None]):
    """Pages of text, one at a time."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1", "dismiss", "close", priority=True),
        Binding("enter,space,right", "turn(1)", "next"),
        Binding("left,backspace", "turn(-1)", "back"),
    ]

    def __init__(self, title: str, pages: Sequence[str]) -> None:
        super().__init__()
        self._title, self._pages, self._page = title, pages, 0

    @staticmethod
    def page_width(width: int) -> int:
        """The columns of a page on a screen of this width."""
        return min(92, width * 98 // 100) - 7

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(markup=False, id="page")

    def on_mount(self) -> None:
        self.action_turn(0)

    def on_click(self, event: events.Click) -> None:
        if event.chain == 1 and self.is_current:
            self.action_turn(1)

    def action_turn(self, by: int) -> None:
        if self._page + by >= len(self._pages):
            self.dismiss()
            return
        self._page = max(self._page + by, 0)
        self.query_one("#page", Static).update(self._pages[self._page])
        frame = self.query_one(VerticalScroll)
        frame.border_title = self._title
        more = f"{self._page + 1} of {len(self._pages)} · Enter next · " if len(self._pages) > 1 else ""
        frame.border_subtitle = f"{more}Esc closes"
        frame.focus()


class PaneJumpModal(ModalScreen[str | None]):
    """Shows a letter over each pane; the pressed letter is the result."""

    def __init__(self, offsets: Mapping[str, Offset]) -> None:
        super().__init__()
        self._targets = dict(zip(JUMP_LETTERS, offsets.items(), strict=False))

    def compose(self) -> ComposeResult:
        for letter, (_, offset) in self._targets.items():
            label = Label(letter, id=f"letter-{letter}")
            label.styles.offset = offset
            yield label
        hint = Label(" press a letter to go to its pane; any other key, or a click elsewhere, cancels ", id="jump-hint")
        hint.styles.offset = (0, self.app.size.height - 1)
        yield hint

    def on_key(self, event: events.Key) -> None:
        event.stop()
        self._choose_pane(event.character or "")

    def on_click(self, event: events.Click) -> None:
        name = (event.widget.id if event.widget is not None else None) or ""
        self._choose_pane(name.removeprefix("letter-"))

    def _choose_pane(self, letter: str) -> None:
        target = self._targets.get(letter)
        if self.is_current:
            self.dismiss(target[0] if target else None)


# The command palette: every command of the session, by name, with its key and its help


class CommandRunner(Protocol):
    """An app that has a session and runs its commands."""

    session: Session

    def invoke_command(self, command: Command[Session]) -> None: ...


class SessionCommandProvider(Provider):
    """Provides the session commands of an app that is a CommandRunner."""

    def _command_titles(self) -> Iterator[tuple[Content, Command[Session]]]:
        for command in cast(CommandRunner, self.app).session.commands.values():
            key = f"  [{command.key}]" if command.key else ""
            yield Content(f"{command.usage}{key}"), command

    async def discover(self) -> Hits:
        for title, command in self._command_titles():
            yield DiscoveryHit(title, partial(self._run_command, command), command.usage, help=command.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for title, command in self._command_titles():
            score = max(matcher.match(command.name), matcher.match(command.help) * 0.8)
            if score > 0:
                yield Hit(score, title, partial(self._run_command, command), command.usage, help=command.help)

    def _run_command(self, command: Command[Session]) -> None:
        cast(CommandRunner, self.app).invoke_command(command)
