"""All that displays a run: every picture, every command of the session, and the columns of the player's page.

A display shows the run, or refuses it with an error of ours. Whatever else it raises is a failure.
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tagloom as tl
from support.laws.session_laws import reply_violations
from tagloom.core.graph.graph import Graph
from tagloom.interp.history.history import History
from tagloom.tui.run_start import StartOptions
from tagloom.tui.session.commands import COMMANDS, new_session
from tagloom.tui.session.session import Session
from tagloom.viz.pictures import PICTURES, render_picture, run_picture
from tagloom.viz.player.columns import PlayerColumns
from tagloom.viz.player.graph_layout import plan_views
from tagloom.viz.player.recording import record_tokens, select_segment
from tagloom.viz.view import View

LIMITS = tl.Limits(firings=60, tokens=1_000, depth=50)
START_OPTIONS = StartOptions(limits=LIMITS)
"""The options of runs that a command of a session begins."""


def begin_display(graph: Graph, arguments: list[Any], schedule: str) -> History | None:
    """The finished run to display; None if the graph or the arguments are refused."""
    try:
        history = History(graph, arguments, schedule=schedule, limits=LIMITS, unchecked=True, world=new_session().world)
        history.run()
    except tl.TagloomError:
        return None
    return history


def display_violations(history: History, dice: random.Random, folder: Path) -> Iterator[str]:
    """What displays raise, besides errors of ours."""
    history.jump(dice.choice([0, len(history), dice.randint(0, len(history))]))
    for name in PICTURES:
        yield from _raised(f"picture {name}", lambda name=name: _draw(history, name))
    yield from _raised("player", lambda: _columns(history))
    session = new_session(START_OPTIONS)
    session.add_run(history)
    for line in command_lines(session, dice, folder):
        yield from _raised(line, lambda line=line: session.execute(line))
        reply = session.execute(line.split(" ")[0] if dice.random() < 0.5 else line)
        yield from reply_violations(reply.to_json())
        if reply.ok and dice.random() < 0.3:
            session.execute(f"goto {dice.randint(0, len(session.history))}")


def _draw(history: History, name: str) -> bytes:
    picture = run_picture(history, name)
    return render_picture(picture, "dot" if isinstance(picture, View) else "svg")


def _columns(history: History) -> object:
    recording = record_tokens(history.graph, history[:], history.arguments)
    return PlayerColumns(select_segment(recording), plan_views(history.graph, 400), ()).to_json()


def _raised(subject: str, display: Any) -> Iterator[str]:
    try:
        display()
    except tl.TagloomError:
        pass
    except Exception:
        yield f"{subject}: {traceback.format_exc(limit=-3)}"


def command_lines(session: Session, dice: random.Random, folder: Path) -> Iterator[str]:
    """A line for every command but `quit`, in random order, with words that its usage asks for."""
    for command in dice.sample(list(COMMANDS.values()), len(COMMANDS)):
        if command.name != "quit":
            yield f"{command.name} {' '.join(_words(session, dice, command.parameters, folder))}".rstrip()


def _words(session: Session, dice: random.Random, parameters: str, folder: Path) -> Iterator[str]:
    """Words for the parameters of a command. Optional ones are sometimes left out."""
    history = session.history
    nodes = [name for node in history.graph.nodes for name in (node.name, str(node))] or ["none"]
    tags = ["main", *map(str, history.state.records)]
    numbers = ["1", "2", str(len(history)), "0", "9" * 20]
    choices = {
        "NODE": nodes, "TAG": tags, "VALUE": ["1", "true", "2.5", "[1, 2]"], "PORT": ["0", "1", "-1"],
        "CONDITION": ["fired", "op == 'add'", "step > 1", "value == 1"], '"TEXT"': ['"at {step}"'],
        "NAME": [*session.snapshot.run_names, "new", history.graph.name], "SLICE": ["0:1", "[", "::2"],
        "COMMAND": list(COMMANDS), "DEPTH": numbers, "POSITION": numbers, "HITS": numbers, "N": numbers,
    }  # fmt: skip
    for word in parameters.replace("[", " [ ").replace("]", " ] ").split():
        if word == "|":
            if dice.random() < 0.5:
                return
        elif word == "[":
            if dice.random() < 0.4:
                return
        elif word.startswith("FILE"):
            suffix = word.removeprefix("FILE").split("|")[0]
            yield str(folder / f"file{suffix if suffix.startswith('.') else '.tl'}")
        elif word in choices:
            yield dice.choice(choices[word])
        elif word.islower() or word.startswith("--"):
            yield word
