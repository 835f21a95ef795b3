"""The `try` statements around the code under trace, and the checks whose exceptions they catch.

A check is a place where a symbolic condition decides whether an exception is raised: an assertion, an operation that
may trap, or a branch that raises. If a `try` of the same function catches the exception, the check becomes a
conditional around the body of the `try` (`handlers.py`): the body runs again in both branches, and each branch knows
whether the check fails. A check in a branch becomes a conditional on the predicate of that branch; a check in a loop
ends the loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, NoReturn

from ...errors import Invalid
from ...ops.op import OPS, Attributes
from ...value import Literal
from ..eager.apply import apply
from ..trace.program_builder import RegionBuilder, TracedOperand, current_region
from ..trace.python_operations import RAISED_AT
from ..trace.source_location import user_location
from ..trace.symbol import Symbol

GUARDED = "guarded"
"""The decision on a loop that a check of its body may end."""


class UndecidedCheck(BaseException):
    """Raised at a check that a `try` catches, and on which this run of its body does not decide yet. Without a number,
    the check is in a nested region: what opened that region is the check then.

    It derives from BaseException, so that `except Exception` in user code does not catch it.
    """

    def __init__(self, statement: OpenTry, number: int | None = None, condition: Any = None) -> None:
        super().__init__()
        self.statement, self.number, self.condition = statement, number, condition


class OpenTry:
    """A `try` whose body is running in a trace, with decisions on some of its checks."""

    def __init__(self, classes: Any, region: RegionBuilder, decisions: Mapping[int, Any]) -> None:
        self.classes, self.region, self.decisions = classes, region, decisions
        self.count = 0
        """The number of checks, branches and loops so far, in the region of the `try`."""

    def take_number(self) -> int:
        """The number of the next check, branch or loop: the same in each run of the body."""
        self.count += 1
        return self.count

    def passes(self, condition: Any) -> bool:
        """Whether a check passes in this run. Raises UndecidedCheck where that is not decided yet."""
        is_known = not isinstance(condition, Symbol)
        if is_known and condition:
            return True
        if current_region() is not self.region:
            raise UndecidedCheck(self)
        if is_known:
            return False
        number = self.take_number()
        if number not in self.decisions:
            raise UndecidedCheck(self, number, condition)
        return bool(self.decisions[number])


_OPEN: ContextVar[tuple[OpenTry, ...]] = ContextVar("open tries", default=())


@contextmanager
def open_try(statement: OpenTry) -> Iterator[None]:
    """Surrounds a run of the body of a `try`: operations that may trap are checks."""
    function = statement.region.specialization
    token, guard = _OPEN.set((*_OPEN.get(), statement)), function.trap_guard
    function.trap_guard = check_operation
    try:
        yield
    finally:
        function.trap_guard = guard
        _OPEN.reset(token)


def catching_try(kind: type[BaseException]) -> OpenTry | None:
    """The innermost `try` of the function under trace that catches exceptions of a class."""
    region = current_region()
    if region is None:
        return None
    own = (handler for handler in reversed(_OPEN.get()) if handler.region.specialization is region.specialization)
    return next((handler for handler in own if issubclass(kind, handler.classes)), None)


def check(condition: Any, error: Exception) -> bool:
    """Whether a `try` of the function under trace catches this exception, which is raised where the condition is false.
    Then this run of its body raises it here, or goes on."""
    statement = catching_try(type(error))
    if statement is None:
        return False
    if not statement.passes(condition):
        _raise(error)
    return True


def _raise(error: Exception) -> NoReturn:
    """Raise an exception of the user's code."""
    if not hasattr(error, RAISED_AT):
        setattr(error, RAISED_AT, user_location())
    raise error


class ConstructChecks(NamedTuple):
    """The checks that a branch or loop is: one of each `try` whose body has it in its own region."""

    numbers: Sequence[tuple[OpenTry, int]]
    """Each `try`, with the number of the check."""

    def outcome(self) -> bool | None:
        """The branch that the runs of the bodies take, if they decide on it."""
        decisions = (statement.decisions.get(number) for statement, number in self.numbers)
        return next((decision for decision in decisions if decision is not None), None)

    def guards(self) -> list[OpenTry]:
        """The statements whose checks end a loop, outermost first."""
        return [statement for statement, number in self.numbers if statement.decisions.get(number) == GUARDED]

    @contextmanager
    def surround(self, condition: Any) -> Iterator[None]:
        """Surrounds the trace of the nested regions: a check in one of them becomes a check on this condition."""
        try:
            yield
        except UndecidedCheck as check:
            number = next((number for statement, number in self.numbers if statement is check.statement), None)
            if check.number is not None or number is None:
                raise
            raise UndecidedCheck(check.statement, number, condition) from None


def open_construct(region: RegionBuilder) -> ConstructChecks:
    """Begin a branch or loop in a region: it takes a number in each `try` there."""
    return ConstructChecks([(handler, handler.take_number()) for handler in _OPEN.get() if handler.region is region])


class _TrapRule(NamedTuple):
    """The exception that an operation raises in Python, and for which operands."""

    error: Exception
    has_value: Callable[..., Any]
    """The condition on the operands under which the operation has a value."""
    is_safe: Callable[[Any], Any]
    """Whether it has a value for this last operand, whatever the first one is."""
    kinds: str
    """The kinds of dtypes of the last operand that the rule is for."""


def _is_in_range(items: Any, index: Any) -> Any:
    size = items.shape[0]
    return apply("logical_and", index >= -size, index < size)


def _is_power(base: Any, exponent: Any) -> Any:
    return apply("logical_or", base != 0, exponent >= 0)


def _is_nonzero(*operands: Any) -> Any:
    return operands[-1] != 0


def _is_natural(*operands: Any) -> Any:
    return operands[-1] >= 0


_BY_ZERO = "integer division or modulo by zero"
_RULES = {
    "divide": _TrapRule(ZeroDivisionError("division by zero"), _is_nonzero, _is_nonzero, "f"),
    "floor_divide": _TrapRule(ZeroDivisionError(_BY_ZERO), _is_nonzero, _is_nonzero, "iuf"),
    "remainder": _TrapRule(ZeroDivisionError(_BY_ZERO), _is_nonzero, _is_nonzero, "iuf"),
    "pow": _TrapRule(ZeroDivisionError("0.0 cannot be raised to a negative power"), _is_power, _is_natural, "f"),
    "bitwise_left_shift": _TrapRule(ValueError("negative shift count"), _is_natural, _is_natural, "iu"),
    "bitwise_right_shift": _TrapRule(ValueError("negative shift count"), _is_natural, _is_natural, "iu"),
    "take": _TrapRule(IndexError("list index out of range"), _is_in_range, lambda index: False, "biuf"),
}
"""The operations on numbers, and on one item of an array, that raise an exception in Python."""


def check_operation(op: str, operands: Sequence[TracedOperand], attributes: Attributes) -> bool:
    """Check an operation of the body of a `try` before its node is added; whether it certainly has a value. Raises its
    exception where this run decides so; Invalid (F4) for an operation on arrays that may trap."""
    rule, row = _RULES.get(op), OPS.get(op)
    kind = operands[-1].type.dtype.kind if operands else ""
    if rule is not None and kind in rule.kinds:
        error: type[Exception] | None = type(rule.error)
    else:
        rule = None
        trap = row.trap_condition if row is not None and op != "assert" else None
        error = trap.error if trap is not None and kind in trap.dtype_kinds else None
    statement = None if error is None else catching_try(error)
    if statement is None or error is None:
        return False
    is_of_numbers = rule is not None and operands[-1].type.is_scalar and (op == "take" or operands[0].type.is_scalar)
    if rule is None or not is_of_numbers:
        raise refused_trap(op, error)
    values = [operand.value if isinstance(operand, Literal) else Symbol(operand) for operand in operands]
    if isinstance(operands[-1], Literal) and rule.is_safe(values[-1]):
        return True
    condition = rule.has_value(*values)
    if not statement.passes(condition):
        _raise(type(rule.error)(*rule.error.args))
    return True


def refused_trap(op: str, error: type[Exception]) -> Invalid:
    """The error for an operation in a `try` that raises an exception in some runs, where no branch can decide on it."""
    return Invalid(
        f"{op} may raise {error.__name__} in a `try`, when the program runs",
        rule="F4",
        where=user_location(),
        hint="test the operands by an `if` in place of the `try`",
    )
