"""Printing: programs, graphs and cases as text that `parse` reads back.

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

graph race(x: int64) -> int64 {
  m = merge x, x
  return m
}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, repeat

from ..dtypes import DType
from ..errors import Usage
from ..graph.graph import Edge, Graph, GraphNode, OutputRef, require_graph
from ..graph.infer import nodes_needing_types
from ..ops.routing import ALL_ROUTING_OPS
from ..ops.type_rules import format_attribute
from ..program.infer import infer_node_types
from ..program.program import (
    LITERAL_WORDS,
    MAX_NESTING,
    PULLBACK_TARGET,
    FunctionDef,
    Location,
    Node,
    Operand,
    Program,
    Region,
    require_program,
)
from ..tag import ENVIRONMENT, Site
from ..types import HandleType, Type, check_element_type
from ..value import format_value
from .builder import (
    ATTRIBUTE_KINDS,
    REGION_KEYWORDS,
    TRIGGER_TYPE,
    is_writable_attribute,
    unique_return_name,
)
from .document import Case, Document

_MAX_LOCATION_COLUMN = 72
"""The column of source locations, unless all lines are shorter."""


class TextWriter:
    """Collects lines of text, each with an optional source location; the locations are aligned in one column."""

    def __init__(self, *, locations: bool) -> None:
        self.with_locations = locations
        self.source_file: str | None = None
        self.lines: list[tuple[str, str]] = []

    def add_line(self, text: str, location: Location | None = None) -> None:
        self.lines.append((text, self.format_location(location)))

    def format_location(self, location: Location | None) -> str:
        if location is None or not self.with_locations:
            return ""
        if self.source_file is None:
            self.source_file = location.file
        return (
            f"at {location.line}"
            if location.file == self.source_file
            else f"at {quote_string(location.file)}:{location.line}"
        )

    def __str__(self) -> str:
        column = min(max((len(text) for text, location in self.lines if location), default=0), _MAX_LOCATION_COLUMN)
        lines = [f"{text:{column}}  {location}" if location else text for text, location in self.lines]
        if self.source_file is not None:
            lines.insert(0, f"from {quote_string(self.source_file)}")
        return "\n".join([*lines, ""])


def format_name(name: str) -> str:
    """The name, if it is an identifier; raises Usage where the text form cannot write it."""
    if not name.isidentifier() or name in LITERAL_WORDS:
        raise Usage("the text form cannot write this name", got=repr(name), required="a name as in Python")
    return name


def format_typed_name(name: str, type_: Type) -> str:
    return f"{format_name(name)}: {format_type(type_)}"


def format_type(type_: Type) -> str:
    """A type; raises Usage for handles of handles, which the text form cannot write."""
    if isinstance(type_.dtype, HandleType):
        check_element_type(type_.dtype.element)
    return str(type_)


def format_result_types(types: Sequence[Type]) -> str:
    return f" -> {', '.join(map(format_type, types))}" if types else " -> ()"


def format_attributes(attributes: Iterable[tuple[str, object]]) -> list[str]:
    return [f"{format_name(name)}={format_attribute_value(name, value)}" for name, value in attributes]


def format_attribute_value(name: str, value: object) -> str:
    """The value of an attribute; raises Usage where the text form cannot write it."""
    if not is_writable_attribute(name, value):
        raise Usage("the text form cannot write this attribute", got=repr(value), required=ATTRIBUTE_KINDS)
    if isinstance(value, str):
        return quote_string(value)
    if isinstance(value, tuple):
        return format_attribute(value)
    if value is None:
        return "none"
    if isinstance(value, DType):
        return repr(value)
    return format_type(value) if isinstance(value, Type) else format_value(value)


def quote_string(text: str) -> str:
    """A string in double quotes; escaped throughout if UTF-8 cannot encode it.

    >>> print(quote_string('say "no"'))
    "say \\"no\\""
    """
    quoted = json.dumps(text, ensure_ascii=False)
    try:
        quoted.encode()
    except UnicodeEncodeError:
        return json.dumps(text)
    return quoted


def unwritable_error(noun: str, got: object) -> Usage:
    return Usage(f"the text form cannot write {noun}", got=got)


def print_program(program: Program, *, locations: bool = True) -> str:
    """A program as text that `parse` reads back: one line per node, functions and nodes in their order.

    `locations` adds the source line of each node. Raises Usage for programs that the text form cannot write: a name
    that is not an identifier, a node without results, an attribute that is not a number, string or dtype.
    """
    require_program(program)
    writer, types = TextWriter(locations=locations), infer_node_types(program)
    if not program.functions or program.functions[0].name != program.entry:
        writer.add_line(f"entry {format_name(program.entry)}")
        writer.add_line("")
    for number, function in enumerate(program.functions):
        if number:
            writer.add_line("")
        write_function(writer, function, types)
    return str(writer)


def write_function(writer: TextWriter, function: FunctionDef, types: Iterator[list[Type]]) -> None:
    """Write a function, and the pullbacks that follow it."""
    results = format_result_types(function.results) if function.results or function.body.results else ""
    writer.add_line(
        f"func {format_name(function.name)}({format_parameters(function.body)}){results} {{", function.location
    )
    write_body(writer, function.body, "return", types, 0)
    later_phases = islice(function.body.phases(), 1, None)
    for phase, result_types in zip(later_phases, function.pullback_result_types, strict=True):
        writer.add_line(f"}} pullback({format_parameters(phase)}){format_result_types(result_types)} {{")
        write_body(writer, phase, "return", types, 0)
    writer.add_line("}")


def write_body(writer: TextWriter, region: Region, keyword: str, types: Iterator[list[Type]], depth: int) -> None:
    """Write the body of a region at nesting `depth`."""
    for node in region.nodes:
        write_node(writer, node, types, depth)
    writer.add_line(f"{_indent(depth)}{keyword} {format_operands(region.results)}".rstrip())


def _indent(depth: int) -> str:
    return "  " * (2 * depth + 1)


def write_node(writer: TextWriter, node: Node, types: Iterator[list[Type]], depth: int) -> None:
    """Write a node, with its regions if it has any, at nesting `depth`."""
    indent = _indent(depth)
    head = f"{indent}{format_targets(node, next(types))} = {format_node_operation(node)}"
    if not node.regions and node.op not in REGION_KEYWORDS:
        writer.add_line(head, node.location)
        return
    if node.regions and depth == MAX_NESTING:
        raise unwritable_error(f"more than {MAX_NESTING} nested regions", node.op)
    writer.add_line(f"{head} {{", node.location)
    keywords = REGION_KEYWORDS.get(node.op, ())
    for keyword, region in keyword_phases(node, keywords if len(keywords) == len(node.regions) else repeat("region")):
        opening = f"{indent}  {keyword}({format_parameters(region)}) {{"
        if region.nodes:
            writer.add_line(opening)
            write_body(writer, region, "yield", types, depth + 1)
            writer.add_line(f"{indent}  }}")
        else:
            writer.add_line(f"{opening} {' '.join(filter(None, ['yield', format_operands(region.results)]))} }}")
    writer.add_line(f"{indent}}}")


def keyword_phases(node: Node, keywords: Iterable[str]) -> Iterator[tuple[str, Region]]:
    """The regions of a node with their phases, each with its keyword."""
    for keyword, region in zip(keywords, node.regions, strict=False):
        yield from zip(chain([keyword], repeat("pullback")), region.phases(), strict=False)


def format_targets(node: Node, inferred: Sequence[Type]) -> str:
    """The names of the results, with the type where it is not the inferred one."""
    if not node.results:
        raise unwritable_error("a node without results", node.op)
    pairs = zip(node.results, inferred, strict=True)
    return ", ".join(
        format_name(name) if type_ == inferred_type else format_typed_name(name, type_)
        for (name, type_), inferred_type in pairs
    )


_CALLEE_ATTRIBUTES = {
    "call": ("function", "a call that names no function"),
    "pullback": (PULLBACK_TARGET, "a pullback that names no node"),
}


def format_node_operation(node: Node) -> str:
    """The op of a node with its callee, operands and attributes."""
    attributes, callee = node.attributes, ""
    if node.op in _CALLEE_ATTRIBUTES:
        attribute, problem = _CALLEE_ATTRIBUTES[node.op]
        if not attributes or attributes[0][0] != attribute or not isinstance(attributes[0][1], str):
            raise unwritable_error(problem, node.attributes)
        callee, attributes = f" {format_name(attributes[0][1])}", attributes[1:]
    arguments = chain(map(format_operand, node.inputs), format_attributes(attributes))
    return f"{format_name(node.op)}{callee} {', '.join(arguments)}".rstrip()


def format_parameters(region: Region) -> str:
    """The parameters of a region, with their types."""
    return ", ".join(format_typed_name(name, type_) for name, type_ in region.parameters)


def format_operands(operands: Sequence[Operand]) -> str:
    return ", ".join(map(format_operand, operands))


def format_operand(operand: Operand) -> str:
    return format_name(operand) if isinstance(operand, str) else str(operand)


def print_graph(graph: Graph, *, locations: bool = True) -> str:
    """A graph as text that `parse` reads back: one line per node, in the order of their numbers.

    `locations` adds the source line of each node. Raises Usage for graphs that the text form cannot write: an edge to a
    port that does not exist, two nodes of one name, a result that is not a node, hidden arguments that do not exist.
    """
    require_graph(graph)
    return str(_GraphPrinter(graph).write(TextWriter(locations=locations)))


class _GraphPrinter:
    """Prints one graph: checks that the text form can write it, and decides how to shorten names and results."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sources = graph.sources()
        self.check_writable()
        self.uses_short_names = self.can_use_short_names()
        self.folds_results = self.can_fold_results()
        self.typed_nodes = nodes_needing_types(graph)

    def check_writable(self) -> None:
        """Raises Usage for a graph that the text form cannot write."""
        nodes = self.graph.nodes
        for edge in self.sources:
            if not (0 <= edge.node < len(nodes) and 0 <= edge.port < len(nodes[edge.node].ports)):
                raise unwritable_error("an edge to a port that does not exist", edge)
        outputs = [output for node in nodes for output in node.outputs]
        for output in (*outputs, *(argument for _, argument in self.graph.arguments)):
            if list(output.edges) != sorted(output.edges):
                raise unwritable_error("edges in a different order than that of the ports", output.edges)
        for names in ([str(node) for node in nodes], [name for name, _ in self.graph.arguments]):
            if len(set(names)) < len(names):
                raise unwritable_error("two values of one name", max(names, key=names.count))
        if not 0 <= self.graph.hidden_count <= len(self.graph.arguments):
            raise unwritable_error("more hidden arguments than there are", self.graph.hidden_count)
        for number in self.graph.results:
            if not 0 <= number < len(nodes):
                raise unwritable_error("a result that is not a node", number)

    def can_use_short_names(self) -> bool:
        """Whether nodes need no function prefix: all are in one function, and none has the name of an argument."""
        arguments = {name for name, _ in self.graph.arguments}
        return all(
            node.function == self.graph.name and "." not in node.name and node.name not in arguments
            for node in self.graph.nodes
        )

    def can_fold_results(self) -> bool:
        """Whether the results are exactly the nodes that reading the `return` line adds, so that they need no lines of
        their own."""
        nodes, count = self.graph.nodes, len(self.graph.results)
        first_number = len(nodes) - count
        if not count or self.graph.results != tuple(range(first_number, len(nodes))):
            return False
        names = [node.name for node in nodes[:first_number] if node.function == self.graph.name]
        for number, node in enumerate(nodes[first_number:], start=first_number):
            sources = self.sources.get(Edge(number, 0), [])
            expected = GraphNode(
                unique_return_name(names), "return", (None,), node.outputs, self.graph.name, ENVIRONMENT
            )
            if (
                (node.name, node.op, node.ports, node.function)
                != (expected.name, expected.op, expected.ports, expected.function)
                or (node.site, node.has_trigger, node.attributes) != (ENVIRONMENT, False, ())
                or node.location != nodes[-1].location
                or len(node.outputs) != 1
                or len(sources) != 1
                or self.is_environment_return(sources[0].node)
                or any(source.node >= first_number for source in sources)
            ):
                return False
            names.append(node.name)
        return not any(source.node >= first_number for refs in self.sources.values() for source in refs)

    def is_environment_return(self, number: int) -> bool:
        """Whether a node is a return to the environment."""
        return number >= 0 and (self.graph.nodes[number].op, self.graph.nodes[number].site) == ("return", ENVIRONMENT)

    def write(self, writer: TextWriter) -> TextWriter:
        graph = self.graph
        count = len(graph.nodes) - (len(graph.results) if self.folds_results else 0)
        is_return_line = all(self.is_environment_return(n) and len(graph.nodes[n].outputs) == 1 for n in graph.results)
        types = [graph.nodes[number].outputs[0].type for number in graph.results] if is_return_line else []
        results = format_result_types(types) if types else ""
        writer.add_line(f"graph {format_name(graph.name)}({', '.join(self.format_arguments())}){results} {{")
        for site, callee in graph.calls:
            writer.add_line(f"  site {self.format_site(site, 'call')} calls {format_name(callee)}")
        for number, node in enumerate(graph.nodes[:count]):
            writer.add_line(
                f"  {self.format_target(number, node)} = {self.format_operation(number, node)}", node.location
            )
        location = graph.nodes[-1].location if self.folds_results else None
        writer.add_line(
            f"  {'return' if is_return_line else 'results'} {', '.join(self.format_results())}".rstrip(), location
        )
        writer.add_line("}")
        return writer

    def format_arguments(self) -> list[str]:
        return [
            f"@{format_name(name) if output.type == TRIGGER_TYPE else format_typed_name(name, output.type)}"
            if number < self.graph.hidden_count
            else format_typed_name(name, output.type)
            for number, (name, output) in enumerate(self.graph.arguments)
        ]

    def format_results(self) -> list[str]:
        if not self.folds_results:
            return [self.format_node_name(self.graph.nodes[number]) for number in self.graph.results]
        return [self.format_source(self.sources[Edge(number, 0)][0]) for number in self.graph.results]

    def format_target(self, number: int, node: GraphNode) -> str:
        if number not in self.typed_nodes:
            return self.format_node_name(node)
        return (
            f"{self.format_node_name(node)}: {', '.join(format_type(output.type) for output in node.outputs) or '()'}"
        )

    def format_node_name(self, node: GraphNode) -> str:
        parts = [format_name(part) for part in node.name.split(".")]
        return ".".join(parts if self.uses_short_names else [format_name(node.function), *parts])

    def format_operation(self, number: int, node: GraphNode) -> str:
        ports = [self.format_port(number, port) for port in range(len(node.ports))]
        trigger = ["@", *ports[len(ports) - 1 :]] if node.has_trigger else []
        ports = ports[: len(ports) - node.has_trigger] if node.has_trigger else ports
        arguments = ", ".join([*ports, *format_attributes(node.attributes)])
        return " ".join(filter(None, [f"{format_name(node.op)}{self.format_site_brackets(node)}", arguments, *trigger]))

    def format_site_brackets(self, node: GraphNode) -> str:
        kind = ALL_ROUTING_OPS[node.op].site_kind if node.op in ALL_ROUTING_OPS else None
        usual = ENVIRONMENT if node.op == "return" else None
        return "" if node.site == usual else f"[{self.format_site(node.site, kind)}]"

    def format_site(self, site: Site | None, kind: str | None) -> str:
        if site is None:
            return ""
        if site == ENVIRONMENT:
            return "@"
        name = ".".join(map(format_name, [site.function, *site.name.split(".")]))
        return name if site.kind == kind else f"{site.kind} {name}"

    def format_port(self, number: int, port: int) -> str:
        """The input of a port: one name or literal, or several where the graph breaks the rules."""
        literal = self.graph.nodes[number].ports[port]
        inputs = [] if literal is None else [str(literal)]
        inputs += map(self.format_source, self.sources.get(Edge(number, port), ()))
        return " | ".join(inputs) or "?"

    def format_source(self, source: OutputRef) -> str:
        if source.node < 0:
            return format_name(self.graph.arguments[source.output][0])
        node = self.graph.nodes[source.node]
        outputs: Sequence[object] = node.outputs
        return f"{self.format_node_name(node)}:{source.output}" if len(outputs) > 1 else self.format_node_name(node)


def print_document(document: Document, *, locations: bool = True) -> str:
    """A document as text that `parse` reads back: the functions, the graphs, the cases."""
    parts = [] if document.program is None else [print_program(document.program, locations=locations)]
    parts += [print_graph(graph, locations=locations) for graph in document.graphs]
    parts += ["".join(f"{print_case(case)}\n" for case in document.cases)] if document.cases else []
    return "\n".join(parts)


def print_case(case: Case) -> str:
    """A case in the text form.

    >>> print_case(Case("fac", ("5",), "returns", ("120",), 94))
    'case fac(5) returns 120 in 94 firings'
    """
    arguments = "" if case.kind == "refused" and not case.arguments else f"({', '.join(case.arguments)})"
    return f"case {format_name(case.name)}{arguments} {print_ending(case)}"


def print_ending(case: Case) -> str:
    """The expected outcome of a case, in the text form."""
    match case.kind:
        case "returns":
            details = [", ".join(case.details)] if case.details else []
        case "traps":
            details = list(map(quote_string, case.details))
        case _:
            details = list(case.details)
    firings = [f"in {case.firings} firings"] if case.firings is not None else []
    return " ".join([case.kind, *details, *firings])
