"""The reference machine: runs a graph step by step, and defines the meaning of every program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ...core.errors import Broken, Crash, Exhausted, Invalid, TagloomError, Usage
from ...core.frontend.trace.pytree import LEAF, TreeDef, flat_treedef
from ...core.frontend.trace.source_location import user_location
from ...core.graph.graph import Graph, GraphNode, require_graph
from ...core.graph.validate import graph_problems
from ...core.ops.effects import resource_of
from ...core.types import type_of
from ...core.value import Value, abbreviate, admit
from ...core.world import CallbackReplayWorld, World
from ..machine.dead_tokens import first_dead
from ..machine.event import Event
from ..machine.schedule import Pick, Script, continuation_of, resolve_schedule, schedule_name
from ..machine.schedule import schedule as schedule_named
from ..machine.state import State, check_seed
from ..machine.step import DuplicateToken, completes_operands, match_operands, step
from ..outcome.outcome import Outcome, build_outcome, limit_exceeded
from ..outcome.statistics import Meter
from ..records.event_sink import KeepOption, log_path, open_event_sink
from .interrupt import Interrupt, interrupt_at_once, interrupt_between_steps
from .limits import CLOCK_CHECK_STEPS, LimitMonitor, Limits, external_limit_error, resolve_limits
from .long_ops import OpAbandoned, compute_abandonable, exceeds_memory, may_take_long
from .protocol import Job, RunOptions, Until, check_until


def drive(state: State, pick: Pick, limits: Limits, interrupt: Interrupt | None = None) -> Iterator[Event]:
    """Step a state until it is quiescent, yielding each event after applying it.

    Raises Exhausted before a step would exceed a limit, memory included, and on Ctrl-C; Broken as `step` does.
    """
    if state.live_count > limits.max_tokens:
        raise limit_exceeded("tokens at once", "tokens", limits.max_tokens)
    monitor = LimitMonitor(limits.seconds, limits.bytes, interrupt or Interrupt())
    flight, limit_checked_nodes, event, is_check_due = state.flight, state.limit_checked_nodes, None, True
    while flight:
        if is_check_due or not state.steps % CLOCK_CHECK_STEPS:
            exceeded_limit = monitor.exceeded_limit(state.steps, event)
            if exceeded_limit is not None:
                raise external_limit_error(exceeded_limit, limits)
        position = pick(state)
        is_check_due = bool(limit_checked_nodes) and flight[position].node in limit_checked_nodes
        event = step_within_limits(state, position, limits, monitor, is_check_due=is_check_due)
        state.apply(event)
        yield event


def step_within_limits(
    state: State, position: int, limits: Limits, monitor: LimitMonitor, *, is_check_due: bool
) -> Event:
    """The event that delivers the token at `position`. `is_check_due` says that its node is one of those before whose
    firing limits are checked (`State.limit_checked_nodes`).

    Raises Exhausted if it would exceed a limit, or is interrupted; Broken as `step` does.
    """
    try:
        if is_check_due:
            _check_effect_limits(state, position, limits)
        operands = operands_of_pure_firing(state, position) if is_check_due else None
        node = state.graph.nodes[state.flight[position].node]
        if operands is not None and exceeds_memory(node, operands, limits.bytes):
            raise MemoryError
        if operands is not None and may_take_long(node.op, operands, node.outputs[0].type):
            event = compute_abandonable(
                partial(step, state, position), lambda: monitor.exceeded_limit(state.steps | 1, None)
            )
        else:
            event = step(state, position)
    except OpAbandoned as abandoned:
        raise external_limit_error(str(abandoned), limits) from None
    except MemoryError:
        raise out_of_memory_error(state, position) from None
    if event.inputs is not None:
        _check_event_limits(state, event, limits)
    return event


def operands_of_pure_firing(state: State, position: int) -> tuple[Value, ...] | None:
    """The operands of the firing of an op without effects, if the token at `position` completes them and none is dead;
    else None. Raises Broken as `step` does."""
    token = state.flight[position]
    rule = state.rules[token.node]
    operands = None if rule.effect is not None else match_operands(state, rule, state.records[token.tag], token)
    return None if operands is None or first_dead(operands) else operands


def _check_effect_limits(state: State, position: int, limits: Limits) -> None:
    """Check the limits before an effect happens; for other firings, `_check_event_limits` checks the event."""
    token = state.flight[position]
    rule = state.rules[token.node]
    if resource_of(rule.node.op) is None or not completes_operands(state, token):
        return
    if state.firings >= limits.max_firings:
        raise limit_exceeded("firings", "firings", limits.max_firings)
    outputs = zip(rule.edges, rule.routes, strict=True)
    token_count = sum(
        len(edges if routes is None else routes.get(token.tag.site, routes[None])) for edges, routes in outputs
    )
    if state.live_count + token_count - rule.required_tokens > limits.max_tokens:
        raise limit_exceeded("tokens at once", "tokens", limits.max_tokens)


def out_of_memory_error(state: State, position: int) -> Exhausted:
    """The error for a result that does not fit into memory; the token at `position` completes the operands."""
    node, details = _describe_firing(state, position)
    error = Exhausted(f"the result of node {node} does not fit into memory", rule="S12", **details)
    error.limit = "bytes"
    return error


def bad_operands_error(state: State, position: int) -> Broken:
    """The error for operands that a node cannot compute on; the token at `position` completes them."""
    node, details = _describe_firing(state, position)
    return Broken(
        f"node {node} cannot compute on its operands", rule="V9", required="operands that the op takes", **details
    )


def _describe_firing(state: State, position: int) -> tuple[GraphNode, dict[str, Any]]:
    """The node that the token at `position` fires, and the details of an error: source location, tag, operand types."""
    number, port, tag, value = state.flight[position]
    node = state.graph.nodes[number]
    operands_by_port = {**state.records[tag].waiting_operands.get(number, {}), port: value}
    operands = [operands_by_port.get(p, literal and literal.value) for p, literal in enumerate(node.ports)]
    types = [str(type_of(operand)) for operand in operands if operand is not None]
    return node, {"where": node.origin, "tag": tag, "got": f"{node.op} of {', '.join(types)}"}


def _check_event_limits(state: State, event: Event, limits: Limits) -> None:
    if state.firings >= limits.max_firings:
        raise limit_exceeded("firings", "firings", limits.max_firings)
    tokens = event.sent
    if tokens:
        if tokens[0].tag.depth > limits.depth:
            raise limit_exceeded("nested calls and loops", "depth", limits.depth)
        if state.live_count + len(tokens) - state.rules[event.token.node].required_tokens > limits.max_tokens:
            raise limit_exceeded("tokens at once", "tokens", limits.max_tokens)


def run_graph(
    graph: Graph,
    arguments: Sequence[object],
    *,
    schedule: str = "waves",
    until: Until = "quiet",
    limits: Limits | None = None,
    keep: KeepOption = None,
    unchecked: bool = False,
    seed: int = 0,
    k: int | None = None,
    world: World | None = None,
) -> Outcome:
    """Run a graph on arguments; the outcome says how the run ended.

    `until` may stop the run early, at the results or at the first trap. `keep="events"` keeps every event, `keep=N` the
    last N, and `keep=PATH` writes a log, of JSON lines if the path ends in .jsonl, in columns if it ends in .npz. A
    graph that breaks a rule is refused, unless `unchecked`: then it runs, to show the fault, and keeps its events. A
    graph that breaks V7 or V15 has no meaning, and is always refused.

    `seed` seeds random numbers. `k` overrides the k-bounds of all loops. `world` prints, and provides the Python
    functions of callbacks. `schedule` may be a Script.

    Raises Usage where the arguments do not fit or an option is unknown, Invalid where the graph breaks a rule.
    """
    is_ill_formed = breaks_rules(graph, unchecked=unchecked)
    return run_validated(
        graph,
        arguments,
        schedule=schedule,
        until=until,
        limits=limits,
        keep=keep,
        structure=default_structure(graph),
        is_ill_formed=is_ill_formed,
        seed=seed,
        k=k,
        world=world,
    )


def breaks_rules(graph: Graph, *, unchecked: bool) -> bool:
    """Whether a graph may break S4, because it breaks another rule or has dead tokens. Raises Invalid if it breaks V7
    or V15, and, unless `unchecked`, for any rule."""
    require_graph(graph)
    problems = graph_problems(graph)
    fatal_problems = [problem for problem in problems if problem.rule in ("V7", "V15")]
    if fatal_problems or (problems and not unchecked):
        raise combine_problems(fatal_problems or problems)
    return bool(problems) or graph.has_dead_tokens


def default_structure(graph: Graph) -> TreeDef:
    """The default nesting of a graph's results: flat."""
    return LEAF if len(graph.results) == 1 else flat_treedef(len(graph.results))


def run_validated(
    graph: Graph,
    arguments: Sequence[object],
    *,
    schedule: str | Script,
    until: Until,
    limits: Limits | None,
    keep: KeepOption,
    structure: TreeDef,
    is_ill_formed: bool = False,
    seed: int = 0,
    k: int | None = None,
    world: World | None = None,
) -> Outcome:
    """Run a graph that has been checked; `is_ill_formed` says whether it breaks rules."""
    schedule = resolve_schedule(schedule)
    pick = schedule_named(schedule)
    check_until(until)
    log_path(keep)
    limits = resolve_limits(limits)
    admitted, name = admit_arguments(graph, arguments), schedule_name(schedule)
    state = first_state(graph, admitted, schedule, seed, k, world)
    meter = Meter(state, is_clocked=state.is_clocked)
    with open_event_sink(keep, graph, admitted, name, seed, k) as sink:
        run_sink = replace(sink, events=[]) if is_ill_formed else sink
        error = resume(
            state, pick, limits, lambda: is_until_met(until, state), [meter.observe, *run_sink.observers], is_ill_formed
        )
        outcome = build_outcome(
            state,
            meter.stats(),
            add_first_token_note(error, run_sink.events or ()),
            until,
            schedule=name,
            engine="reference",
            structure=structure,
            **run_sink.outcome_fields(state.steps),
        )
        return run_sink.finish(outcome)


def first_state(
    graph: Graph,
    arguments: Sequence[Value],
    schedule: str | Script,
    seed: int = 0,
    k: int | None = None,
    world: World | None = None,
) -> State:
    """The first state of a run; raises Usage for invalid options."""
    check_seed(seed)
    if k is not None and (type(k) is not int or k < 1):
        raise Usage("k must be an integer from 1 up", got=repr(k))
    world_or_default = world or World()
    check_callbacks(graph, world_or_default)
    return State(
        graph, arguments, seed=seed, bound=k, is_clocked=continuation_of(schedule) == "waves", world=world_or_default
    )


def check_callbacks(graph: Graph, world: World) -> None:
    """Raises Usage where a graph calls Python functions that the world lacks."""
    callbacks = [node for node in graph.nodes if node.op == "callback"]
    missing = [node for node in callbacks if dict(node.attributes)["function"] not in world.callbacks]
    if missing and not isinstance(world, CallbackReplayWorld):
        name = dict(missing[0].attributes)["function"]
        raise Usage(
            f"this program calls Python, and no function is given for callback {name}",
            where=missing[0].origin,
            hint=f"pass it: world=tl.World(callbacks={{{name!r}: function}})",
        )


def is_until_met(until: Until, state: State) -> bool:
    """Whether a run with this `until` stops here, before it is quiescent."""
    match until:
        case "quiet":
            return False
        case "result":
            return len(state.results) == len(state.graph.results)
        case "trap":
            return bool(state.trap_events)


def resume(
    state: State,
    pick: Pick,
    limits: Limits,
    should_stop: Callable[[], bool],
    observers: Sequence[Callable[[Event], object]],
    is_ill_formed: bool,
) -> TagloomError | None:
    """Step a state until it is quiescent or `should_stop()`; returns the error that ended the run otherwise, or None.
    The `observers` get each event before `should_stop` is called. `is_ill_formed` says whether the graph breaks rules,
    or the run was edited.

    Ctrl-C is always reported, even if the run stops at the same time: by the returned error or, if nothing is left to
    do, by KeyboardInterrupt.
    """
    with interrupt_between_steps() as interrupt:
        error = _resume_events(state, pick, limits, interrupt, should_stop, observers, is_ill_formed)
        is_broken = isinstance(error, Broken)  # decided first; leaves a damaged state
        return (
            external_limit_error("interrupt", limits)
            if not is_broken and state.flight and interrupt.acknowledge()
            else error
        )


def _resume_events(
    state: State,
    pick: Pick,
    limits: Limits,
    interrupt: Interrupt,
    should_stop: Callable[[], bool],
    observers: Sequence[Callable[[Event], object]],
    is_ill_formed: bool,
) -> TagloomError | None:
    events = drive(state, pick, limits, interrupt)
    while True:
        try:
            event = next(events, None)
            if event is None:
                return None
            for observe in observers:
                observe(event)
        except (Broken, Exhausted) as error:
            if isinstance(error, Broken) and not is_ill_formed:
                raise Crash("the machine failed on a valid graph", where=state.graph.name) from error
            return error.with_traceback(None)  # its frames refer to the observers: a cycle, if one keeps the error
        except Exception:
            if not is_ill_formed:
                raise
            return bad_operands_error(state, pick(state))  # a failed step leaves the state unchanged
        if should_stop():  # outside the `try`: an error here is not the graph's fault
            return None


def add_first_token_note(error: TagloomError | None, events: Iterable[Event]) -> TagloomError | None:
    """Add a note about the first token to an error about a second one (S4); if a firing consumed the first token, only
    the events have it."""
    if isinstance(error, DuplicateToken):
        for event in events:
            if event.is_firing and (event.token.node, event.token.tag) == (error.token.node, error.token.tag):
                error.add_note(
                    f"  it fired before on {abbreviate(event.token.value)}, which came on port {event.token.port}"
                )
    return error


def combine_problems(problems: Sequence[Invalid]) -> Invalid:
    """The first problem of a graph, with the others as notes."""
    first = problems[0]
    for problem in problems[1:6]:
        first.add_note(f"  also {problem}".replace("\n", "\n  "))
    if len(problems) > 6:
        first.add_note(f"  and {len(problems) - 6} more")
    return first


def admit_arguments(graph: Graph, arguments: Sequence[object], convert: Callable[..., Value] = admit) -> list[Value]:
    """The arguments as values of the graph's types; raises Usage where they do not fit."""
    parameters = graph.arguments[graph.hidden_count :]
    if len(parameters) != len(arguments):
        signature = ", ".join(f"{name}: {output.type}" for name, output in parameters)
        raise Usage(
            f"{graph.name} takes {len(parameters)} argument{'s' * (len(parameters) != 1)}",
            required=f"{graph.name}({signature})",
            got=f"{len(arguments)} argument{'s' * (len(arguments) != 1)}",
        )
    values = []
    for (name, output), argument in zip(parameters, arguments, strict=True):
        try:
            values.append(convert(argument, output.type))
        except Usage as error:
            error.message, error.where = f"argument {name} of {graph.name}: {error.message}", user_location()
            raise
    return values


class ReferenceEngine:
    """The engine `reference`. Only it runs scripted schedules, and graphs that break rules."""

    name = "reference"
    has_tokens = True

    def unsupported(self, job: Job, options: RunOptions) -> str | None:
        return None

    def run(self, job: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
        with interrupt_at_once():
            return run_validated(
                job.graph,
                arguments,
                keep=options.keep,
                structure=job.structure,
                is_ill_formed=job.is_ill_formed,
                **options.token_engine_options(),
            )


ENGINE = ReferenceEngine()
