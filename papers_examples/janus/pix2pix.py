"""A small pix2pix (Isola and others, 2017): a generator with a shortcut, and a critic that judges patches of images.

python papers_examples/janus/pix2pix.py
"""

import tagloom as tl
from layers import Conv, random_array, train


class Generator:
    def __init__(self):
        self.down, self.middle, self.up = Conv(1, 2, 1), Conv(2, 2, 2), Conv(4, 1, 3)
        self.optimizer = tl.optimizers.Adam(rate=0.01)

    def apply(self, x):
        wide = tl.relu(self.down.apply(x))
        small = tl.relu(self.middle.apply(tl.mean_pool(wide, (2, 2))))
        large = tl.repeat(tl.repeat(small, 2, axis=2), 2, axis=3)
        return tl.tanh(self.up.apply(tl.concat([wide, large], axis=1)))

    def parameters(self):
        return [self.down.weight, self.middle.weight, self.up.weight]


class Critic:
    def __init__(self):
        self.layers = [Conv(2, 2, 11), Conv(2, 1, 12)]
        self.optimizer = tl.optimizers.Adam(rate=0.01)

    def apply(self, x, y):
        """A judgement of each patch of a pair of images."""
        patches = tl.relu(self.layers[0].apply(tl.concat([x, y], axis=1)))
        return self.layers[1].apply(tl.mean_pool(patches, (2, 2)))

    def parameters(self):
        return [layer.weight for layer in self.layers]


class Pix2pix:
    def __init__(self):
        self.generator, self.critic = Generator(), Critic()
        self.weight, self.steps, self.last_losses = 10.0, 0, {"critic": 0.0, "generator": 0.0}

    def step(self, x, y):
        with tl.Tape() as tape:
            fake = self.generator.apply(x)
            judgement = self.critic.apply(x, fake)
            critic_loss = tl.mean(tl.softplus(-self.critic.apply(x, y))) + tl.mean(tl.softplus(judgement))
        variables = self.critic.parameters()
        self.critic.optimizer.apply(tape.gradient(critic_loss, variables), variables)
        with tl.Tape() as tape:
            fake = self.generator.apply(x)
            loss = tl.mean(tl.softplus(-self.critic.apply(x, fake))) + self.weight * tl.mean(tl.abs(fake - y))
        variables = self.generator.parameters()
        self.generator.optimizer.apply(tape.gradient(loss, variables), variables)
        self.steps += 1
        self.last_losses["critic"], self.last_losses["generator"] = float(critic_loss), float(loss)
        if self.steps == 5:
            self.weight = 5.0
        return loss


make = Pix2pix


def inputs(number):
    x = random_array((2, 1, 4, 4), number, 1.0)
    return x, tl.abs(x) - 0.5


if __name__ == "__main__":
    train(make, inputs)
