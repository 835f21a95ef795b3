"""The machine that runs S-expressions: an expression, an environment, and a stack of the forms that wait for its value.

The stack is a list, so a recursion is as deep as memory allows, and a call in tail position adds nothing to it. Ops are
those of the registry. `Dual` numbers and the forms that begin with `dual`, `backward`, `variable`, `seed` and `adjoint`
belong to programs of gradients (`continuations`).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ....core import dtypes
from ....core.errors import Usage
from ....core.frontend.array_api.creation import asarray
from ....core.frontend.eager.adjoints import OpDispatcher
from ....core.frontend.eager.apply import apply, promote_operands
from ....core.frontend.eager.array import ConcreteArray
from ....core.ops.op import OPS, lookup_op
from .expressions import Definition, Expression, Identifier


class Environment:
    """The variables of a call: the variables of its function, and, for a `lambda` or a loop, the variables around
    it."""

    __slots__ = ("outer", "variables")

    def __init__(self, variables: dict[str, Any], outer: Environment | None = None) -> None:
        self.variables, self.outer = variables, outer

    def lookup(self, name: str) -> Any:
        """The value of a variable; raises Usage where there is none."""
        scope: Environment | None = self
        while scope is not None:
            if name in scope.variables:
                return scope.variables[name]
            scope = scope.outer
        raise Usage("an S-expression reads a variable that has no value", got=name)

    def has_variable(self, name: str) -> bool:
        """Whether there is a variable of this name."""
        scope: Environment | None = self
        while scope is not None and name not in scope.variables:
            scope = scope.outer
        return scope is not None


@dataclass(frozen=True, eq=False)
class Closure:
    """A function value: the `lambda` or loop, with the variables around it."""

    parameters: tuple[Identifier, ...]
    body: Expression
    environment: Environment | None


class Dual:
    """A float with its adjoint, to which the reverse pass adds."""

    __slots__ = ("adjoint", "value")

    def __init__(self, value: Any) -> None:
        self.value, self.adjoint = value, apply("multiply", value, 0.0)


def primal(value: Any) -> Any:
    """The value of a dual number; any other value unchanged."""
    return value.value if isinstance(value, Dual) else value


Continuation: TypeAlias = tuple[Expression, Environment]
"""An expression to evaluate next, and its environment."""
Step: TypeAlias = tuple[Any, Continuation | None]
"""The result of a step: a value, or, in its place, a continuation."""


def run(definitions: Mapping[str, Definition], name: str, arguments: Sequence[Any]) -> Any:
    """Call a function of a program; raises Usage if the program is not well-formed, and the errors of its ops."""
    stack: list[Any] = []
    step: Step = None, _enter(_callee(definitions, None, name), arguments, name)
    while True:
        value, continuation = step
        if continuation is not None:
            step = _evaluate(definitions, stack, *continuation)
        elif stack:
            step = _resume(definitions, stack, value)
        else:
            return value


def _evaluate(
    definitions: Mapping[str, Definition], stack: list[Any], expression: Expression, environment: Environment
) -> Step:
    """Begin an expression: its value, or the part of it to evaluate next, while the expression waits on the stack."""
    if isinstance(expression, Identifier):
        return environment.lookup(expression), None
    if not isinstance(expression, tuple):
        return expression, None
    match str(expression[0]):
        case "let*":
            return None, _bind(stack, expression, environment, 0)
        case "if":
            stack.append(("if", expression, environment))
            return None, (expression[1], environment)
        case "begin":
            return None, _begin(stack, expression, environment, 1)
        case "lambda":
            return Closure(expression[1], expression[2], environment), None
    return _evaluate_operands(definitions, stack, expression, environment, [])


def _resume(definitions: Mapping[str, Definition], stack: list[Any], value: Any) -> Step:
    """Hand a value to the expression on top of the stack, which waits for it."""
    form, expression, environment, *state = stack.pop()
    match form:
        case "let*":
            (position,) = state
            environment.variables[expression[1][position][0]] = value
            return None, _bind(stack, expression, environment, position + 1)
        case "if":
            return None, (expression[2] if bool(primal(value)) else expression[3], environment)
        case "begin":
            (position,) = state
            return None, _begin(stack, expression, environment, position + 1)
    (values,) = state
    values.append(value)
    return _evaluate_operands(definitions, stack, expression, environment, values)


def _bind(stack: list[Any], expression: tuple[Any, ...], environment: Environment, position: int) -> Continuation:
    """Continue a `let*` at a variable, by its position, or at the body behind the last one."""
    if position == len(expression[1]):
        return expression[2], environment
    stack.append(("let*", expression, environment, position))
    return expression[1][position][1], environment


def _begin(stack: list[Any], expression: tuple[Any, ...], environment: Environment, position: int) -> Continuation:
    """Continue a `begin` at a part, by its position; the last one is in tail position."""
    if position < len(expression) - 1:
        stack.append(("begin", expression, environment, position))
    return expression[position], environment


def _evaluate_operands(
    definitions: Mapping[str, Definition],
    stack: list[Any],
    expression: tuple[Any, ...],
    environment: Environment,
    values: list[Any],
) -> Step:
    """Continue a form whose first operands have these values: evaluate its next operand that is not an atom, or apply
    the form if there is none."""
    operand = _evaluate_atoms(_operands(str(expression[0]), expression), values, environment)
    if operand is None:
        return _apply(definitions, expression, values, environment)
    stack.append(("apply", expression, environment, values))
    return None, (operand, environment)


def _operands(form: str, expression: tuple[Any, ...]) -> Sequence[Expression]:
    """The expressions of a form that are evaluated before it."""
    match form:
        case "call" | "dual" | "backward":
            parts = expression[2:]
        case "let":
            return [value for _, value in expression[2]]
        case "get":
            return expression[1:2]
        case "raise":
            return expression[2:]
        case _:
            parts = expression[1:]
    keywords = next((k for k, part in enumerate(parts) if _is_keyword(part)), len(parts))
    return parts[:keywords]


def _is_keyword(part: Expression) -> bool:
    return isinstance(part, Identifier) and part.startswith(":")


def _attributes(expression: tuple[Any, ...]) -> dict[str, Any]:
    first = next((k for k, part in enumerate(expression) if _is_keyword(part)), len(expression))
    pairs = zip(expression[first::2], expression[first + 1 :: 2], strict=True)
    return {name[1:]: getattr(dtypes, value) if name == ":dtype" else value for name, value in pairs}


def _evaluate_atoms(operands: Sequence[Expression], values: list[Any], environment: Environment) -> Expression | None:
    """Add the values of the next operands, up to one that is not an atom; returns that one."""
    for operand in operands[len(values) :]:
        if isinstance(operand, tuple):
            return operand
        values.append(environment.lookup(operand) if isinstance(operand, Identifier) else operand)
    return None


def _callee(definitions: Mapping[str, Definition], environment: Environment | None, name: str) -> Closure:
    if environment is not None and environment.has_variable(name):
        closure = environment.lookup(name)
        assert isinstance(closure, Closure), "only a function is called"
        return closure
    if name not in definitions:
        raise Usage("there is no such function", got=name, required=", ".join(definitions))
    return Closure(definitions[name].parameters, definitions[name].body, None)


def _enter(closure: Closure, arguments: Sequence[Any], name: str) -> Continuation:
    if len(arguments) != len(closure.parameters):
        raise Usage(f"{name} takes {len(closure.parameters)} arguments", got=len(arguments), python=TypeError)
    variables = dict(zip(closure.parameters, arguments, strict=True))
    return closure.body, Environment(variables, closure.environment)


def _apply(
    definitions: Mapping[str, Definition], expression: tuple[Any, ...], values: list[Any], environment: Environment
) -> Step:
    """The value of a form whose operands have these values, or the expression to evaluate for it."""
    form = str(expression[0])
    match form:
        case "call":
            name = expression[1]
            return None, _enter(_callee(definitions, environment, name), values, name)
        case "let":
            scope = Environment({}, environment)
            closure = Closure(tuple(name for name, _ in expression[2]), expression[3], scope)
            scope.variables[expression[1]] = closure
            return None, _enter(closure, values, expression[1])
        case "get":
            return getattr(values[0], expression[2]), None
        case "dual":
            result = apply_op(expression[1], list(map(primal, values)), _attributes(expression))
            is_active = any(isinstance(value, Dual) for value in values) and np.asarray(result).dtype.kind == "f"
            return Dual(result) if is_active else result, None
        case "backward":
            _add_adjoints(expression[1], values[0], values[1:], _attributes(expression))
            return None, None
    if form in _FORMS:
        return _FORMS[form](*values) if form != "raise" else _raise(expression[1], *values), None
    return apply_op(form, values, _attributes(expression)), None


def apply_op(name: str, operands: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """Apply an op of the registry; raises Usage where there is none of this name."""
    if name not in OPS:
        raise Usage("an S-expression begins with neither a form nor an op", got=name)
    return apply(name, *operands, **attributes)


def _add_adjoints(name: str, result: Any, operands: Sequence[Any], attributes: Mapping[str, Any]) -> None:
    """Add to the adjoints of an op's operands, by the gradient rule of its row."""
    if not isinstance(result, Dual):
        return
    row = lookup_op(name)
    if row.gradient is None:
        raise Usage(f"{name} has no gradient", python=TypeError)
    arrays = [ConcreteArray(operand) for operand in promote_operands(row, list(map(primal, operands)))]  # type: ignore[arg-type]
    for position, operand in enumerate(operands):
        if not isinstance(operand, Dual):
            continue
        adjoint = asarray(result.adjoint)
        part = row.gradient(OpDispatcher(), position, adjoint, asarray(result.value), *arrays, **attributes)
        if part is not None:
            if part.shape != arrays[position].shape:
                part = apply("sum_like", part, arrays[position])
            operand.adjoint = apply("add", operand.adjoint, part)


def _raise(name: str, *message: Any) -> Any:
    kind = getattr(builtins, name, None)
    raise (kind if isinstance(kind, type) and issubclass(kind, Exception) else Usage)(*message)


def _assert(test: Any, *message: Any) -> None:
    if not bool(primal(test)):
        raise AssertionError(*message)


def _variable(value: Any) -> Any:
    is_float = isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "") == "f"
    return Dual(value) if is_float else value


def _seed(result: Any) -> None:
    if not isinstance(result, Dual) or np.shape(result.value):
        raise Usage(
            "a gradient needs a result that is one float and depends on the arguments", got=repr(primal(result))[:200]
        )
    result.adjoint = 1.0


def _adjoint(value: Any) -> Any:
    if not isinstance(value, Dual):
        raise Usage("a gradient is with respect to floats only", got=repr(value)[:200], python=TypeError)
    return value.adjoint


def _item(container: Any, position: Any) -> Any:
    if isinstance(container, Dual):
        raise Usage("an item of an array has no gradient in S-expressions", hint="use an op, such as tl.take")
    return container[int(position)]


_FORMS: dict[str, Callable[..., Any]] = {
    "tuple": lambda *items: items,
    "item": _item,
    "not": lambda value: not primal(value),
    "len": len,
    "array": lambda *numbers: asarray(numbers),
    "raise": _raise,
    "assert": _assert,
    "variable": _variable,
    "seed": _seed,
    "adjoint": _adjoint,
}
"""The forms, besides ops, that compute a value from the values of their operands."""
