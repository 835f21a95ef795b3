"""Proximal policy optimisation (Schulman and others, 2017) of a choice among three actions: several epochs on the same
batch, which end early when the policy has moved too far.

python papers_examples/janus/ppo.py
"""

import tagloom as tl
from layers import Dense, random_array, train


class Policy:
    def __init__(self):
        self.layers = [Dense(4, 6, 1), Dense(6, 3, 2)]
        self.optimizer = tl.optimizers.Adam(rate=0.05)
        self.epochs, self.early_ends = 0, 0

    def log_probabilities(self, states, actions):
        x = tl.tanh(self.layers[0].apply(states))
        return tl.sum(actions * tl.log_softmax(self.layers[1].apply(x), axis=1), axis=1)

    def step(self, states, actions, advantages):
        old = self.log_probabilities(states, actions)
        mean_advantage = tl.mean(advantages)
        for _ in range(4):
            with tl.Tape() as tape:
                new = self.log_probabilities(states, actions)
                ratio = tl.exp(new - old)
                gain = tl.minimum(ratio * advantages, tl.clip(ratio, 0.8, 1.2) * advantages)
                loss = -tl.mean(gain)
            variables = [layer.parameters() for layer in self.layers]
            self.optimizer.apply(tape.gradient(loss, variables), variables)
            self.epochs += 1
            if tl.mean(old - new) > 0.02:
                self.early_ends += 1
                break
        return mean_advantage + tl.mean(self.log_probabilities(states, actions))


make = Policy


def inputs(number):
    states = random_array((5, 4), number, 1.0)
    actions = tl.one_hot(tl.asarray([(number + 2 * k) % 3 for k in range(5)]), 3)
    return states, actions, random_array((5,), number + 100, 1.0)


if __name__ == "__main__":
    train(make, inputs)
