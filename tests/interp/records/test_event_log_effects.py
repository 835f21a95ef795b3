"""Event logs of runs with cells, bounds, random numbers and effects; reading repeats no effect."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from support.generators.effect_programs import Witness, act_cases
from support.generators.generator import Case
from support.generators.graph_edits import EDITS
from support.generators.json_edits import FILL
from support.laws.machine_laws import LIMITS
from support.observe.event_bits import bits
from tagloom.core.graph.graph import Graph, NodeOutput
from tagloom.core.graph.lower import lower
from tagloom.core.tag import Site
from tagloom.core.value import is_same_value
from tagloom.core.world import CallbackError, World
from tagloom.interp.history.replay import ReplayWorld
from tagloom.interp.records.documents import to_outcome_record
from tagloom.interp.records.event_log import event_line

CALLS = lower(
    tl.parse_program("""
func calls(n: int64) -> float64[2], float64 {
  a = callback n, function="half", returns=float64[2]
  b = callback n, n, function="whole", returns=float64
  p = print a, b, text="{} {}"
  return a, b
}
""")
)


def halved(n: int) -> list[float]:
    if n < 0:
        raise ValueError("too little")
    return [n / 2, float("nan")]


class RecordingWorld(World):
    """A world that records its effects."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        super().__init__(self.seen.append, {"half": halved, "whole": self.whole})

    def whole(self, one: int, other: int) -> int:
        self.seen.append((one, other))
        return one + other


def run(graph: Graph, arguments: list[Any], path: Path, **options: Any) -> tuple[tl.Outcome, list[dict[str, Any]]]:
    """Run twice, once into a log: the outcome, and the lines of the log."""
    kept = tl.run_graph(graph, arguments, keep="events", world=RecordingWorld(), **options)
    tl.run_graph(graph, arguments, keep=path, world=RecordingWorld(), **options)
    return kept, [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, lines: list[Any]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("n", [3, -1])
@pytest.mark.parametrize("schedule", ["waves", "lifo", "random:7"])
def test_effects_are_not_repeated(n: int, schedule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """S14: the result or trap of a callback is read from its line: nothing is called or printed, and no function is
    needed."""
    path = tmp_path / "run.jsonl"
    kept, lines = run(CALLS, [n], path, schedule=schedule)
    assert kept.status == ("Returned" if n > 0 else "Trapped")
    for spelled in (path.read_text(), "".join(json.dumps(dict(reversed(line.items()))) + "\n" for line in lines)):
        path.write_text(spelled)
        log = tl.read_events(path)
        assert list(map(bits, log.events)) == list(map(bits, kept.events))
        assert log.outcome == to_outcome_record(kept)
    assert capsys.readouterr().out == ""


def firing_of(lines: list[dict[str, Any]], name: str) -> int:
    """The line in which this op, or this callback, fires."""
    nodes = [{node["op"], node["attributes"].get("function")} for node in lines[0]["graph"]["nodes"]]
    return next(n for n, line in enumerate(lines) if "inputs" in line and name in nodes[line["deliver"][0]])


CLAIMS: list[tuple[str, dict[str, Any], str, str]] = [
    ("whole", {"outputs": [[0, {"dtype": "int64", "data": 6}], [1, {"dtype": "bool", "data": True}]]},
     "trap", '"callback whole returned 6, which is not of type float64"'),
    ("half", {"outputs": [[0, {"dtype": "float64", "data": 1.5}], [1, {"dtype": "bool", "data": True}]]},
     "trap", '"callback half returned 1.5, which is not of type float64[2]"'),
    ("whole", {"outputs": []}, "trap", '"no result of this callback is recorded"'),
    ("whole", {"outputs": [], "trap": "it rained"}, "sent", "nothing"),
    ("whole", {"outputs": [[0, {"dtype": "float64", "data": 7}], [1, {"dtype": "bool", "data": True}]]},
     "sent", '[[5,1,0,{"dtype":"float64","data":7.0}]'),
    ("whole", {"outputs": [[0, {"dtype": "float64", "data": 6}], [1, {"dtype": "bool", "data": False}]]},
     "outputs", '[[0,{"dtype":"float64","data":6.0}],[1,{"dtype":"bool","data":true}]]'),
    ("print", {"outputs": [[0, {"dtype": "bool", "data": False}], [1, {"dtype": "bool", "data": True}]]},
     "outputs", '[[0,{"dtype":"bool","data":true}],[1,{"dtype":"bool","data":true}]]'),
    ("print", {"outputs": [], "trap": "no paper"}, "trap", "nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "claim", "key", "required"), CLAIMS)
def test_impossible_results_of_effects_are_rejected(
    name: str, claim: dict[str, Any], key: str, required: str, tmp_path: Path
) -> None:
    """A result has the type that the callback returns, what follows agrees with its line, and a print returns true."""
    path = tmp_path / "run.jsonl"
    _, lines = run(CALLS, [3], path)
    number = firing_of(lines, name)
    write(path, [*lines[:number], lines[number] | claim, *lines[number + 1 :]])
    with pytest.raises(tl.Disagreement) as raised:
        tl.read_events(path)
    assert raised.value.message == f"the log differs from the machine: {key}"
    assert raised.value.where == f"line {number + 1}"
    assert str(raised.value.required).startswith(required)


def test_other_results_of_a_callback_are_accepted(tmp_path: Path) -> None:
    """Logs of two runs whose callback returned different values are both accepted."""
    path, given = tmp_path / "run.jsonl", iter([[1.0, 2.0], [3.0, 4.0]])
    runs = []
    for _ in range(2):
        world = World(lambda line: None, {"half": lambda n: next(given), "whole": lambda one, other: 0.0})
        tl.run_graph(CALLS, [3], keep=path, world=world)
        runs.append(tl.read_events(path).events)
    assert len(runs[0]) == len(runs[1]) and list(map(bits, runs[0])) != list(map(bits, runs[1]))


def test_a_recorded_world_answers_from_events() -> None:
    """A world that knows the events gives the same events again, without a function, and prints nothing."""
    kept = tl.run_graph(CALLS, [3], keep="events", world=RecordingWorld())
    calls = [event for event in kept.events if event.is_firing and CALLS.nodes[event.token.node].op == "callback"]
    world = ReplayWorld()
    for event in calls:
        assert event.inputs is not None
        result = event.outputs[0][1]
        world.set_result(result, None)
        value = world.call("whatever", event.inputs, CALLS.nodes[event.token.node].outputs[0].type)
        assert is_same_value(value, result)
    world.print("nothing")
    trapped = tl.run_graph(CALLS, [-1], keep="events", world=RecordingWorld()).trap_events[0]
    world.set_result(None, trapped.trap)
    with pytest.raises(CallbackError, match="callback half raised ValueError: too little"):
        world.call("half", (), CALLS.nodes[trapped.token.node].outputs[0].type)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("k", [None, 1, 2])
@pytest.mark.parametrize("schedule", ["waves", "fifo", "lifo", "random:3"])
def test_options_are_in_the_first_line(k: int | None, schedule: str, tmp_path: Path) -> None:
    """S15, S16: the first line has the seed and the bound of the run, to all 64 bits; a log with others is another
    run."""
    path, graph = tmp_path / "run.jsonl", lower(FILL)
    kept, lines = run(graph, [4], path, seed=2**64 - 1, k=k, schedule=schedule)
    log = tl.read_events(path)
    assert (log.seed, log.bound, log.schedule) == (2**64 - 1, k, schedule)
    assert list(map(bits, log.events)) == list(map(bits, kept.events)) and log.outcome == to_outcome_record(kept)
    assert lines[0]["seed"] == "18446744073709551615" and lines[0]["bound"] == k
    assert any(event.woken for event in kept.events) and any(event.deferred_at for event in kept.events)
    throttled = any(event.is_throttled for event in kept.events)
    assert throttled or k != 1
    for change in ({"seed": 3}, {"bound": 9})[: 1 + throttled]:
        write(path, [lines[0] | change, *lines[1:]])
        with pytest.raises(tl.Disagreement):
            tl.read_events(path)


def test_older_logs_have_no_options(tmp_path: Path) -> None:
    """A first line without options is that of a run with seed 0 whose loops have their own bounds."""
    path = tmp_path / "run.jsonl"
    kept, lines = run(lower(FILL), [3], path)
    first = {key: text for key, text in lines[0].items() if key not in ("seed", "bound")}
    write(path, [first, *lines[1:]])
    log = tl.read_events(path)
    assert list(map(bits, log.events)) == list(map(bits, kept.events)) and (log.seed, log.bound) == (0, None)


def changed(lines: list[Any], key: str, change: Any) -> tuple[int, list[Any]]:
    """The first line with a key, changed there."""
    number = next(number for number, line in enumerate(lines) if key in line)
    return number, [*lines[:number], lines[number] | {key: change(lines[number][key])}, *lines[number + 1 :]]


STAYS: list[tuple[str, Any, str]] = [
    ("deferred", lambda cell: [cell[0], cell[1] + 1], "Disagreement"),
    ("deferred", lambda cell: [cell[0] | {"data": cell[0]["data"] | {"node": 0}}, cell[1]], "Disagreement"),
    ("deferred", lambda cell: [cell[0] | {"data": cell[0]["data"] | {"size": 9}}, cell[1]], "Disagreement"),
    ("deferred", lambda cell: [cell[0] | {"element": {"dtype": "bool", "shape": []}}, cell[1]], "Disagreement"),
    ("deferred", lambda cell: cell[0], "Malformed"),
    ("deferred", lambda cell: [cell[1], cell[1]], "Malformed"),
    ("deferred", lambda cell: None, "Malformed"),
    ("woken", lambda tokens: [], "Disagreement"),
    ("woken", lambda tokens: tokens * 2, "Disagreement"),
    ("woken", lambda tokens: [3], "Malformed"),
    ("throttled", lambda throttled: False, "Disagreement"),
    ("throttled", lambda throttled: 1, "Malformed"),
    ("released", lambda tokens: [[step + 1, token] for step, token in tokens], "Disagreement"),
    ("released", lambda tokens: [token for _, token in tokens], "Malformed"),
]


@pytest.mark.inner(first=4)
@pytest.mark.parametrize(("key", "change", "error"), STAYS)
def test_deferred_and_throttled_tokens_are_checked(key: str, change: Any, error: str, tmp_path: Path) -> None:
    """S13, S16: the tokens that are deferred, woken, throttled and released are those of the machine, with their
    handles."""
    path = tmp_path / "run.jsonl"
    _, lines = run(lower(FILL), [4], path)
    number, wrong = changed(lines, key, change)
    write(path, wrong)
    with pytest.raises(getattr(tl, error)) as raised:
        tl.read_events(path)
    assert str(raised.value.where).startswith(f"line {number + 1}")
    assert error == "Malformed" or raised.value.message == f"the log differs from the machine: {key}"


OPTIONS: list[tuple[dict[str, Any], str, str]] = [
    ({"seed": -1}, "$.seed", "an integer within the range of uint64"),
    ({"seed": 2**53 + 1}, "$.seed", "an integer; beyond 2**53 in size a string of its digits"),
    ({"seed": "7"}, "$.seed", "an integer; beyond 2**53 in size a string of its digits"),
    ({"seed": str(2**64)}, "$.seed", "an integer within the range of uint64"),
    ({"seed": None}, "$.seed", "an integer; beyond 2**53 in size a string of its digits"),
    ({"bound": 0}, "$.bound", "an integer from 1 up"),
    ({"bound": True}, "$.bound", "an integer from 1 up"),
    ({"k": 3}, "$", "no keys but tagloom, version, graph, arguments, schedule, sites, seed, bound"),
    ({"schedule": "hand:/etc/passwd"}, "$.schedule", "one of fifo, lifo, waves, random:SEED, hand"),
]


@pytest.mark.inner(first=5)
@pytest.mark.parametrize(("change", "where", "required"), OPTIONS)
def test_wrong_options_are_named(change: dict[str, Any], where: str, required: str, tmp_path: Path) -> None:
    """A seed has 64 bits, a bound is at least 1, and a log names no other file."""
    path = tmp_path / "run.jsonl"
    _, lines = run(lower(FILL), [3], path)
    write(path, [lines[0] | change, *lines[1:]])
    with pytest.raises(tl.Malformed) as raised:
        tl.read_events(path)
    assert (raised.value.where, raised.value.required) == (f"line 1: {where}", required)


@pytest.mark.full
def test_the_clock_may_end_a_run_anywhere(tmp_path: Path) -> None:
    """A limit on firings ends a run only before a firing. Seconds, memory and Ctrl-C end it before any step, and its
    outcome names the limit."""
    path = tmp_path / "run.jsonl"
    out = tl.run_graph(lower(FILL), [3], keep=path, limits=tl.Limits(seconds=0))
    log = tl.read_events(path)
    assert (out.status, log.outcome) == ("Exhausted", to_outcome_record(out)) and log.outcome is not None
    assert log.outcome.error is not None and log.outcome.error.limit == "seconds"
    assert tl.to_json(out)["error"]["limit"] == "seconds"
    _, lines = run(lower(FILL), [3], path)
    unknown = dict.fromkeys(("firings", "stats", "traps", "residue", "open_activations"))
    waiting = next(n for n, line in enumerate(lines) if "deliver" in line and "inputs" not in line)
    for limit, believed in (("seconds", True), ("interrupt", True), ("bytes", True), ("firings", False), (None, False)):
        error = {"rule": "S12", "message": "", "words": None, "limit": limit}
        claim = lines[-1]["outcome"] | unknown | {"status": "Exhausted", "error": error, "results": [None] * 4}
        write(path, [*lines[:waiting], {"outcome": claim}])
        if believed:
            assert tl.read_events(path).outcome is not None
            continue
        with pytest.raises(tl.Disagreement, match="differs from the machine: status"):
            tl.read_events(path)


def test_absent_effects_take_no_room() -> None:
    """A line has no empty keys, so events without deferred or throttled tokens need no room for them, and little
    time."""
    for event in tl.run_graph(lower(FILL), [3], keep="events").events:
        line = json.loads(event_line(event, _Numbers()))
        assert ("deferred" in line, "woken" in line) == (event.deferred_at is not None, bool(event.woken))
        assert ("throttled" in line, "released" in line) == (event.is_throttled, bool(event.released))
        assert set(line) <= {"deliver", "position", "inputs", "outputs", "trap", "sent", "closed", "deferred", "woken",
                             "throttled", "released"}  # fmt: skip


class _Numbers(dict[Any, int]):
    def __missing__(self, tag: Any) -> int:
        return 0


def elsewhere(op: str) -> Graph:
    """The graph with the site of a gate changed: a bound throttles tokens under the tag of another loop."""
    graph, other = lower(FILL), Site("nowhere", "i", "loop")
    return replace(graph, nodes=tuple(replace(n, site=other) if n.op == op else n for n in graph.nodes))


def unfed() -> Graph:
    """The graph with a store that receives no index."""
    graph = lower(FILL)
    (store,) = (number for number, node in enumerate(graph.nodes) if node.op == "store")

    def kept(output: NodeOutput) -> NodeOutput:
        return replace(output, edges=tuple(edge for edge in output.edges if edge != (store, 1)))

    return replace(graph, nodes=tuple(replace(n, outputs=tuple(map(kept, n.outputs))) for n in graph.nodes))


BROKEN = {"enter": elsewhere("enter"), "next": elsewhere("next_iteration"), "exit": elsewhere("exit"), "store": unfed()}


@pytest.mark.inner(first=4)
@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("schedule", ["waves", "fifo", "lifo"])
def test_invalid_graphs_are_logged(name: str, schedule: str, tmp_path: Path) -> None:
    """A run of an invalid graph ends as data, with its residue, and its log reads back as the run."""
    path = tmp_path / "run.jsonl"
    kept, _ = run(BROKEN[name], [3], path, schedule=schedule, unchecked=True, limits=tl.Limits(firings=60))
    log = tl.read_events(path)
    assert list(map(bits, log.events)) == list(map(bits, kept.events)) and log.outcome == to_outcome_record(kept)
    assert kept.status != "Returned" and tl.from_json(json.dumps(tl.to_json(kept))) == to_outcome_record(kept)


@given(
    act_cases(),
    st.sampled_from(["waves", "lifo", "random:3"]),
    st.sampled_from([None, 1, 2]),
    st.integers(0, 2**64 - 1),
)
@settings(max_examples=12)
def test_generated_programs_with_effects_are_logged(
    tmp_path_factory: Any, case: Case, schedule: str, k: int | None, seed: int
) -> None:
    """The log of a generated program with cells, effects and random numbers reads back as the run, for all options, and
    its outcome survives a round trip."""
    assert_logged(lower(case.program), case, tmp_path_factory, schedule=schedule, k=k, seed=seed)


@given(act_cases(early=True, twice=True), st.sampled_from(EDITS), st.integers(0, 2**32))
@settings(max_examples=12)
def test_invalid_graphs_with_effects_are_logged(tmp_path_factory: Any, case: Case, edit: Any, seed: int) -> None:
    """The log of an invalid graph with effects reads back as the run, however it ends, and the graph survives a round
    trip."""
    try:
        graph = edit(random.Random(seed), lower(case.program))
    except (tl.Usage, ValueError):
        reject()  # an edit that knows no handles, or no node without outputs
    assert tl.from_json(json.dumps(tl.to_json(graph), allow_nan=False)) == graph
    try:
        tl.run_graph(graph, case.arguments, unchecked=True, limits=LIMITS, world=Witness())
    except (tl.Invalid, tl.Usage):
        reject()
    assert_logged(graph, case, tmp_path_factory)


def assert_logged(graph: Graph, case: Case, folder: Any, **options: Any) -> None:
    path = folder.mktemp("log") / "run.jsonl"
    given_ = {"unchecked": True, "limits": LIMITS, **options}
    kept = tl.run_graph(graph, case.arguments, keep="events", world=Witness(), **given_)
    tl.run_graph(graph, case.arguments, keep=path, world=Witness(), **given_)
    log = tl.read_events(path)
    assert list(map(bits, log.events)) == list(map(bits, kept.events)) and log.outcome == to_outcome_record(kept)
    assert tl.from_json(json.dumps(tl.to_json(kept))) == to_outcome_record(kept)
