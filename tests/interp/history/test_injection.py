"""Injected tokens: what follows from one is a what-if, counted and explained like any run."""

from __future__ import annotations

import pytest
import tagloom as tl
from support.observe.moments import chain, fib
from tagloom.core.graph.graph import Graph
from tagloom.interp.history.history import History
from tagloom.interp.machine.step import DuplicateToken


def stuck_sum() -> Graph:
    """`x + y`, where y comes through a switch on the other side: the sum never gets it."""
    builder = tl.GraphBuilder("stuck")
    x, p = builder.argument("x", tl.Type(tl.int64)), builder.argument("p", tl.Type(tl.bool))
    taken, _ = builder.node("switch", "s", [x, p], [tl.Type(tl.int64)] * 2)
    (total,) = builder.node("add", "total", [taken, x], [tl.Type(tl.int64)])
    return builder.build([total])


def test_an_injected_token_ends_a_deadlock() -> None:
    """A deadlocked run returns once the missing token is injected, as a what-if; its parent does not change, and every
    activation closes."""
    history = History(stuck_sum(), [5, False], unchecked=True)
    assert history.run().status == "Deadlocked"
    what_if = history.inject("total", 0, "main", 30)
    assert what_if.state.live_count == history.state.live_count + 1 and what_if.state.records
    outcome = what_if.run()
    assert (outcome.status, outcome.value, outcome.schedule) == ("Returned", 35, "what-if")
    assert not what_if.state.records and history.outcome().status == "Deadlocked"
    assert "30 injected on port 0 of node stuck.total under main" in str(what_if)


def test_queries_name_injections() -> None:
    """Queries say that the token was injected, as a tree and as a list, and list its consumers."""
    history = History(stuck_sum(), [5, False], unchecked=True)
    history.run()
    what_if = history.inject("total", 0, "main", 30)
    what_if.run()
    ask = what_if.ask
    assert f"port 0: 30, injected at event {len(history)}" in ask.tree("total")
    assert any(f"30, injected at event {len(history)}" in str(link) for link in ask.where_from("total"))
    changed = history.inject("total", 0, "main", 30).change(("total", 0, "main"), 31)
    assert changed.run().value == 36 and "changed to 31" in changed.ask.tree("total")
    there = history.inject("total", 0, "main", 30).ask.why_not("total")
    assert there.verdict == "pending" and "the token from an injection" in str(there)


def test_a_token_too_many_breaks_the_run() -> None:
    """A second token for a port ends the run as Broken, by S4, and not by a traceback."""
    history = fib.history(3)
    history.jump(0)
    history.forward_to("node == 'fib.n' and fired")
    what_if = history.inject("fib.n", 0, "main", 1)
    assert what_if.run().status == "Broken"
    assert isinstance(what_if.stop_error, DuplicateToken)


def test_an_injected_token_keeps_its_iteration_busy() -> None:
    """An injected token keeps its iteration busy, so that throttled tokens keep waiting."""
    history = chain.history(4)
    history.forward_to("throttled")
    tag = next(tag for tag in history.state.records if tag.site.kind == "loop")
    token = next(event.token for event in history if event.token.tag == tag and type(event.token.value) is int)
    before = history.state.records[tag].busy_count
    result = history.inject(str(history.graph.nodes[token.node]), token.port, tag, 7)
    assert result.state.records[tag].busy_count == before + 1 and history.state.records[tag].busy_count == before


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("nowhere", 0, "main"), 1, "no node is called"),
        (("total", 5, "main"), 1, "no token comes to port 5"),
        (("total", 0, "main/f"), 1, "has no call or loop"),
        (("total", 0, "main"), 1.5, "port 0 of node stuck.total: a value of the wrong type"),
    ],
)
def test_impossible_tokens_are_refused(place: tuple[str, int, str], value: object, message: str) -> None:
    """A token that no machine could have is refused with a message."""
    history = History(stuck_sum(), [5, False], unchecked=True)
    with pytest.raises(tl.Usage, match=message):
        history.inject(*place, value)


def test_a_closed_activation_takes_no_token() -> None:
    """No token can be injected into a closed activation."""
    history = fib.history(3)
    history.run()
    with pytest.raises(tl.Usage, match="not open"):
        history.inject("fib.n", 0, "main/fib", 1)
