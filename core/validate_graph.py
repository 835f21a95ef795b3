"""The well-formedness rules of graphs. On a graph that keeps them no port gets two tokens under one tag, every
token is consumed, and a run that becomes quiet without a trap has all its results.

V7   A node's op exists, and the node has as many ports and outputs as the op says; routing ops have their site.
V8   A port has exactly one source: an edge, or a literal. A merge takes no literal, nor does a switch's predicate;
     a node with nothing but literals, and no other, has a trigger.
V9   Types agree along edges, and with the op.
V10  The ports of a node live in one place: one function or loop, under the same branches.
V11  The ports of a merge exclude each other and leave no gap: both sides of a switch; a loop's enter and its
     next_iteration; the call sites of one function, each once.
V12  A call feeds one entry merge of its function, and each entry merge has one call of every site.
V13  The variables of a loop enter at one place, come back when its condition holds, and leave when it does not;
     the condition is the same for all.
V14  Every node can be reached by tokens: no node waits for itself.
V15  The results are return nodes to the environment.

A *place* is inferred for every output: the context (a function, or a loop) and the guard (which predicates, with
which outcome, lie between the context's beginning and here). V10 to V13 are statements about places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from . import dtypes
from .control import CONTROL
from .errors import Invalid
from .graph import Edge, Graph, Node, Source
from .op import OPS
from .tag import ENVIRONMENT, Site
from .types import Type
from .value import Literal

Guard: TypeAlias = tuple[tuple[Source, bool], ...]


class Place(NamedTuple):
    """Where a value lives: inside a function or a loop, under a guard of (predicate, outcome)."""

    context: str | Site
    guard: Guard = ()

    def __str__(self) -> str:
        branches = [f"{'' if outcome else 'not '}{pred}" for pred, outcome in self.guard]
        return " if ".join([str(self.context), *branches])


def graph_problems(graph: Graph) -> list[Invalid]:
    """Everything that is wrong with a graph; empty where it is well-formed.

    The shape of nodes is checked first; types and places only where the shape is right.
    """
    checker = _Checker(graph)
    shape = [*checker.nodes(), *checker.ports(), *checker.results()]
    return shape or [*checker.types(), *checker.places()]


class _Checker:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sources = graph.sources()
        self.callees = {**dict(graph.calls), ENVIRONMENT: graph.name}
        self.place: dict[Source, Place] = {}
        self.outer: dict[Site, Place] = {ENVIRONMENT: Place("the environment")}
        self.by_site: dict[tuple[str, Site], list[int]] = {}
        for number, node in enumerate(graph.nodes):
            if node.site is not None:
                self.by_site.setdefault((node.op, node.site), []).append(number)

    def nodes(self) -> Iterator[Invalid]:
        """V7."""
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
                    f"{node.op} has the wrong number of ports or outputs", rule="V7", where=node.where,
                    required=f"{wanted or 'some'} and {outputs}", got=f"{ports} and {len(node.outputs)}",
                )  # fmt: skip
            elif (control is not None and control.has_site) != (node.site is not None):
                yield Invalid(f"{node.op} has a site too many, or too few", rule="V7", where=node.where, got=node.site)
            elif node.op in ("call", "return") and node.site not in self.callees:
                yield Invalid(f"no function is known for site {node.site}", rule="V7", where=node.where)

    def ports(self) -> Iterator[Invalid]:
        """V8."""
        for edge in self.sources:
            if not (0 <= edge.node < len(self.graph.nodes) and 0 <= edge.port < len(self.graph.nodes[edge.node].ports)):
                yield Invalid("an edge ends on a port that does not exist", rule="V8", got=edge)
                return
        for number, node in enumerate(self.graph.nodes):
            for port, literal in enumerate(node.ports):
                found = len(self.sources.get(Edge(number, port), ())) + (literal is not None)
                if found != 1:
                    yield Invalid(
                        f"port {port} of {node} has {'no source' if found == 0 else f'{found} sources'}", rule="V8",
                        where=node.where, required="one edge, or one literal", got=found,
                        hint="a merge is missing before it" if found else "connect it, or give it a literal",
                    )  # fmt: skip
            yield from self.literals(node)

    def literals(self, node: Node) -> Iterator[Invalid]:
        given = [isinstance(port, Literal) for port in node.ports[: len(node.ports) - node.triggered]]
        if node.op == "merge" and any(given) or node.op == "switch" and given[1:] == [True]:
            yield Invalid(
                f"a literal stands where {node.op} must have a token", rule="V8", where=node.where,
                hint="send it through an identity node with a trigger",
            )  # fmt: skip
        elif given and all(given) != node.triggered:
            yield Invalid(
                f"{node} has {'a trigger it does not need' if node.triggered else 'literals only, and no trigger'}",
                rule="V8", where=node.where,
            )  # fmt: skip

    def results(self) -> Iterator[Invalid]:
        """V15."""
        count = len(self.graph.nodes)
        for number in self.graph.results:
            if not 0 <= number < count or (self.graph.nodes[number].op, self.graph.nodes[number].site) != (
                "return",
                ENVIRONMENT,
            ):
                yield Invalid("a result is no return to the environment", rule="V15", got=number)
        if len(set(self.graph.results)) < len(self.graph.results) or len(self.graph.results) != len(
            self.by_site.get(("return", ENVIRONMENT), ())
        ):
            yield Invalid("a return to the environment must be one result, once", rule="V15", got=self.graph.results)

    def types(self) -> Iterator[Invalid]:
        """V9."""
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
                    f"{node} makes another type than its output has", rule="V9", where=node.where,
                    required=", ".join(map(str, wanted)), got=", ".join(map(str, out)),
                )  # fmt: skip

    def output_types(self, node: Node, ports: list[Type]) -> list[Type]:
        if node.op in OPS:
            return [OPS[node.op].types(*ports, **dict(node.attributes))]
        if node.op == "switch" and ports[1] != Type(dtypes.bool):
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

    def places(self) -> Iterator[Invalid]:
        """V10 to V14: infer the places in the order in which tokens can get there, then check what closes cycles."""
        for position in range(len(self.graph.arguments)):
            self.place[Source(-1, position)] = Place(self.graph.name)
        waiting = list(range(len(self.graph.nodes)))
        while waiting:
            left, problems = [], []
            for number in waiting:
                found = self.infer(number)
                if found is None:
                    left.append(number)
                else:
                    problems += found
            yield from problems
            if problems or len(left) == len(waiting):
                yield from [] if problems else self.unreached(left)
                return
            waiting = left
        yield from self.calls()
        yield from self.returns()
        yield from self.loops()

    def unreached(self, left: list[int]) -> Iterator[Invalid]:
        """V14."""
        names = ", ".join(str(self.graph.nodes[number]) for number in left[:5])
        yield Invalid(
            "no token ever comes here: these nodes wait for themselves, or for a function that is never called",
            rule="V14", where=self.graph.nodes[left[0]].where, got=names,
            hint="a cycle must pass through next_iteration and a merge",
        )  # fmt: skip

    def infer(self, number: int) -> list[Invalid] | None:
        """Place the outputs of a node; None where it is too early, else what is wrong."""
        node = self.graph.nodes[number]
        ports = [self.source(number, port) for port in range(len(node.ports)) if node.ports[port] is None]
        if node.op == "merge":
            return self.infer_merge(number, ports)
        if node.op == "return":
            return self.infer_return(number)
        places = [self.place.get(source) for source in ports]
        if None in places:
            return None
        if len(set(places)) > 1:
            return [self.apart(node, ports)]
        here = places[0]
        assert here is not None
        if self.function_of(here) != node.function:
            return [
                Invalid(
                    f"{node} gets its tokens from another function", rule="V10", where=node.where,
                    required=node.function, got=here.context, hint="functions meet in call and return",
                )  # fmt: skip
            ]
        return self.infer_outputs(number, here)

    def infer_outputs(self, number: int, here: Place) -> list[Invalid] | None:
        node = self.graph.nodes[number]
        match node.op:
            case "switch":
                pred = self.source(number, 1)
                outputs = [Place(here.context, (*here.guard, (pred, side))) for side in (True, False)]
            case "call" | "enter":
                assert node.site is not None
                if self.outer.setdefault(node.site, here) != here:
                    return [self.elsewhere(node, here)]
                outputs = [Place(self.callees[node.site] if node.op == "call" else node.site)]
            case "exit" | "next_iteration":
                assert node.site is not None
                if here.context != node.site:
                    return [self.apart(node, [self.source(number, 0)], required=Place(node.site))]
                outputs = [self.outer[node.site]] * 2 if node.op == "exit" else [Place(node.site)]
            case _:
                outputs = [here]
        self.place.update((Source(number, position), place) for position, place in enumerate(outputs))
        return []

    def infer_return(self, number: int) -> list[Invalid] | None:
        """What returns lives where it was called from, once all arguments are known to be sent."""
        site = self.graph.nodes[number].site
        assert site is not None
        sent = [(Source(caller, 0) in self.place) for caller in self.by_site.get(("call", site), ())]
        if site != ENVIRONMENT and not (sent and all(sent)):
            return None
        self.place[Source(number, 0)] = self.outer[site]
        return []

    def infer_merge(self, number: int, ports: list[Source]) -> list[Invalid] | None:
        """V11."""
        node = self.graph.nodes[number]
        makers = [None if source.node < 0 else self.graph.nodes[source.node] for source in ports]
        ops = ["call" if maker is None else maker.op for maker in makers]
        if "enter" in ops or "next_iteration" in ops:
            sites = {maker.site for maker in makers if maker is not None}
            if sorted(ops) != ["enter", "next_iteration"] or len(sites) > 1:
                return [self.overlap(node, "one enter and one next_iteration, of one loop")]
            entered = self.place.get(ports[ops.index("enter")])
            if entered is None:
                return None
            self.place[Source(number, 0)] = entered
            return []
        if "call" in ops:
            callers = [ENVIRONMENT if maker is None else maker.site for maker in makers]
            callees = {self.callees[site] for site in callers if site in self.callees}
            if set(ops) != {"call"} or len(set(callers)) < len(callers) or callees != {node.function}:
                return [self.overlap(node, "at most one token from each site that calls the function")]
            self.place[Source(number, 0)] = Place(node.function)
            return []
        places = [self.place[source] for source in ports if source in self.place]
        if len(places) < len(ports):
            return None
        joined = _join([place.guard for place in places])
        if joined is None or len({place.context for place in places}) > 1:
            return [self.overlap(node, "the two sides of one switch", places)]
        here = Place(places[0].context, joined)
        if self.function_of(here) != node.function:
            return [self.overlap(node, f"tokens of {node.function}", places)]
        self.place[Source(number, 0)] = here
        return []

    def calls(self) -> Iterator[Invalid]:
        """V12."""
        entries: dict[str, set[int]] = {}
        for number, node in enumerate(self.graph.nodes):
            if node.op == "merge" and all(self.is_call(s) for port in range(len(node.ports)) for s in [self.source(number, port)]):
                entries.setdefault(node.function, set()).add(number)
        for (op, site), numbers in self.by_site.items():
            if op != "call":
                continue
            fed = sorted(edge.node for number in numbers for edge in self.graph.nodes[number].outputs[0].edges)
            wanted = sorted(entries.get(self.callees[site], ()))
            if fed != wanted:
                node = self.graph.nodes[numbers[0]]
                yield Invalid(
                    f"the calls of {site} do not feed each parameter of {self.callees[site]} once", rule="V12",
                    where=node.where, required=self.names(wanted), got=self.names(fed),
                )  # fmt: skip
        for name, argument in self.graph.arguments:
            called = any(callee == self.graph.name for _, callee in self.graph.calls)
            if called and [edge.node in entries.get(self.graph.name, ()) for edge in argument.edges] != [True]:
                yield Invalid(f"argument {name} does not feed one entry merge", rule="V12", got=argument.edges)

    def returns(self) -> Iterator[Invalid]:
        """V10: what returns is a value of the function that was called, under no branch."""
        for number, node in enumerate(self.graph.nodes):
            if node.op == "return" and node.site is not None:
                source = self.source(number, 0)
                wanted = Place(self.callees[node.site])
                if self.place[source] != wanted or self.function_of(self.place[Source(number, 0)]) != self.owner(node):
                    yield self.apart(node, [source], required=wanted)

    def loops(self) -> Iterator[Invalid]:
        """V13."""
        for (op, site), numbers in self.by_site.items():
            if op != "enter":
                if op in ("exit", "next_iteration") and ("enter", site) not in self.by_site:
                    yield Invalid(f"loop {site} is left, or goes on, but is never entered", rule="V13", got=op)
                continue
            again = self.by_site.get(("next_iteration", site), [])
            fed = [[e for n in side for e in self.graph.nodes[n].outputs[0].edges] for side in (numbers, again)]
            merges = [sorted(edge.node for edge in side) for side in fed]
            if merges[0] != merges[1] or len(merges[0]) != len(numbers) or not all(map(self.is_merge, merges[0])):
                yield Invalid(
                    f"a variable of loop {site} lacks its enter, its merge or its next_iteration", rule="V13",
                    where=self.graph.nodes[numbers[0]].where, required=self.names(merges[0]),
                    got=self.names(merges[1]),
                )  # fmt: skip
                continue
            leaving = self.by_site.get(("exit", site), [])
            guards = {(self.place[self.source(n, 0)], True) for n in again}
            guards |= {(self.place[self.source(n, 0)], False) for n in leaving}
            conditions = {place.guard[-1][0] for place, _ in guards if place.guard}
            right = {(Place(site, ((pred, outcome),)), outcome) for pred in conditions for outcome in (True, False)}
            if len(conditions) != 1 or not guards <= right:
                yield Invalid(
                    f"the variables of loop {site} do not all go on, or leave, on one condition", rule="V13",
                    where=self.graph.nodes[numbers[0]].where, got="; ".join(str(place) for place, _ in guards),
                )  # fmt: skip

    def source(self, number: int, port: int) -> Source:
        """The source of a port that has one (V8 has been checked); a triggered node's is its trigger's."""
        node = self.graph.nodes[number]
        return self.sources[Edge(number, len(node.ports) - 1 if node.ports[port] is not None else port)][0]

    def owner(self, node: Node) -> str:
        """The function that a return's result goes to: its own, or the environment."""
        return "the environment" if node.site == ENVIRONMENT else node.function

    def is_call(self, source: Source) -> bool:
        return source.node < 0 or self.graph.nodes[source.node].op == "call"

    def is_merge(self, number: int) -> bool:
        return self.graph.nodes[number].op == "merge"

    def function_of(self, place: Place) -> str:
        while isinstance(place.context, Site):
            place = self.outer[place.context]
        return place.context

    def names(self, numbers: list[int]) -> str:
        return ", ".join(str(self.graph.nodes[number]) for number in numbers) or "none"

    def apart(self, node: Node, ports: list[Source], required: object = "one place") -> Invalid:
        places = "; ".join(str(self.place[source]) for source in ports)
        return Invalid(
            f"tokens of {node} live in different places", rule="V10", where=node.where, required=required, got=places,
            hint="a value enters a loop by enter, a branch by switch, a function by call",
        )  # fmt: skip

    def elsewhere(self, node: Node, here: Place) -> Invalid:
        assert node.site is not None
        return Invalid(
            f"{node.site} is entered from two places", rule="V10", where=node.where, required=self.outer[node.site],
            got=here,
        )  # fmt: skip

    def overlap(self, node: Node, required: str, places: list[Place] | None = None) -> Invalid:
        got = "; ".join(map(str, places)) if places else None
        return Invalid(
            f"merge {node} may get two tokens under one tag, or none", rule="V11", where=node.where, required=required,
            got=got,
        )  # fmt: skip


def _join(guards: list[Guard]) -> Guard | None:
    """The guard under which exactly one of these holds, or None: two sides of a predicate join to what is around.

    >>> p, q = Source(0, 0), Source(1, 0)
    >>> _join([((p, True), (q, True)), ((p, False),), ((p, True), (q, False))])
    ()
    """
    left = list(guards)
    while len(left) > 1:
        longest = max(left, key=len)
        if not longest:
            return None
        *around, (pred, outcome) = longest
        other = (*around, (pred, not outcome))
        if left.count(longest) != 1 or left.count(other) != 1:
            return None
        left = [guard for guard in left if guard not in (longest, other)] + [tuple(around)]
    return left[0]
