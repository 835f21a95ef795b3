"""The members of `tl.autograph`: control of conversion, and conversion for other systems (docs/autograph.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core.errors import Usage
from ...core.frontend.autograph import do_not_convert, inline, to_code

if TYPE_CHECKING:
    from .sexpr.operators import SexprProgram

__all__ = ["convert", "do_not_convert", "inline", "to_code", "to_sexpr"]


def convert(function: Callable[..., Any], operators: Any = "jax") -> Callable[..., Any]:
    """Convert a Python function for another system: where a condition is symbolic, that system's control flow is used.

    `operators` are called by the converted code: the name of a system, "jax", or an object with the attributes of
    `interp.exchange.operators.BackendOperators`. With "jax", the result can be given to `jax.jit`, `jax.grad` and
    `jax.vmap`; `pip install "tagloom[jax]"`.

    Raises Usage for an unknown system, or one that is not installed; the converted function raises Invalid (F4) for a
    feature that the system lacks, such as recursion in JAX.

    >>> from tagloom.interp.exchange.operators import BackendOperators
    >>> from tagloom.interp.exchange.sexpr.operators import SexprBackend
    >>> def larger(x, y):
    ...     return x if x > y else y
    >>> convert(larger, BackendOperators(SexprBackend()))(3, 4)
    4
    """
    if operators == "jax":
        from .jax.operators import jax_operators  # here: JAX is an extra

        operators = jax_operators()
    if not hasattr(operators, "convert"):
        raise Usage("there are no such operators", got=repr(operators)[:200], required="'jax', or BackendOperators")
    return operators.convert(function)  # type: ignore[no-any-return]


def to_sexpr(function: Callable[..., Any]) -> SexprProgram:
    """Stage a Python function to a program of S-expressions, with all its parameters symbolic.

    `print` shows the text of the program. A call runs it. `program.gradient(0, 2)` is the program of the derivatives by
    these arguments, in continuation-passing style; of the first one, if none is given. Recursion is plain recursion;
    arguments may be Python objects, whose attributes the program reads.

    Raises Usage where the function cannot be converted, and Invalid (F4, V5) for a feature that S-expressions lack.

    >>> def power(x, n):
    ...     return 1.0 if n == 0 else x * power(x, n - 1)
    >>> program = to_sexpr(power)
    >>> print(program)
    (def power (x n)
      (let* ((v1 (equal n 0)))
        (if v1 1.0 (let* ((v2 (subtract n 1)) (power_1 (call power x v2))) (multiply x power_1)))))
    >>> float(program(2.0, 10)), float(program.gradient()(2.0, 10))
    (1024.0, 5120.0)
    """
    from .sexpr.operators import to_sexpr as stage  # here: import tagloom needs no converter

    return stage(function)
