"""The ops that route tokens or touch tags. A row says which tag a result gets; the machine does the rest.

They have no kernel: `merge` and `switch` pass values on, the others pass them to another activation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class RoutingOp:
    """A routing op: how many ports (None: any number) and outputs it has, and where its results go.

    `result_tag` says which tag the results get, for a firing at tag t: `same` is t; `child` a child of t at the op's
    site; `parent` the parent of t; `next` the next iteration of t's loop; `iteration` the iteration of a loop under t
    whose number is an operand; `before` the iteration before t or, from the first one, the parent of t. `site_kind` is
    the kind of its site, if it has one.
    """

    name: str
    arity: int | None
    output_count: int
    result_tag: Literal["same", "child", "parent", "next", "iteration", "before"]
    site_kind: Literal["call", "loop"] | None
    doc: str


_ROWS = (
    RoutingOp("merge", None, 1, "same", None, "t -> t: passes on whichever token arrives, on any port"),
    RoutingOp("switch", 2, 2, "same", None, "t -> t: the value of port 0 to output 0 if port 1 is true, else 1"),
    RoutingOp("call", 1, 1, "child", "call", "t -> t/site: an argument enters the activation of a call"),
    RoutingOp("return", 1, 1, "parent", "call", "t/site -> t: a result leaves the activation of a call"),
    RoutingOp("enter", 1, 1, "child", "loop", "t -> t/loop[0]: a loop variable enters the first iteration"),
    RoutingOp("next_iteration", 1, 1, "next", "loop", "t/loop[k] -> t/loop[k+1]"),
    RoutingOp("exit", 1, 2, "parent", "loop", "t/loop[k] -> t: the value, and k, the number of iterations"),
    RoutingOp("reenter", 2, 1, "iteration", "loop", "t -> t/loop[k]: an adjoint, k on port 1, to where an exit left"),
    RoutingOp("back", 1, 2, "before", "loop", "t/loop[k] -> t/loop[k-1] on output 0; from k = 0 to t on output 1"),
)
ROUTING_OPS: dict[str, RoutingOp] = {row.name: row for row in _ROWS}
"""The routing ops by name."""

_DEAD_TOKEN_ROWS = (
    RoutingOp(
        "dead_switch",
        2,
        2,
        "same",
        None,
        "the value of port 0 to output 1 if port 1 is true, else to 0; a dead token to the other",
    ),
    RoutingOp(
        "live_merge",
        None,
        2,
        "same",
        None,
        "the live value among all ports, and the number of its port; dead if all are",
    ),
    RoutingOp("after", None, 1, "same", None, "the value of port 0 once all ports have a token; dead if any is"),
    RoutingOp("any_live", None, 1, "same", None, "true if a port has a live token, else false; never dead"),
    RoutingOp("trigger", None, 1, "same", None, "true once all ports have a token, even a dead one"),
)
DEAD_TOKEN_OPS: dict[str, RoutingOp] = {row.name: row for row in _DEAD_TOKEN_ROWS}
"""The ops of graphs with dead tokens (S18), by name: the rules of TensorFlow's executor. Only the reference runs
them."""
ALL_ROUTING_OPS: dict[str, RoutingOp] = {**ROUTING_OPS, **DEAD_TOKEN_OPS}
"""All ops that route tokens, by name."""
