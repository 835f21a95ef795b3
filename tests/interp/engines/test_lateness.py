"""Every op of the registry, on large operands, delays the end of a run by at most 0.2 s, and lets other threads run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lateness
import numpy as np
import pytest
from lateness import (
    ENGINES,
    LATE_SECONDS,
    LargeCase,
    Late,
    array_rows,
    is_late,
    large_case,
    large_cases,
    measure_again,
    measure_apart,
    summary,
)
from support.observe.interpreter_lock import seconds_without_other_threads
from tagloom.core.dtypes import float64
from tagloom.core.ops.matmul import matmul_kernel
from tagloom.core.ops.op import OPS, build_kernel
from tagloom.core.types import Type
from tagloom.core.value import Value
from tagloom.interp.engines import long_ops

LOCK_SECONDS = 0.1
"""How long an op may keep Python's lock, in seconds of processor time. Ops take milliseconds."""
NAMES = tuple(row.name for row in array_rows())
WITHOUT_LARGE_OPERANDS = {"arange", "uniform_at", "normal_at", "integers_at", "permutation_at", "broadcast_to"}
"""Ops whose results alone are large."""


def stretched_operands(case: LargeCase) -> list[Value]:
    """Operands of the types of a case that take no memory."""
    return [np.broadcast_to(type_.dtype.numpy.type(1), type_.shape or ()) for type_ in case.types]


def ops_on_the_caller() -> Iterator[str]:
    """The ops that a machine would compute on large operands without a helper thread: nothing could end them."""
    for name in NAMES:
        case = large_case(name)
        result: Any = OPS[name].type_rule(*case.types, **dict(case.attributes))
        if not long_ops.may_take_long(name, stretched_operands(case), result):
            yield name


def test_every_op_is_measured() -> None:
    """The cases are those of all ops with large operands."""
    assert set(OPS) - set(NAMES) == WITHOUT_LARGE_OPERANDS
    assert all(any(each.types[0].shape for each in large_cases(OPS[name])) for name in NAMES)


@pytest.mark.full
def test_a_helper_thread_computes_every_op_on_large_operands() -> None:
    """Whatever the op, a machine can abandon it; so it can where only the result is large."""
    assert list(ops_on_the_caller()) == []
    for name in ("broadcast_to", "arange"):
        assert long_ops.may_take_long(name, (1.0,), Type(large_case("sin").types[0].dtype, (10**8,)))


@pytest.mark.full
def test_an_op_that_nothing_can_end_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law fails where an op counts as short, whatever its operands."""
    may_take_long = long_ops.may_take_long
    monkeypatch.setattr(long_ops, "may_take_long", lambda op, *others: op != "sort" and may_take_long(op, *others))
    assert list(ops_on_the_caller()) == ["sort"]


@pytest.mark.heavy
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", NAMES)
def test_a_run_ends_on_time(name: str) -> None:
    """S12: on every engine a run ends at most 0.2 s after its limit on seconds, counted from its first step, while an
    op computes. The shortest of three counts, since other processes delay what they share a core with."""
    late = measure_again(name, ENGINES)
    assert not any(map(is_late, late.values())), late


@pytest.mark.full
@pytest.mark.timeout(300)
def test_a_cell_that_hangs_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that takes long, or a process that dies, costs its own cell only."""
    cells = list(measure_apart("sin", ["nothing", "reference"]))
    assert cells[0] == "failed" and not isinstance(cells[1], str)
    monkeypatch.setattr(lateness, "CELL_SECONDS", 0.01)
    assert list(measure_apart("sin", ["reference", "fast"])) == ["over 0.01 s"] * 2


def test_the_summary_has_what_misses_the_goal() -> None:
    """It names the latest run of each engine, those above 0.2 s, and those that were not measured."""
    table = {"sin": {"fast": Late(0.5, 0.1)}, "cos": {"fast": Late(0.31, 0.3)}, "qr_q": {"fast": "over 60 s"}}
    *_, row = summary({**table, "sum": {"fast": None}})
    assert row == "| `fast` | 4 | 1 | 0.30, `cos` | 0.50, `sin` | `cos` 0.30, `qr_q` over 60 s |"
    *_, row = summary({"sin": {"fast": Late(0.5, LATE_SECONDS)}})
    assert row.endswith("| none |")


def cases_of_each_kind(op: str) -> list[LargeCase]:
    """A large case of an op for each kind of dtype that its first operand may have."""
    kinds: dict[str, LargeCase] = {}
    for case in (large_case(op), *large_cases(OPS[op])):
        kinds.setdefault(case.types[0].dtype.kind, case)
    return list(kinds.values())


def lock_seconds(case: LargeCase) -> float:
    """How long the NumPy column of an op, on these large operands, keeps all other threads from running."""
    row, attributes, operands = OPS[case.op], case.attributes, case.operands()
    kernel = build_kernel(row, case.types, row.type_rule(*case.types, **dict(attributes)), attributes)
    return seconds_without_other_threads(lambda: kernel(*operands))


@pytest.mark.heavy
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", NAMES)
def test_an_op_lets_other_threads_run(name: str) -> None:
    """No op keeps Python's lock for long, whatever its dtypes: while it is kept, nothing sees a limit or Ctrl-C."""
    for case in cases_of_each_kind(name):
        assert min(lock_seconds(case) for _ in range(2)) <= LOCK_SECONDS, case


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "shape", "attributes"),
    [
        ("det", (400, 300, 300), ()),
        ("slogdet_sign", (400, 300, 300), ()),
        ("qr_q", (200_000, 50), (("mode", "reduced"),)),
        ("qr_q", (3000, 400), (("mode", "complete"),)),
        ("qr_r", (5, 2000, 90), (("mode", "complete"),)),
        ("svdvals", (400, 300, 300), ()),
    ],
)
def test_factorizations_of_other_shapes_let_other_threads_run(
    name: str, shape: tuple[int, ...], attributes: tuple[tuple[str, object], ...]
) -> None:
    """Stacks and tall matrices, whose results are small, do not keep the lock either."""
    case = LargeCase(name, (Type(float64, shape),), attributes)
    assert min(lock_seconds(case) for _ in range(2)) <= LOCK_SECONDS


@pytest.mark.full
def test_an_op_that_keeps_the_lock_is_found() -> None:
    """The law can fail: the elements of a list become an array while no other thread runs."""
    numbers = [1] * 10**7
    assert seconds_without_other_threads(lambda: np.array(numbers)) > LOCK_SECONDS
    assert seconds_without_other_threads(lambda: np.arange(10**7)) <= LOCK_SECONDS


def test_large_products_let_other_threads_run() -> None:
    """`dot` sets a product to zero while it keeps the lock: it computes small ones only."""
    for side, function in ((100, np.ndarray.dot), (2000, np.matmul), (None, np.matmul), (1, np.matmul)):
        matrix = Type(float64, (side, side))
        assert matmul_kernel(matrix, matrix) is function
