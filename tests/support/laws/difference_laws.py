"""The laws of the first difference between two runs, which is computed again here by brute force."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from support.laws.query_laws import Links
from tagloom.core.graph.graph import Graph
from tagloom.core.tag import Tag
from tagloom.core.value import fingerprint, literal
from tagloom.interp.queries import difference
from tagloom.interp.queries.index import EventIndex


def edit_graph(graph: Graph, dice: random.Random) -> Graph:
    """The graph with one change that leaves it well-formed: another op, literal, or name."""
    others = {"add": "subtract", "subtract": "multiply", "multiply": "add", "less": "greater", "equal": "less"}
    others |= {"minimum": "maximum", "maximum": "minimum", "less_equal": "less", "negative": "abs"}
    nodes, edits = list(graph.nodes), []
    for number, node in enumerate(nodes):
        if node.op in others:
            edits.append((number, replace(node, op=others[node.op])))
        edits.append((number, replace(node, name=f"{node.name}'")))
        for port, held in enumerate(node.ports):
            if held is not None and type(held.value) is int:
                ports = (
                    *node.ports[:port],
                    literal(held.value + (1 if held.value < 0 else -1)),
                    *node.ports[port + 1 :],
                )
                edits += [(number, replace(node, ports=ports))] * 3
    number, node = dice.choice(edits)
    nodes[number] = node
    return replace(graph, nodes=tuple(nodes))


Named = tuple[str, Tag]


def named_firings(index: EventIndex) -> dict[Named, Any]:
    """Operands, outputs and trap of each firing, by node name and tag."""
    results = {}
    for event in index.events:
        if event.inputs is not None:
            node = index.graph.nodes[event.token.node]
            operands = event.inputs[:-1] if node.has_trigger else event.inputs
            outputs = [(output, fingerprint(value)) for output, value in event.outputs]
            results[str(node), event.token.tag] = list(map(fingerprint, operands)), outputs, event.trap
    return results


def ancestors(index: EventIndex) -> dict[Named, set[Named]]:
    """All firings on which each firing depends, by node name and tag."""
    links, names = Links(index), {}
    results: dict[Named, set[Named]] = {}
    for number, event in enumerate(index.events):
        if event.inputs is not None:
            names[number] = str(index.graph.nodes[event.token.node]), event.token.tag
            before = [names[sender] for _, sender in links.behind[number] if sender >= 0]
            results[names[number]] = {*before, *(name for one in before for name in results[one])}
    return results


def difference_violations(first: EventIndex, second: EventIndex, answer: difference.Difference | None) -> Iterator[str]:
    """Laws for two quiescent runs: no difference is reported if and only if all firings are equal; a reported
    difference is real, and all firings on which it depends, in either run, agree."""
    one, other = named_firings(first), named_firings(second)
    differ = {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}
    if answer is None or answer.firing is None:
        if differ:
            yield f"{len(differ)} firings differ, and none is reported"
        return
    key = str(answer.firing.node), answer.firing.tag
    if key not in differ:
        yield f"{key} does not differ"
    behind = ancestors(first).get(key, set()) | ancestors(second).get(key, set())
    if behind & differ:
        yield f"{key} depends on {sorted(map(str, behind & differ))[:3]}"
    for firing, firings in ((answer.first, one), (answer.second, other)):
        if (firing is not None) != (key in firings):
            yield f"{answer}\nis on a side where it is not"
    if (answer.kind == "only one") != (key not in one or key not in other):
        yield f"{answer.kind} is wrong"
    if answer.kind == "results" and one[key][0] != other[key][0]:
        yield "the operands differ"
    if answer.kind == "operands" and one[key][0] == other[key][0]:
        yield "the operands do not differ"
