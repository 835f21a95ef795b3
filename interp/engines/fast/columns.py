"""Column logs of the fast machine: NumPy computes the columns from the words of the journal, a page at a time.

`interp/records/column_log.py` defines the columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ....core.json.value import value_to_json_text
from ....core.types import Type
from ...image.image import LOW_MASK, PORT_BITS, PORT_MASK, Image, NodeColumn, PortColumn, SiteColumn, is_boxed
from ...machine.fire import FiringRule
from ...records.column_log import COUNTS, DTYPE_CODES, FIRED, TEXT_CODE, THROTTLED, ColumnLogWriter
from ...records.event_log import TagNumbers, TagRow, compact_json
from .events import (
    CLOSE,
    FIRING,
    FIRING_WORDS,
    FIRST_EDGES,
    FIRST_OUTPUT,
    HALF_MASK,
    HOST_FIRING,
    IS_THROTTLED,
    KIND_MASK,
    NO_FIRING_WORDS,
    OPENS_ACTIVATION,
    OPERAND_COUNT_SHIFT,
    OUTPUT_COUNT_SHIFT,
    POSITION_SHIFT,
    SECOND_EDGES,
    SECOND_OUTPUT,
    TARGET,
    TOKEN,
    VALUE,
    StreamingKeeper,
)
from .host_firings import HostFiringNote, HostFirings
from .layout import JournalItem, JournalWord
from .store import TokenStore

IntArray = npt.NDArray[np.int64]
RELEASE = int(JournalItem.RELEASE)
CLOSE_WORDS, RELEASE_WORDS = int(JournalWord.CLOSE_WORDS), int(JournalWord.RELEASE_WORDS)


class ColumnKeeper(StreamingKeeper):
    """Writes a column log from the journal, page by page."""

    def __init__(self, log: ColumnLogWriter) -> None:
        super().__init__(max_page_steps=2**13)
        self._log = log

    def attach(self, store: TokenStore, host: HostFirings) -> None:
        super().attach(store, host)
        self._graph = GraphColumns(store.image, host.rules)
        self._tags = FrameTagRows(self._log.tags, store, self._graph)

    def read_page(self, words: IntArray, notes: list[HostFiringNote]) -> None:
        if len(words):
            items = self._tags.read_items(words, notes)
            page = PageColumns(self._log, self.store, self._graph, words, items)
            self._log.write_rows(page.tables(notes))


class GraphColumns:
    """The data of a graph that the columns need, as arrays indexed by port of its image or by node."""

    def __init__(self, image: Image, rules: tuple[FiringRule, ...]) -> None:
        nodes = image.graph.nodes
        self.node_of_port = np.ascontiguousarray(image.ports[:, PortColumn.NODE])
        self.first_ports = np.array(image.first_port, np.int64)
        self.port_numbers = np.arange(len(image.ports)) - self.first_ports[self.node_of_port]
        self.port_codes = np.array([dtype_code(type_) for type_ in image.port_types], np.int64)
        self.is_merge = np.array([rule.operands is None for rule in rules])
        self.input_counts = np.array([1 if rule.operands is None else len(rule.operands) for rule in rules])
        self.has_all_operands = np.array([rule.required_tokens > 2 for rule in rules])
        """By node, whether the journal has the words of all operands, not only of the other one."""
        self.literals = {
            image.first_port[number] + port: literal.value
            for number, node in enumerate(nodes)
            for port, literal in enumerate(node.ports)
            if literal is not None
        }
        takes_token = np.array([literal is None for node in nodes for literal in node.ports], np.int64)
        earlier_ports = np.cumsum(takes_token) - takes_token
        self.operand_index = earlier_ports - earlier_ports[self.first_ports[self.node_of_port]]
        """The number of ports of the same node that take a token and come before this port."""
        outputs = [(node.outputs[0].type, node.outputs[-1].type) if node.outputs else () for node in nodes]
        codes = [[dtype_code(type_) for type_ in types] or [TEXT_CODE, TEXT_CODE] for types in outputs]
        self.output_codes = np.array(codes, np.int64)
        """The codes of both outputs of each node."""
        self.result_positions = np.full(len(nodes), -1)
        self.result_positions[list(image.graph.results)] = range(len(image.graph.results))
        self.sites = TagNumbers(image.graph).site_numbers
        self.node_sites = np.array([-1 if node.site is None else self.sites[node.site] for node in nodes])
        self.ops = np.array([node.op for node in nodes])


def dtype_code(type_: Type) -> int:
    """The code of the values of a type in a column log."""
    return TEXT_CODE if is_boxed(type_) else DTYPE_CODES[type_.dtype]


class JournalItems(NamedTuple):
    """The items of a page, in order, with the numbers of their tags in the log."""

    offsets: IntArray
    tags: IntArray
    """The tag of each item: the tag of its token or, for a CLOSE, of its activation."""
    targets: IntArray
    """The tag that a firing sends to; else 0."""
    iterations: IntArray
    """The iteration of each item's tag if its token fires a `back`; else 0."""
    opened_tags: list[tuple[int, int, int]]
    """The tags that firings open: parent, site and iteration."""
    woken_tags: IntArray
    """The tags of the tokens that host firings wake."""


class FrameTagRows:
    """The tags of the open frames, with their numbers in the log."""

    def __init__(self, numbers: TagNumbers, store: TokenStore, graph: GraphColumns) -> None:
        self._graph = graph
        self._is_next, self._is_back = graph.ops == "next_iteration", graph.ops == "back"
        self._next_number = numbers.next_number
        self._numbers: dict[int, int] = {}
        """The number of the tag of each open frame."""
        self._rows: dict[int, TagRow] = {}
        """The rows of these tags, by number."""
        for frame in store.frames():
            tag = store.tag(frame)
            tag_row = () if tag.parent is None else (numbers.numbers[tag.parent], graph.sites[tag.site], tag.iteration)
            number = self._numbers[frame] = numbers.numbers[tag]
            self._rows[number] = TagRow(number, *(tag_row or (0, 0, 0)))

    def read_items(self, words: IntArray, notes: Sequence[HostFiringNote]) -> JournalItems:
        """Read a page, and update the tags of the frames that it opens and closes."""
        offsets = item_offsets(words)
        heads, order = words[offsets], np.arange(len(offsets))
        kinds = heads & KIND_MASK
        is_firing = kinds == FIRING
        opens = np.flatnonzero(is_firing & (heads & OPENS_ACTIVATION != 0))
        lookup = FrameLookup(self._numbers, words[offsets[opens] + TARGET], opens, self._next_number, len(offsets))
        frames = np.where(kinds == CLOSE, words[offsets + JournalWord.FRAME], words[offsets + TOKEN] >> PORT_BITS)
        tags, targets = lookup.numbers(frames, order), np.zeros(len(offsets), np.int64)
        targets[is_firing] = lookup.numbers(words[offsets[is_firing] + TARGET], order[is_firing] + 1)
        nodes = self._graph.node_of_port[words[offsets[is_firing] + TOKEN] & PORT_MASK]
        at_back = np.flatnonzero(is_firing)[self._is_back[nodes]]
        opener_nodes = self._graph.node_of_port[words[offsets[opens] + TOKEN] & PORT_MASK]
        opened_tags = self.open_tags(tags[opens].tolist(), opener_nodes)
        iterations = np.zeros(len(offsets), np.int64)
        iterations[at_back] = [self._rows[number].iteration for number in tags[at_back].tolist()]
        host_items = order[(kinds <= FIRING) & (heads & HOST_FIRING != 0)].tolist()
        woken_rows = [(word, at) for at, note in zip(host_items, notes, strict=True) for word in note.woken_words]
        woken_words, woken_at = np.array(woken_rows, np.int64).reshape(-1, 2).T
        items = JournalItems(
            offsets, tags, targets, iterations, opened_tags, lookup.numbers(woken_words >> PORT_BITS, woken_at)
        )
        self._numbers.update(zip(lookup.opened_frames.tolist(), lookup.opened_numbers.tolist(), strict=True))
        for frame, number in zip(frames[kinds == CLOSE].tolist(), tags[kinds == CLOSE].tolist(), strict=True):
            del self._rows[number]
            if self._numbers[frame] == number:
                del self._numbers[frame]
        return items

    def open_tags(self, firing_tags: list[int], nodes: IntArray) -> list[tuple[int, int, int]]:
        """Number the tags that firings of `nodes` under the tags `firing_tags` open; returns parent, site and iteration
        of each."""
        rows, opened_tags = self._rows, []
        sites, is_next = self._graph.node_sites[nodes].tolist(), self._is_next[nodes].tolist()
        for number, site, continues in zip(firing_tags, sites, is_next, strict=True):
            parent, iteration = (rows[number].parent, rows[number].iteration + 1) if continues else (number, 0)
            opened_tags.append((parent, site, iteration))
            rows[self._next_number] = TagRow(self._next_number, *opened_tags[-1])
            self._next_number += 1
        return opened_tags


class FrameLookup:
    """The numbers of the tags of frames at the items of a page. A frame may be reused: its last opening before the item
    counts."""

    def __init__(
        self,
        earlier_numbers: Mapping[int, int],
        opened_frames: IntArray,
        opens: IntArray,
        first_number: int,
        count: int,
    ) -> None:
        """`earlier_numbers` are the tag numbers of the frames that are open before the page. `opens` are the positions
        of the items that open the `opened_frames`; `count` is the number of items."""
        self._earlier_numbers, self._count = earlier_numbers, count + 2
        self.opened_frames, self.opened_numbers = opened_frames, first_number + np.arange(len(opens))
        keys = opened_frames * self._count + opens + 1
        order = np.argsort(keys)
        self._keys, self._numbers = np.insert(keys[order], 0, -1), np.insert(self.opened_numbers[order], 0, 0)

    def numbers(self, frames: IntArray, items: IntArray) -> IntArray:
        """The numbers of the tags that these frames have before these items; 0 for frames that are free."""
        entries = np.searchsorted(self._keys, frames * self._count + items, side="right") - 1
        numbers = self._numbers[entries]
        is_older = self._keys[entries] // self._count != frames
        older_frames, frame_index = np.unique(frames[is_older], return_inverse=True)
        older_numbers = [self._earlier_numbers.get(frame, 0) for frame in older_frames.tolist()]
        numbers[is_older] = np.array(older_numbers, np.int64)[frame_index]
        return numbers


def item_offsets(words: IntArray) -> IntArray:
    """The offset of each item of a page."""
    kinds = words & KIND_MASK
    lengths = np.full(len(words), NO_FIRING_WORDS)
    lengths[kinds == RELEASE] = RELEASE_WORDS
    lengths = np.where(kinds == FIRING, FIRING_WORDS + (words >> OPERAND_COUNT_SHIFT & 127), lengths)
    lengths_by_word = np.where(kinds == CLOSE, CLOSE_WORDS + (words >> POSITION_SHIFT), lengths).tolist()
    offsets, offset, end = [], 0, len(words)
    while offset < end:
        offsets.append(offset)
        offset += lengths_by_word[offset]
    return np.array(offsets, np.int64)


class PageColumns:
    """Makes the tables of a column log from one page of the journal."""

    def __init__(
        self, log: ColumnLogWriter, store: TokenStore, graph: GraphColumns, words: IntArray, items: JournalItems
    ) -> None:
        self._log, self._store, self._graph, self._words, self._items = log, store, graph, words, items
        self._texts: dict[int, int] = {}
        """The position of the text of each object, by its number: several tables refer to it."""
        self._kinds = words[items.offsets] & KIND_MASK
        self._is_step = self._kinds <= FIRING
        self._event_numbers = np.cumsum(self._is_step) - 1
        """The number of the event that each item belongs to."""
        self._event_count = int(self._is_step.sum())
        is_firing = self._kinds == FIRING
        self._firings, self._firing_events = items.offsets[is_firing], self._event_numbers[is_firing]
        self._targets, self._iterations = items.targets[is_firing], items.iterations[is_firing]
        self._ports = words[self._firings + TOKEN] & PORT_MASK
        self._nodes = graph.node_of_port[self._ports]
        self._output_counts = words[self._firings] >> OUTPUT_COUNT_SHIFT & 3

    def tables(self, notes: Sequence[HostFiringNote]) -> dict[str, IntArray]:
        """The rows of every table."""
        words, items = self._words, self._items
        steps = items.offsets[self._is_step]
        heads = words[steps]
        is_firing = heads & KIND_MASK == FIRING
        inputs, input_counts, input_words = self.input_rows()
        sent, sent_counts = self.sent_rows()
        closed_rows, fired_rows = self.closed_rows()
        releases, release_tags = items.offsets[self._kinds == RELEASE], items.tags[self._kinds == RELEASE]
        tables = {
            "tags": np.array(items.opened_tags, np.int64), "inputs": inputs,
            "outputs": self.output_rows(input_words), "sent": sent, "closed": closed_rows, "fired": fired_rows,
            "released": np.column_stack(
                [words[releases + JournalWord.STEP], *self.token_columns(releases, release_tags)]
            ),
        }  # fmt: skip
        counts = {
            "tags": is_firing & (heads & OPENS_ACTIVATION != 0),
            "inputs": self._by_event(input_counts),
            "outputs": self._by_event(self._output_counts),
            "sent": self._by_event(sent_counts),
            "closed": self._followups(CLOSE),
            "released": self._followups(RELEASE),
        }
        host_steps = np.flatnonzero(heads & HOST_FIRING)
        for table, rows in self.host_rows(notes).items():
            tables[table] = np.array([row for _, row in rows], np.int64)
            counts[table] = np.bincount(host_steps[[number for number, _ in rows]], minlength=self._event_count)
        flags = is_firing * (FIRED + THROTTLED * (heads & IS_THROTTLED != 0))
        tokens = self.token_columns(steps, items.tags[self._is_step])
        event_counts = [counts[table] for table in COUNTS["events"]]
        tables["events"] = np.column_stack([*tokens, heads >> POSITION_SHIFT, flags, *event_counts])
        return tables

    def _by_event(self, counts: IntArray) -> IntArray:
        """Counts of firings as counts of events."""
        event_counts = np.zeros(self._event_count, np.int64)
        event_counts[self._firing_events] = counts
        return event_counts

    def _followups(self, kind: int) -> IntArray:
        """The number of items of this kind that follow each step."""
        return np.bincount(self._event_numbers[self._kinds == kind], minlength=self._event_count)

    def logged_words(self, codes: IntArray, words: IntArray) -> IntArray:
        """The words for the log, with the positions of texts in place of the numbers of objects."""
        is_object = codes == TEXT_CODE
        if not is_object.any():
            return words
        numbers, object_index = np.unique(words[is_object], return_inverse=True)
        texts = [self._text(number) for number in numbers.tolist()]
        logged = words.copy()
        logged[is_object] = np.array(texts, np.int64)[object_index]
        return logged

    def _text(self, number: int) -> int:
        """The position of the text of an object."""
        if number not in self._texts:
            value = self._store.objects[number]
            assert value is not None, "a run that keeps events has no futures"
            self._texts[number] = self._log.text(value_to_json_text(value))
        return self._texts[number]

    def token_columns(self, offsets: IntArray, tags: IntArray) -> tuple[IntArray, ...]:
        """The columns of the tokens of items, given the numbers of their tags."""
        graph, ports = self._graph, self._words[offsets + TOKEN] & PORT_MASK
        codes = graph.port_codes[ports]
        values = self.logged_words(codes, self._words[offsets + VALUE])
        return graph.node_of_port[ports], graph.port_numbers[ports], tags, codes, values

    def input_rows(self) -> tuple[IntArray, IntArray, IntArray]:
        """The rows of inputs, the number of inputs of each firing, and the word of each firing's second input."""
        graph, words = self._graph, self._words
        counts = graph.input_counts[self._nodes]
        firing, nth = ragged_indices(counts)
        delivery_ports = self._ports[firing]
        ports = np.where(
            graph.is_merge[self._nodes][firing], delivery_ports, graph.first_ports[self._nodes][firing] + nth
        )
        index = np.where(graph.has_all_operands[self._nodes][firing], graph.operand_index[ports], 0)
        offsets = self._firings[firing] + np.where(ports == delivery_ports, VALUE, FIRING_WORDS + index)
        codes, values = graph.port_codes[ports], words[np.minimum(offsets, len(words) - 1)]
        literals = graph.literals
        is_literal = np.isin(ports, list(literals))
        numbers, literal_index = np.unique(ports[is_literal], return_inverse=True)
        codes[is_literal] = -1
        values = self.logged_words(codes, values)
        if len(numbers):
            rows = np.array([self._log.value_row(literals[port]) for port in numbers.tolist()], np.int64)
            codes[is_literal], values[is_literal] = rows[literal_index].T
        second_words = np.zeros(len(counts), np.int64)
        second_words[firing[nth == 1]] = values[nth == 1]
        return np.column_stack([codes, values]), counts, second_words

    def output_rows(self, second_inputs: IntArray) -> IntArray:
        """The rows of outputs. The word of its second input selects the output of a switch."""
        firing, nth = ragged_indices(self._output_counts)
        codes, values = self._output_values(firing, nth)
        ops = self._graph.ops[self._nodes]
        takes_second = ((ops == "switch") & (second_inputs == 0)) | ((ops == "back") & (self._iterations == 0))
        return np.column_stack([np.where(takes_second[firing], 1, nth), codes, values])

    def _output_values(self, firing: IntArray, nth: IntArray) -> tuple[IntArray, IntArray]:
        """The codes and words of the outputs of firings."""
        codes = self._graph.output_codes[self._nodes[firing], nth]
        offsets = self._firings[firing] + np.where(nth == 0, FIRST_OUTPUT, SECOND_OUTPUT)
        return codes, self.logged_words(codes, self._words[offsets])

    def sent_rows(self) -> tuple[IntArray, IntArray]:
        """The rows of tokens that firings send, and the number for each firing: one to the environment, or one for each
        edge."""
        graph, words = self._graph, self._words
        first_spans, second_spans = words[self._firings + FIRST_EDGES], words[self._firings + SECOND_EDGES]
        result_positions = graph.result_positions[self._nodes]
        first_count = np.where(self._output_counts > 0, (first_spans & HALF_MASK) - (first_spans >> 32), 0)
        second_count = np.where(self._output_counts > 1, (second_spans & HALF_MASK) - (second_spans >> 32), 0)
        is_result = (result_positions >= 0) & (self._output_counts > 0)
        counts = np.where(is_result, 1, first_count + second_count)
        firing, nth = ragged_indices(counts)
        is_first = is_result[firing] | (nth < first_count[firing])
        codes, values = self._output_values(firing, np.where(is_first, 0, 1))
        edges = np.where(
            is_first, (first_spans[firing] >> 32) + nth, (second_spans[firing] >> 32) + nth - first_count[firing]
        )
        ports = self._store.image.edges[np.where(is_result[firing], 0, edges)]
        nodes = np.where(is_result[firing], -1, graph.node_of_port[ports])
        numbers = np.where(is_result[firing], result_positions[firing], graph.port_numbers[ports])
        tags = np.where(is_result[firing], 0, self._targets[firing])
        return np.column_stack([nodes, numbers, tags, codes, values]), counts

    def closed_rows(self) -> tuple[IntArray, IntArray]:
        """The rows of activations that close, each with its number of fired nodes, and the rows of these nodes."""
        words, image = self._words, self._store.image
        close_offsets = self._items.offsets[self._kinds == CLOSE]
        scopes = image.sites[words[close_offsets + JournalWord.PARENT_HEADER] & LOW_MASK, SiteColumn.SCOPE]
        counts, rows = np.zeros(len(close_offsets), np.int64), [np.zeros((2, 0), np.int64)]
        for scope in np.unique(scopes).tolist():
            closing, members = np.flatnonzero(scopes == scope), image.scope_members[scope]
            state_words = image.nodes[members, NodeColumn.MASK_WORD] - image.header_words
            states = words[close_offsets[closing][:, None] + CLOSE_WORDS + state_words]
            closing_index, member_index = np.nonzero(states & image.nodes[members, NodeColumn.FIRED_BIT])
            counts[closing] = np.bincount(closing_index, minlength=len(closing))
            rows.append(np.stack([closing[closing_index], members[member_index]]))
        activations, nodes = np.concatenate(rows, axis=1)
        in_order = np.lexsort((nodes, activations))
        return np.column_stack([self._items.tags[self._kinds == CLOSE], counts]), nodes[in_order][:, None]

    def host_rows(self, notes: Sequence[HostFiringNote]) -> dict[str, list[tuple[int, tuple[int, ...]]]]:
        """The rows of traps, deferred reads and woken tokens, each with the number of its host firing."""
        rows: dict[str, list[tuple[int, tuple[int, ...]]]] = {"traps": [], "deferred": [], "woken": []}
        log, tags = self._log, iter(self._items.woken_tags)
        for number, note in enumerate(notes):
            if note.trap is not None:
                rows["traps"].append((number, (log.text(compact_json(note.trap)),)))
            if note.deferred_at is not None:
                rows["deferred"].append((number, (*log.value_row(note.deferred_at.handle), note.deferred_at.number)))
            for token in note.woken_tokens:
                row = (token.node, token.port, next(tags), *log.value_row(token.value))
                rows["woken"].append((number, row))
        return rows


def ragged_indices(counts: IntArray) -> tuple[IntArray, IntArray]:
    """For each entry of lists of these lengths, one after another: the number of its list, and its index there.

    >>> ragged_indices(np.array([2, 0, 1]))
    (array([0, 0, 2]), array([0, 1, 0]))
    """
    lists = np.repeat(np.arange(len(counts)), counts)
    return lists, np.arange(len(lists)) - (np.cumsum(counts) - counts)[lists]
