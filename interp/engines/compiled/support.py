"""Support checks: which programs and options the compiled engine accepts, decided before a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ....core import dtypes
from ....core.ops.effects import EFFECT_OPS, resource_of
from ....core.ops.op import OPS
from ....core.program.program import STRUCTURED_OPS, Node, Program, Region
from ....core.types import HandleType, Type, element_type
from ....core.value import Literal

MAX_LOOP_DEPTH = 12
"""The deepest nesting of loops: Python allows fewer than 20 nested blocks, and a loop may take two."""
MAX_REGION_DEPTH = 60
"""The deepest nesting of regions: Python allows fewer than 100 levels of indentation, and the compilers recur."""
MAX_LITERAL_ELEMENTS = 10**6
"""The most elements of a literal: they are part of the machine code."""
MAX_RANK = 8
"""The most axes of an array that this engine supports."""
_SHORT_WORK = 2**22
"""The number of elements that are moved, or of multiplications, in some milliseconds."""
_CELL_OPS = ("cells", "put", "get", "collect", "cell_zeros")
_EFFECT_OPS = (*_CELL_OPS, "print", "callback", "breakpoint")
_OPTION_REQUIREMENTS = {
    "schedule": ("waves", "it has no tokens to schedule"),
    "until": ("quiet", "it always stops at the first trap"),
    "keep": (None, "it has no events"),
}
"""Each option with its only supported value, and why no other is supported."""
_DEFAULTS = tuple(default for default, _ in _OPTION_REQUIREMENTS.values())


def unsupported_option(schedule: object, until: str, keep: object) -> str | None:
    """Why the compiled engine does not support these options of a run; None if it does."""
    options = schedule, until, keep
    if options == _DEFAULTS:
        return None
    pairs = zip(_OPTION_REQUIREMENTS.items(), options, strict=True)
    return next(f"{name}={value!r}: {reason}" for (name, (default, reason)), value in pairs if value != default)


def unsupported_program(program: Program) -> str | None:
    """Why the compiled engine does not run a program; None if it does. Takes 50 us for twenty nodes."""
    return next(_unsupported_reasons(program), None)


def has_effects(program: Program) -> bool:
    """Whether a program has effects."""
    return any(resource_of(op) is not None for op in _ops(program))


def has_only_scalars(program: Program) -> bool:
    """Whether a program has neither arrays nor cells."""
    return all(type_.is_scalar and not isinstance(type_.dtype, HandleType) for type_ in _value_types(program))


def _value_types(program: Program) -> Iterator[Type]:
    """The types of all values that a program computes, and of its literals."""
    for function in program.reachable_functions():
        yield from (parameter.type for phase in function.body.phases() for parameter in phase.parameters)
        yield from function.results
        for node in function.body.walk():
            yield from (operand.type for operand in (*node.results, *node.inputs) if not isinstance(operand, str))


def is_draw(node: Node) -> bool:
    """Whether a node draws random numbers."""
    return node.op in EFFECT_OPS and EFFECT_OPS[node.op].draw is not None


def is_host_op(node: Node) -> bool:
    """Whether a node computes an op that has no machine code."""
    if node.op not in OPS or OPS[node.op].scalar is not None or node.op == "matmul":
        return False
    return node.op != "sum" or isinstance(node.attribute("axis"), tuple)


def is_narrow_op(node: Node, operands: Sequence[Type]) -> bool:
    """Whether a node computes floats of 16 bits and has no machine code: that exists for ops on scalars alone."""
    types = (*operands, *(result.type for result in node.results))
    has_scalar_code = node.op in OPS and OPS[node.op].scalar is not None and all(type_.is_scalar for type_ in types)
    return not has_scalar_code and any(type_.dtype in dtypes.FLOAT_FORMATS for type_ in types)


def needs_poll(node: Node) -> bool:
    """Whether a node may take so long that the run polls right after it; loops over elements poll by themselves."""
    if is_draw(node):
        return not node.results[0].type.is_scalar
    return node.op in ("matmul", "sum", "cells", "collect") or is_host_op(node)


def is_short(node: Node, operands: Sequence[Type]) -> bool:
    """Whether a node certainly takes less than some milliseconds, by its static sizes."""
    shapes = [type_.shape or () for type_ in (*operands, *(result.type for result in node.results))]
    if any(None in shape for shape in shapes) or is_draw(node) or node.op in _CELL_OPS:
        return False
    work = max(math.prod(filter(None, shape)) for shape in shapes)
    if node.op == "matmul":
        work *= max((size or 1 for shape in shapes for size in shape), default=1)
    return work <= _SHORT_WORK


def _ops(program: Program) -> set[str]:
    return {node.op for function in program.reachable_functions() for node in function.body.walk()}


def _unsupported_reasons(program: Program) -> Iterator[str]:
    if has_effects(program) and _ops(program) & set(_CELL_OPS):
        yield "it may restart a program with cells, and effects must happen only once"
    for function in program.reachable_functions():
        region = function.body
        for number, phase in enumerate(region.phases()):
            yield from _type_reasons(function.name, [parameter.type for parameter in phase.parameters])
            yield from _type_reasons(function.name, function.phase_result_types(number))
        for node in region.walk():
            yield from _node_reasons(function.name, node)
        regions, loops = _nesting_depth(region)
        if regions > MAX_REGION_DEPTH or loops > MAX_LOOP_DEPTH:
            yield f"regions of {function.name} nest too deeply"


def _node_reasons(function: str, node: Node) -> Iterator[str]:
    name = f"{function}.{node.name}"
    if node.op not in (*OPS, *STRUCTURED_OPS, *_EFFECT_OPS) and not is_draw(node):
        yield f"it does not support {node.op} ({name})"
    yield from _type_reasons(name, [result.type for result in node.results])
    for phase in (phase for region in node.regions for phase in region.phases()):
        yield from _type_reasons(name, [parameter.type for parameter in phase.parameters])
    for operand in node.inputs:
        if isinstance(operand, Literal) and np.size(operand.value) > MAX_LITERAL_ELEMENTS:  # type: ignore[arg-type]
            yield f"it supports literals of at most {MAX_LITERAL_ELEMENTS:,} elements ({name})"


def _type_reasons(location: str, types: list[Type] | tuple[Type, ...]) -> Iterator[str]:
    for type_ in types:
        if isinstance(type_.dtype, HandleType):
            element = element_type(type_)
            if element.is_scalar and element.dtype in dtypes.FLOAT_FORMATS:
                yield f"it has no cells of {element} ({location})"
            yield from _type_reasons(location, [element])
        elif type_.shape is None or len(type_.shape) > MAX_RANK:
            yield f"it supports arrays of a static rank of at most {MAX_RANK} ({location}: {type_})"


def _nesting_depth(region: Region) -> tuple[int, int]:
    """The nesting depth of regions inside this one, and of loops."""
    max_depth, max_loop_depth = 0, 0
    for phase in region.phases():
        for node in phase.nodes:
            for inner in node.regions:
                depth, loop_depth = _nesting_depth(inner)
                max_depth, max_loop_depth = (
                    max(max_depth, depth + 1),
                    max(max_loop_depth, loop_depth + (node.op == "while_loop")),
                )
    return max_depth, max_loop_depth
