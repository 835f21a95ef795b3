"""Sampled softmax estimates the full one: exactly if all classes are candidates, and otherwise without bias."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl

CLASSES, WIDTH = 9, 3
RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(4, WIDTH))
WEIGHTS, BIASES = RANDOM.normal(size=(CLASSES, WIDTH)), RANDOM.normal(size=CLASSES)
LABELS = np.array([0, 8, 3, 3])


def full(x: Any, weights: Any, biases: Any) -> Any:
    logits = tl.log_softmax(x @ tl.matrix_transpose(weights) + biases)
    return -tl.mean(tl.take_along_axis(logits, tl.expand_dims(LABELS, axis=1), axis=1))


def check_all_classes(loss: Callable[..., Any]) -> None:
    """With all classes as candidates, value and gradients are those of the full softmax."""

    @tl.function
    def sampled(x: tl.Array[tl.float64, 4, WIDTH], w: tl.Array[tl.float64, CLASSES, WIDTH], b: Any) -> Any:
        return loss(x, LABELS, w, b, tl.log_uniform_candidates(CLASSES, CLASSES))

    value, gradients = tl.value_and_grad(sampled, (0, 1, 2))(X, WEIGHTS, BIASES)
    wanted, slopes = tl.value_and_grad(full, (0, 1, 2))(X, WEIGHTS, BIASES)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    for mine, theirs in zip(gradients, slopes, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-15)


def _with_hits(x: Any, labels: Any, weights: Any, biases: Any, candidates: Any) -> Any:
    """A twin that keeps the label among the candidates."""
    right = tl.sum(x * tl.take(weights, labels, axis=0), axis=1) + tl.take(biases, labels)
    others = x @ tl.take(weights, candidates.ids, axis=0).T + tl.take(biases, candidates.ids)
    return -tl.mean(tl.log_softmax(tl.concat([tl.expand_dims(right, axis=1), others], axis=1))[:, 0])


@pytest.mark.full
def test_all_classes() -> None:
    """With all classes as candidates, the sampled softmax is the full one; a twin that counts the label twice is
    not."""
    check_all_classes(tl.sampled_softmax)
    with pytest.raises(AssertionError):
        check_all_classes(_with_hits)


def draw_samples(n: int, classes: int, seeds: range) -> list[tuple[Any, Any]]:
    @tl.function
    def draw() -> Any:
        return tl.log_uniform_candidates(n, classes)

    return [tuple(map(np.asarray, draw.run(seed=seed).value)) for seed in seeds]  # type: ignore[misc]


def bias(samples: list[tuple[Any, Any]], expected: Callable[[Any], Any]) -> float:
    """The deviation of sums over samples, divided by their expected counts, from the total, in standard deviations."""
    values = 1.0 + np.arange(len(samples[0][1])) % 3
    sums = np.array([(values[ids] / expected(counts)[ids]).sum() for ids, counts in samples])
    return abs(float(sums.mean() - values.sum())) / float(sums.std() / np.sqrt(len(sums)))


@pytest.mark.full
def test_samples_are_distinct_and_unbiased() -> None:
    """Sampled classes are distinct and in range, frequent ones occur more often, and divided by their expected counts
    they add up to the total. Expected counts that ignore that no class is drawn twice do not."""
    samples = draw_samples(5, 12, range(600))
    assert all(len(set(ids.tolist())) == 5 and ids.min() >= 0 and ids.max() < 12 for ids, _ in samples)
    often = np.bincount(np.concatenate([ids for ids, _ in samples]), minlength=12)
    assert often[6] * 1.3 < often[2] and often[2] * 1.3 < often[0]
    assert bias(samples, lambda counts: counts) < 3.0
    weights = np.log1p(1.0 / np.arange(1, 13))
    assert bias(samples, lambda counts: 5 * weights / weights.sum()) > 6.0


def test_a_sample_is_corrected() -> None:
    """Frequent candidates count less: with one candidate the loss is that of two logits, less the logarithms of their
    expected counts."""
    candidates = tl.Candidates(np.array([4]), np.linspace(0.1, 0.9, CLASSES))
    result = tl.sampled_softmax(X, LABELS, WEIGHTS, BIASES, candidates)
    logits = X @ WEIGHTS.T + BIASES - np.log(candidates.expected_counts)
    pairs = np.stack([logits[np.arange(4), LABELS], logits[:, 4]], axis=1)
    assert float(result) == pytest.approx(np.mean(np.log(np.exp(pairs).sum(axis=1)) - pairs[:, 0]))


@pytest.mark.full
def test_a_table_of_classes() -> None:
    """Weights may be a sharded table. The loss then has a gradient by few of its rows, and by few biases."""
    candidates = tl.Candidates(np.array([1, 6]), np.ones(CLASSES))
    table = tl.Embedding(WEIGHTS, shards=2)
    result = tl.sampled_softmax(X, LABELS, table, BIASES, candidates)
    assert float(result) == float(tl.sampled_softmax(X, LABELS, WEIGHTS, BIASES, candidates))
    slopes = tl.grad(lambda: tl.sampled_softmax(X, LABELS, table, BIASES, candidates), table.shards)()
    moved = {2 * row + k for k, each in enumerate(slopes) for row in np.flatnonzero(np.any(np.asarray(each) != 0, 1))}
    assert moved == {0, 1, 3, 6, 8}
    rows = tl.grad(lambda: tl.sampled_softmax(X, LABELS, table, BIASES, candidates), table.shards, rows=table.shards)()
    assert [sorted(map(int, each.indices)) for each in rows] == [[0, 3, 4], [0, 1, 1]]
    for shard, dense, each in zip(table.shards, slopes, rows, strict=True):
        result = tl.scatter_add(tl.zeros_like(shard), each.values, each.indices)
        np.testing.assert_allclose(np.asarray(result), np.asarray(dense), rtol=1e-12)
    biases = tl.Variable(BIASES, name="biases")
    actual = tl.grad(lambda: tl.sampled_softmax(X, LABELS, table, biases, candidates), biases, rows=biases)()
    assert sorted(map(int, actual.indices)) == [0, 1, 3, 3, 6, 8]


def test_wrong_numbers_of_candidates_are_refused() -> None:
    """More candidates than classes, and none, are refused."""
    for n in (0, 4):
        with pytest.raises(tl.Usage, match="number of samples is out of range"):
            tl.log_uniform_candidates(n, 3)
