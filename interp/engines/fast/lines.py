"""The lines of a log, made of the words of a journal in the part of Python that numba compiles: a line takes 0.2 us,
where events that `event_log` writes take 10. `scribe` compiles this, and gives it what it reads; `b` has the addresses.

What is written is ASCII. Eight bytes are written at once, of which what is too much is written over, or beyond the end.
"""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

import numpy as np

from ...image.image import LOW_BITS, PORT_BITS
from ..jit.memory import peek, peek_unaligned, poke, poke_unaligned
from .ink import LENGTH_BITS, Does, Ink, LogNode, Member, Part, Piece, Port, Shape, Tagged
from .registers import JournalHead, JournalItem, JournalWord

PORT_MASK = (1 << PORT_BITS) - 1
LOW = (1 << LOW_BITS) - 1
LENGTH = (1 << LENGTH_BITS) - 1
HALF = (1 << 32) - 1
COMMA, OPEN, CLOSE, QUOTE, MINUS, BRACE = 44, 91, 93, 34, 45, 125
EXACT = 2**53
MANY = 10**8


def put(pool: Any, at: Any, text: Any) -> Any:
    """Write a text of the pool; where it ends."""
    begin, length = pool + (text >> LENGTH_BITS), text & LENGTH
    for byte in range(0, length, 8):
        poke_unaligned(at + byte, peek_unaligned(begin + byte))
    return at + length


def piece(b: Any, at: Any, which: Any) -> Any:
    """Write a text that is the same in every log."""
    return put(peek(b, Ink.POOL), at, peek(peek(b, Ink.PIECES), which))


def char(at: Any, code: Any) -> Any:
    poke_unaligned(at, code)
    return at + 1


def few_digits(at: Any, number: Any) -> Any:
    """A number from 0 up of at most 8 digits."""
    word, count = 0, 0
    while True:
        word = word << 8 | 48 + number % 10
        count += 1
        number //= 10
        if number == 0:
            break
    poke_unaligned(at, word)
    return at + count


def eight_digits(at: Any, number: Any) -> Any:
    """A number of at most 8 digits, with zeros before it."""
    word = 0
    for _ in range(8):
        word = word << 8 | 48 + number % 10
        number //= 10
    poke_unaligned(at, word)
    return at + 8


def digits(at: Any, number: Any) -> Any:
    """A number from 0 up."""
    if number < MANY:
        return few_digits(at, number)
    high = number // MANY
    if high < MANY:
        at = few_digits(at, high)
    else:
        at = few_digits(at, high // MANY)
        at = eight_digits(at, high % MANY)
    return eight_digits(at, number % MANY)


def unsigned_digits(at: Any, word: Any) -> Any:
    """The unsigned number that a word is."""
    if word >= 0:
        return digits(at, word)
    high = np.int64(np.uint64(word) // np.uint64(MANY))
    at = digits(at, high)
    return eight_digits(at, np.int64(np.uint64(word) - np.uint64(high) * np.uint64(MANY)))


def put_value(b: Any, at: Any, shape: Any, head: Any, word: Any) -> Any:
    """A value: of integers, those that doubles do not hold are in quotes."""
    at = put(peek(b, Ink.POOL), at, head)
    if shape == Shape.BOOL:
        return piece(b, at, Piece.TRUE if word else Piece.FALSE)
    if shape == Shape.FLOAT:
        at = put(peek(b, Ink.POOL), at, float_text(b, word))
        return char(at, BRACE)
    quoted = word > EXACT or (word < 0 if shape == Shape.UNSIGNED else word < -EXACT)
    if quoted:
        at = char(at, QUOTE)
    if shape == Shape.UNSIGNED:
        at = unsigned_digits(at, word)
    else:
        if word < 0:
            at = char(at, MINUS)
            word = -word
        at = unsigned_digits(at, word)
    if quoted:
        at = char(at, QUOTE)
    return char(at, BRACE)


def float_text(b: Any, word: Any) -> Any:
    """The text of a float, which is found by halves."""
    floats, low, high = peek(b, Ink.FLOATS), 0, peek(b, Ink.FLOAT_COUNT) - 1
    while low < high:
        middle = low + high >> 1
        if peek(floats, middle) < word:
            low = middle + 1
        else:
            high = middle
    return peek(peek(b, Ink.FLOAT_TEXTS), low)


def tag_of(b: Any, frame: Any) -> Any:
    """The row of a frame."""
    return peek(b, Ink.TAGS) + ((frame >> 3) * len(Tagged) << 3)


def put_token(b: Any, at: Any, token: Any, word: Any) -> Any:
    """A token that is in flight, or was."""
    port = peek(b, Ink.PORTS) + ((token & PORT_MASK) * len(Port) << 3)
    at = put(peek(b, Ink.POOL), at, peek(port, Port.TOKEN))
    at = digits(at, peek(tag_of(b, token >> PORT_BITS), Tagged.NUMBER))
    at = char(at, COMMA)
    at = put_value(b, at, peek(port, Port.SHAPE), peek(port, Port.VALUE), word)
    return char(at, CLOSE)


def put_opened(b: Any, at: Any, node: Any, frame: Any, target: Any) -> Any:
    """The line of a tag that an event opens."""
    mine, made, number = tag_of(b, frame), tag_of(b, target), peek(b, Ink.NEXT)
    poke(b, Ink.NEXT, number + 1)
    above, iteration = peek(mine, Tagged.NUMBER), 0
    if peek(node, LogNode.KIND) == Does.NEXT:
        above, iteration = peek(mine, Tagged.PARENT), peek(mine, Tagged.ITERATION) + 1
    poke(made, Tagged.NUMBER, number)
    poke(made, Tagged.PARENT, above)
    poke(made, Tagged.ITERATION, iteration)
    at = digits(piece(b, at, Piece.TAG), number)
    at = digits(piece(b, at, Piece.ABOVE), above)
    at = digits(piece(b, at, Piece.SITE), peek(node, LogNode.SITE))
    at = digits(piece(b, at, Piece.ITERATION), iteration)
    return piece(b, at, Piece.END)


def put_inputs(b: Any, at: Any, node: Any, item: Any) -> Any:
    """The operands by port."""
    token, others, pool = peek(item, JournalWord.TOKEN), item + (JournalWord.FIRING_WORDS << 3), peek(b, Ink.POOL)
    if peek(node, LogNode.KIND) == Does.MERGE:
        port = peek(b, Ink.PORTS) + ((token & PORT_MASK) * len(Port) << 3)
        return put_value(b, at, peek(port, Port.SHAPE), peek(port, Port.VALUE), peek(item, JournalWord.VALUE))
    begin, end, several, nth = (
        peek(node, LogNode.PARTS),
        peek(node, LogNode.PARTS_END),
        peek(node, LogNode.NEEDS) > 2,
        0,
    )
    for each in range(begin, end):
        part = peek(b, Ink.PARTS) + (each * len(Part) << 3)
        if each > begin:
            at = char(at, COMMA)
        if peek(part, Part.TEXT):
            at = put(pool, at, peek(part, Part.TEXT))
            continue
        word = peek(item, JournalWord.VALUE)
        if peek(part, Part.PORT) != token & PORT_MASK:
            word = peek(others, nth if several else 0)
        port = peek(b, Ink.PORTS) + (peek(part, Part.PORT) * len(Port) << 3)
        at = put_value(b, at, peek(port, Port.SHAPE), peek(port, Port.VALUE), word)
        nth += 1
    return at


def takes_second(b: Any, node: Any, item: Any) -> Any:
    """Whether a switch, or a back, sends to its second output."""
    if peek(node, LogNode.KIND) == Does.BACK:
        return peek(tag_of(b, peek(item, JournalWord.TOKEN) >> PORT_BITS), Tagged.ITERATION) == 0
    part = peek(b, Ink.PARTS) + ((peek(node, LogNode.PARTS) + 1) * len(Part) << 3)
    if peek(part, Part.TEXT):
        return peek(part, Part.WORD) == 0
    if peek(part, Part.PORT) == peek(item, JournalWord.TOKEN) & PORT_MASK:
        return peek(item, JournalWord.VALUE) == 0
    return peek(item, JournalWord.FIRING_WORDS) == 0


def put_outputs(b: Any, at: Any, node: Any, item: Any) -> Any:
    """The results by output."""
    count = peek(item, 0) >> JournalHead.OUTPUT_COUNT_SHIFT & 3
    if count == 0:
        return at
    kind = peek(node, LogNode.KIND)
    if (kind == Does.SWITCH or kind == Does.BACK) and takes_second(b, node, item):
        at = piece(b, at, Piece.SECOND)
    else:
        at = piece(b, at, Piece.FIRST)
    at = put_value(b, at, peek(node, LogNode.SHAPE), peek(node, LogNode.VALUE), peek(item, JournalWord.FIRST_OUTPUT))
    at = char(at, CLOSE)
    if count == 2:
        at = piece(b, char(at, COMMA), Piece.SECOND)
        at = put_value(
            b,
            at,
            peek(node, LogNode.SHAPE_SECOND),
            peek(node, LogNode.VALUE_SECOND),
            peek(item, JournalWord.SECOND_OUTPUT),
        )
        at = char(at, CLOSE)
    return at


def put_sent(b: Any, at: Any, node: Any, item: Any) -> Any:
    """The tokens that are sent."""
    if peek(node, LogNode.RESULT) and peek(item, 0) >> JournalHead.OUTPUT_COUNT_SHIFT & 3:
        at = put(peek(b, Ink.POOL), piece(b, at, Piece.SENT), peek(node, LogNode.RESULT))
        at = put_value(
            b, at, peek(node, LogNode.SHAPE), peek(node, LogNode.VALUE), peek(item, JournalWord.FIRST_OUTPUT)
        )
        return char(char(at, CLOSE), CLOSE)
    first, second, high = (
        peek(item, JournalWord.FIRST_EDGES),
        peek(item, JournalWord.SECOND_EDGES),
        peek(item, JournalWord.TARGET) << PORT_BITS,
    )
    begun = False
    for edge in range(first >> 32, first & HALF):
        at = char(at, COMMA) if begun else piece(b, at, Piece.SENT)
        at = put_token(b, at, high | peek(peek(b, Ink.EDGES), edge), peek(item, JournalWord.FIRST_OUTPUT))
        begun = True
    for edge in range(second >> 32, second & HALF):
        at = char(at, COMMA) if begun else piece(b, at, Piece.SENT)
        at = put_token(b, at, high | peek(peek(b, Ink.EDGES), edge), peek(item, JournalWord.SECOND_OUTPUT))
        begun = True
    return char(at, CLOSE) if begun else at


def put_closed(b: Any, at: Any, item: Any) -> Any:
    """An activation that closed."""
    scope = peek(peek(b, Ink.SITE_SCOPES), peek(item, JournalWord.ABOVE) & LOW)
    at = digits(char(at, OPEN), peek(tag_of(b, peek(item, JournalWord.FRAME)), Tagged.NUMBER))
    at, begun = char(char(at, COMMA), OPEN), False
    for each in range(peek(peek(b, Ink.SCOPES), scope << 1), peek(peek(b, Ink.SCOPES), (scope << 1) + 1)):
        member = peek(b, Ink.MEMBERS) + (each * len(Member) << 3)
        if peek(item, JournalWord.CLOSE_WORDS + peek(member, Member.STATE)) & peek(member, Member.FIRED):
            at = digits(char(at, COMMA) if begun else at, peek(member, Member.NODE))
            begun = True
    return char(char(at, CLOSE), CLOSE)


def size_of(item: Any) -> Any:
    """The words of an item."""
    kind = peek(item, 0) & JournalHead.KIND_MASK
    if kind == JournalItem.FIRING:
        return JournalWord.FIRING_WORDS + (peek(item, 0) >> JournalHead.OPERAND_COUNT_SHIFT & 127)
    if kind == JournalItem.CLOSE:
        return JournalWord.CLOSE_WORDS + (peek(item, 0) >> JournalHead.POSITION_SHIFT)
    return JournalWord.RELEASE_WORDS if kind == JournalItem.RELEASE else JournalWord.NO_FIRING_WORDS


def put_more(b: Any, at: Any, item: Any, end: Any, kind: Any, name: Any) -> Any:
    """What a step closed, or released: the items of one kind that follow it."""
    begun = False
    while item < end and peek(item, 0) & JournalHead.KIND_MASK > JournalItem.FIRING:
        if peek(item, 0) & JournalHead.KIND_MASK == kind:
            at = char(at, COMMA) if begun else piece(b, at, name)
            begun = True
            if kind == JournalItem.CLOSE:
                at = put_closed(b, at, item)
            else:
                at = char(digits(char(at, OPEN), peek(item, JournalWord.STEP)), COMMA)
                at = char(put_token(b, at, peek(item, JournalWord.TOKEN), peek(item, JournalWord.VALUE)), CLOSE)
        item += size_of(item) << 3
    return char(at, CLOSE) if begun else at


def put_step(b: Any, at: Any, item: Any, end: Any) -> Any:
    """The line of a step, and before it that of the tag which it opens."""
    head, token = peek(item, 0), peek(item, JournalWord.TOKEN)
    fired, after = head & JournalHead.KIND_MASK == JournalItem.FIRING, item + (size_of(item) << 3)
    port = peek(b, Ink.PORTS) + ((token & PORT_MASK) * len(Port) << 3)
    node = peek(b, Ink.NODES) + (peek(port, Port.NODE) * len(LogNode) << 3)
    if fired and head & JournalHead.OPENS_ACTIVATION:
        at = put_opened(b, at, node, token >> PORT_BITS, peek(item, JournalWord.TARGET))
    at = put_token(b, piece(b, at, Piece.DELIVER), token, peek(item, JournalWord.VALUE))
    at = digits(piece(b, at, Piece.POSITION), head >> JournalHead.POSITION_SHIFT)
    if fired:
        at = put_inputs(b, piece(b, at, Piece.INPUTS), node, item)
        at = char(put_outputs(b, piece(b, at, Piece.OUTPUTS), node, item), CLOSE)
        if head & JournalHead.HOST_FIRING:
            read = peek(b, Ink.SAID_READ)
            at = put(peek(b, Ink.POOL), at, peek(peek(b, Ink.SAID), read))
            poke(b, Ink.SAID_READ, read + 1)
        at = put_sent(b, at, node, item)
        at = put_more(b, at, after, end, JournalItem.CLOSE, Piece.CLOSED)
        if head & JournalHead.IS_THROTTLED:
            at = piece(b, at, Piece.HELD)
    at = put_more(b, at, after, end, JournalItem.RELEASE, Piece.RELEASED)
    return piece(b, at, Piece.END)


def write(b: Any, begin: Any, end: Any) -> Any:
    """Write the lines of the steps on a page; where they end."""
    item, at = peek(b, Ink.WORDS) + (begin << 3), peek(b, Ink.PAPER)
    end = peek(b, Ink.WORDS) + (end << 3)
    while item < end:
        if peek(item, 0) & JournalHead.KIND_MASK <= JournalItem.FIRING:
            at = put_step(b, at, item, end)
        item += size_of(item) << 3
    return at


def gather_words(b: Any, count: Any, shape: Any, word: Any) -> Any:
    """Note the word of a float; how many there are."""
    if shape == Shape.FLOAT:
        poke(peek(b, Ink.FLOATS), count, word)
        count += 1
    return count


def gather(b: Any, begin: Any, end: Any) -> Any:
    """Note the words of all floats that lines are to have; how many there are."""
    item, count = peek(b, Ink.WORDS) + (begin << 3), 0
    end = peek(b, Ink.WORDS) + (end << 3)
    while item < end:
        head = peek(item, 0)
        if head & JournalHead.KIND_MASK != JournalItem.CLOSE:
            port = peek(b, Ink.PORTS) + ((peek(item, JournalWord.TOKEN) & PORT_MASK) * len(Port) << 3)
            count = gather_words(b, count, peek(port, Port.SHAPE), peek(item, JournalWord.VALUE))
        if head & JournalHead.KIND_MASK == JournalItem.FIRING:
            node = peek(b, Ink.NODES) + (peek(port, Port.NODE) * len(LogNode) << 3)
            outputs = head >> JournalHead.OUTPUT_COUNT_SHIFT & 3
            if outputs > 0:
                count = gather_words(b, count, peek(node, LogNode.SHAPE), peek(item, JournalWord.FIRST_OUTPUT))
            if outputs > 1:
                count = gather_words(b, count, peek(node, LogNode.SHAPE_SECOND), peek(item, JournalWord.SECOND_OUTPUT))
            several, nth = peek(node, LogNode.NEEDS) > 2, 0
            for each in range(peek(node, LogNode.PARTS), peek(node, LogNode.PARTS_END)):
                part = peek(b, Ink.PARTS) + (each * len(Part) << 3)
                if peek(part, Part.TEXT) == 0:
                    if peek(part, Part.PORT) != peek(item, JournalWord.TOKEN) & PORT_MASK:
                        port = peek(b, Ink.PORTS) + (peek(part, Part.PORT) * len(Port) << 3)
                        word = peek(item, JournalWord.FIRING_WORDS + (nth if several else 0))
                        count = gather_words(b, count, peek(port, Port.SHAPE), word)
                    nth += 1
        item += size_of(item) << 3
    return count
