"""Dead tokens: an extension of the machine, for graphs that follow the rules of TensorFlow's executor.

S18 In a graph with dead tokens, `dead_switch` sends its value to output 1 if the predicate is true, else to output 0,
    and a dead token to the other; both are dead if the predicate is. `live_merge` passes on the live token, and the
    number of its port; both outputs are dead if no port has a live token, and it traps if two have. `after` passes on
    the token of port 0, or a dead one if any port has one. `any_live` says whether a port has a live token, and
    `trigger` sends true. `next_iteration` passes on its token, dead or live, if its second port says that another
    iteration follows. `exit` passes on a live token, and a dead one if its second port says that no other iteration
    follows. `merge` and `enter` pass on what comes. `return` traps on a dead token: the result does not have a value.
    Any other node with a dead operand sends dead tokens from all its outputs, and neither computes nor traps.

A dead token names the output that sent it first, and the tag of that firing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ...core.graph.graph import Edge, Graph
from ...core.tag import Tag
from ...core.types import DeadTokenValue
from ...core.value import Value, abbreviate
from .effects import Outputs

Compute: TypeAlias = Callable[[tuple[Value, ...], Tag], Outputs]
FindTrap: TypeAlias = Callable[[tuple[Value, ...]], str | None] | None
Behaviour: TypeAlias = tuple[Compute, FindTrap]


def dead_token_behaviour(graph: Graph, number: int, ordinary: Behaviour | None) -> Behaviour:
    """The behaviour of a node in a graph with dead tokens: the function that it computes, and the one that finds its
    trap. `ordinary` is the same for live operands; None for an op that only such graphs have."""
    node = graph.nodes[number]
    match node.op:
        case "dead_switch":
            return lambda inputs, tag: switch_outputs(number, inputs, tag), describe_bad_predicate
        case "live_merge":
            return merge_outputs, lambda inputs: describe_race(graph, number, inputs)
        case "after":
            return lambda inputs, tag: ((0, first_dead(inputs) or inputs[0]),), None
        case "any_live":
            return lambda inputs, tag: ((0, not all(isinstance(value, DeadTokenValue) for value in inputs)),), None
        case "trigger":
            return lambda inputs, tag: ((0, True),), None
    assert ordinary is not None
    compute, find_trap = ordinary
    match node.op:
        case "next_iteration":
            return next_iteration_outputs, None
        case "exit":
            return lambda inputs, tag: () if is_dropped(inputs) else compute(inputs, tag), None
        case "merge" | "enter":
            return ordinary
        case "return":
            return compute, lambda inputs: describe_missing_result(graph, number, inputs)
    return propagate_dead(compute, find_trap, len(node.outputs))


def first_dead(inputs: tuple[Value, ...]) -> DeadTokenValue | None:
    """The first dead operand."""
    return next((value for value in inputs if isinstance(value, DeadTokenValue)), None)


def propagate_dead(compute: Compute, find_trap: FindTrap, output_count: int) -> Behaviour:
    """The behaviour of an op that is dead if any of its operands is."""

    def compute_live(inputs: tuple[Value, ...], tag: Tag) -> Outputs:
        dead = first_dead(inputs)
        return compute(inputs, tag) if dead is None else tuple((output, dead) for output in range(output_count))

    if find_trap is None:
        return compute_live, None
    return compute_live, lambda inputs: None if first_dead(inputs) else find_trap(inputs)


def switch_outputs(number: int, inputs: tuple[Value, ...], tag: Tag) -> Outputs:
    value, predicate = inputs[:2]
    if isinstance(predicate, DeadTokenValue):
        return (0, predicate), (1, predicate)
    chosen = int(bool(predicate))
    other = value if isinstance(value, DeadTokenValue) else DeadTokenValue(number, 1 - chosen, tag)
    return (chosen, value), (1 - chosen, other)


def describe_bad_predicate(inputs: tuple[Value, ...]) -> str | None:
    """Why a `dead_switch` traps: its predicate is an array."""
    return f"the predicate is not one bool, but {abbreviate(inputs[1])}" if np.ndim(inputs[1]) else None  # type: ignore[arg-type]


def merge_outputs(inputs: tuple[Value, ...], tag: Tag) -> Outputs:
    for port, value in enumerate(inputs):
        if not isinstance(value, DeadTokenValue):
            return (0, value), (1, np.int32(port))
    return (0, inputs[0]), (1, inputs[0])


def next_iteration_outputs(inputs: tuple[Value, ...], tag: Tag) -> Outputs:
    return ((0, inputs[0]),) if inputs[1] else ()


def is_dropped(inputs: tuple[Value, ...]) -> bool:
    """Whether an `exit` drops its value: it is dead, and another iteration follows."""
    return isinstance(inputs[0], DeadTokenValue) and len(inputs) > 1 and bool(inputs[1])


def describe_race(graph: Graph, number: int, inputs: tuple[Value, ...]) -> str | None:
    """Why a `live_merge` traps: it has two live operands."""
    live = [(port, value) for port, value in enumerate(inputs) if not isinstance(value, DeadTokenValue)]
    if len(live) < 2:
        return None
    values = " and ".join(
        f"{abbreviate(value)} from {describe_source(graph, Edge(number, port))}" for port, value in live
    )
    return f"a race: {len(live)} live values come to {graph.nodes[number]}: {values}; TensorFlow returns either"


def describe_source(graph: Graph, edge: Edge) -> str:
    """The source of a port in words: a node, an argument, or a constant."""
    for source in graph.sources().get(edge, ()):
        return f"argument {graph.arguments[source.output][0]}" if source.node < 0 else str(graph.nodes[source.node])
    return "a constant"


def describe_missing_result(graph: Graph, number: int, inputs: tuple[Value, ...]) -> str | None:
    """Why a `return` traps: its operand is dead."""
    dead = first_dead(inputs)
    if dead is None:
        return None
    position = graph.results.index(number)
    return f"result {position} has no value: {describe_death(graph, dead)} (TensorFlow: {missing_value(position)})"


def missing_value(position: int) -> str:
    """How TensorFlow says that a result is dead.

    >>> missing_value(1)
    'Retval[1] does not have value'
    """
    return f"Retval[{position}] does not have value"


def describe_death(graph: Graph, dead: DeadTokenValue) -> str:
    """Why a dead token died, and where, in words."""
    node = graph.nodes[dead.node]
    predicate = ("true", "false")[dead.port]
    place = f"{node} ({node.location})" if node.location else str(node)
    return f"the predicate of {place} was {predicate} under {dead.tag}, so its output {dead.port} was dead"
