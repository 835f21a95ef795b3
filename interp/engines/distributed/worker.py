"""A worker: a reference machine that has some of the activations of a run.

Work moves by activations. An idle worker asks another one for work, which donates the outermost call or loop that one
of its tokens opens: it sends the tokens that enter it, instead of putting them into its own flight. Everything below
runs on the receiver, unless the receiver donates a part of it in turn. No activation moves once it is open, and no
store belongs to two workers. The donor notes the receiver of each call and loop; the receiver has a *proxy* for the
activation around it, so that results find their way back, and a notice when all below has closed.

A firing with an effect is performed where its effect is, with all operands in one message: prints and callbacks by the
driver, and those that use cells by the worker that has the cells, as in a machine with I-structure memory (`memory`).
Meanwhile the token that completed the operands is set aside. The machine treats the node of such a firing as an
ordinary node, whose result comes from another peer. Nodes of a device fire there in the same way (`placement`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

from ....core.errors import Exhausted
from ....core.graph.graph import Graph
from ....core.ops.effects import resource_of
from ....core.tag import Site, Tag
from ...machine.event import ClosedActivation, Event, Token
from ...machine.fire import FiringRule, build_rules
from ...machine.schedule import schedule
from ...machine.state import State
from ...machine.step import activations_to_close, completes_operands, match_operands, step
from ...outcome.outcome import limit_exceeded
from ..limits import CLOCK_CHECK_STEPS, LimitMonitor, Limits, external_limit_error
from ..long_ops import OpAbandoned
from ..reference import step_within_limits
from .channels import Channels
from .links import DRIVER, Links
from .memory import CellMemory, memory_rank
from .messages import (
    Allowance,
    CloseNotice,
    FailureNotice,
    FiringRequest,
    FiringResult,
    LimitNotice,
    Message,
    Pause,
    Probe,
    Report,
    Restore,
    Resume,
    Save,
    SavedStores,
    TokenTransfer,
    WorkRefusal,
    WorkRequest,
)
from .placement import ENTRY_OPS, fire_placed
from .stores import WorkerStores, first_stores, read_stores, stores_to_json
from .timeline import timeline_to_json

DONATION_WINDOW = 128
"""The number of oldest tokens that are searched for one that opens an activation."""
MAX_DONATION_DELIVERIES = 64
"""The most tokens that are delivered to find one."""
MAX_BACKOFF = 64
"""The most turns that an idle worker waits after a refusal before it asks the next worker."""


class Worker:
    """A worker of a run. It does nothing between two calls of `take_turn`."""

    def __init__(
        self,
        graph: Graph,
        links: Links,
        worker_count: int,
        monitor: LimitMonitor,
        limits: Limits,
        seed: int = 0,
        order: str = "lifo",
        epoch: int = 0,
        ranks: Sequence[int | None] | None = None,
        *,
        has_timeline: bool = False,
    ) -> None:
        """`limits` are this worker's share; `seed` seeds random numbers, and `order` is the schedule of its flight. It
        takes part in epochs after `epoch`. `ranks` are the ranks of the `WorkerPlacement`."""
        self.graph, self.rank, self.worker_count = graph, links.rank, worker_count
        self.channels = Channels(links, epoch, has_timeline=has_timeline)
        self._recorder = self.channels.recorder
        self._monitor, self._limits, self._seed, self._pick = monitor, limits, seed, schedule(order)
        self._own_rules = build_rules(graph, seed)
        self._effects = [rule.effect for rule in self._own_rules]
        self._ranks = (None,) * len(graph.nodes) if ranks is None else ranks
        self._is_remote = [
            rule.effect is not None or (rule.node.op not in ENTRY_OPS and rank not in (None, self.rank))
            for rule, rank in zip(self._own_rules, self._ranks, strict=True)
        ]
        """Whether each node fires elsewhere, or has an effect."""
        self._rules = tuple(
            self._remote_rule(rule) if is_remote else rule
            for rule, is_remote in zip(self._own_rules, self._is_remote, strict=True)
        )
        self._result: FiringResult | None = None
        """The result of the firing elsewhere that is being completed."""
        self._last_event: Event | None = None
        """The last event of a step. Its result may not be counted toward the limit on memory yet."""
        self._load(first_stores(graph, self._new_state()), None)

    def _new_state(self) -> State:
        state = State(self.graph, None, seed=self._seed)
        state.rules = self._rules
        return state

    def _load(self, stores: WorkerStores, max_firings: int | None) -> None:
        """Continue from these stores."""
        self.stores, self._state, self._meter = stores, stores.state, stores.meter
        self._memory = CellMemory(stores, self._effects)
        self._allow(max_firings)
        if self._recorder is not None:
            self._recorder.take_entries()
        self.is_paused = self.is_stopped = False
        """Whether the driver has paused this worker, and whether it has reached a limit."""
        self._work_requests: deque[int] = deque()
        """The workers that have asked for an activation and got no answer."""
        self._has_asked = False
        """Whether this worker has asked for an activation and got no answer."""
        self._next_victim = self._backoff = self._turns_to_wait = 0

    def _allow(self, max_firings: int | None) -> None:
        self._max_firings, self.is_stalled = max_firings, False
        """The most firings, and whether this worker has used them up."""
        self._reserve_firings()

    def _reserve_firings(self) -> None:
        """Reserve a firing for each request to another peer."""
        if self._max_firings is not None:
            firings = max(self._max_firings - len(self.stores.requested_tokens), 0)
            self._limits = replace(self._limits, firings=firings)

    @property
    def can_step(self) -> bool:
        """Whether this worker may make steps."""
        return self.channels.has_begun and not (self.is_paused or self.is_stalled or self.is_stopped)

    @property
    def is_idle(self) -> bool:
        """Whether this worker makes no step before it gets a message."""
        return not (self._state.flight and self.can_step)

    def take_turn(self, max_steps: int) -> None:
        """Handle the messages that have arrived, make steps, and send messages."""
        for sender, message in self.channels.receive():
            self._handle(sender, message)
        if self.can_step:
            self._answer_work_requests()
        for _ in range(max_steps):
            if not (self._state.flight and self.can_step):
                break
            self._deliver(self._pick(self._state))
        if self.can_step and not self._state.flight:
            self._ask_for_work()
        self.channels.flush()

    def report_failure(self, text: str) -> None:
        """Tell the driver about an exception; `text` is its traceback."""
        self.channels.send(DRIVER, FailureNotice(text))
        self.channels.flush()

    def _handle(self, sender: int, message: Message) -> None:
        match message:
            case TokenTransfer():
                self._receive_tokens(sender, message)
            case CloseNotice(parent, site):
                self._note_close(parent, site)
            case FiringRequest():
                self._perform(sender, message)
            case FiringResult():
                self._complete(message)
            case WorkRequest():
                self._work_requests.append(sender)
            case WorkRefusal():
                self._has_asked = False
                self._backoff = min(2 * self._backoff + 1, MAX_BACKOFF)
                self._turns_to_wait = self._backoff
            case Probe(number):
                self.channels.send(DRIVER, self._report(number))
            case Pause():
                self.is_paused = True
            case Resume():
                self.is_paused = False
            case Save():
                document = stores_to_json(self.stores)
                timeline = None if self._recorder is None else timeline_to_json(self._recorder.take_entries())
                self.channels.send(DRIVER, SavedStores(document, dict(self.channels.message_counts), timeline))
            case Restore(document, max_firings):
                self._load(read_stores(document, self._new_state()), max_firings)
            case Allowance(max_firings):
                self._allow(max_firings)

    def _report(self, number: int) -> Report:
        return Report(
            number,
            is_idle=self.is_idle,
            sent_count=self.channels.work_sent,
            received_count=self.channels.work_received,
            firings=self._state.firings + len(self.stores.requested_tokens),
            is_stalled=self.is_stalled,
        )

    # Steps

    def _deliver(self, position: int, receiver: int | None = None) -> bool:
        """Deliver the token at this position of the flight; returns whether a limit allowed it. An activation that it
        opens is given to the `receiver`, if there is one, or to the worker of its device."""
        state, token = self._state, self._state.flight[position]
        if receiver is None and self._ranks[token.node] not in (None, self.rank) and self._opens_activation(token):
            receiver = self._ranks[token.node]
        is_check_due = token.node in state.limit_checked_nodes
        start = 0.0 if self._recorder is None else self._recorder.clock()
        try:
            if is_check_due or not state.steps % CLOCK_CHECK_STEPS:
                exceeded_limit = self._monitor.exceeded_limit(state.steps, self._last_event)
                if exceeded_limit is not None:
                    raise external_limit_error(exceeded_limit, self._limits)
            if self._is_remote[token.node] and completes_operands(state, token):
                self._request_firing(position)
            else:
                event = step_within_limits(state, position, self._limits, self._monitor, is_check_due=is_check_due)
                self._last_event = event
                if self._recorder is not None and event.inputs is not None:
                    self._recorder.record_firing(token.node, token.tag, start)
                self._apply(event, receiver=receiver)
        except Exhausted as error:
            self._stop(error)
            return False
        return True

    def _stop(self, error: Exhausted) -> None:
        if error.limit == "firings":
            self.is_stalled = True
        else:
            self.is_stopped = True
            self.channels.send(DRIVER, LimitNotice(str(error.limit)))

    def _apply(self, event: Event, *, least_depth: int = 1, receiver: int | None = None) -> None:
        """Apply an event; if its tokens go to an activation on another worker, send them there."""
        state, sent_tokens = self._state, event.sent
        depth = 0 if event.inputs is None else self._meter.count_firing(event.token, least_depth)
        if sent_tokens and sent_tokens[0].node >= 0:
            tag = sent_tokens[0].tag
            if receiver is not None:
                rank = self._note_donation(tag, receiver)
            else:  # a firing is on the worker of its activation: a look-up takes a tenth of the time of a firing
                rank = self.rank if tag is event.token.tag else self._rank_of(tag)
            if rank == self.rank:
                self._meter.expect(sent_tokens, depth)
            else:
                is_argument = state.rules[event.token.node].sends_argument and tag is not event.token.tag.parent
                self._send_work(rank, TokenTransfer(sent_tokens, is_argument, depth))
                event = event._replace(sent=())
        state.apply(event)
        if event.closed:
            self._report_closed(event.closed)

    def _rank_of(self, tag: Tag) -> int:
        """The worker that has, or will have, the activation of this tag: a call or loop below this tag or a parent of
        one on this worker."""
        stores = self.stores
        if tag in stores.donors:
            return stores.donors[tag]
        if tag in self._state.records or tag.parent is None:
            return self.rank
        return stores.receivers.get((tag.parent, tag.site), self.rank)

    def _send_work(self, rank: int, message: TokenTransfer | CloseNotice | FiringRequest | FiringResult) -> None:
        """Send a message, or handle it here if this worker is the receiver."""
        if rank == self.rank:
            self._handle(rank, message)
        else:
            self.channels.send(rank, message)

    # Donations of activations

    def _answer_work_requests(self) -> None:
        """Donate an activation to each worker that has asked for one, as long as there are any; refuse the others."""
        while self._work_requests:
            receiver = self._work_requests.popleft()
            if not self._donate_activation(receiver):
                self.channels.send(receiver, WorkRefusal())

    def _donate_activation(self, receiver: int) -> bool:
        """Donate the outermost activation that one of the oldest tokens opens; returns whether there is one. If none
        of them opens one, the outermost tokens are delivered until one does. The only token is not donated:
        otherwise a chain of calls would move from worker to worker."""
        flight = self._state.flight
        for _ in range(MAX_DONATION_DELIVERIES):
            if len(flight) < 2:
                break
            oldest = enumerate(islice(flight, DONATION_WINDOW))
            opens_none, _, position = min(
                (not self._opens_free_activation(token), token.tag.depth, position) for position, token in oldest
            )
            if not self._deliver(position, None if opens_none else receiver):
                break
            if not opens_none:
                return True
        return False

    def _opens_activation(self, token: Token) -> bool:
        """Whether a token is the first that enters a call or a loop."""
        node, record = self.graph.nodes[token.node], self._state.records[token.tag]
        if node.op not in ENTRY_OPS or node.site is None:
            return False
        return (token.tag, node.site) not in self.stores.receivers and (node.site, 0) not in record.child_tags

    def _opens_free_activation(self, token: Token) -> bool:
        """Whether a token is the first that enters a call or a loop that may be on any worker."""
        return self._ranks[token.node] is None and self._opens_activation(token)

    def _note_donation(self, tag: Tag, receiver: int) -> int:
        """Note that the call or loop of this tag is the receiver's, from now on; returns the receiver."""
        assert tag.parent is not None
        self.stores.receivers[tag.parent, tag.site] = receiver
        self._state.records[tag.parent].open_children += 1
        return receiver

    def _receive_tokens(self, sender: int, transfer: TokenTransfer) -> None:
        """Put tokens from another worker into the flight, under the tag that this machine has interned."""
        tag, stores, state = transfer.tokens[0].tag, self.stores, self._state
        if tag in state.records:
            tag = state.records[tag].tag
        elif tag.parent is not None:
            if tag.parent not in state.records:
                stores.open_proxy(tag.parent, sender)
            tag = state.child(state.records[tag.parent].tag, tag.site, tag.iteration)
            self._has_asked, self._backoff = False, 0
        tokens = [token._replace(tag=tag) for token in transfer.tokens]
        state.receive(tokens, is_argument=transfer.is_argument)
        self._meter.expect(tokens, transfer.depth)

    def _report_closed(self, closed_activations: Iterable[ClosedActivation]) -> None:
        """Tell the donors of calls and loops that these have closed, with everything below them."""
        stores, records = self.stores, self._state.records
        for activation in closed_activations:
            parent, site = activation.tag.parent, activation.tag.site
            if parent is None or parent not in stores.donors:
                continue
            proxy = records[parent]
            if not any(child_site == site for child_site, _ in proxy.child_tags):
                self._send_work(stores.donors[parent], CloseNotice(parent, site))
            if not proxy.open_children:
                del records[parent], stores.donors[parent]

    def _note_close(self, parent: Tag, site: Site) -> None:
        """A donated call or loop has closed; with it, perhaps, the activation around it (S11)."""
        del self.stores.receivers[parent, site]
        record = self._state.records[parent]
        record.open_children -= 1
        if record.token_count == record.open_children == 0:
            closed_activations = activations_to_close(self._state, record, record.fired_nodes, record.results_returned)
            for activation in closed_activations:
                self._state.close_record(activation.tag)
            self._report_closed(closed_activations)

    def _ask_for_work(self) -> None:
        """Ask one of the other workers for an activation, unless one has been asked, or refused a while ago."""
        if self._has_asked or self.worker_count == 1:
            return
        if self._turns_to_wait:
            self._turns_to_wait -= 1
            return
        self._next_victim = (self._next_victim + 1) % (self.worker_count - 1)
        self._has_asked = True
        self.channels.send((self.rank + 1 + self._next_victim) % self.worker_count, WorkRequest())

    # Firings elsewhere

    def _remote_rule(self, rule: FiringRule) -> FiringRule:
        """The rule of a node that fires elsewhere or has an effect, once its result has arrived."""

        def result() -> FiringResult:
            assert self._result is not None
            return self._result

        return replace(
            rule, effect=None, compute=lambda inputs, tag: result().outputs, find_trap=lambda inputs: result().trap
        )

    def _request_firing(self, position: int) -> None:
        """Ask the peer that has the effect, or the device, to perform a firing; set the completing token aside."""
        state, stores = self._state, self.stores
        if state.firings >= self._limits.max_firings:
            raise limit_exceeded("firings", "firings", self._limits.max_firings)
        token = state.flight[position]
        inputs = match_operands(state, state.rules[token.node], state.records[token.tag], token)
        assert inputs is not None
        del state.flight[position]
        stores.requested_tokens[token.tag, token.node] = token
        self._reserve_firings()
        request = FiringRequest(token, inputs, self._meter.firing_depth(token))
        rank = self._ranks[token.node]
        if self._effects[token.node] is not None:
            has_resource = resource_of(self.graph.nodes[token.node].op) is not None
            rank = DRIVER if has_resource else memory_rank(self.graph, token, inputs, self.worker_count)
        assert rank is not None
        self._send_work(rank, request)

    def _perform(self, client: int, request: FiringRequest) -> None:
        """Perform a firing that uses cells of this worker, and those that waited for it, or one of a node placed here;
        send the results."""
        start = 0.0 if self._recorder is None else self._recorder.clock()
        try:
            if self._effects[request.token.node] is None:
                results = [(client, fire_placed(request, self._own_rules, self._limits, self._monitor))]
            else:
                results = list(self._memory.perform(client, request))
        except (MemoryError, OpAbandoned) as error:
            self.is_stopped = True
            self.channels.send(DRIVER, LimitNotice("bytes" if isinstance(error, MemoryError) else str(error)))
            return
        for rank, result in results:
            if self._recorder is not None:
                self._recorder.record_firing(result.node, result.tag, start)
                start = self._recorder.clock()
            self._send_work(rank, result)

    def _complete(self, result: FiringResult) -> None:
        """Complete a firing that another peer has performed."""
        state = self._state
        state.flight.append(self.stores.requested_tokens.pop((result.tag, result.node)))
        self._reserve_firings()
        self._result = result
        self._apply(step(state, len(state.flight) - 1), least_depth=1 + result.depth)
