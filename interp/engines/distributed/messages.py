"""The messages of a distributed run, and their form as bytes.

A batch is a document with its messages and one table of all tags that they mention, so that a deep tag is written
once. A message is a list: the name of its class, then its fields. Scalars are in the form of the project's documents;
arrays are themselves, and become bytes where the batch does (`packing`).

Work messages move a run forward; how many of them were sent and received decides whether it is over (`driver`). The
others ask for work, or are between the driver and the workers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ....core.errors import Crash
from ....core.json.cursor import JsonCursor
from ....core.json.value import JsonValue, read_type, read_value, site_to_json, type_to_json, value_to_json
from ....core.tag import Site, Tag
from ....core.types import Handle, Type, element_type, handle_type
from ....core.value import Value
from ...machine.effects import Outputs
from ...machine.event import Token
from ...records.documents import TagTable, read_tags
from .packing import Buffer, Packed, pack, unpack


class WorkerFailure(Crash):
    """An exception in a worker's own process, with its traceback as `got`; or bytes from it that are not a batch."""


class TokenTransfer(NamedTuple):
    """Tokens under a tag of the receiver, which a firing of this depth sent. `is_argument` says that they enter an
    activation, as an argument or a loop variable; if that is not open yet, the sender donates it."""

    tokens: tuple[Token, ...]
    is_argument: bool
    depth: int


class CloseNotice(NamedTuple):
    """A call or loop that the receiver gave away has closed, with everything below it."""

    parent: Tag
    site: Site


class CoreMessages(NamedTuple):
    """Messages of a compiled worker to another, one a row (`fast.shared_memory.MessageWord`)."""

    rows: npt.NDArray[np.int64]


class FiringRequest(NamedTuple):
    """A firing for the peer that has the cells, the outside world or the device of the node: the token that completed
    the operands, all operands, and the depth that the firing would have without reading cells."""

    token: Token
    inputs: tuple[Value, ...]
    depth: int


class FiringResult(NamedTuple):
    """The result of a `FiringRequest`: outputs or a trap, and the depth of the deepest store that it read from."""

    node: int
    tag: Tag
    outputs: Outputs
    trap: str | None
    depth: int


class WorkRequest(NamedTuple):
    """The sender is idle and asks for an activation."""


class ProxyRequest(NamedTuple):
    """The sender, a compiled worker, is idle and asks for an activation. It has reserved this proxy for the activation
    around it."""

    proxy: int


class WorkRefusal(NamedTuple):
    """The sender has no activation to donate."""


class Probe(NamedTuple):
    """The driver asks for a `Report`."""

    number: int


class Report(NamedTuple):
    """The status of a worker: whether it is idle until it gets a message, how many work messages it has sent and
    received, its firings, and whether it has used up its share of the limit on firings."""

    number: int
    is_idle: bool
    sent_count: int
    received_count: int
    firings: int
    is_stalled: bool


class Pause(NamedTuple):
    """Make no more steps."""


class Resume(NamedTuple):
    """Go on making steps."""


class Save(NamedTuple):
    """Send the stores, as a `SavedStores`."""


class SavedStores(NamedTuple):
    """The stores of a worker, as a document (`stores`); the number of messages of each class that it has sent; and the
    new entries of its timeline, or None."""

    document: Any
    messages: dict[str, int]
    timeline: Any


class Restore(NamedTuple):
    """Continue from these stores. `max_firings` is the greatest number of firings of this worker, None if there is no
    limit."""

    document: Any
    max_firings: int | None


class Allowance(NamedTuple):
    """Another share of the limit on firings: the greatest number of firings of this worker."""

    max_firings: int


class FailureNotice(NamedTuple):
    """The worker has failed; the text says where."""

    text: str


class LimitNotice(NamedTuple):
    """The worker has reached this limit, and makes no more steps."""

    limit: str


Message: TypeAlias = (
    TokenTransfer
    | CloseNotice
    | CoreMessages
    | FiringRequest
    | FiringResult
    | WorkRequest
    | ProxyRequest
    | WorkRefusal
    | Probe
    | Report
    | Pause
    | Resume
    | Save
    | SavedStores
    | Restore
    | Allowance
    | LimitNotice
    | FailureNotice
)
WORK_MESSAGES = (TokenTransfer, CloseNotice, CoreMessages, FiringRequest, FiringResult)
MESSAGE_CLASSES: dict[str, Callable[..., Message]] = {kind.__name__: kind for kind in Message.__args__}


class Batch(NamedTuple):
    """Messages from one peer to another. Batches of an epoch are numbered from 1; number 0 has no messages.
    `acknowledged` is the number up to which the sender has received the receiver's batches."""

    epoch: int
    sender: int
    number: int
    acknowledged: int
    messages: tuple[Message, ...]


def encode_batch(batch: Batch) -> tuple[Buffer, ...]:
    """A batch as a packed document."""
    table = TagTable(())
    messages = [message_to_json(table, message) for message in batch.messages]
    return pack([*batch[:-1], messages, *table_to_json(table)])


def decode_batch(packed: Packed) -> Batch:
    """The batch that `encode_batch` wrote; raises WorkerFailure for other bytes."""
    try:
        epoch, sender, number, acknowledged, messages, sites, tags = unpack(packed)
        if any(type(field) is not int for field in (epoch, sender, number, acknowledged)):
            raise TypeError("the numbers of a batch are integers")
        names = read_names(sites, tags)
        return Batch(epoch, sender, number, acknowledged, tuple(read_message(names, message) for message in messages))
    except MemoryError:
        raise
    except Exception as error:  # what bytes of another form raise where they are read
        raise WorkerFailure("a peer has sent bytes that are not a batch", got=str(error)[:80]) from error


class TagNames(NamedTuple):
    """The tags and sites of a document, by number."""

    tags: list[Tag]
    sites: list[Site]


def table_to_json(table: TagTable) -> tuple[JsonValue, JsonValue]:
    """The sites and the tags of a table."""
    return list(map(site_to_json, table.sites)), table.rows


def read_names(sites: object, tags: object) -> TagNames:
    """The tags and sites that `table_to_json` wrote."""
    cursor = JsonCursor(sites)
    fields = [entry.mapping() for entry in cursor.entries()]
    return TagNames(read_tags(cursor, JsonCursor(tags)), [Site(**site_fields) for site_fields in fields])  # type: ignore[arg-type]


def value_to_data(table: TagTable, value: Value) -> Any:
    """A value as a part of a document: arrays, integers and truth values are themselves, and the tag of a handle is its
    number."""
    if type(value) is int or type(value) is bool:
        return value
    if isinstance(value, Handle):
        return [value.node, table.add(value.tag), value.size, type_to_json(element_type(Type(value.dtype)))]
    return value if isinstance(value, np.ndarray) else value_to_json(value)


def read_data(names: TagNames, data: Any) -> Value:
    """The value that `value_to_data` wrote. In files, arrays are JSON like other values."""
    if isinstance(data, np.ndarray) or type(data) is bool:
        return data
    if type(data) is int:
        return int(np.int64(data))  # raises OverflowError beyond 64 bits
    if type(data) is list:
        node, tag, size, element = data
        return Handle(node, names.tags[tag], size, handle_type(read_type(JsonCursor(element))).dtype)
    return read_value(JsonCursor(data))


def token_to_json(table: TagTable, token: Token) -> JsonValue:
    """A token as a list."""
    return [token.node, token.port, table.add(token.tag), value_to_data(table, token.value)]


def read_token(names: TagNames, data: Any) -> Token:
    """The token that `token_to_json` wrote."""
    node, port, tag, value = data
    return Token(node, port, names.tags[tag], read_data(names, value))


_WRITERS: dict[str, Callable[[TagTable, Any], JsonValue]] = {
    "tokens": lambda table, tokens: [token_to_json(table, token) for token in tokens],
    "token": token_to_json,
    "tag": TagTable.add,
    "parent": TagTable.add,
    "site": TagTable.add_site,
    "inputs": lambda table, inputs: [value_to_data(table, value) for value in inputs],
    "outputs": lambda table, outputs: [[number, value_to_data(table, value)] for number, value in outputs],
}
_READERS: dict[str, Callable[[TagNames, Any], Any]] = {
    "tokens": lambda names, data: tuple(read_token(names, token) for token in data),
    "token": read_token,
    "tag": lambda names, data: names.tags[data],
    "parent": lambda names, data: names.tags[data],
    "site": lambda names, data: names.sites[data],
    "inputs": lambda names, data: tuple(read_data(names, value) for value in data),
    "outputs": lambda names, data: tuple((number, read_data(names, value)) for number, value in data),
}
"""How the fields of messages are written and read, by name; all others are parts of documents already."""


def message_to_json(table: TagTable, message: Message) -> list[JsonValue]:
    """A message as a list: the name of its class, and its fields."""
    fields = zip(message._fields, message, strict=True)
    return [
        type(message).__name__,
        *(_WRITERS[name](table, field) if name in _WRITERS else field for name, field in fields),
    ]


def read_message(names: TagNames, data: Any) -> Message:
    """The message that `message_to_json` wrote."""
    kind, *fields = data
    message_class = MESSAGE_CLASSES[kind]
    pairs = zip(message_class._fields, fields, strict=True)  # type: ignore[attr-defined]
    return message_class(*(_READERS[name](names, field) if name in _READERS else field for name, field in pairs))
