"""The interpretation of exported programs: their nodes applied, while a function is traced, to symbolic values.

A value is an array of NumPy if it is a constant, a symbolic value, or a number of Python: a size that is known, for
instance. The values of names are kept in storages and views of them (`storage.py`), since operators may change tensors
in place.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ....core.errors import Malformed
from ....core.frontend.array_api.common import shape_of, type_of
from ....core.frontend.eager.variable import Variable
from ....core.frontend.trace.annotation import DerivedFunction, FunctionSpec
from ....core.frontend.trace.captures import read_variable
from ....core.frontend.trace.pytree import TreeType, flatten
from ....core.frontend.trace.source_location import user_location
from ....core.program.program import UniqueNames
from ....core.types import Type
from ...function.function import Function
from ..folding import fold, is_small, is_small_constant
from ..foreign_rows import as_results, call_row
from ..functions import CapturedConstants, function_spec, identifier, unique_identifiers
from ..refusals import tl, unsupported
from .graph import (
    ExportedGraph,
    ExportedNode,
    ExportedProgramData,
    ForeignArgument,
    OmittedArgument,
    ProgramInput,
    ScalarType,
    TensorMeta,
    ValueName,
    names_in,
)
from .listing import IGNORED, ProgramListing, node_scopes
from .operations import AtenRow, find_row
from .storage import TensorStorage, TensorView
from .structure import argument_layouts, unflatten

Memory: TypeAlias = TensorStorage | TensorView
STATE_KINDS = frozenset({"parameter", "buffer"})
CONSTANT_KINDS = frozenset({*STATE_KINDS, "tensor_constant"})


@dataclass(frozen=True, slots=True)
class ExportedScope:
    """The evaluation of a graph: the memory of its values by name, and the modules around the node that has it."""

    graph: ExportedGraph
    values: dict[str, Memory]
    modules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphCall:
    """A graph that is an argument of a node. A call with the values of its parameters returns its results, a list."""

    interpreter: ExportedInterpreter
    graph: ExportedGraph
    modules: tuple[str, ...]

    def __call__(self, *operands: Any) -> list[Any]:
        return self.share([TensorStorage(operand) for operand in operands])

    def share(self, memories: Sequence[Memory]) -> list[Any]:
        """The results for parameters in the memory of these values, which the graph may change."""
        results = self.interpreter.evaluate_graph(self.graph, memories, self.modules)
        return [result.read() if isinstance(result, TensorStorage | TensorView) else result for result in results]


@dataclass(frozen=True, slots=True)
class TorchCall:
    """A node under evaluation, for rows that need more than operands."""

    interpreter: ExportedInterpreter
    node: ExportedNode
    scope: ExportedScope

    def memory(self, argument: Any) -> Memory:
        """The memory of an argument."""
        if isinstance(argument, ValueName):
            return self.interpreter.memory(self.scope, argument)
        return TensorStorage(self.interpreter.resolve(argument, self.scope, self.node))


class ExportedFunction(Function):
    """The function of an exported program; `variables` are its parameters and buffers, by their names in the module,
    except those that it does not use."""

    def __init__(self, python: DerivedFunction, spec: FunctionSpec, variables: Mapping[str, Variable]) -> None:
        super().__init__(python, lambda _: spec)
        self.variables = variables


class ExportedInterpreter:
    """Evaluates an exported program. Its variables and large constants are the same objects in each trace."""

    def __init__(self, program: ExportedProgramData, array: Callable[[str], Any], name: str) -> None:
        """`array` is the value of a parameter, buffer or constant, by its name in the module."""
        self.program, self.name, self.read_array = program, name, array
        self.listing = ProgramListing(program, name)
        self.constants = CapturedConstants()
        self.arrays: dict[str, Any] = {}
        unique = UniqueNames()
        arguments = [argument for node in all_nodes(program.graph) for _, argument in node.arguments]
        used_names = set(names_in([*arguments, *(output.value for output in program.outputs)]))
        for program_input in program.inputs:
            if (
                program_input.kind in CONSTANT_KINDS
                and program_input.name in used_names
                and program_input.target not in self.arrays
            ):
                own_name = unique.fresh_name(identifier(program_input.target, program_input.kind))
                self.arrays[program_input.target] = self.import_array(
                    program_input.kind, program_input.target, own_name
                )

    def import_array(self, kind: str, target: str, name: str) -> Any:
        """A variable for a parameter or a buffer; a constant, concrete if it is large."""
        value = self.read_array(target)
        if kind in STATE_KINDS:
            return Variable(value, name=name, trainable=kind == "parameter")
        return self.constants.admit(value, name)

    def function(self) -> ExportedFunction:
        """The function that the program computes."""
        layouts = argument_layouts(self.program)
        types = [TreeType(layout.treedef, tuple(map(self.parameter_type, layout.leaf_names))) for layout in layouts]
        names = unique_identifiers(layout.name for layout in layouts)

        def evaluate(*arguments: Any) -> Any:
            leaves = [leaf for argument in arguments for leaf in flatten(argument, is_leaf=None)[0]]
            leaf_names = [name for layout in layouts for name in layout.leaf_names]
            values = dict(zip(leaf_names, leaves, strict=True))
            memories = [TensorStorage(self.start_value(program_input, values)) for program_input in self.program.inputs]
            return self.assign_and_unflatten(memories, self.evaluate_graph(self.program.graph, memories, ()))

        python = DerivedFunction(self.name, self.listing.definition(), evaluate)
        spec = function_spec(python, list(zip(names, types, strict=True)))
        variables = {target: array for target, array in self.arrays.items() if isinstance(array, Variable)}
        return ExportedFunction(python, spec, variables)

    def start_value(self, program_input: ProgramInput, values: Mapping[str, Any]) -> Any:
        """The value of an input of the outermost graph, where `values` are those of arguments."""
        if program_input.kind == "user_input":
            return values[program_input.name]
        if program_input.kind == "constant_input":
            return program_input.target
        if program_input.kind not in CONSTANT_KINDS:
            raise unsupported("construct", f"the program has an input that is no array: {program_input.kind}")
        return read_variable(self.arrays.get(program_input.target))

    def parameter_type(self, name: str) -> Type:
        """The type of an input of the program; an error names the first line."""
        graph = self.program.graph

        def find() -> Type:
            meta = graph.metas.get(name)
            if meta is None and name not in graph.symbols:
                raise Malformed("the program does not say the type of an input", where=user_location(), got=name)
            return Type(tl.int64, ()) if meta is None else meta.type

        return self.listing.call_at((1, 0), ["inputs"], find)  # type: ignore[no-any-return]

    def assign_and_unflatten(self, memories: Sequence[Memory], results: Sequence[Any]) -> Any:
        """Assign the variables that the program changes; returns the tree of its results. `memories` are those of its
        inputs."""
        outputs = self.program.outputs
        if len(outputs) != len(results):
            raise Malformed("the program has the wrong number of results", required=len(outputs), got=len(results))
        position = self.listing.result_positions[self.program.graph]
        values = [result.read() if isinstance(result, TensorStorage | TensorView) else result for result in results]

        def assign() -> Any:
            for program_input, memory in zip(self.program.inputs, memories, strict=True):
                if memory.root.version and program_input.kind == "user_input":
                    message = f"the program changes its argument {program_input.name} in place"
                    raise unsupported("construct", message)
                if memory.root.version:
                    self.assign(program_input.target, memory.read())
            user_values = []
            for output, value in zip(outputs, values, strict=True):
                match output.kind:
                    case "user_output":
                        user_values.append(value)
                    case "buffer_mutation" | "parameter_mutation":
                        self.assign(output.target, value)
                    case _:
                        message = f"the program has a result that is no value: {output.kind}"
                        raise unsupported("construct", message, got=output.target)
            if self.program.result_spec.size != len(user_values):
                raise Malformed("the results of the program do not nest as declared", where=user_location(),
                                required=self.program.result_spec.size, got=len(user_values))  # fmt: skip
            return unflatten(self.program.result_spec, user_values)

        return self.listing.call_at(position, ["return"], assign)

    def assign(self, target: str, value: Any) -> None:
        """Assign a variable of the module."""
        variable = self.arrays.get(target)
        if not isinstance(variable, Variable):
            raise unsupported("construct", f"the program changes {target}, which is no parameter or buffer")
        variable.assign(value)

    def evaluate_graph(
        self, graph: ExportedGraph, memories: Sequence[Memory], modules: tuple[str, ...]
    ) -> list[Memory | Any]:
        """The results of a graph for parameters in this memory: memories, or constants of Python."""
        if len(graph.parameters) != len(memories):
            raise Malformed(f"graph {graph.name} takes a different number of values", where=user_location(),
                            required=len(graph.parameters), got=len(memories))  # fmt: skip
        names = [parameter if isinstance(parameter, ValueName) else "" for parameter in graph.parameters]
        scope = ExportedScope(graph, dict(zip(names, memories, strict=True)), modules)
        for node in graph.nodes:
            evaluate = functools.partial(self.evaluate_node, node, scope)
            self.listing.call_at(self.listing.positions[node], node_scopes(node, modules), evaluate)
        return [self.memory(scope, result) if isinstance(result, ValueName) else result for result in graph.results]

    def memory(self, scope: ExportedScope, name: ValueName) -> Memory:
        """The memory of a value; raises Malformed where there is none."""
        if name not in scope.values:
            raise Malformed("the graph has no value of this name", where=user_location(), got=name)
        return scope.values[name]

    def resolve(self, argument: Any, scope: ExportedScope, node: ExportedNode) -> Any:
        """The value of an argument."""
        match argument:
            case ValueName():
                return self.memory(scope, argument).read()
            case list():
                return [self.resolve(item, scope, node) for item in argument]
            case ScalarType():
                return argument.dtype
            case ExportedGraph():
                return GraphCall(self, argument, (*scope.modules, *node.modules[len(scope.modules) :]))
            case ForeignArgument():
                raise unsupported("attribute", f"an argument of {node.target} of the kind {argument.kind}")
        return argument

    def evaluate_node(self, node: ExportedNode, scope: ExportedScope) -> None:
        """Evaluate a node, and bind its results."""
        row, is_in_place = find_row(node.target)
        if row.is_structured:
            call = TorchCall(self, node, scope)
            operands = [self.resolve(argument, scope, node) for _, argument in node.arguments]
            results = as_results(call_row(row, operands, {"node": call}))
            self.bind(node, scope, row, [TensorStorage(result) for result in results])
            return
        keywords = self.row_keywords(row, node, scope)
        if row.takes_result:
            keywords["result"] = self.result_type(node, scope)
        subject = next(iter(node.arguments))[1] if node.arguments else None
        if row.is_view and not is_in_place and isinstance(subject, ValueName):
            self.bind_view(node, scope, row, subject, keywords)
            return
        results = self.compute(row, keywords)
        if is_in_place:
            if not isinstance(subject, ValueName):
                raise Malformed(f"{node.target} changes an argument that is not a tensor", where=user_location())
            memory = self.memory(scope, subject)
            memory.write(cast_like(results[0], memory.read()))
            self.bind(node, scope, row, [memory])
            return
        count = len(results) - len(row.mutates)
        for name, value in zip(row.mutates, results[count:], strict=True):
            argument = dict(node.arguments).get(name)
            if value is not None and isinstance(argument, ValueName):
                self.memory(scope, argument).write(value)
        self.bind(node, scope, row, [TensorStorage(result) for result in results[:count]])

    def row_keywords(self, row: AtenRow, node: ExportedNode, scope: ExportedScope) -> dict[str, Any]:
        """The arguments of a row by name, without those that do not change what it computes."""
        keywords = {}
        for name, argument in node.arguments:
            if isinstance(argument, OmittedArgument) or name in IGNORED:
                continue
            if name not in row.parameters:
                if argument is None:
                    continue
                raise unsupported("attribute", f"{node.target} with the argument {name}")
            keywords[name] = self.resolve(argument, scope, node)
        return keywords

    def result_type(self, node: ExportedNode, scope: ExportedScope) -> Type | None:
        """The type of the first result, if it is an array."""
        name = next(node.output_names, None)
        meta = scope.graph.metas.get(name) if name is not None else None
        return None if meta is None else meta.type

    def compute(self, row: AtenRow, keywords: Mapping[str, Any]) -> Sequence[Any]:
        """The results of a row: constants, if all operands are."""
        arguments = [argument for name, argument in keywords.items() if name != "result"]
        operands = [
            value for argument in arguments for value in (argument if isinstance(argument, list) else [argument])
        ]
        arrays = [value for value in operands if not is_python(value)]

        def apply() -> Sequence[Any]:
            return as_results(call_row(row, (), keywords))

        if not row.is_folded or not all(map(is_small_constant, arrays)):
            return apply()
        return fold(apply, is_small=is_small_result, as_constant=as_constant)

    def bind_view(
        self, node: ExportedNode, scope: ExportedScope, row: AtenRow, subject: ValueName, keywords: dict[str, Any]
    ) -> None:
        """Bind the results of a row that are views of its first operand, `subject`."""
        base = self.memory(scope, subject)
        first = next(iter(dict(node.arguments)))
        results = self.compute(row, keywords)
        copies = self.copies(row, scope, subject, node)
        if copies is None:
            base.root.is_maybe_shared = True
        if copies is not False:
            storage = TensorStorage(results[0])
            storage.is_maybe_shared = copies is None
            self.bind(node, scope, row, [storage])
            return

        def part(k: int, value: Any) -> Any:
            return self.compute(row, {**keywords, first: value})[k]

        views = [TensorView(base, functools.partial(part, k), result) for k, result in enumerate(results)]
        self.bind(node, scope, row, views)

    def copies(self, row: AtenRow, scope: ExportedScope, subject: ValueName, node: ExportedNode) -> bool | None:
        """Whether the result of a row is a copy of its operand, not a view; None if this is known only at run time."""
        if row.copies is None:
            return False
        if dict(node.arguments).get("copy"):
            return True
        metas = [scope.graph.metas.get(name) for name in (subject, next(node.output_names, ""))]
        source, result = metas
        return None if source is None or result is None else row.copies(source, result)

    def bind(self, node: ExportedNode, scope: ExportedScope, row: AtenRow, memories: Sequence[Memory]) -> None:
        """Bind results to the names of a node's outputs; raises Malformed if the numbers or types differ. A result that
        is None, which only helps PyTorch to differentiate, is not bound."""
        outputs = node.outputs
        if len(outputs) == 1 and isinstance(outputs[0], list):
            outputs = tuple(outputs[0])
        if len(outputs) > len(memories) or (len(outputs) < len(memories) and row.mutates == () and outputs):
            raise Malformed(f"{row.name} gives the wrong number of results", where=user_location(),
                            required=len(outputs), got=len(memories))  # fmt: skip
        for output, memory in zip(outputs, memories, strict=False):
            if isinstance(output, ValueName) and memory.value is not None:
                meta = scope.graph.metas.get(output)
                if meta is not None:
                    check_type(row, memory.value, meta)
                scope.values[output] = memory


def all_nodes(graph: ExportedGraph) -> list[ExportedNode]:
    """The nodes of a graph and of the graphs in it, in the order of the text."""
    nodes = []
    for node in graph.nodes:
        nodes.append(node)
        for inner_graph in node.graphs:
            nodes += all_nodes(inner_graph)
    return nodes


def is_python(value: Any) -> bool:
    """Whether a value is no array, but an object of Python."""
    return value is None or isinstance(value, bool | int | float | str | type)


def is_small_result(value: Any) -> bool:
    return is_python(value) or is_small(value)


def as_constant(value: Any) -> Any:
    return value if is_python(value) else np.asarray(value)


def cast_like(value: Any, target: Any) -> Any:
    """A value as it is written to a tensor: in its dtype, and of its shape."""
    dtype = type_of(target).dtype
    value = value if type_of(value).dtype is dtype else tl.astype(value, dtype)
    return value if shape_of(value) == shape_of(target) else tl.broadcast_to(value, tl.shape(target))


def check_type(row: AtenRow, value: Any, meta: TensorMeta) -> None:
    """Raises Malformed if a result does not have the type that the program declares."""
    if is_python(value):
        raise Malformed(f"{row.name} gives no array", where=user_location(), required=meta.type, got=value)
    expected, actual = meta.type, type_of(value)
    shape = shape_of(value)
    fits = (
        actual.dtype is expected.dtype
        and len(shape) == len(meta.sizes)
        and all(
            None in (size, declared_size) or size == declared_size
            for size, declared_size in zip(shape, meta.sizes, strict=True)
        )
    )
    if not fits:
        raise Malformed(f"{row.name} gives a different type than the program declares", where=user_location(),
                        required=expected, got=actual)  # fmt: skip
