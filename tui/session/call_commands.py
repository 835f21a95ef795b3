"""Motions by activations: over what is called, and out of where one is.

Where one is, is the activation of the last event, or, once that is closed, the innermost around it that is open. The
iterations of a loop count as one place: so `over` goes from one to the next, and `out` out of all of them.
"""

from __future__ import annotations

from itertools import islice, takewhile
from typing import NamedTuple

from ...core.tag import ROOT, Site, Tag
from ...interp.history.cursor import Test
from ...interp.history.history import History
from ...interp.machine.event import Event
from ...interp.machine.state import State
from .arguments import Words
from .command import Group
from .fast_forward import look_back, on_to
from .reply import Said
from .run_index import Known
from .session import MOVING, Session
from .step_commands import stand

around = Group(MOVING)


class Frame(NamedTuple):
    """An activation of a function, or all iterations of a loop under one tag."""

    parent: Tag | None
    site: Site
    tag: Tag

    def has(self, tag: Tag) -> bool:
        """Whether this is the activation of a tag."""
        if self.site.kind == "call":
            return tag == self.tag
        return tag.site == self.site and tag.parent == self.parent

    def is_open(self, state: State) -> bool:
        if self.site.kind == "call":
            return self.tag in state.records
        record = state.records.get(self.parent) if self.parent is not None else None
        return record is not None and any(site == self.site for site, _ in record.children)

    def fires(self, event: Event) -> bool:
        """Whether an event is a firing in it."""
        return event.inputs is not None and self.has(event.token.tag)

    def opened(self, known: Known) -> int:
        """The position from which on it has been open."""
        first = self.tag if self.site.kind == "call" or self.parent is None else self.parent.child(self.site)
        return known.activation(first).opened or 0


def frame(tag: Tag) -> Frame:
    return Frame(tag.parent, tag.site, tag)


def standing(session: Session) -> Frame:
    """The innermost activation around the last event that is open."""
    history = session.history
    last = history.last.token.tag if history.last is not None else ROOT
    around = map(frame, last.steps())
    return next((each for each in around if each.is_open(history.state)), frame(ROOT))


def over(history: History, here: Frame) -> None:
    """On to the next firing in an activation, or to where it has closed."""
    _on(history, lambda state, event: here.fires(event) or (bool(event.closed) and not here.is_open(state)), here)


def out(history: History, here: Frame) -> None:
    """On to where an activation has closed."""
    _on(history, lambda state, event: bool(event.closed) and not here.is_open(state), here)


def _on(history: History, is_there: Test, here: Frame) -> None:
    """On to the next event that is wanted. Of those that are known, a state is made only for what happened here: of a
    million events, the others take 0.3 s, with states 7."""
    for number, event in history.ahead():
        if here.fires(event) or any(here.has(closed.tag) for closed in event.closed):
            history.jump(number + 1)
            if is_there(history.state, event):
                return
    history.jump(len(history))
    on_to(history, is_there)


def over_back(history: History, known: Known, here: Frame) -> None:
    """Back to the last firing in an activation, or to what opened it."""
    opened = max(here.opened(known), history.base)
    events = takewhile(lambda numbered: numbered[0] >= opened, islice(history.behind(), 1, None))
    history.jump(next((number + 1 for number, event in events if here.fires(event)), opened))


def out_back(history: History, known: Known, here: Frame) -> None:
    """Back to before an activation opened."""
    history.jump(max(here.opened(known) - 1, history.base))


@around.row(
    "over", "[N]", key="o", help="on to the next firing of this activation, over its calls", reverse="over-back"
)
def over_(session: Session, words: Words) -> Said:
    times = words.count()
    words.done()
    for _ in range(times):
        over(session.history, standing(session))
    return stand(session)


@around.row("over-back", "[N]", key="O", help="back to its last firing before, or to what opened it", reverse="over")
def over_back_(session: Session, words: Words) -> Said:
    times = words.count()
    words.done()
    look_back(session)
    history = session.history
    for _ in range(times):
        if history.last is not None:
            over_back(history, _known(session), frame(history.last.token.tag))
    return stand(session)


@around.row("out", key="f", help="on to where this activation has closed", reverse="out-back")
def out_(session: Session, words: Words) -> Said:
    words.done()
    out(session.history, standing(session))
    return stand(session)


@around.row("out-back", key="F", help="back to before this activation opened", reverse="out")
def out_back_(session: Session, words: Words) -> Said:
    words.done()
    look_back(session)
    out_back(session.history, _known(session), standing(session))
    return stand(session)


def _known(session: Session) -> Known:
    """What is known of all events."""
    session.run.known.catch_up(session.history)
    return session.run.known
