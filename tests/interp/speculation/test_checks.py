"""What a user can ask of a speculated function: calls checked against Python, and runs that broke an assertion."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import tagloom as tl
from support import speculated_scenarios
from support.speculated_scenarios import SCENARIOS
from support.trained_models import MODELS, batch
from support.twins.broken_twin import broken
from support.twins.speculation_twins import TWINS
from tagloom.core.display import hooks
from tagloom.interp.history.history import describe_event
from tagloom.interp.speculation.comparison import first_difference
from tagloom.interp.speculation.explanation import Explanation

SCHEMA = Path(__file__).resolve().parents[3] / "docs" / "schemas" / "explanation.json"


@pytest.mark.full(first=20)
@pytest.mark.parametrize(
    "name", [name if name in ("total", "double") else pytest.param(name, marks=pytest.mark.full) for name in SCENARIOS]
)
def test_checked_calls_of_sound_code(name: str) -> None:
    """With `check`, no call of a scenario disagrees, and each has the effects of Python once."""
    function, make_calls = SCENARIOS[name]
    module = function.__globals__
    endings = []
    for check in (True, False):
        speculated = tl.speculate(engine="reference", check=check)(function)
        module |= {function.__name__: speculated, "GLOBAL_COUNT": 0}
        try:
            endings.append([_ending(speculated, arguments) for arguments in make_calls()])
        finally:
            module[function.__name__] = function
    assert endings[0] == endings[1]


def _ending(function: Any, arguments: Any) -> Any:
    try:
        result = function(*arguments)
    except tl.Disagreement:
        raise
    except Exception as error:
        return type(error)
    return result if isinstance(result, int | float | str | None) else type(result)


@pytest.mark.full
def test_checked_call_without_a_variable() -> None:
    """A checked call leaves a variable of a class unassigned that was unassigned before."""

    class Base:
        limit = 1

    class Derived(Base):
        limit = 2

    def read(use_derived: bool) -> int:
        return Derived.limit if use_derived else Base.limit

    speculated = tl.speculate(engine="reference", check=True)(read)
    assert [speculated(n % 2 == 0) for n in range(4)] == [2, 1, 2, 1]
    del Derived.limit
    assert [speculated(n % 2 == 0) for n in range(4)] == [1, 1, 1, 1]
    assert "limit" not in Derived.__dict__
    cell = 0

    def count(is_reading: bool) -> int:
        return cell if is_reading else -1  # noqa: F821 - it is deleted below

    speculated = tl.speculate(engine="reference", check=True)(count)
    assert [speculated(n != 2) for n in range(5)] == [0, 0, -1, 0, 0]
    del cell
    assert speculated(False) == -1
    with pytest.raises(NameError, match="cell"):
        speculated(True)


@pytest.mark.full
@pytest.mark.parametrize(
    "name", ["no commit", "branches exchanged", "stale fields", "lost items", "commit of one object"]
)
def test_checked_calls_of_broken_code(name: str) -> None:
    """A twin that is wrong on purpose disagrees, and the error names a difference."""
    twin = TWINS[name]
    function, make_calls = SCENARIOS[twin.scenario]
    speculated = tl.speculate(engine="reference", check=True)(function)
    with broken(twin.patch), pytest.raises(tl.Disagreement, match="in Python"):
        for arguments in make_calls():
            speculated(*arguments)


@pytest.mark.heavy
def test_checked_training() -> None:
    """Copies of a model have the slots of its optimizer, so a step runs in the graph, and agrees."""
    model = MODELS["adam"]()
    speculated = tl.speculate(engine="reference", check=True)(type(model).step)
    for step in range(5):
        speculated(model, *batch(step))
    assert (speculated.counts.graph, model.counts["steps"]) == (2, 5)


def test_first_difference() -> None:
    """Classes, numbers, keys, and which objects are the same; not the last bits of a float."""

    def differ(one: Any, other: Any) -> str | None:
        return first_difference({"x": one}, {"x": other})

    shared = [1]
    assert differ([shared, shared], [[1], [1]]) == "x[1] is not the same object in the graph as in Python"
    assert differ(1, 1.0) == "x is 1 in the graph, 1.0 in Python"
    assert differ({"a": 1, "b": 2}, {"b": 2, "a": 1}) is not None
    assert differ(0.1 + 0.2, 0.3) is None
    assert differ(float("nan"), float("nan")) is None
    node = speculated_scenarios.Node(1)
    assert differ(node, speculated_scenarios.Node(2)) == "x.value is 1 in the graph, 2 in Python"
    assert differ(node, copy.deepcopy(node)) is None
    assert differ(tl.asarray([1.0]), tl.asarray([1.0, 2.0])) is not None


def _double_often(n: int, count: int) -> int:
    for _ in range(count):
        n = n + n
    return n


def test_why_opens_the_debugger_at_the_failed_assertion(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session begins before the token that makes the assertion fail, under its tag; the run is that of the call."""
    speculated = tl.speculate(engine="reference")(_double_often)
    for count in (1, 2, 3, 4, 5):
        speculated(1, count)
    assert speculated(2**59, 5) == 2**64
    (failure,) = speculated.explain(format="json")["failures"]
    assert (failure["call"], failure["tag"]) == (6, "main/loop[2]")
    assert "call 6: `n + n`: the integer has at most 62 bits under main/loop[2]" in speculated.explain()
    opened = []
    monkeypatch.setattr(hooks, "open_debugger", lambda begin, at: opened.append((begin(None), at)))
    speculated.why(call=6)
    ((history, at),) = opened
    assert at == history.position
    assert ".assert under main/loop[2]" in describe_event(history.graph, history.forward())
    with pytest.raises(tl.Usage, match="call 6"):
        speculated.why(call=1)


def test_explanations_fit_their_schema() -> None:
    """The JSON form of an explanation fits its schema, before the first call, with failures, and with a forecast; the
    schema has each of its fields, and rejects others."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    speculated = tl.speculate(engine="reference")(_double_often)
    validator.validate(json.loads(json.dumps(speculated.explain(format="json"))))
    for count in (1, 2, 3, 4, 62):
        speculated(3, count)
    document = json.loads(json.dumps(speculated.explain(1, 2, format="json")))
    validator.validate(document)
    assert document["failures"]
    assert set(schema["properties"]) == {"tagloom", "version", *Explanation.__dataclass_fields__}
    for name in document:
        with pytest.raises(jsonschema.ValidationError):
            validator.validate({key: value for key, value in document.items() if key != name})
