"""The tour: a few steps that the user takes on a run of their own. Each asks for an action, and then says what it did.

It knows actions by name: a command of the session, or a pane that came to the front.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...core.errors import plural
from ...viz.state_view import abbreviate_value
from ...viz.style import GREEN, SKY
from ..session.listing import is_over
from ..session.session import Session
from .page import PageRow, PageSpan, build_row


class TourStep(NamedTuple):
    """A step of the tour."""

    action: str
    """What the user does: the name of a command, or `pane` and the name of a pane."""
    keys: str
    request: str
    """What the action is for; it follows the keys."""
    describe_effect: Callable[[Session], str]
    """What the action did."""


def describe_firing(session: Session) -> str:
    """Which token the last event delivered, and what it did there."""
    event = session.history.last_event
    if event is None:
        return "This run has no event."
    node = session.history.graph.nodes[event.token.node]
    end = "which fired" if event.is_firing else "and waits for a partner"
    return f"The {abbreviate_value(event.token.value)} moved to {node}, {end}."


def describe_return(session: Session) -> str:
    """Which token a step back has put back."""
    history = session.history
    if history.next_choice is None:
        return "Nothing is in flight here."
    value = history.state.flight[history.next_choice].value
    return f"The {abbreviate_value(value)} is back where it was."


def describe_end(session: Session) -> str:
    """How far the run went, and its results."""
    history = session.history
    results = ", ".join(abbreviate_value(value) for _, value in sorted(history.state.results.items()))
    end = f"the result is {results}" if results else "there is no result"
    state = "the run is over" if is_over(history) else "the run stopped"
    return f"After {plural(history.position, 'event')} {state}, and {end}."


def describe_position(session: Session) -> str:
    """The present position."""
    position = session.history.position
    where = f"after {plural(position, 'event')}" if position else "at its beginning"
    return f"The run is {where} again."


LOADING = TourStep(
    "load",
    ":",
    "and type load FILE ARGS to start a run",
    lambda session: f"{session.run.name} is at its beginning.",
)
"""The first step if there is no run."""

STEPS = (
    TourStep("step", "s", "to deliver tokens (●) until a node fires", describe_firing),
    TourStep("back", "S", "to step back: every step has a reverse", describe_return),
    TourStep("run", "$", "to go to the end of the run", describe_end),
    TourStep(
        "pane tags",
        "5",
        "to see all calls and iterations",
        lambda session: "Each has a number and a colour, which are the same in all panes.",
    ),
    TourStep(
        "why",
        "y Enter",
        "to ask why a node fired",
        lambda session: "The firings behind it are in pane 9; Enter on one goes there.",
    ),
    TourStep("undo", "u", "to undo the last command that moved or changed anything", describe_position),
)

WELCOME = "The graph has the tokens; around it are calls, source, and events."
FAREWELL = "F1 explains a pane, ^p has all commands, ? asks why not, = changes a value."


class Tour:
    """The tour of a session, at one of its steps."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.steps = STEPS if session.snapshot.current is not None else (LOADING, *STEPS)
        self.position = 0
        self._effect = WELCOME

    def note_action(self, action: str) -> None:
        """Go to the next step, if this is the action that the present one asks for."""
        if self.position < len(self.steps) and action == self.steps[self.position].action:
            self._effect = self.steps[self.position].describe_effect(self.session)
            self.position += 1

    @property
    def title(self) -> str:
        """The title of the frame around the rows."""
        if self.position == len(self.steps):
            return "the end of the tour"
        return f"a tour: step {self.position + 1} of {len(self.steps)}"

    def rows(self) -> tuple[PageRow, PageRow]:
        """What the last action did, and what to do next."""
        effect = build_row((self._effect, GREEN))
        if self.position == len(self.steps):
            return effect, build_row(FAREWELL)
        step = self.steps[self.position]
        keys = (PageSpan(f"{key} ", SKY, True) for key in step.keys.split(" "))
        return effect, build_row("press ", *keys, step.request)
