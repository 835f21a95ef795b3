"""Ops without machine code: compiled programs call Python for them, and continue with the result."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.generators.array_rows import arities, attributes
from support.generators.effect_programs import Witness
from support.laws.compiled_laws import differences
from support.programs.compiled_child import in_a_process
from tagloom.core import dtypes
from tagloom.core.frontend.eager.apply import apply
from tagloom.core.ops.op import OPS
from tagloom.core.program.program import Node, Var
from tagloom.core.types import Type
from tagloom.interp.engines.compiled.support import is_host_op, needs_poll, unsupported_program
from tagloom.interp.engines.compiled.thread import HostCallServer

CODED = {"matmul", "sum"}
"""Those that have machine code though they do not compute element by element; sums of one axis, or all."""


def test_which_ops_are_left_to_python() -> None:
    """Ops are left to Python if they are not elementwise and have no generated code, or reduce over several axes;
    interrupts are checked after each."""
    for row in OPS.values():
        for given in attributes(row):
            node = Node(row.name, ("x",) * arities(row, given)[0], (Var("y", Type(dtypes.int64)),), attributes=given)
            several = isinstance(dict(given).get("axis"), tuple)
            assert is_host_op(node) == (row.scalar is None and (row.name not in CODED or several))
            assert needs_poll(node) or not is_host_op(node)


@tl.function
def argmax_in_branches(x: tl.Array[tl.float64, None], n: tl.int64):  # type: ignore[no-untyped-def]
    """Loops, branches and calls with such ops, on scalars and arrays."""

    def body(k, total, kept):  # type: ignore[no-untyped-def]
        here = apply("gather", x, k)
        later = tl.cond(here > 0.0, lambda: largest(x * here), lambda: tl.sum(tl.sort(x)[:1] * tl.roll(x, 1)[:1]))
        return k + 1, total + later, tl.concat([kept[1:], tl.expand_dims(here, 0)])

    return tl.while_loop(lambda k, total, kept: k < n, body, 0, 0.0, tl.zeros(2))


@tl.function
def largest(x: tl.Array[tl.float64, None]):  # type: ignore[no-untyped-def]
    return tl.max(x)


@pytest.mark.full
@pytest.mark.parametrize("count", [0, 3, 4])
def test_programs_with_such_ops_agree(count: int) -> None:
    """Programs with such ops have the reference's results and first trap, with its calls and iterations."""
    arguments = [np.array([0.5, -1.0, 2.0]), count]
    assert not differences(argmax_in_branches.program, argmax_in_branches.graph, arguments)
    outcome = argmax_in_branches.run(*arguments, engine="compiled")
    assert outcome.engine == "compiled" and outcome.status == ("Trapped" if count == 4 else "Returned")


@tl.function
def repeated_ranges(n: tl.int64):  # type: ignore[no-untyped-def]
    return tl.sum(tl.arange(n))


@pytest.mark.full
def test_a_result_beyond_memory_ends_the_run() -> None:
    """S12: a result that does not fit into memory ends the run with the same message as one of machine code."""
    one, other = (repeated_ranges.run(2**40, engine=engine) for engine in ("reference", "compiled"))
    assert (one.status, other.status) == ("Exhausted", "Exhausted")
    assert one.error is not None and other.error is not None and one.error.message == other.error.message
    assert repeated_ranges.run(10, engine="compiled").value == 45


@tl.function
def endless(x: tl.Array[tl.int64, 3]):  # type: ignore[no-untyped-def]
    return tl.while_loop(lambda y: tl.take(y, 0) < 10, lambda y: tl.roll(y, 1), x)


@pytest.mark.full
def test_a_limit_on_seconds_ends_a_loop_of_such_ops() -> None:
    """S12: a loop of such ops ends soon after its seconds, and its thread is free again."""
    assert endless.run(np.array([20, 1, 2]), engine="compiled").status == "Returned"
    for _ in range(2):
        began = time.monotonic()
        outcome = endless.run(np.zeros(3, np.int64), engine="compiled", limits=tl.Limits(seconds=0.3))
        assert outcome.status == "Exhausted" and time.monotonic() - began < 20


@tl.function
def printed_maxima(x: tl.Array[tl.int64, None]):  # type: ignore[no-untyped-def]
    tl.print("first", tl.max(x))
    y = tl.callback(lambda each: each + 1, tl.take(x, 0), returns=tl.int64)
    tl.print("last", tl.sort(x))
    return tl.take(x, y)


@pytest.mark.full
def test_effects_keep_their_order() -> None:
    """Effects keep their order, on the calling thread, with such ops between them."""
    assert unsupported_program(printed_maxima.program) is None
    for value in (0, 5):
        worlds = [Witness(), Witness()]
        outcomes = [
            printed_maxima.run(np.array([value, 7]), engine=engine, world=world)
            for engine, world in zip(("reference", "compiled"), worlds, strict=True)
        ]
        assert outcomes[0].status == outcomes[1].status == ("Trapped" if value else "Returned")
        assert worlds[0].lines == worlds[1].lines and len(worlds[0].lines) == 2


def broken_server(name: str) -> Any:
    """A host call server with one error."""

    class BrokenServer(HostCallServer):
        def compute_op(self, number: int, node: Node) -> int:
            if name == "forgets to trap":
                return min(super().compute_op(number, node), 0)
            if name == "answers the first again":
                self.first = getattr(self, "first", {})
                first = self.first.setdefault((self.trap_sites[number].types, node.results[0].type), number)
                return super().compute_op(first, self.trap_sites[first].node)  # type: ignore[arg-type]
            raise AssertionError

    return BrokenServer


@pytest.mark.full
@pytest.mark.parametrize("name", ["forgets to trap", "answers the first again"])
def test_broken_servers_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every broken host call server is caught."""
    monkeypatch.setattr("tagloom.interp.engines.compiled.run.HostCallServer", broken_server(name))
    actual = [
        bool(differences(argmax_in_branches.program, argmax_in_branches.graph, [np.array([0.5, -1.0, 2.0]), count]))
        for count in (3, 4)
    ]
    assert any(actual)


@pytest.mark.full
def test_an_op_that_raises_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """No exception passes through machine code: it becomes the cause of a Crash."""

    def kernel(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr("tagloom.interp.engines.compiled.thread.build_kernel", kernel)
    with pytest.raises(tl.Crash, match="compiled code failed") as crashed:
        repeated_ranges.run(10, engine="compiled")
    assert isinstance(crashed.value.__cause__, ZeroDivisionError)


RAISING = """
from tagloom.interp.engines.compiled import thread
def kernel(*_):
    raise DeprecationWarning
thread.build_kernel = kernel
ordered = tl.function(lambda x: tl.sort(x))
least = tl.function(lambda x: tl.take(ordered(x), 0))
try:
    least.run([0.0] * 5000, engine="compiled")
except tl.Crash as crash:
    print(type(crash.__cause__).__name__)
"""


@pytest.mark.full
def test_callers_stop_after_an_op_that_raises() -> None:
    """Callers of a function in which an op raises do not continue, since its array does not exist."""
    assert in_a_process(RAISING) == ["DeprecationWarning"]
