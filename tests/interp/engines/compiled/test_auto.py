"""The engine `auto` on programs that are already compiled."""

from __future__ import annotations

from typing import Any

import pytest
from support.programs.compiled_programs import count, even, spread
from tagloom.interp.engines import auto, reference
from tagloom.interp.engines.compiled import engine, run, thread
from tagloom.interp.engines.fast.engine import FastEngine


def raise_if_called(*arguments: Any, **options: Any) -> Any:
    raise AssertionError("the reference is not needed")


@pytest.mark.full
def test_a_compiled_program_does_not_begin_on_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call of a program whose machine code is loaded does not begin on the reference; a run that asks for more than a
    value does."""
    count.run(3, engine="compiled")
    assert count.run(3).engine == "reference"
    monkeypatch.setattr(auto, "first_state", raise_if_called)
    assert count(5) == 5


@pytest.mark.full
def test_recently_run_programs_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs that ran last stay in memory, not those that were compiled last."""
    monkeypatch.setattr(run, "_MAX_PROGRAMS", 2)
    monkeypatch.setattr(run, "_compiled_programs", type(run._compiled_programs)())
    for function in (count, even, count, spread):
        run.compile_program(function.program)
    assert [run.is_compiled(function.program) for function in (count, even, spread)] == [True, False, True]


@pytest.mark.full
def test_a_run_leaves_a_short_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose stack ends before its limit on depth moves to an engine that keeps calls on the heap."""
    monkeypatch.setattr(thread, "RESERVED_STACK_BYTES", thread.STACK_BYTES - 2**19)
    monkeypatch.setattr(run, "CALLER_STACK_BYTES", 2**18)
    deep = 25_000
    assert engine.ran_out_of_stack(count.run(deep, engine="compiled"))
    run_on_reference = reference.ENGINE.run  # keeps calls in memory too, and needs no compiler
    monkeypatch.setattr(FastEngine, "run", lambda self, *given: run_on_reference(*given))
    assert count(deep) == deep
