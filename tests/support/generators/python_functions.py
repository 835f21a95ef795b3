"""Generated Python functions of one float, with branches, loops, recursion and lists, for laws of what is derived from
functions: gradients, Jacobians, maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tagloom as tl
from hypothesis import strategies as st


@tl.function
def chain(n: Any, x: Any) -> Any:
    return tl.cond(n <= 0, lambda: x, lambda: tl.sin(chain(n - 1, x)) + 0.5 * x)


@tl.function
def tree(n: Any, x: Any) -> Any:
    return tl.cond(n <= 0, lambda: x * 0.25, lambda: tree(n - 1, x) * tree(n - 2, x + 0.5) - x)


def fold(x: Any) -> Any:
    return tl.fori_loop(0, 3, lambda k, pair: [pair[1] * x, pair[0] - x], [x, 0.5 * x])[0]


PIECES: dict[str, Callable[[Any], Any]] = {
    "sine": tl.sin,
    "square": lambda x: x * x - 0.5,
    "branch": lambda x: tl.cond(x > 0.25, lambda: x * 2.0, lambda: tl.cos(x)),
    "switch": lambda x: tl.switch(
        tl.astype(tl.floor(x), tl.int64), [lambda x: x * 3.0, lambda x: -x, lambda x: x + 1.0], x
    ),
    "loop": lambda x: tl.while_loop(lambda k, y: k < 2, lambda k, y: (k + 1, y * x + 1.0), 0, 0.25 * x)[1],
    "bounded loop": lambda x: tl.while_loop(lambda y: y < 9.0, lambda y: y + 0.5 + x * x, x, maximum_iterations=4)[0],
    "fold": fold,
    "chain": lambda x: chain(2, x),
    "tree": lambda x: tree(2, x),
}


def compose(names: Sequence[str]) -> Callable[[Any], Any]:
    """The composition of these pieces."""

    def composition(x: Any) -> Any:
        for name in names:
            x = PIECES[name](x)
        return x

    return composition


FUNCTIONS: st.SearchStrategy[Sequence[str]] = st.lists(st.sampled_from(list(PIECES)), min_size=1, max_size=4)
"""The pieces of a function; `compose` makes it."""
