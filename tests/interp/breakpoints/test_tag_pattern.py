"""Patterns of tags match what the equivalent regular expressions match in the text of tags."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import MonkeyPatch
from support.observe.moments import RUNS, moments
from tagloom.core.tag import ROOT, Tag
from tagloom.interp.breakpoints import tag_pattern

FIB = RUNS["fib"][0]


def tags_of(run: str) -> list[Tag]:
    return list(dict.fromkeys(moment.event.token.tag for moment in moments(run)))


def as_regex(pattern: str) -> str:
    """A pattern of tags as a regular expression over `/main/loop[3]`."""
    result = ""
    for step in pattern.split("/"):
        name, _, iteration = step.partition("[")
        name = r"[^/\[]+" if name == "*" else rf"(\w+\.)?{re.escape(name)}"
        behind = {"": r"(\[\d+\])?", "*]": r"\[\d+\]"}.get(iteration, re.escape(f"[{iteration}"))
        result += r"(/[^/]+)*" if step == "**" else f"/{name}{behind}"
    return result


@st.composite
def patterns(draw: Any, run: str) -> str:
    """A pattern that is nearly a tag of the run."""
    steps = str(draw(st.sampled_from(tags_of(run)))).split("/")
    words = st.sampled_from(["*", "**", None, "cut", *(["[*]", "[1]", "*[*]", "*[2]"] if run != "fib" else [])])
    results = []
    for step in steps:
        match draw(words):
            case None:
                results.append(step)
            case "cut":
                pass
            case str(bracket) if bracket.startswith("["):
                results.append(re.sub(r"\[.*", bracket, step))
            case str(word):
                results.extend([word] * draw(st.integers(1, 2)))
    return "/".join(results if results[:1] in (["main"], ["*"], ["**"]) else ["main", *results])


def wrong_patterns(run: str, pattern: str) -> Iterator[str]:
    graph = RUNS[run][0]
    whole = tag_pattern.compile_tag_pattern(pattern, graph)
    inside = tag_pattern.compile_tag_pattern(pattern, graph, operator="in")
    for tag in tags_of(run):
        for matches, regex in ((whole, as_regex(pattern)), (inside, as_regex(pattern) + "(/.*)?")):
            if matches(tag) is not bool(re.fullmatch(regex, f"/{tag}")):
                yield f"{pattern} and {tag}"


@given(st.data(), st.sampled_from(["fib", "mixed", "count"]))
def test_patterns_match_as_regular_expressions_do(data: Any, run: str) -> None:
    """A pattern matches a tag of a run if and only if its regular expression matches the tag's text."""
    assert list(wrong_patterns(run, data.draw(patterns(run)))) == []


@pytest.mark.full
def test_deep_tags_are_matched() -> None:
    """Each tag is matched once, so that a million steps under deep tags are fast."""
    site = dict.fromkeys(FIB.calls)
    left, right = (call for call, _ in site)
    matches = tag_pattern.compile_tag_pattern("main/**/fib_1/fib/*", FIB)
    tag, actual = ROOT, 0
    for depth in range(150_000):
        tag = tag.child(left if depth % 3 else right)
        if depth > 75_000:
            actual += matches(tag)
    assert actual == 75_000 // 3
    assert len(matches.__self__.cache) <= 350_001  # type: ignore[attr-defined]


# Broken twins.


def start_anywhere(patch: MonkeyPatch) -> None:
    patch.setattr(tag_pattern._TagAutomaton, "_epsilon_closure", lambda self, states: states)


def stay_nowhere(patch: MonkeyPatch) -> None:
    patch.setattr(tag_pattern, "collapse_wildcards", lambda steps: [each for each in steps if each[0] != "**"])


@pytest.mark.parametrize("twin", [start_anywhere, stay_nowhere], ids=lambda twin: twin.__name__)
def test_wrong_patterns_are_caught(twin: Callable[[MonkeyPatch], None], monkeypatch: MonkeyPatch) -> None:
    """A twin whose `**` matches no, or only some, numbers of steps is caught."""
    pattern = "main/**/fib"
    assert not list(wrong_patterns("fib", pattern))
    twin(monkeypatch)
    assert list(wrong_patterns("fib", pattern))
