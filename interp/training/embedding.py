"""Sharded embedding tables: a look-up reads, and a step changes, only the rows concerned. Values that were read stay
unchanged, so a step copies the other rows of the shards that it changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core.errors import Usage
from ...core.frontend.array_api.common import element_count
from ...core.frontend.array_api.creation import arange, zeros
from ...core.frontend.array_api.indexing import boolean_mask, scatter, take
from ...core.frontend.eager.variable import Variable, init_scope
from ...core.frontend.functions import equal, floor_divide, less, multiply, remainder, where
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
            whole = Variable(values, dtype=dtype, name=name, trainable=False).value
            if not whole.shape or not 1 <= shards <= whole.shape[0]:
                required, got = "from one shard to as many as rows", f"{shards} shards of {whole.dtype!r}{whole.shape}"
                raise Usage("a table is cut into shards by its rows", where=user_location(), required=required, got=got)
            parts = [whole[k::shards] for k in range(shards)]
        self.count, self.width = whole.shape[0], whole.shape[1:]
        self.shards = tuple(Variable(each, name=f"{name}_{k}") for k, each in enumerate(parts))

    def __call__(self, ids: Any) -> Any:
        """The vectors, of shape (n, ...), for ids, integers of shape (n,). An id out of range traps."""
        blank = zeros((1, *self.width), dtype=self.shards[0].dtype)
        found = take(blank, multiply(ids, 0), axis=0)
        for shard, (part, places) in zip(self.shards, self._split_by_shard(ids), strict=True):
            found = scatter(found, take(shard, part, axis=0), places)
        return found

    def _split_by_shard(self, ids: Any) -> Iterator[tuple[Any, Any]]:
        """For each shard, its requested rows, and their positions in the result."""
        count = len(self.shards)
        owners = remainder(ids, count)
        rows = where(less(ids, 0), self.count, floor_divide(ids, count))
        places = arange(element_count(ids))
        for shard in range(count):
            mask = equal(owners, shard)
            yield boolean_mask(rows, mask), boolean_mask(places, mask)
