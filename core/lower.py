"""Lowering: a structured program becomes a flat, static, cyclic graph.

L1  The body of each function stands once, however many sites call it.
L2  A parameter is an entry merge, fed by one `call` per site, and by the environment if the function is the entry.
L3  A result has one `return` per site; the machine sends it to the return of the site on top of its tag.
L4  A cond switches each value that a branch uses, and merges the results of its branches.
L5  A loop variable is a merge of `enter` and `next_iteration`, switched on the condition, left through `exit`.
L6  A value that a loop only reads is a loop variable whose next value is itself.
L7  A literal sits on a port and needs no token; a node with nothing but literals fires on its region's trigger.
L8  Each region has one trigger. A function that needs one, or has no parameters, has a hidden first argument,
    sent on the caller's region trigger; a branch's is switch(pred, pred); a loop's is its first loop variable.
L9  A put is a `store`, and its result the edge of the handle that it was given, which waits for nothing.
L10 The effects on a resource pass on one order token, in program order: through branches as a value that both use,
    through loops as a variable, and through the functions that have such effects as a hidden argument and a hidden
    result. The environment sends the first.
L11 A pullback of a call is more arguments and results of its site. That of a cond switches on the predicate that the cond
    has; that of a loop comes back by `reenter` to the iteration that was left, and goes from iteration to iteration by
    `back`; that of such a pullback is a loop as the first was, on the same condition.

Nodes are made function by function: the entry merges, then the body in program order, phase by phase, so that numbers order
the firings of an activation as a sequential evaluation would. The returns to the environment come last. What goes from
one function to another, to entry merges and to returns, is connected when all bodies stand. The values of a program
keep their names, on which random numbers depend (S15); what lowering adds is named otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

from . import dtypes
from .act import resource_of
from .graph import Builder, Graph, Input, Source
from .op import Attributes
from .program import PHASE, PULLED, Function, Location, Node, Operand, Program, Region, Var
from .tag import ENVIRONMENT, Site
from .types import Type
from .value import Literal

_TRIGGER = Type(dtypes.bool)


def lower(program: Program) -> Graph:
    """The graph of the functions that the entry reaches."""
    return _Lowering(program).graph()


def needing_triggers(program: Program) -> set[str]:
    """The functions with a hidden trigger argument (L8): a fixed point over the calls."""
    functions = program.reachable()
    needing = {function.name for function in functions if not function.body.parameters}
    while True:
        more = {f.name for f in functions if f.name not in needing and _needs_trigger(f.body, needing)}
        if not more:
            return needing
        needing |= more


def resources(program: Program) -> dict[str, tuple[str, ...]]:
    """For each function, the resources that it has effects on (L10): a fixed point over the calls."""
    functions = program.reachable()
    found: dict[str, set[str]] = {function.name: set() for function in functions}
    while True:
        more = {f.name: _resources(f.body.walk(), found) for f in functions}
        if more == found:
            return {name: tuple(sorted(each)) for name, each in found.items()}
        found = more


def _resources(nodes: Iterable[Node], of_functions: Mapping[str, Iterable[str]]) -> set[str]:
    """The resources that nodes, with those in their regions, have effects on."""
    found = set()
    for node in nodes:
        found |= set(of_functions[node.attribute("function")] if node.op == "call" else ())
        resource = resource_of(node.op)
        found |= {resource} if resource else set()
    return found


def _needs_trigger(region: Region, needing: set[str]) -> bool:
    """Whether a region of a function uses its trigger, in any phase; inner regions have triggers of their own."""
    if any(isinstance(result, Literal) for phase in region.phases() for result in phase.results):
        return True
    for node in (node for phase in region.phases() for node in phase.nodes):
        literal = [isinstance(operand, Literal) for operand in node.inputs]
        match node.op:
            case "cond":
                used = literal[0]
            case "while_loop":
                used = any(literal)
            case "call":
                used = any(literal) or node.attribute("function") in needing
            case "pullback":
                used = any(literal)
            case _:
                used = all(literal) and not resource_of(node.op)
        if used:
            return True
    return False


Further: TypeAlias = Callable[[Node], list[Source]]
"""What lowers the pullback of a node that has been lowered."""


@dataclass(slots=True)
class _Scope:
    """A region being lowered: its function, what its names stand for, and how to get its trigger."""

    function: str
    make_trigger: Callable[[], Source]
    values: dict[str, Source] = field(default_factory=dict)
    orders: dict[str, Source] = field(default_factory=dict)
    """The order tokens of the resources, as the last effect on each left them."""
    further: dict[str, Further] = field(default_factory=dict)
    """Of the nodes that have a further phase, by name."""
    made: Source | None = None

    def trigger(self) -> Source:
        if self.made is None:
            self.made = self.make_trigger()
        return self.made

    def input(self, operand: Operand) -> Source | Literal:
        return operand if isinstance(operand, Literal) else self.values[operand]

    def bind(self, variables: Sequence[Var], sources: Sequence[Source]) -> None:
        self.values.update((var.name, source) for var, source in zip(variables, sources, strict=True))


@dataclass(slots=True)
class _Loop:
    """A loop that has been lowered: its node and site, its condition and trip count, and what an iteration that goes on
    begins with."""

    node: Node
    site: Site
    decided: Source = Source(-1, -1)
    trips: Source = Source(-1, -1)
    began: list[Source] = field(default_factory=list)


class _Lowering:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.functions = program.reachable()
        self.needing = needing_triggers(program)
        self.resources = resources(program)
        self.names = {function.name: _names(function) for function in self.functions}
        self.builder = Builder(program.entry)
        self.calls: list[tuple[str, int, list[Source]]] = []
        """For each site the function that it calls, the phase, and what it sends there, what is hidden first."""
        self.returns: list[tuple[str, int, list[int]]] = []
        """For each site, and for the environment, the function that it calls, the phase, and the return nodes."""

    def graph(self) -> Graph:
        main = self.program.main
        arguments = [self.builder.argument(name, type_) for name, type_ in self._parameters(main)]
        self.calls.append((main.name, 0, arguments))
        entries: dict[tuple[str, int], list[Source]] = {}
        results: dict[tuple[str, int], list[Source]] = {}
        for function in self.functions:
            for phase, (merges, leaving) in enumerate(self._function(function)):
                entries[function.name, phase], results[function.name, phase] = merges, leaving
        returning = [Var("return", type_) for type_ in main.results]
        returned = self._return_nodes(main.name, 0, ENVIRONMENT, main.name, returning, main.location)
        for callee, phase, sent in self.calls:
            for source, entry in zip(sent, entries[callee, phase], strict=True):
                self.builder.extend(source, entry.node)
        for callee, phase, numbers in self.returns:
            for source, number in zip(results[callee, phase], numbers, strict=False):  # no order token leaves the entry
                self.builder.connect(source, number, 0)
        return self.builder.build(returned=returned, hidden=len(self._hidden(main)))

    def _parameters(self, function: Function) -> list[Var]:
        """The parameters of a function, the hidden ones first."""
        return [*self._hidden(function), *function.body.parameters]

    def _hidden(self, function: Function) -> list[Var]:
        """The hidden parameters: a trigger, and the order tokens; their names are those of no other."""
        wanted = ["trigger"] if function.name in self.needing else []
        taken, hidden = set(self.names[function.name]), []
        for name in (*wanted, *self.resources[function.name]):
            while name in taken:
                name += "_"
            taken.add(name)
            hidden.append(Var(name, _TRIGGER))
        return hidden

    def _entry_merges(self, function: Function, parameters: Sequence[Var]) -> list[Source]:
        """L2: fed once every body has been lowered."""
        return [
            self.builder.node("merge", name, (), [type_], function=function.name, location=function.location)[0]
            for name, type_ in parameters
        ]

    def _function(self, function: Function) -> Iterator[tuple[list[Source], list[Source]]]:
        """Lower a body; for each phase, where what comes in goes, and what leaves."""
        merges, ordered = self._entry_merges(function, self._parameters(function)), self.resources[function.name]
        scope, hidden = _Scope(function.name, lambda: merges[0]), len(merges) - len(function.body.parameters)
        scope.bind(function.body.parameters, merges[hidden:])
        scope.orders.update(zip(ordered, merges[hidden - len(ordered) : hidden], strict=True))
        results = self._region(scope, function.body)
        yield merges, [*results, *(scope.orders[resource] for resource in ordered)]
        for phase in islice(function.body.phases(), 1, None):
            entered = self._entry_merges(function, phase.parameters)
            scope.bind(phase.parameters, entered)
            yield entered, self._region(scope, phase)

    def _region(self, scope: _Scope, region: Region) -> list[Source]:
        """Lower the nodes; the results, each as a token."""
        for node in region.nodes:
            match node.op:
                case "cond":
                    sources = self._cond(scope, node)
                case "while_loop":
                    sources = self._while_loop(scope, node)
                case "call":
                    sources = self._call(scope, node)
                case "pullback":
                    sources = scope.further[node.attribute(PULLED)](node)
                case "put":
                    sources = self._put(scope, node)
                case _:
                    sources = self._ordinary(scope, node)
            scope.bind(node.results, sources)
        return [self._token(scope, scope.input(result)) for result in region.results]

    def _ordinary(self, scope: _Scope, node: Node) -> list[Source]:
        inputs: list[Source | Literal] = [scope.input(operand) for operand in node.inputs]
        (result,), resource = node.results, resource_of(node.op)
        if resource is None:
            return self._node(scope, node.op, result.name, inputs, [result.type], node, attributes=node.attributes)
        value, scope.orders[resource] = self.builder.node(
            node.op,
            result.name,
            inputs,
            [result.type, _TRIGGER],
            function=scope.function,
            trigger=scope.orders[resource],
            location=node.location,
            attributes=node.attributes,
        )
        return [value]

    def _put(self, scope: _Scope, node: Node) -> list[Source]:
        """L9."""
        inputs = [scope.input(operand) for operand in node.inputs]
        self._node(scope, "store", node.name, inputs, [], node)
        return [scope.values[str(node.inputs[0])]]

    def _cond(self, scope: _Scope, node: Node) -> list[Source]:
        """L4. Operand 0 is the predicate, whose own sides are the branches' triggers (L8)."""
        pred = self._token(scope, scope.input(node.inputs[0]), node)
        triggers: list[Source] = []

        def trigger(side: int) -> Source:
            if not triggers:
                name, types = f"{node.name}.switch_trigger", [_TRIGGER] * 2
                triggers.extend(self._node(scope, "switch", name, [pred, pred], types, node))
            return triggers[side]

        branches = [_Scope(scope.function, partial(trigger, side)) for side in (0, 1)]
        return self._branches(scope, pred, branches, node.inputs[1:], node.regions, node)

    def _branches(
        self,
        scope: _Scope,
        pred: Source,
        branches: Sequence[_Scope],
        operands: Sequence[Operand],
        regions: Sequence[Region],
        node: Node,
    ) -> list[Source]:
        """A phase of a cond: `node` is the cond, or the pullback."""
        inputs = [scope.input(operand) for operand in operands]
        entering = [[*region.parameters] for region in regions]
        switched: dict[int, list[Source]] = {}

        def switch(position: int) -> list[Source]:
            if position not in switched:
                then, otherwise = (parameters[position] for parameters in entering)
                data, name, types = inputs[position], f"{node.name}.switch_{then.name}", [then.type, otherwise.type]
                switched[position] = self._node(scope, "switch", name, [data, pred], types, node)
            return switched[position]

        ordered = sorted(_resources(_within(regions), self.resources)) if node.op == "cond" else []
        for resource in ordered:
            inputs.append(scope.orders[resource])
            for parameters in entering:
                parameters.append(Var(resource, _TRIGGER))
        sides = []
        for side, (branch, region) in enumerate(zip(branches, regions, strict=True)):
            used = _names_used(region)
            for position, parameter in enumerate(region.parameters):
                if parameter.name in used:
                    branch.values[parameter.name] = switch(position)[side]
            for position, resource in enumerate(ordered, start=len(operands)):
                branch.orders[resource] = switch(position)[side]
            results = self._region(branch, region)
            sides.append([*results, *(branch.orders[resource] for resource in ordered)])
        leaving = [*node.results, *(Var(f"{node.name}.{resource}", _TRIGGER) for resource in ordered)]
        merged = [
            self._node(scope, "merge", result.name, pair, [result.type], node)[0]
            for result, pair in zip(leaving, zip(*sides, strict=True), strict=True)
        ]
        scope.orders.update(zip(ordered, merged[len(node.results) :], strict=True))
        following = [region.pullback for region in regions if region.pullback]
        if following:  # L11
            scope.further[node.name] = lambda later: self._branches(
                scope, pred, branches, later.inputs, following, later
            )
        return merged[: len(node.results)]

    def _while_loop(self, scope: _Scope, node: Node) -> list[Source]:
        """L5, L6, L10."""
        condition, body = node.regions
        ordered = sorted(_resources(_within(node.regions), self.resources))
        inputs = [*map(scope.input, node.inputs), *(scope.orders[resource] for resource in ordered)]
        variables = [*body.parameters, *(Var(resource, _TRIGGER) for resource in ordered)]
        count, loop = len(body.parameters), _Loop(node, node.site(scope.function))
        going = _Scope(scope.function, lambda: loop.began[0])

        def decide(merges: list[Source]) -> list[Source]:
            deciding = _Scope(scope.function, lambda: merges[0])
            deciding.bind(condition.parameters, merges[:count])
            deciding.orders.update(zip(ordered, merges[count:], strict=True))
            (loop.decided,) = self._region(deciding, condition)
            return [*merges[:count], *(deciding.orders[resource] for resource in ordered)]

        def follow(begun: list[Source]) -> list[Source]:
            loop.began = begun
            going.bind(body.parameters, begun[:count])
            going.orders.update(zip(ordered, begun[count:], strict=True))
            return [*self._region(going, body), *(going.orders[resource] for resource in ordered)]

        leaving = [*node.results, *(Var(f"{node.name}.{resource}", _TRIGGER) for resource in ordered)]
        left = self._forwards(scope, loop, node, inputs, variables, leaving, decide, follow)
        loop.trips = Source(left[0].node, 1)
        scope.orders.update(zip(ordered, left[count:], strict=True))
        self._further(scope, loop, going, node, body, 1)
        return left[:count]

    def _further(self, scope: _Scope, loop: _Loop, going: _Scope, node: Node, body: Region, number: int) -> None:
        """L11: the phases of loops go back and forth in turn."""
        phase = body.pullback
        if phase is None:
            return

        def follow(begun: list[Source]) -> list[Source]:
            going.bind(phase.parameters, begun)
            return self._region(going, phase)

        def lower(later: Node) -> list[Source]:
            inputs, variables, marked = list(map(scope.input, later.inputs)), phase.parameters, ((PHASE, number),)
            if number % 2:
                made = self._backwards(scope, loop, later, inputs, variables, follow, marked)
            else:
                same, leaving = lambda merges: merges, later.results
                made = self._forwards(scope, loop, later, inputs, variables, leaving, same, follow, marked)
            self._further(scope, loop, going, later, phase, number + 1)
            return made

        scope.further[node.name] = lower

    def _forwards(
        self,
        scope: _Scope,
        loop: _Loop,
        node: Node,
        inputs: Sequence[Source | Literal],
        variables: Sequence[Var],
        leaving: Sequence[Var],
        decide: Callable[[list[Source]], list[Source]],
        follow: Callable[[list[Source]], list[Source]],
        marked: Attributes = (),
    ) -> list[Source]:
        """A phase from the first iteration to the last: `decide` says what is switched, given what an iteration begins
        with, `follow` what the next one does."""

        def make(op: str, of: str, sources: Sequence[Input], types: list[Type], **details: Any) -> list[Source]:
            return self._node(scope, op, f"{node.name}.{of}", sources, types, node, **details)

        site, merges = loop.site, []
        for variable, data in zip(variables, inputs, strict=True):
            of, types = f"enter_{variable.name}", [variable.type]
            (entered,) = make("enter", of, [data], types, site=site, attributes=marked)
            merges += make("merge", variable.name, [entered, None], [variable.type])
        decided_on = decide(merges)
        switches = [
            make("switch", f"switch_{variable.name}", [data, loop.decided], [variable.type] * 2)
            for variable, data in zip(variables, decided_on, strict=True)
        ]
        following = follow([switch[0] for switch in switches])
        for variable, value, merge in zip(variables, following, merges, strict=True):
            of, types = f"next_{variable.name}", [variable.type]
            (again,) = make("next_iteration", of, [value], types, site=site, attributes=marked or loop.node.attributes)
            self.builder.connect(again, merge.node, 1)
        left = []
        for result, switch in zip(leaving, switches, strict=True):
            types = [result.type, Type(dtypes.int64)]
            left += self._node(scope, "exit", result.name, [switch[1]], types, node, site=site, attributes=marked)[:1]
        return left

    def _backwards(
        self,
        scope: _Scope,
        loop: _Loop,
        node: Node,
        inputs: Sequence[Source | Literal],
        variables: Sequence[Var],
        follow: Callable[[list[Source]], list[Source]],
        marked: Attributes,
    ) -> list[Source]:
        """L11: a phase from the last iteration to the first."""
        merges, began, left = [], [], []
        for variable, result, data in zip(variables, node.results, inputs, strict=True):
            name, types = f"{node.name}.{variable.name}", [variable.type]
            given, at = [data, loop.trips], {"site": loop.site, "attributes": marked}
            (again,) = self._node(scope, "reenter", f"{name}.reenter", given, types, node, **at)
            merges += self._node(scope, "merge", name, [again, None], types, node)
            before, out = self._node(scope, "back", result.name, [merges[-1]], [*types, result.type], node, **at)
            began.append(before)
            left.append(out)
        for value, merge in zip(follow(began), merges, strict=True):
            self.builder.connect(value, merge.node, 1)
        return left

    def _call(self, scope: _Scope, node: Node) -> list[Source]:
        """L2, L3, L8, L10."""
        callee = self.program[node.attribute("function")]
        site, ordered = node.site(scope.function), self.resources[callee.name]
        self.builder.calls[site] = callee.name
        trigger = [Literal(True, _TRIGGER)] if callee.name in self.needing else []
        orders = [scope.orders[resource] for resource in ordered]
        inputs = [*trigger, *orders, *map(scope.input, node.inputs)]
        sent: list[Source] = []
        for data, parameter in zip(inputs, self._parameters(callee), strict=True):
            name = f"{node.name}.call_{parameter.name}"
            sent += self._node(scope, "call", name, [data], [parameter.type], node, site=site)
        self.calls.append((callee.name, 0, sent))
        leaving = [*node.results, *(Var(f"{node.name}.{resource}", _TRIGGER) for resource in ordered)]
        made = self._returned(scope, node, callee, 0, site, leaving)
        scope.orders.update(zip(ordered, made[len(node.results) :], strict=True))
        return made[: len(node.results)]

    def _returned(
        self, scope: _Scope, node: Node, callee: Function, phase: int, site: Site, leaving: Sequence[Var]
    ) -> list[Source]:
        """What a phase of a call returns; the next phase is lowered when it comes (L11)."""
        returned = self._return_nodes(callee.name, phase, site, scope.function, leaving, node.location)
        marked = ((PHASE, phase + 1),)
        for following in islice(callee.body.phases(), phase + 1, phase + 2):

            def lower(later: Node) -> list[Source]:
                sent: list[Source] = []
                for operand, (name, type_) in zip(later.inputs, following.parameters, strict=True):
                    name = f"{later.name}.call_{name}"
                    sent += self._node(scope, "call", name, [scope.input(operand)], [type_], later, site=site, attributes=marked)
                self.calls.append((callee.name, phase + 1, sent))
                return self._returned(scope, later, callee, phase + 1, site, later.results)

            scope.further[node.name] = lower
        return [Source(number, 0) for number in returned]

    def _return_nodes(
        self, callee: str, phase: int, site: Site, function: str, results: Sequence[Var], location: Location | None
    ) -> list[int]:
        """L3: one a result, connected once every body has been lowered."""
        details: dict[str, Any] = {"function": function, "site": site, "location": location}
        details["attributes"] = ((PHASE, phase),) if phase else ()
        made = [self.builder.node("return", name, [None], [type_], **details)[0].node for name, type_ in results]
        self.returns.append((callee, phase, made))
        return made

    def _node(
        self, scope: _Scope, op: str, name: str, inputs: Sequence[Input], types: list[Type], node: Node, **details: Any
    ) -> list[Source]:
        """L7: a node of the graph; it gets the region's trigger if it has nothing but literals."""
        literals = all(isinstance(port, Literal) for port in inputs)
        trigger = scope.trigger() if literals else None
        return self.builder.node(
            op, name, inputs, types, function=scope.function, trigger=trigger, location=node.location, **details
        )

    def _token(self, scope: _Scope, value: Source | Literal, node: Node | None = None) -> Source:
        """L7: the value as a token, where a port must have one."""
        if isinstance(value, Source):
            return value
        name = "literal"
        while any(taken.startswith(name) for taken in self.names[scope.function]):
            name += "_"
        return self.builder.node(
            "identity",
            name,
            [value],
            [value.type],
            function=scope.function,
            trigger=scope.trigger(),
            location=node.location if node else None,
        )[0]


def _names(function: Function) -> set[str]:
    """The names of the values in a function (V2)."""
    made = {result.name for node in function.body.walk() for result in node.results}
    return made | {parameter.name for phase in function.body.phases() for parameter in phase.parameters}


def _within(regions: Iterable[Region]) -> Iterator[Node]:
    """The nodes in some regions."""
    for region in regions:
        yield from region.walk()


def _names_used(region: Region) -> set[str]:
    """The names that a region uses, in this phase and in further ones."""
    phases = list(region.phases())
    operands = [operand for phase in phases for node in phase.nodes for operand in node.inputs]
    results = [result for phase in phases for result in phase.results]
    return {operand for operand in (*operands, *results) if isinstance(operand, str)}
