"""Operators: the meaning of Python's constructs in converted code, by the type of the value that they test, iterate
over, or call.

A converted function calls these as `ag__.NAME`. With concrete values each does what Python does; with symbolic values
it stages: a branch or loop becomes one of another system. `Operators` is the same for all systems; a subclass stages to
one of them (`ProgramOperators`: to the program under trace).
"""

from __future__ import annotations

import builtins
import functools
import inspect
import math
import operator
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, MappingView, Sequence
from types import FunctionType, MethodType
from typing import Any, Literal, TypeAlias

from ...errors import Invalid, TagloomError
from ..trace.choice import Choice
from ..trace.program_builder import NoTypeYet
from ..trace.python_operations import fail_as_python, perform
from ..trace.source_location import user_location
from ..trace.stacked_items import DICT_CLASSES, StackedItems
from ..trace.text import TEXTS
from .calls import announce_iteration, check_assignments, is_fresh, is_plain_class, note_advanced, take_conditional_item
from .classes import BINARY, UNARY, equal_fields, operate, user_method
from .contexts import ConvertedContext
from .convert import HAND_OVER
from .raising import handlers, located_exception
from .ranges import CountedRange
from .state import (
    CONTAINERS,
    AttributePlace,
    CellPlace,
    GlobalPlace,
    MaybeUnassigned,
    Place,
    Undefined,
    Variables,
    active_journal,
    commit,
    is_unassigned,
    open_journal,
    record_lasting_effect,
    record_write,
    register_created,
)
from .user_code import is_convertible
from .writes import AUGMENTED_OPERATORS, announce_items, augment, delete_attribute, delete_item, set_attribute, set_item

Thunk: TypeAlias = Callable[[], Any]
LoopForm: TypeAlias = Literal["plain", "break", "exit", "exits"]
"""What the body of a loop returns: nothing; whether the loop goes on; that, and whether an exit was taken; that, and
the number of the exit taken, 0 if none."""
TargetShape: TypeAlias = tuple[Any, ...]
"""The shape of a target that unpacks: None for a variable, `...` for one with a star, and shapes of parts."""

_ITERATORS = (enumerate, zip, map, filter, reversed)
SELF_MATCHING = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""The classes whose class pattern has one pattern by position: for the subject itself."""
_COLLECTIONS = (list, tuple, dict, MappingView, str, bytes, bytearray, set, frozenset, deque, range)
"""The classes of Python that are true if they have items."""
_ORDER = ("<", "<=", ">", ">=")
_FRAME_READERS: dict[Any, float] = {locals: math.inf, globals: math.inf, eval: 2, exec: 2, vars: 1, dir: 1}
"""The builtins that look at the variables of their caller, unless they have this many arguments."""


def by_option(*positions: int) -> Callable[[Any], Any]:
    """A method of operators whose operands at these positions may be choices: it is called for each option."""

    def decorate(method: Callable[..., Any]) -> Any:
        @functools.wraps(method)
        def run(self: Operators, *operands: Any) -> Any:
            if not any(type(operands[k]) is Choice for k in positions if k < len(operands)):
                return method(self, *operands)

            def perform(*chosen: Any) -> Any:
                every = list(operands)
                for position, operand in zip(positions, chosen, strict=False):
                    every[position] = operand
                return method(self, *every)

            return self.choose(perform, *(operands[k] for k in positions if k < len(operands)))

        return run

    return decorate


def _no_state() -> None:
    """The state of a branch that assigns no variables."""


class Operators(ABC):
    """The operators of converted Python. The abstract methods are those that each system defines."""

    assign_item = staticmethod(set_item)
    remove_item = staticmethod(delete_item)
    handlers = staticmethod(handlers)
    slice = builtins.slice

    def __init__(self) -> None:
        self.builtins: dict[Any, Callable[..., Any]] = {
            int: functools.partial(self._cast, int),
            float: functools.partial(self._cast, float),
            bool: functools.partial(self._cast, bool),
            max: functools.partial(self._extremum, max, ">"),
            min: functools.partial(self._extremum, min, "<"),
            any: functools.partial(self._quantify, True),
            all: functools.partial(self._quantify, False),
            isinstance: self._isinstance,
            type: self._type,
            round: self._round,
            next: self._next,
            len: functools.partial(self._call_method, self.count_items, "__len__"),
            abs: functools.partial(self._call_method, abs, "__abs__"),
            iter: functools.partial(self._call_method, iter, "__iter__"),
            setattr: lambda owner, name, value: self.set_attribute(value, owner, name),
            **{builtin: functools.partial(_call_frame_reader, builtin) for builtin in _FRAME_READERS},
            **self._operator_functions(),
        }
        """What is called in place of a builtin that needs concrete values."""

    def _operator_functions(self) -> dict[Any, Callable[..., Any]]:
        """The functions of Python's module `operator`, each by the operator that it names."""

        def in_place(symbol: str) -> Callable[[Any, Any], Any]:
            return lambda left, right, /: self.augment(symbol, left, right)

        binary = {row.function: functools.partial(self.binary, symbol) for symbol, row in BINARY.items()}
        return {
            **binary,
            **{function: in_place(symbol) for symbol, function in AUGMENTED_OPERATORS.items()},
            **{row[0]: functools.partial(self.unary, symbol) for symbol, row in UNARY.items()},
            operator.or_: lambda left, right, /: self.merge(left, right),
            operator.pow: lambda base, exponent, /: self.power(base, exponent),
            operator.eq: lambda left, right, /: self.equal(left, right),
            operator.ne: lambda left, right, /: self.not_equal(left, right),
            operator.not_: lambda value, /: self.not_(value),
            operator.truth: functools.partial(self._cast, bool),
            operator.is_: lambda left, right, /: self.is_(left, right),
            operator.is_not: lambda left, right, /: self.is_not(left, right),
            operator.contains: lambda container, item, /: self.in_(item, container),
            operator.getitem: lambda container, key, /: self.get_item(container, key),
            operator.setitem: lambda container, key, value, /: self.set_item(value, container, key),
            operator.delitem: lambda container, key, /: self.delete_item(container, key),
            operator.index: lambda value, /: value if self.is_integer(value) else perform(operator.index, value),
        }

    # What differs from system to system

    @abstractmethod
    def is_symbolic(self, value: Any) -> bool:
        """Whether a value is known only when the staged code runs."""

    @abstractmethod
    def truth(self, value: Any) -> Any:
        """The truth of a symbolic value, as a predicate."""

    @abstractmethod
    def negate(self, value: Any) -> Any:
        """`not value`, of a symbolic value."""

    def is_integer(self, value: Any) -> bool:
        """Whether a value is known to be an integer."""
        return isinstance(value, int)

    def compare_identity(self, left: Any, right: Any) -> Any:
        """`left is right`, where one of the values is symbolic."""
        raise Invalid("`is` does not compare numbers", rule="F4", where=user_location(), hint="write x == y, or x != y")

    @abstractmethod
    def stage_branch(self, test: Any, then: Thunk, otherwise: Thunk, variables: Variables) -> Any:
        """Stage a conditional with a symbolic test. Returns the merged results of the branches. All places that they
        change get their merged contents."""

    @abstractmethod
    def stage_loop(
        self,
        test: Thunk,
        body: Thunk,
        variables: Variables,
        live_places: Sequence[Place] = (),
        parallel_iterations: int | None = None,
    ) -> None:
        """Stage a loop with a symbolic test, and give all places that it changes their contents after it.
        `live_places` are further loop variables."""

    @abstractmethod
    def stage_assertion(self, predicate: Any, error: AssertionError) -> None:
        """Stage an assertion, which raises this error where the predicate is false."""

    @abstractmethod
    def compute_test(self, test: Thunk) -> tuple[Any, bool]:
        """The value of a loop's test, and whether it is symbolic; then what it has staged is dropped."""

    @abstractmethod
    def join_text(self, *texts: Any) -> Any:
        """An f-string, of its constant parts and its fields."""

    @abstractmethod
    def field(self, value: Any, conversion: str, specification: Any = "") -> Any:
        """`{value!conversion:specification}` in an f-string."""

    def format_percent(self, text: Any, values: Any) -> Any:
        """`text % values`, of a literal text."""
        return text % values

    def is_assumed(self, condition: Any) -> bool:
        """Whether the present code is in a branch in which a condition of `MaybeUnassigned` holds."""
        return False

    @abstractmethod
    def cast_symbolic(self, value: Any, kind: type) -> Any:
        """`int(value)`, `float(value)` or `bool(value)`, of a symbolic value."""

    @abstractmethod
    def round_symbolic(self, value: Any, *digits: Any) -> Any:
        """`round(value, *digits)`, of a symbolic value."""

    @abstractmethod
    def python_class(self, value: Any) -> type:
        """The class that a symbolic value has in Python."""

    @abstractmethod
    def call_function(self, function: FunctionType, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a Python function."""

    def call_constructor(self, function: FunctionType, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call an `__init__` of the user."""
        return self.call_function(function, arguments, keywords)

    @abstractmethod
    def call_opaque(self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call what is not converted."""

    def exception(self, error: Any) -> Any:
        """The exception of a `raise`."""
        return located_exception(error)

    def unwind(self, number: Any, error: Thunk) -> Any:
        """Leave a `with`, or a `try` with a `finally`, by a `raise`. A system in which a symbolic condition may decide
        on it gives the number of this exit instead; the exception is raised after the statement."""
        raise located_exception(error())

    def position(self) -> Any:
        """Where the staged code is, for `check_effects`."""
        return None

    def check_effects(self, start: Any, middle: Any, lines: Any = None) -> None:
        """Refuse the end of a `try` or `with` whose staged effects need what a trap in its body may withhold. The body
        starts at one position, its end at the other. The `lines` are the last one of the body that
        changes what the end reads, and the first one of the end."""
        return

    @staticmethod
    def is_left(number: Any, error: Exception) -> bool:
        """Whether an exit of a `finally` takes the place of an exception."""
        is_internal = isinstance(error, TagloomError | NoTypeYet)
        return not is_internal and type(number) in (bool, int) and bool(number)

    def context(self, manager: Any) -> Any:
        """A context manager of a `with`."""
        if type(manager) is Choice:
            manager.refuse()
        return ConvertedContext(self, manager) if hasattr(type(manager), "__exit__") else manager

    # Choices

    def choose(self, perform: Callable[..., Any], *operands: Any) -> Any:
        """The result of `perform` for operands, some of which are choices. Only a system that makes choices has
        them."""
        return perform(*operands)

    def operate(self, operation: Callable[..., Any], *operands: Any) -> Any:
        """The result of an operation of Python."""
        return perform(operation, *operands)

    # Conditions

    def condition(self, value: Any) -> Any:
        """The truth of a value as its class defines it: for a container, whether it has items; for an instance
        of a user's class, what its `__bool__` or `__len__` says."""
        if type(value) is Choice:
            return self.choose(functools.partial(self._cast, bool), value)
        for name in ("__bool__", "__len__"):
            method = user_method(value, name)
            if method is not None:
                return self.call(method, value)
        return bool(value) if issubclass(type(value), _COLLECTIONS) else value  # a choice refuses isinstance

    # Operators that classes may define

    @by_option(1, 2)
    def binary(self, symbol: str, left: Any, right: Any) -> Any:
        """`left symbol right`."""
        if symbol in _ORDER:
            return self._order(symbol, left, right)
        return operate(self.call, self.operate, symbol, left, right)

    def _order(self, symbol: str, left: Any, right: Any) -> Any:
        """A comparison by order. Of tuples and lists, the first items that differ decide, else the lengths."""
        are_lists = type(left) is type(right) is list
        if not (are_lists or _are_tuples(left, right)) or user_method(left, BINARY[symbol].method):
            return operate(self.call, self.operate, symbol, left, right)
        if any(map(self.is_symbolic, map(self.count_items, (left, right)))):
            return perform(BINARY[symbol].function, left, right)
        if not (left and right):
            return BINARY[symbol].function(len(left), len(right))
        rest = left[1:], right[1:]
        return self.if_exp(
            self.equal(left[0], right[0]),
            lambda: self._order(symbol, *rest),
            lambda: self.binary(symbol, left[0], right[0]),
        )

    def merge(self, left: Any, right: Any) -> Any:
        """`left | right`, which may be dicts."""
        return self.binary("|", left, right)

    def power(self, base: Any, exponent: Any) -> Any:
        """`base ** exponent`."""
        return self.binary("**", base, exponent)

    less, less_equal = functools.partialmethod(binary, "<"), functools.partialmethod(binary, "<=")
    greater, greater_equal = functools.partialmethod(binary, ">"), functools.partialmethod(binary, ">=")

    def unary(self, symbol: str, operand: Any) -> Any:
        """`-operand`, `+operand` or `~operand`."""
        function, name = UNARY[symbol]
        return self._call_method(function, name, operand)

    @by_option(1, 2)
    def augment(self, symbol: str, left: Any, right: Any) -> Any:
        """`left += right`, or another augmented assignment: the new value of its target."""
        method = user_method(left, f"__i{BINARY[symbol].method[2:]}")
        if method is not None:
            result = self.call(method, left, right)
            if result is not NotImplemented:
                return result
        has_methods = user_method(left, BINARY[symbol].method) or user_method(right, BINARY[symbol].reflected)
        return self.binary(symbol, left, right) if has_methods else augment(self.operate, symbol, left, right)

    @by_option(2)
    def _call_method(self, function: Callable[..., Any], name: str, value: Any, /, *arguments: Any) -> Any:
        """The result of `function(value)`, by the method of this name if the user has written it."""
        method = None if arguments else user_method(value, name)
        return perform(function, value, *arguments) if method is None else self.call(method, value)

    def count_items(self, value: Any) -> Any:
        """`len(value)`."""
        return len(value)

    @by_option(0)
    def get_attribute(self, owner: Any, name: str) -> Any:
        """`owner.name`, which may be a property, or what the user's `__get__` returns."""
        member = inspect.getattr_static(type(owner), name, None)
        descriptor = user_method(member, "__get__")
        if descriptor is not None and (hasattr(type(member), "__set__") or name not in vars(owner)):
            return self.call(descriptor, member, owner, type(owner))
        if isinstance(member, functools.cached_property):
            if name not in vars(owner):
                set_attribute(self.call(member.func, owner), owner, name)
            return vars(owner)[name]
        getter = member.fget if isinstance(member, property) else None
        is_of_user = type(getter) is FunctionType and is_convertible(getter)
        return self.call(getter, owner) if is_of_user else perform(getattr, owner, name)

    @by_option(1)
    def set_attribute(self, value: Any, owner: Any, name: str) -> None:
        """`owner.name = value`, which may be a property, or what the user's `__setattr__` or `__set__` does."""
        member = inspect.getattr_static(type(owner), name, None)
        setter = member.fset if isinstance(member, property) else None
        own, descriptor = user_method(owner, "__setattr__"), user_method(member, "__set__")
        if own is not None:
            self.call(own, owner, name, value)
        elif descriptor is not None:
            self.call(descriptor, member, owner, value)
        elif type(setter) is FunctionType and is_convertible(setter):
            self.call(setter, owner, value)
        else:
            set_attribute(value, owner, name)

    @by_option(0)
    def delete_attribute(self, owner: Any, name: str) -> None:
        """`del owner.name`."""
        method = user_method(owner, "__delattr__")
        if method is not None:
            self.call(method, owner, name)
        else:
            delete_attribute(owner, name)

    @by_option(1, 2)
    def set_item(self, value: Any, container: Any, key: Any) -> None:
        """`container[key] = value`."""
        method = user_method(container, "__setitem__")
        if method is not None:
            self.call(method, container, key, value)
        else:
            self.assign_item(value, container, key)

    @by_option(0, 1)
    def delete_item(self, container: Any, key: Any) -> None:
        """`del container[key]`."""
        method = user_method(container, "__delitem__")
        if method is not None:
            self.call(method, container, key)
        else:
            self.remove_item(container, key)

    def items_for_python(self, iterable: Any) -> Any:
        """The iterable of a comprehension that runs in Python."""
        return iterable

    def iterate(self, iterable: Any) -> Any:
        """The iterable of a loop: the result of `__iter__` of a user's class, or the iterable itself."""
        method = user_method(iterable, "__iter__")
        return iterable if method is None else self.call(method, iterable)

    def if_stmt(self, test: Any, then: Thunk, otherwise: Thunk, state: Thunk, live: Sequence[str] = ()) -> Any:
        """`if`: the result of the branch that is taken. `state` closes over the variables that the branches assign;
        `live` are the names of those that are read afterwards."""
        test = self.condition(test)
        if self.is_symbolic(test):
            return self.stage_branch(test, then, otherwise, Variables(state, live))
        return then() if test else otherwise()

    def if_exp(self, test: Any, then: Thunk, otherwise: Thunk, state: Thunk = _no_state) -> Any:
        """`then if test else otherwise`."""
        return self.if_stmt(test, then, otherwise, state, state.__code__.co_freevars)

    def and_(self, left: Any, *others: Thunk, state: Thunk = _no_state) -> Any:
        """`left and ...`: the first operand that is false, else the last."""
        if not others:
            return left
        return self.if_exp(left, lambda: self.and_(others[0](), *others[1:], state=state), lambda: left, state)

    def or_(self, left: Any, *others: Thunk, state: Thunk = _no_state) -> Any:
        """`left or ...`: the first operand that is true, else the last."""
        if not others:
            return left
        return self.if_exp(left, lambda: left, lambda: self.or_(others[0](), *others[1:], state=state), state)

    def not_(self, value: Any) -> Any:
        """`not value`."""
        value = self.condition(value)
        return self.negate(value) if self.is_symbolic(value) else not value

    def chain(self, left: Any, *steps: Any, state: Thunk = _no_state) -> Any:
        """`a < b < c`: `steps` are pairs of a comparison and a function that computes its right operand. It is called
        once, and only if the comparisons before are true."""
        compare, operand, *rest = steps
        right = operand()
        result = compare(left, right)
        if not rest:
            return result
        return self.if_exp(result, lambda: self.chain(right, *rest, state=state), lambda: result, state)

    @by_option(0, 1)
    def in_(self, item: Any, container: Any) -> Any:
        """`item in container`, where one of them is symbolic: in a range, or a collection of values."""
        method = user_method(container, "__contains__")
        if method is not None:
            return self._cast(bool, self.call(method, container, item))
        if isinstance(container, CountedRange) or (isinstance(container, range) and self.is_symbolic(item)):
            return self._in_range(item, container)
        if isinstance(container, list | tuple | set | frozenset | dict) and any(
            map(self._has_own_equality, (item, *container))
        ):
            return self.or_(
                False, *(lambda member=member: member is item or self.equal(member, item) for member in container)
            )
        return perform(operator.contains, container, item)

    def _has_own_equality(self, value: Any) -> bool:
        """Whether Python cannot compare a value, or a part of it, by itself."""
        if type(value) in (list, tuple):
            return any(map(self._has_own_equality, value))
        return self.is_symbolic(value) or type(value) is Choice or user_method(value, "__eq__") is not None

    def _in_range(self, item: Any, numbers: range | CountedRange) -> Any:
        """`item in range(...)`, by arithmetic. Raises Invalid (F4) for a symbolic step."""
        start, stop, step = numbers.start, numbers.stop, numbers.step
        if self.is_symbolic(step):
            raise Invalid(
                "`in` takes no range with a symbolic step",
                rule="F4",
                where=user_location(),
                hint="compare with its bounds, and take the remainder",
            )
        is_within = self.chain(start, operator.le, lambda: item, operator.lt, lambda: stop)
        if step < 0:
            is_within = self.chain(stop, operator.lt, lambda: item, operator.le, lambda: start)
        if step in (1, -1) and self.is_integer(item):
            return is_within
        return self.and_(is_within, lambda: (item - start) % step == 0)

    def generator(
        self,
        iterable: Any,
        native: Callable[[Any], Any],
        push: Callable[..., Any],
        has_choices: bool,
        may_stop: bool = False,
    ) -> Any:
        """A generator expression over an iterable: `native` makes it, `push(iterable, add)` calls `add` on each item.
        `has_choices` says that it has further loops, or conditions, `may_stop` that `push` ends where `add` is true."""
        return register_created(native(iterable))

    def list_comprehension(
        self, iterable: Any, native: Callable[[Any], Any], push: Callable[..., Any], has_choices: bool
    ) -> Any:
        """A list comprehension over an iterable, with the same arguments as `generator`."""
        return native(iterable)

    def dict_comprehension(
        self, iterable: Any, native: Callable[[Any], Any], push: Callable[..., Any], has_choices: bool
    ) -> Any:
        """A dict comprehension over an iterable; `native` makes its pairs, which `push` hands over."""
        return register_created(dict(native(iterable)))

    def set_comprehension(
        self, iterable: Any, native: Callable[[Any], Any], push: Callable[..., Any], has_choices: bool
    ) -> Any:
        """A set comprehension over an iterable; `native` makes its items."""
        return register_created(set(native(iterable)))

    def dict_display(self, *pairs: Any) -> Any:
        """`{key: value, **table}`: a pair for each entry, and a tuple of one for a table."""
        result = register_created({})
        for pair in pairs:
            result.update([pair] if len(pair) == 2 else pair[0])
        return result

    def set_display(self, *members: Any) -> Any:
        """`{member, ...}`."""
        return register_created(set(members))

    def spread(self, iterable: Any) -> Any:
        """The iterable that Python gets in place of this one, in the loop of a generator."""
        return iterable

    def star(self, iterable: Any) -> Any:
        """The iterable that Python gets in place of this one in a call, as in `f(*iterable)`."""
        return self.spread(iterable)

    def share(self, iterable: Any) -> Any:
        """The same in a display, as in `[*iterable]`: the items are items of the new list or tuple, too."""
        return self.star(iterable)

    @by_option(0, 1)
    def get_item(self, container: Any, index: Any) -> Any:
        """`container[index]`."""
        method = user_method(container, "__getitem__")
        if method is not None:
            return self.call(method, container, index)
        may_add = isinstance(container, dict) and hasattr(type(container), "__missing__")
        if not may_add or isinstance(container, Counter) or perform(operator.contains, container, index):
            return perform(operator.getitem, container, index)
        announce_items(container)  # a defaultdict adds the key
        return register_created(perform(operator.getitem, container, index))

    def equal(self, left: Any, right: Any) -> Any:
        """`left == right`."""
        fields = equal_fields(left, right)
        if fields is not None:
            left, right = fields
        if _are_tuples(left, right):
            left, right = tuple(left), tuple(right)
        if type(left) is not type(right) or type(left) not in (tuple, list):
            return self.binary("==", left, right)
        if len(left) != len(right):
            return False
        return self.and_(
            True, *(lambda pair=pair: pair[0] is pair[1] or self.equal(*pair) for pair in zip(left, right, strict=True))
        )

    def not_equal(self, left: Any, right: Any) -> Any:
        """`left != right`."""
        is_of_items = _are_tuples(left, right) or type(left) is type(right) is list
        has_method = user_method(left, "__ne__") or user_method(right, "__ne__")
        is_compared = user_method(left, "__eq__") or user_method(right, "__eq__")
        if is_of_items or (is_compared and not has_method):
            return self.not_(self.equal(left, right))
        return self.binary("!=", left, right)

    def unpack(self, value: Any, shape: TargetShape) -> Any:
        """What `a, (*b, c) = value` unpacks; the shape has `...` for the variable with a star, and tuples for parts
        that are unpacked, too."""
        return value

    # Patterns

    @by_option(0)
    def has_items(self, subject: Any, count: int, has_more: bool = False) -> Any:
        """Whether a sequence pattern of this many patterns matches the class and the length of a subject; `has_more`
        says that it has a `*`, which matches any number of further items."""
        if not isinstance(subject, Sequence) or isinstance(subject, str | bytes | bytearray):
            return False
        length = self.count_items(subject)
        return length >= count if has_more else length == count

    @by_option(0)
    def inner_items(self, subject: Any, before: int, after: int) -> Any:
        """The items that the `*` of a sequence pattern matches, between this many others."""
        return register_created([*self.get_item(subject, slice(before, -after or None))])

    @by_option(0)
    def has_keys(self, subject: Any, keys: tuple[Any, ...]) -> Any:
        """Whether a mapping pattern with these keys matches the class and the keys of a subject."""
        return isinstance(subject, Mapping) and all(key in subject for key in keys)

    @by_option(0)
    def other_items(self, subject: Any, keys: tuple[Any, ...]) -> Any:
        """The items of a mapping, but for these keys."""
        return register_created({key: item for key, item in subject.items() if key not in keys})

    @by_option(0)
    def has_class(self, subject: Any, kind: Any, count: int, names: tuple[str, ...]) -> Any:
        """Whether a class pattern matches the class of a subject, which has attributes of these names, and of those of
        this many patterns by position."""
        if not isinstance(kind, type):
            fail_as_python(TypeError("called match pattern must be a class"))
        if not self._isinstance(subject, kind):
            return False
        positional = () if kind in SELF_MATCHING else getattr(kind, "__match_args__", ())
        most = 1 if kind in SELF_MATCHING else len(positional)
        if count > most:
            fail_as_python(TypeError(f"{kind.__name__}() accepts {most} positional sub-patterns ({count} given)"))
        names = (*positional[:count], *names)
        repeated = next((name for position, name in enumerate(names) if name in names[:position]), None)
        if repeated is not None:
            fail_as_python(TypeError(f"{kind.__name__}() got multiple sub-patterns for attribute {repeated!r}"))
        return all(hasattr(subject, name) for name in names)

    @by_option(0)
    def positional_part(self, subject: Any, kind: Any, position: int) -> Any:
        """What a class pattern matches with the pattern at this position."""
        if kind in SELF_MATCHING:
            return subject
        return self.get_attribute(subject, kind.__match_args__[position])

    def known_subject(self, subject: Any) -> Any:
        """The subject of a `match` that Python decides. Raises Invalid (F4) where a part of it is symbolic."""
        pending = [subject]
        for part in pending:  # a worklist: the loop appends to it
            if self.is_symbolic(part) or type(part) is Choice:
                raise Invalid(
                    "this `match` has a symbolic subject",
                    rule="F4",
                    where=user_location(),
                    hint="write a case for each alternative of `|` that assigns names, and no `match` in a generator",
                )
            if type(part) in (list, tuple, *DICT_CLASSES):
                pending += part.values() if type(part) in DICT_CLASSES else part
        return subject

    def not_in(self, item: Any, container: Any) -> Any:
        """`item not in container`."""
        return self.not_(self.in_(item, container))

    @by_option(0, 1)
    def is_(self, left: Any, right: Any) -> Any:
        """`left is right`. Raises Invalid (F4) for numbers if one of them is symbolic: only bools have an identity."""
        if left is right or not (self.is_symbolic(left) or self.is_symbolic(right)):
            return left is right
        if not all(self.is_symbolic(value) or isinstance(value, bool | int | float) for value in (left, right)):
            return False
        return self.compare_identity(left, right)

    def is_not(self, left: Any, right: Any) -> Any:
        """`left is not right`."""
        return self.not_(self.is_(left, right))

    def assert_(self, test: Any, message: Thunk) -> None:
        """`assert test, message`."""
        test = self.condition(test)
        if self.is_symbolic(test):
            self.stage_assertion(self.truth(test), AssertionError(*message()))
        elif not test:
            raise located_exception(AssertionError(*message()))

    def try_stmt(
        self,
        classes: Thunk,
        body: Thunk,
        handle: Callable[[BaseException], Any],
        otherwise: Thunk | None,
        state: Thunk,
        live: Sequence[str] = (),
    ) -> Any:
        """`try` with handlers of these classes: the number of the exit taken, by the body, the `else`, or by `handle`,
        which raises an exception again, under the handlers."""
        try:
            with handlers(classes):
                number = body()
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            return handle(error)
        return number if otherwise is None else self.if_stmt(number, lambda: number, otherwise, state, live)

    def while_stmt(
        self,
        test: Thunk,
        body: Callable[..., Any],
        state: Thunk,
        live: Sequence[str],
        form: LoopForm = "plain",
        parallel_iterations: int | None = None,
    ) -> Any:
        """`while`: the number of the exit taken, where the form has one. The body of a loop with exits gets the test,
        and calls it where the loop goes on.

        The loop runs in Python until its test is symbolic; the rest is staged."""
        variables = Variables(state, live)

        def condition() -> Any:
            return self.condition(test())

        def stage(body: Thunk, test: Thunk, places: Sequence[Place] = ()) -> None:
            self.stage_loop(test, body, variables, places, parallel_iterations)

        start = self.position()
        if form == "plain":
            while True:
                if self.stages_rest(start, variables, lambda: stage(body, condition)):
                    return 0
                go_on, is_staged = self.evaluate_test(condition, variables)
                if is_staged:
                    stage(body, condition)
                    return 0
                if not go_on:
                    return 0
                self.count_iteration(variables)
                body()
        loop = register_created(ExitLoop(form))

        def truth() -> Any:
            value = condition()
            return self.truth(value) if self.is_symbolic(value) else bool(value)

        def stage_iterations() -> None:
            stage(lambda: loop.take(body(truth)), lambda: loop.go_on, loop.places())

        loop.go_on = truth()
        while not self.is_symbolic(loop.go_on):
            if not loop.go_on or self.stages_rest(start, variables, stage_iterations):
                return loop.exit_number
            self.count_iteration(variables)
            loop.take(body(truth))
        stage_iterations()
        return loop.exit_number

    def count_iteration(self, variables: Variables) -> None:  # noqa: B027  # a system may have no bound
        """Count an iteration of a loop that runs in Python, and refuse too many of them."""

    def stages_rest(self, start: Any, variables: Variables, stage: Thunk) -> bool:
        """Stage what is left of a loop whose iterations are known, and began at this position, where it is too long;
        whether that was done."""
        return False

    def evaluate_test(self, test: Thunk, variables: Variables) -> tuple[Any, bool]:
        """The value of a loop's test, and whether it is symbolic; then nothing is left of its evaluation."""
        start = variables.read()
        with open_journal(0) as journal:
            value, is_staged = self.compute_test(test)
            if is_staged:
                journal.undo()
                variables.write(start)
        if not is_staged:
            commit(journal)
        return value, is_staged

    def for_stmt(
        self,
        iterable: Any,
        target: Callable[[Any], Any],
        body: Callable[..., Any],
        state: Thunk,
        live: Sequence[str],
        form: LoopForm = "plain",
        last: str = "",
        parallel_iterations: int | None = None,
        loop: ExitLoop | None = None,
    ) -> Any:
        """`for`: the number of the exit taken, where the form has one. `target` assigns an item to the loop's target.
        `last` is the name of the target if it is read after the loop and the body does not assign it. `loop` is the
        state of a loop that has begun."""
        if isinstance(iterable, CountedRange):
            return self._for_range(
                iterable, target, body, Variables(state, live), form, last, parallel_iterations, loop
            )
        variables = Variables(state, [*live, *([last] if last else [])])
        loop = loop or register_created(ExitLoop(form))
        announce_iteration(iterable)
        iterator = perform(iter, iterable)
        while True:
            is_conditional = self.is_symbolic(loop.go_on) and type(iterable) is not UnrolledItems
            try:
                item = take_conditional_item(iterator) if is_conditional else perform(next, iterator)
            except StopIteration:
                return loop.exit_number
            self.count_iteration(variables)

            def run_iteration(item: Any = item) -> Any:
                target(item)
                return body() if form == "plain" else body(lambda: True)

            if form == "plain":
                run_iteration()
                continue
            if self.is_symbolic(loop.go_on):
                skipped = (False, loop.exit_number) if form.startswith("exit") else False
                loop.take(
                    self.stage_branch(loop.go_on, run_iteration, functools.partial(_identity, skipped), variables)
                )
            else:
                loop.take(run_iteration())
            if not self.is_symbolic(loop.go_on) and not loop.go_on:
                return loop.exit_number

    def _for_range(
        self,
        numbers: CountedRange,
        target: Callable[[Any], Any],
        body: Callable[..., Any],
        variables: Variables,
        form: LoopForm,
        last: str,
        parallel_iterations: int | None,
        begun: ExitLoop | None,
    ) -> Any:
        counter, loop = register_created(_Counter(numbers.start)), begun or register_created(ExitLoop(form))
        place = AttributePlace(counter, "number", last or _target_name(target))

        def run_iteration() -> None:
            number = counter.number
            target(number)
            if form == "plain":
                body()
                counter.number = number + numbers.step
            else:
                counter.number = number + numbers.step
                if numbers.is_live:
                    loop.take(body(lambda: numbers.has(counter.number)))
                    return
                go_on = numbers.has(counter.number)  # a comparison costs less than the choice to compute it
                loop.take(body(lambda: go_on))

        if form == "plain":
            self.stage_loop(lambda: numbers.has(counter.number), run_iteration, variables, [place], parallel_iterations)
        else:
            if begun is None:
                loop.go_on = numbers.has(numbers.start)
            self.stage_loop(lambda: loop.go_on, run_iteration, variables, [place, *loop.places()], parallel_iterations)
        if last:
            self._assign_last(variables.places[last], numbers, counter.number - numbers.step)
        return loop.exit_number

    def _assign_last(self, place: CellPlace, numbers: CountedRange, value: Any) -> None:
        """Give the target of a loop over a range its last item, if there was one."""
        before = place.read()
        if is_unassigned(before):
            reason = f"the loop at {user_location()} assigns it, and may have no iterations"
            place.write(MaybeUnassigned(place.label, reason, value))
        else:
            place.write(self.if_exp(numbers.has(numbers.start), lambda: value, lambda: before))

    def is_last_exit(self, chosen: Any, number: int) -> Any:
        """Whether a statement whose end is not reached was left by its last exit, if it was left by none of the others.
        A known number is 0 where a context manager has suppressed an exception."""
        return True if self.is_symbolic(chosen) else chosen == number

    # Calls

    def call(self, function: Any, /, *arguments: Any, **keywords: Any) -> Any:
        """`function(*arguments, **keywords)`."""
        if type(function) is Choice:
            return self.choose(lambda option: self.call(option, *arguments, **keywords), function)
        if type(function) is FunctionType:
            return self.call_function(function, arguments, keywords)
        if type(function) is MethodType and type(function.__func__) is FunctionType:
            return self.call_function(function.__func__, (function.__self__, *arguments), keywords)
        if type(function) is functools.partial:
            return self.call(function.func, *function.args, *arguments, **{**function.keywords, **keywords})
        if not isinstance(function, type) or function in self.builtins:
            operands = *arguments, *keywords.values()
            if any(type(operand) is Choice for operand in operands):
                count = len(arguments)
                return self.choose(
                    lambda *options: self.call(
                        function, *options[:count], **dict(zip(keywords, options[count:], strict=True))
                    ),
                    *operands,
                )
        try:
            replacement = self.builtins.get(function)
        except TypeError:  # not hashable
            replacement = None
        if replacement is not None:
            return replacement(*arguments, **keywords)
        if isinstance(function, type):
            return self._create_instance(function, arguments, keywords)
        method = type(function).__dict__.get("__call__")
        if type(method) is FunctionType and is_convertible(method):
            return self.call_function(method, (function, *arguments), keywords)
        return self.call_opaque(function, arguments, keywords)

    def _create_instance(self, kind: type, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """An instance of a class; its `__init__` is converted if it is the user's."""
        constructor, is_plain = kind.__dict__.get("__init__"), is_plain_class(kind)
        if is_plain and type(constructor) is FunctionType and is_convertible(constructor):
            instance = register_created(object.__new__(kind))
            self.call_constructor(constructor, (instance, *arguments), keywords)
            return instance
        instance = self.call_opaque(kind, arguments, keywords)
        is_new = kind in CONTAINERS or is_plain or (kind in _ITERATORS and all(map(is_fresh, arguments)))
        return register_created(instance) if is_new else instance

    # Builtins

    def _cast(self, kind: type, *arguments: Any, **keywords: Any) -> Any:
        if kind is bool:
            arguments = tuple(map(self.condition, arguments))
        if len(arguments) == 1 and not keywords:
            method = user_method(arguments[0], f"__{kind.__name__}__")
            if method is not None:
                return self.call(method, arguments[0])
            if self.is_symbolic(arguments[0]):
                return self.cast_symbolic(arguments[0], kind)
        return perform(kind, *arguments, **keywords)

    def _round(self, value: Any, *digits: Any) -> Any:
        return self.round_symbolic(value, *digits) if self.is_symbolic(value) else perform(round, value, *digits)

    def _isinstance(self, value: Any, classes: Any) -> bool:
        is_instance: bool = perform(isinstance, value, classes)
        return is_instance or (self.is_symbolic(value) and issubclass(self.python_class(value), classes))

    def _type(self, *arguments: Any, **keywords: Any) -> Any:
        if len(arguments) == 1 and not keywords and self.is_symbolic(arguments[0]):
            return self.python_class(arguments[0])
        return perform(type, *arguments, **keywords)

    def orders_by_choice(self, key: Any) -> bool:
        """Whether a comparison by order with a key may be symbolic, or calls a method of the user."""
        if isinstance(key, tuple | list):
            return any(map(self.orders_by_choice, key))
        if type(key) in (Choice, StackedItems) or isinstance(key, TEXTS):
            return True
        return self.is_symbolic(key) or any(user_method(key, BINARY[symbol].method) for symbol in _ORDER)

    def _extremum(self, original: Any, symbol: str, *arguments: Any, key: Any = None, **default: Any) -> Any:
        """`max` or `min`: the first item that no later one exceeds by `symbol`, which is `>` or `<`."""
        items = list(arguments if len(arguments) > 1 else self.call(iter, *arguments))
        keys = items if key is None else [self.call(key, item) for item in items]
        if not any(map(self.orders_by_choice, keys)):
            position = perform(original, range(len(items)), key=keys.__getitem__, default=None)
            return perform(original, items, **default) if position is None else items[position]
        best = items[0], keys[0]
        for pair in zip(items[1:], keys[1:], strict=True):
            is_next_better, branches = self.binary(symbol, pair[1], best[1]), (pair, best)
            best = self.if_exp(is_next_better, *(functools.partial(_identity, branch) for branch in branches))
        return best[0]

    def _quantify(self, decisive: bool, items: Any, /) -> Any:
        """`any`, which True decides, or `all`, which False decides."""
        announce_iteration(items)
        iterator = perform(iter, items)

        def decided() -> bool:
            return decisive

        def rest() -> Any:
            for item in iterator:
                if self.is_symbolic(item):
                    check_assignments(iterator)
                    note_advanced(iterator)
                    return self.if_exp(item, *((decided, rest) if decisive else (rest, decided)))
                if bool(item) is decisive:
                    return decisive
            return not decisive

        return rest()

    def _next(self, iterator: Any, *default: Any) -> Any:
        journal = active_journal()
        if journal is not None and id(iterator) not in journal.created_objects:
            record_lasting_effect("an iterator is advanced")
        return perform(next, iterator, *default)

    # Variables

    def load(self, read: Thunk, name: str) -> Any:
        """A variable that may be unassigned here; raises UnboundLocalError where it is."""
        try:
            value = read()
        except NameError:
            words = f"cannot access local variable {name!r} where it is not associated with a value"
            raise located_exception(UnboundLocalError(words)) from None
        if isinstance(value, MaybeUnassigned) and self.is_assumed(value.condition):
            return value.value
        return value.fail() if isinstance(value, Undefined) else value

    @staticmethod
    def assigned_value(value: Any) -> Any:
        """A variable that is assigned for certain, since a statement was left by an exit."""
        return value.value if isinstance(value, MaybeUnassigned) else value

    @staticmethod
    def new_container(value: Any) -> Any:
        """A list, dict or set that the code has just created."""
        return register_created(value)

    @staticmethod
    def note_hand_over(generator: FunctionType, push: FunctionType, push_until: FunctionType) -> None:
        """Note the functions that hand over the items of a nested generator function."""
        generator.__dict__[HAND_OVER] = {False: push, True: push_until}

    @staticmethod
    def before_nonlocal(read: Thunk) -> None:
        """Announce a write to a variable of an enclosing function, which `read` reads."""
        (cell,) = read.__closure__ or ()
        (name,) = read.__code__.co_freevars
        record_write(CellPlace(cell, name))

    @staticmethod
    def before_global(read: Thunk) -> None:
        """Announce a write to a global variable, which `read` reads."""
        (name,) = read.__code__.co_names
        record_write(GlobalPlace(read.__globals__, name))


class UnrolledItems:
    """The items of a loop that is unrolled; to take one may stage the rest of the loop."""

    def __init__(self, items: Iterator[Any]) -> None:
        self.items = items

    def __iter__(self) -> Iterator[Any]:
        return self.items


class ExitLoop:
    """The state that a loop with exits has besides its variables: whether it goes on, and by which exit it left."""

    def __init__(self, form: LoopForm) -> None:
        self.form = form
        self.go_on: Any = True
        self.exit_number: Any = 0 if form == "exits" else False

    def take(self, result: Any) -> None:
        """Take over what the body has returned."""
        if self.form == "break":
            self.go_on = result
        else:
            self.go_on, self.exit_number = result

    def places(self) -> list[AttributePlace]:
        """The loop variables that a staged loop has for its exits."""
        names = ("go_on",) if self.form == "break" else ("go_on", "exit_number")
        return [AttributePlace(self, name, name) for name in names]


def _call_frame_reader(builtin: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    if len(arguments) >= _FRAME_READERS[builtin]:
        return perform(builtin, *arguments, **keywords)
    raise Invalid(
        f"{builtin.__name__}() is not supported in a converted function",
        rule="F4",
        where=user_location(),
        hint="it looks at the variables of the frame that calls it",
    )


def _are_tuples(*values: Any) -> bool:
    """Whether values are compared as tuples: named ones, too."""
    return all(isinstance(value, tuple) and type(value).__eq__ is tuple.__eq__ for value in values)


def _identity(value: Any) -> Any:
    return value


def _target_name(target: Callable[[Any], Any]) -> str:
    """The variable that is the whole target of a loop: the only one that the function assigns; else `i`."""
    code = getattr(target, "__code__", None)
    names: tuple[str, ...] = code.co_freevars if code is not None else ()
    return names[0] if len(names) == 1 and names[0] != "ag__" else "i"


class _Counter:
    """The counter of a staged `for` over a range."""

    def __init__(self, number: Any) -> None:
        self.number = number
