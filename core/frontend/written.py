"""Writing: functions that have been traced, as a program.

Owns the names that functions and callbacks have in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..program import Function, Program, Region
from .tracing import Names

if TYPE_CHECKING:
    from .inference import Instance


def written(instances: Sequence[Instance], callbacks: dict[str, Callable[..., Any]]) -> Program:
    """The program of these functions, of which the first is the entry, named in this order; so are `callbacks`."""
    names = Names()
    final = {instance.name: names.fresh(instance.source.identifier) for instance in instances}
    final |= {made.name: names.fresh(_plain(made.name)) for instance in instances for made in instance.made}
    functions = []
    for instance in instances:
        assert instance.body is not None and instance.known is not None
        called = {str(place): _callback(function, callbacks) for place, function in enumerate(instance.callbacks)}
        body = _renamed(instance.body, final, called)
        functions.append(Function(final[instance.name], body, instance.known.results, instance.where))
        for made in instance.made:
            body, rule = _renamed(made.body, final, called), final[made.rule] if made.rule else None
            functions.append(replace(made, name=final[made.name], body=body, rule=rule))
    return Program(tuple(functions), functions[0].name)


def _callback(function: Callable[..., Any], callbacks: dict[str, Callable[..., Any]]) -> str:
    """The name of a Python function in the program: its own, or with a number where another one has that."""
    wanted, count = getattr(function, "__name__", "callback"), 0
    wanted = name = wanted if wanted.isidentifier() else "callback"
    while callbacks.setdefault(name, function) is not function:
        count += 1
        name = f"{wanted}_{count}"
    return name


def _renamed(region: Region, names: dict[str, str], called: dict[str, str]) -> Region:
    """A region whose calls name functions, and whose callbacks Python functions, as they are finally called."""
    nodes = []
    for node in region.nodes:
        if node.op == "call":
            node = replace(node, attributes=(("function", names[node.attribute("function")]),))
        elif node.op == "callback":
            (_, place), *more = node.attributes
            node = replace(node, attributes=(("function", called[place]), *more))
        elif node.regions:
            node = replace(node, regions=tuple(_renamed(inner, names, called) for inner in node.regions))
        nodes.append(node)
    return replace(region, nodes=tuple(nodes))


def _plain(name: str) -> str:
    """A name without the number that made it another one while functions were traced."""
    return name.rstrip("0123456789").rstrip("_")
