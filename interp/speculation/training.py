"""Training in speculated code: tapes, the values of `tl.Variable`s, and the steps of optimizers.

A tape records in the trace, as it does in a `tl.function`. It identifies arrays by identity, which a graph keeps for
arguments and for attributes of static objects; a tape cannot watch other arrays.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType
from typing import Any

from ...core import dtypes
from ...core.errors import with_article
from ...core.frontend.array_api.datatypes import astype
from ...core.frontend.eager.tape import Tape
from ...core.frontend.eager.variable import Variable
from ..function.gradient import grad, value_and_grad
from ..training import optimizers
from ..training.optimizers import Optimizer
from . import arithmetic
from .heap import PlaceKey, slot_name
from .layouts import (
    NUMBER_CLASSES,
    ArrayLayout,
    ConstantLayout,
    NotSpeculable,
    NumberLayout,
    StaticLayout,
    StaticObject,
    TupleLayout,
)
from .recording import python_function
from .staging import NONE_VALUE, GraphValue, NestedFunction, StagedValue, Staging, is_same_leaf


@dataclass(eq=False)
class StagedTape(GraphValue):
    """The tape of a `with` statement, as last entered, with the values that variables had then. A statement in a loop
    has one tape for all iterations, so that the variable to which it is assigned has one layout."""

    tape: Tape
    variables: dict[StaticObject, StagedValue] = field(default_factory=dict)


def open_tape(staging: Staging, options: Sequence[StagedValue], statement: ast.With) -> StagedTape:
    """A new tape of a statement; its only option says whether it is persistent."""
    layouts = [option.layout for option in options]
    if not all(isinstance(layout, ConstantLayout) and type(layout.value) is bool for layout in layouts):
        raise NotSpeculable("whether a tape is persistent is not known")
    staging.requirements.needs_separate_arrays = True
    staging.require_static_objects()
    tape = Tape(persistent=any(layout.value for layout in layouts))  # type: ignore[union-attr]
    staged: StagedTape = staging.tapes.setdefault(statement, StagedTape(tape))
    staged.tape, staged.variables = tape, {}
    return staged


def record(staging: Staging, staged: StagedTape, run: Callable[[], None]) -> None:
    """Generate code that a tape records. While layouts are inferred, the tape records nothing."""
    for key in staging.keys:
        if isinstance(key, PlaceKey) and key.owner.owner is Variable and key.name == "value":
            staged.variables[key.owner] = staging.read_place(key.owner, "value")
    if staging.is_inferring:
        run()
        return
    with staged.tape:
        for static, value in staged.variables.items():
            if staging.static_value(static, "trainable"):
                staged.tape.watch(value.leaves[0])
        run()


@dataclass(frozen=True)
class StagedGradient(GraphValue):
    """`tl.grad` or `tl.value_and_grad` of a function of the program."""

    function: Any
    has_value: bool
    numbers: tuple[int, ...]
    """The arguments to differentiate with respect to."""
    is_nested: bool
    """Whether the gradient is a tuple."""


def gradient_function(
    staging: Staging, kind: Any, arguments: Sequence[StagedValue], keywords: dict[str, StagedValue]
) -> StagedValue:
    """`tl.grad(function, argnums)` or `tl.value_and_grad(function, argnums)`."""
    options = dict(zip(("function", "argnums"), arguments, strict=False)) | keywords
    if len(arguments) > 2 or "function" not in options or not options.keys() <= {"function", "argnums"}:
        raise NotSpeculable(f"these arguments of tl.{kind.__name__} have no graph")
    layout = options["function"].layout
    function = python_function(layout.value) if isinstance(layout, ConstantLayout) else None
    if not isinstance(function, FunctionType | NestedFunction):
        raise NotSpeculable(f"tl.{kind.__name__} of {with_article(layout)} has no graph")
    targets = options.get("argnums", staging.constant(0))
    is_nested = isinstance(targets.layout, TupleLayout)
    layouts = [staged.layout for staged in (staging.items(targets) if is_nested else [targets])]
    numbers = tuple(
        staged.value for staged in layouts if isinstance(staged, ConstantLayout) and type(staged.value) is int
    )
    if len(numbers) < len(layouts) or not numbers or len({*numbers}) < len(numbers) or min(numbers) < 0:
        raise NotSpeculable(f"these argnums of tl.{kind.__name__} have no graph")
    key = function, kind is value_and_grad, numbers, is_nested
    return staging.constant(staging.gradients.setdefault(key, StagedGradient(*key)))


def call_gradient(
    staging: Staging, gradient: StagedGradient, arguments: Sequence[StagedValue], call: Callable[..., StagedValue]
) -> StagedValue:
    """A call of a gradient: `call` calls its function with other arguments. The function must change nothing, since
    eager code traces it."""
    layouts = [staged.layout for staged in arguments]
    types = [layout.type for layout in layouts if isinstance(layout, ArrayLayout)]
    if len(types) < len(layouts) or max(gradient.numbers) >= len(types):
        raise NotSpeculable("a gradient takes arrays only")
    if any(types[number].dtype.kind != "f" for number in gradient.numbers):
        raise NotSpeculable("a gradient with respect to an array that is not of floats has no graph")
    if staging.is_recording():
        raise NotSpeculable("a gradient while a tape records has no graph")
    start, operands = staging.state.copy(), list(arguments)
    for number in gradient.numbers:  # the same array may have other names, which are constants
        operands[number] = StagedValue(layouts[number], (staging.emit("identity", arguments[number].leaves[0]),))
    leaves = [operands[number].leaves[0] for number in gradient.numbers]
    if staging.is_inferring:
        value = call(operands)
        results: Sequence[Any] = [staging.placeholder(types[number]) for number in gradient.numbers]
    else:
        with Tape() as tape:
            tape.watch(leaves)
            value = call(operands)
    _check_unchanged(staging, start.variables, staging.state.variables)
    for key, before in start.heap.items():
        if not all(map(is_same_leaf, before, staging.state.heap[key])):
            raise NotSpeculable(f"a function changes {key} under tl.grad")
    is_float = isinstance(value.layout, ArrayLayout) and value.layout.type.is_scalar
    if not is_float or value.layout.types[0].dtype.kind != "f":
        raise NotSpeculable(f"the gradient of {with_article(value.layout)} has no graph")
    if not staging.is_inferring:
        results = staging.located(lambda: tape.gradient(value.leaves[0], tuple(leaves)))
    gradients = [StagedValue(layouts[number], (leaf,)) for number, leaf in zip(gradient.numbers, results, strict=True)]
    nested = staging.tuple_of(gradients) if gradient.is_nested else gradients[0]
    return staging.tuple_of([value, nested]) if gradient.has_value else nested


def _check_unchanged(staging: Staging, before: dict[str, StagedValue], after: dict[str, StagedValue]) -> None:
    """Raises NotSpeculable where a nested function has assigned a variable of the function around it."""
    for name, value in after.items():
        old = before.get(name)
        if old is None or old.layout != value.layout or not all(map(is_same_leaf, old.leaves, value.leaves)):
            raise NotSpeculable(f"a function assigns {name} under tl.grad")


def has_methods(value: StagedValue) -> bool:
    """Whether a value is a tape, a variable or an optimizer, which have the methods of METHODS."""
    is_tape = isinstance(value.layout, ConstantLayout) and type(value.layout.value) is StagedTape
    return is_tape or (isinstance(value.layout, StaticLayout) and _is_own(value.layout.object.owner))


def _is_own(owner: type) -> bool:
    return owner is Variable or issubclass(owner, Optimizer)


def read_attribute(staging: Staging, static: StaticObject, name: str) -> StagedValue:
    """An attribute of a variable or of an optimizer."""
    if name == ("value" if static.owner is Variable else "rate"):
        return staging.read_place(static, name)
    raise NotSpeculable(f"attribute {name} of a {static.owner.__name__} has no graph")


def call_method(
    staging: Staging, owner: StagedValue, name: str, values: list[StagedValue], node: ast.AST
) -> StagedValue:
    """`owner.name(*values)` of a tape, a variable or an optimizer."""
    is_tape = isinstance(owner.layout, ConstantLayout)
    kind = Tape if is_tape else Variable if staging.is_static(owner, Variable) else Optimizer
    row = METHODS.get((kind, name))
    if row is None or row[0] != len(values):
        raise NotSpeculable(f"method {name} of {with_article(kind.__name__)} with {len(values)} arguments has no graph")
    return row[1](staging, owner, values, node)


def flatten(staging: Staging, value: StagedValue) -> list[StagedValue]:
    """The leaves of nested tuples and lists."""
    if isinstance(value.layout, TupleLayout) or staging.is_static(value, list):
        return [leaf for item in staging.items(value) for leaf in flatten(staging, item)]
    return [value]


def _nest(staging: Staging, template: StagedValue, leaves: list[StagedValue]) -> StagedValue:
    """Leaves, taken from the front of the list, nested as the template is."""
    if isinstance(template.layout, TupleLayout) or staging.is_static(template, list):
        kind = template.layout.kind if isinstance(template.layout, TupleLayout) else list
        return staging.tuple_of([_nest(staging, item, leaves) for item in staging.items(template)], kind)
    return leaves.pop(0)


def _check_identity(staging: Staging, value: StagedValue) -> None:
    """Raises NotSpeculable for an array that may have aliases which the graph does not know."""
    places = [staging.state.heap[key] for key in staging.keys if isinstance(key, PlaceKey)]
    watched_leaves = [leaf for leaves in places for leaf in leaves]
    if not any(is_same_leaf(value.leaves[0], leaf) for leaf in [*watched_leaves, *staging.argument_leaves]):
        raise NotSpeculable("a tape watches an array that is neither an argument nor an attribute of a static object")


def _watch(staging: Staging, owner: StagedValue, values: list[StagedValue], node: ast.AST) -> StagedValue:
    staged = owner.layout.value  # type: ignore[union-attr]
    for leaf in flatten(staging, values[0]):
        if staging.is_static(leaf, Variable):
            leaf = staged.variables[leaf.layout.object]  # type: ignore[union-attr]
        if not isinstance(leaf.layout, ArrayLayout):
            raise NotSpeculable(f"a tape watches {with_article(leaf.layout)}")
        _check_identity(staging, leaf)
        if not staging.is_inferring:
            staging.located(partial(staged.tape.watch, leaf.leaves[0]))
    return NONE_VALUE


def _gradient(staging: Staging, owner: StagedValue, values: list[StagedValue], node: ast.AST) -> StagedValue:
    staged = owner.layout.value  # type: ignore[union-attr]
    target, sources = values
    if not isinstance(target.layout, ArrayLayout):
        raise NotSpeculable(f"the gradient of {with_article(target.layout)} has no graph")
    leaves = [
        staged.variables.get(leaf.layout.object, leaf) if isinstance(leaf.layout, StaticLayout) else leaf
        for leaf in flatten(staging, sources)
    ]
    for leaf in leaves:
        if not isinstance(leaf.layout, ArrayLayout):
            raise NotSpeculable(f"a gradient with respect to {with_article(leaf.layout)} has no graph")
    if staging.is_inferring:
        results: Any = [staging.placeholder(leaf.layout.types[0]) for leaf in leaves]
    else:
        arrays = tuple(leaf.leaves[0] for leaf in leaves)
        results = staging.located(lambda: staged.tape.gradient(target.leaves[0], arrays))
    gradients = [StagedValue(leaf.layout, (result,)) for leaf, result in zip(leaves, results, strict=True)]
    return _nest(staging, sources, gradients)


def _assign(staging: Staging, owner: StagedValue, values: list[StagedValue], node: ast.AST) -> StagedValue:
    static: StaticObject = owner.layout.object  # type: ignore[union-attr]
    value = staging.read_variable(values[0])
    if value.layout != staging.read_place(static, "value").layout:
        raise NotSpeculable(f"{static.place} is assigned {with_article(value.layout)}")
    if not staging.is_inferring and staging.is_recording():
        raise NotSpeculable("a variable is assigned while a tape records")
    staging.write_heap(PlaceKey(static, "value"), value, node)
    return NONE_VALUE


def _assign_by(op: str) -> Callable[..., StagedValue]:
    def assign(staging: Staging, owner: StagedValue, values: list[StagedValue], node: ast.AST) -> StagedValue:
        operands = staging.read_variable(owner), staging.read_variable(values[0])
        return _assign(staging, owner, [arithmetic.binary(staging, op, *operands, node)], node)

    return assign


def _apply(staging: Staging, owner: StagedValue, values: list[StagedValue], node: ast.AST) -> StagedValue:
    """The step of an optimizer: `Optimizer.apply`, with the state of the graph."""
    static: StaticObject = owner.layout.object  # type: ignore[union-attr]
    gradients, variables = flatten(staging, values[0]), flatten(staging, values[1])
    if len(gradients) != len(variables) or not all(staging.is_static(variable, Variable) for variable in variables):
        raise NotSpeculable("an optimizer changes only variables, by as many gradients")
    for gradient, variable in zip(gradients, variables, strict=True):
        if gradient.layout != staging.read_variable(variable).layout:
            raise NotSpeculable(f"a variable has a gradient of the wrong type, {gradient.layout}")
    for gradient, variable in zip(gradients, variables, strict=True):
        _step(staging, static, gradient.leaves[0], variable, node)
    return NONE_VALUE


def _step(staging: Staging, static: StaticObject, gradient: Any, variable: StagedValue, node: ast.AST) -> None:
    """The step of one variable."""
    target: StaticObject = variable.layout.object  # type: ignore[union-attr]
    instances = staging.observation.instances
    name = slot_name(instances[static], instances[target])
    if name is None:
        raise NotSpeculable("an optimizer takes its first step")
    staging.requirements.slot_names[static, target] = name
    value = staging.read_place(target, "value")
    own_slots = _static(staging.read_place(_static(staging.read_place(static, "slots")), name))
    slots = {slot_key: _static(staging.read_place(own_slots, slot_key)) for slot_key in instances[static].slots[name]}
    slot_values = {slot_key: staging.read_place(slot, "value") for slot_key, slot in slots.items()}
    optimizer = _with_symbols(staging, static, value.layout.types[0].dtype)
    arrays = {slot_key: slot_value.leaves[0] for slot_key, slot_value in slot_values.items()}
    new, new_slots = staging.located(lambda: optimizer.update(value.leaves[0], gradient, arrays))
    staging.write_heap(PlaceKey(target, "value"), StagedValue(value.layout, (new,)), node)
    for slot_key, new_slot in new_slots.items():
        staging.write_heap(
            PlaceKey(slots[slot_key], "value"), StagedValue(slot_values[slot_key].layout, (new_slot,)), node
        )


def _static(value: StagedValue) -> StaticObject:
    if not isinstance(value.layout, StaticLayout):
        raise NotSpeculable("an optimizer has slots that are not static")
    return value.layout.object


def _with_symbols(staging: Staging, static: StaticObject, dtype: dtypes.DType) -> Optimizer:
    """A copy of an optimizer whose rate is that of the graph. Its other options are part of the graph."""
    instance = staging.observation.instances[static]
    if static.owner.__module__ != optimizers.__name__:
        raise NotSpeculable(f"{static.owner.__qualname__} is an optimizer of the user")
    result: Optimizer = copy.copy(instance)
    rate = staging.read_variable(staging.read_place(static, "rate"))
    if not isinstance(rate.layout, NumberLayout | ArrayLayout):
        raise NotSpeculable(f"the rate of an optimizer is {with_article(rate.layout)}")
    leaf = rate.leaves[0]
    is_exact = isinstance(rate.layout, ArrayLayout) or dtype is dtypes.float64
    vars(result)["rate"] = leaf if is_exact else staging.located(lambda: astype(leaf, dtype))
    for name, value in vars(instance).items():
        if name not in ("rate", "slots", "_names"):
            if type(value) not in NUMBER_CLASSES:
                raise NotSpeculable(f"{name} of an optimizer is not a number")
            staging.static_value(static, name)
    return result


GRADIENTS = (grad, value_and_grad)
"""The functions that make gradients of functions."""
METHODS: dict[tuple[type, str], tuple[int, Callable[..., StagedValue]]] = {
    (Tape, "watch"): (1, _watch),
    (Tape, "gradient"): (2, _gradient),
    (Variable, "assign"): (1, _assign),
    (Variable, "assign_add"): (1, _assign_by("Add")),
    (Variable, "assign_sub"): (1, _assign_by("Sub")),
    (Optimizer, "apply"): (2, _apply),
}
"""The methods of tagloom's objects that a graph may call, each with its number of arguments."""
