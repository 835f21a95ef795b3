"""What `jax.jit` compiles becomes cases, which run on both systems."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from tagloom.interp.exchange.stablehlo import jax_cases  # noqa: E402

SUITE = """
import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.jit, static_argnames="count")
def power(x, count):
    return jax.lax.fori_loop(0, count, lambda k, y: y * x, jnp.ones_like(x))


def test_power():
    assert power(jnp.float32(2), count=3) == 8


def test_spectrum():
    assert jax.jit(jnp.fft.fft)(jnp.ones(4)).shape == (4,)
"""
PLUGIN = """
import jax
import tagloom as tl

cases = tl.trace_all(jax).start()


def pytest_terminal_summary(terminalreporter):
    cases.stop()
    terminalreporter.write_line(str(cases))
"""


def wrong_sine(x: Any) -> Any:
    return jnp.sin(x)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:Some donated buffers")
def test_calls_become_cases() -> None:
    """There is a case for each choice of shapes, dtypes and static arguments; nested calls are part of the outer one,
    and results are those of JAX. Outside of the statement, `jax.jit` is that of JAX."""
    own = jax.jit
    with tl.trace_all(jax) as cases:
        inner = jax.jit(lambda x: x * 2)

        @functools.partial(jax.jit, static_argnums=1, donate_argnums=0)
        def layer(parameters: Any, is_last: bool, *, scale: Any) -> Any:
            y = inner(parameters["w"] @ parameters["x"])
            return {"y": y if is_last else jnp.tanh(y), "scale": scale}

        arguments = {"w": np.ones((2, 3), np.float32), "x": np.arange(3, dtype=np.float32)}
        for is_last in (True, False, True):
            result = layer(jax.tree_util.tree_map(jnp.asarray, arguments), is_last, scale=0.5)
            assert abs(result["y"][0] - (6 if is_last else np.tanh(6))) < 1e-5
        assert jax.grad(jax.jit(lambda x: x**2))(3.0) == 6
        assert jax.vmap(inner)(jnp.arange(3)).tolist() == [0, 2, 4]
        assert layer.lower(arguments, True, scale=1.0).as_text()
    assert jax.jit is own
    assert [(case.name, case.verdict) for case in cases] == [("layer", "alike")] * 2, str(cases)
    parameters = cases[0].function.program.main.body.parameters
    assert [variable.name for variable in parameters] == ["parameters_w", "parameters_x", "scale"]
    assert str(cases) == "cases of jax.jit: 2 alike"
    layer(arguments, True, scale=np.float16(1))
    assert len(cases) == 2


@pytest.mark.full
def test_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that tagloom lacks is refused, one without end in sight unfinished, and one whose results differ is
    told with both. The calls return what JAX computes."""
    with tl.trace_all(jax, limits=tl.Limits(firings=1_000)) as cases:
        jax.jit(jnp.fft.fft)(jnp.ones(4))
        jax.jit(lambda n: lax.while_loop(lambda k: k < n, lambda k: k + 1, 0))(10_000)
        original = jax_cases.import_function
        monkeypatch.setattr(jax_cases, "import_function", lambda _, leaves: original(jnp.cos, leaves))
        assert jax.jit(wrong_sine)(jnp.float32(0)) == 0
    assert [case.verdict for case in cases] == ["refused", "unfinished", "differs"]
    assert "differs: wrong_sine: result 0 is 1.0, and 0.0 in JAX" in str(cases)
    assert str(cases).endswith("cases of jax.jit: 1 differs, 1 refused, 1 unfinished")


def test_other_modules() -> None:
    """Only JAX is recorded, and only once at a time."""
    with pytest.raises(tl.Usage, match="only functions of JAX"):
        tl.trace_all(np)
    with tl.trace_all(jax) as cases, pytest.raises(tl.Usage, match="being recorded"):
        cases.start()


@pytest.mark.heavy
def test_a_test_suite(tmp_path: Path) -> None:
    """A conftest records what another project's tests compile."""
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "conftest.py").write_text(PLUGIN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert "2 passed" in ran.stdout, ran.stdout + ran.stderr
    assert "refused: fft: " in ran.stdout and "cases of jax.jit: 1 alike, 1 refused" in ran.stdout
