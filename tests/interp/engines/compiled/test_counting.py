"""Loops that count near the ends of their type: a counter that wraps continues as on the reference, and can be
interrupted."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
import tagloom as tl
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.generators.generator import Case
from support.laws.compiled_laws import differences
from support.programs.compiled_child import in_a_process
from tagloom.core import dtypes
from tagloom.core.graph.lower import lower
from tagloom.core.types import Type
from tagloom.core.value import admit
from tagloom.interp.engines.compiled import codegen

LOOP = """
func main(x: {type}, bound: {type}) -> {type}, int64 {{
  i, n, fuel, found = while_loop {begin}, bound, {fuel}, 0 {{
    while(i: {type}, n: {type}, fuel: int64, found: int64) {{
      more = {compare} i, {end}
      yield more
    }}
    do(i: {type}, n: {type}, fuel: int64, found: int64) {{
      next = {op} {operands}
      left = subtract fuel, 1
      unit = floor_divide 1, fuel
      here = astype i, dtype=int64
      hash = multiply found, 31
      both = add hash, here
      all = add both, unit
      yield next, n, left, all
    }}
  }}
  return i, found
}}
"""
"""Counts for as long as it has fuel, and then traps, as one that wraps mostly will."""
COUNTED = {"type": "int64", "compare": "less", "op": "add", "fuel": 12}
"""Such loops are written by strips."""
HIGHEST = 2**63 - 1


@st.composite
def near_ends(draw: Any) -> Case:
    """Loops that count up or down near an end of their type, to a literal or an argument."""

    def pick(*choices: Any) -> Any:
        return draw(st.sampled_from(choices))

    reply = dict(COUNTED)
    if draw(st.booleans()):
        reply["type"] = pick("int64", "int32", "uint64", "int8")
        reply["compare"] = pick("less", "less_equal", "greater", "greater_equal", "not_equal")
        reply["op"] = pick("add", "subtract")
    type_ = reply["type"]
    low, high = getattr(dtypes, str(type_)).range
    step, end = pick(2, 1, 3, 7, 100, 5 if type_ == "int8" else 2**20), pick(high, high, low)
    begin, bound = (min(max(end + pick(0, 1, -1, 2, -3, 4 * step, -9 * step), low), high) for _ in range(2))

    def literal(number: int) -> str:
        return f"{number}" if type_ == "int64" else f"{type_}({number})"

    by = literal(step)
    operands = pick(f"i, {by}", f"{by}, i") if reply["op"] == "add" else f"i, {by}"
    begins, ends = pick("x", literal(begin)), pick("n", literal(bound))
    text = LOOP.format(**reply, begin=begins, end=ends, operands=operands)
    return Case(tl.parse_program(text), [admit(each, Type(getattr(dtypes, str(type_)))) for each in (begin, bound)])


def check(case: Case) -> None:
    """Fails if the engine differs; a strip has four iterations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codegen, "STRIP_ITERATIONS", 4)
        assert not differences(case.program, lower(case.program), case.arguments)


@settings(max_examples=3, phases=[Phase.generate])
@given(near_ends())
def test_counters_near_the_ends_of_their_type(case: Case) -> None:
    """Counting loops near an end of their type have the same results, or the same trap in the same iteration."""
    check(case)


@pytest.mark.heavy
@settings(max_examples=12)
@given(near_ends())
def test_many_counters_near_the_ends_of_their_type(case: Case) -> None:
    """Many more counting loops near an end of their type agree."""
    check(case)


ENDED = f"""
from tagloom.interp.engines.compiled import run as engine
wrapping = lambda i, n: tl.while_loop(lambda i, n: i < n, lambda i, n: (i + 2, n), i, n)[0]
given, written = tl.function(wrapping), tl.function(lambda: wrapping({HIGHEST - 1}, {HIGHEST}))
def press():
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGINT)
def ended(function, *arguments, **limits):
    if not limits:
        threading.Thread(target=press).start()
    print(function.run(*arguments, engine="compiled", limits=Limits(**limits)).error.limit, flush=True)
engine.QUICK_SECONDS = 60.0
given.run(0, 5, engine="compiled")
ended(given, {HIGHEST - 1}, {HIGHEST})
ended(given, {HIGHEST - 1}, {HIGHEST}, seconds=0.1)
ended(written, seconds=0.1)
ended(written)
"""


@pytest.mark.full
def test_a_loop_that_wraps_can_be_ended() -> None:
    """A loop whose counter wraps is ended by seconds and Ctrl-C, also after a quick run, and with literal bounds."""
    assert in_a_process(ENDED) == ["interrupt", "seconds", "seconds", "interrupt"]


ON_AND_ON = """
right = engine.codegen.emit_module
def emit_module(program):
    import re
    module = right(program)
    module.lines = [re.sub(r"while (n\\d+) < v\\d+:", r"while \\1 >= 0:", line) for line in module.lines]
    return module
engine.codegen.emit_module = emit_module
"""


@pytest.mark.heavy
def test_a_strip_without_end_is_caught() -> None:
    """A twin whose strips never check for interruption is caught; without it, the runs end in a quarter of the time."""
    code = ENDED.replace("engine.QUICK_SECONDS", f"{ON_AND_ON}\nengine.QUICK_SECONDS")
    with pytest.raises(subprocess.TimeoutExpired):
        in_a_process(code.replace("given.run(0, 5", "given.run(5, 5"), seconds=60.0)
