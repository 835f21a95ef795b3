"""Operators: what the constructs of Python do in converted code, by the type of what they test, iterate over, or call.

A converted function calls these as `ag__.NAME`. With concrete values each does what Python does; with symbolic values
it adds to the program under trace.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable, Sequence
from operator import eq as equal
from operator import ge as greater_equal
from operator import gt as greater
from operator import le as less_equal
from operator import lt as less
from operator import ne as not_equal
from typing import Any, Literal, TypeAlias

from ...errors import Invalid
from ..eager.apply import apply
from ..trace.captures import read_variable
from ..trace.program_builder import current_region, to_operand, unwrap_weak
from ..trace.source_location import user_location
from ..trace.symbol import Symbol, array_namespace
from .calls import announce_iteration, call
from .convert import OPERATORS
from .raising import handlers, raised, stage_assertion
from .ranges import SymbolicRange
from .staging import is_symbolic, stage_branch, stage_loop, truth_operand
from .state import (
    AttributePlace,
    CellPlace,
    GlobalPlace,
    MaybeUnassigned,
    Undefined,
    Variables,
    commit,
    open_journal,
    record_write,
    register_created,
)
from .texts import field, join_text
from .writes import augment, delete_attribute, delete_item, set_attribute, set_item

__all__ = [
    "and_",
    "assert_",
    "augment",
    "before_global",
    "before_nonlocal",
    "call",
    "chain",
    "created",
    "delete_attribute",
    "delete_item",
    "equal",
    "field",
    "for_stmt",
    "greater",
    "greater_equal",
    "handlers",
    "if_exp",
    "if_stmt",
    "in_",
    "is_",
    "is_last_exit",
    "is_not",
    "join_text",
    "less",
    "less_equal",
    "load",
    "not_",
    "not_equal",
    "not_in",
    "or_",
    "present",
    "raised",
    "set_attribute",
    "set_item",
    "slice",
    "while_stmt",
]  # fmt: skip

slice = builtins.slice
Thunk: TypeAlias = Callable[[], Any]
LoopForm: TypeAlias = Literal["plain", "break", "exit", "exits"]
"""What the body of a loop returns: nothing; whether the loop goes on; that, and whether an exit was taken that must be
told; that, and the number of the exit taken, 0 if none."""


def if_stmt(test: Any, then: Thunk, otherwise: Thunk, state: Thunk, live: Sequence[str] = ()) -> Any:
    """`if`: what the arm that is taken returns. `state` closes over the variables that the arms assign; `live` names
    those that are read afterwards."""
    if is_symbolic(read_variable(test)):
        return stage_branch(test, then, otherwise, Variables(state, live))
    return then() if test else otherwise()


def _no_state() -> None:
    """The state of a branch that assigns no variables."""


def if_exp(test: Any, then: Thunk, otherwise: Thunk, state: Thunk = _no_state) -> Any:
    """`then if test else otherwise`."""
    return if_stmt(test, then, otherwise, state, state.__code__.co_freevars)


def and_(one: Any, *others: Thunk, state: Thunk = _no_state) -> Any:
    """`one and ...`: the first operand that is false, else the last."""
    if not others:
        return one
    return if_exp(one, lambda: and_(others[0](), *others[1:], state=state), lambda: one, state)


def or_(one: Any, *others: Thunk, state: Thunk = _no_state) -> Any:
    """`one or ...`: the first operand that is true, else the last."""
    if not others:
        return one
    return if_exp(one, lambda: one, lambda: or_(others[0](), *others[1:], state=state), state)


def not_(value: Any) -> Any:
    """`not value`."""
    if not is_symbolic(read_variable(value)):
        return not value
    operand = truth_operand(read_variable(value))
    return apply("logical_not", Symbol(operand))  # type: ignore[arg-type]


def chain(one: Any, *steps: Any, state: Thunk = _no_state) -> Any:
    """`a < b < c`: `steps` are pairs of a comparison and a function that computes its right operand, which is called
    once, and only if the comparisons before are true."""
    compare, operand, *rest = steps
    other = operand()
    result = compare(one, other)
    if not rest:
        return result
    return if_exp(result, lambda: chain(other, *rest, state=state), lambda: result, state)


def in_(item: Any, container: Any) -> Any:
    """`item in container`, where one of them is symbolic: in an array, a range, or a collection of values."""
    container = read_variable(container)
    if is_symbolic(container):
        return array_namespace().any(container == item)
    if isinstance(container, list | tuple) and (is_symbolic(item) or any(map(is_symbolic, container))):
        return or_(False, *(lambda each=each: each is item or each == item for each in container))
    if isinstance(container, SymbolicRange) or (isinstance(container, range) and is_symbolic(item)):
        return _in_range(item, container)
    if isinstance(container, set | frozenset | dict) and is_symbolic(item):
        return or_(False, *(lambda each=each: item == each for each in container))
    return item in container


def _in_range(item: Any, numbers: range | SymbolicRange) -> Any:
    """`item in range(...)`, by arithmetic. Raises Invalid (F4) for a symbolic step."""
    start, stop, step = numbers.start, numbers.stop, numbers.step
    if is_symbolic(step):
        raise Invalid(
            "`in` takes no range with a symbolic step",
            rule="F4",
            where=user_location(),
            hint="compare with its bounds, and take the remainder",
        )
    is_within = chain(start, less_equal, lambda: item, less, lambda: stop)
    if step < 0:
        is_within = chain(stop, less, lambda: item, less_equal, lambda: start)
    return is_within if step in (1, -1) and _is_integer(item) else and_(is_within, lambda: (item - start) % step == 0)


def _is_integer(item: Any) -> bool:
    return isinstance(item, int) or (is_symbolic(item) and read_variable(item)._tagloom_value.type.dtype.kind in "iu")


def not_in(item: Any, container: Any) -> Any:
    """`item not in container`."""
    return not_(in_(item, container))


def is_(one: Any, other: Any) -> Any:
    """`one is other`. Raises Invalid (F4) for two numbers of which one is symbolic: only bools have an identity."""
    values = read_variable(one), read_variable(other)
    if one is other or not any(map(is_symbolic, values)):
        return one is other
    if not all(is_symbolic(value) or isinstance(value, bool | int | float) for value in values):
        return False
    kinds = [to_operand(unwrap_weak(value)).type for value in values]
    if kinds[0] == kinds[1] and kinds[0].is_scalar and kinds[0].dtype.kind == "b":
        return values[0] == values[1]
    raise Invalid("`is` does not compare numbers", rule="F4", where=user_location(), hint="write x == y, or x != y")


def is_not(one: Any, other: Any) -> Any:
    """`one is not other`."""
    return not_(is_(one, other))


def while_stmt(
    test: Thunk,
    body: Callable[..., Any],
    state: Thunk,
    live: Sequence[str],
    form: LoopForm = "plain",
    parallel_iterations: int | None = None,
) -> Any:
    """`while`: the number of the exit taken, if the form tells. The body of a loop with exits gets the test, which it
    calls where the loop goes on.

    The loop runs in Python until its test is symbolic; the rest is staged."""
    variables = Variables(state, live)
    if form == "plain":
        while True:
            go_on, is_staged = _evaluate(test, variables)
            if is_staged:
                stage_loop(test, body, variables, parallel_iterations=parallel_iterations)
                return 0
            if not go_on:
                return 0
            body()
    loop = register_created(ExitLoop(form))

    def truth() -> Any:
        value = read_variable(test())
        return Symbol(truth_operand(value)) if is_symbolic(value) else bool(value)  # type: ignore[arg-type]

    loop.go_on = truth()
    while not is_symbolic(loop.go_on):
        if not loop.go_on:
            return loop.exit_number
        loop.take(body(truth))
    stage_loop(lambda: loop.go_on, lambda: loop.take(body(truth)), variables, loop.places(), parallel_iterations)
    return loop.exit_number


def _evaluate(test: Thunk, variables: Variables) -> tuple[Any, bool]:
    """The test of a loop, and whether it is symbolic; then nothing is left of its evaluation."""
    region = current_region()
    if region is None:
        return test(), False
    mark, start = region.mark(), variables.read()
    with open_journal(0) as journal:
        value = test()
        is_staged = is_symbolic(read_variable(value))
        if is_staged:
            journal.undo()
            variables.write(start)
            region.reset(mark)
    if not is_staged:
        commit(journal)
    return value, is_staged


class ExitLoop:
    """The state that a loop with exits has besides its variables: whether it goes on, and by which exit it left."""

    def __init__(self, form: LoopForm) -> None:
        self.form = form
        self.go_on: Any = True
        self.exit_number: Any = 0 if form == "exits" else False

    def take(self, result: Any) -> None:
        """Take over what the body has returned."""
        if self.form == "break":
            self.go_on = result
        else:
            self.go_on, self.exit_number = result

    def places(self) -> list[AttributePlace]:
        """What a staged loop carries."""
        names = ("go_on",) if self.form == "break" else ("go_on", "exit_number")
        return [AttributePlace(self, name, name) for name in names]


def for_stmt(
    iterable: Any,
    target: Callable[[Any], Any],
    body: Callable[..., Any],
    state: Thunk,
    live: Sequence[str],
    form: LoopForm = "plain",
    last: str = "",
    parallel_iterations: int | None = None,
) -> Any:
    """`for`: the number of the exit taken, if the form tells. `target` assigns an item to the loop's target. `last` is
    the name of the target if it is read after the loop and the body does not assign it."""
    if isinstance(iterable, SymbolicRange):
        return _for_range(iterable, target, body, Variables(state, live), form, last, parallel_iterations)
    variables = Variables(state, [*live, *([last] if last else [])])
    loop = register_created(ExitLoop(form))
    announce_iteration(iterable)
    iterator = iter(iterable)
    while True:
        try:
            item = next(iterator)
        except StopIteration:
            return loop.exit_number

        def trip(item: Any = item) -> Any:
            target(item)
            return body() if form == "plain" else body(lambda: True)

        if form == "plain":
            trip()
            continue
        if is_symbolic(read_variable(loop.go_on)):
            skipped = (False, loop.exit_number) if form.startswith("exit") else False
            loop.take(stage_branch(loop.go_on, trip, functools.partial(_identity, skipped), variables))
        else:
            loop.take(trip())
        if not is_symbolic(loop.go_on) and not loop.go_on:
            return loop.exit_number


def _identity(value: Any) -> Any:
    return value


class _Counter:
    """The counter of a staged `for` over a range."""

    def __init__(self, number: Any) -> None:
        self.number = number


def _for_range(
    numbers: SymbolicRange,
    target: Callable[[Any], Any],
    body: Callable[..., Any],
    variables: Variables,
    form: LoopForm,
    last: str,
    parallel_iterations: int | None,
) -> Any:
    counter, loop = register_created(_Counter(numbers.start)), register_created(ExitLoop(form))
    place = AttributePlace(counter, "number", last or "i")

    def trip() -> None:
        number = counter.number
        target(number)
        if form == "plain":
            body()
            counter.number = number + numbers.step
        else:
            counter.number = number + numbers.step
            go_on = numbers.has(counter.number)  # a comparison costs less than the choice to compute it
            loop.take(body(lambda: go_on))

    if form == "plain":
        stage_loop(lambda: numbers.has(counter.number), trip, variables, [place], parallel_iterations)
    else:
        loop.go_on = numbers.has(numbers.start)
        stage_loop(lambda: loop.go_on, trip, variables, [place, *loop.places()], parallel_iterations)
    if last:
        variables.assign_last(last, lambda: numbers.has(numbers.start), counter.number - numbers.step)
    return loop.exit_number


def is_last_exit(chosen: Any, number: int) -> Any:
    """Whether a statement whose end is not reached was left by its last exit, where it was left by none of the others.
    A known number is 0 where a context manager has suppressed an exception."""
    return True if is_symbolic(chosen) else chosen == number


def load(read: Thunk, name: str) -> Any:
    """A variable that may be unassigned here; raises UnboundLocalError where it is."""
    try:
        value = read()
    except NameError:
        raise UnboundLocalError(
            f"cannot access local variable {name!r} where it is not associated with a value"
        ) from None
    return value.fail() if isinstance(value, Undefined) else value


def present(value: Any) -> Any:
    """A variable that is assigned for certain, since a statement was left by an exit."""
    return value.value if isinstance(value, MaybeUnassigned) else value


def created(value: Any) -> Any:
    """A list, dict or set that the code has just created."""
    return register_created(value)


def before_nonlocal(read: Thunk) -> None:
    """Announce a write to a variable of an enclosing function, which `read` reads."""
    (cell,) = read.__closure__ or ()
    (name,) = read.__code__.co_freevars
    record_write(CellPlace(cell, name))


def before_global(read: Thunk) -> None:
    """Announce a write to a global variable, which `read` reads."""
    (name,) = read.__code__.co_names
    record_write(GlobalPlace(read.__globals__, name))


def assert_(test: Any, message: Thunk) -> None:
    """`assert test, message`."""
    if is_symbolic(read_variable(test)):
        stage_assertion(Symbol(truth_operand(read_variable(test))), AssertionError(*message()))  # type: ignore[arg-type]
    elif not test:
        raise raised(AssertionError(*message()))


OPERATORS.cell_contents = sys.modules[__name__]
