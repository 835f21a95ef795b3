"""The laws of queues, as functions: of single steps, and of many threads at once."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import tagloom as tl
from hypothesis import strategies as st
from tagloom.interp.queues.queue import Queue


class QueueParameters(NamedTuple):
    """The parameters of a queue of integers."""

    capacity: int
    least: int
    seed: int

    def queue(self) -> Queue:
        return tl.ShuffleQueue(self.capacity, self.least, tl.int64, self.seed)


@st.composite
def queues(draw: st.DrawFn) -> QueueParameters:
    capacity = draw(st.integers(1, 6))
    return QueueParameters(capacity, draw(st.integers(1, capacity)), draw(st.integers(0, 3)))


STEPS = st.lists(
    st.one_of(
        st.just(("enqueue", 1)),
        st.tuples(st.just("enqueue_many"), st.integers(0, 3)),
        st.just(("dequeue", 1)),
        st.tuples(st.just("dequeue_many"), st.integers(1, 3)),
        st.tuples(st.just("close"), st.booleans()),
    ),
    max_size=40,
)


def step_violations(parameters: QueueParameters, steps: Sequence[tuple[str, int]]) -> Iterator[str]:
    """The laws that steps of one thread break, none of which blocks: when a queue accepts and returns elements, which
    ones, and its messages."""
    queue, contents, following, is_closed = parameters.queue(), list[int](), 0, False
    for word, number in steps:
        if word == "close":
            queue.close(cancel=bool(number))
            is_closed = True
        elif word.startswith("enqueue"):
            new = list(range(following, following + number))
            following += number
            text, _ = _tried(lambda new=new, word=word: _put(queue, new, many=word == "enqueue_many"))
            room = parameters.capacity - len(contents)
            expected = None if not new else "QueueClosed" if is_closed else "QueueTimeout" if len(new) > room else None
            contents += [] if is_closed else new[:room]
            if text != expected:
                yield f"{word} of {number} into {len(contents)} of {parameters}: {text}, and not {expected}"
        else:
            yield from _taken(queue, parameters, contents, is_closed, number, many=word == "dequeue_many")
        if queue.size() != len(contents):
            yield f"size {queue.size()} where {len(contents)} are in"


def _taken(
    queue: Queue, parameters: QueueParameters, contents: list[int], is_closed: bool, count: int, *, many: bool
) -> Iterator[str]:
    if parameters.least + count - 1 > parameters.capacity:
        return
    before = len(contents)
    text, items = _tried(
        lambda: list(map(int, queue.dequeue_many(count, timeout=0))) if many else [int(queue.dequeue(timeout=0))]
    )
    enough = before >= (count if is_closed else parameters.least + count - 1)
    expected = None if enough else "QueueClosed" if is_closed else "QueueTimeout"
    if text != expected:
        yield f"{count} of {before} in {parameters}, closed: {is_closed}: {text}, and not {expected}"
    for each in items or []:
        if each not in contents[: parameters.least]:
            yield f"{each} is not among the first {parameters.least} of {contents}"
        else:
            contents.remove(each)


def _put(queue: Queue, new: list[int], *, many: bool) -> None:
    if many:
        queue.enqueue_many(tl.asarray(new, dtype=tl.int64), timeout=0)
    else:
        queue.enqueue(new[0], timeout=0)


def _tried(act: Callable[[], Any]) -> tuple[str | None, Any]:
    """The result of a call, or the name of the error that it raises."""
    try:
        return None, act()
    except tl.TagloomError as error:
        return type(error).__name__, None


def drained(parameters: QueueParameters, count: int, pauses: Sequence[float]) -> list[int]:
    """The elements that one thread gets while another puts them, both with pauses."""
    queue = parameters.queue()

    def produce() -> None:
        for number in range(count):
            time.sleep(pauses[number % len(pauses)])
            queue.enqueue(number)
        queue.close()

    producer = threading.Thread(target=produce, daemon=True)
    producer.start()
    items = []
    for each in queue:
        items.append(int(each))
        time.sleep(pauses[-1 - len(items) % len(pauses)])
    producer.join()
    return items


def order_violations(parameters: QueueParameters, count: int = 24) -> Iterator[str]:
    """The order depends on the seed alone, not on the speed of threads or on how far producers may run ahead."""
    orders = {
        tuple(drained(parameters._replace(capacity=parameters.capacity + room), count, pauses))
        for room in (0, 7)
        for pauses in ((0.0,), (0.0, 0.001, 0.0), (0.0005, 0.0))
    }
    if len(orders) > 1:
        yield f"{parameters} gives {len(orders)} orders"
    for order in orders:
        if sorted(order) != list(range(count)):
            yield f"{parameters} gives {order}"


def thread_violations(
    parameters: QueueParameters, producers: int = 4, consumers: int = 4, each: int = 60
) -> Iterator[str]:
    """Several threads get exactly the elements that several others put, none twice; elements of one producer overtake
    each other only as far as `least` allows. The queue is closed while some puts still wait for room."""
    queue, got = parameters.queue(), [list[int]() for _ in range(consumers)]
    entering = threading.Barrier(producers + 1)

    def produce(worker: int) -> None:
        numbers = [worker * each + number for number in range(each)]
        for number in numbers[:-1]:
            queue.enqueue(number)
        entering.wait()
        queue.enqueue(numbers[-1])

    def consume(worker: int) -> None:
        for element in queue:
            got[worker].append(int(element))

    running = [threading.Thread(target=produce, args=(worker,), daemon=True) for worker in range(producers)]
    running += [threading.Thread(target=consume, args=(worker,), daemon=True) for worker in range(consumers)]
    for thread in running:
        thread.start()
    entering.wait()
    while any(thread.is_alive() for thread in running[:producers]):
        time.sleep(0.0005)
    queue.close()
    for thread in running:
        thread.join(10)
        if thread.is_alive():
            yield f"{parameters}: a thread waits for ever"
            return
    if sorted(itertools.chain(*got)) != list(range(producers * each)):
        yield f"{parameters}: {producers * each} were put in, and {sum(map(len, got))} came out"
    if parameters.least == 1:
        for numbers in got:
            for worker in range(producers):
                own = [number for number in numbers if number // each == worker]
                if own != sorted(own):
                    yield f"{parameters}: {own} came out of order"


def closing_violations(waiting: int = 3) -> Iterator[str]:
    """Puts that wait for room when the queue is closed either succeed, and the drained queue is empty, or are
    refused."""
    for cancel in (False, True):
        queue, refused_numbers = tl.FIFOQueue(1, tl.int64), list[int]()
        queue.enqueue(0)

        def produce(number: int, queue: Any = queue, refused_numbers: list[int] = refused_numbers) -> None:
            try:
                queue.enqueue(number)
            except tl.QueueClosed:
                refused_numbers.append(number)

        running = [threading.Thread(target=produce, args=(number,), daemon=True) for number in range(1, waiting + 1)]
        for thread in running:
            thread.start()
        while queue._waiting_producers < waiting:
            time.sleep(0.0005)
        queue.close(cancel=cancel)
        items = sorted(int(each) for each in queue)
        queue.close(cancel=True)
        for thread in running:
            thread.join(10)
        expected = [0] if cancel else list(range(waiting + 1))
        if items != expected or len(refused_numbers) != waiting * cancel:
            yield f"closed with cancel={cancel}: {items} came out, {refused_numbers} were refused"
