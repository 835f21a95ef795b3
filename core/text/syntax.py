"""Syntax nodes: the parsed text as data with positions, before names and types are resolved."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from .fault import SourcePosition


class SyntaxToken(NamedTuple):
    """A token and its position."""

    text: str
    position: SourcePosition


class LiteralSyntax(NamedTuple):
    """A literal as text, with one space after each comma; `depth` is the nesting of its brackets."""

    text: str
    position: SourcePosition
    depth: int = 0


class LocationSyntax(NamedTuple):
    """`at 12`, `at "file":12`."""

    file: SyntaxToken | None
    line: int
    position: SourcePosition


class SourceFileSyntax(NamedTuple):
    file: SyntaxToken


class AttributeSyntax(NamedTuple):
    name: SyntaxToken
    value: SyntaxToken | LiteralSyntax


class TypedNameSyntax(NamedTuple):
    """A name, and its type if one is given."""

    name: SyntaxToken
    type: SyntaxToken | None


class RegionSyntax(NamedTuple):
    """`then(...) { ... yield ... }`; also the body of a function, whose keyword is its name."""

    keyword: SyntaxToken
    parameters: list[TypedNameSyntax]
    statements: list[Any]
    results: list[SyntaxToken | LiteralSyntax]


class NodeSyntax(NamedTuple):
    targets: list[TypedNameSyntax]
    op: SyntaxToken
    callee: SyntaxToken | None
    arguments: list[SyntaxToken | LiteralSyntax | AttributeSyntax]
    regions: list[RegionSyntax] | None
    location: LocationSyntax | None


class PullbackSyntax(NamedTuple):
    """`pullback(...) -> ... { ... return ... }`, which follows a function."""

    body: RegionSyntax
    result_types: list[SyntaxToken] | None


class FunctionSyntax(NamedTuple):
    body: RegionSyntax
    result_types: list[SyntaxToken] | None
    location: LocationSyntax | None
    pullbacks: list[PullbackSyntax]


class OutputSyntax(NamedTuple):
    """`name`, `name:1`."""

    name: SyntaxToken
    output: int | None


class SiteSyntax(NamedTuple):
    """The brackets behind an op: `name` is None for empty ones, and `@` for the environment."""

    kind: SyntaxToken | None
    name: SyntaxToken | None


class SiteCallSyntax(NamedTuple):
    site: SiteSyntax
    callee: SyntaxToken


PortSyntax: TypeAlias = list[OutputSyntax | LiteralSyntax]


class GraphNodeSyntax(NamedTuple):
    name: SyntaxToken
    types: list[SyntaxToken] | None
    op: SyntaxToken
    site: SiteSyntax | None
    ports: list[PortSyntax | AttributeSyntax]
    trigger: list[PortSyntax] | None
    location: LocationSyntax | None


class ArgumentSyntax(NamedTuple):
    is_hidden: bool
    name: SyntaxToken
    type: SyntaxToken | None


class ReturnSyntax(NamedTuple):
    keyword: SyntaxToken
    outputs: list[OutputSyntax]


class GraphSyntax(NamedTuple):
    name: SyntaxToken
    arguments: list[ArgumentSyntax]
    result_types: list[SyntaxToken] | None
    statements: list[Any]
    return_line: ReturnSyntax
    location: LocationSyntax | None


class ExpectationSyntax(NamedTuple):
    keyword: SyntaxToken
    details: list[SyntaxToken | LiteralSyntax]


class CaseSyntax(NamedTuple):
    name: SyntaxToken
    arguments: list[LiteralSyntax]
    expectation: ExpectationSyntax
    firings: int | None


class EntrySyntax(NamedTuple):
    name: SyntaxToken
