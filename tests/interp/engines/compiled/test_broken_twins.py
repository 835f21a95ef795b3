"""Broken twins of the compiled engine: the agreement tests catch each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
import tagloom as tl
from support.laws.compiled_laws import differences
from support.programs.compiled_programs import (
    apart,
    collected,
    count,
    drawn,
    exchanged,
    failing,
    late,
    logistic,
    looped,
    nested,
    prefix,
    ragged,
    rows,
    spread,
    strips,
    told,
    twice,
    vectors,
)
from support.twins.compiled_twins import broken
from tagloom.interp.engines.compiled import run as engine
from tagloom.interp.engines.jit.state import OPERANDS
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import admit_arguments

TWINS: dict[str, tuple[str, str, tl.Function, list[Any]]] = {
    "operands change places": (r"k\.wrapping_sub\((\w+), (\w+)\)", r"k.wrapping_sub(\2, \1)", looped, [3]),
    "one iteration too many": (r"while (\w+) < (\w+):", r"while \1 <= \2:", strips, [5, 11]),
    "strips have one too many": (r"(n\d+ \+ int64\(min\(.*\)) \+ 1", r"\1 + 2", strips, [9000, 1]),
    "narrow integers do not wrap": (r"int64\(int8\((.*)\)\)$", r"int64(\1)", spread, [11, -5, 2.5]),
    "float32 is not rounded": (r"float64\(float32\((.*)\)\)$", r"float64(\1)", logistic, [0.3]),
    "the wrong one of two functions": (r"which == 0", "which == 2", spread, [11, -5, 2.5]),
    "no trap": (r"if \(\w+ == 0\):", "if False:", looped, [3]),
    "a trap elsewhere": (r"m\.abort_run\(s, 1, \d+\)", "m.abort_run(s, 1, 0)", looped, [3]),
    "other operands of a trap": (rf"(m\.write\(s, {OPERANDS},) .*\)", r"\1 7)", looped, [3]),
    "iterations are miscounted": (r"(n\d+) \+= 1", r"\1 += 2", looped, [12]),
    "a call that is not noted": (r"m\.record_tag_step\(s, \d+, 0\)", "pass", looped, [12]),
    "calls go on after a trap": (r"if m\.read_i\(s, 0\) != 0:", "if False:", looped, [12]),
    "all draws of a loop are one": (r"uint64\((n\d+)\)", "uint64(0)", drawn, [9]),
    "a draw forgets the call": (r"d\.child_key\((\w+), .*?, uint64\(0\)\)", r"\1", drawn, [9]),
    "calls cost no depth": (r"left - \d", "left - 0", count, [100]),
    "loops cost no depth": (r"left - \d", "left - 1", nested, [100]),
    "an index that stays": (r"\[i(\d+)\] = ", r"[0] = ", vectors, [[1.0, 2.0], 3.0]),
    "sizes that fit are refused": (r"if (\S+) != 2 and .*:", "if True:", vectors, [[1.0], 3.0]),
    "a put that nobody notes": (r"(v\d+)\[(v\d+)\] = True", "pass", prefix, [6]),
    "cells that begin full": (r"e\.zeros\((.*), np\.bool_\)", r"np.ones(\1, np.bool_)", prefix, [6]),
    "an empty get has what lies there": (r"if not (v\d+)\[(v\d+)\]:", "if False:", late, [5]),
    "a collect does not wait": (r"if not e\.are_all_true\(v\d+\):", "if False:", collected, [3]),
    "a second put is not seen": (r"if (v\d+)\[(v\d+)\]:", "if False:", twice, [2]),
    "the last cell is none": (r"if (v\d+) >= (uint64\(v\d+\.size\)):", r"if \1 + uint64(1) >= \2:", prefix, [6]),
    "two handles are one": (r"(= v\d+, )(\(v\d+, v\d+\)), .*", r"\1\2, \2", exchanged, [4]),
    "a handle has another's bits": (r"(= v\d+, \(v\d+, (v\d+)\), \(v\d+, )v\d+\)", r"\1\2)", exchanged, [4]),
    "all arrays in cells are the first": (r"m\.dereference\((v\d+), [^,]+,", r"m.dereference(\1, 0,", ragged, [4, 0]),
    "a part of an array in a cell": (r"range\((v\d+)\.size\)", r"range(\1.size - 1)", rows, [5]),
    "small arrays lie in one place": (r"(e\.array_in_block\(v\d+), \d+", r"\1, 0", apart, [[1.0, 2.0, 3.0, 4.0, 5.0]]),
    "buffers lie in one place": (r"(w\.data_address\(v\d+\) \+) \d+ \*", r"\1 0 *", apart, [[1.0, 2.0, 3.0, 4.0, 5.0]]),
    "an effect done twice": (r"(\w+ = m\.call_host\(s, 0\))", r"\1; \1", told, [5]),
    "an effect left out": (r"(\w+) = m\.call_host\(s, \d+\)", r"\1 = 0", told, [5]),
    "effects of another node": (r"m\.call_host\(s, \d+\)", "m.call_host(s, 0)", told, [5]),
    "a callback's result is lost": (rf"= m\.read_i\(s, {OPERANDS}\)", "= 0", told, [5]),
    "a callback that failed is none": (r"if (\w+) == 1:", "if False:", failing, [5]),
}


def differences_of(function: tl.Function, arguments: list[Any]) -> Iterator[str]:
    """Where the engine differs from the reference, limits included."""
    program, graph = function.program, function.graph
    admitted = admit_arguments(graph, arguments)
    yield from differences(program, graph, admitted, seed=5)
    if function in (count, nested):
        limits = Limits(depth=50 if function is count else 150)
        one, other = (
            function.run(*arguments, limits=limits),
            engine.run_compiled(program, graph, admitted, limits=limits),
        )
        if one.status != other.status:
            yield f"with a limit on depth the reference {one.status}, compiled {other.status}"


QUICK = (
    *("operands change places", "one iteration too many", "narrow integers do not wrap", "no trap"),
    *("calls cost no depth", "a put that nobody notes", "cells that begin full", "an empty get has what lies there"),
    *("a second put is not seen", "two handles are one", "an effect done twice", "small arrays lie in one place"),
)
"""What is caught each time; the others take a second or two each to compile."""


@pytest.mark.full
@pytest.mark.parametrize(
    "twin", [twin if twin in QUICK else pytest.param(twin, marks=pytest.mark.heavy) for twin in TWINS]
)
def test_twin_is_caught(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every twin differs from the reference on a small program on which the true engine agrees."""
    pattern, instead, function, arguments = TWINS[twin]
    broken(monkeypatch, pattern, instead)
    try:
        assert list(differences_of(function, arguments))
    except (OverflowError, tl.Crash):
        assert twin in ("narrow integers do not wrap", "sizes that fit are refused")


def caught_by(twins: Iterable[str]) -> dict[tl.Function, None]:
    """The functions that catch these twins, each once, in order."""
    return dict.fromkeys(TWINS[twin][2] for twin in twins)


@pytest.mark.full
@pytest.mark.parametrize(
    "function",
    [
        pytest.param(function, marks=[pytest.mark.heavy] * (function not in caught_by(QUICK)), id=function.name)
        for function in caught_by(TWINS)
    ],
)
def test_engine_is_right(function: tl.Function) -> None:
    """The true engine agrees on every program that catches a twin."""
    for _, _, other, arguments in TWINS.values():
        if other is function:
            assert not list(differences_of(function, arguments))
