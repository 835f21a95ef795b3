"""The well-formedness rules of graphs. On a graph that keeps them no port gets two tokens under one tag, every
token is consumed, and a run that becomes quiet without a trap has all its results.

V7   A node's op exists, and the node has as many ports and outputs, and the attributes, that the op says; routing
     ops, and no others, have a site, of a call or of a loop. Edges end on ports that exist. The hidden arguments
     are among the arguments.
V8   A port has exactly one source: an edge, or a literal. A merge takes no literal, nor does a switch's predicate;
     a node with nothing but literals, and no other, has a trigger, which takes a token.
V9   Types agree along edges, and with the op; a hidden argument is one bool.
V10 to V14 are statements about places, in `place`.
V15  The results are return nodes to the environment.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import dtypes
from .control import CONTROL
from .errors import Invalid
from .graph import Edge, Graph, Node
from .op import OPS
from .place import Places
from .tag import ENVIRONMENT
from .types import Type
from .value import Literal

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
            yield Invalid("more arguments are hidden than there are", rule="V7", required=count, got=self.graph.hidden)
        for node in self.graph.nodes:
            control, row = CONTROL.get(node.op), OPS.get(node.op)
            if control is None and row is None:
                yield Invalid(f"{node} has an op that does not exist", rule="V7", where=node.where, got=node.op)
                continue
            ports = len(node.ports) - node.triggered
            wanted = row.arity if row else control.ports if control else None
            outputs = control.outputs if control else 1
            if (wanted is not None and ports != wanted) or ports == 0 or len(node.outputs) != outputs:
                yield Invalid(
                    f"{node.op} has the wrong number of ports or outputs",
                    rule="V7",
                    where=node.where,
                    required=f"{wanted or 'some'} and {outputs}",
                    got=f"{ports} and {len(node.outputs)}",
                )
            elif (node.site.kind if node.site else None) != (kind := control.site if control else None):
                wrong = f"{node.op} has a site too many, too few, or of the wrong kind"
                yield Invalid(wrong, rule="V7", where=node.where, required=kind, got=node.site)
            elif (names := tuple(name for name, _ in node.attributes)) != (row.attributes if row else ()):
                yield Invalid(f"{node.op} has the wrong attributes", rule="V7", where=node.where, got=names)
            elif node.op in ("call", "return") and node.site not in self.called:
                yield Invalid(f"no function is known for site {node.site}", rule="V7", where=node.where)

    def ports(self) -> Iterator[Invalid]:
        """V8."""
        for edge in self.sources:
            if not (0 <= edge.node < len(self.graph.nodes) and 0 <= edge.port < len(self.graph.nodes[edge.node].ports)):
                yield Invalid("an edge ends on a port that does not exist", rule="V7", got=edge)
                return
        for number, node in enumerate(self.graph.nodes):
            for port, literal in enumerate(node.ports):
                found = len(self.sources.get(Edge(number, port), ())) + (literal is not None)
                if found != 1:
                    yield Invalid(
                        f"port {port} of {node} has {'no source' if found == 0 else f'{found} sources'}",
                        rule="V8",
                        where=node.where,
                        required="one edge, or one literal",
                        got=found,
                        hint="a merge is missing before it" if found else "connect it, or give it a literal",
                    )
            yield from self.literals(node)

    def literals(self, node: Node) -> Iterator[Invalid]:
        given = [isinstance(port, Literal) for port in node.ports[: len(node.ports) - node.triggered]]
        trigger = node.triggered and node.ports[-1] is not None
        if trigger or (node.op == "merge" and any(given)) or (node.op == "switch" and given[1:] == [True]):
            yield Invalid(
                f"a literal stands where {node.op} must have a token",
                rule="V8",
                where=node.where,
                hint="send it through an identity node with a trigger",
            )
        elif given and all(given) != node.triggered:
            yield Invalid(
                f"{node} has {'a trigger it does not need' if node.triggered else 'literals only, and no trigger'}",
                rule="V8",
                where=node.where,
            )

    def results(self) -> Iterator[Invalid]:
        """V15."""
        count = len(self.graph.nodes)
        for number in self.graph.results:
            if not 0 <= number < count or (self.graph.nodes[number].op, self.graph.nodes[number].site) != (
                "return",
                ENVIRONMENT,
            ):
                yield Invalid("a result is no return to the environment", rule="V15", got=number)
        returns = [n for n, node in enumerate(self.graph.nodes) if (node.op, node.site) == ("return", ENVIRONMENT)]
        if sorted(self.graph.results) != returns:
            yield Invalid("a return to the environment must be one result, once", rule="V15", got=self.graph.results)

    def types(self) -> Iterator[Invalid]:
        """V9."""
        for name, argument in self.graph.arguments[: self.graph.hidden]:
            if argument.type != _BOOL:
                yield Invalid(f"hidden argument {name} is no trigger", rule="V9", required=_BOOL, got=argument.type)
        for number, node in enumerate(self.graph.nodes):
            ports = [self.port_type(number, port) for port in range(len(node.ports) - node.triggered)]
            out = [output.type for output in node.outputs]
            try:
                wanted = self.output_types(node, ports)
            except Invalid as error:
                error.rule, error.where, error.message = "V9", node.where, f"{node.op}: {error.message}"
                yield error
                continue
            if not all(o.admits(w) for o, w in zip(out, wanted, strict=True)):
                yield Invalid(
                    f"{node} makes another type than its output has",
                    rule="V9",
                    where=node.where,
                    required=", ".join(map(str, wanted)),
                    got=", ".join(map(str, out)),
                )

    def output_types(self, node: Node, ports: list[Type]) -> list[Type]:
        if node.op in OPS:
            return [OPS[node.op].types(*ports, **dict(node.attributes))]
        if node.op == "switch" and ports[1] != _BOOL:
            raise Invalid("the predicate is not one bool", required="bool", got=ports[1])
        if node.op == "exit":
            return [ports[0], Type(dtypes.int64)]
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
