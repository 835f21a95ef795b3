"""The journal of a run: what each step did, as words, in the part of Python that numba compiles. `events` reads them.

Only the machine that keeps events is compiled with this: `load` says how. A step is an item that says which token was
delivered, and whether its node fired; then come the items of the held tokens that it released, and those of the
activations that it closed, with what the frames say that are used again from then on. `Item`, `Head` and `Noted`
have their layout.
"""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

from ...image.image import LOW_BITS, NODE, PORT, PORT_BITS, Header
from ...image.opcodes import Code
from ..jit.memory import peek, poke
from .registers import A, Head, Held, Item, Noted, Options, R
from .rows import ROW


def journal_room(a: Any, o: Any, r: Any) -> Any:
    """How many steps surely fit into the journal, whatever they close and release."""
    closing, releasing = peek(r, R.OPEN) * peek(o, Options.CLOSING), peek(r, R.HOLDING) * Noted.RELEASED_WORDS
    left = peek(a, A.JOURNAL_SIZE) - peek(r, R.NOTED) - closing - releasing
    return left // peek(o, Options.NOTING)


def note_stay(a: Any, r: Any, token: Any, value: Any, position: Any, flags: Any) -> None:
    """A token that made nothing fire."""
    journal = peek(a, A.JOURNAL) + (peek(r, R.NOTED) << 3)
    poke(journal, 0, position << Head.SHIFT | flags | Item.STAYED)
    poke(journal, Noted.TOKEN, token)
    poke(journal, Noted.VALUE, value)
    poke(r, R.NOTED, peek(r, R.NOTED) + Noted.STAYED_WORDS)


def note_firing(
    a: Any, r: Any, mem: Any, node: Any, port: Any, token: Any, value: Any, position: Any, flags: Any, target: Any,
    first: Any, out: Any, second: Any, out_2: Any,
) -> None:  # fmt: skip
    """A firing, and where its edges begin and end, of each output; its other operands come from where they waited."""
    journal = peek(a, A.JOURNAL) + (peek(r, R.NOTED) << 3)
    poke(journal, Noted.TOKEN, token)
    poke(journal, Noted.VALUE, value)
    poke(journal, Noted.TARGET, target)
    poke(journal, Noted.FIRST, first)
    poke(journal, Noted.OUT, out)
    poke(journal, Noted.SECOND, second)
    poke(journal, Noted.OUT_SECOND, out_2)
    needs, others = peek(node, NODE.NEEDS), 0
    if needs == 2:
        others = 1
        poke(journal, Noted.FIRED_WORDS, peek(mem, (token >> PORT_BITS) + peek(port, PORT.WAIT)))
    elif needs > 2:
        bit, full, at = peek(port, PORT.BIT), peek(node, NODE.FULL), (token >> PORT_BITS) + peek(port, PORT.WAIT)
        bit >>= 1
        while bit & full:
            bit >>= 1
            at -= 1
        others = needs
        for each in range(needs):
            poke(journal, Noted.FIRED_WORDS + each, peek(mem, at + each))
    poke(journal, 0, position << Head.SHIFT | others << Head.OTHERS | flags | Item.FIRED)
    poke(r, R.NOTED, peek(r, R.NOTED) + Noted.FIRED_WORDS + others)


def note_plain(
    a: Any, r: Any, mem: Any, row: Any, token: Any, value: Any, position: Any, flags: Any, target: Any, second: Any,
    out: Any,
) -> None:  # fmt: skip
    """A firing of `plain`, which knows edges by other numbers, and does not ask for what an exit sends nowhere."""
    node = peek(a, A.NODES) + (peek(row, ROW.NUMBER) * len(NODE) << 3)
    port = peek(a, A.PORTS) + ((token & (1 << PORT_BITS) - 1) * len(PORT) << 3)
    begin, end, outputs, out_2 = peek(node, NODE.FIRST), peek(node, NODE.SECOND), 1, 0
    if peek(row, ROW.CODE) == Code.SWITCH and second == 0:
        begin, end = end, peek(node, NODE.END)
    elif peek(row, ROW.CODE) == Code.EXIT:
        outputs, out_2 = 2, peek(mem, (token >> PORT_BITS) + Header.WHEN) >> LOW_BITS
    if peek(node, NODE.ROUTE) >= 0 and end > begin:
        site = peek(mem, target + Header.ABOVE) & (1 << LOW_BITS) - 1
        route = peek(a, A.ROUTES) + (peek(node, NODE.ROUTE) + site << 4)
        begin, end = peek(route, 0), peek(route, 1)
    flags |= outputs << Head.OUTPUTS
    note_firing(a, r, mem, node, port, token, value, position, flags, target, begin << 32 | end, out, 0, out_2)


def note_released(a: Any, r: Any, held: Any) -> None:
    """A held token that joins the flight; `held` is where its row begins."""
    journal = peek(a, A.JOURNAL) + (peek(r, R.NOTED) << 3)
    poke(journal, 0, Item.RELEASED)
    poke(journal, Noted.TOKEN, peek(held, Held.TOKEN))
    poke(journal, Noted.VALUE, peek(held, Held.VALUE))
    poke(journal, Noted.STEP, peek(held, Held.STEP))
    poke(r, R.NOTED, peek(r, R.NOTED) + Noted.RELEASED_WORDS)


def note_closed(a: Any, r: Any, mem: Any, frame: Any, scope: Any, header: Any) -> None:
    """An activation that closes: where it was, and what has fired in it."""
    journal = peek(a, A.JOURNAL) + (peek(r, R.NOTED) << 3)
    count = peek(peek(a, A.STATES), scope)
    poke(journal, 0, count << Head.SHIFT | Item.CLOSED)
    poke(journal, Noted.FRAME, frame)
    poke(journal, Noted.ABOVE, peek(mem, frame + Header.ABOVE))
    poke(journal, Noted.WHEN, peek(mem, frame + Header.WHEN))
    for each in range(count):
        poke(journal, Noted.CLOSED_WORDS + each, peek(mem, frame + header + each))
    poke(r, R.NOTED, peek(r, R.NOTED) + Noted.CLOSED_WORDS + count)
