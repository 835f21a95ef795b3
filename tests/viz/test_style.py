"""The table of looks: complete, in one palette, and not by colour alone."""

from __future__ import annotations

from itertools import chain
from typing import get_args

from tagloom.core.ops.effect_op import ACTS
from tagloom.core.ops.op import OPS
from tagloom.core.ops.routing import CONTROL
from tagloom.viz.style import DARK, FRAMES, GREY, LIGHT, LINES, LOOKS, PALETTE, SIGNS, kind_of
from tagloom.viz.view import Enclosure, Kind, Link, Mark


def test_every_op_has_a_look() -> None:
    """Every op of the registry, and every routing op, is of a kind; a routing op is a kind of its own."""
    assert all(kind_of(op) in LOOKS and kind_of(op) != "unknown" for op in (*OPS, *ACTS))
    assert [kind_of(op) for op in CONTROL] == list(CONTROL)
    assert set(LOOKS) == set(get_args(Kind))
    assert set(LINES) == set(get_args(Link))
    assert set(FRAMES) == set(get_args(Enclosure))
    assert set(SIGNS) == set(get_args(Mark))


def test_comparisons_are_the_ops_that_make_bools_of_numbers() -> None:
    """The kinds say what the families of the registry say."""
    compared = [op for op in OPS if kind_of(op) == "comparison"]
    assert compared == ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"]
    assert all(kind_of(op) == "logic" for op in OPS if op.startswith("logical_"))


def test_acts_are_told_from_what_computes() -> None:
    """What acts on cells, on the world, or at random is of a kind that no op has which only computes."""
    kinds = {op: kind_of(op) for op in ACTS}
    assert not set(kinds.values()) & {kind_of(op) for op in (*OPS, *CONTROL)}
    assert {op for op, kind in kinds.items() if kind == "effect"} == {op for op, row in ACTS.items() if row.resource}
    assert {op for op, kind in kinds.items() if kind == "random"} == {op for op, row in ACTS.items() if row.draw}
    assert [op for op, kind in kinds.items() if kind == "cells"] == [
        "cells",
        "put",
        "store",
        "get",
        "cell_zeros",
        "collect",
    ]


def test_colours_are_of_the_palette() -> None:
    """Okabe and Ito's colours and a grey, and no others; black and grey are what the paper makes of them."""
    rows = chain(LOOKS.values(), LINES.values(), FRAMES.values(), SIGNS.values())
    used = {row.colour for row in rows}
    assert used <= {*PALETTE, GREY}
    assert {LIGHT.colour(colour) for colour in used} == used
    assert {DARK.colour(colour) for colour in used} == used - {PALETTE[0], GREY} | {DARK.ink, DARK.faint}


def test_nothing_is_told_by_colour_alone() -> None:
    """Without colours, kinds differ in shape or style, but for those whose nodes say their op in words."""
    in_words = {"call", "return", "enter", "exit"}
    silent = [(look.shape, look.style) for kind, look in LOOKS.items() if kind not in in_words]
    assert len(set(silent)) == len(silent)
    assert not set(silent) & {(LOOKS[kind].shape, LOOKS[kind].style) for kind in in_words}  # type: ignore[index]
    lines = [(line.style, line.head) for line in LINES.values()]
    assert len(set(lines)) == len(lines)
    for letters in ([look.letter for look in LOOKS.values()], [sign.ascii for sign in SIGNS.values()]):
        assert len(set(letters)) == len(letters) and all(len(each) == 1 and each.isascii() for each in letters)
    frames = [(frame.style, frame.sign) for kind, frame in FRAMES.items() if kind in ("function", "loop", "part")]
    assert len(set(frames)) == len(frames)
    assert len({sign.sign for sign in SIGNS.values()}) == len(SIGNS)
