"""What a record of a region has: the values that later phases use, and what these must know of the conds, loops and
calls that they go on with. All else is forgotten.

A function has a record, and each iteration of a loop that has further phases. What regions of conds need, and those of
other loops, lies in the record around them; of two branches only one is taken, and they lie in the same place. The
words of a record:

- of a value, in the words that its type takes;
- of a call that has further phases, the address of its record;
- of a cond, its predicate;
- of a loop, the records of its last iteration and of its first, and how many iterations there were.

The record of an iteration begins with the addresses of those of the iterations before and after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ....core.program.program import Function, Operand, Program, Region, Var
from ....core.types import HandleType, Type, element_type
from .layout import is_open
from .phases import Begun, begun, further

BEFORE, AFTER = 0, 1
"""The words of an iteration's record that refer to its neighbours."""
LAST, FIRST, TRIPS = 0, 1, 2
"""The words of a loop."""
_OF_LOOP, _OF_ITERATION, _OF_ROW = 3, 2, 3


@dataclass(frozen=True)
class Kept:
    """What is kept of a region with all its phases."""

    phases: tuple[Region, ...]
    begun: dict[str, Begun]
    """Which node begins which phase of which, by its name."""
    further: dict[str, int]
    """How many phases a call, cond or loop has after its first, by its name, as all that follows."""
    at: dict[str, int]
    """Where a value lies, by the name of that."""
    below: dict[str, int]
    """Where lies what is kept of a call, cond or loop that has further phases."""
    inner: dict[str, tuple[Kept, ...]]
    """The regions of a cond or loop."""
    begin: int
    """Where what is kept of the region begins, and `size` where it ends."""
    size: int

    @property
    def is_empty(self) -> bool:
        return self.size == self.begin

    def is_last(self, begun: Begun) -> bool:
        """Whether a phase of a node has none after it."""
        return begun.number == self.further[begun.root.name]

    @cached_property
    def variables(self) -> dict[str, Var]:
        """All values, by their names."""
        return {var.name: var for phase in self.phases for var in _defined(phase)}

    def whole(self, number: int) -> Region:
        """A phase as a region that sees nothing else: it takes besides what it uses of earlier ones, and gives besides
        what later ones use."""
        phase, own = self.phases[number], {var.name for var in _defined(self.phases[number])}
        taken = [self.variables[name] for name in sorted(_used(phase) - own)]
        given = self.written(number)
        return replace(phase, parameters=(*taken, *phase.parameters), results=(*phase.results, *given), pullback=None)

    def written(self, number: int) -> list[str]:
        """The values that a phase leaves to later ones."""
        return [var.name for var in _defined(self.phases[number]) if var.name in self.at]


def kept_of(program: Program, function: Function) -> Kept:
    """What the record of a function has."""
    return _kept(program, function.body, 0)


def _kept(program: Program, region: Region, begin: int) -> Kept:
    phases, at, size = tuple(region.phases()), dict[str, int](), begin
    for var in _crossing(phases):
        at[var.name] = size
        size += _words(var.type)
    which, below, inner = begun(region), dict[str, int](), dict[str, tuple[Kept, ...]]()
    counts = {name: further(program, root) for name, (root, number) in which.items() if number == 0}
    for name, count in counts.items():
        root = which[name].root
        if count:
            below[name] = size
            size += _OF_LOOP if root.op == "while_loop" else 1
        if root.op == "while_loop" and count:
            deciding = _kept(program, root.regions[0], size)
            inner[name] = deciding, _kept(program, root.regions[1], _OF_ITERATION)
            size = deciding.size
        else:
            inner[name] = tuple(_kept(program, each, size) for each in root.regions)
            size = max((each.size for each in inner[name]), default=size)
    return Kept(phases, which, counts, at, below, inner, begin, size)


def _crossing(phases: Sequence[Region]) -> Iterable[Var]:
    """The values that a later phase uses than the one that makes them."""
    found: dict[str, Var] = {}
    known: dict[str, Var] = {}
    for phase in phases:
        found.update((name, known[name]) for name in sorted(_used(phase) & known.keys()))
        known.update((var.name, var) for var in _defined(phase))
    return found.values()


def _defined(phase: Region) -> list[Var]:
    return [*phase.parameters, *(var for node in phase.nodes for var in node.results)]


def _used(phase: Region) -> set[str]:
    operands: list[Operand] = [*phase.results, *(each for node in phase.nodes for each in node.inputs)]
    return {each for each in operands if isinstance(each, str)}


def _words(type_: Type) -> int:
    if isinstance(type_.dtype, HandleType):
        return 2 * _OF_ROW + 1 + _held_rank(element_type(type_))
    return 1 if type_.is_scalar else _OF_ROW + len(type_.shape or ())


def _held_rank(type_: Type) -> int:
    """How many axes what cells hold has: the array of all, or the rows of references."""
    return 2 if is_open(type_) else 1 + len(type_.shape or ())
