"""The words of a command line: taken one by one; words left over are an error."""

from __future__ import annotations

from typing import Any

from ...core.errors import Usage

MAX_LENGTH = 100_000
_BRACKETS = {"[": "]", "(": ")"}


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
    return [_unquote(each) for each in [*words, word] if each]


def _unquote(word: str) -> str:
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
        """Take the next word, a `what`, which must exist."""
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
        """Take the next word as a count, from 1 up; 1 if there is none."""
        word = self.optional_word()
        return 1 if word is None else parse_number(word, 1, self.usage)

    def next_number(self, what: str, least: int = 0) -> int:
        """Take the next word as a number, which must exist."""
        return parse_number(self.next_word(what), least, self.usage)

    def take_option(self, name: str) -> str | None:
        """Take `name` and the word after it, if present; return that word."""
        if name not in self._words:
            return None
        at = self._words.index(name)
        if at + 1 == len(self._words):
            raise Usage(f"{name} wants a word", required=self.usage)
        value = self._words[at + 1]
        del self._words[at : at + 2]
        return value

    def take_run_options(self) -> dict[str, Any]:
        """Take the run options present: the words after --schedule, --k and --seed."""
        found: dict[str, Any] = {"schedule": self.take_option("--schedule")}
        for name, least in (("k", 1), ("seed", 0)):
            word = self.take_option(f"--{name}")
            found[name] = None if word is None else parse_number(word, least, self.usage)
        return {name: value for name, value in found.items() if value is not None}

    def expect_end(self) -> None:
        """Raise Usage if words are left."""
        if self._words:
            raise Usage("these are words too many", required=self.usage, got=" ".join(self._words)[:80])


def parse_number(word: str, least: int, usage: str) -> int:
    """A word as an integer from `least` up; raises Usage if it is none.

    >>> parse_number("1_000", 0, "goto N"), parse_number("1,000", 0, "goto N")
    (1000, 1000)
    """
    digits = word.replace(",", "").replace("_", "")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18) or int(digits) < least:
        raise Usage(f"not a number from {least} up", required=usage, got=word[:80])
    return int(digits)
