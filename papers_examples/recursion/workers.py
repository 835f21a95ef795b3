"""Recursion on several workers: a graph that tags its calls can be cut by calls, by functions or by nodes.

*By calls*: an idle worker gets a call, with everything below it. Arguments and results of the calls that were given
away are messages, and a notice when such a call has closed. *By functions*: another device has the recursive function;
the arguments and results of calls from outside are messages. *By nodes*: it has only the additions or multiplications;
each operand and result that crosses is a message, for each tag.

In all three, a message has its tag, and a node fires when its operands have come. So a part needs no copy of the calls,
merges and switches that make the tags, as in machines whose recvs must be started.

    python papers_examples/recursion/workers.py

Source: "Recursive functions in static dataflow graphs", arXiv 2410.20225, and the thesis of the same title (2018),
which runs factorial, fib(20) + 1, two functions that call each other, and G(G(5)) on two workers; from descriptions.
"""

import tagloom as tl
from tagloom.core.graph.partition import partition, place_nodes
from tagloom.core.program.device import parse_device


@tl.function
def fac(n: tl.int64) -> tl.int64:
    return 1 if n <= 1 else n * fac(n - 1)


@tl.function
def factorial(n: tl.int64) -> tl.int64:
    return fac(n) + 1


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return 1 if n <= 1 else fib(n - 1) + fib(n - 2)


@tl.function
def main(n: tl.int64) -> tl.int64:
    return fib(n) + 1


@tl.function
def even(n: tl.int64) -> tl.bool:
    return True if n == 0 else odd(n - 1)


@tl.function
def odd(n: tl.int64) -> tl.bool:
    return False if n == 0 else even(n - 1)


@tl.function
def mutual(n: tl.int64) -> tuple[tl.bool, tl.bool]:
    return even(n), odd(n)


@tl.function
def g(x: tl.int64) -> tl.int64:
    return x * (x + 1)


@tl.function
def composition(x: tl.int64) -> tl.int64:
    return g(g(x))


EXPECTED = [
    {"run": ("main", 20), "result": 10947, "calls": {"main": 1, "fib": 21891}, "size": "quick"},
    {"run": ("factorial", 6), "result": 721, "calls": {"factorial": 1, "fac": 6}, "size": "quick"},
    {"run": ("mutual", 7), "result": (False, True), "calls": {"mutual": 1, "even": 8, "odd": 8}, "size": "quick"},
    {"run": ("composition", 5), "result": 930, "calls": {"composition": 1, "g": 2}, "size": "quick"},
]

RUNS = [(factorial, 6, "fac", "fac.multiply"), (main, 12, "fib", "fib.add"), (main, 16, "fib", "fib.add")]
RUNS += [(mutual, 7, "even", "even.subtract"), (composition, 5, "g", "g.multiply")]
DEVICES = [parse_device("/job:worker/task:0"), parse_device("/job:worker/task:1")]


def messages_of_calls(function, argument):
    """The run on two workers, one of which begins, and its messages: tokens, and notices of calls that have closed."""
    out = function.run(argument, engine="distributed", workers=2, cluster="network")
    return out, sum(out.cluster.messages.get(kind, 0) for kind in ("TokenTransfer", "CloseNotice"))


def messages_of_transfers(function, argument, name):
    """The messages of a run in which the second device has the function, or the node, of this name."""
    graph = function.graph
    parts = partition(graph, place_nodes(graph, {name: "/task:1"}, DEVICES), DEVICES)
    out = tl.run_graph(parts.graph, [argument])
    return sum(out.stats.by_node[transfer.recv] for transfer in parts.transfers)


HEADING = [
    "| run | firings | cut by calls | by a function | by a node |",
    "|---|---|---|---|---|",
]


def table() -> list[str]:
    """The rows of the README's table."""
    rows = []
    for function, argument, function_name, node in RUNS:
        out, messages = messages_of_calls(function, argument)
        cuts = [f"{messages_of_transfers(function, argument, name):,} (`{name}`)" for name in (function_name, node)]
        name = function.program.entry
        rows.append(f"| {name}({argument}) | {out.firings:,} | {messages:,} | {' | '.join(cuts)} |")
    return rows


if __name__ == "__main__":
    print(*HEADING, *table(), sep="\n")
