"""Queues between Python threads, and between threads and programs.

A queue is a Python object. Outside of tracing its methods act at once; while tracing they emit callbacks, which are
effects in program order. In a program, an error of a queue is a trap with the same message.

Each dequeued element is drawn from the first `least` elements in order of arrival. So the output of a queue depends on
the order of arrival and on the seed, but not on timing.
"""

from __future__ import annotations

import itertools
import operator
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ...core import dtypes
from ...core.errors import Exhausted, TagloomError, Trap, Usage, plural
from ...core.frontend.eager.array import ConcreteArray
from ...core.frontend.effects import callback
from ...core.frontend.trace.annotation import tree_type_of_annotation
from ...core.frontend.trace.captures import read_variable
from ...core.frontend.trace.program_builder import current_region, unwrap_weak
from ...core.frontend.trace.pytree import TreeDef, TreeType, describe_difference, flatten, leaf_paths, unflatten
from ...core.frontend.trace.source_location import user_location
from ...core.frontend.trace.symbol import Symbol
from ...core.hashing import splitmix64
from ...core.ops.random import draw_below
from ...core.types import HandleType, Type, type_of
from ...core.value import Literal, Value, admit, normalize
from ..engines.interrupt import is_interrupted

POLL_INTERVAL = 0.05
"""The longest time, in seconds, that a thread waits before it checks whether Ctrl-C ended its run."""


class QueueClosed(Trap):
    """A closed queue cannot accept an element, or is drained."""


class QueueTimeout(Exhausted, TimeoutError):
    """A queue was full, or did not have enough elements, until the timeout."""

    limit = "timeout"


def drained_error(size: int, required: int) -> QueueClosed:
    """The error for a closed queue that has fewer elements left than required."""
    if not size:
        return QueueClosed("the queue is closed and drained", where=user_location())
    message = f"the queue is closed, and has {plural(size, 'element')} left"
    return QueueClosed(message, where=user_location(), required=required)


class QueueWait:
    """A wait for a queue, with a timeout for all calls of `wait_until` together, and the words for the error at the
    timeout."""

    def __init__(self, description: str, timeout: float | None) -> None:
        if timeout is not None and not (isinstance(timeout, int | float) and timeout >= 0):
            required = "0 or more, or None for no limit"
            raise Usage(
                "timeout must be a number of seconds",
                where=user_location(),
                required=required,
                got=repr(timeout),
                python=ValueError if isinstance(timeout, int | float) else TypeError,
            )
        self._description = description
        self._timeout = timeout
        self._deadline = None if timeout is None else time.monotonic() + timeout

    def wait_until(self, condition: threading.Condition, is_ready: Callable[[], bool]) -> None:
        """Wait until the predicate is true. The caller has locked the condition, which is released while waiting."""
        while not is_ready():
            interval = (
                POLL_INTERVAL if self._deadline is None else min(POLL_INTERVAL, self._deadline - time.monotonic())
            )
            if interval <= 0:
                raise QueueTimeout(f"the queue {self._description} within {self._timeout} s", where=user_location())
            condition.wait(interval)
            if is_interrupted():
                raise KeyboardInterrupt


Element: TypeAlias = tuple[Literal, ...]
"""The leaves of an element."""


def check_integer(name: str, number: Any, minimum: int) -> int:
    """Return an integer from `minimum` up; raises Usage for anything else."""
    is_integer = not isinstance(number, bool)
    try:
        integer = operator.index(number)
    except TypeError:
        is_integer = False
    if not is_integer or integer < minimum:
        raise Usage(
            f"{name} must be an integer",
            where=user_location(),
            required=f"an integer from {minimum} up",
            got=repr(number),
            python=ValueError if is_integer else TypeError,
        )
    return integer


def element_type(type_: Any) -> TreeType:
    """The tree type of an element type; raises Usage if it is not a type."""
    try:
        form = tree_type_of_annotation(type_, {})
        handles = [leaf for leaf in form.types if isinstance(leaf.dtype, HandleType)]
        if handles:
            raise Usage(
                "cells do not leave the program", required="numbers or arrays", got=handles[0], python=TypeError
            )
        if not form.types:
            raise Usage("the type of an element has no leaves", required="a number or an array in it", got=repr(type_))
    except TagloomError as error:
        error.where = user_location()
        raise
    return form


def admit_leaf(name: str, leaf: Any, type_: Type) -> Any:
    """A leaf as a value of its type. A symbol is returned unchanged, since its sizes may not be known yet."""
    try:
        if not isinstance(leaf, Symbol):
            return admit(leaf, type_)
        if leaf.dtype is type_.dtype:
            return leaf
        raise Usage("a value of the wrong type", required=type_, got=leaf, python=TypeError)
    except Usage as error:
        error.message, error.where = f"{name}: {error.message}", user_location()
        raise


def literal_of(value: Value) -> Literal:
    """A value with its type."""
    return Literal(value, type_of(value))


def stack_elements(elements: Sequence[Element], types: Sequence[Type]) -> Element:
    """Stack elements into a batch."""
    return tuple(
        literal_of(normalize(np.stack([np.asarray(leaf.value) for leaf in leaves]), type_))
        for leaves, type_ in zip(zip(*elements, strict=True), types, strict=True)
    )


def batch_types(types: Sequence[Type], count: int | None) -> tuple[Type, ...]:
    """The types of the leaves of a batch of `count` elements; None for any number."""
    return tuple(Type(type_.dtype, None if type_.shape is None else (count, *type_.shape)) for type_ in types)


def run_or_emit(function: Callable[..., Any], *operands: Any, returns: Type) -> Any:
    """Call a function, or while tracing emit a callback of it."""
    return function(*operands) if current_region() is None else callback(function, *operands, returns=returns)


def flatten_element(value: Any, treedef: TreeDef, types: Sequence[Type]) -> list[Any]:
    """The leaves of a value nested as `treedef`, converted to these types while tracing; raises Usage for any other
    nesting."""
    leaves, structure = flatten(value, like=treedef)
    leaves = [unwrap_weak(read_variable(leaf)) for leaf in leaves]
    if structure != treedef:
        required, got = describe_difference(treedef, structure)
        raise Usage(
            "the value does not nest as an element of the queue", where=user_location(), required=required, got=got
        )
    return leaves if current_region() is None else admit_leaves(leaves, treedef, types)


def admit_leaves(leaves: Iterable[Any], treedef: TreeDef, types: Sequence[Type]) -> list[Any]:
    """The leaves of an element as values of their types; raises Usage, with the name of the leaf, for a value of
    another type."""
    return [admit_leaf(*row) for row in zip(leaf_paths(treedef, "element"), leaves, types, strict=True)]


class TicketTable:
    """Elements that programs have dequeued but not completely fetched, by ticket.

    A program that does not use all leaves of an element never fetches them all, so the oldest elements are dropped.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._elements: dict[int, Element] = {}
        self._numbers = itertools.count()

    def __len__(self) -> int:
        return len(self._elements)

    def issue(self, element: Element) -> int:
        """Store an element and return its ticket."""
        ticket = next(self._numbers)
        with self._lock:
            self._elements[ticket] = element
            while len(self._elements) > _MAX_OPEN_TICKETS * threading.active_count():
                del self._elements[next(iter(self._elements))]
        return ticket

    def redeem_leaf(self, index: int, ticket: int) -> Value:
        """The value of a leaf of the ticket's element. The last leaf invalidates the ticket."""
        with self._lock:
            element = self._elements[ticket]
            if index == len(element) - 1:
                del self._elements[ticket]
        return element[index].value


class Queue:
    """The base class of `FIFOQueue` and `ShuffleQueue`. Queues are thread-safe."""

    def __init__(self, capacity: int, least: int, type: Any, seed: int) -> None:
        self.capacity = check_integer("the capacity of a queue", capacity, 1)
        self.least = check_integer("the minimum number of elements of a queue", least, 1)
        if self.least > self.capacity:
            raise Usage(
                "the capacity of a queue cannot be below its minimum",
                where=user_location(),
                required=f"a capacity of {least} at least",
                got=capacity,
            )
        self.element_type = element_type(type)
        self._seed = check_integer("a seed", seed, 0)
        self._backlog: deque[Element] = deque()
        self._draw_pool: list[Element] = []
        """The first elements in order of arrival, from which the next is drawn."""
        self._draw_count = 0
        self._waiting_producers = 0
        """The number of elements that wait for a place; they are accepted even if the queue is closed meanwhile."""
        self._is_closed = False
        self._is_cancelled = False
        self._error: BaseException | None = None
        self._condition = threading.Condition()
        self._open_tickets = TicketTable()

    def __repr__(self) -> str:
        ending = "closed" if self._is_closed else "open"
        return f"<{type(self).__name__} of {self.element_type}: {self._count} of {self.capacity}, {ending}>"

    def enqueue(self, element: Any, *, timeout: float | None = None) -> None:
        """Append an element as soon as there is a place.

        Raises Usage if it is not of the queue's type, QueueClosed if the queue is closed, and QueueTimeout if there is
        no place within `timeout` seconds.
        """
        leaves = flatten_element(element, self.element_type.treedef, self.element_type.types)
        run_or_emit(partial(self._put, timeout), *leaves, returns=_DONE_TYPE)

    def enqueue_many(self, batch: Any, *, timeout: float | None = None) -> None:
        """Append the elements of a batch, in order. The leaves of a batch have one more axis, the first, along which
        are the elements.

        Each is appended as soon as there is a place, so elements of other threads may be between them. If this raises,
        as `enqueue` does, some may already be in the queue.
        """
        leaves = flatten_element(batch, self.element_type.treedef, batch_types(self.element_type.types, None))
        run_or_emit(partial(self._put_many, timeout), *leaves, returns=_DONE_TYPE)

    def dequeue(self, *, timeout: float | None = None) -> Any:
        """Remove and return an element as soon as one is available; its leaves are tagloom arrays.

        Raises QueueClosed if the queue is closed and drained, and QueueTimeout if no element is available within
        `timeout` seconds. If a producer that `feeding` runs raised an exception, that is raised once the queue is
        drained.
        """
        return self._take_nested(lambda: self._take(1, timeout)[0], self.element_type)

    def dequeue_many(self, n: int, /, *, timeout: float | None = None) -> Any:
        """Remove n elements at once, as soon as n are available, and return them as a batch, stacked along a new first
        axis of each leaf.

        Raises as `dequeue` does; a closed queue that has fewer than n left keeps them, and raises QueueClosed.
        """
        count = check_integer("the number of elements to take", n, 1)
        maximum = self.capacity - self.least + 1
        if count > maximum:
            raise Usage(
                "this queue cannot return this many elements at once",
                where=user_location(),
                required=f"{maximum} at most",
                got=n,
            )
        unknown = [type_ for type_ in self.element_type.types if type_.shape is None or None in type_.shape]
        if unknown:
            raise Usage("elements of unknown shapes cannot form a batch", where=user_location(), got=unknown[0])
        types = batch_types(self.element_type.types, count)
        return self._take_nested(
            lambda: stack_elements(self._take(count, timeout), types), TreeType(self.element_type.treedef, types)
        )

    def close(self, *, cancel: bool = False) -> None:
        """Accept no more elements. The elements in the queue can still be dequeued. Elements that wait for a place
        still get one, or with `cancel` are refused. Closing a closed queue does nothing."""
        run_or_emit(partial(self._close, cancel), returns=_DONE_TYPE)

    def size(self) -> Any:
        """The number of elements in the queue, int64."""
        return run_or_emit(lambda: self._count, returns=_COUNT_TYPE)

    @property
    def is_closed(self) -> bool:
        """Whether the queue accepts no more elements."""
        return self._is_closed

    def __iter__(self) -> Iterator[Any]:
        """The elements, until the queue is closed and drained."""
        if current_region() is not None:
            hint = "write tl.while_loop(lambda ...: queue.size() > 0, ...), or a fixed number of dequeues"
            raise Usage("a queue cannot be iterated in traced code", where=user_location(), hint=hint, python=TypeError)
        while True:
            try:
                yield self.dequeue()
            except QueueClosed as closed:
                if closed is self._error:
                    raise
                return

    def fail(self, error: BaseException) -> None:
        """Close the queue because a producer raised this error. The next consumer raises it once the queue is
        drained."""
        with self._condition:
            if self._error is None and not self._is_closed:
                error.add_note("raised by a producer of this queue")
                self._error = error
            self._is_closed = True
            self._condition.notify_all()

    def _take_nested(self, take: Callable[[], Element], form: TreeType) -> Any:
        """A dequeued element, nested. While tracing, since a callback has one result, the first callback takes the
        element, and others fetch its leaves."""
        if current_region() is None:
            return unflatten(form.treedef, map(ConcreteArray, take()))
        if len(form.types) == 1:
            leaves = [callback(lambda: take()[0].value, returns=form.types[0])]
        else:
            ticket = callback(lambda: self._open_tickets.issue(take()), returns=_COUNT_TYPE)
            leaves = [
                callback(partial(self._open_tickets.redeem_leaf, index), ticket, returns=type_)
                for index, type_ in enumerate(form.types)
            ]
        return unflatten(form.treedef, leaves)

    def _put(self, timeout: float | None, *leaves: Any) -> bool:
        element = tuple(map(literal_of, admit_leaves(leaves, self.element_type.treedef, self.element_type.types)))
        with self._condition:
            self._insert(element, QueueWait("had no free place", timeout))
        return True

    def _put_many(self, timeout: float | None, *leaves: Any) -> bool:
        types = batch_types(self.element_type.types, None)
        batch = [np.asarray(leaf) for leaf in admit_leaves(leaves, self.element_type.treedef, types)]
        sizes = sorted({len(leaf) for leaf in batch})
        if len(sizes) > 1:
            got = " and ".join(map(str, sizes))
            raise Usage(
                "the leaves of a batch have different sizes", where=user_location(), required="as many rows", got=got
            )
        wait = QueueWait("had no free place", timeout)
        for row in zip(*batch, strict=True):
            element = tuple(
                literal_of(admit(leaf, type_)) for leaf, type_ in zip(row, self.element_type.types, strict=True)
            )
            with self._condition:
                self._insert(element, wait)
        return True

    def _insert(self, element: Element, wait: QueueWait) -> None:
        if self._is_closed:
            raise QueueClosed("the queue is closed, and accepts no more elements", where=user_location())
        self._waiting_producers += 1
        try:
            wait.wait_until(self._condition, lambda: self._count < self.capacity or self._is_cancelled)
            if self._is_cancelled:
                raise QueueClosed("the queue was closed while an element waited for a place", where=user_location())
            self._backlog.append(element)
        finally:
            self._waiting_producers -= 1
            self._condition.notify_all()

    def _take(self, count: int, timeout: float | None) -> list[Element]:
        with self._condition:
            failure = "gave no element" if count == 1 else f"gave no {count} elements"
            QueueWait(failure, timeout).wait_until(self._condition, lambda: self._can_take(count))
            if self._count < count:
                raise self._error or drained_error(self._count, count)
            elements = [self._draw() for _ in range(count)]
            self._condition.notify_all()
            return elements

    def _can_take(self, count: int) -> bool:
        """Whether `count` elements can be drawn, each from at least `least` elements, or no more will arrive."""
        is_final = self._is_closed and (not self._waiting_producers or self._is_cancelled)
        return is_final or self._count >= self.least + count - 1

    def _draw(self) -> Element:
        while self._backlog and len(self._draw_pool) < self.least:
            self._draw_pool.append(self._backlog.popleft())
        index = draw_below(splitmix64(self._seed, self._draw_count), len(self._draw_pool))
        self._draw_count += 1
        self._draw_pool[index], self._draw_pool[-1] = self._draw_pool[-1], self._draw_pool[index]
        return self._draw_pool.pop()

    def _close(self, cancel: bool) -> bool:
        with self._condition:
            self._is_closed = True
            self._is_cancelled |= cancel
            self._condition.notify_all()
        return True

    @property
    def _count(self) -> int:
        return len(self._draw_pool) + len(self._backlog)


class FIFOQueue(Queue):
    """A first-in, first-out queue.

    `capacity` is the largest number of elements, and `type` their type: a dtype, tl.Array[...], or these nested in
    tuples, dicts, named tuples or dataclasses. `enqueue` waits for a place, `dequeue` for an element.

    >>> import tagloom as tl
    >>> queue = tl.FIFOQueue(10, {"x": tl.Array[tl.float64, 2], "label": tl.int64})
    >>> queue.enqueue({"x": [0.5, 1.5], "label": 3})
    >>> queue.close()
    >>> queue.dequeue()["x"], queue
    (asarray([0.5, 1.5], dtype=float64), <FIFOQueue of {x: float64[2], label: int64}: 0 of 10, closed>)
    """

    def __init__(self, capacity: int, type: Any) -> None:
        super().__init__(capacity, 1, type, 0)


class ShuffleQueue(Queue):
    """A queue that returns a random one of its first `least` elements.

    While it is open and has fewer than `least` elements, `dequeue` waits. The k-th draw depends only on `seed` and k,
    so with one producer the seed determines the order. A capacity above `least` lets producers run ahead, and does not
    change the order.

    >>> import tagloom as tl
    >>> queue = tl.ShuffleQueue(8, 4, tl.int64, seed=1)
    >>> queue.enqueue_many(list(range(8)))
    >>> queue.close()
    >>> [int(x) for x in queue]
    [1, 3, 2, 0, 4, 5, 7, 6]
    """

    def __init__(self, capacity: int, least: int, type: Any, seed: int = 0) -> None:
        super().__init__(capacity, least, type, seed)


_MAX_OPEN_TICKETS = 16
"""The limit on the tickets kept for each thread. Only one is needed at a time, unless the thread has several
histories."""
_DONE_TYPE = Type(dtypes.bool)
_COUNT_TYPE = Type(dtypes.int64)


def feeding(queue: Queue, elements: Iterable[Any], *, threads: int = 1) -> AbstractContextManager[Queue]:
    """A context in which `threads` threads enqueue the elements of an iterable, and then close the queue.

    They take elements one at a time, so that any generator is safe; several threads may change the order. An exception
    in a producer is raised in the consumer once the queue is drained. If the `with` block ends first, the queue is
    closed, and each thread ends as soon as the iterable has produced its current element.

    >>> import tagloom as tl
    >>> with tl.feeding(tl.FIFOQueue(2, tl.int64), (n * n for n in range(5))) as queue:
    ...     print(sum(int(n) for n in queue))
    30
    """
    if current_region() is not None:
        raise Usage(
            "feeding cannot be used in traced code",
            where=user_location(),
            hint="call the program inside the `with` block",
        )
    producer = _ProducerGroup(queue, iter(elements), check_integer("the number of threads", threads, 1))
    return run_producers(queue, [threading.Thread(target=producer.run, daemon=True) for _ in range(threads)])


@contextmanager
def run_producers(queue: Queue, threads: Sequence[threading.Thread]) -> Iterator[Queue]:
    """A context in which threads feed a queue; at its end the queue is closed and the threads are joined."""
    for thread in threads:
        thread.start()
    try:
        yield queue
    finally:
        queue.close(cancel=True)
        for thread in threads:
            thread.join()


class _ProducerGroup:
    """The state that producer threads share: the source of elements, and the number of threads still running."""

    def __init__(self, queue: Queue, source: Iterator[Any], threads: int) -> None:
        self._queue = queue
        self._elements = source
        self._lock = threading.Lock()
        self._active_threads = threads
        self._error: BaseException | None = None

    def run(self) -> None:
        """Enqueue elements until there are no more. The last thread to end closes the queue."""
        try:
            while self._error is None and self.produce():
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

    def produce(self) -> bool:
        """Enqueue the next element; returns whether there may be more."""
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
