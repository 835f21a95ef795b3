"""tagloom as a backend of the `onnx` package, so that ONNX's own test runner runs it:
`onnx.backend.test.BackendTest(Backend, __name__)`.

A model is prepared when its first inputs are there: those that decide the number of axes are constants of the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt

from ...outcome.outcome import value_or_raise
from ..refusals import Unsupported
from .interpreter import declared_type
from .model import ImportedModel
from .sequences import PackedSequence, unpack
from .storage import storage_type


class PreparedModel(BackendRep):  # type: ignore[misc]
    """A model that runs on an engine. Sequences are lists of arrays, and arrays of storage types are arrays of
    `ml_dtypes`."""

    def __init__(self, model: onnx.ModelProto, engine: str | None = None) -> None:
        self.model, self.engine = ImportedModel(model), engine

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs for inputs in order, or by name. Raises BackendIsNotSupposedToImplementIt where tagloom lacks
        something that the model needs, and what a run raises."""
        infos, constants = self.model.inputs, {}
        if isinstance(inputs, dict):
            constants = {name: value for name, value in inputs.items() if name not in {info.name for info in infos}}
            inputs = [inputs[info.name] for info in infos]
        try:
            arguments = [as_argument(value, info) for value, info in zip(inputs, infos, strict=True)]
            function, remaining_arguments = self.model.specialize(arguments, constants)
        except Unsupported as error:
            raise BackendIsNotSupposedToImplementIt(str(error)) from error
        value = value_or_raise(function.run(*remaining_arguments, engine=self.engine))
        results = value if type(value) is tuple else (value,)
        return tuple(map(as_output, results, self.model.model.graph.output))


def as_argument(value: Any, info: onnx.ValueInfoProto) -> Any:
    """An input in the form of an argument: an array is of the declared dtype."""
    if isinstance(value, list | tuple):
        return tuple(np.asarray(item) for item in value)
    type_ = declared_type(info)
    return value if value is None or type_ is None else np.asarray(value, type_.dtype.numpy)


def as_output(value: Any, info: onnx.ValueInfoProto) -> Any:
    """A result in the form that the test runner compares."""
    storage = storage_type(info.type.tensor_type.elem_type)
    if storage is not None:
        return np.asarray(value).astype(storage.numpy)
    if isinstance(value, PackedSequence):
        return unpack(value.elements, value.shapes)
    return [np.asarray(item) for item in value] if isinstance(value, list) else np.asarray(value)


class TagloomBackend(Backend):  # type: ignore[misc]
    """tagloom's backend; `engine` chooses the engine."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> PreparedModel:
        """A model, checked, and ready to run."""
        onnx.checker.check_model(model)
        return PreparedModel(model, kwargs.get("engine"))

    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """The outputs of one node for arrays as inputs."""
        arrays = [np.asarray(array) for array in inputs]
        names = [name for name in node.input if name]
        infos = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip(names, arrays, strict=True)
        ]
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
        version = kwargs.get("opset_version", onnx.defs.onnx_opset_version())
        imports = [helper.make_opsetid(node.domain, version)]
        model = helper.make_model(helper.make_graph([node], "node", infos, outputs), opset_imports=imports)
        model = onnx.shape_inference.infer_shapes(model)  # which finds the element types of the outputs
        return PreparedModel(model, kwargs.get("engine")).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device == "CPU"
