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
from .layout import has_unknown_size
from .phases import PhaseStart, later_phase_count, phase_starts

PREVIOUS_ITERATION, NEXT_ITERATION = 0, 1
"""The words of an iteration's record that refer to its neighbours."""
LAST_ITERATION, FIRST_ITERATION, TRIP_COUNT = 0, 1, 2
"""The words of a loop."""
_LOOP_WORDS, _ITERATION_WORDS, _ROW_WORDS = 3, 2, 3


@dataclass(frozen=True)
class TapeLayout:
    """What is kept of a region with all its phases."""

    phases: tuple[Region, ...]
    phase_starts: dict[str, PhaseStart]
    """Which node begins which phase of which, by its name."""
    later_phases: dict[str, int]
    """How many phases a call, cond or loop has after its first, by its name, as all that follows."""
    value_offset: dict[str, int]
    """Where a value lies, by the name of that."""
    structure_offset: dict[str, int]
    """Where lies what is kept of a call, cond or loop that has further phases."""
    inner_layouts: dict[str, tuple[TapeLayout, ...]]
    """The regions of a cond or loop."""
    start: int
    """Where what is kept of the region begins, and `end` where it ends."""
    end: int

    @property
    def is_empty(self) -> bool:
        return self.end == self.start

    def is_last(self, begun: PhaseStart) -> bool:
        """Whether a phase of a node has none after it."""
        return begun.number == self.later_phases[begun.root.name]

    @cached_property
    def variables(self) -> dict[str, Var]:
        """All values, by their names."""
        return {var.name: var for phase in self.phases for var in _defined_values(phase)}

    def closed_phase(self, number: int) -> Region:
        """A phase as a region that sees nothing else: it takes besides what it uses of earlier ones, and gives besides
        what later ones use."""
        phase, own = self.phases[number], {var.name for var in _defined_values(self.phases[number])}
        taken = [self.variables[name] for name in sorted(_used_values(phase) - own)]
        given = self.saved_values(number)
        return replace(phase, parameters=(*taken, *phase.parameters), results=(*phase.results, *given), pullback=None)

    def saved_values(self, number: int) -> list[str]:
        """The values that a phase leaves to later ones."""
        return [var.name for var in _defined_values(self.phases[number]) if var.name in self.value_offset]


def function_tape_layout(program: Program, function: Function) -> TapeLayout:
    """What the record of a function has."""
    return _region_tape_layout(program, function.body, 0)


def _region_tape_layout(program: Program, region: Region, begin: int) -> TapeLayout:
    phases, at, size = tuple(region.phases()), dict[str, int](), begin
    for var in _phase_crossing_values(phases):
        at[var.name] = size
        size += _type_words(var.type)
    which, below, inner = phase_starts(region), dict[str, int](), dict[str, tuple[TapeLayout, ...]]()
    counts = {name: later_phase_count(program, root) for name, (root, number) in which.items() if number == 0}
    for name, count in counts.items():
        root = which[name].root
        if count:
            below[name] = size
            size += _LOOP_WORDS if root.op == "while_loop" else 1
        if root.op == "while_loop" and count:
            deciding = _region_tape_layout(program, root.regions[0], size)
            inner[name] = deciding, _region_tape_layout(program, root.regions[1], _ITERATION_WORDS)
            size = deciding.end
        else:
            inner[name] = tuple(_region_tape_layout(program, each, size) for each in root.regions)
            size = max((each.end for each in inner[name]), default=size)
    return TapeLayout(phases, which, counts, at, below, inner, begin, size)


def _phase_crossing_values(phases: Sequence[Region]) -> Iterable[Var]:
    """The values that a later phase uses than the one that makes them."""
    found: dict[str, Var] = {}
    known: dict[str, Var] = {}
    for phase in phases:
        found.update((name, known[name]) for name in sorted(_used_values(phase) & known.keys()))
        known.update((var.name, var) for var in _defined_values(phase))
    return found.values()


def _defined_values(phase: Region) -> list[Var]:
    return [*phase.parameters, *(var for node in phase.nodes for var in node.results)]


def _used_values(phase: Region) -> set[str]:
    operands: list[Operand] = [*phase.results, *(each for node in phase.nodes for each in node.inputs)]
    return {each for each in operands if isinstance(each, str)}


def _type_words(type_: Type) -> int:
    if isinstance(type_.dtype, HandleType):
        return 2 * _ROW_WORDS + 1 + _cell_storage_rank(element_type(type_))
    return 1 if type_.is_scalar else _ROW_WORDS + len(type_.shape or ())


def _cell_storage_rank(type_: Type) -> int:
    """How many axes what cells hold has: the array of all, or the rows of references."""
    return 2 if has_unknown_size(type_) else 1 + len(type_.shape or ())
