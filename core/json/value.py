"""Values, types and the other small things that every form is made of, as JSON and back.

A number that a reader with doubles only would not get right is a string: integers beyond 2**53 in size, infinities,
NaN. A float32 is written as the float64 that it equals, so that its bits come back however it is read.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..dtypes import DType
from ..errors import Usage
from ..handle import Handle
from ..ops.attribute import TYPED
from ..program.program import Location, Quoted
from ..tag import ROOT, Site
from ..types import MOST_AXES, HandleType, Shape, Type, admit_element, handle_type, type_of
from ..value import Literal, Value, normal
from .cursor import Cursor, natural, plain_text

Plain = Any
"""What `json` writes: None, bool, int, float, str, and lists and dicts of them."""
EXACT = 2**53
"""The integers up to here in size are numbers in JSON; those beyond are strings."""
_INTEGER = re.compile(r"-?[1-9][0-9]{15,19}")
_SPECIAL = {word: float(word) for word in ("inf", "-inf", "nan")}
_MOST_BYTES = 2**63 - 1
"""What NumPy lets an array have, sizes of 0 counted as 1; whatever its dtype, it may be cast to one of 8 bytes."""


def value_form(value: Value) -> Plain:
    """A value as JSON.

    >>> value_form(3), value_form(-0.0), value_form(2**60), value_form(float("-inf"))["data"]
    ({'dtype': 'int64', 'data': 3}, {'dtype': 'float64', 'data': -0.0}, {'dtype': 'int64', 'data': '1152921504606846976'}, '-inf')
    >>> value_form(np.array([[1.0], [np.nan]]))
    {'dtype': 'float64', 'shape': [2, 1], 'data': [1.0, 'nan']}
    """  # noqa: E501
    if type(value) is int and -EXACT <= value <= EXACT:  # most values are like these two, and arrays are slow to make
        return {"dtype": "int64", "data": value}
    if type(value) is bool:
        return {"dtype": "bool", "data": value}
    if isinstance(value, Handle):
        path = [{**site_form(site), "iteration": k} for site, k in value.tag.path()]
        return {**type_form(Type(value.dtype)), "data": {"node": value.node, "tag": path, "size": value.size}}
    array = np.asarray(value)
    data = _elements(array.reshape(-1))
    if array.ndim == 0:
        return {"dtype": array.dtype.name, "data": data[0]}
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def value_text(value: Value) -> str:
    """The same as text, without spaces.

    >>> value_text(3), value_text(True)
    ('{"dtype":"int64","data":3}', '{"dtype":"bool","data":true}')
    """
    if type(value) is int and -EXACT <= value <= EXACT:
        return f'{{"dtype":"int64","data":{value}}}'
    if type(value) is bool:
        return '{"dtype":"bool","data":true}' if value else '{"dtype":"bool","data":false}'
    return json.dumps(value_form(value), allow_nan=False, separators=(",", ":"))


def number_form(number: int) -> Plain:
    """An integer from 0 up, below 2**64."""
    return number if number <= EXACT else str(number)


def read_number(at: Cursor) -> int:
    """The same, read: one beyond 2**53 is a string of its digits."""
    return _integer(at, np.iinfo(np.uint64), dtypes.uint64)


def _elements(flat: npt.NDArray[Any]) -> list[Plain]:
    if flat.dtype.kind == "b":
        return list(flat.tolist())
    if flat.dtype.kind in "iu":
        return [number if -EXACT <= number <= EXACT else str(number) for number in flat.tolist()]
    return [number if math.isfinite(number) else repr(number) for number in flat.tolist()]


def read_value(at: Cursor) -> Value:
    """The value that a document says, where a handle may not stand.

    >>> read_value(Cursor({"dtype": "float64", "shape": [2], "data": [1, "-inf"]}))
    array([  1., -inf])
    """
    keys = ("dtype", "shape", "data") if at.has("shape") else ("dtype", "data")
    places = at.fields(*keys)
    dtype = read_dtype(places[0])
    if len(places) == 2:
        if dtype is dtypes.int64 and type(places[1].data) is int and abs(places[1].data) <= EXACT:
            return places[1].data
        return normal(_array(dtype, [places[1]])[0], Type(dtype))
    data, shape = places[2].raw(), tuple(places[1].each(natural))
    if not 0 < len(shape) <= MOST_AXES:
        places[1].refuse(f"1 to {MOST_AXES} sizes", f"{len(shape)}", "a scalar has no shape")
    if math.prod(filter(None, shape)) > _MOST_BYTES // 8:
        places[1].refuse("the shape of an array", f"{list(shape)}"[:80])
    if math.prod(shape) != len(data):
        places[2].refuse(f"as many elements as shape {places[1].data} has", f"{len(data)}")
    try:
        array = _at_once(dtype, data)
        array = _array(dtype, places[2].entries()) if array is None else array
        return normal(array.reshape(shape), Type(dtype, shape))
    except ValueError:
        return places[1].refuse("the shape of an array")


def read_carried(at: Cursor) -> Value:
    """What a token carries: a value, or a handle of cells."""
    return _read_handle(at) if at.has("element") else read_value(at)


def _read_handle(at: Cursor) -> Handle:
    dtype, element, data = at.fields("dtype", "element", "data")
    dtype.one_of(("cells",))
    node, path, size = data.fields("node", "tag", "size")
    tag = ROOT
    for step in path.entries():
        *named, iteration = step.fields("function", "name", "kind", "iteration")
        tag = tag.child(_site(*named), iteration.integer(0))
    return Handle(node.integer(0), tag, size.integer(0), handle_type(_read_plain_type(element)).dtype)


def read_literal(at: Cursor) -> Literal:
    """A constant of a program or graph."""
    return _literal(read_value(at))


def read_operand(at: Cursor) -> Literal:
    """What was carried to a port, as something that can be compared."""
    return _literal(read_carried(at))


def _literal(value: Value) -> Literal:
    return Literal(value, type_of(value))


def _at_once(dtype: DType, data: list[Any]) -> npt.NDArray[Any] | None:
    """The elements as an array, where they are plain numbers of its kind: a hundred times as fast as one by one."""
    if set(map(type, data)) != {{"b": bool, "f": float}.get(dtype.kind, int)}:
        return None
    if dtype.is_integer:
        low, high = dtype.range
        if min(data) < max(low, -EXACT) or max(data) > min(high, EXACT):
            return None
    with np.errstate(over="ignore"):
        array = np.array(data).astype(dtype.numpy)
    return array if dtype.kind != "f" or np.isfinite(array).all() else None


def _array(dtype: DType, elements: list[Cursor]) -> npt.NDArray[Any]:
    """The elements as an array of one axis."""
    if dtype.numpy.kind == "b":
        return np.array([element.truth() for element in elements], dtype.numpy)
    if dtype.numpy.kind in "iu":
        info = np.iinfo(dtype.numpy.name)
        return np.array([_integer(element, info, dtype) for element in elements], dtype.numpy)
    numbers = [_float(element) for element in elements]
    with np.errstate(over="ignore"):
        array = np.array(numbers, np.float64).astype(dtype.numpy)
    for position in np.flatnonzero(np.isinf(array)).tolist():
        if type(elements[position].data) is not str:
            elements[position].refuse(f"a number within the range of {dtype!r}")
    return array


def _integer(at: Cursor, info: np.iinfo[Any], dtype: DType) -> int:
    number = at.data
    if type(number) is str and _INTEGER.fullmatch(number) and abs(int(number)) > EXACT:
        number = int(number)
    elif type(number) is not int or abs(number) > EXACT:
        at.refuse("an integer; beyond 2**53 in size a string of its digits")
    if not info.min <= number <= info.max:
        at.refuse(f"an integer within the range of {dtype!r}")
    return number


def _float(at: Cursor) -> float:
    if type(at.data) is str:
        return _SPECIAL[at.one_of(_SPECIAL)]
    return at.number()


def read_dtype(at: Cursor) -> DType:
    return dtypes.BY_NAME[at.one_of(dtypes.BY_NAME)]


def type_form(type_: Type) -> Plain:
    """A type as JSON.

    >>> type_form(handle_type(Type(dtypes.float64, (3, None))))
    {'dtype': 'cells', 'element': {'dtype': 'float64', 'shape': [3, None]}}
    """
    if isinstance(type_.dtype, HandleType):
        return {"dtype": "cells", "element": type_form(admit_element(type_.dtype.element))}
    return {"dtype": type_.dtype.numpy.name, "shape": None if type_.shape is None else list(type_.shape)}


def read_type(at: Cursor) -> Type:
    if at.has("element"):
        cells, element = at.fields("dtype", "element")
        cells.one_of(("cells",))
        return handle_type(_read_plain_type(element))
    return _read_plain_type(at)


def _read_plain_type(at: Cursor) -> Type:
    dtype, shape = at.fields("dtype", "shape")
    return Type(read_dtype(dtype), shape.optional(_shape))


def _shape(at: Cursor) -> Shape:
    return at.each(lambda size: size.optional(natural))


def site_form(site: Site) -> Plain:
    return {"function": plain_text(site.function), "name": plain_text(site.name), "kind": site.kind}


def read_site(at: Cursor) -> Site:
    return _site(*at.fields("function", "name", "kind"))


def _site(function: Cursor, name: Cursor, kind: Cursor) -> Site:
    return Site(function.text(), name.text(), kind.one_of(("call", "loop")))  # type: ignore[arg-type]


def location_form(location: Location | None) -> Plain:
    return None if location is None else {"file": plain_text(location.file), "line": location.line}


def read_location(at: Cursor) -> Location | None:
    return at.optional(_location)


def _location(at: Cursor) -> Location:
    file, line = at.fields("file", "line")
    return Quoted(file.text(), line.integer(), at.document)


def attributes_form(attributes: tuple[tuple[str, Any], ...]) -> Plain:
    """Attributes as an object; one called `dtype` is a dtype, written by its name, `element` and `returns` are types.

    >>> attributes_form((("dtype", dtypes.int64), ("axis", 1), ("shape", (2, 3))))
    {'dtype': 'int64', 'axis': 1, 'shape': [2, 3]}
    """
    return {plain_text(name): _named(name, value) for name, value in attributes}


def _named(name: str, value: Any) -> Plain:
    match value:
        case Type() if name in TYPED:
            return type_form(value)
        case DType() if name == "dtype":
            return value.numpy.name
        case _ if name != "dtype" and name not in TYPED:
            return _attribute(name, value)
    raise _unwritable(name, value)


def _attribute(name: str, value: Any) -> Plain:
    match value:
        case str():
            return plain_text(value)
        case None | bool():
            return value
        case int() if -EXACT <= value <= EXACT:
            return value
        case float() | np.ndarray() | np.generic():
            return value_form(value)
        case tuple():
            return [_attribute(name, item) for item in value]
    raise _unwritable(name, value)


def _unwritable(name: str, value: Any) -> Usage:
    return Usage(f"attribute {name} cannot be written as JSON", got=repr(value)[:80])


def read_attributes(at: Cursor) -> tuple[tuple[str, Any], ...]:
    return tuple((name, _READ.get(name, _read_attribute)(value)) for name, value in at.items())


def _read_attribute(at: Cursor) -> Any:
    match at.data:
        case None | bool():
            return at.data
        case str():
            return at.text()
        case dict():
            return read_value(at)
        case list():
            return at.each(_read_attribute)
        case int() if -EXACT <= at.data <= EXACT:
            return at.data
    return at.refuse("a string, an integer, true, false, null, a value, or a list of those")


_READ: dict[str, Any] = {"dtype": read_dtype, **dict.fromkeys(TYPED, read_type)}
