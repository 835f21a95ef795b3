"""Sharded embedding tables of many rows, and sampled softmax, a loss over a sample of many classes.

A look-up reads only the rows that it returns, and a step changes only those. Arrays are immutable, so a step copies the
other rows of the shards that it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ...core import dtypes
from ...core.errors import Usage
from ...core.frontend.array_api.common import element_count, type_of
from ...core.frontend.array_api.creation import arange, zeros
from ...core.frontend.array_api.datatypes import astype
from ...core.frontend.array_api.indexing import boolean_mask, scatter, take
from ...core.frontend.array_api.manipulation import concat, expand_dims
from ...core.frontend.array_api.neural_network import log_softmax
from ...core.frontend.array_api.numeric import argsort, mean
from ...core.frontend.array_api.numeric import sum as total
from ...core.frontend.eager.variable import Variable, init_scope
from ...core.frontend.effects import uniform
from ...core.frontend.functions import equal, expm1, floor_divide, less, log, log1p, multiply, remainder, where
from ...core.frontend.trace.source_location import user_location


class Embedding:
    """An embedding table: vectors in n shards, which are variables. Vector i is row i // n of shard i % n.

    `table(ids)` partitions the ids by shard, gathers rows from each shard, and stitches them together (Abadi and
    others, OSDI 2016, section 4.2). With `rows=table.shards`, a gradient contains only the rows that were looked up:

    >>> import tagloom as tl
    >>> table, sgd = Embedding([[1.0], [2.0], [3.0]], shards=2), tl.optimizers.SGD(rate=1.0)
    >>> [float(x) for x in table([2, 0, 2])[:, 0]]
    [3.0, 1.0, 3.0]
    >>> slopes = tl.grad(lambda: tl.sum(table([2, 0, 2])), table.shards, rows=table.shards)()
    >>> [[int(row) for row in slope.indices] for slope in slopes]
    [[1, 0, 1], []]
    >>> sgd.apply(slopes, table.shards)
    >>> [float(x) for x in table([0, 1, 2])[:, 0]]
    [0.0, 2.0, 1.0]
    """

    def __init__(self, values: Any, *, shards: int = 1, dtype: Any = None, name: str = "embedding") -> None:
        """`values`, of shape (rows, ...), are the initial vectors. Raises Usage if there are fewer vectors than
        shards."""
        with init_scope():
            table = Variable(values, dtype=dtype, name=name, trainable=False).value
            if not table.shape or not 1 <= shards <= table.shape[0]:
                required, got = "from one shard to as many as rows", f"{shards} shards of {table.dtype!r}{table.shape}"
                raise Usage("the number of shards is out of range", where=user_location(), required=required, got=got)
            parts = [table[k::shards] for k in range(shards)]
        self.count, self.width = table.shape[0], table.shape[1:]
        self.shards = tuple(Variable(part, name=f"{name}_{k}") for k, part in enumerate(parts))

    def __call__(self, ids: Any) -> Any:
        """Look up the vectors, of shape (n, ...), for integer ids of shape (n,). An id out of range traps."""
        return self._stitch(ids, lambda shard, rows: take(self.shards[shard], rows, axis=0))

    def rows_by_shard(self, ids: Any) -> list[Any]:
        """For each shard, the indices of the rows that have the vectors of these ids."""
        return [rows for rows, _ in self._split_by_shard(ids)]

    def stitch(self, ids: Any, parts: Sequence[Any]) -> Any:
        """The vectors for ids, from the rows of each shard at `rows_by_shard(ids)`."""
        return self._stitch(ids, lambda shard, rows: parts[shard])

    def _stitch(self, ids: Any, gather: Callable[[int, Any], Any]) -> Any:
        """The vectors for ids; `gather` returns the rows of a shard at some indices."""
        vectors = take(zeros((1, *self.width), dtype=self.shards[0].dtype), multiply(ids, 0), axis=0)
        for shard, (rows, positions) in enumerate(self._split_by_shard(ids)):
            vectors = scatter(vectors, gather(shard, rows), positions)
        return vectors

    def _split_by_shard(self, ids: Any) -> Iterator[tuple[Any, Any]]:
        """For each shard, the rows to look up, and their positions in the result."""
        count = len(self.shards)
        owners = remainder(ids, count)
        rows = where(less(ids, 0), self.count, floor_divide(ids, count))
        positions = arange(element_count(ids))
        for shard in range(count):
            mask = equal(owners, shard)
            yield boolean_mask(rows, mask), boolean_mask(positions, mask)


class Candidates(NamedTuple):
    """A sample of classes."""

    ids: Any
    """int64, of shape (n,), all different."""
    expected_counts: Any
    """The expected count of every class in the sample: float64, of shape (classes,)."""


def log_uniform_candidates(n: int, classes: int, /) -> Candidates:
    """Draw n of the classes without replacement. Class k has the weight log((k + 2) / (k + 1)), so the classes should
    be sorted from the most frequent to the rarest (Zipf's law).

    Each class gets a time from the exponential distribution with its weight as rate, and the n earliest are drawn. If
    the next class has the time t, a class of weight p was drawn with probability 1 - exp(-p t) (Cohen and Kaplan 2007).
    If all classes are drawn, each expected count is 1.

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
    """The mean cross entropy of softmax over the right class of each example and the candidates, instead of all
    classes. It is a float; x has the shape (examples, width), labels (examples,), weights (classes, width), or is an
    Embedding of these, and biases (classes,).

    The logarithm of the expected count is subtracted from each logit, to correct for frequent candidates (Jean and
    others 2015). A candidate that is the right class of an example is ignored there. If all classes are candidates,
    each with the expected count 1, this is the loss of the full softmax.

    >>> import tagloom as tl
    >>> logits = [[0.5, 0.0, -1.0]]
    >>> everything = Candidates([0, 1, 2], [1.0, 1.0, 1.0])
    >>> loss = sampled_softmax([[1.0]], [2], [[0.5], [0.0], [-1.0]], [0.0, 0.0, 0.0], everything)
    >>> bool(abs(loss + tl.log_softmax(logits)[0, 2]) < 1e-12)
    True
    """
    label_scores = total(x * lookup_vectors(weights, labels), axis=1) + corrected_biases(biases, candidates, labels)
    candidate_scores = x @ lookup_vectors(weights, candidates.ids).T + corrected_biases(
        biases, candidates, candidates.ids
    )
    hits = equal(expand_dims(labels, axis=1), candidates.ids)
    logits = concat([expand_dims(label_scores, axis=1), where(hits, -float("inf"), candidate_scores)], axis=1)
    return -mean(log_softmax(logits)[:, 0])


def lookup_vectors(weights: Any, ids: Any) -> Any:
    """The vectors for ids, from an Embedding or an array of rows."""
    return weights(ids) if isinstance(weights, Embedding) else take(weights, ids, axis=0)


def corrected_biases(biases: Any, candidates: Candidates, ids: Any) -> Any:
    """The biases of classes, minus the logarithm of their expected counts."""
    return take(biases, ids, axis=0) - astype(log(take(candidates.expected_counts, ids, axis=0)), type_of(biases).dtype)
