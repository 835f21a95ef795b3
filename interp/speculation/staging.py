"""Staging: the values, state, branches, loops and assertions of a program that is generated from Python.

Each expression becomes a `StagedValue`: a layout, and the symbolic values that stand for it. Local variables, fields of
objects and variables of modules are state, which branches merge and loops carry. Each assumption of a graph becomes an
assertion. `generation` handles Python's syntax.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from ...core import dtypes
from ...core.errors import TagloomError, describe_class, with_article
from ...core.frontend.control_flow import while_loop
from ...core.frontend.eager.apply import apply
from ...core.frontend.eager.array import ConcreteArray
from ...core.frontend.eager.gradients import call_as_one_step
from ...core.frontend.eager.recording import recording_tapes
from ...core.frontend.eager.variable import Variable
from ...core.frontend.source.reader import FunctionNode
from ...core.frontend.trace.control_flow import emit_cond, open_subregion
from ...core.frontend.trace.program_builder import (
    NoTypeYet,
    RegionBuilder,
    TracedValue,
    current_region,
    enter_region,
    to_operand,
)
from ...core.frontend.trace.symbol import Symbol
from ...core.program.program import Location
from ...core.types import Type
from .assumptions import Assumption, label
from .heap import (
    SPECIAL_ATTRIBUTES,
    AllocationKey,
    CapacityKey,
    FieldKey,
    HeapKey,
    Observation,
    OutsideKey,
    PlaceKey,
    class_problem,
    is_compact,
    place_names,
    static_attribute,
)
from .layouts import (
    ANY_TEXT,
    MAX_INTEGER,
    MISSING,
    NONE,
    NUMBER_CLASSES,
    POOLS,
    UNASSIGNED,
    ArrayLayout,
    ArrayPool,
    ConstantLayout,
    Layout,
    NotSpeculable,
    NumberLayout,
    NumpyLayout,
    Pool,
    ReferenceLayout,
    StaticLayout,
    StaticObject,
    TextLayout,
    TupleLayout,
    UnionLayout,
    class_name,
    is_new_list,
    is_tuple_layout,
    is_within,
    join,
    number_kind,
    options_of,
    parts,
    references,
    static_objects,
    zero_leaves,
)

PRINTED_TEXT = "printed text"
"""The name of the list of texts to print."""
RUNNING, BREAK, CONTINUE, RETURN = range(4)
"""The ways in which a block ends: at its last statement, or by a statement that leaves it."""
SEEN = -1
"""Stands for the numbers of exceptions, with which they leave the body of a `with`."""
FIRST_RAISE = 2**32
"""The first of the numbers of exceptions that leave a function. Smaller ones are the other ways to leave a block, and
the handlers of the function."""
MAX_VERSIONS = 12
"""The largest number of functions of a program for one Python function, one for each combination of argument
layouts."""
MAX_LOOP_TEMPLATES = 8
"""The largest number of templates of a string that a loop changes: if each iteration adds to it, each round finds
another one."""
MAX_BRANCHES = 16
"""The most items of an unrolled loop that an iteration may leave: each adds a branch in that of the item before."""
MAX_UNROLLED = 64
"""The largest number of iterations of a loop over a tuple, which is unrolled."""


CheckKey: TypeAlias = tuple[Any, ...]
"""The position of a check in the source, and what it checks."""


class StagedValue(NamedTuple):
    """A Python value while a program is generated."""

    layout: Layout
    leaves: tuple[Any, ...]
    """Symbols, Python numbers and concrete arrays."""


NONE_VALUE = StagedValue(NONE, ())
MISSING_VALUE = StagedValue(MISSING, ())
"""The value of a variable that is not assigned."""
_RUNNING_VALUE = StagedValue(ConstantLayout(RUNNING), ())


class FunctionFrame(NamedTuple):
    """A function whose body is generated."""

    function: FunctionType
    """The function, or for a nested one the function around it."""
    local_names: frozenset[str]
    """Its variables, and those of the functions around it."""
    numbers: tuple[int, ...]
    """The number of this frame, after those of the functions around it. A nested function can only be called while the
    frame that has its variables is on this path."""
    hidden_names: frozenset[str] = frozenset()
    """Variables of the functions around it, or around a comprehension, that its own variables of the same names
    hide."""
    passes_exceptions: bool = False
    """Whether a caller may catch its exceptions in the graph."""
    returns_at_once: bool = False
    """Whether nothing reads its variables after a `return`, since it has no `try`, `with` or nested function."""


class Restart(BaseException):
    """Raised to restart generation with the requirements that it has found."""


class Unreachable(BaseException):
    """Raised where an assertion always fails: nothing that follows runs."""


class CaughtCheck(BaseException):
    """Raised at a check whose exception a handler catches: the rest of the statement is a branch."""

    def __init__(self, key: CheckKey, condition: Any, code: int) -> None:
        super().__init__()
        self.key, self.condition, self.code = key, condition, code


@dataclass(frozen=True)
class TryFrame:
    """The body of a `try` that is generated."""

    frame: FunctionFrame
    catchers: tuple[tuple[tuple[type, ...], int | None], ...]
    """The classes that each handler catches, with the way in which the block is left then; None where the graph has no
    handler."""
    used_codes: set[Any] = field(default_factory=set)
    """The handlers that the graph needs; for a `with`, the classes of the exceptions that leave its body."""


class CallRecord(NamedTuple):
    """A call of a function of the program."""

    value: StagedValue
    heap: dict[HeapKey, tuple[Any, ...]]
    """All fields and variables after it."""
    code: Any
    """The way in which it ended, among them the numbers of exceptions; None if it always returns."""
    raises: tuple[type, ...]
    """The classes of the exceptions that it may raise."""


@dataclass(frozen=True)
class Guard:
    """A statement in the body of a `try`, where it begins. Its own checks may lead to a handler."""

    frame: FunctionFrame
    region: RegionBuilder | None
    calls: list[CallRecord]
    """The calls of functions of the program that the statement has made, in order. They are not generated again, where
    the rest of the statement is."""
    passed_checks: list[CheckKey]
    """The checks that have passed and are not generated yet. A statement may make a check twice, on two values: an
    index of `items[index] += items.pop()` is in range when the item is read, and again when it is written."""

    replayed: list[CallRecord] = field(default_factory=list)
    """Those of the calls that have been made again."""

    @staticmethod
    def begin(staging: Staging, passed_checks: Sequence[CheckKey], calls: list[CallRecord]) -> Guard:
        """The guard of the statement that is generated next."""
        return Guard(staging.stack[-1], current_region(), calls, list(passed_checks))

    def next_call(self) -> CallRecord | None:
        """The next call that was made before; None if the next one is new."""
        position = len(self.replayed)
        if position == len(self.calls):
            return None
        self.replayed.append(self.calls[position])
        return self.calls[position]

    def add_call(self, call: CallRecord) -> None:
        """Note a new call."""
        self.calls.append(call)
        self.replayed.append(call)


@dataclass(frozen=True)
class NewObject:
    """An object under construction: its `__init__` is being generated."""

    leaf: Any
    owner: type
    orders: frozenset[tuple[str, ...]] = frozenset([()])
    """The attributes on each path that leads here, in the order of their assignments."""

    def has(self, name: str) -> bool:
        """Whether an attribute is assigned on all paths."""
        return all(name in order for order in self.orders)

    def assign(self, name: str) -> NewObject:
        """The object after an attribute was assigned."""
        return replace(self, orders=frozenset(order if name in order else (*order, name) for order in self.orders))

    def merge(self, other: NewObject) -> NewObject:
        """The object after a conditional whose branches end with this object and with `other`. Raises NotSpeculable if
        its attributes have too many orders."""
        orders = self.orders | other.orders
        if len(orders) > MAX_VERSIONS:
            raise NotSpeculable(f"{class_name(self.owner)}s get their attributes in more than {MAX_VERSIONS} orders")
        return replace(self, orders=orders)


@dataclass
class StagedState:
    """The state that changes while a program is generated."""

    variables: dict[str, StagedValue] = field(default_factory=dict)
    heap: dict[HeapKey, tuple[Any, ...]] = field(default_factory=dict)
    exit: StagedValue = _RUNNING_VALUE
    """The way in which the block that is generated was left, or RUNNING."""
    result: StagedValue = MISSING_VALUE
    """The value that `return` has given."""
    new_objects: tuple[NewObject, ...] = ()
    """The objects whose `__init__` is being generated, the outermost first."""

    def copy(self) -> StagedState:
        return StagedState(dict(self.variables), dict(self.heap), self.exit, self.result, self.new_objects)


@dataclass
class Requirements:
    """The requirements of a graph on objects, classes and functions. They grow with each restart of generation."""

    fields: set[FieldKey] = field(default_factory=set)
    variables: set[OutsideKey] = field(default_factory=set)
    allocations: set[AllocationKey] = field(default_factory=set)
    """The classes and pools that the graph creates objects of."""
    assigned_keys: dict[HeapKey, None] = field(default_factory=dict)
    """The keys that the graph writes, in the order in which generation found them."""
    creation_orders: dict[type, set[tuple[str, ...]]] = field(default_factory=dict)
    """The orders in which new instances get their attributes, or new dicts their keys."""
    class_level_names: dict[type, set[str]] = field(default_factory=dict)
    class_values: dict[tuple[type, str], Any] = field(default_factory=dict)
    """The values that classes must have under these names."""
    changed_arrays: set[type] = field(default_factory=set)
    """The pools of arrays of NumPy some of which change in place."""
    attributes: dict[tuple[Any, str], Any] = field(default_factory=dict)
    """The values that attributes of classes and partial functions must have: names of classes, for example."""
    keywords: dict[Any, dict[str, Any]] = field(default_factory=dict)
    """The keywords that partial functions must have."""
    class_variables: set[tuple[type, str]] = field(default_factory=set)
    """Names under which classes must have no descriptor: their values may change."""
    missing_class_names: set[tuple[type, str]] = field(default_factory=set)
    """Names that classes must not define themselves, since the graph uses the definition of a base."""
    functions: dict[FunctionType, tuple[Any, ...]] = field(default_factory=dict)
    """The code and the defaults of the functions of the program."""
    needs_rows: bool = False
    """Whether the graph reads the row of an object among those of its class."""
    needs_classes: bool = False
    """Whether the graph reads the class of an object."""
    dropped_branches: dict[tuple[CodeType, int, int, bool], str] = field(default_factory=dict)
    """The branches that the graph leaves out, by the code and position of the test and by its truth, each with the
    reason."""

    late_names: set[FieldKey] = field(default_factory=set)
    """The attributes and keys that objects and dicts get, or may get, after their creation."""
    dropped_options: dict[tuple[Any, ...], str] = field(default_factory=dict)
    """The layouts that the graph excludes where it uses a value, by the position of the use, each with the reason."""
    caught_classes: set[type] = field(default_factory=set)
    """The classes of exceptions that handlers of the functions of the program catch."""
    raised_checks: set[CheckKey] = field(default_factory=set)
    """The checks that a run has broken, whose exception a handler of the function catches: they are branches."""
    dropped_handlers: dict[Location, str] = field(default_factory=dict)
    """The handlers that the graph does not have, with why."""
    texts: list[str] = field(default_factory=list)
    """The constant strings that the graph compares with others; a string's position is its number in the table."""
    effects: dict[str, list[str]] = field(default_factory=lambda: {PRINTED_TEXT: []})
    """The effects that a run has after its commit, in order: texts to print. Empty while no call runs."""
    static_values: dict[PlaceKey, Any] = field(default_factory=dict)
    """The values that attributes of static objects must have."""
    slot_names: dict[tuple[StaticObject, StaticObject], str] = field(default_factory=dict)
    """The names under which optimizers have the slots of variables."""
    needs_separate_arrays: bool = False
    """Whether each array must be at one place only, since a tape identifies arrays by identity."""

    def add_places(self, instances: Mapping[StaticObject, Any]) -> bool:
        """Require the attributes of static objects that the code of the functions names, and all items of lists;
        returns whether any of these is new. Otherwise generation would restart for each."""
        count = len(self.variables)
        codes = [function.__code__ for function in self.functions]
        words = {word for code in codes for word in (*code.co_names, *code.co_consts) if type(word) is str}
        for static, instance in instances.items():
            self.variables |= {PlaceKey(static, name) for name in place_names(static, instance, words)}
        return len(self.variables) > count

    def forget_static_objects(self) -> None:
        """Drop the requirements on static objects."""
        self.variables = {key for key in self.variables if not isinstance(key, PlaceKey)}
        self.assigned_keys = {key: None for key in self.assigned_keys if not isinstance(key, PlaceKey)}
        self.static_values.clear()
        self.slot_names.clear()

    def rename_pools(self, observation: Observation) -> bool:
        """Replace the pools that were merged into another, and drop those that are no longer in use; returns whether
        there were any."""
        count = len(self.fields)
        retired = observation.retired_pools
        self.fields = {key for key in self.fields if key.owner not in retired}
        self.late_names = {key for key in self.late_names if key.owner not in retired}
        self.allocations = {key for key in self.allocations if key.owner not in retired}
        self.assigned_keys = {
            key: None
            for key in self.assigned_keys
            if not isinstance(key, FieldKey | AllocationKey) or key.owner not in retired
        }
        self.creation_orders = {owner: orders for owner, orders in self.creation_orders.items() if owner not in retired}

        def rename(key: Any) -> Any:
            if isinstance(key, AllocationKey):
                return AllocationKey(observation.canonical_class(key.owner))
            return FieldKey(observation.canonical_class(key.owner), key.name) if isinstance(key, FieldKey) else key

        fields = {*map(rename, self.fields)}
        is_changed = fields != self.fields or len(fields) != count
        self.late_names = {*map(rename, self.late_names)}
        self.fields, self.assigned_keys = fields, dict.fromkeys(map(rename, self.assigned_keys))
        self.allocations = {*map(rename, self.allocations)}
        self.changed_arrays = {*map(observation.canonical_class, self.changed_arrays)}
        former_orders, self.creation_orders = self.creation_orders, {}
        for owner, orders in former_orders.items():
            self.creation_orders.setdefault(observation.canonical_class(owner), set()).update(orders)
        return is_changed


class Staging:
    """A program under generation: its state and its assumptions."""

    def __init__(
        self,
        function: FunctionType,
        observation: Observation,
        requirements: Requirements,
        branches_taken: Callable[[CodeType, int, int], set[bool]],
        observe: Callable[[], bool],
        failing_number: int | None = None,
    ) -> None:
        """`observe` observes the required fields and variables, and returns whether a layout has changed.
        `branches_taken` returns which branches of the test at a position watched calls took. The assertion numbered
        `failing_number` fails, for tests."""
        self.function, self.observation, self.requirements = function, observation, requirements
        self.branches_taken, self.observe, self.failing_number = branches_taken, observe, failing_number
        self.assumptions: dict[tuple[Any, ...], Assumption] = {}
        self.class_numbers: dict[type, int] = {}
        self.resolution_orders: dict[type, tuple[type, ...]] = {}
        self.keys: list[HeapKey] = sorted(
            [*requirements.fields, *requirements.variables, *requirements.allocations],
            key=lambda key: (type(key).__name__, str(key)),
        )
        classes = {key.owner for key in requirements.fields} | {key.owner for key in requirements.allocations}
        for layout in [*observation.arguments.values(), *observation.fields.values(), *observation.variables.values()]:
            classes |= {owner for reference in references(layout) for owner in reference.classes}
            classes |= {static.owner for static in static_objects(layout) if class_problem(static.owner) is None}
        for owner in sorted(classes, key=lambda owner: (owner.__module__, owner.__qualname__)):
            problem = None if issubclass(owner, Pool) else class_problem(owner)
            if problem is not None:  # the class has changed since its objects were observed
                raise NotSpeculable(problem)
            self.class_numbers[owner] = len(self.class_numbers)
            self.resolution_orders[owner] = owner.__mro__
            for name in SPECIAL_ATTRIBUTES:
                requirements.class_values.setdefault((owner, name), static_attribute(owner, name, UNASSIGNED))
        self.state = StagedState()
        self.class_vector: Any = None
        """The number of the class of each object."""
        self.row_vector: Any = None
        """The number of each object among those of its class."""
        self.gradients: dict[Any, Any] = {}
        """The gradients of functions, by function, targets and results: one for each, so that layouts are stable."""
        self.tapes: dict[ast.AST, Any] = {}
        """The tape of each `with` statement."""
        self.views: dict[int, Any] = {}
        """The views of arrays of NumPy, by the identities of their leaves."""
        self.argument_leaves: list[Any] = []
        """The arguments of the program, while its main function is generated."""
        self.is_inferring = False
        self.has_grown = False
        """Whether inference has found new requirements."""
        self.new_leaves: dict[HeapKey, tuple[Any, ...]] = {}
        self.round = 0
        self.has_changed = False
        self.stack: list[FunctionFrame] = []
        self.frame_count = 0
        self.current_node: ast.AST | None = None
        self.tries: list[TryFrame] = []
        """The bodies of `try` and `with` around what is generated."""
        self.guard: Guard | None = None
        self.exception_classes: list[type] = []
        """The classes of exceptions that leave functions; the position of a class gives its number."""
        self.raised_classes: set[type] = set()
        """The classes of the exceptions that leave the function that is generated."""
        self.truths: dict[tuple[Any, ...], set[bool | None]] = {}
        """The truth of each test by its position, in all functions of the program; None where only a run decides it."""

    def layout_of_key(self, key: FieldKey | OutsideKey) -> Layout:
        """The layout of a field or variable; raises Restart where it is not observed yet."""
        required_keys: Any = self.requirements.fields if isinstance(key, FieldKey) else self.requirements.variables
        if key not in required_keys:
            required_keys.add(key)
            is_static = self.observation.has_static_objects
            self.require_restart(is_now=not self.is_inferring or is_static or self.observe())
            self.add_leaves(key)
        if isinstance(key, FieldKey):
            return self.observation.layout(key)
        return self.observation.variables.get(key, MISSING)

    def require_restart(self, is_now: bool = False) -> None:
        """Restart generation with new requirements: now, or once inference has found more of them. With static objects
        it restarts now, since their places are found when generation starts."""
        if is_now or not self.is_inferring or self.observation.has_static_objects:
            raise Restart
        self.has_grown = True

    def add_leaves(self, key: HeapKey) -> None:
        """Let inference continue with placeholders for a new key, which no function has as parameters yet."""
        self.new_leaves[key] = tuple(map(self.outer_placeholder, self.key_types(key)))

    def leaves_of(self, key: HeapKey) -> tuple[Any, ...]:
        """The values that stand for a field, a variable or the fresh objects of a class."""
        leaves = self.state.heap.get(key)
        return self.new_leaves[key] if leaves is None else leaves

    def key_types(self, key: HeapKey) -> list[Type]:
        """The types of the values that stand for a field, which are vectors, or for a variable."""
        if isinstance(key, AllocationKey):
            return [Type(dtypes.int64)] * 2
        types = self.layout_of_key(key).types
        if not isinstance(key, FieldKey):
            return list(types)
        return [Type(type_.dtype, (None, *(type_.shape or ()))) for type_ in types]

    def emit(self, op: str, *operands: Any, **attributes: Any) -> Any:
        """Emit a node of an op, at the location of the expression under generation."""
        return self.located(lambda: apply(op, *operands, **attributes))

    def located(self, emission: Callable[[], Any]) -> Any:
        """The result of `emission`; the nodes that it emits get the location of the expression under generation."""
        region = current_region()
        assert region is not None
        count = len(region.nodes)
        try:
            result = emission()
        except TagloomError as error:
            raise NotSpeculable(str(error.message)) from None
        if self.current_node is not None:
            location = self.location_of(self.current_node)
            region.nodes[count:] = [replace(node, location=location) for node in region.nodes[count:]]
        return result

    def location_of(self, node: ast.AST) -> Location:
        """The location of a syntax node of the function that is generated."""
        return Location(self.stack[-1].function.__code__.co_filename, getattr(node, "lineno", 0))

    def note_truth(self, test: ast.expr, truth: bool | None) -> None:
        """Note whether a test is decided when the graph is made."""
        key = self.location_of(test), test.col_offset, ast.unparse(test)
        self.truths.setdefault(key, set()).add(truth)

    def open_tries(self) -> list[TryFrame]:
        """The bodies of `try` in the function that is generated, the innermost first."""
        return [frame for frame in reversed(self.tries) if frame.frame is self.stack[-1]]

    def direct_guard(self) -> Guard | None:
        """The guard of the statement, unless what is generated is part of a branch of it, or of another function."""
        guard = self.guard
        is_direct = guard is not None and guard.frame is self.stack[-1] and guard.region is current_region()
        return guard if is_direct else None

    def exception_code(self, owner: type) -> int:
        """The number of a class of exceptions that leave functions."""
        if owner not in self.exception_classes:
            self.exception_classes.append(owner)
        return FIRST_RAISE + self.exception_classes.index(owner)

    def _find_handler(self, raises: type | None) -> tuple[set[Any], Any, int] | None:
        """Where an exception of the statement goes: to a handler, or to the caller of the function. A set, what is
        added to it to note that the graph needs this, and the number for leaving the block; None where the graph has no
        handler."""
        if raises is None or self.direct_guard() is None:
            return None
        for frame in self.open_tries():
            for classes, code in frame.catchers:
                if issubclass(raises, classes):
                    if code == SEEN:
                        return frame.used_codes, raises, self.exception_code(raises)
                    return None if code is None else (frame.used_codes, code, code)
        if self.stack[-1].passes_exceptions and issubclass(raises, tuple(self.requirements.caught_classes)):
            return self.raised_classes, raises, self.exception_code(raises)
        return None

    def check(
        self,
        condition: Any,
        node: ast.AST,
        claim: str,
        reason: str,
        capacity_key: CapacityKey | None = None,
        raises: type | None = None,
        has_raised: bool = False,
    ) -> None:
        """Assert that a condition is true. Raises Unreachable if it is known to be false. If the assertion fails,
        `capacity_key` gets more room, or Python `raises` an exception of this class. Raises CaughtCheck if a handler
        catches that exception, and a run has raised it: for a call of a function, one that `has_raised` it."""
        if isinstance(condition, bool | np.bool_) and condition:
            return
        position = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0)
        key = (self.location_of(node), *position, claim, capacity_key)
        handler = self._find_handler(raises)
        if handler is not None and self.guard is not None:
            if key in self.guard.passed_checks:
                self.guard.passed_checks.remove(key)
                return
            if has_raised or key in self.requirements.raised_checks:
                handler[0].add(handler[1])
                raise CaughtCheck(key, condition, handler[2])
        assumption = self.assumptions.get(key)
        if assumption is None:
            assumption = Assumption(
                len(self.assumptions), self.location_of(node), ast.unparse(node), claim, reason, capacity_key
            )
            self.assumptions[key] = assumption
        assumption.is_caught |= handler is not None
        is_failing = assumption.number == self.failing_number
        before, self.current_node = self.current_node, node
        self.emit("assert", False if is_failing else condition, error="AssertionError", message=label(assumption))
        self.current_node = before
        if isinstance(condition, bool | np.bool_):
            raise Unreachable

    def constant(self, value: Any) -> StagedValue:
        """A constant."""
        return StagedValue(ConstantLayout(value), ())

    def number(self, kind: str, leaf: Any) -> StagedValue:
        """A symbolic number."""
        return StagedValue(NumberLayout(kind), (leaf,))

    def integer(self, leaf: Any, node: ast.AST) -> StagedValue:
        """A symbolic integer that was computed, and is asserted not to be too large."""
        is_within = self.emit("less", self.emit("abs", leaf), MAX_INTEGER)
        self.check(is_within, node, "the integer has at most 62 bits", "an int of Python has no bound")
        return self.number("i", leaf)

    def negate(self, predicate: Any) -> Any:
        """`not` of a bool or a symbolic predicate."""
        return not predicate if isinstance(predicate, bool) else self.emit("logical_not", predicate)

    def has_exit(self, code: int) -> Any:
        """Whether the block was left in this way, or not left for RUNNING: a bool, or a symbolic predicate."""
        exit_ = self.state.exit
        if isinstance(exit_.layout, ConstantLayout):
            return exit_.layout.value == code
        return self.emit("equal", exit_.leaves[0], code)

    def fail_on_none(self, node: ast.AST) -> None:
        """Assert that an access to an attribute of None is not reached."""
        reason = "Python raises AttributeError where it is"
        self.check(False, node, "it is not None", reason, raises=AttributeError)

    def leaf_of(self, value: StagedValue) -> Any:
        """The only value that stands for a number, constant or not. Raises NotSpeculable for an int of over 62 bits."""
        return constant_leaf(value.layout) if isinstance(value.layout, ConstantLayout) else value.leaves[0]

    def option(self, value: StagedValue, position: int) -> StagedValue:
        """A value of a union, as one of the option at this position."""
        assert isinstance(value.layout, UnionLayout)
        options = value.layout.options
        start = 1 + sum(len(option.types) for option in options[:position])
        return StagedValue(options[position], value.leaves[start : start + len(options[position].types)])

    def dispatch(self, value: StagedValue, action: Callable[[StagedValue], StagedValue]) -> StagedValue:
        """Apply `action` to a value, with a branch for each option of its layout."""
        if not isinstance(value.layout, UnionLayout):
            return action(value)

        node, options = self.current_node, value.layout.options
        assert node is not None
        dropped = self.requirements.dropped_options
        keys = [
            (self.location_of(node), getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0), option)
            for option in options
        ]

        def use(position: int) -> StagedValue:
            """Apply `action` to an option; if that has no graph, assert that the value is of another option."""
            key = keys[position]
            if key in dropped and not dropped.keys() >= {*keys}:
                claim = f"it is not {'assigned' if options[position] == MISSING else f'a {options[position]}'}"
                self.check(False, node, claim, f"the graph has no such value, since {dropped[key]}")
            try:
                return action(self.option(value, position))
            except NotSpeculable as error:
                if dropped.keys() >= {*keys}:
                    raise
                dropped[key] = str(error)
                raise Restart from None

        def choose(position: int) -> StagedValue:
            if position == len(options) - 1:
                return use(position)
            is_this = self.emit("equal", value.leaves[0], position)
            return self.branch(is_this, lambda: use(position), lambda: choose(position + 1))

        return choose(0)

    def dispatch_all(
        self, values: Sequence[StagedValue], action: Callable[[list[StagedValue]], StagedValue]
    ) -> StagedValue:
        """`dispatch` over several values."""

        def dispatch_from(remaining_values: Sequence[StagedValue], chosen: list[StagedValue]) -> StagedValue:
            if not remaining_values:
                return action(chosen)
            return self.dispatch(
                remaining_values[0], lambda value: dispatch_from(remaining_values[1:], [*chosen, value])
            )

        return dispatch_from(list(values), [])

    def coerce(self, value: StagedValue, layout: Layout) -> StagedValue:
        """A value converted to a wider layout."""
        if value.layout == layout:
            return value
        own_layout = value.layout
        if isinstance(layout, TextLayout):
            return self.coerce_text(value, layout)
        if isinstance(layout, UnionLayout):
            if isinstance(own_layout, UnionLayout):
                return self.coerce_options(value, layout)
            position = next(k for k, option in enumerate(layout.options) if is_within(own_layout, option))
            leaves: list[Any] = [position]
            for k, option in enumerate(layout.options):
                leaves += self.coerce(value, option).leaves if k == position else zero_leaves(option)
            return StagedValue(layout, tuple(leaves))
        if isinstance(own_layout, ConstantLayout):
            return StagedValue(layout, (-1 if own_layout.value is None else constant_leaf(own_layout),))
        if isinstance(own_layout, TupleLayout) and isinstance(layout, TupleLayout):
            items = [self.coerce(*pair) for pair in zip(self.items(value), layout.items, strict=True)]
            return StagedValue(layout, tuple(leaf for item in items for leaf in item.leaves))
        return StagedValue(layout, value.leaves)

    def coerce_text(self, value: StagedValue, layout: TextLayout) -> StagedValue:
        """A string converted to a layout with more templates."""
        own_layout = value.layout
        if isinstance(own_layout, UnionLayout):
            options = [(k, self.coerce(self.option(value, k), layout).leaves) for k in range(len(own_layout.options))]
            return StagedValue(layout, self.select(value.leaves[0], options))
        if isinstance(own_layout, ConstantLayout):
            zeros = list(zero_leaves(layout))
            if (own_layout.value,) in layout.templates:
                return StagedValue(layout, (layout.templates.index((own_layout.value,)), *zeros[1:]))
            tag, number = layout.templates.index(ANY_TEXT.templates[0]), self.number_of_text(own_layout.value)
            return StagedValue(layout, (tag, number, *zeros[2:]))
        assert isinstance(own_layout, TextLayout)
        positions = [layout.templates.index(template) for template in own_layout.templates]
        tag = self.renumber(value.leaves[0], positions)
        split = 1 + own_layout.count(False)
        zeros = list(zero_leaves(layout))
        integers, floats = list(value.leaves[1:split]), list(value.leaves[split:])
        integers += zeros[1 + len(integers) : 1 + layout.count(False)]
        floats += zeros[len(zeros) - layout.count(True) + len(floats) :]
        return StagedValue(layout, (tag, *integers, *floats))

    def select(self, tag: Any, options: Sequence[tuple[int, Sequence[Any]]]) -> tuple[Any, ...]:
        """The values of the option whose number is `tag`; those of the last option for any other number."""
        result = tuple(options[-1][1])
        for number, leaves in reversed(options[:-1]):
            is_this = self.emit("equal", tag, number)
            result = tuple(
                leaf if is_same_leaf(leaf, default) else self.emit("where", is_this, leaf, default)
                for leaf, default in zip(leaves, result, strict=True)
            )
        return result

    def renumber(self, tag: Any, positions: Sequence[int]) -> Any:
        """The number of an option in another union; `positions` has it for each option."""
        if list(positions) == list(range(len(positions))):
            return tag
        if isinstance(tag, int):
            return positions[tag]
        new: Any = positions[-1]
        for k, position in reversed(list(enumerate(positions[:-1]))):
            new = self.emit("where", self.emit("equal", tag, k), position, new)
        return new

    def coerce_options(self, value: StagedValue, layout: UnionLayout) -> StagedValue:
        """A value of a union converted to another union, which has all its options."""
        assert isinstance(value.layout, UnionLayout)
        tag = value.leaves[0]
        positions = list[int]()
        contents: list[list[tuple[int, Sequence[Any]]]] = [[] for _ in layout.options]
        for k, option in enumerate(value.layout.options):
            position = next((p for p, target in enumerate(layout.options) if is_within(option, target)), None)
            if position is None:
                assert option == MISSING, "a union is coerced to one that has all its options"
                positions.append(0)  # it is known to be assigned
                continue
            positions.append(position)
            contents[position].append((k, self.coerce(self.option(value, k), layout.options[position]).leaves))
        leaves = list[Any]()
        for content, option in zip(contents, layout.options, strict=True):
            leaves += self.select(tag, content) if content else zero_leaves(option)
        return StagedValue(layout, (self.renumber(tag, positions), *leaves))

    def items(self, value: StagedValue) -> list[StagedValue]:
        """The items of a tuple, or of a static list."""
        if isinstance(value.layout, StaticLayout):
            static = value.layout.object
            return [self.read_place(static, position) for position in range(static.size)]
        if isinstance(value.layout, ConstantLayout):
            return [self.constant(item) for item in value.layout.value]
        assert isinstance(value.layout, TupleLayout)
        items, start = [], 0
        for item in value.layout.items:
            items.append(StagedValue(item, value.leaves[start : start + len(item.types)]))
            start += len(item.types)
        return items

    def sequence_items(self, value: StagedValue) -> list[StagedValue]:
        """The items of a tuple, a static list or a new list, over which a loop is unrolled."""
        if isinstance(value.layout, ConstantLayout) and type(value.layout.value) is str:
            return [self.constant(character) for character in value.layout.value]
        if not is_tuple_layout(value.layout) and not self.is_static(value, list):
            raise NotSpeculable(f"the items of {with_article(value.layout)} have no graph")
        return self.items(value)

    def truth(self, value: StagedValue, node: ast.AST) -> Any:
        """The truth of a value: a Python bool, or a symbolic predicate."""
        match value.layout:
            case ConstantLayout(constant):
                if type(constant) in (bool, int, float, str, type(None)) or type(constant) in (FunctionType, type):
                    return bool(constant)
                raise NotSpeculable(f"the truth of {describe_class(constant)} is not known")
            case NumberLayout(kind):
                return value.leaves[0] if kind == "b" else self.emit("not_equal", value.leaves[0], 0)
            case TupleLayout(items=items):
                return bool(items)
            case TextLayout(templates) if all(
                any(isinstance(p, str) and p for p in template) for template in templates
            ):
                return True
            case ReferenceLayout(classes, is_optional):
                for owner in sorted(classes, key=str):
                    values = [self.require_class_value(owner, name) for name in ("__bool__", "__len__")]
                    if issubclass(owner, Pool) or values != [UNASSIGNED, UNASSIGNED]:
                        return self.truth_of_object(value, node)
                return self.emit("greater_equal", value.leaves[0], 0) if is_optional else True
            case TextLayout():
                raise NotSpeculable("the truth of a string that may be empty has no graph")
            case StaticLayout(static):
                return self.truth_of_static(static, value)
            case UnionLayout():
                as_bool = self.dispatch(value, lambda option: self._truth_value(option, node))
                return self.truth(as_bool, node)
            case ArrayLayout(type_) | NumpyLayout(type_) if type_.is_scalar:
                return value.leaves[0] if type_.dtype is dtypes.bool else self.emit("not_equal", value.leaves[0], 0)
        raise NotSpeculable("the truth of an array is ambiguous")

    def _truth_value(self, value: StagedValue, node: ast.AST) -> StagedValue:
        truth = self.truth(value, node)
        return self.constant(truth) if isinstance(truth, bool) else self.number("b", truth)

    def truth_of_static(self, static: StaticObject, value: StagedValue) -> bool:
        """The truth of a static object: a list is true if it has items."""
        if static.owner is list:
            return static.size > 0
        methods = [self.require_class_value(static.owner, name) for name in ("__bool__", "__len__")]
        if methods != [UNASSIGNED, UNASSIGNED] or static.owner in POOLS:
            raise NotSpeculable(f"the truth of a {static} has no graph")
        return True

    def make_general(self, static: StaticObject) -> NoReturn:
        """Move a static object into the table, and restart generation."""
        self.observation.make_general(static)
        raise Restart

    def keep_in_table(self, owner: type) -> None:
        """Keep all objects of a class in the table; restarts generation if some may be static."""
        general = self.observation.general_classes
        if self.observation.has_static_objects and not issubclass(owner, Pool) and owner not in general:
            general.add(owner)
            self.observation.forget_layouts()
            raise Restart

    def require_static_objects(self) -> None:
        """Make objects with one path static, and restart generation, unless that was done before."""
        if self.observation.allow_static_objects():
            raise Restart

    def truth_of_object(self, value: StagedValue, node: ast.AST) -> Any:
        """The truth of a list, a dict, or an object that may have `__bool__` or `__len__`."""
        raise NotImplementedError

    def make_table(self, pool: type[Pool]) -> NoReturn:
        """Treat the dicts of a pool as lists of pairs, and restart generation."""
        self.observation.make_table(pool)
        raise Restart

    def require_class_value(self, owner: type, name: str) -> Any:
        """The attribute of a class, from it or a base; the graph depends on it from here on."""
        value = static_attribute(owner, name, UNASSIGNED)
        self.requirements.class_values.setdefault((owner, name), value)
        return value

    def branch(
        self, predicate: Any, then: Callable[[], StagedValue], otherwise: Callable[[], StagedValue]
    ) -> StagedValue:
        """The result of the branch that a predicate chooses; the states of both branches are merged."""
        if isinstance(predicate, bool | np.bool_):
            return then() if predicate else otherwise()
        region = current_region()
        assert region is not None
        if self.is_recording():
            return self._branch_as_step(predicate, then, otherwise)
        regions = open_subregion(region), open_subregion(region)
        start, node = self.state, self.current_node
        ends: list[tuple[StagedValue, StagedState] | None] = []
        untyped = failed = 0
        for inner, branch in zip(regions, (then, otherwise), strict=True):
            self.state = start.copy()
            try:
                with enter_region(inner):
                    value = branch()
                ends.append((value, self.state))
            except NoTypeYet:
                untyped += 1
                ends.append(None)
            except Unreachable:
                failed += 1
                ends.append(None)
        self.state, self.current_node = start.copy(), node
        if ends == [None, None]:
            if untyped:
                raise NoTypeYet
            self._emit_cond(region, predicate, regions, [])
            raise Unreachable
        return self._merge(region, predicate, regions, ends, start)

    def _branch_as_step(
        self, predicate: Any, then: Callable[[], StagedValue], otherwise: Callable[[], StagedValue]
    ) -> StagedValue:
        """`branch` in a function of the program, so that tapes record it as one step."""
        start, stack, node = self.state, list(self.stack), self.current_node
        vectors = self.class_vector, self.row_vector
        ends: dict[Any, tuple[Layout, list[Any]]] = {}

        def run() -> tuple[Any, ...]:
            self.state, self.stack, self.current_node = start.copy(), list(stack), node
            self.class_vector, self.row_vector = vectors
            region, results = current_region(), list[Any]()
            value = self.branch(predicate, then, otherwise)
            for key, entry in {_BRANCH_VALUE: value, **self._entries(self.state)}.items():
                leaves: list[Any] = []
                for leaf in entry.leaves:
                    is_inner = isinstance(leaf, Symbol) and leaf._tagloom_value.region is region
                    leaves.append(_CondResult(len(results)) if is_inner else leaf)
                    results += [leaf] if is_inner else []
                ends[key] = entry.layout, leaves
            return tuple(results) or (False,)

        results = self.located(lambda: call_as_one_step("branch", self.function, run))
        self.state, self.stack, self.current_node = start, stack, node
        self.class_vector, self.row_vector = vectors
        final = fill_results(ends, results)
        value = final.pop(_BRANCH_VALUE)
        self._restore(final, start)
        return value

    def _merge(
        self,
        region: RegionBuilder,
        predicate: Any,
        regions: tuple[RegionBuilder, RegionBuilder],
        ends: list[tuple[StagedValue, StagedState] | None],
        start: StagedState,
    ) -> StagedValue:
        """Merge the values and states at the ends of two branches. A branch that never ends has None."""
        branches = [None if end is None else {_BRANCH_VALUE: end[0], **self._entries(end[1])} for end in ends]
        running = [None if end is None or self._has_returned(end[1]) else end[1] for end in ends]
        keys = dict.fromkeys(key for branch in branches if branch is not None for key in branch)
        pairs: list[tuple[Any, Any]] = []
        merged: dict[Any, tuple[Layout, list[Any]]] = {}
        for key in keys:
            values = [None if branch is None else branch.get(key, MISSING_VALUE) for branch in branches]
            if key[0] == "variable" and running == [None, None]:
                values = [start.variables.get(key[1])] * 2
            elif key[0] == "variable":
                values = [None if state is None else value for state, value in zip(running, values, strict=True)]
            if values != [None, None]:
                merged[key] = self._merge_values(values, regions, pairs)
        results: list[Any] = []
        if pairs or any(inner.nodes for inner in regions):
            results = self._emit_cond(region, predicate, regions, pairs)
        final = fill_results(merged, results)
        value = final.pop(_BRANCH_VALUE)
        self._restore(final, start)
        states = [end[1] for end in ends if end is not None]
        count = len(start.new_objects)  # an exception may leave others behind
        self.state.new_objects = tuple(map(NewObject.merge, states[0].new_objects[:count], states[-1].new_objects))
        return value

    def _has_returned(self, state: StagedState) -> bool:
        """Whether the function has returned, and nothing reads its variables any more."""
        layout = state.exit.layout
        is_return = isinstance(layout, ConstantLayout) and layout.value == RETURN
        return is_return and bool(self.stack) and self.stack[-1].returns_at_once

    def _merge_values(
        self,
        values: Sequence[StagedValue | None],
        regions: tuple[RegionBuilder, RegionBuilder],
        pairs: list[tuple[Any, Any]],
    ) -> tuple[Layout, list[Any]]:
        """The layout and leaves of a value after two branches; None stands for a branch that never ends. Where the
        branches differ, a leaf is a result of the cond, and their leaves are added to its `pairs`."""
        layouts = [value.layout for value in values if value is not None]
        layout = layouts[0] if len(layouts) == 1 else join(*layouts)
        sides: list[tuple[Any, ...]] = []
        for inner, value in zip(regions, values, strict=True):
            with enter_region(inner):
                sides.append(tuple(zero_leaves(layout)) if value is None else self.coerce(value, layout).leaves)
        leaves: list[Any] = []
        for then_leaf, else_leaf, type_ in zip(*sides, layout.types, strict=True):
            alone = else_leaf if values[0] is None else then_leaf if values[1] is None else None
            if alone is not None and self._is_outer(alone, regions):
                leaves.append(alone)
            elif is_same_leaf(then_leaf, else_leaf):
                leaves.append(then_leaf)
            else:
                leaves.append(_CondResult(len(pairs)))
                then_operand = self._operand_of(then_leaf, type_, regions[0])
                pairs.append((then_operand, self._operand_of(else_leaf, type_, regions[1])))
        return layout, leaves

    def _is_outer(self, leaf: Any, regions: tuple[RegionBuilder, RegionBuilder]) -> bool:
        """Whether a value of a branch existed before the conditional."""
        return not isinstance(leaf, Symbol) or not any(
            inner is leaf._tagloom_value.region or inner in leaf._tagloom_value.region.enclosing_regions()
            for inner in regions
        )

    def _operand_of(self, leaf: Any, type_: Type, part: RegionBuilder) -> Any:
        with enter_region(part):
            return to_operand(leaf) if isinstance(leaf, Symbol) or not type_.is_scalar else to_operand(leaf, type_)

    def _emit_cond(
        self,
        region: RegionBuilder,
        predicate: Any,
        regions: tuple[RegionBuilder, RegionBuilder],
        pairs: list[tuple[Any, Any]],
    ) -> list[Symbol]:
        operands = pairs or [(to_operand(False), to_operand(False))]
        names = [region.names.fresh_name("cond") for _ in operands]
        results = self.located(lambda: emit_cond(region, to_operand(predicate), regions, operands, names))
        return [Symbol(result) for result in results]

    def _entries(self, state: StagedState) -> dict[Any, StagedValue]:
        """A state as values by key, which `_restore` takes."""
        entries: dict[Any, StagedValue] = {("variable", name): value for name, value in state.variables.items()}
        entries |= {("exit",): state.exit, ("result",): state.result}
        for key, leaves in {**self.new_leaves, **state.heap}.items():
            entries["heap", key] = StagedValue(_VectorLayout(key, tuple(self.key_types(key))), leaves)  # type: ignore[arg-type]
        return entries

    def _restore(self, entries: dict[Any, StagedValue], start: StagedState) -> None:
        """Set the state to these entries, with the objects under construction of `start`."""
        self.state = StagedState({}, {}, entries["exit",], entries["result",], start.new_objects)
        for key, value in entries.items():
            if key[0] == "variable":
                self.state.variables[key[1]] = value
            elif key[0] == "heap":
                self.state.heap[key[1]] = value.leaves

    def loop(self, test: Callable[[], Any], body: Callable[[], None]) -> None:
        """Generate a loop. Everything that its body changes is carried. `test` returns a predicate."""
        region = current_region()
        assert region is not None
        carried_layouts = self._carried_layouts(region, test, body)
        start, node = self.state, self.current_node
        initial = self._carried_leaves(carried_layouts) or [np.bool_(False)]

        def enter(leaves: Sequence[Any]) -> None:
            self.state = start.copy()
            self._set_entries(carried_layouts, leaves)

        def run_test(*leaves: Any) -> Any:
            enter(leaves)
            predicate = test()
            return predicate if isinstance(predicate, Symbol) else np.bool_(predicate)

        def run_body(*leaves: Any) -> tuple[Any, ...]:
            enter(leaves)
            try:
                body()
            except Unreachable:
                return leaves
            new_objects.append(self.state.new_objects)
            return tuple(self._carried_leaves(carried_layouts)) or leaves

        new_objects = [start.new_objects]
        try:
            results = self.located(lambda: while_loop(run_test, run_body, *initial))
        except Unreachable:  # in the test, which each run evaluates: its assertion was in the loop, which is not there
            self.state, self.current_node = start, node
            assert node is not None
            self.check(False, node, "it is not reached", "the test of the loop always fails an assertion")
        self.state, self.current_node = start.copy(), node
        self._set_entries(carried_layouts, results)
        self.state.new_objects = tuple(map(NewObject.merge, start.new_objects, new_objects[-1]))

    def _carried_leaves(self, layouts: dict[Any, Layout]) -> list[Any]:
        """The values of the state that a loop carries, in these layouts."""
        entries, leaves = self._entries(self.state), list[Any]()
        for key, layout in layouts.items():
            value = self.coerce(entries.get(key, MISSING_VALUE), layout)
            leaves += [as_start(leaf, type_) for leaf, type_ in zip(value.leaves, layout.types, strict=True)]
        return leaves

    def _set_entries(self, layouts: dict[Any, Layout], leaves: Sequence[Any]) -> None:
        """Replace the part of the state that a loop carries."""
        remaining = iter(leaves)
        entries = self._entries(self.state)
        for key, layout in layouts.items():
            entries[key] = StagedValue(layout, tuple(next(remaining) for _ in layout.types))
        self._restore(entries, self.state)

    def _carried_layouts(
        self, region: RegionBuilder, test: Callable[[], Any], body: Callable[[], None]
    ) -> dict[Any, Layout]:
        """The state that a loop carries, with the layouts of all iterations. The body is generated, and dropped, until
        they are stable."""
        start = self.state
        carried_layouts: dict[Any, Layout] = {}
        while True:
            states = start, *self._try_iteration(region, test, body, carried_layouts)
            before, at_start, at_end = map(self._entries, states)  # inference may have found new keys
            has_grown = False
            for key in {**before, **at_end}:
                value = at_end.get(key, MISSING_VALUE)
                if key in at_start and is_same_value(at_start[key], value):
                    continue
                first = before.get(key, MISSING_VALUE).layout
                layout = join(carried_layouts.get(key, widen_constants(first)), widen_constants(value.layout))
                if isinstance(layout, TextLayout) and len(layout.templates) > MAX_LOOP_TEMPLATES:
                    raise NotSpeculable("a string grows in a loop")
                if carried_layouts.get(key) != layout:
                    carried_layouts[key], has_grown = layout, True
            if not has_grown:
                return carried_layouts

    def _try_iteration(
        self,
        region: RegionBuilder,
        test: Callable[[], Any],
        body: Callable[[], None],
        carried_layouts: dict[Any, Layout],
    ) -> tuple[StagedState, StagedState]:
        """The states before and after an iteration of a loop that carries values of these layouts. What the iteration
        generates is dropped."""
        start, node, mark = self.state, self.current_node, region.mark()
        self.state = start.copy()
        with enter_region(open_subregion(region)):
            types = [type_ for layout in carried_layouts.values() for type_ in layout.types]
            self._set_entries(carried_layouts, list(map(self.placeholder, types)))
            at_start = at_end = self.state.copy()
            try:
                test()
                self._check_no_changes(at_start)
                body()
                at_end = self.state
            except (Unreachable, NoTypeYet):
                pass
        region.reset(mark)
        self.state, self.current_node = start, node
        return at_start, at_end

    def _check_no_changes(self, start: StagedState) -> None:
        """Raises NotSpeculable where the test of a loop has changed the state."""
        before = self._entries(start)
        for key, value in self._entries(self.state).items():
            if key not in before or not is_same_value(before[key], value):
                raise NotSpeculable("the test of a `while` loop changes a variable or an attribute")

    def outer_placeholder(self, type_: Type) -> Symbol:
        """A symbol of a trace that is dropped, which all functions may use."""
        region = current_region()
        assert region is not None
        return Symbol(TracedValue(region.outermost, region.names.fresh_name("placeholder"), type_, None))

    def placeholder(self, type_: Type) -> Symbol:
        """A symbol of a trace that is dropped."""
        region = current_region()
        assert region is not None
        return Symbol(TracedValue(region, region.names.fresh_name("placeholder"), type_, None))

    def drop_missing(self, value: StagedValue) -> StagedValue:
        """A value that is known to be assigned: its layout without the option that it is not."""
        if not isinstance(value.layout, UnionLayout) or MISSING not in value.layout.options:
            return value
        options = [option for option in value.layout.options if option != MISSING]
        if len(options) > 1:
            return self.coerce_options(value, UnionLayout(tuple(options)))
        return self.option(value, value.layout.options.index(options[0]))

    def require_assigned(
        self, value: StagedValue, node: ast.AST, claim: str, raises: type | None = None
    ) -> StagedValue:
        """A value that is asserted to be assigned; if it is not, Python `raises` an exception of this class."""
        if value.layout == MISSING:
            self.check(False, node, claim, "Python raises an error where it is not", raises=raises)
        if not isinstance(value.layout, UnionLayout) or MISSING not in value.layout.options:
            return value
        position = value.layout.options.index(MISSING)
        is_assigned = self.emit("not_equal", value.leaves[0], position)
        self.check(is_assigned, node, claim, "Python raises an error where it is not", raises=raises)
        return self.drop_missing(value)

    def for_each_class(
        self,
        owner: StagedValue,
        node: ast.AST,
        action: Callable[[type, StagedValue], StagedValue],
        raises: type | None = None,
    ) -> StagedValue:
        """`action` of an object, which is assumed not to be None, with a branch for each class that it may have. If it
        is None, Python `raises` an exception of this class: AttributeError where `node` accesses an attribute."""
        layout = owner.layout
        if isinstance(layout, StaticLayout):
            return action(layout.object.owner, owner)
        assert isinstance(layout, ReferenceLayout)
        if layout.is_optional:
            is_object = self.emit("greater_equal", owner.leaves[0], 0)
            tested = node.value if raises is AttributeError and isinstance(node, ast.Attribute) else node
            claim = f"{ast.unparse(tested)} is not None"
            reason = f"Python raises {'an error' if raises is None else raises.__name__} where it is"
            self.check(is_object, node, claim, reason, raises=raises)
        numbers = self.class_numbers
        classes = sorted(layout.classes, key=lambda owner: numbers.setdefault(owner, len(numbers)))
        if len(classes) == 1:
            return action(classes[0], owner)
        if self.class_vector is None:
            self.requirements.needs_classes = True
            self.require_restart()
            self.class_vector = self.outer_placeholder(Type(dtypes.int64, (None,)))
        number = self.emit("take", self.class_vector, owner.leaves[0], axis=0)

        def choose(remaining_classes: list[type]) -> StagedValue:
            value = StagedValue(ReferenceLayout(frozenset(remaining_classes[:1]), False), owner.leaves)
            if len(remaining_classes) == 1:
                return action(remaining_classes[0], value)
            is_this = self.emit("equal", number, self.class_numbers[remaining_classes[0]])
            return self.branch(
                is_this, lambda: action(remaining_classes[0], value), lambda: choose(remaining_classes[1:])
            )

        return choose(classes)

    def for_each_object(
        self,
        owner: StagedValue,
        node: ast.AST,
        action: Callable[[type, StagedValue], StagedValue],
        on_none: Callable[[], StagedValue],
    ) -> StagedValue:
        """`for_each_class`, with a branch for None as well."""
        layout = owner.layout
        assert isinstance(layout, ReferenceLayout)
        instance = StagedValue(ReferenceLayout(layout.classes, False), owner.leaves)
        if not layout.is_optional:
            return self.for_each_class(instance, node, action)
        is_object = self.emit("greater_equal", owner.leaves[0], 0)
        return self.branch(is_object, lambda: self.for_each_class(instance, node, action), on_none)

    def attribute_key(self, kind: type, owner: StagedValue, name: str) -> FieldKey | PlaceKey:
        """The key of an attribute of an object of a class."""
        return PlaceKey(owner.layout.object, name) if isinstance(owner.layout, StaticLayout) else FieldKey(kind, name)

    def is_static(self, value: StagedValue, *owners: type) -> bool:
        """Whether a value is a static object of one of these classes."""
        return isinstance(value.layout, StaticLayout) and issubclass(value.layout.object.owner, owners)

    def read_place(self, static: StaticObject, name: str | int) -> StagedValue:
        """The value of an attribute or item of a static object."""
        key = PlaceKey(static, name)
        return StagedValue(self.layout_of_key(key), self.leaves_of(key))

    def static_value(self, static: StaticObject, name: str) -> Any:
        """The value of an attribute of a static object, on which the graph depends from here on."""
        key = PlaceKey(static, name)
        return self.requirements.static_values.setdefault(key, key.read(self.observation.instances[static]))

    def is_recording(self) -> bool:
        """Whether a tape records what is generated."""
        return bool(recording_tapes())

    def read_variable(self, value: StagedValue) -> StagedValue:
        """The array of a `tl.Variable`; another value is itself."""
        if self.is_static(value, Variable):
            return self.read_place(value.layout.object, "value")  # type: ignore[union-attr]
        return value

    def index_in(self, key: FieldKey, owner: StagedValue) -> Any:
        """The index of an object in the vectors of a field."""
        if not is_compact(self.layout_of_key(key)):
            return owner.leaves[0]
        if self.row_vector is None:
            self.requirements.needs_rows = True
            self.require_restart()
            self.row_vector = self.outer_placeholder(Type(dtypes.int64, (None,)))
        return self.emit("take", self.row_vector, owner.leaves[0], axis=0)

    def read_row(self, key: FieldKey | PlaceKey, owner: StagedValue, node: ast.AST) -> StagedValue:
        """The value of a field of an object, which is asserted to be there."""
        is_key = issubclass(key.owner, Pool) if isinstance(key, FieldKey) else key.owner.owner in POOLS
        raises = KeyError if is_key else AttributeError
        return self.require_assigned(self.row(key, owner), node, f"{key} is there", raises)

    def row(self, key: FieldKey | PlaceKey, owner: StagedValue) -> StagedValue:
        """The value of a field of an object, which may be MISSING."""
        if isinstance(key, PlaceKey):
            return self.read_place(key.owner, key.name)
        layout, index = self.layout_of_key(key), self.index_in(key, owner)
        return StagedValue(layout, tuple(self.emit("take", leaf, index, axis=0) for leaf in self.leaves_of(key)))

    def widen(self, key: FieldKey | OutsideKey, layout: Layout) -> None:
        """Widen the layout of a field or variable, and restart generation: at once if the field or variable was in
        use."""
        layouts: Any = self.observation.fields if isinstance(key, FieldKey) else self.observation.variables
        if any(isinstance(option, TextLayout) for option in options_of(layout)):
            layout = join(layout, ANY_TEXT)  # what a call has computed is a string that the next one reads
        before, pool_count = layouts.get(key, MISSING), len(self.observation.merged_pools)
        self.observation.set_layout(layouts, key, layout)
        self.observation.widening_count += 1
        is_new = before == MISSING and key in self.new_leaves and key not in self.state.heap
        has_new_pools = self.observation.is_outdated or len(self.observation.merged_pools) > pool_count
        self.require_restart(is_now=not is_new or has_new_pools)
        self.add_leaves(key)

    def write_heap(
        self,
        key: FieldKey | OutsideKey,
        value: StagedValue,
        node: ast.AST,
        find_row: Callable[[], Any] | None = None,
        is_new: bool = False,
    ) -> None:
        """Write a field of an object, whose row `find_row` returns, or a variable of a module or cell. With `is_new`,
        the object is new, so the layout need not admit an earlier value."""
        require_value(value.layout)
        if not isinstance(key, FieldKey) or not issubclass(key.owner, ArrayPool):
            value = self.name_array(value)
        layout = self.layout_of_key(key)
        if key not in self.requirements.assigned_keys:
            self.requirements.assigned_keys[key] = None
            self.require_restart()
        if not isinstance(key, FieldKey) and MISSING in options_of(layout):
            raise NotSpeculable(f"{key} is assigned where it may not exist yet")
        if any(map(is_new_list, parts(value.layout))):
            raise NotSpeculable(f"a new list is stored in {key}, beside a tape")
        if isinstance(key, FieldKey) and not is_new:
            self.requirements.late_names.add(key)
        wide = widen_constants(value.layout)
        is_first = layout == MISSING and (is_new or (isinstance(key, FieldKey) and key.is_items))
        if not is_within(wide, layout):
            self.widen(key, wide if is_first else join(layout, wide))
            layout = self.layout_of_key(key)
        leaves = self.coerce(value, layout).leaves
        if find_row is None:
            self.state.heap[key] = leaves
            return
        vectors, index = [], find_row()
        for vector, leaf, type_ in zip(self.leaves_of(key), leaves, layout.types, strict=True):
            if None in (type_.shape or ()):
                self.require_static_objects()
                raise NotSpeculable(f"{key} is assigned an array whose shape is not known")
            vectors.append(self.emit("scatter", vector, as_start(leaf, type_), index))
        self.state.heap[key] = tuple(vectors)

    def allocate(self, owner: type, node: ast.AST) -> StagedValue:
        """A new object of a class, or a new list or dict of a pool, without attributes or items."""
        self.keep_in_table(owner)
        key = AllocationKey(owner)
        if key not in self.requirements.allocations:
            self.requirements.allocations.add(key)
            self.requirements.assigned_keys[key] = None
            self.require_restart()
            self.add_leaves(key)
        index, end = self.leaves_of(key)
        has_capacity = self.emit("less", index, end)
        claim = f"there is room for a new {class_name(owner)}"
        self.check(
            has_capacity, node, claim, "the graph runs again with more room where there is not", capacity_key=key
        )
        index = self.emit("where", has_capacity, index, 0)
        self.state.heap[key] = self.emit("add", index, 1), end
        return StagedValue(ReferenceLayout(frozenset([owner]), False), (index,))

    def pool_of_site(self, python_class: type, node: ast.expr) -> Any:
        """The pool of the lists, or dicts, that an expression of the source creates."""
        return self.observation.pool(python_class, SourceSite(self.location_of(node), node.col_offset))

    def call_library(self, function: Any, arguments: Sequence[StagedValue], is_exact: bool = False) -> StagedValue:
        """A call of a function of `library`, which implements a builtin in Python."""
        raise NotImplementedError

    def has_own_comparison(self, layout: Layout) -> bool:
        """Whether `==` of a value may be a call of Python code."""
        raise NotImplementedError

    def call_value(
        self, function: StagedValue, arguments: list[StagedValue], keywords: dict[str, StagedValue], node: ast.expr
    ) -> StagedValue:
        """A call of a value, whose arguments are evaluated."""
        raise NotImplementedError

    def name_array(self, value: StagedValue) -> StagedValue:
        """A value that is assigned, stored or passed on: a new array of NumPy gets a row of the table."""
        raise NotImplementedError

    def array_key(self, index: StagedValue) -> Any:
        """The key of an item of an array: constants, ints and arrays."""
        raise NotImplementedError

    def number_of_text(self, text: str) -> int:
        """The number that a constant string has in the table."""
        texts = self.requirements.texts
        if text not in texts:
            texts.append(text)
        return texts.index(text)

    def call_special(
        self, owner: StagedValue, name: str, arguments: Sequence[StagedValue], node: ast.AST
    ) -> StagedValue:
        """A call of a special method, which Python finds in the class of an object."""
        raise NotImplementedError

    def new_object(self, value: StagedValue) -> NewObject | None:
        """The object whose `__init__` is being generated, if a value is one."""
        if not isinstance(value.layout, ReferenceLayout):
            return None
        return next((new for new in self.state.new_objects if is_same_leaf(new.leaf, value.leaves[0])), None)

    def replace_new_object(self, old: NewObject, *new: NewObject) -> None:
        """Replace an object whose `__init__` is being generated, or remove it."""
        objects = self.state.new_objects
        position = objects.index(old)
        self.state.new_objects = (*objects[:position], *new, *objects[position + 1 :])

    def publish(self, new: NewObject) -> None:
        """Let other code see an object under construction: attributes that it lacks become optional."""
        for key in sorted(self.requirements.fields, key=str):
            if key.owner is new.owner and not new.has(key.name):
                layout = self.layout_of_key(key)
                if MISSING not in options_of(layout):
                    self.widen(key, join(layout, MISSING))

    def note_creation_orders(self, new: NewObject) -> None:
        """Note the orders in which new objects of a class get their attributes, or new dicts their keys."""
        self.requirements.creation_orders.setdefault(new.owner, set()).update(new.orders)

    def tuple_of(self, items: Sequence[StagedValue], kind: type = tuple) -> StagedValue:
        """A tuple, or new list, of these items."""
        return StagedValue(
            TupleLayout(tuple(item.layout for item in items), kind),
            tuple(leaf for item in items for leaf in item.leaves),
        )

    def array_operand(self, value: StagedValue) -> Any:
        """An operand of an op on arrays. A number takes the dtype of an array only if it is constant."""
        if isinstance(value.layout, ArrayLayout | ConstantLayout):
            return self.leaf_of(value)
        raise NotSpeculable(f"{with_article(value.layout)} that is computed is an operand beside an array")

    def wrap_array(self, result: Any) -> StagedValue:
        """The result of an op on arrays."""
        if type(result) is ConcreteArray:  # of constants, such as zeros
            return StagedValue(ArrayLayout(result._type), (result,))
        if not isinstance(result, Symbol):
            raise NotSpeculable(f"{describe_class(result)} of arrays has no graph")
        type_ = result._tagloom_value.type
        if type_.shape is None:
            raise NotSpeculable("an array whose rank is not known")
        return StagedValue(ArrayLayout(type_), (result,))

    def predicate_value(self, predicate: Any) -> StagedValue:
        return self.number("b", predicate) if isinstance(predicate, Symbol) else self.constant(bool(predicate))


class GraphValue:
    """The base class of values that exist only in the graph: nested functions, tapes and gradients of functions."""


@dataclass(frozen=True, eq=False)
class NestedFunction(GraphValue):
    """A function that a function of the program defines."""

    node: FunctionNode
    frame: FunctionFrame


def require_value(layout: Layout) -> None:
    """Raises NotSpeculable for values that exist only in the graph."""
    parts = layout.items if isinstance(layout, TupleLayout) else options_of(layout)
    for part in parts:
        if isinstance(part, ConstantLayout) and isinstance(part.value, GraphValue):
            raise NotSpeculable("a nested function, tape or gradient leaves the function around it")
        if part is not layout:
            require_value(part)


@dataclass(frozen=True)
class SourceSite:
    """An expression of the source, as the place of the lists or dicts that it creates."""

    location: Location
    column: int

    def __str__(self) -> str:
        return f"made in line {self.location.line}"


_BRANCH_VALUE = "value of the branch"
"""The key of the value of a branch, beside the entries of the state at its end."""


class _CondResult(NamedTuple):
    """The result, at this position, of the cond that a merge emits."""

    position: int


def fill_results(entries: dict[Any, tuple[Layout, list[Any]]], results: Sequence[Any]) -> dict[Any, StagedValue]:
    """The entries with the results of a cond in their places."""
    return {
        key: StagedValue(
            layout, tuple(results[leaf.position] if isinstance(leaf, _CondResult) else leaf for leaf in leaves)
        )
        for key, (layout, leaves) in entries.items()
    }


@dataclass(frozen=True)
class _VectorLayout:
    """Stands for the layout of a field in a state, whose values are vectors."""

    key: HeapKey
    types: tuple[Type, ...]
    height = 0


def constant_leaf(layout: ConstantLayout) -> Any:
    """The value of a constant that is an operand. Raises NotSpeculable for an int of more than 62 bits, and for an
    array of NumPy, since its elements may change."""
    if type(layout.value) is int and abs(layout.value) >= MAX_INTEGER:
        raise NotSpeculable(f"{layout.value} has more than 62 bits")
    if isinstance(layout.value, np.ndarray):
        raise NotSpeculable(f"an array of NumPy of shape {layout.value.shape} and {layout.value.dtype} has no graph")
    return layout.value


def widen_constants(layout: Layout) -> Layout:
    """A layout with constant numbers widened to their classes."""
    kind = number_kind(layout)
    if kind is not None:
        return NumberLayout(kind)
    if isinstance(layout, TupleLayout):
        return TupleLayout(tuple(map(widen_constants, layout.items)), layout.kind)
    return layout


def is_same_leaf(first: Any, second: Any) -> bool:
    """Whether two leaves are the same symbol, the same array, or the same int or bool."""
    if isinstance(first, Symbol) and isinstance(second, Symbol):
        return first._tagloom_value is second._tagloom_value
    if isinstance(first, Symbol) or isinstance(second, Symbol) or type(first) is not type(second):
        return False
    return first is second or (type(first) in (bool, int) and first == second)


def is_same_value(first: StagedValue, second: StagedValue) -> bool:
    """Whether two values have the same layout, and the same symbols or constants."""
    return first.layout == second.layout and all(map(is_same_leaf, first.leaves, second.leaves))


def as_start(leaf: Any, type_: Type) -> Any:
    """A start value of a loop with a fixed dtype: a Python number becomes a NumPy scalar."""
    return type_.dtype.numpy.type(leaf) if type(leaf) in NUMBER_CLASSES else leaf
