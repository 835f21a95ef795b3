"""Random state: generators of random numbers whose state persists from one run to the next.

A generator is two variables, a seed and a count. Every draw depends on the seed and the current count, and increments
the count. So the draws of a function are in program order, through branches, loops and calls, and are the same on every
engine and schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import Usage
from ..ops.op import OPS
from .api import apply
from .eager.variable import Variable
from .trace.source_location import user_location


def uniform_at(seed: Any, count: Any, /, *, shape: Sequence[int] | int = ()) -> Any:
    return apply("uniform_at", seed, count, shape=check_draw_shape(shape))


def normal_at(seed: Any, count: Any, /, *, shape: Sequence[int] | int = ()) -> Any:
    return apply("normal_at", seed, count, shape=check_draw_shape(shape))


def integers_at(seed: Any, count: Any, low: Any, high: Any, /, *, shape: Sequence[int] | int = ()) -> Any:
    return apply("integers_at", seed, count, low, high, shape=check_draw_shape(shape))


def permutation_at(seed: Any, count: Any, n: Any, /) -> Any:
    return apply("permutation_at", seed, count, n)


for function in (uniform_at, normal_at, integers_at, permutation_at):
    function.__doc__ = OPS[function.__name__].doc


class Generator:
    """A generator of random numbers, determined by its seed. `tl.Checkpoint` saves its seed and count.

    Raises Usage for a seed that is not an integer from 0 below 2**63.

    >>> g, h = Generator(7), Generator(7)
    >>> first, second = g.uniform((2,)), g.uniform((2,))
    >>> bool((first == h.uniform((2,)))[0]), bool((first == second)[0])
    (True, False)
    """

    def __init__(self, seed: int = 0) -> None:
        if type(seed) is not int or not 0 <= seed < 2**63:
            raise Usage(
                "this is no seed", where=user_location(), required="an integer from 0 below 2**63", got=repr(seed)
            )
        self.seed = Variable(seed, name="seed", trainable=False)
        self.count = Variable(0, name="count", trainable=False)

    def __repr__(self) -> str:
        return f"<generator of seed {int(self.seed._resource.value)}, {int(self.count._resource.value)} drawn>"

    def uniform(self, shape: Sequence[int] | int = ()) -> Any:
        """Uniformly distributed numbers from 0 below 1, float64."""
        return uniform_at(*self._advance(), shape=shape)

    def normal(self, shape: Sequence[int] | int = ()) -> Any:
        """Numbers of the normal distribution with mean 0 and variance 1, float64."""
        return normal_at(*self._advance(), shape=shape)

    def integers(self, low: Any, high: Any, shape: Sequence[int] | int = ()) -> Any:
        """Uniformly distributed integers from `low` below `high`, int64. Traps on an empty range."""
        return integers_at(*self._advance(), low, high, shape=shape)

    def permutation(self, n: Any) -> Any:
        """The integers from 0 below `n`, int64, in random order. Traps on a negative n."""
        return permutation_at(*self._advance(), n)

    def _advance(self) -> tuple[Any, Any]:
        count = self.count.value
        self.count.assign_add(1)
        return self.seed.value, count


_DEFAULT_GENERATOR: list[Generator] = []


def default_generator() -> Generator:
    """The generator of the draws outside functions."""
    if not _DEFAULT_GENERATOR:
        _DEFAULT_GENERATOR.append(Generator(0))
    return _DEFAULT_GENERATOR[0]


def set_seed(seed: int) -> None:
    """Set the seed of the random numbers that `tl.uniform`, `tl.normal`, `tl.integers` and `tl.permutation` draw
    outside functions, and start again with the first. A run uses its own seed.

    >>> import tagloom as tl
    >>> set_seed(1)
    >>> x = tl.uniform()
    >>> set_seed(1)
    >>> bool(x == tl.uniform())
    True
    """
    _DEFAULT_GENERATOR[:] = [Generator(seed)]


def check_draw_shape(shape: Any) -> tuple[int, ...]:
    """The shape of a draw as a tuple; raises Usage unless it is an int, or a tuple or list of ints, from 0 up."""
    sizes = (shape,) if type(shape) is int else tuple(shape) if isinstance(shape, tuple | list) else None
    if sizes is None or not all(type(size) is int and size >= 0 for size in sizes):
        raise Usage("a shape is sizes that are known, as in (2, 3)", where=user_location(), got=repr(shape))
    return sizes
