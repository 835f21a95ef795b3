"""A function per op that takes operands alone, under the op's own name. Documentation comes from the op's row; so does
that of the functions of `standard` that are called as a row is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .. import ops
from ..ops.op import OPS, lookup_op
from .array_api import creation, datatypes, elementwise, indexing, linalg, manipulation, networks, searching, statistics
from .eager.dispatch import op_function

_OPERAND_NAMES = ("x", "y", "z")
assert ops.__all__, "importing the families declares the ops"
for module in (creation, datatypes, elementwise, indexing, linalg, manipulation, networks, searching, statistics):
    for name, function in vars(module).items():
        if inspect.isfunction(function) and function.__module__ == module.__name__ and name in OPS:
            function.__doc__ = function.__doc__ or OPS[name].doc


def _build_op_function(name: str) -> Callable[..., Any]:
    row = lookup_op(name)
    function = op_function(name, row.arity)
    function.__module__, function.__name__, function.__qualname__ = __name__, name, name
    function.__doc__ = row.doc
    parameters = [
        inspect.Parameter(operand, inspect.Parameter.POSITIONAL_ONLY) for operand in _OPERAND_NAMES[: row.arity]
    ]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function


add = _build_op_function("add")
subtract = _build_op_function("subtract")
multiply = _build_op_function("multiply")
divide = _build_op_function("divide")
multiply_no_nan = _build_op_function("multiply_no_nan")
floor_divide = _build_op_function("floor_divide")
remainder = _build_op_function("remainder")
pow = _build_op_function("pow")
negative = _build_op_function("negative")
abs = _build_op_function("abs")
minimum = _build_op_function("minimum")
maximum = _build_op_function("maximum")
less = _build_op_function("less")
less_equal = _build_op_function("less_equal")
greater = _build_op_function("greater")
greater_equal = _build_op_function("greater_equal")
equal = _build_op_function("equal")
not_equal = _build_op_function("not_equal")
logical_and = _build_op_function("logical_and")
logical_or = _build_op_function("logical_or")
logical_xor = _build_op_function("logical_xor")
logical_not = _build_op_function("logical_not")
sqrt = _build_op_function("sqrt")
exp = _build_op_function("exp")
log = _build_op_function("log")
sin = _build_op_function("sin")
cos = _build_op_function("cos")
tanh = _build_op_function("tanh")
tan = _build_op_function("tan")
asin = _build_op_function("asin")
acos = _build_op_function("acos")
atan = _build_op_function("atan")
atan2 = _build_op_function("atan2")
sinh = _build_op_function("sinh")
cosh = _build_op_function("cosh")
asinh = _build_op_function("asinh")
acosh = _build_op_function("acosh")
atanh = _build_op_function("atanh")
expm1 = _build_op_function("expm1")
log1p = _build_op_function("log1p")
log2 = _build_op_function("log2")
log10 = _build_op_function("log10")
logaddexp = _build_op_function("logaddexp")
hypot = _build_op_function("hypot")
floor = _build_op_function("floor")
ceil = _build_op_function("ceil")
trunc = _build_op_function("trunc")
round = _build_op_function("round")
sign = _build_op_function("sign")
copysign = _build_op_function("copysign")
signbit = _build_op_function("signbit")
isfinite = _build_op_function("isfinite")
isinf = _build_op_function("isinf")
isnan = _build_op_function("isnan")
nextafter = _build_op_function("nextafter")
bitwise_and = _build_op_function("bitwise_and")
bitwise_or = _build_op_function("bitwise_or")
bitwise_xor = _build_op_function("bitwise_xor")
bitwise_invert = _build_op_function("bitwise_invert")
bitwise_left_shift = _build_op_function("bitwise_left_shift")
bitwise_right_shift = _build_op_function("bitwise_right_shift")
matmul = linalg.matmul
where = _build_op_function("where")
identity = _build_op_function("identity")
stop_gradient = _build_op_function("stop_gradient")
