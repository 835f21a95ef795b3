"""Calls in a trace: of functions with arguments, and with what they use beside these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...errors import Invalid
from ...types import Type
from ...value import Literal
from ..trace.annotation import Source
from ..trace.captures import Resource
from ..trace.pytree import Form, Structure, leaf_names
from ..trace.source_location import here
from ..trace.trace import RegionTrace, Value, at, number_of, to_operand, weakness
from .recording import hearing
from .variable_reads import assigned as tell_assigned
from .variable_reads import read_here


class Called(NamedTuple):
    """A call in a trace: its arguments and results, how these nest, and what went in and came out beside."""

    leaves: list[Any]
    """Those of the arguments, as they were given."""
    operands: list[Value | Literal]
    """What they were taken for, of the types that the function says."""
    names: list[str]
    """What they are called, and after them what the call captured."""
    values: list[Value]
    structure: Structure
    captured: dict[Resource, Value | Literal]
    assigned: dict[Resource, Value]
    parameters: list[Type]
    """The types that the function has for what it takes, which may leave sizes open."""


def call(
    region: RegionTrace,
    source: Source,
    arguments: Sequence[object],
    captured: Mapping[Resource, Value | Literal] | None = None,
) -> Called:
    """Add a call. One that is made again of another is given what that captured, and assigns nothing.

    Raises NoTypeYet where nothing is known of the results.
    """
    leaves, operands, names, forms, weak = list[Any](), list[Value | Literal](), list[str](), [], []
    taken = source.taken_apart(arguments, Invalid)
    for (name, declared), (parts, structure) in zip(source.arguments, taken, strict=True):
        wanted = declared.types if declared else (None,) * len(parts)
        found = [to_operand(number_of(leaf), type_) for leaf, type_ in zip(parts, wanted, strict=True)]
        inner = leaf_names(structure, name)
        for said, operand, type_ in zip(inner, found, wanted, strict=True):
            if type_ is not None and not type_.admits(operand.type):
                raise Invalid(
                    f"argument {said} of {source.name} has another type",
                    rule="V6",
                    where=here(),
                    required=type_,
                    got=at(operand.type, operand.location if isinstance(operand, Value) else None),
                )
        leaves += parts
        operands += found
        names += inner
        weak += [None if declared else weakness(leaf) for leaf in parts]
        forms.append(declared or Form(structure, tuple(operand.type for operand in found)))
    numbers = tuple(weak) if any(weak) else ()
    callee, known = region.instance.trace.called(source, source.forms(forms), numbers, region.instance)
    given = captured or {}
    for each in known.assigned if hearing() and captured is None else ():
        read_here(each)
    beside = {each: given[each] if each in given else _used(region, each) for each in known.captured}
    made = region.names.several(region.names.fresh(source.identifier), len(known.form.types))
    made += [region.names.fresh(variable.name) for variable in known.assigned]
    inputs = [region.operand(operand) for operand in (*operands, *beside.values())]
    results = region.node("call", inputs, known.results, made, attributes=(("function", callee.name),))
    for result, number in zip(results, known.weak, strict=False):
        result.weak = number
    count = len(known.form.types)
    assigned = dict(zip(known.assigned, results[count:], strict=True))
    if captured is None:
        region.store.update(assigned)
        for each in assigned:
            tell_assigned(each)
    names += [each.name for each in beside]
    parameters = [type_ for form in callee.forms for type_ in form.types] + [each.type for each in beside]
    return Called(leaves, operands, names, results[:count], known.form.structure, beside, assigned, parameters)


def _used(region: RegionTrace, resource: Resource) -> Value | Literal:
    """What a call captures: of a variable that tapes watch, the array that it is to them."""
    return to_operand(read_here(resource)) if hearing() else region.held(resource)
