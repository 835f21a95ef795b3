"""Outcomes: the five endings as data, their attributes, and the errors that `fn(...)` raises."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.programs.hand_written_graphs import race, stuck, untyped
from tagloom.core.tag import ROOT
from tagloom.interp.outcome.outcome import Outcome
from tagloom.interp.outcome.residue import ResidueToken


@tl.function
def fac(n: tl.int64) -> tl.int64:
    return tl.cond(n < 1, lambda: 1, lambda: n * fac(n - 1))


@tl.function
def half(n: tl.int64) -> tuple[tl.int64, tl.int64]:
    return n // 2, n + 7 // n


@tl.function
def endless(n: tl.int64) -> tl.int64:
    return 1 + endless(n)


@tl.function
def two_adds(n: tl.int64) -> tl.int64:
    return double(n) + n


@tl.function
def double(n: tl.int64) -> tl.int64:
    return n + n


@tl.function
def constant() -> tl.float64:
    return tl.cond(True, lambda: 2.5, lambda: 3.5)


def location_of(function: tl.Function, plus: int) -> str:
    """A line of a function in this file, as errors name it."""
    return f"test_outcome.py:{function.__wrapped__.__code__.co_firstlineno + plus}"


def full_text(error: BaseException | None) -> list[str]:
    """An error as a user reads it, with its notes."""
    return "\n".join([str(error), *getattr(error, "__notes__", [])]).splitlines()


def test_s12_returned() -> None:
    """S12: a run that returned has all its results; nothing is missing, left over or wrong."""
    out = fac.run(5)
    assert (out.status, out.value, out.results, out.missing, out.error) == ("Returned", 120, (120,), (), None)
    assert (out.residue, out.open_activations, out.traps) == ((), 0, ())
    assert (out.engine, out.schedule, out.has_single_result) == ("reference", "waves", True)
    assert fac(5) == 120


def test_s12_trapped() -> None:
    """S12: the run became quiescent after a firing trapped; the other result is there. Calling raises the Trap."""
    out = half.run(0)
    assert (out.status, out.results, out.missing) == ("Trapped", (0, None), (1,))
    assert full_text(out.error) == [
        f"S5: integer division by zero at node half.floor_divide_1 ({location_of(half, 2)}) under main",
        "  got: floor_divide 7, 0",
        "  in half",
    ]
    with pytest.raises(tl.Trap) as called:
        half(0)
    with pytest.raises(tl.Trap) as read:
        _ = out.value
    assert full_text(called.value) == full_text(read.value) == full_text(out.error)


def test_s12_trapped_with_all_results() -> None:
    """S12: a run is Trapped even if no result depends on the firing that trapped. Its value can be read; calling
    raises."""

    @tl.function
    def careless(n: tl.int64) -> tl.int64:
        tl.floor_divide(1, n)
        return n

    out = careless.run(0)
    assert (out.status, out.value, out.missing) == ("Trapped", 0, ())
    with pytest.raises(tl.Trap):
        careless(0)


def test_s12_exhausted(monkeypatch: pytest.MonkeyPatch) -> None:
    """S12: a limit ended the run, and the waiting tokens are its residue. Calling raises Exhausted."""
    out = endless.run(1, limits=tl.Limits(depth=3))
    assert (out.status, out.results, out.missing, len(out.residue)) == ("Exhausted", (None,), (0,), 0)
    assert full_text(out.error) == [
        "S12: the run exceeds the limit of 3 on nested calls and loops",
        "  hint: if the program ends, raise the limit: --max-depth N, or limits=tl.Limits(depth=N)",
    ]
    assert out.open_activations == 4
    monkeypatch.setattr("tagloom.interp.engines.limits.default_limits", lambda: tl.Limits(firings=10))
    monkeypatch.setenv("TAGLOOM_ENGINE", "reference")
    with pytest.raises(tl.Exhausted, match="limit of 10 on firings"):
        endless(1)


def test_s12_deadlocked() -> None:
    """S12: an invalid graph became quiescent without its result; the error names the waiting tokens and what should
    have fed the result."""
    out = tl.run_graph(stuck(), [2], unchecked=True)
    assert (out.status, out.results, out.missing, out.open_activations) == ("Deadlocked", (None,), (0,), 1)
    (node,) = out.graph.find("sum")
    assert out.residue == (ResidueToken(node, 0, ROOT, 2),)
    assert isinstance(out.error, tl.Deadlock)
    assert full_text(out.error) == [
        "S12: the run became quiescent, and results are missing (stuck)",
        "  required: 1 result",
        "  got: 0, and 1 waiting token",
        "  hint: in `tagloom debug`, `why-not stuck.sum main` says where its token is",
        "  stuck.sum waits for port 1 under main, fed by stuck.switch",
    ]
    with pytest.raises(tl.Deadlock):
        _ = out.value


def test_s12_deadlocked_with_nothing_waiting() -> None:
    """S12: if nothing feeds a result, no token waits, and the error says so."""
    builder = tl.GraphBuilder("lost")
    x = builder.argument("x", tl.Type(tl.int64))
    builder.node("negative", "y", [x], [x_type := tl.Type(tl.int64)])
    (nobody,) = builder.node("negative", "z", [None], [x_type])
    out = tl.run_graph(builder.build([nobody]), [2], unchecked=True)
    assert (out.status, out.residue) == ("Deadlocked", ())
    assert "hint: no token waits: one was never sent" in str(out.error)


@pytest.mark.parametrize(
    ("graph", "arguments", "message"),
    [
        (race("merge", 1), [3, 4], ["one firing under a tag; it has fired already", "4 on port 0"]),
        (race("add", 2), [3, 4, 5], ["one token on port 0, which holds 3", "4 on port 0"]),
    ],
    ids=["merge", "add"],
)
def test_s12_broken(graph: Any, arguments: list[int], message: list[str]) -> None:
    """S12: an invalid graph broke S4; the error names rule, node, tag and both tokens, and the events are kept."""
    out = tl.run_graph(graph, arguments, unchecked=True)
    assert (out.status, out.results, out.missing) == ("Broken", (None,), (0,))
    assert isinstance(out.error, tl.Broken)
    assert (out.error.rule, out.error.tag) == ("S4", ROOT)
    text = "\n".join(full_text(out.error))
    assert text.startswith("S4: node race.node got a second token")
    assert all(part in text for part in (*message, "a merge is missing before it"))
    assert re.search(r"\b3\b", text), "the first token's value"
    assert out.events
    with pytest.raises(tl.Broken):
        _ = out.value


def test_s12_broken_by_a_value() -> None:
    """S12: an op that cannot compute on its operands breaks the run of an unchecked graph, without a crash."""
    out = tl.run_graph(untyped(), [[1, 2]], unchecked=True)
    assert (out.status, out.missing) == ("Broken", (0,))
    assert isinstance(out.error, tl.Broken) and out.error.rule == "V9"


@pytest.mark.parametrize("graph", [race("merge", 1), stuck(), untyped()], ids=lambda graph: graph.name)
def test_a_graph_that_breaks_the_rules_is_refused(graph: Any) -> None:
    """By default, an invalid graph does not run: its first problem is raised, with the others as notes."""
    with pytest.raises(tl.Invalid, match=r"^V\d+: "):
        tl.run_graph(graph, [3] * len(graph.arguments))


def test_value_is_what_the_function_returns() -> None:
    """`value` is what the Python function returns: a value, or a tuple, also of one."""

    @tl.function
    def alone(n: tl.int64) -> tuple[tl.int64]:
        return (n,)

    assert (half.run(4).value, alone.run(4).value, constant.run().value) == ((2, 5), (4,), 2.5)
    assert type(fac.run(3).value) is int


def test_values_of_a_node_by_tag() -> None:
    """`values` maps tags to a node's first outputs, where it sent any; a node that never fired has none."""
    out = fac.run(3, keep="events")
    assert {str(tag): value for tag, value in out.values("multiply").items()} == {
        "main": 6,
        "main/fac": 2,
        "main/fac/fac": 1,
    }
    assert fac.run(0, keep="events").values("multiply") == {}
    assert half.run(0, keep="events").values("floor_divide_1") == {}
    assert out.values("fac.multiply") == out.values("multiply")


def test_arrays_are_read_only() -> None:
    """Arrays cannot be written to."""

    @tl.function
    def scaled(v: tl.Array[tl.float64, 2]) -> tl.Array[tl.float64, 2]:
        return v * 2.0

    (value,) = scaled.run(np.array([1.0, 2.0]), keep="events").values("multiply").values()
    assert isinstance(value, np.ndarray) and value.tolist() == [2.0, 4.0]
    assert not value.flags.writeable


def test_values_of_an_ambiguous_or_unknown_node() -> None:
    """A name in several functions is refused with the full names, and an unknown name with the known ones."""
    out = two_adds.run(3, keep="events")
    with pytest.raises(tl.Usage) as several:
        out.values("add")
    assert str(several.value) == ("several nodes are called 'add'\n  required: one\n  got: two_adds.add, double.add")
    assert list(out.values("double.add").values()) == [6]
    with pytest.raises(tl.Usage, match=r"no node is called 'sub'\n  hint: choose from .*two_adds.add"):
        out.values("sub")
    with pytest.raises(tl.Usage, match=r"hint: did you mean double\.add\?"):
        out.values("double.ad")


def test_an_unknown_node_of_a_large_graph() -> None:
    """The hint names a few nodes, and the number of the others."""

    @tl.function
    def chain(x: tl.float64) -> tl.float64:
        for _ in range(50):
            x = tl.tanh(x)
        return x

    with pytest.raises(tl.Usage) as error:
        chain.graph.find("y")
    hint = error.value.hint
    assert hint is not None and hint.endswith(f"... {len(chain.graph.nodes) - 8} more") and hint.count("chain.") == 8


def test_events_that_were_not_kept() -> None:
    """By default no events are kept, and attributes that need them name the option `keep`."""
    out = fac.run(3)
    for read in (lambda: out.events, lambda: out.values("multiply")):
        with pytest.raises(tl.Usage, match='run it with keep="events"'):
            read()
    assert len(fac.run(3, keep="events").events) == out.stats.steps


def test_activations() -> None:
    """`activations` counts the calls of each function, the run's own included; a function that is never called has
    0."""
    assert fac.run(5).activations() == {"fac": 6}
    assert two_adds.run(5).activations() == {"two_adds": 1, "double": 1}

    @tl.function
    def maybe(n: tl.int64) -> tl.int64:
        return tl.cond(n < 0, lambda: two_adds(n), lambda: n)

    assert maybe.run(5).activations() == {"maybe": 1, "two_adds": 0, "double": 0}
    assert maybe.run(-5).activations() == {"maybe": 1, "two_adds": 1, "double": 1}


def test_activations_of_calls_in_loops_and_of_triggers_only() -> None:
    """A call in a loop counts once an iteration, and a function without arguments is counted by its trigger."""

    @tl.function
    def looped(n: tl.int64) -> tl.float64:
        return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + constant()), 0, 0.0)[1]

    out = looped.run(7)
    assert (out.value, out.activations()) == (17.5, {"looped": 1, "constant": 7})


def test_residue_lists_what_waits_in_program_order() -> None:
    """The residue lists waiting tokens by node, port, tag and value, in program order."""

    @tl.function
    def inner(n: tl.int64) -> tl.int64:
        return (1 // n) + (n + 5)

    @tl.function
    def outer(n: tl.int64) -> tl.int64:
        return inner(n) * 3 - tl.while_loop(lambda i: i < 3, lambda i: i + 1 + inner(i * 0 + n), 0)[0]

    out = outer.run(0)
    assert [(str(out.graph.nodes[w.node]), w.port, str(w.tag), w.value) for w in out.residue] == [
        ("inner.add_1", 1, "main/inner", 5),
        ("inner.add_1", 1, "main/loop[0]/inner_1", 5),
        ("outer.add_2", 0, "main/loop[0]", 1),
        ("outer.loop.switch_n", 0, "main/loop[1]", 0),
    ]
    assert len(out.traps) == 2


def test_the_repr_is_short() -> None:
    """The `repr` of an outcome has its ending and results, and no graph, statistics or events."""
    text = repr(fac.run(3, keep="events"))
    assert text.startswith("Outcome(status='Returned', results=(6,)") and len(text) < 200 and "TreeDef" not in text


def test_error_is_what_calling_raises() -> None:
    """`error` is the exception of the ending's class, and None if the run returned."""
    endings: list[tuple[Outcome, type[Exception] | None]] = [
        (fac.run(1), None),
        (half.run(0), tl.Trap),
        (endless.run(1, limits=tl.Limits(firings=9)), tl.Exhausted),
        (tl.run_graph(stuck(), [2], unchecked=True), tl.Deadlock),
        (tl.run_graph(race("merge", 1), [2, 3], unchecked=True), tl.Broken),
    ]
    assert all(out.error is None if kind is None else isinstance(out.error, kind) for out, kind in endings)
    assert [out.status for out, _ in endings] == ["Returned", "Trapped", "Exhausted", "Deadlocked", "Broken"]
