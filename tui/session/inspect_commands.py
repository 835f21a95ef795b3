"""Commands that inspect the current position: the position, the state, a node, the source, the activations; and
commands that change the focus, which is what the views show. They change no run, and `undo` skips them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import numpy as np

from ...core.errors import Usage, plural
from ...core.graph.graph import Graph
from ...core.ops.effects import fill_placeholders
from ...core.ops.indexing import parse_key
from ...core.program.program import Location
from ...core.tag import ROOT, Tag
from ...core.value import abbreviate
from ...interp.breakpoints.expression import compile_condition
from ...interp.machine.activation import ActivationRecord
from ...interp.machine.event import Token
from ...interp.machine.state import State
from ...interp.outcome.outcome import Outcome, abbreviate_value, describe_value
from ...interp.queries.ask import parse_tag
from ...interp.queries.contexts import fires_under
from ...interp.records.documents import error_text
from ...viz.collapse import find_clusters
from ...viz.graph_view import graph_view
from ...viz.labels import abbreviate_list
from ...viz.source_lines import MISSING_SOURCE, expression_columns, local_line, local_lines, underline
from ..report import stats_report
from .command import CommandArguments, CommandGroup, CommandResult, truncate_lines, with_omitted_count
from .listing import (
    MAX_LINES,
    MAX_ROWS,
    ActivationTitles,
    ArrayLiteral,
    OmittedActivations,
    abbreviate_outputs,
    describe_event,
    describe_token,
    list_activations,
    list_events,
    results_data,
    token_data,
    value_data,
    waiting_tokens,
)
from .node import (
    ArraySummary,
    PortState,
    describe_effect,
    describe_firing_rule,
    describe_helpers,
    has_fired,
    last_firing_tag,
    op_summary,
    ports,
    summarize_array,
)
from .session import Session
from .step_commands import position_result

inspect_commands = CommandGroup[Session]("looking")
SOURCE_CONTEXT = 4


def describe_tokens(graph: Graph, tokens: Iterable[Token], count: int) -> list[str]:
    """A line for each of the first few of `count` tokens, and a count of the others; or a line if there are none."""
    lines = [f"  {describe_token(graph, token)}" for token in islice(tokens, MAX_LINES)]
    return with_omitted_count(lines, count) or ["  none"]


@inspect_commands.register("where", key="i", help="the position: the last event, and its line of source")
def where(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    result = position_result(session)
    location = source_location(session, session.current_node)
    if location is None:
        return result
    line = local_line(location).strip()
    data = {**result.data, "line": location.line, "source": line}
    return CommandResult([*result.text, f"  {location}: {line}"] if line else result.text, data)


def source_location(session: Session, node: int | None) -> Location | None:
    """The source line of a node, if it is known."""
    return None if node is None else session.history.graph.nodes[node].location


@inspect_commands.register(
    "state",
    "[TAG]",
    key="p",
    help="the tokens in flight, waiting and throttled, and the cells; with TAG, what waits under it",
)
def state(session: Session, words: CommandArguments) -> CommandResult:
    text = words.optional_word()
    words.expect_end()
    graph, here = session.history.graph, session.history.state
    if text is not None:
        tag = parse_tag(graph, text)
        waiting = [token for token in waiting_tokens(here) if token.tag == tag]
        lines = describe_tokens(graph, waiting, len(waiting))
        return CommandResult(
            [f"waiting under {tag}:", *lines], {"waiting": [token_data(graph, token) for token in waiting]}
        )
    throttled = [token for entries in here.throttled_tokens.values() for _, token in entries]
    parts = (("in flight", here.flight, len(here.flight)), ("waiting", waiting_tokens(here), here.waiting_count))
    lines, data = list[str](), dict[str, Any]()
    for name, tokens, count in (*parts, ("throttled", throttled, len(throttled))):
        first = list(islice(tokens, MAX_ROWS))
        data[name.replace(" ", "_")] = {"count": count, "tokens": [token_data(graph, token) for token in first]}
        lines += [f"{name}:", *describe_tokens(graph, first, count)] if count else []
    cells, results = list(cells_data(graph, here)), results_data(session.history)
    lines += ["cells:", *truncate_lines([f"  {describe_cells(row)}" for row in cells], MAX_LINES)] if cells else []
    arrived = [f"  {number}: {abbreviate_value(graph, value)}" for number, value in sorted(here.results.items())]
    lines += ["results:", *arrived] if arrived else []
    return CommandResult(lines or ["nothing is left"], {**data, "cells": cells, "results": results})


def cells_data(graph: Graph, state: State) -> Iterator[dict[str, Any]]:
    """All arrays of cells as data: the values of full cells, and the number of deferred reads of each cell."""
    for handle, block in state.cells.blocks.items():
        yield {
            "cells": describe_value(graph, handle),
            "size": handle.size,
            "full": {str(at): value_data(graph, puts[0].inputs[2]) for at, puts in sorted(block.writes.items())},
            "deferred": {str(at): len(tokens) for at, tokens in sorted(block.deferred_reads.items())},
        }


def describe_cells(row: dict[str, Any]) -> str:
    """A line for an array of cells, from its data."""
    full = [f"{at}: {value}" for at, value in row["full"].items()]
    deferred = [f"{count} deferred at {at}" for at, count in row["deferred"].items()]
    contents = ", ".join([*truncate_lines(full, 8, "full"), *truncate_lines(deferred, 8)]) or "empty"
    return f"{row['cells']}, {plural(row['size'], 'cell')}: {contents}"


@inspect_commands.register(
    "inspect", "NODE [TAG]", key="a", help="a node: its op, its ports under a tag, and its last results"
)
def inspect(session: Session, words: CommandArguments) -> CommandResult:
    name, text = words.next_word("a node"), words.optional_word()
    words.expect_end()
    history = session.history
    graph, number = history.graph, session.find_node(name)
    tag = parse_tag(graph, text) if text is not None else last_firing_tag(session, name)
    node, numbers = graph.nodes[number], session.run.firings(number)
    states, is_fired, contexts = (
        list(ports(session, number, tag)),
        has_fired(session, number, tag),
        history.ask.contexts,
    )
    is_activation = text is not None or fires_under(graph, contexts, number, tag)
    status = f"{'it has fired: ' if is_fired else ''}{', '.join(describe_port(graph, port) for port in states)}"
    outputs = history[numbers[-1]].outputs if numbers else ()
    value, array = outputs[0][1] if outputs else None, None
    if isinstance(value, np.ndarray) and value.ndim:
        array = summarize_array(value, session.focus.array_slice)
    lines = [
        f"{node}{f' ({node.location})' if node.location else ''}: {node.op}, {op_summary(node.op)}",
        *(f"  {helpers}" for helpers in [describe_helpers(node)] if helpers),
        f"  fires {describe_firing_rule(node)}, then {describe_effect(node)}",
        f"  under {tag}: {status.removesuffix(': ')}"
        if is_activation
        else f"  no activation of {contexts[number]} yet",
        f"  {plural(history.state.firings_by_node[number], 'firing')}",
        *(f"  event {at}, {history[at].token.tag}: {abbreviate_outputs(graph, history[at])}" for at in numbers[-5:]),
        *([] if array is None else [f"  {describe_array(graph, array, session.focus.array_slice)}"]),
    ]
    data = {
        "node": str(node),
        "op": node.op,
        "tag": str(tag),
        "waiting": {str(port.number): value_data(graph, port.value) for port in states if port.status == "waiting"},
        "ports": [{"port": port.number, "has": port.status, "value": port_value_data(graph, port)} for port in states],
        "firings": history.state.firings_by_node[number],
        "fired_here": is_fired,
        "array": None,
    }
    if array is not None:
        data["array"] = {"type": array.type, **array.statistics, "odd": array.nonfinite_or_true_count}
    return CommandResult(lines, data)


_PORT_WORDS = {
    "literal": "is",
    "consumed": "consumed",
    "unused": "consumed nothing",
    "consumed_earlier": "consumed a token earlier",
    "waiting": "holds",
    "empty": "has no token",
}


def describe_port(graph: Graph, port: PortState) -> str:
    """A clause about a port, such as `port 0 consumed 3`."""
    value = f" {abbreviate_value(graph, port.value)}" if port.status in ("literal", "consumed", "waiting") else ""
    return f"port {port.number} {_PORT_WORDS[port.status]}{value}"


def port_value_data(graph: Graph, port: PortState) -> str | ArrayLiteral | None:
    """The value at a port as data; None if there is none."""
    return value_data(graph, port.value) if port.status in ("literal", "consumed", "waiting") else None


def describe_array(graph: Graph, array: ArraySummary, chosen: str) -> str:
    """A line for an array: its type, its statistics, and the chosen slice."""
    numbers = "".join(f", {name} {number:.4g}" for name, number in array.statistics.items())
    if not chosen:
        return f"{array.type}{numbers}"
    if array.selection is None:
        return f"{array.type}{numbers}; no such slice"
    return f"{array.type}{numbers}; [{chosen}]: {abbreviate_value(graph, array.selection)}"


@inspect_commands.register(
    "source", key="z", help="the lines of source around the inspected node, its expression underlined"
)
def source(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    location = source_location(session, session.inspected_node)
    if location is None:
        return CommandResult(["no line of source is known for this node"], {"file": None, "lines": []})
    text = local_lines(location)
    first = max(location.line - SOURCE_CONTEXT, 1)
    numbered = list(enumerate(text[first - 1 : max(location.line + SOURCE_CONTEXT - 1, 0)], first))
    lines, expression = [], None
    for at, line in numbered:
        lines.append(f"{'->' if at == location.line else '  '} {at:4} {line.rstrip()}".rstrip())
        columns = expression_columns(location, line) if at == location.line else None
        if columns is not None:
            lines.append(f"{'':8}{underline(line, columns)}")
            expression = line[slice(*columns)]
    data = {
        "file": location.file,
        "line": location.line,
        "expression": expression,
        "lines": [line.rstrip() for _, line in numbered],
    }
    return CommandResult([str(location), *lines] if numbered else [f"{location}: {MISSING_SOURCE}"], data)


@inspect_commands.register(
    "tags", "[all]", key="A", help="the tree of open activations; `all`: closed ones too, with arguments and results"
)
def tags(session: Session, words: CommandArguments) -> CommandResult:
    which = words.optional_word()
    words.expect_end()
    if which not in (None, "all"):
        raise Usage("`tags` lists the open activations, or all", required="tags [all]", got=which[:40])
    if which == "all":
        return all_activations_result(session)
    records, current_tag = session.history.state.records, session.current_tag
    lines = with_omitted_count(list(islice(describe_open_activations(records, current_tag), MAX_LINES)), len(records))
    rows = [
        {"tag": str(tag), "tokens": record.token_count, "fired": len(record.fired_nodes)}
        for tag, record in islice(records.items(), MAX_ROWS)
    ]
    data = {"open": rows, "count": len(records), "here": str(current_tag)}
    return CommandResult(lines or ["no activation is open"], data)


def all_activations_result(session: Session) -> CommandResult:
    """All activations, closed ones included, as the screen shows them."""
    history, current_tag = session.history, session.current_tag
    session.run.index.catch_up(history)
    titles, lines, rows = ActivationTitles(history.graph, session.run.index.gates, history.position), list[str](), []
    for activation in list_activations(session):
        indent = "  " * min(activation.depth, 30)
        if isinstance(activation, OmittedActivations):
            lines.append(f"   {indent}and {activation.remaining_count:,} more")
            continue
        title, tag = titles.title(activation), activation.tag
        site = "" if tag.site.kind == "loop" else f"{tag.last_step}: "
        status = "" if activation.tokens is None else f", open, {plural(activation.tokens, 'token')}"
        lines.append(f"{'->' if tag == current_tag else '  '} {indent}{site}{title}{status}")
        rows.append(
            {"tag": str(tag), "said": title, "open": activation.tokens is not None, "tokens": activation.tokens or 0}
        )
    return CommandResult(lines, {"activations": rows, "here": str(current_tag)})


def describe_open_activations(records: dict[Tag, ActivationRecord], current_tag: Tag) -> Iterator[str]:
    """A line for each open activation, below its parent. Without recursion, because tags may be very deep."""
    stack = [ROOT] if ROOT in records else []
    while stack:
        tag = stack.pop()
        record = records[tag]
        arrow, depth = "->" if tag == current_tag else "  ", min(tag.depth, 30)
        counts = f"{plural(record.token_count, 'token')}, {len(record.fired_nodes)} fired"
        yield f"{arrow} {'  ' * depth}{tag.last_step}: {counts}"
        stack.extend(reversed(record.child_tags.values()))


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
    ending = require_outcome(session)
    results = [None if value is None else value_data(ending.graph, value) for value in ending.results]
    texts = ("missing" if value is None else abbreviate(value) for value in ending.results)
    line = f"{ending.status}: {', '.join(texts)}"
    error = error_text(ending.error).split("\n") if ending.error is not None else []
    data = {"status": ending.status, "results": results, "firings": ending.firings}
    return CommandResult([line, *error], data)


@inspect_commands.register("stats", key=",s", help="the statistics of the run, once it is over")
def stats(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    ending = require_outcome(session)
    names = ("firings", "steps", "largest_store", "deepest_tag")
    data = {**{name: getattr(ending.stats, name) for name in names}, "critical_path": ending.stats.span}
    return CommandResult(stats_report(ending, unicode=False).split("\n"), data)


# Focus

focus_commands = CommandGroup[Session]("focus")
MAX_LISTED = 20
"""The most events that `events` prints."""


@focus_commands.register(
    "select", "[NODE] [TAG]", key="*", help="inspect this node until another is selected; without NODE, the current one"
)
def select(session: Session, words: CommandArguments) -> CommandResult:
    if not words:
        session.focus = replace(session.focus, node_name=None, node_tag=None, found_node=None)
        return CommandResult(["the current node is inspected"])
    result = inspect(session, CommandArguments(words.usage, words.text))
    name, tag = words.next_word("a node"), words.optional_word()
    number = session.find_node(name)
    session.show_node(number)
    full_name = str(session.history.graph.nodes[number])
    session.focus = replace(session.focus, node_name=full_name, node_tag=tag)
    return result


@focus_commands.register(
    "only", "[TAG]", key="&", help="show only the activation with this tag and those below it; without TAG, all"
)
def only(session: Session, words: CommandArguments) -> CommandResult:
    text = words.optional_word()
    words.expect_end()
    tag = None if text is None else str(parse_tag(session.history.graph, text))
    session.focus = replace(session.focus, root_tag=tag)
    return CommandResult([f"only {tag} is shown" if tag else "all activations are shown"], {"only": tag})


@focus_commands.register("fold", "NAME", key="-", help="draw a function or a loop as one box", reverse="unfold")
def fold(session: Session, words: CommandArguments) -> CommandResult:
    names = resolve_names(session, words.next_word("a function or a loop"))
    words.expect_end()
    focus = session.focus
    others = tuple(name for name in focus.folded_names if name not in names)
    return set_folding(session, (*others, *names), tuple(name for name in focus.unfolded_names if name not in names))


@focus_commands.register(
    "unfold",
    "[NAME]",
    key="_",
    help="draw a folded function or loop in full; without NAME all of them, the second time those that fit",
    reverse="fold",
)
def unfold(session: Session, words: CommandArguments) -> CommandResult:
    name = words.optional_word()
    words.expect_end()
    names, focus = resolve_names(session, name), session.focus
    if name is None and {*names} <= {*focus.unfolded_names}:
        return set_folding(session, (), ())
    others = tuple(name for name in focus.unfolded_names if name not in names)
    return set_folding(session, tuple(name for name in focus.folded_names if name not in names), (*others, *names))


@focus_commands.register(
    "bundles", "[on|off]", key="{", help="draw bundles as one box each (`on`), or every node; without a word, the other"
)
def bundles(session: Session, words: CommandArguments) -> CommandResult:
    word = words.optional_word()
    words.expect_end()
    if word not in (None, "on", "off"):
        raise Usage("bundles must be on or off", required="on or off", got=repr(word))
    is_full = not session.focus.is_full if word is None else word == "off"
    session.focus = replace(session.focus, is_full=is_full)
    text = "every node is drawn" if is_full else "bundles are drawn as one box each"
    return CommandResult([text], {"bundles": not is_full})


def resolve_names(session: Session, name: str | None) -> list[str]:
    """The full names of the functions, loops and bundles with this name; of all functions and loops, if the name is
    None."""
    view = graph_view(session.history.graph)
    if name is not None and any(name == bundle.subject for bundle in chain(view.bundles, *view.blocks)):
        return [name]
    clusters = None if name is None else find_clusters(view, [name])
    return [
        cluster.subject
        for cluster in view.root.walk()
        if cluster.subject and (clusters is None or cluster.name in clusters)
    ]


def set_folding(session: Session, folded: tuple[str, ...], unfolded: tuple[str, ...]) -> CommandResult:
    """Set which functions and loops are drawn as one box, and which in full."""
    session.focus = replace(session.focus, folded_names=folded, unfolded_names=unfolded)
    kind, names = ("folded", folded) if folded else ("unfolded", unfolded)
    text = f"{kind}: {abbreviate_list(names)}" if names else "folded to fit"
    return CommandResult([text], {"folded": list(folded)})


@focus_commands.register(
    "slice", "SLICE", key="[", help="show this slice of arrays, such as 0, 2:5; ... shows all of them"
)
def slice_command(session: Session, words: CommandArguments) -> CommandResult:
    text = words.text.strip().removeprefix("[").removesuffix("]").strip()
    if not text:
        raise Usage("a slice is missing", required=words.usage)
    parse_key(text)
    session.focus = replace(session.focus, array_slice="" if text == "..." else text)
    return CommandResult([f"arrays are shown at [{text}]"], {"slice": text})


@focus_commands.register(
    "events", "[CONDITION]", key="!", help="list the events for which a condition holds; without one, all"
)
def events(session: Session, words: CommandArguments) -> CommandResult:
    history = session.history
    if words.text:
        compile_condition(words.text, history.graph)
    session.focus = replace(session.focus, event_condition=words.text)
    numbers = list_events(session)
    current_index = bisect_left(numbers, history.position)
    last = list(numbers[max(current_index - MAX_LISTED, 0) : current_index])
    lines = [describe_event(history, number, history[number]) for number in last]
    data: dict[str, Any] = {"events": last, "count": len(numbers)}
    return CommandResult(lines or ["no event up to here matches"], data)
