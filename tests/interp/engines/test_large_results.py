"""A limit on bytes ends a run before an op makes a result that exceeds it, on every engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.interp.engines import reference
from tagloom.interp.engines.fast import host_firings
from tagloom.interp.engines.limits import resident_memory

ROOM = 100 * 2**20
"""The memory that a run may take besides what the process has."""
RESULTS: dict[str, Callable[[Any], Any]] = {
    "a known size": lambda x: tl.broadcast_to(x, (4 * 10**7,)),
    "a size of the run": lambda x: tl.zeros((tl.astype(x, tl.int64) * 4 * 10**7,)),
    "operands that broadcast": lambda x: tl.expand_dims(tl.zeros(6_000) + x, axis=0) + tl.zeros((6_000, 1)),
    "repeated elements": lambda x: tl.repeat(tl.zeros(10) + x, tl.astype(x, tl.int64) * 4 * 10**6),
}


def limit_of(name: str, engine: str) -> str:
    """The limit that ends a run, whose result takes 300 MB; empty if it returns."""
    function = tl.function(RESULTS[name])
    outcome = function.run(np.float64(1), engine=engine, limits=tl.Limits(bytes=resident_memory() + ROOM))
    return getattr(outcome.error, "limit", "")


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_measured_before_it_is_made(name: str, engine: str) -> None:
    """S12: the run ends by its limit on bytes, and the array is never allocated."""
    tl.function(lambda x: x + 1.0).run(1.0, engine=engine)  # what the engine loads does not count
    before = resident_memory()
    assert limit_of(name, engine) == "bytes"
    assert resident_memory() < before + 1.3 * ROOM


@pytest.mark.parametrize("engine, module", [("reference", reference), ("fast", host_firings)])
def test_a_result_that_is_not_measured_is_made(engine: str, module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The law fails where results are not measured: the run makes them, and ends after that, or not at all."""
    made = []

    def exceeds_memory(node: object, operands: Sequence[object], limit: int) -> bool:
        made.append(node)
        return False

    monkeypatch.setattr(module, "exceeds_memory", exceeds_memory)
    before = resident_memory()
    function = tl.function(lambda x: tl.sum(tl.repeat(tl.zeros(10) + x, tl.astype(x, tl.int64) * 4 * 10**6)))
    outcome = function.run(np.float64(1), engine=engine, limits=tl.Limits(bytes=before + ROOM))
    assert made and (outcome.status == "Returned" or outcome.firings > 5)


@pytest.mark.parametrize("engine", ["reference", "fast", "compiled"])
def test_a_firing_that_traps_has_no_large_result(engine: str) -> None:
    """S5: three elements do not become 10^10, however much memory there is."""

    @tl.function
    def grow(x: tl.Array[tl.float64, None]) -> tl.Array[tl.float64, 10**10]:
        return tl.reshape(x, (10**10,))

    outcome = grow.run(np.zeros(3), engine=engine)
    assert outcome.status == "Trapped" and "shape (3,) does not become" in str(outcome.error)
