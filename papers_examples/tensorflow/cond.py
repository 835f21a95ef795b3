"""Conditionals: a branch that is not taken computes nothing, but nodes before it are computed.

`main` is cond(x < y, x + z, y * y), where z = x * y is computed outside of both branches. The product is computed
whether z is needed or not: in the graph it belongs to no branch. `inside` has the product in the branch, where it is
computed only if x < y. Many users confused the two (tensorflow/tensorflow issues 3287 and 2062).

    tagloom run papers_examples/tensorflow/cond.py 3 2 --stats

Source: "Dynamic control flow in large-scale machine learning" (Yu and others, EuroSys 2018), from a description.
"""

import tagloom as tl


@tl.function
def main(x: tl.int64, y: tl.int64) -> tl.int64:
    z = x * y
    return tl.cond(x < y, lambda: x + z, lambda: y * y)


@tl.function
def inside(x: tl.int64, y: tl.int64) -> tl.int64:
    return tl.cond(x < y, lambda: x + x * y, lambda: y * y)


EXPECTED = [
    {"run": (name, *at), "result": result, "size": "quick"}
    for name in ("main", "inside")
    for at, result in (((2, 3), 8), ((3, 2), 4))
]


def products(function, x, y):
    """How often x * y, the first product of the graph, is computed, and how often y * y."""
    out = function.run(x, y)
    node_counts = zip(out.graph.nodes, out.stats.by_node, strict=True)
    return [count for node, count in node_counts if node.op == "multiply"]


def format_products(function, x, y):
    return ", ".join(map(str, products(function, x, y)))


HEADING = ["| x * y | if it is needed | if it is not |", "|---|---|---|"]


def table() -> list[str]:
    """The rows of the README's table."""
    return [
        f"| {place} | {format_products(function, 2, 3)} | {format_products(function, 3, 2)} |"
        for place, function in (("outside of the branches", main), ("in the branch", inside))
    ]


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
