"""`try` with handlers: exceptions on which symbolic conditions decide, and that the same function catches.

The body runs up to its first check that a handler catches (`tries.py`). Its changes are undone, and the `try` becomes a
conditional on the predicate of the check. The body runs again in both branches: in one of them the check passes; in the
other it raises its exception, which reaches the handlers as in Python. So a body with n such checks becomes n nested
branches. A loop of the program ends where a check of its body fails; after the loop, the program checks how it ended. A
recursive function is not run again in its caller: the exceptions that it may raise are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from ...errors import Invalid
from ...ops.effects import EFFECT_OPS
from ...program.program import Location
from ..trace.program_builder import RegionBuilder, RegionMark, current_region
from ..trace.python_operations import RAISED_AT, hides_fault
from ..trace.source_location import user_location
from . import staging
from .raising import nested_nodes, refuse_caught
from .state import AttributePlace, Place, Variables, commit, open_journal, record_write, register_created
from .trees import is_symbolic
from .tries import GUARDED, OpenTry, UndecidedCheck, check, open_construct, open_try
from .writes import set_attribute

MAX_CHECKS = 24
"""The most checks of a `try`: each is a branch around the others."""


def run_try(
    classes: Callable[[], Any],
    body: Callable[[], Any],
    handle: Callable[[BaseException], Any],
    otherwise: Callable[[], Any] | None,
    variables: Variables,
    decisions: Mapping[int, Any] = MappingProxyType({}),
) -> Any:
    """`try`: what its body, its `else` or a handler returns. `handle` raises an exception again, under the handlers.
    `decisions` says how checks of the body end, by their numbers."""
    region = current_region()
    assert region is not None, "only a trace has symbolic values"
    try:
        caught_classes = classes()
    except Exception:  # Python evaluates the classes only where an exception is raised
        caught_classes = Exception
    statement, where = OpenTry(caught_classes, region, decisions), user_location()
    mark, start = region.mark(), variables.read()
    undecided: UndecidedCheck | None = None
    error: BaseException | None = None
    result: Any = None
    with open_journal(0) as journal:
        try:
            with open_try(statement):
                result = body()
            calls = [node for node in nested_nodes(region.nodes[mark.sizes[0] :]) if node.op == "call"]
            refuse_caught(calls, region.specialization, caught_classes)
        except (Exception, SystemExit, KeyboardInterrupt) as raised_error:
            if isinstance(raised_error, Exception) and hides_fault(caught_classes, raised_error):
                region.specialization.keep_error(raised_error)
            error = raised_error
        except BaseException as reached:
            journal.undo()
            variables.write(start)
            if not isinstance(reached, UndecidedCheck) or reached.statement is not statement:
                raise
            undecided = reached
    if undecided is not None:
        number, condition = undecided.number, undecided.condition
        if number is None or number in decisions or len(decisions) == MAX_CHECKS:
            raise _undecidable_error(len(decisions), where)

        def run_again(decision: Any) -> Any:
            return run_try(classes, body, handle, otherwise, variables, {**decisions, number: decision})

        _keep_condition(region, mark, condition, where)
        if condition is GUARDED:
            return run_again(GUARDED)
        return staging.stage_branch(condition, lambda: run_again(True), lambda: run_again(False), variables)
    commit(journal)
    if error is not None:
        return handle(error)
    if otherwise is None:
        return result
    if is_symbolic(result):
        return staging.stage_branch(result, lambda: result, otherwise, variables)
    return result or otherwise()


def _undecidable_error(count: int, where: Location | None) -> Invalid:
    if count == MAX_CHECKS:
        return Invalid(
            f"symbolic conditions decide in more than {MAX_CHECKS} places whether a `try` catches an exception",
            rule="F4",
            where=where,
            hint="make the `try` smaller, or test the conditions by an `if`",
        )
    return Invalid(
        "a `try` catches an exception of the condition of a loop, or of a function in tl.cond or tl.while_loop",
        rule="F4",
        where=where,
        hint="write `while True`, and the test as an `if` with a `break`",
    )


def _keep_condition(region: RegionBuilder, mark: RegionMark, condition: Any, where: Location | None) -> None:
    """Undo what a run of the body has added to the region, but for the nodes that compute a condition. Raises Invalid
    (F4) where an effect is among these: the next run has it, too."""
    first = mark.sizes[0]
    needed = set() if condition is GUARDED else {condition._tagloom_value.name}
    kept_nodes = []
    for node in reversed(region.nodes[first:]):
        if not needed.isdisjoint(result.name for result in node.results):
            needed.update(operand for operand in node.inputs if isinstance(operand, str))
            kept_nodes.append(node)
    if any(node.op in EFFECT_OPS or node.op == "assert" for node in nested_nodes(kept_nodes)):
        raise Invalid(
            "whether a `try` catches an exception depends on an effect in its body",
            rule="F4",
            where=where,
            hint="move the effect out of the `try`, before it",
        )
    region.nodes[first:] = reversed(kept_nodes)
    region.store.clear()
    region.store.update(mark.store)
    region.specialization.aliases.reset(mark.aliases)


class _LoopFailure:
    """The exception of its body that ends a loop, by its number from 1; 0 if none does."""

    def __init__(self) -> None:
        self.number: Any = 0
        self.errors: list[Exception] = []

    def note(self, error: BaseException) -> None:
        """Take over the exception of an iteration."""
        if not isinstance(error, Exception):
            raise error
        keys = [(type(error), getattr(error, RAISED_AT, None)) for error in self.errors]
        key = type(error), getattr(error, RAISED_AT, None)
        if key not in keys:
            self.errors.append(error)
            keys.append(key)
        set_attribute(keys.index(key) + 1, self, "number")


def stage_loop(
    test: Callable[[], Any],
    body: Callable[[], Any],
    variables: Variables,
    live_places: Iterable[Place] = (),
    parallel_iterations: int | None = None,
) -> None:
    """`staging.stage_loop`, for a loop that a check of its body may end: a `try` around it catches the exception."""
    region = current_region()
    assert region is not None, "only a trace has symbolic values"
    construct, places = open_construct(region), list(live_places)
    failures = list[tuple[OpenTry, _LoopFailure]]()
    if construct.guards():
        body = _recorded_body(body, list(places))
    for statement in reversed(construct.guards()):
        failure = register_created(_LoopFailure())
        failures.append((statement, failure))
        places.append(AttributePlace(failure, "number", "failure"))
        body = _guarded_body(statement, body, failure, variables)
        test = _guarded_test(test, failure)
    with construct.surround(GUARDED):
        staging.stage_loop(test, body, variables, places, parallel_iterations)
    for _, failure in failures:
        for number, error in enumerate(failure.errors, start=1):
            check(failure.number != number, error)


def _recorded_body(body: Callable[[], Any], places: list[Place]) -> Callable[[], Any]:
    """The body of a loop, with its changes of these places announced."""

    def recorded_body() -> None:
        for place in places:
            record_write(place)
        body()

    return recorded_body


def _guarded_body(
    statement: OpenTry, body: Callable[[], Any], failure: _LoopFailure, variables: Variables
) -> Callable[[], Any]:
    return lambda: run_try(lambda: statement.classes, body, failure.note, None, variables)


def _guarded_test(test: Callable[[], Any], failure: _LoopFailure) -> Callable[[], Any]:
    def guarded_test() -> Any:
        if not is_symbolic(failure.number):
            return test() if failure.number == 0 else False
        return staging.stage_branch(failure.number == 0, test, lambda: False, Variables(lambda: None, ()))

    return guarded_test
