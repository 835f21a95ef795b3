"""L-BFGS: quasi-Newton steps from the recent changes of the gradient (Nocedal and Wright, algorithms 7.4 and 3.1)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ...core.errors import Usage
from ...core.frontend.api import while_loop
from ...core.frontend.array_api.creation import zeros
from ...core.frontend.array_api.manipulation import concat, expand_dims, reshape
from ...core.frontend.array_api.numeric import sum as total
from ...core.frontend.eager.variable import Variable, init_scope
from ...core.frontend.functions import less_equal, logical_and, logical_not, maximum, sqrt, where
from ...core.frontend.trace.source_location import user_location
from ..function.gradient import value_and_grad
from .optimizer import flatten_variables

_SUFFICIENT_DECREASE = 1e-4
"""The fraction of the decrease predicted by the slope that a step must reach (Armijo's condition)."""
_MIN_CURVATURE = 1e-10
"""A pair is kept if the dot product of the move and the change of the gradient exceeds this fraction of that change's
squared norm."""


class LBFGS:
    """Quasi-Newton steps for losses that are the same at each step, for example over all data.

    A step follows the two-loop recursion over the last `history` pairs of a move and the change of the gradient along
    it, and is halved until the loss is low enough, at most `halvings` times; if it still is not, the variables do not
    change. `slots` has the state, as variables.

    >>> import tagloom as tl
    >>> w, optimizer = tl.Variable([4.0, -2.0], name="w"), LBFGS()
    >>> @tl.function
    ... def loss():
    ...     return tl.sum((w - 1.0) ** 4)
    >>> for _ in range(30):
    ...     before = optimizer.step(loss, w)
    >>> float(loss()) < 1e-8
    True
    """

    def __init__(self, rate: Any = 1.0, history: int = 10, halvings: int = 20) -> None:
        if history < 1 or halvings < 0:
            raise Usage(
                "L-BFGS remembers at least one step",
                where=user_location(),
                got=f"history={history}, halvings={halvings}",
            )
        self.rate, self.history, self.halvings = rate, history, halvings
        self.slots: dict[str, Variable] = {}

    def step(self, loss: Callable[[], Any], variables: Any) -> Any:
        """Take one step of the variables, nested at will; return the loss before it. `loss` takes no arguments and
        returns one float that depends on the variables. Outside of tracing it is traced anew for each step, unless it
        is a `tl.function`.

        Raises Usage if a variable's sizes or the number of variables change from step to step, or dtypes differ.
        """
        leaves = tuple(flatten_variables(variables))
        before, gradients = value_and_grad(loss, leaves)()
        point, gradient = _flatten_to_vector(leaves), _flatten_to_vector(gradients)
        self._make_slots(leaves)
        self._update_history(point, gradient)
        direction = self._direction(gradient)
        self._line_search(loss, leaves, (before, point), (direction, total(direction * gradient)))
        return before

    def _make_slots(self, leaves: Sequence[Variable]) -> None:
        sizes = sum(_element_count(each) for each in leaves)
        if len({each.dtype for each in leaves}) > 1:
            kinds = ", ".join(f"{each.name}: {each._type}" for each in leaves)
            raise Usage("L-BFGS steps in variables of one dtype", where=user_location(), got=kinds)
        if not self.slots:
            with init_scope():
                for name, shape in (
                    *(("moves", (self.history, sizes)), ("turns", (self.history, sizes))),
                    *(("point", (sizes,)), ("gradient", (sizes,))),
                ):
                    first = zeros(shape, dtype=leaves[0].dtype)
                    self.slots[name] = Variable(first, name=f"lbfgs_{name}", trainable=False)
                self.slots["count"] = Variable(0, name="lbfgs_count", trainable=False)
        if self.slots["point"]._type.shape != (sizes,):
            required, got = self.slots["point"]._type, f"{sizes} numbers"
            raise Usage("L-BFGS has steps of other variables", where=user_location(), required=required, got=got)

    def _update_history(self, point: Any, gradient: Any) -> None:
        """Append the last move, and the change of the gradient along it, if the curvature is positive."""
        slots = self.slots
        move, turn = point - slots["point"], gradient - slots["gradient"]
        bends = logical_and(slots["count"] > 0, total(move * turn) > _MIN_CURVATURE * total(turn * turn))
        for name, new in (("moves", move), ("turns", turn)):
            shifted = concat([slots[name][1:, :], expand_dims(new, axis=0)], axis=0)
            slots[name].assign(where(bends, shifted, slots[name]))
        slots["point"].assign(point)
        slots["gradient"].assign(gradient)
        slots["count"].assign_add(1)

    def _direction(self, gradient: Any) -> Any:
        """The two-loop recursion. Missing pairs are zeros, and have no weight."""
        moves, turns = self.slots["moves"].value, self.slots["turns"].value
        bends = [total(moves[k, :] * turns[k, :]) for k in range(self.history)]
        weights = [where(each > 0.0, 1.0 / each, 0.0) for each in bends]
        back, shares = gradient, {}
        for k in reversed(range(self.history)):
            shares[k] = weights[k] * total(moves[k, :] * back)
            back = back - shares[k] * turns[k, :]
        newest = total(turns[-1, :] * turns[-1, :])
        first = 1.0 / maximum(1.0, sqrt(total(gradient * gradient)))
        ahead = back * where(bends[-1] > 0.0, bends[-1] / newest, first)
        for k in range(self.history):
            ahead = ahead + (shares[k] - weights[k] * total(turns[k, :] * ahead)) * moves[k, :]
        return -ahead

    def _line_search(
        self, loss: Callable[[], Any], leaves: Sequence[Variable], start: tuple[Any, Any], towards: tuple[Any, Any]
    ) -> None:
        """Halve the step until the loss is low enough; a NaN loss is not."""
        (before, point), (direction, slope) = start, towards

        def is_sufficient(rate: Any) -> Any:
            _assign_from_vector(leaves, point + rate * direction)
            return less_equal(loss(), before + _SUFFICIENT_DECREASE * rate * slope)

        def halve_rate(rate: Any, left: Any, fits: Any) -> Any:
            return rate / 2.0, left - 1, is_sufficient(rate / 2.0)

        rate = 0.0 * before + self.rate
        _, _, fits = while_loop(
            lambda rate, left, fits: logical_and(left > 0, logical_not(fits)),
            halve_rate,
            rate,
            self.halvings,
            is_sufficient(rate),
        )
        _assign_from_vector(leaves, where(fits, _flatten_to_vector(leaves), point))


def _element_count(variable: Variable) -> int:
    shape = variable._type.shape
    if shape is None or None in shape:
        raise Usage(
            "L-BFGS steps in variables of known sizes", where=user_location(), got=f"{variable.name}: {variable._type}"
        )
    return math.prod(axis for axis in shape if axis is not None)


def _flatten_to_vector(arrays: Sequence[Any]) -> Any:
    """All elements as one vector."""
    return concat([reshape(each, (-1,)) for each in arrays], axis=0)


def _assign_from_vector(leaves: Sequence[Variable], vector: Any) -> None:
    """Assign to each variable its part of a vector."""
    ends = list(itertools.accumulate(map(_element_count, leaves), initial=0))
    for each, first, last in zip(leaves, ends, ends[1:], strict=False):
        each.assign(reshape(vector[first:last], each._type.shape))
