"""The laws of distributed runs, as functions: on any network, channels deliver messages once and in order, and workers
do together what the reference machine does."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from support.generators.effect_programs import Witness
from support.laws.fast_laws import with_value_bits
from support.laws.trace_laws import breaches
from tagloom.core.graph.graph import Graph
from tagloom.core.value import Value, fingerprint
from tagloom.interp.engines.distributed.channels import Channels
from tagloom.interp.engines.distributed.engine import run_on_workers
from tagloom.interp.engines.distributed.links import DRIVER
from tagloom.interp.engines.distributed.messages import Probe
from tagloom.interp.engines.distributed.network import Faults, FaultyNetwork, NetworkLinks
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.protocol import Job, RunOptions
from tagloom.interp.engines.reference import default_structure, run_graph
from tagloom.interp.history.history import History
from tagloom.interp.outcome.critical_path import dependences
from tagloom.interp.outcome.outcome import Outcome
from tagloom.viz.trace_events import trace_document

LIMITS = Limits(firings=1_500)


def distributed_run(
    graph: Graph,
    arguments: Sequence[Value],
    workers: int,
    cluster: str,
    limits: Limits = LIMITS,
    seed: int = 0,
    world: Witness | None = None,
    fast_clusters: Sequence[str] = (),
) -> Outcome:
    """A run on workers; those on `fast_clusters` are compiled."""
    job = Job(graph, default_structure(graph))
    options = RunOptions(limits=limits, seed=seed, world=world or Witness(), workers=workers, cluster=cluster)
    return run_on_workers(job, arguments, options, fast_clusters=fast_clusters)


def uses_cells(graph: Graph) -> bool:
    """Whether a program has cells, so that its reads may be deferred, or not, by the order of steps."""
    return any(node.op == "cells" for node in graph.nodes)


def is_limit_met(outcome: Outcome, limits: Limits) -> bool:
    """Whether a run made as many firings as the limit allows; with cells, fewer by reads that are deferred."""
    waiting = sum(each.blocked_on is not None for each in outcome.residue)
    return limits.max_firings - waiting <= outcome.firings <= limits.max_firings


def common_fields(outcome: Outcome, *, has_cells: bool) -> dict[str, Any]:
    """The fields of an outcome that do not depend on the order of steps."""
    stats = outcome.stats
    residue = [(each.node, each.port, each.tag, fingerprint(each.value)) for each in outcome.residue]
    fields = {
        "status": outcome.status,
        "results": [None if result is None else fingerprint(result) for result in outcome.results],
        "traps": list(map(str, outcome.traps)),
        "trapped": [with_value_bits((e.token.node, e.token.tag, e.inputs, e.trap)) for e in outcome.trap_events],
        "error": None if has_cells and outcome.status == "Deadlocked" else str(outcome.error),
        "residue": Counter(residue),
        "open": outcome.open_activations,
        "firings": stats.by_node,
        "activations": {site: count for site, count in stats.activations_by_site.items() if count},
        "deepest": stats.deepest_tag,
    }
    if not has_cells:
        fields |= {"residue": residue, "steps": stats.steps, "waiting": stats.waiting}
    return fields


def depth_profile(outcome: Outcome) -> tuple[int, ...]:
    """The number of firings of each depth, from 1, by the events of a run."""
    counts = Counter(each.depth for each in dependences(outcome.graph, outcome.events).values())
    return tuple(counts[depth] for depth in range(1, 1 + max(counts, default=0)))


def violations(
    graph: Graph, arguments: Sequence[Value], workers: int, cluster: str, limits: Limits = LIMITS, seed: int = 0
) -> Iterator[str]:
    """Where a run on workers differs from one on the reference: in its outcome, its counts or its effects. If a limit
    ends both, only the limit is compared."""
    worlds = Witness(), Witness()
    expected = run_graph(graph, arguments, limits=limits, seed=seed, world=worlds[0], keep="events")
    got = distributed_run(graph, arguments, workers, cluster, limits, seed, worlds[1])
    where = f"{workers} workers on {cluster}"
    if expected.status == "Exhausted" or got.status == "Exhausted":
        limits_reached = [getattr(outcome.error, "limit", None) for outcome in (expected, got)]
        if limits_reached[0] != limits_reached[1]:
            yield f"{where}: the limit is {limits_reached[1]} and not {limits_reached[0]}"
        elif limits_reached == ["firings", "firings"] and not is_limit_met(got, limits):
            yield f"{where}: {got.firings} firings, and the limit is {limits.firings}"
        return
    if expected.has_double_write and got.has_double_write:
        return
    has_cells = uses_cells(graph)
    yield from field_differences(expected, got, where, has_cells=has_cells)
    if got.stats.profile != depth_profile(expected):
        yield f"{where}: the profile is {got.stats.profile} and not {depth_profile(expected)}"
    if not has_cells and got.stats.profile != expected.stats.profile:
        yield f"{where}: the profile is {got.stats.profile}, that of waves {expected.stats.profile}"
    if worlds[0].lines != worlds[1].lines or with_value_bits(worlds[0].calls) != with_value_bits(worlds[1].calls):
        yield f"{where}: the effects are {worlds[1].lines}, {worlds[1].calls}; not {worlds[0].lines}, {worlds[0].calls}"


def field_differences(expected: Outcome, got: Outcome, where: str, *, has_cells: bool) -> Iterator[str]:
    """Where two outcomes differ in fields that do not depend on the order of steps."""
    fields = common_fields(got, has_cells=has_cells)
    for name, value in common_fields(expected, has_cells=has_cells).items():
        if fields[name] != value:
            yield f"{where}: {name} is {fields[name]} and not {value}"


def fast_violations(graph: Graph, arguments: Sequence[Value], workers: int, cluster: str) -> Iterator[str]:
    """Where a run on compiled workers differs from one on the reference; nothing is compared if that is too long."""
    expected = run_graph(graph, arguments, limits=LIMITS)
    if expected.status == "Exhausted":
        return
    kind = cluster.partition(":")[0]
    got = distributed_run(graph, arguments, workers, cluster, Limits(), fast_clusters=(kind,))
    where = f"{workers} compiled workers on {cluster}"
    assert got.cluster is not None and got.cluster.machine == "fast"
    yield from field_differences(expected, got, where, has_cells=False)
    if got.stats.profile != expected.stats.profile:
        yield f"{where}: the profile is {got.stats.profile} and not {expected.stats.profile}"


def log_violations(
    graph: Graph, arguments: Sequence[Value], workers: int, cluster: str, path: Path, limits: Limits = LIMITS
) -> Iterator[str]:
    """Where the log of a run on workers is not that of a run: each of its events is checked when it is read. It has the
    firings, the status and the effects of the run, and a worker for each event; a firing is on the worker that the
    timeline names, and nothing is before what it depends on."""
    job, world = Job(graph, default_structure(graph)), Witness()
    options = RunOptions(limits=limits, world=world, workers=workers, cluster=cluster, keep=path, timeline=True)
    outcome = run_on_workers(job, arguments, options)
    if outcome.has_double_write:
        return
    history = History.load(path)
    lanes, cluster_use = history.lanes, outcome.cluster
    assert lanes is not None and cluster_use is not None
    where = f"{workers} workers on {cluster}"
    if history.state.firings_by_node != list(outcome.stats.by_node):
        yield f"{where}: the log has {history.state.firings} firings and not {outcome.firings}"
    if (history.outcome().status, lanes.workers) != (outcome.status, workers):
        yield f"{where}: the log ends {history.outcome().status}, not {outcome.status}"
    if not len(lanes.ranks) == len(lanes.times) == len(history):
        yield f"{where}: {len(lanes.ranks)} workers for {len(history)} events"
    ranks = {(entry.node, entry.tag): entry.rank for entry in cluster_use.timeline if entry.kind == "firing"}
    for number, event in enumerate(history):
        if event.is_firing and lanes.ranks[number] != ranks.get((event.token.node, event.token.tag)):
            yield f"{where}: event {number} is on {lanes.title(lanes.ranks[number])}"
    if list(lanes.times) != sorted(lanes.times) and not uses_cells(graph):
        yield f"{where}: the events are not in the order of their times"
    again = Witness()
    run_graph(graph, arguments, limits=limits, world=again)
    if outcome.status != "Exhausted" and world.lines != again.lines:
        yield f"{where}: the effects are {world.lines}, not {again.lines}"
    yield from (f"{where}: {breach}" for breach in breaches(json.loads(trace_document(history))))


def channel_violations(seed: int, rounds: int = 600, rounds_of_epoch: int = 40) -> Iterator[str]:
    """Where the channels of a driver and three workers break a law, on a network that loses, repeats and delays batches
    while the driver begins one epoch after another: in each epoch, a peer gets the messages of each sender once and in
    order, and a worker gets the driver's first message before all others. In the last epoch, all of them arrive."""
    dice = Random(seed)
    ranks = [DRIVER, 0, 1, 2]
    network = FaultyNetwork(ranks, Faults(0.2, 0.3, 6, 0.0, 0), dice)
    peers = {rank: Channels(NetworkLinks(network, rank)) for rank in ranks}
    last_epoch = rounds // rounds_of_epoch
    sent: Counter[tuple[int, int, int]] = Counter()
    received: Counter[tuple[int, int, int]] = Counter()
    """The number of messages, by epoch, sender and receiver."""
    for number in range(2 * rounds):
        network.round += 1
        if number % rounds_of_epoch == 0 and number < rounds:
            peers[DRIVER].begin_epoch(peers[DRIVER].epoch + 1)
        for rank in dice.sample(ranks, len(ranks)):
            peer = peers[rank]
            for sender, message in peer.receive():
                key = peer.epoch, sender, rank
                if message != Probe(1000 * peer.epoch + received[key]):
                    yield f"{rank} gets {message} from {sender}, and not message {received[key]} of epoch {peer.epoch}"
                    return
                received[key] += 1
                if rank != DRIVER and not received[peer.epoch, DRIVER, rank]:
                    yield f"{rank} gets a message from {sender} in epoch {peer.epoch} before the driver's first"
                    return
            for receiver in peer.links.peers if peer.has_begun and number < rounds else ():
                if dice.random() < 0.3:
                    peer.send(receiver, Probe(1000 * peer.epoch + sent[peer.epoch, rank, receiver]))
                    sent[peer.epoch, rank, receiver] += 1
            peer.flush()
    for (epoch, sender, receiver), count in sent.items():
        if epoch == last_epoch and received[epoch, sender, receiver] < count:
            yield f"{receiver} gets {received[epoch, sender, receiver]} of {count} messages from {sender}"
