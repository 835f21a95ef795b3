"""Resources: arrays that a program captures, namely the values of variables, the concrete arrays that functions close
over, and other constants that are too large for literals.

A trace threads the value of a resource through branches, loops and calls as one more parameter, and, where it is
assigned, as one more result. So a program with variables is an ordinary pure program.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Protocol
from weakref import WeakSet, WeakValueDictionary

from ...program.device import DeviceName
from ...types import Type
from ...value import Literal, fingerprint

_CREATION_COUNTER = itertools.count()


class PendingRestore(Protocol):
    """A restored checkpoint with values whose variables do not exist yet."""

    def fill_new_variables(self) -> None:
        """Assign the restored values to the variables that have not been used yet."""


PENDING_RESTORES: WeakSet[PendingRestore] = WeakSet()


@dataclass(slots=True, eq=False, weakref_slot=True)
class Resource:
    """An array that a program takes besides its arguments: the value of a variable, or an array closed over."""

    name: str
    type: Type
    stored_value: Any
    """The current array, a concrete one; of a large constant, a value. Read it through `value`."""
    trainable: bool = False
    """Whether tapes watch it automatically."""
    is_new: bool = False
    """Whether it is a variable that has not been read or assigned yet."""
    owner: Any = None
    """The `Specialization` that computes it, if it is a symbolic value that a nested function closes over."""
    device: DeviceName | None = None
    """The device, or a part of its name, of the `with tl.device(...)` around the creation of a variable."""
    label: str = ""
    """The name that it has in programs; without one, `name`."""
    creation_order: int = field(default_factory=lambda: next(_CREATION_COUNTER))
    """The number of resources created before; resources are sorted by it."""

    def __post_init__(self) -> None:
        self.label = self.label or self.name

    def apply_pending_restore(self) -> None:
        """On first use, take the value that a checkpoint restored before the variable existed."""
        if self.is_new:
            for restore in list(PENDING_RESTORES):
                restore.fill_new_variables()
            self.is_new = False

    @property
    def value(self) -> Any:
        """The current array."""
        self.apply_pending_restore()
        return self.stored_value

    @value.setter
    def value(self, value: Any) -> None:
        self.is_new, self.stored_value = False, value


def constant_resource(array: Any, name: Callable[[Any], str | None]) -> Resource:
    """The resource of a concrete array that a function closes over; `name` finds a name for the array. The array refers
    to its resource weakly: the resource refers to the array, and a cycle would live until a garbage collection."""
    reference = getattr(array, "_tagloom_resource", None)
    resource: Resource | None = reference and reference()
    if resource is None:
        resource = Resource(name(array) or "constant", array._type, array)
        array._tagloom_resource = weakref.ref(resource)
    return resource


_LITERAL_RESOURCES: WeakValueDictionary[tuple[str, str, tuple[int, ...], bytes], Resource] = WeakValueDictionary()
"""The resources of large constants that are in use, by name, dtype, shape and a hash of the elements."""


def literal_resource(constant: Literal, name: str) -> Resource:
    """The resource of a constant that is too large for a literal of the program. Equal constants of one name share it,
    in all traces, so that a function that is traced again has the same captures."""
    dtype, shape, elements = fingerprint(constant.value)
    key = name, dtype, shape, blake2b(elements, digest_size=32).digest()
    return _LITERAL_RESOURCES.setdefault(key, Resource(name, constant.type, constant.value))


def is_constant(resource: Resource) -> bool:
    """Whether it is a concrete array that a function closes over, not a variable."""
    reference = getattr(resource.stored_value, "_tagloom_resource", None)
    return reference is not None and reference() is resource


class VariableBase:
    """The base class of variables."""

    __slots__ = ()
    _resource: Resource

    @property
    def value(self) -> Any:
        """The current value: a concrete array, or a symbolic value in a trace."""
        raise NotImplementedError


class DeferredValue:
    """The base class of symbols whose node is added where they are first used."""

    __slots__ = ()

    @property
    def value(self) -> Any:
        """The symbolic value, with its node."""
        raise NotImplementedError


def is_read(value: Any) -> bool:
    """Whether `read_variable` returns another value."""
    return isinstance(value, VariableBase | DeferredValue)


def read_variable(value: Any) -> Any:
    """The current value of a variable, or a deferred value; any other value unchanged."""
    return value.value if is_read(value) else value


def sort_resources(resources: Any) -> tuple[Resource, ...]:
    """The distinct resources, in order of creation."""
    return tuple(sorted(set(resources), key=lambda resource: resource.creation_order))
