"""Bundles of a graph: nodes that exist once for each argument, parameter or loop variable, and are read as one thing.

A call site has a `call` for each argument and a `return` for each result; a loop has an enter, a merge, a switch, a
next_iteration and an exit for each variable. In networks, most of these carry weights that nothing changes. Each bundle
becomes one box: a call site, the parameters of a function, the invariants of a loop, and its other variables at each
gate. Ops whose results only one op takes are one box with it, an expression. Equal expressions of values from the same
boxes, for the same boxes, are one box, too: a series, such as the updates of all weights. `collapse.fold_bundles` draws
bundles; nothing here changes the graph.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from ..core.graph.graph import Edge, Graph, OutputRef
from ..core.tag import ENVIRONMENT, Site
from .labels import MAX_EXPRESSION_LENGTH, OMISSION, NodeLabels, abbreviate_list, phase_title, short_name
from .style import kind_of
from .view import EXPRESSION_KINDS, Box, BoxKind, Bundle, View

MAX_NAMES_LENGTH = 20
"""The most characters of the names in the title of a bundle; the others are counted."""

MIN_SERIES = 3
"""The least expressions in a series."""

BLOCK_SIZES = (3, 6, 12, 24)
"""The most boxes in a block of each granularity, the boxes of bundles counted as one each."""

_ENTERING_OPS = ("call", "enter", "reenter")
"""The ops that send values into activations."""


def is_expression(bundle: Bundle) -> bool:
    """Whether a bundle is an expression, and not routing nodes."""
    return bundle.box.kind in EXPRESSION_KINDS


def find_bundles(view: View, graph: Graph) -> tuple[Bundle, ...]:
    """The bundles of a graph, valid or not, by the clusters of its view. No two have a box in common."""
    return tuple(_BundleFinder(view, graph).find_all(view))


def find_blocks(view: View, graph: Graph) -> tuple[tuple[Bundle, ...], ...]:
    """The blocks of a view that has its bundles, for each of BLOCK_SIZES."""
    finder = _BlockFinder(view, graph)
    return tuple(tuple(finder.find_blocks(size)) for size in BLOCK_SIZES)


class _BundleFinder:
    def __init__(self, view: View, graph: Graph) -> None:
        self.graph, self.labels, self.sources = graph, NodeLabels(graph), graph.sources()
        self.cluster_of = {
            int(name[1:]): cluster.name for cluster in view.root.walk() for name in cluster.boxes if name[0] == "n"
        }
        self.place_of = dict[int, int]()
        """The first node of the bundle of each node that is in one."""

    def find_all(self, view: View) -> Iterator[Bundle]:
        bundles = [
            *self.call_sites(),
            *self.invariants(),
            *self.loop_heads(),
            *self.reverse_heads(),
            *self.parameters(),
            *self.gates("switch", self.switch_key),
            *self.gates("next_iteration", self.site_of),
            *self.gates("exit", self.site_of),
            *self.joins(),
            *self.results(),
            *self.expressions(view),
        ]
        yield from bundles
        yield from self.arguments({name: bundle.box.name for bundle in bundles for name in bundle.members})

    def bundle(
        self, kind: BoxKind, numbers: Iterable[int], title: str, subtitle: str, tooltip: str = ""
    ) -> Iterator[Bundle]:
        """The bundle of these nodes; none for a single node."""
        members = sorted(numbers)
        if len(members) > 1:
            self.place_of |= dict.fromkeys(members, members[0])
            names = ", ".join(str(self.graph.nodes[number]) for number in members)
            box = Box(f"g{members[0]}", kind, title, subtitle, f"{tooltip or title}: {names}")
            subject = f"{self.graph.nodes[members[0]]}+{len(members) - 1}"
            yield Bundle(box, tuple(f"n{number}" for number in members), subject)

    def groups(self, op: str, key: Callable[[int], object]) -> list[list[int]]:
        """The free nodes of an op by cluster and key."""
        groups: dict[object, list[int]] = {}
        for number, node in enumerate(self.graph.nodes):
            if node.op == op and number not in self.place_of:
                groups.setdefault((self.cluster_of[number], key(number)), []).append(number)
        return list(groups.values())

    def site_of(self, number: int) -> Site | None:
        return self.graph.nodes[number].site

    def names(self, numbers: Iterable[int]) -> str:
        return abbreviate_names(short_name(self.graph.nodes[number].name) for number in numbers)

    def call_sites(self) -> Iterator[Bundle]:
        """Each call site, in each phase: its calls and its returns."""
        callees: dict[Site | None, str] = dict(self.graph.calls)
        sites: dict[tuple[str, str, Site, int], list[int]] = {}
        for number, node in enumerate(self.graph.nodes):
            if node.op in ("call", "return") and node.site not in (None, ENVIRONMENT):
                assert node.site is not None
                sites.setdefault((self.cluster_of[number], node.function, node.site, node.phase), []).append(number)
        for (_, _, site, phase), numbers in sites.items():
            callee = callees.get(site, "?")
            title = call_title(site, callee, phase)
            count = sum(self.graph.nodes[number].op == "call" for number in numbers)
            results = len(numbers) - count
            subtitle = f"{count} in, {results} out"
            yield from self.bundle("call", numbers, title, subtitle, f"call site {site}")

    def invariants(self) -> Iterator[Bundle]:
        """The variables that a loop only reads, with all their gates."""
        for group in self.groups("next_iteration", self.site_of):
            variables = [gates for gates in map(self.invariant_gates, group) if gates]
            title = self.names(gates[0] for gates in variables)
            numbers = chain.from_iterable(variables)
            tooltip = f"invariants of loop {self.site_of(group[0])}"
            yield from self.bundle("invariants", numbers, title, "invariant", tooltip)

    def invariant_gates(self, next_iteration: int) -> list[int]:
        """The merge, switch, exits, enters and next_iteration of a variable whose next value is itself; else none."""
        switch = self.source(next_iteration, 0)
        if switch is None or switch.output != 0 or not self.is_op(switch.node, "switch"):
            return []
        merge = self.source(switch.node, 0)
        if merge is None or not self.is_op(merge.node, "merge"):
            return []
        site = self.graph.nodes[next_iteration].site
        consumers = {edge.node for output in self.graph.nodes[next_iteration].outputs for edge in output.edges}
        enters = [edge.node for port in range(2) for edge in self.sources.get(Edge(merge.node, port), ())]
        enters = [enter for enter in enters if self.is_op(enter, "enter") and self.graph.nodes[enter].site == site]
        outputs = self.graph.nodes[switch.node].outputs
        exits = [edge.node for edge in outputs[-1].edges if self.is_op(edge.node, "exit")]
        gates = [merge.node, switch.node, next_iteration, *enters, *exits]
        cluster = self.cluster_of[next_iteration]
        if consumers != {merge.node} or not enters or any(self.cluster_of[gate] != cluster for gate in gates):
            return []
        return [] if not self.place_of.keys().isdisjoint(gates) else list(dict.fromkeys(gates))

    def loop_heads(self) -> Iterator[Bundle]:
        """Where the variables of a loop begin each iteration: their enters and merges."""
        for numbers in self.groups("enter", self.site_of):
            site = self.site_of(numbers[0])
            merges = self.consumer_merges(numbers)
            yield from self.bundle("merge", [*numbers, *merges], self.names(merges), "merge", f"variables of {site}")

    def reverse_heads(self) -> Iterator[Bundle]:
        """The gates of the adjoints of a loop: reenter, merge and back."""
        for numbers in self.groups("reenter", self.site_of):
            site = self.site_of(numbers[0])
            merges = self.consumer_merges(numbers)
            edges = [edge for merge in merges for output in self.graph.nodes[merge].outputs for edge in output.edges]
            cluster = self.cluster_of[numbers[0]]
            backs = {
                edge.node
                for edge in edges
                if self.is_op(edge.node, "back")
                and edge.node not in self.place_of
                and self.cluster_of[edge.node] == cluster
            }
            yield from self.bundle(
                "back", [*numbers, *merges, *backs], self.names(merges), "back", f"adjoints of {site}"
            )

    def consumer_merges(self, numbers: Iterable[int]) -> list[int]:
        """The free merges that these nodes feed in their own cluster."""
        consumers = dict.fromkeys(
            edge.node
            for number in numbers
            for output in self.graph.nodes[number].outputs
            for edge in output.edges
            if self.is_op(edge.node, "merge") and self.cluster_of[edge.node] == self.cluster_of[number]
        )
        return [consumer for consumer in consumers if consumer not in self.place_of]

    def parameters(self) -> Iterator[Bundle]:
        """The entry merges of each function, in each phase."""
        entering = [output for _, output in self.graph.arguments]
        entering += [output for node in self.graph.nodes if node.op == "call" for output in node.outputs]
        consumers = {edge.node for output in entering for edge in output.edges if self.is_op(edge.node, "merge")}
        groups: dict[str, list[int]] = {}
        for number in sorted(consumers - self.place_of.keys()):
            groups.setdefault(self.cluster_of[number], []).append(number)
        for numbers in groups.values():
            function = self.graph.nodes[numbers[0]].function
            yield from self.bundle("merge", numbers, self.names(numbers), "merge", f"parameters of {function}")

    def switch_key(self, number: int) -> object:
        """Switches on one predicate, of one cond or loop, belong together."""
        return self.source(number, 1), self.graph.nodes[number].location

    def gates(self, op: BoxKind, key: Callable[[int], object]) -> Iterator[Bundle]:
        """The nodes of a routing op that belong to one cond or loop."""
        for numbers in self.groups(op, key):
            names = list(dict.fromkeys(self.labels.routed_variable(number) for number in numbers))
            word = {"next_iteration": "next ", "exit": "exit "}.get(op, "")
            title = f"{word}{abbreviate_names(names)}"
            yield from self.bundle(op, numbers, title, op if op == "switch" else "", op)

    def joins(self) -> Iterator[Bundle]:
        """The merges of the results of a cond, which lowering numbers one after the other."""
        run: list[int] = []
        for number, node in enumerate(self.graph.nodes):
            if node.op != "merge" or number in self.place_of:
                continue
            last = run[-1] if run else -1
            if not (run and number == last + 1 and self.is_in_same_cluster(number, last)):
                yield from self.bundle("merge", run, self.names(run), "merge", "results of a cond")
                run = []
            run.append(number)
        yield from self.bundle("merge", run, self.names(run), "merge", "results of a cond")

    def is_in_same_cluster(self, number: int, other: int) -> bool:
        nodes = self.graph.nodes
        has_same_location = nodes[number].location == nodes[other].location
        return has_same_location and self.cluster_of[number] == self.cluster_of[other]

    def expressions(self, view: View) -> Iterator[Bundle]:
        """Ops in a cluster, each but the last of which sends its result to the next ones alone."""
        texts, members, boxes = dict[int, str](), dict[int, list[int]](), view.boxes
        for number, node in enumerate(self.graph.nodes):
            if kind_of(node.op) not in EXPRESSION_KINDS or number in self.place_of:
                continue
            inner = dict[int, str]()
            for port in range(len(node.ports) - node.has_trigger):
                source = self.source(number, port)
                if source is not None and source.node in texts and self.has_only_consumer(source.node, number):
                    trial = inner | {source.node: texts[source.node]}
                    if len(self.labels.expression(number, trial)) <= MAX_EXPRESSION_LENGTH:
                        inner = trial
            texts[number] = self.labels.expression(number, inner)
            members[number] = [number, *chain.from_iterable(members.pop(operand) for operand in inner)]
        for series in self.series(members):
            number = series[0]
            kind, subtitle = kind_of(self.graph.nodes[number].op), boxes[f"n{number}"].subtitle
            numbers = chain.from_iterable(members[first] for first in series)
            yield from self.bundle(kind, numbers, count_alike(texts[number], len(series)), subtitle)

    def series(self, members: Mapping[int, Sequence[int]]) -> Iterator[Sequence[int]]:
        """The expressions, by their last nodes, in groups: those of a series, and each other one alone. `members` has
        the nodes of each."""
        place_of = self.place_of | {node: number for number, numbers in members.items() for node in numbers}
        groups: dict[object, list[int]] = {}
        for number, numbers in members.items():
            groups.setdefault(self.series_key(number, numbers, place_of), []).append(number)
        for group in groups.values():
            yield from [group] if len(group) >= MIN_SERIES else ([number] for number in group)

    def series_key(self, number: int, numbers: Sequence[int], place_of: Mapping[int, int]) -> object:
        """What the expressions of a series have in common: cluster, ops, and the boxes before and after them."""
        nodes = [self.graph.nodes[member] for member in numbers]
        ports = [Edge(member, port) for member in numbers for port in range(len(self.graph.nodes[member].ports))]
        sources = {source.node for port in ports for source in self.sources.get(port, ())}
        edges = chain.from_iterable(output.edges for output in self.graph.nodes[number].outputs)
        return (
            self.cluster_of[number],
            tuple((node.op, node.attributes) for node in nodes),
            frozenset(place_of.get(source, source) for source in sources.difference(numbers)),
            frozenset(place_of.get(edge.node, edge.node) for edge in edges),
        )

    def has_only_consumer(self, number: int, consumer: int) -> bool:
        """Whether the only edge of a node leads to a node of its cluster."""
        edges = chain.from_iterable(output.edges for output in self.graph.nodes[number].outputs)
        return self.cluster_of[number] == self.cluster_of[consumer] and [edge.node for edge in edges] == [consumer]

    def results(self) -> Iterator[Bundle]:
        """The returns to the environment, and the results."""
        returns = [number for number in dict.fromkeys(self.graph.results) if number not in self.place_of]
        groups: dict[str, list[int]] = {}
        for number in returns:
            groups.setdefault(self.cluster_of[number], []).append(number)
        for numbers in groups.values():
            yield from self.bundle("return", numbers, "return", f"{len(numbers)} results", "returns to the environment")
        count = len(self.graph.results)
        if count > 1:
            box = Box("gr", "result", f"{count} results", "", "the results")
            yield Bundle(box, tuple(f"r{position}" for position in range(count)), f"result+{count - 1}")

    def arguments(self, place_of: dict[str, str]) -> Iterator[Bundle]:
        """The arguments that go to the same boxes."""
        groups: dict[frozenset[str], list[int]] = {}
        for position, (_, output) in enumerate(self.graph.arguments):
            heads = frozenset(place_of.get(f"n{edge.node}", f"n{edge.node}") for edge in output.edges)
            groups.setdefault(heads, []).append(position)
        for positions in groups.values():
            if len(positions) > 1:
                names = [self.graph.arguments[position][0] for position in positions]
                title = abbreviate_names(names)
                box = Box(f"ga{positions[0]}", "argument", title, "", f"arguments {', '.join(names)}")
                yield Bundle(box, tuple(f"a{position}" for position in positions), f"{names[0]}+{len(names) - 1}")

    def source(self, number: int, port: int) -> OutputRef | None:
        """The only source of a port that is a node; else None."""
        sources = self.sources.get(Edge(number, port), ())
        return sources[0] if len(sources) == 1 and sources[0].node >= 0 else None

    def is_op(self, number: int, op: str) -> bool:
        return 0 <= number < len(self.graph.nodes) and self.graph.nodes[number].op == op


class _BlockFinder:
    """Joins ops and conds with the ops that use their results, as long as no other box of their cluster does."""

    def __init__(self, view: View, graph: Graph) -> None:
        self.graph, self.labels, self.sources = graph, NodeLabels(graph), graph.sources()
        self.cluster_of = {
            int(name[1:]): cluster.name for cluster in view.root.walk() for name in cluster.boxes if name[0] == "n"
        }
        boxes = view.boxes
        entry_outputs = [output for _, output in graph.arguments]
        entry_outputs += [output for node in graph.nodes if node.op in _ENTERING_OPS for output in node.outputs]
        entry_nodes = {edge.node for output in entry_outputs for edge in output.edges}
        bundle_boxes = [
            ([int(name[1:]) for name in bundle.members], bundle.box.kind)
            for bundle in view.bundles
            if bundle.members[0][0] == "n"
        ]
        bundle_nodes = {number for numbers, _ in bundle_boxes for number in numbers}
        other_nodes = [number for number in self.cluster_of if number not in bundle_nodes]
        single_boxes = [([number], boxes[f"n{number}"].kind) for number in other_nodes]
        self.candidates = [
            (tuple(numbers), kind)
            for numbers, kind in sorted((*bundle_boxes, *single_boxes), key=lambda candidate: max(candidate[0]))
            if kind in (*EXPRESSION_KINDS, "literal", "switch") or (kind == "merge" and entry_nodes.isdisjoint(numbers))
        ]
        """The nodes and the kind of each box that may be in a block."""
        self.candidate_of = {node: index for index, (nodes, _) in enumerate(self.candidates) for node in nodes}
        """The index in `candidates` of the box that has each node."""

    def find_blocks(self, size: int) -> Iterator[Bundle]:
        """The blocks of at most so many boxes."""
        group_of = {candidate: [candidate] for candidate in range(len(self.candidates))}
        """The boxes that are joined with each box, which are the same list for all of them."""
        for candidate, (_, kind) in enumerate(self.candidates):
            if kind not in ("literal", "switch"):
                self.absorb(candidate, group_of, size)
        for group in {id(group): group for group in group_of.values()}.values():
            if len(group) > 1:
                yield self.block(group)

    def absorb(self, candidate: int, group_of: dict[int, list[int]], size: int) -> None:
        """Join a box with those that send it results, and these with theirs, nearest first."""
        group = group_of[candidate]
        waiting = deque([candidate])
        while waiting:
            for operand in self.operand_candidates(waiting.popleft()):
                other = group_of[operand]
                if other is not group and len(group) + len(other) <= size and self.can_absorb(group, other):
                    waiting += other
                    group += other
                    group_of |= dict.fromkeys(other, group)

    def operand_candidates(self, candidate: int) -> list[int]:
        """The boxes that send results to one."""
        numbers, _ = self.candidates[candidate]
        ports = [Edge(number, port) for number in numbers for port in range(len(self.graph.nodes[number].ports))]
        sources = [source.node for port in ports for source in self.sources.get(port, ())]
        return list(dict.fromkeys(self.candidate_of[node] for node in sources if node in self.candidate_of))

    def can_absorb(self, group: Sequence[int], other: Sequence[int]) -> bool:
        """Whether all results of `other` go to `group`, except for uses in clusters behind it. A switch
        stays with the merge of its cond."""
        (sink, *_), sink_kind = self.candidates[group[0]]
        if sink_kind != "merge" and any(self.candidates[candidate][1] in ("switch", "merge") for candidate in other):
            return False
        last = max(self.candidates[group[0]][0])
        for candidate in other:
            for number in self.candidates[candidate][0]:
                if self.cluster_of[number] != self.cluster_of[sink]:
                    return False
                for consumer in self.consumers(number):
                    user = self.candidate_of.get(consumer)
                    is_inside = user is not None and (user in group or user in other)
                    is_behind = self.cluster_of[consumer] != self.cluster_of[sink] and consumer > last
                    if not is_inside and not is_behind:
                        return False
        return True

    def consumers(self, number: int) -> Iterator[int]:
        return (edge.node for output in self.graph.nodes[number].outputs for edge in output.edges)

    def block(self, group: Sequence[int]) -> Bundle:
        """The bundle of boxes, the first of which has the result."""
        members = sorted(number for candidate in group for number in self.candidates[candidate][0])
        numbers, kind = self.candidates[group[0]]
        title, subtitle = self.title(numbers, kind, members)
        names = ", ".join(str(self.graph.nodes[number]) for number in members)
        first = self.graph.nodes[members[0]]
        box = Box(f"b{members[0]}", kind, title, subtitle, f"{title}: {names}")
        return Bundle(box, tuple(f"n{number}" for number in members), f"{first}+{len(members) - 1}")

    def title(self, numbers: Sequence[int], kind: BoxKind, members: Collection[int]) -> tuple[str, str]:
        """The two lines of a block that ends in these nodes: the formula of its result, or the predicate of a cond."""
        name = abbreviate_names(short_name(self.graph.nodes[number].name) for number in numbers)
        if kind != "merge":
            sink = max(numbers)
            inside = {*members}
            sinks = [number for number in numbers if not inside.issuperset(self.consumers(number))]
            formula = self.labels.nested_expression(sink, inside, MAX_EXPRESSION_LENGTH)
            return count_alike(formula, len(sinks)), short_name(self.graph.nodes[sink].name)
        predicates = [
            source
            for number in members
            if self.graph.nodes[number].op == "switch"
            for source in self.sources.get(Edge(number, 1), ())
        ]
        return (f"if {self.labels.predicate_formula(predicates[0])}" if predicates else name), name


def call_title(site: Site, callee: str, phase: int) -> str:
    """The title of a call site: its name, and the callee if that has another.

    >>> call_title(Site("main", "fib_1", "call"), "fib", 0), call_title(Site("main", "fib", "call"), "fib", 1)
    ('call fib_1: fib', 'pullback of fib')
    """
    if phase:
        return f"{phase_title(phase)} of {site.name}"
    return f"call {site.name}" if site.name == callee else f"call {site.name}: {callee}"


def abbreviate_names(names: Iterable[str]) -> str:
    """The names of values for the title of a bundle; triggers, which lowering adds, are last.

    >>> abbreviate_names(["trigger", "steps", "w", "b", "pixels", "labels"])
    'steps, w, b, \u2026 3 more'
    """
    return abbreviate_list(sorted(names, key=lambda name: name.startswith("trigger")), MAX_NAMES_LENGTH)


def count_alike(formula: str, count: int) -> str:
    """The title of a box for several expressions: the first one, and the number of the others.

    >>> count_alike("w - rate * slope", 1), count_alike("w - rate * slope", 9)
    ('w - rate * slope', 'w - rate * slope, \u2026 8 more')
    """
    return formula if count <= 1 else f"{formula}, {OMISSION} {count - 1} more"
