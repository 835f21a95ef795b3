"""The gallery: its commands make the pictures in the repository, and it shows all of them."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest
from gallery import PAGE, ROOT, commands
from tagloom.tui.cli.main import app

PICTURES = PAGE.parent / "pictures"


def said(svg: bytes) -> list[str]:
    """All text and tooltips of a picture: the parts that do not depend on layout."""
    root = ElementTree.fromstring(svg)
    tips = [each.get("{http://www.w3.org/1999/xlink}title") or "" for each in root.iter()]
    return sorted([*root.itertext(), *tips])


LARGE = {"counter", "l2hmc", "net", "sentiment_trees", "tree_lstm", "tree_rnn"}
SAME_GRAPHS = {"workers"}
"""Programs whose graphs are those of other programs."""
PLOTS = {"workers.svg"}
"""Pictures of what a benchmark measured."""


def test_page_and_folder_agree() -> None:
    """Every picture on the page is made by the command above it, and the folder has no others but plots; every
    program of papers_examples has a picture, except those of models and of training, which are large, of plain
    Python, and those whose graphs are drawn for other programs."""
    shown = re.findall(r"\]\(pictures/([\w.]+)\)", PAGE.read_text())
    results = [Path(words[-1]).name for words in commands()]
    assert sorted(shown) == sorted(results) == sorted({path.name for path in PICTURES.glob("*.svg")} - PLOTS)
    drawn = {words[1] for words in commands()}
    programs = {
        path
        for path in ROOT.glob("papers_examples/*/*.py")
        if path.parent.name not in ("tensorflow", "autograph", "janus")
    }
    assert {str(path.relative_to(ROOT)) for path in programs if path.stem not in LARGE | SAME_GRAPHS} <= drawn


def _check(words: list[str], folder: Path) -> None:
    target = folder / "made.svg"
    app([*words[:-1], str(target)], standalone_mode=False)
    assert said(target.read_bytes()) == said((ROOT / words[-1]).read_bytes())


FEW = ("fib_at_20", "deadlock", "race", "fib_spacetime", "fib_critical")


@pytest.mark.full
@pytest.mark.parametrize("name", FEW)
def test_commands_make_the_stored_pictures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    """A sample of the commands make pictures with the texts of those in the repository."""
    monkeypatch.chdir(ROOT)
    _check(next(words for words in commands() if Path(words[-1]).stem == name), tmp_path)


@pytest.mark.heavy
def test_all_commands_make_the_stored_pictures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All commands make pictures with the texts of those in the repository. Modules of StableHLO need jaxlib, digits
    scikit-learn."""
    monkeypatch.chdir(ROOT)
    for words in commands():
        needed = "jaxlib" if words[1].endswith(".mlir") else "sklearn" if "digits" in words[1] else "json"
        if find_spec(needed) is None:
            continue
        _check(words, tmp_path)
