"""Loops: a single one, nested ones, and one in a branch.

`main` counts to a limit. `nested` has a loop in each iteration of a loop: the inner one has its own tag in each
iteration of the outer one, so that several of them overlap. `untaken` has a loop in a branch: if that is not taken, no
token enters the loop, and none of its nodes fires. No dead tokens are sent around it, as on other machines.

    tagloom run papers_examples/tensorflow/loops.py 10

Source: "Dynamic control flow in large-scale machine learning" (Yu and others, EuroSys 2018), from a description.
"""

import tagloom as tl


@tl.function
def main(limit: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i < limit, lambda i: i + 1, 0)[0]


@tl.function
def nested(n: tl.int64, m: tl.int64) -> tl.int64:
    """The sum of i * j over all i < n and j < m."""

    def row(i, total):
        _, more = tl.while_loop(lambda j, s: j < m, lambda j, s: (j + 1, s + i * j), 0, 0)
        return i + 1, total + more

    return tl.while_loop(lambda i, total: i < n, row, 0, 0)[1]


@tl.function
def untaken(take: tl.bool, n: tl.int64) -> tl.int64:
    return tl.cond(take, lambda: tl.while_loop(lambda i: i < n, lambda i: i * 2, 1)[0], lambda: -1)


EXPECTED = [
    {"run": ("main", 10), "result": 10, "size": "quick"},
    {"run": ("main", -1), "result": 0, "size": "quick"},
    {"run": ("nested", 4, 5), "result": 60, "size": "quick"},
    {"run": ("nested", 4, 0), "result": 0, "size": "quick"},
    {"run": ("untaken", True, 100), "result": 128, "size": "quick"},
    {"run": ("untaken", False, 100), "result": -1, "size": "quick"},
]


def of_loop(take):
    """How often nodes of the loop in `untaken` fire."""
    out = untaken.run(take, 100)
    gates = ("enter", "next_iteration", "exit")
    node_counts = zip(out.graph.nodes, out.stats.by_node, strict=True)
    return sum(count for node, count in node_counts if node.op in gates)


HEADING = ["| taken? | firings of the loop's gates | result |", "|---|---|---|"]


def table() -> list[str]:
    """The rows of the README's table."""
    return [f"| {label} | {of_loop(take)} | {untaken(take, 100)} |" for label, take in (("yes", True), ("no", False))]


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
