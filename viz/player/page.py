"""The page: one self-contained HTML file that makes no network requests.

Its content security policy allows only its own style and script, by their hashes. Text from programs (names, values,
printed lines, source) is passed to the script as JSON without any `<`, and shown as text, never as markup.
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib.resources import files
from math import inf
from typing import Any, NamedTuple

from ...core.errors import Usage
from ...core.escape import escape_controls, escape_line
from ...core.files import write_file
from ...core.graph.graph import Graph
from ...core.value import Value, abbreviate
from ...interp.breakpoints.expression import EventPredicate
from ...interp.history.advance import WHAT_IF
from ...interp.history.history import History
from ...interp.machine.event import Event
from ...interp.machine.state import State
from ...interp.outcome.outcome import Outcome
from ...interp.outcome.worker_lanes import WorkerLanes
from ...interp.queries.ask import parse_tag
from ..collapse import MAX_BOXES
from ..labels import abbreviate_list
from ..render import ProgressCallback
from ..state_view import abbreviate_value
from ..style import BADGE_LOOKS, BLUE, DARK, LIGHT, PALETTE, SKY, Theme
from .columns import PlayerColumns, encode_lanes, source_excerpts
from .graph_layout import build_plans
from .recording import MAX_EVENTS, record_tokens, recorded_arguments, select_segment

SCRIPTS = ("data", "geometry", "tokens", "panes", "predict", "print", "main", "controls")
"""The scripts of a page in order; together they form one script."""

LIVE_MODULES = ("scalars", "keys", "machine")
"""The modules of the token machine, which also run under Node."""

LIVE_SCRIPTS = (*SCRIPTS[:-1], "record", "live", SCRIPTS[-1])
"""The scripts of a live page; they may `require` the modules."""

BLUE_LINE = "#3D9BDC"
"""The blue of thin lines on a dark background, where the palette's blue is hardly visible."""

REQUIRE = """const loaded = new Map();
function require(name) {
  if (!loaded.has(name)) {
    const module = { exports: {} };
    modules[name](module, require);
    loaded.set(name, module.exports);
  }
  return loaded.get(name);
}
"""
"""How the scripts of a page load a module."""

HEIGHT = 760
"""The height of a page in a notebook, in pixels."""


MAX_TITLE_LENGTH = 80
"""The most characters of results in the title; longer ones are abbreviated, with the whole in a tooltip."""


class PlayerSelection(NamedTuple):
    """The part of a run that a page shows: its first event, the most events, and the activation (`under`); and for the
    graph the most boxes, the functions and loops to fold, and whether each node is drawn (`full`). With `embed` the
    page has the graph and the controls alone, for a frame of another page. `about` is a text below the title."""

    first: int = 0
    max_events: int = MAX_EVENTS
    under: str = ""
    max_boxes: int = MAX_BOXES
    fold: tuple[str, ...] = ()
    full: bool = False
    embed: bool = False
    about: str = ""


class PlayerSummary(NamedTuple):
    """The summary of the whole run on a page; `status` is empty if the run continues after the known events."""

    call: str
    """The call, with as many arguments as fit in a title."""
    full_call: str
    schedule: str
    status: str
    value: str
    """The results, as many as fit in a title."""
    full_value: str
    error: str


@dataclass(frozen=True, slots=True, repr=False)
class PlayerPage:
    """A page that a notebook displays and that can be saved."""

    name: str
    html: str
    note: str
    """A sentence about omitted events; empty if the page has the whole run."""

    def _repr_html_(self) -> str:
        """The page in a sandboxed frame that may only run its script."""
        title = escape(escape_line(self.name))
        size = f'width="100%" height="{HEIGHT}"'
        return f'<iframe title="{title}" sandbox="allow-scripts" {size} srcdoc="{escape(self.html)}"></iframe>'

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file; raises Usage if that is impossible."""
        write_file(path, self.html.encode())

    def __str__(self) -> str:
        return f"a page that plays {self.name}"

    def __repr__(self) -> str:
        return f"<{self}>"


def page_of_outcome(outcome: Outcome, choice: PlayerSelection | None = None) -> PlayerPage:
    """The page of a run that kept its events; raises Usage if it did not."""
    if outcome.first_kept:
        raise Usage("this run did not keep all events", hint='run it with keep="events"')
    lanes = None if outcome.cluster is None else outcome.cluster.lanes
    events, choice = tuple(outcome.events), choice or PlayerSelection()
    return build_page(outcome.graph, events, None, outcome, choice, None, lanes=lanes)


def page_of_history(
    history: History, choice: PlayerSelection | None = None, progress: ProgressCallback | None = None
) -> PlayerPage:
    """The page of a finished run, whatever the position of its history."""
    choice, outcome = choice or PlayerSelection(), history.outcome()
    return build_page(history.graph, history[:], history.arguments, outcome, choice, progress, lanes=history.lanes)


def page_of_beginning(
    history: History, choice: PlayerSelection | None = None, progress: ProgressCallback | None = None
) -> PlayerPage:
    """The page of a run that has not begun: the run continues up to the last event that the page shows, and no further,
    and the page says whether it is over then."""
    choice = choice or PlayerSelection()
    history.forward_to(*stop_of_page(history, choice))
    is_over = not history.state.flight or history.stop_error is not None
    outcome = history.outcome() if is_over else None
    return build_page(
        history.graph, history[:], history.arguments, outcome, choice, progress, history.schedule, history.lanes
    )


def stop_of_page(history: History, choice: PlayerSelection) -> tuple[EventPredicate, float]:
    """The event at which a run has all that a page shows, as a condition and as a number of events."""
    if not choice.under:
        return (lambda state, event: False), choice.first + choice.max_events
    try:
        top = parse_tag(history.graph, choice.under)
    except Usage:
        return (lambda state, event: False), inf  # the events of a loaded log may have such a tag
    count = 0

    def is_last(state: State, event: Event) -> bool:
        nonlocal count
        tags = (event.token.tag, *(token.tag for token in event.sent))
        count += state.steps > choice.first and any(top in tag.self_and_ancestors() for tag in tags)
        return count > choice.max_events

    return is_last, inf


def build_page(
    graph: Graph,
    events: Sequence[Event],
    arguments: Sequence[Value] | None,
    outcome: Outcome | None,
    choice: PlayerSelection,
    progress: ProgressCallback | None,
    schedule: str = "",
    lanes: WorkerLanes | None = None,
) -> PlayerPage:
    """The page of a run, with its scripts and styles. `outcome` is None if the run goes on after these events, by
    `schedule`; `lanes` are the workers of the events, if there were several."""
    if outcome is not None and outcome.schedule == WHAT_IF:
        raise Usage("an edited fork cannot be shown on a page", hint="play its parent")
    recording = record_tokens(graph, events, arguments)
    segment = select_segment(recording, choice.first, choice.max_events, choice.under, is_over=outcome is not None)
    known_arguments = recorded_arguments(recording)
    summary = (
        PlayerSummary(*describe_start(graph, known_arguments), schedule, "", "", "", "")
        if outcome is None
        else summarize(outcome, known_arguments)
    )
    plans = build_plans(graph, choice.max_boxes, choice.fold, progress, full=choice.full)
    form = PlayerColumns(segment, plans, source_excerpts(graph)).to_json()
    form |= summary._asdict() | {
        "note": segment.note,
        "has_waves": int(summary.schedule == "waves"),
        "badges": badge_glyphs(),
        "lanes": None if lanes is None else encode_lanes(segment, lanes),
    }
    note = "; ".join(filter(None, [segment.note, plans.view.caption]))
    return PlayerPage(summary.call, build_html(form, plans.plans[0].svg, choice), note)


def describe_start(graph: Graph, arguments: Sequence[Value]) -> tuple[str, str]:
    """The call of the entry, such as `fib(5)`: with as many arguments as fit in a title, without what it captures, and
    with all."""
    texts = [abbreviate_value(argument) for argument in arguments]
    return f"{graph.name}({abbreviate_list(graph.without_captures(texts))})", f"{graph.name}({', '.join(texts)})"


def summarize(outcome: Outcome, arguments: Sequence[Value]) -> PlayerSummary:
    """The summary of a run for the head of the page."""
    results = [] if outcome.missing else [value for value in outcome.results if value is not None]
    value = full_value = ", ".join(map(abbreviate, results))
    if len(value) > MAX_TITLE_LENGTH:
        value = abbreviate_list(map(abbreviate_value, results))
    error = "" if outcome.error is None else outcome.error.message
    names = describe_start(outcome.graph, arguments)
    return PlayerSummary(*names, outcome.schedule, outcome.status, value, full_value, error)


def badge_glyphs() -> dict[str, list[str]]:
    """The glyph and the meaning of each mark."""
    return {mark: [sign.glyph, sign.meaning] for mark, sign in BADGE_LOOKS.items()}


def build_html(form: dict[str, Any], svg: str, choice: PlayerSelection) -> str:
    """The HTML of a page with this data and this SVG."""
    style = f"{colour_css()}\n{read_asset('page.css')}"
    script = "".join(['"use strict";\n(() => {\n', *read_scripts(form), "})();\n"])
    policy = (
        f"default-src 'none'; script-src '{content_hash(script)}'; style-src '{content_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "POLICY": policy,
        "TITLE": escape(escape_line(f"{form['call']}, played by tagloom")),
        "STYLE": style,
        "SCRIPT": script,
        "ABOUT": f'<p id="about">{escape(escape_line(choice.about))}</p>\n' if choice.about else "",
        "FORM": ' class="embed"' if choice.embed else "",
        "PLAN": svg,
        "DATA": script_json(form),
    }
    return re.sub("@@([A-Z]+)@@", lambda match: parts[match[1]], read_asset("page.html"))


def read_scripts(form: dict[str, Any]) -> list[str]:
    """The scripts of a page with this data."""
    if "live" not in form:
        return [read_asset(f"{name}.js") for name in SCRIPTS]
    modules = (f'"./{name}.js": (module, require) => {{\n{read_asset(f"{name}.js")}}},\n' for name in LIVE_MODULES)
    bundle = f"const modules = {{\n{''.join(modules)}}};\n{REQUIRE}"
    return [bundle, *(read_asset(f"{name}.js") for name in LIVE_SCRIPTS)]


def script_json(form: Any) -> str:
    r"""JSON that is safe inside a script element: nothing in it ends the script or starts a comment. Control characters
    in its texts are escapes, which the page shows.

    >>> print(script_json(["</script>", "<!--", 1, "\u202ea"]))
    ["\u003c/script>","\u003c!--",1,"\\u202ea"]
    """
    return json.dumps(escape_texts(form), separators=(",", ":")).replace("<", r"\u003c")


def escape_texts(form: Any) -> Any:
    """Data for JSON, whose texts have escapes instead of control characters."""
    match form:
        case str():
            return escape_controls(form)
        case dict():
            return {escape_texts(key): escape_texts(value) for key, value in form.items()}
        case list() | tuple():
            return [value if type(value) is int else escape_texts(value) for value in form]
    return form


def content_hash(text: str) -> str:
    """The hash of a script or style, for the page's content security policy."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def read_asset(name: str) -> str:
    """The text of a file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def colour_css() -> str:
    """The colours of the pictures as CSS variables: the palette, and the palettes of the light and dark themes."""
    palette = ";".join(f"--c{number}:{colour}" for number, colour in enumerate(PALETTE))
    dark = f'@media screen and (prefers-color-scheme: dark){{:root:not([data-theme="light"]){{{theme_css(DARK)}}}}}'
    dark_css = f'@media screen{{:root[data-theme="dark"]{{{theme_css(DARK)}}}}}'
    return "\n".join([f":root{{{palette};{theme_css(LIGHT)}}}", dark, dark_css])


def theme_css(theme: Theme) -> str:
    """The colours of a theme as CSS variables."""
    fill_opacity, selection = int(theme.fill_opacity, 16) / 255, BLUE if theme is LIGHT else SKY
    colours = (
        f"--background:{theme.background};--foreground:{theme.foreground};--muted:{theme.muted};--chosen:{selection}"
    )
    highlight = 0.45 if theme is LIGHT else 0.25
    blue = BLUE if theme is LIGHT else BLUE_LINE
    lines = f"--c{PALETTE.index(BLUE)}:{blue}"
    return (
        f"color-scheme:{theme.name};{colours};{lines};--fill-opacity:{fill_opacity:.3f};--highlight-opacity:{highlight}"
    )
