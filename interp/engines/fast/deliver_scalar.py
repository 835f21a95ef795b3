"""The fast path of delivery: scalars only, no k-bounds, far from limits. All other tokens are left to `machine`, before
any change. The rules and the state are the same as in `machine`.

`load` compiles `deliver_scalar` twice: as `deliver_scalar_lifo`, which keeps the next token in variables and the others
in the ring, and as `deliver_scalar_fifo`.
"""

# mypy: ignore-errors
from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from ..jit.memory import inline_njit, peek, poke, unlikely
from .delivery_table import DeliveryColumn, NodePlace
from .frames import (
    FIRST_TRAPPING,
    HAS_JOURNAL,
    IS_MULTICORE,
    NODE_BYTES,
    PORT_BYTES,
    PREFETCH_DISTANCE,
    close_activation,
    count_wave,
    find_target,
    is_too_deep,
    open_target,
    operand,
    parent_of,
    prefetch_frame,
    put_token,
    site_of,
    store_result,
    token_at,
)
from .journal import note_no_firing, note_scalar_firing
from .layout import Address, JournalHead, MachineOption, ProfileColumn, Register

if TYPE_CHECKING:
    IS_LIFO = True

    def compute(code: int, a: int, b: int, c: int) -> int: ...
    def cast(code: int, word: int) -> int: ...
    def traps(code: int, a: int, b: int) -> bool: ...


ROW_BYTES = 8 * len(DeliveryColumn)


def deliver_scalar(a: Any, budget: Any, header: Any) -> Any:
    """Deliver at most `budget` tokens, for which there must be room; returns how many were delivered.

    The flight lies in the ring from `head` to `end`. What every step changes is in variables; under IS_LIFO also the
    next token, whose place in the ring is stale until the end.
    """
    r, o, mem = peek(a, Address.REGISTERS), peek(a, Address.OPTIONS), peek(a, Address.MEMORY)
    ring, mask = peek(a, Address.RING), peek(a, Address.RING_SIZE) - 1
    rows, send_lists = peek(a, Address.DELIVERY_ROWS), peek(a, Address.SEND_LISTS)
    counts, nodes = peek(a, Address.FIRING_COUNTS), peek(a, Address.NODES)
    head, wave_remaining = peek(r, Register.FLIGHT_HEAD), peek(r, Register.WAVE_REMAINING)
    waiting, firings = peek(r, Register.WAITING), peek(r, Register.FIRINGS)
    largest_store, largest_flight = peek(r, Register.LARGEST_STORE), peek(r, Register.LARGEST_FLIGHT)
    has_wave_clock, remaining = peek(o, MachineOption.HAS_WAVE_CLOCK), budget
    end = head + peek(r, Register.FLIGHT_LENGTH)
    token, value = token_at(ring, mask, end - 1)
    if IS_MULTICORE:
        token_waves, operand_waves = peek(a, Address.TOKEN_WAVES), peek(a, Address.OPERAND_WAVES)
        wave, last_wave = peek(token_waves, end - 1 & mask), peek(r, Register.WAVES)
    while remaining > 0 and head < end:
        if not IS_LIFO:
            prefetch_frame(ring, mask, head + PREFETCH_DISTANCE, mem)
            token, value = token_at(ring, mask, head)
        frame, row = token >> PORT_BITS, rows + (token & PORT_MASK) * ROW_BYTES
        mask_word, partner_bits = frame + peek(row, DeliveryColumn.MASK_WORD), peek(row, DeliveryColumn.PARTNER_BITS)
        bits = peek(mem, mask_word)
        if unlikely(bits & peek(row, DeliveryColumn.CONFLICT_BITS) != 0):
            break
        if partner_bits & ~bits:
            # S2: the token waits for its partners
            if HAS_JOURNAL:
                position = end - head - 1 if IS_LIFO else 0
                note_no_firing(a, r, token, value, position, JournalHead.ENDS_WAVE * (wave_remaining == 1))
            operand_word = frame + peek(row, DeliveryColumn.OPERAND_WORD)
            poke(mem, mask_word, bits | peek(row, DeliveryColumn.BIT))
            poke(mem, operand_word, value)
            if IS_MULTICORE:
                poke(operand_waves, operand_word, wave)
            waiting += 1
            largest_store = max(largest_store, waiting)
            if IS_LIFO:
                end -= 1
                token, value = token_at(ring, mask, end - 1)
                if IS_MULTICORE:
                    wave = peek(token_waves, end - 1 & mask)
            else:
                head += 1
        else:
            # The operands
            partner_word = (frame & peek(row, DeliveryColumn.FRAME_MASK)) + peek(row, DeliveryColumn.PARTNER_WORD)
            out, second, third = value, peek(mem, partner_word), 0
            if peek(row, DeliveryColumn.IS_SECOND):
                out, second = second, out
            if IS_MULTICORE:
                # The node fires in the wave of its last operand; literals have wave 0.
                firing_wave = max(wave, peek(operand_waves, partner_word))
            # What the firing would send: a value, targets and the frame of the activation
            code, send_list = peek(row, DeliveryColumn.CODE), peek(row, DeliveryColumn.FIRST_SEND_LIST)
            number, special = peek(row, DeliveryColumn.NODE), peek(row, DeliveryColumn.SPECIAL)
            node, target, argument_count = nodes + number * NODE_BYTES, frame, 0
            if HAS_JOURNAL:
                flags = JournalHead.ENDS_WAVE * (wave_remaining == 1)
            if code >= FIRST_KERNEL:
                if unlikely(special > 1):
                    port = peek(a, Address.PORTS) + (token & PORT_MASK) * PORT_BYTES
                    poke(mem, SCRATCH_WORD, value)
                    out, second, third = operands_of(mem, frame, port)
                    if IS_MULTICORE:
                        first_wave, second_wave, third_wave = operands_of(operand_waves, frame, port)
                        firing_wave = max(max(firing_wave, first_wave), max(second_wave, third_wave))
                if code >= FIRST_TRAPPING and traps(code, out, second):
                    break
                out = compute(code, out, second, third)
            elif code == Opcode.SWITCH:
                if second == 0:
                    send_list = peek(row, DeliveryColumn.SECOND_SEND_LIST)
            elif code == Opcode.CALL or code == Opcode.NEXT_ITERATION:
                target, argument_count = find_target(mem, frame, node), ARGUMENT_UNIT - 1
                if target == 0:
                    if is_too_deep(mem, frame, code, peek(o, MachineOption.DEPTH_LIMIT)):
                        break
                    if IS_MULTICORE and is_placed_elsewhere(r, row):
                        break
                    target = open_target(a, r, mem, frame, node, code, header)
                    if HAS_JOURNAL:
                        flags += JournalHead.OPENS_ACTIVATION
            elif code == Opcode.RETURN or code == Opcode.EXIT:
                target = parent_of(mem, frame)
            elif IS_MULTICORE and code == Opcode.RESULT:
                store_result(a, r, node, out)
                code, target = Opcode.RETURN, 0
            elif code != Opcode.PASS:
                break
            if special:
                if peek(node, NodeColumn.CAST):
                    out = cast(peek(node, NodeColumn.CAST), out)
                if peek(node, NodeColumn.ROUTE) >= 0 and send_list:
                    # S10: of the returns, only that of the site on top of the tag gets the token
                    send_list = peek(peek(a, Address.SEND_ROUTES), peek(node, NodeColumn.ROUTE) + site_of(mem, target))
            # Nothing but the opening of an activation has changed so far; from here on nothing fails.
            if HAS_JOURNAL:
                position = end - head - 1 if IS_LIFO else 0
                note_scalar_firing(a, r, mem, row, token, value, position, flags, target, second, out)
            poke(mem, mask_word, bits & ~partner_bits | peek(row, DeliveryColumn.FIRED_BIT))
            required = peek(row, DeliveryColumn.REQUIRED_TOKENS)
            waiting -= required - 1
            firings += 1
            poke(counts, number, peek(counts, number) + 1)
            # S3: outputs, then edges, in order
            if IS_LIFO:
                end -= 1
            else:
                head += 1
            old_end, target_bits = end, target << PORT_BITS
            if send_list:
                edge = peek(send_lists, send_list)
                while edge >= 0:
                    put_token(ring, mask, end, target_bits | edge, out)
                    if IS_MULTICORE:
                        poke(token_waves, end & mask, firing_wave + 1)
                    end += 1
                    send_list += 1
                    edge = peek(send_lists, send_list)
                token = target_bits | ~edge
                if IS_LIFO:
                    value = out
                    if IS_MULTICORE:
                        wave = firing_wave + 1
                else:
                    put_token(ring, mask, end, token, out)
                end += 1
                largest_flight = max(largest_flight, end - head)
            elif IS_LIFO:
                token, value = token_at(ring, mask, end - 1)
                if IS_MULTICORE:
                    wave = peek(token_waves, end - 1 & mask)
            sent = end - old_end
            if IS_MULTICORE:
                last_wave = max(last_wave, firing_wave + 1)
                count_in_wave(a, firing_wave, required, sent)
            change = -required
            if target == frame:
                change += sent
            else:
                poke(mem, target + FrameHeader.PENDING, peek(mem, target + FrameHeader.PENDING) + sent + argument_count)
                if code == Opcode.RETURN:
                    change += RESULT_UNIT - 1
            if change:
                pending = peek(mem, frame + FrameHeader.PENDING) + change
                poke(mem, frame + FrameHeader.PENDING, pending)
                if (pending & PENDING_MASK) == 0:
                    close_activation(a, r, mem, frame, header)
        remaining -= 1
        if IS_MULTICORE:
            continue
        wave_remaining -= 1
        if wave_remaining == 0:
            wave_remaining = end - head
            if has_wave_clock:
                count_wave(a, r, firings, waiting)
    if IS_LIFO:
        put_token(ring, mask, end - 1, token, value)
    if IS_MULTICORE:
        poke(token_waves, end - 1 & mask, wave)
        poke(r, Register.WAVES, last_wave)
    poke(r, Register.FLIGHT_HEAD, head & mask)
    poke(r, Register.FLIGHT_LENGTH, end - head)
    poke(r, Register.WAVE_REMAINING, wave_remaining)
    poke(r, Register.WAITING, waiting)
    poke(r, Register.FIRINGS, firings)
    poke(r, Register.STEPS, peek(r, Register.STEPS) + budget - remaining)
    poke(r, Register.LARGEST_STORE, largest_store)
    poke(r, Register.LARGEST_FLIGHT, largest_flight)
    return budget - remaining


@inline_njit
def operands_of(words: Any, frame: Any, port: Any) -> Any:
    """The words of three operands of a firing: values from `mem`, or waves from the waves of operands."""
    return (
        operand(words, frame, peek(port, PortColumn.OPERAND_0)),
        operand(words, frame, peek(port, PortColumn.OPERAND_1)),
        operand(words, frame, peek(port, PortColumn.OPERAND_2)),
    )


@inline_njit
def is_placed_elsewhere(r: Any, row: Any) -> Any:
    """Whether the activation that a node opens is on another core, for which the caller must make a proxy first."""
    return peek(row, DeliveryColumn.PLACE) >= NodePlace.FIRST_CORE and peek(r, Register.NEXT_PROXY) == 0


@inline_njit
def count_in_wave(a: Any, wave: Any, consumed: Any, sent: Any) -> None:
    """Count a firing, the tokens that it consumed and those that it sent in the profile of this core."""
    profile, row = peek(a, Address.PROFILE), wave * len(ProfileColumn)
    poke(profile, row + ProfileColumn.FIRINGS, peek(profile, row + ProfileColumn.FIRINGS) + 1)
    poke(profile, row + ProfileColumn.TOKENS_CONSUMED, peek(profile, row + ProfileColumn.TOKENS_CONSUMED) + consumed)
    poke(profile, row + ProfileColumn.TOKENS_SENT, peek(profile, row + ProfileColumn.TOKENS_SENT) + sent)
