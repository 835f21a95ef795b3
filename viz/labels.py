"""The labels of nodes: ops as formulas, in which values have short names."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import accumulate, chain, zip_longest
from typing import Any

from ..core.graph.graph import Edge, Graph, GraphNode, OutputRef
from ..core.ops.effects import fill_placeholders
from ..core.ops.indexing import OPEN_BOUND
from ..core.ops.op import OPS
from ..core.ops.type_rules import format_attribute
from ..core.tag import ENVIRONMENT, Site

_PRECEDENCES = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, "@": 2, "**": 4}
"""How tightly infix symbols bind; others bind less."""

_SIGN_PRECEDENCE = 3
"""The precedence of a sign before one operand."""

_CALL_PRECEDENCE = 5
"""The precedence of calls, indexes and names, which need no parentheses."""

MAX_LIST_LENGTH = 64
"""The most characters of a list of values, such as the arguments of a call; the others are counted."""

MAX_EXPRESSION_LENGTH = 40
"""The most characters of an expression; operands that would make it longer are boxes of their own."""

OMISSION = "\u2026"
"""What stands in a formula for an operand that would make it too long."""

MAX_LITERAL_LENGTH = 24
"""The most characters of a literal in a formula; of a longer one, an array, the type is shown."""


def formula(op: str, operands: Sequence[str], attributes: Sequence[tuple[str, Any]] = ()) -> str:
    """An op applied to operands, in mathematical notation.

    >>> formula("subtract", ["n", "1"]), formula("negative", ["x"]), formula("where", ["p", "x", "y"])
    ('n - 1', '-x', 'where(p, x, y)')
    >>> formula("store", ["c", "i", "x"]), formula("uniform", [], [("shape", (2, 3))])
    ('c[i] = x', 'uniform([2, 3])')
    >>> formula("index", ["x"], [("key", ":, None")]), formula("index", ["x", "i", "j"], [("key", "?:?:2")])
    ('x[:, None]', 'x[i:j:2]')
    >>> print(formula("print", ["n"], [("text", "n is {}")]))
    print "n is {n}"
    """
    values = dict(attributes)
    match op, list(operands):
        case "get", [handle, index]:
            return f"{handle}[{index}]"
        case "index", [array, *bounds] if isinstance(values.get("key"), str):
            parts = zip_longest(values["key"].split(OPEN_BOUND), bounds, fillvalue="")
            return f"{array}[{''.join(chain.from_iterable(parts))}]"
        case "put" | "store", [handle, index, value]:
            return f"{handle}[{index}] = {value}"
        case "print", names if isinstance(values.get("text"), str):
            return f"print {format_attribute(fill_placeholders(values['text'], [f'{{{name}}}' for name in names]))}"
        case "callback", names if "function" in values:
            return f"python {values['function']}({', '.join(names)})"
    symbol = OPS[op].symbol if op in OPS else ""
    if op == "identity" and len(operands) == 1:
        return operands[0]
    if not symbol or symbol.isidentifier():
        return f"{symbol or op}({', '.join([*operands, *map(format_attribute, set_attributes(attributes))])})"
    return f" {symbol} ".join(operands) if len(operands) > 1 else f"{symbol}{''.join(operands)}"


def set_attributes(attributes: Sequence[tuple[str, Any]]) -> list[Any]:
    """The values of attributes, without those at the end that are not set.

    >>> set_attributes([("axis", 0), ("keepdims", False)]), set_attributes([("axis", None), ("keepdims", False)])
    ([0], [])
    """
    values = [value for _, value in attributes]
    while values and (values[-1] is None or values[-1] is False):
        values.pop()
    return values


def precedence(op: str, operand_count: int) -> int:
    """How tightly the formula of an op binds.

    >>> [precedence(op, 2) for op in ("less", "add", "matmul", "pow", "maximum")], precedence("negative", 1)
    ([0, 1, 2, 4, 5], 3)
    """
    symbol = OPS[op].symbol if op in OPS else ""
    if not symbol or symbol.isidentifier() or op == "identity":
        return _CALL_PRECEDENCE
    return _PRECEDENCES.get(symbol, 0) if operand_count > 1 else _SIGN_PRECEDENCE


def nested_operand(text: str, inner: int, outer: int, position: int) -> str:
    """An operand that is itself a formula of the precedence `inner`, in parentheses if one of the precedence `outer`
    needs them at this position.

    >>> nested_operand("a - b", 1, 1, 0), nested_operand("a - b", 1, 1, 1), nested_operand("a - b", 1, 5, 0)
    ('a - b', '(a - b)', 'a - b')
    """
    is_left_associative = position == 0 and outer in (1, 2)
    binds_enough = outer == _CALL_PRECEDENCE or inner > outer or (inner == outer and is_left_associative)
    return text if binds_enough else f"({text})"


class NodeLabels:
    """The labels of the nodes of a graph; works for invalid graphs too."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._sources = graph.sources()
        self._callees: dict[Site | None, str] = dict(graph.calls)

    def label_lines(self, number: int) -> tuple[str, str]:
        """The two lines of a node's label; the second may be empty."""
        node = self._graph.nodes[number]
        match node.op:
            case "merge" | "live_merge" | "dead_switch":
                return short_name(node.name), node.op
            case "switch":
                return self._operand(number, 0), node.op
            case "call":
                callee, site = self._callees.get(node.site, "?"), node.site.name if node.site else "?"
                return f"call {site}.{self.fed_variable(number)}", "" if callee == site else f"a call of {callee}"
            case "return":
                return node.op if node.site == ENVIRONMENT else f"return {short_name(node.name)}", ""
            case "enter":
                return f"enter {self.fed_variable(number)}", ""
            case "next_iteration":
                return f"next {self.fed_variable(number)}", ""
            case "exit":
                return f"exit {self._operand(number, 0)}", node.name
            case "reenter":
                return f"reenter {self.fed_variable(number)}", ""
            case "back":
                return f"back {self._operand(number, 0)}", node.name
        return self.expression(number, {}), node.name

    def expression(self, number: int, inner: Mapping[int, str]) -> str:
        """The formula of an op, in which some operands, by node, are formulas themselves."""
        node, operands = self._graph.nodes[number], list[str]()
        count = len(node.ports) - node.has_trigger
        outer = precedence(node.op, count)
        for port in range(count):
            source = self._sources.get(Edge(number, port), (OutputRef(-1, 0),))[0].node
            text, binding = self._operand(number, port), _CALL_PRECEDENCE
            if source in inner:
                inner_node = self._graph.nodes[source]
                text = inner[source]
                if text != OMISSION:
                    binding = precedence(inner_node.op, len(inner_node.ports) - inner_node.has_trigger)
            elif port == 0 and node.ports[0] is not None and text.startswith("-"):
                binding = _SIGN_PRECEDENCE
            is_indexed = node.op == "index" and port == 0 and binding < _CALL_PRECEDENCE
            operands.append(f"({text})" if is_indexed else nested_operand(text, binding, outer, port))
        return formula(node.op, operands, node.attributes)

    def nested_expression(self, number: int, members: Set[int], max_length: int) -> str:
        """The formula of an op, in which operands that are ops among `members` are formulas themselves; where they
        would make it longer than `max_length`, the longest ones are omitted, as \u2026."""
        return self._nested_expression(number, members, max_length, {})

    def _nested_expression(self, number: int, members: Set[int], max_length: int, formulas: dict[int, str]) -> str:
        """The same, with the formulas found so far: an operand may be used by many ops."""
        if number in formulas:
            return formulas[number]
        node, inner = self._graph.nodes[number], dict[int, str]()
        for port in range(len(node.ports) - node.has_trigger):
            source = self._sources.get(Edge(number, port), (OutputRef(-1, 0),))[0].node
            if source in members and self._graph.nodes[source].op in OPS:
                inner[source] = self._nested_expression(source, members - {number}, max_length, formulas)
        while True:
            text = self.expression(number, inner)
            longest = max(inner, key=lambda source: len(inner[source]), default=None)
            if longest is None or len(text) <= max_length or inner[longest] == OMISSION:
                formulas[number] = text
                return text
            inner[longest] = OMISSION

    def fed_variable(self, number: int) -> str:
        """The parameter or loop variable that a node feeds, with the literal that it feeds, if any."""
        node = self._graph.nodes[number]
        consumer = next((self._node_at(edge.node) for output in node.outputs for edge in output.edges), None)
        name = short_name(consumer.name) if consumer else "?"
        literal = node.ports[0] if node.ports else None
        return name if literal is None else f"{name} = {literal}"

    def routed_variable(self, number: int) -> str:
        """The variable that a gate of a loop or a cond passes on."""
        node = self._graph.nodes[number]
        return self.fed_variable(number) if node.op == "next_iteration" else self._operand(number, 0)

    def _operand(self, number: int, port: int) -> str:
        """The operand at a port: a literal, or its type if it is long, or the short names of its sources."""
        node = self._graph.nodes[number]
        literal = node.ports[port] if port < len(node.ports) else None
        if literal is not None:
            return str(literal) if len(str(literal)) <= MAX_LITERAL_LENGTH else str(literal.type)
        return " | ".join(map(self.value_name, self._sources.get(Edge(number, port), ()))) or "?"

    def predicate_formula(self, source: OutputRef) -> str:
        """The formula of a predicate, such as `n <= 1`, with the formulas of operands that only it uses; its name if it
        comes from a routing node or an argument."""
        if source.node < 0 or self._graph.nodes[source.node].op not in OPS:
            return self.value_name(source)
        return self.nested_expression(source.node, self.operands_used_once(source.node), MAX_EXPRESSION_LENGTH)

    def operands_used_once(self, number: int) -> set[int]:
        """The ops whose results only one op takes, which is this one or among them: the nearest, as many as a formula
        can have."""
        operands, waiting = set[int](), deque([number])
        while waiting and len(operands) < MAX_EXPRESSION_LENGTH:
            consumer = waiting.popleft()
            for port in range(len(self._graph.nodes[consumer].ports)):
                for source in self._sources.get(Edge(consumer, port), ()):
                    edges = [edge for output in self._graph.nodes[source.node].outputs for edge in output.edges]
                    if source.node >= 0 and len(edges) == 1 and source.node not in operands:
                        operands.add(source.node)
                        waiting.append(source.node)
        return operands

    def value_name(self, source: OutputRef) -> str:
        """The name of a value; the outputs of a switch, an enter and a back have the name of their input."""
        visited_nodes = set()
        while source not in visited_nodes:
            visited_nodes.add(source)
            if source.node < 0:
                return self._graph.arguments[source.output][0]
            node = self._graph.nodes[source.node]
            if node.op not in ("switch", "enter", "back") or not node.ports:
                return short_name(node.name)
            if node.ports[0] is not None:
                return str(node.ports[0])
            source = self._sources.get(Edge(source.node, 0), [source])[0]
        return short_name(self._graph.nodes[source.node].name)

    def _node_at(self, number: int) -> GraphNode | None:
        return self._graph.nodes[number] if 0 <= number < len(self._graph.nodes) else None


def abbreviate_list(texts: Iterable[str], max_length: int = MAX_LIST_LENGTH) -> str:
    """Texts, separated by commas: as many as fit, but at least one, and the number of the others. A single text that is
    no longer than its number is shown.

    >>> abbreviate_list(["3", "int64[15]"]), abbreviate_list(["3", *["int64[15]"] * 9], 30)
    ('3, int64[15]', '3, int64[15], int64[15], \u2026 7 more')
    >>> abbreviate_list(["image", "second", "trigger"], 20), abbreviate_list(["image", "second", "predicate"], 20)
    ('image, second, trigger', 'image, second, \u2026 1 more')
    """
    every = list(texts)
    if len(", ".join(every)) <= max_length:
        return ", ".join(every)
    count = max(1, sum(length <= max_length for length in accumulate(len(text) + 2 for text in every)))
    if count == len(every) - 1 and len(every[-1]) <= len(f"{OMISSION} 1 more"):
        count += 1
    return ", ".join([*every[:count], *([f"\u2026 {len(every) - count} more"] if count < len(every) else [])])


def short_name(name: str) -> str:
    """The last part of a node's name: `loop.enter_i` is `enter_i` inside its loop."""
    return name.rpartition(".")[2] or name


def cluster_title(word: str, name: str) -> str:
    """The title of a cluster: `while i`, or just `cond_1` if the name contains the word."""
    return name if name.startswith(word) else f"{word} {name}"


def phase_title(phase: int) -> str:
    """The title of a later phase: `pullback` for the first, numbered from then on.

    >>> phase_title(1), phase_title(3)
    ('pullback', 'pullback_3')
    """
    return "pullback" if phase == 1 else f"pullback_{phase}"
