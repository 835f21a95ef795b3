"""Hints: the probable intention behind common mistakes in programs and graphs written by hand.

Hints use the syntax of the text form, since not all programs come from Python.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import DType
from ..errors import Invalid, Usage
from ..ops.effects import ALL_OPS, OpRow, is_allowed_in
from ..ops.op import Attributes, Op
from ..ops.routing import ALL_ROUTING_OPS, ROUTING_OPS
from ..ops.type_rules import TYPE_ATTRIBUTES, format_attribute
from ..types import HandleType, Type
from ..value import Literal, admit, format_value
from .program import STRUCTURED_OPS

_LITERAL_SPELLINGS = {"true": "true", "false": "false", "inf": "inf", "infinity": "inf", "nan": "nan"}
_EXAMPLES = {
    "cond": "y = cond p, a { then(a: int64) { ... } else(a: int64) { ... } }",
    "while_loop": "y = while_loop a { while(a: int64) { ... } do(a: int64) { ... } }",
    "merge": "m = merge a, b",
    "switch": "s = switch a, p",
    "call": "c = call[f.site] a",
    "return": "r = return[f.site] a",
    "enter": "e = enter[f.loop] a",
    "next_iteration": "n = next_iteration[f.loop] a",
    "exit": "x = exit[f.loop] a",
    "reenter": "r = reenter[f.loop] a, x:1, phase=1",
    "back": "b = back[f.loop] a, phase=1",
    "dead_switch": "s = dead_switch a, p",
    "live_merge": "m = live_merge a, b",
    "after": "y = after a, b",
    "any_live": "p = any_live a, b",
    "trigger": "p = trigger a, b",
    "pullback": "dx = pullback y dy",
    "print": 'p = print a, text="a is {}"',
    "callback": 'y = callback a, function="f", returns=float64',
    "breakpoint": "b = breakpoint p",
    "gather": "y = gather a, i, j",
    "scatter": "y = scatter a, v, i",
    "scatter_add": "y = scatter_add a, v, i",
    "scatter_max": "y = scatter_max a, v, i",
    "scatter_min": "y = scatter_min a, v, i",
    "scatter_mul": "y = scatter_mul a, v, i",
}
_ATTRIBUTE_EXAMPLES = {
    "dtype": "dtype=float64",
    "element": "element=float64",
    "shape": "shape=[2, 3]",
    "axis": "axis=0",
    "axes": "axes=[1, 0]",
    "descending": "descending=false",
    "full_matrices": "full_matrices=false",
    "keepdims": "keepdims=false",
    "key": 'key="1:, 0"',
    "mode": 'mode="reduced"',
    "offset": "offset=0",
    "shift": "shift=[1]",
    "side": 'side="left"',
    "strides": "strides=[1, 1]",
}
_CELL_OPS = ("put", "store", "get", "collect", "cell_zeros")
ASTYPE_HINT = "convert one with astype"
COMPARE_HINT = "a comparison returns a bool, as in `p = greater x, 0`"
INFERRED_HINT = "leave the type out: it is inferred"


def example(op: str) -> str:
    """An example of an op in the text form.

    >>> example("astype"), example("switch")
    ('as in `y = astype a, dtype=float64`', 'as in `s = switch a, p`')
    """
    row = ALL_OPS.get(op)
    if op in _EXAMPLES or row is None:
        return f"as in `{_EXAMPLES[op]}`"
    count = 2 if row.arity is None else row.arity
    defaults, optional = (row.attribute_defaults, row.optional_attributes) if isinstance(row, Op) else ({}, ())
    attributes = [
        f"{name}={format_attribute(defaults[name])}" if name in defaults else _ATTRIBUTE_EXAMPLES.get(name, f"{name}=0")
        for name in row.attributes
        if name not in optional
    ]
    return f"as in `y = {op} {', '.join([*'abcd'[:count], *attributes])}`"


def suggest_name(name: str, candidates: Collection[str], op: str = "") -> str | None:
    """A hint for an undefined name: a literal, a dtype, or a similar name. For a dtype the hint names the attribute of
    `op` that takes one.

    >>> suggest_name("True", []), suggest_name("float64", []), suggest_name("trigonometry", ["trigonometri"])
    ('write `true`', 'a dtype is an attribute: write `dtype=float64`', 'did you mean trigonometri?')
    """
    if name.lower() in _LITERAL_SPELLINGS:
        return f"write `{_LITERAL_SPELLINGS[name.lower()]}`"
    if name == "None":
        return "a value is a number, a bool, or an array of them"
    if name in dtypes.BY_NAME:
        attribute = next(
            (name for name in ALL_OPS[op].attributes if name in TYPE_ATTRIBUTES) if op in ALL_OPS else iter(()), "dtype"
        )
        return f"a dtype is an attribute: write `{attribute}={name}`"
    matches = get_close_matches(name, candidates, 1)
    return f"did you mean {matches[0]}?" if matches else None


def suggest_op(op: str, functions: Collection[str] | None) -> str:
    """A hint for an op that does not exist. In a graph `functions` is None."""
    if functions is None and op in STRUCTURED_OPS:
        return (
            f"{op} is an op of programs; graphs have switch and merge, call and return, enter, exit, reenter and back"
        )
    if functions is not None and op in ALL_ROUTING_OPS:
        return f"{op} is an op of graphs; programs have cond, while_loop, call and pullback"
    if op in ALL_OPS:
        return (
            "in a graph write `s = store a, i, v`, which has no output"
            if op == "put"
            else "in a program write `b = put a, i, v`"
        )
    if functions is not None and op in functions:
        return f"{op} is a function: write `call {op}`"
    form = "graph" if functions is None else "program"
    ops = [
        *filter(lambda name: is_allowed_in(name, form), ALL_OPS),
        *(ROUTING_OPS if functions is None else STRUCTURED_OPS),
    ]
    matches = get_close_matches(op, ops, 1, 0.5)
    return f"did you mean {matches[0]}?" if matches else f"the ops are {', '.join(ops)}"


def suggest_operands(
    row: OpRow,
    types: Sequence[Type],
    literals: Sequence[Literal | None],
    attributes: Attributes,
    rule_hint: str | None = None,
) -> str:
    """A hint that makes operands acceptable to an op: another literal, or astype; if neither does, the hint of its type
    rule. For an op with attributes the hint is about the attribute, since such an op accepts operands of any type."""
    if attributes:
        return example(row.name)
    handles = [isinstance(type_.dtype, HandleType) for type_ in types]
    if row.name in _CELL_OPS and handles[:1] != [True]:
        return "the first operand is a handle of cells, such as `c = cells 3, element=float64` returns"
    if row.name not in _CELL_OPS and any(handles):
        return "a handle is not a value: get and collect return the values of its cells"

    def accepts(operand_types: Sequence[Type]) -> bool:
        try:
            row.type_rule(*operand_types, **dict(attributes))
        except Invalid:
            return False
        return True

    for position, literal in enumerate(literals):
        for dtype in _candidate_dtypes(types, position):
            rewritten = rewrite_literal(literal, dtype) if literal else None
            if rewritten and accepts([*types[:position], Type(dtype, types[position].shape), *types[position + 1 :]]):
                return f"write `{rewritten}`"
    if accepts([Type(type_.dtype) for type_ in types]):
        return "sizes are aligned from the last; aligned sizes are equal, or one of them is 1"
    for position, type_ in enumerate(types):
        for dtype in _candidate_dtypes(types, position):
            if accepts([*types[:position], Type(dtype, type_.shape), *types[position + 1 :]]):
                return (
                    f"{ASTYPE_HINT if len(types) > 1 else 'convert it with astype'}, as in `astype x, dtype={dtype!r}`"
                )
    return rule_hint or "convert them with astype"


def _candidate_dtypes(types: Sequence[Type], position: int) -> Iterator[DType]:
    """Dtypes that an operand might better have; those of the other operands come first."""
    yield from dict.fromkeys(
        dtype
        for dtype in (*(type_.dtype for type_ in types), dtypes.float64, dtypes.int64, dtypes.bool)
        if dtype is not types[position].dtype
    )


def rewrite_literal(literal: Literal, dtype: DType) -> str | None:
    """The same value as a literal of another dtype, in the text form; None where there is none.

    >>> from ..value import literal
    >>> rewrite_literal(literal(1), dtypes.float64), rewrite_literal(literal(1), dtypes.int8)
    ('1.0', 'int8(1)')
    >>> rewrite_literal(literal(2.5), dtypes.int8) is None
    True
    """
    value: Any = np.asarray(literal.value).tolist()
    if isinstance(value, float) and value.is_integer() and dtype.is_integer:
        value = int(value)
    try:
        return format_value(admit(value, Type(dtype, literal.type.shape)))
    except Usage:
        return None
