"""The laws of segments: a machine that fires them makes the firings of the reference, in the same waves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from support.engines.segment_machine import SegmentMachine, TooManyFirings
from support.generators.generator import Case
from support.laws.machine_laws import LIMITS, firings
from tagloom.core.graph import segments
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.graph.segments import Segmentation
from tagloom.core.value import fingerprint
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import run_graph


def segment_violations(case: Case, limits: Limits = LIMITS) -> Iterator[str]:
    """Every law of segments that this program breaks; those of runs only if the reference becomes quiescent."""
    graph = lower(case.program)
    segmentation = segments.segment_graph(graph)
    yield from partition_violations(graph, segmentation)
    run = run_graph(graph, case.arguments, keep="events", limits=limits, unchecked=True)
    if run.status == "Exhausted":
        return
    machine = SegmentMachine(graph, segmentation, run.firings)
    try:
        machine.run(case.arguments)
    except (TooManyFirings, AssertionError) as error:
        yield f"the segment machine failed: {error!r}"
        return
    for what, actual, expected in (
        ("results", list(map(_bits, machine.results)), list(map(_bits, run.results))),
        ("firings not made", firings(run) - machine.firings, Counter()),
        ("firings too many", machine.firings - firings(run), Counter()),
        ("firings by node", tuple(machine.by_node), run.stats.by_node),
        (
            "profile",
            [machine.profile[t + 1] for t in range(run.stats.span or 0)],
            list(run.stats.profile or ()),
        ),
        (
            "waiting",
            [machine.waiting[t + 1] for t in range(len(run.stats.waiting or ()))],
            list(run.stats.waiting or ()),
        ),
        ("residue", machine.residue, {((token.node, token.port), token.tag) for token in run.residue}),
        (
            "activations",
            _activation_counts(machine),
            {site: n for site, n in run.stats.activations_by_site.items() if n},
        ),
    ):
        if actual != expected:
            yield f"{what}: {actual} instead of {expected}"


def partition_violations(graph: Graph, segmentation: Segmentation) -> Iterator[str]:
    """Every node is in a segment; it has several copies only if their guards exclude each other; the copies of a node
    are in segments of one scope."""
    guards: dict[int, list[segments.GuardSet]] = {number: [] for number in range(len(graph.nodes))}
    for segment in segmentation.segments:
        for copy in segment.copies:
            guards[copy.node] += copy.guards
        if len({copy.node for copy in segment.copies}) < len(segment.copies):
            yield f"a node is twice in the segment of {segment.scope} that needs {segment.needs}"
    for number, alternatives in guards.items():
        if not alternatives:
            yield f"{graph.nodes[number]} is in no segment"
        for position, guard in enumerate(alternatives):
            for other in alternatives[:position]:
                if not any((predicate, not outcome) in other for predicate, outcome in guard):
                    yield f"two copies of {graph.nodes[number]} may fire under one tag"
        if len({segment.scope for segment in segmentation.segments_of(number)}) > 1:
            yield f"{graph.nodes[number]} is in two scopes"


def _bits(value: object) -> object:
    return None if value is None else fingerprint(value)


def _activation_counts(machine: SegmentMachine) -> dict[object, int]:
    """The activations that were opened, by site."""
    opened: dict[object, int] = {}
    for tag in machine.activations:
        if tag.depth:
            opened[tag.site] = opened.get(tag.site, 0) + 1
    return opened
