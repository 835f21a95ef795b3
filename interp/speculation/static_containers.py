"""Operations on static lists and dicts. Each item has values of its own, and the length is known."""

from __future__ import annotations

import ast
from typing import Any

from .heap import PlaceKey
from .layouts import MISSING, ConstantLayout, StaticObject
from .staging import StagedValue, Staging


def _position(staging: Staging, static: StaticObject, index: StagedValue, node: ast.AST) -> PlaceKey:
    """The place of an item. A computed index or key moves the list or dict into the table, and generation restarts."""
    value: Any = index.layout.value if isinstance(index.layout, ConstantLayout) else None
    if type(value) not in ((int,) if static.owner is list else (str, int)):
        staging.make_general(static)
    if static.owner is dict:
        return PlaceKey(static, value)
    if not -static.size <= value < static.size:
        reason = "Python raises IndexError where it is not"
        staging.check(False, node, "the index is in range", reason, raises=IndexError)
    return PlaceKey(static, value % static.size)


def read_item(staging: Staging, static: StaticObject, index: StagedValue, node: ast.AST) -> StagedValue:
    """`owner[index]`."""
    key = _position(staging, static, index, node)
    return staging.require_assigned(staging.read_place(static, key.name), node, f"{key} is there", KeyError)


def write_item(staging: Staging, static: StaticObject, index: StagedValue, value: StagedValue, node: ast.AST) -> None:
    """`owner[index] = value`."""
    staging.write_heap(_position(staging, static, index, node), value, node)


def contains_key(staging: Staging, static: StaticObject, item: StagedValue) -> bool:
    """Whether a static dict has a key."""
    is_key = isinstance(item.layout, ConstantLayout) and type(item.layout.value) in (str, int)
    if static.owner is not dict or not is_key:
        staging.make_general(static)
    layout = staging.read_place(static, item.layout.value).layout  # type: ignore[union-attr]
    if layout != MISSING and staging.drop_missing(StagedValue(layout, ())).layout != layout:
        staging.make_general(static)
    return layout != MISSING
