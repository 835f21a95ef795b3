"""Functions under trace: every one is traced once for each list of forms, and what it returns is inferred.

Owns the functions of the program being made, and what is known of their results: nothing at first, then what the
branches that do not need to know it return, then the narrowest type that admits whatever came. A function is traced
again when it used what has changed since, until nothing does. Types only widen, and once a number is settled its type
stands, so that this ends. What does not fit in a trace gives no type there, and is an error if it still stands in the
end: what a function returns depends on the function and on those that it calls, and not on who calls it or which was
traced first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import Invalid, TagloomError, Usage
from ..program import Function, Location, Program, Region
from ..types import Type
from ..value import Literal
from .annotation import Source
from .known import Known, Weak, at, joined
from .resource import Resource, constant, in_order
from .source import called_here, definition, here
from .structure import Form, compared, fixed, flatten, leaf_names, settled, unflatten
from .tracing import Names, NoTypeYet, RegionTrace, Value, entered, number_of, to_operand, weak_number
from .written import written

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
