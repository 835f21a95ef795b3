"""A graph over two devices: a send and a recv for each value and its target device, and a loop without a copy of itself
there.

A placement assigns a device to each node. If an edge leaves its device, `partition` puts a send on the one and a recv
on the other; all consumers of that value there use the same recv. The devices know nothing else of each other. Each
message has its recv, its tag, and the value.

On machines whose recvs must be started, each part of a loop needs a loop of its own, a state machine that makes the
tags again, and is told whether there is another iteration. Here a message has its tag, and a node fires when it has all
operands under one tag. So the other device may have the product alone (`product`): without iterations it gets no
message, and a value that the loop only reads crosses once for each iteration. The device may have the gates of that
variable, too (`constant`): then the value crosses once, and the predicate for each iteration and for the end. The same
holds for a recursive function: its calls, merges and switches may be elsewhere.

    python papers_examples/tensorflow/two_devices.py

Source: "TensorFlow: a system for large-scale machine learning" (Abadi and others, OSDI 2016), section 3.3; "Dynamic
control flow in large-scale machine learning" (Yu and others, EuroSys 2018); and, for functions, "Recursive functions in
static dataflow graphs" (arXiv 2410.20225); from descriptions.
"""

from collections import Counter

import tagloom as tl
from tagloom.core.graph.partition import partition
from tagloom.core.program.device import parse_device


@tl.function
def main(w: tl.float64, x: tl.float64, n: tl.int64) -> tl.float64:
    """w^n x."""
    return tl.while_loop(lambda k, y: k < n, lambda k, y: (k + 1, w * y), 0, x)[1]


@tl.function
def factorial(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: n * factorial(n - 1))


@tl.function
def recursive(n: tl.int64) -> tl.int64:
    return factorial(n) + 1


def product(node):
    return node.op == "multiply"


def constant(node):
    """The product, and the loop variable that is only read."""
    return product(node) or node.name in ("loop.enter_w", "loop.w", "loop.switch_w", "loop.next_w", "loop_w")


def body(node):
    """A whole function, with its calls."""
    return node.function == "factorial" or node.op == "call" or (node.op == "return" and node.name != "return")


def split(graph, is_remote):
    """The graph with its sends and recvs, and the second device: its nodes and their recvs.

    Arguments and results are on the first device.
    """
    places = [int(is_remote(node) and n not in graph.results) for n, node in enumerate(graph.nodes)]
    parts = partition(graph, places, [parse_device("/task:0"), parse_device("/task:1")])
    return parts.graph, frozenset(n for n, place in enumerate(parts.places) if place)


def messages(function, is_remote, *arguments, schedule="waves"):
    """A run over two devices: its outcome, and the messages, (value, target device) -> tags."""
    graph, second = split(function.graph, is_remote)
    out = tl.run_graph(graph, arguments, keep="events", schedule=schedule)
    counts = {}
    for event in out.events:
        node = graph.nodes[event.token.node]
        if node.name.startswith("recv.") and event.is_firing:
            message = str(node).replace(".recv.", ".", 1), int(event.token.node in second)
            counts.setdefault(message, []).append(event.token.tag)
    return out, counts


EXPECTED = [
    {"run": ("main", 2.0, 3.0, 5), "result": 96.0, "size": "quick"},
    {"run": ("main", 2.0, 3.0, 0), "result": 3.0, "size": "quick"},
    {"run": ("recursive", 5), "result": 121, "size": "quick"},
]


HEADING = [
    "| on the second device | run | result | routing nodes there | to it | from it |",
    "|---|---|---|---|---|---|",
]
RUNS = [
    *((main, is_remote, (2.0, 3.0, n)) for is_remote in (product, constant) for n in (0, 1, 5)),
    *((recursive, is_remote, (n,)) for is_remote in (product, body) for n in (1, 5)),
]
ROUTING = ("call", "return", "enter", "exit", "next_iteration", "merge", "switch")


def table() -> list[str]:
    """The rows of the README's table."""
    rows = []
    for function, is_remote, arguments in RUNS:
        out, counts = messages(function, is_remote, *arguments)
        graph, second = split(function.graph, is_remote)
        gates = Counter(graph.nodes[n].op for n in second)
        routing = sum(gates[op] for op in ROUTING)
        sent = [
            ", ".join(f"{len(tags)} `{name}`" for (name, to), tags in sorted(counts.items()) if to == at) or "nothing"
            for at in (1, 0)
        ]
        run = f"{function.program.entry}({', '.join(f'{argument:g}' for argument in arguments)})"
        rows.append(f"| `{is_remote.__name__}` | {run} | {out.value:g} | {routing} | {sent[0]} | {sent[1]} |")
    return rows


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
