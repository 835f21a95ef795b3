"""The engine `distributed`: a run on several workers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import ClassVar, Literal, NamedTuple

from ....core.errors import TagloomError, Usage
from ....core.graph.graph import Graph
from ....core.value import Value
from ...image.image import MAX_DEPTH
from ...machine.fire import loop_bounds
from ...machine.schedule import BY_HAND
from ...machine.state import State
from ...outcome.outcome import ClusterUse, Outcome, build_outcome
from ...outcome.statistics import Meter
from ...outcome.worker_lanes import MAX_WORKERS
from ...records.documents import final_record
from ...records.event_sink import log_path, open_event_sink
from ..interrupt import interrupt_at_once, interrupt_between_steps
from ..limits import LimitMonitor, Limits, resolve_limits
from ..protocol import Job, RunOptions
from ..reference import admit_arguments, first_state
from .driver import CheckpointWriter, Driver
from .event_log import StampOrder, repeat_firings, require_same_firings
from .fast_worker import supports_fast_workers
from .machines import FastMachine, ReferenceMachine, WorkerMachine
from .messages import WorkerFailure
from .network import NetworkLinks, NetworkPool
from .peer import Peer
from .placement import WorkerPlacement, find_placement, require_workers
from .pool import WorkerPool
from .processes import ProcessPool
from .ray_pool import RayPool
from .run_file import (
    REQUIRED_FILE,
    SavedRun,
    prepare_path,
    read_run,
    run_digest,
    write_run,
)

SEED_END = 10**18
"""The seeds of networks are below."""
DEFAULT_WORKERS = 2
"""The number of workers, unless an option says another or the program has more devices."""


class DistributedEngine:
    """The engine `distributed`. `cluster` says where the workers are: `network`, in this process, on a network without
    faults; `network:SEED`, in this process, on a network with faults; `processes`, in processes on this host; `ray`, in
    actors of Ray."""

    name = "distributed"
    has_tokens = True
    has_workers = True
    required_options: ClassVar = {"schedule": "waves", "until": "quiet"}

    def unsupported(self, job: Job, options: RunOptions) -> str | None:
        if job.graph.has_dead_tokens:
            return "only the reference has dead tokens"
        if job.is_ill_formed:
            return "the graph breaks rules"
        if loop_bounds(job.graph, options.k):
            return "it does not support bounds on the iterations of loops, since workers do not see all iterations"
        for option, value in self.required_options.items():
            if getattr(options, option) != value:
                return f"it supports only {option}={value!r}"
        return None

    def run(self, job: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
        with interrupt_at_once():
            return run_on_workers(job, arguments, options)


def run_on_workers(
    job: Job,
    arguments: Sequence[object],
    options: RunOptions,
    *,
    fast_clusters: Sequence[str] = ("processes", "ray"),
) -> Outcome:
    """Run a validated graph on several workers until it is quiescent; the outcome says how it ended. Workers on
    `fast_clusters` are compiled, if compiled ones can run the program with these options.

    Raises Usage if the arguments, the options or the devices of the program do not fit.
    """
    if options.keep is not None and options.resume is not None:
        message, required = "the events of a resumed run cannot be kept", "keep from the beginning of a run, or none"
        hint = "a checkpoint has no events, so the first ones would be missing"
        raise Usage(message, required=required, got="resume and keep", hint=hint)
    log_path(options.keep)
    limits = resolve_limits(options.limits)
    worker_limit = None if options.workers is None else check_workers(options.workers, DEFAULT_WORKERS)
    cluster = parse_cluster(options.cluster)
    admitted_arguments = admit_arguments(job.graph, arguments)
    saved_run, write_checkpoint = open_checkpoint(job.graph, admitted_arguments, options)
    if worker_limit is None and saved_run is not None:
        worker_limit = len(saved_run.stores)
    placement = find_placement(job.graph, is_soft=options.soft_placement, worker_count=worker_limit)
    worker_count = count_workers(options.workers, placement, saved_run)
    state = first_state(job.graph, admitted_arguments, options.schedule, options.seed, options.k, options.world)
    share = worker_limits(limits, worker_count, has_processes=cluster.kind != "network")
    if cluster.kind in fast_clusters and can_compile_workers(job.graph, options, limits, placement):
        machine: WorkerMachine = FastMachine(state, worker_count, share, placement.ranks)
    else:
        has_timeline = options.timeline or options.keep is not None
        machine = ReferenceMachine(state, worker_count, share, options.seed, placement.ranks, has_timeline)
    with refuse_contradictions(options.resume), interrupt_between_steps() as interrupt:
        monitor = LimitMonitor(limits.seconds, limits.bytes, interrupt)
        has_checkpoints = write_checkpoint is not None
        with closing(start_pool(machine, cluster, worker_count, monitor, has_checkpoints=has_checkpoints)) as pool:
            start = SavedRun(machine.first_stores(), ()) if saved_run is None else saved_run
            driver = Driver(state, start, pool, limits, monitor, write_checkpoint, has_timeline=machine.has_timeline)
            driver.run_to_end()
        if getattr(driver.error, "limit", None) == "interrupt":
            interrupt.acknowledge()
        use = cluster_use(driver, placement, machine.name, has_timeline=options.timeline)
        outcome, end_state = machine.outcome(driver.take_stores(), driver.error, job.structure, use)
        return outcome if options.keep is None else keep_events(outcome, admitted_arguments, options, driver, end_state)


def can_compile_workers(graph: Graph, options: RunOptions, limits: Limits, placement: WorkerPlacement) -> bool:
    """Whether compiled workers can make a run. They have no exact limits on firings and tokens and no timeline, write
    no checkpoints to files, and the depth of their tags is bounded."""
    if limits.firings is not None or limits.tokens is not None or limits.depth > MAX_DEPTH:
        return False
    if options.timeline or options.keep is not None or options.checkpoint is not None or options.resume is not None:
        return False
    return supports_fast_workers(graph, placement.ranks)


def open_checkpoint(
    graph: Graph, arguments: Sequence[Value], options: RunOptions
) -> tuple[SavedRun | None, CheckpointWriter | None]:
    """The run that this one continues, and the function that writes checkpoints to a file; None without the options.
    Raises Usage for a file that cannot be written, or that is not a checkpoint of this run."""
    path = options.resume if options.checkpoint is None else options.checkpoint
    if path is None:
        return None, None
    prepare_path(path)
    digest = run_digest(graph, arguments, options.seed)
    saved_run = None if options.resume is None else read_run(options.resume, graph, digest)
    return saved_run, partial(write_run, path, digest)


def start_pool(
    machine: WorkerMachine, cluster: ClusterName, worker_count: int, monitor: LimitMonitor, *, has_checkpoints: bool
) -> WorkerPool:
    """Start the workers of a run. Raises Usage where that is impossible."""
    if cluster.kind == "network":

        def new_worker(links: NetworkLinks, order: str, epoch: int) -> Peer:
            return machine.new_worker(links, monitor, order, epoch)

        return NetworkPool(worker_count, cluster.seed, new_worker, has_checkpoints=has_checkpoints)
    return (ProcessPool if cluster.kind == "processes" else RayPool)(machine.job())


def cluster_use(driver: Driver, placement: WorkerPlacement, machine: str, *, has_timeline: bool) -> ClusterUse:
    """How a run that is over used its workers."""
    return ClusterUse(
        driver.worker_count,
        dict(driver.messages),
        driver.checkpoints,
        driver.deaths,
        placement.devices,
        tuple(driver.timeline) if has_timeline else (),
        unmet_constraints=placement.unmet_constraints,
        machine=machine,
    )


def keep_events(
    outcome: Outcome, arguments: Sequence[Value], options: RunOptions, driver: Driver, state: State
) -> Outcome:
    """The outcome of a run with its events, which one machine makes again: in memory, or in a log that is written."""
    assert outcome.cluster is not None and driver.recorded_effects is not None
    graph = outcome.graph
    repeated_state = State(graph, arguments, seed=options.seed)
    meter = Meter(repeated_state, is_clocked=False)
    order = StampOrder(repeated_state, driver.timeline, driver.recorded_effects)
    with open_event_sink(options.keep, graph, arguments, BY_HAND, options.seed) as sink:
        observers = [meter.observe, *sink.observers]
        error = repeat_firings(
            repeated_state, order, resolve_limits(options.limits), observers, has_ended=driver.error is not None
        )
        if error is None:
            require_same_firings(state, repeated_state)
        lanes = order.lanes(outcome.cluster.workers, outcome.cluster.devices)
        if sink.log is not None:
            record = build_outcome(
                repeated_state,
                meter.stats(),
                error or driver.error,
                options.until,
                schedule=BY_HAND,
                engine="distributed",
                structure=outcome.structure,
            )
            sink.log.write_lanes(lanes)
            sink.log.write_outcome(final_record(record))
        fields = sink.outcome_fields(repeated_state.steps)
        return replace(outcome, schedule=BY_HAND, cluster=outcome.cluster._replace(lanes=lanes), **fields)


@contextmanager
def refuse_contradictions(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Replace exceptions inside a run that continues from this file by Usage: they mean that its parts contradict each
    other, since no run leaves all of these parts together. Without a file, nothing is replaced."""
    try:
        yield
    except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError, WorkerFailure) as error:
        if path is None or (isinstance(error, TagloomError) and not isinstance(error, WorkerFailure)):
            raise
        message, hint = "no run can resume from this checkpoint", "its parts contradict each other"
        raise Usage(message, required=REQUIRED_FILE, got=os.fspath(path), hint=hint) from error


def worker_limits(limits: Limits, worker_count: int, *, has_processes: bool) -> Limits:
    """The share of a worker in the limits: on tokens, and on bytes if it is a process. The driver deals out firings,
    and watches the clock."""
    tokens = None if limits.tokens is None else limits.tokens // worker_count
    memory = limits.bytes // worker_count if has_processes else limits.bytes
    return replace(limits, firings=None, seconds=None, tokens=tokens, bytes=memory)


def count_workers(workers: int | None, placement: WorkerPlacement, saved_run: SavedRun | None) -> int:
    """The number of workers of a run. Raises Usage if it is invalid, if the program has more devices, and if a run that
    is continued has another number of workers."""
    default = max(DEFAULT_WORKERS, len(placement.devices)) if saved_run is None else len(saved_run.stores)
    count = check_workers(workers, default)
    require_workers(placement, count)
    if saved_run is not None and count != default:
        raise Usage("this is not the number of workers of the checkpoint", required=str(default), got=str(count))
    return count


def check_workers(workers: int | None, default: int) -> int:
    """The number of workers; raises Usage for an invalid one."""
    if workers is None:
        return default
    if not isinstance(workers, int) or isinstance(workers, bool) or not 1 <= workers <= MAX_WORKERS:
        required = f"an integer from 1 to {MAX_WORKERS}"
        python = ValueError if isinstance(workers, int) and not isinstance(workers, bool) else TypeError
        raise Usage("this is not a number of workers", required=required, got=repr(workers), python=python)
    return workers


class ClusterName(NamedTuple):
    """Where the workers are. `seed` is the seed of a network with faults, or None."""

    kind: Literal["network", "processes", "ray"]
    seed: int | None = None


def parse_cluster(cluster: str | None) -> ClusterName:
    """The cluster of this name; raises Usage for an unknown one."""
    required = "network, network:SEED, processes, ray"
    if cluster is not None and not isinstance(cluster, str):
        raise Usage("cluster must be a string", required=required, got=repr(cluster), python=TypeError)
    match ("network" if cluster is None else cluster).partition(":"):
        case ("processes" | "ray") as kind, "", "":
            return ClusterName(kind)
        case "network", "", "":
            return ClusterName("network")
        case "network", ":", seed:
            if seed.isascii() and seed.isdigit() and len(seed) <= len(str(SEED_END - 1)):
                return ClusterName("network", int(seed))
            required_seed = f"an integer from 0 to {SEED_END - 1}, as in cluster='network:7'"
            raise Usage("this is not the seed of a network", required=required_seed, got=repr(seed))
    raise Usage(f"no cluster is called {cluster!r}", required=required, hint="as in cluster='network:7'")


ENGINE = DistributedEngine()
