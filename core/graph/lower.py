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
L11 A pullback of a call is more arguments and results of its site. That of a cond switches on the predicate that the
    cond has; that of a loop comes back by `reenter` to the iteration that was left, and goes from iteration to
    iteration by `back`, to an `identity` where nothing is done with it (S11 counts what arrives); that of such a
    pullback is a loop as the first was, on the same condition.

Nodes are made function by function: the entry merges, then the body in program order, phase by phase, so that their
numbers order the firings of an activation as a sequential evaluation would. The returns to the environment come last.
What goes from one function to another, to entry merges and to returns, is connected when all bodies stand. The values
of a program keep their names, on which random numbers depend (S15); what lowering adds is named otherwise.


Lowering loops: L5, L6, and L11 as far as loops go back. The rules are in `lower`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeAlias

from .. import dtypes
from ..ops.effect_op import resource_of
from ..ops.op import Attributes
from ..program.program import PHASE, PULLED, Function, Location, Node, Operand, Program, Region, Var
from ..tag import ENVIRONMENT, Site
from ..types import Type
from ..value import Literal
from .graph import Builder, Graph, Input, Source
from .scope import TRIGGER, Scope, names_in, names_used, needing_triggers, resources, resources_of, within


class Lowering(Protocol):
    """What lowers the regions of loops, and makes their nodes."""

    builder: Builder
    resources: dict[str, tuple[str, ...]]

    def region(self, scope: Scope, region: Region) -> list[Source]: ...
    def node(
        self, scope: Scope, op: str, name: str, inputs: Sequence[Input], types: list[Type], node: Node, **details: Any
    ) -> list[Source]: ...


@dataclass(slots=True)
class Loop:
    """A loop that has been lowered: its node and site, the region around it, that of its body, its condition and trip
    count."""

    node: Node
    site: Site
    around: Scope
    going: Scope = field(init=False)
    decided: Source | None = None
    trips: Source | None = None


class Phase(NamedTuple):
    """One way through the iterations of a loop: of the loop itself, or of a pullback."""

    node: Node
    inputs: Sequence[Source | Literal]
    variables: Sequence[Var]
    leaving: Sequence[Var]
    marked: Attributes = ()


Pass: TypeAlias = Callable[[list[Source]], list[Source]]
"""What an iteration makes of its loop variables."""


class Loops:
    """Lowers the loops of a program."""

    def __init__(self, lowering: Lowering) -> None:
        self.lowering = lowering

    def lower(self, scope: Scope, node: Node) -> list[Source]:
        """L5, L6, L10."""
        condition, body = node.regions
        ordered = sorted(resources_of(within(node.regions), self.lowering.resources))
        orders = [Var(resource, TRIGGER) for resource in ordered]
        count, loop = len(body.parameters), Loop(node, node.site(scope.function), scope)

        def decide(merges: list[Source]) -> list[Source]:
            deciding = Scope(scope.function, lambda: merges[0])
            deciding.bind(condition.parameters, merges[:count])
            deciding.orders.update(zip(ordered, merges[count:], strict=True))
            (loop.decided,) = self.lowering.region(deciding, condition)
            return [*merges[:count], *(deciding.orders[resource] for resource in ordered)]

        def follow(begun: list[Source]) -> list[Source]:
            loop.going = Scope(scope.function, lambda: begun[0])
            loop.going.bind(body.parameters, begun[:count])
            loop.going.orders.update(zip(ordered, begun[count:], strict=True))
            return [*self.lowering.region(loop.going, body), *(loop.going.orders[resource] for resource in ordered)]

        inputs = [*map(scope.input, node.inputs), *(scope.orders[resource] for resource in ordered)]
        leaving = [*node.results, *(Var(f"{node.name}.{resource}", TRIGGER) for resource in ordered)]
        left = self._forwards(loop, Phase(node, inputs, [*body.parameters, *orders], leaving), decide, follow)
        loop.trips = Source(left[0].node, 1)
        scope.orders.update(zip(ordered, left[count:], strict=True))
        self._further(loop, node, body, 1)
        return left[:count]

    def _further(self, loop: Loop, node: Node, body: Region, number: int) -> None:
        """L11: the phases of loops go back and forth in turn."""
        region = body.pullback
        if region is None:
            return

        def follow(begun: list[Source]) -> list[Source]:
            loop.going.bind(region.parameters, begun)
            return self.lowering.region(loop.going, region)

        def lower(later: Node) -> list[Source]:
            inputs = list(map(loop.around.input, later.inputs))
            phase = Phase(later, inputs, region.parameters, later.results, ((PHASE, number),))
            if number % 2:
                made = self._backwards(loop, phase, follow)
            else:
                made = self._forwards(loop, phase, lambda merges: merges, follow)
            self._further(loop, later, region, number + 1)
            return made

        loop.around.further[node.name] = lower

    def _forwards(self, loop: Loop, phase: Phase, decide: Pass, follow: Pass) -> list[Source]:
        """A phase from the first iteration to the last: `decide` says what is switched, given what an iteration begins
        with, `follow` what the next one does."""
        make, of, merges, left = partial(self._node, loop, phase), f"{phase.node.name}.", list[Source](), list[Source]()
        for (name, type_), data in zip(phase.variables, phase.inputs, strict=True):
            (entered,) = make("enter", f"{of}enter_{name}", [data], [type_], site=loop.site, attributes=phase.marked)
            merges += make("merge", of + name, [entered, None], [type_])
        switches = [
            make("switch", f"{of}switch_{name}", [data, loop.decided], [type_] * 2)
            for (name, type_), data in zip(phase.variables, decide(merges), strict=True)
        ]
        following, marked = follow([switch[0] for switch in switches]), phase.marked or loop.node.attributes
        for (name, type_), value, merge in zip(phase.variables, following, merges, strict=True):
            (again,) = make("next_iteration", f"{of}next_{name}", [value], [type_], site=loop.site, attributes=marked)
            self.lowering.builder.connect(again, merge.node, 1)
        for (name, type_), switch in zip(phase.leaving, switches, strict=True):
            types = [type_, Type(dtypes.int64)]
            left += make("exit", name, [switch[1]], types, site=loop.site, attributes=phase.marked)[:1]
        return left

    def _backwards(self, loop: Loop, phase: Phase, follow: Pass) -> list[Source]:
        """L11: a phase from the last iteration to the first."""
        make, merges, began, left = partial(self._node, loop, phase), list[Source](), list[Source](), list[Source]()
        at: dict[str, Any] = {"site": loop.site, "attributes": phase.marked}
        for (name, type_), result, data in zip(phase.variables, phase.leaving, phase.inputs, strict=True):
            of = f"{phase.node.name}.{name}"
            (again,) = make("reenter", f"{of}.reenter", [data, loop.trips], [type_], **at)
            merges += make("merge", of, [again, None], [type_])
            before, out = make("back", result.name, [merges[-1]], [type_, result.type], **at)
            began.append(before)
            left.append(out)
        for value, merge in zip(follow(began), merges, strict=True):
            self.lowering.builder.connect(value, merge.node, 1)
        for (name, type_), begun in zip(phase.variables, began, strict=True):
            if not self.lowering.builder.leads(begun):
                make("identity", f"{phase.node.name}.{name}.unused", [begun], [type_])
        return left

    def _node(
        self, loop: Loop, phase: Phase, op: str, name: str, inputs: Sequence[Input], types: list[Type], **details: Any
    ) -> list[Source]:
        """A node around the body of a loop, made for a phase."""
        return self.lowering.node(loop.around, op, name, inputs, types, phase.node, **details)


def lower(program: Program) -> Graph:
    """The graph of the functions that the entry reaches."""
    return _Lowering(program).graph()


class _Lowering:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.functions = program.reachable()
        self.needing = needing_triggers(program)
        self.resources = resources(program)
        self.names = {function.name: names_in(function) for function in self.functions}
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
            hidden.append(Var(name, TRIGGER))
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
        scope, hidden = Scope(function.name, lambda: merges[0]), len(merges) - len(function.body.parameters)
        scope.bind(function.body.parameters, merges[hidden:])
        scope.orders.update(zip(ordered, merges[hidden - len(ordered) : hidden], strict=True))
        results = self.region(scope, function.body)
        yield merges, [*results, *(scope.orders[resource] for resource in ordered)]
        for phase in islice(function.body.phases(), 1, None):
            entered = self._entry_merges(function, phase.parameters)
            scope.bind(phase.parameters, entered)
            yield entered, self.region(scope, phase)

    def region(self, scope: Scope, region: Region) -> list[Source]:
        """Lower the nodes; the results, each as a token."""
        for node in region.nodes:
            match node.op:
                case "cond":
                    sources = self._cond(scope, node)
                case "while_loop":
                    sources = Loops(self).lower(scope, node)
                case "call":
                    sources = self._call(scope, node)
                case "pullback":
                    sources = scope.further.pop(node.attribute(PULLED))(node)
                case "put":
                    sources = self._put(scope, node)
                case _:
                    sources = self._ordinary(scope, node)
            scope.bind(node.results, sources)
        return [self._token(scope, scope.input(result)) for result in region.results]

    def _ordinary(self, scope: Scope, node: Node) -> list[Source]:
        inputs: list[Source | Literal] = [scope.input(operand) for operand in node.inputs]
        (result,), resource = node.results, resource_of(node.op)
        if resource is None:
            return self.node(scope, node.op, result.name, inputs, [result.type], node, attributes=node.attributes)
        value, scope.orders[resource] = self.builder.node(
            node.op,
            result.name,
            inputs,
            [result.type, TRIGGER],
            function=scope.function,
            trigger=scope.orders[resource],
            location=node.location,
            attributes=node.attributes,
        )
        return [value]

    def _put(self, scope: Scope, node: Node) -> list[Source]:
        """L9."""
        inputs = [scope.input(operand) for operand in node.inputs]
        self.node(scope, "store", node.name, inputs, [], node)
        return [scope.values[str(node.inputs[0])]]

    def _cond(self, scope: Scope, node: Node) -> list[Source]:
        """L4. Operand 0 is the predicate, whose own sides are the branches' triggers (L8)."""
        pred = self._token(scope, scope.input(node.inputs[0]), node)
        triggers: list[Source] = []

        def trigger(side: int) -> Source:
            if not triggers:
                name, types = f"{node.name}.switch_trigger", [TRIGGER] * 2
                triggers.extend(self.node(scope, "switch", name, [pred, pred], types, node))
            return triggers[side]

        branches = [Scope(scope.function, partial(trigger, side)) for side in (0, 1)]
        return self._branches(scope, pred, branches, node.inputs[1:], node.regions, node)

    def _branches(
        self,
        scope: Scope,
        pred: Source,
        branches: Sequence[Scope],
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
                switched[position] = self.node(scope, "switch", name, [data, pred], types, node)
            return switched[position]

        ordered = sorted(resources_of(within(regions), self.resources)) if node.op == "cond" else []
        for resource in ordered:
            inputs.append(scope.orders[resource])
            for parameters in entering:
                parameters.append(Var(resource, TRIGGER))
        sides = []
        for side, (branch, region) in enumerate(zip(branches, regions, strict=True)):
            used = names_used(region)
            for position, parameter in enumerate(region.parameters):
                if parameter.name in used:
                    branch.values[parameter.name] = switch(position)[side]
            for position, resource in enumerate(ordered, start=len(operands)):
                branch.orders[resource] = switch(position)[side]
            results = self.region(branch, region)
            sides.append([*results, *(branch.orders[resource] for resource in ordered)])
        leaving = [*node.results, *(Var(f"{node.name}.{resource}", TRIGGER) for resource in ordered)]
        merged = [
            self.node(scope, "merge", result.name, pair, [result.type], node)[0]
            for result, pair in zip(leaving, zip(*sides, strict=True), strict=True)
        ]
        scope.orders.update(zip(ordered, merged[len(node.results) :], strict=True))
        following = [region.pullback for region in regions if region.pullback]
        if following:  # L11
            scope.further[node.name] = lambda later: self._branches(
                scope, pred, branches, later.inputs, following, later
            )
        return merged[: len(node.results)]

    def _call(self, scope: Scope, node: Node) -> list[Source]:
        """L2, L3, L8, L10."""
        callee = self.program[node.attribute("function")]
        site, ordered = node.site(scope.function), self.resources[callee.name]
        self.builder.calls[site] = callee.name
        trigger = [Literal(True, TRIGGER)] if callee.name in self.needing else []
        orders = [scope.orders[resource] for resource in ordered]
        inputs = [*trigger, *orders, *map(scope.input, node.inputs)]
        sent: list[Source] = []
        for data, parameter in zip(inputs, self._parameters(callee), strict=True):
            name = f"{node.name}.call_{parameter.name}"
            sent += self.node(scope, "call", name, [data], [parameter.type], node, site=site)
        self.calls.append((callee.name, 0, sent))
        leaving = [*node.results, *(Var(f"{node.name}.{resource}", TRIGGER) for resource in ordered)]
        made = self._returned(scope, node, callee, 0, site, leaving)
        scope.orders.update(zip(ordered, made[len(node.results) :], strict=True))
        return made[: len(node.results)]

    def _returned(
        self, scope: Scope, node: Node, callee: Function, phase: int, site: Site, leaving: Sequence[Var]
    ) -> list[Source]:
        """What a phase of a call returns; the next phase is lowered when it comes (L11)."""
        returned = self._return_nodes(callee.name, phase, site, scope.function, leaving, node.location)
        marked = ((PHASE, phase + 1),)
        following = next(islice(callee.body.phases(), phase + 1, None), None)

        def lower(later: Node) -> list[Source]:
            assert following is not None
            at: dict[str, Any] = {"site": site, "attributes": marked}
            sent: list[Source] = []
            for operand, (name, type_) in zip(later.inputs, following.parameters, strict=True):
                said, given = f"{later.name}.call_{name}", [scope.input(operand)]
                sent += self.node(scope, "call", said, given, [type_], later, **at)
            self.calls.append((callee.name, phase + 1, sent))
            return self._returned(scope, later, callee, phase + 1, site, later.results)

        if following is not None:
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

    def node(
        self, scope: Scope, op: str, name: str, inputs: Sequence[Input], types: list[Type], node: Node, **details: Any
    ) -> list[Source]:
        """L7: a node of the graph; it gets the region's trigger if it has nothing but literals."""
        literals = all(isinstance(port, Literal) for port in inputs)
        trigger = scope.trigger() if literals else None
        return self.builder.node(
            op, name, inputs, types, function=scope.function, trigger=trigger, location=node.location, **details
        )

    def _token(self, scope: Scope, value: Source | Literal, node: Node | None = None) -> Source:
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
