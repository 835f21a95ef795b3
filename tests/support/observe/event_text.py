"""Events as lines of text, for tests that show a whole run, and a check of the text of problems.

`add[1] <- 3 @ main: sends 7 to return[0]` is a firing; `add[0] <- 4 @ main: waits` is a token whose node does not
fire.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tagloom.core.errors import Invalid
from tagloom.core.graph.graph import Graph
from tagloom.core.value import format_value
from tagloom.interp.machine.event import Event, Token
from tagloom.interp.outcome.outcome import Outcome


def check_words(problems: Iterable[Invalid]) -> None:
    """Assert that each problem names a rule, a location, what is required, what was found and a hint, without Python's
    notation for data."""
    for problem in problems:
        parts = [problem.rule, problem.where, problem.required, problem.got, problem.hint]
        assert all(str(each) for each in parts if each is not None) and None not in parts, problem
        shown = f"{problem.required} {problem.got} {problem.hint}"
        assert not re.search(r"\('|',\)|\['|\(\)|Edge\(|Site\(", shown), problem
        assert not re.search(r"(?<![a-z\[(] )\b\d+ and \d+\b", shown), problem


def line(graph: Graph, event: Event) -> str:
    """One event. Tokens that it sent show their tags if these differ from the tag of the firing."""
    token = event.token
    if not event.is_firing:
        text = "waits"
    elif event.trap is not None:
        text = f"traps, {event.trap}"
    else:
        text = f"sends {', '.join(_sent(graph, event, sent) for sent in event.sent) or 'nothing'}"
    closed = f"; closes {', '.join(str(closed.tag) for closed in event.closed)}" if event.closed else ""
    return f"{graph.nodes[token.node].name}[{token.port}] <- {format_value(token.value)} @ {token.tag}: {text}{closed}"


def _sent(graph: Graph, event: Event, sent: Token) -> str:
    to = f"result {sent.port}" if sent.node < 0 else f"{graph.nodes[sent.node].name}[{sent.port}]"
    where = "" if sent.tag == event.token.tag else f" @ {sent.tag}"
    return f"{format_value(sent.value)} to {to}{where}"


def lines(graph: Graph, events: Iterable[Event]) -> list[str]:
    return [line(graph, event) for event in events]


def event_lines(outcome: Outcome) -> list[str]:
    """The events of a run, one line each."""
    return lines(outcome.graph, outcome.events)
