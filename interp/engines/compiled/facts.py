"""What is known of variables of the text that hold arrays, while it is written:

- `own`: nobody else refers to the elements, no argument, record, view or other variable that is still used;
- `clean`: no element is -0.0, so that to add zeros changes no bit;
- `blank`: it may be zeros that are not written yet: sizes without elements (jit.arrays).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Fact(NamedTuple):
    """What is known of one of them. Where nothing is, it is safe to take it as it is."""

    own: bool = False
    clean: bool = False
    blank: bool = False


def either(facts: Sequence[Fact]) -> Fact:
    """What is known of a variable that is one of these."""
    return Fact(all(each.own for each in facts), all(each.clean for each in facts), any(each.blank for each in facts))


@dataclass(slots=True)
class Known:
    """The variables of which something is known."""

    own: set[str] = field(default_factory=set)
    clean: set[str] = field(default_factory=set)
    blank: set[str] = field(default_factory=set)

    def of(self, texts: Sequence[str]) -> list[Fact]:
        """What is known of those that are handed on together."""
        return [
            Fact(text in self.own and texts.count(text) == 1, text in self.clean, text in self.blank) for text in texts
        ]

    def add(self, text: str, fact: Fact) -> None:
        for known, holds in zip((self.own, self.clean, self.blank), fact, strict=True):
            if holds:
                known.add(text)
            else:
                known.discard(text)

    def share(self, texts: Iterable[str]) -> None:
        """Somebody else refers to their elements from now on."""
        self.own.difference_update(texts)

    def copy(self) -> Known:
        """What is known so far, by itself."""
        return Known(set(self.own), set(self.clean), set(self.blank))

    def restore(self, before: Known) -> None:
        """Know what was known."""
        self.own, self.clean, self.blank = set(before.own), set(before.clean), set(before.blank)
