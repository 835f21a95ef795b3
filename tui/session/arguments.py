"""A line that a person typed, as words: what comes is taken one by one, and what is left over is refused."""

from __future__ import annotations

from typing import Any

from ...core.errors import Usage

LONGEST = 100_000
_PAIRS = {"[": "]", "(": ")"}


def split(text: str) -> list[str]:
    """The words of a line. Brackets keep together what stands in them, and quotes do, and go away where they stand
    around a word.

    >>> split("change 3 [1, 2]"), split("load 'my file.py' -3")
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
    return [_bare(each) for each in [*words, word] if each]


def _bare(word: str) -> str:
    is_quoted = len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" and word[0] not in word[1:-1]
    return word[1:-1] if is_quoted else word


class Words:
    """The words after a command's name. Whoever takes one that is not there is told the usage."""

    def __init__(self, usage: str, text: str) -> None:
        self.usage = usage
        self.text = text
        """All of them as they were typed."""
        self._left = split(text)

    def __bool__(self) -> bool:
        return bool(self._left)

    def next(self, what: str) -> str:
        """The next word, which has to be there: a `what`."""
        if not self._left:
            raise Usage(f"{what} is missing", required=self.usage)
        return self._left.pop(0)

    def maybe(self) -> str | None:
        """The next word, if there is one."""
        return self._left.pop(0) if self._left else None

    def rest(self) -> tuple[str, ...]:
        """All words that are left."""
        left, self._left = tuple(self._left), []
        return left

    def count(self) -> int:
        """The next word as a number of times, from 1 up; 1 if there is none."""
        word = self.maybe()
        return 1 if word is None else number(word, 1, self.usage)

    def number(self, what: str, least: int = 0) -> int:
        """The next word as a number, which has to be there."""
        return number(self.next(what), least, self.usage)

    def option(self, name: str) -> str | None:
        """The word after `name`, if that is there; both are taken."""
        if name not in self._left:
            return None
        at = self._left.index(name)
        if at + 1 == len(self._left):
            raise Usage(f"{name} wants a word", required=self.usage)
        value = self._left[at + 1]
        del self._left[at : at + 2]
        return value

    def run_options(self) -> dict[str, Any]:
        """How a run is to go on, as far as it is said: the words after --schedule, --k and --seed, taken away."""
        found: dict[str, Any] = {"schedule": self.option("--schedule")}
        for name, least in (("k", 1), ("seed", 0)):
            word = self.option(f"--{name}")
            found[name] = None if word is None else number(word, least, self.usage)
        return {name: value for name, value in found.items() if value is not None}

    def done(self) -> None:
        """Raises Usage where words are left."""
        if self._left:
            raise Usage("these are words too many", required=self.usage, got=" ".join(self._left)[:80])


def number(word: str, least: int, usage: str) -> int:
    """A word as an integer from `least` up; raises Usage where it is none.

    >>> number("1_000", 0, "goto N"), number("1,000", 0, "goto N")
    (1000, 1000)
    """
    digits = word.replace(",", "").replace("_", "")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18) or int(digits) < least:
        raise Usage(f"not a number from {least} up", required=usage, got=word[:80])
    return int(digits)
