"""Partial runs: some values of a program, where others are given, and only what is needed for that.

Values of the main body are fetched and fed by pruning the program, which every engine runs then (P1 to P5 in
`core.partial`); those under tags while the reference runs it (`tagged`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from ...core.errors import Exhausted, Usage
from ...core.frontend.eager.array import all_like
from ...core.frontend.trace.captures import Resource
from ...core.frontend.trace.pytree import Structure, flatten, unflatten
from ...core.frontend.trace.source_location import here
from ...core.graph.graph import Graph
from ...core.graph.lower import lower
from ...core.program.program import Program
from ...core.transform.prune import check_name, holders, pruned
from ...core.types import Type
from ...core.value import Value, admit
from ...core.world import world_with
from ..engines.engine import Options, Subject, named, run
from ..history.history import History
from ..outcome.outcome import Outcome
from .tagged_values import Place, apart, is_tagged, place, run_tagged, types_at


class Whole(Protocol):
    """A program of which a part is run, the graph that it lowers to, how its results nest, what it calls of Python, and
    what it takes beside its arguments."""

    @property
    def program(self) -> Program: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def structure(self) -> Structure: ...
    @property
    def callbacks(self) -> Mapping[str, Callable[..., Any]]: ...
    @property
    def captured(self) -> Sequence[Resource]: ...
    def assign(self, results: Sequence[Any]) -> Sequence[Any]:
        """Have variables hold what a run that returned has assigned them."""


Taking: TypeAlias = Callable[[Sequence[Any]], tuple[Whole, list[Any]]]
"""What gives the program for some arguments, and a value or `...` for each of its parameters."""
Keeping: TypeAlias = Callable[[object, Callable[[], "Part"]], "Part"]
"""What gives the part under a key, which it has made unless it is kept."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is left of a program where some of its values are fetched, and some fed."""

    whole: Whole
    program: Program
    graph: Graph
    taken: tuple[str, ...]
    """What its parameters are in the whole, by name."""
    fetches: tuple[str, ...] | None
    """What is fetched, in order; None stands for the results."""


class Partial:
    """What is needed of a program for some of its values, where others are given; `Function.partial` makes it.

    It takes the arguments of the function. `...` stands for one that is not needed; at the end they may be left out.
    """

    def __init__(
        self, name: str, take: Taking, fetch: Any, feed: Mapping[str, object] | None, keeping: Keeping
    ) -> None:
        """`keeping` has what was pruned at hand for others that fetch and feed the same."""
        self.name = name
        self._take = take
        self._keeping = keeping
        self._fetches: list[Any] | None = None
        self._nest: Structure | None = None
        if fetch is not None:
            self._fetches, self._nest = flatten(fetch)
        if feed is not None and not isinstance(feed, Mapping):
            raise Usage("what is fed is a dict", where=here(), required='feed={"h": 2.0}', got=repr(feed)[:80])
        self._feeds = dict(feed or {})
        for each in (*(self._fetches or ()), *self._feeds):
            if not isinstance(each, str):
                required = 'a name, or a tuple or dict of names: "h", "main/loop[4]/h"'
                raise Usage(f"no value of {name} goes by this", where=here(), required=required, got=repr(each)[:80])

    def __repr__(self) -> str:
        given = f" given {', '.join(self._feeds)}" if self._feeds else ""
        return f"<{', '.join(self._fetches or ['results'])} of {self.name}{given}>"

    def __call__(self, *arguments: Any) -> Any:
        """What is fetched, nested as its names are; raises Trap, Exhausted or Deadlock where the run does not give
        it."""
        whole, given = self._take(arguments)
        beside = [each.value for each in whole.captured]
        value = returned(self._run(whole, given, {"account": False}))
        return all_like((*arguments, *self._feeds.values(), *beside), value)

    def run(self, *arguments: Any, engine: str | None = None, **options: Any) -> Outcome:
        """Run on concrete arguments, with the options of `Function.run`; how it ends is data. The value of the outcome
        is what is fetched. Variables are assigned where that is the results.

        Values under tags are fetched and fed on the reference, and such a run keeps its events. Where some are fetched,
        it stops when it has all of them, or, as long as there are patterns among them, when it is quiet; `until` says
        otherwise.
        """
        return self._run(*self._take(arguments), options, engine)

    def _run(
        self, whole: Whole, given: Sequence[Any], options: Mapping[str, Any], engine: str | None = None
    ) -> Outcome:
        part, feeds = self._part(whole)
        names = [parameter.name for parameter in whole.program.main.body.parameters]
        values = _values(part, dict(zip(names, given, strict=True)) | feeds, fed=feeds)
        is_looking = any(map(is_tagged, part.fetches or ()))
        asked = Options(**{"until": "result" if is_looking else "quiet", **options})
        asked = asked._replace(world=world_with(asked.world, whole.callbacks))
        if is_looking or any(map(is_tagged, feeds)):
            outcome = self._under_tags(part, values, feeds, asked, engine)
        else:
            outcome = run(Subject(part.graph, self._nest or whole.structure, part.program), values, asked, engine)
        if part.fetches is None and outcome.error is None:
            whole.assign(outcome.results)
        return outcome

    def type_of(self, name: str, *arguments: Any) -> Type:
        """The type of a value of the whole program, for arguments like these; raises Usage where there is none."""
        whole, _ = self._take(arguments)
        if is_tagged(short := _shortest(whole, name)):
            return types_at(whole.graph, place(whole.graph, short))[0]
        return pruned(whole.program, [short]).program.main.results[0]

    @property
    def program(self) -> Program:
        """What is left of the program, where every parameter of the function is annotated."""
        return self._part(self._take(())[0])[0].program

    @property
    def graph(self) -> Graph:
        """What that lowers to."""
        return self._part(self._take(())[0])[0].graph

    def _part(self, whole: Whole) -> tuple[Part, dict[str, object]]:
        """What is left of a program, and what is fed to it, by names; raises Usage where there are no such values."""
        fetches = None if self._fetches is None else tuple(_shortest(whole, name) for name in self._fetches)
        feeds = {_shortest(whole, name): value for name, value in self._feeds.items()}
        key = id(whole), fetches, tuple(feeds)
        return self._keeping(key, lambda: _pruned(whole, fetches, tuple(feeds))), feeds

    def _under_tags(
        self, part: Part, values: Sequence[Value], feeds: Mapping[str, object], asked: Options, engine: str | None
    ) -> Outcome:
        """Run on the reference, looking out for values under tags."""
        if named(engine) not in ("auto", "reference") or asked.keep not in (None, "events") or asked.cores is not None:
            raise Usage(
                "values under tags are the reference's to fetch and to feed",
                required='engine="reference", no cores, and keep="events" if any',
                got=f"engine={engine!r}, cores={asked.cores!r}, keep={asked.keep!r}",
            )
        fetches, whole = part.fetches, part.whole
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
        tagged = filter(is_tagged, fetches or ())
        looked_for = [_left(part, name) if "*" in name else place(part.graph, name) for name in tagged]
        outcome, found = run_tagged(history, looked_for, _fed(part, feeds), asked.until)
        if fetches is None or self._nest is None:
            return outcome
        results, under = iter(outcome.results), iter(found)
        nested = unflatten(self._nest, [next(under) if is_tagged(name) else next(results) for name in fetches])
        leaves, structure = flatten(nested)
        missing = tuple(position for position, leaf in enumerate(leaves) if leaf is None)
        return replace(outcome, results=tuple(leaves), structure=structure, missing=missing)


def returned(outcome: Outcome) -> Any:
    """The value of an outcome; raises what ended it where it did not return, and KeyboardInterrupt where that was
    Ctrl-C."""
    if isinstance(outcome.error, Exhausted) and outcome.error.limit == "interrupt":
        raise KeyboardInterrupt from outcome.error
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


def _pruned(whole: Whole, fetches: tuple[str, ...] | None, fed: Sequence[str]) -> Part:
    tagged = [name for name in (*(fetches or ()), *fed) if is_tagged(name)]
    for name in tagged:
        check_name(whole.program, apart(name)[1])
        place(whole.graph, name)
    keep = [node for name in tagged if name in (fetches or ()) for node in _holders(whole.program, name)]
    plain = None if fetches is None else [name for name in fetches if not is_tagged(name)]
    made, taken = pruned(whole.program, plain, [name for name in fed if not is_tagged(name)], keep)
    return Part(whole, made, lower(made), taken, fetches)


def _shortest(whole: Whole, name: str) -> str:
    """The name of a value; one of the main body needs no tag."""
    tag, inner = apart(name)
    body = whole.program.main.body
    is_of_main = any(inner == var.name for var in body.parameters) or any(
        inner == var.name for node in body.nodes for var in node.results
    )
    return inner if tag == "main" and is_of_main else name


def _holders(program: Program, name: str) -> list[str]:
    """The nodes of the main body that are needed for a value under a tag."""
    tag, inner = apart(name)
    step = "".join(tag.split("/")[1:2]).partition("[")[0].rpartition(".")[2]
    return holders(program, inner.rpartition(".")[2], None if "*" in step else step or None)


def _values(part: Part, given: Mapping[str, Any], fed: Mapping[str, object]) -> list[Value]:
    """A value for each parameter of a part; raises Usage where one is not there, or is of another type."""
    main, values = part.whole.program.main, list[Value]()
    for name, parameter in zip(part.taken, part.program.main.body.parameters, strict=True):
        if given[name] is ...:
            message, place = f"argument {name} of {main.name} is left out", main.location or main.name
            raise Usage(message, where=place, required=parameter.type, got="...", hint="what is fetched depends on it")
        values.append(_admitted(part, name, given[name], parameter.type) if name in fed else given[name])
    return values


def _fed(part: Part, feeds: Mapping[str, object]) -> list[tuple[Place, Value]]:
    """What is fed under tags, and where; raises Usage where it is of another type."""
    found = []
    for name, value in feeds.items():
        if is_tagged(name):
            types = types_at(part.whole.graph, place(part.whole.graph, name))
            admitted = [_admitted(part, name, value, type_) for type_ in types]
            found.append((_left(part, name), admitted[0]))
    return found


def _left(part: Part, name: str) -> Place:
    """A place of the whole in what is left; nowhere, if that is not needed."""
    try:
        return place(part.graph, name)
    except Usage:
        return Place(name, (), lambda tag: False, None)


def _admitted(part: Part, name: str, value: object, type_: Type) -> Value:
    main = part.whole.program.main
    try:
        return admit(value, type_)
    except Usage as error:
        error.rule, error.where = "P1", main.location or main.name
        error.message = f"what is fed for {name} of {main.name}: {error.message}"
        raise
