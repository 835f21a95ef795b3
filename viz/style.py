"""The table of looks: one row for each kind of box, arrow, cluster and badge.

Colours are those of Okabe and Ito (https://jfly.uni-koeln.de/color/), which people with any colour vision can
distinguish. Colour is never the only sign: kinds of boxes differ in shape or name their op, and differ in a letter
where there are no shapes; kinds of arrows differ in line or head; each badge has its own sign.
"""

from __future__ import annotations

from typing import NamedTuple

from ..core.ops.effects import EFFECT_OPS
from ..core.ops.op import OPS
from .view import BadgeMark, BoxKind, ClusterKind, LinkKind

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

ACTIVATION_COLOURS = (SKY, ORANGE, GREEN, PURPLE, YELLOW, VERMILLION)
"""The colours of activations, by turns. Each activation has a number, too."""

GREY = "#666666"
"""The colour of secondary text."""


def fade(colour: str) -> str:
    """A colour halfway to grey.

    >>> fade("#56B4E9")
    '#6B9AB4'
    """
    channels = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{(channel + 0x80) // 2:02X}" for channel in channels)


FADED_ACTIVATION_COLOURS = tuple(map(fade, ACTIVATION_COLOURS))
"""The same for activations other than the current one."""

FONT = "Helvetica,Arial,sans-serif"
"""A font name that every system maps to an installed font."""

FONT_SIZE, SMALL_FONT_SIZE = 12, 10
"""Font sizes in points: of the first line of a node, and of its second line and edge labels."""


class Theme(NamedTuple):
    """The colours that depend on the background."""

    name: str
    background: str
    foreground: str
    """The colour of text, and of everything that is black in the table of looks."""
    muted: str
    """The colour of secondary text and frames."""
    fill_opacity: str
    """The opacity of fillings as two hexadecimal digits; text stays legible on every colour."""

    def resolve_colour(self, colour: str) -> str:
        """A colour of the table of looks in this theme."""
        return self.foreground if colour == BLACK else self.muted if colour == GREY else colour


LIGHT = Theme("light", "#FFFFFF", BLACK, GREY, "38")
DARK = Theme("dark", "#16181D", "#E8E8E8", "#A0A0A0", "50")


class BoxLook(NamedTuple):
    """A Graphviz shape and styles, the line's colour (the filling is a tint of it), and a letter for output without
    shapes and colours."""

    shape: str
    colour: str
    letter: str
    style: str = "filled"


class LineLook(NamedTuple):
    """A Graphviz line style and arrow head, and a colour."""

    style: str
    head: str
    colour: str


class ClusterLook(NamedTuple):
    """A Graphviz style, a colour, and a sign before the title."""

    style: str
    colour: str
    glyph: str = ""


class BadgeLook(NamedTuple):
    """A sign, its ASCII replacement, a colour, and the meaning."""

    glyph: str
    ascii: str
    colour: str
    meaning: str


BOX_LOOKS: dict[BoxKind, BoxLook] = {
    "arithmetic": BoxLook("ellipse", SKY, "A"),
    "comparison": BoxLook("hexagon", BLUE, "?"),
    "logic": BoxLook("octagon", BLUE, "&"),
    "literal": BoxLook("note", YELLOW, "L"),
    "merge": BoxLook("invtrapezium", GREEN, "M"),
    "switch": BoxLook("trapezium", ORANGE, "S"),
    "call": BoxLook("invhouse", PURPLE, "C"),
    "return": BoxLook("house", PURPLE, "R"),
    "enter": BoxLook("invhouse", VERMILLION, "E"),
    "exit": BoxLook("house", VERMILLION, "X"),
    "next_iteration": BoxLook("parallelogram", VERMILLION, "N"),
    "reenter": BoxLook("invhouse", VERMILLION, "e", "filled,dashed"),
    "back": BoxLook("parallelogram", VERMILLION, "b", "filled,dashed"),
    "pullback": BoxLook("house", PURPLE, "p", "filled,dashed"),
    "cells": BoxLook("cylinder", GREEN, "I"),
    "effect": BoxLook("cds", ORANGE, "!"),
    "random": BoxLook("box3d", SKY, "%"),
    "breakpoint": BoxLook("doubleoctagon", VERMILLION, "B"),
    "argument": BoxLook("box", BLACK, ">", "rounded"),
    "result": BoxLook("box", BLACK, "<", "rounded,bold"),
    "invariants": BoxLook("tab", VERMILLION, "="),
    "folded": BoxLook("folder", GREY, "+"),
    "folded_loop": BoxLook("folder", VERMILLION, "@", "filled,dashed"),
    "activation": BoxLook("box", PURPLE, "F", "filled,rounded"),
    "iteration": BoxLook("box", VERMILLION, "W", "filled,rounded,dashed"),
    "unknown": BoxLook("box", BLACK, "u", "dashed"),
}
"""The look of each kind of box. A house pointing down sends tokens into another activation, a house pointing up
sends them back out; dashed ones do so with adjoints. A merge is narrow below, where it has one output, and a switch
above, where it has one value. Storage is a drum, an effect points out of the program, a random op is a die, and a
breakpoint is a stop sign."""

SHAPE_FACTORS = {
    "ellipse": 1.42, "octagon": 1.53, "hexagon": 1.64, "doubleoctagon": 1.65, "house": 1.76, "invhouse": 1.76,
    "trapezium": 2.02, "invtrapezium": 2.02, "parallelogram": 2.1,
}  # fmt: skip
"""How many times wider and higher than its text Graphviz draws a shape; 1 for others."""

LINE_LOOKS: dict[LinkKind, LineLook] = {
    "data": LineLook("solid", "normal", BLACK),
    "predicate": LineLook("solid", "odot", BLUE),
    "trigger": LineLook("dotted", "vee", BLACK),
    "order": LineLook("dashed", "vee", ORANGE),
    "call": LineLook("dashed", "normal", PURPLE),
    "back": LineLook("bold", "normal", VERMILLION),
    "before": LineLook("bold", "vee", VERMILLION),
    "control": LineLook("dashed", "odot", BLUE),
    "cell": LineLook("dashed", "dot", GREEN),
    "below": LineLook("solid", "none", GREY),
}
"""The look of each kind of arrow."""

CLUSTER_LOOKS: dict[ClusterKind, ClusterLook] = {
    "function": ClusterLook("solid", GREY),
    "loop": ClusterLook("bold,rounded", VERMILLION, "\u21bb "),
    "part": ClusterLook("dashed,rounded", VERMILLION),
    "cond": ClusterLook("solid", ORANGE),
    "branch": ClusterLook("dashed", ORANGE),
    "pullback": ClusterLook("dashed,rounded", PURPLE, "\u2202 "),
    "scope": ClusterLook("dotted,rounded", SKY),
}
"""The look of each kind of cluster."""

BADGE_LOOKS: dict[BadgeMark, BadgeLook] = {
    "flight": BadgeLook("\u25cf", "*", ORANGE, "in flight"),
    "waiting": BadgeLook("\u25cb", "o", SKY, "waits for partners"),
    "dead": BadgeLook("\u2020", "d", PURPLE, "is dead"),
    "deferred": BadgeLook("\u25a1", "e", GREEN, "deferred at an empty cell"),
    "throttled": BadgeLook("\u2016", "t", VERMILLION, "throttled by a bound"),
    "fired": BadgeLook("\u25b6", ">", YELLOW, "has just fired"),
    "ready": BadgeLook("\u25b7", "r", YELLOW, "can fire next"),
    "trap": BadgeLook("\u2717", "x", VERMILLION, "trapped"),
    "open": BadgeLook("\u2026", "~", ORANGE, "is open"),
    "arrived": BadgeLook("\u2713", "=", GREEN, "has arrived"),
    "more": BadgeLook("+", "+", GREY, "more"),
}
"""The look of each kind of badge."""

_OP_KINDS: dict[str, BoxKind] = {
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"), "comparison"),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor", "logical_not", "where"), "logic"),
    **dict.fromkeys(("identity", "stop_gradient"), "literal"),
    **dict.fromkeys(("merge", "live_merge"), "merge"),
    **dict.fromkeys(("switch", "dead_switch"), "switch"),
    **dict.fromkeys(("after", "any_live", "trigger"), "logic"),
    "call": "call",
    "return": "return",
    "enter": "enter",
    "exit": "exit",
    "next_iteration": "next_iteration",
    "reenter": "reenter",
    "back": "back",
    "pullback": "pullback",
    **dict.fromkeys(("cells", "put", "store", "get", "collect", "cell_zeros"), "cells"),
    **dict.fromkeys((row.name for row in EFFECT_OPS.values() if row.resource), "effect"),
    **dict.fromkeys((row.name for row in EFFECT_OPS.values() if row.draw), "random"),
    "breakpoint": "breakpoint",
}


def kind_of(op: str) -> BoxKind:
    """The kind of box for an op: arithmetic for a pure op that is not listed, unknown for a name that is not an op.

    >>> kind_of("less_equal"), kind_of("sqrt"), kind_of("frobnicate")
    ('comparison', 'arithmetic', 'unknown')
    """
    return _OP_KINDS.get(op, "arithmetic" if op in OPS else "unknown")
