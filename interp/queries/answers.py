"""Answers to queries as data and as text: the origins of tokens, and why a node has not fired.

If a port has no token, there is a reason for each source that could send it one. Some reasons end the search: the token
is in flight, a firing trapped, or a switch sent the token to its other side. Others are waiters, which wait in turn:
nodes, activations that have not opened, deferred reads at a cell, tokens throttled by a bound. `why_not` finds the
reasons.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise, starmap
from typing import Literal as Word
from typing import NamedTuple, Protocol, TypeAlias

from ...core.errors import TagloomError
from ...core.graph.graph import Graph, GraphNode, OutputRef
from ...core.tag import Tag
from ...core.value import Value, abbreviate, format_value
from ..machine.event import CellAddress, Event, Token
from ..outcome.outcome import abbreviate_value, describe_bound, describe_cell


class TokenKey(NamedTuple):
    """The identity of a token in a run: a port of a node under a tag. Node -1 is the environment, and its ports are the
    results."""

    node: int
    port: int
    tag: Tag


class TokenEdit(Protocol):
    """An edit in a fork: the token before the edit, and its new value; or an injected token, and its value."""

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
    """The new value of the token whose origin this is, if an edit in a fork changed it."""
    place: str = field(default="", compare=False)
    """Where it was made, if the run was on several workers: ` on worker 1`."""

    @property
    def node(self) -> GraphNode:
        """The node that fired."""
        return self.graph.nodes[self.event.token.node]

    @property
    def tag(self) -> Tag:
        """The tag under which it fired."""
        return self.event.token.tag

    @property
    def operands(self) -> tuple[Value, ...]:
        """The consumed operands by port, literals included; a trigger is not an operand."""
        inputs = self.event.inputs or ()
        return inputs[: len(inputs) - self.node.has_trigger]

    @property
    def computation(self) -> str:
        """The computation in words: `add 1, 2 -> 3`; large arrays are abbreviated."""
        operation = (
            f"{self.node.op} {', '.join(abbreviate_value(self.graph, value) for value in self.operands)}".rstrip()
        )
        if self.event.trap is not None:
            return f"{operation} traps: {self.event.trap}"
        results = ", ".join(abbreviate_value(self.graph, value) for _, value in self.event.outputs)
        return f"{operation} -> {results}" if results else operation

    @property
    def short_description(self) -> str:
        """A short description."""
        return f"{self.node}{self.place} at event {self.number}{_describe_change(self, ' ({})')}"

    def __str__(self) -> str:
        line = f" ({self.node.location})" if self.node.location else ""
        where = f"{self.node}{line} under {self.tag}{self.place} at event {self.number}"
        return f"{where}: {self.computation}{_describe_change(self)}"


@dataclass(frozen=True, slots=True)
class ArgumentOrigin:
    """An argument from the environment, by position, counting the hidden arguments, which are triggers."""

    position: int
    name: str = field(compare=False)
    value: Value = field(compare=False)
    changed_value: Value | None = field(default=None, compare=False)
    """The new value of the token whose origin this is, if an edit in a fork changed it."""

    @property
    def short_description(self) -> str:
        """A short description."""
        return f"argument {self.name}{_describe_change(self, ' ({})')}"

    def __str__(self) -> str:
        return f"argument {self.name} = {abbreviate(self.value)}{_describe_change(self)}"


@dataclass(frozen=True, slots=True)
class InjectedOrigin:
    """The origin of a token that an edit in a fork injected, after `position` events."""

    position: int
    graph: Graph = field(compare=False, repr=False)
    token: Token
    changed_value: Value | None = field(default=None, compare=False)
    """The value that a later edit gave to the token."""

    @property
    def short_description(self) -> str:
        """A short description."""
        return f"an injection at event {self.position}{_describe_change(self, ' ({})')}"

    def __str__(self) -> str:
        value = abbreviate_value(self.graph, self.token.value)
        return f"{value}, injected at event {self.position}{_describe_change(self)}"


@dataclass(frozen=True, slots=True)
class EarlierOrigin:
    """The origin of a token that was sent before the first known event."""

    base: int
    """The number of the first known event."""
    changed_value: Value | None = field(default=None, compare=False)
    """The value that an edit in a fork gave to the token."""

    @property
    def short_description(self) -> str:
        """A short description."""
        return f"a firing before event {self.base:,}{_describe_change(self, ' ({})')}"

    def __str__(self) -> str:
        return f"sent before event {self.base:,}, the first known event{_describe_change(self)}"


Origin: TypeAlias = FiringOrigin | ArgumentOrigin | InjectedOrigin | EarlierOrigin


def _describe_change(origin: Origin, form: str = ", {}") -> str:
    return "" if origin.changed_value is None else form.format(f"changed to {abbreviate(origin.changed_value)}")


OriginId: TypeAlias = int
"""The number of an origin: the number of an event; -1 - k for argument k; lower numbers for the edits that injected a
token."""


MAX_ROOTS = 3
MAX_STEPS = 8
MAX_STORES = 4
"""The most stores that the text of an answer lists."""


class WaitingToken(NamedTuple):
    """A port that has its token, which waits for other operands."""

    port: int
    value: Value
    origin: Origin | None


class InFlightToken(NamedTuple):
    """The token was sent, and is in flight at this position."""

    position: int
    origin: Origin

    def describe(self, graph: Graph) -> str:
        """The reason in words."""
        return f"the token from {self.origin.short_description} is in flight, at position {self.position}"


class ThrottledToken(NamedTuple):
    """The token was sent, and is throttled: an earlier iteration must complete first."""

    tag: Tag
    bound: int
    origin: Origin

    @property
    def busy_iteration(self) -> Tag:
        """The iteration that must complete first."""
        assert self.tag.parent is not None
        return self.tag.parent.child(self.tag.site, self.tag.iteration - self.bound)

    def describe(self, graph: Graph) -> str:
        """The reason in words."""
        bound = describe_bound(self.tag, self.bound)
        return f"the token from {self.origin.short_description} is throttled under {self.tag}: {bound}"


class DeferredRead(NamedTuple):
    """A deferred read: all operands have arrived, and the last token waits at an empty cell."""

    cell: CellAddress
    origin: Origin

    def describe(self, graph: Graph) -> str:
        """The reason in words."""
        cell = describe_cell(graph, self.cell)
        return f"the token from {self.origin.short_description} is deferred at {cell}, which no store has filled"


class UnfilledCell(NamedTuple):
    """No store is known to fill a cell. `stores` are those that might: a node, and the tag under which it waits for its
    handle or its index, or None if it has received nothing yet. `throttled_iterations` are the iterations of such
    stores that have not begun, each with the bound that throttles it."""

    stores: tuple[tuple[int, Tag | None], ...]
    throttled_iterations: tuple[tuple[Tag, int], ...] = ()

    def describe(self, graph: Graph) -> str:
        """The reason in words."""
        if not self.stores:
            return "there is no store that could fill it"
        names = [f"{graph.nodes[node]}{'' if tag is None else f' under {tag}'}" for node, tag in self.stores]
        rest = f" and {len(names) - MAX_STORES:,} more" if len(names) > MAX_STORES else ""
        throttled = "".join(
            f"; {tag} has not begun: {describe_bound(tag, bound)}"
            for tag, bound in self.throttled_iterations[:MAX_STORES]
        )
        return f"no store of such cells has been sent its index ({', '.join(names[:MAX_STORES])}{rest}){throttled}"


class EndOfWave(NamedTuple):
    """Throttled tokens wait only for the end of the wave."""

    def describe(self, graph: Graph) -> str:
        """The reason in words."""
        return "the throttled tokens continue when the wave ends"


class TrappedFiring(NamedTuple):
    """The firing that should have sent the token trapped."""

    firing: FiringOrigin

    def describe(self, graph: Graph) -> str:
        """The reason in words."""
        return f"lost at {self.firing}"


class RoutedAway(NamedTuple):
    """The firing that should have sent the token sent it elsewhere. For a switch, `predicate` is the origin of the
    predicate."""

    firing: FiringOrigin
    predicate: Origin | None

    def describe(self, graph: Graph) -> str:
        """The reason in words."""
        if self.predicate is None:
            return f"it was sent elsewhere by {self.firing}"
        predicate = format_value(self.firing.operands[1])
        return f"it went to the other output at {self.firing}; {predicate} came from {self.predicate.short_description}"


class RoutedAwayEarlier(NamedTuple):
    """The node that should have sent the token fired before the first known event, and sent it elsewhere."""

    node: int
    tag: Tag

    def describe(self, graph: Graph) -> str:
        """The reason in words."""
        return f"{graph.nodes[self.node]} sent it to the other output before the first known event"


class UnfedPort(NamedTuple):
    """Nothing ever sends to this port under this tag; `sources` send to it under other tags."""

    sources: tuple[OutputRef, ...]

    def describe(self, graph: Graph) -> str:
        """The reason in words."""
        if not self.sources:
            return "nothing is connected to it"
        consumers = " and ".join(
            f"argument {graph.arguments[source.output][0]}" if source.node < 0 else str(graph.nodes[source.node])
            for source in self.sources
        )
        return f"{consumers} sends to it under other tags only"


class UnfiredNode(NamedTuple):
    """The node that should send the token has not fired under this tag, and waits in turn."""

    node: int
    tag: Tag

    def describe(self, graph: Graph) -> str:
        """The reason in words."""
        return f"waits for {graph.nodes[self.node]} under {self.tag}"


class UnopenedActivation(NamedTuple):
    """The activation of this tag, which would send or receive the token, has not opened."""

    tag: Tag

    def describe(self, graph: Graph) -> str:
        """The reason in words."""
        return f"waits for {self.tag} to open"


Waiter: TypeAlias = UnfiredNode | UnopenedActivation | DeferredRead | ThrottledToken
"""A reason that waits in turn, so that the search continues with its own reasons."""

Reason: TypeAlias = (
    InFlightToken | TrappedFiring | RoutedAway | RoutedAwayEarlier | UnfedPort | UnfilledCell | EndOfWave | Waiter
)


class MissingToken(NamedTuple):
    """A port without a token, and the reasons, at least one: one for each source that could send it a token under this
    tag."""

    port: int
    reasons: tuple[Reason, ...]


class WaitEntry(NamedTuple):
    """A waiter and its requirements. The waiter is a node that has not fired, an activation that has not opened, a
    deferred read or a throttled token.

    An activation waits for any of the nodes that open it: one `MissingToken`, of port -1. A merge waits for any of its
    ports, another node for all of them; a node without ports for tokens, in a graph that breaks the rules, waits at
    port -1 for a token that never arrives. A deferred read waits for a store to its cell, at port -1 - the number of
    the cell; a `collect` waits for a store to each empty cell. A throttled token waits for everything that keeps the
    earlier iteration busy, at ports -1, -2 and so on. `is_live` says whether the waiter may still fire, open or
    continue, as far as is known; `required_by` is the position in the answer of the entry that waits for it, None for
    the first.
    """

    waiter: Waiter
    requirements: tuple[WaitingToken | MissingToken, ...]
    is_live: bool
    required_by: int | None

    @property
    def missing_tokens(self) -> Iterator[MissingToken]:
        """The requirements that are not met."""
        return (requirement for requirement in self.requirements if isinstance(requirement, MissingToken))


class RootCause(NamedTuple):
    """A reason that ended the search: the position of its entry in the answer, the port, and the reason."""

    wait_index: int
    port: int
    reason: Reason


ActivationStatus: TypeAlias = Word["open", "closed", "unopened"]
FiringVerdict: TypeAlias = Word["fired", "pending", "never", "unknown"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WhyNotAnswer:
    """Why a node has not fired under a tag.

    `verdict` is "fired" (`firing` says when); "pending" (it may still fire, once some of the tokens in `root_causes`
    are delivered); "never" (`root_causes` says where tokens were lost; if nodes only wait for each other, it is empty,
    and `cycle` has those nodes); or "unknown" (a cell has to be filled and no store has received its index, an
    `UnfilledCell` in `root_causes`; or the search reached its limit). `wait_entries` has the node itself, then
    everything that it waits for, nearest first.
    """

    graph: Graph
    node: int
    tag: Tag
    activation_status: ActivationStatus
    verdict: FiringVerdict
    firing: FiringOrigin | None = None
    wait_entries: tuple[WaitEntry, ...] = ()
    root_causes: tuple[RootCause, ...] = ()
    cycle: tuple[int, ...] = ()
    """Positions in `wait_entries`: each waits for the next, and the last for the first."""
    stop_error: TagloomError | None = None
    """The error that ended the run, if it did not become quiescent."""

    def __repr__(self) -> str:
        return f"<{self.verdict}: {self.graph.nodes[self.node]} under {self.tag}>"

    def __str__(self) -> str:
        """The answer in the form of an error: rule, where, tag, required, got, hint, with the paths to the root causes
        before the hint."""
        node = self.graph.nodes[self.node]
        if self.firing is not None:
            return f"node {node} has fired: {self.firing}"
        error = TagloomError(
            f"node {node} has not fired",
            rule="S2",
            where=node.origin,
            tag=self.tag,
            required=self._describe_required(),
            got=self._describe_actual(),
        )
        roots = [root for root in self.root_causes if not self._is_secondary(root)] or self.root_causes
        paths = [f"  {line}" for root in roots[:1] for line in self._describe_path(root)]
        paths += [f"  also {self._describe_root_cause(root)}" for root in roots[1:MAX_ROOTS]]
        if len(roots) > MAX_ROOTS:
            paths.append(f"  and {len(roots) - MAX_ROOTS:,} more")
        if self.cycle:
            paths = [f"  {line}" for line in self._describe_cycle()]
        return "\n".join([str(error), *paths, f"  hint: {self._describe_hint()}"])

    def _is_secondary(self, root: RootCause) -> bool:
        """Whether it is an `UnfilledCell` although another store is known to fill the cell."""
        missing_tokens = (
            missing_token
            for missing_token in self.wait_entries[root.wait_index].missing_tokens
            if missing_token.port == root.port
        )
        has_known_store = any(
            isinstance(reason, UnfiredNode) for missing_token in missing_tokens for reason in missing_token.reasons
        )
        return has_known_store and isinstance(root.reason, UnfilledCell)

    def _describe_required(self) -> str:
        node = self.graph.nodes[self.node]
        ports = [str(port) for port, literal in enumerate(node.ports) if literal is None]
        if len(ports) <= 1:
            return f"a token on port {ports[0]}" if ports else "a token on a port"
        quantity = "a token on one of" if node.op == "merge" else "tokens on"
        return f"{quantity} the ports {', '.join(ports)}"

    def _describe_actual(self) -> str:
        if self.activation_status == "unopened":
            return "no such activation: it has not opened"
        tokens = [
            f"{abbreviate_value(self.graph, requirement.value)} on port {requirement.port}"
            + (f" from {requirement.origin.short_description}" if requirement.origin else "")
            for requirement in self.wait_entries[0].requirements
            if isinstance(requirement, WaitingToken)
        ]
        closed = ", and the activation has closed" if self.activation_status == "closed" else ""
        return ("; ".join(tokens) or "none") + closed

    def _path_to(self, at: int) -> list[int]:
        """The path from the node to the entry at a position, along `required_by`."""
        path = [at]
        while (required_by := self.wait_entries[path[-1]].required_by) is not None:
            path.append(required_by)
        return path[::-1]

    def _describe_path(self, root: RootCause) -> list[str]:
        """The path from the node to a root cause, a line for each waiter."""
        return [*self._describe_steps(self._path_to(root.wait_index)), self._describe_root_cause(root)]

    def _describe_root_cause(self, root: RootCause) -> str:
        text = root.reason.describe(self.graph)
        if isinstance(self.wait_entries[root.wait_index].waiter, UnopenedActivation) and isinstance(
            root.reason, UnfedPort
        ):
            text = "no node opens it"
        return f"{self._describe_port(root.wait_index, root.port)}: {text}"

    def _describe_cycle(self) -> list[str]:
        """The path from the node to the cycle, and around it."""
        return self._describe_steps([*self._path_to(self.cycle[0]), *self.cycle[1:], self.cycle[0]])

    def _describe_steps(self, path: list[int]) -> list[str]:
        """A line for each step of a path; of a long path, only its two ends."""
        if len(path) <= MAX_STEPS + 1:
            return [*starmap(self._describe_step, pairwise(path))]
        half = MAX_STEPS // 2
        left_out = f"... {len(path) - 1 - 2 * half:,} more ..."
        return [*self._describe_steps(path[: half + 1]), left_out, *self._describe_steps(path[-half - 1 :])]

    def _describe_step(self, at: int, following: int) -> str:
        """A waiter, and the next one on the path."""
        waiter = self.wait_entries[following].waiter
        port = next(
            missing_token.port
            for missing_token in self.wait_entries[at].missing_tokens
            if waiter in missing_token.reasons
        )
        return f"{self._describe_port(at, port)}: {waiter.describe(self.graph)}"

    def _describe_port(self, at: int, port: int) -> str:
        waiter = self.wait_entries[at].waiter
        match waiter:
            case UnopenedActivation(tag):
                return f"{tag} has not opened"
            case DeferredRead(cell, _):
                return describe_cell(self.graph, cell._replace(number=-1 - port))
            case ThrottledToken():
                return f"{waiter.busy_iteration} is busy"
        return f"{'' if port < 0 else f'port {port} of '}{self.graph.nodes[waiter.node]} under {waiter.tag}"

    def _describe_hint(self) -> str:
        if self.verdict == "never":
            return "it never will: these nodes wait for each other" if self.cycle else "it never will"
        if self.stop_error is not None:
            return f"it might have, but {self.stop_error.message}"
        if self.verdict == "pending":
            return "it may still fire"
        if any(isinstance(root.reason, UnfilledCell) for root in self.root_causes):
            return "whether it will is unknown: only a store that has not been sent its index could fill the cell"
        return "it may still fire; not every cause was followed"
