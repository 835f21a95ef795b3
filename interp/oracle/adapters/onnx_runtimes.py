"""Adapters of the systems that run ONNX models: ONNX Runtime, and the evaluator of the `onnx` package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ....core.program.program import Program
from ....core.types import type_of
from ....core.value import Value, normalize
from ...exchange.export.onnx_model import to_onnx
from ...exchange.export.walker import Refusal
from ..protocol import CONSTRUCTS, Capabilities

ONNX_CONSTRUCTS = tuple(construct for construct in CONSTRUCTS if construct != "recursion")
REFUSALS = ("NOT_IMPLEMENTED", "NotImplemented", "Could not find an implementation", "No Op registered")
"""Words of messages by which a system says that it lacks a kernel."""


class OnnxAdapter:
    """Runs the model of a program. `prepare` makes the function that maps inputs by name to the results."""

    name: str
    module: str

    flags: tuple[str, ...] = ()
    """The optimisations that can be disabled."""

    def __init__(self, disabled_flags: Sequence[str] = ()) -> None:
        self.disabled_flags = list(disabled_flags)
        self.system = import_module(self.module)

    def describe(self) -> Capabilities:
        return Capabilities(self.name, self.system.__version__, "Python", constructs=ONNX_CONSTRUCTS, flags=self.flags)

    def prepare(self, model: Any) -> Callable[[dict[str, Any]], Sequence[Any]]:
        raise NotImplementedError

    def compile(self, program: Program) -> Callable[[Sequence[Value]], Sequence[Value]]:
        model = to_onnx(program)
        names = [each.name for each in model.graph.input]
        run = self.attempt(lambda: self.prepare(model))

        def compute(arguments: Sequence[Value]) -> Sequence[Value]:
            inputs = dict(zip(names, map(np.asarray, arguments), strict=True))
            arrays = map(np.asarray, self.attempt(lambda: run(inputs)))
            return [normalize(array, type_of(array)) for array in arrays]

        return compute

    def attempt(self, action: Callable[[], Any]) -> Any:
        """The result of an action; raises Refusal where the system lacks a kernel."""
        try:
            return action()
        except Exception as error:
            line = str(error).splitlines()[0] if str(error) else type(error).__name__
            if any(word in str(error) for word in REFUSALS):
                raise Refusal("kernel", line) from error
            raise


class OnnxRuntimeAdapter(OnnxAdapter):
    """ONNX Runtime on the CPU, with the optimisations that are its default."""

    name, module = "onnxruntime", "onnxruntime"
    flags: tuple[str, ...] = (
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
    is_optimised = True

    def prepare(self, model: Any) -> Callable[[dict[str, Any]], Sequence[Any]]:
        options = self.system.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        if not self.is_optimised:
            options.graph_optimization_level = self.system.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = self.system.InferenceSession(
            model.SerializeToString(),
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=self.disabled_flags,
        )
        return lambda inputs: session.run(None, inputs)


class UnoptimisedOnnxRuntimeAdapter(OnnxRuntimeAdapter):
    """ONNX Runtime without optimisations of the graph: what differs from ONNX Runtime is an optimisation's fault."""

    name, is_optimised = "onnxruntime-unoptimised", False
    flags = ()


class OnnxReferenceAdapter(OnnxAdapter):
    """The evaluator of the `onnx` package, which is in Python."""

    name, module = "onnx-reference", "onnx"

    def prepare(self, model: Any) -> Callable[[dict[str, Any]], Sequence[Any]]:
        evaluator = import_module("onnx.reference").ReferenceEvaluator(model)
        return lambda inputs: evaluator.run(None, inputs)
