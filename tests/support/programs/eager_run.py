"""Programs run op by op, as Python would: used to compare tapes, tagloom's and others'."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tagloom.core.frontend.eager.apply import apply
from tagloom.core.frontend.eager.array import ConcreteArray
from tagloom.core.program.program import Program, Region
from tagloom.core.value import Literal

MOST_STEPS = 2_000


class TooLong(Exception):
    """The program has more ops than a test waits for."""


class EagerRun:
    """Runs a program. `do` computes an op from values and attributes, `lift` makes a value of a literal, and Python's
    `bool` decides predicates. Cells are a dict: tapes record the values in them."""

    def __init__(
        self,
        program: Program,
        do: Callable[..., Any] = apply,
        lift: Callable[[Literal], Any] = ConcreteArray,
    ) -> None:
        self.program, self.do, self.lift, self.steps = program, do, lift, 0

    def __call__(self, *arguments: Any) -> list[Any]:
        return self.region(self.program.main.body, arguments)

    def region(self, region: Region, arguments: Sequence[Any]) -> list[Any]:
        known = dict(zip((variable.name for variable in region.parameters), arguments, strict=True))

        def value(operand: Any) -> Any:
            return self.lift(operand) if isinstance(operand, Literal) else known[operand]

        for node in region.nodes:
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise TooLong
            inputs = list(map(value, node.inputs))
            match node.op:
                case "cond":
                    made = self.region(node.regions[0 if inputs[0] else 1], inputs[1:])
                case "while_loop":
                    made = inputs
                    while self.region(node.regions[0], made)[0]:
                        made = self.region(node.regions[1], made)
                        self.steps += 1
                case "call":
                    made = self.region(self.program[node.attribute("function")].body, inputs)
                case "cells":
                    made = [dict[int, Any]()]
                case "put":
                    held, at, put = inputs
                    made = [held]
                    held[int(at)] = put
                case "get":
                    held, at = inputs
                    made = [held[int(at)]]
                case "collect":
                    (held,), shape = inputs, (1, *(node.results[0].type.shape or ())[1:])
                    each = [self.do("reshape", held[at], shape=shape) for at in sorted(held)]
                    made = [self.do("concat", *each, axis=0)]
                case op:
                    made = [self.do(op, *inputs, **dict(node.attributes))]
            known.update(zip((result.name for result in node.results), made, strict=True))
        return list(map(value, region.results))
