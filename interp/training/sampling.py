"""Sampled softmax: a loss over many classes, of which a sample stands for the rest."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core import dtypes
from ...core.errors import Usage
from ...core.frontend.array_api.common import type_of
from ...core.frontend.array_api.creation import arange
from ...core.frontend.array_api.datatypes import astype
from ...core.frontend.array_api.indexing import take
from ...core.frontend.array_api.manipulation import concat, expand_dims
from ...core.frontend.array_api.networks import log_softmax
from ...core.frontend.array_api.numeric import argsort, mean
from ...core.frontend.array_api.numeric import sum as total
from ...core.frontend.effects import uniform
from ...core.frontend.functions import equal, expm1, log, log1p, where
from ...core.frontend.trace.source_location import user_location
from .embedding import Embedding


class Candidates(NamedTuple):
    """A sample of classes."""

    ids: Any
    """int64, of shape (n,), all different."""
    expected: Any
    """The expected count of every class in the sample: float64, of shape (classes,)."""


def log_uniform_candidates(n: int, classes: int, /) -> Candidates:
    """n of the classes, drawn without replacement. Class k has the weight log((k + 2) / (k + 1)), so the classes should
    be sorted from the most frequent to the rarest (Zipf's law).

    Each class draws a time from the exponential distribution of its weight; the n earliest are taken. With the time t
    of the next one, a class of weight p was taken with probability 1 - exp(-p t) (Cohen and Kaplan 2007). If all are
    taken, each is expected once.

    Raises Usage if there are fewer than n classes.
    """
    if not 1 <= n <= classes:
        raise Usage("there are not as many classes", where=user_location(), required=f"from 1 to {classes}", got=n)
    weights = log1p(1.0 / astype(arange(1, classes + 1), dtypes.float64))
    times = -log1p(-uniform((classes,))) / weights
    order = argsort(times)
    if n == classes:
        return Candidates(order, 0.0 * weights + 1.0)
    return Candidates(order[:n], -expm1(-weights * times[order[n]]))


def sampled_softmax(x: Any, labels: Any, weights: Any, biases: Any, candidates: Candidates, /) -> Any:
    """The mean cross entropy of softmax, where candidates stand for all classes but the right ones: one float, for x of
    shape (examples, width), labels of shape (examples,), weights of shape (classes, width) or an Embedding of such, and
    biases of shape (classes,).

    The logarithm of its expected count is subtracted from each logit, because a more frequent candidate stands for less
    (Jean and others 2015); a candidate that is the right class itself counts only as that. If all classes are
    candidates, and each is expected once, this is the loss of the full softmax.

    >>> import tagloom as tl
    >>> logits = [[0.5, 0.0, -1.0]]
    >>> everything = Candidates([0, 1, 2], [1.0, 1.0, 1.0])
    >>> loss = sampled_softmax([[1.0]], [2], [[0.5], [0.0], [-1.0]], [0.0, 0.0, 0.0], everything)
    >>> bool(abs(loss + tl.log_softmax(logits)[0, 2]) < 1e-12)
    True
    """
    right = total(x * _lookup_vectors(weights, labels), axis=1) + _corrected_biases(biases, candidates, labels)
    others = x @ _lookup_vectors(weights, candidates.ids).T + _corrected_biases(biases, candidates, candidates.ids)
    hits = equal(expand_dims(labels, axis=1), candidates.ids)
    logits = concat([expand_dims(right, axis=1), where(hits, -float("inf"), others)], axis=1)
    return -mean(log_softmax(logits)[:, 0])


def _lookup_vectors(weights: Any, ids: Any) -> Any:
    return weights(ids) if isinstance(weights, Embedding) else take(weights, ids, axis=0)


def _corrected_biases(biases: Any, candidates: Candidates, ids: Any) -> Any:
    """The biases of classes, minus the logarithm of their expected counts."""
    return take(biases, ids, axis=0) - astype(log(take(candidates.expected, ids, axis=0)), type_of(biases).dtype)
