"""Optimizers, `tl.optimizers`: their common part, first-order ones, and L-BFGS.

The common part pairs gradients with variables and creates slots. The update of a first-order optimizer is a pure
function of a variable's value, its gradient and its slots, element by element. In the docstrings x is a variable, g its
gradient, r the rate. L-BFGS takes quasi-Newton steps from the last curvature pairs (Nocedal and Wright, algorithms
7.4 and 3.1).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ...core import dtypes
from ...core.autodiff.rows import Rows
from ...core.errors import Invalid, Usage
from ...core.frontend.array_api.common import type_of, widen
from ...core.frontend.array_api.creation import full_like, zeros, zeros_like
from ...core.frontend.array_api.datatypes import astype
from ...core.frontend.array_api.indexing import scatter, take
from ...core.frontend.array_api.manipulation import concat, expand_dims, reshape
from ...core.frontend.array_api.neural_network import sum_duplicate_rows
from ...core.frontend.array_api.numeric import sum as total
from ...core.frontend.control_flow import while_loop
from ...core.frontend.eager.variable import Variable, init_scope
from ...core.frontend.functions import less_equal, logical_and, logical_not, maximum, pow, sqrt, where
from ...core.frontend.trace.source_location import user_location
from ...core.types import Type
from ...deprecation import warn_renamed
from ..function.gradient import value_and_grad

__all__ = ["LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "Momentum", "Optimizer", "RMSProp"]


Slots: TypeAlias = Mapping[str, Any]
"""The state of an optimizer for one variable, by name."""


class Optimizer:
    """The base class of optimizers, which take steps that reduce a loss.

    `slots` has the state for each variable, by the name of the variable, then of the slot. Slots are variables, created
    at the first `apply`, so checkpoints of the optimizer contain them. A number is appended to the name of a later
    variable of the same name. For variables of float16 and bfloat16, slots are float32, and steps are computed in
    float32; each new value is rounded once.
    """

    def __init__(self) -> None:
        self.slots: dict[str, dict[str, Variable]] = {}
        self._names: dict[int, str] = {}

    def apply(self, gradients: Any, variables: Any) -> None:
        """Take one step: assign to each variable its `update`. Gradients nest as variables do, in tuples, lists and
        dicts. For a gradient that is a `tl.Rows`, the step changes only these rows of the variable and of its slots.

        Raises Usage if they nest otherwise, and Invalid (D3) if a gradient has a different shape than its variable.
        """
        pairs = list(pair_gradients(gradients, variables, ""))
        for gradient, variable in pairs:
            check_gradient_shape(gradient, variable)
        for gradient, variable in pairs:
            slots = self._find_or_make_slots(variable)
            if isinstance(gradient, Rows):
                self._apply_rows(gradient, variable, slots)
                continue
            slot_values = {name: slot.value for name, slot in slots.items()}
            value, new_slots = self.update(widen(variable.value), widen(gradient), slot_values)
            variable.assign(narrow_to(variable, value))
            for name, slot_value in new_slots.items():
                slots[name].assign(slot_value)

    def make_slots(self, variables: Any) -> None:
        """Create the missing slots of variables, nested in tuples, lists and dicts, before the first step does."""
        for variable in flatten_variables(variables):
            self._find_or_make_slots(variable)

    def initial_slots(self, value: Any) -> Slots:
        """The initial slots of a variable that holds this value."""
        old_method = getattr(self, "first", None)
        if old_method is None:
            raise NotImplementedError
        warn_renamed("Optimizer.first", "Optimizer.initial_slots")
        slots: Slots = old_method(value)
        return slots

    def update(self, value: Any, gradient: Any, slots: Slots) -> tuple[Any, Slots]:
        """The new value of a variable, and its new slots. Slots are scalars or have the shape of the value, and each
        element depends only on scalars and on the elements at its position."""
        raise NotImplementedError

    def _apply_rows(self, gradient: Rows, variable: Variable, slots: Mapping[str, Variable]) -> None:
        """Take a step for some rows. If a row occurs twice, both copies get the sum of the gradients, and so the same
        value."""
        rows = sum_duplicate_rows(gradient)
        slot_values = {
            name: take(slot, rows.indices, axis=0) if is_rowwise(slot, variable) else slot.value
            for name, slot in slots.items()
        }
        value, new_slots = self.update(widen(take(variable, rows.indices, axis=0)), widen(rows.values), slot_values)
        variable.assign(scatter(variable, narrow_to(variable, value), rows.indices))
        for name, new in new_slots.items():
            slot = slots[name]
            slot.assign(scatter(slot, new, rows.indices) if is_rowwise(slot, variable) else new)

    def _find_or_make_slots(self, variable: Variable) -> dict[str, Variable]:
        number = variable._resource.creation_order
        if number not in self._names:
            with init_scope():
                slots = {
                    name: Variable(
                        value,
                        dtype=slot_type(value, variable),
                        name=f"{variable._resource.label}_{name}",
                        trainable=False,
                    )
                    for name, value in self.initial_slots(widen(variable.value)).items()
                }
            self._names[number] = self._unique_name(variable.name)
            self.slots[self._names[number]] = slots
        return self.slots[self._names[number]]

    def _unique_name(self, name: str) -> str:
        unique, count = name, 0
        while unique in self.slots:
            count += 1
            unique = f"{name}_{count}"
        return unique


def flatten_variables(variables: Any) -> Iterator[Variable]:
    """The variables nested in tuples, lists and dicts, in order. Raises Usage for anything else."""
    if isinstance(variables, Variable):
        yield variables
    elif isinstance(variables, dict | tuple | list):
        for variable in variables.values() if isinstance(variables, dict) else variables:
            yield from flatten_variables(variable)
    else:
        hint = "optimizer.apply(gradients, variables) takes gradients first"
        raise Usage(
            "an optimizer changes only variables",
            where=user_location(),
            required="tl.Variable",
            got=repr(variables)[:80],
            hint=hint,
            python=TypeError,
        )


def narrow_to(variable: Variable, value: Any) -> Any:
    """A value rounded to the dtype of a variable of 16 bits; for other variables the value itself."""
    return astype(value, variable.dtype) if variable.dtype in dtypes.FLOAT_FORMATS else value


def slot_type(value: Any, variable: Variable) -> Type:
    """The type of a slot: sizes that are unknown in the type of its variable are unknown in it, too."""
    value_type = type_of(value)
    return (
        Type(value_type.dtype, variable._type.shape)
        if variable._type.admits(Type(variable.dtype, value_type.shape))
        else value_type
    )


def is_rowwise(slot: Variable, variable: Variable) -> bool:
    """Whether a slot has a row for each row of its variable."""
    return slot._type.shape == variable._type.shape


def pair_gradients(gradients: Any, variables: Any, path: str) -> Iterator[tuple[Any, Variable]]:
    """Pair gradients with their variables, in the order of the variables. Raises Usage if they do not nest alike."""
    if isinstance(variables, Variable):
        if gradients is None or (isinstance(gradients, tuple | list | dict) and not isinstance(gradients, Rows)):
            raise _nesting_error(path, f"the gradient with respect to {variables.name}", gradients)
        yield gradients, variables
    elif isinstance(variables, dict):
        if not isinstance(gradients, dict) or gradients.keys() != variables.keys():
            raise _nesting_error(path, f"a dict of {', '.join(map(str, variables))}", gradients)
        for key, variable in variables.items():
            yield from pair_gradients(gradients[key], variable, f"{path}[{key!r}]")
    elif isinstance(variables, tuple | list):
        if not isinstance(gradients, tuple | list) or len(gradients) != len(variables):
            raise _nesting_error(path, f"{len(variables)} of them", gradients)
        for at, (gradient, variable) in enumerate(zip(gradients, variables, strict=True)):
            yield from pair_gradients(gradient, variable, f"{path}[{at}]")
    else:
        yield from ((gradients, variable) for variable in flatten_variables(variables))


def _nesting_error(path: str, required: str, got: Any) -> Usage:
    message = f"gradients{path} do not nest as their variables do"
    return Usage(message, where=user_location(), required=required, got=repr(got)[:80])


def check_gradient_shape(gradient: Any, variable: Variable) -> None:
    """Raise Invalid (D3) if a gradient is known to have a different shape than its variable: it would be broadcast."""
    shape, gradient_shape = (
        variable._type.shape,
        type_of(gradient.values if isinstance(gradient, Rows) else gradient).shape,
    )
    if isinstance(gradient, Rows) and shape is not None:
        shape = (*(type_of(gradient.indices).shape or (None,)), *shape[1:])
    if shape is None or gradient_shape is None:
        return
    if len(shape) != len(gradient_shape) or any(
        None not in pair and pair[0] != pair[1] for pair in zip(shape, gradient_shape, strict=True)
    ):
        message = f"the gradient with respect to {variable.name} and the variable differ in shape"
        raise Invalid(
            message,
            rule="D3",
            where=user_location(),
            required=Type(variable.dtype, shape),
            got=Type(variable.dtype, gradient_shape),
        )


class SGD(Optimizer):
    """x - r g.

    A rate is a number, or a variable that may be assigned between steps; this holds for all optimizers.

    >>> import tagloom as tl
    >>> w, optimizer = tl.Variable([1.0, 2.0], name="w"), SGD(rate=0.5)
    >>> optimizer.apply(tl.grad(lambda: tl.sum(w * w), w)(), w)
    >>> w
    <variable w: float64[2] = [0., 0.]>
    """

    def __init__(self, rate: Any = 0.01) -> None:
        super().__init__()
        self.rate = rate

    def initial_slots(self, value: Any) -> Slots:
        return {}

    def update(self, value: Any, gradient: Any, slots: Slots) -> tuple[Any, Slots]:
        return value - self.rate * gradient, {}


class Momentum(Optimizer):
    """m becomes u m + g, and x becomes x - r m; with `nesterov`, x - r (g + u m) (Sutskever 2013)."""

    def __init__(self, rate: Any = 0.01, momentum: float = 0.9, *, nesterov: bool = False) -> None:
        super().__init__()
        self.rate, self.momentum, self.nesterov = rate, momentum, nesterov

    def initial_slots(self, value: Any) -> Slots:
        return {"momentum": zeros_like(value)}

    def update(self, value: Any, gradient: Any, slots: Slots) -> tuple[Any, Slots]:
        momentum = self.momentum * slots["momentum"] + gradient
        step = gradient + self.momentum * momentum if self.nesterov else momentum
        return value - self.rate * step, {"momentum": momentum}


class Adagrad(Optimizer):
    """s, the sum of all g g so far, begins at `initial`; x becomes x - r g / (sqrt(s) + epsilon) (Duchi 2011)."""

    def __init__(self, rate: Any = 0.01, initial: float = 0.1, epsilon: float = 1e-10) -> None:
        super().__init__()
        self.rate, self.initial, self.epsilon = rate, initial, epsilon

    def initial_slots(self, value: Any) -> Slots:
        return {"squares": full_like(value, self.initial)}

    def update(self, value: Any, gradient: Any, slots: Slots) -> tuple[Any, Slots]:
        squares = slots["squares"] + gradient * gradient
        return value - self.rate * gradient / (sqrt(squares) + self.epsilon), {"squares": squares}


class Adadelta(Optimizer):
    """s and d are moving means of g g and of the squared steps; a step is g sqrt(d + e) / sqrt(s + e) (Zeiler 2012)."""

    def __init__(self, rate: Any = 1.0, decay: float = 0.9, epsilon: float = 1e-6) -> None:
        super().__init__()
        self.rate, self.decay, self.epsilon = rate, decay, epsilon

    def initial_slots(self, value: Any) -> Slots:
        return {"squares": zeros_like(value), "steps": zeros_like(value)}

    def update(self, value: Any, gradient: Any, slots: Slots) -> tuple[Any, Slots]:
        squares = moving_mean(slots["squares"], gradient * gradient, self.decay)
        step = gradient * (sqrt(slots["steps"] + self.epsilon) / sqrt(squares + self.epsilon))
        return value - self.rate * step, {
            "squares": squares,
            "steps": moving_mean(slots["steps"], step * step, self.decay),
        }


class RMSProp(Optimizer):
    """s is a moving mean of g g, and x becomes x - r g / (sqrt(s) + epsilon) (Tieleman and Hinton 2012). With
    `centered`, the square of a moving mean of g is subtracted from s. With a momentum u, m becomes u m + g / ..., and x
    becomes x - r m."""

    def __init__(
        self,
        rate: Any = 0.01,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-8,
        *,
        centered: bool = False,
    ) -> None:
        super().__init__()
        self.rate, self.decay, self.momentum, self.epsilon, self.centered = rate, decay, momentum, epsilon, centered

    def initial_slots(self, value: Any) -> Slots:
        names = ["squares", *["mean"] * self.centered, *["momentum"] * (self.momentum != 0.0)]
        return {name: zeros_like(value) for name in names}

    def update(self, value: Any, gradient: Any, slots: Slots) -> tuple[Any, Slots]:
        new_slots = {"squares": moving_mean(slots["squares"], gradient * gradient, self.decay)}
        variance = new_slots["squares"]
        if self.centered:
            new_slots["mean"] = moving_mean(slots["mean"], gradient, self.decay)
            variance = variance - new_slots["mean"] * new_slots["mean"]
        step = gradient / (sqrt(variance) + self.epsilon)
        if self.momentum != 0.0:
            step = new_slots["momentum"] = self.momentum * slots["momentum"] + step
        return value - self.rate * step, new_slots


class Adam(Optimizer):
    """m and s are moving means of g and of g g, divided by 1 - beta^t, since they begin at 0; t counts the steps. x
    becomes x - r m / (sqrt(s) + epsilon) (Kingma and Ba 2015)."""

    def __init__(self, rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-8) -> None:
        super().__init__()
        self.rate, self.beta_1, self.beta_2, self.epsilon = rate, beta_1, beta_2, epsilon

    def initial_slots(self, value: Any) -> Slots:
        return {"mean": zeros_like(value), "squares": zeros_like(value), "count": 0}

    def update(self, value: Any, gradient: Any, slots: Slots) -> tuple[Any, Slots]:
        count = slots["count"] + 1
        mean = moving_mean(slots["mean"], gradient, self.beta_1)
        squares = moving_mean(slots["squares"], gradient * gradient, self.beta_2)
        step = (mean / bias_correction(self.beta_1, count, value)) / (
            sqrt(squares / bias_correction(self.beta_2, count, value)) + self.epsilon
        )
        return value - self.rate * step, {"mean": mean, "squares": squares, "count": count}


def moving_mean(mean: Any, new: Any, decay: float) -> Any:
    """An exponential moving mean, updated by one value."""
    return decay * mean + (1.0 - decay) * new


def bias_correction(beta: float, count: Any, value: Any) -> Any:
    """1 - beta^count, the total weight of the values in a moving mean that began at 0. It is computed in float64, since
    beta is close to 1."""
    return astype(1.0 - pow(beta, astype(count, dtypes.float64)), type_of(value).dtype)


_SUFFICIENT_DECREASE = 1e-4
"""The fraction of the decrease predicted by the slope that a step must reach (Armijo's condition)."""
_MIN_CURVATURE = 1e-10
"""A curvature pair is kept if the dot product of its step and its gradient difference exceeds this fraction of the
squared norm of the gradient difference."""
_STEPS, _GRADIENT_DIFFERENCES = "moves", "turns"
"""The names of the slots with the curvature pairs. Checkpoints contain these names, so they must not change."""


class LBFGS:
    """L-BFGS, a quasi-Newton method, for losses that are the same function at each step, for example over all data.

    The direction of a step is computed by the two-loop recursion over the last `history` curvature pairs: the steps,
    and the differences of the gradients along them. The step is halved, at most `halvings` times, until the loss is low
    enough; if it never is, the variables do not change. `slots` has the state, as variables.

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
                "the options of L-BFGS are out of range",
                where=user_location(),
                required="history of 1 or more, halvings of 0 or more",
                got=f"history={history}, halvings={halvings}",
            )
        self.rate, self.history, self.halvings = rate, history, halvings
        self.slots: dict[str, Variable] = {}

    def step(self, loss: Callable[[], Any], variables: Any) -> Any:
        """Take one step of variables, nested in tuples, lists and dicts; returns the loss before it. `loss` takes
        no arguments and returns one float that depends on the variables. Outside of tracing it is traced again for each
        step, unless it is a `tl.function`.

        Raises Usage if a variable's sizes or the number of variables change from step to step, or dtypes differ.
        """
        leaves = tuple(flatten_variables(variables))
        loss_before, gradients = value_and_grad(loss, leaves)()
        before = widen(loss_before)
        point, gradient = flatten_to_vector(leaves), flatten_to_vector(gradients)
        self._make_slots(leaves)
        self._update_history(point, gradient)
        direction = self._direction(gradient)
        self._line_search(loss, leaves, (before, point), (direction, total(direction * gradient)))
        return loss_before

    def _make_slots(self, leaves: Sequence[Variable]) -> None:
        sizes = sum(variable_size(leaf) for leaf in leaves)
        if len({leaf.dtype for leaf in leaves}) > 1:
            kinds = ", ".join(f"{leaf.name}: {leaf._type}" for leaf in leaves)
            raise Usage("L-BFGS needs variables of one dtype", where=user_location(), got=kinds, python=TypeError)
        if not self.slots:
            with init_scope():
                for name, shape in (
                    *((_STEPS, (self.history, sizes)), (_GRADIENT_DIFFERENCES, (self.history, sizes))),
                    *(("point", (sizes,)), ("gradient", (sizes,))),
                ):
                    first = zeros(shape, dtype=leaves[0].dtype.compute_dtype)
                    self.slots[name] = Variable(first, name=f"lbfgs_{name}", trainable=False)
                self.slots["count"] = Variable(0, name="lbfgs_count", trainable=False)
        if self.slots["point"]._type.shape != (sizes,):
            required, got = self.slots["point"]._type, f"{sizes} numbers"
            raise Usage(
                "this L-BFGS optimizer was used with other variables", where=user_location(), required=required, got=got
            )

    def _update_history(self, point: Any, gradient: Any) -> None:
        """Append the last curvature pair, if there is one and its curvature is positive; the oldest is discarded."""
        slots = self.slots
        step, difference = point - slots["point"], gradient - slots["gradient"]
        is_curved = total(step * difference) > _MIN_CURVATURE * total(difference * difference)
        is_valid = logical_and(slots["count"] > 0, is_curved)
        for name, new in ((_STEPS, step), (_GRADIENT_DIFFERENCES, difference)):
            shifted = concat([slots[name][1:, :], expand_dims(new, axis=0)], axis=0)
            slots[name].assign(where(is_valid, shifted, slots[name]))
        slots["point"].assign(point)
        slots["gradient"].assign(gradient)
        slots["count"].assign_add(1)

    def _direction(self, gradient: Any) -> Any:
        """The direction of the step, by the two-loop recursion. Missing pairs are zeros, and have no weight."""
        steps, differences = self.slots[_STEPS].value, self.slots[_GRADIENT_DIFFERENCES].value
        curvatures = [total(steps[k, :] * differences[k, :]) for k in range(self.history)]
        weights = [where(curvature > 0.0, 1.0 / curvature, 0.0) for curvature in curvatures]
        direction, coefficients = gradient, {}
        for k in reversed(range(self.history)):
            coefficients[k] = weights[k] * total(steps[k, :] * direction)
            direction = direction - coefficients[k] * differences[k, :]
        newest_norm = total(differences[-1, :] * differences[-1, :])
        first_scale = 1.0 / maximum(1.0, sqrt(total(gradient * gradient)))
        direction = direction * where(curvatures[-1] > 0.0, curvatures[-1] / newest_norm, first_scale)
        for k in range(self.history):
            correction = coefficients[k] - weights[k] * total(differences[k, :] * direction)
            direction = direction + correction * steps[k, :]
        return -direction

    def _line_search(
        self, loss: Callable[[], Any], leaves: Sequence[Variable], start: tuple[Any, Any], descent: tuple[Any, Any]
    ) -> None:
        """Assign to the variables the point after the step, halved until the loss is low enough; NaN never is. `start`
        is the loss and the point before the step, `descent` its direction and the slope of the loss along it."""
        (loss_before, point), (direction, slope) = start, descent

        def is_sufficient(rate: Any) -> Any:
            assign_from_vector(leaves, point + rate * direction)
            return less_equal(widen(loss()), loss_before + _SUFFICIENT_DECREASE * rate * slope)

        def halve_rate(rate: Any, attempts: Any, is_low: Any) -> Any:
            return rate / 2.0, attempts - 1, is_sufficient(rate / 2.0)

        rate = 0.0 * loss_before + self.rate
        _, _, is_low = while_loop(
            lambda rate, attempts, is_low: logical_and(attempts > 0, logical_not(is_low)),
            halve_rate,
            rate,
            self.halvings,
            is_sufficient(rate),
        )
        assign_from_vector(leaves, where(is_low, flatten_to_vector(leaves), point))


def variable_size(variable: Variable) -> int:
    """The number of elements of a variable, by its type; raises Usage if its type leaves sizes unknown."""
    shape = variable._type.shape
    if shape is None or None in shape:
        raise Usage(
            "L-BFGS needs variables of known sizes", where=user_location(), got=f"{variable.name}: {variable._type}"
        )
    return math.prod(axis for axis in shape if axis is not None)


def flatten_to_vector(arrays: Sequence[Any]) -> Any:
    """All elements of some arrays, as one vector; of float32 for floats of 16 bits."""
    return widen(concat([reshape(array, (-1,)) for array in arrays], axis=0))


def assign_from_vector(leaves: Sequence[Variable], vector: Any) -> None:
    """Assign to each variable its part of a vector."""
    ends = list(itertools.accumulate(map(variable_size, leaves), initial=0))
    for variable, first, last in zip(leaves, ends, ends[1:], strict=False):
        variable.assign(narrow_to(variable, reshape(vector[first:last], variable._type.shape)))
