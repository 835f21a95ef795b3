"""The algebra of tags: laws T1 to T4 on random paths, on very deep ones, and how a tag is written."""

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


def at(path: tuple[Step, ...]) -> Tag:
    """The tag at the end of a path, made by calling."""
    tag = ROOT
    for site, iteration in path:
        tag = tag.child(site, iteration)
    return tag


def walked(path: tuple[Step, ...]) -> Tag:
    """The same tag, made as a machine makes it: loops are entered at 0 and go on step by step."""
    tag = ROOT
    for site, iteration in path:
        tag = tag.child(site)
        for _ in range(iteration):
            tag = tag.next_iteration()
    return tag


@given(paths, steps)
def test_t1_parent_undoes_child(path: tuple[Step, ...], step: Step) -> None:
    """T1: the parent of a child is the tag that it was made from, and the child is one deeper."""
    tag = at(path)
    child = tag.child(*step)
    assert child.parent is tag and child.depth == tag.depth + 1 == len(path) + 1
    assert (child.site, child.iteration) == step


@given(paths, paths, steps, steps)
def test_t2_the_whole_parent_counts(one: tuple[Step, ...], other: tuple[Step, ...], step: Step, last: Step) -> None:
    """T2: children are equal only if their parents, sites and iterations are; a parent's iteration counts too."""
    assert (at(one).child(*step) == at(other).child(*last)) == (one == other and step == last)


@given(paths, st.sampled_from(LOOPS), st.sampled_from(CALLS), paths)
def test_t2_calls_of_different_iterations(
    path: tuple[Step, ...], loop: Site, call: Site, below: tuple[Step, ...]
) -> None:
    """T2: what is called from two iterations of a loop never meets, however far below."""
    first = at((*path, (loop, 0), (call, 0), *below))
    second = at((*path, (loop, 1), (call, 0), *below))
    assert first != second and first.path() != second.path()


@given(paths, st.sampled_from(LOOPS), st.integers(0, 2**40))
def test_t3_following_is_the_next_iteration(path: tuple[Step, ...], loop: Site, iteration: int) -> None:
    """T3: the tag that follows iteration k of a loop is iteration k + 1 of the same loop, entered from the same tag."""
    tag = at(path)
    following = tag.child(loop, iteration).next_iteration()
    assert following == tag.child(loop, iteration + 1) and following.parent is tag


def test_t3_the_root_has_no_following() -> None:
    """T3: the outermost activation is no iteration."""
    with pytest.raises(AssertionError):
        ROOT.next_iteration()


@given(paths)
def test_t4_equal_paths_make_equal_tags(path: tuple[Step, ...]) -> None:
    """T4: however a path was made, its tags are equal, hash alike and read alike."""
    one, other = at(path), walked(path)
    assert one == other and not one != other and hash(one) == hash(other) and str(one) == str(other)
    assert {one: "found"}[other] == "found"


@given(paths, paths)
def test_t4_different_paths_make_different_tags(one: tuple[Step, ...], other: tuple[Step, ...]) -> None:
    """T4: tags are equal only if their paths are, and the path says all that a tag is."""
    assert (at(one) == at(other)) == (one == other) == (not at(one) != at(other))
    assert at(one).path() == one


def test_t4_survives_colliding_hashes() -> None:
    """T4: tags are told apart by their paths, to the far end, even if all keys on the way are the same."""

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
    """T4: a tag is no plain tuple."""
    assert other != ROOT and not other == ROOT


def test_steps_go_outwards() -> None:
    """The activations around a tag come innermost first; the last is the root, which is no step of a path."""
    tag = at(((LOOPS[0], 2), (CALLS[1], 0)))
    assert [str(step) for step in tag.self_and_ancestors()] == ["main/loop[2]/f", "main/loop[2]", "main"]
    assert list(ROOT.self_and_ancestors()) == [ROOT] and ROOT.path() == () and ROOT.site is ENVIRONMENT


def deep(last: int = 0) -> Tag:
    tag = ROOT.child(LOOPS[0], last)
    for _ in range(DEEP - 1):
        tag = tag.child(CALLS[1])
    return tag


@pytest.mark.full
def test_depth_costs_no_recursion() -> None:
    """At depth 300,000, under Python's usual limit, tags compare, hash, print, list their path, and are freed."""
    assert sys.getrecursionlimit() < DEEP // 10
    one, other, different = deep(), deep(), deep(last=1)
    assert one == other and hash(one) == hash(other) and one != different
    assert len(one.path()) == DEEP and one.depth == DEEP and {one, other, different} == {one, different}
    assert str(one) == f"main/loop[0]/f/f/f/...{DEEP - 10:,} more.../f/f/f/f/f/f"
    del one, other, different


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ((), "main"),
        (((CALLS[0], 0),), "main/f"),
        (((LOOPS[0], 4), (CALLS[0], 0), (LOOPS[1], 0)), "main/loop[4]/f/loop[0]"),
        (((CALLS[1], 0),) * 20, "main" + "/f" * 20),
        (((CALLS[1], 0),) * 21, "main/f/f/f/f/...11 more.../f/f/f/f/f/f"),
        (((CALLS[1], 0),) * 1_010, "main/f/f/f/f/...1,000 more.../f/f/f/f/f/f"),
    ],
)
def test_how_a_tag_is_written(path: tuple[Step, ...], said: str) -> None:
    """A tag is written as its path; the middle of a deep one is left out, and counted."""
    assert str(at(path)) == said and repr(at(path)) == f"<{said}>"


def test_a_site_is_written_with_its_function() -> None:
    """A site is a node of a function."""
    assert str(LOOPS[1]) == "f.loop"
