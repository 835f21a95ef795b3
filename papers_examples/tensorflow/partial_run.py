"""Parts of a graph: fetch any value, feed any value, and run only the nodes in between.

A diamond: x + 1 and x - 1, and their product. A step of a session names the values that it fetches and those that it
feeds, and both may be in the middle. Fetching one side runs that side alone. Feeding a side runs nothing before it, and
x is then needed for the other side only.

    tagloom run papers_examples/tensorflow/partial_run.py --feed add=100 5

Source: "TensorFlow: a system for large-scale machine learning" (Abadi and others, OSDI 2016), section 3.2, from a
description.
"""

import tagloom as tl


@tl.function
def main(x: tl.int64) -> tl.int64:
    more = x + 1
    less = x - 1
    return more * less


ONE_SIDE = main.partial("add")
FED = main.partial(feed={"add": 100})
BOTH_FED = main.partial(feed={"add": 100, "subtract": 3})
EXPECTED = [{"run": ("main", 5), "result": 24, "size": "quick"}]


HEADING = ["| what is fetched | result | what is left of the graph |", "|---|---|---|"]


def table() -> list[str]:
    """The rows of the README's table."""
    rows = []
    for label, part, arguments in (
        ("the product", main, (5,)),
        ("x + 1", ONE_SIDE, (5,)),
        ("the product, with 100 for x + 1", FED, (5,)),
        ("the product, with 100 for x + 1 and 3 for x - 1", BOTH_FED, ()),
    ):
        out = part.run(*arguments)
        ops = sorted({node.op for node in part.graph.nodes} & {"add", "subtract", "multiply"})
        rows.append(f"| {label} | {out.value} | {', '.join(ops)} |")
    return rows


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
