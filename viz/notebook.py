"""Pictures for Python programs and notebooks, which display them as SVG.

>>> from tagloom import GraphBuilder, Type, int64
>>> builder = GraphBuilder("double")
>>> x = builder.argument("x", Type(int64))
>>> graph = builder.build([builder.node("add", "y", [x, x], [Type(int64)])[0]])
>>> print(picture(graph))
a picture of double, graph
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import TagloomError, Usage
from ..core.files import write_file
from ..core.graph.graph import Graph
from ..core.program.program import Program
from ..interp.function.function import Function
from ..interp.history.history import History
from ..interp.outcome.outcome import Outcome
from .collapse import MAX_BOXES
from .pictures import Picture, moment_view, profile_chart, render_picture, static_view
from .pictures import run_picture as of_run
from .style import DARK, LIGHT, Theme

if TYPE_CHECKING:
    from .player.page import PlayerPage, PlayerSelection


@dataclass(frozen=True, slots=True, repr=False)
class NotebookPicture:
    """A picture that a notebook displays and that can be saved."""

    name: str
    picture: Picture
    theme: Theme
    only: tuple[str, ...]
    fold: tuple[str, ...]
    most: int
    full: bool

    def _repr_svg_(self) -> str:
        return self._render("svg").decode()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file that ends in .svg, .png, .pdf or .dot; raises Usage if that is impossible."""
        target = Path(path)
        write_file(target, self._render(target.suffix.lower().removeprefix(".")))

    def _render(self, format: str) -> bytes:
        choice = {"only": self.only, "fold": self.fold, "most": self.most, "full": self.full}
        return render_picture(self.picture, format, theme=self.theme, **choice)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"a picture of {self.name}"

    def __repr__(self) -> str:
        return f"<{self}>"


def picture(
    subject: object,
    form: str = "graph",
    *,
    dark: bool = False,
    only: Iterable[str] = (),
    fold: Iterable[str] = (),
    most: int = MAX_BOXES,
    full: bool = False,
) -> NotebookPicture:
    """A picture of a program, a graph, a function, or a history at its position.

    `form` is graph or program; for a history graph, unfolded, beside, critical, tags, spacetime or profile. `only`
    names the functions and loops to which the picture is restricted, `fold` those that are drawn as one box each. A
    large graph is drawn with bundles, and folded; `full` draws each node. Raises Usage if there is no such picture.
    """
    name, drawn_subject = resolve_picture(subject, form)
    return NotebookPicture(
        f"{name}, {form}", drawn_subject, DARK if dark else LIGHT, tuple(only), tuple(fold), most, full
    )


def resolve_picture(subject: object, form: str) -> tuple[str, Picture]:
    """The name of a subject and its picture in a form; raises Usage if it has none."""
    match subject, form:
        case History(), "graph":
            return subject.name, moment_view(subject)
        case History(), _:
            return subject.name, of_run(subject, form)
        case Outcome(), "profile":
            return subject.graph.name, profile_chart(subject.graph.name, subject.stats, subject.schedule)
        case Function() | Program() | Graph(), "graph" | "program":
            return static_picture(subject, form)
    required = (
        'a program, a graph or a function with "graph" or "program"; a history with any; an outcome with "profile"'
    )
    raise Usage("there is no such picture of this object", required=required, got=f"{type(subject).__name__}, {form!r}")


def static_picture(subject: Function | Program | Graph, form: str) -> tuple[str, Picture]:
    """The name and the picture of a program or graph that is not run; raises Usage if it has no such form."""
    if isinstance(subject, Function):
        return subject.name, static_view(subject.graph if form == "graph" else subject.program)
    if isinstance(subject, Graph):
        if form == "program":
            raise Usage("a graph has no structured program", got=subject.name, hint='"graph"')
        return subject.name, static_view(subject)
    if form == "graph":
        raise Usage("a program is not a graph", got=subject.entry, hint="tl.lower gives its graph")
    return subject.entry, static_view(subject)


def display(subject: object) -> str | None:
    """The SVG that a notebook displays for an object by default; None if it has no picture and is shown as text."""
    form = {Program: "program", Outcome: "profile"}.get(type(subject), "graph")
    try:
        return picture(subject, form)._repr_svg_()
    except TagloomError:
        return None


def widget(history: History, *, most: int | None = None, fold: Iterable[str] = (), boxes: int | None = None) -> Any:
    """A widget for notebooks: a page that plays a history, and moves it.

    A step on the page moves the history in the kernel; after each cell that is run, the page shows the position of the
    history. The run continues up to the last event of the page, the `most`-th (by default 5,000); `fold` and `boxes`
    are those of `player`. Raises Usage if anywidget is not installed, or if there is no page of this history.
    """
    if not isinstance(history, History):
        hint = "f.history(ARGS) makes a history"
        raise Usage("a widget shows a history only", got=type(history).__name__, hint=hint, python=TypeError)
    if find_spec("anywidget") is None:
        hint = 'pip install "tagloom[notebook]"'
        raise Usage(
            "anywidget, which connects the page with the kernel, is not installed", hint=hint, python=ImportError
        )
    from .player.widget import HistoryWidget

    return HistoryWidget(history, select_part(0, most, "", fold, boxes))


def play(
    run: Outcome | History, *, first: int, most: int | None, under: str, fold: Sequence[str], boxes: int | None
) -> PlayerPage:
    """A page that plays a run, or part of it; None is the default of PlayerSelection."""
    from .player.page import page_of_history, page_of_outcome

    choice = select_part(first, most, under, fold, boxes)
    return page_of_history(run, choice) if isinstance(run, History) else page_of_outcome(run, choice)


def select_part(first: int, most: int | None, under: str, fold: Iterable[str], boxes: int | None) -> PlayerSelection:
    """The part of a run that a page shows; None is the default of PlayerSelection."""
    from .player.page import PlayerSelection

    defaults = PlayerSelection()
    max_events = defaults.max_events if most is None else most
    max_boxes = defaults.max_boxes if boxes is None else boxes
    return PlayerSelection(first, max_events, under, max_boxes, tuple(fold))
