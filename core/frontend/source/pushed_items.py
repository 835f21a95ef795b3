"""Items that are handed over one by one, so that the loops in which they are computed may be those of a program:
generator expressions, and what generator functions return."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from ...errors import Invalid
from ..trace.program_builder import current_region
from ..trace.python_operations import perform
from ..trace.source_location import user_location
from .convert import convert, convert_generator
from .functions import run_in_caller
from .passes.generators import ADD
from .recursion import call_recursively, running_call
from .state import active_journal, record_lasting_effect, register_created, staging_depth


class SingleUse:
    """An object that gives its items once, as an iterator does."""

    is_consumed = False

    def begin(self) -> None:
        """Announce that the items are taken. Raises Invalid (F4) where they were before."""
        if self.is_consumed:
            raise Invalid(
                "an iterator or a generator expression is iterated a second time",
                rule="F4",
                where=user_location(),
                hint="it has no items left; make a list of it before",
            )
        journal = active_journal()
        if journal is not None and id(self) not in journal.created_objects:
            record_lasting_effect("an iterator is advanced")
        self.is_consumed = True


class PushedItems(SingleUse):
    """A generator expression: `push(iterable, add)` calls `add` on each item, in loops that may be of the program, and
    iterating it makes Python's own generator."""

    def __init__(
        self, iterable: Any, native: Callable[[Any], Any], push: Callable[..., Any], may_stop: bool = False
    ) -> None:
        self.iterable, self.native, self._push = iterable, native, push
        self.may_stop = may_stop
        """Whether `push` ends where `add` returns a true value."""
        register_created(self)

    def push(self, add: Callable[[Any], Any], *, may_stop: bool = False) -> Any:
        """Call `add` on each item; with `may_stop`, until it returns a true value: then this returns whether it has."""
        self.begin()
        if may_stop and not self.may_stop:
            raise Invalid(
                "a generator expression in a variable is passed to a function that may stop before its last item",
                rule="F4",
                where=user_location(),
                hint="write it in the call, as in any(x > n for x in items)",
            )
        return self._push(self.iterable, add)

    def is_started(self) -> bool:
        """Whether Python's own generator gives the items."""
        return False

    def __iter__(self) -> Iterator[Any]:
        self.begin()
        return register_created(iter(self.native(self.iterable)))  # type: ignore[no-any-return]


class GeneratorItems(PushedItems):
    """The result of a generator function. It is Python's own generator once code takes its items by `next`, or in a way
    that the program cannot."""

    may_stop = True

    def __init__(self, function: FunctionType, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        inspect.signature(function).bind(*arguments, **keywords)
        self.function, self.arguments, self.keywords = function, arguments, keywords
        self.generator: Any = None
        register_created(self)

    def push(self, add: Callable[[Any], Any], *, may_stop: bool = False) -> Any:
        self.begin()
        region, function = current_region(), self.function
        hand_over = convert_generator(function, may_stop=may_stop)
        assert region is not None, "only a trace has such items"
        assert hand_over is not None, "such a function has items that are handed over"
        outer, keywords = running_call(region, function.__code__), {**self.keywords, ADD: add}
        if outer is not None and outer.depth < staging_depth():
            return call_recursively(region, function, hand_over, outer, self.arguments, keywords)
        with run_in_caller(region, function.__code__):
            return perform(hand_over, *self.arguments, **keywords)

    def is_started(self) -> bool:
        return self.generator is not None

    def __iter__(self) -> Iterator[Any]:
        if self.generator is None:
            self.begin()
            self.generator = register_created(perform(convert(self.function), *self.arguments, **self.keywords))
        return self.generator  # type: ignore[no-any-return]

    def __next__(self) -> Any:
        return perform(next, iter(self))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(iter(self), name)


GeneratorItems.__name__ = "generator"  # in messages


def hands_over(function: FunctionType) -> bool:
    """Whether a generator function can hand over its items."""
    return convert_generator(function, may_stop=False) is not None
