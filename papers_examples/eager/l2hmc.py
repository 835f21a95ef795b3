"""L2HMC: a sampler with learnt moves, eagerly and staged, with the same numbers.

A Hamiltonian sampler gives each sample a random momentum, moves it by ten leapfrog steps, forwards or backwards, and
accepts the new position with a probability that preserves the distribution. Here two small networks determine how a
step scales and shifts momentum and position. They read half of the coordinates and change the other half, so that each
step can be inverted, and its change of volume is known. The loss is small if samples move far and are accepted. There
are two dimensions, and a normal distribution with deviation 10 along one diagonal and 0.3 along the other.

`Sampler.loss` is plain Python on variables: weights, the samples, and the count of a `tl.Generator`. `eager` runs it op
by op under a tape. `staged` is the same function traced, with the gradient and the descent in the same graph: its ten
steps are one loop, whose reverse pass is the gradient. Both draw the same numbers.

    tagloom run papers_examples/eager/l2hmc.py "[[0.0, 0.0], [1.0, 1.0], [5.0, 5.0], [9.0, -9.0]]"

prints how many of four samples are accepted. tests/benchmarks/training.py measures the gain of staging.

Source: "TensorFlow Eager" (Agrawal and others, arXiv 1903.01855) measures it, with 10 to 200 samples. The sampler is
that of Levy, Hoffman and Sohl-Dickstein, "Generalizing Hamiltonian Monte Carlo with neural networks" (arXiv
1711.09268), with smaller networks; from descriptions.
"""

import numpy as np
import tagloom as tl

STEPS, HIDDEN, SCALE = 10, 10, 0.1
PRECISION = np.linalg.inv([[50.05, -49.95], [-49.95, 50.05]])


def energy(x):
    return 0.5 * tl.sum((x @ PRECISION) * x, axis=1)


def objective(x, proposal, probability):
    """Small if samples move far and are accepted."""
    jump = tl.sum((x - proposal) ** 2, axis=1) * probability + 1e-4
    return tl.mean(SCALE / jump - jump / SCALE)


class Net:
    """Maps two vectors of 2 numbers and a time from 0 to 9 to a scale, a scale of the shift, and a shift."""

    def __init__(self, dice):
        def weights(rows, columns, name, factor=1.0):
            return tl.Variable(dice.normal(size=(rows, columns)) * factor * (1.0 / rows) ** 0.5, name=name)

        self.a, self.b, self.time = (weights(2, HIDDEN, name) for name in ("a", "b", "time"))
        self.inner = weights(HIDDEN, HIDDEN, "inner")
        self.out = weights(HIDDEN, 6, "out", 0.1)
        self.gain = tl.Variable(np.zeros(4), name="gain")
        self.variables = (self.a, self.b, self.time, self.inner, self.out, self.gain)

    def __call__(self, a, b, t):
        angle = 2.0 * np.pi / STEPS * tl.astype(t, tl.float64)
        clock = tl.concat([tl.cos(angle), tl.sin(angle)], axis=1)
        hidden = tl.maximum(a @ self.a + b @ self.b + clock @ self.time, 0.0)
        out = tl.maximum(hidden @ self.inner, 0.0) @ self.out
        scales = tl.tanh(out[:, :4]) * tl.exp(self.gain)
        return scales[:, :2], scales[:, 2:], out[:, 4:]


class Sampler:
    """Samples and their state, all in variables."""

    def __init__(self, samples, seed=0, step=0.1):
        dice = np.random.default_rng(seed)
        self.momentum_net, self.position_net = Net(dice), Net(dice)
        self.log_step = tl.Variable(float(np.log(step)), name="log_step")
        self.variables = (*self.momentum_net.variables, *self.position_net.variables, self.log_step)
        self.samples = tl.Variable(samples, dtype=tl.float64, name="samples", trainable=False)
        self.random = tl.Generator(seed)

    def kick(self, x, v, t, is_forward):
        """Half a step of the momentum, or its inverse; and the logarithm by which it scales the volume."""
        slope, half = x @ PRECISION, 0.5 * tl.exp(self.log_step)
        s, q, f = self.momentum_net(x, slope, t)
        log_scale, force = half * s, half * (slope * tl.exp(2.0 * half * q) + f)
        new_v = tl.where(is_forward, v * tl.exp(log_scale) - force, (v + force) * tl.exp(-log_scale))
        return new_v, tl.sum(log_scale, axis=1)

    def drift(self, x, v, t, mask, is_forward):
        """A step, or its inverse, of the coordinates in the mask, by the others and the momentum."""
        step = tl.exp(self.log_step)
        s, q, f = self.position_net(x * (1.0 - mask), v, t)
        log_scale, shift = step * s, step * (v * tl.exp(step * q) + f)
        new_x = tl.where(is_forward, x * tl.exp(log_scale) + shift, (x - shift) * tl.exp(-log_scale))
        return x * (1.0 - mask) + mask * new_x, tl.sum(mask * log_scale, axis=1)

    def leapfrog(self, k, x, v, log_det, is_forward):
        t = tl.where(is_forward, k, STEPS - 1 - k)
        mask = tl.where(is_forward == (t % 2 == 0), [1.0, 0.0], [0.0, 1.0])
        v, first_kick = self.kick(x, v, t, is_forward)
        x, first_drift = self.drift(x, v, t, mask, is_forward)
        x, second_drift = self.drift(x, v, t, 1.0 - mask, is_forward)
        v, second_kick = self.kick(x, v, t, is_forward)
        return k + 1, x, v, log_det + first_kick + first_drift + second_drift + second_kick

    def step(self, x):
        """The proposed positions, the probabilities to accept them, and the positions after the step."""
        count = x.shape[0]
        v, is_forward = self.random.normal((count, 2)), self.random.uniform((count, 1)) < 0.5
        _, proposal, w, log_det = tl.while_loop(
            lambda k, *_: k < STEPS, lambda *state: self.leapfrog(*state, is_forward), 0, x, v, tl.zeros(count)
        )
        before, after = energy(x) + 0.5 * tl.sum(v * v, axis=1), energy(proposal) + 0.5 * tl.sum(w * w, axis=1)
        change = tl.where(is_forward[:, 0], log_det, -log_det)
        probability = tl.exp(tl.minimum(before - after + change, 0.0))
        is_taken = self.random.uniform(count) < probability
        return proposal, probability, tl.where(is_taken[:, None], proposal, x)

    def loss(self):
        """The loss, after one step of all samples."""
        x = self.samples.value
        proposal, probability, new_samples = self.step(x)
        self.samples.assign(new_samples)
        return objective(x, proposal, probability)

    def descend(self, slopes, rate):
        for variable, slope in zip(self.variables, slopes, strict=True):
            variable.assign_sub(rate * slope)

    def eager(self, rate):
        """A step of the samples and of the weights, op by op; returns the loss."""
        with tl.Tape() as tape:
            loss = self.loss()
        self.descend(tape.gradient(loss, self.variables), rate)
        return loss

    @tl.function
    def staged(self, rate: tl.float64) -> tl.float64:
        """The same step as one graph."""
        loss, slopes = tl.value_and_grad(self.loss, self.variables)()
        self.descend(slopes, rate)
        return loss


PLACES = [[0.0, 0.0], [1.0, 1.0], [5.0, 5.0], [9.0, -9.0]]
SAMPLER = Sampler(PLACES)


def count_moves(x):
    """How many of four samples move."""
    SAMPLER.random.count.assign(0)
    return tl.count_nonzero(tl.any(SAMPLER.step(x)[2] != x, axis=1))


@tl.function
def main(x: tl.Array[tl.float64, 4, 2]) -> tl.int64:
    return count_moves(x)


EXPECTED = [{"run": ("main", PLACES), "result": 3, "size": "quick"}]
EAGER = [(lambda: count_moves(tl.asarray(PLACES)), 3)]


HEADING = ["| step | eagerly | staged |", "|---|---|---|"]


def table(count=10, steps=3, rate=1e-4):
    """The rows of the README's table."""
    eager_sampler, staged_sampler = (Sampler(np.zeros((count, 2))) for _ in range(2))
    losses = [(float(eager_sampler.eager(rate)), float(staged_sampler.staged(rate))) for _ in range(steps)]
    return [f"| {k} | {eager:.6f} | {staged:.6f} |" for k, (eager, staged) in enumerate(losses, 1)]


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
