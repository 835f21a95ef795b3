"""The big-step evaluator: a structured program, evaluated directly. No tokens, no tags, no graph.

This is the independent meaning against which lowering and the machines are tested. It is strict and sequential:
it agrees with the token machine wherever that becomes quiet, and stops at the first trap that it meets. It is
never an engine for users.

A region is evaluated by a generator that yields the regions it needs the results of; a list of such generators
is the stack, so that depth is bounded by `max_depth` and memory, not by Python.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Literal as Word
from typing import NamedTuple, TypeAlias

from .op import OPS, kernel, trap_message
from .program import Node, Operand, Program, Region
from .types import type_of
from .value import Literal, Value

Values: TypeAlias = tuple[Value, ...]


class Request(NamedTuple):
    """A region to evaluate, of this function, on these arguments."""

    function: str
    region: Region
    arguments: Values


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How an evaluation ended: with results, at a trap (the node, the message), or at a limit, that of
    memory included."""

    status: Word["Returned", "Trapped", "Exhausted"]
    results: Values | None = None
    trap: tuple[str, str] | None = None


class _Trapped(Exception):
    pass


class _Exhausted(Exception):
    pass


_Region: TypeAlias = Generator[Request, Values, Values]


def evaluate(
    program: Program, arguments: Sequence[Value], *, max_steps: int = 10_000_000, max_depth: int = 250_000
) -> Evaluation:
    """Evaluate a program on admitted arguments; `max_steps` bounds the nodes, `max_depth` the nested regions."""
    evaluator = _Evaluator(program, max_steps)
    entry = program.main
    stack = [evaluator.region(Request(entry.name, entry.body, tuple(arguments)))]
    answer: Values | None = None
    try:
        while True:
            try:
                request = stack[-1].send(answer)  # type: ignore[arg-type]  # None starts a generator
            except StopIteration as finished:
                stack.pop()
                answer = finished.value
                if not stack:
                    return Evaluation("Returned", answer)
            else:
                if len(stack) >= max_depth:
                    return Evaluation("Exhausted")
                stack.append(evaluator.region(request))
                answer = None
    except _Trapped as trap:
        return Evaluation("Trapped", trap=trap.args[0])
    except (_Exhausted, MemoryError):
        return Evaluation("Exhausted")


class _Evaluator:
    def __init__(self, program: Program, max_steps: int) -> None:
        self.program = program
        self.steps_left = max_steps

    def region(self, request: Request) -> _Region:
        function, region, arguments = request
        values = {parameter.name: value for parameter, value in zip(region.parameters, arguments, strict=True)}

        def value(operand: Operand) -> Value:
            return operand.value if isinstance(operand, Literal) else values[operand]

        for node in region.nodes:
            self.steps_left -= 1
            if self.steps_left < 0:
                raise _Exhausted
            inputs = tuple(map(value, node.inputs))
            match node.op:
                case "cond":
                    taken = node.regions[0 if inputs[0] else 1]
                    results = yield Request(function, taken, inputs[1:])
                case "while_loop":
                    results = inputs
                    while (yield Request(function, node.regions[0], results))[0]:
                        results = yield Request(function, node.regions[1], results)
                case "call":
                    callee = self.program[node.attribute("function")]
                    results = yield Request(callee.name, callee.body, inputs)
                case _:
                    results = (self.compute(function, node, inputs),)
            values.update((var.name, result) for var, result in zip(node.results, results, strict=True))
        return tuple(map(value, region.results))

    def compute(self, function: str, node: Node, inputs: Values) -> Value:
        row = OPS[node.op]
        message = trap_message(row, inputs)
        if message is not None:
            raise _Trapped((f"{function}.{node.name}", message))
        return kernel(row, list(map(type_of, inputs)), node.results[0].type, node.attributes)(*inputs)
