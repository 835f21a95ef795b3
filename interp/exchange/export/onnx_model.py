"""Programs as ONNX models: conds are `If`, loops are `Loop`, and functions are functions of the model.

Regions of ONNX see the values around them, so the operands of a cond are captured. The operands of a loop are its
carried values. ONNX forbids recursion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ....core import dtypes
from ....core.dtypes import DType
from ....core.ops.indexing import parse_key
from ....core.program.program import Program, UniqueNames, Var
from ....core.types import Type
from ....core.value import Literal
from .compose import compose, compositions, evaluate_entry, spread_key
from .walker import BoundRegion, OpUse, Refusal, Regions, Scopes, export

OPSET, IR_VERSION = 21, 10
"""The versions of the operator set and of the file format: those of ONNX 1.16."""
DOMAIN = "tagloom"
"""The domain of the model's functions."""
ELEMENT_TYPES: Mapping[DType, int] = {
    dtype: helper.np_dtype_to_tensor_dtype(np.dtype(dtype.numpy)) for dtype in dtypes.ALL
}
INT64 = np.iinfo(np.int64)


def to_onnx(program: Program) -> onnx.ModelProto:
    """The model that computes a program: its graph has the parameters and results of the entry function. Raises Refusal
    where ONNX cannot express it."""
    target = OnnxTarget(program)
    export(program, target, recursion=False)
    entry = target.graphs[program.entry]
    functions = [target.model_function(name) for name in target.graphs if name != program.entry]
    model = helper.make_model(
        entry,
        functions=functions,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, 1)],
        ir_version=IR_VERSION,
        producer_name="tagloom",
    )
    check_model(model)
    return model


def check_model(model: onnx.ModelProto) -> None:
    """Check a model by ONNX's own rules; raises Refusal if ONNX lacks an operator for a dtype."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except onnx.shape_inference.InferenceError as error:
        match = re.search(r"op_type:(\w+).*has unsupported type: ([^\n]+)", str(error))
        if match is None:
            raise
        raise Refusal("dtype", f"ONNX has no {match[1]} of {match[2]}") from error


def value_info(name: str, type_: Type) -> onnx.ValueInfoProto:
    """The declaration of a value; unknown sizes are left open."""
    return helper.make_tensor_value_info(name, ELEMENT_TYPES[type_.dtype], type_.shape)


class OnnxTarget:
    """Writes nodes. A value is its name; names are unique in a function of the program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.table = compositions("onnx")
        self.names = UniqueNames([""])
        self.scopes = Scopes[onnx.NodeProto]()
        self.graphs: dict[str, onnx.GraphProto] = {}
        """The functions of the program, each as a graph."""

    def node(self, operation: str, inputs: Sequence[str], base: str, **attributes: Any) -> str:
        """Append a node with one result; returns its name."""
        result = self.names.fresh_name(base)
        self.scopes.append(helper.make_node(operation, inputs, [result], **attributes))
        return result

    def tensor(self, array: Any) -> str:
        """Append a constant; returns its name."""
        return self.node("Constant", [], "constant", value=numpy_helper.from_array(np.asarray(array)))

    def constant(self, literal: Literal) -> str:
        return self.tensor(np.asarray(literal.value, literal.type.dtype.numpy))

    def cast(self, operand: str, source: Type, dtype: DType) -> str:
        return self.node("Cast", [operand], f"{operand}_{dtype!r}", to=ELEMENT_TYPES[dtype])

    def op(self, use: OpUse, operands: Sequence[str]) -> str:
        composer = OnnxComposer(self, use)
        return str(evaluate_entry(compose(self.table, use), composer.values(operands), composer.apply))

    def cond(self, results: Sequence[Var], predicate: str, operands: Sequence[str], branches: Regions) -> list[str]:
        graphs = []
        for word, branch in zip(("then", "else"), branches, strict=True):
            with self.scopes.open() as nodes:
                outputs = self.copies(branch.write(operands), results)
            graphs.append(helper.make_graph(nodes, f"{results[0].name}_{word}", [], outputs))
        names = self.result_names(results)
        then, otherwise = graphs
        self.scopes.append(helper.make_node("If", [predicate], names, then_branch=then, else_branch=otherwise))
        return names

    def loop(self, results: Sequence[Var], starts: Sequence[str], regions: Regions) -> list[str]:
        condition, body = regions
        start_predicate = condition.write(starts)[0]
        state_names = [self.names.fresh_name(parameter.name) for parameter in body.parameters]
        iteration, last_predicate = self.names.fresh_name("iteration"), self.names.fresh_name("condition")
        inputs = [value_info(iteration, Type(dtypes.int64)), value_info(last_predicate, Type(dtypes.bool))]
        inputs += [
            value_info(name, parameter.type) for name, parameter in zip(state_names, body.parameters, strict=True)
        ]
        with self.scopes.open() as nodes:
            state = body.write(state_names)
            predicate = Var("condition", Type(dtypes.bool))
            outputs = self.copies([*condition.write(state), *state], [predicate, *results])
        graph = helper.make_graph(nodes, f"{results[0].name}_do", inputs, outputs)
        names = self.result_names(results)
        self.scopes.append(helper.make_node("Loop", ["", start_predicate, *starts], names, body=graph))
        return names

    def call(self, results: Sequence[Var], function: str, operands: Sequence[str]) -> list[str]:
        names = self.result_names(results)
        self.scopes.append(helper.make_node(function, operands, names, domain=DOMAIN))
        return names

    def function(self, name: str, body: BoundRegion) -> None:
        self.names = UniqueNames([""])
        parameters = [self.names.fresh_name(parameter.name) for parameter in body.parameters]
        inputs = [value_info(name, var.type) for name, var in zip(parameters, body.parameters, strict=True)]
        types = self.program[name].results
        with self.scopes.open() as nodes:
            results = [Var(f"result{position}", type_) for position, type_ in enumerate(types)]
            outputs = self.copies(body.write(parameters), results)
        self.graphs[name] = helper.make_graph(nodes, name, inputs, outputs)

    def model_function(self, name: str) -> onnx.FunctionProto:
        """A function of the program as a function of the model, which has no types."""
        graph = self.graphs[name]
        imports = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, 1)]
        inputs, outputs = ([result.name for result in side] for side in (graph.input, graph.output))
        return helper.make_function(DOMAIN, name, inputs, outputs, graph.node, imports)

    def result_names(self, results: Sequence[Var]) -> list[str]:
        """New names for the results of a node."""
        return [self.names.fresh_name(result.name) for result in results]

    def copies(self, values: Sequence[str], results: Sequence[Var]) -> list[onnx.ValueInfoProto]:
        """The outputs of a graph: copies of these values, which may come from around the graph, or be two results."""
        return [
            value_info(self.node("Identity", [value], result.name), result.type)
            for value, result in zip(values, results, strict=True)
        ]


class OnnxComposer(NamedTuple):
    """Writes the operations of an entry of the table for one use of an op."""

    target: OnnxTarget
    use: OpUse

    def values(self, operands: Sequence[str]) -> dict[str, Any]:
        """The values of the names in an entry of the table."""
        values: dict[str, Any] = {repr(dtype): number for dtype, number in ELEMENT_TYPES.items()}
        values |= zip("xyz", operands, strict=False)
        for name, value in self.use.attributes.items():
            values[name] = ELEMENT_TYPES[value] if isinstance(value, DType) else value
        return values | {"operands": tuple(operands), "dtype": ELEMENT_TYPES[self.use.result.type.dtype]}

    def apply(self, operation: str, operands: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
        match operation:
            case "ints":
                return self.target.tensor(np.array(operands[0], np.int64))
            case "axes":
                return self.axes(operands[0])
            case "slices":
                return self.slices(operands[0], operands[1])
            case "size":
                return self.size(operands[0], operands[1])
        inputs = [operand if isinstance(operand, str) else self.number(operand) for operand in operands]
        values = dict(attributes)
        for name, value in attributes.items():
            if value is None:
                raise Refusal("attribute", f"{self.use.row.name} without {name}")
            if isinstance(value, bool):
                values[name] = int(value)
        return self.target.node(operation, inputs, self.use.result.name, **values)

    def number(self, value: float) -> str:
        """A number in an entry has the dtype of the op's first operand."""
        return self.target.tensor(np.asarray(value, self.use.operands[0].dtype.numpy))

    def axes(self, axis: int | tuple[int, ...] | None) -> str:
        """Axes as ONNX takes them. None is all, and leaves the operand out."""
        if axis is None:
            return ""
        if axis == ():
            raise Refusal("attribute", f"{self.use.row.name} along no axis, which is all axes in ONNX")
        return self.target.tensor(np.array(axis if isinstance(axis, tuple) else [axis], np.int64))

    def size(self, operand: str, axis: int | None) -> str:
        """The number of elements, or of those along an axis."""
        name = self.use.result.name
        if axis is None:
            return self.target.node("Size", [operand], name)
        shape = self.target.node("Shape", [operand], name)
        return self.target.node("Gather", [shape, self.target.tensor(np.int64(axis))], name)

    def slices(self, operand: str, text: str) -> str:
        """The elements that a key selects: by a Slice, a Squeeze and an Unsqueeze."""
        key, shape = parse_key(text), self.use.operands[0].shape
        if shape is None:
            raise Refusal("shape", "the number of axes is known at run time only")
        entries = spread_key(key, len(shape))
        axes = [entry for entry in entries if entry is not None]
        bounds = [slice_bounds(entry) for entry in axes]
        if axes:
            rows = [*np.array(bounds, np.int64).T]
            starts, ends, steps = map(self.target.tensor, rows)
            axes_tensor = self.target.tensor(np.arange(len(axes)))
            operand = self.target.node("Slice", [operand, starts, ends, axes_tensor, steps], self.use.result.name)
        for operation, positions in (
            ("Squeeze", [position for position, entry in enumerate(axes) if isinstance(entry, int)]),
            ("Unsqueeze", none_positions(entries)),
        ):
            if positions:
                numbers = self.target.tensor(np.array(positions, np.int64))
                operand = self.target.node(operation, [operand, numbers], self.use.result.name)
        return operand


def slice_bounds(entry: int | slice) -> tuple[int, int, int]:
    """Start, end and step of a slice or an index, as ONNX takes them: it clamps them into range.

    >>> slice_bounds(-1), slice_bounds(slice(None, None, -1))
    ((-1, 9223372036854775807, 1), (9223372036854775807, -9223372036854775808, -1))
    """
    if isinstance(entry, int):
        return entry, entry + 1 if entry != -1 else int(INT64.max), 1
    step = 1 if entry.step is None else entry.step
    first, last = (0, int(INT64.max)) if step > 0 else (int(INT64.max), int(INT64.min))
    return first if entry.start is None else entry.start, last if entry.stop is None else entry.stop, step


def none_positions(entries: Sequence[int | slice | None]) -> list[int]:
    """The positions, in the result, of the axes that a key inserts."""
    array_entries = [entry for entry in entries if not isinstance(entry, int)]
    return [position for position, entry in enumerate(array_entries) if entry is None]
