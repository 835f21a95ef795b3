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
from ...errors import Invalid, TagloomError, Usage, counted
from ...ops.op import Attributes
from ...program.program import MOST_NESTED, Location
from ...types import Type
from ...value import Literal
from .captures import Resource, in_order
from .pytree import LEAF, Structure, compared, fixed, flatten, leaf_names, settled, unflatten
from .source_location import definition, here
from .symbol import Symbol
from .trace import (
    Names,
    NoTypeYet,
    RegionTrace,
    Value,
    at,
    entered,
    number_of,
    to_operand,
    weak_number,
    weakly,
    weakness,
)

_BOOL = Type(dtypes.bool)


@dataclass(frozen=True, slots=True)
class Returned:
    """What a branch or a body returned: the leaves, where a weak value is its number, and how they nest."""

    leaves: list[Any]
    structure: Structure
    weak: list[bool]
    """Which leaves are weak values."""
    line: Location | None
    """Where the function is defined."""

    def told(self, operand: Value | Literal) -> str:
        """A type of this side, and the line that it comes from."""
        return at(operand.type, operand.location if isinstance(operand, Value) else self.line)


def returned(python: Callable[..., Any], value: object) -> Returned:
    """What a function returned, taken apart."""
    leaves, structure = ([], fixed(None)) if value is None else flatten(value)
    numbers = [number_of(leaf) for leaf in leaves]
    weak = [number is not leaf for number, leaf in zip(numbers, leaves, strict=True)]
    return Returned(numbers, structure, weak, line_of(python))


def nothing() -> Invalid:
    """What to say of a branch or body that returns nothing."""
    hint = "return a value, or a tuple, dict or dataclass of values"
    return Invalid("a branch or body returns nothing", rule="V5", where=here(), hint=hint)


def traced_branch(region: RegionTrace, python: Callable[..., Any]) -> Returned | None:
    """What a branch returns; None where this path gives no type yet, or its types do not fit, which is kept."""
    try:
        return returned(python, run(region, python, Structure(tuple), ()))
    except NoTypeYet:
        return None
    except TagloomError as error:
        region.instance.keep(error)
        return None


def subregion(region: RegionTrace) -> RegionTrace:
    """A region inside of one; raises Invalid where they nest too deep."""
    if sum(1 for _ in region.around()) >= MOST_NESTED:
        raise Invalid(
            "branches and loops nest too deep",
            where=here(),
            required=f"{MOST_NESTED} regions at most",
            hint="a plain function that calls itself is traced for ever; make it a tl.function",
        )
    return RegionTrace(region.instance, region.names, parent=region)


def run(region: RegionTrace, python: Callable[..., Any], structure: Structure, parameters: Sequence[Value]) -> Any:
    """Trace a function into a region; `structure` says how its parameters nest."""
    if not callable(python):
        raise Usage("a branch, condition or body must be a function", where=here(), got=repr(python))
    check_parameters(python, len(structure.parts))
    with entered(region):
        return settled(python(*unflatten(structure, map(Symbol, parameters))))


def foreseen(region: RegionTrace, structure: Structure, types: Sequence[Type], leaves: Sequence[object]) -> Any:
    """What a cond or a loop makes of which a part gives no type yet: values of which only the types are known.

    They never come into a program: the function is traced again when more is known. `leaves` that are Python numbers
    make weak values.
    """
    line = here()
    values = [
        Value(region, region.names.fresh("foreseen"), type_, line, weak_number(leaf))
        for type_, leaf in zip(types, leaves, strict=True)
    ]
    return unflatten(structure, map(Symbol, values))


def foreseen_cond(region: RegionTrace, side: Returned | None) -> Any:
    """What a cond makes that has a type from one branch only; raises NoTypeYet where it has none from any."""
    if side is None:
        raise NoTypeYet
    return foreseen(region, side.structure, [to_operand(leaf).type for leaf in side.leaves], side.leaves)


def both_weak(one: Returned, other: Returned, position: int) -> int | float | None:
    """What is weak of a result where both branches yield Python numbers, one of them by a weak value."""
    leaves = one.leaves[position], other.leaves[position]
    weak = [weak_number(leaf) for leaf in leaves]
    if None in weak or not (one.weak[position] or other.weak[position]):
        return None
    return weak[0] if isinstance(weak[0], float) else weak[1]


def line_of(python: Callable[..., Any]) -> Location | None:
    """The line where a function is defined, else the one that is running."""
    return definition(python.__code__) if inspect.isfunction(python) else here()


def parameter_names(body: Callable[..., Any], count: int) -> list[str]:
    """The names of the loop variables: those of the body's parameters, where it has as many."""
    try:
        names = list(inspect.signature(body).parameters)
    except (TypeError, ValueError):
        names = []
    return names if len(names) == count else [f"v{k}" for k in range(count)]


def check_parameters(python: Callable[..., Any], count: int) -> None:
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
            where=line_of(python),
            required=counted(count, "parameter"),
            got=str(signature),
            hint="a branch takes none; a condition and a body take each loop variable",
        ) from None


def captured_by(*regions: RegionTrace) -> list[Value]:
    """What these regions use from around them."""
    return list(dict.fromkeys(outer for region in regions for outer in region.captured))


def predicate(value: Any, of: str) -> Value | Literal:
    leaves, structure = flatten(value)
    pred = to_operand(number_of(leaves[0])) if structure == LEAF else None
    if pred is None or pred.type != _BOOL:
        line = pred.location if isinstance(pred, Value) else None
        got = at(pred.type, line) if pred else structure
        raise Invalid(f"the {of} is not one bool", rule="V5", where=here(), required=_BOOL, got=got)
    return pred


class _Regions(NamedTuple):
    """Condition and body as they were traced, and what they were given and gave. `own` and `mine` are the parameters of
    each: the loop variables, and then the variables that are assigned."""

    deciding: RegionTrace
    going: RegionTrace
    own: list[Value]
    mine: list[Value]
    going_on: Value | Literal
    following: Returned


def traced_loop(
    region: RegionTrace,
    cond: Callable[..., Any],
    body: Callable[..., Any],
    leaves: list[Any],
    structure: Structure,
    bound: Attributes,
) -> Any:
    """Add a loop to a region; its results. A variable that is assigned in it is one more loop variable."""
    before = region.mark()
    starts = [to_operand(number_of(leaf)) for leaf in leaves]
    name = region.names.fresh("loop")
    names = _loop_names(body, structure)
    parameters = [(inner, start.type, weakness(leaf)) for inner, start, leaf in zip(names, starts, leaves, strict=True)]
    try:
        made, assigned = _settled(region, cond, body, structure, parameters)
    except NoTypeYet:
        return foreseen(region, structure, [type_ for _, type_, _ in parameters], [weak for _, _, weak in parameters])
    if made is None:
        region.back_to(before)
        return _turned_loop(region, cond, body, leaves, structure, bound)
    if not (leaves or assigned):
        raise Usage("while_loop needs at least one loop variable, or a variable that its body assigns", where=here())
    deciding, going, own, mine, going_on, following = made
    count = len(leaves)
    starts += map(region.held, assigned)
    following_ones = [*_next_variables(following, mine[:count]), *map(going.held, assigned)]
    decided, next_ones = deciding.operand(going_on), list(map(going.operand, following_ones))
    captured = captured_by(deciding, going)
    regions = (
        deciding.close([*own, *map(deciding.local, captured)], [decided]),
        going.close([*mine, *map(going.local, captured)], [*next_ones, *map(going.operand, captured)]),
    )
    inputs = [region.operand(value) for value in (*starts, *captured)]
    found = [_result(value, leaf) for value, leaf in zip(own[:count], following.leaves, strict=True)]
    types = [*(type_ for type_, _ in found), *(value.type for value in (*own[count:], *captured))]
    names = [name, *(region.names.fresh(f"{name}_{value.name}") for value in (*own[1:], *captured))]
    results = region.node("while_loop", inputs, types, names, regions, bound)
    for result, (_, number) in zip(results, found, strict=False):
        result.weak = number
    region.store.update(zip(assigned, results[count:], strict=False))
    return unflatten(structure, map(Symbol, results[:count]))


def _settled(
    region: RegionTrace,
    cond: Callable[..., Any],
    body: Callable[..., Any],
    structure: Structure,
    parameters: Sequence[tuple[str, Type, int | float | None]],
) -> tuple[_Regions | None, tuple[Resource, ...]]:
    """The regions, and the variables that they assign: which is known when they were traced, and then they are traced
    again. No regions where the condition assigns some."""
    assigned: tuple[Resource, ...] = ()
    before = region.mark()
    while True:
        made = _regions(region, cond, body, structure, parameters, assigned)
        if made is None:
            return None, ()
        more = in_order({*assigned, *made.going.store})
        if more == assigned:
            return made, assigned
        assigned = more
        region.back_to(before)


def _regions(
    region: RegionTrace,
    cond: Callable[..., Any],
    body: Callable[..., Any],
    structure: Structure,
    parameters: Sequence[tuple[str, Type, int | float | None]],
    assigned: Sequence[Resource],
) -> _Regions | None:
    deciding, going, line = subregion(region), subregion(region), here()
    count = len(parameters)
    own = [deciding.parameter(inner, type_, line, weak) for inner, type_, weak in parameters]
    own += [deciding.parameter(variable.name, variable.type, line) for variable in assigned]
    mine = [Value(going, value.name, value.type, line, value.weak) for value in own]
    deciding.store.update(zip(assigned, own[count:], strict=True))
    going.store.update(zip(assigned, mine[count:], strict=True))
    going_on = predicate(run(deciding, cond, structure, own[:count]), "condition of while_loop")
    if any(value not in own for value in deciding.store.values()):
        return None
    following = following_of(structure, run(going, body, structure, mine[:count]), body)
    return _Regions(deciding, going, own, mine, going_on, following)


@dataclass(frozen=True)
class _Turned:
    """The body of a loop whose condition assigns variables, and behind it that condition, which decides on the next
    trip."""

    cond: Callable[..., Any]
    body: Callable[..., Any]
    structure: Structure
    __signature__: Signature

    def __call__(self, *variables: Any) -> tuple[Any, ...]:
        value = settled(self.body(*variables[:-1]))
        following_of(self.structure, value, self.body)
        following = unflatten(self.structure, [] if value is None else flatten(value)[0])
        return *following, self.decided(following)

    def decided(self, variables: tuple[Any, ...]) -> Any:
        going_on = self.cond(*variables)
        predicate(going_on, "condition of while_loop")
        return going_on


def _turned_loop(
    region: RegionTrace,
    cond: Callable[..., Any],
    body: Callable[..., Any],
    leaves: list[Any],
    structure: Structure,
    bound: Attributes,
) -> Any:
    """A loop whose condition assigns variables: it decides before the loop and at the end of each trip, and the loop
    goes by what it decided."""
    check_parameters(body, len(structure.parts))
    names = parameter_names(body, len(structure.parts))
    last = Names()
    last.taken.update(names)
    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in (*names, last.fresh("going_on"))]
    turned, variables = _Turned(cond, body, structure, Signature(parameters)), unflatten(structure, leaves)
    begun, form = flatten((*variables, turned.decided(variables)))
    return traced_loop(region, lambda *variables: variables[-1], turned, begun, form, bound)[:-1]


def following_of(structure: Structure, value: Any, body: Callable[..., Any]) -> Returned:
    """What a body returned: a tuple of the next variables, nested as they are. A single one may stand alone."""
    found = returned(body, value)
    wanted = [part for _, part in structure.parts]
    if not (found.leaves or wanted):
        return found
    if not found.leaves:
        raise nothing()
    parts = [part for _, part in found.structure.parts] if found.structure.kind is tuple else [found.structure]
    alone = len(wanted) == 1 and (found.structure == wanted[0] or (wanted[0] != LEAF and len(parts) != 1))
    if alone:
        parts = [found.structure]
    if len(parts) != len(wanted):
        raise Invalid(
            "the body of while_loop returns another number of values than there are loop variables",
            rule="V5",
            where=found.line,
            required=len(wanted),
            got=len(parts),
        )
    for name, one, other in zip(parameter_names(body, len(wanted)), wanted, parts, strict=True):
        if one != other:
            said = f"loop variable {name} changes its structure"
            required, got = compared(one, other)
            raise Invalid(said, rule="V5", where=found.line, required=at(required, here()), got=at(got, found.line))
    return found


def _next_variables(following: Returned, own: list[Value]) -> list[Value | Literal]:
    adapted = []
    for value, variable in zip(following.leaves, own, strict=True):
        operand = weakly(value, variable.type.dtype if variable.type.is_scalar else None)
        if not (variable.type.admits(operand.type) or _may_become(variable, operand.type)):
            made = isinstance(operand, Value) and operand.region is variable.region
            raise Invalid(
                f"loop variable {variable.name} changes its type",
                rule="V5",
                where=operand.location if made and isinstance(operand, Value) else following.line,
                required=at(variable.type, variable.location),
                got=following.told(operand),
                hint=_loosened(variable.type, operand.type),
            )
        adapted.append(operand)
    return adapted


def _may_become(variable: Value, type_: Type) -> bool:
    """Whether a loop variable that starts with a Python number so far may turn out to be of this type."""
    kinds = "f" if isinstance(variable.weak, float) else "iuf"
    return variable.weak is not None and type_.is_scalar and type_.dtype.kind in kinds


def _result(variable: Value, following: object) -> tuple[Type, int | float | None]:
    """The type of a loop's result, and its number while it is one: what starts as one takes what comes next."""
    number = weak_number(following)
    if variable.weak is None:
        return variable.type, None
    if number is None:
        return to_operand(following).type, None
    number *= variable.weak
    return to_operand(number).type, number


def _loosened(one: Type, other: Type) -> str:
    """How to make a loop variable one that both types fit."""
    type_ = one.join(other)
    if type_ is None:
        return "start it with that type, as in 0.0 for 0, or convert with tl.astype"
    dtype = f"tl.{type_.dtype!r}"
    said = (
        f"tl.Type({dtype}, None)" if type_.shape is None else f"tl.Array[{', '.join([dtype, *map(str, type_.shape)])}]"
    )
    return f"start it with an open size: pass it through a tl.function whose parameter is {said}"


def _loop_names(body: Callable[..., Any], structure: Structure) -> list[str]:
    names = parameter_names(body, len(structure.parts))
    parts = zip(structure.parts, names, strict=True)
    return [inner for (_, part), name in parts for inner in leaf_names(part, name)]
