"""The layout of a generated program, computed before any text is emitted: its functions, the slots in which they pass
values, and the records of their tapes.

Each phase of a function is a generated function, with a slot for each value. Mutually recursive phases share one, a
`PhaseGroup`, which takes the phase to run as an argument; for each slot type it has as many slots as any of its phases
needs. A phase saves values for later phases in a record, whose words a `TapeLayout` assigns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

from ....core import dtypes
from ....core.dtypes import DType
from ....core.program.program import PULLBACK_TARGET, STRUCTURED_OPS, FunctionDef, Node, Operand, Program, Region, Var
from ....core.types import HandleType, Type, element_type
from ..jit.kernels import LANE_TYPES, lane

PhaseKey: TypeAlias = tuple[str, int]
"""The name of a function, and the number of one of its phases."""


class FunctionPhase(NamedTuple):
    """One phase of a function, the first being 0: a generated function."""

    function: FunctionDef
    number: int

    @property
    def key(self) -> PhaseKey:
        return self.function.name, self.number

    @property
    def parameters(self) -> list[Type]:
        """The types of its parameters."""
        return [parameter.type for parameter in region_phase(self.function.body, self.number).parameters]

    @property
    def results(self) -> tuple[Type, ...]:
        """The types of its results."""
        return self.function.phase_result_types(self.number)


class PhaseStart(NamedTuple):
    """The phase of the call, cond or loop `root` that a structured node runs; `root` itself runs phase 0."""

    root: Node
    number: int


def region_phase(region: Region, number: int) -> Region:
    """A phase of a region."""
    return list(region.phases())[number]


def phase_starts(region: Region) -> dict[str, PhaseStart]:
    """The phase that each structured node runs, in all phases of a region, by name."""
    starts: dict[str, PhaseStart] = {}
    for phase in region.phases():
        for node in phase.nodes:
            if node.op == "pullback":
                root, number = starts[node.attribute(PULLBACK_TARGET)]
                starts[node.name] = PhaseStart(root, number + 1)
            elif node.op in STRUCTURED_OPS:
                starts[node.name] = PhaseStart(node, 0)
    return starts


def later_phase_count(program: Program, root: Node) -> int:
    """The number of phases of a call, cond or loop after its first."""
    body = program[root.attribute("function")].body if root.op == "call" else root.regions[-1]
    return sum(1 for _ in body.phases()) - 1


def phase_callees(function: FunctionDef) -> list[list[PhaseKey]]:
    """For each phase of a function, the distinct phases that it calls."""
    callees: list[list[PhaseKey]] = []
    for number, _ in enumerate(function.body.phases()):
        calls: dict[PhaseKey, None] = {}
        _collect_callees(function.body, number, calls)
        callees.append(list(calls))
    return callees


def _collect_callees(region: Region, number: int, calls: dict[PhaseKey, None]) -> None:
    starts = phase_starts(region)
    for node in region_phase(region, number).nodes:
        if node.name not in starts:
            continue
        root, phase = starts[node.name]
        if root.op == "call":
            calls[root.attribute("function"), phase] = None
        for inner in root.regions if phase == 0 or root.op == "cond" else root.regions[1:]:
            _collect_callees(inner, phase, calls)


def strongly_connected_components(program: Program) -> list[tuple[FunctionPhase, ...]]:
    """The strongly connected components of the phases that a run can reach, callees before callers.

    Tarjan's algorithm, with an explicit stack.
    """
    graph = {
        (function.name, phase): calls
        for function in program.reachable_functions()
        for phase, calls in enumerate(phase_callees(function))
    }
    visit_number: dict[PhaseKey, int] = {}
    low_link: dict[PhaseKey, int] = {}
    stack, components = list[PhaseKey](), []
    visits: list[tuple[PhaseKey, int]] = [((program.entry, 0), 0)]
    while visits:
        key, start = visits.pop()
        if key not in visit_number:
            visit_number[key] = low_link[key] = len(visit_number)
            stack.append(key)
        for position in range(start, len(graph[key])):
            callee = graph[key][position]
            if callee not in visit_number:
                visits += [(key, position), (callee, 0)]
                break
            if callee in stack:
                low_link[key] = min(low_link[key], low_link[callee])
        else:
            if low_link[key] == visit_number[key]:
                members = stack[stack.index(key) :]
                del stack[-len(members) :]
                components.append(tuple(FunctionPhase(program[name], phase) for name, phase in members))
    return components


def is_recursive_group(members: tuple[FunctionPhase, ...]) -> bool:
    """Whether the phases of a component can call themselves, directly or not."""
    return len(members) > 1 or members[0].key in phase_callees(members[0].function)[members[0].number]


def has_recursion(program: Program) -> bool:
    """Whether any function can call itself."""
    return any(map(is_recursive_group, strongly_connected_components(program)))


def functions_reaching(program: Program, is_match: Callable[[Node], bool]) -> frozenset[str]:
    """The names of the functions that contain a node for which `is_match` is true, or that reach one by calls."""
    functions = program.reachable_functions()
    calls = {
        function.name: [node.attribute("function") for node in function.body.walk() if node.op == "call"]
        for function in functions
    }
    names = {function.name for function in functions if any(map(is_match, function.body.walk()))}
    while True:
        callers = {name for name in calls if name not in names and not names.isdisjoint(calls[name])}
        if not callers:
            return frozenset(names)
        names |= callers


SlotTypes: TypeAlias = tuple[str, ...]
"""The types of slots: a lane or, for an array or a handle of cells, the numba type."""
_FULL_FLAGS_TYPE = "Array(boolean, 1, 'C')"
_ZERO_LITERALS = {"b": "False", "i": "0", "u": "uint64(0)", "f": "0.0"}


def slot_type(type_: Type) -> str:
    """The slot type of a value."""
    if isinstance(type_.dtype, HandleType):
        element = element_type(type_)
        dtype = dtypes.int64 if has_unknown_size(element) else element.dtype
        return f"Tuple(({slot_type(Type(dtype, cell_storage_sizes(element)))}, {_FULL_FLAGS_TYPE}))"
    if type_.is_scalar:
        return lane(type_.dtype)
    assert type_.shape is not None
    return f"Array({numba_dtype(type_.dtype)}, {len(type_.shape)}, 'C')"


def has_unknown_size(type_: Type) -> bool:
    """Whether a size of an array is dynamic."""
    return type_.shape is None or None in type_.shape


def cell_storage_sizes(element: Type) -> tuple[int | None, ...]:
    """The sizes of the storage of cells: an array of all values, or rows of references to arrays, which are integers;
    None for dynamic ones."""
    return (None, None) if has_unknown_size(element) else (None, *(element.shape or ()))


def numba_dtype(dtype: DType) -> str:
    """The numba dtype of the elements of an array: for floats of 16 bits, which numba lacks, the dtype of their
    bits."""
    return "boolean" if dtype is dtypes.bool else "uint16" if dtype in dtypes.FLOAT_FORMATS else repr(dtype)


def is_narrow_array(type_: Type) -> bool:
    """Whether this is the type of arrays of floats of 16 bits, whose elements generated code only moves: ops on them
    are host calls."""
    return type_.dtype in dtypes.FLOAT_FORMATS and not type_.is_scalar


def axes_tuple(type_: Type) -> str:
    """Text of a tuple with a number for each axis of an array."""
    return f"({'0, ' * len(type_.shape or ())})"


def slot_types(types: Iterable[Type]) -> SlotTypes:
    """The slot types of values."""
    return tuple(map(slot_type, types))


def zero_expression(slot: str) -> str:
    """Text of the zero that fills an unused slot."""
    if slot in _ZERO_LITERALS:
        return _ZERO_LITERALS[slot]
    if slot.startswith("Tuple(("):
        values = slot[len("Tuple((") : -len(f", {_FULL_FLAGS_TYPE}))")]
        return f"({zero_expression(values)}, {zero_expression(_FULL_FLAGS_TYPE)})"
    dtype, rank, _ = slot[len("Array(") :].split(", ")
    return f"e.null_array({numpy_dtype(dtype)}, ({'0, ' * int(rank)}))"


def numpy_dtype(element: str) -> str:
    """Text of the NumPy dtype of a numba dtype."""
    return "np.bool_" if element == "boolean" else f"np.{element}"


def merge_slot_types(signatures: Sequence[SlotTypes]) -> SlotTypes:
    """The smallest list of slot types into which each of these lists fits."""
    if len(signatures) == 1:
        return signatures[0]
    counts: Counter[str] = Counter()
    for signature in signatures:
        counts |= Counter(signature)
    return tuple(sorted(counts.elements()))


def slot_positions(subset: SlotTypes, slots: SlotTypes) -> list[int]:
    """The positions in `slots` of the slots in `subset`."""
    if subset == slots:
        return list(range(len(slots)))
    free_positions = {kind: [position for position, slot in enumerate(slots) if slot == kind] for kind in set(subset)}
    return [free_positions[kind].pop(0) for kind in subset]


def fill_slots(texts: Sequence[str], subset: SlotTypes, slots: SlotTypes) -> list[str]:
    """Text of each slot of a call or of a result, cast to its lane."""
    slot_texts = list(map(zero_expression, slots))
    for position, text in zip(slot_positions(subset, slots), texts, strict=True):
        slot_texts[position] = text
    return [
        f"{LANE_TYPES[slot]}({text})" if slot in LANE_TYPES else text
        for slot, text in zip(slots, slot_texts, strict=True)
    ]


def numba_type(slot: str) -> str:
    """The numba type of a slot."""
    return LANE_TYPES.get(slot, slot)


def numba_result_type(slots: SlotTypes) -> str:
    """The numba type of a result with these slots."""
    return numba_type(slots[0]) if len(slots) == 1 else f"Tuple(({''.join(f'{numba_type(slot)}, ' for slot in slots)}))"


def tuple_expression(texts: Sequence[str]) -> str:
    """Text of a tuple; for a single item, that item."""
    return texts[0] if len(texts) == 1 else f"({''.join(f'{text}, ' for text in texts)})"


@dataclass(frozen=True, slots=True)
class PhaseGroup:
    """Phases of functions that share one generated function."""

    name: str
    members: tuple[FunctionPhase, ...]
    has_tag_key: bool
    """Whether it takes the key of its tag, since it can reach a draw."""

    @property
    def has_tape(self) -> bool:
        """Whether it takes a record, since one of its functions has later phases."""
        return any(member.function.pullback_result_types for member in self.members)

    @property
    def parameters(self) -> SlotTypes:
        """The slots of the arguments."""
        return merge_slot_types([slot_types(member.parameters) for member in self.members])

    @property
    def results(self) -> SlotTypes:
        """The slots of the results; one dummy slot where there is none."""
        return merge_slot_types([slot_types(member.results) for member in self.members]) or ("i",)

    @property
    def has_arrays(self) -> bool:
        """Whether its results include arrays or cells."""
        return any(result not in LANE_TYPES for result in self.results)

    @property
    def implicit_parameters(self) -> list[tuple[str, str]]:
        """The parameters before the arguments: names and numba types."""
        parameters = [("s", "int64"), ("left", "int64"), *[("record", "int64")] * self.has_tape]
        return [*parameters, *[("key", "uint64")] * self.has_tag_key, *[("which", "int64")] * (len(self.members) > 1)]

    @property
    def signature(self) -> str:
        """The numba signature of the generated function."""
        types = [numba for _, numba in self.implicit_parameters]
        return f"{numba_result_type(self.results)}({', '.join([*types, *map(numba_type, self.parameters)])})"

    def phase_index(self, key: PhaseKey) -> int:
        """The number of a phase in the group: the argument `which`."""
        return [member.key for member in self.members].index(key)


PREVIOUS_ITERATION, NEXT_ITERATION = 0, 1
"""The words of an iteration's record that link to its neighbours."""
LAST_ITERATION, FIRST_ITERATION, TRIP_COUNT = 0, 1, 2
"""The words of a loop."""
_LOOP_WORDS, _ITERATION_WORDS = 3, 2
ROW_WORDS = 3
"""The words of an array in a record before its sizes."""


@dataclass(frozen=True)
class TapeLayout:
    """The layout of the data that the phases of a region save for later ones: values, and data about conds, loops and
    calls.

    Each activation of a function has a record, its part of the tape, and so does each iteration of a loop with later
    phases. Data of conds, and of other loops, is in the enclosing record; the two branches of a cond share the same
    words, since only one is taken. The words of a record:

    - for a value, as many words as its type needs;
    - for a call with later phases, the address of its record;
    - for a cond, its predicate;
    - for a loop, the records of its last and its first iteration, and the number of iterations.

    The record of an iteration begins with the addresses of the records of the previous and the next iteration.
    """

    phases: tuple[Region, ...]
    phase_starts: dict[str, PhaseStart]
    """The phase that each structured node runs, by name."""
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

    def is_last(self, start: PhaseStart) -> bool:
        """Whether a phase of a node is its last."""
        return start.number == self.later_phases[start.root.name]

    @cached_property
    def variables(self) -> dict[str, Var]:
        """All values of the region, by name."""
        return {var.name: var for phase in self.phases for var in _defined_values(phase)}

    def closed_phase(self, number: int) -> Region:
        """A phase as a closed region: values from earlier phases become parameters, and values that later phases use
        become results."""
        phase, defined_names = self.phases[number], {var.name for var in _defined_values(self.phases[number])}
        parameters = [self.variables[name] for name in sorted(_used_values(phase) - defined_names)]
        saved_values = self.saved_values(number)
        return replace(
            phase, parameters=(*parameters, *phase.parameters), results=(*phase.results, *saved_values), pullback=None
        )

    def saved_values(self, number: int) -> list[str]:
        """The values that a phase saves for later ones."""
        return [var.name for var in _defined_values(self.phases[number]) if var.name in self.value_offset]


def function_tape_layout(program: Program, function: FunctionDef) -> TapeLayout:
    """The layout of a function's record."""
    return region_tape_layout(program, function.body, 0)


def region_tape_layout(program: Program, region: Region, begin: int) -> TapeLayout:
    """The layout of a region's saved data, from the offset `begin` on."""
    phases, value_offset, size = tuple(region.phases()), dict[str, int](), begin
    for var in phase_crossing_values(phases):
        value_offset[var.name] = size
        size += type_words(var.type)
    starts, structure_offset, inner_layouts = (
        phase_starts(region),
        dict[str, int](),
        dict[str, tuple[TapeLayout, ...]](),
    )
    counts = {name: later_phase_count(program, root) for name, (root, number) in starts.items() if number == 0}
    for name, count in counts.items():
        root = starts[name].root
        if count:
            structure_offset[name] = size
            size += _LOOP_WORDS if root.op == "while_loop" else 1
        if root.op == "while_loop" and count:
            condition_layout = region_tape_layout(program, root.regions[0], size)
            inner_layouts[name] = condition_layout, region_tape_layout(program, root.regions[1], _ITERATION_WORDS)
            size = condition_layout.end
        else:
            inner_layouts[name] = tuple(
                region_tape_layout(program, inner_region, size) for inner_region in root.regions
            )
            size = max((layout.end for layout in inner_layouts[name]), default=size)
    return TapeLayout(phases, starts, counts, value_offset, structure_offset, inner_layouts, begin, size)


def phase_crossing_values(phases: Sequence[Region]) -> Iterable[Var]:
    """The values that one phase defines and a later one uses."""
    crossing_values: dict[str, Var] = {}
    defined_values: dict[str, Var] = {}
    for phase in phases:
        crossing_values.update(
            (name, defined_values[name]) for name in sorted(_used_values(phase) & defined_values.keys())
        )
        defined_values.update((var.name, var) for var in _defined_values(phase))
    return crossing_values.values()


def _defined_values(phase: Region) -> list[Var]:
    return [*phase.parameters, *(var for node in phase.nodes for var in node.results)]


def _used_values(phase: Region) -> set[str]:
    operands: list[Operand] = [*phase.results, *(input_ for node in phase.nodes for input_ in node.inputs)]
    return {operand for operand in operands if isinstance(operand, str)}


def type_words(type_: Type) -> int:
    """The words that a value of a type takes in a record."""
    if isinstance(type_.dtype, HandleType):
        return 2 * ROW_WORDS + 1 + len(cell_storage_sizes(element_type(type_)))
    return 1 if type_.is_scalar else ROW_WORDS + len(type_.shape or ())
