"""One wave, as kernels of a token a thread that run one after the other; the part of Python that numba compiles.

    arrive   each token sets its bit; of those that come to one node in this wave, the last in the flight is remembered
    settle   that one fires, if all operands are there; others lay down their values where operands wait
    fire     what fires, computes, and says how many tokens it will send, and whether an activation has to be opened
    undo     where something traps: as before the wave, which is then made by another machine
    opening  open those activations, from the end of memory on
    count    the places of what is sent: each thread adds up some tokens that lie side by side
    total    a thread a row: sums over those
    send     into the next flight, and the counts of activations
    close    activations in which nothing is pending, and those around them (S11)
    tick     one thread: the clock

A kernel reads only what an earlier one has written, or atomically; so the next flight, in the order of the tokens that
completed nodes, is the one that the reference has under `waves` after as many steps.

`load` makes this text into kernels, with numbers for the names of columns and registers.
"""

# mypy: ignore-errors
from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from ...image.image import COMING, LEAVING, LOW_BITS, NODE, PORT, PORT_BITS, SCOPE, SCRATCH, SITE, TAGGED, Header
from ...image.opcodes import FIRST, Code, first_trapping
from ..fast.registers import R

if TYPE_CHECKING:
    from numba import cuda

    def compute(code: int, a: int, b: int, c: int) -> int: ...
    def cast(code: int, word: int) -> int: ...
    def traps(code: int, a: int, b: int) -> bool: ...


class Work(IntEnum):
    """What the kernels of a wave tell each other of a token."""

    FRAME = 0
    PORT = 1
    FIRES = 2
    OPENS = 3
    """Whether it opens the activation that it sends to."""
    TARGET = 4
    """The frame that it sends to; 0 where the place that the node has for it knows."""
    OUT = 5
    OUT_2 = 6
    BEGIN = 7
    END = 8
    BEGIN_2 = 9
    END_2 = 10


KERNELS = ("arrive", "settle", "fire", "undo", "opening", "count", "total", "send", "close", "tick")
SENT = 0
"""The row of `sums` that counts tokens sent."""
WAITS = 1
"""And of those that wait: more, or fewer."""
SHARE = 256
"""How many tokens a thread adds up."""
BROKEN = 0
"""What `told` says: whether S4 was breached, which no graph that keeps the rules does."""
TRAPPED = 1

# Compiled from here on.
FIRST_TRAPPING = first_trapping()
LOW = (1 << LOW_BITS) - 1
PENDING = (1 << 32) - 1
PORT_MASK = (1 << PORT_BITS) - 1
OWN = ~SCRATCH
"""The place of the operand that came last."""


def operand(mem: Any, frame: Any, place: Any, own: Any) -> Any:
    """What lies at the place of an operand: a word of the frame, or, complemented, of memory."""
    if place == OWN:
        return own
    return mem[~place] if place < 0 else mem[frame + place]


def arrive(r: Any, work: Any, mem: Any, latest: Any, ring: Any, nodes: Any, ports: Any, joints: Any, told: Any):
    """`joints` has a word of the frame for each node with several operands, that is no other's; `latest` the step that
    delivers the last token there: in a frame steps only grow, and when one is opened it is cleared."""
    g = cuda.grid(1)
    if g >= r[R.LENGTH]:
        return
    token = ring[(r[R.HEAD] + g) & (ring.shape[0] - 1), 0]
    frame, port = token >> PORT_BITS, token & PORT_MASK
    number = ports[port, PORT.NODE]
    full, fired = nodes[number, NODE.FULL], nodes[number, NODE.FIRED]
    bit = ports[port, PORT.BIT] if full else fired
    before = cuda.atomic.or_(mem, frame + nodes[number, NODE.STATE], bit)
    if before & (bit | fired):
        told[BROKEN] = 1
    if full:
        cuda.atomic.max(latest, frame + joints[number], r[R.STEPS] + g + 1)
    work[Work.FRAME, g] = frame
    work[Work.PORT, g] = port


def settle(r: Any, work: Any, mem: Any, latest: Any, ring: Any, nodes: Any, ports: Any, joints: Any, sums: Any):
    g = cuda.grid(1)
    if g >= r[R.LENGTH]:
        return
    frame, port = work[Work.FRAME, g], work[Work.PORT, g]
    number = ports[port, PORT.NODE]
    full, fires = nodes[number, NODE.FULL], 1
    if full:
        last = latest[frame + joints[number]] == r[R.STEPS] + g + 1
        fires = 1 if last and mem[frame + nodes[number, NODE.STATE]] & full == full else 0
    if not fires:
        mem[frame + ports[port, PORT.WAIT]] = ring[(r[R.HEAD] + g) & (ring.shape[0] - 1), 1]
    work[Work.FIRES, g] = fires
    work[Work.OPENS, g] = 0
    sums[SENT, g] = 0
    sums[WAITS, g] = 1 - fires * nodes[number, NODE.NEEDS]


def fire(
    r: Any, work: Any, mem: Any, latest: Any, ring: Any, nodes: Any, ports: Any, codes: Any, routes: Any, sums: Any,
    told: Any,
):  # fmt: skip
    g = cuda.grid(1)
    if g >= r[R.LENGTH] or not work[Work.FIRES, g]:
        return
    frame, port = work[Work.FRAME, g], work[Work.PORT, g]
    value = ring[(r[R.HEAD] + g) & (ring.shape[0] - 1), 1]
    number = ports[port, PORT.NODE]
    code, casts, place = codes[number], nodes[number, NODE.CAST], nodes[number, NODE.PLACE]
    begin, end, begin_2, end_2, out_2 = nodes[number, NODE.FIRST], nodes[number, NODE.SECOND], 0, 0, 0
    target = frame
    out = operand(mem, frame, ports[port, PORT.A], value)
    if code >= FIRST:
        second = operand(mem, frame, ports[port, PORT.B], value)
        if code >= FIRST_TRAPPING and traps(code, out, second):
            told[TRAPPED] = 1
            return
        out = compute(code, out, second, operand(mem, frame, ports[port, PORT.C], value))
    if casts and (code >= FIRST or code == Code.PASS):
        out = cast(casts, out)
    if code == Code.SWITCH:
        if operand(mem, frame, ports[port, PORT.B], value) == 0:
            begin, end = end, nodes[number, NODE.END]
    elif code == Code.CALL or code == Code.NEXT:
        target = mem[frame + place] if place else 0
        if target == 0:
            # Of those that send to an activation which is not open, one opens it.
            step = r[R.STEPS] + 1
            work[Work.OPENS, g] = 1 if not place or cuda.atomic.max(latest, frame + place, step) < step else 0
    elif code == Code.RETURN or code == Code.EXIT:
        target = mem[frame + Header.ABOVE] >> LOW_BITS
        if code == Code.EXIT:
            begin_2, end_2 = end, nodes[number, NODE.END]
            out_2 = mem[frame + Header.WHEN] >> LOW_BITS
    if target:
        # S10: what feeds returns goes to that of the site on top of its tag, and to no other
        site = mem[target + Header.ABOVE] & LOW
        if nodes[number, NODE.ROUTE] >= 0 and end > begin:
            route = nodes[number, NODE.ROUTE] + site
            begin, end = routes[route, 0], routes[route, 1]
        if nodes[number, NODE.ROUTE_SECOND] >= 0 and end_2 > begin_2:
            route = nodes[number, NODE.ROUTE_SECOND] + site
            begin_2, end_2 = routes[route, 0], routes[route, 1]
    work[Work.TARGET, g] = target
    work[Work.OUT, g] = out
    work[Work.OUT_2, g] = out_2
    work[Work.BEGIN, g] = begin
    work[Work.END, g] = end
    work[Work.BEGIN_2, g] = begin_2
    work[Work.END_2, g] = end_2
    sums[SENT, g] = end - begin + end_2 - begin_2


def undo(r: Any, work: Any, mem: Any, nodes: Any, ports: Any):
    """Take back the bits; nothing else that counts has changed."""
    g = cuda.grid(1)
    if g >= r[R.LENGTH]:
        return
    port = work[Work.PORT, g]
    number = ports[port, PORT.NODE]
    bit = ports[port, PORT.BIT] if nodes[number, NODE.FULL] else nodes[number, NODE.FIRED]
    cuda.atomic.add(mem, work[Work.FRAME, g] + nodes[number, NODE.STATE], -bit)


def opening(
    r: Any, work: Any, mem: Any, latest: Any, nodes: Any, ports: Any, codes: Any, sites: Any, scopes: Any, begun: Any,
    header: Any,
):  # fmt: skip
    g = cuda.grid(1)
    if g >= r[R.LENGTH] or not work[Work.FIRES, g] or not work[Work.OPENS, g]:
        return
    frame, number = work[Work.FRAME, g], ports[work[Work.PORT, g], PORT.NODE]
    site = nodes[number, NODE.SITE]
    parent, iteration = frame, 0
    if codes[number] == Code.NEXT:
        parent, iteration = mem[frame + Header.ABOVE] >> LOW_BITS, (mem[frame + Header.WHEN] >> LOW_BITS) + 1
    scope = sites[site, SITE.SCOPE]
    made = cuda.atomic.add(r, R.TOP, scopes[scope, SCOPE.SIZE])
    for word in range(made + header, made + scopes[scope, SCOPE.CLEAR]):
        mem[word] = 0
    for word in range(made, made + scopes[scope, SCOPE.SIZE]):
        latest[word] = 0
    depth = (mem[parent + Header.WHEN] & LOW) + 1
    mem[made + Header.ABOVE] = parent << LOW_BITS | site
    mem[made + Header.WHEN] = iteration << LOW_BITS | depth
    mem[made + Header.COUNTS] = sites[site, SITE.COMING] + sites[site, SITE.LEAVING]
    cuda.atomic.add(mem, parent + Header.COUNTS, 1)
    cuda.atomic.add(r, R.OPEN, 1)
    cuda.atomic.add(begun, site, 1)
    cuda.atomic.max(r, R.DEEPEST, depth)
    work[Work.TARGET, g] = made
    if nodes[number, NODE.PLACE]:
        mem[frame + nodes[number, NODE.PLACE]] = made


def count(r: Any, sums: Any, totals: Any):
    """A thread adds up the tokens of a share, those up to each, by row."""
    share = cuda.grid(1)
    begin, end = share * SHARE, min((share + 1) * SHARE, r[R.LENGTH])
    if begin >= end:
        return
    for row in range(2):
        found = 0
        for g in range(begin, end):
            found += sums[row, g]
            sums[row, g] = found
        totals[row, share] = found


def total(totals: Any, shares: Any):
    row = cuda.grid(1)
    if row > 1:
        return
    found = 0
    for share in range(shares):
        found += totals[row, share]
        totals[row, share] = found


def up_to(sums: Any, totals: Any, row: Any, g: Any):
    """The sum over the tokens up to this one."""
    share = g // SHARE
    return sums[row, g] + (totals[row, share - 1] if share > 0 else 0)


def send(
    r: Any, work: Any, mem: Any, ring: Any, nodes: Any, ports: Any, codes: Any, edges: Any, sums: Any, totals: Any,
    counts: Any, results: Any,
):  # fmt: skip
    g = cuda.grid(1)
    if g >= r[R.LENGTH]:
        return
    if not work[Work.FIRES, g]:
        cuda.atomic.max(r, R.LARGEST_STORE, r[R.WAITING] + up_to(sums, totals, WAITS, g))
        return
    frame, number, target = work[Work.FRAME, g], ports[work[Work.PORT, g], PORT.NODE], work[Work.TARGET, g]
    code, needs, mask = codes[number], nodes[number, NODE.NEEDS], ring.shape[0] - 1
    if target == 0:
        target = mem[frame + nodes[number, NODE.PLACE]]
    begin, end, begin_2, end_2 = work[Work.BEGIN, g], work[Work.END, g], work[Work.BEGIN_2, g], work[Work.END_2, g]
    sent = end - begin + end_2 - begin_2
    at = r[R.HEAD] + r[R.LENGTH] + up_to(sums, totals, SENT, g) - sent
    for edge in range(begin, end):
        ring[at & mask, 0] = target << PORT_BITS | edges[edge]
        ring[at & mask, 1] = work[Work.OUT, g]
        at += 1
    for edge in range(begin_2, end_2):
        ring[at & mask, 0] = target << PORT_BITS | edges[edge]
        ring[at & mask, 1] = work[Work.OUT_2, g]
        at += 1
    if nodes[number, NODE.FULL]:
        # All bits of the operands are set, and that of the firing is not.
        cuda.atomic.add(mem, frame + nodes[number, NODE.STATE], nodes[number, NODE.FIRED] - nodes[number, NODE.FULL])
    pending = -needs
    if code == Code.RETURN or code == Code.RESULT:
        pending += LEAVING - 1
    if code == Code.CALL or code == Code.NEXT:
        cuda.atomic.add(mem, target + Header.COUNTS, COMING - 1)
    cuda.atomic.add(mem, target + Header.COUNTS, sent)
    cuda.atomic.add(mem, frame + Header.COUNTS, pending)
    cuda.atomic.add(counts, number, 1)
    cuda.atomic.add(r, R.FIRINGS, 1)
    if sent:
        cuda.atomic.max(r, R.LARGEST_FLIGHT, r[R.LENGTH] - (g + 1) + up_to(sums, totals, SENT, g))
    if code == Code.RESULT:
        results[nodes[number, NODE.SITE], 0] = 1
        results[nodes[number, NODE.SITE], 1] = work[Work.OUT, g]
        cuda.atomic.add(r, R.CAME, 1)


def close(r: Any, work: Any, mem: Any, lost: Any):
    """Whoever changes the word says when, closes it, and nobody else; the frame is not used again."""
    g = cuda.grid(1)
    if g >= r[R.LENGTH] or not work[Work.FIRES, g]:
        return
    frame = work[Work.FRAME, g]
    left = mem[frame + Header.COUNTS]
    while frame and left & PENDING == 0:
        if cuda.atomic.exch(mem, frame + Header.WHEN, -1) < 0:
            return
        if left & TAGGED:
            lost[cuda.atomic.add(r, R.LOST, 1)] = frame
        cuda.atomic.add(r, R.OPEN, -1)
        frame = mem[frame + Header.ABOVE] >> LOW_BITS
        if frame:
            left = cuda.atomic.add(mem, frame + Header.COUNTS, -1) - 1


def tick(r: Any, sums: Any, totals: Any, profile: Any, mask: Any):
    if cuda.grid(1) > 0:
        return
    length = r[R.LENGTH]
    r[R.HEAD] = (r[R.HEAD] + length) & mask
    r[R.LENGTH] = up_to(sums, totals, SENT, length - 1)
    r[R.WAITING] += up_to(sums, totals, WAITS, length - 1)
    r[R.STEPS] += length
    r[R.AHEAD] = r[R.LENGTH]
    profile[r[R.WAVES], 0] = r[R.FIRINGS] - r[R.BEFORE]
    profile[r[R.WAVES], 1] = r[R.WAITING]
    r[R.WAVES] += 1
    r[R.BEFORE] = r[R.FIRINGS]
