"""A small LeNet (LeCun and others, 1998) on 8 x 8 images, whose rate falls with the steps.

python papers_examples/janus/lenet.py
"""

import tagloom as tl
from layers import Conv, Dense, cross_entropy, random_array, train


class LeNet:
    def __init__(self):
        self.convolutions = [Conv(1, 3, 1), Conv(3, 4, 2)]
        self.dense = [Dense(16, 10, 3), Dense(10, 4, 4)]
        self.optimizer = tl.optimizers.Momentum(rate=0.05)
        self.steps, self.losses = 0, {"last": 0.0, "best": 1e9}

    def forward(self, x):
        for layer in self.convolutions:
            x = tl.max_pool(tl.relu(layer.apply(x)), (2, 2))
        x = tl.reshape(x, (x.shape[0], 16))
        return self.dense[1].apply(tl.tanh(self.dense[0].apply(x)))

    def step(self, x, labels):
        with tl.Tape() as tape:
            loss = cross_entropy(self.forward(x), labels)
        variables = [layer.parameters() for layer in self.convolutions], [layer.parameters() for layer in self.dense]
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        self.steps += 1
        if self.steps % 4 == 0:
            self.optimizer.rate *= 0.5
        self.losses["last"] = float(loss)
        self.losses["best"] = min(self.losses["best"], self.losses["last"])
        return loss


make = LeNet


def inputs(number):
    labels = tl.one_hot(tl.asarray([(number + k) % 4 for k in range(3)]), 4)
    return random_array((3, 1, 8, 8), number, 1.0), labels


if __name__ == "__main__":
    train(make, inputs)
