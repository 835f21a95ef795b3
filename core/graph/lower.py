"""Lowering: a structured program becomes a flat, static, cyclic graph.

L1  The body of each function appears once, however many sites call it.
L2  A parameter is an entry merge, fed by one `call` per site, and by the environment if the function is the entry.
L3  A result has one `return` per site; the machine sends it to the `return` of the site on top of its tag.
L4  A cond switches each value that a branch uses, and merges the results of its branches.
L5  A loop variable is a merge of `enter` and `next_iteration`, switched on the condition; it leaves through `exit`.
L6  A value that a loop only reads is a loop variable whose next value is itself.
L7  A literal sits on a port and needs no token; a node with nothing but literals fires on its region's trigger.
L8  Each region has one trigger. A function that needs one, or has no parameters, has a hidden first argument, sent on
    the trigger of the caller's region. The trigger of a branch is switch(pred, pred); that of a loop is its first loop
    variable.
L9  A put becomes a `store`. Its result is the edge of the handle that it takes, which does not wait for the store.
L10 The effects on a resource pass on one order token, in program order. In branches it is a value that both use, in
    loops a variable, and in functions with such effects a hidden argument and a hidden result. The environment sends
    the first.
L11 A pullback of a call adds arguments and results to its site. A pullback of a cond switches on the predicate of the
    cond. A pullback of a loop starts, by `reenter`, in the iteration that left the loop, and goes from iteration to
    iteration by `back`. If nothing uses an arriving value, an `identity` takes it (S11 counts arriving tokens). A
    pullback of that pullback is a loop like the first, on the same condition.

Nodes are added function by function: the entry merges, then the body in program order, phase by phase, so that their
numbers order the firings of an activation like a sequential evaluation. The returns to the environment come last. The
edges between functions, to entry merges and to returns, are added once all bodies are lowered. The values of a program
keep their names, on which random numbers depend (S15); the nodes that lowering adds have other names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from .. import dtypes
from ..ops.effects import resource_of
from ..ops.op import Attributes
from ..program.program import (
    PHASE,
    PULLBACK_TARGET,
    FunctionDef,
    Location,
    Node,
    Operand,
    Program,
    Region,
    Var,
    defined_names,
    require_program,
    used_names,
)
from ..tag import ENVIRONMENT, Site
from ..types import Type
from ..value import Literal
from .graph import Graph, GraphBuilder, OutputRef, PortInput

TRIGGER_TYPE = Type(dtypes.bool)


def functions_needing_triggers(program: Program) -> set[str]:
    """The functions with a hidden trigger argument (L8): a fixed point over the calls."""
    functions = program.reachable_functions()
    trigger_functions = {function.name for function in functions if not function.body.parameters}
    while True:
        new_functions = {
            f.name for f in functions if f.name not in trigger_functions and _needs_trigger(f.body, trigger_functions)
        }
        if not new_functions:
            return trigger_functions
        trigger_functions |= new_functions


def function_resources(program: Program) -> dict[str, tuple[str, ...]]:
    """For each function, the resources that it has effects on (L10): a fixed point over the calls."""
    functions = program.reachable_functions()
    resources: dict[str, set[str]] = {function.name: set() for function in functions}
    while True:
        new_resources = {f.name: effect_resources(f.body.walk(), resources) for f in functions}
        if new_resources == resources:
            return {name: tuple(sorted(names)) for name, names in resources.items()}
        resources = new_resources


def effect_resources(nodes: Iterable[Node], resources_by_function: Mapping[str, Iterable[str]]) -> set[str]:
    """The resources on which these nodes have effects, calls included."""
    resources = set()
    for node in nodes:
        resources |= set(resources_by_function[node.attribute("function")] if node.op == "call" else ())
        resource = resource_of(node.op)
        resources |= {resource} if resource else set()
    return resources


def _needs_trigger(region: Region, trigger_functions: set[str]) -> bool:
    """Whether a region of a function uses its trigger, in any phase; inner regions have other triggers."""
    if any(isinstance(result, Literal) for phase in region.phases() for result in phase.results):
        return True
    for node in (node for phase in region.phases() for node in phase.nodes):
        is_literal = [isinstance(operand, Literal) for operand in node.inputs]
        match node.op:
            case "cond":
                uses_trigger = is_literal[0]
            case "while_loop" | "pullback":
                uses_trigger = any(is_literal)
            case "call":
                uses_trigger = any(is_literal) or node.attribute("function") in trigger_functions
            case _:
                uses_trigger = all(is_literal) and not resource_of(node.op)
        if uses_trigger:
            return True
    return False


PullbackLowering: TypeAlias = Callable[[Node], list[OutputRef]]
"""Lowers the pullback of a node that is lowered already."""


@dataclass(slots=True)
class LoweringScope:
    """A region being lowered: its function, the sources of its names, and its trigger."""

    function: str
    make_trigger: Callable[[], OutputRef]
    values: dict[str, OutputRef] = field(default_factory=dict)
    order_tokens: dict[str, OutputRef] = field(default_factory=dict)
    """The order token of each resource, after the last effect on it."""
    pullbacks: dict[str, PullbackLowering] = field(default_factory=dict)
    """The lowering of the next phase of each node that has one, by name. It is removed when used: each phase is begun
    once (V17)."""
    trigger_ref: OutputRef | None = None

    def trigger(self) -> OutputRef:
        if self.trigger_ref is None:
            self.trigger_ref = self.make_trigger()
        return self.trigger_ref

    def resolve_operand(self, operand: Operand) -> OutputRef | Literal:
        return operand if isinstance(operand, Literal) else self.values[operand]

    def bind(self, variables: Sequence[Var], sources: Sequence[OutputRef]) -> None:
        self.values.update((var.name, source) for var, source in zip(variables, sources, strict=True))


@dataclass(slots=True)
class LoweredLoop:
    """A loop that has been lowered: its node and site, the scopes around it and of its body, its condition and trip
    count."""

    node: Node
    site: Site
    outer_scope: LoweringScope
    body_scope: LoweringScope = field(init=False)
    predicate: OutputRef | None = None
    trip_count: OutputRef | None = None


class LoopPhase(NamedTuple):
    """One pass over the iterations of a loop: that of the loop itself, or of a pullback."""

    node: Node
    inputs: Sequence[OutputRef | Literal]
    variables: Sequence[Var]
    results: Sequence[Var]
    phase_attributes: Attributes = ()


IterationRule: TypeAlias = Callable[[list[OutputRef]], list[OutputRef]]
"""Lowers a part of an iteration: from the sources of the loop variables to the sources of their new values."""


class LoopLowering:
    """Lowers the loops of a program: L5, L6 and the part of L11 about loops."""

    def __init__(self, lowering: _ProgramLowering) -> None:
        self.lowering = lowering

    def lower_loop(self, scope: LoweringScope, node: Node) -> list[OutputRef]:
        """L5, L6, L10."""
        condition, body = node.regions
        resources = sorted(
            effect_resources((inner for region in node.regions for inner in region.walk()), self.lowering.resources)
        )
        order_variables = [Var(resource, TRIGGER_TYPE) for resource in resources]
        count, loop = len(body.parameters), LoweredLoop(node, node.site(scope.function), scope)

        def lower_condition(merges: list[OutputRef]) -> list[OutputRef]:
            condition_scope = LoweringScope(scope.function, lambda: merges[0])
            condition_scope.bind(condition.parameters, merges[:count])
            condition_scope.order_tokens.update(zip(resources, merges[count:], strict=True))
            (loop.predicate,) = self.lowering.lower_region(condition_scope, condition)
            return [*merges[:count], *(condition_scope.order_tokens[resource] for resource in resources)]

        def lower_body(iteration_values: list[OutputRef]) -> list[OutputRef]:
            loop.body_scope = LoweringScope(scope.function, lambda: iteration_values[0])
            loop.body_scope.bind(body.parameters, iteration_values[:count])
            loop.body_scope.order_tokens.update(zip(resources, iteration_values[count:], strict=True))
            return [
                *self.lowering.lower_region(loop.body_scope, body),
                *(loop.body_scope.order_tokens[resource] for resource in resources),
            ]

        inputs = [*map(scope.resolve_operand, node.inputs), *(scope.order_tokens[resource] for resource in resources)]
        loop_results = [*node.results, *(Var(f"{node.name}.{resource}", TRIGGER_TYPE) for resource in resources)]
        exits = self._lower_forward_phase(
            loop,
            LoopPhase(node, inputs, [*body.parameters, *order_variables], loop_results),
            lower_condition,
            lower_body,
        )
        loop.trip_count = OutputRef(exits[0].node, 1)
        scope.order_tokens.update(zip(resources, exits[count:], strict=True))
        self._register_pullback(loop, node, body, 1)
        return exits[:count]

    def _register_pullback(self, loop: LoweredLoop, node: Node, body: Region, number: int) -> None:
        """L11: the phases of a loop alternate between reverse and forward."""
        region = body.pullback
        if region is None:
            return

        def lower_body(iteration_values: list[OutputRef]) -> list[OutputRef]:
            loop.body_scope.bind(region.parameters, iteration_values)
            return self.lowering.lower_region(loop.body_scope, region)

        def lower_pullback(pullback: Node) -> list[OutputRef]:
            inputs = list(map(loop.outer_scope.resolve_operand, pullback.inputs))
            phase = LoopPhase(pullback, inputs, region.parameters, pullback.results, ((PHASE, number),))
            if number % 2:
                results = self._lower_reverse_phase(loop, phase, lower_body)
            else:
                results = self._lower_forward_phase(loop, phase, lambda merges: merges, lower_body)
            self._register_pullback(loop, pullback, region, number + 1)
            return results

        loop.outer_scope.pullbacks[node.name] = lower_pullback

    def _lower_forward_phase(
        self, loop: LoweredLoop, phase: LoopPhase, lower_condition: IterationRule, lower_body: IterationRule
    ) -> list[OutputRef]:
        """A phase from the first iteration to the last. `lower_condition` returns the values to switch, `lower_body`
        the next values."""
        add_node, prefix = partial(self._add_loop_node, loop, phase), f"{phase.node.name}."
        merges, exits = list[OutputRef](), list[OutputRef]()
        for (name, type_), data in zip(phase.variables, phase.inputs, strict=True):
            (enter,) = add_node(
                "enter", f"{prefix}enter_{name}", [data], [type_], site=loop.site, attributes=phase.phase_attributes
            )
            merges += add_node("merge", prefix + name, [enter, None], [type_])
        switches = [
            add_node("switch", f"{prefix}switch_{name}", [data, loop.predicate], [type_] * 2)
            for (name, type_), data in zip(phase.variables, lower_condition(merges), strict=True)
        ]
        next_values = lower_body([switch[0] for switch in switches])
        attributes = phase.phase_attributes or loop.node.attributes
        for (name, type_), value, merge in zip(phase.variables, next_values, merges, strict=True):
            (next_iteration,) = add_node(
                "next_iteration", f"{prefix}next_{name}", [value], [type_], site=loop.site, attributes=attributes
            )
            self.lowering.builder.connect(next_iteration, merge.node, 1)
        for (name, type_), switch in zip(phase.results, switches, strict=True):
            types = [type_, Type(dtypes.int64)]
            exits += add_node("exit", name, [switch[1]], types, site=loop.site, attributes=phase.phase_attributes)[:1]
        return exits

    def _lower_reverse_phase(self, loop: LoweredLoop, phase: LoopPhase, lower_body: IterationRule) -> list[OutputRef]:
        """L11: a phase from the last iteration to the first."""
        add_node = partial(self._add_loop_node, loop, phase)
        merges, iteration_values, results = list[OutputRef](), list[OutputRef](), list[OutputRef]()
        details: dict[str, Any] = {"site": loop.site, "attributes": phase.phase_attributes}
        for (name, type_), result, data in zip(phase.variables, phase.results, phase.inputs, strict=True):
            name_prefix = f"{phase.node.name}.{name}"
            (reenter,) = add_node("reenter", f"{name_prefix}.reenter", [data, loop.trip_count], [type_], **details)
            merges += add_node("merge", name_prefix, [reenter, None], [type_])
            previous_value, loop_result = add_node("back", result.name, [merges[-1]], [type_, result.type], **details)
            iteration_values.append(previous_value)
            results.append(loop_result)
        for value, merge in zip(lower_body(iteration_values), merges, strict=True):
            self.lowering.builder.connect(value, merge.node, 1)
        for (name, type_), iteration_value in zip(phase.variables, iteration_values, strict=True):
            if not self.lowering.builder.has_edges(iteration_value):
                add_node("identity", f"{phase.node.name}.{name}.unused", [iteration_value], [type_])
        return results

    def _add_loop_node(
        self,
        loop: LoweredLoop,
        phase: LoopPhase,
        op: str,
        name: str,
        inputs: Sequence[PortInput],
        types: list[Type],
        **details: Any,
    ) -> list[OutputRef]:
        """Add a node of the loop for a phase, in the scope around the loop."""
        return self.lowering.add_node(loop.outer_scope, op, name, inputs, types, phase.node, **details)


def lower(program: Program) -> Graph:
    """The graph of a program: of the functions reachable from its entry."""
    require_program(program)
    return _ProgramLowering(program).build_graph()


class _ProgramLowering:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.functions = program.reachable_functions()
        self.trigger_functions = functions_needing_triggers(program)
        self.resources = function_resources(program)
        self.names_by_function = {function.name: defined_names(function) for function in self.functions}
        self.builder = GraphBuilder(program.entry)
        self.pending_calls: list[tuple[str, int, list[OutputRef]]] = []
        """For each call of a phase, the callee, the phase, and the arguments sent, hidden ones first. Connected at the
        end."""
        self.pending_returns: list[tuple[str, int, list[int]]] = []
        """For each call of a phase, the callee, the phase, and the return nodes. Connected at the end."""

    def build_graph(self) -> Graph:
        main = self.program.main
        arguments = [self.builder.argument(name, type_) for name, type_ in self._all_parameters(main)]
        self.pending_calls.append((main.name, 0, arguments))
        entries: dict[tuple[str, int], list[OutputRef]] = {}
        results: dict[tuple[str, int], list[OutputRef]] = {}
        for function in self.functions:
            for phase, (merges, function_results) in enumerate(self._lower_function(function)):
                entries[function.name, phase], results[function.name, phase] = merges, function_results
        return_variables = [Var("return", type_) for type_ in main.results]
        return_nodes = self._add_return_nodes(main.name, 0, ENVIRONMENT, main.name, return_variables, main.location)
        for callee, phase, call_outputs in self.pending_calls:
            for source, entry in zip(call_outputs, entries[callee, phase], strict=True):
                self.builder.connect_new_port(source, entry.node)
        for callee, phase, numbers in self.pending_returns:
            for source, number in zip(
                results[callee, phase], numbers, strict=False
            ):  # the entry's order tokens are not returned
                self.builder.connect(source, number, 0)
        return self.builder.build(return_nodes=return_nodes, hidden_count=len(self._hidden_parameters(main)))

    def _all_parameters(self, function: FunctionDef) -> list[Var]:
        """The parameters of a function, the hidden ones first."""
        return [*self._hidden_parameters(function), *function.body.parameters]

    def _hidden_parameters(self, function: FunctionDef) -> list[Var]:
        """The hidden parameters: a trigger and the order tokens, under names not used in the function."""
        triggers = ["trigger"] if function.name in self.trigger_functions else []
        names = self.names_by_function[function.name]
        hidden_parameters = []
        for name in (*triggers, *self.resources[function.name]):
            while name in names:
                name += "_"
            hidden_parameters.append(Var(name, TRIGGER_TYPE))
        return hidden_parameters

    def _add_entry_merges(self, function: FunctionDef, parameters: Sequence[Var]) -> list[OutputRef]:
        """L2: entry merges, connected once every body is lowered."""
        return [
            self.builder.node("merge", name, (), [type_], function=function.name, location=function.location)[0]
            for name, type_ in parameters
        ]

    def _lower_function(self, function: FunctionDef) -> Iterator[tuple[list[OutputRef], list[OutputRef]]]:
        """Lower a body; yields for each phase its entry merges and its results."""
        merges = self._add_entry_merges(function, self._all_parameters(function))
        count, resources = len(self._hidden_parameters(function)), self.resources[function.name]
        scope = LoweringScope(function.name, lambda: merges[0])
        scope.bind(function.body.parameters, merges[count:])
        scope.order_tokens.update(zip(resources, merges[count - len(resources) : count], strict=True))
        results = self.lower_region(scope, function.body)
        yield merges, [*results, *(scope.order_tokens[resource] for resource in resources)]
        for phase in islice(function.body.phases(), 1, None):
            phase_merges = self._add_entry_merges(function, phase.parameters)
            scope.bind(phase.parameters, phase_merges)
            yield phase_merges, self.lower_region(scope, phase)

    def lower_region(self, scope: LoweringScope, region: Region) -> list[OutputRef]:
        """Lower the nodes of a region, and return the sources of its results, literals as tokens."""
        for node in region.nodes:
            match node.op:
                case "cond":
                    sources = self._lower_cond(scope, node)
                case "while_loop":
                    sources = LoopLowering(self).lower_loop(scope, node)
                case "call":
                    sources = self._lower_call(scope, node)
                case "pullback":
                    sources = scope.pullbacks.pop(node.attribute(PULLBACK_TARGET))(node)
                case "put":
                    sources = self._lower_put(scope, node)
                case _:
                    sources = self._lower_op(scope, node)
            scope.bind(node.results, sources)
        return [self._as_token(scope, scope.resolve_operand(result)) for result in region.results]

    def _lower_op(self, scope: LoweringScope, node: Node) -> list[OutputRef]:
        inputs: list[OutputRef | Literal] = [scope.resolve_operand(operand) for operand in node.inputs]
        (result,), resource = node.results, resource_of(node.op)
        if resource is None:
            return self.add_node(scope, node.op, result.name, inputs, [result.type], node, attributes=node.attributes)
        value, scope.order_tokens[resource] = self.builder.node(
            node.op,
            result.name,
            inputs,
            [result.type, TRIGGER_TYPE],
            function=scope.function,
            trigger=scope.order_tokens[resource],
            location=node.location,
            attributes=node.attributes,
        )
        return [value]

    def _lower_put(self, scope: LoweringScope, node: Node) -> list[OutputRef]:
        """L9."""
        inputs = [scope.resolve_operand(operand) for operand in node.inputs]
        self.add_node(scope, "store", node.name, inputs, [], node)
        return [scope.values[str(node.inputs[0])]]

    def _lower_cond(self, scope: LoweringScope, node: Node) -> list[OutputRef]:
        """L4. Operand 0 is the predicate; switched on itself it gives the triggers of the branches (L8)."""
        pred = self._as_token(scope, scope.resolve_operand(node.inputs[0]), node)
        triggers: list[OutputRef] = []

        def trigger(side: int) -> OutputRef:
            if not triggers:
                name, types = f"{node.name}.switch_trigger", [TRIGGER_TYPE] * 2
                triggers.extend(self.add_node(scope, "switch", name, [pred, pred], types, node))
            return triggers[side]

        branches = [LoweringScope(scope.function, partial(trigger, side)) for side in (0, 1)]
        return self._lower_branches(scope, pred, branches, node.inputs[1:], node.regions, node)

    def _lower_branches(
        self,
        scope: LoweringScope,
        pred: OutputRef,
        branches: Sequence[LoweringScope],
        operands: Sequence[Operand],
        regions: Sequence[Region],
        node: Node,
    ) -> list[OutputRef]:
        """Lower a phase of a cond; `node` is the cond or its pullback."""
        inputs = [scope.resolve_operand(operand) for operand in operands]
        parameter_lists = [[*region.parameters] for region in regions]
        switches: dict[int, list[OutputRef]] = {}

        def switch(position: int) -> list[OutputRef]:
            if position not in switches:
                then_parameter, else_parameter = (parameters[position] for parameters in parameter_lists)
                name, types = f"{node.name}.switch_{then_parameter.name}", [then_parameter.type, else_parameter.type]
                switches[position] = self.add_node(scope, "switch", name, [inputs[position], pred], types, node)
            return switches[position]

        resources = (
            sorted(effect_resources((inner for region in regions for inner in region.walk()), self.resources))
            if node.op == "cond"
            else []
        )
        for resource in resources:
            inputs.append(scope.order_tokens[resource])
            for parameters in parameter_lists:
                parameters.append(Var(resource, TRIGGER_TYPE))
        branch_results = []
        for side, (branch, region) in enumerate(zip(branches, regions, strict=True)):
            region_names = used_names(region)
            for position, parameter in enumerate(region.parameters):
                if parameter.name in region_names:
                    branch.values[parameter.name] = switch(position)[side]
            for position, resource in enumerate(resources, start=len(operands)):
                branch.order_tokens[resource] = switch(position)[side]
            results = self.lower_region(branch, region)
            branch_results.append([*results, *(branch.order_tokens[resource] for resource in resources)])
        merge_variables = [*node.results, *(Var(f"{node.name}.{resource}", TRIGGER_TYPE) for resource in resources)]
        merges = [
            self.add_node(scope, "merge", result.name, pair, [result.type], node)[0]
            for result, pair in zip(merge_variables, zip(*branch_results, strict=True), strict=True)
        ]
        scope.order_tokens.update(zip(resources, merges[len(node.results) :], strict=True))
        pullback_regions = [region.pullback for region in regions if region.pullback]
        if pullback_regions:  # L11
            scope.pullbacks[node.name] = lambda pullback: self._lower_branches(
                scope, pred, branches, pullback.inputs, pullback_regions, pullback
            )
        return merges[: len(node.results)]

    def _lower_call(self, scope: LoweringScope, node: Node) -> list[OutputRef]:
        """L2, L3, L8, L10."""
        callee = self.program[node.attribute("function")]
        site, resources = node.site(scope.function), self.resources[callee.name]
        self.builder.calls[site] = callee.name
        trigger = [Literal(True, TRIGGER_TYPE)] if callee.name in self.trigger_functions else []
        order_tokens = [scope.order_tokens[resource] for resource in resources]
        inputs = [*trigger, *order_tokens, *map(scope.resolve_operand, node.inputs)]
        call_outputs: list[OutputRef] = []
        for data, parameter in zip(inputs, self._all_parameters(callee), strict=True):
            name = f"{node.name}.call_{parameter.name}"
            call_outputs += self.add_node(scope, "call", name, [data], [parameter.type], node, site=site)
        self.pending_calls.append((callee.name, 0, call_outputs))
        return_variables = [*node.results, *(Var(f"{node.name}.{resource}", TRIGGER_TYPE) for resource in resources)]
        sources = self._lower_returns(scope, node, callee, 0, site, return_variables)
        scope.order_tokens.update(zip(resources, sources[len(node.results) :], strict=True))
        return sources[: len(node.results)]

    def _lower_returns(
        self, scope: LoweringScope, node: Node, callee: FunctionDef, phase: int, site: Site, variables: Sequence[Var]
    ) -> list[OutputRef]:
        """Add the return nodes of a phase of a call, and register the next phase for its pullback (L11)."""
        return_nodes = self._add_return_nodes(callee.name, phase, site, scope.function, variables, node.location)
        attributes = ((PHASE, phase + 1),)
        next_phase = next(islice(callee.body.phases(), phase + 1, None), None)

        def lower_pullback(pullback: Node) -> list[OutputRef]:
            assert next_phase is not None
            details: dict[str, Any] = {"site": site, "attributes": attributes}
            call_outputs: list[OutputRef] = []
            for operand, (name, type_) in zip(pullback.inputs, next_phase.parameters, strict=True):
                call_name, inputs = f"{pullback.name}.call_{name}", [scope.resolve_operand(operand)]
                call_outputs += self.add_node(scope, "call", call_name, inputs, [type_], pullback, **details)
            self.pending_calls.append((callee.name, phase + 1, call_outputs))
            return self._lower_returns(scope, pullback, callee, phase + 1, site, pullback.results)

        if next_phase is not None:
            scope.pullbacks[node.name] = lower_pullback
        return [OutputRef(number, 0) for number in return_nodes]

    def _add_return_nodes(
        self, callee: str, phase: int, site: Site, function: str, results: Sequence[Var], location: Location | None
    ) -> list[int]:
        """L3: one return per result, connected once every body is lowered."""
        details: dict[str, Any] = {"function": function, "site": site, "location": location}
        details["attributes"] = ((PHASE, phase),) if phase else ()
        numbers = [self.builder.node("return", name, [None], [type_], **details)[0].node for name, type_ in results]
        self.pending_returns.append((callee, phase, numbers))
        return numbers

    def add_node(
        self,
        scope: LoweringScope,
        op: str,
        name: str,
        inputs: Sequence[PortInput],
        types: list[Type],
        node: Node,
        **details: Any,
    ) -> list[OutputRef]:
        """L7: add a node; it gets the region's trigger if it has nothing but literals."""
        has_only_literals = all(isinstance(port, Literal) for port in inputs)
        trigger = scope.trigger() if has_only_literals else None
        return self.builder.node(
            op, name, inputs, types, function=scope.function, trigger=trigger, location=node.location, **details
        )

    def _as_token(self, scope: LoweringScope, value: OutputRef | Literal, node: Node | None = None) -> OutputRef:
        """L7: the value as a token, for ports that take no literal."""
        if isinstance(value, OutputRef):
            return value
        name = "literal"
        while any(used_name.startswith(name) for used_name in self.names_by_function[scope.function]):
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
