"""Writes the glossary page from the entries that F1 shows.

python tests/glossary.py        writes docs/glossary.md
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from tagloom.tui.panes.help import GlossaryEntry, glossary_entries

PAGE = Path(__file__).resolve().parents[1] / "docs" / "glossary.md"
HEAD = """# Glossary

Every term in one line, with a link to the page that explains it. F1 in the [debugger](app.md) shows the same lines.
"""


def format_entry(entry: GlossaryEntry) -> str:
    """A line of the page.

    >>> format_entry(GlossaryEntry("work", "the number of firings", "semantics.md#5-the-machine"))
    '- **work**: the number of firings ([semantics](semantics.md#5-the-machine))'
    """
    path = PurePosixPath(entry.page.partition("#")[0])
    label = path.parent.name if path.stem == "README" else path.stem
    return f"- **{entry.term}**: {entry.definition} ([{label}]({entry.page}))"


def page_text() -> str:
    """The whole page."""
    return "\n".join([HEAD, *map(format_entry, glossary_entries()), ""])


if __name__ == "__main__":
    PAGE.write_text(page_text(), encoding="utf-8")
