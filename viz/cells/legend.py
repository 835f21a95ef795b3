"""What the signs of a drawing in cells mean: those that it has."""

from __future__ import annotations

from collections.abc import Iterable

from ..style import LINES, LOOKS, SIGNS
from ..view import Kind, Link, View
from .box_rows import ENDS, Writing
from .grid import LEFT, RIGHT, Cell, spelled
from .strokes import HEADS, STROKES

MEANINGS: dict[Link, str] = {
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
"""What arrows mean."""

_SHORTENED: tuple[Kind, ...] = (
    "merge", "switch", "call", "return", "enter", "exit", "next_iteration", "reenter", "back", "pullback",
)  # fmt: skip
"""Kinds of boxes that say what they are in words, if there is room."""

_OBVIOUS: tuple[Kind, ...] = ("argument", "result")
"""Kinds of boxes whose letters are signs that need no words."""


def legend(view: View, writing: Writing, width: int) -> tuple[tuple[Cell, ...], ...]:
    """Rows of cells, no wider than `width` if that can be, that say what arrows, letters and badges mean."""
    said = [*_of_arrows(view), *_of_badges(view), *_of_letters(view, writing)]
    rows: list[list[Cell]] = []
    for words in said:
        if rows and len(rows[-1]) + len(words) + 3 <= width:
            rows[-1] += [Cell()] * 3 + words
        else:
            rows.append(list(words))
    return tuple(map(tuple, rows))


def _of_arrows(view: View) -> Iterable[list[Cell]]:
    links = {arrow.link for arrow in view.arrows}
    for link, meaning in MEANINGS.items():
        if link in links:
            look = LINES[link]
            line, head = STROKES[look.style], HEADS[look.head][2]
            cell = Cell(colour=look.colour)
            signs = [(line.sign(LEFT | RIGHT), line.along)] * 2 + ([(head[0], head[1])] if head else [])
            yield [cell._replace(sign=sign, ascii=plain) for sign, plain in signs] + spelled(f" {meaning}", Cell())


def _of_badges(view: View) -> Iterable[list[Cell]]:
    for mark in view.marks:
        sign = SIGNS[mark]
        if mark != "more":
            first = Cell(sign.sign, sign.ascii, sign.colour, True)
            yield [first, *spelled(f" {sign.meaning}", Cell())]


def _of_letters(view: View, writing: Writing) -> Iterable[list[Cell]]:
    """Letters that take the place of words, and those of boxes whose ends are those of others."""
    kinds = {box.kind for box in view.boxes.values()}
    for kind, look in LOOKS.items():
        if kind in kinds and _has_letter(kind, writing):
            letter = spelled(look.letter, Cell(colour=look.colour, strong=True))
            yield letter + spelled(f" {kind.replace('_', ' ')}", Cell())


def _has_letter(kind: Kind, writing: Writing) -> bool:
    return kind in _SHORTENED if kind in ENDS and writing.letters else kind not in (*ENDS, *_OBVIOUS)
