"""Activation records: what a machine knows about each open tag."""

from __future__ import annotations

from typing import Any

from ...core.tag import Site, Tag
from ...core.value import Value, fingerprint

_new = object.__new__


class Record:
    """The activation record of a tag. States that were forked share records; one that is not of a state's own `era`
    is copied before it changes."""

    __slots__ = ("arrived", "busy", "children", "era", "fired", "left", "open", "tag", "tokens", "waiting", "wanted")

    def __init__(self, tag: Tag, wanted: tuple[int, int], era: object) -> None:
        self.tag = tag
        self.wanted = wanted
        """How many arguments or loop variables come in, and how many results go out."""
        self.era = era
        self.children: dict[tuple[Site, int], Tag] = {}
        """The interned tags of the open activations below."""
        self.waiting: dict[int, dict[int, Value]] = {}
        """What has been delivered and waits for partners: by node, then port."""
        self.fired: set[int] = set()
        self.tokens = 0
        """The tokens in this activation: in flight, waiting, parked or held."""
        self.busy = 0
        """Those of them that are not held, the activations directly below that have any, and the tokens held for those.
        Counted for k-bounds only, and reaching the parent only when it changes between zero and more."""
        self.open = 0
        """The open activations directly below."""
        self.arrived = 0
        self.left = 0

    def copy(self, era: object) -> Record:
        made = _new(Record)  # without what `__init__` would fill in vain: 0.5 us of 1.2
        made.tag, made.wanted, made.era = self.tag, self.wanted, era
        made.children = self.children.copy() if self.children else {}
        waiting = made.waiting = self.waiting.copy()
        for node, held in waiting.items():
            waiting[node] = held.copy()
        made.fired = self.fired.copy()
        made.busy, made.tokens, made.open = self.busy, self.tokens, self.open
        made.arrived, made.left = self.arrived, self.left
        return made

    def snapshot(self) -> Any:
        waiting = {node: {p: fingerprint(v) for p, v in held.items()} for node, held in self.waiting.items()}
        counts = (self.busy, self.tokens, self.open, self.arrived, self.left)
        return waiting, frozenset(self.fired), counts, frozenset(self.children)

    def is_blank(self) -> bool:
        """Whether nothing has ever happened in it."""
        return not (self.tokens or self.open or self.arrived or self.left or self.fired or self.waiting)
