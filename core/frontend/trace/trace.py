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
from ...ops.effect_op import lookup_row
from ...ops.op import Attributes
from ...program.program import STRUCTURED_OPS, Function, Location, Node, Operand, Program, Region, Var
from ...types import Type
from ...value import Literal, literal
from .annotation import FunctionSpec
from .captures import Resource, VariableBase, constant_resource, sort_resources
from .pytree import (
    TreeDef,
    TreeType,
    describe_difference,
    flatten,
    leaf_names,
    read_variables,
    static_treedef,
    unflatten,
)
from .source_location import definition_location, traced_user_location, user_location, user_name_of

_RESERVED = {"true", "false", "nan", "inf"}


@dataclass(slots=True, eq=False)
class TracedValue:
    """A symbolic value: a name in a region of the trace under way, its type, and the line that made it.

    `weak_value` is there where all that is known yet of the result of a function is that it is a Python number, which
    takes the dtype of what it meets: a number of that kind. See `inference`.
    """

    region: RegionBuilder
    name: str
    type: Type
    location: Location | None = None
    weak_value: int | float | None = None


class NoTypeYet(BaseException):
    """This path gives no type yet: it calls a function that is being traced, and of whose result nothing is known.

    It is not for users, whose `except Exception` must not stop it.
    """


class UniqueNames:
    """Hands out names that are unique in a function, or functions that are unique in a program."""

    def __init__(self) -> None:
        self.used_names: set[str] = set(_RESERVED)
        self.last_numbers: dict[str, int] = {}
        """The last number that a wanted name got; those below it are taken."""

    def fresh(self, base: str) -> str:
        name, count = base, self.last_numbers.get(base, 0)
        while name in self.used_names:
            count += 1
            name = f"{base}_{count}"
        self.used_names.add(name)
        self.last_numbers[base] = count
        return name

    def copy(self) -> UniqueNames:
        """The names as they are now."""
        made = UniqueNames()
        made.used_names, made.last_numbers = set(self.used_names), dict(self.last_numbers)
        return made

    def result_names(self, first: str, count: int) -> list[str]:
        """The names of a node's results, of which the first is taken already."""
        return [first, *(self.fresh(f"{first}_{k}") for k in range(1, count))][:count]


@dataclass(slots=True, eq=False)
class RegionBuilder:
    """A region being traced. A value of an enclosing region that is used here becomes a parameter."""

    specialization: Specialization
    """The function of the program that it is part of."""
    names: UniqueNames
    parent: RegionBuilder | None = None
    parameters: list[TracedValue] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    captures: dict[TracedValue, TracedValue] = field(default_factory=dict)
    values: dict[str, TracedValue] = field(default_factory=dict)
    """The symbolic values that are made in it, by name."""
    store: dict[Resource, TracedValue | Literal] = field(default_factory=dict)
    """What variables hold by now that this region assigns."""

    def __post_init__(self) -> None:
        self.specialization.regions.append(self)

    def release(self) -> None:
        """Let go of its values, which know it, when nobody asks for them any more."""
        self.parameters, self.captures, self.values, self.store = [], {}, {}, {}

    def add_parameter(
        self, name: str, type_: Type, line: Location | None, weak: int | float | None = None
    ) -> TracedValue:
        value = TracedValue(self, self.names.fresh(name), type_, line, weak)
        self.values[value.name] = value
        self.parameters.append(value)
        return value

    def as_operand(self, value: TracedValue | Literal) -> Operand:
        return value if isinstance(value, Literal) else self.localize(value).name

    def localize(self, value: TracedValue) -> TracedValue:
        """The value as this region sees it: its own, or captured from a region around it."""
        if value.region is self:
            return value
        if value.region.specialization is not self.specialization and self.specialization.program_builder.is_open(
            value
        ):
            return self.localize(
                self.specialization.capture(self.specialization.program_builder.capture_value(value), self.outermost)
            )
        if value not in self.captures:
            if not any(region is value.region for region in self.enclosing_regions()):
                raise Invalid(
                    "a symbolic value is used outside the function, branch or loop that made it",
                    rule="F2",
                    where=user_location(),
                    got=f"{value.name} ({value.location})" if value.location else value.name,
                    hint="return it from there; values leave a region only as its results",
                )
            self.captures[value] = TracedValue(self, value.name, value.type, value.location, value.weak_value)
        return self.captures[value]

    def read_resource(self, resource: Resource) -> TracedValue | Literal:
        """What a resource holds here, by now. What the function has not assigned comes as a parameter of it."""
        for region in (self, *self.enclosing_regions()):
            if resource in region.store:
                return region.store[resource]
        if resource.owner is not self.specialization:
            return self.specialization.capture(resource, region)
        known = [
            region.values[resource.name]
            for region in (self, *self.enclosing_regions())
            if resource.name in region.values
        ]
        latest: TracedValue = resource.stored_value
        if not known and latest.region.outermost is not self.outermost:
            raise NoTypeYet  # it was made where the function was traced before, with less known
        return known[0] if known else latest

    def has_used(self, resource: Resource) -> bool:
        """Whether the function has had what a resource holds before, so that somebody may have it by now."""
        regions = self, *self.enclosing_regions()
        return resource in self.specialization.captures or any(resource in region.store for region in regions)

    @property
    def outermost(self) -> RegionBuilder:
        """The region of the function itself."""
        return (self, *self.enclosing_regions())[-1]

    def enclosing_regions(self) -> Iterator[RegionBuilder]:
        region = self.parent
        while region is not None:
            yield region
            region = region.parent

    def emit_node(
        self,
        op: str,
        inputs: Sequence[Operand],
        types: Sequence[Type],
        names: Sequence[str],
        regions: tuple[Region, ...] = (),
        attributes: Attributes = (),
    ) -> list[TracedValue]:
        """Append a node whose results have these names, fresh ones; its results."""
        line = traced_user_location()
        results = [TracedValue(self, name, type_, line) for name, type_ in zip(names, types, strict=True)]
        self.values.update((result.name, result) for result in results)
        variables = tuple(Var(result.name, result.type) for result in results)
        self.nodes.append(Node(op, tuple(inputs), variables, regions, attributes, line))
        return results

    def snapshot(self) -> tuple[int, int, UniqueNames]:
        """Where tracing stands in this function, for `rewind`: regions inside of this one are to be traced again."""
        return len(self.specialization.callbacks), len(self.specialization.auxiliary_functions), self.names.copy()

    def rewind(self, snapshot: tuple[int, int, UniqueNames]) -> None:
        """Forget what regions inside of this one left in the function since then."""
        callbacks, made, names = snapshot
        del self.specialization.callbacks[callbacks:], self.specialization.auxiliary_functions[made:]
        kept = {value.name for value in self.specialization.captures.values()}
        self.names.used_names, self.names.last_numbers = names.used_names | kept, dict(names.last_numbers)

    def assigned_variables(self) -> tuple[Resource, ...]:
        """The variables that are assigned in it."""
        return sort_resources(self.store)

    def close(self, parameters: Sequence[TracedValue], results: Sequence[Operand]) -> Region:
        variables = tuple(Var(value.name, value.type) for value in parameters)
        return Region(variables, tuple(self.nodes), tuple(results))


_CURRENT_REGION: ContextVar[RegionBuilder | None] = ContextVar("region", default=None)
current_region: Callable[[], RegionBuilder | None] = _CURRENT_REGION.get
"""The region being traced, if any."""


@contextmanager
def enter_region(region: RegionBuilder) -> Iterator[RegionBuilder]:
    """Trace into this region."""
    token = _CURRENT_REGION.set(region)
    try:
        yield region
    finally:
        _CURRENT_REGION.reset(token)


_SUSPENDED_REGION: ContextVar[RegionBuilder | None] = ContextVar("left", default=None)


@contextmanager
def suspend_tracing() -> Iterator[None]:
    """Be outside of all traces: what is called runs eagerly."""
    tokens = _SUSPENDED_REGION.set(_CURRENT_REGION.get() or _SUSPENDED_REGION.get()), _CURRENT_REGION.set(None)
    try:
        yield
    finally:
        _SUSPENDED_REGION.reset(tokens[0])
        _CURRENT_REGION.reset(tokens[1])


def suspended_region() -> RegionBuilder | None:
    """The region under trace that has been left for a while, if any."""
    return _SUSPENDED_REGION.get()


def weak_value_of(value: object) -> int | float | None:
    """For a weak value, the Python number that it stands for; None for anything else."""
    symbolic = getattr(value, "_tagloom_value", None)
    return symbolic.weak_value if isinstance(symbolic, TracedValue) else None


def unwrap_weak(value: object) -> object:
    """The Python number that a weak value stands for; any other value as it is."""
    number = weak_value_of(value)
    return value if number is None else number


def weak_number(value: object) -> int | float | None:
    """For a Python number, one of its kind: it takes the dtype of what it meets; None for anything else."""
    return type(value)(1) if isinstance(value, int | float) and type(value) in (int, float) else None


def to_operand(value: object, expected: Type | None = None) -> TracedValue | Literal:
    """A symbolic value, or a literal of the wanted type; raises Usage, with the user's line, for anything else."""
    if isinstance(value, VariableBase) and (present := current_region()) is not None:
        return present.read_resource(value._resource)
    symbolic = getattr(value, "_tagloom_value", None)
    if isinstance(symbolic, TracedValue):
        return symbolic
    known = getattr(value, "_tagloom_literal", None)
    if isinstance(known, Literal) and (expected is None or expected.admits(known.type)):
        region = current_region()
        closed_over = None if region is None else region.specialization.program_builder.capture_array(value)
        return known if region is None or closed_over is None else region.read_resource(closed_over)
    if isinstance(value, tuple | list) and any(hasattr(item, "_tagloom_value") for item in value):
        raise Invalid(
            f"a {type(value).__name__} of symbolic values is no value",
            rule="F1",
            where=user_location(),
            got=value,
            hint="tl.stack([...]) makes an array of them; functions, branches and loops take tuples and dicts",
        )
    try:
        return literal(value, expected)
    except Usage as error:
        error.where = user_location()
        raise


def emit_op(
    region: RegionBuilder, op: str, operands: Sequence[TracedValue | Literal], attributes: Attributes = ()
) -> TracedValue:
    """Add a node of an ordinary op; raises Invalid, with the user's line, where the types do not fit."""
    assert op not in STRUCTURED_OPS
    row = lookup_row(op)
    try:
        result = row.type_rule(*(operand.type for operand in operands), **dict(attributes))
    except Invalid as error:
        error.rule, error.where, error.message = "V4", user_location(), f"{op}: {error.message}"
        raise
    inputs = [region.as_operand(operand) for operand in operands]
    return region.emit_node(op, inputs, [result], [region.names.fresh(op)], attributes=attributes)[0]


def to_weak_operand(value: object, expected: DType | None) -> TracedValue | Literal:
    """An operand; where it is Python's own number it takes the wanted dtype, if it may: an int any number's, a float
    any float's."""
    weak = expected is not None and (
        (type(value) is int and expected.kind != "b") or (type(value) is float and expected.kind == "f")
    )
    return to_operand(value, Type(expected)) if weak and expected else to_operand(value)


WeakTypes = tuple[int | float | None, ...]
"""For each leaf a number of its kind, where it is a Python number so far."""


@dataclass(frozen=True, slots=True)
class ResultSignature:
    """What is known of a function's results. A weak one is a Python number so far, and takes any dtype that fits."""

    tree_type: TreeType
    weak_types: WeakTypes
    locations: tuple[Location | None, ...] = field(compare=False)
    captures: tuple[Resource, ...] = ()
    """What it uses beside its arguments, and takes as further parameters."""
    assigned_variables: tuple[Resource, ...] = ()
    """The variables that it assigns, and gives as further results."""

    @property
    def result_types(self) -> tuple[Type, ...]:
        """The types of all results."""
        return (*self.tree_type.types, *(variable.type for variable in self.assigned_variables))

    @property
    def treedef(self) -> TreeDef:
        """How the results nest, and what follows them."""
        names = UniqueNames()
        return replace(
            self.tree_type.treedef,
            assigned_names=tuple(names.fresh(variable.name) for variable in self.assigned_variables),
        )

    @classmethod
    def from_tree_type(cls, form: TreeType) -> ResultSignature:
        return cls(form, (None,) * len(form.types), (None,) * len(form.types))


def join_signatures(name: str, known: ResultSignature | None, found: ResultSignature) -> ResultSignature:
    """What is known, and what another trace found; raises Invalid where no type admits both."""
    if known is None:
        return found
    types = []
    for k, (one, other) in enumerate(zip(known.tree_type.types, found.tree_type.types, strict=True)):
        type_ = _widen(one, other) if known.weak_types[k] is None else _join_weak_types(known, found, k)
        if type_ is None:
            raise Invalid(
                f"{name} returns two types",
                required=describe_with_location(one, known.locations[k]),
                got=describe_with_location(other, found.locations[k]),
                hint="convert one with tl.astype, or annotate the result",
            )
        types.append(type_)
    weak = tuple(one and other and one * other for one, other in zip(known.weak_types, found.weak_types, strict=True))
    return ResultSignature(TreeType(known.tree_type.treedef, tuple(types)), weak, found.locations)


def _widen(one: Type, other: Type) -> Type | None:
    """The type of a result that was traced again: of a wider dtype now, if what it met was a number before."""
    wider = promote(one.dtype, other.dtype) is other.dtype
    return replace(one, dtype=other.dtype).join(other) if wider else None


def _join_weak_types(known: ResultSignature, found: ResultSignature, position: int) -> Type:
    """The type of a weak result that was traced again: of an int and a float the float's."""
    before = isinstance(known.weak_types[position], float) and isinstance(found.weak_types[position], int)
    return (known if before else found).tree_type.types[position]


def describe_with_location(what: object, line: Location | None) -> str:
    """A type or structure, and the line that it comes from."""
    return f"{what} ({line})" if line else str(what)


def emit_program(instances: Sequence[Specialization], callbacks: dict[str, Callable[..., Any]]) -> Program:
    """The program of these functions, of which the first is the entry, named in this order; so are `callbacks`."""
    names = UniqueNames()
    final = {instance.name: names.fresh(instance.function_spec.identifier) for instance in instances}
    final |= {
        made.name: names.fresh(_strip_number(made.name))
        for instance in instances
        for made in instance.auxiliary_functions
    }
    functions = []
    for instance in instances:
        assert instance.body is not None and instance.signature is not None
        called = {str(place): _name_callback(function, callbacks) for place, function in enumerate(instance.callbacks)}
        body = _rename_callees(instance.body, final, called)
        functions.append(Function(final[instance.name], body, instance.signature.result_types, instance.location))
        for made in instance.auxiliary_functions:
            body, rule = (
                _rename_callees(made.body, final, called),
                final[made.gradient_rule] if made.gradient_rule else None,
            )
            functions.append(replace(made, name=final[made.name], body=body, gradient_rule=rule))
    return Program(tuple(functions), functions[0].name)


def _name_callback(function: Callable[..., Any], callbacks: dict[str, Callable[..., Any]]) -> str:
    """The name of a Python function in the program: its own, or with a number where another one has that."""
    wanted, count = getattr(function, "__name__", "callback"), 0
    wanted = name = wanted if wanted.isidentifier() else "callback"
    while callbacks.setdefault(name, function) is not function:
        count += 1
        name = f"{wanted}_{count}"
    return name


def _rename_callees(region: Region, names: dict[str, str], called: dict[str, str]) -> Region:
    """A region whose calls name functions, and whose callbacks Python functions, as they are finally called."""
    nodes = []
    for node in region.nodes:
        if node.op == "call":
            node = replace(node, attributes=(("function", names[node.attribute("function")]),))
        elif node.op == "callback":
            (_, place), *more = node.attributes
            node = replace(node, attributes=(("function", called[place]), *more))
        elif node.regions:
            node = replace(node, regions=tuple(_rename_callees(inner, names, called) for inner in node.regions))
        nodes.append(node)
    return replace(region, nodes=tuple(nodes))


def _strip_number(name: str) -> str:
    """A name without the number that made it another one while functions were traced."""
    return name.rstrip("0123456789").rstrip("_")


MAX_FUNCTIONS = 1000
"""How many functions tracing finds in one program before it takes the program for an endless one."""
DEFERRABLE_RULES = ("V4", "V5", "V6", "D3")
"""The rules that a trace may break with what is known so far, and keep when more is known."""
MAX_NESTED_TRACES = 12
"""How many functions are traced within another's trace; Python's own stack is not to end first."""


@dataclass(slots=True, eq=False)
class Specialization:
    """A function of the program under trace: one Python function on one list of forms.

    `callee_signatures` is what its latest trace took for known of each function that it calls.
    """

    program_builder: ProgramBuilder
    name: str
    function_spec: FunctionSpec
    argument_types: tuple[TreeType, ...]
    weak_arguments: WeakTypes
    """Which leaves of the arguments are weak; such a function is there only while more is found out."""
    signature: ResultSignature | None
    callee_signatures: dict[Specialization, ResultSignature | None] | None = None
    previous_callees: tuple[Specialization, ...] = ()
    """What the trace before the latest one called."""
    body: Region | None = None
    deferred_error: TagloomError | None = None
    """What did not fit in its latest trace."""
    is_invalidated: bool = False
    has_final_types: bool = False
    """Whether its results were numbers that nothing wanted otherwise; their types stand, so that this ends."""
    callbacks: list[Callable[..., Any]] = field(default_factory=list)
    """The Python functions that its latest trace calls; in the body they are named by their place here."""
    auxiliary_functions: list[Function] = field(default_factory=list)
    """The functions that its latest trace made beside it, for custom gradients."""
    region: RegionBuilder | None = None
    """That of its latest trace."""
    regions: list[RegionBuilder] = field(default_factory=list)
    """All of its latest trace."""
    captures: dict[Resource, TracedValue] = field(default_factory=dict)
    """The parameters by which its latest trace has what it uses beside its arguments."""

    @property
    def location(self) -> Location:
        return definition_location(self.function_spec.python_function.__code__)

    @property
    def is_stale(self) -> bool:
        """Whether it is to be traced, or traced again."""
        used = self.callee_signatures
        return used is None or self.is_invalidated or any(callee.signature != known for callee, known in used.items())

    @property
    def has_weak_results(self) -> bool:
        """Whether a result is a Python number so far, and not because an argument is."""
        return self.signature is not None and any(self.signature.weak_types) and not any(self.weak_arguments)

    def defer_error(self, error: TagloomError) -> None:
        """Keep an error that may not stand when more is known; raise any other."""
        if error.rule not in DEFERRABLE_RULES:
            raise error
        self.deferred_error = self.deferred_error or error

    def capture(self, resource: Resource, region: RegionBuilder) -> TracedValue:
        """The parameter by which a resource comes into the function, of which this is the outermost region."""
        if resource not in self.captures:
            name = region.names.fresh(resource.name)
            self.captures[resource] = TracedValue(region, name, resource.type, self.location)
        return self.captures[resource]

    def discard_trace(self) -> None:
        """Let go of its latest trace, when it is traced again, and when the program is made."""
        for region in self.regions:
            region.release()
        self.regions = []
        self.callee_signatures, self.previous_callees, self.deferred_error, self.region, self.captures = (
            None,
            (),
            None,
            None,
            {},
        )

    def invalidate_signature(self) -> None:
        """Let it be found out again what it returns, where that came of a number whose type is another now."""
        self.is_invalidated = True
        if (
            self.function_spec.result_type is None
            and not self.has_final_types
            and self.signature is not None
            and None in self.signature.weak_types
        ):
            self.signature = None


class ProgramBuilder:
    """A program being made."""

    def __init__(self, make_symbol: Callable[[TracedValue], object], *, may_create_variables: bool = True) -> None:
        """`make_symbol` makes symbols of values; `may_create_variables` says whether variables may be made
        meanwhile."""
        self.make_symbol = make_symbol
        self.may_create_variables = may_create_variables
        self.created_variables: list[Resource] = []
        """Those that were made."""
        self.names = UniqueNames()
        self.callbacks: dict[str, Callable[..., Any]] = {}
        """The Python functions that the program calls, by the names that they have in it, when it is made."""
        self.captured_values: dict[tuple[Specialization, str, Type], Resource] = {}
        """The symbolic values that functions close over."""
        self.created_arrays: dict[int, Any] = {}
        """The concrete arrays that were made meanwhile, by identity: they are literals."""
        self.captured_arrays: dict[int, Resource] = {}
        """The concrete arrays that functions close over, by identity."""
        self.specializations: dict[tuple[FunctionSpec, tuple[TreeType, ...], WeakTypes], Specialization] = {}
        self.nesting_depth = 0

    def build_program(self, source: FunctionSpec, forms: tuple[TreeType, ...]) -> tuple[Program, ResultSignature]:
        """The program that calls this function, and what is known of that: results, and resources.

        Raises Invalid, Usage and whatever the user's Python does, where it cannot be traced.
        """
        try:
            return self._build_from_entry(self.specialize(source, forms, (), None))
        finally:
            self._release()

    def _build_from_entry(self, entry: Specialization) -> tuple[Program, ResultSignature]:
        self.infer_to_fixpoint(entry)
        functions = reachable_specializations(entry)
        for instance in functions:
            if instance.deferred_error is not None:
                raise instance.deferred_error
        endless = [
            one
            for one in functions
            if one.signature is None and one in reachable_specializations(*(one.callee_signatures or ()))
        ]
        if endless:
            name = endless[0].function_spec.name
            raise Invalid(
                f"{name} never returns: no branch gives its result a type",
                where=endless[0].location,
                hint=f"let a branch of tl.cond return without calling {name}",
            )
        assert entry.signature is not None
        return emit_program(functions, self.callbacks), entry.signature

    def _release(self) -> None:
        """Let go of what refers to one another, so that nothing of a trace waits for a collection of garbage. Symbolic
        values that somebody kept are of no region that is open any more."""
        for instance in self.specializations.values():
            instance.discard_trace()
        self.specializations, self.captured_values = {}, {}

    def is_open(self, value: TracedValue) -> bool:
        """Whether a symbolic value is of the latest trace of a function here, so that another may close over it."""
        return (
            value.region.specialization.program_builder is self
            and value.region.outermost is value.region.specialization.region
        )

    def capture_value(self, value: TracedValue) -> Resource:
        """A symbolic value of a function around, as a resource."""
        made_by = value.region.specialization
        made = Resource(value.name, value.type, value, owner=made_by)
        found = self.captured_values.setdefault((made_by, value.name, value.type), made)
        found.stored_value = value
        return found

    def capture_array(self, array: Any) -> Resource | None:
        """The resource of a concrete array that was there before; None for one that was made in this trace."""
        if id(array) in self.created_arrays:
            return None
        if id(array) not in self.captured_arrays:
            self.captured_arrays[id(array)] = constant_resource(array, user_name_of)
        return self.captured_arrays[id(array)]

    def register_variable(self, variable: Resource) -> None:
        """Take down that a variable is made; raises Usage where none may be made any more."""
        if not self.may_create_variables:
            raise Usage(
                f"variable {variable.name} is made anew whenever this function is traced",
                where=user_location(),
                required="variables that are there before, or are made in its first trace only",
                hint="make it outside; or keep it, as in: if self.w is None: self.w = tl.Variable(...)",
            )
        self.created_variables.append(variable)

    def register_array(self, array: Any) -> None:
        """Take down that a concrete array is made in this trace, and is a literal of it."""
        self.created_arrays[id(array)] = array

    def infer_to_fixpoint(self, entry: Specialization) -> None:
        """Trace until every function was traced with what is known. A number that nothing wants otherwise is then a
        number of its own type: first in those functions that wait for no other's."""
        while True:
            functions = reachable_specializations(entry)
            stale = [instance for instance in functions if instance.is_stale]
            for instance in stale:
                if instance.is_stale and instance in reachable_specializations(
                    entry
                ):  # by now its caller may have made another
                    self.trace_specialization(instance)
            if stale:
                continue
            called = {one: reachable_specializations(one) for one in functions if one.has_weak_results}
            if not called:
                return
            settled = [one for one in called if all(one in called.get(other, (one,)) for other in called[one])]
            for instance in settled:
                assert instance.signature is not None
                instance.signature = replace(
                    instance.signature,
                    weak_types=ResultSignature.from_tree_type(instance.signature.tree_type).weak_types,
                )
                instance.has_final_types = True
            for instance in functions:
                if instance not in settled and any(one in settled for one in reachable_specializations(instance)):
                    instance.invalidate_signature()

    def specialize(
        self, source: FunctionSpec, forms: tuple[TreeType, ...], weak: WeakTypes, caller: Specialization | None
    ) -> Specialization:
        key = (source, forms, weak)
        if key not in self.specializations:
            if len(self.specializations) >= MAX_FUNCTIONS:
                raise Invalid(
                    f"this program has more than {MAX_FUNCTIONS:,} functions",
                    where=definition_location(source.python_function.__code__),
                    hint="a new tl.function seems to be made at every call; define it once, outside",
                )
            known = (
                ResultSignature.from_tree_type(source.result_type)
                if source.result_type
                else _previous_signature(source, forms, weak, caller)
            )
            self.specializations[key] = Specialization(
                self, self.names.fresh(source.identifier), source, forms, weak, known
            )
        return self.specializations[key]

    def resolve_call(
        self, source: FunctionSpec, forms: tuple[TreeType, ...], weak: WeakTypes, caller: Specialization
    ) -> tuple[Specialization, ResultSignature]:
        """The function for these forms, and what is known of it; raises NoTypeYet where that is nothing."""
        callee = self.specialize(source, forms, weak, caller)
        if callee.signature is None and callee.callee_signatures is None and self.nesting_depth < MAX_NESTED_TRACES:
            self.nesting_depth += 1
            try:
                self.trace_specialization(callee)
            finally:
                self.nesting_depth -= 1
        assert caller.callee_signatures is not None
        caller.callee_signatures.setdefault(callee, callee.signature)
        if callee.signature is None:
            raise NoTypeYet
        return callee, callee.signature

    def trace_specialization(self, instance: Specialization) -> None:
        """Trace the body of a function, on symbolic parameters."""
        earlier = tuple(instance.callee_signatures or ())
        instance.discard_trace()
        instance.previous_callees, instance.callee_signatures = earlier, {}
        instance.is_invalidated, instance.callbacks, instance.auxiliary_functions = False, [], []
        region = RegionBuilder(instance, UniqueNames())
        weak = iter(instance.weak_arguments)
        for (name, _), form in zip(instance.function_spec.declared_parameters, instance.argument_types, strict=True):
            for inner, type_ in zip(leaf_names(form.treedef, name), form.types, strict=True):
                region.add_parameter(inner, type_, instance.location, next(weak, None))
        symbols = map(self.make_symbol, region.parameters)
        instance.region = region
        try:
            with enter_region(region):
                arguments = [unflatten(f.treedef, [next(symbols) for _ in f.types]) for f in instance.argument_types]
                returned = read_variables(instance.function_spec.python_function(*arguments))
        except NoTypeYet:
            return
        except TagloomError as error:
            instance.defer_error(instance.deferred_error or error)
            return
        except Exception:
            if instance.deferred_error is None:
                raise
            return  # what goes wrong after an error may come of it
        try:
            found, results = _infer_results(instance, returned, is_alone=not region.store)
            assigned = region.assigned_variables()
            operands = [region.as_operand(result) for result in (*results, *map(region.read_resource, assigned))]
        except TagloomError as error:
            error.where = instance.location  # no line of the body is running any more
            instance.deferred_error = instance.deferred_error or error
            return
        captured = sort_resources(instance.captures)
        instance.signature = replace(found, captures=captured, assigned_variables=assigned)
        instance.body = region.close([*region.parameters, *(instance.captures[each] for each in captured)], operands)


def reachable_specializations(*entries: Specialization) -> list[Specialization]:
    """These functions and those that they call, as known by now: in the order of their first calls."""
    order = dict.fromkeys(entries)
    found = list(order)
    for instance in found:  # grows while it is walked
        for callee in instance.callee_signatures or ():
            if callee not in order:
                order[callee] = None
                found.append(callee)
    return found


def _previous_signature(
    source: FunctionSpec, forms: tuple[TreeType, ...], weak: WeakTypes, caller: Specialization | None
) -> ResultSignature | None:
    """A function that is made anew whenever its caller is traced begins with what was known of the one before it: the
    one that was called as the same among all that the same line of Python makes."""

    def is_same_function(callee: Specialization) -> bool:
        same = callee.function_spec.python_function.__code__ is source.python_function.__code__
        return same and (callee.argument_types, callee.weak_arguments) == (forms, weak)

    if caller is None:
        return None
    before = [callee for callee in caller.previous_callees if is_same_function(callee)]
    position = sum(map(is_same_function, caller.callee_signatures or ()))
    return before[position].signature if position < len(before) else None


def _infer_results(
    instance: Specialization, returned: Any, *, is_alone: bool
) -> tuple[ResultSignature, list[TracedValue | Literal]]:
    """What is known of a function now that it returned this, and its results as operands; `is_alone` says that it
    assigns no variables."""
    name, known, annotated = (
        instance.function_spec.name,
        instance.signature,
        instance.function_spec.result_type is not None,
    )
    leaves, structure = ([], static_treedef(None)) if returned is None else flatten(returned)
    if not leaves and is_alone:
        raise Invalid(f"{name} returns nothing", required="a value, or a tuple of values")
    if known is not None and known.tree_type.treedef != structure:
        said = f"{name} returns another structure than {'it says' if annotated else 'before'}"
        required, got = describe_difference(known.tree_type.treedef, structure)
        raise Invalid(said, required=required, got=got)
    leaves = [unwrap_weak(leaf) for leaf in leaves]
    if annotated and known is not None:
        return known, [
            _check_annotated_result(instance, leaf, type_)
            for leaf, type_ in zip(leaves, known.tree_type.types, strict=True)
        ]
    operands = [_result_operand(leaf, known, position) for position, leaf in enumerate(leaves)]
    types = tuple(operand.type for operand in operands)
    lines = tuple(operand.location if isinstance(operand, TracedValue) else instance.location for operand in operands)
    found = ResultSignature(TreeType(structure, types), tuple(map(weak_number, leaves)), lines)
    return join_signatures(name, known, found), operands


def _check_annotated_result(instance: Specialization, leaf: object, type_: Type) -> TracedValue | Literal:
    """A result, where the function is annotated."""
    operand = to_operand(leaf, type_)
    if not type_.admits(operand.type):
        got = describe_with_location(operand.type, operand.location if isinstance(operand, TracedValue) else None)
        raise Invalid(f"{instance.function_spec.name} returns another type than it says", required=type_, got=got)
    return operand


def _result_operand(leaf: object, known: ResultSignature | None, position: int) -> TracedValue | Literal:
    """A result of a function that is not annotated: a Python number takes the type that is known firmly."""
    if known is None or known.weak_types[position] is not None or weak_number(leaf) is None:
        return to_operand(leaf)
    type_ = known.tree_type.types[position]
    return to_operand(leaf, type_ if type_.is_scalar and type_.dtype.kind != "b" else None)
