"""The view of a graph at one moment of a run, with its tokens.

A token that is in flight or waits for partners is drawn on the arrow that it arrives by; a dead one with the output
where it died. A deferred read at a cell and a token that a k-bound throttles are drawn beside their node. The last
firing and the nodes that can fire next are marked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

import numpy as np

from ..core.graph.graph import Graph
from ..core.tag import ROOT, Tag
from ..core.types import DeadTokenValue, Handle
from ..core.value import Value, format_value
from ..interp.machine.event import Event, Token
from ..interp.machine.state import State
from ..interp.outcome.outcome import abbreviate_value as abbreviate_for_text
from ..interp.outcome.outcome import describe_value
from ..interp.queries.why_not import could_fire
from .graph_view import graph_view
from .view import MAX_BADGES, Badge, BadgeMark, View

MAX_LENGTH = 14
"""The most characters of a value; longer ones are cut. A longer tag is shown by its last two steps."""

MAX_NUMBER_LENGTH = 10
"""The most characters of a number that is cut."""

MAX_TAG_LENGTH = 24
"""The most characters of the last two steps of a tag; of longer ones the last step is shown, or its end."""

MAX_TYPE_LENGTH = 24
"""The most characters of the type of an array; longer ones are cut."""

_PlacedToken: TypeAlias = tuple[BadgeMark, Token, int, str, str]
"""The mark of a token, the token, its position in the flight (or -1), a description of its state (empty if the mark
says enough), and a text shown instead of its value. A plain tuple for speed: a step may have thousands of them."""

_MarkFunction: TypeAlias = Callable[[Tag], tuple[str, str, bool]]
"""For the tag of a token, the owner, the colour and is_dim of its badge."""

_TooltipFunction: TypeAlias = Callable[[Graph, _PlacedToken], str]
"""Makes the tooltip of a token."""


def state_view(state: State, last: Event | None = None, most: int = MAX_BADGES) -> View:
    """The view of a graph in a state; `last` is the event that led there, if any."""
    return overlay_state(graph_view(state.graph), state, last, most)


def overlay_state(
    base_view: View,
    state: State,
    last: Event | None = None,
    most: int = MAX_BADGES,
    *,
    under: Tag | None = None,
    limit: int | None = None,
    mark_of: _MarkFunction | None = None,
) -> View:
    """A copy of a graph's view with the tokens of a state on it; `under` restricts these to one activation and those
    below it. A `limit`, for screens, bounds the tokens in flight and the activations that are examined, because there
    may be millions; tokens then have no tooltips, because building these takes the most time. `mark_of` distinguishes
    the tokens of different activations."""
    graph, tooltip_of = state.graph, describe_placed_token if limit is None else _no_tooltip
    view = base_view.copy()
    view.is_moment = True
    on_arrows, on_boxes = group_tokens(view, graph, placed_tokens(state, limit), under)
    for number, tokens in on_arrows.items():
        view.arrows[number] = view.arrows[number]._replace(
            badges=token_badges(graph, tokens, most, tooltip_of, mark_of)
        )
    marked = node_badges(graph, state, last, limit, mark_of)
    emphasized_box = f"n{last.token.node}" if last is not None and last.is_firing else ""
    for cluster in view.root.walk():
        for name in cluster.boxes.keys() & {*marked, *on_boxes, emphasized_box}:
            badges = (*marked.get(name, ()), *token_badges(graph, on_boxes.get(name, ()), most, tooltip_of, mark_of))
            cluster.boxes[name] = cluster.boxes[name]._replace(badges=badges, emphasized=name == emphasized_box)
    return view


def abbreviate_value(value: Value) -> str:
    """A value in a few characters.

    >>> abbreviate_value(3), abbreviate_value(np.zeros((3, 4))), abbreviate_value(np.int32(7))
    ('3', 'float64[3, 4]', 'int32(7)')
    >>> abbreviate_value(np.float32(-2e-12) / 3), abbreviate_value(123456789123456789)
    ('-6.66\u2026e-13', '1.2345\u2026e17')
    >>> abbreviate_value(np.array([1.5, 2.25, 3.5])), abbreviate_value(np.array([[1.5, 2.5], [3.5, 4.5]]))
    ('[1.5, 2.25, \u2026]', 'float64[2, 2]')
    >>> abbreviate_value(np.array([3, 1, 2], np.int32)), abbreviate_value(np.array([300, 100, 200], np.int32))
    ('[3, 1, 2]', '[300, 100, \u2026]')

    An array of many elements is its type, as the text form writes it.

    >>> abbreviate_value(np.zeros((15, 35))), abbreviate_value(np.zeros((128, 28, 28, 256), np.uint8))
    ('float64[15, 35]', 'uint8[128, 28, 28, 256]')
    """
    if isinstance(value, Handle):
        return f"cells[{value.size}]"
    if isinstance(value, DeadTokenValue):
        return "dead"
    array = np.asarray(value)
    kind = f"{array.dtype}{list(array.shape)}"
    text = format_value(value) if array.size <= 4 else kind
    if not array.ndim:
        return text if len(text) <= MAX_LENGTH else abbreviate_number(text)
    if text != kind and len(text) > MAX_LENGTH:
        text = text.removeprefix(f"{array.dtype}(").removesuffix(")")
        if len(text) <= MAX_LENGTH and array.ndim == 1:
            return text
        if array.ndim == 1 and "," in text[: MAX_LENGTH - 3]:
            return f"{text[: MAX_LENGTH - 3].rpartition(',')[0]}, \u2026]"
        text = kind
    longest = MAX_TYPE_LENGTH if text == kind else MAX_LENGTH
    return text if len(text) <= longest else f"{text[: longest - 2]}\u2026"


def abbreviate_number(literal: str) -> str:
    """A number without its type, and with fewer digits if it has many. Its sign and its magnitude remain.

    >>> [abbreviate_number(text) for text in ("5.755586403685484", "float32(0.33333334)", "-1.2345678901234e-17")]
    ['5.7555864\u2026', '0.33333334', '-1.23\u2026e-17']
    >>> [abbreviate_number(text) for text in ("uint64(9223372036854775808)", "-1234567890.12345", "1234567.12345")]
    ['9.2233\u2026e18', '-1.2345\u2026e9', '1234567.1\u2026']
    """
    number = literal.rpartition("(")[2].rstrip(")")
    if len(number) <= MAX_NUMBER_LENGTH:
        return number
    sign = "-" if number.startswith("-") else ""
    digits, _, exponent = number.removeprefix("-").partition("e")
    whole, _, fraction = digits.partition(".")
    if len(whole) > MAX_NUMBER_LENGTH - 3:
        digits, exponent = f"{whole[0]}.{whole[1:]}{fraction}", str(len(whole) - 1)
    magnitude = f"e{exponent}" if exponent else ""
    return f"{sign}{digits[: MAX_NUMBER_LENGTH - 1 - len(sign + magnitude)]}\u2026{magnitude}"


def abbreviate_tag(tag: Tag) -> str:
    """A tag in a few characters: its innermost steps, without the root.

    >>> from tagloom.core.tag import Site
    >>> loop, call = Site("main", "loop", "loop"), Site("main", "fib", "call")
    >>> inner = ROOT.child(call).child(loop, 2)
    >>> abbreviate_tag(ROOT), abbreviate_tag(inner), abbreviate_tag(inner.child(call).child(call))
    ('main', 'fib/loop[2]', '\u2026/fib/fib')

    Of long names the last one is shown, or its end.

    >>> helper = Site("main", "cross_entropy_split", "call")
    >>> abbreviate_tag(inner.child(helper).child(helper))
    '\u2026/cross_entropy_split'
    >>> abbreviate_tag(inner.child(Site("main", "value_and_grad_cross_entropy", "call")))
    '\u2026_and_grad_cross_entropy'
    """
    steps = [
        ancestor.last_step for ancestor, _ in zip(tag.self_and_ancestors(), range(min(tag.depth, 4)), strict=False)
    ]
    shown_steps = steps if tag.depth <= 3 and len("/".join(steps)) <= MAX_LENGTH else steps[:2]
    if len("/".join(shown_steps)) > MAX_TAG_LENGTH:
        shown_steps = steps[:1]
    text = "/".join([*(["\u2026"] if len(shown_steps) < tag.depth else []), *reversed(shown_steps)]) or str(ROOT)
    return text if len(text) <= MAX_TAG_LENGTH else f"\u2026{text[1 - MAX_TAG_LENGTH :]}"


def group_tokens(
    view: View, graph: Graph, tokens: Iterable[_PlacedToken], top: Tag | None
) -> tuple[dict[int, list[_PlacedToken]], dict[str, list[_PlacedToken]]]:
    """Group tokens by the number of their arrow in the view, or by the box that they are drawn beside."""
    ways: dict[tuple[int, int], list[int]] = {}
    for number, arrow in enumerate(view.arrows):
        if arrow.head[0] == "n" and arrow.head[1:].isdigit():
            ways.setdefault((int(arrow.head[1:]), arrow.port), []).append(number)
    on_arrows: dict[int, list[_PlacedToken]] = {}
    on_boxes: dict[str, list[_PlacedToken]] = {}
    token_counts: dict[tuple[int, int, Tag], int] = {}
    for placed_token in tokens:
        mark, (node, port, tag, _), *_ = placed_token
        if top is not None and top not in tag.self_and_ancestors():
            continue
        arrows = ways.get((node, port))
        if arrows is None or mark not in ("flight", "waiting", "dead"):
            on_boxes.setdefault(f"n{node}", []).append(placed_token)
            continue
        way = arrows[0]
        if len(arrows) > 1:  # of several arrows (in an invalid graph) each gets its own
            before = token_counts.get((node, port, tag), 0)
            token_counts[node, port, tag] = before + 1
            way = arrows[min(before, len(arrows) - 1)]
        if way in on_arrows:
            on_arrows[way].append(placed_token)
        else:
            on_arrows[way] = [placed_token]
    return on_arrows, on_boxes


def placed_tokens(state: State, limit: int | None) -> Iterator[_PlacedToken]:
    """All tokens of a state: waiting for partners, in flight, deferred at a cell, throttled by a bound."""
    for tag, record in islice(state.records.items(), limit):
        for node, operands in record.waiting_operands.items():
            for port, value in operands.items():
                yield place_token(state.graph, Token(node, port, tag, value), -1)
    for position, token in enumerate(islice(state.flight, limit)):
        yield place_token(state.graph, token, position)
    for handle, block in state.cells.blocks.items():
        for number, tokens in block.deferred_reads.items():
            where = f"deferred at cell {number} of {describe_value(state.graph, handle)}"
            yield from (("deferred", token, -1, where, f"cell {number}") for token in tokens)
    for tag, entries in state.throttled_tokens.items():
        yield from (("throttled", token, -1, f"throttled until {tag} may begin", "") for _, token in entries)


def place_token(graph: Graph, token: Token, position: int) -> _PlacedToken:
    """A token in flight, at a position, or one that waits for partners."""
    if isinstance(token.value, DeadTokenValue):
        name = graph.nodes[token.value.node].name.rpartition(".")[2]
        return "dead", token, position, "", f"{name}:{token.value.port}"
    return "flight" if position >= 0 else "waiting", token, position, "", ""


def token_badges(
    graph: Graph,
    tokens: Sequence[_PlacedToken],
    most: int,
    tooltip_of: _TooltipFunction,
    mark_of: _MarkFunction | None = None,
) -> tuple[Badge, ...]:
    """The badges of tokens at one place: at most `most`, then a count of the others."""
    shown_tokens = tokens[:most] if len(tokens) <= most else tokens[: most - 1]
    badges = tuple(
        Badge(
            mark,
            short or abbreviate_value(token.value),
            abbreviate_tag(token.tag),
            tooltip_of(graph, placed_token),
            *(mark_of(token.tag) if mark_of is not None else ()),
        )
        for placed_token in shown_tokens
        for mark, token, _, _, short in [placed_token]
    )
    remaining = tokens[len(shown_tokens) :]
    if not remaining:
        return badges
    tooltip = "; ".join(filter(None, (tooltip_of(graph, token) for token in remaining[:8])))
    counts = Counter[BadgeMark](mark for mark, *_ in remaining)
    return (*badges, Badge("more", str(len(remaining)), "", tooltip, counts=(*counts.items(),)))


def describe_placed_token(graph: Graph, placed_token: _PlacedToken) -> str:
    """The tooltip of a token: its value, its tag and its state."""
    _, token, position, state, _ = placed_token
    place = f"in flight, at position {position}" if position >= 0 else state or "waits for partners"
    return f"{abbreviate_for_text(graph, token.value)} under {token.tag}: {place}"


def _no_tooltip(graph: Graph, placed_token: _PlacedToken) -> str:
    return ""


def node_badges(
    graph: Graph, state: State, last: Event | None, limit: int | None, mark_of: _MarkFunction | None = None
) -> dict[str, tuple[Badge, ...]]:
    """Badges for the last firing, the node that trapped, the nodes that can fire next, and the results so far."""
    badges_by_box: dict[str, list[Badge]] = {}
    if last is not None and last.is_firing:
        badge = firing_badge(graph, last)
        if mark_of is not None and last.trap is None:
            owner, colour, is_dim = mark_of(last.token.tag)
            badge = badge._replace(owner=owner, colour=colour, is_dim=is_dim)
        badges_by_box[f"n{last.token.node}"] = [badge]
    ready_tags: dict[int, list[Tag]] = {}
    for ready_token in could_fire(state, enumerate(islice(state.flight, limit))):
        ready_tags.setdefault(ready_token.node, []).append(ready_token.tag)
    for node, tags in ready_tags.items():
        count_text = str(len(tags)) if len(tags) > 1 else ""
        tooltip = f"can fire under {', '.join(map(str, tags[:8]))}" if limit is None else ""
        badge = Badge("ready", count_text, "", tooltip, counts=(("ready", len(tags)),))
        badges_by_box.setdefault(f"n{node}", []).append(badge)
    for position, value in state.results.items():
        tooltip = f"result {position} is {abbreviate_for_text(graph, value)}"
        badge = Badge("arrived", abbreviate_value(value), "", tooltip)
        badges_by_box.setdefault(f"r{position}", []).append(badge)
    return {name: tuple(badges) for name, badges in badges_by_box.items()}


def firing_badge(graph: Graph, event: Event) -> Badge:
    """The badge of a firing, with its first result."""
    tag = event.token.tag
    if event.trap is not None:
        return Badge("trap", "", abbreviate_tag(tag), f"trapped under {tag}: {event.trap}")
    result = abbreviate_value(event.outputs[0][1]) if event.outputs else ""
    operands = ", ".join(abbreviate_for_text(graph, value) for value in event.inputs or ())
    return Badge("fired", result, abbreviate_tag(tag), f"fired under {tag} on {operands}")
