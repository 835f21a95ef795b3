"""Displays in notebooks, and pictures from Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from support.pictures.drawings import fib, nested
from tagloom.core import display
from tagloom.core.errors import Usage
from tagloom.viz.pictures import PICTURES


@tl.function
def open_ended(x):  # type: ignore[no-untyped-def]
    return x + 1


@pytest.mark.full
def test_objects_display_themselves() -> None:
    """Programs, graphs, functions, runs and histories display as pictures; an object without a picture displays as
    text."""
    history = fib.history(3)
    history.run()
    for subject in (fib, fib.graph, fib.program, history, fib.run(3)):
        shown = subject._repr_svg_()
        assert shown is not None and "<svg" in shown and shown == subject._repr_svg_()
    assert fib.run(3, schedule="lifo")._repr_svg_() is None
    assert open_ended._repr_svg_() is None


@pytest.mark.full
@pytest.mark.parametrize("form", ["graph", *PICTURES])
def test_every_picture_of_a_history(form: str, tmp_path: Path) -> None:
    """Each form of the command line exists, dark too, and can be saved."""
    history = fib.history(3)
    history.run()
    picture = tl.picture(history, form, dark=True)
    picture.save(tmp_path / "run.svg")
    assert (tmp_path / "run.svg").read_text() == picture._repr_svg_()
    assert str(picture) == f"a picture of fib, {form}"


@pytest.mark.full
def test_parts_and_folds() -> None:
    """A loop alone, and a loop as one box, are chosen by name."""
    alone, folded = tl.picture(nested, only=["loop_1"]), tl.picture(nested, fold=["loop_1"])
    assert "while loop_1" in alone._repr_svg_() and "nested</text>" not in alone._repr_svg_()
    assert "19 nodes" in folded._repr_svg_()


@pytest.mark.parametrize(
    ("subject", "form", "message"),
    [
        (fib.graph, "program", "a graph has no structured program"),
        (fib.program, "graph", "a program is not a graph"),
        (fib, "tags", "there is no such picture of this object"),
        (3, "graph", "there is no such picture of this object"),
        (fib.history(2), "cake", "there is no picture of this name"),
        (fib.run(2, schedule="fifo"), "profile", "waves are counted"),
        (fib.history(2, schedule="fifo"), "profile", "waves are counted"),
    ],
)
def test_missing_forms_are_refused(subject: Any, form: str, message: str) -> None:
    """A form that the object lacks is refused in words."""
    with pytest.raises(tl.Usage, match=message):
        tl.picture(subject, form)


@pytest.mark.full
def test_without_drawing_there_is_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If the display slot is empty, nothing is drawn; a file that cannot be written is reported."""
    with pytest.raises(tl.Usage, match="cannot be written"):
        tl.picture(fib).save(tmp_path / "no" / "such.svg")
    with pytest.raises(tl.Usage, match="no picture format"):
        tl.picture(fib).save(tmp_path / "a.gif")
    monkeypatch.setattr(display.hooks, "render_svg", None)
    assert fib.graph._repr_svg_() is None


@pytest.mark.full
def test_importing_loads_no_drawing() -> None:
    """`import tagloom` loads no module that draws, and not the dtypes of `ml_dtypes`, which take half a second."""
    code = "import sys, tagloom; print({'graphviz', 'ml_dtypes'} & {name.split('.')[0] for name in sys.modules})"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


def test_missing_graphviz_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package graphviz, the errors of pages and pictures say how to install it."""
    history = fib.history(3)
    history.run()
    monkeypatch.setitem(sys.modules, "graphviz", None)
    for draw in (lambda history: history.player(), lambda history: tl.picture(history)._repr_svg_()):
        with pytest.raises(Usage, match="graphviz") as error:
            draw(history)
        assert isinstance(error.value, ImportError) and "pip install graphviz" in str(error.value)
