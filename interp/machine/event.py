"""Tokens and events: frozen values. A run is its list of events."""

from __future__ import annotations

from typing import NamedTuple

from ...core.handle import Handle
from ...core.tag import Tag
from ...core.value import Value


class Token(NamedTuple):
    """A value on its way to a port of a node, under a tag. Node -1 is the environment, its ports the results."""

    node: int
    port: int
    tag: Tag
    value: Value


class ClosedActivation(NamedTuple):
    """An activation that closed: its tag, and the nodes that fired under it. All its counts were at their end."""

    tag: Tag
    fired_nodes: frozenset[int]


class CellAddress(NamedTuple):
    """One cell of write-once cells."""

    handle: Handle
    number: int


class Event(NamedTuple):
    """What one step did: it delivered a token, and perhaps a node fired.

    `position` is where in the flight the token was. `inputs` are the operands by port where the node fired, else
    None; `outputs` its results as (output, value), and `sent` the tokens made of them. `trap` says why a firing
    sent nothing. `closed` are the activations that the event closed, innermost first. `ends_wave` says that every token
    that was in flight at the last tick of the clock has now been delivered, so that it ticks.

    `deferred_at` is the empty cell at which the token stays instead of making its node fire. `woken` are the tokens
    that stay at the cell that the event fills; they rejoin the flight behind `sent`. `is_throttled` says that a k-bound
    keeps `sent` out of the flight, and `released` which of those tokens join it, last of all, each with the number of
    the step that sent it.
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
    def fired(self) -> bool:
        return self.inputs is not None
