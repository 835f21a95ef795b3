"""The laws of tapes hold on generated programs, and catch broken tapes."""

from __future__ import annotations

from typing import Any

import pytest
import tagloom as tl
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from support.generators.generator import PALETTES, Case, ProgramWriter, cases, values
from support.generators.smooth_programs import smooth_cases
from support.laws.tape_laws import Way, eagerly, in_trace, is_straight, violations
from tagloom.core.frontend.eager.recording import TAPE_STACK, AnyTapeEntry, DeferredOpEntry, OpTapeEntry
from tagloom.core.frontend.trace.program_builder import ProgramBuilder
from tagloom.core.frontend.trace.pytree import leaf_type
from tagloom.core.frontend.trace.symbol import Symbol
from tagloom.core.value import fingerprint


class Line(ProgramWriter):
    """Generates programs of ops alone."""

    def statement(self, scope: list[Any], depth: int, fuel: Any) -> list[Any]:
        return [self.op(scope) for _ in range(3)]


@st.composite
def lines(draw: Any) -> Case:
    """Programs of float ops without branches, loops or calls."""
    main, types = Line(draw, draw(st.sampled_from(PALETTES)), floats=True).main()
    program, _ = ProgramBuilder(Symbol).build_program(main, tuple(map(leaf_type, types)))
    return Case(program, [draw(values(type_, moderate=True)) for type_ in types])


@pytest.mark.parametrize("order", [1, 2, 3])
@given(data=st.data())
def test_a_tape_of_ops_alone_has_the_same_bits(order: int, data: st.DataObject) -> None:
    """On a program of ops alone, a tape adds in the order of the derivative: the first derivative has the same bits,
    eagerly and in a trace."""
    case = data.draw(lines())
    assert is_straight(case)
    assert violations(case, order) == []
    assert violations(case, order, way=in_trace) == []


def nested(function: Any, x: Any, order: int) -> Any:
    """The derivative of an order, by that many nested tapes."""
    if not order:
        return function(x)
    with tl.Tape() as tape:
        tape.watch(x)
        y = nested(function, x, order - 1)
    return tape.gradient(y, x)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("function", [tl.tanh, tl.atan, tl.sqrt, lambda x: x * x * tl.exp(x)])
def test_nested_tapes_have_the_same_bits(function: Any) -> None:
    """Nested tapes have the bits of nested `tl.grad`, at any order."""
    derivative = tl.function(lambda x: function(x))
    for order in (1, 2, 3):
        derivative = tl.grad(derivative)
        for x in (0.05, 0.3, 0.7, 1.25):
            assert float(nested(function, tl.asarray(x), order)) == derivative(x)


@pytest.mark.parametrize("order", [1, 2])
@given(data=st.data())
def test_a_tape_is_the_derivative(order: int, data: st.DataObject) -> None:
    """A tape of an eager run gives the adjoints of the derivative; nested tapes give those of the second order."""
    assert violations(data.draw(st.one_of(smooth_cases(), cases(floats=True))), order) == []


@pytest.mark.parametrize("order", [1, 2])
@settings(max_examples=25)
@given(data=st.data())
def test_a_tape_in_a_trace_is_the_derivative(order: int, data: st.DataObject) -> None:
    """A tape in a trace, where branches, loops and calls are steps, gives the adjoints of the derivative."""
    assert violations(data.draw(st.one_of(smooth_cases(), cases(floats=True))), order, way=in_trace) == []


@given(data=st.data())
def test_a_tape_on_arrays(data: st.DataObject) -> None:
    """A tape gives the adjoints of the derivative for all array ops."""
    assert violations(data.draw(cases(floats=True, arrays=True)), 1) == []


class OverwritingTape(tl.Tape):
    """The last contribution to an adjoint replaces the others."""

    def _accumulate(self, known: Any, more: Any) -> Any:
        return more


class TraceRecordingTape(tl.Tape):
    """Eager ops are recorded as those of a trace are."""

    def record_eager_op(self, step: DeferredOpEntry) -> None:
        self.record(OpTapeEntry(*step))


class ValueKeyedTape(TraceRecordingTape):
    """Arrays with equal values count as one; in a trace, those of one type."""

    def _identity_key(self, value: Any) -> Any:
        return value._type if isinstance(value, Symbol) else fingerprint(value._tagloom_literal.value)


class UnrecordedReverseTape(tl.Tape):
    """The reverse pass itself is not recorded."""

    def gradient(self, target: Any, sources: Any, adjoints: Any = None) -> Any:
        before = TAPE_STACK.get()
        TAPE_STACK.set(())
        try:
            return super().gradient(target, sources, adjoints)
        finally:
            TAPE_STACK.set(tuple(each for each in before if each is not self))


class ForwardTape(tl.Tape):
    """The reverse pass begins with the first step."""

    def _backpropagate(self, records: Any, *further: Any) -> dict[Any, Any]:
        return super()._backpropagate(records[::-1], *further)


class OneStepTape(TraceRecordingTape):
    """Only the first step that depends on a watched value is recorded."""

    def record(self, step: AnyTapeEntry) -> None:
        known = dict(self._tracked)
        super().record(step)
        self._tracked = known if self._entries else self._tracked


CALM = settings(
    max_examples=2_000,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
TWINS = {OverwritingTape: 1, ValueKeyedTape: 1, UnrecordedReverseTape: 2, ForwardTape: 1, OneStepTape: 1}
"""Broken tapes, and the order of derivatives at which each is caught."""


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("way", [eagerly, in_trace])
@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_broken_tapes_are_caught(twin: type[tl.Tape], way: Way) -> None:
    """Every broken tape differs from the derivative on some program of ops alone."""

    def breaks(case: Case) -> bool:
        return bool(violations(case, TWINS[twin], twin, way))

    find(lines(), breaks, settings=CALM)


class OpsOnlyTape(tl.Tape):
    """Calls are not recorded, nor branches and loops in a trace."""

    def record(self, step: AnyTapeEntry) -> None:
        if isinstance(step, OpTapeEntry):
            super().record(step)


@pytest.mark.full
def test_a_tape_that_records_ops_alone_is_caught() -> None:
    """A tape that records ops alone differs from the derivative on a traced program with calls, branches and loops."""

    def breaks(case: Case) -> bool:
        return not violations(case, 1, way=in_trace) and bool(violations(case, 1, OpsOnlyTape, in_trace))

    find(smooth_cases(), breaks, settings=CALM)
