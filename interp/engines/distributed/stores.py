"""The stores of a worker: all that a checkpoint contains, and its form as a document.

A document is data for JSON, in which arrays may occur as well (`packing`). The stores of all workers at a moment when
no message is on its way are the state of the run. A run begins from such documents and is rolled back to them, and its
outcome is read from the last. Tables with a row for each token or each depth of a run are arrays: as lists they would
take several times the memory of the stores themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ....core.graph.graph import Graph
from ....core.tag import Site, Tag
from ....core.types import Handle
from ....core.value import Value
from ...machine.activation import ActivationRecord
from ...machine.cells import CellBlock, CellWrite
from ...machine.event import CellAddress, Event, Token
from ...machine.state import State
from ...outcome.program_order import TaggedNode
from ...records.documents import TagTable
from .messages import (
    FiringRequest,
    TagNames,
    message_to_json,
    read_data,
    read_message,
    read_names,
    read_token,
    table_to_json,
    token_to_json,
    value_to_data,
)
from .meter import DepthMeter

Subtree: TypeAlias = tuple[Tag, Site]
"""A call or a loop, with everything below it: the tag around it, and its site."""
PROXY_SIGNATURE = (1, 0)
"""A proxy waits for an argument that never comes, so it never closes by rule S11."""


@dataclass
class WorkerStores:
    """The stores of a worker: the stores of the reference machine, and the workers that have the rest of the run."""

    state: State
    meter: DepthMeter
    receivers: dict[Subtree, int] = field(default_factory=dict)
    """The workers that have the calls and loops that this worker has donated."""
    donors: dict[Tag, int] = field(default_factory=dict)
    """The workers that have the activations around the calls and loops that were donated to this worker. Each of these
    activations has a proxy here: a record with its tag and its children, and no tokens."""
    requested_tokens: dict[TaggedNode, Token] = field(default_factory=dict)
    """The tokens whose firings another peer performs, by tag and node."""
    fill_depths: dict[CellAddress, int] = field(default_factory=dict)
    """The depth of the store that filled each cell."""
    deferred_requests: dict[TaggedNode, tuple[int, FiringRequest]] = field(default_factory=dict)
    """The requests that wait for a cell to be filled, and the peers that made them."""

    def open_proxy(self, tag: Tag, donor: int) -> None:
        """Open a proxy for an activation that the donor has."""
        self.state.records[tag] = ActivationRecord(tag, PROXY_SIGNATURE, self.state.owner)
        self.donors[tag] = donor


def first_stores(graph: Graph, state: State) -> WorkerStores:
    """Stores with a state in which no step was made."""
    stores = WorkerStores(state, DepthMeter(graph))
    if state.flight:
        stores.meter.expect(list(state.flight), 0)
    return stores


def merge_stores(graph: Graph, parts: Iterable[WorkerStores]) -> WorkerStores:
    """The stores of one machine, merged from the stores of all workers."""
    merged = first_stores(graph, State(graph, None))
    state = merged.state
    sites: Counter[Site] = Counter()
    for part in parts:
        part_state = part.state
        state.records.update((tag, record) for tag, record in part_state.records.items() if tag not in part.donors)
        state.flight.extend(part_state.flight)
        state.results.update(part_state.results)
        state.trap_events += part_state.trap_events
        state.firings_by_node = [a + b for a, b in zip(state.firings_by_node, part_state.firings_by_node, strict=True)]
        sites.update(part_state.activations_by_site)
        state.firings += part_state.firings
        state.steps += part_state.steps
        state.waiting_count += part_state.waiting_count
        state.cells.blocks.update(part_state.cells.blocks)
        state.cells.deferred_count += part_state.cells.deferred_count
        merged.meter.add(part.meter)
    state.activations_by_site = dict(sites)
    return merged


def stores_to_json(stores: WorkerStores) -> Any:
    """The stores as a document."""
    state, meter, table = stores.state, stores.meter, TagTable(())
    content = {
        **_records_to_data(table, state.records.values()),
        "flight": [token_to_json(table, token) for token in state.flight],
        "results": [[position, value_to_data(table, value)] for position, value in state.results.items()],
        "traps": [
            [
                token_to_json(table, event.token),
                [value_to_data(table, value) for value in event.inputs or ()],
                event.trap,
            ]
            for event in state.trap_events
        ],
        "firings": list(state.firings_by_node),
        "activations": [[table.add_site(site), count] for site, count in state.activations_by_site.items()],
        "steps": state.steps,
        "cells": [_cells_to_json(table, handle, block) for handle, block in state.cells.blocks.items()],
        "depths": _rows(
            4, ((node, port, table.add(tag), depth) for (node, port, tag), depth in meter.operand_depths.items())
        ),
        "counts": [_rows(2, counts.items()) for counts in (meter.firings, meter.tokens, meter.waiting_changes)],
        "deepest": meter.deepest_tag,
        "receivers": [[table.add(tag), table.add_site(site), rank] for (tag, site), rank in stores.receivers.items()],
        "givers": [[table.add(tag), rank] for tag, rank in stores.donors.items()],
        "requested": [token_to_json(table, token) for token in stores.requested_tokens.values()],
        "filled": [
            [value_to_data(table, cell.handle), cell.number, depth] for cell, depth in stores.fill_depths.items()
        ],
        "deferred": [
            [client, message_to_json(table, request)] for client, request in stores.deferred_requests.values()
        ],
    }
    sites, tags = table_to_json(table)
    return {**content, "sites": sites, "tags": tags}


def read_stores(document: Any, state: State) -> WorkerStores:
    """The stores of a document; `state` is one without any activation, and becomes theirs."""
    names, stores = read_names(document["sites"], document["tags"]), first_stores(state.graph, state)
    meter, tags = stores.meter, names.tags
    stores.receivers = {(tags[tag], names.sites[site]): rank for tag, site, rank in document["receivers"]}
    stores.donors = {tags[tag]: rank for tag, rank in document["givers"]}
    _read_records(names, document, stores)
    for tag in state.records:
        if tag.parent in state.records:
            state.records[tag.parent].child_tags[tag.site, tag.iteration] = tag
    state.flight.extend(read_token(names, data) for data in document["flight"])
    state.results = {position: read_data(names, value) for position, value in document["results"]}
    for token, inputs, trap in document["traps"]:
        operands = tuple(read_data(names, fields) for fields in inputs)
        state.trap_events.append(Event(read_token(names, token), 0, operands, (), (), trap, (), False))
    state.firings_by_node = document["firings"]
    state.firings, state.steps = sum(state.firings_by_node), document["steps"]
    state.activations_by_site = {names.sites[site]: count for site, count in document["activations"]}
    for data in document["cells"]:
        _read_cells(names, data, state)
    depths = _read_rows(names, 4, document["depths"])
    meter.operand_depths = {(node, port, tags[tag]): depth for node, port, tag, depth in depths}
    meter.firings, meter.tokens, meter.waiting_changes = (
        Counter(dict(_read_rows(names, 2, counts))) for counts in document["counts"]
    )
    meter.deepest_tag = document["deepest"]
    tokens = [read_token(names, data) for data in document["requested"]]
    stores.requested_tokens = {(token.tag, token.node): token for token in tokens}
    for handle, number, depth in document["filled"]:
        stores.fill_depths[CellAddress(_read_handle(names, handle), number)] = depth
    for client, data in document["deferred"]:
        request = read_message(names, data)
        assert isinstance(request, FiringRequest)
        stores.deferred_requests[request.token.tag, request.token.node] = client, request
    return stores


def _rows(width: int, rows: Iterable[tuple[int, ...]]) -> npt.NDArray[np.int64]:
    """Rows of `width` integers, as an array."""
    return np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, width)


def _read_rows(names: TagNames, width: int, data: Any) -> Iterator[Any]:
    """The rows of an array of integers. Raises ValueError for any other value."""
    rows = read_data(names, data)
    if not isinstance(rows, np.ndarray) or rows.dtype != np.int64 or rows.shape[1:] != (width,):
        raise ValueError(f"this has no rows of {width} integers")
    return zip(*(column.tolist() for column in rows.T), strict=True)


def _records_to_data(table: TagTable, records: Collection[ActivationRecord]) -> dict[str, Any]:
    """Activation records as parts of a document: their tags and counts, the nodes that have fired in each, the places
    of the operands that wait in each, and these operands."""
    columns = (
        (
            table.add(record.tag),
            record.token_count,
            record.open_children,
            record.arguments_received,
            record.results_returned,
        )
        for record in records
    )
    fired_nodes = ((number, node) for number, record in enumerate(records) for node in record.fired_nodes)
    return {
        "records": _rows(5, columns),
        "fired": _rows(2, fired_nodes),
        "waiting": _rows(3, (place for place, _ in _waiting_operands(records))),
        "operands": [value_to_data(table, value) for _, value in _waiting_operands(records)],
    }


def _waiting_operands(records: Iterable[ActivationRecord]) -> Iterator[tuple[tuple[int, int, int], Value]]:
    """The operands that wait, each after its place: the number of its record, its node and its port."""
    for number, record in enumerate(records):
        for node, operands in record.waiting_operands.items():
            for port, value in operands.items():
                yield (number, node, port), value


def _read_records(names: TagNames, document: Any, stores: WorkerStores) -> None:
    """Open the activation records of a document, with the proxies among them."""
    state, records = stores.state, []
    for number, *counts in _read_rows(names, 5, document["records"]):
        tag = names.tags[number]
        signature = PROXY_SIGNATURE if tag in stores.donors else state.signatures.get(tag.site, (0, 0))
        record = state.records[tag] = ActivationRecord(tag, signature, state.owner)
        record.token_count, record.open_children, record.arguments_received, record.results_returned = counts
        records.append(record)
    for number, node in _read_rows(names, 2, document["fired"]):
        records[number].fired_nodes.add(node)
    for (number, node, port), value in zip(
        _read_rows(names, 3, document["waiting"]), document["operands"], strict=True
    ):
        records[number].waiting_operands.setdefault(node, {})[port] = read_data(names, value)
        state.waiting_count += 1


def _cells_to_json(table: TagTable, handle: Handle, block: CellBlock) -> Any:
    return [
        value_to_data(table, handle),
        [
            [number, write.node, table.add(write.tag), [value_to_data(table, value) for value in write.inputs]]
            for number, writes in block.writes.items()
            for write in writes
        ],
        [[number, token_to_json(table, token)] for number, tokens in block.deferred_reads.items() for token in tokens],
    ]


def _read_cells(names: TagNames, data: Any, state: State) -> None:
    handle_data, writes, deferred_reads = data
    handle, heap = _read_handle(names, handle_data), state.cells
    block = heap.blocks[handle] = CellBlock(handle.size, heap.owner)
    for number, node, tag, inputs in writes:
        write = CellWrite(node, names.tags[tag], tuple(read_data(names, fields) for fields in inputs))
        block.writes[number] = (*block.writes.get(number, ()), write)
    for number, token in deferred_reads:
        heap.defer(CellAddress(handle, number), read_token(names, token))


def _read_handle(names: TagNames, data: Any) -> Handle:
    handle = read_data(names, data)
    assert isinstance(handle, Handle)
    return handle
