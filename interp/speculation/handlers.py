"""Handlers of exceptions: `try` in a program.

An operation that raises in Python is an assertion at first: where it fails, Python runs the call. If a handler of the
program may catch that exception, the graph is generated again with a conditional for the operation: one branch goes on,
the other leaves the block with the number of the handler, as `break` leaves a loop. If a caller has the handler, it
leaves the function with the number of the exception, which is another result of the function, and the call becomes such
an operation. Operations that are evaluated on some paths through a statement only remain assertions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from .heap import static_attribute
from .layouts import ConstantLayout, NotSpeculable
from .program_functions import ProgramFunctions
from .staging import (
    NONE_VALUE,
    RUNNING,
    CallRecord,
    CaughtCheck,
    CheckKey,
    GraphValue,
    Guard,
    Restart,
    StagedValue,
    TryFrame,
)

PLAIN_EXCEPTIONS = (
    BaseException,
    Exception,
    ArithmeticError,
    AssertionError,
    IndexError,
    KeyError,
    LookupError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    StopIteration,
    TypeError,
    ValueError,
    ZeroDivisionError,
)
"""Exceptions of Python that take any arguments."""
FIRST_CODE = 4
"""The first of the codes of handlers. Smaller codes are the other ways to leave a block, in `staging`."""


def run_guarded(generation: ProgramFunctions, run: Callable[[], None]) -> None:
    """Generate a statement. If it may raise an exception that a handler around it catches, the rest of it is in a
    branch."""
    if generation.open_tries() or generation.stack[-1].passes_exceptions:
        _attempt(generation, run, (), [])
    else:
        run()


def _attempt(
    generation: ProgramFunctions,
    run: Callable[[], None],
    passed_checks: tuple[CheckKey, ...],
    calls: list[CallRecord],
) -> None:
    """Generate a statement up to the first check that a handler catches, apart from the `passed_checks`; and the
    whole statement again, without the `calls` that it has made, in the branch in which that check has passed."""
    start, node, outer = generation.state, generation.current_node, generation.guard
    generation.state = start.copy()
    generation.guard = Guard.begin(generation, passed_checks, calls)
    try:
        run()
        return
    except CaughtCheck as caught:
        check = caught
    finally:
        generation.guard = outer
    state_at_check = generation.state
    generation.state, generation.current_node = start, node

    def go_on() -> StagedValue:
        generation.state = start.copy()
        _attempt(generation, run, (*passed_checks, check.key), calls)
        return NONE_VALUE

    def leave() -> StagedValue:
        generation.state = state_at_check.copy()
        generation.state.exit = generation.constant(check.code)
        return NONE_VALUE

    generation.branch(check.condition, go_on, leave)


def run_try(generation: ProgramFunctions, statement: ast.Try) -> None:
    """The body of a `try`, its `else`, and its handlers; not its `finally`."""
    catchers = tuple(_catchers(generation, statement.handlers))
    note_caught(generation, [owner for classes, code in catchers if code is not None for owner in classes])
    frame = TryFrame(generation.stack[-1], catchers)
    generation.tries.append(frame)
    try:
        generation.run_block(statement.body)
    finally:
        generation.tries.pop()
    generation.run_block(statement.orelse)
    for handler in statement.handlers:
        if _code(handler) in frame.used_codes:
            _run_handler(generation, handler)


def note_caught(generation: ProgramFunctions, classes: Sequence[type]) -> None:
    """Note that a function of the program may catch exceptions of these classes, which other functions raise."""
    caught = generation.requirements.caught_classes
    if not caught.issuperset(classes):
        caught.update(classes)
        generation.require_restart()


class OpaqueValue(GraphValue):
    """An exception or a traceback, of which a graph knows only that it is not None."""


_OPAQUE = OpaqueValue()


def run_exit(generation: ProgramFunctions, statement: ast.With, manager: StagedValue, owner: type) -> None:
    """The call of `__exit__` after an exception of a class, which goes on unless the result is true."""
    opaque, node = generation.constant(_OPAQUE), statement.items[0].context_expr
    generation.state.exit = generation.constant(RUNNING)
    try:
        arguments = [generation.constant(owner), opaque, opaque]
        is_suppressed = generation.truth(generation.call_special(manager, "__exit__", arguments, node), node)
    except NotSpeculable as error:
        generation.requirements.dropped_handlers[generation.location_of(statement)] = str(error)
        raise Restart from None

    def check() -> None:
        reason = f"Python raises {owner.__name__} where it is not"
        claim = "the exception is suppressed"
        generation.check(is_suppressed, node, claim, reason, raises=owner, has_raised=True)

    run_guarded(generation, check)


def _run_handler(generation: ProgramFunctions, handler: ast.ExceptHandler) -> None:
    def run() -> StagedValue:
        generation.state.exit = generation.constant(RUNNING)
        try:
            generation.run_block(handler.body)
        except NotSpeculable as error:
            generation.requirements.dropped_handlers[generation.location_of(handler)] = str(error)
            raise Restart from None
        return NONE_VALUE

    generation.branch(generation.has_exit(_code(handler)), run, lambda: NONE_VALUE)


def _reads_exception(handler: ast.ExceptHandler) -> bool:
    """Whether a handler uses the exception that it catches."""
    names = [node.id for part in handler.body for node in ast.walk(part) if isinstance(node, ast.Name)]
    return handler.name is not None and handler.name in names


def _code(handler: ast.ExceptHandler) -> int:
    """The code for leaving a block to a handler."""
    return FIRST_CODE + handler.lineno


def _catchers(
    generation: ProgramFunctions, handlers: Sequence[ast.ExceptHandler]
) -> list[tuple[tuple[type, ...], int | None]]:
    """The classes that each handler catches, with its code; None for a handler that is not in the graph. The list ends
    at a handler whose classes are not known."""
    catchers = list[tuple[tuple[type, ...], int | None]]()
    for handler in handlers:
        is_dropped = _reads_exception(handler) or generation.location_of(handler) in (
            generation.requirements.dropped_handlers
        )
        classes = _classes(generation, handler.type)
        if classes is None:
            classes, is_dropped = (BaseException,), True
        catchers.append((classes, None if is_dropped else _code(handler)))
    return catchers


def _classes(generation: ProgramFunctions, node: ast.expr | None) -> tuple[type, ...] | None:
    """The classes of exceptions that an expression names; None where they are not known."""
    if node is None:
        return (BaseException,)
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    classes = list[type]()
    for part in parts:
        if not isinstance(part, ast.Name):
            return None
        layout = generation.evaluate(part).layout
        if not isinstance(layout, ConstantLayout) or type(layout.value) is not type:
            return None
        if not issubclass(layout.value, BaseException):
            return None
        classes.append(layout.value)
    return tuple(classes)


def raised_class(generation: ProgramFunctions, node: ast.Raise) -> type | None:
    """The class of the exception that a `raise` raises, whose arguments are evaluated; None where it is not known, or
    where code runs when the exception is made or dropped."""
    exception, arguments = node.exc, list[ast.expr]()
    if isinstance(exception, ast.Call):
        if exception.keywords or any(isinstance(argument, ast.Starred) for argument in exception.args):
            return None
        arguments = exception.args
        exception = exception.func
    classes = _classes(generation, exception) if node.cause is None and isinstance(exception, ast.Name) else None
    if classes is None or not issubclass(classes[0], Exception):
        return None
    own = classes[0]
    plain = next(base for base in own.__mro__ if base.__module__ == "builtins")
    if plain not in PLAIN_EXCEPTIONS:
        return None
    for name in ("__init__", "__new__", "__del__"):
        if static_attribute(own, name) is not static_attribute(plain, name):
            return None
        generation.require_class_value(own, name)
    for argument in arguments:
        generation.evaluate(argument)
    return own
