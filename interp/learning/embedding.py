"""Tables of vectors in shards: a look-up reads, and a step changes, the rows that it is about and no others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core.errors import Usage
from ...core.frontend.functions import equal, floor_divide, less, multiply, remainder, where
from ...core.frontend.source import here
from ...core.frontend.standard.common import elements
from ...core.frontend.standard.creation import arange, zeros
from ...core.frontend.standard.indexing import boolean_mask, scatter, take
from ...core.frontend.variable import Variable, init_scope
from .rows import Rows


class Embedding:
    """A table of vectors, the rows of `values`, in n shards, which are variables: row i is in shard i % n, at i // n.

    `table(ids)` parts the ids by shard, gathers from each shard, and stitches the rows together (Abadi and others, OSDI
    2016, section 4.2). The gradient by the rows is as small as they are; `by_shard` parts it in the same way:

    >>> import tagloom as tl
    >>> table = Embedding([[1.0], [2.0], [3.0]], shards=2)
    >>> rows = table([2, 0, 2])
    >>> rows.shape, [float(each) for each in rows[:, 0]]
    ((3, 1), [3.0, 1.0, 3.0])
    >>> tl.optimizers.SGD(rate=1.0).apply(table.by_shard([2, 0, 2], tl.ones_like(rows)), table.shards)
    >>> [float(each) for each in table([0, 1, 2])[:, 0]]
    [0.0, 2.0, 1.0]
    """

    def __init__(self, values: Any, *, shards: int = 1, dtype: Any = None, name: str = "embedding") -> None:
        """`values`, of shape (rows, ...), are the vectors at first. Raises Usage where there are fewer than shards."""
        with init_scope():
            whole = Variable(values, dtype=dtype, name=name, trainable=False).value
            if not whole.shape or not 1 <= shards <= whole.shape[0]:
                required, got = "from one shard to as many as rows", f"{shards} shards of {whole.dtype!r}{whole.shape}"
                raise Usage("a table is cut into shards by its rows", where=here(), required=required, got=got)
            parts = [whole[k::shards] for k in range(shards)]
        self.count, self.width = whole.shape[0], whole.shape[1:]
        self.shards = tuple(Variable(each, name=f"{name}_{k}") for k, each in enumerate(parts))

    def __call__(self, ids: Any) -> Any:
        """The vectors of ids, integers of shape (n,): of shape (n, ...). An id that is not there traps."""
        blank = zeros((1, *self.width), dtype=self.shards[0].dtype)
        found = take(blank, multiply(ids, 0), axis=0)
        for shard, (part, _, places) in zip(self.shards, self._parts(ids), strict=True):
            found = scatter(found, take(shard, part, axis=0), places)
        return found

    def by_shard(self, ids: Any, gradients: Any) -> tuple[Rows, ...]:
        """The gradient by the vectors of ids, of shape (n, ...), as those by the rows of each shard: what an optimizer
        takes together with `shards`."""
        return tuple(Rows(part, boolean_mask(gradients, mask)) for part, mask, _ in self._parts(ids))

    def _parts(self, ids: Any) -> Iterator[tuple[Any, Any, Any]]:
        """For each shard its rows, which of the ids they are, and the places of those."""
        count = len(self.shards)
        owners = remainder(ids, count)
        rows = where(less(ids, 0), self.count, floor_divide(ids, count))
        places = arange(elements(ids))
        for shard in range(count):
            mask = equal(owners, shard)
            yield boolean_mask(rows, mask), mask, boolean_mask(places, mask)
