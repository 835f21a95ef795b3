"""The table of pictures by name, and their rendering to a format.

The views and charts are built by the other modules of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from ..core.errors import Usage, plural
from ..core.graph.graph import Graph
from ..core.program.program import Program
from ..core.value import abbreviate
from ..interp.history.history import History
from ..interp.outcome.statistics import Stats
from .activation_tree import activation_tree_view
from .arrow_labels import clear_labels
from .charts import profile_svg, spacetime_svg
from .collapse import (
    MAX_BOXES,
    collapse_clusters,
    extract_clusters,
    find_clusters,
    fold_to_fit,
)
from .dot import to_dot
from .frame_titles import clear_titles, shift_titles, title_shifts
from .frames import fit_badges
from .graph_view import graph_view
from .labels import abbreviate_list
from .operand_order import order_operands
from .program_view import program_view
from .render import FORMATS, LAYOUT_FORMAT, ProgressCallback, render
from .screen import SCREEN, fit_screen, shrink_svg
from .size_estimate import PictureSize
from .state_view import state_view
from .style import LIGHT, Theme
from .unfolded_graph import critical_view, side_by_side, unfolded_view
from .view import View

Chart: TypeAlias = Callable[[Theme], str]
"""A chart: a function from a theme to SVG."""

Picture: TypeAlias = View | Chart


class RunPicture(NamedTuple):
    """A kind of picture of a run up to the history's position: its description, and its constructor."""

    doc: str
    make: Callable[[History], Picture]


def static_view(subject: Program | Graph) -> View:
    """The view of a program or a graph, without a run."""
    return graph_view(subject) if isinstance(subject, Graph) else program_view(subject)


def moment_view(history: History) -> View:
    """The view of the graph with its tokens at the history's position."""
    position = history.position
    view = state_view(history.state, history.last_event)
    is_over = position == len(history) and (history.stop_error is not None or not history.state.flight)
    ending = f": {history.outcome().status}" if is_over else ""
    view.caption = f"{describe_run(history)} after {plural(position, 'event')}, {history.schedule}{ending}"
    return view


MAX_UNFOLDED_FIRINGS = 20_000
"""The most firings of a run that can be unfolded; each becomes a box before clusters are folded."""


def draw_unfolded(history: History) -> View:
    """The picture `unfolded`; raises Usage if there are more than MAX_UNFOLDED_FIRINGS firings."""
    firings = history.state.firings
    if firings > MAX_UNFOLDED_FIRINGS:
        hint = "a picture of tags or spacetime shows all of it; or draw an earlier moment"
        raise Usage(
            "too many firings to draw a box for each",
            required=f"{MAX_UNFOLDED_FIRINGS:,} at most",
            got=f"{firings:,}",
            hint=hint,
        )
    return unfolded_view(history.graph, history.arguments, history[: history.position])


def draw_tags(history: History) -> View:
    """The picture `tags`."""
    return activation_tree_view(history.graph, history.arguments, history[: history.position])


def draw_critical_path(history: History) -> View:
    """The picture `critical`."""
    return critical_view(history.graph, history.arguments, history[: history.position])


def draw_spacetime(history: History) -> Chart:
    """The picture `spacetime`."""
    events = history[: history.position]
    return lambda theme: spacetime_svg(history.graph, events, theme)


def draw_profile(history: History) -> Chart:
    """The picture `profile`."""
    return profile_chart(describe_run(history), history.stats, history.schedule)


def profile_chart(name: str, stats: Stats, schedule: str) -> Chart:
    """The parallelism profile of a run: the firings in each wave; raises Usage if the run did not count waves."""
    firings, waiting = stats.profile, stats.waiting
    if firings is None or waiting is None:
        raise Usage("waves are counted under one schedule only", required="waves", got=schedule)
    return lambda theme: profile_svg(name, firings, waiting, theme)


MAX_CAPTION_LENGTH = 200
"""The most characters of arguments in a caption; the others are counted."""


def describe_run(history: History) -> str:
    """The function and the arguments of a run, such as `fib(3)`, without what it captures."""
    arguments = map(abbreviate, history.graph.without_captures(history.arguments))
    return f"{history.graph.name}({abbreviate_list(arguments, MAX_CAPTION_LENGTH)})"


PICTURES: Mapping[str, RunPicture] = {
    "moment": RunPicture("the graph, with the tokens where they are", moment_view),
    "unfolded": RunPicture("a box for each firing, in a cluster for each activation", draw_unfolded),
    "beside": RunPicture(
        "the graph, and beside it what unfolded from it",
        lambda h: side_by_side(static_view(h.graph), draw_unfolded(h)),
    ),
    "tags": RunPicture("the tree of tags: every call and iteration, what went in and what came out", draw_tags),
    "critical": RunPicture("the firings, with a critical path drawn bold", draw_critical_path),
    "spacetime": RunPicture("how often each node fired in each wave", draw_spacetime),
    "profile": RunPicture("how many nodes fired in each wave, and how many tokens waited", draw_profile),
}
"""The pictures of a run, by name."""


def run_picture(history: History, name: str) -> Picture:
    """The picture of a run with this name, up to the history's position; raises Usage for an unknown name."""
    if name not in PICTURES:
        raise Usage("there is no picture of this name", required=", ".join(PICTURES), got=repr(name))
    return PICTURES[name].make(history)


def render_picture(
    subject: Picture,
    format: str,
    *,
    theme: Theme = LIGHT,
    only: tuple[str, ...] = (),
    fold: tuple[str, ...] = (),
    most: int = MAX_BOXES,
    full: bool = False,
    progress: ProgressCallback | None = None,
) -> bytes:
    """Render a picture as svg, png, pdf or dot. `only` names the functions and loops to which it is restricted, `fold`
    those that are drawn as one box each. Bundles are drawn as one box each, and clusters are folded until there are at
    most `most` boxes; `full` draws each node.

    Raises Usage for another format, if the layout fails, and for a chart in any format but svg.
    """
    if not isinstance(subject, View):
        if format != "svg":
            raise Usage("a chart can only be drawn as svg", got=format)
        if only or fold:
            raise Usage(
                "a chart cannot be restricted or folded", got=", ".join((*only, *fold)), hint="omit `only` and `fold`"
            )
        return subject(theme).encode()
    if format not in (*FORMATS, "dot"):
        raise Usage("there is no picture format of this name", required=", ".join((*FORMATS, "dot")), got=repr(format))
    view = trim_view(subject, only, fold, most, full=full)
    if view.is_moment and not full:
        [view] = fit_badges([view])
    source = to_dot(order_operands(view), theme)
    if format == "dot":
        return source.encode()
    svg = render(source, "svg", progress=progress).decode()
    if format == "svg":
        cleared = clear_titles(svg)
        return shrink_svg((cleared if view.is_moment else clear_labels(cleared)).encode())
    shifts = title_shifts(svg)
    if not shifts:
        return render(source, format, progress=progress)
    layout = render(source, LAYOUT_FORMAT, progress=progress).decode()
    return render(shift_titles(layout, shifts), format, engine="nop2", progress=progress)


def trim_view(
    view: View,
    only: tuple[str, ...] = (),
    fold: tuple[str, ...] = (),
    most: int = MAX_BOXES,
    screen: PictureSize = SCREEN,
    *,
    full: bool = False,
) -> View:
    """The part of a view that is drawn: restricted, bundled and folded for a screen as `render_picture` describes."""
    if most < 1:
        raise Usage("a picture needs at least one box", got=f"at most {most}")
    cut = extract_clusters(view, find_clusters(view, only)) if only else view
    folded = collapse_clusters(cut, find_clusters(cut, fold)) if fold else cut
    return folded if full else fold_to_fit(fit_screen(folded, screen), most)
