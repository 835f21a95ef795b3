"""A small reverse pass over recorded ops, with which tests call the gradient rules of ops.

A tape computes ops by the kernels of the registry, and records them. The reverse pass is recorded too, so that it can
be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tagloom.core import dtypes
from tagloom.core.ops.op import OPS, Op, build_kernel, trap_message
from tagloom.core.types import Type, type_of
from tagloom.core.value import admit


@dataclass(frozen=True, eq=False)
class RuleValue:
    """A value that rules receive; each object is distinct."""

    value: Any


@dataclass(frozen=True)
class Record:
    row: Op
    operands: tuple[RuleValue, ...]
    attributes: dict[str, Any]
    result: RuleValue


def as_it_is(type_: Type) -> Type:
    return type_


def open_sizes(type_: Type) -> Type:
    """The type with every size open."""
    return Type(type_.dtype, None if type_.shape is None else tuple(None for _ in type_.shape))


class Tape:
    """`said` is the part of types that rules see; `rows` are the ops, with their gradient rules."""

    def __init__(self, said: Callable[[Type], Type] = as_it_is, rows: Mapping[str, Op] = OPS) -> None:
        self.said, self.rows, self.records = said, rows, list[Record]()

    def type(self, operand: RuleValue) -> Type:
        return self.said(type_of(operand.value))

    def __call__(self, op: str, *operands: Any, **attributes: Any) -> RuleValue:
        row, given = self.rows[op], _adapted(self.rows[op], operands)
        values, more = [each.value for each in given], tuple(attributes.items())
        message = trap_message(row, tuple(values), more)
        assert message is None, f"{op} traps: {message}"
        types = list(map(type_of, values))
        result = RuleValue(build_kernel(row, types, row.type_rule(*types, **attributes), more)(*values))
        self.records.append(Record(row, tuple(given), attributes, result))
        return result


def _adapted(row: Op, operands: Sequence[Any]) -> list[RuleValue]:
    """Operands in which Python numbers have the dtype of the others."""
    alike = range(len(operands))[slice(*row.same_dtype_operands)]
    met = next((type_of(operands[at].value).dtype for at in alike if isinstance(operands[at], RuleValue)), dtypes.int64)
    return [
        each if isinstance(each, RuleValue) else RuleValue(admit(each, Type(met) if at in alike else None))
        for at, each in enumerate(operands)
    ]


def pullback(
    tape: Tape, results: Sequence[RuleValue], adjoints: Sequence[RuleValue], of: Sequence[RuleValue]
) -> list[RuleValue]:
    """The adjoints of values, given those of results; 0 for values that no result depends on."""
    found, past = {id(each): g for each, g in zip(results, adjoints, strict=True)}, list(tape.records)
    concerned = set(map(id, of))
    for record in past:
        if concerned & set(map(id, record.operands)):
            concerned.add(id(record.result))
    for record in reversed(past):
        g = found.get(id(record.result))
        for index, operand in enumerate(record.operands if g is not None else ()):
            if id(operand) not in concerned or np.asarray(operand.value).dtype.kind != "f":
                continue
            assert record.row.gradient is not None, f"{record.row.name} has no rule"
            result = record.row.gradient(tape, index, g, record.result, *record.operands, **record.attributes)
            if result is None:
                continue
            if record.row.scalar is not None:
                result = tape("sum_like", result, operand)
            assert type_of(result.value) == type_of(operand.value), f"the adjoint of operand {index} of {record.row}"
            found[id(operand)] = tape("add", found[id(operand)], result) if id(operand) in found else result
    return [found.get(id(each)) or tape("multiply_no_nan", each, 0.0) for each in of]
