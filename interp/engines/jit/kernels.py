"""Ops on scalars as Python expressions, for generated text that begins with HEADER; and the
functions of the C library that scalar columns call through Python's `math`. Both are derived from the registry.

A scalar has a lane: 'b' is numba's boolean; 'i' is int64, for all signed integers; 'u' is uint64, for all unsigned
ones; 'f' is float64, for all floats: narrower ones are computed in float64 and rounded. The value in a lane always is a
value of its dtype. Integers wrap at 64 bits and are then cast to the dtype, with the same result as a cast from
unbounded integers.

The expressions need no parentheses around them, never raise, and may repeat an operand. Only an op's row defines what
it computes: a Python operator becomes itself, a function with a single return expression is inlined, which compiles in
a third of the time of a call, and any other function is called.
"""

from __future__ import annotations

import ast
import copy
import ctypes
import inspect
import math
import operator
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from types import BuiltinFunctionType, FunctionType
from typing import Any

from ....core import dtypes
from ....core.dtypes import DType
from ....core.hashing import MASK64
from ....core.ops.op import OPS, Attributes
from ....core.ops.scalar_kernels import integer_power
from ....core.python_ast import parse_python
from ....core.types import Type
from ....core.value import Value

HEADER = f"""\
from math import inf, nan
from numba import boolean, float32, float64, int8, int16, int32, int64, njit, uint8, uint16, uint32, uint64
from {__package__} import scalar_functions as k
from {__package__}.memory import internal_njit, kernel
"""
"""The first lines of a generated module."""

LANE_TYPES = {"b": "boolean", "i": "int64", "u": "uint64", "f": "float64"}
"""The numba types of the lanes; such a name also casts to the lane."""

_OPERATOR_FORMATS: Mapping[Callable[..., Any], str] = {
    operator.add: "({} + {})",
    operator.sub: "({} - {})",
    operator.mul: "({} * {})",
    operator.neg: "(-{})",
    operator.abs: "abs({})",
    operator.lt: "({} < {})",
    operator.le: "({} <= {})",
    operator.gt: "({} > {})",
    operator.ge: "({} >= {})",
    operator.eq: "({} == {})",
    operator.ne: "({} != {})",
    operator.not_: "(not {})",
    operator.and_: "({} & {})",
    operator.or_: "({} | {})",
    operator.xor: "({} ^ {})",
    operator.invert: "(~{})",
    float: "float64({})",
}
"""Columns that are operators; as text they compile faster than a call."""
_WRAPPING_FORMATS: Mapping[Callable[..., Any], str] = {
    operator.add: "k.wrapping_add({}, {})",
    operator.sub: "k.wrapping_sub({}, {})",
    operator.mul: "k.wrapping_mul({}, {})",
    integer_power: f"int64(k.pow_uu(uint64({{}}), uint64({{}}), uint64(1), uint64({MASK64})))",
}
"""The operators of signed integers. numba marks Python's own as never overflowing (`nsw`), and LLVM would then conclude
the sign of a square, or of the difference of a negative and a positive number."""
_INTEGER_LITERAL = re.compile(r"-?\d+|\(-?\d+ - 1\)")
"""What `literal_expression` returns for an integer in the lane of signed integers."""
_NATIVE_WIDTH_FORMATS: Mapping[str, str] = {
    "add": "({} + {})",
    "subtract": "({} - {})",
    "multiply": "({} * {})",
    "divide": "({} / {})",
    "multiply_no_nan": "({0} * {1} if {1} != 0 else {1} - {1})",
    "negative": "(-{})",
    "abs": "abs({})",
    "sqrt": "np.sqrt({})",
    "floor": "np.floor({})",
    "ceil": "np.ceil({})",
    "trunc": "np.trunc({})",
    "round": "np.rint({})",
    "copysign": "np.copysign({}, {})",
    "minimum": "({0} if {0} != {0} or {0} <= {1} else {1})",
    "maximum": "({0} if {0} != {0} or {0} >= {1} else {1})",
    "where": "({1} if {0} else {2})",
}
"""Ops that give the same bits if float32 is computed directly instead of in float64 and rounded. Most of them do not
round; after + - * / and sqrt the second rounding changes nothing, since 53 >= 2 * 24 + 2 (Figueroa, "When is double
rounding innocuous?", 1995). Here / and sqrt follow IEEE 754, which needs no branches. So loops over elements fill
vector registers: a chain of ten a * x + b over a million elements takes 0.2 ms instead of 4.8."""


def lane(dtype: DType) -> str:
    """The lane of a dtype's scalars."""
    return dtype.kind


def expression(
    op_name: str, operand_types: Sequence[Type], result_type: Type, attributes: Attributes, operands: Sequence[str]
) -> str:
    """Text that computes an op from the text of its operands in their lanes; the result is in the lane of its dtype.

    On operands that trap the result is meaningless. `attributes` are not used: the result type implies them.
    """
    texts = prevent_constant_folding(promote_operands(operand_types, operands))
    dtype, result_lane = result_type.dtype, lane(result_type.dtype)
    function, extra_arguments = OPS[op_name].scalar_kernel(operand_types[0].dtype, dtype)
    if function is int:
        return cast_expression(texts[0], None, dtype)
    inlined = None if extra_arguments else inline_expression(function, texts)
    if result_lane == "i" and function in _WRAPPING_FORMATS:
        text = _WRAPPING_FORMATS[function].format(*texts)
    elif function in _OPERATOR_FORMATS:
        text = _OPERATOR_FORMATS[function].format(*texts)
    elif inlined is not None:
        text = inlined
    else:
        arguments = [*texts, *(format_extra_argument(constant, dtype) for constant in extra_arguments)]
        text = f"k.{_function_name(op_name, operand_types[0].dtype, dtype)}({', '.join(arguments)})"
        if extra_arguments and dtype in dtypes.FLOAT_FORMATS:  # it is rounded already
            return text
    return cast_expression(text, result_lane, dtype)


def native_width_format(op_name: str, operands: Sequence[DType], result: DType) -> str | None:
    """A format for text of elements in their own dtypes instead of their lanes; the result is in its own dtype. None
    where the op is computed in lanes. Text may use `np`."""
    if result.kind != "f" or any(operand not in (result, dtypes.bool) for operand in operands):
        return None
    return _NATIVE_WIDTH_FORMATS.get(op_name)


def cast_expression(text: str, from_lane: str | None, dtype: DType) -> str:
    """Text that casts a number in a lane to this dtype; None is any lane but the lane of floats."""
    result_lane = lane(dtype)
    if dtype.kind == "b":
        return text
    if dtype in dtypes.FLOAT_FORMATS:
        arguments = ", ".join(f"int64({bits})" for bits in dtypes.FLOAT_FORMATS[dtype])
        return f"k.{_function_name('astype', dtypes.float64, dtype)}(float64(float32({text})), {arguments})"
    if dtype in (dtypes.int64, dtypes.uint64, dtypes.float64):
        return text if from_lane == result_lane else f"{LANE_TYPES[result_lane]}({text})"
    return f"{LANE_TYPES[result_lane]}({dtype!r}({text}))"


def trap_condition(
    op_name: str, operand_types: Sequence[Type], result_type: Type, operands: Sequence[str]
) -> str | None:
    """Text of the condition on which an op traps, from text of its operands in their lanes; None if it never traps."""
    condition = OPS[op_name].trap_condition
    if condition is None or result_type.dtype.kind not in condition.dtype_kinds:
        return None
    texts = promote_operands(operand_types, operands)
    return inline_expression(condition.predicate, texts) or f"k.{op_name}_undefined({', '.join(texts)})"


def literal_expression(value: Value, dtype: DType) -> str:
    """Text of a scalar in its lane.

    >>> literal_expression(-(2**63), dtypes.int64), literal_expression(3, dtypes.uint8)
    ('(-9223372036854775807 - 1)', 'uint64(3)')
    >>> literal_expression(-0.0, dtypes.float64)
    '-0.0'
    """
    match dtype.kind:
        case "b":
            return repr(bool(value))
        case "f":
            number = float(value)  # type: ignore[arg-type]
            return repr(number) if math.isfinite(number) or number != number else f"({number!r})"
        case "u":
            return f"uint64({int(value)})"  # type: ignore[arg-type]
    number = int(value)  # type: ignore[arg-type]
    return f"({number + 1} - 1)" if number == -(2**63) else str(number)


def callable_functions() -> dict[str, Callable[..., Any]]:
    """The functions that expressions may call, by name. A column that is not a plain function has none."""
    functions: dict[str, Callable[..., Any]] = {}
    representatives = {_letter(dtype): dtype for dtype in dtypes.ALL}.values()
    for row in OPS.values():
        if row.trap_condition is not None and row.scalar is not None:
            functions[f"{row.name}_undefined"] = row.trap_condition.predicate
        for operand in representatives if row.scalar is not None else ():
            for result in representatives:
                with suppress(Exception):  # a broken column affects no other
                    function = row.scalar_kernel(operand, result).function
                    if function not in _OPERATOR_FORMATS and function is not int and _is_plain(function):
                        functions[_function_name(row.name, operand, result)] = function
    return functions


def _is_plain(function: Callable[..., Any]) -> bool:
    return isinstance(function, FunctionType | BuiltinFunctionType)


def _function_name(op_name: str, operand: DType, result: DType) -> str:
    return f"{op_name}_{_letter(operand)}{_letter(result)}"


def _letter(dtype: DType) -> str:
    """The kind of a dtype in the names of functions; 'h' for the floats of 16 bits."""
    return "h" if dtype in dtypes.FLOAT_FORMATS else dtype.kind


def inline_expression(function: Callable[..., Any], operands: Sequence[str]) -> str | None:
    """The body of a function as an expression of these operands; None if it is more than an expression, or uses names
    other than its parameters."""
    body = returned_expression(function)
    if body is None:
        return None
    parameters, expression = body
    substitutions = {name: parse_python(text, "eval").body for name, text in zip(parameters, operands, strict=True)}
    return f"({ast.unparse(_ParameterSubstitution(substitutions).visit(copy.deepcopy(expression)))})"


class _ParameterSubstitution(ast.NodeTransformer):
    def __init__(self, replacements: Mapping[str, ast.expr]) -> None:
        self.replacements = replacements

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.replacements[node.id]


@cache
def returned_expression(function: Callable[..., Any]) -> tuple[list[str], ast.expr] | None:
    """The parameters and the return expression of a function that consists of a return statement."""
    if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
        return None
    try:
        (definition,) = parse_python(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, SyntaxError, ValueError):  # no source, or more than one statement
        return None
    if (
        not isinstance(definition, ast.FunctionDef)
        or len(definition.body) != 1
        or not isinstance(definition.body[0], ast.Return)
    ):
        return None
    parameters, value = [argument.arg for argument in definition.args.args], definition.body[0].value
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)} if value else {""}
    return (parameters, value) if value is not None and names <= set(parameters) else None


def promote_operands(types: Sequence[Type], operands: Sequence[str]) -> list[str]:
    """Operands in the lane to which they promote: unsigned integers become signed ones beside signed ones."""
    mixed = {"i", "u"} <= {lane(type_.dtype) for type_ in types}
    return [
        f"int64({text})" if mixed and lane(type_.dtype) == "u" else text
        for type_, text in zip(types, operands, strict=True)
    ]


def prevent_constant_folding(operands: list[str]) -> list[str]:
    """Operands with a cast around the first if all are integer literals: Python would fold these, without wrapping."""
    if all(_INTEGER_LITERAL.fullmatch(text) for text in operands):
        return [f"int64({operands[0]})", *operands[1:]]
    return operands


def format_extra_argument(number: Any, dtype: DType) -> str:
    """Text of an argument after the operands, in the lane of the result if that is one of integers: 2**64 - 1 is -1 in
    the lane of signed ones."""
    if number is int:
        return LANE_TYPES[lane(dtype)]
    lane_dtype = dtypes.uint64 if lane(dtype) == "u" else dtypes.int64
    low, high = lane_dtype.range
    return literal_expression(((number - low) & (high - low)) + low, lane_dtype)


NATIVE_NAMES = frozenset({"copysign", "e", "fabs", "inf", "isinf", "isnan", "nan", "pi", "sqrt"})
"""Functions that LLVM computes with the same bits."""
_COMPUTED_BY_PYTHON = frozenset({"dist", "fsum", "gamma", "hypot", "lgamma", "remainder"})
"""Float functions in `math` that are not the C library's."""


def math_names(function: Callable[..., Any]) -> Iterator[str]:
    """The functions of `math` that a scalar column calls, directly or indirectly."""
    yield from _math_names(function, set())


def _math_names(function: Any, visited: set[Any]) -> Iterator[str]:
    if isinstance(function, BuiltinFunctionType) and function.__module__ == "math":
        yield function.__name__
    if not isinstance(function, FunctionType) or function in visited:
        return
    visited.add(function)
    names, namespace = function.__code__.co_names, function.__globals__
    if any(namespace.get(name) is math for name in names):
        yield from (name for name in names if callable(getattr(math, name, None)))
    for name in names:
        yield from _math_names(namespace.get(name), visited)


def c_functions() -> dict[str, int]:
    """The C functions that scalar columns call, with the number of float64 arguments of each; each returns one
    float64."""
    return _c_functions(len(OPS))


@cache
def _c_functions(_: int) -> dict[str, int]:
    names = {name for function in callable_functions().values() for name in math_names(function)}
    return {name: arity(name) for name in sorted(names) if is_c_function(name)}


def is_c_function(name: str) -> bool:
    """Whether a function of `math` is the C library's function of the same name."""
    return name not in NATIVE_NAMES | _COMPUTED_BY_PYTHON and hasattr(_load_library(), name)


@cache
def arity(name: str) -> int:
    """The number of operands of a function of `math` that takes one float or two."""
    try:
        getattr(math, name)(0.5)
    except ValueError:  # outside its domain
        return 1
    except TypeError:
        return 2
    return 1


UFUNC_OPS = tuple(row.name for row in OPS.values() if row.float_loop is not None)
"""The ops for which NumPy has its own loops on float arrays."""


def symbol_name(name: str) -> str:
    """The symbol, in compiled code, of a function of the C library or of a SharedLibrary: a name unknown to LLVM."""
    return f"tagloom_{name}"


@cache
def _load_library() -> ctypes.CDLL:
    return ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)


def function_address(name: str) -> int:
    """The address of a C function."""
    address = ctypes.cast(getattr(_load_library(), name), ctypes.c_void_p).value
    assert address is not None
    return address
