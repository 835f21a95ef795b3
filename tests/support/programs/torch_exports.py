"""Functions and modules of PyTorch, exported, and their results compared with those of tagloom. Needs PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tagloom as tl
import torch
from torch import nn


def floats(*shape: int) -> Any:
    return torch.from_numpy(np.random.RandomState(sum(shape) + len(shape)).standard_normal(shape).astype(np.float32))


class Wrapper(nn.Module):
    """A function as a module, since `torch.export` takes modules."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def exported(function: Any, arguments: Any, **options: Any) -> Any:
    module = function if isinstance(function, nn.Module) else Wrapper(function)
    return torch.export.export(module, tuple(arguments), **options)


def leaves(value: Any) -> list[Any]:
    """The arrays and numbers in a nested value, in PyTorch's order."""
    return torch.utils._pytree.tree_leaves(value)


def as_numpy(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        value = value.detach()
        return value.float().numpy() if value.dtype is torch.bfloat16 else value.numpy()
    return value


def arguments_of(arguments: Any) -> list[Any]:
    return [torch.utils._pytree.tree_map(as_tagloom, argument) for argument in arguments]


def as_tagloom(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    array = as_numpy(value)
    return tl.astype(array, tl.bfloat16) if value.dtype is torch.bfloat16 else array


def compare(actual: Any, expected: Any, tolerance: float = 2e-5) -> None:
    """Results nest alike, and have the same dtypes and shapes, and elements but for the last bits."""
    pairs = list(zip(leaves(actual), leaves(expected), strict=True))
    for own, other in pairs:
        if not isinstance(other, torch.Tensor):
            assert own == other
            continue
        own_array, array = np.asarray(own), as_numpy(other)
        assert own_array.dtype.name == str(other.dtype).removeprefix("torch.") and own_array.shape == array.shape
        if array.dtype.kind == "f":
            limit = max(tolerance, {torch.bfloat16: 2e-2, torch.float16: 2e-3}.get(other.dtype, 0))
            np.testing.assert_allclose(own_array.astype(np.float64), array, rtol=limit, atol=limit)
        else:
            assert np.array_equal(own_array, array)


def outcome_matches(function: Any, arguments: Any, **options: Any) -> Any:
    """The imported function computes what PyTorch does; returns it."""
    imported = tl.from_torch(exported(function, arguments, **options))
    expected = function(*[each.clone() if isinstance(each, torch.Tensor) else each for each in arguments])
    compare(imported(*arguments_of(arguments)), expected)
    return imported
