"""Tags: the call and the iteration that a token belongs to. Only this module makes tags.

A tag is a path of (site, iteration), kept as a link to its parent, so that making one costs the same at any
depth. The algebra, with `t` any tag (tests/core/test_tag.py shows each law):

T1  parent(child(t, site, k)) = t, and a child is one deeper than its parent.
T2  child(t, s, k) = child(u, r, j) only if t = u, s = r and k = j. The whole parent counts, its iteration included.
T3  next_iteration(child(t, loop, k)) = child(t, loop, k + 1).
T4  Tags are equal if and only if their paths are equal, however they were made. Equal tags have equal keys, in every
    process.

Calls follow the technique of Kostopoulou, Charalambidis and Rondogiannis (arXiv 2410.20225), loops follow TensorFlow's
frames (Yu et al., EuroSys 2018); here both are one path.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

from .hashing import name_key, splitmix64


class Site(NamedTuple):
    """An occurrence of a call or a loop in a program: the node `name` of `function`."""

    function: str
    name: str
    kind: Literal["call", "loop"]

    def __str__(self) -> str:
        return f"{self.function}.{self.name}"


@cache
def site_key(site: Site) -> int:
    """The contribution of a site to the key of a tag."""
    return name_key(f"{site.kind} {site}")


def child_key(key: int, site: Site, iteration: int) -> int:
    """The key of a child tag, from the key of its parent. The big-step evaluator, which has no tags, uses it for random
    numbers."""
    return splitmix64(key ^ site_key(site), iteration)


class Tag(NamedTuple):
    """A path of (site, iteration). Make it with `child` and `next_iteration`, starting from ROOT."""

    parent: Tag | None
    site: Site
    iteration: int
    depth: int
    key: int
    """A 64-bit hash of the whole path."""

    def child(self, site: Site, iteration: int = 0) -> Tag:
        """The tag of a call from here (iteration 0), or of an iteration of a loop entered here."""
        return Tag(self, site, iteration, self.depth + 1, child_key(self.key, site, iteration))

    def next_iteration(self) -> Tag:
        """The tag of the next iteration of the same loop (T3). The root has none."""
        assert self.parent is not None
        return self.parent.child(self.site, self.iteration + 1)

    def self_and_ancestors(self) -> Iterator[Tag]:
        """This tag and the tags around it, innermost first; the last is the root."""
        tag: Tag | None = self
        while tag is not None:
            yield tag
            tag = tag.parent

    def path(self) -> tuple[tuple[Site, int], ...]:
        """The path from the root, without the root, as plain data. Its length is the depth."""
        return tuple((tag.site, tag.iteration) for tag in self.self_and_ancestors())[-2::-1]

    @property
    def last_step(self) -> str:
        """The last step as text: `fib`, or `loop[4]`."""
        return f"{self.site.name}[{self.iteration}]" if self.site.kind == "loop" else self.site.name

    def __eq__(self, other: object) -> bool:
        """T4, without recursion: follows the links until they meet or differ."""
        if not isinstance(other, Tag):
            return False
        tag: Tag | None = self
        other_tag: Tag | None = other
        while tag is not other_tag:
            if tag is None or other_tag is None or tag.key != other_tag.key:
                return False
            if tag.site != other_tag.site or tag.iteration != other_tag.iteration:
                return False
            tag, other_tag = tag.parent, other_tag.parent
        return True

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self.key

    def __str__(self) -> str:
        """`main/fib/loop[4]`; the middle of a very deep path is left out.

        >>> loop, call = Site("main", "loop", "loop"), Site("main", "fib", "call")
        >>> print(ROOT.child(loop, 4).child(call))
        main/loop[4]/fib
        """
        if self.depth <= 20:
            return "/".join(reversed([tag.last_step for tag in self.self_and_ancestors()]))
        outer = self
        while outer.depth > 4:
            outer = outer.parent or outer
        inner = [tag.last_step for tag, _ in zip(self.self_and_ancestors(), range(6), strict=False)]
        return "/".join([str(outer), f"...{self.depth - 10:,} more...", *reversed(inner)])

    def __repr__(self) -> str:
        return f"<{self}>"


ENVIRONMENT = Site("", "main", "call")
"""The site of the call that starts a run: its results are the results of the run."""

ROOT = Tag(None, ENVIRONMENT, 0, 0, name_key("main"))
"""The tag of the outermost activation, written `main`."""
