"""How the arguments and results of functions are passed: in slots, each in its lane.

A function alone has a slot for each. Functions that recur through each other are one function in the text, which is
told which of them it is; that one has as many slots of each lane as the one with most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...core.program import Function
from ..jit.kernels import LANES, lane

_CAST = {"b": "boolean({})", "i": "int64({})", "u": "uint64({})", "f": "float64({})"}
ZERO = {"b": "False", "i": "0", "u": "uint64(0)", "f": "0.0"}
"""What stands where nothing is."""


def lanes(types: Iterable[object]) -> str:
    return "".join(lane(type_.dtype) for type_ in types)  # type: ignore[attr-defined]


def common(many: Sequence[str]) -> str:
    """Slots in which the arguments of each of many functions have their places."""
    if len(many) == 1:
        return many[0]
    return "".join(kind * max(each.count(kind) for each in many) for kind in "biuf")


def places(wanted: str, slots: str) -> list[int]:
    """Which of the slots are for values in these lanes."""
    left = {kind: [at for at, slot in enumerate(slots) if slot == kind] for kind in set(wanted)}
    return [left[kind].pop(0) for kind in wanted] if wanted != slots else list(range(len(slots)))


def filled(texts: Sequence[str], wanted: str, slots: str) -> list[str]:
    """What is in each slot where these are passed, of exactly its lane: for a literal numba would compile a function
    that recurs anew, and not find it again on disk."""
    made = [ZERO[slot] for slot in slots]
    for at, text in zip(places(wanted, slots), texts, strict=True):
        made[at] = text
    return [_CAST[slot].format(text) for slot, text in zip(slots, made, strict=True)]


def returned(slots: str) -> str:
    """What numba calls a result of such slots."""
    kinds = [LANES[kind] for kind in slots]
    return kinds[0] if len(kinds) == 1 else f"Tuple(({''.join(f'{kind}, ' for kind in kinds)}))"


def result(texts: Sequence[str]) -> str:
    """Text of a result of such slots."""
    return texts[0] if len(texts) == 1 else f"({''.join(f'{text}, ' for text in texts)})"


@dataclass(frozen=True, slots=True)
class Component:
    """Functions that are one function of the text."""

    name: str
    members: tuple[Function, ...]
    keyed: bool
    """Whether it takes the key of its tag, since it reaches a draw."""

    @property
    def parameters(self) -> str:
        """The slots of the arguments."""
        return common([lanes(parameter.type for parameter in each.body.parameters) for each in self.members])

    @property
    def results(self) -> str:
        """The slots of the results; one where there is none."""
        return common([lanes(each.results) for each in self.members]) or "i"

    @property
    def signature(self) -> str:
        hidden = ["int64", "int64", *["uint64"] * self.keyed, *["int64"] * (len(self.members) > 1)]
        return f"{returned(self.results)}({', '.join([*hidden, *(LANES[kind] for kind in self.parameters)])})"

    def position(self, name: str) -> int:
        return [member.name for member in self.members].index(name)
