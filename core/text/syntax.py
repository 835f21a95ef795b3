"""Syntax: what a text says, as data that knows where it stands, before it means anything."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from .fault import Spot


class Word(NamedTuple):
    """A word and where it begins."""

    text: str
    spot: Spot


class Written(NamedTuple):
    """A literal as it is written, with one space after each comma; `depth` counts its brackets."""

    text: str
    spot: Spot
    depth: int = 0


class At(NamedTuple):
    """`at 12`, `at "file":12`."""

    file: Word | None
    line: int
    spot: Spot


class From(NamedTuple):
    file: Word


class Attribute(NamedTuple):
    name: Word
    value: Word | Written


class Typed(NamedTuple):
    """A name, and its type where it says one."""

    name: Word
    type: Word | None


class Region(NamedTuple):
    """`then(...) { ... yield ... }`; of a function, too, whose word is its name."""

    word: Word
    parameters: list[Typed]
    nodes: list[Any]
    results: list[Word | Written]


class Node(NamedTuple):
    targets: list[Typed]
    op: Word
    callee: Word | None
    arguments: list[Word | Written | Attribute]
    regions: list[Region] | None
    at: At | None


class Phase(NamedTuple):
    """`pullback(...) -> ... { ... return ... }` behind a function."""

    body: Region
    results: list[Word] | None


class Function(NamedTuple):
    body: Region
    results: list[Word] | None
    at: At | None
    phases: list[Phase]


class Output(NamedTuple):
    """`name`, `name:1`."""

    name: Word
    output: int | None


class Site(NamedTuple):
    """What stands in the brackets behind an op: `name` is None where nothing does, `@` for the environment."""

    kind: Word | None
    name: Word | None


class SiteLine(NamedTuple):
    site: Site
    callee: Word


Port: TypeAlias = list[Output | Written]


class GraphNode(NamedTuple):
    name: Word
    types: list[Word] | None
    op: Word
    site: Site | None
    ports: list[Port | Attribute]
    trigger: list[Port] | None
    at: At | None


class Argument(NamedTuple):
    hidden: bool
    name: Word
    type: Word | None


class Leaving(NamedTuple):
    word: Word
    outputs: list[Output]


class Graph(NamedTuple):
    name: Word
    arguments: list[Argument]
    results: list[Word] | None
    lines: list[Any]
    leaving: Leaving
    at: At | None


class Ending(NamedTuple):
    word: Word
    details: list[Word | Written]


class Case(NamedTuple):
    name: Word
    arguments: list[Written]
    ending: Ending
    firings: int | None


class Entry(NamedTuple):
    name: Word
