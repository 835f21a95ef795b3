"""Profiles of backends, and the changes between two profiles."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.twins.wrong_backends import WRONG_OPS, RightBackend
from tagloom.interp.oracle.profile import BackendProfile, compare_profiles, read_profile
from tagloom.interp.oracle.sweep import sweep


def profile_of(backend: Any, op: str) -> BackendProfile:
    """The profile of a backend, for one op."""
    profile = BackendProfile(type(backend).__name__)
    for result in sweep(backend, [op]):
        profile.add(result)
    return profile


@pytest.mark.full
@pytest.mark.parametrize("twin", WRONG_OPS, ids=lambda twin: twin.__name__)
def test_a_wrong_op_changes_the_profile(twin: type[RightBackend]) -> None:
    """Each backend with a wrong op has another profile than a right one: it loses the group of operands that shows it,
    even if the policy leaves that open; the right one gains it. A profile read from JSON is the same."""
    op, group, _ = WRONG_OPS[twin]
    right, wrong = (profile_of(backend, op) for backend in (RightBackend(), twin()))
    read = read_profile(json.loads(json.dumps(right.to_json())))
    assert read == right
    assert list(compare_profiles(right.ops, read.ops)) == []
    lost = list(compare_profiles(right.ops, wrong.ops))
    assert {change.kind for change in lost} == {"lost"} and group in {change.group for change in lost}
    assert [change.kind for change in compare_profiles(wrong.ops, right.ops)] == ["gained"] * len(lost)


def test_what_changes() -> None:
    """Refusals are compared by their kinds, errors by the verdict, differences by their number; groups that one profile
    lacks are no change."""
    before = {"refused": "refused op: a", "error": "error a", "some": "different 1 of 3 differ", "old": "alike"}
    after = {"refused": "refused op: b", "error": "error b", "some": "different 2 of 3 differ", "new": "alike"}
    assert [(change.group, change.kind) for change in compare_profiles({"x": before}, {"x": after, "y": after})] == [
        ("some", "changed")
    ]
    assert [change.kind for change in compare_profiles({"x": {"a": "refused op: a"}}, {"x": {"a": "refused kernel:"}})]


@pytest.mark.parametrize(
    "data", [None, [], {}, {"backend": "a"}, {"backend": 1, "ops": {}}, {"backend": "a", "ops": {"x": []}}]
)
def test_what_is_no_profile(data: object) -> None:
    """JSON that is no profile is none."""
    assert read_profile(data) is None
