"""Tables of many rows and losses over many classes: sharded embedding tables, and sampled softmax, where a sample of
the classes stands for the rest.

A look-up reads, and a step changes, only the rows concerned. Values that were read stay unchanged, so a step copies the
other rows of the shards that it changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...core import dtypes
from ...core.errors import Usage
from ...core.frontend.array_api.common import element_count, type_of
from ...core.frontend.array_api.creation import arange, zeros
from ...core.frontend.array_api.datatypes import astype
from ...core.frontend.array_api.indexing import boolean_mask, scatter, take
from ...core.frontend.array_api.manipulation import concat, expand_dims
from ...core.frontend.array_api.networks import log_softmax
from ...core.frontend.array_api.numeric import argsort, mean
from ...core.frontend.array_api.numeric import sum as total
from ...core.frontend.eager.variable import Variable, init_scope
from ...core.frontend.effects import uniform
from ...core.frontend.functions import equal, expm1, floor_divide, less, log, log1p, multiply, remainder, where
from ...core.frontend.trace.source_location import user_location


class Embedding:
    """A table of vectors, the rows of `values`, in n shards, which are variables: row i is in shard i % n, at i // n.

    `table(ids)` parts the ids by shard, gathers from each shard, and stitches the rows together (Abadi and others, OSDI
    2016, section 4.2). `rows=table.shards` has the gradient be of the rows that were looked up:

    >>> import tagloom as tl
    >>> table, sgd = Embedding([[1.0], [2.0], [3.0]], shards=2), tl.optimizers.SGD(rate=1.0)
    >>> [float(each) for each in table([2, 0, 2])[:, 0]]
    [3.0, 1.0, 3.0]
    >>> slopes = tl.grad(lambda: tl.sum(table([2, 0, 2])), table.shards, rows=table.shards)()
    >>> [[int(row) for row in slope.indices] for slope in slopes]
    [[1, 0, 1], []]
    >>> sgd.apply(slopes, table.shards)
    >>> [float(each) for each in table([0, 1, 2])[:, 0]]
    [0.0, 2.0, 1.0]
    """

    def __init__(self, values: Any, *, shards: int = 1, dtype: Any = None, name: str = "embedding") -> None:
        """`values`, of shape (rows, ...), are the initial vectors. Raises Usage if there are fewer rows than shards."""
        with init_scope():
            table = Variable(values, dtype=dtype, name=name, trainable=False).value
            if not table.shape or not 1 <= shards <= table.shape[0]:
                required, got = "from one shard to as many as rows", f"{shards} shards of {table.dtype!r}{table.shape}"
                raise Usage("the number of shards is out of range", where=user_location(), required=required, got=got)
            parts = [table[k::shards] for k in range(shards)]
        self.count, self.width = table.shape[0], table.shape[1:]
        self.shards = tuple(Variable(each, name=f"{name}_{k}") for k, each in enumerate(parts))

    def __call__(self, ids: Any) -> Any:
        """The vectors, of shape (n, ...), for ids, integers of shape (n,). An id out of range traps."""
        blank = zeros((1, *self.width), dtype=self.shards[0].dtype)
        vectors = take(blank, multiply(ids, 0), axis=0)
        for shard, (part, positions) in zip(self.shards, self._split_by_shard(ids), strict=True):
            vectors = scatter(vectors, take(shard, part, axis=0), positions)
        return vectors

    def _split_by_shard(self, ids: Any) -> Iterator[tuple[Any, Any]]:
        """For each shard, its requested rows, and their positions in the result."""
        count = len(self.shards)
        owners = remainder(ids, count)
        rows = where(less(ids, 0), self.count, floor_divide(ids, count))
        places = arange(element_count(ids))
        for shard in range(count):
            mask = equal(owners, shard)
            yield boolean_mask(rows, mask), boolean_mask(places, mask)


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
        raise Usage(
            "the number of samples is out of range", where=user_location(), required=f"from 1 to {classes}", got=n
        )
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
    right = total(x * lookup_vectors(weights, labels), axis=1) + corrected_biases(biases, candidates, labels)
    candidate_scores = x @ lookup_vectors(weights, candidates.ids).T + corrected_biases(
        biases, candidates, candidates.ids
    )
    hits = equal(expand_dims(labels, axis=1), candidates.ids)
    logits = concat([expand_dims(right, axis=1), where(hits, -float("inf"), candidate_scores)], axis=1)
    return -mean(log_softmax(logits)[:, 0])


def lookup_vectors(weights: Any, ids: Any) -> Any:
    """The vectors for ids, from an Embedding or from the rows of an array."""
    return weights(ids) if isinstance(weights, Embedding) else take(weights, ids, axis=0)


def corrected_biases(biases: Any, candidates: Candidates, ids: Any) -> Any:
    """The biases of classes, minus the logarithm of their expected counts."""
    return take(biases, ids, axis=0) - astype(log(take(candidates.expected, ids, axis=0)), type_of(biases).dtype)
