"""Graphs with dead tokens do what TensorFlow's executor does."""

from __future__ import annotations

import json
import random
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from attack.command_line import run_words
from support.generators.frame_graphs import FrameGraph
from support.generators.gated_graphs import SMALL, GatedGraph, encoded, small_text
from support.programs.tensorflow_graphs import FRAMES
from tagloom.core.graph.validate import graph_problems
from tagloom.core.types import DeadTokenValue
from tagloom.interp.engines.registry import find_engine
from tagloom.interp.exchange.tensorflow.text_format import parse_text
from tagloom.interp.machine import dead_tokens
from tagloom.viz.player.live import unsupported_reason

MODELS = Path(__file__).parents[4] / "docs" / "models"
ROOT = MODELS / "root.pbtxt"
WORKER = Path(__file__).parents[3] / "support" / "programs" / "session_worker.py"


def graph_of(text: str, outputs: list[str], inputs: list[str] | None = None) -> tl.Graph:
    """The graph with dead tokens of a GraphDef as text."""
    return tl.executor_graph(encoded(parse_text(text, "GraphDef")), inputs=inputs or ["x", "p"], outputs=outputs)


def small(*nodes: str, output: str = "y") -> tl.Graph:
    """The graph of x, a float32, p, a bool, and nodes, written NAME = OP(INPUTS)."""
    return graph_of(small_text(*nodes), [output])


def result_of(graph: tl.Graph, *arguments: Any, **options: Any) -> float | str:
    """The result, or "dead" or "race"; raises AssertionError if the run ends in another way."""
    outcome = tl.run_graph(graph, arguments, limits=tl.Limits(firings=20_000), **options)
    if outcome.status == "Returned":
        return float(outcome.results[0])
    assert outcome.status == "Trapped", outcome
    assert "a race" in str(outcome.error) or "does not have value" in str(outcome.error)
    return "race" if "a race" in str(outcome.error) else "dead"


def test_a_dead_result() -> None:
    """The error says which result is missing, at which Switch its token died, and what the predicate was."""
    outcome = tl.run_graph(tl.executor_graph(ROOT), [np.float32(-4)])
    assert outcome.results[0] == np.exp(np.float32(4)) and outcome.missing == (1,)
    words = (
        "result 1 has no value: the predicate of root.choice (root.pb:4) was false under main, so its output 1 was dead"
    )
    assert f"{words} (TensorFlow: Retval[1] does not have value)" in str(outcome.error)
    assert tl.run_graph(tl.executor_graph(ROOT), [np.float32(1)]).results == (np.float32(np.e), np.float32(0))


def test_why_leads_to_the_switch() -> None:
    """`why` of a dead firing names the Switch, with its predicate; the same run steps back to its first state."""
    history = tl.History(tl.executor_graph(ROOT), [np.float32(-4)])
    first = history.state.snapshot()
    history.run()
    answer = history.ask.tree("log")
    assert "dead_switch float32(-4.0), false -> float32(-4.0), dead, from root.choice:1 under main" in answer
    last = history.state.snapshot()
    assert history.jump(0).snapshot() == first and history.jump(len(history)).snapshot() == last


RACES: dict[str, tuple[tuple[str, ...], str]] = {
    "two values": (("a = Neg(x)", "y = Merge(x, a)"), "float32(1.0) from argument x and float32(-1.0) from graph.a"),
    "a Switch itself is not dead": (
        ("s = Switch(x, p)", "a = Neg(x, ^s)", "b = Neg(s:1)", "y = Merge(a, b)"),
        "float32(-1.0) from graph.a and float32(-1.0) from graph.b",
    ),
}


@pytest.mark.parametrize("name", RACES)
def test_a_race_names_both_tokens(name: str) -> None:
    """Two live tokens at a Merge trap, with both values and the nodes that sent them."""
    nodes, words = RACES[name]
    error = str(tl.run_graph(small(*nodes), [np.float32(1), True]).error)
    assert f"a race: 2 live values come to graph.y: {words}; TensorFlow returns either" in error


@pytest.mark.parametrize("schedule", ["waves", "fifo", "lifo", "random:5"])
def test_frames(schedule: str) -> None:
    """A loop with a conditional in it computes, under each schedule, what TensorFlow computes; dead tokens of the last
    iteration end it, and nothing is left."""
    outcome = tl.run_graph(tl.executor_graph(FRAMES, outputs=["steps"]), [np.int32(6)], schedule=schedule)
    assert outcome.results == (8,) and not outcome.residue and not outcome.open_activations


def check_gated_graphs(count: int, seed: int) -> Counter[str]:
    """Raises if a random graph of Switches, Merges and control edges does not do what the rules say."""
    found, dice = Counter[str](), random.Random(seed)
    for _ in range(count):
        gated = GatedGraph(dice)
        text = SMALL + 'node { name: "q" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } } }\n'
        for name, op, inputs, controls in gated.nodes:
            words = " ".join(f'input: "{each}"' for each in [*inputs, *(f"^{each}" for each in controls)])
            text += f'node {{ name: "{name}" op: "{op}" {words} }}\n'
        graph = graph_of(text, [gated.result], ["x", "p", "q"])
        for number in range(4):
            p, q = bool(number & 1), bool(number & 2)
            try:
                expected = gated.execute(3.0, p, q)
            except RuntimeError:
                expected = "race"  # type: ignore[assignment]
            assert result_of(graph, np.float32(3), p, q) == ("dead" if expected is None else expected), gated.nodes
            found["dead" if expected is None else "race" if expected == "race" else "live"] += 1
    return found


@pytest.mark.full
def test_random_graphs_of_switches() -> None:
    """Values, dead results and races are those of the executor's rules."""
    found = check_gated_graphs(60, 3)
    assert min(found["live"], found["dead"], found["race"]) > 20, found


BREAKS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "a Switch sends to the wrong side": lambda patch: patch.setattr(
        dead_tokens, "switch_outputs", swap_outputs(dead_tokens.switch_outputs)
    ),
    "ops ignore dead operands but the first": lambda patch: patch.setattr(
        dead_tokens, "first_dead", lambda inputs: inputs[0] if isinstance(inputs[0], DeadTokenValue) else None
    ),
    "a Merge passes on what comes on port 0": lambda patch: patch.setattr(
        dead_tokens, "merge_outputs", lambda inputs, tag: ((0, inputs[0]), (1, np.int32(0)))
    ),
    "a race is no error": lambda patch: patch.setattr(dead_tokens, "describe_race", lambda *_: None),
}


def swap_outputs(outputs: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: tuple((1 - output, value) for output, value in outputs(*arguments))


@pytest.mark.full
@pytest.mark.parametrize("name", BREAKS)
def test_broken_rules_are_detected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules with one fault fail the law on random graphs."""
    BREAKS[name](monkeypatch)
    with pytest.raises((AssertionError, AttributeError, TypeError, tl.TagloomError)):
        check_gated_graphs(60, 3)


@pytest.mark.full
def test_random_frames_under_each_schedule() -> None:
    """The outcome of a random graph with frames does not depend on the schedule; iterations end, and the graph keeps
    the rules of its form."""
    found = Counter[str]()
    for seed in range(12):
        frames = FrameGraph(random.Random(seed))
        graph = graph_of(frames.text, frames.fetches[:1], ["x", "p", "q"])
        assert not graph_problems(graph)
        expected = result_of(graph, np.float32(3), True, False)
        for schedule in ("fifo", "lifo", "random:1"):
            assert result_of(graph, np.float32(3), True, False, schedule=schedule) == expected
        found[expected if isinstance(expected, str) else "live"] += 1
    assert found["live"] and found["dead"], found


def session_results(worker: subprocess.Popen[str], frames: FrameGraph, runs: list[list[Any]]) -> list[Any]:
    """What a session of TensorFlow returns; raises TimeoutError if that takes a minute."""
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(json.dumps({"text": frames.text, "runs": runs}) + "\n")
    worker.stdin.flush()
    if not select.select([worker.stdout], [], [], 60)[0]:
        worker.kill()
        raise TimeoutError
    results: list[Any] = json.loads(worker.stdout.readline())
    return results


@pytest.fixture
def worker() -> Iterator[subprocess.Popen[str]]:
    """A process with TensorFlow that runs graphs."""
    words = [sys.executable, str(WORKER)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@pytest.mark.heavy
@pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed")
def test_random_frames_in_a_session(worker: subprocess.Popen[str]) -> None:
    """200 random graphs with Switches, Merges and nested frames: the same values as in a session of TensorFlow, and the
    same dead results. A race has no expected result."""
    found = Counter[str]()
    for seed in range(200):
        frames = FrameGraph(random.Random(seed))
        runs = [[fetch, 3.0, p, bool(seed & 1)] for fetch in frames.fetches for p in (False, True)]
        for (fetch, x, p, q), expected in zip(runs, session_results(worker, frames, runs), strict=True):
            graph = graph_of(frames.text, [fetch], ["x", "p", "q"])
            result = result_of(graph, np.float32(x), p, q)
            assert result in (expected, "race"), (seed, fetch, p, q)
            found[result if isinstance(result, str) else "live"] += 1
    assert found["live"] > 400 and found["dead"] > 150, found


@pytest.mark.parametrize("engine", ["fast", "distributed", "cuda"])
def test_other_engines_refuse(engine: str) -> None:
    """Only the reference has dead tokens, and `auto` takes it; nor has the machine of live pages any."""
    from tagloom.interp.engines.protocol import Job, RunOptions
    from tagloom.interp.engines.reference import default_structure
    from tagloom.interp.engines.registry import run

    graph = tl.executor_graph(ROOT)
    job = Job(graph, default_structure(graph))
    if find_engine(engine).unsupported(job, RunOptions()) is not None:
        with pytest.raises(tl.Usage, match="only the reference has dead tokens"):
            run(job, [np.float32(1)], RunOptions(), engine)
    assert run(job, [np.float32(1)], RunOptions(), "auto").engine == "reference"
    assert unsupported_reason(graph) == "its machine has no dead tokens, which this graph sends"


def test_a_log_has_dead_tokens(tmp_path: Path) -> None:
    """A log is replayed with its dead tokens; the text form and JSON say the same graph."""
    graph, path = tl.executor_graph(ROOT), tmp_path / "run.jsonl"
    tl.run_graph(graph, [np.float32(-4)], keep=path)
    assert '{"dead":{"node":1,"output":1,"tag":[]}}' in path.read_text()
    history = tl.History.load(path)
    history.run()
    assert "root.choice:1" in history.ask.tree("log")
    assert tl.from_json(tl.to_json(graph)) == graph


REFUSALS: dict[str, tuple[tuple[str, ...], str]] = {
    "an effect": (("y = Print(x)",), "Print does not run with dead tokens"),
    "a cycle": (("a = Add(x, y)", "y = Neg(a)"), "a cycle that is not a loop"),
    "no output": (("y = Neg(x:1)",), "has no output 1"),
    "a loop without an Enter": (
        ("n = NextIteration(y)", "y = Merge(x, n)"), "Merge y does not begin a loop variable"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    """Errors for graphs without a meaning, and for ops that do more than compute, name the node."""
    nodes, words = REFUSALS[name]
    with pytest.raises(tl.TagloomError, match=words):
        small(*nodes)


def test_commands(tmp_path: Path) -> None:
    """The commands take FILE:executor; the graph at a moment shows where tokens died, as dashed boxes."""
    target = f"{ROOT}:executor"
    assert run_words(["run", target, "4.0"])[:2] == (0, "float32(7.389056)\nfloat32(0.6931472)\n")
    picture = tmp_path / "root.svg"
    assert run_words(["show", target, "--at", "5", "-o", str(picture), "--", "-4.0"]).code == 0
    assert "† choice:1" in picture.read_text()
