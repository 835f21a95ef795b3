"""Activity: which values an adjoint is wanted of. A float is active that depends on what is differentiated by, and on
which what is differentiated depends.

What is found of a function holds for all of its calls that are differentiated: it gets one split variant. Of a call all
results are taken to depend on all operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..ops.effect_op import EFFECT_OPS
from ..program.program import PULLBACK_TARGET, Function, Node, Operand, Program, Region, Var
from ..types import HandleType, Type, element_type
from .custom_rules import relevant_parameters, rule_parameters


@dataclass(eq=False)
class RegionActivity:
    """A region with its phases, and the regions of its conds and loops, by the name of their first phase's node."""

    phases: list[Region]
    varied: set[str] = field(default_factory=set)
    useful: set[str] = field(default_factory=set)
    inner_regions: dict[str, list[RegionActivity]] = field(default_factory=dict)
    root_nodes: dict[str, Node] = field(default_factory=dict)
    """By the name of a node with structure, that of the first phase: itself, for a cond, a loop or a call."""
    phase_numbers: dict[str, int] = field(default_factory=dict)
    """By the same name, which phase the node begins."""
    phase_nodes: dict[str, list[Node]] = field(default_factory=dict)
    """By the name of a first phase's node, the nodes of all phases, in their order."""
    row_tables: set[str] = field(default_factory=set)
    """The tables whose adjoints are by rows: parameters, and what loops hand on of these."""
    invariant_positions: set[int] = field(default_factory=set)
    """In a loop, the positions of the tables among its variables: those that it hands on as they are."""

    def is_active(self, operand: Operand) -> bool:
        return isinstance(operand, str) and operand in self.varied and operand in self.useful

    def root_and_phase(self, node: Node) -> tuple[Node, int]:
        """The first phase's node of a node with structure, and which phase this one is."""
        return self.root_nodes[node.name], self.phase_numbers[node.name]


def build_region_activity(region: Region) -> RegionActivity:
    """The area of a region, nothing known yet."""
    made = RegionActivity(list(region.phases()))
    for phase in made.phases:
        for node in phase.nodes:
            if node.op in ("cond", "while_loop", "call"):
                made.root_nodes[node.name], made.phase_numbers[node.name], made.phase_nodes[node.name] = node, 0, [node]
                regions = node.regions[1:] if node.op == "while_loop" else node.regions
                made.inner_regions[node.name] = list(map(build_region_activity, regions))
            elif node.op == "pullback":
                of = node.attribute(PULLBACK_TARGET)
                made.root_nodes[node.name], made.phase_numbers[node.name] = (
                    made.root_nodes[of],
                    made.phase_numbers[of] + 1,
                )
                made.phase_nodes[made.root_nodes[of].name].append(node)
    return made


def region_operands(node: Node) -> tuple[Operand, ...]:
    """What goes into the regions of a node, or to the function that it calls."""
    return node.inputs[1:] if node.op == "cond" else node.inputs


def is_differentiable(variable: Var) -> bool:
    """Whether values of its type have adjoints: floats, and handles of cells of floats."""
    return adjoint_type(variable.type) is not None


def adjoint_type(type_: Type) -> Type | None:
    """The type of the adjoint of a value; that of cells is an array of the adjoints of them all."""
    if not isinstance(type_.dtype, HandleType):
        return type_ if type_.dtype.kind == "f" else None
    element = element_type(type_)
    if element.dtype.kind != "f":
        return None
    return Type(element.dtype, None if element.shape is None else (None, *element.shape))


def first_differentiable(variables: Sequence[Var]) -> list[int]:
    """What stands for the active ones where none is: a phase has operands and results, which are zero then."""
    return [at for at, variable in enumerate(variables) if is_differentiable(variable)][:1]


def is_active_node(area: RegionActivity, node: Node) -> bool:
    """Whether a call, cond or loop is to be differentiated: it has been given, and gives, something active."""
    members = area.phase_nodes[area.root_nodes[node.name].name]
    goes_in = any(area.is_active(operand) for each in members for operand in region_operands(each))
    return goes_in and any(area.is_active(result.name) for each in members for result in each.results)


class ActivityAnalysis:
    """What is active in the functions of a program, when some calls are differentiated.

    `active_parameters` and `active_results` have, for each function that is, the positions that are active in any call.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.regions: dict[str, RegionActivity] = {}
        self.active_parameters: dict[str, set[int]] = {}
        self.active_results: dict[str, set[int]] = {}
        self.has_changed = False
        self.visited: dict[tuple[int, int], tuple[int, int]] = {}
        """In this round: with how many varied and useful values each phase of an area was gone through backwards."""

    def request_gradient(self, function: str, parameters: Iterable[int], results: Iterable[int]) -> None:
        """A call of this function is differentiated by these parameters, the adjoints of these results being given."""
        if function not in self.regions:
            self.regions[function] = build_region_activity(self.program[function].body)
            self.active_parameters[function], self.active_results[function] = set(), set()
            self.has_changed = True
        callee = self.program[function]
        made = [Var("", type_) for type_ in callee.results]
        for known, more, among in (
            (self.active_parameters[function], set(parameters), callee.body.parameters),
            (self.active_results[function], set(results), made),
        ):
            before = len(known)
            known.update(more or first_differentiable(among))
            self.has_changed |= len(known) > before

    def analyze_to_fixpoint(self) -> None:
        """Find all that follows: until nothing changes."""
        self.has_changed = True
        while self.has_changed:
            self.has_changed = False
            self.visited.clear()
            for name, area in list(self.regions.items()):
                function = self.program[name]
                self.analyze_function(function, area)

    def analyze_function(self, function: Function, area: RegionActivity) -> None:
        self.mark_varied_parameters(area, 0, self.active_parameters[function.name])
        if function.gradient_rule is not None:
            self.mark(area.useful, [variable.name for variable in rule_parameters(self.program, function).inputs])
        for phase in range(1, len(area.phases)):
            self.mark_varied_parameters(area, phase, range(len(area.phases[phase].parameters)))
        for phase in range(len(area.phases)):
            self.propagate_varied(area, phase)
        for phase in reversed(range(len(area.phases))):
            wanted = range(len(area.phases[phase].results)) if phase else self.active_results[function.name]
            self.mark_useful_results(area, phase, wanted)
            self.propagate_useful(area, phase)

    def mark_varied_parameters(self, area: RegionActivity, phase: int, positions: Iterable[int]) -> None:
        parameters = area.phases[phase].parameters
        self.mark(area.varied, [parameters[at].name for at in positions if is_differentiable(parameters[at])])

    def mark_useful_results(self, area: RegionActivity, phase: int, positions: Iterable[int]) -> None:
        results = area.phases[phase].results
        self.mark(area.useful, [name for at in positions if isinstance(name := results[at], str)])

    def mark(self, known: set[str], more: Iterable[str]) -> None:
        before = len(known)
        known.update(more)
        self.has_changed |= len(known) > before

    def propagate_varied(self, area: RegionActivity, phase: int) -> None:
        """What depends on what varies."""
        for node in area.phases[phase].nodes:
            varied = [isinstance(operand, str) and operand in area.varied for operand in node.inputs]
            if node.name not in area.root_nodes:
                if any(varied) and not has_constant_results(node):
                    self.mark(area.varied, [result.name for result in node.results if is_differentiable(result)])
                continue
            root, number = area.root_and_phase(node)
            positions = [
                at for at, varies in enumerate(varied[len(node.inputs) - len(region_operands(node)) :]) if varies
            ]
            if root.op == "call":
                depends = any(each in area.varied for each in self.call_operands(area, root, number + 1))
                found: Sequence[bool] = [depends] * len(node.results)
            else:
                found = self.propagate_varied_inside(area, root, number, positions)
            pairs = zip(node.results, found, strict=True)
            self.mark(area.varied, [result.name for result, varies in pairs if varies and is_differentiable(result)])

    def call_operands(self, area: RegionActivity, root: Node, number: int) -> list[Operand]:
        """The operands of the phases of a call before this one, as far as they matter."""
        members = area.phase_nodes[root.name]
        counting = self.relevant_operands(root)
        return [
            operand
            for each in members
            if area.phase_numbers[each.name] < number
            for at, operand in enumerate(each.inputs)
            if at in counting or each is not root
        ]

    def relevant_operands(self, call: Node) -> Sequence[int]:
        """The positions of the operands of a call on which its results depend."""
        return relevant_parameters(self.program, self.program[call.attribute("function")])

    def propagate_varied_inside(
        self, area: RegionActivity, root: Node, number: int, positions: list[int]
    ) -> list[bool]:
        """Which results of a phase of a cond or loop vary, these operands of it varying."""
        results: list[bool] = []
        for inner in area.inner_regions[root.name]:
            self.mark_varied_parameters(inner, number, positions)
            self.propagate_varied(inner, number)
            leaving = inner.phases[number].results
            varied = [isinstance(result, str) and result in inner.varied for result in leaving]
            if root.op == "while_loop":
                self.mark_varied_parameters(inner, number, [at for at, varies in enumerate(varied) if varies])
                varied = [each.name in inner.varied for each in inner.phases[number].parameters]
            results = [one or other for one, other in zip(results, varied, strict=True)] if results else varied
        return results

    def propagate_useful(self, area: RegionActivity, phase: int) -> None:
        """What something useful depends on."""
        known = len(area.varied), len(area.useful)
        if self.visited.get((id(area), phase)) == known:
            return  # nothing is new since: to go there again and again takes a time that grows with the depth's power
        self.visited[id(area), phase] = known
        for node in reversed(area.phases[phase].nodes):
            wanted = [at for at, result in enumerate(node.results) if result.name in area.useful]
            if not wanted:
                continue
            if node.name not in area.root_nodes:
                self.mark(area.useful, [operand for operand in node.inputs if isinstance(operand, str)])
                continue
            root, number = area.root_and_phase(node)
            if root.op == "call":
                earlier = self.call_operands(area, root, number + 1)
                self.mark(area.useful, [operand for operand in earlier if isinstance(operand, str)])
                self.request_call_gradient(area, root)
            else:
                self.propagate_useful_inside(area, root, number, wanted)

    def request_call_gradient(self, area: RegionActivity, root: Node) -> None:
        if is_active_node(area, root):
            varied = [at for at in self.relevant_operands(root) if area.is_active(root.inputs[at])]
            useful = [at for at, result in enumerate(root.results) if area.is_active(result.name)]
            self.request_gradient(root.attribute("function"), varied, useful)

    def propagate_useful_inside(self, area: RegionActivity, root: Node, number: int, wanted: list[int]) -> None:
        """What of the operands of a cond or loop, in this phase and those before, its wanted results depend on."""
        members = area.phase_nodes[root.name]
        for inner in area.inner_regions[root.name]:
            self.mark_useful_results(inner, number, wanted)
            if root.op == "while_loop":  # of no trips, what goes in comes out
                self.mark(inner.useful, [inner.phases[number].parameters[at].name for at in wanted])
            for phase in reversed(range(number + 1)):
                self.propagate_useful(inner, phase)
                used = [at for at, each in enumerate(inner.phases[phase].parameters) if each.name in inner.useful]
                if root.op == "while_loop":
                    self.mark_useful_results(inner, phase, used)
                operands = region_operands(members[phase])
                self.mark(area.useful, [name for at in used if isinstance(name := operands[at], str)])


def has_constant_results(node: Node) -> bool:
    """Whether the results of an op are constants, whatever its operands: what is drawn, or says that it is printed."""
    return node.op in EFFECT_OPS and (EFFECT_OPS[node.op].draw is not None or node.op in ("print", "cell_zeros"))
