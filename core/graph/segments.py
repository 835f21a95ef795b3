"""Segments: nodes that fire together, because they need the same tokens from outside.

A *scope* is a function or a loop. A token comes from *outside* of an activation of a scope if another activation sends
it: arguments, loop variables, results of calls and loops. Values read from cells count as well, since a read may be
deferred. The outputs that bring such tokens are *inlets*.

A node *needs* an inlet if it cannot fire before that token has come. The nodes of a scope with the same needs are one
*segment*. Once all its needs have come, all of its nodes can fire, in topological order, with no matching in between:
switches become choices. Only nodes with the same needs are joined, so a segment waits for nothing that one of its nodes
does not wait for, and functions stay non-strict.

- The needs of a merge behind a cond depend on the branch. A node behind it has one *copy* for each guard under which it
  needs something else, each in its own segment. A node that would have more than MAX_ALTERNATIVES copies makes the
  merges before it inlets.
- Inlets whose tokens the same segments send, under the same guards, are one *bundle*: their tokens always travel
  together. Bundles depend on segments and segments on bundles. The bundles here are the largest that are consistent:
  all inlets of a scope from one site begin as one bundle, which is split until no member differs from the others.
- A node after a trap never fires. A bundle then travels without the tokens that are missing, and a segment fires those
  of its nodes that have all operands.

Graphs with pullbacks have no segments yet.

Segments are the partitions by dependence sets of K. R. Traub (Multi-thread code generation for dataflow architectures
from non-strict programs, FPCA 1991) and of Schauser, Culler and Goldstein (Separation constraint partitioning, POPL
1995), for tagged graphs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ..errors import Usage
from ..tag import ENVIRONMENT, Site
from .contexts import ControlContexts
from .graph import Graph, OutputRef

MAX_ALTERNATIVES = 8
"""The largest number of guards under which a node has different needs."""

DEFERRED_READS = ("get", "collect")
"""Ops whose firing may wait for a cell, so that their results are inlets."""

GuardSet: TypeAlias = frozenset[tuple[OutputRef, bool]]
"""Predicates with the outcomes that they must have."""


class Alternative(NamedTuple):
    """The inlets that a node needs under a guard."""

    guard: GuardSet
    needs: frozenset[OutputRef]


Alternatives: TypeAlias = tuple[Alternative, ...]
"""The needs of a node under each guard under which it fires. The guards exclude each other."""


class NodeCopy(NamedTuple):
    """A node in a segment, and the guards under which it fires there; it fires if all predicates of a guard hold."""

    node: int
    guards: tuple[GuardSet, ...]


@dataclass(frozen=True, slots=True)
class Segment:
    """Nodes of a scope with the same needs: the numbers of bundles, in ascending order. `copies` are in topological
    order."""

    scope: str | Site
    needs: tuple[int, ...]
    copies: tuple[NodeCopy, ...]


@dataclass(frozen=True, slots=True)
class Segmentation:
    """The segments of a graph.

    `bundles` has the inlets whose tokens travel together. `bundle_of` has the bundle that the tokens of an output of a
    node, or of the environment, belong to; outputs inside of a scope are not in it.
    """

    graph: Graph
    bundles: tuple[tuple[OutputRef, ...], ...]
    bundle_of: Mapping[OutputRef, int]
    segments: tuple[Segment, ...]

    def segments_of(self, node: int) -> list[Segment]:
        """The segments with a copy of this node."""
        return [segment for segment in self.segments if any(copy.node == node for copy in segment.copies)]


def segment_graph(graph: Graph) -> Segmentation:
    """The segments of a graph that keeps the rules. Raises Usage if it has pullbacks, which have no segments yet."""
    further_phase = next((node for node in graph.nodes if node.phase), None)
    if further_phase is not None:
        raise Usage("a graph with pullbacks has no segments", where=further_phase.origin, got=str(further_phase))
    return _Partitioner(graph).partition()


def format_segments(segmentation: Segmentation) -> str:
    """The segments of a graph as readable text, for people: nothing reads it back.

    A line for each bundle, then for each segment its scope, the bundles that it needs, and its nodes in the order in
    which they fire, each with its guards, if it has any.
    """
    graph = segmentation.graph

    def name(output: OutputRef) -> str:
        return graph.arguments[output.output][0] if output.node < 0 else str(graph.nodes[output.node])

    def describe_guard(guard: GuardSet) -> str:
        conditions = sorted(f"{'' if outcome else 'not '}{name(predicate)}" for predicate, outcome in guard)
        return " and ".join(conditions)

    needed = sorted({need for segment in segmentation.segments for need in segment.needs})
    lines = [f"bundle {n}: {', '.join(dict.fromkeys(map(name, segmentation.bundles[n])))}" for n in needed]
    for segment in segmentation.segments:
        lines += ["", f"segment of {segment.scope}, needs {', '.join(map(str, segment.needs))}"]
        for number, guards in segment.copies:
            condition = " or ".join(map(describe_guard, guards))
            lines.append(f"  {graph.nodes[number]}" + (f"  where {condition}" if condition else ""))
    return "\n".join(lines)


class _TooManyAlternatives(Exception):
    """A node has too many alternatives."""

    def __init__(self, key: _Key) -> None:
        self.key = key


_Key: TypeAlias = int | OutputRef
"""A node, by its number, stands for its firing; an output stands for the arrival of its token."""


class _Partitioner:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.contexts = ControlContexts(graph)
        self.join_merges: set[int] = set()
        """The merges behind conds that are inlets."""
        self.alternatives: dict[_Key, Alternatives] = {}
        self.inlets = self._find_inlets()
        self.bundle_roots: dict[OutputRef, OutputRef] = {}
        """The representative of each inlet's bundle."""

    def partition(self) -> Segmentation:
        """Split the bundles until they are consistent, and group the nodes by their needs."""
        groups: dict[object, list[OutputRef]] = {}
        for inlet in self.inlets:
            groups.setdefault(self._initial_group(inlet), []).append(inlet)
        bundles = list(groups.values())
        while True:
            self._infer(bundles)
            refined = [part for bundle in bundles for part in self._split(bundle)]
            if len(refined) == len(bundles):
                return self._build(bundles)
            bundles = refined

    # Inlets

    def _find_inlets(self) -> dict[OutputRef, list[_Key]]:
        """The inlets, each with the keys of the outputs that send to it."""
        senders: dict[OutputRef, list[_Key]] = {}
        for position, (_, argument) in enumerate(self.graph.arguments):
            targets = [edge.node for edge in argument.edges if self._is_entry(edge.node)]
            if targets:
                senders.setdefault(OutputRef(targets[0], 0), [])
            else:
                senders[OutputRef(-1, position)] = []
        for number, node in enumerate(self.graph.nodes):
            match node.op:
                case "call" | "enter" | "next_iteration":
                    senders.setdefault(OutputRef(node.outputs[0].edges[0].node, 0), []).append(number)
                case "return" | "exit":
                    senders.update((OutputRef(number, output), [number]) for output in range(len(node.outputs)))
                case op if op in DEFERRED_READS:
                    senders[OutputRef(number, 0)] = [number]
        return senders

    def _is_entry(self, number: int) -> bool:
        """Whether a node is a merge of tokens from outside: of arguments, or of a loop variable."""
        if self.graph.nodes[number].op != "merge":
            return False
        sources = self._merge_sources(number)
        ops = {"call" if source.node < 0 else self.graph.nodes[source.node].op for source in sources}
        return ops <= {"call", "enter", "next_iteration"}

    def _merge_sources(self, number: int) -> list[OutputRef]:
        return [self.contexts.port_source(number, port) for port in range(len(self.graph.nodes[number].ports))]

    def _initial_group(self, inlet: OutputRef) -> object:
        """Inlets of different groups are never sent together."""
        if inlet.node < 0:
            return "environment"
        node = self.graph.nodes[inlet.node]
        if node.op in ("return", "exit"):
            return node.op, node.site
        if node.op != "merge" or inlet.node in self.join_merges:
            return inlet
        producers = [self.graph.nodes[source.node] for source in self._merge_sources(inlet.node) if source.node >= 0]
        return node.function, frozenset((producer.op, producer.site) for producer in producers)

    # Needs

    def _infer(self, bundles: Sequence[Sequence[OutputRef]]) -> None:
        """Find the alternatives of all nodes. A merge behind a cond becomes an inlet where there would be too many."""
        while True:
            joins = [[OutputRef(number, 0)] for number in sorted(self.join_merges)]
            self.bundle_roots = {inlet: bundle[0] for bundle in [*bundles, *joins] for inlet in bundle}
            self.alternatives = {}
            try:
                for number in range(len(self.graph.nodes)):
                    self._visit(number)
                return
            except _TooManyAlternatives as error:
                self.join_merges |= self._open_merges(error.key)

    def _visit(self, key: _Key) -> None:
        """Find the alternatives of a key, after the alternatives of all its dependences."""
        stack: list[tuple[_Key, Iterator[_Key]]] = [(key, iter(self._dependences(key)))]
        while stack:
            current, pending = stack[-1]
            following = next((dependence for dependence in pending if dependence not in self.alternatives), None)
            if following is not None:
                stack.append((following, iter(self._dependences(following))))
                continue
            stack.pop()
            if current not in self.alternatives:
                self.alternatives[current] = self._needs(current)

    def _dependences(self, key: _Key) -> list[_Key]:
        """The keys that the alternatives of a key are computed from."""
        if isinstance(key, OutputRef):
            if key.node < 0:
                return []
            is_outer = self.graph.nodes[key.node].op in ("return", "exit")
            return list(self._site_senders(key.node)) if is_outer else [key.node]
        if self._is_entry(key):
            return []
        return list(self._port_sources(key))

    def _port_sources(self, number: int) -> list[OutputRef]:
        ports = self.graph.nodes[number].ports
        return [self.contexts.port_source(number, port) for port in range(len(ports)) if ports[port] is None]

    def _site_senders(self, number: int) -> list[int]:
        """The nodes without whose tokens no result of a site can come: those that send its arguments."""
        node = self.graph.nodes[number]
        if node.site is None or node.site == ENVIRONMENT:
            return []
        return [n for op in ("call", "enter") for n in self.contexts.nodes_by_site.get((op, node.site), ())]

    def _needs(self, key: _Key) -> Alternatives:
        """The alternatives of a key, from the alternatives of its dependences."""
        if isinstance(key, OutputRef):
            return self._arrival_needs(key)
        if self._is_entry(key):
            return (Alternative(frozenset(), frozenset([self.bundle_roots[OutputRef(key, 0)]])),)
        sources = [self.alternatives[source] for source in self._port_sources(key)]
        if self.graph.nodes[key].op == "merge":
            return self._within_limit(key, _union(sources))
        return self._product(key, sources)

    def _arrival_needs(self, key: OutputRef) -> Alternatives:
        """The inlets that the tokens of an output need in order to arrive."""
        if key.node < 0:
            return (Alternative(frozenset(), frozenset([self.bundle_roots[key]])),)
        node = self.graph.nodes[key.node]
        if node.op == "switch":
            predicate = self.contexts.skip_identities(self.contexts.port_source(key.node, 1))
            side = Alternative(frozenset([(predicate, key.output == 0)]), frozenset())
            return self._product(key, [self.alternatives[key.node], (side,)])
        if node.op in ("return", "exit"):
            senders = [self.alternatives[sender] for sender in self._site_senders(key.node)]
            needs = [alternative.needs for alternatives in senders for alternative in alternatives]
            return self._arrival(key, frozenset.intersection(*needs) if needs else frozenset())
        if key.node in self.join_merges:
            return self._arrival(key, frozenset.intersection(*(need for _, need in self.alternatives[key.node])))
        inlets = {self.bundle_roots[key]} if node.op in DEFERRED_READS else frozenset()
        return tuple(Alternative(guard, needs | inlets) for guard, needs in self.alternatives[key.node])

    def _arrival(self, inlet: OutputRef, needs: frozenset[OutputRef]) -> Alternatives:
        """The only alternative of an inlet, whose tokens come under the guard of its control context."""
        return (Alternative(frozenset(self.contexts.contexts[inlet].guard), needs | {self.bundle_roots[inlet]}),)

    def _product(self, key: _Key, factors: Sequence[Alternatives]) -> Alternatives:
        """The alternatives of a node that needs all of these."""
        product: Alternatives = (Alternative(frozenset(), frozenset()),)
        for factor in factors:
            pairs = ((first, second) for first in product for second in factor)
            product = _simplify(
                Alternative(first.guard | second.guard, first.needs | second.needs)
                for first, second in pairs
                if not any((predicate, not outcome) in first.guard for predicate, outcome in second.guard)
            )
            self._within_limit(key, product)
        return product

    def _within_limit(self, key: _Key, alternatives: Alternatives) -> Alternatives:
        if len(alternatives) > MAX_ALTERNATIVES:
            raise _TooManyAlternatives(key)
        return alternatives

    def _open_merges(self, key: _Key) -> set[int]:
        """The merges before a key that have several alternatives."""
        keys, worklist, merges = {key}, [key], set()
        while worklist:
            current = worklist.pop()
            alternatives = self.alternatives.get(current, ())
            is_merge = not isinstance(current, OutputRef) and self.graph.nodes[current].op == "merge"
            if is_merge and (len(alternatives) > 1 or current == key):
                assert not isinstance(current, OutputRef)
                merges.add(current)
            following = [dependence for dependence in self._dependences(current) if dependence not in keys]
            keys.update(following)
            worklist += following
        return merges - self.join_merges

    # Bundles

    def _split(self, bundle: Sequence[OutputRef]) -> list[list[OutputRef]]:
        """The parts of a bundle whose senders fire under the same guards, in the same segments."""
        parts: dict[object, list[OutputRef]] = {}
        for inlet in bundle:
            parts.setdefault(self._signature(inlet), []).append(inlet)
        return list(parts.values())

    def _signature(self, inlet: OutputRef) -> object:
        senders = [key for key in self.inlets[inlet] if not isinstance(key, OutputRef)]
        nodes = [(key, self.graph.nodes[key]) for key in senders]
        return frozenset((node.op, node.site, frozenset(self.alternatives[key])) for key, node in nodes)

    # Segments

    def _build(self, bundles: list[list[OutputRef]]) -> Segmentation:
        bundles = [*bundles, *([OutputRef(number, 0)] for number in sorted(self.join_merges))]
        numbers = {bundle[0]: position for position, bundle in enumerate(bundles)}
        bundle_of = {inlet: numbers[root] for inlet, root in self.bundle_roots.items()}
        for inlet, senders in self.inlets.items():
            bundle_of.update((OutputRef(key, 0), bundle_of[inlet]) for key in senders if not isinstance(key, OutputRef))
            if self._is_entry(inlet.node):
                del bundle_of[inlet]
        for position, (_, argument) in enumerate(self.graph.arguments):
            entries = [edge.node for edge in argument.edges if self._is_entry(edge.node)]
            if entries:
                bundle_of[OutputRef(-1, position)] = numbers[self.bundle_roots[OutputRef(entries[0], 0)]]
        members: dict[tuple[str | Site, tuple[int, ...]], list[NodeCopy]] = {}
        for key, alternatives in self.alternatives.items():
            if isinstance(key, OutputRef):
                continue
            guards: dict[tuple[int, ...], list[GuardSet]] = {}
            for guard, needs in alternatives:
                guards.setdefault(tuple(sorted(numbers[need] for need in needs)), []).append(guard)
            for needs_key, guard_list in guards.items():
                members.setdefault((self._scope(key), needs_key), []).append(NodeCopy(key, tuple(guard_list)))
        return Segmentation(
            self.graph,
            tuple(map(tuple, bundles)),
            bundle_of,
            tuple(Segment(scope, needs, tuple(copies)) for (scope, needs), copies in members.items()),
        )

    def _scope(self, number: int) -> str | Site:
        """The function or loop under whose tags a node fires."""
        node = self.graph.nodes[number]
        if node.op == "merge":
            return self.contexts.contexts[OutputRef(number, 0)].owner
        return self.contexts.contexts[self._port_sources(number)[0]].owner


def _union(alternatives: Sequence[Alternatives]) -> Alternatives:
    """The alternatives of a node that fires on any of these."""
    return _simplify(alternative for group in alternatives for alternative in group)


def _simplify(alternatives: Iterator[Alternative]) -> Alternatives:
    """The same alternatives, with one for two that differ in the outcome of a predicate only.

    >>> p, x = OutputRef(0, 0), OutputRef(-1, 0)
    >>> sides = [Alternative(frozenset([(p, outcome)]), frozenset([x])) for outcome in (True, False)]
    >>> _simplify(iter(sides)) == (Alternative(frozenset(), frozenset([x])),)
    True
    """
    pending, simple = list(dict.fromkeys(alternatives)), dict[Alternative, None]()
    while pending:
        guard, needs = pending.pop(0)
        for predicate, outcome in guard:
            others = guard - {(predicate, outcome)}
            opposite = Alternative(others | {(predicate, not outcome)}, needs)
            if opposite in simple or opposite in pending:
                simple.pop(opposite, None)
                pending = [alternative for alternative in pending if alternative != opposite]
                pending.append(Alternative(others, needs))
                break
        else:
            simple[Alternative(guard, needs)] = None
    return tuple(simple)
