"""A view of a program: each function a cluster; in it each cond and each while a cluster, with one for each region.

A region sees nothing but its parameters, yet they are no nodes here: an edge comes straight from the value that a
parameter stands for. A cond is a decision, two regions that yield, and a merge for each result. A while is a merge
for each variable, a region that ends in a decision, a region that yields the next variables, and an exit for each
result that is used.

A pullback of a region stands in the cluster of its first phase, and sees the values there. The `pullback` that begins
it is a box where it stands, behind the node whose next phase it is; what goes into the region comes from that box. Of a
call it has the results; of a cond they are merges beside it; of a while each is an exit of a variable that goes from
iteration to iteration by back boxes, or, where it runs forwards again, as the first phase does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

from ..core.program.program import PULLED, Function, Location, Node, Operand, Program, Region, Var
from ..core.value import Literal
from .labels import formula, phase_title, titled
from .style import kind_of
from .view import Cluster, Link, View


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

    Functions are called f0, f1, ...; node k of f0, as a sequential evaluation meets them, is f0n<k>; what a cond or a
    while has besides its decision is f0n<k>_<word><j>; parameters are f0p<j>, results f0r<j>, and those of phase q
    f0p<j>_<q> and f0r<j>_<q>. The class of an edge is data, predicate, control, call, back or before; where it has
    `dir=back`, its arrow points from head to tail.
    """
    view = View(program.entry)
    functions = sorted(program.functions, key=lambda function: function.name != program.entry)
    for number, function in enumerate(functions):
        _Sketch(view, f"f{number}", function.name).function(function)
    return view


_Further: TypeAlias = Callable[[Cluster, str, Node, Sequence[_Value], set[Operand]], list[_Drawn]]
"""What draws the phase that a `pullback` begins: given the cluster that it stands in, its name, it, its
operands, and what is used where it stands."""


class _Place(NamedTuple):
    """Where a region has been drawn: its cluster, and the values that it knows; its next phase knows them too."""

    cluster: Cluster
    known: _Values
    following: Region | None
    phase: int = 1


class _Sketch:
    """Draws one function. Its methods draw parts of it, each into the cluster it is given."""

    def __init__(self, view: View, name: str, title: str) -> None:
        self.view = view
        self.name, self.title = name, title
        self.nodes = 0
        self.further: dict[str, tuple[str, _Further]] = {}
        """By the name of a node, the box that stands for it, and what draws its next phase."""

    def function(self, function: Function) -> None:
        cluster = self.view.outside.cluster(
            "function", function.name, f"function {function.name}{_at(function.location)}", function.name
        )
        place: _Place | None = _Place(cluster, {}, function.body, 0)
        while place is not None and place.following is not None:
            place = self.phase(place)

    def phase(self, place: _Place) -> _Place:
        """Draw a phase of the function: the first one in its cluster, each further one in a cluster inside."""
        cluster, _, region, phase = place
        assert region is not None
        inner, suffix = cluster, ""
        if phase:
            inner, suffix = (
                cluster.cluster("pullback", phase_title(phase), f"{phase_title(phase)} of {self.title}"),
                f"_{phase}",
            )
        values: _Values = dict(place.known)
        for number, parameter in enumerate(region.parameters):
            name = f"{self.name}p{number}{suffix}"
            inner.box(name, "argument", parameter.name, tooltip=f"parameter {parameter.name}: {parameter.type}")
            inner.level.append(name)
            values[parameter.name] = _Drawn(name, *parameter)
        results, known = self.region(inner, region, values)
        for number, result in enumerate(results):
            name = f"{self.name}r{number}{suffix}"
            inner.box(name, "result", f"return {result}", tooltip=f"result {number}")
            self.uses(name, [result])
        return _Place(cluster, known, region.pullback, phase + 1)

    def region(self, cluster: Cluster, region: Region, values: _Values) -> tuple[list[_Value], _Values]:
        """Draw the nodes of a phase of a region; its results, and all values that are known behind it."""
        known = dict(values)
        phases = list(region.phases())
        used = set(
            chain(*(phase.results for phase in phases), *(node.inputs for phase in phases for node in phase.nodes))
        )
        for node in region.nodes:
            name = f"{self.name}n{self.nodes}"
            self.nodes += 1
            operands = [_value(known, operand) for operand in node.inputs]
            match node.op:
                case "cond":
                    made = self.cond(cluster, name, node, operands)
                case "while_loop":
                    made = self.while_loop(cluster, name, node, operands, used)
                case "pullback":
                    made = self.pullback(cluster, name, node, operands, used)
                case _:
                    made = self.ordinary(cluster, name, node, operands)
                    if node.op == "call":
                        self.further[node.name] = name, self.again
            known.update(zip((result.name for result in node.results), made, strict=False))
        return [_value(known, result) for result in region.results], known

    def pullback(
        self, cluster: Cluster, name: str, node: Node, operands: Sequence[_Value], used: set[Operand]
    ) -> list[_Drawn]:
        """The box of a pullback, behind the node whose next phase it begins, and that phase."""
        of = str(dict(node.attributes).get(PULLED, "?"))
        text = f"pullback {of}({', '.join(map(str, operands))})"
        cluster.box(name, "pullback", text, node.name, _about(node))
        self.uses(name, operands)
        if of not in self.further:
            return [_Drawn(name, *result) for result in node.results]
        begun, draw = self.further[of]
        self.view.arrow(begun, name, "call", tooltip=f"the next phase of {of}")
        self.further[node.name] = name, draw
        return draw(cluster, name, node, operands, used)

    def again(
        self, cluster: Cluster, name: str, node: Node, operands: Sequence[_Value], used: set[Operand]
    ) -> list[_Drawn]:
        """A further phase of a call: what it returns."""
        return [_Drawn(name, *result) for result in node.results]

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
        places = []
        for word, region in zip(("then", "else"), node.regions, strict=True):
            inner = outer.cluster("branch", word, f"{word} of {node.name}")
            places.append(_Place(inner, _bound(region, operands[1:]), region, 0))
        return self.branches(outer, name, node, places)

    def branches(self, outer: Cluster, name: str, node: Node, places: Sequence[_Place]) -> list[_Drawn]:
        """A phase of a cond: both branches, and the merges of what they yield."""
        yielded, behind = [], []
        for word, mark, (cluster, values, region, phase) in zip(("then", "else"), "TF", places, strict=True):
            if region is None:
                return []
            inner, where = cluster, word
            if phase:
                inner, where = self.inside(cluster, phase, f"{word} of {node.name}"), phase_title(phase)
            results, known = self.region(inner, region, values)
            leaving = []
            for number, value in enumerate(results):
                leaving.append(_Drawn(f"{name}_{word}{number}", str(value), value.type))
                inner.box(leaving[-1].node, "result", f"yield {value}", tooltip=f"result {number} of {where}")
                self.uses(leaving[-1].node, [value])
            yielded.append(leaving)
            behind.append(_Place(cluster, known, region.pullback, phase + 1))
            if not phase:
                self.control(name, inner, mark)
        made = []
        for number, (result, *sides) in enumerate(zip(node.results, *yielded, strict=False)):
            made.append(_Drawn(f"{name}_merge{number}", *result))
            outer.box(made[-1].node, "merge", result.name, "merge", f"{result.name}: {result.type}")
            self.uses(made[-1].node, sides)

        def further(
            cluster: Cluster, name: str, node: Node, operands: Sequence[_Value], used: set[Operand]
        ) -> list[_Drawn]:
            given = _through(name, operands)
            return self.branches(outer, name, node, [each._replace(known=_with(each, given)) for each in behind])

        self.further[node.name] = name, further
        return made

    def inside(self, cluster: Cluster, phase: int, of: str) -> Cluster:
        """The cluster of a further phase, in that of the first."""
        return cluster.cluster("pullback", phase_title(phase), f"{phase_title(phase)} of {of}")

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
        (decided,), _ = self.region(deciding, condition, _bound(condition, variables))
        self.decision(deciding, name, node, decided)
        going = outer.cluster("part", "do", f"body of {node.name}")
        following, known = self.region(going, body, _bound(body, variables))
        self.iterate(going, name, variables, following)
        self.control(name, going, "T")
        place = _Place(going, known, body.pullback)
        self.further[node.name] = name, self.going_back(outer, place)
        return self.exits(outer, name, node, variables, used)

    def iterate(self, going: Cluster, name: str, variables: Sequence[_Drawn], following: Sequence[_Value]) -> None:
        """The boxes that send what an iteration yields to the next one."""
        for number, (variable, value) in enumerate(zip(variables, following, strict=False)):
            again = f"{name}_next{number}"
            text = f"next {variable}" if isinstance(value, _Drawn) else f"next {variable} = {value}"
            going.box(again, "next_iteration", text, tooltip=f"next {variable}: {variable.type}")
            self.uses(again, [value])
            self.view.arrow(again, variable.node, "back", tooltip=str(variable.type), turned=True)

    def going_back(self, outer: Cluster, place: _Place) -> _Further:
        """What draws a further phase of a while: the odd ones go from the last iteration to the first."""
        going, _, region, phase = place

        def further(
            cluster: Cluster, name: str, node: Node, operands: Sequence[_Value], used: set[Operand]
        ) -> list[_Drawn]:
            if region is None:
                return []
            inner = self.inside(going, phase, "the body")
            given = _through(name, operands)
            variables = [
                self.variable(inner, f"{name}_variable{number}", parameter, start)
                for number, (parameter, start) in enumerate(zip(region.parameters, given, strict=False))
            ]
            values = {**place.known, **_bound(region, variables)}
            following, known = self.region(inner, region, values)
            if phase % 2:
                self.go_back(inner, name, variables, following)
            else:
                self.iterate(inner, name, variables, following)
            self.further[node.name] = name, self.going_back(outer, _Place(going, known, region.pullback, phase + 1))
            return self.exits(outer, name, node, variables, used, "")

        return further

    def go_back(self, going: Cluster, name: str, variables: Sequence[_Drawn], following: Sequence[_Value]) -> None:
        """The boxes that send what an iteration yields to the one before."""
        for number, (variable, value) in enumerate(zip(variables, following, strict=False)):
            again = f"{name}_back{number}"
            text = f"back {variable}" if isinstance(value, _Drawn) else f"back {variable} = {value}"
            going.box(again, "back", text, tooltip=f"{variable} of the iteration before: {variable.type}")
            self.uses(again, [value])
            self.view.arrow(again, variable.node, "before", tooltip=str(variable.type), turned=True)

    def exits(
        self, cluster: Cluster, name: str, node: Node, variables: Sequence[_Drawn], used: set[Operand], mark: str = "F"
    ) -> list[_Drawn]:
        """The results of a while; those that nothing uses are not drawn. `mark` says when they leave."""
        made = []
        for number, (variable, result) in enumerate(zip(variables, node.results, strict=False)):
            made.append(_Drawn(f"{name}_exit{number}", *result))
            if result.name in used:
                cluster.box(made[-1].node, "exit", f"exit {variable}", result.name, f"{result.name}: {result.type}")
                self.uses(made[-1].node, [variable])
                if mark:
                    self.view.arrow(name, made[-1].node, "control", mark)
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


def _through(name: str, operands: Sequence[_Value]) -> list[_Value]:
    """Values that come through a box; literals need none."""
    return [_Drawn(name, *value[1:]) if isinstance(value, _Drawn) else value for value in operands]


def _with(place: _Place, given: Sequence[_Value]) -> _Values:
    """What the next phase of a region knows: all that the last one did, and its own parameters."""
    return {**place.known, **(_bound(place.following, given) if place.following else {})}


def _about(node: Node) -> str:
    types = ", ".join(str(result.type) for result in node.results)
    return f"{node.name}: {node.op} -> {types}{_at(node.location)}"


def _at(location: Location | None) -> str:
    return f" ({location})" if location else ""
