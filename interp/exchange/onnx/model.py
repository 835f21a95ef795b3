"""Models as functions: a model is read, and a function is made that traces it.

Another process reads a file first, with bounds on its time and memory, and checks it by ONNX's own rules; this process
parses only files that passed. Loading a model runs no code of it: a model has none.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ....core.errors import Invalid, Malformed, Usage
from ....core.files import path_errors
from ....core.frontend.trace.annotation import DerivedFunction
from ....core.frontend.trace.pytree import leaf_type
from ....core.value import admit
from ...function.function import Function
from ..foreign_parser import run_parser
from ..functions import function_spec, identifier, unique_identifiers
from ..refusals import Unsupported
from . import rows  # noqa: F401 - registers the operators
from .interpreter import ModelInterpreter, NeedsConstant, declared_type, is_static, reachable_names
from .operators import unsupported
from .sequences import ItemSequence, PackedSequence
from .storage import StorageArray, carrier_of, cast_to_storage, storage_type, unpack_carrier

MAX_MODEL_BYTES = 2**31
"""The most bytes of a model with its tensors: the limit of its format."""
CHECK_SECONDS = 120.0
"""The time limit, in seconds, of the process that checks a file."""


def import_model(source: str | os.PathLike[str] | bytes | onnx.ModelProto, constants: Mapping[str, Any]) -> Function:
    """`from_onnx`, where the package that reads models is installed."""
    file = None
    if isinstance(source, str | os.PathLike):
        file = os.path.abspath(source)
        source = read_checked(Path(source))
    if isinstance(source, bytes):
        source = parse_model(source)
    return ImportedModel(source, file).function(constants)


def parse_model(content: bytes) -> onnx.ModelProto:
    """The model of these bytes; raises Malformed where they are none."""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except Exception as error:  # of a class that depends on how protobuf is installed
        raise Malformed("this is not an ONNX model", got=error) from None
    if not model.HasField("graph"):
        raise Malformed("this is not an ONNX model", required="a graph")
    return model


def check_texts(message: Any) -> None:
    """Raises Malformed if a string in a message, or in an inner message, is not UTF-8: protobuf leaves it as bytes."""
    for field, content in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in content if isinstance(content, Sequence) else [content]:
                check_texts(inner)
        elif field.type == field.TYPE_STRING:
            for text in [content] if isinstance(content, str | bytes) else content:
                if not isinstance(text, str):
                    raise Malformed("this is not an ONNX model", required=f"UTF-8 as {field.name}", got=text[:40])


def check_names(graph: onnx.GraphProto) -> None:
    """Raises Malformed if a name stands for several values of a graph, inner graphs included. An input and an
    initializer may share a name: the initializer is the input's default."""
    inputs = [parameter.name for parameter in graph.input]
    tensors = [
        *(initializer.name for initializer in graph.initializer),
        *(initializer.values.name for initializer in graph.sparse_initializer),
    ]
    results = [name for node in graph.node for name in node.output if name]
    for names in (inputs, tensors, [*{*inputs, *tensors}, *results]):
        repeated = next((name for name, count in Counter(names).items() if count > 1), None)
        if repeated is not None:
            raise Malformed(f"{repeated!r} names several values of graph {graph.name!r}", required="a name for each")
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                check_names(attribute.g)


def read_checked(path: Path) -> bytes:
    """The bytes of a model in a file, with the tensors of its other files, checked by another process. Raises Usage
    where the file cannot be read, Malformed where it is not a model."""
    with path_errors(path, "this model cannot be read"):
        if not path.is_file():
            raise Usage("this model cannot be read", required="a regular file", got=path)
        size = path.stat().st_size
    if size > MAX_MODEL_BYTES:
        raise Usage("this model is too large", required=f"at most {MAX_MODEL_BYTES:,} bytes", got=f"{size:,}")
    script = Path(__file__).with_name("check.py")
    return run_parser(script, [str(path)], b"", "this is not a valid ONNX model", path.name, CHECK_SECONDS)


class ImportedModel:
    """A model, and the functions that it becomes for constants as inputs."""

    def __init__(self, model: onnx.ModelProto, file: str | None = None) -> None:
        if not isinstance(model, onnx.ModelProto):
            required = "a path, bytes or an onnx.ModelProto"
            raise Usage("this is not an ONNX model", required=required, got=type(model).__name__, python=TypeError)
        check_texts(model)
        check_names(model.graph)
        initialized = {initializer.name for initializer in model.graph.initializer}
        self.model = model
        self.inputs = [parameter for parameter in model.graph.input if parameter.name not in initialized]
        self.defaults = [parameter for parameter in model.graph.input if parameter.name in initialized]
        """The inputs with a default in the model, which a constant may replace."""
        self.name = identifier(model.graph.name or Path(file or "").stem, "model")
        self.interpreter = ModelInterpreter(model, file, self.name)

    def function(self, constants: Mapping[str, Any]) -> Function:
        """The function of the inputs that are not constants."""
        infos = {parameter.name: parameter for parameter in (*self.inputs, *self.defaults)}
        unknown_names = constants.keys() - infos.keys()
        if unknown_names:
            raise Usage(f"the model has no input {sorted(unknown_names)[0]!r}", required=", ".join(infos))
        fixed = {name: as_input(value, infos[name]) for name, value in constants.items()}
        inputs = [parameter for parameter in self.inputs if parameter.name not in fixed]
        types = [None if type_ is None else leaf_type(type_) for type_ in map(declared_type, inputs)]
        names = unique_identifiers(parameter.name for parameter in inputs)

        def evaluate(*arguments: Any) -> Any:
            values = {
                parameter.name: as_operand(value, parameter) for parameter, value in zip(inputs, arguments, strict=True)
            }
            return self.evaluate({**fixed, **values})

        python = DerivedFunction(self.name, self.interpreter.listing.definition(), evaluate)
        spec = function_spec(python, list(zip(names, types, strict=True)))
        return Function(python, lambda _: spec)

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """The results of the model, for values of all its inputs."""
        try:
            results = self.interpreter.evaluate_model(values)
        except NeedsConstant as error:
            names = self.undetermined_inputs(error.names, values)
            hint = f"from_onnx(..., {names[0]}=...) fixes an input" if names else None
            required = "an operand that does not depend on the run"
            source = ", ".join(names) or "values that are known only at run time"
            message = f"an operand of {error.operator} determines the nodes of the program, and depends on {source}"
            refusal = unsupported("shape", message, required=required, hint=hint)
            refusal.undetermined_inputs = names
            raise refusal from None
        if any(result is None for result in results):
            raise unsupported("construct", "the model returns an optional value that is empty")
        results = [list(result.items) if isinstance(result, ItemSequence) else carrier_of(result) for result in results]
        return results[0] if len(results) == 1 else tuple(results)

    def undetermined_inputs(self, names: Collection[str], values: Mapping[str, Any]) -> list[str]:
        """The inputs, other than constants, on whose elements values depend."""
        reached = reachable_names(self.model.graph.node, names)
        return [name for name, value in values.items() if name in reached and not is_static(value)]

    def specialize(self, arguments: Sequence[Any], constants: Mapping[str, Any]) -> tuple[Function, list[Any]]:
        """The function for these arguments and constants, and the remaining arguments: an argument that must be a
        constant becomes one."""
        while True:
            function = self.function(constants)
            pairs = zip(self.inputs, arguments, strict=True)
            remaining = [(parameter, value) for parameter, value in pairs if parameter.name not in constants]
            try:
                function.trace(*(value for _, value in remaining))
            except Unsupported as error:
                additional_names = [
                    parameter.name for parameter, _ in remaining if parameter.name in error.undetermined_inputs
                ]
                if not additional_names:
                    raise
                constants = {
                    **constants,
                    **{parameter.name: value for parameter, value in remaining if parameter.name in additional_names},
                }
                continue
            return function, [value for _, value in remaining]


def as_operand(value: Any, info: onnx.ValueInfoProto) -> Any:
    """An argument in the form that the interpreter takes: a list is a sequence, and an array of a storage type is
    rounded to its values."""
    kind = info.type.WhichOneof("value")
    if kind == "tensor_type":
        storage = storage_type(info.type.tensor_type.elem_type)
        return value if storage is None else cast_to_storage(value, storage)
    if value is None or isinstance(value, PackedSequence):
        return value
    inner = info.type.optional_type.elem_type if kind == "optional_type" else info.type
    if inner.WhichOneof("value") != "sequence_type":
        return value
    element = declared_type(onnx.helper.make_value_info(info.name, inner.sequence_type.elem_type))
    if element is None:
        raise Invalid("sequences of sequences are not supported", got=info.name)
    is_empty = not isinstance(value, list | tuple)  # an empty list is an array
    return ItemSequence(() if is_empty else tuple(value), element.dtype)


def as_input(value: Any, info: onnx.ValueInfoProto) -> Any:
    """A constant that stands for an input, in the input's dtype."""
    storage = storage_type(info.type.tensor_type.elem_type)
    if storage is not None:
        array = np.asarray(value)
        carrier = array.astype(storage.carrier.numpy) if array.dtype == storage.numpy else value
        admitted_array = np.asarray(admit(carrier, declared_type(info)))
        return StorageArray(unpack_carrier(admitted_array, storage), storage)
    operand = as_operand(value, info)
    if isinstance(operand, ItemSequence):
        return ItemSequence(tuple(map(np.asarray, operand.items)), operand.element)
    return None if value is None else np.asarray(admit(value, declared_type(info)))
