"""Adapters of the systems that run ONNX models: ONNX Runtime, and the evaluator of the `onnx` package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ....core.program.program import Program
from ....core.types import type_of
from ....core.value import Value, normalize
from ...exchange.export.walker import Refusal
from ..protocol import Capabilities, Level
from .system import SystemAdapter

REFUSALS = {
    "NOT_IMPLEMENTED": "kernel",
    "NotImplemented": "kernel",
    "Could not find an implementation": "kernel",
    "No Op registered": "kernel",
    "can't be converted to MLDataType": "dtype",
    "No corresponding Numpy type": "dtype",
}
"""Words in messages about missing features, each with the kind of the feature. ONNX Runtime takes and gives no arrays
of bfloat16 in Python."""


class OnnxAdapter(SystemAdapter):
    """Runs the model of a program. `prepare` makes the function that maps inputs by name to the results."""

    def prepare(self, model: Any) -> Callable[[dict[str, Any]], Sequence[Any]]:
        raise NotImplementedError

    def compile(self, program: Program) -> Callable[[Sequence[Value]], Sequence[Value]]:
        from ...exchange.export.onnx_model import to_onnx  # which needs the extra `onnx`

        model = to_onnx(program)
        names = [parameter.name for parameter in model.graph.input]
        run = self.attempt(lambda: self.prepare(model))

        def compute(arguments: Sequence[Value]) -> Sequence[Value]:
            inputs = dict(zip(names, map(np.asarray, arguments), strict=True))
            arrays = map(np.asarray, self.attempt(lambda: run(inputs)))
            return [normalize(array, type_of(array)) for array in arrays]

        return compute

    def attempt(self, action: Callable[[], Any]) -> Any:
        """The result of an action; raises Refusal where the system lacks a kernel or a dtype."""
        try:
            return action()
        except Exception as error:
            line = str(error).splitlines()[0] if str(error) else type(error).__name__
            for words, kind in REFUSALS.items():
                if words in str(error):
                    raise Refusal(kind, line) from error
            raise


class OnnxRuntimeAdapter(OnnxAdapter):
    """ONNX Runtime on the CPU, with the optimisations that are its default. Levels are its own, ORT_DISABLE_ALL,
    ORT_ENABLE_BASIC and so on."""

    name, module = "onnxruntime", "onnxruntime"
    flags = (
        "ConstantFolding",
        "CommonSubexpressionElimination",
        "EliminateIdentity",
        "EliminateSlice",
        "CastElimination",
        "UnsqueezeElimination",
        "NoopElimination",
        "ReshapeFusion",
        "TransposeOptimizer",
        "ConstantSharing",
    )
    levels = (
        Level("DISABLE_ALL", "the front end or the kernels"),
        Level("ENABLE_BASIC", "an optimiser of the level basic"),
        Level("ENABLE_EXTENDED", "an optimiser of the level extended"),
        Level("ENABLE_ALL", "an optimiser of layouts, or one of the level all"),
    )

    def prepare(self, model: Any) -> Callable[[dict[str, Any]], Sequence[Any]]:
        options = self.system.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        options.graph_optimization_level = getattr(self.system.GraphOptimizationLevel, f"ORT_{self.level}")
        session = self.system.InferenceSession(
            model.SerializeToString(),
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=list(self.disabled_flags),
        )
        return lambda inputs: session.run(None, inputs)


class UnoptimisedOnnxRuntimeAdapter(OnnxRuntimeAdapter):
    """ONNX Runtime without optimisations of the graph: where only ONNX Runtime is wrong, an optimisation is at
    fault."""

    name = "onnxruntime-unoptimised"

    def __init__(self, settings: Sequence[str] = ()) -> None:
        super().__init__(["DISABLE_ALL", *settings])

    def describe(self) -> Capabilities:
        return super().describe()._replace(flags=(), levels=())


class OnnxReferenceAdapter(OnnxAdapter):
    """The evaluator of the `onnx` package, which is in Python."""

    name, module = "onnx-reference", "onnx"

    def prepare(self, model: Any) -> Callable[[dict[str, Any]], Sequence[Any]]:
        evaluator = import_module("onnx.reference").ReferenceEvaluator(model)
        return lambda inputs: evaluator.run(None, inputs)


ADAPTERS: dict[str, type[OnnxAdapter]] = {
    adapter.name: adapter for adapter in (OnnxRuntimeAdapter, UnoptimisedOnnxRuntimeAdapter, OnnxReferenceAdapter)
}
"""The adapters of this file, by the names of their backends."""
