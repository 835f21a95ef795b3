"""The token machine's loop, in the part of Python that numba compiles: it runs an image over words of memory.

The rules are the reference's, S1 to S16. What cannot be done with words alone, traps included, is left to who called,
before anything has changed; then the same token is delivered again, with what its firing gave in `given`.

No step asks for room: how many surely fit is worked out for many at once. Where a limit is near, steps are `careful`,
one by one, so that limits are exact.

`load` compiles the text of this file, of `frames`, `holding` and `needed`, with numbers for the names of columns and
registers, together with `compute`, `cast` and `traps`, which `arms` makes from the table of opcodes. Arrays are
addresses, read with `peek`.
"""

# mypy: ignore-errors
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...image.image import COMING, LEAVING, NODE, PORT, PORT_BITS, SCRATCH, Header
from ...image.opcodes import FIRST, Code, first_trapping
from ..jit.memory import peek, poke, prefetch
from .frames import (
    JOURNAL,
    PENDING,
    closed,
    depth_of,
    iteration_of,
    mixed,
    opened,
    operand,
    parent_of,
    released,
    site_of,
    take,
)
from .journal import journal_room, note_firing, note_stay
from .k_bounds import busier, due, due_at_wave, hold, is_held, let_go
from .registers import A, Given, Head, Kind, Mode, Options, R, Why
from .stop_test import is_needed

if TYPE_CHECKING:

    def compute(code: int, a: int, b: int, c: int) -> int: ...
    def cast(code: int, word: int) -> int: ...
    def traps(code: int, a: int, b: int) -> bool: ...
    def youngest(a: int, sure: int, header: int) -> int: ...
    def oldest(a: int, sure: int, header: int) -> int: ...


FIRST_TRAPPING = first_trapping()
PORT_MASK = (1 << PORT_BITS) - 1
AHEAD = 16
"""How many tokens before it is delivered the frame of one is fetched."""
NODE_BYTES = 8 * len(NODE)
PORT_BYTES = 8 * len(PORT)


def room(a: Any, o: Any, r: Any, length: Any) -> Any:
    """How many steps surely fit into all arrays."""
    steps = (peek(a, A.MEMORY_SIZE) - peek(r, R.TOP)) // peek(o, Options.LARGEST)
    steps = min(steps, (peek(a, A.RING_SIZE) - length - peek(r, R.HOLDING)) // peek(o, Options.FAN))
    steps = min(steps, (peek(a, A.DEAD_SIZE) - peek(r, R.DEAD)) // 4)
    steps = min(steps, (peek(a, A.HELD_SIZE) - peek(r, R.HELD_TOP)) // peek(o, Options.FAN))
    if JOURNAL:
        steps = min(steps, journal_room(a, o, r))
    if peek(o, Options.CLOCKED):
        steps = min(steps, peek(a, A.PROFILE_SIZE) - peek(r, R.WAVES))
    return steps


def run(a: Any, budget: Any, header: Any) -> Any:
    """Deliver tokens until the flight is empty, `budget` steps are done, or something else is to be done first."""
    why, o = Why.BUDGET, peek(a, A.OPTIONS)
    while budget > 0 and why == Why.BUDGET:
        sure, steps = far(a, budget), budget
        if peek(o, Options.PLAIN) and sure > 0:
            steps = 1
            if peek(peek(a, A.GIVEN), Given.KIND) == Kind.NOTHING:
                done = youngest(a, sure, header) if peek(o, Options.MODE) == Mode.YOUNGEST else oldest(a, sure, header)
                budget -= done
                steps = min(sure - done, 1)
        if steps:
            why = general(a, steps, header)
            budget -= steps
    return why


def entered(mem: Any, frame: Any, node: Any) -> Any:
    """The activation that another argument, or another variable of a loop, has opened already, or 0."""
    place = peek(node, NODE.PLACE)
    return peek(mem, frame + place) if place else 0


def opened_by(a: Any, r: Any, mem: Any, frame: Any, node: Any, code: Any, header: Any) -> Any:
    """A new activation for a call, an entry of a loop or a next_iteration that fires in this frame, which is told."""
    site, place = peek(node, NODE.SITE), peek(node, NODE.PLACE)
    if code == Code.CALL:
        target = opened(a, r, mem, frame, site, 0, header)
    else:
        target = opened(a, r, mem, parent_of(mem, frame), site, iteration_of(mem, frame) + 1, header)
        if header > Header.BUSY:
            poke(mem, target + Header.OLDER, frame)
            poke(mem, frame + Header.NEWER, target)
    if place:
        poke(mem, frame + place, target)
    return target


def far(a: Any, budget: Any) -> Any:
    """How many of so many steps surely fit into all arrays, and meet no limit."""
    o, r = peek(a, A.OPTIONS), peek(a, A.REGISTERS)
    length = peek(r, R.LENGTH)
    live = length + peek(r, R.WAITING) + peek(r, R.PARKED) + peek(r, R.HOLDING)
    steps = min(room(a, o, r, length), (peek(o, Options.TOKENS) - live) // peek(o, Options.FAN))
    return min(min(budget, steps), peek(o, Options.FIRINGS) - peek(r, R.FIRINGS))


def general(a: Any, budget: Any, header: Any) -> Any:
    """`run`, of any tokens. Sending, and letting go, are written out: as functions of their own a firing of a bounded
    loop takes 37 ns instead of 27."""
    o, r, mem, ring = peek(a, A.OPTIONS), peek(a, A.REGISTERS), peek(a, A.MEMORY), peek(a, A.RING)
    nodes, ports, edges, codes = peek(a, A.NODES), peek(a, A.PORTS), peek(a, A.EDGES), peek(a, A.CODES)
    counts, given, profile = peek(a, A.COUNTS), peek(a, A.GIVEN), peek(a, A.PROFILE)
    mode, clocked, seed = peek(o, Options.MODE), peek(o, Options.CLOCKED), peek(o, Options.SEED)
    depth_limit, fan = peek(o, Options.DEPTH), peek(o, Options.FAN)
    firings_limit, tokens_limit = peek(o, Options.FIRINGS), peek(o, Options.TOKENS)
    mask, bounded = peek(a, A.RING_SIZE) - 1, header > Header.BUSY
    head, length, ahead = peek(r, R.HEAD), peek(r, R.LENGTH), peek(r, R.AHEAD)
    waiting, firings, steps = peek(r, R.WAITING), peek(r, R.FIRINGS), peek(r, R.STEPS)
    others = peek(r, R.PARKED) + peek(r, R.HOLDING)
    store, flight = peek(r, R.LARGEST_STORE), peek(r, R.LARGEST_FLIGHT)
    passed, stays = peek(r, R.PASSED), peek(o, Options.STAYS)
    kind = peek(given, Given.KIND)
    poke(given, Given.KIND, Kind.NOTHING)
    why, position = Why.BUDGET, 0
    while budget > 0 and why == Why.BUDGET:
        sure = min(budget, room(a, o, r, length))
        if sure < 1:
            why = Why.ROOM
            break
        sure = min(sure, min(firings_limit - firings, (tokens_limit - length - waiting - others) // fan))
        careful = sure < 1
        sure = max(sure, 1)
        budget -= sure
        while sure > 0:
            sure -= 1
            if length == 0:
                why = Why.QUIET
                break
            position = 0
            if mode == Mode.YOUNGEST:
                position = length - 1
            elif mode == Mode.RANDOM:
                position = np.int64(mixed(seed, steps) % np.uint64(length))
            else:
                # What is far from the processor is asked for in time: 24 ns a firing instead of 43 on fib(28).
                soon = peek(ring, (head + AHEAD & mask) << 1) >> PORT_BITS
                prefetch(mem, soon)
                prefetch(mem, soon + 8)
            at = (head + position & mask) << 1
            token, value = peek(ring, at), peek(ring, at + 1)
            frame, port = token >> PORT_BITS, ports + (token & PORT_MASK) * PORT_BYTES
            number = peek(port, PORT.NODE)
            node = nodes + number * NODE_BYTES
            state = frame + peek(node, NODE.STATE)
            bit, full, fired = peek(port, PORT.BIT), peek(node, NODE.FULL), peek(node, NODE.FIRED)
            before = peek(mem, state)
            bits, stayed = before | bit, False
            if before & (bit | fired):
                why = Why.SECOND
                break
            if bits & full != full:
                # S2: it waits for its partners
                may_stop = stays and steps != passed and peek(codes, number) == Code.STOP
                if may_stop and is_needed(a, mem, token, number, 1, value, firings, steps):
                    why = Why.STOP
                    break
                stayed = True
                if JOURNAL:
                    note_stay(a, r, token, value, position, Head.ENDS * (ahead == 1))
                poke(mem, state, bits)
                poke(mem, frame + peek(port, PORT.WAIT), value)
                waiting += 1
                store = max(store, waiting)
                if position == 0:
                    head += 1
                elif position != length - 1:
                    head = take(ring, mask, head, length, position)
                length -= 1
            else:
                code, needs, special = peek(codes, number), peek(node, NODE.NEEDS), peek(node, NODE.SPECIAL)
                may_stop = code == Code.STOP and steps != passed and kind == Kind.NOTHING
                if code == Code.STOP:
                    code = peek(node, NODE.CODE)
                if careful and firings >= firings_limit and code != Code.LEAVE:
                    why = Why.FIRINGS
                    break
                begin, end, begin_2, end_2, out_2 = peek(node, NODE.FIRST), peek(node, NODE.SECOND), 0, 0, 0
                target, after, held = frame, 0, False
                poke(mem, SCRATCH, value)
                out = operand(mem, frame, peek(port, PORT.A))
                if kind != Kind.NOTHING:
                    out, out_2 = peek(given, Given.FIRST), peek(given, Given.SECOND)
                    if kind == Kind.TWO:
                        begin_2, end_2 = end, peek(node, NODE.END)
                    elif kind != Kind.ONE:
                        end = begin
                elif code >= FIRST:
                    second = operand(mem, frame, peek(port, PORT.B))
                    if code >= FIRST_TRAPPING and traps(code, out, second):
                        why = Why.STOP if may_stop else Why.LEAVE
                        break
                    out = compute(code, out, second, operand(mem, frame, peek(port, PORT.C)))
                    if special and peek(node, NODE.CAST):
                        out = cast(peek(node, NODE.CAST), out)
                elif code == Code.PASS:
                    if special and peek(node, NODE.CAST):
                        out = cast(peek(node, NODE.CAST), out)
                elif code == Code.SWITCH:
                    if operand(mem, frame, peek(port, PORT.B)) == 0:
                        begin, end = end, peek(node, NODE.END)
                elif code == Code.CALL:
                    after, target = 1, entered(mem, frame, node)
                    if target == 0 and depth_of(mem, frame) >= depth_limit:
                        why = Why.DEPTH
                        break
                elif code == Code.RETURN:
                    target = parent_of(mem, frame)
                elif code == Code.NEXT:
                    after, target = 1, entered(mem, frame, node)
                    if target == 0 and depth_of(mem, frame) > depth_limit:
                        why = Why.DEPTH
                        break
                    if bounded and peek(node, NODE.BOUND):
                        held = is_held(a, mem, frame, needs, peek(node, NODE.BOUND))
                elif code == Code.EXIT:
                    target = parent_of(mem, frame)
                    begin_2, end_2, out_2 = end, peek(node, NODE.END), iteration_of(mem, frame)
                elif code == Code.REENTER:
                    after, target = 1, peek(mem, frame + peek(port, PORT.LINK))
                elif code == Code.BACK:
                    if iteration_of(mem, frame):
                        after, target = 1, peek(mem, frame + peek(port, PORT.LINK))
                    else:
                        begin, end, target = end, peek(node, NODE.END), parent_of(mem, frame)
                        if peek(node, NODE.ROUTE_SECOND) >= 0 and end > begin:
                            route = peek(node, NODE.ROUTE_SECOND) + site_of(mem, target) << 1
                            begin, end = peek(peek(a, A.ROUTES), route), peek(peek(a, A.ROUTES), route + 1)
                elif code == Code.LEAVE:
                    why = Why.STOP if may_stop else Why.LEAVE
                    break
                if may_stop and is_needed(a, mem, token, number, 0, out, firings, steps):
                    why = Why.STOP
                    break
                if special and target:
                    # S10: what feeds returns goes to that of the site on top of its tag, and to no other
                    if peek(node, NODE.ROUTE) >= 0 and end > begin:
                        route = peek(node, NODE.ROUTE) + site_of(mem, target) << 1
                        begin, end = peek(peek(a, A.ROUTES), route), peek(peek(a, A.ROUTES), route + 1)
                    if peek(node, NODE.ROUTE_SECOND) >= 0 and end_2 > begin_2:
                        route = peek(node, NODE.ROUTE_SECOND) + site_of(mem, target) << 1
                        begin_2, end_2 = peek(peek(a, A.ROUTES), route), peek(peek(a, A.ROUTES), route + 1)
                sent = end - begin + end_2 - begin_2
                if careful and length + waiting + others + sent - needs > tokens_limit:
                    why = Why.TOKENS
                    break
                # Nothing has changed so far; from here on nothing fails.
                if position == 0:
                    head += 1
                elif position != length - 1:
                    head = take(ring, mask, head, length, position)
                length -= 1
                if JOURNAL:
                    flags = Head.ENDS * (ahead == 1) + Head.GIVEN * (kind != Kind.NOTHING)
                if kind == Kind.PARKED:
                    if JOURNAL:
                        note_stay(a, r, token, value, position, flags)
                    poke(r, R.PARKED, peek(r, R.PARKED) + 1)
                    others += 1
                    kind, stayed = Kind.NOTHING, True
                else:
                    poke(mem, state, bits & ~full | fired)
                    waiting -= needs - 1
                    firings += 1
                    poke(counts, number, peek(counts, number) + 1)
                    if JOURNAL:
                        flags += Head.OPENED * (target == 0) + Head.IS_HELD * held
                        outputs = kind if kind != Kind.NONE else 0
                        if kind == Kind.NOTHING:
                            outputs = 2 if code == Code.EXIT else 1
                        flags += outputs << Head.OUTPUTS
                    if target == 0:
                        target = opened_by(a, r, mem, frame, node, code, header)
                    if peek(port, PORT.LINK) and (code == Code.NEXT or code == Code.EXIT):
                        poke(mem, target + peek(port, PORT.LINK), frame)
                    if JOURNAL:
                        note_firing(
                            a, r, mem, node, port, token, value, position, flags, target,
                            begin << 32 | end, out, begin_2 << 32 | end_2, out_2,
                        )  # fmt: skip
                    # S3: outputs, then edges, in order
                    high = target << PORT_BITS
                    if held:
                        for edge in range(begin, end):
                            hold(a, r, mem, target, high | peek(edges, edge), out, steps + 1)
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
                    left = peek(mem, frame + Header.COUNTS) - needs
                    if code == Code.RETURN or code == Code.RESULT:
                        left += LEAVING - 1
                    if target == frame:
                        left += sent
                    elif after:
                        poke(mem, target + Header.COUNTS, peek(mem, target + Header.COUNTS) + COMING + sent - 1)
                    else:
                        poke(mem, target + Header.COUNTS, peek(mem, target + Header.COUNTS) + sent)
                    if special:
                        boxed, refs = peek(node, NODE.BOXED), peek(a, A.REFERENCES)
                        if boxed & 1 and (kind == Kind.NOTHING or kind == Kind.ONE or kind == Kind.TWO):
                            taken = 0 if kind != Kind.NOTHING or boxed & 4 else 1
                            released(a, r, refs, out, sent - (end_2 - begin_2) - taken + (code == Code.RESULT))
                        if boxed & 2:
                            released(a, r, refs, value, -1)
                    if code == Code.RESULT:
                        results, place = peek(a, A.RESULTS), peek(node, NODE.SITE) << 1
                        poke(results, place, 1)
                        poke(results, place + 1, out)
                        poke(r, R.CAME, peek(r, R.CAME) + 1)
                    if kind != Kind.NOTHING:
                        for each in range(peek(given, Given.WOKEN)):
                            at = (head + length & mask) << 1
                            poke(ring, at, peek(peek(a, A.WOKEN), each << 1))
                            poke(ring, at + 1, peek(peek(a, A.WOKEN), (each << 1) + 1))
                            length += 1
                        poke(r, R.PARKED, peek(r, R.PARKED) - peek(given, Given.WOKEN))
                        others -= peek(given, Given.WOKEN)
                        kind = Kind.NOTHING
                    poke(mem, frame + Header.COUNTS, left)
                    if bounded:
                        if sent and not held:
                            busier(mem, target, sent)
                        found = due(a, mem, frame, needs)
                        if clocked:
                            found = due_at_wave(a, mem, target if sent else 0) if ahead == 1 else 0
                        for each in range(found):
                            let_go(a, r, mem, peek(peek(a, A.DUE), each), (head + length & mask) << 1)
                            length += 1
                        others -= found
                    if sent:
                        flight = max(flight, length)
                    if (left & PENDING) == 0:
                        closed(a, r, mem, frame, header)
                    if code == Code.RESULT and peek(r, R.CAME) == peek(o, Options.ENOUGH):
                        why = Why.RESULT
                        sure = 0
            if stayed and bounded and clocked and ahead == 1:
                found = due_at_wave(a, mem, 0)
                for each in range(found):
                    let_go(a, r, mem, peek(peek(a, A.DUE), each), (head + length & mask) << 1)
                    length += 1
                others -= found
            steps += 1
            ahead -= 1
            if ahead == 0:
                ahead = length
                if clocked:
                    poke(profile, peek(r, R.WAVES), firings - peek(r, R.BEFORE) | waiting << 32)
                    poke(r, R.WAVES, peek(r, R.WAVES) + 1)
                    poke(r, R.BEFORE, firings)
    poke(r, R.HEAD, head & mask)
    poke(r, R.LENGTH, length)
    poke(r, R.AHEAD, ahead)
    poke(r, R.WAITING, waiting)
    poke(r, R.FIRINGS, firings)
    poke(r, R.STEPS, steps)
    poke(r, R.LARGEST_STORE, store)
    poke(r, R.LARGEST_FLIGHT, flight)
    poke(r, R.POSITION, position)
    return why
