"""Parameters as people keep them: lists of layers, dicts with integer keys, dataclasses with lists. They are arguments,
results, loop variables and sources of gradients, and come back with their structure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from tagloom.core.frontend.trace import pytree
from tagloom.core.frontend.trace.pytree import flatten
from tagloom.core.value import is_same_value
from tagloom.interp.function.function import argument_leaves
from tagloom.interp.oracle.check import check
from tagloom.interp.outcome.statistics import firings_by_op


@dataclass
class Layer:
    weights: Any
    bias: Any
    activation: str = "tanh"


@dataclass
class Stack:
    layers: list[Any]
    scale: Any


class Moments(NamedTuple):
    mean: Any
    square: Any


ARRAYS = st.tuples(st.lists(st.integers(1, 3), max_size=2), st.integers(0, 99)).map(
    lambda drawn: np.random.default_rng(drawn[1]).normal(size=tuple(drawn[0]))
)


def nest(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pairs = st.tuples(inner, inner)
    return (
        st.lists(inner, min_size=1, max_size=3)
        | pairs
        | st.dictionaries(st.integers(0, 9) | st.sampled_from("abc"), inner, min_size=1, max_size=3)
        | pairs.map(lambda pair: Layer(*pair))
        | pairs.map(lambda pair: Stack([pair[0], [pair[1]]], pair[1]))
        | pairs.map(lambda pair: Moments(*pair))
    )


TREES = nest(st.recursive(ARRAYS, nest, max_leaves=6))


def weighted_square(tree: Any) -> Any:
    """The sum over leaves k of (k + 1) times the square of the leaf."""
    return sum((k + 1.0) * tl.sum(leaf * leaf) for k, leaf in enumerate(array_leaves(tree)))


def array_leaves(tree: Any) -> list[Any]:
    return flatten(tree, by_reference=True, is_leaf=None)[0]


def assert_same_tree(one: Any, other: Any) -> None:
    (leaves, structure), (other_leaves, other_structure) = (flatten(each, is_leaf=None) for each in (one, other))
    assert structure == other_structure
    assert all(map(is_same_value, map(np.asarray, leaves), map(np.asarray, other_leaves)))


def check_tree_laws(tree: Any) -> None:
    """A tree is returned, carried through a loop, and differentiated, with one structure and the right values."""
    twice = tl.function(lambda p: [p, {0: p}])(tree)
    assert_same_tree(twice, [tree, {0: tree}])

    @tl.function
    def swap_in_loop(p: Any, q: Any) -> Any:
        return tl.while_loop(lambda k, p, q: k < 3, lambda k, p, q: (k + 1, q, p), 0, p, q)[1]

    assert_same_tree(swap_in_loop(tree, twice[0]), tree)
    expected = [2.0 * (k + 1.0) * leaf for k, leaf in enumerate(array_leaves(tree))]
    gradient = tl.grad(weighted_square)(tree)
    assert all(map(np.array_equal, array_leaves(gradient), expected)) and type(gradient) is type(tree)
    arrays = tl.function(lambda p: p)(map_arrays(tl.asarray, tree))
    with tl.Tape() as tape:
        tape.watch(map_arrays(lambda leaf: leaf, arrays, drop_static=True))
        value = weighted_square(arrays)
    of_tape = tape.gradient(value, array_leaves(arrays))
    assert type(of_tape) is list and all(map(np.array_equal, map(np.asarray, of_tape), expected))


def map_arrays(function: Callable[[Any], Any], tree: Any, *, drop_static: bool = False) -> Any:
    if drop_static:
        return [function(leaf) for leaf in array_leaves(tree)]
    leaves, structure = flatten(tree, by_reference=True)
    return pytree.unflatten(structure, map(function, leaves))


@settings(max_examples=15, deadline=None)
@given(TREES)
def test_trees_keep_their_structure(tree: Any) -> None:
    """Arguments, results, loop variables and gradients have the structure of the parameters, of any shapes."""
    check_tree_laws(tree)


def stack_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytree, "_is_opaque", lambda value, kind, like, is_leaf: kind is list)


def sort_keys_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    unflatten = pytree._build_value

    def build(structure: Any, leaves: Any) -> Any:
        value = unflatten(structure, leaves)
        return {str(key): part for key, part in value.items()} if structure.container is dict else value

    monkeypatch.setattr(pytree, "_build_value", build)


@pytest.mark.parametrize("break_code", [stack_lists, sort_keys_as_text])
def test_broken_trees_are_caught(break_code: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """The law fails where lists are stacked, and where integer keys become strings."""
    tree = {1: [np.ones(2), np.ones(2)], 0: np.ones(3)}
    check_tree_laws(tree)
    break_code(monkeypatch)
    with pytest.raises((AssertionError, tl.TagloomError, AttributeError, TypeError)):
        check_tree_laws(tree)


def network(params: Any, x: Any) -> Any:
    for layer in params["layers"]:
        x = tl.tanh(layer.weights @ x + layer.bias) if layer.activation == "tanh" else layer.weights @ x + layer.bias
    return tl.sum(x * x) * params[0]


def network_parameters() -> Any:
    draw = np.random.default_rng(5).normal
    shapes = ((4, 3), (2, 4))
    return {"layers": [Layer(draw(size=shape), draw(size=shape[:1])) for shape in shapes], 0: np.float64(0.5)}


@pytest.mark.full
def test_a_network_of_layers() -> None:
    """The gradient of a network agrees with that of its arrays as separate arguments, under every schedule, and the
    forward pass runs once."""
    params, x = network_parameters(), np.array([0.5, -1.0, 2.0])
    first, second = params["layers"]

    @tl.function
    def flat(w: Any, b: Any, v: Any, c: Any, scale: Any, x: Any) -> Any:
        return network({"layers": [Layer(w, b), Layer(v, c)], 0: scale}, x)

    expected = tl.grad(flat, (0, 1, 2, 3, 4))(first.weights, first.bias, second.weights, second.bias, params[0], x)
    gradient = tl.grad(network)(params, x)
    assert array_leaves(gradient)[0] == expected[4]
    assert all(map(np.array_equal, array_leaves(gradient)[1:], expected[:4]))
    assert [layer.activation for layer in gradient["layers"]] == [None, None], "a static leaf has no gradient"
    derived = tl.value_and_grad(tl.function(network))
    arguments = derived.source.bind((params, x), {})
    traced = derived.trace(params, x)
    verdicts = check(traced.graph, traced.program, traced.all_arguments(argument_leaves(derived, arguments)))
    assert all(verdict.difference is None for verdict in verdicts)
    assert firings_by_op(traced.graph, derived.run(params, x).stats)["tanh"] == 2


def test_results_of_recursion_are_lists() -> None:
    """A recursive function may take and return a list; its branches agree if one of them returns numbers only."""

    @tl.function
    def fibonacci_pair(n: Any) -> Any:
        def step() -> Any:
            one, other = fibonacci_pair(n - 1)
            return [other, one + other]

        return tl.cond(n == 0, lambda: [n * 0, n * 0 + 1], step)

    assert fibonacci_pair(10) == [55, 89]
    numbers = tl.function(lambda x: tl.cond(x > 0.0, lambda: [0.0, 1.0], lambda: [x, -x]))
    assert numbers(1.0) == [0.0, 1.0] and numbers(-2.0) == [-2.0, 2.0]
    swapped = tl.function(lambda x: tl.cond(x > 0.0, lambda: [x, -x], lambda: [0.0, 1.0]))
    assert swapped(-1.0) == [0.0, 1.0]


def test_pullbacks_take_lists() -> None:
    """An adjoint or tangent nests as its value does, a list of numbers included."""
    value, pullback = tl.vjp(lambda a: [a * 2.0, (a * 3.0, [a])], 1.0)
    assert value == [2.0, (3.0, [1.0])] and pullback([1.0, (1.0, [1.0])]) == (6.0,)
    assert tl.jvp(lambda a: [a * 2.0, a * 3.0], (1.0,), (1.0,)) == ([2.0, 3.0], [2.0, 3.0])
    assert tl.vjp(lambda p: p[0] * p[1][0], [np.float64(2.0), [3.0]])[1](1.0) == ([3.0, [2.0]],)
    assert tl.grad(lambda p: p[0] * p[1])([2.0, 5.0]) == [5.0, 2.0]


def test_variables_in_lists() -> None:
    """Targets of gradients may be a list of variables, and the gradients are a list."""
    w, b = tl.Variable([1.0, 2.0], name="w"), tl.Variable(3.0, name="b")
    of_function = tl.grad(lambda x: tl.sum(w * w) * b * x, [w, b])(1.0)
    with tl.Tape() as tape:
        value = tl.sum(w * w) * b
    of_tape = tape.gradient(value, {"all": [w, b]})["all"]
    assert type(of_function) is type(of_tape) is list
    for gradient in (of_function, of_tape):
        assert [np.asarray(each).tolist() for each in gradient] == [[6.0, 12.0], 5.0]


REFUSED = {
    "a leaf that is no value": (
        lambda: tl.function(network)({"layers": [Layer(np.array(["a"]), 1.0)], 0: 1.0}, VECTOR),
        r"argument params\['layers'\]\[0\].weights of network: this is not a value",
    ),
    "a leaf that is no float": (
        lambda: tl.grad(tl.function(first))({"layers": [Layer(np.float64(1.0), 1)]}),
        r"argument params\['layers'\]\[0\].bias of first is not of floats",
    ),
    "a leaf of another type than declared": (
        lambda: tl.function(declared)([1.0, {1: VECTOR}]),
        r"argument p\[1\]\[1\] of declared: a value of the wrong type",
    ),
    "a call with a leaf of another type": (
        lambda: tl.function(lambda x: tl.function(declared)([x, {1: x > 0}]))(1.0),
        r"argument p\[1\]\[1\] of declared has the wrong type",
    ),
    "a loop variable": (
        lambda: tl.function(lambda p: tl.while_loop(lambda p: p[0][0] > 0, lambda p: [p[1], p[0]], p))(
            [[np.float64(1)], [np.float32(2)]]
        ),
        r"loop variable p\[0\] changes its type",
    ),
    "branches": (
        lambda: tl.function(lambda x: tl.cond(x > 0, lambda: {"a": [x, x]}, lambda: {"a": [x, x > 0]}))(1.0),
        r"the branches of cond return different types at \['a'\]\[1\]",
    ),
    "a list for an array": (
        lambda: tl.function(lambda x: tl.cond(x[0] > 0, lambda: x, lambda: [x[0], x[1]]))(VECTOR),
        r"hint: a list is not an array: tl.asarray\(xs\) makes one of numbers, tl.stack\(xs\) one of",
    ),
    "a tape": (lambda: tl.Tape().watch({"a": [tl.asarray(1.0), 2.0]}), r"value\['a'\]\[1\] is not one"),
    "a sum of a list": (lambda: tl.function(lambda p: tl.sum(p))([VECTOR, VECTOR]), "tl.stack"),
}  # fmt: skip
VECTOR = np.ones(3)


def first(params: Any) -> Any:
    return params["layers"][0].weights


def declared(p: [tl.float64, {1: tl.float64}]) -> Any:  # type: ignore[valid-type]
    return p


@pytest.mark.parametrize("case", REFUSED)
def test_errors_name_the_path_of_a_leaf(case: str) -> None:
    """An error about one leaf names it by the Python expression that takes it out of the argument."""
    call, message = REFUSED[case]
    with pytest.raises(tl.TagloomError, match=message) as refused:
        call()
    assert "test_parameter_trees.py" in str(refused.value.where) or refused.value.where is None
