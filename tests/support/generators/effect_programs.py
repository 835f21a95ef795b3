"""Generated programs with cells, effects, random numbers and bounds in any region.

Cells are filled in the region that makes them: by a sequence of puts, in branches, in a loop or by a recursion. They
are read wherever their handle is in scope; an `early` program may read them before they are filled. Occasionally a cell
stays empty, is put twice, or has an index out of range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import tagloom as tl
from hypothesis import strategies as st
from support.generators.generator import (
    BOOL,
    FLOAT,
    INT,
    OPEN,
    SCALARS,
    VECTOR,
    Case,
    ProgramWriter,
    _sampled,
    _type,
    values,
)
from tagloom.core.frontend.control_flow import cond, while_loop
from tagloom.core.frontend.eager.apply import apply
from tagloom.core.frontend.eager.gradients import emit_call
from tagloom.core.frontend.trace import program_builder as tracing
from tagloom.core.frontend.trace.annotation import FunctionSpec
from tagloom.core.frontend.trace.program_builder import ProgramBuilder
from tagloom.core.frontend.trace.pytree import flat_tuple_type, leaf_type
from tagloom.core.frontend.trace.symbol import Symbol
from tagloom.core.program.program import PARALLEL_ITERATIONS, Program, Region
from tagloom.core.types import HandleType, Type, element_type, handle_type
from tagloom.core.world import World

SHAPES = ((), (), (3,), (3,), (2,), (2, 2), (0,))
TEXTS = ("", "a", "{{", "}} b", "of", "{{}}")


class Cells(NamedTuple):
    """Cells in a scope: their handle, their number (None: at least one), and the values that existed before them."""

    symbol: Any
    size: Any
    before: tuple[Any, ...]

    @property
    def type(self) -> Type:
        return _type(self.symbol)

    @property
    def element(self) -> Type:
        return element_type(self.type)


def weigh(*numbers: Any) -> int:
    """A callback that returns an integer for any operands."""
    return len(numbers) + _sum(numbers)


def _sum(numbers: tuple[Any, ...]) -> int:
    result = 0
    for number in numbers:
        for byte in np.asarray(number).tobytes():
            result = (result * 31 + byte) % 1009
    return result % 7


def half(*numbers: Any) -> float:
    """A callback that sometimes raises an error."""
    if _sum(numbers) == 6:
        raise ValueError(f"no half of {len(numbers)}")
    return _sum(numbers) / 2


def wrong(*numbers: Any) -> Any:
    """A callback that sometimes returns a value of the wrong type."""
    return "six" if _sum(numbers) == 5 else _sum(numbers) % 2 == 0


CALLBACKS: dict[str, tuple[Callable[..., Any], Type]] = {
    "weigh": (weigh, INT),
    "half": (half, FLOAT),
    "wrong": (wrong, BOOL),
}


class Witness(World):
    """A world that records printed lines and callback calls."""

    def __init__(self, callbacks: Mapping[str, Callable[..., Any]] | None = None) -> None:
        self.lines: list[str] = []
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        own = {name: function for name, (function, _) in CALLBACKS.items()}
        super().__init__(self.lines.append, {**own, **(callbacks or {})})

    def call(self, function: str, operands: tuple[Any, ...], returns: Type) -> Any:
        self.calls.append((function, operands))
        return super().call(function, operands, returns)


@dataclass
class EffectProgramWriter(ProgramWriter):
    """Writes function bodies with cells and effects; they are smaller than those of `ProgramWriter`."""

    wide: tuple[int, ...] = (3, 4, 2)
    long: tuple[int, ...] = (6, 4, 8)
    early: bool = False
    """Whether cells are read before they are filled, in program order."""
    bounded: bool = False
    twice: bool = False
    """Whether some cells are put twice."""
    without: frozenset[str] = frozenset()
    """Features to leave out: cells, effects."""
    empty: list[Cells] = field(default_factory=list)
    """The cells that the current region has made and not filled."""
    fillers: dict[Type, FunctionSpec] = field(default_factory=dict)

    def at_once(self) -> int | None:
        return self.pick(None, 1, 2, 3, 4) if self.bounded else None

    @property
    def forbidden(self) -> frozenset[str]:
        """The kinds of statements that are not generated."""
        kinds = {"cells": {"cells", "fill", "read", "twice"}, "effects": {"print", "call Python"}}
        return frozenset[str]().union(*(kinds[each] for each in self.without))

    def parameters(self) -> list[Type]:
        types = super().parameters()
        return [*types, self.handle()] if "cells" not in self.without and self.pick(True, False) else types

    def handle(self) -> Type:
        return handle_type(self.pick(INT, FLOAT, INT))

    def value(self, scope: list[Any], type_: Type) -> Any:
        if not isinstance(type_.dtype, HandleType):
            return super().value([value for value in scope if not isinstance(value, Cells)], type_)
        matching_cells = [cells for cells in self.cells_in(scope) if cells.type == type_]
        if matching_cells and self.pick(True, True, False):
            return matching_cells[-1].symbol
        result = self.make(scope, element_type(type_), self.pick(1, 2, 3))
        return self.straight(result, scope).symbol

    def cells_in(self, scope: list[Any]) -> list[Cells]:
        """The cells in scope; the number of a parameter's cells is unknown."""
        return [
            value if isinstance(value, Cells) else Cells(value, None, ())
            for value in scope
            if isinstance(value, Cells) or isinstance(_type(value).dtype, HandleType)
        ]

    def statements(self, scope: list[Any], depth: int, fuel: Any, most: int) -> list[Any]:
        outside, self.empty = self.empty, []
        begins = "cells" not in self.without and depth < 2 and self.pick(*[True] * (4 - 2 * depth), False)
        first_cells = [self.cells(scope)] if begins else []
        scope = super().statements([*scope, *first_cells], depth, fuel, most)
        for cells in self.empty:
            if self.pick(*[True] * 5, False):
                scope.append(self.fill(cells, scope))
        self.empty = outside
        return scope + self.waited_for(scope) if depth == 0 and self.pick(True, False) else scope

    def waited_for(self, scope: list[Any]) -> list[Any]:
        """Values that exist only once a cell is full, as results of a program."""
        scalar_cells = [cells for cells in self.cells_in(scope) if cells.element in SCALARS]
        if not scalar_cells:
            return []
        got = tl.get(scalar_cells[self.pick(*range(len(scalar_cells)))].symbol, 0)
        full = apply("equal", got, got)
        return [
            full,
            *(apply("where", full, self.value(scope, type_), type_.dtype.numpy.type(1)) for type_ in (INT, FLOAT)),
        ]

    def statement(self, scope: list[Any], depth: int, fuel: Any) -> list[Any]:
        kinds = ["program"] * 8 + ["cells"] * 3 + ["print", "call Python"] * 2 + ["draw"] * 3 + ["breakpoint"]
        kinds += ["read"] * 8 if self.cells_in(scope) else []
        kinds += ["fill"] * 2 if self.empty else []
        kinds += ["twice"] * 4 if self.twice else []
        kinds += ["draw"] * 6 if self.loops else []
        kinds += ["print"] * 12 if depth == 3 else []  # in the condition of a loop
        kinds = [kind for kind in kinds if kind not in self.forbidden]
        match self.pick(*kinds):
            case "program":
                return super().statement(scope, depth, fuel)
            case "cells":
                return [self.cells(scope)]
            case "read":
                return self.read(self.pick_cells(scope), scope)
            case "fill":
                return [self.fill(self.empty.pop(self.pick(*range(len(self.empty)))), scope)]
            case "print":
                return self.print(scope)
            case "call Python":
                name = self.pick(*["weigh"] * 6, *["half"] * 2, "wrong")
                function, returns = CALLBACKS[name]
                return [tl.callback(function, *self.operands(scope), returns=returns)]
            case "twice":
                self.put_twice(scope)
                return []
            case "breakpoint":
                tl.breakpoint(self.value(scope, BOOL))
                return []
            case _:
                drawn = self.random(scope)
                if "effects" not in self.without and self.pick(True, False):
                    tl.print(drawn)
                return [drawn]

    def pick_cells(self, scope: list[Any]) -> Cells:
        cells_in_scope = self.cells_in(scope)
        return cells_in_scope[self.pick(*range(len(cells_in_scope)))]  # type: ignore[no-any-return]

    def operands(self, scope: list[Any]) -> list[Any]:
        return [self.value(scope, self.pick(*SCALARS)) for _ in range(self.pick(0, 1, 1, 2))]

    def print(self, scope: list[Any]) -> list[Any]:
        operands = self.operands(scope)
        text = "{}".join(self.pick(*TEXTS) for _ in range(len(operands) + 1))
        region = tracing.current_region()
        assert region is not None
        return [Symbol(tracing.emit_op(region, "print", list(map(tracing.to_operand, operands)), (("text", text),)))]

    def random(self, scope: list[Any]) -> Any:
        shape = self.pick(*SHAPES)
        match self.pick("uniform", "normal", "integers", "permutation"):
            case "uniform":
                return tl.uniform(shape)
            case "normal":
                return tl.normal(shape)
            case "integers":
                low = self.value(scope, INT)
                return tl.integers(low, 2**62 if self.pick(True, False) else apply("add", low, self.pick(2, 9)), shape)
            case _:
                return tl.permutation(apply("remainder", self.value(scope, INT), 5))

    def cells(self, scope: list[Any]) -> Cells:
        """New cells, filled at once or later."""
        size = self.pick(2, 1, 3, None)
        if size is None:
            size = apply("add", apply("remainder", self.value(scope, INT), 3), 1)
        result = self.make(scope, self.pick(INT, INT, FLOAT, BOOL, VECTOR, OPEN), size)
        if not self.early or self.pick(True, False):
            return self.fill(result, scope)
        self.empty.append(result)
        return result

    def make(self, scope: list[Any], element: Type, size: Any) -> Cells:
        before = tuple(value for value in scope if not isinstance(_type_of(value).dtype, HandleType))
        return Cells(tl.cells(size, element), size, before)

    def read(self, cells: Cells, scope: list[Any]) -> list[Any]:
        if self.pick(*[False] * 30, True):
            return [tl.get(cells.symbol, self.pick(-1, 9))]
        if self.pick(True, True, False):
            index = 0 if cells.size is None else apply("remainder", self.value(scope, INT), cells.size)
            return [tl.get(cells.symbol, index)]
        other = self.pick_cells(scope)
        if self.pick(True, False) and other.type == cells.type:
            pred = self.value(scope, BOOL)
            return [Cells(cond(pred, lambda: cells.symbol, lambda: other.symbol), None, ())]
        return [tl.collect(cells.symbol)]

    def fill(self, cells: Cells, scope: list[Any]) -> Cells:
        """Put every cell in one of several ways, with values computed before the cells were made."""
        styles = [self.in_a_loop, self.by_recursion] if not isinstance(cells.size, int) else [self.straight]
        styles += [self.in_a_loop, self.by_recursion, self.in_a_chain] if self.loops + self.loops_left > 0 else []
        return self.pick(*styles)(cells, list(cells.before))  # type: ignore[no-any-return]

    def put_twice(self, scope: list[Any]) -> None:
        """Cells that nobody reads: one fill puts each cell, and one or two more puts follow. No read shows which came
        first."""
        cells = self.make(scope, self.pick(INT, FLOAT, VECTOR), self.pick(2, 1, 3))
        filled = self.pick(self.straight, self.in_a_loop, self.by_recursion)(cells, scope)
        for _ in range(self.pick(1, 2)):
            tl.put(
                (filled if self.pick(True, False) else cells).symbol,
                self.pick(*range(cells.size)),
                self.value(scope, cells.element),
            )

    def straight(self, cells: Cells, scope: list[Any]) -> Cells:
        """One put after another, in any order; some are in both branches of a cond. One may be left out."""
        handle, order = cells.symbol, self.draw(st.permutations(range(cells.size)))
        for index in order[self.pick(*[0] * 6, 1) :]:
            if self.pick(*[False] * 5, True):
                one, other = (self.value(scope, cells.element) for _ in "12")
                pred, before = self.value(scope, BOOL), handle
                handle = cond(
                    pred,
                    lambda i=index, h=before, v=one: tl.put(h, i, v),
                    lambda i=index, h=before, v=other: tl.put(h, i, v),
                )
            else:
                handle = tl.put(handle, index, self.value(scope, cells.element))
        return cells._replace(symbol=handle)

    def in_a_loop(self, cells: Cells, scope: list[Any]) -> Cells:
        """One put in each iteration; the handle is a loop variable."""

        def body(i: Any, handle: Any) -> tuple[Any, Any]:
            inner = list(scope)
            if cells.element == INT:
                inner += [i, apply("multiply", i, 3)]
            return apply("add", i, 1), tl.put(handle, i, self.value(inner, cells.element))

        loop = while_loop(
            lambda i, handle: apply("less", i, cells.size), body, 0, cells.symbol, parallel_iterations=self.at_once()
        )
        return cells._replace(symbol=loop[1])

    def in_a_chain(self, cells: Cells, scope: list[Any]) -> Cells:
        """Each cell is computed from its predecessor, or from its successor, which makes the get a deferred read."""
        step, size = self.pick(-1, 1) if self.early else -1, cells.size
        end = 0 if step < 0 else apply("subtract", size, 1)
        first = self.value(scope, cells.element)

        def body(i: Any) -> Any:
            last = apply("equal", i, end)
            value = cond(last, lambda: first, lambda: tl.identity(tl.get(cells.symbol, apply("add", i, step))))
            tl.put(cells.symbol, i, value)
            return (apply("add", i, 1),)

        while_loop(lambda i: apply("less", i, size), body, 0, parallel_iterations=self.at_once())
        return cells

    def by_recursion(self, cells: Cells, scope: list[Any]) -> Cells:
        """A recursive function that puts the middle cell and calls itself for both halves."""
        type_, region = cells.type, tracing.current_region()
        assert region is not None
        if type_ not in self.fillers:
            self.fillers[type_] = self.filler(type_, f"fill{len(self.fillers)}")
        value = self.value(scope, cells.element)
        results = emit_call(region, self.fillers[type_], [cells.symbol, 0, cells.size, value]).results
        return cells._replace(symbol=Symbol(results[0]))

    def filler(self, type_: Type, name: str) -> FunctionSpec:
        element = element_type(type_)

        def body(handle: Any, low: Any, high: Any, value: Any) -> tuple[Any]:
            middle = apply("floor_divide", apply("add", low, high), 2)

            def further() -> Any:
                region = tracing.current_region()
                assert region is not None
                operand = apply("add", value, middle) if element == INT else value
                put = tl.put(handle, middle, operand)
                emit_call(region, source, [put, low, middle, operand])
                results = emit_call(region, source, [handle, apply("add", middle, 1), high, operand]).results
                return Symbol(results[0])

            return (cond(apply("less", low, high), further, lambda: handle),)

        body.__name__ = name
        types = (type_, INT, INT, element)
        names = ("cells", "low", "high", "value")
        source = FunctionSpec(body, tuple(zip(names, map(leaf_type, types), strict=True)), flat_tuple_type((type_,)))
        return source


def _type_of(value: Any) -> Type:
    return value.type if isinstance(value, Cells) else _type(value)


@st.composite
def act_cases(draw: Any, *, early: bool | None = None, bounded: bool = True, twice: bool = False, **more: Any) -> Case:
    """Programs with cells and effects, and arguments for them; further keywords are fields of their writer."""
    early = draw(st.booleans()) if early is None else early
    writer = EffectProgramWriter(draw, draw(_sampled((), (OPEN,))), early=early, bounded=bounded, twice=twice, **more)
    writer.helpers = [writer.helper(position) for position in range(draw(_sampled(1, 1, 2, 0)))]
    main, types = writer.main()
    program, _ = ProgramBuilder(Symbol).build_program(main, tuple(map(leaf_type, types)))
    return Case(program, [draw(values(type_, writer.floats)) for type_ in types])


def unbounded(program: Program) -> Program:
    """The program without bounds on its loops."""
    return replace(program, functions=tuple(replace(f, body=_freed(f.body)) for f in program.functions))


def _freed(region: Region) -> Region:
    return replace(
        region,
        nodes=tuple(
            replace(
                node,
                regions=tuple(map(_freed, node.regions)),
                attributes=tuple(pair for pair in node.attributes if pair[0] != PARALLEL_ITERATIONS),
            )
            for node in region.nodes
        ),
    )
