"""A sharded embedding table acts as one table: a step by rows is the step of the whole table on them, and leaves the
other rows unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st

of = tl.optimizers
VALUES = np.linspace(-1.0, 2.0, 14).reshape(7, 2)
IDS = st.lists(st.integers(0, 6), max_size=9).map(lambda ids: np.array(ids, np.int64))
SHARDS = st.integers(1, 7)
RULES: dict[str, Callable[[], Any]] = {
    "sgd": lambda: of.SGD(0.5),
    "momentum": lambda: of.Momentum(0.5, 0.5),
    "adagrad": lambda: of.Adagrad(0.5),
    "adadelta": lambda: of.Adadelta(0.5),
    "rmsprop": lambda: of.RMSProp(0.1, momentum=0.5, centered=True),
    "adam": lambda: of.Adam(0.5),
}


def all_rows(table: tl.Embedding) -> Any:
    """All rows, assembled by hand."""
    result = np.empty((sum(len(shard) for shard in table.shards), 2))
    for k, shard in enumerate(table.shards):
        result[k :: len(table.shards)] = np.asarray(shard)
    return result


@settings(max_examples=25)
@given(ids=IDS, shards=SHARDS)
def test_a_lookup(ids: Any, shards: int) -> None:
    """However many shards there are, a lookup returns the rows of the table in the order of the ids, eagerly and in a
    program. The gradient by the table is the sum over the ids."""
    table = tl.Embedding(VALUES, shards=shards)
    weights = np.arange(2.0 * len(ids)).reshape(-1, 2) - 3.0

    @tl.function
    def loss(ids: Any) -> Any:
        return tl.sum(table(ids) * weights)

    assert np.array_equal(all_rows(table), VALUES)
    assert np.array_equal(np.asarray(table(ids)), VALUES[ids])
    wanted = np.zeros_like(VALUES)
    np.add.at(wanted, ids, weights)
    result = tl.grad(loss, table.shards)(ids)
    assert all(np.array_equal(np.asarray(each), wanted[k::shards]) for k, each in enumerate(result))


def by_rows(table: tl.Embedding, ids: Any, slopes: Any) -> Any:
    """The gradient by the shards, for given gradients by the vectors of these ids."""
    return tl.grad(lambda: tl.sum(table(ids) * slopes), table.shards, rows=table.shards)()


def check_rows(make: Callable[[], Any], ids: Any, shards: int, how: str) -> None:
    """Steps by rows equal steps of a table that has only these rows, and leave other rows unchanged."""
    table, optimizer, reference = tl.Embedding(VALUES, shards=shards), make(), make()
    there = np.unique(ids)
    dense = tl.Variable(VALUES[there], name="dense")
    slopes = np.cos(np.arange(2.0 * len(ids))).reshape(-1, 2)

    def step(slopes: Any) -> Any:
        optimizer.apply(by_rows(table, ids, slopes), table.shards)
        return table(ids)

    staged = tl.function(step)
    for scale in (1.0, -2.0, 0.5):
        staged(scale * slopes) if how == "staged" else step(scale * slopes)
        total = np.zeros((len(there), 2))
        np.add.at(total, np.searchsorted(there, ids), scale * slopes)
        reference.apply(total, dense)
    result = all_rows(table)
    assert np.array_equal(np.delete(result, there, axis=0), np.delete(VALUES, there, axis=0))
    assert np.array_equal(result[there], np.asarray(dense))


@pytest.mark.full(first=6)
@pytest.mark.parametrize("how", ["eager", "staged"])
@pytest.mark.parametrize("name", RULES)
def test_steps_by_rows(name: str, how: str) -> None:
    """Every optimizer steps by rows, if rows occur several times, if a shard has none, and if there are none."""
    for ids, shards in (([4, 0, 4, 4, 1], 3), ([6, 3, 6, 0], 3), ([2], 1), ([5, 5, 1], 7)):
        check_rows(RULES[name], np.array(ids), shards, how)
    check_rows(RULES[name], np.array([], np.int64), 2, how)


class _LastWins(of.Adagrad):
    """It uses the gradient of one occurrence of a row for all."""

    def _apply_rows(self, gradient: tl.Rows, variable: Any, slots: Any) -> None:
        first = tl.unique_indices(gradient.indices)
        alone = tl.Rows(tl.take(gradient.indices, first), tl.take(gradient.values, first, axis=0))
        super()._apply_rows(alone, variable, slots)


class _Dense(of.Momentum):
    """It steps in all rows, with a gradient of 0 in absent ones."""

    def _apply_rows(self, gradient: tl.Rows, variable: Any, slots: Any) -> None:
        self.apply(tl.scatter_add(tl.zeros_like(variable), gradient.values, gradient.indices), variable)


@pytest.mark.full
def test_broken_steps_are_caught() -> None:
    """Repeated rows count, and absent rows do not move, although they have momentum."""
    with pytest.raises(AssertionError):
        check_rows(lambda: _LastWins(0.5), np.array([4, 0, 4]), 2, "eager")
    for make, stays in ((of.Momentum, True), (_Dense, False)):
        optimizer, table = make(0.5, 0.5), tl.Embedding(VALUES)
        for row in (1, 2):
            optimizer.apply(by_rows(table, np.array([row]), np.ones((1, 2))), table.shards)
        assert np.array_equal(np.asarray(table([1])), VALUES[[1]] - 0.5) is stays


@pytest.mark.parametrize("how", ["reference", "fast"])
@pytest.mark.parametrize("ids", [[7], [-1]])
def test_ids_out_of_range_trap(ids: list[int], how: str) -> None:
    """Ids out of range trap, for any number of shards; negative ones do not count from the end."""
    table = tl.Embedding(VALUES, shards=3)
    with pytest.raises(tl.Trap, match="an index is out of range"):
        table(ids)

    @tl.function
    def look_up(ids: tl.Array[tl.int64, None]) -> Any:
        return table(ids)

    assert look_up.run(ids, engine=how).status == "Trapped"


def test_wrong_tables_and_gradients_are_refused() -> None:
    """More shards than rows, no shards, and gradients that do not fit the rows are refused."""
    for shards in (0, 8):
        with pytest.raises(tl.Usage, match="the number of shards is out of range"):
            tl.Embedding(VALUES, shards=shards)
    table = tl.Embedding(VALUES)
    with pytest.raises(tl.Invalid, match="the gradient with respect to embedding_0 and the variable differ in shape"):
        of.SGD().apply((tl.Rows([1, 2], np.ones((1, 2))),), table.shards)
