"""The gradient of an S-expression by continuations: the program that computes it, without a tape.

Each function gets one more parameter, its continuation `k`, which takes its result. An op computes its value, passes it
to the rest of the program, and, when that returns, adds to the adjoints of its operands:

    z = (multiply x y), then E    ->    (let* ((z (dual multiply x y))) (begin E (backward multiply z x y)))

So the reverse pass is the work after the continuations return, in reverse order.

Source: F. Wang and others, "Demystifying differentiable programming: shift/reset the penultimate backpropagator"
(ICFP 2019), the method of AutoGraph's Lantern back end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ....core.errors import Usage
from ....core.ops.op import OPS
from ....core.program.program import UniqueNames
from .expressions import Definition, Expression, Identifier

Continuation: TypeAlias = Callable[[Expression], Expression] | Identifier
"""A continuation: a Python function from the expression of a value to the rest of the program, or the name of a
continuation in the program."""
_BEGIN, _BACKWARD, _CALL, _DUAL, _IF = map(Identifier, ("begin", "backward", "call", "dual", "if"))
_LAMBDA, _LET, _LETS = map(Identifier, ("lambda", "let", "let*"))


def gradient_definitions(definitions: dict[str, Definition], main: str, positions: tuple[int, ...]) -> list[Definition]:
    """The functions of the program of a gradient by these parameters; the last one is its main function."""
    converted_definitions = [_Converter().convert(definition) for definition in definitions.values()]
    parameters = definitions[main].parameters
    duals = tuple(Identifier(f"d{name}") for name in parameters)
    adjoints = tuple((Identifier("adjoint"), duals[position]) for position in positions)
    result = adjoints[0] if len(positions) == 1 else (Identifier("tuple"), *adjoints)
    seed = (_LAMBDA, (Identifier("result"),), (Identifier("seed"), Identifier("result")))
    bindings = tuple((dual, (Identifier("variable"), name)) for dual, name in zip(duals, parameters, strict=True))
    body = (_LETS, bindings, (_BEGIN, (_CALL, _name(main), *duals, seed), result))
    return [*converted_definitions, Definition(Identifier(f"grad_{main}"), parameters, body)]


def _name(function: str) -> Identifier:
    return Identifier(f"{function}/k")


class _Converter:
    """Converts a function to continuation-passing style."""

    def __init__(self) -> None:
        self.names = UniqueNames()
        self.loops: set[str] = set()

    def convert(self, definition: Definition) -> Definition:
        """The function with a continuation as its last parameter."""
        self.names.used_names.update(definition.parameters)
        continuation = self.fresh_name("k")
        body = self.expression(definition.body, continuation)
        return Definition(_name(definition.name), (*definition.parameters, continuation), body)

    def fresh_name(self, name: str) -> Identifier:
        return Identifier(self.names.fresh_name(name))

    def apply(self, continuation: Continuation, value: Expression) -> Expression:
        """The expression that passes a value to a continuation."""
        return (_CALL, continuation, value) if isinstance(continuation, Identifier) else continuation(value)

    def reify(self, continuation: Continuation, name: str) -> Expression:
        """A continuation as a function of the program."""
        if isinstance(continuation, Identifier):
            return continuation
        parameter = self.fresh_name(name)
        return _LAMBDA, (parameter,), continuation(parameter)

    def expression(self, expression: Expression, continuation: Continuation, name: str = "v") -> Expression:
        """An expression in continuation-passing style: its value goes to the continuation, under the name `name`."""
        if not isinstance(expression, tuple):
            return self.apply(continuation, expression)
        form = str(expression[0])
        match form:
            case "let*":
                return self._bindings(list(expression[1]), expression[2], continuation)
            case "if":
                return self._branch(expression, continuation, name)
            case "call":
                _, function, *arguments = expression
                callee = function if function in self.loops else _name(function)
                return (_CALL, callee, *arguments, self.reify(continuation, name))
            case "let":
                _, loop, bindings, body = expression
                self.loops.add(loop)
                loop_continuation = self.fresh_name("k")
                inner = self.expression(body, loop_continuation)
                return (_LET, loop, (*bindings, (loop_continuation, self.reify(continuation, name))), inner)
            case "raise":
                return expression
        if form not in OPS:
            value = self.fresh_name(name)
            return (_LETS, ((value, expression),), self.apply(continuation, value))
        value = self.fresh_name(name)
        continuation_call = self.apply(continuation, value)
        backward = (_BACKWARD, expression[0], value, *expression[1:])
        return (_LETS, ((value, (_DUAL, *expression)),), (_BEGIN, continuation_call, backward))

    def _bindings(
        self, bindings: list[tuple[Identifier, Expression]], body: Expression, continuation: Continuation
    ) -> Expression:
        if not bindings:
            return self.expression(body, continuation)
        (name, value), *remaining_bindings = bindings

        def follow(result: Expression) -> Expression:
            inner = self._bindings(remaining_bindings, body, continuation)
            return inner if result == name else (_LETS, ((name, result),), inner)

        return self.expression(value, follow, name)

    def _branch(self, expression: Expression, continuation: Continuation, name: str) -> Expression:
        _, test, then, otherwise = expression
        if isinstance(test, tuple):
            raise Usage("the condition of an `if` is not a variable", got=str(test[0]))
        if isinstance(continuation, Identifier):
            return (_IF, test, self.expression(then, continuation), self.expression(otherwise, continuation))
        join = self.fresh_name("k")
        choice = (_IF, test, self.expression(then, join), self.expression(otherwise, join))
        return (_LETS, ((join, self.reify(continuation, name)),), choice)
