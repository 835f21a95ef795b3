"""The text form's printer: a program, or a flat graph, as a student would read it.

func fac(n: int64) -> int64 {
  less_equal = less_equal n, 0
  cond = cond less_equal, n {
    then(n: int64) { yield 1 }
    else(n: int64) {
      subtract = subtract n, 1
      fac = call fac subtract
      multiply = multiply n, fac
      yield multiply
    }
  }
  return cond
}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .dtypes import DType
from .graph import Edge, Graph, Source
from .graph import Node as GraphNode
from .program import Function, Node, Operand, Program, Region, Var
from .tag import ENVIRONMENT
from .types import Type

_WORDS = {"cond": ("then", "else"), "while_loop": ("while", "do")}


def print_program(program: Program) -> str:
    """A program, its entry first."""
    functions = sorted(program.functions, key=lambda function: function.name != program.entry)
    return "\n".join(line for function in functions for line in (*_function(function), ""))


def print_graph(graph: Graph) -> str:
    """A flat graph: a line a node, with what its ports take; `x:1` is output 1 of a node with several."""
    sources = graph.sources()
    parameters = ", ".join(f"{name}: {output.type}" for name, output in graph.arguments[graph.hidden :])
    results = _results([graph.nodes[number].outputs[0].type for number in graph.results])
    calls = [f"  site {site} calls {callee}" for site, callee in graph.calls]
    functions = dict.fromkeys(node.function for node in graph.nodes)
    nodes = [
        f"  {node} = {_graph_node(graph, sources, number, node)}"
        for function in functions
        for number, node in enumerate(graph.nodes)
        if node.function == function
    ]
    leaving = ", ".join(str(graph.nodes[number]) for number in graph.results)
    return "\n".join([f"graph {graph.name}({parameters}){results} {{", *calls, *nodes, f"  return {leaving}", "}", ""])


def _function(function: Function) -> Iterator[str]:
    yield f"func {function.name}({_parameters(function.body.parameters)}){_results(function.results)} {{"
    yield from _body(function.body, "return", "  ")
    yield "}"


def _body(region: Region, leave: str, indent: str) -> Iterator[str]:
    for node in region.nodes:
        yield from (indent + line for line in _node(node))
    yield f"{indent}{leave} {_operands(region.results)}".rstrip()


def _node(node: Node) -> Iterator[str]:
    names = ", ".join(result.name for result in node.results)
    attributes = dict(node.attributes)
    callee = f" {attributes.pop('function')}" if node.op == "call" else ""
    head = f"{names} = {node.op}{callee} {_operands(node.inputs)}{_attributes(attributes)}"
    if not node.regions:
        yield head
        return
    yield f"{head} {{"
    for word, region in zip(_WORDS[node.op], node.regions, strict=True):
        opening = f"  {word}({_parameters(region.parameters)}) {{"
        if region.nodes:
            yield opening
            yield from _body(region, "yield", "    ")
            yield "  }"
        else:
            yield f"{opening} yield {_operands(region.results)} }}"
    yield "}"


def _graph_node(graph: Graph, sources: dict[Edge, list[Source]], number: int, node: GraphNode) -> str:
    ports = [
        str(literal) if literal is not None else _sources(graph, sources.get(Edge(number, port), []))
        for port, literal in enumerate(node.ports)
    ]
    trigger = f" @ {ports.pop()}" if node.triggered else ""
    site = f"[{node.site}]" if node.site not in (None, ENVIRONMENT) else ""
    return f"{node.op}{site} {', '.join(ports)}{_attributes(dict(node.attributes))}{trigger}"


def _sources(graph: Graph, sources: list[Source]) -> str:
    """What feeds a port: one name, or several where the graph breaks the rules."""
    return " | ".join(_source(graph, source) for source in sources) or "?"


def _source(graph: Graph, source: Source) -> str:
    if source.node < 0:
        return graph.arguments[source.output][0]
    node = graph.nodes[source.node]
    return f"{node}:{source.output}" if len(node.outputs) > 1 else str(node)


def _parameters(variables: Sequence[Var]) -> str:
    return ", ".join(f"{variable.name}: {variable.type}" for variable in variables)


def _results(types: Sequence[Type]) -> str:
    return f" -> {', '.join(map(str, types))}"


def _operands(operands: Sequence[Operand]) -> str:
    return ", ".join(map(str, operands))


def _attributes(attributes: dict[str, Any]) -> str:
    return "".join(f", {name}={_attribute(value)}" for name, value in attributes.items())


def _attribute(value: object) -> str:
    return repr(value) if isinstance(value, DType) else str(value)
