"""Export of a position as a test: the text of a Python file that loads the program, goes to the position, and asserts
the state there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap

import numpy as np

from ...core.errors import Usage
from ...core.graph.graph import Graph
from ...core.text import print_graph
from ...core.value import Value
from ...interp.history.edit import Edit, TokenInjection, TokenSlot
from ...interp.history.history import History
from ...interp.machine.schedule import Script
from ...interp.records.event_sink import is_log
from ..load import split_target
from ..run_start import StartOptions
from .run import SessionRun

LINE_WIDTH = 88
"""The default line width of ruff."""


def export_test(run: SessionRun, folder: Path) -> str:
    """The test of a run's current position, for a file in this folder.

    Raises Usage if a token was changed under a tag that is too deep to write.
    """
    history, file = run.history, program_file(run)
    constants = ["HERE = Path(__file__).resolve().parent"]
    if file is None:
        constants = text_constant("GRAPH", print_graph(history.graph).splitlines())
    if has_manual_choices(history):
        choices = " ".join(str(event.position) for event in history[: history.position])
        constants += text_constant("CHOICES", wrap(choices, LINE_WIDTH))
    constants += text_constant("MOMENT", str(history.moment()).splitlines())
    statements = [*format_call("    run = ", *constructor_call(run, folder)), *replay_statements(history)]
    name = re.sub(r"\W+", "_", f"{run.name}_after_{history.position}_events", flags=re.ASCII).lower()
    lines = [
        '"""A position of a run, written by `tagloom debug`."""',
        "",
        *(["from pathlib import Path", ""] if file else []),
        *(["import numpy as np"] if any("np.zeros(" in line for line in statements) else []),
        "import tagloom as tl",
        "",
        *constants,
        "",
        "",
        f"def test_{name}() -> None:",
        '    """The state there is the same as when this test was written."""',
        *statements,
        "    assert str(run.moment()).splitlines() == MOMENT.splitlines()",
    ]
    has_long_lines = any(len(line) > LINE_WIDTH for line in lines)
    return "\n".join([*(["# ruff: noqa: E501"] if has_long_lines else []), *lines, ""])


def program_file(run: SessionRun) -> str | None:
    """FILE[:NAME] of the program; None if no file is known, or it is a log, so that the test must contain the
    graph."""
    start = run.start
    return None if start is None or is_log(start.target) else start.target


def has_manual_choices(history: History) -> bool:
    """Whether the delivered tokens were chosen otherwise than by the schedule, so that the test must list them."""
    by_hand = history.first_manual_event is not None and history.first_manual_event < history.position
    return by_hand or bool(past_edits(history)) or history.schedule == "hand"


def past_edits(history: History) -> list[tuple[int, Edit]]:
    """The edits up to the position, each with its own position."""
    return [(at, edit) for at, edit in history.edits if at <= history.position]


def text_constant(name: str, lines: Sequence[str]) -> list[str]:
    """The lines that define a string constant."""
    text = "\n".join(lines)
    if '"""' in text or "\\" in text:
        return [f"{name} = {quote(text)}"]
    return [f'{name} = """', *(lines if lines != [""] else []), '""".strip()']


def quote(text: str) -> str:
    """A string literal with the quotes that ruff prefers.

    >>> print(quote("it"), quote('say "it"'))
    "it" 'say "it"'
    """
    literal = repr(text)
    return literal if literal[0] == '"' or '"' in literal else f'"{literal[1:-1]}"'


def constructor_call(run: SessionRun, folder: Path) -> tuple[str, list[str]]:
    """The call that creates the history: the function, and its arguments."""
    history, start = run.history, run.start
    options = start.options if start is not None else StartOptions()
    schedule = history.schedule
    if isinstance(options.schedule, Script) or schedule == "hand":
        schedule = "waves" if history.state.is_clocked else "fifo"  # it defines the clock of a run by hand
    keywords = [f'schedule="{schedule}"'] if schedule != "waves" else []
    keywords += [f"seed={history.seed}"] if history.seed else []
    keywords += [] if history.bound is None else [f"k={history.bound}"]
    keywords += ["unchecked=True"] if options.unchecked or history.is_invalid else []
    if program_file(run) is None:
        values = ", ".join(map(python_literal, history.arguments))
        return "tl.History", ["tl.parse_graph(GRAPH)", f"[{values}]", *keywords]
    assert start is not None
    file, name = split_target(start.target)
    target = f'{path_expression(file, folder)} + ":{name}"' if name else path_expression(file, folder)
    words = [f'"@" + {path_expression(word[1:], folder)}' if word[:1] == "@" else quote(word) for word in start.words]
    return "tl.load_run", [target, *words, *keywords]


def path_expression(file: str, folder: Path) -> str:
    """An expression for the path of a file, relative to the test's folder."""
    path = Path(os.path.relpath(Path(file).resolve(), folder.resolve())).as_posix()
    return f"str(HERE / {quote(path)})"


def replay_statements(history: History) -> Iterator[str]:
    """The statements that go to the history's position."""
    position = history.position
    if not has_manual_choices(history):
        if history.base:
            yield f"    run = run.fast_forward({position})"
            yield f"    run.forward_to(lambda state, event: state.steps == {position})"
        elif position:
            yield f"    for _ in range({position}):"
            yield "        run.forward()"
        return
    yield "    choices = [int(choice) for choice in CHOICES.split()]"
    start = 0
    for stop, edit in [*past_edits(history), (position, None)]:
        if start < stop:
            yield f"    for choice in choices[{start}:{stop}]:"
            yield "        run.deliver(choice)"
        if edit is not None:
            yield from format_call("    run = ", *edit_call(history.graph, edit))
        start = stop


def edit_call(graph: Graph, edit: Edit) -> tuple[str, list[str]]:
    """The call that repeats an edit, which forks the run: the method, and its arguments. Raises Usage if the tag is too
    deep to write."""
    number, port, tag, _ = edit.token
    if isinstance(edit, TokenInjection) or isinstance(edit.place, TokenSlot):
        if tag.depth > 20:
            raise Usage("a token was changed under a tag that is too deep for a test", tag=tag)
        node, tag_text = quote(str(graph.nodes[number])), quote(str(tag))
        if isinstance(edit, TokenInjection):
            return "run.inject", [node, str(port), tag_text, python_literal(edit.value)]
        return "run.change", [f"({node}, {port}, {tag_text})", python_literal(edit.value)]
    return "run.change", [str(edit.place), python_literal(edit.value)]


def python_literal(value: Value) -> str:
    """A value as Python source, without its dtype, which is known from the port or parameter. Arrays are lists; empty
    arrays are `np.zeros`, because a list would lose their shape.

    >>> python_literal(np.int8(3)), python_literal(float("nan"))
    ('3', 'float("nan")')
    >>> python_literal(np.array([1.0, 2.5])), python_literal(np.zeros((0, 3)))
    ('[1.0, 2.5]', 'np.zeros((0, 3), "float64")')
    """
    array = np.asarray(value)
    if array.ndim > 1 and not array.size:
        return f'np.zeros({array.shape}, "{array.dtype}")'
    return re.sub(r"-?\b(inf|nan)\b", lambda match: f'float("{match[0]}")', repr(array.tolist()))


def format_call(before: str, function: str, arguments: Sequence[str]) -> list[str]:
    """A call as ruff formats it: on one line, or its arguments on the next, or one on each."""
    argument_text = ", ".join(arguments)
    if len(single_line := f"{before}{function}({argument_text})") <= LINE_WIDTH:
        return [single_line]
    if len(f"        {argument_text}") <= LINE_WIDTH:
        return [f"{before}{function}(", f"        {argument_text}", "    )"]
    return [f"{before}{function}(", *(f"        {argument}," for argument in arguments), "    )"]
