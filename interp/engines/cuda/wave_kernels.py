"""One wave as a sequence of kernels, mostly with one thread per token; numba compiles the source of this file.

    mark_arrivals      each token sets its bit, and the last token to arrive at each node in this wave is recorded
    select_firings     that token fires its node if all operands have arrived; the others store their values in the
                       frame
    fire               firings compute their outputs, count the tokens that they send, and request new activations
    undo               after a trap: restore the state before the wave, which `fast` then runs
    open_activations   allocate the frames of new activations at the end of memory
    sum_shares         prefix sums of sent tokens, which give their positions: each thread sums one share of tokens
    sum_totals         prefix sums over the shares, one thread per row
    send               write the tokens of the next flight, and update the counts of activations
    close_activations  close activations in which nothing is pending, and their ancestors (S11)
    advance_clock      update the registers and the profile, in one thread

A kernel reads only data that earlier kernels wrote, or reads atomically. The next flight has the order of the tokens
that completed nodes: it equals the state of the reference under `waves` after the same number of steps.

`kernels` compiles this source, with numbers for the names of columns and registers.
"""

# mypy: ignore-errors
from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from ...image.image import (
    ARGUMENT_UNIT,
    LOW_BITS,
    PORT_BITS,
    RESULT_UNIT,
    SCRATCH_WORD,
    TAG_BUILT,
    FrameHeader,
    NodeColumn,
    PortColumn,
    ScopeColumn,
    SiteColumn,
)
from ...image.opcodes import FIRST_KERNEL, Opcode, first_trapping_opcode
from ..fast.layout import Register

if TYPE_CHECKING:
    from numba import cuda

    def compute(code: int, a: int, b: int, c: int) -> int: ...
    def cast(code: int, word: int) -> int: ...
    def traps(code: int, a: int, b: int) -> bool: ...


class WaveColumn(IntEnum):
    """The rows of `work`, in which the kernels of a wave pass on data about each token."""

    FRAME = 0
    PORT = 1
    FIRES = 2
    OPENS = 3
    """Whether the firing opens the activation that it sends to."""
    TARGET = 4
    """The frame that it sends to; 0 if another firing opens it and links it in the frame."""
    FIRST_OUTPUT = 5
    SECOND_OUTPUT = 6
    FIRST_BEGIN = 7
    """The first of the edges along which it sends output 0; then the end, and the same of output 1."""
    FIRST_END = 8
    SECOND_BEGIN = 9
    SECOND_END = 10


KERNELS = (
    "mark_arrivals", "select_firings", "fire", "undo", "open_activations",
    "sum_shares", "sum_totals", "send", "close_activations", "advance_clock",
)  # fmt: skip
SENT_ROW = 0
"""The row of `sums` for the number of tokens sent."""
WAITING_ROW = 1
"""The row of `sums` for the change in the number of waiting tokens."""
TOKENS_PER_THREAD = 256
"""The number of tokens that a thread sums."""
CONFLICT_FLAG = 0
"""The entry of `flags` for a second token at a port, against S4: no valid graph sets it."""
TRAP_FLAG = 1
"""The entry of `flags` for a trap."""

# Compiled from here on.
FIRST_TRAPPING = first_trapping_opcode()
LOW_MASK = (1 << LOW_BITS) - 1
PENDING_MASK = (1 << 32) - 1
PORT_MASK = (1 << PORT_BITS) - 1
LAST_OPERAND = ~SCRATCH_WORD
"""The offset that stands for the operand that arrived last."""


def operand(mem: Any, frame: Any, offset: Any, delivered: Any) -> Any:
    """The word of an operand: `own` for the last one, else at an offset in the frame or, complemented, in memory."""
    if offset == LAST_OPERAND:
        return delivered
    return mem[~offset] if offset < 0 else mem[frame + offset]


def mark_arrivals(
    r: Any, work: Any, mem: Any, latest: Any, ring: Any, nodes: Any, ports: Any, match_words: Any, flags: Any
):
    """Set the bits of the tokens, and record the last arrival at each node with several operands in `latest`, as its
    step number, at the word of the frame that `match_words` gives. Step numbers only grow, and a new frame is
    cleared."""
    g = cuda.grid(1)
    if g >= r[Register.FLIGHT_LENGTH]:
        return
    token = ring[(r[Register.FLIGHT_HEAD] + g) & (ring.shape[0] - 1), 0]
    frame, port = token >> PORT_BITS, token & PORT_MASK
    number = ports[port, PortColumn.NODE]
    operand_mask, fired_bit = nodes[number, NodeColumn.OPERAND_MASK], nodes[number, NodeColumn.FIRED_BIT]
    bit = ports[port, PortColumn.BIT] if operand_mask else fired_bit
    old_bits = cuda.atomic.or_(mem, frame + nodes[number, NodeColumn.MASK_WORD], bit)
    if old_bits & (bit | fired_bit):
        flags[CONFLICT_FLAG] = 1
    if operand_mask:
        cuda.atomic.max(latest, frame + match_words[number], r[Register.STEPS] + g + 1)
    work[WaveColumn.FRAME, g] = frame
    work[WaveColumn.PORT, g] = port


def select_firings(
    r: Any, work: Any, mem: Any, latest: Any, ring: Any, nodes: Any, ports: Any, match_words: Any, sums: Any
):
    g = cuda.grid(1)
    if g >= r[Register.FLIGHT_LENGTH]:
        return
    frame, port = work[WaveColumn.FRAME, g], work[WaveColumn.PORT, g]
    number = ports[port, PortColumn.NODE]
    operand_mask, fires = nodes[number, NodeColumn.OPERAND_MASK], 1
    if operand_mask:
        is_last = latest[frame + match_words[number]] == r[Register.STEPS] + g + 1
        fires = 1 if is_last and mem[frame + nodes[number, NodeColumn.MASK_WORD]] & operand_mask == operand_mask else 0
    if not fires:
        mem[frame + ports[port, PortColumn.OPERAND_WORD]] = ring[(r[Register.FLIGHT_HEAD] + g) & (ring.shape[0] - 1), 1]
    work[WaveColumn.FIRES, g] = fires
    work[WaveColumn.OPENS, g] = 0
    sums[SENT_ROW, g] = 0
    sums[WAITING_ROW, g] = 1 - fires * nodes[number, NodeColumn.REQUIRED_TOKENS]


def fire(
    r: Any, work: Any, mem: Any, latest: Any, ring: Any, nodes: Any, ports: Any, codes: Any, routes: Any, sums: Any,
    flags: Any,
):  # fmt: skip
    g = cuda.grid(1)
    if g >= r[Register.FLIGHT_LENGTH] or not work[WaveColumn.FIRES, g]:
        return
    frame, port = work[WaveColumn.FRAME, g], work[WaveColumn.PORT, g]
    value = ring[(r[Register.FLIGHT_HEAD] + g) & (ring.shape[0] - 1), 1]
    number = ports[port, PortColumn.NODE]
    code, casts, child_word = codes[number], nodes[number, NodeColumn.CAST], nodes[number, NodeColumn.CHILD_WORD]
    begin, end, begin_2, end_2, out_2 = (
        nodes[number, NodeColumn.EDGES_BEGIN],
        nodes[number, NodeColumn.SECOND_EDGES_BEGIN],
        0,
        0,
        0,
    )
    target = frame
    out = operand(mem, frame, ports[port, PortColumn.OPERAND_0], value)
    if code >= FIRST_KERNEL:
        second = operand(mem, frame, ports[port, PortColumn.OPERAND_1], value)
        if code >= FIRST_TRAPPING and traps(code, out, second):
            flags[TRAP_FLAG] = 1
            return
        out = compute(code, out, second, operand(mem, frame, ports[port, PortColumn.OPERAND_2], value))
    if casts and (code >= FIRST_KERNEL or code == Opcode.PASS):
        out = cast(casts, out)
    if code == Opcode.SWITCH:
        if operand(mem, frame, ports[port, PortColumn.OPERAND_1], value) == 0:
            begin, end = end, nodes[number, NodeColumn.EDGES_END]
    elif code == Opcode.CALL or code == Opcode.NEXT_ITERATION:
        target = mem[frame + child_word] if child_word else 0
        if target == 0:
            # Of the firings that send to the same new activation, one opens it.
            step = r[Register.STEPS] + 1
            work[WaveColumn.OPENS, g] = (
                1 if not child_word or cuda.atomic.max(latest, frame + child_word, step) < step else 0
            )
    elif code == Opcode.RETURN or code == Opcode.EXIT:
        target = mem[frame + FrameHeader.PARENT] >> LOW_BITS
        if code == Opcode.EXIT:
            begin_2, end_2 = end, nodes[number, NodeColumn.EDGES_END]
            out_2 = mem[frame + FrameHeader.ITERATION] >> LOW_BITS
    if target:
        # S10: of the returns, only that of the site on top of the tag gets the token
        site = mem[target + FrameHeader.PARENT] & LOW_MASK
        if nodes[number, NodeColumn.ROUTE] >= 0 and end > begin:
            route = nodes[number, NodeColumn.ROUTE] + site
            begin, end = routes[route, 0], routes[route, 1]
        if nodes[number, NodeColumn.ROUTE_SECOND] >= 0 and end_2 > begin_2:
            route = nodes[number, NodeColumn.ROUTE_SECOND] + site
            begin_2, end_2 = routes[route, 0], routes[route, 1]
    work[WaveColumn.TARGET, g] = target
    work[WaveColumn.FIRST_OUTPUT, g] = out
    work[WaveColumn.SECOND_OUTPUT, g] = out_2
    work[WaveColumn.FIRST_BEGIN, g] = begin
    work[WaveColumn.FIRST_END, g] = end
    work[WaveColumn.SECOND_BEGIN, g] = begin_2
    work[WaveColumn.SECOND_END, g] = end_2
    sums[SENT_ROW, g] = end - begin + end_2 - begin_2


def undo(r: Any, work: Any, mem: Any, nodes: Any, ports: Any):
    """Clear the bits of the tokens again; nothing else that matters has changed."""
    g = cuda.grid(1)
    if g >= r[Register.FLIGHT_LENGTH]:
        return
    port = work[WaveColumn.PORT, g]
    number = ports[port, PortColumn.NODE]
    bit = ports[port, PortColumn.BIT] if nodes[number, NodeColumn.OPERAND_MASK] else nodes[number, NodeColumn.FIRED_BIT]
    cuda.atomic.add(mem, work[WaveColumn.FRAME, g] + nodes[number, NodeColumn.MASK_WORD], -bit)


def open_activations(
    r: Any, work: Any, mem: Any, latest: Any, nodes: Any, ports: Any, codes: Any, sites: Any, scopes: Any,
    opened_counts: Any, header: Any,
):  # fmt: skip
    g = cuda.grid(1)
    if g >= r[Register.FLIGHT_LENGTH] or not work[WaveColumn.FIRES, g] or not work[WaveColumn.OPENS, g]:
        return
    frame, number = work[WaveColumn.FRAME, g], ports[work[WaveColumn.PORT, g], PortColumn.NODE]
    site = nodes[number, NodeColumn.SITE]
    parent, iteration = frame, 0
    if codes[number] == Opcode.NEXT_ITERATION:
        parent, iteration = (
            mem[frame + FrameHeader.PARENT] >> LOW_BITS,
            (mem[frame + FrameHeader.ITERATION] >> LOW_BITS) + 1,
        )
    scope = sites[site, SiteColumn.SCOPE]
    child = cuda.atomic.add(r, Register.MEMORY_TOP, scopes[scope, ScopeColumn.SIZE])
    for word in range(child + header, child + scopes[scope, ScopeColumn.CLEAR_END]):
        mem[word] = 0
    for word in range(child, child + scopes[scope, ScopeColumn.SIZE]):
        latest[word] = 0
    depth = (mem[parent + FrameHeader.ITERATION] & LOW_MASK) + 1
    mem[child + FrameHeader.PARENT] = parent << LOW_BITS | site
    mem[child + FrameHeader.ITERATION] = iteration << LOW_BITS | depth
    mem[child + FrameHeader.PENDING] = sites[site, SiteColumn.ARGUMENTS] + sites[site, SiteColumn.RESULTS]
    cuda.atomic.add(mem, parent + FrameHeader.PENDING, 1)
    cuda.atomic.add(r, Register.OPEN_ACTIVATIONS, 1)
    cuda.atomic.add(opened_counts, site, 1)
    cuda.atomic.max(r, Register.DEEPEST_TAG, depth)
    work[WaveColumn.TARGET, g] = child
    if nodes[number, NodeColumn.CHILD_WORD]:
        mem[frame + nodes[number, NodeColumn.CHILD_WORD]] = child


def sum_shares(r: Any, sums: Any, totals: Any):
    """Replace the counts of a share of tokens by their prefix sums, by row; the sum of the share goes to `totals`."""
    share = cuda.grid(1)
    begin, end = share * TOKENS_PER_THREAD, min((share + 1) * TOKENS_PER_THREAD, r[Register.FLIGHT_LENGTH])
    if begin >= end:
        return
    for row in range(2):
        total = 0
        for g in range(begin, end):
            total += sums[row, g]
            sums[row, g] = total
        totals[row, share] = total


def sum_totals(totals: Any, shares: Any):
    row = cuda.grid(1)
    if row > 1:
        return
    total = 0
    for share in range(shares):
        total += totals[row, share]
        totals[row, share] = total


def prefix_sum(sums: Any, totals: Any, row: Any, g: Any):
    """The sum of a row over the tokens up to token `g`, included."""
    share = g // TOKENS_PER_THREAD
    return sums[row, g] + (totals[row, share - 1] if share > 0 else 0)


def send(
    r: Any, work: Any, mem: Any, ring: Any, nodes: Any, ports: Any, codes: Any, edges: Any, sums: Any, totals: Any,
    counts: Any, results: Any,
):  # fmt: skip
    g = cuda.grid(1)
    if g >= r[Register.FLIGHT_LENGTH]:
        return
    if not work[WaveColumn.FIRES, g]:
        cuda.atomic.max(r, Register.LARGEST_STORE, r[Register.WAITING] + prefix_sum(sums, totals, WAITING_ROW, g))
        return
    frame, number, target = (
        work[WaveColumn.FRAME, g],
        ports[work[WaveColumn.PORT, g], PortColumn.NODE],
        work[WaveColumn.TARGET, g],
    )
    code, required, mask = codes[number], nodes[number, NodeColumn.REQUIRED_TOKENS], ring.shape[0] - 1
    if target == 0:
        target = mem[frame + nodes[number, NodeColumn.CHILD_WORD]]
    begin, end, begin_2, end_2 = (
        work[WaveColumn.FIRST_BEGIN, g],
        work[WaveColumn.FIRST_END, g],
        work[WaveColumn.SECOND_BEGIN, g],
        work[WaveColumn.SECOND_END, g],
    )
    sent = end - begin + end_2 - begin_2
    slot = r[Register.FLIGHT_HEAD] + r[Register.FLIGHT_LENGTH] + prefix_sum(sums, totals, SENT_ROW, g) - sent
    for edge in range(begin, end):
        ring[slot & mask, 0] = target << PORT_BITS | edges[edge]
        ring[slot & mask, 1] = work[WaveColumn.FIRST_OUTPUT, g]
        slot += 1
    for edge in range(begin_2, end_2):
        ring[slot & mask, 0] = target << PORT_BITS | edges[edge]
        ring[slot & mask, 1] = work[WaveColumn.SECOND_OUTPUT, g]
        slot += 1
    if nodes[number, NodeColumn.OPERAND_MASK]:
        # All bits of the operands are set, and that of the firing is not.
        cuda.atomic.add(
            mem,
            frame + nodes[number, NodeColumn.MASK_WORD],
            nodes[number, NodeColumn.FIRED_BIT] - nodes[number, NodeColumn.OPERAND_MASK],
        )
    pending = -required
    if code == Opcode.RETURN or code == Opcode.RESULT:
        pending += RESULT_UNIT - 1
    if code == Opcode.CALL or code == Opcode.NEXT_ITERATION:
        cuda.atomic.add(mem, target + FrameHeader.PENDING, ARGUMENT_UNIT - 1)
    cuda.atomic.add(mem, target + FrameHeader.PENDING, sent)
    cuda.atomic.add(mem, frame + FrameHeader.PENDING, pending)
    cuda.atomic.add(counts, number, 1)
    cuda.atomic.add(r, Register.FIRINGS, 1)
    if sent:
        cuda.atomic.max(
            r, Register.LARGEST_FLIGHT, r[Register.FLIGHT_LENGTH] - (g + 1) + prefix_sum(sums, totals, SENT_ROW, g)
        )
    if code == Opcode.RESULT:
        results[nodes[number, NodeColumn.SITE], 0] = 1
        results[nodes[number, NodeColumn.SITE], 1] = work[WaveColumn.FIRST_OUTPUT, g]
        cuda.atomic.add(r, Register.RESULT_COUNT, 1)


def close_activations(r: Any, work: Any, mem: Any, dropped_tags: Any):
    """Close activations. The thread that sets ITERATION to -1 first closes the frame, which is not reused."""
    g = cuda.grid(1)
    if g >= r[Register.FLIGHT_LENGTH] or not work[WaveColumn.FIRES, g]:
        return
    frame = work[WaveColumn.FRAME, g]
    pending = mem[frame + FrameHeader.PENDING]
    while frame and pending & PENDING_MASK == 0:
        if cuda.atomic.exch(mem, frame + FrameHeader.ITERATION, -1) < 0:
            return
        if pending & TAG_BUILT:
            dropped_tags[cuda.atomic.add(r, Register.DROPPED_TAGS, 1)] = frame
        cuda.atomic.add(r, Register.OPEN_ACTIVATIONS, -1)
        frame = mem[frame + FrameHeader.PARENT] >> LOW_BITS
        if frame:
            pending = cuda.atomic.add(mem, frame + FrameHeader.PENDING, -1) - 1


def advance_clock(r: Any, sums: Any, totals: Any, profile: Any, mask: Any):
    if cuda.grid(1) > 0:
        return
    length = r[Register.FLIGHT_LENGTH]
    r[Register.FLIGHT_HEAD] = (r[Register.FLIGHT_HEAD] + length) & mask
    r[Register.FLIGHT_LENGTH] = prefix_sum(sums, totals, SENT_ROW, length - 1)
    r[Register.WAITING] += prefix_sum(sums, totals, WAITING_ROW, length - 1)
    r[Register.STEPS] += length
    r[Register.WAVE_REMAINING] = r[Register.FLIGHT_LENGTH]
    profile[r[Register.WAVES], 0] = r[Register.FIRINGS] - r[Register.FIRINGS_BEFORE_WAVE]
    profile[r[Register.WAVES], 1] = r[Register.WAITING]
    r[Register.WAVES] += 1
    r[Register.FIRINGS_BEFORE_WAVE] = r[Register.FIRINGS]
