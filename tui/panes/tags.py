"""The tags pane: the tree of activations, for navigation, with the one to which the view is restricted."""

from __future__ import annotations

from ...core.tag import ROOT, Tag
from ...viz.style import GREEN, GREY, ORANGE, PURPLE, VERMILLION
from ..session.listing import ActivationEntry, ActivationTitles, OmittedActivations, list_activations
from ..session.session import Session
from .page import LazyRows, PageRow, PageSpan, PanePage, build_row


def tags_page(session: Session) -> PanePage:
    """The activations so far: those around the current and the restricting one, and their direct children."""
    history, here, found = session.history, session.current_tag, list_activations(session)
    told = _ActivationRows(
        ActivationTitles(history.graph, session.run.index.gates, history.position), here, session.root_tag
    )
    at = next(
        (number for number, each in enumerate(found) if isinstance(each, ActivationEntry) and each.tag == here), None
    )
    return PanePage(
        LazyRows(len(found), lambda number: told.build_row(found[number])), f"{len(history.state.records):,} open", at
    )


class _ActivationRows:
    """The texts of rows."""

    def __init__(self, titles: ActivationTitles, here: Tag, only: Tag | None) -> None:
        self.titles, self.current, self.filter_tag = titles, here, only

    def build_row(self, entry: ActivationEntry | OmittedActivations) -> PageRow:
        indent = "  " * min(entry.depth, 20)
        if isinstance(entry, OmittedActivations):
            return build_row(indent, (f"  {entry.remaining_count:,} more", GREY))
        tag, is_open = entry.tag, entry.tokens is not None
        text, is_here, is_loop = str(tag), tag == self.current, tag.site.kind == "loop"
        is_only = self.filter_tag == tag
        sign = (f"{'◆' if is_only else '●' if is_open else '✓'} ", ORANGE if is_open else GREEN)
        title = PageSpan(self.titles.title(entry), VERMILLION if is_loop else PURPLE if is_open else GREY, is_here)
        site = "" if is_loop or tag == ROOT else f"  {tag.last_step}"
        held = f"  {entry.tokens} ○" if entry.tokens else ""
        return build_row(
            indent,
            sign,
            title,
            (site + held, GREY),
            is_current=is_here,
            tag=text,
            command="only" if is_only else f"only {text}",
        )
