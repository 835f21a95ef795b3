"""`print` in a program: it prints whole lines, when the program runs.

`print(x, end=" ")` makes the line longer that the next call ends. The text of this line is state of the trace, as an
attribute of an object is, so that branches, loops and calls may change it. What is left of it is printed at the end of
the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import Invalid
from ..effects import print_joined
from ..trace.choice import Choice
from ..trace.program_builder import RegionBuilder, current_region
from ..trace.python_operations import fail_as_python, perform
from ..trace.source_location import user_location
from ..trace.stacked_items import StackedItems
from ..trace.text import FormattedValue
from . import library
from .characters import Characters, SymbolicText
from .convert import convert
from .open_lists import item_count
from .option_operations import choose
from .staging import stage_branch
from .state import AttributePlace, Variables, active_journal, record_write
from .texts import text_parts
from .trees import is_symbolic


class OpenLine:
    """The line that `print(..., end=...)` has begun."""

    def __init__(self) -> None:
        self.text: Any = ""

    def replace(self, text: Any) -> None:
        """Give the line this text."""
        record_write(AttributePlace(self, "text", "the line that print(..., end=...) has begun"))
        self.text = text


def print_values(*values: Any, sep: Any = " ", end: Any = "\n", flush: Any = False, **keywords: Any) -> None:
    """`print(*values)`, when the program runs. Raises Invalid (F4) for a file and values that are symbolic."""
    region = current_region()
    if region is None:
        perform(print, *values, sep=sep, end=end, flush=flush, **keywords)
        return
    for name, option in (("sep", sep), ("end", end)):
        if option is not None and type(option) not in (str, Choice):
            fail_as_python(TypeError(f"{name} must be None or a string, not {type(option).__name__}"))
    if keywords:
        _print_to_file(*values, sep=sep, end=end, flush=flush, **keywords)
        return
    separator, ending = " " if sep is None else sep, "\n" if end is None else end
    _print_items(region.specialization.program_builder.open_line, list(values), separator, ending)


def _print_to_file(*values: Any, **keywords: Any) -> None:
    """`print` with `file=`, which prints while the function is traced."""
    for name in keywords.keys() - {"sep", "end", "flush", "file"}:
        fail_as_python(TypeError(f"{name!r} is an invalid keyword argument for print()"))
    if active_journal() is not None or any(not isinstance(part, str) for value in values for part in text_parts(value)):
        raise Invalid(
            "print in a program prints to the output of the run",
            rule="F4",
            where=user_location(),
            got=", ".join(keywords.keys() - {"sep", "end", "flush"}),
            hint="leave these keywords out",
        )
    perform(print, *values, **keywords)


def _print_items(line: OpenLine, values: list[Any], separator: str, ending: Any) -> None:
    """Print values, with the items of lists of symbolic length among them: `print(*items)` has them stacked."""
    if type(ending) is Choice:
        choose(lambda option: _print_items(line, values, separator, option), ending)
        return
    if type(line.text) is Choice:
        choose(lambda option: _print_after(option, line, values, separator, ending), line.text)
        return
    position = next((k for k, value in enumerate(values) if type(value) is StackedItems), None)
    if position is None:
        _print_texts(line, [text_parts(value) for value in values], separator, ending)
        return
    before, items, after = values[:position], values[position], values[position + 1 :]
    is_array = _is_empty(line) and ending == "\n" and _is_array_of_numbers(items)
    joined = (
        SymbolicText((FormattedValue(items.columns, f"j{separator}"),))
        if is_array and not set(separator) & set("{}")
        else convert(library.join_texts)(separator, [items])  # type: ignore[arg-type]
    )
    with_items, without = [*before, joined, *after], [*before, *after]
    if not without:
        _print_items(line, with_items, separator, ending)
        return
    stage_branch(
        item_count([items]) == 0,
        lambda: _print_items(line, without, separator, ending),
        lambda: _print_items(line, with_items, separator, ending),
        Variables(lambda: (), ()),
    )


def _print_after(text: Any, line: OpenLine, values: list[Any], separator: str, ending: Any) -> None:
    """Print values in the line, which has this text: the option that the run has chosen."""
    line.replace(text)
    _print_items(line, values, separator, ending)


def _is_array_of_numbers(items: StackedItems) -> bool:
    """Whether items are numbers that one array with one axis holds."""
    return items.lengths is None and is_symbolic(items.columns) and len(items.columns.shape) == 1


def _print_texts(line: OpenLine, texts: list[tuple[Any, ...]], separator: str, ending: Any) -> None:
    """Print these texts in the line, which the end of them may end."""
    joined = [part for text in texts for part in (separator, *text)][1:]
    if not _is_empty(line):
        joined = [*text_parts(line.text), *joined]
    if not ending.endswith("\n"):
        parts = [*joined, ending]
        line.replace("".join(parts) if all(isinstance(part, str) for part in parts) else SymbolicText(tuple(parts)))
        return
    print_joined(*map(_printable, [*joined, ending[:-1]] if ending[:-1] else joined))
    if not _is_empty(line):
        line.replace("")


def _is_empty(line: OpenLine) -> bool:
    """Whether it is certain that a line has no text yet."""
    return isinstance(line.text, str) and not line.text


def _printable(part: Any) -> Any:
    """A part of a printed line: a string, or a value with a format."""
    if isinstance(part, Characters):
        return part.printable() if part.codes else ""
    return FormattedValue(part) if is_symbolic(part) else part


@contextmanager
def open_line_of_function(region: RegionBuilder) -> Iterator[Callable[[], None]]:
    """Surrounds the body of a function, which begins a line of its own. Gives a function that prints what is left of
    this line."""
    builder = region.specialization.program_builder
    outer, builder.open_line = builder.open_line, OpenLine()
    try:
        yield lambda: convert(library.end_line)(builder.open_line)  # type: ignore[arg-type]
    finally:
        builder.open_line = outer
