"""Event logs: what a run writes is what it did, and nothing is believed that the machine would not do."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from event_bits import bits
from generator import Case, cases
from graph_edits import EDITS
from hypothesis import given, settings
from hypothesis import strategies as st
from json_edits import RUNS, fib
from laws import LIMITS
from tagloom.core.graph import Graph
from tagloom.core.lower import lower
from tagloom.interp import reference
from tagloom.interp.event import Event
from tagloom.interp.record import record
from tagloom.interp.replay import open_log


def assert_read_as_written(graph: Graph, arguments: list[Any], path: Path, **options: Any) -> list[dict[str, Any]]:
    """read(write(run)) == run, and a writer who spells JSON otherwise is understood alike; the lines, as data."""
    kept = tl.run_graph(graph, arguments, keep="events", unchecked=True, **options)
    written = tl.run_graph(graph, arguments, keep=path, unchecked=True, **options)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for spelling in (
        None,
        lambda line: json.dumps(dict(reversed(line.items())), indent=None, separators=(" , ", " : ")),
    ):
        if spelling is not None:
            path.write_text("".join(spelling(line) + "\n" for line in lines))
        log = tl.read_events(path)
        assert (log.graph, log.schedule) == (graph, kept.schedule)
        assert list(map(bits, log.events)) == list(map(bits, kept.events))
        assert log.outcome == record(written)
    assert record(kept) == record(written)
    return lines


@pytest.mark.parametrize("schedule", ["waves", "fifo", "lifo", "random:7"])
@pytest.mark.parametrize(("graph", "arguments"), RUNS, ids=[f"{graph.name}{n}" for n, (graph, _) in enumerate(RUNS)])
def test_a_log_is_the_run(graph: Graph, arguments: list[Any], schedule: str, tmp_path: Path) -> None:
    """Under every schedule, of recursion, loops, arrays, traps, deadlocks and broken graphs: what is read is what ran,
    and so is the outcome."""
    assert_read_as_written(graph, arguments, tmp_path / "run.jsonl", schedule=schedule)


@given(cases(), st.sampled_from(["waves", "lifo", "random:3"]))
@settings(max_examples=12)
def test_generated_programs_are_logged(tmp_path_factory: Any, case: Case, schedule: str) -> None:
    """The log of a generated program's run is the run, exhausted runs included; each tag has exactly one line."""
    path = tmp_path_factory.mktemp("log") / "run.jsonl"
    lines = assert_read_as_written(lower(case.program), case.arguments, path, schedule=schedule, limits=LIMITS)
    tags = [(line["parent"], line["site"], line["iteration"]) for line in lines if "tag" in line]
    sent = {each[2] for line in lines for each in line.get("sent", ())} - {0}
    assert len(tags) == len(set(tags)) == len(sent)


@given(cases(), st.sampled_from(EDITS), st.integers(0, 2**32))
@settings(max_examples=20)
def test_broken_graphs_are_logged(tmp_path_factory: Any, case: Case, edit: Any, seed: int) -> None:
    """The log of a graph that breaks the rules is the run too, however it ends."""
    graph = edit(random.Random(seed), lower(case.program))
    path = tmp_path_factory.mktemp("log") / "run.jsonl"
    try:
        tl.run_graph(graph, case.arguments, unchecked=True, limits=LIMITS)
    except (tl.Invalid, tl.Usage):
        return
    assert_read_as_written(graph, case.arguments, path, limits=LIMITS)


def test_a_function_writes_while_it_runs(tmp_path: Path) -> None:
    """`fn.run(..., keep=PATH)` holds no events; asking for them names what reads the file."""
    path = tmp_path / "run.jsonl"
    for keep in (str(path), path):
        out = fib.run(5, keep=keep)
        with pytest.raises(tl.Usage, match=r"wrote its events to a file") as raised:
            _ = out.events
        assert raised.value.hint == f'tl.read_events("{path}")'
        with pytest.raises(tl.Usage, match="wrote its events"):
            out.values("add")
    assert len(tl.read_events(path).events) == out.stats.steps


def test_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    """It is a wrong argument, and nothing has run."""
    for path in (tmp_path, tmp_path / "none" / "run.jsonl"):
        with pytest.raises(tl.Usage, match="cannot be written"):
            fib.run(5, keep=path)
    with pytest.raises(tl.Usage, match="cannot be read"):
        tl.read_events(tmp_path / "none.jsonl")


def test_an_interrupted_run_leaves_what_it_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle: the log has every event up to there, and no outcome."""
    path, steps, true_step = tmp_path / "run.jsonl", 0, reference.step

    def interrupted(*arguments: Any) -> Event:
        nonlocal steps
        steps += 1
        if steps > 100:
            raise KeyboardInterrupt
        return true_step(*arguments)

    monkeypatch.setattr(reference, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fib.run(8, keep=path)
    monkeypatch.undo()
    log = tl.read_events(path)
    assert (len(log.events), log.outcome) == (100, None)
    assert log.events == fib.run(8, keep="events").events[:100]


def test_every_prefix_is_a_log(tmp_path: Path) -> None:
    """A log that is cut anywhere after its first line says as much as it has; what is left of a line is not read."""
    path = tmp_path / "run.jsonl"
    fib.run(3, keep=path)
    whole, events = path.read_bytes(), tl.read_events(path).events
    first = whole.index(b"\n") + 1
    for end in range(first, len(whole), 7):
        path.write_bytes(whole[:end])
        log = tl.read_events(path)
        assert (log.events, log.outcome) == (events[: len(log.events)], None)
        assert len(log.events) - whole[:end].count(b'\n{"deliver"') in (-1, 0)


def test_nothing_is_held_but_open_tags(tmp_path: Path) -> None:
    """The writer and the reader know the numbers of the tags that are open, and of no others."""
    path = tmp_path / "run.jsonl"
    fib.run(12, keep=path, schedule="lifo")
    replay = open_log(path)
    most = max(len(replay.tags.numbers) for _ in replay.events())
    lines = Counter("tag" in json.loads(line) for line in path.read_text().splitlines())
    assert most < 40 < 400 < lines[True]
    assert list(replay.tags.numbers.values()) == [0]


def test_deep_recursion_is_logged_in_linear_time(tmp_path: Path) -> None:
    """Tags are links: 3,000 nested calls, left open by a limit, take kilobytes and not the square of the depth."""

    @tl.function
    def down(n: tl.int64) -> tl.int64:
        return tl.cond(n <= 0, lambda: n, lambda: down(n - 1) + 1)

    path = tmp_path / "run.jsonl"
    out = down.run(10_000, keep=path, limits=tl.Limits(depth=3_000))
    assert (out.status, out.stats.deepest_tag) == ("Exhausted", 3_000)
    log = tl.read_events(path)
    assert log.outcome == record(out)
    assert path.stat().st_size < 400 * out.stats.steps


WRONG = [
    ({"position": 5}, tl.Disagreement, "below 1, the tokens in flight"),
    ({"deliver": [9, 9, 9, {"dtype": "int64", "data": 3}]}, tl.Disagreement, "[0,0,0,"),
    ({"inputs": [{"dtype": "int64", "data": 4}]}, tl.Disagreement, '[{"dtype":"int64","data":3}]'),
    ({"outputs": []}, tl.Disagreement, '[[0,{"dtype":"int64","data":3}]]'),
    ({"sent": []}, tl.Disagreement, "[[1,0,0,"),
    ({"closed": [[0, [1]]]}, tl.Disagreement, "nothing"),
    ({"trap": "for no reason"}, tl.Disagreement, "nothing"),
    ({"more": 1}, tl.Malformed, "no keys but"),
    ({"position": "0"}, tl.Malformed, "an integer from 0 up"),
]


@pytest.mark.parametrize(("change", "error", "required"), WRONG)
def test_a_wrong_event_is_named(
    change: dict[str, Any], error: type[tl.TagloomError], required: str, tmp_path: Path
) -> None:
    """The first line that is not what the machine gives is named, with what was required there and what was got."""
    path = tmp_path / "run.jsonl"
    fib.run(3, keep=path)
    first, event, *rest = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in [first, event | change, *rest]))
    with pytest.raises(error) as raised:
        tl.read_events(path)
    (key,) = change
    assert error is tl.Malformed or raised.value.message == f"not what the machine gives: {key}"
    assert str(raised.value.where).startswith("line 2")
    assert str(raised.value.required).startswith(required)


def test_a_wrong_outcome_is_named(tmp_path: Path) -> None:
    """The outcome that a log claims must be that of the state which its events led to."""
    path = tmp_path / "run.jsonl"
    fib.run(3, keep=path)
    lines = path.read_text().splitlines()
    outcome = json.loads(lines[-1])["outcome"]
    for key, wrong in [
        ("results", [{"dtype": "int64", "data": 7}]), ("firings", 3), ("open_activations", 2), ("status", "Trapped"),
        ("residue", [[0, 0, 0, {"dtype": "int64", "data": 7}]]), ("stats", {**outcome["stats"], "steps": 1}),
    ]:  # fmt: skip
        path.write_text("\n".join([*lines[:-1], json.dumps({"outcome": {**outcome, key: wrong}})]) + "\n")
        with pytest.raises(tl.Disagreement, match="not what the machine gives") as raised:
            tl.read_events(path)
        assert raised.value.where == f"line {len(lines)}"
    unknown = dict.fromkeys(("firings", "stats", "traps", "residue", "open_activations", "engine", "schedule"))
    path.write_text("\n".join([*lines[:-1], json.dumps({"outcome": {**outcome, **unknown}})]) + "\n")
    assert tl.read_events(path).outcome is not None, "what a machine does not know is no difference"


def test_tokens_picked_by_hand(tmp_path: Path) -> None:
    """Under the schedule `hand` any token in flight may be next; under one with a name its own only."""
    path = tmp_path / "run.jsonl"
    fib.run(4, keep=path, schedule="random:5")
    text = path.read_text()
    path.write_text(text.replace('"schedule":"random:5"', '"schedule":"hand"'))
    assert tl.read_events(path).events == fib.run(4, keep="events", schedule="random:5").events
    path.write_text(text.replace('"schedule":"random:5"', '"schedule":"lifo"'))
    with pytest.raises(tl.Disagreement, match="gives: position"):
        tl.read_events(path)
