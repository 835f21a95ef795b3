"""The panes of the state: tokens in flight, tokens that wait for partners, cells with deferred reads, and the tree of
activations."""

from __future__ import annotations

from ...core.errors import plural
from ...core.graph.graph import Graph
from ...core.tag import ROOT, Tag
from ...core.types import DeadTokenValue, Handle
from ...core.value import Value
from ...interp.machine.cells import CellBlock, CellWrite
from ...interp.machine.event import Token
from ...interp.queries.why_not import could_fire
from ...viz.state_view import abbreviate_tag, abbreviate_value
from ...viz.style import BADGE_LOOKS, GREEN, GREY, ORANGE, PURPLE, VERMILLION, YELLOW
from ..session import listing
from ..session.activation_mark import ActivationMark, mark_activation
from ..session.listing import ActivationEntry, ActivationTitles, OmittedActivations, WaitingNode, list_activations
from ..session.loop_end import describe_loop_end
from ..session.session import Session
from .page import LazyRows, PageRow, PageSpan, PanePage, build_row, empty_page, list_rows, mark_span

MAX_TOKENS = 200
"""The most tokens that are listed; there may be millions."""
MAX_DEPTH = 200
"""The deepest activation that is indented further than its caller; a recursion may be 100,000 calls deep."""


def flight_page(session: Session) -> PanePage:
    """The tokens in flight: the next to be delivered, then the others in schedule order."""
    history, graph, root = session.history, session.history.graph, session.root_tag
    tokens, remaining, unscanned = listing.list_flight(session, MAX_TOKENS)
    next_position, count = history.next_choice, len(history.state.flight)
    rest = [f"and {remaining:,} more"] if remaining else []
    rest += [f"and {plural(unscanned, 'token')} not searched"] if unscanned else []
    if not tokens and not unscanned:
        return empty_flight_page(session) if root is None else empty_page(f"nothing is in flight under {root}")
    ready = {token.position for token in could_fire(history.state, tokens)}

    def build(number: int) -> PageRow:
        at, token = tokens[number]
        return flight_row(graph, at, token, mark_activation(session, token.tag), at == next_position, at in ready)

    subtitle = f"{count:,}" if root is None else f"{len(tokens) + remaining:,} of {count:,}"
    target_row = 0 if tokens and tokens[0][0] == next_position else None
    return PanePage(list_rows(len(tokens), build, *rest), f"{subtitle} · {history.schedule}", target_row)


def empty_flight_page(session: Session) -> PanePage:
    """The page after the end of a run, with hints where to look next."""
    state = session.history.state
    rows = [build_row(("nothing is in flight:", GREY)), build_row(("the run is over", GREY))]
    if state.waiting_count:
        rows.append(build_row((f"4 shows {plural(state.waiting_count, 'token')} left waiting", GREY)))
    if state.cells.deferred_count:
        rows.append(build_row((f"8 shows {plural(state.cells.deferred_count, 'deferred read')}", GREY)))
    return PanePage(rows)


def flight_row(graph: Graph, at: int, token: Token, mark: ActivationMark, is_next: bool, is_ready: bool) -> PageRow:
    """The row of a token in flight."""
    is_dead = isinstance(token.value, DeadTokenValue)
    sign = BADGE_LOOKS["dead" if is_dead else "ready" if is_ready else "flight"]
    name = str(graph.nodes[token.node]) if token.node >= 0 else "result"
    tag = str(token.tag)
    return build_row(
        (f"{at:3} ", GREY),
        (f"{sign.glyph} ", sign.colour),
        mark_span(mark),
        PageSpan(f"{abbreviate_value(token.value):>5} ", sign.colour if is_dead else "", True),
        f"→ {name}",
        (f".{token.port}" if token.node >= 0 else f" {token.port}", GREY),
        (f"  {abbreviate_tag(token.tag)}", GREY),
        tail_count=3,
        is_current=is_next,
        command=f"select {name} {tag}" if token.node >= 0 else "",
        node=name,
        tag=tag,
        position=at,
    )


def waiting_page(session: Session) -> PanePage:
    """The waiting-matching store: by activation, the waiting nodes with the operands that have arrived and those that
    are missing."""
    entries, remaining = listing.list_store(session, MAX_TOKENS)
    if not entries:
        return empty_page("no token waits for a partner")
    rest = [f"and {plural(remaining, 'token')} more"] if remaining else []
    return PanePage(
        list_rows(len(entries), lambda number: store_row(session, entries[number]), *rest),
        f"{session.history.state.waiting_count:,}",
    )


def store_row(session: Session, entry: Tag | WaitingNode | Token) -> PageRow:
    """A row of the store: an activation, a waiting node, or a throttled token."""
    match entry:
        case Token():
            return throttled_row(session.history.graph, entry, mark_activation(session, entry.tag))
        case WaitingNode():
            return waiting_row(session.history.graph, entry)
    tag, mark = str(entry), mark_activation(session, entry)
    return build_row(mark_span(mark), (tag, GREY), command=f"only {tag}", tag=tag, tail_count=1)


def waiting_row(graph: Graph, entry: WaitingNode) -> PageRow:
    """The row of a waiting node, with the operands that have arrived and those that are missing."""
    tag, number, operands = str(entry.tag), entry.node, entry.operands
    node, pieces = graph.nodes[number], list[tuple[str, str]]()
    for port, literal in enumerate(node.ports):
        if literal is None:
            pieces += [(f" {port}:", GREY), operand_piece(operands[port]) if port in operands else ("_", GREY)]
    if node.has_trigger and len(node.ports) not in operands:
        pieces.append((" trigger:_", GREY))
    return build_row(f"  {node}", *pieces, command=f"select {node} {tag}", node=str(node), tag=tag)


def operand_piece(value: Value) -> tuple[str, str]:
    """The text of an operand that waits, and its colour."""
    sign = BADGE_LOOKS["dead" if isinstance(value, DeadTokenValue) else "waiting"]
    return f"{sign.glyph}{abbreviate_value(value)}", sign.colour


def throttled_row(graph: Graph, token: Token, mark: ActivationMark) -> PageRow:
    """The row of a token that a k-bound throttles."""
    sign, node = BADGE_LOOKS["throttled"], graph.nodes[token.node]
    about = {"node": str(node), "tag": str(token.tag), "tail_count": 1}
    return build_row(
        (f"{sign.glyph} ", sign.colour),
        mark_span(mark),
        (f"{abbreviate_value(token.value)} for {node} ", sign.colour),
        (abbreviate_tag(token.tag), GREY),
        **about,
    )


def cells_page(session: Session) -> PanePage:
    """The arrays of cells: the content of each cell, and the deferred reads at it."""
    graph, blocks, root = session.history.graph, session.history.state.cells.blocks, session.root_tag
    entries, remaining, arrays, deferred = listing.list_cells(session, MAX_TOKENS)
    if not entries:
        return empty_page(
            "the program has created no cells" if root is None else f"no cells are created or used under {root}"
        )
    rows = [
        _array_row(graph, entry, blocks[entry])
        if isinstance(entry, Handle)
        else cell_row(graph, *entry, mark_activation(session, entry.content.tag))
        for entry in entries
    ]
    rest = [f"and {remaining:,} more"] if remaining else []
    return PanePage(
        list_rows(len(rows), rows.__getitem__, *rest),
        plural(arrays, "array") + (f" · {deferred:,} deferred" if deferred else ""),
    )


def _array_row(graph: Graph, handle: Handle, block: CellBlock) -> PageRow:
    name, full = str(graph.nodes[handle.node]), f"{len(block.writes):,} of {handle.size:,} full"
    return build_row(PageSpan(name, GREEN, True), (f"  {full}", GREY), node=name, tag=str(handle.tag))


def cell_row(graph: Graph, number: int, content: CellWrite | Token, mark: ActivationMark) -> PageRow:
    """The row of a cell, with its value or a deferred read."""
    node, tag = str(graph.nodes[content.node]), str(content.tag)
    about = {"command": f"select {node} {tag}", "node": node, "tag": tag}
    if isinstance(content, Token):
        deferred = (f"{BADGE_LOOKS['deferred'].glyph} {node}", YELLOW)
        tag_span = (f"  {abbreviate_tag(content.tag)}", GREY)
        return build_row((f"  [{number}] ", ORANGE), mark_span(mark), deferred, tag_span, tail_count=1, **about)
    value = PageSpan(f"  [{number}] {abbreviate_value(content.inputs[2])}", "", True)
    return build_row(value, "  ", mark_span(mark, 0), (f"by {node}", GREY), **about)


# Activations


def tags_page(session: Session) -> PanePage:
    """The tree of the activations so far; of many siblings, those around the current activation."""
    history, current_tag, entries = session.history, session.current_tag, list_activations(session)
    activation_rows = _ActivationRows(
        session,
        ActivationTitles(history.graph, session.run.index.gates, history.position),
        current_tag,
        session.root_tag,
    )
    at = next(
        (
            number
            for number, entry in enumerate(entries)
            if isinstance(entry, ActivationEntry) and entry.tag == current_tag
        ),
        None,
    )
    return PanePage(
        LazyRows(len(entries), lambda number: activation_rows.build_row(entries[number])),
        f"{len(history.state.records):,} open",
        at,
    )


class _ActivationRows:
    """Builds the rows of the pane of activations."""

    def __init__(self, session: Session, titles: ActivationTitles, current_tag: Tag, filter_tag: Tag | None) -> None:
        self.session = session
        self.titles, self.current, self.filter_tag = titles, current_tag, filter_tag
        self.difference = session.shown_difference

    def build_row(self, entry: ActivationEntry | OmittedActivations) -> PageRow:
        indent = "  " * min(entry.depth, MAX_DEPTH)
        if isinstance(entry, OmittedActivations):
            return build_row(indent, (f"  {entry.remaining_count:,} more", GREY), indent=len(indent))
        tag, is_open = entry.tag, entry.tokens is not None
        text, is_here, is_loop = str(tag), tag == self.current, tag.site.kind == "loop"
        is_only = self.filter_tag == tag
        sign = (f"{'◆' if is_only else '●' if is_open else '✓'} ", ORANGE if is_open else GREEN)
        title, result = self.titles.split_title(entry)
        colour = VERMILLION if is_loop else PURPLE if is_open else GREY
        site = "" if is_loop or tag == ROOT or title.startswith(f"{tag.last_step}(") else f"  {tag.last_step}"
        waiting = f"  {entry.tokens} ○" if entry.tokens else ""
        test = describe_loop_end(self.session, tag) if is_loop else ""
        different = self.difference.node if self.difference is not None and self.difference.tag == text else ""
        return build_row(
            indent,
            sign,
            mark_span(mark_activation(self.session, tag), 2),
            PageSpan(title, colour, is_here),
            (waiting if result else f"{site}{waiting}", GREY),
            PageSpan(result, colour, is_here),
            (f"  ended: not {test}" if test else "", ORANGE),
            PageSpan(f"  ≠ {different}" if different else "", VERMILLION, True),
            (site if result else "", GREY),
            tail_count=4 if result or test or different else 0,
            spare_count=1 if result else 0,
            indent=len(indent),
            is_current=is_here,
            tag=text,
            command="only" if is_only else f"only {text}",
        )
