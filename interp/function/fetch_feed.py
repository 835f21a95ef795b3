"""Partial runs: fetch some values of a program, feed others, and run only what the fetched values need.

Values of the main body are fetched and fed by pruning the program, which any engine then runs (P1 to P5 in
`core.transform.prune`).

Values under tags, which are results of nodes in loops, branches and functions, are fetched and fed while the reference
runs the program. `main/fib/loop[4]/add` is the result of `add` under the tag `main/fib/loop[4]`; with `*`, its results
under every tag that matches. The result of a call or a loop belongs to the tag of the activation that contains the call
or loop. A fed value replaces a result on the tokens that carry it. These are edits, as in the debugger, so the outcome
of such a run has the schedule `what-if`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeAlias

from ...core.errors import Deadlock, Usage
from ...core.frontend.eager.array import results_like
from ...core.frontend.trace.captures import Resource
from ...core.frontend.trace.pytree import TreeDef, flatten, unflatten
from ...core.frontend.trace.source_location import user_location
from ...core.graph.graph import Edge, Graph
from ...core.graph.lower import lower
from ...core.program import hints
from ...core.program.program import Program
from ...core.tag import ENVIRONMENT, ROOT, Tag
from ...core.text.fault import SyntaxFault
from ...core.transform.prune import check_name, enclosing_nodes, prune_program
from ...core.types import HandleType, Type
from ...core.value import Value, admit
from ...core.world import resolve_world
from ..breakpoints.syntax import to_error
from ..breakpoints.tag_pattern import compile_tag_pattern
from ..engines.protocol import Job, RunOptions, Until, check_until
from ..engines.reference import is_until_met
from ..engines.registry import find_engine, is_reference_or_selector, resolve_engine, run
from ..history.advance import WHAT_IF
from ..history.history import History
from ..machine.event import Event
from ..machine.state import State
from ..outcome.outcome import Outcome, build_outcome, value_or_raise
from ..outcome.program_order import program_order
from ..queries.ask import parse_tag
from ..queries.contexts import check_node_tag, enclosing_context, node_contexts


class PrunableProgram(Protocol):
    """A program that can be pruned, with its graph, the nesting of its results, its callbacks and its captures."""

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
        """Assign values to variables, from the results of a run that returned."""


ResolveCall: TypeAlias = Callable[[Sequence[Any]], tuple[PrunableProgram, list[Any]]]
"""Returns the program for some arguments, and a value or `...` for each of its parameters."""
GetOrPrune: TypeAlias = Callable[[object, Callable[[], "PrunedProgram"]], "PrunedProgram"]
"""Returns the pruned program cached under a key, or calls the function to make it."""


@dataclass(frozen=True, slots=True)
class PrunedProgram:
    """A program pruned to the needs of some fetched values, given some fed values."""

    original: PrunableProgram
    program: Program
    graph: Graph
    source_names: tuple[str, ...]
    """The names that its parameters have in the whole program."""
    fetches: tuple[str, ...] | None
    """The names of the fetched values, in order; None if the results are fetched."""


class PartialProgram:
    """The part of a program that computes some of its values, given others; `Function.partial` makes it.

    It takes the arguments of the function. An argument that is not needed may be `...`, or omitted at the end.
    """

    def __init__(
        self,
        name: str,
        resolve_call: ResolveCall,
        fetch: Any,
        feed: Mapping[str, object] | None,
        get_or_prune: GetOrPrune,
    ) -> None:
        """`get_or_prune` caches pruned programs, by the names that they fetch and feed."""
        self.name = name
        self._resolve_call = resolve_call
        self._get_or_prune = get_or_prune
        self._fetches: list[Any] | None = None
        self._fetch_structure: TreeDef | None = None
        if fetch is not None:
            self._fetches, self._fetch_structure = flatten(fetch)
        if feed is not None and not isinstance(feed, Mapping):
            raise Usage(
                "feed must be a dict of values by name",
                where=user_location(),
                required='feed={"h": 2.0}',
                got=repr(feed)[:80],
                python=TypeError,
            )
        self._feeds = dict(feed or {})
        for key in (*(self._fetches or ()), *self._feeds):
            if not isinstance(key, str):
                required = 'a name, or a tuple or dict of names: "h", "main/loop[4]/h"'
                raise Usage(
                    f"no value of {name} has such a name",
                    where=user_location(),
                    required=required,
                    got=repr(key)[:80],
                    python=TypeError,
                )

    def __repr__(self) -> str:
        condition = f" given {', '.join(self._feeds)}" if self._feeds else ""
        return f"<{', '.join(self._fetches or ['results'])} of {self.name}{condition}>"

    def __call__(self, *arguments: Any) -> Any:
        """The fetched values, nested as their names are; raises Trap, Exhausted or Deadlock if the run does not return
        them."""
        traced_program, values = self._resolve_call(arguments)
        captures = [capture.value for capture in traced_program.captures]
        value = value_or_raise(self._run(traced_program, values, {"measures": False}))
        return results_like((*arguments, *self._feeds.values(), *captures), value)

    def run(self, *arguments: Any, engine: str | None = None, **options: Any) -> Outcome:
        """Run on concrete arguments, with the options of `Function.run`; the outcome says how the run ended, and its
        value holds the fetched values. Variables are assigned only if the results are fetched.

        Values under tags are fetched and fed on the reference, and such a run keeps its events. It stops when it has
        all fetched values, or, if their names include patterns, when it is quiescent; `until` overrides that.
        """
        return self._run(*self._resolve_call(arguments), options, engine)

    def _run(
        self, program: PrunableProgram, arguments: Sequence[Any], options: Mapping[str, Any], engine: str | None = None
    ) -> Outcome:
        pruned, feeds = self._find_pruned(program)
        names = [parameter.name for parameter in program.program.main.body.parameters]
        values = parameter_values(pruned, dict(zip(names, arguments, strict=True)) | feeds, feeds=feeds)
        fetches_tagged = any(map(has_tag, pruned.fetches or ()))
        run_options = RunOptions(**{"until": "result" if fetches_tagged else "quiet", **options})
        run_options = run_options._replace(world=resolve_world(run_options.world, program.callbacks))
        if fetches_tagged or any(map(has_tag, feeds)):
            outcome = self._run_under_tags(pruned, values, feeds, run_options, engine)
        else:
            outcome = run(
                Job(pruned.graph, self._fetch_structure or program.structure, pruned.program),
                values,
                run_options,
                engine,
            )
        if pruned.fetches is None and outcome.error is None:
            program.assign(outcome.results)
        return outcome

    def type_of(self, name: str, *arguments: Any) -> Type:
        """The type of a value of the whole program, for arguments of these types; raises Usage if there is no such
        value."""
        traced_program, _ = self._resolve_call(arguments)
        if has_tag(short_name := shorten_name(traced_program, name)):
            return location_types(traced_program.graph, parse_location(traced_program.graph, short_name))[0]
        return prune_program(traced_program.program, [short_name]).program.main.results[0]

    @property
    def program(self) -> Program:
        """The pruned program; every parameter of the function must be annotated."""
        return self._find_pruned(self._resolve_call(())[0])[0].program

    @property
    def graph(self) -> Graph:
        """The graph of the pruned program."""
        return self._find_pruned(self._resolve_call(())[0])[0].graph

    def _find_pruned(self, program: PrunableProgram) -> tuple[PrunedProgram, dict[str, object]]:
        """The pruned program, and the fed values by name; raises Usage for an unknown name."""
        fetches = None if self._fetches is None else tuple(shorten_name(program, name) for name in self._fetches)
        feeds = {shorten_name(program, name): value for name, value in self._feeds.items()}
        key = id(program), fetches, tuple(feeds)
        return self._get_or_prune(key, lambda: build_pruned_program(program, fetches, tuple(feeds))), feeds

    def _run_under_tags(
        self,
        pruned: PrunedProgram,
        values: Sequence[Value],
        feeds: Mapping[str, object],
        run_options: RunOptions,
        engine: str | None,
    ) -> Outcome:
        """Run on the reference, which fetches and feeds values under tags."""
        if (
            not is_reference_or_selector(find_engine(resolve_engine(engine)))
            or run_options.keep not in (None, "events")
            or run_options.cores is not None
            or run_options.has_worker_options
        ):
            raise Usage(
                "only the reference engine can fetch or feed values under tags",
                required='engine="reference", no cores or workers, and keep="events" if any',
                got=f"engine={engine!r}, cores={run_options.cores!r}, keep={run_options.keep!r}",
            )
        fetches, original = pruned.fetches, pruned.original
        history = History(
            pruned.graph,
            values,
            schedule=run_options.schedule,
            limits=run_options.limits,
            structure=original.structure,
            seed=run_options.seed,
            k=run_options.k,
            world=run_options.world,
        )
        locations = [
            location_in_pruned(pruned, name) if "*" in name else parse_location(pruned.graph, name)
            for name in filter(has_tag, fetches or ())
        ]
        outcome, tagged_values = run_tagged(history, locations, resolve_feeds(pruned, feeds), run_options.until)
        if fetches is None or self._fetch_structure is None:
            return outcome
        untagged_values, values_by_tag = iter(outcome.results), iter(tagged_values)
        results = unflatten(
            self._fetch_structure, [next(values_by_tag if has_tag(name) else untagged_values) for name in fetches]
        )
        leaves, structure = flatten(results)
        missing = tuple(position for position, leaf in enumerate(leaves) if leaf is None)
        return replace(outcome, results=tuple(leaves), structure=structure, missing=missing)


def build_pruned_program(
    program: PrunableProgram, fetches: tuple[str, ...] | None, feed_names: Sequence[str]
) -> PrunedProgram:
    """Prune a program to what `fetches` need, given values for `feed_names`; raises Usage for an unknown name."""
    tagged = [name for name in (*(fetches or ()), *feed_names) if has_tag(name)]
    for name in tagged:
        check_name(program.program, split_name(name)[1])
        parse_location(program.graph, name)
    keep = [node for name in tagged if name in (fetches or ()) for node in required_nodes(program.program, name)]
    untagged = None if fetches is None else [name for name in fetches if not has_tag(name)]
    pruned, source_names = prune_program(
        program.program, untagged, [name for name in feed_names if not has_tag(name)], keep
    )
    return PrunedProgram(program, pruned, lower(pruned), source_names, fetches)


def shorten_name(program: PrunableProgram, name: str) -> str:
    """The short name of a value: the tag `main` is removed from the name of a value of the main body."""
    tag, node_name = split_name(name)
    body = program.program.main.body
    is_of_main = any(node_name == var.name for var in body.parameters) or any(
        node_name == var.name for node in body.nodes for var in node.results
    )
    return node_name if tag == "main" and is_of_main else name


def required_nodes(program: Program, name: str) -> list[str]:
    """The names of the nodes of the main body that compute a value under a tag."""
    tag, node_name = split_name(name)
    step = "".join(tag.split("/")[1:2]).partition("[")[0].rpartition(".")[2]
    return enclosing_nodes(program, node_name.rpartition(".")[2], None if "*" in step else step or None)


def parameter_values(pruned: PrunedProgram, value_of: Mapping[str, Any], feeds: Mapping[str, object]) -> list[Value]:
    """A value for each parameter of a pruned program; raises Usage if one is missing or of the wrong type."""
    main, values = pruned.original.program.main, list[Value]()
    for name, parameter in zip(pruned.source_names, pruned.program.main.body.parameters, strict=True):
        if value_of[name] is ...:
            message, location = f"argument {name} of {main.name} is left out", main.location or main.name
            raise Usage(
                message,
                where=location,
                required=parameter.type,
                got="...",
                hint="the fetched values depend on it",
                python=TypeError,
            )
        values.append(admit_feed(pruned, name, value_of[name], parameter.type) if name in feeds else value_of[name])
    return values


def resolve_feeds(pruned: PrunedProgram, feeds: Mapping[str, object]) -> list[tuple[ValueLocation, Value]]:
    """The locations and values fed under tags; raises Usage for a value of the wrong type."""
    located_feeds = []
    for name, value in feeds.items():
        if has_tag(name):
            types = location_types(pruned.original.graph, parse_location(pruned.original.graph, name))
            admitted = [admit_feed(pruned, name, value, type_) for type_ in types]
            located_feeds.append((location_in_pruned(pruned, name), admitted[0]))
    return located_feeds


def location_in_pruned(pruned: PrunedProgram, name: str) -> ValueLocation:
    """The location of a name in the pruned program; it matches nothing if its node was pruned."""
    try:
        return parse_location(pruned.graph, name)
    except Usage:
        return ValueLocation(name, (), lambda tag: False, None)


def admit_feed(pruned: PrunedProgram, name: str, value: object, type_: Type) -> Value:
    """Convert a fed value to its type; raises Usage, with its name, if it does not fit."""
    main = pruned.original.program.main
    try:
        return admit(value, type_)
    except Usage as error:
        error.rule, error.where = "P1", main.location or main.name
        error.message = f"the fed value of {name} of {main.name}: {error.message}"
        raise


FetchedValue: TypeAlias = Value | dict[str, Value] | None
"""A fetched value: for a single tag, the value, or None if there was none; for a pattern, a dict from the full text of
each matching tag to the value."""


class ValueLocation(NamedTuple):
    """The location of fetched or fed values: the nodes that may compute the value, one under each matching tag, and a
    predicate for the tags."""

    text: str
    nodes: tuple[int, ...]
    matches: Callable[[Tag], bool]
    tag: Tag | None
    """The tag; None for a pattern."""


def has_tag(name: str) -> bool:
    """Whether a name includes a tag."""
    return "/" in name


def split_name(text: str) -> tuple[str, str]:
    """Split a name into the text of a tag and the name of a node."""
    tag, _, name = text.rpartition("/")
    return tag, name


def parse_location(graph: Graph, text: str) -> ValueLocation:
    """Parse the name of a value under a tag.

    Raises Usage if the graph has no such node or tag, or if the node has no result, or a handle of cells; Malformed for
    an invalid pattern.
    """
    tag_text, name = split_name(text)
    nodes = [number for number, node in enumerate(graph.nodes) if has_name(graph, number, name) and node.outputs]
    if not nodes:
        hint = hints.suggest_name(name, {node.name for node in graph.nodes}) or "tl.print_program shows the names"
        message = f"{graph.name} has no value of this name"
        raise Usage(message, rule="P1", where=graph.name, got=name, hint=hint, python=KeyError)
    if "*" in tag_text:
        try:
            location = ValueLocation(text, tuple(nodes), compile_tag_pattern(tag_text, graph), None)
        except SyntaxFault as fault:
            raise to_error(fault, tag_text) from None
    else:
        tag = parse_tag(graph, tag_text)
        location = ValueLocation(text, (select_node(graph, nodes, tag),), tag.__eq__, tag)
    for number in location.nodes:
        if isinstance(graph.nodes[number].outputs[0].type.dtype, HandleType):
            where, hint = graph.nodes[number].origin, "the results of get and collect can be fetched"
            message = f"{name} is a handle of cells, which cannot leave a program"
            raise Usage(message, rule="P1", where=where, hint=hint, python=TypeError)
    return location


def location_types(graph: Graph, location: ValueLocation) -> list[Type]:
    """The types of the values at a location, by node."""
    return [graph.nodes[number].outputs[0].type for number in location.nodes]


def has_name(graph: Graph, number: int, name: str) -> bool:
    """Whether a node has this name, or is the merge of a loop variable that has it."""
    node = graph.nodes[number]
    return name in (node.name, str(node)) or (node.op == "merge" and node.name.endswith(f".{name}"))


def select_node(graph: Graph, nodes: Sequence[int], tag: Tag) -> int:
    """The first of these nodes with a value under a tag; raises Usage if there is none."""
    contexts, errors = dict(node_contexts(graph)), list[Usage]()
    for number in nodes:
        site = graph.nodes[number].site
        if contexts and site is not None and exits_activation(graph, number):
            contexts[number] = graph.name if site == ENVIRONMENT else enclosing_context(graph, contexts, site)
        try:
            check_node_tag(graph, contexts, number, tag)
        except Usage as error:
            errors.append(error)
        else:
            return number
    raise errors[0]


def exits_activation(graph: Graph, number: int) -> bool:
    """Whether the result of a node belongs to the parent of the tag under which it fires."""
    return graph.nodes[number].op in ("return", "exit")


def result_tag(graph: Graph, event: Event) -> Tag:
    """The tag of the result of an event that fired."""
    node, _, tag, _ = event.token
    return tag.parent or ROOT if exits_activation(graph, node) else tag


def format_tag(tag: Tag) -> str:
    """The full text of a tag, however deep."""
    return "/".join(reversed([step.last_step for step in tag.self_and_ancestors()]))


class _FetchObserver:
    """Observes the events of a run: records fetched values, and stops the run when a value must be fed or all are
    fetched."""

    def __init__(
        self, fetched: Sequence[ValueLocation], feeds: Sequence[tuple[ValueLocation, Value]], until: Until
    ) -> None:
        self.feeds, self.until = feeds, until
        self.nodes = {
            number for location in (*fetched, *(location for location, _ in feeds)) for number in location.nodes
        }
        self.results: list[tuple[ValueLocation, dict[tuple[Tag, int], tuple[Tag, Value]]]] = [
            (location, {}) for location in fetched
        ]
        """For each location, by tag and node of the firing: the tag of the result and its value."""
        self.pending_feed: Value | None = None
        """The value to feed after the last event; None if there is none."""

    def observe(self, state: State, event: Event) -> bool:
        """Record the results of an event; returns whether to stop after it."""
        self.pending_feed = None
        if event.is_firing and event.token.node in self.nodes and event.outputs:
            self._record_result(event, result_tag(state.graph, event), event.outputs[0][1])
        return self.pending_feed is not None or self.is_complete(state)

    def is_complete(self, state: State) -> bool:
        """Whether the run has what `until` asks for."""
        if self.until == "result" and any(location.tag is None or not values for location, values in self.results):
            return False
        return is_until_met(self.until, state)

    def _record_result(self, event: Event, tag: Tag, value: Value) -> None:
        node = event.token.node
        for location, fed_value in self.feeds:
            if node in location.nodes and location.matches(tag):
                self.pending_feed = value = fed_value
        for location, values in self.results:
            if node in location.nodes and location.matches(tag):
                values[event.token.tag, node] = tag, value

    def fetched_values(self, graph: Graph) -> list[FetchedValue]:
        """The fetched values, those of patterns in program order."""
        values: list[FetchedValue] = []
        for location, matches in self.results:
            if location.tag is None:
                ranks = program_order(graph, matches)
                ordered = (matches[firing] for firing in sorted(matches, key=ranks.__getitem__))
                values.append({format_tag(tag): value for tag, value in ordered})
            else:
                values.append(next((value for _, value in matches.values()), None))
        return values


def run_tagged(
    history: History, fetches: Sequence[ValueLocation], feeds: Sequence[tuple[ValueLocation, Value]], until: Until
) -> tuple[Outcome, list[FetchedValue]]:
    """Run a program from the beginning of a history; returns the outcome and the fetched values. With `until="result"`
    the run stops once it has all fetched values, unless a name is a pattern."""
    check_until(until)
    observer = _FetchObserver(fetches, feeds, until)
    while (event := history.forward_to(observer.observe)) is not None and observer.pending_feed is not None:
        history = apply_feed(history, event, observer.pending_feed)
        if observer.is_complete(history.state):
            break
    outcome, values = _outcome_of(history, until), observer.fetched_values(history.graph)
    missing = next((location for location, value in zip(fetches, values, strict=True) if value is None), None)
    if missing is not None and outcome.status == "Returned":
        outcome = replace(outcome, status="Deadlocked", error=missing_value_error(history, missing))
    return outcome, values


def apply_feed(history: History, event: Event, value: Value) -> History:
    """The fork in which the tokens that an event sent from its first output carry another value."""
    edges = history.graph.nodes[event.token.node].outputs[0].edges
    for sent_token in event.sent:
        if Edge(sent_token.node, sent_token.port) in edges:
            flight = enumerate(history.state.flight)
            position = next((position for position, token in flight if token[:3] == sent_token[:3]), None)
            if position is None:
                node = history.graph.nodes[event.token.node]
                raise Usage(
                    f"a k-bound throttles the tokens of {node}, so its value cannot be changed",
                    rule="S16",
                    where=node.origin,
                    tag=sent_token.tag,
                    hint="feed the operands of the node instead",
                )
            history = history.change(position, value)
    return history


def _outcome_of(history: History, until: Until) -> Outcome:
    if not history.state.flight or history.stop_error is not None:
        return history.outcome()
    return build_outcome(
        history.state,
        history.stats,
        None,
        until,
        schedule=WHAT_IF if history.edits else history.schedule,
        engine="reference",
        structure=history.structure,
        kept_events=tuple(history),
    )


def missing_value_error(history: History, location: ValueLocation) -> Deadlock:
    """The error for a missing value at a location."""
    number, tag = location.nodes[0], location.tag or ROOT
    node = history.graph.nodes[number]
    firing_tag = tag
    if node.site is not None and exits_activation(history.graph, number):
        iterations = (event.token.tag for event in history if event.token.tag.site == node.site)
        last = max((step.iteration for step in iterations if step.parent == tag), default=0)
        firing_tag = tag.child(node.site, last)
    error = Deadlock(f"{location.text} has no value: {node} did not fire", rule="S12", where=node.origin, tag=tag)
    error.add_note(f"  {history.ask.why_not(str(node), firing_tag)}".replace("\n", "\n  "))
    return error
