"""Activity: which values an adjoint is wanted of. A float is active that depends on what is differentiated by, and on
which what is differentiated depends.

What is found of a function holds for all of its calls that are differentiated: it gets one split variant. Of a call all
results are taken to depend on all operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..ops.effect_op import ACTS
from ..program.program import PULLED, Function, Node, Operand, Program, Region, Var
from ..types import HandleType, Type, element_type
from .custom_rules import mattering, parts_of


@dataclass(eq=False)
class Area:
    """A region with its phases, and the regions of its conds and loops, by the name of their first phase's node."""

    phases: list[Region]
    varied: set[str] = field(default_factory=set)
    useful: set[str] = field(default_factory=set)
    inner: dict[str, list[Area]] = field(default_factory=dict)
    root: dict[str, Node] = field(default_factory=dict)
    """By the name of a node with structure, that of the first phase: itself, for a cond, a loop or a call."""
    place: dict[str, int] = field(default_factory=dict)
    """By the same name, which phase the node begins."""
    members: dict[str, list[Node]] = field(default_factory=dict)
    """By the name of a first phase's node, the nodes of all phases, in their order."""
    rows: set[str] = field(default_factory=set)
    """The tables whose adjoints are by rows: parameters, and what loops hand on of these."""
    unchanged: set[int] = field(default_factory=set)
    """In a loop, the positions of the tables among its variables: those that it hands on as they are."""

    def is_active(self, operand: Operand) -> bool:
        return isinstance(operand, str) and operand in self.varied and operand in self.useful

    def chain(self, node: Node) -> tuple[Node, int]:
        """The first phase's node of a node with structure, and which phase this one is."""
        return self.root[node.name], self.place[node.name]


def area_of(region: Region) -> Area:
    """The area of a region, nothing known yet."""
    made = Area(list(region.phases()))
    for phase in made.phases:
        for node in phase.nodes:
            if node.op in ("cond", "while_loop", "call"):
                made.root[node.name], made.place[node.name], made.members[node.name] = node, 0, [node]
                regions = node.regions[1:] if node.op == "while_loop" else node.regions
                made.inner[node.name] = list(map(area_of, regions))
            elif node.op == "pullback":
                of = node.attribute(PULLED)
                made.root[node.name], made.place[node.name] = made.root[of], made.place[of] + 1
                made.members[made.root[of].name].append(node)
    return made


def operands_of(node: Node) -> tuple[Operand, ...]:
    """What goes into the regions of a node, or to the function that it calls."""
    return node.inputs[1:] if node.op == "cond" else node.inputs


def is_float(variable: Var) -> bool:
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


def first_float(variables: Sequence[Var]) -> list[int]:
    """What stands for the active ones where none is: a phase has operands and results, which are zero then."""
    return [at for at, variable in enumerate(variables) if is_float(variable)][:1]


def is_active_chain(area: Area, node: Node) -> bool:
    """Whether a call, cond or loop is to be differentiated: it has been given, and gives, something active."""
    members = area.members[area.root[node.name].name]
    goes_in = any(area.is_active(operand) for each in members for operand in operands_of(each))
    return goes_in and any(area.is_active(result.name) for each in members for result in each.results)


class Activity:
    """What is active in the functions of a program, when some calls are differentiated.

    `parameters` and `results` have, for each function that is, the positions that are active in any call.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.areas: dict[str, Area] = {}
        self.parameters: dict[str, set[int]] = {}
        self.results: dict[str, set[int]] = {}
        self.changed = False
        self.visited: dict[tuple[int, int], tuple[int, int]] = {}
        """In this round: with how many varied and useful values each phase of an area was gone through backwards."""

    def want(self, function: str, parameters: Iterable[int], results: Iterable[int]) -> None:
        """A call of this function is differentiated by these parameters, the adjoints of these results being given."""
        if function not in self.areas:
            self.areas[function] = area_of(self.program[function].body)
            self.parameters[function], self.results[function] = set(), set()
            self.changed = True
        callee = self.program[function]
        made = [Var("", type_) for type_ in callee.results]
        for known, more, among in (
            (self.parameters[function], set(parameters), callee.body.parameters),
            (self.results[function], set(results), made),
        ):
            before = len(known)
            known.update(more or first_float(among))
            self.changed |= len(known) > before

    def settle(self) -> None:
        """Find all that follows: until nothing changes."""
        self.changed = True
        while self.changed:
            self.changed = False
            self.visited.clear()
            for name, area in list(self.areas.items()):
                function = self.program[name]
                self.function(function, area)

    def function(self, function: Function, area: Area) -> None:
        self.enter(area, 0, self.parameters[function.name])
        if function.rule is not None:
            self.add(area.useful, [variable.name for variable in parts_of(self.program, function).by])
        for phase in range(1, len(area.phases)):
            self.enter(area, phase, range(len(area.phases[phase].parameters)))
        for phase in range(len(area.phases)):
            self.forwards(area, phase)
        for phase in reversed(range(len(area.phases))):
            wanted = range(len(area.phases[phase].results)) if phase else self.results[function.name]
            self.leave(area, phase, wanted)
            self.backwards(area, phase)

    def enter(self, area: Area, phase: int, positions: Iterable[int]) -> None:
        parameters = area.phases[phase].parameters
        self.add(area.varied, [parameters[at].name for at in positions if is_float(parameters[at])])

    def leave(self, area: Area, phase: int, positions: Iterable[int]) -> None:
        results = area.phases[phase].results
        self.add(area.useful, [name for at in positions if isinstance(name := results[at], str)])

    def add(self, known: set[str], more: Iterable[str]) -> None:
        before = len(known)
        known.update(more)
        self.changed |= len(known) > before

    def forwards(self, area: Area, phase: int) -> None:
        """What depends on what varies."""
        for node in area.phases[phase].nodes:
            varied = [isinstance(operand, str) and operand in area.varied for operand in node.inputs]
            if node.name not in area.root:
                if any(varied) and not depends_on_nothing(node):
                    self.add(area.varied, [result.name for result in node.results if is_float(result)])
                continue
            root, number = area.chain(node)
            positions = [at for at, varies in enumerate(varied[len(node.inputs) - len(operands_of(node)) :]) if varies]
            if root.op == "call":
                depends = any(each in area.varied for each in self.given(area, root, number + 1))
                found: Sequence[bool] = [depends] * len(node.results)
            else:
                found = self.forwards_below(area, root, number, positions)
            pairs = zip(node.results, found, strict=True)
            self.add(area.varied, [result.name for result, varies in pairs if varies and is_float(result)])

    def given(self, area: Area, root: Node, number: int) -> list[Operand]:
        """The operands of the phases of a call before this one, as far as they matter."""
        members = area.members[root.name]
        counting = self.mattering(root)
        return [
            operand
            for each in members
            if area.place[each.name] < number
            for at, operand in enumerate(each.inputs)
            if at in counting or each is not root
        ]

    def mattering(self, call: Node) -> Sequence[int]:
        """The positions of the operands of a call on which its results depend."""
        return mattering(self.program, self.program[call.attribute("function")])

    def forwards_below(self, area: Area, root: Node, number: int, positions: list[int]) -> list[bool]:
        """Which results of a phase of a cond or loop vary, these operands of it varying."""
        results: list[bool] = []
        for inner in area.inner[root.name]:
            self.enter(inner, number, positions)
            self.forwards(inner, number)
            leaving = inner.phases[number].results
            varied = [isinstance(result, str) and result in inner.varied for result in leaving]
            if root.op == "while_loop":
                self.enter(inner, number, [at for at, varies in enumerate(varied) if varies])
                varied = [each.name in inner.varied for each in inner.phases[number].parameters]
            results = [one or other for one, other in zip(results, varied, strict=True)] if results else varied
        return results

    def backwards(self, area: Area, phase: int) -> None:
        """What something useful depends on."""
        known = len(area.varied), len(area.useful)
        if self.visited.get((id(area), phase)) == known:
            return  # nothing is new since: to go there again and again takes a time that grows with the depth's power
        self.visited[id(area), phase] = known
        for node in reversed(area.phases[phase].nodes):
            wanted = [at for at, result in enumerate(node.results) if result.name in area.useful]
            if not wanted:
                continue
            if node.name not in area.root:
                self.add(area.useful, [operand for operand in node.inputs if isinstance(operand, str)])
                continue
            root, number = area.chain(node)
            if root.op == "call":
                earlier = self.given(area, root, number + 1)
                self.add(area.useful, [operand for operand in earlier if isinstance(operand, str)])
                self.want_call(area, root)
            else:
                self.backwards_below(area, root, number, wanted)

    def want_call(self, area: Area, root: Node) -> None:
        if is_active_chain(area, root):
            varied = [at for at in self.mattering(root) if area.is_active(root.inputs[at])]
            useful = [at for at, result in enumerate(root.results) if area.is_active(result.name)]
            self.want(root.attribute("function"), varied, useful)

    def backwards_below(self, area: Area, root: Node, number: int, wanted: list[int]) -> None:
        """What of the operands of a cond or loop, in this phase and those before, its wanted results depend on."""
        members = area.members[root.name]
        for inner in area.inner[root.name]:
            self.leave(inner, number, wanted)
            if root.op == "while_loop":  # of no trips, what goes in comes out
                self.add(inner.useful, [inner.phases[number].parameters[at].name for at in wanted])
            for phase in reversed(range(number + 1)):
                self.backwards(inner, phase)
                used = [at for at, each in enumerate(inner.phases[phase].parameters) if each.name in inner.useful]
                if root.op == "while_loop":
                    self.leave(inner, phase, used)
                operands = operands_of(members[phase])
                self.add(area.useful, [name for at in used if isinstance(name := operands[at], str)])


def depends_on_nothing(node: Node) -> bool:
    """Whether the results of an op are constants, whatever its operands: what is drawn, or says that it is printed."""
    return node.op in ACTS and (ACTS[node.op].draw is not None or node.op in ("print", "cell_zeros"))
