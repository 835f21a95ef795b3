"""Ray Tune searches for a learning rate; each trial trains with tagloom's parameter servers.

A trial is a Python function, so it calls `tl.train` like any other: two workers and a server train a linear model, on a
network inside the process of the trial. Ray Train calls it in the same way, in its `train_loop_per_worker`. `main` is
the first loss of a worker's batch.

    pip install "tagloom[ray]" "ray[tune]"
    python papers_examples/tensorflow/ray_tune.py

Source: "TensorFlow: a system for large-scale machine learning" (Abadi and others, OSDI 2016), section 4.4, from a
description; the model and the numbers are ours.
"""

import tempfile

import tagloom as tl

RATES = (0.001, 0.02, 0.2)


def loss_of_batch(w, number):
    """The loss of the batch of this number."""
    x = tl.normal_at(1, number, shape=(8, 2))
    return tl.mean((x @ w - x @ tl.asarray([2.0, -1.0])) ** 2)


def trial(rate):
    """The loss of the last of 40 steps."""
    w = tl.Variable([0.0, 0.0], name="w")
    optimizer, cluster = tl.optimizers.SGD(rate=rate), "network"
    report = tl.train(lambda worker, step: loss_of_batch(w, 2 * step + worker), w, optimizer, steps=40, cluster=cluster)
    return report.losses[-1]


def search():
    """The best of the rates."""
    from ray import tune

    space, goal = {"rate": tune.grid_search(RATES)}, tune.TuneConfig(metric="loss", mode="min")
    with tempfile.TemporaryDirectory() as folder:
        files = tune.RunConfig(storage_path=folder, verbose=0)
        tuner = tune.Tuner(lambda c: {"loss": trial(c["rate"])}, param_space=space, tune_config=goal, run_config=files)
        return tuner.fit().get_best_result().config["rate"]


@tl.function
def main(number: tl.int64) -> tl.float64:
    """The loss of a batch before the first step."""
    return loss_of_batch(tl.asarray([0.0, 0.0]), number)


EXPECTED = [{"run": ("main", 0), "result": 9.46483332809763, "size": "quick"}]

HEADING = ["| learning rate | loss of the 40th step |", "|---|---|"]


def table():
    """The rows of the README's table."""
    return [f"| {rate} | {trial(rate):.2g} |" for rate in RATES]


if __name__ == "__main__":
    print("the best rate is", search())
