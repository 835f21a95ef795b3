"""The events that the fast machine keeps: all, the last ones, or log lines, with storage that is reused."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.observe.ctrl_c import ctrl_c_after
from support.observe.event_bits import bits
from tagloom.core import dtypes
from tagloom.core.text import parse
from tagloom.interp.engines import auto, protocol
from tagloom.interp.engines.fast import load, store
from tagloom.interp.engines.fast.events import JournalReader, LastEventKeeper, StreamingKeeper
from tagloom.interp.engines.fast.layout import Register
from tagloom.interp.engines.fast.run import FastRun, RunMonitor
from tagloom.interp.engines.fast.stops import StopConditions
from tagloom.interp.engines.fast.store import TokenStore
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import drive, first_state
from tagloom.interp.engines.registry import run as run_job
from tagloom.interp.machine.event import Event
from tagloom.interp.machine.schedule import schedule
from tagloom.interp.records import documents
from tagloom.interp.records.event_sink import LOG_SUFFIXES, log_lines

SCHEDULES = ("waves", "fifo", "lifo", "random:3")


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def deep(n: tl.int64, late: tl.int64) -> tl.int64:
    return tl.cond(n < 1, lambda: 0, lambda: deep(n - 1, late))


@tl.function
def cascade(n: tl.int64) -> tl.int64:
    """All calls have returned long before an unused value reaches the innermost one: then all close at once."""
    return deep(n, tl.while_loop(lambda i: i < 20 * n, lambda i: i + 1, 0)[0])


@tl.function
def arrays(n: tl.int64) -> tl.Array[tl.float64, 3]:
    return tl.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 0.5 + 1.0), 0, np.ones(3))[1]


@tl.function
def fading(a: tl.Array[tl.float64, 2**17], n: tl.int64) -> tl.float64:
    return tl.sum(tl.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 0.5 + 1.0), 0, a)[1])


@tl.function
def fading_any(a: tl.Array[tl.float64, None], n: tl.int64) -> tl.float64:
    return tl.sum(tl.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 0.5 + 1.0), 0, a)[1])


@tl.function
def deferring(n: tl.int64) -> tl.int64:
    """A loop with deferred gets, which also traps and draws."""
    cells = tl.cells(n, tl.int64)

    def body(i: tl.int64, s: tl.float64) -> Any:
        return i + 1, s + tl.uniform() + tl.astype(tl.get(cells, i), tl.float64) + tl.astype(12 // (i - 7), tl.float64)

    tl.while_loop(lambda i, s: i < n, body, 0, 0.0)
    return tl.while_loop(lambda i: i < n, lambda i: (tl.put(cells, i, i * i), i + 1)[1:], 0)[0]


def grumbling(n: int) -> int:
    if n > 20:
        raise ValueError('"no"\nand ü')
    return -n


@tl.function
def asking(n: tl.int64) -> tl.int64:
    ask = lambda i: tl.callback(grumbling, i, returns=tl.int64)  # noqa: E731
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s * 0 + ask(i)), 1, 0, parallel_iterations=2)[1]


PROGRAMS = [(fib, 9), (cascade, 15), (arrays, 20), (deferring, 12), (asking, 24)]


def lines_of(events: Sequence[Event]) -> list[Any]:
    return list(map(bits, events))


@pytest.fixture(params=[pytest.param(0, marks=pytest.mark.heavy), store.PAGE_WORDS], ids=["small_pages", "pages"])
def page(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PAGE_WORDS", request.param)


@pytest.mark.inner(first=4)
@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize(("function", "argument"), PROGRAMS)
@pytest.mark.usefixtures("page")
def test_kept_events_are_the_reference_s(function: Any, argument: int, name: str, tmp_path: Path) -> None:
    """All events, the last ones, and the log are the reference's, and the log replays to the same end."""
    texts: dict[str, Any] = {}
    for machine in ("reference", "fast"):
        path = tmp_path / f"{machine}.jsonl"
        run = lambda keep: function.run(argument, schedule=name, engine=machine, keep=keep)  # noqa: B023, E731
        every, some, logged = run("events"), run(100), run(path)
        assert (every.engine, logged.engine) == (machine, machine)
        assert some.first_kept == len(every.events) - 100
        assert lines_of(some.events) == lines_of(every.events[-100:])
        assert lines_of(tl.read_events(path).events) == lines_of(every.events)
        texts[machine] = lines_of(every.events), path.read_text().replace(f'"engine":"{machine}"', "")
        columns = path.with_suffix(".npz")
        run(columns)
        assert b"".join(log_lines(columns)).decode().replace(f'"engine":"{machine}"', "") == texts[machine][1]
    assert texts["fast"] == texts["reference"]


@pytest.mark.full
@pytest.mark.parametrize("function", [fib, deferring, asking])
def test_auto_hands_its_events_over(function: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast machine's events, wherever they are kept, follow those of the reference."""
    monkeypatch.setattr(auto, "WARMUP_FIRINGS", 70)
    whole = function.run(9, keep="events", engine="reference").events
    for keep in ("events", 30, len(whole) - 10):
        out = function.run(9, keep=keep)
        assert (out.engine, lines_of(out.events)) == ("fast", lines_of(whole[out.first_kept :]))
    for name in ("run.jsonl", "run.npz"):
        function.run(9, keep=tmp_path / name)
        assert lines_of(tl.read_events(tmp_path / name).events) == lines_of(whole)


EDGES: dict[str, list[Any]] = {
    "i": [0, -1, 99_999_999, 100_000_000, -(10**16), 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)],
    "u": [0, 1, 2**53, 2**53 + 1, 2**63, 2**64 - 1],
    "f": [0.0, -0.0, 0.1, 1e-310, 1e308, np.inf, -np.inf, np.nan, 1e16, 123456789.0],
    "b": [True, False],
}


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("dtype", dtypes.BY_NAME.values(), ids=str)
def test_every_number_is_written(dtype: dtypes.DType, tmp_path: Path) -> None:
    """Log lines with edge values of every dtype are the reference's, character by character."""
    text = (
        f"func f(x: {dtype!r}, p: bool) -> {dtype!r} {{\n  y = where p, x, x\n  z = where true, y, x\n  return z\n}}\n"
    )
    graph = tl.lower(parse(text).program)
    for edge in EDGES[dtype.kind]:
        with np.errstate(all="ignore"):
            value = np.array(edge).astype(dtype.numpy)[()]
        logs = set()
        for machine, suffix in product(("reference", "fast"), LOG_SUFFIXES):
            path = tmp_path / f"{machine}{suffix}"
            subject = protocol.Job(graph, tl.run_graph(graph, [value, True]).structure)
            run_job(subject, [value, True], protocol.RunOptions(keep=path), machine)
            logs.add(b"".join(log_lines(path)).decode().replace(f'"engine":"{machine}"', ""))
        assert len(logs) == 1


def test_a_window_has_the_number_of_its_first_event() -> None:
    """A run that kept its last events gives the number of the first; features that need all events refuse it with that
    reason."""
    out = fib.run(9, keep=5, engine="fast", until="trap")
    assert (out.first_kept, len(out.events)) == (out.stats.steps - 5, 5)
    for ask in (lambda: out.values("add"), out.critical_path, lambda: out.time_on(2)):
        with pytest.raises(tl.Usage, match="did not keep all events") as raised:
            ask()
        assert 'keep="events"' in str(raised.value)
    few = fib.run(2, keep=1000, engine="fast")
    assert few.first_kept == 0 and few.values("add") == fib.run(2, keep="events").values("add")


@pytest.mark.parametrize("machine", ["reference", "fast"])
def test_a_window_may_be_wider_than_any_run(machine: str) -> None:
    out = fib.run(2, keep=2**64, engine=machine)
    assert (out.first_kept, len(out.events)) == (0, out.stats.steps)


@pytest.mark.full
def test_events_are_decoded_from_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Event objects are made from the journal on demand, from the end, and each once."""
    results, true_events = [0], JournalReader.events

    def counted(self: JournalReader, page: Any) -> Iterator[Event]:
        for event in true_events(self, page):
            results[0] += 1
            yield event

    monkeypatch.setattr(JournalReader, "events", counted)
    out = fib.run(12, keep=3000, engine="fast")
    assert (len(out.events), results) == (3000, [0])
    last = out.events[-1]
    assert (out.events[-10:][-1] is last, results) == (True, [10])
    expected = fib.run(12, keep="events", engine="reference").events[-3000:]
    assert lines_of(list(reversed(out.events))) == lines_of(expected[::-1])
    assert (out.events == expected, hash(out.events) == hash(expected), repr(out.events) == repr(expected)) == (
        True,
    ) * 3
    assert (results, out.events[-1] is last) == ([3000], True)
    with pytest.raises(IndexError):
        out.events[3000]


@pytest.mark.full
def test_ctrl_c_while_events_are_decoded() -> None:
    """Ctrl-C while events are decoded is an ordinary KeyboardInterrupt, and the next access gets them all."""
    out = fib.run(18, keep=10**6, engine="fast")
    last = out.events[-1]
    with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.02):
        list(out.events)
    expected = fib.run(18, keep="events", engine="reference").events
    assert (out.first_kept, len(out.events), out.events[-1] is last) == (0, len(expected), True)
    assert lines_of(out.events) == lines_of(expected)


@pytest.mark.full
def test_arrays_are_freed_with_their_events() -> None:
    """Large arrays are freed with their events, but for a few: not a whole page of them is kept."""
    keeper, limits = LastEventKeeper(10), Limits()
    run = FastRun(
        first_state(fading.graph, [np.zeros(2**17), 200], "lifo"), "lifo", until="quiet", limits=limits, keeper=keeper
    )
    assert run.resume() is None and len(list(keeper.events())) == 10
    assert sum(getattr(value, "nbytes", 0) for value in run.store.objects) < 2 * store.PAGE_TURN_BYTES


def test_a_run_stops_at_a_breakpoint() -> None:
    """A run in machine code stops at a breakpoint, shows the last events, and continues there or on the reference."""
    limits, keeper = Limits(), LastEventKeeper(20)
    state = first_state(fib.graph, [9], "lifo")
    expected = list(drive(state, schedule("lifo"), limits))
    run = FastRun(first_state(fib.graph, [9], "lifo"), "lifo", until="quiet", limits=limits, keeper=keeper)
    stops = StopConditions(nodes=frozenset([fib.graph.only("add")]))
    for _ in range(10):
        run.resume(stops=stops)
        at = run.state().steps
        assert list(keeper.events()) == expected[max(at - 20, 0) : at]
    rest = list(drive(run.state(), schedule("lifo"), limits))
    assert rest == expected[at:]


@pytest.mark.full
def test_a_run_without_events_has_no_code_for_them() -> None:
    """The machine that keeps no events is compiled from source without any test for them."""
    plain = load.text()
    assert "note_" not in plain and "if JOURNAL" not in plain
    assert "note_firing" in load.text(load.MachineVariant.JOURNAL)


@pytest.mark.full
@pytest.mark.parametrize("suffix", ["npz", "jsonl"])
def test_pages_of_a_log_stay_short(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of a log has few steps, however many activations are open under `waves`: while it is read, nobody looks at
    the clock or at Ctrl-C. The log is the same as with pages that are only turned when they are full."""
    turn_page, ends, least_steps = StreamingKeeper.turn_page, [0], 1

    def observed(self: Any) -> None:
        ends.append(int(self.store.registers[Register.STEPS]))
        turn_page(self)
        self.page_steps = max(self.page_steps, least_steps)

    monkeypatch.setattr(StreamingKeeper, "turn_page", observed)
    fib.run(20, engine="fast", keep=tmp_path / f"short.{suffix}", limits=Limits(firings=30_000))
    assert max(b - a for a, b in pairwise(ends)) <= 2**14 and len(ends) > 10
    ends[:], least_steps = [0], 2**20
    fib.run(20, engine="fast", keep=tmp_path / f"long.{suffix}", limits=Limits(firings=30_000))
    assert max(b - a for a, b in pairwise(ends)) > 10_000, "what limits pages is their number of steps"
    short, long = (list(log_lines(tmp_path / f"{name}.{suffix}")) for name in ("short", "long"))
    assert short == long


@tl.function
def carrying(a: tl.Array[tl.float64, None], n: tl.int64) -> tl.float64:
    return tl.sum(tl.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a), 0, a)[1])


def processor_seconds_late(
    monkeypatch: pytest.MonkeyPatch, function: Any, arguments: Any, path: Path, schedule: str, steps: int
) -> float:
    """The longest processor time, in seconds, between two looks at the clock, or from the last look to the end, of a
    run that its limit on seconds ends after this many steps."""
    looks: list[float] = []

    def look(self: RunMonitor, store: TokenStore) -> str | None:
        looks.append(time.thread_time())
        return "seconds" if store.registers[Register.STEPS] >= steps else None

    with monkeypatch.context() as patch:
        patch.setattr(RunMonitor, "exceeded_limit", look)
        outcome = function.run(*arguments, engine="fast", schedule=schedule, keep=path, limits=Limits(seconds=3600))
        looks.append(time.thread_time())
    assert outcome.status == "Exhausted" and outcome.error.limit == "seconds"
    return max(b - a for a, b in pairwise(looks))


LOGS = [
    pytest.param(fib, (40,), "waves", 350_000, ".npz", id="wide-npz"),
    pytest.param(fib, (40,), "waves", 350_000, ".jsonl", marks=pytest.mark.heavy, id="wide-jsonl"),
    pytest.param(fib, (40,), "waves", 2_000_000, ".npz", marks=pytest.mark.heavy, id="wider-npz"),
    *(
        pytest.param(function, (np.full(2**14, 1 / 3), 10**9), "lifo", 300, suffix, id=f"{function.__name__}{suffix}")
        for function, suffix in product((fading_any, carrying), LOG_SUFFIXES)
    ),
    *(
        pytest.param(
            function,
            (np.full(2**16, 1 / 3), 10**9),
            "lifo",
            40,
            suffix,
            marks=pytest.mark.heavy,
            id=f"large-{function.__name__}{suffix}",
        )
        for function, suffix in product((fading_any, carrying), LOG_SUFFIXES)
    ),
]


@pytest.mark.full
@pytest.mark.parametrize(("function", "arguments", "schedule", "steps", "suffix"), LOGS)
def test_a_run_with_a_log_ends_soon(
    function: Any, arguments: Any, schedule: str, steps: int, suffix: str, tmp_path: Path, monkeypatch: Any
) -> None:
    """S12: a run that writes a log looks at the clock at least every 0.2 s of its processor time, and ends as soon
    after the last look, however many tokens are left, and however large its arrays are."""
    path = tmp_path / f"log{suffix}"
    assert processor_seconds_late(monkeypatch, function, arguments, path, schedule, steps) < 0.2


@pytest.mark.parametrize("suffix", LOG_SUFFIXES)
def test_a_log_without_a_large_residue_replays(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log of a run that must end soon lacks a residue of more tokens than a bound, and its replay has them; the log
    of a run that ends by its number of firings has them all."""
    monkeypatch.setattr(documents, "MAX_LATE_RESIDUE", 1)
    path = tmp_path / f"log{suffix}"
    processor_seconds_late(monkeypatch, fib, (20,), path, "lifo", 1000)
    document = json.loads(list(log_lines(path))[-1])["outcome"]
    assert document["residue"] is None and document["error"]["limit"] == "seconds"
    replayed = tl.read_events(path)
    assert len(replayed.events) == document["stats"]["steps"]
    fib.run(20, engine="fast", schedule="lifo", keep=path, limits=Limits(firings=document["firings"]))
    assert len(json.loads(list(log_lines(path))[-1])["outcome"]["residue"]) > 1


@pytest.mark.full
def test_a_log_with_all_of_a_large_residue_is_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that orders and writes whatever is left ends late."""

    def lateness() -> float:
        return processor_seconds_late(monkeypatch, fib, (40,), tmp_path / "log.npz", "waves", 350_000)

    honest = lateness()
    monkeypatch.setattr(documents, "MAX_LATE_RESIDUE", 10**9)
    assert lateness() > 4 * honest


@pytest.mark.full
def test_pages_of_constant_length_are_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin whose pages have 512 steps, whatever arrays are in them, is late."""

    def lateness() -> float:
        arguments = np.full(2**16, 1 / 3), 10**9
        return processor_seconds_late(monkeypatch, carrying, arguments, tmp_path / "log.jsonl", "lifo", 300)

    honest = lateness()
    turn_page = StreamingKeeper.turn_page

    def turn_long_page(self: Any) -> None:
        turn_page(self)
        self.page_steps = 2**9

    monkeypatch.setattr(StreamingKeeper, "turn_page", turn_long_page)
    monkeypatch.setattr(StreamingKeeper, "page_array_bytes", 2**60)
    assert lateness() > 4 * honest
