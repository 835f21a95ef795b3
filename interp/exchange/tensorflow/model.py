"""Functions from files, GraphDefs, concrete functions and SavedModels: a source is read, and becomes a function that
traces the graph. TensorFlow is not imported, and nothing in a file is run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ....core.errors import Malformed, Usage
from ....core.files import path_errors
from ....core.frontend.eager.variable import Variable
from ....core.graph.graph import Graph
from ...function.function import Function
from ..functions import identifier
from . import MODEL_FILES, rows  # noqa: F401 - registers the ops
from .checkpoint import read_checkpoint
from .executor import executor_graph as build_executor_graph
from .graph import ForeignGraph, GraphLibrary, read_graph, read_library
from .interpreter import GraphInterpreter, short_name, user_function_name
from .messages import Message
from .saved_model import choose_meta_graph, choose_signature, variable_keys
from .text_format import parse_text
from .wire import parse_message

MAX_BYTES = 2**31
"""The most bytes of a graph: the limit of its format."""


def import_graph(
    source: Any, inputs: Sequence[str] | None, outputs: Sequence[str] | None, signature: str | None
) -> Function:
    """`from_tensorflow`, for any of its sources."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        with path_errors(path, "this graph cannot be read"):
            is_folder = path.is_dir()
        if is_folder:
            return import_saved_model(path, signature)
    if hasattr(source, "graph") and hasattr(source, "captured_inputs"):
        return import_concrete_function(source)
    return import_graph_message(*read_graph_source(source), inputs, outputs)


def read_graph_source(source: Any) -> tuple[Message, str]:
    """The GraphDef of a path, of bytes, or of an object of TensorFlow, and a name for its function."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return read_file_message(path, "GraphDef"), identifier(path.stem, "graph")
    if isinstance(source, bytes):
        return parse_message(source, "GraphDef"), "graph"
    if hasattr(source, "SerializeToString") and hasattr(source, "node"):
        return parse_message(source.SerializeToString(), "GraphDef"), "graph"
    hint = "call its get_concrete_function" if hasattr(source, "get_concrete_function") else None
    required = "a path, bytes, a GraphDef or a concrete function"
    raise Usage("this is not a graph of TensorFlow", required=required, got=type(source).__name__, hint=hint,
                python=TypeError)  # fmt: skip


def read_file_message(path: Path, name: str) -> Message:
    """The message in a file, in the wire format or as text."""
    with path_errors(path, "this graph cannot be read"):
        if not path.is_file():
            raise Usage("this graph cannot be read", required="a regular file", got=path)
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise Usage("this graph is too large", required=f"at most {MAX_BYTES:,} bytes", got=f"{size:,}")
        content = path.read_bytes()
    if path.suffix != ".pbtxt":
        return parse_message(content, name)
    try:
        return parse_text(content.decode(), name)
    except UnicodeDecodeError:
        raise Malformed("this file is not text", where=path.name, required="UTF-8") from None


def import_graph_message(
    message: Message, name: str, inputs: Sequence[str] | None, outputs: Sequence[str] | None
) -> Function:
    """The function of a GraphDef."""
    return make_entry(read_graph_with_results(message, name, inputs, outputs), read_library(message), {}, flat_result)


def read_graph_with_results(
    message: Message, name: str, inputs: Sequence[str] | None, outputs: Sequence[str] | None
) -> ForeignGraph:
    """The graph of a GraphDef, which must return something."""
    if not message.node:
        raise Malformed("this is not a graph of TensorFlow", required="a GraphDef with nodes")
    graph = read_graph(message, name, inputs, outputs)
    if not graph.results:
        raise Usage("the graph has no results", hint="name the nodes that it returns: outputs=[...]")
    return graph


def import_executor_graph(source: Any, inputs: Sequence[str] | None, outputs: Sequence[str] | None) -> Graph:
    """`executor_graph`, for any of its sources."""
    message, name = read_graph_source(source)
    return build_executor_graph(read_graph_with_results(message, name, inputs, outputs), read_library(message))


def make_entry(
    graph: ForeignGraph,
    library: GraphLibrary,
    captures: Mapping[str, Any],
    wrap: Callable[[list[Any]], Any],
) -> Function:
    """The function of a graph, whose results `wrap` nests."""
    name = identifier(graph.name, "graph")
    return GraphInterpreter(graph, library, captures, name).entry(name, wrap)


def flat_result(values: list[Any]) -> Any:
    """Results as a function of Python returns them: one, or a tuple."""
    return values[0] if len(values) == 1 else tuple(values)


def import_concrete_function(function: Any) -> Function:
    """The function of a concrete function, with copies of its variables. Its result nests as TensorFlow's does."""
    message = parse_message(function.graph.as_graph_def().SerializeToString(), "GraphDef")
    inputs = [tensor.name for tensor in function.inputs]
    outputs = [tensor.name for tensor in function.outputs]
    full_name = function.name.decode() if isinstance(function.name, bytes) else function.name
    name = identifier(user_function_name(full_name), "graph")
    graph = read_graph(message, name, inputs, outputs)
    variables = {id(variable.handle): variable for variable in function.graph.variables}
    captures: dict[str, Any] = {}
    for value, placeholder in function.graph.captures:
        node = placeholder.name.partition(":")[0]
        if id(value) in variables:
            variable = variables[id(value)]
            captures[node] = copy_variable(variable.numpy(), variable.name)
        elif placeholder.dtype.name not in ("resource", "variant"):
            captures[node] = np.asarray(value)
        else:
            captures[node] = None
    structure = function.structured_outputs
    positions = {output: position for position, output in enumerate(outputs)}

    def wrap(values: list[Any]) -> Any:
        return nest_result(structure, values, positions)

    return make_entry(graph, read_library(message), captures, wrap)


def copy_variable(value: Any, name: str) -> Variable:
    """A variable with this value, named after a variable of TensorFlow."""
    return Variable(np.asarray(value), name=identifier(name.partition(":")[0], "variable"))


def nest_result(structure: Any, values: Sequence[Any], positions: Mapping[str, int]) -> Any:
    """Results nested like a structure of TensorFlow's tensors; raises Usage if it nests in other classes."""
    if structure is None:
        return None
    if isinstance(structure, Mapping):
        return {key: nest_result(value, values, positions) for key, value in structure.items()}
    if isinstance(structure, tuple | list):
        parts = [nest_result(item, values, positions) for item in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*parts)
        return tuple(parts) if isinstance(structure, tuple) else parts
    has_parts = hasattr(structure, "values")
    if has_parts or getattr(structure, "name", None) not in positions:
        required = "arrays in tuples, lists and dicts"
        hint = "return tf.convert_to_tensor of it" if has_parts else None
        message, class_name = "the function returns a value that tagloom does not have", type(structure).__name__
        raise Usage(message, required=required, got=class_name, hint=hint)
    return values[positions[structure.name]]


def import_saved_model(folder: Path, signature: str | None) -> Function:
    """The function of a signature of a SavedModel: it returns a dict if the signature has several outputs."""
    path = next((folder / name for name in MODEL_FILES if (folder / name).is_file()), None)
    if path is None:
        raise Usage("this folder is not a SavedModel", required=f"a file {MODEL_FILES[0]}", got=folder)
    meta = choose_meta_graph(read_file_message(path, "SavedModel"))
    signature_name, definition = choose_signature(meta, signature)
    arguments, results = definition.inputs, definition.outputs
    if not results:
        raise Usage(f"signature {signature_name!r} of the SavedModel returns nothing", got=folder)
    names = sorted(results)
    name = folder.resolve().name if signature_name == "serving_default" else signature_name
    inputs = [arguments[argument].name for argument in sorted(arguments)]
    graph = read_graph(meta.graph_def, name, inputs, [results[result].name for result in names])
    keys = variable_keys(meta)
    checkpoint = read_checkpoint(folder / "variables" / "variables") if keys else {}
    variables = {
        node: copy_variable(checkpoint[key], short_name(node)) for node, key in keys.items() if key in checkpoint
    }

    def wrap(values: list[Any]) -> Any:
        return values[0] if len(values) == 1 else dict(zip(names, values, strict=True))

    return make_entry(graph, read_library(meta.graph_def), variables, wrap)
