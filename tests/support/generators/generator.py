"""Generated programs: Hypothesis calls tagloom's public functions, as a user would, and traces the result.

Programs terminate: recursive functions consume fuel, and loops count to a small bound; both may stop early, depending
on data. Every op of the registry is drawn with every combination of operand types that its rule accepts.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import tagloom as tl
from hypothesis import strategies as st
from support.generators.array_rows import arities, attributes
from tagloom.core import dtypes
from tagloom.core.frontend.control_flow import cond, while_loop
from tagloom.core.frontend.eager.apply import apply
from tagloom.core.frontend.eager.gradients import emit_call
from tagloom.core.frontend.trace import program_builder as tracing
from tagloom.core.frontend.trace.annotation import FunctionSpec
from tagloom.core.frontend.trace.program_builder import ProgramBuilder
from tagloom.core.frontend.trace.pytree import flat_tuple_type, leaf_type
from tagloom.core.frontend.trace.symbol import Symbol
from tagloom.core.ops.op import OPS, dynamic_size_count
from tagloom.core.program.program import Program
from tagloom.core.types import Type
from tagloom.core.value import admit, literal

INT, FLOAT, BOOL = Type(dtypes.int64), Type(dtypes.float64), Type(dtypes.bool)
VECTOR = Type(dtypes.float64, (3,))
OPEN = Type(dtypes.float64, (None,))
SCALARS = (INT, FLOAT, BOOL)
ARRAYS = (
    OPEN,
    Type(dtypes.int64, (3,)),
    Type(dtypes.int64, (None,)),
    Type(dtypes.bool, (3,)),
    Type(dtypes.bool, (None,)),
    Type(dtypes.float64, (3, 3)),
    Type(dtypes.float64, (3, 1)),
)
"""Further types of programs of arrays: indices, masks, matrices, and arrays of open sizes."""
PALETTES: tuple[tuple[Type, ...], ...] = (
    (),
    (Type(dtypes.int8), Type(dtypes.uint8)),
    (Type(dtypes.int16), Type(dtypes.uint32), Type(dtypes.int16, (3,))),
    (Type(dtypes.int32), Type(dtypes.float32)),
    (Type(dtypes.uint64), Type(dtypes.float32, (3,)), OPEN),
    (Type(dtypes.uint16), OPEN),
)
"""Types that a program has besides SCALARS and VECTOR; every dtype of the Array API is in one palette."""
NARROW_PALETTES: tuple[tuple[Type, ...], ...] = (
    (Type(dtypes.float16), Type(dtypes.bfloat16)),
    (Type(dtypes.bfloat16), Type(dtypes.bfloat16, (3,)), Type(dtypes.int16)),
    (Type(dtypes.float16), Type(dtypes.float16, (3,)), Type(dtypes.float32)),
)
"""Further such types, with floats of 16 bits."""

_SPECIAL = [0.0, 1.0, -1.5, 2.5, -0.0, float("inf"), float("nan"), 1e300]
_NEAR_LIMITS = {dtypes.float16: [65504.0, 6e-8, 0.1], dtypes.bfloat16: [3e38, 1e-40, 0.1]}
"""Floats of 16 bits that are large, denormal, or rounded."""
_MODERATE = [0.5, 1.25, -0.75, 0.3, -1.6, 2.2, 0.9, -0.2]
_INTEGERS = [0, 1, 2, -1, 3, 7, -5, 100, 2**62, -(2**63)]


@functools.lru_cache(maxsize=None, typed=True)
def _sampled(*choices: Any) -> st.SearchStrategy[Any]:
    """A cached `sampled_from` strategy: strategies are slow to build, and the writer uses the same ones often."""
    return st.sampled_from(choices)


@functools.cache
def values(type_: Type, moderate: bool = False) -> st.SearchStrategy[Any]:
    """Concrete values of a type, simple ones first. Open sizes are mostly 3. Moderate floats are finite and far from
    points where an op is not smooth."""
    numbers = _MODERATE if moderate and type_.dtype.kind == "f" else _numbers(type_.dtype)
    scalars = st.sampled_from([admit(number, Type(type_.dtype)) for number in numbers])
    if type_.is_scalar:
        return scalars
    open_ = st.sampled_from((3, 3, 3, 3, 1, 2, 0))
    shapes = st.tuples(*(open_ if size is None else st.just(size) for size in type_.shape or ()))
    return shapes.flatmap(lambda shape: _array(scalars, shape, type_.dtype))


def _array(scalars: st.SearchStrategy[Any], shape: tuple[int, ...], dtype: dtypes.DType) -> st.SearchStrategy[Any]:
    size = math.prod(shape)
    lists = st.lists(scalars, min_size=size, max_size=size)
    return lists.map(lambda numbers: admit(np.array(numbers, dtype.numpy).reshape(shape)))


def _numbers(dtype: dtypes.DType) -> list[Any]:
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind == "f":
        return [number for number in _SPECIAL if dtype is dtypes.float64 or number != 1e300] + _NEAR_LIMITS.get(
            dtype, []
        )
    low, high = dtype.range
    return [number for number in dict.fromkeys([*_INTEGERS, high, low]) if low <= number <= high]


Signatures: TypeAlias = dict[str, list[tuple[tuple[Type, ...], tuple[tuple[str, Any], ...]]]]


@functools.cache
def signatures(extra: tuple[Type, ...], arrays: bool = False) -> Signatures:
    """For each op, the accepted combinations of operand types and attributes: of elementwise ops, products and sums
    only, or of all ops if `arrays` is set."""
    table: Signatures = {}
    types = (*SCALARS, VECTOR, *extra)
    converted = dict.fromkeys(type_.dtype for type_ in types)
    for row in OPS.values():
        if not arrays and row.scalar is None and row.name not in ("matmul", "sum"):
            continue
        choices = [(("dtype", dtype),) for dtype in converted] if row.name == "astype" else list(attributes(row))
        for operand_types in choices:
            sizes = (INT,) * dynamic_size_count(row, dict(operand_types))
            for arity in arities(row):
                for operands in _operand_types(types, arity):
                    try:
                        result = row.type_rule(*operands, *sizes, **dict(operand_types))
                    except tl.Invalid:
                        continue
                    if result in types:
                        table.setdefault(row.name, []).append(((*operands, *sizes), operand_types))
    return table


def _operand_types(types: Sequence[Type], arity: int) -> Iterable[tuple[Type, ...]]:
    """All combinations of types for the operands of an op; more than three operands are of one type in all ops."""
    return itertools.product(types, repeat=arity) if arity <= 3 else zip(*[types] * arity, strict=True)


_WIDE = (*(8, 7, 9) * 4, 1)
_LONG = (*(24, 20, 30) * 4, 1)
"""Fuel for helpers that call themselves twice, and once: a few hundred firings."""
_SMOOTH = ("add", "subtract", "multiply", "divide", "sin", "tanh", "exp", "sqrt", "atan2", "where", "sum", "matmul")
_DIVISORS = ("floor_divide", "remainder", "pow")
_COUNTS = {"arange": (0, 1, 2), "repeat": (1,)}
"""Operands that determine the number of elements: small ones."""


class Case:
    """A program and arguments for it. It is no dataclass, since Hypothesis must print it in the text form."""

    def __init__(self, program: Program, arguments: list[Any]) -> None:
        self.program = program
        self.arguments = arguments

    def __repr__(self) -> str:
        return f"{tl.print_program(self.program, locations=False)}\non {self.arguments}"


@dataclass
class ProgramWriter:
    """Generates the function bodies of one program; `draw` makes every decision."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    extra: tuple[Type, ...] = ()
    helpers: list[FunctionSpec] = field(default_factory=list)
    calls_left: int = 6
    branching: int = 1
    """The most calls that one activation of a helper makes."""
    loops: int = 0
    """The number of loops around the current statement."""
    loops_left: int = 4
    wide: tuple[int, ...] = _WIDE
    long: tuple[int, ...] = _LONG
    arrays: bool = False
    """Whether all array ops are drawn."""
    exact: bool = False
    """Whether sums and matrix products are frequent, and of small whole numbers only, so that they are equal in any
    order."""
    floats: bool = False
    """Whether most values are moderate floats that depend on one another, so that gradients are not trivial."""
    risks: int = 1
    """The share of statements that may trap, beside a dozen ops."""

    @property
    def favoured(self) -> tuple[Type, ...]:
        """Float types that are drawn in addition to `scalars` or `types`, so that most values are floats."""
        return (FLOAT,) * 9 * self.floats

    @property
    def scalars(self) -> tuple[Type, ...]:
        return (*SCALARS, *(type_ for type_ in self.extra if type_.is_scalar))

    @property
    def types(self) -> tuple[Type, ...]:
        return (*SCALARS, VECTOR, *self.extra, *(type_ for type_ in ARRAYS * self.arrays if type_ not in self.extra))

    def pick(self, *choices: Any) -> Any:
        return self.draw(_sampled(*choices))

    def value(self, scope: list[Any], type_: Type) -> Any:
        """A value of this type: a recent one from the scope, mostly, or a literal."""
        candidates = [value for value in scope if _type(value) == type_][-4:]
        if candidates and self.draw(st.integers(0, 5)):
            return candidates[::-1][self.pick(*range(len(candidates)))]
        return self.draw(values(_closed(type_), self.floats))

    def statement(self, scope: list[Any], depth: int, fuel: Any) -> list[Any]:
        """Some values, computed by one node or one structure."""
        kinds = [*["op"] * 12, *["risk"] * self.risks]
        if depth < 3:
            kinds += [*["cond"] * 3, *["loop"] * 4] if self.loops_left > 0 else ["cond"]
        if self.helpers and self.calls_left > 0 and fuel is not None:
            kinds += ["call"] * 7
        match self.pick(*kinds):
            case "op":
                return [self.op(scope)]
            case "risk":
                divisor = apply("remainder", self.value(scope, INT), 5)
                return [apply(self.pick(*_DIVISORS[:2]), self.value(scope, INT), divisor)]
            case "cond":
                return self.cond(scope, depth, fuel)
            case "loop":
                return self.loop(scope, depth, fuel)
            case _:
                return self.call(scope, fuel)

    def op(self, scope: list[Any]) -> Any:
        usable = signatures(self.types[len(SCALARS) + 1 :], self.arrays)
        if self.floats:
            usable = {name: each for name, each in usable.items() if name != "prevent_gradient"}
        inexact = [name for name in usable if OPS[name].error_bound] if self.exact else []
        name = self.pick(*usable, *inexact * 3, *[each for each in _SMOOTH if each in usable] * 9 * self.floats)
        types, attributes = self.pick(*usable[name])
        operands = [_strong(self.value(scope, type_)) for type_ in types]
        if name in _DIVISORS and types[1].is_scalar and types[1].dtype.is_integer and self.pick(True, True, False):
            operands[1] = _strong(admit(self.pick(2, 3, 1), types[1]))
        sizes = range(len(types) - dynamic_size_count(OPS[name], dict(attributes)), len(types))
        for place in (*_COUNTS.get(name, ()), *(sizes if "shape" in dict(attributes) else ())):
            operands[place] = apply("remainder", operands[place], 5)
        if self.exact and OPS[name].error_bound:
            operands = [whole(operand, type_) for operand, type_ in zip(operands, types, strict=True)]
        try:
            return apply(name, *operands, **dict(attributes))
        except tl.Invalid:
            assert self.arrays  # a literal has a size where its type was to leave one open
            return apply("identity", operands[0])

    def statements(self, scope: list[Any], depth: int, fuel: Any, most: int) -> list[Any]:
        """The scope, extended by some statements."""
        scope = list(scope)
        for _ in range(self.pick(0, *range(1, most + 1), most)):
            scope += self.statement(scope, depth, fuel)
        return scope

    def predicate(self, scope: list[Any]) -> Any:
        if self.pick(True, False):
            return self.value(scope, BOOL)
        type_ = self.pick(INT, FLOAT)
        return apply(self.pick("less", "equal", "greater_equal"), self.value(scope, type_), self.value(scope, type_))

    def cond(self, scope: list[Any], depth: int, fuel: Any) -> list[Any]:
        types = self.draw(st.lists(_sampled(*self.types), min_size=1, max_size=2))

        def branch() -> tuple[Any, ...]:
            inner = self.statements(scope, depth + 1, fuel, 3)
            return tuple(self.value(inner, type_) for type_ in types)

        return list(cond(self.predicate(scope), branch, branch))

    def loop(self, scope: list[Any], depth: int, fuel: Any, *, calling: bool = False) -> list[Any]:
        """A bounded loop. It may stop early, its bound may depend on data, and its body may begin with a call. In a
        program of arrays it may carry an array whose size changes."""
        self.loops_left -= 1
        types = self.draw(st.lists(_sampled(*self.scalars, *(OPEN,) * (3 * self.arrays)), max_size=2))
        bound = self.pick(2, 1, 3, 0, 2) if self.loops or depth else self.pick(2, 1, 0, 4, 6)
        if self.pick(False, False, True):
            bound = apply("remainder", self.value(scope, INT), 3)
        early = self.pick(False, True)

        def going_on(i: Any, *variables: Any) -> Any:
            inside = apply("less", i, bound)
            if early:
                inner = self.statements([*scope, i, *variables], 3, None, 1)
                return apply("logical_and", inside, self.predicate(inner))
            return inside

        def body(i: Any, *variables: Any) -> tuple[Any, ...]:
            self.loops += 1
            inner = [*scope, i, *variables]
            inner += self.call(inner, fuel) if calling else []
            inner = self.statements(inner, depth + 1, fuel, 3)
            self.loops -= 1
            return (apply("add", i, 1), *(self.value(inner, type_) for type_ in types))

        starts = [self.value(scope, type_) for type_ in types]
        return list(while_loop(going_on, body, 0, *starts, parallel_iterations=self.at_once()))

    def at_once(self) -> int | None:
        """The loop's bound on iterations that run at the same time."""
        return None

    def call(self, scope: list[Any], fuel: Any) -> list[Any]:
        """A call of a helper, with less fuel than is left."""
        self.calls_left -= 1
        helper = self.helpers[self.pick(*range(len(self.helpers)))]
        region = tracing.current_region()
        assert region is not None
        if isinstance(fuel, int):
            less = fuel // 2 + 1 if self.loops else fuel
        else:
            less = apply("subtract", fuel, 2 if self.loops else self.pick(1, 1, 2))
        call_arguments = [self.value(scope, type_) for _, type_ in helper.leaf_parameters()[1:] if type_ is not None]
        results = emit_call(region, helper, [less, *call_arguments]).results
        return list(map(Symbol, results))

    def helper(self, position: int) -> FunctionSpec:
        """A recursive function of its fuel and some parameters."""
        types = self.parameters()
        results = tuple(self.draw(st.lists(_sampled(*self.favoured, *self.scalars), min_size=1, max_size=2)))
        name = "fg"[position]
        shape = self.pick("calls", "loop", "call")
        self.branching = max(self.branching, 1 if shape == "call" else 2)

        def body(fuel: Any, *parameters: Any) -> tuple[Any, ...]:
            self.calls_left, self.loops_left = (2 if shape == "calls" else 1), 1
            scope = list(parameters)

            def base() -> tuple[Any, ...]:
                inner = self.statements(scope, 2, None, 2)
                return tuple(self.value(inner, type_) for type_ in results)

            def further() -> tuple[Any, ...]:
                inner = list(scope)
                match shape:
                    case "call":
                        inner += self.call(inner, fuel)
                    case "calls":
                        inner += self.call(inner, fuel)
                        inner += self.call(inner, fuel)
                    case "loop":
                        inner += self.loop(inner, 1, fuel, calling=True)
                inner = self.statements(inner, 1, fuel, 3)
                return tuple(self.value(inner, type_) for type_ in results)

            empty = apply("less_equal", fuel, 0)
            if self.pick(*[False] * 8, True):
                empty = apply("logical_or", empty, self.predicate(scope))
            return tuple(cond(empty, base, further))

        body.__name__ = name
        names = ("fuel", *(f"p{k}" for k in range(len(types))))
        return FunctionSpec(
            body, tuple(zip(names, map(leaf_type, (INT, *types)), strict=True)), flat_tuple_type(results)
        )

    def parameters(self) -> list[Type]:
        """The types of a helper's parameters, without the fuel."""
        return self.draw(st.lists(_sampled(*self.favoured, *self.scalars), max_size=2))  # type: ignore[no-any-return]

    def main(self) -> tuple[FunctionSpec, tuple[Type, ...]]:
        floats = [FLOAT] * self.floats
        types = (*floats, *self.draw(st.lists(_sampled(*self.favoured, *self.types), max_size=3 - self.floats)))
        few = st.lists(_sampled(*self.types), min_size=1 - self.floats, max_size=2 - self.floats)
        results: list[Type] = [*floats, *self.draw(few)]

        def body(*parameters: Any) -> tuple[Any, ...]:
            self.calls_left, self.loops_left = 3, 3
            scope, fuel = (
                list(parameters),
                self.pick(*(self.wide if self.branching == 2 else self.long)),
            )
            if self.helpers and self.pick(*[True] * 15, False):
                scope += self.loop(scope, 0, fuel, calling=True) if self.pick(True, False) else self.call(scope, fuel)
            scope = self.statements(scope, 0, fuel, 4)
            return tuple(self.value(scope, type_) for type_ in results)

        body.__name__ = "main"
        names = tuple(f"x{k}" for k in range(len(types)))
        return FunctionSpec(
            body, tuple(zip(names, map(leaf_type, types), strict=True)), flat_tuple_type(results)
        ), types


@st.composite
def cases(
    draw: Any,
    *,
    exact: bool = False,
    arrays: bool = False,
    floats: bool = False,
    palettes: tuple[tuple[Type, ...], ...] = PALETTES,
) -> Case:
    """Programs with cond, while_loop, calls and recursion, nested in each other, and arguments for them."""
    writer = ProgramWriter(draw, draw(_sampled(*palettes)), exact=exact, arrays=arrays, floats=floats)
    writer.helpers = [writer.helper(position) for position in range(draw(_sampled(*(1, 2) * 6, 0)))]
    main, types = writer.main()
    program, _ = ProgramBuilder(Symbol).build_program(main, tuple(map(leaf_type, types)))
    return Case(program, [draw(values(type_, floats)) for type_ in types])


def whole(value: Any, type_: Type) -> Any:
    """A float becomes an integer, modulo 8; other values are unchanged."""
    if type_.dtype.kind != "f":
        return value
    return apply("astype", apply("remainder", apply("astype", value, dtype=dtypes.int64), 8), dtype=type_.dtype)


def _closed(type_: Type) -> Type:
    """The type with all sizes fixed, as a literal has it."""
    return (
        type_ if type_.shape is None else Type(type_.dtype, tuple(3 if size is None else size for size in type_.shape))
    )


def _strong(value: Any) -> Any:
    """A literal whose dtype does not adapt to the other operands."""
    return np.asarray(value)[()] if type(value) in (int, float) else value


def _type(value: Any) -> Type:
    return value._tagloom_value.type if isinstance(value, Symbol) else literal(value).type
