"""The texts of F1 for each pane, the keys of the screen, and the glossary.

The glossary, which F1 and docs/glossary.md show, defines each term that users meet in one line. A line of glossary.txt
is `term | definition | page`, the page as docs/ links to it; the lines are in alphabetical order.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

from ...viz.style import BOX_LOOKS, GREY, SKY
from ...viz.terminal.drawing import LETTER_KINDS
from ..session.command import LEADER_KEY, Command
from ..session.session import Session
from .page import PageRow, PageSpan

_LETTERS = ", ".join(f"{BOX_LOOKS[kind].letter} {kind.replace('_', ' ')}" for kind in LETTER_KINDS)

PANE_HELP: Mapping[str, str] = {
    "graph": f"""The static graph of the program, each function once. Tokens stand on the arrows along which they
travel.

● in flight         ○ waits for partners   ▷ can fire next
□ deferred read     ‖ throttled            ▶ has just fired
✗ trapped           † dead                 + more

The arrow keys, dragging and the wheel pan it. < and > zoom; . turns following the run on or off. A click on a node
selects it for the inspector; a click on a frame folds the function or loop, and a click on the fold or on a bundle
unfolds it. {{ draws every node.

Where room is missing, letters replace the words of boxes: {_LETTERS}.""",
    "source": """The source of the program. The line of the current node is highlighted. · marks lines with nodes,
● a breakpoint.

Enter or a click sets or removes a breakpoint on a line. Keys like n (node) and b (break) act on the line under the
cursor.""",
    "code": """The converted code of the function in the source pane: what its `if`, `while`, `for` and calls became.
The expression of the current node is underlined in both, and its node is marked in the graph.

The numbers are those of the lines in the source. `tagloom show FILE:NAME --form code` prints it.""",
    "call": """The call that the last event belongs to: its arguments, the values that it has computed so far, in
the order in which they came, and its result. Inside a loop, the variables and values of the current iteration are here,
too.

A call that it makes is a value once its result has come. Enter on a value goes to the event that computed it.""",
    "flight": """The tokens in flight, in the schedule's order. The first, highlighted, is the one delivered next.

▷ fires its node on delivery, ● only arrives and waits. Enter selects its node. d delivers the token under the cursor
now, instead of the schedule's choice; = gives it another value, in a fork.""",
    "waiting": """The waiting-matching store: under each tag, the nodes that have some of their operands; _ is a
missing one.

Enter on a node selects it; Enter on a tag shows only that activation. ? asks why a node has not fired.""",
    "tags": """The tree of activations: every call and iteration, with its arguments and results. ● open, ✓ closed.

Enter on an activation shows only its tag, ◆, in the graph, in the panes of tokens, events and cells, and in the
timeline. Enter again shows all. The last iteration of a loop says which test
ended it. g goes to the next event under the tag at the cursor, G to the previous one.""",
    "other graph": """The graph of the run that is shown beside the current one, at its own position. If the two were
compared, the node at which they first differ is highlighted in both graphs, and named in the borders.

| shows another run, or hides it again; m (switch) makes it the current one, so that keys step it; D goes to the first
difference in both. A click acts on that run, and makes it the current one: the two change places.""",
    "other tags": """The tree of activations of the run that is shown beside the current one. ≠ marks the activation in
which the two first differ. Enter or a click acts on that run, and makes it the current one.""",
    "inspector": """One node: what its op does, its ports under a tag, its last firings, and its values across tags.

It shows the current node until `select` (Enter or a click elsewhere) picks another; * clears the selection. Enter on
a firing goes there; J goes to the firing that made the value on its first port. Arrays are shown with statistics and
a slice; [ chooses the slice. Watches are at the end.""",
    "events": """The known events; those after the current position are dim. Enter on one goes there.

! lists only the events that satisfy a condition: ! op == 'add' and value > 3. / finds nodes by a part
of their name or formula, and events by a condition.""",
    "cells": """The write-once cells: the value of each, the node that put it there, and the reads
deferred at empty ones.""",
    "answers": """The commands and their answers. Enter on a line that names an event goes there.

y (why) shows the firings behind a firing, without nodes that only pass a value on, and counts the levels below; a
number after the tag shows more. J goes to where the value of the current firing was made, and so on, back.""",
    "timeline": """The run from its first to its last known event, with the firings of each wave above it.

◆ is the current position, ✗ a trap, ⚑ a bookmark. A click goes there; Left and Right move by one event.""",
}
"""For each pane, a description of its content and of its keys."""

SCREEN_KEYS = (
    (": ", "type any command; Tab completes it"),
    (f"{LEADER_KEY} ", "the leader key: the keys that may follow it are listed below"),
    ("^p", "the command palette: every command by name"),
    ("1-0 # V", "go to a pane; Tab goes to the next visible one"),
    ("^o", "jump to a pane: each shows a letter"),
    ("F2", "maximize the pane, or restore it"),
    ("F3", "switch between light and dark"),
    ("Esc", "stop a long command (also Ctrl-C)"),
    ("< >", "zoom the graph;  .  follows the run"),
    ("F1", "explain the current pane"),
)
"""The keys that are not commands."""

DAILY_KEYS = (
    ("s", "step"),
    ("S", "step back"),
    ("o", "over calls"),
    ("f", "out of this call"),
    ("c", "continue"),
    ("b", "breakpoint"),
    ("y", "why"),
    ("?", "why not"),
    ("/", "find"),
    ("^p", "all commands"),
    ("F1", "help"),
    ("q", "quit"),
)
"""The twelve keys of the daily work, which the last line always shows."""

SHORT_DAILY_KEYS = (
    ("s", "step"),
    ("S", "back"),
    ("o", "over"),
    ("f", "out"),
    ("c", "cont"),
    ("b", "break"),
    ("y ?", "why"),
    ("/", "find"),
    ("^p", "all"),
    ("F1", "help"),
    ("q", "quit"),
)
"""The same for screens that have no room for all words."""

LINE_KEYS = (("Enter", "do"), ("Tab", "complete"), ("Up", "history"), ("Esc", "leave"))
"""The keys of the command line, which the last line shows while it is open."""

PANE_KEY_HINTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "graph": (("> <", "zoom"), ("_", "unfold"), (".", "follow")),
    "source": (("Enter", "breakpoint"),),
    "flight": (("d", "deliver"), ("=", "change"), ("Enter", "select")),
    "waiting": (("Enter", "select"),),
    "tags": (("Enter", "only this"), ("g", "next event")),
    "other graph": (("m", "switch"), ("|", "hide"), ("> <", "zoom")),
    "other tags": (("m", "switch"), ("|", "hide"), ("Enter", "only this")),
    "inspector": (("Enter", "go there"), ("@", "watch"), ("[", "slice")),
    "events": (("Enter", "go there"), ("!", "filter")),
    "cells": (("Enter", "select"),),
    "call": (("Enter", "go there"),),
    "answers": (("Enter", "go there"),),
    "timeline": (("^ $", "ends"), ("Left Right", "one event")),
}
"""The keys of each pane, most important first. The border of the focused pane shows as many as fit."""


def key_hints(width: int, *, is_line_open: bool = False) -> PageRow:
    """The last line of a screen that is `width` columns wide: the daily keys, or those of the open command line."""
    forms = [(LINE_KEYS, "  ")] if is_line_open else [(DAILY_KEYS, "  "), (SHORT_DAILY_KEYS, "  ")]
    rows = (hint_row(keys, gap) for keys, gap in forms)
    return next((row for row in rows if len(row.text) <= width), hint_row(forms[-1][0], " ", width))


def hint_row(keys: Iterable[tuple[str, str]], gap: str, width: int | None = None) -> PageRow:
    """Keys with their words as a row, with a gap between them; as many as fit into `width` columns."""
    spans, columns = list[PageSpan](), 0
    for key, word in keys:
        before = gap if spans else " "
        columns += len(before) + len(key) + 1 + len(word)
        if width is not None and columns > width:
            break
        spans += [PageSpan(f"{before}{key} ", SKY, True), PageSpan(word, GREY)]
    return PageRow(tuple(spans))


def pane_key_hints(pane: str, room: int, *, is_maximized: bool = False) -> tuple[tuple[str, str], ...]:
    """The keys for the border of a focused pane, as many as fit into `room` columns. F2 comes first, because the
    others can be guessed once the pane has the whole screen.

    >>> pane_key_hints("tags", 30)
    (('F2', 'enlarge'), ('Enter', 'only this'))
    """
    hints, gap = list[tuple[str, str]](), 0
    for key, word in (("F2", "all panes" if is_maximized else "enlarge"), *PANE_KEY_HINTS.get(pane, ())):
        room -= gap + len(key) + 1 + len(word)
        if room < 0:
            break
        hints.append((key, word))
        gap = 2
    return tuple(hints)


def border_texts(
    pane: str, subtitle: str, room: int, *, is_maximized: bool = False
) -> tuple[tuple[tuple[str, str], ...], str]:
    """The keys and the subtitle for the border of a focused pane, in `room` columns. If no key fits beside the whole
    subtitle, that is cut for the first one.

    >>> border_texts("tags", "16 open", 24), border_texts("tags", "#3 main/taken/Sampler_step", 24)
    (((('F2', 'enlarge'),), '16 open'), ((('F2', 'enlarge'),), '#3 main/ta\u2026'))
    """
    hints = pane_key_hints(pane, room - (len(subtitle) + 3 if subtitle else 0), is_maximized=is_maximized)
    if hints or not subtitle:
        return hints, subtitle
    [(key, word), *_] = pane_key_hints(pane, sys.maxsize, is_maximized=is_maximized)
    left = room - len(f"{key} {word} - ")
    return (((key, word),), f"{subtitle[: left - 1]}\u2026") if left >= LEAST_SUBTITLE else ((), subtitle)


LEAST_SUBTITLE = 8
"""The least columns to which a subtitle is cut."""

LEADER_LINES = 3
"""The lines for the keys that may follow the leader."""


def second_key_hints(commands: Iterable[Command[Session]], width: int) -> tuple[PageRow, ...]:
    """The keys that may follow the leader, with their commands, one row per line."""
    pairs = [
        *((command.key[1:], command.name) for command in commands if command.key[:1] == LEADER_KEY),
        ("Esc", "leave"),
    ]
    rows, room = tuple(list[PageSpan]() for _ in range(LEADER_LINES)), width
    for first in range(0, len(pairs), LEADER_LINES):
        column = pairs[first : first + LEADER_LINES]
        wide = max(len(key) + len(word) for key, word in column) + 3
        if wide > room:
            break
        room -= wide
        for spans, (key, word) in zip(rows, column, strict=False):
            spans += [PageSpan(f" {key} ", SKY, True), PageSpan(f"{word:{wide - len(key) - 2}}", GREY)]
    return tuple(PageRow(tuple(spans)) for spans in rows)


def key_at(row: PageRow, column: int) -> str:
    """The key hint at a column, for clicks. A click on a pair of keys means the first, unless it is on the second.

    >>> hints = key_hints(80)
    >>> hints.text[:26], [key_at(hints, column) for column in (1, 3, 8, 43, 45, 90)]
    (' s step S back o over f ou', ['s', 's', 'S', 'y', '?', ''])
    """
    for key, word in zip(row.spans[::2], row.spans[1::2], strict=True):
        first, *_, last = [*key.text.split(), *key.text.split()]
        if column < len(key.text) + len(word.text):
            start = key.text.rindex(last)
            return last if start <= column < start + len(last) else first
        column -= len(key.text) + len(word.text)
    return ""


def explain_pane(pane: str) -> str:
    """The F1 text of a pane: paragraphs, one line each, and its signs."""
    parts = (part if part[0] in "●" else part.replace("\n", " ") for part in PANE_HELP[pane].split("\n\n"))
    return "\n\n".join(parts)


def help_pages(pane: str, commands: Iterable[Command[Session]], width: int = 85) -> list[str]:
    """The pages of F1, this many columns wide: the pane with the keys of the screen; the commands, some groups on
    each page; the glossary."""
    keys = "\n".join(f"{key:>4}  {meaning}" for key, meaning in SCREEN_KEYS)
    pages, group = [f"{explain_pane(pane)}\n\n{keys}"], ""
    for command in commands:
        if command.group != group:
            group = command.group
            if group in _PAGE_GROUPS:
                pages.append("")
            pages[-1] += f"{'' if not pages[-1] else chr(10)}{group}\n"
        begin = f"  {command.key or ' ':2} {command.name:11} "
        pages[-1] += fill(command.help, width, initial_indent=begin, subsequent_indent=" " * len(begin)) + "\n"
    return [*pages, "\n".join(["terms", *glossary_lines(width)])]


_PAGE_GROUPS = ("moving", "looking", "forking", "marking")
"""The groups of commands that begin a new page."""


# The glossary


GLOSSARY_FILE = Path(__file__).with_name("glossary.txt")
TERM_WIDTH = 20
"""The columns for terms."""


class GlossaryEntry(NamedTuple):
    """A term, its definition, and the page that explains it, relative to docs/."""

    term: str
    definition: str
    page: str


@cache
def glossary_entries() -> tuple[GlossaryEntry, ...]:
    """All terms, in alphabetical order."""
    lines = GLOSSARY_FILE.read_text(encoding="utf-8").splitlines()
    return tuple(GlossaryEntry(*line.split(" | ")) for line in lines)


def glossary_lines(width: int = 85) -> list[str]:
    """All terms with their definitions beside them, wrapped for a terminal of this many columns.

    >>> next(line for line in glossary_lines() if line.startswith("work "))
    'work                the number of firings of a run'
    """
    return [
        line
        for term, definition, _ in glossary_entries()
        for line in fill(
            definition.replace("`", ""),
            width,
            initial_indent=f"{term:{TERM_WIDTH}}",
            subsequent_indent=" " * TERM_WIDTH,
        ).splitlines()
    ]
