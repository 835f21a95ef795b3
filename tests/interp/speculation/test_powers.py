"""Powers of floats, on which speculation relies: each engine has Python's bits."""

from __future__ import annotations

import random
from typing import Any

import pytest
import tagloom as tl


@tl.function
def powers(x: float, y: float) -> Any:
    return tl.pow(x, y), tl.pow(x, 2.0), tl.pow(x, 3.0), tl.pow(x, 0.5), tl.pow(x, -1.0), tl.pow(2.0, y)


@pytest.mark.full
@pytest.mark.parametrize("engine", ["reference", "fast", "compiled"])
def test_powers_have_the_bits_of_python(engine: str) -> None:
    """A power by a constant is not computed by products or a square root, whose last bits differ."""
    draw = random.Random(3)
    for _ in range(100 if engine == "reference" else 1000):
        x, y = draw.uniform(0.0, 50.0) * draw.choice((1.0, 1e-6, 1e6)), draw.uniform(-3.0, 3.0)
        results = [float(each) for each in powers.run(x, y, engine=engine).value]
        assert results == [x**y, x**2.0, x**3.0, x**0.5, x**-1.0, 2.0**y]
    assert any(x**2 != x * x for x in (draw.uniform(0.0, 50.0) for _ in range(20_000)))
