"""The common part of optimizers: variables, their gradients, and slots.

Owns how gradients pair with variables, and where slots are created and kept. The update itself belongs to a subclass: a
pure function of the value of a variable, its gradient and its slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from ...core.autodiff.rows import Rows
from ...core.errors import Invalid, Usage
from ...core.frontend.array_api.common import type_of
from ...core.frontend.array_api.indexing import scatter, take
from ...core.frontend.array_api.networks import sum_duplicate_rows
from ...core.frontend.eager.variable import Variable, init_scope
from ...core.frontend.trace.source_location import user_location
from ...core.types import Type

Slots: TypeAlias = Mapping[str, Any]
"""The state kept for a variable from one step to the next, by name."""


class Optimizer:
    """The base class of optimizers, which take steps that reduce a loss.

    `slots` has the state of each variable, by the variable's name and the slot's. Slots are variables, created at the
    first `apply`; so a checkpoint of the optimizer has them. Later variables of the same name get a number.
    """

    def __init__(self) -> None:
        self.slots: dict[str, dict[str, Variable]] = {}
        self._names: dict[int, str] = {}

    def apply(self, gradients: Any, variables: Any) -> None:
        """Take one step: assign to each variable its `update`. Gradients nest as variables do, in tuples, lists and
        dicts; one may be `tl.Rows`, and then the step changes only these rows of the variable and of its slots.

        Raises Usage if they nest otherwise, and Invalid (D3) if a gradient has another shape than its variable.
        """
        pairs = list(_pair_gradients(gradients, variables, ""))
        for gradient, variable in pairs:
            _check_shape(gradient, variable)
        for gradient, variable in pairs:
            slots = self._find_or_make_slots(variable)
            if isinstance(gradient, Rows):
                self._apply_rows(gradient, variable, slots)
                continue
            value, after = self.update(variable.value, gradient, {name: each.value for name, each in slots.items()})
            variable.assign(value)
            for name, made in after.items():
                slots[name].assign(made)

    def make_slots(self, variables: Any) -> None:
        """Create the missing slots of variables, nested at will; otherwise the first step does."""
        for variable in flatten_variables(variables):
            self._find_or_make_slots(variable)

    def first(self, value: Any) -> Slots:
        """The initial slots of a variable that holds this value."""
        raise NotImplementedError

    def update(self, value: Any, gradient: Any, slots: Slots) -> tuple[Any, Slots]:
        """The new value of a variable, and its new slots. Except for scalars, all have the shape of the value, and each
        element depends only on the elements at its position."""
        raise NotImplementedError

    def _apply_rows(self, gradient: Rows, variable: Variable, slots: Mapping[str, Variable]) -> None:
        """A step of some rows. If a row occurs twice, both copies get the sum of their gradients, and so agree."""
        rows = sum_duplicate_rows(gradient)
        held = {
            name: take(slot, rows.indices, axis=0) if _is_rowwise(slot, variable) else slot.value
            for name, slot in slots.items()
        }
        value, after = self.update(take(variable, rows.indices, axis=0), rows.values, held)
        variable.assign(scatter(variable, value, rows.indices))
        for name, made in after.items():
            slot = slots[name]
            slot.assign(scatter(slot, made, rows.indices) if _is_rowwise(slot, variable) else made)

    def _find_or_make_slots(self, variable: Variable) -> dict[str, Variable]:
        number = variable._resource.creation_order
        if number not in self._names:
            with init_scope():
                made = {
                    name: Variable(
                        value, dtype=_slot_type(value, variable), name=f"{variable.name}_{name}", trainable=False
                    )
                    for name, value in self.first(variable.value).items()
                }
            self._names[number] = self._unique_name(variable.name)
            self.slots[self._names[number]] = made
        return self.slots[self._names[number]]

    def _unique_name(self, name: str) -> str:
        taken, count = name, 0
        while taken in self.slots:
            count += 1
            taken = f"{name}_{count}"
        return taken


def flatten_variables(variables: Any) -> Iterator[Variable]:
    """The variables nested in tuples, lists and dicts, in order. Raises Usage for anything else."""
    if isinstance(variables, Variable):
        yield variables
    elif isinstance(variables, dict | tuple | list):
        for each in variables.values() if isinstance(variables, dict) else variables:
            yield from flatten_variables(each)
    else:
        hint = "optimizer.apply(gradients, variables) takes gradients first"
        raise Usage(
            "only variables learn", where=user_location(), required="tl.Variable", got=repr(variables)[:80], hint=hint
        )


def _slot_type(value: Any, variable: Variable) -> Type:
    """The type of a slot: sizes that its variable leaves open stay open."""
    made = type_of(value)
    return Type(made.dtype, variable._type.shape) if variable._type.admits(Type(variable.dtype, made.shape)) else made


def _is_rowwise(slot: Variable, variable: Variable) -> bool:
    """Whether a slot has a row for each row of its variable."""
    return slot._type.shape == variable._type.shape


def _pair_gradients(gradients: Any, variables: Any, place: str) -> Iterator[tuple[Any, Variable]]:
    """The gradients with their variables, in the order of the variables."""
    if isinstance(variables, Variable):
        if gradients is None or (isinstance(gradients, tuple | list | dict) and not isinstance(gradients, Rows)):
            raise _nesting_error(place, f"the gradient by {variables.name}", gradients)
        yield gradients, variables
    elif isinstance(variables, dict):
        if not isinstance(gradients, dict) or gradients.keys() != variables.keys():
            raise _nesting_error(place, f"a dict of {', '.join(map(str, variables))}", gradients)
        for key, variable in variables.items():
            yield from _pair_gradients(gradients[key], variable, f"{place}[{key!r}]")
    elif isinstance(variables, tuple | list):
        if not isinstance(gradients, tuple | list) or len(gradients) != len(variables):
            raise _nesting_error(place, f"{len(variables)} of them", gradients)
        for at, (gradient, variable) in enumerate(zip(gradients, variables, strict=True)):
            yield from _pair_gradients(gradient, variable, f"{place}[{at}]")
    else:
        yield from ((gradients, variable) for variable in flatten_variables(variables))


def _nesting_error(place: str, required: str, got: Any) -> Usage:
    said = f"gradients{place} do not nest as their variables do"
    return Usage(said, where=user_location(), required=required, got=repr(got)[:80])


def _check_shape(gradient: Any, variable: Variable) -> None:
    """Raise Invalid (D3) if a gradient is known to have another shape, and would be broadcast."""
    mine, theirs = variable._type.shape, type_of(gradient.values if isinstance(gradient, Rows) else gradient).shape
    if isinstance(gradient, Rows) and mine is not None:
        mine = (*(type_of(gradient.indices).shape or (None,)), *mine[1:])
    if mine is None or theirs is None:
        return
    if len(mine) != len(theirs) or any(
        None not in pair and pair[0] != pair[1] for pair in zip(mine, theirs, strict=True)
    ):
        said = f"the gradient by {variable.name} has another shape than it"
        raise Invalid(
            said,
            rule="D3",
            where=user_location(),
            required=Type(variable.dtype, mine),
            got=Type(variable.dtype, theirs),
        )
