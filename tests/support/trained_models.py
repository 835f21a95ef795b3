"""Models as Python classes, with a training step each: what speculation must do as Python does."""

from __future__ import annotations

import random

import tagloom as tl

ROWS = 4


def weights(rows, columns, seed):
    """A matrix of small numbers."""
    draw = random.Random(seed)
    return tl.asarray([[draw.uniform(-0.5, 0.5) for _ in range(columns)] for _ in range(rows)])


def batch(call, size=3):
    """A batch of a call: its inputs and its targets."""
    draw = random.Random(call)
    rows = [[draw.uniform(-1.0, 1.0) for _ in range(size)] for _ in range(ROWS)]
    return tl.asarray(rows), tl.asarray([[sum(row), row[0] * row[1]] for row in rows])


class Perceptron:
    """Two layers whose weights are attributes; the rate falls with the steps."""

    def __init__(self):
        self.hidden, self.output = weights(3, 5, 1), weights(5, 2, 2)
        self.rate, self.steps, self.last_loss = 0.05, 0, None

    def loss(self, x, y):
        difference = tl.tanh(x @ self.hidden) @ self.output - y
        return tl.mean(difference * difference)

    def step(self, x, y):
        with tl.Tape() as tape:
            tape.watch((self.hidden, self.output))
            loss = self.loss(x, y)
        hidden, output = tape.gradient(loss, (self.hidden, self.output))
        self.hidden = self.hidden - self.rate * hidden
        self.output = self.output - self.rate * output
        self.steps += 1
        if self.steps % 3 == 0:
            self.rate *= 0.9
        self.last_loss = float(loss)
        return loss


class Functional(Perceptron):
    """Gradients of functions, with respect to arrays that have other names in the function."""

    def loss_of(self, hidden, output, x, y):
        difference = tl.tanh(x @ hidden) @ output - y
        return tl.mean(difference * difference)

    def step(self, x, y):
        weight = self.hidden

        def compute_loss(hidden, output):
            loss = self.loss_of(hidden, output, x, y)
            if self.steps % 2:
                loss = loss + 0.1 * tl.sum(weight * hidden)
            return loss

        loss, (hidden, output) = tl.value_and_grad(compute_loss, (0, 1))(weight, self.output)
        zeros = tl.grad(lambda hidden, output: tl.sum(hidden), argnums=1)(self.hidden, self.output)
        self.hidden = self.hidden - self.rate * hidden
        self.output = self.output - self.rate * (output + zeros)
        self.steps += 1
        self.last_loss = float(loss)
        return loss


class Dense:
    def __init__(self, rows, columns, seed):
        self.weight, self.bias = tl.Variable(weights(rows, columns, seed)), tl.Variable(tl.zeros(columns))

    def __call__(self, x):
        return self.forward(x)

    def forward(self, x):
        return x @ self.weight + self.bias

    def parameters(self):
        return [self.weight, self.bias]


class BatchNorm:
    def __init__(self, size):
        self.mean, self.variance = tl.zeros(size), tl.ones(size)
        self.scale = tl.Variable(tl.ones(size))
        self.training, self.count = True, 0

    def forward(self, x):
        if self.training:
            mean = tl.mean(x, axis=0)
            variance = tl.mean((x - mean) * (x - mean), axis=0)
            self.mean = 0.9 * self.mean + 0.1 * tl.stop_gradient(mean)
            self.variance = 0.9 * self.variance + 0.1 * tl.stop_gradient(variance)
            self.count += 1
        else:
            mean, variance = self.mean, self.variance
        return (x - mean) / tl.sqrt(variance + 1e-5) * self.scale

    def parameters(self):
        return [self.scale]


class Layered:
    """Layers of several classes in a list, an optimizer, a schedule, and early stopping."""

    def __init__(self, optimizer=None):
        self.layers = [Dense(3, 6, 3), BatchNorm(6), Dense(6, 4, 4), BatchNorm(4), Dense(4, 2, 5)]
        self.optimizer = tl.optimizers.Adam(rate=0.02) if optimizer is None else optimizer
        self.best, self.patience, self.is_over = 1e9, 0, False
        self.counts = {"steps": 0}

    def forward(self, x):
        for position, layer in enumerate(self.layers):
            x = layer.forward(x)
            if position in (0, 2):
                x = tl.relu(x)
        return x

    def step(self, x, y):
        with tl.Tape() as tape:
            difference = self.forward(x) - y
            loss = tl.mean(difference * difference)
        variables = [layer.parameters() for layer in self.layers]
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        self.counts["steps"] += 1
        if self.counts["steps"] % 2 == 0:
            self.optimizer.rate *= 0.8
        value = float(loss)
        if value < self.best:
            self.best, self.patience = value, 0
        else:
            self.patience += 1
            if self.patience > 2:
                self.is_over = True
        return value


class Switched:
    """A loss with a branch on the data, under the tape."""

    def __init__(self):
        self.weight, self.calls = weights(3, 2, 6), 0

    def step(self, x, y):
        with tl.Tape() as tape:
            tape.watch(self.weight)
            prediction = x @ self.weight
            if prediction[0, 0] > 0.0:
                loss = tl.sum((prediction - y) ** 2)
            else:
                self.calls += 1
                loss = tl.sum(tl.abs(prediction)) + tl.sum(self.weight * self.weight)
            for _ in range(self.calls):
                loss = loss * 0.5
        self.weight = self.weight - 0.01 * tape.gradient(loss, self.weight)
        return loss


class Slotted:
    """Attributes in slots, and variables in a dict under ints, one of which is negative."""

    __slots__ = ("optimizer", "steps", "weights")

    def __init__(self):
        self.weights = {0: tl.Variable(weights(3, 5, 7)), -1: tl.Variable(weights(5, 2, 8))}
        self.optimizer, self.steps = tl.optimizers.SGD(rate=0.05), {1: 0}

    def step(self, x, y):
        with tl.Tape() as tape:
            difference = tl.tanh(x @ self.weights[0]) @ self.weights[-1] - y
            loss = tl.mean(difference * difference)
        variables = [self.weights[0], self.weights[-1]]
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        self.steps[1] += 1
        return loss


def make_layered(name, **options):
    """A function that makes a layered model with this optimizer."""
    return lambda: Layered(getattr(tl.optimizers, name)(**options))


MODELS = {
    "perceptron": Perceptron,
    "switched": Switched,
    "functional": Functional,
    "slotted": Slotted,
    "adam": Layered,
    "sgd": make_layered("SGD", rate=0.05),
    "momentum": make_layered("Momentum", rate=0.02, nesterov=True),
    "adagrad": make_layered("Adagrad", rate=0.1),
    "adadelta": make_layered("Adadelta"),
    "rmsprop": make_layered("RMSProp", rate=0.01, centered=True, momentum=0.5),
}
