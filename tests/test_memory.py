"""Results that do not fit into memory: a small program or log may request them, and the user sees no traceback."""

from __future__ import annotations

import gc
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core import dtypes
from tagloom.core.frontend.trace.program_builder import ProgramBuilder, current_region
from tagloom.core.ops import op
from tagloom.core.ops.op import MAX_ELEMENTS, lookup_op, trap_message
from tagloom.core.program.evaluate import evaluate
from tagloom.interp.records.documents import to_outcome_record

N = 200_000
COLUMN, ROW = np.zeros((N, 1)), np.zeros((1, N))
"""1.6 MB each; their sum takes 298 GiB."""


@tl.function
def outer(x: tl.Array[tl.float64, None, 1], y: tl.Array[tl.float64, 1, None]) -> tl.Array[tl.float64, None, None]:
    return x + y


@tl.function
def table(n: tl.int64, x: tl.Array[tl.int64, None, 1], y: tl.Array[tl.int64, 1, None]) -> tl.Type(tl.int64, None):  # type: ignore[valid-type]
    """A large result, with an op that looks for a trap before it computes; that must not allocate either."""
    return tl.while_loop(lambda i: i < n, lambda i: i + 1, 0)[0] + x // y


def most_memory(work: Any) -> int:
    """The most bytes that were allocated during a call."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_run_ends_exhausted() -> None:
    """S12: a result that does not fit ends the run before the firing, which is neither a step nor in the residue."""
    out = outer.run(COLUMN, ROW)
    (add,) = out.graph.find("add")
    assert (out.status, out.stats.by_node[add], out.results) == ("Exhausted", 0, (None,))
    assert out.error is not None and out.error.rule == "S12"
    assert str(out.error).startswith("S12: the result of node outer.add does not fit into memory (test_memory.py:")
    assert str(out.error).endswith("got: add of float64[200000, 1], float64[1, 200000]")


def test_oversized_results_are_not_allocated() -> None:
    """A result beyond the limit is not allocated even if the machine has room, nor are temporaries of its trap
    check."""
    n = 40_000
    whole = np.ones((n, 1), np.int64)
    table.run(1, whole[:2], whole[:2].T)
    outcomes: list[tl.Outcome] = []
    for run in (lambda: outer.run(COLUMN[:n], ROW[:, :n]), lambda: table.run(3, whole, whole.T)):
        assert most_memory(lambda: outcomes.append(run())) < 20 * n * 8  # noqa: B023  # called at once
    assert [outcome.status for outcome in outcomes] == ["Exhausted"] * 2


def test_the_limit_on_elements_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the limit on elements an op computes, and one above it does not; scalars and arrays of the same size have no
    new cost."""
    monkeypatch.setattr(op, "MAX_ELEMENTS", 6)
    column, row = np.ones((2, 1)), np.ones((1, 3))
    assert outer.run(column, row).status == "Returned"
    assert outer.run(column, np.ones((1, 4))).status == "Exhausted"
    assert MAX_ELEMENTS == 2**30


def test_shapes_too_large_for_numpy() -> None:
    """Empty operands may have sizes whose product NumPy cannot represent; that is no broadcasting error."""
    one, other = np.zeros((2**40, 1, 0)), np.zeros((1, 2**40, 0))
    with pytest.raises(MemoryError):
        trap_message(lookup_op("add"), (one, other))
    assert trap_message(lookup_op("add"), (np.zeros((3,)), np.zeros((4,)))) == "shapes (3,) and (4,) do not broadcast"


def test_evaluation_ends_exhausted() -> None:
    """The evaluator ends alike, so that `tagloom check` can compare the two."""
    assert evaluate(outer.program, [COLUMN, ROW]).status == "Exhausted"


@pytest.mark.full
def test_a_call_without_a_trace_is_exhausted() -> None:
    """An eager op raises the same error, at the user's line."""
    with pytest.raises(tl.Exhausted, match=r"S12: a result does not fit into memory \(test_memory.py:\d+\)"):
        tl.maximum(COLUMN, ROW)
    with pytest.raises(tl.Exhausted, match="S12"):
        outer(COLUMN, ROW)


@pytest.mark.full
def test_the_log_of_an_exhausted_run(tmp_path: Path) -> None:
    """The log of such a run is accepted; one that claims the result ends Exhausted at its line, at once."""
    path = tmp_path / "run.jsonl"
    out = outer.run(COLUMN, ROW, keep=path)
    log = tl.read_events(path)
    assert log.outcome == to_outcome_record(out) and len(log.events) == out.stats.steps
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    value = lines[0]["arguments"][1]
    more = {"deliver": [0, 1, 0, value], "position": 0, "inputs": [], "outputs": []}
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines[:-1], more]))
    with pytest.raises(tl.Exhausted, match=rf"does not fit into memory \(line {len(lines)}\)"):
        tl.read_events(path)


def test_casts_of_empty_arrays() -> None:
    """An array of size 0 in a document is Malformed if its sizes are too large for some dtype."""
    document = tl.to_json(outer.run(COLUMN[:2], ROW[:, :2]))
    for dtype in dtypes.ALL:
        shape = {"dtype": repr(dtype), "shape": [0, 2**62], "data": []}
        with pytest.raises(tl.Malformed, match="the shape of an array"):
            tl.from_json({**document, "results": [shape]})


def turned(x: Any, n: Any) -> Any:
    """A program with a loop and a branch, and a function inside it."""
    inner = tl.function(lambda y: tl.cond(y > 0.0, lambda: y * x, lambda: y))
    return tl.while_loop(lambda k, _: k < n, lambda k, y: (k + 1, inner(y)), 0, x)[1]


def by_tape(x: Any) -> Any:
    with tl.Tape() as tape:
        tape.watch(x)
        y = turned(x, 3)
    return tape.gradient(y, x)


def badly(x: Any) -> Any:
    return tl.cond(x > 0.0, lambda: x, lambda: tl.astype(x, tl.int64))


def used_functions() -> None:
    """Functions that are made, traced, differentiated and dropped; the trace of one fails."""
    function = tl.function(turned)
    function(1.5, 3), tl.grad(function)(1.5, 3), tl.grad(tl.grad(turned))(1.5, 3), tl.vjp(function, 1.5, 3)[1](1.0)
    assert tl.function(by_tape)(1.5) > 0.0
    with pytest.raises(tl.Invalid):
        tl.function(badly)(1.5)


@pytest.mark.full
@pytest.mark.parametrize("broken", ["", "forgets nothing"])
def test_a_dropped_function_is_freed_at_once(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dropped function is freed at once, with its traces, programs and graphs; a twin that keeps a reference is
    caught."""
    used_functions()
    if broken:
        monkeypatch.setattr(ProgramBuilder, "_release", lambda self: None)
    while gc.collect():  # what finalizers of other tests' garbage leave behind is garbage, too
        pass
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        used_functions()
        gc.collect()
        assert any(type(each).__module__.startswith("tagloom.") for each in gc.garbage) == bool(broken)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_a_new_trace_frees_the_old_one() -> None:
    """Values of a trace are freed when the next trace of that function begins, before the program is finished."""
    begun: list[Any] = []

    @tl.function
    def halved(n: tl.int64) -> Any:
        assert not any(region.values or region.parameters for region in begun)
        begun.append(current_region())
        return tl.cond(n <= 1, lambda: 1.0, lambda: halved(n - 1) / 2)

    assert halved(3) == 0.25 and len(begun) > 1
