"""Batch normalisation in a list of layers: it learns averages while `training` is set, and uses them afterwards.

python papers_examples/janus/batch_norm.py
"""

import tagloom as tl

SIZE = 6


class BatchNorm:
    def __init__(self):
        self.mean, self.variance = tl.asarray([0.0] * SIZE), tl.asarray([1.0] * SIZE)
        self.training = True
        self.count = 0

    def apply(self, x):
        if self.training:
            mean = tl.sum(x, axis=0) * 0.25
            variance = tl.sum((x - mean) * (x - mean), axis=0) * 0.25
            self.mean = self.mean * 0.9 + mean * 0.1
            self.variance = self.variance * 0.9 + variance * 0.1
            self.count += 1
        else:
            mean, variance = self.mean, self.variance
        return (x - mean) / tl.sqrt(variance + 1e-5)


class Network:
    def __init__(self, depth=3):
        self.layers = [BatchNorm() for _ in range(depth)]
        self.sums = {"batches": 0}


def train(network, training):
    """Set the flag of all layers, as a user does between calls."""
    for layer in network.layers:
        layer.training = training


def apply(network, x):
    """The network of a batch."""
    network.sums["batches"] += 1
    for layer in network.layers:
        x = tl.tanh(layer.apply(x))
    return x


def batch(call):
    return tl.asarray([[0.1 * ((7 * i + 3 * j + call) % 11) for j in range(SIZE)] for i in range(4)])


def calls(step, count=8):
    """The first numbers that a new network returns for batches, trained in the first half, and its counters."""
    network, results = Network(), []
    for call in range(count):
        if call == count // 2:
            train(network, False)
        results.append(float(step(network, batch(call))[0, 0]))
    return results, [layer.count for layer in network.layers], network.sums["batches"]


speculated = tl.speculate(apply)


def main():
    for name, step in (("Python", apply), ("tl.speculate", speculated)):
        results, counts, batches = calls(step)
        print(f"{name:12}  {counts} {batches}  {', '.join(f'{result:.4f}' for result in results)}")
    print(speculated.explain())


if __name__ == "__main__":
    main()
