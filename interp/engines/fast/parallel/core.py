"""One core of several that run a program, in the part of Python that numba compiles: it delivers the tokens it has,
gives activations to cores that ask for one, and asks where it has none.

Each core has memory of its own, which no other reads. An activation that another core has is a proxy: a frame whose
bits are all set, so that `plain` stops at any token for it, before anything has changed; the token is sent then as a
message. Of what is around an activation that was given away there is a proxy, too, where it went to.
"""

# mypy: ignore-errors
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....image.image import COMING, LINE, LOW_BITS, NODE, PORT_BITS, SITE, Header
from ...jit.memory import look, peek, poke, post, swap
from ..deliver_scalar import NODE_BYTES, PORT_MASK, ROW_BYTES
from ..frames import PENDING, SITE_WORDS, closed, closed_proxy, depth_of, opened, parent_of, site_of
from ..registers import PROXY, A, Options, R, Why
from ..rows import ROW
from ..shared import ALL, MESSAGE, ONE, Messages
from .messages import is_all_quiet, is_full, line_of, message_of, ring_of, write_message

if TYPE_CHECKING:

    def youngest(a: int, sure: int, header: int) -> int: ...


LEAST = 256
"""For how many steps there is to be room: a store that has room for fewer than twice as many can grow."""
LOOKS = 32_000
"""At how many rings an idle core looks before it sleeps: for 25 us, since a burst takes 20."""
SELDOM = 200
"""How often core 0 looks at its own rings before it looks at all, as many as there are pairs of cores."""
OLDEST = 128
"""Among how many of the oldest tokens one is looked for that opens an activation."""
TRIES = 64
"""How many are delivered at most to come to one."""
PATIENT = 15
"""After how many bursts at most it is tried again."""
SMALL, LONG = 1000, 63
"""Of how many firings an activation is worth its messages, and how many pauses are made at most: in each a core looks
for messages, and sleeps once."""


def run(a: Any, budget: Any, header: Any) -> Any:
    """Deliver tokens until all cores are quiet, so many bursts are done, or something else is to be done first."""
    r, c = peek(a, A.REGISTERS), peek(a, A.SHARED)
    mem, core = peek(a, A.MEMORY), peek(r, R.CORE)
    while budget > 0:
        budget -= 1
        if look(c, ALL.STOP):
            return Why.STOP
        if room(a) < LEAST:
            return Why.ROOM
        if not read_messages(a, r, mem, c, core, header):
            return Why.ROOM
        if peek(r, R.LENGTH):
            withdraw(r, mem, c, core)
            offer(a, r, mem, c, core, header)
            sure = min(room(a), peek(c, ALL.BURST))
            if sure > 0 and youngest(a, sure, header) < sure and peek(r, R.LENGTH) and not send(a, r, mem):
                return Why.LEAVE
        tell(a, r, mem)
        if peek(r, R.LENGTH) == 0 and peek(r, R.CLOSED_PROXIES) == 0:
            why = wait(a, r, c, core, header)
            if why != Why.BUDGET:
                return why
    return Why.BUDGET


def room(a: Any) -> Any:
    """How many steps surely fit into all arrays."""
    o, r = peek(a, A.OPTIONS), peek(a, A.REGISTERS)
    steps = (peek(a, A.MEMORY_SIZE) - peek(r, R.TOP)) // peek(o, Options.LARGEST) - 2
    steps = min(steps, (peek(a, A.RING_SIZE) - peek(r, R.LENGTH)) // peek(o, Options.FAN) - 2)
    return min(steps, peek(a, A.PROFILE_SIZE) - peek(r, R.WAVES))


def put(a: Any, r: Any, token: Any, value: Any, wave: Any) -> None:
    """A token more in flight, the youngest."""
    at = peek(r, R.HEAD) + peek(r, R.LENGTH) & peek(a, A.RING_SIZE) - 1
    poke(peek(a, A.RING), at << 1, token)
    poke(peek(a, A.RING), (at << 1) + 1, value)
    poke(peek(a, A.WAVES), at, wave)
    poke(r, R.LENGTH, peek(r, R.LENGTH) + 1)
    poke(r, R.WAVES, max(peek(r, R.WAVES), wave))


def new_proxy(a: Any, r: Any, mem: Any, header: Any) -> Any:
    """A proxy of nothing yet. All are as large as the largest frame."""
    proxy, size = peek(r, R.FREE_PROXIES), peek(peek(a, A.OPTIONS), Options.LARGEST)
    if proxy:
        poke(r, R.FREE_PROXIES, parent_of(mem, proxy))
        return proxy
    proxy = peek(r, R.TOP)
    poke(r, R.TOP, proxy + size)
    for word in range(proxy + header, proxy + size):
        poke(mem, word, -1)
    return proxy


def free_proxy(r: Any, mem: Any, proxy: Any) -> None:
    poke(mem, proxy + Header.ABOVE, peek(r, R.FREE_PROXIES) << LOW_BITS)
    poke(mem, proxy + Header.WHEN, -1)
    poke(r, R.FREE_PROXIES, proxy)


def link(a: Any, proxy: Any, core: Any, frame: Any, home: Any, child: Any) -> None:
    words = peek(a, A.WAITS)
    poke(words, proxy + PROXY.CORE, core)
    poke(words, proxy + PROXY.FRAME, frame)
    poke(words, proxy + PROXY.HOME, home)
    poke(words, proxy + PROXY.CHILD, child)


def read_messages(a: Any, r: Any, mem: Any, c: Any, core: Any, header: Any) -> Any:
    """Read all messages that have come; whether there was room for them."""
    for sender in range(peek(c, ALL.CORES)):
        ring = ring_of(c, sender, core)
        number, end = peek(c, ring), look(c, ring + LINE)
        while number < end:
            if room(a) < 1:
                return False
            post(c, line_of(core) + ONE.IDLE, 0)
            read_message(a, r, mem, message_of(c, sender, core, number), sender, header)
            number += 1
            post(c, ring, number)
    return True


def read_message(a: Any, r: Any, mem: Any, message: Any, sender: Any, header: Any) -> None:
    kind, to = peek(message, MESSAGE.KIND), peek(message, MESSAGE.TO)
    if kind == Messages.OPEN:
        poke(mem, to + Header.ABOVE, peek(message, MESSAGE.AROUND))
        poke(mem, to + Header.WHEN, peek(message, MESSAGE.DEPTH))
        poke(mem, to + Header.COUNTS, 0)
        poke(r, R.ASKING, 0)
        began(r)
        child = opened(a, r, mem, to, peek(message, MESSAGE.SITE), 0, header)
        link(a, to, sender, peek(message, MESSAGE.FRAME), peek(message, MESSAGE.HOME), child)
    elif kind == Messages.CLOSED:
        parent = parent_of(mem, to)
        free_proxy(r, mem, to)
        left_open(a, r, mem, parent, header)
    else:
        by = 1
        if kind == Messages.ARGUMENT:
            to, by = peek(peek(a, A.WAITS), to + PROXY.CHILD), COMING
        poke(mem, to + Header.COUNTS, peek(mem, to + Header.COUNTS) + by)
        token = to << PORT_BITS | peek(message, MESSAGE.PORT)
        put(a, r, token, peek(message, MESSAGE.VALUE), peek(message, MESSAGE.WAVE))


def began(r: Any) -> None:
    """An activation has come. Where the last one was small, longer and longer pauses are made before another is asked
    for: a chain of calls, of which there is one at a time, would go from core to core."""
    is_small = peek(r, R.FIRINGS) - peek(r, R.SINCE) < SMALL
    poke(r, R.PAUSE, min(2 * peek(r, R.PAUSE) + 1, LONG) if is_small else 0)
    poke(r, R.LEFT, peek(r, R.PAUSE))
    poke(r, R.SINCE, peek(r, R.FIRINGS))


def left_open(a: Any, r: Any, mem: Any, frame: Any, header: Any) -> None:
    """An activation has one thing less that is pending; it may have been the last."""
    counts = peek(mem, frame + Header.COUNTS) - 1
    poke(mem, frame + Header.COUNTS, counts)
    if (counts & PENDING) == 0:
        closed(a, r, mem, frame, header)


def send(a: Any, r: Any, mem: Any) -> Any:
    """Send the youngest token as a message; whether it is for a proxy. Where there is no room for messages, later."""
    at = peek(r, R.HEAD) + peek(r, R.LENGTH) - 1 & peek(a, A.RING_SIZE) - 1
    token = peek(peek(a, A.RING), at << 1)
    proxy = token >> PORT_BITS
    row = peek(a, A.ROWS) + (token & PORT_MASK) * ROW_BYTES
    if peek(mem, proxy + peek(row, ROW.STATE)) >= 0:
        return False
    words = peek(a, A.WAITS)
    core, home = peek(words, proxy + PROXY.CORE), peek(words, proxy + PROXY.HOME)
    if is_full(a, core):
        return True
    kind, value, wave = Messages.ARGUMENT, peek(peek(a, A.RING), (at << 1) + 1), peek(peek(a, A.WAVES), at)
    if home:
        kind = Messages.TOKEN
    write_message(a, core, kind, peek(words, proxy + PROXY.FRAME), token & PORT_MASK, value, wave, 0, 0)
    poke(r, R.LENGTH, peek(r, R.LENGTH) - 1)
    counts = peek(mem, proxy + Header.COUNTS) - 1
    poke(mem, proxy + Header.COUNTS, counts)
    if (counts & PENDING) == 0:
        closed_proxy(r, mem, proxy)
    return True


def tell(a: Any, r: Any, mem: Any) -> None:
    """Tell others that proxies have closed, as far as there is room for messages."""
    words = peek(a, A.WAITS)
    while peek(r, R.CLOSED_PROXIES):
        proxy = peek(r, R.CLOSED_PROXIES)
        core, home = peek(words, proxy + PROXY.CORE), peek(words, proxy + PROXY.HOME)
        if home:
            if is_full(a, core):
                return
            write_message(a, core, Messages.CLOSED, home, 0, 0, 0, 0, 0)
        poke(r, R.CLOSED_PROXIES, parent_of(mem, proxy))
        if home:
            free_proxy(r, mem, proxy)
        else:
            # the root
            poke(r, R.OPEN, peek(r, R.OPEN) - 1)


def offer(a: Any, r: Any, mem: Any, c: Any, core: Any, header: Any) -> None:
    """Give an activation to each other core that asks for one, while there are some."""
    if peek(r, R.DELAY) > 0:
        poke(r, R.DELAY, peek(r, R.DELAY) - 1)
        return
    for other in range(peek(c, ALL.CORES)):
        if other != core and look(c, line_of(other) + ONE.WANT):
            if not is_full(a, other) and give(a, r, mem, c, core, other, header):
                poke(r, R.PATIENCE, 0)
            else:
                poke(r, R.PATIENCE, min(2 * peek(r, R.PATIENCE) + 1, PATIENT))
                poke(r, R.DELAY, peek(r, R.PATIENCE))
                return


def give(a: Any, r: Any, mem: Any, c: Any, core: Any, other: Any, header: Any) -> Any:
    """Give an activation to a core that asks for one; whether there was one."""
    position = found(a, r, mem, header)
    if position < 0 or room(a) < 1:
        return False
    theirs = swap(c, line_of(other) + ONE.WANT, 0)
    if theirs == 0:
        return False
    raised(a, r, position)
    at = peek(r, R.HEAD) + peek(r, R.LENGTH) - 1 & peek(a, A.RING_SIZE) - 1
    token = peek(peek(a, A.RING), at << 1)
    frame, row = token >> PORT_BITS, peek(a, A.ROWS) + (token & PORT_MASK) * ROW_BYTES
    site = peek(peek(a, A.NODES) + peek(row, ROW.NUMBER) * NODE_BYTES, NODE.SITE)
    proxy = new_proxy(a, r, mem, header)
    poke(mem, proxy + Header.ABOVE, frame << LOW_BITS | site)
    poke(mem, proxy + Header.WHEN, 0)
    poke(mem, proxy + Header.COUNTS, peek(peek(a, A.SITES), site * SITE_WORDS + SITE.COMING) + 1)
    poke(mem, frame + Header.COUNTS, peek(mem, frame + Header.COUNTS) + 1)
    link(a, proxy, other, theirs, 0, 0)
    write_message(a, other, Messages.OPEN, theirs, site, site_of(mem, frame), depth_of(mem, frame), frame, proxy)
    poke(r, R.NEXT_PROXY, proxy)
    poke(r, R.GIVEN_AWAY, peek(r, R.GIVEN_AWAY) + 1)
    youngest(a, 1, header)
    if peek(peek(a, A.SITES), site * SITE_WORDS + SITE.COMING) > 1:
        follow(a, r, mem, header)
    return True


def follow(a: Any, r: Any, mem: Any, header: Any) -> None:
    """Deliver some of the outermost tokens: other arguments of what was given away are among them, or soon will be."""
    for _ in range(TRIES):
        if peek(r, R.LENGTH) < 2 or room(a) < 1:
            return
        raised(a, r, ~outermost(a, r, mem, False))
        if youngest(a, 1, header) == 0 and not send(a, r, mem):
            return


def found(a: Any, r: Any, mem: Any, header: Any) -> Any:
    """Which token opens an activation that may be given away, counted from the oldest; or -1. Where none does, some of
    the outermost are delivered, to come to one. The only token there is stays here."""
    for _ in range(TRIES):
        if peek(r, R.LENGTH) < 2:
            return -1
        position = outermost(a, r, mem, True)
        if position >= 0:
            return position
        if room(a) < 1:
            return -1
        raised(a, r, ~position)
        if youngest(a, 1, header) == 0:
            return -1
    return -1


def outermost(a: Any, r: Any, mem: Any, opening: Any) -> Any:
    """Of the oldest tokens that open an activation, if such are wanted, the one of the least depth, counted from the
    oldest; or, complemented, of the others. Of loops in a loop it is one of that loop."""
    ring, mask, head = peek(a, A.RING), peek(a, A.RING_SIZE) - 1, peek(r, R.HEAD)
    least, at, least_opening, found_opening = 1 << LOW_BITS, 0, 1 << LOW_BITS, -1
    for position in range(min(OLDEST, peek(r, R.LENGTH))):
        token = peek(ring, (head + position & mask) << 1)
        depth = depth_of(mem, token >> PORT_BITS)
        if depth >= least and depth >= least_opening:
            continue
        if not opens(a, mem, token):
            if depth < least:
                least, at = depth, position
        elif depth < least_opening:
            least_opening, found_opening = depth, position
    return found_opening if opening and found_opening >= 0 else ~at


def opens(a: Any, mem: Any, token: Any) -> Any:
    """Whether a token opens an activation that may be given away."""
    frame, row = token >> PORT_BITS, peek(a, A.ROWS) + (token & PORT_MASK) * ROW_BYTES
    if peek(row, ROW.GIVES) == 0 or peek(mem, frame + peek(row, ROW.STATE)) & peek(row, ROW.CLASH):
        return False
    place = peek(peek(a, A.NODES) + peek(row, ROW.NUMBER) * NODE_BYTES, NODE.PLACE)
    is_open = place != 0 and peek(mem, frame + place) != 0
    return not is_open and depth_of(mem, frame) < peek(peek(a, A.OPTIONS), Options.DEPTH)


def raised(a: Any, r: Any, position: Any) -> None:
    """Make a token the youngest."""
    ring, waves, mask, head = peek(a, A.RING), peek(a, A.WAVES), peek(a, A.RING_SIZE) - 1, peek(r, R.HEAD)
    at = head + position & mask
    token, value, wave = peek(ring, at << 1), peek(ring, (at << 1) + 1), peek(waves, at)
    for back in range(position, 0, -1):
        at, of = head + back & mask, head + back - 1 & mask
        poke(ring, at << 1, peek(ring, of << 1))
        poke(ring, (at << 1) + 1, peek(ring, (of << 1) + 1))
        poke(waves, at, peek(waves, of))
    poke(r, R.HEAD, head + 1 & mask)
    poke(r, R.LENGTH, peek(r, R.LENGTH) - 1)
    put(a, r, token, value, wave)


def withdraw(r: Any, mem: Any, c: Any, core: Any) -> None:
    """Ask for nothing more, since there is work; where an activation has been given already, it comes."""
    if peek(r, R.ASKING):
        proxy = swap(c, line_of(core) + ONE.WANT, 0)
        if proxy:
            free_proxy(r, mem, proxy)
            poke(r, R.ASKING, 0)


def wait(a: Any, r: Any, c: Any, core: Any, header: Any) -> Any:
    """Ask for an activation, and wait for messages for a while: BUDGET where some came, QUIET where all cores are."""
    mine, is_late, cores = line_of(core), peek(r, R.LEFT) == 0, peek(c, ALL.CORES)
    poke(r, R.LEFT, max(peek(r, R.LEFT) - 1, 0))
    if cores > 1 and peek(r, R.ASKING) == 0 and is_late:
        poke(r, R.ASKING, new_proxy(a, r, peek(a, A.MEMORY), header))
        post(c, mine + ONE.WANT, peek(r, R.ASKING))
    post(c, mine + ONE.IDLE, 1)
    for number in range(LOOKS // cores):
        for sender in range(cores):
            ring = ring_of(c, sender, core)
            if peek(c, ring) != look(c, ring + LINE):
                return Why.BUDGET
        if core == 0 and number % SELDOM == 0 and is_all_quiet(c):
            return Why.QUIET
    return Why.IDLE
