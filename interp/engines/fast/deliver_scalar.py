"""The fast path of delivery: scalars only, no k-bounds, far from limits. All other tokens are left to `machine`, before
any change. The rules and the state are the same as in `machine`.

`load` compiles `deliver_scalar` twice: as `deliver_scalar_lifo`, which keeps the next token in variables and the others
in the ring, and as `deliver_scalar_fifo`.
"""

# mypy: ignore-errors
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...image.image import ARGUMENT_UNIT, PORT_BITS, RESULT_UNIT, SCRATCH_WORD, FrameHeader, NodeColumn, PortColumn
from ...image.opcodes import FIRST_KERNEL, Opcode, first_trapping_opcode
from ..jit.memory import peek, poke, prefetch, unlikely
from .delivery_table import DeliveryColumn
from .frames import (
    HAS_JOURNAL,
    IS_MULTICORE,
    PENDING_MASK,
    close_activation,
    depth_of,
    iteration_of,
    open_activation,
    operand,
    parent_of,
    site_of,
)
from .journal import note_no_firing, note_scalar_firing
from .registers import Address, JournalHead, MachineOption, ProfileColumn, Register

if TYPE_CHECKING:
    IS_LIFO = True

    def compute(code: int, a: int, b: int, c: int) -> int: ...
    def cast(code: int, word: int) -> int: ...
    def traps(code: int, a: int, b: int) -> bool: ...


FIRST_TRAPPING = first_trapping_opcode()
PORT_MASK = (1 << PORT_BITS) - 1
PREFETCH_DISTANCE = 32
"""How many tokens ahead of delivery a frame is prefetched. On fib(28) a firing takes 15 ns; with 16, 16.5 ns; with 8,
20 ns."""
NODE_BYTES = 8 * len(NodeColumn)
PORT_BYTES = 8 * len(PortColumn)
ROW_BYTES = 8 * len(DeliveryColumn)


def deliver_scalar(a: Any, budget: Any, header: Any) -> Any:
    """Deliver at most `budget` tokens, for which there must be room; returns how many were delivered."""
    r, mem, ring, mask = (
        peek(a, Address.REGISTERS),
        peek(a, Address.MEMORY),
        peek(a, Address.RING),
        peek(a, Address.RING_SIZE) - 1,
    )
    rows, send_lists, counts = (
        peek(a, Address.DELIVERY_ROWS),
        peek(a, Address.SEND_LISTS),
        peek(a, Address.FIRING_COUNTS),
    )
    head, wave_remaining = peek(r, Register.FLIGHT_HEAD), peek(r, Register.WAVE_REMAINING)
    waiting, firings = peek(r, Register.WAITING), peek(r, Register.FIRINGS)
    largest_store, largest_flight = peek(r, Register.LARGEST_STORE), peek(r, Register.LARGEST_FLIGHT)
    has_wave_clock, remaining = peek(peek(a, Address.OPTIONS), MachineOption.HAS_WAVE_CLOCK), budget
    end = head + peek(r, Register.FLIGHT_LENGTH)
    slot = (end - 1 & mask) << 1
    token, value = peek(ring, slot), peek(ring, slot + 1)
    if IS_MULTICORE:
        token_waves, operand_waves, profile = (
            peek(a, Address.TOKEN_WAVES),
            peek(a, Address.OPERAND_WAVES),
            peek(a, Address.PROFILE),
        )
        wave, last_wave = peek(token_waves, end - 1 & mask), peek(r, Register.WAVES)
    while remaining > 0 and head < end:
        if not IS_LIFO:
            next_frame = mem + (peek(ring, (head + PREFETCH_DISTANCE & mask) << 1) >> PORT_BITS << 3)
            prefetch(next_frame, 0)
            prefetch(next_frame, 8)
            slot = (head & mask) << 1
            token, value = peek(ring, slot), peek(ring, slot + 1)
        frame, row = token >> PORT_BITS, rows + (token & PORT_MASK) * ROW_BYTES
        bits, partner_bits = (
            peek(mem, frame + peek(row, DeliveryColumn.MASK_WORD)),
            peek(row, DeliveryColumn.PARTNER_BITS),
        )
        if unlikely(bits & peek(row, DeliveryColumn.CONFLICT_BITS) != 0):
            break
        if partner_bits & ~bits:
            # S2: the token waits for its partners
            if HAS_JOURNAL:
                note_no_firing(
                    a, r, token, value, end - head - 1 if IS_LIFO else 0, JournalHead.ENDS_WAVE * (wave_remaining == 1)
                )
            poke(mem, frame + peek(row, DeliveryColumn.MASK_WORD), bits | peek(row, DeliveryColumn.BIT))
            poke(mem, frame + peek(row, DeliveryColumn.OPERAND_WORD), value)
            if IS_MULTICORE:
                poke(operand_waves, frame + peek(row, DeliveryColumn.OPERAND_WORD), wave)
            waiting += 1
            largest_store = max(largest_store, waiting)
            if IS_LIFO:
                end -= 1
                slot = (end - 1 & mask) << 1
                token, value = peek(ring, slot), peek(ring, slot + 1)
                if IS_MULTICORE:
                    wave = peek(token_waves, end - 1 & mask)
            else:
                head += 1
        else:
            partner = peek(mem, (frame & peek(row, DeliveryColumn.FRAME_MASK)) + peek(row, DeliveryColumn.PARTNER_WORD))
            if IS_MULTICORE:
                # The node fires in the wave of its last operand; literals have wave 0.
                firing_wave = max(
                    wave,
                    peek(
                        operand_waves,
                        (frame & peek(row, DeliveryColumn.FRAME_MASK)) + peek(row, DeliveryColumn.PARTNER_WORD),
                    ),
                )
            out, second = value, partner
            if peek(row, DeliveryColumn.IS_SECOND):
                out, second = partner, value
            code, send_list, target, argument_count, special = (
                peek(row, DeliveryColumn.CODE),
                peek(row, DeliveryColumn.FIRST_SEND_LIST),
                frame,
                0,
                peek(row, DeliveryColumn.SPECIAL),
            )
            if HAS_JOURNAL:
                flags = JournalHead.ENDS_WAVE * (wave_remaining == 1)
            if code >= FIRST_KERNEL:
                third = 0
                if unlikely(special > 1):
                    port = peek(a, Address.PORTS) + (token & PORT_MASK) * PORT_BYTES
                    poke(mem, SCRATCH_WORD, value)
                    out, second = (
                        operand(mem, frame, peek(port, PortColumn.OPERAND_0)),
                        operand(mem, frame, peek(port, PortColumn.OPERAND_1)),
                    )
                    third = operand(mem, frame, peek(port, PortColumn.OPERAND_2))
                    if IS_MULTICORE:
                        firing_wave = max(firing_wave, operand(operand_waves, frame, peek(port, PortColumn.OPERAND_0)))
                        firing_wave = max(firing_wave, operand(operand_waves, frame, peek(port, PortColumn.OPERAND_1)))
                        firing_wave = max(firing_wave, operand(operand_waves, frame, peek(port, PortColumn.OPERAND_2)))
                if code >= FIRST_TRAPPING and traps(code, out, second):
                    break
                out = compute(code, out, second, third)
            elif code == Opcode.SWITCH:
                if second == 0:
                    send_list = peek(row, DeliveryColumn.SECOND_SEND_LIST)
            elif code == Opcode.CALL:
                argument_count, node = (
                    ARGUMENT_UNIT - 1,
                    peek(a, Address.NODES) + peek(row, DeliveryColumn.NODE) * NODE_BYTES,
                )
                target = 0
                if peek(node, NodeColumn.CHILD_WORD):
                    target = peek(mem, frame + peek(node, NodeColumn.CHILD_WORD))
                if target == 0:
                    if depth_of(mem, frame) >= peek(peek(a, Address.OPTIONS), MachineOption.DEPTH_LIMIT):
                        break
                    target = open_activation(a, r, mem, frame, peek(node, NodeColumn.SITE), 0, header)
                    if HAS_JOURNAL:
                        flags += JournalHead.OPENS_ACTIVATION
                    if peek(node, NodeColumn.CHILD_WORD):
                        poke(mem, frame + peek(node, NodeColumn.CHILD_WORD), target)
            elif code == Opcode.NEXT_ITERATION:
                argument_count, node = (
                    ARGUMENT_UNIT - 1,
                    peek(a, Address.NODES) + peek(row, DeliveryColumn.NODE) * NODE_BYTES,
                )
                target = 0
                if peek(node, NodeColumn.CHILD_WORD):
                    target = peek(mem, frame + peek(node, NodeColumn.CHILD_WORD))
                if target == 0:
                    if depth_of(mem, frame) > peek(peek(a, Address.OPTIONS), MachineOption.DEPTH_LIMIT):
                        break
                    iteration = iteration_of(mem, frame) + 1
                    target = open_activation(
                        a, r, mem, parent_of(mem, frame), peek(node, NodeColumn.SITE), iteration, header
                    )
                    if HAS_JOURNAL:
                        flags += JournalHead.OPENS_ACTIVATION
                    if peek(node, NodeColumn.CHILD_WORD):
                        poke(mem, frame + peek(node, NodeColumn.CHILD_WORD), target)
            elif code == Opcode.RETURN or code == Opcode.EXIT:
                target = parent_of(mem, frame)
            elif IS_MULTICORE and code == Opcode.RESULT:
                result_offset = (
                    peek(peek(a, Address.NODES) + peek(row, DeliveryColumn.NODE) * NODE_BYTES, NodeColumn.SITE) << 1
                )
                poke(peek(a, Address.RESULTS), result_offset, 1)
                poke(peek(a, Address.RESULTS), result_offset + 1, out)
                poke(r, Register.RESULT_COUNT, peek(r, Register.RESULT_COUNT) + 1)
                code, target = Opcode.RETURN, 0
            elif code != Opcode.PASS:
                break
            if special:
                node = peek(a, Address.NODES) + peek(row, DeliveryColumn.NODE) * NODE_BYTES
                if peek(node, NodeColumn.CAST):
                    out = cast(peek(node, NodeColumn.CAST), out)
                if peek(node, NodeColumn.ROUTE) >= 0 and send_list:
                    # S10: of the returns, only that of the site on top of the tag gets the token
                    send_list = peek(peek(a, Address.SEND_ROUTES), peek(node, NodeColumn.ROUTE) + site_of(mem, target))
            # Nothing but the opening of an activation has changed so far; from here on nothing fails.
            if HAS_JOURNAL:
                position = end - head - 1 if IS_LIFO else 0
                note_scalar_firing(a, r, mem, row, token, value, position, flags, target, second, out)
            poke(
                mem,
                frame + peek(row, DeliveryColumn.MASK_WORD),
                bits & ~partner_bits | peek(row, DeliveryColumn.FIRED_BIT),
            )
            required, number = peek(row, DeliveryColumn.REQUIRED_TOKENS), peek(row, DeliveryColumn.NODE)
            waiting -= required - 1
            firings += 1
            poke(counts, number, peek(counts, number) + 1)
            # S3: outputs, then edges, in order
            old_end, target_bits = end, target << PORT_BITS
            if IS_LIFO:
                end -= 1
                old_end = end
            else:
                head += 1
            if send_list:
                edge = peek(send_lists, send_list)
                while edge >= 0:
                    slot = (end & mask) << 1
                    poke(ring, slot, target_bits | edge)
                    poke(ring, slot + 1, out)
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
                    slot = (end & mask) << 1
                    poke(ring, slot, token)
                    poke(ring, slot + 1, out)
                end += 1
                largest_flight = max(largest_flight, end - head)
            elif IS_LIFO:
                slot = (end - 1 & mask) << 1
                token, value = peek(ring, slot), peek(ring, slot + 1)
                if IS_MULTICORE:
                    wave = peek(token_waves, end - 1 & mask)
            sent = end - old_end
            if IS_MULTICORE:
                last_wave = max(last_wave, firing_wave + 1)
                profile_row = firing_wave * len(ProfileColumn)
                poke(
                    profile,
                    profile_row + ProfileColumn.FIRINGS,
                    peek(profile, profile_row + ProfileColumn.FIRINGS) + 1,
                )
                poke(
                    profile,
                    profile_row + ProfileColumn.TOKENS_CONSUMED,
                    peek(profile, profile_row + ProfileColumn.TOKENS_CONSUMED) + required,
                )
                poke(
                    profile,
                    profile_row + ProfileColumn.TOKENS_SENT,
                    peek(profile, profile_row + ProfileColumn.TOKENS_SENT) + sent,
                )
            if target != frame:
                poke(mem, target + FrameHeader.PENDING, peek(mem, target + FrameHeader.PENDING) + sent + argument_count)
                pending = peek(mem, frame + FrameHeader.PENDING) - required
                if code == Opcode.RETURN:
                    pending += RESULT_UNIT - 1
                poke(mem, frame + FrameHeader.PENDING, pending)
                if (pending & PENDING_MASK) == 0:
                    close_activation(a, r, mem, frame, header)
            elif sent != required:
                pending = peek(mem, frame + FrameHeader.PENDING) + sent - required
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
                poke(
                    peek(a, Address.PROFILE),
                    peek(r, Register.WAVES),
                    firings - peek(r, Register.FIRINGS_BEFORE_WAVE) | waiting << 32,
                )
                poke(r, Register.WAVES, peek(r, Register.WAVES) + 1)
                poke(r, Register.FIRINGS_BEFORE_WAVE, firings)
    if IS_LIFO:
        slot = (end - 1 & mask) << 1
        poke(ring, slot, token)
        poke(ring, slot + 1, value)
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
