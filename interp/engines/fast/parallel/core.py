"""The loop of one core in a parallel run, compiled by numba: it delivers its tokens, donates activations to cores that
request one, and requests one when it is idle.

Each core has private memory. A proxy stands for an activation on another core: a frame whose bits are all set, so that
`deliver_scalar` stops at any token for it, before any change; the token is then sent as a message. The core that
receives an activation has a proxy, too, for the parent of that activation.

Nodes may be placed on cores (`DeliveryColumn.PLACE`). `deliver_scalar` stops at an operand that completes a firing
placed elsewhere, before any change. All operands are sent in one message, FIRE, and FIRED brings the output back; the
activation stays open meanwhile. A call or loop that is placed elsewhere is opened there without a request. Its sender
does not know the receiver's proxy, so the receiver finds it by the sender's.

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
    SCRATCH_WORD,
    FrameHeader,
    NodeColumn,
    PortColumn,
    SiteColumn,
)
from ....image.opcodes import FIRST_KERNEL, Opcode
from ...jit.memory import atomic_exchange, atomic_load, atomic_store, peek, poke
from ..deliver_scalar import ROW_BYTES
from ..delivery_table import DeliveryColumn, NodePlace
from ..frames import (
    FIRST_TRAPPING,
    NODE_BYTES,
    PORT_BYTES,
    SITE_WORDS,
    close_activation,
    close_proxy,
    depth_of,
    is_too_deep,
    open_activation,
    operand,
    parent_of,
    site_of,
)
from ..layout import Address, ExitReason, ForwardResult, MachineOption, ProfileColumn, ProxyWord, Register
from ..shared_memory import RING_CAPACITY, CoreLine, MessageKind, MessageWord, SharedLine

if TYPE_CHECKING:

    def deliver_scalar_lifo(a: int, budget: int, header: int) -> int: ...
    def count_in_wave(a: int, wave: int, consumed: int, sent: int) -> None: ...
    def compute(code: int, a: int, b: int, c: int) -> int: ...
    def cast(code: int, word: int) -> int: ...
    def traps(code: int, a: int, b: int) -> bool: ...


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
        exit_reason = read_messages(a, r, mem, c, core, header)
        if exit_reason != ExitReason.BUDGET:
            return exit_reason
        if peek(r, Register.FLIGHT_LENGTH):
            withdraw_request(r, mem, c, core)
            answer_requests(a, r, mem, c, core, header)
            if not deliver_burst(a, r, mem, min(steps_with_room(a), peek(c, SharedLine.BURST_TOKENS)), header):
                return ExitReason.HOST_FIRING
        report_closed_proxies(a, r, mem)
        if peek(r, Register.FLIGHT_LENGTH) == 0 and peek(r, Register.CLOSED_PROXIES) == 0:
            exit_reason = wait_for_work(a, r, c, core, header)
            if exit_reason != ExitReason.BUDGET:
                return exit_reason
    return ExitReason.BUDGET


def deliver_burst(a: Any, r: Any, mem: Any, tokens: Any, header: Any) -> Any:
    """Deliver or forward so many tokens, or fewer if a ring is full. Returns False at a firing of the host."""
    while tokens > 0:
        tokens -= deliver_scalar_lifo(a, tokens, header)
        if tokens <= 0 or peek(r, Register.FLIGHT_LENGTH) == 0:
            return True
        result = forward_token(a, r, mem, header)
        if result != ForwardResult.FORWARDED:
            return result == ForwardResult.RING_FULL
        tokens -= 1
    return True


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
    """Read all messages that have arrived, unless the ring for an answer is full. Returns ARRAY_FULL if there is no
    room for one, HOST_FIRING if the host must complete the firing of the youngest token, else BUDGET."""
    for sender in range(peek(c, SharedLine.CORE_COUNT)):
        ring = ring_offset(c, sender, core)
        number, end = peek(c, ring), atomic_load(c, ring + CACHE_LINE_WORDS)
        while number < end:
            message = message_address(c, sender, core, number)
            if not has_room_for(a, r, message):
                return ExitReason.ARRAY_FULL
            kind = peek(message, MessageWord.KIND)
            if kind == MessageKind.FIRE and is_ring_full(a, sender):
                break
            atomic_store(c, core_line(core) + CoreLine.IS_IDLE, 0)
            read_message(a, r, mem, message, sender, header)
            number += 1
            atomic_store(c, ring, number)
            if kind == MessageKind.TRAPPED:
                return ExitReason.HOST_FIRING
    return ExitReason.BUDGET


def has_room_for(a: Any, r: Any, message: Any) -> Any:
    """Whether all arrays have room for what a message brings. If not, the registers say how much is needed."""
    kind = peek(message, MessageWord.KIND)
    if kind == MessageKind.FIRE:
        poke(r, Register.WAVES, max(peek(r, Register.WAVES), peek(message, MessageWord.WAVE)))
    elif kind == MessageKind.OPEN and peek(message, MessageWord.TARGET) == 0:
        columns = proxy_number(a, peek(message, MessageWord.SENDER_PROXY)) + 1
        if columns > peek(a, Address.PEER_PROXIES_SIZE):
            poke(r, Register.REQUIRED_PEER_PROXIES, columns)
            return False
    return steps_with_room(a) > 0


def read_message(a: Any, r: Any, mem: Any, message: Any, sender: Any, header: Any) -> None:
    kind, target = peek(message, MessageWord.KIND), peek(message, MessageWord.TARGET)
    if kind == MessageKind.OPEN:
        if target == 0:
            target = new_proxy(a, r, mem, header)
            poke(peek(a, Address.PEER_PROXIES), peer_proxy(a, message, sender), target)
        else:
            poke(r, Register.REQUESTED_PROXY, 0)
            note_arrival(r)
        poke(mem, target + FrameHeader.PARENT, peek(message, MessageWord.PARENT_SITE))
        poke(mem, target + FrameHeader.ITERATION, peek(message, MessageWord.PARENT_DEPTH))
        poke(mem, target + FrameHeader.PENDING, 0)
        child = open_activation(a, r, mem, target, peek(message, MessageWord.SITE), 0, header)
        write_proxy(
            a, target, sender, peek(message, MessageWord.PARENT_FRAME), peek(message, MessageWord.SENDER_PROXY), child
        )
    elif kind == MessageKind.CLOSE:
        parent = parent_of(mem, target)
        free_proxy(r, mem, target)
        finish_pending(a, r, mem, parent, header)
    elif kind == MessageKind.FIRE:
        fire_for_peer(a, r, message, sender)
    elif kind == MessageKind.FIRED:
        complete_firing(a, r, mem, message, header)
    elif kind == MessageKind.TRAPPED:
        take_back(a, r, mem, message)
    else:
        unit = 1
        if kind == MessageKind.ARGUMENT:
            if target == 0:
                target = peek(peek(a, Address.PEER_PROXIES), peer_proxy(a, message, sender))
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


def forward_token(a: Any, r: Any, mem: Any, header: Any) -> Any:
    """Forward the youngest token, at which `deliver_scalar` has stopped, if it is for another core."""
    slot = peek(r, Register.FLIGHT_HEAD) + peek(r, Register.FLIGHT_LENGTH) - 1 & peek(a, Address.RING_SIZE) - 1
    token, value = peek(peek(a, Address.RING), slot << 1), peek(peek(a, Address.RING), (slot << 1) + 1)
    wave, frame = peek(peek(a, Address.TOKEN_WAVES), slot), token >> PORT_BITS
    row = peek(a, Address.DELIVERY_ROWS) + (token & PORT_MASK) * ROW_BYTES
    bits = peek(mem, frame + peek(row, DeliveryColumn.MASK_WORD))
    if bits < 0:
        return forward_to_proxy(a, r, mem, frame, token, value, wave)
    place = peek(row, DeliveryColumn.PLACE)
    if place < NodePlace.FIRST_CORE or bits & peek(row, DeliveryColumn.CONFLICT_BITS):
        return ForwardResult.NOT_FOR_OTHERS
    core, code = place - NodePlace.FIRST_CORE, peek(row, DeliveryColumn.CODE)
    if code == Opcode.CALL and is_too_deep(mem, frame, code, peek(peek(a, Address.OPTIONS), MachineOption.DEPTH_LIMIT)):
        return ForwardResult.NOT_FOR_OTHERS
    if is_ring_full(a, core):
        return ForwardResult.RING_FULL
    if code == Opcode.CALL:
        open_elsewhere(a, r, mem, frame, row, core, 0, header)
    elif is_at_request_limit(a, r):
        return ForwardResult.RING_FULL
    else:
        request_firing(a, r, mem, frame, row, core, token, value, wave)
    return ForwardResult.FORWARDED


def is_at_request_limit(a: Any, r: Any) -> Any:
    """Whether this core must wait for outputs of requested firings. Otherwise it could open all activations of a large
    run at once, which wait for outputs."""
    limit = peek(peek(a, Address.SHARED_WORDS), SharedLine.MAX_FIRE_REQUESTS)
    return peek(r, Register.FIRE_REQUESTS) >= limit


def forward_to_proxy(a: Any, r: Any, mem: Any, proxy: Any, token: Any, value: Any, wave: Any) -> Any:
    """Send the youngest token, which is for a proxy, as a message."""
    proxy_words = peek(a, Address.OPERAND_WAVES)
    core, remote_proxy = peek(proxy_words, proxy + ProxyWord.CORE), peek(proxy_words, proxy + ProxyWord.REMOTE_PROXY)
    if is_ring_full(a, core):
        return ForwardResult.RING_FULL
    kind, sender_proxy = MessageKind.ARGUMENT, proxy
    if remote_proxy:
        kind, sender_proxy = MessageKind.TOKEN, 0
    remote_frame = peek(proxy_words, proxy + ProxyWord.REMOTE_FRAME)
    write_message(a, core, kind, remote_frame, token & PORT_MASK, value, wave, 0, sender_proxy, 0)
    poke(r, Register.FLIGHT_LENGTH, peek(r, Register.FLIGHT_LENGTH) - 1)
    pending = peek(mem, proxy + FrameHeader.PENDING) - 1
    poke(mem, proxy + FrameHeader.PENDING, pending)
    if (pending & PENDING_MASK) == 0:
        close_proxy(r, mem, proxy)
    return ForwardResult.FORWARDED


def proxy_number(a: Any, proxy: Any) -> Any:
    """A number that only this proxy of its core has: the memory of each is as large as the largest frame."""
    return proxy // peek(peek(a, Address.OPTIONS), MachineOption.LARGEST_FRAME)


def peer_proxy(a: Any, message: Any, sender: Any) -> Any:
    """The position in `peer_proxies` of the proxy for the parent of an activation that the sender placed here."""
    return sender * peek(a, Address.PEER_PROXIES_SIZE) + proxy_number(a, peek(message, MessageWord.SENDER_PROXY))


def request_firing(
    a: Any, r: Any, mem: Any, frame: Any, row: Any, core: Any, token: Any, value: Any, wave: Any
) -> None:
    """Send all operands of a firing to the core of its node. The youngest token completes them. They are consumed, and
    the firing is pending until its output arrives. The words of those that waited stay in the frame (`take_back`)."""
    port, waves = peek(a, Address.PORTS) + (token & PORT_MASK) * PORT_BYTES, peek(a, Address.OPERAND_WAVES)
    poke(mem, SCRATCH_WORD, value)
    first, second = peek(port, PortColumn.OPERAND_0), peek(port, PortColumn.OPERAND_1)
    third = peek(port, PortColumn.OPERAND_2)
    partner_word = (frame & peek(row, DeliveryColumn.FRAME_MASK)) + peek(row, DeliveryColumn.PARTNER_WORD)
    firing_wave = max(
        max(wave, peek(waves, partner_word)),
        max(operand(waves, frame, first), max(operand(waves, frame, second), operand(waves, frame, third))),
    )
    write_message(
        a,
        core,
        MessageKind.FIRE,
        frame,
        token & PORT_MASK,
        operand(mem, frame, first),
        firing_wave,
        operand(mem, frame, second),
        operand(mem, frame, third),
        value,
    )
    consume(r, mem, frame, row, 1)
    poke(r, Register.FLIGHT_LENGTH, peek(r, Register.FLIGHT_LENGTH) - 1)


def consume(r: Any, mem: Any, frame: Any, row: Any, sign: Any) -> None:
    """Consume the operands of a firing, the youngest token among them, for an output that is pending; with `sign` -1,
    undo this."""
    mask_word, required = frame + peek(row, DeliveryColumn.MASK_WORD), peek(row, DeliveryColumn.REQUIRED_TOKENS)
    poke(
        mem,
        mask_word,
        peek(mem, mask_word) ^ (peek(row, DeliveryColumn.PARTNER_BITS) | peek(row, DeliveryColumn.FIRED_BIT)),
    )
    poke(mem, frame + FrameHeader.PENDING, peek(mem, frame + FrameHeader.PENDING) + sign * (1 - required))
    poke(r, Register.WAITING, peek(r, Register.WAITING) + sign * (1 - required))
    poke(r, Register.STEPS, peek(r, Register.STEPS) + sign)
    poke(r, Register.FIRE_REQUESTS, peek(r, Register.FIRE_REQUESTS) + sign)


def fire_for_peer(a: Any, r: Any, message: Any, sender: Any) -> None:
    """Fire a node that is placed here, with the operands of a frame on another core, and send the output back."""
    port, wave = peek(message, MessageWord.PORT), peek(message, MessageWord.WAVE)
    row = peek(a, Address.DELIVERY_ROWS) + port * ROW_BYTES
    code, number = peek(row, DeliveryColumn.CODE), peek(row, DeliveryColumn.NODE)
    out, second = peek(message, MessageWord.VALUE), peek(message, MessageWord.SECOND)
    kind, node = MessageKind.FIRED, peek(a, Address.NODES) + number * NODE_BYTES
    if code >= FIRST_TRAPPING and traps(code, out, second):
        kind, out = MessageKind.TRAPPED, peek(message, MessageWord.LAST)
    else:
        if code >= FIRST_KERNEL:
            out = compute(code, out, second, peek(message, MessageWord.THIRD))
        if peek(node, NodeColumn.CAST):
            out = cast(peek(node, NodeColumn.CAST), out)
        poke(r, Register.FIRINGS, peek(r, Register.FIRINGS) + 1)
        poke(peek(a, Address.FIRING_COUNTS), number, peek(peek(a, Address.FIRING_COUNTS), number) + 1)
        count_in_wave(a, wave, peek(row, DeliveryColumn.REQUIRED_TOKENS), 0)
        poke(r, Register.WAVES, max(peek(r, Register.WAVES), wave + 1))
    write_message(a, sender, kind, peek(message, MessageWord.TARGET), port, out, wave, 0, 0, 0)


def complete_firing(a: Any, r: Any, mem: Any, message: Any, header: Any) -> None:
    """Send the output of a firing on another core to the targets of its node."""
    frame, wave = peek(message, MessageWord.TARGET), peek(message, MessageWord.WAVE)
    row = peek(a, Address.DELIVERY_ROWS) + peek(message, MessageWord.PORT) * ROW_BYTES
    node = peek(a, Address.NODES) + peek(row, DeliveryColumn.NODE) * NODE_BYTES
    send_lists, send_list = peek(a, Address.SEND_LISTS), peek(row, DeliveryColumn.FIRST_SEND_LIST)
    if send_list and peek(node, NodeColumn.ROUTE) >= 0:
        send_list = peek(peek(a, Address.SEND_ROUTES), peek(node, NodeColumn.ROUTE) + site_of(mem, frame))
    sent, edge = 0, 0
    while send_list and edge >= 0:
        edge = peek(send_lists, send_list + sent)
        target = edge if edge >= 0 else ~edge
        push_token(a, r, frame << PORT_BITS | target, peek(message, MessageWord.VALUE), wave + 1)
        sent += 1
    count_sent(a, wave, sent)
    poke(r, Register.FIRE_REQUESTS, peek(r, Register.FIRE_REQUESTS) - 1)
    poke(mem, frame + FrameHeader.PENDING, peek(mem, frame + FrameHeader.PENDING) + sent)
    finish_pending(a, r, mem, frame, header)


def count_sent(a: Any, wave: Any, sent: Any) -> None:
    """Count the tokens that a firing in this wave sent; the firing itself is counted elsewhere."""
    profile, word = peek(a, Address.PROFILE), wave * len(ProfileColumn) + ProfileColumn.TOKENS_SENT
    poke(profile, word, peek(profile, word) + sent)


def take_back(a: Any, r: Any, mem: Any, message: Any) -> None:
    """Undo the request of a firing that traps, so that the host completes it: the operand that arrived last is the
    youngest token again, and the others wait."""
    frame, port = peek(message, MessageWord.TARGET), peek(message, MessageWord.PORT)
    consume(r, mem, frame, peek(a, Address.DELIVERY_ROWS) + port * ROW_BYTES, -1)
    push_token(a, r, frame << PORT_BITS | port, peek(message, MessageWord.VALUE), peek(message, MessageWord.WAVE))


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
            write_message(a, core, MessageKind.CLOSE, remote_proxy, 0, 0, 0, 0, 0, 0)
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
    site = open_elsewhere(a, r, mem, frame, row, other, remote_frame, header)
    poke(r, Register.DONATIONS, peek(r, Register.DONATIONS) + 1)
    if peek(peek(a, Address.SITES), site * SITE_WORDS + SiteColumn.ARGUMENTS) > 1:
        deliver_outermost(a, r, mem, header)
    return True


def open_elsewhere(a: Any, r: Any, mem: Any, frame: Any, row: Any, core: Any, remote_frame: Any, header: Any) -> Any:
    """Deliver the youngest token, which enters a call or loop in this frame, and open that on another core; returns its
    site. `remote_frame` is the proxy that the other core has reserved, or 0."""
    site = peek(peek(a, Address.NODES) + peek(row, DeliveryColumn.NODE) * NODE_BYTES, NodeColumn.SITE)
    proxy = new_proxy(a, r, mem, header)
    poke(mem, proxy + FrameHeader.PARENT, frame << LOW_BITS | site)
    poke(mem, proxy + FrameHeader.ITERATION, 0)
    poke(mem, proxy + FrameHeader.PENDING, peek(peek(a, Address.SITES), site * SITE_WORDS + SiteColumn.ARGUMENTS) + 1)
    poke(mem, frame + FrameHeader.PENDING, peek(mem, frame + FrameHeader.PENDING) + 1)
    write_proxy(a, proxy, core, remote_frame, 0, 0)
    write_message(
        a, core, MessageKind.OPEN, remote_frame, site, site_of(mem, frame), depth_of(mem, frame), frame, proxy, 0
    )
    poke(r, Register.NEXT_PROXY, proxy)
    deliver_scalar_lifo(a, 1, header)
    return site


def deliver_outermost(a: Any, r: Any, mem: Any, header: Any) -> None:
    """Deliver some of the outermost tokens, so that the other arguments of a donated activation are sent soon."""
    for _ in range(MAX_DONATION_DELIVERIES):
        if peek(r, Register.FLIGHT_LENGTH) < 2 or steps_with_room(a) < 1:
            return
        make_youngest(a, r, ~find_outermost(a, r, mem, False))
        if deliver_scalar_lifo(a, 1, header) == 0 and forward_token(a, r, mem, header) != ForwardResult.FORWARDED:
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
    if peek(row, DeliveryColumn.PLACE) != NodePlace.ANY or peek(
        mem, frame + peek(row, DeliveryColumn.MASK_WORD)
    ) & peek(row, DeliveryColumn.CONFLICT_BITS):
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
    last: Any,
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
    poke(message, MessageWord.LAST, last)
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
