"""Most deliveries: those of words, with no bound and no object, whose limits are far. What else comes is left to
`machine`, before anything has changed. The rules are the same; what is kept is what the rules of `machine` keep.

`load` makes two functions of `plain`: `youngest`, which has the token that is next in its hand and the others in the
ring, and `oldest`.
"""

# mypy: ignore-errors
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...image.image import COMING, LEAVING, NODE, PORT, PORT_BITS, SCRATCH, Header
from ...image.opcodes import FIRST, Code, first_trapping
from ..jit.memory import peek, poke, prefetch, rare
from .frames import JOURNAL, PENDING, STAMPED, closed, depth_of, iteration_of, opened, operand, parent_of, site_of
from .journal import note_plain, note_stay
from .registers import WAVE, A, Head, Options, R
from .rows import ROW

if TYPE_CHECKING:
    YOUNGEST = True

    def compute(code: int, a: int, b: int, c: int) -> int: ...
    def cast(code: int, word: int) -> int: ...
    def traps(code: int, a: int, b: int) -> bool: ...


FIRST_TRAPPING = first_trapping()
PORT_MASK = (1 << PORT_BITS) - 1
AHEAD = 32
"""How many tokens before it is delivered the frame of one is fetched: on fib(28) 15 ns a firing; with 16, 16.5; with 8,
20."""
NODE_BYTES = 8 * len(NODE)
PORT_BYTES = 8 * len(PORT)
ROW_BYTES = 8 * len(ROW)


def plain(a: Any, sure: Any, header: Any) -> Any:
    """Deliver so many tokens, for which there is room, or fewer: how many."""
    r, mem, ring, mask = peek(a, A.REGISTERS), peek(a, A.MEMORY), peek(a, A.RING), peek(a, A.RING_SIZE) - 1
    rows, sends, counts = peek(a, A.ROWS), peek(a, A.SENDS), peek(a, A.COUNTS)
    head, ahead = peek(r, R.HEAD), peek(r, R.AHEAD)
    waiting, firings = peek(r, R.WAITING), peek(r, R.FIRINGS)
    store, flight = peek(r, R.LARGEST_STORE), peek(r, R.LARGEST_FLIGHT)
    clocked, left = peek(peek(a, A.OPTIONS), Options.CLOCKED), sure
    end = head + peek(r, R.LENGTH)
    at = (end - 1 & mask) << 1
    token, value = peek(ring, at), peek(ring, at + 1)
    if STAMPED:
        waves, waits, profile = peek(a, A.WAVES), peek(a, A.WAITS), peek(a, A.PROFILE)
        wave, highest = peek(waves, end - 1 & mask), peek(r, R.WAVES)
    while left > 0 and head < end:
        if not YOUNGEST:
            soon = mem + (peek(ring, (head + AHEAD & mask) << 1) >> PORT_BITS << 3)
            prefetch(soon, 0)
            prefetch(soon, 8)
            at = (head & mask) << 1
            token, value = peek(ring, at), peek(ring, at + 1)
        frame, row = token >> PORT_BITS, rows + (token & PORT_MASK) * ROW_BYTES
        bits, others = peek(mem, frame + peek(row, ROW.STATE)), peek(row, ROW.OTHERS)
        if rare(bits & peek(row, ROW.CLASH) != 0):
            break
        if others & ~bits:
            # S2: it waits for its partners
            if JOURNAL:
                note_stay(a, r, token, value, end - head - 1 if YOUNGEST else 0, Head.ENDS * (ahead == 1))
            poke(mem, frame + peek(row, ROW.STATE), bits | peek(row, ROW.BIT))
            poke(mem, frame + peek(row, ROW.WAIT), value)
            if STAMPED:
                poke(waits, frame + peek(row, ROW.WAIT), wave)
            waiting += 1
            store = max(store, waiting)
            if YOUNGEST:
                end -= 1
                at = (end - 1 & mask) << 1
                token, value = peek(ring, at), peek(ring, at + 1)
                if STAMPED:
                    wave = peek(waves, end - 1 & mask)
            else:
                head += 1
        else:
            other = peek(mem, (frame & peek(row, ROW.FRAME)) + peek(row, ROW.OTHER))
            if STAMPED:
                # It fires in the wave of the operand that comes last; literals came in wave 0.
                now = max(wave, peek(waits, (frame & peek(row, ROW.FRAME)) + peek(row, ROW.OTHER)))
            out, second = value, other
            if peek(row, ROW.IS_SECOND):
                out, second = other, value
            code, send, target, passed, special = (
                peek(row, ROW.CODE),
                peek(row, ROW.FIRST),
                frame,
                0,
                peek(row, ROW.SPECIAL),
            )
            if JOURNAL:
                flags = Head.ENDS * (ahead == 1)
            if code >= FIRST:
                third = 0
                if rare(special > 1):
                    port = peek(a, A.PORTS) + (token & PORT_MASK) * PORT_BYTES
                    poke(mem, SCRATCH, value)
                    out, second = operand(mem, frame, peek(port, PORT.A)), operand(mem, frame, peek(port, PORT.B))
                    third = operand(mem, frame, peek(port, PORT.C))
                    if STAMPED:
                        now = max(now, operand(waits, frame, peek(port, PORT.A)))
                        now = max(now, operand(waits, frame, peek(port, PORT.B)))
                        now = max(now, operand(waits, frame, peek(port, PORT.C)))
                if code >= FIRST_TRAPPING and traps(code, out, second):
                    break
                out = compute(code, out, second, third)
            elif code == Code.SWITCH:
                if second == 0:
                    send = peek(row, ROW.SECOND)
            elif code == Code.CALL:
                passed, node = COMING - 1, peek(a, A.NODES) + peek(row, ROW.NUMBER) * NODE_BYTES
                target = 0
                if peek(node, NODE.PLACE):
                    target = peek(mem, frame + peek(node, NODE.PLACE))
                if target == 0:
                    if depth_of(mem, frame) >= peek(peek(a, A.OPTIONS), Options.DEPTH):
                        break
                    target = opened(a, r, mem, frame, peek(node, NODE.SITE), 0, header)
                    if JOURNAL:
                        flags += Head.OPENED
                    if peek(node, NODE.PLACE):
                        poke(mem, frame + peek(node, NODE.PLACE), target)
            elif code == Code.NEXT:
                passed, node = COMING - 1, peek(a, A.NODES) + peek(row, ROW.NUMBER) * NODE_BYTES
                target = 0
                if peek(node, NODE.PLACE):
                    target = peek(mem, frame + peek(node, NODE.PLACE))
                if target == 0:
                    if depth_of(mem, frame) > peek(peek(a, A.OPTIONS), Options.DEPTH):
                        break
                    iteration = iteration_of(mem, frame) + 1
                    target = opened(a, r, mem, parent_of(mem, frame), peek(node, NODE.SITE), iteration, header)
                    if JOURNAL:
                        flags += Head.OPENED
                    if peek(node, NODE.PLACE):
                        poke(mem, frame + peek(node, NODE.PLACE), target)
            elif code == Code.RETURN or code == Code.EXIT:
                target = parent_of(mem, frame)
            elif STAMPED and code == Code.RESULT:
                place = peek(peek(a, A.NODES) + peek(row, ROW.NUMBER) * NODE_BYTES, NODE.SITE) << 1
                poke(peek(a, A.RESULTS), place, 1)
                poke(peek(a, A.RESULTS), place + 1, out)
                poke(r, R.CAME, peek(r, R.CAME) + 1)
                code, target = Code.RETURN, 0
            elif code != Code.PASS:
                break
            if special:
                node = peek(a, A.NODES) + peek(row, ROW.NUMBER) * NODE_BYTES
                if peek(node, NODE.CAST):
                    out = cast(peek(node, NODE.CAST), out)
                if peek(node, NODE.ROUTE) >= 0 and send:
                    # S10: what feeds returns goes to that of the site on top of its tag, and to no other
                    send = peek(peek(a, A.SEND_ROUTES), peek(node, NODE.ROUTE) + site_of(mem, target))
            # Nothing has changed so far but that an activation was opened; from here on nothing fails.
            if JOURNAL:
                position = end - head - 1 if YOUNGEST else 0
                note_plain(a, r, mem, row, token, value, position, flags, target, second, out)
            poke(mem, frame + peek(row, ROW.STATE), bits & ~others | peek(row, ROW.FIRED))
            needs, number = peek(row, ROW.NEEDS), peek(row, ROW.NUMBER)
            waiting -= needs - 1
            firings += 1
            poke(counts, number, peek(counts, number) + 1)
            # S3: outputs, then edges, in order
            before, high = end, target << PORT_BITS
            if YOUNGEST:
                end -= 1
                before = end
            else:
                head += 1
            if send:
                edge = peek(sends, send)
                while edge >= 0:
                    at = (end & mask) << 1
                    poke(ring, at, high | edge)
                    poke(ring, at + 1, out)
                    if STAMPED:
                        poke(waves, end & mask, now + 1)
                    end += 1
                    send += 1
                    edge = peek(sends, send)
                token = high | ~edge
                if YOUNGEST:
                    value = out
                    if STAMPED:
                        wave = now + 1
                else:
                    at = (end & mask) << 1
                    poke(ring, at, token)
                    poke(ring, at + 1, out)
                end += 1
                flight = max(flight, end - head)
            elif YOUNGEST:
                at = (end - 1 & mask) << 1
                token, value = peek(ring, at), peek(ring, at + 1)
                if STAMPED:
                    wave = peek(waves, end - 1 & mask)
            sent = end - before
            if STAMPED:
                highest = max(highest, now + 1)
                at = now * len(WAVE)
                poke(profile, at + WAVE.FIRED, peek(profile, at + WAVE.FIRED) + (needs << 32) + 1)
                poke(profile, at + WAVE.SENT, peek(profile, at + WAVE.SENT) + sent)
            if target != frame:
                poke(mem, target + Header.COUNTS, peek(mem, target + Header.COUNTS) + sent + passed)
                pending = peek(mem, frame + Header.COUNTS) - needs
                if code == Code.RETURN:
                    pending += LEAVING - 1
                poke(mem, frame + Header.COUNTS, pending)
                if (pending & PENDING) == 0:
                    closed(a, r, mem, frame, header)
            elif sent != needs:
                pending = peek(mem, frame + Header.COUNTS) + sent - needs
                poke(mem, frame + Header.COUNTS, pending)
                if (pending & PENDING) == 0:
                    closed(a, r, mem, frame, header)
        left -= 1
        if STAMPED:
            continue
        ahead -= 1
        if ahead == 0:
            ahead = end - head
            if clocked:
                poke(peek(a, A.PROFILE), peek(r, R.WAVES), firings - peek(r, R.BEFORE) | waiting << 32)
                poke(r, R.WAVES, peek(r, R.WAVES) + 1)
                poke(r, R.BEFORE, firings)
    if YOUNGEST:
        at = (end - 1 & mask) << 1
        poke(ring, at, token)
        poke(ring, at + 1, value)
    if STAMPED:
        poke(waves, end - 1 & mask, wave)
        poke(r, R.WAVES, highest)
    poke(r, R.HEAD, head & mask)
    poke(r, R.LENGTH, end - head)
    poke(r, R.AHEAD, ahead)
    poke(r, R.WAITING, waiting)
    poke(r, R.FIRINGS, firings)
    poke(r, R.STEPS, peek(r, R.STEPS) + sure - left)
    poke(r, R.LARGEST_STORE, store)
    poke(r, R.LARGEST_FLIGHT, flight)
    return sure - left
