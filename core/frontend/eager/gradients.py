"""Calls in a trace, and their pullbacks.

This module emits call nodes, with the arguments, captures, results and assigned variables of a call; and after a call
the nodes `d... = pullback c a...`, which `autodiff.resolve` later splits into forward and reverse pass. It records
calls on tapes in a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from ... import dtypes
from ...autodiff.rows import Rows, empty_rows, row_adjoint_types
from ...errors import Invalid, Usage
from ...ops.op import Attributes
from ...program.program import BY_ROWS, PULLBACK_TARGET, RECOMPUTE, Operand
from ...types import Type
from ...value import literal
from ..trace.annotation import DerivedFunction, FunctionSpec
from ..trace.captures import Resource, VariableBase, is_constant
from ..trace.program_builder import (
    NoTypeYet,
    RegionBuilder,
    TracedOperand,
    TracedValue,
    current_region,
    describe_operand_type,
    to_operand,
    unwrap_weak,
    weak_number,
    weak_value_of,
)
from ..trace.pytree import (
    StaticLeaf,
    TreeDef,
    TreeType,
    expose_static_leaves,
    flatten,
    flatten_like,
    leaf_names,
    leaf_paths,
    unflatten,
)
from ..trace.source_location import user_location
from ..trace.symbol import Symbol
from .adjoints import OpDispatcher, instantiate_adjoint, record_call
from .array import ConcreteArray, number_to_numpy
from .recording import as_array, read_and_record, record_assignment, recording_tapes
from .variable import Variable


class TracedCall(NamedTuple):
    """A call in a trace: its operands and results, captures and assigned variables."""

    leaves: list[Any]
    """The leaves of the arguments, as passed."""
    operands: list[TracedOperand]
    """The leaves as operands, converted to the declared types."""
    operand_names: list[str]
    """The names of the operands, followed by the names of the captures."""
    results: list[TracedValue]
    treedef: TreeDef
    captures: dict[Resource, TracedOperand]
    assigned_values: dict[Resource, TracedValue]
    parameter_types: list[Type]
    """The function's own types of its parameters and captures, which may have open sizes."""
    changed_arguments: tuple[int, ...] = ()
    """The positions of the arguments in which the function changes the items of a list or dict."""


def emit_call(
    region: RegionBuilder,
    spec: FunctionSpec,
    arguments: Sequence[object],
    captures: Mapping[Resource, TracedOperand] | None = None,
) -> TracedCall:
    """Add a call node. A call that repeats an earlier one for a pullback reuses its `captures`, and assigns no
    variables.

    Raises Invalid (V6) for an argument of a different type than declared, NoTypeYet where the results have no types
    yet.
    """
    call = _CallOperands.of(spec, arguments)
    weak = tuple(call.weak_values) if any(call.weak_values) else ()
    callee, signature = region.specialization.program_builder.resolve_call(
        spec, spec.resolve_types(call.tree_types), weak, tuple(call.numbers), region.specialization
    )
    parameter_types = [type_ for tree_type in callee.argument_types for type_ in tree_type.types]
    operands = call.with_types(parameter_types)
    if captures is None and recording_tapes():
        for variable in signature.assigned_variables:
            read_and_record(variable)
    captured_operands = _read_captures(region, signature.captures, captures or {})
    count = len(signature.tree_type.types)
    result_names = region.names.result_names(region.names.fresh_name(spec.identifier), count)
    result_names += [region.names.fresh_name(variable.name) for variable in signature.assigned_variables]
    inputs = [region.as_operand(operand) for operand in (*operands, *captured_operands.values())]
    attributes = (("function", callee.name),)
    results = region.emit_node("call", inputs, signature.result_types, result_names, attributes=attributes)
    for result, number in zip(results, signature.weak_types, strict=False):
        result.weak_value = number
    assigned_values = dict(zip(signature.assigned_variables, results[count:], strict=True))
    if captures is None:
        region.store.update(assigned_values)
        for assigned_variable in assigned_values:
            record_assignment(assigned_variable)
    return TracedCall(
        call.leaves,
        operands,
        [*call.names, *(resource.name for resource in captured_operands)],
        results[:count],
        signature.tree_type.treedef,
        captured_operands,
        assigned_values,
        [*parameter_types, *(resource.type for resource in captured_operands)],
        signature.changed_arguments,
    )


class _CallOperands(NamedTuple):
    """The leaves of the arguments of a call, and what each stands for in the program."""

    leaves: list[Any]
    operands: list[TracedOperand]
    names: list[str]
    weak_values: list[int | float | None]
    """The Python numbers that leaves of undeclared types are computed from, if any."""
    numbers: list[int | float | None]
    """The Python numbers that are leaves of undeclared types."""
    tree_types: list[TreeType]
    """The type of each argument."""

    @classmethod
    def of(cls, spec: FunctionSpec, arguments: Sequence[object]) -> _CallOperands:
        """The operands for arguments of a function. Raises Invalid (V6) for one of a different type than declared."""
        result = cls([], [], [], [], [], [])
        flat_arguments = spec.flatten_arguments(arguments, Invalid)
        for (name, declared), (leaves, structure) in zip(spec.declared_parameters, flat_arguments, strict=True):
            types = declared.types if declared else (None,) * len(leaves)
            operands = [to_operand(unwrap_weak(leaf), type_) for leaf, type_ in zip(leaves, types, strict=True)]
            for path, operand, type_ in zip(leaf_paths(structure, name), operands, types, strict=True):
                if type_ is not None and not type_.admits(operand.type):
                    raise Invalid(
                        f"argument {path} of {spec.name} has the wrong type",
                        rule="V6",
                        where=user_location(),
                        required=type_,
                        got=describe_operand_type(operand),
                    )
            result.leaves.extend(leaves)
            result.operands.extend(operands)
            result.names.extend(leaf_names(structure, name))
            result.weak_values.extend(None if declared else weak_value_of(leaf) for leaf in leaves)
            result.numbers.extend(None if declared else weak_number(unwrap_weak(leaf)) for leaf in leaves)
            result.tree_types.append(declared or TreeType(structure, tuple(operand.type for operand in operands)))
        return result

    def with_types(self, types: Sequence[Type]) -> list[TracedOperand]:
        """The operands, where Python numbers have the types of their parameters."""
        return [
            operand if number is None or operand.type == type_ else to_operand(unwrap_weak(leaf), type_)
            for leaf, operand, number, type_ in zip(self.leaves, self.operands, self.numbers, types, strict=True)
        ]


def _read_captures(
    region: RegionBuilder, resources: Iterable[Resource], fixed_operands: Mapping[Resource, TracedOperand]
) -> dict[Resource, TracedOperand]:
    """The operands of a call for the resources that its function captures, apart from the `fixed_operands`. Where
    tapes record, each is the array by which they know it."""
    is_recording = bool(recording_tapes())
    operands = dict[Resource, TracedOperand]()
    for resource in resources:
        if resource in fixed_operands:
            operands[resource] = fixed_operands[resource]
        elif is_recording:
            operands[resource] = to_operand(read_and_record(resource))
        else:
            operands[resource] = region.read_resource(resource)
    return operands


Adjoints: TypeAlias = tuple[list[Any], dict[Resource, Any]]
"""The adjoints of the leaves of the arguments, and of the captures; None for a value that is not of floats."""
OperandKey: TypeAlias = int | Resource
"""An operand of a call: the number of a leaf of its arguments, or a captured resource."""
Pullback: TypeAlias = Callable[[Any, Sequence[Any], Collection[OperandKey]], Adjoints]
"""(adjoint of the result, adjoints of the assigned variables, operands with adjoints by rows) -> adjoints."""
_RECOMPUTED: Attributes = ((RECOMPUTE, True),)


def trace_vjp(region: RegionBuilder, spec: FunctionSpec, arguments: Sequence[Any]) -> tuple[Any, Callable[[Any], Any]]:
    """The results of a call, and its pullback, which maps an adjoint of the results to adjoints of the arguments,
    nested as these are; None for an argument that is not of floats.

    The call keeps its intermediate values for one pullback in its own region. A second pullback, or one in another
    region, repeats the call there.
    """
    value, _, pullback = trace_pullback(region, spec, arguments)
    return value, lambda adjoint: nest_adjoints(spec, arguments, *pullback(adjoint, (), ()))


def nest_adjoints(
    spec: FunctionSpec, arguments: Sequence[Any], adjoints: Sequence[Any], captured: Mapping[Resource, Any]
) -> tuple[Any, ...]:
    """Adjoints nested as the arguments are. A variable passed as an argument gets the adjoint of its captured value; a
    static leaf gets None."""
    leaf_adjoints, nested_adjoints = iter(adjoints), []
    for _, structure in spec.flatten_arguments(arguments, Invalid):
        leaf_structure, parts = expose_static_leaves(structure)
        nested_adjoints.append(
            unflatten(
                leaf_structure,
                [next(leaf_adjoints) if part is None else static_leaf_adjoint(part, captured) for part in parts],
            )
        )
    return tuple(nested_adjoints)


def static_leaf_adjoint(part: StaticLeaf, captured: Mapping[Resource, Any]) -> Any:
    """The adjoint of a captured variable that is passed as an argument; None for any other object."""
    return captured.get(part.value._resource) if isinstance(part.value, VariableBase) else None


def trace_pullback(
    region: RegionBuilder,
    spec: FunctionSpec,
    arguments: Sequence[Any],
    captures: Mapping[Resource, TracedOperand] | None = None,
    attributes: Attributes = (),
) -> tuple[Any, TracedCall, Pullback]:
    """`trace_vjp` with flat adjoints, and for captures too: the result of a call, the call, and its `Pullback`.

    The pullback also takes the adjoints of the assigned variables (none means zeros), and the operands whose adjoints
    are `Rows`. For a repeated call, `captures` are the earlier values of resources, and `attributes` may mark the call
    as one that only its pullback needs.

    Active tapes record the call. They record the pullback too, as a call of a derived function that repeats the
    forward pass."""
    call = emit_call(region, spec, arguments, captures)
    is_pulled_back = False

    def pullback(adjoint: Any, assigned: Sequence[Any], rows: Collection[OperandKey]) -> Adjoints:
        nonlocal is_pulled_back
        current = current_region()
        if current is None:
            raise Usage(
                "a pullback is used after its function was traced",
                where=user_location(),
                hint="call it in the function",
            )
        if recording_tapes():
            return emit_pullback_call(current, spec, arguments, call, adjoint, assigned, rows)
        if current is not region or is_pulled_back:
            repeated_call = emit_call(current, spec, arguments, call.captures)
            return emit_pullback(current, spec, repeated_call, adjoint, assigned, rows, _RECOMPUTED)
        is_pulled_back = True
        return emit_pullback(region, spec, call, adjoint, assigned, rows, attributes)

    value = unflatten(call.treedef, map(Symbol, call.results))
    if recording_tapes():
        record_traced_call(spec, call, value, pullback)
    return value, call, pullback


def call_as_one_step(name: str, original: Callable[..., Any], function: Callable[[], Any]) -> Any:
    """Call a Python function without arguments as a traced function, so that tapes record a branch or loop as one step.
    Its location is that of `original`, if that is a Python function."""
    region = current_region()
    assert region is not None, "outside of a trace there is nothing to call"
    located_function = original if hasattr(original, "__code__") else call_as_one_step
    spec = FunctionSpec(DerivedFunction(name, located_function, function), (), None, is_local=True)
    return trace_pullback(region, spec, ())[0]


def pullback_spec(
    spec: FunctionSpec,
    captures: tuple[Resource, ...] | None,
    rows: Collection[OperandKey],
    attributes: Attributes = (),
) -> FunctionSpec:
    """The function (*arguments, adjoint) -> adjoints of the float arguments, with `Rows` for the operands in `rows`.
    With `captures`, which must be all captures of the function, the adjoint is a pair: the adjoints of the results and
    those of the assigned variables. The adjoints of the captures then follow the adjoints of the arguments.
    """

    def trace_adjoints(*arguments: Any) -> Any:
        region = current_region()
        assert region is not None, "a derived function is only traced"
        _, call, pullback = trace_pullback(region, spec, arguments[:-1], attributes=attributes)
        of_results, of_assigned = (arguments[-1], ()) if captures is None else arguments[-1]
        is_complete = captures is None or (
            set(captures) == set(call.captures) and len(of_assigned) in (0, len(call.assigned_values))
        )
        if not is_complete:
            raise NoTypeYet  # a later trace knows all that the function captures and assigns
        adjoints, captured = pullback(of_results, of_assigned, rows)
        of_captures = [captured[resource] for resource in captures or ()]
        return tuple(leaf for leaf in (*adjoints, *of_captures) if leaf is not None)

    derived_function = DerivedFunction(f"vjp_{spec.identifier}", spec.python_function, trace_adjoints)
    adjoint_type = spec.result_type if captures is None else None
    parameters = (*spec.declared_parameters, ("adjoint", adjoint_type))
    return FunctionSpec(
        derived_function, parameters, None, spec.static_parameters, adjoint_count=spec.adjoint_count + 1
    )


def emit_pullback_call(
    region: RegionBuilder,
    spec: FunctionSpec,
    arguments: Sequence[Any],
    call: TracedCall,
    adjoint: Any,
    assigned: Sequence[Any],
    rows: Collection[OperandKey],
) -> Adjoints:
    """The adjoints, by a call of the pullback as a function, which tapes record."""
    leaves = flatten_like(call.treedef, adjoint, "an adjoint")
    converted = unflatten(call.treedef, map(_convert_number, leaves, call.results))
    derived_spec = pullback_spec(spec, tuple(call.captures), rows, _RECOMPUTED)
    adjoints, _, _ = trace_pullback(region, derived_spec, (*arguments, (converted, tuple(assigned))), call.captures)
    float_adjoints = iter(adjoints)
    operands = (*call.operands, *call.captures.values())
    return _split_adjoints(call, [next(float_adjoints) if is_float(operand.type) else None for operand in operands])


def _convert_number(adjoint: Any, result: TracedValue) -> Any:
    """An adjoint for a result: a Python number takes its dtype; 0 where the result is not of floats."""
    if not is_float(result.type):
        return 0
    return ConcreteArray(literal(adjoint, Type(result.type.dtype))) if type(adjoint) in (int, float) else adjoint


def _split_adjoints(call: TracedCall, adjoints: Sequence[Any]) -> Adjoints:
    """Split the adjoints of all operands into the adjoints of the arguments and those of the captures."""
    count = len(call.leaves)
    return list(adjoints[:count]), dict(zip(call.captures, adjoints[count:], strict=True))


def operand_keys(call: TracedCall) -> list[OperandKey]:
    """The keys of all operands of a call."""
    return [*range(len(call.leaves)), *call.captures]


def record_traced_call(spec: FunctionSpec, call: TracedCall, value: Any, pullback: Pullback) -> None:
    """Record a call on the active tapes."""
    keys = operand_keys(call)

    def vjp(adjoint: Any, rows: Collection[int]) -> list[Any]:
        of_results, of_assigned = adjoint
        adjoints, captured = pullback(of_results, of_assigned, {keys[position] for position in rows})
        return [*adjoints, *captured.values()]

    operands = [*call.leaves, *(_resource_array(*pair) for pair in call.captures.items())]
    record_call(spec.name, operands, value, [Symbol(assigned) for assigned in call.assigned_values.values()], vjp)


def _resource_array(resource: Resource, value: TracedOperand) -> Any:
    """The array by which tapes know a captured resource: an outer function's symbol, a concrete array or `value`."""
    if resource.owner is not None:
        return Symbol(resource.stored_value)
    return resource.stored_value if is_constant(resource) else as_array(value)


def emit_pullback(
    region: RegionBuilder,
    spec: FunctionSpec,
    call: TracedCall,
    adjoint: Any,
    assigned: Sequence[Any],
    rows: Collection[OperandKey],
    extra_attributes: Attributes,
) -> Adjoints:
    """Add a pullback node for a call, with `extra_attributes`, and return the adjoints.

    Raises Invalid (D3) where an adjoint does not fit its result, or no result or no argument is of floats; (D6) where
    `rows` names an operand that is not a table."""
    inputs = _adjoint_operands(region, call, adjoint, assigned)
    operands = [*call.operands, *call.captures.values()]
    if not (inputs and any(is_float(operand.type) for operand in operands)):
        raise Invalid(
            f"{spec.name} has no {'float among its arguments' if inputs else 'float among its results'}",
            rule="D3",
            where=user_location(),
            hint="integers and bools have no adjoint; convert with tl.astype(x, tl.float64)",
        )
    by_rows = tuple(position for position, key in enumerate(operand_keys(call)) if key in rows)
    result_names, types = list[str](), list[Type]()
    for number, (name, operand) in enumerate(zip(call.operand_names, operands, strict=True)):
        if number in by_rows:
            result_names += [region.names.fresh_name(f"rows_{name}"), region.names.fresh_name(f"d_{name}")]
            types += row_adjoint_types(_check_table_type(name, call.parameter_types[number]))
        elif is_float(operand.type):
            result_names.append(region.names.fresh_name(f"d_{name}"))
            types.append(call.parameter_types[number])
    target = (PULLBACK_TARGET, call_results(call)[0].name)
    attributes = (target, *([(BY_ROWS, by_rows)] if by_rows else []), *extra_attributes)
    pullback_results = map(Symbol, region.emit_node("pullback", inputs, types, result_names, attributes=attributes))
    operand_adjoints: list[Any] = []
    for number, operand in enumerate(operands):
        if number in by_rows:
            operand_adjoints.append(Rows(next(pullback_results), next(pullback_results)))
        elif is_float(operand.type):
            operand_adjoints.append(instantiate_adjoint(next(pullback_results), as_array(operand)))
        else:
            operand_adjoints.append(None)
    return _split_adjoints(call, operand_adjoints)


def call_results(call: TracedCall) -> list[TracedValue]:
    """The results of a call node: those of the function, then the variables that it assigns."""
    return [*call.results, *call.assigned_values.values()]


def _adjoint_operands(region: RegionBuilder, call: TracedCall, adjoint: Any, assigned: Sequence[Any]) -> list[Operand]:
    """The operands of a pullback node: an adjoint for each result of floats, zeros for variables without one. Raises
    Invalid (D3) where an adjoint does not fit its result."""
    zeros = [
        instantiate_adjoint(None, Symbol(value)) if is_float(value.type) else 0
        for value in call.assigned_values.values()
    ]
    adjoints = [*flatten_like(call.treedef, adjoint, "an adjoint"), *(assigned or zeros)]
    inputs = []
    for value, leaf in zip(call_results(call), adjoints, strict=True):
        if is_float(value.type):
            operand = to_operand(leaf, Type(value.type.dtype) if type(leaf) in (int, float) else None)
            if not value.type.admits(operand.type):
                raise Invalid(
                    "an adjoint does not have the type of its result",
                    rule="D3",
                    where=user_location(),
                    required=value.type,
                    got=describe_operand_type(operand),
                )
            inputs.append(region.as_operand(operand))
    return inputs


def _check_table_type(name: str, type_: Type) -> Type:
    """The type of a table; raises Invalid (D6) for a scalar, or a value that is not of floats."""
    if type_.is_scalar or not is_float(type_):
        raise Invalid(
            f"{name} is not a table of rows",
            rule="D6",
            where=user_location(),
            required="an array of floats with axes",
            got=type_,
        )
    return type_


def is_float(type_: Type) -> bool:
    return type_.dtype.kind == "f"


SourceAdjoints: TypeAlias = Callable[[Any], tuple[Any, ...]]
"""Maps an adjoint of the result of a call to the adjoints of the sources: the arguments and variables with respect to
which it is differentiated."""


def trace_source_adjoints(
    region: RegionBuilder,
    spec: FunctionSpec,
    arguments: Sequence[Any],
    wrt: Sequence[int | Variable],
    rows: Sequence[int | Variable] = (),
) -> tuple[Any, SourceAdjoints]:
    """The value of a call, and its pullback to the arguments at the positions in `wrt`, or to variables; those in
    `rows` get `Rows`. The pullback raises Invalid (D3) where `wrt` names a value that is not of floats."""
    values_before = {key: region.read_resource(key._resource) for key in wrt if isinstance(key, Variable)}
    value, _, pullback = trace_pullback(region, spec, arguments)

    def source_adjoints(adjoint: Any) -> tuple[Any, ...]:
        for operand in wrt:
            for name, type_ in named_leaf_types(spec, arguments, operand):
                if not is_float(type_):
                    message = f"{name} is not of floats, and has no gradient"
                    raise Invalid(message, rule="D3", where=user_location(), required=dtypes.float64, got=type_)
        adjoints, captured = pullback(adjoint, (), row_operand_keys(spec, arguments, rows))
        argument_adjoints = nest_adjoints(spec, arguments, adjoints, captured)
        row_resources = [key._resource for key in rows if isinstance(key, Variable)]
        return tuple(
            argument_adjoints[key]
            if not isinstance(key, Variable)
            else variable_gradient(key, captured, values_before[key], row_resources)
            for key in wrt
        )

    return value, source_adjoints


def trace_gradient(
    region: RegionBuilder,
    spec: FunctionSpec,
    arguments: Sequence[Any],
    wrt: Sequence[int | Variable],
    rows: Sequence[int | Variable] = (),
    *,
    has_aux: bool = False,
) -> tuple[Any, tuple[Any, ...]]:
    """The value of a call, which is one float, and its gradient with respect to the sources of
    `trace_source_adjoints`. With `has_aux` the value is a pair, and its first part is differentiated.

    Raises Invalid (D3) where the call does not return one float, or `wrt` names a value that is not of floats.
    """
    value, source_adjoints = trace_source_adjoints(region, spec, arguments, wrt, rows)
    target = split_aux(spec, value)[0] if has_aux else value
    leaf = to_operand(target) if isinstance(target, Symbol) else None
    if leaf is None or not (leaf.type.is_scalar and is_float(leaf.type)):
        hint = "tl.jacobian(f) differentiates any result; tl.vjp(f, *arguments) takes an adjoint of it"
        if type(value) is tuple and len(value) == 2 and not has_aux:
            hint = "has_aux=True differentiates the first of two results, and returns the second"
        elif leaf is not None and leaf.type.is_scalar:
            hint = "pass floats, such as 3.0, or convert: tl.astype(x, tl.float64)"
        raise Invalid(
            f"{spec.name} does not return one float, so it has no gradient",
            rule="D3",
            where=user_location(),
            required="float64 or float32, without axes",
            got=leaf.type if leaf else flatten(value, by_reference=True)[1],
            hint=hint,
        )
    return value, source_adjoints((1.0, symbolic_zeros(value[1])) if has_aux else 1.0)


def split_aux(spec: FunctionSpec, value: Any) -> tuple[Any, Any]:
    """The part of a result that is differentiated, and the rest; raises Invalid (D3) where it is not a pair."""
    if type(value) is tuple and len(value) == 2:
        return value
    raise Invalid(
        f"{spec.name} does not return a pair, which has_aux requires",
        rule="D3",
        where=user_location(),
        required="what to differentiate, and anything else: return loss, (accuracy, count)",
        got=flatten(value, by_reference=True)[1],
    )


def symbolic_zeros(value: Any) -> Any:
    """A zero adjoint for a symbolic value, with the same structure; 0 for a leaf that is not of floats."""
    leaves, structure = flatten(value, by_reference=True, is_leaf=None)
    zeros = [instantiate_adjoint(None, leaf) if is_float(to_operand(leaf).type) else 0 for leaf in leaves]
    return unflatten(structure, map(number_to_numpy, zeros))


def row_operand_keys(spec: FunctionSpec, arguments: Sequence[Any], rows: Sequence[int | Variable]) -> set[OperandKey]:
    """The operand keys of the arguments at these positions, and of these variables."""
    numbers = {row for row in rows if isinstance(row, int)}
    keys: set[OperandKey] = {row._resource for row in rows if isinstance(row, Variable)}
    count = 0
    for number, (leaves, structure) in enumerate(spec.flatten_arguments(arguments, Invalid)):
        if number in numbers:
            keys.update(range(count, count + len(leaves)))
            static = [part.value for part in expose_static_leaves(structure)[1] if part is not None]
            keys.update(value._resource for value in static if isinstance(value, VariableBase))
        count += len(leaves)
    return keys


def variable_gradient(
    variable: Variable, captured: Mapping[Resource, Any], value: TracedOperand, rows: Sequence[Resource]
) -> Any:
    """The gradient with respect to a variable; zeros, or no rows, where the call does not use it."""
    if variable._resource in captured:
        return captured[variable._resource]
    table = Symbol(value) if isinstance(value, TracedValue) else ConcreteArray(value)
    return empty_rows(OpDispatcher(), table) if variable._resource in rows else instantiate_adjoint(None, table)


def named_leaf_types(spec: FunctionSpec, arguments: Sequence[Any], wrt: int | Variable) -> list[tuple[str, Type]]:
    """The leaves of an argument, or a variable, with their names for messages; raises Invalid (D3) for a static
    argument."""
    if isinstance(wrt, Variable):
        return [(f"variable {wrt.name}", wrt._type)]
    name = spec.declared_parameters[wrt][0]
    if name in spec.static_parameters:
        message = f"argument {name} of {spec.name} is static, and has no gradient"
        raise Invalid(message, rule="D3", where=user_location(), required=dtypes.float64, got=repr(arguments[wrt])[:80])
    leaves, structure = spec.flatten_argument(spec.declared_parameters[wrt], arguments[wrt])
    pairs = zip(leaf_paths(structure, name), leaves, strict=True)
    return [(f"argument {path} of {spec.name}", to_operand(leaf).type) for path, leaf in pairs]
