"""The events of a run on the fast machine, decoded from its journal: a keeper passes each event to a function, or keeps
the last ones.

Keepers read the journal page by page. `JournalReader` decodes pages to events, which equal those of the reference.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from math import inf
from typing import Any, NamedTuple, overload

from ....core import dtypes
from ....core.collector import paused_collector
from ....core.tag import ROOT, Tag
from ....core.types import Type
from ....core.value import Value
from ....deprecation import renamed_attributes
from ...image.image import (
    LOW_BITS,
    LOW_MASK,
    PORT_BITS,
    PORT_MASK,
    NodeColumn,
    PortColumn,
    SiteColumn,
    WordArray,
    decode_word,
    is_boxed,
)
from ...machine.event import ClosedActivation, Event, Token
from ...machine.fire import FiringRule
from .host_firings import HostFiringNote, HostFirings
from .layout import JournalHead, JournalItem, JournalWord, Register
from .lazy_sequences import TupleLike
from .store import TokenStore


class EventKeeper(ABC):
    """Reads the journal of a run, page by page."""

    page_steps: int | None = None
    """The number of steps after which a page is turned, since reading it takes time in which no limit and no Ctrl-C is
    checked; None if that takes none. Else pages grow with the number of open activations."""
    page_array_bytes: float = inf
    """The bytes of arrays after which a page is turned, for the same reason."""

    def attach(self, store: TokenStore, host: HostFirings) -> None:
        """Attach to a run at its beginning or after an import."""
        self.store, self.host = store, host
        store.start_journal()

    @abstractmethod
    def turn_page(self) -> None:
        """Keep the content of a full page, and give the machine another page."""

    def _detach_page(self, page: WordArray | None) -> tuple[WordArray, list[HostFiringNote], list[int]]:
        """The words of the current page, its notes, and the objects that only it refers to; the machine continues on
        `page`."""
        store, host = self.store, self.host
        contents = store.turn_page(page), host.notes, store.retired_objects or []
        host.notes, store.retired_objects = [], []
        return contents

    def on_pause(self) -> None:  # noqa: B027  # a keeper that can read the current page does nothing
        """Called when the machine pauses: the caller may need the events up to here."""


PAGE_SECONDS = 0.02
"""The processor time that the reading of a page should take, in seconds: a tenth of what a run may be late."""


class StreamingKeeper(EventKeeper):
    """Reads each page when it is full or the machine pauses. An event of arrays may take a thousand times as long as
    one of numbers: pages begin with one step, grow while they take little time, and begin again after large arrays."""

    page_steps: int = 1
    page_array_bytes = 2**18

    def __init__(self, max_page_steps: int) -> None:
        self._max_page_steps = max_page_steps

    def attach(self, store: TokenStore, host: HostFirings) -> None:
        super().attach(store, host)
        self._page_start = int(store.registers[Register.STEPS])

    @abstractmethod
    def read_page(self, words: WordArray, notes: list[HostFiringNote]) -> None:
        """Keep the events of a page."""

    def turn_page(self) -> None:
        has_large_arrays = self.store.page_array_bytes >= self.page_array_bytes
        steps = int(self.store.registers[Register.STEPS]) - self._page_start
        self._page_start += steps
        words, notes, retired_objects = self._detach_page(self.store.journal)
        begin = time.thread_time()
        self.read_page(words, notes)
        seconds = time.thread_time() - begin
        self.store.free_objects(retired_objects)
        if has_large_arrays:
            self.page_steps = 1
        elif seconds > PAGE_SECONDS:
            self.page_steps = max(1, int(steps * PAGE_SECONDS / seconds))
        elif steps >= self.page_steps and seconds < PAGE_SECONDS / 4:
            self.page_steps = min(2 * self.page_steps, self._max_page_steps)

    def on_pause(self) -> None:
        self.turn_page()


class _EventForwarder(StreamingKeeper):
    """Passes the events of each page to a function."""

    def __init__(self, callback: Callable[[Event], object]) -> None:
        super().__init__(max_page_steps=2**9)
        self._callback = callback

    def attach(self, store: TokenStore, host: HostFirings) -> None:
        super().attach(store, host)
        tags = {frame: store.tag(frame) for frame in store.frames()}
        self._reader = JournalReader(store, host.rules, tags)

    def read_page(self, words: WordArray, notes: list[HostFiringNote]) -> None:
        with paused_collector():
            for event in self._reader.events(JournalPage(words.tolist(), notes)):
                self._callback(event)


def forward_events(callback: Callable[[Event], object]) -> EventKeeper:
    """A keeper that calls a function with each event."""
    return _EventForwarder(callback)


class _FullPage(NamedTuple):
    """A full page."""

    words: WordArray
    buffer: WordArray
    notes: list[HostFiringNote]
    retired_objects: list[int]
    first_step: int
    """The number of steps before it."""


class LastEventKeeper(EventKeeper):
    """Keeps the last events of a run as words, and decodes them on demand."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pages: deque[_FullPage] = deque()

    def attach(self, store: TokenStore, host: HostFirings) -> None:
        super().attach(store, host)
        self._first_step = self._page_start = int(store.registers[Register.STEPS])

    def turn_page(self) -> None:
        page = self.store.journal
        words, notes, retired = self._detach_page(self._discard_pages())
        self._pages.append(_FullPage(words, page, notes, retired, self._page_start))
        self._page_start = int(self.store.registers[Register.STEPS])

    def _discard_pages(self) -> WordArray | None:
        """Drop the pages that have none of the last events; returns one of them for reuse, if any."""
        steps, reusable_buffer = int(self.store.registers[Register.STEPS]), None
        while self._pages:
            next_step = self._pages[1].first_step if len(self._pages) > 1 else self._page_start
            if steps - next_step < self._count:
                break
            page = self._pages.popleft()
            self.store.free_objects(page.retired_objects)
            reusable_buffer = page.buffer
        return reusable_buffer

    def events(self) -> tuple[Event, ...]:
        """The last events, up to the current step."""
        return tuple(self.window())

    def window(self, earlier_events: Collection[Event] = ()) -> EventWindow:
        """The last events, decoded on access, which must happen before the run continues; `earlier_events` are those
        that were kept before the import."""
        self._discard_pages()
        store, end = self.store, int(self.store.registers[Register.STEPS])
        page = _FullPage(
            store.journal[: store.registers[Register.JOURNAL_LENGTH]],
            store.journal,
            self.host.notes,
            [],
            self._page_start,
        )
        first_step = max(end - self._count, self._first_step)
        excess = max(len(earlier_events) + end - first_step - self._count, 0)
        return EventWindow(store, self.host, tuple(earlier_events)[excess:], [*self._pages, page], first_step)


class EventWindow(TupleLike[Event]):
    """The last events of a run, decoded on access, from the end backwards, and cached. If Ctrl-C interrupts an access,
    the next one decodes again."""

    def __init__(
        self,
        store: TokenStore,
        host: HostFirings,
        earlier_events: tuple[Event, ...],
        pages: list[_FullPage],
        first_step: int,
    ) -> None:
        """The `earlier_events`, then the events from `first_step` on, which is on the first page."""
        self._store, self._host, self._pages, self._first_step = store, host, pages, first_step
        self._earlier_events = earlier_events
        self._length = len(earlier_events) + int(store.registers[Register.STEPS]) - first_step
        self._decoded: tuple[Event, ...] = ()

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Event, ...]: ...
    def __getitem__(self, index: int | slice) -> Event | tuple[Event, ...]:
        if isinstance(index, slice):
            positions = range(self._length)[index]
            decoded = self._decode_from(min(positions, default=self._length))
            return tuple(decoded[position - self._length] for position in positions)
        position = range(self._length)[index]
        return self._decode_from(position)[position - self._length]

    def __iter__(self) -> Iterator[Event]:
        return iter(self._decode_from(0))

    def _decode_from(self, position: int) -> tuple[Event, ...]:
        """The events from a position on, and maybe more: each call at least doubles the decoded events, so that a walk
        from last to first does not read the whole journal each time."""
        missing = self._length - len(self._decoded)
        if position < missing:
            begin = max(min(position, missing - len(self._decoded)), 0)
            with paused_collector():
                self._decoded = (
                    *self._earlier_events[begin:missing],
                    *self._decode_between(begin, missing),
                    *self._decoded,
                )
        if len(self._decoded) == self._length:
            self._pages = []
        return self._decoded

    def _decode_between(self, begin: int, end: int) -> Iterator[Event]:
        """The events between two positions, except `_earlier_events`."""
        begin, end = max(begin - len(self._earlier_events), 0), max(end - len(self._earlier_events), 0)
        return islice(self._events_from(self._first_step + begin), end - begin)

    def _events_from(self, step: int) -> Iterator[Event]:
        """The events from a step on."""
        page_index = bisect_right(self._pages, step, key=lambda page: page.first_step) - 1
        pages = [
            skip_steps(self._pages[page_index], step - self._pages[page_index].first_step),
            *self._pages[page_index + 1 :],
        ]
        links = reopened_frame_links(page.words.tolist() for page in reversed(pages))
        reader = JournalReader(self._store, self._host.rules, FrameTags(self._store, links))
        for page in pages:
            yield from reader.events(JournalPage(page.words.tolist(), page.notes))


def skip_steps(page: _FullPage, steps: int) -> _FullPage:
    """A page without its first steps."""
    note_count, words = 0, page.words.tolist()
    for offset in item_offsets(words):
        if is_step(words[offset]):
            if steps == 0:
                return page._replace(words=page.words[offset:], notes=page.notes[note_count:])
            steps -= 1
            note_count += bool(words[offset] & JournalHead.HOST_FIRING)
    return page._replace(words=page.words[:0], notes=[])


HALF_MASK = (1 << 32) - 1
# Plain integers: reading them takes a third of the time of enumeration members.
TOKEN = int(JournalWord.TOKEN)
VALUE = int(JournalWord.VALUE)
TARGET = int(JournalWord.TARGET)
FIRST_EDGES = int(JournalWord.FIRST_EDGES)
FIRST_OUTPUT = int(JournalWord.FIRST_OUTPUT)
SECOND_EDGES = int(JournalWord.SECOND_EDGES)
SECOND_OUTPUT = int(JournalWord.SECOND_OUTPUT)
FIRING_WORDS = int(JournalWord.FIRING_WORDS)
NO_FIRING_WORDS = int(JournalWord.NO_FIRING_WORDS)
KIND_MASK = int(JournalHead.KIND_MASK)
FIRING = int(JournalItem.FIRING)
CLOSE = int(JournalItem.CLOSE)
HOST_FIRING = int(JournalHead.HOST_FIRING)
ENDS_WAVE = int(JournalHead.ENDS_WAVE)
OPENS_ACTIVATION = int(JournalHead.OPENS_ACTIVATION)
IS_THROTTLED = int(JournalHead.IS_THROTTLED)
OUTPUT_COUNT_SHIFT = int(JournalHead.OUTPUT_COUNT_SHIFT)
OPERAND_COUNT_SHIFT = int(JournalHead.OPERAND_COUNT_SHIFT)
POSITION_SHIFT = int(JournalHead.POSITION_SHIFT)
_tuple_new: Any = tuple.__new__
"""Creates named tuples in half the time of their constructors."""
WordReader = Callable[[int], Value]


class JournalPage(NamedTuple):
    """A part of a journal: its words, and the notes on its host firings."""

    words: Sequence[int]
    notes: Sequence[HostFiringNote]


class FrameTags(dict[int, Tag]):
    """The tag of each frame at the start of some pages, computed on access. If the frame closes in these pages, `links`
    has its header words; otherwise they are still in the machine's memory."""

    def __init__(self, store: TokenStore, links: dict[int, tuple[int, int]]) -> None:
        self._store, self._frame_links = store, links

    def __missing__(self, frame: int) -> Tag:
        path = []
        while frame not in self and self._frame_words(frame)[0] >> LOW_BITS:
            path.append(frame)
            frame = self._frame_words(frame)[0] >> LOW_BITS
        tag = self.get(frame, ROOT)
        for ancestor in reversed(path):
            parent_word, iteration_word = self._frame_words(ancestor)
            site = self._store.image.site_list[parent_word & LOW_MASK]
            tag = self[ancestor] = tag.child(site, iteration_word >> LOW_BITS)
        return tag

    def _frame_words(self, frame: int) -> tuple[int, int]:
        return self._frame_links.get(frame) or self._store.frame_words(frame)


def reopened_frame_links(reversed_pages: Iterable[Sequence[int]]) -> dict[int, tuple[int, int]]:
    """The header words of the frames that are open before these pages and close in them, by frame. The last page comes
    first: a frame may be reused, and its first closing counts."""
    links: dict[int, tuple[int, int]] = {}
    for words in reversed_pages:
        for offset in reversed([offset for offset in item_offsets(words) if opens_or_closes(words[offset])]):
            if words[offset] & KIND_MASK == FIRING:
                links.pop(words[offset + TARGET], None)
            else:
                links[words[offset + JournalWord.FRAME]] = (
                    words[offset + JournalWord.PARENT_HEADER],
                    words[offset + JournalWord.ITERATION_HEADER],
                )
    return links


def opens_or_closes(head: int) -> bool:
    """Whether an item with this head opens or closes an activation."""
    return head & OPENS_ACTIVATION != 0 if head & KIND_MASK == FIRING else head & KIND_MASK == CLOSE


def item_offsets(words: Sequence[int]) -> Iterator[int]:
    """The offset of each item."""
    offset, end = 0, len(words)
    while offset < end:
        yield offset
        offset += item_length(words[offset])


def item_length(head: int) -> int:
    """The number of words of an item with this head."""
    match head & KIND_MASK:
        case JournalItem.FIRING:
            return FIRING_WORDS + (head >> OPERAND_COUNT_SHIFT & 127)
        case JournalItem.CLOSE:
            return JournalWord.CLOSE_WORDS + (head >> POSITION_SHIFT)
        case JournalItem.RELEASE:
            return JournalWord.RELEASE_WORDS
    return NO_FIRING_WORDS


def is_step(head: int) -> bool:
    """Whether an item with this head is a step, and does not belong to the step before it."""
    return head & JournalHead.KIND_MASK <= JournalItem.FIRING


class _PortDecoder(NamedTuple):
    """How to decode the deliveries to one port, computed in advance."""

    node: int
    port: int
    read_word: WordReader | None
    """Converts a word to a value; None if the word is the value."""
    rule: FiringRule
    operands: list[Any]
    """The operands by port, with the literals filled in."""
    partner_readers: tuple[tuple[int, WordReader | None], ...]
    """The ports of the operands in the journal, with their readers. If there are three or more, the journal has a word
    for this port too, without a meaning."""
    output_readers: tuple[WordReader | None, ...]
    """Like `read_word`, for each output."""
    result_position: int | None
    """The position of the run's result that the node provides, if any."""

    def output_index(self, inputs: Sequence[Any], tag: Tag) -> int:
        """The index of the output of a firing with a single output."""
        match self.rule.node.op:
            case "switch":
                return 0 if inputs[1] else 1
            case "back":
                return 0 if tag.iteration else 1
        return 0


class JournalReader:
    """Decodes the pages of a journal, one after another; `tags` are the tags of the frames that are open at the
    start."""

    def __init__(self, store: TokenStore, rules: tuple[FiringRule, ...], tags: dict[int, Tag]) -> None:
        image = store.image
        self.tags = tags
        self._store = store
        self._edges = image.edges.tolist()
        self._spans: dict[int, tuple[tuple[int, int], ...]] = {}
        self._decoders = [self._build_decoder(rules, port_index) for port_index in range(len(image.ports))]
        self._state_columns = image.nodes[:, [NodeColumn.MASK_WORD, NodeColumn.FIRED_BIT]].tolist()
        self._members = [members.tolist() for members in image.scope_members]
        self._scope_of_site = image.sites[:, SiteColumn.SCOPE].tolist()

    def _build_decoder(self, rules: tuple[FiringRule, ...], port_index: int) -> _PortDecoder:
        image = self._store.image
        number = int(image.ports[port_index, PortColumn.NODE])
        first, rule = image.first_port[number], rules[number]
        readers = [self._word_reader(type_) for type_ in image.port_types[first : first + len(rule.node.ports)]]
        operand_ports = [port for port, literal in enumerate(rule.node.ports) if literal is None]
        if rule.required_tokens < 3:
            operand_ports = [port for port in operand_ports if port != port_index - first]
        return _PortDecoder(
            number,
            port_index - first,
            readers[port_index - first],
            rule,
            [None] if rule.operands is None else list(rule.operands),
            ()
            if rule.required_tokens < 2
            else tuple((port, readers[port] if port != port_index - first else None) for port in operand_ports),
            tuple(self._word_reader(output.type) for output in rule.node.outputs),
            image.graph.results.index(number) if number in image.graph.results else None,
        )

    def _word_reader(self, type_: Type) -> WordReader | None:
        if is_boxed(type_):
            return partial(self._store.to_value, type_=type_)
        return None if type_.dtype is dtypes.int64 else partial(decode_word, dtype=type_.dtype)

    def events(self, page: JournalPage) -> Iterator[Event]:
        """The events of a page."""
        words: Any = page.words
        notes = iter(page.notes)
        offset, end = 0, len(words)
        while offset < end:
            head, word = words[offset], words[offset + TOKEN]
            decoder, tag, value = self._decoders[word & PORT_MASK], self.tags[word >> PORT_BITS], words[offset + VALUE]
            if decoder.read_word is not None:
                value = decoder.read_word(value)
            token = _tuple_new(Token, (decoder.node, decoder.port, tag, value))
            note = next(notes) if head & HOST_FIRING else _NO_NOTE
            if head & KIND_MASK == FIRING:
                next_offset = offset + FIRING_WORDS + (head >> OPERAND_COUNT_SHIFT & 127)
                event = self.read_firing(words, offset, decoder, token, note)
            else:
                next_offset = offset + NO_FIRING_WORDS
                event = Event(
                    token, head >> POSITION_SHIFT, None, (), (), None, (), head & ENDS_WAVE != 0, note.deferred_at
                )
            offset = next_offset
            if offset < end and words[offset] & KIND_MASK > FIRING:
                event, offset = self.read_followups(event, words, offset)
            yield event

    def read_firing(self, words: Any, offset: int, decoder: _PortDecoder, token: Token, note: HostFiringNote) -> Any:
        """The event of a firing, without its follow-ups."""
        head, tag, target = words[offset], token.tag, words[offset + TARGET]
        inputs = decoder.operands.copy()
        for operand_offset, (port, read) in enumerate(decoder.partner_readers, offset + FIRING_WORDS):
            inputs[port] = words[operand_offset] if read is None else read(words[operand_offset])
        inputs[0 if decoder.rule.operands is None else decoder.port] = token.value
        count = head >> OUTPUT_COUNT_SHIFT & 3
        outputs: tuple[tuple[int, Value], ...] = ()
        if count:
            first_output, read = words[offset + FIRST_OUTPUT], decoder.output_readers[0]
            first_output = first_output if read is None else read(first_output)
            output_index = decoder.output_index(inputs, tag)
            outputs = ((output_index, first_output),)
            if count == 2:
                second_output, read = words[offset + SECOND_OUTPUT], decoder.output_readers[1]
                outputs = (0, first_output), (1, second_output if read is None else read(second_output))
        if head & OPENS_ACTIVATION:
            assert decoder.rule.node.site is not None
            opened_tag = (
                tag.next_iteration() if decoder.rule.node.op == "next_iteration" else tag.child(decoder.rule.node.site)
            )
            self.tags[target] = opened_tag
        sent = self._sent_tokens(words, offset, decoder, outputs)
        return _tuple_new(
            Event,
            (
                token, head >> POSITION_SHIFT, tuple(inputs), outputs, sent, note.trap, (),
                head & ENDS_WAVE != 0, None, note.woken_tokens, head & IS_THROTTLED != 0, (),
            ),
        )  # fmt: skip

    def _sent_tokens(
        self, words: Sequence[int], offset: int, decoder: _PortDecoder, outputs: tuple[tuple[int, Value], ...]
    ) -> tuple[Token, ...]:
        """The tokens that a firing sends; for a result, the token to the environment."""
        if not outputs:
            return ()
        if decoder.result_position is not None:
            return (Token(-1, decoder.result_position, ROOT, outputs[0][1]),)
        tag, value = self.tags[words[offset + TARGET]], outputs[0][1]
        sent = [
            _tuple_new(Token, (node, port, tag, value)) for node, port in self.edge_targets(words[offset + FIRST_EDGES])
        ]
        if len(outputs) > 1:
            value = outputs[1][1]
            sent += [
                _tuple_new(Token, (node, port, tag, value))
                for node, port in self.edge_targets(words[offset + SECOND_EDGES])
            ]
        return tuple(sent)

    def edge_targets(self, span: int) -> tuple[tuple[int, int], ...]:
        """The target nodes and ports of a span of edges."""
        if span not in self._spans:
            decoders = [self._decoders[edge] for edge in self._edges[span >> 32 : span & HALF_MASK]]
            self._spans[span] = tuple((decoder.node, decoder.port) for decoder in decoders)
        return self._spans[span]

    def read_followups(self, event: Event, words: Sequence[int], offset: int) -> tuple[Event, int]:
        """Read the RELEASE and CLOSE items of an event; returns the event with these and the offset of the next one."""
        released, closed = [], []
        while offset < len(words) and words[offset] & KIND_MASK > FIRING:
            if words[offset] & KIND_MASK == JournalItem.RELEASE:
                decoder, tag = (
                    self._decoders[words[offset + TOKEN] & PORT_MASK],
                    self.tags[words[offset + TOKEN] >> PORT_BITS],
                )
                value = words[offset + VALUE] if decoder.read_word is None else decoder.read_word(words[offset + VALUE])
                released.append((words[offset + JournalWord.STEP], Token(decoder.node, decoder.port, tag, value)))
            else:
                closed.append(self.read_close(words, offset))
            offset += item_length(words[offset])
        return event._replace(released=tuple(released), closed=tuple(closed)), offset

    def read_close(self, words: Sequence[int], offset: int) -> ClosedActivation:
        """The activation that a CLOSE item describes; its frame may be reused from here on."""
        begin = offset + JournalWord.CLOSE_WORDS - self._store.image.header_words
        scope = self._scope_of_site[words[offset + JournalWord.PARENT_HEADER] & LOW_MASK]
        state = self._state_columns
        fired_nodes = [n for n in self._members[scope] if words[begin + state[n][0]] & state[n][1]]
        tag = self.tags[words[offset + JournalWord.FRAME]]
        self.tags.pop(words[offset + JournalWord.FRAME], None)
        return ClosedActivation(tag, frozenset(fired_nodes))


_NO_NOTE = HostFiringNote()


__getattr__ = renamed_attributes(__name__, Last="LastEventKeeper")
