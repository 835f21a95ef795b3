"""Event logs: a log describes its run exactly, and a claim that the machine would not make is rejected."""

from __future__ import annotations

import gc
import json
import random
import subprocess
import sys
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from itertools import pairwise
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from support.generators.generator import Case, cases
from support.generators.graph_edits import EDITS
from support.generators.json_edits import EVERY, fib, quotients
from support.laws.machine_laws import LIMITS
from support.observe.event_bits import bits
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.json.cursor import JsonCursor
from tagloom.core.json.value import read_value
from tagloom.interp.engines import reference
from tagloom.interp.history.replay import open_log
from tagloom.interp.machine.event import Event
from tagloom.interp.records import column_log, event_log
from tagloom.interp.records.documents import to_outcome_record
from tagloom.interp.records.event_log import JsonLogWriter
from tagloom.interp.records.event_sink import log_lines, partial_path


def write(path: Path, lines: list[Any]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def assert_read_as_written(graph: Graph, arguments: list[Any], path: Path, **options: Any) -> list[dict[str, Any]]:
    """read(write(run)) == run, also for other JSON spellings, and columns convert to the same lines; returns the lines
    as data."""
    kept = tl.run_graph(graph, arguments, keep="events", unchecked=True, **options)
    written = tl.run_graph(graph, arguments, keep=path, unchecked=True, **options)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    columns = path.with_suffix(".npz")
    tl.run_graph(graph, arguments, keep=columns, unchecked=True, **options)
    assert b"".join(log_lines(columns)) == path.read_bytes()
    assert list(map(bits, tl.read_events(columns).events)) == list(map(bits, kept.events))
    for spelling in (
        None,
        lambda line: json.dumps(dict(reversed(line.items())), indent=None, separators=(" , ", " : ")),
    ):
        if spelling is not None:
            path.write_text("".join(spelling(line) + "\n" for line in lines))
        log = tl.read_events(path)
        assert (log.graph, log.schedule) == (graph, kept.schedule)
        assert list(map(bits, log.events)) == list(map(bits, kept.events))
        assert log.outcome == to_outcome_record(written)
    assert to_outcome_record(kept) == to_outcome_record(written)
    return lines


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("schedule", ["waves", "fifo", "lifo", "random:7"])
@pytest.mark.parametrize(("graph", "arguments"), EVERY, ids=[f"{graph.name}{n}" for n, (graph, _) in enumerate(EVERY)])
def test_a_log_is_the_run(graph: Graph, arguments: list[Any], schedule: str, tmp_path: Path) -> None:
    """Logs of recursion, loops, arrays, traps, deadlocks and broken graphs read back as the run and its outcome, under
    every schedule."""
    assert_read_as_written(graph, arguments, tmp_path / "run.jsonl", schedule=schedule)


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("until", ["result", "trap"])
@pytest.mark.parametrize(("graph", "arguments"), EVERY, ids=[f"{graph.name}{n}" for n, (graph, _) in enumerate(EVERY)])
def test_a_log_of_a_run_that_was_stopped(graph: Graph, arguments: list[Any], until: str, tmp_path: Path) -> None:
    """A run may stop at its results or at its first trap; its outcome then has tokens in flight, and the log is
    accepted."""
    assert_read_as_written(graph, arguments, tmp_path / "run.jsonl", until=until)


@given(cases(), st.sampled_from(["waves", "lifo", "random:3"]))
@settings(max_examples=12)
def test_generated_programs_are_logged(tmp_path_factory: Any, case: Case, schedule: str) -> None:
    """The log of a generated program reads back as the run, exhausted runs included; each tag has exactly one line."""
    path = tmp_path_factory.mktemp("log") / "run.jsonl"
    lines = assert_read_as_written(lower(case.program), case.arguments, path, schedule=schedule, limits=LIMITS)
    tags = [(line["parent"], line["site"], line["iteration"]) for line in lines if "tag" in line]
    sent = {each[2] for line in lines for each in line.get("sent", ())} - {0}
    assert len(tags) == len(set(tags)) == len(sent)


@given(cases(), st.sampled_from(EDITS), st.integers(0, 2**32))
@settings(max_examples=12)
def test_invalid_graphs_are_logged(tmp_path_factory: Any, case: Case, edit: Any, seed: int) -> None:
    """The log of an invalid graph reads back as the run too, however it ends."""
    graph = edit(random.Random(seed), lower(case.program))
    path = tmp_path_factory.mktemp("log") / "run.jsonl"
    try:
        tl.run_graph(graph, case.arguments, unchecked=True, limits=LIMITS)
    except (tl.Invalid, tl.Usage):
        reject()
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
    """An unwritable path is a wrong argument, and nothing runs."""
    (tmp_path / "folder.jsonl").mkdir()
    for path in (tmp_path / "folder.jsonl", tmp_path / "none" / "run.jsonl"):
        with pytest.raises(tl.Usage, match="cannot be written"):
            fib.run(5, keep=path)
    with pytest.raises(tl.Usage, match="cannot be read"):
        tl.read_events(tmp_path / "none.jsonl")


@pytest.mark.parametrize("name", ["fib.py", "events", "run.json", "jsonl"])
def test_other_files_are_never_overwritten(name: str, tmp_path: Path) -> None:
    """A path must end in .jsonl or .npz, so that a program named by mistake is not overwritten."""
    path = tmp_path / name
    path.write_text("precious")
    with pytest.raises(tl.Usage, match="not the name of a log") as raised:
        fib.run(5, keep=path)
    assert (raised.value.required, raised.value.got) == ("one that ends in .jsonl or .npz", str(path))
    assert path.read_text() == "precious"


def test_an_interrupted_run_leaves_its_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log interrupted by Ctrl-C has every event up to then, and no outcome."""
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


@pytest.mark.full
def test_every_prefix_is_a_log(tmp_path: Path) -> None:
    """A log that is cut anywhere after its first line gives the complete lines before the cut."""
    path = tmp_path / "run.jsonl"
    fib.run(3, keep=path)
    whole, events = path.read_bytes(), tl.read_events(path).events
    first = whole.index(b"\n") + 1
    for end in range(first, len(whole), 7):
        path.write_bytes(whole[:end])
        log = tl.read_events(path)
        assert (log.events, log.outcome) == (events[: len(log.events)], None)
        assert len(log.events) - whole[:end].count(b'\n{"deliver"') in (-1, 0)


@tl.function
def count(n: tl.int64) -> tl.int64:
    """As many tags as iterations; two are open at once."""
    return tl.while_loop(lambda i: i < n, lambda i: i + 1, 0)[0]


def peak_of_reading(path: Path) -> int:
    """The most bytes that reading a log allocates, beyond what its first line takes. Cycles, of which the JSON decoder
    leaves one for each line, are collected at once, since otherwise their number would be random."""
    replay = open_log(path)
    gc.freeze()
    tracemalloc.start()
    try:
        for _ in replay.events():
            gc.collect()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.unfreeze()


@pytest.mark.full
def test_only_open_tags_are_held(tmp_path: Path) -> None:
    """Reading a log of ten times as many tags takes as much memory; the writer numbers open tags only."""
    path = tmp_path / "run.jsonl"
    held = []
    for n in (50, 50, 500):
        count.run(n, keep=path, schedule="fifo")
        held.append(peak_of_reading(path))
    assert path.read_text().count('{"tag":') == 501 and held[2] < held[1] * 1.5
    fib.run(12, keep=path, schedule="lifo")
    replay, lines = open_log(path), []
    writer = JsonLogWriter(replay.state.graph, lines.append)
    most = 0
    for event in replay.events():
        writer.write_event(event)
        most = max(most, len(writer.tags.numbers))
        assert writer.tags.numbers == replay.tags.tag_numbers
    assert most < 40 < 400 < sum('"tag"' in line for line in lines)


def _all_first(lines: list[Any]) -> list[Any]:
    tags = [line for line in lines if "tag" in line]
    return [lines[0], *tags, *(line for line in lines[1:] if "tag" not in line)]


def _more(**tag: int) -> Callable[[list[Any]], list[Any]]:
    def change(lines: list[Any]) -> list[Any]:
        number = 1 + sum("tag" in line for line in lines)
        return [*lines[:-1], {"tag": number, "site": 0, "iteration": 0, **tag}, lines[-1]]

    return change


def _chain(lines: list[Any]) -> list[Any]:
    return [lines[0], *({"tag": n + 1, "parent": n, "site": 0, "iteration": 0} for n in range(100_000))]


UNUSED: list[tuple[Callable[[list[Any]], list[Any]], int, str]] = [
    (_all_first, 3, "1, since an event opens one tag, and what is around it"),
    (_chain, 3, "a tag that the next event uses"),
    (_more(parent=0), -2, "a tag that the next event uses"),
    (_more(parent=1), -2, "a tag that is open, with a line before this one"),
    (lambda lines: [lines[0], {"tag": 1, "parent": 0, "site": 0, "iteration": 0}, *lines[1:]], 2,
     "a tag that the next event uses"),
]  # fmt: skip


@pytest.mark.inner(first=1)
@pytest.mark.parametrize(("change", "line", "required"), UNUSED)
def test_a_tag_is_used_by_the_next_event(
    change: Callable[[list[Any]], list[Any]], line: int, required: str, tmp_path: Path
) -> None:
    """The line of a tag stands before the event that opens it, so that no reader must keep unused tags."""
    path = tmp_path / "run.jsonl"
    fib.run(4, keep=path)
    changed = change([json.loads(line) for line in path.read_text().splitlines()])
    write(path, changed)
    with pytest.raises(tl.Malformed) as raised:
        tl.read_events(path)
    assert str(raised.value.where).startswith(f"line {line if line > 0 else len(changed) + 1 + line}: $")
    assert raised.value.required == required


def test_a_tag_without_a_line_is_named(tmp_path: Path) -> None:
    """The error names the tag by its path, and the writer gives it no number."""
    path = tmp_path / "run.jsonl"
    fib.run(4, keep=path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    number = next(number for number, line in enumerate(lines) if "tag" in line)
    del lines[number]
    for claimed in (1, 0, 2**53, 2**63 - 1):
        lines[number]["sent"][0][2] = claimed
        write(path, lines)
        with pytest.raises(tl.Disagreement) as raised:
            tl.read_events(path)
        assert raised.value.where == f"line {number + 1}"
        assert raised.value.required == "tokens under main/fib, a tag that has no line yet"


@pytest.mark.full
def test_deep_recursion_is_logged_in_linear_time(tmp_path: Path) -> None:
    """Tags are links: the log of 3,000 nested calls that a limit left open takes kilobytes, and not the square of the
    depth."""

    @tl.function
    def down(n: tl.int64) -> tl.int64:
        return tl.cond(n <= 0, lambda: n, lambda: down(n - 1) + 1)

    path = tmp_path / "run.jsonl"
    out = down.run(10_000, keep=path, limits=tl.Limits(depth=3_000))
    assert (out.status, out.stats.deepest_tag) == ("Exhausted", 3_000)
    log = tl.read_events(path)
    assert log.outcome == to_outcome_record(out)
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
    ({"position": None}, tl.Malformed, "an integer from 0 up"),
    ({"position": 2**99}, tl.Malformed, "an integer of at most 64 bits from 0 up"),
]


@pytest.mark.parametrize(("change", "error", "required"), WRONG)
def test_a_wrong_event_is_named(
    change: dict[str, Any], error: type[tl.TagloomError], required: str, tmp_path: Path
) -> None:
    """The error names the first line that the machine would not give, with what was required and what was got."""
    path = tmp_path / "run.jsonl"
    fib.run(3, keep=path)
    first, event, *rest = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in [first, event | change, *rest]))
    with pytest.raises(error) as raised:
        tl.read_events(path)
    (key,) = change
    assert error is tl.Malformed or raised.value.message == f"the log differs from the machine: {key}"
    assert str(raised.value.where).startswith("line 2")
    assert str(raised.value.required).startswith(required)


def test_a_wrong_outcome_is_named(tmp_path: Path) -> None:
    """The outcome that a log claims must be that of the state after its events."""
    path = tmp_path / "run.jsonl"
    fib.run(3, keep=path)
    lines = path.read_text().splitlines()
    outcome = json.loads(lines[-1])["outcome"]
    for key, wrong in [
        ("results", [{"dtype": "int64", "data": 7}]), ("firings", 3), ("open_activations", 2), ("status", "Trapped"),
        ("residue", [[0, 0, 0, {"dtype": "int64", "data": 7}]]), ("stats", {**outcome["stats"], "steps": 1}),
    ]:  # fmt: skip
        path.write_text("\n".join([*lines[:-1], json.dumps({"outcome": {**outcome, key: wrong}})]) + "\n")
        with pytest.raises(tl.Disagreement, match="the log differs from the machine") as raised:
            tl.read_events(path)
        assert raised.value.where == f"line {len(lines)}"
    unknown = dict.fromkeys(("firings", "stats", "traps", "residue", "open_activations", "engine", "schedule"))
    path.write_text("\n".join([*lines[:-1], json.dumps({"outcome": {**outcome, **unknown}})]) + "\n")
    assert tl.read_events(path).outcome is not None, "what a machine does not know is no difference"


ENDINGS: list[tuple[list[Any], dict[str, Any], dict[str, Any], str]] = [
    # of fib(3), which returned with nothing in flight
    ([3], {}, {"status": "Exhausted"}, "Returned"),
    ([3], {}, {"status": "Broken"}, "Returned"),
    ([3], {}, {"status": "Trapped"}, "Returned"),
    ([3], {}, {"error": {"rule": "S99", "message": "boo", "words": None}}, "nothing"),
    ([3], {}, {"schedule": "lifo"}, '"waves"'),
    # of fib(3), which a limit ended
    ([3], {"limits": tl.Limits(firings=9)}, {"status": "Returned", "error": None}, "Exhausted"),
    ([3], {"limits": tl.Limits(firings=9)}, {"error": None}, '"S12"'),
    ([3], {"limits": tl.Limits(firings=9)}, {"error": {"rule": "S4", "message": "", "words": None}}, '"S12"'),
    ([3], {"limits": tl.Limits(tokens=0)}, {"status": "Deadlocked"}, "Exhausted"),
]


@pytest.mark.parametrize(("arguments", "options", "claim", "required"), ENDINGS)
def test_a_wrong_ending_is_named(
    arguments: list[Any], options: dict[str, Any], claim: dict[str, Any], required: str, tmp_path: Path
) -> None:
    """S12: a run is Exhausted only if a token is left, and has an error only if it did not return; the error names the
    rule of the ending."""
    path = tmp_path / "run.jsonl"
    out = fib.run(*arguments, keep=path, **options)
    assert tl.read_events(path).outcome == to_outcome_record(out)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    write(path, [*lines[:-1], {"outcome": lines[-1]["outcome"] | claim}])
    with pytest.raises(tl.Disagreement) as raised:
        tl.read_events(path)
    assert (raised.value.where, raised.value.required) == (f"line {len(lines)}", required)


@pytest.mark.full
def test_a_run_stops_at_its_result_and_not_later(tmp_path: Path) -> None:
    """With tokens in flight, a run may be Returned or Trapped only right after the event with the last result or the
    first trap, and Exhausted only before a firing."""
    path = tmp_path / "run.jsonl"
    out = quotients.run(3, keep=path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    events = [number for number, line in enumerate(lines) if "deliver" in line]
    trap = next(number for number in events if "trap" in lines[number])
    unknown = dict.fromkeys(("firings", "stats", "traps", "residue", "open_activations"))
    believed: dict[str, list[int]] = {"Trapped": [], "Returned": [], "Exhausted": [], "Broken": []}
    rules = {"Trapped": "S5", "Exhausted": "S12", "Broken": "S4"}
    for end in events:
        for status, ends in believed.items():
            error = {"rule": rules[status], "message": "", "words": None} if status in rules else None
            claim = lines[-1]["outcome"] | unknown | {"status": status, "error": error, "results": [None]}
            write(path, [*lines[: end + 1], {"outcome": claim}])
            try:
                tl.read_events(path)
            except tl.Disagreement:
                continue
            ends.append(end)
    assert out.status == "Trapped" and believed["Trapped"] == [trap, events[-1]]
    assert believed["Returned"] == believed["Broken"] == []
    fired = [one for one, following in pairwise(events) if "inputs" in lines[following]]
    assert believed["Exhausted"] == fired


HEADERS: list[tuple[dict[str, Any], str, str]] = [
    ({"schedule": "fast"}, "$.schedule", "one of fifo, lifo, waves, random:SEED, hand"),
    ({"schedule": "random:" + "9" * 5000}, "$.schedule", "one of fifo, lifo, waves, random:SEED, hand"),
    ({"schedule": 3}, "$.schedule", "a string"),
    ({"arguments": []}, "$.arguments", "1 argument"),
    ({"arguments": [{"dtype": "float64", "data": 3}]}, "$.arguments[0]", "a value of type int64"),
    ({"arguments": [{"dtype": "int64", "data": 2**70}]}, "$.arguments[0].data", "an integer; beyond 2**53"),
    ({"sites": []}, "$.sites", "the sites of the graph: fib.fib, fib.fib_1, .main"),
    ({"sites": [{"function": "f", "name": "g", "kind": "loop"}]}, "$.sites", "the sites of the graph: fib.fib"),
]


@pytest.mark.parametrize(("change", "where", "required"), HEADERS)
def test_a_wrong_first_line_is_named(change: dict[str, Any], where: str, required: str, tmp_path: Path) -> None:
    """A wrong first line is malformed, and a short message names the place in it."""
    path = tmp_path / "run.jsonl"
    fib.run(3, keep=path)
    first, *rest = [json.loads(line) for line in path.read_text().splitlines()]
    write(path, [first | change, *rest])
    with pytest.raises(tl.Malformed) as raised:
        tl.read_events(path)
    assert raised.value.where == f"line 1: {where}"
    assert str(raised.value.required).startswith(required) and len(str(raised.value)) < 250


def test_sites_are_listed_once_in_any_order(tmp_path: Path) -> None:
    """A site that is listed twice is refused. Another order gives other numbers, and the log is the same run."""
    path = tmp_path / "run.jsonl"
    fib.run(3, keep=path)
    events = tl.read_events(path).events
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    sites = lines[0]["sites"]
    write(path, [lines[0] | {"sites": sites * 2}, *lines[1:]])
    with pytest.raises(tl.Malformed, match="that of number 0 again"):
        tl.read_events(path)
    for line in lines:
        if "tag" in line:
            line["site"] = len(sites) - 1 - line["site"]
    write(path, [lines[0] | {"sites": sites[::-1]}, *lines[1:]])
    assert tl.read_events(path).events == events


def test_empty_logs_and_blank_lines(tmp_path: Path) -> None:
    """An empty file is reported as such; blank lines are allowed at the end only."""
    path = tmp_path / "run.jsonl"
    path.write_text("")
    with pytest.raises(tl.Malformed, match=r"this log is empty \(line 1\)"):
        tl.read_events(path)
    fib.run(3, keep=path)
    text, log = path.read_text(), tl.read_events(path)
    for blank in ("\n", "\r\n \n", "  "):
        path.write_text(text + blank)
        assert tl.read_events(path) == log
    first, rest = text.split("\n", 1)
    path.write_text(f"{first}\n\n{rest}")
    with pytest.raises(tl.Malformed, match=r"line 2: \$"):
        tl.read_events(path)


def test_a_log_is_no_document(tmp_path: Path) -> None:
    """Reading a log as a document names the function that reads logs."""
    path = tmp_path / "run.jsonl"
    fib.run(3, keep=path)
    for text in (path.read_text(), path.read_text().splitlines()[0]):
        for read in (tl.from_json, lambda text: path.write_text(text) and tl.read_json(path)):
            with pytest.raises(tl.Malformed) as raised:
                read(text)
            assert str(raised.value.hint).startswith("tl.read_events(path)")


def test_tokens_picked_by_hand(tmp_path: Path) -> None:
    """Under the schedule `hand`, any token in flight may be next; under a named schedule, only that schedule's
    token."""
    path = tmp_path / "run.jsonl"
    fib.run(4, keep=path, schedule="random:5")
    text = path.read_text()
    path.write_text(text.replace('"schedule":"random:5"', '"schedule":"hand"'))
    assert tl.read_events(path).events == fib.run(4, keep="events", schedule="random:5").events
    path.write_text(text.replace('"schedule":"random:5"', '"schedule":"lifo"'))
    with pytest.raises(tl.Disagreement, match="differs from the machine: position"):
        tl.read_events(path)


@pytest.mark.parametrize("key", ["trap", "sent", "closed", "deferred", "woken", "throttled", "released"])
def test_absent_fields_have_no_key(tmp_path: Path, key: str) -> None:
    """Absent fields of an event have no key; null is rejected."""
    path = tmp_path / "run.jsonl"
    count.run(2, keep=path)
    lines = path.read_text().splitlines()
    number = next(n for n, line in enumerate(lines) if line.startswith('{"deliver"') and f'"{key}"' not in line)
    lines[number] = json.dumps({**json.loads(lines[number]), key: None})
    path.write_text("\n".join([*lines, ""]))
    with pytest.raises(tl.Malformed, match=rf"\$\.{key}"):
        tl.read_events(path)


WRITER = """
import sys
import tagloom as tl
from pathlib import Path

@tl.function
def count(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i < n, lambda i: i + 1, 0)[0]

count.run(1, engine=sys.argv[2], keep=None)
print("begun", flush=True)
count.run(10**9, engine=sys.argv[2], keep=Path(sys.argv[1]))
"""


@pytest.mark.full
@pytest.mark.parametrize(("engine", "name"), [("reference", "run.jsonl"), ("fast", "run.npz")])
def test_a_writer_that_is_killed_leaves_the_earlier_log(engine: str, name: str, tmp_path: Path) -> None:
    """A log gets its name when the run is over: a process that is killed before leaves the log of an earlier run as it
    was, and what it has written under the name of a partial log."""
    path = tmp_path / name
    fib.run(3, engine=engine, keep=path)
    earlier, partial = path.read_bytes(), partial_path(path)
    with subprocess.Popen([sys.executable, "-c", WRITER, path, engine], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None and child.stdout.readline() == "begun\n"
        deadline = time.monotonic() + 60
        while not (partial.exists() and partial.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.01)
        child.kill()
    assert path.read_bytes() == earlier
    assert partial.stat().st_size
    fib.run(4, engine=engine, keep=path)
    assert path.read_bytes() != earlier
    assert not partial.exists()


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_large_arrays_are_logged_in_base64(engine: str, tmp_path: Path) -> None:
    """A log has the bytes of arrays of more than 4,096 elements; a log with their digits is the same run."""

    def with_digits(form: dict[str, Any]) -> dict[str, Any]:
        if "shape" not in form or not isinstance(form.get("data"), str):
            return form
        return {**form, "data": [repr(x) if isnan(x) else x for x in read_value(JsonCursor(form)).tolist()]}

    path, halve, array = tmp_path / "run.jsonl", tl.function(lambda x: x / 2.0), np.array([0.5, nan, -0.0] * 1500)
    kept = halve.run(array, engine=engine, keep="events")
    for name in ("run.jsonl", "run.npz"):
        halve.run(array, engine=engine, keep=tmp_path / name)
    assert b"".join(log_lines(tmp_path / "run.npz")) == path.read_bytes()
    assert list(map(bits, tl.read_events(path).events)) == list(map(bits, kept.events))
    lines = [json.loads(line, object_hook=with_digits) for line in path.read_text().splitlines()]
    assert path.read_text().count('"data":"') == 14  # in each token, operand and result
    write(path, lines)
    assert list(map(bits, tl.read_events(path).events)) == list(map(bits, kept.events))


def test_large_texts_of_column_logs_are_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The texts of a page are deflated up to a limit, and stored beyond it. The log is the same."""
    halve, array, logs = tl.function(lambda x: x / 2.0), np.arange(5000.0), []
    for name, limit, method in (("small", 2**20, zipfile.ZIP_DEFLATED), ("large", 2**10, zipfile.ZIP_STORED)):
        monkeypatch.setattr(column_log, "LARGEST_DEFLATED_TEXTS", limit)
        halve.run(array, engine="fast", keep=tmp_path / f"{name}.npz")
        with zipfile.ZipFile(tmp_path / f"{name}.npz") as archive:
            infos = [info for info in archive.infolist() if info.filename.endswith("/texts/bytes.npy")]
        assert [info.compress_type for info in infos] == [method]
        logs.append(b"".join(log_lines(tmp_path / f"{name}.npz")))
    assert logs[0] == logs[1]


def test_an_array_in_several_events_is_converted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of a large array is kept for the next events, and is that of another array where its place in memory is
    taken."""
    conversions = []
    monkeypatch.setattr(event_log, "value_to_json_text", lambda value: conversions.append(value) or str(value.sum()))
    texts = event_log.RecentTexts()
    arrays = [np.full(event_log.LARGE_SIZE, float(number)) for number in range(event_log.MAX_RECENT_TEXTS + 1)]
    assert [texts(array) for array in arrays for _ in range(3)] == [str(array.sum()) for array in arrays for _ in "123"]
    assert len(conversions) == len(arrays)
    assert texts(arrays[0]) == "0.0" and len(conversions) == len(arrays) + 1
    assert all(
        texts(np.full(event_log.LARGE_SIZE, number)) == str(event_log.LARGE_SIZE * number) for number in range(9)
    )
