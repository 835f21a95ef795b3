"""Boxes as a terminal shows them, one line each, and rows of boxes that share a line.

Characters at both ends of a box replace its shape, so that kinds of boxes differ in more than colour: a merge is narrow
below, `\\merge n/`, a switch above, `/switch n T F\\`. A highlighted box begins with a block character. An arrow from
a labelled output leaves below the label.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple
from unicodedata import category, east_asian_width

from ..style import BOX_LOOKS, LINE_LOOKS
from ..view import Box, BoxKind, Cluster, View, ViewArrow

JOINT_WIDTH = 3
"""The columns of the arrow between two boxes of a row."""

BOX_DELIMITERS: dict[BoxKind, tuple[str, str]] = {
    "arithmetic": ("(", ")"),
    "comparison": ("{", "}"),
    "logic": ("{", "}"),
    "literal": ("[", "]"),
    "merge": ("\\", "/"),
    "switch": ("/", "\\"),
    "call": ("[", ">"),
    "return": ("<", "]"),
    "enter": ("[", ">"),
    "exit": ("<", "]"),
    "next_iteration": ("/", "/"),
    "reenter": ("[", ">"),
    "back": ("\\", "\\"),
    "pullback": ("<", "]"),
    "cells": ("((", "))"),
    "breakpoint": ("[[", "]]"),
}
"""The first and last characters of boxes, in ASCII; boxes of other kinds begin with a bracket and their letter."""


_LIST_OF_NAMES = re.compile("(?P<shown>.+), \u2026 (?P<rest>[0-9,]+) more")
_MIN_NAME_LENGTH = 4
"""The least characters to which the first name of a list is cut; below, the list is cut as other texts are."""
_OPERAND_NAME = re.compile(r"\w+(?![\w(])")
"""A word in a formula that is not the name of a function."""


class BoxStyle(NamedTuple):
    """How boxes are written."""

    uses_letters: bool = False
    """Whether a letter replaces words such as merge."""
    max_length: int = 24
    """The most characters of a name; longer ones are cut."""
    max_joined: int = 0
    """The most boxes in a row; in a row each box is the only input of the next and has no other consumer."""
    has_names: bool = False
    """Whether the formula of a box follows its name, if the formula of another box has the name."""


class BoxText(NamedTuple):
    """The text of a box, and its columns from which arrows leave."""

    box: str
    text: str
    outlets: dict[str, range]
    """The columns at which arrows leave, by output label; "" is for arrows without a label."""


class BoxRow(NamedTuple):
    """Boxes that share a line; `joints` are the numbers of the arrows that join each box to the next."""

    boxes: tuple[BoxText, ...]
    joints: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The name of the first box."""
        return self.boxes[0].box

    @property
    def width(self) -> int:
        """The width in columns."""
        return sum(len(item.text) for item in self.boxes) + JOINT_WIDTH * len(self.joints)

    def box_starts(self) -> Iterator[tuple[BoxText, int]]:
        """The boxes, and the column at which each begins."""
        column = 0
        for item in self.boxes:
            yield item, column
            column += len(item.text) + JOINT_WIDTH


def to_single_width(text: str) -> str:
    r"""Text in which every character takes one cell; others become question marks.

    >>> to_single_width("a\nb"), to_single_width("\N{CJK UNIFIED IDEOGRAPH-4E2D}")
    ('a?b', '?')
    """
    return "".join(
        letter if letter.isprintable() and east_asian_width(letter) not in "WF" and category(letter)[0] != "M" else "?"
        for letter in text
    )


def abbreviate(text: str, longest: int) -> str:
    """Text shortened to at most `longest` characters; a list of names keeps the number of those that it does not show.

    >>> abbreviate("less_equal_1", 8), abbreviate("n - 1", 8)
    ('less_eq~', 'n - 1')
    >>> abbreviate("steps, w, b, \u2026 7 more", 18), abbreviate("trees_left, \u2026 12 more", 18)
    ('steps, w, b +7', 'trees_left +12')
    """
    if len(text) <= longest:
        return text
    names = _LIST_OF_NAMES.fullmatch(text)
    if names is not None:
        shown_names, rest = names["shown"].split(", "), int(names["rest"].replace(",", ""))
        for dropped in range(len(shown_names)):
            first, last = ", ".join(shown_names[: len(shown_names) - dropped]), f" +{rest + dropped}"
            if len(first) + len(last) <= longest:
                return first + last
        if len(last) + _MIN_NAME_LENGTH <= longest:
            return abbreviate(first, longest - len(last)) + last
    return f"{text[: max(longest - 1, 1)]}~"


def build_box_rows(view: View, style: BoxStyle, extra_ports: Counter[str]) -> list[BoxRow]:
    """The boxes of a view as rows, in the view's order; `extra_ports` counts the ports that boxes need beyond one for
    each arrow."""
    rows = [[name] for name in view.boxes]
    joints: dict[str, list[int]] = {name: [] for name in view.boxes}
    if style.max_joined:
        rows, joints = join_boxes(view, style.max_joined)
    ports, labels = count_ports(view), box_labels(view, style)
    items = {
        name: box_text(box, view, labels[name], ports[name] + extra_ports[name]) for name, box in view.boxes.items()
    }
    return [BoxRow(tuple(items[name] for name in row), tuple(joints[row[0]])) for row in rows]


def count_ports(view: View) -> Counter[str]:
    """For each box, the number of arrows above or below it, whichever is larger."""
    above, below = Counter[str](), Counter[str]()
    for tail, _, _, up in {
        (arrow.tail, arrow.label, LINE_LOOKS[arrow.link].style, arrow.is_reversed) for arrow in view.arrows
    }:
        (above if up else below)[tail] += 1
    for arrow in view.arrows:
        if arrow.is_reversed or arrow.is_unconstrained:
            below[arrow.head] += 1
        if arrow.is_unconstrained:
            above[arrow.tail] += 1
        if not arrow.is_reversed:
            above[arrow.head] += 1
    return above | below


def box_labels(view: View, style: BoxStyle) -> dict[str, str]:
    """The texts of the boxes without delimiters, by the names of the boxes."""
    names = named_operands(view) if style.has_names else {}
    return {
        name: f"{names[name]} = {box_label(box, style)}" if name in names else box_label(box, style)
        for name, box in view.boxes.items()
    }


def named_operands(view: View) -> dict[str, str]:
    """The names that boxes have in the formulas of other boxes, unless their own text is the name, by box."""
    formulas = [box for box in view.boxes.values() if box.subtitle.isidentifier() and box.subtitle != box.kind]
    names = {box.name: box.subtitle for box in formulas if box.subtitle != box.title}
    used = {word for box in formulas for word in _OPERAND_NAME.findall(box.title)}
    return {box: name for box, name in names.items() if name in used}


def box_text(box: Box, view: View, label: str, ports: int) -> BoxText:
    """The text of a box in its delimiters, with its inlets and outlets."""
    before, after = BOX_DELIMITERS.get(box.kind, (f"[{BOX_LOOKS[box.kind].letter} ", "]"))
    text = f"{before}{label}"
    leaving = {(arrow.label, LINE_LOOKS[arrow.link].style) for arrow in view.arrows if arrow.tail == box.name}
    labels = sorted({label for label, _ in leaving if label}, key=lambda label: (label != "T", label))
    columns = [
        to_single_width(label).ljust(2 * sum(leaving_label == label for leaving_label, _ in leaving) - 1)
        for label in labels
    ]
    length = sum(len(label) + 1 for label in columns)
    text = text.ljust(max(ports + 1, 2 * ports + 1 - length - len(after)))
    outlets = {"": range(len(before), max(len(text), len(before) + 1))}
    for label, words in zip(labels, columns, strict=True):
        outlets[label] = range(len(text) + 1, len(text) + 1 + len(words))
        text += f" {words}"
    if set(labels) == {label for label, _ in leaving}:
        outlets[""] = range(len(before), len(text))
    return BoxText(box.name, f"{text}{after}", outlets)


def box_label(box: Box, style: BoxStyle) -> str:
    """The title of a box, abbreviated as the style says."""
    first = to_single_width(box.title)
    if not style.uses_letters:
        word = f"{box.kind} " if box.subtitle == box.kind and box.kind in ("merge", "switch") else ""
        return f"{word}{abbreviate(first, style.max_length)}" or " "
    word = box.kind.removesuffix("_iteration")
    letter = (
        f"{BOX_LOOKS[box.kind].letter} "
        if (box.subtitle == box.kind or first.startswith(word)) and box.kind != "result"
        else ""
    )
    return f"{letter}{abbreviate(first.removeprefix(f'{word} '), style.max_length)}" or " "


def join_boxes(view: View, most: int) -> tuple[list[list[str]], dict[str, list[int]]]:
    """Join boxes into rows: an arrow joins two boxes if it is the only one out of the first and the only one into
    the second."""
    leaving, reaching, home = Counter[str](), Counter[str](), _cluster_by_box(view)
    for arrow in view.arrows:
        if not (arrow.is_reversed or arrow.is_unconstrained):
            leaving[arrow.tail] += 1
            reaching[arrow.head] += 1
    row_of = {name: [name] for name in view.boxes}
    joints: dict[str, list[int]] = {name: [] for name in view.boxes}
    for number, arrow in enumerate(view.arrows):
        if not can_join(arrow, home) or leaving[arrow.tail] > 1 or reaching[arrow.head] > 1:
            continue
        left, right = row_of[arrow.tail], row_of[arrow.head]
        if left is right or left[-1] != arrow.tail or right[0] != arrow.head or len(left) + len(right) > most:
            continue
        joints[left[0]] += [number, *joints.pop(right[0])]
        left += right
        row_of.update(dict.fromkeys(right, left))
    return list({row[0]: row for row in row_of.values()}.values()), joints


def can_join(arrow: ViewArrow, home: dict[str, Cluster]) -> bool:
    """Whether an arrow can join its boxes in a row: it has no label, goes forwards, and stays inside one cluster."""
    plain = not (arrow.is_reversed or arrow.is_unconstrained or arrow.label or arrow.head_cluster)
    return plain and arrow.tail in home and arrow.head in home and home[arrow.tail] is home[arrow.head]


def _cluster_by_box(view: View) -> dict[str, Cluster]:
    return {name: cluster for cluster in view.root.walk() for name in cluster.boxes}


def without_outer_frame(view: View) -> View:
    """The view without the frame around it, if all clusters are inside one function."""
    inner = view.root.clusters
    if len(inner) != 1 or inner[0].kind != "function":
        return view
    (only,) = inner
    outside = Cluster(view.root.name, "function", only.title)
    outside.boxes = {**view.root.boxes, **only.boxes}
    outside.same_rank = [*view.root.same_rank]
    outside.clusters = only.clusters
    return View(view.name, view.caption, outside, view.arrows, view.rank_constraints)
