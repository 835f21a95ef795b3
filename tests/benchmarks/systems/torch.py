"""PyTorch, eager: one kernel after another, driven by Python."""

from __future__ import annotations

from typing import Any

import torch
from rows import INNER, OFFSET, REPEATED, SLOPE, A, C, Size, array, cell, factors, links, tree

from systems import Built, Unable, torch_training


def scalar(n: int) -> int:
    i, x, end = torch.tensor(0), torch.tensor(1), torch.tensor(n)
    while i < end:
        x = x * (x + A) + C
        i = i + 1
    return int(x)


def nested(n: int) -> int:
    i, x, end, inner = torch.tensor(0), torch.tensor(1), torch.tensor(n), torch.tensor(INNER)
    while i < end:
        j = torch.tensor(0)
        while j < inner:
            x = x * (x + (A + i)) + C
            j = j + 1
        i = i + 1
    return int(x)


def wide(n: int) -> float:
    x = torch.tensor(1.5, dtype=torch.float64)
    return float(tree([x * factor for factor in factors(n)], lambda y, z: y + z))


def chain(n: int) -> float:
    x = torch.tensor(1.5, dtype=torch.float64)
    for factor, term in links(n):
        x = x * factor + term
    return float(x)


def _cell(arguments: tuple[Any, ...], steps: int) -> Any:
    h, w, x = arguments
    for _ in range(steps):
        h = torch.tanh(h @ w + x)
    return h


def _affine(row: str, x: Any) -> Any:
    for _ in range(REPEATED[row]):
        x = SLOPE * x + OFFSET
    return float(x.sum()) if row == "sum" else x


def _exptanh(row: str, x: Any) -> Any:
    for _ in range(REPEATED[row]):
        x = torch.tanh(torch.exp(-x))
    return x


_SCALAR = {"scalar": scalar, "nested": nested, "wide": wide, "chain": chain}


def build(system: str, row: str, size: Size) -> Built:
    """A run of any row but recursion, which would be Python's."""
    if row in _SCALAR:
        return Built(lambda: _SCALAR[row](*size))
    if row.startswith("cell"):
        arguments = tuple(torch.from_numpy(each) for each in cell(int(row[4:])))
        return Built(lambda: _cell(arguments, *size))
    if row in torch_training.LOSSES:
        return Built(torch_training.step(row, *size))
    if row not in REPEATED:
        raise Unable("no recursion of its own")
    x = torch.from_numpy(array(row, *size))
    return Built(lambda: (_exptanh if row.startswith("exptanh") else _affine)(row, x))
