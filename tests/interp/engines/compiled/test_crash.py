"""Code that does not compile is a Crash with its program; `auto` continues on another engine."""

from __future__ import annotations

from typing import Any

import pytest
import tagloom as tl
from tagloom.interp.engines import auto, reference
from tagloom.interp.engines.compiled import run
from tagloom.interp.engines.fast.engine import FastEngine


@tl.function
def triangle(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i, total: i <= n, lambda i, total: (i + 1, total + i), 0, 0)[1]


@pytest.fixture(params=["text that does not parse", "a name that does not exist"])
def attempts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A broken code generator; the list grows with each attempt to compile."""
    emit_module, result = run.codegen.emit_module, list[int]()

    def broken(*arguments: Any, **options: Any) -> Any:
        result.append(1)
        module = emit_module(*arguments, **options)
        module.lines += ["x = (,)" if request.param.startswith("text") else "x = missing"]
        return module

    monkeypatch.setattr(run.codegen, "emit_module", broken)
    monkeypatch.setattr(run, "_compiled_programs", type(run._compiled_programs)())
    return result


@pytest.mark.full
def test_a_crash_has_the_program(attempts: list[int]) -> None:
    """The error names the exception, and its program is attached, as data and as text."""
    with pytest.raises(tl.Crash, match="cannot compile this program") as crashed:
        triangle.run(5, engine="compiled")
    assert crashed.value.program is triangle.program
    assert type(crashed.value.__cause__).__name__ in str(crashed.value.got)
    assert "func triangle(n: int64)" in crashed.value.__notes__[0]


@pytest.mark.inner(first=1)
def test_auto_continues_on_another_engine(attempts: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` warns once, returns the result of another engine, and does not try to compile the program again."""
    monkeypatch.setattr(auto, "WARMUP_FIRINGS", 10)
    monkeypatch.setattr(auto.fast_engine, "can_take_over", lambda state: True)
    run_on_reference = reference.ENGINE.run  # needs no compiler
    monkeypatch.setattr(FastEngine, "run", lambda self, *given: run_on_reference(*given))
    with pytest.warns(RuntimeWarning, match="auto continues on fast: engine compiled cannot compile"):
        assert triangle(20) == 210
    tried = len(attempts)
    monkeypatch.setattr(auto, "WARMUP_FIRINGS", 10**9)
    assert triangle(20) == 210 and len(attempts) == tried
