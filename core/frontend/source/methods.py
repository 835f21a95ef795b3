"""Builtins and methods of builtin classes that converted code calls with symbolic values."""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Callable
from types import GeneratorType
from typing import Any

import numpy as np

from ...errors import Invalid
from ..trace.captures import read_variable
from ..trace.program_builder import current_region
from ..trace.python_operations import perform
from ..trace.source_location import user_location
from ..trace.stacked_items import has_stacked_items
from ..trace.text import is_text
from . import library
from .characters import Characters, as_characters, as_text, is_symbolic_text, refuse_text, sort_characters
from .convert import convert
from .items import call_on_origin, get_or_default, refresh_taken_items, sort_items, take_out
from .mathematics import apply_math, check_power
from .nested_lists import CHANGEABLE, item_origin, note_added_list, note_shared_lists
from .open_lists import insert_open_item, stack_items, take_slice
from .operators import Operators
from .pushed_items import PushedItems
from .sequences import collect_items, is_counted, push_all
from .state import register_created
from .tables import call_dict_method, is_open_table
from .texts import format_fields, join_strings
from .trees import has_symbols, is_symbolic
from .writes import announce_items

_PACKAGE = __name__.partition(".")[0]


def call_symbolic(operators: Operators, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A method of a builtin class, or a function of `math`, where an argument or an item is symbolic. Returns
    NotImplemented for all others."""
    if current_region() is None:
        return NotImplemented
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    origin = item_origin(owner) if type(owner) in CHANGEABLE and name in _CHANGES else None
    if origin is not None:
        with refresh_taken_items():
            return call_on_origin(origin, lambda option: operators.call(getattr(option, name), *arguments, **keywords))
    if isinstance(owner, dict):
        result = call_dict_method(function.__name__, owner, arguments, keywords)
        if result is not NotImplemented:
            return result
    method = _METHODS.get((type(owner), name))
    if method is not None:
        with refresh_taken_items():
            result = method(operators, owner, *arguments, **keywords)
        if result is not NotImplemented:
            return result
    if owner is math and not keywords and any(is_symbolic(read_variable(argument)) for argument in arguments):
        return apply_math(function, tuple(map(read_variable, arguments)))
    _check_lengths(function, owner, (*arguments, *keywords.values()))
    return NotImplemented


_CHANGES = {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort", "popitem", "update"}
_CHANGES |= {"add", "discard", "intersection_update", "difference_update", "symmetric_difference_update"}
"""The methods of lists, dicts and sets that change them, but for `setdefault`, which returns an item."""
_KNOWN_TO_PYTHON = ("append", "appendleft", "clear", "copy", "extend")
"""The methods of lists and deques whose Python implementation is right even if the length is known only at run time."""


def package_of(function: Any) -> str:
    """The package that a function or class is of."""
    kind = type(function)
    module = getattr(function if hasattr(function, "__name__") else kind, "__module__", None)
    return "numpy" if issubclass(kind, np.ufunc) else str(module).partition(".")[0]


def _check_lengths(function: Any, owner: Any, arguments: tuple[Any, ...]) -> None:
    """Raises Invalid (F4) where code that is not converted gets a list whose length is known only at run time."""
    name = getattr(function, "__name__", type(function).__name__)
    is_safe = type(owner) in (list, deque) and name in _KNOWN_TO_PYTHON
    is_safe = is_safe or type(function).__module__.startswith(_PACKAGE) or package_of(function) == _PACKAGE
    if not is_safe and any(map(has_stacked_items, (owner, *arguments))) and function not in (id, print, repr, str):
        raise Invalid(
            f"{name}() takes no list whose length is known only at run time",
            rule="F4",
            where=user_location(),
            hint="loop over the list, or write the call as a loop",
        )
    is_safe = isinstance(owner, dict) and name in ("clear", "copy")
    if not is_safe and any(map(is_open_table, (owner, *arguments))) and function not in (id, print, repr, str):
        raise Invalid(
            f"{name}() takes no dict or set whose keys are known only at run time",
            rule="F4",
            where=user_location(),
            hint="loop over it, or use x[key], get(), setdefault(), pop(), items(), add() and discard()",
        )


class Comparison:
    """`functools.cmp_to_key(function)`, the key of a sort: `function` gives a number below, equal to or above 0, as its
    first operand comes before, with or after its second."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, item: Any) -> Any:
        return functools.cmp_to_key(self.function)(item)


def _sort_by_comparison(operators: Operators, items: Any, key: Comparison, is_reversed: bool) -> list[Any]:
    """`sorted(items, key=functools.cmp_to_key(function))`. Raises Invalid (F4) for a list of symbolic length."""
    values = [read_variable(item) for item in operators.call(iter, items)]
    if has_stacked_items(values):
        raise Invalid(
            "cmp_to_key() does not sort a list whose length is known only at run time",
            rule="F4",
            where=user_location(),
            hint="sort by a number: sorted(x, key=...)",
        )

    def is_less(left: tuple[Any], right: tuple[Any]) -> Any:
        return operators.binary("<", operators.call(key.function, *left, *right), 0)

    return register_created(sort_items(is_less, values, [(value,) for value in values], is_reversed))  # type: ignore[no-any-return]


def sort(operators: Operators, items: Any, /, *, key: Any = None, reverse: Any = False) -> list[Any]:
    """`sorted(items, key=key, reverse=reverse)`."""
    if current_region() is None:
        return perform(sorted, items, key=key, reverse=reverse)  # type: ignore[no-any-return]
    if key is None and is_symbolic_text(items):
        return register_created(sort_characters(items, bool(reverse)))  # type: ignore[no-any-return]
    if type(key) is Comparison:
        return _sort_by_comparison(operators, items, key, bool(reverse))
    is_less = functools.partial(operators.binary, "<")
    if is_counted(items) or isinstance(items, PushedItems):
        copied = create_list(operators, items)
        keys = copied if key is None else convert(library.apply_key)(copied, key)  # type: ignore[arg-type]
        result = register_created(sort_items(is_less, copied, keys, bool(reverse)))
        note_shared_lists(result)
        return result  # type: ignore[no-any-return]
    values = [read_variable(item) for item in operators.call(iter, items)]
    keys = values if key is None else [read_variable(operators.call(key, item)) for item in values]
    if any(map(operators.orders_by_choice, keys)):
        return register_created(sort_items(is_less, values, keys, bool(reverse)))  # type: ignore[no-any-return]
    order = perform(sorted, range(len(values)), key=keys.__getitem__, reverse=reverse)
    return register_created([values[position] for position in order])  # type: ignore[no-any-return]


def power(base: Any, exponent: Any, modulus: Any = None) -> Any:
    """`pow(base, exponent, modulus)`."""
    numbers = [read_variable(operand) for operand in (base, exponent, modulus)]
    if modulus is None:
        check_power(base, exponent)
    if modulus is None or not any(map(is_symbolic, numbers)):
        return perform(pow, base, exponent, modulus)
    return convert(library.power_modulo)(*numbers)  # type: ignore[arg-type]


def _sort_in_place(operators: Operators, items: list[Any], *, key: Any = None, reverse: Any = False) -> None:
    ordered = sort(operators, list(items), key=key, reverse=reverse)
    announce_items(items)
    items[:] = ordered


def _in_python(function: Any) -> Callable[..., Any]:
    """A method of a list or tuple, by a function of the library where a value is symbolic."""

    def run(operators: Operators, items: Any, *arguments: Any) -> Any:
        is_known = not any(map(has_symbols, (*items, *arguments)))
        return NotImplemented if is_known or len(arguments) != 1 else convert(function)(items, *arguments)

    return run


def _get(operators: Operators, table: dict[Any, Any], *arguments: Any) -> Any:
    is_known = not arguments or not is_symbolic(read_variable(arguments[0]))
    return NotImplemented if is_known else get_or_default(table, *arguments)


def create_list(operators: Operators, *iterables: Any) -> Any:
    """`list(iterable)`."""
    if len(iterables) != 1 or current_region() is None:
        return register_created(perform(list, *iterables))
    (items,) = iterables
    if has_stacked_items(items):
        result = register_created(list(items))
        note_shared_lists(items, result)
        return result
    if is_counted(items):
        items = push_all(items)
    return collect_items(items) if isinstance(items, PushedItems) else register_created(perform(list, items))


def create_tuple(operators: Operators, *iterables: Any) -> Any:
    """`tuple(iterable)`."""
    return tuple(create_list(operators, *iterables)) if iterables else ()


def _append(operators: Operators, items: list[Any], value: Any) -> Any:
    note_added_list(items, value)
    return NotImplemented


def _copy(operators: Operators, items: list[Any]) -> Any:
    return create_list(operators, items) if has_stacked_items(items) else NotImplemented


def _extend(operators: Operators, items: list[Any], iterable: Any) -> Any:
    if has_stacked_items(iterable):
        announce_items(items)  # which lists these are is known only at run time
        note_shared_lists(items, iterable)
    if isinstance(iterable, PushedItems):
        new_items = collect_items(iterable)
        announce_items(items)
        items += new_items
        return None
    if not is_counted(iterable) or has_stacked_items(iterable):
        return NotImplemented
    return convert(library.extend_items)(items, iterable)  # type: ignore[arg-type]


def _clear(operators: Operators, items: list[Any]) -> Any:
    if has_stacked_items(items):
        announce_items(items)
    return NotImplemented


def _pop(operators: Operators, items: list[Any] | deque[Any], index: Any = -1) -> Any:
    if not (has_stacked_items(items) or is_symbolic(read_variable(index))):
        return NotImplemented
    return take_out(items, index)


def _insert(operators: Operators, items: list[Any], index: Any, value: Any) -> Any:
    if not (has_stacked_items(items) or is_symbolic(read_variable(index))):
        return NotImplemented
    note_added_list(items, value)
    announce_items(items)
    items[:] = insert_open_item(items, index, value)
    return None


def _remove(operators: Operators, items: list[Any], value: Any) -> Any:
    if not any(map(has_symbols, (value, *items))):
        return NotImplemented
    take_out(items, operators.call(items.index, value))
    return None


def _reverse(operators: Operators, items: list[Any]) -> Any:
    if not has_stacked_items(items):
        return NotImplemented
    announce_items(items)
    items[:] = [take_slice(stack_items(items), slice(None, None, -1))]
    return None


def _join(operators: Operators, separator: str, texts: Any) -> Any:
    if is_counted(texts):
        texts = push_all(texts)
    if isinstance(texts, PushedItems):
        return _join_pushed(separator, texts)
    if isinstance(texts, GeneratorType):
        return operators.call(separator.join, operators.call(list, texts))
    return join_strings(separator, texts)


def _rotate(operators: Operators, items: deque[Any], count: Any = 1) -> Any:
    if items.maxlen is not None or not any(map(has_symbols, (count, *items))):
        return NotImplemented
    return convert(library.rotate_items)(items, count)  # type: ignore[arg-type]


def _join_pushed(separator: str, texts: PushedItems) -> Any:
    """`separator.join(texts)`, of texts whose number is known only at run time."""
    codes = register_created([])

    def add(text: Any) -> None:
        if not is_text(text):
            refuse_text("str.join with these items", separator)
        characters = as_characters(text)
        announce_items(codes)
        codes.extend([*characters.codes, *map(ord, separator)])

    texts.push(add)
    return Characters(codes).item(slice(0, -len(separator))) if separator and codes else as_text(codes)


_METHODS: dict[tuple[type, str], Callable[..., Any]] = {
    (deque, "pop"): _pop,
    (deque, "popleft"): lambda operators, items: _pop(operators, items, 0),
    (deque, "rotate"): _rotate,
    (dict, "get"): _get,
    (list, "append"): _append,
    (list, "clear"): _clear,
    (list, "copy"): _copy,
    (list, "count"): _in_python(library.count_item),
    (list, "extend"): _extend,
    (list, "index"): _in_python(library.find_item),
    (list, "insert"): _insert,
    (list, "pop"): _pop,
    (list, "remove"): _remove,
    (list, "reverse"): _reverse,
    (list, "sort"): _sort_in_place,
    (str, "format"): lambda operators, *arguments, **keywords: format_fields(*arguments, **keywords),
    (str, "join"): _join,
    (tuple, "count"): _in_python(library.count_item),
    (tuple, "index"): _in_python(library.find_item),
}
"""Methods of builtin classes that take symbolic values, given the operators and their owner; NotImplemented for known
ones."""
