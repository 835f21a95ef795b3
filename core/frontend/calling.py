"""Calls in a trace: of functions with arguments, and with what they use beside these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..errors import Invalid
from ..types import Type
from ..value import Literal
from .annotation import Source
from .inference import at
from .resource import Resource
from .source import here
from .structure import Form, Structure, leaf_names
from .tracing import RegionTrace, Value, number_of, to_operand, weakness


class Called(NamedTuple):
    """A call in a trace: its results, how they nest, and what went in and came out beside arguments and results."""

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
    operands, forms, weak = [], [], []
    taken = source.taken_apart(arguments, Invalid)
    for (name, declared), (leaves, structure) in zip(source.arguments, taken, strict=True):
        wanted = declared.types if declared else (None,) * len(leaves)
        found = [to_operand(number_of(leaf), type_) for leaf, type_ in zip(leaves, wanted, strict=True)]
        for inner, operand, type_ in zip(leaf_names(structure, name), found, wanted, strict=True):
            if type_ is not None and not type_.admits(operand.type):
                raise Invalid(
                    f"argument {inner} of {source.name} has another type",
                    rule="V6",
                    where=here(),
                    required=type_,
                    got=at(operand.type, operand.location if isinstance(operand, Value) else None),
                )
        operands += found
        weak += [None if declared else weakness(leaf) for leaf in leaves]
        forms.append(declared or Form(structure, tuple(operand.type for operand in found)))
    numbers = tuple(weak) if any(weak) else ()
    callee, known = region.instance.trace.called(source, source.forms(forms), numbers, region.instance)
    beside = {each: captured[each] if captured and each in captured else region.held(each) for each in known.captured}
    names = region.names.several(region.names.fresh(source.identifier), len(known.form.types))
    names += [region.names.fresh(variable.name) for variable in known.assigned]
    inputs = [region.operand(operand) for operand in (*operands, *beside.values())]
    results = region.node("call", inputs, known.results, names, attributes=(("function", callee.name),))
    for result, number in zip(results, known.weak, strict=False):
        result.weak = number
    count = len(known.form.types)
    assigned = dict(zip(known.assigned, results[count:], strict=True))
    if captured is None:
        region.store.update(assigned)
    parameters = [type_ for form in callee.forms for type_ in form.types] + [each.type for each in beside]
    return Called(results[:count], known.form.structure, beside, assigned, parameters)
