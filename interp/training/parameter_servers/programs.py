"""Programs and values as peers send them to each other: as text and arrays, never as code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ....core.errors import Deadlock, Exhausted, Invalid, TagloomError, Trap, Usage
from ....core.graph.lower import lower
from ....core.json.cursor import JsonCursor
from ....core.json.program import program_to_json, read_program
from ....core.program.program import Program
from ....core.value import Value
from ...engines.distributed.messages import TagNames, WorkerFailure, read_data, value_to_data
from ...engines.protocol import Job, RunOptions
from ...engines.reference import default_structure
from ...engines.registry import run
from ...outcome.outcome import value_or_raise
from ...records.documents import TagTable

_ERRORS = {kind.__name__: kind for kind in (Trap, Exhausted, Deadlock, Usage, Invalid)}
"""The errors that a program may end with, by name."""
_FIELDS = ("rule", "where", "tag", "required", "got", "hint")


def program_to_text(program: Program) -> str:
    """A program as the text of its JSON form."""
    return json.dumps(program_to_json(program), separators=(",", ":"))


class SentProgram:
    """A program that another peer has sent, and the engine that runs it."""

    def __init__(self, text: str, engine: str | None) -> None:
        """`text` is the result of `program_to_text`."""
        program = read_program(JsonCursor(json.loads(text)))
        graph = lower(program)
        self._job, self._engine = Job(graph, default_structure(graph), program), engine

    def run(self, arguments: Sequence[Value], seed: int = 0) -> tuple[Any, ...]:
        """Its results; raises the error of a run that does not return."""
        outcome = run(self._job, arguments, RunOptions(measures=False, seed=seed), self._engine)
        value_or_raise(outcome)
        return outcome.results


def values_to_data(values: Sequence[Value]) -> list[Any]:
    """Values as parts of a document."""
    table = TagTable(())
    return [value_to_data(table, value) for value in values]


def read_values(data: Sequence[Any]) -> list[Value]:
    """The values that `values_to_data` wrote."""
    names = TagNames([], [])
    return [read_data(names, part) for part in data]


def error_to_data(error: TagloomError) -> Any:
    """The error of a run as a part of a document: its class, its message and its other fields, as texts."""
    kind = next((name for name, kind in _ERRORS.items() if isinstance(error, kind)), "")
    fields = {name: str(field) for name in _FIELDS if (field := getattr(error, name)) is not None}
    return [kind, error.message, fields]


def read_error(data: Any) -> TagloomError:
    """The error that `error_to_data` wrote; of an unknown class, WorkerFailure."""
    kind, message, fields = data
    error: TagloomError = _ERRORS.get(kind, WorkerFailure)(message, **fields)
    return error
