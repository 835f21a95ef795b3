"""Elements of queues: how they nest, of which types their leaves are, and batches of them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ...core.errors import TagloomError, Usage
from ...core.frontend.trace.annotation import form_of
from ...core.frontend.trace.pytree import Form
from ...core.frontend.trace.source_location import here
from ...core.frontend.trace.symbol import Symbol
from ...core.types import HandleType, Type, type_of
from ...core.value import Literal, Value, admit, normal

Element: TypeAlias = tuple[Literal, ...]
"""The leaves of an element."""


def whole(what: str, number: Any, least: int) -> int:
    """An integer from `least` up; raises Usage for anything else."""
    try:
        found = operator.index(number)
    except TypeError:
        found = least - 1
    if found < least or isinstance(number, bool):
        raise Usage(f"{what} is a number", where=here(), required=f"an integer from {least} up", got=repr(number))
    return found


def element_form(type_: Any) -> Form:
    """The form of elements of a type, which may be nested; raises Usage where it is none."""
    try:
        form = form_of(type_, {})
        handles = [leaf for leaf in form.types if isinstance(leaf.dtype, HandleType)]
        if handles:
            raise Usage("cells do not leave the program", required="numbers or arrays", got=handles[0])
        if not form.types:
            raise Usage("elements without leaves", required="a type", got=repr(type_))
    except TagloomError as error:
        error.where = here()
        raise
    return form


def admitted(name: str, leaf: Any, type_: Type) -> Any:
    """A leaf as a value of its type; a symbolic one as it is, since its sizes may be known only later."""
    try:
        if not isinstance(leaf, Symbol):
            return admit(leaf, type_)
        if leaf.dtype is type_.dtype:
            return leaf
        raise Usage("a value of the wrong type", required=type_, got=leaf)
    except Usage as error:
        error.message, error.where = f"{name}: {error.message}", here()
        raise


def literal_of(value: Value) -> Literal:
    return Literal(value, type_of(value))


def stacked(elements: Sequence[Element], types: Sequence[Type]) -> Element:
    """Elements as a batch."""
    return tuple(
        literal_of(normal(np.stack([np.asarray(leaf.value) for leaf in leaves]), type_))
        for leaves, type_ in zip(zip(*elements, strict=True), types, strict=True)
    )
