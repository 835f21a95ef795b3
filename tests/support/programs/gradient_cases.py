"""Test cases for gradient rules: for each row, operands of several shapes at which its results are smooth."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tagloom.core import dtypes
from tagloom.core.ops.op import OPS

Random = np.random.Generator


@dataclass(frozen=True)
class GradientCase:
    """An op, its operands (a shape to draw, or a value), and attributes; `kind` says which floats are drawn."""

    op: str
    operands: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    kind: str = "distinct"

    def __str__(self) -> str:
        shapes = [each if type(each) is tuple else np.asarray(each).tolist() for each in self.operands]
        return f"{self.op} {shapes} {self.attributes or ''} {self.kind}"

    def values(self, dice: Random) -> list[Any]:
        """Operands that have no element in common."""
        drawn = [DRAWN[self.kind](dice, each) if type(each) is tuple else None for each in self.operands]
        given = [None if type(each) is tuple else np.asarray(each)[()] for each in self.operands]
        apart = 0.05 * (self.kind == "distinct")
        return [x if y is None else y + at * apart for at, (x, y) in enumerate(zip(given, drawn, strict=True))]

    def direction(self, dice: Random, value: Any) -> Any:
        """The direction in which an operand moves: symmetric matrices stay symmetric, and integers do not move."""
        result = dice.normal(size=np.shape(value))
        if self.kind == "ordered":
            return result * (np.asarray(value) != np.round(value))
        return result + np.swapaxes(result, -1, -2) if self.kind == "definite" else result


def distinct(dice: Random, shape: tuple[int, ...]) -> Any:
    """Numbers between -2.5 and 2.5, well separated from each other, from integers and from halves."""
    count = int(np.prod(shape))
    return np.reshape(dice.permutation(np.arange(-24, 25, 2) / 10 - 0.07)[:count], shape)[()]


def square(dice: Random, shape: tuple[int, ...]) -> Any:
    """Matrices far from singular, with well-separated singular values."""
    result = dice.normal(size=shape) / 8
    return result + np.eye(*shape[-2:]) * (1.0 + np.arange(shape[-1]))


def definite(dice: Random, shape: tuple[int, ...]) -> Any:
    result = dice.normal(size=shape) / 8
    return result + np.swapaxes(result, -1, -2) + np.eye(shape[-1]) * (2.0 + np.arange(shape[-1]))


DRAWN: dict[str, Any] = {
    "distinct": distinct,
    "positive": lambda dice, shape: np.abs(distinct(dice, shape)) + 0.1,
    "inside": lambda dice, shape: distinct(dice, shape) / 4,
    "ordered": lambda dice, shape: np.abs(distinct(dice, shape)) + 1.2,
    "above": lambda dice, shape: np.abs(distinct(dice, shape)) + 1.2,
    "probability": lambda dice, shape: 0.5 + distinct(dice, shape) / 12,
    "square": square,
    "definite": definite,
}
DOMAINS = {
    **dict.fromkeys(("sqrt", "log", "log2", "log10", "pow"), "positive"),
    "ndtri": "probability",
    **dict.fromkeys(("asin", "acos", "atanh", "log1p", "tan"), "inside"),
    **dict.fromkeys(("acosh", "divide", "cbrt", "lgamma", "digamma"), "above"),
}
FLAT = (
    "floor_divide",
    "floor",
    "ceil",
    "trunc",
    "round",
    "sign",
    "nextafter",
    "slogdet_sign",
    "stop_gradient",
    "bitcast",
)
"""Ops with gradient 0: piecewise constant ones, and `nextafter` and `bitcast`, which work on bits."""
REFUSED = ("prevent_gradient",)
"""Ops whose gradient is refused."""
PAIRS = [((), ()), ((3,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((0, 2), (2,)), ((1,), (0,))]
MASK, PICK = np.array([True, False, True]), np.array([[2, 0], [0, -1]])


def by_elements() -> Iterator[GradientCase]:
    for row in OPS.values():
        kind = DOMAINS.get(row.name, "distinct")
        if (
            row.scalar is None
            or row.gradient is None
            or row.name in (*FLAT, *REFUSED, "remainder", "where", "astype", "polygamma")
        ):
            continue
        if row.arity == 1:
            yield from (GradientCase(row.name, (shape,), kind=kind) for shape in ((), (3,), (2, 0), (2, 3)))
        else:
            yield from (GradientCase(row.name, pair, kind=kind) for pair in PAIRS)
    yield GradientCase("remainder", (np.array([7.3, -2.2, 5.1]), np.array([[2.0, 1.5, -1.4], [-3.1, 0.9, 0.7]])))
    for orders in (1.0, np.array([0.0, 2.0, 3.0])):
        yield from (GradientCase("polygamma", (orders, shape), kind="ordered") for shape in ((3,), (2, 3)))
    yield GradientCase("polygamma", (1.0, np.array([-0.5, -2.45, 1.3])), kind="ordered")
    yield GradientCase("astype", ((3,),), {"dtype": dtypes.float64})
    yield from (GradientCase("where", (MASK, *pair)) for pair in (((3,), (3,)), ((), (2, 1)), ((1, 1), (1,))))
    yield GradientCase("where", (True, (), ()))


def reductions() -> Iterator[GradientCase]:
    for op in ("sum", "prod", "max", "min"):
        for shape, axis in (((), None), ((4,), 0), ((2, 3), None), ((2, 3), -1), ((2, 3, 2), (2, 0)), ((2, 2), ())):
            yield from (GradientCase(op, (shape,), {"axis": axis, "keepdims": keepdims}) for keepdims in (False, True))
        yield GradientCase(op, ((0, 3),), {"axis": 1, "keepdims": False})
    yield from (GradientCase(op, ((0, 3),), {"axis": 0, "keepdims": False}) for op in ("sum", "prod"))
    yield from (
        GradientCase("sum_like", pair)
        for pair in (((2, 3), (3,)), ((2, 3), (2, 1)), ((3,), ()), ((), ()), ((0, 2), (1, 1)))
    )
    for op in ("cumulative_sum", "cumulative_prod"):
        yield from (
            GradientCase(op, (shape,), {"axis": axis})
            for shape, axis in (((4,), 0), ((2, 3), 0), ((2, 3), -1), ((0, 2), 0))
        )
    for shape, axis in (((5,), 0), ((3, 2), 0), ((2, 3), -1), ((0,), 0)):
        yield from (GradientCase("sort", (shape,), {"axis": axis, "descending": way}) for way in (False, True))


def in_shape() -> Iterator[GradientCase]:
    yield from (GradientCase("broadcast_to", (shape,), {"shape": (2, 3)}) for shape in ((), (3,), (2, 1), (2, 3)))
    yield from (GradientCase("broadcast_like", pair) for pair in PAIRS)
    yield from (GradientCase("reshape", (shape,), {"shape": (3, -1)}) for shape in ((6,), (2, 3), (0,)))
    yield from (
        GradientCase("reshape_like", pair) for pair in (((6,), (2, 3)), ((), (1,)), ((1, 1), ()), ((2, 0), (0,)))
    )
    yield from (GradientCase("permute_dims", ((2, 3, 2),), {"axes": axes}) for axes in ((2, 0, 1), (0, -1, 1)))
    yield from (GradientCase("squeeze", ((1, 3, 1),), {"axis": axis}) for axis in (0, (0, -1), ()))
    yield from (
        GradientCase("roll", ((2, 3),), {"shift": s, "axis": a})
        for s, a in (((1,), (1,)), (2, None), ((1, -1), (0, 1)))
    )
    yield from (GradientCase("concat", ((2, 2), (1, 2), (0, 2)), {"axis": axis}) for axis in (0, -2))
    yield GradientCase("concat", ((2, 2), (2, 1), (2, 3)), {"axis": 1})
    yield from (GradientCase("windows", ((5,),), {"shape": (3,), "strides": (step,)}) for step in (1, 2))
    yield GradientCase("windows", ((2, 3, 4),), {"shape": (2, 3), "strides": (1, 1)})
    yield GradientCase("windows", ((2, 7),), {"shape": (3,), "strides": (2,), "dilations": (2,)})


def indexed() -> Iterator[GradientCase]:
    keys = ("0", "-1, 1", "1:, None", "::-1, ::2", "..., 0", "None, 2:1", ":")
    yield from (GradientCase("index", ((2, 3),), {"key": key}) for key in keys)
    yield from (GradientCase("scatter_index", ((2, 3), ()), {"key": key}) for key in keys)
    yield GradientCase("scatter_index", ((2, 3), (2, 1)), {"key": ":, 1:"})
    yield from (GradientCase("take", ((3, 3), at), {"axis": axis}) for at in (1, [0, 0], PICK) for axis in (0, 1, -1))
    yield GradientCase("take_along_axis", ((2, 3), [[1, 1, -1, 0]]), {"axis": 1})
    yield GradientCase("take_along_axis", ((1, 3), PICK), {"axis": -1})
    for places in ((2,), ([0, 1, 0],), (PICK,), ([0, 1], [1, 1]), (1, 2), ([[0], [1]], [0, 2])):
        shape = np.broadcast_shapes(*map(np.shape, places)) + (3, 3)[len(places) :]
        yield GradientCase("gather", ((3, 3), *places))
        for op in ("scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul"):
            yield from (GradientCase(op, ((3, 3), given, *places)) for given in (shape, ()))
    yield from (GradientCase("boolean_mask", ((3, 2), mask)) for mask in (MASK, ~MASK & MASK, [[True, False]] * 3))
    yield from (
        GradientCase("repeat", ((2, 3), times), {"axis": axis}) for times, axis in ((2, 0), ([1, 0, 2], 1), (0, -1))
    )
    yield from (GradientCase("unique_values", (shape,)) for shape in ((3,), (2, 2), (0,)))
    yield from (GradientCase("unique_values", ((3, 2),), {"axis": axis}) for axis in (0, -1))
    yield from (GradientCase("diagonal", ((2, 3, 4),), {"offset": offset}) for offset in (0, 1, -2, 5))
    yield GradientCase("arange", (0.3, 2.0, 0.5))


def of_matrices() -> Iterator[GradientCase]:
    for pair in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((2, 0), (0, 2)), ((2, 2, 3), (3, 2))):
        yield GradientCase("matmul", pair)
    yield from (
        GradientCase("matmul", pair) for pair in (((2, 1, 2, 2), (2, 2, 1)), ((3,), (2, 3, 2)), ((2, 2, 3), (3,)))
    )
    for shape in ((1, 1), (3, 3), (2, 2, 2)):
        yield from (GradientCase(op, (shape,), kind="square") for op in ("det", "slogdet_logabsdet", "inv"))
        yield from (GradientCase("cholesky", (shape,), {"upper": upper}, "definite") for upper in (False, True))
        yield from (GradientCase(op, (shape,), kind="definite") for op in ("eigvalsh", "eigh_vectors"))
        for op in ("qr_q", "qr_r"):
            yield from (GradientCase(op, (shape,), {"mode": mode}, "square") for mode in ("reduced", "complete"))
        yield GradientCase("svdvals", (shape,), kind="square")
        for op in ("svd_u", "svd_vh"):
            yield from (GradientCase(op, (shape,), {"full_matrices": full}, "square") for full in (False, True))
    yield from (GradientCase(op, ((4, 2),), {"mode": "reduced"}, "square") for op in ("qr_q", "qr_r"))
    for shape in ((4, 2), (2, 3)):
        yield GradientCase("svdvals", (shape,), kind="square")
        yield from (GradientCase(op, (shape,), {"full_matrices": False}, "square") for op in ("svd_u", "svd_vh"))


def equations() -> Iterator[GradientCase]:
    """`solve` with a given matrix that is far from singular, and with right-hand sides."""
    one = np.array([[2.0, 0.3], [-0.4, 1.0]])
    for a, b in (
        (one, (2,)),
        (one, (2, 3)),
        (np.stack([one, one.T]), (2,)),
        (np.stack([one, one.T]), (2, 1)),
        (one, (3, 2, 1)),
    ):
        yield GradientCase("solve", (a, b))
        for lower, transpose_a, unit in itertools.product((False, True), repeat=3):
            how = {"lower": lower, "transpose_a": transpose_a, "unit_diagonal": unit}
            yield GradientCase("triangular_solve", (a, b), how)


CASES = [*by_elements(), *reductions(), *in_shape(), *indexed(), *of_matrices(), *equations()]
