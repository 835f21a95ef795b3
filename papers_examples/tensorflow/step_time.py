"""The time of a synchronous step with parameter servers, in virtual time: a simulation that is itself a program.

A step fetches parameters, works, and pushes a gradient. To fetch or push, a worker sends a message to all servers, one
after another; a message takes a latency that varies; a server handles what arrives in turn; its answer travels back,
and the worker takes the answers in turn. The step ends with the slowest worker. In a null step nothing is computed from
the parameters. Its time is the price of coordination: it grows with the number of workers, since each server handles a
message of each, and with the bytes that the servers send.

A queue needs no loop. A message is done after its own time and those of all before it since the server was last idle,
so the ends are a running maximum (`cummax`) of the arrivals, less the time of what came before.

    python papers_examples/tensorflow/step_time.py

Source: "TensorFlow: a system for large-scale machine learning" (Abadi and others, OSDI 2016), section 6.2: medians of
null steps with 16 servers; from a description. The parameters are ours, fitted to both ends of each row. The published
times of the two dense rows with one worker differ by a factor of 7 for ten times the bytes, so both cannot fit.
"""

import statistics
from typing import NamedTuple

import tagloom as tl

SERVERS = 16
SEND, LATENCY, SPREAD = 0.033, 0.10, 0.22
"""The milliseconds of sending or taking a message, and of its way; and the deviation of the logarithm of the latter."""
SERVER_RATE, WORKER_RATE = 0.98e6, 0.89e6
"""The bytes in a millisecond that a server sends, and that a worker takes."""


class Kind(NamedTuple):
    """A kind of step: the bytes that a worker fetches, the milliseconds in which a server handles a message, those of
    the worker's own work, and the deviation of the logarithm of the latter."""

    size: float
    handling: float
    work: float
    spread: float


SCALAR = Kind(0.0, 0.042, 0.07, 0.0)
KINDS = {
    "scalar": (SCALAR, "1.8 and 8.8"),
    "dense, 100 MB": (Kind(100e6, 0.042, 0.07, 0.0), "147 and 613"),
    "dense, 1 GB": (Kind(1e9, 0.042, 0.07, 0.0), "1,010 and 7,160"),
    "sparse": (Kind(0.0, 0.046, 4.0, 0.4), "5 and 20"),
}
"""The kinds of steps, and the published medians with 1 and with 100 workers."""


def queue(arrivals, time):
    """When what arrives at these times, along the first axis, is done by the server of its column; all take `time`."""
    order = tl.argsort(arrivals, axis=0)
    earlier = time * tl.astype(tl.arange(arrivals.shape[0]), tl.float64)[:, None]
    ends = time + earlier + tl.cummax(tl.take_along_axis(arrivals, order, axis=0) - earlier, axis=0)
    return tl.take_along_axis(ends, tl.argsort(order, axis=0), axis=0)


def latencies(key, workers):
    return LATENCY * tl.exp(SPREAD * tl.normal_at(key, 0, shape=(workers, SERVERS)))


def exchange(starts, key, handling, size):
    """When each worker, which starts at this time, has the answers of all servers, which have `size` bytes together."""
    workers, part = starts.shape[0], size / SERVERS
    sent = starts[:, None] + SEND * (1.0 + tl.astype(tl.arange(SERVERS), tl.float64))
    answer_times = queue(sent + latencies(key, workers), handling + part / SERVER_RATE) + latencies(key + 1, workers)
    return tl.max(queue(tl.permute_dims(answer_times, (1, 0)), SEND + part / WORKER_RATE), axis=0)


def step(kind, workers, key):
    """The milliseconds of a step."""
    fetch_times = exchange(tl.zeros(workers), key, kind.handling, kind.size)
    work = kind.work * tl.exp(kind.spread * tl.normal_at(key + 2, 0, shape=workers))
    return tl.max(exchange(fetch_times + work, key + 3, kind.handling, 0.0))


@tl.function
def main(key: tl.int64) -> tl.float64:
    """A scalar step of 100 workers."""
    return step(SCALAR, 100, key)


EXPECTED = [{"run": ("main", 0), "result": 8.837880607085355, "size": "quick"}]

HEADING = [
    "| what a worker fetches | 1 worker | 10 | 25 | 50 | 100 | published, 1 and 100 |",
    "|---|---|---|---|---|---|---|",
]


def median(kind, workers):
    """The median of 15 steps."""
    return statistics.median(float(step(kind, workers, 5 * number)) for number in range(15))


def table() -> list[str]:
    """The rows of the README's table."""
    rows = []
    for name, (kind, published) in KINDS.items():
        times = [median(kind, workers) for workers in (1, 10, 25, 50, 100)]
        cells = (f"{time:.2f}" if time < 100 else f"{time:,.0f}" for time in times)
        rows.append(f"| {name} | {' | '.join(cells)} | {published} |")
    return rows


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
