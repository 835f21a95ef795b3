"""Programs of research code, such as training loops, schedules and searches, made as scenarios are
(`object_scenarios`)."""

# ruff: noqa: RUF012

from __future__ import annotations

import enum
import math
from collections import deque, namedtuple
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
import tagloom as tl

from .object_scenarios import ObjectScenario

RESEARCH_PROGRAMS: dict[str, ObjectScenario] = {}
"""All programs by name."""


def research_program(make: ObjectScenario) -> ObjectScenario:
    """Add a program to the table, under the name of its function."""
    RESEARCH_PROGRAMS[make.__name__] = make
    return make


class Phase(enum.Enum):
    WARMUP = 0
    TRAIN = 1
    DECAY = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


Transition = namedtuple("Transition", "state action reward done")


class Span(NamedTuple):
    start: int
    end: int = 10


@research_program
def warmup_and_decay(speculate):
    class Schedule:
        def __init__(self, peak, warmup):
            self.peak, self.warmup, self.count = peak, warmup, 0

        @property
        def rate(self):
            if self.count < self.warmup:
                return self.peak * (self.count + 1) / self.warmup
            return self.peak * math.sqrt(self.warmup / (self.count + 1))

        def step(self):
            rate = self.rate
            self.count += 1
            return rate

    @speculate
    def advance(schedule, weights, slopes):
        rate = schedule.step()
        return weights - rate * slopes, rate

    schedule = Schedule(0.5, 4)
    return advance, [(schedule, tl.asarray([1.0, 2.0]), tl.asarray([0.1 * k, 0.2])) for k in range(11)]


@research_program
def phases_of_an_enum(speculate):
    class Run:
        def __init__(self):
            self.phase, self.steps = Phase.WARMUP, 0

        def advance(self):
            self.steps += 1
            if self.phase is Phase.WARMUP and self.steps >= 3:
                self.phase = Phase.TRAIN
            elif self.phase == Phase.TRAIN and self.steps >= 6:
                self.phase = Phase.DECAY

    @speculate
    def step(run):
        run.advance()
        return run.phase, run.steps

    run = Run()
    return step, [(run,) for _ in range(12)]


@research_program
def level_of_an_int_enum(speculate):
    class Alarm:
        def __init__(self):
            self.level, self.score = Level.LOW, 0

    @speculate
    def raise_alarm(alarm, k):
        alarm.level = Level.HIGH if k % 3 == 0 else Level.LOW
        alarm.score += alarm.level.value
        return alarm.score > 10

    alarm = Alarm()
    return raise_alarm, [(alarm, k) for k in range(12)]


@research_program
def transitions_of_a_namedtuple(speculate):
    class Memory:
        def __init__(self):
            self.total, self.episodes = 0.0, 0

    @speculate
    def add(memory, transition):
        memory.total += transition.reward
        if transition.done:
            memory.episodes += 1
        return memory.total / (1 + memory.episodes)

    memory = Memory()
    return add, [(memory, Transition(k, k % 2, 0.5 * k, k % 4 == 3)) for k in range(12)]


@research_program
def span_of_a_named_tuple(speculate):
    class Reader:
        def __init__(self):
            self.span, self.seen = Span(0), 0

    @speculate
    def move(reader, k):
        start, end = reader.span
        reader.seen += end - start
        reader.span = Span(start + 1, end + k)
        return reader.span

    reader = Reader()
    return move, [(reader, k) for k in range(10)]


@research_program
def methods_of_a_named_tuple(speculate):
    class Point(NamedTuple):
        x: float
        y: float = 0.5

        def norm(self):
            return abs(self.x) + abs(self.y)

        @property
        def total(self):
            return self.x + self.y

    class Walker:
        def __init__(self):
            self.at = Point(0.0)

    @speculate
    def walk(walker, step):
        walker.at = walker.at._replace(x=walker.at.x + step)
        if walker.at.norm() > 5.0:
            walker.at = Point(y=0.25, x=-1.0)
        return walker.at, walker.at.total

    walker = Walker()
    return walk, [(walker, 0.5 * k) for k in range(12)]


@research_program
def fields_that_do_not_fit(speculate):
    @speculate
    def move(span, k):
        if k == 8:
            return Span(k, k, k)
        return Span(end=span.end + k, start=span.start)

    return move, [(Span(k), k) for k in range(14)]


@research_program
def names_of_an_enum(speculate):
    class Mode(enum.Enum):
        FAST = 2
        SLOW = 1

        @property
        def factor(self):
            return 10 * self.value

    class Engine:
        def __init__(self):
            self.mode, self.way = Mode.FAST, 0

    @speculate
    def drive(engine, k):
        print(engine.mode.name)
        engine.way += engine.mode.value
        engine.mode = Mode.SLOW if engine.mode == Mode.FAST and k % 2 else Mode.FAST
        return engine.mode is not Mode.SLOW, engine.mode != Mode.FAST

    engine = Engine()
    return drive, [(engine, k) for k in range(12)]


@research_program
def trainer_with_callbacks(speculate):
    class Callback:
        def on_step(self, trainer):
            pass

        def on_end(self, trainer):
            pass

    class Counter(Callback):
        def __init__(self):
            self.steps = self.ends = 0

        def on_step(self, trainer):
            self.steps += 1

        def on_end(self, trainer):
            self.ends += 1

    class Stopper(Callback):
        def __init__(self, patience):
            self.patience, self.best, self.bad = patience, math.inf, 0

        def on_step(self, trainer):
            if trainer.loss < self.best:
                self.best, self.bad = trainer.loss, 0
            else:
                self.bad += 1
                if self.bad >= self.patience:
                    trainer.stopped = True

    class Trainer:
        def __init__(self, callbacks):
            self.callbacks, self.loss, self.stopped = callbacks, 0.0, False

        def fit(self, losses):
            for loss in losses:
                self.loss = loss
                for callback in self.callbacks:
                    callback.on_step(self)
                if self.stopped:
                    break
            for callback in self.callbacks:
                callback.on_end(self)
            return self.loss

    @speculate
    def fit(trainer, losses):
        return trainer.fit(losses)

    trainer = Trainer([Counter(), Stopper(6)])
    return fit, [(trainer, [5.0 - k, 4.0 - 0.5 * k, 6.0]) for k in range(12)]


@research_program
def functions_as_callbacks(speculate):
    log = []

    def note(name, value):
        log.append((name, value))

    def ignore(name, value):
        pass

    class Loop:
        def __init__(self, hook):
            self.hook, self.count = hook, 0

    @speculate
    def run(loop, k):
        loop.count += k
        loop.hook("count", loop.count)
        return loop.count

    loops = [Loop(note), Loop(ignore)]
    return run, [(loops[k % 2], k) for k in range(12)]


@research_program
def early_stopping(speculate):
    class EarlyStopping:
        def __init__(self, patience=2, tolerance=0.01):
            self.patience, self.tolerance = patience, tolerance
            self.best, self.wait, self.stopped_at = None, 0, -1

        def __call__(self, loss, epoch):
            if self.best is None or loss < self.best - self.tolerance:
                self.best, self.wait = loss, 0
                return False
            self.wait += 1
            if self.wait >= self.patience and self.stopped_at < 0:
                self.stopped_at = epoch
            return self.wait >= self.patience

    @speculate
    def check(stopping, loss, epoch):
        return stopping(loss, epoch)

    stopping = EarlyStopping()
    return check, [(stopping, 1.0 / (1 + min(k, 6)), k) for k in range(12)]


@research_program
def modules_with_forward(speculate):
    class Module:
        def __init__(self):
            self.training = True

        def __call__(self, x):
            return self.forward(x)

        def eval(self):
            self.training = False
            return self

    class Linear(Module):
        def __init__(self, seed):
            super().__init__()
            self.weight = tl.asarray([[0.1 * seed, 0.2], [0.3, -0.1 * seed]])

        def forward(self, x):
            return x @ self.weight

    class Relu(Module):
        def forward(self, x):
            return tl.relu(x)

    class Sequential(Module):
        def __init__(self, *layers):
            super().__init__()
            self.layers = list(layers)

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    @speculate
    def predict(model, x):
        return model(x)

    model = Sequential(Linear(1), Relu(), Linear(2))
    return predict, [(model, tl.asarray([1.0, float(k)])) for k in range(10)]


@research_program
def config_of_nested_dataclasses(speculate):
    @dataclass(frozen=True)
    class Optimizer:
        rate: float = 0.1
        decay: float = 0.5

    @dataclass
    class Config:
        optimizer: Optimizer = field(default_factory=Optimizer)
        steps: int = 3
        name: str = "base"

    class State:
        def __init__(self):
            self.x = 4.0

    @speculate
    def descend(config, state):
        rate = config.optimizer.rate
        for _ in range(config.steps):
            state.x -= rate * 2.0 * state.x
            rate *= config.optimizer.decay
        return state.x, config.name

    state = State()
    configs = [Config(), Config(Optimizer(0.2), 2, "fast")]
    return descend, [(configs[k % 2], state) for k in range(12)]


@research_program
def metrics_in_a_dict(speculate):
    class Metrics:
        def __init__(self):
            self.sums = {"loss": 0.0, "accuracy": 0.0}
            self.count = 0

        def update(self, loss, accuracy):
            self.sums["loss"] += loss
            self.sums["accuracy"] += accuracy
            self.count += 1

        def mean(self, name):
            return self.sums[name] / self.count

    @speculate
    def record(metrics, loss, accuracy):
        metrics.update(loss, accuracy)
        return metrics.mean("loss"), metrics.mean("accuracy")

    metrics = Metrics()
    return record, [(metrics, 1.0 / (k + 1), 0.1 * k) for k in range(10)]


@research_program
def metrics_in_a_loop_over_a_dict(speculate):
    @speculate
    def merge(totals, values):
        for name, value in values.items():
            totals[name] += value
        return totals["loss"]

    totals = {"loss": 0.0, "count": 0.0}
    return merge, [(totals, {"loss": 0.5 * k, "count": 1.0}) for k in range(10)]


@research_program
def cache_of_results_by_size(speculate):
    class Solver:
        def __init__(self):
            self.cache, self.misses = {}, 0

        def solve(self, n):
            if n in self.cache:
                return self.cache[n]
            self.misses += 1
            self.cache[n] = n * n + 1
            return self.cache[n]

    @speculate
    def solve(solver, n):
        return solver.solve(n) + solver.misses

    solver = Solver()
    return solve, [(solver, k % 4) for k in range(16)]


@research_program
def attributes_by_getattr(speculate):
    class Options:
        def __init__(self, values):
            self.values = values

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            return self.values[name]

    @speculate
    def scale(options, x):
        return options.rate * x + options.offset

    options = Options({"rate": 2.0, "offset": 1.0})
    return scale, [(options, float(k)) for k in range(9)]


@research_program
def batches_of_a_generator(speculate):
    def batches(items, size):
        for start in range(0, len(items), size):
            yield items[start : start + size]

    class Accumulator:
        def __init__(self):
            self.total = 0

    @speculate
    def consume(accumulator, items):
        for batch in batches(items, 2):
            accumulator.total += sum(batch)
        return accumulator.total

    accumulator = Accumulator()
    return consume, [(accumulator, [k, k + 1, 2 * k]) for k in range(9)]


@research_program
def iterator_of_the_user(speculate):
    class Countdown:
        def __init__(self, start):
            self.left = start

        def __iter__(self):
            return self

        def __next__(self):
            if self.left == 0:
                raise StopIteration
            self.left -= 1
            return self.left

    @speculate
    def drain(countdown, limit):
        total = 0
        for value in countdown:
            total += value
            if total > limit:
                break
        return total

    return drain, [(Countdown(5 + k % 3), 6) for k in range(9)]


@research_program
def replay_in_a_deque(speculate):
    class Agent:
        def __init__(self):
            self.memory = deque(maxlen=4)

        def remember(self, value):
            self.memory.append(value)
            return len(self.memory)

    @speculate
    def remember(agent, value):
        return agent.remember(value)

    agent = Agent()
    return remember, [(agent, k) for k in range(9)]


@research_program
def moving_average_of_weights(speculate):
    class Average:
        def __init__(self, size, decay):
            self.decay, self.value, self.count = decay, tl.zeros(size), 0

        def update(self, weights):
            self.count += 1
            decay = min(self.decay, (1.0 + self.count) / (10.0 + self.count))
            self.value = decay * self.value + (1.0 - decay) * weights

    @speculate
    def update(average, weights):
        average.update(weights)
        return average.value

    average = Average(3, 0.9)
    return update, [(average, tl.asarray([1.0, float(k), 0.5])) for k in range(10)]


@research_program
def gradient_accumulation(speculate):
    class Trainer:
        def __init__(self, every):
            self.every, self.pending, self.steps = every, 0, 0
            self.weights, self.slopes = tl.asarray([1.0, -1.0]), tl.zeros(2)

        def backward(self, x):
            self.slopes = self.slopes + tl.grad(lambda w: tl.sum((w * x) ** 2))(self.weights)
            self.pending += 1
            if self.pending == self.every:
                self.weights = self.weights - 0.01 * self.slopes
                self.slopes, self.pending = tl.zeros(2), 0
                self.steps += 1
            return self.steps

    @speculate
    def backward(trainer, x):
        return trainer.backward(x)

    trainer = Trainer(3)
    return backward, [(trainer, tl.asarray([0.5, 0.1 * k])) for k in range(12)]


@research_program
def clipped_step(speculate):
    class Clipper:
        def __init__(self, limit):
            self.limit, self.clipped = limit, 0

        def clip(self, slopes):
            norm = float(tl.sqrt(tl.sum(slopes**2)))
            if norm > self.limit:
                self.clipped += 1
                return slopes * (self.limit / norm)
            return slopes

    @speculate
    def step(clipper, weights, slopes):
        return weights - 0.1 * clipper.clip(slopes)

    clipper = Clipper(1.0)
    return step, [(clipper, tl.asarray([1.0, 2.0]), tl.asarray([0.3 * k, 0.4])) for k in range(10)]


@research_program
def bandit_with_counts(speculate):
    class Bandit:
        def __init__(self, arms):
            self.counts, self.values = [0] * arms, [0.0] * arms

        def best(self):
            best = 0
            for arm in range(1, len(self.values)):
                if self.values[arm] > self.values[best]:
                    best = arm
            return best

        def update(self, arm, reward):
            self.counts[arm] += 1
            self.values[arm] += (reward - self.values[arm]) / self.counts[arm]

    @speculate
    def play(bandit, k, reward):
        arm = k % len(bandit.counts) if k < 6 else bandit.best()
        bandit.update(arm, reward)
        return arm

    bandit = Bandit(3)
    return play, [(bandit, k, math.sin(k)) for k in range(14)]


@research_program
def q_learning_in_a_grid(speculate):
    class Table:
        def __init__(self, states, actions):
            self.rows = [[0.0] * actions for _ in range(states)]

        def learn(self, state, action, reward, after):
            best = max(self.rows[after])
            row = self.rows[state]
            row[action] += 0.5 * (reward + 0.9 * best - row[action])
            return row[action]

    @speculate
    def learn(table, k):
        return table.learn(k % 4, k % 2, 1.0 if k % 4 == 3 else 0.0, (k + 1) % 4)

    table = Table(4, 2)
    return learn, [(table, k) for k in range(14)]


@research_program
def beam_of_hypotheses(speculate):
    class Hypothesis:
        def __init__(self, score, parent=None):
            self.score, self.parent = score, parent

        def length(self):
            count, node = 0, self
            while node is not None:
                count += 1
                node = node.parent
            return count

    class Beam:
        def __init__(self):
            self.items = [Hypothesis(0.0)]

        def extend(self, gain):
            best = self.items[0]
            for item in self.items:
                if item.score > best.score:
                    best = item
            self.items.append(Hypothesis(best.score + gain, best))
            if len(self.items) > 3:
                self.items.pop(0)
            return best.length()

    @speculate
    def extend(beam, gain):
        return beam.extend(gain)

    beam = Beam()
    return extend, [(beam, (-1.0) ** k * k) for k in range(12)]


@research_program
def tokenizer_with_vocabulary(speculate):
    class Vocabulary:
        def __init__(self, words):
            self.ids = {word: number for number, word in enumerate(words)}
            self.unknown = 0

        def lookup(self, word):
            number = self.ids.get(word)
            if number is None:
                self.unknown += 1
                return -1
            return number

    @speculate
    def lookup(vocabulary, word):
        return vocabulary.lookup(word)

    vocabulary = Vocabulary(["a", "b", "c"])
    return lookup, [(vocabulary, "abcd"[k % 4]) for k in range(12)]


@research_program
def partial_of_a_function(speculate):
    def blend(weight, x, y):
        return weight * x + (1.0 - weight) * y

    class Mixer:
        def __init__(self):
            self.blend = partial(blend, 0.25)
            self.last = 0.0

    @speculate
    def mix(mixer, x):
        mixer.last = mixer.blend(x, mixer.last)
        return mixer.last

    mixer = Mixer()
    return mix, [(mixer, float(k)) for k in range(9)]


@research_program
def abstract_base_and_strategies(speculate):
    class Sampler:
        name = "base"

        def sample(self, k):
            raise NotImplementedError

        def describe(self):
            return f"{self.name}: {self.sample(1)}"

    class Even(Sampler):
        name = "even"

        def sample(self, k):
            return 2 * k

    class Odd(Sampler):
        name = "odd"

        def sample(self, k):
            return 2 * k + 1

    @speculate
    def draw(sampler, k):
        print(sampler.describe())
        return sampler.sample(k)

    samplers = [Even(), Odd(), Sampler()]
    return draw, [(samplers[min(k % 5, 2) if k == 7 else k % 2], k) for k in range(12)]


@research_program
def property_with_setter_that_checks(speculate):
    class Dropout:
        def __init__(self, rate):
            self.rate = rate

        @property
        def rate(self):
            return self._rate

        @rate.setter
        def rate(self, value):
            if not 0.0 <= value < 1.0:
                raise ValueError(f"rate {value}")
            self._rate = value

    @speculate
    def set_rate(dropout, value):
        dropout.rate = value
        return 1.0 / (1.0 - dropout.rate)

    dropout = Dropout(0.5)
    return set_rate, [(dropout, 0.1 * (k % 9) if k != 7 else 1.5) for k in range(14)]


@research_program
def total_of_instances(speculate):
    class Particle:
        count = 0
        registry = []

        def __init__(self, mass):
            self.mass = mass
            Particle.count += 1
            Particle.registry.append(self)

        @classmethod
        def heaviest(cls):
            return max(particle.mass for particle in cls.registry)

    @speculate
    def create(mass):
        particle = Particle(mass)
        return particle.mass, Particle.count, Particle.heaviest()

    return create, [(float((7 * k) % 5),) for k in range(9)]


@research_program
def checkpoint_and_restore(speculate):
    class Model:
        def __init__(self):
            self.weight, self.best, self.best_loss = 1.0, None, 1e9

        def step(self, loss):
            self.weight += 0.5
            if loss < self.best_loss:
                self.best_loss, self.best = loss, {"weight": self.weight, "loss": loss}
            elif loss > 2.0 * self.best_loss and self.best is not None:
                self.weight = self.best["weight"]

    @speculate
    def step(model, loss):
        model.step(loss)
        return model.weight

    model = Model()
    return step, [(model, abs(math.cos(k)) + 0.1) for k in range(12)]


@research_program
def newton_with_limit(speculate):
    class Solver:
        def __init__(self):
            self.iterations, self.failed = 0, False

        def root(self, target):
            x = target
            for _ in range(20):
                step = (x * x - target) / (2.0 * x)
                x -= step
                self.iterations += 1
                if abs(step) < 1e-9:
                    break
            else:
                self.failed = True
            return x

    @speculate
    def root(solver, target):
        return solver.root(target)

    solver = Solver()
    return root, [(solver, float(k + 1)) for k in range(11)]


@research_program
def log_with_format(speculate):
    class Logger:
        def __init__(self, every):
            self.every, self.step = every, 0

        def log(self, loss):
            if self.step % self.every == 0:
                print(f"step {self.step:>4d} | loss {loss:.3f}")
            self.step += 1

    @speculate
    def log(logger, loss):
        logger.log(loss)

    logger = Logger(3)
    return log, [(logger, 1.0 / (k + 1)) for k in range(11)]


@research_program
def graph_of_nodes_with_gradients(speculate):
    class Value:
        def __init__(self, data, left=None, right=None, op=""):
            self.data, self.grad = data, 0.0
            self.left, self.right, self.op = left, right, op

        def __add__(self, other):
            return Value(self.data + other.data, self, other, "+")

        def __mul__(self, other):
            return Value(self.data * other.data, self, other, "*")

        def backward(self, grad):
            self.grad += grad
            if self.op == "+":
                self.left.backward(grad)
                self.right.backward(grad)
            elif self.op == "*":
                self.left.backward(grad * self.right.data)
                self.right.backward(grad * self.left.data)

    @speculate
    def train(w, b, x):
        loss = (w * Value(x) + b) * (w * Value(x) + b)
        w.grad = b.grad = 0.0
        loss.backward(1.0)
        w.data -= 0.01 * w.grad
        b.data -= 0.01 * b.grad
        return loss.data

    w, b = Value(0.5), Value(0.1)
    return train, [(w, b, 0.3 * k) for k in range(10)]


@research_program
def hidden_state_of_numpy(speculate):
    class Cell:
        def __init__(self):
            self.weight = np.array([[0.1, 0.2], [0.3, -0.4]])
            self.state = np.zeros(2)

        def step(self, x):
            self.state = np.tanh(x + self.state @ self.weight)
            return self.state

    @speculate
    def step(cell, x):
        return cell.step(x)

    cell = Cell()
    return step, [(cell, np.array([0.1 * k, 1.0])) for k in range(10)]


@research_program
def state_of_numpy_in_place(speculate):
    class Cell:
        def __init__(self):
            self.weight = np.array([[0.1, 0.2], [0.3, -0.4]])
            self.state = np.zeros(2)

        def step(self, x):
            self.state[:] = np.tanh(x + self.state @ self.weight)

    @speculate
    def step(cell, x):
        cell.step(x)
        return cell.state.sum()

    cell = Cell()
    return step, [(cell, np.array([0.1 * k, 1.0])) for k in range(10)]


@research_program
def counts_of_numpy(speculate):
    class Histogram:
        def __init__(self, bins):
            self.count, self.total = np.zeros(bins, np.int64), 0

        def add(self, i):
            self.count[i] += 1
            self.total += 1

    @speculate
    def add(histogram, i):
        histogram.add(i)
        return histogram.total

    histogram = Histogram(5)
    return add, [(histogram, (3 * k) % 5) for k in range(12)]


@research_program
def counts_of_numpy_out_of_range(speculate):
    class Histogram:
        def __init__(self, bins):
            self.count, self.total = np.zeros(bins), 0

    @speculate
    def add(histogram, i, weight):
        histogram.total += 1
        histogram.count[i] += weight
        return histogram.total

    histogram = Histogram(4)
    return add, [(histogram, k % 4 if k != 8 else 9, 0.5 * k) for k in range(20)]


@research_program
def one_array_of_numpy_by_two_names(speculate):
    class Half:
        def __init__(self, weight):
            self.weight = weight

    @speculate
    def scale(first, second, k):
        first.weight[0] += k
        return second.weight[0] + second.weight[1]

    shared = np.ones(3)
    halves = [Half(shared), Half(shared)]
    return scale, [(halves[0], halves[1], 0.5 * k) for k in range(9)]


@research_program
def view_in_an_attribute(speculate):
    class Model:
        def __init__(self):
            self.weights = np.zeros(6)
            self.head = self.weights[:2]

    @speculate
    def train(model, k):
        model.head[0] += k
        model.weights[1] = model.weights[0] * 2.0
        return model.head[1]

    model = Model()
    return train, [(model, 0.5 * k) for k in range(9)]


@research_program
def momentum_of_numpy(speculate):
    class Momentum:
        def __init__(self, size):
            self.rate, self.velocity = 0.1, np.zeros(size)

        def update(self, weights, slopes):
            self.velocity = 0.9 * self.velocity - self.rate * slopes
            weights += self.velocity

    @speculate
    def update(optimizer, weights, slopes):
        optimizer.update(weights, slopes)

    optimizer, weights = Momentum(3), np.ones(3)
    return update, [(optimizer, weights, np.array([0.1 * k, 1.0, -1.0])) for k in range(9)]


@research_program
def ring_of_numpy(speculate):
    class Ring:
        def __init__(self, size):
            self.items, self.next = np.zeros(size), 0

        def push(self, value):
            self.items[self.next] = value
            self.next = (self.next + 1) % len(self.items)
            return float(self.items.mean())

    @speculate
    def push(ring, value):
        return ring.push(value)

    ring = Ring(4)
    return push, [(ring, 0.5 * k) for k in range(12)]
