"""Places in words, and what the rules of places say of graphs that break them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from .errors import Invalid
from .graph import Graph, Node, Source
from .problem import problem
from .tag import Site

Guard: TypeAlias = tuple[tuple[Source, bool], ...]


class Place(NamedTuple):
    """Where a value lives: inside a function or a loop, under a guard of (predicate, outcome)."""

    context: str | Site
    guard: Guard = ()


class Placing:
    """The places that are known so far."""

    graph: Graph
    of: dict[Source, Place]
    outer: dict[Site, Place]

    def function_of(self, place: Place) -> str:
        while isinstance(place.context, Site):
            place = self.outer[place.context]
        return place.context

    def said(self, place: Place) -> str:
        """A place in words: `tokens of main.loop where main.less holds`."""
        outcomes = [f"{self.maker(pred)} {'holds' if outcome else 'does not hold'}" for pred, outcome in place.guard]
        return f"tokens of {place.context}{' where ' * bool(outcomes)}{' and '.join(outcomes)}"

    def maker(self, source: Source) -> str:
        return self.graph.arguments[source.output][0] if source.node < 0 else str(self.graph.nodes[source.node])

    def names(self, numbers: list[int]) -> list[str]:
        return [str(self.graph.nodes[number]) for number in numbers]

    def apart(self, node: Node, ports: list[Source], required: Place | None = None) -> Invalid:
        return problem(
            "V10",
            f"tokens of {node} live in different places",
            node.where,
            required=self.said(required) if required else "one place",
            got="; ".join(self.said(self.of[source]) for source in ports),
            hint="a value enters a loop by enter, a branch by switch, a function by call",
        )

    def foreign(self, node: Node, here: Place) -> Invalid:
        return problem(
            "V10",
            f"{node} gets its tokens from another function",
            node.where,
            required=node.function,
            got=self.function_of(here),
            hint="functions meet in call and return",
        )

    def elsewhere(self, node: Node, here: Place) -> Invalid:
        assert node.site is not None
        return problem(
            "V12" if node.op == "call" else "V13",
            f"{node.site} is entered from two places",
            node.where,
            required=self.said(self.outer[node.site]),
            got=self.said(here),
            hint="another place is another site",
        )

    def overlap(self, node: Node, required: str, ports: list[Source], places: Sequence[Place] = ()) -> Invalid:
        return problem(
            "V11",
            f"merge {node} may get two tokens under one tag, or none",
            node.where,
            required=required,
            got="; ".join(map(self.said, places)) or [self.maker(source) for source in ports],
            hint="switch a value on one predicate, and merge what becomes of both sides",
        )

    def unreturned(self, number: int) -> Invalid:
        node = self.graph.nodes[number]
        return problem(
            "V16",
            f"{node} does not come to a merge from which `back` goes on",
            node.where,
            required=f"reenter, merge and back of {node.site}, one of each for an adjoint",
            got=[str(self.graph.nodes[edge.node]) for edge in node.outputs[0].edges],
            hint="an adjoint comes back by reenter, is merged with what iterations make of it, and goes on by back",
        )

    def astray(self, node: Node, trips: Source | None) -> Invalid:
        return problem(
            "V16",
            f"{node} does not know the iteration that was left",
            node.where,
            required=f"output 1 of an exit of {node.site} on port 1",
            got=self.maker(trips) if trips is not None else str(node.ports[1]),
            hint="the second output of an exit is the trip count",
        )
