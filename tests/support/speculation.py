"""Speculated functions beside Python: a scenario is called twice, on copies of its objects, and compared."""

from __future__ import annotations

import contextlib
import copy
import io
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from types import CellType, FunctionType, MemberDescriptorType
from typing import Any
from unittest.mock import patch

import numpy as np
import tagloom
from tagloom.core.frontend.eager.array import ConcreteArray
from tagloom.core.value import borrow
from tagloom.interp.outcome.outcome import Outcome
from tagloom.interp.speculation.layouts import POOLS
from tagloom.interp.speculation.speculative_function import INTERNAL_ERROR, SpeculativeFunction, SpeculativeGraph

from .object_scenarios import Decorator, ObjectScenario

STATE_OF_MODULE = ("VISITS", "HISTORY", "SETTINGS")
"""The global variables that scenarios change."""

Scenario = tuple[Callable[..., Any], Callable[[], list[tuple[Any, ...]]]]
"""A function, and what makes the arguments of its calls, which may share objects."""


def call(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The result of a call, its exception and its printed lines."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        try:
            return "result", function(*arguments), text.getvalue()
        except Exception as error:
            return type(error), str(error), text.getvalue()


def describe(*roots: Any) -> list[Any]:
    """All that can be reached from objects: classes, attributes, numbers by bits, and which objects are the same."""
    numbers: dict[int, int] = {}
    keep_alive: list[Any] = []

    def describe_one(value: Any) -> Any:
        if type(value) in (int, bool, str, type(None), float):
            return type(value).__name__, repr(value)
        if type(value) is tuple:
            return tuple(map(describe_one, value))
        if isinstance(value, ConcreteArray):
            return str(value.dtype), repr(np.asarray(value).tolist())
        if isinstance(value, type) or callable(value):
            return value
        if id(value) in numbers:
            return "object", numbers[id(value)]
        numbers[id(value)] = len(numbers)
        keep_alive.append(value)
        items = value if type(value) in (list, dict) else value.__dict__
        parts = map(describe_one, items) if type(items) is list else ((k, describe_one(v)) for k, v in items.items())
        return "object", numbers[id(value)], type(value), tuple(parts)

    return [describe_one(root) for root in roots]


def compare(speculated: SpeculativeFunction, calls: list[tuple[Any, ...]], variables: Sequence[str] = ()) -> None:
    """Call a function as Python, and speculated, with the same arguments: all that can be seen is the same after each
    call. `variables` are global variables and attributes of classes that it changes. Recursive calls find the function
    of either side."""
    python, module = speculated.python, speculated.python.__globals__
    both = calls, copy.deepcopy(calls)
    values = [{name: _read(module, name) for name in variables} for _ in both]
    for position in range(len(calls)):
        seen = []
        for side, function in enumerate((speculated, python)):
            module[python.__name__] = function
            _write(module, values[side])
            ending = call(function, both[side][position])
            values[side] = {name: _read(module, name) for name in variables}
            seen.append((ending, describe(ending, both[side], *values[side].values())))
        assert seen[0][1] == seen[1][1], f"call {position}: {seen[0][0]} is not {seen[1][0]}, or objects differ"
    module[python.__name__] = python
    _write(module, values[1])
    assert not [event for event in speculated.events if INTERNAL_ERROR in event]


def _read(module: dict[str, Any], name: str) -> Any:
    owner, _, attribute = name.partition(".")
    return getattr(module[owner], attribute) if attribute else module[owner]


def _write(module: dict[str, Any], values: dict[str, Any]) -> None:
    for name, value in values.items():
        owner, _, attribute = name.partition(".")
        if attribute:
            setattr(module[owner], attribute, value)
        else:
            module[owner] = value


def run_calls(
    make: ObjectScenario,
    decorate: Decorator,
    context: Callable[[int], contextlib.AbstractContextManager[Any]] = lambda position: contextlib.nullcontext(),
) -> list[Any]:
    """What can be seen after each call of a scenario: its ending, and all that the arguments, the results and the
    function reach. Each call runs in the `context` of its position."""
    function, calls = make(decorate)
    python = getattr(function, "python", function)
    variables = {name: python.__globals__.get(name) for name in STATE_OF_MODULE}
    roots: list[Any] = [[each.cell_contents for each in python.__closure__ or ()], python.__defaults__]
    seen = []
    for position, arguments in enumerate(calls):
        with context(position):
            ending = call(function, arguments)
        roots += [arguments, ending]
        variables |= {name: python.__globals__.get(name) for name in STATE_OF_MODULE}
        seen.append(describe_state(roots, variables, python.__closure__))
    return seen


def values_of_container(value: Any) -> list[Any]:
    """The bound of a deque, and the default of a dict."""
    return [getattr(value, name, None) for name in ("maxlen", "default_factory")]


def values_in_slots(value: Any) -> Iterator[tuple[str, Any]]:
    """The values that an object has in slots, also private ones and those that a class hides, with their names."""
    for base in type(value).__mro__:
        for name, slot in sorted(base.__dict__.items()):
            if type(slot) is MemberDescriptorType:
                with contextlib.suppress(AttributeError, TypeError):  # no value, or no slot of this class
                    yield name, slot.__get__(value)


def describe_state(*roots: Any) -> list[Any]:
    """All that can be reached from objects, class attributes, cells and arrays of NumPy included; classes and
    functions by name, so that two sides that do not share them are equal."""
    numbers: dict[int, int] = {}
    keep_alive: list[Any] = []

    def parts_of(value: Any) -> Any:
        if type(value) in (list, set, deque):
            return [type(value), *value, *values_of_container(value)]
        if type(value) in POOLS and isinstance(value, dict):
            return [type(value), *value.items(), *values_of_container(value)]
        if type(value) is CellType:
            return [value.cell_contents]
        if isinstance(value, np.ndarray):
            return [value.dtype.str, value.shape, repr(value.tolist()), value.base]
        if isinstance(value, type):
            names = (name for name in value.__dict__ if not name.startswith("__"))
            return [(name, value.__dict__[name]) for name in names] if "<locals>" in value.__qualname__ else []
        if isinstance(value, FunctionType):
            return [value.__closure__, value.__defaults__]
        return [type(value), *values_in_slots(value), *(vars(value).items() if hasattr(value, "__dict__") else ())]

    def describe_one(value: Any) -> Any:
        if isinstance(value, SpeculativeFunction):
            value = value.python
        if type(value) in (int, bool, str, type(None), float) or isinstance(value, np.generic):
            return type(value).__name__, repr(value)
        if isinstance(value, ConcreteArray):
            return str(value.dtype), repr(np.asarray(value).tolist())
        if type(value) is tuple:
            return tuple(map(describe_one, value))
        if isinstance(value, tuple):  # a named one
            return type(value).__qualname__, *map(describe_one, value)
        if id(value) in numbers:
            return "object", numbers[id(value)]
        numbers[id(value)] = len(numbers)
        keep_alive.append(value)
        name = getattr(value, "__qualname__", type(value).__qualname__)
        return "object", numbers[id(value)], name, tuple(map(describe_one, parts_of(value)))

    return [describe_one(root) for root in roots]


_execute = SpeculativeFunction._execute


def _execute_checked(function: SpeculativeFunction, graph: SpeculativeGraph, leaves: Sequence[Any]) -> Outcome:
    """Run a graph with arguments that must be values of the types of its parameters, since machine code takes them
    unchecked."""
    assert graph.traced_program.program is not None
    parameters = graph.traced_program.program.main.body.parameters
    for argument, parameter in zip(graph.traced_program.all_arguments(leaves), parameters, strict=True):
        value = borrow(argument, parameter.type)
        assert value is argument or (type(value) is type(argument) and np.ndim(value) == 0), parameter
    return _execute(function, graph, leaves)


def run_speculated(
    make: ObjectScenario,
    context: Callable[[int], contextlib.AbstractContextManager[Any]] = lambda position: contextlib.nullcontext(),
) -> tuple[list[Any], SpeculativeFunction, list[int]]:
    """What can be seen after each call of a scenario, its function, and how many calls ran in Python before each."""
    functions = list[SpeculativeFunction]()

    def speculate(python: Callable[..., Any]) -> SpeculativeFunction:
        functions.append(tagloom.speculate(engine="reference")(python))
        return functions[-1]

    counts = list[int]()

    def enter(position: int) -> contextlib.AbstractContextManager[Any]:
        counts.append(functions[0].counts.python)
        return context(position)

    with patch.object(SpeculativeFunction, "_execute", _execute_checked):
        seen = run_calls(make, speculate, enter)
    return seen, functions[0], [*counts, functions[0].counts.python]
