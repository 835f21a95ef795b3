"""Dynamic unfolding compared with the static graph: the size of the graph and the size of the run.

There are two ways to run recursion on a dataflow machine. One copies the body of a function at each call, and the graph
of a run grows with the run. The other has the body once, and distinguishes calls by tags: the graph of fib has 14
nodes, whatever it computes. This file counts the nodes of the copies.

Of the 14 nodes, three are returns, one for each site; an activation uses one of them, so a copy of the body has 12
nodes. fib(n), with its 2 fib(n) - 1 calls, unfolds into 24 fib(n) - 12 nodes, of which 18 fib(n) - 11 fire: a node
of a copy fires at most once, so three quarters of the copies are used. The rest are the branches that were not
taken.

For fib(20): 14 nodes, or 262,692, of which 197,017 fire.

    tagloom run papers_examples/roots/unfolding.py 20 --stats
    python papers_examples/roots/unfolding.py

Source: the program and the static graph are those of "Recursive functions in static dataflow graphs", arXiv 2410.20225.
"""

from collections import Counter

import tagloom as tl


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return 1 if n <= 1 else fib(n - 1) + fib(n - 2)


EXPECTED = [
    {"run": ("fib", 5), "result": 8, "calls": {"fib": 15}, "size": "quick"},
    {"run": ("fib", 15), "result": 987, "calls": {"fib": 1973}, "size": "quick"},
    {"run": ("fib", 20), "result": 10946, "calls": {"fib": 21891}, "size": "heavy"},
]


def body_sizes(graph: tl.Graph) -> dict[str, int]:
    """The size of one copy of each function's body: its nodes, with the returns of one site instead of all."""
    sizes = Counter(node.function for node in graph.nodes if node.op != "return")
    returns = {(node.function, node.site): 0 for node in graph.nodes if node.op == "return"}
    for node in graph.nodes:
        if node.op == "return":
            returns[node.function, node.site] += 1
    one_site = {function: count for (function, _), count in returns.items()}
    return {function: size + one_site[function] for function, size in sizes.items()}


def unfolded_size(out: tl.Outcome) -> int:
    """The nodes of the dynamically unfolded graph of a run without loops: a copy for each activation."""
    sizes = body_sizes(out.graph)
    return sum(calls * sizes[function] for function, calls in out.activations().items())


def table(*sizes: int) -> list[str]:
    """The rows of the README's table."""
    rows = []
    for n in sizes:
        out = fib.run(n)
        nodes, copies = len(out.graph.nodes), unfolded_size(out)
        row = f"| {n} | {out.value:,} | {out.activations()['fib']:,} | {nodes} | {copies:,} | {out.firings:,}"
        rows.append(f"{row} | {100 * out.firings / copies:.1f} % | {out.stats.largest_store:,} |")
    return rows


HEADING = [
    "| n | fib(n) | calls | nodes of the graph | nodes of all copies | of which fire | share | largest store |",
    "|---|---|---|---|---|---|---|---|",
]


if __name__ == "__main__":
    print(*HEADING, *table(5, 10, 15, 20), sep="\n")
