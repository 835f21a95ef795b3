"""Variables: state that persists from one run to the next.

Outside a trace, a variable holds a concrete array, and assignment replaces it. A trace captures it by reference: its
value is a further parameter of the program. Assignments are threaded through branches, loops and calls in program
order. Its final value is a further result, which is stored when the run has returned.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from ...dtypes import DType
from ...errors import Invalid, TagloomError, Usage
from ...program.program import scope_device
from ...types import Type, as_type
from ...value import Literal, literal
from ..trace.captures import Resource, VariableBase, read_variable
from ..trace.program_builder import (
    TracedValue,
    current_region,
    describe_operand_type,
    leak_error,
    suspend_tracing,
    suspended_region,
    to_literal,
    to_operand,
    to_weak_operand,
    unwrap_weak,
)
from ..trace.source_location import entered_scopes, user_location
from ..trace.symbol import ELEMENT_METHODS, ArrayOperators, Symbol
from ..trace.variable_names import assignment_target
from .array import ConcreteArray
from .recording import read_and_record, record_assignment, recording_tapes

DEFAULT_NAME = "variable"
"""The name of variables that get none."""


class Variable(ArrayOperators, VariableBase):
    """A variable of a fixed type: the type of its first value, or `dtype`, which is a dtype or a type such as
    tl.Array[tl.float64, None, 3], whose open sizes may change.

    It is used like an array, outside functions and inside; operators and ops take its current value. `assign`,
    `assign_add` and `assign_sub` replace the value. A run that does not return changes nothing. `value` may be a
    function of no arguments, which is called eagerly.

    Tapes watch it if it is `trainable` and of floats; `tl.grad(f, w)` is the gradient with respect to it.

    In programs, pictures and messages it has its `name`. Without one it has the name that it is assigned to, if that is
    known: `self.weight = Variable(...)` is `weight`.

    Raises Usage where the first value is symbolic or does not fit, Invalid (V4) where an assigned value does not fit.

    >>> count = Variable(0, name="count")
    >>> count.assign_add(2)
    >>> count, count * 10
    (<variable count: int64 = 2>, asarray(20, dtype=int64))
    """

    __slots__ = ("__weakref__", "_resource")

    def __init__(self, value: Any, *, dtype: Any = None, name: str = DEFAULT_NAME, trainable: bool = True) -> None:
        region = current_region()
        with suspend_tracing():
            array = _initial_array(value() if callable(value) else value, dtype)
            type_ = array._type if dtype is None or isinstance(dtype, DType) else as_type(dtype)
        if not isinstance(name, str) or not name.isidentifier():
            raise Usage("the name of a variable is not an identifier", where=user_location(), got=repr(name))
        device = scope_device(entry for _, entry in entered_scopes())
        is_trainable = trainable and type_.dtype.kind == "f"
        label = assignment_target() or name if name == DEFAULT_NAME else name
        self._resource = Resource(name, type_, array, is_trainable, is_new=True, device=device, label=label)
        region = region or suspended_region()
        if region is not None:
            region.specialization.program_builder.register_variable(self._resource)

    @property
    def name(self) -> str:
        """Its name in programs."""
        return self._resource.name

    @property
    def trainable(self) -> builtins.bool:
        """Whether tapes watch it automatically; False unless it is of floats."""
        return self._resource.trainable

    @property
    def _type(self) -> Type:
        return self._resource.type

    @property
    def value(self) -> Any:
        """The current value: a concrete array, or a symbolic value in a trace."""
        return read_and_record(self._resource)

    def __format__(self, spec: str) -> str:
        """The current value in Python's format `spec`; without one, `str`."""
        return format(self.value, spec) if spec else str(self)

    @property
    def _tagloom_value(self) -> TracedValue:
        region = current_region()
        value = None if region is None else region.read_resource(self._resource)
        if not isinstance(value, TracedValue):
            raise AttributeError("a variable has a symbolic value in a trace only")
        return value

    @property
    def _tagloom_literal(self) -> Literal:
        region = current_region()
        value = None if region is None else region.read_resource(self._resource)
        return value if isinstance(value, Literal) else self._resource.value._tagloom_literal

    def assign(self, value: Any, /) -> None:
        """Replace the value by one of the variable's type; a Python number takes its dtype.

        Raises Invalid (V4) for a value of another type.
        """
        region, value = current_region(), read_variable(value)
        try:
            if isinstance(value, list):
                operand = to_operand(value, self._type)
            else:
                operand = to_weak_operand(unwrap_weak(value), self.dtype if self._type.is_scalar else None)
        except TagloomError as error:
            error.message = f"variable {self._resource.label}: {error.message}"
            raise
        if not self._type.admits(operand.type):
            raise Invalid(
                f"variable {self._resource.label} is assigned a value of the wrong type",
                rule="V4",
                where=user_location(),
                required=self._type,
                got=describe_operand_type(operand),
                hint="tl.astype converts; a dtype of open sizes, as in tl.Array[tl.float64, None], lets sizes change",
            )
        if recording_tapes():
            read_and_record(self._resource)
        record_assignment(self._resource)
        if region is not None:
            region.store[self._resource] = operand
        elif isinstance(operand, TracedValue):
            raise leak_error([operand])
        else:
            self._resource.value = value if isinstance(value, ConcreteArray) else ConcreteArray(operand)

    def assign_add(self, value: Any, /) -> None:
        """Add `value` to the variable."""
        self.assign(self + value)

    def assign_sub(self, value: Any, /) -> None:
        """Subtract `value` from the variable."""
        self.assign(self - value)

    def __repr__(self) -> str:
        elements = " ".join(repr(self._resource.value).removeprefix("asarray(").rpartition(", dtype=")[0].split())
        elements = elements if len(elements) <= 60 else f"{elements[:56]}..."
        return f"<variable {self._resource.label}: {self._type} = {elements}>"

    __hash__ = object.__hash__

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        """A new variable with the same value, type and name."""
        type_, value = self._resource.type, self._resource.value
        copied = Variable(value, dtype=type_, name=self.name, trainable=self.trainable)
        copied._resource.label = self._resource.label
        return copied

    def __copy__(self) -> Variable:
        return self.__deepcopy__({})

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        hint = "write w.assign(tl.scatter(w, value, index)), or w.assign(tl.where(mask, value, w))"
        raise Usage(f"elements of variable {self._resource.label} cannot be assigned", where=user_location(), hint=hint)

    def _refuse_in_place(self, value: Any) -> NoReturn:
        """Raises Usage: `w += x` would rebind w to an array."""
        hint = f"write {self._resource.label}.assign_add(...), .assign_sub(...) or .assign(...)"
        raise Usage(
            f"variable {self._resource.label} is assigned only by its methods", where=user_location(), hint=hint
        )

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = __ipow__ = __imatmul__ = _refuse_in_place
    __iand__ = __ior__ = __ixor__ = __ilshift__ = __irshift__ = _refuse_in_place

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **options: Any) -> Any:
        return self.value.__array_ufunc__(
            function, method, *(operand.value if operand is self else operand for operand in operands), **options
        )

    def __getattr__(self, name: str) -> Any:
        """Forward the other methods and attributes of arrays."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.value, name)


def _forward_method(name: str) -> Callable[..., Any]:
    def method(self: Variable, *arguments: Any, **keywords: Any) -> Any:
        return getattr(self.value, name)(*arguments, **keywords)

    return method


for _name in ELEMENT_METHODS:
    setattr(Variable, _name, _forward_method(_name))


def _initial_array(value: Any, dtype: Any) -> ConcreteArray:
    """The first value of a variable, converted to `dtype` if that is given."""
    if isinstance(value, Symbol):
        hint = "use a number or a concrete array; under tl.init_scope() ops run eagerly"
        raise Usage("the first value of a variable is symbolic", where=user_location(), got=repr(value), hint=hint)
    type_ = None if dtype is None else Type(dtype, None) if isinstance(dtype, DType) else as_type(dtype)
    try:
        operand = to_literal(value, type_)
        constant = operand if type_ is None or type_.admits(operand.type) else literal(operand.value, type_)
    except TagloomError as error:
        error.where = error.where or user_location()
        raise
    return ConcreteArray(constant)  # a new object, which no tape knows


@contextmanager
def init_scope() -> Iterator[None]:
    """Under `with tl.init_scope()` ops run eagerly, even in a function under trace: for values that are computed once,
    such as the first values of variables."""
    with suspend_tracing():
        yield
