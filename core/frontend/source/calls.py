"""Calls of converted code in a trace, by what is called.

A Python function of the user is converted, and becomes a function of the program if it can (`functions.py`); else it
runs on the spot, and its operations are nodes of the caller. Builtins that need concrete values have symbolic
counterparts. All else is called as it is.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import dis
import functools
import gc
import inspect
import operator
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from types import CellType, FunctionType, MethodType
from typing import Any, NoReturn
from weakref import WeakSet

import numpy as np

from ...errors import Invalid, Usage, describe_class
from ...ops.effects import EFFECT_OPS
from ..trace.captures import read_variable
from ..trace.choice import Choice
from ..trace.mutable_arrays import MutableArray, copied_arrays, owner_of
from ..trace.numbers import number_kind
from ..trace.program_builder import current_aliases, current_region
from ..trace.python_operations import fail_as_python, perform
from ..trace.pytree import has_attributes, is_static
from ..trace.source_location import is_internal_file, user_location
from ..trace.stacked_items import DICT_CLASSES, StackedItems, has_stacked_items
from .array_writes import change_known_array
from .characters import Characters, SymbolicText, check_text
from .convert import convert, is_converted
from .functions import call_traced, may_be_function, run_in_caller
from .items import refresh_taken_items
from .nested_lists import item_origin
from .open_lists import item_count
from .option_operations import choose_operands
from .printing import print_values
from .pushed_items import GeneratorItems, hands_over
from .raising import is_raised, possible_exceptions, possible_traps
from .ranges import SymbolicRange
from .recursion import call_recursively, running_call
from .state import (
    CONTAINERS,
    ItemsPlace,
    NotIsolated,
    active_journal,
    commit,
    open_journal,
    record_lasting_effect,
    register_containers,
    register_created,
    staging_depth,
)
from .texts import field, text_parts
from .trees import has_symbols, is_one_of_several, is_symbolic, note_shared_result
from .tries import catching_try
from .user_code import is_convertible
from .writes import announce_attribute, announce_items, announce_items_in_place

_MANAGER_CODE = contextlib.contextmanager(lambda: iter(())).__code__
"""The code of the functions that `contextmanager` makes."""


_KEEPERS = (enumerate, zip, map, filter, reversed, iter, id, isinstance, type, print, str, repr)
"""The builtins that do not advance an iterator when they are called."""


def call_function(function: FunctionType, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call a Python function: as a function of the program if it can be one, else in its caller."""
    region = current_region()
    wrapped = getattr(function, "__wrapped__", None)
    if region is not None and function.__code__ is _MANAGER_CODE and is_convertible(wrapped):  # type: ignore[arg-type]
        return contextlib.contextmanager(convert(wrapped))(*arguments, **keywords)  # type: ignore[arg-type]
    if region is None or not is_convertible(function):
        return call_opaque(function, arguments, keywords)
    converted, code = convert(function), function.__code__
    for argument in arguments[: code.co_argcount]:
        if type(argument) is StackedItems:  # `f(*items)`: which parameters get an item is known only at run time
            argument.fail()
    if not is_converted(converted):
        return call_opaque(function, arguments, keywords)
    if code.co_flags & inspect.CO_GENERATOR:  # it runs where its items are taken
        if hands_over(function):
            return GeneratorItems(function, arguments, keywords)
        return register_created(perform(converted, *arguments, **keywords))
    outer = running_call(region, code)
    if outer is not None and outer.depth < staging_depth():
        result = call_recursively(region, function, converted, outer, arguments, keywords)
        return note_shared_result(result, (*arguments, *keywords.values()))
    with_callees = False
    if outer is None and may_be_function(region, code):
        mark = region.mark()
        try:
            result = call_traced(region, function, converted, arguments, keywords)
            traps = possible_exceptions(region.nodes[mark.sizes[0] :], region.specialization)
            if all(catching_try(error) is None for _, error in traps):
                return result
            region.reset(mark)  # a `try` catches what it raises
            with_callees = True
        except NotIsolated as reason:
            with_callees = not reason.is_lasting
            if reason.is_lasting:
                region.specialization.program_builder.inlined_codes.add(code)
    with run_in_caller(region, code, with_callees=with_callees):
        return perform(converted, *arguments, **keywords)


def is_plain_class(kind: type) -> bool:
    """Whether a class always creates a new instance."""
    constructor: Any = kind.__new__
    return constructor is object.__new__ and type(kind) is type


def call_opaque(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call what is not converted. A string that it makes of a symbolic value is refused."""
    operands = *arguments, *keywords.values()
    owner, method = getattr(function, "__self__", None), getattr(function, "__func__", None)
    if type(method) is functools._lru_cache_wrapper:
        return call_opaque(method, (owner, *arguments), keywords)
    if any(type(operand) is Choice for operand in operands):
        count = len(arguments)
        return choose_operands(
            lambda *options: call_opaque(function, options[:count], dict(zip(keywords, options[count:], strict=True))),
            *operands,
        )
    is_cached = type(function) is functools._lru_cache_wrapper and type(function.__wrapped__) is FunctionType
    perform_call = _call_cached if is_cached and current_region() is not None else _call_recorded
    result = perform_call(function, arguments, keywords)
    if current_region() is not None and hasattr(type(function), "_tagloom_returns_copies"):
        register_containers(result)
    elif current_region() is not None and _is_copier(function):
        _register_copy(result, arguments)
    return check_text(result) if type(result) is str and current_region() is not None else result


_COPIERS = (copy.copy, copy.deepcopy, dataclasses.replace)
"""The functions of libraries whose result is new, if it has different objects in it than its arguments."""


def _is_copier(function: Any) -> bool:
    is_method = type(getattr(function, "__self__", None)) in CONTAINERS and getattr(function, "__name__", "") == "copy"
    return is_method or any(function is copier for copier in _COPIERS)


def _register_copy(result: Any, arguments: tuple[Any, ...]) -> None:
    """Note that the code under trace has created the objects in a copy that are not in what it was copied from."""
    originals = {id(part) for part in _parts(arguments)}
    for part in _parts((result,)):
        if id(part) not in originals:
            register_created(part)


def _parts(values: tuple[Any, ...]) -> list[Any]:
    """The lists, dicts, sets, arrays and instances of the user's classes that are these values, or parts of them."""
    parts, visited_ids = list[Any](), set[int]()
    pending = list(values)
    for value in pending:  # a worklist: the loop appends to it
        is_instance = has_attributes(value)
        is_part = is_instance or type(value) in (*CONTAINERS, *DICT_CLASSES, tuple, MutableArray)
        if id(value) in visited_ids or not is_part:
            continue
        visited_ids.add(id(value))
        parts.append(value)
        if isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, list | tuple | deque):
            pending += value
        pending += vars(value).values() if is_instance else ()
    return parts


def _call_cached(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call a function whose results `functools.cache` keeps; with symbolic arguments, without its cache.

    Warns once if it then calls itself. Raises Invalid (F4) where it prints or changes state: Python does so at the
    first call only, which a symbolic condition may skip."""
    wrapped = function.__wrapped__
    if "print" in getattr(getattr(wrapped, "__code__", None), "co_names", ()):
        _refuse_cached(wrapped, "prints")
    if not any(map(has_symbols, (*arguments, *keywords.values()))):
        return _call_recorded(function, arguments, keywords)
    active_functions = _ACTIVE_CACHED.get()
    if wrapped in active_functions:
        _warn_of_unused_cache(wrapped)
    token = _ACTIVE_CACHED.set(active_functions | {wrapped})
    try:
        with open_journal(0) as journal:
            result = call_function(wrapped, arguments, keywords)
    finally:
        _ACTIVE_CACHED.reset(token)
    if journal.originals or journal.lasting_effect:
        journal.undo()
        _refuse_cached(wrapped, "changes state")
    commit(journal)
    return result


_ACTIVE_CACHED: ContextVar[frozenset[FunctionType]] = ContextVar("active cached functions", default=frozenset())
"""The functions with caches whose calls, with symbolic arguments, are under trace."""
_WARNED_OF_CACHE: WeakSet[FunctionType] = WeakSet()
"""The functions of which `_warn_of_unused_cache` has warned."""


def _warn_of_unused_cache(function: FunctionType) -> None:
    """Warn, once for each function, that a recursion computes results again that a cache would keep."""
    location = user_location()
    if function in _WARNED_OF_CACHE or location is None:
        return
    _WARNED_OF_CACHE.add(function)
    text = (
        f"{function.__name__} calls itself with symbolic arguments, without its cache: each call computes its result "
        "again; to keep results, use a dict, as in `if n not in memo: memo[n] = ...`"
    )
    warnings.warn_explicit(text, RuntimeWarning, location.file, location.line)


def _refuse_cached(function: Any, effect: str) -> NoReturn:
    raise Invalid(
        f"{function.__name__} {effect}, and its results are cached",
        rule="F4",
        where=user_location(),
        hint="leave out the cache, or do this outside of the function",
    )


def _call_recorded(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call what is not converted. Changes that it makes to its arguments are found by comparing them."""
    if is_internal_file(getattr(getattr(function, "__code__", None), "co_filename", "")):
        return perform(function, *arguments, **keywords)
    candidates = [getattr(function, "__self__", None), *arguments, *keywords.values()]
    return record_changes(candidates, lambda: perform(function, *arguments, **keywords))


def record_changes(candidates: Sequence[Any], perform: Callable[[], Any]) -> Any:
    """The result of `perform`. The changes that it makes to these objects are found by comparing them, and
    announced."""
    with refresh_taken_items():
        return _record_changes(candidates, perform)


def _record_changes(candidates: Sequence[Any], perform: Callable[[], Any]) -> Any:
    arrays = [(array, array.copy()) for array in _arrays_in_use(candidates)]
    has_noted_lists = any(is_one_of_several(candidate) or _may_hold_lists(candidate) for candidate in candidates)
    has_noted_lists = has_noted_lists or bool(current_aliases().sole_names)
    if active_journal() is None and not arrays and not has_noted_lists:
        return perform()
    before = [
        (container, ItemsPlace(container).read()) for container in candidates if isinstance(container, CONTAINERS)
    ]
    attributes = [
        (instance, dict(vars(instance)))
        for instance in candidates
        if is_static(instance)
        and hasattr(instance, "__dict__")
        and not isinstance(instance, type | FunctionType)
        and type(instance).__module__ not in sys.stdlib_module_names
        and not type(instance).__module__.startswith("tagloom")
    ]
    result = perform()
    for array, elements in arrays:
        changed = array.copy()
        if changed.tobytes() != elements.tobytes():
            array[...] = elements
            change_known_array(array)
            announce_items(array)
            array[...] = changed
    for container, content in before:
        now = ItemsPlace(container).read()
        if len(now) != len(content) or any(a is not b for a, b in zip(_items(now), _items(content), strict=True)):
            ItemsPlace(container).write(content)
            is_longer = type(container) is list and all(map(operator.is_, content, now)) and len(now) > len(content)
            has_new_items = is_longer and all(map(_is_new_or_value, now[len(content) :]))
            (announce_items_in_place if has_new_items else announce_items)(container)
            ItemsPlace(container).write(now)
    for instance, content in attributes:
        now = dict(vars(instance))
        for name in now.keys() | content.keys():
            if now.get(name) is not content.get(name):
                vars(instance).clear()
                vars(instance).update(content)
                announce_attribute(instance, name)
                vars(instance).update(now)
    return result


def _arrays_in_use(candidates: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """The arrays of NumPy that have the elements of these objects, and whose changes must be announced: all of them, if
    a change may have to be undone; else those that the trace has copied."""
    parts = [
        part for candidate in candidates for part in (candidate if type(candidate) in (list, tuple) else (candidate,))
    ]
    owners = {id(part): owner_of(part) for part in parts if isinstance(part, np.ndarray)}.values()
    return [owner for owner in owners if active_journal() is not None or id(owner) in copied_arrays(owner)]


def _may_hold_lists(container: Any) -> bool:
    """Whether a list contains lists, so that it matters where they move: whether it begins or ends with one."""
    return type(container) is list and any(
        isinstance(item, (*CONTAINERS, tuple)) for item in container[:1] + container[-1:]
    )


def _is_new_or_value(item: Any) -> bool:
    """Whether an item is neither a list or dict from before the branch or loop nor part of one."""
    journal = active_journal()
    is_new = journal is None or id(item) in journal.created_objects
    return not isinstance(item, CONTAINERS) or (is_new and item_origin(item) is None)


def _items(container: Any) -> list[Any]:
    return [part for item in container.items() for part in item] if isinstance(container, dict) else list(container)


def announce_iteration(iterable: Any) -> None:
    """Announce a loop over an iterable. An iterator from before cannot be given back its items, so that it must not be
    advanced under a symbolic condition. Raises Invalid (F4) for one whose position is known only at run time."""
    check_iterators(iterable)
    if not is_fresh(iterable):
        record_lasting_effect(f"{describe_class(iterable)} is advanced")


def announce_arguments(function: Any, arguments: Sequence[Any]) -> None:
    """Announce what a call does to the iterators among its arguments: Python's own functions advance them, but for
    those that make an iterator."""
    for argument in arguments:
        if _is_iterator(argument):
            keeps = type(function) in (FunctionType, MethodType) or any(function is keeper for keeper in _KEEPERS)
            (check_iterators if keeps else announce_iteration)(argument)


def is_fresh(iterable: Any) -> bool:
    """Whether a loop over an iterable changes nothing that exists already: it is not an iterator, or a new one."""
    journal = active_journal()
    return not _is_iterator(iterable) or journal is None or id(iterable) in journal.created_objects


def note_advanced(iterable: Any) -> None:
    """Note that a symbolic condition decides how many items an iterator, and those that it takes its own from, give."""
    region = current_region()
    if region is not None:
        region.specialization.program_builder.advanced_iterators.update(
            {id(part): part for part in _iterators(iterable)}
        )


def check_iterators(*values: Any) -> None:
    """Raises Invalid (F4) for an iterator whose position is known only at run time."""
    region = current_region()
    advanced = {} if region is None else region.specialization.program_builder.advanced_iterators
    if not advanced:
        return
    for value in values:
        if any(id(part) in advanced for part in _iterators(value)):
            raise Invalid(
                f"{describe_class(value)} is used after a loop over it that a symbolic condition ends early",
                rule="F4",
                where=user_location(),
                got="an iterator whose position is known only at run time",
                hint="make a list of it before the loop, and count its items",
            )


def _iterators(iterable: Any) -> list[Any]:
    """The iterators that a loop over this iterable advances: it, and those that it takes its items from."""
    iterators = {id(iterable): iterable} if _is_iterator(iterable) else {}
    pending = list(iterators.values())
    for part in pending:  # a worklist: the loop appends to it
        for inner in gc.get_referents(part):
            is_path = _is_iterator(inner) or (type(inner) in (tuple, CellType) and _is_iterator(part))
            if is_path and id(inner) not in iterators:
                iterators[id(inner)] = inner
                pending.append(inner)
    return [part for part in iterators.values() if _is_iterator(part)]


def _is_iterator(value: Any) -> bool:
    return issubclass(type(value), Iterator)  # no isinstance: values that may be one of several refuse it


def take_conditional_item(iterator: Any) -> Any:
    """The next item of an iterator, where a symbolic condition decides whether Python takes it. Raises StopIteration;
    Invalid (F4) where the code of a generator prints, asserts or changes something for it."""
    note_advanced(iterator)
    region, is_over, item = current_region(), False, None
    if region is None:
        return perform(next, iterator)
    check_assignments(iterator)
    start = len(region.nodes)
    with open_journal(0) as journal:
        try:
            item = perform(next, iterator)
        except StopIteration:
            is_over = True
        except Exception as error:
            if not is_raised(error):
                raise
            raise _conditional_trap(iterator, type(error)) from None
    commit(journal)
    for _, trap in possible_traps(region.nodes[start:], region.specialization):
        raise _conditional_trap(iterator, trap)
    if journal.originals or any(node.op in EFFECT_OPS or node.op == "assert" for node in region.nodes[start:]):
        raise Invalid(
            "a generator prints, asserts or changes something after a symbolic condition may have ended its loop",
            rule="F4",
            where=user_location(),
            got=type(iterator).__name__,
            hint="make a list of its items before the loop",
        )
    if is_over:
        raise StopIteration
    return item


def check_assignments(iterator: Any) -> None:
    """Raises Invalid (F4) for a generator expression with `:=`, which assigns a variable of the function around it,
    where a symbolic condition decides how many items Python takes."""
    code = getattr(iterator, "gi_code", None)
    if code is None or current_region() is None:
        return
    if any(step.opname == "STORE_DEREF" and step.argval in code.co_freevars for step in dis.get_instructions(code)):
        raise Invalid(
            "a generator expression assigns a variable after a symbolic condition may have ended its loop",
            rule="F4",
            where=user_location(),
            hint="write a for loop with a break",
        )


def _conditional_trap(iterator: Any, error: type[Exception]) -> Invalid:
    return Invalid(
        f"{describe_class(iterator)} may raise {error.__name__} after a symbolic condition may have ended its loop",
        rule="F4",
        where=user_location(),
        hint="make a list of its items before the loop, or compute them in the loop",
    )


def _range(*bounds: Any) -> Any:
    bounds = tuple(map(read_variable, bounds))
    return SymbolicRange(*bounds) if any(map(is_symbolic, bounds)) else perform(range, *bounds)


def _str(*arguments: Any, **keywords: Any) -> Any:
    if len(arguments) == 1 and not keywords:
        return _text(arguments[0], is_quoted=False)
    return perform(str, *arguments, **keywords)


def _format(value: Any, specification: Any = "", /) -> Any:
    return format(value, specification) if current_region() is None else field(value, "", specification)


def _repr(value: Any) -> Any:
    return _text(value, is_quoted=True)


def _text(value: Any, *, is_quoted: bool) -> Any:
    if current_region() is None:
        return repr(value) if is_quoted else str(value)
    if isinstance(value, Characters) and not is_quoted:
        return value
    parts = text_parts(value, is_quoted=is_quoted)
    return "".join(parts) if all(isinstance(part, str) for part in parts) else SymbolicText(parts)


def _sum(items: Any, /, start: Any = 0) -> Any:
    return items.sum() + start if isinstance(items, SymbolicRange) else perform(sum, items, start)


def count_items(items: Any, /) -> Any:
    """`len(items)`."""
    if has_stacked_items(items):
        return item_count(items)
    if is_symbolic(items) and number_kind(items):
        fail_as_python(
            Usage(
                "a number has no len()",
                where=user_location(),
                required="a list, a string or an array",
                got=items,
                hint="len(x) counts the items of x, for example in a loop: for i in range(len(x))",
                python=TypeError,
            )
        )
    return items.length() if isinstance(items, SymbolicRange) else perform(len, items)


BUILTINS: dict[Any, Callable[..., Any]] = {
    range: _range,
    print: print_values,
    str: _str,
    repr: _repr,
    format: _format,
    sum: _sum,
}
"""The builtins that need to know the program under trace."""
