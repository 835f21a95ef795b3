"""A view of a program: each function a cluster; in it each cond and each while a cluster, with one for each region.

A region sees nothing but its parameters, yet they are no nodes here: an edge comes straight from the value that a
parameter stands for. A cond is a decision, two regions that yield, and a merge for each result. A while is a merge
for each variable, a region that ends in a decision, a region that yields the next variables, and an exit for each
result that is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

from ..core.program import Function, Location, Node, Operand, Program, Region, Var
from ..core.value import Literal
from .style import kind_of
from .view import Cluster, Link, View
from .words import formula, titled


class _Drawn(NamedTuple):
    """A value in the picture: the node that makes it ("" where nothing does), and what it is called there."""

    node: str
    name: str
    type: object = ""

    def __str__(self) -> str:
        return self.name


_Value: TypeAlias = _Drawn | Literal
_Values: TypeAlias = dict[str, _Value]


def program_view(program: Program) -> View:
    """The view of a valid program, its entry first: each node once, each use once, the same text every time.

    Functions are called f0, f1, ...; node k of f0, in program order, is f0n<k>; what a cond or a while has besides
    its decision is f0n<k>_<word><j>; parameters are f0p<j>, results f0r<j>. The class of an edge is data, predicate,
    control or back; where it has `dir=back`, its arrow points from head to tail.
    """
    view = View(program.entry)
    functions = sorted(program.functions, key=lambda function: function.name != program.entry)
    for number, function in enumerate(functions):
        _Sketch(view, f"f{number}", function.name).function(function)
    return view


class _Sketch:
    """Draws one function. Its methods draw parts of it, each into the cluster it is given."""

    def __init__(self, view: View, name: str, title: str) -> None:
        self.view = view
        self.name, self.title = name, title
        self.nodes = 0

    def function(self, function: Function) -> None:
        cluster = self.view.outside.cluster(
            "function", function.name, f"function {function.name}{_at(function.location)}", function.name
        )
        values: _Values = {}
        for number, parameter in enumerate(function.body.parameters):
            name = f"{self.name}p{number}"
            cluster.box(name, "argument", parameter.name, tooltip=f"parameter {parameter.name}: {parameter.type}")
            cluster.level.append(name)
            values[parameter.name] = _Drawn(name, *parameter)
        for number, result in enumerate(self.region(cluster, function.body, values)):
            cluster.box(f"{self.name}r{number}", "result", f"return {result}", tooltip=f"result {number}")
            self.uses(f"{self.name}r{number}", [result])

    def region(self, cluster: Cluster, region: Region, values: _Values) -> list[_Value]:
        """Draw the nodes of a region; its results."""
        known = dict(values)
        used = set(chain(region.results, *(node.inputs for node in region.nodes)))
        for node in region.nodes:
            name = f"{self.name}n{self.nodes}"
            self.nodes += 1
            operands = [_value(known, operand) for operand in node.inputs]
            match node.op:
                case "cond":
                    made = self.cond(cluster, name, node, operands)
                case "while_loop":
                    made = self.while_loop(cluster, name, node, operands, used)
                case _:
                    made = self.ordinary(cluster, name, node, operands)
            known.update(zip((result.name for result in node.results), made, strict=False))
        return [_value(known, result) for result in region.results]

    def ordinary(self, cluster: Cluster, name: str, node: Node, operands: Sequence[_Value]) -> list[_Drawn]:
        attributes = dict(node.attributes)
        op = str(attributes.pop("function", "?")) if node.op == "call" else node.op
        text = formula(op, list(map(str, operands)), tuple(attributes.items()))
        cluster.box(name, kind_of(node.op), text, node.name, _about(node))
        self.uses(name, operands)
        return [_Drawn(name, *result) for result in node.results]

    def cond(self, cluster: Cluster, name: str, node: Node, operands: Sequence[_Value]) -> list[_Drawn]:
        outer = cluster.cluster("cond", titled("cond", node.name), _about(node))
        self.decision(outer, name, node, operands[0])
        yielded = []
        for word, mark, region in zip(("then", "else"), "TF", node.regions, strict=True):
            inner = outer.cluster("branch", word, f"{word} of {node.name}")
            leaving = []
            for number, value in enumerate(self.region(inner, region, _bound(region, operands[1:]))):
                leaving.append(_Drawn(f"{name}_{word}{number}", str(value), value.type))
                inner.box(leaving[-1].node, "result", f"yield {value}", tooltip=f"result {number} of {word}")
                self.uses(leaving[-1].node, [value])
            yielded.append(leaving)
            self.control(name, inner, mark)
        made = []
        for number, (result, *sides) in enumerate(zip(node.results, *yielded, strict=False)):
            made.append(_Drawn(f"{name}_merge{number}", *result))
            outer.box(made[-1].node, "merge", result.name, "merge", f"{result.name}: {result.type}")
            self.uses(made[-1].node, sides)
        return made

    def while_loop(
        self, cluster: Cluster, name: str, node: Node, operands: Sequence[_Value], used: set[Operand]
    ) -> list[_Drawn]:
        condition, body = node.regions
        outer = cluster.cluster("loop", titled("while", node.name), _about(node), f"{self.title}.{node.name}")
        variables = [
            self.variable(outer, f"{name}_variable{number}", parameter, start)
            for number, (parameter, start) in enumerate(zip(body.parameters, operands, strict=False))
        ]
        deciding = outer.cluster("part", "while", f"condition of {node.name}")
        (decided,) = self.region(deciding, condition, _bound(condition, variables))
        self.decision(deciding, name, node, decided)
        going = outer.cluster("part", "do", f"body of {node.name}")
        following = self.region(going, body, _bound(body, variables))
        for number, (variable, value) in enumerate(zip(variables, following, strict=False)):
            again = f"{name}_next{number}"
            text = f"next {variable}" if isinstance(value, _Drawn) else f"next {variable} = {value}"
            going.box(again, "next_iteration", text, tooltip=f"next {variable}: {variable.type}")
            self.uses(again, [value])
            self.view.arrow(again, variable.node, "back", tooltip=str(variable.type), turned=True)
        self.control(name, going, "T")
        return self.exits(outer, name, node, variables, used)

    def exits(
        self, cluster: Cluster, name: str, node: Node, variables: Sequence[_Drawn], used: set[Operand]
    ) -> list[_Drawn]:
        """The results of a while; those that nothing uses are not drawn."""
        made = []
        for number, (variable, result) in enumerate(zip(variables, node.results, strict=False)):
            made.append(_Drawn(f"{name}_exit{number}", *result))
            if result.name in used:
                cluster.box(made[-1].node, "exit", f"exit {variable}", result.name, f"{result.name}: {result.type}")
                self.uses(made[-1].node, [variable])
                self.view.arrow(name, made[-1].node, "control", "F")
        return made

    def variable(self, cluster: Cluster, name: str, parameter: Var, start: _Value) -> _Drawn:
        """A loop variable, with what it starts from."""
        text = f"{parameter.name} = {start}" if isinstance(start, Literal) else parameter.name
        cluster.box(name, "merge", text, "merge", f"loop variable {parameter.name}: {parameter.type}")
        cluster.level.append(name)
        self.uses(name, [start])
        return _Drawn(name, *parameter)

    def decision(self, cluster: Cluster, name: str, node: Node, pred: _Value) -> None:
        cluster.box(name, "switch", f"{pred}?", node.op, _about(node))
        self.uses(name, [pred], "predicate")

    def uses(self, name: str, operands: Sequence[_Value], link: Link = "data") -> None:
        """An edge for each operand of a node; literals have none."""
        for port, operand in enumerate(operands):
            if isinstance(operand, _Drawn) and operand.node:
                self.view.arrow(operand.node, name, link, tooltip=f"{operand.type}, to port {port}", port=port)

    def control(self, name: str, cluster: Cluster, label: str) -> None:
        """An edge from a decision to the region that it lets run, all of which is kept below it."""
        inside = [*cluster.boxes, *chain.from_iterable(inner.boxes for inner in cluster.clusters)]
        for number, node in enumerate(inside):
            if number == 0:
                self.view.arrow(name, node, "control", label, into=cluster.name)
            else:
                self.view.above.append((name, node))


def _value(known: _Values, operand: Operand) -> _Value:
    """A value by name; a name that stands for nothing is written on the nodes that use it, all the same."""
    return operand if isinstance(operand, Literal) else known.get(operand, _Drawn("", f"{operand}?"))


def _bound(region: Region, operands: Sequence[_Value]) -> _Values:
    """What the parameters of a region stand for."""
    return dict(zip((parameter.name for parameter in region.parameters), operands, strict=False))


def _about(node: Node) -> str:
    types = ", ".join(str(result.type) for result in node.results)
    return f"{node.name}: {node.op} -> {types}{_at(node.location)}"


def _at(location: Location | None) -> str:
    return f" ({location})" if location else ""
