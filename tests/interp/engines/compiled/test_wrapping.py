"""Integers wrap on overflow, also if a compiler could decide a comparison by assuming that they do not."""

from __future__ import annotations

import pytest
import tagloom as tl
from tagloom.interp.engines.compiled import run
from tagloom.interp.engines.jit import kernels

HIGHEST = 2**63 - 1
NUMBERS = [0, 1, 3, 255, 2**32, 3037000500, HIGHEST - 1, HIGHEST, -1, -3, -(2**62) - 1, -HIGHEST - 1]


@tl.function
def signs(x: tl.int64):
    """Comparisons whose results follow from the signs of operands, except for overflow."""
    low, high = x & 255, x | 2**62
    return (
        x + 1 > x,
        x - 1 < x,
        x * x >= 0,
        x**2 >= 0,
        x * 3 > x,
        -HIGHEST - 1 - low < 0,
        low - (-HIGHEST - 1) > 0,
        (low + HIGHEST) >= low,
        (x & HIGHEST) + (low | 1) > 0,
        (x & HIGHEST) * (low | 1) >= 0,
        (high & HIGHEST) * 4 // 4 == (high & HIGHEST),
        -low <= 0,
        -(x | -HIGHEST - 1) > 0,
        abs(x) >= 0,
        x // -1 <= -low,
        tl.sum(tl.stack([x & HIGHEST, low])) >= 0,
    )


def differences() -> list[tuple[int, str]]:
    """Where an engine differs from the reference."""
    meant = {x: signs.run(x, engine="reference").value for x in NUMBERS}
    return [
        (x, engine) for x in NUMBERS for engine in ("fast", "compiled") if signs.run(x, engine=engine).value != meant[x]
    ]


@pytest.mark.full
def test_signs_after_overflow() -> None:
    """Engines agree with the reference on all these comparisons."""
    assert differences() == []


@pytest.mark.full
def test_operators_that_do_not_overflow_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that uses numba's own operators, which assume that there is no overflow, is caught."""
    monkeypatch.setattr(run, "_compiled_programs", type(run._compiled_programs)())
    monkeypatch.setattr(kernels, "_WRAPPING_FORMATS", {})
    assert differences()
