"""Tokens and events, as immutable values. A run is a list of events."""

from __future__ import annotations

from typing import NamedTuple

from ...core.tag import Tag
from ...core.types import Handle
from ...core.value import Value


class Token(NamedTuple):
    """A value on its way to a port of a node, under a tag. Node -1 is the environment; its ports are the results."""

    node: int
    port: int
    tag: Tag
    value: Value


class ClosedActivation(NamedTuple):
    """An activation that closed: its tag, and the nodes that fired under it."""

    tag: Tag
    fired_nodes: frozenset[int]


class CellAddress(NamedTuple):
    """The address of a write-once cell: a handle and an index."""

    handle: Handle
    number: int


class Event(NamedTuple):
    """The result of one step, which delivered a token and may have fired a node.

    `position` is the token's position in the flight. If the node fired, `inputs` are its operands by port, else None;
    `outputs` are its results as (output, value), and `sent` the tokens that carry them. `trap` is the reason of a
    firing that trapped, and so sent nothing. `closed` lists the activations that the event closed, innermost first.
    `ends_wave` says that every token that was in flight at the last tick of the clock has now been delivered, so the
    clock ticks.

    `deferred_at` is the empty cell that a deferred read waits at; its node did not fire. `woken` are the deferred reads
    of the cell that the event fills; they rejoin the flight behind `sent`. `is_throttled` says that a k-bound keeps
    `sent` out of the flight. `released` are the throttled tokens that join the flight, behind all others, each with the
    number of the step that sent it.
    """

    token: Token
    position: int
    inputs: tuple[Value, ...] | None
    outputs: tuple[tuple[int, Value], ...]
    sent: tuple[Token, ...]
    trap: str | None
    closed: tuple[ClosedActivation, ...]
    ends_wave: bool
    deferred_at: CellAddress | None = None
    woken: tuple[Token, ...] = ()
    is_throttled: bool = False
    released: tuple[tuple[int, Token], ...] = ()

    @property
    def is_firing(self) -> bool:
        """Whether the delivered token fired its node."""
        return self.inputs is not None
