"""Facts about array variables of the generated code, collected while it is emitted:

- `is_unique`: no argument, record, view or other live variable refers to the elements;
- `has_no_negative_zero`: no element is -0.0, so adding zeros changes no bit;
- `may_be_lazy`: the array may be lazy zeros: sizes without elements (jit.arrays).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class ArrayFacts(NamedTuple):
    """The facts about one variable. The default, no fact, is always safe."""

    is_unique: bool = False
    has_no_negative_zero: bool = False
    may_be_lazy: bool = False


def merge_facts(facts: Sequence[ArrayFacts]) -> ArrayFacts:
    """The facts about a variable that is one of these."""
    return ArrayFacts(
        all(each.is_unique for each in facts),
        all(each.has_no_negative_zero for each in facts),
        any(each.may_be_lazy for each in facts),
    )


@dataclass(slots=True)
class ArrayFactTable:
    """The variables about which facts are known."""

    unique: set[str] = field(default_factory=set)
    no_negative_zero: set[str] = field(default_factory=set)
    lazy: set[str] = field(default_factory=set)

    def facts_of(self, texts: Sequence[str]) -> list[ArrayFacts]:
        """The facts about variables that are passed on together."""
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
        """Note that the elements of these variables are shared from now on."""
        self.unique.difference_update(texts)

    def copy(self) -> ArrayFactTable:
        """An independent copy."""
        return ArrayFactTable(set(self.unique), set(self.no_negative_zero), set(self.lazy))

    def restore(self, before: ArrayFactTable) -> None:
        """Restore an earlier copy."""
        self.unique, self.no_negative_zero, self.lazy = (
            set(before.unique),
            set(before.no_negative_zero),
            set(before.lazy),
        )
