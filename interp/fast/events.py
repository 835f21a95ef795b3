"""From the words of a journal to events: the same as those of the reference, value for value and tag for tag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from ...core import dtypes
from ...core.tag import ROOT, Tag
from ...core.types import Type
from ...core.value import Value
from ..event import Closed, Event, Token
from ..fire import Rule
from ..image import LOW_BITS, NODE, PORT, PORT_BITS, SITE, is_boxed, value_of
from .outside import Said
from .registers import Item
from .store import Store

_PORT = (1 << PORT_BITS) - 1
_LOW = (1 << 32) - 1
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


def links(pages: Iterable[Sequence[int]]) -> dict[int, tuple[int, int]]:
    """What the frames said that were open before these pages, and are not after them: found backwards, since frames are
    used again."""
    found: dict[int, tuple[int, int]] = {}
    changes = [
        (words[at + Item.FRAME], (words[at + Item.ABOVE], words[at + Item.WHEN]))
        if words[at] & Item.KIND == Item.CLOSED
        else (words[at + Item.TARGET], None)
        for words in pages
        for at in items(words)
        if words[at] & Item.KIND == Item.CLOSED or _opens(words[at])
    ]
    for frame, link in reversed(changes):
        if link is None:
            found.pop(frame, None)
        else:
            found[frame] = link
    return found


def _opens(head: int) -> bool:
    return head & Item.KIND == Item.FIRED and bool(head & Item.OPENED)


def items(words: Sequence[int]) -> Iterator[int]:
    """Where each item begins."""
    at, end = 0, len(words)
    while at < end:
        yield at
        at += length(words[at])


def length(head: int) -> int:
    """The words of an item that begins with this one."""
    match head & Item.KIND:
        case Item.FIRED:
            return Item.FIRED_WORDS + (head >> Item.OTHERS & 127)
        case Item.CLOSED:
            return Item.CLOSED_WORDS + (head >> Item.SHIFT)
        case Item.RELEASED:
            return Item.RELEASED_WORDS
    return Item.STAYED_WORDS


def is_step(head: int) -> bool:
    """Whether an item that begins so is a step, and no more of the one before."""
    return head & Item.KIND <= Item.FIRED


class Reader:
    """Makes events of the pages of a journal, one after another, from frames that it knows the tags of."""

    def __init__(self, store: Store, rules: tuple[Rule, ...], tags: dict[int, Tag]) -> None:
        image = store.image
        self.tags = tags
        self._rules = rules
        self._store = store
        nodes = image.ports[:, PORT.NODE].tolist()
        self._ports = [(node, at - image.first_port[node]) for at, node in enumerate(nodes)]
        self._read = [self._reads(type_) for type_ in image.port_types]
        self._made = [[self._reads(output.type) for output in node.outputs] for node in image.graph.nodes]
        self._edges = image.edges.tolist()
        self._open = [[p for p, port in enumerate(node.ports) if port is None] for node in image.graph.nodes]
        self._result = {number: position for position, number in enumerate(image.graph.results)}
        self._state = image.nodes[:, [NODE.STATE, NODE.FIRED]].tolist()
        self._members = [members.tolist() for members in image.members]
        self._scopes = image.sites[:, SITE.SCOPE].tolist()

    def _reads(self, type_: Type) -> Read:
        if is_boxed(type_):
            return partial(self._store.value, type_=type_)
        return int if type_.dtype is dtypes.int64 else partial(value_of, dtype=type_.dtype)

    def events(self, page: Page) -> Iterator[Event]:
        """The events of a page."""
        words, said = page.words, iter(page.said)
        at, end = 0, len(words)
        while at < end:
            head = words[at]
            make = self._firing if head & Item.KIND == Item.FIRED else self._stay
            event = make(words, at, next(said) if head & Item.GIVEN else None)
            at += length(head)
            if at < end and not is_step(words[at]):
                event, at = self._more(event, words, at)
            yield event

    def _stay(self, words: Sequence[int], at: int, said: Said | None) -> Event:
        head = words[at]
        token = self._token(words[at + Item.TOKEN], words[at + Item.VALUE])
        parked = None if said is None else said.parked
        return Event(token, head >> Item.SHIFT, None, (), (), None, (), bool(head & Item.ENDS), parked)

    def _firing(self, words: Sequence[int], at: int, said: Said | None) -> Event:
        head = words[at]
        token = self._token(words[at + Item.TOKEN], words[at + Item.VALUE])
        number, tag = token.node, token.tag
        rule = self._rules[number]
        inputs = self._inputs(rule, token, words[at + Item.FIRED_WORDS : at + length(head)])
        outputs = self._outputs(number, inputs, head, words[at + Item.OUT], words[at + Item.OUT_SECOND])
        if head & Item.OPENED:
            assert rule.node.site is not None
            opened = tag.following() if rule.node.op == "next_iteration" else tag.child(rule.node.site)
            self.tags[words[at + Item.TARGET]] = opened
        sent = self._sent(number, outputs, words[at + Item.TARGET], words[at + Item.FIRST], words[at + Item.SECOND])
        trap, _, woken = said or _NOTHING
        return Event(
            token, head >> Item.SHIFT, inputs, outputs, sent, trap, (), bool(head & Item.ENDS), None, woken,
            bool(head & Item.IS_HELD),
        )  # fmt: skip

    def _token(self, token: int, word: int) -> Token:
        at = token & _PORT
        number, port = self._ports[at]
        return Token(number, port, self.tags[token >> PORT_BITS], self._read[at](word))

    def _inputs(self, rule: Rule, token: Token, others: Sequence[int]) -> tuple[Value, ...]:
        """The operands by port."""
        if rule.operands is None:
            return (token.value,)
        inputs: list[Any] = list(rule.operands)
        waited = self._open[token.node]
        if len(others) == 1:
            waited = [port for port in waited if port != token.port]
        first = self._store.image.first_port[token.node]
        for port, word in zip(waited, others, strict=False):
            if port != token.port:
                inputs[port] = self._read[first + port](word)
        inputs[token.port] = token.value
        return tuple(inputs)

    def _outputs(
        self, number: int, inputs: tuple[Value, ...], head: int, out: int, second: int
    ) -> tuple[tuple[int, Value], ...]:
        count, made = head >> Item.OUTPUTS & 3, self._made[number]
        if count == 0:
            return ()
        if count == 2:
            return (0, made[0](out)), (1, made[1](second))
        which = not inputs[1] if self._rules[number].node.op == "switch" else False
        return ((int(which), made[which](out)),)

    def _sent(
        self, number: int, outputs: tuple[tuple[int, Value], ...], target: int, first: int, second: int
    ) -> tuple[Token, ...]:
        """The tokens that a firing sends; of a result, that to the environment."""
        if number in self._result and outputs:
            return (Token(-1, self._result[number], ROOT, outputs[0][1]),)
        found, tag = [], self.tags[target]
        for (_, value), span in zip(outputs, (first, second), strict=False):
            for edge in self._edges[span >> 32 : span & _LOW]:
                node, port = self._ports[edge]
                found.append(Token(node, port, tag, value))
        return tuple(found)

    def _more(self, event: Event, words: Sequence[int], at: int) -> tuple[Event, int]:
        """What an event released and closed, and where the next one begins."""
        released, closed = [], []
        while at < len(words) and not is_step(words[at]):
            if words[at] & Item.KIND == Item.RELEASED:
                token = self._token(words[at + Item.TOKEN], words[at + Item.VALUE])
                released.append((words[at + Item.STEP], token))
            else:
                closed.append(self._closed(words, at))
            at += length(words[at])
        return event._replace(released=tuple(released), closed=tuple(closed)), at

    def _closed(self, words: Sequence[int], at: int) -> Closed:
        begin = at + Item.CLOSED_WORDS - self._store.image.header
        scope = self._scopes[words[at + Item.ABOVE] & (1 << LOW_BITS) - 1]
        state = self._state
        fired = [n for n in self._members[scope] if words[begin + state[n][0]] & state[n][1]]
        tag = self.tags[words[at + Item.FRAME]]
        self.tags.pop(words[at + Item.FRAME], None)  # it is used again
        return Closed(tag, frozenset(fired))


_NOTHING = Said()
