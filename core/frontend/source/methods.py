"""Builtins and methods of builtin classes that converted code calls with symbolic values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..trace.captures import read_variable
from ..trace.program_builder import current_region
from . import library
from .convert import convert
from .items import get_or_default, sort_items
from .mathematics import apply_math
from .operators import Operators
from .staging import is_symbolic
from .state import register_created
from .texts import format_fields, join_strings
from .writes import announce_items


def call_symbolic(operators: Operators, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A method of a builtin class, or a function of `math`, where an argument or an item is symbolic. Returns
    NotImplemented for all others."""
    if current_region() is None:
        return NotImplemented
    owner = getattr(function, "__self__", None)
    method = _METHODS.get((type(owner), getattr(function, "__name__", "")))
    if method is not None:
        return method(operators, owner, *arguments, **keywords)
    if owner is math and not keywords and any(is_symbolic(read_variable(each)) for each in arguments):
        return apply_math(function, tuple(map(read_variable, arguments)))
    return NotImplemented


def sort(operators: Operators, items: Any, /, *, key: Any = None, reverse: Any = False) -> list[Any]:
    """`sorted(items, key=key, reverse=reverse)`."""
    if current_region() is None:
        return sorted(items, key=key, reverse=reverse)
    values = [read_variable(item) for item in operators.call(iter, items)]
    keys = values if key is None else [read_variable(operators.call(key, item)) for item in values]
    if any(map(is_symbolic, keys)):
        return register_created(sort_items(values, keys, bool(reverse)))  # type: ignore[no-any-return]
    order = sorted(range(len(values)), key=keys.__getitem__, reverse=reverse)
    return register_created([values[position] for position in order])  # type: ignore[no-any-return]


def power(base: Any, exponent: Any, modulus: Any = None) -> Any:
    """`pow(base, exponent, modulus)`."""
    numbers = [read_variable(each) for each in (base, exponent, modulus)]
    if modulus is None or not any(map(is_symbolic, numbers)):
        return pow(base, exponent, modulus)
    return convert(library.power_modulo)(*numbers)  # type: ignore[arg-type]


def _sort_in_place(operators: Operators, items: list[Any], *, key: Any = None, reverse: Any = False) -> None:
    ordered = sort(operators, list(items), key=key, reverse=reverse)
    announce_items(items)
    items[:] = ordered


def _in_python(function: Any) -> Callable[..., Any]:
    """A method of a list or tuple, by a function of the library where a value is symbolic."""

    def run(operators: Operators, items: Any, *arguments: Any) -> Any:
        is_known = not any(is_symbolic(read_variable(each)) for each in (*items, *arguments))
        return NotImplemented if is_known or len(arguments) != 1 else convert(function)(items, *arguments)

    return run


def _get(operators: Operators, table: dict[Any, Any], *arguments: Any) -> Any:
    is_known = not arguments or not is_symbolic(read_variable(arguments[0]))
    return NotImplemented if is_known else get_or_default(table, *arguments)


_METHODS: dict[tuple[type, str], Callable[..., Any]] = {
    (dict, "get"): _get,
    (list, "count"): _in_python(library.count_item),
    (list, "index"): _in_python(library.find_item),
    (list, "sort"): _sort_in_place,
    (str, "format"): lambda operators, *arguments, **keywords: format_fields(*arguments, **keywords),
    (str, "join"): lambda operators, *arguments: join_strings(*arguments),
    (tuple, "count"): _in_python(library.count_item),
    (tuple, "index"): _in_python(library.find_item),
}
"""Methods of builtin classes that take symbolic values, given the operators and their owner; NotImplemented for known
ones."""
