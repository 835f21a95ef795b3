"""Calls: what a call in converted code does, by what is called.

A Python function of the user is converted, and becomes a function of the program if it can (`functions.py`); else it
runs on the spot, and its operations are nodes of the caller. Builtins that need concrete values have symbolic
counterparts. All else is called as it is.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, GeneratorType, MethodType
from typing import Any

import numpy as np

from ... import dtypes
from ...errors import Invalid
from ..array_api.datatypes import astype
from ..effects import print_joined
from ..trace.captures import read_variable
from ..trace.program_builder import current_region
from ..trace.pytree import is_static
from ..trace.source_location import is_internal_file, unconverted_reason, user_location
from ..trace.symbol import Symbol, array_namespace
from .convert import convert, is_converted
from .functions import call_function, call_recursively, may_be_function, run_in_caller
from .ranges import SymbolicRange
from .staging import is_symbolic, stage_branch, truth_operand
from .state import (
    CONTAINERS,
    ItemsPlace,
    NotIsolated,
    Variables,
    active_journal,
    record_lasting_effect,
    register_created,
    staging_depth,
)
from .texts import SymbolicText, check_text, text_parts
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
    outer = next((each for each in reversed(region.specialization.python_calls) if each.code is code), None)
    if outer is not None and outer.depth < staging_depth():
        return call_recursively(region, function, converted, outer, arguments, keywords)
    with_callees = False
    if outer is None and may_be_function(region, code):
        try:
            return call_function(region, function, converted, arguments, keywords)
        except NotIsolated as reason:
            with_callees = not reason.is_lasting
            if reason.is_lasting:
                region.specialization.program_builder.inlined_codes.add(code)
    with run_in_caller(region, code, with_callees=with_callees):
        return converted(*arguments, **keywords)


def _call_class(kind: type, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Create an instance; `__init__` is converted if it is the user's."""
    replacement = _BUILTINS.get(kind)
    if replacement is not None:
        return replacement(*arguments, **keywords)
    constructor = kind.__dict__.get("__init__")
    is_plain = _is_plain_class(kind) and type(constructor) is FunctionType
    if is_plain and is_convertible(constructor):  # type: ignore[arg-type]
        instance, region = register_created(object.__new__(kind)), current_region()
        if region is not None:
            region.specialization.program_builder.inlined_codes.add(constructor.__code__)  # type: ignore[union-attr]
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
    """Call what is not converted. A string that it makes of a symbolic value is refused."""
    result = _call_recorded(function, arguments, keywords)
    return check_text(result) if type(result) is str and current_region() is not None else result


def _call_recorded(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call what is not converted. Changes that it makes to its arguments are found by comparing them."""
    if is_internal_file(getattr(getattr(function, "__code__", None), "co_filename", "")):
        return function(*arguments, **keywords)
    candidates = [getattr(function, "__self__", None), *arguments, *keywords.values()]
    return record_changes(candidates, lambda: function(*arguments, **keywords))


def record_changes(candidates: Sequence[Any], perform: Callable[[], Any]) -> Any:
    """What `perform` returns. The changes that it makes to these objects are found by comparing them, and announced."""
    if active_journal() is None:
        return perform()
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
    result = perform()
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
    if not is_fresh(iterable):
        record_lasting_effect(f"a {type(iterable).__name__} is advanced")


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


def _print(*values: Any, sep: Any = " ", end: Any = "\n", **keywords: Any) -> None:
    if current_region() is None:
        print(*values, sep=sep, end=end, **keywords)
        return
    parts = [text_parts(value) for value in values]
    if keywords or end not in ("\n", None):
        if not keywords or active_journal() is not None or any(is_symbolic(part) for each in parts for part in each):
            raise Invalid(
                "print in a program writes whole lines, to the output of the run",
                rule="F4",
                where=user_location(),
                got=", ".join([*([] if end in ("\n", None) else ["end"]), *keywords]),
                hint="leave these keywords out",
            )
        print(*values, sep=sep, end=end, **keywords)
        return
    separator = " " if sep is None else sep
    print_joined(*[part for each in parts for part in (separator, *each)][1:])


def _str(*arguments: Any, **keywords: Any) -> Any:
    return _text(arguments[0], is_quoted=False) if len(arguments) == 1 and not keywords else str(*arguments, **keywords)


def _repr(value: Any) -> Any:
    return _text(value, is_quoted=True)


def _text(value: Any, *, is_quoted: bool) -> Any:
    if current_region() is None:
        return repr(value) if is_quoted else str(value)
    parts = text_parts(value, is_quoted=is_quoted)
    return SymbolicText(parts) if any(map(is_symbolic, parts)) else "".join(parts)


def _python_class(value: Any) -> type:
    """The class that a value has in Python: for a symbolic one, that of a number or array of its type."""
    value = read_variable(value)
    if not is_symbolic(value):
        return type(value)
    operand = value._tagloom_value.type
    if not operand.is_scalar:
        return np.ndarray
    return {"b": bool, "i": int, "u": int, "f": float}.get(operand.dtype.kind, type(value))


def _isinstance(value: Any, classes: Any) -> bool:
    return isinstance(value, classes) or (
        is_symbolic(read_variable(value)) and issubclass(_python_class(value), classes)
    )


def _type(*arguments: Any, **keywords: Any) -> Any:
    if len(arguments) == 1 and not keywords and is_symbolic(read_variable(arguments[0])):
        return _python_class(arguments[0])
    return type(*arguments, **keywords)


def _round(value: Any, *digits: Any) -> Any:
    number = read_variable(value)
    if digits not in ((), (None,)) or not is_symbolic(number) or not number._tagloom_value.type.is_scalar:
        return round(value, *digits)
    is_float = number._tagloom_value.type.dtype.kind == "f"
    return astype(array_namespace().round(number), dtypes.int64) if is_float else number


def _extremum(original: Any, is_better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """`max` or `min`: of several that are equal, the first."""

    def choose(*arguments: Any, key: Any = None, **default: Any) -> Any:
        items = list(arguments if len(arguments) > 1 else call(iter, *arguments))
        keys = items if key is None else [call(key, item) for item in items]
        if not any(is_symbolic(read_variable(each)) for each in keys):
            position = original(range(len(items)), key=keys.__getitem__, default=None)
            return original(items, **default) if position is None else items[position]
        best, best_key = items[0], keys[0]
        for item, item_key in zip(items[1:], keys[1:], strict=True):
            test, then, otherwise = is_better(item_key, best_key), (item, item_key), (best, best_key)
            best, best_key = _choose(test, functools.partial(_identity, then), functools.partial(_identity, otherwise))
        return best

    return choose


def _identity(value: Any) -> Any:
    return value


def _choose(test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    if is_symbolic(read_variable(test)):
        return stage_branch(test, then, otherwise, Variables(lambda: (), ()))
    return then() if test else otherwise()


def _quantifier(original: Callable[[Any], bool], decisive: bool) -> Callable[..., Any]:
    """`any`, which True decides, or `all`, which False decides. Nothing is taken from an iterator after it."""

    def decided() -> bool:
        return decisive

    def decide(items: Any) -> Any:
        if current_region() is None:
            return original(items)
        announce_iteration(items)
        iterator = iter(items)

        def rest() -> Any:
            for item in iterator:
                value = read_variable(item)
                if is_symbolic(value):
                    return _choose(value, *((decided, rest) if decisive else (rest, decided)))
                if bool(item) is decisive:
                    return decisive
            return not decisive

        return rest()

    return decide


def _sum(items: Any, /, start: Any = 0) -> Any:
    return items.sum() + start if isinstance(items, SymbolicRange) else sum(items, start)


def _len(items: Any, /) -> Any:
    return items.length() if isinstance(items, SymbolicRange) else len(items)


def _refuse(name: str, reason: str) -> Callable[..., Any]:
    def refuse(*arguments: Any, **keywords: Any) -> Any:
        raise Invalid(
            f"{name}() is not supported in a converted function", rule="F4", where=user_location(), hint=reason
        )

    return refuse


def _next(iterator: Any, *default: Any) -> Any:
    record_lasting_effect("an iterator is advanced")
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
    str: _str,
    repr: _repr,
    isinstance: _isinstance,
    type: _type,
    round: _round,
    max: _extremum(max, operator.gt),
    min: _extremum(min, operator.lt),
    any: _quantifier(any, decisive=True),
    all: _quantifier(all, decisive=False),
    next: _next,
    sum: _sum,
    len: _len,
    setattr: _setattr,
    locals: _refuse("locals", _FRAMES),
    eval: _refuse("eval", _FRAMES),
    exec: _refuse("exec", _FRAMES),
}
