"""Generated programs with gradients that are mostly not 0: of moderate floats that depend on one another.

Few programs of `generator` have a useful gradient: most of their values have other types, are literals, or do not
affect the results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tagloom as tl
from hypothesis import strategies as st
from support.generators.generator import FLOAT, VECTOR, Case, ProgramWriter, _type, values
from tagloom.core.frontend.trace.program_builder import ProgramBuilder
from tagloom.core.frontend.trace.pytree import leaf_type
from tagloom.core.frontend.trace.symbol import Symbol
from tagloom.core.types import Type

WEIGHTS = np.array([0.5, -1.25, 2.0])


def above(x: Any) -> Any:
    """A number of at least 1."""
    return 1.0 + x * x


def inside(x: Any) -> Any:
    """A number between -0.9 and 0.9."""
    return 0.9 * tl.tanh(x)


def matrix(x: Any) -> Any:
    """A matrix far from singular, with well-separated singular values."""
    return 0.2 * tl.sin(x) * tl.permute_dims(tl.broadcast_to(tl.cos(x), (3, 3)), (1, 0)) + [
        [2.0, 0.3, 0.1],
        [0.2, 4.0, 0.2],
        [0.1, 0.1, 7.0],
    ]


def symmetric(x: Any) -> Any:
    """A symmetric matrix far from singular, with well-separated eigenvalues."""
    return 0.5 * (matrix(x) + tl.permute_dims(matrix(x), (1, 0)))


OF_NUMBERS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * tl.sin(y),
    "divide": lambda x, y: x / above(y),
    "pow": lambda x, y: above(x) ** tl.tanh(y),
    "pow_2": lambda x, y: inside(x) ** 2.0,
    "remainder": lambda x, y: x % (0.5 + above(y)),
    "minimum": lambda x, y: tl.minimum(x, 0.5 * y),
    "maximum": lambda x, y: tl.maximum(x, y),
    "where": lambda x, y: tl.where(x < y, tl.sin(x), y),
    "atan2": lambda x, y: tl.atan2(x, above(y)),
    "hypot": lambda x, y: tl.hypot(above(x), y),
    "logaddexp": lambda x, y: tl.logaddexp(x, y),
    "copysign": lambda x, y: tl.copysign(x, y),
    "stop": lambda x, y: tl.stop_gradient(tl.tanh(x)) * y,
    "floor": lambda x, y: (x - tl.floor(x)) * tl.cos(y),
    "abs": lambda x: abs(x),
    "negative": lambda x: -x,
    "sqrt": lambda x: tl.sqrt(above(x)),
    "exp": lambda x: tl.exp(inside(x)),
    "expm1": lambda x: tl.expm1(inside(x)),
    "log": lambda x: tl.log(above(x)),
    "log1p": lambda x: tl.log1p(x * x),
    "log2": lambda x: tl.log2(above(x)),
    "log10": lambda x: tl.log10(above(x)),
    "sin": lambda x: tl.sin(x),
    "cos": lambda x: tl.cos(x),
    "tan": lambda x: tl.tan(inside(x)),
    "tanh": lambda x: tl.tanh(x),
    "asin": lambda x: tl.asin(inside(x)),
    "acos": lambda x: tl.acos(inside(x)),
    "atan": lambda x: tl.atan(x),
    "sinh": lambda x: tl.sinh(inside(x)),
    "cosh": lambda x: tl.cosh(inside(x)),
    "asinh": lambda x: tl.asinh(x),
    "acosh": lambda x: tl.acosh(0.1 + above(x)),
    "atanh": lambda x: tl.atanh(inside(x)),
}
"""Functions from numbers to numbers, and from vectors to vectors; a number and a vector broadcast."""
TO_VECTORS: dict[str, Callable[..., Any]] = {
    "cumulative_sum": lambda v: tl.cumulative_sum(v),
    "cumulative_prod": lambda v: tl.cumulative_prod(inside(v)),
    "sort": lambda v: tl.sort(v),
    "reversed": lambda v: v[::-1],
    "roll": lambda v: tl.roll(v, 1),
    "take": lambda v: tl.take(v, [2, 0, 2]),
    "concat": lambda v: tl.concat((v[1:], tl.sin(v[:1]))),
    "solve": lambda v: tl.linalg.solve(matrix(v), v),
    "eigvalsh": lambda v: tl.linalg.eigvalsh(symmetric(v)),
    "matrix by vector": lambda v: matrix(v) @ tl.tanh(v),
    "inv": lambda v: tl.sum(tl.linalg.inv(matrix(v)), axis=1),
    "cholesky": lambda v: tl.linalg.cholesky(symmetric(v))[:, 1],
    "svdvals": lambda v: tl.linalg.svdvals(matrix(v)),
    "max along an axis": lambda v: tl.max(matrix(v), axis=1),
}
TO_NUMBERS: dict[str, Callable[..., Any]] = {
    "sum": lambda v: tl.sum(v * WEIGHTS),
    "prod": lambda v: tl.prod(inside(v)),
    "max": lambda v: tl.max(v),
    "min": lambda v: tl.min(v),
    "vector by vector": lambda v: tl.tanh(v) @ v[::-1],
    "index": lambda v: v[1],
    "det": lambda v: tl.linalg.det(matrix(v)) / 100.0,
    "slogdet": lambda v: tl.linalg.slogdet(matrix(v))[1],
    "gather": lambda v: matrix(v)[[0, 2], [1, 1]][1],
}


def read_twice(v: Any) -> Any:
    """A value that one cell holds is put into another cell, and read twice at the end."""
    cells = tl.put(tl.cells(2, tl.float64), 1, v[0] * tl.tanh(v[1]))
    cells = tl.put(cells, 0, tl.get(cells, 1) * tl.sin(v[2]))
    return tl.get(cells, 0) * tl.get(cells, 1) + tl.get(cells, 1)


BY_CELLS: dict[str, Callable[..., Any]] = {
    "map": lambda v: tl.map(lambda x: x * tl.sin(x), v),
    "map of rows": lambda v: tl.map(lambda row: tl.sum(row * tl.tanh(v)), matrix(v)),
    "scan": lambda v: tl.scan(lambda s, x: (0.5 * s + x, tl.tanh(s) * x), 0.3, v)[1],
    "collect": lambda v: tl.collect(tl.put(tl.put(tl.cells(2, tl.float64), 1, v[2]), 0, tl.sin(v[0])))[[1, 0, 1]] * v,
    "read twice": read_twice,
}
"""Functions from vectors to vectors and numbers that use cells."""


def weight() -> float:
    """A callback without operands."""
    return 0.75


def is_seen(x: float) -> bool:
    """A callback that returns the same for every operand."""
    return True


SEEN = {each.__name__: each for each in (weight, is_seen)}


def printed(v: Any) -> Any:
    tl.print("v[1] is", v[1])
    return tl.sin(v)


def told(v: Any) -> Any:
    """A branch that depends on a callback."""
    return tl.cond(tl.callback(is_seen, v[0], returns=tl.bool), lambda: v[::-1] * tl.cos(v), lambda: v)


def read_early(v: Any) -> Any:
    """A constant that is read before it is put."""
    cells = tl.cells(2, tl.float64)
    first = tl.get(cells, 1)
    cells = tl.put(tl.put(cells, 0, v[2]), 1, 0.5)
    return first * tl.get(cells, 0) * v


BY_ACTS: dict[str, Callable[..., Any]] = {
    "print": printed,
    "callback": lambda v: tl.callback(weight, returns=tl.float64) * v,
    "callback of a value": told,
    "uniform": lambda v: (0.5 + tl.uniform()) * v,
    "normal": lambda v: tl.sum(tl.tanh(tl.normal((3,))) * v),
    "read early": read_early,
}
"""Functions from vectors to vectors and numbers with effects and random numbers."""


@dataclass
class Smooth(ProgramWriter):
    """Generates programs of floats, each of which affects a result."""

    risks: int = 0
    floats: bool = True
    by_cells: bool = False
    by_acts: bool = False
    """Whether programs have effects, random numbers, and bounds on loops."""
    wide: tuple[int, ...] = (3, 4, 2)
    long: tuple[int, ...] = (8, 5, 11)

    @property
    def scalars(self) -> tuple[Type, ...]:
        return (FLOAT,)

    @property
    def types(self) -> tuple[Type, ...]:
        return (FLOAT, FLOAT, FLOAT, VECTOR)

    @property
    def favoured(self) -> tuple[Type, ...]:
        return ()

    def parameters(self) -> list[Type]:
        return [FLOAT] * self.pick(1, 2)

    def value(self, scope: list[Any], type_: Type) -> Any:
        """A value of this type: one of the latest in scope, rarely a literal."""
        candidates = [value for value in scope if _type(value) == type_][:-5:-1]
        kind = self.pick(*[0] * 4, 1, 1, 2, 3, 4) if candidates else 4
        return candidates[kind % len(candidates)] if kind < 4 else self.draw(values(type_, True))

    def statements(self, scope: list[Any], depth: int, fuel: Any, most: int) -> list[Any]:
        """The scope, extended by some statements and by a number that depends on all their floats."""
        grown = super().statements(scope, depth, fuel, most)
        results = [value for value in grown[len(scope) :] if _type(value) in (FLOAT, VECTOR)]
        total = self.value(scope, FLOAT)
        for value in results:
            number = value if _type(value) == FLOAT else tl.sum(value * WEIGHTS)
            total = 0.6 * total + tl.sin(number)
        return [*grown, total]

    def at_once(self) -> int | None:
        return self.pick(None, 1, 2, 3) if self.by_acts else None

    def op(self, scope: list[Any]) -> Any:
        if self.by_acts and self.pick(*[False] * 2, True):
            return self.pick(*BY_ACTS.values())(self.spread(scope))
        if self.by_cells and self.pick(*[False] * 3, True):
            return self.pick(*BY_CELLS.values())(self.spread(scope))
        if self.pick(*[False] * 5, True):
            result = self.pick(*{**TO_VECTORS, **TO_NUMBERS}.values())
            return result(self.spread(scope))
        result, one = self.pick(*OF_NUMBERS.values()), self.value(scope, self.pick(*self.types))
        return result(one, self.value(scope, FLOAT)) if result.__code__.co_argcount == 2 else result(one)

    def spread(self, scope: list[Any]) -> Any:
        """A vector: one in scope, or one made from a number."""
        number = self.value(scope, FLOAT)
        return self.pick(lambda: self.value(scope, VECTOR), lambda: tl.sin(tl.multiply(number, WEIGHTS)))()


@st.composite
def smooth_cases(draw: Any, *, recursive: bool = True, by_cells: bool = False, by_acts: bool = False) -> Case:
    """Programs with nested cond and while_loop, and arguments for them; options add recursion, cells, or effects,
    random numbers and bounds."""
    writer = Smooth(draw, by_cells=by_cells, by_acts=by_acts)
    writer.helpers = [writer.helper(position) for position in range(draw(st.sampled_from((1, 2))))] if recursive else []
    main, types = writer.main()
    program, _ = ProgramBuilder(Symbol).build_program(main, tuple(map(leaf_type, types)))
    return Case(program, [draw(values(type_, True)) for type_ in types])
