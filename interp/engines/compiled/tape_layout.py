"""The layout of tapes. A record (one activation's piece of the tape) holds the values of a region that later phases
use, and the data that these need about conds, loops and calls. Nothing else is saved.

An activation of a function has a record, and so has each iteration of a loop with later phases. Data for conds, and for
other loops, is in the enclosing record; the two branches of a cond share the same words, since only one is taken. The
words of a record:

- for a value, as many words as its type needs;
- for a call with later phases, the address of its record;
- for a cond, its predicate;
- for a loop, the records of its last and its first iteration, and the number of iterations.

The record of an iteration begins with the addresses of the records of the previous and the next iteration.
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
"""The words of an iteration's record that link to its neighbours."""
LAST_ITERATION, FIRST_ITERATION, TRIP_COUNT = 0, 1, 2
"""The words of a loop."""
_LOOP_WORDS, _ITERATION_WORDS, _ROW_WORDS = 3, 2, 3


@dataclass(frozen=True)
class TapeLayout:
    """The layout of what is saved of a region, in all of its phases."""

    phases: tuple[Region, ...]
    phase_starts: dict[str, PhaseStart]
    """For each node that begins a phase, by name: which phase, of which node."""
    later_phases: dict[str, int]
    """The number of phases after the first of each call, cond or loop, by name."""
    value_offset: dict[str, int]
    """The offset of each saved value, by name."""
    structure_offset: dict[str, int]
    """The offset of the data of each call, cond or loop with later phases."""
    inner_layouts: dict[str, tuple[TapeLayout, ...]]
    """The layouts of the regions of each cond or loop."""
    start: int
    """The offset where the region's data begins; it ends at `end`."""
    end: int

    @property
    def is_empty(self) -> bool:
        return self.end == self.start

    def is_last(self, begun: PhaseStart) -> bool:
        """Whether a phase of a node is its last."""
        return begun.number == self.later_phases[begun.root.name]

    @cached_property
    def variables(self) -> dict[str, Var]:
        """All values of the region, by name."""
        return {var.name: var for phase in self.phases for var in _defined_values(phase)}

    def closed_phase(self, number: int) -> Region:
        """A phase as a closed region: values from earlier phases become parameters, and values that later phases use
        become results."""
        phase, own = self.phases[number], {var.name for var in _defined_values(self.phases[number])}
        taken = [self.variables[name] for name in sorted(_used_values(phase) - own)]
        given = self.saved_values(number)
        return replace(phase, parameters=(*taken, *phase.parameters), results=(*phase.results, *given), pullback=None)

    def saved_values(self, number: int) -> list[str]:
        """The values that a phase saves for later ones."""
        return [var.name for var in _defined_values(self.phases[number]) if var.name in self.value_offset]


def function_tape_layout(program: Program, function: Function) -> TapeLayout:
    """The layout of a function's record."""
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
    """The values that one phase defines and a later one uses."""
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
    """The rank of the storage of cells: of the array of all values, or of the rows of references."""
    return 2 if has_unknown_size(type_) else 1 + len(type_.shape or ())
