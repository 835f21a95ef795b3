"""A run releases all its memory when it ends, however it ended, without waiting for Python's garbage collector."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.interp.engines.compiled import call_buffer, run, watchdog
from tagloom.interp.engines.compiled.call_buffer import CallBuffer, call_layout
from tagloom.interp.engines.jit.state import TAPE_NEXT


@tl.function
def sort_row(x: tl.Array[tl.float64, None]) -> tl.Array[tl.float64, None]:
    """An op without machine code, which is left to Python."""
    return tl.sort(x)


@tl.function
def take_row(x: tl.Array[tl.float64, 3], at: tl.int64) -> tl.float64:
    return tl.take(x * 2.0, at)


def raise_after_the_run(monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:
    """Raises this error as soon as generated code has ended, as Ctrl-C does."""
    right = run.entry_call

    def work(*given: Any) -> Callable[[], None]:
        expected = right(*given)

        def both() -> None:
            expected()
            raise error

        return both

    monkeypatch.setattr(run, "entry_call", work)


@pytest.mark.full
@pytest.mark.parametrize(("error", "status"), [(None, "Returned"), (MemoryError, "Exhausted")])
def test_arguments_are_released(error: Any, status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The arguments of a run that left an op to Python are released."""
    if error:
        raise_after_the_run(monkeypatch, error)
    x = np.array([2.0, 1.0])
    assert sort_row.run(x, engine="compiled").status == status
    gc.collect()
    gc.disable()
    try:
        argument = weakref.ref(x)
        sort_row.run(x, engine="compiled")
        del x
        assert argument() is None
    finally:
        gc.enable()


@pytest.mark.full
def test_operands_of_a_trap_are_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operands of a trap are released if Ctrl-C prevents its report."""
    from numba.core.runtime import _nrt_python, rtsys

    def alive() -> int:
        stats = rtsys.get_allocation_stats()
        return int(stats.mi_alloc - stats.mi_free)

    monkeypatch.setattr(run, "QUICK_SECONDS", 60.0)  # the second run is on the calling thread, whatever the load
    monkeypatch.setattr(watchdog, "call_watched", lambda buffer, call: call())
    _nrt_python.memsys_enable_stats()
    assert take_row.run([1.0, 2.0, 3.0], 9, engine="compiled").status == "Trapped"
    raise_after_the_run(monkeypatch, KeyboardInterrupt)
    before = alive()
    assert take_row.run([1.0, 2.0, 3.0], 9, engine="compiled").error.limit == "interrupt"
    assert alive() == before


def test_little_memory_of_records_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory kept for the records of the next run is small, even after a run that ended amid its records."""
    monkeypatch.setattr(call_buffer, "_idle_arenas", [])
    for size, kept in ((call_buffer._MAX_IDLE_BYTES + 8, 0), (8, 1)):
        words = CallBuffer([], call_layout([], 0, 0), 1, 0)
        with pytest.raises(MemoryError), call_buffer.RecordArena(words, 2 * call_buffer._MAX_IDLE_BYTES):
            words.state[TAPE_NEXT] += size
            raise MemoryError
        assert len(call_buffer._idle_arenas) == kept
