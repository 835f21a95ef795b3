"""Motions between a firing and the firings that go back through it, under the same tag."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.errors import Usage
from ...core.tag import Tag
from ...interp.machine.event import Event
from ...interp.queries.adjoints import nearest
from .arguments import Words
from .command import Group
from .describe import MOST
from .fast_forward import on_to
from .query_commands import place
from .reply import Said, cut
from .session import MOVING, Session
from .step_commands import stand

there_and_back = Group(MOVING)


@there_and_back.row(
    "adjoint", "[NODE [TAG]]", key="(", help="to the firing that goes back through this one, under its tag",
    reverse="forward",
)  # fmt: skip
def adjoint(session: Session, words: Words) -> Said:
    event, adjoints = _asked(session, words), session.run.adjoints
    wanted = nearest(adjoints, event)
    if not wanted:
        raise Usage(
            "nothing goes back through this firing",
            got=_said(session, event),
            hint="no float that is differentiated depends on it",
        )
    return _go(session, wanted)


@there_and_back.row(
    "forward", "[NODE [TAG]]", key=")", help="to the firing that this one goes back through, under its tag",
    reverse="adjoint",
)  # fmt: skip
def forward(session: Session, words: Words) -> Said:
    event, adjoints = _asked(session, words), session.run.adjoints
    nodes = adjoints.forward(event.token.node)
    if not nodes:
        hint = "`adjoint` goes on from a forward firing"
        raise Usage("this firing goes back through no other", got=_said(session, event), hint=hint)
    return _go(session, [(node, adjoints.home(event)) for node in nodes])


def _asked(session: Session, words: Words) -> Event:
    """The firing that is asked about: of the node and tag that are given, wherever one stands; or the last one."""
    history, known = session.history, session.run.known
    if words:
        name, tag = place(session, words)
        known.catch_up(history)
        events = (history[number] for number in known.fired(session.find(name)))
        found = next((event for event in events if event.token.tag == tag), None)
        if found is None:
            raise Usage(f"{name} has not fired under {tag}", hint=f"`why-not {name} {tag}` says why")
        return found
    fired = (at for at in range(history.position - 1, -1, -1) if history[at].fired)
    last = next(fired, None)
    if last is None:
        raise Usage("nothing has fired yet", hint="`step` goes to the next firing")
    return history[last]


def _said(session: Session, event: Event) -> str:
    return f"{session.history.graph.nodes[event.token.node]} under {event.token.tag}"


def _go(session: Session, wanted: Sequence[tuple[int, Tag]]) -> Said:
    """To the firing of the first of these nodes, in the activation that is named, over what is known, and on."""
    history, adjoints, known = session.history, session.run.adjoints, session.run.known

    def is_there(event: Event) -> bool:
        return event.inputs is not None and (event.token.node, adjoints.home(event)) in wanted

    known.catch_up(history)
    numbers = (number for node, _ in dict.fromkeys(wanted) for number in known.fired(node))
    found = [number for number in dict.fromkeys(numbers) if is_there(history[number])]
    if found:
        history.jump(found[0] + 1)
    else:
        history.jump(len(history))
        if not on_to(history, lambda state, event: is_there(event)):
            said = stand(session)
            return Said([*said.text, "  it has no partner in this run"], {**said.data, "partners": []})
        found = [history.position - 1]
    said, graph = stand(session), history.graph
    others = [f"  also {graph.nodes[history[at].token.node]} at event {at}" for at in found[1:]]
    return Said([*said.text, *cut(others, MOST)], {**said.data, "partners": found})
