"""Exceptions of converted functions: `raise` and `assert` where a symbolic condition decides.

A branch that raises under a symbolic condition becomes an assertion that fails: a trap of the program. The value of the
branch is computed from the assertion. A failed assertion sends no token, so nothing that needs the value fires.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, NoReturn, TypeAlias

import numpy as np

from ...errors import Invalid
from ...ops.effects import EFFECT_OPS, exception_name, lookup_exception, resource_of
from ...ops.op import OPS
from ...program.program import Node
from ...types import HandleType, Type
from ...value import Literal
from ..eager.apply import apply
from ..trace.captures import DeferredValue
from ..trace.choice import Choice
from ..trace.program_builder import RegionBuilder, Specialization, TracedOperand, current_region, emit_op, to_operand
from ..trace.python_operations import RAISED_AT, fail_as_python, hides_fault, is_of_user, operands_of
from ..trace.source_location import raising_location, user_location
from ..trace.text import TEXTS, CodePoints
from ..trace.unusable_value import UnusableValue
from .contexts import refuse_suppression
from .state import staging_depth
from .trees import is_symbolic
from .tries import check

SYMBOL_TEXT = re.compile(r"<symbolic (\w+): [^>]*>")
"""The text of a symbol, with its name."""
_FAILURE = "_tagloom_failure"
"""The attribute of an exception that both branches of a conditional raise: what stands for the assertions of both."""
_HANDLERS: ContextVar[tuple[Any, ...]] = ContextVar("handlers", default=())
"""The classes of exceptions that the `try` statements around the code handle."""


def located_exception(error: Any) -> Any:
    """The exception of a `raise`, marked as one that the function raises on purpose."""
    if isinstance(error, type) and issubclass(error, Exception):
        error = error()
    if isinstance(error, Exception):
        setattr(error, RAISED_AT, user_location())
    return error


def raise_exception(error: Any) -> NoReturn:
    """Raise the exception of a `raise` that is not a choice."""
    if not isinstance(error, BaseException | type):
        fail_as_python(TypeError("exceptions must derive from BaseException"))
    raise located_exception(error)


def exception_of_failure(failure: Any) -> Exception:
    """An exception that stands for an assertion of the program, which fails."""
    error = Exception("one of several exceptions")
    setattr(error, _FAILURE, failure)
    return located_exception(error)  # type: ignore[no-any-return]


def is_raised(error: Exception) -> bool:
    """Whether the user's code has raised this exception: by `raise` or `assert`, or by an operation on known values
    that is an error in Python, such as `1 // 0`, a missing key, an unassigned variable, or `int("x")`."""
    if hasattr(error, RAISED_AT):
        return True
    if not isinstance(error, ArithmeticError | LookupError | NameError | ValueError) or not is_of_user(error):
        return False
    if isinstance(error, ValueError) and any(map(_has_run_time_values, operands_of(error))):
        return False  # it may be about the symbol, and not about its value
    setattr(error, RAISED_AT, raising_location(error))
    return True


def _has_run_time_values(value: Any) -> bool:
    """Whether a value, or one in it, is known only when the program runs."""
    if isinstance(value, list | tuple | dict):
        return any(map(_has_run_time_values, value.values() if isinstance(value, dict) else value))
    return isinstance(value, (UnusableValue, Choice, DeferredValue, *TEXTS)) or is_symbolic(value)


def is_raised_after_effects(region: RegionBuilder, error: Exception) -> bool:
    """Whether an exception that is raised for certain follows assertions, prints, calls or other operations of the
    program that may trap. These come first, so the exception must be part of the program, too."""
    if not is_raised(error):
        return False
    traps = possible_traps(region.nodes, region.specialization)
    return any(map(_may_come_first, region.nodes)) or next(traps, None) is not None


def _may_come_first(node: Node) -> bool:
    is_effect = node.op in EFFECT_OPS or node.op in ("assert", "call")
    return is_effect or any(_may_come_first(inner_node) for region in node.regions for inner_node in region.nodes)


@contextmanager
def handlers(classes: Callable[[], Any]) -> Iterator[None]:
    """Surrounds the body of a `try` that has handlers of these classes. Raises Invalid (F4) where an operation of the
    body may trap with one of them, which no handler would see. A refusal or a fault of tagloom that they handle ends
    the trace all the same."""
    try:
        classes_caught = classes()
    except Exception:  # Python evaluates the classes only where an exception is raised
        classes_caught = Exception
    region = current_region()
    start = len(region.nodes) if region is not None else 0
    token = _HANDLERS.set((*_HANDLERS.get(), classes_caught))
    try:
        yield
    except Exception as error:
        if region is not None and hides_fault(classes_caught, error):
            region.specialization.keep_error(error)
        raise
    finally:
        _HANDLERS.reset(token)
    if region is None:
        return
    refuse_caught(region.nodes[start:], region.specialization, classes_caught)


def refuse_caught(nodes: Sequence[Node], function: Specialization, classes_caught: Any) -> None:
    """Raises Invalid (F4) where an operation among these nodes, or of the functions that they call, may raise an
    exception of these classes in Python."""
    for node, error in possible_exceptions(nodes, function):
        if not issubclass(error, classes_caught):
            continue
        is_quotient = _may_be_infinite(node)
        raise Invalid(
            f"{_quotient_name(node)} raises no exception in a program: it gives an infinity or NaN"
            if is_quotient
            else f"{node.op} may raise {error.__name__} in a `try`, when the program runs",
            rule="F4",
            where=node.location or user_location(),
            hint="test the operands by an `if` in place of the `try`",
        )


def possible_exceptions(nodes: Sequence[Node], function: Specialization) -> Iterator[tuple[Node, type[Exception]]]:
    """The nodes of a function, and of the functions that they call, that may raise an exception in Python, with its
    class."""
    for node in _program_nodes(nodes, function, set()):
        error = ZeroDivisionError if _may_be_infinite(node) else _trap_of(node)
        if error is not None:
            yield node, error


def nested_nodes(nodes: Sequence[Node]) -> Iterator[Node]:
    """These nodes, and those in their regions."""
    for node in nodes:
        yield node
        for region in node.regions:
            yield from nested_nodes(region.nodes)


_QUOTIENTS: dict[str, Callable[[Any], Any]] = {
    "divide": lambda divisor: divisor != 0,
    "floor_divide": lambda divisor: divisor != 0,
    "remainder": lambda divisor: divisor != 0,
    "pow": lambda exponent: exponent >= 0,
}
"""The ops for which Python raises ZeroDivisionError, each with the test of its last operand that rules this out."""


def _may_be_infinite(node: Node) -> bool:
    """Whether a node is a quotient of floats that may divide by 0."""
    is_safe = _QUOTIENTS.get(node.op)
    if is_safe is None or node.results[0].type.dtype.kind != "f":
        return False
    last = node.inputs[-1]
    return not (isinstance(last, Literal) and bool(np.all(is_safe(np.asarray(last.value)))))


def _quotient_name(node: Node) -> str:
    return "a negative power of zero" if node.op == "pow" else f"{node.op} by zero"


def unwind(number: Any, error: Callable[[], Any]) -> Any:
    """A `raise` that leaves a `with`, or a `try` with a `finally`: under a symbolic condition the number of this exit,
    since what the statement does at its end comes first. Raises Invalid (F4) where the statement may suppress the
    exception."""
    if not staging_depth():
        raise located_exception(error())
    refuse_suppression()
    return number


Position: TypeAlias = tuple[RegionBuilder, int]
"""A position in the code that is being staged: a region, and the number of its nodes."""


def check_effects(start: Position | None, middle: Position | None, lines: tuple[int, int] | None = None) -> None:
    """Raises Invalid (F4) behind a `finally`, or an `__exit__`, where one of its effects depends on an operation of the
    body that may trap. Python would print what was there before the exception; a run would print nothing. `lines` are
    the last one of the body that changes what the end reads, and the first one of the end: if an operation between
    these may trap, a run prints what Python prints, and if one before may trap, it would print the changed value."""
    region = current_region()
    if start is None or middle is None or region is None or sys.exc_info()[0] is not None:
        return
    if start[0] is not region or middle[0] is not region:
        return
    function, withheld = region.specialization, dict[str, tuple[Node, type[Exception]]]()
    if not any(has_effects(node, function) for node in region.nodes[middle[1] :]):
        return
    here = user_location()
    for node in region.nodes[start[1] : middle[1]] if lines else ():
        where = node.location
        is_after = where and here and lines and where.file == here.file and lines[0] < where.line < lines[1]
        if not is_after:
            for origin, error in possible_traps([node], function):
                raise _printed_trap(origin, error)
    for number, node in enumerate(region.nodes[start[1] :], start[1]):
        names = (operand for operand in node.inputs if isinstance(operand, str))
        trap = next((withheld[name] for name in names if name in withheld), None)
        if number < middle[1]:
            trap = trap or next(possible_traps([node], function), None)
        elif trap is not None and has_effects(node, function):
            raise _printed_trap(*trap)
        if trap is not None:
            withheld.update((result.name, trap) for result in node.results)


def _printed_trap(origin: Node, error: type[Exception]) -> Invalid:
    return Invalid(
        f"{origin.op} may raise {error.__name__} in a `try` or `with`, whose end prints what depends on it",
        rule="F4",
        where=origin.location or user_location(),
        hint="print it after the statement, or test the operands by an `if` and raise the exception there",
    )


def has_effects(node: Node, function: Specialization) -> bool:
    """Whether a node of a function prints or calls back, in its regions and in the functions that it calls, too."""
    return any(resource_of(inner_node.op) for inner_node in _program_nodes([node], function, set()))


def perform_certainly(compute: Callable[[], Any]) -> Any:
    """The result of `compute`; the nodes that it adds never trap."""
    region = current_region()
    if region is None:
        return compute()
    function, start = region.specialization, len(region.nodes)
    guard, function.trap_guard = function.trap_guard, None
    try:
        result = compute()
    finally:
        function.trap_guard = guard
    function.certain_results.update(result.name for node in region.nodes[start:] for result in node.results)
    return result


def possible_traps(nodes: Sequence[Node], function: Specialization) -> Iterator[tuple[Node, type[Exception]]]:
    """The nodes of a function that may trap, with their exceptions: among these nodes, in their regions, and in the
    functions that they call."""
    for node in _program_nodes(nodes, function, set()):
        error = _trap_of(node)
        if error is not None:
            yield node, error


def _trap_of(node: Node) -> type[Exception] | None:
    """The exception of the trap that a node may be."""
    row = OPS.get(node.op)
    if row is None or row.trap_condition is None or _is_certain(node):
        return None
    return row.trap_condition.error or lookup_exception(dict(node.attributes).get("error", "AssertionError"))


def _program_nodes(nodes: Sequence[Node], function: Specialization, visited_names: set[str]) -> Iterator[Node]:
    """The nodes of a function that may trap, as far as their results show it: these nodes, those in their regions, and
    those of the functions that they call."""
    builder = function.program_builder
    for node in nodes:
        if any(result.name in function.certain_results for result in node.results):
            continue
        for region in node.regions:
            yield from _program_nodes(region.nodes, function, visited_names)
        if node.op == "call":
            name = str(node.attribute("function"))
            callees = [
                specialization
                for specialization in builder.specializations.values()
                if specialization.name == name and name not in visited_names
            ]
            visited_names.add(name)
            for callee in callees:
                for inner in callee.regions:
                    yield from _program_nodes(inner.nodes, callee, visited_names)
        yield node


_DECIDED_BY_LAST = ("floor_divide", "remainder", "pow", "bitwise_left_shift", "bitwise_right_shift")
"""The ops whose last operand decides whether they trap."""


def _is_certain(node: Node) -> bool:
    """Whether a node certainly has a value: it divides by a number that is not 0, for example."""
    condition = OPS[node.op].trap_condition
    if node.op not in _DECIDED_BY_LAST or condition is None:
        return False
    last = node.inputs[-1]
    if node.results[0].type.dtype.kind not in condition.dtype_kinds:
        return True
    return isinstance(last, Literal) and not np.any(condition.predicate(last.value, last.value))


def describe_text(text: Any) -> str:
    """The message of an exception: of a string whose characters the run makes, only that it is one."""
    return "{text}" if isinstance(text, CodePoints) else str(text)


def stage_assertion(condition: Any, error: Exception) -> Any:
    """Add an assertion to the program under trace, which traps with this exception. Returns its result.

    In its message a symbolic value is its name in braces. In a `try` that handles it, it becomes a check (`tries.py`);
    in a `try` of a generator it is refused (F4).
    """
    if check(condition, error):
        return condition
    where, region = getattr(error, RAISED_AT, None) or user_location(), current_region()
    if region is not None and any(issubclass(type(error), classes_caught) for classes_caught in _HANDLERS.get()):
        refusal = Invalid(
            f"a symbolic condition decides whether {type(error).__name__} is raised in a `try` of a generator",
            rule="F4",
            where=where,
            hint="write a loop in place of the generator, or test the condition by an `if`",
        )
        region.specialization.keep_error(refusal)
        raise refusal
    refuse_suppression()
    message = str(error) if len(error.args) != 1 else describe_text(error.args[0])
    message = SYMBOL_TEXT.sub(r"{\1}", message)
    return apply("assert", condition, error=exception_name(type(error)), message=message)


def stage_failure(region: RegionBuilder, error: Any) -> Any:
    """The result of an assertion that fails with this exception, in the region of a branch that raises it."""
    failure = getattr(error, _FAILURE, None)
    if failure is not None:  # both branches of a conditional in this region raise
        return failure
    failure = stage_assertion(False, error)
    region.nodes[-1] = replace(region.nodes[-1], location=getattr(error, RAISED_AT, None) or region.nodes[-1].location)
    return failure


def raise_from_here(region: RegionBuilder, failure: Any, error: Any) -> Any:
    """Both branches of a conditional in this region raise. If the region is a branch itself, that branch raises, too;
    at the outermost level of a function, the failed assertion stands for all that follows."""
    if region.parent is None:
        return failure
    setattr(error, _FAILURE, failure)
    raise error


def unreached_operand(failure: Any, type_: Type) -> TracedOperand:
    """A value of this type that is computed from an assertion that fails, so never."""
    if isinstance(type_.dtype, HandleType):
        size = apply("where", failure, 0, 0)
        region = current_region()
        assert region is not None, "a branch is part of a trace"
        return emit_op(region, "cells", [to_operand(size)], (("element", type_.dtype.element),))
    zeros = np.zeros([size or 0 for size in type_.shape or ()], type_.dtype.numpy)
    return to_operand(apply("where", failure, zeros, zeros))
