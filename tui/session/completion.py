"""Completion of command lines."""

from __future__ import annotations

from collections.abc import Iterator

from .session import Session


def completions(session: Session, line: str) -> Iterator[str]:
    """The words that could complete a line: names of commands, nodes, runs and bookmarks."""
    if " " not in line.lstrip():
        yield from session.commands
        return
    situation = session.snapshot
    yield from situation.run_names
    yield from (f"@{mark.name}" for mark in situation.bookmarks)
    if situation.runs:
        yield from dict.fromkeys(name for node in session.history.graph.nodes for name in (node.name, str(node)))


def complete_line(session: Session, line: str) -> str | None:
    """The line with its last word completed; None if there is no completion."""
    before, space, word = line.rpartition(" ")
    if not word:
        return None
    fitting = next((each for each in completions(session, line) if each.startswith(word) and each != word), None)
    return None if fitting is None else f"{before}{space}{fitting}"
