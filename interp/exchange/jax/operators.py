"""Operators for JAX: where a condition is traced, converted Python uses the control flow of `jax.lax`.

JAX is imported when the first function is converted: `pip install "tagloom[jax]"`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ....core.errors import Usage, describe_class
from ....core.frontend.source.raising import is_raised
from ....core.frontend.source.state import staging_depth
from ..operators import BackendOperators, Leaves, refuse


class JaxBackend:
    """`jax.lax.cond` and `jax.lax.while_loop`. A call runs the function in the caller; JAX has no recursion."""

    name = "JAX"

    def __init__(self) -> None:
        try:
            import jax
        except ImportError as error:
            raise Usage("JAX is not installed", hint='pip install "tagloom[jax]"') from error
        self.jax, self.np = jax, jax.numpy
        self.codes: list[tuple[CodeType, int]] = []
        """The running functions, each with the number of staged branches and loops around it."""

    def is_symbolic(self, value: Any) -> bool:
        return isinstance(value, self.jax.core.Tracer)

    def truth(self, value: Any) -> Any:
        if value.shape:
            refuse(self, "the truth of an array", "write jnp.any(x) or jnp.all(x)", value.aval)
        return value if value.dtype == np.bool_ else value != 0

    def negate(self, value: Any) -> Any:
        return self.np.logical_not(self.truth(value))

    def cast(self, value: Any, kind: type) -> Any:
        return self.truth(value) if kind is bool else value.astype(kind)

    def round(self, value: Any) -> Any:
        return self.np.round(value).astype(int)

    def python_class(self, value: Any) -> type:
        if value.shape:
            return np.ndarray
        return {"b": bool, "i": int, "u": int, "f": float}.get(value.dtype.kind, complex)

    def zero_like(self, leaf: Any) -> Any:
        return np.zeros(np.shape(leaf), self.np.result_type(leaf))  # of NumPy, since it outlives the trace of a branch

    def length(self, array: Any) -> Any:
        if not array.shape:
            raise TypeError("iteration over a 0-d array")
        return array.shape[0]

    def branch(self, predicate: Any, then: Callable[[], Leaves], otherwise: Callable[[], Leaves]) -> Leaves:
        def to_arrays(function: Callable[[], Leaves]) -> Callable[[], Leaves]:
            def run() -> Leaves:
                try:
                    return list(map(self.np.asarray, function()))
                except Exception as error:
                    if is_raised(error):
                        refuse(
                            self,
                            f"{describe_class(error)} that a traced condition decides on",
                            "return a value",
                        )
                    raise

            return run

        return self.jax.lax.cond(predicate, to_arrays(then), to_arrays(otherwise))  # type: ignore[no-any-return]

    def loop(self, test: Callable[[Leaves], Any], body: Callable[[Leaves], Leaves], start: Leaves) -> Leaves:
        return self.jax.lax.while_loop(  # type: ignore[no-any-return]
            test, lambda leaves: list(map(self.np.asarray, body(leaves))), list(map(self.np.asarray, start))
        )

    def assertion(self, predicate: Any, message: tuple[Any, ...]) -> None:
        refuse(self, "an assertion of a traced condition", "use jax.experimental.checkify")

    def call(
        self, function: FunctionType, converted: FunctionType, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        code, depth = function.__code__, staging_depth()
        entry_depth = next((outer for traced_code, outer in reversed(self.codes) if traced_code is code), depth)
        if entry_depth < depth:
            refuse(
                self,
                f"recursion of {function.__name__} under a traced condition",
                "write a loop; tl.function and tl.autograph.to_sexpr take recursion",
            )
        self.codes.append((code, depth))
        try:
            return converted(*arguments, **keywords)
        finally:
            self.codes.pop()

    def call_other(self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return function(*arguments, **keywords)

    def discard(self, compute: Callable[[], Any]) -> Any:
        return compute()  # JAX drops what is not used


def jax_operators() -> BackendOperators:
    """The operators for JAX; raises Usage where it is not installed."""
    return BackendOperators(JaxBackend())
