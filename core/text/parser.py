"""The parser: text to syntax. Only this module knows the parser library, which is loaded when a text is first read."""

from __future__ import annotations

import functools
import re
from importlib.resources import files
from typing import Any, NamedTuple

from lark import Lark, Token, Transformer, UnexpectedInput, UnexpectedToken

from .fault import START, SourcePosition, SyntaxFault, unexpected_input
from .syntax import (
    ArgumentSyntax,
    AttributeSyntax,
    CaseSyntax,
    EntrySyntax,
    ExpectationSyntax,
    FunctionSyntax,
    GraphNodeSyntax,
    GraphSyntax,
    LiteralSyntax,
    LocationSyntax,
    NodeSyntax,
    OutputSyntax,
    PortSyntax,
    PullbackSyntax,
    RegionSyntax,
    ReturnSyntax,
    SiteCallSyntax,
    SiteSyntax,
    SourceFileSyntax,
    SyntaxToken,
    TypedNameSyntax,
)

MAX_BRACKET_DEPTH = 64
"""The maximal number of axes of an array."""


def parse_syntax(text: str) -> list[Any]:
    """The functions, graphs, cases and other statements of a text, in order; raises SyntaxFault."""
    try:
        document: list[Any] = _parser().parse(text)  # type: ignore[assignment]
    except UnexpectedInput as error:
        raise _input_fault(text, error) from None
    return document


@functools.cache
def _parser() -> Lark:
    return load_grammar(__package__, "document", _SyntaxTransformer())


def load_grammar(package: str, start: str, transformer: Transformer[Token, Any]) -> Lark:
    """The LALR parser of the `grammar.lark` of a package; the transformer is applied while it parses."""
    grammar = files(package).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, start=start, parser="lalr", transformer=transformer, maybe_placeholders=False)


class UnexpectedText(NamedTuple):
    """Text that a grammar does not accept at its position."""

    text: str
    terminal: str | None
    """The terminal that matches it, `$END` at the end of the text; None if none does."""
    position: SourcePosition
    expected_terminals: set[str]


def unexpected_text(text: str, error: UnexpectedInput) -> UnexpectedText:
    """The part of a text at which its parser raised this error."""
    if isinstance(error, UnexpectedToken):
        token = error.token
        position = START.after(text) if token.type == "$END" else token_position(token)
        return UnexpectedText(str(token), token.type, position, set(error.accepts or ()) or set(error.expected))
    letter = text[error.pos_in_stream] if error.pos_in_stream is not None else ""
    return UnexpectedText(
        letter, None, SourcePosition(error.line, error.column), set(getattr(error, "allowed", None) or ())
    )


def _input_fault(text: str, error: UnexpectedInput) -> SyntaxFault:
    word, terminal, position, terminals = unexpected_text(text, error)
    if terminal == "$END":
        return _unexpected_end(text, terminals)
    before = text.split("\n")[position.line - 1][: position.column - 1]
    return unexpected_input(terminals, word, position, before)


def _unexpected_end(text: str, accepts: set[str]) -> SyntaxFault:
    """The fault of an unexpected end of the text: at the last open brace, if there is one."""
    open_braces: list[int] = []
    for match in re.finditer(r'"(?:[^"\\\n]|\\.)*"|#[^\n]*|[{}]', text):
        if match[0] == "{":
            open_braces.append(match.start())
        elif match[0] == "}" and open_braces:
            open_braces.pop()
    if not open_braces:
        return unexpected_input(accepts, "", SourcePosition(text.count("\n"), 1))
    line = text.count("\n", 0, open_braces[-1]) + 1
    return SyntaxFault(
        "this brace is not closed",
        SourcePosition(line, open_braces[-1] - text.rfind("\n", 0, open_braces[-1])),
        required="`}`",
    )


def token_position(token: Token) -> SourcePosition:
    """The position where a token begins."""
    return SourcePosition(token.line or 1, token.column or 1)


def _syntax_token(token: Token) -> SyntaxToken:
    return SyntaxToken(str(token), token_position(token))


def _syntax_tokens(children: list[Any], *kinds: str) -> list[SyntaxToken]:
    """The tokens of these kinds among the children of a rule; all tokens where no kind is named."""
    return [
        _syntax_token(child) for child in children if isinstance(child, Token) and (not kinds or child.type in kinds)
    ]


def _children_of_type(children: list[Any], kind: Any) -> list[Any]:
    return [child for child in children if isinstance(child, kind)]


def _first_child_of_type(children: list[Any], kind: Any) -> Any:
    return next((child for child in children if isinstance(child, kind)), None)


def _convert_tokens(children: list[Any]) -> list[Any]:
    """The children of a rule, with parser tokens converted."""
    return [_syntax_token(child) if isinstance(child, Token) else child for child in children]


class _RuleResult(list[Any]):
    """The children of an inner rule, for the rule around it."""

    def __init__(self, rule: str, items: list[Any]) -> None:
        super().__init__(items)
        self.rule = rule


def _rule_result(children: list[Any], rule: str) -> list[Any]:
    return next(child for child in children if isinstance(child, _RuleResult) and child.rule == rule)


class _SyntaxTransformer(Transformer[Token, Any]):
    """Turns each rule into syntax as soon as it is complete: one method per rule of the grammar."""

    def document(self, children: list[Any]) -> list[Any]:
        return children

    def entry(self, children: list[Any]) -> EntrySyntax:
        return EntrySyntax(*_syntax_tokens(children, "NAME"))

    def source_file(self, children: list[Any]) -> SourceFileSyntax:
        return SourceFileSyntax(*_syntax_tokens(children, "STRING"))

    def location(self, children: list[Any]) -> LocationSyntax:
        file, (line,) = _syntax_tokens(children, "STRING"), _syntax_tokens(children, "INT")
        return LocationSyntax(file[0] if file else None, int(line.text), token_position(children[0]))

    def function(self, children: list[Any]) -> FunctionSyntax:
        (name,) = _syntax_tokens(children, "NAME")
        nodes = _children_of_type(children, (NodeSyntax, SourceFileSyntax))
        body = RegionSyntax(name, _rule_result(children, "parameters"), nodes, _rule_result(children, "operands"))
        return FunctionSyntax(
            body,
            _first_child_of_type(children, _ResultTypes).types,
            _first_child_of_type(children, LocationSyntax),
            _children_of_type(children, PullbackSyntax),
        )

    def phase(self, children: list[Any]) -> PullbackSyntax:
        (word,), nodes = (
            _syntax_tokens(children, "PULLBACK"),
            _children_of_type(children, (NodeSyntax, SourceFileSyntax)),
        )
        body = RegionSyntax(word, _rule_result(children, "parameters"), nodes, _rule_result(children, "operands"))
        return PullbackSyntax(body, _first_child_of_type(children, _ResultTypes).types)

    def parameters(self, children: list[Any]) -> _RuleResult:
        return _RuleResult("parameters", children)

    def parameter(self, children: list[Any]) -> TypedNameSyntax:
        return TypedNameSyntax(*_syntax_tokens(children))

    def target(self, children: list[Any]) -> TypedNameSyntax:
        name, *types = _syntax_tokens(children)
        return TypedNameSyntax(name, types[0] if types else None)

    def targets(self, children: list[Any]) -> _RuleResult:
        return _RuleResult("targets", children)

    def result_types(self, children: list[Any]) -> _ResultTypes:
        return _ResultTypes(_syntax_tokens(children, "TYPE") if children else None)

    def node(self, children: list[Any]) -> NodeSyntax:
        names = _syntax_tokens(children, "NAME")
        calls = _syntax_tokens(children, "CALL", "PULLBACK")
        op, callee = (calls[0], names[0]) if calls else (names[0], None)
        block = _first_child_of_type(children, _RegionBlock)
        location = block.location if block else _first_child_of_type(children, LocationSyntax)
        arguments = _rule_result(children, "arguments")
        return NodeSyntax(
            _rule_result(children, "targets"), op, callee, arguments, block.regions if block else None, location
        )

    def block(self, children: list[Any]) -> _RegionBlock:
        return _RegionBlock(_children_of_type(children, RegionSyntax), _first_child_of_type(children, LocationSyntax))

    def region(self, children: list[Any]) -> RegionSyntax:
        (word,) = _syntax_tokens(children, "NAME")
        nodes = _children_of_type(children, (NodeSyntax, SourceFileSyntax))
        return RegionSyntax(word, _rule_result(children, "parameters"), nodes, _rule_result(children, "operands"))

    def operands(self, children: list[Any]) -> _RuleResult:
        return _RuleResult("operands", _convert_tokens(children))

    def arguments(self, children: list[Any]) -> _RuleResult:
        return _RuleResult("arguments", _convert_tokens(children))

    def attribute(self, children: list[Any]) -> AttributeSyntax:
        name, value = _convert_tokens(children)
        return AttributeSyntax(SyntaxToken(name.text.rstrip("= \t"), name.position), value)

    def graph(self, children: list[Any]) -> GraphSyntax:
        (name,) = _syntax_tokens(children, "NAME")
        lines = _children_of_type(children, (GraphNodeSyntax, SiteCallSyntax, SourceFileSyntax))
        results = _first_child_of_type(children, _ResultTypes).types
        return GraphSyntax(
            name,
            _children_of_type(children, ArgumentSyntax),
            results,
            lines,
            _first_child_of_type(children, ReturnSyntax),
            _first_child_of_type(children, LocationSyntax),
        )

    def argument(self, children: list[Any]) -> ArgumentSyntax:
        types = _syntax_tokens(children, "TYPE")
        (name,) = _syntax_tokens(children, "NAME")
        return ArgumentSyntax(bool(_syntax_tokens(children, "MARK")), name, types[0] if types else None)

    def site_line(self, children: list[Any]) -> SiteCallSyntax:
        return SiteCallSyntax(self.site(children), *_syntax_tokens(children, "NAME"))

    def site(self, children: list[Any]) -> SiteSyntax:
        kinds, names = _syntax_tokens(children, "KIND"), _syntax_tokens(children, "DOTTED", "MARK")
        return SiteSyntax(kinds[0] if kinds else None, names[0] if names else None)

    def graph_node(self, children: list[Any]) -> GraphNodeSyntax:
        (name,), (op,) = _syntax_tokens(children, "DOTTED"), _syntax_tokens(children, "NAME", "OPENING")
        types, trigger = (
            _first_child_of_type(children, _ResultTypes).types,
            _first_child_of_type(children, _TriggerPorts),
        )
        op = SyntaxToken(op.text.removesuffix("["), op.position)
        location, ports = _first_child_of_type(children, LocationSyntax), _rule_result(children, "ports")
        return GraphNodeSyntax(
            name,
            types,
            op,
            _first_child_of_type(children, SiteSyntax),
            ports,
            trigger.ports if trigger else None,
            location,
        )

    def output_types(self, children: list[Any]) -> _ResultTypes:
        return _ResultTypes(_syntax_tokens(children, "TYPE") if children else None)

    def ports(self, children: list[Any]) -> _RuleResult:
        return _RuleResult("ports", children)

    def port(self, children: list[Any]) -> PortSyntax:
        return _children_of_type(children, (OutputSyntax, LiteralSyntax))

    def output(self, children: list[Any]) -> OutputSyntax:
        (name,), numbers = _syntax_tokens(children, "DOTTED"), _syntax_tokens(children, "INT")
        return OutputSyntax(name, int(numbers[0].text) if numbers else None)

    def trigger(self, children: list[Any]) -> _TriggerPorts:
        return _TriggerPorts(_children_of_type(children, list))

    def return_line(self, children: list[Any]) -> ReturnSyntax:
        return ReturnSyntax(_syntax_token(children[0]), _children_of_type(children, OutputSyntax))

    def case(self, children: list[Any]) -> CaseSyntax:
        (name,), numbers = _syntax_tokens(children, "NAME"), _syntax_tokens(children, "INT")
        firings = int(numbers[0].text) if numbers else None
        return CaseSyntax(
            name,
            list(_first_child_of_type(children, _RuleResult) or ()),
            _first_child_of_type(children, ExpectationSyntax),
            firings,
        )

    def literals(self, children: list[Any]) -> _RuleResult:
        return _RuleResult("literals", children)

    def expectation(self, children: list[Any]) -> ExpectationSyntax:
        word, *details = _convert_tokens(children)
        return ExpectationSyntax(word, list(details[0]) if details and isinstance(details[0], _RuleResult) else details)

    def literal(self, children: list[Any]) -> LiteralSyntax:
        """A type prefix with at most one literal in its parentheses, or just a literal."""
        prefix, *content = _convert_tokens(children)
        if isinstance(children[0], Token) and children[0].type == "TYPED":
            return LiteralSyntax(f"{prefix.text}{content[0].text if content else ''})", prefix.position)
        return LiteralSyntax(prefix.text, prefix.position)

    def array(self, children: list[Any]) -> LiteralSyntax:
        opening, *elements = _convert_tokens(children)
        depth = 1 + max((element.depth for element in elements if isinstance(element, LiteralSyntax)), default=0)
        if depth > MAX_BRACKET_DEPTH:
            raise SyntaxFault(
                "brackets nest too deep", opening.position, required=f"{MAX_BRACKET_DEPTH} at most, as in arrays"
            )
        return LiteralSyntax(f"[{', '.join(element.text for element in elements)}]", opening.position, depth)


class _ResultTypes(NamedTuple):
    types: list[SyntaxToken] | None


class _RegionBlock(NamedTuple):
    regions: list[RegionSyntax]
    location: LocationSyntax | None


class _TriggerPorts(NamedTuple):
    ports: list[PortSyntax]
