"""Tracing: running a Python function on symbolic values, and writing down what it does as a program.

Owns the regions under trace, their names and values. It refuses to know what users call, `api` and `symbol` put the
words of the language on top, and how functions call each other, which is for `inference`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..act import row_of
from ..dtypes import DType
from ..errors import Invalid, Usage
from ..op import Attributes
from ..program import STRUCTURED, Location, Node, Operand, Region, Var
from ..types import Type
from ..value import Literal, literal
from .resource import Held, Resource, in_order
from .source import here, traced_here

if TYPE_CHECKING:
    from .inference import Instance

_RESERVED = {"true", "false", "nan", "inf"}


@dataclass(slots=True, eq=False)
class Value:
    """A symbolic value: a name in a region of the trace under way, its type, and the line that made it.

    `weak` is there where all that is known yet of the result of a function is that it is a Python number, which takes
    the dtype of what it meets: a number of that kind. See `inference`.
    """

    region: RegionTrace
    name: str
    type: Type
    location: Location | None = None
    weak: int | float | None = None


class NoTypeYet(BaseException):
    """This path gives no type yet: it calls a function that is being traced, and of whose result nothing is known.

    It is not for users, whose `except Exception` must not stop it.
    """


class Names:
    """Hands out names that are unique in a function, or functions that are unique in a program."""

    def __init__(self) -> None:
        self.taken: set[str] = set(_RESERVED)
        self.last: dict[str, int] = {}
        """The last number that a wanted name got; those below it are taken."""

    def fresh(self, wanted: str) -> str:
        name, count = wanted, self.last.get(wanted, 0)
        while name in self.taken:
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name)
        self.last[wanted] = count
        return name

    def copied(self) -> Names:
        """The names as they are now."""
        made = Names()
        made.taken, made.last = set(self.taken), dict(self.last)
        return made

    def several(self, first: str, count: int) -> list[str]:
        """The names of a node's results, of which the first is taken already."""
        return [first, *(self.fresh(f"{first}_{k}") for k in range(1, count))][:count]


@dataclass(slots=True, eq=False)
class RegionTrace:
    """A region being traced. A value of an enclosing region that is used here becomes a parameter."""

    instance: Instance
    """The function of the program that it is part of."""
    names: Names
    parent: RegionTrace | None = None
    parameters: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    captured: dict[Value, Value] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    """The symbolic values that are made in it, by name."""
    store: dict[Resource, Value | Literal] = field(default_factory=dict)
    """What variables hold by now that this region assigns."""

    def __post_init__(self) -> None:
        self.instance.regions.append(self)

    def forget(self) -> None:
        """Let go of its values, which know it, when nobody asks for them any more."""
        self.parameters, self.captured, self.values, self.store = [], {}, {}, {}

    def parameter(self, name: str, type_: Type, line: Location | None, weak: int | float | None = None) -> Value:
        value = Value(self, self.names.fresh(name), type_, line, weak)
        self.values[value.name] = value
        self.parameters.append(value)
        return value

    def operand(self, value: Value | Literal) -> Operand:
        return value if isinstance(value, Literal) else self.local(value).name

    def local(self, value: Value) -> Value:
        """The value as this region sees it: its own, or captured from a region around it."""
        if value.region is self:
            return value
        if value.region.instance is not self.instance and self.instance.trace.is_open(value):
            return self.local(self.instance.given(self.instance.trace.around(value), self.outermost))
        if value not in self.captured:
            if not any(region is value.region for region in self.around()):
                raise Invalid(
                    "a symbolic value is used outside the function, branch or loop that made it",
                    rule="F2",
                    where=here(),
                    got=f"{value.name} ({value.location})" if value.location else value.name,
                    hint="return it from there; values leave a region only as its results",
                )
            self.captured[value] = Value(self, value.name, value.type, value.location, value.weak)
        return self.captured[value]

    def held(self, resource: Resource) -> Value | Literal:
        """What a resource holds here, by now. What the function has not assigned comes as a parameter of it."""
        for region in (self, *self.around()):
            if resource in region.store:
                return region.store[resource]
        if resource.made_by is not self.instance:
            return self.instance.given(resource, region)
        known = [region.values[resource.name] for region in (self, *self.around()) if resource.name in region.values]
        latest: Value = resource.held
        if not known and latest.region.outermost is not self.outermost:
            raise NoTypeYet  # it was made where the function was traced before, with less known
        return known[0] if known else latest

    def has_used(self, resource: Resource) -> bool:
        """Whether the function has had what a resource holds before, so that somebody may have it by now."""
        regions = self, *self.around()
        return resource in self.instance.captured or any(resource in region.store for region in regions)

    @property
    def outermost(self) -> RegionTrace:
        """The region of the function itself."""
        return (self, *self.around())[-1]

    def around(self) -> Iterator[RegionTrace]:
        region = self.parent
        while region is not None:
            yield region
            region = region.parent

    def node(
        self,
        op: str,
        inputs: Sequence[Operand],
        types: Sequence[Type],
        names: Sequence[str],
        regions: tuple[Region, ...] = (),
        attributes: Attributes = (),
    ) -> list[Value]:
        """Append a node whose results have these names, fresh ones; its results."""
        line = traced_here()
        results = [Value(self, name, type_, line) for name, type_ in zip(names, types, strict=True)]
        self.values.update((result.name, result) for result in results)
        variables = tuple(Var(result.name, result.type) for result in results)
        self.nodes.append(Node(op, tuple(inputs), variables, regions, attributes, line))
        return results

    def mark(self) -> tuple[int, int, Names]:
        """Where tracing stands in this function, for `back_to`: regions inside of this one are to be traced again."""
        return len(self.instance.callbacks), len(self.instance.made), self.names.copied()

    def back_to(self, mark: tuple[int, int, Names]) -> None:
        """Forget what regions inside of this one left in the function since then."""
        callbacks, made, names = mark
        del self.instance.callbacks[callbacks:], self.instance.made[made:]
        kept = {value.name for value in self.instance.captured.values()}
        self.names.taken, self.names.last = names.taken | kept, dict(names.last)

    def assigned(self) -> tuple[Resource, ...]:
        """The variables that are assigned in it."""
        return in_order(self.store)

    def close(self, parameters: Sequence[Value], results: Sequence[Operand]) -> Region:
        variables = tuple(Var(value.name, value.type) for value in parameters)
        return Region(variables, tuple(self.nodes), tuple(results))


_CURRENT: ContextVar[RegionTrace | None] = ContextVar("region", default=None)
current: Callable[[], RegionTrace | None] = _CURRENT.get
"""The region being traced, if any."""


@contextmanager
def entered(region: RegionTrace) -> Iterator[RegionTrace]:
    """Trace into this region."""
    token = _CURRENT.set(region)
    try:
        yield region
    finally:
        _CURRENT.reset(token)


_LEFT: ContextVar[RegionTrace | None] = ContextVar("left", default=None)


@contextmanager
def outside() -> Iterator[None]:
    """Be outside of all traces: what is called runs eagerly."""
    tokens = _LEFT.set(_CURRENT.get() or _LEFT.get()), _CURRENT.set(None)
    try:
        yield
    finally:
        _LEFT.reset(tokens[0])
        _CURRENT.reset(tokens[1])


def left() -> RegionTrace | None:
    """The region under trace that has been left for a while, if any."""
    return _LEFT.get()


def weakness(value: object) -> int | float | None:
    """For a weak value, the Python number that it stands for; None for anything else."""
    symbolic = getattr(value, "_tagloom_value", None)
    return symbolic.weak if isinstance(symbolic, Value) else None


def number_of(value: object) -> object:
    """The Python number that a weak value stands for; any other value as it is."""
    number = weakness(value)
    return value if number is None else number


def weak_number(value: object) -> int | float | None:
    """For a Python number, one of its kind: it takes the dtype of what it meets; None for anything else."""
    return type(value)(1) if isinstance(value, int | float) and type(value) in (int, float) else None


def to_operand(value: object, wanted: Type | None = None) -> Value | Literal:
    """A symbolic value, or a literal of the wanted type; raises Usage, with the user's line, for anything else."""
    if isinstance(value, Held) and (present := current()) is not None:
        return present.held(value._resource)
    symbolic = getattr(value, "_tagloom_value", None)
    if isinstance(symbolic, Value):
        return symbolic
    known = getattr(value, "_tagloom_literal", None)
    if isinstance(known, Literal) and (wanted is None or wanted.admits(known.type)):
        region = current()
        closed_over = None if region is None else region.instance.trace.closed_over(value)
        return known if region is None or closed_over is None else region.held(closed_over)
    if isinstance(value, tuple | list) and any(hasattr(item, "_tagloom_value") for item in value):
        raise Invalid(
            f"a {type(value).__name__} of symbolic values is no value",
            rule="F1",
            where=here(),
            got=value,
            hint="tl.stack([...]) makes an array of them; functions, branches and loops take tuples and dicts",
        )
    try:
        return literal(value, wanted)
    except Usage as error:
        error.where = here()
        raise


def apply(region: RegionTrace, op: str, operands: Sequence[Value | Literal], attributes: Attributes = ()) -> Value:
    """Add a node of an ordinary op; raises Invalid, with the user's line, where the types do not fit."""
    assert op not in STRUCTURED
    row = row_of(op)
    try:
        result = row.types(*(operand.type for operand in operands), **dict(attributes))
    except Invalid as error:
        error.rule, error.where, error.message = "V4", here(), f"{op}: {error.message}"
        raise
    inputs = [region.operand(operand) for operand in operands]
    return region.node(op, inputs, [result], [region.names.fresh(op)], attributes=attributes)[0]


def weakly(value: object, wanted: DType | None) -> Value | Literal:
    """An operand; where it is Python's own number it takes the wanted dtype, if it may: an int any number's, a float
    any float's."""
    weak = wanted is not None and (
        (type(value) is int and wanted.kind != "b") or (type(value) is float and wanted.kind == "f")
    )
    return to_operand(value, Type(wanted)) if weak and wanted else to_operand(value)
