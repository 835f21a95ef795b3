"""Training steps on objects: after each, the model has in the graph what it has in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support import trained_models
from support.speculation import values_in_slots
from support.trained_models import MODELS, batch
from support.twins.broken_twin import broken
from support.twins.training_twins import TWINS
from tagloom.core.frontend.eager.array import ConcreteArray
from tagloom.interp.speculation.speculative_function import SpeculativeFunction


def numbers(value: Any) -> Any:
    """The state of a model, as nested dicts and lists of numbers."""
    if isinstance(value, ConcreteArray | tl.Variable):
        return np.asarray(getattr(value, "value", value)).tolist()
    if isinstance(value, dict):
        return {key: numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [numbers(each) for each in value]
    attributes = {**dict(values_in_slots(value)), **getattr(value, "__dict__", {})}
    if not attributes:
        return value
    return {key: numbers(each) for key, each in attributes.items() if key != "_names"}  # numbers of creation


def leaves(state: Any, path: str = "") -> dict[str, Any]:
    """The numbers of a state, by their paths."""
    if not isinstance(state, dict | list):
        return {path: state}
    items = state.items() if isinstance(state, dict) else enumerate(state)
    return {name: leaf for key, each in items for name, leaf in leaves(each, f"{path}/{key}").items()}


def compare_training(make: Callable[[], Any], steps: int = 8) -> SpeculativeFunction:
    """Train two models, one speculated: after each step their results and states are equal, up to the order in which
    contributions to a gradient are added."""
    speculated_model, python_model = make(), make()
    speculated = tl.speculate(engine="reference")(type(python_model).step)
    for step in range(steps):
        results = speculated(speculated_model, *batch(step)), python_model.step(*batch(step))
        assert float(results[0]) == pytest.approx(float(results[1]), rel=1e-9)
        one, other = leaves(numbers(speculated_model)), leaves(numbers(python_model))
        assert one == pytest.approx(other, rel=1e-9, abs=1e-12)
        assert {name: type(each) for name, each in one.items()} == {name: type(each) for name, each in other.items()}
    return speculated


MARKS: dict[str, Any] = {
    "perceptron": (),
    **dict.fromkeys(("momentum", "adagrad", "rmsprop", "adadelta"), pytest.mark.heavy),
}
"""The marks of the tests of models, if they are not those of the full product."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, pytest.mark.full)) for name in MODELS])
def test_as_python(name: str) -> None:
    """All steps after the watched ones run in one graph: weights, slots of the optimizer, counters, flags and the rate
    are those of Python."""
    speculated = compare_training(MODELS[name])
    assert (speculated.counts.graph, speculated.builds) == (5, 1)


@pytest.mark.full
def test_one_graph_for_all_models() -> None:
    """A graph is of a structure, not of its objects: other models of the same classes run in it, too."""
    speculated = compare_training(MODELS["adam"])
    for make in (MODELS["adam"], lambda: trained_models.Layered(tl.optimizers.Adam(rate=0.5))):
        one, other = make(), make()
        assert one.step(*batch(0)) == other.step(*batch(0))  # it creates the slots of the optimizer
        for step in (1, 2):
            assert speculated(one, *batch(step)) == pytest.approx(other.step(*batch(step)), rel=1e-9)
    assert (speculated.builds, speculated.counts.graph) == (1, 9)


@pytest.mark.full
def test_flags_and_layers_change() -> None:
    """A flag is a value of the graph; another number of layers is another graph; one layer at two places stays in
    Python."""
    model, other = trained_models.Layered(), trained_models.Layered()
    speculated = tl.speculate(engine="reference")(trained_models.Layered.step)

    def compare(step: int) -> None:
        assert speculated(model, *batch(step)) == pytest.approx(other.step(*batch(step)), rel=1e-9)
        assert leaves(numbers(model)) == pytest.approx(leaves(numbers(other)), rel=1e-9, abs=1e-12)

    for step in range(5):
        compare(step)
    for each in (model, other):
        each.layers[1].training = False
    compare(5)
    assert (speculated.counts.graph, speculated.builds) == (3, 1)
    for each in (model, other):
        each.layers[3] = each.layers[1].__class__(4)
        each.layers[3].scale = each.layers[4].bias.__class__(tl.ones(4))
    for step in range(6, 9):
        compare(step)
    for each in (model, other):
        each.layers.insert(1, each.layers[1])
    for step in range(9, 12):
        compare(step)


class _Counted:
    def __init__(self) -> None:
        self.weight, self.calls = tl.asarray([1.0, 2.0]), 0

    def loss(self, weight: Any, x: Any) -> Any:
        self.calls += 1
        return tl.sum(weight * x)

    def vector(self, x: Any) -> Any:
        return tl.grad(lambda weight: weight * x)(self.weight)

    def counted(self, x: Any) -> Any:
        return tl.grad(lambda weight: self.loss(weight, x))(self.weight)

    def stored(self, x: Any) -> Any:
        self.gradient = tl.grad(lambda weight: tl.sum(weight * x))
        return self.gradient(self.weight)


@pytest.mark.full
@pytest.mark.parametrize("name", ["vector", "counted", "stored"])
def test_gradients_in_python(name: str) -> None:
    """A function that changes something or returns no number under `tl.grad`, and a gradient that is stored, stay in
    Python, which counts and raises as it does."""
    python = getattr(_Counted, name)
    speculated, one, other = tl.speculate(engine="reference")(python), _Counted(), _Counted()
    for step in range(6):
        x = tl.asarray([1.0, step])
        endings = []
        for function, model in ((speculated, one), (python, other)):
            try:
                endings.append(numbers(function(model, x)))
            except tl.TagloomError as error:
                endings.append(type(error))
        assert endings[0] == endings[1]
        assert one.calls == other.calls
    assert speculated.counts.graph == 0


def _twice(pair: Any, x: Any) -> Any:
    with tl.Tape() as tape:
        tape.watch(pair["one"])
        loss = tl.sum(x * pair["one"] * pair["other"])
    return tape.gradient(loss, pair["one"])


def test_array_at_two_places() -> None:
    """A tape identifies what it watches: where one array is at two places, Python runs the call."""
    speculated, x = tl.speculate(engine="reference")(_twice), tl.asarray([1.0, 2.0])
    for is_tied in (False, False, False, False, True, False):
        one = tl.asarray([3.0, 4.0])
        pair = {"one": one, "other": one if is_tied else tl.asarray([3.0, 4.0])}
        expected = [6.0, 16.0] if is_tied else [3.0, 8.0]
        assert numbers(speculated(pair, x)) == numbers(_twice(pair, x)) == expected
    assert (speculated.counts.graph, speculated.counts.python) == (2, 1)


def _watch_node(node: Any) -> Any:
    total = tl.asarray(0.0)
    with tl.Tape() as tape:
        tape.watch(node.vector)
        loss = tl.sum(node.vector * node.vector) + total
    return tape.gradient(loss, node.vector), None if node.next is None else _watch_node(node.next)


class Node:
    def __init__(self, vector, next=None):
        self.vector, self.next = vector, next


def test_what_a_tape_cannot_watch() -> None:
    """An attribute of an object of the table is another symbol at each read: such a function stays in Python."""
    speculated = tl.speculate(engine="reference")(_watch_node)
    for _ in range(6):
        (gradient, _) = speculated(Node(tl.asarray([1.0, 2.0]), Node(tl.asarray([3.0, 4.0]))))
        assert numbers(gradient) == [2.0, 4.0]
    assert speculated.counts.graph == 0


@pytest.mark.full
@pytest.mark.parametrize("name", TWINS)
def test_broken_training_is_caught(name: str) -> None:
    """A model that the sound code trains as Python does differs."""
    patch, model = TWINS[name]
    with broken(patch), pytest.raises(AssertionError):
        compare_training(MODELS[model])
