"""Commands: a row for each, with name, key, usage, help, and function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Generic, TypeAlias, TypeVar

from ...core.errors import Usage
from .arguments import CommandArguments
from .reply import CommandResult

S = TypeVar("S")
"""The session type that commands take: `Session` is defined above this module, because it runs commands."""
CommandHandler: TypeAlias = Callable[[S, CommandArguments], CommandResult]

LEADER_KEY = ","
"""The first stroke of keys with two strokes; the second is a letter of the command's name."""


@dataclass(frozen=True, slots=True)
class Command(Generic[S]):
    """A command. `key` is its short word, and its key on the screen: one stroke, or two, of which the first is
    LEADER_KEY; `reverse` names the command for the opposite direction, if there is one. `undo` undoes every command."""

    name: str
    key: str
    parameters: str
    """The usage after the name, such as `[N]`."""
    help: str
    """One line of help."""
    group: str
    handler: CommandHandler[S]
    reverse: str | None = None

    @property
    def usage(self) -> str:
        return f"{self.name} {self.parameters}".rstrip()


class CommandGroup(Generic[S]):
    """The commands of one kind, in the order of help."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.commands: list[Command[S]] = []

    def __iter__(self) -> Iterator[Command[S]]:
        return iter(self.commands)

    def register(
        self, name: str, parameters: str = "", *, key: str = "", help: str, reverse: str | None = None
    ) -> Callable[[CommandHandler[S]], CommandHandler[S]]:
        """A decorator that registers a function as a command; its help is one line."""

        def add(run: CommandHandler[S]) -> CommandHandler[S]:
            self.commands.append(Command(name, key, parameters, help, self.name, run, reverse))
            return run

        return add


def find_command(commands: Mapping[str, Command[S]], word: str) -> Command[S]:
    """The command of this name or key; raises Usage, with the closest match, if there is none."""
    if not word:
        raise Usage("there is no command in this line", hint="`help` lists the commands")
    if word in commands:
        return commands[word]
    for command in commands.values():
        if command.key == word:
            return command
    begins = [name for name in commands if name.startswith(word)]
    close = begins[:3] or get_close_matches(word, commands, 2, 0.6)
    hint = f"do you mean {' or '.join(close)}?" if close else "`help` lists the commands"
    raise Usage("there is no such command", got=repr(word[:40]), hint=hint)
