"""Control flow in a trace: tracing the Python functions passed to `cond` and `while_loop` into regions.

This module builds the regions of branches and loops, with the loop variables and assigned variables.
`frontend.control_flow` decides how the results of two branches are unified.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Any, NamedTuple, TypeAlias

from ... import dtypes
from ...dtypes import DType
from ...errors import Invalid, TagloomError, Usage, plural
from ...ops.op import Attributes
from ...program.program import MAX_NESTING, PARALLEL_ITERATIONS, Location, UniqueNames
from ...types import Type
from .captures import Resource, sort_resources
from .program_builder import (
    NoTypeYet,
    RegionBuilder,
    TracedOperand,
    TracedValue,
    current_region,
    describe_operand_type,
    describe_with_location,
    enter_region,
    number_kinds,
    to_operand,
    to_weak_operand,
    unwrap_weak,
    weak_number,
    weak_value_of,
)
from .pytree import (
    LEAF,
    TreeDef,
    array_hint,
    describe_difference,
    flatten,
    is_number_list,
    leaf_names,
    leaf_paths,
    read_variables,
    unflatten,
)
from .source_location import definition_location, user_location
from .symbol import Symbol

_BOOL = Type(dtypes.bool)


@dataclass(frozen=True, slots=True)
class BodyResult:
    """The flattened result of a branch or loop body; a weak leaf is replaced by its Python number."""

    leaves: list[Any]
    treedef: TreeDef
    weak_flags: list[bool]
    """Which leaves were weak values."""
    location: Location | None
    """The line where the function is defined."""
    value: Any
    """The result as returned, not flattened."""

    def describe_type(self, operand: TracedOperand) -> str:
        """The type of an operand of this result, and the line that it comes from."""
        return describe_operand_type(operand, self.location)


def flatten_result(function: Callable[..., Any], value: object, like: TreeDef | None = None) -> BodyResult:
    """Flatten what a function returned, lists as in the structure `like`; without it, each list is a container."""
    leaves, structure = flatten(value, like=like, constants_are_static=True, is_leaf=is_number_list if like else None)
    numbers = [unwrap_weak(leaf) for leaf in leaves]
    weak = [number is not leaf for number, leaf in zip(numbers, leaves, strict=True)]
    return BodyResult(numbers, structure, weak, function_location(function), value)


def no_results_error() -> Invalid:
    """The error for a branch or body that returns nothing."""
    hint = "return a value, or a tuple, dict or dataclass of values"
    return Invalid("a branch or body returns nothing", rule="V5", where=user_location(), hint=hint)


def trace_branch(region: RegionBuilder, function: Callable[..., Any]) -> BodyResult | None:
    """Trace a branch. Returns None if its result types are not known yet, or after a type error, which is deferred."""
    try:
        return flatten_result(function, trace_into_region(region, function, TreeDef(tuple), ()))
    except NoTypeYet:
        return None
    except TagloomError as error:
        region.specialization.defer_error(error)
        return None


def open_subregion(region: RegionBuilder) -> RegionBuilder:
    """A new region nested in `region`; raises Invalid where regions nest too deep."""
    if sum(1 for _ in region.enclosing_regions()) >= MAX_NESTING:
        raise Invalid(
            "branches and loops nest too deep",
            where=user_location(),
            required=f"{MAX_NESTING} regions at most",
            hint="a plain function that calls itself is traced for ever; make it a tl.function",
        )
    return RegionBuilder(region.specialization, region.names, parent=region)


def trace_into_region(
    region: RegionBuilder, function: Callable[..., Any], structure: TreeDef, parameters: Sequence[TracedValue]
) -> Any:
    """Trace a function into a region; `structure` says how its parameters nest."""
    check_branch(function, len(structure.children))
    function = region.specialization.program_builder.convert(function)
    with enter_region(region):
        return read_variables(function(*unflatten(structure, map(Symbol, parameters))))


def placeholder_results(
    region: RegionBuilder, structure: TreeDef, types: Sequence[Type], leaves: Sequence[object]
) -> Any:
    """Placeholders for the results of a cond or loop with a part that has no types yet.

    They never reach a program: the function is traced again when more types are known. A leaf that is a Python number
    becomes a weak value.
    """
    location = user_location()
    values = [
        TracedValue(region, region.names.fresh_name("placeholder"), type_, location, weak_number(leaf))
        for type_, leaf in zip(types, leaves, strict=True)
    ]
    return unflatten(structure, map(Symbol, values))


def placeholder_cond_results(region: RegionBuilder, side: BodyResult | None) -> Any:
    """Placeholders for the results of a cond with types from one branch only; raises NoTypeYet where there are none."""
    if side is None:
        raise NoTypeYet
    return placeholder_results(region, side.treedef, [to_operand(leaf).type for leaf in side.leaves], side.leaves)


def join_weak_values(first: BodyResult, second: BodyResult, position: int) -> int | float | None:
    """The weak value of a result: both branches yield Python numbers, and one of these is weak. Else None."""
    leaves = first.leaves[position], second.leaves[position]
    weak = [weak_number(leaf) for leaf in leaves]
    if None in weak or not (first.weak_flags[position] or second.weak_flags[position]):
        return None
    return weak[0] if isinstance(weak[0], float) else weak[1]


def function_location(function: Callable[..., Any]) -> Location | None:
    """The line where a function is defined, or the function that it wraps; for other callables, the line that is
    running."""
    while not inspect.isfunction(function := inspect.unwrap(function)) and isinstance(function, functools.partial):
        function = function.func
    return definition_location(function.__code__) if inspect.isfunction(function) else user_location()


def convert_in_trace(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the user as a trace calls it: plain Python is converted. Outside a trace it is unchanged."""
    region = current_region()
    return function if region is None else region.specialization.program_builder.convert(function)


def parameter_names(body: Callable[..., Any], count: int) -> list[str]:
    """Names for the loop variables: the body's parameters if it has `count` of them, else v0, v1, ..."""
    try:
        names = list(inspect.signature(body).parameters)
    except (TypeError, ValueError):
        names = []
    return names if len(names) == count else [f"v{k}" for k in range(count)]


def accepts_count(function: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with `count` positional arguments; true for a builtin without a signature."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def check_arity(function: Callable[..., Any], count: int) -> None:
    """Raises Usage where a function cannot be called with `count` positional arguments."""
    if not accepts_count(function, count):
        raise Usage(
            "a branch, condition or body takes the wrong number of values",
            where=function_location(function),
            required=plural(count, "parameter"),
            got=str(inspect.signature(function)),
            hint="a branch takes the operands of cond or switch; a condition and a body each loop variable; the "
            "function of a scan or a fold a carry and an element",
            python=TypeError,
        )


def check_branch(function: object, count: int) -> None:
    """Raises Usage for a branch, condition or body that is not a function of `count` positional arguments."""
    if not callable(function):
        raise Usage(
            "a branch, condition or body must be a function",
            where=user_location(),
            got=repr(function)[:80],
            python=TypeError,
        )
    check_arity(function, count)


def captured_values(*regions: RegionBuilder) -> list[TracedValue]:
    """The values that these regions capture from the enclosing region, each once."""
    return list(dict.fromkeys(outer for region in regions for outer in region.captures))


def emit_cond(
    region: RegionBuilder,
    predicate: TracedOperand,
    branches: tuple[RegionBuilder, RegionBuilder],
    pairs: Sequence[tuple[TracedOperand, TracedOperand]],
    names: Sequence[str],
) -> list[TracedValue]:
    """Add a cond with these traced branches to a region, and return its results, under these fresh names. Each has the
    value of one of a pair of operands. Variables that a branch assigns become further results."""
    assigned = sort_resources((*branches[0].store, *branches[1].store))
    count, pairs = len(pairs), list(pairs)
    pairs += [(branches[0].read_resource(variable), branches[1].read_resource(variable)) for variable in assigned]
    branch_results = [[branch.as_operand(pair[side]) for pair in pairs] for side, branch in enumerate(branches)]
    captured = captured_values(*branches)
    regions = tuple(
        branch.close(list(map(branch.localize, captured)), results)
        for branch, results in zip(branches, branch_results, strict=True)
    )
    inputs = [region.as_operand(value) for value in (predicate, *captured)]
    types = [then_value.type.join(else_value.type) or then_value.type for then_value, else_value in pairs]
    names = [*names, *(region.names.fresh_name(variable.label) for variable in assigned)]
    results = region.emit_node("cond", inputs, types, names, regions)
    region.store.update(zip(assigned, results[count:], strict=True))
    return results[:count]


def unify_branches(
    first: BodyResult, second: BodyResult, construct: str = "cond"
) -> list[tuple[TracedOperand, TracedOperand]]:
    """The results of both branches in pairs; raises Invalid (V5) where the structures or types differ, which names the
    construct that has the branches."""
    if first.treedef != second.treedef:
        required, got = describe_difference(first.treedef, second.treedef)
        raise Invalid(
            f"the branches of {construct} return different structures",
            rule="V5",
            where=user_location(),
            required=describe_with_location(required, first.location),
            got=describe_with_location(got, second.location),
            hint=array_hint(first.treedef, second.treedef)
            or "return one structure from both: numbers and arrays, in tuples, lists and dicts",
        )
    return [
        unify_results(then_leaf, else_leaf, first, second, path, construct)
        for then_leaf, else_leaf, path in zip(first.leaves, second.leaves, leaf_paths(first.treedef, ""), strict=True)
    ]


def unify_results(
    first: Any, second: Any, then_result: BodyResult, else_result: BodyResult, path: str, construct: str = "cond"
) -> tuple[TracedOperand, TracedOperand]:
    """One result of both branches in a common dtype: a Python number takes the dtype of the other side. `path` says in
    messages where it is in a nested result."""
    then_operand, else_operand = (
        to_weak_operand(first, _scalar_dtype(second)),
        to_weak_operand(second, _scalar_dtype(first)),
    )
    if then_operand.type.join(else_operand.type) is None:
        raise Invalid(
            f"the branches of {construct} return different types{path and f' at {path}'}",
            rule="V5",
            where=user_location(),
            required=then_result.describe_type(then_operand),
            got=else_result.describe_type(else_operand),
            hint="convert one with tl.astype",
        )
    return then_operand, else_operand


def _scalar_dtype(value: Any) -> DType | None:
    """The dtype of a scalar; None for an array, and for a Python int, which takes any numeric dtype."""
    type_ = None if type(value) is int else to_operand(value).type
    return type_.dtype if type_ and type_.is_scalar else None


def check_predicate(value: Any, role: str) -> TracedOperand:
    """The operand of a predicate; raises Invalid (V5), where it is not one bool. `role` names it in the
    message."""
    leaves, structure = flatten(value)
    pred = to_operand(unwrap_weak(leaves[0])) if structure == LEAF else None
    if pred is None or pred.type != _BOOL:
        got = describe_operand_type(pred) if pred else structure
        raise Invalid(
            f"the {role} is not one bool", rule="V5", where=user_location(), required=_BOOL, got=got, python=TypeError
        )
    return pred


class LoopRegions(NamedTuple):
    """The traced condition and body of a loop, with their parameters and results. The parameters of each are the loop
    variables, followed by the assigned variables."""

    condition_region: RegionBuilder
    body_region: RegionBuilder
    condition_parameters: list[TracedValue]
    body_parameters: list[TracedValue]
    condition: TracedOperand
    body_result: BodyResult


LoopParameter: TypeAlias = tuple[str, Type, int | float | None]
"""The name of a leaf of the loop variables, the type of its start, and its weak value or None."""


TraceLoop: TypeAlias = Callable[
    [Sequence[TracedOperand], Sequence[int | float | None]], tuple[LoopRegions | None, tuple[Resource, ...]]
]
"""Traces a loop from these starts, with these weak values of its variables: its regions, and the variables that they
assign."""


def loop_attributes(parallel_iterations: int | None) -> Attributes:
    """The attributes of a loop that runs at most this many iterations at once; raises Usage for a value that is no
    bound."""
    if parallel_iterations is None:
        return ()
    if type(parallel_iterations) is not int or parallel_iterations < 1:
        raise Usage(
            "parallel_iterations is not a bound on iterations",
            where=user_location(),
            required="an integer from 1 up, or None",
            got=repr(parallel_iterations),
        )
    return ((PARALLEL_ITERATIONS, parallel_iterations),)


def trace_loop(
    region: RegionBuilder,
    cond: Callable[..., Any],
    body: Callable[..., Any],
    leaves: list[Any],
    structure: TreeDef,
    attributes: Attributes,
) -> Any:
    """Add a loop to a region and return its results. Each variable that it assigns becomes a further loop variable.

    `leaves` are the starts of the loop variables, which nest as `structure` says; `attributes` may bound the loop."""
    snapshot = region.snapshot()
    name = region.names.fresh_name("loop")
    variable_names = list(zip(structure.children, parameter_names(body, len(structure.children)), strict=True))
    names = [inner for (_, part), variable in variable_names for inner in leaf_names(part, variable)]
    paths = [path for (_, part), variable in variable_names for path in leaf_paths(part, variable)]
    starts = [to_operand(unwrap_weak(leaf)) for leaf in leaves]

    def trace(
        starts: Sequence[TracedOperand], weak_values: Sequence[int | float | None]
    ) -> tuple[LoopRegions | None, tuple[Resource, ...]]:
        types, snapshot = [start.type for start in starts], region.snapshot()
        while True:
            parameters = list(zip(names, types, weak_values, strict=True))
            loop, assigned = trace_loop_to_fixpoint(region, cond, body, structure, parameters)
            open_types = types if loop is None else list(map(open_changing_sizes, types, loop.body_result.leaves))
            if open_types == types:
                return loop, assigned
            types = open_types
            region.rewind(snapshot)

    try:
        starts, loop, assigned = trace_loop_from_numbers(region, trace, leaves, starts)
    except NoTypeYet:
        return placeholder_results(
            region, structure, [start.type for start in starts], list(map(weak_value_of, leaves))
        )
    if loop is None:
        region.rewind(snapshot)
        return trace_rotated_loop(region, cond, body, leaves, structure, attributes)
    if not (leaves or assigned):
        raise Usage(
            "while_loop needs at least one loop variable, or a variable that its body assigns", where=user_location()
        )
    starts += map(region.read_resource, assigned)
    return unflatten(structure, emit_traced_loop(region, name, loop, starts, assigned, paths, attributes))


def emit_traced_loop(
    region: RegionBuilder,
    name: str,
    loop: LoopRegions,
    starts: Sequence[TracedOperand],
    assigned: Sequence[Resource],
    paths: Sequence[str],
    attributes: Attributes,
) -> list[Symbol]:
    """Add the node of a loop whose regions are traced, and return its last values.

    `paths` are the loop variables, in messages. The variables that the body assigns are loop variables after them; the
    outer values that the loop reads are further loop variables, which do not change."""
    condition_region, body_region, condition_parameters, body_parameters, condition, body_result = loop
    count = len(paths)
    next_values = [
        *adapt_next_variables(body_result, body_parameters[:count], paths),
        *map(body_region.read_resource, assigned),
    ]
    predicate, next_operands = condition_region.as_operand(condition), list(map(body_region.as_operand, next_values))
    outer_values = captured_values(condition_region, body_region)
    invariants = list(map(body_region.as_operand, outer_values))
    regions = (
        condition_region.close([*condition_parameters, *map(condition_region.localize, outer_values)], [predicate]),
        body_region.close([*body_parameters, *map(body_region.localize, outer_values)], [*next_operands, *invariants]),
    )
    inputs = [region.as_operand(value) for value in (*starts, *outer_values)]
    result_types = [
        loop_result_type(variable, leaf)
        for variable, leaf in zip(condition_parameters[:count], body_result.leaves, strict=True)
    ]
    values = [*condition_parameters, *outer_values]
    types = [*(type_ for type_, _ in result_types), *(value.type for value in values[count:])]
    names = [name, *(region.names.fresh_name(f"{name}_{value.name}") for value in values[1:])]
    results = region.emit_node("while_loop", inputs, types, names, regions, attributes)
    for result, (_, number) in zip(results, result_types, strict=False):
        result.weak_value = number
    region.store.update(zip(assigned, results[count:], strict=False))
    return list(map(Symbol, results[:count]))


def open_changing_sizes(type_: Type, next_value: Any) -> Type:
    """The type of a loop variable of this type: with a size left open if its next value has another."""
    next_type = to_operand(unwrap_weak(next_value)).type
    joined_type = None if type_.admits(next_type) else type_.join(next_type)
    return type_ if joined_type is None or joined_type.shape is None else joined_type


def trace_loop_from_numbers(
    region: RegionBuilder,
    trace: TraceLoop,
    leaves: Sequence[Any],
    starts: Sequence[TracedOperand],
) -> tuple[list[TracedOperand], LoopRegions | None, tuple[Resource, ...]]:
    """The starts of a loop, its regions, and the variables that they assign. A variable that starts with a Python
    number takes the dtype, of the number's kind, that the body gives it."""
    snapshot, kinds = region.snapshot(), {kind for leaf in leaves for kind in number_kinds(weak_number(leaf))}
    weak, starts = list(map(weak_value_of, leaves)), list(starts)
    try:
        loop, assigned = trace(starts, weak)
        if loop is None or not has_other_dtypes(loop, kinds):
            return starts, loop, assigned
    except (Invalid, Usage):
        if not kinds:
            raise
    region.rewind(snapshot)
    starts = infer_number_dtypes(region, trace, leaves, starts)
    return starts, *trace(starts, weak)


def infer_number_dtypes(
    region: RegionBuilder, trace: TraceLoop, leaves: Sequence[Any], starts: Sequence[TracedOperand]
) -> list[TracedOperand]:
    """The starts of a loop, with the dtypes that the body gives to Python numbers. The loop is traced with these as
    weak values until no dtype changes."""
    starts, numbers = list(starts), list(map(weak_number, leaves))
    has_changed, snapshot = any(number is not None for number in numbers), region.snapshot()
    while has_changed:
        weak = [weak_value_of(leaf) if number is None else number for leaf, number in zip(leaves, numbers, strict=True)]
        try:
            loop, _ = trace(starts, weak)
        except (Invalid, Usage):  # if it remains without weak values, the caller raises it
            loop = None
        finally:
            region.rewind(snapshot)
        has_changed = False
        for k, value in enumerate(() if loop is None else loop.body_result.leaves):
            if numbers[k] is None or weak_number(value) is not None:
                continue
            type_ = to_operand(value).type
            if type_.is_scalar and type_.dtype.kind in number_kinds(numbers[k]):
                starts[k], numbers[k], has_changed = to_operand(leaves[k], type_), None, True
    return starts


def has_other_dtypes(loop: LoopRegions, kinds: set[str]) -> bool:
    """Whether a loop has values of these kinds in different dtypes than the default ones of Python numbers."""
    types = [value.type for value in loop.condition_parameters]
    for part in (loop.condition_region, loop.body_region):
        types += [value.type for value in part.captures]
        nodes = (
            inner_node
            for node in part.nodes
            for inner_node in (node, *(n for region in node.regions for n in region.walk()))
        )
        types += [
            operand.type for node in nodes for operand in (*node.results, *node.inputs) if not isinstance(operand, str)
        ]
    return any(type_.dtype.kind in kinds and type_.dtype not in dtypes.PYTHON_DTYPES for type_ in types)


def trace_loop_to_fixpoint(
    region: RegionBuilder,
    cond: Callable[..., Any],
    body: Callable[..., Any],
    structure: TreeDef,
    parameters: Sequence[LoopParameter],
) -> tuple[LoopRegions | None, tuple[Resource, ...]]:
    """The regions of a loop, and the variables that they assign. These are known only after tracing, so the regions are
    traced until the set is stable. Returns no regions where the condition assigns variables."""
    assigned: tuple[Resource, ...] = ()
    snapshot = region.snapshot()
    while True:
        loop = trace_loop_regions(region, cond, body, structure, parameters, assigned)
        if loop is None:
            return None, ()
        now_assigned = sort_resources({*assigned, *loop.body_region.store})
        if now_assigned == assigned:
            return loop, assigned
        assigned = now_assigned
        region.rewind(snapshot)


def trace_loop_regions(
    region: RegionBuilder,
    cond: Callable[..., Any],
    body: Callable[..., Any],
    structure: TreeDef,
    parameters: Sequence[LoopParameter],
    assigned: Sequence[Resource],
) -> LoopRegions | None:
    """Trace the condition and the body once, with parameters for these assigned variables; None where the condition
    assigns variables."""
    condition_region, body_region, location = open_subregion(region), open_subregion(region), user_location()
    count = len(parameters)
    outer = [condition_region.add_parameter(inner, type_, location, weak) for inner, type_, weak in parameters]
    outer += [condition_region.add_parameter(variable.label, variable.type, location) for variable in assigned]
    inner = [TracedValue(body_region, value.name, value.type, location, value.weak_value) for value in outer]
    body_region.values.update((value.name, value) for value in inner)
    condition_region.store.update(zip(assigned, outer[count:], strict=True))
    body_region.store.update(zip(assigned, inner[count:], strict=True))
    condition = trace_into_region(condition_region, cond, structure, outer[:count])
    predicate = check_predicate(condition, "condition of while_loop")
    if any(value not in outer for value in condition_region.store.values()):
        return None
    next_variables = trace_into_region(body_region, body, structure, inner[:count])
    with enter_region(body_region):
        body_result = flatten_next_variables(structure, next_variables, body)
    return LoopRegions(condition_region, body_region, outer, inner, predicate, body_result)


@dataclass(frozen=True)
class RotatedLoopBody:
    """The body of a rotated loop: the original body, followed by the condition for the next iteration."""

    cond: Callable[..., Any]
    body: Callable[..., Any]
    treedef: TreeDef
    __signature__: Signature

    def __call__(self, *variables: Any) -> tuple[Any, ...]:
        value = read_variables(self.body(*variables[:-1]))
        flatten_next_variables(self.treedef, value, self.body)
        leaves = [] if value is None else flatten(value, constants_are_static=True, like=self.treedef)[0]
        next_variables = unflatten(self.treedef, leaves)
        return *next_variables, self.evaluate_condition(next_variables)

    def evaluate_condition(self, variables: tuple[Any, ...]) -> Any:
        """The condition of these loop variables; raises Invalid where it is not one bool."""
        condition = self.cond(*variables)
        check_predicate(condition, "condition of while_loop")
        return condition


def trace_rotated_loop(
    region: RegionBuilder,
    cond: Callable[..., Any],
    body: Callable[..., Any],
    leaves: list[Any],
    structure: TreeDef,
    attributes: Attributes,
) -> Any:
    """Rotate a loop whose condition assigns variables: evaluate the condition before the loop and at the end of each
    iteration, and carry its result as a further loop variable, which is the predicate."""
    check_arity(body, len(structure.children))
    names = parameter_names(body, len(structure.children))
    unique = UniqueNames()
    unique.used_names.update(names)
    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in (*names, unique.fresh_name("going_on"))]
    rotated_body = RotatedLoopBody(cond, body, structure, Signature(parameters))
    variables = unflatten(structure, leaves)
    starts, rotated = flatten((*variables, rotated_body.evaluate_condition(variables)), constants_are_static=True)
    return trace_loop(region, lambda *variables: variables[-1], rotated_body, starts, rotated, attributes)[:-1]


def flatten_next_variables(structure: TreeDef, value: Any, body: Callable[..., Any]) -> BodyResult:
    """Flatten the next loop variables: a tuple nested as the current ones; a single variable needs no tuple."""
    required_parts = [part for _, part in structure.children]
    is_alone = len(required_parts) == 1 and not (type(value) is tuple and len(value) == 1)
    result = flatten_result(body, value, required_parts[0] if is_alone else structure)
    if not (result.leaves or required_parts):
        return result
    if not result.leaves:
        raise no_results_error()
    parts = [part for _, part in result.treedef.children] if result.treedef.container is tuple else [result.treedef]
    if len(required_parts) == 1:
        (required_part,) = required_parts
        if result.treedef == required_part or (required_part != LEAF and len(parts) != 1):
            parts = [result.treedef]  # the variable itself, without a tuple around it
    if len(parts) != len(required_parts):
        raise Invalid(
            "the body of while_loop does not return one value for each loop variable",
            rule="V5",
            where=result.location,
            required=len(required_parts),
            got=len(parts),
            hint="a list is one value: return a tuple of the loop variables" if type(value) is list else None,
            python=TypeError,
        )
    for name, first, second in zip(parameter_names(body, len(required_parts)), required_parts, parts, strict=True):
        if first != second:
            required, got = describe_difference(first, second, name)
            raise Invalid(
                f"loop variable {name} changes its structure",
                rule="V5",
                where=result.location,
                required=describe_with_location(required, user_location()),
                got=describe_with_location(got, result.location),
                hint=array_hint(first, second),
            )
    return result


def adapt_next_variables(
    body_result: BodyResult, variables: list[TracedValue], paths: Sequence[str]
) -> list[TracedOperand]:
    """The next values of loop variables, as operands of the variables' types; raises Invalid (V5) for another type, and
    names the variable by its path. A variable that starts with a weak value may take any dtype that fits the number."""
    adapted = []
    for value, variable, path in zip(body_result.leaves, variables, paths, strict=True):
        operand = to_weak_operand(value, variable.type.dtype if variable.type.is_scalar else None)
        kinds = "" if variable.weak_value is None else "f" if isinstance(variable.weak_value, float) else "iuf"
        may_become = operand.type.is_scalar and operand.type.dtype.kind in kinds
        if not (variable.type.admits(operand.type) or may_become):
            is_computed_here = isinstance(operand, TracedValue) and operand.region is variable.region
            raise Invalid(
                f"loop variable {path} changes its type",
                rule="V5",
                where=operand.location
                if is_computed_here and isinstance(operand, TracedValue)
                else body_result.location,
                required=describe_with_location(variable.type, variable.location),
                got=body_result.describe_type(operand),
                hint=widening_hint(variable.type, operand.type),
            )
        adapted.append(operand)
    return adapted


def loop_result_type(variable: TracedValue, next_value: object) -> tuple[Type, int | float | None]:
    """The type of a loop's result, and its weak value or None. A variable that starts weak takes the type of its next
    value."""
    number = weak_number(next_value)
    if variable.weak_value is None:
        return variable.type, None
    if number is None:
        return to_operand(next_value).type, None
    number *= variable.weak_value
    return to_operand(number).type, number


def widening_hint(first: Type, second: Type) -> str:
    """The hint for a loop variable that must admit both types."""
    type_ = first.join(second)
    if type_ is None:
        return "start it with that type, as in 0.0 for 0, or convert with tl.astype"
    dtype = f"tl.{type_.dtype!r}"
    annotation = (
        f"tl.Array[{', '.join([dtype, *map(str, type_.shape)])}]"
        if type_.shape is not None
        else f"tl.Type({dtype}, None)"
    )
    return f"start it with an open size: pass it through a tl.function whose parameter is {annotation}"
