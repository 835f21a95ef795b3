"""Functions under trace: every one is traced once for each list of forms, and what it returns is inferred.

Owns the functions of the program being made, and what is known of their results: nothing at first, then what the
branches that do not need to know it return, then the narrowest type that admits whatever came. A function is traced
again when it used what has changed since, until nothing does. Types only widen, and once a number is settled its type
stands, so that this ends. What does not fit in a trace gives no type there, and is an error if it still stands in the
end: what a function returns depends on the function and on those that it calls, and not on who calls it or which was
traced first.


Tracing: running a Python function on symbolic values, and writing down what it does as a program.

Owns the regions under trace, their names and values. It refuses to know what users call, `api` and `symbol` put the
words of the language on top, and how functions call each other, which is for `inference`.


What is known of a function's results while functions are traced: how they nest, their types, and which are Python
numbers so far.

Owns how one trace's finding is joined with another's: types only widen.


Writing: functions that have been traced, as a program.

Owns the names that functions and callbacks have in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from ...dtypes import DType, promote
from ...errors import Invalid, TagloomError, Usage
from ...ops.effect_op import row_of
from ...ops.op import Attributes
from ...program.program import STRUCTURED, Function, Location, Node, Operand, Program, Region, Var
from ...types import Type
from ...value import Literal, literal
from .annotation import Source
from .captures import Held, Resource, constant, in_order
from .pytree import Form, Structure, compared, fixed, flatten, leaf_names, settled, unflatten
from .source_location import called_here, definition, here, traced_here

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


Weak = tuple[int | float | None, ...]
"""For each leaf a number of its kind, where it is a Python number so far."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a function's results. A weak one is a Python number so far, and takes any dtype that fits."""

    form: Form
    weak: Weak
    lines: tuple[Location | None, ...] = field(compare=False)
    captured: tuple[Resource, ...] = ()
    """What it uses beside its arguments, and takes as further parameters."""
    assigned: tuple[Resource, ...] = ()
    """The variables that it assigns, and gives as further results."""

    @property
    def results(self) -> tuple[Type, ...]:
        """The types of all results."""
        return (*self.form.types, *(variable.type for variable in self.assigned))

    @property
    def structure(self) -> Structure:
        """How the results nest, and what follows them."""
        names = Names()
        return replace(self.form.structure, behind=tuple(names.fresh(variable.name) for variable in self.assigned))

    @classmethod
    def firmly(cls, form: Form) -> Known:
        return cls(form, (None,) * len(form.types), (None,) * len(form.types))


def joined(name: str, known: Known | None, found: Known) -> Known:
    """What is known, and what another trace found; raises Invalid where no type admits both."""
    if known is None:
        return found
    types = []
    for k, (one, other) in enumerate(zip(known.form.types, found.form.types, strict=True)):
        type_ = _widened(one, other) if known.weak[k] is None else _numbers(known, found, k)
        if type_ is None:
            raise Invalid(
                f"{name} returns two types",
                required=at(one, known.lines[k]),
                got=at(other, found.lines[k]),
                hint="convert one with tl.astype, or annotate the result",
            )
        types.append(type_)
    weak = tuple(one and other and one * other for one, other in zip(known.weak, found.weak, strict=True))
    return Known(Form(known.form.structure, tuple(types)), weak, found.lines)


def _widened(one: Type, other: Type) -> Type | None:
    """The type of a result that was traced again: of a wider dtype now, if what it met was a number before."""
    wider = promote(one.dtype, other.dtype) is other.dtype
    return replace(one, dtype=other.dtype).join(other) if wider else None


def _numbers(known: Known, found: Known, position: int) -> Type:
    """The type of a weak result that was traced again: of an int and a float the float's."""
    before = isinstance(known.weak[position], float) and isinstance(found.weak[position], int)
    return (known if before else found).form.types[position]


def at(what: object, line: Location | None) -> str:
    """A type or structure, and the line that it comes from."""
    return f"{what} ({line})" if line else str(what)


def written(instances: Sequence[Instance], callbacks: dict[str, Callable[..., Any]]) -> Program:
    """The program of these functions, of which the first is the entry, named in this order; so are `callbacks`."""
    names = Names()
    final = {instance.name: names.fresh(instance.source.identifier) for instance in instances}
    final |= {made.name: names.fresh(_plain(made.name)) for instance in instances for made in instance.made}
    functions = []
    for instance in instances:
        assert instance.body is not None and instance.known is not None
        called = {str(place): _callback(function, callbacks) for place, function in enumerate(instance.callbacks)}
        body = _renamed(instance.body, final, called)
        functions.append(Function(final[instance.name], body, instance.known.results, instance.where))
        for made in instance.made:
            body, rule = _renamed(made.body, final, called), final[made.rule] if made.rule else None
            functions.append(replace(made, name=final[made.name], body=body, rule=rule))
    return Program(tuple(functions), functions[0].name)


def _callback(function: Callable[..., Any], callbacks: dict[str, Callable[..., Any]]) -> str:
    """The name of a Python function in the program: its own, or with a number where another one has that."""
    wanted, count = getattr(function, "__name__", "callback"), 0
    wanted = name = wanted if wanted.isidentifier() else "callback"
    while callbacks.setdefault(name, function) is not function:
        count += 1
        name = f"{wanted}_{count}"
    return name


def _renamed(region: Region, names: dict[str, str], called: dict[str, str]) -> Region:
    """A region whose calls name functions, and whose callbacks Python functions, as they are finally called."""
    nodes = []
    for node in region.nodes:
        if node.op == "call":
            node = replace(node, attributes=(("function", names[node.attribute("function")]),))
        elif node.op == "callback":
            (_, place), *more = node.attributes
            node = replace(node, attributes=(("function", called[place]), *more))
        elif node.regions:
            node = replace(node, regions=tuple(_renamed(inner, names, called) for inner in node.regions))
        nodes.append(node)
    return replace(region, nodes=tuple(nodes))


def _plain(name: str) -> str:
    """A name without the number that made it another one while functions were traced."""
    return name.rstrip("0123456789").rstrip("_")


MOST_FUNCTIONS = 1000
"""How many functions tracing finds in one program before it takes the program for an endless one."""
CURABLE = ("V4", "V5", "V6", "D3")
"""The rules that a trace may break with what is known so far, and keep when more is known."""
DEEPEST = 12
"""How many functions are traced within another's trace; Python's own stack is not to end first."""


@dataclass(slots=True, eq=False)
class Instance:
    """A function of the program under trace: one Python function on one list of forms.

    `used` is what its latest trace took for known of each function that it calls.
    """

    trace: Trace
    name: str
    source: Source
    forms: tuple[Form, ...]
    weak: Weak
    """Which leaves of the arguments are weak; such a function is there only while more is found out."""
    known: Known | None
    used: dict[Instance, Known | None] | None = None
    earlier: tuple[Instance, ...] = ()
    """What the trace before the latest one called."""
    body: Region | None = None
    error: TagloomError | None = None
    """What did not fit in its latest trace."""
    forgotten: bool = False
    settled: bool = False
    """Whether its results were numbers that nothing wanted otherwise; their types stand, so that this ends."""
    callbacks: list[Callable[..., Any]] = field(default_factory=list)
    """The Python functions that its latest trace calls; in the body they are named by their place here."""
    made: list[Function] = field(default_factory=list)
    """The functions that its latest trace made beside it, for custom gradients."""
    region: RegionTrace | None = None
    """That of its latest trace."""
    regions: list[RegionTrace] = field(default_factory=list)
    """All of its latest trace."""
    captured: dict[Resource, Value] = field(default_factory=dict)
    """The parameters by which its latest trace has what it uses beside its arguments."""

    @property
    def where(self) -> Location:
        return definition(self.source.python.__code__)

    @property
    def stale(self) -> bool:
        """Whether it is to be traced, or traced again."""
        used = self.used
        return used is None or self.forgotten or any(callee.known != known for callee, known in used.items())

    @property
    def is_number(self) -> bool:
        """Whether a result is a Python number so far, and not because an argument is."""
        return self.known is not None and any(self.known.weak) and not any(self.weak)

    def keep(self, error: TagloomError) -> None:
        """Keep an error that may not stand when more is known; raise any other."""
        if error.rule not in CURABLE:
            raise error
        self.error = self.error or error

    def given(self, resource: Resource, region: RegionTrace) -> Value:
        """The parameter by which a resource comes into the function, of which this is the outermost region."""
        if resource not in self.captured:
            name = region.names.fresh(resource.name)
            self.captured[resource] = Value(region, name, resource.type, self.where)
        return self.captured[resource]

    def forget_trace(self) -> None:
        """Let go of its latest trace, when it is traced again, and when the program is made."""
        for region in self.regions:
            region.forget()
        self.regions = []
        self.used, self.earlier, self.error, self.region, self.captured = None, (), None, None, {}

    def forget(self) -> None:
        """Let it be found out again what it returns, where that came of a number whose type is another now."""
        self.forgotten = True
        if self.source.results is None and not self.settled and self.known is not None and None in self.known.weak:
            self.known = None


class Trace:
    """A program being made."""

    def __init__(self, wrap: Callable[[Value], object], *, may_create: bool = True) -> None:
        """`wrap` makes symbols of values; `may_create` says whether variables may be made meanwhile."""
        self.wrap = wrap
        self.may_create = may_create
        self.variables: list[Resource] = []
        """Those that were made."""
        self.names = Names()
        self.callbacks: dict[str, Callable[..., Any]] = {}
        """The Python functions that the program calls, by the names that they have in it, when it is made."""
        self.symbols: dict[tuple[Instance, str, Type], Resource] = {}
        """The symbolic values that functions close over."""
        self.made: dict[int, Any] = {}
        """The concrete arrays that were made meanwhile, by identity: they are literals."""
        self.arrays: dict[int, Resource] = {}
        """The concrete arrays that functions close over, by identity."""
        self.instances: dict[tuple[Source, tuple[Form, ...], Weak], Instance] = {}
        self.nested = 0

    def program(self, source: Source, forms: tuple[Form, ...]) -> tuple[Program, Known]:
        """The program that calls this function, and what is known of that: results, and resources.

        Raises Invalid, Usage and whatever the user's Python does, where it cannot be traced.
        """
        try:
            return self._program(self.instance(source, forms, (), None))
        finally:
            self._end()

    def _program(self, entry: Instance) -> tuple[Program, Known]:
        self.settle(entry)
        functions = reached(entry)
        for instance in functions:
            if instance.error is not None:
                raise instance.error
        endless = [one for one in functions if one.known is None and one in reached(*(one.used or ()))]
        if endless:
            name = endless[0].source.name
            raise Invalid(
                f"{name} never returns: no branch gives its result a type",
                where=endless[0].where,
                hint=f"let a branch of tl.cond return without calling {name}",
            )
        assert entry.known is not None
        return written(functions, self.callbacks), entry.known

    def _end(self) -> None:
        """Let go of what refers to one another, so that nothing of a trace waits for a collection of garbage. Symbolic
        values that somebody kept are of no region that is open any more."""
        for instance in self.instances.values():
            instance.forget_trace()
        self.instances, self.symbols = {}, {}

    def is_open(self, value: Value) -> bool:
        """Whether a symbolic value is of the latest trace of a function here, so that another may close over it."""
        return value.region.instance.trace is self and value.region.outermost is value.region.instance.region

    def around(self, value: Value) -> Resource:
        """A symbolic value of a function around, as a resource."""
        made_by = value.region.instance
        made = Resource(value.name, value.type, value, made_by=made_by)
        found = self.symbols.setdefault((made_by, value.name, value.type), made)
        found.held = value
        return found

    def closed_over(self, array: Any) -> Resource | None:
        """The resource of a concrete array that was there before; None for one that was made in this trace."""
        if id(array) in self.made:
            return None
        if id(array) not in self.arrays:
            self.arrays[id(array)] = constant(array, called_here)
        return self.arrays[id(array)]

    def created(self, variable: Resource) -> None:
        """Take down that a variable is made; raises Usage where none may be made any more."""
        if not self.may_create:
            raise Usage(
                f"variable {variable.name} is made anew whenever this function is traced",
                where=here(),
                required="variables that are there before, or are made in its first trace only",
                hint="make it outside; or keep it, as in: if self.w is None: self.w = tl.Variable(...)",
            )
        self.variables.append(variable)

    def make(self, array: Any) -> None:
        """Take down that a concrete array is made in this trace, and is a literal of it."""
        self.made[id(array)] = array

    def settle(self, entry: Instance) -> None:
        """Trace until every function was traced with what is known. A number that nothing wants otherwise is then a
        number of its own type: first in those functions that wait for no other's."""
        while True:
            functions = reached(entry)
            stale = [instance for instance in functions if instance.stale]
            for instance in stale:
                if instance.stale and instance in reached(entry):  # by now its caller may have made another
                    self.run(instance)
            if stale:
                continue
            called = {one: reached(one) for one in functions if one.is_number}
            if not called:
                return
            settled = [one for one in called if all(one in called.get(other, (one,)) for other in called[one])]
            for instance in settled:
                assert instance.known is not None
                instance.known = replace(instance.known, weak=Known.firmly(instance.known.form).weak)
                instance.settled = True
            for instance in functions:
                if instance not in settled and any(one in settled for one in reached(instance)):
                    instance.forget()

    def instance(self, source: Source, forms: tuple[Form, ...], weak: Weak, caller: Instance | None) -> Instance:
        key = (source, forms, weak)
        if key not in self.instances:
            if len(self.instances) >= MOST_FUNCTIONS:
                raise Invalid(
                    f"this program has more than {MOST_FUNCTIONS:,} functions",
                    where=definition(source.python.__code__),
                    hint="a new tl.function seems to be made at every call; define it once, outside",
                )
            known = Known.firmly(source.results) if source.results else _remembered(source, forms, weak, caller)
            self.instances[key] = Instance(self, self.names.fresh(source.identifier), source, forms, weak, known)
        return self.instances[key]

    def called(self, source: Source, forms: tuple[Form, ...], weak: Weak, caller: Instance) -> tuple[Instance, Known]:
        """The function for these forms, and what is known of it; raises NoTypeYet where that is nothing."""
        callee = self.instance(source, forms, weak, caller)
        if callee.known is None and callee.used is None and self.nested < DEEPEST:
            self.nested += 1
            try:
                self.run(callee)
            finally:
                self.nested -= 1
        assert caller.used is not None
        caller.used.setdefault(callee, callee.known)
        if callee.known is None:
            raise NoTypeYet
        return callee, callee.known

    def run(self, instance: Instance) -> None:
        """Trace the body of a function, on symbolic parameters."""
        earlier = tuple(instance.used or ())
        instance.forget_trace()
        instance.earlier, instance.used = earlier, {}
        instance.forgotten, instance.callbacks, instance.made = False, [], []
        region = RegionTrace(instance, Names())
        weak = iter(instance.weak)
        for (name, _), form in zip(instance.source.arguments, instance.forms, strict=True):
            for inner, type_ in zip(leaf_names(form.structure, name), form.types, strict=True):
                region.parameter(inner, type_, instance.where, next(weak, None))
        symbols = map(self.wrap, region.parameters)
        instance.region = region
        try:
            with entered(region):
                arguments = [unflatten(f.structure, [next(symbols) for _ in f.types]) for f in instance.forms]
                returned = settled(instance.source.python(*arguments))
        except NoTypeYet:
            return
        except TagloomError as error:
            instance.keep(instance.error or error)
            return
        except Exception:
            if instance.error is None:
                raise
            return  # what goes wrong after an error may come of it
        try:
            found, results = _returned(instance, returned, is_alone=not region.store)
            assigned = region.assigned()
            operands = [region.operand(result) for result in (*results, *map(region.held, assigned))]
        except TagloomError as error:
            error.where = instance.where  # no line of the body is running any more
            instance.error = instance.error or error
            return
        captured = in_order(instance.captured)
        instance.known = replace(found, captured=captured, assigned=assigned)
        instance.body = region.close([*region.parameters, *(instance.captured[each] for each in captured)], operands)


def reached(*entries: Instance) -> list[Instance]:
    """These functions and those that they call, as known by now: in the order of their first calls."""
    order = dict.fromkeys(entries)
    found = list(order)
    for instance in found:  # grows while it is walked
        for callee in instance.used or ():
            if callee not in order:
                order[callee] = None
                found.append(callee)
    return found


def _remembered(source: Source, forms: tuple[Form, ...], weak: Weak, caller: Instance | None) -> Known | None:
    """A function that is made anew whenever its caller is traced begins with what was known of the one before it: the
    one that was called as the same among all that the same line of Python makes."""

    def alike(callee: Instance) -> bool:
        same = callee.source.python.__code__ is source.python.__code__
        return same and (callee.forms, callee.weak) == (forms, weak)

    if caller is None:
        return None
    before = [callee for callee in caller.earlier if alike(callee)]
    position = sum(map(alike, caller.used or ()))
    return before[position].known if position < len(before) else None


def _returned(instance: Instance, returned: Any, *, is_alone: bool) -> tuple[Known, list[Value | Literal]]:
    """What is known of a function now that it returned this, and its results as operands; `is_alone` says that it
    assigns no variables."""
    name, known, annotated = instance.source.name, instance.known, instance.source.results is not None
    leaves, structure = ([], fixed(None)) if returned is None else flatten(returned)
    if not leaves and is_alone:
        raise Invalid(f"{name} returns nothing", required="a value, or a tuple of values")
    if known is not None and known.form.structure != structure:
        said = f"{name} returns another structure than {'it says' if annotated else 'before'}"
        required, got = compared(known.form.structure, structure)
        raise Invalid(said, required=required, got=got)
    leaves = [number_of(leaf) for leaf in leaves]
    if annotated and known is not None:
        return known, [_as_said(instance, leaf, type_) for leaf, type_ in zip(leaves, known.form.types, strict=True)]
    operands = [_operand(leaf, known, position) for position, leaf in enumerate(leaves)]
    types = tuple(operand.type for operand in operands)
    lines = tuple(operand.location if isinstance(operand, Value) else instance.where for operand in operands)
    found = Known(Form(structure, types), tuple(map(weak_number, leaves)), lines)
    return joined(name, known, found), operands


def _as_said(instance: Instance, leaf: object, type_: Type) -> Value | Literal:
    """A result, where the function is annotated."""
    operand = to_operand(leaf, type_)
    if not type_.admits(operand.type):
        got = at(operand.type, operand.location if isinstance(operand, Value) else None)
        raise Invalid(f"{instance.source.name} returns another type than it says", required=type_, got=got)
    return operand


def _operand(leaf: object, known: Known | None, position: int) -> Value | Literal:
    """A result of a function that is not annotated: a Python number takes the type that is known firmly."""
    if known is None or known.weak[position] is not None or weak_number(leaf) is None:
        return to_operand(leaf)
    type_ = known.form.types[position]
    return to_operand(leaf, type_ if type_.is_scalar and type_.dtype.kind != "b" else None)
