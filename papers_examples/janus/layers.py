"""What the models of this folder share: layers, random numbers by seed, and the training of a model."""

import random

import tagloom as tl


def random_array(shape, seed, scale=0.4):
    """An array of random numbers between -scale and scale."""
    draw = random.Random(seed)

    def nested_values(sizes):
        if not sizes:
            return draw.uniform(-scale, scale)
        return [nested_values(sizes[1:]) for _ in range(sizes[0])]

    return tl.asarray(nested_values(shape))


class Dense:
    def __init__(self, rows, columns, seed):
        self.weight = tl.Variable(random_array((rows, columns), seed))
        self.bias = tl.Variable(random_array((columns,), seed + 1000, 0.1))

    def apply(self, x):
        return x @ self.weight + self.bias

    def parameters(self):
        return [self.weight, self.bias]


class Conv:
    def __init__(self, channels, outputs, seed, size=3):
        self.weight = tl.Variable(random_array((outputs, channels, size, size), seed))

    def apply(self, x):
        return tl.conv(x, self.weight, padding=1)

    def parameters(self):
        return [self.weight]


class BatchNorm:
    """Normalisation of channels: by the batch while `training` is set, else by what it has learnt."""

    def __init__(self, channels):
        self.mean, self.variance = tl.zeros((1, channels, 1, 1)), tl.ones((1, channels, 1, 1))
        self.scale = tl.Variable(tl.ones((1, channels, 1, 1)))
        self.training, self.batches = True, 0

    def apply(self, x):
        if self.training:
            mean = tl.mean(x, axis=(0, 2, 3), keepdims=True)
            variance = tl.mean((x - mean) ** 2, axis=(0, 2, 3), keepdims=True)
            self.mean = 0.9 * self.mean + 0.1 * tl.stop_gradient(mean)
            self.variance = 0.9 * self.variance + 0.1 * tl.stop_gradient(variance)
            self.batches += 1
        else:
            mean, variance = self.mean, self.variance
        return (x - mean) / tl.sqrt(variance + 1e-5) * self.scale

    def parameters(self):
        return [self.scale]


class LSTMCell:
    """An LSTM cell (Hochreiter and Schmidhuber, 1997) of eight units: its four gates are one product."""

    def __init__(self, size, seed):
        self.weight = tl.Variable(random_array((size + 8, 32), seed))

    def apply(self, x, hidden, memory):
        gates = tl.concat([x, hidden], axis=1) @ self.weight
        enter, keep = tl.sigmoid(gates[:, 0:8]), tl.sigmoid(gates[:, 8:16])
        out, new = tl.sigmoid(gates[:, 16:24]), tl.tanh(gates[:, 24:32])
        memory = keep * memory + enter * new
        return out * tl.tanh(memory), memory

    def parameters(self):
        return [self.weight]


def cross_entropy(logits, labels):
    """The mean cross-entropy of logits, with labels as rows of probabilities."""
    return -tl.mean(tl.sum(labels * tl.log_softmax(logits, axis=1), axis=1))


def train(make, inputs, steps=8):
    """Train a new model by speculated steps; print their losses, and how they ran."""
    model = make()
    step = tl.speculate(type(model).step)
    for number in range(steps):
        print(f"step {number + 1}: {float(step(model, *inputs(number))):.6f}")
    print(step.counts)
