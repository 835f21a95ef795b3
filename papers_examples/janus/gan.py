"""A GAN (Goodfellow and others, 2014) on points of a ring: two networks, two optimizers, steps in turn.

python papers_examples/janus/gan.py
"""

import itertools
import math

import tagloom as tl
from layers import Dense, random_array, train


class Network:
    def __init__(self, sizes, seed):
        self.layers = [Dense(*pair, seed + k) for k, pair in enumerate(itertools.pairwise(sizes))]
        self.optimizer = tl.optimizers.Adam(rate=0.01)

    def apply(self, x):
        for layer in self.layers:
            x = tl.tanh(layer.apply(x))
        return x

    def parameters(self):
        return [layer.parameters() for layer in self.layers]


class GAN:
    def __init__(self):
        self.generator, self.critic = Network((2, 6, 2), 1), Network((2, 6, 1), 50)
        self.steps, self.critic_wins = 0, 0

    def critic_loss(self, points, noise):
        real, fake = self.critic.apply(points), self.critic.apply(self.generator.apply(noise))
        return tl.mean(tl.softplus(-real)) + tl.mean(tl.softplus(fake))

    def step(self, points, noise):
        """A step of the critic, and of the generator if the critic was right, or in each third step."""
        with tl.Tape() as tape:
            critic_loss = self.critic_loss(points, noise)
        variables = self.critic.parameters()
        self.critic.optimizer.apply(tape.gradient(critic_loss, variables), variables)
        self.steps += 1
        if critic_loss < 1.35 or self.steps % 3 == 0:
            self.critic_wins += 1
            with tl.Tape() as tape:
                loss = tl.mean(tl.softplus(-self.critic.apply(self.generator.apply(noise))))
            variables = self.generator.parameters()
            self.generator.optimizer.apply(tape.gradient(loss, variables), variables)
        return critic_loss


def make():
    """A GAN whose optimizers have their slots."""
    model = GAN()
    for network in (model.generator, model.critic):
        network.optimizer.make_slots(network.parameters())
    return model


def inputs(number):
    angles = [0.7 * number + 1.1 * k for k in range(6)]
    points = [[0.8 * math.cos(angle), 0.8 * math.sin(angle)] for angle in angles]
    return tl.asarray(points), random_array((6, 2), number, 1.0)


if __name__ == "__main__":
    train(make, inputs)
