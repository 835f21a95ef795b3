"""Queues: between threads of Python, and between those and programs.

A queue is an object of Python's. Outside of a trace its methods do what they say eagerly; in one they become callbacks,
effects in program order. What a queue cannot give is a trap there, with the words that it raises here.

Elements that arrive stand in order; each one that leaves is drawn from the `least` that stand first. So what a queue
gives depends on the order of what comes and on the seed, and not on when it comes.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import Usage, plural
from ...core.frontend.eager.array import ConcreteArray
from ...core.frontend.effects import callback
from ...core.frontend.trace.captures import read_variable
from ...core.frontend.trace.pytree import TreeType, describe_difference, flatten, leaf_names, unflatten
from ...core.frontend.trace.source_location import user_location
from ...core.frontend.trace.trace import current_region, unwrap_weak
from ...core.mix import splitmix64
from ...core.ops.random import draw_below
from ...core.types import Type
from ...core.value import Value, admit
from .elements import Element, admit_leaf, check_integer, element_type, literal_of, stack_elements
from .waiting import QueueClosed, QueueWait


class Queue:
    """What queues have in common; `FIFOQueue` and `ShuffleQueue` make them. Threads may share one."""

    def __init__(self, capacity: int, least: int, type: Any, seed: int) -> None:
        self.capacity = check_integer("the capacity of a queue", capacity, 1)
        self.least = check_integer("the least that a queue draws from", least, 1)
        if self.least > self.capacity:
            raise Usage(
                "a queue cannot hold what it is to draw from",
                where=user_location(),
                required=f"a capacity of {least} at least",
                got=capacity,
            )
        self.element_type = element_type(type)
        self._seed = check_integer("a seed", seed, 0)
        self._backlog: deque[Element] = deque()
        self._draw_pool: list[Element] = []
        """Of those that arrived, the first: what is drawn from."""
        self._draw_count = 0
        self._waiting_producers = 0
        """How many elements wait for a place, which they get even if the queue is closed meanwhile."""
        self._is_closed = False
        self._is_cancelled = False
        self._error: BaseException | None = None
        self._condition = threading.Condition()
        self._open_tickets: dict[int, Element] = {}
        """Elements that a program has taken, and of which it has not got all leaves yet, or wants no more of them."""
        self._ticket_counter = itertools.count()

    def __repr__(self) -> str:
        ending = "closed" if self._is_closed else "open"
        return f"<{type(self).__name__} of {self.element_type}: {self._count} of {self.capacity}, {ending}>"

    def enqueue(self, element: Any, *, timeout: float | None = None) -> None:
        """Put an element at the end, as soon as there is a place.

        Raises Usage where it is not of the queue's type, QueueClosed where the queue is closed, and QueueTimeout
        where there is no place in `timeout` seconds.
        """
        leaves = self._flatten_element(element, self.element_type.types)
        self._run_or_emit(partial(self._put, timeout), *leaves, returns=_DONE_TYPE)

    def enqueue_many(self, batch: Any, *, timeout: float | None = None) -> None:
        """Put the elements of a batch, in order: each leaf has one axis more, the first, along which they are.

        Each goes in as soon as there is a place, so that they may be among those of other threads, and where this
        raises as `enqueue` does some may be in.
        """
        leaves = self._flatten_element(batch, self._batch_types(None))
        self._run_or_emit(partial(self._put_many, timeout), *leaves, returns=_DONE_TYPE)

    def dequeue(self, *, timeout: float | None = None) -> Any:
        """Take an element, as soon as there is one to give; its leaves are arrays of tagloom's.

        Raises QueueClosed where the queue is closed and drained, QueueTimeout where there is nothing to give in
        `timeout` seconds, and what a producer raised that `feeding` runs, after all that came before.
        """
        return self._take_nested(lambda: self._take(1, timeout)[0], self.element_type)

    def dequeue_many(self, n: int, /, *, timeout: float | None = None) -> Any:
        """Take n elements at once, as soon as there are so many to give, as a batch: along the first axis of each leaf.

        Raises as `dequeue` does; a closed queue that has fewer than n left keeps them, and raises QueueClosed.
        """
        count = check_integer("how many elements are taken", n, 1)
        most = self.capacity - self.least + 1
        if count > most:
            raise Usage(
                "a queue never has so many to give at once", where=user_location(), required=f"{most} at most", got=n
            )
        unknown = [type_ for type_ in self.element_type.types if type_.shape is None or None in type_.shape]
        if unknown:
            raise Usage("elements of unknown shapes make no batch", where=user_location(), got=unknown[0])
        types = self._batch_types(count)
        return self._take_nested(
            lambda: stack_elements(self._take(count, timeout), types), TreeType(self.element_type.treedef, types)
        )

    def close(self, *, cancel: bool = False) -> None:
        """Let no more elements in. What is in can be taken, and what waits for a place gets in, or is refused if
        `cancel` says so. To close a closed queue is nothing."""
        self._run_or_emit(partial(self._close, cancel), returns=_DONE_TYPE)

    def size(self) -> Any:
        """How many elements are in the queue, int64."""
        return self._run_or_emit(lambda: self._count, returns=_COUNT_TYPE)

    @property
    def is_closed(self) -> bool:
        """Whether no more elements are let in."""
        return self._is_closed

    def __iter__(self) -> Iterator[Any]:
        """The elements, until the queue is closed and drained."""
        if current_region() is not None:
            hint = "write tl.while_loop(lambda ...: queue.size() > 0, ...), or a fixed number of dequeues"
            raise Usage("a queue is no sequence while tagloom traces", where=user_location(), hint=hint)
        while True:
            try:
                yield self.dequeue()
            except QueueClosed as closed:
                if closed is self._error:
                    raise
                return

    def fail(self, error: BaseException) -> None:
        """Close the queue because a producer raised this: once no element is left, it is raised to the next taker."""
        with self._condition:
            if self._error is None and not self._is_closed:
                error.add_note("raised by a producer of this queue")
                self._error = error
            self._is_closed = True
            self._condition.notify_all()

    def _run_or_emit(self, function: Callable[..., Any], *operands: Any, returns: Type) -> Any:
        """Eagerly, or in a trace as an effect of the program."""
        return function(*operands) if current_region() is None else callback(function, *operands, returns=returns)

    def _take_nested(self, take: Callable[[], Element], form: TreeType) -> Any:
        """What is taken, nested. A callback has one result: the first takes the element, and others have its leaves."""
        if current_region() is None:
            return unflatten(form.treedef, map(ConcreteArray, take()))
        if len(form.types) == 1:
            leaves = [callback(lambda: take()[0].value, returns=form.types[0])]
        else:
            ticket = callback(partial(self._issue_ticket, take), returns=_COUNT_TYPE)
            leaves = [
                callback(partial(self._redeem_leaf, place), ticket, returns=type_)
                for place, type_ in enumerate(form.types)
            ]
        return unflatten(form.treedef, leaves)

    def _batch_types(self, count: int | None) -> tuple[Type, ...]:
        """The types of the leaves of a batch."""
        return tuple(
            Type(type_.dtype, None if type_.shape is None else (count, *type_.shape))
            for type_ in self.element_type.types
        )

    def _issue_ticket(self, take: Callable[[], Element]) -> int:
        ticket, element = next(self._ticket_counter), take()
        with self._condition:
            self._open_tickets[ticket] = element
            while len(self._open_tickets) > _MAX_OPEN_TICKETS * threading.active_count():
                del self._open_tickets[next(iter(self._open_tickets))]
        return ticket

    def _redeem_leaf(self, place: int, ticket: int) -> Value:
        with self._condition:
            element = self._open_tickets[ticket]
            if place == len(element) - 1:
                del self._open_tickets[ticket]
        return element[place].value

    def _flatten_element(self, value: Any, types: Sequence[Type]) -> list[Any]:
        """The leaves of a value that nests as elements do, of these types; raises Usage for any other."""
        leaves, structure = flatten(value)
        leaves = [unwrap_weak(read_variable(leaf)) for leaf in leaves]
        if structure != self.element_type.treedef:
            required, got = describe_difference(self.element_type.treedef, structure)
            raise Usage("this is no element of the queue", where=user_location(), required=required, got=got)
        return leaves if current_region() is None else self._admit_leaves(leaves, types)

    def _admit_leaves(self, leaves: Iterable[Any], types: Sequence[Type]) -> list[Any]:
        names = leaf_names(self.element_type.treedef, "element")
        return [admit_leaf(*each) for each in zip(names, leaves, types, strict=True)]

    def _put(self, timeout: float | None, *leaves: Any) -> bool:
        element = tuple(map(literal_of, self._admit_leaves(leaves, self.element_type.types)))
        with self._condition:
            self._insert(element, QueueWait("had no place", timeout))
        return True

    def _put_many(self, timeout: float | None, *leaves: Any) -> bool:
        batch = [np.asarray(leaf) for leaf in self._admit_leaves(leaves, self._batch_types(None))]
        sizes = sorted({len(leaf) for leaf in batch})
        if len(sizes) > 1:
            got = " and ".join(map(str, sizes))
            raise Usage(
                "the leaves of a batch have different sizes", where=user_location(), required="as many rows", got=got
            )
        wait = QueueWait("had no place", timeout)
        for row in zip(*batch, strict=True):
            element = tuple(
                literal_of(admit(leaf, type_)) for leaf, type_ in zip(row, self.element_type.types, strict=True)
            )
            with self._condition:
                self._insert(element, wait)
        return True

    def _insert(self, element: Element, wait: QueueWait) -> None:
        if self._is_closed:
            raise QueueClosed("the queue is closed, and takes no more elements", where=user_location())
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
            what = "gave no element" if count == 1 else f"gave no {count} elements"
            QueueWait(what, timeout).wait_until(self._condition, lambda: self._can_take(count))
            if self._count < count:
                raise self._error or self._drained_error(count)
            taken = [self._draw() for _ in range(count)]
            self._condition.notify_all()
            return taken

    def _can_take(self, count: int) -> bool:
        """Whether that many are here, each drawn from enough; or else, whether no more will come."""
        no_more = self._is_closed and (not self._waiting_producers or self._is_cancelled)
        return no_more or self._count >= self.least + count - 1

    def _draw(self) -> Element:
        while self._backlog and len(self._draw_pool) < self.least:
            self._draw_pool.append(self._backlog.popleft())
        at = draw_below(splitmix64(self._seed, self._draw_count), len(self._draw_pool))
        self._draw_count += 1
        self._draw_pool[at], self._draw_pool[-1] = self._draw_pool[-1], self._draw_pool[at]
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

    def _drained_error(self, count: int) -> QueueClosed:
        if not self._count:
            return QueueClosed("the queue is closed and drained", where=user_location())
        left = plural(self._count, "element")
        return QueueClosed(f"the queue is closed, and has {left} left", where=user_location(), required=count)


class FIFOQueue(Queue):
    """A queue that gives first what came first.

    `capacity` says how many elements it holds, and `type` of which type they are: a dtype, tl.Array[...], or such in
    tuples, dicts, named tuples or dataclasses. To put one more waits for a place; to take, for an element.

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
    """A queue that gives a random one of the `least` elements that came first and are still there.

    Until it is closed it gives nothing while it has fewer than `least`. The k-th draw depends on `seed` and k alone,
    so one producer and one seed give one order, whatever the threads do. A capacity above `least` lets producers go
    ahead, and does not change the order.

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
"""How many tickets are kept for each thread, of which one is open at a time, unless it has several histories."""
_DONE_TYPE = Type(dtypes.bool)
_COUNT_TYPE = Type(dtypes.int64)
