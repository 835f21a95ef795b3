"""A small residual network (He and others, 2016): blocks in a list, with batch normalisation that learns and is used.

python papers_examples/janus/resnet.py
"""

import tagloom as tl
from layers import BatchNorm, Conv, Dense, cross_entropy, random_array, train


class Block:
    """Two convolutions beside a shortcut."""

    def __init__(self, channels, seed):
        self.convolutions = [Conv(channels, channels, seed), Conv(channels, channels, seed + 1)]
        self.norms = [BatchNorm(channels), BatchNorm(channels)]

    def apply(self, x):
        y = tl.relu(self.norms[0].apply(self.convolutions[0].apply(x)))
        return tl.relu(x + self.norms[1].apply(self.convolutions[1].apply(y)))

    def parameters(self):
        return [self.convolutions[0].weight, self.convolutions[1].weight, self.norms[0].scale, self.norms[1].scale]


class ResNet:
    def __init__(self):
        self.entry, self.exit = Conv(2, 3, 1), Dense(3, 3, 2)
        self.blocks = [Block(3, 10), Block(3, 20)]
        self.optimizer = tl.optimizers.SGD(rate=0.05)
        self.steps = 0

    def set_training(self, training):
        """Set the flag of each normalisation."""
        for block in self.blocks:
            for norm in block.norms:
                norm.training = training

    def forward(self, x):
        x = tl.relu(self.entry.apply(x))
        for block in self.blocks:
            x = block.apply(x)
        return self.exit.apply(tl.mean(x, axis=(2, 3)))

    def step(self, x, labels):
        """Each fourth step only measures, with what the normalisations have learnt."""
        self.steps += 1
        if self.steps % 4 == 0:
            self.set_training(False)
            loss = cross_entropy(self.forward(x), labels)
            self.set_training(True)
            return loss
        with tl.Tape() as tape:
            loss = cross_entropy(self.forward(x), labels)
        variables = self.entry.parameters(), self.exit.parameters(), [block.parameters() for block in self.blocks]
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        return loss


make = ResNet


def inputs(number):
    labels = tl.one_hot(tl.asarray([(number + k) % 3 for k in range(3)]), 3)
    return random_array((3, 2, 5, 5), number, 1.0), labels


if __name__ == "__main__":
    train(make, inputs)
