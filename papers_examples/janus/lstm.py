"""An LSTM that classifies sequences, with a Python loop over time.

python papers_examples/janus/lstm.py
"""

import tagloom as tl
from layers import Dense, LSTMCell, cross_entropy, random_array, train


class Classifier:
    def __init__(self):
        self.cell, self.exit = LSTMCell(3, 1), Dense(8, 2, 2)
        self.optimizer = tl.optimizers.Adam(rate=0.01)
        self.steps, self.is_learnt = 0, False

    def forward(self, x):
        hidden = memory = 0.0 * x[:, 0, 0:1] + tl.zeros_like(self.exit.weight[:, 0])
        for time in range(x.shape[1]):
            hidden, memory = self.cell.apply(x[:, time, :], hidden, memory)
        return self.exit.apply(hidden)

    def step(self, x, labels):
        with tl.Tape() as tape:
            loss = cross_entropy(self.forward(x), labels)
        variables = [self.cell.weight, self.exit.weight, self.exit.bias]
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        self.steps += 1
        self.is_learnt = bool(loss < 0.1)
        return loss


make = Classifier


def inputs(number):
    labels = tl.one_hot(tl.asarray([(number + k) % 2 for k in range(4)]), 2)
    return random_array((4, 6, 3), number, 1.0), labels


if __name__ == "__main__":
    train(make, inputs)
