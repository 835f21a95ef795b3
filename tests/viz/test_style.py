"""The table of styles is complete, has one palette, and does not rely on colour alone."""

from __future__ import annotations

from itertools import chain
from typing import get_args

from tagloom.core.ops.effects import EFFECT_OPS
from tagloom.core.ops.op import OPS
from tagloom.core.ops.routing import ROUTING_OPS
from tagloom.viz.style import BADGE_LOOKS, BOX_LOOKS, CLUSTER_LOOKS, DARK, GREY, LIGHT, LINE_LOOKS, PALETTE, kind_of
from tagloom.viz.view import BadgeMark, BoxKind, ClusterKind, LinkKind


def test_every_op_has_a_style() -> None:
    """Every op of the registry, and every routing op, has a kind; the routing op's is its own."""
    assert all(kind_of(op) in BOX_LOOKS and kind_of(op) != "unknown" for op in (*OPS, *EFFECT_OPS))
    assert [kind_of(op) for op in ROUTING_OPS] == list(ROUTING_OPS)
    assert set(BOX_LOOKS) == set(get_args(BoxKind))
    assert set(LINE_LOOKS) == set(get_args(LinkKind))
    assert set(CLUSTER_LOOKS) == set(get_args(ClusterKind))
    assert set(BADGE_LOOKS) == set(get_args(BadgeMark))


def test_comparisons_are_the_ops_that_make_bools_of_numbers() -> None:
    """The kinds agree with the families of the registry."""
    compared = [op for op in OPS if kind_of(op) == "comparison"]
    assert compared == ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"]
    assert all(kind_of(op) == "logic" for op in OPS if op.startswith("logical_"))


def test_effect_ops_have_kinds_of_their_own() -> None:
    """Ops on cells, on the world, and random draws have kinds that no purely computing op has."""
    kinds = {op: kind_of(op) for op in EFFECT_OPS}
    assert not set(kinds.values()) & {kind_of(op) for op in (*OPS, *ROUTING_OPS)}
    assert {op for op, kind in kinds.items() if kind == "effect"} == {
        op for op, row in EFFECT_OPS.items() if row.resource
    }
    assert {op for op, kind in kinds.items() if kind == "random"} == {op for op, row in EFFECT_OPS.items() if row.draw}
    assert [op for op, kind in kinds.items() if kind == "cells"] == [
        "cells",
        "put",
        "store",
        "get",
        "cell_zeros",
        "collect",
    ]


def test_colours_are_of_the_palette() -> None:
    """All colours are Okabe and Ito's, or a grey; black and grey depend on the paper."""
    rows = chain(BOX_LOOKS.values(), LINE_LOOKS.values(), CLUSTER_LOOKS.values(), BADGE_LOOKS.values())
    used = {row.colour for row in rows}
    assert used <= {*PALETTE, GREY}
    assert {LIGHT.resolve_colour(colour) for colour in used} == used
    assert {DARK.resolve_colour(colour) for colour in used} == used - {PALETTE[0], GREY} | {DARK.foreground, DARK.muted}


def test_kinds_differ_without_colours() -> None:
    """Without colours, kinds differ in shape or style, except for those whose nodes have the op in words."""
    in_words = {"call", "return", "enter", "exit"}
    silent = [(look.shape, look.style) for kind, look in BOX_LOOKS.items() if kind not in in_words]
    assert len(set(silent)) == len(silent)
    assert not set(silent) & {(BOX_LOOKS[kind].shape, BOX_LOOKS[kind].style) for kind in in_words}  # type: ignore[index]
    lines = [(line.style, line.head) for line in LINE_LOOKS.values()]
    assert len(set(lines)) == len(lines)
    for letters in ([look.letter for look in BOX_LOOKS.values()], [sign.ascii for sign in BADGE_LOOKS.values()]):
        assert len(set(letters)) == len(letters) and all(len(each) == 1 and each.isascii() for each in letters)
    frames = [
        (frame.style, frame.glyph) for kind, frame in CLUSTER_LOOKS.items() if kind in ("function", "loop", "part")
    ]
    assert len(set(frames)) == len(frames)
    assert len({sign.glyph for sign in BADGE_LOOKS.values()}) == len(BADGE_LOOKS)
