"""S14: an effect happens once, when its node fires, in program order for its resource, and never after a limit."""

from __future__ import annotations

from typing import Any

import pytest
import tagloom as tl
from support.programs.waves import later
from tagloom.core.program.evaluate import evaluate
from tagloom.core.world import CallbackReplayWorld
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.machine.state import State
from tagloom.interp.machine.step import step

SCHEDULES = ("waves", "fifo", "lifo", *(f"random:{seed}" for seed in range(8)))


def printed_lines(function: tl.Function, *arguments: Any, **options: Any) -> list[str]:
    """The lines that a run prints."""
    lines: list[str] = []
    function.run(*arguments, world=tl.World(lines.append), **options)
    return lines


@tl.function
def branches(n: tl.int64) -> tl.int64:
    """An effect before a cond, in one branch, in both branches, and after it."""
    tl.print("before", later(n, 4))

    def positive() -> Any:
        tl.print("positive", later(n, 2))
        return n

    m = tl.cond(n > 0, positive, lambda: -n)

    def odd() -> Any:
        tl.print("odd")
        return m

    def even() -> Any:
        tl.print("even")
        tl.print("even again")
        return m

    r = tl.cond(m % 2 == 1, odd, even)
    tl.print("after", r)
    return r


@tl.function
def looped(n: tl.int64) -> tl.int64:
    """Effects in the condition and in the body of a loop that uses none of their values."""

    def going_on(i: Any) -> Any:
        tl.print("is", i, "below?")
        return i < n

    def body(i: Any) -> Any:
        tl.print("in", later(i, 3))
        return i + 1

    (i,) = tl.while_loop(going_on, body, 0)
    tl.print("done")
    return i


@tl.function
def even(n: tl.int64) -> tl.bool:
    tl.print("even", n)
    return tl.cond(n == 0, lambda: True, lambda: odd(n - 1))


@tl.function
def odd(n: tl.int64) -> tl.bool:
    below = tl.cond(n == 0, lambda: False, lambda: even(n - 1))
    tl.print("odd", n)
    return below


@tl.function
def silent(n: tl.int64) -> tl.int64:
    """Mutual recursion with effects, after another effect; nothing uses its result."""
    tl.print("first")
    even(n)
    tl.print("last")
    return n


CASES: list[tuple[tl.Function, int, list[str]]] = [
    (branches, 3, ["before 3", "positive 3", "odd", "after 3"]),
    (branches, -4, ["before -4", "even", "even again", "after 4"]),
    (looped, 0, ["is 0 below?", "done"]),
    (looped, 2, ["is 0 below?", "in 0", "is 1 below?", "in 1", "is 2 below?", "done"]),
    (silent, 3, ["first", "even 3", "even 1", "odd 0", "odd 2", "last"]),
]


@pytest.mark.inner(first=19)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("function", "n", "lines"), CASES)
def test_lines_are_in_program_order(function: tl.Function, n: int, lines: list[str], schedule: str) -> None:
    """L10: lines are printed in program order through branches, loops with effects in their conditions, calls and
    mutual recursion, under every schedule and with a bound on iterations."""
    assert printed_lines(function, n, schedule=schedule) == lines
    assert printed_lines(function, n, schedule=schedule, k=1) == lines
    evaluated: list[str] = []
    evaluate(function.program, [n], world=tl.World(evaluated.append))
    assert evaluated == lines


def test_values_are_printed_as_literals() -> None:
    """Values of every kind are printed as literals. Text with braces is printed unchanged, and a print without parts is
    an empty line."""

    @tl.function
    def shown(x: tl.float64, v: tl.Array[tl.float64, 2]) -> tl.bool:
        tl.print()
        tl.print("{}", "{0}", "}{", "%s")
        tl.print("{", x, "}", v, True, 3, 2.5)
        return x > 0.0

    assert printed_lines(shown, -0.0, [1.0, float("nan")]) == [
        "",
        "{} {0} }{ %s",
        "{ -0.0 } [1.0, nan] true 3 2.5",
    ]


def test_resources_are_independent() -> None:
    """L10: an effect waits for earlier effects on its own resource only: a print happens although a callback before it
    never does."""

    def given(x: int) -> int:
        raise ValueError("not today")

    @tl.function
    def both(x: tl.int64) -> tl.int64:
        one = tl.callback(given, x, returns=tl.int64)
        tl.print("printed")
        other = tl.callback(given, x, returns=tl.int64)
        return one + other

    lines: list[str] = []
    out = both.run(1, world=tl.World(lines.append))
    assert (out.status, lines, len(out.traps)) == ("Trapped", ["printed"], 1)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_callbacks_are_called_in_program_order(schedule: str) -> None:
    """L10: a callback with state returns what it would return in a sequential evaluation."""
    calls: list[int] = []

    def count(x: int) -> int:
        calls.append(x)
        return len(calls)

    @tl.function
    def counting(n: tl.int64) -> tl.int64:
        a = tl.callback(count, later(n, 5), returns=tl.int64)
        b = tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + tl.callback(count, i, returns=tl.int64)), 0, 0)[
            1
        ]
        return a * 100 + b * 10 + tl.callback(count, -1, returns=tl.int64)

    assert counting.run(3, schedule=schedule).value == 1 * 100 + (2 + 3 + 4) * 10 + 5
    assert calls == [3, 0, 1, 2, -1]


def none(x: int) -> Any:
    return None


def text(x: int) -> Any:
    return "seven"


def half(x: int) -> Any:
    return x / 2


def large(x: int) -> Any:
    return 2**63


def wrong(x: int) -> Any:
    raise KeyError("x")


def refusing(x: int) -> Any:
    raise tl.Usage("I will not")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (none, "returned nothing, which is not of type int64"),
        (text, "returned 'seven', which is not of type int64"),
        (half, "returned 3.5, which is not of type int64"),
        (large, "returned 9223372036854775808, which is not of type int64"),
        (wrong, "raised KeyError: 'x'"),
        (refusing, "raised Usage: I will not"),
    ],
)
def test_s14_a_failing_callback_traps(function: Any, message: str) -> None:
    """S14: a callback that raises, or returns a wrong type, is a trap with its name and the reason."""

    @tl.function
    def calling(x: tl.int64) -> tl.int64:
        return tl.callback(function, x, returns=tl.int64)

    out = calling.run(7)
    whole = f"callback {function.__name__} {message} at node calling.callback"
    assert (out.status, out.traps[0].message) == ("Trapped", whole)


def test_callbacks_take_and_return_arrays() -> None:
    """A callback takes values and returns one of the declared type; arrays too."""

    @tl.function
    def turned(x: tl.Array[tl.float64, 3]) -> tl.Array[tl.float64, 3]:
        return tl.callback(lambda v: v[::-1], x, returns=tl.Array[tl.float64, 3])

    assert turned.run([1.0, 2.0, 3.0]).value.tolist() == [3.0, 2.0, 1.0]


def test_a_missing_callback_is_refused_before_the_run() -> None:
    """A graph that names a Python function is refused without that function, before anything is printed."""

    def gone(x: int) -> int:
        return x

    @tl.function
    def calling(x: tl.int64) -> tl.int64:
        tl.print("begun")
        return tl.callback(gone, x, returns=tl.int64)

    lines: list[str] = []
    with pytest.raises(tl.Usage) as raised:
        run_graph(calling.graph, [1], world=tl.World(lines.append))
    assert str(raised.value).startswith(
        "this program calls Python, and no function is given for callback gone (test_ef"
    )
    assert str(raised.value).endswith("hint: pass it: world=tl.World(callbacks={'gone': function})")
    assert lines == []
    assert run_graph(calling.graph, [1], world=tl.World(lines.append, {"gone": gone})).results == (1,)


def test_an_error_of_the_output_is_no_trap() -> None:
    """An error that the world's output raises is not the program's: it is raised unchanged."""

    def closed(line: str) -> None:
        raise OSError("closed")

    with pytest.raises(OSError, match="closed"):
        looped.run(1, world=tl.World(closed))


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("schedule", ["waves", "lifo", "random:1"])
def test_s12_no_effect_happens_beyond_a_limit(schedule: str) -> None:
    """S12: with a limit of N firings, a run prints what its first N firings print; a limit on tokens acts likewise."""
    whole = looped.run(2, schedule=schedule, keep="events", world=tl.World(lambda line: None))
    prints = [whole.graph.nodes[e.token.node].op == "print" for e in whole.events if e.is_firing]
    for limit in range(whole.firings + 1):
        lines: list[str] = []
        out = looped.run(2, schedule=schedule, limits=tl.Limits(firings=limit), world=tl.World(lines.append))
        assert (out.firings, len(lines)) == (limit, sum(prints[:limit]))
    for limit in range(20):
        lines = []
        out = looped.run(
            2, schedule=schedule, limits=tl.Limits(tokens=limit), keep="events", world=tl.World(lines.append)
        )
        done = sum(out.graph.nodes[e.token.node].op == "print" for e in out.events if e.is_firing)
        assert len(lines) == done


def test_s14_apply_and_revert_repeat_no_effect() -> None:
    """S14: an effect happens in `step`. `apply` and `revert` only record that it did, and a recorded world does
    nothing."""
    lines: list[str] = []
    state, done = State(looped.graph, [2], world=tl.World(lines.append)), []
    while state.flight:
        done.append(step(state, 0))
        state.apply(done[-1])
    assert len(lines) == 6
    for event in reversed(done):
        state.revert(event)
    for event in done:
        state.apply(event)
    assert (len(lines), state.results) == (6, {0: 2})
    again = State(looped.graph, [2], world=CallbackReplayWorld(lambda: 0))
    while again.flight:
        again.apply(step(again, 0))
    assert (len(lines), again.results) == (6, {0: 2})


def test_a_breakpoint_returns_its_operand() -> None:
    """A breakpoint returns its operand and changes nothing else."""

    @tl.function
    def stopping(n: tl.int64) -> tl.int64:
        tl.breakpoint()
        tl.breakpoint(n > 3)
        return n

    assert [stopping.run(n).value for n in (3, 4)] == [3, 4]
    assert evaluate(stopping.program, [4]).results == (4,)


class BadRepr:
    """An exception whose `repr` raises too."""

    def __repr__(self) -> str:
        raise RuntimeError


def test_a_result_that_cannot_be_printed_is_named_by_its_class() -> None:
    """A callback's wrong result whose `repr` raises is named by its class."""

    @tl.function
    def asked(n: tl.int64) -> tl.int64:
        return tl.callback(lambda x: BadRepr(), n, returns=tl.int64)

    out = asked.run(1)
    assert out.status == "Trapped" and "returned a BadRepr, which is not of type int64" in str(out.error)


class UserWorld(tl.World):
    """A user's own world."""

    def print(self, line: str) -> None:
        super().print(line.upper())


def test_a_user_s_world_is_used() -> None:
    """A user's world is used by programs with callbacks too; anything else is refused as a world."""
    lines: list[str] = []

    @tl.function
    def both(n: tl.int64) -> tl.int64:
        tl.print("n is", n)
        return tl.callback(lambda x: x + 1, n, returns=tl.int64)

    assert both.run(1, world=UserWorld(lines.append)).value == 2 and lines == ["N IS 1"]
    with pytest.raises(tl.Usage, match="the world is not a"):
        both.run(1, world=print)  # type: ignore[arg-type]


def test_s12_the_limit_on_tokens_is_exact_for_effects() -> None:
    """S12: the most live tokens that a run ever has are enough as its limit, and one less is not, with effects too."""

    @tl.function
    def told(n: tl.int64) -> tl.int64:
        tl.print("n is", n)
        return n

    @tl.function
    def often(n: tl.int64) -> tl.int64:
        return told(n) + told(n + 1) + told(n + 2) + told(n + 3)

    silent = tl.World(lambda line: None)
    history = often.history(0, schedule="lifo", world=silent)
    most = history.state.live_count
    while history.forward():
        most = max(most, history.state.live_count)
    for tokens, status in ((most, "Returned"), (most - 1, "Exhausted")):
        assert often.run(0, schedule="lifo", limits=tl.Limits(tokens=tokens), world=silent).status == status


def test_callbacks_keep_their_names_when_traced_again() -> None:
    """A function without annotations is traced more than once, and creates its Python functions again each time; their
    names stay the same."""

    def body(n: Any) -> Any:
        return tl.callback(lambda x: x + 1, n, returns=tl.int64)

    @tl.function
    def inferred(n: tl.int64):  # type: ignore[no-untyped-def]
        def asked(x: int) -> int:
            return x + 1

        return tl.cond(n <= 0, lambda: 0, lambda: inferred(n - 1) + tl.callback(asked, n, returns=tl.int64) + body(n))

    traced = inferred.trace(3)
    assert sorted(traced.callbacks) == ["asked", "callback"] and inferred(3) == 18
    called = [dict(node.attributes)["function"] for node in traced.graph.nodes if node.op == "callback"]
    assert called == ["asked", "callback"]


def test_a_print_is_true() -> None:
    """The value of a print and its order token are true."""
    text = 'func f(n: int64) -> bool {\n  a = print n, text="{}"\n  b = print n, text="{}"\n  return a\n}\n'
    graph = tl.lower(tl.parse_program(text))
    out = tl.run_graph(graph, [3], keep="events", world=tl.World(output=lambda line: None))
    prints = [event for event in out.events if graph.nodes[event.token.node].op == "print"]
    assert out.value is True
    assert {token.value for event in prints for token in event.sent} == {True}
