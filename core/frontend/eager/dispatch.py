"""Dispatch: what is found out once of an op on operands of some types, so that it need not be asked again.

Owns the tables of that, one for each op, bounded together, and the short way of concrete arrays through them. What is
not there, or might be an error, goes the long way, `Operators.apply`, which checks all and says what is wrong: the
tables decide how long an op takes, and nothing else. A key has the types of arrays by identity, the classes of Python's
numbers, and the attributes; of one array alone it is that identity.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...ops.cast import after
from ...ops.op import Kernel, Op
from ...types import Type, interned, type_of
from ...value import Literal, Value
from ..trace.operators import OF_INTEGERS, OPERATORS, Operators
from ..trace.trace import current
from .array import Concrete
from .recording import RECORDERS, record_eagerly

P = ParamSpec("P")
R = TypeVar("R")
Key: TypeAlias = "int | type | tuple[Any, ...]"
Table: TypeAlias = "dict[Key, Known]"
MOST = 4096
"""How many keys are kept; after that the tables begin anew."""


class Doubt(Exception):
    """An op is to go the long way."""


@dataclass(slots=True, eq=False)
class Known:
    """What is known of an op on operands of some types, with some attributes."""

    op: str
    types: tuple[Type, ...]
    """Those that the operands are taken for; kept, so that no other type gets the identity of one of an array."""
    attributes: Mapping[str, Any]
    run: Callable[..., Value]
    """Makes the value; raises Doubt, or MemoryError, where only the long way knows."""
    result: Type | None
    """The type of the value, where values do not decide on it."""
    is_float: bool
    """Whether the value can have an adjoint."""


TABLES: dict[object, Table] = {}
"""By op, or by function that turns out to be one op; they are emptied, and stay the same dicts."""
_APPLIED: ContextVar[list[tuple[Known, tuple[Any, ...], Concrete]] | None] = ContextVar("applied", default=None)
"""The ops that a function under `one_op` has applied, if it is found out what it does."""


def table_of(what: object) -> Table:
    """What is known of an op, or of a function."""
    return TABLES.setdefault(what, {})


def key_of(operands: Sequence[Any], attributes: Mapping[str, Any]) -> Key:
    """Under which key it stands what an op does; raises Doubt for attributes that nothing is known by."""
    kinds = [id(each._type) if type(each) is Concrete else type(each) for each in operands]
    if attributes:
        return (*kinds, *attributes, *map(_strict, attributes.values()))
    return kinds[0] if len(kinds) == 1 else tuple(kinds)


_PLAIN = frozenset({int, str, type(None), EllipsisType})


def _strict(value: Any) -> Any:
    """What is static as a part of a key: what is equal, but of another class, as 1 and True, is another."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple or kind is slice:
        parts = value if kind is tuple else (value.start, value.stop, value.step)
        for each in parts:  # the usual ones are written out: 0.15 us less
            if type(each) is not int and each is not None:
                return kind, *map(_strict, parts)
        return parts if kind is tuple else (kind, parts)
    if kind is bool:
        return kind, value
    if isinstance(value, DType):
        return value
    raise Doubt


def _tables() -> list[Table]:
    """Those that there are now: other threads may use a new one."""
    return list(TABLES.values())


def forget() -> None:
    """Empty the tables."""
    for table in _tables():
        table.clear()


def keep(table: Table, key: Key, known: Known) -> None:
    """Have it known under a key."""
    if sum(map(len, _tables())) >= MOST:
        forget()
    table[key] = known


def learned(
    row: Op,
    operands: tuple[Any, ...],
    literals: Sequence[Literal],
    attributes: Mapping[str, Any],
    kernel: Kernel,
    made: Type,
) -> Known:
    """What is known by now of an op that went the long way: its operands were taken for these literals, and this is the
    type of what it makes. It is kept where they are arrays and Python's numbers."""
    pairs = zip(operands, literals, strict=True)
    types = tuple(each._type if type(each) is Concrete else taken.type for each, taken in pairs)
    is_sized = made.shape is not None and None not in made.shape
    known = Known(row.name, types, attributes, kernel, interned(made) if is_sized else None, made.dtype.kind == "f")
    try:
        makers = [_maker(*pair) for pair in zip(operands, types, strict=True)]
        known.run = _guarded(row, makers, known)
        keep(table_of(row.name), key_of(operands, attributes), known)
    except Doubt:
        pass
    return known


def _whole(dtype: DType) -> tuple[float, float]:
    """Between which numbers every integer is a number of a dtype."""
    most = 2.0 ** (np.finfo(dtype.numpy.name).nmant + 1) if dtype.kind == "f" else 0.0
    return dtype.range if dtype.is_integer else (-most, most)


def _maker(operand: Any, type_: Type) -> Callable[[Any], Value] | None:
    """What makes an operand like this a value of this type; None where it is one. Raises Doubt for what is NumPy's."""
    kind, dtype = type(operand), type_.dtype
    if kind in (Concrete, bool) or (kind is float and dtype is dtypes.float64):
        return None
    if kind not in (int, float):
        raise Doubt
    if kind is float:
        high = float(np.finfo(np.float32).max)
        low = -high
    else:
        low, high = _whole(dtype)
    make = float if dtype is dtypes.float64 else int if dtype is dtypes.int64 else dtype.numpy.type

    def made(number: Any) -> Any:
        if low <= number <= high:
            return make(number)
        raise Doubt

    return made


def _guarded(row: Op, makers: Sequence[Callable[[Any], Value] | None], known: Known) -> Callable[..., Value]:
    """A kernel that makes values of numbers, and stops before operands of which the op has no value."""
    kernel, undefined, attributes = known.run, row.undefined, known.attributes
    when = undefined.when if undefined and known.types[-1].dtype.kind in undefined.kinds else None
    if when is None:
        return after(makers, kernel)

    def run(*given: Any) -> Value:
        values = [each if make is None else make(each) for each, make in zip(given, makers, strict=True)]
        if np.any(when(*values, **attributes)):
            raise Doubt
        return kernel(*values)

    return run


_new = Concrete.__new__


_recorders = RECORDERS.get


def applied(known: Known, operands: tuple[Any, ...], value: Value) -> Concrete:
    """The array of a value that was computed outside of a trace, of which tapes under way are told, and a function
    under `one_op`."""
    made, those = _new(Concrete), _APPLIED.get()
    made._value, made._type = value, known.result or interned(type_of(value))
    if known.is_float and _recorders():
        record_eagerly(known, operands, made)
    if those is not None:
        those.append((known, operands, made))
    return made


def eagerly(op: str, operands: tuple[Any, ...], attributes: Mapping[str, Any]) -> Concrete | None:
    """What an op gives that is known, on operands of these types; None where it has to go the long way."""
    try:
        table = TABLES.get(op)
        known = None if table is None else table.get(key_of(operands, attributes))
        if known is None or current() is not None:
            return None
        value = known.run(*[each._value if type(each) is Concrete else each for each in operands])
    except (Doubt, MemoryError):
        return None
    return applied(known, operands, value)


NOTHING = object()
"""What stands for an operand that was not given."""


def door(op: str, arity: int | None) -> Callable[..., Any]:
    """The function of an op that takes operands alone, or its operator."""
    return {1: _of_one, 2: _of_two}.get(arity or 0, _of_several)(op)


def _of_several(op: str) -> Callable[..., Any]:
    def call(*operands: Any) -> Any:
        return Operators.apply(op, *operands)

    return call


def _of_one(op: str) -> Callable[..., Any]:
    """Written out, as the next one is: by way of `eagerly` an op takes 0.6 us longer."""
    find = table_of(op).get

    def call(x: Any = NOTHING, *more: Any) -> Any:
        if type(x) is Concrete and not more:
            known = find(id(x._type))
            if known is not None and current() is None:
                try:
                    value = known.run(x._value)
                except (Doubt, MemoryError):
                    return Operators.apply(op, x)
                made = _new(Concrete)
                made._value, made._type = value, known.result or interned(type_of(value))
                if known.is_float and _recorders():
                    record_eagerly(known, (x,), made)
                return made
        return Operators.apply(op, *_given(x, *more))

    return call


def _of_two(op: str) -> Callable[..., Any]:
    find = table_of(op).get

    def call(x: Any = NOTHING, y: Any = NOTHING, *more: Any) -> Any:
        if not more:
            first, second = type(x), type(y)
            if first is Concrete:
                known = find((id(x._type), id(y._type) if second is Concrete else second))
            else:
                known = find((first, id(y._type))) if second is Concrete else None
            if known is not None and current() is None:
                try:
                    value = known.run(x._value if first is Concrete else x, y._value if second is Concrete else y)
                except (Doubt, MemoryError):
                    return Operators.apply(op, x, y)
                made = _new(Concrete)
                made._value, made._type = value, known.result or interned(type_of(value))
                if known.is_float and _recorders():
                    record_eagerly(known, (x, y), made)
                return made
        return Operators.apply(op, *_given(x, y, *more))

    return call


def _given(*operands: Any) -> Sequence[Any]:
    return [each for each in operands if each is not NOTHING]


def _swapped(call: Callable[..., Any]) -> Callable[..., Any]:
    def swapped(self: Concrete, other: Any) -> Any:
        return call(other, self)

    return swapped


def _give_operators() -> None:
    """Concrete arrays have the operators of all, but those whose op depends on dtypes, by the short way."""
    for name, method in [*vars(Operators).items()]:
        if inspect.isfunction(method) and method in OPERATORS and OPERATORS[method][0] not in OF_INTEGERS:
            op, arity, is_swapped = OPERATORS[method]
            call = door(op, arity)
            setattr(Concrete, name, _swapped(call) if is_swapped else call)


_give_operators()


def one_op(function: Callable[P, R]) -> Callable[P, R]:
    """A function of an array, and of what is static besides, that decides by types what it does. Where that turns out
    to be one op of the array, it is known from then on which."""

    long: Callable[..., Any] = function
    table = table_of(function)
    find = table.get

    @functools.wraps(function)
    def call(x: Any = NOTHING, /, *given: Any, **named: Any) -> Any:
        if type(x) is not Concrete or current() is not None:
            return long(*_given(x, *given), **named)
        try:
            key: Key
            if named:
                key = (id(x._type), *map(_strict, given), tuple(named), *map(_strict, named.values()))
            elif not given:  # the usual ones are written out: 0.2 us less
                key = id(x._type)
            elif len(given) == 1:
                key = id(x._type), _strict(given[0])
            else:
                key = (id(x._type), *map(_strict, given))
            known = find(key)
            value: Any = known and known.run(x._value)
        except (Doubt, MemoryError):
            return long(x, *given, **named)
        if known is None:
            return _watched(function, table, key, (x, *given), named)
        made = _new(Concrete)
        made._value, made._type = value, known.result or interned(type_of(value))
        if known.is_float and _recorders():
            record_eagerly(known, (x,), made)
        return made

    return call


def _watched(
    function: Callable[..., Any], table: Table, key: Key, given: tuple[Any, ...], named: Mapping[str, Any]
) -> Any:
    """What a function gives; it is kept which op that is."""
    applied: list[tuple[Known, tuple[Any, ...], Concrete]] = []
    before = _APPLIED.set(applied)
    try:
        made = function(*given, **named)
    finally:
        _APPLIED.reset(before)
    for known, operands, result in applied:
        if result is made and len(operands) == 1 and operands[0] is given[0]:
            keep(table, key, known)
    return made
