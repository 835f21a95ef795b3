"""Commands, their arguments, and their replies.

`CommandArguments` takes the words of a line one by one; `CommandReply` has text for people, and the same content as
data for programs. The commands themselves are registered in the modules `*_commands`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Generic, TypeAlias, TypeVar

from ...core.errors import TagloomError, Usage
from ...core.escape import escape_line
from ...interp.records.documents import error_text

MAX_LENGTH = 100_000
"""The most characters of a command line."""


def split_words(text: str) -> list[str]:
    """Split a line into words. Brackets and quotes keep their contents together; quotes around a word are removed.

    >>> split_words("change 3 [1, 2]"), split_words("load 'my file.py' -3")
    (['change', '3', '[1, 2]'], ['load', 'my file.py', '-3'])
    """
    words, word, depth, quote = list[str](), "", 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "[(":
            depth += 1
        elif letter in ")]":
            depth = max(depth - 1, 0)
        if letter.isspace() and not quote and not depth:
            words.append(word)
            word = ""
        else:
            word += letter
    return [unquote(argument) for argument in [*words, word] if argument]


def unquote(word: str) -> str:
    """The word without the quotes around it, if it has any.

    >>> unquote("'my file.py'"), unquote("'a' + 'b'")
    ('my file.py', "'a' + 'b'")
    """
    is_quoted = len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" and word[0] not in word[1:-1]
    return word[1:-1] if is_quoted else word


class CommandArguments:
    """The words after a command's name. Taking a missing word raises Usage with the command's usage."""

    def __init__(self, usage: str, text: str) -> None:
        self.usage = usage
        self.text = text
        """All words as typed."""
        self._words = split_words(text)

    def __bool__(self) -> bool:
        return bool(self._words)

    def next_word(self, what: str) -> str:
        """Take the next word, which must exist; `what` names it in the error."""
        if not self._words:
            raise Usage(f"{what} is missing", required=self.usage)
        return self._words.pop(0)

    def optional_word(self) -> str | None:
        """Take the next word, or return None."""
        return self._words.pop(0) if self._words else None

    def remaining_words(self) -> tuple[str, ...]:
        """Take all remaining words."""
        left, self._words = tuple(self._words), []
        return left

    def next_count(self) -> int:
        """Take the next word as a count of at least 1; without a word, the count is 1."""
        word = self.optional_word()
        return 1 if word is None else parse_number(word, 1, self.usage)

    def next_number(self, what: str, least: int = 0) -> int:
        """Take the next word, which must exist, as an integer of at least `least`."""
        return parse_number(self.next_word(what), least, self.usage)

    def take_option(self, name: str) -> str | None:
        """Take the option `name` and the word after it, and return that word; None if the option is absent."""
        if name not in self._words:
            return None
        at = self._words.index(name)
        if at + 1 == len(self._words):
            raise Usage(f"a word is missing after {name}", required=self.usage)
        value = self._words[at + 1]
        del self._words[at : at + 2]
        return value

    def take_run_options(self) -> dict[str, Any]:
        """Take the options --schedule, --k and --seed, if present, each with its word."""
        values: dict[str, Any] = {"schedule": self.take_option("--schedule")}
        for name, least in (("k", 1), ("seed", 0)):
            word = self.take_option(f"--{name}")
            values[name] = None if word is None else parse_number(word, least, self.usage)
        return {name: value for name, value in values.items() if value is not None}

    def expect_end(self) -> None:
        """Raise Usage if words are left."""
        if self._words:
            raise Usage("too many words", required=self.usage, got=" ".join(self._words)[:80])


def parse_number(word: str, least: int, usage: str) -> int:
    """A word as an integer of at least `least`; raises Usage if it is not one.

    >>> parse_number("1_000", 0, "goto N"), parse_number("1,000", 0, "goto N")
    (1000, 1000)
    """
    digits = word.replace(",", "").replace("_", "")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18) or int(digits) < least:
        raise Usage(f"this is not a number from {least} up", required=usage, got=word[:80])
    return int(digits)


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command: lines of text, and JSON-compatible data, in which values of the program are literals of
    the text form."""

    text: Sequence[str]
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommandReply:
    """The reply to a command line. `ok` says whether the command succeeded; if not, the text is the text of the
    error."""

    command: str
    """The command line."""
    ok: bool
    text: tuple[str, ...]
    data: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The reply as a JSON object."""
        return {"command": self.command, "ok": self.ok, "text": list(self.text), "data": dict(self.data)}


def sanitize(text: str) -> str:
    r"""A line that is safe to print on a terminal: tabs become spaces, and control characters escapes.

    >>> print(sanitize("a\tb\x1b[2J"))
    a   b\x1b[2J
    """
    return text if text.isprintable() else escape_line(text.expandtabs(4))


def error_result(error: TagloomError) -> CommandResult:
    """The result of a failed command: the error text as `tagloom` prints it, and its parts as data."""
    parts = {
        "error": type(error).__name__,
        "message": error.message,
        "rule": error.rule,
        "where": None if error.where is None else str(error.where),
        "hint": error.hint,
    }
    return CommandResult(error_text(error).split("\n"), parts)


def with_omitted_count(lines: Sequence[str], count: int) -> list[str]:
    """The first of `count` lines, and a line that counts the omitted ones, if there are any.

    >>> with_omitted_count(["a", "b"], 2), with_omitted_count(["a", "b"], 1002)
    (['a', 'b'], ['a', 'b', 'and 1,000 more'])
    """
    return [*lines, *([f"and {count - len(lines):,} more"] if count > len(lines) else [])]


def truncate_lines(lines: Sequence[str], most: int, noun: str = "more") -> list[str]:
    """At most `most` lines; if some are cut, the last one counts them.

    >>> truncate_lines(["a", "b", "c"], 2), truncate_lines(["a", "b"], 2)
    (['a', 'and 2 more'], ['a', 'b'])
    """
    if len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], f"and {len(lines) - most + 1:,} {noun}"]


S = TypeVar("S")
"""The type of the session, a parameter here because `session.py`, which defines it, imports this module."""
CommandHandler: TypeAlias = Callable[[S, CommandArguments], CommandResult]

LEADER_KEY = ","
"""The first key of two-key sequences; the second is a letter of the command's name."""


@dataclass(frozen=True, slots=True)
class Command(Generic[S]):
    """A command. `key` is its abbreviation, and its key on the screen: one key, or LEADER_KEY and a second one.
    `reverse` names the command for the opposite direction, if there is one."""

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
    """A group of commands, in the order in which `help` lists them."""

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
    matches = begins[:3] or get_close_matches(word, commands, 2, 0.6)
    hint = f"did you mean {' or '.join(matches)}?" if matches else "`help` lists the commands"
    raise Usage("there is no such command", got=repr(word[:40]), hint=hint)
