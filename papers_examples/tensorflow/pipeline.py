"""A training pipeline: a thread reads, a queue buffers, steps dequeue, and every few steps the state is saved.

A thread parses lines of text, and fills a queue of batches; the step, one program, takes a batch from it, so that
reading and learning overlap, and the queue's size bounds how far reading gets ahead. Every five steps a checkpoint has
the weights, the optimizer's slots and the number of steps. A training that was interrupted continues from the last one:
it reads the lines from there on, and ends with the weights of an uninterrupted one, bit for bit.

    tagloom run papers_examples/tensorflow/pipeline.py 20

Source: "TensorFlow: a system for large-scale machine learning" (Abadi and others, OSDI 2016), sections 3.2 and 4.3,
from a description; the lines are ours.
"""

import tempfile

import tagloom as tl

BATCH, EVERY = 4, 5


def lines(start, stop):
    """Lines `x y` on the line y = 2 x - 1, as in a file."""
    for k in range(start * BATCH, stop * BATCH):
        x = k * 37 % 20 / 10 - 1
        yield f"{x} {2 * x - 1}"


def parse(line):
    x, y = line.split()
    return {"x": float(x), "y": float(y)}


class Training:
    def __init__(self):
        self.slope, self.offset = tl.Variable(0.0, name="slope"), tl.Variable(0.0, name="offset")
        self.optimizer, self.steps = tl.optimizers.Momentum(rate=0.2, momentum=0.5), tl.Variable(0, name="steps")

    def loss(self, x, y):
        return tl.mean((self.slope * x + self.offset - y) ** 2)

    @tl.function
    def step(self, x, y):
        variables = (self.slope, self.offset)
        loss, gradients = tl.value_and_grad(self.loss, variables)(x, y)
        self.optimizer.apply(gradients, variables)
        self.steps.assign_add(1)
        return loss

    def run(self, stop, folder):
        """Continues to this number of steps from the state in a folder, and saves there; returns the first step."""
        manager = tl.CheckpointManager(tl.Checkpoint(training=self), folder, keep=2)
        manager.restore_latest()
        start = int(self.steps)
        queue = tl.FIFOQueue(2 * BATCH, {"x": tl.float64, "y": tl.float64})
        with tl.feeding(queue, map(parse, lines(start, stop))):
            while int(self.steps) < stop:
                batch = queue.dequeue_many(BATCH)
                self.step(batch["x"], batch["y"])
                if int(self.steps) % EVERY == 0:
                    manager.save(self.steps)
        return start


def interrupt_and_resume(step, stop=20):
    """An interrupted and resumed training: the step at which it resumed, and the final weights."""
    with tempfile.TemporaryDirectory() as folder:
        Training().run(step, folder)
        training = Training()
        return training.run(stop, folder), float(training.slope), float(training.offset)


TRAINING, QUEUE = Training(), tl.FIFOQueue(20 * BATCH, {"x": tl.float64, "y": tl.float64})
for line in lines(0, 20):
    QUEUE.enqueue(parse(line))
QUEUE.close()


@tl.function
def main(steps: tl.int64) -> tl.float64:
    """The training as one program, which takes its batches itself from a queue of 20; one more is a trap."""
    loss = tl.inf
    for _ in range(steps):
        batch = QUEUE.dequeue_many(BATCH)
        loss = TRAINING.step(batch["x"], batch["y"])
    return loss


EXPECTED = [{"run": ("main", 20), "result": 2.0680944644990777e-06, "size": "quick"}]


HEADING = ["| interrupted after | resumed from | slope at the end | offset |", "|---|---|---|---|"]


def table() -> list[str]:
    """The rows of the README's table."""
    rows = []
    for step in (0, 4, 7, 19):
        first_step, slope, offset = interrupt_and_resume(step)
        rows.append(f"| {step} | {first_step} | {slope!r} | {offset!r} |")
    return rows


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
