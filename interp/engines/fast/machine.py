"""The main loop of the token machine, compiled by numba: runs an image over words of memory.

The rules are the reference's, S1 to S16; k-bounds of loops (S16) throttle and release tokens here. A firing that words
cannot express, traps included, is left to the caller (a host firing), before any change; then the same token is
delivered again, with the results of its firing in `host_result`.

Room in the arrays is not checked at each step, but for many steps at once. Near a limit, the machine makes one step at
a time, so that limits are exact. It tests one comparison of a stop condition, which rules out most steps; Python
evaluates the rest.

In all functions of the machine, `a`, `o`, `r` and `mem` are addresses: of the address table, the options, the
registers, and memory; `header` is the number of words of a frame header.

`load` compiles this file with `frames` and `deliver_scalar`, with numbers for the names of columns and registers,
together with `compute`, `cast` and `traps`, which `opcode_source` generates from the table of opcodes. Arrays are
passed as addresses and read with `peek`.
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
from ..jit.memory import call_word_function, peek, poke, prefetch
from ..jit.random import splitmix64
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
)
from .journal import note_firing, note_no_firing, note_release, steps_with_journal_room
from .registers import (
    LARGEST_PATH,
    Address,
    ArrayNodeColumn,
    ComparisonColumn,
    DeliveryOrder,
    ExitReason,
    FutureColumn,
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
    def deliver_scalar_lifo(a: int, budget: int, header: int) -> int: ...
    def deliver_scalar_fifo(a: int, budget: int, header: int) -> int: ...


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
    exit_reason, o = ExitReason.BUDGET, peek(a, Address.OPTIONS)
    while budget > 0 and exit_reason == ExitReason.BUDGET:
        safe_count, steps = safe_steps(a, budget), budget
        if peek(o, MachineOption.HAS_SCALAR_PATH) and safe_count > 0:
            steps = 1
            if peek(peek(a, Address.HOST_RESULT), HostResult.KIND) == HostResultKind.ABSENT:
                delivered, limit = 0, safe_count
                if peek(a, Address.BLOCKS):
                    delivered = call_word_function(peek(a, Address.BLOCKS), a, safe_count, header)
                    if delivered:
                        budget -= delivered
                        continue
                    limit = min(safe_count, LARGEST_PATH)
                if peek(o, MachineOption.ORDER) == DeliveryOrder.YOUNGEST:
                    delivered = deliver_scalar_lifo(a, limit, header)
                else:
                    delivered = deliver_scalar_fifo(a, limit, header)
                budget -= delivered
                steps = min(safe_count - delivered, 1)
        if steps:
            exit_reason = deliver(a, steps, header)
            budget -= steps
    return exit_reason


FUTURE_ROW_BYTES = 8 * len(FutureColumn)


def write_future(a: Any, o: Any, r: Any, mem: Any, frame: Any, port: Any, number: Any, boxed_flags: Any) -> Any:
    """Write the row of a firing whose result is a future, behind the others; returns the number of the result, or -1 if
    there is no room. The row counts once the firing is sure to happen."""
    count = peek(r, Register.FUTURES)
    if count >= peek(a, Address.FUTURES_SIZE) or peek(r, Register.FUTURE_COST) > peek(
        o, MachineOption.FUTURE_COST_LIMIT
    ):
        return -1
    row, levels, level = peek(a, Address.FUTURES) + count * FUTURE_ROW_BYTES, peek(a, Address.LEVELS), 0
    for position in range(3):
        word = operand(mem, frame, peek(port, PortColumn.OPERAND_0 + position))
        poke(row, FutureColumn.OPERAND_0 + position, word)
        if boxed_flags & (8 << position):
            level = max(level, peek(levels, word))
    result = peek(row, FutureColumn.RESULT)
    poke(row, FutureColumn.NODE, number)
    poke(row, FutureColumn.LEVEL, level + 1)
    poke(levels, result, level + 1)
    return result


ARRAY_NODE_BYTES = 8 * len(ArrayNodeColumn)


def has_index_in_range(a: Any, mem: Any, frame: Any, port: Any, number: Any) -> Any:
    """Whether the index of a node on arrays does not count from the end, and does not trap."""
    row = peek(a, Address.ARRAY_NODES) + number * ARRAY_NODE_BYTES
    position = peek(row, ArrayNodeColumn.INDEX)
    if position < 0:
        return True
    index = operand(mem, frame, peek(port, PortColumn.OPERAND_0 + position))
    return index >= 0 and index < peek(row, ArrayNodeColumn.BOUND)


def find_target(mem: Any, frame: Any, node: Any) -> Any:
    """The frame of the activation that another argument or loop variable has opened; 0 if it is not open."""
    child_word = peek(node, NodeColumn.CHILD_WORD)
    return peek(mem, frame + child_word) if child_word else 0


def open_target(a: Any, r: Any, mem: Any, frame: Any, node: Any, code: Any, header: Any) -> Any:
    """Open the activation to which a call or next_iteration sends that fires in this frame, and link it there; returns
    its frame."""
    site, child_word = peek(node, NodeColumn.SITE), peek(node, NodeColumn.CHILD_WORD)
    if code == Opcode.CALL:
        target = open_activation(a, r, mem, frame, site, 0, header)
    else:
        target = open_activation(a, r, mem, parent_of(mem, frame), site, iteration_of(mem, frame) + 1, header)
        if header > FrameHeader.BUSY:
            poke(mem, target + FrameHeader.PREVIOUS, frame)
            poke(mem, frame + FrameHeader.NEXT, target)
    if child_word:
        poke(mem, frame + child_word, target)
    return target


def safe_steps(a: Any, budget: Any) -> Any:
    """A number of steps, at most `budget`, that fit into all arrays and exceed no limit."""
    o, r = peek(a, Address.OPTIONS), peek(a, Address.REGISTERS)
    length = peek(r, Register.FLIGHT_LENGTH)
    live_tokens = length + peek(r, Register.WAITING) + peek(r, Register.DEFERRED_READS) + peek(r, Register.THROTTLED)
    steps = min(
        steps_with_room(a, o, r, length),
        (peek(o, MachineOption.TOKEN_LIMIT) - live_tokens) // peek(o, MachineOption.FAN_OUT),
    )
    return min(min(budget, steps), peek(o, MachineOption.FIRING_LIMIT) - peek(r, Register.FIRINGS))


def deliver(a: Any, budget: Any, header: Any) -> Any:
    """Deliver tokens of any kind, as `run` does. Sending and releasing are inlined: with functions, a firing of a
    bounded loop takes 37 ns instead of 27."""
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
    counts, host_result, profile = (
        peek(a, Address.FIRING_COUNTS),
        peek(a, Address.HOST_RESULT),
        peek(a, Address.PROFILE),
    )
    order, has_wave_clock, seed = (
        peek(o, MachineOption.ORDER),
        peek(o, MachineOption.HAS_WAVE_CLOCK),
        peek(o, MachineOption.SEED),
    )
    depth_limit, fan_out = peek(o, MachineOption.DEPTH_LIMIT), peek(o, MachineOption.FAN_OUT)
    firing_limit, token_limit = peek(o, MachineOption.FIRING_LIMIT), peek(o, MachineOption.TOKEN_LIMIT)
    mask, has_bounds = peek(a, Address.RING_SIZE) - 1, header > FrameHeader.BUSY
    head, length, wave_remaining = (
        peek(r, Register.FLIGHT_HEAD),
        peek(r, Register.FLIGHT_LENGTH),
        peek(r, Register.WAVE_REMAINING),
    )
    waiting, firings, steps = peek(r, Register.WAITING), peek(r, Register.FIRINGS), peek(r, Register.STEPS)
    suspended = peek(r, Register.DEFERRED_READS) + peek(r, Register.THROTTLED)
    largest_store, largest_flight = peek(r, Register.LARGEST_STORE), peek(r, Register.LARGEST_FLIGHT)
    resume_step, stops_at_waiting = peek(r, Register.RESUME_STEP), peek(o, MachineOption.STOPS_AT_WAITING)
    host_kind = peek(host_result, HostResult.KIND)
    poke(host_result, HostResult.KIND, HostResultKind.ABSENT)
    exit_reason, position = ExitReason.BUDGET, 0
    while budget > 0 and exit_reason == ExitReason.BUDGET:
        safe_count = min(budget, steps_with_room(a, o, r, length))
        if safe_count < 1:
            exit_reason = ExitReason.ARRAY_FULL
            break
        safe_count = min(
            safe_count, min(firing_limit - firings, (token_limit - length - waiting - suspended) // fan_out)
        )
        is_near_limit = safe_count < 1
        safe_count = max(safe_count, 1)
        budget -= safe_count
        while safe_count > 0:
            safe_count -= 1
            if length == 0:
                exit_reason = ExitReason.QUIESCENT
                break
            position = 0
            if order == DeliveryOrder.YOUNGEST:
                position = length - 1
            elif order == DeliveryOrder.RANDOM:
                position = np.int64(splitmix64(np.uint64(seed), np.uint64(steps)) % np.uint64(length))
            else:
                # Prefetching the frame takes 24 ns a firing instead of 43 on fib(28).
                next_frame = peek(ring, (head + PREFETCH_DISTANCE & mask) << 1) >> PORT_BITS
                prefetch(mem, next_frame)
                prefetch(mem, next_frame + 8)
            slot = (head + position & mask) << 1
            token, value = peek(ring, slot), peek(ring, slot + 1)
            frame, port = token >> PORT_BITS, ports + (token & PORT_MASK) * PORT_BYTES
            number = peek(port, PortColumn.NODE)
            node = nodes + number * NODE_BYTES
            mask_word = frame + peek(node, NodeColumn.MASK_WORD)
            bit, operand_mask, fired_bit = (
                peek(port, PortColumn.BIT),
                peek(node, NodeColumn.OPERAND_MASK),
                peek(node, NodeColumn.FIRED_BIT),
            )
            old_bits = peek(mem, mask_word)
            bits, is_waiting = old_bits | bit, False
            if old_bits & (bit | fired_bit):
                exit_reason = ExitReason.SECOND_TOKEN
                break
            if bits & operand_mask != operand_mask:
                # S2: the token waits for its partners
                may_stop = stops_at_waiting and steps != resume_step and peek(codes, number) == Opcode.BREAKPOINT
                if may_stop and should_stop(a, mem, token, number, 1, value, firings, steps):
                    exit_reason = ExitReason.STOP_CONDITION
                    break
                is_waiting = True
                if HAS_JOURNAL:
                    note_no_firing(a, r, token, value, position, JournalHead.ENDS_WAVE * (wave_remaining == 1))
                poke(mem, mask_word, bits)
                poke(mem, frame + peek(port, PortColumn.OPERAND_WORD), value)
                waiting += 1
                largest_store = max(largest_store, waiting)
                if position == 0:
                    head += 1
                elif position != length - 1:
                    head = remove_from_flight(ring, mask, head, length, position)
                length -= 1
            else:
                code, required, special = (
                    peek(codes, number),
                    peek(node, NodeColumn.REQUIRED_TOKENS),
                    peek(node, NodeColumn.IS_SPECIAL),
                )
                may_stop = code == Opcode.BREAKPOINT and steps != resume_step and host_kind == HostResultKind.ABSENT
                if code == Opcode.BREAKPOINT:
                    code = peek(node, NodeColumn.CODE)
                if is_near_limit and firings >= firing_limit and code != Opcode.FALLBACK:
                    exit_reason = ExitReason.FIRING_LIMIT
                    break
                begin, end, begin_2, end_2, out_2 = (
                    peek(node, NodeColumn.EDGES_BEGIN),
                    peek(node, NodeColumn.SECOND_EDGES_BEGIN),
                    0,
                    0,
                    0,
                )
                target, passes_argument, is_held = frame, 0, False
                poke(mem, SCRATCH_WORD, value)
                out = operand(mem, frame, peek(port, PortColumn.OPERAND_0))
                if host_kind != HostResultKind.ABSENT:
                    if code == Opcode.FUTURE or code == Opcode.ELEMENT:
                        code = Opcode.FALLBACK
                    out, out_2 = peek(host_result, HostResult.FIRST_OUTPUT), peek(host_result, HostResult.SECOND_OUTPUT)
                    if host_kind == HostResultKind.TWO_OUTPUTS:
                        begin_2, end_2 = end, peek(node, NodeColumn.EDGES_END)
                    elif host_kind != HostResultKind.ONE_OUTPUT:
                        end = begin
                elif code >= FIRST_KERNEL:
                    second = operand(mem, frame, peek(port, PortColumn.OPERAND_1))
                    if code >= FIRST_TRAPPING and traps(code, out, second):
                        exit_reason = ExitReason.STOP_CONDITION if may_stop else ExitReason.HOST_FIRING
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
                    passes_argument, target = 1, find_target(mem, frame, node)
                    if target == 0 and depth_of(mem, frame) >= depth_limit:
                        exit_reason = ExitReason.DEPTH_LIMIT
                        break
                elif code == Opcode.RETURN:
                    target = parent_of(mem, frame)
                elif code == Opcode.NEXT_ITERATION:
                    passes_argument, target = 1, find_target(mem, frame, node)
                    if target == 0 and depth_of(mem, frame) > depth_limit:
                        exit_reason = ExitReason.DEPTH_LIMIT
                        break
                    if has_bounds and peek(node, NodeColumn.BOUND):
                        is_held = is_throttled(a, mem, frame, required, peek(node, NodeColumn.BOUND))
                elif code == Opcode.EXIT:
                    target = parent_of(mem, frame)
                    begin_2, end_2, out_2 = end, peek(node, NodeColumn.EDGES_END), iteration_of(mem, frame)
                elif code == Opcode.REENTER:
                    passes_argument, target = 1, peek(mem, frame + peek(port, PortColumn.LINK_WORD))
                elif code == Opcode.BACK:
                    if iteration_of(mem, frame):
                        passes_argument, target = 1, peek(mem, frame + peek(port, PortColumn.LINK_WORD))
                    else:
                        begin, end, target = end, peek(node, NodeColumn.EDGES_END), parent_of(mem, frame)
                        if peek(node, NodeColumn.ROUTE_SECOND) >= 0 and end > begin:
                            route = peek(node, NodeColumn.ROUTE_SECOND) + site_of(mem, target) << 1
                            begin, end = peek(peek(a, Address.ROUTES), route), peek(peek(a, Address.ROUTES), route + 1)
                elif code == Opcode.FALLBACK:
                    exit_reason = ExitReason.STOP_CONDITION if may_stop else ExitReason.HOST_FIRING
                    break
                elif code == Opcode.ELEMENT:
                    elements = peek(peek(a, Address.ELEMENTS), out)
                    if elements == 0 or not has_index_in_range(a, mem, frame, port, number):
                        exit_reason = ExitReason.HOST_FIRING
                        break
                    out = peek(elements, operand(mem, frame, peek(port, PortColumn.OPERAND_1)))
                elif code == Opcode.FUTURE:
                    if not has_index_in_range(a, mem, frame, port, number):
                        exit_reason = ExitReason.HOST_FIRING
                        break
                    out = write_future(a, o, r, mem, frame, port, number, peek(node, NodeColumn.BOXED_FLAGS))
                    if out < 0:
                        exit_reason = ExitReason.FUTURES_FULL
                        break
                if may_stop and should_stop(a, mem, token, number, 0, out, firings, steps):
                    exit_reason = ExitReason.STOP_CONDITION
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
                if is_near_limit and length + waiting + suspended + sent - required > token_limit:
                    exit_reason = ExitReason.TOKEN_LIMIT
                    break
                # Nothing has changed so far; from here on nothing fails.
                if position == 0:
                    head += 1
                elif position != length - 1:
                    head = remove_from_flight(ring, mask, head, length, position)
                length -= 1
                if HAS_JOURNAL:
                    flags = JournalHead.ENDS_WAVE * (wave_remaining == 1) + JournalHead.HOST_FIRING * (
                        host_kind != HostResultKind.ABSENT
                    )
                if host_kind == HostResultKind.DEFERRED_READ:
                    if HAS_JOURNAL:
                        note_no_firing(a, r, token, value, position, flags)
                    poke(r, Register.DEFERRED_READS, peek(r, Register.DEFERRED_READS) + 1)
                    suspended += 1
                    host_kind, is_waiting = HostResultKind.ABSENT, True
                else:
                    poke(mem, mask_word, bits & ~operand_mask | fired_bit)
                    waiting -= required - 1
                    firings += 1
                    poke(counts, number, peek(counts, number) + 1)
                    if code == Opcode.FUTURE:
                        poke(r, Register.FUTURES, peek(r, Register.FUTURES) + 1)
                        cost = peek(
                            peek(a, Address.ARRAY_NODES) + number * ARRAY_NODE_BYTES, ArrayNodeColumn.FUTURE_COST
                        )
                        poke(r, Register.FUTURE_COST, peek(r, Register.FUTURE_COST) + cost)
                    if HAS_JOURNAL:
                        flags += JournalHead.OPENS_ACTIVATION * (target == 0) + JournalHead.IS_THROTTLED * is_held
                        outputs = host_kind if host_kind != HostResultKind.NO_OUTPUT else 0
                        if host_kind == HostResultKind.ABSENT:
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
                    target_bits = target << PORT_BITS
                    if is_held:
                        for edge in range(begin, end):
                            throttle(a, r, mem, target, target_bits | peek(edges, edge), out, steps + 1)
                        suspended += end - begin
                        begin = end
                    for edge in range(begin, end):
                        slot = (head + length & mask) << 1
                        poke(ring, slot, target_bits | peek(edges, edge))
                        poke(ring, slot + 1, out)
                        length += 1
                    for edge in range(begin_2, end_2):
                        slot = (head + length & mask) << 1
                        poke(ring, slot, target_bits | peek(edges, edge))
                        poke(ring, slot + 1, out_2)
                        length += 1
                    pending = peek(mem, frame + FrameHeader.PENDING) - required
                    if code == Opcode.RETURN or code == Opcode.RESULT:
                        pending += RESULT_UNIT - 1
                    if target == frame:
                        pending += sent
                    elif passes_argument:
                        poke(
                            mem,
                            target + FrameHeader.PENDING,
                            peek(mem, target + FrameHeader.PENDING) + ARGUMENT_UNIT + sent - 1,
                        )
                    else:
                        poke(mem, target + FrameHeader.PENDING, peek(mem, target + FrameHeader.PENDING) + sent)
                    if special:
                        boxed_flags, reference_counts = (
                            peek(node, NodeColumn.BOXED_FLAGS),
                            peek(a, Address.REFERENCE_COUNTS),
                        )
                        if boxed_flags & 1 and (
                            host_kind == HostResultKind.ABSENT
                            or host_kind == HostResultKind.ONE_OUTPUT
                            or host_kind == HostResultKind.TWO_OUTPUTS
                        ):
                            is_new = host_kind != HostResultKind.ABSENT or code == Opcode.FUTURE
                            own_reference = 0 if is_new or boxed_flags & 4 else 1
                            adjust_references(
                                a,
                                r,
                                reference_counts,
                                out,
                                sent - (end_2 - begin_2) - own_reference + (code == Opcode.RESULT),
                            )
                        if boxed_flags & 2:
                            adjust_references(a, r, reference_counts, value, -1)
                    if code == Opcode.ELEMENT:
                        array = operand(mem, frame, peek(port, PortColumn.OPERAND_0))
                        adjust_references(a, r, peek(a, Address.REFERENCE_COUNTS), array, -1)
                    if code == Opcode.RESULT:
                        results, result_offset = peek(a, Address.RESULTS), peek(node, NodeColumn.SITE) << 1
                        poke(results, result_offset, 1)
                        poke(results, result_offset + 1, out)
                        poke(r, Register.RESULT_COUNT, peek(r, Register.RESULT_COUNT) + 1)
                    if host_kind != HostResultKind.ABSENT:
                        for index in range(peek(host_result, HostResult.WOKEN_COUNT)):
                            slot = (head + length & mask) << 1
                            poke(ring, slot, peek(peek(a, Address.WOKEN_TOKENS), index << 1))
                            poke(ring, slot + 1, peek(peek(a, Address.WOKEN_TOKENS), (index << 1) + 1))
                            length += 1
                        poke(
                            r,
                            Register.DEFERRED_READS,
                            peek(r, Register.DEFERRED_READS) - peek(host_result, HostResult.WOKEN_COUNT),
                        )
                        suspended -= peek(host_result, HostResult.WOKEN_COUNT)
                        host_kind = HostResultKind.ABSENT
                    poke(mem, frame + FrameHeader.PENDING, pending)
                    if has_bounds:
                        if sent and not is_held:
                            add_busy(mem, target, sent)
                        release_count = find_releasable(a, mem, frame, required)
                        if has_wave_clock:
                            release_count = (
                                find_releasable_at_wave(a, mem, target if sent else 0) if wave_remaining == 1 else 0
                            )
                        for index in range(release_count):
                            release_throttled(
                                a, r, mem, peek(peek(a, Address.RELEASE_ROWS), index), (head + length & mask) << 1
                            )
                            length += 1
                        suspended -= release_count
                    if sent:
                        largest_flight = max(largest_flight, length)
                    if (pending & PENDING_MASK) == 0:
                        close_activation(a, r, mem, frame, header)
                    if code == Opcode.RESULT and peek(r, Register.RESULT_COUNT) == peek(o, MachineOption.RESULT_LIMIT):
                        exit_reason = ExitReason.RESULTS_COMPLETE
                        safe_count = 0
            if is_waiting and has_bounds and has_wave_clock and wave_remaining == 1:
                release_count = find_releasable_at_wave(a, mem, 0)
                for index in range(release_count):
                    release_throttled(
                        a, r, mem, peek(peek(a, Address.RELEASE_ROWS), index), (head + length & mask) << 1
                    )
                    length += 1
                suspended -= release_count
            steps += 1
            wave_remaining -= 1
            if wave_remaining == 0:
                wave_remaining = length
                if has_wave_clock:
                    poke(
                        profile,
                        peek(r, Register.WAVES),
                        firings - peek(r, Register.FIRINGS_BEFORE_WAVE) | waiting << 32,
                    )
                    poke(r, Register.WAVES, peek(r, Register.WAVES) + 1)
                    poke(r, Register.FIRINGS_BEFORE_WAVE, firings)
    poke(r, Register.FLIGHT_HEAD, head & mask)
    poke(r, Register.FLIGHT_LENGTH, length)
    poke(r, Register.WAVE_REMAINING, wave_remaining)
    poke(r, Register.WAITING, waiting)
    poke(r, Register.FIRINGS, firings)
    poke(r, Register.STEPS, steps)
    poke(r, Register.LARGEST_STORE, largest_store)
    poke(r, Register.LARGEST_FLIGHT, largest_flight)
    poke(r, Register.STOP_POSITION, position)
    return exit_reason


THROTTLED_WORDS = len(ThrottledColumn)


def add_busy(mem: Any, frame: Any, change: Any) -> None:
    """Change the busy count of an activation and, where it becomes busy or idle, those of its ancestors."""
    while frame and change:
        old_count = peek(mem, frame + FrameHeader.BUSY)
        poke(mem, frame + FrameHeader.BUSY, old_count + change)
        change = (old_count + change > 0) - (old_count > 0)
        frame = parent_of(mem, frame)


def find_older(mem: Any, frame: Any, iteration: Any) -> Any:
    """The frame of an iteration of the same loop that is not after the iteration of `frame`; 0 if it is not open."""
    while frame and iteration_of(mem, frame) > iteration:
        frame = peek(mem, frame + FrameHeader.PREVIOUS)
    return frame if frame and iteration_of(mem, frame) == iteration else 0


def find_newer(mem: Any, frame: Any, iteration: Any) -> Any:
    """The frame of an iteration of the same loop that is not before the iteration of `frame`; 0 if it is not open."""
    while frame and iteration_of(mem, frame) < iteration:
        frame = peek(mem, frame + FrameHeader.NEXT)
    return frame if frame and iteration_of(mem, frame) == iteration else 0


def is_throttled(a: Any, mem: Any, frame: Any, required: Any, bound: Any) -> Any:
    """S16: whether a next_iteration that fires in this frame is throttled."""
    iteration = iteration_of(mem, frame) + 1 - bound
    if iteration < 0:
        return False
    older_frame = find_older(mem, frame, iteration)
    if older_frame == 0:
        return False
    return peek(mem, older_frame + FrameHeader.BUSY) > (required if older_frame == frame else 0)


def throttle(a: Any, r: Any, mem: Any, target: Any, token: Any, value: Any, step: Any) -> None:
    """S16: append a token to the throttled ones instead of the flight."""
    rows, row = peek(a, Address.THROTTLED), peek(r, Register.THROTTLED_FREE)
    if row:
        poke(r, Register.THROTTLED_FREE, peek(rows, row * THROTTLED_WORDS + ThrottledColumn.NEXT))
    else:
        row = peek(r, Register.THROTTLED_TOP)
        poke(r, Register.THROTTLED_TOP, row + 1)
    offset, last_row = row * THROTTLED_WORDS, peek(rows, ThrottledColumn.PREVIOUS)
    poke(rows, offset + ThrottledColumn.STEP, step)
    poke(rows, offset + ThrottledColumn.TOKEN, token)
    poke(rows, offset + ThrottledColumn.VALUE, value)
    poke(rows, offset + ThrottledColumn.PREVIOUS, last_row)
    poke(rows, offset + ThrottledColumn.NEXT, 0)
    poke(rows, last_row * THROTTLED_WORDS + ThrottledColumn.NEXT, row)
    poke(rows, ThrottledColumn.PREVIOUS, row)
    poke(rows, offset + ThrottledColumn.NEXT_OF_ITERATION, peek(mem, target + FrameHeader.THROTTLED))
    poke(mem, target + FrameHeader.THROTTLED, row)
    poke(r, Register.THROTTLED, peek(r, Register.THROTTLED) + 1)
    add_busy(mem, parent_of(mem, target), 1)


def release_throttled(a: Any, r: Any, mem: Any, row: Any, slot: Any) -> None:
    """S16: move a throttled token to the flight, at this offset of the ring. All tokens of an iteration are released
    together."""
    rows, ring = peek(a, Address.THROTTLED), peek(a, Address.RING)
    offset = row * THROTTLED_WORDS
    if HAS_JOURNAL:
        note_release(a, r, rows + (offset << 3))
    token, previous_row, next_row = (
        peek(rows, offset + ThrottledColumn.TOKEN),
        peek(rows, offset + ThrottledColumn.PREVIOUS),
        peek(rows, offset + ThrottledColumn.NEXT),
    )
    poke(ring, slot, token)
    poke(ring, slot + 1, peek(rows, offset + ThrottledColumn.VALUE))
    poke(rows, previous_row * THROTTLED_WORDS + ThrottledColumn.NEXT, next_row)
    poke(rows, next_row * THROTTLED_WORDS + ThrottledColumn.PREVIOUS, previous_row)
    poke(rows, offset + ThrottledColumn.NEXT, peek(r, Register.THROTTLED_FREE))
    poke(r, Register.THROTTLED_FREE, row)
    poke(r, Register.THROTTLED, peek(r, Register.THROTTLED) - 1)
    frame = token >> PORT_BITS
    poke(mem, frame + FrameHeader.THROTTLED, 0)
    add_busy(mem, frame, 1)
    add_busy(mem, parent_of(mem, frame), -1)


def step_of(rows: Any, row: Any) -> Any:
    return peek(rows, row * THROTTLED_WORDS + ThrottledColumn.STEP)


def find_releasable(a: Any, mem: Any, frame: Any, consumed: Any) -> Any:
    """Subtract the tokens that a firing consumed from busy counts. Returns the number of tokens to release: those that
    wait for activations which have stopped being busy. Their rows are in RELEASE_ROWS, in the order of their steps."""
    throttled, release_rows, count, change = peek(a, Address.THROTTLED), peek(a, Address.RELEASE_ROWS), 0, -consumed
    while frame and change:
        old_count = peek(mem, frame + FrameHeader.BUSY)
        poke(mem, frame + FrameHeader.BUSY, old_count + change)
        change = (old_count + change > 0) - (old_count > 0)
        bound = peek(peek(a, Address.SITES), site_of(mem, frame) * SITE_WORDS + SiteColumn.BOUND)
        if change and bound:
            newer_frame = find_newer(mem, frame, iteration_of(mem, frame) + bound)
            row = peek(mem, newer_frame + FrameHeader.THROTTLED) if newer_frame else 0
            while row:
                position = count
                while position > 0 and step_of(throttled, peek(release_rows, position - 1)) > step_of(throttled, row):
                    poke(release_rows, position, peek(release_rows, position - 1))
                    position -= 1
                poke(release_rows, position, row)
                count += 1
                row = peek(throttled, row * THROTTLED_WORDS + ThrottledColumn.NEXT_OF_ITERATION)
        frame = parent_of(mem, frame)
    return count


def find_releasable_at_wave(a: Any, mem: Any, target: Any) -> Any:
    """Count, and list in RELEASE_ROWS, the tokens to release at the end of a wave: those that no busy activation
    throttles. An activation to which the last firing sent counts as busy."""
    throttled, release_rows, count = peek(a, Address.THROTTLED), peek(a, Address.RELEASE_ROWS), 0
    row = peek(throttled, ThrottledColumn.NEXT)
    while row:
        frame = peek(throttled, row * THROTTLED_WORDS + ThrottledColumn.TOKEN) >> PORT_BITS
        bound = peek(peek(a, Address.SITES), site_of(mem, frame) * SITE_WORDS + SiteColumn.BOUND)
        older_frame = find_older(mem, frame, iteration_of(mem, frame) - bound)
        if older_frame == 0 or (peek(mem, older_frame + FrameHeader.BUSY) == 0 and older_frame != target):
            poke(release_rows, count, row)
            count += 1
        row = peek(throttled, row * THROTTLED_WORDS + ThrottledColumn.NEXT)
    return count


COMPARISON_BYTES = 8 * len(ComparisonColumn)


def compare(operator: Any, left: Any, right: Any) -> Any:
    if operator == StopOperator.EQUAL:
        return left == right
    if operator == StopOperator.NOT_EQUAL:
        return left != right
    if operator == StopOperator.LESS:
        return left < right
    if operator == StopOperator.LESS_EQUAL:
        return left <= right
    if operator == StopOperator.GREATER:
        return left > right
    return left >= right


def should_stop(a: Any, mem: Any, token: Any, number: Any, is_waiting: Any, out: Any, firings: Any, steps: Any) -> Any:
    """Whether the run may have to stop before the step that delivers this token: it fires the node, with output `out`,
    or waits there (`is_waiting`). `firings` and `steps` are the counts before the step."""
    comparison = peek(a, Address.COMPARISONS) + (2 * (token & PORT_MASK) + is_waiting) * COMPARISON_BYTES
    quantity = peek(comparison, ComparisonColumn.QUANTITY)
    if quantity == StopQuantity.ALWAYS or quantity == StopQuantity.NEVER:
        return quantity == StopQuantity.ALWAYS
    frame, port = token >> PORT_BITS, peek(a, Address.PORTS) + (token & PORT_MASK) * PORT_BYTES
    left = out
    if quantity == StopQuantity.OPERAND_0:
        left = operand(mem, frame, peek(port, PortColumn.OPERAND_0))
    elif quantity == StopQuantity.OPERAND_1:
        left = operand(mem, frame, peek(port, PortColumn.OPERAND_1))
    elif quantity == StopQuantity.OPERAND_2:
        left = operand(mem, frame, peek(port, PortColumn.OPERAND_2))
    elif quantity == StopQuantity.DEPTH:
        left = depth_of(mem, frame)
    elif quantity == StopQuantity.ITERATION:
        left = iteration_of(mem, frame)
    elif quantity == StopQuantity.NODE_FIRINGS:
        left = peek(peek(a, Address.FIRING_COUNTS), number) + 1 - is_waiting
    elif quantity == StopQuantity.FIRINGS:
        left = firings + 1 - is_waiting
    elif quantity == StopQuantity.STEP:
        left = steps + 1
    operator, right = peek(comparison, ComparisonColumn.OPERATOR), peek(comparison, ComparisonColumn.NUMBER)
    if peek(comparison, ComparisonColumn.IS_FLOAT):
        return compare(operator, np.int64(left).view(np.float64), np.int64(right).view(np.float64))
    return compare(operator, left, right)
