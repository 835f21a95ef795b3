"""The words of the language: functions of values, `cond` and `while_loop`.

In a trace they add to the program, whatever their operands; outside of one they compute at once.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..dtypes import DType, promote
from ..errors import Invalid, Trap, Usage
from ..op import kernel, lookup, trap_message
from ..program import Location
from ..types import Type, type_of
from ..value import Literal, Value, admit
from .source import definition, here
from .symbol import Symbol
from .tracing import RegionTrace, current, entered, to_operand
from .tracing import Value as Traced
from .tracing import apply as apply_traced

_BOOL = Type(dtypes.bool)


def apply(op: str, *operands: Any, **attributes: Any) -> Any:
    """Apply an op by name. In a trace it makes a node; else it computes, and raises Trap where it has no value."""
    row = lookup(op)
    if len(operands) != row.arity:
        raise Usage(f"{op} takes {row.arity} operands", where=here(), got=len(operands))
    adapted = _adapt(op, operands)
    region = current()
    if region is not None:
        return Symbol(apply_traced(region, op, adapted, tuple(attributes.items())))
    if any(isinstance(operand, Traced) for operand in adapted):
        raise Invalid(
            "a symbolic value is used after its function was traced",
            rule="F2",
            where=here(),
            hint="return it from the function; only results leave",
        )
    return _compute(op, [operand for operand in adapted if isinstance(operand, Literal)], attributes)


Symbol.apply = staticmethod(apply)


def _adapt(op: str, operands: Sequence[object]) -> list[Traced | Literal]:
    """Operands as values; Python's own numbers take the dtype of the operands that have one of their own.

    Among themselves an int takes a float's. The condition of `where` is no such operand.
    """
    weak = [type(operand) in (int, float) and not (op == "where" and k == 0) for k, operand in enumerate(operands)]
    given = [None if is_weak else to_operand(operand) for operand, is_weak in zip(operands, weak, strict=True)]
    strong = [value.type.dtype for value in given[op == "where" :] if value is not None]
    if not strong and float in map(type, operands):
        strong = [dtypes.float64]
    wanted = functools.reduce(lambda one, other: one and promote(one, other), strong, strong[0] if strong else None)
    return [weakly(operand, wanted) if value is None else value for operand, value in zip(operands, given, strict=True)]


def weakly(value: object, wanted: DType | None) -> Traced | Literal:
    """An operand; where it is Python's own number it takes the wanted dtype, if it may: an int any number's, a float
    any float's."""
    weak = wanted is not None and (
        (type(value) is int and wanted.kind != "b") or (type(value) is float and wanted.kind == "f")
    )
    return to_operand(value, Type(wanted)) if weak and wanted else to_operand(value)


def _compute(op: str, operands: list[Literal], attributes: dict[str, Any]) -> Value:
    row = lookup(op)
    types = [operand.type for operand in operands]
    try:
        type_ = row.types(*types, **attributes)
    except Invalid as error:
        error.rule, error.where, error.message = "V4", here(), f"{op}: {error.message}"
        raise
    values = tuple(operand.value for operand in operands)
    message = trap_message(row, values)
    if message is not None:
        raise Trap(message, where=here(), got=", ".join(map(str, operands)))
    return kernel(row, types, type_, tuple(attributes.items()))(*values)


def cond(pred: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """The result of `then()` where pred holds, else of `otherwise()`; the other is not computed.

    Both return the same number of values, of the same types. Values of the surrounding function may be used in
    both. In a trace both are traced, once.

    >>> cond(2 < 3, lambda: 10, lambda: 1 // 0)
    10
    """
    region = current()
    if region is None:
        return then() if _concrete_bool(pred) else otherwise()
    chosen = _predicate(pred, "predicate of cond")
    name = region.names.fresh("cond")
    branches = [_subregion(region), _subregion(region)]
    returned = [_trace(branch, python, ()) for branch, python in zip(branches, (then, otherwise), strict=True)]
    single = not isinstance(returned[0], tuple)
    sides = [_as_tuple(side) for side in returned]
    if len(sides[0]) != len(sides[1]) or single != (not isinstance(returned[1], tuple)):
        raise Invalid(
            "the branches of cond return different numbers of values",
            rule="V5",
            where=here(),
            required=_shape(returned[0]),
            got=_shape(returned[1]),
        )
    pairs = [_unify(one, other) for one, other in zip(*sides, strict=True)]
    yielded = [[branch.operand(pair[side]) for pair in pairs] for side, branch in enumerate(branches)]
    captured = list(dict.fromkeys(outer for branch in branches for outer in branch.captured))
    regions = tuple(
        branch.close(list(map(branch.local, captured)), results)
        for branch, results in zip(branches, yielded, strict=True)
    )
    inputs = [region.operand(value) for value in (chosen, *captured)]
    types = [_wider(one.type, other.type) for one, other in pairs]
    names = region.names.several(name, len(types))
    return _wrapped(region.node("cond", inputs, types, names, regions), single)


def while_loop(cond: Callable[..., Any], body: Callable[..., Any], *variables: Any) -> tuple[Any, ...]:
    """The loop variables after `body` has been applied while `cond` of them holds, as a tuple.

    `body` returns the next variables, as many and of the same types. Values of the surrounding function may be
    used in both; they are loop variables that do not change.

    >>> while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + i), 0, 0)
    (4, 6)
    """
    if not variables:
        raise Usage("while_loop needs at least one loop variable", where=here())
    region = current()
    if region is None:
        return _concrete_loop(cond, body, variables)
    starts = [to_operand(variable) for variable in variables]
    name = region.names.fresh("loop")
    deciding, going = _subregion(region), _subregion(region)
    own = [deciding.parameter(name, start.type) for name, start in zip(_names(body, starts), starts, strict=True)]
    mine = [Traced(going, value.name, value.type) for value in own]
    decided = _trace(deciding, cond, own)
    going_on = _predicate(decided, "condition of while_loop")
    following = _next_variables(_as_tuple(_trace(going, body, mine)), own, body)
    yielded = [deciding.operand(going_on)], [going.operand(value) for value in following]
    captured = list(dict.fromkeys([*deciding.captured, *going.captured]))
    unchanged = [going.operand(value) for value in captured]
    regions = (
        deciding.close([*own, *map(deciding.local, captured)], yielded[0]),
        going.close([*mine, *map(going.local, captured)], [*yielded[1], *unchanged]),
    )
    inputs = [region.operand(value) for value in (*starts, *captured)]
    types = [value.type for value in (*own, *captured)]
    names = [name, *(region.names.fresh(f"{name}_{value.name}") for value in (*own[1:], *captured))]
    results = region.node("while_loop", inputs, types, names, regions)
    return tuple(map(Symbol, results[: len(own)]))


def _predicate(value: Any, of: str) -> Traced | Literal:
    pred = None if isinstance(value, tuple) else to_operand(value)
    if pred is None or pred.type != _BOOL:
        got = pred.type if pred else f"a tuple of {len(value)}"
        raise Invalid(f"the {of} is not one bool", rule="V5", where=here(), required=_BOOL, got=got)
    return pred


def _concrete_loop(cond: Callable[..., Any], body: Callable[..., Any], variables: tuple[Any, ...]) -> tuple[Any, ...]:
    values: tuple[Any, ...] = tuple(admit(variable) for variable in variables)
    while _concrete_bool(cond(*values)):
        following = _as_tuple(body(*values))
        _check_number(following, values, body)
        values = tuple(admit(value, type_of(old)) for value, old in zip(following, values, strict=True))
    return values


def _next_variables(following: tuple[Any, ...], own: list[Traced], body: Any) -> list[Traced | Literal]:
    _check_number(following, own, body)
    adapted = []
    for value, variable in zip(following, own, strict=True):
        operand = weakly(value, variable.type.dtype if variable.type.is_scalar else None)
        if not variable.type.admits(operand.type):
            raise Invalid(
                f"loop variable {variable.name} changes its type",
                rule="V5",
                where=_line(body),
                required=variable.type,
                got=operand.type,
                hint="start it with that type, as in 0.0 for 0, or convert with tl.astype",
            )
        adapted.append(operand)
    return adapted


def _check_number(following: Sequence[object], variables: Sequence[object], body: Callable[..., Any]) -> None:
    if len(following) != len(variables):
        raise Invalid(
            "the body of while_loop returns another number of values than there are loop variables",
            rule="V5",
            where=_line(body),
            required=len(variables),
            got=len(following),
        )


def _line(python: Callable[..., Any]) -> Location | None:
    return definition(python.__code__) if inspect.isfunction(python) else here()


def _names(body: Callable[..., Any], starts: Sequence[object]) -> list[str]:
    """The names of the loop variables: those of the body's parameters, where it has as many."""
    try:
        names = list(inspect.signature(body).parameters)
    except (TypeError, ValueError):
        names = []
    return names if len(names) == len(starts) else [f"v{k}" for k in range(len(starts))]


def _subregion(region: RegionTrace) -> RegionTrace:
    return RegionTrace(region.trace, region.function, region.names, parent=region)


def _trace(region: RegionTrace, python: Callable[..., Any], parameters: Sequence[Traced]) -> Any:
    if not callable(python):
        raise Usage("a branch, condition or body must be a function", where=here(), got=repr(python))
    _check_parameters(python, len(parameters))
    with entered(region):
        return python(*map(Symbol, parameters))


def _check_parameters(python: Callable[..., Any], count: int) -> None:
    try:
        signature = inspect.signature(python)
    except (TypeError, ValueError):
        return  # a builtin that does not say
    try:
        signature.bind(*range(count))
    except TypeError:
        raise Usage(
            "a branch, condition or body takes another number of values",
            where=_line(python),
            required=f"{count} parameter{'s' * (count != 1)}",
            got=str(signature),
            hint="a branch takes none; a condition and a body take each loop variable",
        ) from None


def _shape(returned: Any) -> str:
    return f"a tuple of {len(returned)}" if isinstance(returned, tuple) else "one value"


def _as_tuple(returned: Any) -> tuple[Any, ...]:
    values = returned if isinstance(returned, tuple) else (returned,)
    if returned is None or not values:
        raise Invalid("a branch or body returns nothing", rule="V5", where=here(), hint="return a value, or a tuple")
    return values


def _unify(one: Any, other: Any) -> tuple[Traced | Literal, Traced | Literal]:
    """A result of both branches, of one type: a Python number adapts to the other side."""
    left, right = weakly(one, _dtype(other)), weakly(other, _dtype(one))
    if not (left.type.admits(right.type) or right.type.admits(left.type)):
        raise Invalid(
            "the branches of cond return different types",
            rule="V5",
            where=here(),
            required=left.type,
            got=right.type,
            hint="convert one with tl.astype",
        )
    return left, right


def _dtype(value: Any) -> DType | None:
    """The dtype that a scalar has of its own: Python's int takes any number's."""
    type_ = None if type(value) is int else to_operand(value).type
    return type_.dtype if type_ and type_.is_scalar else None


def _wider(one: Type, other: Type) -> Type:
    return one if one.admits(other) else other


def _wrapped(values: list[Traced], single: bool) -> Any:
    return Symbol(values[0]) if single else tuple(map(Symbol, values))


def _concrete_bool(pred: Any) -> bool:
    if type_of(admit(pred)) != _BOOL:
        raise Invalid("a predicate is not one bool", rule="V5", where=here(), required=_BOOL, got=type_of(pred))
    return bool(pred)
