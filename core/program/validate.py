"""The well-formedness rules of programs. Each problem names the rule that it breaks.

V1  A name is defined before it is used, in the region that uses it.
V2  Names are unique: functions in a program; parameters and nodes in a function, and in each of its regions.
V3  A node's op exists, and the node has the number of operands, results and regions, and the attributes, that the op
    requires.
V4  Operands have types that the op accepts; the results have the types that it produces.
V5  Branches and loops fit: a predicate is one bool; branches take the operands; the results have the narrowest types
    that admit the values of both branches; loop variables have the types of the results throughout.
V6  A call names a function of the program and passes the arguments that it takes; its results have the types of the
    function's results. A function returns as many results as it declares, of the declared types. The entry is a
    function that neither takes nor returns cell handles.

V17 A call, cond or loop that has a further phase is followed by one `pullback` of it, in the same region or in a later
    phase of that region. If there are more phases, each `pullback` is followed by the next one in the same way. A
    `pullback` takes and returns what its phase does, and the regions of a phase fit as in V5. The entry has one phase.
    A further phase has no effects, nor has any function that it calls.

The rules of graphs, V7 to V16, are in `core.graph.validate` and `core.graph.contexts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from .. import dtypes
from ..errors import Invalid, plural
from ..ops.effects import ALL_OPS, is_allowed_in, resource_of
from ..ops.op import operand_count
from ..types import Type
from ..value import Literal
from . import hints
from .problems import check_attributes, check_iteration_bound, check_no_handles, check_structured_attributes, problem
from .program import (
    PULLBACK_TARGET,
    STRUCTURED_OPS,
    FunctionDef,
    Node,
    Operand,
    Program,
    Region,
    Var,
    operand_names,
    reachable_names,
)


def operand_problem(error: Invalid, node: Node, operands: list[Type], where: object) -> Invalid:
    """V4: the problem for operands that the type rule of an op rejects."""
    literals = [operand if isinstance(operand, Literal) else None for operand in node.inputs]
    hint = hints.suggest_operands(ALL_OPS[node.op], operands, literals, node.attributes, error.hint)
    required = error.required or "operands that the op takes"
    message, got = f"{node.op}: {error.message}", error.got if node.attributes else operands
    return problem("V4", message, where, required=required, got=got, hint=hint)


def loop_type_hint(type_: Type, next_type: Type, start: Operand) -> str:
    """The hint for a loop variable whose next value has another type."""
    if type_.dtype is next_type.dtype:
        return "start it with an unknown size, as in a parameter x: float64[?]"
    rewritten = hints.rewrite_literal(start, next_type.dtype) if isinstance(start, Literal) else None
    return f"start it with {f'`{rewritten}`' if rewritten else 'that type'}, or convert with astype"


def check_loop_variable_types(
    variables: Sequence[Var], sides: dict[str, list[Type]], where: object
) -> Iterator[Invalid]:
    """V5: each loop variable has one type in all parts of the loop."""
    for (name, _), start_type, *region_types in zip(variables, *sides.values(), strict=True):
        if any(type_ != region_types[0] for type_ in region_types) or not region_types[0].admits(start_type):
            yield problem(
                "V5",
                f"loop variable {name} has more than one type",
                where,
                required="one type",
                got=", ".join(
                    f"{type_} {side}" for side, type_ in zip(sides, [start_type, *region_types], strict=True)
                ),
                hint="write the type of the operand in both regions, or convert the operand with astype",
            )


def node_origin(node: Node) -> object:
    return node.location or (node.name if node.results else node.op)


def function_origin(function: FunctionDef) -> object:
    return function.location or function.name


def result_origin(region: Region, position: int, where: object) -> object:
    """The origin of a result of a region: the node that defines it, or `where`."""
    name = region.results[position] if position < len(region.results) else None
    origins = [node_origin(node) for node in region.nodes if any(result.name == name for result in node.results)]
    return origins[-1] if origins else where


def names_within(region: Region, where: object) -> list[tuple[str, object]]:
    """The parameters of a region, and its nodes that have the name of a parameter, each with its origin."""
    names = [parameter.name for phase in region.phases() for parameter in phase.parameters]
    nodes = [node for phase in region.phases() for node in phase.nodes]
    origins = {result.name: node_origin(node) for node in nodes for result in node.results if result.name in names}
    return [*((name, where) for name in names), *origins.items()]


def check_unique_names(origins: Iterable[tuple[str, object]], noun: str) -> Iterator[Invalid]:
    """V2: a problem for each name that is used twice, at its second use."""
    counts: dict[str, int] = {}
    for name, where in origins:
        counts[name] = counts.get(name, 0) + 1
        if counts[name] == 2:
            message = f"two {noun} have the same name"
            hint = "give one of them another name"
            yield problem("V2", message, where, required="unique names", got=name, hint=hint)


@dataclass
class PendingPhases:
    """The phases of a call, cond or loop at `location` that have not begun yet: the parameter and result types of
    each."""

    location: object
    signatures: list[tuple[list[Type], list[Type]]]


def join_types(first: Sequence[Type], second: Sequence[Type]) -> list[Type]:
    return [one_type.join(other_type) or one_type for one_type, other_type in zip(first, second, strict=False)]


def parameter_types(region: Region) -> list[Type]:
    return variable_types(region.parameters)


def describe_types(types: Sequence[Type]) -> str:
    return ", ".join(map(str, types)) or "nothing"


class PhaseChecker:
    """Checks that pullbacks begin the phases of nodes in order, each once."""

    def __init__(self, functions: Mapping[str, FunctionDef]) -> None:
        self.functions = functions

    def check_phases(
        self, node: Node, operands: list[Type], pending_by_node: dict[str, PendingPhases], number: int, where: object
    ) -> Iterator[Invalid]:
        """V17: record the pending phases of a node in `pending_by_node`; a pullback must begin the next one."""
        if not node.results:
            return
        if node.op == "pullback":
            phases = pending_by_node.pop(str(dict(node.attributes).get(PULLBACK_TARGET)), None)
            if phases is None:
                yield problem(
                    "V17",
                    "the node of a pullback has no further phase",
                    where,
                    required=", ".join(pending_by_node) or "a call, cond or loop of this region that has one",
                    got=dict(node.attributes).get(PULLBACK_TARGET),
                    hint="begin each phase once, after the phase before it, in the same region",
                )
                return
            parameters, results = phases.signatures.pop(0)
            if not admits_all(parameters, operands) or results != variable_types(node.results):
                yield problem(
                    "V17",
                    "the types of a pullback are not those of its phase",
                    where,
                    required=f"{describe_types(parameters)} -> {describe_types(results)}",
                    got=f"{describe_types(operands)} -> {describe_types(variable_types(node.results))}",
                    hint="its operands are the parameters of the phase, and its results those of the phase",
                )
            next_phases: PendingPhases | None = phases
        else:
            next_phases = self.pending_phases(node, where)
        if next_phases is not None and next_phases.signatures:
            pending_by_node[node.name] = next_phases
        effect = self.find_effect(node) if number else None
        if effect is not None:
            callee = f", in {node.attribute('function')}," if node.op == "call" else ""
            yield problem(
                "V17",
                f"{effect}{callee} occurs in a further phase",
                where,
                required="ops without effects",
                got=effect,
                hint="effects happen in the forward pass; outside functions, on a tl.Tape, a pullback may have some",
            )

    def find_effect(self, node: Node) -> str | None:
        """The op of an effect of a node: its own effect, or that of a node in a function that it calls. None without
        effects."""
        if node.op != "call":
            return node.op if resource_of(node.op) else None
        for name in reachable_names(self.functions, str(dict(node.attributes).get("function"))):
            for inner_node in self.functions[name].body.walk() if name in self.functions else ():
                if resource_of(inner_node.op):
                    return inner_node.op
        return None

    def pending_phases(self, node: Node, where: object) -> PendingPhases | None:
        """The further phases of a node, none of which has begun."""
        if node.op == "call":
            callee = self.functions.get(str(dict(node.attributes).get("function")))
            if callee is None:
                return None
            phases = list(callee.body.phases())[1:]
            return PendingPhases(
                where, list(zip(map(parameter_types, phases), map(list, callee.pullback_result_types), strict=False))
            )
        if node.op == "while_loop" and len(node.regions) == 2:
            types = [parameter_types(phase) for phase in islice(node.regions[1].phases(), 1, None)]
            return PendingPhases(where, [(variables, variables) for variables in types])
        if node.op == "cond" and len(node.regions) == 2:
            then_phases = [*node.regions[0].phases()][1:]
            branch_types = zip(*(region_result_types(region)[1:] for region in node.regions), strict=False)
            result_types = [join_types(first or [], second or []) for first, second in branch_types]
            return PendingPhases(where, list(zip(map(parameter_types, then_phases), result_types, strict=False)))
        return None

    def check_branch_phases(
        self, node: Node, first: Sequence[list[Type] | None], second: Sequence[list[Type] | None], where: object
    ) -> Iterator[Invalid]:
        """V17: both branches have the same phases."""
        then_types, else_types = (list(map(parameter_types, [*region.phases()][1:])) for region in node.regions)
        fits = then_types == else_types and all(
            one_phase is None
            or other_phase is None
            or (len(one_phase) == len(other_phase) and None not in map(Type.join, one_phase, other_phase))
            for one_phase, other_phase in zip(first, second, strict=False)
        )
        if not fits:
            yield problem(
                "V17",
                "the branches do not have the same phases",
                where,
                required="the same number, with the same parameter types and result types that join",
                got=f"{plural(len(then_types), 'pullback')} and {plural(len(else_types), 'pullback')}",
                hint="a pullback of a cond runs the phase of the branch that was taken",
            )


def variable_types(variables: Sequence[Var]) -> list[Type]:
    return [variable.type for variable in variables]


def operand_type(operand: Operand, name_types: dict[str, Type]) -> Type:
    return operand.type if isinstance(operand, Literal) else name_types[operand]


def region_result_types(region: Region) -> list[list[Type] | None]:
    """The types that each phase of a region yields; None where it yields a name it does not define."""
    name_types: dict[str, Type] = {}
    phase_types: list[list[Type] | None] = []
    for phase in region.phases():
        name_types |= {name: type_ for node in phase.nodes for name, type_ in node.results} | dict(phase.parameters)
        are_defined = all(name in name_types for name in operand_names(phase.results))
        phase_types.append([operand_type(result, name_types) for result in phase.results] if are_defined else None)
    return phase_types


def admits_all(expected: Sequence[Type], types: Sequence[Type]) -> bool:
    return len(expected) == len(types) and all(w.admits(f) for w, f in zip(expected, types, strict=True))


_BOOL = Type(dtypes.bool)
_REGION_COUNTS = {"cond": 2, "while_loop": 2}


def program_problems(program: Program, functions: Iterable[FunctionDef] | None = None) -> list[Invalid]:
    """Every problem of a program, in program order; empty where it is well-formed. With `functions`, only problems in
    these.

    Each problem has its rule, its location, what the rule requires, what the program has, and a hint.
    """
    return list(_ProgramChecker(program).check_program(program.functions if functions is None else functions))


class _ProgramChecker:
    def __init__(self, program: Program) -> None:
        self.functions = {function.name: function for function in program.functions}
        self.phase_checker = PhaseChecker(self.functions)
        self.program = program
        self.function_names: set[str] = set()
        """All names in the function being checked, at any depth."""

    def check_program(self, functions: Iterable[FunctionDef]) -> Iterator[Invalid]:
        if self.program.entry not in self.functions:
            yield problem(
                "V6",
                "the entry is not a function of the program",
                f"entry {self.program.entry}",
                required=self.functions,
                got=self.program.entry,
                hint=hints.suggest_name(self.program.entry, self.functions) or "name one of the functions",
            )
        else:
            entry = self.functions[self.program.entry]
            types = (*variable_types(entry.body.parameters), *entry.results)
            yield from check_no_handles("V6", entry.name, function_origin(entry), types)
        origins = [(function.name, function_origin(function)) for function in functions]
        yield from check_unique_names(origins, "functions")
        for function in functions:
            yield from self.check_function(function)

    def check_function(self, function: FunctionDef) -> Iterator[Invalid]:
        body, where = function.body, function_origin(function)
        origins = [(parameter.name, where) for phase in body.phases() for parameter in phase.parameters]
        origins += [(result.name, node_origin(node)) for node in body.walk() for result in node.results]
        self.function_names = {name for name, _ in origins}
        yield from check_unique_names(origins, "values")
        yield from self.check_region(body, where)
        phases = list(body.phases())
        is_split_entry = len(phases) > 1 and function.name == self.program.entry
        if len(phases) != len(function.pullback_result_types) + 1 or is_split_entry:
            yield problem(
                "V17",
                f"{function.name} has the wrong number of phases",
                where,
                required="1 in the entry; elsewhere one for each declaration of results",
                got=plural(len(phases), "phase"),
                hint="declare what each phase returns: pullback(dy: float64) -> float64 { ... }",
            )
            return
        for number, result_types in enumerate(region_result_types(body)):
            declared = function.phase_result_types(number)
            if result_types is not None and not admits_all(declared, result_types):
                yield problem(
                    "V6",
                    f"{function.name} returns different types than it declares",
                    where,
                    required=declared,
                    got=result_types,
                    hint="write the types after `->`, or leave them out: they are inferred",
                )

    def check_region(self, region: Region, where: object) -> Iterator[Invalid]:
        """The problems in the phases of a region at `where`."""
        name_types: dict[str, Type] = {}
        pending_by_node: dict[str, PendingPhases] = {}
        for number, phase in enumerate(region.phases()):
            yield from self.check_phase(phase, name_types, pending_by_node, number, where)
        for name, pending in pending_by_node.items():
            yield problem(
                "V17",
                f"no pullback begins the next phase of {name}",
                pending.location,
                required="one pullback of it",
                got="none",
                hint=f"write `d = pullback {name} ...` after it, in the same region",
            )

    def check_phase(
        self,
        region: Region,
        name_types: dict[str, Type],
        pending_by_node: dict[str, PendingPhases],
        number: int,
        where: object,
    ) -> Iterator[Invalid]:
        name_types.update((parameter.name, parameter.type) for parameter in region.parameters)
        for node in region.nodes:
            origin = node_origin(node)
            for inner in node.regions:
                yield from check_unique_names(names_within(inner, origin), "values")
            undefined_names = [name for name in operand_names(node.inputs) if name not in name_types]
            if undefined_names:
                yield self.undefined_name_problem(
                    f"{node.op} uses a name that is not defined here", undefined_names[0], name_types, origin, node.op
                )
            else:
                operands = [operand_type(operand, name_types) for operand in node.inputs]
                yield from self.check_node(node, operands, origin)
                yield from self.phase_checker.check_phases(node, operands, pending_by_node, number, origin)
            name_types.update(node.results)
        undefined_names = [name for name in operand_names(region.results) if name not in name_types]
        if undefined_names:
            yield self.undefined_name_problem(
                "a region yields a name it does not define", undefined_names[0], name_types, where
            )

    def undefined_name_problem(
        self, message: str, name: str, visible_names: dict[str, Type], where: object, op: str = ""
    ) -> Invalid:
        default_hint = "a region sees its own parameters and nodes, in their order; pass the value as an operand"
        guess = None if name in self.function_names else hints.suggest_name(name, visible_names, op)
        return problem("V1", message, where, required=sorted(visible_names), got=name, hint=guess or default_hint)

    def check_node(self, node: Node, operands: list[Type], where: object) -> Iterator[Invalid]:
        regions = _REGION_COUNTS.get(node.op, 0)
        if not is_allowed_in(node.op, "program") and node.op not in STRUCTURED_OPS:
            hint = hints.suggest_op(node.op, self.functions)
            yield problem("V3", f"there is no op {node.op!r}", where, required="an op", got=node.op, hint=hint)
        elif len(node.regions) != regions or not node.results:
            yield problem(
                "V3",
                f"{node.op} has the wrong number of regions or results",
                where,
                required=f"{plural(regions, 'region')} and at least 1 result",
                got=f"{plural(len(node.regions), 'region')} and {plural(len(node.results), 'result')}",
                hint="as in `y = call f a`" if node.op == "call" else hints.example(node.op),
            )
        elif node.op in STRUCTURED_OPS:
            yield from check_structured_attributes("V3", node.op, where, node.attributes)
            yield from getattr(self, f"check_{node.op}")(node, operands, where)
        else:
            yield from self.check_op(node, operands, where)

    def check_op(self, node: Node, operands: list[Type], where: object) -> Iterator[Invalid]:
        row = ALL_OPS[node.op]
        count = operand_count(row, dict(node.attributes))
        arity = len(operands) if count is None else count
        if (len(operands), len(node.results)) != (arity, 1):
            yield problem(
                "V3",
                f"{node.op} has the wrong number of operands or results",
                where,
                required=f"{plural(arity, 'operand')} and 1 result",
                got=f"{plural(len(operands), 'operand')} and {plural(len(node.results), 'result')}",
                hint=hints.example(node.op),
            )
            return
        attribute_problems = list(check_attributes("V3", node.op, where, row, node.attributes))
        yield from attribute_problems
        if attribute_problems:
            return
        try:
            result_type = row.type_rule(*operands, **dict(node.attributes))
        except Invalid as error:
            yield operand_problem(error, node, operands, where)
            return
        if result_type != node.results[0].type:
            yield problem(
                "V4",
                f"the declared type of the result of {node.op} is not the type that it computes",
                where,
                required=result_type,
                got=node.results[0].type,
                hint=hints.INFERRED_HINT,
            )

    def check_cond(self, node: Node, operands: list[Type], where: object) -> Iterator[Invalid]:
        if not operands or operands[0] != _BOOL:
            got = operands[0] if operands else "nothing"
            message = "the predicate of cond is not one bool"
            yield problem("V5", message, where, required=_BOOL, got=got, hint=hints.COMPARE_HINT)
            return
        misfits = [region for region in node.regions if not admits_all(variable_types(region.parameters), operands[1:])]
        if misfits:
            yield problem(
                "V5",
                "the parameters of a branch do not fit the operands of cond",
                where,
                required=variable_types(misfits[0].parameters),
                got=operands[1:],
                hint="both branches take the operands after the predicate, in their order",
            )
            return
        for region in node.regions:
            yield from self.check_region(region, where)
        first, second = map(region_result_types, node.regions)
        if first[0] is not None and second[0] is not None:
            yield from self.check_branch_results(node, first[0], second[0], where)
        yield from self.phase_checker.check_branch_phases(node, first[1:], second[1:], where)

    def check_branch_results(
        self, node: Node, first: list[Type], second: list[Type], where: object
    ) -> Iterator[Invalid]:
        """The results of a cond have the joined types of the values that its branches yield."""
        if len(first) != len(second):
            yield problem(
                "V5",
                "the branches yield different numbers of values",
                where,
                required=first,
                got=second,
                hint="a cond has the results of the branch that it takes, so both yield as many values",
            )
            return
        clashes = [
            (one_type, other_type)
            for one_type, other_type in zip(first, second, strict=True)
            if one_type.join(other_type) is None
        ]
        for one_type, other_type in clashes:
            yield problem(
                "V5",
                "the branches yield different types",
                where,
                required="one dtype",
                got=f"{one_type} and {other_type}",
                hint=hints.ASTYPE_HINT,
            )
        joined_types = [one_type.join(other_type) for one_type, other_type in zip(first, second, strict=True)]
        if not clashes and joined_types != variable_types(node.results):
            yield problem(
                "V5",
                "cond declares different result types than its branches yield",
                where,
                required=joined_types,
                got=variable_types(node.results),
                hint=hints.INFERRED_HINT,
            )

    def check_while_loop(self, node: Node, operands: list[Type], where: object) -> Iterator[Invalid]:
        condition, body = node.regions
        sides = {
            "from outside": operands,
            "in while": variable_types(condition.parameters),
            "in do": variable_types(body.parameters),
            "as results": variable_types(node.results),
        }
        if len({len(types) for types in sides.values()}) > 1:
            yield problem(
                "V5",
                "the parts of a loop have different numbers of variables",
                where,
                required=plural(len(operands), "variable"),
                got=", ".join(f"{len(types)} {side}" for side, types in sides.items()),
                hint=hints.example("while_loop"),
            )
            return
        type_problems = list(check_loop_variable_types(body.parameters, sides, where))
        yield from type_problems
        yield from check_iteration_bound("V3", where, node.attributes)
        if not type_problems:
            yield from self.check_condition(condition, where)
            yield from self.check_loop_body(node, body, where)

    def check_condition(self, condition: Region, where: object) -> Iterator[Invalid]:
        yield from self.check_region(condition, where)
        if condition.pullback is not None:
            hint = "write the pullback in the do of the loop"
            yield problem("V17", "a condition has a pullback", where, required="none", got="one", hint=hint)
        result_types = region_result_types(condition)[0]
        if result_types is not None and result_types != [_BOOL]:
            yield problem(
                "V5",
                "the condition of while_loop is not one bool",
                result_origin(condition, 0, where),
                required=_BOOL,
                got=result_types,
                hint=hints.COMPARE_HINT,
            )

    def check_loop_body(self, node: Node, body: Region, where: object) -> Iterator[Invalid]:
        """The results of `do` are the next values of the variables."""
        yield from self.check_region(body, where)
        for number, phase in enumerate(islice(body.phases(), 1, None), start=1):
            results, parameters = region_result_types(body)[number], parameter_types(phase)
            if results is not None and not admits_all(parameters, results):
                yield problem(
                    "V17",
                    "the results of a phase of a loop do not fit its parameters",
                    where,
                    required=parameters,
                    got=results,
                    hint="its results in one iteration are its operands in the next",
                )
        result_types, expected = region_result_types(body)[0], variable_types(body.parameters)
        if result_types is not None and len(result_types) != len(expected):
            yield problem(
                "V5",
                "`do` does not yield one value for each loop variable",
                where,
                required=expected,
                got=result_types,
                hint="yield the variables that do not change, too",
            )
            return
        for position, ((name, type_), next_type) in enumerate(
            zip(body.parameters, result_types or expected, strict=True)
        ):
            if not type_.admits(next_type):
                origin, start = result_origin(body, position, where), node.inputs[position]
                yield problem(
                    "V5",
                    f"loop variable {name} changes its type",
                    origin,
                    required=f"{type_} ({where})",
                    got=f"{next_type} ({origin})",
                    hint=loop_type_hint(type_, next_type, start),
                )

    def check_pullback(self, node: Node, operands: list[Type], where: object) -> Iterator[Invalid]:
        """Nothing more to check: `check_phases` checks pullbacks."""
        yield from ()

    def check_call(self, node: Node, operands: list[Type], where: object) -> Iterator[Invalid]:
        name = dict(node.attributes).get("function")
        if name not in self.functions:
            got = str(name) if name is not None else "nothing"
            yield problem(
                "V6",
                "a call names a function that does not exist",
                where,
                required=self.functions,
                got=got,
                hint=hints.suggest_name(got, self.functions) or "name one of the functions, as in `y = call f a`",
            )
            return
        callee = self.functions[name]
        parameters = variable_types(callee.body.parameters)
        if not admits_all(parameters, operands):
            yield problem(
                "V6",
                f"the arguments of {name} do not fit",
                where,
                required=parameters,
                got=operands,
                hint=f"{name} takes {plural(len(parameters), 'argument')}; astype converts",
            )
        if list(callee.results) != variable_types(node.results):
            yield problem(
                "V6",
                f"the results of {name} do not fit",
                where,
                required=callee.results,
                got=variable_types(node.results),
                hint=f"{name} has {plural(len(callee.results), 'result')}; {hints.INFERRED_HINT}",
            )
