"""Outcomes as JSON documents, for other programs to read."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generators.generator import Case, cases
from support.generators.graph_edits import EDITS
from support.generators.json_edits import EVERY, fib, quotients
from support.laws.machine_laws import LIMITS
from support.programs.hand_written_graphs import stuck
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.interp.records import documents
from tagloom.interp.records.documents import final_record, outcome_differences, to_outcome_record


def through_text(document: Any) -> Any:
    return json.loads(json.dumps(document, allow_nan=False))


@pytest.mark.parametrize("schedule", ["waves", "lifo"])
@pytest.mark.parametrize(("graph", "arguments"), EVERY, ids=[f"{graph.name}{n}" for n, (graph, _) in enumerate(EVERY)])
def test_outcomes_survive_a_round_trip(graph: Graph, arguments: list[Any], schedule: str) -> None:
    """An outcome of every ending is read as its record, and written again unchanged."""
    outcome = tl.run_graph(graph, arguments, schedule=schedule, unchecked=True)
    document = through_text(tl.to_json(outcome))
    again = tl.from_json(document)
    assert isinstance(again, tl.OutcomeRecord)
    assert again == to_outcome_record(outcome)
    assert tl.to_json(again) == document


@given(cases(), st.sampled_from(EDITS), st.integers(0, 2**32))
@settings(max_examples=25)
def test_generated_outcomes_survive_a_round_trip(case: Case, edit: Any, seed: int) -> None:
    """Outcomes of generated programs, and of their graphs after edits that break rules, survive a round trip."""
    whole = lower(case.program)
    for graph in (whole, edit(random.Random(seed), whole)):
        try:
            outcome = tl.run_graph(graph, case.arguments, limits=LIMITS, unchecked=True)
        except (tl.Invalid, tl.Usage):
            continue
        assert tl.from_json(through_text(tl.to_json(outcome))) == to_outcome_record(outcome)


def test_a_trap_has_fields() -> None:
    """A trap has a node, tag, message, operands and source line; its tag is in the document's table."""
    document = tl.to_json(quotients.run(3))
    (trap,) = document["traps"]
    assert (document["status"], trap["name"], trap["message"]) == (
        "Trapped", "quotients.floor_divide", "integer division by zero",
    )  # fmt: skip
    assert trap["operands"] == [{"dtype": "int64", "data": 6}, {"dtype": "int64", "data": 0}]
    assert document["tags"][trap["tag"] - 1] == [0, 0, 1], "iteration 1 of the only loop, below the root"
    assert document["sites"] == [{"function": "quotients", "name": "loop", "kind": "loop"}]
    assert trap["where"]["file"].endswith("json_edits.py")
    assert trap["words"] == document["error"]["words"] and "in iteration 1 of" in trap["words"]


def test_residue_has_fields() -> None:
    """The residue of a deadlock has node, port, tag and value of each token."""
    outcome = tl.run_graph(stuck(), [1], unchecked=True)
    document = tl.to_json(outcome)
    assert document["status"] == "Deadlocked"
    assert document["residue"] == [[2, 0, 0, {"dtype": "int64", "data": 1}]]
    assert document["error"]["rule"] == "S12"


@pytest.mark.full
def test_deep_residue_is_written_in_linear_size() -> None:
    """A deep recursion that a limit ends leaves a token under each tag; tags are written as links."""

    @tl.function
    def down(n: tl.int64) -> tl.int64:
        return tl.cond(n <= 0, lambda: n, lambda: n + down(n - 1))

    out = down.run(10**6, limits=tl.Limits(depth=4_000))
    text = json.dumps(tl.to_json(out))
    assert len(out.residue) >= 4_000 and len(text) < 150 * len(out.residue) + 200_000
    assert tl.from_json(text) == to_outcome_record(out)


def test_firings_by_name() -> None:
    """The statistics are those of the outcome. If two nodes of an invalid graph have one name, the second gets a
    number."""
    out = fib.run(4)
    stats = tl.to_json(out)["stats"]
    assert stats["by_node"] == {str(node): n for node, n in zip(out.graph.nodes, out.stats.by_node, strict=True)}
    builder = tl.GraphBuilder("twice")
    x = builder.argument("x", tl.Type(tl.int64))
    results = [builder.node("identity", "y", [x], [tl.Type(tl.int64)], function=f)[0] for f in ("twice", "twice.y")]
    graph = builder.build(results)
    names = tl.to_json(tl.run_graph(graph, [1], unchecked=True))["stats"]["by_node"]
    assert len(names) == len(graph.nodes)


def test_unknown_fields_are_no_difference() -> None:
    """Records are compared in the fields that both know; messages and names of engines do not count."""
    mine = to_outcome_record(fib.run(5))
    document = tl.to_json(fib.run(5))
    unknown = {"firings": None, "stats": None, "traps": None, "residue": None, "open_activations": None, "engine": None}
    document.pop("value")
    theirs = tl.from_json({**document, **unknown})
    assert isinstance(theirs, tl.OutcomeRecord)
    assert list(outcome_differences(mine, theirs)) == []
    wrong = tl.from_json({**document, "results": [{"dtype": "int64", "data": 4}], "firings": 3})
    assert isinstance(wrong, tl.OutcomeRecord)
    assert [key for key, _, _ in outcome_differences(mine, wrong)] == ["results[0]", "firings"]


def test_endings_are_compared() -> None:
    """The ending, the schedule, and the rule of an error count; the words of an error do not."""
    mine, document = to_outcome_record(quotients.run(3)), tl.to_json(quotients.run(3))
    for key, wrong, text in [
        ("status", "Exhausted", ("status", '"Trapped"', '"Exhausted"')),
        ("schedule", "lifo", ("schedule", '"waves"', '"lifo"')),
        ("error", None, ("error", '"S5"', "nothing")),
        ("error", {"rule": "S12", "message": "", "words": None}, ("error.rule", '"S5"', '"S12"')),
    ]:
        theirs = tl.from_json({**document, key: wrong})
        assert isinstance(theirs, tl.OutcomeRecord)
        assert list(outcome_differences(mine, theirs)) == [text]
    unsaid = tl.from_json({**document, "error": {"rule": None, "message": "it failed", "words": "really"}})
    assert isinstance(unsaid, tl.OutcomeRecord) and list(outcome_differences(mine, unsaid)) == []


def test_differences_are_printed_as_json() -> None:
    """The message names the entry that differs, in the form of the document, with its tag as a path."""
    for run, key, change, text in [
        (fib.run(5), "results", lambda value: value | {"data": 4},
         ("results[0]", '{"dtype":"int64","data":5}', '{"dtype":"int64","data":4}')),
        (tl.run_graph(stuck(), [1], unchecked=True), "residue", lambda row: [*row[:3], {"dtype": "int64", "data": 2}],
         ("residue[0]", '[2,0,"main",{"dtype":"int64","data":1}]', '[2,0,"main",{"dtype":"int64","data":2}]')),
    ]:  # fmt: skip
        document = tl.to_json(run)
        theirs = tl.from_json({**document, key: [change(document[key][0])]})
        assert isinstance(theirs, tl.OutcomeRecord)
        assert list(outcome_differences(to_outcome_record(run), theirs)) == [text]
    document = tl.to_json(quotients.run(3))
    (trap,) = document["traps"]
    theirs = tl.from_json({**document, "traps": [trap | {"message": "too hot", "words": "no"}]})
    assert isinstance(theirs, tl.OutcomeRecord)
    ((key, required, got),) = outcome_differences(to_outcome_record(quotients.run(3)), theirs)
    assert key == "traps[0]" and json.loads(got) | {"message": "integer division by zero"} == json.loads(required)
    assert json.loads(got)["tag"] == "main/loop[1]"


@pytest.mark.parametrize(
    ("change", "where", "got"),
    [
        ({"tags": [[0, 0, 0], [0, 0, 0]]}, "$.tags[1]", "that of number 1 again"),
        ({"sites": [{"function": "f", "name": "g", "kind": "loop"}] * 2}, "$.sites[1]", "that of number 0 again"),
        ({"tags": [[1, 0, 0]]}, "$.tags[0][0]", "1"),
        ({"tags": [[0, 1, 0]]}, "$.tags[0][1]", "1"),
        ({"tags": [[0, 0, -1]]}, "$.tags[0][2]", "-1"),
        ({"tags": [[0, 0, True]]}, "$.tags[0][2]", "true"),
        ({"tags": [[0, 0]]}, "$.tags[0]", "a list of 2"),
    ],
)
def test_tables_of_tags(change: dict[str, Any], where: str, got: str) -> None:
    """Each site and each tag is listed once, and refers to earlier entries only."""
    document = tl.to_json(fib.run(2)) | {"sites": [{"function": "f", "name": "g", "kind": "loop"}]} | change
    with pytest.raises(tl.Malformed) as raised:
        tl.from_json(document)
    assert (raised.value.where, raised.value.got) == (where, got)


def test_plain_values() -> None:
    """`value` is for people: the results without dtypes, and words for values that JSON lacks."""

    @tl.function
    def same(v: tl.Array[tl.float32, None]) -> tl.Array[tl.float32, None]:
        return v + v

    document = tl.to_json(same.run(np.array([0.5, np.inf, np.nan], np.float32)))
    assert document["value"] == [[1.0, "inf", "nan"]]
    assert document["results"] == [{"dtype": "float32", "shape": [3], "data": [1.0, "inf", "nan"]}]


def test_a_large_residue_is_left_out_where_the_run_must_end_soon() -> None:
    """After Ctrl-C, and after a limit on seconds or bytes, the record has the number of many tokens in place of them;
    after a number of firings, which is the same in each run, it has them all."""
    outcome = fib.run(20, schedule="lifo", limits=tl.Limits(firings=100))
    error: Any = outcome.error
    count = len(outcome.residue)
    for limit, bound, is_whole in (
        ("interrupt", count, True), ("interrupt", count - 1, False), ("seconds", count - 1, False),
        ("bytes", count - 1, False), ("firings", count - 1, True),
    ):  # fmt: skip
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(documents, "MAX_LATE_RESIDUE", bound)
            patch.setattr(error, "limit", limit)
            record = final_record(outcome)
        document = through_text(tl.to_json(record))
        assert tl.from_json(document) == record
        if is_whole:
            assert len(document["residue"]) == count and "residue_size" not in document
        else:
            assert document["residue"] is None and document["residue_size"] == count
