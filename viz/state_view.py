"""A graph at a moment of a run: its view, with the tokens where they are.

A token in flight, or one that waits, stands on the arrow that it came by; one that is parked at a cell, or held by a
bound, beside the node that it is for. What fired last, and what can fire next, is marked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from ..core.graph.graph import Graph
from ..core.handle import Handle
from ..core.tag import ROOT, Tag
from ..core.value import Value, show
from ..interp.machine.event import Event, Token
from ..interp.machine.state import State
from ..interp.outcome.describe import shown
from ..interp.queries.why import could_fire
from .graph_view import graph_view
from .view import Badge, Mark, View

MOST = 3
"""So many tokens are shown at one place; of more, how many."""

LONGEST = 14
"""Longer values, and tags, are cut."""


_Found: TypeAlias = tuple[Mark, Token, int, str, str]
"""A token, where it is: its position in the flight, or -1; how it is there, in words, where its mark does not say that;
what is written instead of its value. A plain tuple: there are a thousand at each step, of which some are shown."""

_Told: TypeAlias = Callable[[Graph, _Found], str]
"""What is told of a token where the mouse rests."""


def at_moment(state: State, last: Event | None = None, most: int = MOST) -> View:
    """The view of a graph in a state, with the event that led there, if one did."""
    return on_view(graph_view(state.graph), state, last, most)


def on_view(
    plain: View,
    state: State,
    last: Event | None = None,
    most: int = MOST,
    *,
    top: Tag | None = None,
    among: int | None = None,
) -> View:
    """The plain view of a graph with the tokens of a state; of `top` alone, and what is below it, if it is given.
    `among` is how many tokens in flight, and activations, are looked at, as there may be millions: for a screen, where
    nothing is told of tokens, since the words for it take longer than all else."""
    graph, told = state.graph, _tooltip if among is None else _nothing
    view = plain.copy()
    on_arrows, on_boxes = _placed(view, graph, _tokens(state, among), top)
    for number, tokens in on_arrows.items():
        view.arrows[number] = view.arrows[number]._replace(badges=_badges(graph, tokens, most, told))
    marked = _marked(graph, state, last, among)
    strong = f"n{last.token.node}" if last is not None and last.fired else ""
    for cluster in view.outside.all():
        for name in cluster.boxes.keys() & {*marked, *on_boxes, strong}:
            badges = (*marked.get(name, ()), *_badges(graph, on_boxes.get(name, ()), most, told))
            cluster.boxes[name] = cluster.boxes[name]._replace(badges=badges, strong=name == strong)
    return view


def brief(value: Value) -> str:
    """A value in few characters.

    >>> brief(3), brief(np.zeros((3, 4))), brief(123456789123456789)
    ('3', 'float64[3, 4]', '123456789123\u2026')
    >>> brief(np.array([1.5, 2.25, 3.5])), brief(np.array([[1.5, 2.5], [3.5, 4.5]]))
    ('[1.5, 2.25, \u2026]', 'float64[2, 2]')

    A shape that is too long goes with the kind and the bits of its dtype.

    >>> brief(np.zeros((15, 35))), brief(np.zeros((128, 28, 28, 3), np.uint8))
    ('f64[15,35]', 'u8[128,28,28\u2026')
    """
    if isinstance(value, Handle):
        return f"cells[{value.size}]"
    array = np.asarray(value)
    kind = f"{array.dtype}{list(array.shape)}"
    said = show(value) if array.size <= 4 else kind
    if len(said) <= LONGEST:
        return said
    if array.ndim == 1 and "," in said[: LONGEST - 3]:
        return f"{said[: LONGEST - 3].rpartition(',')[0]}, \u2026]"
    if array.ndim > 1:
        said = kind if len(kind) <= LONGEST else _shortened(array)
    return said if len(said) <= LONGEST else f"{said[: LONGEST - 2]}\u2026"


def _shortened(array: np.ndarray[Any, Any]) -> str:
    bits = "" if array.dtype.kind == "b" else array.dtype.itemsize * 8
    return f"{array.dtype.kind}{bits}[{','.join(map(str, array.shape))}]"


def brief_tag(tag: Tag) -> str:
    """A tag in few characters: its inner steps; the root is not said.

    >>> from tagloom.core.tag import Site
    >>> loop, call = Site("main", "loop", "loop"), Site("main", "fib", "call")
    >>> inner = ROOT.child(call).child(loop, 2)
    >>> brief_tag(ROOT), brief_tag(inner), brief_tag(inner.child(call).child(call))
    ('main', 'fib/loop[2]', '\u2026/fib/fib')
    """
    steps = [each.last for each, _ in zip(tag.steps(), range(min(tag.depth, 4)), strict=False)]
    kept = steps if tag.depth <= 3 and len("/".join(steps)) <= LONGEST else steps[:2]
    return "/".join([*(["\u2026"] if len(kept) < tag.depth else []), *reversed(kept)]) or str(ROOT)


def _placed(
    view: View, graph: Graph, tokens: Iterable[_Found], top: Tag | None
) -> tuple[dict[int, list[_Found]], dict[str, list[_Found]]]:
    """The tokens on arrows, by their numbers in the view, and those at boxes."""
    ways: dict[tuple[int, int], list[int]] = {}
    for number, arrow in enumerate(view.arrows):
        if arrow.head[0] == "n" and arrow.head[1:].isdigit():
            ways.setdefault((int(arrow.head[1:]), arrow.port), []).append(number)
    on_arrows: dict[int, list[_Found]] = {}
    on_boxes: dict[str, list[_Found]] = {}
    used: dict[tuple[int, int, Tag], int] = {}
    for found in tokens:
        mark, (node, port, tag, _), *_ = found
        if top is not None and top not in tag.steps():
            continue
        arrows = ways.get((node, port))
        if arrows is None or mark not in ("flight", "waits"):
            on_boxes.setdefault(f"n{node}", []).append(found)
            continue
        way = arrows[0]
        if len(arrows) > 1:  # of several arrows, where rules are broken, each gets its own
            before = used.get((node, port, tag), 0)
            used[node, port, tag] = before + 1
            way = arrows[min(before, len(arrows) - 1)]
        if way in on_arrows:
            on_arrows[way].append(found)
        else:
            on_arrows[way] = [found]
    return on_arrows, on_boxes


def _tokens(state: State, among: int | None) -> Iterator[_Found]:
    """The tokens there are: what waits, what is in flight, what is parked, what is held."""
    for tag, record in islice(state.records.items(), among):
        for node, held in record.waiting.items():
            for port, value in held.items():
                yield "waits", Token(node, port, tag, value), -1, "", ""
    for position, token in enumerate(islice(state.flight, among)):
        yield "flight", token, position, "", ""
    for handle, block in state.cells.blocks.items():
        for number, tokens in block.parked.items():
            where = f"parked at cell {number} of {shown(state.graph, handle)}"
            yield from (("parked", token, -1, where, f"cell {number}") for token in tokens)
    for tag, entries in state.held.items():
        yield from (("held", token, -1, f"held, until {tag} may begin", "") for _, token in entries)


def _badges(graph: Graph, found: Sequence[_Found], most: int, told: _Told) -> tuple[Badge, ...]:
    """Badges of tokens, as many as there is room for."""
    kept = found[:most] if len(found) <= most else found[: most - 1]
    badges = tuple(
        Badge(mark, short or brief(token.value), brief_tag(token.tag), told(graph, each))
        for each in kept
        for mark, token, _, _, short in [each]
    )
    rest = found[len(kept) :]
    if not rest:
        return badges
    return (
        *badges,
        Badge("more", str(len(rest)), "", "; ".join(filter(None, (told(graph, each) for each in rest[:8])))),
    )


def _tooltip(graph: Graph, found: _Found) -> str:
    mark, token, at, said, _ = found
    how = f"in flight, at position {at}" if mark == "flight" else said or "waits for partners"
    return f"{shown(graph, token.value)} under {token.tag}: {how}"


def _nothing(graph: Graph, found: _Found) -> str:
    return ""


def _marked(graph: Graph, state: State, last: Event | None, among: int | None) -> dict[str, tuple[Badge, ...]]:
    """What fired last, what trapped, what can fire next, and which results have come."""
    found: dict[str, list[Badge]] = {}
    if last is not None and last.fired:
        found[f"n{last.token.node}"] = [_of_firing(graph, last)]
    ready: dict[int, list[Tag]] = {}
    for each in could_fire(state, enumerate(islice(state.flight, among))):
        ready.setdefault(each.node, []).append(each.tag)
    for node, tags in ready.items():
        many = str(len(tags)) if len(tags) > 1 else ""
        told = f"can fire under {', '.join(map(str, tags[:8]))}" if among is None else ""
        found.setdefault(f"n{node}", []).append(Badge("ready", many, "", told))
    for position, value in state.results.items():
        badge = Badge("came", brief(value), "", f"result {position} is {shown(graph, value)}")
        found.setdefault(f"r{position}", []).append(badge)
    return {name: tuple(badges) for name, badges in found.items()}


def _of_firing(graph: Graph, event: Event) -> Badge:
    """What a firing did."""
    tag = event.token.tag
    if event.trap is not None:
        return Badge("trap", "", brief_tag(tag), f"trapped under {tag}: {event.trap}")
    made = brief(event.outputs[0][1]) if event.outputs else ""
    operands = ", ".join(shown(graph, value) for value in event.inputs or ())
    return Badge("fired", made, brief_tag(tag), f"fired under {tag} on {operands}")
