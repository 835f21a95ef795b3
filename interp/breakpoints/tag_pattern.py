"""Patterns of tags: `main/fib/**/loop[3]`. A pattern consists of steps: `*` matches one step of a tag, `**` any number.

    pattern = step {"/" step}
    step    = "**" | ("*" | NAME) ["[" (INTEGER | "*") "]"]

NAME is the name of a call or a loop, or `function.name` if several functions have one of that name. A loop without
brackets matches any iteration, as with `[*]`; `*` with brackets matches loops only. The first step of a tag is `main`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ...core.errors import Usage
from ...core.graph.graph import Graph
from ...core.tag import ENVIRONMENT, Site, Tag
from ...core.text.fault import START, SourcePosition, SyntaxFault
from .syntax import abbreviate, unknown_name

_STEP_PATTERN = re.compile(r"(?P<name>\*|[^\[\]*]+)(?:\[(?P<iteration>\*|[0-9]{1,18})\])?")
_CACHE_LIMIT = 50_000


def sites_of(graph: Graph) -> tuple[Site, ...]:
    """The sites of a graph, the environment's first."""
    return tuple(dict.fromkeys((ENVIRONMENT, *(node.site for node in graph.nodes if node.site is not None))))


def site_names(site: Site) -> tuple[str, ...]:
    """The names of a site, the full one first.

    >>> site_names(Site("fib", "loop", "loop")), site_names(ENVIRONMENT)
    (('fib.loop', 'loop'), ('main',))
    """
    return (str(site), site.name) if site.function else (site.name,)


def compile_tag_pattern(
    text: str, graph: Graph, position: SourcePosition = START, *, operator: str = "matches"
) -> Callable[[Tag], bool]:
    """Compile a pattern into a predicate on the tags of runs of this graph: whether a tag matches; with `operator`
    "in", whether the tag or one of its ancestors does.

    Raises SyntaxFault if the text, which begins at `position`, is not a pattern, or if no tag of this graph can match
    it.
    """
    steps = []
    for step in text.split("/"):
        steps.append((step, position))
        position = position.after(f"{step}/")
    if operator == "in":
        steps.append(("**", position))
    return _TagAutomaton(collapse_wildcards(steps), sites_of(graph)).matches


def collapse_wildcards(steps: Iterable[tuple[str, SourcePosition]]) -> list[tuple[str, SourcePosition]]:
    """Remove each `**` that follows another: `**/**` is the same as `**`."""
    collapsed: list[tuple[str, SourcePosition]] = []
    for step, position in steps:
        if not (step == "**" and collapsed and collapsed[-1][0] == "**"):
            collapsed.append((step, position))
    return collapsed


class _TagAutomaton:
    """A pattern as a nondeterministic automaton that reads a tag from the root. A set of states is an integer: bit i is
    set if the first i steps match everything read so far. The sets are cached by tag, so that a child of a tag seen
    before costs one step at any depth."""

    def __init__(self, steps: list[tuple[str, SourcePosition]], sites: tuple[Site, ...]) -> None:
        self.any_iteration = dict.fromkeys(sites, 0)
        """By site, the steps that match any of its iterations, as bits."""
        self.by_iteration: dict[tuple[Site, int], int] = {}
        """By site and iteration, the steps that match that iteration only."""
        self.wildcards = 0
        """The steps `**`, as bits."""
        for number, (step, position) in enumerate(steps):
            if step == "**":
                self.wildcards |= 1 << number
            else:
                self._add_step(step, 1 << number, position)
        self.start_states = self._epsilon_closure(1)
        self.accepting = 1 << len(steps)
        self.cache: dict[Tag, int] = {}
        if not self._transition(self.start_states, ENVIRONMENT, 0):
            required, hint = "a pattern that begins with main, * or **", "write `**/` before it"
            raise SyntaxFault("no tag begins like this", steps[0][1], kind=Usage, required=required, hint=hint)

    def _add_step(self, step: str, bit: int, position: SourcePosition) -> None:
        match = _STEP_PATTERN.fullmatch(step)
        if match is None:
            raise SyntaxFault(
                "this is not a step of a tag", position, required="a step, such as fib, loop[3], loop[*], * or **"
            )
        name, iteration = match["name"], match["iteration"]
        sites = find_sites(name, position, tuple(self.any_iteration))
        matching_sites = [site for site in sites if iteration is None or site.kind == "loop"]
        if not matching_sites:
            hint = f"write `{name}`" if name != "*" else "this graph has no loop"
            raise SyntaxFault("a call has no iterations", position, kind=Usage, hint=hint)
        for site in matching_sites:
            if iteration in (None, "*"):
                self.any_iteration[site] |= bit
            else:
                self.by_iteration[site, int(iteration)] = self.by_iteration.get((site, int(iteration)), 0) | bit

    def _epsilon_closure(self, states: int) -> int:
        """The states, and those reached when a `**` matches no step. No two `**` are adjacent, so one pass is
        enough."""
        return states | (states & self.wildcards) << 1

    def _transition(self, states: int, site: Site, iteration: int) -> int:
        """The states after one more step of the tag."""
        matching = self.any_iteration.get(site, 0) | self.by_iteration.get((site, iteration), 0)
        return self._epsilon_closure((states & matching) << 1 | states & self.wildcards)

    def matches(self, tag: Tag) -> bool:
        """Whether the pattern matches a tag."""
        cache = self.cache
        states = cache.get(tag)
        if states is None:
            if len(cache) > _CACHE_LIMIT + 2 * tag.depth:  # room for two paths from the root, so that clearing is rare
                cache.clear()
            states = self._states_after(tag)
        return bool(states & self.accepting)

    def _states_after(self, tag: Tag) -> int:
        states, unread = None, []
        ancestor: Tag | None = tag
        while ancestor is not None and (states := self.cache.get(ancestor)) is None:
            unread.append(ancestor)
            ancestor = ancestor.parent
        states = self.start_states if states is None else states
        for ancestor in reversed(unread):
            states = self.cache[ancestor] = self._transition(states, ancestor.site, ancestor.iteration)
        return states


def find_sites(name: str, position: SourcePosition, sites: tuple[Site, ...]) -> list[Site]:
    """The sites of this name, or all for `*`; raises SyntaxFault if there is none."""
    matches = [site for site in sites if name == "*" or name in site_names(site)]
    if not matches:
        short_names = list(dict.fromkeys(site.name for site in sites))
        raise unknown_name(
            f"no call or loop is called {abbreviate(name)!r}", name, position, short_names, alternatives=map(str, sites)
        )
    return matches
