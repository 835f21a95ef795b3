"""Graphs made by hand: some that keep the rules, and some that break them and show on the machine how."""

from __future__ import annotations

import tagloom as tl
from tagloom.core.graph.graph import Graph
from tagloom.core.tag import Site
from tagloom.core.value import literal

INT, BOOL = tl.Type(tl.int64), tl.Type(tl.bool)


def sum_graph() -> Graph:
    """(x + y) + y, so that y goes to two nodes."""
    builder = tl.Builder("sum")
    x, y = builder.argument("x", INT), builder.argument("y", INT)
    (inner,) = builder.node("add", "inner", [x, y], [INT])
    (outer,) = builder.node("add", "outer", [inner, y], [INT])
    return builder.build([outer])


def counting_loop(users: list[tuple[str, int]]) -> Graph:
    """A hand-built loop that counts from 0 to n; `users` are nodes fed by an output of its exit, each a result."""
    builder = tl.Builder("count")
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
    """A node whose port 0 two arguments feed; an ordinary one gets a third for its other port."""
    builder = tl.Builder("race")
    arguments = [builder.argument(name, INT) for name in ("x", "y", "z")[: ports + 1]]
    (node,) = builder.node(op, "node", [arguments[0], *arguments[2:]], [INT])
    builder.connect(arguments[1], node.node, 0)
    return builder.build([node])


def stuck() -> Graph:
    """x goes one way at a switch, and both ways are needed: one token waits for ever."""
    builder = tl.Builder("stuck")
    x = builder.argument("x", INT)
    (less,) = builder.node("less", "less", [x, literal(3)], [BOOL])
    taken, other = builder.node("switch", "switch", [x, less], [INT, INT])
    return builder.build([builder.node("add", "sum", [taken, other], [INT])[0]])


def untyped() -> Graph:
    """An integer where a float is wanted: an op gets what it cannot take."""
    builder = tl.Builder("untyped")
    x = builder.argument("x", tl.Array[tl.int64, 2])
    (y,) = builder.node("less", "less", [x, literal(3)], [BOOL])
    return builder.build([builder.node("switch", "switch", [x, y], [INT, INT])[0]])
