"""The laws of sessions, as functions, checked on random walks of commands."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from support.laws.history_laws import other_value, replay_state, state_fields
from tagloom.core.graph.graph import Graph
from tagloom.core.ops.routing import ROUTING_OPS
from tagloom.core.tag import ROOT
from tagloom.core.types import Handle
from tagloom.core.value import format_value
from tagloom.interp.engines.limits import Limits
from tagloom.interp.history.history import History
from tagloom.interp.machine.event import Event
from tagloom.interp.queries.calls import CallTree, walk_calls
from tagloom.tui.panes.events import events_page
from tagloom.tui.panes.inspector import inspector_page
from tagloom.tui.panes.tokens import flight_page, tags_page, waiting_page
from tagloom.tui.session.activation_mark import mark_activation
from tagloom.tui.session.call_frame import find_call_frame
from tagloom.tui.session.commands import new_session
from tagloom.tui.session.run import RunBreakpoints, SessionRun
from tagloom.tui.session.run_index import ActivationSummary, RunIndex
from tagloom.tui.session.session import Session
from tagloom.tui.session.step_commands import ActivationScope, current_scope, scope_of

KINDS: dict[str, Callable[[Event], bool]] = {
    "step": lambda event: event.inputs is not None,
    "event": lambda event: True,
    "wave": lambda event: event.ends_wave,
    "result": lambda event: any(token.node < 0 for token in event.sent),
    "trap": lambda event: event.trap is not None,
}
"""For each stepping command, the events at which it stops, defined independently of the session."""
BACK = {"step": "back", **{name: f"{name}-back" for name in ("event", "wave", "result", "trap")}}
LIMITS = Limits(firings=60)
CONDITIONS = ("fired", "op == 'add' and fired", "step % 7 == 0", "value == 1", "count > 1 and fired", "tag.depth > 1")
ASKING = ("where", "state", "flight", "enabled", "tags", "breaks", "watches", "bookmarks", "runs", "source", "help")
MOST_RUNS = 6


def start_session(graph: Graph, arguments: Sequence[Any], schedule: str = "waves", unchecked: bool = False) -> Session:
    """A session with this run, whose world prints nothing."""
    session = new_session()
    session.add_run(
        History(graph, arguments, schedule=schedule, spacing=5, limits=LIMITS, unchecked=unchecked, world=session.world)
    )
    return session


def mark_violations(session: Session, seed: int, steps: int) -> Iterator[str]:
    """Activations are numbered in the order in which tokens first entered them, at every position and in every run,
    and all panes show the same number for one tag."""
    dice = random.Random(seed)
    for _ in range(steps):
        session.execute(a_line(session, dice))
        history = session.history
        session.run.index.catch_up(history)
        entered = dict.fromkeys(
            [ROOT, *(token.tag for at in range(len(history)) for token in history[at].sent if token.node >= 0)]
        )
        numbers = {str(tag): f"#{number}" for number, tag in enumerate(entered, 1)}
        wrong_tags = [str(tag) for tag in entered if mark_activation(session, tag).text != numbers[str(tag)]]
        yield from (f"at {history.position} of {session.run.name}: {tag} has another number" for tag in wrong_tags)
        for page in (flight_page, waiting_page, tags_page, events_page, inspector_page):
            for row in page(session).rows:
                texts = [span.text.strip() for span in row.spans if re.fullmatch(r"#\d+ *", span.text)]
                if row.tag in numbers and texts not in ([], [numbers[row.tag]]):
                    yield f"{page.__name__} shows {texts} for {row.tag}, which is {numbers[row.tag]}"


def frame_violations(session: Session, seed: int, steps: int) -> Iterator[str]:
    """The frame of the current call has the arguments and results that the events so far say, and the values that
    fired in it and in the current iterations, and no others."""
    dice = random.Random(seed)
    for _ in range(steps):
        session.execute(
            dice.choice([f"goto {dice.randint(0, len(session.history))}", "step 5", "event-back", "wave 2"])
        )
        history = session.history
        session.run.index.catch_up(history)
        frame, past = find_call_frame(session), [history[at] for at in range(history.position)]
        tree = CallTree(history.graph, history.arguments, past)
        tag = frame.call.tag
        call = next(each for each in walk_calls(tree.root) if each.tag == tag)
        results = [value for value in call.results[0] if value is not None]
        arguments = [value for _, value in frame.call.variables]
        if differ(arguments, call.arguments[0]) or differ(frame.results, results):
            yield f"at {history.position}: {tag} has {arguments} and {frame.results}, not {call}"
        tags = {tag, *(inputs.tag for inputs in frame.iterations)}
        fired = [
            event.outputs[0][1]
            for event in past
            if event.inputs is not None
            and event.outputs
            and event.token.tag in tags
            and history.graph.nodes[event.token.node].op not in ROUTING_OPS
        ]
        if differ([each.value for each in frame.values if each.call is None], fired):
            yield f"at {history.position}: {tag} has other values"
        inner = [value for each in call.own_calls if each.tag.parent in tags for value in each.results[0]]
        returned = [each.value for each in frame.values if each.call is not None]
        if sorted(map(format_value, returned)) != sorted(format_value(value) for value in inner if value is not None):
            yield f"at {history.position}: {tag} has other results of calls"


def differ(values: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether two lists of values differ in their texts, which are exact."""
    return list(map(format_value, values)) != list(map(format_value, others))


def shown(session: Session) -> Any:
    """All that a session shows, except the number of known events."""
    now = session.snapshot
    states = [(run.name, run.history.position, state_fields(run.history.state)) for run in now.runs]
    noted = (now.current, now.breakpoints, now.last_breakpoint_number, now.watches, now.bookmarks, now.difference)
    texts = [
        (session.execute(line).text, session.execute(line).data)
        for line in ("state", "flight", "tags", "breaks", "watches", "bookmarks")
    ]
    return states, noted, texts


def a_line(session: Session, dice: random.Random) -> str:
    """A random command that is valid here, or nearly so."""
    graph, state = session.history.graph, session.history.state
    node = str(dice.choice(graph.nodes))
    tags = [str(tag) for tag in state.records if tag.depth < 9] or ["main"]
    runs = [run.name for run in session.snapshot.runs]
    room = len(runs) < MOST_RUNS
    motions = [*KINDS, *BACK.values(), "over", "over-back"]
    match dice.randrange(16):
        case 0 | 1 | 2:
            return f"{dice.choice(motions)} {dice.choice(['', '', '2', '5'])}".strip()
        case 3:
            return dice.choice(["out", "out-back", "continue", "reverse", "tag", "tag-back", "node", "node-back"])
        case 4:
            return f"{dice.choice(['node', 'node-back', 'inspect', 'watch', 'unwatch', 'values', 'why-not'])} {node}"
        case 5:
            return f"goto {dice.randint(0, len(session.history) + 2)}"
        case 6:
            return dice.choice(["run", "start", "goto @a", "goto @b"])
        case 7:
            return f"break {dice.choice(CONDITIONS)}{dice.choice(['', ' ignore 2'])}"
        case 8:
            return f"{dice.choice(['disable', 'enable', 'delete'])} {dice.randint(1, 4)}"
        case 9:
            return f"bookmark {dice.choice('ab')} a note"
        case 10 if room:
            return "fork"
        case 11 if room and state.flight:
            return f"choose {dice.randrange(len(state.flight))}"
        case 12 if room and state.flight:
            return _edit(session, dice, tags)
        case 13:
            return f"switch {dice.choice(runs)}"
        case 14:
            return f"{dice.choice(['why', 'who'])} {node} {dice.choice(['', *tags])}"
        case _:
            return dice.choice([*ASKING, "undo", "undo", "redo", f"compare {dice.choice(runs)}", "difference"])


def _edit(session: Session, dice: random.Random, tags: list[str]) -> str:
    """A command that edits a token in flight, or injects a similar one."""
    state = session.history.state
    number = dice.randrange(len(state.flight))
    token = state.flight[number]
    if isinstance(token.value, Handle) or token.tag.depth > 9:
        return "event"
    value = format_value(other_value(token.value))
    if dice.random() < 0.6:
        return f"change {number} {value}"
    return f"inject {session.history.graph.nodes[token.node]} {token.port} {token.tag} {value}"


def walk_violations(session: Session, seed: int, moves: int = 20) -> Iterator[str]:
    """Violations on a random walk of commands: a state differs from replay, `undo` does not restore a state, or a reply
    is not JSON, or its JSON says something else."""
    dice, replays = random.Random(seed), Replays()
    for _ in range(moves):
        line = a_line(session, dice)
        before = shown(session) if dice.random() < 0.5 else None
        reply = session.execute(line)
        yield from reply_violations(reply.to_json())
        yield from place_violations(session, line, replays)
        yield from known_violations(session, line)
        if before is not None and line not in ("undo", "redo"):
            yield from undo_violations(session, line, before)


def reply_violations(form: dict[str, Any]) -> Iterator[str]:
    """A reply has a JSON form with the same content."""
    try:
        written = json.dumps(form, allow_nan=False)
    except (TypeError, ValueError) as error:
        yield f"the reply to {form['command']} is no JSON: {error}"
        return
    if json.loads(written) != form:
        yield f"the reply to {form['command']} is otherwise as JSON"
    if form["ok"] == ("error" in form["data"]):
        yield f"the reply to {form['command']} does not say whether it could be done"


class Replays:
    """Replays from event 0, cached by their events and edits."""

    def __init__(self) -> None:
        self._seen: dict[Any, Any] = {}

    def state_fields(self, history: History) -> Any:
        """The state that replay reaches at a history's position."""
        key = (history, id(history.edits), *map(id, history[: history.position]))
        if key not in self._seen:
            self._seen[key] = state_fields(replay_state(history, history.position))
        return self._seen[key]


def place_violations(session: Session, line: str, replays: Replays) -> Iterator[str]:
    """Every run is in the state to which its choices and edits lead from event 0."""
    for run in session.snapshot.runs:
        history = run.history
        if state_fields(history.state) != replays.state_fields(history):
            yield f"after {line}, {history} is not where replay is"


def known_violations(session: Session, line: str) -> Iterator[str]:
    """The known events of the current run, some of which belong to other runs, give the same answers as a fresh index
    of them."""
    run, points = session.run, session.snapshot.breakpoints
    yield from index_violations(run, line)
    for point in points:
        hits = [
            stops.hits(points, point.number, run.history)
            for stops in (run.breakpoints, RunBreakpoints(run.history.graph))
        ]
        if hits[0] != hits[1]:
            yield f"after {line}, breakpoint {point} has {hits[0]} hits in {run.history}, and not {hits[1]}"


def index_violations(run: SessionRun, line: str) -> Iterator[str]:
    """The index of a run gives the same answers as a fresh one."""
    run.index.catch_up(run.history)
    fresh = RunIndex(run.history)
    fresh.catch_up(run.history)
    for what, tell in INDEX_QUERIES.items():
        if tell(run.index, run.history) != tell(fresh, run.history):
            yield f"after {line}, other {what} of {run.history} are known than happened"


def fork_violations(session: Session, seed: int, forks: int = 4) -> Iterator[str]:
    """Violations in forks of forks, each at a random event that is known and that breakpoints have seen."""
    dice = random.Random(seed)
    session.execute("break fired")
    for _ in range(forks):
        session.execute(dice.choice(["run", f"step {dice.randint(1, 30)}"]))
        session.execute("breaks")
        yield from known_violations(session, "a motion")
        session.execute(f"goto {dice.randint(0, len(session.history))}")
        flight = len(session.history.state.flight)
        session.execute(dice.choice(["fork", f"choose {dice.randrange(flight)}"]) if flight else "fork")
        yield from known_violations(session, "a fork")


INDEX_QUERIES: dict[str, Callable[[RunIndex, History], Any]] = {
    "firings": lambda known, history: [list(known.firings(node)) for node in range(len(history.graph.nodes))],
    "ends of waves": lambda known, history: (list(known.wave_ends), known.waves()[0].tolist()),
    "waves": lambda known, history: (
        (known.waves()[1].tolist(), known.wave_firings)
        if history.schedule == "waves" or not history.base
        else "of the first, only some of the firings are known"
    ),
    "traps": lambda known, history: list(known.traps),
    "numbers": lambda known, history: [known.number_activation(event.token.tag) for event in history],
    "activations": lambda known, history: [
        _activation(known.activation(tag))
        for tag in {token.tag for event in history for token in (event.token, *event.sent)}
    ],
}


def _activation(summary: ActivationSummary) -> Any:
    facts = [sorted((node, at) for node, (at, _) in each.items()) for each in (summary.arguments, summary.results)]
    return summary.open_position, facts, [(at, tag.path()) for at, tag in summary.children]


def undo_violations(session: Session, line: str, before: Any) -> Iterator[str]:
    """`undo` restores what was shown before a command, and `redo` restores what was shown after it."""
    after = shown(session)
    if after == before:
        return
    if not session.execute("undo").ok or shown(session) != before:
        yield f"undo does not undo {line}"
    if not session.execute("redo").ok or shown(session) != after:
        yield f"redo does not do {line} again"


def motion_violations(session: Session, seed: int, moves: int = 12) -> Iterator[str]:
    """From a stop, a command and its reverse lead back, in either order; there is no stop between."""
    dice = random.Random(seed)
    for _ in range(moves):
        history = session.history
        session.execute(f"goto {dice.randint(0, max(len(history), 8))}")
        name = dice.choice(list(KINDS))
        session.execute(dice.choice([name, BACK[name]]))
        for command, back in ((name, BACK[name]), (BACK[name], name)):
            start = history.position
            session.execute(command)
            end = history.position
            yield from _between(history, name, start, end)
            if end != start:
                session.execute(back)
            if history.position != start:
                yield f"from {start}, {command} leads to {end}, and {back} to {history.position}"


def _between(history: History, name: str, start: int, end: int) -> Iterator[str]:
    """A command ends at a stop or at the end of the run, and passes over no stop."""
    low, high = sorted((start, end))
    passed = [at for at in range(low + 1, high) if KINDS[name](history[at - 1])]
    is_stop = end in (0, len(history)) or KINDS[name](history[end - 1])
    if passed or not is_stop:
        yield f"{name} from {start} to {end} passes over {passed}"
    if end == start and start not in (0, len(history)):
        yield f"{name} stays at {start}"


def activation_violations(session: Session) -> Iterator[str]:
    """`over` from a firing goes to the next firing of the same activation, or to where that has closed; `over-back`
    leads back. `out` ends where the activation has closed, and `out-back` before it opened."""
    history = session.history
    session.execute("run")
    for position in range(1, len(history)):
        session.execute(f"goto {position}")
        tag, event = session.current_tag, history[position - 1]
        if not event.is_firing or tag != event.token.tag or tag.site.kind != "call":
            continue
        session.execute("over")
        later = range(position + 1, len(history) + 1)
        expected = next((at for at in later if _is_next(history[at - 1], tag)), len(history))
        if history.position != expected:
            yield f"over from {position} leads to {history.position}, not {expected}"
        if (
            history.position < len(history)
            and history[expected - 1].is_firing
            and history[expected - 1].token.tag == tag
        ):
            session.execute("over-back")
            if history.position != position:
                yield f"over from {position} to {expected}, and over-back to {history.position}"
        session.execute(f"goto {position}")
        session.execute("out-back")
        if history.position and tag in history.state.records:
            yield f"out-back from {position} stays in {tag}"
        session.execute(f"goto {position}")
        session.execute("out")
        if tag in history.state.records and history.position < len(history):
            yield f"out from {position} stays in {tag}"


def around_violations(session: Session, seed: int, moves: int = 40) -> Iterator[str]:
    """From any event, commands that move by activation or by iteration end where single steps would."""
    dice, history = random.Random(seed), session.history
    session.execute("run")
    for _ in range(moves):
        position = dice.randint(0, len(history))
        for name, walk in SLOWLY.items():
            session.execute(f"goto {position}")
            scope = (
                current_scope(session)
                if name != "over-back" or not position
                else scope_of(history[position - 1].token.tag)
            )
            walk(history, scope)
            expected = history.position
            session.execute(f"goto {position}")
            session.execute(name)
            if history.position != expected:
                yield f"{name} from {position} leads to {history.position}, not {expected}"


def _slowly_over(history: History, scope: ActivationScope) -> None:
    history.forward_to(
        lambda state, event: scope.includes_firing(event) or (bool(event.closed) and not scope.is_open(state))
    )


def _slowly_out(history: History, scope: ActivationScope) -> None:
    history.forward_to(lambda state, event: bool(event.closed) and not scope.is_open(state))


def _slowly_over_back(history: History, scope: ActivationScope) -> None:
    while history.back() is not None and history.position:
        if scope.includes_firing(history[history.position - 1]):
            return
        if not scope.is_open(history.state):
            history.forward()
            return


def _slowly_out_back(history: History, scope: ActivationScope) -> None:
    while history.back() is not None and scope.is_open(history.state):
        pass


SLOWLY: dict[str, Callable[[History, ActivationScope], None]] = {
    "over": _slowly_over,
    "out": _slowly_out,
    "over-back": _slowly_over_back,
    "out-back": _slowly_out_back,
}


def _is_next(event: Event, tag: Any) -> bool:
    return (event.is_firing and event.token.tag == tag) or any(closed.tag == tag for closed in event.closed)
