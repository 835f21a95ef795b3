"""Sequences whose length or items are known only when the program runs: `zip`, `enumerate` and `reversed` of symbolic
ranges and arrays, and generator expressions over them."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ...errors import Invalid, describe_class
from ..eager.apply import apply
from ..trace.captures import read_variable
from ..trace.program_builder import current_region
from ..trace.python_operations import perform
from ..trace.source_location import user_location
from ..trace.stacked_items import has_stacked_items
from ..trace.symbol import Symbol
from . import items, library, open_lists
from .calls import announce_iteration, check_iterators
from .characters import as_characters, is_symbolic_text
from .classes import user_method
from .convert import convert
from .nested_lists import note_added_list, note_shared_lists, note_snapshot
from .operators import Operators
from .pushed_items import PushedItems, SingleUse
from .raising import located_exception, stage_assertion
from .ranges import CountedRange, SymbolicRange
from .state import register_created
from .trees import is_symbolic
from .writes import announce_items, set_attribute


class SymbolicSequence(SingleUse):
    """Items by their positions, which a `for` loop counts through. The length may be symbolic."""

    def __init__(self, length: Any, item: Callable[[Any], Any]) -> None:
        self.length, self.item = length, item
        register_created(self)

    def positions(self) -> Any:
        """The range of the positions."""
        return SymbolicRange(self.length) if is_symbolic(self.length) else range(self.length)

    def __iter__(self) -> NoReturn:
        raise Invalid(
            "only a for loop counts through a sequence of symbolic length",
            rule="F1",
            where=user_location(),
            hint="write a for loop",
            python=TypeError,
        )

    __len__ = __getitem__ = __iter__


class LiveItems(CountedRange):
    """The positions of a list while a loop iterates over it, from `start`: the body may change its length."""

    is_live = True

    def __init__(self, container: Any, start: int = 0) -> None:
        super().__init__(start, None, 1)
        self.container, self.items, self.count = container, list(container), open_lists.item_count(container)

    def has(self, number: Any) -> Any:
        is_same = len(self.items) == len(self.container) and all(map(operator.is_, self.items, self.container))
        return number < (self.count if is_same else open_lists.item_count(self.container))

    def item(self, position: Any) -> Any:
        """The item at a position now."""
        return items.get_item(self.container, position)


def is_counted(iterable: Any) -> bool:
    """Whether only a loop of the program can go through an iterable."""
    if isinstance(iterable, SymbolicRange | SymbolicSequence) or has_stacked_items(iterable):
        return True
    if is_symbolic_text(iterable):
        return True
    if isinstance(iterable, PushedItems):
        return False
    value = read_variable(iterable)
    return isinstance(value, Symbol) and bool(value._type.shape) and value._type.shape[0] is None  # type: ignore[index]


def as_sequence(iterable: Any) -> SymbolicSequence:
    """The items of a range, array, list or tuple by their positions. Raises Invalid (F4) for other iterables."""
    iterable = read_variable(iterable)
    if isinstance(iterable, SymbolicSequence):
        iterable.begin()
        return iterable
    if isinstance(iterable, SymbolicRange):
        return SymbolicSequence(iterable.length(), lambda position: iterable.start + position * iterable.step)
    if isinstance(iterable, Symbol):
        return SymbolicSequence(iterable.shape[0], lambda position: iterable[position])  # type: ignore[index]
    if is_symbolic_text(iterable):
        text = as_characters(iterable)
        return SymbolicSequence(text.length(), text.item)
    if has_stacked_items(iterable):
        items_now = list(iterable)
        note_snapshot(items_now)
        return SymbolicSequence(
            open_lists.item_count(items_now), lambda position: open_lists.get_open_item(items_now, position)
        )
    if isinstance(iterable, list | tuple | range | np.ndarray):
        return SymbolicSequence(len(iterable), lambda position: _known_item(iterable, position))
    raise Invalid(
        f"{describe_class(iterable)} is iterated over together with a sequence of symbolic length",
        rule="F4",
        where=user_location(),
        hint="use x[i % len(x)]" if isinstance(iterable, itertools.cycle) else "make a list of it before",
    )


def _has_positions(iterable: Any) -> bool:
    return is_symbolic_text(iterable) or isinstance(
        read_variable(iterable), list | tuple | range | np.ndarray | Symbol | SymbolicRange | SymbolicSequence
    )


def spread_known(value: Any) -> Any:
    """The items of a list, a tuple or a sequence by positions, one by one, if they are in arrays and their number is
    known; any other value unchanged."""
    if isinstance(value, SymbolicSequence) and type(value.length) is int:
        value.begin()
        return [value.item(position) for position in range(value.length)]
    if not has_stacked_items(value) or type(open_lists.item_count(value)) is not int:
        return value
    return type(value)(open_lists.spread_items(value))


def _known_item(container: Any, position: Any) -> Any:
    return items.get_item(container, position) if is_symbolic(position) else container[position]


def zip_items(operators: Operators, *iterables: Any, strict: bool = False) -> Any:
    """`zip(*iterables)`."""
    first, others = iterables[:1], iterables[1:]
    if first and isinstance(first[0], PushedItems) and others and all(map(_has_positions, others)) and not strict:
        return NumberedItems(operators, first[0], 0, _zip_sequences(others))
    if not all(map(_has_positions, iterables)):  # iterators
        iterables = tuple(spread_known(iterable) for iterable in iterables)
    if not any(map(is_counted, iterables)):
        return register_created(perform(zip, *iterables, strict=strict))
    return _zip_sequences(iterables, strict=strict)


def _zip_sequences(iterables: Sequence[Any], *, strict: bool = False) -> SymbolicSequence:
    sequences = [as_sequence(source) for source in iterables]
    length = sequences[0].length
    for sequence in sequences[1:]:
        if strict:
            stage_assertion(
                apply("equal", length, sequence.length),
                located_exception(ValueError("zip() arguments differ in length")),
            )
        both = length, sequence.length
        if any(type(size) is int and size == 0 for size in both):
            length = 0  # a body that is traced takes an item
        else:
            length = apply("minimum", *both) if any(map(is_symbolic, both)) else min(both)
    return SymbolicSequence(length, lambda position: tuple(sequence.item(position) for sequence in sequences))


def enumerate_items(operators: Operators, iterable: Any, start: Any = 0) -> Any:
    """`enumerate(iterable, start)`."""
    if isinstance(iterable, PushedItems):
        return NumberedItems(operators, iterable, start, None)
    if not is_counted(iterable):
        if is_symbolic(read_variable(start)):
            return register_created((start + position, item) for position, item in enumerate(iterable))
        return register_created(perform(enumerate, iterable, start))
    sequence = as_sequence(iterable)
    return SymbolicSequence(sequence.length, lambda position: (position + start, sequence.item(position)))


def reverse_items(iterable: Any) -> Any:
    """`reversed(iterable)`."""
    if isinstance(iterable, SymbolicRange) or not is_counted(iterable):
        return register_created(perform(reversed, iterable))
    sequence = as_sequence(iterable)
    return SymbolicSequence(sequence.length, lambda position: sequence.item(sequence.length - 1 - position))


class NumberedItems(PushedItems):
    """`enumerate` of items that are handed over, or `zip` of them with a sequence: the sequence ends it, after the item
    for which it has none is computed, as in Python."""

    may_stop = True

    def __init__(
        self, operators: Operators, source: PushedItems, start: Any, sequence: SymbolicSequence | None
    ) -> None:
        self.operators, self.source, self.sequence = operators, source, sequence
        self.number = start
        register_created(self)

    def push(self, add: Callable[[Any], Any], *, may_stop: bool = False) -> Any:
        self.begin()

        def add_next(item: Any) -> Any:
            number = self.number
            set_attribute(number + 1, self, "number")
            return add((number, item) if others is None else (item, *others.item(number)))

        def add_or_stop(item: Any) -> Any:
            assert others is not None, "the sequence may end it"
            is_over = self.number >= others.length
            return self.operators.if_exp(is_over, lambda: True, lambda: add_next(item) if may_stop else add_on(item))

        def add_on(item: Any) -> bool:
            add_next(item)
            return False

        others = self.sequence
        return (
            self.source.push(add_next, may_stop=may_stop)
            if others is None
            else self.source.push(add_or_stop, may_stop=True)
        )

    def __iter__(self) -> NoReturn:
        raise Invalid(
            "a generator is combined with a sequence outside of a for loop and of list()",
            rule="F4",
            where=user_location(),
            hint="make a list of the generator before",
        )


class _Total:
    """The result computed from the items so far."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.has_items: Any = False


def create_generator(
    iterable: Any, native: Callable[[Any], Any], push: Callable[..., Any], has_choices: bool, may_stop: bool = False
) -> Any:
    """A generator expression; Python's own where the number of its items is known."""
    if current_region() is not None and (has_choices or is_counted(iterable) or isinstance(iterable, PushedItems)):
        return PushedItems(iterable, native, push, may_stop)
    check_iterators(iterable)
    return register_created(native(iterable))


def create_list(iterable: Any, native: Callable[[Any], Any], push: Callable[..., Any], has_choices: bool) -> Any:
    """A list comprehension; Python's own where the number of its items is known."""
    if current_region() is None or not (has_choices or is_counted(iterable) or isinstance(iterable, PushedItems)):
        announce_iteration(iterable)
        return register_created(native(iterable))
    return collect_items(PushedItems(iterable, native, push))


def collect_items(generator: PushedItems) -> Any:
    """A list of the items of a generator expression."""
    result = register_created([])

    def add(item: Any) -> None:
        note_added_list(result, item)
        announce_items(result)
        result.append(item)

    generator.push(add)
    return result


def push_all(items: Any) -> PushedItems:
    """The items of a list of symbolic length, a symbolic range, or an array."""
    return PushedItems(items, iter, convert(library.push_items))  # type: ignore[arg-type]


def sum_items(binary: Callable[[str, Any, Any], Any], iterable: Any, /, start: Any = 0) -> Any:
    """`sum(iterable, start)`; `binary` adds instances of the user's classes."""
    if has_stacked_items(iterable):
        iterable = push_all(iterable)
    if isinstance(iterable, SymbolicRange):
        return iterable.sum() + start
    if isinstance(iterable, list | tuple) and any(user_method(item, "__add__") for item in iterable):
        return functools.reduce(functools.partial(binary, "+"), iterable, start)
    if not isinstance(iterable, PushedItems):
        result = perform(sum, iterable, start)
        if has_stacked_items(result):
            note_shared_lists(result, start, *iterable)
        return result
    total = register_created(_Total(start))
    iterable.push(lambda item: set_attribute(total.value + item, total, "value"))
    return total.value


def quantify(operators: Operators, decisive: bool, generator: PushedItems) -> Any:
    """`any`, which True decides, or `all`, which False decides, of a generator expression."""
    is_decided = generator.push((lambda item: item) if decisive else operators.not_, may_stop=True)
    return is_decided if decisive else operators.not_(is_decided)


def next_item(operators: Operators, generator: PushedItems, *default: Any) -> Any:
    """`next` of a generator expression that stands in the call: its first item. Raises Invalid (F4) for one that is a
    variable, since it goes on after that item."""
    if not generator.may_stop:
        raise Invalid(
            "next() takes a generator expression from a variable",
            rule="F4",
            where=user_location(),
            hint="write it in the call, as in next((x for x in items if x > n), None), or write a loop",
        )
    first = register_created(_Total(False))

    def add(item: Any) -> bool:
        set_attribute(item, first, "value")
        set_attribute(True, first, "has_items")
        return True

    generator.push(add, may_stop=True)
    if default:
        return operators.if_exp(first.has_items, lambda: first.value, lambda: default[0])
    if operators.is_symbolic(first.has_items):
        stage_assertion(first.has_items, located_exception(StopIteration()))
    elif not first.has_items:
        raise located_exception(StopIteration())
    return first.value


def extremum(operators: Operators, name: str, generator: PushedItems, key: Any, default: tuple[Any, ...]) -> Any:
    """`max` or `min` of a generator expression: of several items with equal keys, the first."""
    total = register_created(_Total((False, False)))
    symbol = ">" if name == "max" else "<"

    def add(item: Any) -> None:
        pair, best = (item, item if key is None else operators.call(key, item)), total.value
        if type(item) is list or type(pair[1]) is list:
            raise Invalid(
                f"{name}() compares or returns lists of a list whose length is known only at run time",
                rule="F4",
                where=user_location(),
                hint="write a loop that keeps the best number and its position",
            )
        is_taken = operators.or_(operators.not_(total.has_items), lambda: operators.binary(symbol, pair[1], best[1]))
        set_attribute(operators.if_exp(is_taken, lambda: pair, lambda: best), total, "value")
        set_attribute(True, total, "has_items")

    generator.push(add)
    if default:
        return operators.if_exp(total.has_items, lambda: total.value[0], lambda: default[0])
    empty = ValueError(f"{name}() arg is an empty sequence")
    if is_symbolic(total.has_items):
        stage_assertion(total.has_items, located_exception(empty))
    elif not total.has_items:
        raise located_exception(empty)
    return total.value[0]
