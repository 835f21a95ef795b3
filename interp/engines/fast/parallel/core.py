"""The loop of one core in a parallel run, compiled by numba: it delivers its tokens, donates activations to cores that
request one, and requests one when it is idle.

Each core has private memory. A proxy stands for an activation on another core: a frame whose bits are all set, so that
`deliver_scalar` stops at any token for it, before any change; the token is then sent as a message. The core that
receives an activation has a proxy, too, for the parent of that activation.

Messages go through one ring buffer per sender and receiver, in the order of sending; `shared_memory` has the layout. A
core uses `atomic_store` for the words that other cores read.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....image.image import (
    ARGUMENT_UNIT,
    CACHE_LINE_WORDS,
    LOW_BITS,
    PENDING_MASK,
    PORT_BITS,
    PORT_MASK,
    FrameHeader,
    NodeColumn,
    SiteColumn,
)
from ...jit.memory import atomic_exchange, atomic_load, atomic_store, peek, poke
from ..deliver_scalar import ROW_BYTES
from ..delivery_table import DeliveryColumn
from ..frames import (
    NODE_BYTES,
    SITE_WORDS,
    close_activation,
    close_proxy,
    depth_of,
    open_activation,
    parent_of,
    site_of,
)
from ..layout import Address, ExitReason, MachineOption, ProxyWord, Register
from ..shared_memory import RING_CAPACITY, CoreLine, MessageKind, MessageWord, SharedLine

if TYPE_CHECKING:

    def deliver_scalar_lifo(a: int, budget: int, header: int) -> int: ...


MIN_STEPS = 256
"""The number of steps that every array must have room for, at most half of SLACK_STEPS."""
IDLE_POLLS = 32_000
"""The number of rings that an idle core polls before it sleeps: 25 us, since a burst takes 20."""
POLLS_PER_QUIESCENCE_TEST = 200
"""The number of polls of core 0 between two tests for quiescence, which read the rings of all pairs of cores."""
DONATION_WINDOW = 128
"""The number of oldest tokens that are searched for one that opens an activation."""
MAX_DONATION_DELIVERIES = 64
"""The maximal number of tokens that are delivered to find one."""
MAX_DONATION_BACKOFF = 15
"""The maximal number of bursts between two attempts."""
SMALL_ACTIVATION_FIRINGS, MAX_REQUEST_BACKOFF = 1000, 63
"""The number of firings below which an activation does not pay for its messages, and the maximal number of pauses
before the next request; in a pause a core polls for messages and sleeps once."""


def run(a: Any, budget: Any, header: Any) -> Any:
    """Deliver tokens until all cores are quiescent, `budget` bursts are done, or the caller must act first."""
    r, c = peek(a, Address.REGISTERS), peek(a, Address.SHARED_WORDS)
    mem, core = peek(a, Address.MEMORY), peek(r, Register.CORE)
    while budget > 0:
        budget -= 1
        if atomic_load(c, SharedLine.STOP_FLAG):
            return ExitReason.STOP_CONDITION
        if steps_with_room(a) < MIN_STEPS:
            return ExitReason.ARRAY_FULL
        if not read_messages(a, r, mem, c, core, header):
            return ExitReason.ARRAY_FULL
        if peek(r, Register.FLIGHT_LENGTH):
            withdraw_request(r, mem, c, core)
            answer_requests(a, r, mem, c, core, header)
            max_tokens = min(steps_with_room(a), peek(c, SharedLine.BURST_TOKENS))
            if (
                max_tokens > 0
                and deliver_scalar_lifo(a, max_tokens, header) < max_tokens
                and peek(r, Register.FLIGHT_LENGTH)
                and not forward_token(a, r, mem)
            ):
                return ExitReason.HOST_FIRING
        report_closed_proxies(a, r, mem)
        if peek(r, Register.FLIGHT_LENGTH) == 0 and peek(r, Register.CLOSED_PROXIES) == 0:
            exit_reason = wait_for_work(a, r, c, core, header)
            if exit_reason != ExitReason.BUDGET:
                return exit_reason
    return ExitReason.BUDGET


def steps_with_room(a: Any) -> Any:
    """A number of steps that fit into all arrays."""
    o, r = peek(a, Address.OPTIONS), peek(a, Address.REGISTERS)
    steps = (peek(a, Address.MEMORY_SIZE) - peek(r, Register.MEMORY_TOP)) // peek(o, MachineOption.LARGEST_FRAME) - 2
    steps = min(
        steps, (peek(a, Address.RING_SIZE) - peek(r, Register.FLIGHT_LENGTH)) // peek(o, MachineOption.FAN_OUT) - 2
    )
    return min(steps, peek(a, Address.PROFILE_SIZE) - peek(r, Register.WAVES))


def push_token(a: Any, r: Any, token: Any, value: Any, wave: Any) -> None:
    """Add a token to the flight, as the youngest."""
    slot = peek(r, Register.FLIGHT_HEAD) + peek(r, Register.FLIGHT_LENGTH) & peek(a, Address.RING_SIZE) - 1
    poke(peek(a, Address.RING), slot << 1, token)
    poke(peek(a, Address.RING), (slot << 1) + 1, value)
    poke(peek(a, Address.TOKEN_WAVES), slot, wave)
    poke(r, Register.FLIGHT_LENGTH, peek(r, Register.FLIGHT_LENGTH) + 1)
    poke(r, Register.WAVES, max(peek(r, Register.WAVES), wave))


def new_proxy(a: Any, r: Any, mem: Any, header: Any) -> Any:
    """A new or reused proxy, not yet filled in. All proxies have the size of the largest frame."""
    proxy, size = peek(r, Register.FREE_PROXIES), peek(peek(a, Address.OPTIONS), MachineOption.LARGEST_FRAME)
    if proxy:
        poke(r, Register.FREE_PROXIES, parent_of(mem, proxy))
        return proxy
    proxy = peek(r, Register.MEMORY_TOP)
    poke(r, Register.MEMORY_TOP, proxy + size)
    for word in range(proxy + header, proxy + size):
        poke(mem, word, -1)
    return proxy


def free_proxy(r: Any, mem: Any, proxy: Any) -> None:
    poke(mem, proxy + FrameHeader.PARENT, peek(r, Register.FREE_PROXIES) << LOW_BITS)
    poke(mem, proxy + FrameHeader.ITERATION, -1)
    poke(r, Register.FREE_PROXIES, proxy)


def write_proxy(a: Any, proxy: Any, core: Any, remote_frame: Any, remote_proxy: Any, child_frame: Any) -> None:
    proxy_words = peek(a, Address.OPERAND_WAVES)
    poke(proxy_words, proxy + ProxyWord.CORE, core)
    poke(proxy_words, proxy + ProxyWord.REMOTE_FRAME, remote_frame)
    poke(proxy_words, proxy + ProxyWord.REMOTE_PROXY, remote_proxy)
    poke(proxy_words, proxy + ProxyWord.CHILD_FRAME, child_frame)


def read_messages(a: Any, r: Any, mem: Any, c: Any, core: Any, header: Any) -> Any:
    """Read all messages that have arrived; returns whether there was room for them."""
    for sender in range(peek(c, SharedLine.CORE_COUNT)):
        ring = ring_offset(c, sender, core)
        number, end = peek(c, ring), atomic_load(c, ring + CACHE_LINE_WORDS)
        while number < end:
            if steps_with_room(a) < 1:
                return False
            atomic_store(c, core_line(core) + CoreLine.IS_IDLE, 0)
            read_message(a, r, mem, message_address(c, sender, core, number), sender, header)
            number += 1
            atomic_store(c, ring, number)
    return True


def read_message(a: Any, r: Any, mem: Any, message: Any, sender: Any, header: Any) -> None:
    kind, target = peek(message, MessageWord.KIND), peek(message, MessageWord.TARGET)
    if kind == MessageKind.OPEN:
        poke(mem, target + FrameHeader.PARENT, peek(message, MessageWord.PARENT_SITE))
        poke(mem, target + FrameHeader.ITERATION, peek(message, MessageWord.PARENT_DEPTH))
        poke(mem, target + FrameHeader.PENDING, 0)
        poke(r, Register.REQUESTED_PROXY, 0)
        note_arrival(r)
        child = open_activation(a, r, mem, target, peek(message, MessageWord.SITE), 0, header)
        write_proxy(
            a, target, sender, peek(message, MessageWord.PARENT_FRAME), peek(message, MessageWord.SENDER_PROXY), child
        )
    elif kind == MessageKind.CLOSE:
        parent = parent_of(mem, target)
        free_proxy(r, mem, target)
        finish_pending(a, r, mem, parent, header)
    else:
        unit = 1
        if kind == MessageKind.ARGUMENT:
            target, unit = peek(peek(a, Address.OPERAND_WAVES), target + ProxyWord.CHILD_FRAME), ARGUMENT_UNIT
        poke(mem, target + FrameHeader.PENDING, peek(mem, target + FrameHeader.PENDING) + unit)
        token = target << PORT_BITS | peek(message, MessageWord.PORT)
        push_token(a, r, token, peek(message, MessageWord.VALUE), peek(message, MessageWord.WAVE))


def note_arrival(r: Any) -> None:
    """Note the arrival of an activation. If the last one was small, double the pause before the next request: otherwise
    a chain of calls, which run one at a time, would move from core to core."""
    is_small = peek(r, Register.FIRINGS) - peek(r, Register.FIRINGS_AT_ARRIVAL) < SMALL_ACTIVATION_FIRINGS
    poke(
        r,
        Register.REQUEST_BACKOFF,
        min(2 * peek(r, Register.REQUEST_BACKOFF) + 1, MAX_REQUEST_BACKOFF) if is_small else 0,
    )
    poke(r, Register.REQUEST_DELAY, peek(r, Register.REQUEST_BACKOFF))
    poke(r, Register.FIRINGS_AT_ARRIVAL, peek(r, Register.FIRINGS))


def finish_pending(a: Any, r: Any, mem: Any, frame: Any, header: Any) -> None:
    """Decrement the pending count of an activation; close it at 0."""
    pending = peek(mem, frame + FrameHeader.PENDING) - 1
    poke(mem, frame + FrameHeader.PENDING, pending)
    if (pending & PENDING_MASK) == 0:
        close_activation(a, r, mem, frame, header)


def forward_token(a: Any, r: Any, mem: Any) -> Any:
    """Send the youngest token as a message if it is for a proxy; returns whether it is. If the ring is full, the token
    stays in the flight."""
    slot = peek(r, Register.FLIGHT_HEAD) + peek(r, Register.FLIGHT_LENGTH) - 1 & peek(a, Address.RING_SIZE) - 1
    token = peek(peek(a, Address.RING), slot << 1)
    proxy = token >> PORT_BITS
    row = peek(a, Address.DELIVERY_ROWS) + (token & PORT_MASK) * ROW_BYTES
    if peek(mem, proxy + peek(row, DeliveryColumn.MASK_WORD)) >= 0:
        return False
    proxy_words = peek(a, Address.OPERAND_WAVES)
    core, remote_proxy = peek(proxy_words, proxy + ProxyWord.CORE), peek(proxy_words, proxy + ProxyWord.REMOTE_PROXY)
    if is_ring_full(a, core):
        return True
    kind, value, wave = (
        MessageKind.ARGUMENT,
        peek(peek(a, Address.RING), (slot << 1) + 1),
        peek(peek(a, Address.TOKEN_WAVES), slot),
    )
    if remote_proxy:
        kind = MessageKind.TOKEN
    write_message(
        a, core, kind, peek(proxy_words, proxy + ProxyWord.REMOTE_FRAME), token & PORT_MASK, value, wave, 0, 0
    )
    poke(r, Register.FLIGHT_LENGTH, peek(r, Register.FLIGHT_LENGTH) - 1)
    pending = peek(mem, proxy + FrameHeader.PENDING) - 1
    poke(mem, proxy + FrameHeader.PENDING, pending)
    if (pending & PENDING_MASK) == 0:
        close_proxy(r, mem, proxy)
    return True


def report_closed_proxies(a: Any, r: Any, mem: Any) -> None:
    """Report closed proxies to the other cores, until a ring is full."""
    proxy_words = peek(a, Address.OPERAND_WAVES)
    while peek(r, Register.CLOSED_PROXIES):
        proxy = peek(r, Register.CLOSED_PROXIES)
        core, remote_proxy = (
            peek(proxy_words, proxy + ProxyWord.CORE),
            peek(proxy_words, proxy + ProxyWord.REMOTE_PROXY),
        )
        if remote_proxy:
            if is_ring_full(a, core):
                return
            write_message(a, core, MessageKind.CLOSE, remote_proxy, 0, 0, 0, 0, 0)
        poke(r, Register.CLOSED_PROXIES, parent_of(mem, proxy))
        if remote_proxy:
            free_proxy(r, mem, proxy)
        else:
            # the root
            poke(r, Register.OPEN_ACTIVATIONS, peek(r, Register.OPEN_ACTIVATIONS) - 1)


def answer_requests(a: Any, r: Any, mem: Any, c: Any, core: Any, header: Any) -> None:
    """Donate an activation to each core that requests one, as long as one is found."""
    if peek(r, Register.DONATION_DELAY) > 0:
        poke(r, Register.DONATION_DELAY, peek(r, Register.DONATION_DELAY) - 1)
        return
    for other in range(peek(c, SharedLine.CORE_COUNT)):
        if other != core and atomic_load(c, core_line(other) + CoreLine.REQUESTED_PROXY):
            if not is_ring_full(a, other) and donate(a, r, mem, c, core, other, header):
                poke(r, Register.DONATION_BACKOFF, 0)
            else:
                poke(
                    r, Register.DONATION_BACKOFF, min(2 * peek(r, Register.DONATION_BACKOFF) + 1, MAX_DONATION_BACKOFF)
                )
                poke(r, Register.DONATION_DELAY, peek(r, Register.DONATION_BACKOFF))
                return


def donate(a: Any, r: Any, mem: Any, c: Any, core: Any, other: Any, header: Any) -> Any:
    """Donate an activation to a core that requests one; returns whether one was found."""
    position = find_donation(a, r, mem, header)
    if position < 0 or steps_with_room(a) < 1:
        return False
    remote_frame = atomic_exchange(c, core_line(other) + CoreLine.REQUESTED_PROXY, 0)
    if remote_frame == 0:
        return False
    make_youngest(a, r, position)
    slot = peek(r, Register.FLIGHT_HEAD) + peek(r, Register.FLIGHT_LENGTH) - 1 & peek(a, Address.RING_SIZE) - 1
    token = peek(peek(a, Address.RING), slot << 1)
    frame, row = token >> PORT_BITS, peek(a, Address.DELIVERY_ROWS) + (token & PORT_MASK) * ROW_BYTES
    site = peek(peek(a, Address.NODES) + peek(row, DeliveryColumn.NODE) * NODE_BYTES, NodeColumn.SITE)
    proxy = new_proxy(a, r, mem, header)
    poke(mem, proxy + FrameHeader.PARENT, frame << LOW_BITS | site)
    poke(mem, proxy + FrameHeader.ITERATION, 0)
    poke(mem, proxy + FrameHeader.PENDING, peek(peek(a, Address.SITES), site * SITE_WORDS + SiteColumn.ARGUMENTS) + 1)
    poke(mem, frame + FrameHeader.PENDING, peek(mem, frame + FrameHeader.PENDING) + 1)
    write_proxy(a, proxy, other, remote_frame, 0, 0)
    write_message(
        a, other, MessageKind.OPEN, remote_frame, site, site_of(mem, frame), depth_of(mem, frame), frame, proxy
    )
    poke(r, Register.NEXT_PROXY, proxy)
    poke(r, Register.DONATIONS, peek(r, Register.DONATIONS) + 1)
    deliver_scalar_lifo(a, 1, header)
    if peek(peek(a, Address.SITES), site * SITE_WORDS + SiteColumn.ARGUMENTS) > 1:
        deliver_outermost(a, r, mem, header)
    return True


def deliver_outermost(a: Any, r: Any, mem: Any, header: Any) -> None:
    """Deliver some of the outermost tokens, so that the other arguments of a donated activation are sent soon."""
    for _ in range(MAX_DONATION_DELIVERIES):
        if peek(r, Register.FLIGHT_LENGTH) < 2 or steps_with_room(a) < 1:
            return
        make_youngest(a, r, ~find_outermost(a, r, mem, False))
        if deliver_scalar_lifo(a, 1, header) == 0 and not forward_token(a, r, mem):
            return


def find_donation(a: Any, r: Any, mem: Any, header: Any) -> Any:
    """The position of a token that opens a shareable activation; -1 if none is found. Delivers some of the outermost
    tokens to find one. The only token of a core is never donated."""
    for _ in range(MAX_DONATION_DELIVERIES):
        if peek(r, Register.FLIGHT_LENGTH) < 2:
            return -1
        position = find_outermost(a, r, mem, True)
        if position >= 0:
            return position
        if steps_with_room(a) < 1:
            return -1
        make_youngest(a, r, ~position)
        if deliver_scalar_lifo(a, 1, header) == 0:
            return -1
    return -1


def find_outermost(a: Any, r: Any, mem: Any, wants_opener: Any) -> Any:
    """Among the oldest tokens, the position of the outermost one that opens a shareable activation, if `wants_opener`.
    If there is none, the complement of the position of the outermost token that opens none; in nested loops, that is
    one of the outer loop."""
    ring, mask, head = peek(a, Address.RING), peek(a, Address.RING_SIZE) - 1, peek(r, Register.FLIGHT_HEAD)
    least_depth, outermost, least_opener_depth, opener = 1 << LOW_BITS, 0, 1 << LOW_BITS, -1
    for position in range(min(DONATION_WINDOW, peek(r, Register.FLIGHT_LENGTH))):
        token = peek(ring, (head + position & mask) << 1)
        depth = depth_of(mem, token >> PORT_BITS)
        if depth >= least_depth and depth >= least_opener_depth:
            continue
        if not opens_activation(a, mem, token):
            if depth < least_depth:
                least_depth, outermost = depth, position
        elif depth < least_opener_depth:
            least_opener_depth, opener = depth, position
    return opener if wants_opener and opener >= 0 else ~outermost


def opens_activation(a: Any, mem: Any, token: Any) -> Any:
    """Whether a token opens an activation that may move to another core."""
    frame, row = token >> PORT_BITS, peek(a, Address.DELIVERY_ROWS) + (token & PORT_MASK) * ROW_BYTES
    if peek(row, DeliveryColumn.IS_SHAREABLE) == 0 or peek(mem, frame + peek(row, DeliveryColumn.MASK_WORD)) & peek(
        row, DeliveryColumn.CONFLICT_BITS
    ):
        return False
    child_word = peek(peek(a, Address.NODES) + peek(row, DeliveryColumn.NODE) * NODE_BYTES, NodeColumn.CHILD_WORD)
    is_open = child_word != 0 and peek(mem, frame + child_word) != 0
    return not is_open and depth_of(mem, frame) < peek(peek(a, Address.OPTIONS), MachineOption.DEPTH_LIMIT)


def make_youngest(a: Any, r: Any, position: Any) -> None:
    """Move the token at a position to the end of the flight, as the youngest."""
    ring, waves, mask, head = (
        peek(a, Address.RING),
        peek(a, Address.TOKEN_WAVES),
        peek(a, Address.RING_SIZE) - 1,
        peek(r, Register.FLIGHT_HEAD),
    )
    slot = head + position & mask
    token, value, wave = peek(ring, slot << 1), peek(ring, (slot << 1) + 1), peek(waves, slot)
    for back in range(position, 0, -1):
        slot, source_slot = head + back & mask, head + back - 1 & mask
        poke(ring, slot << 1, peek(ring, source_slot << 1))
        poke(ring, (slot << 1) + 1, peek(ring, (source_slot << 1) + 1))
        poke(waves, slot, peek(waves, source_slot))
    poke(r, Register.FLIGHT_HEAD, head + 1 & mask)
    poke(r, Register.FLIGHT_LENGTH, peek(r, Register.FLIGHT_LENGTH) - 1)
    push_token(a, r, token, value, wave)


def withdraw_request(r: Any, mem: Any, c: Any, core: Any) -> None:
    """Withdraw the request for an activation, since there is work; if one was already donated, it still arrives."""
    if peek(r, Register.REQUESTED_PROXY):
        proxy = atomic_exchange(c, core_line(core) + CoreLine.REQUESTED_PROXY, 0)
        if proxy:
            free_proxy(r, mem, proxy)
            poke(r, Register.REQUESTED_PROXY, 0)


def wait_for_work(a: Any, r: Any, c: Any, core: Any, header: Any) -> Any:
    """Request an activation and poll for messages; returns BUDGET if one arrived, QUIESCENT if all cores are quiescent,
    else IDLE."""
    line, may_request, cores = core_line(core), peek(r, Register.REQUEST_DELAY) == 0, peek(c, SharedLine.CORE_COUNT)
    poke(r, Register.REQUEST_DELAY, max(peek(r, Register.REQUEST_DELAY) - 1, 0))
    if cores > 1 and peek(r, Register.REQUESTED_PROXY) == 0 and may_request:
        poke(r, Register.REQUESTED_PROXY, new_proxy(a, r, peek(a, Address.MEMORY), header))
        atomic_store(c, line + CoreLine.REQUESTED_PROXY, peek(r, Register.REQUESTED_PROXY))
    atomic_store(c, line + CoreLine.IS_IDLE, 1)
    for number in range(IDLE_POLLS // cores):
        for sender in range(cores):
            ring = ring_offset(c, sender, core)
            if peek(c, ring) != atomic_load(c, ring + CACHE_LINE_WORDS):
                return ExitReason.BUDGET
        if core == 0 and number % POLLS_PER_QUIESCENCE_TEST == 0 and is_quiescent(c):
            return ExitReason.QUIESCENT
    return ExitReason.IDLE


def core_line(core: Any) -> Any:
    """The offset of the line of a core."""
    return (1 + core) * CACHE_LINE_WORDS


def ring_offset(c: Any, sender: Any, receiver: Any) -> Any:
    """The offset of the two lines of a ring: the number of messages read, and of those written."""
    cores = peek(c, SharedLine.CORE_COUNT)
    return (1 + cores + 2 * (sender * cores + receiver)) * CACHE_LINE_WORDS


def message_address(c: Any, sender: Any, receiver: Any, number: Any) -> Any:
    """The address of the message with this number."""
    cores = peek(c, SharedLine.CORE_COUNT)
    ring = sender * cores + receiver
    return c + 8 * CACHE_LINE_WORDS * (1 + cores + 2 * cores * cores + ring * RING_CAPACITY + number % RING_CAPACITY)


def is_ring_full(a: Any, receiver: Any) -> Any:
    """Whether the ring to a core lacks room for two more messages."""
    c = peek(a, Address.SHARED_WORDS)
    ring = ring_offset(c, peek(peek(a, Address.REGISTERS), Register.CORE), receiver)
    return peek(c, ring + CACHE_LINE_WORDS) - atomic_load(c, ring) > RING_CAPACITY - 2


def write_message(
    a: Any,
    receiver: Any,
    kind: Any,
    target: Any,
    port: Any,
    value: Any,
    wave: Any,
    parent_frame: Any,
    sender_proxy: Any,
) -> None:
    """Send a message; there must be room for it."""
    c, core = peek(a, Address.SHARED_WORDS), peek(peek(a, Address.REGISTERS), Register.CORE)
    ring = ring_offset(c, core, receiver)
    number = peek(c, ring + CACHE_LINE_WORDS)
    message = message_address(c, core, receiver, number)
    poke(message, MessageWord.KIND, kind)
    poke(message, MessageWord.TARGET, target)
    poke(message, MessageWord.PORT, port)
    poke(message, MessageWord.VALUE, value)
    poke(message, MessageWord.WAVE, wave)
    poke(message, MessageWord.PARENT_FRAME, parent_frame)
    poke(message, MessageWord.SENDER_PROXY, sender_proxy)
    atomic_store(c, ring + CACHE_LINE_WORDS, number + 1)


def is_quiescent(c: Any) -> Any:
    """Whether all cores are idle and no message is in transit. The counts of messages read are loaded before those of
    messages written. If they agree, no message was read or in transit in between, so every idle core is still idle.
    Mattern, "Algorithms for distributed termination detection" (1987), counts twice in this way, and has the proof."""
    cores, in_transit = peek(c, SharedLine.CORE_COUNT), 0
    for core in range(cores):
        for sender in range(cores):
            in_transit -= atomic_load(c, ring_offset(c, sender, core))
        if atomic_load(c, core_line(core) + CoreLine.IS_IDLE) == 0:
            return False
    for core in range(cores):
        for receiver in range(cores):
            in_transit += atomic_load(c, ring_offset(c, core, receiver) + CACHE_LINE_WORDS)
    return in_transit == 0
