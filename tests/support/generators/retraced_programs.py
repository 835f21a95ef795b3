"""Programs that are traced again, node by node, as a user would write them: branches and loops by `tl.cond` and
`tl.while_loop`, functions as `tl.function`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import tagloom as tl
from tagloom.core.frontend.eager.apply import apply
from tagloom.core.frontend.eager.array import ConcreteArray
from tagloom.core.frontend.trace.annotation import FunctionSpec
from tagloom.core.frontend.trace.pytree import flat_tuple_type, leaf_type
from tagloom.core.program.program import FunctionDef, Node, Program, Region
from tagloom.core.types import Type
from tagloom.core.value import Literal


def as_function(
    function: FunctionDef, python: Callable[..., Any], results: Sequence[Type] | None = None
) -> tl.Function:
    """A Python function with the parameters of a program's function."""
    arguments = tuple((variable.name, leaf_type(variable.type)) for variable in function.body.parameters)
    source = FunctionSpec(python, arguments, None if results is None else flat_tuple_type(results))
    return tl.Function(python, lambda _: source)


class InTrace:
    """Traces a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.functions = {each.name: self._function(each) for each in program.functions}

    def __call__(self, *arguments: Any) -> list[Any]:
        return list(self.region(self.program.main.body, arguments))

    def _function(self, function: FunctionDef) -> tl.Function:
        def python(*arguments: Any) -> Any:
            return self.region(function.body, arguments)

        return as_function(function, python, function.results)

    def region(self, region: Region, arguments: Sequence[Any]) -> tuple[Any, ...]:
        values = dict(zip((variable.name for variable in region.parameters), arguments, strict=True))

        def value(operand: Any) -> Any:
            return ConcreteArray(operand) if isinstance(operand, Literal) else values[operand]

        for node in region.nodes:
            results = self.node(node, tuple(map(value, node.inputs)))
            values.update(zip((result.name for result in node.results), results, strict=True))
        return tuple(map(value, region.results))

    def node(self, node: Node, inputs: tuple[Any, ...]) -> Sequence[Any]:
        def within(at: int) -> Callable[..., tuple[Any, ...]]:
            return lambda *variables: self.region(node.regions[at], variables)

        match node.op:
            case "cond":
                branches = [partial(within(at), *inputs[1:]) for at in (0, 1)]
                return tl.cond(inputs[0], *branches)  # type: ignore[no-any-return]
            case "while_loop":
                return tl.while_loop(lambda *variables: within(0)(*variables)[0], within(1), *inputs)
            case "call":
                return self.functions[node.attribute("function")](*inputs)  # type: ignore[no-any-return]
            case op:
                return (apply(op, *inputs, **dict(node.attributes)),)
