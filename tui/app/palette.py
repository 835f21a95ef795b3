"""The command palette: every command of the session, by name, with its key and its help."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from ..session.command import Command

if TYPE_CHECKING:
    from .app import Debugger


class Commands(Provider):
    """The commands of the session."""

    def _all(self) -> Iterator[tuple[Content, Command]]:
        for command in cast("Debugger", self.app).session.commands.values():
            key = f"  [{command.key}]" if command.key else ""
            yield Content(f"{command.usage}{key}"), command

    async def discover(self) -> Hits:
        for said, command in self._all():
            yield DiscoveryHit(said, partial(self._do, command), command.usage, help=command.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for said, command in self._all():
            score = max(matcher.match(command.name), matcher.match(command.help) * 0.8)
            if score > 0:
                yield Hit(score, said, partial(self._do, command), command.usage, help=command.help)

    def _do(self, command: Command) -> None:
        cast("Debugger", self.app).command(command)
