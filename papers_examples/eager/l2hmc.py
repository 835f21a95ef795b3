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


def objective(x, there, chance):
    """Small if samples move far and are accepted."""
    jump = tl.sum((x - there) ** 2, axis=1) * chance + 1e-4
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
        first = tl.maximum(a @ self.a + b @ self.b + clock @ self.time, 0.0)
        out = tl.maximum(first @ self.inner, 0.0) @ self.out
        scales = tl.tanh(out[:, :4]) * tl.exp(self.gain)
        return scales[:, :2], scales[:, 2:], out[:, 4:]


class Sampler:
    """Samples and their state, all in variables."""

    def __init__(self, samples, seed=0, step=0.1):
        dice = np.random.default_rng(seed)
        self.of_v, self.of_x = Net(dice), Net(dice)
        self.log_step = tl.Variable(float(np.log(step)), name="log_step")
        self.variables = (*self.of_v.variables, *self.of_x.variables, self.log_step)
        self.samples = tl.Variable(samples, dtype=tl.float64, name="samples", trainable=False)
        self.random = tl.Generator(seed)

    def pushed(self, x, v, t, ahead):
        """Half a step of the momentum, or its inverse."""
        slope, half = x @ PRECISION, 0.5 * tl.exp(self.log_step)
        s, q, f = self.of_v(x, slope, t)
        grown, force = half * s, half * (slope * tl.exp(2.0 * half * q) + f)
        return tl.where(ahead, v * tl.exp(grown) - force, (v + force) * tl.exp(-grown)), tl.sum(grown, axis=1)

    def moved(self, x, v, t, mask, ahead):
        """A step, or its inverse, of the coordinates in the mask, by the others and the momentum."""
        step = tl.exp(self.log_step)
        s, q, f = self.of_x(x * (1.0 - mask), v, t)
        grown, way = step * s, step * (v * tl.exp(step * q) + f)
        there = tl.where(ahead, x * tl.exp(grown) + way, (x - way) * tl.exp(-grown))
        return x * (1.0 - mask) + mask * there, tl.sum(mask * grown, axis=1)

    def leapfrog(self, k, x, v, grown, ahead):
        t = tl.where(ahead, k, STEPS - 1 - k)
        mask = tl.where(ahead == (t % 2 == 0), [1.0, 0.0], [0.0, 1.0])
        v, one = self.pushed(x, v, t, ahead)
        x, two = self.moved(x, v, t, mask, ahead)
        x, three = self.moved(x, v, t, 1.0 - mask, ahead)
        v, four = self.pushed(x, v, t, ahead)
        return k + 1, x, v, grown + one + two + three + four

    def step(self, x):
        """The proposed positions, the probabilities to accept them, and the positions after the step."""
        count = x.shape[0]
        v, ahead = self.random.normal((count, 2)), self.random.uniform((count, 1)) < 0.5
        _, there, w, grown = tl.while_loop(
            lambda k, *_: k < STEPS, lambda *state: self.leapfrog(*state, ahead), 0, x, v, tl.zeros(count)
        )
        before, after = energy(x) + 0.5 * tl.sum(v * v, axis=1), energy(there) + 0.5 * tl.sum(w * w, axis=1)
        change = tl.where(ahead[:, 0], grown, -grown)
        chance = tl.exp(tl.minimum(before - after + change, 0.0))
        is_taken = self.random.uniform(count) < chance
        return there, chance, tl.where(is_taken[:, None], there, x)

    def loss(self):
        """The loss, after one step of all samples."""
        x = self.samples.value
        there, chance, following = self.step(x)
        self.samples.assign(following)
        return objective(x, there, chance)

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


def taken(x):
    """How many of four samples move."""
    SAMPLER.random.count.assign(0)
    return tl.count_nonzero(tl.any(SAMPLER.step(x)[2] != x, axis=1))


@tl.function
def main(x: tl.Array[tl.float64, 4, 2]) -> tl.int64:
    return taken(x)


EXPECTED = [{"run": ("main", PLACES), "result": 3, "size": "quick"}]
EAGER = [(lambda: taken(tl.asarray(PLACES)), 3)]


HEADING = ["| step | eagerly | staged |", "|---|---|---|"]


def table(count=10, steps=3, rate=1e-4):
    """The rows of the README's table."""
    one, other = (Sampler(np.zeros((count, 2))) for _ in range(2))
    pairs = [(float(one.eager(rate)), float(other.staged(rate))) for _ in range(steps)]
    return [f"| {k} | {here:.6f} | {there:.6f} |" for k, (here, there) in enumerate(pairs, 1)]


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
