"""Trees of Python state: values nested in lists, tuples, dicts and dataclasses, as leaves and structure.

Unlike arguments and results of a program, state may contain lists, whose elements are then values of their own, and
any Python object, which is part of the structure. Objects are compared by identity, strings and the like by value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..trace.captures import VariableBase
from ..trace.program_builder import TracedValue, current_region
from ..trace.pytree import StaticLeaf, TreeDef, flatten, is_static, unflatten


class _ListMarker:
    """Marks a tuple that stands for a list."""

    def __repr__(self) -> str:
        return "list"


_LIST = _ListMarker()


class Tree(NamedTuple):
    """A piece of state: its leaves, which are values of a program, and its structure."""

    leaves: list[Any]
    treedef: TreeDef

    def rebuild(self, leaves: list[Any]) -> Any:
        """The state with these leaves. The lists and dicts in it are new, so that code which changes them is refused
        (`is_rebuilt`): the program may have chosen between several."""
        return _decode(unflatten(self.treedef, leaves))


def split(state: Any) -> Tree:
    """The leaves and the structure of a piece of state; raises Invalid as `flatten` does.

    >>> tree = split([1, ("a", 2.5)])
    >>> tree.leaves, tree.rebuild([3, 4.5])
    ([1, 2.5], [3, ('a', 4.5)])
    """
    return Tree(*flatten(_encode(state), by_reference=True, none_is_static=True))


def _encode(state: Any) -> Any:
    if type(state) is list:
        return (_LIST, *map(_encode, state))
    if type(state) is tuple:
        return tuple(map(_encode, state))
    if type(state) is dict and all(type(key) is str for key in state):
        return {key: _encode(value) for key, value in state.items()}
    return StaticObject(state) if _is_opaque(state) else state


def _is_opaque(state: Any) -> bool:
    """Whether an object is part of the structure although `flatten` would take it apart, or refuse it."""
    return isinstance(state, dict)


class StaticObject:
    """An object as part of a structure, by identity."""

    __slots__ = ("content",)

    def __init__(self, content: Any) -> None:
        self.content = content


def _decode(state: Any) -> Any:
    if isinstance(state, StaticObject):
        return state.content
    if type(state) is tuple:
        if state and state[0] is _LIST:
            return _note_rebuilt([_decode(item) for item in state[1:]])
        return tuple(map(_decode, state))
    if type(state) is dict:
        return _note_rebuilt({key: _decode(value) for key, value in state.items()})
    return state


def _note_rebuilt(container: Any) -> Any:
    region = current_region()
    if region is not None:
        region.specialization.rebuilt_containers[id(container)] = container
    return container


def is_rebuilt(container: Any) -> bool:
    """Whether staging has made this list or dict, from the contents of others."""
    region = current_region()
    return region is not None and id(container) in region.specialization.rebuilt_containers


def is_same(one: Any, other: Any) -> bool:
    """Whether two pieces of state are the same, so that nothing has to choose between them: one object, one symbolic
    value, or equal numbers or strings of one class.

    >>> is_same(1, 1), is_same(1, 1.0), is_same("a", "a"), is_same([], [])
    (True, False, True, False)
    """
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    value = getattr(one, "_tagloom_value", None)
    if isinstance(value, TracedValue):
        return value is other._tagloom_value
    if isinstance(one, VariableBase) or not (type(one) in (bool, int, float) or is_static(one)):
        return False
    return StaticLeaf(one) == StaticLeaf(other)
