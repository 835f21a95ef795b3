"""Which programs the compiled engine runs, said before it starts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ....core.ops.effect_op import EFFECT_OPS, resource_of
from ....core.ops.op import OPS
from ....core.program.program import STRUCTURED_OPS, Node, Program, Region
from ....core.types import HandleType, Type, element_type
from ....core.value import Literal

MAX_LOOP_DEPTH = 12
"""How deep loops nest: Python refuses 20 in one another, and a loop may be two."""
MAX_REGION_DEPTH = 60
"""How deep regions nest: Python refuses 100 levels of indentation, and numba is slow long before."""
MAX_LITERAL_ELEMENTS = 1000
"""How many elements a literal has: they are written out."""
MAX_AXES = 8
_SHORT_WORK = 2**22
"""How many elements are moved, or multiplications made, in some milliseconds."""
_CELL_OPS = ("cells", "put", "get", "collect", "cell_zeros")
_EFFECT_OPS = (*_CELL_OPS, "print", "callback", "breakpoint")
_OPTION_REQUIREMENTS = {
    "schedule": ("waves", "it has no tokens, and so no schedule"),
    "until": ("quiet", "it computes one node after another, and stops at the first trap"),
    "keep": (None, "it has no events"),
}
"""What may be asked for by options, unless it is this, and why it is refused."""
_DEFAULTS = tuple(default for default, _ in _OPTION_REQUIREMENTS.values())


def unsupported_option(schedule: object, until: str, keep: object) -> str | None:
    """Why the compiled engine does not do what is asked of it by these options of a run; None where it does."""
    given = schedule, until, keep
    if given == _DEFAULTS:
        return None
    pairs = zip(_OPTION_REQUIREMENTS.items(), given, strict=True)
    return next(f"{name}={asked!r}: {why}" for (name, (default, why)), asked in pairs if asked != default)


def unsupported_program(program: Program) -> str | None:
    """Why the compiled engine does not run a program; None where it does. It takes 50 us for twenty nodes."""
    return next(_unsupported_reasons(program), None)


def has_effects(program: Program) -> bool:
    """Whether a program does something to the world."""
    return any(resource_of(op) is not None for op in _ops(program))


def is_of_scalars(program: Program) -> bool:
    """Whether a program has no arrays, and no cells."""
    return all(type_.is_scalar and not isinstance(type_.dtype, HandleType) for type_ in _value_types(program))


def _value_types(program: Program) -> Iterator[Type]:
    """The types of all that a program computes or writes."""
    for function in program.reachable_functions():
        yield from (parameter.type for phase in function.body.phases() for parameter in phase.parameters)
        yield from function.results
        for node in function.body.walk():
            yield from (each.type for each in (*node.results, *node.inputs) if not isinstance(each, str))


def is_draw(node: Node) -> bool:
    """Whether a node draws random numbers."""
    return node.op in EFFECT_OPS and EFFECT_OPS[node.op].draw is not None


def is_host_op(node: Node) -> bool:
    """Whether there is no machine code for an op that computes."""
    if node.op not in OPS or OPS[node.op].scalar is not None or node.op == "matmul":
        return False
    return node.op != "sum" or isinstance(node.attribute("axis"), tuple)


def needs_poll(node: Node) -> bool:
    """Whether a node may take so long that whoever waits wants to be heard right after it; loops over elements look
    themselves."""
    if is_draw(node):
        return not node.results[0].type.is_scalar
    return node.op in ("matmul", "sum", "cells", "collect") or is_host_op(node)


def is_short(node: Node, operands: Sequence[Type]) -> bool:
    """Whether a node is over before anybody would look, by sizes that types know."""
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
        yield "it may have to begin again where there are cells, and effects happen once"
    for function in program.reachable_functions():
        region = function.body
        for number, phase in enumerate(region.phases()):
            yield from _type_reasons(function.name, [parameter.type for parameter in phase.parameters])
            yield from _type_reasons(function.name, function.phase_result_types(number))
        for node in region.walk():
            yield from _node_reasons(function.name, node)
        regions, loops = _nesting_depth(region)
        if regions > MAX_REGION_DEPTH or loops > MAX_LOOP_DEPTH:
            yield f"regions of {function.name} nest too deep"


def _node_reasons(function: str, node: Node) -> Iterator[str]:
    name = f"{function}.{node.name}"
    if node.op not in (*OPS, *STRUCTURED_OPS, *_EFFECT_OPS) and not is_draw(node):
        yield f"it has no {node.op} yet ({name})"
    yield from _type_reasons(name, [result.type for result in node.results])
    for phase in (phase for region in node.regions for phase in region.phases()):
        yield from _type_reasons(name, [parameter.type for parameter in phase.parameters])
    for operand in node.inputs:
        if isinstance(operand, Literal) and np.size(operand.value) > MAX_LITERAL_ELEMENTS:  # type: ignore[arg-type]
            yield f"it writes no literals of so many elements ({name})"


def _type_reasons(where: str, types: list[Type] | tuple[Type, ...]) -> Iterator[str]:
    for type_ in types:
        if isinstance(type_.dtype, HandleType):
            yield from _type_reasons(where, [element_type(type_)])
        elif type_.shape is None or len(type_.shape) > MAX_AXES:
            yield f"it must know how many axes an array has, {MAX_AXES} at most ({where}: {type_})"


def _nesting_depth(region: Region) -> tuple[int, int]:
    """How deep regions nest in this one, and how deep loops."""
    deepest, loops = 0, 0
    for phase in region.phases():
        for node in phase.nodes:
            for inner in node.regions:
                below, looping = _nesting_depth(inner)
                deepest, loops = max(deepest, below + 1), max(loops, looping + (node.op == "while_loop"))
    return deepest, loops
