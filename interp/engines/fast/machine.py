"""The main loop of the token machine, compiled by numba: runs an image over words of memory.

The rules are the reference's, S1 to S16. A firing that words cannot express, traps included, is left to the caller (a
host firing), before any change; then the same token is delivered again, with the results of its firing in
`host_result`.

Room in the arrays is not checked at each step, but for many steps at once. Near a limit, the machine makes one step at
a time, so that limits are exact. It tests one comparison of a stop condition, which rules out most steps; Python
evaluates the rest.

In all functions of the machine, `a`, `o`, `r` and `mem` are addresses: of the address table, the options, the
registers, and memory; `header` is the number of words of a frame header.

`load` compiles this file with `frames`, `throttling` and `deliver_scalar`, with numbers for the names of columns and
registers, together with `compute`, `cast` and `traps`, which `opcode_source` generates from the table of opcodes.
Arrays are passed as addresses and read with `peek`.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...image.image import (
    ARGUMENT_UNIT,
    PENDING_MASK,
    PORT_BITS,
    PORT_MASK,
    RESULT_UNIT,
    SCRATCH_WORD,
    FrameHeader,
    NodeColumn,
    PortColumn,
)
from ...image.opcodes import FIRST_KERNEL, Opcode
from ..jit.memory import call_word_function, inline_njit, peek, poke
from ..jit.random import splitmix64
from .frames import (
    FIRST_TRAPPING,
    HAS_JOURNAL,
    NODE_BYTES,
    PORT_BYTES,
    PREFETCH_DISTANCE,
    adjust_references,
    close_activation,
    count_wave,
    depth_of,
    find_target,
    is_too_deep,
    iteration_of,
    open_target,
    operand,
    parent_of,
    prefetch_frame,
    put_token,
    remove_from_flight,
    site_of,
    store_result,
    token_at,
)
from .journal import note_firing, note_no_firing, steps_with_journal_room
from .layout import (
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
)
from .throttling import add_busy, is_throttled, release_throttled, throttle

if TYPE_CHECKING:

    def compute(code: int, a: int, b: int, c: int) -> int: ...
    def cast(code: int, word: int) -> int: ...
    def traps(code: int, a: int, b: int) -> bool: ...
    def deliver_scalar_lifo(a: int, budget: int, header: int) -> int: ...
    def deliver_scalar_fifo(a: int, budget: int, header: int) -> int: ...


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
    """Deliver tokens of any kind, as `run` does. What every step changes is in variables."""
    o, r = peek(a, Address.OPTIONS), peek(a, Address.REGISTERS)
    mem, ring, mask = peek(a, Address.MEMORY), peek(a, Address.RING), peek(a, Address.RING_SIZE) - 1
    nodes, ports, codes = peek(a, Address.NODES), peek(a, Address.PORTS), peek(a, Address.CODES)
    edges, counts, host_result = peek(a, Address.EDGES), peek(a, Address.FIRING_COUNTS), peek(a, Address.HOST_RESULT)
    order, seed = peek(o, MachineOption.ORDER), peek(o, MachineOption.SEED)
    has_wave_clock, has_bounds = peek(o, MachineOption.HAS_WAVE_CLOCK), header > FrameHeader.BUSY
    firing_limit, token_limit = peek(o, MachineOption.FIRING_LIMIT), peek(o, MachineOption.TOKEN_LIMIT)
    fan_out = peek(o, MachineOption.FAN_OUT)
    head, length = peek(r, Register.FLIGHT_HEAD), peek(r, Register.FLIGHT_LENGTH)
    wave_remaining, waiting = peek(r, Register.WAVE_REMAINING), peek(r, Register.WAITING)
    firings, steps = peek(r, Register.FIRINGS), peek(r, Register.STEPS)
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
            # The token, its port and its node
            position = choose_position(order, length, seed, steps)
            if order == DeliveryOrder.OLDEST:
                prefetch_frame(ring, mask, head + PREFETCH_DISTANCE, mem)
            token, value = token_at(ring, mask, head + position)
            frame, port = token >> PORT_BITS, ports + (token & PORT_MASK) * PORT_BYTES
            number = peek(port, PortColumn.NODE)
            node = nodes + number * NODE_BYTES
            mask_word = frame + peek(node, NodeColumn.MASK_WORD)
            bit, operand_mask = peek(port, PortColumn.BIT), peek(node, NodeColumn.OPERAND_MASK)
            fired_bit, old_bits = peek(node, NodeColumn.FIRED_BIT), peek(mem, mask_word)
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
                head = remove_from_flight(ring, mask, head, length, position)
                length -= 1
            else:
                code, required = peek(codes, number), peek(node, NodeColumn.REQUIRED_TOKENS)
                special = peek(node, NodeColumn.IS_SPECIAL)
                may_stop = code == Opcode.BREAKPOINT and steps != resume_step and host_kind == HostResultKind.ABSENT
                if code == Opcode.BREAKPOINT:
                    code = peek(node, NodeColumn.CODE)
                if is_near_limit and firings >= firing_limit and code != Opcode.FALLBACK:
                    exit_reason = ExitReason.FIRING_LIMIT
                    break
                # What the firing would send: values, edges and the frame of the activation
                poke(mem, SCRATCH_WORD, value)
                target, argument_count, is_held = frame, 0, False
                begin, end = peek(node, NodeColumn.EDGES_BEGIN), peek(node, NodeColumn.SECOND_EDGES_BEGIN)
                begin_2, end_2, out_2 = 0, 0, 0
                if host_kind != HostResultKind.ABSENT:
                    if code == Opcode.FUTURE or code == Opcode.ELEMENT:
                        code = Opcode.FALLBACK
                    out, out_2 = peek(host_result, HostResult.FIRST_OUTPUT), peek(host_result, HostResult.SECOND_OUTPUT)
                    if host_kind == HostResultKind.TWO_OUTPUTS:
                        begin_2, end_2 = end, peek(node, NodeColumn.EDGES_END)
                    elif host_kind != HostResultKind.ONE_OUTPUT:
                        end = begin
                elif sends_to_other_activation(code):
                    out = operand(mem, frame, peek(port, PortColumn.OPERAND_0))
                    exit_reason, target, argument_count = find_activation(o, mem, frame, port, node, code)
                    if code == Opcode.EXIT:
                        begin_2, end_2, out_2 = end, peek(node, NodeColumn.EDGES_END), iteration_of(mem, frame)
                    elif code == Opcode.BACK and iteration_of(mem, frame) == 0:
                        begin, end = end, peek(node, NodeColumn.EDGES_END)
                        begin, end = select_edges(a, mem, peek(node, NodeColumn.ROUTE_SECOND), target, begin, end)
                    elif code == Opcode.NEXT_ITERATION and has_bounds and peek(node, NodeColumn.BOUND):
                        is_held = is_throttled(a, mem, frame, required, peek(node, NodeColumn.BOUND))
                else:
                    exit_reason, out = compute_output(a, o, r, mem, frame, port, node, number, code, special)
                    if code == Opcode.SWITCH and operand(mem, frame, peek(port, PortColumn.OPERAND_1)) == 0:
                        begin, end = end, peek(node, NodeColumn.EDGES_END)
                if may_stop and (
                    exit_reason == ExitReason.HOST_FIRING
                    or (exit_reason == ExitReason.BUDGET and should_stop(a, mem, token, number, 0, out, firings, steps))
                ):
                    exit_reason = ExitReason.STOP_CONDITION
                if exit_reason != ExitReason.BUDGET:
                    break
                if special and target:
                    begin, end = select_edges(a, mem, peek(node, NodeColumn.ROUTE), target, begin, end)
                    begin_2, end_2 = select_edges(a, mem, peek(node, NodeColumn.ROUTE_SECOND), target, begin_2, end_2)
                sent, sent_first = end - begin + end_2 - begin_2, end - begin
                if is_near_limit and length + waiting + suspended + sent - required > token_limit:
                    exit_reason = ExitReason.TOKEN_LIMIT
                    break
                # Nothing has changed so far; from here on nothing fails.
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
                        count_future(a, r, number)
                    if HAS_JOURNAL:
                        flags += JournalHead.OPENS_ACTIVATION * (target == 0) + JournalHead.IS_THROTTLED * is_held
                        flags += count_outputs(code, host_kind) << JournalHead.OUTPUT_COUNT_SHIFT
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
                    length = send_tokens(ring, mask, head, length, edges, begin, end, target_bits, out)
                    length = send_tokens(ring, mask, head, length, edges, begin_2, end_2, target_bits, out_2)
                    pending = peek(mem, frame + FrameHeader.PENDING) - required
                    if code == Opcode.RETURN or code == Opcode.RESULT:
                        pending += RESULT_UNIT - 1
                    if target == frame:
                        pending += sent
                    else:
                        target_pending = peek(mem, target + FrameHeader.PENDING) + sent + argument_count
                        poke(mem, target + FrameHeader.PENDING, target_pending)
                    if special:
                        update_references(a, r, node, code, host_kind, value, out, sent_first)
                    if code == Opcode.ELEMENT:
                        array = operand(mem, frame, peek(port, PortColumn.OPERAND_0))
                        adjust_references(a, r, peek(a, Address.REFERENCE_COUNTS), array, -1)
                    if code == Opcode.RESULT:
                        store_result(a, r, node, out)
                    if host_kind != HostResultKind.ABSENT:
                        woken_count = wake_tokens(a, r, ring, mask, head + length)
                        length += woken_count
                        suspended -= woken_count
                        host_kind = HostResultKind.ABSENT
                    poke(mem, frame + FrameHeader.PENDING, pending)
                    if has_bounds:
                        if sent and not is_held:
                            add_busy(mem, target, sent)
                        release_count = release_throttled(
                            a, r, mem, frame, required, target if sent else 0, wave_remaining == 1, head + length
                        )
                        length += release_count
                        suspended -= release_count
                    if sent:
                        largest_flight = max(largest_flight, length)
                    if (pending & PENDING_MASK) == 0:
                        close_activation(a, r, mem, frame, header)
                    if code == Opcode.RESULT and peek(r, Register.RESULT_COUNT) == peek(o, MachineOption.RESULT_LIMIT):
                        exit_reason = ExitReason.RESULTS_COMPLETE
                        safe_count = 0
            if is_waiting and has_bounds and wave_remaining == 1:
                release_count = release_throttled(a, r, mem, frame, 0, 0, True, head + length)
                length += release_count
                suspended -= release_count
            steps += 1
            wave_remaining -= 1
            if wave_remaining == 0:
                wave_remaining = length
                if has_wave_clock:
                    count_wave(a, r, firings, waiting)
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


# The steps of a delivery, in the order of `deliver`. LLVM must inline them: with calls, a firing of a bounded loop
# takes 37 ns instead of 27.


@inline_njit
def choose_position(order: Any, length: Any, seed: Any, steps: Any) -> Any:
    """The position in the flight of the token that is delivered next."""
    if order == DeliveryOrder.YOUNGEST:
        return length - 1
    if order == DeliveryOrder.RANDOM:
        return np.int64(splitmix64(np.uint64(seed), np.uint64(steps)) % np.uint64(length))
    return 0


@inline_njit
def sends_to_other_activation(code: Any) -> Any:
    """Whether a node of this opcode sends to a different activation than its own."""
    return (
        code == Opcode.CALL
        or code == Opcode.RETURN
        or code == Opcode.NEXT_ITERATION
        or code == Opcode.EXIT
        or code == Opcode.REENTER
        or code == Opcode.BACK
    )


@inline_njit
def find_activation(o: Any, mem: Any, frame: Any, port: Any, node: Any, code: Any) -> Any:
    """The activation to which a firing sends. Returns DEPTH_LIMIT if it would be too deep, else BUDGET; its frame, 0 if
    it must be opened first; and what its pending count gets for an argument."""
    if code == Opcode.RETURN or code == Opcode.EXIT or (code == Opcode.BACK and iteration_of(mem, frame) == 0):
        return ExitReason.BUDGET, parent_of(mem, frame), 0
    if code == Opcode.REENTER or code == Opcode.BACK:
        return ExitReason.BUDGET, peek(mem, frame + peek(port, PortColumn.LINK_WORD)), ARGUMENT_UNIT - 1
    target, exit_reason = find_target(mem, frame, node), ExitReason.BUDGET
    if target == 0 and is_too_deep(mem, frame, code, peek(o, MachineOption.DEPTH_LIMIT)):
        exit_reason = ExitReason.DEPTH_LIMIT
    return exit_reason, target, ARGUMENT_UNIT - 1


@inline_njit
def compute_output(
    a: Any, o: Any, r: Any, mem: Any, frame: Any, port: Any, node: Any, number: Any, code: Any, special: Any
) -> Any:
    """The output of a firing that stays in its activation. Returns also the exit reason: BUDGET unless Python must fire
    the node, or there is no room for another future."""
    out = operand(mem, frame, peek(port, PortColumn.OPERAND_0))
    if code >= FIRST_KERNEL:
        second = operand(mem, frame, peek(port, PortColumn.OPERAND_1))
        if code >= FIRST_TRAPPING and traps(code, out, second):
            return ExitReason.HOST_FIRING, out
        out = compute(code, out, second, operand(mem, frame, peek(port, PortColumn.OPERAND_2)))
    elif code == Opcode.FALLBACK:
        return ExitReason.HOST_FIRING, out
    elif code == Opcode.ELEMENT or code == Opcode.FUTURE:
        elements = peek(peek(a, Address.ELEMENTS), out) if code == Opcode.ELEMENT else 1
        if elements == 0 or not has_index_in_range(a, mem, frame, port, number):
            return ExitReason.HOST_FIRING, out
        if code == Opcode.ELEMENT:
            return ExitReason.BUDGET, peek(elements, operand(mem, frame, peek(port, PortColumn.OPERAND_1)))
        out = write_future(a, o, r, mem, frame, port, number, peek(node, NodeColumn.BOXED_FLAGS))
        return (ExitReason.FUTURES_FULL if out < 0 else ExitReason.BUDGET), out
    if special and peek(node, NodeColumn.CAST):
        out = cast(peek(node, NodeColumn.CAST), out)
    return ExitReason.BUDGET, out


@inline_njit
def select_edges(a: Any, mem: Any, route: Any, target: Any, begin: Any, end: Any) -> Any:
    """The begin and the end of the edges along which an output is sent. S10: of the returns, only that of the site on
    top of the tag gets the token. `route` is the column of the output; -1 if it feeds no returns."""
    if route >= 0 and end > begin:
        row = route + site_of(mem, target) << 1
        begin, end = peek(peek(a, Address.ROUTES), row), peek(peek(a, Address.ROUTES), row + 1)
    return begin, end


@inline_njit
def count_outputs(code: Any, host_kind: Any) -> Any:
    """The number of outputs of a firing."""
    if host_kind == HostResultKind.ABSENT:
        return 2 if code == Opcode.EXIT else 1
    return host_kind if host_kind != HostResultKind.NO_OUTPUT else 0


@inline_njit
def send_tokens(
    ring: Any, mask: Any, head: Any, length: Any, edges: Any, begin: Any, end: Any, target_bits: Any, value: Any
) -> Any:
    """Append a token for each of these edges to the flight, in order; returns the new length."""
    for edge in range(begin, end):
        put_token(ring, mask, head + length, target_bits | peek(edges, edge), value)
        length += 1
    return length


@inline_njit
def update_references(
    a: Any, r: Any, node: Any, code: Any, host_kind: Any, value: Any, out: Any, sent_count: Any
) -> None:
    """Count the references of tokens to the objects of a firing: its output, which `sent_count` tokens have now, and
    the delivered value. Host firings count the references to their operands themselves."""
    boxed_flags, reference_counts = peek(node, NodeColumn.BOXED_FLAGS), peek(a, Address.REFERENCE_COUNTS)
    has_output = host_kind != HostResultKind.NO_OUTPUT and host_kind != HostResultKind.DEFERRED_READ
    if boxed_flags & 1 and has_output:
        is_new = host_kind != HostResultKind.ABSENT or code == Opcode.FUTURE
        own_reference = 0 if is_new or boxed_flags & 4 else 1
        adjust_references(a, r, reference_counts, out, sent_count - own_reference + (code == Opcode.RESULT))
    if boxed_flags & 2:
        adjust_references(a, r, reference_counts, value, -1)


@inline_njit
def wake_tokens(a: Any, r: Any, ring: Any, mask: Any, position: Any) -> Any:
    """Put the tokens that a host firing woke at a position of the ring; returns how many."""
    count, woken_tokens = peek(peek(a, Address.HOST_RESULT), HostResult.WOKEN_COUNT), peek(a, Address.WOKEN_TOKENS)
    for index in range(count):
        token, value = peek(woken_tokens, index << 1), peek(woken_tokens, (index << 1) + 1)
        put_token(ring, mask, position + index, token, value)
    poke(r, Register.DEFERRED_READS, peek(r, Register.DEFERRED_READS) - count)
    return count


# Futures and elements of arrays


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


@inline_njit
def count_future(a: Any, r: Any, number: Any) -> None:
    """Count the future that a firing of this node has written, and its cost."""
    cost = peek(peek(a, Address.ARRAY_NODES) + number * ARRAY_NODE_BYTES, ArrayNodeColumn.FUTURE_COST)
    poke(r, Register.FUTURES, peek(r, Register.FUTURES) + 1)
    poke(r, Register.FUTURE_COST, peek(r, Register.FUTURE_COST) + cost)


# Stop conditions

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
