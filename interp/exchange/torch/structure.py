"""Pytrees of PyTorch as nested values of Python: the arguments and results of programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....core.errors import Malformed
from ....core.frontend.trace.pytree import TreeDef, flatten
from ..refusals import unsupported
from .graph import ExportedProgramData, StructureSpec

MAPPINGS = frozenset({"builtins.dict", "collections.OrderedDict", "collections.defaultdict"})


def unflatten(spec: StructureSpec, leaves: Sequence[Any]) -> Any:
    """The tree of these leaves. A container of a different class than tuple, list or dict is a tuple, or a dict if
    the structure has names.

    >>> leaf = StructureSpec(None)
    >>> vector = StructureSpec("builtins.list", None, (leaf,))
    >>> unflatten(StructureSpec("builtins.dict", ["a", "b"], (leaf, vector)), [1, 2])
    {'a': 1, 'b': [2]}
    """
    return _take_tree(spec, iter(leaves))


def _take_tree(spec: StructureSpec, leaves: Iterator[Any]) -> Any:
    """The tree of the next leaves."""
    if spec.container is None:
        return next(leaves)
    parts = [_take_tree(child, leaves) for child in spec.children]
    context = spec.context
    if isinstance(context, list) and len(context) == 2 and isinstance(context[1], list):
        context = context[1]  # of a defaultdict: its factory, and its keys
    has_names = isinstance(context, list) and len(context) == len(parts)
    if spec.container in MAPPINGS or (has_names and all(isinstance(key, str) for key in context)):
        keys = context if has_names else [str(k) for k in range(len(parts))]
        return dict(zip(keys, parts, strict=True))
    return parts if spec.container == "builtins.list" else tuple(parts)


class ArgumentLayout(NamedTuple):
    """An argument of a program: its name, its tree, and the names of its leaves in the graph, in tagloom's order."""

    name: str
    treedef: TreeDef
    leaf_names: tuple[str, ...]


def argument_layouts(program: ExportedProgramData) -> list[ArgumentLayout]:
    """The arguments of a program, positional ones first, without those that are constants of Python. Raises Malformed
    if they do not have the leaves that the graph takes, Unsupported for a constant inside of an argument."""
    inputs = iter(
        [program_input for program_input in program.inputs if program_input.kind in ("user_input", "constant_input")]
    )
    spec = program.argument_spec
    if len(spec.children) != 2 or spec.size != sum(
        program_input.kind.endswith("_input") for program_input in program.inputs
    ):
        raise Malformed("the arguments of the program do not nest as its graph takes them", got=spec.size)
    positional, keyword = spec.children
    keys = keyword.context if isinstance(keyword.context, list) else []
    children = [*positional.children, *keyword.children]
    names = list(program.argument_names)
    if len(names) != len(children):
        names = [*(f"x_{k}" for k in range(len(positional.children))), *map(str, keys)]
    layouts = []
    for name, child in zip(names + ["x"] * len(children), children, strict=False):
        leaves = [next(inputs) for _ in range(child.size)]
        kinds = {leaf.kind for leaf in leaves}
        if kinds <= {"constant_input"}:
            continue
        if len(kinds) > 1:
            raise unsupported("construct", f"argument {name} nests constants of Python")
        order, treedef = flatten(unflatten(child, [np.int64(k) for k in range(len(leaves))]), is_leaf=None)
        layouts.append(ArgumentLayout(name, treedef, tuple(leaves[int(k)].name for k in order)))
    return layouts
