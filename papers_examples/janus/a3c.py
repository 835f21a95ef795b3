"""An episode of an actor and a critic (after Mnih and others, 2016, with one worker) on a linear cart-pole of our own.

    python papers_examples/janus/a3c.py

The episode ends when the pole has fallen: its length depends on the data. The environment is a Python object.
"""

import tagloom as tl
from layers import Dense, random_array, train

MOST = 12


class CartPole:
    """Position and speed of the cart, angle and speed of the pole, as a linear system."""

    def __init__(self):
        self.transition = tl.asarray(
            [[1.0, 0.0, 0.0, 0.0], [0.1, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.9], [0.0, 0.0, 0.1, 1.0]]
        )
        self.push = tl.asarray([0.0, 0.1, 0.0, -0.25])
        self.state = tl.asarray([0.0, 0.0, 0.02, 0.0])
        self.falls = 0

    def move(self, force):
        self.state = self.state @ self.transition + force * self.push

    def has_fallen(self):
        return tl.abs(self.state[2]) > 0.3


class Agent:
    def __init__(self):
        self.pole = CartPole()
        self.hidden, self.actor, self.critic = Dense(4, 6, 1), Dense(6, 1, 2), Dense(6, 1, 3)
        self.optimizer = tl.optimizers.RMSProp(rate=0.01)
        self.episodes, self.longest_episode, self.moves = 0, 0, 0

    def features(self):
        return tl.tanh(self.hidden.apply(self.pole.state))

    def episode(self, draws):
        """The loss of an episode: that of each move by the advantage which the critic finds, and the critic's own."""
        loss, moves = 0.0 * tl.sum(draws), 0
        while moves < MOST and not self.pole.has_fallen():
            features = self.features()
            logit, value = self.actor.apply(features)[0], self.critic.apply(features)[0]
            if draws[moves] < tl.sigmoid(logit):
                self.pole.move(1.0)
                log_probability = -tl.softplus(-logit)
            else:
                self.pole.move(-1.0)
                log_probability = -tl.softplus(logit)
            next_value = 0.9 * self.critic.apply(self.features())[0]
            advantage = 1.0 + tl.stop_gradient(next_value) - value
            loss = loss - tl.stop_gradient(advantage) * log_probability + 0.5 * advantage * advantage
            moves += 1
        self.moves = moves
        return loss

    def step(self, start, draws):
        self.pole.state = start
        with tl.Tape() as tape:
            loss = self.episode(draws)
        variables = [self.hidden.parameters(), self.actor.parameters(), self.critic.parameters()]
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        self.episodes += 1
        self.longest_episode = max(self.longest_episode, self.moves)
        if self.moves < MOST:
            self.pole.falls += 1
        return loss


make = Agent


def inputs(number):
    return tl.asarray([0.0, 0.0, 0.02 * (number % 5 - 2), 0.0]), random_array((MOST,), number, 0.5) + 0.5


if __name__ == "__main__":
    train(make, inputs)
