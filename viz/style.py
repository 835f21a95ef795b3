"""What things look like: a look for each kind of node, and for each kind of edge.

Colours are those of Okabe and Ito (https://jfly.uni-koeln.de/color/), which people with any colour vision tell
apart. Nothing is told by colour alone: kinds of nodes differ in shape, or say their op in words; kinds of edges differ
in line or head.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from ..core.act import ACTS
from ..core.op import OPS

BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"
PALETTE = (BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILLION, PURPLE)
"""The eight colours of Okabe and Ito."""

GREY = "#666666"
"""For text of second rank."""

FONT = "Helvetica,Arial,sans-serif"
"""Every system maps these to a font that it has."""

SIZE, SMALL = 12, 9
"""Points of the first line of a node, and of its second line and of labels on edges."""

TINT = "38"
"""The opacity of fillings, as two hexadecimal digits: text stays legible on every colour."""

Kind: TypeAlias = Literal[
    "arithmetic", "comparison", "logic", "literal", "merge", "switch", "call", "return", "enter", "exit",
    "next_iteration", "cells", "effect", "random", "breakpoint", "argument", "result", "unknown",
]  # fmt: skip
"""What a node is, as far as looks go."""

Link: TypeAlias = Literal["data", "predicate", "trigger", "order", "call", "back", "control"]
"""What an edge is, as far as looks go."""


class Look(NamedTuple):
    """A shape and styles of Graphviz, and the colour of the line, of which the filling is a tint."""

    shape: str
    colour: str
    style: str = "filled"

    @property
    def attributes(self) -> dict[str, str]:
        """As attributes of a node of DOT."""
        return {"shape": self.shape, "color": self.colour, "fillcolor": self.colour + TINT, "style": self.style}


class Line(NamedTuple):
    """A style and an arrow head of Graphviz, and a colour."""

    style: str
    head: str
    colour: str

    @property
    def attributes(self) -> dict[str, str]:
        """As attributes of an edge of DOT."""
        return {"style": self.style, "arrowhead": self.head, "color": self.colour}


LOOKS: dict[Kind, Look] = {
    "arithmetic": Look("ellipse", SKY),
    "comparison": Look("hexagon", BLUE),
    "logic": Look("octagon", BLUE),
    "literal": Look("note", YELLOW),
    "merge": Look("invtrapezium", GREEN),
    "switch": Look("trapezium", ORANGE),
    "call": Look("invhouse", PURPLE),
    "return": Look("house", PURPLE),
    "enter": Look("invhouse", VERMILLION),
    "exit": Look("house", VERMILLION),
    "next_iteration": Look("parallelogram", VERMILLION),
    "cells": Look("cylinder", GREEN),
    "effect": Look("cds", ORANGE),
    "random": Look("box3d", SKY),
    "breakpoint": Look("doubleoctagon", VERMILLION),
    "argument": Look("box", BLACK, "rounded"),
    "result": Look("box", BLACK, "rounded,bold"),
    "unknown": Look("box", BLACK, "dashed"),
}
"""The look of each kind of node. A house that points down sends tokens into another activation, one that points up
sends them back out; a merge is narrow below, where it has one output, and a switch above, where it has one value.
What is stored is a drum, an effect points out of the program, chance is a die, and a breakpoint a stop sign."""

LINES: dict[Link, Line] = {
    "data": Line("solid", "normal", BLACK),
    "predicate": Line("solid", "odot", BLUE),
    "trigger": Line("dotted", "vee", BLACK),
    "order": Line("dashed", "vee", ORANGE),
    "call": Line("dashed", "normal", PURPLE),
    "back": Line("bold", "normal", VERMILLION),
    "control": Line("dashed", "odot", BLUE),
}
"""The look of each kind of edge."""

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"), "comparison"),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor", "logical_not", "where"), "logic"),
    "identity": "literal",
    "merge": "merge",
    "switch": "switch",
    "call": "call",
    "return": "return",
    "enter": "enter",
    "exit": "exit",
    "next_iteration": "next_iteration",
    **dict.fromkeys(("cells", "put", "store", "get", "collect"), "cells"),
    **dict.fromkeys((row.name for row in ACTS.values() if row.resource), "effect"),
    **dict.fromkeys((row.name for row in ACTS.values() if row.draw), "random"),
    "breakpoint": "breakpoint",
}


def kind_of(op: str) -> Kind:
    """The kind of an op by name: what computes and is not listed is arithmetic; what does not exist is unknown.

    >>> kind_of("less_equal"), kind_of("sqrt"), kind_of("frobnicate")
    ('comparison', 'arithmetic', 'unknown')
    """
    return _KINDS.get(op, "arithmetic" if op in OPS else "unknown")
