"""Speculated functions do what Python does: results, printed lines, exceptions, and the state of all objects."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from typing import Any, ClassVar

import pytest
import tagloom as tl
from support import speculated_scenarios
from support.speculated_scenarios import SCENARIOS
from support.speculation import compare

ENGINES = ["reference", pytest.param("fast", marks=pytest.mark.full), pytest.param("compiled", marks=pytest.mark.heavy)]
GLOBALS = ["GLOBAL_COUNT"]
INNER = ("total", "aliases", "double")
"""The scenarios of the inner part of the tests."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "name", [name if name in INNER else pytest.param(name, marks=pytest.mark.full) for name in SCENARIOS]
)
def test_as_python(name: str, engine: str) -> None:
    function, make_calls = SCENARIOS[name]
    if engine == "compiled" and name in ("train", "tree_state"):
        pytest.skip("the last bits of tanh and of matrix products are those of the engine")
    speculated = tl.speculate(engine=engine)(function)
    compare(speculated, make_calls(), GLOBALS)
    assert speculated.counts.graph > 0
    assert speculated.builds <= speculated.build_bound


@pytest.mark.full(first=12)
@pytest.mark.parametrize("name", SCENARIOS)
def test_with_each_assumption_broken(name: str) -> None:
    """Where any assertion fails, Python runs the call from its start, and nothing is left of the graph's run."""
    function, make_calls = SCENARIOS[name]
    speculated = tl.speculate(engine="reference")(function)
    compare(speculated, make_calls(), GLOBALS)
    graph = speculated.graph
    for number in range(len(graph.assumptions) if graph is not None else 0):
        with tl.testing.break_assumption(number):
            compare(speculated, make_calls()[:4], GLOBALS)


def test_one_graph_for_all_trees() -> None:
    """After two graphs at most, trees of any shape share one; the counts of firings depend on the size alone."""
    total = tl.speculate(engine="reference")(speculated_scenarios.total)
    draw = random.Random(7)
    speculated_scenarios.total, python = total, speculated_scenarios.total
    try:
        for tree in (speculated_scenarios.tree(size, draw) for size in (3, 0, 5, 4)):
            total(tree)
        builds, firings = total.builds, {}
        for size in (0, 1, 2, 5, 5, 5, 12, 12, 30):
            tree = speculated_scenarios.tree(size, draw)
            assert total(tree) == speculated_sum(tree)
            firings.setdefault(size, set()).add(total.last_outcome.firings)
    finally:
        speculated_scenarios.total = python
    assert total.builds == builds <= 2
    assert all(len(each) == 1 for each in firings.values())
    (one,), (two,), (five,) = firings[1], firings[2], firings[5]
    assert five - two == 3 * (two - one)


def speculated_sum(tree: object) -> int:
    pending, result = [tree], 0
    for node in pending:  # grows while it is walked
        if node is not None:
            result += node.value
            pending += [node.left, node.right]
    return result


def test_forecast_of_a_call_without_a_graph() -> None:
    """`explain` with arguments tells how a call would run that no layout fits: it raises nothing."""

    class Leaf:
        def __init__(self, *weights: float) -> None:
            self.weights = tl.asarray([*weights])

    class Handle:
        def __del__(self) -> None:
            pass

    @tl.speculate(engine="reference")
    def add(leaf: Any, other: Any) -> Any:
        return tl.sum(leaf.weights) + tl.sum(other.weights)

    for _ in range(4):
        add(Leaf(1.0, 2.0), Leaf(3.0, 4.0))
    add(Leaf(1.0), Leaf(2.0))
    assert add.counts.graph == 2
    assert "different shapes" in add.explain(Leaf(1.0), Leaf(2.0, 3.0))
    forecast = add.explain(Leaf(1.0), Handle(), format="json")["forecast"]
    assert (forecast["way"], forecast["reason"]) == ("python", f"{Handle.__qualname__} has __del__")


def test_explanation() -> None:
    """`explain` has a row for each assumption, as text and as JSON, and says why calls ran in Python."""
    double = tl.speculate(engine="reference")(speculated_scenarios.double)
    for n in (1, 2, 3, 4, 2**70):
        double(n)
    text, document = double.explain(), double.explain(format="json")
    assert "5 calls: 3 watched, 1 in the graph, 1 in Python" in text
    assert {"source": "n + n", "checked": "in the graph"}.items() <= document["rows"][-1].items()
    assert json.loads(json.dumps(document)) == document | {
        "rows": list(document["rows"]),
        "events": list(document["events"]),
        "failures": list(document["failures"]),
    }
    with pytest.raises(tl.Usage):
        double.explain(format="xml")


def test_forecast() -> None:
    """`explain` with the arguments of a call says how it would run, and changes nothing; then the call runs so."""
    doubled = tl.speculate(_read_value)
    other, ways = type("Other", (Shared,), {}), []
    for owner in (*map(Shared, range(5)), other(6), Shared(7)):
        document, counts, builds = doubled.explain(owner, format="json"), asdict(doubled.counts), doubled.builds
        assert document["forecast"]["reason"] in doubled.explain(owner).splitlines()[0]
        assert (asdict(doubled.counts), doubled.builds) == (counts, builds)
        assert doubled(owner) == 2 * owner.n
        way = document["forecast"]["way"]
        ran = "watch" if way == "watched" else "graph"
        assert asdict(doubled.counts)[ran] == counts[ran] + 1
        assert (doubled.builds > builds) == (way == "new graph")
        ways.append(way)
    assert ways == [*["watched"] * 3, "new graph", "graph", "new graph", "graph"]
    assert doubled.explain(1, 2, format="json")["forecast"]["way"] == "python"
    assert doubled.explain(format="json")["forecast"] is None


def _read_value(owner):
    return owner.n * 2


def test_function_that_never_pays_stays_in_python() -> None:
    """After three runs of the graph that break an assumption, of three, calls run in Python."""
    double = tl.speculate(engine="reference")(speculated_scenarios.double)
    for n in (1, 2, 3, *[2**61 + 1] * 6):
        assert double(n) == 2 * n
    assert double.counts.graph == 0
    assert double.counts.fallbacks == 3
    assert "broke an assumption" in double.reason
    assert f"it stays in Python, since {double.reason}" in double.explain()


def test_function_that_stays_in_python_is_called_as_it_is() -> None:
    """Once a function is given up, a call neither watches nor matches: it runs the function itself."""
    sign = tl.speculate(engine="reference")(_sign)
    for n in (1, -1, 1, *[2**70] * 3):
        sign(n)
    counts, events, python = dict(sign.recorder.counts), list(sign.events), sign.counts.python
    assert sign.reason is not None and counts
    assert [sign(5), sign(-5)] == [True, False]
    assert (dict(sign.recorder.counts), list(sign.events)) == (counts, events)
    assert sign.counts.python == python + 2


def _sign(n):
    if n + n > 0:  # noqa: SIM103 (a test that is watched)
        return True
    return False


@pytest.mark.parametrize("wrong", [0, "3"])
def test_bad_watch(wrong: object) -> None:
    with pytest.raises(tl.Usage, match="watch"):
        tl.speculate(watch=wrong)


@pytest.mark.parametrize("wrong", [3, print, int])
def test_no_python_function(wrong: object) -> None:
    with pytest.raises(tl.Usage, match="Python function"):
        tl.speculate(wrong)


class Watchful:
    """An object whose special methods note that they were called."""

    calls: ClassVar[list[str]] = []

    def __getattr__(self, name):
        Watchful.calls.append(name)
        return 5

    def __repr__(self):
        Watchful.calls.append("repr")
        return "Watchful"

    def __hash__(self):
        Watchful.calls.append("hash")
        return 1


def _read(owner, other):
    return owner.n if other else owner


def test_no_code_of_the_user_runs_but_its_own() -> None:
    """Speculation asks an object neither for its text, nor its hash, nor an attribute."""
    speculated, owner = tl.speculate(_read), Watchful()
    for other in (False, False, False, False, True, False):
        Watchful.calls.clear()
        assert speculated(owner, other) is owner or other
        assert Watchful.calls == (["n"] if other else [])
    speculated.explain()
    assert Watchful.calls == []


class Shared:
    """An object that may share its attributes with another, or with a dict."""

    def __init__(self, n):
        self.n = n


SHARED_COUNT = 5


def _write_both(one, other):
    one.n += 1
    other["n"] *= 10
    return one.n, other["n"]


def _write_two(one, other):
    one.n += 1
    other.n *= 10
    return one.n, other.n


def _write_own(one, other):
    one.attributes["n"] = one.n + 1
    return one.n


def _write_global(one, other):
    other["SHARED_COUNT"] += 1
    return SHARED_COUNT


def _with_dict(n, is_shared):
    one = Shared(n)
    return one, one.__dict__ if is_shared else {"n": 3}


def _with_object(n, is_shared):
    one, other = Shared(n), Shared(3)
    if is_shared:
        other.__dict__ = one.__dict__
    return one, other


def _with_own(n, is_shared):
    one = Shared(n)
    one.attributes = one.__dict__ if is_shared else {"n": 3}
    return one, None


def _with_globals(n, is_shared):
    return None, globals() if is_shared else {"SHARED_COUNT": n}


@pytest.mark.parametrize("first_shared", [0, 5])
@pytest.mark.parametrize(
    ("function", "make"),
    [
        (_write_both, _with_dict),
        (_write_two, _with_object),
        (_write_own, _with_own),
        (_write_global, _with_globals),
    ],
)
def test_attributes_with_two_names(function: Any, make: Any, first_shared: int) -> None:
    """Where one dict has the attributes of two objects, or variables, a write by one name is seen by the other."""
    global SHARED_COUNT
    endings = []
    speculated = tl.speculate(engine="reference")(function)
    for side in (speculated, function):
        SHARED_COUNT = 5
        calls = [make(n, n >= first_shared) for n in range(8)]
        endings.append([(side(*each), getattr(each[0], "n", 0), SHARED_COUNT) for each in calls])
    assert endings[0] == endings[1]
    assert speculated.counts.graph == max(0, first_shared - 3)
