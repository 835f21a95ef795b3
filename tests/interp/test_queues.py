"""Queues: their laws, broken queues, nested elements, programs that use queues, and refusals."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from pytest import MonkeyPatch
from support.laws.queue_laws import (
    STEPS,
    QueueParameters,
    closing_violations,
    drained,
    order_violations,
    queues,
    step_violations,
    thread_violations,
)
from support.observe.ctrl_c import default_ctrl_c
from tagloom.core.frontend.eager.array import ConcreteArray
from tagloom.core.frontend.trace.pytree import flatten
from tagloom.interp.engines.interrupt import interrupt_thread
from tagloom.interp.queues.queue import Queue, QueueWait

ENGINES = ("reference", "fast", "compiled")
MADE = (QueueParameters(1, 1, 0), QueueParameters(5, 1, 0), QueueParameters(6, 4, 3))


@given(queues(), STEPS)
@settings(max_examples=150)
def test_steps(made: QueueParameters, steps: Any) -> None:
    """A queue accepts elements up to its capacity, and returns one of the first `least`. It times out where it would
    block, and is closed where waiting would be in vain."""
    assert list(step_violations(made, steps)) == []


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("made", MADE, ids=str)
def test_the_seed_determines_the_order(made: QueueParameters) -> None:
    """With one producer, each seed gives one order, whatever the threads do; with `least` 1 it is the producer's."""
    assert list(order_violations(made)) == []
    order = drained(made, 24, (0.0,))
    assert (order == sorted(order)) == (made.least == 1)


def test_seeds_give_all_orders() -> None:
    """Seeds give different permutations, and all permutations occur."""
    orders = {tuple(drained(QueueParameters(3, 3, seed), 3, (0.0,))) for seed in range(60)}
    assert len(orders) == 6


@pytest.mark.parametrize("made", MADE, ids=str)
def test_no_element_is_lost_or_doubled(made: QueueParameters) -> None:
    """Four producers and four consumers exchange every element once, in each producer's order if fifo."""
    assert list(thread_violations(made)) == []


def test_closing_a_queue_with_waiting_puts() -> None:
    """A put that waits for room at closing succeeds, or is refused if so requested."""
    assert list(closing_violations()) == []


def last_in_first_out(patch: MonkeyPatch) -> None:
    """The queue returns the newest element."""
    patch.setattr(Queue, "_draw", lambda queue: queue._backlog.pop())


def draw_from_all(patch: MonkeyPatch) -> None:
    """The queue draws from all its elements, however few."""
    draw = Queue._draw

    def other(queue: Any) -> Any:
        least, queue.least = queue.least, queue.capacity
        taken = draw(queue)
        queue.least = least
        return taken

    patch.setattr(Queue, "_draw", other)


def keep_every_third(patch: MonkeyPatch) -> None:
    """Every third element is not removed."""
    draw = Queue._draw

    def other(queue: Any) -> Any:
        taken = draw(queue)
        if queue._draw_count % 3 == 0:
            queue._draw_pool.append(taken)
        return taken

    patch.setattr(Queue, "_draw", other)


def take_too_early(patch: MonkeyPatch) -> None:
    """The queue returns elements although fewer than `least` are there."""
    patch.setattr(Queue, "_can_take", lambda queue, count: queue._is_closed or queue._count >= count)


def close_too_early(patch: MonkeyPatch) -> None:
    """The queue ignores puts that wait for room."""
    patch.setattr(Queue, "_can_take", lambda queue, n: queue._is_closed or queue._count >= queue.least + n - 1)


def overfill(patch: MonkeyPatch) -> None:
    """A put does not wait for room."""
    until = QueueWait.wait_until
    impatient = lambda wait, *rest: None if "place" in wait._description else until(wait, *rest)  # noqa: E731
    patch.setattr(QueueWait, "wait_until", impatient)


def never_close(patch: MonkeyPatch) -> None:
    """Closing has no effect."""
    patch.setattr(Queue, "_close", lambda queue, cancel: True)


TWINS = (last_in_first_out, draw_from_all, keep_every_third, take_too_early, close_too_early, overfill, never_close)


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_broken_queues_are_caught(twin: Any, monkeypatch: MonkeyPatch) -> None:
    """Every queue with one changed behaviour breaks a law."""

    def violations() -> Iterator[str]:
        result, enter = QueueParameters(4, 2, 1), [("enqueue", 1)]
        yield from step_violations(result, enter)
        yield from step_violations(result, enter * 5)
        yield from step_violations(result, [*enter, ("dequeue", 1)])
        yield from step_violations(result, [*enter * 4, *[("dequeue", 1)] * 3])
        yield from step_violations(result, [("close", 0), *enter])
        yield from step_violations(QueueParameters(4, 1, 0), [*enter * 3, *[("dequeue", 1)] * 3])
        yield from closing_violations()

    assert list(violations()) == []
    twin(monkeypatch)
    assert next(violations(), None) is not None


class Point(NamedTuple):
    x: tl.float32
    y: tl.Array[tl.int64, 2]


@dataclass(frozen=True)
class Pair:
    left: Point
    right: tl.bool


NESTED = [
    (tl.uint8, 7),
    (tl.Array[tl.float64, None], [1.0, float("nan")]),
    ((tl.bool, {"b": tl.int8, "a": (tl.float64,)}), (True, {"a": (0.5,), "b": 3})),
    (Pair, Pair(Point(1.5, np.array([1, 2])), False)),
]


@pytest.mark.parametrize(("type_", "element"), NESTED, ids=str)
def test_elements_nest(type_: Any, element: Any) -> None:
    """An element comes out with the structure that it was put with, and tagloom arrays of the queue's types as
    leaves."""
    queue = tl.FIFOQueue(2, type_)
    queue.enqueue(element)
    assert queue.size() == 1
    given = queue.dequeue()
    leaves, structure = flatten(given)
    expected, form = flatten(element)
    assert structure == form and all(isinstance(leaf, ConcreteArray) for leaf in leaves)
    for leaf, original, type_ in zip(leaves, expected, queue.element_type.types, strict=True):
        assert leaf.dtype is type_.dtype and np.array_equal(leaf, original, equal_nan=leaf.dtype.kind == "f")


def test_elements_do_not_change() -> None:
    """An element does not change if its array does after the put."""
    queue, array = tl.FIFOQueue(1, tl.Array[tl.int64, 2]), np.array([1, 2])
    queue.enqueue(array)
    array[0] = 9
    assert np.asarray(queue.dequeue()).tolist() == [1, 2]


def test_batches() -> None:
    """`enqueue_many` splits a batch along the first axis, and `dequeue_many` stacks one."""
    queue = tl.FIFOQueue(6, {"x": tl.Array[tl.float32, 2], "n": tl.int64})
    x, n = np.arange(10, dtype=np.float32).reshape(5, 2), np.arange(5)
    queue.enqueue_many({"x": x, "n": n})
    batch, rest = queue.dequeue_many(3), queue.dequeue_many(2)
    assert np.array_equal(np.concatenate([batch["x"], rest["x"]]), x) and batch["x"].dtype is tl.float32
    assert np.array_equal(np.concatenate([batch["n"], rest["n"]]), n)


def test_a_closed_queue_keeps_incomplete_batches() -> None:
    """Two elements of a closed queue are no batch of three: they remain, and can be dequeued one by one."""
    queue = tl.FIFOQueue(5, tl.int64)
    queue.enqueue_many([1, 2])
    queue.close()
    with pytest.raises(tl.QueueClosed, match="the queue is closed, and has 2 elements left"):
        queue.dequeue_many(3)
    assert list(map(int, queue)) == [1, 2]
    with pytest.raises(tl.QueueClosed, match="the queue is closed and drained"):
        queue.dequeue()
    with pytest.raises(tl.QueueClosed, match="accepts no more elements"):
        queue.enqueue(1)


def test_timeouts() -> None:
    """A wait ends at its timeout: for room, for an element, and for a whole batch."""
    queue = tl.FIFOQueue(2, tl.int64)
    begun = time.monotonic()
    with pytest.raises(tl.QueueTimeout, match=r"the queue gave no element within 0\.1 s") as late:
        queue.dequeue(timeout=0.1)
    assert isinstance(late.value, TimeoutError) and isinstance(late.value, tl.Exhausted)
    with pytest.raises(tl.QueueTimeout, match="had no free place"):
        queue.enqueue_many([1, 2, 3], timeout=0.1)
    assert queue.size() == 2 and 0.2 <= time.monotonic() - begun < 20
    for wrong in (-1, "1", float("nan")):
        with pytest.raises(tl.Usage, match="timeout must be a number of seconds"):
            queue.dequeue(timeout=wrong)


REFUSED = [
    (lambda: tl.FIFOQueue(0, tl.int64), "an integer from 1 up"),
    (lambda: tl.FIFOQueue(1.5, tl.int64), "got: 1.5"),
    (lambda: tl.FIFOQueue(1, "int64"), "not a type"),
    (lambda: tl.FIFOQueue(1, ()), "the type of an element has no leaves"),
    (lambda: tl.FIFOQueue(1, {None: tl.int64}), "keys of a dict are not all strings"),
    (lambda: tl.FIFOQueue(1, tl.Cells[tl.int64]), "cells do not leave the program"),
    (lambda: tl.ShuffleQueue(3, 4, tl.int64), "a capacity of 4 at least"),
    (lambda: tl.ShuffleQueue(3, 2, tl.int64, seed=-1), "a seed must be an integer"),
    (lambda: tl.ShuffleQueue(3, 2, tl.int64).dequeue_many(3), "required: 2 at most"),
    (
        lambda: tl.FIFOQueue(3, tl.Array[tl.int64, None]).dequeue_many(2),
        "elements of unknown shapes cannot form a batch",
    ),
    (lambda: tl.FIFOQueue(3, tl.int64).enqueue((1, 2)), "the value does not nest as an element of the queue"),
    (
        lambda: tl.FIFOQueue(3, (tl.int64, tl.int8)).enqueue((1, 300)),
        r"element\[1\]: this integer does not fit into int8",
    ),
    (lambda: tl.FIFOQueue(3, tl.Array[tl.int64, 2]).enqueue([1, 2, 3]), r"required: int64\[2\]"),
    (lambda: tl.FIFOQueue(3, tl.int64).enqueue_many(1), "element: a value of the wrong type"),
    (lambda: tl.FIFOQueue(3, (tl.int64, tl.int64)).enqueue_many(([1], [1, 2])), "got: 1 and 2"),
    (lambda: tl.feeding(tl.FIFOQueue(3, tl.int64), [], threads=0), "the number of threads"),
]


@pytest.mark.parametrize(("act", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_wrong_arguments_are_refused(act: Any, message: str) -> None:
    """Invalid arguments are a Usage error at the caller's line."""
    with pytest.raises(tl.Usage) as refused:
        act()
    assert refused.match(message) and "test_queues.py" in str(refused.value.where)


@pytest.mark.full
def test_programs_use_queues() -> None:
    """In a tl.function a queue's methods are effects in program order, nested elements and batches included."""
    source = tl.FIFOQueue(8, {"x": tl.Array[tl.float64, 2], "n": tl.int64})
    target = tl.FIFOQueue(8, (tl.float64, tl.int64))

    @tl.function
    def step(k: tl.float64) -> tl.int64:
        first, second = source.dequeue(), source.dequeue()
        target.enqueue((k * tl.sum(first["x"]), second["n"]))
        batch = source.dequeue_many(2)
        target.enqueue_many((tl.sum(batch["x"], axis=1), batch["n"] + 1))
        return 10 * source.size() + target.size()

    for engine in ENGINES:
        for n in range(5):
            source.enqueue({"x": [n, n + 0.5], "n": n})
        out = step.run(2.0, engine=engine)
        assert (out.status, out.value) == ("Returned", 13)
        assert [float(x) for _ in range(3) for x in target.dequeue()] == [1.0, 1, 4.5, 3, 6.5, 4]
        source.dequeue()


@pytest.mark.full
def test_a_drained_queue_traps() -> None:
    """A program that dequeues from a closed and empty queue traps with this message, after all earlier effects."""
    queue, lines = tl.FIFOQueue(3, tl.int64), list[str]()

    @tl.function
    def total(n: tl.int64) -> tl.int64:
        return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + queue.dequeue()), 0, 0)[1]

    queue.enqueue_many([1, 2, 3])
    queue.close()
    assert total(2) == 3
    for engine in ENGINES:
        out = total.run(2, engine=engine, world=tl.World(lines.append))
        assert out.status == "Trapped" and "raised QueueClosed: the queue is closed and drained" in str(out.error)
    with pytest.raises(tl.Trap, match="closed and drained"):
        total(1)


def test_a_variable_is_put_with_its_current_value() -> None:
    """A put variable is an element with its value at that point of the program."""
    queue, count = tl.FIFOQueue(3, tl.int64), tl.Variable(1)

    @tl.function
    def step(n: tl.int64) -> tl.int64:
        count.assign_add(n)
        queue.enqueue(count)
        count.assign_add(n)
        return n

    queue.enqueue(count)
    step(10)
    queue.close()
    assert list(map(int, queue)) == [1, 11] and int(count) == 21


def test_programs_wait_for_threads() -> None:
    """A firing waits until another thread has put an element, and a loop in a program may feed one in Python."""
    there, back = tl.FIFOQueue(1, tl.int64), tl.FIFOQueue(1, tl.int64)

    @tl.function
    def twice(n: tl.int64) -> tl.int64:
        def body(i: Any) -> Any:
            back.enqueue(2 * there.dequeue())
            return i + 1

        return tl.while_loop(lambda i: i < n, body, 0)[0]

    machine = threading.Thread(target=twice, args=(20,), daemon=True)
    machine.start()
    with tl.feeding(there, range(20)):
        assert [int(back.dequeue(timeout=10)) for _ in range(20)] == [2 * n for n in range(20)]
    machine.join()


def test_programs_refuse_elements_of_another_type() -> None:
    """Another dtype is refused when the function is traced, another size when it runs."""
    queue = tl.FIFOQueue(3, tl.Array[tl.float64, 2])

    @tl.function
    def put(x: tl.Array[tl.float64, None]) -> tl.int64:
        queue.enqueue(x)
        return 1

    @tl.function
    def wrong(x: tl.Array[tl.int64, 2]) -> tl.int64:
        queue.enqueue(x)
        return 1

    @tl.function
    def walk(x: tl.int64) -> tl.int64:
        return sum(queue)

    with pytest.raises(tl.Usage, match=r"element: a value of the wrong type"):
        wrong([1, 2])
    with pytest.raises(tl.Usage, match="a queue cannot be iterated in traced code"):
        walk(1)
    assert put([1.0, 2.0]) == 1
    with pytest.raises(tl.Trap, match="element: a value of the wrong type"):
        put([1.0])


def test_dequeued_elements_have_no_gradient() -> None:
    """A dequeued element is a constant for gradients; it is dequeued once, in the forward pass."""
    queue = tl.FIFOQueue(3, tl.float64)
    queue.enqueue_many([2.0, 5.0])
    loss = tl.function(lambda w: (w * queue.dequeue()) ** 2)
    assert tl.grad(loss)(3.0) == 2 * 3.0 * 2.0**2 and queue.size() == 1


def failing(count: int) -> Iterator[int]:
    yield from range(count)
    raise ValueError("the file ends early")


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_of_a_producer_is_raised_after_its_elements(threads: int) -> None:
    """The consumer gets the elements before the error, then the error with a note, each time it asks."""
    got = []
    with tl.feeding(tl.FIFOQueue(2, tl.int64), failing(5), threads=threads) as queue:
        with pytest.raises(ValueError, match="ends early") as raised:
            for each in queue:
                got.append(int(each))
        assert sorted(got) == list(range(5)) and raised.value.__notes__ == ["raised by a producer of this queue"]
        with pytest.raises(ValueError, match="ends early"):
            queue.dequeue()
        take = tl.function(lambda: queue.dequeue())
        with pytest.raises(tl.Trap, match="raised ValueError: the file ends early"):
            take()


def test_a_put_in_progress_is_kept_despite_an_error() -> None:
    """An element whose put is in progress is accepted although another thread has failed."""

    class Slow(Queue):
        def enqueue(self, element: Any, *, timeout: float | None = None) -> None:
            time.sleep(0.05)
            super().enqueue(element, timeout=timeout)

    with tl.feeding(Slow(2, 1, tl.int64, 0), failing(1), threads=2) as queue:
        assert int(queue.dequeue(timeout=5)) == 0
        with pytest.raises(ValueError, match="ends early"):
            queue.dequeue(timeout=5)


def test_a_wrong_element_is_raised_at_the_consumer() -> None:
    """A wrong element of a producer is raised at the consumer, as other errors are."""
    with (
        tl.feeding(tl.FIFOQueue(2, tl.int64), [1, 2.5]) as queue,
        pytest.raises(tl.Usage, match="element: a value of the wrong type"),
    ):
        list(queue)


@pytest.mark.parametrize("threads", [1, 4])
def test_stages(threads: int) -> None:
    """Queues feed queues: in order with one thread each, and completely with several."""
    with (
        tl.feeding(tl.FIFOQueue(3, tl.int64), range(50), threads=threads) as numbers,
        tl.feeding(tl.FIFOQueue(3, tl.int64), (n * n for n in numbers), threads=threads) as squares,
    ):
        given = [int(each) for each in squares]
    assert (given if threads == 1 else sorted(given)) == [n * n for n in range(50)]


def test_a_consumer_may_leave_early() -> None:
    """A consumer that leaves early stops producers of endless elements, and their threads."""
    before = threading.active_count()
    with tl.feeding(tl.FIFOQueue(3, tl.int64), iter(int, 1), threads=3) as queue:
        assert int(queue.dequeue()) == 0
    assert threading.active_count() == before and queue.is_closed


def test_feeding_is_refused_in_a_trace() -> None:
    """`feeding` is refused in a trace, since it would run during the trace."""

    @tl.function
    def wrong() -> tl.int64:
        with tl.feeding(tl.FIFOQueue(1, tl.int64), [1]) as queue:
            return queue.dequeue()

    with pytest.raises(tl.Usage, match="feeding cannot be used in traced code"):
        wrong()


def wait_for_a_waiter(queue: tl.FIFOQueue) -> None:
    """Waits until a thread waits for an element. Compiling may take time before, and may drop an interrupt."""
    while not queue._condition._waiters:  # type: ignore[attr-defined]
        time.sleep(0.001)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_unused_leaves_are_freed(engine: str) -> None:
    """A partial program that uses one leaf of each element frees the others, but for a few."""
    queue = tl.FIFOQueue(100, (tl.int64, tl.int64))
    take = tl.function(lambda: queue.dequeue()[0])
    first = [node.name for node in take.trace().program.main.body.nodes if node.op == "callback"][1]
    for n in range(100):
        queue.enqueue((n, -n))
    part = take.partial(first)
    assert [int(part.run(engine=engine).value) for _ in range(100)] == [*range(100)]
    assert len(queue._open_tickets) <= 20 * threading.active_count()
    queue.enqueue((7, 8))
    assert take() == 7


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("engine", [None, *ENGINES])
def test_ctrl_c_ends_a_wait(engine: str | None) -> None:
    """The first Ctrl-C ends a waiting dequeue, in Python and in a run; nothing is taken."""
    queue = tl.FIFOQueue(1, tl.int64)
    take = tl.function(lambda: queue.dequeue())

    def interrupted() -> None:
        wait_for_a_waiter(queue)
        os.kill(os.getpid(), signal.SIGINT)

    with default_ctrl_c():
        threading.Thread(target=interrupted, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            queue.dequeue(timeout=20) if engine is None else take.run(engine=engine)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    queue.enqueue(5)
    assert take() == 5


def test_a_run_of_another_thread_is_interrupted() -> None:
    """`interrupt` ends a wait in another thread, as Ctrl-C does in the main thread."""
    queue, ended = tl.FIFOQueue(1, tl.int64), list[BaseException]()
    take = tl.function(lambda: queue.dequeue())
    take.trace()

    def run() -> None:
        try:
            take.run()
        except KeyboardInterrupt as error:
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    wait_for_a_waiter(queue)
    assert thread.ident is not None
    interrupt_thread(thread.ident)
    thread.join(5)
    assert len(ended) == 1 and not thread.is_alive()
