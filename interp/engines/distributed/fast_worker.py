"""A compiled worker: one core of a parallel run of `fast`, whose messages to the other cores travel over links.

Its process has the shared words of all cores, but runs one of them. After each run of that core, the messages in its
rings to the other cores are sent to their workers, which put them into their own rings; messages of a ring stay in
order, and no more is needed. An idle core that requests an activation gets it from one worker, which is asked. The
request stands until this worker donates an activation or refuses; meanwhile the requester cannot withdraw it, as if a
core had taken it. So no two workers donate to one proxy.

The stores of all workers at a moment without messages in transit are the stores of a parallel run, from which the
driver makes the outcome as that run does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ....core.errors import TagloomError, Usage
from ....core.frontend.trace.pytree import TreeDef
from ....core.graph.graph import Graph
from ....core.json.cursor import JsonCursor
from ....core.json.graph import graph_to_json, read_graph
from ...image.image import CACHE_LINE_WORDS, WordArray, cached_image
from ...machine.state import State
from ...outcome.outcome import ClusterUse, Outcome
from ...records.documents import TagTable
from ..fast.host_firings import HostDelivery
from ..fast.layout import Register
from ..fast.parallel.run import BURST_TOKENS, CoreTrap, ParallelRun
from ..fast.parallel.store import CoreStore, supports_parallel_run, supports_placement
from ..fast.shared_memory import (
    RING_CAPACITY,
    CoreLine,
    MessageKind,
    MessageWord,
    SharedLine,
    fill_ring,
    read_ring,
    ring_length,
)
from ..jit.cache import numba_unavailable
from ..limits import Limits
from .channels import Channels
from .links import DRIVER, Links
from .messages import (
    CoreMessages,
    FailureNotice,
    LimitNotice,
    Message,
    Pause,
    Probe,
    ProxyRequest,
    Report,
    Restore,
    Resume,
    Save,
    SavedStores,
    TagNames,
    WorkRefusal,
    read_data,
    value_to_data,
)

TOKENS_PER_STEP = 1000
"""The tokens that a compiled worker delivers where another makes a step; both take some 10 us."""
MAX_RUNS_PER_TURN = 64
"""The most runs of the core in a turn: traps and growing arrays interrupt it."""
MAX_BATCH_MESSAGES = 1500
"""The most messages for a worker in a turn: 96 kB, since Ray takes another, slower way from 100 kB."""
MAX_FIRE_REQUESTS = 2**15
"""The most firings that a worker requests of others before it waits for outputs: 4 MB of messages, there and back. At a
million of them per second, it does not wait if outputs arrive within 30 ms."""
MAX_REQUEST_TURNS = 20
"""The most turns that a busy worker keeps a request, if the requester could ask another worker."""
MAX_BACKOFF = 64
"""The most turns that an idle worker waits after a refusal before it asks the next worker."""


class FastWorker:
    """A compiled worker of a run. It does nothing between two calls of `take_turn`."""

    def __init__(
        self,
        graph: Graph,
        links: Links,
        worker_count: int,
        limits: Limits,
        epoch: int = 0,
        ranks: Sequence[int | None] = (),
        *,
        tokens_per_step: int = 1,
    ) -> None:
        """`limits` are this worker's share. It takes part in epochs after `epoch`. `ranks` are the ranks of the
        `WorkerPlacement`, if the program has devices."""
        self.rank, self._worker_count = links.rank, worker_count
        self.channels = Channels(links, epoch)
        self._graph, self._limits, self._ranks, self._tokens_per_step = graph, limits, ranks, tokens_per_step
        self._other_ranks = [rank for rank in range(worker_count) if rank != self.rank]
        self._load(None)

    def _load(self, document: Any) -> None:
        """Continue from these stores, or begin with empty ones."""
        self._run = ParallelRun(State(self._graph, None), self._limits, self._worker_count)
        self._words, self._store = self._run.shared_words, self._run.stores[self.rank]
        self._store.place_nodes(self._ranks)
        self._words[SharedLine.MAX_FIRE_REQUESTS] = MAX_FIRE_REQUESTS
        self._unread_rows = {rank: deque[WordArray]() for rank in self._other_ranks}
        """The messages that have arrived and are not in a ring, by sender."""
        self._unsent_rows: dict[int, list[WordArray]] = {rank: [] for rank in self._other_ranks}
        """The messages of this turn, by receiver."""
        self._words[CACHE_LINE_WORDS : (1 + self._worker_count) * CACHE_LINE_WORDS : CACHE_LINE_WORDS] = 0
        """No core is idle as far as this one knows: the driver finds out when the run is over."""
        if document is not None:
            read_store(document, self._run, self._store)
            for sender, rows in document["unread"]:
                self._unread_rows[sender].append(rows)
            openings = (opening_rows(rows) for _, rows in document["unread"])
            if not any(rows[:, MessageWord.TARGET].any() for rows in openings):  # one has met the request
                self._request_again()
        self.is_paused = self.is_stopped = False
        """Whether the driver has paused this worker, and whether it has reached a limit."""
        self._requests: dict[int, int] = {}
        """The turns that each request of another worker has been standing."""
        self._next_victim = self._backoff = self._turns_to_wait = 0

    @property
    def can_step(self) -> bool:
        """Whether this worker may deliver tokens."""
        return self.channels.has_begun and not (self.is_paused or self.is_stopped)

    @property
    def has_work(self) -> bool:
        """Whether there is a token to deliver, or a message to read or to write."""
        registers = self._store.registers
        if registers[Register.CLOSED_PROXIES]:
            return True
        if registers[Register.FLIGHT_LENGTH] and registers[Register.FIRE_REQUESTS] < MAX_FIRE_REQUESTS:
            return True
        return any(self._unread_rows[rank] or ring_length(self._words, rank, self.rank) for rank in self._other_ranks)

    @property
    def is_idle(self) -> bool:
        """Whether this worker delivers nothing before it gets a message."""
        return not (self.has_work and self.can_step)

    def take_turn(self, max_steps: int) -> None:
        """Handle the messages that have arrived, deliver tokens, and send messages."""
        for sender, message in self.channels.receive():
            self._handle(sender, message)
        if self.can_step:
            self._run_core(max_steps * self._tokens_per_step)
            self._send_messages()
        if self.can_step:
            self._answer_requests()
            self._ask_for_work()
        self.channels.flush()

    def report_failure(self, text: str) -> None:
        """Tell the driver about an exception; `text` is its traceback."""
        self.channels.send(DRIVER, FailureNotice(text))
        self.channels.flush()

    def _handle(self, sender: int, message: Message) -> None:
        match message:
            case CoreMessages(rows):
                self._unread_rows[sender].append(rows)
            case ProxyRequest(proxy):
                self._write_request(sender, proxy)
                self._requests[sender] = 0
            case WorkRefusal():
                self._request_again()
                self._backoff = min(2 * self._backoff + 1, MAX_BACKOFF)
                self._turns_to_wait = self._backoff
            case Probe(number):
                sent_count, received_count = self.channels.work_sent, self.channels.work_received
                firings = int(self._store.registers[Register.FIRINGS])
                self.channels.send(
                    DRIVER, Report(number, self.is_idle, sent_count, received_count, firings, is_stalled=False)
                )
            case Pause():
                self.is_paused = True
            case Resume():
                self.is_paused = False
            case Save():
                self.channels.send(DRIVER, SavedStores(self._document(), dict(self.channels.message_counts), None))
            case Restore(document):
                self._load(document)

    def _document(self) -> Any:
        """The stores of this worker, as a document."""
        for sender, unread_rows in self._unread_rows.items():
            unread_rows.appendleft(read_ring(self._words, sender, self.rank))
        unread_messages = [
            [sender, rows] for sender, batches in self._unread_rows.items() for rows in batches if len(rows)
        ]
        return store_to_data(self._store, self._run.traps, unread_messages)

    # Steps

    def _run_core(self, tokens: int) -> None:
        """Let the core deliver so many tokens, and carry messages to and from it. An idle core looks for messages, and
        requests an activation."""
        self._words[SharedLine.BURST_TOKENS] = burst = min(tokens, BURST_TOKENS)
        registers, self._store.idle_sleep = self._store.registers, 0.0
        last_step = int(registers[Register.STEPS]) + tokens
        for _ in range(MAX_RUNS_PER_TURN):
            self._fill_rings()
            self._run.run_bursts(self._store, max((last_step - int(registers[Register.STEPS])) // burst, 1))
            is_batch_full = self._take_messages() > MAX_BATCH_MESSAGES - RING_CAPACITY
            if self._run.end_reason == "quiet":  # the only core of a run
                self._run.withdraw_stop()
            elif self._run.end_reason is not None:
                self._stop(self._run.end_reason)
            if registers[Register.STEPS] >= last_step or is_batch_full or self.is_idle:
                return

    def _stop(self, reason: str) -> None:
        self.is_stopped = True
        self.channels.send(DRIVER, LimitNotice("bytes" if reason == "memory" else reason))

    def _fill_rings(self) -> None:
        """Put messages that have arrived into the rings of their senders, as far as there is room."""
        for sender, unread_rows in self._unread_rows.items():
            while unread_rows:
                rows = unread_rows.popleft()
                count = fill_ring(self._words, sender, self.rank, rows=rows)
                if count < len(rows):
                    unread_rows.appendleft(rows[count:])
                    break

    def _take_messages(self) -> int:
        """Take the messages out of the rings to other cores; returns how many one of them gets in this turn."""
        for receiver, rows in self._unsent_rows.items():
            if ring_length(self._words, self.rank, receiver):
                rows.append(read_ring(self._words, self.rank, receiver))
        return max((sum(map(len, rows)) for rows in self._unsent_rows.values()), default=0)

    def _send_messages(self) -> None:
        """Send the messages of this turn."""
        for receiver, rows in self._unsent_rows.items():
            if rows:
                self.channels.send(receiver, CoreMessages(np.concatenate(rows)))
                rows.clear()

    # Requests for activations

    def _request(self, rank: int) -> int:
        """The proxy of the request of a worker that stands here; 0 if there is none."""
        return int(self._words[(1 + rank) * CACHE_LINE_WORDS + CoreLine.REQUESTED_PROXY])

    def _write_request(self, rank: int, proxy: int) -> None:
        self._words[(1 + rank) * CACHE_LINE_WORDS + CoreLine.REQUESTED_PROXY] = proxy

    def _request_again(self) -> None:
        """Let the core's request stand here, as if nobody had seen it."""
        self._write_request(self.rank, int(self._store.registers[Register.REQUESTED_PROXY]))

    def _answer_requests(self) -> None:
        """Forget requests that the core has met, and refuse those that it cannot meet."""
        max_turns = MAX_REQUEST_TURNS if self._worker_count > 2 else None
        for rank, turns in list(self._requests.items()):
            if not self._request(rank):
                del self._requests[rank]
            elif not self.has_work or turns == max_turns:
                self._write_request(rank, 0)
                self.channels.send(rank, WorkRefusal())
                del self._requests[rank]
            else:
                self._requests[rank] += 1

    def _ask_for_work(self) -> None:
        """Send the core's request to the next worker."""
        if self._turns_to_wait:
            self._turns_to_wait -= 1
        elif proxy := self._request(self.rank):
            self._write_request(self.rank, 0)
            self.channels.send(self._other_ranks[self._next_victim], ProxyRequest(proxy))
            self._next_victim = (self._next_victim + 1) % len(self._other_ranks)


# What the driver does with compiled workers


def supports_fast_workers(graph: Graph, ranks: Sequence[int | None] = ()) -> bool:
    """Whether compiled workers can run a graph with its nodes on these workers: one without effects, cells, random
    numbers and arrays, which is not too large for an image. Without numba, they can run none."""
    if numba_unavailable() is not None:
        return False
    try:
        image = cached_image(graph, {})
        return supports_parallel_run(image) and supports_placement(image, ranks)
    except Usage:
        return False


def fast_job(graph: Graph, worker_count: int, share: Limits, ranks: Sequence[int | None] = ()) -> dict[str, Any]:
    """The job of every compiled worker of a run: `share` are its limits, and `ranks` the ranks of the
    `WorkerPlacement`."""
    return {
        "builder": f"{__name__}:build_fast_worker",
        "graph": graph_to_json(graph),
        "workers": worker_count,
        "limits": {"depth": share.depth, "bytes": share.bytes},
        "ranks": list(ranks),
    }


def build_fast_worker(job: dict[str, Any], links: Links, epoch: int) -> FastWorker:
    """The worker of a job; it takes part in epochs after `epoch`."""
    graph, limits = read_graph(JsonCursor(job["graph"])), Limits(**job["limits"])
    return FastWorker(graph, links, job["workers"], limits, epoch, job["ranks"], tokens_per_step=TOKENS_PER_STEP)


def first_fast_stores(run: ParallelRun) -> list[Any]:
    """The stores of each worker at the beginning of a run, as documents."""
    return [store_to_data(store, (), ()) for store in run.stores]


def fast_outcome(
    run: ParallelRun, documents: Iterable[Any], error: TagloomError | None, structure: TreeDef, cluster: ClusterUse
) -> Outcome:
    """The outcome of a run that ended with these stores. `run` is the parallel run that it began as."""
    for store, document in zip(run.stores, documents, strict=True):
        read_store(document, run, store)
        run.unread_openings += (opening_rows(rows) for _, rows in document["unread"])
    return run.build_outcome(error, engine="distributed", structure=structure, cluster=cluster)


def opening_rows(rows: WordArray) -> WordArray:
    """The messages that open an activation."""
    result: WordArray = rows[rows[:, MessageWord.KIND] == MessageKind.OPEN]
    return result


def store_to_data(store: CoreStore, traps: Sequence[CoreTrap], unread_messages: Sequence[Any]) -> Any:
    """A store, with its traps and the messages that it has not read, as a part of a document (`packing`)."""
    return {
        "firings": store.firing_counts.tolist(),
        "steps": int(store.registers[Register.STEPS]),
        "store": store.contents(),
        "traps": [
            [*delivery[:-1], [value_to_data(TagTable(()), value) for value in delivery.inputs], trap]
            for _, delivery, trap in traps
        ],
        "unread": unread_messages,
    }


def read_store(document: Any, run: ParallelRun, store: CoreStore) -> None:
    """Restore a store of a run, with its traps, from a document."""
    store.restore(document["store"])
    for node, port, frame, word, position, inputs, trap in document["traps"]:
        values = tuple(read_data(TagNames([], []), value) for value in inputs)
        run.traps.append(CoreTrap(store, HostDelivery(node, port, frame, word, position, values), trap))
