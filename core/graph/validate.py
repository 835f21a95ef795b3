"""The well-formedness rules of graphs.

On a graph that keeps them, no port gets two tokens under one tag, every token is consumed, and a run that becomes
quiescent without a trap has all its results.

V7   A node's op exists, and the node has the number of ports and outputs, and the attributes, that the op requires.
     Routing ops that touch tags, and no others, have a site, of a call or of a loop. Edges end on ports that exist. The
     hidden arguments are among the arguments.
V8   A port has exactly one source: an edge or a literal. A merge takes no literal, nor does the predicate of a switch.
     A node with nothing but literals, or with an effect, has a trigger, which takes a token; no other node has one.
V9   Types agree along edges, and with the op. A hidden argument is one bool; no argument or result is a cell handle.
Rules V10 to V14 and V16 are statements about control contexts, in `contexts`. A graph with dead tokens (S18) need not
keep them, since every node of it gets tokens; its `exit` and `next_iteration` nodes may have a second port.
V15  The results are `return` nodes to the environment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import dtypes
from ..errors import Invalid, plural
from ..ops.effects import ALL_OPS, EFFECT_OPS, is_allowed_in, resource_of
from ..ops.op import operand_count
from ..ops.routing import ALL_ROUTING_OPS
from ..program import hints
from ..program.problems import check_attributes, check_iteration_bound, check_no_handles, check_phase_attribute, problem
from ..program.program import PHASE
from ..tag import ENVIRONMENT
from ..types import Type
from ..value import Literal
from .contexts import ControlContexts
from .graph import Edge, Graph, GraphNode

_BOOL, _INDEX = Type(dtypes.bool), Type(dtypes.int32)


def graph_problems(graph: Graph) -> list[Invalid]:
    """Every problem of a graph; empty where it is well-formed.

    The shape of nodes is checked first; types and control contexts only where the shape is right.
    """
    checker = _GraphChecker(graph)
    return checker.check_shape() or [
        *checker.check_types(),
        *(() if graph.has_dead_tokens else ControlContexts(graph).problems),
    ]


def infer_contexts(graph: Graph) -> ControlContexts | None:
    """The control contexts of a graph; None if it breaks a rule about shape or contexts, or has dead tokens."""
    if graph.has_dead_tokens or _GraphChecker(graph).check_shape():
        return None
    contexts = ControlContexts(graph)
    return None if contexts.problems else contexts


class _GraphChecker:
    def __init__(self, graph: Graph) -> None:
        self.graph, self.has_dead_tokens = graph, graph.has_dead_tokens
        self.sources = graph.sources()
        self.called_sites = {ENVIRONMENT, *(site for site, _ in graph.calls)}

    def check_shape(self) -> list[Invalid]:
        """V7, V8 and V15."""
        return [*self.check_nodes(), *self.check_ports(), *self.check_results()]

    def check_nodes(self) -> Iterator[Invalid]:
        """V7."""
        count = len(self.graph.arguments)
        if not 0 <= self.graph.hidden_count <= count:
            yield problem(
                "V7",
                "the number of hidden arguments is out of range",
                self.graph.name,
                required=f"0 to {plural(count, 'hidden argument')}",
                got=plural(self.graph.hidden_count, "hidden argument"),
                hint="the first arguments are hidden, as many as `hidden` says",
            )
        for node in self.graph.nodes:
            yield from self.check_node(node)

    def check_node(self, node: GraphNode) -> Iterator[Invalid]:
        """V7 of one node: its op, its numbers of ports and outputs, its site and its attributes. The first problem is
        reported alone, because the later ones may follow from it."""
        control = ALL_ROUTING_OPS.get(node.op)
        row = ALL_OPS.get(node.op) if is_allowed_in(node.op, "graph") else None
        if control is None and row is None:
            message, hint = f"{node} has an op that does not exist", hints.suggest_op(node.op, None)
            yield problem("V7", message, node.origin, required="an op", got=node.op, hint=hint)
            return
        ports = len(node.ports) - node.has_trigger
        arity = operand_count(row, dict(node.attributes)) if row else control.arity if control else None
        if self.has_dead_tokens and node.op in ("exit", "next_iteration") and ports == 2:
            arity = 2
        outputs = control.output_count if control else row.output_count if row else 1
        required_ports = "some ports" if arity is None else plural(arity, "port")
        if (arity is not None and ports != arity) or (control and not ports) or len(node.outputs) != outputs:
            yield problem(
                "V7",
                f"{node.op} has the wrong number of ports or outputs",
                node.origin,
                required=f"{required_ports} and {plural(outputs, 'output')}",
                got=f"{plural(ports, 'port')} and {plural(len(node.outputs), 'output')}",
                hint=hints.example(node.op),
            )
        elif (node.site.kind if node.site else None) != (kind := control.site_kind if control else None):
            yield problem(
                "V7",
                f"{node.op} has a missing, unneeded or wrong site",
                node.origin,
                required=f"the site of a {kind}" if kind else "no site",
                got=f"the site of a {node.site.kind}, {node.site}" if node.site else "no site",
                hint=hints.example(node.op),
            )
        elif control and control.site_kind and PHASE in dict(node.attributes):
            yield from check_phase_attribute("V7", node.origin, node.attributes)
        elif node.op == "next_iteration":
            yield from check_iteration_bound("V7", node.origin, node.attributes)
        elif attribute_problems := list(check_attributes("V7", node.op, node.origin, row, node.attributes)):
            yield from attribute_problems
        elif node.op in ("call", "return") and node.site not in self.called_sites:
            yield problem(
                "V7",
                f"no function is declared for site {node.site}",
                node.origin,
                required=f"one of {', '.join(map(str, self.called_sites - {ENVIRONMENT}))}"
                if len(self.called_sites) > 1
                else "a site that calls a function",
                got=node.site,
                hint=f"name the function that it calls, as in `site {node.site} calls f`",
            )

    def check_ports(self) -> Iterator[Invalid]:
        """V8."""
        for edge, sources in self.sources.items():
            if not (0 <= edge.node < len(self.graph.nodes) and 0 <= edge.port < len(self.graph.nodes[edge.node].ports)):
                producer = self.graph.nodes[sources[0].node] if sources[0].node >= 0 else None
                yield problem(
                    "V7",
                    "an edge ends on a port that does not exist",
                    producer.origin if producer else self.graph.name,
                    required=f"a port of one of {plural(len(self.graph.nodes), 'node')}, counted from 0",
                    got=f"port {edge.port} of node {edge.node}",
                    hint="an edge names the number of a node, and of one of its ports",
                )
                return
        for number, node in enumerate(self.graph.nodes):
            for port, literal in enumerate(node.ports):
                source_count = len(self.sources.get(Edge(number, port), ())) + (literal is not None)
                if source_count != 1:
                    yield problem(
                        "V8",
                        f"port {port} of {node} has {'no source' if source_count == 0 else f'{source_count} sources'}",
                        node.origin,
                        required="1 source: an edge, or a literal",
                        got=plural(source_count, "source"),
                        hint="a merge is missing before it" if source_count else "connect it, or give it a literal",
                    )
            yield from self.check_literals(node)

    def check_literals(self, node: GraphNode) -> Iterator[Invalid]:
        is_literal = [isinstance(port, Literal) for port in node.ports[: len(node.ports) - node.has_trigger]]
        is_trigger_literal = node.has_trigger and node.ports[-1] is not None
        if (
            is_trigger_literal
            or (node.op == "merge" and any(is_literal))
            or (node.op == "switch" and is_literal[1:] == [True])
        ):
            yield problem(
                "V8",
                f"{node.op} has a literal on a port that must take a token",
                node.origin,
                required="an edge",
                got="a literal",
                hint="send it through an identity node with a trigger, as in `one = identity 1 @ x`",
            )
        elif resource_of(node.op) and not node.has_trigger:
            yield problem(
                "V8",
                f"{node} has no order token",
                node.origin,
                required="a trigger: the token that orders the effects on its resource",
                got="no trigger",
                hint="add `@ x`: the effect happens when x arrives, and its second output orders the next one",
            )
        elif (is_literal or node.op in EFFECT_OPS) and all(is_literal) != node.has_trigger and not resource_of(node.op):
            is_needless = node.has_trigger
            yield problem(
                "V8",
                f"{node} has {'a trigger it does not need' if is_needless else 'literals only, and no trigger'}",
                node.origin,
                required="no trigger" if is_needless else "a trigger: a token on which it fires",
                got="a trigger" if is_needless else "no trigger",
                hint="leave out the `@` and the name after it" if is_needless else "add `@ x`: it fires when x arrives",
            )

    def check_results(self) -> Iterator[Invalid]:
        """V15."""
        returns = [n for n, node in enumerate(self.graph.nodes) if (node.op, node.site) == ("return", ENVIRONMENT)]
        invalid = [number for number in self.graph.results if number not in returns]
        for number in invalid:
            exists = 0 <= number < len(self.graph.nodes)
            yield problem(
                "V15",
                "a result is not a return to the environment",
                self.graph.nodes[number].origin if exists else self.graph.name,
                required=self.node_names(returns),
                got=self.node_names([number]),
                hint="`return a` adds a return node for a; `results a` names an existing one",
            )
        if not invalid and sorted(self.graph.results) != returns:
            miscounted_returns = [n for n in returns if self.graph.results.count(n) != 1]
            yield problem(
                "V15",
                "a return to the environment is not one of the results, or is several",
                self.graph.nodes[miscounted_returns[0]].origin,
                required=self.node_names(returns),
                got=self.node_names(self.graph.results),
                hint="name each result once, after `return` or `results`",
            )

    def node_names(self, numbers: Sequence[int]) -> list[str]:
        nodes = self.graph.nodes
        return [str(nodes[number]) if 0 <= number < len(nodes) else f"node {number}" for number in numbers]

    def check_types(self) -> Iterator[Invalid]:
        """V9."""
        for name, argument in self.graph.arguments[: self.graph.hidden_count]:
            if argument.type != _BOOL:
                message, hint = f"hidden argument {name} is not a trigger", f"write @{name}, without a type"
                yield problem("V9", message, self.graph.name, required=_BOOL, got=argument.type, hint=hint)
        results = [self.graph.nodes[number].outputs[0] for number in self.graph.results]
        outer_types = [output.type for output in (*(argument for _, argument in self.graph.arguments), *results)]
        yield from check_no_handles("V9", self.graph.name, self.graph.name, outer_types)
        for number, node in enumerate(self.graph.nodes):
            ports = [self.port_type(number, port) for port in range(len(node.ports) - node.has_trigger)]
            output_types = [output.type for output in node.outputs]
            try:
                expected = self.expected_output_types(node, ports)
            except Invalid as error:
                yield self.operand_problem(error, node, ports)
                continue
            if not all(o.admits(w) for o, w in zip(output_types, expected, strict=True)):
                hint = (
                    "the type of a merge admits those of all its ports" if node.op == "merge" else hints.INFERRED_HINT
                )
                message = f"the type of the output of {node} is not the type of its result"
                yield problem("V9", message, node.origin, required=expected, got=output_types, hint=hint)

    def operand_problem(self, error: Invalid, node: GraphNode, ports: list[Type]) -> Invalid:
        """V9: the problem for a node whose op rejects the types of its ports."""
        row, literals = ALL_OPS.get(node.op), node.ports[: len(ports)]
        if row is None:
            hint = hints.COMPARE_HINT
        else:
            hint = hints.suggest_operands(row, ports, literals, node.attributes, error.hint)
        required = error.required or "operands that the op takes"
        got = ports if row and not node.attributes else error.got
        return problem("V9", f"{node.op}: {error.message}", node.origin, required=required, got=got, hint=hint)

    def expected_output_types(self, node: GraphNode, ports: list[Type]) -> list[Type]:
        if node.op in ALL_OPS:
            return [ALL_OPS[node.op].type_rule(*ports, **dict(node.attributes)), _BOOL][: len(node.outputs)]
        if ports[1:] and (
            (node.op == "switch" and ports[1] != _BOOL) or (node.op == "dead_switch" and not ports[1].admits(_BOOL))
        ):
            raise Invalid("the predicate is not one bool", required="bool", got=ports[1])
        if node.op in ("any_live", "trigger"):
            return [_BOOL]
        if node.op == "exit":
            return [ports[0], Type(dtypes.int64)]
        if node.op == "reenter" and ports[1] != Type(dtypes.int64):
            raise Invalid("the trip count is not an int64", required="the trip count of an exit", got=ports[1])
        if node.op in ("merge", "live_merge"):
            merge_type = node.outputs[0].type
            misfits = [type_ for type_ in ports if not merge_type.admits(type_)]
            return [misfits[0] if misfits else merge_type, _INDEX][: len(node.outputs)]
        return [ports[0]] * len(node.outputs)

    def port_type(self, number: int, port: int) -> Type:
        literal = self.graph.nodes[number].ports[port]
        if literal is not None:
            return literal.type
        return self.graph.output(self.sources[Edge(number, port)][0]).type
