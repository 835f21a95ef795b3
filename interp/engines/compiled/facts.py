"""What is known of variables of the text that hold arrays, while it is written:

- `is_unique`: nobody else refers to the elements, no argument, record, view or other variable that is still used;
- `has_no_negative_zero`: no element is -0.0, so that to add zeros changes no bit;
- `may_be_lazy`: it may be zeros that are not written yet: sizes without elements (jit.arrays).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class ArrayFacts(NamedTuple):
    """What is known of one of them. Where nothing is, it is safe to take it as it is."""

    is_unique: bool = False
    has_no_negative_zero: bool = False
    may_be_lazy: bool = False


def merge_facts(facts: Sequence[ArrayFacts]) -> ArrayFacts:
    """What is known of a variable that is one of these."""
    return ArrayFacts(
        all(each.is_unique for each in facts),
        all(each.has_no_negative_zero for each in facts),
        any(each.may_be_lazy for each in facts),
    )


@dataclass(slots=True)
class ArrayFactTable:
    """The variables of which something is known."""

    unique: set[str] = field(default_factory=set)
    no_negative_zero: set[str] = field(default_factory=set)
    lazy: set[str] = field(default_factory=set)

    def facts_of(self, texts: Sequence[str]) -> list[ArrayFacts]:
        """What is known of those that are handed on together."""
        return [
            ArrayFacts(text in self.unique and texts.count(text) == 1, text in self.no_negative_zero, text in self.lazy)
            for text in texts
        ]

    def set_facts(self, text: str, fact: ArrayFacts) -> None:
        for known, holds in zip((self.unique, self.no_negative_zero, self.lazy), fact, strict=True):
            if holds:
                known.add(text)
            else:
                known.discard(text)

    def mark_shared(self, texts: Iterable[str]) -> None:
        """Somebody else refers to their elements from now on."""
        self.unique.difference_update(texts)

    def copy(self) -> ArrayFactTable:
        """What is known so far, by itself."""
        return ArrayFactTable(set(self.unique), set(self.no_negative_zero), set(self.lazy))

    def restore(self, before: ArrayFactTable) -> None:
        """Know what was known."""
        self.unique, self.no_negative_zero, self.lazy = (
            set(before.unique),
            set(before.no_negative_zero),
            set(before.lazy),
        )
