"""Patterns of tags: `main/fib/**/loop[3]`. A pattern is steps, of which `*` matches one and `**` any number.

    pattern = step {"/" step}
    step    = "**" | ("*" | NAME) ["[" (INTEGER | "*") "]"]

NAME is that of a call or a loop, or `function.name` where several functions have one of that name. A loop without
brackets is any iteration of it, as with `[*]`; `*` with brackets is a loop. The first step of a tag is `main`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ...core.errors import Usage
from ...core.graph.graph import Graph
from ...core.tag import ENVIRONMENT, Site, Tag
from .fault import Fault, brief, unknown

_STEP = re.compile(r"(?P<name>\*|[^\[\]*]+)(?:\[(?P<iteration>\*|[0-9]{1,18})\])?")
_REMEMBERED = 50_000


def sites_of(graph: Graph) -> tuple[Site, ...]:
    """The sites of a graph, that of the environment first."""
    return tuple(dict.fromkeys((ENVIRONMENT, *(node.site for node in graph.nodes if node.site is not None))))


def names_of(site: Site) -> tuple[str, ...]:
    """What a site goes by, in full first.

    >>> names_of(Site("fib", "loop", "loop")), names_of(ENVIRONMENT)
    (('fib.loop', 'loop'), ('main',))
    """
    return (str(site), site.name) if site.function else (site.name,)


def tag_pattern(text: str, graph: Graph, spot: int, *, within: str = "matches") -> Callable[[Tag], bool]:
    """Whether a tag of a run of this graph matches; `within` "in": whether it or a tag around it does.

    Raises Fault, at an offset from `spot`, where the text is no pattern, or one that no tag of this graph matches.
    """
    steps, at = [], spot
    for step in text.split("/"):
        steps.append((step, at))
        at += len(step) + 1
    if within == "in":
        steps.append(("**", at))
    return _Pattern(_once(steps), sites_of(graph)).matches


def _once(steps: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Without the `**` that stand behind another: `**/**` is `**`."""
    kept: list[tuple[str, int]] = []
    for step, spot in steps:
        if not (step == "**" and kept and kept[-1][0] == "**"):
            kept.append((step, spot))
    return kept


class _Pattern:
    """A pattern as an automaton that reads a tag from the root. Its states are bits: bit i is set where the first i
    steps match all that was read. What it has read of a tag it remembers, so that the next tag below costs a step,
    at any depth."""

    def __init__(self, steps: list[tuple[str, int]], sites: tuple[Site, ...]) -> None:
        self.every = dict.fromkeys(sites, 0)
        """By site, the steps that match any iteration of it."""
        self.at: dict[tuple[Site, int], int] = {}
        """By site and iteration, the steps that match that one only."""
        self.any = 0
        """The steps that match any number of steps."""
        for number, (step, spot) in enumerate(steps):
            if step == "**":
                self.any |= 1 << number
            else:
                self._add(step, 1 << number, spot)
        self.start = self._closed(1)
        self.done = 1 << len(steps)
        self.known: dict[Tag, int] = {}
        if not self._after(self.start, ENVIRONMENT, 0):
            required, hint = "a pattern that begins with main, * or **", "write `**/` before it"
            raise Fault("no tag begins so", steps[0][1], kind=Usage, required=required, hint=hint)

    def _add(self, step: str, bit: int, spot: int) -> None:
        found = _STEP.fullmatch(step)
        if found is None:
            raise Fault("this is no step of a tag", spot, required="a step, such as fib, loop[3], loop[*], * or **")
        name, iteration = found["name"], found["iteration"]
        named = _named(name, spot, tuple(self.every))
        fitting = [site for site in named if iteration is None or site.kind == "loop"]
        if not fitting:
            hint = f"write `{name}`" if name != "*" else "this graph has no loop"
            raise Fault("a call has no iterations", spot, kind=Usage, hint=hint)
        for site in fitting:
            if iteration in (None, "*"):
                self.every[site] |= bit
            else:
                self.at[site, int(iteration)] = self.at.get((site, int(iteration)), 0) | bit

    def _closed(self, states: int) -> int:
        """With what is reached when `**` matches no step. No two stand side by side, so that once is enough."""
        return states | (states & self.any) << 1

    def _after(self, states: int, site: Site, iteration: int) -> int:
        """The states after one more step."""
        matching = self.every.get(site, 0) | self.at.get((site, iteration), 0)
        return self._closed((states & matching) << 1 | states & self.any)

    def matches(self, tag: Tag) -> bool:
        known = self.known
        states = known.get(tag)
        if states is None:
            if len(known) > _REMEMBERED + 2 * tag.depth:  # more than one walk, so that walks are rare
                known.clear()
            states = self._read(tag)
        return bool(states & self.done)

    def _read(self, tag: Tag) -> int:
        states, unread = None, []
        at: Tag | None = tag
        while at is not None and (states := self.known.get(at)) is None:
            unread.append(at)
            at = at.parent
        states = self.start if states is None else states
        for each in reversed(unread):
            states = self.known[each] = self._after(states, each.site, each.iteration)
        return states


def _named(name: str, spot: int, sites: tuple[Site, ...]) -> list[Site]:
    named = [site for site in sites if name == "*" or name in names_of(site)]
    if not named:
        short = list(dict.fromkeys(site.name for site in sites))
        raise unknown(f"no call or loop is called {brief(name)!r}", name, spot, short, longer=map(str, sites))
    return named
