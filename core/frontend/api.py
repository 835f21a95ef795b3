"""The words of the language: functions of values, `cond` and `while_loop`.

In a trace they add to the program, whatever their operands; outside of one they compute eagerly.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..dtypes import DType, promote
from ..errors import Exhausted, Invalid, Trap, Usage
from ..ops.op import Kernel, Op, culprit, kernel, lookup, trap_message
from ..program.program import BOUND
from ..types import Type, type_of
from ..value import Literal, Value, admit, shortly
from .eager.array import Concrete, like
from .eager.dispatch import applied, eagerly, learned
from .eager.gradients import called_once
from .eager.recording import RECORDERS, hearing, record_node
from .trace.captures import Held, in_order, read
from .trace.control_flow import (
    Returned,
    both_weak,
    captured_by,
    following_of,
    foreseen_cond,
    nothing,
    predicate,
    subregion,
    traced_branch,
    traced_loop,
)
from .trace.operators import Operators
from .trace.pytree import Structure, compared, flatten, settled, unflatten
from .trace.source_location import here
from .trace.symbol import Symbol
from .trace.trace import Value as Traced
from .trace.trace import apply as apply_traced
from .trace.trace import at, current, number_of, to_operand, weak_number, weakly, weakness

_BOOL = Type(dtypes.bool)


def apply(op: str, *operands: Any, **attributes: Any) -> Any:
    """Apply an op by name. In a trace it makes a node; else it computes, and raises Trap where it has no value."""
    made = eagerly(op, operands, attributes)
    if made is not None:
        return made
    row = lookup(op)
    if row.arity not in (None, len(operands)):
        raise Usage(f"{op} takes {row.arity} operands", where=here(), got=len(operands))
    if any(isinstance(operand, Held) for operand in operands):
        return apply(op, *map(read, operands), **attributes)
    adapted = _adapt(row, list(map(number_of, operands)))
    region = current()
    if region is not None:
        result = apply_traced(region, op, adapted, tuple(attributes.items()))
        result.weak = _weak_result(op, operands, result.type)
        symbol = Symbol(result)
        if RECORDERS.get():
            record_node(op, operands, adapted, attributes, symbol)
        return symbol
    if any(isinstance(operand, Traced) for operand in adapted):
        raise Invalid(
            "a symbolic value is used after its function was traced",
            rule="F2",
            where=here(),
            got=", ".join(at(kept.name, kept.location) for kept in adapted if isinstance(kept, Traced)),
            hint="return it from the function; only results leave",
        )
    known = [operand for operand in adapted if isinstance(operand, Literal)]
    value, computes, type_ = _computed(op, known, attributes)
    if not any(isinstance(operand, Concrete) for operand in operands):
        return like(operands, value)
    pairs = zip(operands, known, strict=True)
    given = tuple(each if type(each) in (Concrete, bool, int, float) else Concrete(taken) for each, taken in pairs)
    return applied(learned(row, given, known, attributes, computes, type_), given, value)


Operators.apply = staticmethod(apply)


def _weak_result(op: str, operands: Sequence[object], type_: Type) -> int | float | None:
    """The number that a result stands for, where weak values and Python's numbers make it among themselves."""
    concerned = operands[slice(*lookup(op).alike)]
    weak = any(weakness(operand) is not None for operand in concerned)
    if op == "astype" or not weak or any(weak_number(number_of(operand)) is None for operand in concerned):
        return None
    return {"i": 1, "f": 1.0}.get(type_.dtype.kind) if type_.is_scalar else None


def _adapt(row: Op, operands: Sequence[object]) -> list[Traced | Literal]:
    """Operands as values; Python's own numbers take the dtype of the operands that have one of their own.

    Among themselves an int takes a float's. Operands that do not share the dtype, as the condition of `where`, or
    indices, are no such operands.
    """
    alike = range(len(operands))[slice(*row.alike)]
    weak = [type(operand) in (int, float) and k in alike for k, operand in enumerate(operands)]
    given = [None if is_weak else to_operand(operand) for operand, is_weak in zip(operands, weak, strict=True)]
    strong = [value.type.dtype for value in given[slice(*row.alike)] if value is not None]
    if not strong and any(type(operands[k]) is float for k in alike):
        strong = [dtypes.float64]
    wanted = functools.reduce(lambda one, other: one and promote(one, other), strong, strong[0] if strong else None)
    return [weakly(operand, wanted) if value is None else value for operand, value in zip(operands, given, strict=True)]


def compute(op: str, operands: list[Literal], attributes: dict[str, Any]) -> Value:
    """What an op gives eagerly; raises Invalid, Trap or Exhausted where it gives nothing."""
    return _computed(op, operands, attributes)[0]


def _computed(op: str, operands: list[Literal], attributes: dict[str, Any]) -> tuple[Value, Kernel, Type]:
    """That, with what computed it, and of which type it is said to be."""
    row = lookup(op)
    types = [operand.type for operand in operands]
    try:
        type_ = row.types(*types, **attributes)
    except Invalid as error:
        error.rule, error.where, error.message = "V4", here(), f"{op}: {error.message}"
        raise
    values = tuple(operand.value for operand in operands)
    try:
        message = trap_message(row, values, tuple(attributes.items()))
        if message is None:
            computes = kernel(row, types, type_, tuple(attributes.items()), shares=True)
            return computes(*values), computes, type_
    except MemoryError:
        got = f"{op} of {', '.join(map(str, types))}"
        raise Exhausted("a result does not fit into memory", rule="S12", where=here(), got=got) from None
    trap = Trap(message, where=here(), got=", ".join(map(shortly, values)))
    for line in culprit(op, values, tuple(attributes.items()), message):
        trap.add_note(line)
    raise trap


def cond(pred: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """The result of `then()` where pred holds, else of `otherwise()`; the other is not computed.

    Both return values of the same dtypes that nest alike: one, or tuples, dicts, named tuples and dataclasses of
    them. Values of the surrounding function may be used in both. In a trace both are traced, once, and checked;
    outside of one only the chosen one is called, and what it returns is the result, whatever it is.

    >>> cond(2 < 3, lambda: 10, lambda: 1 // 0)
    10
    """
    region = current()
    if region is None:
        return settled(then() if _concrete_bool(pred) else otherwise())
    if hearing():
        return called_once("cond", then, lambda: cond(pred, then, otherwise))
    chosen = predicate(pred, "predicate of cond")
    name = region.names.fresh("cond")
    branches = subregion(region), subregion(region)
    one, other = traced_branch(branches[0], then), traced_branch(branches[1], otherwise)
    if one is None or other is None:
        return foreseen_cond(region, one or other)
    assigned = in_order((*branches[0].store, *branches[1].store))
    if not (one.leaves or assigned):
        raise nothing()
    pairs = _unified(one, other)
    count = len(pairs)
    pairs += [(branches[0].held(variable), branches[1].held(variable)) for variable in assigned]
    yielded = [[branch.operand(pair[side]) for pair in pairs] for side, branch in enumerate(branches)]
    captured = captured_by(*branches)
    regions = tuple(
        branch.close(list(map(branch.local, captured)), results)
        for branch, results in zip(branches, yielded, strict=True)
    )
    inputs = [region.operand(value) for value in (chosen, *captured)]
    types = [left.type.join(right.type) or left.type for left, right in pairs]
    names = [*region.names.several(name, count), *(region.names.fresh(variable.name) for variable in assigned)]
    results = region.node("cond", inputs, types, names, regions)
    for position, result in enumerate(results[:count]):
        result.weak = both_weak(one, other, position)
    region.store.update(zip(assigned, results[count:], strict=True))
    return unflatten(one.structure, map(Symbol, results[:count]))


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], *variables: Any, parallel_iterations: int | None = None
) -> tuple[Any, ...]:
    """The loop variables after `body` has been applied while `cond` of them holds, as a tuple.

    A variable is a value, or a tuple, dict, named tuple or dataclass of values. `body` returns the next variables,
    as many, of the same types and nested alike. Values of the surrounding function may be used in both; they are loop
    variables that do not change. With `parallel_iterations`, no more than so many iterations are to run at once.

    >>> while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + i), 0, 0)
    (4, 6)
    >>> while_loop(lambda p: p["n"] < 4, lambda p: {"n": p["n"] + 1, "s": p["s"] + p["n"]}, {"n": 0, "s": 0})
    ({'n': 4, 's': 6},)
    """
    leaves, structure = flatten(variables)
    if parallel_iterations is not None and not (type(parallel_iterations) is int and parallel_iterations > 0):
        required = "an integer from 1 up, or None"
        raise Usage("this is no bound on iterations", where=here(), required=required, got=repr(parallel_iterations))
    bound = () if parallel_iterations is None else ((BOUND, parallel_iterations),)
    region = current()
    if region is None:
        return _concrete_loop(cond, body, leaves, structure)  # type: ignore[no-any-return]
    if hearing():
        again = functools.partial(while_loop, cond, body, *variables, parallel_iterations=parallel_iterations)
        return called_once("loop", body, again)  # type: ignore[no-any-return]
    return traced_loop(region, cond, body, leaves, structure, bound)  # type: ignore[no-any-return]


def _concrete_loop(cond: Callable[..., Any], body: Callable[..., Any], leaves: list[Any], structure: Structure) -> Any:
    """A variable is a concrete array, or NumPy's, where it starts as one or the body makes it one."""
    values = [_kept([leaf], leaf, None) for leaf in leaves]
    while _concrete_bool(cond(*unflatten(structure, values))):
        following = following_of(structure, body(*unflatten(structure, values)), body)
        pairs = zip(following.leaves, values, strict=True)
        values = [_kept([leaf, old], leaf, type_of(old)) for leaf, old in pairs]
    return unflatten(structure, values)


def _kept(operands: Sequence[Any], leaf: Any, type_: Type | None) -> Any:
    """A loop variable; a concrete array stays the very one that it is, which tapes know it by."""
    admitted = _admitted(leaf, type_)
    return leaf if isinstance(leaf, Concrete) else like(operands, admitted)


def _admitted(value: object, type_: Type | None) -> Value:
    try:
        return admit(value, type_)
    except Usage as error:
        error.where = here()
        raise


def _unified(one: Returned, other: Returned) -> list[tuple[Traced | Literal, Traced | Literal]]:
    """The results of both branches, in pairs."""
    if one.structure != other.structure:
        required, got = compared(one.structure, other.structure)
        raise Invalid(
            "the branches of cond return different structures",
            rule="V5",
            where=here(),
            required=at(required, one.line),
            got=at(got, other.line),
        )
    return [_unify(left, right, one, other) for left, right in zip(one.leaves, other.leaves, strict=True)]


def _unify(one: Any, other: Any, then: Returned, otherwise: Returned) -> tuple[Traced | Literal, Traced | Literal]:
    """A result of both branches, of one dtype: a Python number adapts to the other side."""
    left, right = weakly(one, _dtype(other)), weakly(other, _dtype(one))
    if left.type.join(right.type) is None:
        raise Invalid(
            "the branches of cond return different types",
            rule="V5",
            where=here(),
            required=then.told(left),
            got=otherwise.told(right),
            hint="convert one with tl.astype",
        )
    return left, right


def _dtype(value: Any) -> DType | None:
    """The dtype that a scalar has of its own: Python's int takes any number's."""
    type_ = None if type(value) is int else to_operand(value).type
    return type_.dtype if type_ and type_.is_scalar else None


def _concrete_bool(pred: Any) -> bool:
    if type_of(admit(pred)) != _BOOL:
        raise Invalid("a predicate is not one bool", rule="V5", where=here(), required=_BOOL, got=type_of(pred))
    return bool(pred)
