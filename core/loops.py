"""Lowering loops: L5, L6, and L11 as far as loops go back. The rules are in `lower`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias

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
    """A loop that has been lowered: its node and site, the region around it, that of its body, its condition and trip
    count."""

    node: Node
    site: Site
    around: Scope
    going: Scope = field(init=False)
    decided: Source | None = None
    trips: Source | None = None


class Phase(NamedTuple):
    """One way through the iterations of a loop: of the loop itself, or of a pullback."""

    node: Node
    inputs: Sequence[Source | Literal]
    variables: Sequence[Var]
    leaving: Sequence[Var]
    marked: Attributes = ()


Pass: TypeAlias = Callable[[list[Source]], list[Source]]
"""What an iteration makes of its loop variables."""


class Loops:
    """Lowers the loops of a program."""

    def __init__(self, lowering: Lowering) -> None:
        self.lowering = lowering

    def lower(self, scope: Scope, node: Node) -> list[Source]:
        """L5, L6, L10."""
        condition, body = node.regions
        ordered = sorted(resources_of(within(node.regions), self.lowering.resources))
        orders = [Var(resource, TRIGGER) for resource in ordered]
        count, loop = len(body.parameters), Loop(node, node.site(scope.function), scope)

        def decide(merges: list[Source]) -> list[Source]:
            deciding = Scope(scope.function, lambda: merges[0])
            deciding.bind(condition.parameters, merges[:count])
            deciding.orders.update(zip(ordered, merges[count:], strict=True))
            (loop.decided,) = self.lowering.region(deciding, condition)
            return [*merges[:count], *(deciding.orders[resource] for resource in ordered)]

        def follow(begun: list[Source]) -> list[Source]:
            loop.going = Scope(scope.function, lambda: begun[0])
            loop.going.bind(body.parameters, begun[:count])
            loop.going.orders.update(zip(ordered, begun[count:], strict=True))
            return [*self.lowering.region(loop.going, body), *(loop.going.orders[resource] for resource in ordered)]

        inputs = [*map(scope.input, node.inputs), *(scope.orders[resource] for resource in ordered)]
        leaving = [*node.results, *(Var(f"{node.name}.{resource}", TRIGGER) for resource in ordered)]
        left = self._forwards(loop, Phase(node, inputs, [*body.parameters, *orders], leaving), decide, follow)
        loop.trips = Source(left[0].node, 1)
        scope.orders.update(zip(ordered, left[count:], strict=True))
        self._further(loop, node, body, 1)
        return left[:count]

    def _further(self, loop: Loop, node: Node, body: Region, number: int) -> None:
        """L11: the phases of loops go back and forth in turn."""
        region = body.pullback
        if region is None:
            return

        def follow(begun: list[Source]) -> list[Source]:
            loop.going.bind(region.parameters, begun)
            return self.lowering.region(loop.going, region)

        def lower(later: Node) -> list[Source]:
            inputs = list(map(loop.around.input, later.inputs))
            phase = Phase(later, inputs, region.parameters, later.results, ((PHASE, number),))
            if number % 2:
                made = self._backwards(loop, phase, follow)
            else:
                made = self._forwards(loop, phase, lambda merges: merges, follow)
            self._further(loop, later, region, number + 1)
            return made

        loop.around.further[node.name] = lower

    def _forwards(self, loop: Loop, phase: Phase, decide: Pass, follow: Pass) -> list[Source]:
        """A phase from the first iteration to the last: `decide` says what is switched, given what an iteration begins
        with, `follow` what the next one does."""
        make, of, merges, left = partial(self._node, loop, phase), f"{phase.node.name}.", list[Source](), list[Source]()
        for (name, type_), data in zip(phase.variables, phase.inputs, strict=True):
            (entered,) = make("enter", f"{of}enter_{name}", [data], [type_], site=loop.site, attributes=phase.marked)
            merges += make("merge", of + name, [entered, None], [type_])
        switches = [
            make("switch", f"{of}switch_{name}", [data, loop.decided], [type_] * 2)
            for (name, type_), data in zip(phase.variables, decide(merges), strict=True)
        ]
        following, marked = follow([switch[0] for switch in switches]), phase.marked or loop.node.attributes
        for (name, type_), value, merge in zip(phase.variables, following, merges, strict=True):
            (again,) = make("next_iteration", f"{of}next_{name}", [value], [type_], site=loop.site, attributes=marked)
            self.lowering.builder.connect(again, merge.node, 1)
        for (name, type_), switch in zip(phase.leaving, switches, strict=True):
            types = [type_, Type(dtypes.int64)]
            left += make("exit", name, [switch[1]], types, site=loop.site, attributes=phase.marked)[:1]
        return left

    def _backwards(self, loop: Loop, phase: Phase, follow: Pass) -> list[Source]:
        """L11: a phase from the last iteration to the first."""
        make, merges, began, left = partial(self._node, loop, phase), list[Source](), list[Source](), list[Source]()
        at: dict[str, Any] = {"site": loop.site, "attributes": phase.marked}
        for (name, type_), result, data in zip(phase.variables, phase.leaving, phase.inputs, strict=True):
            of = f"{phase.node.name}.{name}"
            (again,) = make("reenter", f"{of}.reenter", [data, loop.trips], [type_], **at)
            merges += make("merge", of, [again, None], [type_])
            before, out = make("back", result.name, [merges[-1]], [type_, result.type], **at)
            began.append(before)
            left.append(out)
        for value, merge in zip(follow(began), merges, strict=True):
            self.lowering.builder.connect(value, merge.node, 1)
        for (name, type_), begun in zip(phase.variables, began, strict=True):
            if not self.lowering.builder.leads(begun):
                make("identity", f"{phase.node.name}.{name}.unused", [begun], [type_])
        return left

    def _node(
        self, loop: Loop, phase: Phase, op: str, name: str, inputs: Sequence[Input], types: list[Type], **details: Any
    ) -> list[Source]:
        """A node around the body of a loop, made for a phase."""
        return self.lowering.node(loop.around, op, name, inputs, types, phase.node, **details)
