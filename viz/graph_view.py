"""A view of a flat graph: a cluster for each function, inside it one for each loop, each branch and each call of a
Python helper, and inside these one for each reverse pass.

The cluster of a loop contains its gates (enter, next_iteration, exit, reenter, back). The layout follows the tokens of
one activation from top to bottom: an edge that enters another activation (a next iteration, a call of the same
function) is laid out as if it ran backwards. A caller is above the functions that it calls, and beside those that call
it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ..core.graph.graph import Edge, Graph, OutputRef
from ..core.graph.nesting import ContextOwner, PhaseMap
from ..core.ops.effects import EFFECT_OPS, resource_of
from ..core.program.program import UniqueNames
from ..core.tag import ENVIRONMENT, Site
from ..interp.queries.adjoints import AdjointPartners
from .branches import Branch, BranchFinder
from .bundles import find_blocks, find_bundles
from .labels import NodeLabels, cluster_title, phase_title
from .scopes import NameScope, find_scopes
from .style import kind_of
from .view import Cluster, LinkKind, View

_OUTPUT_LABELS = {
    "switch": ("T", "F"),
    "dead_switch": ("F", "T"),
    "live_merge": ("", "index"),
    "exit": ("", "trips"),
    "back": ("", "out"),
    **{row.name: ("", "") for row in EFFECT_OPS.values() if row.resource},
}
"""The labels of the outputs of ops that have several."""

_ClusterPath: TypeAlias = tuple[tuple[ContextOwner | Branch | NameScope, int], ...]
"""A function and the loops, branches and scopes around a node in it, outermost first, each with the node's phase
there."""


def graph_view(graph: Graph) -> View:
    """The view of a graph, valid or not: each node and each edge once; the same graph gives the same view.

    Nodes are called n0, n1, ... by their numbers, arguments a0, a1, ..., results r0, r1, .... The kind of an arrow is
    data, predicate, trigger, order, call, back or before.
    """
    view = View(graph.name, is_static=True)
    for position, (name, output) in enumerate(graph.arguments):
        view.root.add_box(f"a{position}", "argument", name, tooltip=f"argument {name}: {output.type}")
        view.root.same_rank.append(f"a{position}")
    draw_nodes(view, graph)
    draw_edges(view, graph)
    for position, number in enumerate(graph.results):
        view.root.add_box(f"r{position}", "result", "result", tooltip=f"result {position}")
        view.add_arrow(f"n{number}", f"r{position}", "data", tooltip=f"result {position}")
    _keep_returns_below_calls(view, graph)
    view.bundles = find_bundles(view, graph)
    view.blocks = find_blocks(view, graph)
    return view


def draw_nodes(view: View, graph: Graph) -> None:
    """Add a box for each node to a view, in the cluster of its function or loop."""
    phases, words, entries = PhaseMap(graph), NodeLabels(graph), entry_merges(graph)
    begins = {node.site: number for number, node in reversed([*enumerate(graph.nodes)]) if node.op == "enter"}
    marks = pair_marks(graph, phases)
    clusters: dict[_ClusterPath, Cluster] = {}
    subjects, scopes = UniqueNames(reserved_names=()), find_scopes(graph)
    branches = BranchFinder(graph, phases, scopes)
    for number, node in enumerate(graph.nodes):
        loops = [
            loop
            for loop in phases.loop_info.enclosing_loops(phases.loop_info.loop_of(number))
            if loop.function == node.function
        ]
        homes: list[ContextOwner] = [node.function, *loops]
        path: list[tuple[ContextOwner | Branch | NameScope, int]] = []
        inner_scopes: list[tuple[NameScope, ...]] = []
        for home, inner in zip(homes, [*loops, None], strict=True):
            at = number if inner is None else begins.get(inner, number)
            around = branches.around_node(number) if inner is None else branches.around_loop(inner, at)
            path += [(home, phases.phase_at(home, at)), *((branch, 0) for branch in around)]
            inner_scopes += [scopes[begin] for begin in [*(branch.switch for branch in around), at]]
        cluster = find_or_add_cluster(view, clusters, insert_scopes(tuple(path), inner_scopes), subjects, words)
        where = f" ({node.location})" if node.location else ""
        title, subtitle = words.label_lines(number)
        mark, partners = marks.get(number, ("", ""))
        subtitle = " \u00b7 ".join(filter(None, [subtitle, mark]))
        cluster.add_box(f"n{number}", kind_of(node.op), title, subtitle, f"{node}: {node.op}{where}{partners}")
        if number in entries:
            cluster.same_rank.append(f"n{number}")


def pair_marks(graph: Graph, phases: PhaseMap) -> dict[int, tuple[str, str]]:
    """The marks of nodes that a reverse pass goes back through, such as 3, and of the nodes that do so, such as
    \u2202 3. Each comes with a text for the tooltip, which names the partners."""
    marks: dict[int, tuple[str, str]] = {}
    if not any(map(phases.phase_of, range(len(graph.nodes)))):
        return marks
    pairs = AdjointPartners(graph)
    reversed_nodes = [number for number in range(len(graph.nodes)) if pairs.adjoint_nodes(number)]
    numbers = {primal: str(place + 1) for place, primal in enumerate(reversed_nodes)}
    for number in range(len(graph.nodes)):
        primals, adjoints = pairs.primal_nodes(number), pairs.adjoint_nodes(number)
        signs = [f"\u2202\u2009{numbers[primal]}" for primal in primals[:1]] + ([numbers[number]] if adjoints else [])
        texts = [f", goes back through {names_of_nodes(graph, primals)}"] if primals else []
        texts += [f", reversed by {names_of_nodes(graph, adjoints)}"] if adjoints else []
        if signs:
            marks[number] = ", ".join(signs), "".join(texts)
    return marks


def names_of_nodes(graph: Graph, numbers: Sequence[int]) -> str:
    """The names of nodes as a phrase."""
    return " and ".join(str(graph.nodes[number]) for number in numbers)


def insert_scopes(path: _ClusterPath, scopes: Sequence[tuple[NameScope, ...]]) -> _ClusterPath:
    """A path with scopes after the function, loop or branch that they are in; `scopes` has those around each inner loop
    and branch, and last those around the node."""
    result, outer = list[tuple[ContextOwner | Branch | NameScope, int]](), 0
    for home, inner_scopes in zip(path, scopes, strict=True):
        result += [home, *((scope, 0) for scope in inner_scopes[outer:])]
        outer = max(outer, len(inner_scopes))
    return tuple(result)


def find_or_add_cluster(
    view: View, clusters: dict[_ClusterPath, Cluster], path: _ClusterPath, subjects: UniqueNames, labels: NodeLabels
) -> Cluster:
    """The cluster of a function, of a loop, branch or scope in it, or of a phase of one; added to the cluster around it
    if missing."""
    if path not in clusters:
        *parents, (home, phase) = path
        if phase:
            outer = find_or_add_cluster(view, clusters, (*parents, (home, 0)), subjects, labels)
            title = phase_title(phase)
            clusters[path] = outer.add_cluster("pullback", title, f"{title} of {home}", f"{home}.{title}")
        elif isinstance(home, NameScope):
            outer = find_or_add_cluster(view, clusters, tuple(parents), subjects, labels)
            subject = subjects.fresh_name(f"{next(name for name, _ in parents if isinstance(name, str))}.{home.name}")
            clusters[path] = outer.add_cluster("scope", home.name, f"the helper {home.name}", subject)
        elif isinstance(home, Branch):
            outer = find_or_add_cluster(view, clusters, tuple(parents), subjects, labels)
            name, condition = labels.value_name(home.predicate), labels.predicate_formula(home.predicate)
            word, subject = ("if", f"{name}_then") if home.outcome else ("if not", f"{name}_else")
            title, function = f"{word} {condition}", next(name for name, _ in parents if isinstance(name, str))
            subject = subjects.fresh_name(f"{function}.{subject}")
            clusters[path] = outer.add_cluster("branch", title, f"the branch {title}", subject)
        elif isinstance(home, Site):
            outer = find_or_add_cluster(view, clusters, tuple(parents), subjects, labels)
            clusters[path] = outer.add_cluster("loop", cluster_title("while", home.name), f"loop {home}", str(home))
        else:
            clusters[path] = view.root.add_cluster("function", home, f"function {home}", home)
    return clusters[path]


def entry_merges(graph: Graph) -> set[int]:
    """The merges through which values enter functions and loops; those of one function or loop are side by side."""
    entering = [output for _, output in graph.arguments]
    entering += [output for node in graph.nodes if node.op in ("call", "enter", "reenter") for output in node.outputs]
    entry_nodes = {edge.node for output in entering for edge in output.edges if 0 <= edge.node < len(graph.nodes)}
    return {number for number in entry_nodes if graph.nodes[number].op == "merge"}


def draw_edges(view: View, graph: Graph) -> None:
    """Add an arrow for each edge to a view."""
    reachable = reachable_functions(graph)
    for position, (_, output) in enumerate(graph.arguments):
        for edge in output.edges:
            _draw_edge(view, graph, reachable, OutputRef(-1, position), edge)
    for number, node in enumerate(graph.nodes):
        for position, output in enumerate(node.outputs):
            for edge in output.edges:
                _draw_edge(view, graph, reachable, OutputRef(number, position), edge)


def _draw_edge(view: View, graph: Graph, reachable: dict[str, set[str]], source: OutputRef, edge: Edge) -> None:
    link = link_kind(graph, source, edge)
    tail, head = f"n{source.node}" if source.node >= 0 else f"a{source.output}", f"n{edge.node}"
    texts = output_label(graph, source), f"{graph.output(source).type}, to port {edge.port}"
    turned = free = False
    if link in ("call", "back", "before"):
        maker, taker = graph.nodes[source.node], graph.nodes[edge.node]
        turned = link != "call" or maker.function == taker.function
        free = not turned and (maker.op != "call" or maker.function in reachable.get(taker.function, ()))
    view.add_arrow(tail, head, link, *texts, port=edge.port, is_reversed=turned, is_unconstrained=free)


def link_kind(graph: Graph, source: OutputRef, edge: Edge) -> LinkKind:
    """The kind of an edge; data if its target does not exist."""
    if not 0 <= edge.node < len(graph.nodes):
        return "data"
    taker = graph.nodes[edge.node]
    made_by = graph.nodes[source.node].op if source.node >= 0 else ""
    if taker.has_trigger and edge.port == len(taker.ports) - 1:
        return "order" if resource_of(taker.op) else "trigger"
    if made_by == "next_iteration":
        return "back"
    if made_by == "back" and source.output == 0:
        return "before"
    if made_by and (made_by == "call" or (taker.op == "return" and taker.site != ENVIRONMENT)):
        return "call"
    if resource_of(made_by) and source.output == 1:
        return "order"
    return "predicate" if taker.op in ("switch", "dead_switch") and edge.port == 1 else "data"


def output_label(graph: Graph, source: OutputRef) -> str:
    """The label at the tail of an edge: the output that it leaves, if the node has several."""
    if source.node < 0 or len(graph.nodes[source.node].outputs) < 2:
        return ""
    labels = _OUTPUT_LABELS.get(graph.nodes[source.node].op, ())
    return labels[source.output] if source.output < len(labels) else str(source.output)


def reachable_functions(graph: Graph) -> dict[str, set[str]]:
    """The functions that each function calls, directly or indirectly."""
    reachable: dict[str, set[str]] = {}
    for site, callee in graph.calls:
        reachable.setdefault(site.function, set()).add(callee)
    for middle in list(reachable):
        for functions in reachable.values():
            if middle in functions:
                functions |= reachable[middle]
    return reachable


def _keep_returns_below_calls(view: View, graph: Graph) -> None:
    calls: dict[tuple[str, Site | None], list[int]] = {}
    for number, node in enumerate(graph.nodes):
        if node.op == "call":
            calls.setdefault((node.function, node.site), []).append(number)
    for number, node in enumerate(graph.nodes):
        if node.op == "return":
            for call in calls.get((node.function, node.site), ()):
                view.rank_constraints.append((f"n{call}", f"n{number}"))
