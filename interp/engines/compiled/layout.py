"""Calling convention: how arguments and results of generated functions are passed in typed slots.

A generated function for one phase has a slot for each value. Phases that recur through each other share one generated
function, which takes the phase to run as an argument; for each slot type it has as many slots as the phase with the
most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ....core import dtypes
from ....core.dtypes import DType
from ....core.types import HandleType, Type, element_type
from ..jit.kernels import LANE_TYPES, lane
from .phases import FunctionPhase, PhaseKey

SlotTypes: TypeAlias = tuple[str, ...]
"""The types of slots: a lane or, for an array or a handle of cells, the numba type."""
_FULL_FLAGS_TYPE = "Array(boolean, 1, 'C')"
_ZERO_LITERALS = {"b": "False", "i": "0", "u": "uint64(0)", "f": "0.0"}


def slot_type(type_: Type) -> str:
    """The slot type of a value."""
    if isinstance(type_.dtype, HandleType):
        return f"Tuple(({_cell_storage_type(element_type(type_))}, {_FULL_FLAGS_TYPE}))"
    if type_.is_scalar:
        return lane(type_.dtype)
    assert type_.shape is not None
    return f"Array({numba_dtype(type_.dtype)}, {len(type_.shape)}, 'C')"


def has_unknown_size(type_: Type) -> bool:
    """Whether a size of an array is dynamic."""
    return type_.shape is None or None in type_.shape


def _cell_storage_type(type_: Type) -> str:
    """The numba type of the storage of cells: an array of values, or rows of references to arrays."""
    whole = (
        Type(dtypes.int64, (None, None)) if has_unknown_size(type_) else Type(type_.dtype, (None, *(type_.shape or ())))
    )
    return slot_type(whole)


def numba_dtype(dtype: DType) -> str:
    """The numba dtype of the elements of an array."""
    return "boolean" if dtype is dtypes.bool else repr(dtype)


def axes_tuple(type_: Type) -> str:
    """Text of a tuple with a number for each axis of an array."""
    return f"({'0, ' * len(type_.shape or ())})"


def slot_types(types: Iterable[Type]) -> SlotTypes:
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


def merge_slot_types(many: Sequence[SlotTypes]) -> SlotTypes:
    """The fewest slots that fit the arguments of each of several functions."""
    if len(many) == 1:
        return many[0]
    most: Counter[str] = Counter()
    for each in many:
        most |= Counter(each)
    return tuple(sorted(most.elements()))


def slot_positions(wanted: SlotTypes, given: SlotTypes) -> list[int]:
    """The positions in `given` of the slots in `wanted`."""
    if wanted == given:
        return list(range(len(given)))
    left = {kind: [at for at, each in enumerate(given) if each == kind] for kind in set(wanted)}
    return [left[kind].pop(0) for kind in wanted]


def fill_slots(texts: Sequence[str], wanted: SlotTypes, given: SlotTypes) -> list[str]:
    """Text of each slot of a call, cast to exactly its lane: for a literal, numba would compile a recursive function
    again, and not find it on disk."""
    made = list(map(zero_expression, given))
    for at, text in zip(slot_positions(wanted, given), texts, strict=True):
        made[at] = text
    return [
        f"{LANE_TYPES[each]}({text})" if each in LANE_TYPES else text for each, text in zip(given, made, strict=True)
    ]


def numba_type(slot: str) -> str:
    """The numba type of a slot."""
    return LANE_TYPES.get(slot, slot)


def numba_result_type(given: SlotTypes) -> str:
    """The numba type of a result with these slots."""
    return numba_type(given[0]) if len(given) == 1 else f"Tuple(({''.join(f'{numba_type(each)}, ' for each in given)}))"


def tuple_expression(texts: Sequence[str]) -> str:
    """Text of a result with these slots."""
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
        return any(each.function.pullbacks for each in self.members)

    @property
    def parameters(self) -> SlotTypes:
        """The slots of the arguments."""
        return merge_slot_types([slot_types(each.parameters) for each in self.members])

    @property
    def results(self) -> SlotTypes:
        """The slots of the results; one dummy slot where there is none."""
        return merge_slot_types([slot_types(each.results) for each in self.members]) or ("i",)

    @property
    def has_arrays(self) -> bool:
        """Whether its results include arrays or cells."""
        return any(each not in LANE_TYPES for each in self.results)

    @property
    def implicit_parameters(self) -> list[tuple[str, str]]:
        """The parameters before the arguments: names and numba types."""
        made = [("s", "int64"), ("left", "int64"), *[("record", "int64")] * self.has_tape]
        return [*made, *[("key", "uint64")] * self.has_tag_key, *[("which", "int64")] * (len(self.members) > 1)]

    @property
    def signature(self) -> str:
        hidden = [said for _, said in self.implicit_parameters]
        return f"{numba_result_type(self.results)}({', '.join([*hidden, *map(numba_type, self.parameters)])})"

    def phase_index(self, key: PhaseKey) -> int:
        return [member.key for member in self.members].index(key)
