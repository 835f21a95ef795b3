"""The operators that stage to the program under trace: a branch is a `cond`, a loop a `while_loop`."""

from __future__ import annotations

import bisect
import functools
import heapq
import itertools
import math
import operator
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from ... import dtypes
from ...errors import Invalid, TagloomError
from ..array_api.datatypes import astype
from ..eager.apply import apply
from ..trace.captures import read_variable
from ..trace.choice import Choice
from ..trace.mutable_arrays import MutableArray, is_basic_key
from ..trace.numbers import number_kind
from ..trace.program_builder import check_current, check_current_list, current_region, to_operand, unwrap_weak
from ..trace.python_operations import perform
from ..trace.source_location import user_location
from ..trace.stacked_items import StackedItems, TracedSet, has_stacked_entries, has_stacked_items
from ..trace.symbol import Symbol, array_namespace, python_class
from . import (
    array_writes,
    calls,
    handlers,
    items,
    iterators,
    library,
    mathematics,
    methods,
    nested_lists,
    numpy_functions,
    open_lists,
    option_operations,
    raising,
    recursion,
    sequences,
    staging,
    tables,
    texts,
    trees,
)
from .characters import (
    Characters,
    as_characters,
    character,
    format_integer,
    greatest_character,
    is_symbolic_integer,
    is_symbolic_text,
)
from .classes import user_method
from .convert import OPERATORS, convert
from .operators import ExitLoop, LoopForm, Operators, TargetShape, Thunk, UnrolledItems, by_option
from .pushed_items import GeneratorItems, PushedItems
from .ranges import CountedRange, SymbolicRange
from .state import Place, Variables, is_unassigned, record_write, register_created
from .writes import announce_items, refuse_rebuilt, replace_items

__all__ = ["OPERATORS", "ProgramOperators"]

_ITERATING = (sorted, sum, min, max, any, all, list, tuple, enumerate, zip, reversed, map, filter)
"""The builtins that go through their arguments."""
_ARRAY_LIKE = (np.ndarray, np.generic, bool, int, float, list, tuple)
"""The classes of the known operands of operators on arrays."""
_READING_MODULES = ("itertools", "math", "statistics")
"""Modules whose functions read lists, and do not change them."""

_COUNTERPARTS: dict[Any, Any] = {
    bisect.bisect_left: library.bisect_left,
    bisect.bisect_right: library.bisect_right,
    bisect.insort_left: library.insert_left,
    bisect.insort_right: library.insert_right,
    heapq.heapify: library.heapify,
    heapq.heappop: library.heap_pop,
    heapq.heappush: library.heap_push,
    heapq.heappushpop: library.heap_push_pop,
    heapq.heapreplace: library.heap_replace,
}
"""Functions of Python's libraries, with their counterparts."""


class ProgramOperators(Operators):
    """Stages to the program under trace. Variables are read where their values count."""

    call_function = staticmethod(calls.call_function)
    choose = staticmethod(option_operations.choose_operands)
    operate = staticmethod(option_operations.operate)
    is_assumed = staticmethod(staging.is_assumed)
    dict_display = staticmethod(tables.create_table)
    check_effects = staticmethod(raising.check_effects)

    def __init__(self) -> None:
        super().__init__()
        self.builtins |= calls.BUILTINS
        self.builtins |= {
            bin: functools.partial(self._to_base, bin, "#b"),
            hex: functools.partial(self._to_base, hex, "#x"),
            oct: functools.partial(self._to_base, oct, "#o"),
            format: self._format,
            hasattr: self._hasattr,
            id: self._identify,
            chr: self._chr,
            enumerate: functools.partial(sequences.enumerate_items, self),
            filter: convert(library.filter_items),  # type: ignore[arg-type]
            functools.cmp_to_key: methods.Comparison,
            functools.reduce: functools.partial(self._library_call, library.reduce_items),
            itertools.count: self._count_from,
            math.prod: self._prod,
            map: convert(library.map_items),  # type: ignore[arg-type]
            ord: self._ord,
            pow: methods.power,
            reversed: sequences.reverse_items,
            sorted: functools.partial(methods.sort, self),
            sum: functools.partial(sequences.sum_items, self.binary),
            zip: functools.partial(sequences.zip_items, self),
            Counter: self._create_counter,
            dict: self._create_dict,
            list: functools.partial(methods.create_list, self),
            set: self._create_set,
            tuple: functools.partial(methods.create_tuple, self),
            deque: self._create_deque,
            defaultdict: self._create_defaultdict,
        }
        self.builtins |= iterators.replacements(self)
        for function, counterpart in _COUNTERPARTS.items():
            self.builtins[function] = functools.partial(self._call_counterpart, function, counterpart)

    def _call_counterpart(self, function: Any, counterpart: Any, *arguments: Any, **keywords: Any) -> Any:
        """Call a function of a library by its counterpart in Python, which is converted, if a value is symbolic."""
        is_known = not any(map(trees.has_symbols, arguments))
        if current_region() is None or is_known or keywords.keys() - {"lo", "hi"}:
            return calls.call_opaque(function, arguments, keywords)
        return self._library_call(counterpart, *arguments, **keywords)

    def _create_deque(self, *arguments: Any, **keywords: Any) -> Any:
        is_staged = len(arguments) == 1 and (sequences.is_counted(arguments[0]) or type(arguments[0]) is PushedItems)
        if current_region() is None or keywords or not is_staged:
            return register_created(perform(deque, *arguments, **keywords))
        return register_created(deque(methods.create_list(self, *arguments)))

    def _create_defaultdict(self, *arguments: Any, **keywords: Any) -> Any:
        return register_created(calls.call_opaque(defaultdict, arguments, keywords))

    def _prod(self, iterable: Any, /, *, start: Any = 1) -> Any:
        if current_region() is None:
            return perform(math.prod, iterable, start=start)
        return self._library_call(library.multiply_items, iterable, start)

    @staticmethod
    def _count_from(*arguments: Any, **keywords: Any) -> Any:
        if current_region() is None:
            return perform(itertools.count, *arguments, **keywords)
        return GeneratorItems(library.count_from, arguments, keywords)  # type: ignore[arg-type]

    def _create_set(self, *iterables: Any) -> Any:
        if current_region() is None or len(iterables) != 1:
            return perform(set, *iterables) if iterables else tables.create_set()
        (source,) = iterables
        if tables.is_open_table(source):
            source = tables.rows_of(source)
        if sequences.is_counted(source) or isinstance(source, PushedItems):
            return self._library_call(library.set_of, source)
        return tables.create_set(self.call(iter, source))

    def _create_dict(self, *sources: Any, **keywords: Any) -> Any:
        if current_region() is None or len(sources) > 1:
            return perform(dict, *sources, **keywords)
        result = register_created({})
        for source in sources:
            pairs = tables.pairs_of(source)
            if isinstance(source, dict) and not tables.is_open_table(source):
                result.update(source)
            elif isinstance(pairs, PushedItems):
                pairs.push(functools.partial(self._library_call, library.assign_pair, result))
            elif sequences.is_counted(pairs):
                self._library_call(library.update_table, result, pairs)
            else:
                for key, value in self.call(iter, pairs):
                    self.set_item(value, result, key)
        for name, value in keywords.items():
            self.set_item(value, result, name)
        return result

    def _create_counter(self, *sources: Any, **keywords: Any) -> Any:
        is_counted = len(sources) == 1 and not isinstance(sources[0], dict) and not keywords
        if current_region() is None or not is_counted or not self._needs_program(sources[0]):
            return register_created(self.call_opaque(Counter, sources, keywords))
        table = register_created(Counter())
        self._library_call(library.count_items, table, sources[0])
        return table

    def _call_counter_method(self, table: Any, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """`most_common` or `update` of a Counter with symbolic entries; NotImplemented for all else."""
        is_open, is_single = tables.is_open_table(table), len(arguments) == 1 and not keywords
        if name == "update" and is_single and not isinstance(arguments[0], dict):
            needs_program = is_open or self._needs_program(arguments[0])
            return self._library_call(library.count_items, table, arguments[0]) if needs_program else NotImplemented
        has_symbols = is_open or any(map(trees.has_symbols, (*table.values(), *arguments)))
        if name != "most_common" or keywords or not has_symbols:
            return NotImplemented
        ordered = methods.sort(self, tables.pairs_of(table), key=operator.itemgetter(1), reverse=True)
        return self.get_item(ordered, slice(None, *arguments)) if arguments else ordered

    @staticmethod
    def _needs_program(items: Any) -> bool:
        """Whether some items of an iterable, or their number, are known only at run time."""
        is_staged = sequences.is_counted(items) or isinstance(items, PushedItems)
        return is_staged or (type(items) in (list, tuple) and any(map(trees.has_symbols, items)))

    def set_display(self, *members: Any) -> Any:
        return tables.create_set(members)

    def dict_comprehension(
        self, iterable: Any, native: Callable[[Any], Any], push: Callable[..., Any], has_choices: bool
    ) -> Any:
        return self._create_dict(self.generator(iterable, native, push, has_choices))

    def set_comprehension(
        self, iterable: Any, native: Callable[[Any], Any], push: Callable[..., Any], has_choices: bool
    ) -> Any:
        if tables.is_open_table(iterable):
            iterable = tables.rows_of(iterable)  # the order does not matter
        members = self.list_comprehension(iterable, lambda option: list(native(option)), push, has_choices)
        return self._create_set(members)

    def generator(
        self,
        iterable: Any,
        native: Callable[[Any], Any],
        push: Callable[..., Any],
        has_choices: bool,
        may_stop: bool = False,
    ) -> Any:
        return sequences.create_generator(self.spread(iterable), native, push, has_choices, may_stop)

    def list_comprehension(
        self, iterable: Any, native: Callable[[Any], Any], push: Callable[..., Any], has_choices: bool
    ) -> Any:
        return sequences.create_list(self.spread(iterable), native, push, has_choices)

    def items_for_python(self, iterable: Any) -> Any:
        return sequences.spread_known(iterable)

    def spread(self, iterable: Any) -> Any:
        check_current(iterable)
        if tables.is_open_table(iterable):
            return iter(iterable) if type(iterable) is TracedSet else tables.rows_of(iterable)
        return iterable

    def star(self, iterable: Any) -> Any:
        is_handed_over = type(iterable) in (PushedItems, GeneratorItems, sequences.SymbolicSequence, SymbolicRange)
        if is_handed_over and current_region() is not None:
            return methods.create_list(self, iterable)
        return self.spread(iterable)

    def share(self, iterable: Any) -> Any:
        if has_stacked_items(iterable):
            check_current(iterable)
            nested_lists.note_shared_lists(iterable)
        return self.star(iterable)

    def merge(self, left: Any, right: Any) -> Any:
        are_dicts = isinstance(left, dict) and isinstance(right, dict)
        if are_dicts and any(map(tables.is_open_table, (left, right))):
            result = tables.create_union(left, right)
            for table in (left, right):
                self._library_call(library.update_table, result, tables.pairs_of(table))
            return result
        return super().merge(left, right)

    def _library_call(self, function: Any, *arguments: Any, **keywords: Any) -> Any:
        return self.call(convert(function), *arguments, **keywords)

    def join_text(self, *parts: Any) -> Any:
        return self.choose(texts.join_text, *parts)

    @by_option(0, 2)
    def field(self, value: Any, conversion: str, specification: Any = "") -> Any:
        check_current(value)
        return texts.field(value, conversion, specification)

    def format_percent(self, text: Any, values: Any) -> Any:
        if type(values) is tuple:
            return self.choose(lambda *options: texts.format_percent(text, options), *values)
        return self.choose(lambda option: texts.format_percent(text, option), values)

    def is_symbolic(self, value: Any) -> bool:
        return trees.is_symbolic(read_variable(value))

    def truth(self, value: Any) -> Any:
        return Symbol(staging.truth_operand(read_variable(value)))  # type: ignore[arg-type]

    def negate(self, value: Any) -> Any:
        return apply("logical_not", self.truth(value))

    def is_integer(self, value: Any) -> bool:
        value = read_variable(value)
        return isinstance(value, int) or (trees.is_symbolic(value) and value._tagloom_value.type.dtype.kind in "iu")

    def cast_symbolic(self, value: Any, kind: type) -> Any:
        if kind is bool:
            return self.truth(value)
        return astype(read_variable(value), dtypes.int64 if kind is int else dtypes.float64)

    def round_symbolic(self, value: Any, *digits: Any) -> Any:
        number = read_variable(value)
        is_number = number._tagloom_value.type.is_scalar
        if is_number and number_kind(number) and digits and type(digits[0]) is int:
            most = 22 if number_kind(number) == "f" else 18  # powers of ten that a float, or an int64, can hold
            if abs(digits[0]) > most:
                return round(number, *digits)
            return mathematics.round_to_digits(number, digits[0])
        if digits not in ((), (None,)) or not is_number:
            return round(number, *digits)
        kind = number._tagloom_value.type.dtype.kind
        rounded = array_namespace().round(number) if kind == "f" else number
        return astype(rounded, dtypes.int64) if kind in "bf" else number

    def _cast(self, kind: type, *arguments: Any, **keywords: Any) -> Any:
        if kind is int and arguments and is_symbolic_text(arguments[0]):
            bases = (*arguments[1:], *keywords.values())
            text = as_characters(arguments[0])
            return text.number_in_base(*bases) if bases else text.number()
        return super()._cast(kind, *arguments, **keywords)

    @staticmethod
    def _ord(text: Any) -> Any:
        return as_characters(text).code() if is_symbolic_text(text) else perform(ord, text)

    @staticmethod
    def _chr(code: Any) -> Any:
        code = read_variable(code)
        return character(code) if is_symbolic_integer(code) else perform(chr, code)

    @staticmethod
    def _to_base(function: Any, specification: str, number: Any) -> Any:
        """`bin`, `hex` or `oct`."""
        number = read_variable(number)
        codes = format_integer(number, specification) if is_symbolic_integer(number) else None
        return perform(function, number) if codes is None else Characters(codes)

    def _format(self, value: Any, specification: Any = "") -> Any:
        is_known = not trees.has_symbols(value) and not is_symbolic_text(value)
        return perform(format, value, specification) if is_known else self.field(value, "", specification)

    @by_option(0)
    def _identify(self, value: Any) -> int:
        """`id(value)`. Raises Invalid (F4) for a value of the program, and for a list or dict that may be one of
        several."""
        if trees.is_one_of_several(value):
            refuse_rebuilt(value, "write x is y")
        if self.is_symbolic(value):
            raise Invalid(
                "a symbolic value has no id",
                rule="F4",
                where=user_location(),
                got=repr(value),
                hint="use a number of your own as the key",
            )
        return id(value)

    def _hasattr(self, value: Any, name: Any) -> Any:
        """`hasattr(value, name)`. Raises Invalid (F4) for a number where Python's class and NumPy's differ in it."""
        value = read_variable(value)
        if is_symbolic_text(value) or has_stacked_items(value):
            return perform(hasattr, "" if is_symbolic_text(value) else value, name)
        if not trees.is_symbolic(value):
            return calls.call_opaque(hasattr, (value, name), {})
        own, dtype = self.python_class(value), value._tagloom_value.type.dtype
        examples = (
            [np.empty(0)] if own is np.ndarray else [dtype.numpy.type(), *([own()] if number_kind(value) else [])]
        )
        first, *others = (perform(hasattr, example, name) for example in examples)
        if others == [not first]:
            raise Invalid(
                f"whether a number has the attribute {name} depends on its class: NumPy's or Python's",
                rule="F4",
                where=user_location(),
                got=repr(value),
                hint="ask for its class by isinstance(x, float), or leave the test out",
            )
        return first

    def _isinstance(self, value: Any, classes: Any) -> bool:
        return super()._isinstance("" if is_symbolic_text(value) else value, classes)

    def _type(self, *arguments: Any, **keywords: Any) -> Any:
        if len(arguments) == 1 and not keywords and is_symbolic_text(arguments[0]):
            return str
        is_set = len(arguments) == 1 and not keywords and type(arguments[0]) is TracedSet
        return set if is_set else super()._type(*arguments, **keywords)

    def python_class(self, value: Any) -> type:
        return python_class(read_variable(value)._tagloom_value.type)

    def condition(self, value: Any) -> Any:
        check_current(value)
        if tables.is_open_table(value):
            return tables.count_entries(value)
        if is_symbolic_text(value):
            return as_characters(value).length()
        return open_lists.item_count(value) if has_stacked_items(value) else super().condition(value)

    def count_items(self, value: Any) -> Any:
        if tables.is_open_table(value):
            return tables.count_entries(value)
        return as_characters(value).length() if is_symbolic_text(value) else calls.count_items(value)

    @by_option(0, 1)
    def power(self, base: Any, exponent: Any) -> Any:
        """`base ** exponent`; a negative power of the integer 0 is a trap."""
        mathematics.check_power(base, exponent)
        return super().power(base, exponent)

    @by_option(1, 2)
    def augment(self, symbol: str, left: Any, right: Any) -> Any:
        if symbol == "**":
            mathematics.check_power(left, right)
        if type(left) in nested_lists.CHANGEABLE and self._change_item(symbol, left, right):
            return left
        result = tables.operate_on_table(symbol, left, right)
        if result is not NotImplemented:
            return result
        if symbol == "|" and isinstance(left, dict) and any(map(tables.is_open_table, (left, right))):
            self._library_call(library.update_table, left, tables.pairs_of(right))
            return left
        if type(left) is list and symbol == "*" and self._repeat_list(left, right):
            return left
        if has_stacked_items(right):
            nested_lists.note_shared_lists(left, right)
        if array_writes.may_change(left):
            return array_writes.augment_array(functools.partial(self.binary, symbol), left, right)
        if isinstance(left, np.ndarray):
            array_writes.change_known_array(left, right)
        with items.refresh_taken_items():
            return super().augment(symbol, left, right)

    def _change_item(self, symbol: str, changed: Any, operand: Any) -> bool:
        """Perform `changed += operand` or the like of a list, dict or set that is an item, or one of several. Returns
        whether it is."""
        origin = nested_lists.item_origin(changed)
        if origin is not None:
            with items.refresh_taken_items():
                items.call_on_origin(origin, lambda option: self.augment(symbol, option, operand))
        return origin is not None

    def _repeat_list(self, changed: list[Any], operand: Any) -> bool:
        """Perform `changed *= operand` of a list that the run repeats. Returns whether it is such a list."""
        repeated = self._repeat_items(changed, operand)
        if repeated is NotImplemented:
            return False
        announce_items(changed)
        replace_items(changed, repeated)
        nested_lists.note_shared_lists(changed)
        return True

    @by_option(1, 2)
    def binary(self, symbol: str, left: Any, right: Any) -> Any:
        check_current(left, right)
        result = tables.operate_on_table(symbol, left, right)
        if symbol == "*" and result is NotImplemented:
            result = self._repeat_items(left, right)
        result = super().binary(symbol, left, right) if result is NotImplemented else result
        if type(result) is list and all(type(operand) is list or self.is_integer(operand) for operand in (left, right)):
            register_created(result)
        if type(result) is list and has_stacked_items(result):
            nested_lists.note_shared_lists(result, *(operand for operand in (left, right) if type(operand) is list))
        return self._note_new_array(result, left, right)

    def unary(self, symbol: str, operand: Any) -> Any:
        return self._note_new_array(super().unary(symbol, operand), operand)

    def _note_new_array(self, result: Any, *operands: Any) -> Any:
        """The result of an operator, which is a new array; a method of the user's class may return another one."""
        if all(isinstance(operand, _ARRAY_LIKE) or self.is_symbolic(operand) for operand in operands):
            return array_writes.note_known_result(array_writes.as_mutable(result), operands)
        return result

    def _repeat_items(self, left: Any, right: Any) -> Any:
        """`left * right` of a list and a number, of which the run knows one; NotImplemented for other operands."""
        for container, count in ((left, right), (right, left)):
            is_counted = has_stacked_items(container) or self.is_symbolic(count)
            if type(container) is list and is_counted and self.is_integer(count):
                return open_lists.repeat_items(container, count)
            if type(container) is str and self.is_symbolic(count) and self.is_integer(count):
                return as_characters(container) * count
        return NotImplemented

    def _order(self, symbol: str, left: Any, right: Any) -> Any:
        if type(left) is type(right) and (has_stacked_items(left) or has_stacked_items(right)):
            return self.binary(symbol, self._library_call(library.compare_items, left, right), 0)
        result = tables.operate_on_table(symbol, left, right)
        return super()._order(symbol, left, right) if result is NotImplemented else result

    def _take_item(self, items: Any, position: Any) -> Any:
        """The item at a position that there certainly is."""
        return raising.perform_certainly(lambda: self.get_item(items, position))

    @by_option(0, 1)
    def equal(self, left: Any, right: Any) -> Any:
        """`left == right`; also of lists and tuples whose length is known only at run time."""
        check_current(left, right)
        self._check_identity(left, right)
        if type(left) is type(right) and (has_stacked_items(left) or has_stacked_items(right)):
            counts = open_lists.item_count(left), open_lists.item_count(right)
            same = convert(library.same_items)  # type: ignore[arg-type]
            return self.and_(counts[0] == counts[1], lambda: self.call(same, left, right, self._take_item))
        are_tables = isinstance(left, dict) and isinstance(right, dict) and not isinstance(left, Counter)
        if are_tables and any(map(tables.is_open_table, (left, right))):
            return self._library_call(library.same_tables, tables.pairs_of(left), right, self.count_items(right))
        return super().equal(left, right)

    def not_equal(self, left: Any, right: Any) -> Any:
        self._check_identity(left, right)
        return super().not_equal(left, right)

    def _check_identity(self, left: Any, right: Any) -> None:
        """Raises Invalid (F4) for records that are compared by identity, of which one may be a copy."""
        if (
            trees.is_changeable_record(left)
            and type(left) is type(right)
            and not hasattr(type(left).__eq__, "__code__")
        ):
            self.is_(left, right)

    def call_constructor(self, function: FunctionType, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        region = current_region()
        if region is not None:  # it changes its instance, so that it runs in its caller
            region.specialization.program_builder.inlined_codes.add(function.__code__)
        return super().call_constructor(function, arguments, keywords)

    def call(self, function: Any, /, *arguments: Any, **keywords: Any) -> Any:
        check_current(getattr(function, "__self__", None), *arguments, *keywords.values())
        calls.announce_arguments(function, (*arguments, *keywords.values()))
        if any(type(argument) is StackedItems for argument in arguments) and function is not print:
            if any(function is extremum for extremum in (max, min)):
                arguments = (list(arguments),)
            arguments = open_lists.spread_items(arguments)
        for value in keywords.values():
            if type(value) is StackedItems:  # `f(**table)`: which parameters get a value is known only at run time
                value.fail()
        if function is iter and len(arguments) == 1 and has_stacked_items(arguments[0]):
            arguments = (list(open_lists.spread_items(arguments[0])),)
        if function is iter and len(arguments) == 1 and tables.is_open_table(arguments[0]):
            return tables.TableIterator(*arguments)
        if any(map(tables.is_open_table, arguments)):
            arguments = self._table_arguments(function, arguments)
        if methods.package_of(function) == "numpy" and current_region() is not None:
            return self._call_numpy(function, arguments, keywords)
        result, owner = NotImplemented, getattr(function, "__self__", None)
        if isinstance(owner, Counter) and type(function) is MethodType and current_region() is not None:
            result = self._call_counter_method(owner, function.__name__, arguments, keywords)
        if result is NotImplemented:
            result = super().call(function, *arguments, **keywords)
        if isinstance(owner, np.ndarray):  # a method of an array: other functions may return one that exists already
            return array_writes.note_known_result(result, (owner, *arguments))
        return register_created(result) if function is iter and result is not arguments[0] else result

    def _call_numpy(self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a function of NumPy. Raises Invalid (F1) where it needs the value of a symbolic argument."""
        operands = *arguments, *keywords.values()
        has_symbols = any(isinstance(operand, SymbolicRange) or trees.has_symbols(operand) for operand in operands)
        if not has_symbols or any(type(operand) is Choice for operand in operands):
            return array_writes.note_known_result(super().call(function, *arguments, **keywords), operands)
        result = numpy_functions.apply_numpy(function, arguments, keywords)
        if result is not NotImplemented:
            return array_writes.note_result(function.__name__, result, operands)
        try:
            return super().call(function, *arguments, **keywords)
        except TypeError as error:
            if isinstance(error, TagloomError):
                raise
            numpy_functions.refuse(function)

    def _table_arguments(self, function: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of a builtin that iterates over dicts or sets; the order of a set must not matter to it."""
        if not any(function is consumer for consumer in _ITERATING):
            return arguments
        ignores_order = any(function is consumer for consumer in (sorted, sum, min, max, any, all))
        return tuple(
            tables.rows_of(argument) if ignores_order and tables.is_open_table(argument) else self.spread(argument)
            for argument in arguments
        )

    def call_opaque(self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if any(map(has_stacked_items, arguments)) and current_region() is not None:
            package = methods.package_of(function)
            if package == "numpy":
                arguments = tuple(
                    array_namespace().asarray(argument) if has_stacked_items(argument) else argument
                    for argument in arguments
                )
            elif package in _READING_MODULES:
                arguments = tuple(map(sequences.spread_known, arguments))
        result = methods.call_symbolic(self, function, arguments, keywords)
        return calls.call_opaque(function, arguments, keywords) if result is NotImplemented else result

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
        """`for`; also over sequences of symbolic length, by their positions."""
        check_current(iterable)
        iterable = self.iterate(iterable)
        if isinstance(iterable, PushedItems) and (iterable.may_stop or form == "plain") and not iterable.is_started():
            variables = Variables(state, [*live, *([last] if last else [])])
            return self._for_pushed_items(iterable, target, body, variables, form)
        if type(iterable) is tables.TableView or has_stacked_entries(iterable):
            entries = tables.LiveEntries(iterable)
            return self._for_live_items(entries, target, body, state, live, form, last, parallel_iterations)
        iterable = self.spread(iterable)
        if current_region() is not None and tables.is_dict_or_view(iterable):
            iterable = UnrolledItems(tables.guarded_items(iterable))
        if type(iterable) is range and loop is None and current_region() is not None:
            return self._for_known_range(iterable, target, body, state, live, form, last, parallel_iterations)
        if type(iterable) is list and current_region() is not None:
            return self._for_list(iterable, target, body, state, live, form, last, parallel_iterations)
        if isinstance(iterable, CountedRange) or not sequences.is_counted(iterable):
            return super().for_stmt(iterable, target, body, state, live, form, last, parallel_iterations, loop)
        sequence, names = sequences.as_sequence(iterable), [*live, *([last] if last else [])]
        positions = sequence.positions()

        def assign_item(position: Any) -> None:
            target(raising.perform_certainly(lambda: sequence.item(position)))

        if type(positions) is range and current_region() is not None:
            return self._for_known_range(
                positions, assign_item, body, state, names, form, "", parallel_iterations, is_held=True
            )
        return super().for_stmt(positions, assign_item, body, state, names, form, "", parallel_iterations)

    def _for_pushed_items(
        self,
        items: PushedItems,
        target: Callable[[Any], Any],
        body: Callable[..., Any],
        variables: Variables,
        form: LoopForm,
    ) -> Any:
        """A loop over items that are handed over: its body runs where each of them is computed, perhaps in a branch or
        loop of the program, which changes the variables of this loop."""
        loop = register_created(ExitLoop(form))
        places = [*variables.live.values(), *(() if form == "plain" else loop.places())]
        start, calls_here = variables.read(), recursion.running_calls()
        for place in variables.places.values():
            register_created(place.cell)

        def run_iteration(item: Any) -> Any:
            for place in places:
                record_write(place)
            with recursion.continue_calls(calls_here):
                target(item)
                if form == "plain":
                    body()
                else:
                    loop.take(body(lambda: True))
            for name in variables.places.keys() - variables.live.keys():
                variables.places[name].write(start[name])
            return False if form == "plain" else self.not_(loop.go_on)

        items.push(run_iteration, may_stop=form != "plain")
        return loop.exit_number

    def _for_known_range(
        self,
        numbers: range,
        target: Callable[[Any], Any],
        body: Callable[..., Any],
        state: Thunk,
        live: Sequence[str],
        form: LoopForm,
        last: str,
        parallel_iterations: int | None,
        *,
        is_held: bool = False,
    ) -> Any:
        """A loop over known numbers, which runs in Python. Its rest is staged if many iterations are left and a
        symbolic condition may end it early or its items lie in arrays, or if it has added too many nodes."""
        loop, position, start = register_created(ExitLoop(form)), 0, self.position()
        names = [*live, *([last] if last else [])]
        variables = Variables(state, names)

        def stage() -> None:
            rest = CountedRange(numbers[position], numbers.stop, numbers.step)
            super(ProgramOperators, self).for_stmt(
                rest, target, body, state, names, form, "", parallel_iterations, loop
            )

        def known_numbers() -> Iterator[int]:
            nonlocal position
            while position < len(numbers):
                is_stageable = self.is_symbolic(loop.go_on) or (is_held and not leaves_unassigned(variables))
                remaining_count = len(numbers) - position if is_stageable else 0
                if self.stages_rest(start, variables, stage, remaining_count):
                    return
                position += 1
                yield numbers[position - 1]

        unrolled_numbers = UnrolledItems(known_numbers())
        super().for_stmt(unrolled_numbers, target, body, state, live, form, last, parallel_iterations, loop)
        return loop.exit_number

    def stages_rest(self, start: Any, variables: Variables, stage: Thunk, conditional_iterations: int = 0) -> bool:
        """Stage the rest of a loop over known items that began at this position, if it has added more than
        MAX_UNROLLED_NODES nodes, or has this many iterations left under a symbolic condition."""
        return start is not None and staging.stage_rest(start, variables, stage, conditional_iterations)

    def count_iteration(self, variables: Variables) -> None:
        region = current_region()
        if region is not None:
            staging.count_python_iteration(region.specialization, variables)

    def _for_list(
        self,
        items: list[Any],
        target: Callable[[Any], Any],
        body: Callable[..., Any],
        state: Thunk,
        live: Sequence[str],
        form: LoopForm,
        last: str,
        parallel_iterations: int | None,
    ) -> Any:
        """A loop over a list. It runs in Python up to the first item whose presence is symbolic, unless arrays
        hold more items than it unrolls. As in Python, the body may change the list."""
        exit_number: Any = False
        staged_exit: Any = False
        position, start, is_staged = 0, self.position(), False
        variables = Variables(state, [*live, *([last] if last else [])])

        def known_count() -> int | None:
            """The number of items, or a lower bound of it that is above the position; None where it is symbolic."""
            if not has_stacked_items(items[: position + 1]):
                return len(items) if not has_stacked_items(items) else position + 1
            count = open_lists.item_count(items)
            return count if type(count) is int else None

        def known_items() -> Iterator[Any]:
            nonlocal position, is_staged
            while position < (count := known_count() or 0):
                is_long = has_stacked_items(items[:1]) and not leaves_unassigned(variables)
                if is_long and (form == "plain" or not position):
                    is_staged = self.stages_rest(start, variables, stage, count - position)
                if is_staged:
                    return
                position += 1
                yield self.get_item(items, position - 1)

        def stage() -> None:
            nonlocal staged_exit
            numbers = sequences.LiveItems(items, position)
            staged_exit = self._for_live_items(numbers, target, body, state, live, form, last, parallel_iterations)

        if known_count() is not None:
            unrolled_items = UnrolledItems(known_items())
            exit_number = super().for_stmt(unrolled_items, target, body, state, live, form, last, parallel_iterations)
            if is_staged:
                return staged_exit
        if known_count() is not None:
            return exit_number
        if form != "plain" and position:
            raise Invalid(
                "a loop with a break or return changes the length of the list that it iterates over",
                rule="F4",
                where=user_location(),
                hint="count through the list: i = 0; while i < len(x): ...",
            )
        numbers = sequences.LiveItems(items, position)
        return self._for_live_items(numbers, target, body, state, live, form, last, parallel_iterations)

    def _for_live_items(
        self,
        numbers: sequences.LiveItems | tables.LiveEntries,
        target: Callable[[Any], Any],
        body: Callable[..., Any],
        state: Thunk,
        live: Sequence[str],
        form: LoopForm,
        last: str,
        parallel_iterations: int | None,
    ) -> Any:
        """A loop over the items at these positions, which the body may change. `last` is a loop variable, too."""
        return super().for_stmt(
            numbers,
            lambda position: target(raising.perform_certainly(lambda: numbers.item(position))),
            body,
            state,
            [*live, *([last] if last else [])],
            form,
            "",
            parallel_iterations,
        )

    def exception(self, error: Any) -> Any:
        if type(error) is not Choice:
            return raising.located_exception(error)
        failure = self.choose(raising.raise_exception, error)  # returns only at the outermost level of a function
        return raising.exception_of_failure(failure)

    def hand_over(self, iterable: Any, add: Any, push_others: Any, may_stop: bool = False) -> Any:
        """`yield from iterable`: hand over its items to `add`, which may stop that; `push_others` does so in a loop."""
        iterable = self.iterate(iterable)
        if isinstance(iterable, GeneratorItems) and not iterable.is_started():
            return iterable.push(add, may_stop=may_stop)
        return self.call(push_others, iterable)

    def unwind(self, number: Any, error: Callable[[], Any]) -> Any:
        return raising.unwind(number, lambda: self.exception(error()))

    def _next(self, iterator: Any, *default: Any) -> Any:
        if type(iterator) is tables.TableIterator:
            is_there, item = iterator.take()
            if not default:
                raising.stage_assertion(is_there, raising.located_exception(StopIteration()))
            return self.if_exp(is_there, item, lambda: default[0]) if default else item()
        if isinstance(iterator, PushedItems) and not isinstance(iterator, GeneratorItems):
            return sequences.next_item(self, iterator, *default)
        try:
            return super()._next(iterator, *default)
        except StopIteration as error:
            raise raising.located_exception(error) from None

    def _quantify(self, decisive: bool, items: Any, /) -> Any:
        if has_stacked_items(items):
            items = PushedItems(items, iter, convert(library.push_until))  # type: ignore[arg-type]
        if isinstance(items, PushedItems):
            return sequences.quantify(self, decisive, items)
        return super()._quantify(decisive, items)

    def _extremum(self, original: Any, symbol: str, *arguments: Any, key: Any = None, **default: Any) -> Any:
        if len(arguments) == 1 and is_symbolic_text(arguments[0]):
            if key is None and not default:
                return greatest_character(arguments[0], original is min)
            arguments = (methods.create_list(self, *arguments),)
        if len(arguments) == 1 and has_stacked_items(arguments[0]):
            if not default and any(type(getattr(item, "columns", None)) is tuple for item in arguments[0]):
                return self._library_call(library.extreme_item, arguments[0], key, original is max)
            arguments = (sequences.push_all(arguments[0]),)
        if len(arguments) == 1 and isinstance(arguments[0], SymbolicRange) and key is not None:
            arguments = (sequences.push_all(arguments[0]),)
        if len(arguments) == 1 and isinstance(arguments[0], PushedItems):
            return sequences.extremum(self, original.__name__, arguments[0], key, tuple(default.values()))
        return super()._extremum(original, symbol, *arguments, key=key, **default)

    def get_item(self, container: Any, index: Any) -> Any:
        """`container[index]`; also at a symbolic index of known items."""
        makes_containers = isinstance(container, defaultdict) and container.default_factory in (list, dict, set)
        if makes_containers and open_lists.is_string_choice(index) and tables.may_grow(container, index):
            # It may add one entry, and not one for each option.
            return tables.get_entry(container, as_characters(index))
        return self._get_item(container, index)

    @by_option(0, 1)
    def _get_item(self, container: Any, index: Any) -> Any:
        if type(container) is list and type(index) is int and not has_stacked_items(container):
            check_current_list(container)
            item = super().get_item(container, index)
            check_current(item)
            return item
        check_current(container)
        if is_symbolic_text(container):
            return as_characters(container).item(index)
        if type(container) is str and type(index) is slice and items.is_symbolic_index(index):
            return as_characters(container).item(index)
        is_of_user = user_method(container, "__getitem__") is not None
        if isinstance(container, dict) and not is_of_user and self._is_searched(container, index):
            return tables.get_entry(container, index)
        is_computed = not is_of_user and (items.is_symbolic_index(index) or has_stacked_items(container))
        makes_sets = (
            type(container) is defaultdict and container.default_factory is set and current_region() is not None
        )
        if makes_sets and not is_computed and index not in container:
            self.assign_item(tables.create_set(), container, index)
        result = items.get_item(container, index) if is_computed else super().get_item(container, index)
        if isinstance(container, Symbol | np.ndarray) and not is_basic_key(index):
            return array_writes.as_mutable(result)
        if not is_computed and type(container) is list and type(index) is slice:
            return register_created(result)
        return result

    @staticmethod
    def _is_searched(table: Any, key: Any) -> bool:
        """Whether the program must search the entries of a dict for a key, of which it may get one."""
        if tables.is_open_table(table):
            return True
        is_searched = hasattr(type(table), "__missing__") or type(key) is tuple or is_symbolic_text(key)
        return is_searched and tables.is_symbolic_key(key) and tables.may_grow(table, key)

    def assign_item(self, value: Any, container: Any, key: Any) -> None:
        """`container[key] = value`, of no class of the user."""
        is_slice = type(container) is list and type(key) is slice and current_region() is not None
        value = self.call(list, value) if is_slice and value is not container else value
        with items.refresh_taken_items():
            items.set_item(value, container, key)

    def remove_item(self, container: Any, key: Any) -> None:
        """`del container[key]`, of no class of the user."""
        with items.refresh_taken_items():
            items.delete_item(container, key)

    @by_option(0, 1)
    def delete_item(self, container: Any, key: Any) -> None:
        """`del container[key]`; also of a dict whose keys are known only at run time."""
        if isinstance(container, dict) and user_method(container, "__delitem__") is None:
            is_found = tables.is_symbolic_key(key) and tables.may_grow(container, key)
            if is_found or tables.is_open_table(container):
                with items.refresh_taken_items():
                    tables.delete_entry(container, key)
                return
        super().delete_item(container, key)

    def unpack(self, value: Any, shape: TargetShape) -> Any:
        if current_region() is None:
            return value
        check_current(value)
        calls.check_iterators(value)
        value = self.spread(value)
        if sequences.is_counted(value) or isinstance(value, PushedItems):
            value = open_lists.unpack_items(self.call(list, value), shape)
        if type(value) not in (list, tuple) or len(value) != len(shape) or not any(shape) or ... in shape:
            return value
        return [self.unpack(item, part) if part else item for item, part in zip(value, shape, strict=True)]

    @by_option(0, 1)
    def in_(self, item: Any, container: Any) -> Any:
        """`item in container`; also in an array."""
        check_current(item, container)
        container = read_variable(container)
        if type(container) is tables.TableView:
            container = container.table if container.part == "keys" else tables.rows_of(container)
        if tables.is_open_table(container):
            return tables.has_key(container, item)
        if is_symbolic_text(container) or (is_symbolic_text(item) and isinstance(container, str)):
            return as_characters(container).has(item)
        if is_symbolic_text(item) and isinstance(container, list | tuple | set | frozenset | dict):
            return self.or_(False, *(lambda member=member: self.equal(item, member) for member in container))
        if has_stacked_items(container) or (
            type(container) in (list, tuple) and any(map(has_stacked_items, container))
        ):
            return self.call(convert(library.has_item), container, item)  # type: ignore[arg-type]
        if trees.is_symbolic(container):
            return array_namespace().any(container == item)
        return super().in_(item, container)

    @by_option(0, 1)
    def is_(self, left: Any, right: Any) -> Any:
        """`left is right`. Raises Invalid (F4) for a list, dict or array that may be one of several."""
        check_current(left, right)
        if left is not right and _is_array(left) and _is_array(right):
            return _are_one_array(left, right)
        if (
            type(left) is type(right)
            and left is not right
            and (trees.is_one_of_several(left) or trees.is_one_of_several(right))
        ):
            trees.request_objects(left)
            is_list = type(left) in (list, tuple, dict)
            refuse_rebuilt(left, "compare the items: x == y" if is_list else "compare an attribute, such as a number")
        return super().is_(left, right)

    def compare_identity(self, left: Any, right: Any) -> Any:
        """`left is right`: only bools have an identity."""
        values = read_variable(left), read_variable(right)
        types = [to_operand(unwrap_weak(value)).type for value in values]
        if types[0] == types[1] and types[0].is_scalar and types[0].dtype.kind == "b":
            return values[0] == values[1]
        return super().compare_identity(left, right)

    def stage_branch(self, test: Any, then: Thunk, otherwise: Thunk, variables: Variables) -> Any:
        return staging.stage_branch(test, then, otherwise, variables)

    def stage_loop(
        self,
        test: Thunk,
        body: Thunk,
        variables: Variables,
        live_places: Sequence[Place] = (),
        parallel_iterations: int | None = None,
    ) -> None:
        handlers.stage_loop(test, body, variables, live_places, parallel_iterations)

    def try_stmt(
        self,
        classes: Thunk,
        body: Thunk,
        handle: Callable[[BaseException], Any],
        otherwise: Thunk | None,
        state: Thunk,
        live: Sequence[str] = (),
    ) -> Any:
        if current_region() is None:
            return super().try_stmt(classes, body, handle, otherwise, state, live)
        return handlers.run_try(classes, body, handle, otherwise, Variables(state, live))

    def stage_assertion(self, predicate: Any, error: AssertionError) -> None:
        raising.stage_assertion(predicate, error)

    def position(self) -> Any:
        region = current_region()
        return None if region is None else (region, len(region.nodes))

    def evaluate_test(self, test: Thunk, variables: Variables) -> tuple[Any, bool]:
        if current_region() is None:
            return test(), False
        return super().evaluate_test(test, variables)

    def compute_test(self, test: Thunk) -> tuple[Any, bool]:
        region = current_region()
        assert region is not None, "only a trace has symbolic values"
        mark = region.mark()
        value = test()
        is_staged = self.is_symbolic(value)
        if is_staged:
            region.reset(mark)
        return value, is_staged


def leaves_unassigned(variables: Variables) -> bool:
    """Whether a variable that is read after a loop has no value yet: the first iteration may give it one."""
    return any(is_unassigned(place.read()) for place in variables.live.values())


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or trees.is_array(read_variable(value))


def _are_one_array(left: Any, right: Any) -> bool:
    """Whether arrays that the trace has as two objects are one in Python. Raises Invalid (F4) where one of them may be
    a copy of the other, which a branch, a loop or a call has made."""
    if all(isinstance(array, np.ndarray | MutableArray) for array in (left, right)):
        return False
    raise Invalid(
        "`is` compares arrays, and whether they are one is symbolic",
        rule="F4",
        where=user_location(),
        hint="keep a number beside each array that says which one it is",
    )


OPERATORS.cell_contents = ProgramOperators()
