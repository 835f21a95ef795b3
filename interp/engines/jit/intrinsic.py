"""The decorator of this package's intrinsics, which emit LLVM instructions.

numba's own decorator takes a tenth of the time to compile a program: at each call it looks for new registrations, and
it defines an intrinsic again for each literal among the arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core.extending import _Intrinsic
from numba.core.registry import cpu_target
from numba.core.typing.templates import AbstractTemplate, infer, infer_global
from numba.np import linalg


def _import_array_functions() -> None:
    """Import numba's functions of arrays without SciPy's linear algebra. They import it to see whether it is there,
    which takes a tenth of a second; `matrices.load_product` does so where BLAS may be called."""
    ensure_blas = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        from numba.np import arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = ensure_blas


_import_array_functions()


class Intrinsic(_Intrinsic):  # type: ignore[misc]
    """An intrinsic that is defined once for each tuple of argument types, and not again for each literal."""

    def _register(self) -> None:
        define, signatures, emitters = self._defn, dict[Any, Any](), dict[Any, Any]()

        class Template(AbstractTemplate):
            key = self

            def generic(self, arguments: Any, keywords: Any) -> Any:
                arguments = tuple(map(types.unliteral, arguments))
                if arguments not in signatures:
                    signature, emit = define(self.context, *arguments)
                    if signature.args not in emitters:
                        emitters[signature.args] = emit
                        cpu_target.target_context.insert_func_defn([(emit, emit, signature.args)])
                    signatures[arguments] = signature
                return signatures[arguments]

            def get_impl_key(self, signature: Any) -> Any:
                return emitters[signature.args]

        infer(Template)  # type: ignore[no-untyped-call]
        infer_global(self, types.Function(Template))  # type: ignore[no-untyped-call]


def intrinsic(define: Callable[..., Any]) -> Any:
    """The intrinsic that a function defines: it takes the typing context and the types of the arguments, and returns
    the signature and the function that emits the instructions."""
    result = Intrinsic(getattr(define, "__name__", str(define)), define)
    result._register()
    return result
