"""The laws of events that the fast engine keeps: they equal the reference's, whether a run keeps all events, the last
ones, or log lines."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import islice, zip_longest
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from support.generators.effect_programs import Witness
from support.generators.generator import Case
from support.laws.fast_laws import LIMITS, SCHEDULES
from support.observe.event_bits import bits
from tagloom.core.errors import Exhausted
from tagloom.core.frontend.trace.pytree import flat_treedef
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.interp.engines.fast import store
from tagloom.interp.engines.fast.events import EventKeeper, LastEventKeeper, forward_events
from tagloom.interp.engines.fast.run import FastRun, choose_keeper, run_fast
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import drive, first_state
from tagloom.interp.engines.reference import run_graph as run_on_reference
from tagloom.interp.history.replay import read_events
from tagloom.interp.machine.event import Event
from tagloom.interp.machine.schedule import schedule
from tagloom.interp.records import column_log
from tagloom.interp.records.column_log import create_column_log
from tagloom.interp.records.documents import to_outcome_record
from tagloom.interp.records.event_log import JsonLogWriter, LogWriter, header_line
from tagloom.interp.records.event_sink import EventSink, log_lines


def violations(
    case: Case, dice: Random, schedules: Sequence[str] = SCHEDULES, limits: Limits = LIMITS
) -> Iterator[str]:
    """Every law of events that this program breaks."""
    graph = lower(case.program)
    for name in schedules:
        with patch.object(store, "PAGE_WORDS", dice.choice((0, store.PAGE_WORDS))):
            yield from run_violations(graph, case, name, limits, dice)


def run_violations(graph: Graph, case: Case, name: str, limits: Limits, dice: Random) -> Iterator[str]:
    """Violations of one run that keeps its events in three ways, with random beginnings and pauses."""
    expected = reference_events(graph, case, name, limits)
    begin = dice.choice((0, 0, dice.randint(0, len(expected))))
    count = dice.choice((1, 10, dice.randint(1, len(expected) + 1)))
    yield from all_events_violations(graph, case, name, limits, expected, begin, pauses(dice))
    yield from last_events_violations(graph, case, name, limits, expected, begin, pauses(dice), count, dice)
    yield from log_violations(graph, case, name, limits, begin, pauses(dice), dice)


def pauses(dice: Random) -> list[int | None]:
    """The numbers of steps after which a run pauses."""
    return [*dice.choice(([], [dice.randint(1, 300)] * dice.randint(1, 5))), None]


def reference_events(graph: Graph, case: Case, name: str, limits: Limits) -> list[Event]:
    """The events of a run on the reference, up to its limits."""
    state = first_state(graph, list(case.arguments), name, world=Witness())
    return list(until_exhausted(drive(state, schedule(name), limits)))


def until_exhausted(events: Iterator[Event]) -> Iterator[Event]:
    try:
        yield from events
    except Exhausted:
        return


def start_run_at(graph: Graph, case: Case, name: str, limits: Limits, begin: int, keeper: EventKeeper) -> FastRun:
    """A run that begins on the reference and continues on the fast engine with this keeper."""
    state = first_state(graph, list(case.arguments), name, world=Witness())
    for _ in islice(until_exhausted(drive(state, schedule(name), limits)), begin):
        pass
    return FastRun(state, name, until="quiet", limits=limits, keeper=keeper)


def all_events_violations(
    graph: Graph, case: Case, name: str, limits: Limits, expected: list[Event], begin: int, steps: list[int | None]
) -> Iterator[str]:
    """All events of a run that is imported at some event, and pauses, equal the reference's from there on."""
    got: list[Event] = []
    run = start_run_at(graph, case, name, limits, begin, forward_events(got.append))
    for pause in steps:
        run.resume(pause)
    yield from first_event_difference(f"{name}, all from {begin}", expected[begin:], got)


def last_events_violations(
    graph: Graph, case: Case, name: str, limits: Limits, expected: list[Event], begin: int, steps: list[int | None],
    count: int, dice: Random,
) -> Iterator[str]:  # fmt: skip
    """The last events equal the reference's last events, wherever the run pauses and in whatever order they are read,
    including events from before the import."""
    keeper = LastEventKeeper(count)
    run = start_run_at(graph, case, name, limits, begin, keeper)
    end = begin
    for pause in steps:
        run.resume(pause)
        end = len(expected) if pause is None else min(end + pause, len(expected))
        before = deque(expected[:begin], maxlen=count)
        got, required = keeper.window(before), expected[:end][-count:]
        yield from slice_violations(f"{name}, {count} from {begin}", required, got, dice)
        yield from first_event_difference(f"{name}, {count} from {begin}", required, got)


def slice_violations(description: str, expected: Sequence[Event], got: Sequence[Event], dice: Random) -> Iterator[str]:
    """Any slice of a window of events equals that slice of the whole."""
    for _ in range(min(len(expected), 3)):
        place, other = dice.randrange(-len(expected), len(expected)), dice.randrange(-len(expected), len(expected))
        part = slice(place, other, dice.choice((None, 2, -1)))
        yield from first_event_difference(f"{description}, {place}", [expected[place]], [got[place]])
        yield from first_event_difference(f"{description}, {part}", expected[part], got[part])


def log_violations(
    graph: Graph, case: Case, name: str, limits: Limits, begin: int, steps: list[int | None], dice: Random
) -> Iterator[str]:
    """A log that the reference begins and the fast engine continues has the reference's lines, whether it is written as
    lines or as columns; so has a log in columns that the reference writes."""
    expected, got = StringIO(), StringIO()
    reference = JsonLogWriter(graph, expected.write)
    events = reference_events(graph, case, name, limits)
    for event in events:
        reference.write_event(event)
    write_continued_log(graph, case, name, limits, begin, steps, JsonLogWriter(graph, got.write))
    yield from first_line_difference(f"{name}, from {begin}", expected.getvalue(), got.getvalue())
    sizes = {"PAGE_WORDS": dice.choice((1000, column_log.PAGE_WORDS)), "BLOCK_ROWS": dice.choice((1, 7, 2**13))}
    with TemporaryDirectory() as folder, patch.multiple(column_log, **sizes):
        path, header = Path(folder, "run.npz"), header_line(graph, case.arguments, name)
        with create_column_log(path, graph, header) as log:
            write_continued_log(graph, case, name, limits, begin, steps, log)
        columns = b"".join(log_lines(path)).decode()
        yield from first_line_difference(f"{name}, columns from {begin}", f"{header}\n{expected.getvalue()}", columns)
        with create_column_log(path, graph, header) as log:
            for event in events:
                log.write_event(event)
        columns = b"".join(log_lines(path)).decode()
        yield from first_line_difference(f"{name}, columns", f"{header}\n{expected.getvalue()}", columns)


def write_continued_log(
    graph: Graph, case: Case, name: str, limits: Limits, begin: int, steps: list[int | None], log: LogWriter
) -> None:
    """Write a run to a log: `begin` events on the reference, the others on the fast engine."""
    state = first_state(graph, list(case.arguments), name, world=Witness())
    for event in islice(until_exhausted(drive(state, schedule(name), limits)), begin):
        log.write_event(event)
    run = FastRun(state, name, until="quiet", limits=limits, keeper=choose_keeper(EventSink(log=log)))
    for pause in steps:
        run.resume(pause)


def first_line_difference(description: str, expected: str, got: str) -> Iterator[str]:
    """The first line that differs, if any."""
    if expected != got:
        lines = zip_longest(expected.splitlines(), got.splitlines())
        number, (one, other) = next((n, pair) for n, pair in enumerate(lines) if pair[0] != pair[1])
        yield f"{description}: line {number} is\n{other}, and not\n{one}"


def first_event_difference(description: str, expected: Sequence[Event], got: Sequence[Event]) -> Iterator[str]:
    """The first event that differs, if any."""
    if len(expected) != len(got):
        yield f"{description}: {len(got)} events, and not {len(expected)}"
    for number, (one, other) in enumerate(zip(expected, got, strict=False)):
        if comparable_event(one) != comparable_event(other):
            yield f"{description}: event {number} is {other}, and not {one}"
            return


def comparable_event(event: Event) -> Any:
    """An event with the types and bits of its values."""
    return bits(event), [type(value) for value in event.inputs or ()], type(event.token.value)


def replay_violations(case: Case, name: str, path: Path) -> Iterator[str]:
    """The log of a whole run equals the reference's except for the engine's name, and its replay ends alike."""
    graph, texts = lower(case.program), []
    options: dict[str, Any] = {"schedule": name, "limits": LIMITS, "keep": path}
    run_on_reference(graph, case.arguments, world=Witness(), **options)
    texts.append(path.read_text())
    structure = flat_treedef(len(graph.results))
    outcome = run_fast(graph, case.arguments, structure=structure, until="quiet", world=Witness(), **options)
    texts.append(path.read_text().replace('"engine":"fast"', '"engine":"reference"'))
    if texts[0] != texts[1]:
        yield f"{name}: the logs differ"
    columns = path.with_suffix(".npz")
    run_fast(
        graph, case.arguments, structure=structure, until="quiet", world=Witness(), **(options | {"keep": columns})
    )
    lines = b"".join(log_lines(columns)).decode().replace('"engine":"fast"', '"engine":"reference"')
    yield from first_line_difference(f"{name}, columns", texts[0], lines)
    log = read_events(path)
    if log.outcome != to_outcome_record(outcome):
        yield f"{name}: the log ends in {log.outcome}, and the run in {to_outcome_record(outcome)}"
