"""Custom gradients: functions with their own pullback.

Outside a trace, active tapes record a call as one step. In a trace, the results pass through a call of an identity
function whose gradient rule is the pullback (`core.autodiff.activity.RuleParameters`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ...errors import Invalid, Usage
from ...program.program import FunctionDef, Region, UniqueNames, Var
from ...types import Type
from ...value import Literal, literal
from ..trace.control_flow import open_subregion
from ..trace.program_builder import (
    RegionBuilder,
    TracedOperand,
    TracedValue,
    current_region,
    enter_region,
    to_operand,
    weak_number,
    weak_value_of,
)
from ..trace.pytree import TreeDef, flatten, flatten_like, read_variables, unflatten
from ..trace.source_location import user_location
from ..trace.symbol import Symbol
from .adjoints import instantiate_adjoint
from .apply import apply
from .array import ConcreteArray
from .recording import TapeArray, is_float_array, record_entry


def custom_gradient(function: Callable[..., tuple[Any, Callable[[Any], Any]]]) -> Callable[..., Any]:
    """A function with its own gradient: `function` returns its value and a pullback.

    The pullback takes the adjoint of the value, nested like the value. It returns a tuple with an adjoint for each
    argument, nested like the argument; or the adjoint alone, if there is one argument. None means 0. The pullback calls
    ops, and may use values that the function has computed. It must map 0 to 0, since it may or may not be called for an
    adjoint of 0. Other values that the function closes over are constants for gradients of the value.

    The custom gradient applies on tapes, in traces, and at every order: a gradient of the gradient differentiates the
    pullback and the computed values that it closes over. In a trace the pullback has no effects, such as `tl.callback`
    (V17).

    Raises Usage where the function does not return a value and a pullback, Invalid (D3) where an adjoint does not fit
    its argument.

    >>> import tagloom as tl
    >>> @custom_gradient
    ... def halved(x):
    ...     return x, lambda adjoint: adjoint / 2.0
    >>> halved(3.0), tl.grad(lambda x: halved(x) * x)(3.0)
    (3.0, 4.5)
    """

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        values = tuple(map(read_variables, arguments))
        value, pullback = _check_value_and_pullback(function, function(*values))
        region = current_region()
        if region is None:
            return wrap_eager_value(values, value, pullback)
        name = function.__name__ if function.__name__.isidentifier() else "custom"
        return emit_custom_call(name, region, values, value, pullback)

    return call


def _check_value_and_pullback(function: Callable[..., Any], result: Any) -> tuple[Any, Callable[[Any], Any]]:
    if type(result) is not tuple or len(result) != 2 or not callable(result[1]):
        name = getattr(function, "__name__", "the function")
        required = "a value, and a function of its adjoint"
        raise Usage(
            f"{name} has a custom gradient, but does not return a pullback",
            where=user_location(),
            required=required,
            got=repr(result),
        )
    return result


def flatten_adjoints(arguments: Sequence[Any], result: Any) -> list[Any]:
    """The result of a pullback, one adjoint per leaf of the arguments; raises Invalid (D3) where it nests otherwise."""
    structures = [flatten(argument)[1] for argument in arguments]
    is_single = len(arguments) == 1 and (type(result) is not tuple or flatten(result)[1] == structures[0])
    adjoints = (result,) if is_single else result
    if type(adjoints) is not tuple or len(adjoints) != len(arguments):
        required = f"a tuple of {len(arguments)}, one for each argument"
        raise Invalid(
            "a pullback does not return an adjoint for each argument",
            rule="D3",
            where=user_location(),
            required=required,
            got=repr(result),
        )
    leaves: list[Any] = []
    for adjoint, structure in zip(adjoints, structures, strict=True):
        leaves += [None] * structure.size if adjoint is None else flatten_like(structure, adjoint, "an adjoint")
    return leaves


def coerce_pullback_adjoint(adjoint: Any, argument: Any) -> Any:
    """The adjoint of an argument in the argument's type; None (0) and a Python number are broadcast."""
    type_ = to_operand(argument).type
    number = 0.0 if adjoint is None else adjoint
    if weak_number(number) is None:
        coerced, operand = adjoint, to_operand(adjoint)
    else:
        operand = literal(number, Type(type_.dtype))
        coerced = ConcreteArray(operand)
        if not type_.is_scalar:
            coerced = apply("broadcast_like", coerced, argument)
            operand = to_operand(coerced)
    if not type_.admits(operand.type):
        raise Invalid(
            "a pullback returns an adjoint that does not have the type of its argument",
            rule="D3",
            where=user_location(),
            required=type_,
            got=operand.type,
            hint="tl.sum_like(adjoint, x) sums what was broadcast; tl.astype converts",
        )
    if isinstance(coerced, ConcreteArray | Symbol) or not isinstance(operand, Literal):
        return coerced
    return ConcreteArray(operand)


def wrap_eager_value(arguments: Sequence[Any], value: Any, pullback: Callable[[Any], Any]) -> Any:
    """Copy the value into new arrays and record them with the pullback, by which alone tapes then know them."""
    leaves, (results, structure) = flatten(tuple(arguments))[0], flatten(value)
    if not any(isinstance(leaf, ConcreteArray) for leaf in leaves):
        return value
    copies = [
        ConcreteArray(leaf._tagloom_literal if isinstance(leaf, ConcreteArray) else literal(leaf)) for leaf in results
    ]
    record_custom_entry(arguments, copies, structure, pullback)
    return unflatten(structure, copies)


def record_custom_entry(
    arguments: Sequence[Any], results: Sequence[TapeArray], structure: TreeDef, pullback: Callable[[Any], Any]
) -> None:
    """Record the value on the active tapes as one step."""
    leaves = flatten(tuple(arguments))[0]
    operands, floats = ([leaf for leaf in arrays if is_float_array(leaf)] for arrays in (leaves, results))

    def vjp(adjoints: Sequence[Any], positions: Sequence[int], rows: Collection[int]) -> list[Any]:
        result_adjoints = iter(adjoints)
        leaf_adjoints = [
            instantiate_adjoint(next(result_adjoints), leaf) if is_float_array(leaf) else None for leaf in results
        ]
        argument_adjoints = flatten_adjoints(arguments, pullback(unflatten(structure, leaf_adjoints)))
        float_adjoints = [
            adjoint for adjoint, leaf in zip(argument_adjoints, leaves, strict=True) if is_float_array(leaf)
        ]
        pairs = [(float_adjoints[position], operands[position]) for position in positions]
        return [None if adjoint is None else coerce_pullback_adjoint(adjoint, operand) for adjoint, operand in pairs]

    record_entry(operands, floats, vjp)


def emit_custom_call(
    name: str, region: RegionBuilder, arguments: Sequence[Any], value: Any, pullback: Callable[[Any], Any]
) -> Any:
    """Pass the value through a call of an identity function whose gradient rule is the pullback."""
    leaves, (results, structure) = flatten(tuple(arguments))[0], flatten(value)
    if any(weak_value_of(leaf) is not None for leaf in (*leaves, *results)):
        return value  # the function is traced again when their types are known
    float_leaves, result_operands = list(filter(_is_symbolic_float, leaves)), list(map(to_operand, results))
    if not (float_leaves and any(operand.type.dtype.kind == "f" for operand in result_operands)):
        return value
    specialization, rule_region = region.specialization, open_subregion(region)
    rule = build_pullback_rule(name, rule_region, arguments, structure, result_operands, pullback)
    operands = [*map(to_operand, float_leaves), *result_operands, *rule_region.captures]
    names = UniqueNames()
    parameters = tuple(
        Var(names.fresh_name(operand.name if isinstance(operand, TracedValue) else "constant"), operand.type)
        for operand in operands
    )
    result_variables = parameters[len(float_leaves) : len(float_leaves) + len(result_operands)]
    body = Region(parameters, (), tuple(variable.name for variable in result_variables))
    types = tuple(variable.type for variable in result_variables)
    identity = FunctionDef(
        specialization.program_builder.names.fresh_name(f"{name}_value"),
        body,
        types,
        user_location(),
        gradient_rule=rule.name,
    )
    specialization.auxiliary_functions += [identity, rule]
    inputs, attributes = [region.as_operand(operand) for operand in operands], (("function", identity.name),)
    result_names = region.names.result_names(region.names.fresh_name(name), len(result_operands))
    symbols = list(map(Symbol, region.emit_node("call", inputs, types, result_names, attributes=attributes)))
    record_custom_entry(arguments, symbols, structure, pullback)
    return unflatten(structure, symbols)


def build_pullback_rule(
    name: str,
    rule_region: RegionBuilder,
    arguments: Sequence[Any],
    structure: TreeDef,
    result_operands: Sequence[TracedOperand],
    pullback: Callable[[Any], Any],
) -> FunctionDef:
    """The pullback as a function of its captured values and of the adjoints of the float results."""
    location, leaves = user_location(), flatten(tuple(arguments))[0]
    floats = [operand.type.dtype.kind == "f" for operand in result_operands]
    adjoints = [
        rule_region.add_parameter(
            "d_" + (operand.name if isinstance(operand, TracedValue) else "constant"), operand.type, location
        )
        for operand, is_float in zip(result_operands, floats, strict=True)
        if is_float
    ]
    with enter_region(rule_region):
        symbols = map(Symbol, adjoints)
        leaf_adjoints = [next(symbols) if is_float else None for is_float in floats]
        pairs = zip(flatten_adjoints(arguments, pullback(unflatten(structure, leaf_adjoints))), leaves, strict=True)
        argument_adjoints = [
            to_operand(coerce_pullback_adjoint(adjoint, leaf)) for adjoint, leaf in pairs if _is_symbolic_float(leaf)
        ]
        rule_results = [rule_region.as_operand(operand) for operand in argument_adjoints]
    body = rule_region.close([*map(rule_region.localize, rule_region.captures), *adjoints], rule_results)
    types = tuple(to_operand(leaf).type for leaf in leaves if _is_symbolic_float(leaf))
    return FunctionDef(
        rule_region.specialization.program_builder.names.fresh_name(f"{name}_pullback"), body, types, location
    )


def _is_symbolic_float(leaf: Any) -> bool:
    return isinstance(leaf, Symbol) and leaf.dtype.kind == "f"
