"""The guides: their examples give the documented output, and their tables agree with the code."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import pytest
import tagloom as tl
from tagloom.interp.breakpoints.names import NAMES

DOCS = Path(__file__).resolve().parents[1] / "docs"
DEBUGGING = DOCS / "debugging.md"


@pytest.mark.full
def test_the_examples() -> None:
    """Every example on the page of debugging gives the output below it."""
    summary = doctest.testfile(str(DEBUGGING), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert summary.failed == 0 and summary.attempted > 20


@pytest.mark.full
def test_the_examples_of_gradients() -> None:
    """Every example on the page of gradients gives the output below it."""
    summary = doctest.testfile(str(DOCS / "gradients.md"), module_relative=False)
    assert summary.failed == 0 and summary.attempted >= 6


@pytest.mark.full
def test_the_examples_of_state() -> None:
    """Every example on the page of variables, checkpoints and queues gives the output below it."""
    summary = doctest.testfile(str(DOCS / "state.md"), module_relative=False)
    assert summary.failed == 0 and summary.attempted >= 50


@pytest.mark.full
def test_the_examples_of_functions() -> None:
    """Every example on the page of traced programs gives the output below it."""
    summary = doctest.testfile(str(DOCS / "functions.md"), module_relative=False)
    assert summary.failed == 0 and summary.attempted >= 6


@pytest.mark.full
def test_the_examples_of_parts() -> None:
    """Every example on the page of partial programs gives the output below it."""
    summary = doctest.testfile(str(DOCS / "partial.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert summary.failed == 0 and summary.attempted >= 10


@pytest.mark.full
def test_the_examples_of_learning() -> None:
    """Every example on the page of training gives the output below it; its table lists each optimizer with its
    defaults."""
    page = DOCS / "learning.md"
    summary = doctest.testfile(str(page), module_relative=False)
    assert summary.failed == 0 and summary.attempted >= 15
    for name in sorted({*tl.optimizers.__all__} - {"Optimizer"}):
        signature = inspect.signature(getattr(tl.optimizers, name))
        words = ", ".join(f"{each.name}={_shown(each.default)}" for each in signature.parameters.values())
        assert re.search(rf"^\| `{name}` \| .* \| `{re.escape(words)}` \|$", page.read_text(), re.MULTILINE), words


def _shown(default: object) -> str:
    return {1e-10: "1e-10", 1e-6: "1e-6", 1e-8: "1e-8"}.get(default, str(default))  # type: ignore[call-overload, no-any-return]


def test_the_names_of_conditions() -> None:
    """The page lists the names of conditions with the descriptions that the language has."""
    rows = re.findall(r"^\| `([\w.]+)` \| (.*) \|$", DEBUGGING.read_text().split("| name | |")[1], re.MULTILINE)
    assert rows == [(row.name, row.doc) for row in NAMES.values()]


@pytest.mark.parametrize(
    ("page", "folder"),
    [("autograph-internals.md", "core/frontend/source"), ("speculation-internals.md", "interp/speculation")],
)
def test_tables_of_files_are_complete(page: str, folder: str) -> None:
    """The table of a page has each file of its folder."""
    rows = re.findall(r"^\| (`[^|]*\.py`) \|", (DOCS / page).read_text(), re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    folder_path = DOCS.parent / folder
    files = {path.relative_to(folder_path).as_posix() for path in folder_path.rglob("*.py")}
    assert listed == {name for name in files if not name.endswith("__init__.py")}
