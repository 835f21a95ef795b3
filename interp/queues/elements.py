"""Elements of queues: their nesting, the types of their leaves, and batches of them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ...core.errors import TagloomError, Usage
from ...core.frontend.trace.annotation import tree_type_of_annotation
from ...core.frontend.trace.pytree import TreeType
from ...core.frontend.trace.source_location import user_location
from ...core.frontend.trace.symbol import Symbol
from ...core.types import HandleType, Type, type_of
from ...core.value import Literal, Value, admit, normalize

Element: TypeAlias = tuple[Literal, ...]
"""The leaves of an element."""


def check_integer(what: str, number: Any, minimum: int) -> int:
    """Return an integer from `minimum` up; raises Usage for anything else."""
    try:
        found = operator.index(number)
    except TypeError:
        found = minimum - 1
    if found < minimum or isinstance(number, bool):
        raise Usage(
            f"{what} is a number", where=user_location(), required=f"an integer from {minimum} up", got=repr(number)
        )
    return found


def element_type(type_: Any) -> TreeType:
    """The nested form of an element type; raises Usage if it is no type."""
    try:
        form = tree_type_of_annotation(type_, {})
        handles = [leaf for leaf in form.types if isinstance(leaf.dtype, HandleType)]
        if handles:
            raise Usage("cells do not leave the program", required="numbers or arrays", got=handles[0])
        if not form.types:
            raise Usage("elements without leaves", required="a type", got=repr(type_))
    except TagloomError as error:
        error.where = user_location()
        raise
    return form


def admit_leaf(name: str, leaf: Any, type_: Type) -> Any:
    """A leaf as a value of its type; a symbolic leaf is returned unchanged, since its sizes may be known only later."""
    try:
        if not isinstance(leaf, Symbol):
            return admit(leaf, type_)
        if leaf.dtype is type_.dtype:
            return leaf
        raise Usage("a value of the wrong type", required=type_, got=leaf)
    except Usage as error:
        error.message, error.where = f"{name}: {error.message}", user_location()
        raise


def literal_of(value: Value) -> Literal:
    return Literal(value, type_of(value))


def stack_elements(elements: Sequence[Element], types: Sequence[Type]) -> Element:
    """Stack elements into a batch."""
    return tuple(
        literal_of(normalize(np.stack([np.asarray(leaf.value) for leaf in leaves]), type_))
        for leaves, type_ in zip(zip(*elements, strict=True), types, strict=True)
    )
