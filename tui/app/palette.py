"""The command palette: every command of the session, by name, with its key and its help, and what the screen does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.app import SystemCommand
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from ..session.command import Command

if TYPE_CHECKING:
    from .app import Debugger


class SessionCommandProvider(Provider):
    """The commands of the session."""

    def _command_titles(self) -> Iterator[tuple[Content, Command]]:
        for command in cast("Debugger", self.app).session.commands.values():
            key = f"  [{command.key}]" if command.key else ""
            yield Content(f"{command.usage}{key}"), command

    async def discover(self) -> Hits:
        for said, command in self._command_titles():
            yield DiscoveryHit(said, partial(self._run_command, command), command.usage, help=command.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for said, command in self._command_titles():
            score = max(matcher.match(command.name), matcher.match(command.help) * 0.8)
            if score > 0:
                yield Hit(score, said, partial(self._run_command, command), command.usage, help=command.help)

    def _run_command(self, command: Command) -> None:
        cast("Debugger", self.app).invoke_command(command)


def screen_commands(app: Debugger) -> Iterator[SystemCommand]:
    """What is no command of the session: how things are shown."""
    yield SystemCommand("help (F1)", "explain the pane where one is, and all keys", app.action_explain)
    yield SystemCommand("tour", "a tour of a minute", app.action_tour)
    yield SystemCommand("one pane (F2)", "give the pane all the room, or take it back", app.action_alone)
    yield SystemCommand("light or dark (F3)", "the other colours", app.action_colours)
    yield SystemCommand("theme", "choose among all colours", app.action_change_theme)
    yield SystemCommand("larger (>)", "zoom the graph in, or open what is folded", partial(app.action_zoom, 1))
    yield SystemCommand("smaller (<)", "zoom the graph out, or fold it", partial(app.action_zoom, -1))
    yield SystemCommand("follow (.)", "follow what happens on the graph, or stand still", app.action_follow)
    yield SystemCommand("jump (^o)", "a letter over each pane", app.action_jump)
    yield SystemCommand("screenshot", "save the screen as SVG", app.deliver_screenshot)
