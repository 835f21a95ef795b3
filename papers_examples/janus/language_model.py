"""A language model: an LSTM that keeps its state from batch to batch, in attributes, and clips its gradients.

python papers_examples/janus/language_model.py
"""

import tagloom as tl
from layers import Dense, LSTMCell, cross_entropy, random_array, train


class LanguageModel:
    def __init__(self):
        self.words = tl.Variable(random_array((12, 4), 1))
        self.cell, self.exit = LSTMCell(4, 2), Dense(8, 12, 3)
        self.hidden, self.memory = tl.zeros((2, 8)), tl.zeros((2, 8))
        self.optimizer = tl.optimizers.SGD(rate=0.5)
        self.batches, self.best = 0, 1e9

    def loss(self, sentences):
        """The mean loss of the next words; the state that it ends with is that of the next batch."""
        hidden, memory = self.hidden, self.memory
        total = 0.0 * tl.sum(hidden)
        for time in range(5):
            words = sentences[:, time]
            hidden, memory = self.cell.apply(tl.take(self.words, words, axis=0), hidden, memory)
            total = total + cross_entropy(self.exit.apply(hidden), tl.one_hot(sentences[:, time + 1], 12))
        self.hidden, self.memory = hidden, memory
        return total / 5.0

    def step(self, sentences):
        if self.batches % 4 == 0:
            self.hidden, self.memory = 0.0 * self.hidden, 0.0 * self.memory
        with tl.Tape() as tape:
            loss = self.loss(sentences)
        variables = [self.words, self.cell.weight, self.exit.weight, self.exit.bias]
        gradients = [tl.clip(gradient, -0.1, 0.1) for gradient in tape.gradient(loss, variables)]
        self.optimizer.apply(gradients, variables)
        self.batches += 1
        if float(loss) < self.best:
            self.best = float(loss)
        else:
            self.optimizer.rate *= 0.7
        return loss


make = LanguageModel


def inputs(number):
    return (tl.asarray([[(3 * number + 5 * row + 7 * k * k) % 12 for k in range(6)] for row in range(2)]),)


if __name__ == "__main__":
    train(make, inputs)
