"""The pane of tags: the tree of activations, which leads from one to another, and says which alone is shown."""

from __future__ import annotations

from ...core.tag import ROOT, Tag
from ...viz.style import GREEN, GREY, ORANGE, PURPLE, VERMILLION
from ..session.calls import Entry, More, Titles, activations
from ..session.session import Session
from .page import Lazy, Page, Row, Span, row


def tags(session: Session) -> Page:
    """The activations up to here: all around where one is and the one that alone is shown, and those directly below."""
    history, here, found = session.history, session.tag, activations(session)
    told = _Telling(Titles(history.graph, session.run.known.gates, history.position), here, session.only)
    at = next((number for number, each in enumerate(found) if isinstance(each, Entry) and each.tag == here), None)
    return Page(Lazy(len(found), lambda number: told.row(found[number])), f"{len(history.state.records):,} open", at)


class _Telling:
    """What rows say."""

    def __init__(self, titles: Titles, here: Tag, only: Tag | None) -> None:
        self.titles, self.here, self.only = titles, here, only

    def row(self, entry: Entry | More) -> Row:
        indent = "  " * min(entry.depth, 20)
        if isinstance(entry, More):
            return row(indent, (f"  {entry.left:,} more", GREY))
        tag, is_open = entry.tag, entry.tokens is not None
        text, is_here, is_loop = str(tag), tag == self.here, tag.site.kind == "loop"
        is_only = self.only == tag
        sign = (f"{'◆' if is_only else '●' if is_open else '✓'} ", ORANGE if is_open else GREEN)
        title = Span(self.titles.of(entry), VERMILLION if is_loop else PURPLE if is_open else GREY, is_here)
        site = "" if is_loop or tag == ROOT else f"  {tag.last}"
        held = f"  {entry.tokens} ○" if entry.tokens else ""
        return row(
            indent,
            sign,
            title,
            (site + held, GREY),
            here=is_here,
            tag=text,
            do="only" if is_only else f"only {text}",
        )
