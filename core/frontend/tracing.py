"""Tracing: running a Python function on symbolic values, and writing down what it does as a program.

Owns the trace under way: its regions, names and functions. It refuses to know what users call: `api` and
`symbol` put the words of the language on top.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, get_args, get_origin

from ..errors import Invalid, TagloomError, Usage, counted
from ..op import Attributes, lookup
from ..program import STRUCTURED, Function, Node, Operand, Program, Region, Var
from ..types import Type, as_type
from ..value import Literal, literal
from .source import definition, here

_RESERVED = {"true", "false", "nan", "inf", "func", "graph", "site"}


@dataclass(slots=True, eq=False)
class Value:
    """A symbolic value: a name in a region of the trace under way, and its type."""

    region: RegionTrace
    name: str
    type: Type


MOST_FUNCTIONS = 1000
"""How many functions tracing finds in one program before it takes the program for an endless one."""


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

    def several(self, first: str, count: int) -> list[str]:
        """The names of a node's results, of which the first is taken already."""
        return [first, *(self.fresh(f"{first}_{k}") for k in range(1, count))]


@dataclass(slots=True, eq=False)
class RegionTrace:
    """A region being traced. A value of an enclosing region that is used here becomes a parameter."""

    trace: Trace
    function: str
    names: Names
    parent: RegionTrace | None = None
    parameters: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    captured: dict[Value, Value] = field(default_factory=dict)

    def parameter(self, name: str, type_: Type) -> Value:
        value = Value(self, self.names.fresh(name), type_)
        self.parameters.append(value)
        return value

    def operand(self, value: Value | Literal) -> Operand:
        return value if isinstance(value, Literal) else self.local(value).name

    def local(self, value: Value) -> Value:
        """The value as this region sees it: its own, or captured from a region around it."""
        if value.region is self:
            return value
        if value not in self.captured:
            if not any(region is value.region for region in self.around()):
                raise Invalid(
                    "a symbolic value is used outside the function, branch or loop that made it",
                    rule="F2",
                    where=here(),
                    got=value.name,
                    hint="return it from there; values leave a region only as its results",
                )
            self.captured[value] = Value(self, value.name, value.type)
        return self.captured[value]

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
        results = [Value(self, name, type_) for name, type_ in zip(names, types, strict=True)]
        variables = tuple(Var(result.name, result.type) for result in results)
        self.nodes.append(Node(op, tuple(inputs), variables, regions, attributes, here()))
        return results

    def close(self, parameters: Sequence[Value], results: Sequence[Operand]) -> Region:
        variables = tuple(Var(value.name, value.type) for value in parameters)
        return Region(variables, tuple(self.nodes), tuple(results))


@dataclass(frozen=True, slots=True)
class Source:
    """A Python function to trace: the types of its annotations are None where it has none.

    `single` says whether it returns one value, rather than a tuple; None where only tracing can tell.
    """

    python: Callable[..., Any]
    parameters: tuple[tuple[str, Type | None], ...]
    results: tuple[Type, ...] | None
    single: bool | None

    @property
    def name(self) -> str:
        return self.python.__name__

    def types(self, given: Sequence[Type | None]) -> tuple[Type, ...]:
        """The parameters' types: annotations first, else the given arguments' types."""
        self.check_count(len(given))
        types = []
        for (name, declared), type_ in zip(self.parameters, given, strict=True):
            if declared is None and type_ is None:
                raise Usage(
                    f"parameter {name} of {self.name} has no type",
                    where=definition(self.python.__code__),
                    hint=f"annotate it, as in {name}: tl.int64, or use .trace(...) with example arguments",
                )
            types.append(declared or type_)
        return tuple(type_ for type_ in types if type_ is not None)

    def check_count(self, count: int) -> None:
        if count != len(self.parameters):
            names = ", ".join(f"{name}: {type_ or '?'}" for name, type_ in self.parameters)
            raise Usage(
                f"{self.name} takes {counted(len(self.parameters), 'argument')}",
                where=here(),
                required=f"{self.name}({names})",
                got=f"{count} argument{'s' * (count != 1)}",
            )


def read_source(python: Callable[..., Any]) -> Source:
    """Read a Python function's parameters and annotations; raises Usage where they mean no types."""
    where = definition(python.__code__)
    try:
        signature = inspect.signature(python, eval_str=True)
    except (NameError, SyntaxError, TypeError, AttributeError) as error:
        raise Usage(f"the annotations of {python.__name__} cannot be read", where=where, got=error) from None
    parameters = []
    for parameter in signature.parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise Usage("a program's parameters are positional", where=where, got=str(parameter))
        if parameter.default is not parameter.empty:
            raise Usage("a program's parameters have no defaults", where=where, got=str(parameter))
        parameters.append((parameter.name, _annotated(parameter.annotation, where)))
    returns = signature.return_annotation
    if returns is signature.empty:
        return Source(python, tuple(parameters), None, None)
    if get_origin(returns) is tuple or isinstance(returns, tuple):
        several = returns if isinstance(returns, tuple) else get_args(returns)
        return Source(python, tuple(parameters), tuple(_required(item, where) for item in several), False)
    return Source(python, tuple(parameters), (_required(returns, where),), True)


def _annotated(annotation: object, where: object) -> Type | None:
    return None if annotation is inspect.Parameter.empty else _required(annotation, where)


def _required(annotation: object, where: object) -> Type:
    try:
        return as_type(annotation)
    except Usage as error:
        error.where = where
        raise


@dataclass(slots=True, eq=False)
class _Instance:
    """A function of the program under trace: one Python function on one list of types."""

    name: str
    source: Source
    types: tuple[Type, ...]
    results: tuple[Type, ...] | None
    single: bool
    traced: Function | None = None


class Trace:
    """A program being made."""

    def __init__(self, wrap: Callable[[Value], object]) -> None:
        self.wrap = wrap
        self.names = Names()
        self.instances: dict[tuple[Source, tuple[Type, ...]], _Instance] = {}

    def instance(self, source: Source, types: tuple[Type, ...]) -> _Instance:
        key = (source, types)
        if key not in self.instances:
            if len(self.instances) >= MOST_FUNCTIONS:
                raise Invalid(
                    f"this program has more than {MOST_FUNCTIONS:,} functions",
                    where=definition(source.python.__code__),
                    hint="a new tl.function seems to be made at every call; define it once, outside",
                )
            name = self.names.fresh(source.name if source.name.isidentifier() else "function")
            self.instances[key] = _Instance(name, source, types, source.results, source.single is not False)
            if source.results is None:
                self.run(self.instances[key])
        found = self.instances[key]
        if found.results is None:
            raise Invalid(
                f"{source.name} calls itself, so its result needs a type",
                where=definition(source.python.__code__),
                hint=f"annotate it: def {source.name}(...) -> tl.int64",
            )
        return found

    def program(self, source: Source, types: tuple[Type, ...]) -> tuple[Program, bool]:
        """The program that calls this function, and whether it has one result rather than a tuple."""
        entry = self.instance(source, types)
        while pending := [instance for instance in self.instances.values() if instance.traced is None]:
            for instance in pending:
                self.run(instance)
        functions = tuple(instance.traced for instance in self.instances.values() if instance.traced)
        return Program(functions, entry.name), entry.single

    def run(self, instance: _Instance) -> None:
        """Trace the body of a function, on symbolic parameters."""
        source, where = instance.source, definition(instance.source.python.__code__)
        region = RegionTrace(self, instance.name, Names())
        parameters = [
            region.parameter(name, type_) for (name, _), type_ in zip(source.parameters, instance.types, strict=True)
        ]
        with entered(region):
            returned = source.python(*map(self.wrap, parameters))
        try:
            results = [region.operand(value) for value in _returned(instance, returned)]
        except TagloomError as error:
            error.where = where  # no line of the body is running any more
            raise
        assert instance.results is not None
        instance.traced = Function(instance.name, region.close(parameters, results), instance.results, where)


def _returned(instance: _Instance, returned: Any) -> list[Value | Literal]:
    """What a function returned, as it says that it does; an instance that does not say learns it here."""
    name, single = instance.source.name, not isinstance(returned, tuple)
    values = (returned,) if single else returned
    if returned is None or not values:
        raise Invalid(f"{name} returns nothing", required="a value, or a tuple of values")
    wanted = instance.results or (None,) * len(values)
    if len(wanted) != len(values) or instance.source.single not in (None, single):
        raise Invalid(
            f"{name} returns another number of values than it says",
            required=_number(len(wanted), instance.single),
            got=_number(len(values), single),
        )
    checked = [to_operand(value, type_) for value, type_ in zip(values, wanted, strict=True)]
    for value, type_ in zip(checked, wanted, strict=True):
        if type_ is not None and not type_.admits(value.type):
            raise Invalid(f"{name} returns another type than it says", required=type_, got=value.type)
    instance.single = single
    instance.results = tuple(type_ or value.type for value, type_ in zip(checked, wanted, strict=True))
    return checked


def _number(values: int, single: object) -> str:
    return "one value" if single else f"a tuple of {values}"


_CURRENT: ContextVar[RegionTrace | None] = ContextVar("region", default=None)


def current() -> RegionTrace | None:
    """The region being traced, if any."""
    return _CURRENT.get()


@contextmanager
def entered(region: RegionTrace) -> Iterator[RegionTrace]:
    """Trace into this region."""
    token = _CURRENT.set(region)
    try:
        yield region
    finally:
        _CURRENT.reset(token)


def to_operand(value: object, wanted: Type | None = None) -> Value | Literal:
    """A symbolic value, or a literal of the wanted type; raises Usage, with the user's line, for anything else."""
    symbolic = getattr(value, "_tagloom_value", None)
    if isinstance(symbolic, Value):
        return symbolic
    if isinstance(value, tuple | list) and any(hasattr(item, "_tagloom_value") for item in value):
        raise Invalid(
            f"a {type(value).__name__} of symbolic values is no value",
            rule="F1",
            where=here(),
            got=value,
            hint="use its elements one by one; functions, branches and loops return several values as one flat tuple",
        )
    try:
        return literal(value, wanted)
    except Usage as error:
        error.where = here()
        raise


def apply(region: RegionTrace, op: str, operands: Sequence[Value | Literal], attributes: Attributes = ()) -> Value:
    """Add a node of an ordinary op; raises Invalid, with the user's line, where the types do not fit."""
    assert op not in STRUCTURED
    row = lookup(op)
    try:
        result = row.types(*(operand.type for operand in operands), **dict(attributes))
    except Invalid as error:
        error.rule, error.where, error.message = "V4", here(), f"{op}: {error.message}"
        raise
    inputs = [region.operand(operand) for operand in operands]
    return region.node(op, inputs, [result], [region.names.fresh(op)], attributes=attributes)[0]


def call(region: RegionTrace, source: Source, arguments: Sequence[object]) -> tuple[list[Value], bool]:
    """Add a call; its results, and whether they are one value rather than a tuple."""
    source.check_count(len(arguments))
    operands = [
        to_operand(argument, declared) for argument, (_, declared) in zip(arguments, source.parameters, strict=True)
    ]
    for operand, (name, declared) in zip(operands, source.parameters, strict=True):
        if declared is not None and not declared.admits(operand.type):
            raise Invalid(
                f"argument {name} of {source.name} has another type",
                rule="V6",
                where=here(),
                required=declared,
                got=operand.type,
            )
    callee = region.trace.instance(source, source.types([operand.type for operand in operands]))
    assert callee.results is not None
    names = region.names.several(region.names.fresh(callee.name), len(callee.results))
    inputs = [region.operand(operand) for operand in operands]
    results = region.node("call", inputs, callee.results, names, attributes=(("function", callee.name),))
    return results, callee.single
