"""Operations on choices: each option takes part under the condition that it is chosen, and the results are merged."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any

from ...errors import Invalid, Usage
from ..trace.captures import read_variable
from ..trace.choice import OPERATIONS, Choice
from ..trace.numbers import number_kind
from ..trace.program_builder import to_operand
from ..trace.python_operations import is_of_user, perform
from ..trace.source_location import user_location
from .raising import located_exception
from .staging import is_assumed, stage_branch
from .state import Variables
from .trees import is_symbolic

MAX_COMBINATIONS = 1000
"""In how many ways the options of the operands of an operation may combine."""
_EXAMPLES = {"b": True, "i": 1, "f": 1.0}
"""A number of each kind, in place of a symbolic one."""
_CLASSES = (str, bytes, type(None), tuple, frozenset, type, FunctionType, BuiltinFunctionType)
"""Classes whose operations with numbers run no code of the user."""
_REFUSALS = (TypeError, AttributeError, ValueError, ArithmeticError, LookupError)
"""The exception that Python's own operations and functions raise for an option."""


def choose(perform_known: Callable[[Any], Any], choice: Choice) -> Any:
    """The result of a function for the option that is chosen. What Python raises for an option is raised where that
    option is chosen."""

    def perform(option: Any) -> Any:
        try:
            return perform_known(option)
        except _REFUSALS as error:
            raise _as_python(error) from None

    number, count = read_variable(choice.number), len(choice.options)
    if not is_symbolic(number):
        return perform(choice.options[int(number)])

    def perform_from(position: int) -> Any:
        option = choice.options[position]
        if position == count - 1:
            return perform(option)
        predicate = number == position
        operand = to_operand(predicate)
        if is_assumed((operand, True)):
            return perform(option)
        if is_assumed((operand, False)):
            return perform_from(position + 1)
        return stage_branch(
            predicate, lambda: perform(option), lambda: perform_from(position + 1), Variables(lambda: (), ())
        )

    return perform_from(0)


def choose_operands(perform: Callable[..., Any], *operands: Any) -> Any:
    """The result of `perform` for operands, some of which are choices."""
    position = next((k for k, operand in enumerate(operands) if type(operand) is Choice), None)
    if position is None:
        return perform(*operands)
    numbers = [(read_variable(choice.number), len(choice.options)) for choice in operands if type(choice) is Choice]
    if math.prod(count for number, count in numbers if is_symbolic(number)) > MAX_COMBINATIONS:
        raise Invalid(
            f"an operation combines symbolic choices in more than {MAX_COMBINATIONS} ways",
            rule="F4",
            where=user_location(),
            got=" x ".join(str(count) for _, count in numbers) + " options",
            hint="compute with their numbers, or do it in steps, in functions of two such values",
        )
    before, after = operands[:position], operands[position + 1 :]
    return choose(lambda option: choose_operands(perform, *before, option, *after), operands[position])


def operate(operation: Callable[..., Any], *operands: Any) -> Any:
    """The result of an operation of Python for operands, some of which are choices."""
    return choose_operands(lambda *options: _operate_known(operation, *options), *operands)


def _operate_known(operation: Callable[..., Any], *operands: Any) -> Any:
    examples = _examples(operands)
    try:
        if examples is not None:
            result = perform(operation, *examples)
            if operation in (operator.eq, operator.ne):
                return result  # a number and something else are never equal
        return perform(operation, *operands)
    except _REFUSALS as error:
        raise _as_python(error) from None


def _as_python(error: Exception) -> Any:
    """The exception that Python raises, marked as one that the user's code raises; a refusal or a fault unchanged."""
    if not is_of_user(error):
        return error
    return located_exception(error.joined_python(error.message) if isinstance(error, Usage) else error)  # type: ignore[attr-defined]


def _examples(operands: Sequence[Any]) -> list[Any] | None:
    """Operands, some of them symbolic numbers, the others values of Python's own classes, with an example in place of
    each number: Python raises the same for them. None for all others, such as a tuple of symbolic values, which the
    operation itself refuses."""
    if not any(
        type(operand) in _CLASSES for operand in operands
    ):  # first, since the class of a variable reads its value
        return None
    if any(type(operand) is tuple and any(map(is_symbolic, operand)) for operand in operands):
        return None
    if all(type(operand) in _CLASSES or number_kind(operand) for operand in operands) and any(
        map(is_symbolic, operands)
    ):
        return [_EXAMPLES[str(number_kind(operand))] if is_symbolic(operand) else operand for operand in operands]
    return None


OPERATIONS.cell_contents = operate
