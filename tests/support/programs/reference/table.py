"""The table of the reference suite: plain Python functions by behaviour, with inputs.

Its plan is that of AutoGraph's reference tests (github.com/tensorflow/autograph, `reference_tests`); the functions are
written anew. `tests/core/frontend/source/test_reference_suite.py` has the law for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """A function with its inputs, and what tagloom refuses in it, if anything."""

    function: Callable[..., Any]
    inputs: tuple[tuple[Any, ...], ...]
    refusal: str = ""
    """The beginning of the refusal where all arguments are symbolic; its line has the comment `# refused`."""
    mixed: bool = True
    """Whether the function also runs with every second argument known."""
    gap: str = ""
    """What tagloom does not do yet that it should: the law fails."""

    @property
    def name(self) -> str:
        """The subject, and the name of the function."""
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__qualname__}"


ENTRIES: list[Entry] = []


def entry(*inputs: tuple[Any, ...], refusal: str = "", mixed: bool = True, gap: str = "") -> Callable[[Any], Any]:
    """Add the decorated function to the table."""

    def add(function: Any) -> Any:
        ENTRIES.append(Entry(function, inputs, refusal, mixed, gap))
        return function

    return add
