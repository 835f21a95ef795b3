"""Generated object graphs that hold variables: dicts, lists, tuples, objects with and without slots, shared parts and
cycles. Paths through them are followed without tagloom."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import tagloom as tl
from hypothesis import strategies as st
from tagloom.core import dtypes
from tagloom.core.dtypes import DType

NAMES = ("w", "b", "a.b", "a\\.b", "\\", "", "layer 1", "é", "__metadata__", "0", "tensor")
SHAPES = ((), (0,), (3,), (2, 0, 2), (1, 2, 2))
KINDS = ("dict", "list", "object", "slots", "data")


class Object:
    """An object with a `__dict__`."""


class Slots:
    __slots__ = ("__hidden", "b", "w")

    def put(self, name: str, part: Any) -> None:
        setattr(self, "_Slots__hidden" if name == "hidden" else name, part)


@dataclass(slots=True)
class Data:
    w: Any = None
    b: Any = None


class Pair(NamedTuple):
    left: Any
    right: Any


class Leaf(NamedTuple):
    """A variable: its dtype, shape, and bits."""

    dtype: DType
    shape: tuple[int, ...]
    bits: bytes

    @property
    def array(self) -> np.ndarray[Any, Any]:
        return np.frombuffer(self.bits, self.dtype.numpy).reshape(self.shape)


@st.composite
def leaves(draw: st.DrawFn) -> Leaf:
    dtype, shape = draw(st.sampled_from(dtypes.ALL)), draw(st.sampled_from(SHAPES))
    size = int(np.prod(shape)) * dtype.numpy.itemsize
    bits = draw(st.binary(min_size=size, max_size=size))
    return Leaf(dtype, shape, bytes(byte & 1 for byte in bits) if dtype is dtypes.bool else bits)


class Spec(NamedTuple):
    """A graph: the kinds of its containers, its leaves, and the edges of each container (name, part, wrapper)."""

    kinds: tuple[str, ...]
    leaves: tuple[Leaf, ...]
    edges: tuple[tuple[tuple[str, int, str], ...], ...]


@st.composite
def specs(draw: st.DrawFn, trees: bool = False) -> Spec:
    """Specs with containers numbered before leaves; the first container is the root. In trees, one edge leads to each
    part."""
    kinds = ("dict", *draw(st.lists(st.sampled_from(KINDS), max_size=5)))
    leaf_specs = tuple(draw(st.lists(leaves(), min_size=1, max_size=5)))
    count = len(kinds) + len(leaf_specs)
    edges: list[list[tuple[str, int, str]]] = [[] for _ in kinds]
    around = st.sampled_from(("", "", "tuple", "pair"))
    for part in range(1, count):
        source = draw(st.integers(0, min(part, len(kinds)) - 1))
        edges[source].append((draw(st.sampled_from(NAMES)), part, draw(around)))
    if not trees:
        for source, part in draw(st.lists(st.tuples(st.integers(0, len(kinds) - 1), st.integers(0, count - 1)))):
            edges[source].append((draw(st.sampled_from(NAMES)), part, draw(around)))
    return Spec(kinds, leaf_specs, tuple(map(tuple, edges)))


class ObjectGraph(NamedTuple):
    root: dict[str, Any]
    variables: list[tl.Variable]


def build(spec: Spec, values: Sequence[Any] | None = None) -> ObjectGraph:
    """The objects of a spec, made in an arbitrary order; `values` replace those of its leaves."""
    arrays = [leaf.array for leaf in spec.leaves] if values is None else values
    variables = [
        tl.Variable(value, dtype=leaf.dtype) for leaf, value in reversed(list(zip(spec.leaves, arrays, strict=True)))
    ][::-1]
    results = {"dict": dict, "list": list, "object": Object, "slots": Slots, "data": Data}
    parts: list[Any] = [*(results[kind]() for kind in spec.kinds), *variables]
    for number, edges in enumerate(spec.edges):
        for name, part, around in edges:
            inner = {"": parts[part], "tuple": (3, parts[part]), "pair": Pair(parts[part], "text")}[around]
            put(parts[number], name, inner)
    return ObjectGraph({f"r{name}": part for name, part in parts[0].items()}, variables)


def put(holder: Any, name: str, part: Any) -> None:
    """Store a part under a name, or in another slot of an object that lacks this one."""
    match holder:
        case dict():
            holder.setdefault(name, part)
        case list():
            holder.append(part)
        case Slots():
            holder.put(name if name in ("w", "b") else "hidden", part)
        case Data():
            setattr(holder, name if name in ("w", "b") else "w", part)
        case _:
            setattr(holder, name, part)


def follow_path(root: Any, path: str) -> Any:
    """The object at the end of a path."""
    names = [re.sub(r"\\(.)", r"\1", name) for name in re.findall(r"(?:\A|\.)((?:[^.\\]|\\.)*)", path)]
    for name in names:
        if isinstance(root, dict):
            root = root[name]
        elif isinstance(root, Pair):
            root = getattr(root, name)
        else:
            root = root[int(name)] if isinstance(root, list | tuple) else getattr(root, name)
    return root


def reachable_variables(root: Any) -> Iterator[tl.Variable]:
    """The reachable variables, each once, found without tagloom."""
    waiting, visited = [root], set()
    while waiting:
        each = waiting.pop()
        if id(each) in visited:
            continue
        visited.add(id(each))
        if isinstance(each, tl.Variable):
            yield each
        elif isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list | tuple):
            waiting.extend(each)
        elif isinstance(each, Slots | Data):
            names = ("w", "b", "_Slots__hidden")
            waiting.extend(getattr(each, name) for name in names if hasattr(each, name))
        elif isinstance(each, Object):
            waiting.extend(vars(each).values())


def bits(variable: tl.Variable) -> tuple[Any, ...]:
    array = np.asarray(variable.value)
    return array.dtype, array.shape, array.tobytes()


def other_leaf_value(leaf: Leaf) -> np.ndarray[Any, Any]:
    """Another value of a leaf's type, if the type has one."""
    return np.frombuffer(bytes(byte ^ 1 for byte in leaf.bits), leaf.dtype.numpy).reshape(leaf.shape)
