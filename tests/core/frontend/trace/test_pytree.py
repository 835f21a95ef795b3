"""Structures: nested values are flattened into leaves and rebuilt without loss."""

from __future__ import annotations

import dataclasses
import re
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given
from hypothesis import strategies as st
from tagloom.core.frontend.trace.annotation import tree_type_of_annotation
from tagloom.core.frontend.trace.pytree import (
    LEAF,
    TreeDef,
    describe_difference,
    flat_treedef,
    flatten,
    label_leaves,
    leaf_names,
    leaf_paths,
    unflatten,
)


@dataclass
class Point:
    x: tl.float64
    y: tl.float64


@dataclass(frozen=True, slots=True)
class Pair:
    first: Any
    second: Any


@dataclass(kw_only=True)
class Keyed:
    a: Any
    b: Any = 3


class Row(NamedTuple):
    left: Any
    right: Any


Bare = namedtuple("Bare", "one two")

KEYS = st.text(max_size=3) | st.integers(-9, 9)
LEAVES = st.integers() | st.floats(allow_nan=False) | st.booleans() | st.lists(st.integers(), max_size=2) | st.none()


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pairs = st.tuples(inner, inner)
    return (
        st.lists(inner, max_size=3).map(tuple)
        | st.lists(inner, max_size=3)
        | st.dictionaries(KEYS, inner, max_size=3)
        | pairs.map(lambda pair: Pair(*pair))
        | pairs.map(lambda pair: Row(*pair))
        | pairs.map(lambda pair: Bare(*pair))
        | pairs.map(lambda pair: Keyed(a=pair[0], b=pair[1]))
    )


VALUES = st.recursive(LEAVES, _nested, max_leaves=12)


@given(VALUES)
def test_values_survive_a_round_trip(value: Any) -> None:
    """unflatten(flatten(v)) is v, with the same classes, and with dicts in the same order."""
    leaves, structure = flatten(value)
    back = unflatten(structure, leaves)
    assert back == value and repr(back) == repr(value) and type(back) is type(value)


@given(VALUES)
def test_a_structure_has_no_values(value: Any) -> None:
    """A structure has as many leaves as the value, is hashable, and accepts any other leaves."""
    leaves, structure = flatten(value)
    assert structure.size == len(leaves) and hash(structure) == hash(flatten(value)[1])
    others = list(range(len(leaves)))
    assert flatten(unflatten(structure, others), like=structure) == (others, structure)


@given(VALUES)
def test_every_leaf_has_a_name(value: Any) -> None:
    """The name of each leaf begins with the name of the value."""
    structure = flatten(value)[1]
    names = leaf_names(structure, "p")
    assert len(names) == structure.size and all(name == "p" or name.startswith("p_") for name in names)
    assert all(name.isidentifier() for name in names)


@given(VALUES)
def test_every_leaf_has_a_path(value: Any) -> None:
    """The path of each leaf is the Python expression that takes it out of the value."""
    leaves, structure = flatten(value)
    assert all(eval(path, {"p": value}) is leaf for path, leaf in zip(leaf_paths(structure, "p"), leaves, strict=True))


@given(VALUES)
def test_a_list_of_numbers_nests_where_a_list_is_required(value: Any) -> None:
    """A value has the structure of one in which lists are lists, even if the lists hold numbers only."""
    structure = flatten(value, is_leaf=None)[1]
    assert flatten(value, like=structure)[1] == structure


@given(st.dictionaries(KEYS, LEAVES, max_size=4), st.randoms())
def test_the_order_of_a_dict_does_not_count(value: dict[str | int, Any], random: Any) -> None:
    """Dicts with the same keys have one structure, with leaves in one order; each is rebuilt in its own order."""
    items = list(value.items())
    random.shuffle(items)
    shuffled = dict(items)
    leaves, structure = flatten(shuffled)
    assert (leaves, structure) == flatten(value) and list(unflatten(structure, leaves)) == list(shuffled)


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (3, ["p"]),
        ((1, (2, 3)), ["p_0", "p_1_0", "p_1_1"]),
        (Point(1, 2), ["p_x", "p_y"]),
        ({"b": 1, "a": Point(1, 2)}, ["p_a_x", "p_a_y", "p_b"]),
        ({"two words": 1, "": 2, "ä": 3}, ["p_", "p_two_words", "p_ä"]),
        ((), []),
    ],
)
def test_names(value: Any, names: list[str]) -> None:
    """The name of a leaf is that of the value with the keys of its path; keys of dicts are sorted."""
    assert leaf_names(flatten(value)[1], "p") == names


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "one value"),
        ([1, 2], "one value"),
        ((), "()"),
        ((1,), "(value,)"),
        ((1, 2), "(value, value)"),
        (Point(1, 2), "Point(x, y)"),
        (Row(1, (2,)), "Row(left, right: (value,))"),
        ({"b": 1, "a": 2}, "{b, a}"),
        ({"p": Point(1, 2), "n": 3}, "{p: Point(x, y), n}"),
        ([Point(1, 2), [None]], "[Point(x, y), [value]]"),
        ({2: 1, "a": None}, "{2, a}"),
        (({},), "({},)"),
    ],
)
def test_a_structure_prints_like_its_value(value: Any, text: str) -> None:
    """A structure prints as one would write the value, with classes and keys; a leaf is a dot."""
    assert str(flatten(value)[1]) == text


def test_lists_of_numbers_and_arrays_are_leaves() -> None:
    """Lists of Python numbers and arrays are leaves, and so is everything that is no collection."""
    for value in ([1, 2], [[1.5], [True]], [], np.zeros(2), "text", None, Point, len):
        leaves, structure = flatten(value)
        assert leaves[0] is value and structure == LEAF


def test_structures_differ() -> None:
    """Structures differ by classes, keys and nesting, even with equal numbers of leaves."""
    values = [(1, 2), Row(1, 2), Bare(1, 2), Pair(1, 2), Point(1, 2), {"x": 1, "y": 2}, {"a": 1, "b": 2}, ((1, 2),)]
    assert len({flatten(value)[1] for value in values}) == len(values)
    assert flatten((1, 2))[1] == flat_treedef(2) and TreeDef() == LEAF


class Own:
    def __init__(self, total: int) -> None:
        self.total = total


@dataclass(init=False)
class Custom(Own):
    part: int = 0


@dataclass
class Doubled:
    x: Any

    def __post_init__(self) -> None:
        self.x = (self.x, self.x)


@dataclass
class Kept:
    x: Any
    seen: int = field(init=False, default=0)


@dataclass
class Derived:
    x: Any
    twice: Any = field(init=False)

    def __post_init__(self) -> None:
        self.twice = self.x + self.x


@dataclass
class WithPseudoField:
    x: Any
    scale: dataclasses.InitVar[int]


@dataclass
class WithDefault:
    x: Any
    scale: dataclasses.InitVar[int] = 3


def test_derived_fields_are_made_again() -> None:
    """Fields that __post_init__ derives from others are no leaves, and are derived again."""
    leaves, structure = flatten(Derived(3))
    assert leaves == [3] and unflatten(structure, [5]) == Derived(5)
    assert flatten(Kept(1))[0] == [1]


def _changed() -> Kept:
    kept = Kept(1)
    kept.seen = 7
    return kept


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Custom(3), "an instance of Custom cannot be rebuilt from its fields"),
        (WithPseudoField(1, 2), "an instance of WithPseudoField cannot be rebuilt from its fields"),
        (WithDefault(1), "an instance of WithDefault cannot be rebuilt from its fields"),
        (_changed(), "field seen of Kept is not a parameter of the class, so it would be lost"),
        ({1.0: 2}, "the keys of a dict are not all strings"),
        ({True: 2}, "the keys of a dict are not all strings or integers"),
        ({"a": {("b",): 2}}, "the keys of a dict are not all strings"),
    ],
)
def test_values_that_cannot_be_rebuilt_are_refused(value: Any, message: str) -> None:
    """A value that could not be rebuilt is refused when it is flattened, at the user's line."""
    with pytest.raises(tl.Invalid, match=message) as refused:
        flatten(value)
    assert "test_pytree.py" in str(refused.value.where)


def test_an_instance_that_changes_its_fields() -> None:
    """An instance of a class that changes its arguments is refused, and never rebuilt differently."""
    leaves, structure = flatten(Doubled(1))
    with pytest.raises(tl.Invalid, match="an instance of Doubled changes its field x"):
        unflatten(structure, leaves)


def test_a_value_that_contains_itself() -> None:
    """A dict that contains itself is refused without a RecursionError."""
    value: dict[str, Any] = {}
    value["self"] = value
    with pytest.raises(tl.Invalid, match="contains itself"):
        flatten(value)


class Counts(TypedDict):
    b: tl.int64
    a: Point


class Worded(NamedTuple):
    word: str


class Typed(NamedTuple):
    n: int
    rows: tl.Array[tl.float64, None]


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ({"n": tl.int64, "a": (tl.bool, {"x": float})}, "{n: int64, a: (bool, {x: float64})}"),
        (tl.int64, "int64"),
        (tuple[tl.int64, tl.float64], "(int64, float64)"),
        ((tl.int64, (tl.bool,)), "(int64, (bool,))"),
        ([tl.int64, {1: tl.bool}], "[int64, {1: bool}]"),
        (tuple[()], "()"),
        (Point, "Point(x: float64, y: float64)"),
        (Typed, "Typed(n: int64, rows: float64[?])"),
        (Counts, "{b: int64, a: Point(x: float64, y: float64)}"),
        (tuple[Point, Typed], "(Point(x: float64, y: float64), Typed(n: int64, rows: float64[?]))"),
    ],
)
def test_annotations_nest(annotation: Any, message: str) -> None:
    """Annotations nest as values do, in tuples, TypedDicts, NamedTuples and dataclasses, as strings or objects."""
    assert str(tree_type_of_annotation(annotation, {})) == message


T = TypeVar("T")


@dataclass
class Box(Generic[T]):
    value: T
    pair: tuple[T, tl.bool]


class Boxes(NamedTuple, Generic[T]):
    one: Box[T]
    other: "Box[T]"  # noqa: UP037 - a string is read like any other


@dataclass
class Wider(Generic[T]):
    value: T
    further: Wider[tuple[T, T]]


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (Box[tl.int64], "Box(value: int64, pair: (int64, bool))"),
        (Box[tuple[tl.int8, tl.bool]], "Box(value: (int8, bool), pair: ((int8, bool), bool))"),
        (Box[Box[tl.bool]], "Box(value: B, pair: (B, bool))".replace("B,", "Box(value: bool, pair: (bool, bool)),")),
        (Boxes[tl.int8], "Boxes(one: BOX, other: BOX)".replace("BOX", "Box(value: int8, pair: (int8, bool))")),
    ],
)  # fmt: skip
def test_generic_classes(annotation: Any, message: str) -> None:
    """A generic class has the types that its variables stand for."""
    assert str(tree_type_of_annotation(annotation, {})) == message


def test_labels_are_in_the_order_of_the_value() -> None:
    """Leaves are labelled with their paths in the order of the value, and not of the sorted keys."""
    leaves, structure = flatten({"r": Point(9, 2), "n": 3, "a": (1, {"z": 4})})
    assert label_leaves(structure, leaves) == [("r.x", 9), ("r.y", 2), ("n", 3), ("a.0", 1), ("a.1.z", 4)]


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ((1, 2), (1, (2,)), ("(value, value)", "(value, (value,))")),
        ((1,) * 500 + ({"a": 1},), (1,) * 500 + ({"b": 1},), ("{a} at p[500]", "{b} at p[500]")),
        (Pair((1,) * 500, Row(1, 2)), Pair((1,) * 500, 1), ("Row(left, right) at p.second", "one value at p.second")),
        ((1,) * 500, (1,) * 501, (" ... (500 values)", " ... (501 values)")),
    ],
)
def test_the_first_difference_of_structures(one: Any, other: Any, message: tuple[str, str]) -> None:
    """The message about two long structures names the first part in which they differ, and is short."""
    told = describe_difference(flatten(one)[1], flatten(other)[1], "p")
    assert all(part.endswith(end) and len(part) < 200 for part, end in zip(told, message, strict=True))


class Partial(TypedDict, total=False):
    a: tl.int64


@dataclass
class Tree:
    value: tl.int64
    left: Tree


@dataclass
class Lost:
    x: Nowhere  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (tuple[tl.int64, ...], "not a type"),
        (tuple[str], "not a type"),
        (list[tl.int64], "not a type"),
        (dict[str, tl.int64], "not a type"),
        ({"n": tl.int64, None: tl.int64}, "the keys of a dict are not all strings.*\n.*\n.*got: None"),
        (Partial, "a dict of a program cannot have optional keys"),
        (Tree, "Tree contains itself"),
        (Lost, "the annotations of Lost cannot be read"),
        (Bare, "field one of Bare has no type"),
        (WithPseudoField, "cannot be rebuilt from its fields"),
        (WithDefault, "argument scale is not a field"),
        (Box, "field value of Box: not a type.*\n.*\n.*\n.*give it a type, as in Box\\[tl.int64\\]"),
        (Wider[tl.int64], "Wider contains itself"),
        (tuple[tl.int64, ...], "got: tuple\\[tl.int64, ...\\]\n.*a tuple has a fixed length"),
        (list[tl.int64], "got: list\\[tl.int64\\]\n.*a list has no fixed length"),
        (dict[str, tl.int64], "hint: a dict has fixed keys: write a typing.TypedDict"),
        (tuple[Point, Worded], "field word of Worded: not a type"),
    ],
)
def test_annotations_without_leaves_are_refused(annotation: Any, message: str) -> None:
    """An annotation without a fixed number of typed leaves is refused."""
    with pytest.raises(tl.TagloomError) as refused:
        tree_type_of_annotation(annotation, {})
    assert re.search(message, str(refused.value)), refused.value


class Shape:
    """A class of the user, which is no container of values."""


@dataclass
class Record:
    words: list[str]
    after: Record | None = None


def first_of(xs: list[int], ys: dict[str, list[float]], zs: tuple[int, ...], word: str, shape: Shape) -> int | None:
    return xs[0] + zs[0] if word else None


def sum_of_all(*xs: int, **ys: float) -> list[float]:
    return [sum(xs), *ys.values()]


def record_length(record: Record, default: T) -> list[T | int]:
    return [len(record.words), default]


def test_annotations_of_python_without_a_structure_leave_the_types_to_the_arguments() -> None:
    """Lists, dicts, strings, unions, classes and type variables may annotate parameters and results."""
    result = tl.function(first_of)([1, 2], {"a": [1.5]}, (3,), "x", Shape())
    assert result == 4 and isinstance(result, int)
    assert tl.function(sum_of_all)(1, 2, a=0.5) == [3, 0.5]
    assert tl.function(record_length)(Record(["a", "b"]), 7) == [2, 7]


@pytest.mark.parametrize("annotation", [list[tl.int64], tl.int64 | None, dict[str, tuple[tl.int64, str]], list[Tree]])
def test_annotations_with_a_dtype_must_declare_a_tree_of_values(annotation: Any) -> None:
    """An annotation with a type of tagloom in it is not passed over."""

    def function(x: Any) -> Any:
        return x

    function.__annotations__["x"] = annotation
    with pytest.raises(tl.Usage, match="parameter x of function"):
        tl.function(function)(1)
