"""Calls in a trace: call nodes with the arguments and captures of the function, and its results and assignments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...errors import Invalid
from ...types import Type
from ...value import Literal
from ..trace.annotation import FunctionSpec
from ..trace.captures import Resource
from ..trace.pytree import TreeDef, TreeType, leaf_names
from ..trace.source_location import user_location
from ..trace.trace import RegionBuilder, TracedValue, describe_with_location, to_operand, unwrap_weak, weak_value_of
from .recording import recording_tapes
from .variable_reads import read_and_record
from .variable_reads import record_assignment as tell_assigned


class TracedCall(NamedTuple):
    """A call in a trace: its operands and results, captures and assigned variables."""

    leaves: list[Any]
    """The leaves of the arguments, as passed."""
    operands: list[TracedValue | Literal]
    """The leaves as operands, converted to the declared types."""
    operand_names: list[str]
    """The names of the operands, followed by those of the captures."""
    results: list[TracedValue]
    treedef: TreeDef
    captures: dict[Resource, TracedValue | Literal]
    assigned_values: dict[Resource, TracedValue]
    parameter_types: list[Type]
    """The function's own types of its parameters and captures, which may have open sizes."""


def emit_call(
    region: RegionBuilder,
    source: FunctionSpec,
    arguments: Sequence[object],
    captures: Mapping[Resource, TracedValue | Literal] | None = None,
) -> TracedCall:
    """Add a call node. A call that repeats another one, for a pullback, gets the captures of that one, and assigns no
    variables.

    Raises Invalid (V6) for an argument of another type than declared, NoTypeYet where the results have no types yet.
    """
    leaves, operands, names, forms, weak = list[Any](), list[TracedValue | Literal](), list[str](), [], []
    taken = source.flatten_arguments(arguments, Invalid)
    for (name, declared), (parts, structure) in zip(source.declared_parameters, taken, strict=True):
        wanted = declared.types if declared else (None,) * len(parts)
        found = [to_operand(unwrap_weak(leaf), type_) for leaf, type_ in zip(parts, wanted, strict=True)]
        inner = leaf_names(structure, name)
        for said, operand, type_ in zip(inner, found, wanted, strict=True):
            if type_ is not None and not type_.admits(operand.type):
                raise Invalid(
                    f"argument {said} of {source.name} has another type",
                    rule="V6",
                    where=user_location(),
                    required=type_,
                    got=describe_with_location(
                        operand.type, operand.location if isinstance(operand, TracedValue) else None
                    ),
                )
        leaves += parts
        operands += found
        names += inner
        weak += [None if declared else weak_value_of(leaf) for leaf in parts]
        forms.append(declared or TreeType(structure, tuple(operand.type for operand in found)))
    numbers = tuple(weak) if any(weak) else ()
    callee, known = region.specialization.program_builder.resolve_call(
        source, source.resolve_types(forms), numbers, region.specialization
    )
    given = captures or {}
    for each in known.assigned_variables if recording_tapes() and captures is None else ():
        read_and_record(each)
    beside = {each: given[each] if each in given else _capture_operand(region, each) for each in known.captures}
    made = region.names.result_names(region.names.fresh(source.identifier), len(known.tree_type.types))
    made += [region.names.fresh(variable.name) for variable in known.assigned_variables]
    inputs = [region.as_operand(operand) for operand in (*operands, *beside.values())]
    results = region.emit_node("call", inputs, known.result_types, made, attributes=(("function", callee.name),))
    for result, number in zip(results, known.weak_types, strict=False):
        result.weak_value = number
    count = len(known.tree_type.types)
    assigned = dict(zip(known.assigned_variables, results[count:], strict=True))
    if captures is None:
        region.store.update(assigned)
        for each in assigned:
            tell_assigned(each)
    names += [each.name for each in beside]
    parameters = [type_ for form in callee.argument_types for type_ in form.types] + [each.type for each in beside]
    return TracedCall(leaves, operands, names, results[:count], known.tree_type.treedef, beside, assigned, parameters)


def _capture_operand(region: RegionBuilder, resource: Resource) -> TracedValue | Literal:
    """The current value of a captured resource; where tapes record, the array by which they know it."""
    return to_operand(read_and_record(resource)) if recording_tapes() else region.read_resource(resource)
