"""Operators that draw random numbers: tagloom's own, so that every run with one seed draws the same. The seeds of the
model are not used."""

from __future__ import annotations

from typing import Any

from ..operators import operator, tl
from .common import dtype_of, to_dtype


def _uniform(shape: Any, low: float, high: float) -> Any:
    return tl.add(tl.multiply(tl.uniform(shape), high - low), low)


def _normal(shape: Any, mean: float, scale: float) -> Any:
    return tl.add(tl.multiply(tl.normal(shape), scale), mean)


@operator("RandomUniform", is_folded=False)
def random_uniform(
    *, shape: Any, dtype: int = 1, low: float = 0.0, high: float = 1.0, seed: float | None = None
) -> Any:
    return to_dtype(_uniform(tuple(shape), low, high), dtype)


@operator("RandomUniformLike", is_folded=False)
def random_uniform_like(
    x: Any, *, dtype: int | None = None, low: float = 0.0, high: float = 1.0, seed: float | None = None
) -> Any:
    return to_dtype(_uniform(tl.shape(x), low, high), dtype_of(x) if dtype is None else dtype)


@operator("RandomNormal", is_folded=False)
def random_normal(
    *, shape: Any, dtype: int = 1, mean: float = 0.0, scale: float = 1.0, seed: float | None = None
) -> Any:
    return to_dtype(_normal(tuple(shape), mean, scale), dtype)


@operator("RandomNormalLike", is_folded=False)
def random_normal_like(
    x: Any, *, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0, seed: float | None = None
) -> Any:
    return to_dtype(_normal(tl.shape(x), mean, scale), dtype_of(x) if dtype is None else dtype)


@operator("Bernoulli", is_folded=False)
def bernoulli(x: Any, *, dtype: int | None = None, seed: float | None = None) -> Any:
    is_true = tl.less(tl.uniform(tl.shape(x)), to_dtype(x, tl.float64))
    return to_dtype(is_true, dtype_of(x) if dtype is None else dtype)
