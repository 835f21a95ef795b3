"""Profiles of backends: the verdict on a backend for each op, combination of dtypes and group of operands. A comparison
of two profiles shows what a new version of a backend gains, loses and changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .sweep import SweepResult


@dataclass
class BackendProfile:
    """The behaviour of a backend: the verdict and its reason, by op with dtypes, and by group of operands."""

    backend: str
    """The name and the version of the backend."""
    ops: dict[str, dict[str, str]] = field(default_factory=dict)

    def add(self, result: SweepResult) -> None:
        """Add a result of the sweep."""
        self.ops.setdefault(result.label, {})[result.group] = f"{result.verdict} {result.reason}".rstrip()

    def to_json(self) -> dict[str, Any]:
        """The profile as JSON data."""
        return {"backend": self.backend, "ops": self.ops}


def read_profile(data: Any) -> BackendProfile | None:
    """The profile in JSON data; None if the data are not a profile."""
    match data:
        case {"backend": str(backend), "ops": dict(ops)} if all(map(_has_behaviours, ops.values())):
            return BackendProfile(backend, ops)
    return None


def _has_behaviours(groups: Any) -> bool:
    return isinstance(groups, dict) and all(isinstance(behaviour, str) for behaviour in groups.values())


class ProfileChange(NamedTuple):
    """A group of operands for which the behaviour of a backend differs between two profiles."""

    label: str
    group: str
    old_behaviour: str
    new_behaviour: str

    @property
    def kind(self) -> str:
        """`lost` if the backend was alike and is not, `gained` if it is alike and was not, else `changed`."""
        was_alike, is_alike = (_is_alike(behaviour) for behaviour in (self.old_behaviour, self.new_behaviour))
        return "changed" if was_alike == is_alike else "gained" if is_alike else "lost"


def _is_alike(behaviour: str) -> bool:
    return behaviour.partition(" ")[0] == "alike"


def compare_profiles(
    old_profile: Mapping[str, Mapping[str, str]], new_profile: Mapping[str, Mapping[str, str]]
) -> Iterator[ProfileChange]:
    """The changes of the ops and groups that both profiles have. Refusals are compared by their kinds; errors, crashes
    and hangs only by the verdict, since messages vary.

    >>> old = {"add int8": {"ordinary": "refused kernel: no int8"}, "exp float32": {"ordinary": "alike"}}
    >>> new = {"add int8": {"ordinary": "alike"}, "exp float32": {"ordinary": "different 1 of 3 differ"}}
    >>> [(change.kind, change.label) for change in compare_profiles(old, new)]
    [('gained', 'add int8'), ('lost', 'exp float32')]
    """
    for label, groups in new_profile.items():
        for group, behaviour in groups.items():
            former = old_profile.get(label, {}).get(group)
            if former is not None and _without_message(former) != _without_message(behaviour):
                yield ProfileChange(label, group, former, behaviour)


def _without_message(behaviour: str) -> str:
    verdict, _, reason = behaviour.partition(" ")
    match verdict:
        case "refused":
            return f"refused {reason.partition(':')[0]}"
        case "error" | "crash" | "hang":
            return verdict
    return behaviour
