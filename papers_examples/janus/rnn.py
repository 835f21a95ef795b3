"""A recurrent network that keeps its state in an attribute, and counts its steps.

    python papers_examples/janus/rnn.py

The same class runs as Python, under `tl.function`, and speculated. Under `tl.function` it goes wrong without a word, as
in any system that traces: the attributes are read and written once, while the function is traced.
"""

import tagloom as tl

SIZE = 8


class RNN:
    def __init__(self):
        self.weight = tl.asarray([[0.1 * ((3 * i + j) % 5 - 2) for j in range(SIZE)] for i in range(SIZE)])
        self.state = tl.asarray([0.0] * SIZE)
        self.steps = 0
        self.history = []

    def run(self, x, count):
        for _ in range(count):
            self.state = tl.tanh(x + self.state @ self.weight)
            self.steps += 1
        self.history.append(self.steps)
        return self.state


def run(network, x, count):
    """Some steps of a network with one input: its state."""
    return network.run(x, count)


def calls(step, count=6):
    """What a new network returns in some calls, and its counters: its steps, and the history of them."""
    network, x = RNN(), tl.asarray([0.1 * k for k in range(SIZE)])
    results = [float(step(network, x, 2 + call)[1]) for call in range(count)]
    return results, network.steps, network.history


def staged(network, x, count):
    """The network under `tl.function`, which captures it."""
    if not hasattr(network, "staged"):
        network.staged = tl.function(lambda x, count: network.run(x, count))
    return network.staged(x, count)


speculated = tl.speculate(run)


def main():
    for name, step in (("Python", run), ("tl.speculate", speculated), ("tl.function", staged)):
        try:
            results, steps, history = calls(step)
            print(f"{name:12}  {steps} steps, {history}  {', '.join(f'{result:.4f}' for result in results)}")
        except tl.TagloomError as error:
            print(f"{name:12}  {type(error).__name__}: {str(error).splitlines()[0]}")
    print(speculated.counts)


if __name__ == "__main__":
    main()
