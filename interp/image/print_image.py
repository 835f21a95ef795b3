"""The printed form of an image: its arrays as columns, with names where numbers stand for something.

A word of a frame is written w7, a word of memory m5; what a literal is stands behind its word. `token` is the operand
that came last, wherever it came to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...core.value import show
from .image import NODE, PORT, SCOPE, SCRATCH, SITE, VERSION, Header, Image, Words, is_boxed, value_of
from .opcodes import CASTS, FIRST, Code, arms

_KEY = 2**64 - 1


def text(image: Image) -> str:
    """An image as people read it; equal images are printed alike, and this form changes only with VERSION.

    >>> from tagloom.core.dtypes import int64
    >>> from tagloom.core.graph.graph import Builder
    >>> from tagloom.core.types import Type
    >>> from tagloom.interp.image.build import image
    >>> builder = Builder("twice")
    >>> x = builder.argument("x", Type(int64))
    >>> made = text(image(builder.build(builder.node("add", "y", [x, x], [Type(int64)]))))
    >>> print(made.partition(",")[0])
    image of twice
    """
    count = f"{len(image.graph.nodes)} nodes, {len(image.ports)} ports, frames with {image.header} words of header"
    options = [word for word, is_so in (("keyed", image.is_keyed), ("bounded", image.is_bounded)) if is_so]
    head = ", ".join([f"image of {image.graph.name}, version {VERSION}: {count}", *options])
    header = "header: " + ", ".join(f"w{word} {word.name.lower()}" for word in Header if word < image.header)
    parts = [_scopes(image), _sites(image), _nodes(image), _ports(image), _literals(image), _arguments(image)]
    return "\n\n".join([f"{head}\n{header}", *("\n".join(_aligned(part)) for part in parts)]) + "\n"


def _scopes(image: Image) -> Iterator[tuple[str, ...]]:
    yield "scope", "size", "clear below"
    for scope, row in zip(image.scope_list, image.scopes, strict=True):
        yield str(scope), str(row[SCOPE.SIZE]), f"w{row[SCOPE.CLEAR]}"


def _sites(image: Image) -> Iterator[tuple[str, ...]]:
    yield "site", "scope", "coming", "leaving", "bound", "key"
    for site, row in zip(image.site_list, image.sites, strict=True):
        counts = (str(row[column]) for column in (SITE.COMING, SITE.LEAVING, SITE.BOUND))
        yield str(site), str(image.scope_list[row[SITE.SCOPE]]), *counts, f"{int(row[SITE.KEY]) & _KEY:016x}"


def _nodes(image: Image) -> Iterator[tuple[str, ...]]:
    yield "node", "scope", "does", "needs", "bits", "full", "fired", "site", "knows", "boxed", "sends", "and"
    scopes = {
        number: str(scope)
        for scope, members in zip(image.scope_list, image.members, strict=True)
        for number in members.tolist()
    }
    for number, row in enumerate(image.nodes):
        place = f"w{row[NODE.PLACE]}" if row[NODE.PLACE] else "-"
        bits = f"w{row[NODE.STATE]}", _bits(int(row[NODE.FULL])), _bits(int(row[NODE.FIRED]))
        known = _site(image, row), place, _boxed(int(row[NODE.BOXED]))
        called = str(image.graph.nodes[number]), scopes[number], _does(row), str(row[NODE.NEEDS])
        yield *called, *bits, *known, _sent(image, row, 0), _sent(image, row, 1)


def _does(row: Words) -> str:
    code = int(row[NODE.CODE])
    said = Code(code).name.lower() if code < FIRST else str(arms()[code - FIRST])
    return f"{said}, as {CASTS[row[NODE.CAST]]!r}" if row[NODE.CAST] else said


def _bits(bits: int) -> str:
    return ",".join(str(bit) for bit in range(64) if bits >> bit & 1) or "-"


def _site(image: Image, row: Words) -> str:
    if row[NODE.CODE] == Code.RESULT:
        return f"result {row[NODE.SITE]}"
    bound = f", {row[NODE.BOUND]} at once" if row[NODE.BOUND] else ""
    return f"{image.site_list[row[NODE.SITE]]}{bound}" if row[NODE.SITE] >= 0 else "-"


def _boxed(flags: int) -> str:
    return ",".join(word for bit, word in ((1, "output"), (2, "trigger"), (4, "literal")) if flags & bit) or "-"


def _sent(image: Image, row: Words, output: int) -> str:
    """Where an output goes: all its ports, or those by the site on top of the tag (S10)."""
    begin, end = (row[NODE.FIRST], row[NODE.SECOND]) if output == 0 else (row[NODE.SECOND], row[NODE.END])
    route = int(row[NODE.ROUTE_SECOND if output else NODE.ROUTE])
    if route < 0:
        return _targets(image, int(begin), int(end))
    ways = zip(image.site_list, image.routes[route : route + len(image.site_list)].tolist(), strict=True)
    return "; ".join(f"{site}: {_targets(image, *way)}" for site, way in ways if way[1] > way[0]) or "-"


def _targets(image: Image, begin: int, end: int) -> str:
    return " ".join(_port(image, int(port)) for port in image.edges[begin:end]) or "-"


def _port(image: Image, port: int) -> str:
    number = int(image.ports[port, PORT.NODE])
    return f"{image.graph.nodes[number]}:{port - image.first_port[number]}"


def _ports(image: Image) -> Iterator[tuple[str, ...]]:
    yield "port", "type", "bit", "waits", "operands, where this port's token comes last"
    for number, row in enumerate(image.ports):
        wait = f"w{row[PORT.WAIT]}" if row[PORT.BIT] else "-"
        node = image.graph.nodes[row[PORT.NODE]]
        columns = (PORT.A, PORT.B, PORT.C)[: 1 if node.op == "merge" else len(node.ports)]
        places = " ".join(_place(int(row[column])) for column in columns)
        yield _port(image, number), str(image.port_types[number]), _bits(int(row[PORT.BIT])), wait, places


def _place(place: int) -> str:
    if place >= 0:
        return f"w{place}"
    return "token" if ~place == SCRATCH else f"m{~place}"


def _literals(image: Image) -> Iterator[tuple[str, ...]]:
    """In the order of their words of memory, which is that of their ports."""
    yield "literal", "port", "type", "value"
    literals = (
        image.first_port[number] + port
        for number, node in enumerate(image.graph.nodes)
        for port, literal in enumerate(node.ports)
        if literal is not None
    )
    for word, port in enumerate(literals, start=SCRATCH + 1):
        type_, bits = image.port_types[port], int(image.literals[word])
        value = image.objects[bits] if is_boxed(type_) else value_of(bits, type_.dtype)
        yield f"m{word}", _port(image, port), str(type_), show(value)


def _arguments(image: Image) -> Iterator[tuple[str, ...]]:
    yield "argument", "goes to"
    for (name, _), ports in zip(image.graph.arguments, image.arguments, strict=True):
        yield name, " ".join(_port(image, port) for port in ports) or "-"


def _aligned(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Rows in columns."""
    every = list(rows)
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    for row in every:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
