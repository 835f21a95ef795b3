"""The glossary is one list of terms, which docs/glossary.md and F1 show; links on all pages lead somewhere, and their
tables and lists are whole."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from glossary import PAGE, format_entry, page_text
from tagloom.tui.panes.help import GLOSSARY_FILE, TERM_WIDTH, glossary_entries, glossary_lines, help_pages
from tagloom.tui.session.commands import COMMANDS

ROOT = PAGE.parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_page_is_generated() -> None:
    """docs/glossary.md is what `python tests/glossary.py` writes, and a program can read its lines."""
    text = PAGE.read_text(encoding="utf-8")
    assert text == page_text()
    rows = re.findall(r"^- \*\*(.+?)\*\*: (.+) \(\[.+\]\((.+)\)\)$", text, re.MULTILINE)
    assert rows == [tuple(entry) for entry in glossary_entries()]


def test_terms_are_in_order_and_short() -> None:
    """Each term is there once, in alphabetical order, with a definition of one line."""
    terms = [entry.term for entry in glossary_entries()]
    assert terms == sorted({*terms}, key=str.lower) and len(terms) > 100
    for entry in glossary_entries():
        assert len(entry.term) < TERM_WIDTH and not entry.definition.endswith("."), entry
        assert len(f"**{entry.term}**: {entry.definition}") <= 120, format_entry(entry)


def test_help_shows_the_same_lines() -> None:
    """The last page of F1 is the glossary, whatever its width."""
    for width in (71, 85):
        page = help_pages("graph", COMMANDS.values(), width)[-1]
        assert page.splitlines()[-len(glossary_lines(width)) :] == glossary_lines(width)
        assert all(len(line) <= width for line in glossary_lines(width))


def test_the_glossary_is_shipped_and_linked() -> None:
    """The data is part of the package, and README and the list of pages link to the page."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        data = tomllib.load(file)["tool"]["setuptools"]["package-data"]
    assert GLOSSARY_FILE.name in data["tagloom.tui.panes"]
    assert "(docs/glossary.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(glossary.md)" in (ROOT / "docs" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    """Every link on a page leads to a file of the repository, and to a heading of it where it names one."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def layout_faults(text: str) -> list[str]:
    """Lines of a page that a reflow has damaged: rows without their first bar, tables without a header, runs of spaces
    within a line, and items of lists that follow a sentence, or whose predecessor is missing."""
    faults, previous, item = [], "", 0
    for line in re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL).splitlines():
        is_row, number = line.startswith("|"), re.match(r"(\d+)\. ", line)
        is_out_of_order = number is not None and int(number[1]) not in (1, item + 1)
        item = int(number[1]) if number else item
        if (
            is_out_of_order
            or (line.endswith("|") and not is_row)
            or (line.startswith("|---") and not previous.startswith("|"))
            or (not is_row and re.search(r"\S {3,}\S|\. - [A-Z]", line.strip()))
        ):
            faults.append(line)
        previous = line
    return faults


def test_tables_and_lists_are_whole() -> None:
    """No page has a table or list that runs into a paragraph."""
    faults = {page.stem: layout_faults(page.read_text(encoding="utf-8")) for page in PAGES}
    assert {stem: lines for stem, lines in faults.items() if lines} == {}


def test_damaged_tables_and_lists_are_caught() -> None:
    """Each kind of damage is reported once."""
    damage = ["packages. | package | owns |", "|---|---|", "a while. - Systems", "of   these", "3. third"]
    page = ["1. first 2. second", damage[0], "end", *damage[1:]]
    assert layout_faults("\n".join(page)) == damage


def anchors(file: Path) -> set[str]:
    """The anchors that GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
