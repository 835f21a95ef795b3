"""S16: how many iterations of a loop run at once, and what a bound may do to a run."""

from __future__ import annotations

from typing import Any

import tagloom as tl
from act_laws import bound_violations
from generator import Case


def later(x: Any, waves: int) -> Any:
    """The value, some waves later."""
    for _ in range(waves):
        x = tl.identity(x)
    return x


@tl.function
def nested(n: tl.int64) -> tl.int64:
    """Both loops go on at once to their next iteration, while values of the inner one are still under way, unused."""

    def inner(j: Any, t: Any) -> tuple[Any, Any]:
        later(t, 3)
        return j + 1, t + 1

    def outer(i: Any, s: Any) -> tuple[Any, Any]:
        tl.while_loop(lambda j, t: j < 3, inner, 0, s, parallel_iterations=1)
        return i + 1, s + 1

    return tl.while_loop(lambda i, s: i < n, outer, 0, n, parallel_iterations=1)[1]


def test_what_is_held_in_an_inner_loop_keeps_the_iteration_around_it_busy() -> None:
    """S16: no iteration of the outer loop begins while one of the inner loop in the one before is held, be it only for
    the length of an event, or of a wave."""
    assert list(bound_violations(Case(nested.program, [3]))) == []
