"""Text: strings that a program computes, as templates with numbers in their slots."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...core import dtypes
from ...core.errors import with_article
from .layouts import (
    ANY_TEXT,
    ConstantLayout,
    NotSpeculable,
    NumberLayout,
    Pool,
    ReferenceLayout,
    Slot,
    TextLayout,
    TupleLayout,
    number_kind,
)
from .staging import StagedValue, Staging

_SAMPLES = {"b": True, "i": 1, "f": 1.0}


def is_text(value: StagedValue) -> bool:
    """Whether a value is a string, constant or not."""
    layout = value.layout
    return isinstance(layout, TextLayout) or (isinstance(layout, ConstantLayout) and type(layout.value) is str)


def text_of(staging: Staging, value: StagedValue, slot: Slot, node: ast.AST) -> StagedValue:
    """The string of a value, with the conversion and the format of a slot. Raises NotSpeculable where it has none."""
    layout = value.layout
    if isinstance(layout, ConstantLayout) and (number_kind(layout) or type(layout.value) in (str, type(None))):
        try:
            return staging.constant(slot.text_of(layout.value))
        except ValueError as error:
            raise NotSpeculable(str(error)) from None
    if isinstance(layout, NumberLayout):
        try:
            slot.text_of(_SAMPLES[layout.kind])
        except ValueError as error:
            raise NotSpeculable(str(error)) from None
        leaf = value.leaves[0]
        leaf = staging.emit("astype", leaf, dtype=dtypes.int64) if layout.kind == "b" else leaf
        return StagedValue(TextLayout(((replace(slot, kind=layout.kind),),)), (0, leaf))
    if slot.format:
        raise NotSpeculable(f"the format of {with_article(layout)} has no graph")
    if isinstance(layout, TextLayout) and slot.conversion in ("", "s"):
        return value
    if isinstance(layout, TupleLayout) and layout.kind is tuple:
        items = [text_of(staging, item, Slot("", "r"), node) for item in staging.items(value)]
        parts = [staging.constant("(")]
        for position, item in enumerate(items):
            parts += [staging.constant(", "), item] if position else [item]
        return concatenate(staging, [*parts, staging.constant(",)" if len(items) == 1 else ")")])
    if isinstance(layout, ReferenceLayout):
        return _text_of_object(staging, value, slot, node)
    raise NotSpeculable(f"the text of {with_article(layout)} has no graph")


def _text_of_object(staging: Staging, value: StagedValue, slot: Slot, node: ast.AST) -> StagedValue:
    """The string that `__str__` or `__repr__` of an object returns."""

    def convert(owner: type, instance: StagedValue) -> StagedValue:
        if issubclass(owner, Pool):
            raise NotSpeculable("the text of a container has no graph")
        if staging.require_class_value(owner, "__format__") is not object.__format__:
            raise NotSpeculable(f"{owner.__qualname__} has __format__")
        name = "__repr__"
        if slot.conversion in ("", "s") and staging.require_class_value(owner, "__str__") is not object.__str__:
            name = "__str__"
        result = staging.call_special(instance, name, (), node)
        if not is_text(result):
            raise NotSpeculable(f"{owner.__qualname__}.{name} does not return one string")
        return result

    return staging.for_each_class(value, node, convert)


METHODS = (
    *("isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric", "isspace"),
    *(
        "istitle",
        "isupper",
        "lower",
        "upper",
        "strip",
        "lstrip",
        "rstrip",
        "title",
        "capitalize",
        "swapcase",
        "casefold",
    ),
    *("startswith", "endswith", "find", "rfind", "count", "replace", "removeprefix", "removesuffix", "zfill"),
)
"""Methods of strings whose results are strings, ints and bools."""


def call_method(
    staging: Staging, text: str, name: str, values: Sequence[StagedValue], keywords: dict[str, StagedValue]
) -> StagedValue:
    """A call of a method of a constant string with constant arguments."""
    constants = [value.layout.value for value in values if isinstance(value.layout, ConstantLayout)]
    are_plain = all(type(constant) in (str, int, type(None)) for constant in constants)
    if name not in METHODS or keywords or len(constants) < len(values) or not are_plain:
        raise NotSpeculable(f"method {name} of a string with these arguments has no graph")
    try:
        return staging.constant(getattr(text, name)(*constants))
    except (TypeError, ValueError) as error:
        raise NotSpeculable(str(error)) from None


def read_item(staging: Staging, text: str, key: Any, node: ast.AST) -> StagedValue:
    """A character of a constant string, or a part of it."""
    if isinstance(key, int) and not -len(text) <= key < len(text):
        reason = "Python raises IndexError where it is not"
        staging.check(False, node, "the index is in range", reason, raises=IndexError)
    return staging.constant(text[key])


def contains(staging: Staging, text: str, item: StagedValue) -> StagedValue:
    """`item in text` for a constant string."""
    if not isinstance(item.layout, ConstantLayout) or type(item.layout.value) is not str:
        raise NotSpeculable(f"`in` a string of {with_article(item.layout)} has no graph")
    return staging.constant(item.layout.value in text)


def handle_of(staging: Staging, value: StagedValue) -> Any:
    """The number of a string in the table; equal strings have the same number. Raises NotSpeculable for a computed
    string."""
    if isinstance(value.layout, ConstantLayout):
        return staging.number_of_text(value.layout.value)
    layout = value.layout
    assert isinstance(layout, TextLayout)
    handles = list[tuple[int, list[Any]]]()
    for position, template in enumerate(layout.templates):
        if template == ANY_TEXT.templates[0]:
            handles.append((position, [value.leaves[1]]))
        elif not layout.slots(position):
            handles.append((position, [staging.number_of_text("".join(map(str, template)))]))
        else:
            raise NotSpeculable("a string that is computed is compared")
    return staging.select(value.leaves[0], handles)[0]


def concatenate(staging: Staging, parts: Sequence[StagedValue]) -> StagedValue:
    """The concatenation of strings."""
    position = next((k for k, part in enumerate(parts) if _template_count(part) > 1), None)
    if position is not None:
        part = parts[position]

        def choose(template: int) -> StagedValue:
            single_template_parts = [*parts[:position], _with_template(part, template), *parts[position + 1 :]]
            if template == _template_count(part) - 1:
                return concatenate(staging, single_template_parts)
            is_this = staging.emit("equal", part.leaves[0], template)
            return staging.branch(
                is_this, lambda: concatenate(staging, single_template_parts), lambda: choose(template + 1)
            )

        return choose(0)
    pieces: list[str | Slot] = []
    integers: list[Any] = []
    floats: list[Any] = []
    for part in parts:
        if isinstance(part.layout, ConstantLayout):
            pieces.append(part.layout.value)
            continue
        assert isinstance(part.layout, TextLayout)
        split = 1 + part.layout.count(False)
        integers += part.leaves[1:split]
        floats += part.leaves[split:]
        pieces += part.layout.templates[0]
    template = _join_text(pieces)
    if all(isinstance(piece, str) for piece in template):
        return staging.constant("".join(str(piece) for piece in template))
    return StagedValue(TextLayout((template,)), (0, *integers, *floats))


def _template_count(value: StagedValue) -> int:
    return len(value.layout.templates) if isinstance(value.layout, TextLayout) else 1


def _with_template(value: StagedValue, position: int) -> StagedValue:
    """A string with one known template, and the values of that template only."""
    layout = value.layout
    assert isinstance(layout, TextLayout)
    single_template = TextLayout((layout.templates[position],))
    split = 1 + layout.count(False)
    integers, floats = value.leaves[1:split], value.leaves[split:]
    return StagedValue(
        single_template, (0, *integers[: single_template.count(False)], *floats[: single_template.count(True)])
    )


def _join_text(pieces: Sequence[str | Slot]) -> tuple[str | Slot, ...]:
    """The pieces of a template, with adjacent strings joined.

    >>> _join_text(["a", "b", Slot("i"), "", "c"])
    ('ab', Slot(kind='i', conversion='', format=''), 'c')
    """
    template: list[str | Slot] = []
    for piece in pieces:
        if isinstance(piece, str) and template and isinstance(template[-1], str):
            template[-1] += piece
        elif piece != "":
            template.append(piece)
    return tuple(template)
