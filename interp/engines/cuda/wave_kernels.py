"""The source of the kernel that delivers a wave; `kernels` compiles it.

Nothing here depends on the order of threads and blocks, and no block waits for another. All threads of a block take a
*tile* of tokens, one each, in two phases, between which the block reserves places for what it sends and memory for what
it opens, with one atomic each. After its last tile a block adds its counts to those of the run, and the last block to
do so advances the clock.

A thread that stores what another one reads in the same wave does so before a fence and an atomic, and the other reads
it after its atomic and a fence. Counts of an activation are added in an order in which none is 0 before all is done:
first an opened child to its parent, then what a firing sends to another activation, and its own tokens last.

The source is Python that numba can compile for a GPU. `kernels` joins this file and the generated functions of opcodes
into one module, and puts numbers for the names of columns and registers.
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
    from numba import cuda, int32, int64

    def compute(code: int, a: int, b: int, c: int) -> int: ...
    def cast(code: int, word: int) -> int: ...
    def traps(code: int, a: int, b: int) -> bool: ...


class Control(IntEnum):
    """The words of `control`: the state of a batch of waves, and what bounds it."""

    STOP = 0
    """Why the next wave must not begin, a WaveStop."""
    NEXT_LENGTH = 1
    """The number of tokens that the current wave has sent so far."""
    FINISHED_BLOCKS = 2
    """The number of blocks that have finished the current wave."""
    CONFLICTS = 3
    """The number of second tokens at a port, against S4: no valid graph has any."""
    TRAPS = 4
    """The number of traps, of which `trap_rows` has those for which there is room."""
    FLIGHT_ROOM = 5
    """The most tokens that a wave may send."""
    MEMORY_ROOM = 6
    """The size of memory."""
    PROFILE_ROOM = 7
    """The most waves."""
    FIRING_LIMIT = 8
    TOKEN_LIMIT = 9
    DEPTH_LIMIT = 10
    FAN_OUT = 11
    LARGEST_FRAME = 12


class WaveStop(IntEnum):
    """Why no further wave may begin."""

    NONE = 0
    LIMIT = 1
    """The next wave might exceed a limit."""
    FULL = 2
    """An array might be too small for the next wave."""


class BlockTotal(IntEnum):
    """The words that the threads of a block share."""

    PLACES = 0
    """What the tile needs so far: words for new frames in the high half, places for tokens in the low half."""
    FIRST_PLACE = 1
    """The first place in the next flight for the tokens of the tile."""
    FIRST_WORD = 2
    """The first word of memory for the frames of the tile."""
    FIRINGS = 3
    """The sums over the tiles of the block, from here on."""
    WAITING = 4
    OPEN_ACTIVATIONS = 5
    DEEPEST_TAG = 6


KERNELS = ("deliver_wave",)
BLOCK_COUNTERS = 1024
"""The counters of a block: for firings by node, then for opened activations by site. What has no counter there is added
to the counts of the run at once."""
BLOCK_TOTALS = len(BlockTotal)

# Compiled from here on.
FIRST_TRAPPING = first_trapping_opcode()
LOW_MASK = (1 << LOW_BITS) - 1
PENDING_MASK = (1 << 32) - 1
PORT_MASK = (1 << PORT_BITS) - 1
LAST_OPERAND = ~SCRATCH_WORD
"""The offset that stands for the operand that arrived last."""


def wave_stop(r: Any, control: Any) -> Any:
    """Why the next wave must not begin."""
    n = r[Register.FLIGHT_LENGTH]
    if (
        r[Register.FIRINGS] + n > control[Control.FIRING_LIMIT]
        or r[Register.WAITING] + n + n * control[Control.FAN_OUT] > control[Control.TOKEN_LIMIT]
        or r[Register.DEEPEST_TAG] >= control[Control.DEPTH_LIMIT]
    ):
        return WaveStop.LIMIT
    if (
        n * control[Control.FAN_OUT] > control[Control.FLIGHT_ROOM]
        or r[Register.MEMORY_TOP] + n * control[Control.LARGEST_FRAME] > control[Control.MEMORY_ROOM]
        or r[Register.WAVES] >= control[Control.PROFILE_ROOM]
    ):
        return WaveStop.FULL
    return WaveStop.NONE


def operand(mem: Any, frame: Any, offset: Any, delivered: Any) -> Any:
    """The word of an operand: `delivered` for the last one, else at an offset in the frame or, complemented, in
    memory."""
    if offset == LAST_OPERAND:
        return delivered
    return mem[~offset] if offset < 0 else mem[frame + offset]


def arrive(control: Any, mem: Any, nodes: Any, ports: Any, frame: Any, port: Any, value: Any) -> Any:
    """Set the bit of a token; returns whether its node has all operands then. Of several tokens that arrive in one
    wave, that is so for the one whose atomic comes last."""
    number = ports[port, PortColumn.NODE]
    operand_mask, fired_bit = nodes[number, NodeColumn.OPERAND_MASK], nodes[number, NodeColumn.FIRED_BIT]
    bit = fired_bit
    if operand_mask:
        bit = ports[port, PortColumn.BIT]
        mem[frame + ports[port, PortColumn.OPERAND_WORD]] = value
        cuda.threadfence()
    old_bits = cuda.atomic.or_(mem, frame + nodes[number, NodeColumn.MASK_WORD], bit)
    if old_bits & (bit | fired_bit):
        cuda.atomic.add(control, Control.CONFLICTS, 1)
    if operand_mask == 0:
        return True
    if (old_bits | bit) & operand_mask != operand_mask:
        return False
    cuda.threadfence()
    cuda.atomic.add(mem, frame + nodes[number, NodeColumn.MASK_WORD], fired_bit - operand_mask)
    return True


def fire(mem: Any, nodes: Any, ports: Any, routes: Any, frame: Any, port: Any, value: Any) -> Any:
    """Compute a firing: whether it traps, its two outputs, the spans of edges along which it sends them, and the frame
    of the activation that it sends to; 0 if that must be opened."""
    number = ports[port, PortColumn.NODE]
    code, casts = nodes[number, NodeColumn.CODE], nodes[number, NodeColumn.CAST]
    begin, end = nodes[number, NodeColumn.EDGES_BEGIN], nodes[number, NodeColumn.SECOND_EDGES_BEGIN]
    begin_2, end_2, out_2, target = 0, 0, 0, frame
    out = operand(mem, frame, ports[port, PortColumn.OPERAND_0], value)
    if code >= FIRST_KERNEL:
        second = operand(mem, frame, ports[port, PortColumn.OPERAND_1], value)
        if code >= FIRST_TRAPPING and traps(code, out, second):
            return True, out, out_2, begin, begin, begin_2, end_2, target
        out = compute(code, out, second, operand(mem, frame, ports[port, PortColumn.OPERAND_2], value))
    if casts and (code >= FIRST_KERNEL or code == Opcode.PASS):
        out = cast(casts, out)
    if code == Opcode.SWITCH:
        if operand(mem, frame, ports[port, PortColumn.OPERAND_1], value) == 0:
            begin, end = end, nodes[number, NodeColumn.EDGES_END]
    elif code == Opcode.CALL or code == Opcode.NEXT_ITERATION:
        child_word = nodes[number, NodeColumn.CHILD_WORD]
        target = mem[frame + child_word] if child_word else 0
    elif code == Opcode.RETURN or code == Opcode.EXIT:
        target = mem[frame + FrameHeader.PARENT] >> LOW_BITS
        if code == Opcode.EXIT:
            begin_2, end_2 = end, nodes[number, NodeColumn.EDGES_END]
            out_2 = mem[frame + FrameHeader.ITERATION] >> LOW_BITS
    elif code == Opcode.BACK and mem[frame + FrameHeader.ITERATION] >> LOW_BITS == 0:
        target = mem[frame + FrameHeader.PARENT] >> LOW_BITS
        begin_2, end_2, out_2, end = end, nodes[number, NodeColumn.EDGES_END], out, begin
    elif code == Opcode.REENTER or code == Opcode.BACK:
        target = mem[frame + ports[port, PortColumn.LINK_WORD]]
    if target:
        # S10: of the returns, only that of the site on top of the tag gets the token. Nodes that open activations feed
        # no returns (V12), so a target that is not open yet needs no route.
        if nodes[number, NodeColumn.ROUTE] >= 0 and end > begin:
            route = nodes[number, NodeColumn.ROUTE] + (mem[target + FrameHeader.PARENT] & LOW_MASK)
            begin, end = routes[route, 0], routes[route, 1]
        if nodes[number, NodeColumn.ROUTE_SECOND] >= 0 and end_2 > begin_2:
            route = nodes[number, NodeColumn.ROUTE_SECOND] + (mem[target + FrameHeader.PARENT] & LOW_MASK)
            begin_2, end_2 = routes[route, 0], routes[route, 1]
    return False, out, out_2, begin, end, begin_2, end_2, target


def open_activation(
    mem: Any, sites: Any, scopes: Any, frame: Any, site: Any, child_word: Any, is_iteration: Any, child: Any,
    header: Any, totals: Any,
) -> Any:  # fmt: skip
    """Open an activation in the frame `child`, unless another firing of this wave has opened it in another frame;
    returns its frame. An unused frame is a closed one."""
    parent, iteration = frame, 0
    if is_iteration:
        parent = mem[frame + FrameHeader.PARENT] >> LOW_BITS
        iteration = (mem[frame + FrameHeader.ITERATION] >> LOW_BITS) + 1
    depth = (mem[parent + FrameHeader.ITERATION] & LOW_MASK) + 1
    for word in range(child + header, child + scopes[sites[site, SiteColumn.SCOPE], ScopeColumn.CLEAR_END]):
        mem[word] = 0
    mem[child + FrameHeader.PARENT] = parent << LOW_BITS | site
    mem[child + FrameHeader.ITERATION] = iteration << LOW_BITS | depth
    mem[child + FrameHeader.PENDING] = sites[site, SiteColumn.ARGUMENTS] + sites[site, SiteColumn.RESULTS]
    if child_word:
        cuda.threadfence()
        opened = cuda.atomic.cas(mem, frame + child_word, 0, child)
        if opened:
            mem[child + FrameHeader.ITERATION] = -1
            return opened
    cuda.atomic.add(mem, parent + FrameHeader.PENDING, 1)
    cuda.atomic.add(totals, BlockTotal.OPEN_ACTIVATIONS, 1)
    cuda.atomic.max(totals, BlockTotal.DEEPEST_TAG, depth)
    return child


def add_pending(r: Any, mem: Any, frame: Any, change: Any, dropped_tags: Any, totals: Any):
    """Change what is pending in an activation, and close it, and each ancestor in which then nothing is pending. The
    iteration of a closed one is complemented."""
    pending = cuda.atomic.add(mem, frame + FrameHeader.PENDING, change) + change
    while pending & PENDING_MASK == 0:
        cuda.threadfence()
        mem[frame + FrameHeader.ITERATION] = ~mem[frame + FrameHeader.ITERATION]
        if pending & TAG_BUILT:
            dropped_tags[cuda.atomic.add(r, Register.DROPPED_TAGS, 1)] = frame
        cuda.atomic.add(totals, BlockTotal.OPEN_ACTIVATIONS, -1)
        frame = mem[frame + FrameHeader.PARENT] >> LOW_BITS
        if frame == 0:
            return
        pending = cuda.atomic.add(mem, frame + FrameHeader.PENDING, -1) - 1


def count(block_counts: Any, counts: Any, number: Any):
    """Count a firing or an opened activation."""
    if number < BLOCK_COUNTERS:
        cuda.atomic.add(block_counts, number, 1)
    else:
        cuda.atomic.add(counts, number, 1)


def advance_clock(r: Any, control: Any, profile: Any):
    """End a wave."""
    r[Register.STEPS] += r[Register.FLIGHT_LENGTH]
    r[Register.FLIGHT_LENGTH] = r[Register.WAVE_REMAINING] = control[Control.NEXT_LENGTH]
    r[Register.LARGEST_STORE] = max(r[Register.LARGEST_STORE], r[Register.WAITING])
    r[Register.LARGEST_FLIGHT] = max(r[Register.LARGEST_FLIGHT], r[Register.FLIGHT_LENGTH])
    profile[r[Register.WAVES], 0] = r[Register.FIRINGS] - r[Register.FIRINGS_BEFORE_WAVE]
    profile[r[Register.WAVES], 1] = r[Register.WAITING]
    r[Register.WAVES] += 1
    r[Register.FIRINGS_BEFORE_WAVE] = r[Register.FIRINGS]
    control[Control.NEXT_LENGTH] = control[Control.FINISHED_BLOCKS] = 0
    control[Control.STOP] = wave_stop(r, control)


def deliver_wave(
    r: Any, control: Any, flight: Any, mem: Any, nodes: Any, ports: Any, edges: Any, routes: Any, sites: Any,
    scopes: Any, counts: Any, results: Any, dropped_tags: Any, profile: Any, trap_rows: Any, spares: Any, header: Any,
):  # fmt: skip
    """Deliver the tokens of a wave, if there are any and the wave may begin. Of the two halves of `flight`, the waves
    with odd numbers send from the second to the first."""
    n, half = r[Register.FLIGHT_LENGTH], r[Register.WAVES] & 1
    if control[Control.STOP] or n == 0:
        return
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    block_counts = cuda.shared.array(BLOCK_COUNTERS, int32)
    totals = cuda.shared.array(BLOCK_TOTALS, int64)
    for number in range(thread, min(BLOCK_COUNTERS, counts.shape[0]), threads):
        block_counts[number] = 0
    for number in range(thread, BLOCK_TOTALS, threads):
        totals[number] = 0
    cuda.syncthreads()
    firings, waiting = 0, 0
    for tile in range(cuda.blockIdx.x, (n + threads - 1) // threads, cuda.gridDim.x):
        # What the token of this thread does, and what it needs
        g, fires, place, sent, words, spare, scope = tile * threads + thread, False, 0, 0, 0, 0, 0
        frame, port, number, value, target = 0, 0, 0, 0, 0
        out, out_2, begin, end, begin_2, end_2 = 0, 0, 0, 0, 0, 0
        if g < n:
            token, value = flight[half, 0, g], flight[half, 1, g]
            frame, port = token >> PORT_BITS, token & PORT_MASK
            number = ports[port, PortColumn.NODE]
            fires = arrive(control, mem, nodes, ports, frame, port, value)
            waiting += 1
        if fires:
            is_trap, out, out_2, begin, end, begin_2, end_2, target = fire(
                mem, nodes, ports, routes, frame, port, value
            )
            sent = end - begin + end_2 - begin_2
            if is_trap:
                row = cuda.atomic.add(control, Control.TRAPS, 1)
                if row < trap_rows.shape[0]:
                    trap_rows[row, 0], trap_rows[row, 1] = frame << PORT_BITS | port, value
            if target == 0:
                scope = sites[nodes[number, NodeColumn.SITE], SiteColumn.SCOPE]
                spare = spares[cuda.grid(1)]
                if spare == 0 or spare & LOW_MASK != scope:
                    spare, words = 0, scopes[scope, ScopeColumn.SIZE]
            if sent or words:
                place = cuda.atomic.add(totals, BlockTotal.PLACES, words << 32 | sent)
        cuda.syncthreads()
        if thread == 0:
            places = totals[BlockTotal.PLACES]
            totals[BlockTotal.FIRST_PLACE] = cuda.atomic.add(control, Control.NEXT_LENGTH, places & PENDING_MASK)
            totals[BlockTotal.FIRST_WORD] = cuda.atomic.add(r, Register.MEMORY_TOP, places >> 32)
            totals[BlockTotal.PLACES] = 0
        cuda.syncthreads()
        # What it sends, opens and closes
        if fires:
            code, required = nodes[number, NodeColumn.CODE], nodes[number, NodeColumn.REQUIRED_TOKENS]
            site, own = nodes[number, NodeColumn.SITE], -required
            if target == 0:
                child = spare >> LOW_BITS if spare else totals[BlockTotal.FIRST_WORD] + (place >> 32)
                is_iteration = code == Opcode.NEXT_ITERATION
                child_word = nodes[number, NodeColumn.CHILD_WORD]
                target = open_activation(
                    mem, sites, scopes, frame, site, child_word, is_iteration, child, header, totals
                )
                if target == child:
                    count(block_counts, counts, nodes.shape[0] + site)
                if spare and target == child:
                    spares[cuda.grid(1)] = 0
                elif target != child:
                    spares[cuda.grid(1)] = child << LOW_BITS | scope
            slot = totals[BlockTotal.FIRST_PLACE] + (place & PENDING_MASK)
            for edge in range(begin, end):
                flight[1 - half, 0, slot], flight[1 - half, 1, slot] = target << PORT_BITS | edges[edge], out
                slot += 1
            for edge in range(begin_2, end_2):
                flight[1 - half, 0, slot], flight[1 - half, 1, slot] = target << PORT_BITS | edges[edge], out_2
                slot += 1
            firings += 1
            waiting -= required
            count(block_counts, counts, number)
            if code == Opcode.RESULT:
                results[site, 0], results[site, 1] = 1, out
                cuda.atomic.add(r, Register.RESULT_COUNT, 1)
            if code == Opcode.RETURN or code == Opcode.RESULT:
                own += RESULT_UNIT - 1
            if target == frame:
                own += sent
            else:
                link_word = ports[port, PortColumn.LINK_WORD]
                if link_word and (code == Opcode.NEXT_ITERATION or code == Opcode.EXIT):
                    mem[target + link_word] = frame
                is_argument = code == Opcode.CALL or code == Opcode.NEXT_ITERATION or code == Opcode.REENTER
                if is_argument or (code == Opcode.BACK and mem[frame + FrameHeader.ITERATION] >> LOW_BITS):
                    sent += ARGUMENT_UNIT - 1
                cuda.threadfence()
                if sent:
                    add_pending(r, mem, target, sent, dropped_tags, totals)
                    cuda.threadfence()
            if own:
                add_pending(r, mem, frame, own, dropped_tags, totals)
    cuda.atomic.add(totals, BlockTotal.FIRINGS, firings)
    cuda.atomic.add(totals, BlockTotal.WAITING, waiting)
    cuda.threadfence()
    cuda.syncthreads()
    for number in range(thread, min(BLOCK_COUNTERS, counts.shape[0]), threads):
        if block_counts[number]:
            cuda.atomic.add(counts, number, block_counts[number])
    cuda.threadfence()
    cuda.syncthreads()
    if thread == 0:
        cuda.atomic.add(r, Register.FIRINGS, totals[BlockTotal.FIRINGS])
        cuda.atomic.add(r, Register.WAITING, totals[BlockTotal.WAITING])
        cuda.atomic.add(r, Register.OPEN_ACTIVATIONS, totals[BlockTotal.OPEN_ACTIVATIONS])
        cuda.atomic.max(r, Register.DEEPEST_TAG, totals[BlockTotal.DEEPEST_TAG])
        cuda.threadfence()
        if cuda.atomic.add(control, Control.FINISHED_BLOCKS, 1) == cuda.gridDim.x - 1:
            cuda.threadfence()
            advance_clock(r, control, profile)
