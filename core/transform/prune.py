"""Pruning: the part of a program that computes some values of its main body, given others.

Any value may be fetched and any fed, and unneeded nodes go, as in a step of a TensorFlow session
(Abadi et al., OSDI 2016, 3.2).

P1  A value that is fetched or fed is a value of the main body, by its name: a parameter, or a result of a node there.
    It is not a cell handle, and a value that is fed has its type.
P2  A value that is fed replaces the result of its node; the node fires only if another of its results is needed.
P3  A value is needed if it is fetched, or if a needed node takes it. A node of the main body that is not needed does
    not fire, does not trap, and has no effect. Nor do nodes inside a cond, a loop, or a function with one call site
    that contribute only to results that are not needed, unless they have effects or may put to cells.
P4  If cells are needed, so is everything that may put to them. If a phase of a call, cond or loop is needed, so are all
    phases before it.
P5  Random draws are those of the whole program.

A name inside a loop or a called function has many values in a run, one for each tag. Fetching these is the business of
`interp.function.tagged_values`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..errors import Usage
from ..graph.scope import defined_names
from ..ops.effects import EFFECT_OPS
from ..program import hints
from ..program.adjoint_names import unique_name
from ..program.program import PULLBACK_TARGET, Function, Node, Operand, Program, Region, Var
from ..types import HandleType, Type
from .prune_calls import prune_calls
from .prune_phases import PhasePruner, phase_counts, rename_functions
from .prune_results import READ_OPS, ResultPruner


class PruneResult(NamedTuple):
    """A pruned program, and the original names of the values that are the parameters of its main function."""

    program: Program
    parameter_names: tuple[str, ...]


def prune_program(
    program: Program, fetches: Sequence[str] | None = None, feeds: Iterable[str] = (), keep: Collection[str] = ()
) -> PruneResult:
    """The program that computes the fetched values of the main body, or else its results, given the values that are
    fed.

    Its parameters are the needed ones of the original parameters, then the needed ones of the fed values, in that
    order. The main function gets another name if the program also calls it. The nodes named in `keep` stay, whole.

    Raises Usage where a name is no value of the main body (P1), or where random draws would change (P5).
    """
    made = _prune_main(program, fetches, feeds, keep)
    if keep:
        return made
    while (fewer := prune_calls(made.program)) is not made.program:
        again = _prune_main(fewer)
        given = dict(zip((var.name for var in made.program.main.body.parameters), made.parameter_names, strict=True))
        made = PruneResult(again.program, tuple(given[name] for name in again.parameter_names))
    return made


def _prune_main(
    program: Program, fetches: Sequence[str] | None = None, feeds: Iterable[str] = (), keep: Collection[str] = ()
) -> PruneResult:
    """As `prune_program`, without pruning results of called functions."""
    main = _MainBody(program)
    fed = dict.fromkeys(main.check_value(name, "fed") for name in feeds)
    wanted: Sequence[Operand] = main.body.results
    types = main.function.results
    if fetches is not None:
        wanted = [main.check_value(name, "fetched") for name in fetches]
        types = tuple(main.types[name] for name in wanted if isinstance(name, str))
    left = main.prune_nodes(wanted, fed, keep)
    made = {result.name for node in left for result in node.results}
    calls = {name: unique_name("", name, defined_names(main.function)) if name in made else name for name in fed}
    fewer = PhasePruner(program)
    nodes = [_rename_inputs(node, calls) for node in left]
    begun = phase_counts(nodes)
    cut = [fewer.prune_node(node, begun[node.name]) if node.name in begun else node for node in nodes]
    results = tuple(calls.get(result, result) if isinstance(result, str) else result for result in wanted)
    used = {each for each in results if isinstance(each, str)}
    used |= {each for node in cut for each in node.inputs if isinstance(each, str)}
    parameters = [var for var in main.body.parameters if var.name in used and var.name not in fed]
    given = {name: Var(called, main.types[name]) for name, called in calls.items() if called in used}
    body = Region((*parameters, *given.values()), tuple(cut), results)
    taken = (*(var.name for var in parameters), *given)
    if body == main.body:
        return PruneResult(program, taken)
    return PruneResult(_replace_entry(program, replace(main.function, body=body, results=types), fewer), taken)


class _MainBody:
    """The main function of a program, with the nodes and types of its body by name."""

    def __init__(self, program: Program, left: Sequence[Node] | None = None) -> None:
        """`left` has the nodes of the body that are left, if some are pruned already."""
        self.program, self.function = program, program.main
        self.body = program.main.body
        self.nodes = self.body.nodes if left is None else left
        self.producers = {result.name: node for node in self.nodes for result in node.results}
        self.types = dict[str, Type](self.body.parameters)
        self.types |= {name: type_ for node in self.body.nodes for name, type_ in node.results}

    def check_value(self, name: str, done: str) -> str:
        """P1: return the name if it is a value that may be fetched or fed."""
        type_, place = self.types.get(name), self.function.location or self.function.name
        if type_ is None:
            raise self._unknown_name_error(name, done)
        if isinstance(type_.dtype, HandleType):
            hint = f"what get or collect makes of them can be {done}"
            where = self.producers[name].location or place
            raise Usage(f"{name} stands for cells, which do not leave a program", rule="P1", where=where, hint=hint)
        return name

    def _unknown_name_error(self, name: str, done: str) -> Usage:
        """The error for a name that is not in the main body: it is a value elsewhere, or nowhere."""
        called, place = self.function.name, self.function.location or self.function.name
        inside = enclosing_tag(self.program, name)
        if inside is not None:
            required, hint = "the tag under which it is meant, too", f"write {inside}/{name}"
            message = f"{name} is no value of the main body of {called}: it has one under each tag"
            return Usage(message, rule="P1", where=place, required=required, got=name, hint=hint)
        there = ", ".join([*self.types][:40])
        hint = hints.suggest_name(name, self.types) or "tl.print_program shows the names"
        message = f"{called} has no value that could be {done} by this name"
        return Usage(message, rule="P1", where=place, required=there or "a value", got=name, hint=hint)

    def prune_nodes(self, wanted: Sequence[Operand], fed: Collection[str], keep: Collection[str]) -> tuple[Node, ...]:
        """P2 to P4: the nodes needed for the wanted values, given the fed ones, each pruned to its needed results
        unless kept."""
        fewer, nodes = ResultPruner(self.program), self.body.nodes
        while True:
            needed = _MainBody(self.program, nodes).required_nodes(wanted, fed, keep)
            there = [node for node in nodes if node.name in needed]
            used = {each for each in wanted if isinstance(each, str)}
            used |= {each for node in there for each in node.inputs if isinstance(each, str)}
            used -= {*fed}
            slim = tuple(node if node.name in keep else fewer.prune_node(node, used) for node in there)
            if slim == nodes:
                return slim
            nodes = slim

    def required_nodes(self, wanted: Iterable[Operand], fed: Iterable[str], keep: Iterable[str]) -> set[str]:
        """P2 to P4: the names of the nodes needed for the wanted values, given the fed ones."""
        given, cells = set(fed), self._cell_writers()

        def find_producers(operands: Iterable[Operand]) -> Iterator[Node]:
            names = (each for each in operands if isinstance(each, str) and each not in given)
            return (self.producers[name] for name in names if name in self.producers)

        ahead, found = [*find_producers(wanted), *(self.producers[name] for name in keep)], set[str]()
        while ahead:
            node = ahead.pop()
            if node.name in found:
                continue
            found.add(node.name)
            ahead += find_producers(node.inputs)
            ahead += [self.producers[node.attribute(PULLBACK_TARGET)]] if node.op == "pullback" else []
            for name in self._cell_handles(node):
                ahead += cells.get(name, ())
        return found

    def _cell_handles(self, node: Node) -> list[str]:
        """The handles that a node takes or returns; of a pullback, also those of the node that it goes back through."""
        names = [each for each in node.inputs if isinstance(each, str)] + [name for name, _ in node.results]
        found = [name for name in names if isinstance(self.types[name].dtype, HandleType)]
        return (
            found + self._cell_handles(self.producers[node.attribute(PULLBACK_TARGET)])
            if node.op == "pullback"
            else found
        )

    def _cell_writers(self) -> dict[str, list[Node]]:
        """P4: for each handle, the nodes that may put to its cells.

        If two handles denote the same cells, some node takes one and returns the other, and that node is listed under
        both.
        """
        found: dict[str, list[Node]] = {}
        for node in self.nodes:
            for name in self._cell_handles(node) if node.op not in READ_OPS else ():
                found.setdefault(name, []).append(node)
        return found


def _rename_inputs(node: Node, calls: dict[str, str]) -> Node:
    """The node with its fed operands renamed."""
    return replace(node, inputs=tuple(calls.get(each, each) if isinstance(each, str) else each for each in node.inputs))


def _replace_entry(program: Program, main: Function, fewer: PhasePruner) -> Program:
    """The program with another main function and the functions that it calls. A pruned function takes over the name of
    the original, on which random numbers depend (P5), if nothing calls the original any more."""
    entry = fewer.fresh_name(main.name)
    made = (replace(main, name=entry), *fewer.pruned_functions.values())
    whole = Program((*made, *program.functions), entry)
    reached = whole.reachable_functions()
    left = {function.name for function in reached}
    names: dict[str, str] = {}
    for name, of in fewer.original_names.items():
        if name in left and of not in left and of not in names.values():
            names[name] = of
    for function in reached:
        if function.name in fewer.original_names and function.name not in names:
            _check_random_draws(whole, function.name, fewer.original_names[function.name])
    return Program(tuple(rename_functions(function, names) for function in reached), names.get(entry, entry))


def _check_random_draws(program: Program, name: str, of: str) -> None:
    """P5: raises Usage where a renamed function draws, or calls a function that draws."""
    for function in replace(program, entry=name).reachable_functions():
        for node in function.body.walk():
            if node.op in EFFECT_OPS and EFFECT_OPS[node.op].draw:
                raise Usage(
                    f"{of} is needed both as a part and as a whole, and draws random numbers, which depend on its name",
                    rule="P5",
                    where=node.location or node.name,
                    got=node.op,
                    hint=f"let {of} be called by a function that it does not call, and fetch there",
                )


def check_name(program: Program, name: str) -> None:
    """Raises Usage where a program has no value of this name, alone or as `function.name` (P1)."""
    names = set[str]()
    for function in program.reachable_functions():
        own = _value_names(function)
        names |= own | {f"{function.name}.{each}" for each in own}
    if name not in names:
        place, hint = program.main.location or program.entry, hints.suggest_name(name, names)
        message = f"{program.entry}, with what it calls, has no value by this name"
        raise Usage(message, rule="P1", where=place, got=name, hint=hint or "tl.print_program shows the names")


def enclosing_tag(program: Program, name: str) -> str | None:
    """The first tag, outside the main body, under which a value of this name is; None where there is none."""
    ahead = deque([(program.main.body, "main")])
    seen = {program.entry}
    while ahead:
        region, tag = ahead.popleft()
        for node in (node for phase in region.phases() for node in phase.nodes):
            if any(result.name == name for result in node.results):
                return tag
            inside = f"{tag}/{node.name}[0]" if node.op == "while_loop" else tag
            if any(variable.name == name for variable in _loop_variables(node)):
                return inside
            ahead += [(inner, inside) for inner in node.regions]
            if node.op == "call" and (callee := node.attribute("function")) not in seen:
                seen.add(callee)
                if any(parameter.name == name for parameter in program[callee].body.parameters):
                    return f"{tag}/{node.name}"
                ahead.append((program[callee].body, f"{tag}/{node.name}"))
    return None


def enclosing_nodes(program: Program, name: str, site: str | None = None) -> list[str]:
    """The names of the nodes of the main body that compute a value of this name, themselves, in their regions or in
    their callees. With `site`, only those that contain the call or loop of that name."""
    reached: dict[str, bool] = {}

    def defines_name(function: str) -> bool:
        if function not in reached:
            reached[function] = any(
                name in _value_names(each) for each in replace(program, entry=function).reachable_functions()
            )
        return reached[function]

    def produces_name(node: Node) -> bool:
        return any(var.name == name for var in (*node.results, *_loop_variables(node)))

    found = []
    for node in program.main.body.nodes:
        below = [node, *(inner for region in node.regions for inner in region.walk())]
        is_there = any(
            produces_name(each) or (each.op == "call" and defines_name(each.attribute("function"))) for each in below
        )
        if is_there and (site is None or any(each.name == site for each in below)):
            found.append(node.name)
    return found


def _value_names(function: Function) -> set[str]:
    """The names of the values in a function: parameters, results of nodes, and variables of loops."""
    return defined_names(function) | {var.name for node in function.body.walk() for var in _loop_variables(node)}


def _loop_variables(node: Node) -> tuple[Var, ...]:
    """The variables of a loop. Each has one value per iteration."""
    return node.regions[-1].parameters if node.op == "while_loop" else ()
