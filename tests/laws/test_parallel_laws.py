"""Several cores act as one: the laws of parallel runs hold on generated programs and on the corpus."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tagloom as tl
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.generators.effect_programs import act_cases
from support.generators.generator import Case, cases
from support.laws.fast_laws import LIMITS, comparable_fields
from support.laws.parallel_laws import (
    eager_requests,
    is_too_deep,
    order_independent_fields,
    parallel_violations,
    run_in_turns,
    turn_violations,
    wave_fields,
)
from support.observe.ctrl_c import default_ctrl_c, press_in_a_run
from support.observe.lateness import is_soon
from support.programs.parallel_programs import careless, fib, fragile, relayed, sums, tak, twice
from tagloom.core.errors import Usage
from tagloom.core.frontend.trace.pytree import flat_treedef
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.graph.validate import graph_problems
from tagloom.core.program.program import Program
from tagloom.core.text import parse
from tagloom.core.text.literals import parse_value
from tagloom.core.value import Value
from tagloom.interp.engines.fast.layout import ExitReason, Register
from tagloom.interp.engines.fast.load import MachineVariant
from tagloom.interp.engines.fast.parallel import run as module
from tagloom.interp.engines.fast.parallel.run import ParallelRun
from tagloom.interp.engines.fast.parallel.store import IDLE_SLEEP, MAX_IDLE_SLEEP, supports_parallel_run
from tagloom.interp.engines.fast.shared_memory import new_shared_words
from tagloom.interp.engines.limits import Limits, resident_memory
from tagloom.interp.engines.reference import first_state
from tagloom.interp.image.image import CACHE_LINE_WORDS, build_image
from tagloom.interp.machine.event import Token

pytestmark = pytest.mark.full  # the machine of several cores takes 21 s to compile

DICE = st.integers(0, 2**32 - 1).map(Random)
CORPUS = Path(__file__).parents[1] / "corpus"


def is_of_words(graph: Graph) -> bool:
    """Whether several cores can run a graph."""
    return supports_parallel_run(build_image(graph))


@settings(max_examples=5, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(cases().filter(lambda case: is_of_words(lower(case.program))), DICE)
def test_generated_programs(case: Case, dice: Random) -> None:
    """Cores that take turns in random order end a program as the reference does, with the same statistics."""
    for cores in (1, 3):
        assert [
            each for each in turn_violations(lower(case.program), case.arguments, cores, dice) if isinstance(each, str)
        ] == []


@pytest.mark.heavy
@settings(max_examples=80, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(cases().filter(lambda case: is_of_words(lower(case.program))), DICE)
def test_many_generated_programs(case: Case, dice: Random) -> None:
    """Cores that take turns end many more programs as the reference does, with more cores."""
    for cores in (1, 2, 3, 7):
        assert [
            each for each in turn_violations(lower(case.program), case.arguments, cores, dice) if isinstance(each, str)
        ] == []


@settings(max_examples=15, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(cases() | act_cases(), DICE)
def test_any_program(case: Case, dice: Random) -> None:
    """A program that several cores cannot run or end runs on one: its traps, limits, cells, effects and bounds are the
    reference's."""
    near = Limits(firings=dice.randrange(200)), Limits(firings=1_500, tokens=dice.randrange(40))
    limits = dice.choice((LIMITS, *near))
    with eager_requests():
        assert list(parallel_violations(lower(case.program), case.arguments, 2, limits)) == []


def of_the_corpus() -> Iterator[tuple[Graph, list[Value]]]:
    """The corpus programs of scalars, each with the arguments of its last case that has any."""
    for path in sorted(CORPUS.glob("*.tl")):
        document = parse(path.read_text(encoding="utf-8"), path.name)
        for case in [case for case in document.cases if case.kind not in ("refused", "breaks")][-1:]:
            subject = document[case.name]
            graph = lower(subject) if isinstance(subject, Program) else subject
            if not graph_problems(graph) and is_of_words(graph):
                expected = graph.arguments[graph.hidden_count :]
                yield (
                    graph,
                    [parse_value(text, of.type) for text, (_, of) in zip(case.arguments, expected, strict=True)],
                )


@pytest.mark.full
def test_corpus_programs() -> None:
    """Several cores end corpus programs as the reference does; a third of those with calls or loops donate
    activations."""
    limits, given = Limits(firings=4_000), []
    for number, (graph, arguments) in enumerate(of_the_corpus()):
        actual = list(turn_violations(graph, arguments, 3, Random(number), limits))
        assert [each for each in actual if isinstance(each, str)] == []
        if any(node.op in ("call", "enter") for node in graph.nodes):
            given.append(actual[0])
    assert len(given) > 20
    assert sum(count > 0 for count in given) > len(given) // 3


@pytest.mark.full
@pytest.mark.parametrize(
    ("function", "arguments"), [(fib, [9]), (tak, [6, 3, 1]), (sums, [5]), (relayed, [8])], ids=str
)
def test_any_turns_give_the_same_run(function: tl.Function, arguments: list[int]) -> None:
    """The run is the same for every number of cores and every length of turns, and donates many activations."""
    counts = []
    for seed in range(12):
        given, *actual = turn_violations(function.graph, arguments, 2 + seed % 4, Random(seed), Limits())
        assert actual == []
        counts.append(given)
    assert min(counts) > 0
    assert sum(counts) > 60


@pytest.mark.full
@pytest.mark.parametrize(("function", "arguments"), [(fib, [9]), (tak, [6, 3, 1]), (sums, [5]), (twice, [7])], ids=repr)
def test_states_between_turns_are_consistent(function: tl.Function, arguments: list[int]) -> None:
    """In the middle of a run, waiting tokens are tokens that the reference delivers, under the same tags, and the
    statistics count what has fired."""
    events = function.run(*arguments, engine="reference", keep="events").events
    delivered, around = {event.token for event in events}, 0
    for seed in range(20):
        run, given = run_in_turns(first_state(function.graph, arguments, "waves"), Limits(), 3, Random(seed), 12 * seed)
        run.end_reason = run.end_reason or "interrupt"
        out = run.outcome(flat_treedef(1))
        assert len(out.residue) == len(list(out.residue))
        assert {Token(*each[:4]) for each in out.residue} <= delivered
        assert out.firings == sum(out.stats.by_node) == sum(out.stats.profile or ())
        assert len({each.tag for each in out.residue}) <= out.open_activations
        if function in (fib, twice):  # whose calls have one argument
            fired = zip(function.graph.nodes, out.stats.by_node, strict=True)
            assert out.stats.activations_by_site == {
                node.site: count for node, count in fired if node.op == "call" and count
            }
        around += bool(given and out.residue)
    assert around > 3


def several(function: tl.Function, arguments: list[int], cores: int, **options: Any) -> ParallelRun:
    """A finished run on several threads."""
    state = first_state(function.graph, list(arguments), "waves")
    run = ParallelRun(state, options.pop("limits", Limits()), cores, **options)
    run.run_to_end()
    return run


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("cores", [2, 3, 8])
def test_concurrent_threads_give_one_result(cores: int) -> None:
    """Concurrent threads, more than the machine has cores, give the results of one thread, each time."""
    expected = [fib.run(17, engine="fast", cores=1), sums.run(12, engine="fast", cores=1)]
    for burst in (1, 3, 50, 700):
        for function, arguments, one in ((fib, [17], expected[0]), (sums, [12], expected[1])):
            run = several(function, arguments, cores, burst_tokens=burst, bursts_before_threads=0)
            assert run.end_reason == "quiet"
            assert comparable_fields(run.outcome(flat_treedef(1))) == comparable_fields(one)


@pytest.mark.full
def test_long_runs_are_shared() -> None:
    """Several cores share a long run, as the outcome says; one core does a short run alone."""
    out = fib.run(25, engine="fast", cores=2)
    assert (out.value, out.status, out.engine, out.cores) == (75_025, "Returned", "fast", 2)
    run = several(fib, [25], 2)
    assert min(int(store.registers[Register.FIRINGS]) for store in run.stores) > run.firings // 20
    assert fib.run(5, engine="fast", cores=2).cores == 1
    one = fib.run(25, engine="fast")
    expected_stats = replace(one.stats, largest_store=out.stats.largest_store, largest_flight=out.stats.largest_flight)
    assert out.stats == expected_stats


@tl.function
def failing(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 10 // (n - 1), lambda: failing(n - 1) + failing(n - 2))


@tl.function
def endless(n: tl.int64) -> tl.int64:
    """2**n loops at once that do not end."""
    loop = lambda: tl.while_loop(lambda i: i >= 0, lambda i: i * 0, n)[0]  # noqa: E731
    return tl.cond(n <= 0, loop, lambda: endless(n - 1) + endless(n - 1))


@tl.function
def late(n: tl.int64, at: tl.int64) -> tl.int64:
    """A tree of calls in which a leaf in the middle traps."""
    return tl.cond(n <= 0, lambda: 10 // (at - 1_500), lambda: late(n - 1, 2 * at) + late(n - 1, 2 * at + 1))


ENDINGS = pytest.mark.parametrize(
    ("function", "arguments", "limits", "status"),
    [
        (failing, [12], Limits(), "Trapped"),
        (late, [10, 1], Limits(), "Trapped"),
        (fib, [16], Limits(firings=10_000), "Exhausted"),
        (fib, [14], Limits(depth=9), "Exhausted"),
        (fib, [16], Limits(tokens=500), "Exhausted"),
        (endless, [3], Limits(firings=20_000), "Exhausted"),
    ],
    ids=["trap", "late trap", "firings", "depth", "tokens", "no end"],
)


@pytest.mark.full
@ENDINGS
def test_other_endings(function: tl.Function, arguments: list[int], limits: Limits, status: str) -> None:
    """A shared run that traps or reaches the limit on depth ends as a run on one core does, and is not run again. One
    with a limit on firings or tokens, which are exact, has one core from its beginning."""
    one = function.run(*arguments, engine="fast", limits=limits)
    with eager_requests() as runs, single_core_runs() as single:
        out = function.run(*arguments, engine="fast", cores=2, limits=limits)
    is_shared = limits == Limits(depth=limits.depth)
    assert [run.given > 0 for run in runs] == ([True] if is_shared else [])
    assert (out.status, out.cores, len(single)) == (status, 2 if is_shared else 1, 0 if is_shared else 1)
    expected = order_independent_fields(one)
    if is_shared and not is_too_deep(one):
        expected = wave_fields(one, function.graph, arguments, limits)
    assert order_independent_fields(out) == expected


@contextmanager
def single_core_runs() -> Iterator[list[object]]:
    """In this context, the list has an entry for each run that `run_on_cores` gives to one core."""
    runs: list[object] = []
    true = module.run_fast

    def run_fast(*arguments: Any, **options: Any) -> Any:
        runs.append(options)
        return true(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "run_fast", run_fast)
        yield runs


@pytest.mark.full
@pytest.mark.parametrize(
    ("function", "arguments", "limits"),
    [
        (failing, [7], Limits()),
        (fragile, [8], Limits()),
        (careless, [7], Limits()),
        (late, [6, 24], Limits()),
        (fib, [9], Limits(depth=6)),
        (fragile, [8], Limits(depth=5)),
        (sums, [4], Limits(depth=2)),
    ],
    ids=["all leaves trap", "many trap", "calls that trap return", "one traps", "depth", "traps and depth", "loops"],
)
def test_other_endings_of_turns(function: tl.Function, arguments: list[int], limits: Limits) -> None:
    """Traps and the limit on depth end a parallel run as they end the reference, whichever cores reach them: with the
    same traps, in program order, the same statistics, residue and open activations."""
    counts = []
    for seed in range(8):
        given, *actual = turn_violations(function.graph, arguments, 2 + seed % 4, Random(seed), limits)
        assert actual == []
        counts.append(given)
    assert sum(counts) > 8


@pytest.mark.full
@pytest.mark.parametrize(("limit", "function", "argument"), [("seconds", fib, 40), ("bytes", endless, 3)])
def test_s12_limits_end_a_shared_run(limit: str, function: tl.Function, argument: int) -> None:
    """S12: limits on seconds and bytes end a shared run, whose outcome has its firings and residue up to then."""
    began = time.monotonic()
    ends = {"seconds": 0.3} if limit == "seconds" else {"bytes": resident_memory() + 2**26}
    with eager_requests() as runs:
        out = function.run(argument, engine="fast", cores=3, limits=Limits(**ends))  # type: ignore[arg-type]
    assert time.monotonic() - began < 60
    assert (out.status, out.error.limit, out.cores) == ("Exhausted", limit, 3)  # type: ignore[union-attr]
    assert runs[0].given > 0
    assert out.firings == sum(out.stats.by_node) == sum(out.stats.profile)  # type: ignore[arg-type]
    assert out.firings > 1_000
    assert len(out.residue) == len(list(out.residue))
    assert all(each.tag.depth <= out.stats.deepest_tag for each in out.residue)


def running_cores() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "tagloom core"]


@pytest.mark.full
def test_ctrl_c_ends_all_cores() -> None:
    """Ctrl-C ends all cores within 0.2 s; the outcome has what was done by then."""

    def seconds_late() -> float:
        with default_ctrl_c():
            pressed = press_in_a_run(0.2)
            out = fib.run(45, engine="fast", cores=2)
            late = time.perf_counter() - pressed[0]
        assert (out.status, out.error.limit, out.cores) == ("Exhausted", "interrupt", 2)  # type: ignore[union-attr]
        assert out.firings == sum(out.stats.by_node) > 0
        assert not running_cores()
        return late

    fib.run(5, engine="fast", cores=2)
    assert is_soon(seconds_late, 0.2)


def press_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send Ctrl-C when the first core has ended."""
    true = ParallelRun.run_bursts

    def work(self: ParallelRun, store: Any, bursts: int) -> None:
        true(self, store, bursts)
        if self.end_reason is not None and store is self.stores[0]:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ParallelRun, "run_bursts", work)


def test_ctrl_c_when_cores_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C that arrives when the run is quiescent is raised."""
    press_at_the_end(monkeypatch)
    with default_ctrl_c(), pytest.raises(KeyboardInterrupt):
        fib.run(5, engine="fast", cores=2)


@pytest.mark.full
def test_idle_cores_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """An idle core sleeps for longer and longer times: a single loop has nothing to donate."""
    slept: dict[str, list[float]] = {}
    true = time.sleep

    def sleep(seconds: float) -> None:
        slept.setdefault(threading.current_thread().name, []).append(seconds)
        true(seconds)

    monkeypatch.setattr(time, "sleep", sleep)
    run = several(endless, [0], 2, bursts_before_threads=0, limits=Limits(seconds=0.3))
    assert run.end_reason == "seconds"
    assert slept["tagloom core"][:2] == [IDLE_SLEEP, 2 * IDLE_SLEEP]
    assert max(slept["tagloom core"]) == MAX_IDLE_SLEEP


def test_a_run_continues_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run continues with the threads that it gets if the system starts fewer than requested, or none."""
    true, begun = threading.Thread.start, []

    def start(self: threading.Thread) -> None:
        begun.append(self)
        if len(begun) > 1:
            raise RuntimeError("can't start new thread")
        true(self)

    monkeypatch.setattr(threading.Thread, "start", start)
    for cores in (2, 1):
        run = several(fib, [17], 3, bursts_before_threads=0)
        assert run.end_reason == "quiet"
        out = run.outcome(flat_treedef(1))
        assert (out.results, out.cores) == ((1597,), cores)


@pytest.mark.full
def test_no_core_donates_to_itself() -> None:
    """No core donates an activation to itself; one could that gets work after it has requested some."""
    for seed in range(20):
        run, _ = run_in_turns(first_state(tak.graph, [6, 3, 1], "waves"), Limits(), 3, Random(seed))
        written = run.shared_words.reshape(-1, CACHE_LINE_WORDS)[4 : 4 + 2 * 9, 0].reshape(3, 3, 2)
        assert written.any()
        assert not written.diagonal().any()


def test_arrays_grow_before_they_are_full() -> None:
    """Arrays grow first if there is room for only a few more steps, since short bursts are slower."""
    run = ParallelRun(first_state(fib.graph, [9], "waves"), Limits(), 1)
    store = run.stores[0]
    store.registers[Register.WAVES] = len(store.profile) - 100
    assert (
        ExitReason(module.load_machine(MachineVariant.MULTICORE)(store.address_table(), 1, store.image.header_words))
        is ExitReason.ARRAY_FULL
    )
    assert not store.has_room()


@pytest.mark.parametrize("cores", [1, 2, 5, 64])
def test_shared_words_begin_at_cache_lines(cores: int) -> None:
    """The shared words of each core begin at a cache line."""
    assert new_shared_words(cores, 1).ctypes.data % (8 * CACHE_LINE_WORDS) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cores": 0}, "from 1 to 64"),
        ({"cores": 65}, "from 1 to 64"),
        ({"cores": True}, "from 1 to 64"),
        ({"cores": "2"}, "from 1 to 64"),
        ({"cores": 2, "engine": "auto"}, "engine='fast'"),
        ({"cores": 2, "schedule": "lifo"}, "schedule='waves'"),
        ({"cores": 2, "until": "result"}, "until='quiet'"),
        ({"cores": 2, "keep": "events"}, "keep=None"),
    ],
)
def test_unsupported_options_are_refused(options: dict[str, Any], message: str) -> None:
    """Options that several cores do not support are refused before the run begins."""
    with pytest.raises(Usage, match=message):
        fib.run(5, **{"engine": "fast", **options})


def test_an_exception_in_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception in a thread is raised, and no thread remains."""

    def fails(self: Any) -> None:
        raise RuntimeError("of a thread")

    run = ParallelRun(first_state(fib.graph, [30], "waves"), Limits(), 2, bursts_before_threads=0)
    monkeypatch.setattr(
        ParallelRun, "run_bursts", lambda self, store, bursts: fails(self) if store is self.stores[1] else None
    )
    with pytest.raises(RuntimeError, match="of a thread"):
        run.run_to_end()
    assert not running_cores()
