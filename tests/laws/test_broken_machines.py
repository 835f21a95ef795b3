"""Broken machines: each breaks one rule, and the laws catch each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase
from pytest import MonkeyPatch
from support.generators.generator import Case, cases
from support.laws.machine_laws import violations
from support.twins.broken_twin import Break, broken, caught
from tagloom.core.graph.graph import Graph
from tagloom.core.tag import Site, Tag
from tagloom.interp.engines.limits import Limits
from tagloom.interp.machine import fire, state, step
from tagloom.interp.machine.event import Event, Token

SCHEDULES = ("lifo", "random:1")
SMALL = Limits(firings=300)


def drop_the_parents_iteration(patch: MonkeyPatch) -> None:
    """T2: the tag of a call omits the iteration in which the call was made."""
    child = state.State.child

    def forgetful(self: state.State, tag: Tag, site: Site, iteration: int) -> Tag:
        if site.kind == "call" and tag.site.kind == "loop" and tag.parent is not None:
            tag = child(self, tag.parent, tag.site, 0)
        return child(self, tag, site, iteration)

    patch.setattr(state.State, "child", forgetful)


def return_to_the_wrong_site(patch: MonkeyPatch) -> None:
    """S10: a result goes to the return of another site than the one on top of its tag."""
    routes = fire.build_routes

    def confused(graph: Graph, edges: fire.Edges) -> Any:
        result = routes(graph, edges)
        sites = [site for site in result or {} if site is not None]
        return result and {
            None: result[None],
            **{a: result[b] for a, b in zip(sites, sites[1:] + sites[:1], strict=True)},
        }

    patch.setattr(fire, "build_routes", confused)


def return_to_every_site(patch: MonkeyPatch) -> None:
    """S10: a result goes to the returns of all sites, whatever its tag."""
    patch.setattr(fire, "build_routes", lambda graph, edges: None)


def keep_the_merged_token(patch: MonkeyPatch) -> None:
    """S2: a merge forwards its token, and also lets it wait."""
    apply = state.State.apply

    def hoarding(self: state.State, event: Event) -> None:
        record = self.records[event.token.tag]
        apply(self, event)
        if event.is_firing and self.rules[event.token.node].operands is None:
            record.waiting_operands[event.token.node] = {event.token.port: event.token.value}
            self.waiting_count += 1

    patch.setattr(state.State, "apply", hoarding)


def lose_a_token(patch: MonkeyPatch) -> None:
    """S3: of three ports that a result feeds, one gets nothing."""
    _change_sent(patch, lambda sent: sent[:-1] if len(sent) > 2 else sent)


def deliver_twice(patch: MonkeyPatch) -> None:
    """S3: of three ports that a result feeds, one gets it twice."""
    _change_sent(patch, lambda sent: (*sent, sent[0]) if len(sent) > 2 else sent)


def _change_sent(patch: MonkeyPatch, change: Callable[[tuple[Token, ...]], tuple[Token, ...]]) -> None:
    true_step = step.step

    def changed(at: state.State, position: int) -> Event:
        event = true_step(at, position)
        return event._replace(sent=change(event.sent))

    _use_step(patch, changed)


def _use_step(patch: MonkeyPatch, changed: Callable[[state.State, int], Event]) -> None:
    for module in ("tagloom.interp.engines.reference", "support.laws.machine_laws"):
        patch.setattr(f"{module}.step", changed)


def swap_ports(patch: MonkeyPatch) -> None:
    """S2: a token that must wait is stored at the other port."""
    apply = state.State.apply

    def crossed(self: state.State, event: Event) -> None:
        token = event.token
        if not event.is_firing and self.rules[token.node].required_tokens == 2:
            event = event._replace(token=token._replace(port=1 - token.port))
        apply(self, event)

    patch.setattr(state.State, "apply", crossed)


def forget_the_trigger(patch: MonkeyPatch) -> None:
    """L7: a node with literals only gets no trigger token."""
    rules = fire.build_rules

    def untriggered(graph: Graph) -> tuple[fire.FiringRule, ...]:
        triggers = {n: len(node.ports) - 1 for n, node in enumerate(graph.nodes) if node.has_trigger}

        def kept(edges: fire.Edges) -> fire.Edges:
            return tuple(edge for edge in edges if triggers.get(edge.node) != edge.port)

        return tuple(replace(rule, edges=tuple(map(kept, rule.edges))) for rule in rules(graph))

    patch.setattr(state, "build_rules", untriggered)


def skip_an_iteration(patch: MonkeyPatch) -> None:
    """S9, T3: from the second iteration on, next_iteration skips one."""
    child = state.State.child

    def skipping(self: state.State, tag: Tag, site: Site, iteration: int) -> Tag:
        return child(self, tag, site, iteration + (site.kind == "loop" and iteration == 2))

    patch.setattr(state.State, "child", skipping)


def switch_backwards(patch: MonkeyPatch) -> None:
    """S6: a switch sends to the other side."""
    patch.setitem(fire._ROUTING, "switch", lambda inputs, tag: ((1 if inputs[1] else 0, inputs[0]),))


def close_too_early(patch: MonkeyPatch) -> None:
    """S11: an activation closes before its results have been sent."""
    patch.setattr(state, "activation_signatures", lambda graph: {})


def prefer_the_latest_operand(patch: MonkeyPatch) -> None:
    """S2, racing: sometimes a waiting operand is replaced by the token that completes the match."""
    true_step = step.step

    def racing(at: state.State, position: int) -> Event:
        event = true_step(at, position)
        dice = random.Random(at.steps)
        if event.is_firing and len(event.outputs) == 1 and len(event.inputs or ()) == 2 and dice.random() < 0.2:
            return event._replace(outputs=((0, event.token.value),))
        return event

    _use_step(patch, racing)


BROKEN: tuple[Break, ...] = (
    drop_the_parents_iteration,
    return_to_the_wrong_site,
    return_to_every_site,
    keep_the_merged_token,
    lose_a_token,
    deliver_twice,
    swap_ports,
    forget_the_trigger,
    skip_an_iteration,
    switch_backwards,
    close_too_early,
    prefer_the_latest_operand,
)


def size(case: Case) -> int:
    return sum(1 for function in case.program.reachable_functions() for _ in function.body.walk())


def is_wrong(break_code: Break, case: Case) -> bool:
    """Whether the broken machine breaks a law on this program."""
    with broken(break_code):
        return next(violations(case, SCHEDULES, SMALL), None) is not None


every_twin = pytest.mark.parametrize("break_code", BROKEN, ids=lambda break_code: break_code.__name__)


@pytest.mark.full
@every_twin
def test_the_laws_catch_a_broken_machine(break_code: Break) -> None:
    """Every machine that breaks one rule breaks a law, on a program on which the true machine keeps the laws."""
    case = caught(cases(), lambda case: is_wrong(break_code, case), break_code.__doc__, 1000)
    assert list(violations(case, SCHEDULES, SMALL)) == []


@pytest.mark.heavy
@every_twin
def test_the_laws_catch_a_broken_machine_on_a_small_program(break_code: Break) -> None:
    """Every machine that breaks one rule breaks a law, on a program that shrinks to at most 12 nodes, and on which the
    true machine keeps the laws."""
    case = next((case for case in shrunk_cases(break_code) if size(case) <= 12), None)
    assert case is not None
    with broken(break_code):
        print(break_code.__doc__, case, next(violations(case, SCHEDULES, SMALL)), sep="\n")
    assert list(violations(case, SCHEDULES, SMALL)) == []


def shrunk_cases(break_code: Break) -> Iterator[Case]:
    """Small programs on which a broken machine breaks a law, each from a search of its own: one that shrinks a large
    program may end at one that no single change makes smaller."""
    for seed in range(4):
        small: list[str] = []

        def wrong(case: Case, small: list[str] = small) -> bool:
            if small:  # nothing smaller is asked for
                return repr(case) == small[0]
            if not is_wrong(break_code, case):
                return False
            if size(case) <= 12:
                small.append(repr(case))
            return True

        yield caught(cases(), wrong, break_code.__doc__, 1000, Phase, seed)
