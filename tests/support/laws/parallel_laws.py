"""The laws of runs on several cores, as functions: how such a run agrees with one on the reference."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

from pytest import MonkeyPatch
from support.generators.effect_programs import Witness
from support.laws.fast_laws import LIMITS, comparable_fields, with_value_bits
from tagloom.core.frontend.trace.pytree import flat_treedef
from tagloom.core.graph.graph import Graph
from tagloom.core.value import Value
from tagloom.interp.engines.fast.layout import Register
from tagloom.interp.engines.fast.parallel import run as several
from tagloom.interp.engines.fast.parallel.run import ParallelRun, run_on_cores
from tagloom.interp.engines.fast.shared_memory import CoreLine, SharedLine
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import drive, first_state, run_graph
from tagloom.interp.image.image import CACHE_LINE_WORDS
from tagloom.interp.machine.schedule import schedule
from tagloom.interp.machine.state import State
from tagloom.interp.outcome.outcome import Outcome

ROUNDS = 200_000
"""The number of turns after which a run that has not ended counts as hanging."""


class EagerRequests(ParallelRun):
    """A run whose cores look at each other's requests every few tokens; the first core begins once all others have
    requested work."""

    def __init__(self, state: State, limits: Limits, cores: int) -> None:
        super().__init__(state, limits, cores, burst_tokens=3, bursts_before_threads=0)

    def _start_threads(self) -> None:
        super()._start_threads()
        others = range(2, 1 + len(self.stores))
        patience = time.monotonic() + 30
        while (
            not all(self.shared_words[core * CACHE_LINE_WORDS + CoreLine.REQUESTED_PROXY] for core in others)
            and time.monotonic() < patience
        ):
            time.sleep(0.001)

    @property
    def given(self) -> int:
        """The number of activations that were donated to other cores."""
        return sum(int(store.registers[Register.DONATIONS]) for store in self.stores)


@contextmanager
def eager_requests() -> Iterator[list[EagerRequests]]:
    """In this context, runs on several cores are `EagerRequests`; yields the list of these runs."""
    runs: list[EagerRequests] = []

    def made(state: State, limits: Limits, cores: int) -> EagerRequests:
        runs.append(EagerRequests(state, limits, cores))
        return runs[-1]

    with MonkeyPatch.context() as patch:
        patch.setattr(several, "ParallelRun", made)
        yield runs


class RunInTurns(NamedTuple):
    """A run whose cores took turns, and the number of activations that were donated."""

    run: ParallelRun
    given: int


def run_in_turns(state: State, limits: Limits, cores: int, dice: Random, rounds: int = ROUNDS) -> RunInTurns:
    """A run whose cores take turns of a few tokens each, in random order; the same random numbers give the same run."""
    run = ParallelRun(state, limits, cores)
    for _ in range(rounds):
        run.shared_words[SharedLine.BURST_TOKENS] = dice.choice((1, 1, 2, 7, 40))
        for store in run.stores:
            store.registers[[Register.DONATION_DELAY, Register.REQUEST_DELAY]], store.idle_sleep = 0, 0.0
        run.run_bursts(dice.choice(run.stores), dice.choice((1, 1, 3)))
        if run.end_reason is not None or run.firings > limits.max_firings:
            break
    else:
        assert rounds < ROUNDS, "the cores do not come to an end"
    return RunInTurns(run, sum(int(store.registers[Register.DONATIONS]) for store in run.stores))


def ends_of_waves(graph: Graph, arguments: Sequence[Value], limits: Limits) -> tuple[int, int]:
    """The most waiting tokens and the most tokens in flight at the end of a wave, on the reference."""
    state = first_state(graph, list(arguments), "waves", world=Witness())
    store, flight = 0, len(state.flight)
    for event in drive(state, schedule("waves"), limits):
        if event.ends_wave:
            store, flight = max(store, state.waiting_count), max(flight, len(state.flight))
    return store, flight


def wave_fields(outcome: Outcome, graph: Graph, arguments: Sequence[Value], limits: Limits) -> dict[str, Any]:
    """All fields of a reference outcome that do not depend on the order of the steps of a wave, with the largest store
    and flight taken at the ends of waves."""
    store, flight = ends_of_waves(graph, arguments, limits)
    return {
        **order_independent_fields(outcome),
        "stats": replace(outcome.stats, largest_store=store, largest_flight=flight),
    }


def order_independent_fields(outcome: Outcome) -> dict[str, Any]:
    """All fields of an outcome that do not depend on the order of the steps of a wave: a run that ended at the limit on
    depth had fired other nodes by then."""
    fields = comparable_fields(outcome)
    fields["trapped"] = [
        with_value_bits((event.token.node, event.token.tag, event.inputs, event.trap)) for event in outcome.trap_events
    ]
    return {name: fields[name] for name in ("status", "error")} if is_too_deep(outcome) else fields


def is_too_deep(outcome: Outcome) -> bool:
    """Whether the limit on depth ended a run."""
    return getattr(outcome.error, "limit", None) == "depth"


def turn_violations(
    graph: Graph, arguments: Sequence[Value], cores: int, dice: Random, limits: Limits = LIMITS
) -> Iterator[str | int]:
    """Where a run on this many cores, which take turns, differs from one on the reference, and the number of donated
    activations. If the limit on firings ended both, nothing is compared: cores that take turns have it only to end."""
    expected = run_graph(graph, arguments, limits=limits, world=Witness())
    run, given = run_in_turns(first_state(graph, list(arguments), "waves"), limits, cores, dice)
    yield given
    if expected.status == "Exhausted" and (run.end_reason is None or not is_too_deep(expected)):
        return
    if run.end_reason is None:
        yield f"{cores} cores did not end, the reference {expected.status}"
        return
    got = order_independent_fields(run.outcome(flat_treedef(len(graph.results))))
    is_deep = is_too_deep(expected)
    fields = order_independent_fields(expected) if is_deep else wave_fields(expected, graph, arguments, limits)
    for key, value in fields.items():
        if got[key] != value:
            yield f"{cores} cores: {key} is {got[key]} and not {value}"


def parallel_violations(
    graph: Graph, arguments: Sequence[Value], cores: int, limits: Limits, **options: Any
) -> Iterator[str]:
    """Where a run on this many cores, as users start it, differs from one on the reference."""
    expected = run_graph(graph, arguments, limits=limits, world=Witness(), **options)
    structure = flat_treedef(len(graph.results))
    outcome = run_on_cores(
        cores, graph, arguments, schedule="waves", until="quiet", limits=limits, structure=structure, world=Witness(),
        **options,
    )  # fmt: skip
    if comparable_fields(outcome) != comparable_fields(expected):
        got, is_deep = order_independent_fields(outcome), is_too_deep(expected)
        fields = order_independent_fields(expected) if is_deep else wave_fields(expected, graph, arguments, limits)
        if got != fields:
            yield f"{cores} cores: {got} and not {fields}"
