"""The laws of a device that delivers all tokens of a wave at once: the state after every wave is the reference's but
for the order of the tokens in flight, and an outcome that of the reference but for what depends on that order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from support.laws.fast_laws import comparable_fields, with_value_bits
from support.laws.parallel_laws import order_independent_fields, wave_fields
from tagloom.core.graph.graph import Graph
from tagloom.core.value import Value
from tagloom.interp.engines.cuda.wave import WaveRun
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import admit_arguments, drive, first_state
from tagloom.interp.machine.event import Event
from tagloom.interp.machine.schedule import schedule
from tagloom.interp.machine.state import State
from tagloom.interp.outcome.outcome import Outcome


def outcome_differences(
    outcome: Outcome, wanted: Outcome, arguments: Sequence[Value], limits: Limits | None = None
) -> list[str]:
    """The fields in which an outcome differs from that of the reference. The largest store and flight are those at the
    ends of waves, or, if `fast` made the run from its start or a part of it, those of any step."""
    fields = comparable_fields(wanted)
    if comparable_fields(outcome) == fields:
        return []
    expected = wave_fields(wanted, wanted.graph, arguments, limits or Limits())
    got = order_independent_fields(outcome)
    stats, ends = outcome.stats, expected["stats"]
    if (
        ends.largest_store <= stats.largest_store <= wanted.stats.firings
        and ends.largest_flight <= stats.largest_flight <= wanted.stats.steps
    ):
        expected["stats"] = replace(ends, largest_store=stats.largest_store, largest_flight=stats.largest_flight)
    return [name for name, field in expected.items() if got[name] != field]


def ticks(graph: Graph, arguments: Sequence[Any], limits: Limits) -> Iterator[State]:
    """The reference's states between waves, with the first one."""
    state = first_state(graph, admit_arguments(graph, arguments), "waves")
    yield state
    for event in drive(state, schedule("waves"), limits):
        if event.ends_wave:
            yield state


def unordered_snapshot(state: State) -> list[Any]:
    """A state without the order of what happens in a wave."""
    flight, records, results, _, *others = with_value_bits(state.snapshot())
    return [sorted(map(str, flight)), records, results, sorted(map(trap_fields, state.trap_events)), *others]


def trap_fields(event: Event) -> str:
    """The fields of a trap that do not depend on which of its operands came last."""
    return str(with_value_bits((event.token.node, event.token.tag, event.inputs, event.trap)))


def wave_differences(run: WaveRun, graph: Graph, arguments: Sequence[Any], limits: Limits) -> Iterator[str]:
    """Where a wave of a run leaves another state than that of the reference."""
    for wave, state in enumerate(ticks(graph, arguments, limits)):
        if wave:
            run.run_waves(1)
        if unordered_snapshot(run.state()) != unordered_snapshot(state):
            yield f"the states differ after {wave} waves"
            return
