"""Stores as documents: what they take while a run is saved."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
import tagloom as tl
from tagloom.interp.engines.distributed import stores as stores_module
from tagloom.interp.engines.distributed import worker
from tagloom.interp.engines.distributed.stores import WorkerStores, stores_to_json


@tl.function
def total(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 0, lambda: 0, lambda: total(n - 1) + n)


def document_share(monkeypatch: pytest.MonkeyPatch, rows: Callable[[int, Any], Any] = stores_module._rows) -> float:
    """The memory of the largest document of a deep recursion that ends at a limit, as a part of what the run has
    allocated before, if this makes its tables."""
    shares = []

    def measured(stores: WorkerStores) -> Any:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        with monkeypatch.context() as patch:
            patch.setattr(stores_module, "_rows", rows)
            document = stores_to_json(stores)
            shares.append((tracemalloc.get_traced_memory()[1] - before) / before)
            del document
        return stores_to_json(stores)

    monkeypatch.setattr(worker, "stores_to_json", measured)
    total.trace(1)
    tracemalloc.start()
    try:
        outcome = total.run(10**6, engine="distributed", limits=tl.Limits(firings=10_000))
    finally:
        tracemalloc.stop()
    assert outcome.status == "Exhausted"
    return max(shares)


@pytest.mark.full
def test_a_document_is_smaller_than_its_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run at its limit on bytes still has to save its stores: the documents take less than a third of the memory."""
    share = document_share(monkeypatch)
    assert share < 1 / 3


@pytest.mark.full
def test_documents_of_lists_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin whose tables are lists takes more than half of what the stores take."""
    share = document_share(monkeypatch, lambda width, rows: list(map(list, rows)))
    assert share > 1 / 2
