"""A view of a program: a cluster for each function, inside it one for each cond and while, and inside these one for
each region.

A region accesses only its parameters, but these are not boxes here: an edge comes directly from the value that is bound
to a parameter. A cond is a predicate, two regions that yield, and a merge for each result. A while is a merge for each
variable, a region that ends in a predicate, a region that yields the next variables, and an exit for each used result.

The pullback of a region is a cluster inside that of the region's first phase, whose values it uses. The `pullback` node
that starts it is a box in its own region, joined to the node whose next phase it runs; edges lead from that box to the
uses of the pullback's parameters. The results of a call's pullback are outputs of that box, the results of a cond's
pullback are merges beside it, and the results of a while's pullback are exits of its variables. These variables go from
iteration to iteration through back boxes, or, in a phase that runs forwards again, through next boxes as in the first
phase.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

from ..core.program.program import PULLBACK_TARGET, FunctionDef, Location, Node, Operand, Program, Region, Var
from ..core.value import Literal
from .labels import cluster_title, formula, phase_title
from .style import kind_of
from .view import Cluster, LinkKind, View


class _DrawnValue(NamedTuple):
    """A value in the picture: the box whose output it is ("" if there is none), its name, and its type."""

    node: str
    name: str
    type: object = ""

    def __str__(self) -> str:
        return self.name


_Value: TypeAlias = _DrawnValue | Literal
_Values: TypeAlias = dict[str, _Value]


def program_view(program: Program) -> View:
    """The view of a valid program, its entry first: each node and each use once; the same program gives the same view.

    Functions are called f0, f1, ...; node k of f0, in sequential order, is f0n<k>; the other boxes of a cond or a while
    are f0n<k>_<word><j>; parameters are f0p<j>, results f0r<j>, and those of phase q f0p<j>_<q> and f0r<j>_<q>. The
    kind of an edge is data, predicate, control, call, back or before.
    """
    view = View(program.entry, is_static=True)
    functions = sorted(program.functions, key=lambda function: function.name != program.entry)
    for number, function in enumerate(functions):
        _FunctionDrawer(view, f"f{number}", function.name).draw_function(function)
    return view


_PhaseDrawer: TypeAlias = Callable[[Cluster, str, Node, Sequence[_Value], set[Operand]], list[_DrawnValue]]
"""Draws the phase that a `pullback` node starts, given its cluster, its name, the node, its operands, and the values
used in its region."""


class _RegionDrawing(NamedTuple):
    """A drawn region: its cluster and the values in its scope, which the next phase can use too."""

    cluster: Cluster
    values: _Values
    next_phase: Region | None
    phase: int = 1


class _FunctionDrawer:
    """Draws one function. Each method draws a part of it into a given cluster."""

    def __init__(self, view: View, name: str, title: str) -> None:
        self.view = view
        self.name, self.title = name, title
        self.node_count = 0
        self.phase_drawers: dict[str, tuple[str, _PhaseDrawer]] = {}
        """The box of each node and the drawer of its next phase, by the node's name."""

    def draw_function(self, function: FunctionDef) -> None:
        cluster = self.view.root.add_cluster(
            "function", function.name, f"function {function.name}{_describe_location(function.location)}", function.name
        )
        drawing: _RegionDrawing | None = _RegionDrawing(cluster, {}, function.body, 0)
        while drawing is not None and drawing.next_phase is not None:
            drawing = self.draw_phase(drawing)

    def draw_phase(self, drawing: _RegionDrawing) -> _RegionDrawing:
        """Draw a phase of the function: the first in its cluster, each later one in a cluster inside it."""
        cluster, _, region, phase = drawing
        assert region is not None
        inner, suffix = cluster, ""
        if phase:
            inner, suffix = (
                cluster.add_cluster("pullback", phase_title(phase), f"{phase_title(phase)} of {self.title}"),
                f"_{phase}",
            )
        values: _Values = dict(drawing.values)
        for number, parameter in enumerate(region.parameters):
            name = f"{self.name}p{number}{suffix}"
            inner.add_box(name, "argument", parameter.name, tooltip=f"parameter {parameter.name}: {parameter.type}")
            inner.same_rank.append(name)
            values[parameter.name] = _DrawnValue(name, *parameter)
        results, scope = self.draw_region(inner, region, values)
        for number, result in enumerate(results):
            name = f"{self.name}r{number}{suffix}"
            inner.add_box(name, "result", f"return {result}", tooltip=f"result {number}")
            self.add_operand_arrows(name, [result])
        return _RegionDrawing(cluster, scope, region.pullback, phase + 1)

    def draw_region(self, cluster: Cluster, region: Region, values: _Values) -> tuple[list[_Value], _Values]:
        """Draw the nodes of a phase of a region; returns its results and all values in scope at its end."""
        scope = dict(values)
        phases = list(region.phases())
        used_operands = set(
            chain(*(phase.results for phase in phases), *(node.inputs for phase in phases for node in phase.nodes))
        )
        for node in region.nodes:
            name = f"{self.name}n{self.node_count}"
            self.node_count += 1
            operands = [lookup_value(scope, operand) for operand in node.inputs]
            match node.op:
                case "cond":
                    results = self.draw_cond(cluster, name, node, operands)
                case "while_loop":
                    results = self.draw_while_loop(cluster, name, node, operands, used_operands)
                case "pullback":
                    results = self.draw_pullback(cluster, name, node, operands, used_operands)
                case _:
                    results = self.draw_op(cluster, name, node, operands)
                    if node.op == "call":
                        self.phase_drawers[node.name] = name, self.draw_call_phase
            scope.update(zip((result.name for result in node.results), results, strict=False))
        return [lookup_value(scope, result) for result in region.results], scope

    def draw_pullback(
        self, cluster: Cluster, name: str, node: Node, operands: Sequence[_Value], used_operands: set[Operand]
    ) -> list[_DrawnValue]:
        """Draw the box of a `pullback` node, joined to the node whose next phase it starts, and this phase."""
        target = str(dict(node.attributes).get(PULLBACK_TARGET, "?"))
        text = f"pullback {target}({', '.join(map(str, operands))})"
        cluster.add_box(name, "pullback", text, node.name, _describe_node(node))
        self.add_operand_arrows(name, operands)
        if target not in self.phase_drawers:
            return [_DrawnValue(name, *result) for result in node.results]
        target_box, draw = self.phase_drawers[target]
        self.view.add_arrow(target_box, name, "call", tooltip=f"the next phase of {target}")
        self.phase_drawers[node.name] = name, draw
        return draw(cluster, name, node, operands, used_operands)

    def draw_call_phase(
        self, cluster: Cluster, name: str, node: Node, operands: Sequence[_Value], used_operands: set[Operand]
    ) -> list[_DrawnValue]:
        """Draw a later phase of a call; returns its results."""
        return [_DrawnValue(name, *result) for result in node.results]

    def draw_op(self, cluster: Cluster, name: str, node: Node, operands: Sequence[_Value]) -> list[_DrawnValue]:
        attributes = dict(node.attributes)
        op = str(attributes.pop("function", "?")) if node.op == "call" else node.op
        text = formula(op, list(map(str, operands)), tuple(attributes.items()))
        cluster.add_box(name, kind_of(node.op), text, node.name, _describe_node(node))
        self.add_operand_arrows(name, operands)
        return [_DrawnValue(name, *result) for result in node.results]

    def draw_cond(self, cluster: Cluster, name: str, node: Node, operands: Sequence[_Value]) -> list[_DrawnValue]:
        outer = cluster.add_cluster("cond", cluster_title("cond", node.name), _describe_node(node))
        self.draw_predicate(outer, name, node, operands[0])
        drawings = []
        for word, region in zip(("then", "else"), node.regions, strict=True):
            inner = outer.add_cluster("branch", word, f"{word} of {node.name}")
            drawings.append(_RegionDrawing(inner, bind_parameters(region, operands[1:]), region, 0))
        return self.draw_branches(outer, name, node, drawings)

    def draw_branches(
        self, outer: Cluster, name: str, node: Node, drawings: Sequence[_RegionDrawing]
    ) -> list[_DrawnValue]:
        """Draw a phase of a cond: both branches, and the merges of their yields."""
        yields_by_branch, branches = [], []
        for word, mark, (cluster, values, region, phase) in zip(("then", "else"), "TF", drawings, strict=True):
            if region is None:
                return []
            inner, where = cluster, word
            if phase:
                inner, where = self.phase_cluster(cluster, phase, f"{word} of {node.name}"), phase_title(phase)
            results, scope = self.draw_region(inner, region, values)
            yields = []
            for number, value in enumerate(results):
                yields.append(_DrawnValue(f"{name}_{word}{number}", str(value), value.type))
                inner.add_box(yields[-1].node, "result", f"yield {value}", tooltip=f"result {number} of {where}")
                self.add_operand_arrows(yields[-1].node, [value])
            yields_by_branch.append(yields)
            branches.append(_RegionDrawing(cluster, scope, region.pullback, phase + 1))
            if not phase:
                self.add_control_arrow(name, inner, mark)
        merges = []
        for number, (result, *sides) in enumerate(zip(node.results, *yields_by_branch, strict=False)):
            merges.append(_DrawnValue(f"{name}_merge{number}", *result))
            outer.add_box(merges[-1].node, "merge", result.name, "merge", f"{result.name}: {result.type}")
            self.add_operand_arrows(merges[-1].node, sides)

        def draw_next_phase(
            cluster: Cluster, name: str, node: Node, operands: Sequence[_Value], used_operands: set[Operand]
        ) -> list[_DrawnValue]:
            inputs = values_from_box(name, operands)
            return self.draw_branches(
                outer, name, node, [branch._replace(values=next_phase_values(branch, inputs)) for branch in branches]
            )

        self.phase_drawers[node.name] = name, draw_next_phase
        return merges

    def phase_cluster(self, cluster: Cluster, phase: int, owner: str) -> Cluster:
        """The cluster of a later phase, inside the cluster of the first."""
        return cluster.add_cluster("pullback", phase_title(phase), f"{phase_title(phase)} of {owner}")

    def draw_while_loop(
        self, cluster: Cluster, name: str, node: Node, operands: Sequence[_Value], used_operands: set[Operand]
    ) -> list[_DrawnValue]:
        condition, body = node.regions
        outer = cluster.add_cluster(
            "loop", cluster_title("while", node.name), _describe_node(node), f"{self.title}.{node.name}"
        )
        variables = [
            self.draw_variable(outer, f"{name}_variable{number}", parameter, start)
            for number, (parameter, start) in enumerate(zip(body.parameters, operands, strict=False))
        ]
        condition_cluster = outer.add_cluster("part", "while", f"condition of {node.name}")
        (predicate,), _ = self.draw_region(condition_cluster, condition, bind_parameters(condition, variables))
        self.draw_predicate(condition_cluster, name, node, predicate)
        body_cluster = outer.add_cluster("part", "do", f"body of {node.name}")
        next_values, scope = self.draw_region(body_cluster, body, bind_parameters(body, variables))
        self.draw_next_iteration(body_cluster, name, variables, next_values)
        self.add_control_arrow(name, body_cluster, "T")
        drawing = _RegionDrawing(body_cluster, scope, body.pullback)
        self.phase_drawers[node.name] = name, self.phase_drawer_of_loop(outer, drawing)
        return self.draw_exits(outer, name, node, variables, used_operands)

    def draw_next_iteration(
        self, body_cluster: Cluster, name: str, variables: Sequence[_DrawnValue], next_values: Sequence[_Value]
    ) -> None:
        """Draw the boxes that send the yields of an iteration to the next one."""
        for number, (variable, value) in enumerate(zip(variables, next_values, strict=False)):
            box = f"{name}_next{number}"
            text = f"next {variable}" if isinstance(value, _DrawnValue) else f"next {variable} = {value}"
            body_cluster.add_box(box, "next_iteration", text, tooltip=f"next {variable}: {variable.type}")
            self.add_operand_arrows(box, [value])
            self.view.add_arrow(box, variable.node, "back", tooltip=str(variable.type), is_reversed=True)

    def phase_drawer_of_loop(self, outer: Cluster, drawing: _RegionDrawing) -> _PhaseDrawer:
        """The drawer of the next phase of a while; odd phases run from the last iteration to the first."""
        body_cluster, _, region, phase = drawing

        def draw_next_phase(
            cluster: Cluster, name: str, node: Node, operands: Sequence[_Value], used_operands: set[Operand]
        ) -> list[_DrawnValue]:
            if region is None:
                return []
            inner = self.phase_cluster(body_cluster, phase, "the body")
            inputs = values_from_box(name, operands)
            variables = [
                self.draw_variable(inner, f"{name}_variable{number}", parameter, start)
                for number, (parameter, start) in enumerate(zip(region.parameters, inputs, strict=False))
            ]
            values = {**drawing.values, **bind_parameters(region, variables)}
            next_values, scope = self.draw_region(inner, region, values)
            if phase % 2:
                self.draw_back_iteration(inner, name, variables, next_values)
            else:
                self.draw_next_iteration(inner, name, variables, next_values)
            self.phase_drawers[node.name] = (
                name,
                self.phase_drawer_of_loop(outer, _RegionDrawing(body_cluster, scope, region.pullback, phase + 1)),
            )
            return self.draw_exits(outer, name, node, variables, used_operands, "")

        return draw_next_phase

    def draw_back_iteration(
        self, body_cluster: Cluster, name: str, variables: Sequence[_DrawnValue], next_values: Sequence[_Value]
    ) -> None:
        """Draw the boxes that send the yields of an iteration to the previous one."""
        for number, (variable, value) in enumerate(zip(variables, next_values, strict=False)):
            box = f"{name}_back{number}"
            text = f"back {variable}" if isinstance(value, _DrawnValue) else f"back {variable} = {value}"
            body_cluster.add_box(box, "back", text, tooltip=f"{variable} of the previous iteration: {variable.type}")
            self.add_operand_arrows(box, [value])
            self.view.add_arrow(box, variable.node, "before", tooltip=str(variable.type), is_reversed=True)

    def draw_exits(
        self,
        cluster: Cluster,
        name: str,
        node: Node,
        variables: Sequence[_DrawnValue],
        used_operands: set[Operand],
        mark: str = "F",
    ) -> list[_DrawnValue]:
        """Draw the results of a while, without unused ones; `mark` labels the control edge that releases them."""
        results = []
        for number, (variable, result) in enumerate(zip(variables, node.results, strict=False)):
            results.append(_DrawnValue(f"{name}_exit{number}", *result))
            if result.name in used_operands:
                cluster.add_box(
                    results[-1].node, "exit", f"exit {variable}", result.name, f"{result.name}: {result.type}"
                )
                self.add_operand_arrows(results[-1].node, [variable])
                if mark:
                    self.view.add_arrow(name, results[-1].node, "control", mark)
        return results

    def draw_variable(self, cluster: Cluster, name: str, parameter: Var, start: _Value) -> _DrawnValue:
        """Draw a loop variable with its initial value."""
        text = f"{parameter.name} = {start}" if isinstance(start, Literal) else parameter.name
        cluster.add_box(name, "merge", text, "merge", f"loop variable {parameter.name}: {parameter.type}")
        cluster.same_rank.append(name)
        self.add_operand_arrows(name, [start])
        return _DrawnValue(name, *parameter)

    def draw_predicate(self, cluster: Cluster, name: str, node: Node, pred: _Value) -> None:
        cluster.add_box(name, "switch", f"{pred}?", node.op, _describe_node(node))
        self.add_operand_arrows(name, [pred], "predicate")

    def add_operand_arrows(self, name: str, operands: Sequence[_Value], link: LinkKind = "data") -> None:
        """Add an edge for each operand of a node; literals have none."""
        for port, operand in enumerate(operands):
            if isinstance(operand, _DrawnValue) and operand.node:
                self.view.add_arrow(operand.node, name, link, tooltip=f"{operand.type}, to port {port}", port=port)

    def add_control_arrow(self, name: str, cluster: Cluster, label: str) -> None:
        """Add an edge from a predicate to a region that it controls; the region is laid out below."""
        inside = [*cluster.boxes, *chain.from_iterable(inner.boxes for inner in cluster.clusters)]
        for number, node in enumerate(inside):
            if number == 0:
                self.view.add_arrow(name, node, "control", label, head_cluster=cluster.name)
            else:
                self.view.rank_constraints.append((name, node))


def lookup_value(scope: _Values, operand: Operand) -> _Value:
    """A value by name; a name without a value becomes `name?`, without a box."""
    return operand if isinstance(operand, Literal) else scope.get(operand, _DrawnValue("", f"{operand}?"))


def bind_parameters(region: Region, operands: Sequence[_Value]) -> _Values:
    """The values bound to the parameters of a region."""
    return dict(zip((parameter.name for parameter in region.parameters), operands, strict=False))


def values_from_box(name: str, operands: Sequence[_Value]) -> list[_Value]:
    """Operands as outputs of a box; literals stay literals."""
    return [_DrawnValue(name, *value[1:]) if isinstance(value, _DrawnValue) else value for value in operands]


def next_phase_values(drawing: _RegionDrawing, inputs: Sequence[_Value]) -> _Values:
    """The values in scope in the next phase of a region: those of the previous phase, and its parameters."""
    return {**drawing.values, **(bind_parameters(drawing.next_phase, inputs) if drawing.next_phase else {})}


def _describe_node(node: Node) -> str:
    types = ", ".join(str(result.type) for result in node.results)
    return f"{node.name}: {node.op} -> {types}{_describe_location(node.location)}"


def _describe_location(location: Location | None) -> str:
    return f" ({location})" if location else ""
