"""Automatic differentiation of other systems, with which ours is compared: JAX's, and PyTorch's tape.

A peer runs the program itself, and not its derivative: Python takes branches, runs loops and calls functions, and the
peer computes each op that depends on the arguments. It then differentiates what it has recorded."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Function: TypeAlias = Callable[[list[Any]], list[Any]]
"""Of some of a peer's arrays, what is made of them."""
Weights: TypeAlias = Callable[[int, tuple[int, ...]], Any]
"""Of the number of a result, and its shape, the adjoint that is pulled back."""


class Unable(Exception):
    """A program cannot be compared; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A system. `ops` has its functions for rows, on its own arrays and on NumPy's integers and booleans. `array` makes
    one of its arrays, and `plain` one of NumPy's. `pulled_back` gives the results of a function and the adjoints of its
    arguments, which the peer can differentiate again."""

    name: str
    ops: Mapping[str, Callable[..., Any]]
    array: Callable[[Any], Any]
    plain: Callable[[Any], Any]
    pulled_back: Callable[[Function, list[Any], Weights], tuple[Sequence[Any], Sequence[Any]]]


MODULES = ("jax", "torch")


def installed(module: str) -> Peer | None:
    """The peer of this module, if it is installed."""
    if importlib.util.find_spec(module) is None:
        return None
    result: Peer = importlib.import_module(f"peers.{module}").PEER
    return result
