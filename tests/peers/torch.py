"""PyTorch's tape, on the CPU."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np
import torch

from peers import Function, Peer, Weights
from peers.ops import Row, common


def _reduced(function: Row) -> Row:
    """Along all of the axes at once, none of which is none for PyTorch."""

    def row(x: Any, axis: Any, keepdims: bool) -> Any:
        axes = _axes(x, axis)
        return function(x, dim=axes, keepdim=keepdims) if axes else x

    return row


def _prod(x: Any, axis: Any, keepdims: bool) -> Any:
    product = reduce(lambda part, at: torch.prod(part, dim=at, keepdim=True), _axes(x, axis), x)
    return product if keepdims else product.reshape([n for at, n in enumerate(x.shape) if at not in _axes(x, axis)])


def _axes(x: Any, axis: Any) -> tuple[int, ...]:
    given = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return tuple(at % x.ndim for at in given)


def _places(at: Any) -> tuple[Any, ...]:
    return tuple(torch.tensor(each) for each in at)


def _scatter(reduction: str) -> Row:
    """A scatter that combines the values for one element, and the element itself."""

    def row(x: Any, values: Any, *at: Any) -> Any:
        sizes, indices = x.shape[: len(at)], torch.broadcast_tensors(*_places(at))
        place = sum(
            (index % size) * math.prod(sizes[axis + 1 :])
            for axis, (index, size) in enumerate(zip(indices, sizes, strict=True))
        )
        rows = x.reshape(math.prod(sizes), -1)
        contributions = values.broadcast_to(*indices[0].shape, *x.shape[len(at) :]).reshape(indices[0].numel(), -1)
        place = place.reshape(-1, 1).expand_as(contributions)
        return rows.scatter_reduce(0, place, contributions, reduction).reshape(x.shape)

    return row


def pulled_back(function: Function, floats: list[Any], weights: Weights) -> tuple[list[Any], list[Any]]:
    """The adjoints by PyTorch's tape; a result that depends on no float has none."""
    results = function([each.requires_grad_() for each in floats])
    adjoints = [torch.as_tensor(weights(nth, tuple(each.shape))) for nth, each in enumerate(results)]
    moved = [number for number, each in enumerate(results) if each.requires_grad]
    if not moved:
        return results, [torch.zeros_like(each) for each in floats]
    targets, given = [results[number] for number in moved], [adjoints[number] for number in moved]
    result = torch.autograd.grad(targets, floats, given, create_graph=True, materialize_grads=True)
    return results, list(result)


OPS: dict[str, Row] = {
    **common(torch, torch.detach, lambda x: x),
    "cbrt": lambda x: torch.sign(x) * torch.abs(x) ** (1 / 3),
    "digamma": torch.special.digamma,
    "erf": torch.special.erf,
    "erfc": torch.special.erfc,
    "lgamma": torch.special.gammaln,
    "ndtri": torch.special.ndtri,
    "diagonal": lambda x, offset: torch.diagonal(x, offset, -2, -1),
    "gather": lambda x, *at: x[_places(at)],
    "sum": _reduced(torch.sum),
    "max": _reduced(torch.amax),
    "min": _reduced(torch.amin),
    "permute_dims": lambda x, axes: torch.permute(x, axes),
    "prod": _prod,
    "scatter_max": _scatter("amax"),
    "scatter_min": _scatter("amin"),
    "scatter_mul": _scatter("prod"),
    "scatter_add": lambda x, values, *at: x.index_put(_places(at), values, accumulate=True),
    "sort": lambda x, axis, descending: torch.sort(x, dim=axis, descending=descending, stable=True)[0],
    "where": lambda condition, x, y: torch.where(torch.tensor(condition), x, y),
}
PEER = Peer(
    "PyTorch",
    OPS,
    lambda value: torch.tensor(np.asarray(value)),
    lambda value: value.detach().numpy(),
    pulled_back,
)
