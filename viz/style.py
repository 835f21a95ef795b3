"""What things look like: the table of looks, a row for each kind of box, arrow, cluster and badge.

Colours are those of Okabe and Ito (https://jfly.uni-koeln.de/color/), which people with any colour vision tell
apart. Nothing is told by colour alone: kinds of boxes differ in shape, or say their op in words, and in a letter where
there are no shapes; kinds of arrows differ in line or head; badges have a sign each.
"""

from __future__ import annotations

from typing import NamedTuple

from ..core.ops.effect_op import ACTS
from ..core.ops.op import OPS
from .view import Enclosure, Kind, Link, Mark

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


class Theme(NamedTuple):
    """Colours that depend on what is drawn upon."""

    name: str
    paper: str
    ink: str
    """For text, and wherever the table of looks says black."""
    faint: str
    """For text of second rank, and frames."""
    tint: str
    """The opacity of fillings, as two hexadecimal digits: text stays legible on every colour."""

    def colour(self, colour: str) -> str:
        """A colour of the table of looks on this paper."""
        return self.ink if colour == BLACK else self.faint if colour == GREY else colour


LIGHT = Theme("light", "#FFFFFF", BLACK, GREY, "38")
DARK = Theme("dark", "#16181D", "#E8E8E8", "#A0A0A0", "50")


class Look(NamedTuple):
    """A shape and styles of Graphviz, the colour of the line, of which the filling is a tint, and a letter for where
    there are neither shapes nor colours."""

    shape: str
    colour: str
    letter: str
    style: str = "filled"


class Line(NamedTuple):
    """A style and an arrow head of Graphviz, and a colour."""

    style: str
    head: str
    colour: str


class Frame(NamedTuple):
    """A style of Graphviz, a colour, and a sign before the title."""

    style: str
    colour: str
    sign: str = ""


class Sign(NamedTuple):
    """A sign, the same where there is only ASCII, a colour, and what it means."""

    sign: str
    ascii: str
    colour: str
    meaning: str


LOOKS: dict[Kind, Look] = {
    "arithmetic": Look("ellipse", SKY, "A"),
    "comparison": Look("hexagon", BLUE, "?"),
    "logic": Look("octagon", BLUE, "&"),
    "literal": Look("note", YELLOW, "L"),
    "merge": Look("invtrapezium", GREEN, "M"),
    "switch": Look("trapezium", ORANGE, "S"),
    "call": Look("invhouse", PURPLE, "C"),
    "return": Look("house", PURPLE, "R"),
    "enter": Look("invhouse", VERMILLION, "E"),
    "exit": Look("house", VERMILLION, "X"),
    "next_iteration": Look("parallelogram", VERMILLION, "N"),
    "reenter": Look("invhouse", VERMILLION, "e", "filled,dashed"),
    "back": Look("parallelogram", VERMILLION, "b", "filled,dashed"),
    "pullback": Look("house", PURPLE, "p", "filled,dashed"),
    "cells": Look("cylinder", GREEN, "I"),
    "effect": Look("cds", ORANGE, "!"),
    "random": Look("box3d", SKY, "%"),
    "breakpoint": Look("doubleoctagon", VERMILLION, "B"),
    "argument": Look("box", BLACK, ">", "rounded"),
    "result": Look("box", BLACK, "<", "rounded,bold"),
    "folded": Look("folder", GREY, "+"),
    "folded_loop": Look("folder", VERMILLION, "@", "filled,dashed"),
    "activation": Look("box", PURPLE, "F", "filled,rounded"),
    "iteration": Look("box", VERMILLION, "W", "filled,rounded,dashed"),
    "unknown": Look("box", BLACK, "u", "dashed"),
}
"""The look of each kind of box. A house that points down sends tokens into another activation, one that points up
sends them back out; what is dashed does so with adjoints. A merge is narrow below, where it has one output, and a
switch above, where it has one value.
What is stored is a drum, an effect points out of the program, chance is a die, and a breakpoint a stop sign."""

LINES: dict[Link, Line] = {
    "data": Line("solid", "normal", BLACK),
    "predicate": Line("solid", "odot", BLUE),
    "trigger": Line("dotted", "vee", BLACK),
    "order": Line("dashed", "vee", ORANGE),
    "call": Line("dashed", "normal", PURPLE),
    "back": Line("bold", "normal", VERMILLION),
    "before": Line("bold", "vee", VERMILLION),
    "control": Line("dashed", "odot", BLUE),
    "cell": Line("dashed", "dot", GREEN),
    "below": Line("solid", "none", GREY),
}
"""The look of each kind of arrow."""

FRAMES: dict[Enclosure, Frame] = {
    "function": Frame("solid", GREY),
    "loop": Frame("bold,rounded", VERMILLION, "\u21bb "),
    "part": Frame("dashed,rounded", VERMILLION),
    "cond": Frame("solid", ORANGE),
    "branch": Frame("dashed", ORANGE),
    "pullback": Frame("dashed,rounded", PURPLE, "\u2202 "),
}
"""The look of each kind of cluster."""

SIGNS: dict[Mark, Sign] = {
    "flight": Sign("\u25cf", "*", ORANGE, "in flight"),
    "waits": Sign("\u25cb", "o", SKY, "waits for partners"),
    "parked": Sign("\u25a1", "p", GREEN, "parked at an empty cell"),
    "held": Sign("\u2016", "h", VERMILLION, "held by a bound"),
    "fired": Sign("\u25b6", ">", YELLOW, "has just fired"),
    "ready": Sign("\u25b7", "r", YELLOW, "can fire next"),
    "trap": Sign("\u2717", "x", VERMILLION, "trapped"),
    "open": Sign("\u2026", "~", ORANGE, "is open"),
    "came": Sign("\u2713", "=", GREEN, "has come"),
    "more": Sign("+", "+", GREY, "more"),
}
"""The look of each kind of badge."""

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"), "comparison"),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor", "logical_not", "where"), "logic"),
    **dict.fromkeys(("identity", "stop_gradient"), "literal"),
    "merge": "merge",
    "switch": "switch",
    "call": "call",
    "return": "return",
    "enter": "enter",
    "exit": "exit",
    "next_iteration": "next_iteration",
    "reenter": "reenter",
    "back": "back",
    "pullback": "pullback",
    **dict.fromkeys(("cells", "put", "store", "get", "collect", "cell_zeros"), "cells"),
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
