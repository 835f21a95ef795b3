"""Random flat graphs, as somebody writes them by hand, and random edits of these and of lowered programs.

Lowering has habits: every argument enters through a merge of its own, every function has a trigger. A graph that is
written by hand has none of them, and is valid all the same: it may have more arguments than nodes, arguments that
nothing reads, and results that come straight from an argument.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import tagloom as tl
from support.generators.graph_edits import EDITS
from support.generators.json_edits import EVERY, arguments_for
from tagloom.core.graph.graph import Graph, OutputRef
from tagloom.core.types import Type
from tagloom.core.value import literal

TYPES = (Type(tl.int64), Type(tl.float64), Type(tl.bool))
NUMERIC = ("add", "multiply", "subtract")
MAX_ARGUMENTS, MAX_NODES = 6, 6


def hand_written_graph(dice: random.Random) -> Graph:
    """A graph with up to MAX_ARGUMENTS arguments and MAX_NODES nodes, which need not use them all; most are valid."""
    builder = tl.GraphBuilder(dice.choice(["f", "main", "g_1"]))
    outputs: list[tuple[OutputRef, Type]] = []
    for number in range(dice.randrange(MAX_ARGUMENTS + 1)):
        type_ = dice.choice(TYPES)
        outputs.append((builder.argument(f"x{number}", type_), type_))
    for number in range(dice.randrange(1, MAX_NODES + 1)):
        outputs += _node(dice, builder, f"n{number}", outputs)
    return builder.build([output for output, _ in dice.sample(outputs, min(len(outputs), dice.randrange(3)))])


def _node(
    dice: random.Random, builder: tl.GraphBuilder, name: str, outputs: list[tuple[OutputRef, Type]]
) -> list[tuple[OutputRef, Type]]:
    """Add a node that reads some of these outputs, if there are any it can read; return its outputs."""
    if not outputs:
        return []
    first, type_ = dice.choice(outputs)
    same = [output for output, other in outputs if other == type_]
    predicates = [output for output, other in outputs if other.dtype is tl.bool]
    choices = ["identity", "merge", *([] if type_.dtype is tl.bool else [*NUMERIC, "less"])]
    op = dice.choice([*choices, *(["switch"] if predicates else [])])
    second: Any = dice.choice(same) if op == "merge" or dice.random() < 0.7 else literal(type_.dtype.numpy.type(2))
    match op:
        case "identity":
            inputs, types = [first], [type_]
        case "switch":
            inputs, types = [first, dice.choice(predicates)], [type_, type_]
        case "less":
            inputs, types = [first, second], [TYPES[2]]
        case _:
            inputs, types = [first, second], [type_]
    return list(zip(builder.node(op, name, inputs, types), types, strict=True))


def graph_and_arguments(dice: random.Random) -> tuple[Graph, list[Any]]:
    """A graph to display, with arguments: written by hand or lowered, and up to three times edited."""
    if dice.random() < 0.5:
        graph = hand_written_graph(dice)
        arguments: list[Any] = [np.ones((), output.type.dtype.numpy)[()] for _, output in graph.arguments]
    else:
        graph, arguments = dice.choice(EVERY)
    for _ in range(dice.choice([0, 0, 1, 1, 2, 3])):
        try:
            graph, arguments = dice.choice(EDITS)(dice, graph), []
        except (IndexError, ValueError, tl.TagloomError):  # an edit that this graph has no place for
            continue
    return graph, arguments or arguments_for(graph)
