"""Why a node has not fired: the answer as data, and in words. `why` finds it.

A port without a token has a reason for each source that could send it one. Some reasons are the end of the search: the
token is in flight, a firing trapped, a switch sent it on the other side. Others wait in turn: nodes, activations that
have not opened, tokens that are parked at a cell or held by a bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, starmap
from typing import Literal as Word
from typing import NamedTuple, TypeAlias

from ...core.errors import TagloomError
from ...core.graph.graph import Graph, Source
from ...core.tag import Tag
from ...core.value import Value, show
from ..machine.event import Cell
from ..outcome.describe import bound_said, cell_said, shown
from .origin import Firing, Origin

SHOWN_ROOTS = 3
SHOWN_STEPS = 8
SHOWN_STORES = 4
"""How much of a long answer is put into words."""


class Held(NamedTuple):
    """A port has its token, which waits for partners."""

    port: int
    value: Value
    origin: Origin | None


class InFlight(NamedTuple):
    """The token has been sent, and is in flight at this position."""

    position: int
    origin: Origin

    def said(self, graph: Graph) -> str:
        return f"the token from {self.origin.short} is in flight, at position {self.position}"


class HeldBack(NamedTuple):
    """The token has been sent, and is held for its iteration: an earlier one has to be over first."""

    tag: Tag
    bound: int
    origin: Origin

    @property
    def busy(self) -> Tag:
        """The iteration that has to be over."""
        assert self.tag.parent is not None
        return self.tag.parent.child(self.tag.site, self.tag.iteration - self.bound)

    def said(self, graph: Graph) -> str:
        return f"the token from {self.origin.short} is held under {self.tag}: {bound_said(self.tag, self.bound)}"


class Parked(NamedTuple):
    """All tokens have come, and this one stays at an empty cell."""

    cell: Cell
    origin: Origin

    def said(self, graph: Graph) -> str:
        return f"the token from {self.origin.short} is parked at {cell_said(graph, self.cell)}, which nobody has put"


class Unfilled(NamedTuple):
    """No store is known to fill a cell. `stores` are those that might: a node, and the tag under which it waits to be
    told which cell, or None where it has not got anything yet. `held` are iterations in which some of them stand, and
    which have not begun, each with the bound that holds it."""

    stores: tuple[tuple[int, Tag | None], ...]
    held: tuple[tuple[Tag, int], ...] = ()

    def said(self, graph: Graph) -> str:
        if not self.stores:
            return "there is no store that could fill it"
        named = [f"{graph.nodes[node]}{'' if tag is None else f' under {tag}'}" for node, tag in self.stores]
        more = f" and {len(named) - SHOWN_STORES:,} more" if len(named) > SHOWN_STORES else ""
        held = "".join(f"; {tag} has not begun: {bound_said(tag, bound)}" for tag, bound in self.held[:SHOWN_STORES])
        return f"no store of such cells has been sent its index ({', '.join(named[:SHOWN_STORES])}{more}){held}"


class EndOfWave(NamedTuple):
    """Nothing is in the way any more; held tokens go on when the wave is over."""

    def said(self, graph: Graph) -> str:
        return "the tokens that were held for it go on when the wave is over"


class Trapped(NamedTuple):
    """The firing that should have sent the token trapped."""

    firing: Firing

    def said(self, graph: Graph) -> str:
        return f"lost at {self.firing}"


class Elsewhere(NamedTuple):
    """The firing that should have sent the token sent on another way; of a switch, on this predicate."""

    firing: Firing
    predicate: Origin | None

    def said(self, graph: Graph) -> str:
        if self.predicate is None:
            return f"it was sent elsewhere by {self.firing}"
        held = show(self.firing.operands[1])
        return f"it took the other way at {self.firing}; {held} came from {self.predicate.short}"


class Gone(NamedTuple):
    """The node that should have sent the token fired before the events that are known, and sent on another way."""

    node: int
    tag: Tag

    def said(self, graph: Graph) -> str:
        return f"{graph.nodes[self.node]} took the other way before what is known"


class Unfed(NamedTuple):
    """Nothing ever sends to this port under this tag; `sources` feed it, under other tags."""

    sources: tuple[Source, ...]

    def said(self, graph: Graph) -> str:
        if not self.sources:
            return "nothing is connected to it"
        fed = " and ".join(
            f"argument {graph.arguments[source.output][0]}" if source.node < 0 else str(graph.nodes[source.node])
            for source in self.sources
        )
        return f"{fed} sends to it under other tags only"


class Unfired(NamedTuple):
    """The node that should send the token has not fired under this tag, and waits in turn."""

    node: int
    tag: Tag

    def said(self, graph: Graph) -> str:
        return f"waits for {graph.nodes[self.node]} under {self.tag}"


class Unopened(NamedTuple):
    """The activation of this tag, from which the token would come or in which it would arrive, has not opened."""

    tag: Tag

    def said(self, graph: Graph) -> str:
        return f"waits for {self.tag} to open"


Place: TypeAlias = Unfired | Unopened | Parked | HeldBack
"""What waits in turn, for what comes before it."""

Reason: TypeAlias = InFlight | Trapped | Elsewhere | Gone | Unfed | Unfilled | EndOfWave | Place


class Missing(NamedTuple):
    """A port has no token: a reason for every source that could send it one under this tag, at least one."""

    port: int
    reasons: tuple[Reason, ...]


class Waits(NamedTuple):
    """A node that has not fired, an activation that has not opened, or a token that is parked or held, and all that is
    known of what it waits for.

    An activation waits for any of the nodes that open it: one Missing, of port -1. A merge waits for any of its ports,
    another node for all of them; one that has none, in a graph that breaks the rules, for what never comes, of port -1.
    A parked token waits for a store to its cell, of port -1 - the number of the cell; a
    `collect` for one to each empty cell. A held token waits for all that keeps the earlier iteration busy, of ports -1,
    -2 and so on. `alive` says whether it may still fire, open or go on, for all that is known; `asked_by` is the
    position in the answer of what waits for it, None for the first.
    """

    place: Place
    needs: tuple[Held | Missing, ...]
    alive: bool
    asked_by: int | None

    @property
    def missing(self) -> Iterator[Missing]:
        return (need for need in self.needs if isinstance(need, Missing))


class Root(NamedTuple):
    """Where the search for a missing token ends: for what stands at this position of the answer, which port, why."""

    at: int
    port: int
    reason: Reason


Activation: TypeAlias = Word["open", "closed", "unopened"]
Verdict: TypeAlias = Word["fired", "pending", "never", "unknown"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Answer:
    """Why a node has not fired under a tag.

    `verdict` is "fired" (`firing` says when), "pending" (it may still fire: `roots` are tokens of which one at least
    has to be delivered first), "never" (`roots` are where tokens were lost; where nodes wait for each other and for
    nothing else there are none, and `circle` are those), or "unknown", where a cell has to be filled and no store has
    been sent its index (an `Unfilled` among `roots`), or more nodes wait than were followed. `waits` has the node
    itself, and then the nodes that it waits for, nearest first.
    """

    graph: Graph
    node: int
    tag: Tag
    activation: Activation
    verdict: Verdict
    firing: Firing | None = None
    waits: tuple[Waits, ...] = ()
    roots: tuple[Root, ...] = ()
    circle: tuple[int, ...] = ()
    """Positions in `waits`: each waits for the next, and the last for the first."""
    stopped: TagloomError | None = None
    """What ended the run, if it was not quiet."""

    def __repr__(self) -> str:
        return f"<{self.verdict}: {self.graph.nodes[self.node]} under {self.tag}>"

    def __str__(self) -> str:
        """As an error says it: rule, where, tag, required, got, hint; before the hint, the ways to where it ends."""
        node = self.graph.nodes[self.node]
        if self.firing is not None:
            return f"node {node} has fired: {self.firing}"
        said = TagloomError(
            f"node {node} has not fired",
            rule="S2",
            where=node.where,
            tag=self.tag,
            required=self._required(),
            got=self._got(),
        )
        roots = [root for root in self.roots if not self._is_aside(root)] or self.roots
        ways = [f"  {line}" for root in roots[:1] for line in self._way(root)]
        ways += [f"  also {self._end(root)}" for root in roots[1:SHOWN_ROOTS]]
        if len(roots) > SHOWN_ROOTS:
            ways.append(f"  and {len(roots) - SHOWN_ROOTS:,} more")
        if self.circle:
            ways = [f"  {line}" for line in self._around()]
        return "\n".join([str(said), *ways, f"  hint: {self._hint()}"])

    def _is_aside(self, root: Root) -> bool:
        """Whether it is a store of which nothing is known, to a cell that another is known to fill."""
        needs = (need for need in self.waits[root.at].missing if need.port == root.port)
        known = any(isinstance(reason, Unfired) for need in needs for reason in need.reasons)
        return known and isinstance(root.reason, Unfilled)

    def _required(self) -> str:
        node = self.graph.nodes[self.node]
        ports = [str(port) for port, literal in enumerate(node.ports) if literal is None]
        if len(ports) <= 1:
            return f"a token on port {ports[0]}" if ports else "a token on a port"
        some = "a token on one of" if node.op == "merge" else "tokens on"
        return f"{some} the ports {', '.join(ports)}"

    def _got(self) -> str:
        if self.activation == "unopened":
            return "no such activation: it has not opened"
        held = [
            f"{shown(self.graph, need.value)} on port {need.port}"
            + (f" from {need.origin.short}" if need.origin else "")
            for need in self.waits[0].needs
            if isinstance(need, Held)
        ]
        closed = ", and the activation has closed" if self.activation == "closed" else ""
        return ("; ".join(held) or "none") + closed

    def _path(self, at: int) -> list[int]:
        """From the node to what stands at a position, by who waits for it."""
        path = [at]
        while (asked_by := self.waits[path[-1]].asked_by) is not None:
            path.append(asked_by)
        return path[::-1]

    def _way(self, root: Root) -> list[str]:
        """From the node to a root, a line for each that waits."""
        return [*self._steps(self._path(root.at)), self._end(root)]

    def _end(self, root: Root) -> str:
        said = root.reason.said(self.graph)
        if isinstance(self.waits[root.at].place, Unopened) and isinstance(root.reason, Unfed):
            said = "no node opens it"
        return f"{self._port(root.at, root.port)}: {said}"

    def _around(self) -> list[str]:
        """From the node to the circle, and around it."""
        return self._steps([*self._path(self.circle[0]), *self.circle[1:], self.circle[0]])

    def _steps(self, path: list[int]) -> list[str]:
        """A line for each that waits for the next; of a long way, its two ends."""
        if len(path) <= SHOWN_STEPS + 1:
            return [*starmap(self._step, pairwise(path))]
        half = SHOWN_STEPS // 2
        left_out = f"... {len(path) - 1 - 2 * half:,} more ..."
        return [*self._steps(path[: half + 1]), left_out, *self._steps(path[-half - 1 :])]

    def _step(self, at: int, following: int) -> str:
        """One that waits for the next on the way."""
        place = self.waits[following].place
        port = next(need.port for need in self.waits[at].missing if place in need.reasons)
        return f"{self._port(at, port)}: {place.said(self.graph)}"

    def _port(self, at: int, port: int) -> str:
        place = self.waits[at].place
        match place:
            case Unopened(tag):
                return f"{tag} has not opened"
            case Parked(cell, _):
                return cell_said(self.graph, cell._replace(number=-1 - port))
            case HeldBack():
                return f"{place.busy} is busy"
        return f"{'' if port < 0 else f'port {port} of '}{self.graph.nodes[place.node]} under {place.tag}"

    def _hint(self) -> str:
        if self.verdict == "never":
            return "it never will: these nodes wait for each other" if self.circle else "it never will"
        if self.stopped is not None:
            return f"it might have, but {self.stopped.message}"
        if self.verdict == "pending":
            return "it may still fire"
        if any(isinstance(root.reason, Unfilled) for root in self.roots):
            return "it is not known: only a store that has not been sent its index could fill the cell"
        return "it may still fire, or wait for more than was followed"
