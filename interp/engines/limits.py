"""Limits: the checks that end a run before it takes too long, or too much memory. This module has the limits, the
measurement of memory, and the checks of the clock, memory and Ctrl-C between two steps.
"""

from __future__ import annotations

import math
import os
import resource
import sys
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from ...core.errors import Exhausted, Usage
from ..machine.event import Event
from ..outcome.outcome import limit_exceeded
from .interrupt import Interrupt

CLOCK_CHECK_STEPS = 64
"""The number of steps between two reads of the clock, which take 0.1 us each; an op on arrays causes one at once."""
MEMORY_CHECK_STEPS = 4096
"""The number of steps between two reads of the memory in use, which take 20 us each."""
LARGE_RESULT_BYTES = 2**20
"""Results of this many bytes together cause a check at once."""


def resident_memory() -> int:
    """The resident memory of this process in bytes; where the system does not report it, the peak so far."""
    try:
        file = os.open("/proc/self/statm", os.O_RDONLY)  # Python's own file objects take twice as long
        try:
            return int(os.read(file, 200).split()[1]) * resource.getpagesize()
        finally:
            os.close(file)
    except (OSError, IndexError, ValueError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


@cache
def statm_file() -> int:
    """A file descriptor of /proc/self/statm, from which machine code reads the resident memory; -1 where there is
    none."""
    try:
        return os.open("/proc/self/statm", os.O_RDONLY)
    except OSError:
        return -1


def _reopen_statm_in_child() -> None:
    """Close the file in a forked child: it belongs to the parent."""
    if statm_file.cache_info().currsize and statm_file() >= 0:
        os.close(statm_file())
    statm_file.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reopen_statm_in_child)

_RESIDENT_MAX_AGE = 0.02
_last_resident = (-_RESIDENT_MAX_AGE, 0)


def recent_resident_memory() -> int:
    """The resident memory, measured at most 20 ms ago: to measure it takes 5 us."""
    global _last_resident
    now = time.monotonic()
    if now - _last_resident[0] >= _RESIDENT_MAX_AGE:
        _last_resident = (now, resident_memory())
    return _last_resident[1]


@cache
def machine_memory() -> int:
    """The memory of this machine in bytes, or the part that the process may use."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(total, int(Path("/sys/fs/cgroup/memory.max").read_bytes()))
    except (OSError, ValueError):
        return total


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that end a run. By default depth and memory are limited, which protects the machine; firings, tokens
    and seconds are not. Firings, tokens and depth are exact."""

    firings: int | None = None
    """The number of firings, or None for no limit."""
    tokens: int | None = None
    """Tokens alive at once, in flight, waiting, in deferred reads, and throttled; or None for no limit."""
    depth: int = 250_000
    """The depth of a tag: the number of nested calls and loops."""
    bytes: int = field(default_factory=lambda: machine_memory() // 2)
    """The resident memory of the process, in bytes; by default half of the machine's memory."""
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("firings", "tokens", "depth", "bytes"):
            number = getattr(self, name)
            if number is None and name in ("firings", "tokens"):
                continue
            if not isinstance(number, int) or isinstance(number, bool) or number < 0:
                raise Usage(f"the limit on {name} must be an integer from 0 up", got=repr(number))
        if self.seconds is not None and not (type(self.seconds) in (int, float) and 0 <= self.seconds < math.inf):
            raise Usage("the limit on seconds must be a number from 0 up", got=repr(self.seconds))

    @property
    def max_firings(self) -> float:
        """The greatest number of firings; infinite if there is no limit."""
        return math.inf if self.firings is None else self.firings

    @property
    def max_tokens(self) -> float:
        """The greatest number of tokens alive at once; infinite if there is no limit."""
        return math.inf if self.tokens is None else self.tokens


def resolve_limits(limits: Limits | None) -> Limits:
    """The given limits, or the defaults; raises Usage for invalid ones."""
    if limits is not None and not isinstance(limits, Limits):
        raise Usage(
            "limits must be tl.Limits", required="limits=tl.Limits(firings=1000)", got=repr(limits), python=TypeError
        )
    return default_limits() if limits is None else limits


@cache
def default_limits() -> Limits:
    """The limits of a run for which the caller names none."""
    return Limits()


class LimitMonitor:
    """Checks between two steps whether a run must end: it has reached its limit of seconds or bytes, or Ctrl-C was
    pressed."""

    def __init__(self, seconds: float | None, memory_limit: int, interrupt: Interrupt) -> None:
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.memory_limit = memory_limit
        self.interrupt = interrupt
        self._unmeasured_bytes = 0
        """The bytes of the arrays that were made since memory was measured."""

    def exceeded_limit(self, steps: int, event: Event | None) -> str | None:
        """The name of the limit that is exceeded after `steps` steps, where `event` was the last; None if none is."""
        if self.interrupt.is_requested:
            return "interrupt"
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return "seconds"
        self._unmeasured_bytes += result_bytes(event)
        if steps % MEMORY_CHECK_STEPS == 0 or self._unmeasured_bytes >= LARGE_RESULT_BYTES:
            self._unmeasured_bytes = 0
            if resident_memory() > self.memory_limit:
                return "bytes"
        return None


def result_bytes(event: Event | None) -> int:
    """The bytes of the array that an event made; 0 if it made none."""
    if event is None or not event.outputs:
        return 0
    value = event.outputs[0][1]
    return value.nbytes if isinstance(value, np.ndarray) else 0


def depth_error(limits: Limits, engine: str, maximum: int) -> Exhausted:
    """The error for the limit on depth, or for the maximal depth that the engine supports, if that is less."""
    error = limit_exceeded("nested calls and loops", "depth", min(limits.depth, maximum))
    if limits.depth > maximum:
        error.hint = f'engine {engine} supports no more; engine="reference" does'
    return error


def external_limit_error(name: str, limits: Limits) -> Exhausted:
    """The error for a limit of the clock or memory, or for Ctrl-C."""
    if name == "seconds":
        return limit_exceeded("time, in seconds", "seconds", limits.seconds or 0)
    if name == "bytes":
        return limit_exceeded("bytes of memory", "bytes", limits.bytes)
    error = Exhausted("the run was interrupted", rule="S12", hint="the outcome has the results so far")
    error.limit = name
    return error
