"""From what size of run workers pay: `python tests/benchmarks/workers.py [LARGEST] [--ray] [--placed] [--svg FILE]`.

The table has the seconds of runs of fib(N): on one core of `fast`, and on two compiled workers in processes or, with
--ray, on Ray; medians of three runs. "Start included" are the whole calls, "start excluded" lacks the time of a call
for fib(1), in which nothing but the start takes time. Then come the speed-up of fib(34), the processor time per firing
as a multiple of one core's, and the messages of fib(30). The driver also passes on arrays of tokens to two workers, in
batches below 100 kB, and the tokens per second are printed. Without other work on the machine,
this takes less than six minutes.

With --computed, times are processor times, those of two workers divided by two: the time on an idle host, if both
always have work. So other work of the machine does not matter.

With --reference, the table is that of workers that are reference machines, for small runs, on a network in this
process, in processor time.

With --placed, the table is that of a binary tree whose calls are on one device and whose arithmetic is on another. Its
tokens are the operands and outputs of the placed nodes, three a firing. LARGEST is the depth of the tree.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import tagloom as tl
from tagloom.interp.engines.distributed.channels import Channels
from tagloom.interp.engines.distributed.fast_worker import fast_job, first_fast_stores
from tagloom.interp.engines.distributed.messages import Batch, CoreMessages, Pause, Probe, Report, Restore, encode_batch
from tagloom.interp.engines.distributed.pool import ForwardingPool
from tagloom.interp.engines.distributed.processes import ProcessPool
from tagloom.interp.engines.distributed.ray_pool import RayPool
from tagloom.interp.engines.fast.parallel.run import ParallelRun
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import first_state
from tagloom.interp.outcome.outcome import Outcome

SIZES = (16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36)
SPEED_SIZE = 34
"""The run whose speed-up and processor time are printed, unless it is larger than LARGEST."""
TREE_DEPTH = 20
"""The depth of the tree of placed nodes, unless LARGEST is smaller."""
REFERENCE_SIZES = (10, 12, 14, 16, 18, 20, 22)
RUNS = 3
WORKERS = 2
MESSAGES = ("TokenTransfer", "CloseNotice", "WorkRequest", "CoreMessages", "ProxyRequest", "WorkRefusal")
BATCH_TOKENS, BATCHES = 1_500, 1_000
"""The tokens of a batch, 96 kB, and the number of batches."""
ONE_CORE = {"engine": "fast", "cores": 1}


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def tree(n: tl.int64) -> tl.int64:
    with tl.device("/job:worker/task:0"):
        if n <= 0:
            return 1
        a = tree(n - 1)
        b = tree(n - 1)
        with tl.device("/job:ps/task:1"):
            return a + 3 * b


def run(n: int, function: Any = fib, **options: Any) -> Outcome:
    """A run that must return."""
    outcome: Outcome = function.run(n, **options)
    assert outcome.status == "Returned", outcome.error
    return outcome


def workers_of(cluster: str, count: int = WORKERS) -> dict[str, Any]:
    """The options of a run on compiled workers."""
    return {"engine": "distributed", "cluster": cluster, "workers": count}


def median_of(clock: Callable[[], float], n: int, **options: Any) -> float:
    """The median time of several runs by a clock."""
    times = []
    for _ in range(RUNS):
        before = clock()
        run(n, **options)
        times.append(clock() - before)
    return median(times)


def processor_seconds() -> float:
    """The processor time of this process, and of the processes that it has started, all of which are about to end."""
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)  # else their time counts later
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def work_messages(outcome: Outcome) -> int:
    """The number of messages between the workers of a run."""
    assert outcome.cluster is not None
    return sum(outcome.cluster.messages.get(name, 0) for name in MESSAGES)


def print_curve(
    sizes: Sequence[int], clusters: Sequence[str], *, is_computed: bool
) -> dict[str, list[tuple[int, float]]]:
    """Print the table of compiled workers; returns its curves: firings and seconds, by name."""
    clock, share = (processor_seconds, WORKERS) if is_computed else (time.perf_counter, 1)
    run(5, **ONE_CORE)
    starts = {}
    for cluster in clusters:
        run(1, **workers_of(cluster))
        starts[cluster] = median_of(clock, 1, **workers_of(cluster)) / share
    heads = [f"{cluster}, start included | start excluded" for cluster in clusters]
    print("| run | firings | one core |", " | ".join([*heads, "messages"]), "|")
    print("|---" * (4 + 2 * len(clusters)), end="|\n")
    curves: dict[str, list[tuple[int, float]]] = {name: [] for name in ("one core", *clusters)}
    for n in sizes:
        outcome = run(n, **workers_of("processes"))
        core = median_of(clock, n, **ONE_CORE)
        curves["one core"].append((outcome.firings, core))
        cells = []
        for cluster in clusters:
            seconds = median_of(clock, n, **workers_of(cluster)) / share
            curves[cluster].append((outcome.firings, seconds))
            cells += [f"{seconds:.3f}", f"{max(seconds - starts[cluster], 0):.3f}"]
        print(
            f"| fib({n}) | {outcome.firings:,} | {core:.3f} |", " | ".join([*cells, str(work_messages(outcome))]), "|"
        )
    for cluster in clusters:
        speed_up = curves["one core"][-1][1] / (curves[cluster][-1][1] - starts[cluster])
        print(
            f"\nfib({sizes[-1]}), {cluster}: a start takes {starts[cluster]:.2f} s; speed-up without it {speed_up:.2f}"
        )
    return curves


def print_processor_time(n: int) -> None:
    """Print the processor time per firing of one and two workers in processes, as a multiple of one core's."""
    run(5, **ONE_CORE)
    core = median_of(processor_seconds, n, **ONE_CORE)
    for count in (1, WORKERS):
        options = workers_of("processes", count)
        work = median_of(processor_seconds, n, **options) - median_of(processor_seconds, 1, **options)
        print(f"fib({n}), {count} in processes: {work / core:.2f} times the processor time of one core")


def print_token_rate(pool_class: Callable[[dict[str, Any]], ForwardingPool]) -> None:
    """Print how many tokens per second the driver passes on to two paused workers, in batches of BATCH_TOKENS."""
    stores = first_fast_stores(ParallelRun(first_state(fib.graph, [5], "waves"), Limits(), WORKERS))
    rows = np.arange(8 * BATCH_TOKENS, dtype=np.int64).reshape(-1, 8)
    with closing(pool_class(fast_job(fib.graph, WORKERS, Limits()))) as pool:  # type: ignore[type-var]
        channels = Channels(pool)
        channels.begin_epoch(1)
        for rank in range(WORKERS):
            channels.send(rank, Restore(stores[rank], None))
            channels.send(rank, Pause())
        wait_for_batches(pool, channels, 0)
        begin = time.perf_counter()
        for number in range(BATCHES):
            sender = number % WORKERS
            batch = Batch(1, sender, 1 + number // WORKERS, 0, (CoreMessages(rows),))
            pool.post((sender + 1) % WORKERS, encode_batch(batch))
            if number % 8 == 7:
                pool.advance()
        wait_for_batches(pool, channels, BATCHES)
        seconds = time.perf_counter() - begin
    rate = BATCHES * BATCH_TOKENS / seconds
    print(f"{pool_class.__name__}: {rate:,.0f} tokens/s in batches of {rows.nbytes:,} bytes", flush=True)


def wait_for_batches(pool: ForwardingPool, channels: Channels, count: int) -> None:
    """Wait until the workers have taken so many batches."""
    reports: dict[int, int] = {}
    while len(reports) < WORKERS or sum(reports.values()) < count:
        for rank in range(WORKERS):
            channels.send(rank, Probe(0))
        channels.flush()
        assert not pool.advance(), "a worker has died"
        for rank, message in channels.receive():
            if isinstance(message, Report):
                reports[rank] = message.received_count


def print_placed_table(depth: int, clusters: Sequence[str]) -> None:
    """Print how fast two workers exchange the tokens of placed nodes."""
    run(5, tree, **ONE_CORE)
    core = median_of(processor_seconds, depth, function=tree, **ONE_CORE)
    tokens = 3 * 2 * (2**depth - 1)
    print(f"tree({depth}), {tokens:,} tokens; one core of `fast`: {core:.1f} s of processor time\n")
    print("| workers | seconds without the start | tokens per second |")
    print("|---|---|---|")
    for cluster in clusters:
        run(1, tree, **workers_of(cluster))
        start, seconds = (median_of(time.perf_counter, n, function=tree, **workers_of(cluster)) for n in (1, depth))
        print(f"| two, {cluster} | {seconds - start:.1f} | {tokens / (seconds - start):,.0f} |", flush=True)


def print_reference_table(sizes: Sequence[int]) -> None:
    """Print the table of workers that are reference machines."""
    for options in ({"engine": "reference"}, {"engine": "distributed"}):
        run(5, **options)
    print("| run | firings | us a firing, reference | processor time: 1 worker | 2 workers | messages |")
    print("|---|---|---|---|---|---|")
    for n in sizes:
        outcome = run(n, engine="distributed", workers=WORKERS)
        base = median_of(processor_seconds, n, engine="reference")
        one, two = (
            median_of(processor_seconds, n, engine="distributed", workers=count) / base for count in (1, WORKERS)
        )
        micros = 1e6 * base / outcome.firings
        print(f"| fib({n}) | {outcome.firings:,} | {micros:.1f} | {one:.2f} | {two:.2f} | {work_messages(outcome)} |")


def draw_curves(curves: dict[str, list[tuple[int, float]]]) -> str:
    """The curves as SVG, with logarithmic axes."""
    width, height, left, bottom = 680, 400, 70, 50
    x_names = {4: "10,000", 5: "100,000", 6: "1 million", 7: "10", 8: "100", 9: "1,000 million"}
    points = [point for curve in curves.values() for point in curve]
    (x_low, x_high), (y_low, y_high) = (
        (np.floor(np.log10(min(column))), np.ceil(np.log10(max(column)))) for column in zip(*points, strict=True)
    )

    def place(firings: float, seconds: float) -> tuple[float, float]:
        x = left + (np.log10(firings) - x_low) / (x_high - x_low) * (width - left - 150)
        y = height - bottom - (np.log10(seconds) - y_low) / (y_high - y_low) * (height - bottom - 20)
        return round(float(x), 1), round(float(y), 1)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="13"><title>Seconds of a run on one core and on two workers, by firings</title>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for power in range(int(x_low), int(x_high) + 1):
        x = place(10.0**power, 10.0**y_low)[0]
        lines.append(f'<path d="M{x} 20V{height - bottom}" stroke="#dddddd"/>')
        lines.append(f'<text x="{x}" y="{height - bottom + 18}" text-anchor="middle">{x_names.get(power, "")}</text>')
    for power in range(int(y_low), int(y_high) + 1):
        y = place(10.0**x_low, 10.0**power)[1]
        lines.append(f'<path d="M{left} {y}H{width - 150}" stroke="#dddddd"/>')
        lines.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{10.0**power:g}</text>')
    lines.append(f'<text x="{(left + width - 150) / 2}" y="{height - 10}" text-anchor="middle">firings</text>')
    lines.append(f'<text x="{left - 6}" y="14" text-anchor="end">seconds</text>')
    label_ys: list[float] = []
    coloured_curves = zip(curves.items(), ("#222222", "#0072b2", "#d55e00"), strict=False)
    for (name, curve), colour in sorted(
        coloured_curves, key=lambda item: -item[0][1][-1][1]
    ):  # labels from the top down
        path = "L".join(f"{x} {y}" for x, y in (place(*point) for point in curve))
        x, y = place(*curve[-1])
        while any(abs(y - other) < 15 for other in label_ys):
            y += 1
        label_ys.append(y)
        label = name if name == "one core" else f"two workers, {name}"
        lines.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        lines.append(f'<text x="{x + 6}" y="{y + 4}" fill="{colour}">{label}</text>')
    return "\n".join([*lines, "</svg>\n"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("largest", nargs="?", type=int, default=SIZES[-1])
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--computed", action="store_true")
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--placed", action="store_true")
    parser.add_argument("--svg", type=Path)
    options = parser.parse_args()
    print(f"{date.today()}, {os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f}\n", flush=True)
    if options.reference:
        print_reference_table([size for size in REFERENCE_SIZES if size <= options.largest])
        return
    if options.placed:
        print_placed_table(min(TREE_DEPTH, options.largest), ("processes", "ray") if options.ray else ("processes",))
        return
    sizes = [size for size in SIZES if size <= options.largest]
    if not options.computed:
        print_processor_time(min(SPEED_SIZE, options.largest))  # first, since Ray starts processes that do not end
        messages = work_messages(run(30, **workers_of("processes")))
        print(f"fib(30), two workers in processes: {messages} messages\n", flush=True)
    clusters = ("processes", "ray") if options.ray and not options.computed else ("processes",)
    curves = print_curve(sizes, clusters, is_computed=options.computed)
    if options.svg is not None:
        options.svg.write_text(draw_curves(curves), encoding="utf-8")
    if options.computed:
        return
    print()
    print_token_rate(ProcessPool)
    if options.ray:
        print_token_rate(RayPool)


if __name__ == "__main__":
    main()
