"""Blocks of one delivery, for `waves` and `fifo`: the token machine under these schedules, specialized to one image.

Under these schedules the oldest token is delivered next, which another activation may have sent. So a block ends after
one delivery: its token waits for partners, or its node fires. What the machine reads of a node and its ports are
constants here, there is no choice by the opcode, and facts that follow from the graph need no tests. Unlike blocks
under `lifo`, these count waves: after each delivery, the state is that of the token machine.
"""

from __future__ import annotations

from collections.abc import Generator

from ...image.image import PORT_BITS, PortColumn
from .block_program import BlockProgram
from .blocks import MAX_LINES, RETURN_TEXT, BlockKey, BlockPath, BlockWriter, BranchTest, PathEnd


class WaveBlockWriter(BlockWriter):
    """Generates the text of the blocks of one image, one for each port that a token may arrive at."""

    head_text = """
def deliver_blocks(a, budget, header):
    r, o, mem = peek(a, Address.REGISTERS), peek(a, Address.OPTIONS), peek(a, Address.MEMORY)
    ring, mask = peek(a, Address.RING), peek(a, Address.RING_SIZE) - 1
    free, path_counts = peek(a, Address.FREE_FRAMES), peek(a, Address.PATH_COUNTS)
    depth_limit, has_wave_clock = peek(o, MachineOption.DEPTH_LIMIT), peek(o, MachineOption.HAS_WAVE_CLOCK)
    waiting, firings, opened = peek(r, Register.WAITING), peek(r, Register.FIRINGS), 0
    largest_store, largest_flight = peek(r, Register.LARGEST_STORE), peek(r, Register.LARGEST_FLIGHT)
    memory_top, deepest = peek(r, Register.MEMORY_TOP), peek(r, Register.DEEPEST_TAG)
    head, wave_remaining = peek(r, Register.FLIGHT_HEAD), peek(r, Register.WAVE_REMAINING)
    end, remaining = head + peek(r, Register.FLIGHT_LENGTH), budget
    while remaining > 0 and head < end:
        next_frame = mem + (peek(ring, (head + PREFETCH_DISTANCE & mask) << 1) >> PORT_BITS << 3)
        prefetch(next_frame, 0)
        prefetch(next_frame, 8)
        token, value = peek(ring, (head & mask) << 1), peek(ring, ((head & mask) << 1) + 1)
        frame, port = token >> PORT_BITS, token & PORT_MASK
        match port:
"""
    tail_text = f"""
            case _:
                break
        wave_remaining -= 1
        if wave_remaining == 0:
            wave_remaining = end - head
            if has_wave_clock:
                count_wave(a, r, firings, waiting)
    poke(r, Register.FLIGHT_HEAD, head & mask)
    poke(r, Register.FLIGHT_LENGTH, end - head)
    poke(r, Register.WAVE_REMAINING, wave_remaining)
{RETURN_TEXT}"""
    helpers = (*BlockWriter.helpers, "count_wave")

    def write(self) -> Generator[None, None, BlockProgram | None]:
        """Generate a block for each port of a node that fires without Python. Yields after each."""
        for port, row in enumerate(self.ports):
            if self.is_scalar[row[PortColumn.NODE]] and self.entry_port(port) == port:
                if len(self.lines) >= MAX_LINES:
                    return None
                self.block_numbers[BlockKey(port)] = port
                self.write_block(BlockKey(port))
                yield
        return self.program()

    def block_number(self, key: BlockKey, *, is_unlikely: bool = False) -> int:
        """The number of a block: that of its port."""
        return self.entry_port(key.port)

    def follow(self, path: BlockPath, indent: int) -> None:
        """Generate the rest of a path, which makes one delivery."""
        turn = self.deliver(path, indent) if path.steps == 0 else None
        if isinstance(turn, BranchTest):
            self.branch(path, turn, indent)
        elif isinstance(turn, PathEnd):
            self.emit(indent, "break")
        else:
            self.commit(path, indent, None)

    def emit_counts(self, path: BlockPath, indent: int) -> None:
        """Take the token out of the flight, and count what the path has done. From here on nothing fails."""
        self.emit(indent, "head += 1")
        super().emit_counts(path, indent)

    def emit_tokens(self, path: BlockPath, indent: int, *, is_result: bool) -> None:
        """Put the tokens of a path at the end of the flight."""
        for position, token in enumerate(path.stack):
            place = f"(end + {position} & mask) << 1"
            self.emit(indent, f"poke(ring, {place}, {token.frame} << {PORT_BITS} | {token.port})")
            self.emit(indent, f"poke(ring, ({place}) + 1, {token.word})")
        if path.stack:
            self.emit(indent, f"end += {len(path.stack)}")
