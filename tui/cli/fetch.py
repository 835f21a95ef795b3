"""`tagloom run --fetch NAME --feed NAME=LITERAL`: a part of a program, and what it is run on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import Usage
from ...core.frontend.trace.pytree import unflatten
from ...core.graph.graph import Graph
from ...interp.engines.reference import structure_of
from ...interp.function.fetch_feed import Part, Partial
from ...interp.function.function import Function
from ...interp.function.trace_cache import Traced
from ...interp.lru_cache import Recent
from ...interp.outcome.outcome import Outcome
from ...interp.records.documents import to_json
from ...interp.records.outcome_json import OutcomeRecord, plain
from ..load import Runnable, argument, forms, some_arguments


def part_of(
    subject: Runnable, words: Sequence[str], fetch: Sequence[str], feed: Sequence[str]
) -> tuple[Partial, list[Any]]:
    """The part of a program that is to run, and its arguments. One name that is fetched is a value, several are a dict.

    Raises Usage where there are no such values, or the words mean none.
    """
    values = some_arguments(subject, words)
    whole = None if any(value is ... for value in values) and isinstance(subject, Function) else values
    given = subject.source.nested(values) if isinstance(subject, Function) else values
    program, graph = forms(subject, whole)
    wanted = fetch[0] if len(fetch) == 1 else dict(zip(fetch, fetch, strict=True)) or None
    known: Recent[object, Part] = Recent(1)

    def taken(arguments: Sequence[Any]) -> tuple[Traced, list[Any]]:
        assert program is not None
        return Traced(program, graph, structure_of(graph)), list(arguments)

    def part(feeds: Mapping[str, object]) -> Partial:
        if isinstance(subject, Function):
            return subject.partial(wanted, feeds)
        return Partial(graph.name, taken, wanted, feeds, known.made)

    if isinstance(subject, Graph):
        raise Usage("a graph is run as a whole", required="a program, of which parts are run", got=subject.name)
    feeds = {}
    for name, word in map(_named, feed):
        feeds[name] = argument(name, part({}).type_of(name, *given), word)
    return part(feeds), given


def _named(word: str) -> tuple[str, str]:
    name, equals, literal = word.partition("=")
    if not equals or not name:
        raise Usage("this does not say what is fed", required="--feed NAME=LITERAL", got=word)
    return name, literal


def nested_document(said: OutcomeRecord, outcome: Outcome) -> Any:
    """The JSON document of an outcome, whose value nests as what was fetched."""
    results = [None if result is None else plain(result) for result in outcome.results]
    return {**to_json(said), "value": unflatten(outcome.structure, results)}
