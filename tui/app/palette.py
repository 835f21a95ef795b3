"""The command palette: every command of the session, by name, with its key and its help."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Protocol, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from ..session.command import Command
from ..session.session import Session


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
        for said, command in self._command_titles():
            yield DiscoveryHit(said, partial(self._run_command, command), command.usage, help=command.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for said, command in self._command_titles():
            score = max(matcher.match(command.name), matcher.match(command.help) * 0.8)
            if score > 0:
                yield Hit(score, said, partial(self._run_command, command), command.usage, help=command.help)

    def _run_command(self, command: Command[Session]) -> None:
        cast(CommandRunner, self.app).invoke_command(command)
