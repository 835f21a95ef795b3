"""The printed form of an image: its arrays as columns, with names instead of numbers where possible.

`w7` is a word of a frame, `m5` a word of memory, and `token` the operand that arrived last, at any port. Literals are
listed by their words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...core.value import format_value
from .image import (
    IMAGE_VERSION,
    SCRATCH_WORD,
    FrameHeader,
    Image,
    NodeColumn,
    PortColumn,
    ScopeColumn,
    SiteColumn,
    WordArray,
    decode_word,
    is_boxed,
)
from .opcodes import CAST_DTYPES, FIRST_KERNEL, Opcode, scalar_kernels

_KEY_MASK = 2**64 - 1


def format_image(image: Image) -> str:
    """An image as readable text, for people: nothing reads it back. Equal images print equally.

    >>> from tagloom.core.dtypes import int64
    >>> from tagloom.core.graph.graph import GraphBuilder
    >>> from tagloom.core.types import Type
    >>> from tagloom.interp.image.image import build_image
    >>> builder = GraphBuilder("twice")
    >>> x = builder.argument("x", Type(int64))
    >>> text = format_image(build_image(builder.build(builder.node("add", "y", [x, x], [Type(int64)]))))
    >>> print(text.partition(",")[0])
    image of twice
    """
    count = (
        f"{len(image.graph.nodes)} nodes, {len(image.ports)} ports, frames with {image.header_words} words of header"
    )
    options = ["tag keys"] * image.has_tag_keys + ["loop bounds"] * image.has_loop_bounds
    head = ", ".join([f"image of {image.graph.name}, version {IMAGE_VERSION}: {count}", *options])
    header = "header: " + ", ".join(f"w{word} {word.name.lower()}" for word in FrameHeader if word < image.header_words)
    parts = [
        scope_rows(image),
        site_rows(image),
        node_rows(image),
        port_rows(image),
        literal_rows(image),
        argument_rows(image),
    ]
    return "\n\n".join([f"{head}\n{header}", *("\n".join(align_columns(part)) for part in parts)]) + "\n"


def scope_rows(image: Image) -> Iterator[tuple[str, ...]]:
    """The rows of scopes, after a header row; so for the functions below."""
    yield "scope", "words", "zeroed below"
    for scope, row in zip(image.scope_list, image.scopes, strict=True):
        yield str(scope), str(row[ScopeColumn.SIZE]), f"w{row[ScopeColumn.CLEAR_END]}"


def site_rows(image: Image) -> Iterator[tuple[str, ...]]:
    """The rows of sites."""
    yield "site", "scope", "arguments", "results", "bound", "key"
    for site, row in zip(image.site_list, image.sites, strict=True):
        counts = (str(row[column]) for column in (SiteColumn.ARGUMENTS, SiteColumn.RESULTS, SiteColumn.BOUND))
        yield (
            str(site),
            str(image.scope_list[row[SiteColumn.SCOPE]]),
            *counts,
            f"{int(row[SiteColumn.KEY]) & _KEY_MASK:016x}",
        )


def node_rows(image: Image) -> Iterator[tuple[str, ...]]:
    """The rows of nodes. `tokens` is how many it fires on; `bits` is the word of the frame with the bits of its waiting
    `operands` and the bit that says that it has `fired`; `child` is the word for the activation that it sends to."""
    yield (
        *("node", "scope", "opcode", "tokens", "bits", "operands", "fired"),
        *("site", "child", "boxed", "output 0", "output 1"),
    )
    scopes = {
        number: str(scope)
        for scope, members in zip(image.scope_list, image.scope_members, strict=True)
        for number in members.tolist()
    }
    for number, row in enumerate(image.nodes):
        child_word = f"w{row[NodeColumn.CHILD_WORD]}" if row[NodeColumn.CHILD_WORD] else "-"
        bits = (
            f"w{row[NodeColumn.MASK_WORD]}",
            _format_bits(int(row[NodeColumn.OPERAND_MASK])),
            _format_bits(int(row[NodeColumn.FIRED_BIT])),
        )
        links = describe_site(image, row), child_word, _describe_boxed(int(row[NodeColumn.BOXED_FLAGS]))
        node = (
            str(image.graph.nodes[number]),
            scopes[number],
            describe_opcode(row),
            str(row[NodeColumn.REQUIRED_TOKENS]),
        )
        yield *node, *bits, *links, describe_targets(image, row, 0), describe_targets(image, row, 1)


def describe_opcode(row: WordArray) -> str:
    """A node's opcode in words, with the dtype that its result is cast to."""
    code = int(row[NodeColumn.CODE])
    name = Opcode(code).name.lower() if code < FIRST_KERNEL else str(scalar_kernels()[code - FIRST_KERNEL])
    return f"{name}, as {CAST_DTYPES[row[NodeColumn.CAST]]!r}" if row[NodeColumn.CAST] else name


def _format_bits(bits: int) -> str:
    return ",".join(str(bit) for bit in range(64) if bits >> bit & 1) or "-"


def describe_site(image: Image, row: WordArray) -> str:
    """The site of a node, with its bound; for a node that makes a result, the position of the result."""
    if row[NodeColumn.CODE] == Opcode.RESULT:
        return f"result {row[NodeColumn.SITE]}"
    bound = f", bound {row[NodeColumn.BOUND]}" if row[NodeColumn.BOUND] else ""
    return f"{image.site_list[row[NodeColumn.SITE]]}{bound}" if row[NodeColumn.SITE] >= 0 else "-"


def _describe_boxed(flags: int) -> str:
    return ",".join(word for bit, word in ((1, "output"), (2, "trigger"), (4, "literal")) if flags & bit) or "-"


def describe_targets(image: Image, row: WordArray, output: int) -> str:
    """The targets of an output: all its ports, or those by the site on top of the tag (S10)."""
    begin, end = (
        (row[NodeColumn.EDGES_BEGIN], row[NodeColumn.SECOND_EDGES_BEGIN])
        if output == 0
        else (row[NodeColumn.SECOND_EDGES_BEGIN], row[NodeColumn.EDGES_END])
    )
    route = int(row[NodeColumn.ROUTE_SECOND if output else NodeColumn.ROUTE])
    if route < 0:
        return _format_ports(image, int(begin), int(end))
    ranges = zip(image.site_list, image.routes[route : route + len(image.site_list)].tolist(), strict=True)
    return (
        "; ".join(f"{site}: {_format_ports(image, *range_)}" for site, range_ in ranges if range_[1] > range_[0]) or "-"
    )


def _format_ports(image: Image, begin: int, end: int) -> str:
    return " ".join(_format_port(image, int(port)) for port in image.edges[begin:end]) or "-"


def _format_port(image: Image, port: int) -> str:
    number = int(image.ports[port, PortColumn.NODE])
    return f"{image.graph.nodes[number]}:{port - image.first_port[number]}"


def port_rows(image: Image) -> Iterator[tuple[str, ...]]:
    """The rows of ports."""
    yield "port", "type", "bit", "word", "operands if its token arrives last"
    for number, row in enumerate(image.ports):
        word = f"w{row[PortColumn.OPERAND_WORD]}" if row[PortColumn.BIT] else "-"
        node = image.graph.nodes[row[PortColumn.NODE]]
        columns = (PortColumn.OPERAND_0, PortColumn.OPERAND_1, PortColumn.OPERAND_2)[
            : 1 if node.op == "merge" else len(node.ports)
        ]
        locations = " ".join(format_location(int(row[column])) for column in columns)
        yield (
            _format_port(image, number),
            str(image.port_types[number]),
            _format_bits(int(row[PortColumn.BIT])),
            word,
            locations,
        )


def format_location(location: int) -> str:
    """The location of an operand: a word of the frame, a word of memory, or the token that arrived last."""
    if location >= 0:
        return f"w{location}"
    return "token" if ~location == SCRATCH_WORD else f"m{~location}"


def literal_rows(image: Image) -> Iterator[tuple[str, ...]]:
    """The rows of literals, in the order of their words of memory, which is the order of their ports."""
    yield "literal", "port", "type", "value"
    literals = (
        image.first_port[number] + port
        for number, node in enumerate(image.graph.nodes)
        for port, literal in enumerate(node.ports)
        if literal is not None
    )
    for word, port in enumerate(literals, start=SCRATCH_WORD + 1):
        type_, bits = image.port_types[port], int(image.literals[word])
        value = image.objects[bits] if is_boxed(type_) else decode_word(bits, type_.dtype)
        yield f"m{word}", _format_port(image, port), str(type_), format_value(value)


def argument_rows(image: Image) -> Iterator[tuple[str, ...]]:
    """The rows of arguments."""
    yield "argument", "ports"
    for (name, _), ports in zip(image.graph.arguments, image.arguments, strict=True):
        yield name, " ".join(_format_port(image, port) for port in ports) or "-"


def align_columns(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Lines with the cells of the rows aligned in columns."""
    all_rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*all_rows, strict=True)]
    for row in all_rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
