"""Adapters of the systems that take programs as Python source: NumPy, JAX, PyTorch and TensorFlow."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....core import dtypes
from ....core.program.program import Program
from ....core.types import type_of
from ....core.value import Value, normalize
from ...exchange.export.python_source import (
    JAX,
    NUMPY,
    TENSORFLOW,
    TENSORFLOW_FRAMES,
    TENSORFLOW_FUNCTION,
    TENSORFLOW_XLA,
    TORCH,
    TORCH_COMPILED,
    Dialect,
    to_python,
)
from ...exchange.export.walker import Refusal
from ..protocol import CONSTRUCTS, Capabilities, Level
from .system import NON_RECURSIVE, Settings, SystemAdapter


class PythonSourceAdapter(SystemAdapter):
    """Executes the source of a program, and calls its `main`."""

    dialect: Dialect

    def __init__(self, settings: Sequence[str] = ()) -> None:
        super().__init__(settings)
        self.name = self.dialect.name
        self.constructs = CONSTRUCTS if self.dialect.calls_recur else NON_RECURSIVE

    def compile(self, program: Program) -> Callable[[Sequence[Value]], Sequence[Value]]:
        namespace: dict[str, Any] = {}
        exec(compile(to_python(program, self.dialect), "<program>", "exec"), namespace)
        main = self.wrap(namespace["main"])
        return lambda arguments: [self.to_value(result) for result in main(*map(self.from_value, arguments))]

    def wrap(self, main: Callable[..., Any]) -> Callable[..., Any]:
        """The function that is called in place of `main`."""
        return main

    def from_value(self, value: Value) -> Any:
        """An argument, as the system takes it."""
        return np.array(value)[()]

    def to_value(self, result: Any) -> Value:
        """A result of the system, as a value."""
        array = np.asarray(result)
        return normalize(array, type_of(array))


def has_open_sizes(program: Program) -> bool:
    """Whether a cond or a loop has a result whose size is known at run time only."""
    results = (
        result
        for function in program.functions
        for node in function.body.walk()
        if node.op in ("cond", "while_loop")
        for result in node.results
    )
    return any(result.type.shape is None or None in result.type.shape for result in results)


def refusing_open_sizes(
    program: Program, run: Callable[[Sequence[Value]], Sequence[Value]]
) -> Callable[[Sequence[Value]], Sequence[Value]]:
    """A program compiled by XLA: if it has open sizes, an error is a refusal."""
    if not has_open_sizes(program):
        return run

    def run_sized(arguments: Sequence[Value]) -> Sequence[Value]:
        try:
            return run(arguments)
        except Exception as error:
            raise Refusal("shape", f"XLA needs sizes before the run: {str(error).splitlines()[0]}") from error

    return run_sized


class NumPyAdapter(PythonSourceAdapter):
    """NumPy, whose programs are Python's."""

    dialect, module = NUMPY, "numpy"


XLA_PASSES: tuple[str, ...] = (
    "algsimp",
    "constant_folding",
    "dce",
    "simplify-conditional",
    "simplify-while-loops",
    "small-while-loop-hoisting",
    "while-loop-trip-count-annotator",
)
"""Passes of XLA on the CPU that can be disabled."""


def restrict_xla(settings: Sequence[str], levels: Sequence[Level]) -> None:
    """Disable passes of XLA; at the level `unoptimised`, all of them and the passes of LLVM. XLA reads its flags once
    in a process, before its first use."""
    level, passes = Settings.parse(settings, levels, XLA_PASSES)
    flags = [f"--xla_disable_hlo_passes={','.join(passes)}"] if passes else []
    if level == "unoptimised":
        flags = [f"--xla_disable_hlo_passes={','.join(XLA_PASSES)}", "--xla_backend_optimization_level=0"]
    if flags:
        os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *flags]).strip()


class JaxAdapter(PythonSourceAdapter):
    """JAX, which traces `main` and compiles it with XLA; at the level `eager`, one op after another."""

    dialect, module, flags = JAX, "jax", XLA_PASSES
    levels = (
        Level("eager", "the front end or the kernels"),
        Level("unoptimised", "tracing, or XLA's code generator"),
        Level("optimised", "XLA's optimiser"),
    )

    def __init__(self, settings: Sequence[str] = ()) -> None:
        restrict_xla(settings, self.levels)
        super().__init__(settings)
        self.system.config.update("jax_disable_jit", self.level == "eager")

    def compile(self, program: Program) -> Callable[[Sequence[Value]], Sequence[Value]]:
        return refusing_open_sizes(program, super().compile(program))

    def wrap(self, main: Callable[..., Any]) -> Callable[..., Any]:
        compiled = self.system.jit(main)

        def run(*arguments: Any) -> Any:
            try:
                return compiled(*arguments)
            except TypeError as error:
                if "is not supported" in str(error):  # a dtype, as those of 16 bits by ndtri
                    raise Refusal("kernel", str(error).splitlines()[0]) from error
                raise

        return run


TORCH_REFUSALS = {
    "not implemented for": "kernel",
    "not support": "kernel",
    "step must be greater than zero": "attribute",
}
"""Words in PyTorch's messages about missing features, each with the kind of the feature."""


class TorchAdapter(PythonSourceAdapter):
    """PyTorch in eager mode."""

    dialect, module = TORCH, "torch"

    def wrap(self, main: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            try:
                with self.system.no_grad():
                    return main(*arguments)
            except (RuntimeError, ValueError) as error:
                for words, kind in TORCH_REFUSALS.items():
                    if words in str(error):
                        raise Refusal(kind, str(error).splitlines()[0]) from error
                raise

        return run

    def from_value(self, value: Value) -> Any:
        array = np.array(value)
        if array.dtype != dtypes.bfloat16.numpy:
            return self.system.from_numpy(array)
        return self.system.from_numpy(array.view(np.int16)).view(self.system.bfloat16)  # it takes no array of ml_dtypes

    def to_value(self, result: Any) -> Value:
        if result.dtype != self.system.bfloat16:
            return super().to_value(result.numpy())
        return super().to_value(result.contiguous().view(self.system.int16).numpy().view(dtypes.bfloat16.numpy))


class CompiledTorchAdapter(TorchAdapter):
    """PyTorch's compiler, Inductor. A condition on data ends a compiled part; Python decides it. Levels are named as
    the backends of `torch.compile`; at `uncompiled` there is none."""

    dialect = TORCH_COMPILED
    levels = (
        Level("uncompiled", "the kernels"),
        Level("eager", "the front end, Dynamo"),
        Level("aot_eager", "AOTAutograd and its decompositions"),
        Level("inductor", "the optimiser and code generator, Inductor"),
    )

    def wrap(self, main: Callable[..., Any]) -> Callable[..., Any]:
        if self.level == "uncompiled":
            return super().wrap(main)
        self.system._dynamo.reset()
        return super().wrap(self.system.compile(main, backend=self.level))


TENSORFLOW_REFUSALS = (
    "not in the list of allowed values",
    "not in list of allowed values",
    "No OpKernel was registered",
    "Could not find device for node",
    "No registered",
    "not supported",
    "unsupported operations",
)
"""Words of messages by which TensorFlow says that it lacks a kernel."""


class TensorFlowAdapter(PythonSourceAdapter):
    """TensorFlow in eager mode."""

    dialect, module = TENSORFLOW, "tensorflow"

    def __init__(self, settings: Sequence[str] = ()) -> None:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        super().__init__(settings)
        for set_threads in (
            self.system.config.threading.set_intra_op_parallelism_threads,
            self.system.config.threading.set_inter_op_parallelism_threads,
        ):
            set_threads(1)

    def wrap(self, main: Callable[..., Any]) -> Callable[..., Any]:
        compiled = main if self.level == "eager" else self.stage(main)

        def run(*arguments: Any) -> Any:
            try:
                return compiled(*arguments)
            except Exception as error:
                if any(words in str(error) for words in TENSORFLOW_REFUSALS):
                    raise Refusal("kernel", str(error).splitlines()[0]) from error
                raise

        return run

    def stage(self, main: Callable[..., Any]) -> Callable[..., Any]:
        """The function as this form of TensorFlow runs it."""
        return main

    def from_value(self, value: Value) -> Any:
        return self.system.constant(np.array(value))

    def to_value(self, result: Any) -> Value:
        return super().to_value(result.numpy())


GRAPPLER_OPTIMIZERS: tuple[str, ...] = (
    "constant_folding",
    "arithmetic_optimization",
    "dependency_optimization",
    "loop_optimization",
    "function_optimization",
    "shape_optimization",
    "common_subgraph_elimination",
    "remapping",
)
"""The optimisers of TensorFlow's graphs, as `set_experimental_options` names them."""


class TensorFlowFunctionAdapter(TensorFlowAdapter):
    """TensorFlow's graphs, with Grappler's optimisations."""

    dialect, flags = TENSORFLOW_FUNCTION, GRAPPLER_OPTIMIZERS
    levels = (
        Level("eager", "the kernels"),
        Level("unoptimised", "the front end, or the executor of graphs"),
        Level("optimised", "the optimiser, Grappler"),
    )

    def __init__(self, settings: Sequence[str] = ()) -> None:
        super().__init__(settings)
        options = dict.fromkeys(self.disabled_flags, False)
        if self.level == "unoptimised":
            options["disable_meta_optimizer"] = True
        self.system.config.optimizer.set_experimental_options(options)

    def stage(self, main: Callable[..., Any]) -> Callable[..., Any]:
        return self.system.function(main, autograph=False)  # type: ignore[no-any-return]


class UnoptimisedTensorFlowAdapter(TensorFlowFunctionAdapter):
    """TensorFlow's graphs without Grappler."""

    def __init__(self, settings: Sequence[str] = ()) -> None:
        super().__init__(["unoptimised", *settings])

    def describe(self) -> Capabilities:
        return super().describe()._replace(name="tensorflow-unoptimised", flags=(), levels=())


class TensorFlowFramesAdapter(TensorFlowAdapter):
    """TensorFlow's graphs with frames (Switch, Merge, Enter, NextIteration, Exit), run in a session."""

    dialect = TENSORFLOW_FRAMES

    def stage(self, main: Callable[..., Any]) -> Callable[..., Any]:
        return main.__globals__["in_session"](main)  # type: ignore[no-any-return]

    def to_value(self, result: Any) -> Value:
        return PythonSourceAdapter.to_value(self, result)


class TensorFlowXlaAdapter(TensorFlowAdapter):
    """TensorFlow's graphs, compiled by XLA."""

    dialect, flags = TENSORFLOW_XLA, XLA_PASSES
    levels = (
        Level("eager", "the kernels"),
        Level("unoptimised", "the front end, or XLA's code generator"),
        Level("optimised", "XLA's optimiser"),
    )

    def __init__(self, settings: Sequence[str] = ()) -> None:
        restrict_xla(settings, self.levels)
        super().__init__(settings)

    def compile(self, program: Program) -> Callable[[Sequence[Value]], Sequence[Value]]:
        return refusing_open_sizes(program, super().compile(program))

    def stage(self, main: Callable[..., Any]) -> Callable[..., Any]:
        return self.system.function(main, autograph=False, jit_compile=True)  # type: ignore[no-any-return]


ADAPTERS: dict[str, type[PythonSourceAdapter]] = {
    **{
        adapter.dialect.name: adapter
        for adapter in (
            NumPyAdapter,
            JaxAdapter,
            TorchAdapter,
            CompiledTorchAdapter,
            TensorFlowAdapter,
            TensorFlowFunctionAdapter,
            TensorFlowFramesAdapter,
            TensorFlowXlaAdapter,
        )
    },
    "tensorflow-unoptimised": UnoptimisedTensorFlowAdapter,
}
"""The adapters of this file, by the names of their backends."""
DIALECTS: dict[str, Dialect] = {
    name: adapter.dialect for name, adapter in ADAPTERS.items() if adapter.dialect.name == name
}
"""How the Python of each system looks, by the name of its backend."""
