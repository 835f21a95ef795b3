"""Programs, graphs and outcomes as JSON documents: writing and reading. Reading a document never runs code.

Event logs, which have many lines, belong to `event_log` and `history.replay`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from ...core.errors import Malformed, Usage
from ...core.files import read_file, write_file
from ...core.graph.graph import Graph
from ...core.json.cursor import JsonCursor, parse_json, read_form
from ...core.json.graph import graph_to_json, read_graph
from ...core.json.program import program_to_json, read_program
from ...core.json.value import JsonValue
from ...core.program.program import Program
from ..outcome.outcome import Outcome
from .outcome_json import OutcomeRecord, outcome_form, read_outcome, to_outcome_record

Serializable: TypeAlias = Program | Graph | Outcome | OutcomeRecord
_READERS: dict[str, Callable[[JsonCursor], Program | Graph | OutcomeRecord]] = {
    "program": read_program,
    "graph": read_graph,
    "outcome": read_outcome,
}


def to_json(subject: Serializable) -> JsonValue:
    """A program, graph or outcome as a document: plain data for `json.dumps`.

    >>> import tagloom as tl
    >>> document = tl.to_json(tl.Builder("empty").build())
    >>> document["tagloom"], document["version"], document["name"]
    ('graph', 1, 'empty')

    Raises Usage for anything else, and for names that are not valid Unicode.
    """
    match subject:
        case Program():
            return program_to_json(subject)
        case Graph():
            return graph_to_json(subject)
        case Outcome():
            return outcome_form(to_outcome_record(subject))
        case OutcomeRecord():
            return outcome_form(subject)
    raise Usage("this has no JSON form", required="a program, a graph or an outcome", got=type(subject).__name__)


def from_json(document: object) -> Program | Graph | OutcomeRecord:
    """The content of a document, given as plain data from `json.loads` or as the text itself.

    The data is checked to the last key, but a program or graph is not checked against the rules V1 to V17. An outcome
    becomes an OutcomeRecord, which any machine could have written.

    Raises Malformed, with the path to the place, where the document does not fit its form.
    """
    return _read_document(document, None)


def _read_document(document: object, file: str | None) -> Program | Graph | OutcomeRecord:
    """The content of a document; `file` names the file that it came from, if any."""
    try:
        at = JsonCursor(parse_json(document) if isinstance(document, str | bytes) else document, file=file)
        return _READERS[read_form(at, _READERS)](at)
    except RecursionError:
        raise Malformed("the document does not fit its form", where="$", got="data nested too deep") from None
    except Malformed as error:
        if (error.where, error.got) == ("$.tagloom", '"events"') or str(error.got).startswith("Extra data"):
            error.hint = "tl.read_events(path) reads a log of events, whose lines are documents"
        raise


def write_json(subject: Serializable, path: str | Path) -> None:
    """Write a document to a file; raises Usage where the file cannot be written, and as `to_json` does."""
    write_file(path, format_json(subject).encode("ascii"))


def read_json(path: str | Path) -> Program | Graph | OutcomeRecord:
    """The content of the document in a file; raises Usage where the file cannot be read, and Malformed as `from_json`
    does."""
    return _read_document(read_file(path), str(path))


def format_json(subject: Serializable) -> str:
    """A document as text: one line per key, and one per object in lists of objects."""
    return "{" + ",\n".join(_format_entry(key, said) for key, said in to_json(subject).items()) + "}\n"


def _format_entry(key: str, said: JsonValue) -> str:
    if isinstance(said, list) and said and isinstance(said[0], dict):
        return f"{json.dumps(key)}: [\n  {_ROW_SEPARATOR.join(map(_dump, said))}]"
    return f"{json.dumps(key)}: {_dump(said)}"


def _dump(said: JsonValue) -> str:
    return json.dumps(said, allow_nan=False)


_ROW_SEPARATOR = ",\n  "
