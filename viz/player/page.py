"""The page: one file of HTML that holds all it needs, and asks the network for nothing.

Its own policy forbids everything but the style and the script that stand in it, by their hashes. What programs say
(names, values, printed lines, source) reaches it as JSON in which no `<` stands, and is written as text, never as
markup.
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
from typing import Any, NamedTuple

from ...core.errors import Usage
from ...core.files import write_file
from ...core.graph.graph import Graph
from ...core.value import Value, show
from ...interp.history.advance import WHAT_IF
from ...interp.history.history import History
from ...interp.machine.event import Event
from ...interp.outcome.outcome import Outcome
from ..collapse import LARGEST
from ..render import Progress
from ..state_view import brief
from ..style import BLUE, DARK, LIGHT, PALETTE, SIGNS, SKY, Theme
from .columns import Columns
from .graph_layout import plan
from .recording import arguments_of, recorded
from .selection import MOST, part
from .source import pieces

SCRIPTS = (
    "data",
    "paths",
    "apart",
    "tokens",
    "tree",
    "source",
    "inspector",
    "cells",
    "profile",
    "predict",
    "marks",
    "print",
    "zoom",
    "main",
    "keys",
    "begin",
)
"""The scripts of a page, in their order: together they are one."""

BLUE_LINE = "#3D9BDC"
"""What blue is on dark paper, where thin lines of it could hardly be seen."""

HEIGHT = 760
"""The height of a page in a notebook, in pixels."""


class Choice(NamedTuple):
    """What of a run a page shows: from which event on, how many, under which activation; and of its graph, in how many
    boxes, and which functions and loops are one each."""

    first: int = 0
    most: int = MOST
    under: str = ""
    boxes: int = LARGEST
    fold: tuple[str, ...] = ()


class Ending(NamedTuple):
    """What a page says of the run as a whole."""

    called: str
    schedule: str
    status: str
    value: str
    error: str


@dataclass(frozen=True, slots=True, repr=False)
class Page:
    """A page, which a notebook shows, and which can be saved."""

    name: str
    html: str
    note: str
    """What it leaves out, in words; empty where it has the whole run."""

    def _repr_html_(self) -> str:
        """The page in a frame of its own, which may run its script and nothing else."""
        size = f'width="100%" height="{HEIGHT}"'
        return (
            f'<iframe title="{escape(self.name)}" sandbox="allow-scripts" {size} srcdoc="{escape(self.html)}"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file; raises Usage where that is impossible."""
        write_file(path, self.html.encode())

    def __str__(self) -> str:
        return f"a page that plays {self.name}"

    def __repr__(self) -> str:
        return f"<{self}>"


def page_of_outcome(outcome: Outcome, choice: Choice | None = None) -> Page:
    """The page of a run that kept its events; raises Usage where it did not."""
    if outcome.first_kept:
        raise Usage("this run did not keep all events", hint='run it with keep="events"')
    return _page(outcome.graph, tuple(outcome.events), None, outcome, choice or Choice(), None)


def page_of_history(history: History, choice: Choice | None = None, progress: Progress | None = None) -> Page:
    """The page of a run that is over, whatever moment its history stands at."""
    return _page(history.graph, history[:], history.arguments, history.outcome(), choice or Choice(), progress)


def _page(
    graph: Graph,
    events: Sequence[Event],
    arguments: Sequence[Value] | None,
    outcome: Outcome,
    choice: Choice,
    progress: Progress | None,
) -> Page:
    if outcome.schedule == WHAT_IF:
        raise Usage("a what-if is no run of a machine, and has no page", hint="play its parent")
    recording = recorded(graph, events, arguments)
    shown = part(recording, choice.first, choice.most, choice.under)
    ending = _ending(outcome, arguments_of(recording))
    drawn = plan(graph, choice.boxes, choice.fold, progress)
    form = Columns(shown, drawn, pieces(graph)).form()
    form |= ending._asdict() | {"note": shown.note, "clocked": int(ending.schedule == "waves"), "signs": _signs()}
    note = "; ".join(filter(None, [shown.note, drawn.view.caption]))
    return Page(ending.called, written(form | {"note": note}, drawn.svg), note)


def _ending(outcome: Outcome, arguments: Sequence[Value]) -> Ending:
    called = f"{outcome.graph.name}({', '.join(map(brief, arguments))})"
    value = "" if outcome.missing else ", ".join(show(result) for result in outcome.results)
    error = "" if outcome.error is None else outcome.error.message
    return Ending(called, outcome.schedule, outcome.status, value, error)


def _signs() -> dict[str, list[str]]:
    return {mark: [sign.sign, sign.meaning] for mark, sign in SIGNS.items()}


def written(form: dict[str, Any], svg: str) -> str:
    """The HTML of a page that is told this."""
    style = f"{_colours()}\n{_text('page.css')}"
    script = "".join(['"use strict";\n(() => {\n', *(_text(f"{name}.js") for name in SCRIPTS), "})();\n"])
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "POLICY": policy,
        "TITLE": escape(f"{form['called']}, played by tagloom"),
        "STYLE": style,
        "SCRIPT": script,
        "PLAN": svg,
        "DATA": in_script(form),
    }
    return re.sub("@@([A-Z]+)@@", lambda place: parts[place[1]], _text("page.html"))


def in_script(form: Any) -> str:
    r"""JSON that can stand in a script: nothing in it ends one, or begins a comment.

    >>> print(in_script(["</script>", "<!--", 1]))
    ["\u003c/script>","\u003c!--",1]
    """
    return json.dumps(form, separators=(",", ":")).replace("<", r"\u003c")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _colours() -> str:
    """The colours of the pictures as variables: those of the palette, and those of light and dark paper."""
    palette = ";".join(f"--c{number}:{colour}" for number, colour in enumerate(PALETTE))
    dark = f'@media screen and (prefers-color-scheme: dark){{:root:not([data-theme="light"]){{{_theme(DARK)}}}}}'
    chosen = f'@media screen{{:root[data-theme="dark"]{{{_theme(DARK)}}}}}'
    return "\n".join([f":root{{{palette};{_theme(LIGHT)}}}", dark, chosen])


def _theme(theme: Theme) -> str:
    tint, chosen = int(theme.tint, 16) / 255, BLUE if theme is LIGHT else SKY
    colours = f"--paper:{theme.paper};--ink:{theme.ink};--faint:{theme.faint};--chosen:{chosen}"
    lit = 0.45 if theme is LIGHT else 0.25
    blue = BLUE if theme is LIGHT else BLUE_LINE
    lines = f"--c{PALETTE.index(BLUE)}:{blue}"
    return f"color-scheme:{theme.name};{colours};{lines};--tint:{tint:.3f};--lit:{lit}"
