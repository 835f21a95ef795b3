"""Python functions that call themselves under a symbolic condition: functions of the program, and their state.

Such a function has a parameter for each of its arguments. The state that it changes outside of itself (nonlocal and
global variables, attributes, the items of lists, dicts and sets) is passed along, as in store-passing style: the
content before the call is a further argument, the content after the call a further result. What that is shows in the
trace of the body. So the outermost call begins with no state, and is traced again where a body changes a place that is
not part of the state yet, or changes its structure or type.
"""

from __future__ import annotations

import functools
import gc
import inspect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, NamedTuple, NoReturn

from ...errors import Invalid
from ...types import Type
from ..eager.gradients import trace_pullback
from ..trace.annotation import DerivedFunction, FunctionSpec
from ..trace.choice import Choice
from ..trace.mutable_arrays import copied_arrays, owner_of
from ..trace.numbers import DTYPES
from ..trace.program_builder import (
    EMPTY_TYPE,
    RegionBuilder,
    RetraceRequest,
    current_region,
    normalize_result,
    to_operand,
    unwrap_weak,
)
from ..trace.pytree import TreeDef, leaf_type
from ..trace.stacked_items import DICT_CLASSES, StackedItems
from ..trace.text import CodePoints, Text, is_text
from .choices import like_model, unify_options, with_longer_items
from .items import refresh_taken_items
from .nested_lists import is_choice, item_origin
from .open_lists import (
    DifferentItems,
    column_positions,
    item_count,
    leaf_kind,
    lift,
    open_like,
    prototype,
    to_code_points,
    unify_structures,
)
from .state import (
    CONTAINERS,
    UNBOUND,
    CellPlace,
    ElementsPlace,
    ItemsPlace,
    Journal,
    Place,
    is_unassigned,
    open_journal,
    record_write,
    register_containers,
    staging_depth,
)
from .state_errors import changed_order
from .trees import (
    as_copy,
    flatten_state,
    is_changeable_record,
    is_one_of_several,
    is_symbolic,
    note_copied,
    note_rebuilt,
    parts_of,
    request_records,
    split,
    static_objects,
    structure_of,
)
from .writes import refuse_rebuilt

MAX_RETRACES = 40
"""How often the outermost call of a recursive function is traced again, because its state has grown or changed."""
MAX_STRUCTURE_GROWTHS = 8
"""How often that is so since a part of the state has more values than it had."""
MAX_STRINGS = 4
"""How many strings may be options of a part of the state, before its length is symbolic."""
GROWING_CALLS = 6
"""How many structures a list or string may have in calls, one in the other, before its length is symbolic."""


class PythonCall(NamedTuple):
    """A call of a Python function that is running in a trace."""

    code: CodeType
    depth: int
    """The number of staged branches and loops around it."""
    recursion: Recursion | None
    """The functions of the program for calls of itself inside of it; None if it is the body of one itself."""
    arguments: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
    """The arguments and keywords of a body that is a function of the program itself."""


@dataclass(frozen=True)
class ArgumentPlace:
    """A parameter that gets a list or string of another length in each call."""

    function: FunctionType
    label: str

    @property
    def key(self) -> tuple[Any, ...]:
        return self.function, self.label

    def read(self) -> Any:
        """An argument is read where it is passed."""
        return UNBOUND

    def write(self, content: Any) -> None:
        """A parameter is not assigned."""


class StatePart(NamedTuple):
    """A place that recursive functions change: a parameter and a result of each for each of its leaves. An argument has
    the parameters only."""

    place: Place
    model: Any
    """A content with the structure that it has in all calls."""
    types: tuple[Type, ...]

    @classmethod
    def of(cls, place: Place, model: Any) -> StatePart:
        """A part for contents like `model`; columns of items have any length."""
        tree = split(model)
        columns = column_positions(tree.treedef)
        types = [to_operand(unwrap_weak(leaf)).type for leaf in tree.leaves]
        return cls(
            place,
            prototype(model),
            tuple(_any_length(type_) if k in columns else type_ for k, type_ in enumerate(types)),
        )

    @property
    def label(self) -> str:
        """The name of its parameters."""
        return self.place.label if self.place.label.isidentifier() else "state"

    def leaves(self, content: Any) -> list[Any]:
        """The leaves of a content, with the structure and types of the part. Raises _StateChange where it has another
        structure, or types that these do not admit."""
        try:
            content = _with_structure(with_longer_items(self.model, content, nullcontext), self.model)
        except DifferentItems:
            raise _UnsupportedChange(self.place, "gives another structure to what is outside of it") from None
        tree, model_tree = split(content), split(self.model)
        if tree.treedef != model_tree.treedef:
            raise _NewStructure(self.place, prototype(content))
        if not tree.treedef.has_order_of(model_tree.treedef):
            raise changed_order(self.label, model_tree.treedef, tree.treedef, None)
        leaves = list[Any]()
        for position, (leaf, type_) in enumerate(zip(tree.leaves, self.types, strict=True)):
            kinds = leaf_kind(leaf), type_.dtype.kind if type_.dtype in DTYPES.values() else None
            leaf = lift(leaf, *kinds)
            leaf_own_type = to_operand(unwrap_weak(leaf)).type
            if not type_.admits(leaf_own_type):
                raise _NewType(self.place, position, leaf_own_type)
            leaves.append(leaf)
        return leaves

    def rebuild(self, leaves: Iterator[Any]) -> Any:
        """A content with these leaves."""
        tree = split(self.model)
        return tree.rebuild([next(leaves) for _ in tree.leaves])


def _with_structure(content: Any, model: Any) -> Any:
    """A content with the structure that it has together with the model, whose options keep their numbers."""
    try:
        return open_like(content, model)
    except DifferentItems:
        return unify_options([model, content])[1]


def _any_length(type_: Type) -> Type:
    return Type(type_.dtype, None if type_.shape is None else (None, *type_.shape[1:]))


class _StateChange(RetraceRequest):
    """Raised where a recursive function changes a place in a way that the state does not have yet: the outermost call
    is traced again, with more state."""

    def __init__(self, place: Place, reason: str = "") -> None:
        super().__init__()
        self.place, self.reason = place, reason
        """`reason` says, in words, why the change cannot be passed along; empty where it can."""
        self.recursion: Recursion | None = None
        """The recursion that has the state, as soon as that is known."""


class _NewPlace(_StateChange):
    """The place is not part of the state."""


class _NewStructure(_StateChange):
    """The place gets a content of another structure, that of `model`."""

    def __init__(self, place: Place, model: Any) -> None:
        super().__init__(place)
        self.model = model


class _NewType(_StateChange):
    """The place gets a content whose leaf at this position has another type."""

    def __init__(self, place: Place, position: int, type_: Type) -> None:
        super().__init__(place)
        self.position, self.type = position, type_


class _NewArgument(_StateChange):
    """The argument at the place gets longer or shorter from call to call, like `model`."""

    def __init__(self, place: ArgumentPlace, model: Any) -> None:
        super().__init__(place)
        self.model = model


class _OlderResult(_StateChange):
    """The function returns lists or dicts that it has not created."""


class _ArgumentChange(_StateChange):
    """The place is in an argument of the function: all calls must pass the same object."""

    def __init__(self, place: Place, function: FunctionType, parameter: str, reason: str = "") -> None:
        super().__init__(place, reason)
        self.function, self.parameter = function, parameter


class _UnsupportedChange(_StateChange):
    """The place gets what cannot be passed along, for a reason."""


class _RunningBody(NamedTuple):
    """A body under trace: its function and arguments, with the structures that those had at its start."""

    function: FunctionType
    arguments: dict[str, Any]
    structures: dict[str, TreeDef]

    def check_passed(self, function: FunctionType, arguments: dict[str, Any]) -> None:
        """Raises _StateChange where a call passes on a list whose length the body has changed."""
        for name, value in arguments.items():
            is_passed_on = function == self.function and value is self.arguments.get(name)
            if is_passed_on and isinstance(value, CONTAINERS) and structure_of(value) != self.structures[name]:
                raise _ArgumentChange(ItemsPlace(value), function, name)


class Recursion:
    """The functions of the program for calls of Python functions inside of one another, and the state that they
    change."""

    def __init__(self) -> None:
        self.specs: dict[tuple[FunctionType, CodeType], FunctionSpec] = {}
        self.state: dict[tuple[Any, ...], StatePart] = {}
        self.shared_arguments: dict[tuple[FunctionType, str], Any] = {}
        """The lists and other objects that are arguments, and are changed: all calls pass the same one."""
        self.open_arguments: dict[tuple[Any, ...], StatePart] = {}
        """The lists and strings that are arguments, and get longer or shorter from call to call."""
        self.older_results: set[FunctionType] = set()
        """The functions that return lists or dicts which they have not created."""
        self.retraces = 0
        self.structure_growths: Counter[tuple[Any, ...]] = Counter()
        """How often each part of the state was given a structure with more values."""
        self.bodies: list[_RunningBody] = []
        """Those under trace, the innermost last."""

    @contextmanager
    def enter(self, body: _RunningBody) -> Iterator[None]:
        """Surrounds the trace of a body."""
        region = current_region()
        assert region is not None, "a function of the program is only traced"
        stack = region.specialization.python_calls
        stack.append(PythonCall(body.function.__code__, staging_depth(), self))
        self.bodies.append(body)
        try:
            yield
        except _StateChange as change:
            change.recursion = change.recursion or self
            raise
        finally:
            self.bodies.pop()
            stack.pop()

    def call(
        self,
        region: RegionBuilder,
        function: FunctionType,
        converted: FunctionType,
        signature: inspect.Signature,
        arguments: dict[str, Any],
    ) -> Any:
        """Call a function of the program that has the Python function as its body. The outermost call is traced until
        its state stays the same."""
        if self.bodies:
            self.bodies[-1].check_passed(function, arguments)
            self._open_growing(function, arguments)
            return self._call(region, function, converted, signature, arguments)
        for (owner, name), shared in self.shared_arguments.items():
            if owner is function and arguments[name] is not shared:  # another outermost call
                self.shared_arguments[function, name] = arguments[name]
                self.specs = {}
        mark = region.mark()
        try:
            return self._call(region, function, converted, signature, arguments)
        except _StateChange as change:
            if change.recursion not in (None, self):
                raise
            region.reset(mark)
            self._take(change, function, arguments)
        return self.call(region, function, converted, signature, arguments)

    def _open_growing(self, function: FunctionType, arguments: dict[str, Any]) -> None:
        """Raises _StateChange where calls, one in the other, get lists or strings of several lengths: the parameter
        becomes one of symbolic length."""
        bodies = [body for body in self.bodies if body.function == function]
        if len(bodies) < GROWING_CALLS:
            return
        for name, value in arguments.items():
            is_growing = (type(value) is list or is_text(value)) and name in bodies[-1].structures
            place = ArgumentPlace(function, name)
            if not is_growing or place.key in self.open_arguments:
                continue
            if len({body.structures.get(name) for body in bodies}) < GROWING_CALLS:
                continue
            models = [prototype(bodies[-1].arguments[name]), prototype(value)]
            try:
                model = _as_open_text(*models) if all(map(is_text, models)) else unify_structures(models)[0]
            except DifferentItems:
                continue
            raise _NewArgument(place, model)

    def _take(self, change: _StateChange, function: FunctionType, arguments: dict[str, Any]) -> None:
        """Extend the state by a change. Raises Invalid (F4) where it cannot be passed along."""
        self.specs = {}
        self.retraces += 1
        if self.retraces > MAX_RETRACES:
            self._refuse(change, function)
        key = change.place.key
        parts = self.open_arguments if isinstance(change.place, ArgumentPlace) else self.state
        try:
            match change:
                case _OlderResult():
                    self.older_results.add(change.place.key[0])
                case _NewArgument():
                    parts[key] = StatePart.of(change.place, change.model)
                case _ArgumentChange() if change.function is function:
                    self.shared_arguments[function, change.parameter] = arguments[change.parameter]
                case _NewType():
                    types = list(parts[key].types)
                    types[change.position] = _join_types(types[change.position], change.type)
                    parts[key] = parts[key]._replace(types=tuple(types))
                case _NewStructure():
                    is_argument = isinstance(change.place, ArgumentPlace)
                    content = parts[key].model if is_argument else self._content(change, function)
                    self.structure_growths[key] += structure_of(change.model).size > len(parts[key].types)
                    if self.structure_growths[key] > MAX_STRUCTURE_GROWTHS:
                        self._refuse(change, function)
                    strings = _strings([content, change.model])
                    is_open = len(strings) > MAX_STRINGS and not is_argument
                    model = _as_open_text(*strings) if is_open else like_model(content, change.model)
                    parts[key] = StatePart.of(change.place, model)
                case _NewPlace():
                    self.state[key] = StatePart.of(change.place, self._content(change, function))
                case _:
                    self._refuse(change, function)
        except DifferentItems:
            self._refuse(change, function)

    def _content(self, change: _StateChange, function: FunctionType) -> Any:
        """The content of the place of a change before the call. Raises Invalid (F4) if it has none."""
        place = change.place
        content = place.read()
        if isinstance(place, ItemsPlace) and is_one_of_several(place.container):
            refuse_rebuilt(place.container, f"change a copy: x = {type(place.container).__name__}(x)")
        if is_unassigned(content):
            self._refuse(change, function)
        return content

    @staticmethod
    def _refuse(change: _StateChange, function: FunctionType) -> NoReturn:
        if change.reason:
            raise _refusal(function, f"{change.reason}: {change.place.label}")
        raise _refusal(function, f"changes {change.place.label} outside of it")

    def _call(
        self,
        region: RegionBuilder,
        function: FunctionType,
        converted: FunctionType,
        signature: inspect.Signature,
        arguments: dict[str, Any],
    ) -> Any:
        arguments_left = dict(arguments)
        for name in arguments:
            shared = self.shared_arguments.get((function, name))
            if shared is not None and arguments_left.pop(name) is not shared:
                raise _refusal(function, f"changes its argument {name}, which is not the same in each call")
        self._check_closure(function)
        self._check_arrays(function, arguments_left.values())
        opened = self._resized_arguments(function, arguments_left)
        leaves = [leaf for name, part in opened.items() for leaf in part.leaves(arguments_left.pop(name))]
        leaves += [leaf for part in self.state.values() for leaf in part.leaves(part.place.read())]
        key = function, converted.__code__
        spec = self.specs.get(key)
        if spec is None:
            spec = self.specs[key] = self._make_spec(function, converted, signature, tuple(arguments_left), opened)
        value = trace_pullback(region, spec, (*arguments_left.values(), *leaves))[0]
        result, *contents = value if self._has_leaves() else (value,)
        result = _without_empty_column(result)
        remaining: Iterator[Any] = iter(contents)
        with refresh_taken_items(in_arrays=True):
            for part in self.state.values():
                record_write(part.place)
                part.place.write(part.rebuild(remaining))
        if function in self.older_results:
            note_copied(list(arguments.values()))  # the result may be one of them
            return note_rebuilt(result)
        return register_containers(result)

    def _resized_arguments(self, function: FunctionType, names: Iterable[str]) -> dict[str, StatePart]:
        """Those of these arguments of a function that get longer or shorter from call to call."""
        parts = {name: self.open_arguments.get((function, name)) for name in names}
        return {name: part for name, part in parts.items() if part is not None}

    def _check_closure(self, function: FunctionType) -> None:
        """Raise Invalid (F4) for a function that closes over an item of a list of lists in the state: the body has the
        item as it was before the first call."""
        for content in gc.get_referents(*(function.__closure__ or ())):
            origin = item_origin(content) if type(content) is list else None
            if origin is None:
                continue
            sources = origin.container if is_choice(origin) else (origin.container,)
            for part in self.state.values():
                if isinstance(part.place, ItemsPlace) and any(part.place.container is source for source in sources):
                    raise _refusal(function, f"changes {part.place.label}, while it closes over an item of that list")

    def _make_spec(
        self,
        function: FunctionType,
        converted: FunctionType,
        signature: inspect.Signature,
        names: tuple[str, ...],
        opened: dict[str, StatePart],
    ) -> FunctionSpec:
        """The function of the program. Its parameters are those of the Python function without shared arguments, the
        leaves of arguments that get longer, and the leaves of the state."""
        state = tuple(self.state.values())

        def run(*values: Any) -> Any:
            remaining = iter(values[len(names) :])
            arguments = dict(zip(names, map(as_copy, values), strict=False))
            arguments |= {name: part.rebuild(remaining) for name, part in opened.items()}
            fixed = [name for name in signature.parameters if name not in arguments]
            shared = {name: self.shared_arguments[function, name] for name in fixed}
            ordered = {name: arguments[name] if name in arguments else shared[name] for name in signature.parameters}
            call = inspect.BoundArguments(signature, ordered)
            structures = {name: structure_of(value) for name, value in arguments.items()}
            with self.enter(_RunningBody(function, arguments, structures)), open_journal(0) as journal:
                try:
                    for part in state:
                        record_write(part.place)
                        part.place.write(part.rebuild(remaining))
                    result = converted(*call.args, **call.kwargs)
                    request_records(static_objects(result))
                    self._check_changes(function, arguments, journal)
                    self._check_result(function, result, journal)
                    self._check_arrays(function, [result])
                    leaves = [leaf for part in state for leaf in self._next_leaves(part, journal)]
                finally:
                    journal.undo()
            return (normalize_result(result), *leaves) if self._has_leaves() else result

        parameters = [(name, None) for name in names]
        types = [(part.label, leaf_type(type_)) for part in (*opened.values(), *state) for type_ in part.types]
        derived = DerivedFunction(function.__name__, function, run)
        return FunctionSpec(derived, (*parameters, *types), None, is_local=True)

    def _has_leaves(self) -> bool:
        """Whether there are values in the state."""
        return any(part.types for part in self.state.values())

    def _next_leaves(self, part: StatePart, journal: Journal) -> list[Any]:
        """The leaves of a part after the body. An object that the body creates stands for one of each call."""
        content = part.place.read()
        if is_unassigned(content):
            raise _UnsupportedChange(part.place, "may leave a variable or attribute without a value")
        created = [item for item in static_objects(content) if id(item) in journal.created_objects]
        request_records(created)
        if created:
            raise _UnsupportedChange(part.place, "stores an object that it creates outside of it")
        return part.leaves(content)

    def _check_arrays(self, function: FunctionType, values: Iterable[Any]) -> None:
        """Raises Invalid (F4) where one of these values, or of the state, may be a copy of an array that calls change:
        another call would not see the change."""
        places = [part.place for part in self.state.values()]
        arrays = [place.array for place in places if isinstance(place, ElementsPlace)]
        contents = [content for place in places if not is_unassigned(content := place.read())]
        leaves = flatten_state([*values, *contents]).leaves if arrays else []
        owners = [owner_of(leaf) for leaf in leaves]
        if any(id(array) in copied_arrays(array) or any(array is owner for owner in owners) for array in arrays):
            raise _refusal(function, "changes an array that other calls get, or of which it has made a copy")

    def _check_changes(self, function: FunctionType, arguments: dict[str, Any], journal: Journal) -> None:
        """Raises _StateChange where the body has changed a place that is not part of the state."""
        for place, content in journal.originals.values():
            if place.key in self.state:
                continue
            owner = getattr(place, "instance", getattr(place, "container", None))
            parameter = next((name for name, value in arguments.items() if owner is not None and value is owner), "")
            if isinstance(place, CellPlace) and not _reaches([function, *arguments.values()], place.cell):
                continue  # a variable of a function that was called in the body
            if parameter:
                reason = "adds an attribute to an argument" if is_unassigned(content) else ""
                raise _ArgumentChange(place, function, parameter, reason)
            if owner is not None and any(owner is part for part in _parts(arguments.values())):
                raise _UnsupportedChange(place, "changes a part of an argument")
            raise _NewPlace(place)

    def _check_result(self, function: FunctionType, result: Any, journal: Journal) -> None:
        """Raises _StateChange where a result first has lists or dicts that are not new: the caller gets copies of them,
        and neither these nor the arguments may change afterwards."""
        is_new = all(
            id(container) in journal.created_objects and not is_one_of_several(container)
            for container in _containers(result)
        )
        if not is_new and function not in self.older_results:
            raise _OlderResult(ArgumentPlace(function, "the result"))


def _refusal(function: FunctionType, reason: str) -> Invalid:
    """The error for a change that cannot be passed along. The trace keeps it: while types are inferred, a loop of the
    caller drops errors."""
    error = Invalid(
        f"{function.__name__} calls itself under a symbolic condition, and {reason}",
        rule="F4",
        where=FunctionSpec(function, (), None).location,
        hint="pass it as an argument, and return its new value",
    )
    region = current_region()
    assert region is not None, "only a trace has symbolic conditions"
    region.specialization.keep_error(error)
    return error


def _strings(values: Iterable[Any]) -> list[Any]:
    """These values and the options of the choices among them, if all are strings; else nothing."""
    options = [option for value in values for option in (value.options if type(value) is Choice else [value])]
    return options if all(map(is_text, options)) else []


def _as_open_text(*texts: Any) -> Any:
    """Strings as one of symbolic length. Raises DifferentItems for a string with a float in it."""
    return unify_structures(to_code_points(list(map(prototype, texts)), [nullcontext] * len(texts)))[0]


def _join_types(first: Type, second: Type) -> Type:
    """The type that admits both, whose numbers are of the higher kind. Raises DifferentItems where there is none."""
    kinds = {dtype: kind for kind, dtype in DTYPES.items()}
    if first.dtype is not second.dtype:
        if first.dtype not in kinds or second.dtype not in kinds:
            raise DifferentItems
        first = Type(second.dtype, first.shape)  # numbers are only lifted
    joined_type = first.join(second)
    if joined_type is None or joined_type.shape is None:
        raise DifferentItems
    return joined_type


def _containers(value: Any) -> list[Any]:
    """The lists, dicts and dataclasses in a value."""
    return [part for part in _parts([value]) if type(part) in (list, *DICT_CLASSES) or is_changeable_record(part)]


def _parts(values: Iterable[Any]) -> list[Any]:
    """These values, and the items of the lists, tuples, dicts and dataclasses among them and in them."""
    pending = list(values)
    for part in pending:  # a worklist: the loop appends to it
        if type(part) is not Choice:
            pending += parts_of(part)
    return pending


def _reaches(values: Sequence[Any], cell: CellType) -> bool:
    """Whether these functions and arguments refer to a cell, by what they close over and contain: so it is older than
    their call."""
    pending, visited_ids = list(values), set[int]()
    for value in pending:  # a worklist: the loop appends to it
        if value is cell:
            return True
        if id(value) in visited_ids:
            continue
        visited_ids.add(id(value))
        if type(value) is FunctionType:
            pending += value.__closure__ or ()
            pending += [part for part in value.__globals__.values() if type(part) is FunctionType]
        elif type(value) in (CellType, MethodType, functools.partial, *CONTAINERS, tuple):
            pending += gc.get_referents(value)
        elif hasattr(value, "__dict__") and not isinstance(value, type):
            pending += [part for part in vars(value).values() if callable(part)]
    return False


def running_calls() -> list[PythonCall]:
    """The calls of Python functions that are running in the trace, the innermost last."""
    region = current_region()
    return [] if region is None else list(region.specialization.python_calls)


@contextmanager
def continue_calls(calls: Sequence[PythonCall]) -> Iterator[None]:
    """Surrounds code that belongs to these calls, and not to the generator function that has computed an item for it:
    then only these calls are running."""
    region = current_region()
    stack = [] if region is None else region.specialization.python_calls
    inner_calls = list(stack)
    stack[:] = calls
    try:
        yield
    finally:
        stack[:] = inner_calls


def running_call(region: RegionBuilder, code: CodeType) -> PythonCall | None:
    """The innermost call of a function with this code that is running."""
    return next((call for call in reversed(region.specialization.python_calls) if call.code is code), None)


def call_recursively(
    region: RegionBuilder,
    function: FunctionType,
    converted: FunctionType,
    outer: PythonCall,
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """Call a function of the program that has the Python function as its body, and all its arguments as parameters;
    `outer` is the call of the function that is running."""
    signature = inspect.signature(converted)
    bound = signature.bind(*arguments, **keywords)
    bound.apply_defaults()
    recursion = outer.recursion
    if recursion is None and _has_longer_argument(signature, outer, bound.arguments):
        recursion = Recursion()
        calls = region.specialization.python_calls
        position = next(position for position, call in enumerate(calls) if call is outer)
        calls[position] = outer._replace(recursion=recursion)
    if recursion is not None:
        return recursion.call(region, function, converted, signature, dict(bound.arguments))
    parameters = tuple((name, None) for name in signature.parameters)
    spec = FunctionSpec(function, parameters, None, signature=signature)
    result = trace_pullback(region, spec, tuple(bound.arguments.values()))[0]
    return note_rebuilt(_without_empty_column(result))  # its lists may be those of an argument


def _has_longer_argument(signature: inspect.Signature, outer: PythonCall, arguments: dict[str, Any]) -> bool:
    """Whether a list or string among the arguments of a call is longer than that of the call around it."""
    positional, keywords = outer.arguments
    around = signature.bind_partial(*positional, **keywords)
    around.apply_defaults()
    lengths = ((_known_length(value), _known_length(around.arguments.get(name))) for name, value in arguments.items())
    return any(length is not None and length > (old_length or 0) for length, old_length in lengths)


def _known_length(value: Any) -> int | None:
    """The length of a list, or a measure of the length of a string, if it is known; None for all others."""
    if isinstance(value, CodePoints):
        value = value.codes
    if isinstance(value, str | Text):
        return len(value) if isinstance(value, str) else len(value.parts)
    length = item_count(value) if type(value) is list else None
    return length if type(length) is int else None


def _without_empty_column(result: Any) -> Any:
    """The result of a call; a list that is empty in all calls so far as one that items of any structure may follow."""
    if type(result) is not list or [type(item) for item in result] != [StackedItems]:
        return result
    column = result[0].columns
    return [] if is_symbolic(column) and column._tagloom_value.type == EMPTY_TYPE else result
