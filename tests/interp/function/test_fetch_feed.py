"""Parts of functions: values are fetched and fed, by names and under tags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generators.effect_programs import Witness, act_cases
from support.generators.generator import Case, cases
from support.laws.partial_laws import LIMITS, bits, tagged_value_violations
from support.programs.partial_programs import endless, fib, model
from tagloom.core.graph.lower import lower
from tagloom.core.types import HandleType
from tagloom.interp.engines.reference import default_structure, run_graph
from tagloom.interp.function.fetch_feed import PartialProgram, format_tag, result_tag
from tagloom.interp.function.trace_cache import TracedProgram
from tagloom.interp.lru_cache import LRUCache

H = float(np.tanh(2.0))


class Pair(NamedTuple):
    x: tl.float64
    y: tl.float64


@tl.function
def paired(p: Pair, q: tl.float64) -> tl.float64:
    s = p.x + p.y
    return s * q


@tl.function
def untyped(x, y):  # type: ignore[no-untyped-def]
    return x * 2 + y


def test_a_value_is_fetched() -> None:
    """A name fetches its value, and nested names fetch values of the same nesting."""
    assert model.partial("tanh")(1.0, 2.0) == H
    nested = model.partial({"h": "tanh", "both": ("loop_s", "w")})(1.0, 2.0)
    assert nested == {"h": H, "both": (H + H + H, 2.0)}


def test_a_value_is_fed() -> None:
    """A fed value replaces the computed one; without `fetch` the function's result is fetched."""
    assert model.partial(feed={"tanh": 0.5})(1.0) == 0.5 * 0.5 + 1.5
    assert model.partial("loop_s", feed={"tanh": 0.5})() == 1.5
    assert model.partial(feed={"tanh": 0.5, "x": 1.0, "greater": False})() == 1.5 - 1.0


def test_unneeded_arguments_may_be_omitted() -> None:
    """`...` stands for an argument that is not needed, and trailing ones may be omitted. An argument that is needed and
    missing is an error."""
    assert model.partial("cond", feed={"multiply": 2.0})(1.0, ...) == model.partial("cond")(1.0, 2.0)
    assert paired.partial("multiply", feed={"add": 2.0})(..., 3.0) == 6.0
    assert paired.partial("add")(Pair(1.0, 2.0)) == 3.0
    with pytest.raises(tl.Usage) as raised:
        model.partial("tanh")(1.0)
    reply = re.sub(r" \(\w+.py:\d+\)", "", str(raised.value))
    assert reply == (
        "argument w of model is left out\n  required: float64\n  got: ...\n  hint: the fetched values depend on it"
    )
    with pytest.raises(tl.Usage, match="paired takes 2 arguments"):
        paired.partial("add")(Pair(1.0, 2.0), 3.0, 4.0)


def test_arguments_give_the_types() -> None:
    """A function without annotations is traced with its arguments, needed or not."""
    assert untyped.partial("multiply")(3, 4) == 6
    assert untyped.partial("multiply")(1.5, 4.0) == 3.0
    with pytest.raises(tl.Usage, match="argument y of untyped is missing, and its type is not known without it"):
        untyped.partial("multiply")(3)


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("engine", ["reference", "fast", "compiled"])
def test_every_engine_runs_parts(engine: str) -> None:
    """Every engine runs parts, with the options of runs."""
    part = model.partial(("loop_s", "greater"), feed={"tanh": 0.25})
    outcome = part.run(engine=engine)
    assert (outcome.value, outcome.engine) == ((0.75, False), engine)
    assert part.run(schedule="random:3", keep="events").events
    assert part.graph == tl.lower(part.program)


def test_a_part_is_as_small_as_it_can_be() -> None:
    """The program of a part has only the nodes that are needed, and its run fires no others; effects that are not
    fetched do not happen."""
    assert tl.print_program(model.partial("tanh").program, locations=False).splitlines()[1:] == [
        "  multiply = multiply x, w",
        "  tanh = tanh multiply",
        "  return tanh",
        "}",
    ]
    lines: list[str] = []
    world = tl.World(lines.append)
    assert model.partial("tanh").run(1.0, 2.0, world=world).firings == 5 and lines == []
    assert model.partial("print").run(1.0, 2.0, world=world).value is True and len(lines) == 1


def test_tagloom_arrays_give_tagloom_arrays() -> None:
    """A part returns tagloom arrays if one was an argument or fed."""
    given = tl.asarray(0.5)
    assert type(model.partial("loop_s", feed={"tanh": given})()) is type(given)
    assert type(model.partial("loop_s", feed={"tanh": 0.5})()) is float


def test_variables_are_values_and_are_assigned_by_the_results() -> None:
    """A variable's value is fetched and fed by its name; it is assigned if the results are fetched."""
    count, w = tl.Variable(0, name="count"), tl.Variable(2.0, name="w")

    @tl.function
    def step(x: tl.float64) -> tl.float64:
        h = x * w
        w.assign(w - h)
        count.assign_add(1)
        return h * h

    assert float(step.partial("multiply")(3.0)) == 6.0 and float(step.partial("w")()) == 2.0
    assert step.partial(("count", "add"), feed={"count": 7})(...) == (7, 8)
    assert step.partial("main/add").run().value == 1
    assert (int(count), float(w)) == (0, 2.0)
    assert float(step.partial(feed={"multiply": 0.5})()) == 0.25
    assert (int(count), float(w)) == (1, 1.5)
    outcome = step.partial(feed={"w": 1.0, "x": 4.0}).run()
    assert (outcome.value, outcome.variables, float(w)) == (16.0, {"count": 2, "w": -3.0}, -3.0)


@pytest.mark.full
def test_values_under_tags() -> None:
    """A tag and a name fetch one value, and a pattern fetches a dict by tags; loop variables have values too. The
    results of a loop or call have the tag around it."""
    assert model.partial("main/loop[1]/add_1")(1.0, 2.0) == H + H
    assert model.partial("main/loop[*]/add")(1.0, 2.0) == {f"main/loop[{k}]": k + 1 for k in range(3)}
    assert model.partial("main/loop[*]/i")(1.0, 2.0) == {f"main/loop[{k}]": k for k in range(4)}
    assert model.partial("main/tanh")(1.0, 2.0) == H == model.partial("main/*/tanh")(1.0, 2.0)["main/loop[0]"]
    assert model.partial(("x", "main/multiply_1"))(1.0, 2.0) == (1.0, H * H)
    assert fib.partial("main/fib/fib_1")(5) == fib(2) and fib.partial("main/fib/cond")(5) == fib(4)
    assert len(fib.partial("main/**/add")(5)) == fib(5) - 1
    assert model.partial("main/loop[*]/**/cond")(1.0, 2.0) == {}
    assert fib.partial("main/fib/fib_1/n")(5) == 2


@pytest.mark.full
def test_values_under_tags_of_loops_branches_and_recursion() -> None:
    """Values under tags of loops, branches and recursion are right when they are fetched, fed, or both."""
    assert list(tagged_value_violations()) == []


def test_a_run_stops_at_the_fetched_values() -> None:
    """A run stops when it has all fetched values, even in an endless loop; with `until="quiet"` or patterns it
    continues."""
    assert endless.partial("main/loop[4]/i")(0) == 4
    outcome = endless.partial(("main/loop[4]/i", "n")).run(0)
    assert (outcome.status, outcome.value) == ("Returned", (4, 0)) and outcome.firings < 50
    few = tl.Limits(firings=100)
    assert endless.partial("main/loop[4]/i").run(0, until="quiet", limits=few).status == "Exhausted"
    assert endless.partial("main/loop[*]/i").run(0, limits=few).status == "Exhausted"


def test_feeding_under_a_tag_replaces_the_value() -> None:
    """Feeding under a tag changes the tokens that carry the value, and fetching it there gives the fed value."""
    fed = model.partial(("loop_s", "main/loop[*]/add_1"), feed={"main/loop[1]/add_1": 100.0})
    assert fed(1.0, 2.0) == (100.0 + H, {"main/loop[0]": H, "main/loop[1]": 100.0, "main/loop[2]": 100.0 + H})
    assert model.partial("loop_s", feed={"main/loop[*]/add_1": 7.0})(1.0, 2.0) == 7.0
    assert fib.partial(feed={"main/fib/cond": 1000})(5) == 1000 + fib(3)
    assert model.partial("loop_s", feed={"main/loop[1]/add_1": 100.0}).run(1.0, 2.0).schedule == "what-if"


def test_unused_values_may_be_fed() -> None:
    """Feeding an unused value changes nothing, even under a tag."""
    assert model.partial("tanh", feed={"cond": 3.0, "main/loop[1]/add_1": 3.0})(1.0, 2.0) == H
    assert model.partial("loop_s", feed={"main/loop[9]/add_1": 3.0})(1.0, 2.0) == H + H + H


@pytest.mark.full
def test_a_missing_value_is_explained() -> None:
    """The error about a value in a branch that was not taken, or in an iteration that was not run, explains why, back
    to the predicate."""
    for name, reason in (
        ("main/subtract", "true came from model.greater"),
        ("main/loop[7]/add_1", "main/loop[4] has not opened"),
    ):
        outcome = model.partial(name).run(1.0, 2.0)
        assert (outcome.status, outcome.missing) == ("Deadlocked", (0,))
        with pytest.raises(tl.Deadlock, match=re.escape(f"S12: {name} has no value: model.")) as raised:
            model.partial(name)(1.0, 2.0)
        assert reason in "\n".join(raised.value.__notes__)


@pytest.mark.parametrize(
    ("fetch", "feed", "message"),
    [
        ("tanx", {}, "P1: model has no value of this name that could be fetched"),
        ("add", {}, "hint: write main/loop[0]/add"),
        ("main/loop[0]/ad", {}, "P1: neither model nor a function that it calls has a value of this name"),
        ("main/loop/add", {}, "model.loop is a loop\n  required: loop[0], or another iteration"),
        ("main/lop[0]/add", {}, "model has no call or loop 'lop'"),
        ("main/lop[*]/add", {}, "no call or loop is called 'lop'"),
        ("main/add", {}, "model.add is not a node of model, which runs under main\n  required: a tag of model.loop"),
        ("tanh", {"tanh": True}, "P1: the fed value of tanh of model: a value of the wrong type"),
        (
            "loop_s",
            {"main/loop[0]/add_1": True},
            "P1: the fed value of main/loop[0]/add_1 of model: a value of the wrong",
        ),
        ("loop_s", {"main/loop[0]/ad": 3}, "P1: neither model nor a function that it calls has a value of this name"),
        ([3], {}, "no value of model has such a name"),
        (("tanh", 3), {}, "no value of model has such a name"),
        ("tanh", {3: 4.0}, "no value of model has such a name"),
        ("tanh", [("tanh", 4.0)], "feed must be a dict of values by name"),
    ],
)
def test_unknown_names_are_refused(fetch: Any, feed: Any, message: str) -> None:
    """An unknown name or a wrong type is refused, with the valid ones."""
    with pytest.raises((tl.Usage, tl.Malformed)) as raised:
        model.partial(fetch, feed)(1.0, 2.0)
    assert message in re.sub(r" \(\w+.py:\d+\)", "", str(raised.value))


def test_parts_are_cached_like_traces() -> None:
    """The number of cached parts is bounded, the last used ones remain, and they do not keep a dropped function
    alive."""

    @tl.function(maximum_specializations=2)
    def shifted(x: Any) -> Any:
        return x * 2.0 + 1.0

    doubled = shifted.partial("multiply")
    for size in (1, 2, 3, 4, 4):
        assert doubled(np.ones(size)).tolist() == [2.0] * size
    kept = [id(part.original) for part in shifted._pruned_programs.values()]
    assert kept == [id(shifted.trace(np.ones(size))) for size in (3, 4)]


def test_only_the_reference_fetches_under_tags() -> None:
    """Other engines refuse to fetch or feed under tags, and so does a run that keeps a log."""
    for options in ({"engine": "fast"}, {"keep": 5}, {"cores": 2}):
        with pytest.raises(tl.Usage, match="only the reference engine can fetch or feed values under tags"):
            model.partial("main/loop[0]/add").run(1.0, 2.0, **options)


def test_parts_cannot_be_called_in_a_trace() -> None:
    """Parts can be run, but not called in a trace."""
    with pytest.raises(tl.Usage, match="a part of fib cannot be traced"):
        tl.function(lambda: fib.partial("cond")(3))()


def part_of(case: Case, fetch: Any, feed: dict[str, Any]) -> PartialProgram:
    graph = lower(case.program)
    traced = TracedProgram(case.program, graph, default_structure(graph), Witness().callbacks)
    return PartialProgram(
        case.program.entry, lambda arguments: (traced, list(arguments)), fetch, feed, LRUCache(1).get_or_create
    )


@st.composite
def cases_with_values(draw: Any, programs: st.SearchStrategy[Case]) -> tuple[Case, Sequence[str], dict[str, Any], Any]:
    """A case, the names of some values under tags, one of them, and all their values."""
    case = draw(programs)
    graph = lower(case.program)
    run = run_graph(graph, case.arguments, keep="events", limits=LIMITS, world=Witness())
    functions, results = case.program.reachable_functions(), dict[str, Any]()
    known = {f"{f.name}.{var.name}" for f in functions for node in f.body.walk() for var in node.results}
    for event in run.events if run.status == "Returned" else ():
        node = graph.nodes[event.token.node]
        kinds = [output.type.dtype for output in node.outputs[:1]]
        if event.is_firing and event.outputs and str(node) in known and not isinstance(kinds[0], HandleType):
            results[f"{format_tag(result_tag(graph, event))}/{node}"] = event.outputs[0][1]
    names = draw(st.lists(st.sampled_from(sorted(results) or ["main"]), max_size=3, unique=True)) if results else []
    fed = draw(st.sampled_from(names)) if names else None
    return case, names, {fed: results[fed]} if fed else {}, [results[name] for name in names]


@settings(max_examples=30)
@given(cases_with_values(cases()))
def test_values_under_tags_of_generated_programs(looked: Any) -> None:
    """A value fetched under a tag is the one in the events; feeding a value with itself changes nothing."""
    case, names, feed, expected = looked
    for fed in ({}, feed) if names else ():
        outcome = part_of(case, tuple(names), fed).run(*case.arguments, world=Witness())
        assert list(map(bits, outcome.value)) == list(map(bits, expected))


@settings(max_examples=20)
@given(cases_with_values(act_cases(bounded=False)))
def test_values_under_tags_of_programs_with_effects(looked: Any) -> None:
    """Values under tags are right with cells, effects and random numbers."""
    case, names, feed, expected = looked
    for fed in ({}, feed) if names else ():
        outcome = part_of(case, tuple(names), fed).run(*case.arguments, world=Witness())
        assert list(map(bits, outcome.value)) == list(map(bits, expected))
