"""The fast machine on selected programs: nested loops and recursion, scalars of every dtype, arrays and handles; and
its store after a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.generators.effect_programs import Witness
from support.laws.fast_laws import SCHEDULES, RunOptionsSample, differences, start_fast_run
from support.programs.hand_written_graphs import counting_loop, sum_graph
from support.programs.papers import EXAMPLES, of_paper
from tagloom.core import dtypes
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.graph.validate import graph_problems
from tagloom.core.program.program import Program
from tagloom.core.text import parse
from tagloom.core.text.literals import parse_value
from tagloom.core.types import Type
from tagloom.core.value import admit
from tagloom.interp.engines.fast import futures
from tagloom.interp.engines.fast.layout import Register
from tagloom.interp.engines.fast.run import FastRun
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import admit_arguments
from tagloom.interp.function.function import argument_leaves

ROOT = Path(tl.__file__).resolve().parent
CORPUS = sorted(path.stem for path in (ROOT / "tests" / "corpus").glob("*.tl") if not path.stem.startswith("refused"))
OF_MODELS = (
    "sentiment_trees",
    "tree_lstm",
    "tree_rnn",
    "l2hmc",
    "net",
    "counter",
    "digits",
    "pipeline",
    "mnist",
    "measure",
)
"""Files whose programs belong to objects, or have state that one run leaves to the next."""
PAPERS = sorted(
    f"{path.parent.name}/{path.stem}"
    for path in EXAMPLES.glob("*/*.py")
    if path.stem not in OF_MODELS and "EXPECTED = " in path.read_text(encoding="utf-8")
)
SMALL = Limits(firings=5_000)


def paper(name: str) -> ModuleType:
    """A program of the papers as a module."""
    return of_paper(*name.split("/"))


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def total(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), 0, 0)[1]


@tl.function
def even(n: tl.int64) -> tl.bool:
    return tl.cond(n == 0, lambda: True, lambda: odd(n - 1))


@tl.function
def odd(n: tl.int64) -> tl.bool:
    return tl.cond(n == 0, lambda: False, lambda: even(n - 1))


@tl.function
def nested(n: tl.int64) -> tl.int64:
    """Calls in a loop in a loop in a call."""

    def outer(i: tl.int64, s: tl.int64) -> Any:
        inner = tl.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + fib(j) + j * i), 0, 0)[1]
        return i + 1, s + inner + tl.cond(i % 3 == 0, lambda: nested(i // 3), lambda: i)

    return tl.while_loop(lambda i, s: i < n, outer, 0, 0)[1]


@tl.function
def ackermann(m: tl.int64, n: tl.int64) -> tl.int64:
    def deeper() -> Any:
        return tl.cond(n == 0, lambda: ackermann(m - 1, 1), lambda: ackermann(m - 1, ackermann(m, n - 1)))

    return tl.cond(m == 0, lambda: n + 1, deeper)


@tl.function
def arrays(n: tl.int64, x: tl.Array[tl.float64, 3]) -> tl.Array[tl.float64, 3]:
    """Arrays through branches, loops and calls: kept, dropped, sent to several nodes and to none."""

    def step(i: tl.int64, a: tl.Array[tl.float64, 3], b: tl.Array[tl.float64, 3]) -> Any:
        result = tl.cond(i % 2 == 0, lambda: a + b, lambda: tl.cond(i > n, lambda: b, lambda: arrays(i - 2, b)))
        return i + 1, result, a

    return tl.while_loop(lambda i, a, b: i < n, step, 0, x, x * 0.5)[1]


@tl.function
def chain(n: tl.int64) -> tl.float64:
    """Cells whose handle passes loops and calls; every get comes before its put."""
    cells = tl.cells(n + 1, tl.float64)

    def fill(i: tl.int64) -> Any:
        tl.put(cells, i, tl.get(cells, i + 1) + tl.uniform())
        return (i + 1,)

    tl.while_loop(lambda i: i < n, fill, 0)
    tl.put(cells, n, 1.0)
    return read_back(cells, 0)


@tl.function
def read_back(cells: tl.Cells[tl.float64], at: tl.int64) -> tl.float64:
    return tl.cond(at > 2, lambda: tl.get(cells, 0), lambda: read_back(cells, at + 1))


VECTOR = np.array([1.0, -0.0, np.nan])
RUNS: list[tuple[tl.Function, tuple[Any, ...]]] = [
    (fib, (12,)),
    (fib, (0,)),
    (total, (300,)),
    (total, (0,)),
    (even, (101,)),
    (nested, (7,)),
    (ackermann, (2, 3)),
    (arrays, (9, VECTOR)),
    (chain, (20,)),
]
runs = pytest.mark.parametrize(
    ("function", "arguments"), RUNS, ids=[f"{function.name}-{arguments[0]}" for function, arguments in RUNS]
)


def check(graph: Graph, arguments: Sequence[Any], limits: Limits = SMALL, names: Sequence[str] = SCHEDULES) -> None:
    """The outcome under these schedules is the reference's."""
    admitted = admit_arguments(graph, arguments)
    for name in names:
        assert list(differences(graph, admitted, RunOptionsSample(name, limits))) == []


def finished_run(
    function: tl.Function, arguments: Sequence[Any], name: str = "fifo", limits: Limits | None = None
) -> FastRun:
    """A finished run."""
    run = start_fast_run(
        function.graph, admit_arguments(function.graph, arguments), name, limits or Limits(), Witness()
    )
    assert run.resume() is None
    return run


@pytest.mark.full(first=4)
@runs
def test_picked_programs(function: tl.Function, arguments: tuple[Any, ...]) -> None:
    """Loops, recursion, mutual recursion, nested in each other, arrays and cells end as on the reference, under every
    schedule, with and without bounds."""
    check(function.graph, arguments)
    admitted = admit_arguments(function.graph, arguments)
    for k in (1, 2, 7):
        for name in SCHEDULES:
            assert list(differences(function.graph, admitted, RunOptionsSample(name, SMALL, k=k))) == []


def test_graphs_written_by_hand() -> None:
    """Graphs that lowering never makes end as on the reference; one has the trip count of a loop as its result."""
    check(counting_loop([("trips", 1), ("last", 0)]), [9])
    check(sum_graph(), [3, 2**63 - 1])


@pytest.mark.full
@pytest.mark.parametrize("name", PAPERS)
def test_programs_of_the_papers(name: str) -> None:
    """Every quick run that a paper's file lists ends as on the reference, under `waves` and depth first."""
    for row in paper(name).EXPECTED:
        if row["size"] == "quick":
            function, *arguments = row["run"]
            of = getattr(paper(name), function)
            traced = of.trace(*arguments)
            given = admit_arguments(traced.graph, traced.all_arguments(argument_leaves(of, arguments)))
            graph, until, callbacks = traced.graph, row.get("until", "quiet"), traced.callbacks
            for schedule in ("waves", "lifo"):
                each = RunOptionsSample(schedule, SMALL, until, k=row.get("k"), callbacks=callbacks)
                assert list(differences(graph, given, each)) == []


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "row"),
    [(name, row) for name in PAPERS for row in paper(name).EXPECTED if row["size"] != "quick" and "k" not in row],
)
def test_large_programs_of_the_papers(name: str, row: dict[str, Any]) -> None:
    """Runs that take the reference minutes have the results and calls that the paper's file lists."""
    function, *arguments = row["run"]
    limits = Limits(firings=row.get("max_firings", 10**11), tokens=10**9)
    out = getattr(paper(name), function).run(*arguments, engine="fast", limits=limits, until=row.get("until", "quiet"))
    assert out.status == row.get("status", "Returned")
    assert (out.results[0] if out.has_single_result else out.results) == row["result"]
    if "calls" in row:
        assert out.activations() == row["calls"]


def of_the_corpus(file: str, most: int | None, limits: Limits, names: Sequence[str]) -> None:
    """Run this many cases of a corpus file."""
    document = parse((ROOT / "tests" / "corpus" / f"{file}.tl").read_text(encoding="utf-8"), f"{file}.tl")
    for case in [case for case in document.cases if case.kind not in ("refused", "breaks")][:most]:
        subject = document[case.name]
        graph = lower(subject) if isinstance(subject, Program) else subject
        if not graph_problems(graph):
            expected = graph.arguments[graph.hidden_count :]
            check(
                graph,
                [parse_value(text, of.type) for text, (_, of) in zip(case.arguments, expected, strict=True)],
                limits,
                names,
            )


def test_corpus() -> None:
    """The first case of every corpus file ends as on the reference."""
    for file in CORPUS:
        of_the_corpus(file, 1, Limits(firings=500), ("waves",))


@pytest.mark.heavy
@pytest.mark.parametrize("file", CORPUS)
def test_whole_corpus(file: str) -> None:
    """All cases of the corpus end as on the reference, under every schedule."""
    of_the_corpus(file, None, Limits(firings=20_000), SCHEDULES)


def passing(dtype: Any) -> Graph:
    """A value that passes a loop, calls and branches; and the results of its comparisons on the way."""

    def python(n: Any, x: Any) -> Any:
        def further() -> Any:
            return tl.while_loop(lambda i, a, same: i < 3, once, 0, x, True)[1:]

        def once(i: Any, a: Any, same: Any) -> Any:
            back, other = around(n - 1, a)
            return i + 1, tl.cond(i > 0, lambda: back, lambda: a), same & other & (back == x)

        return tl.cond(n <= 0, lambda: (x, x == x), further)

    python.__annotations__ = {"n": tl.int64, "x": dtype, "return": tuple[dtype, tl.bool]}
    around = tl.function(python)
    return around.graph


def edges(dtype: Any) -> list[Any]:
    """The values of a dtype whose bits are most easily lost."""
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind == "f":
        info = dtype.limits
        numbers = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, info.max, info.tiny, info.smallest_subnormal, 1 / 3]
        return [dtype.numpy.type(number) for number in numbers]
    low, high = dtype.range
    return sorted({low, low + 1, 0, 1, high - 1, high})


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("name", dtypes.BY_NAME)
def test_scalars_of_every_dtype(name: str) -> None:
    """Edge values of a dtype pass loops, calls and branches with every bit."""
    dtype = dtypes.BY_NAME[name]
    graph = passing(dtype)
    for value in edges(dtype):
        check(graph, [2, admit(value, Type(dtype))], names=("waves", "random:7"))


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize(("function", "arguments"), [(arrays, (9, VECTOR)), (chain, (20,)), (nested, (7,))])
def test_nothing_is_left(function: tl.Function, arguments: tuple[Any, ...], name: str) -> None:
    """After a run without residue, every object but literals and results is freed, and so are all tags and frames. The
    rows of the table of futures have numbers of objects."""
    run = finished_run(function, arguments, name)
    store, graph = run.store, function.graph
    literals, results = len(store.image.objects), sum(not o.is_scalar for o in result_types(graph))
    assert (run.store.live_tokens, int(store.registers[Register.OPEN_ACTIVATIONS])) == (0, 0)
    assert sum(value is not None for value in store.objects[literals:]) == results
    used = literals + results + len(store.futures)
    assert len(set(store.unused_objects)) == len(store.unused_objects) == len(store.objects) - used
    assert [tag for tag in store.tags if tag is not None] == []
    assert list(store.frames()) == []


def result_types(graph: Graph) -> list[Type]:
    return [graph.nodes[number].outputs[0].type for number in graph.results]


def test_waiting_arrays_can_be_inspected() -> None:
    """An array that waits for a partner that never comes can be inspected, and so can a deferred one."""

    @tl.function
    def stuck(x: tl.Array[tl.float64, 3]) -> tl.Array[tl.float64, 3]:
        cells = tl.cells(2, tl.Array[tl.float64, 3])
        return tl.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + tl.get(cells, 1)), 0, x)[1]

    run = run_to_residue(stuck, [np.array([1.0, 2.0, 3.0])])
    waiting = [each.value.tolist() for each in run.residue if isinstance(each.value, np.ndarray)]
    assert run.status == "Deadlocked" and waiting == [[1.0, 2.0, 3.0]] * len(waiting) and waiting


def run_to_residue(function: tl.Function, arguments: Sequence[Any]) -> tl.Outcome:
    check(function.graph, arguments)
    return function.run(*arguments, engine="fast")


@pytest.mark.full
def test_s11_a_long_loop_reuses_frames() -> None:
    """S11: a loop of a million trips reuses the frames of the open ones: few, even under a random schedule that lets
    its counter run ahead."""
    for name in SCHEDULES:
        run = finished_run(total, [1_000_000], name, Limits(firings=10**9))
        image = run.store.image
        assert (
            run.store.registers[Register.MEMORY_TOP]
            <= len(image.literals) + (32 if name == "random:7" else 4) * image.largest_frame
        ), name
        assert len(run.store.ring) <= 2048 * image.max_fanout
        assert int(run.store.result_words[0, 1]) == 1_000_000 * 999_999 // 2


@pytest.mark.full
def test_a_long_loop_reuses_slots_of_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop with one array in each trip uses no more slots than there are live arrays, and rows of futures."""
    monkeypatch.setattr(futures, "MAX_ROOM", futures.FIRST_ROOM)
    run = finished_run(arrays_in_a_loop, [5_000, VECTOR])
    assert len(run.store.futures) == futures.FIRST_ROOM
    assert len(run.store.objects) < 64 + 2 * futures.FIRST_ROOM and run.store.registers[Register.MEMORY_TOP] < 1_000


@tl.function
def arrays_in_a_loop(n: tl.int64, x: tl.Array[tl.float64, 3]) -> tl.Array[tl.float64, 3]:
    return tl.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 0.5 + x), 0, x)[1]


@pytest.mark.full
def test_a_long_loop_frees_its_tags() -> None:
    """Tag objects, made for draws, are freed with their activations."""

    @tl.function
    def drawing(n: tl.int64) -> tl.float64:
        return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + tl.uniform()), 0, 0.0)[1]

    assert len(finished_run(drawing, [3_000]).store.tags) < 64
