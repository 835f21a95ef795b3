"""Resources: what a program uses that is there before it runs, and, if it is a variable, remains after.

A trace threads the value of a resource through branches, loops and calls: it comes as one more parameter, and leaves,
where it is assigned, as one more result. So programs with variables are programs like any others.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...types import Type

_CREATION_COUNTER = itertools.count()


@dataclass(slots=True, eq=False, weakref_slot=True)
class Resource:
    """An array that a program gets beside its arguments: that of a variable, or one that a function closes over."""

    name: str
    type: Type
    stored_value: Any
    """The concrete array that it has; `value` is what to read."""
    trainable: bool = False
    """Whether tapes watch it unasked."""
    is_new: bool = False
    """Whether it is a variable that nobody has read or assigned yet."""
    owner: Any = None
    """The function under trace that has it as a symbolic value of this name, if one within closes over that."""
    creation_order: int = field(default_factory=lambda: next(_CREATION_COUNTER))
    """Resources are in the order in which they were made."""
    on_first_use: ClassVar[Callable[[], object]]
    """Set by `checkpoint`: gives new variables what was restored before they were there."""

    def apply_pending_restore(self) -> None:
        """Hold what was restored before it was there, if this is its first use."""
        if self.is_new:
            Resource.on_first_use()
            self.is_new = False

    @property
    def value(self) -> Any:
        """The concrete array that it is now."""
        self.apply_pending_restore()
        return self.stored_value

    @value.setter
    def value(self, value: Any) -> None:
        self.is_new, self.stored_value = False, value


def constant_resource(array: Any, name: Callable[[Any], str | None]) -> Resource:
    """The resource of a concrete array that a function closes over; `name` finds one for it. The array does not keep
    it, since it keeps the array: both would live until a collection of garbage."""
    known = getattr(array, "_tagloom_resource", None)
    found: Resource | None = known and known()
    if found is None:
        found = Resource(name(array) or "constant", array._type, array)
        array._tagloom_resource = weakref.ref(found)
    return found


def is_constant(resource: Resource) -> bool:
    """Whether it is that of a concrete array."""
    known = getattr(resource.stored_value, "_tagloom_resource", None)
    return known is not None and known() is resource


class VariableBase:
    """What holds a value that may be another one later: a variable."""

    __slots__ = ()
    _resource: Resource

    @property
    def value(self) -> Any:
        """The value that it has here: a concrete array, or in a trace a symbolic one."""
        raise NotImplementedError


def read_variable(value: Any) -> Any:
    """What a variable holds here; any other value as it is."""
    return value.value if isinstance(value, VariableBase) else value


def sort_resources(resources: Any) -> tuple[Resource, ...]:
    """Resources, each once, in the order in which they were made."""
    return tuple(sorted(set(resources), key=lambda resource: resource.creation_order))
