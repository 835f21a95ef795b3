"""Reversal: doubles the phases of a region; the added phases compute its adjoints.

The original phases are kept, except that calls become calls of split functions. The new phases reverse them, from the
last to the first. A new phase takes the adjoints of the active results of the phase that it reverses, and returns those
of the active parameters. The adjoints of one value are added in the order in which the reverse pass meets its uses,
last use first.

The node that reverses node n is named `back_n`, and the adjoint of value v, or a partial sum of it, `d_v`. Numbers keep
names unique, in a form that `original_name` can invert.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import Invalid
from ..ops.effects import lookup_row
from ..ops.op import OPS, Op
from ..program.program import (
    ADJOINT_PREFIX,
    LITERAL_WORDS,
    PULLBACK_TARGET,
    REVERSE_PREFIX,
    FunctionDef,
    Location,
    Node,
    Operand,
    Region,
    Var,
    unique_name,
)
from ..types import HandleType, Type
from ..value import Literal, literal
from .activity import (
    ActivityAnalysis,
    RegionActivity,
    adjoint_type,
    first_differentiable,
    is_active_node,
    is_differentiable,
    region_operands,
    rule_parameters,
)
from .cells import CELL_GRADIENTS
from .rows import (
    Rows,
    add_rows,
    adjoint_types,
    declared_adjoint_types,
    empty_rows,
    gathered_rows,
    row_adjoint_types,
    row_use_error,
    to_dense,
)


class AdjointBuilder:
    """Builds the nodes of a phase, with names that the function does not use yet. Gradient rules call it to apply ops.

    `name_hint` has the prefix of the names of new nodes, and the name of the node or value whose adjoint they compute.
    """

    def __init__(self, used_names: set[str]) -> None:
        self.used_names = used_names
        self.name_hint = REVERSE_PREFIX, ""
        self.types: dict[str, Type] = {}
        self.nodes: list[Node] = []
        self.location: Location | None = None

    def __call__(self, op: str, *operands: Any, **attributes: Any) -> Operand:
        row = lookup_row(op)
        same_dtype_operands = operands[slice(*row.same_dtype_operands)] if isinstance(row, Op) else ()
        operand_dtypes = [
            self.type(operand).dtype for operand in same_dtype_operands if isinstance(operand, str | Literal)
        ]
        inputs = [self.as_operand(operand, operand_dtypes[0] if operand_dtypes else None) for operand in operands]
        result_type = row.type_rule(*map(self.type, inputs), **attributes)
        name = self.fresh_name(*self.name_hint)
        self.add_node(Node(op, tuple(inputs), (Var(name, result_type),), (), tuple(attributes.items()), self.location))
        return name

    def as_operand(self, value: Any, dtype: Any) -> Operand:
        if isinstance(value, str | Literal):
            return value
        return literal(value, Type(dtype) if dtype is not None and not isinstance(value, bool) else None)

    def type(self, operand: Any) -> Type:
        if isinstance(operand, Literal):
            return operand.type
        return self.types[operand] if isinstance(operand, str) else literal(operand).type

    def add_node(self, node: Node) -> None:
        self.record_types(node.results)
        self.nodes.append(node)

    def record_types(self, variables: Iterable[Var]) -> None:
        self.types.update((variable.name, variable.type) for variable in variables)

    def fresh_name(self, prefix: str, base: str) -> str:
        name = unique_name(prefix, base, self.used_names)
        self.used_names.add(name)
        return name

    def adjoint_name(self, value: str) -> str:
        """A new name for the adjoint of a value."""
        return self.fresh_name(ADJOINT_PREFIX, value)

    @contextmanager
    def name_as_adjoint(self, value: str) -> Iterator[None]:
        """Name the nodes built in this context after the adjoint of a value."""
        outer_hint, self.name_hint = self.name_hint, (ADJOINT_PREFIX, value)
        yield
        self.name_hint = outer_hint


@dataclass
class RegionReversal:
    """The reversal of one region: the phases built so far, and the adjoints so far by the name of the value."""

    activity: RegionActivity
    parameters: Sequence[int]
    results: Sequence[int]
    """The positions of the active results of the first phase. In later phases all results are active."""
    result_types: Sequence[Sequence[Type]]
    """The types of the results of each phase."""
    adjoint_types: dict[int, list[Type]] = field(default_factory=dict)
    """The types of the adjoints of the parameters, by phase."""
    inner_reversals: dict[str, list[RegionReversal]] = field(default_factory=dict)
    """The reversals of the regions of conds and loops, by the name of the node."""
    phases: list[Region] = field(default_factory=list)
    adjoints: dict[str, Operand] = field(default_factory=dict)
    row_adjoints: dict[str, Rows] = field(default_factory=dict)
    """The adjoints by rows so far, by the name of the table."""
    last_phase_names: dict[str, str] = field(default_factory=dict)
    """By the name of a call, cond or loop, the name of the node that began its latest phase."""
    ruled_function: FunctionDef | None = None
    """The function whose body this is, if it has a gradient rule."""


class Reverser:
    """Reverses functions, given their activity. `split_name` returns the name of a function's split variant."""

    def __init__(self, analysis: ActivityAnalysis, split_name: Callable[[str], str]) -> None:
        self.analysis = analysis
        self.split_name = split_name

    def reverse_function(self, function: FunctionDef) -> FunctionDef:
        activity, body = self.analysis.regions[function.name], function.body
        parameters, results = (
            sorted(positions[function.name])
            for positions in (self.analysis.active_parameters, self.analysis.active_results)
        )
        used_names = {*LITERAL_WORDS, *(var.name for node in body.walk() for var in node.results)}
        used_names |= {var.name for region in body.walk_regions() for var in region.parameters}
        phase_result_types = [function.phase_result_types(phase) for phase in range(len(activity.phases))]
        reversal = RegionReversal(
            activity,
            parameters,
            results,
            phase_result_types,
            ruled_function=function if function.gradient_rule else None,
        )
        reversed_body = self.reverse_region(reversal, AdjointBuilder(used_names))
        reversal.adjoint_types[0] = declared_adjoint_types(
            activity, [body.parameters[position] for position in parameters], reversal.adjoint_types[0]
        )
        phase_result_types += [tuple(reversal.adjoint_types[phase]) for phase in reversed(range(len(activity.phases)))]
        return replace(
            function,
            name=self.split_name(function.name),
            body=reversed_body,
            pullback_result_types=tuple(phase_result_types[1:]),
        )

    def reverse_region(self, reversal: RegionReversal, builder: AdjointBuilder) -> Region:
        """The region with twice as many phases."""
        for phase in reversal.activity.phases:
            builder.record_types(phase.parameters)
            nodes = tuple(self.forward_node(reversal, node, builder) for node in phase.nodes)
            reversal.phases.append(replace(phase, nodes=nodes, pullback=None))
        for number in reversed(range(len(reversal.activity.phases))):
            reversal.phases.append(self.reverse_phase(reversal, number, builder))
        chain: Region | None = None
        for phase in reversed(reversal.phases):
            chain = replace(phase, pullback=chain)
        assert chain is not None
        return chain

    def forward_node(self, reversal: RegionReversal, node: Node, builder: AdjointBuilder) -> Node:
        """The node in the forward phase; if it is active, it gets further phases."""
        builder.record_types(node.results)
        if node.name not in reversal.activity.root_nodes or not is_active_node(reversal.activity, node):
            return node
        root, phase = reversal.activity.root_and_phase(node)
        reversal.last_phase_names[root.name] = node.name
        if phase:
            return node
        if node.op == "call":
            attributes = [pair for pair in node.attributes if pair[0] != "function"]
            return replace(node, attributes=(("function", self.split_name(node.attribute("function"))), *attributes))
        outer_types, positions = builder.types, self.active_positions(reversal.activity, root, 0)
        inner_reversals = reversal.inner_reversals[root.name] = [
            RegionReversal(activity, *positions, self.region_result_types(reversal.activity, root, activity))
            for activity in reversal.activity.inner_regions[root.name]
        ]
        regions = list(node.regions[: len(node.regions) - len(inner_reversals)])
        for inner_reversal in inner_reversals:
            builder.types = {}
            regions.append(self.reverse_region(inner_reversal, builder))
        builder.types = outer_types
        return replace(node, regions=tuple(regions))

    def region_result_types(self, activity: RegionActivity, root: Node, inner: RegionActivity) -> list[list[Type]]:
        """The types of the results of a region of a cond or loop, phase by phase, as the node declares them."""
        if root.op == "while_loop":
            return [[variable.type for variable in phase.parameters] for phase in inner.phases]
        return [
            [result.type for result in self.phase_node(activity, root, position).results]
            for position in range(len(inner.phases))
        ]

    def phase_node(self, activity: RegionActivity, root: Node, number: int) -> Node:
        """The node that begins a phase of a call, cond or loop."""
        return activity.phase_nodes[root.name][number]

    def active_positions(self, activity: RegionActivity, root: Node, phase: int) -> tuple[list[int], list[int]]:
        """The positions of the active operands and results in a phase of a call, cond or loop."""
        if phase:
            node = self.phase_node(activity, root, phase)
            return list(range(len(region_operands(node)))), list(range(len(node.results)))
        if root.op == "call":
            name = root.attribute("function")
            return sorted(self.analysis.active_parameters[name]), sorted(self.analysis.active_results[name])
        inner = activity.inner_regions[root.name]
        parameters = [
            position
            for position in range(len(region_operands(root)))
            if any(i.is_active(i.phases[0].parameters[position].name) for i in inner)
        ]
        parameters = parameters or first_differentiable(inner[0].phases[0].parameters)
        if root.op == "while_loop":
            return parameters, parameters
        results = [position for position, result in enumerate(root.results) if activity.is_active(result.name)]
        return parameters, results or first_differentiable(root.results)

    def reverse_phase(self, reversal: RegionReversal, number: int, builder: AdjointBuilder) -> Region:
        """The phase that computes the adjoints of phase `number`."""
        phase = reversal.activity.phases[number]
        outer_nodes, builder.nodes, builder.name_hint = builder.nodes, [], (REVERSE_PREFIX, "")
        variables = [
            variable
            for position in (range(len(phase.results)) if number else reversal.results)
            for variable in self.add_incoming_adjoint(reversal, number, position, builder)
        ]
        if reversal.ruled_function is not None and not number:
            self.apply_gradient_rule(
                reversal, reversal.ruled_function, dict(zip(reversal.results, variables, strict=True)), builder
            )
        for node in reversed(phase.nodes):
            builder.location, builder.name_hint = node.location, (REVERSE_PREFIX, node.name)
            self.reverse_node(reversal, node, builder)
        parameters = phase.parameters if number else [phase.parameters[position] for position in reversal.parameters]
        builder.location = None
        results = tuple(adjoint for var in parameters for adjoint in self.outgoing_adjoints(reversal, var, builder))
        reversal.adjoint_types[number] = list(map(builder.type, results))
        nodes, builder.nodes = builder.nodes, outer_nodes
        return Region(tuple(variables), tuple(nodes), results)

    def add_incoming_adjoint(
        self, reversal: RegionReversal, number: int, position: int, builder: AdjointBuilder
    ) -> list[Var]:
        """The parameters for the adjoint of a result: one, or two if it is by rows."""
        result, type_ = reversal.activity.phases[number].results[position], reversal.result_types[number][position]
        is_by_rows = not number and position in reversal.activity.invariant_positions
        types = row_adjoint_types(type_) if is_by_rows else (adjoint_type(type_) or type_,)
        variables = [
            Var(builder.adjoint_name(result if isinstance(result, str) else "result"), part_type) for part_type in types
        ]
        builder.record_types(variables)
        if is_by_rows:
            self.accumulate_rows(reversal, str(result), Rows(*(variable.name for variable in variables)), builder)
        else:
            self.accumulate(reversal, result, variables[0].name, builder)
        return variables

    def apply_gradient_rule(
        self,
        reversal: RegionReversal,
        function: FunctionDef,
        result_adjoints: Mapping[int, Var],
        builder: AdjointBuilder,
    ) -> None:
        """Call the rule of a function that has one; `result_adjoints` are those of its active results."""
        parts, rule = rule_parameters(self.analysis.program, function), str(function.gradient_rule)
        floats = [position for position, variable in enumerate(parts.outputs) if is_differentiable(variable)]
        adjoints = [
            result_adjoints[position].name
            if position in result_adjoints
            else self.zero_adjoint(parts.outputs[position].name, builder)
            for position in floats
        ]
        captures = [variable.name for variable in parts.captures]
        results = tuple(Var(builder.adjoint_name(variable.name), variable.type) for variable in parts.inputs)
        call = Node("call", (*captures, *adjoints), results, (), (("function", rule),), function.location)
        builder.add_node(call)
        for variable, result in zip(parts.inputs, results, strict=True):
            self.accumulate(reversal, variable.name, result.name, builder)

    def accumulate(self, reversal: RegionReversal, operand: Operand, adjoint: Operand, builder: AdjointBuilder) -> None:
        """Add to the adjoint of an operand, if it is active."""
        if isinstance(operand, str) and reversal.activity.is_active(operand):
            if operand in reversal.activity.row_tables:
                raise row_use_error(operand, builder.name_hint[1] or "the result", builder.location)
            partial_sum = reversal.adjoints.get(operand)
            with builder.name_as_adjoint(operand):
                reversal.adjoints[operand] = adjoint if partial_sum is None else builder("add", partial_sum, adjoint)

    def accumulate_rows(self, reversal: RegionReversal, table: str, adjoint: Rows, builder: AdjointBuilder) -> None:
        """Add to the adjoint of a table by rows."""
        partial_sum = reversal.row_adjoints.get(table)
        with builder.name_as_adjoint(table):
            reversal.row_adjoints[table] = adjoint if partial_sum is None else add_rows(builder, partial_sum, adjoint)

    def adjoint_of(self, reversal: RegionReversal, name: str, builder: AdjointBuilder) -> Operand:
        """The adjoint of a value once all its uses are visited; zero where there are none."""
        return reversal.adjoints[name] if name in reversal.adjoints else self.zero_adjoint(name, builder)

    def outgoing_adjoints(
        self, reversal: RegionReversal, variable: Var, builder: AdjointBuilder
    ) -> tuple[Operand, ...]:
        """The adjoint of a parameter as results of the phase: one value of its shape, or two by rows."""
        if variable.name not in reversal.activity.row_tables:
            return (self.sum_to_variable(self.adjoint_of(reversal, variable.name, builder), variable, builder),)
        with builder.name_as_adjoint(variable.name):
            return tuple(reversal.row_adjoints.get(variable.name) or empty_rows(builder, variable.name))

    def zero_adjoint(self, name: str, builder: AdjointBuilder) -> Operand:
        type_ = builder.type(name)
        if isinstance(type_.dtype, HandleType):
            with builder.name_as_adjoint(name):
                return builder("cell_zeros", name)
        zero = literal(0.0 if is_differentiable(Var(name, type_)) else 0, Type(type_.dtype))
        if type_.is_scalar:
            return zero
        with builder.name_as_adjoint(name):
            return builder("broadcast_like", zero, name)

    def sum_to_variable(self, adjoint: Operand, variable: Var, builder: AdjointBuilder) -> Operand:
        """The adjoint summed to the shape of its variable, unless the types show that it has that shape."""
        if isinstance(variable.type.dtype, HandleType):
            return adjoint
        if variable.type.admits(builder.type(adjoint)):
            return adjoint
        with builder.name_as_adjoint(variable.name):
            return builder("sum_like", adjoint, variable.name)

    def reverse_node(self, reversal: RegionReversal, node: Node, builder: AdjointBuilder) -> None:
        """Add to the adjoints of a node's operands, given the adjoints of its results."""
        if node.name in reversal.activity.root_nodes:
            if is_active_node(reversal.activity, node):
                self.reverse_structured_node(reversal, node, builder)
            return
        if node.name not in reversal.adjoints or not any(map(reversal.activity.is_active, node.inputs)):
            return
        if node.op == "get":
            handle, index = str(node.inputs[0]), node.inputs[1]
            handle_adjoint = self.adjoint_of(reversal, handle, builder)
            reversal.adjoints[handle] = builder("scatter_add", handle_adjoint, reversal.adjoints[node.name], index)
            return
        if node.op in CELL_GRADIENTS:
            for operand, contribution in CELL_GRADIENTS[node.op](builder, reversal.adjoints[node.name], node.inputs):
                self.accumulate(reversal, operand, contribution, builder)
            return
        rule = OPS[node.op].gradient if node.op in OPS else None
        if rule is None:
            raise Invalid(
                f"{node.op} cannot be differentiated",
                rule="D1",
                required="a gradient rule, in the column `gradient` of its row" if node.op in OPS else None,
                where=node.location or node.name,
                hint="tl.stop_gradient(x) makes a value a constant",
            )
        for position, operand in enumerate(node.inputs):
            if reversal.activity.is_active(operand):
                if operand in reversal.activity.row_tables and (
                    rows := gathered_rows(builder, node, reversal.adjoints[node.name])
                ):
                    self.accumulate_rows(reversal, str(operand), rows, builder)
                    continue
                rule_inputs = reversal.adjoints[node.name], node.name, *node.inputs
                contribution = rule(builder, position, *rule_inputs, **dict(node.attributes))
                if contribution is not None:
                    broadcast = OPS[node.op].scalar is not None
                    contribution = self.unbroadcast(contribution, operand, builder) if broadcast else contribution
                    self.accumulate(reversal, operand, contribution, builder)

    def unbroadcast(self, adjoint: Operand, operand: Operand, builder: AdjointBuilder) -> Operand:
        """The adjoint of a broadcast operand, summed to its shape."""
        shape, operand_shape = builder.type(adjoint).shape, builder.type(operand).shape
        is_same = shape == operand_shape and shape is not None and None not in shape
        return adjoint if is_same else builder("sum_like", adjoint, operand)

    def reverse_structured_node(self, reversal: RegionReversal, node: Node, builder: AdjointBuilder) -> None:
        """Add the pullback of a call, cond or loop, or of one of its pullbacks."""
        root, number = reversal.activity.root_and_phase(node)
        active_operands, active_results = self.active_positions(reversal.activity, root, number)
        operands = region_operands(node)
        inputs = tuple(
            adjoint
            for position in active_results
            for adjoint in self.outgoing_adjoints(reversal, node.results[position], builder)
        )
        types = self.operand_adjoint_types(reversal, root, number, active_operands)
        activity = self.callee_activity(reversal, root)
        results = tuple(Var(builder.fresh_name(REVERSE_PREFIX, node.name), type_) for type_ in types)
        builder.add_node(
            Node(
                "pullback",
                inputs,
                results,
                (),
                ((PULLBACK_TARGET, reversal.last_phase_names[root.name]),),
                node.location,
            )
        )
        reversal.last_phase_names[root.name] = results[0].name
        result_variables = iter(results)
        for position in active_operands:
            if activity.phases[number].parameters[position].name in activity.row_tables:
                self.accumulate_row_result(
                    reversal,
                    operands[position],
                    Rows(next(result_variables).name, next(result_variables).name),
                    builder,
                )
            else:
                self.accumulate(reversal, operands[position], next(result_variables).name, builder)

    def accumulate_row_result(
        self, reversal: RegionReversal, operand: Operand, adjoint: Rows, builder: AdjointBuilder
    ) -> None:
        """Add a row adjoint, returned by a call or branch, to the adjoint of its operand."""
        if operand in reversal.activity.row_tables:
            self.accumulate_rows(reversal, str(operand), adjoint, builder)
        elif reversal.activity.is_active(operand):
            self.accumulate(reversal, operand, to_dense(builder, adjoint, operand), builder)

    def callee_activity(self, reversal: RegionReversal, root: Node) -> RegionActivity:
        """The activity of the region that a call, cond or loop runs; for a cond, that of its first branch."""
        if root.op == "call":
            return self.analysis.regions[root.attribute("function")]
        return reversal.activity.inner_regions[root.name][0]

    def operand_adjoint_types(
        self, reversal: RegionReversal, root: Node, number: int, active_operands: Sequence[int]
    ) -> list[Type]:
        """The types of the adjoints of the operands of a phase."""
        if root.op == "cond":
            first, second = (inner.adjoint_types[number] for inner in reversal.inner_reversals[root.name])
            return [one_type.join(other_type) or one_type for one_type, other_type in zip(first, second, strict=True)]
        activity = self.callee_activity(reversal, root)
        return [
            type_
            for position in active_operands
            for type_ in adjoint_types(activity, activity.phases[number].parameters[position])
        ]
