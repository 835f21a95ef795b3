"""Quick calls: each assumption is checked before a run, and calls use the same memory one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.twins.broken_twin import broken
from tagloom.interp.engines.compiled import run, watchdog
from tagloom.interp.speculation import quick_call, speculative_function, walk_kernel
from tagloom.interp.speculation.quick_call import QuickCall
from tagloom.interp.speculation.speculative_function import Definitions
from tagloom.interp.speculation.walk import WalkPlan

pytestmark = pytest.mark.full
MODE = "plain"


class Node:
    """A node of a tree, whose weight a method gives."""

    def __init__(self, count: int, left: Any = None, right: Any = None) -> None:
        self.count, self.left, self.right = count, left, right
        self.vector = tl.asarray([count, 0.5])

    def weight(self) -> float:
        return 2.0


class Other(Node):
    """A node of another class."""


def total(node: Any) -> float:
    if node is None:
        return 0.0
    return float(node.weight() * node.count + total(node.left) + 3.0 * total(node.right))


def measure(node: Any, other: Any, factor: float, offset: Any) -> Any:
    value = total(node)
    if other is not None:
        value += total(other)
    if node is other:
        value += 100.0
    if MODE == "double":
        value *= 2.0
    return value * factor, offset + node.vector, other, factor


def make_tree(depth: int) -> Node:
    """A tree whose nodes are distinct."""
    return Node(depth, make_tree(depth - 1), make_tree(depth - 2)) if depth > 0 else Node(-depth)


OFFSET = tl.asarray([1.0, 2.0])


class Call(NamedTuple):
    """Arguments of a call, and what undoes the changes around it."""

    arguments: tuple[Any, ...]
    undo: Callable[[], object] = lambda: None


def shared_subtree() -> Call:
    tree = make_tree(3)
    tree.left.left = tree.right
    return Call((tree, tree.right, 0.5, OFFSET))


def same_arguments() -> Call:
    tree = make_tree(3)
    return Call((tree, tree, 0.5, OFFSET))


def no_second_tree() -> Call:
    return Call((make_tree(2), None, 0.5, OFFSET))


def larger_tree() -> Call:
    return Call((make_tree(9), make_tree(8), -0.5, OFFSET))


def large_integer() -> Call:
    tree = make_tree(2)
    tree.left.count = 2**80
    return Call((tree, None, 0.5, OFFSET))


def float_count() -> Call:
    tree = make_tree(2)
    tree.right.count = 0.5  # type: ignore[assignment]
    return Call((tree, None, 0.5, OFFSET))


def other_class() -> Call:
    tree = make_tree(2)
    tree.left = Other(5)
    return Call((tree, None, 0.5, OFFSET))


def other_class_of_argument() -> Call:
    return Call((Other(4), None, 0.5, OFFSET))


def integer_factor() -> Call:
    return Call((make_tree(2), None, 3, OFFSET))


def other_shape() -> Call:
    tree = make_tree(2)
    tree.vector = tl.asarray([1.0])
    return Call((tree, None, 0.5, OFFSET))


def other_shape_of_argument() -> Call:
    return Call((make_tree(2), None, 0.5, tl.asarray([1.0])))


def method_of_an_instance() -> Call:
    tree = make_tree(2)
    tree.left.weight = lambda: 7.0
    return Call((tree, None, 0.5, OFFSET))


def changed_method() -> Call:
    sound = Node.weight
    Node.weight = lambda self: 5.0  # type: ignore[method-assign]
    return Call((make_tree(2), None, 0.5, OFFSET), lambda: setattr(Node, "weight", sound))


def changed_variable() -> Call:
    globals()["MODE"] = "double"
    return Call((make_tree(2), None, 0.5, OFFSET), lambda: globals().update(MODE="plain"))


def changed_function() -> Call:
    sound = total.__code__
    total.__code__ = (lambda node: 4.0).__code__
    return Call((make_tree(2), None, 0.5, OFFSET), lambda: setattr(total, "__code__", sound))


def shared_dict() -> Call:
    tree = make_tree(2)
    tree.right.__dict__ = tree.left.__dict__
    return Call((tree, None, 0.5, OFFSET))


CHANGES = (
    *(shared_subtree, same_arguments, no_second_tree, larger_tree, large_integer, float_count, other_class),
    *(other_class_of_argument, integer_factor, other_shape, other_shape_of_argument, method_of_an_instance),
    *(changed_method, changed_variable, changed_function, shared_dict),
)
"""Calls that differ from the others in one respect each."""


@pytest.fixture(autouse=True)
def machine_code(monkeypatch: MonkeyPatch) -> None:
    """Machine code reads the objects from the first graph on, and runs count as quick on a machine with other work."""
    monkeypatch.setattr(run, "QUICK_SECONDS", 60.0)
    monkeypatch.setattr(watchdog, "POLL_SECONDS", 1.0)
    monkeypatch.setattr(speculative_function, "find_kernel", lambda: walk_kernel)


def make_quick_function() -> Any:
    """`measure` with a graph whose last call was quick."""
    function = tl.speculate(engine="compiled")(measure)
    for depth in (2, 3, 2, 3, 4, 3):
        function(make_tree(depth), make_tree(depth - 1) if depth > 2 else None, 0.25, OFFSET)
    tree = make_tree(3)
    function(tree, tree, 0.25, OFFSET)
    return function


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The result of a call, or its exception, in a form that can be compared."""
    try:
        value, vector, other, factor = function(*arguments)
    except Exception as error:
        return type(error), str(error)
    return value, np.asarray(vector).tolist(), id(other), repr(factor)


def check(change: Callable[[], Call], patch: MonkeyPatch) -> int:
    """Calls around one that differs do what Python does; returns how many of them were quick."""
    function, count, sound = make_quick_function(), 0, QuickCall.call

    def call(quick: QuickCall, roots: Any) -> Any:
        nonlocal count
        result = sound(quick, roots)
        count += result is not None
        return result

    patch.setattr(QuickCall, "call", call)
    for _ in range(2):
        tree = make_tree(3)
        assert outcome(function, (tree, None, 0.25, OFFSET)) == outcome(measure, (tree, None, 0.25, OFFSET))
        different = change()
        try:
            assert outcome(function, different.arguments) == outcome(measure, different.arguments)
        finally:
            different.undo()
        assert outcome(function, (tree, tree, 0.25, OFFSET)) == outcome(measure, (tree, tree, 0.25, OFFSET))
    return count


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_quick_calls_see_changes(change: Callable[[], Call], monkeypatch: MonkeyPatch) -> None:
    """A call with a change does what Python does, and so do quick calls before and after it."""
    assert check(change, monkeypatch) > 0


def _definitions_unchecked(patch: MonkeyPatch) -> None:
    patch.setattr(Definitions, "is_unchanged", lambda definitions: True)


def _constants_unchecked(patch: MonkeyPatch) -> None:
    def read_function(key: Any) -> Any:
        value = key.read()
        return lambda name, default: value

    patch.setattr(quick_call, "_read_function", read_function)


def _kinds_unchecked(patch: MonkeyPatch) -> None:
    patch.setattr(quick_call, "NUMBER_CLASSES", {int: "f", float: "f"})


def _first_walk_for_all(patch: MonkeyPatch) -> None:
    sound, seen = WalkPlan.walk_in, list[Any]()

    def walk_in(plan: WalkPlan, scratch: Any, *arguments: Any) -> bool:
        if scratch in seen:
            return True
        seen.append(scratch)
        return sound(plan, scratch, *arguments)

    patch.setattr(WalkPlan, "walk_in", walk_in)


TWINS = {
    "definitions unchecked": (_definitions_unchecked, changed_method),
    "constants unchecked": (_constants_unchecked, changed_variable),
    "kinds of numbers unchecked": (_kinds_unchecked, integer_factor),
    "the first walk for all": (_first_walk_for_all, larger_tree),
}
"""Quick calls without a check, each with the change that shows it."""


@pytest.mark.parametrize("name", TWINS)
def test_calls_without_a_check_are_caught(name: str, monkeypatch: MonkeyPatch) -> None:
    """A quick call that skips a check differs from Python."""
    twin, change = TWINS[name]
    with broken(twin), pytest.raises(AssertionError):
        check(change, monkeypatch)
