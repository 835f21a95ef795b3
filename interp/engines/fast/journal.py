"""Writing the journal of a run, compiled by numba: the words of each step. `events` and `columns` read them.

Only the variant of the machine that keeps events contains this code (`load`). The item of a step has the delivered
token and, if its node fired, the operands and outputs. Items of the throttled tokens that the step released and of the
activations that it closed follow; the latter contain the words of the frame, since it may be reused. `JournalItem`,
`JournalHead` and `JournalWord` define the layout.
"""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

from ...image.image import LOW_BITS, LOW_MASK, PORT_BITS, PORT_MASK, FrameHeader, NodeColumn, PortColumn
from ...image.opcodes import Opcode
from ..jit.memory import peek, poke
from .delivery_table import DeliveryColumn
from .layout import Address, JournalHead, JournalItem, JournalWord, MachineOption, Register, ThrottledColumn


def steps_with_journal_room(a: Any, o: Any, r: Any) -> Any:
    """The number of steps that fit into the journal, even if they close all activations and release all tokens."""
    close_words, release_words = (
        peek(r, Register.OPEN_ACTIVATIONS) * peek(o, MachineOption.CLOSE_JOURNAL_WORDS),
        peek(r, Register.THROTTLED) * JournalWord.RELEASE_WORDS,
    )
    free_words = peek(a, Address.JOURNAL_SIZE) - peek(r, Register.JOURNAL_LENGTH) - close_words - release_words
    return free_words // peek(o, MachineOption.STEP_JOURNAL_WORDS)


def note_no_firing(a: Any, r: Any, token: Any, value: Any, position: Any, flags: Any) -> None:
    """Note a delivery that did not fire its node."""
    journal = peek(a, Address.JOURNAL) + (peek(r, Register.JOURNAL_LENGTH) << 3)
    poke(journal, 0, position << JournalHead.POSITION_SHIFT | flags | JournalItem.NO_FIRING)
    poke(journal, JournalWord.TOKEN, token)
    poke(journal, JournalWord.VALUE, value)
    poke(r, Register.JOURNAL_LENGTH, peek(r, Register.JOURNAL_LENGTH) + JournalWord.NO_FIRING_WORDS)


def note_firing(
    a: Any, r: Any, mem: Any, node: Any, port: Any, token: Any, value: Any, position: Any, flags: Any, target: Any,
    first_edges: Any, first_output: Any, second_edges: Any, second_output: Any,
) -> None:  # fmt: skip
    """Note a firing, with the span of the edges of each output; the other operands are read from where they waited."""
    journal = peek(a, Address.JOURNAL) + (peek(r, Register.JOURNAL_LENGTH) << 3)
    poke(journal, JournalWord.TOKEN, token)
    poke(journal, JournalWord.VALUE, value)
    poke(journal, JournalWord.TARGET, target)
    poke(journal, JournalWord.FIRST_EDGES, first_edges)
    poke(journal, JournalWord.FIRST_OUTPUT, first_output)
    poke(journal, JournalWord.SECOND_EDGES, second_edges)
    poke(journal, JournalWord.SECOND_OUTPUT, second_output)
    required, operand_count = peek(node, NodeColumn.REQUIRED_TOKENS), 0
    if required == 2:
        operand_count = 1
        poke(journal, JournalWord.FIRING_WORDS, peek(mem, (token >> PORT_BITS) + peek(port, PortColumn.OPERAND_WORD)))
    elif required > 2:
        bit, operand_mask, first_word = (
            peek(port, PortColumn.BIT),
            peek(node, NodeColumn.OPERAND_MASK),
            (token >> PORT_BITS) + peek(port, PortColumn.OPERAND_WORD),
        )
        bit >>= 1
        while bit & operand_mask:
            bit >>= 1
            first_word -= 1
        operand_count = required
        for offset in range(required):
            poke(journal, JournalWord.FIRING_WORDS + offset, peek(mem, first_word + offset))
    poke(
        journal,
        0,
        position << JournalHead.POSITION_SHIFT
        | operand_count << JournalHead.OPERAND_COUNT_SHIFT
        | flags
        | JournalItem.FIRING,
    )
    poke(r, Register.JOURNAL_LENGTH, peek(r, Register.JOURNAL_LENGTH) + JournalWord.FIRING_WORDS + operand_count)


def note_scalar_firing(
    a: Any, r: Any, mem: Any, row: Any, token: Any, value: Any, position: Any, flags: Any, target: Any,
    second_operand: Any, first_output: Any,
) -> None:  # fmt: skip
    """Note a firing of `deliver_scalar`, and fill in what it does not compute: the spans of edges, and the second
    output of an exit, which nothing uses."""
    node = peek(a, Address.NODES) + (peek(row, DeliveryColumn.NODE) * len(NodeColumn) << 3)
    port = peek(a, Address.PORTS) + ((token & PORT_MASK) * len(PortColumn) << 3)
    begin, end, output_count, second_output = (
        peek(node, NodeColumn.EDGES_BEGIN),
        peek(node, NodeColumn.SECOND_EDGES_BEGIN),
        1,
        0,
    )
    if peek(row, DeliveryColumn.CODE) == Opcode.SWITCH and second_operand == 0:
        begin, end = end, peek(node, NodeColumn.EDGES_END)
    elif peek(row, DeliveryColumn.CODE) == Opcode.EXIT:
        output_count, second_output = 2, peek(mem, (token >> PORT_BITS) + FrameHeader.ITERATION) >> LOW_BITS
    if peek(node, NodeColumn.ROUTE) >= 0 and end > begin:
        site = peek(mem, target + FrameHeader.PARENT) & LOW_MASK
        route = peek(a, Address.ROUTES) + (peek(node, NodeColumn.ROUTE) + site << 4)
        begin, end = peek(route, 0), peek(route, 1)
    flags |= output_count << JournalHead.OUTPUT_COUNT_SHIFT
    note_firing(
        a, r, mem, node, port, token, value, position, flags, target, begin << 32 | end, first_output, 0, second_output
    )


def note_release(a: Any, r: Any, row: Any) -> None:
    """Note a throttled token that joins the flight; `row` is the address of its row."""
    journal = peek(a, Address.JOURNAL) + (peek(r, Register.JOURNAL_LENGTH) << 3)
    poke(journal, 0, JournalItem.RELEASE)
    poke(journal, JournalWord.TOKEN, peek(row, ThrottledColumn.TOKEN))
    poke(journal, JournalWord.VALUE, peek(row, ThrottledColumn.VALUE))
    poke(journal, JournalWord.STEP, peek(row, ThrottledColumn.STEP))
    poke(r, Register.JOURNAL_LENGTH, peek(r, Register.JOURNAL_LENGTH) + JournalWord.RELEASE_WORDS)


def note_close(a: Any, r: Any, mem: Any, frame: Any, scope: Any, header: Any) -> None:
    """Note an activation that closes: its frame, the words from which its tag follows, and the bits of its nodes."""
    journal = peek(a, Address.JOURNAL) + (peek(r, Register.JOURNAL_LENGTH) << 3)
    count = peek(peek(a, Address.STATE_WORDS), scope)
    poke(journal, 0, count << JournalHead.POSITION_SHIFT | JournalItem.CLOSE)
    poke(journal, JournalWord.FRAME, frame)
    poke(journal, JournalWord.PARENT_HEADER, peek(mem, frame + FrameHeader.PARENT))
    poke(journal, JournalWord.ITERATION_HEADER, peek(mem, frame + FrameHeader.ITERATION))
    for offset in range(count):
        poke(journal, JournalWord.CLOSE_WORDS + offset, peek(mem, frame + header + offset))
    poke(r, Register.JOURNAL_LENGTH, peek(r, Register.JOURNAL_LENGTH) + JournalWord.CLOSE_WORDS + count)
