"""Workers that train one model together, synchronised in three ways.

A worker computes the gradient of its own batch with the weights at its beginning, and sends it with the number of its
step: that is its tag. A server waits for gradients of its current step, updates the weights, and begins the next step.
If it waits for one gradient, of any step, the training is asynchronous: nobody waits, and a gradient may be old. If it
waits for all, it is synchronous: none is old, and the slowest worker sets the pace. With backup workers it waits for
the first m of n, and drops late ones by their tags: none is old, and nobody waits for the slowest.

The same server runs over `Threads`, whose workers run concurrently and put their gradients into a queue, and over a
`Clock`, on which workers take given times, for a table that can be repeated. `main` is the synchronous way as one
program: gradients are put into write-once cells, so that the weights do not depend on the order of workers.

    tagloom run papers_examples/tensorflow/synchronise.py 3

Source: "TensorFlow: a system for large-scale machine learning" (Abadi and others, OSDI 2016), section 4.4, from a
description; the model, the times and the numbers are ours.
"""

import heapq
import threading

import tagloom as tl

WORKERS, BATCH, RATE = 10, 4, 0.125
TRUE = (2.0, -1.0, 0.5)
Vector = tl.Array[tl.float64, len(TRUE)]
w = tl.Variable([0.0] * len(TRUE), name="w")


def loss(x, y):
    return tl.mean((x @ w - y) ** 2)


@tl.function
def gradient(worker: tl.int64, step: tl.int64) -> Vector:
    """The gradient by the weights, of a worker's batch at a step: points on a plane, with a little noise."""
    count = 1000 * step + worker
    x = tl.normal_at(1, count, shape=(BATCH, len(TRUE)))
    y = x @ tl.asarray(TRUE) + 0.5 * tl.normal_at(2, count, shape=BATCH)
    return tl.grad(loss, w)(x, y)


@tl.function
def update(gradients):
    """Each gradient moves the weights equally far, however many come at once."""
    w.assign_sub(RATE / WORKERS * tl.sum(gradients, axis=0))


def error():
    """The distance of the weights from those of the plane."""
    return float(tl.sqrt(tl.sum((w - tl.asarray(TRUE)) ** 2)))


def serve(cluster, steps, required_count=None):
    """Takes this many steps: each with the first `required_count` gradients of its step, or with the next of any step.
    Returns the numbers of gradients taken and dropped, and the age in steps of the oldest one.

    A cluster has `begin(worker, step)`, which starts work, and `next_result()`, which returns worker, step, gradient.
    """
    taken_count = dropped_count = oldest = 0
    gradients, idle = {}, range(WORKERS)
    for step in range(steps):
        for worker in idle:
            cluster.begin(worker, step)
        idle = []
        while len(gradients) < (required_count or 1):
            worker, start_step, value = cluster.next_result()
            if required_count and start_step < step:
                dropped_count += 1
                cluster.begin(worker, step)
            else:
                oldest = max(oldest, step - start_step)
                gradients[worker] = value
                idle.append(worker)
        update(tl.stack([gradients[worker] for worker in sorted(gradients)]))
        taken_count += len(gradients)
        gradients = {}
    return taken_count, dropped_count, oldest


class Clock:
    """Workers on a clock: work that begins at t ends at t plus its time, and the clock jumps to the next end."""

    def __init__(self, duration):
        """`duration(worker, step)` is the time that a worker takes."""
        self.now, self.duration, self.busy = 0.0, duration, []

    def begin(self, worker, step):
        end = self.now + self.duration(worker, step)
        heapq.heappush(self.busy, (end, worker, step, gradient(worker, step)))

    def next_result(self):
        self.now, *message = heapq.heappop(self.busy)
        return message


class Threads:
    """Workers on threads, each with a queue of steps to begin, and one queue for all results."""

    def __init__(self, work=gradient):
        """`work(worker, step)` is what a worker computes."""
        self.results = tl.FIFOQueue(WORKERS, (tl.int64, tl.int64, Vector))
        self.step_queues = [tl.FIFOQueue(1, tl.int64) for _ in range(WORKERS)]
        self.work = work
        self.threads = [threading.Thread(target=self.run, args=(worker,)) for worker in range(WORKERS)]

    def run(self, worker):
        try:
            for step in self.step_queues[worker]:
                self.results.enqueue((worker, step, self.work(worker, step)))
        except Exception as error:
            self.results.fail(error)

    def begin(self, worker, step):
        self.step_queues[worker].enqueue(step)

    def next_result(self):
        worker, step, result = self.results.dequeue()
        return int(worker), int(step), result

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        for queue in self.step_queues:
            queue.close()
        for thread in self.threads:
            thread.join()


@tl.function
def main(steps: tl.int64) -> tl.float64:
    """The synchronous way as one program; returns the distance of the weights from the plane's."""

    def step(k):
        gradients = tl.cells(WORKERS, Vector)
        tl.while_loop(
            lambda i, gradients: i < WORKERS,
            lambda i, gradients: (i + 1, tl.put(gradients, i, gradient(i, k))),
            0,
            gradients,
        )
        update(tl.collect(gradients))
        return k + 1

    tl.while_loop(lambda k: k < steps, step, 0)
    return tl.sqrt(tl.sum((w - tl.asarray(TRUE)) ** 2))


EXPECTED = [{"run": ("main", 3), "result": 0.7018081681796975, "size": "quick"}]


def times(worker, step):
    """A unit or a little more; one of ten takes five."""
    return 1.0 + (7 * worker + 3 * step) % 5 / 20 + 4.0 * ((3 * worker + 7 * step) % 10 == 0)


WAYS = {"asynchronous": (160, None), "synchronous": (16, 10), "with 2 backup workers": (20, 8)}
HEADING = [
    "| way | steps | time | gradients taken | dropped | oldest, in steps | error |",
    "|---|---|---|---|---|---|---|",
]


def table() -> list[str]:
    """The rows of the README's table."""
    rows = []
    for name, (steps, required_count) in WAYS.items():
        w.assign([0.0] * len(TRUE))
        clock = Clock(times)
        taken_count, dropped_count, oldest = serve(clock, steps, required_count)
        rows.append(
            f"| {name} | {steps} | {clock.now:.1f} | {taken_count} | {dropped_count} | {oldest} | {error():.3f} |"
        )
    return rows


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
