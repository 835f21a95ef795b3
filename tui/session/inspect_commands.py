"""What there is where one stands: the place, the state, a node, the source, the activations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from ...core.errors import Usage, counted
from ...core.graph.graph import Graph
from ...core.ops.effect import filled
from ...core.program.program import Location
from ...core.tag import ROOT, Tag
from ...core.value import show
from ...interp.history.moment import token_said
from ...interp.machine.activation import Record
from ...interp.machine.event import Token
from ...interp.machine.state import State
from ...interp.outcome.describe import shown
from ...interp.outcome.outcome import Outcome
from ...interp.queries.ask import tag_of
from ...interp.queries.contexts import fires_under
from ...interp.records.outcome_json import words as error_words
from ...viz.source_lines import MISSING, line_on_screen, lines_on_screen
from ..report import stats_report
from .arguments import Words
from .calls import More, Titles, activations
from .command import Group
from .describe import MOST, SOME, results_data, token_data, values_of, waiting
from .node import Array, Port, array, has_fired, ports, sentence
from .query_commands import last_tag
from .reply import Said, cut, shortened
from .rule import does, needs
from .session import Session
from .step_commands import stand

looking = Group("looking")
AROUND = 4


def tokens_said(graph: Graph, tokens: Iterable[Token], count: int) -> list[str]:
    """A line for each of `count` tokens, of many for the first; or that there are none."""
    lines = [f"  {token_said(graph, token)}" for token in islice(tokens, MOST)]
    return shortened(lines, count) or ["  none"]


@looking.row("where", key="i", help="where one is: the last event, and its line of source")
def where(session: Session, words: Words) -> Said:
    words.done()
    said = stand(session)
    location = _location(session, session.node)
    if location is None:
        return said
    line = line_on_screen(location).strip()
    data = {**said.data, "line": location.line, "source": line}
    return Said([*said.text, f"  {location}: {line}"] if line else said.text, data)


def _location(session: Session, node: int | None) -> Location | None:
    """The line that made a node."""
    return None if node is None else session.history.graph.nodes[node].location


@looking.row(
    "state", "[TAG]", key="p", help="what is in flight, waits, is held and in cells; under TAG only what waits"
)
def state(session: Session, words: Words) -> Said:
    text = words.maybe()
    words.done()
    graph, here = session.history.graph, session.history.state
    if text is not None:
        tag = tag_of(graph, text)
        found = [token for token in waiting(here) if token.tag == tag]
        lines = tokens_said(graph, found, len(found))
        return Said([f"waiting under {tag}:", *lines], {"waiting": [token_data(graph, token) for token in found]})
    held = [token for entries in here.held.values() for _, token in entries]
    parts = (("in flight", here.flight, len(here.flight)), ("waiting", waiting(here), here.waiting))
    lines, data = list[str](), dict[str, Any]()
    for name, tokens, count in (*parts, ("held", held, len(held))):
        kept = list(islice(tokens, SOME))
        data[name.replace(" ", "_")] = {"count": count, "tokens": [token_data(graph, token) for token in kept]}
        lines += [f"{name}:", *tokens_said(graph, kept, count)] if count else []
    cells, results = list(_cells(graph, here)), results_data(session.history)
    lines += ["cells:", *cut([f"  {_cells_said(row)}" for row in cells], MOST)] if cells else []
    come = [f"  {at}: {said}" for at, said in enumerate(results) if said is not None]
    lines += ["results:", *come] if come else []
    return Said(lines or ["nothing is left"], {**data, "cells": cells, "results": results})


def _cells(graph: Graph, here: State) -> Iterator[dict[str, Any]]:
    """All arrays of cells: what the full ones hold, and how many tokens are parked at which."""
    for handle, block in here.cells.blocks.items():
        yield {
            "cells": shown(graph, handle),
            "size": handle.size,
            "full": {str(at): shown(graph, puts[0].inputs[2]) for at, puts in sorted(block.puts.items())},
            "parked": {str(at): len(tokens) for at, tokens in sorted(block.parked.items())},
        }


def _cells_said(row: dict[str, Any]) -> str:
    full = [f"{at}: {value}" for at, value in row["full"].items()]
    parked = [f"{count} parked at {at}" for at, count in row["parked"].items()]
    said = ", ".join([*cut(full, 8, "full"), *cut(parked, 8)]) or "empty"
    return f"{row['cells']}, {counted(row['size'], 'cell')}: {said}"


@looking.row("inspect", "NODE [TAG]", key="a", help="a node: its op, what it holds under a tag, what it gave")
def inspect(session: Session, words: Words) -> Said:
    name, text = words.next("a node"), words.maybe()
    words.done()
    history = session.history
    graph, number = history.graph, session.find(name)
    tag = tag_of(graph, text) if text is not None else last_tag(session, name)
    node, numbers = graph.nodes[number], session.run.firings(number)
    found, is_fired, contexts = list(ports(session, number, tag)), has_fired(session, number, tag), history.ask.contexts
    is_there = text is not None or fires_under(graph, contexts, number, tag)
    said = f"{'it has fired: ' if is_fired else ''}{', '.join(_port_said(graph, port) for port in found)}"
    seen = _array(session, numbers)
    lines = [
        f"{node}{f' ({node.location})' if node.location else ''}: {node.op}, {sentence(node.op)}",
        f"  fires {needs(node)}, then {does(node)}",
        f"  under {tag}: {said.removesuffix(': ')}" if is_there else f"  no activation of {contexts[number]} yet",
        f"  {counted(history.state.counts[number], 'firing')}",
        *(f"  event {at}, {history[at].token.tag}: {values_of(graph, history[at])}" for at in numbers[-5:]),
        *([] if seen is None else [f"  {_array_said(graph, seen, session.focus.slice)}"]),
    ]
    data = {
        "node": str(node),
        "op": node.op,
        "tag": str(tag),
        "held": {str(port.number): shown(graph, port.value) for port in found if port.has == "holds"},
        "ports": [_port_data(graph, port) for port in found],
        "firings": history.state.counts[number],
        "fired_here": is_fired,
        "array": None if seen is None else {"type": seen.type, **seen.statistics, "odd": seen.odd},
    }
    return Said(lines, data)


_PORT = {
    "literal": "is",
    "took": "took",
    "passed": "took nothing",
    "earlier": "took a token earlier",
    "holds": "holds",
    "nothing": "has no token",
}


def _port_said(graph: Graph, port: Port) -> str:
    return f"port {port.number} {_PORT[port.has]}{_value(graph, port)}"


def _value(graph: Graph, port: Port) -> str:
    match port.has:
        case "literal":
            return f" {show(port.value)}"
        case "took" | "holds":
            return f" {shown(graph, port.value)}"
    return ""


def _port_data(graph: Graph, port: Port) -> dict[str, Any]:
    return {"port": port.number, "has": port.has, "value": _value(graph, port).strip() or None}


def _array(session: Session, numbers: Sequence[int]) -> Array | None:
    """What is shown of the array that a node gave last, if it is one."""
    outputs = session.history[numbers[-1]].outputs if numbers else ()
    value = outputs[0][1] if outputs else None
    return array(value, session.focus.slice) if isinstance(value, np.ndarray) and value.ndim else None


def _array_said(graph: Graph, seen: Array, chosen: str) -> str:
    numbers = "".join(f", {name} {number:.4g}" for name, number in seen.statistics.items())
    part = "" if not chosen else "; no such slice" if seen.part is None else f"; [{chosen}]: {shown(graph, seen.part)}"
    return f"{seen.type}{numbers}{part}"


@looking.row("source", key="z", help="the lines of source around the node that is inspected, with an arrow")
def source(session: Session, words: Words) -> Said:
    words.done()
    location = _location(session, session.inspected)
    if location is None:
        return Said(["this node was made by no line of source"], {"file": None, "lines": []})
    text = lines_on_screen(location)
    first = max(location.line - AROUND, 1)
    numbered = list(enumerate(text[first - 1 : max(location.line + AROUND - 1, 0)], first))
    lines = [f"{'->' if at == location.line else '  '} {at:4} {line.rstrip()}".rstrip() for at, line in numbered]
    data = {"file": location.file, "line": location.line, "lines": [line.rstrip() for _, line in numbered]}
    return Said([str(location), *lines] if numbered else [f"{location}: {MISSING}"], data)


@looking.row(
    "tags", "[all]", key="A", help="the activations that are open, as a tree; all: with what went in and came out"
)
def tags(session: Session, words: Words) -> Said:
    which = words.maybe()
    words.done()
    if which is not None:
        return _all_tags(session, which)
    records, here = session.history.state.records, session.tag
    lines = shortened(list(islice(_tree(records, here), MOST)), len(records))
    rows = [
        {"tag": str(tag), "tokens": record.tokens, "fired": len(record.fired)}
        for tag, record in islice(records.items(), SOME)
    ]
    data = {"open": rows, "count": len(records), "here": str(here)}
    return Said(lines or ["no activation is open"], data)


def _all_tags(session: Session, which: str) -> Said:
    """Those that have closed too, as the screen shows them."""
    if which != "all":
        raise Usage("this says not which activations", required="tags [all]", got=which[:40])
    history, here = session.history, session.tag
    session.run.known.catch_up(history)
    titles, lines, rows = Titles(history.graph, session.run.known.gates, history.position), list[str](), []
    for each in activations(session):
        indent = "  " * min(each.depth, 30)
        if isinstance(each, More):
            lines.append(f"   {indent}and {each.left:,} more")
            continue
        said, tag = titles.of(each), each.tag
        site = "" if tag.site.kind == "loop" else f"{tag.last}: "
        is_open = "" if each.tokens is None else f", open, {counted(each.tokens, 'token')}"
        lines.append(f"{'->' if tag == here else '  '} {indent}{site}{said}{is_open}")
        rows.append({"tag": str(tag), "said": said, "open": each.tokens is not None, "tokens": each.tokens or 0})
    return Said(lines, {"activations": rows, "here": str(here)})


def _tree(records: dict[Tag, Record], here: Tag) -> Iterator[str]:
    """A line for each open activation, below the one around it. Without recursion: tags may be very deep."""
    ahead = [ROOT] if ROOT in records else []
    while ahead:
        tag = ahead.pop()
        record = records[tag]
        arrow, depth = "->" if tag == here else "  ", min(tag.depth, 30)
        yield f"{arrow} {'  ' * depth}{tag.last}: {counted(record.tokens, 'token')}, {len(record.fired)} fired"
        ahead.extend(child for child in reversed(record.children.values()))


@looking.row("printed", key=",p", help="the lines that the program has printed up to here")
def printed(session: Session, words: Words) -> Said:
    words.done()
    history = session.history
    graph, lines = history.graph, list[str]()
    texts = {at: str(dict(node.attributes)["text"]) for at, node in enumerate(graph.nodes) if node.op == "print"}
    for number in sorted(chain.from_iterable(session.run.firings(at) for at in texts)):
        event = history[number]
        lines.append(filled(texts[event.token.node], [shown(graph, value) for value in event.inputs or ()]))
    return Said(lines or ["nothing has been printed"], {"lines": lines})


def ended(session: Session) -> Outcome:
    """How the run ended; raises Usage where it is not over."""
    try:
        return session.history.outcome()
    except Usage as error:
        error.hint = "`run` goes on to the end"
        raise


@looking.row("outcome", key=",o", help="how the run ended, once it is over")
def outcome(session: Session, words: Words) -> Said:
    words.done()
    found = ended(session)
    values = ", ".join("missing" if value is None else show(value) for value in found.results)
    error = error_words(found.error).splitlines() if found.error is not None else []
    data = {"status": found.status, "results": [None if value is None else show(value) for value in found.results]}
    return Said([f"{found.status}: {values}", *error], {**data, "firings": found.firings})


@looking.row("stats", key=",s", help="what the run took, once it is over")
def stats(session: Session, words: Words) -> Said:
    words.done()
    found = ended(session)
    data = {
        "firings": found.stats.firings,
        "steps": found.stats.steps,
        "critical_path": found.stats.critical_path,
        "largest_store": found.stats.largest_store,
        "deepest_tag": found.stats.deepest_tag,
    }
    return Said(stats_report(found, unicode=False).splitlines(), data)
