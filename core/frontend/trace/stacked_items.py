"""Stacked items: the element of a list that stands for items whose number only the run knows."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, NoReturn

from ...errors import Invalid
from .source_location import user_location
from .unusable import UnusableValue


@dataclass(frozen=True, eq=False, repr=False)
class StackedItems(UnusableValue):
    """Items of a list, as many as the run says: a value that is nested as each of them, whose leaves are arrays with
    the items along the first axis.

    `[*stacked, x]`, as a Python list, is a list with these items and then x. So Python's own `append`, `extend`, `+`
    and `copy` of lists are right; all else that looks at items of a list must know about stacked ones, and Python's own
    use of them as an item raises Invalid (F4).
    """

    columns: Any

    def fail(self, *arguments: object, **options: object) -> NoReturn:
        """Raise the error of a use as an item."""
        raise Invalid(
            "a list whose length only the run knows is used where its length must be known",
            rule="F4",
            where=user_location(),
            hint="loop over it, index it, or take its len()",
        )

    __repr__ = __str__ = fail


def has_stacked_items(container: Any) -> bool:
    """Whether a list, tuple or deque has stacked items, so that only the run knows its length."""
    return type(container) in (list, tuple, deque) and any(type(item) is StackedItems for item in container)
