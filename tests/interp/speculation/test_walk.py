"""Walks over objects in machine code: they read what Python reads, or give up."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from laws.test_speculation_laws import check_program
from pytest import MonkeyPatch
from support.twins.broken_twin import broken
from tagloom.core.frontend.eager.array import ConcreteArray
from tagloom.core.types import Type
from tagloom.core.value import Literal
from tagloom.interp.engines.compiled.call_buffer import interface_address
from tagloom.interp.speculation import speculative_function, walk_kernel
from tagloom.interp.speculation.heap import FieldKey, LayoutMiss, ObjectTable
from tagloom.interp.speculation.layouts import MISSING, ArrayLayout, ConstantLayout, NumberLayout, ReferenceLayout
from tagloom.interp.speculation.walk import WalkPlan


class Leaf:
    """An object with a field of each kind."""

    def __init__(self, draw: random.Random) -> None:
        self.count, self.weight, self.flag = draw.randrange(-9, 9), draw.random(), draw.random() < 0.5
        self.vector, self.unit, self.link = tl.asarray([draw.random() for _ in range(3)]), "m", None
        self.steps = tl.asarray([draw.randrange(9), draw.randrange(9)])


class Branch:
    """An object with two references."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second


class Stranger:
    """An object of a class that no layout has."""


class Slotted:
    """An object without a dict."""

    __slots__ = ("count",)


class Key(str):
    """A string that acts when it is compared."""

    action: Callable[[], object]
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        self.action()
        return str.__eq__(self, other)


class Namespace(dict[str, Any]):
    """A dict of another class."""


FIELDS = {
    FieldKey(Leaf, "count"): NumberLayout("i"),
    FieldKey(Leaf, "weight"): NumberLayout("f"),
    FieldKey(Leaf, "flag"): NumberLayout("b"),
    FieldKey(Leaf, "vector"): ArrayLayout(Type(tl.float64, (3,))),
    FieldKey(Leaf, "steps"): ArrayLayout(Type(tl.int64, (2,))),
    FieldKey(Leaf, "unit"): ConstantLayout("m"),
    FieldKey(Leaf, "link"): ReferenceLayout(frozenset([Branch]), True),
    FieldKey(Leaf, "old"): MISSING,
    FieldKey(Branch, "first"): ReferenceLayout(frozenset([Leaf, Branch]), False),
    FieldKey(Branch, "second"): ReferenceLayout(frozenset([Leaf, Branch]), True),
}
ABSENT_NAMES = {Leaf: frozenset(["method"]), Branch: frozenset[str]()}
VARIABLES: dict[str, Any] = {}
"""Variables of a module."""


def _share_attributes(leaf: Leaf) -> None:
    other = Leaf(random.Random(0))
    leaf.link = Branch(other, None)
    other.__dict__ = leaf.__dict__


def _share_variables(leaf: Leaf) -> None:
    VARIABLES.update(vars(leaf))
    leaf.__dict__ = VARIABLES


def _array_of(values: Any) -> ConcreteArray:
    """An array that has these values themselves, which an op would copy."""
    return ConcreteArray(Literal(values, Type(tl.float64, (3,))))


DEFECTS: dict[str, Callable[[Leaf], object]] = {
    "a float": lambda leaf: setattr(leaf, "count", 1.0),
    "a bool": lambda leaf: setattr(leaf, "count", True),
    "an int": lambda leaf: setattr(leaf, "weight", 1),
    "63 bits": lambda leaf: setattr(leaf, "count", 2**62),
    "negative": lambda leaf: setattr(leaf, "count", -(2**62)),
    "70 bits": lambda leaf: setattr(leaf, "count", 2**70),
    "no bool": lambda leaf: setattr(leaf, "flag", 0),
    "another size": lambda leaf: setattr(leaf, "vector", tl.asarray([1.0, 2.0])),
    "another dtype": lambda leaf: setattr(leaf, "vector", tl.asarray([1, 2, 3])),
    "no array": lambda leaf: setattr(leaf, "vector", np.zeros(3)),
    "elements that are apart": lambda leaf: setattr(leaf, "vector", _array_of(np.zeros(6)[::2])),
    "elements in another class": lambda leaf: setattr(leaf, "vector", _array_of(np.zeros(3).view(np.recarray))),
    "another constant": lambda leaf: setattr(leaf, "unit", "km"),
    "another class": lambda leaf: setattr(leaf, "link", Stranger()),
    "a class that is elsewhere": lambda leaf: setattr(leaf, "link", Leaf(random.Random(1))),
    "None": lambda leaf: setattr(leaf, "link", Branch(None, None)),
    "nothing": lambda leaf: delattr(leaf, "count"),
    "an attribute that must be absent": lambda leaf: setattr(leaf, "old", 1),
    "an attribute of the class": lambda leaf: setattr(leaf, "method", 1),
    "shared attributes": _share_attributes,
    "attributes of a module": _share_variables,
    "a dict of another class": lambda leaf: setattr(leaf, "__dict__", Namespace(vars(leaf))),
}
"""What is not as the plan says, and what makes a leaf so."""
READ_BY_PYTHON = ("a dict of another class", "elements that are apart", "elements in another class")
"""The defects that only machine code cannot read."""


def make_objects(seed: int) -> tuple[Any, list[Leaf]]:
    """A graph of objects with aliases and cycles, and its leaves."""
    draw = random.Random(seed)
    leaves = [Leaf(draw) for _ in range(draw.randrange(1, 40))]
    nodes: list[Any] = [*leaves]
    for _ in range(draw.randrange(1, 200)):
        nodes.append(Branch(draw.choice(nodes), draw.choice([None, *nodes])))
    for leaf in leaves:
        leaf.link = draw.choice([None, *(node for node in nodes if type(node) is Branch)])
    return Branch(nodes[-1], leaves[0]), leaves


def check_packed_vectors(table: ObjectTable) -> None:
    """Machine code gets the vectors that other code reads: their addresses, and their sizes."""
    packed = table.pack_vectors()
    vectors = table.unpack([packed])
    words = [word for each in vectors for word in (0, interface_address(each), *each.shape)]
    assert packed.words == words


def read(root: Any, plan: WalkPlan | None) -> tuple[list[Any], ...] | None:
    """The objects that a table has, their classes, and the vectors of all fields; None if a value does not fit."""
    table = ObjectTable(FIELDS, ABSENT_NAMES, plan=plan)
    table.index(root, type(root))
    try:
        table.follow([VARIABLES])
        vectors = [(each.dtype.str, each.tolist()) for key in FIELDS for each in table.vectors(key)]
    except LayoutMiss:
        return None
    assert plan is None or table.is_walked
    if table.is_walked:
        check_packed_vectors(table)
    numbers = table.class_numbers({Leaf: 5, Branch: 7}).tolist()
    return [*map(id, table.objects)], numbers, table.class_rows().tolist(), vectors


def check_walks() -> None:
    """Walks and Python read the same of the same objects, in one plan whose room grows."""
    plan = WalkPlan(walk_kernel, FIELDS, ABSENT_NAMES)
    for seed in range(60):
        root, leaves = make_objects(seed)
        assert read(root, plan) == read(root, None) is not None
        name = list(DEFECTS)[seed % len(DEFECTS)]
        leaf = leaves[seed % len(leaves)]
        branch = Branch(root, leaf)
        DEFECTS[name](leaf)
        objects = [branch]
        assert plan.walk(objects, [Branch], [id(VARIABLES)]) is None, name
        assert objects == [branch], name
        VARIABLES.clear()


@pytest.mark.full
def test_walks_read_what_python_reads() -> None:
    """A walk has the objects, classes and vectors that Python has; with a defect of any kind, it gives up."""
    check_walks()


@pytest.mark.full
def test_defects_do_not_fit() -> None:
    """Python refuses each defect, too, but those that only machine code cannot read."""
    for name, spoil in DEFECTS.items():
        root, (leaf, *_) = make_objects(3)
        spoil(leaf)
        assert (read(Branch(root, leaf), None) is None) == (name not in READ_BY_PYTHON), name
        VARIABLES.clear()


@pytest.mark.full
def test_walks_leave_objects_of_another_form() -> None:
    """A walk gives up where an object has no dict, an array no elements, or the comparison of a key raises; it leaves
    no exception."""
    plan = WalkPlan(walk_kernel, FIELDS, {**ABSENT_NAMES, Slotted: frozenset()})
    leaves = [Leaf(random.Random(seed)) for seed in range(3)]
    leaves[0].vector = ConcreteArray.__new__(ConcreteArray)
    key = Key("count")
    key.action = lambda: 1 // 0
    leaves[1].__dict__ = {key: 1, **{name: value for name, value in vars(leaves[1]).items() if name != "count"}}
    for instance in (Slotted(), *leaves[:2]):
        objects: list[Any] = [instance]
        assert plan.walk(objects, [type(instance)], ()) is None
        assert objects == [instance]
    assert plan.walk([leaves[2]], [Leaf], ()) is not None


@pytest.mark.full
def test_walks_keep_what_they_read() -> None:
    """A walk reads the attributes that an object had, even if the comparison of a key replaces them."""
    plan = WalkPlan(walk_kernel, FIELDS, ABSENT_NAMES)
    leaf = Leaf(random.Random(0))
    old = vars(leaf)
    weight, key = leaf.weight, Key("count")
    key.action = lambda: setattr(leaf, "__dict__", {})
    leaf.__dict__ = {key: 3, **{name: value for name, value in old.items() if name != "count"}}
    walk = plan.walk([leaf], [Leaf], ())
    assert walk is not None
    positions = [plan.positions[FieldKey(Leaf, name)] for name in ("count", "weight")]
    vectors = walk.vectors()
    assert [vectors[position][0].tolist() for position in positions] == [[3], [weight]]
    assert vars(leaf) == {}


def check_nested_walks() -> None:
    """A walk reads what Python reads, even if another one by the same plan, as on another thread, needs more room
    before the first has returned."""
    pending = [make_objects(seed)[0] for seed in (1, 9, 6)]

    def walk(*arguments: Any) -> Any:
        count = walk_kernel.load_walk()(*arguments)
        if count >= 0 and pending:
            root = pending.pop()
            assert plan.walk([root], [Branch], ()) is not None
        return count

    plan = WalkPlan(SimpleNamespace(**{**vars(walk_kernel), "load_walk": lambda: walk}), FIELDS, ABSENT_NAMES)
    root, _ = make_objects(2)
    assert read(root, plan) == read(root, None)
    assert not pending


@pytest.mark.full
def test_nested_walks() -> None:
    """Walks by one plan may overlap."""
    check_nested_walks()


def _share_room(patch: MonkeyPatch) -> None:
    sound = WalkPlan.read_vector

    def read_vector(plan: WalkPlan, key: Any, capacity: Any, *memory: Any) -> Any:
        return sound(plan, key, plan._capacity, *memory)

    patch.setattr(WalkPlan, "read_vector", read_vector)


@pytest.mark.full
def test_shared_room_is_caught() -> None:
    """A walk that reads its arrays where the last walk has them reads others, or none."""
    with broken(_share_room), pytest.raises((AssertionError, TypeError)):
        check_nested_walks()


def _change_words(change: Callable[[list[int], int], None]) -> Callable[[MonkeyPatch], None]:
    """A twin whose plan differs at each class, whose words begin at a position."""
    sound = WalkPlan._build_words

    def build(plan: WalkPlan, classes: Any) -> list[int]:
        words = sound(plan, classes)
        for number in range(len(classes)):
            change(words, len(walk_kernel.HEADER) + walk_kernel.CLASS_WORDS * number)
        return words

    return lambda patch: patch.setattr(WalkPlan, "_build_words", build)


def _forget_absent_names(words: list[int], entry: int) -> None:
    words[entry + 4] = 0


def _change_references(detail: int, value: int) -> Callable[[list[int], int], None]:
    def change(words: list[int], entry: int) -> None:
        for number in range(words[entry + 2]):
            field = words[entry + 1] + walk_kernel.FIELD_WORDS * number
            if words[field] == walk_kernel.REFERENCE:
                words[field + detail] = value

    return change


def _mix_vectors(words: list[int], entry: int) -> None:
    for number in range(words[entry + 2]):
        words[words[entry + 1] + walk_kernel.FIELD_WORDS * number + 5] = 0


def _forget_variables(patch: MonkeyPatch) -> None:
    sound = WalkPlan.walk
    patch.setattr(WalkPlan, "walk", lambda plan, objects, classes, outside: sound(plan, objects, classes, ()))


TWINS = {
    "attributes of the class are not checked": _change_words(_forget_absent_names),
    "references may be to any class": _change_words(_change_references(3, 3)),
    "all references may be None": _change_words(_change_references(4, 1)),
    "dicts of variables are not known": _forget_variables,
    "machine code gets other vectors": _change_words(_mix_vectors),
}


@pytest.mark.full
@pytest.mark.parametrize("name", TWINS)
def test_broken_walks_are_caught(name: str) -> None:
    """A walk that checks less takes an object that Python refuses."""
    with broken(TWINS[name]), pytest.raises(AssertionError):
        check_walks()


@pytest.mark.full
@pytest.mark.parametrize("seed", range(6))
def test_programs_run_on_walks(seed: int, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """Random programs whose objects are walked do what they do in Python."""
    monkeypatch.setattr(speculative_function, "has_machine_code", lambda program: True)
    monkeypatch.setattr(speculative_function, "find_kernel", lambda: walk_kernel)
    check_program(seed, tmp_path)
