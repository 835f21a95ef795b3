"""Reversing: the phases of a region, and behind them as many that run its adjoints back.

What is the phases' stays, but for calls, which become calls of split functions. Then, from the last phase to the
first, a phase whose parameters are the adjoints of that phase's active results, and whose results are those of its
active parameters. Adjoints of one value are added in the order in which the reverse pass meets its uses, last first.

What goes back through a node n is called `back_n`, and the adjoint of a value v, or what it is so far, `d_v`; with a
number behind it where there are several, such that `core.names` tells what it goes back through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import Invalid
from ..ops.effect_op import row_of
from ..ops.op import OPS, Op
from ..program.adjoint_names import ADJOINT, BACK, numbered
from ..program.program import PULLED, Function, Location, Node, Operand, Region, Var
from ..types import HandleType, Type
from ..value import Literal, literal
from .activity import Activity, Area, adjoint_type, first_float, is_active_chain, is_float, operands_of
from .cells import CELLS
from .custom_rules import parts_of
from .rows import Rows, adjoint_types, dense, joined, no_rows, opened, otherwise, row_types, taken_rows


class Writer:
    """Writes the nodes of a phase; what gradient rules call ops with. Names are those that the function has not.

    `going` is the beginning of the names of nodes, and what they go back through.
    """

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self.going = BACK, ""
        self.types: dict[str, Type] = {}
        self.nodes: list[Node] = []
        self.location: Location | None = None

    def __call__(self, op: str, *operands: Any, **attributes: Any) -> Operand:
        row = row_of(op)
        alike = operands[slice(*row.alike)] if isinstance(row, Op) else ()
        strong = [self.type(each).dtype for each in alike if isinstance(each, str | Literal)]
        given = [self.operand(each, strong[0] if strong else None) for each in operands]
        made = row.types(*map(self.type, given), **attributes)
        name = self.fresh(*self.going)
        self.add(Node(op, tuple(given), (Var(name, made),), (), tuple(attributes.items()), self.location))
        return name

    def operand(self, given: Any, dtype: Any) -> Operand:
        if isinstance(given, str | Literal):
            return given
        return literal(given, Type(dtype) if dtype is not None and not isinstance(given, bool) else None)

    def type(self, operand: Any) -> Type:
        if isinstance(operand, Literal):
            return operand.type
        return self.types[operand] if isinstance(operand, str) else literal(operand).type

    def add(self, node: Node) -> None:
        self.know(node.results)
        self.nodes.append(node)

    def know(self, variables: Iterable[Var]) -> None:
        self.types.update((variable.name, variable.type) for variable in variables)

    def fresh(self, beginning: str, of: str) -> str:
        name = numbered(beginning, of, self.taken)
        self.taken.add(name)
        return name

    def adjoint(self, of: str) -> str:
        """A name for the adjoint of a value."""
        return self.fresh(ADJOINT, of)

    @contextmanager
    def toward(self, value: str) -> Iterator[None]:
        """What is written meanwhile is the adjoint of a value."""
        before, self.going = self.going, (ADJOINT, value)
        yield
        self.going = before


@dataclass
class Reversal:
    """The reversal of one region: what has been written of it, and the adjoints so far, by the name of the value."""

    area: Area
    parameters: Sequence[int]
    results: Sequence[int]
    """The positions of what is active of the first phase; of further ones all is."""
    given: Sequence[Sequence[Type]]
    """The types of the results of each phase, as they leave."""
    left: dict[int, list[Type]] = field(default_factory=dict)
    """The types of the adjoints that leave, by the phase whose parameters these are of."""
    inner: dict[str, list[Reversal]] = field(default_factory=dict)
    """Of the regions of conds and loops, by the name of the node."""
    phases: list[Region] = field(default_factory=list)
    adjoints: dict[str, Operand] = field(default_factory=dict)
    rows: dict[str, Rows] = field(default_factory=dict)
    """By the name of a table, its adjoint by rows so far."""
    before: dict[str, str] = field(default_factory=dict)
    """By the name of a call's, cond's or loop's node, that of the node that began its last phase so far."""
    ruled: Function | None = None
    """The function whose body this is, if it has a rule."""


class Reverser:
    """Reverses the functions of a program that activity has been found in. `split` names the split variant of one."""

    def __init__(self, activity: Activity, split: Callable[[str], str]) -> None:
        self.activity = activity
        self.split = split

    def function(self, function: Function) -> Function:
        area, body = self.activity.areas[function.name], function.body
        parameters, results = (
            sorted(positions[function.name]) for positions in (self.activity.parameters, self.activity.results)
        )
        taken = {"true", "false", "nan", "inf", *(var.name for node in body.walk() for var in node.results)}
        taken |= _parameters(body)
        returned = [function.returns(phase) for phase in range(len(area.phases))]
        of = Reversal(area, parameters, results, returned, ruled=function if function.rule else None)
        made = self.region(of, Writer(taken))
        of.left[0] = opened(area, [body.parameters[at] for at in parameters], of.left[0])
        returned += [tuple(of.left[phase]) for phase in reversed(range(len(area.phases)))]
        return replace(function, name=self.split(function.name), body=made, pullbacks=tuple(returned[1:]))

    def region(self, of: Reversal, writer: Writer) -> Region:
        """The region with twice its phases."""
        for phase in of.area.phases:
            writer.know(phase.parameters)
            nodes = tuple(self.forward(of, node, writer) for node in phase.nodes)
            of.phases.append(replace(phase, nodes=nodes, pullback=None))
        for number in reversed(range(len(of.area.phases))):
            of.phases.append(self.back(of, number, writer))
        made: Region | None = None
        for phase in reversed(of.phases):
            made = replace(phase, pullback=made)
        assert made is not None
        return made

    def forward(self, of: Reversal, node: Node, writer: Writer) -> Node:
        """A node of the region, such that it has further phases if it is active."""
        writer.know(node.results)
        if node.name not in of.area.root or not is_active_chain(of.area, node):
            return node
        root, place = of.area.chain(node)
        of.before[root.name] = node.name
        if place:
            return node
        if node.op == "call":
            others = [pair for pair in node.attributes if pair[0] != "function"]
            return replace(node, attributes=(("function", self.split(node.attribute("function"))), *others))
        outer, masks = writer.types, self.masks(of.area, root, 0)
        inner = of.inner[root.name] = [
            Reversal(area, *masks, self.leaving(of.area, root, area)) for area in of.area.inner[root.name]
        ]
        regions = list(node.regions[: len(node.regions) - len(inner)])
        for each in inner:
            writer.types = {}
            regions.append(self.region(each, writer))
        writer.types = outer
        return replace(node, regions=tuple(regions))

    def leaving(self, area: Area, root: Node, inner: Area) -> list[list[Type]]:
        """The types of what a region of a cond or loop yields, phase by phase, as the node has them."""
        if root.op == "while_loop":
            return [[variable.type for variable in phase.parameters] for phase in inner.phases]
        return [[result.type for result in self.member(area, root, at).results] for at in range(len(inner.phases))]

    def member(self, area: Area, root: Node, number: int) -> Node:
        """The node that begins a phase of a call, cond or loop."""
        return area.members[root.name][number]

    def masks(self, area: Area, root: Node, phase: int) -> tuple[list[int], list[int]]:
        """The positions of the active operands, and results, of a phase of a call, cond or loop."""
        if phase:
            node = self.member(area, root, phase)
            return list(range(len(operands_of(node)))), list(range(len(node.results)))
        if root.op == "call":
            name = root.attribute("function")
            return sorted(self.activity.parameters[name]), sorted(self.activity.results[name])
        inner = area.inner[root.name]
        taken = [
            at
            for at in range(len(operands_of(root)))
            if any(i.is_active(i.phases[0].parameters[at].name) for i in inner)
        ]
        taken = taken or first_float(inner[0].phases[0].parameters)
        if root.op == "while_loop":
            return taken, taken
        given = [at for at, result in enumerate(root.results) if area.is_active(result.name)]
        return taken, given or first_float(root.results)

    def back(self, of: Reversal, number: int, writer: Writer) -> Region:
        """The phase that runs the adjoints of a phase back."""
        phase = of.area.phases[number]
        outer, writer.nodes, writer.going = writer.nodes, [], (BACK, "")
        variables = [
            variable
            for at in (range(len(phase.results)) if number else of.results)
            for variable in self.given(of, number, at, writer)
        ]
        if of.ruled is not None and not number:
            self.rule(of, of.ruled, dict(zip(of.results, variables, strict=True)), writer)
        for node in reversed(phase.nodes):
            writer.location, writer.going = node.location, (BACK, node.name)
            self.node(of, node, writer)
        chosen = phase.parameters if number else [phase.parameters[at] for at in of.parameters]
        writer.location = None
        results = tuple(each for var in chosen for each in self.adjoints(of, var, writer))
        of.left[number] = list(map(writer.type, results))
        made, writer.nodes = writer.nodes, outer
        return Region(tuple(variables), tuple(made), results)

    def given(self, of: Reversal, number: int, at: int, writer: Writer) -> list[Var]:
        """The parameters by which the adjoint of a result comes in: one, or by rows two."""
        result, type_ = of.area.phases[number].results[at], of.given[number][at]
        is_by_rows = not number and at in of.area.unchanged
        types = row_types(type_) if is_by_rows else (adjoint_type(type_) or type_,)
        variables = [Var(writer.adjoint(result if isinstance(result, str) else "result"), each) for each in types]
        writer.know(variables)
        if is_by_rows:
            self.contribute_rows(of, str(result), Rows(*(each.name for each in variables)), writer)
        else:
            self.contribute(of, result, variables[0].name, writer)
        return variables

    def rule(self, of: Reversal, function: Function, given: Mapping[int, Var], writer: Writer) -> None:
        """The adjoints by the rule of a function that has one, those of its active results being given."""
        parts, rule = parts_of(self.activity.program, function), str(function.rule)
        floats = [at for at, variable in enumerate(parts.made) if is_float(variable)]
        adjoints = [given[at].name if at in given else self.zero(parts.made[at].name, writer) for at in floats]
        closed = [variable.name for variable in parts.closed]
        results = tuple(Var(writer.adjoint(variable.name), variable.type) for variable in parts.by)
        call = Node("call", (*closed, *adjoints), results, (), (("function", rule),), function.location)
        writer.add(call)
        for variable, result in zip(parts.by, results, strict=True):
            self.contribute(of, variable.name, result.name, writer)

    def contribute(self, of: Reversal, operand: Operand, adjoint: Operand, writer: Writer) -> None:
        """Add to the adjoint of a value, where it has one."""
        if isinstance(operand, str) and of.area.is_active(operand):
            if operand in of.area.rows:
                raise otherwise(operand, writer.going[1] or "the result", writer.location)
            known = of.adjoints.get(operand)
            with writer.toward(operand):
                of.adjoints[operand] = adjoint if known is None else writer("add", known, adjoint)

    def contribute_rows(self, of: Reversal, table: str, adjoint: Rows, writer: Writer) -> None:
        """Add to the adjoint of a table by rows."""
        known = of.rows.get(table)
        with writer.toward(table):
            of.rows[table] = adjoint if known is None else joined(writer, known, adjoint)

    def adjoint(self, of: Reversal, name: str, writer: Writer) -> Operand:
        """The adjoint of a value, all uses having been met; zero where there are none."""
        return of.adjoints[name] if name in of.adjoints else self.zero(name, writer)

    def adjoints(self, of: Reversal, variable: Var, writer: Writer) -> tuple[Operand, ...]:
        """The adjoint of a value, as it leaves: one value of its shape, or by rows two."""
        if variable.name not in of.area.rows:
            return (self.fitting(self.adjoint(of, variable.name, writer), variable, writer),)
        with writer.toward(variable.name):
            return tuple(of.rows.get(variable.name) or no_rows(writer, variable.name))

    def zero(self, name: str, writer: Writer) -> Operand:
        type_ = writer.type(name)
        if isinstance(type_.dtype, HandleType):
            with writer.toward(name):
                return writer("cell_zeros", name)
        zero = literal(0.0 if is_float(Var(name, type_)) else 0, Type(type_.dtype))
        if type_.is_scalar:
            return zero
        with writer.toward(name):
            return writer("broadcast_like", zero, name)

    def fitting(self, adjoint: Operand, variable: Var, writer: Writer) -> Operand:
        """The adjoint with the shape of its value, as far as types know."""
        if isinstance(variable.type.dtype, HandleType):
            return adjoint
        if variable.type.admits(writer.type(adjoint)):
            return adjoint
        with writer.toward(variable.name):
            return writer("sum_like", adjoint, variable.name)

    def node(self, of: Reversal, node: Node, writer: Writer) -> None:
        """The adjoints of a node's operands, from those of its results."""
        if node.name in of.area.root:
            if is_active_chain(of.area, node):
                self.chain(of, node, writer)
            return
        if node.name not in of.adjoints or not any(map(of.area.is_active, node.inputs)):
            return
        if node.op == "get":
            handle, index = str(node.inputs[0]), node.inputs[1]
            known = self.adjoint(of, handle, writer)
            of.adjoints[handle] = writer("scatter_add", known, of.adjoints[node.name], index)
            return
        if node.op in CELLS:
            for operand, made in CELLS[node.op](writer, of.adjoints[node.name], node.inputs):
                self.contribute(of, operand, made, writer)
            return
        rule = OPS[node.op].gradient if node.op in OPS else None
        if rule is None:
            raise Invalid(
                f"{node.op} cannot be differentiated",
                rule="D1",
                where=node.location or node.name,
                hint="tl.stop_gradient(x) takes a value for a constant",
            )
        for at, operand in enumerate(node.inputs):
            if of.area.is_active(operand):
                if operand in of.area.rows and (taken := taken_rows(writer, node, of.adjoints[node.name])):
                    self.contribute_rows(of, str(operand), taken, writer)
                    continue
                given = of.adjoints[node.name], node.name, *node.inputs
                made = rule(writer, at, *given, **dict(node.attributes))
                if made is not None:
                    broadcast = OPS[node.op].scalar is not None
                    made = self.summed(made, operand, writer) if broadcast else made
                    self.contribute(of, operand, made, writer)

    def summed(self, adjoint: Operand, operand: Operand, writer: Writer) -> Operand:
        """What an op that broadcasts gives, summed to the shape of its operand."""
        shape, wanted = writer.type(adjoint).shape, writer.type(operand).shape
        is_same = shape == wanted and shape is not None and None not in shape
        return adjoint if is_same else writer("sum_like", adjoint, operand)

    def chain(self, of: Reversal, node: Node, writer: Writer) -> None:
        """The pullback of a call, cond or loop, or of a pullback of one."""
        root, number = of.area.chain(node)
        taken, given = self.masks(of.area, root, number)
        operands = operands_of(node)
        inputs = tuple(each for at in given for each in self.adjoints(of, node.results[at], writer))
        types, area = self.made(of, root, number, taken), self.below(of, root)
        results = tuple(Var(writer.fresh(BACK, node.name), type_) for type_ in types)
        writer.add(Node("pullback", inputs, results, (), ((PULLED, of.before[root.name]),), node.location))
        of.before[root.name] = results[0].name
        rest = iter(results)
        for at in taken:
            if area.phases[number].parameters[at].name in area.rows:
                self.hand_back(of, operands[at], Rows(next(rest).name, next(rest).name), writer)
            else:
                self.contribute(of, operands[at], next(rest).name, writer)

    def hand_back(self, of: Reversal, operand: Operand, adjoint: Rows, writer: Writer) -> None:
        """Add what a call or branch gives by rows to the adjoint of what it was given."""
        if operand in of.area.rows:
            self.contribute_rows(of, str(operand), adjoint, writer)
        elif of.area.is_active(operand):
            self.contribute(of, operand, dense(writer, adjoint, operand), writer)

    def below(self, of: Reversal, root: Node) -> Area:
        """What a call, cond or loop runs; of two branches the first."""
        if root.op == "call":
            return self.activity.areas[root.attribute("function")]
        return of.area.inner[root.name][0]

    def made(self, of: Reversal, root: Node, number: int, taken: Sequence[int]) -> list[Type]:
        """The types of the adjoints of the operands of a phase."""
        if root.op == "cond":
            one, other = (inner.left[number] for inner in of.inner[root.name])
            return [mine.join(theirs) or mine for mine, theirs in zip(one, other, strict=True)]
        area = self.below(of, root)
        return [type_ for at in taken for type_ in adjoint_types(area, area.phases[number].parameters[at])]


def _parameters(region: Region) -> set[str]:
    """The names of parameters, in all regions."""
    found = {variable.name for phase in region.phases() for variable in phase.parameters}
    for phase in region.phases():
        for node in phase.nodes:
            for inner in node.regions:
                found |= _parameters(inner)
    return found
