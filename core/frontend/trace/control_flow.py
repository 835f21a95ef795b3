"""Loops in a trace: the regions of `while_loop`, their variables, and the variables that they assign.

The Python functions given to `cond` and `while_loop`: their regions, and what they return.

Owns running them on symbolic values. What their results must be is for `api` to say.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Any, NamedTuple

from ... import dtypes
from ...errors import Invalid, TagloomError, Usage, plural
from ...ops.op import Attributes
from ...program.program import MAX_NESTING, Location
from ...types import Type
from ...value import Literal
from .captures import Resource, sort_resources
from .pytree import LEAF, TreeDef, describe_difference, flatten, leaf_names, read_variables, static_treedef, unflatten
from .source_location import definition_location, user_location
from .symbol import Symbol
from .trace import (
    NoTypeYet,
    RegionBuilder,
    TracedValue,
    UniqueNames,
    describe_with_location,
    enter_region,
    to_operand,
    to_weak_operand,
    unwrap_weak,
    weak_number,
    weak_value_of,
)

_BOOL = Type(dtypes.bool)


@dataclass(frozen=True, slots=True)
class BodyResult:
    """What a branch or a body returned: the leaves, where a weak value is its number, and how they nest."""

    leaves: list[Any]
    treedef: TreeDef
    weak_flags: list[bool]
    """Which leaves are weak values."""
    location: Location | None
    """Where the function is defined."""

    def describe_type(self, operand: TracedValue | Literal) -> str:
        """A type of this side, and the line that it comes from."""
        return describe_with_location(
            operand.type, operand.location if isinstance(operand, TracedValue) else self.location
        )


def flatten_result(python: Callable[..., Any], value: object) -> BodyResult:
    """What a function returned, taken apart."""
    leaves, structure = ([], static_treedef(None)) if value is None else flatten(value)
    numbers = [unwrap_weak(leaf) for leaf in leaves]
    weak = [number is not leaf for number, leaf in zip(numbers, leaves, strict=True)]
    return BodyResult(numbers, structure, weak, function_location(python))


def no_results_error() -> Invalid:
    """What to say of a branch or body that returns nothing."""
    hint = "return a value, or a tuple, dict or dataclass of values"
    return Invalid("a branch or body returns nothing", rule="V5", where=user_location(), hint=hint)


def trace_branch(region: RegionBuilder, python: Callable[..., Any]) -> BodyResult | None:
    """What a branch returns; None where this path gives no type yet, or its types do not fit, which is kept."""
    try:
        return flatten_result(python, trace_into_region(region, python, TreeDef(tuple), ()))
    except NoTypeYet:
        return None
    except TagloomError as error:
        region.specialization.defer_error(error)
        return None


def open_subregion(region: RegionBuilder) -> RegionBuilder:
    """A region inside of one; raises Invalid where they nest too deep."""
    if sum(1 for _ in region.enclosing_regions()) >= MAX_NESTING:
        raise Invalid(
            "branches and loops nest too deep",
            where=user_location(),
            required=f"{MAX_NESTING} regions at most",
            hint="a plain function that calls itself is traced for ever; make it a tl.function",
        )
    return RegionBuilder(region.specialization, region.names, parent=region)


def trace_into_region(
    region: RegionBuilder, python: Callable[..., Any], structure: TreeDef, parameters: Sequence[TracedValue]
) -> Any:
    """Trace a function into a region; `structure` says how its parameters nest."""
    if not callable(python):
        raise Usage("a branch, condition or body must be a function", where=user_location(), got=repr(python))
    check_arity(python, len(structure.children))
    with enter_region(region):
        return read_variables(python(*unflatten(structure, map(Symbol, parameters))))


def placeholder_results(
    region: RegionBuilder, structure: TreeDef, types: Sequence[Type], leaves: Sequence[object]
) -> Any:
    """What a cond or a loop makes of which a part gives no type yet: values of which only the types are known.

    They never come into a program: the function is traced again when more is known. `leaves` that are Python numbers
    make weak values.
    """
    line = user_location()
    values = [
        TracedValue(region, region.names.fresh("foreseen"), type_, line, weak_number(leaf))
        for type_, leaf in zip(types, leaves, strict=True)
    ]
    return unflatten(structure, map(Symbol, values))


def placeholder_cond_results(region: RegionBuilder, side: BodyResult | None) -> Any:
    """What a cond makes that has a type from one branch only; raises NoTypeYet where it has none from any."""
    if side is None:
        raise NoTypeYet
    return placeholder_results(region, side.treedef, [to_operand(leaf).type for leaf in side.leaves], side.leaves)


def join_weak_values(one: BodyResult, other: BodyResult, position: int) -> int | float | None:
    """What is weak of a result where both branches yield Python numbers, one of them by a weak value."""
    leaves = one.leaves[position], other.leaves[position]
    weak = [weak_number(leaf) for leaf in leaves]
    if None in weak or not (one.weak_flags[position] or other.weak_flags[position]):
        return None
    return weak[0] if isinstance(weak[0], float) else weak[1]


def function_location(python: Callable[..., Any]) -> Location | None:
    """The line where a function is defined, else the one that is running."""
    return definition_location(python.__code__) if inspect.isfunction(python) else user_location()


def parameter_names(body: Callable[..., Any], count: int) -> list[str]:
    """The names of the loop variables: those of the body's parameters, where it has as many."""
    try:
        names = list(inspect.signature(body).parameters)
    except (TypeError, ValueError):
        names = []
    return names if len(names) == count else [f"v{k}" for k in range(count)]


def check_arity(python: Callable[..., Any], count: int) -> None:
    """Raises Usage where a function cannot be called with so many values."""
    try:
        signature = inspect.signature(python)
    except (TypeError, ValueError):
        return  # a builtin that does not say
    try:
        signature.bind(*range(count))
    except TypeError:
        raise Usage(
            "a branch, condition or body takes another number of values",
            where=function_location(python),
            required=plural(count, "parameter"),
            got=str(signature),
            hint="a branch takes none; a condition and a body take each loop variable",
        ) from None


def captured_values(*regions: RegionBuilder) -> list[TracedValue]:
    """What these regions use from around them."""
    return list(dict.fromkeys(outer for region in regions for outer in region.captures))


def check_predicate(value: Any, of: str) -> TracedValue | Literal:
    leaves, structure = flatten(value)
    pred = to_operand(unwrap_weak(leaves[0])) if structure == LEAF else None
    if pred is None or pred.type != _BOOL:
        line = pred.location if isinstance(pred, TracedValue) else None
        got = describe_with_location(pred.type, line) if pred else structure
        raise Invalid(f"the {of} is not one bool", rule="V5", where=user_location(), required=_BOOL, got=got)
    return pred


class _LoopRegions(NamedTuple):
    """Condition and body as they were traced, and what they were given and gave. `condition_parameters` and
    `body_parameters` are the parameters of each: the loop variables, and then the variables that are assigned."""

    condition_region: RegionBuilder
    body_region: RegionBuilder
    condition_parameters: list[TracedValue]
    body_parameters: list[TracedValue]
    condition: TracedValue | Literal
    body_result: BodyResult


def trace_loop(
    region: RegionBuilder,
    cond: Callable[..., Any],
    body: Callable[..., Any],
    leaves: list[Any],
    structure: TreeDef,
    bound: Attributes,
) -> Any:
    """Add a loop to a region; its results. A variable that is assigned in it is one more loop variable."""
    before = region.snapshot()
    starts = [to_operand(unwrap_weak(leaf)) for leaf in leaves]
    name = region.names.fresh("loop")
    names = _loop_leaf_names(body, structure)
    parameters = [
        (inner, start.type, weak_value_of(leaf)) for inner, start, leaf in zip(names, starts, leaves, strict=True)
    ]
    try:
        made, assigned = _trace_regions_to_fixpoint(region, cond, body, structure, parameters)
    except NoTypeYet:
        return placeholder_results(
            region, structure, [type_ for _, type_, _ in parameters], [weak for _, _, weak in parameters]
        )
    if made is None:
        region.rewind(before)
        return _trace_rotated_loop(region, cond, body, leaves, structure, bound)
    if not (leaves or assigned):
        raise Usage(
            "while_loop needs at least one loop variable, or a variable that its body assigns", where=user_location()
        )
    deciding, going, own, mine, going_on, following = made
    count = len(leaves)
    starts += map(region.read_resource, assigned)
    following_ones = [*_adapt_next_variables(following, mine[:count]), *map(going.read_resource, assigned)]
    decided, next_ones = deciding.as_operand(going_on), list(map(going.as_operand, following_ones))
    captured = captured_values(deciding, going)
    regions = (
        deciding.close([*own, *map(deciding.localize, captured)], [decided]),
        going.close([*mine, *map(going.localize, captured)], [*next_ones, *map(going.as_operand, captured)]),
    )
    inputs = [region.as_operand(value) for value in (*starts, *captured)]
    found = [_loop_result_type(value, leaf) for value, leaf in zip(own[:count], following.leaves, strict=True)]
    types = [*(type_ for type_, _ in found), *(value.type for value in (*own[count:], *captured))]
    names = [name, *(region.names.fresh(f"{name}_{value.name}") for value in (*own[1:], *captured))]
    results = region.emit_node("while_loop", inputs, types, names, regions, bound)
    for result, (_, number) in zip(results, found, strict=False):
        result.weak_value = number
    region.store.update(zip(assigned, results[count:], strict=False))
    return unflatten(structure, map(Symbol, results[:count]))


def _trace_regions_to_fixpoint(
    region: RegionBuilder,
    cond: Callable[..., Any],
    body: Callable[..., Any],
    structure: TreeDef,
    parameters: Sequence[tuple[str, Type, int | float | None]],
) -> tuple[_LoopRegions | None, tuple[Resource, ...]]:
    """The regions, and the variables that they assign: which is known when they were traced, and then they are traced
    again. No regions where the condition assigns some."""
    assigned: tuple[Resource, ...] = ()
    before = region.snapshot()
    while True:
        made = _trace_regions(region, cond, body, structure, parameters, assigned)
        if made is None:
            return None, ()
        more = sort_resources({*assigned, *made.body_region.store})
        if more == assigned:
            return made, assigned
        assigned = more
        region.rewind(before)


def _trace_regions(
    region: RegionBuilder,
    cond: Callable[..., Any],
    body: Callable[..., Any],
    structure: TreeDef,
    parameters: Sequence[tuple[str, Type, int | float | None]],
    assigned: Sequence[Resource],
) -> _LoopRegions | None:
    deciding, going, line = open_subregion(region), open_subregion(region), user_location()
    count = len(parameters)
    own = [deciding.add_parameter(inner, type_, line, weak) for inner, type_, weak in parameters]
    own += [deciding.add_parameter(variable.name, variable.type, line) for variable in assigned]
    mine = [TracedValue(going, value.name, value.type, line, value.weak_value) for value in own]
    deciding.store.update(zip(assigned, own[count:], strict=True))
    going.store.update(zip(assigned, mine[count:], strict=True))
    going_on = check_predicate(trace_into_region(deciding, cond, structure, own[:count]), "condition of while_loop")
    if any(value not in own for value in deciding.store.values()):
        return None
    following = flatten_next_variables(structure, trace_into_region(going, body, structure, mine[:count]), body)
    return _LoopRegions(deciding, going, own, mine, going_on, following)


@dataclass(frozen=True)
class _RotatedLoopBody:
    """The body of a loop whose condition assigns variables, and behind it that condition, which decides on the next
    trip."""

    cond: Callable[..., Any]
    body: Callable[..., Any]
    treedef: TreeDef
    __signature__: Signature

    def __call__(self, *variables: Any) -> tuple[Any, ...]:
        value = read_variables(self.body(*variables[:-1]))
        flatten_next_variables(self.treedef, value, self.body)
        following = unflatten(self.treedef, [] if value is None else flatten(value)[0])
        return *following, self.evaluate_condition(following)

    def evaluate_condition(self, variables: tuple[Any, ...]) -> Any:
        going_on = self.cond(*variables)
        check_predicate(going_on, "condition of while_loop")
        return going_on


def _trace_rotated_loop(
    region: RegionBuilder,
    cond: Callable[..., Any],
    body: Callable[..., Any],
    leaves: list[Any],
    structure: TreeDef,
    bound: Attributes,
) -> Any:
    """A loop whose condition assigns variables: it decides before the loop and at the end of each trip, and the loop
    goes by what it decided."""
    check_arity(body, len(structure.children))
    names = parameter_names(body, len(structure.children))
    last = UniqueNames()
    last.used_names.update(names)
    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in (*names, last.fresh("going_on"))]
    turned, variables = _RotatedLoopBody(cond, body, structure, Signature(parameters)), unflatten(structure, leaves)
    begun, form = flatten((*variables, turned.evaluate_condition(variables)))
    return trace_loop(region, lambda *variables: variables[-1], turned, begun, form, bound)[:-1]


def flatten_next_variables(structure: TreeDef, value: Any, body: Callable[..., Any]) -> BodyResult:
    """What a body returned: a tuple of the next variables, nested as they are. A single one may stand alone."""
    found = flatten_result(body, value)
    wanted = [part for _, part in structure.children]
    if not (found.leaves or wanted):
        return found
    if not found.leaves:
        raise no_results_error()
    parts = [part for _, part in found.treedef.children] if found.treedef.container is tuple else [found.treedef]
    alone = len(wanted) == 1 and (found.treedef == wanted[0] or (wanted[0] != LEAF and len(parts) != 1))
    if alone:
        parts = [found.treedef]
    if len(parts) != len(wanted):
        raise Invalid(
            "the body of while_loop returns another number of values than there are loop variables",
            rule="V5",
            where=found.location,
            required=len(wanted),
            got=len(parts),
        )
    for name, one, other in zip(parameter_names(body, len(wanted)), wanted, parts, strict=True):
        if one != other:
            said = f"loop variable {name} changes its structure"
            required, got = describe_difference(one, other)
            raise Invalid(
                said,
                rule="V5",
                where=found.location,
                required=describe_with_location(required, user_location()),
                got=describe_with_location(got, found.location),
            )
    return found


def _adapt_next_variables(following: BodyResult, own: list[TracedValue]) -> list[TracedValue | Literal]:
    adapted = []
    for value, variable in zip(following.leaves, own, strict=True):
        operand = to_weak_operand(value, variable.type.dtype if variable.type.is_scalar else None)
        if not (variable.type.admits(operand.type) or _can_become(variable, operand.type)):
            made = isinstance(operand, TracedValue) and operand.region is variable.region
            raise Invalid(
                f"loop variable {variable.name} changes its type",
                rule="V5",
                where=operand.location if made and isinstance(operand, TracedValue) else following.location,
                required=describe_with_location(variable.type, variable.location),
                got=following.describe_type(operand),
                hint=_widening_hint(variable.type, operand.type),
            )
        adapted.append(operand)
    return adapted


def _can_become(variable: TracedValue, type_: Type) -> bool:
    """Whether a loop variable that starts with a Python number so far may turn out to be of this type."""
    kinds = "f" if isinstance(variable.weak_value, float) else "iuf"
    return variable.weak_value is not None and type_.is_scalar and type_.dtype.kind in kinds


def _loop_result_type(variable: TracedValue, following: object) -> tuple[Type, int | float | None]:
    """The type of a loop's result, and its number while it is one: what starts as one takes what comes next."""
    number = weak_number(following)
    if variable.weak_value is None:
        return variable.type, None
    if number is None:
        return to_operand(following).type, None
    number *= variable.weak_value
    return to_operand(number).type, number


def _widening_hint(one: Type, other: Type) -> str:
    """How to make a loop variable one that both types fit."""
    type_ = one.join(other)
    if type_ is None:
        return "start it with that type, as in 0.0 for 0, or convert with tl.astype"
    dtype = f"tl.{type_.dtype!r}"
    said = (
        f"tl.Type({dtype}, None)" if type_.shape is None else f"tl.Array[{', '.join([dtype, *map(str, type_.shape)])}]"
    )
    return f"start it with an open size: pass it through a tl.function whose parameter is {said}"


def _loop_leaf_names(body: Callable[..., Any], structure: TreeDef) -> list[str]:
    names = parameter_names(body, len(structure.children))
    parts = zip(structure.children, names, strict=True)
    return [inner for (_, part), name in parts for inner in leaf_names(part, name)]
