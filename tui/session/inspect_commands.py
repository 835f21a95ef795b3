"""Commands that inspect the current position: the position, the state, a node, the source, the activations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from ...core.errors import Usage, plural
from ...core.graph.graph import Graph
from ...core.ops.effects import fill_placeholders
from ...core.program.program import Location
from ...core.tag import ROOT, Tag
from ...core.value import format_value
from ...interp.history.moment import describe_token
from ...interp.machine.activation import ActivationRecord
from ...interp.machine.event import Token
from ...interp.machine.state import State
from ...interp.outcome.describe import describe_value
from ...interp.outcome.outcome import Outcome
from ...interp.queries.ask import parse_tag
from ...interp.queries.contexts import fires_under
from ...interp.records.outcome_json import error_text as error_words
from ...viz.source_lines import MISSING_SOURCE, local_line, local_lines
from ..report import stats_report
from .arguments import CommandArguments
from .calls import ActivationTitles, OmittedActivations, list_activations
from .command import CommandGroup
from .describe import MAX_LINES, MAX_ROWS, describe_outputs, results_data, token_data, waiting_tokens
from .node import ArraySummary, PortState, has_fired, op_summary, ports, summarize_array
from .query_commands import last_firing_tag
from .reply import CommandResult, truncate_lines, with_omitted_count
from .rule import describe_effect, describe_firing_rule
from .session import Session
from .step_commands import position_result

inspect_commands = CommandGroup[Session]("looking")
SOURCE_CONTEXT = 4


def describe_tokens(graph: Graph, tokens: Iterable[Token], count: int) -> list[str]:
    """A line for each of `count` tokens, at most the first few; or a line that there are none."""
    lines = [f"  {describe_token(graph, token)}" for token in islice(tokens, MAX_LINES)]
    return with_omitted_count(lines, count) or ["  none"]


@inspect_commands.register("where", key="i", help="where one is: the last event, and its line of source")
def where(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    said = position_result(session)
    location = _location_of(session, session.current_node)
    if location is None:
        return said
    line = local_line(location).strip()
    data = {**said.data, "line": location.line, "source": line}
    return CommandResult([*said.text, f"  {location}: {line}"] if line else said.text, data)


def _location_of(session: Session, node: int | None) -> Location | None:
    """The source line of a node."""
    return None if node is None else session.history.graph.nodes[node].location


@inspect_commands.register(
    "state", "[TAG]", key="p", help="what is in flight, waits, is held and in cells; under TAG only what waits"
)
def state(session: Session, words: CommandArguments) -> CommandResult:
    text = words.optional_word()
    words.expect_end()
    graph, here = session.history.graph, session.history.state
    if text is not None:
        tag = parse_tag(graph, text)
        found = [token for token in waiting_tokens(here) if token.tag == tag]
        lines = describe_tokens(graph, found, len(found))
        return CommandResult(
            [f"waiting under {tag}:", *lines], {"waiting": [token_data(graph, token) for token in found]}
        )
    held = [token for entries in here.throttled_tokens.values() for _, token in entries]
    parts = (("in flight", here.flight, len(here.flight)), ("waiting", waiting_tokens(here), here.waiting_count))
    lines, data = list[str](), dict[str, Any]()
    for name, tokens, count in (*parts, ("held", held, len(held))):
        kept = list(islice(tokens, MAX_ROWS))
        data[name.replace(" ", "_")] = {"count": count, "tokens": [token_data(graph, token) for token in kept]}
        lines += [f"{name}:", *describe_tokens(graph, kept, count)] if count else []
    cells, results = list(_cells_data(graph, here)), results_data(session.history)
    lines += ["cells:", *truncate_lines([f"  {_describe_cells(row)}" for row in cells], MAX_LINES)] if cells else []
    come = [f"  {at}: {said}" for at, said in enumerate(results) if said is not None]
    lines += ["results:", *come] if come else []
    return CommandResult(lines or ["nothing is left"], {**data, "cells": cells, "results": results})


def _cells_data(graph: Graph, here: State) -> Iterator[dict[str, Any]]:
    """All arrays of cells: the values of full cells, and the number of tokens parked at each cell."""
    for handle, block in here.cells.blocks.items():
        yield {
            "cells": describe_value(graph, handle),
            "size": handle.size,
            "full": {str(at): describe_value(graph, puts[0].inputs[2]) for at, puts in sorted(block.writes.items())},
            "parked": {str(at): len(tokens) for at, tokens in sorted(block.deferred_reads.items())},
        }


def _describe_cells(row: dict[str, Any]) -> str:
    full = [f"{at}: {value}" for at, value in row["full"].items()]
    parked = [f"{count} parked at {at}" for at, count in row["parked"].items()]
    said = ", ".join([*truncate_lines(full, 8, "full"), *truncate_lines(parked, 8)]) or "empty"
    return f"{row['cells']}, {plural(row['size'], 'cell')}: {said}"


@inspect_commands.register(
    "inspect", "NODE [TAG]", key="a", help="a node: its op, what it holds under a tag, what it gave"
)
def inspect(session: Session, words: CommandArguments) -> CommandResult:
    name, text = words.next_word("a node"), words.optional_word()
    words.expect_end()
    history = session.history
    graph, number = history.graph, session.find_node(name)
    tag = parse_tag(graph, text) if text is not None else last_firing_tag(session, name)
    node, numbers = graph.nodes[number], session.run.firings(number)
    found, is_fired, contexts = list(ports(session, number, tag)), has_fired(session, number, tag), history.ask.contexts
    is_there = text is not None or fires_under(graph, contexts, number, tag)
    said = f"{'it has fired: ' if is_fired else ''}{', '.join(_describe_port(graph, port) for port in found)}"
    seen = _last_array(session, numbers)
    lines = [
        f"{node}{f' ({node.location})' if node.location else ''}: {node.op}, {op_summary(node.op)}",
        f"  fires {describe_firing_rule(node)}, then {describe_effect(node)}",
        f"  under {tag}: {said.removesuffix(': ')}" if is_there else f"  no activation of {contexts[number]} yet",
        f"  {plural(history.state.firings_by_node[number], 'firing')}",
        *(f"  event {at}, {history[at].token.tag}: {describe_outputs(graph, history[at])}" for at in numbers[-5:]),
        *([] if seen is None else [f"  {_describe_array(graph, seen, session.focus.array_slice)}"]),
    ]
    data = {
        "node": str(node),
        "op": node.op,
        "tag": str(tag),
        "held": {str(port.number): describe_value(graph, port.value) for port in found if port.status == "holds"},
        "ports": [_port_data(graph, port) for port in found],
        "firings": history.state.firings_by_node[number],
        "fired_here": is_fired,
        "array": None if seen is None else {"type": seen.type, **seen.statistics, "odd": seen.nonfinite_or_true_count},
    }
    return CommandResult(lines, data)


_PORT_WORDS = {
    "literal": "is",
    "took": "took",
    "passed": "took nothing",
    "earlier": "took a token earlier",
    "holds": "holds",
    "nothing": "has no token",
}


def _describe_port(graph: Graph, port: PortState) -> str:
    return f"port {port.number} {_PORT_WORDS[port.status]}{_describe_port_value(graph, port)}"


def _describe_port_value(graph: Graph, port: PortState) -> str:
    match port.status:
        case "literal":
            return f" {format_value(port.value)}"
        case "took" | "holds":
            return f" {describe_value(graph, port.value)}"
    return ""


def _port_data(graph: Graph, port: PortState) -> dict[str, Any]:
    return {"port": port.number, "has": port.status, "value": _describe_port_value(graph, port).strip() or None}


def _last_array(session: Session, numbers: Sequence[int]) -> ArraySummary | None:
    """The summary of a node's last result, if it is an array."""
    outputs = session.history[numbers[-1]].outputs if numbers else ()
    value = outputs[0][1] if outputs else None
    return summarize_array(value, session.focus.array_slice) if isinstance(value, np.ndarray) and value.ndim else None


def _describe_array(graph: Graph, seen: ArraySummary, chosen: str) -> str:
    numbers = "".join(f", {name} {number:.4g}" for name, number in seen.statistics.items())
    part = (
        ""
        if not chosen
        else "; no such slice"
        if seen.selection is None
        else f"; [{chosen}]: {describe_value(graph, seen.selection)}"
    )
    return f"{seen.type}{numbers}{part}"


@inspect_commands.register(
    "source", key="z", help="the lines of source around the node that is inspected, with an arrow"
)
def source(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    location = _location_of(session, session.inspected_node)
    if location is None:
        return CommandResult(["this node was made by no line of source"], {"file": None, "lines": []})
    text = local_lines(location)
    first = max(location.line - SOURCE_CONTEXT, 1)
    numbered = list(enumerate(text[first - 1 : max(location.line + SOURCE_CONTEXT - 1, 0)], first))
    lines = [f"{'->' if at == location.line else '  '} {at:4} {line.rstrip()}".rstrip() for at, line in numbered]
    data = {"file": location.file, "line": location.line, "lines": [line.rstrip() for _, line in numbered]}
    return CommandResult([str(location), *lines] if numbered else [f"{location}: {MISSING_SOURCE}"], data)


@inspect_commands.register(
    "tags", "[all]", key="A", help="the activations that are open, as a tree; all: with what went in and came out"
)
def tags(session: Session, words: CommandArguments) -> CommandResult:
    which = words.optional_word()
    words.expect_end()
    if which is not None:
        return _all_tags(session, which)
    records, here = session.history.state.records, session.current_tag
    lines = with_omitted_count(list(islice(_describe_open_activations(records, here), MAX_LINES)), len(records))
    rows = [
        {"tag": str(tag), "tokens": record.token_count, "fired": len(record.fired_nodes)}
        for tag, record in islice(records.items(), MAX_ROWS)
    ]
    data = {"open": rows, "count": len(records), "here": str(here)}
    return CommandResult(lines or ["no activation is open"], data)


def _all_tags(session: Session, which: str) -> CommandResult:
    """All activations, closed ones included, as the screen shows them."""
    if which != "all":
        raise Usage("this says not which activations", required="tags [all]", got=which[:40])
    history, here = session.history, session.current_tag
    session.run.index.catch_up(history)
    titles, lines, rows = ActivationTitles(history.graph, session.run.index.gates, history.position), list[str](), []
    for each in list_activations(session):
        indent = "  " * min(each.depth, 30)
        if isinstance(each, OmittedActivations):
            lines.append(f"   {indent}and {each.remaining_count:,} more")
            continue
        said, tag = titles.title(each), each.tag
        site = "" if tag.site.kind == "loop" else f"{tag.last_step}: "
        is_open = "" if each.tokens is None else f", open, {plural(each.tokens, 'token')}"
        lines.append(f"{'->' if tag == here else '  '} {indent}{site}{said}{is_open}")
        rows.append({"tag": str(tag), "said": said, "open": each.tokens is not None, "tokens": each.tokens or 0})
    return CommandResult(lines, {"activations": rows, "here": str(here)})


def _describe_open_activations(records: dict[Tag, ActivationRecord], here: Tag) -> Iterator[str]:
    """A line for each open activation, below the one around it. Without recursion, because tags may be very deep."""
    ahead = [ROOT] if ROOT in records else []
    while ahead:
        tag = ahead.pop()
        record = records[tag]
        arrow, depth = "->" if tag == here else "  ", min(tag.depth, 30)
        counts = f"{plural(record.token_count, 'token')}, {len(record.fired_nodes)} fired"
        yield f"{arrow} {'  ' * depth}{tag.last_step}: {counts}"
        ahead.extend(child for child in reversed(record.child_tags.values()))


@inspect_commands.register("printed", key=",p", help="the lines that the program has printed up to here")
def printed(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    history = session.history
    graph, lines = history.graph, list[str]()
    texts = {at: str(dict(node.attributes)["text"]) for at, node in enumerate(graph.nodes) if node.op == "print"}
    for number in sorted(chain.from_iterable(session.run.firings(at) for at in texts)):
        event = history[number]
        lines.append(
            fill_placeholders(texts[event.token.node], [describe_value(graph, value) for value in event.inputs or ()])
        )
    return CommandResult(lines or ["nothing has been printed"], {"lines": lines})


def require_outcome(session: Session) -> Outcome:
    """The outcome of the run; raises Usage if it is not over."""
    try:
        return session.history.outcome()
    except Usage as error:
        error.hint = "`run` goes on to the end"
        raise


@inspect_commands.register("outcome", key=",o", help="how the run ended, once it is over")
def outcome(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    found = require_outcome(session)
    values = ", ".join("missing" if value is None else format_value(value) for value in found.results)
    error = error_words(found.error).splitlines() if found.error is not None else []
    data = {
        "status": found.status,
        "results": [None if value is None else format_value(value) for value in found.results],
    }
    return CommandResult([f"{found.status}: {values}", *error], {**data, "firings": found.firings})


@inspect_commands.register("stats", key=",s", help="what the run took, once it is over")
def stats(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    found = require_outcome(session)
    data = {
        "firings": found.stats.firings,
        "steps": found.stats.steps,
        "critical_path": found.stats.critical_path,
        "largest_store": found.stats.largest_store,
        "deepest_tag": found.stats.deepest_tag,
    }
    return CommandResult(stats_report(found, unicode=False).splitlines(), data)
