"""The well-formedness rules of graphs. On a graph that keeps them no port gets two tokens under one tag, every
token is consumed, and a run that becomes quiet without a trap has all its results.

V7   A node's op exists, and the node has as many ports and outputs, and the attributes, that the op says; routing
     ops, and no others, have a site, of a call or of a loop. Edges end on ports that exist. The hidden arguments
     are among the arguments.
V8   A port has exactly one source: an edge, or a literal. A merge takes no literal, nor does a switch's predicate;
     a node with nothing but literals, or an effect, and no other, has a trigger, which takes a token.
V9   Types agree along edges, and with the op; a hidden argument is one bool, and no argument or result a handle.
V10 to V14 are statements about places, in `place`.
V15  The results are return nodes to the environment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import dtypes
from ..errors import Invalid, counted
from ..ops.effect_op import ACTS, ROWS, resource_of, stands_in
from ..ops.routing import CONTROL
from ..program import hints
from ..program.problem import problem
from ..program.program import PHASE
from ..program.shared_rules import attributes, bounds, handles, phases
from ..tag import ENVIRONMENT
from ..types import Type
from ..value import Literal
from .contexts import Places
from .graph import Edge, Graph, Node

_BOOL = Type(dtypes.bool)


def graph_problems(graph: Graph) -> list[Invalid]:
    """Everything that is wrong with a graph; empty where it is well-formed.

    The shape of nodes is checked first; types and places only where the shape is right.
    """
    checker = _Checker(graph)
    shape = [*checker.nodes(), *checker.ports(), *checker.results()]
    return shape or [*checker.types(), *Places(graph).problems]


class _Checker:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sources = graph.sources()
        self.called = {ENVIRONMENT, *(site for site, _ in graph.calls)}

    def nodes(self) -> Iterator[Invalid]:
        """V7."""
        count = len(self.graph.arguments)
        if not 0 <= self.graph.hidden <= count:
            yield problem(
                "V7",
                "more arguments are hidden than there are, or fewer than none",
                self.graph.name,
                required=f"0 to {counted(count, 'hidden argument')}",
                got=counted(self.graph.hidden, "hidden argument"),
                hint="the first arguments are hidden, as many as `hidden` says",
            )
        for node in self.graph.nodes:
            control, row = CONTROL.get(node.op), ROWS.get(node.op) if stands_in(node.op, "graph") else None
            if control is None and row is None:
                what, hint = f"{node} has an op that does not exist", hints.op_meant(node.op, None)
                yield problem("V7", what, node.where, required="an op", got=node.op, hint=hint)
                continue
            ports = len(node.ports) - node.triggered
            wanted = row.arity if row else control.ports if control else None
            outputs = control.outputs if control else row.outputs if row else 1
            some = "some ports" if wanted is None else counted(wanted, "port")
            if (wanted is not None and ports != wanted) or (control and not ports) or len(node.outputs) != outputs:
                yield problem(
                    "V7",
                    f"{node.op} has the wrong number of ports or outputs",
                    node.where,
                    required=f"{some} and {counted(outputs, 'output')}",
                    got=f"{counted(ports, 'port')} and {counted(len(node.outputs), 'output')}",
                    hint=hints.example(node.op),
                )
            elif (node.site.kind if node.site else None) != (kind := control.site if control else None):
                yield problem(
                    "V7",
                    f"{node.op} has a site too many, too few, or of the wrong kind",
                    node.where,
                    required=f"the site of a {kind}" if kind else "no site",
                    got=f"the site of a {node.site.kind}, {node.site}" if node.site else "no site",
                    hint=hints.example(node.op),
                )
            elif control and control.site and PHASE in dict(node.attributes):
                yield from phases("V7", node.where, node.attributes)
            elif node.op == "next_iteration":
                yield from bounds("V7", node.where, node.attributes)
            elif wrong := list(attributes("V7", node.op, node.where, row.attributes if row else (), node.attributes)):
                yield from wrong
            elif node.op in ("call", "return") and node.site not in self.called:
                yield problem(
                    "V7",
                    f"no function is known for site {node.site}",
                    node.where,
                    required=f"one of {', '.join(map(str, self.called - {ENVIRONMENT}))}"
                    if len(self.called) > 1
                    else "a site that calls a function",
                    got=node.site,
                    hint=f"say whom it calls, as in `site {node.site} calls f`",
                )

    def ports(self) -> Iterator[Invalid]:
        """V8."""
        for edge, sources in self.sources.items():
            if not (0 <= edge.node < len(self.graph.nodes) and 0 <= edge.port < len(self.graph.nodes[edge.node].ports)):
                maker = self.graph.nodes[sources[0].node] if sources[0].node >= 0 else None
                yield problem(
                    "V7",
                    "an edge ends on a port that does not exist",
                    maker.where if maker else self.graph.name,
                    required=f"a port of one of {counted(len(self.graph.nodes), 'node')}, counted from 0",
                    got=f"port {edge.port} of node {edge.node}",
                    hint="an edge names the number of a node, and of one of its ports",
                )
                return
        for number, node in enumerate(self.graph.nodes):
            for port, literal in enumerate(node.ports):
                found = len(self.sources.get(Edge(number, port), ())) + (literal is not None)
                if found != 1:
                    yield problem(
                        "V8",
                        f"port {port} of {node} has {'no source' if found == 0 else f'{found} sources'}",
                        node.where,
                        required="1 source: an edge, or a literal",
                        got=counted(found, "source"),
                        hint="a merge is missing before it" if found else "connect it, or give it a literal",
                    )
            yield from self.literals(node)

    def literals(self, node: Node) -> Iterator[Invalid]:
        given = [isinstance(port, Literal) for port in node.ports[: len(node.ports) - node.triggered]]
        trigger = node.triggered and node.ports[-1] is not None
        if trigger or (node.op == "merge" and any(given)) or (node.op == "switch" and given[1:] == [True]):
            yield problem(
                "V8",
                f"a literal stands where {node.op} must have a token",
                node.where,
                required="an edge",
                got="a literal",
                hint="send it through an identity node with a trigger, as in `one = identity 1 @ x`",
            )
        elif resource_of(node.op) and not node.triggered:
            yield problem(
                "V8",
                f"{node} has no order token",
                node.where,
                required="a trigger: the token that orders the effects on its resource",
                got="no trigger",
                hint="write `@ x` behind it: it happens when x comes, and its second output is for the next",
            )
        elif (given or node.op in ACTS) and all(given) != node.triggered and not resource_of(node.op):
            extra = node.triggered
            yield problem(
                "V8",
                f"{node} has {'a trigger it does not need' if extra else 'literals only, and no trigger'}",
                node.where,
                required="no trigger" if extra else "a trigger: a token on which it fires",
                got="a trigger" if extra else "no trigger",
                hint="leave out what is behind the `@`" if extra else "write `@ x` behind it: it fires when x comes",
            )

    def results(self) -> Iterator[Invalid]:
        """V15."""
        leaving = [n for n, node in enumerate(self.graph.nodes) if (node.op, node.site) == ("return", ENVIRONMENT)]
        wrong = [number for number in self.graph.results if number not in leaving]
        for number in wrong:
            there = 0 <= number < len(self.graph.nodes)
            yield problem(
                "V15",
                "a result is no return to the environment",
                self.graph.nodes[number].where if there else self.graph.name,
                required=self.names(leaving),
                got=self.names([number]),
                hint="`return a` makes the return node of a, `results a` takes a as it is",
            )
        if not wrong and sorted(self.graph.results) != leaving:
            once = [n for n in leaving if self.graph.results.count(n) != 1]
            yield problem(
                "V15",
                "a return to the environment must be one result, once",
                self.graph.nodes[once[0]].where,
                required=self.names(leaving),
                got=self.names(self.graph.results),
                hint="name each behind `return`, or behind `results`",
            )

    def names(self, numbers: Sequence[int]) -> list[str]:
        nodes = self.graph.nodes
        return [str(nodes[number]) if 0 <= number < len(nodes) else f"node {number}" for number in numbers]

    def types(self) -> Iterator[Invalid]:
        """V9."""
        for name, argument in self.graph.arguments[: self.graph.hidden]:
            if argument.type != _BOOL:
                what, hint = f"hidden argument {name} is no trigger", f"write @{name}, without a type"
                yield problem("V9", what, self.graph.name, required=_BOOL, got=argument.type, hint=hint)
        leaving = [self.graph.nodes[number].outputs[0] for number in self.graph.results]
        outside = [output.type for output in (*(argument for _, argument in self.graph.arguments), *leaving)]
        yield from handles("V9", self.graph.name, self.graph.name, outside)
        for number, node in enumerate(self.graph.nodes):
            ports = [self.port_type(number, port) for port in range(len(node.ports) - node.triggered)]
            out = [output.type for output in node.outputs]
            try:
                wanted = self.output_types(node, ports)
            except Invalid as error:
                yield self.untaken(error, node, ports)
                continue
            if not all(o.admits(w) for o, w in zip(out, wanted, strict=True)):
                hint = "the type of a merge admits those of all its ports" if node.op == "merge" else hints.INFERRED
                what = f"{node} makes another type than its output has"
                yield problem("V9", what, node.where, required=wanted, got=out, hint=hint)

    def untaken(self, error: Invalid, node: Node, ports: list[Type]) -> Invalid:
        """What is said of a node that does not take what comes to its ports."""
        row, literals = ROWS.get(node.op), node.ports[: len(ports)]
        hint = hints.fitting(row, ports, literals, node.attributes) if row else hints.COMPARE
        required = error.required or "operands that the op takes"
        got = ports if row and not node.attributes else error.got
        return problem("V9", f"{node.op}: {error.message}", node.where, required=required, got=got, hint=hint)

    def output_types(self, node: Node, ports: list[Type]) -> list[Type]:
        if node.op in ROWS:
            return [ROWS[node.op].types(*ports, **dict(node.attributes)), _BOOL][: len(node.outputs)]
        if node.op == "switch" and ports[1] != _BOOL:
            raise Invalid("the predicate is not one bool", required="bool", got=ports[1])
        if node.op == "exit":
            return [ports[0], Type(dtypes.int64)]
        if node.op == "reenter" and ports[1] != Type(dtypes.int64):
            raise Invalid("an iteration is no int64", required="the trip count of an exit", got=ports[1])
        if node.op == "merge":
            out = node.outputs[0].type
            wrong = [type_ for type_ in ports if not out.admits(type_)]
            return [wrong[0] if wrong else out]
        return [ports[0]] * len(node.outputs)

    def port_type(self, number: int, port: int) -> Type:
        literal = self.graph.nodes[number].ports[port]
        if literal is not None:
            return literal.type
        return self.graph.output(self.sources[Edge(number, port)][0]).type
