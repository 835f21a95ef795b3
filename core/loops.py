"""Lowering loops: L5, L6, and L11 as far as loops go back. The rules are in `lower`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from . import dtypes
from .graph import Builder, Input, Source
from .op import Attributes
from .program import PHASE, Node, Region, Var
from .scope import TRIGGER, Scope, resources_of, within
from .tag import Site
from .types import Type
from .value import Literal


class Lowering(Protocol):
    """What lowers the regions of loops, and makes their nodes."""

    builder: Builder
    resources: dict[str, tuple[str, ...]]

    def region(self, scope: Scope, region: Region) -> list[Source]: ...
    def node(
        self, scope: Scope, op: str, name: str, inputs: Sequence[Input], types: list[Type], node: Node, **details: Any
    ) -> list[Source]: ...


@dataclass(slots=True)
class Loop:
    """A loop that has been lowered: its node and site, its condition and trip count, and what an iteration that goes on
    begins with."""

    node: Node
    site: Site
    decided: Source | None = None
    trips: Source | None = None
    began: list[Source] = field(default_factory=list)


class Loops:
    """Lowers the loops of a program."""

    def __init__(self, lowering: Lowering) -> None:
        self.lowering = lowering

    def lower(self, scope: Scope, node: Node) -> list[Source]:
        """L5, L6, L10."""
        condition, body = node.regions
        ordered = sorted(resources_of(within(node.regions), self.lowering.resources))
        inputs = [*map(scope.input, node.inputs), *(scope.orders[resource] for resource in ordered)]
        variables = [*body.parameters, *(Var(resource, TRIGGER) for resource in ordered)]
        count, loop = len(body.parameters), Loop(node, node.site(scope.function))
        going = Scope(scope.function, lambda: loop.began[0])

        def decide(merges: list[Source]) -> list[Source]:
            deciding = Scope(scope.function, lambda: merges[0])
            deciding.bind(condition.parameters, merges[:count])
            deciding.orders.update(zip(ordered, merges[count:], strict=True))
            (loop.decided,) = self.lowering.region(deciding, condition)
            return [*merges[:count], *(deciding.orders[resource] for resource in ordered)]

        def follow(begun: list[Source]) -> list[Source]:
            loop.began = begun
            going.bind(body.parameters, begun[:count])
            going.orders.update(zip(ordered, begun[count:], strict=True))
            return [*self.lowering.region(going, body), *(going.orders[resource] for resource in ordered)]

        leaving = [*node.results, *(Var(f"{node.name}.{resource}", TRIGGER) for resource in ordered)]
        left = self._forwards(scope, loop, node, inputs, variables, leaving, decide, follow)
        loop.trips = Source(left[0].node, 1)
        scope.orders.update(zip(ordered, left[count:], strict=True))
        self._further(scope, loop, going, node, body, 1)
        return left[:count]

    def _further(self, scope: Scope, loop: Loop, going: Scope, node: Node, body: Region, number: int) -> None:
        """L11: the phases of loops go back and forth in turn."""
        phase = body.pullback
        if phase is None:
            return

        def follow(begun: list[Source]) -> list[Source]:
            going.bind(phase.parameters, begun)
            return self.lowering.region(going, phase)

        def lower(later: Node) -> list[Source]:
            inputs, variables, marked = list(map(scope.input, later.inputs)), phase.parameters, ((PHASE, number),)
            if number % 2:
                made = self._backwards(scope, loop, later, inputs, variables, follow, marked)
            else:
                same, leaving = lambda merges: merges, later.results
                made = self._forwards(scope, loop, later, inputs, variables, leaving, same, follow, marked)
            self._further(scope, loop, going, later, phase, number + 1)
            return made

        scope.further[node.name] = lower

    def _forwards(
        self,
        scope: Scope,
        loop: Loop,
        node: Node,
        inputs: Sequence[Source | Literal],
        variables: Sequence[Var],
        leaving: Sequence[Var],
        decide: Callable[[list[Source]], list[Source]],
        follow: Callable[[list[Source]], list[Source]],
        marked: Attributes = (),
    ) -> list[Source]:
        """A phase from the first iteration to the last: `decide` says what is switched, given what an iteration begins
        with, `follow` what the next one does."""

        def make(op: str, of: str, sources: Sequence[Input], types: list[Type], **details: Any) -> list[Source]:
            return self.lowering.node(scope, op, f"{node.name}.{of}", sources, types, node, **details)

        site, merges = loop.site, []
        for variable, data in zip(variables, inputs, strict=True):
            of, types = f"enter_{variable.name}", [variable.type]
            (entered,) = make("enter", of, [data], types, site=site, attributes=marked)
            merges += make("merge", variable.name, [entered, None], [variable.type])
        decided_on = decide(merges)
        switches = [
            make("switch", f"switch_{variable.name}", [data, loop.decided], [variable.type] * 2)
            for variable, data in zip(variables, decided_on, strict=True)
        ]
        following = follow([switch[0] for switch in switches])
        for variable, value, merge in zip(variables, following, merges, strict=True):
            of, types = f"next_{variable.name}", [variable.type]
            (again,) = make("next_iteration", of, [value], types, site=site, attributes=marked or loop.node.attributes)
            self.lowering.builder.connect(again, merge.node, 1)
        left = []
        for result, switch in zip(leaving, switches, strict=True):
            types = [result.type, Type(dtypes.int64)]
            left += self.lowering.node(
                scope, "exit", result.name, [switch[1]], types, node, site=site, attributes=marked
            )[:1]
        return left

    def _backwards(
        self,
        scope: Scope,
        loop: Loop,
        node: Node,
        inputs: Sequence[Source | Literal],
        variables: Sequence[Var],
        follow: Callable[[list[Source]], list[Source]],
        marked: Attributes,
    ) -> list[Source]:
        """L11: a phase from the last iteration to the first."""
        merges, began, left = [], [], []
        for variable, result, data in zip(variables, node.results, inputs, strict=True):
            name, types = f"{node.name}.{variable.name}", [variable.type]
            given, at = [data, loop.trips], {"site": loop.site, "attributes": marked}
            (again,) = self.lowering.node(scope, "reenter", f"{name}.reenter", given, types, node, **at)
            merges += self.lowering.node(scope, "merge", name, [again, None], types, node)
            before, out = self.lowering.node(
                scope, "back", result.name, [merges[-1]], [*types, result.type], node, **at
            )
            began.append(before)
            left.append(out)
        for value, merge in zip(follow(began), merges, strict=True):
            self.lowering.builder.connect(value, merge.node, 1)
        for variable, begun in zip(variables, began, strict=True):
            if not self.lowering.builder.leads(begun):
                name, types = f"{node.name}.{variable.name}.unused", [variable.type]
                self.lowering.node(scope, "identity", name, [begun], types, node)
        return left
