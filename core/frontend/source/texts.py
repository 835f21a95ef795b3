"""Formats of strings with symbolic values in them: `str`, `repr`, f-strings, `%`, `str.format` and `str.join`."""

from __future__ import annotations

import dataclasses
import operator
import re
import string
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from ...errors import Invalid
from ..trace.captures import read_variable
from ..trace.choice import Choice
from ..trace.mutable_arrays import has_other_names
from ..trace.python_operations import fail_as_python, perform
from ..trace.pytree import is_record
from ..trace.source_location import user_location
from ..trace.stacked_items import DICT_CLASSES, ENTRIES, StackedItems, has_stacked_entries, has_stacked_items
from ..trace.symbol import Symbol, array_namespace
from ..trace.text import TEXTS, CodePoints, FormattedValue, Text, is_text
from . import library
from .characters import SymbolicText, as_characters, as_text, check_text, is_symbolic_integer, refuse_text
from .classes import user_method
from .convert import convert
from .option_operations import choose
from .trees import is_symbolic


def text_parts(value: Any, *, is_quoted: bool = False) -> tuple[Any, ...]:
    """The parts of `str(value)`, or of `repr(value)` if quoted: strings and symbolic values.

    >>> text_parts((1, "a"))
    ("(1, 'a')",)
    """
    value = read_variable(value)
    if is_symbolic(value):
        return (Symbol(value._tagloom_value) if has_other_names(value) else value,)  # an array may change later
    if type(value) is Choice:
        value.refuse()
    if isinstance(value, TEXTS):
        return _quote_text(value) if is_quoted else value.parts if isinstance(value, Text) else (value,)
    if type(value) is list and has_stacked_items(value) and _is_like_array(value):
        return (FormattedValue(array_namespace().asarray(value), "r"),)
    if has_stacked_items(value) or has_stacked_entries(value):
        return _joined_items(value)
    if type(value) in (list, tuple, *DICT_CLASSES):
        return tuple(_merge_strings(_container_parts(value)))
    kind: Any = type(value)
    name = "__repr__" if is_quoted or kind.__str__ is object.__str__ else "__str__"
    method = user_method(value, name)
    if method is not None:
        text = _require_text(convert(method)(value), name)
        return text_parts(as_characters(text) if type(text) is Choice else text)
    if name == "__repr__" and (fields := _fields_of(value)) is not None:
        parts = [
            part for field in fields for part in (", ", f"{field}=", *text_parts(getattr(value, field), is_quoted=True))
        ]
        return tuple(_merge_strings(iter([f"{kind.__qualname__}(", *parts[1:], ")"])))
    return (check_text(repr(value) if is_quoted else str(value)),)


def _require_text(text: Any, name: str) -> Any:
    """The string that a method with this name has returned. Raises TypeError for another value, as Python does."""
    if is_text(text):
        return text
    if type(text) is Choice:
        return choose(lambda option: _require_text(option, name), text)
    return fail_as_python(TypeError(f"{name} returned non-string (type {type(text).__name__})"))


def _fields_of(value: Any) -> list[str] | None:
    """The fields that `repr(value)` shows of a dataclass or a named tuple; None for all others."""
    kind: Any = type(value)
    parameters: Any = getattr(kind, "__dataclass_params__", None)
    if is_record(value) and parameters is not None:
        return [field.name for field in dataclasses.fields(kind) if field.repr] if parameters.repr else None
    is_named = isinstance(value, tuple) and hasattr(kind, "_fields") and kind.__repr__ is not tuple.__repr__
    return list(kind._fields) if is_named else None


def _quote_text(text: Any) -> tuple[Any, ...]:
    """The parts of `repr(text)`. Raises Invalid (F4) for a string whose characters may need a backslash."""
    parts = text.parts if isinstance(text, SymbolicText) else (text,)
    if any(isinstance(part, CodePoints) or (type(part) is str and repr(part) != f"'{part}'") for part in parts):
        refuse_text("repr()", text)
    return ("'", *parts, "'")


def _is_like_array(value: Any) -> bool:
    """Whether the text of a list is that of an array: it has numbers in it, and lists of them."""
    if type(value) is StackedItems:
        return value.lengths is None and _is_like_array(value.columns)
    return is_symbolic(value) or (type(value) is list and all(map(_is_like_array, value)))


def _joined_items(container: Any) -> tuple[Any, ...]:
    """The parts of the text of a list, tuple or dict of symbolic length: the code points between its brackets."""

    def codes_of(*parts: Any) -> list[Any]:
        texts = [part for value in parts for part in (": ", *parts_of(value))]
        return as_characters(SymbolicText(tuple(texts[1:]))).codes

    def parts_of(value: Any) -> tuple[Any, ...]:
        return _joined_items(value) if has_stacked_items(value) else text_parts(value, is_quoted=True)

    opening, closing = _BRACKETS[type(container).__name__]
    is_table = has_stacked_entries(container)
    join: Any = library.join_entries if is_table else library.join_items
    codes = convert(join)([container[ENTRIES]] if is_table else list(container), codes_of)
    inner = as_text(codes)
    return tuple(_merge_strings(iter([opening, *([inner] if type(inner) is str else ["", inner, ""]), closing])))


_BRACKETS = {"list": ("[", "]"), "tuple": ("(", ")"), "dict": ("{", "}")}


def _container_parts(container: Any) -> Iterator[Any]:
    if type(container) is defaultdict:
        yield from (f"defaultdict({container.default_factory!r}, ", *_container_parts(dict(container)), ")")
        return
    if type(container) is OrderedDict:
        content = dict(container) if sys.version_info >= (3, 12) else list(container.items())
        yield from ("OrderedDict(", *(_container_parts(content) if content else ()), ")")
        return
    opening, closing = _BRACKETS[type(container).__name__]
    yield opening
    for position, item in enumerate(container):
        yield ", " if position else ""
        yield from text_parts(item, is_quoted=True)
        if type(container) is dict:
            yield from (": ", *text_parts(container[item], is_quoted=True))
    yield "," + closing if type(container) is tuple and len(container) == 1 else closing


def _merge_strings(parts: Iterator[Any]) -> Iterator[Any]:
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
        else:
            yield from (text, part)
            text = ""
    yield text


def join_text(*texts: Any) -> Any:
    """An f-string, of its constant parts and its fields."""
    if all(isinstance(text, str) for text in texts):
        return "".join(texts)
    return SymbolicText(tuple(part for text in texts for part in text_parts(text)))


def field(value: Any, conversion: str, specification: Any = "") -> Any:
    """`{value!conversion:specification}` in an f-string. Raises Invalid (F4) where a symbolic value has one."""
    if conversion == "s" and (isinstance(specification, Text) or specification):
        value, conversion = join_text(*text_parts(value)), ""
    if isinstance(specification, Text) and not conversion:
        padded = _pad_field(read_variable(value), specification)
        if padded is not None:
            return padded
    parts = text_parts(value, is_quoted=conversion in ("r", "a"))
    if not isinstance(specification, str) or any(not isinstance(part, str) for part in parts):
        if isinstance(specification, str) and not specification:
            return SymbolicText(parts)
        value = read_variable(value)
        padding = _PADDING.fullmatch(specification) if isinstance(specification, str) else None
        if is_text(value) and padding and not conversion:
            method = as_characters(value).rjust if padding[2] == ">" else as_characters(value).ljust
            return method(int(padding[3]), padding[1] or " ")
        if not is_symbolic(value) or not isinstance(specification, str) or conversion:
            raise Invalid(
                "this format of a symbolic value is not supported",
                rule="F4",
                where=user_location(),
                got=f"format {specification!r}",
                hint="print the value as it is, or format the result of a run",
            )
        _check_format(value, specification)
        return SymbolicText((FormattedValue(value, specification),))
    conversions: dict[str, Callable[[Any], str]] = {"r": repr, "a": ascii, "s": str}
    value = perform(conversions[conversion], value) if conversion else value
    return check_text(perform(format, value, specification))


def _pad_field(value: Any, specification: Text) -> Any:
    """A string or number in a field whose width the run knows, as in `{x:>{width}}`; None for another format."""
    parts = [part for part in specification.parts if not isinstance(part, str) or part]
    position = next(k for k, part in enumerate(parts) if not isinstance(part, str))
    after = parts[position + 1 :]
    layout = _LAYOUT.fullmatch("".join(parts[:position]))
    is_number = type(value) in (int, float) or is_symbolic_integer(value)
    is_known = all(isinstance(part, str) for part in after) and is_symbolic_integer(parts[position])
    if layout is None or not is_known or not (is_number or is_text(value)):
        return None
    fill, alignment, zero = layout.groups()
    if alignment and zero:  # beside an alignment it only chooses the character that fills the field
        fill, zero = fill or "0", ""
    kind = "".join(after)
    if kind in ("", "d" * is_symbolic(value)):
        text: Any = SymbolicText(text_parts(value))
    elif not is_symbolic(value) and is_number:
        text = perform(format, value, kind)
    else:
        return None
    is_left = alignment == "<" or not (alignment or is_number)
    pad: Any = library.pad_with_zeros if zero else library.pad_text
    arguments = () if zero else (fill or " ", is_left, is_number)
    return convert(pad)(as_characters(text), parts[position], *arguments) if is_number or not zero else None


_LAYOUT = re.compile(r"(?:(.)?([<>]))?(0?)")
"""What comes before the width: a character that fills the field, on which side of the text it is, and the flag that
zeros fill it."""
_PADDING = re.compile(r"(?:(.)?([<>]))?(0|[1-9]\d*)")
"""A format of strings: a character that fills them, on which side they are, and the width."""


def _check_format(value: Any, specification: str) -> None:
    """Raises what Python raises for this format; Invalid (F4) for an array, and for braces."""
    type_ = value._tagloom_value.type
    if not type_.is_scalar or "{" in specification or "}" in specification:
        raise Invalid(
            "this format of a symbolic value is not supported",
            rule="F4",
            where=user_location(),
            required="a number, and a format without braces",
            got=f"format {specification!r} of {type_}",
        )
    perform(format, {"b": False, "f": 0.0}.get(type_.dtype.kind, 0), specification)


_PERCENT = re.compile(r"%(?:%|([-+ #0]*)(\d*)(?:\.(\d+))?([a-zA-Z]))")


def format_percent(text: Any, values: Any) -> Any:
    """`text % values`. Raises Invalid (F4) where a symbolic value has a conversion other than d, i, s, r, f, e, g."""
    items = values if type(values) is tuple else (values,)
    if type(text) is not str or not any(_has_symbolic_parts(item) for item in items):
        return perform(operator.mod, text, values)
    pieces, remaining, end = list[Any](), list(items), 0
    for match in _PERCENT.finditer(text):
        pieces.append(text[end : match.start()])
        end = match.end()
        if match[0] == "%%":
            pieces.append("%")
            continue
        if not remaining:
            fail_as_python(TypeError("not enough arguments for format string"))
        item = remaining.pop(0)
        pieces.append(
            _percent_field(match, item) if _has_symbolic_parts(item) else perform(operator.mod, match[0], (item,))
        )
    if remaining:
        fail_as_python(TypeError("not all arguments converted during string formatting"))
    return join_text(*pieces, text[end:])


def _percent_field(match: re.Match[str], value: Any) -> Any:
    flags, width, precision, kind = match[1], match[2], match[3], match[4]
    symbol = read_variable(value)
    if kind in "sr" and not (flags or width or precision):
        return field(value, kind if kind == "r" else "")
    is_number = is_symbolic(symbol) and symbol._tagloom_value.type.is_scalar and kind in "difeg"
    dtype_kind = symbol._tagloom_value.type.dtype.kind if is_number else ""
    if not is_number or (kind in "di" and (dtype_kind not in "iu" or precision)) or set(flags) - {"-", "0", "+", " "}:
        raise Invalid(
            "this format of a symbolic value is not supported",
            rule="F4",
            where=user_location(),
            got=f"{match[0]!r}",
            hint='write an f-string, as in f"{x:6.2f}"',
        )
    sign = "+" if "+" in flags else " " if " " in flags else ""
    align = "<" if "-" in flags else ">" if width and "0" not in flags else ""
    zero = "0" if "0" in flags and "-" not in flags else ""
    digits = f".{precision}" if precision else ""
    if not (flags or width or digits) and kind in "di":
        return field(value, "")
    return field(value, "", f"{align}{sign}{zero}{width}{digits}{'d' if kind == 'i' else kind}")


def format_fields(text: str, *values: Any, **named_values: Any) -> Any:
    """`text.format(...)`; NotImplemented where no value is symbolic."""
    if not any(map(_has_symbolic_parts, (*values, *named_values.values()))):
        return NotImplemented
    pieces, position = list[Any](), 0
    for literal, name, specification, conversion in string.Formatter().parse(text):
        pieces.append(literal)
        if name is None:
            continue
        if name == "":
            name, position = str(position), position + 1
        if "{" in (specification or "") or not (name.isdigit() or name.isidentifier()):
            raise Invalid(
                "this format is not supported for symbolic values",
                rule="F4",
                where=user_location(),
                got=repr(text)[:200],
                hint='write an f-string, as in f"n = {n}"',
            )
        value = values[int(name)] if name.isdigit() else named_values[name]
        pieces.append(field(value, conversion or "", specification or ""))
    return join_text(*pieces)


def join_strings(separator: str, texts: Any) -> Any:
    """`separator.join(texts)`; NotImplemented where no text has a symbolic value."""
    if type(texts) not in (list, tuple) or all(isinstance(text, str) or not is_text(text) for text in texts):
        return NotImplemented
    pieces = [piece for text in texts for piece in (separator, text)][1:]
    if not all(map(is_text, pieces)):
        fail_as_python(TypeError("sequence item: expected str instance"))
    if any(isinstance(piece, CodePoints) or type(piece) is Choice for piece in pieces):
        codes = [code for piece in pieces for code in as_characters(piece).codes]
        return as_text(codes)
    return join_text(*pieces)


def _has_symbolic_parts(value: Any) -> bool:
    return any(not isinstance(part, str) for part in text_parts(value))
