"""Control flow: `cond` and `while_loop`.

In a trace they add nodes to the program, whatever their operands; outside a trace they call their functions.
`trace.control_flow` traces the parts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import Parameter, Signature
from typing import Any

from .. import dtypes
from ..errors import Invalid, TagloomError, Usage
from ..program.program import UniqueNames
from ..types import Type, type_of
from ..value import admit
from .eager.apply import apply
from .eager.array import ConcreteArray, result_like
from .eager.gradients import call_as_one_step
from .eager.recording import recording_tapes
from .trace.captures import sort_resources
from .trace.control_flow import (
    accepts_count,
    check_arity,
    check_branch,
    check_predicate,
    convert_in_trace,
    emit_cond,
    flatten_next_variables,
    flatten_result,
    join_weak_values,
    loop_attributes,
    no_results_error,
    open_subregion,
    parameter_names,
    placeholder_cond_results,
    trace_branch,
    trace_loop,
    unify_branches,
    widening_hint,
)
from .trace.program_builder import current_region, enter_region, to_operand
from .trace.pytree import (
    TreeDef,
    flatten,
    leaf_paths,
    read_variables,
    result_treedef,
    unflatten,
)
from .trace.source_location import user_location
from .trace.symbol import Symbol

_BOOL = Type(dtypes.bool)


def cond(pred: Any, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Any) -> Any:
    """The result of `then(*operands)` if `pred` is true, else of `otherwise(*operands)`. Only one of the branches is
    computed.

    `pred` is one bool: of dtype bool, without axes. The branches take the operands, if there are any, and may use
    values of the surrounding function. They return results of the same structure and dtypes: a value, or a tuple, dict,
    named tuple or dataclass of values. A Python number takes the dtype of the other branch's result. Sizes may differ:
    the result then has an open size.

    In a trace, both branches are traced and checked. Outside a trace, only the chosen branch is called, and its result
    is not checked.

    Raises Invalid (V5) for a predicate that is not one bool, and for branches that return different dtypes or
    structures; Usage for a branch that is not a function of the operands.

    >>> cond(2 < 3, lambda: 10, lambda: 1 // 0)
    10
    """
    for branch in (then, otherwise):
        check_branch(branch, len(operands))
    if operands:
        then, otherwise = (functools.partial(convert_in_trace(branch), *operands) for branch in (then, otherwise))
    return choose_branch("cond", pred, then, otherwise)


def choose_branch(construct: str, pred: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """`cond`, as part of a construct, which errors name."""
    region = current_region()
    if region is None:
        return read_variables(then() if _concrete_bool(pred) else otherwise())
    if recording_tapes():
        return call_as_one_step("cond", then, lambda: choose_branch(construct, pred, then, otherwise))
    predicate = check_predicate(pred, "predicate of cond")
    name = region.names.fresh_name("cond")
    branches = open_subregion(region), open_subregion(region)
    first, second = trace_branch(branches[0], then), trace_branch(branches[1], otherwise)
    if first is None or second is None:
        return placeholder_cond_results(region, first or second)
    with enter_region(branches[1]):
        second = flatten_result(otherwise, second.value, first.treedef)
    if first.treedef != second.treedef:
        with enter_region(branches[0]):
            first = flatten_result(then, first.value, second.treedef)
    assigned = sort_resources((*branches[0].store, *branches[1].store))
    if first.treedef == second.treedef and not (first.leaves or assigned):
        first, second = (
            replace(branch, leaves=[False], treedef=result_treedef(branch.treedef), weak_flags=[False])
            for branch in (first, second)
        )
    if not (first.leaves or assigned):
        raise no_results_error()
    pairs = unify_branches(first, second, construct)
    results = emit_cond(region, predicate, branches, pairs, region.names.result_names(name, len(pairs)))
    for position, result in enumerate(results):
        result.weak_value = join_weak_values(first, second, position)
    return unflatten(first.treedef, map(Symbol, results))


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """The result of `branches[index](*operands)`; only that branch is computed. An index below 0 means the first
    branch, one that is too large the last.

    The branches return results of the same structure and dtypes, like the branches of `cond`. Raises Invalid (V5) where
    they do not, or the index is not one integer; Usage without branches.

    >>> switch(2, [lambda x: x, lambda x: -x, lambda x: x * x], 3)
    9
    """
    if not isinstance(branches, tuple | list) or not branches:
        raise Usage(
            "the branches of switch are not functions",
            where=user_location(),
            required="a list of functions, one at least",
            got=repr(branches)[:80],
            python=TypeError,
        )
    operand = to_operand(index)
    if not (operand.type.is_scalar and operand.type.dtype.is_integer):
        raise Invalid(
            "the index of switch is not one integer",
            rule="V5",
            where=user_location(),
            required="an integer without axes",
            got=operand.type,
            hint="tl.cond takes a bool",
            python=TypeError,
        )
    for branch in branches:
        check_branch(branch, len(operands))
    return _branch_at(index, [functools.partial(convert_in_trace(branch), *operands) for branch in branches], 0)()


def _branch_at(index: Any, branches: Sequence[Callable[[], Any]], first: int) -> Callable[[], Any]:
    """A function that calls the branch of an index, found by bisection; `first` is the number of the first branch.
    Errors name the line of its first branch."""
    if len(branches) == 1:
        return branches[0]
    half = len(branches) // 2

    @functools.wraps(branches[0], assigned=(), updated=())
    def choose() -> Any:
        lower, upper = _branch_at(index, branches[:half], first), _branch_at(index, branches[half:], first + half)
        return choose_branch("switch", index < first + half, lower, upper)

    return choose


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    *variables: Any,
    parallel_iterations: int | None = None,
    maximum_iterations: Any = None,
) -> tuple[Any, ...]:
    """Apply `body` to the loop variables as long as `cond` of them is true. Returns their last values, a tuple.

    A loop variable is a value, or a tuple, dict, named tuple or dataclass of values. `cond` and `body` take all loop
    variables as parameters. `cond` returns one bool. `body` returns the next values: a tuple with one for each
    variable, of the same dtypes, shapes and structure; a single variable needs no tuple. A Python number takes the
    dtype of its variable. Both functions may use values of the surrounding function.

    Iterations that do not depend on each other run in parallel. With `parallel_iterations`, at most that many run at
    once. With `maximum_iterations`, an integer, which may be symbolic, the loop ends after that many, even if `cond` is
    true; below 1 there are none. Outside a trace, the loop runs eagerly.

    Raises Invalid (V5) where a variable changes its type or structure, or the condition is not one bool; Usage for
    functions that do not take the loop variables, and for bounds that are not integers.

    >>> while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + i), 0, 0)
    (4, 6)
    >>> while_loop(lambda p: p["n"] < 4, lambda p: {"n": p["n"] + 1, "s": p["s"] + p["n"]}, {"n": 0, "s": 0})
    ({'n': 4, 's': 6},)
    """
    check_separate_variables(cond, variables)
    with advise_separate_variables(variables):
        if maximum_iterations is not None:
            bounded = bound_iterations(cond, body, variables, maximum_iterations)
            return while_loop(*bounded, parallel_iterations=parallel_iterations)[1:]
        region = current_region()
        leaves, structure = flatten_variables(variables)
        attributes = loop_attributes(parallel_iterations)
        if region is not None and recording_tapes():
            loop = functools.partial(while_loop, cond, body, *variables, parallel_iterations=parallel_iterations)
            return call_as_one_step("loop", body, loop)  # type: ignore[no-any-return]
        if region is None:
            return eager_while_loop(cond, body, leaves, structure)  # type: ignore[no-any-return]
        return trace_loop(region, cond, body, leaves, structure, attributes)  # type: ignore[no-any-return]


@contextmanager
def advise_separate_variables(variables: Sequence[Any]) -> Iterator[None]:
    """Type errors of a loop whose only variable is a tuple or a list advise to pass separate variables."""
    try:
        yield
    except (Invalid, TypeError) as error:
        if len(variables) != 1 or type(variables[0]) not in (tuple, list):
            raise
        advice = "pass loop variables as separate arguments: tl.while_loop(cond, body, i, x)"
        if isinstance(error, Invalid):
            error.hint = error.hint or advice
            raise
        if isinstance(error, TagloomError):
            error.hint = f"{error.hint}; or {advice}" if error.hint else advice
            raise
        kind = type(variables[0]).__name__
        raise Usage(
            f"the only loop variable is a {kind}, and the condition or the body takes no {kind}",
            where=user_location(),
            got=str(error),
            hint=advice,
            python=TypeError,
        ) from error


def flatten_variables(variables: tuple[Any, ...]) -> tuple[list[Any], TreeDef]:
    """The leaves and structure of loop variables. In a trace, one array holds the items of a list of numbers; else each
    item is a value of its own."""
    if current_region() is None:
        return flatten(variables, constants_are_static=True, is_leaf=None)
    return flatten(variables, constants_are_static=True, packs_numbers=True)


def bound_iterations(
    cond: Callable[..., Any], body: Callable[..., Any], variables: Sequence[Any], limit: Any
) -> tuple[Any, ...]:
    """The condition, body and variables of a loop of at most `limit` iterations: its first variable counts them. As in
    TensorFlow, the condition is evaluated after the last one, too."""
    operand = to_operand(limit)
    if not (operand.type.is_scalar and operand.type.dtype.is_integer):
        raise Usage(
            "maximum_iterations is not an integer",
            where=user_location(),
            required="an integer, or None",
            got=operand.type,
            python=TypeError,
        )
    treedef = flatten_variables(tuple(variables))[1]
    check_arity(cond, len(variables))
    check_arity(body, len(variables))
    cond, traced_body = convert_in_trace(cond), convert_in_trace(body)

    def is_within_bound(count: Any, *variables: Any) -> Any:
        condition = cond(*variables)
        check_predicate(condition, "condition of while_loop")
        return apply("logical_and", count < limit, condition)

    def next_variables(count: Any, *variables: Any) -> tuple[Any, ...]:
        value = read_variables(traced_body(*variables))
        flatten_next_variables(treedef, value, body)
        is_alone = len(variables) == 1 and not (type(value) is tuple and len(value) == 1)
        return count + 1, *(() if value is None else (value,) if is_alone else value)

    unique = UniqueNames()
    names = [unique.fresh_name(name) for name in ("iterations", *parameter_names(body, len(variables)))]
    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    next_variables.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return is_within_bound, next_variables, 0, *variables


def check_separate_variables(cond: Callable[..., Any], variables: Sequence[Any]) -> None:
    """Raises Usage where the loop variables are in one tuple or list, as other libraries take them: as many
    values as the condition has parameters."""
    packed = variables[0] if len(variables) == 1 else None
    if type(packed) not in (tuple, list):
        return
    assert isinstance(packed, tuple | list)
    if len(packed) != 1 and accepts_count(cond, len(packed)) and not accepts_count(cond, 1):
        raise Usage(
            f"the loop variables are one {type(packed).__name__}",
            where=user_location(),
            required="separate arguments: while_loop(cond, body, i, x)",
            got=f"while_loop(cond, body, {'(i, x)' if type(packed) is tuple else '[i, x]'})",
            hint="write *variables to pass the values of a tuple or list",
            python=TypeError,
        )


def eager_while_loop(cond: Callable[..., Any], body: Callable[..., Any], leaves: list[Any], structure: TreeDef) -> Any:
    """Run a loop eagerly. A variable becomes a concrete or NumPy array if its current or next value is one."""
    count = len(structure.children)
    for function in (cond, body):
        check_branch(function, count)
    variables = zip(structure.children, parameter_names(body, count), strict=True)
    paths = [path for (_, part), name in variables for path in leaf_paths(part, name)]
    values = [_loop_variable([leaf], leaf, None, path) for leaf, path in zip(leaves, paths, strict=True)]
    while _concrete_bool(cond(*unflatten(structure, values))):
        body_result = flatten_next_variables(structure, body(*unflatten(structure, values)), body)
        rows = zip(body_result.leaves, values, paths, strict=True)
        values = [_loop_variable([leaf, old], leaf, type_of(old), path) for leaf, old, path in rows]
    return unflatten(structure, values)


def _loop_variable(operands: Sequence[Any], leaf: Any, type_: Type | None, path: str) -> Any:
    """Admit and wrap a loop variable; a concrete array keeps its identity, by which tapes know it. Raises Invalid (V5)
    where its type changes."""
    try:
        admitted = admit(leaf, type_)
    except Usage as error:
        error.where = user_location()
        if type_ is None or type_.admits(type_of(leaf)):
            raise
        next_type = type_of(leaf)
        changes_size = type_.join(next_type) is not None
        raise Invalid(
            f"loop variable {path} changes its type",
            rule="V5",
            where=error.where,
            required=type_,
            got=next_type,
            hint="write the loop in a tl.function, where sizes may change"
            if changes_size
            else widening_hint(type_, next_type),
            python=TypeError,
        ) from None
    return leaf if isinstance(leaf, ConcreteArray) else result_like(operands, admitted)


def _concrete_bool(pred: Any) -> bool:
    """An eager predicate as a Python bool; raises Invalid (V5) where it is not one bool."""
    if type_of(admit(pred)) != _BOOL:
        raise Invalid(
            "the predicate is not one bool",
            rule="V5",
            where=user_location(),
            required=_BOOL,
            got=type_of(pred),
            hint="compare it, as in x != 0" if type_of(pred).is_scalar else None,
        )
    return bool(pred)
