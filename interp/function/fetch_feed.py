"""Partial runs: fetch some values of a program, feed others, and run only what is needed.

Values of the main body are fetched and fed by pruning the program, which any engine then runs (P1 to P5 in
`core.transform.prune`); values under tags, while the reference runs the program (`tagged_values`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from ...core.errors import Exhausted, Usage
from ...core.frontend.eager.array import results_like
from ...core.frontend.trace.captures import Resource
from ...core.frontend.trace.pytree import TreeDef, flatten, unflatten
from ...core.frontend.trace.source_location import user_location
from ...core.graph.graph import Graph
from ...core.graph.lower import lower
from ...core.program.program import Program
from ...core.transform.prune import check_name, enclosing_nodes, prune_program
from ...core.types import Type
from ...core.value import Value, admit
from ...core.world import resolve_world
from ..engines.protocol import Job, RunOptions
from ..engines.registry import resolve_engine
from ..engines.run import run
from ..history.history import History
from ..outcome.outcome import Outcome
from .tagged_values import ValueLocation, has_tag, location_types, parse_location, run_tagged, split_name


class PrunableProgram(Protocol):
    """A program that can be pruned: the program, its graph, the nesting of its results, its callbacks and its
    captures."""

    @property
    def program(self) -> Program: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def structure(self) -> TreeDef: ...
    @property
    def callbacks(self) -> Mapping[str, Callable[..., Any]]: ...
    @property
    def captures(self) -> Sequence[Resource]: ...
    def assign(self, results: Sequence[Any]) -> Sequence[Any]:
        """Assign to variables the values that a run that returned gave them."""


ResolveCall: TypeAlias = Callable[[Sequence[Any]], tuple[PrunableProgram, list[Any]]]
"""Returns the program for some arguments, and a value or `...` for each of its parameters."""
GetOrPrune: TypeAlias = Callable[[object, Callable[[], "PrunedProgram"]], "PrunedProgram"]
"""Returns the cached part under a key, or makes it."""


@dataclass(frozen=True, slots=True)
class PrunedProgram:
    """A program pruned to what some fetched values need, given some fed values."""

    original: PrunableProgram
    program: Program
    graph: Graph
    source_names: tuple[str, ...]
    """The names of its parameters in the whole program."""
    fetches: tuple[str, ...] | None
    """The names of the fetched values, in order; None stands for the results."""


class Partial:
    """The part of a program that computes some of its values, given others; `Function.partial` makes it.

    It takes the arguments of the function. `...` stands for an argument that is not needed; at the end these may be
    omitted.
    """

    def __init__(
        self,
        name: str,
        resolve_call: ResolveCall,
        fetch: Any,
        feed: Mapping[str, object] | None,
        get_or_prune: GetOrPrune,
    ) -> None:
        """`get_or_prune` caches pruned programs, by what they fetch and feed."""
        self.name = name
        self._resolve_call = resolve_call
        self._get_or_prune = get_or_prune
        self._fetches: list[Any] | None = None
        self._fetch_structure: TreeDef | None = None
        if fetch is not None:
            self._fetches, self._fetch_structure = flatten(fetch)
        if feed is not None and not isinstance(feed, Mapping):
            raise Usage("what is fed is a dict", where=user_location(), required='feed={"h": 2.0}', got=repr(feed)[:80])
        self._feeds = dict(feed or {})
        for each in (*(self._fetches or ()), *self._feeds):
            if not isinstance(each, str):
                required = 'a name, or a tuple or dict of names: "h", "main/loop[4]/h"'
                raise Usage(
                    f"no value of {name} goes by this", where=user_location(), required=required, got=repr(each)[:80]
                )

    def __repr__(self) -> str:
        given = f" given {', '.join(self._feeds)}" if self._feeds else ""
        return f"<{', '.join(self._fetches or ['results'])} of {self.name}{given}>"

    def __call__(self, *arguments: Any) -> Any:
        """The fetched values, nested as their names are; raises Trap, Exhausted or Deadlock where the run does not
        return them."""
        whole, given = self._resolve_call(arguments)
        beside = [each.value for each in whole.captures]
        value = value_or_raise(self._run(whole, given, {"account": False}))
        return results_like((*arguments, *self._feeds.values(), *beside), value)

    def run(self, *arguments: Any, engine: str | None = None, **options: Any) -> Outcome:
        """Run on concrete arguments, with the options of `Function.run`; the outcome says how the run ended, and its
        value holds the fetched values. Variables are assigned only if the results are fetched.

        Values under tags are fetched and fed on the reference, and such a run keeps its events. It stops when it has
        all fetched values, or, if there are patterns among them, when it is quiescent; `until` overrides that.
        """
        return self._run(*self._resolve_call(arguments), options, engine)

    def _run(
        self, whole: PrunableProgram, given: Sequence[Any], options: Mapping[str, Any], engine: str | None = None
    ) -> Outcome:
        part, feeds = self._find_pruned(whole)
        names = [parameter.name for parameter in whole.program.main.body.parameters]
        values = _parameter_values(part, dict(zip(names, given, strict=True)) | feeds, fed=feeds)
        is_looking = any(map(has_tag, part.fetches or ()))
        asked = RunOptions(**{"until": "result" if is_looking else "quiet", **options})
        asked = asked._replace(world=resolve_world(asked.world, whole.callbacks))
        if is_looking or any(map(has_tag, feeds)):
            outcome = self._run_under_tags(part, values, feeds, asked, engine)
        else:
            outcome = run(
                Job(part.graph, self._fetch_structure or whole.structure, part.program), values, asked, engine
            )
        if part.fetches is None and outcome.error is None:
            whole.assign(outcome.results)
        return outcome

    def type_of(self, name: str, *arguments: Any) -> Type:
        """The type of a value of the whole program, for arguments like these; raises Usage if there is no such
        value."""
        whole, _ = self._resolve_call(arguments)
        if has_tag(short := _shorten_name(whole, name)):
            return location_types(whole.graph, parse_location(whole.graph, short))[0]
        return prune_program(whole.program, [short]).program.main.results[0]

    @property
    def program(self) -> Program:
        """The pruned program; every parameter of the function must be annotated."""
        return self._find_pruned(self._resolve_call(())[0])[0].program

    @property
    def graph(self) -> Graph:
        """The graph of the pruned program."""
        return self._find_pruned(self._resolve_call(())[0])[0].graph

    def _find_pruned(self, whole: PrunableProgram) -> tuple[PrunedProgram, dict[str, object]]:
        """The pruned program, and the fed values by name; raises Usage if there are no such values."""
        fetches = None if self._fetches is None else tuple(_shorten_name(whole, name) for name in self._fetches)
        feeds = {_shorten_name(whole, name): value for name, value in self._feeds.items()}
        key = id(whole), fetches, tuple(feeds)
        return self._get_or_prune(key, lambda: _prune(whole, fetches, tuple(feeds))), feeds

    def _run_under_tags(
        self,
        part: PrunedProgram,
        values: Sequence[Value],
        feeds: Mapping[str, object],
        asked: RunOptions,
        engine: str | None,
    ) -> Outcome:
        """Run on the reference, which fetches and feeds values under tags."""
        if (
            resolve_engine(engine) not in ("auto", "reference")
            or asked.keep not in (None, "events")
            or asked.cores is not None
        ):
            raise Usage(
                "values under tags are the reference's to fetch and to feed",
                required='engine="reference", no cores, and keep="events" if any',
                got=f"engine={engine!r}, cores={asked.cores!r}, keep={asked.keep!r}",
            )
        fetches, whole = part.fetches, part.original
        history = History(
            part.graph,
            values,
            schedule=asked.schedule,
            limits=asked.limits,
            structure=whole.structure,
            seed=asked.seed,
            k=asked.k,
            world=asked.world,
        )
        tagged = filter(has_tag, fetches or ())
        looked_for = [
            _location_in_pruned(part, name) if "*" in name else parse_location(part.graph, name) for name in tagged
        ]
        outcome, found = run_tagged(history, looked_for, _resolve_feeds(part, feeds), asked.until)
        if fetches is None or self._fetch_structure is None:
            return outcome
        results, under = iter(outcome.results), iter(found)
        nested = unflatten(self._fetch_structure, [next(under) if has_tag(name) else next(results) for name in fetches])
        leaves, structure = flatten(nested)
        missing = tuple(position for position, leaf in enumerate(leaves) if leaf is None)
        return replace(outcome, results=tuple(leaves), structure=structure, missing=missing)


def value_or_raise(outcome: Outcome) -> Any:
    """The value of an outcome; raises its error if the run did not return, and KeyboardInterrupt if Ctrl-C ended it."""
    if isinstance(outcome.error, Exhausted) and outcome.error.limit == "interrupt":
        raise KeyboardInterrupt from outcome.error
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


def _prune(whole: PrunableProgram, fetches: tuple[str, ...] | None, fed: Sequence[str]) -> PrunedProgram:
    tagged = [name for name in (*(fetches or ()), *fed) if has_tag(name)]
    for name in tagged:
        check_name(whole.program, split_name(name)[1])
        parse_location(whole.graph, name)
    keep = [node for name in tagged if name in (fetches or ()) for node in _required_nodes(whole.program, name)]
    plain = None if fetches is None else [name for name in fetches if not has_tag(name)]
    made, taken = prune_program(whole.program, plain, [name for name in fed if not has_tag(name)], keep)
    return PrunedProgram(whole, made, lower(made), taken, fetches)


def _shorten_name(whole: PrunableProgram, name: str) -> str:
    """The short name of a value: one of the main body needs no tag."""
    tag, inner = split_name(name)
    body = whole.program.main.body
    is_of_main = any(inner == var.name for var in body.parameters) or any(
        inner == var.name for node in body.nodes for var in node.results
    )
    return inner if tag == "main" and is_of_main else name


def _required_nodes(program: Program, name: str) -> list[str]:
    """The names of the nodes of the main body that a value under a tag needs."""
    tag, inner = split_name(name)
    step = "".join(tag.split("/")[1:2]).partition("[")[0].rpartition(".")[2]
    return enclosing_nodes(program, inner.rpartition(".")[2], None if "*" in step else step or None)


def _parameter_values(part: PrunedProgram, given: Mapping[str, Any], fed: Mapping[str, object]) -> list[Value]:
    """A value for each parameter of a part; raises Usage if one is missing or of the wrong type."""
    main, values = part.original.program.main, list[Value]()
    for name, parameter in zip(part.source_names, part.program.main.body.parameters, strict=True):
        if given[name] is ...:
            message, place = f"argument {name} of {main.name} is left out", main.location or main.name
            raise Usage(message, where=place, required=parameter.type, got="...", hint="what is fetched depends on it")
        values.append(_admit_feed(part, name, given[name], parameter.type) if name in fed else given[name])
    return values


def _resolve_feeds(part: PrunedProgram, feeds: Mapping[str, object]) -> list[tuple[ValueLocation, Value]]:
    """The locations and values fed under tags; raises Usage for a value of the wrong type."""
    found = []
    for name, value in feeds.items():
        if has_tag(name):
            types = location_types(part.original.graph, parse_location(part.original.graph, name))
            admitted = [_admit_feed(part, name, value, type_) for type_ in types]
            found.append((_location_in_pruned(part, name), admitted[0]))
    return found


def _location_in_pruned(part: PrunedProgram, name: str) -> ValueLocation:
    """A location of the whole program in the pruned one; it matches nothing if that part was pruned."""
    try:
        return parse_location(part.graph, name)
    except Usage:
        return ValueLocation(name, (), lambda tag: False, None)


def _admit_feed(part: PrunedProgram, name: str, value: object, type_: Type) -> Value:
    main = part.original.program.main
    try:
        return admit(value, type_)
    except Usage as error:
        error.rule, error.where = "P1", main.location or main.name
        error.message = f"what is fed for {name} of {main.name}: {error.message}"
        raise
