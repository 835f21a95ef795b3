"""The choice of an engine: by name, by the environment, and by `auto`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tagloom as tl
from pytest import MonkeyPatch
from tagloom.core.value import is_same_value
from tagloom.interp.engines import auto, registry

WARM = 300


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def printing_loop(n: tl.int64) -> tl.int64:
    """Prints in every trip, and calls Python."""
    return tl.while_loop(lambda i: i < n, lambda i: (tl.print(i), i + 1)[1], 0)[0]


@tl.function
def trapping(n: tl.int64) -> tl.int64:
    return tl.cond(n < 1, lambda: n, lambda: 7 // (n - n) + trapping(n - 1))


@tl.function
def random_sum(n: tl.int64) -> tl.float64:
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + tl.uniform()), 0, 0.0)[1]


@pytest.fixture
def warm(monkeypatch: MonkeyPatch) -> None:
    """Runs are handed over soon."""
    monkeypatch.setattr(auto, "WARMUP_FIRINGS", WARM)


def described(out: Any) -> Any:
    traps = list(map(str, out.traps))
    return out.status, out.results, traps, str(out.error), out.stats, out.open_activations, tuple(out.residue)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("schedule", ["waves", "fifo", "lifo", "random:3"])
@pytest.mark.parametrize(
    ("function", "argument", "options"),
    [
        (fib, 12, {}),
        (fib, 12, {"until": "result"}),
        (trapping, 60, {}),
        (trapping, 60, {"until": "trap"}),
        (random_sum, 50, {"seed": 7}),
        (random_sum, 50, {"k": 2}),
        (fib, 12, {"limits": tl.Limits(firings=1000)}),
        (fib, 12, {"limits": tl.Limits(depth=8)}),
    ],
)
@pytest.mark.usefixtures("warm")
def test_auto_ends_as_the_reference(function: Any, argument: int, options: dict[str, Any], schedule: str) -> None:
    """A run that moves from the reference to another engine ends as if it had not, statistics included."""
    got = function.run(argument, schedule=schedule, **options)
    expected = function.run(argument, schedule=schedule, engine="reference", **options)
    assert described(got) == described(expected)
    assert got.engine == ("reference" if expected.firings < WARM else "fast")


@pytest.mark.usefixtures("warm")
def test_auto_repeats_no_effect() -> None:
    """A run that is handed over repeats no effect, and omits none."""
    lines: list[str] = []
    out = printing_loop.run(200, world=tl.World(lines.append), measures=False)
    assert (out.engine, lines) == ("fast", [str(number) for number in range(200)])


@tl.function
def wide(n: tl.int64) -> tl.int64:
    """A loop with a print of more operands than an image supports."""
    return tl.while_loop(lambda i: i < n, lambda i: (tl.print(*[i + each for each in range(70)]), i + 1)[1], 0)[0]


@pytest.mark.full
@pytest.mark.usefixtures("warm")
def test_auto_stays_where_there_is_no_image() -> None:
    """A program that has no image stays on the reference, and loses nothing."""
    lines: list[str] = []
    with pytest.raises(tl.Usage, match="too large"):
        wide.run(1, engine="fast")
    out = wide.run(20, world=tl.World(lines.append))
    assert (out.engine, out.status, len(lines)) == ("reference", "Returned", 20) and out.firings > WARM


@pytest.mark.full
@pytest.mark.usefixtures("warm")
def test_auto_stays_on_the_reference() -> None:
    """Short runs, and those with options that only the reference supports, stay on it."""
    assert fib.run(3).engine == "reference"
    assert fib.run(12, schedule=tl.Script([0, 0])).engine == "reference"


@pytest.mark.full
@pytest.mark.usefixtures("warm")
def test_calls_for_a_value_may_skip_statistics() -> None:
    """A long call for its value alone may skip statistics; limits still hold."""
    assert fib.run(14, measures=False).engine == "compiled"
    assert fib(14) == 610
    assert fib.run(14, measures=False, limits=tl.Limits(firings=2000)).status == "Exhausted"


def test_an_engine_is_chosen_by_name(monkeypatch: MonkeyPatch) -> None:
    """An argument names the engine, or else the environment; unknown names are refused with a list of the known
    ones."""
    assert [fib.run(5, engine=name).engine for name in ("reference", "fast", "compiled")] == [
        "reference",
        "fast",
        "compiled",
    ]
    monkeypatch.setenv(registry.ENGINE_VARIABLE, "fast")
    assert (fib.run(5).engine, fib.run(5, engine="reference").engine) == ("fast", "reference")
    monkeypatch.setenv(registry.ENGINE_VARIABLE, "slow")
    with pytest.raises(tl.Usage, match=r"'slow' \(set by TAGLOOM_ENGINE\)"):
        fib.run(5)


@pytest.mark.parametrize(
    ("name", "options", "why"),
    [
        ("compiled", {"keep": "events"}, "it has no events"),
        ("fast", {"schedule": tl.Script([0])}, "fifo, lifo, waves and random:SEED"),
        ("compiled", {"schedule": "lifo"}, "it has no tokens"),
        ("compiled", {"k": 2}, "does not support k-bounds"),
    ],
)
def test_refusals(name: str, options: dict[str, Any], why: str) -> None:
    """An engine refuses an unsupported request before the run starts."""
    with pytest.raises(tl.Usage, match=why) as raised:
        fib.run(5, engine=name, **options)
    other = str(raised.value).partition('hint: engine="')[2].partition('"')[0]
    assert fib.run(5, engine=other, **options).value == fib(5)
    assert other == "auto"


@pytest.mark.parametrize("option", [{"seed": -1}, {"seed": 2**64}, {"seed": 1.5}, {"until": "x"}, {"schedule": "LIFO"}])
def test_unknown_options_are_refused_by_all_engines(option: dict[str, Any]) -> None:
    """All engines refuse an unknown option alike, and none suggests another engine for it."""
    reply = set()
    for name in ("auto", "reference", "fast", "compiled"):
        with pytest.raises(tl.Usage) as caught:
            fib.run(1, engine=name, **option)
        reply.add(str(caught.value))
    assert len(reply) == 1


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("name", ["fast", "compiled"])
def test_a_signalling_nan_becomes_a_quiet_one(name: str) -> None:
    """A signalling NaN may become a quiet one when a float32 is converted; both are one value, on every engine."""

    @tl.function
    def kept(x: tl.float32) -> tl.float32:
        return tl.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x), 0, x)[1]

    signalling, quiet = np.array([0x7FA00001, 0x7FE00001], np.uint32).view(np.float32)
    got, expected = kept.run(signalling, engine=name).value, kept.run(signalling, engine="reference").value
    assert type(got) is np.float32 and np.array(got).view(np.uint32) == np.array(quiet).view(np.uint32)
    assert is_same_value(got, expected)
