"""Export of a position as a test: the text of a Python file that loads the program, goes to the position, and asserts
its state."""

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
from ...interp.machine.script import Script
from ...interp.records.event_log import SUFFIX
from ..load import split_target
from ..run_start import Start, StartOptions
from .run import SessionRun

LINE_WIDTH = 88
"""The default line width of ruff."""


def export_test(run: SessionRun, folder: Path) -> str:
    """The test of a run's current position, for a file in this folder.

    Raises Usage if a token was changed under a tag that is too deep to write.
    """
    history = run.history
    constants = [
        *_program_constants(run),
        *_choice_constants(history),
        *_text_constant("MOMENT", str(history.moment()).splitlines()),
    ]
    way = [*_format_call("    run = ", *_constructor_call(run, folder)), *_replay_statements(history)]
    name = re.sub(r"\W+", "_", f"{run.name}_after_{history.position}_events", flags=re.ASCII).lower()
    lines = [
        '"""A moment of a run, as `tagloom debug` kept it."""',
        "",
        *(["from pathlib import Path", ""] if _program_target(run) else []),
        *(["import numpy as np"] if any("np.zeros(" in line for line in way) else []),
        "import tagloom as tl",
        "",
        *constants,
        "",
        "",
        f"def test_{name}() -> None:",
        '    """What was true there is true."""',
        *way,
        "    assert str(run.moment()).splitlines() == MOMENT.splitlines()",
    ]
    long = any(len(line) > LINE_WIDTH for line in lines)
    return "\n".join([*(["# ruff: noqa: E501"] if long else []), *lines, ""])


def _program_target(run: SessionRun) -> str | None:
    """The file of the program; None if the program has to be embedded."""
    start = run.start
    return None if start is None or start.target.endswith(SUFFIX) else start.target


def _program_constants(run: SessionRun) -> list[str]:
    if _program_target(run) is not None:
        return ["HERE = Path(__file__).resolve().parent"]
    return _text_constant("GRAPH", print_graph(run.history.graph).splitlines())


def _choice_constants(history: History) -> list[str]:
    """The chosen positions of the flight, if they are not those of the schedule."""
    if not _has_manual_choices(history):
        return []
    taken = " ".join(str(event.position) for event in history[: history.position])
    return _text_constant("CHOICES", wrap(taken, LINE_WIDTH))


def _has_manual_choices(history: History) -> bool:
    by_hand = history.first_manual_event is not None and history.first_manual_event < history.position
    return by_hand or bool(_past_edits(history)) or history.schedule == "hand"


def _past_edits(history: History) -> list[tuple[int, Edit]]:
    return [(at, edit) for at, edit in history.edits if at <= history.position]


def _text_constant(name: str, lines: Sequence[str]) -> list[str]:
    """A multi-line string constant."""
    text = "\n".join(lines)
    if '"""' in text or "\\" in text:
        return [f"{name} = {_quote(text)}"]
    return [f'{name} = """', *(lines if lines != [""] else []), '""".strip()']


def _quote(text: str) -> str:
    """A text quoted as ruff does."""
    said = repr(text)
    return said if said[0] == '"' or '"' in said else f'"{said[1:-1]}"'


def _constructor_call(run: SessionRun, folder: Path) -> tuple[str, list[str]]:
    """The call that creates the history: the function, and its arguments."""
    history, start = run.history, run.start
    options = start.options if start is not None else StartOptions()
    schedule = (
        history.schedule
        if not isinstance(options.schedule, Script) and history.schedule != "hand"
        else _clock_schedule(history)
    )
    named = [f'schedule="{schedule}"'] if schedule != "waves" else []
    named += [f"seed={history.seed}"] if history.seed else []
    named += [] if history.bound is None else [f"k={history.bound}"]
    named += ["unchecked=True"] if options.unchecked or history.is_invalid else []
    if _program_target(run) is None:
        values = ", ".join(map(_python_literal, history.arguments))
        return "tl.History", ["tl.parse_graph(GRAPH)", f"[{values}]", *named]
    assert start is not None
    return "tl.load_run", [
        _path_expression(start, folder),
        *(_argument_expression(word, folder) for word in start.words),
        *named,
    ]


def _clock_schedule(history: History) -> str:
    """The schedule that defines the clock of a run by hand."""
    return "waves" if history.state.is_clocked else "fifo"


def _path_expression(start: Start, folder: Path) -> str:
    """The file, relative to the test's folder if possible; and the name in it."""
    file, name = split_target(start.target)
    path = f"str(HERE / {_quote(_relative_path(file, folder))})"
    return f'{path} + ":{name}"' if name else path


def _relative_path(file: str, folder: Path) -> str:
    return Path(os.path.relpath(Path(file).resolve(), folder.resolve())).as_posix()


def _argument_expression(word: str, folder: Path) -> str:
    """An argument; an array file by its path relative to the test."""
    if not word.startswith("@"):
        return _quote(word)
    return f'"@" + str(HERE / {_quote(_relative_path(word[1:], folder))})'


def _replay_statements(history: History) -> Iterator[str]:
    """The statements that go to the history's position."""
    position = history.position
    if not _has_manual_choices(history):
        if history.base:
            yield f"    run = run.far({position})"
            yield f"    run.forward_to(lambda state, event: state.steps == {position})"
        elif position:
            yield f"    for _ in range({position}):"
            yield "        run.forward()"
        return
    yield "    choices = [int(choice) for choice in CHOICES.split()]"
    at = 0
    for place, edit in _past_edits(history):
        yield from _delivery_statements(at, place)
        yield from _format_call("    run = ", *_edit_call(history.graph, edit))
        at = place
    yield from _delivery_statements(at, position)


def _delivery_statements(start: int, stop: int) -> Iterator[str]:
    if start < stop:
        yield f"    for choice in choices[{start}:{stop}]:"
        yield "        run.deliver(choice)"


def _edit_call(graph: Graph, edit: Edit) -> tuple[str, list[str]]:
    number, port, tag, _ = edit.token
    if isinstance(edit, TokenInjection) or isinstance(edit.place, TokenSlot):
        if tag.depth > 20:
            raise Usage("a token was changed too deep down to be written into a test", tag=tag)
        node, under = _quote(str(graph.nodes[number])), _quote(str(tag))
        if isinstance(edit, TokenInjection):
            return "run.inject", [node, str(port), under, _python_literal(edit.value)]
        return "run.change", [f"({node}, {port}, {under})", _python_literal(edit.value)]
    return "run.change", [str(edit.place), _python_literal(edit.value)]


def _python_literal(value: Value) -> str:
    """A value as Python writes it, of whatever dtype the place has where it goes; what is empty has no list that says
    its shape.

    >>> _python_literal(np.int8(3)), _python_literal(float("nan"))
    ('3', 'float("nan")')
    >>> _python_literal(np.array([1.0, 2.5])), _python_literal(np.zeros((0, 3)))
    ('[1.0, 2.5]', 'np.zeros((0, 3), "float64")')
    """
    array = np.asarray(value)
    if array.ndim > 1 and not array.size:
        return f'np.zeros({array.shape}, "{array.dtype}")'
    return re.sub(r"-?\b(inf|nan)\b", lambda found: f'float("{found[0]}")', repr(array.tolist()))


def _format_call(before: str, function: str, arguments: Sequence[str]) -> list[str]:
    """A call as ruff formats it: on one line, or its arguments on the next, or one on each."""
    inside = ", ".join(arguments)
    if len(one := f"{before}{function}({inside})") <= LINE_WIDTH:
        return [one]
    if len(f"        {inside}") <= LINE_WIDTH:
        return [f"{before}{function}(", f"        {inside}", "    )"]
    return [f"{before}{function}(", *(f"        {each}," for each in arguments), "    )"]
