"""The rule V17: the phases of calls, conds and loops. `validate` says what it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from .act import ROWS, resource_of
from .errors import Invalid, counted
from .problem import problem
from .program import PULLED, Function, Node, Operand, Region, Var
from .types import Type
from .value import Literal


@dataclass
class Begun:
    """The phases that are still to come of a call, cond or loop at `where`: what each takes and makes."""

    where: object
    left: list[tuple[list[Type], list[Type]]]

    def next(self) -> tuple[list[Type], list[Type]]:
        return self.left.pop(0)


def joined(one: Sequence[Type], other: Sequence[Type]) -> list[Type]:
    return [mine.join(theirs) or mine for mine, theirs in zip(one, other, strict=False)]


def parameter_types(region: Region) -> list[Type]:
    return types_of(region.parameters)


def said_types(types: Sequence[Type]) -> str:
    return ", ".join(map(str, types)) or "nothing"


class Phases:
    """What nodes leave open, and pullbacks go on with."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.functions = functions

    def begins(
        self, node: Node, operands: list[Type], open_: dict[str, Begun], number: int, where: object
    ) -> Iterator[Invalid]:
        """V17: what a node leaves open, or goes on with."""
        if not node.results:
            return
        if node.op == "pullback":
            begun = open_.pop(str(dict(node.attributes).get(PULLED)), None)
            if begun is None:
                yield problem(
                    "V17",
                    "a pullback of what has no further phase",
                    where,
                    required=", ".join(open_) or "a call, cond or loop of this region that has one",
                    got=dict(node.attributes).get(PULLED),
                    hint="each phase is begun once, behind the one before, in the same region",
                )
                return
            taken, made = begun.next()
            if not fits(taken, operands) or made != types_of(node.results):
                yield problem(
                    "V17",
                    "a pullback takes or makes something else than its phase",
                    where,
                    required=f"{said_types(taken)} -> {said_types(made)}",
                    got=f"{said_types(operands)} -> {said_types(types_of(node.results))}",
                    hint="it takes the parameters of the phase, and has its results",
                )
            following: Begun | None = begun
        else:
            following = self.begun(node, where)
        if following is not None and following.left:
            open_[node.name] = following
        effect = self.effect(node) if number else None
        if effect is not None:
            called = f", in {node.attribute('function')}," if node.op == "call" else ""
            yield problem(
                "V17",
                f"{effect}{called} stands in a further phase",
                where,
                required="ops without effects",
                got=effect,
                hint="effects happen forwards; a pullback may call Python, or print, eagerly, on a tl.Tape",
            )

    def effect(self, node: Node) -> str | None:
        """An effect that a node is, or that a function has which it calls, whatever further ones that calls."""
        if node.op != "call":
            return node.op if node.op in ROWS and resource_of(node.op) else None
        reached = [str(dict(node.attributes).get("function"))]
        for name in reached:  # grows while it is walked
            for each in self.functions[name].body.walk() if name in self.functions else ():
                if each.op == "call":
                    callee = str(dict(each.attributes).get("function"))
                    reached += [callee] if callee not in reached else []
                elif self.effect(each) is not None:
                    return each.op
        return None

    def begun(self, node: Node, where: object) -> Begun | None:
        """The phases of a node that are still to come: what each takes and makes."""
        if node.op == "call":
            callee = self.functions.get(str(dict(node.attributes).get("function")))
            if callee is None:
                return None
            phases = list(callee.body.phases())[1:]
            return Begun(where, list(zip(map(parameter_types, phases), map(list, callee.pullbacks), strict=False)))
        if node.op == "while_loop" and len(node.regions) == 2:
            types = [parameter_types(phase) for phase in islice(node.regions[1].phases(), 1, None)]
            return Begun(where, [(each, each) for each in types])
        if node.op == "cond" and len(node.regions) == 2:
            then = [*node.regions[0].phases()][1:]
            yielded = zip(*(yielded_by(region)[1:] for region in node.regions), strict=False)
            made = [joined(one or [], other or []) for one, other in yielded]
            return Begun(where, list(zip(map(parameter_types, then), made, strict=False)))
        return None

    def alike(
        self, node: Node, one: Sequence[list[Type] | None], other: Sequence[list[Type] | None], where: object
    ) -> Iterator[Invalid]:
        """V17: both branches have the same phases."""
        then, otherwise = (list(map(parameter_types, [*region.phases()][1:])) for region in node.regions)
        fits = then == otherwise and all(
            mine is None or theirs is None or (len(mine) == len(theirs) and None not in map(Type.join, mine, theirs))
            for mine, theirs in zip(one, other, strict=False)
        )
        if not fits:
            yield problem(
                "V17",
                "the branches do not have the same phases",
                where,
                required="as many, that take the same types, and make types that join",
                got=f"{counted(len(then), 'pullback')} and {counted(len(otherwise), 'pullback')}",
                hint="the pullback of a cond is that of the branch that it took",
            )


def types_of(variables: Sequence[Var]) -> list[Type]:
    return [variable.type for variable in variables]


def type_in(operand: Operand, known: dict[str, Type]) -> Type:
    return operand.type if isinstance(operand, Literal) else known[operand]


def yielded_by(region: Region) -> list[list[Type] | None]:
    """The types of what each phase of a region yields, or None where it yields a name it does not define."""
    known: dict[str, Type] = {}
    found: list[list[Type] | None] = []
    for phase in region.phases():
        known |= {name: type_ for node in phase.nodes for name, type_ in node.results} | dict(phase.parameters)
        are_known = all(not isinstance(result, str) or result in known for result in phase.results)
        found.append([type_in(result, known) for result in phase.results] if are_known else None)
    return found


def fits(wanted: Sequence[Type], found: Sequence[Type]) -> bool:
    return len(wanted) == len(found) and all(w.admits(f) for w, f in zip(wanted, found, strict=True))
