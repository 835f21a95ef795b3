"""Commands that step between a firing and the firings that reverse it, under the same tag."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.errors import Usage
from ...core.tag import Tag
from ...interp.machine.event import Event
from ...interp.queries.adjoints import nearest_adjoints
from .arguments import CommandArguments
from .command import CommandGroup
from .describe import MAX_LINES
from .fast_forward import run_until
from .query_commands import parse_node_and_tag
from .reply import CommandResult, truncate_lines
from .session import STEP_GROUP, Session
from .step_commands import position_result

adjoint_commands = CommandGroup[Session](STEP_GROUP)


@adjoint_commands.register(
    "adjoint", "[NODE [TAG]]", key="(", help="to the firing that goes back through this one, under its tag",
    reverse="forward",
)  # fmt: skip
def adjoint(session: Session, words: CommandArguments) -> CommandResult:
    event, adjoints = _resolve_firing(session, words), session.run.adjoints
    wanted = nearest_adjoints(adjoints, event)
    if not wanted:
        raise Usage(
            "nothing goes back through this firing",
            got=_describe_firing(session, event),
            hint="no float that is differentiated depends on it",
        )
    return _goto_partner(session, wanted)


@adjoint_commands.register(
    "forward", "[NODE [TAG]]", key=")", help="to the firing that this one goes back through, under its tag",
    reverse="adjoint",
)  # fmt: skip
def forward(session: Session, words: CommandArguments) -> CommandResult:
    event, adjoints = _resolve_firing(session, words), session.run.adjoints
    nodes = adjoints.primal_nodes(event.token.node)
    if not nodes:
        hint = "`adjoint` goes on from a forward firing"
        raise Usage("this firing goes back through no other", got=_describe_firing(session, event), hint=hint)
    return _goto_partner(session, [(node, adjoints.activation_of(event)) for node in nodes])


def _resolve_firing(session: Session, words: CommandArguments) -> Event:
    """The firing of the given node and tag, whatever the position; or the last one."""
    history, known = session.history, session.run.index
    if words:
        name, tag = parse_node_and_tag(session, words)
        known.catch_up(history)
        events = (history[number] for number in known.firings(session.find_node(name)))
        found = next((event for event in events if event.token.tag == tag), None)
        if found is None:
            raise Usage(f"{name} has not fired under {tag}", hint=f"`why-not {name} {tag}` says why")
        return found
    fired = (at for at in range(history.position - 1, -1, -1) if history[at].fired)
    last = next(fired, None)
    if last is None:
        raise Usage("nothing has fired yet", hint="`step` goes to the next firing")
    return history[last]


def _describe_firing(session: Session, event: Event) -> str:
    return f"{session.history.graph.nodes[event.token.node]} under {event.token.tag}"


def _goto_partner(session: Session, wanted: Sequence[tuple[int, Tag]]) -> CommandResult:
    """Go to the firing of the first of these nodes, in its activation, over known events and beyond."""
    history, adjoints, known = session.history, session.run.adjoints, session.run.index

    def is_there(event: Event) -> bool:
        return event.inputs is not None and (event.token.node, adjoints.activation_of(event)) in wanted

    known.catch_up(history)
    numbers = (number for node, _ in dict.fromkeys(wanted) for number in known.firings(node))
    found = [number for number in dict.fromkeys(numbers) if is_there(history[number])]
    if found:
        history.jump(found[0] + 1)
    else:
        history.jump(len(history))
        if not run_until(history, lambda state, event: is_there(event)):
            said = position_result(session)
            return CommandResult([*said.text, "  it has no partner in this run"], {**said.data, "partners": []})
        found = [history.position - 1]
    said, graph = position_result(session), history.graph
    others = [f"  also {graph.nodes[history[at].token.node]} at event {at}" for at in found[1:]]
    return CommandResult([*said.text, *truncate_lines(others, MAX_LINES)], {**said.data, "partners": found})
