"""The tour: it goes on when the user has done what it asks for, and says what that did."""

from __future__ import annotations

from pathlib import Path

import pytest
import tagloom as tl
from tagloom.tui.panes import tour
from tagloom.tui.panes.arrange import PANES, key_of
from tagloom.tui.panes.tour import LOADING, STEPS, Tour, TourStep
from tagloom.tui.run_start import RunRequest
from tagloom.tui.session.commands import new_session
from tagloom.tui.session.session import Session

FIB = Path(tl.__file__).parent / "papers_examples" / "recursion" / "fib.py"


def start_session(*words: str) -> Session:
    """A session with a run of fib, or without a run if there are no arguments."""
    session = new_session()
    if words:
        session.load_run(RunRequest(str(FIB), words))
    return session


def take_tour(taken: Tour) -> list[str]:
    """Do all that a tour asks for, without a screen; returns its text after each step."""
    effects = list[str]()
    for step in taken.steps:
        if not step.action.startswith("pane "):
            word = {"why": "why return", "load": f"load {FIB} 3"}.get(step.action, step.action)
            assert taken.session.execute(word).ok
        taken.note_action(step.action)
        effects.append(taken.rows()[0].text)
    return effects


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("step", [LOADING, *STEPS])
def test_steps_name_commands_and_panes_by_their_keys(step: TourStep) -> None:
    """The action of each step is a command or a pane, and its keys begin with the key of that; `:` takes any
    command."""
    keys = {name: command.key for name, command in new_session().commands.items()}
    keys |= {f"pane {pane}": key_of(pane) for pane in PANES}
    assert step.keys.split()[0] in (keys[step.action], ":")


def test_a_tour_of_fib() -> None:
    """The tour ends after its actions in their order, and each effect names values of this run."""
    taken = Tour(start_session("5"))
    effects = take_tour(taken)
    assert effects[:3] == [
        "The 5 moved to fib.n, which fired.",
        "The 5 is back where it was.",
        "After 170 events the run is over, and the result is 8.",
    ]
    assert taken.title == "the end of the tour" and taken.rows()[1].text == tour.FAREWELL


def test_a_tour_without_a_run_begins_by_loading_one() -> None:
    """Without a run there is one more step, and the others act on the run that it starts."""
    taken = Tour(start_session())
    assert len(taken.steps) == len(STEPS) + 1
    assert take_tour(taken)[:2] == ["fib is at its beginning.", "The 3 moved to fib.n, which fired."]


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("position", range(len(STEPS)))
def test_only_its_action_ends_a_step(position: int) -> None:
    """No action but the one that a step asks for leads to the next step."""
    taken = Tour(start_session("2"))
    for step in STEPS[:position]:
        taken.note_action(step.action)
    for name in (*taken.session.commands, *(f"pane {pane}" for pane in PANES)):
        if name != STEPS[position].action:
            taken.note_action(name)
            assert taken.position == position


def test_rows_fit_a_narrow_screen() -> None:
    """All rows fit the 76 columns that a screen of 80 has for them."""
    taken = Tour(start_session("5"))
    take_tour(taken)
    rows = [*taken.rows(), *Tour(start_session()).rows()]
    for position in range(len(STEPS)):
        taken.position = position
        rows += taken.rows()
    assert max(len(row.text) for row in rows) <= 76


def test_a_run_with_nothing_in_flight() -> None:
    """A step back where no token is in flight puts none back."""
    session = start_session("5")
    assert session.execute("run").ok
    assert tour.describe_return(session) == "Nothing is in flight here."


def test_a_run_that_stops_early() -> None:
    """A run that is not over has no result yet."""
    session = start_session("5")
    assert session.execute("goto 7").ok
    assert tour.describe_end(session) == "After 7 events the run stopped, and there is no result."
