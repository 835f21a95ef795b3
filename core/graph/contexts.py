"""Places: where every value of a graph lives, and the rules V10 to V14, which are statements about places.

A place is a context (a function, or a loop) and a guard: which predicates, with which outcome, lie between the
beginning of the context and here. Places are inferred in the order in which tokens can get there; what closes
cycles (returns, next_iterations) is checked afterwards.

V10  The ports of a node live in one place: one function or loop, under the same branches.
V11  The ports of a merge exclude each other and leave no gap: both sides of a switch; a loop's enter and its
     next_iteration; the call sites of one function, each once.
V12  The calls of a site are made in one place; each feeds one entry merge of its function, and each entry merge has
     one call of every site. Where the entry itself is called, the arguments feed its entry merges likewise.
V13  The variables of a loop enter at one place, come back when its condition holds, and leave when it does not;
     the condition is the same for all, and so is the bound on its iterations, if it has one.
V16  A loop goes back as it came: a reenter gets the trip count of an exit of its loop, and is merged with what an
     iteration that goes on makes, and that goes back.
V14  Every node can be reached by tokens: no node waits for itself.


Places in words, and what the rules of places say of graphs that break them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from ..errors import Invalid
from ..program.problem import problem
from ..tag import ENVIRONMENT, Site
from .graph import Edge, Graph, Node, Source

Guard: TypeAlias = tuple[tuple[Source, bool], ...]


class Place(NamedTuple):
    """Where a value lives: inside a function or a loop, under a guard of (predicate, outcome)."""

    context: str | Site
    guard: Guard = ()


class Placing:
    """The places that are known so far."""

    graph: Graph
    of: dict[Source, Place]
    outer: dict[Site, Place]

    def function_of(self, place: Place) -> str:
        while isinstance(place.context, Site):
            place = self.outer[place.context]
        return place.context

    def said(self, place: Place) -> str:
        """A place in words: `tokens of main.loop where main.less holds`."""
        outcomes = [f"{self.maker(pred)} {'holds' if outcome else 'does not hold'}" for pred, outcome in place.guard]
        return f"tokens of {place.context}{' where ' * bool(outcomes)}{' and '.join(outcomes)}"

    def maker(self, source: Source) -> str:
        return self.graph.arguments[source.output][0] if source.node < 0 else str(self.graph.nodes[source.node])

    def names(self, numbers: list[int]) -> list[str]:
        return [str(self.graph.nodes[number]) for number in numbers]

    def apart(self, node: Node, ports: list[Source], required: Place | None = None) -> Invalid:
        return problem(
            "V10",
            f"tokens of {node} live in different places",
            node.where,
            required=self.said(required) if required else "one place",
            got="; ".join(self.said(self.of[source]) for source in ports),
            hint="a value enters a loop by enter, a branch by switch, a function by call",
        )

    def foreign(self, node: Node, here: Place) -> Invalid:
        return problem(
            "V10",
            f"{node} gets its tokens from another function",
            node.where,
            required=node.function,
            got=self.function_of(here),
            hint="functions meet in call and return",
        )

    def elsewhere(self, node: Node, here: Place) -> Invalid:
        assert node.site is not None
        return problem(
            "V12" if node.op == "call" else "V13",
            f"{node.site} is entered from two places",
            node.where,
            required=self.said(self.outer[node.site]),
            got=self.said(here),
            hint="another place is another site",
        )

    def overlap(self, node: Node, required: str, ports: list[Source], places: Sequence[Place] = ()) -> Invalid:
        return problem(
            "V11",
            f"merge {node} may get two tokens under one tag, or none",
            node.where,
            required=required,
            got="; ".join(map(self.said, places)) or [self.maker(source) for source in ports],
            hint="switch a value on one predicate, and merge what becomes of both sides",
        )

    def unreturned(self, number: int) -> Invalid:
        node = self.graph.nodes[number]
        return problem(
            "V16",
            f"{node} does not come to a merge from which `back` goes on",
            node.where,
            required=f"reenter, merge and back of {node.site}, one of each for an adjoint",
            got=[str(self.graph.nodes[edge.node]) for edge in node.outputs[0].edges],
            hint="an adjoint comes back by reenter, is merged with what iterations make of it, and goes on by back",
        )

    def astray(self, node: Node, trips: Source | None) -> Invalid:
        return problem(
            "V16",
            f"{node} does not know the iteration that was left",
            node.where,
            required=f"output 1 of an exit of {node.site} on port 1",
            got=self.maker(trips) if trips is not None else str(node.ports[1]),
            hint="the second output of an exit is the trip count",
        )


class Places(Placing):
    """The places of a graph whose nodes have the right shape (V7 to V9).

    `of` has the place of every output that could be placed; `outer` where each site is called or entered from.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sources = graph.sources()
        self.callees = {**dict(graph.calls), ENVIRONMENT: graph.name}
        self.of: dict[Source, Place] = {}
        self.outer: dict[Site, Place] = {ENVIRONMENT: Place("the environment")}
        self.by_site: dict[tuple[str, Site], list[int]] = {}
        for number, node in enumerate(graph.nodes):
            if node.site is not None:
                self.by_site.setdefault((node.op, node.site), []).append(number)
        self.problems = list(self._infer_all())

    def _infer_all(self) -> Iterator[Invalid]:
        """V10 to V14: infer the places in the order in which tokens can get there, then check what closes cycles."""
        for position in range(len(self.graph.arguments)):
            self.of[Source(-1, position)] = Place(self.graph.name)
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
        yield from self.loops_back()

    def unreached(self, left: list[int]) -> Iterator[Invalid]:
        """V14."""
        yield problem(
            "V14",
            "no token ever comes here: these nodes wait for themselves, or for a function that is never called",
            self.graph.nodes[left[0]].where,
            required="a way from the arguments to every node",
            got=self.names(left[:5]),
            hint="a cycle must pass through next_iteration and a merge",
        )

    def infer(self, number: int) -> list[Invalid] | None:
        """Place the outputs of a node; None where it is too early, else what is wrong."""
        node = self.graph.nodes[number]
        ports = [self.source(number, port) for port in range(len(node.ports)) if node.ports[port] is None]
        if node.op == "merge":
            return self.infer_merge(number, ports)
        if node.op == "return":
            return self.infer_return(number)
        places = [self.of.get(source) for source in ports]
        if None in places:
            return None
        if len(set(places)) > 1:
            return [self.apart(node, ports)]
        here = places[0]
        assert here is not None
        if self.function_of(here) != node.function:
            return [self.foreign(node, here)]
        return self.infer_outputs(number, here)

    def infer_outputs(self, number: int, here: Place) -> list[Invalid] | None:
        node = self.graph.nodes[number]
        match node.op:
            case "switch":
                pred = self.original(self.source(number, 1))
                outputs = [Place(here.context, (*here.guard, (pred, side))) for side in (True, False)]
            case "call" | "enter":
                assert node.site is not None
                if self.outer.setdefault(node.site, here) != here:
                    return [self.elsewhere(node, here)]
                outputs = [Place(self.callees[node.site] if node.op == "call" else node.site)]
            case "exit" | "next_iteration" | "back":
                assert node.site is not None
                if here.context != node.site:
                    return [self.apart(node, [self.source(number, 0)], required=Place(node.site))]
                if node.op != "next_iteration" and not self.begun(node):
                    return None
                outputs = {"exit": [self.outer[node.site]] * 2, "next_iteration": [Place(node.site)]}.get(node.op) or [
                    self.going(node.site, True),
                    self.outer[node.site],
                ]
            case "reenter":
                assert node.site is not None
                trips = None if node.ports[1] is not None else self.source(number, 1)
                exits = self.by_site.get(("exit", node.site), ())
                if trips is None or trips.node not in exits or trips.output != 1:
                    return [self.astray(node, trips)]
                outputs = [self.going(node.site, False)]
            case _:
                outputs = [here] * len(node.outputs)
        self.of.update((Source(number, position), place) for position, place in enumerate(outputs))
        return []

    def infer_return(self, number: int) -> list[Invalid] | None:
        """What returns lives where it was called from, once all arguments are known to be sent."""
        site = self.graph.nodes[number].site
        assert site is not None
        if site != ENVIRONMENT and not self.begun(self.graph.nodes[number]):
            return None
        self.of[Source(number, 0)] = self.outer[site]
        return []

    def begun(self, node: Node) -> bool:
        """Whether all arguments of a call, or variables of a loop, are known to be sent, of this phase and those
        before: what comes out of it may depend on each of them."""
        assert node.site is not None
        numbers = [n for op in ("call", "enter", "reenter") for n in self.by_site.get((op, node.site), ())]
        sent = [Source(n, 0) in self.of for n in numbers if self.graph.nodes[n].phase <= node.phase]
        return bool(sent) and all(sent)

    def going(self, site: Site, outcome: bool) -> Place:
        """The place in a loop where its condition holds, or not: where an exit that is placed says."""
        for number in self.by_site.get(("exit", site), ()):
            place = self.of[self.source(number, 0)]
            if place.guard:
                return Place(site, (*place.guard[:-1], (place.guard[-1][0], outcome)))
        return Place(site)

    def infer_merge(self, number: int, ports: list[Source]) -> list[Invalid] | None:
        """V11."""
        node = self.graph.nodes[number]
        makers = [None if source.node < 0 else self.graph.nodes[source.node] for source in ports]
        ops = ["call" if maker is None else maker.op for maker in makers]
        if "reenter" in ops:
            again = self.of.get(ports[ops.index("reenter")])
            if again is None:
                return None
            if len(ports) != 2:
                return [self.overlap(node, "one reenter, and what its loop makes of it", ports)]
            return self.placed(number, Place(again.context))
        if "enter" in ops or "next_iteration" in ops:
            sites = {maker.site for maker in makers if maker is not None}
            if sorted(ops) != ["enter", "next_iteration"] or len(sites) > 1:
                return [self.overlap(node, "one enter and one next_iteration, of one loop", ports)]
            entered = self.of.get(ports[ops.index("enter")])
            if entered is None:
                return None
            return self.placed(number, entered)
        if "call" in ops:
            callers = [ENVIRONMENT if maker is None else maker.site for maker in makers]
            callees = {self.callees[site] for site in callers if site in self.callees}
            if set(ops) != {"call"} or len(set(callers)) < len(callers) or callees != {node.function}:
                return [self.overlap(node, "at most one token from each site that calls the function", ports)]
            return self.placed(number, Place(node.function))
        places = [self.of[source] for source in ports if source in self.of]
        if len(places) < len(ports):
            return None
        joined = _join([place.guard for place in places])
        if joined is None or len({place.context for place in places}) > 1:
            return [self.overlap(node, "the two sides of one switch", ports, places)]
        return self.placed(number, Place(places[0].context, joined))

    def placed(self, number: int, here: Place) -> list[Invalid]:
        """Put a merge where its tokens come together: in the function that it says it stands in."""
        node = self.graph.nodes[number]
        if self.function_of(here) != node.function:
            return [self.foreign(node, here)]
        self.of[Source(number, 0)] = here
        return []

    def calls(self) -> Iterator[Invalid]:
        """V12."""
        entries: dict[str, set[int]] = {}
        for number, node in enumerate(self.graph.nodes):
            if node.op == "merge" and all(self.is_call(self.source(number, port)) for port in range(len(node.ports))):
                entries.setdefault(node.function, set()).add(number)
        callers = {site: numbers for (op, site), numbers in self.by_site.items() if op == "call"}
        given = {site: [self.graph.nodes[number].outputs[0] for number in callers[site]] for site in callers}
        if self.graph.name in {self.callees[site] for site in callers}:
            given[ENVIRONMENT] = [argument for _, argument in self.graph.arguments]
        for site, outputs in given.items():
            wanted = sorted(entries.get(self.callees[site], ()))
            fed = sorted(edge.node for output in outputs for edge in output.edges)
            if fed != wanted or any(len(output.edges) != 1 for output in outputs):
                yield problem(
                    "V12",
                    f"the arguments of {site} do not feed each parameter of {self.callees[site]} once",
                    self.graph.nodes[callers[site][0]].where if site in callers else self.graph.name,
                    required=self.names(wanted),
                    got=self.names(fed),
                    hint="a parameter is a merge, fed once by every site that calls the function",
                )

    def returns(self) -> Iterator[Invalid]:
        """V10: what returns is a value of the function that was called, under no branch."""
        for number, node in enumerate(self.graph.nodes):
            if node.op == "return" and node.site is not None:
                source, here = self.source(number, 0), self.of[Source(number, 0)]
                wanted = Place(self.callees[node.site])
                if self.of[source] != wanted:
                    yield self.apart(node, [source], required=wanted)
                if node.function != (self.graph.name if node.site == ENVIRONMENT else self.function_of(here)):
                    yield self.foreign(node, here)

    def loops(self) -> Iterator[Invalid]:
        """V13."""
        for site, numbers in [(site, numbers) for (op, site), numbers in self.by_site.items() if op == "enter"]:
            again = self.by_site.get(("next_iteration", site), [])
            edges = [[self.graph.nodes[n].outputs[0].edges for n in side] for side in (numbers, again)]
            merges = [sorted(edge.node for fed in side for edge in fed) for side in edges]
            once = all(len(fed) == 1 for side in edges for fed in side)
            if merges[0] != merges[1] or not once or not all(map(self.is_merge, merges[0])):
                yield problem(
                    "V13",
                    f"a variable of loop {site} lacks its enter, its merge or its next_iteration",
                    self.graph.nodes[numbers[0]].where,
                    required=self.names(merges[0]),
                    got=self.names(merges[1]),
                    hint="a loop variable is a merge, fed once by its enter and once by its next_iteration",
                )
                continue
            if len({self.graph.nodes[n].attributes for n in again if not self.graph.nodes[n].phase}) > 1:
                yield problem(
                    "V13",
                    f"the variables of loop {site} do not have the same bound",
                    self.graph.nodes[numbers[0]].where,
                    required="the same on each next_iteration",
                    got="; ".join(sorted({str(dict(self.graph.nodes[n].attributes)) for n in again})),
                    hint="a loop has one bound on its iterations, or none",
                )
                continue
            leaving = self.by_site.get(("exit", site), [])
            guards = {(self.of[self.source(n, 0)], True) for n in again}
            guards |= {(self.of[self.source(n, 0)], False) for n in leaving}
            conditions = {place.guard[-1][0] for place, _ in guards if place.guard}
            right = {(Place(site, ((pred, outcome),)), outcome) for pred in conditions for outcome in (True, False)}
            if len(conditions) != 1 or not guards <= right:
                yield problem(
                    "V13",
                    f"the variables of loop {site} do not all go on, or leave, on one condition",
                    self.graph.nodes[numbers[0]].where,
                    required="next_iteration where the condition holds, exit where it does not hold",
                    got="; ".join(sorted({self.said(place) for place, _ in guards})),
                    hint="switch every variable on the condition: output 0 goes on, output 1 leaves",
                )

    def loops_back(self) -> Iterator[Invalid]:
        """V16."""
        for (op, site), numbers in self.by_site.items():
            if op != "reenter":
                continue
            for number in numbers:
                edges = self.graph.nodes[number].outputs[0].edges
                merge = edges[0].node if len(edges) == 1 and self.is_merge(edges[0].node) else None
                back = self.graph.nodes[merge].outputs[0].edges if merge is not None else ()
                behind = [self.graph.nodes[edge.node] for edge in back]
                if merge is None or not any((node.op, node.site) == ("back", site) for node in behind):
                    yield self.unreturned(number)
                    continue
                other = self.source(merge, 1 - edges[0].port)
                if self.of[other] != self.going(site, True):
                    yield self.overlap(
                        self.graph.nodes[merge], "both sides of the condition", [other], [self.of[other]]
                    )

    def source(self, number: int, port: int) -> Source:
        """The source of a port that has one (V8 has been checked); a triggered node's is its trigger's."""
        node = self.graph.nodes[number]
        return self.sources[Edge(number, len(node.ports) - 1 if node.ports[port] is not None else port)][0]

    def original(self, source: Source) -> Source:
        """Of what `identity` hands on, as it goes to another device, the source; it holds where that does."""
        while source.node >= 0 and self.graph.nodes[source.node].op == "identity":
            if self.graph.nodes[source.node].triggered:
                break
            source = self.source(source.node, 0)
        return source

    def is_call(self, source: Source) -> bool:
        return source.node < 0 or self.graph.nodes[source.node].op == "call"

    def is_merge(self, number: int) -> bool:
        return self.graph.nodes[number].op == "merge"


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
