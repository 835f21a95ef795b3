"""The main loop of the token machine, compiled by numba: runs an image over words of memory.

The rules are the reference's, S1 to S16; k-bounds of loops (S16) throttle and release tokens here. A firing that words
cannot express, traps included, is left to the caller, before any change; then the same token is delivered again, with
the results of its firing in `given`.

No step checks for room: the number of steps that surely fit is computed for many at once. Near a limit, steps are
`careful`, one by one, so that limits are exact. Of a condition to stop, the machine tests one comparison, which rules
out most steps; Python evaluates the rest.

`load` compiles this file with `frames` and `deliver_scalar`, with numbers for the names of columns and registers,
together with `compute`, `cast` and `traps`, which `arms` generates from the table of opcodes. Arrays are addresses,
read with `peek`.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...image.image import (
    ARGUMENT_UNIT,
    PORT_BITS,
    RESULT_UNIT,
    SCRATCH_WORD,
    FrameHeader,
    NodeColumn,
    PortColumn,
    SiteColumn,
)
from ...image.opcodes import FIRST_KERNEL, Opcode, first_trapping_opcode
from ..jit.memory import peek, poke, prefetch
from .frames import (
    HAS_JOURNAL,
    PENDING_MASK,
    SITE_WORDS,
    adjust_references,
    close_activation,
    depth_of,
    iteration_of,
    open_activation,
    operand,
    parent_of,
    remove_from_flight,
    site_of,
    splitmix64,
)
from .journal import note_firing, note_no_firing, note_release, steps_with_journal_room
from .registers import (
    Address,
    ComparisonColumn,
    DeliveryOrder,
    ExitReason,
    HostResult,
    HostResultKind,
    JournalHead,
    MachineOption,
    Register,
    StopOperator,
    StopQuantity,
    ThrottledColumn,
)

if TYPE_CHECKING:

    def compute(code: int, a: int, b: int, c: int) -> int: ...
    def cast(code: int, word: int) -> int: ...
    def traps(code: int, a: int, b: int) -> bool: ...
    def deliver_scalar_lifo(a: int, sure: int, header: int) -> int: ...
    def deliver_scalar_fifo(a: int, sure: int, header: int) -> int: ...


FIRST_TRAPPING = first_trapping_opcode()
PORT_MASK = (1 << PORT_BITS) - 1
PREFETCH_DISTANCE = 16
"""How many tokens ahead of delivery a frame is prefetched."""
NODE_BYTES = 8 * len(NodeColumn)
PORT_BYTES = 8 * len(PortColumn)


def steps_with_room(a: Any, o: Any, r: Any, length: Any) -> Any:
    """A number of steps that fit into all arrays."""
    steps = (peek(a, Address.MEMORY_SIZE) - peek(r, Register.MEMORY_TOP)) // peek(o, MachineOption.LARGEST_FRAME)
    steps = min(
        steps, (peek(a, Address.RING_SIZE) - length - peek(r, Register.THROTTLED)) // peek(o, MachineOption.FAN_OUT)
    )
    steps = min(steps, (peek(a, Address.DEAD_OBJECTS_SIZE) - peek(r, Register.DEAD_OBJECTS)) // 4)
    steps = min(
        steps, (peek(a, Address.THROTTLED_SIZE) - peek(r, Register.THROTTLED_TOP)) // peek(o, MachineOption.FAN_OUT)
    )
    if HAS_JOURNAL:
        steps = min(steps, steps_with_journal_room(a, o, r))
    if peek(o, MachineOption.HAS_WAVE_CLOCK):
        steps = min(steps, peek(a, Address.PROFILE_SIZE) - peek(r, Register.WAVES))
    return steps


def run(a: Any, budget: Any, header: Any) -> Any:
    """Deliver tokens until the flight is empty, `budget` steps are done, or the caller must act first."""
    why, o = ExitReason.BUDGET, peek(a, Address.OPTIONS)
    while budget > 0 and why == ExitReason.BUDGET:
        sure, steps = safe_steps(a, budget), budget
        if peek(o, MachineOption.HAS_SCALAR_PATH) and sure > 0:
            steps = 1
            if peek(peek(a, Address.HOST_RESULT), HostResult.KIND) == HostResultKind.ABSENT:
                done = (
                    deliver_scalar_lifo(a, sure, header)
                    if peek(o, MachineOption.ORDER) == DeliveryOrder.YOUNGEST
                    else deliver_scalar_fifo(a, sure, header)
                )
                budget -= done
                steps = min(sure - done, 1)
        if steps:
            why = deliver(a, steps, header)
            budget -= steps
    return why


def find_target(mem: Any, frame: Any, node: Any) -> Any:
    """The activation that another argument or loop variable has already opened, or 0."""
    place = peek(node, NodeColumn.CHILD_WORD)
    return peek(mem, frame + place) if place else 0


def open_target(a: Any, r: Any, mem: Any, frame: Any, node: Any, code: Any, header: Any) -> Any:
    """Open an activation for a call, an entry of a loop or a next_iteration that fires in this frame, and link it
    there."""
    site, place = peek(node, NodeColumn.SITE), peek(node, NodeColumn.CHILD_WORD)
    if code == Opcode.CALL:
        target = open_activation(a, r, mem, frame, site, 0, header)
    else:
        target = open_activation(a, r, mem, parent_of(mem, frame), site, iteration_of(mem, frame) + 1, header)
        if header > FrameHeader.BUSY:
            poke(mem, target + FrameHeader.PREVIOUS, frame)
            poke(mem, frame + FrameHeader.NEXT, target)
    if place:
        poke(mem, frame + place, target)
    return target


def safe_steps(a: Any, budget: Any) -> Any:
    """A number of steps, at most `budget`, that fit into all arrays and meet no limit."""
    o, r = peek(a, Address.OPTIONS), peek(a, Address.REGISTERS)
    length = peek(r, Register.FLIGHT_LENGTH)
    live = length + peek(r, Register.WAITING) + peek(r, Register.PARKED) + peek(r, Register.THROTTLED)
    steps = min(
        steps_with_room(a, o, r, length), (peek(o, MachineOption.TOKEN_LIMIT) - live) // peek(o, MachineOption.FAN_OUT)
    )
    return min(min(budget, steps), peek(o, MachineOption.FIRING_LIMIT) - peek(r, Register.FIRINGS))


def deliver(a: Any, budget: Any, header: Any) -> Any:
    """`run` for any tokens. Sending and releasing are inlined: as functions, a firing of a bounded loop takes 37 ns
    instead of 27."""
    o, r, mem, ring = (
        peek(a, Address.OPTIONS),
        peek(a, Address.REGISTERS),
        peek(a, Address.MEMORY),
        peek(a, Address.RING),
    )
    nodes, ports, edges, codes = (
        peek(a, Address.NODES),
        peek(a, Address.PORTS),
        peek(a, Address.EDGES),
        peek(a, Address.CODES),
    )
    counts, given, profile = peek(a, Address.FIRING_COUNTS), peek(a, Address.HOST_RESULT), peek(a, Address.PROFILE)
    mode, clocked, seed = (
        peek(o, MachineOption.ORDER),
        peek(o, MachineOption.HAS_WAVE_CLOCK),
        peek(o, MachineOption.SEED),
    )
    depth_limit, fan = peek(o, MachineOption.DEPTH_LIMIT), peek(o, MachineOption.FAN_OUT)
    firings_limit, tokens_limit = peek(o, MachineOption.FIRING_LIMIT), peek(o, MachineOption.TOKEN_LIMIT)
    mask, bounded = peek(a, Address.RING_SIZE) - 1, header > FrameHeader.BUSY
    head, length, ahead = (
        peek(r, Register.FLIGHT_HEAD),
        peek(r, Register.FLIGHT_LENGTH),
        peek(r, Register.WAVE_REMAINING),
    )
    waiting, firings, steps = peek(r, Register.WAITING), peek(r, Register.FIRINGS), peek(r, Register.STEPS)
    others = peek(r, Register.PARKED) + peek(r, Register.THROTTLED)
    store, flight = peek(r, Register.LARGEST_STORE), peek(r, Register.LARGEST_FLIGHT)
    passed, stays = peek(r, Register.RESUME_STEP), peek(o, MachineOption.STOPS_AT_WAITING)
    kind = peek(given, HostResult.KIND)
    poke(given, HostResult.KIND, HostResultKind.ABSENT)
    why, position = ExitReason.BUDGET, 0
    while budget > 0 and why == ExitReason.BUDGET:
        sure = min(budget, steps_with_room(a, o, r, length))
        if sure < 1:
            why = ExitReason.ARRAY_FULL
            break
        sure = min(sure, min(firings_limit - firings, (tokens_limit - length - waiting - others) // fan))
        careful = sure < 1
        sure = max(sure, 1)
        budget -= sure
        while sure > 0:
            sure -= 1
            if length == 0:
                why = ExitReason.QUIESCENT
                break
            position = 0
            if mode == DeliveryOrder.YOUNGEST:
                position = length - 1
            elif mode == DeliveryOrder.RANDOM:
                position = np.int64(splitmix64(seed, steps) % np.uint64(length))
            else:
                # Prefetching the frame takes 24 ns a firing instead of 43 on fib(28).
                soon = peek(ring, (head + PREFETCH_DISTANCE & mask) << 1) >> PORT_BITS
                prefetch(mem, soon)
                prefetch(mem, soon + 8)
            at = (head + position & mask) << 1
            token, value = peek(ring, at), peek(ring, at + 1)
            frame, port = token >> PORT_BITS, ports + (token & PORT_MASK) * PORT_BYTES
            number = peek(port, PortColumn.NODE)
            node = nodes + number * NODE_BYTES
            state = frame + peek(node, NodeColumn.MASK_WORD)
            bit, full, fired = (
                peek(port, PortColumn.BIT),
                peek(node, NodeColumn.OPERAND_MASK),
                peek(node, NodeColumn.FIRED_BIT),
            )
            before = peek(mem, state)
            bits, stayed = before | bit, False
            if before & (bit | fired):
                why = ExitReason.SECOND_TOKEN
                break
            if bits & full != full:
                # S2: it waits for its partners
                may_stop = stays and steps != passed and peek(codes, number) == Opcode.BREAKPOINT
                if may_stop and should_stop(a, mem, token, number, 1, value, firings, steps):
                    why = ExitReason.STOP_CONDITION
                    break
                stayed = True
                if HAS_JOURNAL:
                    note_no_firing(a, r, token, value, position, JournalHead.ENDS_WAVE * (ahead == 1))
                poke(mem, state, bits)
                poke(mem, frame + peek(port, PortColumn.OPERAND_WORD), value)
                waiting += 1
                store = max(store, waiting)
                if position == 0:
                    head += 1
                elif position != length - 1:
                    head = remove_from_flight(ring, mask, head, length, position)
                length -= 1
            else:
                code, needs, special = (
                    peek(codes, number),
                    peek(node, NodeColumn.REQUIRED_TOKENS),
                    peek(node, NodeColumn.IS_SPECIAL),
                )
                may_stop = code == Opcode.BREAKPOINT and steps != passed and kind == HostResultKind.ABSENT
                if code == Opcode.BREAKPOINT:
                    code = peek(node, NodeColumn.CODE)
                if careful and firings >= firings_limit and code != Opcode.FALLBACK:
                    why = ExitReason.FIRING_LIMIT
                    break
                begin, end, begin_2, end_2, out_2 = (
                    peek(node, NodeColumn.EDGES_BEGIN),
                    peek(node, NodeColumn.SECOND_EDGES_BEGIN),
                    0,
                    0,
                    0,
                )
                target, after, held = frame, 0, False
                poke(mem, SCRATCH_WORD, value)
                out = operand(mem, frame, peek(port, PortColumn.OPERAND_0))
                if kind != HostResultKind.ABSENT:
                    out, out_2 = peek(given, HostResult.FIRST_OUTPUT), peek(given, HostResult.SECOND_OUTPUT)
                    if kind == HostResultKind.TWO_OUTPUTS:
                        begin_2, end_2 = end, peek(node, NodeColumn.EDGES_END)
                    elif kind != HostResultKind.ONE_OUTPUT:
                        end = begin
                elif code >= FIRST_KERNEL:
                    second = operand(mem, frame, peek(port, PortColumn.OPERAND_1))
                    if code >= FIRST_TRAPPING and traps(code, out, second):
                        why = ExitReason.STOP_CONDITION if may_stop else ExitReason.HOST_FIRING
                        break
                    out = compute(code, out, second, operand(mem, frame, peek(port, PortColumn.OPERAND_2)))
                    if special and peek(node, NodeColumn.CAST):
                        out = cast(peek(node, NodeColumn.CAST), out)
                elif code == Opcode.PASS:
                    if special and peek(node, NodeColumn.CAST):
                        out = cast(peek(node, NodeColumn.CAST), out)
                elif code == Opcode.SWITCH:
                    if operand(mem, frame, peek(port, PortColumn.OPERAND_1)) == 0:
                        begin, end = end, peek(node, NodeColumn.EDGES_END)
                elif code == Opcode.CALL:
                    after, target = 1, find_target(mem, frame, node)
                    if target == 0 and depth_of(mem, frame) >= depth_limit:
                        why = ExitReason.DEPTH_LIMIT
                        break
                elif code == Opcode.RETURN:
                    target = parent_of(mem, frame)
                elif code == Opcode.NEXT_ITERATION:
                    after, target = 1, find_target(mem, frame, node)
                    if target == 0 and depth_of(mem, frame) > depth_limit:
                        why = ExitReason.DEPTH_LIMIT
                        break
                    if bounded and peek(node, NodeColumn.BOUND):
                        held = is_throttled(a, mem, frame, needs, peek(node, NodeColumn.BOUND))
                elif code == Opcode.EXIT:
                    target = parent_of(mem, frame)
                    begin_2, end_2, out_2 = end, peek(node, NodeColumn.EDGES_END), iteration_of(mem, frame)
                elif code == Opcode.REENTER:
                    after, target = 1, peek(mem, frame + peek(port, PortColumn.LINK_WORD))
                elif code == Opcode.BACK:
                    if iteration_of(mem, frame):
                        after, target = 1, peek(mem, frame + peek(port, PortColumn.LINK_WORD))
                    else:
                        begin, end, target = end, peek(node, NodeColumn.EDGES_END), parent_of(mem, frame)
                        if peek(node, NodeColumn.ROUTE_SECOND) >= 0 and end > begin:
                            route = peek(node, NodeColumn.ROUTE_SECOND) + site_of(mem, target) << 1
                            begin, end = peek(peek(a, Address.ROUTES), route), peek(peek(a, Address.ROUTES), route + 1)
                elif code == Opcode.FALLBACK:
                    why = ExitReason.STOP_CONDITION if may_stop else ExitReason.HOST_FIRING
                    break
                if may_stop and should_stop(a, mem, token, number, 0, out, firings, steps):
                    why = ExitReason.STOP_CONDITION
                    break
                if special and target:
                    # S10: of the returns, only that of the site on top of the tag gets the token
                    if peek(node, NodeColumn.ROUTE) >= 0 and end > begin:
                        route = peek(node, NodeColumn.ROUTE) + site_of(mem, target) << 1
                        begin, end = peek(peek(a, Address.ROUTES), route), peek(peek(a, Address.ROUTES), route + 1)
                    if peek(node, NodeColumn.ROUTE_SECOND) >= 0 and end_2 > begin_2:
                        route = peek(node, NodeColumn.ROUTE_SECOND) + site_of(mem, target) << 1
                        begin_2, end_2 = peek(peek(a, Address.ROUTES), route), peek(peek(a, Address.ROUTES), route + 1)
                sent = end - begin + end_2 - begin_2
                if careful and length + waiting + others + sent - needs > tokens_limit:
                    why = ExitReason.TOKEN_LIMIT
                    break
                # Nothing has changed so far; from here on nothing fails.
                if position == 0:
                    head += 1
                elif position != length - 1:
                    head = remove_from_flight(ring, mask, head, length, position)
                length -= 1
                if HAS_JOURNAL:
                    flags = JournalHead.ENDS_WAVE * (ahead == 1) + JournalHead.HOST_FIRING * (
                        kind != HostResultKind.ABSENT
                    )
                if kind == HostResultKind.PARKED:
                    if HAS_JOURNAL:
                        note_no_firing(a, r, token, value, position, flags)
                    poke(r, Register.PARKED, peek(r, Register.PARKED) + 1)
                    others += 1
                    kind, stayed = HostResultKind.ABSENT, True
                else:
                    poke(mem, state, bits & ~full | fired)
                    waiting -= needs - 1
                    firings += 1
                    poke(counts, number, peek(counts, number) + 1)
                    if HAS_JOURNAL:
                        flags += JournalHead.OPENS_ACTIVATION * (target == 0) + JournalHead.IS_THROTTLED * held
                        outputs = kind if kind != HostResultKind.NO_OUTPUT else 0
                        if kind == HostResultKind.ABSENT:
                            outputs = 2 if code == Opcode.EXIT else 1
                        flags += outputs << JournalHead.OUTPUT_COUNT_SHIFT
                    if target == 0:
                        target = open_target(a, r, mem, frame, node, code, header)
                    if peek(port, PortColumn.LINK_WORD) and (code == Opcode.NEXT_ITERATION or code == Opcode.EXIT):
                        poke(mem, target + peek(port, PortColumn.LINK_WORD), frame)
                    if HAS_JOURNAL:
                        note_firing(
                            a, r, mem, node, port, token, value, position, flags, target,
                            begin << 32 | end, out, begin_2 << 32 | end_2, out_2,
                        )  # fmt: skip
                    # S3: outputs, then edges, in order
                    high = target << PORT_BITS
                    if held:
                        for edge in range(begin, end):
                            throttle(a, r, mem, target, high | peek(edges, edge), out, steps + 1)
                        others += end - begin
                        begin = end
                    for edge in range(begin, end):
                        at = (head + length & mask) << 1
                        poke(ring, at, high | peek(edges, edge))
                        poke(ring, at + 1, out)
                        length += 1
                    for edge in range(begin_2, end_2):
                        at = (head + length & mask) << 1
                        poke(ring, at, high | peek(edges, edge))
                        poke(ring, at + 1, out_2)
                        length += 1
                    left = peek(mem, frame + FrameHeader.PENDING) - needs
                    if code == Opcode.RETURN or code == Opcode.RESULT:
                        left += RESULT_UNIT - 1
                    if target == frame:
                        left += sent
                    elif after:
                        poke(
                            mem,
                            target + FrameHeader.PENDING,
                            peek(mem, target + FrameHeader.PENDING) + ARGUMENT_UNIT + sent - 1,
                        )
                    else:
                        poke(mem, target + FrameHeader.PENDING, peek(mem, target + FrameHeader.PENDING) + sent)
                    if special:
                        boxed, refs = peek(node, NodeColumn.BOXED_FLAGS), peek(a, Address.REFERENCE_COUNTS)
                        if boxed & 1 and (
                            kind == HostResultKind.ABSENT
                            or kind == HostResultKind.ONE_OUTPUT
                            or kind == HostResultKind.TWO_OUTPUTS
                        ):
                            taken = 0 if kind != HostResultKind.ABSENT or boxed & 4 else 1
                            adjust_references(
                                a, r, refs, out, sent - (end_2 - begin_2) - taken + (code == Opcode.RESULT)
                            )
                        if boxed & 2:
                            adjust_references(a, r, refs, value, -1)
                    if code == Opcode.RESULT:
                        results, place = peek(a, Address.RESULTS), peek(node, NodeColumn.SITE) << 1
                        poke(results, place, 1)
                        poke(results, place + 1, out)
                        poke(r, Register.RESULT_COUNT, peek(r, Register.RESULT_COUNT) + 1)
                    if kind != HostResultKind.ABSENT:
                        for each in range(peek(given, HostResult.WOKEN_COUNT)):
                            at = (head + length & mask) << 1
                            poke(ring, at, peek(peek(a, Address.WOKEN_TOKENS), each << 1))
                            poke(ring, at + 1, peek(peek(a, Address.WOKEN_TOKENS), (each << 1) + 1))
                            length += 1
                        poke(r, Register.PARKED, peek(r, Register.PARKED) - peek(given, HostResult.WOKEN_COUNT))
                        others -= peek(given, HostResult.WOKEN_COUNT)
                        kind = HostResultKind.ABSENT
                    poke(mem, frame + FrameHeader.PENDING, left)
                    if bounded:
                        if sent and not held:
                            add_busy(mem, target, sent)
                        found = find_releasable(a, mem, frame, needs)
                        if clocked:
                            found = find_releasable_at_wave(a, mem, target if sent else 0) if ahead == 1 else 0
                        for each in range(found):
                            release_throttled(
                                a, r, mem, peek(peek(a, Address.RELEASE_ROWS), each), (head + length & mask) << 1
                            )
                            length += 1
                        others -= found
                    if sent:
                        flight = max(flight, length)
                    if (left & PENDING_MASK) == 0:
                        close_activation(a, r, mem, frame, header)
                    if code == Opcode.RESULT and peek(r, Register.RESULT_COUNT) == peek(o, MachineOption.RESULT_LIMIT):
                        why = ExitReason.RESULTS_COMPLETE
                        sure = 0
            if stayed and bounded and clocked and ahead == 1:
                found = find_releasable_at_wave(a, mem, 0)
                for each in range(found):
                    release_throttled(a, r, mem, peek(peek(a, Address.RELEASE_ROWS), each), (head + length & mask) << 1)
                    length += 1
                others -= found
            steps += 1
            ahead -= 1
            if ahead == 0:
                ahead = length
                if clocked:
                    poke(
                        profile,
                        peek(r, Register.WAVES),
                        firings - peek(r, Register.FIRINGS_BEFORE_WAVE) | waiting << 32,
                    )
                    poke(r, Register.WAVES, peek(r, Register.WAVES) + 1)
                    poke(r, Register.FIRINGS_BEFORE_WAVE, firings)
    poke(r, Register.FLIGHT_HEAD, head & mask)
    poke(r, Register.FLIGHT_LENGTH, length)
    poke(r, Register.WAVE_REMAINING, ahead)
    poke(r, Register.WAITING, waiting)
    poke(r, Register.FIRINGS, firings)
    poke(r, Register.STEPS, steps)
    poke(r, Register.LARGEST_STORE, store)
    poke(r, Register.LARGEST_FLIGHT, flight)
    poke(r, Register.STOP_POSITION, position)
    return why


THROTTLED_WORDS = len(ThrottledColumn)


def add_busy(mem: Any, frame: Any, by: Any) -> Any:
    """Change the count of busy tokens of an activation and of those around it; returns the innermost one whose parent
    did not change."""
    while frame and by:
        before = peek(mem, frame + FrameHeader.BUSY)
        poke(mem, frame + FrameHeader.BUSY, before + by)
        by = (before + by > 0) - (before > 0)
        frame = parent_of(mem, frame)
    return frame


def find_older(mem: Any, frame: Any, iteration: Any) -> Any:
    """The frame of this iteration of the same loop, at most as young as `frame`; 0 where it is not open."""
    while frame and iteration_of(mem, frame) > iteration:
        frame = peek(mem, frame + FrameHeader.PREVIOUS)
    return frame if frame and iteration_of(mem, frame) == iteration else 0


def find_newer(mem: Any, frame: Any, iteration: Any) -> Any:
    """The frame of this iteration of the same loop, at least as young as `frame`; 0 where it is not open."""
    while frame and iteration_of(mem, frame) < iteration:
        frame = peek(mem, frame + FrameHeader.NEXT)
    return frame if frame and iteration_of(mem, frame) == iteration else 0


def is_throttled(a: Any, mem: Any, frame: Any, needs: Any, bound: Any) -> Any:
    """S16: whether a next_iteration that fires in this frame is throttled."""
    iteration = iteration_of(mem, frame) + 1 - bound
    if iteration < 0:
        return False
    before = find_older(mem, frame, iteration)
    if before == 0:
        return False
    return peek(mem, before + FrameHeader.BUSY) > (needs if before == frame else 0)


def throttle(a: Any, r: Any, mem: Any, target: Any, token: Any, value: Any, step: Any) -> None:
    """S16: keep a token out of the flight, behind the throttled ones."""
    held, row = peek(a, Address.THROTTLED), peek(r, Register.THROTTLED_FREE)
    if row:
        poke(r, Register.THROTTLED_FREE, peek(held, row * THROTTLED_WORDS + ThrottledColumn.NEXT))
    else:
        row = peek(r, Register.THROTTLED_TOP)
        poke(r, Register.THROTTLED_TOP, row + 1)
    at, last = row * THROTTLED_WORDS, peek(held, ThrottledColumn.PREVIOUS)
    poke(held, at + ThrottledColumn.STEP, step)
    poke(held, at + ThrottledColumn.TOKEN, token)
    poke(held, at + ThrottledColumn.VALUE, value)
    poke(held, at + ThrottledColumn.PREVIOUS, last)
    poke(held, at + ThrottledColumn.NEXT, 0)
    poke(held, last * THROTTLED_WORDS + ThrottledColumn.NEXT, row)
    poke(held, ThrottledColumn.PREVIOUS, row)
    poke(held, at + ThrottledColumn.NEXT_OF_ITERATION, peek(mem, target + FrameHeader.THROTTLED))
    poke(mem, target + FrameHeader.THROTTLED, row)
    poke(r, Register.THROTTLED, peek(r, Register.THROTTLED) + 1)
    add_busy(mem, parent_of(mem, target), 1)


def release_throttled(a: Any, r: Any, mem: Any, row: Any, at: Any) -> None:
    """S16: a throttled token joins the flight, at this offset of the ring. Those of one iteration are released
    together."""
    held, ring = peek(a, Address.THROTTLED), peek(a, Address.RING)
    of = row * THROTTLED_WORDS
    if HAS_JOURNAL:
        note_release(a, r, held + (of << 3))
    token, previous, following = (
        peek(held, of + ThrottledColumn.TOKEN),
        peek(held, of + ThrottledColumn.PREVIOUS),
        peek(held, of + ThrottledColumn.NEXT),
    )
    poke(ring, at, token)
    poke(ring, at + 1, peek(held, of + ThrottledColumn.VALUE))
    poke(held, previous * THROTTLED_WORDS + ThrottledColumn.NEXT, following)
    poke(held, following * THROTTLED_WORDS + ThrottledColumn.PREVIOUS, previous)
    poke(held, of + ThrottledColumn.NEXT, peek(r, Register.THROTTLED_FREE))
    poke(r, Register.THROTTLED_FREE, row)
    poke(r, Register.THROTTLED, peek(r, Register.THROTTLED) - 1)
    frame = token >> PORT_BITS
    poke(mem, frame + FrameHeader.THROTTLED, 0)
    add_busy(mem, frame, 1)
    add_busy(mem, parent_of(mem, frame), -1)


def step_of(held: Any, row: Any) -> Any:
    return peek(held, row * THROTTLED_WORDS + ThrottledColumn.STEP)


def find_releasable(a: Any, mem: Any, frame: Any, consumed: Any) -> Any:
    """Count the tokens that a firing consumed; returns the number of tokens to release, those throttled for activations
    that stopped being busy. Their rows are in RELEASE_ROWS, in the order of their steps."""
    held, rows, found, by = peek(a, Address.THROTTLED), peek(a, Address.RELEASE_ROWS), 0, -consumed
    while frame and by:
        before = peek(mem, frame + FrameHeader.BUSY)
        poke(mem, frame + FrameHeader.BUSY, before + by)
        by = (before + by > 0) - (before > 0)
        bound = peek(peek(a, Address.SITES), site_of(mem, frame) * SITE_WORDS + SiteColumn.BOUND)
        if by and bound:
            following = find_newer(mem, frame, iteration_of(mem, frame) + bound)
            row = peek(mem, following + FrameHeader.THROTTLED) if following else 0
            while row:
                at = found
                while at > 0 and step_of(held, peek(rows, at - 1)) > step_of(held, row):
                    poke(rows, at, peek(rows, at - 1))
                    at -= 1
                poke(rows, at, row)
                found += 1
                row = peek(held, row * THROTTLED_WORDS + ThrottledColumn.NEXT_OF_ITERATION)
        frame = parent_of(mem, frame)
    return found


def find_releasable_at_wave(a: Any, mem: Any, target: Any) -> Any:
    """The same at the end of a wave: all tokens that no busy activation throttles, except those just sent."""
    held, rows, found = peek(a, Address.THROTTLED), peek(a, Address.RELEASE_ROWS), 0
    row = peek(held, ThrottledColumn.NEXT)
    while row:
        frame = peek(held, row * THROTTLED_WORDS + ThrottledColumn.TOKEN) >> PORT_BITS
        bound = peek(peek(a, Address.SITES), site_of(mem, frame) * SITE_WORDS + SiteColumn.BOUND)
        before = find_older(mem, frame, iteration_of(mem, frame) - bound)
        if before == 0 or (peek(mem, before + FrameHeader.BUSY) == 0 and before != target):
            poke(rows, found, row)
            found += 1
        row = peek(held, row * THROTTLED_WORDS + ThrottledColumn.NEXT)
    return found


COMPARISON_BYTES = 8 * len(ComparisonColumn)


def compare(sign: Any, left: Any, right: Any) -> Any:
    if sign == StopOperator.EQUAL:
        return left == right
    if sign == StopOperator.NOT_EQUAL:
        return left != right
    if sign == StopOperator.LESS:
        return left < right
    if sign == StopOperator.LESS_EQUAL:
        return left <= right
    if sign == StopOperator.GREATER:
        return left > right
    return left >= right


def should_stop(a: Any, mem: Any, token: Any, number: Any, stays: Any, out: Any, firings: Any, steps: Any) -> Any:
    """Whether the run may have to stop before the step that delivers this token to this node: it fires the node, with
    output `out`, or, if `stays`, it waits. `firings` and `steps` are the counts before the step."""
    need = peek(a, Address.COMPARISONS) + (2 * (token & PORT_MASK) + stays) * COMPARISON_BYTES
    what = peek(need, ComparisonColumn.QUANTITY)
    if what == StopQuantity.ALWAYS or what == StopQuantity.NEVER:
        return what == StopQuantity.ALWAYS
    frame, port = token >> PORT_BITS, peek(a, Address.PORTS) + (token & PORT_MASK) * PORT_BYTES
    found = out
    if what == StopQuantity.OPERAND_0:
        found = operand(mem, frame, peek(port, PortColumn.OPERAND_0))
    elif what == StopQuantity.OPERAND_1:
        found = operand(mem, frame, peek(port, PortColumn.OPERAND_1))
    elif what == StopQuantity.OPERAND_2:
        found = operand(mem, frame, peek(port, PortColumn.OPERAND_2))
    elif what == StopQuantity.DEPTH:
        found = depth_of(mem, frame)
    elif what == StopQuantity.ITERATION:
        found = iteration_of(mem, frame)
    elif what == StopQuantity.NODE_FIRINGS:
        found = peek(peek(a, Address.FIRING_COUNTS), number) + 1 - stays
    elif what == StopQuantity.FIRINGS:
        found = firings + 1 - stays
    elif what == StopQuantity.STEP:
        found = steps + 1
    sign, word = peek(need, ComparisonColumn.OPERATOR), peek(need, ComparisonColumn.NUMBER)
    if peek(need, ComparisonColumn.IS_FLOAT):
        return compare(sign, np.int64(found).view(np.float64), np.int64(word).view(np.float64))
    return compare(sign, found, word)
