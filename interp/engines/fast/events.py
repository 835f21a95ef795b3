"""From the words of a journal to events: the same as those of the reference, value for value and tag for tag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from ....core import dtypes
from ....core.tag import ROOT, Tag
from ....core.types import Type
from ....core.value import Value
from ...image.image import LOW_BITS, NODE, PORT, PORT_BITS, SITE, is_boxed, value_of
from ...machine.event import Closed, Event, Token
from ...machine.fire import Rule
from .host_firings import Said
from .registers import Head, Item, Noted
from .store import Store

_PORT = (1 << PORT_BITS) - 1
_LOW = (1 << 32) - 1
# As integers, which are read in a third of the time that members of an enumeration take.
TOKEN, VALUE, TARGET, FIRST, OUT, SECOND, OUT_SECOND, FIRED_WORDS, STAYED_WORDS = map(
    int,
    (
        Noted.TOKEN, Noted.VALUE, Noted.TARGET, Noted.FIRST, Noted.OUT, Noted.SECOND, Noted.OUT_SECOND,
        Noted.FIRED_WORDS, Noted.STAYED_WORDS,
    ),
)  # fmt: skip
KIND, FIRED, CLOSED, GIVEN, ENDS, OPENED, IS_HELD, OUTPUTS, OTHERS, SHIFT = map(
    int,
    (
        Head.KIND, Item.FIRED, Item.CLOSED, Head.GIVEN, Head.ENDS, Head.OPENED, Head.IS_HELD, Head.OUTPUTS, Head.OTHERS,
        Head.SHIFT,
    ),
)  # fmt: skip
_new: Any = tuple.__new__
"""Of a frozen value, in half of the time."""
Read = Callable[[int], Value]


class Page(NamedTuple):
    """A part of a journal: its words, and what was said of the firings in it that were done outside."""

    words: Sequence[int]
    said: Sequence[Said]


class Tags(dict[int, Tag]):
    """The tag of each frame, as it was before a journal: of one that it closes, from what it says of it; of others,
    from the memory of the machine, which is as it was left after it."""

    def __init__(self, store: Store, links: dict[int, tuple[int, int]]) -> None:
        self._store, self._links = store, links

    def __missing__(self, frame: int) -> Tag:
        path = []
        while frame not in self and self._above(frame)[0] >> LOW_BITS:
            path.append(frame)
            frame = self._above(frame)[0] >> LOW_BITS
        tag = self.get(frame, ROOT)
        for each in reversed(path):
            above, when = self._above(each)
            site = self._store.image.site_list[above & (1 << LOW_BITS) - 1]
            tag = self[each] = tag.child(site, when >> LOW_BITS)
        return tag

    def _above(self, frame: int) -> tuple[int, int]:
        return self._links.get(frame) or self._store.link(frame)


def links(backwards: Iterable[Sequence[int]]) -> dict[int, tuple[int, int]]:
    """What the frames said that were open before these pages, and are not after them; the last page comes first, since
    frames are used again."""
    found: dict[int, tuple[int, int]] = {}
    for words in backwards:
        for at in reversed([at for at in items(words) if _changes(words[at])]):
            if words[at] & KIND == FIRED:
                found.pop(words[at + TARGET], None)
            else:
                found[words[at + Noted.FRAME]] = words[at + Noted.ABOVE], words[at + Noted.WHEN]
    return found


def _changes(head: int) -> bool:
    """Whether an item that begins so opens an activation, or closes one."""
    return head & OPENED != 0 if head & KIND == FIRED else head & KIND == CLOSED


def items(words: Sequence[int]) -> Iterator[int]:
    """Where each item begins."""
    at, end = 0, len(words)
    while at < end:
        yield at
        at += length(words[at])


def length(head: int) -> int:
    """The words of an item that begins with this one."""
    match head & KIND:
        case Item.FIRED:
            return FIRED_WORDS + (head >> OTHERS & 127)
        case Item.CLOSED:
            return Noted.CLOSED_WORDS + (head >> SHIFT)
        case Item.RELEASED:
            return Noted.RELEASED_WORDS
    return STAYED_WORDS


def is_step(head: int) -> bool:
    """Whether an item that begins so is a step, and no more of the one before."""
    return head & Head.KIND <= Item.FIRED


class _Way(NamedTuple):
    """What is known beforehand of what a token does that comes to a port."""

    node: int
    port: int
    read: Read | None
    """What makes a value of a word; None where a word is one."""
    rule: Rule
    operands: list[Any]
    """The operands by port, where literals are filled in."""
    others: tuple[tuple[int, Read | None], ...]
    """Where the operands of the journal go: of more than one, that of this port too, where there is no word of it."""
    made: tuple[Read | None, ...]
    """The same as `read`, of the outputs."""
    result: int | None
    """Which result of the run the node gives, if any."""

    def second(self, inputs: Sequence[Any], tag: Tag) -> int:
        """The output of a firing that has one."""
        match self.rule.node.op:
            case "switch":
                return 0 if inputs[1] else 1
            case "back":
                return 0 if tag.iteration else 1
        return 0


class Reader:
    """Makes events of the pages of a journal, one after another, from frames that it knows the tags of."""

    def __init__(self, store: Store, rules: tuple[Rule, ...], tags: dict[int, Tag]) -> None:
        image = store.image
        self.tags = tags
        self._store = store
        self._edges = image.edges.tolist()
        self._spans: dict[int, tuple[tuple[int, int], ...]] = {}
        self._ways = [self._way(rules, at) for at in range(len(image.ports))]
        self._state = image.nodes[:, [NODE.STATE, NODE.FIRED]].tolist()
        self._members = [members.tolist() for members in image.members]
        self._scopes = image.sites[:, SITE.SCOPE].tolist()

    def _way(self, rules: tuple[Rule, ...], at: int) -> _Way:
        image = self._store.image
        number = int(image.ports[at, PORT.NODE])
        first, rule = image.first_port[number], rules[number]
        read = [self._reads(type_) for type_ in image.port_types[first : first + len(rule.node.ports)]]
        waited = [port for port, literal in enumerate(rule.node.ports) if literal is None]
        if rule.needs < 3:
            waited = [port for port in waited if port != at - first]
        return _Way(
            number,
            at - first,
            read[at - first],
            rule,
            [None] if rule.operands is None else list(rule.operands),
            () if rule.needs < 2 else tuple((port, read[port] if port != at - first else None) for port in waited),
            tuple(self._reads(output.type) for output in rule.node.outputs),
            image.graph.results.index(number) if number in image.graph.results else None,
        )

    def _reads(self, type_: Type) -> Read | None:
        if is_boxed(type_):
            return partial(self._store.value, type_=type_)
        return None if type_.dtype is dtypes.int64 else partial(value_of, dtype=type_.dtype)

    def events(self, page: Page) -> Iterator[Event]:
        """The events of a page."""
        words: Any = page.words
        said = iter(page.said)
        at, end = 0, len(words)
        while at < end:
            head, word = words[at], words[at + TOKEN]
            way, tag, value = self._ways[word & _PORT], self.tags[word >> PORT_BITS], words[at + VALUE]
            if way.read is not None:
                value = way.read(value)
            token = _new(Token, (way.node, way.port, tag, value))
            more = next(said) if head & GIVEN else _NOTHING
            if head & KIND == FIRED:
                following = at + FIRED_WORDS + (head >> OTHERS & 127)
                event = self._fired(words, at, way, token, more)
            else:
                following = at + STAYED_WORDS
                event = Event(token, head >> SHIFT, None, (), (), None, (), head & ENDS != 0, more.parked)
            at = following
            if at < end and words[at] & KIND > FIRED:
                event, at = self._more(event, words, at)
            yield event

    def _fired(self, words: Any, at: int, way: _Way, token: Token, said: Said) -> Any:
        head, tag, target = words[at], token.tag, words[at + TARGET]
        inputs = way.operands.copy()
        for nth, (port, read) in enumerate(way.others, at + FIRED_WORDS):
            inputs[port] = words[nth] if read is None else read(words[nth])
        inputs[0 if way.rule.operands is None else way.port] = token.value
        count = head >> OUTPUTS & 3
        outputs: tuple[tuple[int, Value], ...] = ()
        if count:
            out, read = words[at + OUT], way.made[0]
            out = out if read is None else read(out)
            which = way.second(inputs, tag)
            outputs = ((which, out),) if count == 1 else ((0, out), (1, self._second(words, at, way)))
        if head & OPENED:
            assert way.rule.node.site is not None
            opened = tag.following() if way.rule.node.op == "next_iteration" else tag.child(way.rule.node.site)
            self.tags[target] = opened
        return _new(
            Event,
            (
                token, head >> SHIFT, tuple(inputs), outputs, self._sent(words, at, way, outputs), said.trap, (),
                head & ENDS != 0, None, said.woken, head & IS_HELD != 0, (),
            ),
        )  # fmt: skip

    def _second(self, words: Sequence[int], at: int, way: _Way) -> Value:
        read = way.made[1]
        return words[at + OUT_SECOND] if read is None else read(words[at + OUT_SECOND])

    def _sent(
        self, words: Sequence[int], at: int, way: _Way, outputs: tuple[tuple[int, Value], ...]
    ) -> tuple[Token, ...]:
        """The tokens that a firing sends; of a result, that to the environment."""
        if not outputs:
            return ()
        if way.result is not None:
            return (Token(-1, way.result, ROOT, outputs[0][1]),)
        tag, value = self.tags[words[at + TARGET]], outputs[0][1]
        sent = [_new(Token, (node, port, tag, value)) for node, port in self._span(words[at + FIRST])]
        if len(outputs) > 1:
            value = outputs[1][1]
            sent += [_new(Token, (node, port, tag, value)) for node, port in self._span(words[at + SECOND])]
        return tuple(sent)

    def _span(self, span: int) -> tuple[tuple[int, int], ...]:
        """The nodes and ports that edges end at."""
        if span not in self._spans:
            found = [self._ways[edge] for edge in self._edges[span >> 32 : span & _LOW]]
            self._spans[span] = tuple((way.node, way.port) for way in found)
        return self._spans[span]

    def _more(self, event: Event, words: Sequence[int], at: int) -> tuple[Event, int]:
        """What an event released and closed, and where the next one begins."""
        released, closed = [], []
        while at < len(words) and words[at] & KIND > FIRED:
            if words[at] & KIND == Item.RELEASED:
                way, tag = self._ways[words[at + TOKEN] & _PORT], self.tags[words[at + TOKEN] >> PORT_BITS]
                value = words[at + VALUE] if way.read is None else way.read(words[at + VALUE])
                released.append((words[at + Noted.STEP], Token(way.node, way.port, tag, value)))
            else:
                closed.append(self._closed(words, at))
            at += length(words[at])
        return event._replace(released=tuple(released), closed=tuple(closed)), at

    def _closed(self, words: Sequence[int], at: int) -> Closed:
        begin = at + Noted.CLOSED_WORDS - self._store.image.header
        scope = self._scopes[words[at + Noted.ABOVE] & (1 << LOW_BITS) - 1]
        state = self._state
        fired = [n for n in self._members[scope] if words[begin + state[n][0]] & state[n][1]]
        tag = self.tags[words[at + Noted.FRAME]]
        self.tags.pop(words[at + Noted.FRAME], None)  # it is used again
        return Closed(tag, frozenset(fired))


_NOTHING = Said()
