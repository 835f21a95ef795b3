"""A function per op that takes operands alone, under the op's own name. Documentation comes from the op's row; so does
that of the functions of `standard` that are called as a row is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .. import ops
from ..ops.op import OPS, lookup
from .array_api import creation, datatypes, elementwise, indexing, linalg, manipulation, networks, searching, statistics
from .eager.dispatch import door

_OPERANDS = ("x", "y", "z")
assert ops.__all__, "importing the families declares the ops"
for module in (creation, datatypes, elementwise, indexing, linalg, manipulation, networks, searching, statistics):
    for name, function in vars(module).items():
        if inspect.isfunction(function) and function.__module__ == module.__name__ and name in OPS:
            function.__doc__ = function.__doc__ or OPS[name].doc


def _function(name: str) -> Callable[..., Any]:
    row = lookup(name)
    function = door(name, row.arity)
    function.__module__, function.__name__, function.__qualname__ = __name__, name, name
    function.__doc__ = row.doc
    parameters = [inspect.Parameter(operand, inspect.Parameter.POSITIONAL_ONLY) for operand in _OPERANDS[: row.arity]]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function


add = _function("add")
subtract = _function("subtract")
multiply = _function("multiply")
divide = _function("divide")
multiply_no_nan = _function("multiply_no_nan")
floor_divide = _function("floor_divide")
remainder = _function("remainder")
pow = _function("pow")
negative = _function("negative")
abs = _function("abs")
minimum = _function("minimum")
maximum = _function("maximum")
less = _function("less")
less_equal = _function("less_equal")
greater = _function("greater")
greater_equal = _function("greater_equal")
equal = _function("equal")
not_equal = _function("not_equal")
logical_and = _function("logical_and")
logical_or = _function("logical_or")
logical_xor = _function("logical_xor")
logical_not = _function("logical_not")
sqrt = _function("sqrt")
exp = _function("exp")
log = _function("log")
sin = _function("sin")
cos = _function("cos")
tanh = _function("tanh")
tan = _function("tan")
asin = _function("asin")
acos = _function("acos")
atan = _function("atan")
atan2 = _function("atan2")
sinh = _function("sinh")
cosh = _function("cosh")
asinh = _function("asinh")
acosh = _function("acosh")
atanh = _function("atanh")
expm1 = _function("expm1")
log1p = _function("log1p")
log2 = _function("log2")
log10 = _function("log10")
logaddexp = _function("logaddexp")
hypot = _function("hypot")
floor = _function("floor")
ceil = _function("ceil")
trunc = _function("trunc")
round = _function("round")
sign = _function("sign")
copysign = _function("copysign")
signbit = _function("signbit")
isfinite = _function("isfinite")
isinf = _function("isinf")
isnan = _function("isnan")
nextafter = _function("nextafter")
bitwise_and = _function("bitwise_and")
bitwise_or = _function("bitwise_or")
bitwise_xor = _function("bitwise_xor")
bitwise_invert = _function("bitwise_invert")
bitwise_left_shift = _function("bitwise_left_shift")
bitwise_right_shift = _function("bitwise_right_shift")
matmul = linalg.matmul
where = _function("where")
identity = _function("identity")
stop_gradient = _function("stop_gradient")
