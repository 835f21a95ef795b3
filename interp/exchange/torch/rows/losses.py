"""Losses and similarities."""

from __future__ import annotations

from typing import Any

from .....core.types import Type
from ..operations import require, row, tl, unsupported
from .common import axis_position, cast, dtype_of, rank_of, scalar_like, to_dtype
from .elementwise import xlogy
from .networks import log_softmax


def reduce_losses(losses: Any, reduction: int, divisor: Any = None) -> Any:
    """Losses themselves (0), their mean (1), which is their sum over `divisor` if there is one, or their sum (2)."""
    if reduction == 0:
        return losses
    total = tl.sum(losses, dtype=dtype_of(losses))
    if reduction == 2:
        return total
    require(reduction == 1, "a loss is reduced by none, mean or sum")
    return tl.mean(losses) if divisor is None else tl.divide(total, divisor)


@row("mse_loss")
def mse_loss(self: Any, target: Any, reduction: int = 1, *, result: Type) -> Any:
    return reduce_losses(tl.square(tl.subtract(*cast(result.dtype, self, target))), reduction)


@row("l1_loss")
def l1_loss(self: Any, target: Any, reduction: int = 1, *, result: Type) -> Any:
    return reduce_losses(tl.abs(tl.subtract(*cast(result.dtype, self, target))), reduction)


@row("smooth_l1_loss")
def smooth_l1_loss(self: Any, target: Any, reduction: int = 1, beta: float = 1.0) -> Any:
    distance = tl.abs(tl.subtract(self, target))
    if beta == 0:
        return reduce_losses(distance, reduction)
    quadratic = tl.divide(tl.multiply(tl.square(distance), scalar_like(0.5, distance)), scalar_like(beta, distance))
    linear = tl.subtract(distance, scalar_like(0.5 * beta, distance))
    return reduce_losses(tl.where(tl.less(distance, scalar_like(beta, distance)), quadratic, linear), reduction)


@row("huber_loss")
def huber_loss(self: Any, target: Any, reduction: int = 1, delta: float = 1.0) -> Any:
    distance = tl.abs(tl.subtract(self, target))
    quadratic = tl.multiply(tl.square(distance), scalar_like(0.5, distance))
    linear = tl.multiply(tl.subtract(distance, scalar_like(0.5 * delta, distance)), scalar_like(delta, distance))
    return reduce_losses(tl.where(tl.less_equal(distance, scalar_like(delta, distance)), quadratic, linear), reduction)


@row("binary_cross_entropy")
def binary_cross_entropy(self: Any, target: Any, weight: Any = None, reduction: int = 1) -> Any:
    """Logarithms are at least -100."""
    unit, floor = scalar_like(1, self), scalar_like(-100, self)
    hit = tl.maximum(tl.log(self), floor)
    miss = tl.maximum(tl.log(tl.subtract(unit, self)), floor)
    losses = tl.negative(tl.add(tl.multiply(target, hit), tl.multiply(tl.subtract(unit, target), miss)))
    return reduce_losses(losses if weight is None else tl.multiply(losses, weight), reduction)


@row("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    self: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 1
) -> Any:
    unit = scalar_like(1, self)
    miss = tl.multiply(tl.subtract(unit, target), self)
    hit = tl.softplus(tl.negative(self))
    if pos_weight is not None:
        hit = tl.multiply(hit, tl.add(unit, tl.multiply(tl.subtract(pos_weight, unit), target)))
    losses = tl.add(miss, hit)
    return reduce_losses(losses if weight is None else tl.multiply(losses, weight), reduction)


@row("kl_div")
def kl_div(self: Any, target: Any, reduction: int = 1, *, log_target: bool = False, result: Type) -> Any:
    if log_target:
        return reduce_losses(tl.multiply(tl.exp(target), tl.subtract(target, self)), reduction)
    return reduce_losses(tl.subtract(xlogy(target, target, result=result), tl.multiply(target, self)), reduction)


def negative_likelihood(x: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Any, Any]:
    """The losses of classes, along the second axis, or the only one; and the sum of their weights."""
    axis = 0 if rank_of(x) == 1 else 1
    is_counted = tl.not_equal(target, scalar_like(ignore_index, target))
    safe_target = tl.where(is_counted, target, scalar_like(0, target))
    target_scores = tl.squeeze(tl.take_along_axis(x, tl.expand_dims(safe_target, axis=axis), axis=axis), axis)
    weights = tl.take(weight, safe_target, axis=0) if weight is not None else tl.ones_like(target_scores)
    weights = tl.where(is_counted, weights, scalar_like(0, weights))
    return reduce_losses(tl.multiply(tl.negative(target_scores), weights), reduction, tl.sum(weights)), tl.sum(weights)


@row("nll_loss", "nll_loss_nd", "nll_loss2d")
def nll_loss(self: Any, target: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100) -> Any:
    return negative_likelihood(self, target, weight, reduction, ignore_index)[0]


@row("nll_loss_forward", "nll_loss2d_forward")
def nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    return negative_likelihood(self, target, weight, reduction, ignore_index)


@row("cross_entropy_loss")
def cross_entropy_loss(
    self: Any, target: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100,
    label_smoothing: float = 0.0, *, result: Type,
) -> Any:  # fmt: skip
    axis = 0 if rank_of(self) == 1 else 1
    logs = log_softmax(self, axis, result=result)
    if dtype_of(target).kind == "f":
        if weight is not None or label_smoothing:
            raise unsupported("attribute", "cross_entropy of probabilities with weights or label smoothing")
        losses = tl.negative(tl.sum(tl.multiply(logs, target), axis=axis, dtype=dtype_of(logs)))
        count = scalar_like(1, losses) if rank_of(self) == 1 else None
        return reduce_losses(losses, reduction, count)
    if label_smoothing and weight is not None:
        raise unsupported("attribute", "cross_entropy with weights and label smoothing")
    loss = nll_loss(logs, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return loss
    is_counted = tl.not_equal(target, scalar_like(ignore_index, target))
    smooth = tl.where(is_counted, tl.negative(tl.mean(logs, axis=axis)), scalar_like(0, logs))
    count = tl.sum(to_dtype(is_counted, dtype_of(logs)))
    smooth = reduce_losses(smooth, reduction, count)
    loss_share, smooth_share = scalar_like(1 - label_smoothing, logs), scalar_like(label_smoothing, logs)
    return tl.add(tl.multiply(loss, loss_share), tl.multiply(smooth, smooth_share))


@row("cosine_similarity")
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    x, y = tl.broadcast_arrays(x1, x2)
    axis = axis_position(dim, rank_of(x))
    norms = [
        tl.maximum(tl.linalg.vector_norm(operand, axis=axis, keepdims=True), scalar_like(eps, operand))
        for operand in (x, y)
    ]
    products = tl.multiply(tl.divide(x, norms[0]), tl.divide(y, norms[1]))
    return tl.sum(products, axis=axis, dtype=dtype_of(x))


@row("pairwise_distance")
def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    difference = tl.add(tl.subtract(x1, x2), scalar_like(eps, x1))
    return tl.linalg.vector_norm(difference, axis=-1, keepdims=keepdim, ord=float(p))
