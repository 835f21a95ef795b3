"""Pruning: the part of a program that computes some values of its main body, given others.

Any value may be fetched or fed, and unneeded nodes are removed, as in a step of a TensorFlow session (Abadi et al.,
OSDI 2016, 3.2).

P1  A value that is fetched or fed is a value of the main body, by its name: a parameter, or a result of a node there.
    It is not a cell handle, and a value that is fed has its type.
P2  A value that is fed replaces the result of its node; the node fires only if another of its results is needed.
P3  A value is needed if it is fetched, or if a needed node takes it. A node of the main body that is not needed does
    not fire, does not trap, and has no effect. Nor do nodes inside a cond, a loop, or a function with one call site
    that contribute only to results that are not needed, unless they have effects or may put to cells.
P4  If cells are needed, so is everything that may put to them. If a phase of a call, cond or loop is needed, so are all
    phases before it.
P5  Random draws are the same as in the whole program.

A name inside a loop or a called function has many values in a run, one for each tag. `interp.function.fetch_feed`
fetches these.

`prune_main_body` prunes nodes of the main body. `ResultPruner` prunes results of conds and loops, with the nodes that
only they need; `prune_calls` prunes results and parameters of functions with one call site. `PhasePruner` removes
further phases that nothing begins (V17).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from ..errors import Usage
from ..graph.lower import function_resources
from ..ops.effects import EFFECT_OPS, resource_of
from ..program import hints
from ..program.program import (
    PULLBACK_TARGET,
    FunctionDef,
    Node,
    Operand,
    Program,
    Region,
    Var,
    defined_names,
    operand_names,
    unique_name,
    used_names,
)
from ..types import HandleType, Type

READ_OPS = ("get", "collect", "cell_zeros")
"""Ops that take a handle and put nothing."""


class PruneResult(NamedTuple):
    """A pruned program, and the original names of the values that are the parameters of its main function."""

    program: Program
    parameter_names: tuple[str, ...]


def prune_program(
    program: Program, fetches: Sequence[str] | None = None, feeds: Iterable[str] = (), kept_nodes: Collection[str] = ()
) -> PruneResult:
    """The program that computes the fetched values of the main body, or else its results, given the values that are
    fed.

    Its parameters are the needed ones of the original parameters, then the needed ones of the fed values, in that
    order. The main function gets another name if the program also calls it. `kept_nodes` are not pruned.

    Raises Usage where a name is not a value of the main body (P1), or where random draws would change (P5).
    """
    result = prune_main_body(program, fetches, feeds, kept_nodes)
    if kept_nodes:
        return result
    while (smaller := prune_calls(result.program)) is not result.program:
        parameters = (var.name for var in result.program.main.body.parameters)
        original_names = dict(zip(parameters, result.parameter_names, strict=True))
        pruned, parameter_names = prune_main_body(smaller)
        result = PruneResult(pruned, tuple(original_names[name] for name in parameter_names))
    return result


def prune_main_body(
    program: Program, fetches: Sequence[str] | None = None, feeds: Iterable[str] = (), kept_nodes: Collection[str] = ()
) -> PruneResult:
    """As `prune_program`, without pruning results of called functions."""
    main = MainBody(program)
    fed_names = dict.fromkeys(main.check_value(name, "fed") for name in feeds)
    fetched_values: Sequence[Operand] = main.body.results
    types = main.function.results
    if fetches is not None:
        fetched_values = [main.check_value(name, "fetched") for name in fetches]
        types = tuple(main.types[name] for name in fetches)
    required_nodes = main.prune_nodes(fetched_values, fed_names, kept_nodes)
    computed_names = {result.name for node in required_nodes for result in node.results}
    new_names = {
        name: unique_name("", name, defined_names(main.function)) if name in computed_names else name
        for name in fed_names
    }
    renamed_nodes = [rename_inputs(node, new_names) for node in required_nodes]
    phase_pruner, phases = PhasePruner(program), phase_counts(renamed_nodes)
    nodes = [
        phase_pruner.prune_node(node, phases[node.name]) if node.name in phases else node for node in renamed_nodes
    ]
    results = tuple(new_names.get(result, result) if isinstance(result, str) else result for result in fetched_values)
    used_values = {*operand_names(results), *operand_names(operand for node in nodes for operand in node.inputs)}
    parameters = [var for var in main.body.parameters if var.name in used_values and var.name not in fed_names]
    fed_parameters = {name: Var(new, main.types[name]) for name, new in new_names.items() if new in used_values}
    body = Region((*parameters, *fed_parameters.values()), tuple(nodes), results)
    parameter_names = (*(var.name for var in parameters), *fed_parameters)
    if body == main.body:
        return PruneResult(program, parameter_names)
    function = replace(main.function, body=body, results=types)
    return PruneResult(replace_entry(program, function, phase_pruner), parameter_names)


class MainBody:
    """The main function of a program, with the nodes and types of its body by name."""

    def __init__(self, program: Program, nodes: Sequence[Node] | None = None) -> None:
        """`nodes` are the remaining nodes of the body, if some are pruned already."""
        self.program, self.function = program, program.main
        self.body = program.main.body
        self.nodes = self.body.nodes if nodes is None else nodes
        self.producers = {result.name: node for node in self.nodes for result in node.results}
        self.types = dict[str, Type](self.body.parameters)
        self.types |= {name: type_ for node in self.body.nodes for name, type_ in node.results}

    def check_value(self, name: str, action: str) -> str:
        """P1: return the name if it is a value that may be fetched or fed; `action` says which, for messages."""
        type_, where = self.types.get(name), self.function.location or self.function.name
        if type_ is None:
            raise self.unknown_name_error(name, action)
        if isinstance(type_.dtype, HandleType):
            hint = f"the results of get and collect can be {action}"
            where = self.producers[name].location or where
            raise Usage(f"{name} is a handle of cells, which cannot leave a program", rule="P1", where=where, hint=hint)
        return name

    def unknown_name_error(self, name: str, action: str) -> Usage:
        """The error for a name that is not in the main body: it is a value elsewhere, or nowhere."""
        function, where = self.function.name, self.function.location or self.function.name
        tag = enclosing_tag(self.program, name)
        if tag is not None:
            required, hint = "a tag before the name", f"write {tag}/{name}"
            message = f"{name} is not a value of the main body of {function}: it has one under each tag"
            return Usage(message, rule="P1", where=where, required=required, got=name, hint=hint, python=KeyError)
        values = ", ".join([*self.types][:40])
        hint = hints.suggest_name(name, self.types) or "tl.print_program shows the names"
        message = f"{function} has no value of this name that could be {action}"
        required = values or "a value"
        return Usage(message, rule="P1", where=where, required=required, got=name, hint=hint, python=KeyError)

    def prune_nodes(
        self, fetched_values: Sequence[Operand], fed_names: Collection[str], kept_nodes: Collection[str]
    ) -> tuple[Node, ...]:
        """P2 to P4: the nodes needed for the fetched values, given the fed ones, each pruned to its needed results
        unless it is kept."""
        pruner, nodes = ResultPruner(self.program), self.body.nodes
        while True:
            names = MainBody(self.program, nodes).required_nodes(fetched_values, fed_names, kept_nodes)
            required_nodes = [node for node in nodes if node.name in names]
            operands = [operand for node in required_nodes for operand in node.inputs]
            used_values = {*operand_names(fetched_values), *operand_names(operands)} - {*fed_names}
            pruned = tuple(
                node if node.name in kept_nodes else pruner.prune_node(node, used_values) for node in required_nodes
            )
            if pruned == nodes:
                return pruned
            nodes = pruned

    def required_nodes(
        self, fetched_values: Iterable[Operand], fed_names: Iterable[str], kept_nodes: Iterable[str]
    ) -> set[str]:
        """P2 to P4: the names of the nodes needed for the fetched values, given the fed ones."""
        writers = self.cell_writers()

        def find_producers(operands: Iterable[Operand]) -> Iterator[Node]:
            names = (name for name in operand_names(operands) if name in self.producers and name not in fed_names)
            return map(self.producers.__getitem__, names)

        queue, required_names = (
            [*find_producers(fetched_values), *(self.producers[name] for name in kept_nodes)],
            set[str](),
        )
        while queue:
            node = queue.pop()
            if node.name in required_names:
                continue
            required_names.add(node.name)
            queue += find_producers(node.inputs)
            queue += [self.producers[node.attribute(PULLBACK_TARGET)]] if node.op == "pullback" else []
            for name in self.cell_handles(node):
                queue += writers.get(name, ())
        return required_names

    def cell_handles(self, node: Node) -> list[str]:
        """The handles that a node takes or returns; for a pullback, also those of the node that it reverses."""
        names = [*operand_names(node.inputs), *(name for name, _ in node.results)]
        handles = [name for name in names if isinstance(self.types[name].dtype, HandleType)]
        if node.op == "pullback":
            handles += self.cell_handles(self.producers[node.attribute(PULLBACK_TARGET)])
        return handles

    def cell_writers(self) -> dict[str, list[Node]]:
        """P4: for each handle, the nodes that may put to its cells.

        If two handles denote the same cells, some node takes one and returns the other, and that node is listed under
        both.
        """
        writers: dict[str, list[Node]] = {}
        for node in self.nodes:
            for name in self.cell_handles(node) if node.op not in READ_OPS else ():
                writers.setdefault(name, []).append(node)
        return writers


def rename_inputs(node: Node, names: dict[str, str]) -> Node:
    """The node with its fed operands renamed."""
    inputs = (names.get(operand, operand) if isinstance(operand, str) else operand for operand in node.inputs)
    return replace(node, inputs=tuple(inputs))


def replace_entry(program: Program, main: FunctionDef, pruner: PhasePruner) -> Program:
    """The program with another main function and the functions that it calls. A pruned function takes over the name of
    the original, on which random numbers depend (P5), if nothing calls the original any more."""
    entry = pruner.fresh_name(main.name)
    full_program = Program((replace(main, name=entry), *pruner.pruned_functions.values(), *program.functions), entry)
    functions = full_program.reachable_functions()
    reachable = {function.name for function in functions}
    names: dict[str, str] = {}
    for name, original in pruner.original_names.items():
        if name in reachable and original not in reachable and original not in names.values():
            names[name] = original
    for function in functions:
        if function.name in pruner.original_names and function.name not in names:
            check_random_draws(full_program, function.name, pruner.original_names[function.name])
    return Program(tuple(rename_functions(function, names) for function in functions), names.get(entry, entry))


def check_random_draws(program: Program, name: str, original: str) -> None:
    """P5: raises Usage where a renamed function draws, or calls a function that draws."""
    for function in program.reachable_functions(name):
        for node in function.body.walk():
            if node.op in EFFECT_OPS and EFFECT_OPS[node.op].draw:
                message = f"{original} is run both in part and in full, and draws random numbers"
                raise Usage(
                    f"{message}, which depend on its name",
                    rule="P5",
                    where=node.location or node.name,
                    got=node.op,
                    hint=f"fetch from a function that calls {original}, and that {original} does not call",
                )


def check_name(program: Program, name: str) -> None:
    """Raises Usage where a program has no value of this name, alone or as `function.name` (P1)."""
    names = set[str]()
    for function in program.reachable_functions():
        function_names = value_names(function)
        names |= function_names | {f"{function.name}.{value}" for value in function_names}
    if name not in names:
        where, hint = program.main.location or program.entry, hints.suggest_name(name, names)
        message = f"neither {program.entry} nor a function that it calls has a value of this name"
        hint = hint or "tl.print_program shows the names"
        raise Usage(message, rule="P1", where=where, got=name, hint=hint, python=KeyError)


def enclosing_tag(program: Program, name: str) -> str | None:
    """The first tag, outside the main body, under which a value of this name occurs; None if there is none."""
    queue = deque([(program.main.body, "main")])
    entered = {program.entry}
    while queue:
        region, tag = queue.popleft()
        for node in (node for phase in region.phases() for node in phase.nodes):
            if any(result.name == name for result in node.results):
                return tag
            inner_tag = f"{tag}/{node.name}[0]" if node.op == "while_loop" else tag
            if any(variable.name == name for variable in loop_variables(node)):
                return inner_tag
            queue += [(inner, inner_tag) for inner in node.regions]
            if node.op == "call" and (callee := node.attribute("function")) not in entered:
                entered.add(callee)
                if any(parameter.name == name for parameter in program[callee].body.parameters):
                    return f"{tag}/{node.name}"
                queue.append((program[callee].body, f"{tag}/{node.name}"))
    return None


def enclosing_nodes(program: Program, name: str, site: str | None = None) -> list[str]:
    """The names of the nodes of the main body that compute a value of this name, themselves, in their regions or in
    their callees. With `site`, only those that contain the call or loop of that name."""
    results: dict[str, bool] = {}

    def defines_name(function: str) -> bool:
        if function not in results:
            results[function] = any(name in value_names(callee) for callee in program.reachable_functions(function))
        return results[function]

    def produces_name(node: Node) -> bool:
        return any(var.name == name for var in (*node.results, *loop_variables(node)))

    def computes_value(node: Node) -> bool:
        inner_nodes = [node, *(inner for region in node.regions for inner in region.walk())]
        if site is not None and all(inner.name != site for inner in inner_nodes):
            return False
        return any(
            produces_name(inner) or (inner.op == "call" and defines_name(inner.attribute("function")))
            for inner in inner_nodes
        )

    return [node.name for node in program.main.body.nodes if computes_value(node)]


def value_names(function: FunctionDef) -> set[str]:
    """The names of the values in a function: parameters, results of nodes, and variables of loops."""
    return defined_names(function) | {var.name for node in function.body.walk() for var in loop_variables(node)}


def loop_variables(node: Node) -> tuple[Var, ...]:
    """The variables of a loop. Each has one value per iteration."""
    return node.regions[-1].parameters if node.op == "while_loop" else ()


class CallSite(NamedTuple):
    """A call with its caller, and the positions of the needed results. The first result is always kept: it names the
    node."""

    caller: str
    node: Node
    required_results: tuple[int, ...]
    is_caller_prunable: bool = False
    """Whether the caller may be pruned too, which removes values that it no longer needs."""


def prune_calls(program: Program) -> Program:
    """P3: the program in which each function with one call site returns and takes only the values that this site needs.

    A function with several call sites, or a recursive one, is not pruned, since each call site relies on it; nor is a
    function with a pullback or a gradient rule.
    """
    while (call_site := next(prunable_calls(program), None)) is not None:
        program = prune_call(program, call_site)
    return program


def prunable_calls(program: Program) -> Iterator[CallSite]:
    """The single call sites of functions that have unneeded results or unused parameters."""
    functions = program.reachable_functions()
    rules = {function.gradient_rule for function in functions}
    call_sites: dict[str, list[CallSite]] = {}
    for function in functions:
        for node, used_values in calls_with_uses(function.body):
            required = tuple(
                position for position, result in enumerate(node.results) if position == 0 or result.name in used_values
            )
            call_sites.setdefault(node.attribute("function"), []).append(CallSite(function.name, node, required))

    def is_prunable(name: str) -> bool:
        has_rules = name in rules or program[name].gradient_rule or has_pullback(program[name].body)
        return len(call_sites[name]) == 1 and name != program.entry and not has_rules

    single = {name: sites[0] for name, sites in call_sites.items() if is_prunable(name)}
    for function in functions:
        call_site = single.get(function.name)
        if call_site is None:
            continue
        counts = len(call_site.required_results), len(used_parameters(function.body))
        if counts != (len(function.results), len(function.body.parameters)):
            yield call_site._replace(is_caller_prunable=call_site.caller in single)


def calls_with_uses(region: Region) -> Iterator[tuple[Node, set[str]]]:
    """The calls in a region and in regions inside it, each with the names used in its region."""
    used_values = used_names(region)
    for phase in region.phases():
        for node in phase.nodes:
            if node.op == "call":
                yield node, used_values
            for inner in node.regions:
                yield from calls_with_uses(inner)


def prune_call(program: Program, call_site: CallSite) -> Program:
    """The program in which one callee is pruned to the needs of its call, and its caller is pruned where that is
    allowed. Functions that nothing calls any more are removed."""
    call, required = call_site.node, call_site.required_results
    pruner, callee = ResultPruner(program), program[call.attribute("function")]
    body = pruner.prune_region(callee.body, required)
    positions = used_parameters(body)
    body = select_parameters(body, positions)
    inputs = tuple(call.inputs[position] for position in positions)
    results = tuple(call.results[position] for position in required)
    caller = program[call_site.caller]
    caller_body = replace_node(caller.body, call, replace(call, inputs=inputs, results=results))
    if call_site.is_caller_prunable:
        caller_body = pruner.prune_region(caller_body, range(len(caller_body.results)))
    new_functions = {
        callee.name: replace(callee, body=body, results=tuple(callee.results[position] for position in required)),
        caller.name: replace(caller, body=caller_body),
    }
    smaller_program = replace(
        program, functions=tuple(new_functions.get(function.name, function) for function in program.functions)
    )
    return replace(smaller_program, functions=smaller_program.reachable_functions())


def replace_node(region: Region, old: Node, new: Node) -> Region:
    """The region with one node replaced, wherever it is inside."""
    nodes = tuple(
        new if node is old else replace(node, regions=tuple(replace_node(inner, old, new) for inner in node.regions))
        for node in region.nodes
    )
    return replace(region, nodes=nodes, pullback=region.pullback and replace_node(region.pullback, old, new))


class ResultPruner:
    """P3: removes unneeded results from conds and loops, with the nodes that only they need.

    The first result is always kept: it names the node. So are nodes with effects, nodes that may put to cells, and
    nodes with pullbacks.
    """

    def __init__(self, program: Program) -> None:
        self._effectful_functions = {name for name, resources in function_resources(program).items() if resources}

    def prune_node(self, node: Node, used_values: Collection[str]) -> Node:
        """A cond or loop with only the results that are used, the first one, and those that a loop needs for them."""
        if node.op not in ("cond", "while_loop") or any(map(has_pullback, node.regions)):
            return node
        result_positions = [
            position for position, result in enumerate(node.results) if position == 0 or result.name in used_values
        ]
        return self.prune_cond(node, result_positions) if node.op == "cond" else self.prune_loop(node, result_positions)

    def prune_cond(self, node: Node, result_positions: Sequence[int]) -> Node:
        """A cond with only these results, and the operands that its branches then use."""
        branches = [self.prune_region(branch, result_positions) for branch in node.regions]
        positions = sorted({position for branch in branches for position in used_parameters(branch)})
        inputs = (node.inputs[0], *(node.inputs[position + 1] for position in positions))
        regions = tuple(select_parameters(branch, positions) for branch in branches)
        return replace(
            node, inputs=inputs, results=tuple(node.results[position] for position in result_positions), regions=regions
        )

    def prune_loop(self, node: Node, result_positions: list[int]) -> Node:
        """A loop with only the variables that it needs: those whose result is needed, and those that the condition or
        the next value of a needed variable uses."""
        condition = self.prune_region(node.regions[0], [0])
        body, positions = node.regions[1], result_positions
        while True:
            body = self.prune_region(node.regions[1], positions)
            required = sorted({*positions, *used_parameters(condition), *used_parameters(body)})
            if required == positions:
                break
            positions = required
        regions = tuple(select_parameters(region, positions) for region in (condition, body))
        inputs, results = (
            tuple(node.inputs[position] for position in positions),
            tuple(node.results[position] for position in positions),
        )
        return replace(node, inputs=inputs, results=results, regions=regions)

    def prune_region(self, region: Region, result_positions: Sequence[int]) -> Region:
        """The region with only these results, and the nodes that they need."""
        results = tuple(region.results[position] for position in result_positions)
        used_values = set(operand_names(results))
        types = dict([*region.parameters, *(result for node in region.nodes for result in node.results)])
        nodes: list[Node] = []
        for node in reversed(region.nodes):
            if self.has_effects(node, types) or any(result.name in used_values for result in node.results):
                nodes.insert(0, self.prune_node(node, used_values))
                used_values.update(operand_names(nodes[0].inputs))
        return replace(region, nodes=tuple(nodes), results=results)

    def has_effects(self, node: Node, types: Mapping[str, Type]) -> bool:
        """Whether a node may have effects, or put to cells that are visible outside it."""
        inner_nodes = [node, *(inner for region in node.regions for inner in region.walk())]
        callees = {inner.attribute("function") for inner in inner_nodes if inner.op == "call"}
        if callees & self._effectful_functions or any(resource_of(inner.op) for inner in inner_nodes):
            return True
        operand_types = [] if node.op in READ_OPS else [types[name] for name in operand_names(node.inputs)]
        result_types = [type_ for _, type_ in node.results]
        return any(isinstance(type_.dtype, HandleType) for type_ in (*operand_types, *result_types))


def has_pullback(region: Region) -> bool:
    """Whether a region has further phases, or contains a pullback."""
    return region.pullback is not None or any(inner_node.op == "pullback" for inner_node in region.walk())


def used_parameters(region: Region) -> list[int]:
    """The positions of the parameters that a region uses."""
    used_values = used_names(region)
    return [position for position, variable in enumerate(region.parameters) if variable.name in used_values]


def select_parameters(region: Region, positions: Iterable[int]) -> Region:
    """The region with only the parameters at these positions."""
    return replace(region, parameters=tuple(region.parameters[position] for position in positions))


class PhasePruner:
    """Removes the further phases that nothing begins from nodes of a program, and from the functions that they call
    (V17). A call then names another function, a copy without these phases."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._used_names = {function.name for function in program.functions}
        self._pruned_names: dict[tuple[str, int], str] = {}
        self.pruned_functions: dict[str, FunctionDef] = {}
        """The pruned functions, by their new names."""
        self.original_names: dict[str, str] = {}
        """The original name of each pruned function, by its new name."""

    def fresh_name(self, name: str) -> str:
        """A new name for a pruned function."""
        fresh = unique_name("", name, self._used_names)
        self._used_names.add(fresh)
        self.original_names[fresh] = name
        return fresh

    def prune_node(self, node: Node, phases: int) -> Node:
        """A call, cond or loop with only its first phases."""
        if node.op == "call":
            return replace(node, attributes=(("function", self.prune_function(node.attribute("function"), phases)),))
        return replace(node, regions=tuple(self.prune_region(region, phases) for region in node.regions))

    def prune_region(self, region: Region, phases: int) -> Region:
        """A region with only its first phases."""
        first_phases = list(islice(region.phases(), phases))
        counts = phase_counts(node for phase in first_phases for node in phase.nodes)
        pruned: Region | None = None
        for phase in reversed(first_phases):
            nodes = tuple(
                self.prune_node(node, counts[node.name]) if node.name in counts else node for node in phase.nodes
            )
            pruned = replace(phase, nodes=nodes, pullback=pruned)
        assert pruned is not None
        return pruned

    def prune_function(self, name: str, phases: int) -> str:
        """The name of the function that has only the first phases of this one."""
        function = self._program[name]
        if phases > len(function.pullback_result_types):
            return name
        if (name, phases) not in self._pruned_names:
            fresh = self._pruned_names[name, phases] = self.fresh_name(
                name
            )  # before the body is pruned, which may call it
            self.pruned_functions[fresh] = replace(
                function,
                name=fresh,
                body=self.prune_region(function.body, phases),
                pullback_result_types=function.pullback_result_types[: phases - 1],
            )
        return self._pruned_names[name, phases]


def phase_counts(nodes: Iterable[Node]) -> dict[str, int]:
    """For each call, cond and loop among nodes in program order, how many of its phases begin."""
    roots: dict[str, str] = {}
    counts: dict[str, int] = {}
    for node in nodes:
        if node.op == "pullback":
            target = node.attribute(PULLBACK_TARGET)
            roots[node.name] = roots.get(target, target)
            counts[roots[node.name]] += 1
        elif node.op in ("call", "cond", "while_loop"):
            counts[node.name] = 1
    return counts


def rename_functions(function: FunctionDef, names: Mapping[str, str]) -> FunctionDef:
    """The function with its name, and the names of its callees, replaced."""
    return replace(function, name=names.get(function.name, function.name), body=rename_region(function.body, names))


def rename_region(region: Region, names: Mapping[str, str]) -> Region:
    """The region with the names of callees replaced, in all phases."""
    nodes = []
    for node in region.nodes:
        if node.op == "call":
            callee = node.attribute("function")
            node = replace(node, attributes=(("function", names.get(callee, callee)),))
        nodes.append(replace(node, regions=tuple(rename_region(inner, names) for inner in node.regions)))
    pullback = rename_region(region.pullback, names) if region.pullback else None
    return replace(region, nodes=tuple(nodes), pullback=pullback)
