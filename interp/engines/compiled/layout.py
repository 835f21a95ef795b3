"""How the arguments and results of functions are passed: in slots, each in its lane.

A function alone has a slot for each. Functions that recur through each other are one function in the text, which is
told which of them it is; that one has as many slots of each lane as the one with most.
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
"""Each is a lane, or, of an array or a handle of cells, what numba calls its type."""
_FULL_FLAGS_TYPE = "Array(boolean, 1, 'C')"
_ZERO_LITERALS = {"b": "False", "i": "0", "u": "uint64(0)", "f": "0.0"}


def slot_type(type_: Type) -> str:
    """Where a value of a type is passed."""
    if isinstance(type_.dtype, HandleType):
        return f"Tuple(({_cell_storage_type(element_type(type_))}, {_FULL_FLAGS_TYPE}))"
    if type_.is_scalar:
        return lane(type_.dtype)
    assert type_.shape is not None
    return f"Array({numba_dtype(type_.dtype)}, {len(type_.shape)}, 'C')"


def has_unknown_size(type_: Type) -> bool:
    """Whether the size of an array is not known."""
    return type_.shape is None or None in type_.shape


def _cell_storage_type(type_: Type) -> str:
    """What numba calls the values of cells: an array, or references to arrays."""
    whole = (
        Type(dtypes.int64, (None, None)) if has_unknown_size(type_) else Type(type_.dtype, (None, *(type_.shape or ())))
    )
    return slot_type(whole)


def numba_dtype(dtype: DType) -> str:
    """What numba calls the elements of an array."""
    return "boolean" if dtype is dtypes.bool else repr(dtype)


def axes_tuple(type_: Type) -> str:
    """Text of a number for each axis of an array."""
    return f"({'0, ' * len(type_.shape or ())})"


def slot_types(types: Iterable[Type]) -> SlotTypes:
    return tuple(map(slot_type, types))


def zero_expression(slot: str) -> str:
    """What stands where nothing is."""
    if slot in _ZERO_LITERALS:
        return _ZERO_LITERALS[slot]
    if slot.startswith("Tuple(("):
        values = slot[len("Tuple((") : -len(f", {_FULL_FLAGS_TYPE}))")]
        return f"({zero_expression(values)}, {zero_expression(_FULL_FLAGS_TYPE)})"
    dtype, rank, _ = slot[len("Array(") :].split(", ")
    return f"e.null_array({numpy_dtype(dtype)}, ({'0, ' * int(rank)}))"


def numpy_dtype(element: str) -> str:
    """What NumPy calls such elements."""
    return "np.bool_" if element == "boolean" else f"np.{element}"


def merge_slot_types(many: Sequence[SlotTypes]) -> SlotTypes:
    """Slots in which the arguments of each of many functions have their places."""
    if len(many) == 1:
        return many[0]
    most: Counter[str] = Counter()
    for each in many:
        most |= Counter(each)
    return tuple(sorted(most.elements()))


def slot_positions(wanted: SlotTypes, given: SlotTypes) -> list[int]:
    """Which of the slots given are for values in the slots wanted."""
    if wanted == given:
        return list(range(len(given)))
    left = {kind: [at for at, each in enumerate(given) if each == kind] for kind in set(wanted)}
    return [left[kind].pop(0) for kind in wanted]


def fill_slots(texts: Sequence[str], wanted: SlotTypes, given: SlotTypes) -> list[str]:
    """What is in each slot where these are passed, of exactly its lane: for a literal numba would compile a function
    that recurs anew, and not find it again on disk."""
    made = list(map(zero_expression, given))
    for at, text in zip(slot_positions(wanted, given), texts, strict=True):
        made[at] = text
    return [
        f"{LANE_TYPES[each]}({text})" if each in LANE_TYPES else text for each, text in zip(given, made, strict=True)
    ]


def numba_type(slot: str) -> str:
    """What numba calls the type of what is in a slot."""
    return LANE_TYPES.get(slot, slot)


def numba_result_type(given: SlotTypes) -> str:
    """What numba calls a result of such slots."""
    return numba_type(given[0]) if len(given) == 1 else f"Tuple(({''.join(f'{numba_type(each)}, ' for each in given)}))"


def tuple_expression(texts: Sequence[str]) -> str:
    """Text of a result of such slots."""
    return texts[0] if len(texts) == 1 else f"({''.join(f'{text}, ' for text in texts)})"


@dataclass(frozen=True, slots=True)
class PhaseGroup:
    """Phases of functions that are one function of the text."""

    name: str
    members: tuple[FunctionPhase, ...]
    has_tag_key: bool
    """Whether it takes the key of its tag, since it reaches a draw."""

    @property
    def has_tape(self) -> bool:
        """Whether it takes a record, since a function has further phases."""
        return any(each.function.pullbacks for each in self.members)

    @property
    def parameters(self) -> SlotTypes:
        """The slots of the arguments."""
        return merge_slot_types([slot_types(each.parameters) for each in self.members])

    @property
    def results(self) -> SlotTypes:
        """The slots of the results; one where there is none."""
        return merge_slot_types([slot_types(each.results) for each in self.members]) or ("i",)

    @property
    def has_arrays(self) -> bool:
        """Whether there are arrays or cells among its results."""
        return any(each not in LANE_TYPES for each in self.results)

    @property
    def implicit_parameters(self) -> list[tuple[str, str]]:
        """What it takes before the arguments: names, and what numba calls the types."""
        made = [("s", "int64"), ("left", "int64"), *[("record", "int64")] * self.has_tape]
        return [*made, *[("key", "uint64")] * self.has_tag_key, *[("which", "int64")] * (len(self.members) > 1)]

    @property
    def signature(self) -> str:
        hidden = [said for _, said in self.implicit_parameters]
        return f"{numba_result_type(self.results)}({', '.join([*hidden, *map(numba_type, self.parameters)])})"

    def phase_index(self, key: PhaseKey) -> int:
        return [member.key for member in self.members].index(key)
