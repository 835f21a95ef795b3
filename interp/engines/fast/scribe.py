"""Writes the log of a run on the fast machine, to the letter as the reference writes it, from the words of its journal.

`lines` does that for graphs of scalars. Where values are objects, events are made, and written by `event_log`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from ....core.dtypes import DType
from ....core.json.value import value_to_json_text
from ....core.tag import Tag
from ...image.image import (
    LOW_BITS,
    PORT_BITS,
    Image,
    NodeColumn,
    PortColumn,
    SiteColumn,
    WordArray,
    encode_word,
    is_boxed,
)
from ...machine.fire import Rule
from ...records.event_log import EventLogWriter, graph_sites
from ...records.keep import EventSink
from ..jit import kernels
from ..jit.cache import show_compiling
from ..jit.native import load_native
from . import ink, registers
from .event_keepers import EventKeeper, Last, forward_events
from .host_firings import HostFiringNote, HostFirings
from .ink import LENGTH_BITS, PIECES, Does, Ink, LogNode, Member, Part, Shape, Tagged
from .load import int_enums, jitted_source
from .registers import JournalWord
from .store import TokenStore

VALUE_BYTES = 64
"""What a value takes at most, a literal's excepted; and a token twice as much."""
_CONSTANTS = f"""\
from tagloom.interp.engines.jit.memory import peek, peek_unaligned, poke, poke_unaligned
PORT_BITS = {PORT_BITS}
LOW_BITS = {LOW_BITS}
LENGTH_BITS = {LENGTH_BITS}
"""


@cache
def _native(function: str) -> Callable[[int, int, int], int]:
    with show_compiling("the writer of logs"):
        return load_native(f"writer of logs, {function}", _text(function), function, 3)


def _text(function: str) -> str:
    body = jitted_source(["lines"], int_enums(ink, registers), {function})
    return "\n".join([kernels.HEADER, "import numpy as np", _CONSTANTS, body])


class Pool:
    """Texts, each of which is a word."""

    def __init__(self) -> None:
        self.texts: list[bytes] = []
        self._kind_codes: dict[str, int] = {}
        self._size = 0

    def word(self, text: str) -> int:
        """The word of a text."""
        if text not in self._kind_codes:
            self._kind_codes[text] = self._size << LENGTH_BITS | len(text)
            self.texts.append(text.encode("ascii"))
            self._size += len(text)
        return self._kind_codes[text]


def value_head(dtype: DType) -> str:
    """How a scalar of a dtype begins, up to its number."""
    return f'{{"dtype":"{dtype!r}","data":'


def shape_of(dtype: DType) -> Shape:
    match dtype.kind:
        case "b":
            return Shape.BOOL
        case "f":
            return Shape.FLOAT
        case "u":
            return Shape.UNSIGNED
    return Shape.SIGNED


class Tables:
    """What `lines` reads of an image."""

    def __init__(self, image: Image, rules: tuple[Rule, ...]) -> None:
        self.pool = Pool()
        self.pieces = np.array([self.pool.word(piece) for piece in PIECES], np.int64)
        self.ports = np.array([self._port(image, at) for at in range(len(image.ports))], np.int64)
        self._parts: list[list[int]] = []
        rows = [self._node(image, rules, number) for number in range(len(rules))]
        self.nodes = np.array(rows, np.int64)
        self.parts = np.array(self._parts, np.int64)
        members = [self._members(image, scope) for scope in range(len(image.scopes))]
        ends = np.cumsum([0, *map(len, members)])
        self.scopes = np.stack([ends[:-1], ends[1:]], axis=1).astype(np.int64)
        self.members = np.array([row for rows in members for row in rows], np.int64)
        self.site_scopes = np.ascontiguousarray(image.sites[:, SiteColumn.SCOPE])

    def _port(self, image: Image, at: int) -> list[int]:
        node, dtype = int(image.ports[at, PortColumn.NODE]), image.port_types[at].dtype
        head = self.pool.word(f"[{node},{at - image.first_port[node]},")
        return [node, head, shape_of(dtype), self.pool.word(value_head(dtype))]

    def _node(self, image: Image, rules: tuple[Rule, ...], number: int) -> list[int]:
        node, rule, first = image.graph.nodes[number], rules[number], image.first_port[number]
        kinds = {"merge": Does.MERGE, "switch": Does.SWITCH, "next_iteration": Does.NEXT, "back": Does.BACK}
        numbers = {site: at for at, site in enumerate(graph_sites(image.graph))}
        result = 0
        if number in image.graph.results:
            result = self.pool.word(f"[-1,{image.graph.results.index(number)},0,")
        begin = len(self._parts)
        if rule.operands is not None:
            for port, literal in enumerate(node.ports):
                if literal is None:
                    self._parts.append([0, 0, first + port, 0])
                else:
                    text = self.pool.word(value_to_json_text(literal.value))
                    self._parts.append([text, encode_word(literal.value, image.port_types[first + port].dtype), -1, 0])
        made = [output.type.dtype for output in node.outputs] or [image.port_types[first].dtype]
        made = [made[0], made[-1]]
        return [
            kinds.get(node.op, Does.PLAIN), numbers.get(node.site, -1) if node.site else -1, result,
            begin, len(self._parts), shape_of(made[0]), self.pool.word(value_head(made[0])),
            shape_of(made[1]), self.pool.word(value_head(made[1])), rule.required_tokens,
        ]  # fmt: skip

    def _members(self, image: Image, scope: int) -> list[list[int]]:
        rows = image.nodes[:, [NodeColumn.MASK_WORD, NodeColumn.FIRED_BIT]].tolist()
        return [[n, rows[n][0] - image.header_words, rows[n][1], 0] for n in image.scope_members[scope].tolist()]

    def most_bytes(self, image: Image) -> int:
        """How many bytes a word of a journal becomes at most."""
        digits = len(str(len(image.graph.nodes))) + 1
        most = [2 * VALUE_BYTES]
        for row in self.nodes.tolist():
            parts = self._parts[row[LogNode.PARTS] : row[LogNode.PARTS_END]]
            said = sum((part[Part.TEXT] & (1 << LENGTH_BITS) - 1) + VALUE_BYTES for part in parts)
            most.append((said + 2 * VALUE_BYTES * (image.max_fanout + 7)) // JournalWord.FIRING_WORDS)
        for scope in range(len(image.scopes)):
            begin, end = self.scopes[scope].tolist()
            words = max((row[Member.STATE] for row in self.members[begin:end].tolist()), default=0)
            most.append((VALUE_BYTES + digits * (end - begin)) // (JournalWord.CLOSE_WORDS + words))
        return max(most) + 1


def is_writable(image: Image) -> bool:
    """Whether `lines` can write what a graph does: all its values are scalars."""
    made = [output.type for node in image.graph.nodes for output in node.outputs]
    return not any(map(is_boxed, (*image.port_types, *made)))


def keeper_of(kept: EventSink, image: Image) -> EventKeeper | None:
    """Who keeps what a run is told to; where that are the last events, they are to be asked for at its end."""
    if isinstance(kept.events, deque):
        return Last(kept.events.maxlen or 0)
    if kept.log is not None and is_writable(image):
        return Scribe(kept.log)
    watchers = kept.observers
    return forward_events(watchers[0]) if watchers else None


class Scribe(EventKeeper):
    """Writes the lines of each page when it is full, or the machine pauses."""

    def __init__(self, log: EventLogWriter) -> None:
        self._log = log

    def attach(self, store: TokenStore, outside: HostFirings) -> None:
        super().attach(store, outside)
        self._tables = Tables(store.image, outside.rules)
        self._max_bytes = self._tables.most_bytes(store.image)
        self._tags = np.zeros((0, len(Tagged)), np.int64)
        self._paper = np.zeros(0, np.uint8)
        self._addresses = np.zeros(len(Ink), np.int64)
        self._addresses[Ink.NEXT] = self._log.event_writer.next_number
        self._fit_tags()
        for frame in store.frames():
            self._enter(frame, store.tag(frame))
        self._fixed = b"".join(self._tables.pool.texts)
        tables = {
            Ink.PORTS: self._tables.ports, Ink.NODES: self._tables.nodes, Ink.PARTS: self._tables.parts,
            Ink.EDGES: store.image.edges, Ink.SCOPES: self._tables.scopes, Ink.MEMBERS: self._tables.members,
            Ink.SITE_SCOPES: self._tables.site_scopes, Ink.PIECES: self._tables.pieces,
        }  # fmt: skip
        for of, array in tables.items():
            self._addresses[of] = array.ctypes.data

    def _enter(self, frame: int, tag: Tag) -> None:
        numbers = self._log.event_writer.tag_numbers
        self._tags[frame >> 3] = numbers[tag], numbers[tag.parent] if tag.parent is not None else 0, tag.iteration, 0

    def _fit_tags(self) -> None:
        """Make room for the tags of all frames."""
        wanted = len(self.store.memory) >> 3
        if len(self._tags) < wanted:
            grown = np.zeros((wanted, len(Tagged)), np.int64)
            grown[: len(self._tags)] = self._tags
            self._tags = grown

    def turn_page(self) -> None:
        words, said, dying = self._detach_page(self.store.journal)
        self.store.free_objects(dying)
        if len(words):
            self._write(words, said)

    def on_pause(self) -> None:
        self.turn_page()

    def _write(self, words: WordArray, said: Sequence[HostFiringNote]) -> None:
        b, ends = self._addresses, len(words)
        self._fit_tags()
        floats = np.empty(ends, np.int64)
        b[[Ink.WORDS, Ink.TAGS, Ink.FLOATS]] = words.ctypes.data, self._tags.ctypes.data, floats.ctypes.data
        found = np.unique(floats[: _native("gather")(b.ctypes.data, 0, ends)])
        texts = [*_float_texts(found), *[_trap_text(each) for each in said]]
        pool = np.frombuffer(self._fixed + "".join(texts).encode("ascii") + bytes(8), np.uint8)
        lengths = np.array([len(text) for text in texts], np.int64)
        placed = (np.cumsum(lengths) - lengths + len(self._fixed)) << LENGTH_BITS | lengths
        float_texts, said_texts = placed[: len(found)].copy(), placed[len(found) :].copy()
        most = self._max_bytes * ends + int(lengths[len(found) :].sum()) + 64
        if len(self._paper) < most:
            self._paper = np.empty(most, np.uint8)
        b[[Ink.FLOATS, Ink.FLOAT_TEXTS, Ink.FLOAT_COUNT]] = found.ctypes.data, float_texts.ctypes.data, len(found)
        b[[Ink.SAID, Ink.SAID_READ, Ink.POOL]] = said_texts.ctypes.data, 0, pool.ctypes.data
        b[Ink.PAPER] = self._paper.ctypes.data
        written = _native("write")(b.ctypes.data, 0, ends) - self._paper.ctypes.data
        self._log.write_lines(self._paper[:written].tobytes().decode("ascii"))


def _float_texts(words: npt.NDArray[np.int64]) -> Iterator[str]:
    """The texts of floats, as JSON has them: what is not finite is in quotes."""
    numbers = words.view(np.float64)
    texts = map(repr, numbers.tolist())
    if np.isfinite(numbers).all():
        return texts
    return (text if text[-1] not in "fn" else f'"{text}"' for text in texts)


def _trap_text(said: HostFiringNote) -> str:
    return "" if said.trap is None else f',"trap":{json.dumps(said.trap)}'
