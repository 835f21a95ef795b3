"""The legend of a drawing in cells: the meaning of the signs in it."""

from __future__ import annotations

from collections.abc import Iterable

from ..style import BADGE_LOOKS, BOX_LOOKS, LINE_LOOKS
from ..view import BoxKind, LinkKind, View
from .box_rows import BOX_DELIMITERS, BoxStyle
from .grid import LEFT, RIGHT, GridCell, text_cells
from .strokes import HEADS, STROKES

LINK_MEANINGS: dict[LinkKind, str] = {
    "data": "data",
    "predicate": "predicate",
    "trigger": "trigger",
    "order": "order of effects",
    "call": "call, return",
    "back": "next iteration",
    "before": "iteration before",
    "control": "decides",
    "cell": "through a cell",
    "below": "is below",
}
"""The meaning of each kind of arrow."""

_LETTER_KINDS: tuple[BoxKind, ...] = (
    "merge", "switch", "call", "return", "enter", "exit", "next_iteration", "reenter", "back", "pullback",
)  # fmt: skip
"""Kinds of boxes that are named in words, if there is room."""

_SELF_EVIDENT_KINDS: tuple[BoxKind, ...] = ("argument", "result")
"""Kinds of boxes whose letters are signs that need no words."""


def build_legend(view: View, writing: BoxStyle, width: int) -> tuple[tuple[GridCell, ...], ...]:
    """Rows of cells, if possible no wider than `width`, that explain arrows, letters and badges."""
    said = [*_arrow_entries(view), *_badge_entries(view), *_letter_entries(view, writing)]
    rows: list[list[GridCell]] = []
    for words in said:
        if rows and len(rows[-1]) + len(words) + 3 <= width:
            rows[-1] += [GridCell()] * 3 + words
        else:
            rows.append(list(words))
    return tuple(map(tuple, rows))


def _arrow_entries(view: View) -> Iterable[list[GridCell]]:
    links = {arrow.link for arrow in view.arrows}
    for link, meaning in LINK_MEANINGS.items():
        if link in links:
            look = LINE_LOOKS[link]
            line, head = STROKES[look.style], HEADS[look.head][2]
            cell = GridCell(colour=look.colour)
            signs = [(line.glyph(LEFT | RIGHT), line.horizontal)] * 2 + ([(head[0], head[1])] if head else [])
            yield [cell._replace(glyph=sign, ascii=plain) for sign, plain in signs] + text_cells(
                f" {meaning}", GridCell()
            )


def _badge_entries(view: View) -> Iterable[list[GridCell]]:
    for mark in view.marks:
        sign = BADGE_LOOKS[mark]
        if mark != "more":
            first = GridCell(sign.glyph, sign.ascii, sign.colour, True)
            yield [first, *text_cells(f" {sign.meaning}", GridCell())]


def _letter_entries(view: View, writing: BoxStyle) -> Iterable[list[GridCell]]:
    """Entries for letters that replace words, and for those of boxes that share their end characters with others."""
    kinds = {box.kind for box in view.boxes.values()}
    for kind, look in BOX_LOOKS.items():
        if kind in kinds and _has_letter(kind, writing):
            letter = text_cells(look.letter, GridCell(colour=look.colour, bold=True))
            yield letter + text_cells(f" {kind.replace('_', ' ')}", GridCell())


def _has_letter(kind: BoxKind, writing: BoxStyle) -> bool:
    return (
        kind in _LETTER_KINDS
        if kind in BOX_DELIMITERS and writing.uses_letters
        else kind not in (*BOX_DELIMITERS, *_SELF_EVIDENT_KINDS)
    )
