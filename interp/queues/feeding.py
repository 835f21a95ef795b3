"""Feeding a queue: producer threads that run while the caller consumes."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from ...core.errors import Usage
from ...core.frontend.trace.source_location import user_location
from ...core.frontend.trace.trace import current_region
from .elements import check_integer
from .queue import Queue
from .wait import QueueClosed


def feeding(queue: Queue, elements: Iterable[Any], *, threads: int = 1) -> AbstractContextManager[Queue]:
    """A context in which `threads` threads put the elements of an iterable into a queue; when done they close it.

    They take elements one at a time, so that any generator will do; only one thread keeps the order. An exception in a
    producer is raised to the consumer once the queue is drained. If the `with` block ends first, the queue is closed,
    and each thread ends as soon as the iterable has produced its current element.

    >>> import tagloom as tl
    >>> with tl.feeding(tl.FIFOQueue(2, tl.int64), (n * n for n in range(5))) as queue:
    ...     print(sum(int(n) for n in queue))
    30
    """
    if current_region() is not None:
        raise Usage(
            "feeding is for Python, and not for programs", where=user_location(), hint="put the call inside of it"
        )
    producer = _ProducerGroup(queue, iter(elements), check_integer("how many threads", threads, 1))
    return _run_producers(queue, [threading.Thread(target=producer.run, daemon=True) for _ in range(threads)])


@contextmanager
def _run_producers(queue: Queue, threads: Sequence[threading.Thread]) -> Iterator[Queue]:
    for thread in threads:
        thread.start()
    try:
        yield queue
    finally:
        queue.close(cancel=True)
        for thread in threads:
            thread.join()


class _ProducerGroup:
    """The state that producers share: the source of elements, and the number of threads still running."""

    def __init__(self, queue: Queue, source: Iterator[Any], threads: int) -> None:
        self._queue = queue
        self._elements = source
        self._lock = threading.Lock()
        self._active_threads = threads
        self._error: BaseException | None = None

    def run(self) -> None:
        """Put elements into the queue; the last thread to end closes it, so that every element is in."""
        try:
            while self._error is None and self._produce():
                pass
        except BaseException as error:
            self._error = error
        with self._lock:
            self._active_threads -= 1
            if self._active_threads:
                return
        if self._error is None:
            self._queue.close()
        else:
            self._queue.fail(self._error)

    def _produce(self) -> bool:
        """Put the next element into the queue; return whether there may be more."""
        with self._lock:
            try:
                element = next(self._elements)
            except StopIteration:
                return False
        try:
            self._queue.enqueue(element)
        except QueueClosed:
            return False
        return True
