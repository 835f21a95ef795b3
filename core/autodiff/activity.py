"""Activity analysis: which values need an adjoint.

A float is active if it depends on an input of the gradient and an output of the gradient depends on it.

A function gets one split variant, so the analysis merges all its differentiated calls. It assumes that every result
of a call depends on every operand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..ops.effects import EFFECT_OPS
from ..program.program import PULLBACK_TARGET, FunctionDef, Node, Operand, Program, Region, Var, operand_names
from ..types import HandleType, Type, element_type


@dataclass(frozen=True)
class RuleParameters:
    """The parameters of a function with a gradient rule, by role. `custom_gradient` emits calls of such functions.

    Such a function computes nothing. Its parameters are the inputs of the gradient, its results, and the captures of
    its rule, in this order; it returns the results unchanged. Its rule is another function: from the captures and the
    adjoints of the float results it computes the adjoints of the inputs. The reverse of the first phase is a call of
    the rule, at every order, and that call is differentiated like any other.
    """

    inputs: tuple[Var, ...]
    outputs: tuple[Var, ...]
    captures: tuple[Var, ...]


def rule_parameters(program: Program, function: FunctionDef) -> RuleParameters:
    """Split the parameters of a function with a rule by their role."""
    assert function.gradient_rule is not None
    parameters, input_count = function.body.parameters, len(program[function.gradient_rule].results)
    end = input_count + len(function.results)
    return RuleParameters(parameters[:input_count], parameters[input_count:end], parameters[end:])


def relevant_parameters(program: Program, function: FunctionDef) -> Sequence[int]:
    """The positions of the parameters on which the results depend, as far as gradients are concerned.

    These are all parameters; for a function with a rule, only the inputs and, once it is split, the captures.
    """
    count = len(function.body.parameters)
    if function.gradient_rule is None:
        return range(count)
    parts = rule_parameters(program, function)
    captures = range(len(parts.inputs) + len(parts.outputs), count) if function.body.pullback else ()
    return [*range(len(parts.inputs)), *captures]


@dataclass(eq=False)
class RegionActivity:
    """The activity of a region, in all its phases, and of the regions of its conds and loops.

    `inner_regions` has the regions of a cond or loop by the name of its root node: the node that begins phase 0.
    """

    phases: list[Region]
    varied: set[str] = field(default_factory=set)
    useful: set[str] = field(default_factory=set)
    inner_regions: dict[str, list[RegionActivity]] = field(default_factory=dict)
    root_nodes: dict[str, Node] = field(default_factory=dict)
    """The root of each cond, loop, call and pullback: the node itself, or for a pullback the node whose phase 0 it
    extends."""
    phase_numbers: dict[str, int] = field(default_factory=dict)
    """The phase that each of these nodes begins."""
    phase_nodes: dict[str, list[Node]] = field(default_factory=dict)
    """The nodes that begin the phases of a root, in order, by the root's name."""
    row_tables: set[str] = field(default_factory=set)
    """The tables whose adjoints are by rows: parameters, and the results of loops that return them unchanged."""
    invariant_positions: set[int] = field(default_factory=set)
    """In a loop, the positions of those tables among its variables. The loop does not change them."""

    def is_active(self, operand: Operand) -> bool:
        return isinstance(operand, str) and operand in self.varied and operand in self.useful

    def root_and_phase(self, node: Node) -> tuple[Node, int]:
        """The root of a cond, loop, call or pullback, and the phase that the node begins."""
        return self.root_nodes[node.name], self.phase_numbers[node.name]


def build_region_activity(region: Region) -> RegionActivity:
    """The activity of a region before any analysis: nothing varies and nothing is useful."""
    activity = RegionActivity(list(region.phases()))
    for phase in activity.phases:
        for node in phase.nodes:
            if node.op in ("cond", "while_loop", "call"):
                activity.root_nodes[node.name], activity.phase_numbers[node.name], activity.phase_nodes[node.name] = (
                    node,
                    0,
                    [node],
                )
                regions = node.regions[1:] if node.op == "while_loop" else node.regions
                activity.inner_regions[node.name] = list(map(build_region_activity, regions))
            elif node.op == "pullback":
                target = node.attribute(PULLBACK_TARGET)
                activity.root_nodes[node.name], activity.phase_numbers[node.name] = (
                    activity.root_nodes[target],
                    activity.phase_numbers[target] + 1,
                )
                activity.phase_nodes[activity.root_nodes[target].name].append(node)
    return activity


def region_operands(node: Node) -> tuple[Operand, ...]:
    """The operands that a node passes to its regions, or to the function that it calls."""
    return node.inputs[1:] if node.op == "cond" else node.inputs


def is_differentiable(variable: Var) -> bool:
    """Whether the variable can have an adjoint: floats, and handles of cells of floats."""
    return adjoint_type(variable.type) is not None


def adjoint_type(type_: Type) -> Type | None:
    """The type of the adjoint of a value; None where it has none. The adjoint of an array of cells is one array."""
    if not isinstance(type_.dtype, HandleType):
        return type_ if type_.dtype.kind == "f" else None
    element = element_type(type_)
    if element.dtype.kind != "f":
        return None
    return Type(element.dtype, None if element.shape is None else (None, *element.shape))


def first_differentiable(variables: Sequence[Var]) -> list[int]:
    """The first differentiable position, used where nothing is active: its adjoint is zero, but phases need operands
    and results."""
    return [position for position, variable in enumerate(variables) if is_differentiable(variable)][:1]


def is_active_node(activity: RegionActivity, node: Node) -> bool:
    """Whether a call, cond or loop must be differentiated: it has active operands and active results."""
    members = activity.phase_nodes[activity.root_nodes[node.name].name]
    goes_in = any(activity.is_active(operand) for member in members for operand in region_operands(member))
    return goes_in and any(activity.is_active(result.name) for member in members for result in member.results)


class ActivityAnalysis:
    """The activity of the functions of a program, given the calls to differentiate.

    `active_parameters` and `active_results` have, for each differentiated function, the positions that are active in
    any call.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.regions: dict[str, RegionActivity] = {}
        self.active_parameters: dict[str, set[int]] = {}
        self.active_results: dict[str, set[int]] = {}
        self.has_changed = False
        self.visited: dict[tuple[int, int], tuple[int, int]] = {}
        """For each phase visited by the backward pass of this round: the numbers of varied and useful values at that
        time."""

    def request_gradient(self, function: str, parameters: Iterable[int], results: Iterable[int]) -> None:
        """Ask for the gradient of a function: of these results, with respect to these parameters."""
        if function not in self.regions:
            self.regions[function] = build_region_activity(self.program[function].body)
            self.active_parameters[function], self.active_results[function] = set(), set()
            self.has_changed = True
        callee = self.program[function]
        result_variables = [Var("", type_) for type_ in callee.results]
        for active_positions, requested_positions, variables in (
            (self.active_parameters[function], set(parameters), callee.body.parameters),
            (self.active_results[function], set(results), result_variables),
        ):
            old_count = len(active_positions)
            active_positions.update(requested_positions or first_differentiable(variables))
            self.has_changed |= len(active_positions) > old_count

    def analyze_to_fixpoint(self) -> None:
        """Propagate activity through all functions until nothing changes."""
        self.has_changed = True
        while self.has_changed:
            self.has_changed = False
            self.visited.clear()
            for name, activity in list(self.regions.items()):
                function = self.program[name]
                self.analyze_function(function, activity)

    def analyze_function(self, function: FunctionDef, activity: RegionActivity) -> None:
        self.mark_varied_parameters(activity, 0, self.active_parameters[function.name])
        if function.gradient_rule is not None:
            self.mark(activity.useful, [variable.name for variable in rule_parameters(self.program, function).inputs])
        for phase in range(1, len(activity.phases)):
            self.mark_varied_parameters(activity, phase, range(len(activity.phases[phase].parameters)))
        for phase in range(len(activity.phases)):
            self.propagate_varied(activity, phase)
        for phase in reversed(range(len(activity.phases))):
            useful_positions = (
                range(len(activity.phases[phase].results)) if phase else self.active_results[function.name]
            )
            self.mark_useful_results(activity, phase, useful_positions)
            self.propagate_useful(activity, phase)

    def mark_varied_parameters(self, activity: RegionActivity, phase: int, positions: Iterable[int]) -> None:
        parameters = activity.phases[phase].parameters
        self.mark(
            activity.varied,
            [parameters[position].name for position in positions if is_differentiable(parameters[position])],
        )

    def mark_useful_results(self, activity: RegionActivity, phase: int, positions: Iterable[int]) -> None:
        results = activity.phases[phase].results
        self.mark(activity.useful, operand_names(results[position] for position in positions))

    def mark(self, marks: set[str], names: Iterable[str]) -> None:
        old_count = len(marks)
        marks.update(names)
        self.has_changed |= len(marks) > old_count

    def propagate_varied(self, activity: RegionActivity, phase: int) -> None:
        """Mark the values that depend on varied values."""
        for node in activity.phases[phase].nodes:
            operand_varies = [isinstance(operand, str) and operand in activity.varied for operand in node.inputs]
            if node.name not in activity.root_nodes:
                if any(operand_varies) and not has_constant_results(node):
                    self.mark(activity.varied, [result.name for result in node.results if is_differentiable(result)])
                continue
            root, number = activity.root_and_phase(node)
            positions = [
                position
                for position, varies in enumerate(operand_varies[len(node.inputs) - len(region_operands(node)) :])
                if varies
            ]
            if root.op == "call":
                depends = any(
                    relevant in activity.varied for relevant in self.call_operands(activity, root, number + 1)
                )
                result_varies: Sequence[bool] = [depends] * len(node.results)
            else:
                result_varies = self.propagate_varied_inside(activity, root, number, positions)
            pairs = zip(node.results, result_varies, strict=True)
            self.mark(
                activity.varied, [result.name for result, varies in pairs if varies and is_differentiable(result)]
            )

    def call_operands(self, activity: RegionActivity, root: Node, number: int) -> list[Operand]:
        """The relevant operands of the phases of a call before phase `number`."""
        members = activity.phase_nodes[root.name]
        relevant = self.relevant_operands(root)
        return [
            operand
            for member in members
            if activity.phase_numbers[member.name] < number
            for position, operand in enumerate(member.inputs)
            if position in relevant or member is not root
        ]

    def relevant_operands(self, call: Node) -> Sequence[int]:
        """The positions of the operands of a call on which its results depend."""
        return relevant_parameters(self.program, self.program[call.attribute("function")])

    def propagate_varied_inside(
        self, activity: RegionActivity, root: Node, number: int, positions: list[int]
    ) -> list[bool]:
        """Which results of a phase of a cond or loop vary if the operands at these positions vary."""
        results: list[bool] = []
        for inner in activity.inner_regions[root.name]:
            self.mark_varied_parameters(inner, number, positions)
            self.propagate_varied(inner, number)
            phase_results = inner.phases[number].results
            result_varies = [isinstance(result, str) and result in inner.varied for result in phase_results]
            if root.op == "while_loop":
                self.mark_varied_parameters(
                    inner, number, [position for position, varies in enumerate(result_varies) if varies]
                )
                result_varies = [variable.name in inner.varied for variable in inner.phases[number].parameters]
            results = (
                [first or second for first, second in zip(results, result_varies, strict=True)]
                if results
                else result_varies
            )
        return results

    def propagate_useful(self, activity: RegionActivity, phase: int) -> None:
        """Mark the values on which useful values depend."""
        progress = len(activity.varied), len(activity.useful)
        if self.visited.get((id(activity), phase)) == progress:
            return  # nothing changed since; visiting again takes time exponential in the nesting depth
        self.visited[id(activity), phase] = progress
        for node in reversed(activity.phases[phase].nodes):
            useful_positions = [
                position for position, result in enumerate(node.results) if result.name in activity.useful
            ]
            if not useful_positions or node.op == "stop_gradient":
                continue
            if node.name not in activity.root_nodes:
                self.mark(activity.useful, operand_names(node.inputs))
                continue
            root, number = activity.root_and_phase(node)
            if root.op == "call":
                self.mark(activity.useful, operand_names(self.call_operands(activity, root, number + 1)))
                self.request_call_gradient(activity, root)
            else:
                self.propagate_useful_inside(activity, root, number, useful_positions)

    def request_call_gradient(self, activity: RegionActivity, root: Node) -> None:
        if is_active_node(activity, root):
            varied = [
                position for position in self.relevant_operands(root) if activity.is_active(root.inputs[position])
            ]
            useful = [position for position, result in enumerate(root.results) if activity.is_active(result.name)]
            self.request_gradient(root.attribute("function"), varied, useful)

    def propagate_useful_inside(
        self, activity: RegionActivity, root: Node, number: int, useful_positions: list[int]
    ) -> None:
        """Mark the operands of a cond or loop, of this phase and the earlier ones, on which the useful
        results of this phase depend."""
        members = activity.phase_nodes[root.name]
        for inner in activity.inner_regions[root.name]:
            self.mark_useful_results(inner, number, useful_positions)
            if root.op == "while_loop":  # a loop without iterations returns its operands
                self.mark(
                    inner.useful, [inner.phases[number].parameters[position].name for position in useful_positions]
                )
            for phase in reversed(range(number + 1)):
                self.propagate_useful(inner, phase)
                positions = [
                    position
                    for position, parameter in enumerate(inner.phases[phase].parameters)
                    if parameter.name in inner.useful
                ]
                if root.op == "while_loop":
                    self.mark_useful_results(inner, phase, positions)
                operands = region_operands(members[phase])
                self.mark(activity.useful, operand_names(operands[position] for position in positions))


def has_constant_results(node: Node) -> bool:
    """Whether the results of an op do not depend on its operands, or gradients treat them so: random draws, the result
    of a print, and that of `stop_gradient`."""
    return node.op == "stop_gradient" or (
        node.op in EFFECT_OPS and (EFFECT_OPS[node.op].draw is not None or node.op in ("print", "cell_zeros"))
    )
