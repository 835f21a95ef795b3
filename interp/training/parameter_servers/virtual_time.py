"""The time of steps of a training with parameter servers, in virtual time: a model, drawn at random, of any size.

In a step, a worker fetches values, works, and pushes a gradient. To fetch or to push, it sends a message to each
server, one after another. A message travels for a time that varies. A server handles messages in the order of their
arrival, and sends its part of the values. The answer travels back, and the worker takes the answers one after another.
The step ends when enough workers have pushed: all, or, with backup workers, the first ones.

The parameters of `STEP_KINDS` are fitted to the medians that "TensorFlow: a system for large-scale machine learning"
(Abadi and others, OSDI 2016), sections 6.2 and 6.3, reports. Times are in milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ....core.errors import Usage

Times: TypeAlias = npt.NDArray[np.float64]
MAX_MESSAGES = 10**7
"""The most messages of a step: some seconds, and a gigabyte."""
MIN_DEFAULT_STEPS, MAX_DEFAULT_STEPS, MESSAGES_OF_RUN = 9, 200, 2 * 10**6
"""The numbers of steps that are drawn by default, and about how many messages they have together."""
MAX_STEPS = 10**6
"""The most steps that can be drawn: their times are kept."""


class StepKind(NamedTuple):
    """The parameters of a step."""

    message: float = 0.033
    """The time that a worker needs to send or take a message."""
    latency: float = 0.10
    latency_spread: float = 0.22
    """How long a message travels: the median, and the deviation of its logarithm."""
    handling: float = 0.042
    """The time that a server needs for a message."""
    size: float = 0.0
    """The bytes that a worker fetches, from all servers together."""
    server_rate: float = 0.98e6
    worker_rate: float = 0.89e6
    """The bytes that a server sends, and a worker takes, in a millisecond."""
    work: float = 0.07
    """The time that a worker computes."""
    straggling: str = "none"
    """The factor by which `work` varies (`straggling_factors`)."""
    backup: float = 0.0
    """The time that each backup worker adds to a step."""
    published: Mapping[int, float] = MappingProxyType({})
    """Published medians, by the number of workers or, for the kind `backup`, of backup workers."""


STEP_KINDS: Mapping[str, StepKind] = {
    "null": StepKind(published={1: 1.8, 100: 8.8}),
    "dense-100MB": StepKind(size=100e6, published={1: 147.0, 100: 613.0}),
    "dense-1GB": StepKind(size=1e9, published={1: 1010.0, 100: 7160.0}),
    "sparse": StepKind(handling=0.046, work=4.0, straggling="lognormal:0.4", published={1: 5.0, 100: 20.0}),
    "backup": StepKind(
        message=0.0,
        latency=0.0,
        handling=0.0,
        work=1650.0,
        straggling="lognormal:0.034+slow:0.15:0.136",
        backup=27.0,
        published={4: 1930.0},
    ),
}
"""The kinds of steps of the paper: steps that compute nothing and fetch a scalar, 100 MB, 1 GB, or some rows of a
table; and steps of Inception, with 50 workers and backup workers."""
STRAGGLING_REQUIRED = (
    "none, or terms joined by +: lognormal:SIGMA, exponential:MEAN, pareto:ALPHA, slow:PROBABILITY:MEAN"
)


def straggling_factors(straggling: str, count: int, generator: np.random.Generator) -> Times:
    """For each of `count` workers, the factor by which its work takes longer: the product of all terms.

    `lognormal:S` is exp(S z) for a normal z; `exponential:M` is 1 + e for an e of mean M; `pareto:A` is u^(-1/A) for a
    uniform u; `slow:P:M` is 1 + e for a share P of the workers, and 1 for the others. Raises Usage for other words.

    >>> straggling_factors("none", 2, np.random.default_rng(0))
    array([1., 1.])
    """
    factors = np.ones(count)
    for term in () if straggling == "none" else straggling.split("+"):
        match read_term(term):
            case "lognormal", sigma:
                factors *= np.exp(sigma * generator.standard_normal(count))
            case "exponential", mean:
                factors *= 1.0 + mean * generator.standard_exponential(count)
            case "pareto", alpha if alpha > 0.0:
                factors *= (1.0 - generator.random(count)) ** (-1.0 / alpha)
            case "slow", probability, mean if probability <= 1.0:
                is_slow = generator.random(count) < probability
                factors *= 1.0 + is_slow * mean * generator.standard_exponential(count)
            case _:
                raise Usage("this is not a distribution of stragglers", required=STRAGGLING_REQUIRED, got=straggling)
    return factors


def read_term(term: str) -> tuple[Any, ...]:
    """The name and the numbers of a term; () if it has others than numbers from 0."""
    name, *words = term.split(":")
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return ()
    return (name, *numbers) if all(0.0 <= number < math.inf for number in numbers) else ()


def queue_ends(arrivals: Times, time: float) -> Times:
    """When messages that arrive at these times, along the first axis, are done by the server of their column, which
    handles them in the order of arrival; each takes `time`.

    A message is done after its own time and the times of all before it since the server was last idle. So the ends are
    a running maximum of arrivals, each less the time of the messages before it.

    >>> queue_ends(np.array([[3.0], [0.0], [0.5]]), 1.0)[:, 0]
    array([4., 1., 2.])
    """
    order = np.argsort(arrivals, axis=0, kind="stable")
    earlier = time * np.arange(len(arrivals))[:, None]
    ends = time + earlier + np.maximum.accumulate(np.take_along_axis(arrivals, order, axis=0) - earlier, axis=0)
    result = np.empty_like(ends)
    np.put_along_axis(result, order, ends, axis=0)
    return result


def step_time(kind: StepKind, workers: int, servers: int, backups: int, generator: np.random.Generator) -> float:
    """The time of a step that needs `workers` gradients and has this number of backup workers. Raises Usage where that
    is not possible, or too large to draw."""
    if workers < 1 or servers < 1 or backups < 0:
        required, got = "workers and servers from 1, backup workers from 0", (workers, servers, backups)
        raise Usage("this training has no steps", required=required, got=got)
    count = workers + backups
    if count * servers > MAX_MESSAGES:
        required = f"at most {MAX_MESSAGES:,} messages to servers at a time"
        raise Usage("this step is too large", required=required, got=f"{count:,} workers and {servers:,} servers")

    def draw_latencies() -> Times:
        return kind.latency * np.exp(kind.latency_spread * generator.standard_normal((count, servers)))

    def exchange(starts: Times, size: float) -> Times:
        """When workers that start at these times have the answers of all servers, which send `size` bytes."""
        part = size / servers
        sent = starts[:, None] + kind.message * np.arange(1, servers + 1)
        answered = queue_ends(sent + draw_latencies(), kind.handling + part / kind.server_rate) + draw_latencies()
        ends: Times = np.max(queue_ends(answered.T, kind.message + part / kind.worker_rate), axis=0)
        return ends

    fetched = exchange(np.zeros(count), kind.size)
    work = kind.work * straggling_factors(kind.straggling, count, generator)
    pushed: Times = np.sort(exchange(fetched + work, 0.0))
    return float(pushed[workers - 1] + kind.backup * backups)


def step_times(
    kind: StepKind, workers: int, servers: int, backups: int = 0, steps: int | None = None, seed: int = 0
) -> tuple[float, ...]:
    """The times of some steps, by default of at most 200, and of fewer the larger they are. The same seed gives the
    same times. Raises Usage as `step_time` does, and for more than MAX_STEPS."""
    if steps is not None and steps > MAX_STEPS:
        raise Usage("these steps are too many", required=f"at most {MAX_STEPS:,}", got=steps)
    if steps is None:
        steps = max(MIN_DEFAULT_STEPS, min(MAX_DEFAULT_STEPS, MESSAGES_OF_RUN // max((workers + backups) * servers, 1)))
    generator = np.random.default_rng([seed, workers, servers, backups])
    return tuple(step_time(kind, workers, servers, backups, generator) for _ in range(steps))
