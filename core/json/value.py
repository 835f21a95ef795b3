"""Values, types and other small parts of all documents, as JSON and back.

Numbers that not every reader can represent are strings: integers beyond 2**53 in size, infinities, NaN. A narrower
float is written as the equal float64, so that its bits survive any reader. The elements of a large array are one
string, the base64 of their bytes, which takes a thirtieth of the time of their digits.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..dtypes import DType
from ..errors import Usage
from ..ops.type_rules import TYPE_ATTRIBUTES
from ..program.program import DocumentLocation, Location
from ..tag import ROOT, Site, Tag
from ..types import MAX_AXES, DeadTokenValue, Handle, HandleType, Shape, Type, check_element_type, handle_type, type_of
from ..value import Literal, Value, normalize, round_floats
from .cursor import JsonCursor, read_natural, validate_name, validate_text

JsonValue = Any
"""Data that `json` can write: None, bool, int, float, str, and lists and dicts of them."""
MAX_EXACT_INTEGER = 2**53
"""Integers up to this size are JSON numbers; larger ones are strings."""
MAX_LISTED_ELEMENTS = 4096
"""The most elements of an array that are written as a list."""
_LARGE_INTEGER_PATTERN = re.compile(r"-?[1-9][0-9]{15,19}")
_NONFINITE_NUMBERS = {word: float(word) for word in ("inf", "-inf", "nan")}
_MAX_ARRAY_BYTES = 2**63 - 1
"""NumPy's limit on the bytes of an array, where sizes of 0 count as 1. Any array may be cast to a dtype of 8 bytes."""


def value_to_json(value: Value) -> JsonValue:
    """A value as JSON.

    >>> value_to_json(3), value_to_json(-0.0), value_to_json(2**60), value_to_json(float("-inf"))["data"]
    ({'dtype': 'int64', 'data': 3}, {'dtype': 'float64', 'data': -0.0}, {'dtype': 'int64', 'data': '1152921504606846976'}, '-inf')
    >>> value_to_json(np.array([[1.0], [np.nan]]))
    {'dtype': 'float64', 'shape': [2, 1], 'data': [1.0, 'nan']}
    """  # noqa: E501
    if (
        type(value) is int and -MAX_EXACT_INTEGER <= value <= MAX_EXACT_INTEGER
    ):  # most values are like these two, and arrays are slow to make
        return {"dtype": "int64", "data": value}
    if type(value) is bool:
        return {"dtype": "bool", "data": value}
    if isinstance(value, Handle):
        cells = {"node": value.node, "tag": _path_to_json(value.tag), "size": value.size}
        return {**type_to_json(Type(value.dtype)), "data": cells}
    if isinstance(value, DeadTokenValue):
        return {"dead": {"node": value.node, "output": value.port, "tag": _path_to_json(value.tag)}}
    array = np.asarray(value)
    flat = array.reshape(-1)
    data = _elements_to_json(flat) if array.size <= MAX_LISTED_ELEMENTS else _elements_to_base64(flat)
    if array.ndim == 0:
        return {"dtype": array.dtype.name, "data": data[0]}
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def _path_to_json(tag: Tag) -> JsonValue:
    """A tag as the path of its steps, outermost first."""
    return [{**site_to_json(site), "iteration": k} for site, k in tag.path()]


def value_to_json_text(value: Value) -> str:
    """A value as JSON text without spaces.

    >>> value_to_json_text(3), value_to_json_text(True)
    ('{"dtype":"int64","data":3}', '{"dtype":"bool","data":true}')
    """
    if type(value) is int and -MAX_EXACT_INTEGER <= value <= MAX_EXACT_INTEGER:
        return f'{{"dtype":"int64","data":{value}}}'
    if type(value) is bool:
        return '{"dtype":"bool","data":true}' if value else '{"dtype":"bool","data":false}'
    if isinstance(value, np.ndarray) and value.size > MAX_LISTED_ELEMENTS:  # json would look for letters to escape
        shape = ",".join(map(str, value.shape))
        return f'{{"dtype":"{value.dtype.name}","shape":[{shape}],"data":"{_elements_to_base64(value.reshape(-1))}"}}'
    return json.dumps(value_to_json(value), allow_nan=False, separators=(",", ":"))


def uint64_to_json(number: int) -> JsonValue:
    """An integer below 2**64 and at least 0, as JSON."""
    return number if number <= MAX_EXACT_INTEGER else str(number)


def read_uint64(cursor: JsonCursor) -> int:
    """An unsigned 64-bit integer; beyond 2**53 it is a string of its digits."""
    return _read_integer(cursor, np.iinfo(np.uint64), dtypes.uint64)


def _elements_to_json(flat: npt.NDArray[Any]) -> list[JsonValue]:
    if flat.dtype.kind == "b":
        return list(flat.tolist())
    if flat.dtype.kind in "iu":
        if not flat.size or (flat.min() >= -MAX_EXACT_INTEGER and flat.max() <= MAX_EXACT_INTEGER):
            return list(flat.tolist())
        return [
            number if -MAX_EXACT_INTEGER <= number <= MAX_EXACT_INTEGER else str(number) for number in flat.tolist()
        ]
    if np.isfinite(flat).all():  # half the time of 10^5 elements, their digits included
        return list(flat.tolist())
    return [number if math.isfinite(number) else repr(number) for number in flat.tolist()]


def _elements_to_base64(flat: npt.NDArray[Any]) -> str:
    """The bytes of the elements in base64, little-endian. All NaNs have the bits of one."""
    if flat.dtype.kind not in "biu" and np.isnan(flat).any():
        flat = np.where(np.isnan(flat), flat.dtype.type(math.nan), flat)
    return base64.b64encode((flat if sys.byteorder == "little" else flat.byteswap()).tobytes()).decode("ascii")


def read_value(cursor: JsonCursor) -> Value:
    """A value that is not a handle.

    >>> read_value(JsonCursor({"dtype": "float64", "shape": [2], "data": [1, "-inf"]}))
    array([  1., -inf])
    """
    keys = ("dtype", "shape", "data") if cursor.has_key("shape") else ("dtype", "data")
    cursors = cursor.fields(*keys)
    dtype = read_dtype(cursors[0])
    if len(cursors) == 2:
        if dtype is dtypes.int64 and type(cursors[1].data) is int and abs(cursors[1].data) <= MAX_EXACT_INTEGER:
            return cursors[1].data
        return normalize(_read_array_by_element(dtype, [cursors[1]])[0], Type(dtype))
    shape = tuple(cursors[1].map_entries(read_natural))
    if not 0 < len(shape) <= MAX_AXES:
        cursors[1].refuse(f"1 to {MAX_AXES} sizes", f"{len(shape)}", "a scalar has no shape")
    if math.prod(filter(None, shape)) > _MAX_ARRAY_BYTES // 8:
        cursors[1].refuse("the shape of an array", f"{list(shape)}"[:80])
    array = _read_elements(dtype, cursors[2])
    if math.prod(shape) != len(array):
        cursors[2].refuse(f"as many elements as shape {cursors[1].data} has", f"{len(array)}")
    try:
        return normalize(array.reshape(shape), Type(dtype, shape))
    except ValueError:
        return cursors[1].refuse("the shape of an array")


def read_token_value(cursor: JsonCursor) -> Value:
    """The value of a token, which may be a handle, or dead."""
    if cursor.has_key("dead"):
        return _read_dead(cursor)
    return _read_handle(cursor) if cursor.has_key("element") else read_value(cursor)


def _read_dead(cursor: JsonCursor) -> DeadTokenValue:
    node, output, path = cursor.fields("dead")[0].fields("node", "output", "tag")
    return DeadTokenValue(node.integer(0), output.integer(0), _read_path(path))


def _read_handle(cursor: JsonCursor) -> Handle:
    dtype, element, data = cursor.fields("dtype", "element", "data")
    dtype.one_of(("cells",))
    node, path, size = data.fields("node", "tag", "size")
    tag = _read_path(path)
    return Handle(node.integer(0), tag, size.integer(0), handle_type(_read_element_type(element)).dtype)


def _read_path(cursor: JsonCursor) -> Tag:
    """The tag of a path of steps, outermost first."""
    tag = ROOT
    for step in cursor.entries():
        *site_fields, iteration = step.fields("function", "name", "kind", "iteration")
        tag = tag.child(_read_site_fields(*site_fields), iteration.integer(0))
    return tag


def read_literal(cursor: JsonCursor) -> Literal:
    """A constant of a program or graph."""
    return _make_literal(read_value(cursor))


def read_token_literal(cursor: JsonCursor) -> Literal:
    """The value of a token as a literal, which can be compared."""
    return _make_literal(read_token_value(cursor))


def _make_literal(value: Value) -> Literal:
    return Literal(value, type_of(value))


def _read_elements(dtype: DType, cursor: JsonCursor) -> npt.NDArray[Any]:
    """The elements of an array, a list or base64, as an array of one axis."""
    if type(cursor.data) is str:
        return _read_base64(dtype, cursor)
    array = _read_array_in_bulk(dtype, cursor.raw_list())
    return _read_array_by_element(dtype, cursor.entries()) if array is None else array


def _read_base64(dtype: DType, cursor: JsonCursor) -> npt.NDArray[Any]:
    """The elements as an array of one axis."""
    try:
        content = base64.b64decode(cursor.text(), validate=True)
        array = np.frombuffer(content, dtype.numpy)
    except (binascii.Error, ValueError):
        return cursor.refuse(f"a list, or the base64 of elements of {dtype!r}")
    if dtype is dtypes.bool and content.strip(b"\0\1"):
        cursor.refuse("bytes 0 and 1 in base64")
    return array if sys.byteorder == "little" else array.byteswap()


def _read_array_in_bulk(dtype: DType, data: list[Any]) -> npt.NDArray[Any] | None:
    """The elements as an array, if they are plain numbers of its kind; a hundred times faster than one by one."""
    if set(map(type, data)) != {{"b": bool, "f": float}.get(dtype.kind, int)}:
        return None
    if dtype.is_integer:
        low, high = dtype.range
        if min(data) < max(low, -MAX_EXACT_INTEGER) or max(data) > min(high, MAX_EXACT_INTEGER):
            return None
    if dtype.kind != "f":
        return np.array(data).astype(dtype.numpy)
    array = round_floats(np.array(data), dtype)
    return array if np.isfinite(array).all() else None


def _read_array_by_element(dtype: DType, elements: list[JsonCursor]) -> npt.NDArray[Any]:
    """The elements as an array of one axis."""
    if dtype.numpy.kind == "b":
        return np.array([element.boolean() for element in elements], dtype.numpy)
    if dtype.numpy.kind in "iu":
        info = np.iinfo(dtype.numpy.name)
        return np.array([_read_integer(element, info, dtype) for element in elements], dtype.numpy)
    numbers = [_read_float(element) for element in elements]
    array = round_floats(np.array(numbers, np.float64), dtype)
    for position in np.flatnonzero(np.isinf(array)).tolist():
        if type(elements[position].data) is not str:
            elements[position].refuse(f"a number within the range of {dtype!r}")
    return array


def _read_integer(cursor: JsonCursor, info: np.iinfo[Any], dtype: DType) -> int:
    number = cursor.data
    if type(number) is str and _LARGE_INTEGER_PATTERN.fullmatch(number) and abs(int(number)) > MAX_EXACT_INTEGER:
        number = int(number)
    elif type(number) is not int or abs(number) > MAX_EXACT_INTEGER:
        cursor.refuse("an integer; beyond 2**53 in size a string of its digits")
    if not info.min <= number <= info.max:
        cursor.refuse(f"an integer within the range of {dtype!r}")
    return number


def _read_float(cursor: JsonCursor) -> float:
    if type(cursor.data) is str:
        return _NONFINITE_NUMBERS[cursor.one_of(_NONFINITE_NUMBERS)]
    return cursor.number()


def read_dtype(cursor: JsonCursor) -> DType:
    return dtypes.BY_NAME[cursor.one_of(dtypes.BY_NAME)]


def type_to_json(type_: Type) -> JsonValue:
    """A type as JSON.

    >>> type_to_json(handle_type(Type(dtypes.float64, (3, None))))
    {'dtype': 'cells', 'element': {'dtype': 'float64', 'shape': [3, None]}}
    """
    if isinstance(type_.dtype, HandleType):
        return {"dtype": "cells", "element": type_to_json(check_element_type(type_.dtype.element))}
    return {"dtype": type_.dtype.numpy.name, "shape": None if type_.shape is None else list(type_.shape)}


def read_type(cursor: JsonCursor) -> Type:
    if cursor.has_key("element"):
        cells, element = cursor.fields("dtype", "element")
        cells.one_of(("cells",))
        return handle_type(_read_element_type(element))
    return _read_element_type(cursor)


def _read_element_type(cursor: JsonCursor) -> Type:
    dtype, shape = cursor.fields("dtype", "shape")
    return Type(read_dtype(dtype), shape.optional(_read_shape))


def _read_shape(cursor: JsonCursor) -> Shape:
    return cursor.map_entries(lambda size: size.optional(read_natural))


def site_to_json(site: Site) -> JsonValue:
    return {"function": validate_name(site.function), "name": validate_name(site.name), "kind": site.kind}


def read_site(cursor: JsonCursor) -> Site:
    return _read_site_fields(*cursor.fields("function", "name", "kind"))


def _read_site_fields(function: JsonCursor, name: JsonCursor, kind: JsonCursor) -> Site:
    return Site(function.name(), name.name(), kind.one_of(("call", "loop")))  # type: ignore[arg-type]


def location_to_json(location: Location | None) -> JsonValue:
    return None if location is None else {"file": validate_text(location.file), "line": location.line}


def read_location(cursor: JsonCursor) -> Location | None:
    return cursor.optional(_read_location_fields)


def _read_location_fields(cursor: JsonCursor) -> Location:
    file, line = cursor.fields("file", "line")
    return DocumentLocation(file.text(), line.integer(), cursor.file)


def attributes_to_json(attributes: tuple[tuple[str, Any], ...]) -> JsonValue:
    """Attributes as an object: `dtype` is a dtype, written by its name; `element` and `returns` are types.

    >>> attributes_to_json((("dtype", dtypes.int64), ("axis", 1), ("shape", (2, 3))))
    {'dtype': 'int64', 'axis': 1, 'shape': [2, 3]}
    """
    return {validate_name(name): _attribute_to_json(name, value) for name, value in attributes}


def _attribute_to_json(name: str, value: Any) -> JsonValue:
    match value:
        case Type() if name in TYPE_ATTRIBUTES:
            return type_to_json(value)
        case DType() if name == "dtype":
            return value.numpy.name
        case _ if name != "dtype" and name not in TYPE_ATTRIBUTES:
            return _attribute_value_to_json(name, value)
    raise _unwritable_error(name, value)


def _attribute_value_to_json(name: str, value: Any) -> JsonValue:
    match value:
        case str():
            return validate_text(value)
        case None | bool():
            return value
        case int() if -MAX_EXACT_INTEGER <= value <= MAX_EXACT_INTEGER:
            return value
        case float() | np.ndarray() | np.generic():
            return value_to_json(value)
        case tuple():
            return [_attribute_value_to_json(name, item) for item in value]
    raise _unwritable_error(name, value)


def _unwritable_error(name: str, value: Any) -> Usage:
    return Usage(f"attribute {name} cannot be written as JSON", got=repr(value)[:80])


def read_attributes(cursor: JsonCursor) -> tuple[tuple[str, Any], ...]:
    return tuple((name, _ATTRIBUTE_READERS.get(name, _read_attribute_value)(value)) for name, value in cursor.items())


def _read_attribute_value(cursor: JsonCursor) -> Any:
    match cursor.data:
        case None | bool():
            return cursor.data
        case str():
            return cursor.text()
        case dict():
            return read_value(cursor)
        case list():
            return cursor.map_entries(_read_attribute_value)
        case int() if -MAX_EXACT_INTEGER <= cursor.data <= MAX_EXACT_INTEGER:
            return cursor.data
    return cursor.refuse("a string, an integer, true, false, null, a value, or a list of those")


_ATTRIBUTE_READERS: dict[str, Any] = {"dtype": read_dtype, **dict.fromkeys(TYPE_ATTRIBUTES, read_type)}
