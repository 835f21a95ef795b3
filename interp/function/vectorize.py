"""`vmap`: a function of single elements becomes one of arrays.

The iterations of one loop over the mapped axis compute the results, each under its own tag, and do not depend on each
other: the machine runs them in parallel. Each result is put into a cell, and the cells become an array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...core.errors import Invalid, Usage, plural
from ...core.frontend.array_api.common import element_count, type_of
from ...core.frontend.array_api.indexing import take
from ...core.frontend.array_api.manipulation import moveaxis
from ...core.frontend.eager.gradients import TracedCall, trace_pullback
from ...core.frontend.loops import scan_elements
from ...core.frontend.trace.annotation import DeclaredParameter, DerivedFunction, FunctionSpec
from ...core.frontend.trace.program_builder import RegionBuilder, Specialization, current_region
from ...core.frontend.trace.pytree import (
    StaticLeaf,
    TreeDef,
    TreeType,
    count_item_axes,
    element_treedef,
    flatten,
    leaf_paths,
    only_result,
    parts_of,
    path_step,
    unflatten,
)
from ...core.frontend.trace.source_location import user_location
from ...core.ops.effects import EFFECT_OPS
from ...core.program.program import Node, Region
from ...core.types import HandleType, Type


def check_axes(in_axes: Any, out_axes: Any) -> None:
    """Raises Usage for axes that are neither integers nor None."""
    for word, axes, role in (("in_axes", in_axes, "argument"), ("out_axes", out_axes, "result")):
        if not all(axis is None or type(axis) is int for axis in flatten(axes, is_leaf=None)[0]):
            raise Usage(
                f"{word} of vmap must be integers or None",
                where=user_location(),
                required=f"0, or one for each {role}, as in (0, None)",
                got=repr(axes)[:80],
                hint="vmap(f) is a function: write vmap(f)(x) to map it over x",
                python=TypeError,
            )


def map_spec(source: FunctionSpec, argument_axes: Sequence[Any], out_axes: Any) -> FunctionSpec:
    """The function that maps a function over axes of its arguments, one entry for each parameter."""

    def python(*arguments: Any) -> Any:
        return trace_vmap(source, argument_axes, out_axes, arguments)

    mapped_function = DerivedFunction(f"vmap_{source.identifier}", source.python_function, python)
    parameters = tuple(map(map_parameter, source.declared_parameters, argument_axes))
    return replace(source, python_function=mapped_function, declared_parameters=parameters, result_type=None)


def axes_key(in_axes: Any, out_axes: Any) -> tuple[Any, ...]:
    """A key of axes, equal for equal ones."""
    return tuple(
        (structure, tuple(leaves))
        for leaves, structure in (flatten(axes, is_leaf=None) for axes in (in_axes, out_axes))
    )


def read_argument_axes(source: FunctionSpec, in_axes: Any) -> list[Any]:
    """The axes of each parameter, from those that the user wrote; parameters with defaults may be left out."""
    parameters = source.declared_parameters
    if not isinstance(in_axes, tuple | list):
        return [in_axes] * len(parameters)
    left_out = parameters[len(in_axes) :]
    if len(in_axes) > len(parameters) or not all(source.has_default(name) for name, _ in left_out):
        raise Usage(
            f"in_axes of vmap does not have one entry for each argument of {source.name}",
            where=user_location(),
            required=f"one entry for each of {plural(len(parameters), 'argument')}",
            got=repr(in_axes),
            hint="*args is one parameter, whose entry is a tuple; **kwargs is one, whose entry is a dict",
            python=ValueError,
        )
    return [*in_axes, *[None] * len(left_out)]


def map_parameter(parameter: DeclaredParameter, axes: Any) -> DeclaredParameter:
    """A parameter whose declared types have the mapped axes, too."""
    name, declared = parameter
    if declared is None:
        return parameter
    leaf_axes = broadcast_axes("in_axes", axes, declared.treedef, name)
    types = [type_ if axis is None else insert_axis(type_, axis) for type_, axis in zip(declared.types, leaf_axes)]  # noqa: B905
    return name, TreeType(declared.treedef, tuple(types))


def insert_axis(type_: Type, axis: int) -> Type:
    """A type with one more axis, of any size."""
    if type_.shape is None:
        return type_
    position = axis if axis >= 0 else len(type_.shape) + 1 + axis
    return replace(type_, shape=(*type_.shape[:position], None, *type_.shape[position:]))


def broadcast_axes(word: str, axes: Any, structure: TreeDef, path: str) -> list[int | None]:
    """The axis of each leaf of a nested value: `axes` nests as the value does, as far as it nests."""
    if axes is None or type(axes) is int:
        return [axes] * structure.size
    parts = parts_of(axes, type(axes))
    keys = [key for key, _ in parts or ()]
    is_sequence = type(axes) in (tuple, list) and structure.container in (tuple, list)
    if (
        parts is None
        or keys != [key for key, _ in structure.children]
        or not (is_sequence or structure.container is type(axes))
    ):
        raise Usage(
            f"{word} of vmap does not nest as {path}",
            where=user_location(),
            required=f"an integer, None, or a nest of these like {structure}",
            got=repr(axes)[:80],
            python=ValueError,
        )
    pairs = zip(structure.children, parts, strict=True)
    return [
        axis
        for (key, part), (_, part_axes) in pairs
        for axis in broadcast_axes(word, part_axes, part, path + path_step(structure, key))
    ]


def trace_vmap(source: FunctionSpec, axes: Sequence[Any], out_axes: Any, arguments: Sequence[Any]) -> Any:
    """A loop over the mapped axes of symbolic arguments, whose iterations call the function."""
    leaves, leaf_axes, paths, structures = list[Any](), list[int | None](), list[str](), list[TreeDef]()
    arguments = source.keep_defaults_static(arguments)
    for (name, _), argument, part_axes in zip(source.declared_parameters, arguments, axes, strict=True):
        argument_leaves, structure = source.flatten_argument((name, None), argument)
        leaves += argument_leaves
        part_axes = part_axes if argument_leaves else None
        leaf_axes += broadcast_axes("in_axes", part_axes, structure, name)
        paths += leaf_paths(structure, name)
        structures.append(structure)
    count = mapped_size(source.name, leaves, leaf_axes, paths)
    mapped_flags = iter([axis is not None for axis in leaf_axes])
    element_structures = [element_treedef(part, mapped_flags) for part in structures]

    def element_at(k: Any) -> Any:
        elements = iter(
            [leaf if axis is None else take(leaf, k, axis=axis) for leaf, axis in zip(leaves, leaf_axes, strict=True)]
        )
        return tuple(
            argument
            if isinstance(argument, StaticLeaf)
            else unflatten(part, [next(elements) for _ in range(part.size)])
            for argument, part in zip(arguments, element_structures, strict=True)
        )

    mapped_results: list[bool] = []

    def step(carry: tuple[Any, ...], element: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
        region = current_region()
        assert region is not None, "a derived function is only traced"
        result, call, _ = trace_pullback(region, source, element)
        known_result = only_result(call.treedef, [leaf.type for leaf in call.results])
        flags = [axis is not None for axis in leaf_axes]
        mapped_results[:] = find_mapped_results(region, call, flags) if known_result is None else []
        return carry, (result,) if known_result is None else known_result

    outputs, structure = flatten(scan_elements(step, (), count, element_at)[1], constants_are_static=True, is_leaf=None)
    ((_, structure),) = structure.children
    result_axes = broadcast_axes("out_axes", out_axes, structure, "the result")
    columns = zip(outputs, result_axes, leaf_paths(structure, ""), mapped_results, strict=True)
    rows = [(*column, axes) for column, axes in zip(columns, count_item_axes(structure), strict=True)]
    return unflatten(structure, [move_result_axis(source.name, *row) for row in rows])


def find_mapped_results(region: RegionBuilder, call: TracedCall, is_mapped: Sequence[bool]) -> list[bool]:
    """Which results of this call, the last one of the region, may differ from element to element: those that depend on
    mapped arguments, on random numbers and callbacks, or on variables that the function assigns."""
    functions = {
        specialization.name: specialization
        for specialization in region.specialization.program_builder.specializations.values()
    }
    node = next(node for node in reversed(region.nodes) if node.op == "call")
    body = functions[node.attribute("function")].body
    if body is None:  # it is under trace, since it maps itself
        return [True] * len(call.results)
    is_mapped = (*is_mapped, *(variable in call.assigned_values for variable in call.captures))
    mapped = {parameter.name for parameter, flag in zip(body.parameters, is_mapped, strict=True) if flag}
    return find_mapped_values(body, mapped, functions)[: len(call.results)]


def find_mapped_values(region: Region, mapped: set[str], functions: Mapping[str, Specialization]) -> list[bool]:
    """Which results of a region depend on `mapped` ones of its values, or on draws; adds to `mapped` all values that
    do."""
    variables = (*region.parameters, *(result for node in region.nodes for result in node.results))
    handles = {variable.name for variable in variables if isinstance(variable.type.dtype, HandleType)}
    size = -1
    while size < len(mapped):  # until no more values depend on mapped ones: a put changes what reads of its cells give
        size = len(mapped)
        for node in region.nodes:
            inputs = {operand for operand in node.inputs if isinstance(operand, str)}
            if not (inputs & mapped or has_changing_results(node, functions)):
                continue
            flags = (
                [True] * len(node.results) if inputs & handles else find_mapped_node_results(node, mapped, functions)
            )
            mapped |= {result.name for result, flag in zip(node.results, flags, strict=True) if flag}
            mapped |= inputs & handles
    return [operand in mapped for operand in region.results]


def find_mapped_node_results(node: Node, mapped: set[str], functions: Mapping[str, Specialization]) -> list[bool]:
    """Which results of a node without handles may differ from element to element, if one of its inputs is mapped, or it
    draws. For a branch or loop whose condition is the same for all elements, its regions decide; for any other node,
    all results may differ."""
    flags = [operand in mapped for operand in node.inputs]
    if node.op == "cond" and not flags[0]:
        branches = [
            find_mapped_values(branch, mapped_parameters(branch, flags[1:]), functions) for branch in node.regions
        ]
        return [any(pair) for pair in zip(*branches, strict=True)]
    if node.op == "while_loop":
        condition, body = node.regions
        while True:
            following = find_mapped_values(body, mapped_parameters(body, flags), functions)
            joined_flags = [
                is_mapped or becomes_mapped for is_mapped, becomes_mapped in zip(flags, following, strict=True)
            ]
            if joined_flags == flags:
                break
            flags = joined_flags
        if not any(find_mapped_values(condition, mapped_parameters(condition, flags), functions)):
            return flags
    return [True] * len(node.results)


def mapped_parameters(region: Region, flags: Sequence[bool]) -> set[str]:
    """The names of the mapped parameters of a region."""
    return {parameter.name for parameter, flag in zip(region.parameters, flags, strict=True) if flag}


def has_changing_results(node: Node, functions: Mapping[str, Specialization]) -> bool:
    """Whether each firing of a node may have other results: it, or a node of its regions or of functions that it calls,
    draws or calls Python."""
    pending, visited_names = [node], set[str]()
    for node in pending:  # a worklist: the loop appends to it
        row = EFFECT_OPS.get(node.op)
        if row is not None and (row.draw is not None or node.op == "callback"):
            return True
        pending += [inner for region in node.regions for inner in region.walk()]
        name = node.attribute("function") if node.op == "call" else ""
        if name and name not in visited_names:
            visited_names.add(name)
            body = functions[name].body if name in functions else None
            pending += body.walk() if body is not None else ()
    return False


def mapped_size(name: str, leaves: Sequence[Any], axes: Sequence[int | None], paths: Sequence[str]) -> Any:
    """The common size of the mapped axes; an int, or a symbol if no size is known."""
    sizes: dict[str, Any] = {}
    for leaf, axis, path in zip(leaves, axes, paths, strict=True):
        shape = type_of(leaf).shape
        if axis is not None and shape is not None and not -len(shape) <= axis < len(shape):
            raise Usage(
                f"argument {path} of {name} has no axis {axis} to map over",
                where=user_location(),
                got=type_of(leaf),
                hint="in_axes has None for an argument that is passed whole; tl.asarray makes an array of numbers",
                python=ValueError,
            )
        if axis is not None:
            sizes[path] = None if shape is None else shape[axis]
    if not sizes:
        raise Usage(
            "vmap maps over no axis",
            where=user_location(),
            required="an axis of one argument, at least",
            got=f"in_axes without an integer for {name}",
            python=ValueError,
        )
    known_sizes = {path: size for path, size in sizes.items() if size is not None}
    if len(set(known_sizes.values())) > 1:
        raise Invalid(
            "the mapped axes have different lengths",
            rule="V4",
            where=user_location(),
            required="one length",
            got=", ".join(f"{size} of {path}" for path, size in known_sizes.items()),
        )
    if known_sizes:
        return next(iter(known_sizes.values()))
    position = next(k for k, axis in enumerate(axes) if axis is not None)
    axis = axes[position]
    assert axis is not None
    return element_count(leaves[position], axis)


def move_result_axis(name: str, result: Any, axis: int | None, path: str, is_mapped: bool, item_axes: int) -> Any:
    """A result with the mapped axis at its place; for None, the result of the first element. In `result`, that axis
    follows those of the items of lists."""
    rank = len(result.shape) - item_axes
    if axis is None and is_mapped:
        raise Usage(
            f"the result{path} of {name} may differ from element to element",
            where=user_location(),
            required=f"an integer from {-rank} to {rank - 1}",
            got="out_axes None",
            hint="None is for results that depend on no mapped argument, random number, callback or assigned variable",
            python=ValueError,
        )
    if axis is None and result.shape[item_axes] == 0:
        raise Usage(
            f"the result{path} of {name} has no value, since the mapped axis has no elements",
            where=user_location(),
            got="out_axes None",
            python=ValueError,
        )
    if axis is None:
        return take(result, 0, axis=item_axes)
    if not -rank <= axis < rank:
        raise Usage(
            f"the result{path} of {name} cannot have the mapped axis at {axis}",
            where=user_location(),
            required=f"an integer from {-rank} to {rank - 1}",
            got=f"out_axes {axis}",
            hint="every result has an element for each element of the arguments",
            python=ValueError,
        )
    return result if axis in (0, -rank) else moveaxis(result, item_axes, item_axes + axis % rank)
