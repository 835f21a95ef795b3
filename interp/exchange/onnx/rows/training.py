"""Operators that update parameters in training, of ONNX's preview."""

from __future__ import annotations

from typing import Any

from ..operators import operator, tl
from .common import dtype_of, scalar, to_dtype

DOMAIN = "ai.onnx.preview.training"


def regroup_by_parameter(tensors: Any, count: int) -> list[tuple[Any, ...]]:
    """Operands that come in groups (all parameters, all gradients, ...), regrouped by parameter."""
    size = len(tensors) // count
    return [tuple(tensors[group * size + k] for group in range(count)) for k in range(size)]


def regroup_by_kind(rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Results by parameter, regrouped by kind: all parameters, all first moments, ..."""
    return tuple(value for group in zip(*rows, strict=True) for value in group)


@operator("Adagrad", domain=DOMAIN)
def adagrad(
    rate: Any, time: Any, *tensors: Any, decay_factor: float = 0.0, epsilon: float = 1e-6, norm_coefficient: float = 0.0
) -> Any:
    rows = []
    for x, gradient, squares in regroup_by_parameter(tensors, 3):
        steps = tl.add(tl.multiply(to_dtype(scalar(time), dtype_of(x)), decay_factor), 1.0)
        used_rate = tl.divide(scalar(rate), steps)
        slope = tl.add(tl.multiply(x, norm_coefficient), gradient)
        total = tl.add(squares, tl.multiply(slope, slope))
        rows.append((tl.subtract(x, tl.divide(tl.multiply(slope, used_rate), tl.add(tl.sqrt(total), epsilon))), total))
    return regroup_by_kind(rows)


@operator("Momentum", domain=DOMAIN)
def momentum(rate: Any, time: Any, *tensors: Any, alpha: float, beta: float, mode: str, norm_coefficient: float) -> Any:
    rows = []
    for x, gradient, velocity in regroup_by_parameter(tensors, 3):
        slope = tl.add(tl.multiply(x, norm_coefficient), gradient)
        is_later = to_dtype(tl.greater(scalar(time), 0), dtype_of(x))
        factor = tl.add(tl.multiply(is_later, beta), tl.subtract(1.0, is_later))
        new_velocity = tl.add(tl.multiply(velocity, alpha), tl.multiply(slope, factor))
        direction = tl.add(slope, tl.multiply(new_velocity, alpha)) if mode == "nesterov" else new_velocity
        rows.append((tl.subtract(x, tl.multiply(direction, scalar(rate))), new_velocity))
    return regroup_by_kind(rows)


@operator("Adam", domain=DOMAIN)
def adam(
    rate: Any, time: Any, *tensors: Any, alpha: float = 0.9, beta: float = 0.999, epsilon: float = 1e-6,
    norm_coefficient: float = 0.0, norm_coefficient_post: float = 0.0,
) -> Any:  # fmt: skip
    rows = []
    for x, gradient, first, second in regroup_by_parameter(tensors, 4):
        slope = tl.add(tl.multiply(x, norm_coefficient), gradient)
        mean = tl.add(tl.multiply(first, alpha), tl.multiply(slope, 1 - alpha))
        square = tl.add(tl.multiply(second, beta), tl.multiply(tl.multiply(slope, slope), 1 - beta))
        count = to_dtype(scalar(time), dtype_of(x))
        corrected_rate = tl.divide(
            tl.multiply(scalar(rate), tl.sqrt(tl.subtract(1.0, tl.pow(beta, count)))),
            tl.subtract(1.0, tl.pow(alpha, count)),
        )
        used_rate = tl.where(tl.greater(count, 0.0), corrected_rate, scalar(rate))
        new_x = tl.subtract(x, tl.divide(tl.multiply(used_rate, mean), tl.add(tl.sqrt(square), epsilon)))
        rows.append((tl.multiply(new_x, 1 - norm_coefficient_post), mean, square))
    return regroup_by_kind(rows)
