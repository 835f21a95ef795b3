"""The function or loop under whose tags each node fires."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ...core.errors import Usage
from ...core.graph.contexts import ControlContexts
from ...core.graph.graph import Edge, Graph, OutputRef
from ...core.graph.validate import graph_problems
from ...core.tag import ENVIRONMENT, ROOT, Site, Tag

Context: TypeAlias = str | Site
"""A function, by name, or a loop, by site."""


def node_contexts(graph: Graph) -> dict[int, Context]:
    """The function or loop under whose tags each node fires; empty for a graph that breaks the rules."""
    if graph_problems(graph):
        return {}
    control_contexts = ControlContexts(graph)
    contexts = dict[int, Context]()
    for number, node in enumerate(graph.nodes):
        if node.op == "merge":
            contexts[number] = control_contexts.contexts[OutputRef(number, 0)].owner
        else:
            port = next(port for port, literal in enumerate(node.ports) if literal is None)
            contexts[number] = control_contexts.contexts[control_contexts.sources[Edge(number, port)][0]].owner
    return contexts


def check_node_tag(graph: Graph, contexts: Mapping[int, Context], number: int, tag: Tag) -> None:
    """Raise Usage, with a suggested tag, if a node never fires under tags of the function or loop of this one."""
    if fires_under(graph, contexts, number, tag):
        return
    own_context, context = contexts[number], context_of_tag(graph, tag)
    raise Usage(
        f"{graph.nodes[number]} is not a node of {context}, which runs under {tag}",
        required=f"a tag of {own_context}",
        got=str(tag),
        hint=suggest_tag(graph, contexts, own_context, context, tag),
        python=KeyError,
    )


def fires_under(graph: Graph, contexts: Mapping[int, Context], number: int, tag: Tag) -> bool:
    """Whether a node may fire under a tag; True if its function or loop is not known."""
    return number not in contexts or contexts[number] == context_of_tag(graph, tag)


def context_of_tag(graph: Graph, tag: Tag) -> Context:
    """The function or loop that runs under a tag."""
    if tag.site.kind == "loop":
        return tag.site
    return {ENVIRONMENT: graph.name, **dict(graph.calls)}.get(tag.site, str(tag.site))


def suggest_tag(
    graph: Graph, contexts: Mapping[int, Context], target: Context, context: Context, tag: Tag
) -> str | None:
    """A tag under which `target` runs, below `tag`, whose context is `context`, or below the root; None if there is no
    such path."""
    steps = list[str]()
    while target != context:
        if target == graph.name:
            tag = ROOT
            break
        is_loop = isinstance(target, Site)
        callers = [site for site, callee in graph.calls if callee == target]
        sites = (
            [target]
            if isinstance(target, Site)
            else [site for site in callers if enclosing_context(graph, contexts, site) == context]
        )
        if not sites:
            return None
        steps.append(f"{sites[0].name}[0]" if is_loop else sites[0].name)
        target = enclosing_context(graph, contexts, sites[0])
    return "/".join([str(tag), *reversed(steps)])


def enclosing_context(graph: Graph, contexts: Mapping[int, Context], site: Site) -> Context:
    """The function or loop that contains a call or a loop."""
    nodes = enumerate(graph.nodes)
    return next(contexts[number] for number, node in nodes if node.site == site and node.op in ("call", "enter"))
