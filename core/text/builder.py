"""From syntax to programs and graphs: first small parts (names, types, literals, attributes, sites, source locations),
then the functions of a program, then graphs.

Types that the text leaves out are holes (`program.infer.HOLE`); `document` infers them.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .. import dtypes
from ..dtypes import DType
from ..errors import Malformed, plural
from ..graph.graph import Edge, Graph, GraphNode, NodeOutput, OutputRef
from ..graph.infer import count_outputs
from ..ops.op import wrap
from ..ops.routing import ALL_ROUTING_OPS
from ..ops.type_rules import TYPE_ATTRIBUTES
from ..program import hints
from ..program.infer import HOLE
from ..program.program import (
    LITERAL_WORDS,
    MAX_NESTING,
    PULLBACK_TARGET,
    DocumentLocation,
    FunctionDef,
    Location,
    Node,
    Operand,
    Region,
    Var,
    unique_name,
)
from ..tag import ENVIRONMENT
from ..tag import Site as SiteOf
from ..types import MAX_AXES, Type, handle_type
from ..value import Literal
from . import syntax
from .fault import SyntaxFault
from .literals import parse_literal
from .syntax import AttributeSyntax, LiteralSyntax, LocationSyntax, SiteSyntax, SourceFileSyntax, SyntaxToken

ATTRIBUTE_KINDS = "a dtype, a type, a text, sizes, true, false or none, an int64, or a float64 other than nan"


_INTEGER_PATTERN = re.compile("[+-]?[0-9]{1,18}")
_SIZE_PATTERN = re.compile("[0-9]{1,19}")


def read_name(token: SyntaxToken) -> str:
    """An identifier."""
    if token.text in LITERAL_WORDS:
        raise SyntaxFault(f"{token.text} is a literal, not a name", token.position)
    if not token.text.isidentifier():
        raise SyntaxFault(
            f"{token.text!r} is not a name", token.position, required="letters, digits and _, as in Python"
        )
    return token.text


def read_qualified_name(token: SyntaxToken, owner: str) -> tuple[str, str]:
    """The function and the name in `fib.loop.i`; a name without a dot belongs to `owner`."""
    if not all(part.isidentifier() and part not in LITERAL_WORDS for part in token.text.split(".")):
        raise SyntaxFault(f"{token.text!r} is not a name", token.position, required="names with dots between them")
    function, dot, name = token.text.partition(".")
    return (function, name) if dot else (owner, function)


def read_type(token: SyntaxToken) -> Type:
    """A type: `float64[3, ?]`, `cells[float64]`."""
    head, bracket, tail = token.text.partition("[")
    if head.strip() == "cells":
        return read_handle_type(tail.removesuffix("]").strip(), token)
    dtype = dtypes.BY_NAME.get(head.strip())
    if dtype is None:
        usual = {"int": "int64", "float": "float64", "double": "float64", "boolean": "bool", "cell": "cells[...]"}
        matches = [usual.get(head.strip(), ""), *difflib.get_close_matches(head.strip(), dtypes.BY_NAME, 1, 0.5)]
        matches = list(filter(None, matches))
        hint = f"did you mean {matches[0]}?" if matches else None
        raise SyntaxFault(
            f"there is no dtype {head.strip()!r}", token.position, required=", ".join(dtypes.BY_NAME), hint=hint
        )
    if not bracket:
        return Type(dtype)
    sizes_text = tail.removesuffix("]").strip()
    if sizes_text == "...":
        return Type(dtype, None)
    sizes = [size.strip() for size in sizes_text.split(",")] if sizes_text else []
    if len(sizes) > MAX_AXES:
        raise SyntaxFault("too many sizes", token.position, required=f"{MAX_AXES} at most", got=len(sizes))
    if not all(size == "?" or (_SIZE_PATTERN.fullmatch(size) and int(size) < 2**63) for size in sizes):
        required = "sizes, ? for an unknown one, or ... for an unknown shape"
        raise SyntaxFault(f"{token.text!r} is not a type", token.position, required=required)
    return Type(dtype, tuple(None if size == "?" else int(size) for size in sizes))


def read_handle_type(element: str, token: SyntaxToken) -> Type:
    """The type `cells[...]`, from the text in its brackets."""
    required = "the type of a number or an array in the brackets, as in cells[float64]"
    if not element or element.partition("[")[0].strip() == "cells":
        raise SyntaxFault("the type of the cells is missing", token.position, required=required, got=token.text)
    return handle_type(read_type(SyntaxToken(element, token.position)))


def read_literal(node: LiteralSyntax) -> Literal:
    """A literal, with its own type."""
    try:
        return parse_literal(node.text)
    except Malformed as error:
        raise SyntaxFault(error.message, node.position, required=error.required, hint=error.hint) from None


def read_string(token: SyntaxToken) -> str:
    """The text of a string in double quotes, with the escapes of JSON."""
    try:
        return str(json.loads(token.text, strict=False))
    except ValueError:
        hint = r"escapes are \" \\ \n \t and \u00e9"
        raise SyntaxFault("the text has an unknown escape", token.position, hint=hint) from None


def read_attribute(attribute: AttributeSyntax) -> tuple[str, object]:
    """A static attribute: a dtype, a type, a shape, a string, or the plain value of a literal."""
    key, value = read_name(attribute.name), attribute.value
    if key in TYPE_ATTRIBUTES and isinstance(value, SyntaxToken) and not value.text.startswith('"'):
        return key, read_type(value)
    if isinstance(value, LiteralSyntax) and value.text.startswith("["):
        return key, read_sizes(value)
    if isinstance(value, LiteralSyntax):
        constant = read_literal(value).value
        if not is_writable_attribute(key, constant):
            raise SyntaxFault("this is not a valid attribute", value.position, required=ATTRIBUTE_KINDS)
        return key, constant
    if value.text.startswith('"'):
        return key, read_string(value)
    if value.text == "none":
        return key, None
    if value.text not in dtypes.BY_NAME:
        raise SyntaxFault(f"{value.text!r} is not a dtype", value.position, required=", ".join(dtypes.BY_NAME))
    return key, dtypes.BY_NAME[value.text]


def read_sizes(node: LiteralSyntax) -> tuple[int | None, ...]:
    """Integers in brackets, as in `[2, ?]`: axes, or the sizes of a shape. An operand holds the size `?`."""
    sizes = [size.strip() for size in node.text[1:-1].split(",")] if node.text[1:-1].strip() else []
    if not all(size == "?" or _INTEGER_PATTERN.fullmatch(size) for size in sizes):
        raise SyntaxFault(
            "this is not a valid attribute", node.position, required="integers in brackets, as in shape=[2, 3]"
        )
    return tuple(None if size == "?" else int(size) for size in sizes)


def is_writable_attribute(name: str, value: object) -> bool:
    """Whether the text form can write this value for an attribute of this name.

    Attributes are compared with `==`, so a NaN or an array would equal nothing. `int64` is a type or a dtype, depending
    on the attribute's name.
    """
    if isinstance(value, tuple):
        return all(size is None or (type(size) is int and -(10**18) < size < 10**18) for size in value)
    if type(value) is int:
        return wrap(value) == value
    if isinstance(value, Type | DType):
        return isinstance(value, Type) == (name in TYPE_ATTRIBUTES)
    if value is None:
        return name not in TYPE_ATTRIBUTES
    return value == value if type(value) is float else isinstance(value, bool | str)


def read_site(site: SiteSyntax, kind: str | None, owner: str) -> SiteOf | None:
    """The site in brackets; `kind` is the kind of the op's site, if it has one."""
    if site.name is None:
        return None
    if site.name.text == "@":
        return ENVIRONMENT
    function, name = read_qualified_name(site.name, owner)
    match site.kind.text if site.kind else kind:
        case "call":
            return SiteOf(function, name, "call")
        case "loop":
            return SiteOf(function, name, "loop")
    raise SyntaxFault("this op has no sites", site.name.position, hint="write the kind: [call f.g] or [loop f.g]")


class LocationResolver:
    """Finds the source line of each node: from `from` and `at`, or else the line in the text itself, if it is a
    file."""

    def __init__(self, file: str | None) -> None:
        self.text_file = file
        self.source_file: str | None = None

    def enter_source_file(self, statement: SourceFileSyntax) -> None:
        self.source_file = read_string(statement.file)

    def resolve(self, location: LocationSyntax | None, line: int) -> Location | None:
        if location is None:
            return DocumentLocation(self.text_file, line, self.text_file) if self.text_file is not None else None
        origin = read_string(location.file) if location.file else self.source_file
        if origin is None:
            hint = 'name it before, as in from "fib.py", or here: at "fib.py":12'
            raise SyntaxFault("the file of this line number is missing", location.position, hint=hint)
        return DocumentLocation(origin, location.line, self.text_file)


REGION_KEYWORDS = {"cond": ("then", "else"), "while_loop": ("while", "do")}
"""The keywords of the regions of an op."""


def build_function(node: syntax.FunctionSyntax, lines: LocationResolver) -> FunctionDef:
    """The function of this syntax; results without types have holes."""
    location = lines.resolve(node.location, node.body.keyword.position.line)
    body = build_region(node.body, lines, 0)
    results = tuple(map(read_type, node.result_types)) if node.result_types is not None else (HOLE,) * len(body.results)
    phases = [build_region(phase.body, lines, 0) for phase in node.pullbacks]
    pullback_types = tuple(map(_build_pullback_types, node.pullbacks))
    return FunctionDef(read_name(node.body.keyword), link_phases([body, *phases]), results, location, pullback_types)


def _build_pullback_types(phase: syntax.PullbackSyntax) -> tuple[Type, ...]:
    if phase.result_types is None:
        raise SyntaxFault(
            "the result types of a pullback are missing",
            phase.body.keyword.position,
            required="`->` and types, after the parentheses",
        )
    return tuple(map(read_type, phase.result_types))


def link_phases(phases: Sequence[Region]) -> Region:
    """The first of these regions, with the others as its further phases."""
    first_phase, *later_phases = phases
    return replace(first_phase, pullback=link_phases(later_phases)) if later_phases else first_phase


def build_region(region: syntax.RegionSyntax, lines: LocationResolver, depth: int) -> Region:
    """A region, or the body of a function, at nesting `depth`; its further phases are linked later."""
    if depth > MAX_NESTING:
        raise SyntaxFault("regions nest too deep", region.keyword.position, required=f"{MAX_NESTING} at most")
    nodes = []
    for statement in region.statements:
        if isinstance(statement, syntax.SourceFileSyntax):
            lines.enter_source_file(statement)
        else:
            nodes.append(build_program_node(statement, lines, depth))
    parameters = tuple(Var(read_name(name), build_declared_type(type_)) for name, type_ in region.parameters)
    return Region(parameters, tuple(nodes), tuple(map(build_operand, region.results)))


def build_declared_type(declared: syntax.SyntaxToken | None) -> Type:
    """The type of a name, or a hole where the text leaves it out."""
    return read_type(declared) if declared else HOLE


def build_program_node(node: syntax.NodeSyntax, lines: LocationResolver, depth: int) -> Node:
    """A node of a program, with its regions."""
    check_regions(node)
    location: Location | None = lines.resolve(node.location, node.op.position.line)
    callee_attribute = PULLBACK_TARGET if node.op.text == "pullback" else "function"
    attributes: list[tuple[str, object]] = [(callee_attribute, read_name(node.callee))] if node.callee else []
    attributes += [
        read_attribute(argument) for argument in node.arguments if isinstance(argument, syntax.AttributeSyntax)
    ]
    return Node(
        read_name(node.op),
        tuple(map(build_operand, operand_syntax(node.arguments))),
        tuple(Var(read_name(name), build_declared_type(type_)) for name, type_ in node.targets),
        tuple(
            link_phases([build_region(region, lines, depth + 1) for region in phases]) for phases in group_phases(node)
        ),
        tuple(attributes),
        location,
    )


def operand_syntax(
    arguments: Sequence[syntax.SyntaxToken | syntax.LiteralSyntax | syntax.AttributeSyntax],
) -> list[syntax.SyntaxToken | syntax.LiteralSyntax]:
    """The operands; raises SyntaxFault where one follows an attribute."""
    operands: list[syntax.SyntaxToken | syntax.LiteralSyntax] = []
    for number, argument in enumerate(arguments):
        if isinstance(argument, syntax.AttributeSyntax):
            continue
        if number > len(operands):
            raise SyntaxFault("operands come before attributes", argument.position)
        operands.append(argument)
    return operands


def build_operand(operand: syntax.SyntaxToken | syntax.LiteralSyntax) -> Operand:
    """A literal, or the name of a value."""
    return read_literal(operand) if isinstance(operand, syntax.LiteralSyntax) else read_name(operand)


def group_phases(node: syntax.NodeSyntax) -> list[list[syntax.RegionSyntax]]:
    """The regions of a node, each with the `pullback` regions that follow it."""
    groups: list[list[syntax.RegionSyntax]] = []
    for region in node.regions or ():
        if region.keyword.text == "pullback" and groups:
            groups[-1].append(region)
        else:
            groups.append([region])
    return groups


def check_regions(node: syntax.NodeSyntax) -> None:
    """Raises SyntaxFault unless the regions have the keywords of their op, or all have the keyword `region`, with which
    the text form can also write a wrong number of regions."""
    expected, op = REGION_KEYWORDS.get(node.op.text, ()), node.op
    if node.regions is None:
        if expected:
            hint = f"they follow it in braces: {{ {expected[0]}(...) {{ ... }} {expected[1]}(...) {{ ... }} }}"
            raise SyntaxFault(
                f"the regions of {op.text} are missing",
                op.position,
                required=f"`{expected[0]}` and `{expected[1]}`",
                hint=hint,
            )
        return
    keywords = [phases[0].keyword for phases in group_phases(node)]
    if tuple(keyword.text for keyword in keywords) == expected or all(keyword.text == "region" for keyword in keywords):
        return
    if not expected:
        raise SyntaxFault(
            f"{op.text} takes no regions", keywords[0].position, hint="only cond and while_loop have regions"
        )
    misplaced_keywords = [keyword for k, keyword in enumerate(keywords) if keyword.text not in expected[k : k + 1]]
    raise SyntaxFault(
        f"these are not the regions of {op.text}",
        (misplaced_keywords or [op])[0].position,
        required=f"`{expected[0]}` and `{expected[1]}`, in this order",
    )


TRIGGER_TYPE = Type(dtypes.bool)


def build_graph(graph: syntax.GraphSyntax, lines: LocationResolver) -> Graph:
    """The graph of this syntax; outputs without a type have holes."""
    return _GraphSyntaxBuilder(graph).build(lines)


class _GraphSyntaxBuilder:
    def __init__(self, graph: syntax.GraphSyntax) -> None:
        self.syntax = graph
        self.name = read_name(graph.name)
        self.node_syntax: list[syntax.GraphNodeSyntax] = [
            line for line in graph.statements if isinstance(line, syntax.GraphNodeSyntax)
        ]
        self.arguments = [(read_name(argument.name), self.argument_type(argument)) for argument in graph.arguments]
        self.argument_positions = {name: k for k, (name, _) in enumerate(self.arguments)}
        self.node_numbers: dict[tuple[str, str], int] = {}
        self.nodes: list[GraphNode] = []
        self.edges: dict[OutputRef, list[Edge]] = {}

    def build(self, lines: LocationResolver) -> Graph:
        self.number_nodes()
        hidden_flags = [argument.is_hidden for argument in self.syntax.arguments]
        if sorted(hidden_flags, reverse=True) != hidden_flags:
            raise SyntaxFault(
                "hidden arguments come first", self.syntax.arguments[hidden_flags.index(True)].name.position
            )
        calls = []
        for line in self.syntax.statements:
            match line:
                case syntax.SourceFileSyntax():
                    lines.enter_source_file(line)
                case syntax.SiteCallSyntax():
                    calls.append((self.build_site(line), read_name(line.callee)))
                case syntax.GraphNodeSyntax():
                    self.nodes.append(self.build_node(line, lines))
        results = self.build_results(lines)
        for number, line_node in enumerate(self.node_syntax):
            for port, sources in enumerate(self.port_syntax(line_node)):
                self.connect(Edge(number, port), sources)
        nodes = [
            replace(
                node,
                outputs=tuple(self.build_output(OutputRef(n, k), output.type) for k, output in enumerate(node.outputs)),
            )
            for n, node in enumerate(self.nodes)
        ]
        arguments = [
            (name, self.build_output(OutputRef(-1, k), type_)) for k, (name, type_) in enumerate(self.arguments)
        ]
        return Graph(self.name, tuple(nodes), tuple(arguments), tuple(results), tuple(calls), sum(hidden_flags))

    def argument_type(self, argument: syntax.ArgumentSyntax) -> Type:
        if argument.type is None and not argument.is_hidden:
            raise SyntaxFault(
                "the type of an argument is missing",
                argument.name.position,
                required=f"{argument.name.text}: int64, or another",
            )
        return read_type(argument.type) if argument.type else TRIGGER_TYPE

    def number_nodes(self) -> None:
        """Number all nodes first, since a node may be used before its line."""
        if len(self.argument_positions) < len(self.arguments):
            raise SyntaxFault("two arguments have the same name", self.syntax.name.position)
        for number, node in enumerate(self.node_syntax):
            key = read_qualified_name(node.name, self.name)
            if key in self.node_numbers:
                raise SyntaxFault("two nodes have the same name", node.name.position)
            if node.name.text in self.argument_positions:
                hint = f"call the node {self.name}.{node.name.text}"
                raise SyntaxFault("an argument already has this name", node.name.position, hint=hint)
            self.node_numbers[key] = number

    def build_site(self, line: syntax.SiteCallSyntax) -> SiteOf:
        site = read_site(line.site, "call", self.name)
        assert site is not None, "the grammar asks for its name"
        return site

    def build_node(self, node: syntax.GraphNodeSyntax, lines: LocationResolver) -> GraphNode:
        function, name = read_qualified_name(node.name, self.name)
        types = [HOLE] * count_outputs(node.op.text) if node.types is None else list(map(read_type, node.types))
        control = ALL_ROUTING_OPS.get(node.op.text)
        site = ENVIRONMENT if node.op.text == "return" else None
        if node.site is not None:
            site = read_site(node.site, control.site_kind if control else None, self.name)
        ports = tuple(self.build_literal(port) for port in self.port_syntax(node))
        outputs = tuple(NodeOutput(type_, ()) for type_ in types)
        attributes = tuple(read_attribute(port) for port in node.ports if isinstance(port, syntax.AttributeSyntax))
        location = lines.resolve(node.location, node.op.position.line)
        return GraphNode(
            name, read_name(node.op), ports, outputs, function, site, node.trigger is not None, attributes, location
        )

    def port_syntax(self, node: syntax.GraphNodeSyntax) -> list[syntax.PortSyntax]:
        """The ports; the trigger's comes last."""
        return [port for port in node.ports if not isinstance(port, syntax.AttributeSyntax)] + (node.trigger or [])

    def build_literal(self, port: syntax.PortSyntax) -> Literal | None:
        literals = [source for source in port if isinstance(source, syntax.LiteralSyntax)]
        if len(literals) > 1:
            raise SyntaxFault("a port has more than one literal", literals[1].position)
        return read_literal(literals[0]) if literals else None

    def connect(self, edge: Edge, sources: syntax.PortSyntax) -> None:
        for source in sources:
            if isinstance(source, syntax.OutputSyntax):
                self.edges.setdefault(self.resolve_source(source), []).append(edge)

    def resolve_source(self, output: syntax.OutputSyntax) -> OutputRef:
        """The argument or output that a name refers to."""
        argument = self.argument_positions.get(output.name.text)
        if argument is not None:
            outputs, source = 1, OutputRef(-1, argument)
        else:
            number = self.node_numbers.get(read_qualified_name(output.name, self.name))
            if number is None:
                raise self.unknown_name_fault(output.name)
            outputs, source = len(self.nodes[number].outputs), OutputRef(number, output.output or 0)
        if output.output is None and outputs > 1:
            hint = f"write {output.name.text}:0, or another"
            raise SyntaxFault(f"{output.name.text} has {outputs} outputs", output.name.position, hint=hint)
        if not outputs:
            hint = "a store has no result: use the handle that it takes"
            raise SyntaxFault(f"{output.name.text} has no output", output.name.position, hint=hint)
        if (output.output or 0) >= outputs:
            raise SyntaxFault(
                f"there is no such output of {output.name.text}", output.name.position, required=f"{outputs} at most"
            )
        return source

    def unknown_name_fault(self, token: syntax.SyntaxToken) -> SyntaxFault:
        hint = hints.suggest_name(token.text, [*self.argument_positions, *(name for _, name in self.node_numbers)])
        if any(name == token.text for _, name in self.node_numbers):
            hint = f"write {next(f for f, name in self.node_numbers if name == token.text)}.{token.text}"
        return SyntaxFault(f"{token.text} is not defined", token.position, required="an argument, or a node", hint=hint)

    def build_results(self, lines: LocationResolver) -> list[int]:
        """The node numbers of the results. `return` adds a return node for each that is not one already."""
        line = self.syntax.return_line
        types = None if self.syntax.result_types is None else list(map(read_type, self.syntax.result_types))
        if types is not None and len(types) != len(line.outputs):
            raise SyntaxFault(
                "the numbers of results and of their types differ",
                line.keyword.position,
                required=plural(len(types), "result"),
                got=plural(len(line.outputs), "result"),
            )
        if line.keyword.text == "results":
            return [self.resolve_result(output) for output in line.outputs]
        written_nodes, numbers = list(self.nodes), []
        for k, output in enumerate(line.outputs):
            source = self.resolve_source(output)
            node = written_nodes[source.node] if source.node >= 0 else None
            if node is not None and (node.op, node.site) == ("return", ENVIRONMENT):
                numbers.append(source.node)
                continue
            numbers.append(len(self.nodes))
            self.connect(Edge(len(self.nodes), 0), [output])
            outputs = (NodeOutput(types[k] if types else HOLE, ()),)
            location = lines.resolve(self.syntax.location, line.keyword.position.line)
            self.nodes.append(
                GraphNode(
                    self.unique_return_name(), "return", (None,), outputs, self.name, ENVIRONMENT, False, (), location
                ),
            )
        return numbers

    def resolve_result(self, output: syntax.OutputSyntax) -> int:
        number = self.node_numbers.get(read_qualified_name(output.name, self.name))
        if number is None:
            raise self.unknown_name_fault(output.name)
        return number

    def unique_return_name(self) -> str:
        return unique_return_name(node.name for node in self.nodes if node.function == self.name)

    def build_output(self, source: OutputRef, type_: Type) -> NodeOutput:
        return NodeOutput(type_, tuple(sorted(self.edges.get(source, ()))))


def unique_return_name(names: Iterable[str]) -> str:
    """The name of a return node that a `return` line adds to nodes of these names."""
    return unique_name("", "return", set(names))
