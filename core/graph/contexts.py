"""Control contexts: the function or loop, and the branch, that each value of a graph belongs to; V10 to V14 and V16.

A control context is an owner (a function or a loop) and a guard: the predicates, with their outcomes, between the entry
of the owner and the value. Contexts are inferred forward, in the order in which tokens can arrive. Edges that close
cycles (returns, next_iterations) are checked afterwards.

V10  The ports of a node have one control context: one function or loop, under the same branches.
V11  The ports of a merge exclude each other and leave no gap: both sides of a switch; a loop's `enter` and its
     `next_iteration`; the call sites of one function, each once.
V12  The calls of a site have one control context. Each feeds one entry merge of its function, and each entry merge has
     one call of every site. If the entry itself is called, the arguments of the run feed its entry merges in the same
     way.
V13  The variables of a loop enter in one control context, go on when its condition holds, and leave when it does not.
     The condition is the same for all, and so is the bound on its iterations, if there is one.
V16  A reverse loop retraces the iterations: a `reenter` gets the trip count of an `exit` of its loop, and is merged
     with a value from an iteration whose condition holds; the merge feeds a `back`.
V14  Every node can be reached by tokens: no node waits for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from ..errors import Invalid
from ..program.problems import problem
from ..tag import ENVIRONMENT, Site
from .graph import Edge, Graph, GraphNode, OutputRef

Guard: TypeAlias = tuple[tuple[OutputRef, bool], ...]


class ControlContext(NamedTuple):
    """The function or loop that a value belongs to, and its guard: (predicate, outcome) pairs."""

    owner: str | Site
    guard: Guard = ()


class ControlContexts:
    """The control contexts of a graph whose nodes have the right shape (V7 to V9).

    `contexts` has the context of each output that has one; `outer_contexts` the context from which each site is called
    or entered; `problems` the violations of V10 to V14 and V16.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sources = graph.sources()
        self.callees = {**dict(graph.calls), ENVIRONMENT: graph.name}
        self.contexts: dict[OutputRef, ControlContext] = {}
        self.outer_contexts: dict[Site, ControlContext] = {ENVIRONMENT: ControlContext("the environment")}
        self.nodes_by_site: dict[tuple[str, Site], list[int]] = {}
        for number, node in enumerate(graph.nodes):
            if node.site is not None:
                self.nodes_by_site.setdefault((node.op, node.site), []).append(number)
        self.problems = list(self.infer_and_check())

    def infer_and_check(self) -> Iterator[Invalid]:
        """Infer contexts in the order in which tokens can arrive, then check the edges that close cycles."""
        for position in range(len(self.graph.arguments)):
            self.contexts[OutputRef(-1, position)] = ControlContext(self.graph.name)
        worklist = list(range(len(self.graph.nodes)))
        while worklist:
            blocked_nodes, problems = [], []
            for number in worklist:
                node_problems = self.infer_node(number)
                if node_problems is None:
                    blocked_nodes.append(number)
                else:
                    problems += node_problems
            yield from problems
            if problems or len(blocked_nodes) == len(worklist):
                yield from [] if problems else self.unreachable_problems(blocked_nodes)
                return
            worklist = blocked_nodes
        yield from self.check_calls()
        yield from self.check_returns()
        yield from self.check_loops()
        yield from self.check_reverse_loops()

    def unreachable_problems(self, blocked_nodes: list[int]) -> Iterator[Invalid]:
        """V14."""
        yield problem(
            "V14",
            "no token reaches these nodes: they wait for themselves, or for a function that is never called",
            self.graph.nodes[blocked_nodes[0]].origin,
            required="a path from the arguments to every node",
            got=self.node_names(blocked_nodes[:5]),
            hint="a cycle must pass through next_iteration and a merge",
        )

    def infer_node(self, number: int) -> list[Invalid] | None:
        """Infer the contexts of a node's outputs. Returns problems, or None while an input has no context."""
        node = self.graph.nodes[number]
        ports = [self.port_source(number, port) for port in range(len(node.ports)) if node.ports[port] is None]
        if node.op == "merge":
            return self.infer_merge(number, ports)
        if node.op == "return":
            return self.infer_return(number)
        contexts = [self.contexts.get(source) for source in ports]
        if None in contexts:
            return None
        if len(set(contexts)) > 1:
            return [self.mixed_contexts_problem(node, ports)]
        input_context = contexts[0]
        assert input_context is not None
        if self.function_of(input_context) != node.function:
            return [self.foreign_function_problem(node, input_context)]
        return self.infer_outputs(number, input_context)

    def infer_outputs(self, number: int, input_context: ControlContext) -> list[Invalid] | None:
        node = self.graph.nodes[number]
        match node.op:
            case "switch":
                pred = self.skip_identities(self.port_source(number, 1))
                outputs = [
                    ControlContext(input_context.owner, (*input_context.guard, (pred, side))) for side in (True, False)
                ]
            case "call" | "enter":
                assert node.site is not None
                if self.outer_contexts.setdefault(node.site, input_context) != input_context:
                    return [self.multiple_entries_problem(node, input_context)]
                outputs = [ControlContext(self.callees[node.site] if node.op == "call" else node.site)]
            case "exit" | "next_iteration" | "back":
                assert node.site is not None
                if input_context.owner != node.site:
                    return [
                        self.mixed_contexts_problem(
                            node, [self.port_source(number, 0)], required=ControlContext(node.site)
                        )
                    ]
                if node.op != "next_iteration" and not self.has_all_inputs(node):
                    return None
                outputs = {
                    "exit": [self.outer_contexts[node.site]] * 2,
                    "next_iteration": [ControlContext(node.site)],
                }.get(node.op) or [
                    self.loop_branch_context(node.site, True),
                    self.outer_contexts[node.site],
                ]
            case "reenter":
                assert node.site is not None
                trips = None if node.ports[1] is not None else self.port_source(number, 1)
                exits = self.nodes_by_site.get(("exit", node.site), ())
                if trips is None or trips.node not in exits or trips.output != 1:
                    return [self.trip_count_problem(node, trips)]
                outputs = [self.loop_branch_context(node.site, False)]
            case _:
                outputs = [input_context] * len(node.outputs)
        self.contexts.update((OutputRef(number, position), context) for position, context in enumerate(outputs))
        return []

    def infer_return(self, number: int) -> list[Invalid] | None:
        """A return has the context of its call, once all arguments of the call have a context."""
        site = self.graph.nodes[number].site
        assert site is not None
        if site != ENVIRONMENT and not self.has_all_inputs(self.graph.nodes[number]):
            return None
        self.contexts[OutputRef(number, 0)] = self.outer_contexts[site]
        return []

    def has_all_inputs(self, node: GraphNode) -> bool:
        """Whether all arguments of a call, or all variables of a loop, have a context, in this phase and the earlier
        ones: any output may depend on any of them."""
        assert node.site is not None
        numbers = [n for op in ("call", "enter", "reenter") for n in self.nodes_by_site.get((op, node.site), ())]
        are_known = [OutputRef(n, 0) in self.contexts for n in numbers if self.graph.nodes[n].phase <= node.phase]
        return bool(are_known) and all(are_known)

    def loop_branch_context(self, site: Site, outcome: bool) -> ControlContext:
        """The context inside a loop where its condition has this outcome, taken from an exit of the loop."""
        for number in self.nodes_by_site.get(("exit", site), ()):
            context = self.contexts[self.port_source(number, 0)]
            if context.guard:
                return ControlContext(site, (*context.guard[:-1], (context.guard[-1][0], outcome)))
        return ControlContext(site)

    def infer_merge(self, number: int, ports: list[OutputRef]) -> list[Invalid] | None:
        """V11."""
        node = self.graph.nodes[number]
        producers = [None if source.node < 0 else self.graph.nodes[source.node] for source in ports]
        ops = ["call" if producer is None else producer.op for producer in producers]
        if "reenter" in ops:
            reenter_context = self.contexts.get(ports[ops.index("reenter")])
            if reenter_context is None:
                return None
            if len(ports) != 2:
                return [self.merge_problem(node, "one reenter, and one value of its loop", ports)]
            return self.assign_merge(number, ControlContext(reenter_context.owner))
        if "enter" in ops or "next_iteration" in ops:
            sites = {producer.site for producer in producers if producer is not None}
            if sorted(ops) != ["enter", "next_iteration"] or len(sites) > 1:
                return [self.merge_problem(node, "one enter and one next_iteration, of one loop", ports)]
            enter_context = self.contexts.get(ports[ops.index("enter")])
            if enter_context is None:
                return None
            return self.assign_merge(number, enter_context)
        if "call" in ops:
            callers = [ENVIRONMENT if producer is None else producer.site for producer in producers]
            callees = {self.callees[site] for site in callers if site in self.callees}
            if set(ops) != {"call"} or len(set(callers)) < len(callers) or callees != {node.function}:
                return [self.merge_problem(node, "at most one token from each site that calls the function", ports)]
            return self.assign_merge(number, ControlContext(node.function))
        contexts = [self.contexts[source] for source in ports if source in self.contexts]
        if len(contexts) < len(ports):
            return None
        guard = join_guards([context.guard for context in contexts])
        if guard is None or len({context.owner for context in contexts}) > 1:
            return [self.merge_problem(node, "the two sides of one switch", ports, contexts)]
        return self.assign_merge(number, ControlContext(contexts[0].owner, guard))

    def assign_merge(self, number: int, context: ControlContext) -> list[Invalid]:
        """Set the context of a merge, joined from its ports; it must be in the merge's function."""
        node = self.graph.nodes[number]
        if self.function_of(context) != node.function:
            return [self.foreign_function_problem(node, context)]
        self.contexts[OutputRef(number, 0)] = context
        return []

    def check_calls(self) -> Iterator[Invalid]:
        """V12."""
        entries: dict[str, set[int]] = {}
        for number, node in enumerate(self.graph.nodes):
            if node.op == "merge" and all(
                self.is_call(self.port_source(number, port)) for port in range(len(node.ports))
            ):
                entries.setdefault(node.function, set()).add(number)
        callers = {site: numbers for (op, site), numbers in self.nodes_by_site.items() if op == "call"}
        arguments_by_site = {
            site: [self.graph.nodes[number].outputs[0] for number in callers[site]] for site in callers
        }
        if self.graph.name in {self.callees[site] for site in callers}:
            arguments_by_site[ENVIRONMENT] = [argument for _, argument in self.graph.arguments]
        for site, outputs in arguments_by_site.items():
            entry_merges = sorted(entries.get(self.callees[site], ()))
            fed_nodes = sorted(edge.node for output in outputs for edge in output.edges)
            if fed_nodes != entry_merges or any(len(output.edges) != 1 for output in outputs):
                yield problem(
                    "V12",
                    f"the arguments of {site} do not feed each parameter of {self.callees[site]} once",
                    self.graph.nodes[callers[site][0]].origin if site in callers else self.graph.name,
                    required=self.node_names(entry_merges),
                    got=self.node_names(fed_nodes),
                    hint="a parameter is a merge, fed once by every site that calls the function",
                )

    def check_returns(self) -> Iterator[Invalid]:
        """V10: a return gets a value of the called function, under no branch."""
        for number, node in enumerate(self.graph.nodes):
            if node.op == "return" and node.site is not None:
                source, return_context = self.port_source(number, 0), self.contexts[OutputRef(number, 0)]
                callee_context = ControlContext(self.callees[node.site])
                if self.contexts[source] != callee_context:
                    yield self.mixed_contexts_problem(node, [source], required=callee_context)
                if node.function != (self.graph.name if node.site == ENVIRONMENT else self.function_of(return_context)):
                    yield self.foreign_function_problem(node, return_context)

    def check_loops(self) -> Iterator[Invalid]:
        """V13."""
        for site, numbers in [(site, numbers) for (op, site), numbers in self.nodes_by_site.items() if op == "enter"]:
            next_iterations = self.nodes_by_site.get(("next_iteration", site), [])
            edges = [[self.graph.nodes[n].outputs[0].edges for n in side] for side in (numbers, next_iterations)]
            merges = [sorted(edge.node for targets in side for edge in targets) for side in edges]
            is_fed_once = all(len(targets) == 1 for side in edges for targets in side)
            if merges[0] != merges[1] or not is_fed_once or not all(map(self.is_merge, merges[0])):
                yield problem(
                    "V13",
                    f"a variable of loop {site} lacks its enter, its merge or its next_iteration",
                    self.graph.nodes[numbers[0]].origin,
                    required=self.node_names(merges[0]),
                    got=self.node_names(merges[1]),
                    hint="a loop variable is a merge, fed once by its enter and once by its next_iteration",
                )
                continue
            if len({self.graph.nodes[n].attributes for n in next_iterations if not self.graph.nodes[n].phase}) > 1:
                yield problem(
                    "V13",
                    f"the variables of loop {site} do not have the same bound",
                    self.graph.nodes[numbers[0]].origin,
                    required="the same on each next_iteration",
                    got="; ".join(sorted({str(dict(self.graph.nodes[n].attributes)) for n in next_iterations})),
                    hint="a loop has one bound on its iterations, or none",
                )
                continue
            exits = self.nodes_by_site.get(("exit", site), [])
            guards = {(self.contexts[self.port_source(n, 0)], True) for n in next_iterations}
            guards |= {(self.contexts[self.port_source(n, 0)], False) for n in exits}
            conditions = {context.guard[-1][0] for context, _ in guards if context.guard}
            allowed_guards = {
                (ControlContext(site, ((pred, outcome),)), outcome) for pred in conditions for outcome in (True, False)
            }
            if len(conditions) != 1 or not guards <= allowed_guards:
                yield problem(
                    "V13",
                    f"the variables of loop {site} do not all continue and exit on one condition",
                    self.graph.nodes[numbers[0]].origin,
                    required="next_iteration where the condition holds, exit where it does not hold",
                    got="; ".join(sorted({self.describe_context(context) for context, _ in guards})),
                    hint="switch every variable on the condition: output 0 continues, output 1 exits",
                )

    def check_reverse_loops(self) -> Iterator[Invalid]:
        """V16."""
        for (op, site), numbers in self.nodes_by_site.items():
            if op != "reenter":
                continue
            for number in numbers:
                edges = self.graph.nodes[number].outputs[0].edges
                merge = edges[0].node if len(edges) == 1 and self.is_merge(edges[0].node) else None
                back = self.graph.nodes[merge].outputs[0].edges if merge is not None else ()
                consumers = [self.graph.nodes[edge.node] for edge in back]
                if merge is None or not any((node.op, node.site) == ("back", site) for node in consumers):
                    yield self.missing_back_problem(number)
                    continue
                other_source = self.port_source(merge, 1 - edges[0].port)
                if self.contexts[other_source] != self.loop_branch_context(site, True):
                    yield self.merge_problem(
                        self.graph.nodes[merge],
                        "both sides of the condition",
                        [other_source],
                        [self.contexts[other_source]],
                    )

    def port_source(self, number: int, port: int) -> OutputRef:
        """The only source of a port (V8 is checked before); for a port with a literal, that of the last port without
        one, which is the trigger if there is one."""
        ports = self.graph.nodes[number].ports
        if ports[port] is not None:
            port = max(other for other, literal in enumerate(ports) if literal is None)
        return self.sources[Edge(number, port)][0]

    def skip_identities(self, source: OutputRef) -> OutputRef:
        """The source of a token behind identities, which pass a predicate on unchanged."""
        while source.node >= 0 and self.graph.nodes[source.node].op == "identity":
            if self.graph.nodes[source.node].has_trigger:
                break
            source = self.port_source(source.node, 0)
        return source

    def is_call(self, source: OutputRef) -> bool:
        return source.node < 0 or self.graph.nodes[source.node].op == "call"

    def is_merge(self, number: int) -> bool:
        return self.graph.nodes[number].op == "merge"

    def function_of(self, context: ControlContext) -> str:
        """The function that contains a context."""
        while isinstance(context.owner, Site):
            context = self.outer_contexts[context.owner]
        return context.owner

    def describe_context(self, context: ControlContext) -> str:
        """A context in words: `tokens of main.loop where main.less holds`."""
        outcomes = [
            f"{self.producer_name(pred)} {'holds' if outcome else 'does not hold'}" for pred, outcome in context.guard
        ]
        return f"tokens of {context.owner}{' where ' * bool(outcomes)}{' and '.join(outcomes)}"

    def producer_name(self, source: OutputRef) -> str:
        return self.graph.arguments[source.output][0] if source.node < 0 else str(self.graph.nodes[source.node])

    def node_names(self, numbers: list[int]) -> list[str]:
        return [str(self.graph.nodes[number]) for number in numbers]

    def mixed_contexts_problem(
        self, node: GraphNode, ports: list[OutputRef], required: ControlContext | None = None
    ) -> Invalid:
        return problem(
            "V10",
            f"tokens of {node} have different control contexts",
            node.origin,
            required=self.describe_context(required) if required else "one control context",
            got="; ".join(self.describe_context(self.contexts[source]) for source in ports),
            hint="a value enters a loop by enter, a branch by switch, a function by call",
        )

    def foreign_function_problem(self, node: GraphNode, context: ControlContext) -> Invalid:
        return problem(
            "V10",
            f"{node} gets its tokens from another function",
            node.origin,
            required=node.function,
            got=self.function_of(context),
            hint="a value passes from one function to another by call and return",
        )

    def multiple_entries_problem(self, node: GraphNode, context: ControlContext) -> Invalid:
        assert node.site is not None
        return problem(
            "V12" if node.op == "call" else "V13",
            f"{node.site} is entered from two control contexts",
            node.origin,
            required=self.describe_context(self.outer_contexts[node.site]),
            got=self.describe_context(context),
            hint="use a site for each control context",
        )

    def merge_problem(
        self, node: GraphNode, required: str, ports: list[OutputRef], contexts: Sequence[ControlContext] = ()
    ) -> Invalid:
        return problem(
            "V11",
            f"merge {node} may get two tokens under one tag, or none",
            node.origin,
            required=required,
            got="; ".join(map(self.describe_context, contexts)) or [self.producer_name(source) for source in ports],
            hint="switch a value on one predicate, and merge the results of both sides",
        )

    def missing_back_problem(self, number: int) -> Invalid:
        node = self.graph.nodes[number]
        return problem(
            "V16",
            f"{node} does not reach a merge that feeds a `back`",
            node.origin,
            required=f"reenter, merge and back of {node.site}, one of each for an adjoint",
            got=[str(self.graph.nodes[edge.node]) for edge in node.outputs[0].edges],
            hint="an adjoint enters by reenter, is merged with the adjoint of the next iteration, and leaves by back",
        )

    def trip_count_problem(self, node: GraphNode, trips: OutputRef | None) -> Invalid:
        return problem(
            "V16",
            f"{node} gets no trip count",
            node.origin,
            required=f"output 1 of an exit of {node.site} on port 1",
            got=self.producer_name(trips) if trips is not None else str(node.ports[1]),
            hint="the second output of an exit is the trip count",
        )


def join_guards(guards: list[Guard]) -> Guard | None:
    """The guard under which exactly one of these guards holds, or None. The two sides of a predicate join to the outer
    guard.

    >>> p, q = OutputRef(0, 0), OutputRef(1, 0)
    >>> join_guards([((p, True), (q, True)), ((p, False),), ((p, True), (q, False))])
    ()
    """
    open_guards = list(guards)
    while len(open_guards) > 1:
        longest = max(open_guards, key=len)
        if not longest:
            return None
        *outer_guard, (pred, outcome) = longest
        opposite = (*outer_guard, (pred, not outcome))
        if open_guards.count(longest) != 1 or open_guards.count(opposite) != 1:
            return None
        open_guards = [guard for guard in open_guards if guard not in (longest, opposite)] + [tuple(outer_guard)]
    return open_guards[0]
