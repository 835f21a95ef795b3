"""numba's pipeline for generated functions. It lacks the passes for what generated text does not use, such as closures,
context managers, array expressions and branches on constants: these took a tenth of the time of a first call."""

from __future__ import annotations

from typing import Any

from numba.core import typed_passes, untyped_passes
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager

_PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.GenericRewrites,  # constant indices, and raise statements
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


class GeneratedCodeCompiler(CompilerBase):
    """Compiles a generated function."""

    def define_pipelines(self) -> list[Any]:
        """The only pipeline."""
        passes: Any = PassManager("generated code")  # type: ignore[no-untyped-call]
        for each in _PASSES:
            passes.add_pass(each, each.__name__)
        passes.finalize()
        return [passes]
