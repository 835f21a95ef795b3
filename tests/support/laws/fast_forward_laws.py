"""The laws of histories that begin at any event, and of sessions that fast-forward: they give the answers of ordinary
ones."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from pytest import MonkeyPatch
from support.laws.history_laws import state_fields
from support.laws.session_laws import index_violations
from support.observe.event_bits import bits
from tagloom.core.errors import Usage
from tagloom.core.graph.graph import Graph
from tagloom.core.tag import ROOT, Tag
from tagloom.interp.breakpoints.breakpoint import Breakpoints, breakpoint_on
from tagloom.interp.engines.limits import Limits
from tagloom.interp.history import fast_forward as travel_far
from tagloom.interp.history.fast_forward import build_stop_conditions
from tagloom.interp.history.history import History
from tagloom.interp.queries.answers import FiringOrigin, RoutedAway
from tagloom.interp.records.documents import to_outcome_record
from tagloom.tui.run_start import StartOptions
from tagloom.tui.session import fast_forward as session_far
from tagloom.tui.session import run as session_run
from tagloom.tui.session.commands import new_session
from tagloom.tui.session.session import Session

LIMITS = Limits(firings=150)
CONDITIONS = (
    "fired", "not fired", "trap", "depth >= 2", "depth > 0", "tag.depth == 1 and fired", "op == 'add' and fired",
    "not (op == 'merge') and fired", "value == 3", "value < 1 and fired", "-1 < value", "value != 0 and op == 'add'",
    "value", "value * 2 == 6", "value > 0.5", "not fired and value >= 2", "fired or value == 2", "inputs[0] == 1",
    "inputs[1] <= 2 and fired", "outputs[0] != 0", "iteration == 1", "count == 3", "step == 40",
    "firings > 30 and fired", "trap and op != 'add'", "trap or count >= 4 and op == 'switch'",
    "port == 1 and value > 1", "true", "not (value < 3 or op == 'merge')",
    "tag matches 'main/*' and value == 1", "lost", "store > 2",
)  # fmt: skip
"""Conditions on nodes, values, counts, several of these; and on what the fast machine does not know."""
LINES = (
    "step", "step 9", "back", "back 3", "event 20", "event-back 5", "wave", "wave-back", "result", "trap", "over",
    "out", "node", "node-back", "tag", "continue", "reverse", "run", "start",
)  # fmt: skip
BY_PLACE = ("over", "out", "node", "node-back", "tag")
"""Commands that end elsewhere if the last event of the run is not known."""
PLACES = ("flight", "state", "enabled", "tags")


def new_history(graph: Graph, arguments: Sequence[Any], schedule: str) -> History:
    return History(graph, arguments, schedule=schedule, limits=LIMITS, spacing=5)


def base_violations(graph: Graph, arguments: Sequence[Any], schedule: str, seed: int) -> Iterator[str]:
    """A history with a base at event i equals an ordinary one at every event that it knows: the event, the state, its
    description, the statistics and the end of the run. This also holds after more of its past is revealed."""
    dice, full = random.Random(seed), new_history(graph, arguments, schedule)
    if full.unsupported_reason is not None:
        return
    expected = full.run()
    position, window = dice.randint(0, len(full)), dice.randint(0, 9)
    history_ = new_history(graph, arguments, schedule)
    for _ in range(dice.choice([0, 0, 5, 40])):
        history_.forward()
    forwarded = history_.fast_forward(position, window=window)
    if forwarded is history_:
        forwarded.run()
        forwarded = forwarded.fast_forward(position, window=window) if forwarded.base else forwarded
    elif forwarded.base != max(position - window, 0):
        yield f"the base is {forwarded.base}, and not {window} before {position}"
    yield from same_places(forwarded, full, dice)
    if to_outcome_record(forwarded.run()) != to_outcome_record(expected):
        yield f"from {forwarded.base} on, it ends otherwise"
    yield from same_places(forwarded, full, dice)
    yield from answer_violations(forwarded, full, dice)
    stood = forwarded.jump(dice.randint(forwarded.base, len(forwarded))).snapshot(), forwarded.position
    first = dice.randint(0, forwarded.base)
    forwarded.reveal(first)
    if forwarded.base != first:
        yield f"{first} was to be revealed, and the base is {forwarded.base}"
        return
    if (forwarded.state.snapshot(), forwarded.position) != stood:
        yield "one stands elsewhere since more is known"
    yield from same_places(forwarded, full, dice, 4)
    yield from answer_violations(forwarded, full, dice)
    branch = forwarded.branch()
    branch.run()
    yield from same_places(branch, full, dice)


def same_places(forwarded: History, full: History, dice: random.Random, places: int = 2) -> Iterator[str]:
    """Both histories are the same, at some of the positions that both know."""
    if forwarded.base > len(forwarded) or len(forwarded) > len(full):
        yield f"{forwarded.base} to {len(forwarded)} is known of {len(full)}"
        return
    numbers = range(forwarded.base, len(forwarded))
    if [bits(forwarded[number]) for number in numbers] != [bits(full[number]) for number in numbers]:
        yield f"other events from {forwarded.base} on"
        return
    for position in (
        forwarded.base,
        len(forwarded),
        *(dice.randint(forwarded.base, len(forwarded)) for _ in range(places)),
    ):
        full.jump(position)
        if state_fields(forwarded.at(position)) != state_fields(full.state):
            yield f"another state at {position}, known from {forwarded.base} on"
            return
        forwarded.jump(position)
        if forwarded.stats != full.stats:
            yield f"other measures at {position}: {forwarded.stats}, and not {full.stats}"
        lines = [str(each.moment()).splitlines() for each in (forwarded, full)]
        if position > forwarded.base and lines[0] != lines[1]:
            yield f"another moment at {position}: {lines}"


def answer_violations(forwarded: History, full: History, dice: random.Random, count: int = 8) -> Iterator[str]:
    """Each answer equals the ordinary one as far as its events are known; otherwise it says that it is partial."""
    position = dice.randint(forwarded.base, len(forwarded))
    forwarded.jump(position), full.jump(position)
    tags = list(full.state.records) + [full[at].token.tag for at in dice.sample(range(position), min(position, 5))]
    for _ in range(count):
        node, tag = str(dice.choice(full.graph.nodes)), dice.choice(tags or [ROOT])
        for question in (_has_fired, _why_not, _behind, _users):
            try:
                expected = question(full, node, tag, forwarded.base)
            except Usage:
                continue  # no such place, or it has not fired
            try:
                result = question(forwarded, node, tag, forwarded.base)
            except Usage as error:
                if "known" not in error.message:
                    yield f"{question.__name__} {node} under {tag} at {position}: {error}"
                continue
            if result != expected:
                place = f"{node} under {tag} at {position}"
                yield f"{question.__name__} {place}, known from {forwarded.base}: {result} {expected}"


def _has_fired(history: History, node: str, tag: Tag, base: int) -> Any:
    number = history.ask.index.firing_event(history.graph.only(node), tag)
    return None if number is not None and number < base else number


def _why_not(history: History, node: str, tag: Tag, base: int) -> Any:
    answer = history.ask.why_not(node, tag)
    if answer.verdict == "fired":
        return None if answer.firing is not None and answer.firing.number < base else str(answer)
    return answer.verdict, answer.activation_status, sorted(_reason(root.reason, base) for root in answer.root_causes)


def _reason(reason: Any, base: int) -> str:
    if isinstance(reason, RoutedAway) and reason.firing.number < base:
        return "RoutedAwayEarlier"
    return type(reason).__name__


def _behind(history: History, node: str, tag: Tag, base: int) -> Any:
    """The firings on which one depends, except those reached only through firings before the base."""
    index, first = history.ask.index, history.ask.firing(node, tag).number
    if first < base:
        return None
    results, ahead = dict[int, Any](), [first]
    while ahead:
        number = ahead.pop()
        operands = [(port, sender if sender >= base else None) for port, sender in index.operands(number)]
        results[number] = operands
        ahead += [sender for _, sender in operands if sender is not None and sender not in results]
    return results


def _users(history: History, node: str, tag: Tag, base: int) -> Any:
    firing = history.ask.firing(node, tag)
    if firing.number < base:
        return None
    links = history.ask.who_used(node, tag)
    return [link.number for link in links if isinstance(link.origin, FiringOrigin)]


def stop_violations(graph: Graph, arguments: Sequence[Any], schedule: str, seed: int) -> Iterator[str]:
    """The next hit of a breakpoint is where the reference machine finds it, whichever engine runs."""
    dice, full = random.Random(seed), new_history(graph, arguments, schedule)
    if full.unsupported_reason is not None:
        return
    for condition in dice.sample(CONDITIONS, 8):
        start = new_history(graph, arguments, schedule)
        for _ in range(dice.choice([0, 3, 20, 60])):
            start.forward()
        try:
            points = [Breakpoints(), Breakpoints()]
            for each in points:
                each.add(breakpoint_on(graph, condition))
        except Usage:
            continue  # the graph has no such node
        conditions = build_stop_conditions(points[0], start.state)
        if isinstance(conditions, str):
            continue
        forwarded = start.fast_forward(None, conditions, window=dice.randint(0, 9))
        forwarded.jump(len(forwarded))
        forwarded.forward_to(points[0])
        if forwarded is start:
            continue
        full = new_history(graph, arguments, schedule)
        while len(full) < len(start):
            full.forward()
        full.forward_to(points[1])
        if forwarded.position != full.position or state_fields(forwarded.state) != state_fields(full.state):
            yield f"{condition} from {len(start)} on is hit at {forwarded.position}, and not at {full.position}"


def hit_violations(graph: Graph, arguments: Sequence[Any], schedule: str, seed: int) -> Iterator[str]:
    """From the beginning, breakpoints and log points stop a fast-forwarding session at the events where they stop one
    that knows all events, with the same messages and hit counts; this includes breakpoints with ignore counts. The
    fast-forwarding session may have been further in the run before."""
    dice = random.Random(seed)
    with MonkeyPatch.context() as patch:
        near(patch)
        sessions = pair(graph, arguments, schedule)
        if dice.random() < 0.5:
            sessions[0].execute(f"goto {dice.randint(30, 150)}")
            sessions[0].execute("undo")
        for condition in dice.sample(CONDITIONS, dice.choice((1, 3))):
            ignored, text = dice.randint(1, 9), "{step} {count} {value} of {node} {inputs[0]} {tag}"
            lines = (f"break {condition}", f"break {condition} ignore {ignored}", f'log {condition} "{text}"')
            line = dice.choice(lines)
            for session in sessions:
                session.execute(line)
        points = [str(point) for point in sessions[0].snapshot.breakpoints]
        for _ in range(4):
            replies = [session.execute("continue").data for session in sessions]
            results = [(reply["position"], reply["logged"], reply["hits"]) for reply in replies]
            if results[0] != results[1]:
                yield f"{points}: {results[0]}, and not {results[1]}"
                return
            counts = [
                [point["hits"] for point in session.execute("breaks").data["breakpoints"]] for session in sessions
            ]
            if counts[0] != counts[1]:
                yield f"{points}: hit {counts[0]} times, and not {counts[1]}"


def near(patch: MonkeyPatch) -> None:
    """Makes sessions fast-forward even over few events."""
    patch.setattr(session_far, "FAST_FORWARD_THRESHOLD", 12)
    for module in (session_far, session_run):
        patch.setattr(module, "REVEAL_LIMIT", 15)
    for module in (session_far, session_run, travel_far):
        patch.setattr(module, "WINDOW", 8)


def pair(graph: Graph, arguments: Sequence[Any], schedule: str) -> tuple[Session, Session]:
    """A fast-forwarding session, and one that knows every event."""
    sessions = new_session(), new_session(StartOptions(whole=True))
    for session in sessions:
        session.add_run(new_history(graph, arguments, schedule))
    return sessions


def session_violations(graph: Graph, arguments: Sequence[Any], schedule: str, seed: int) -> Iterator[str]:
    """The same commands lead both sessions to the same position; on the way back, the fast-forwarding one may stop
    where its known events begin. From anywhere, undo leads back."""
    dice = random.Random(seed)
    with MonkeyPatch.context() as patch:
        near(patch)
        forwarded, full = pair(graph, arguments, schedule)
        for session in (forwarded, full):
            session.execute("break fired")
        for _ in range(25):
            lines = (
                LINES
                if forwarded.history.last_event or not forwarded.history.base
                else [each for each in LINES if each not in BY_PLACE]
            )
            line, stood = dice.choice([*lines, *[f"goto {dice.randint(0, 160)}"] * 8]), forwarded.history.position
            texts = [session.execute(line).text for session in (forwarded, full)]
            place = forwarded.history.position
            if place != full.history.position:
                if place != forwarded.history.base or full.history.position > place:
                    yield f"{line} from {stood} leads to {place}, and not to {full.history.position}: {texts}"
                    return
                place = full.history.position
                forwarded.execute(f"goto {place}")
            if dice.random() < 0.3 and place != stood:
                forwarded.execute("undo")
                forwarded.execute("redo")
            yield from same_session(forwarded, full, f"{line} from {stood}")
            yield from index_violations(forwarded.run, f"{line} from {stood}")


def same_session(forwarded: Session, full: Session, line: str) -> Iterator[str]:
    """Both sessions are at the same position, and describe it alike."""
    history, required = forwarded.history, full.history
    if history.position != required.position or state_fields(history.state) != state_fields(required.state):
        place = f"{history.position}, known from {history.base} on"
        yield f"after {line}, another state at {place}, than at {required.position}"
        return
    for place in PLACES if history.position > history.base else ():
        texts = [sorted(session.execute(place).text) for session in (forwarded, full)]
        if texts[0] != texts[1]:
            yield f"{place} says otherwise after {line} at {history.position}: {texts}"
