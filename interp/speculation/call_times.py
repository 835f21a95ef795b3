"""Times of calls: they show whether calls of a function take longer in its graph than in Python.

Now and then, a round of calls is timed, in the graph and in Python in turn. A round is slow if the graph takes more
than `MAX_RATIO` times as long. A function stays in Python after two slow rounds; a round in which the graph takes no
longer than Python resets the count. The gap before the next round is `FIRST_GAP` after a slow round, and doubles, up to
`MAX_GAP`, after any other.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from statistics import median

MAX_RATIO = 1.2
"""The largest ratio of the time in the graph to that in Python for which a function stays in its graph."""
ROUND_CALLS = 5
"""The number of calls of a round in the graph, and of those in Python."""
MAX_SLOW_ROUNDS = 2
"""The number of slow rounds after which a function stays in Python."""
FIRST_GAP, MAX_GAP = 16, 4096
"""The number of calls in the graph before the first round, and the largest number between two rounds."""

read_clock = time.perf_counter
"""The time in seconds."""


@dataclass
class CallTimes:
    """The times of the calls of a round, in seconds, and the number of calls until the next round."""

    graph: list[float] = field(default_factory=list)
    python: list[float] = field(default_factory=list)
    gap: int = FIRST_GAP
    calls_left: int = FIRST_GAP
    """The number of calls in the graph until the round begins."""
    slow_rounds: int = 0
    medians: tuple[float, float] | None = None
    """The times of a call in the graph and in Python, in the last whole round."""

    def reset(self) -> None:
        """Drop the times and the count of slow rounds, since the graph is a new one."""
        self.graph, self.python, self.gap, self.calls_left, self.slow_rounds = [], [], FIRST_GAP, FIRST_GAP, 0

    def is_python_next(self) -> bool:
        """Whether the next call runs in Python, to be timed."""
        return self.calls_left == 0 and len(self.python) < len(self.graph)

    def note(self, is_graph: bool, seconds: float) -> None:
        """Note the time of a call; the last one of a round ends it.

        >>> times = CallTimes(calls_left=0)
        >>> for _ in range(5):
        ...     times.note(True, 0.003)
        ...     times.note(False, 0.002)
        >>> times.medians, times.slow_rounds, times.calls_left
        ((0.003, 0.002), 1, 16)
        """
        if self.calls_left:
            self.calls_left -= is_graph
            return
        (self.graph if is_graph else self.python).append(seconds)
        if len(self.python) == ROUND_CALLS:
            self._end_round()

    def _end_round(self) -> None:
        graph, python = self.medians = median(self.graph), median(self.python)
        if graph > MAX_RATIO * python:
            self.slow_rounds += 1
            self.gap = FIRST_GAP
        else:
            self.slow_rounds *= graph > python  # between 1 and MAX_RATIO, the count stays
            self.gap = min(2 * self.gap, MAX_GAP)
        self.graph, self.python, self.calls_left = [], [], self.gap

    @property
    def is_too_slow(self) -> bool:
        """Whether the function should stay in Python."""
        return self.slow_rounds >= MAX_SLOW_ROUNDS

    def __str__(self) -> str:
        if self.medians is None:
            return "not measured"
        graph, python = (f"{1000 * seconds:.3g} ms" for seconds in self.medians)
        return f"{graph} in the graph, {python} in Python"
