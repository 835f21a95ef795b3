"""The algebra of tags: laws T1 to T4 on random paths and on very deep ones, and the printed form of tags."""

from __future__ import annotations

import sys
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tagloom.core.tag import ENVIRONMENT, ROOT, Site, Tag

DEEP = 300_000
CALLS = [Site("main", "f", "call"), Site("f", "f", "call"), Site("f", "g", "call")]
LOOPS = [Site("main", "loop", "loop"), Site("f", "loop", "loop"), Site("f", "f", "loop")]
Step: TypeAlias = tuple[Site, int]

steps = st.tuples(st.sampled_from(CALLS), st.just(0)) | st.tuples(st.sampled_from(LOOPS), st.integers(0, 3))
paths = st.lists(steps, max_size=8).map(tuple)


def tag_of(path: tuple[Step, ...]) -> Tag:
    """The tag at the end of a path, by calls."""
    tag = ROOT
    for site, iteration in path:
        tag = tag.child(site, iteration)
    return tag


def tag_by_steps(path: tuple[Step, ...]) -> Tag:
    """The same tag, as a machine creates it: loops are entered at 0 and continue step by step."""
    tag = ROOT
    for site, iteration in path:
        tag = tag.child(site)
        for _ in range(iteration):
            tag = tag.next_iteration()
    return tag


@given(paths, steps)
def test_t1_parent_undoes_child(path: tuple[Step, ...], step: Step) -> None:
    """T1: the parent of a child is the tag from which it was created, and the child is one deeper."""
    tag = tag_of(path)
    child = tag.child(*step)
    assert child.parent is tag and child.depth == tag.depth + 1 == len(path) + 1
    assert (child.site, child.iteration) == step


@given(paths, paths, steps, steps)
def test_t2_the_whole_parent_counts(one: tuple[Step, ...], other: tuple[Step, ...], step: Step, last: Step) -> None:
    """T2: children are equal only if their parents, sites and iterations are equal; a parent's iteration counts too."""
    assert (tag_of(one).child(*step) == tag_of(other).child(*last)) == (one == other and step == last)


@given(paths, st.sampled_from(LOOPS), st.sampled_from(CALLS), paths)
def test_t2_calls_of_different_iterations(
    path: tuple[Step, ...], loop: Site, call: Site, below: tuple[Step, ...]
) -> None:
    """T2: activations that are called from two iterations of a loop are distinct, however far below."""
    first = tag_of((*path, (loop, 0), (call, 0), *below))
    second = tag_of((*path, (loop, 1), (call, 0), *below))
    assert first != second and first.path() != second.path()


@given(paths, st.sampled_from(LOOPS), st.integers(0, 2**40))
def test_t3_following_is_the_next_iteration(path: tuple[Step, ...], loop: Site, iteration: int) -> None:
    """T3: the tag that follows iteration k of a loop is iteration k + 1 of the same loop, entered from the same tag."""
    tag = tag_of(path)
    following = tag.child(loop, iteration).next_iteration()
    assert following == tag.child(loop, iteration + 1) and following.parent is tag


def test_t3_the_root_has_no_following() -> None:
    """T3: the root is no iteration, so no tag follows it."""
    with pytest.raises(AssertionError):
        ROOT.next_iteration()


@given(paths)
def test_t4_equal_paths_make_equal_tags(path: tuple[Step, ...]) -> None:
    """T4: tags of equal paths are equal, hash alike and print alike, however they were created."""
    one, other = tag_of(path), tag_by_steps(path)
    assert one == other and not one != other and hash(one) == hash(other) and str(one) == str(other)
    assert {one: "found"}[other] == "found"


@given(paths, paths)
def test_t4_different_paths_make_different_tags(one: tuple[Step, ...], other: tuple[Step, ...]) -> None:
    """T4: tags are equal only if their paths are equal."""
    assert (tag_of(one) == tag_of(other)) == (one == other) == (not tag_of(one) != tag_of(other))
    assert tag_of(one).path() == one


def test_t4_survives_colliding_hashes() -> None:
    """T4: tags are compared by their whole paths, even if all keys on the way are equal."""

    def keyless(path: tuple[Step, ...]) -> Tag:
        tag = ROOT
        for step in path:
            tag = tag.child(*step)._replace(key=0)
        return tag

    rest = [(CALLS[1], 0)] * 1_000
    one, again, other = (keyless(((LOOPS[0], first), *rest)) for first in (0, 0, 1))
    assert one == again and one != other and hash(one) == hash(other)


@pytest.mark.parametrize("other", [(), "main", None, 0, tuple(ROOT)], ids=["()", "main", "None", "0", "a tuple"])
def test_t4_a_tag_is_equal_to_tags_only(other: object) -> None:
    """T4: a tag is not equal to a plain tuple."""
    assert other != ROOT and not other == ROOT


def test_steps_go_outwards() -> None:
    """The activations around a tag come innermost first; the last is the root, which is no step of a path."""
    tag = tag_of(((LOOPS[0], 2), (CALLS[1], 0)))
    assert [str(step) for step in tag.self_and_ancestors()] == ["main/loop[2]/f", "main/loop[2]", "main"]
    assert list(ROOT.self_and_ancestors()) == [ROOT] and ROOT.path() == () and ROOT.site is ENVIRONMENT


def deep(last: int = 0) -> Tag:
    tag = ROOT.child(LOOPS[0], last)
    for _ in range(DEEP - 1):
        tag = tag.child(CALLS[1])
    return tag


@pytest.mark.full
def test_deep_tags_need_no_stack() -> None:
    """At depth 300,000, with Python's usual recursion limit, tags compare, hash, print, list their path, and are
    freed."""
    assert sys.getrecursionlimit() < DEEP // 10
    one, other, different = deep(), deep(), deep(last=1)
    assert one == other and hash(one) == hash(other) and one != different
    assert len(one.path()) == DEEP and one.depth == DEEP and {one, other, different} == {one, different}
    assert str(one) == f"main/loop[0]/f/f/f/...{DEEP - 10:,} more.../f/f/f/f/f/f"
    del one, other, different


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "main"),
        (((CALLS[0], 0),), "main/f"),
        (((LOOPS[0], 4), (CALLS[0], 0), (LOOPS[1], 0)), "main/loop[4]/f/loop[0]"),
        (((CALLS[1], 0),) * 20, "main" + "/f" * 20),
        (((CALLS[1], 0),) * 21, "main/f/f/f/f/...11 more.../f/f/f/f/f/f"),
        (((CALLS[1], 0),) * 1_010, "main/f/f/f/f/...1,000 more.../f/f/f/f/f/f"),
    ],
)
def test_the_printed_form_of_tags(path: tuple[Step, ...], text: str) -> None:
    """A tag prints as its path; a deep one leaves out its middle, with the number of steps."""
    assert str(tag_of(path)) == text and repr(tag_of(path)) == f"<{text}>"


def test_a_site_prints_with_its_function() -> None:
    """A site is a node of a function."""
    assert str(LOOPS[1]) == "f.loop"
