"""`tagloom run --fetch NAME --feed NAME=LITERAL`: a part of a program, and its fed values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import Usage
from ...core.frontend.trace.pytree import unflatten
from ...core.graph.graph import Graph
from ...interp.engines.reference import default_structure
from ...interp.function.fetch_feed import Partial, PrunedProgram
from ...interp.function.function import Function
from ...interp.function.trace_cache import TracedProgram
from ...interp.lru_cache import LRUCache
from ...interp.outcome.outcome import Outcome
from ...interp.records.documents import to_json
from ...interp.records.outcome_json import OutcomeRecord, untyped_json
from ..load import Runnable, parse_argument, parse_partial_arguments, program_and_graph


def build_partial(
    subject: Runnable, words: Sequence[str], fetch: Sequence[str], feed: Sequence[str]
) -> tuple[Partial, list[Any]]:
    """The part of a program to run, and its arguments. A single fetched name gives a value, several give a dict.

    Raises Usage if there are no such values, or the words cannot be parsed.
    """
    values = parse_partial_arguments(subject, words)
    whole = None if any(value is ... for value in values) and isinstance(subject, Function) else values
    given = subject.source.unflatten_arguments(values) if isinstance(subject, Function) else values
    program, graph = program_and_graph(subject, whole)
    wanted = fetch[0] if len(fetch) == 1 else dict(zip(fetch, fetch, strict=True)) or None
    known: LRUCache[object, PrunedProgram] = LRUCache(1)

    def trace_program(arguments: Sequence[Any]) -> tuple[TracedProgram, list[Any]]:
        assert program is not None
        return TracedProgram(program, graph, default_structure(graph)), list(arguments)

    def partial_with(feeds: Mapping[str, object]) -> Partial:
        if isinstance(subject, Function):
            return subject.partial(wanted, feeds)
        return Partial(graph.name, trace_program, wanted, feeds, known.get_or_create)

    if isinstance(subject, Graph):
        raise Usage("a graph is run as a whole", required="a program, of which parts are run", got=subject.name)
    feeds = {}
    for name, word in map(_split_feed, feed):
        feeds[name] = parse_argument(name, partial_with({}).type_of(name, *given), word)
    return partial_with(feeds), given


def _split_feed(word: str) -> tuple[str, str]:
    name, equals, literal = word.partition("=")
    if not equals or not name:
        raise Usage("this does not say what is fed", required="--feed NAME=LITERAL", got=word)
    return name, literal


def outcome_document(said: OutcomeRecord, outcome: Outcome) -> Any:
    """The JSON document of an outcome, whose value nests as the fetched names do."""
    results = [None if result is None else untyped_json(result) for result in outcome.results]
    return {**to_json(said), "value": unflatten(outcome.structure, results)}
