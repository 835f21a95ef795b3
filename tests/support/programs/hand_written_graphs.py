"""Graphs built by hand: some valid, and some that break a rule and show its effect on the machine."""

from __future__ import annotations

import tagloom as tl
from tagloom.core.graph.graph import Graph
from tagloom.core.tag import Site
from tagloom.core.value import literal

INT, BOOL = tl.Type(tl.int64), tl.Type(tl.bool)


def sum_graph() -> Graph:
    """(x + y) + y: y goes to two nodes."""
    builder = tl.GraphBuilder("sum")
    x, y = builder.argument("x", INT), builder.argument("y", INT)
    (inner,) = builder.node("add", "inner", [x, y], [INT])
    (outer,) = builder.node("add", "outer", [inner, y], [INT])
    return builder.build([outer])


def counting_loop(users: list[tuple[str, int]]) -> Graph:
    """A loop, built by hand, that counts from 0 to n; `users` are nodes fed by its exit, each of them a result."""
    builder = tl.GraphBuilder("count")
    n = builder.argument("n", INT)
    loop = Site("count", "loop", "loop")
    merges = []
    for name, start, trigger in (("i", literal(0), n), ("n", n, None)):
        (entered,) = builder.node("enter", f"enter_{name}", [start], [INT], site=loop, trigger=trigger)
        merges += builder.node("merge", name, [entered, None], [INT])
    (less,) = builder.node("less", "less", merges, [BOOL])
    (again_i, done_i), (again_n, done_n) = (
        builder.node("switch", f"switch_{name}", [merge, less], [INT, INT])
        for name, merge in zip("in", merges, strict=True)
    )
    (next_i,) = builder.node("add", "add", [again_i, literal(1)], [INT])
    for name, merge, following in (("i", merges[0], next_i), ("n", merges[1], again_n)):
        (sent,) = builder.node("next_iteration", f"next_{name}", [following], [INT], site=loop)
        builder.connect(sent, merge.node, 1)
    outputs = builder.node("exit", "out", [done_i], [INT, INT], site=loop)
    builder.node("exit", "unused", [done_n], [INT, INT], site=loop)
    return builder.build([builder.node("identity", name, [outputs[output]], [INT])[0] for name, output in users])


def race(op: str, ports: int) -> Graph:
    """A node whose port 0 is fed by two arguments; an ordinary op gets a third argument for its other port."""
    builder = tl.GraphBuilder("race")
    arguments = [builder.argument(name, INT) for name in ("x", "y", "z")[: ports + 1]]
    (node,) = builder.node(op, "node", [arguments[0], *arguments[2:]], [INT])
    builder.connect(arguments[1], node.node, 0)
    return builder.build([node])


def stuck() -> Graph:
    """x goes to one side of a switch, and a node needs both sides: one token waits for ever."""
    builder = tl.GraphBuilder("stuck")
    x = builder.argument("x", INT)
    (less,) = builder.node("less", "less", [x, literal(3)], [BOOL])
    taken, other = builder.node("switch", "switch", [x, less], [INT, INT])
    return builder.build([builder.node("add", "sum", [taken, other], [INT])[0]])


def untyped() -> Graph:
    """An integer reaches an op that needs a float."""
    builder = tl.GraphBuilder("untyped")
    x = builder.argument("x", tl.Array[tl.int64, 2])
    (y,) = builder.node("less", "less", [x, literal(3)], [BOOL])
    return builder.build([builder.node("switch", "switch", [x, y], [INT, INT])[0]])
