"""Reversal: the phases of a region, followed by as many that compute its adjoints.

The phases themselves stay, except that calls become calls of split functions. Then, from the last phase to the first,
follows a phase whose parameters are the adjoints of that phase's active results, and whose results are those of its
active parameters. The adjoints of one value are added in the order in which the reverse pass meets its uses, last use
first.

The node that goes back through node n is named `back_n`, and the adjoint of value v, or a partial sum of it, `d_v`.
Numbers keep names unique, in a form that `original_name` can invert.
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
    PULLBACK_TARGET,
    REVERSE_PREFIX,
    Function,
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
    """Builds the nodes of a phase; gradient rules call it to apply ops. It chooses names that the function does not
    use.

    `name_hint` is a prefix and the name behind it: what the nodes built now go back through.
    """

    def __init__(self, taken: set[str]) -> None:
        self.used_names = taken
        self.name_hint = REVERSE_PREFIX, ""
        self.types: dict[str, Type] = {}
        self.nodes: list[Node] = []
        self.location: Location | None = None

    def __call__(self, op: str, *operands: Any, **attributes: Any) -> Operand:
        row = lookup_row(op)
        alike = operands[slice(*row.same_dtype_operands)] if isinstance(row, Op) else ()
        strong = [self.type(each).dtype for each in alike if isinstance(each, str | Literal)]
        given = [self.as_operand(each, strong[0] if strong else None) for each in operands]
        made = row.type_rule(*map(self.type, given), **attributes)
        name = self.fresh_name(*self.name_hint)
        self.add_node(Node(op, tuple(given), (Var(name, made),), (), tuple(attributes.items()), self.location))
        return name

    def as_operand(self, given: Any, dtype: Any) -> Operand:
        if isinstance(given, str | Literal):
            return given
        return literal(given, Type(dtype) if dtype is not None and not isinstance(given, bool) else None)

    def type(self, operand: Any) -> Type:
        if isinstance(operand, Literal):
            return operand.type
        return self.types[operand] if isinstance(operand, str) else literal(operand).type

    def add_node(self, node: Node) -> None:
        self.record_types(node.results)
        self.nodes.append(node)

    def record_types(self, variables: Iterable[Var]) -> None:
        self.types.update((variable.name, variable.type) for variable in variables)

    def fresh_name(self, beginning: str, of: str) -> str:
        name = unique_name(beginning, of, self.used_names)
        self.used_names.add(name)
        return name

    def adjoint_name(self, of: str) -> str:
        """A new name for the adjoint of a value."""
        return self.fresh_name(ADJOINT_PREFIX, of)

    @contextmanager
    def name_as_adjoint(self, value: str) -> Iterator[None]:
        """Name the nodes built in this context after the adjoint of a value."""
        before, self.name_hint = self.name_hint, (ADJOINT_PREFIX, value)
        yield
        self.name_hint = before


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
    ruled_function: Function | None = None
    """The function whose body this is, if it has a gradient rule."""


class Reverser:
    """Reverses functions, given their activity. `split_name` returns the name of a function's split variant."""

    def __init__(self, activity: ActivityAnalysis, split: Callable[[str], str]) -> None:
        self.activity = activity
        self.split_name = split

    def reverse_function(self, function: Function) -> Function:
        area, body = self.activity.regions[function.name], function.body
        parameters, results = (
            sorted(positions[function.name])
            for positions in (self.activity.active_parameters, self.activity.active_results)
        )
        taken = {"true", "false", "nan", "inf", *(var.name for node in body.walk() for var in node.results)}
        taken |= _parameter_names(body)
        returned = [function.phase_result_types(phase) for phase in range(len(area.phases))]
        of = RegionReversal(
            area, parameters, results, returned, ruled_function=function if function.gradient_rule else None
        )
        made = self.reverse_region(of, AdjointBuilder(taken))
        of.adjoint_types[0] = declared_adjoint_types(
            area, [body.parameters[at] for at in parameters], of.adjoint_types[0]
        )
        returned += [tuple(of.adjoint_types[phase]) for phase in reversed(range(len(area.phases)))]
        return replace(function, name=self.split_name(function.name), body=made, pullbacks=tuple(returned[1:]))

    def reverse_region(self, of: RegionReversal, writer: AdjointBuilder) -> Region:
        """The region with twice as many phases."""
        for phase in of.activity.phases:
            writer.record_types(phase.parameters)
            nodes = tuple(self.forward_node(of, node, writer) for node in phase.nodes)
            of.phases.append(replace(phase, nodes=nodes, pullback=None))
        for number in reversed(range(len(of.activity.phases))):
            of.phases.append(self.reverse_phase(of, number, writer))
        made: Region | None = None
        for phase in reversed(of.phases):
            made = replace(phase, pullback=made)
        assert made is not None
        return made

    def forward_node(self, of: RegionReversal, node: Node, writer: AdjointBuilder) -> Node:
        """The node in the forward phase; if it is active, it gets further phases."""
        writer.record_types(node.results)
        if node.name not in of.activity.root_nodes or not is_active_node(of.activity, node):
            return node
        root, place = of.activity.root_and_phase(node)
        of.last_phase_names[root.name] = node.name
        if place:
            return node
        if node.op == "call":
            others = [pair for pair in node.attributes if pair[0] != "function"]
            return replace(node, attributes=(("function", self.split_name(node.attribute("function"))), *others))
        outer, masks = writer.types, self.active_positions(of.activity, root, 0)
        inner = of.inner_reversals[root.name] = [
            RegionReversal(area, *masks, self.region_result_types(of.activity, root, area))
            for area in of.activity.inner_regions[root.name]
        ]
        regions = list(node.regions[: len(node.regions) - len(inner)])
        for each in inner:
            writer.types = {}
            regions.append(self.reverse_region(each, writer))
        writer.types = outer
        return replace(node, regions=tuple(regions))

    def region_result_types(self, area: RegionActivity, root: Node, inner: RegionActivity) -> list[list[Type]]:
        """The types of the results of a region of a cond or loop, phase by phase, as the node declares them."""
        if root.op == "while_loop":
            return [[variable.type for variable in phase.parameters] for phase in inner.phases]
        return [[result.type for result in self.phase_node(area, root, at).results] for at in range(len(inner.phases))]

    def phase_node(self, area: RegionActivity, root: Node, number: int) -> Node:
        """The node that begins a phase of a call, cond or loop."""
        return area.phase_nodes[root.name][number]

    def active_positions(self, area: RegionActivity, root: Node, phase: int) -> tuple[list[int], list[int]]:
        """The positions of the active operands and results in a phase of a call, cond or loop."""
        if phase:
            node = self.phase_node(area, root, phase)
            return list(range(len(region_operands(node)))), list(range(len(node.results)))
        if root.op == "call":
            name = root.attribute("function")
            return sorted(self.activity.active_parameters[name]), sorted(self.activity.active_results[name])
        inner = area.inner_regions[root.name]
        taken = [
            at
            for at in range(len(region_operands(root)))
            if any(i.is_active(i.phases[0].parameters[at].name) for i in inner)
        ]
        taken = taken or first_differentiable(inner[0].phases[0].parameters)
        if root.op == "while_loop":
            return taken, taken
        given = [at for at, result in enumerate(root.results) if area.is_active(result.name)]
        return taken, given or first_differentiable(root.results)

    def reverse_phase(self, of: RegionReversal, number: int, writer: AdjointBuilder) -> Region:
        """The phase that computes the adjoints of phase `number`."""
        phase = of.activity.phases[number]
        outer, writer.nodes, writer.name_hint = writer.nodes, [], (REVERSE_PREFIX, "")
        variables = [
            variable
            for at in (range(len(phase.results)) if number else of.results)
            for variable in self.add_incoming_adjoint(of, number, at, writer)
        ]
        if of.ruled_function is not None and not number:
            self.apply_gradient_rule(of, of.ruled_function, dict(zip(of.results, variables, strict=True)), writer)
        for node in reversed(phase.nodes):
            writer.location, writer.name_hint = node.location, (REVERSE_PREFIX, node.name)
            self.reverse_node(of, node, writer)
        chosen = phase.parameters if number else [phase.parameters[at] for at in of.parameters]
        writer.location = None
        results = tuple(each for var in chosen for each in self.outgoing_adjoints(of, var, writer))
        of.adjoint_types[number] = list(map(writer.type, results))
        made, writer.nodes = writer.nodes, outer
        return Region(tuple(variables), tuple(made), results)

    def add_incoming_adjoint(self, of: RegionReversal, number: int, at: int, writer: AdjointBuilder) -> list[Var]:
        """The parameters that bring in the adjoint of a result: one, or two by rows."""
        result, type_ = of.activity.phases[number].results[at], of.result_types[number][at]
        is_by_rows = not number and at in of.activity.invariant_positions
        types = row_adjoint_types(type_) if is_by_rows else (adjoint_type(type_) or type_,)
        variables = [Var(writer.adjoint_name(result if isinstance(result, str) else "result"), each) for each in types]
        writer.record_types(variables)
        if is_by_rows:
            self.accumulate_rows(of, str(result), Rows(*(each.name for each in variables)), writer)
        else:
            self.accumulate(of, result, variables[0].name, writer)
        return variables

    def apply_gradient_rule(
        self, of: RegionReversal, function: Function, given: Mapping[int, Var], writer: AdjointBuilder
    ) -> None:
        """Call the rule of a function that has one; `given` are the adjoints of its active results."""
        parts, rule = rule_parameters(self.activity.program, function), str(function.gradient_rule)
        floats = [at for at, variable in enumerate(parts.outputs) if is_differentiable(variable)]
        adjoints = [
            given[at].name if at in given else self.zero_adjoint(parts.outputs[at].name, writer) for at in floats
        ]
        closed = [variable.name for variable in parts.captures]
        results = tuple(Var(writer.adjoint_name(variable.name), variable.type) for variable in parts.inputs)
        call = Node("call", (*closed, *adjoints), results, (), (("function", rule),), function.location)
        writer.add_node(call)
        for variable, result in zip(parts.inputs, results, strict=True):
            self.accumulate(of, variable.name, result.name, writer)

    def accumulate(self, of: RegionReversal, operand: Operand, adjoint: Operand, writer: AdjointBuilder) -> None:
        """Add to the adjoint of an operand, if it is active."""
        if isinstance(operand, str) and of.activity.is_active(operand):
            if operand in of.activity.row_tables:
                raise row_use_error(operand, writer.name_hint[1] or "the result", writer.location)
            known = of.adjoints.get(operand)
            with writer.name_as_adjoint(operand):
                of.adjoints[operand] = adjoint if known is None else writer("add", known, adjoint)

    def accumulate_rows(self, of: RegionReversal, table: str, adjoint: Rows, writer: AdjointBuilder) -> None:
        """Add to the adjoint of a table by rows."""
        known = of.row_adjoints.get(table)
        with writer.name_as_adjoint(table):
            of.row_adjoints[table] = adjoint if known is None else add_rows(writer, known, adjoint)

    def adjoint_of(self, of: RegionReversal, name: str, writer: AdjointBuilder) -> Operand:
        """The adjoint of a value once all its uses are visited; zero where there are none."""
        return of.adjoints[name] if name in of.adjoints else self.zero_adjoint(name, writer)

    def outgoing_adjoints(self, of: RegionReversal, variable: Var, writer: AdjointBuilder) -> tuple[Operand, ...]:
        """The adjoint of a parameter as results of the phase: one value of its shape, or two by rows."""
        if variable.name not in of.activity.row_tables:
            return (self.sum_to_variable(self.adjoint_of(of, variable.name, writer), variable, writer),)
        with writer.name_as_adjoint(variable.name):
            return tuple(of.row_adjoints.get(variable.name) or empty_rows(writer, variable.name))

    def zero_adjoint(self, name: str, writer: AdjointBuilder) -> Operand:
        type_ = writer.type(name)
        if isinstance(type_.dtype, HandleType):
            with writer.name_as_adjoint(name):
                return writer("cell_zeros", name)
        zero = literal(0.0 if is_differentiable(Var(name, type_)) else 0, Type(type_.dtype))
        if type_.is_scalar:
            return zero
        with writer.name_as_adjoint(name):
            return writer("broadcast_like", zero, name)

    def sum_to_variable(self, adjoint: Operand, variable: Var, writer: AdjointBuilder) -> Operand:
        """The adjoint summed to the shape of its variable, unless the types show that it has that shape."""
        if isinstance(variable.type.dtype, HandleType):
            return adjoint
        if variable.type.admits(writer.type(adjoint)):
            return adjoint
        with writer.name_as_adjoint(variable.name):
            return writer("sum_like", adjoint, variable.name)

    def reverse_node(self, of: RegionReversal, node: Node, writer: AdjointBuilder) -> None:
        """Add to the adjoints of a node's operands, given those of its results."""
        if node.name in of.activity.root_nodes:
            if is_active_node(of.activity, node):
                self.reverse_structured_node(of, node, writer)
            return
        if node.name not in of.adjoints or not any(map(of.activity.is_active, node.inputs)):
            return
        if node.op == "get":
            handle, index = str(node.inputs[0]), node.inputs[1]
            known = self.adjoint_of(of, handle, writer)
            of.adjoints[handle] = writer("scatter_add", known, of.adjoints[node.name], index)
            return
        if node.op in CELL_GRADIENTS:
            for operand, made in CELL_GRADIENTS[node.op](writer, of.adjoints[node.name], node.inputs):
                self.accumulate(of, operand, made, writer)
            return
        rule = OPS[node.op].gradient if node.op in OPS else None
        if rule is None:
            raise Invalid(
                f"{node.op} cannot be differentiated",
                rule="D1",
                required="a column gradient in its row" if node.op in OPS else None,
                where=node.location or node.name,
                hint="tl.stop_gradient(x) makes a value a constant",
            )
        for at, operand in enumerate(node.inputs):
            if of.activity.is_active(operand):
                if operand in of.activity.row_tables and (taken := gathered_rows(writer, node, of.adjoints[node.name])):
                    self.accumulate_rows(of, str(operand), taken, writer)
                    continue
                given = of.adjoints[node.name], node.name, *node.inputs
                made = rule(writer, at, *given, **dict(node.attributes))
                if made is not None:
                    broadcast = OPS[node.op].scalar is not None
                    made = self.unbroadcast(made, operand, writer) if broadcast else made
                    self.accumulate(of, operand, made, writer)

    def unbroadcast(self, adjoint: Operand, operand: Operand, writer: AdjointBuilder) -> Operand:
        """The adjoint of a broadcast operand, summed to its shape."""
        shape, wanted = writer.type(adjoint).shape, writer.type(operand).shape
        is_same = shape == wanted and shape is not None and None not in shape
        return adjoint if is_same else writer("sum_like", adjoint, operand)

    def reverse_structured_node(self, of: RegionReversal, node: Node, writer: AdjointBuilder) -> None:
        """Add the pullback of a call, cond or loop, or of one of its pullbacks."""
        root, number = of.activity.root_and_phase(node)
        taken, given = self.active_positions(of.activity, root, number)
        operands = region_operands(node)
        inputs = tuple(each for at in given for each in self.outgoing_adjoints(of, node.results[at], writer))
        types, area = self.operand_adjoint_types(of, root, number, taken), self.callee_activity(of, root)
        results = tuple(Var(writer.fresh_name(REVERSE_PREFIX, node.name), type_) for type_ in types)
        writer.add_node(
            Node("pullback", inputs, results, (), ((PULLBACK_TARGET, of.last_phase_names[root.name]),), node.location)
        )
        of.last_phase_names[root.name] = results[0].name
        rest = iter(results)
        for at in taken:
            if area.phases[number].parameters[at].name in area.row_tables:
                self.accumulate_row_result(of, operands[at], Rows(next(rest).name, next(rest).name), writer)
            else:
                self.accumulate(of, operands[at], next(rest).name, writer)

    def accumulate_row_result(
        self, of: RegionReversal, operand: Operand, adjoint: Rows, writer: AdjointBuilder
    ) -> None:
        """Add a row adjoint, returned by a call or branch, to the adjoint of its operand."""
        if operand in of.activity.row_tables:
            self.accumulate_rows(of, str(operand), adjoint, writer)
        elif of.activity.is_active(operand):
            self.accumulate(of, operand, to_dense(writer, adjoint, operand), writer)

    def callee_activity(self, of: RegionReversal, root: Node) -> RegionActivity:
        """The activity of the region that a call, cond or loop runs; of a cond, of its first branch."""
        if root.op == "call":
            return self.activity.regions[root.attribute("function")]
        return of.activity.inner_regions[root.name][0]

    def operand_adjoint_types(self, of: RegionReversal, root: Node, number: int, taken: Sequence[int]) -> list[Type]:
        """The types of the adjoints of the operands of a phase."""
        if root.op == "cond":
            one, other = (inner.adjoint_types[number] for inner in of.inner_reversals[root.name])
            return [mine.join(theirs) or mine for mine, theirs in zip(one, other, strict=True)]
        area = self.callee_activity(of, root)
        return [type_ for at in taken for type_ in adjoint_types(area, area.phases[number].parameters[at])]


def _parameter_names(region: Region) -> set[str]:
    """The names of parameters in all regions."""
    found = {variable.name for phase in region.phases() for variable in phase.parameters}
    for phase in region.phases():
        for node in phase.nodes:
            for inner in node.regions:
                found |= _parameter_names(inner)
    return found
