"""Programs, graphs and outcomes as JSON: the one door to their forms. Reading a document never runs code.

Event logs, which are many lines, are `log`'s and `replay`'s.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from ...core.errors import Malformed, Usage
from ...core.files import read_file, write_file
from ...core.graph.graph import Graph
from ...core.json.cursor import Cursor, form_of, parse
from ...core.json.graph import graph_form, read_graph
from ...core.json.program import program_form, read_program
from ...core.json.value import Plain
from ...core.program.program import Program
from ..outcome.outcome import Outcome
from .outcome_json import OutcomeRecord, outcome_form, read_outcome, record

Subject: TypeAlias = Program | Graph | Outcome | OutcomeRecord
_READERS: dict[str, Callable[[Cursor], Program | Graph | OutcomeRecord]] = {
    "program": read_program,
    "graph": read_graph,
    "outcome": read_outcome,
}


def to_json(subject: Subject) -> Plain:
    """A program, graph or outcome as a document: plain data that `json.dumps` writes.

    >>> import tagloom as tl
    >>> document = tl.to_json(tl.Builder("empty").build())
    >>> document["tagloom"], document["version"], document["name"]
    ('graph', 1, 'empty')

    Raises Usage for anything else, and for names that are no Unicode.
    """
    match subject:
        case Program():
            return program_form(subject)
        case Graph():
            return graph_form(subject)
        case Outcome():
            return outcome_form(record(subject))
        case OutcomeRecord():
            return outcome_form(subject)
    raise Usage("this has no JSON form", required="a program, a graph or an outcome", got=type(subject).__name__)


def from_json(document: object) -> Program | Graph | OutcomeRecord:
    """What a document says: plain data as `json.loads` gives, or the text itself.

    The data is checked to the last key; whether a program or graph keeps the rules V1 to V17 is not. An outcome
    becomes a record, which any machine could have written.

    Raises Malformed, with the path to the place, where the document does not fit its form.
    """
    return _read(document, None)


def _read(document: object, file: str | None) -> Program | Graph | OutcomeRecord:
    """What a document says, which may be a file."""
    try:
        at = Cursor(parse(document) if isinstance(document, str | bytes) else document, document=file)
        return _READERS[form_of(at, _READERS)](at)
    except RecursionError:
        raise Malformed("the document does not fit its form", where="$", got="data nested too deep") from None
    except Malformed as error:
        if (error.where, error.got) == ("$.tagloom", '"events"') or str(error.got).startswith("Extra data"):
            error.hint = "tl.read_events(path) reads a log of events, whose lines are documents"
        raise


def write_json(subject: Subject, path: str | Path) -> None:
    """Write a document to a file; raises Usage where the file cannot be written, and as `to_json` does."""
    write_file(path, text_form(subject).encode("ascii"))


def read_json(path: str | Path) -> Program | Graph | OutcomeRecord:
    """What the document in a file says; raises Usage where the file cannot be read, and Malformed as `from_json`."""
    return _read(read_file(path), str(path))


def text_form(subject: Subject) -> str:
    """A document as text: a line a key, and in lists of objects a line an object."""
    return "{" + ",\n".join(_line(key, said) for key, said in to_json(subject).items()) + "}\n"


def _line(key: str, said: Plain) -> str:
    if isinstance(said, list) and said and isinstance(said[0], dict):
        return f"{json.dumps(key)}: [\n  {_JOINT.join(map(_text, said))}]"
    return f"{json.dumps(key)}: {_text(said)}"


def _text(said: Plain) -> str:
    return json.dumps(said, allow_nan=False)


_JOINT = ",\n  "
