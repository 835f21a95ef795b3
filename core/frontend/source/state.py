"""State: what a staged branch or loop may change, and how changes are undone.

Local variables are cells of the converted function (`Variables`). Everything else that Python code can change is a
`Place`: an attribute, the items of a list, dict or set, a global variable, or the cell of an enclosing function.
Converted code records a place in the active `Journal` before it writes there; staging reads the changes from the
journal, undoes them, and merges them. So a branch that is traced but not taken leaves no mark, whatever name the object
is reached by.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import CellType
from typing import Any, NoReturn, Protocol

from ...errors import Invalid, describe_class
from ..trace.mutable_arrays import MutableArray, RenamedArray
from ..trace.program_builder import RetraceRequest, Specialization, TracedValue, current_aliases, current_region
from ..trace.pytree import attributes_of, has_attributes, is_record
from ..trace.source_location import user_location
from ..trace.stacked_items import DICT_CLASSES, TracedSet
from ..trace.symbol import Symbol
from ..trace.unusable_value import UnusableValue


class Undefined(UnusableValue):
    """The value of a variable that is not assigned on every path. Any use raises UnboundLocalError, with the line of
    the path that does not assign it."""

    __slots__ = ("name", "reason")

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason

    def __repr__(self) -> str:
        return f"<undefined {self.name}>"

    def fail(self, *arguments: object, **options: object) -> NoReturn:
        """Raise the error of a use."""
        raise Invalid(
            f"variable {self.name} is used, but not assigned on every path",
            rule="F4",
            where=user_location(),
            got=self.reason,
            hint=f"assign {self.name} before",
            python=UnboundLocalError,
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self.fail()


class MaybeUnassigned(Undefined):
    """A variable that is assigned on some paths, on which it has this value; a use is an error, except where control
    flow says that it is assigned (`present`)."""

    __slots__ = ("condition", "value")

    def __init__(self, name: str, reason: str, value: Any, condition: tuple[Any, bool] | None = None) -> None:
        super().__init__(name, reason)
        self.value = value
        self.condition = condition
        """The predicate of the conditional that assigns it, and its value in the branch that does, if that is known."""


class Unbound:
    """The content of a place that has no value."""

    def __repr__(self) -> str:
        return "<unbound>"


UNBOUND = Unbound()


def is_unassigned(content: Any) -> bool:
    """Whether a place with this content has no value, or has none on some paths."""
    return content is UNBOUND or isinstance(content, Undefined)


class Place(Protocol):
    """Something that Python code can change, apart from the local variables of the function that runs."""

    @property
    def key(self) -> tuple[Any, ...]:
        """The key that two places share if they are the same."""

    @property
    def label(self) -> str:
        """The place in words, for messages."""

    def read(self) -> Any:
        """The content now, or UNBOUND; a container's is a copy of it."""

    def write(self, content: Any) -> None:
        """Make this the content."""


@dataclass(frozen=True, eq=False)
class CellPlace:
    """A variable of a function, by its cell."""

    cell: CellType
    label: str

    @property
    def key(self) -> tuple[Any, ...]:
        return CellType, id(self.cell)

    def read(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return UNBOUND

    def write(self, content: Any) -> None:
        if content is not UNBOUND:
            self.cell.cell_contents = content
        elif self.read() is not UNBOUND:
            del self.cell.cell_contents


@dataclass(frozen=True, eq=False)
class GlobalPlace:
    """A global variable."""

    namespace: dict[str, Any]
    name: str

    @property
    def key(self) -> tuple[Any, ...]:
        return dict, id(self.namespace), self.name

    @property
    def label(self) -> str:
        return f"global variable {self.name}"

    def read(self) -> Any:
        return self.namespace.get(self.name, UNBOUND)

    def write(self, content: Any) -> None:
        if content is UNBOUND:
            self.namespace.pop(self.name, None)
        else:
            self.namespace[self.name] = content


@dataclass(frozen=True, eq=False)
class AttributePlace:
    """An attribute of an object."""

    instance: Any
    name: str
    label: str

    @property
    def key(self) -> tuple[Any, ...]:
        return object, id(self.instance), self.name

    def read(self) -> Any:
        attributes = getattr(self.instance, "__dict__", None)
        if attributes is not None and self.name in attributes:
            return attributes[self.name]
        member = getattr(type(self.instance), self.name, None)
        if hasattr(type(member), "__set__"):  # a slot
            return getattr(self.instance, self.name, UNBOUND)
        return UNBOUND

    def write(self, content: Any) -> None:
        kind = type if isinstance(self.instance, type) else object
        if content is not UNBOUND:
            kind.__setattr__(self.instance, self.name, content)
        elif self.read() is not UNBOUND:
            kind.__delattr__(self.instance, self.name)


@dataclass(frozen=True, eq=False)
class ItemsPlace:
    """The items of a list, dict, set, deque or bytearray."""

    container: Any

    @property
    def key(self) -> tuple[Any, ...]:
        return ItemsPlace, id(self.container)

    @property
    def label(self) -> str:
        return f"{describe_class(self.container)}"

    def read(self) -> Any:
        is_unbounded = type(self.container) is deque and self.container.maxlen is None
        if type(self.container) is list or is_unbounded:
            return list(self.container)  # its length may become symbolic
        if isinstance(self.container, TracedSet):
            copied = TracedSet()
            copied.replace(self.container.content())
            return copied
        if isinstance(self.container, dict):
            return dict(self.container)
        if isinstance(self.container, bytearray):
            return bytes(self.container)  # one constant: a bytearray would be an array
        return tuple(self.container) if isinstance(self.container, list | deque) else self.container.copy()

    def write(self, content: Any) -> None:
        items = self.container
        if isinstance(items, TracedSet):
            items.replace(content.content())
            return
        items.clear()
        if isinstance(items, list | deque | bytearray):
            items.extend(content)
        else:
            items.update(content)


@dataclass(frozen=True, eq=False)
class ElementsPlace:
    """The elements of an array that code under trace changes in place."""

    array: Symbol

    @property
    def key(self) -> tuple[Any, ...]:
        return ElementsPlace, id(self.array)

    @property
    def label(self) -> str:
        return "array"

    def read(self) -> Any:
        if type(self.array) is RenamedArray:
            return Undefined(self.label, "a loop has given its name to another array")
        return Symbol(self.array._tagloom_value)

    def write(self, content: Any) -> None:
        is_renamed = type(self.array) is RenamedArray
        if isinstance(content, Undefined):
            self.array.__class__ = RenamedArray
            return
        if is_renamed:
            self.array.__class__ = MutableArray
        self.array._tagloom_value = content._tagloom_value


CONTAINERS = (list, dict, set, deque, bytearray)
"""The classes whose items are a place."""


@dataclass(eq=False)
class Journal:
    """The changes that Python code makes while something is traced."""

    originals: dict[tuple[Any, ...], tuple[Place, Any]] = field(default_factory=dict)
    """Each changed place, with its content before."""
    created_objects: dict[int, Any] = field(default_factory=dict)
    """Objects that the traced code has created: their changes need not be undone."""
    lasting_effect: str | None = None
    """An effect that cannot be undone, in words."""
    depth: int = 0
    """The number of staged branches and loops around the code."""
    is_call: bool = False
    """Whether the code is a call that may still be traced in its caller instead."""
    function: Specialization | None = None
    """The function under trace."""

    def record(self, place: Place) -> None:
        """Keep the content of a place before a write."""
        if place.key not in self.originals:
            self.originals[place.key] = place, place.read()

    def changes(self) -> dict[tuple[Any, ...], tuple[Place, Any]]:
        """The places that were changed, with their contents now."""
        return {key: (place, place.read()) for key, (place, _) in self.originals.items()}

    def restore(self) -> None:
        """Give all places their contents before."""
        for place, content in reversed(self.originals.values()):
            place.write(content)

    def undo(self) -> None:
        """Give all places their contents before. Raises Invalid (F4) where an effect cannot be undone."""
        self.restore()
        if self.lasting_effect is not None:
            raise Invalid(
                f"{self.lasting_effect} in code that runs under a symbolic condition",
                rule="F4",
                where=user_location(),
                hint="do it before, or where the condition is known while tracing",
            )


_JOURNAL: ContextVar[Journal | None] = ContextVar("journal", default=None)

active_journal: Callable[[], Journal | None] = _JOURNAL.get
"""The journal of the innermost branch or loop under trace, or None."""


def is_outside(value: TracedValue) -> bool:
    """Whether a value belongs to another function than that under trace, so that a change of its container would be
    lost: `tl.grad` or the like traces the function, and no journal passes the change on."""
    region, journal = current_region(), active_journal()
    function = None if region is None else region.specialization
    return value.region.specialization is not function and (journal is None or journal.function is not function)


def staging_depth() -> int:
    """The number of staged branches and loops around the code under trace."""
    journal = active_journal()
    return 0 if journal is None else journal.depth


class NotIsolated(BaseException):
    """Raised where a call of a Python function must run in its caller. With `is_lasting`, all its calls must: it
    changes state outside of itself, or returns an object that is not a value.

    It derives from BaseException, so that `except Exception` in user code does not catch it.
    """

    def __init__(self, *, is_lasting: bool) -> None:
        super().__init__()
        self.is_lasting = is_lasting


def record_lasting_effect(effect: str) -> None:
    """Announce an effect that cannot be undone, in words, to the active journal, if there is one."""
    journal = active_journal()
    if journal is None:
        return
    if journal.is_call:
        raise NotIsolated(is_lasting=True)
    journal.lasting_effect = effect


@contextmanager
def open_journal(levels: int = 1, *, is_call: bool = False) -> Iterator[Journal]:
    """A new journal for the code in the `with` block; the caller undoes its changes, or commits them. `levels` is 0 for
    code that may not be staged; `is_call` is for a call that may be traced in its caller instead."""
    outer = active_journal()
    is_part_of_call = levels == 0 and outer is not None and outer.is_call
    region = current_region()
    function = None if region is None else region.specialization
    journal = Journal(depth=staging_depth() + levels, is_call=is_call or is_part_of_call, function=function)
    token = _JOURNAL.set(journal)
    try:
        yield journal
    except RetraceRequest:
        journal.restore()
        raise
    finally:
        _JOURNAL.reset(token)


def commit(journal: Journal) -> None:
    """Keep the changes of a journal, which is closed: they are changes of the journal around it, too."""
    outer = active_journal()
    if outer is None:
        return
    for key, (place, content) in journal.originals.items():
        if id(_owner(place)) not in outer.created_objects:
            outer.originals.setdefault(key, (place, content))
    outer.created_objects.update(journal.created_objects)
    outer.lasting_effect = outer.lasting_effect or journal.lasting_effect


def record_write(place: Place) -> None:
    """Announce a write to a place to the active journal, if there is one."""
    journal = active_journal()
    if journal is not None and id(_owner(place)) not in journal.created_objects:
        journal.record(place)


def _owner(place: Place) -> Any:
    """The object that a place is a part of, or the cell of a variable; None for a global variable."""
    attributes = ("instance", "container", "cell", "array")
    return next((getattr(place, name) for name in attributes if hasattr(place, name)), None)


def register_created(instance: Any) -> Any:
    """Note that the code under trace has just created an object; returns it."""
    journal = active_journal()
    if journal is not None:
        journal.created_objects[id(instance)] = instance
    if type(instance) is list:
        current_aliases().created_lists[id(instance)] = instance
    elif has_attributes(instance):
        current_aliases().created_instances[id(instance)] = instance
    return instance


def register_containers(value: Any) -> Any:
    """Note that the code under trace has just created the lists, dicts, sets and records in a value; returns it."""
    pending = [value]
    for part in pending:  # a worklist: the loop appends to it
        if is_record(part):
            register_created(part)
            pending += attributes_of(part).values()
        if type(part) in (list, *DICT_CLASSES, TracedSet):
            register_created(part)
        if type(part) in (list, tuple, *DICT_CLASSES):
            pending += part.values() if type(part) in DICT_CLASSES else part
    return value


class Variables:
    """The local variables that a branch or loop assigns, by the cells of a function that closes over them, and which of
    them are read afterwards."""

    def __init__(self, closure: Callable[[], Any], live_names: Sequence[str]) -> None:
        cells = closure.__closure__ or ()
        names = closure.__code__.co_freevars
        self.places = {name: CellPlace(cell, name) for name, cell in zip(names, cells, strict=True)}
        self.live = {name: self.places[name] for name in live_names}

    def read(self) -> dict[str, Any]:
        """The current content of each."""
        return {name: place.read() for name, place in self.places.items()}

    def write(self, contents: dict[str, Any]) -> None:
        """Give each its content."""
        for name, content in contents.items():
            self.places[name].write(content)
