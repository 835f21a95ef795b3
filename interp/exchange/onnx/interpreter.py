"""The interpretation of ONNX models: their operators applied, while a function is traced, to symbolic values.

A value is an array of NumPy if it is a constant, a symbolic value, or a sequence (`sequences.py`). A result that
depends only on small constants is computed at once, since shapes and axes must be known. Nothing here infers a type:
tracing does. A model-local function becomes a function of the program.
"""

from __future__ import annotations

import functools
import math
from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.external_data_helper import uses_external_data

from ....core import dtypes
from ....core.dtypes import DType
from ....core.errors import Invalid, Malformed
from ....core.frontend.array_api.common import type_of
from ....core.frontend.trace.source_location import user_location
from ....core.types import Type
from ...function.function import Function
from ..folding import MAX_FOLDED_ELEMENTS, fold, is_small, is_small_constant
from ..foreign_rows import call_row
from ..functions import CapturedConstants, identifier
from .listing import ModelListing, node_scopes
from .operators import NeedsConstantOperand, Operator, SizeVector, as_single_value, find_operator, unsupported
from .sequences import ItemSequence, PackedSequence
from .storage import StorageArray, carrier_of, storage_type, unpack_carrier, with_storage

MAX_DEPTH = 12
"""The maximal nesting of bodies of operators, and of functions that are not calls of the program."""
Environment: TypeAlias = ChainMap[str, Any]
"""The values of a graph by name, before the values of the graphs around it."""
DTYPES: Mapping[int, DType] = {helper.np_dtype_to_tensor_dtype(np.dtype(dtype.numpy)): dtype for dtype in dtypes.ALL}


def dtype_of_element(element: int) -> DType:
    """The dtype of an element type of ONNX; raises Unsupported for storage types where no row takes them, for strings
    and for other types that tagloom lacks."""
    if element not in DTYPES:
        element_names = onnx.TensorProto.DataType.items()
        name = next((name for name, number in element_names if number == element), str(element))
        raise unsupported("dtype", f"tagloom has no values of ONNX's type {name.lower()}")
    return DTYPES[element]


class NeedsConstant(Exception):
    """Raised if an operand that must be a constant is not: `names` are the names on which it depends, in the graph
    whose node needs it, and `operator` is the operator of this node."""

    def __init__(self, names: Collection[str], operator: str) -> None:
        super().__init__(operator)
        self.names, self.operator = names, operator


@dataclass(frozen=True, slots=True)
class NodeCall:
    """A node under evaluation, for rows that need more than operands and attributes."""

    interpreter: ModelInterpreter
    node: onnx.NodeProto
    version: int


class ModelInterpreter:
    """Evaluates the graphs of one model. The constants of the model are the same objects in each trace."""

    def __init__(self, model: onnx.ModelProto, file: str | None, name: str) -> None:
        self.model, self.listing = model, ModelListing(model, file, name)
        self.opsets = {normal_domain(opset.domain): opset.version for opset in model.opset_import}
        self.functions = {
            (normal_domain(function.domain), function.name, function.overload): function for function in model.functions
        }
        self.constants: dict[int, tuple[onnx.TensorProto, Any]] = {}
        """The large tensors of the model and their values, by the identities of the tensors."""
        self.captured_constants = CapturedConstants()
        self.calls: dict[tuple[Any, ...], Function] = {}
        """The functions of the program that stand for the model's own, by name and attributes."""
        self.constant_operands: dict[int, set[int]] = {}
        """The positions of the operands that must be constants, by the identities of the model's functions."""
        self.result_forms: dict[tuple[Any, ...], tuple[onnx.GraphProto, Any]] = {}
        """Graphs in nodes and the forms of their results, for this trace, by the identity of the graph and the forms of
        what it uses."""
        self.call_stack: list[onnx.FunctionProto] = []
        """The functions and bodies of operators that are evaluated, the innermost last."""

    def evaluate_model(self, inputs: Mapping[str, Any]) -> list[Any]:
        """The results of the model's graph, for the values of its inputs."""
        self.result_forms.clear()
        return self.evaluate_graph(self.model.graph, ChainMap(dict(inputs)), self.opsets)

    def evaluate_graph(self, graph: onnx.GraphProto, environment: Environment, opsets: Mapping[str, int]) -> list[Any]:
        """The results of a graph whose inputs the environment has; its initializers are added to it."""
        for tensor in graph.initializer:
            if tensor.name not in environment.maps[0]:
                environment[tensor.name] = self.constant(tensor)
        for sparse in graph.sparse_initializer:
            environment[sparse.values.name] = read_sparse_tensor(sparse)
        self.evaluate_nodes(graph.node, environment, opsets)
        return [as_single_value(lookup(environment, result.name)) for result in graph.output]

    def constant(self, tensor: onnx.TensorProto) -> Any:
        """The value of a tensor of the model. A large one is a concrete array, which the program captures by name, the
        same in each trace."""
        if id(tensor) in self.constants:
            return self.constants[id(tensor)][1]
        array = tensor_elements(tensor)
        carrier = self.captured_constants.admit(array, identifier(tensor.name, "constant"))
        value = with_storage(carrier, storage_type(tensor.data_type))
        if carrier is not array:
            self.constants[id(tensor)] = tensor, value
        return value

    def evaluate_nodes(
        self, nodes: Sequence[onnx.NodeProto], environment: Environment, opsets: Mapping[str, int]
    ) -> None:
        """Add the results of nodes to the environment, in order."""
        for node in nodes:
            evaluate = functools.partial(self.evaluate_node, node, environment, opsets)
            results = self.listing.call_in_line(node, node_scopes(node), evaluate)
            for name, result in zip(node.output, results, strict=False):
                if name:
                    environment[name] = result

    def evaluate_node(self, node: onnx.NodeProto, environment: Environment, opsets: Mapping[str, int]) -> Sequence[Any]:
        """The results of a node."""
        node = resolve_attributes(node, environment)
        operands = [lookup(environment, name) if name else None for name in node.input]
        domain = normal_domain(node.domain)
        attributes = {attribute.name: self.attribute(attribute, environment, opsets) for attribute in node.attribute}
        function = self.functions.get((domain, node.op_type, node.overload))
        if function is not None:
            return self.call_function(function, node, list(map(as_single_value, operands)), attributes)
        if domain not in opsets:
            raise Malformed(f"the model imports no operator set of domain {domain or 'ai.onnx'!r}", got=node.op_type)
        version = opsets[domain]
        schema = find_schema(domain, node.op_type, version)
        if schema is None:
            message = f"tagloom has no operator {node.op_type} in version {version} of {domain or 'ai.onnx'}"
            raise unsupported("op", message)
        for name, declaration in schema.attributes.items():
            if declaration.required and name not in attributes:
                raise Malformed(f"{node.op_type} lacks attribute {name!r}", where=user_location())
        elements = check_dtypes(schema, operands)
        row = find_operator(domain, node.op_type, version)
        if row is None:
            return self.evaluate_body(node, list(map(as_single_value, operands)), attributes, version)
        if not row.takes_sizes:
            operands = list(map(as_single_value, operands))
        if not row.takes_storage:
            operands = list(map(carrier_of, operands))
        try:
            for position in row.static:
                if position < len(operands) and not is_static(operands[position]):
                    raise NeedsConstantOperand(position)
            results = self.apply_row(row, NodeCall(self, node, version), operands, attributes)
        except NeedsConstantOperand as error:
            raise NeedsConstant({node.input[error.position]}, node.op_type) from None
        return results if row.takes_storage else with_storage_types(schema, elements, results)

    def apply_row(
        self, row: Operator, call: NodeCall, operands: Sequence[Any], attributes: dict[str, Any]
    ) -> Sequence[Any]:
        """The results of an operator by its row; computed at once if they depend on small constants alone."""
        unknown_names = attributes.keys() - (attributes if row.attributes is None else row.attributes)
        if unknown_names:
            raise unsupported("attribute", f"{row.name} has no attribute {sorted(unknown_names)[0]!r} here")
        if row.takes_output_count:
            attributes["output_count"] = len(call.node.output)
        if row.takes_call:
            attributes["call"] = call

        def compute() -> Sequence[Any]:
            result = call_row(row, operands, attributes)
            return result if type(result) is tuple else (result,)  # a packed sequence is a named tuple, and one result

        is_folded = row.is_folded and all(map(is_foldable, operands))
        return fold(compute, is_small=is_small_result, as_constant=as_folded) if is_folded else compute()

    def attribute(self, attribute: onnx.AttributeProto, environment: Environment, opsets: Mapping[str, int]) -> Any:
        """The value of an attribute; a graph becomes a function of its inputs."""
        kinds = onnx.AttributeProto
        match attribute.type:
            case kinds.GRAPH:
                return environment.get(outer_graph(attribute)) or Body(self, attribute.g, environment, opsets)
            case kinds.TENSOR:
                return self.constant(attribute.t)
            case kinds.SPARSE_TENSOR:
                return read_sparse_tensor(attribute.sparse_tensor)
            case kinds.STRING:
                return attribute.s.decode(errors="replace")
            case kinds.STRINGS:
                return tuple(text.decode(errors="replace") for text in attribute.strings)
            case kinds.INTS | kinds.FLOATS:
                return tuple(helper.get_attribute_value(attribute))
            case kinds.INT | kinds.FLOAT:
                return helper.get_attribute_value(attribute)
            case kinds.TYPE_PROTO:
                return attribute.tp
        raise unsupported("attribute", f"attribute {attribute.name} has a type that no operator takes here")

    def evaluate_body(
        self, node: onnx.NodeProto, operands: Sequence[Any], attributes: Mapping[str, Any], version: int
    ) -> Sequence[Any]:
        """The results of an operator without a row, by the body that ONNX gives it."""
        body = find_body(node, tuple(map(type_proto, operands)), version)
        if body is None:
            raise unsupported("op", f"tagloom has no operator {node.op_type} of ONNX")
        return self.evaluate_function(body, operands, attributes, node)

    def evaluate_function(
        self,
        function: onnx.FunctionProto,
        operands: Sequence[Any],
        attributes: Mapping[str, Any],
        node: onnx.NodeProto,
    ) -> list[Any]:
        """The results of a function's nodes for a call of it, in the environment of its inputs and attributes."""
        values: dict[str, Any] = dict.fromkeys(function.input)
        values |= zip(function.input, operands, strict=False)
        values |= {f"@{attribute.name}": attribute for attribute in (*function.attribute_proto, *node.attribute)}
        values |= {f"@@{name}": value for name, value in attributes.items() if isinstance(value, Body)}
        opsets = {"": onnx.defs.onnx_opset_version(), **self.opsets}
        opsets |= {normal_domain(opset.domain): opset.version for opset in function.opset_import}
        environment: Environment = ChainMap(values)
        self.call_stack.append(function)
        try:
            if len(self.call_stack) > MAX_DEPTH:
                raise Malformed("functions nest too deep", required=f"{MAX_DEPTH} at most", got=function.name)
            self.evaluate_nodes(needed_nodes(function, len(node.output)), environment, opsets)
        except NeedsConstant as error:
            needed_names = reachable_names(function.node, error.names)
            inputs = zip(function.input, node.input, operands, strict=False)
            names = {outer for inner, outer, operand in inputs if inner in needed_names and not is_static(operand)}
            raise NeedsConstant(names, error.operator) from None
        finally:
            self.call_stack.pop()
        pairs = zip(function.output, node.output, strict=False)
        return [lookup(environment, inner) if outer else None for inner, outer in pairs]

    def call_function(
        self,
        function: onnx.FunctionProto,
        node: onnx.NodeProto,
        operands: Sequence[Any],
        attributes: Mapping[str, Any],
    ) -> Sequence[Any]:
        """The results of a call of a function of the model, which is a call of the program."""
        if any(caller is function for caller in self.call_stack):
            raise Malformed(f"function {function.name} of the model calls itself", where=user_location())
        positions_present = [position for position, operand in enumerate(operands) if operand is not None]
        has_sequences = not all(is_single(operands[position]) for position in positions_present)
        if has_sequences or any(isinstance(value, Body) for value in attributes.values()):
            return self.evaluate_function(function, operands, attributes, node)
        positions = self.constant_operands.setdefault(id(function), set())
        while True:
            constants = {k: operands[k] for k in positions if k < len(operands) and isinstance(operands[k], np.ndarray)}
            try:
                return self.call_with_constants(function, node, operands, attributes, constants)
            except NeedsConstant as error:
                constant_positions = {position for position, name in enumerate(node.input) if name in error.names}
                if not any(isinstance(operands[k], np.ndarray) for k in constant_positions - positions):
                    raise
                positions |= constant_positions

    def call_with_constants(
        self,
        function: onnx.FunctionProto,
        node: onnx.NodeProto,
        operands: Sequence[Any],
        attributes: Mapping[str, Any],
        constants: Mapping[int, Any],
    ) -> Sequence[Any]:
        """The results of a call of a function that has some operands, by position, as constants."""
        positions = [k for k, operand in enumerate(operands) if operand is not None and k not in constants]
        key = (
            id(function),
            tuple(positions),
            tuple(
                (position, type_of(constants[position]), constants[position].tobytes())
                for position in sorted(constants)
            ),
            len(node.output),
            tuple(sorted(attribute.SerializeToString(deterministic=True) for attribute in node.attribute)),
        )
        if key not in self.calls:

            def evaluate(*arguments: Any) -> Any:
                values = {**constants, **dict(zip(positions, arguments, strict=True))}
                padded = [values.get(position) for position in range(len(function.input))]
                return tuple(self.evaluate_function(function, padded, attributes, node))

            evaluate.__name__ = identifier(function.name, "function")
            evaluate.__code__ = evaluate.__code__.replace(co_name=evaluate.__name__)
            self.calls[key] = Function(evaluate)
        return tuple(self.calls[key](*(operands[position] for position in positions)))


@dataclass(frozen=True, slots=True)
class Body:
    """A graph that is an attribute. A call with the values of its inputs returns its results. It sees the values around
    it."""

    interpreter: ModelInterpreter
    graph: onnx.GraphProto
    environment: Environment
    opsets: Mapping[str, int]

    def __call__(self, *inputs: Any) -> list[Any]:
        names = [parameter.name for parameter in self.graph.input]
        environment = self.environment.new_child(dict(zip(names, inputs, strict=True)))
        return self.interpreter.evaluate_graph(self.graph, environment, self.opsets)

    def key(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """A key that determines the forms of the results: the graph, and the forms of its inputs and of the surrounding
        values that it uses."""
        names = sorted({name for node in self.graph.node for name in used_names(node)} & self.environment.keys())
        values = [self.environment[name] for name in names]
        return (id(self.graph), *map(value_key, inputs), *map(value_key, values))

    def returns_unchanged(self, output: int, name: str) -> bool:
        """Whether an output is the unchanged value of this name, or the constant true."""
        producers = {result: node for node in self.graph.node for result in node.output}
        current = self.graph.output[output].name
        while current != name and current in producers and producers[current].op_type == "Identity":
            current = producers[current].input[0]
        if current == name:
            return True
        node = producers.get(current)
        if node is None or node.op_type != "Constant" or node.attribute[0].name != "value":
            return any(
                initializer.name == current and bool(np.all(self.interpreter.constant(initializer)))
                for initializer in self.graph.initializer
            )
        return bool(np.all(self.interpreter.constant(node.attribute[0].t)))


def value_key(value: Any) -> Any:
    """A key of a value: everything that is known about it before the run."""
    match value:
        case None:
            return None
        case ItemSequence():
            return "items", value.element, tuple(map(value_key, value.items))
        case PackedSequence():
            return "packed", type_of(value.elements), type_of(value.shapes)
        case StorageArray():
            return value.type, value_key(value.carrier)
        case SizeVector():
            return "sizes", tuple(part if isinstance(part, int) else None for part in value.parts)
        case np.ndarray() if value.size <= MAX_FOLDED_ELEMENTS:
            return type_of(value), value.tobytes()
    return type_of(value)


def needed_nodes(function: onnx.FunctionProto, count: int) -> list[onnx.NodeProto]:
    """The nodes of a function that its first results need."""
    needed_names = {name for name in function.output[:count] if name}
    nodes = []
    for node in reversed(function.node):
        if needed_names & set(node.output):
            nodes.append(node)
            needed_names |= used_names(node)
    return nodes[::-1]


def resolve_attributes(node: onnx.NodeProto, environment: Environment) -> onnx.NodeProto:
    """A node whose references to attributes are replaced by the attributes of a function's call; references without an
    attribute in the call are left out."""
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        return node
    result = onnx.NodeProto()
    result.CopyFrom(node)
    del result.attribute[:]
    for attribute in node.attribute:
        source = environment.get(f"@{attribute.ref_attr_name}") if attribute.ref_attr_name else attribute
        if source is not None:
            copy = result.attribute.add()
            copy.CopyFrom(source)
            copy.name = attribute.name
            if source is not attribute and source.type == onnx.AttributeProto.GRAPH:
                copy.ref_attr_name = attribute.ref_attr_name
    return result


def outer_graph(attribute: onnx.AttributeProto) -> str:
    """The name, in the environment of a function, of a graph that its call passes."""
    return f"@@{attribute.ref_attr_name}" if attribute.ref_attr_name else ""


def used_names(node: onnx.NodeProto) -> set[str]:
    """The names that a node uses, including those in its graphs."""
    graphs = [attribute.g for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]
    inner = (used_names(inner_node) for graph in graphs for inner_node in graph.node)
    outputs = {result.name for graph in graphs for result in graph.output}
    return set(node.input).union(outputs, *inner) - {""}


def reachable_names(nodes: Iterable[onnx.NodeProto], names: Collection[str]) -> set[str]:
    """The names on whose elements values depend, including these values themselves."""
    producers: dict[str, onnx.NodeProto] = {}

    def collect(nodes: Iterable[onnx.NodeProto]) -> None:
        for node in nodes:
            producers.update(dict.fromkeys(node.output, node))
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    collect(attribute.g.node)

    collect(nodes)
    reached, pending = set(names), list(names)
    while pending:
        producer = producers.get(pending.pop())
        unvisited = (
            set() if producer is None or producer.op_type in ("Shape", "Size") else used_names(producer) - reached
        )
        reached |= unvisited
        pending += unvisited
    return reached


@cache
def find_schema(domain: str, name: str, version: int) -> Any:
    """ONNX's schema of an operator in a version of its operator set; None if there is no such operator."""
    try:
        return onnx.defs.get_schema(name, version, domain)
    except onnx.defs.SchemaError:
        return None


def check_dtypes(schema: Any, operands: Sequence[Any]) -> dict[str, int]:
    """The element types for which the type parameters of a schema stand. Raises Malformed for arrays of dtypes that an
    operator does not take, or that must be the same and are not."""
    bound: dict[str, int] = {}
    for position, operand in enumerate(operands):
        if operand is None or not is_single(operand) or not schema.inputs:
            continue
        formal = schema.inputs[min(position, len(schema.inputs) - 1)]
        element = element_of(operand)
        name = type_name(element)
        where = user_location()
        if formal.types.isdisjoint({name, f"optional({name})"}):
            required = ", ".join(sorted(formal.types))
            message = f"{schema.name} does not take this as {formal.name}"
            raise Malformed(message, where=where, required=required, got=name)
        first = bound.setdefault(formal.type_str, element) if formal.is_homogeneous else element
        if element != first:
            required = type_name(first)
            raise Malformed(f"{schema.name} takes operands of one dtype", where=where, required=required, got=name)
    return bound


def with_storage_types(schema: Any, elements: Mapping[str, int], results: Sequence[Any]) -> list[Any]:
    """The results of a row that takes carriers, with their storage types."""
    typed_results = []
    for position, result in enumerate(results):
        formal = schema.outputs[min(position, len(schema.outputs) - 1)]
        storage = storage_type(elements.get(formal.type_str, onnx.TensorProto.UNDEFINED))
        typed_results.append(None if result is None else with_storage(result, storage))
    return typed_results


def element_of(value: Any) -> int:
    """The element type of an array, as ONNX numbers it."""
    if isinstance(value, StorageArray):
        return value.type.value
    return ELEMENTS[dtypes.int64 if isinstance(value, SizeVector) else type_of(value).dtype]


def type_name(element: int) -> str:
    """The name of a type of arrays, as ONNX's schemas have it."""
    return f"tensor({onnx.TensorProto.DataType.Name(element).lower()})"


def find_body(node: onnx.NodeProto, types: Sequence[onnx.TypeProto], version: int) -> onnx.FunctionProto | None:
    """The body by which ONNX defines an operator for operands of these types; None if it has none."""
    schema = find_schema(normal_domain(node.domain), node.op_type, version)
    assert schema is not None, "a node is evaluated if its operator has a schema"
    body = onnx.FunctionProto()
    if schema.has_function:
        body.CopyFrom(schema.function_body)
    elif schema.has_context_dependent_function:
        versions = [candidate for candidate in schema.context_dependent_function_opset_versions if candidate <= version]
        contents = node.SerializeToString(), [type_proto.SerializeToString() for type_proto in types]
        try:
            text = schema.get_context_dependent_function_with_opset_version(max(versions, default=version), *contents)
        except (RuntimeError, ValueError) as error:
            raise Malformed(f"{node.op_type} does not take these operands", where=user_location(), got=error) from None
        body.ParseFromString(text)
    else:
        return None
    attribute_names = {attribute.name for attribute in node.attribute}
    for name, attribute in schema.attributes.items():
        if name not in attribute_names and attribute.default_value.name:
            body.attribute_proto.append(attribute.default_value)
    return body


def type_proto(value: Any) -> onnx.TypeProto:
    """The type of a value, as ONNX writes it."""
    if value is None:
        return onnx.TypeProto()
    if isinstance(value, ItemSequence | PackedSequence):
        return helper.make_sequence_type_proto(helper.make_tensor_type_proto(ELEMENTS[value.dtype], None))
    return helper.make_tensor_type_proto(element_of(value), type_of(carrier_of(value)).shape)


ELEMENTS = {dtype: element for element, dtype in DTYPES.items()}


def lookup(environment: Environment, name: str) -> Any:
    """A value by name; raises Malformed if there is none."""
    if name not in environment:
        raise Malformed(f"there is no value {name!r}", where=user_location())
    return environment[name]


def tensor_elements(tensor: onnx.TensorProto) -> Any:
    """The elements of a tensor of the model, in the carrier if the tensor has a storage type. Raises Malformed if the
    model does not contain them: elements in other files are put into the model when it is read from its file."""
    storage = storage_type(tensor.data_type)
    if storage is None:
        dtype_of_element(tensor.data_type)
    message = f"tensor {tensor.name} cannot be read"
    if uses_external_data(tensor):
        raise Malformed(message, required="elements in the model", got="the name of a file", hint=EXTERNAL_DATA_HINT)
    try:
        array = numpy_helper.to_array(tensor)
        return array if storage is None else unpack_carrier(array, storage)
    except (ValueError, TypeError) as error:
        raise Malformed(message, got=error) from None


EXTERNAL_DATA_HINT = "from_onnx reads other files of a model if it gets the path of the model"


def read_sparse_tensor(sparse: onnx.SparseTensorProto) -> Any:
    """A sparse tensor as an array; raises Unsupported for a large one, Malformed for indices outside it."""
    if any(size < 0 for size in sparse.dims):
        raise Malformed(f"tensor {sparse.values.name} has a negative size", got=list(sparse.dims))
    if math.prod(sparse.dims) > 2**24:
        raise unsupported("limit", "a sparse tensor of more than 16 million elements")
    dtype_of_element(sparse.values.data_type)
    values, indices = tensor_elements(sparse.values), tensor_elements(sparse.indices)
    array = np.zeros(tuple(sparse.dims), values.dtype)
    try:
        array[tuple(indices.T) if indices.ndim == 2 else np.unravel_index(indices, array.shape)] = values
    except (IndexError, ValueError, TypeError) as error:
        raise Malformed(f"tensor {sparse.values.name} cannot be read", got=error) from None
    return array


def is_single(value: Any) -> bool:
    """Whether a value is an array, and no sequence."""
    return not isinstance(value, ItemSequence | PackedSequence)


def is_static(value: Any) -> bool:
    """Whether a value is a constant or omitted."""
    return value is None or isinstance(value, np.ndarray)


def is_foldable(value: Any) -> bool:
    """Whether an operand is a constant of few elements, a sequence of some, or omitted."""
    if isinstance(value, ItemSequence):
        return len(value.items) <= MAX_FOLDED_ELEMENTS and all(map(is_foldable, value.items))
    return value is None or is_small_constant(carrier_of(value))


def is_small_result(value: Any) -> bool:
    """Whether a result, or each item of a sequence, has few elements, and a known shape."""
    if isinstance(value, ItemSequence):
        return all(map(is_small_result, value.items))
    return value is not None and not isinstance(value, PackedSequence) and is_small(carrier_of(value))


def as_folded(value: Any) -> Any:
    """A concrete result as a constant."""
    return value if isinstance(value, ItemSequence) else as_constant(value)


def as_constant(value: Any) -> Any:
    """A concrete result as an array of NumPy."""
    if isinstance(value, StorageArray):
        return StorageArray(np.asarray(value.carrier), value.type)
    return None if value is None else np.asarray(value)


def normal_domain(domain: str) -> str:
    """A domain under one name; the default domain has two."""
    return "" if domain == "ai.onnx" else domain


def declared_type(info: onnx.ValueInfoProto) -> Type | None:
    """The type of an input in a program, with sizes open that the model does not give; None for a sequence or an
    optional value."""
    if info.type.WhichOneof("value") != "tensor_type":
        return None
    tensor = info.type.tensor_type
    storage = storage_type(tensor.elem_type)
    dtype = dtype_of_element(tensor.elem_type) if storage is None else storage.carrier
    if not tensor.HasField("shape"):
        return Type(dtype, None)
    sizes = tuple(
        dimension.dim_value if dimension.WhichOneof("value") == "dim_value" else None for dimension in tensor.shape.dim
    )
    if any(size is not None and size < 0 for size in sizes):
        raise Invalid("a size of an input is negative", got=info.name)
    return Type(dtype, sizes)
