"""Origins of tokens: firings and arguments, the keys of tokens, and their descriptions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

from ...core.graph.graph import Graph, GraphNode
from ...core.tag import Tag
from ...core.value import Value, format_value
from ..machine.event import Event, Token
from ..outcome.describe import describe_value


class TokenKey(NamedTuple):
    """The key of a token in a run: a port of a node under a tag. Node -1 is the environment, and its ports are the
    results."""

    node: int
    port: int
    tag: Tag


class TokenEdit(Protocol):
    """A token before its edit in a fork, and the value that replaced its own; or an injected token, with its own
    value."""

    @property
    def token(self) -> Token: ...

    @property
    def value(self) -> Value: ...

    @property
    def is_injection(self) -> bool:
        """Whether the edit added the token, so that no firing sent it."""


@dataclass(frozen=True, slots=True)
class FiringOrigin:
    """A firing, by the number of its event; the first event of a run is number 0. Firings of one run are equal if they
    are the same event."""

    number: int
    graph: Graph = field(compare=False, repr=False)
    event: Event = field(compare=False, repr=False)
    changed_value: Value | None = field(default=None, compare=False)
    """As the origin of a token: the value that an edit in a fork gave to the token."""

    @property
    def node(self) -> GraphNode:
        return self.graph.nodes[self.event.token.node]

    @property
    def tag(self) -> Tag:
        return self.event.token.tag

    @property
    def operands(self) -> tuple[Value, ...]:
        """The consumed operands by port, literals included; a trigger is no operand."""
        inputs = self.event.inputs or ()
        return inputs[: len(inputs) - self.node.has_trigger]

    @property
    def computation(self) -> str:
        """The computation, as `add 1, 2 -> 3`."""
        asked = f"{self.node.op} {', '.join(describe_value(self.graph, value) for value in self.operands)}".rstrip()
        if self.event.trap is not None:
            return f"{asked} traps: {self.event.trap}"
        made = ", ".join(describe_value(self.graph, value) for _, value in self.event.outputs)
        return f"{asked} -> {made}" if made else asked

    @property
    def short_description(self) -> str:
        """A short description."""
        return f"{self.node} at event {self.number}{_describe_change(self, ' ({})')}"

    def __str__(self) -> str:
        line = f" ({self.node.location})" if self.node.location else ""
        return f"{self.node}{line} under {self.tag} at event {self.number}: {self.computation}{_describe_change(self)}"


@dataclass(frozen=True, slots=True)
class ArgumentOrigin:
    """An argument from the environment, by position; the hidden ones, which are triggers, count."""

    position: int
    name: str = field(compare=False)
    value: Value = field(compare=False)
    changed_value: Value | None = field(default=None, compare=False)
    """As the origin of a token: the value that an edit in a fork gave to the token."""

    @property
    def short_description(self) -> str:
        """A short description."""
        return f"argument {self.name}{_describe_change(self, ' ({})')}"

    def __str__(self) -> str:
        return f"argument {self.name} = {format_value(self.value)}{_describe_change(self)}"


@dataclass(frozen=True, slots=True)
class InjectedOrigin:
    """No sender: an edit in a fork injected the token after this many events."""

    position: int
    graph: Graph = field(compare=False, repr=False)
    token: Token
    changed_value: Value | None = field(default=None, compare=False)
    """The value that a later edit gave to the token."""

    @property
    def short_description(self) -> str:
        """A short description."""
        return f"nobody, injected at event {self.position}{_describe_change(self, ' ({})')}"

    def __str__(self) -> str:
        return (
            f"{describe_value(self.graph, self.token.value)}, injected at event {self.position}{_describe_change(self)}"
        )


@dataclass(frozen=True, slots=True)
class EarlierOrigin:
    """A firing or argument before the first known event."""

    base: int
    """The number of the first known event."""
    changed_value: Value | None = field(default=None, compare=False)
    """The value that an edit in a fork gave to the token."""

    @property
    def short_description(self) -> str:
        """A short description."""
        return f"somebody before event {self.base:,}{_describe_change(self, ' ({})')}"

    def __str__(self) -> str:
        return f"sent before event {self.base:,}, with which begins what is known{_describe_change(self)}"


Origin: TypeAlias = FiringOrigin | ArgumentOrigin | InjectedOrigin | EarlierOrigin


def _describe_change(origin: Origin, form: str = ", {}") -> str:
    return "" if origin.changed_value is None else form.format(f"changed to {format_value(origin.changed_value)}")


OriginId: TypeAlias = int
"""The number of an origin: that of an event; or -1 - k for the k-th argument; the numbers below those are the edits
that injected a token."""
