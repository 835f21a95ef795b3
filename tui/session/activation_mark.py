"""The mark of an activation: a number and a colour, by which all panes distinguish tokens of different activations.

Activations are numbered in the order in which they open, from the first known event on: `main` is #1. So the number of
an activation is the same at every position of a run, and in its forks; neighbours have different colours. The colour of
the current activation is bright, the colours of others are faded.
"""

from __future__ import annotations

from typing import NamedTuple

from ...core.tag import Tag
from ...viz.style import ACTIVATION_COLOURS, FADED_ACTIVATION_COLOURS
from .session import Session


class ActivationMark(NamedTuple):
    """The number of an activation, its colour, and whether it is the current one."""

    number: int
    colour: str
    is_current: bool

    @property
    def text(self) -> str:
        """`#3`; empty if the activation has not opened."""
        return f"#{self.number}" if self.number else ""


def mark_activation(session: Session, tag: Tag) -> ActivationMark:
    """The mark of the activation with a tag."""
    number, is_current = session.run.index.number_activation(tag), tag == session.current_tag
    colours = ACTIVATION_COLOURS if is_current else FADED_ACTIVATION_COLOURS
    colour = colours[(number - 1) % len(colours)] if number else ""
    return ActivationMark(number, colour, is_current)
