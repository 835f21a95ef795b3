"""Networks on trees, papers_examples/recursion: four forms of one loss have one gradient."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl

FOLDER = Path(tl.__file__).resolve().parent / "papers_examples" / "recursion"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
sys.path.insert(0, str(FOLDER))  # before the folder of another tree_lstm.py

from sentiment_trees import balanced_tree, batches, build_trees, chain_tree, main, value  # type: ignore[import-not-found] # noqa: E402
from tree_lstm import TreeLSTM  # type: ignore[import-not-found] # noqa: E402
from tree_rnn import FORMS, TreeRNN, train  # type: ignore[import-not-found] # noqa: E402

NETS = [TreeRNN, TreeLSTM]


def flat(slopes: Any) -> Any:
    return np.concatenate([np.ravel(each) for each in slopes])


def check_forms(net: Any, trees: Any) -> None:
    """All forms have one loss and one gradient."""
    loss, slopes = net.slopes(FORMS[0])(trees)
    assert np.abs(flat(slopes)).max() > 0.1
    for form in FORMS[1:]:
        other, others = net.slopes(form)(trees)
        assert abs(other - loss) < 1e-9 and np.abs(flat(others) - flat(slopes)).max() < 1e-9, form


@pytest.mark.full
def test_trees_follow_their_rule() -> None:
    """A seed determines the trees, children come before parents, and the program computes the labels as signs, too."""
    for trees, again in zip(batches(3, 4), batches(3, 4), strict=True):
        assert all(np.array_equal(one, other) for one, other in zip(trees, again, strict=True))
        assert all(trees.left < np.arange(len(trees.left))) and all(trees.right < np.arange(len(trees.left)))
        values = [value(trees, node) for node in range(len(trees.left))]
        assert trees.label.tolist() == [1 + int(np.sign(each)) for each in values]
        assert main(trees) == sum(values[root] for root in trees.roots)
    assert value(build_trees([("not", ("very", "good"))]), 4) == -2


@pytest.mark.full
@pytest.mark.parametrize("net", NETS)
def test_forms_agree(net: Callable[..., Any]) -> None:
    """The forms agree on batches of five trees, and on one tree of one word."""
    for trees in (*batches(seed=5, count=1, max_words=5), build_trees(["good"])):
        check_forms(net(seed=2), trees)


@pytest.mark.full
def test_a_form_without_gradients_is_caught() -> None:
    """A twin whose losses are right, but without gradients through the states of `cells` and `loop`, is caught."""

    class Broken(TreeRNN):  # type: ignore[misc]
        def loss_of_all(self, states: Any, trees: Any) -> Any:
            return super().loss_of_all(tl.stop_gradient(states), trees)

    with pytest.raises(AssertionError, match="cells"):
        check_forms(Broken(), chain_tree(3))


def plain_loss(net: Any, weights: list[Any], trees: Any) -> float:
    """The loss of a TreeRNN by NumPy and Python's recursion."""
    words, w1, b1, u, bs = weights

    def node(i: int) -> tuple[Any, float]:
        if trees.left[i] < 0:
            state, below = words[trees.word[i]], 0.0
        else:
            (left, before), (right, after) = node(trees.left[i]), node(trees.right[i])
            state, below = np.maximum(np.concatenate([left, right]) @ w1 + b1, 0.0), before + after
        logits = state @ u + bs
        return state, below + float(np.log(np.sum(np.exp(logits))) - logits[trees.label[i]])

    decay = 0.01 * (np.sum(w1 * w1) + np.sum(u * u))
    return float(sum(node(root)[1] for root in trees.roots) / len(trees.roots) + decay)


@pytest.mark.full
def test_gradients_agree_with_differences() -> None:
    """The loss is that of NumPy, and in random directions it changes as the gradient says."""
    net, (trees,) = TreeRNN(seed=4), batches(seed=6, count=1, max_words=5)
    loss, slopes = net.slopes("recursion")(trees)
    weights = [np.asarray(variable) for variable in net.variables]
    assert float(loss) == pytest.approx(plain_loss(net, weights, trees), rel=1e-12)
    dice = np.random.default_rng(0)
    for _ in range(3):
        ways = [dice.normal(size=each.shape) for each in weights]
        there, back = (
            plain_loss(net, [w + sign * 1e-6 * way for w, way in zip(weights, ways, strict=True)], trees)
            for sign in (1, -1)
        )
        assert (there - back) / 2e-6 == pytest.approx(float(flat(slopes) @ flat(ways)), rel=1e-5)


@pytest.mark.full
def test_spans_grow_with_depth_or_size() -> None:
    """The span of the recursion grows by 12 for each level, and by 26 with gradients; that of the loop grows with the
    nodes."""
    net = TreeRNN()

    def spans(function: Any) -> list[int]:
        return [int(function.run(balanced_tree(depth)).stats.span) for depth in (1, 2, 3)]

    assert np.diff(spans(net.recursion)).tolist() == [12, 12]
    assert np.diff(spans(net.slopes("recursion"))).tolist() == [26, 26]
    for form in ("cells", "loop"):
        assert all(second > 1.7 * first for first, second in [np.diff(spans(net.slopes(form)))])


@pytest.mark.full
def test_one_graph_for_all_trees() -> None:
    """The recursion is traced once. Without it there is a graph for each batch, which grows with the batch."""
    net = TreeRNN()
    sizes = [
        [len(getattr(net, form).run(trees).graph.nodes) for trees in (chain_tree(2), chain_tree(4))] for form in FORMS
    ]
    assert [small == large for small, large in sizes] == [True, True, True, False]


@pytest.mark.full
@pytest.mark.parametrize("net", NETS)
def test_the_loss_falls(net: Callable[..., Any]) -> None:
    """The loss falls from epoch to epoch, from about that of guessing: log 3 for each node."""
    actual = train(net(), 2)
    assert actual[1] < actual[0]


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["tree_rnn", "tree_lstm"])
def test_the_readme_has_the_tables(name: str) -> None:
    """The README has the tables that the files print."""
    ran = subprocess.run([sys.executable, FOLDER / f"{name}.py"], capture_output=True, text=True, check=True)
    rows = [line for line in ran.stdout.splitlines() if line.startswith("|")]
    assert rows and [row for row in rows if f"\n{row}\n" not in README] == []
