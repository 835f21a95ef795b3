"""Calls: what a call in converted code does, by what is called.

A Python function of the user is converted and runs on the spot, so that its operations belong to the caller's region. A
function that calls itself under a symbolic condition would never end so: the inner call becomes a call of the program,
to a function of its own. Builtins that need concrete values have symbolic counterparts. All else is called as it is.
"""

from __future__ import annotations

import functools
import inspect
import sys
import sysconfig
from collections.abc import Callable, Iterator
from types import FunctionType, GeneratorType, MethodType
from typing import Any

from ... import dtypes
from ...errors import Invalid
from ..array_api.datatypes import astype
from ..eager.gradients import trace_pullback
from ..effects import print as print_values
from ..trace.annotation import FunctionSpec
from ..trace.captures import read_variable
from ..trace.program_builder import RegionBuilder, current_region
from ..trace.pytree import is_static
from ..trace.source_location import is_internal_file, unconverted_reason, user_location
from ..trace.symbol import Symbol
from .convert import convert, is_converted
from .ranges import SymbolicRange
from .staging import is_symbolic, truth_operand
from .state import CONTAINERS, ItemsPlace, active_journal, register_created, staging_depth
from .writes import announce_attribute, announce_items, set_attribute

_LIBRARY_FOLDERS = tuple({sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def call(function: Any, /, *arguments: Any, **keywords: Any) -> Any:
    """`function(*arguments, **keywords)`."""
    if type(function) is FunctionType:
        return _call_function(function, arguments, keywords)
    if type(function) is MethodType and type(function.__func__) is FunctionType:
        return _call_function(function.__func__, (function.__self__, *arguments), keywords)
    if type(function) is functools.partial:
        return call(function.func, *function.args, *arguments, **{**function.keywords, **keywords})
    if isinstance(function, type):
        return _call_class(function, arguments, keywords)
    try:
        replacement = _BUILTINS.get(function)
    except TypeError:  # not hashable
        replacement = None
    if replacement is not None:
        return replacement(*arguments, **keywords)
    method = type(function).__dict__.get("__call__")
    if type(method) is FunctionType and is_convertible(method):
        return _call_function(method, (function, *arguments), keywords)
    return _call_opaque(function, arguments, keywords)


def is_convertible(function: FunctionType) -> bool:
    """Whether a function is one of the user's, not of a library, and not marked as one that stays as it is."""
    file = function.__code__.co_filename
    return not (
        is_internal_file(file) or file.startswith(_LIBRARY_FOLDERS) or unconverted_reason(function.__code__) is not None
    )


def _call_function(function: FunctionType, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    region = current_region()
    if region is None or not is_convertible(function):
        return _call_opaque(function, arguments, keywords)
    converted, code = convert(function), function.__code__
    if not is_converted(converted):
        return _call_opaque(function, arguments, keywords)
    stack, depth = region.specialization.inlined_codes, staging_depth()
    entered = next((outer for each, outer in reversed(stack) if each is code), depth)
    if entered < depth:
        return _call_specialization(region, function, arguments, keywords)
    stack.append((code, depth))
    try:
        return converted(*arguments, **keywords)
    finally:
        stack.pop()


def _call_specialization(
    region: RegionBuilder, function: FunctionType, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Call a function of the program that has the Python function as its body."""
    signature = inspect.signature(function)
    bound = signature.bind(*arguments, **keywords)
    bound.apply_defaults()
    parameters = tuple((name, None) for name in signature.parameters)
    spec = FunctionSpec(function, parameters, None, signature=signature)
    return trace_pullback(region, spec, tuple(bound.arguments.values()))[0]


def _call_class(kind: type, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Create an instance; `__init__` is converted if it is the user's."""
    replacement = _BUILTINS.get(kind)
    if replacement is not None:
        return replacement(*arguments, **keywords)
    constructor = kind.__dict__.get("__init__")
    is_plain = _is_plain_class(kind) and type(constructor) is FunctionType
    if is_plain and is_convertible(constructor):  # type: ignore[arg-type]
        instance = register_created(object.__new__(kind))
        _call_function(constructor, (instance, *arguments), keywords)  # type: ignore[arg-type]
        return instance
    instance = _call_opaque(kind, arguments, keywords)
    is_new = kind in CONTAINERS or _is_plain_class(kind) or (kind in _ITERATORS and all(map(is_fresh, arguments)))
    return register_created(instance) if is_new else instance


def _is_plain_class(kind: type) -> bool:
    """Whether a class always creates a new instance."""
    constructor: Any = kind.__new__
    return constructor is object.__new__ and type(kind) is type


def _call_opaque(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call what is not converted. Changes that it makes to its arguments are found by comparing them."""
    if active_journal() is None or is_internal_file(getattr(getattr(function, "__code__", None), "co_filename", "")):
        return function(*arguments, **keywords)
    candidates = [getattr(function, "__self__", None), *arguments, *keywords.values()]
    before = [(each, ItemsPlace(each).read()) for each in candidates if isinstance(each, CONTAINERS)]
    attributes = [
        (each, dict(vars(each)))
        for each in candidates
        if is_static(each)
        and hasattr(each, "__dict__")
        and not isinstance(each, type | FunctionType)
        and type(each).__module__ not in sys.stdlib_module_names
        and not type(each).__module__.startswith("tagloom")
    ]
    result = function(*arguments, **keywords)
    for container, content in before:
        now = ItemsPlace(container).read()
        if len(now) != len(content) or any(a is not b for a, b in zip(_items(now), _items(content), strict=True)):
            ItemsPlace(container).write(content)
            announce_items(container)
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


def _items(container: Any) -> list[Any]:
    return [part for item in container.items() for part in item] if isinstance(container, dict) else list(container)


def announce_iteration(iterable: Any) -> None:
    """Announce a loop over an iterable. An iterator from before cannot be given back its items, so that it must not be
    advanced under a symbolic condition."""
    journal = active_journal()
    if journal is not None and not is_fresh(iterable):
        journal.lasting_effect = f"a {type(iterable).__name__} is advanced"


def is_fresh(iterable: Any) -> bool:
    """Whether a loop over an iterable changes nothing that exists already: it is no iterator, or a new one."""
    journal = active_journal()
    if not isinstance(iterable, Iterator) or journal is None or id(iterable) in journal.created_objects:
        return True
    return isinstance(iterable, GeneratorType) and inspect.getgeneratorstate(iterable) == inspect.GEN_CREATED


_ITERATORS = (enumerate, zip, map, filter, reversed)


def _range(*bounds: Any) -> Any:
    bounds = tuple(map(read_variable, bounds))
    return SymbolicRange(*bounds) if any(map(is_symbolic, bounds)) else range(*bounds)


def _int(*arguments: Any, **keywords: Any) -> Any:
    value = read_variable(arguments[0]) if len(arguments) == 1 and not keywords else None
    return astype(value, dtypes.int64) if is_symbolic(value) else int(*arguments, **keywords)


def _float(*arguments: Any) -> Any:
    value = read_variable(arguments[0]) if len(arguments) == 1 else None
    return astype(value, dtypes.float64) if is_symbolic(value) else float(*arguments)


def _bool(*arguments: Any) -> Any:
    value = read_variable(arguments[0]) if len(arguments) == 1 else None
    if not is_symbolic(value):
        return bool(*arguments)
    return Symbol(truth_operand(value))  # type: ignore[arg-type]


def _print(*parts: Any, **keywords: Any) -> None:
    if current_region() is None or (active_journal() is None and not any(map(is_symbolic, parts))):
        print(*parts, **keywords)
    elif keywords:
        raise Invalid(
            "print of symbolic values, or under a symbolic condition, takes no keywords",
            rule="F4",
            where=user_location(),
            got=", ".join(keywords),
        )
    else:
        print_values(*(part if _is_value(part) else str(part) for part in parts))


def _is_value(part: Any) -> bool:
    return not is_static(part) and not isinstance(part, tuple | dict | list)


def _refuse(name: str, reason: str) -> Callable[..., Any]:
    def refuse(*arguments: Any, **keywords: Any) -> Any:
        raise Invalid(
            f"{name}() is not supported in a converted function", rule="F4", where=user_location(), hint=reason
        )

    return refuse


def _next(iterator: Any, *default: Any) -> Any:
    journal = active_journal()
    if journal is not None:
        journal.lasting_effect = "an iterator is advanced"
    return next(iterator, *default)


def _setattr(instance: Any, name: str, value: Any) -> None:
    set_attribute(value, instance, name)


_FRAMES = "it looks at the variables of the frame that calls it"
_BUILTINS: dict[Any, Callable[..., Any]] = {
    range: _range,
    int: _int,
    float: _float,
    bool: _bool,
    print: _print,
    next: _next,
    setattr: _setattr,
    locals: _refuse("locals", _FRAMES),
    eval: _refuse("eval", _FRAMES),
    exec: _refuse("exec", _FRAMES),
}
