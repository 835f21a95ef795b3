"""The process of a Python backend: `python -m tagloom.interp.oracle.worker NAME` serves an adapter under the
conformance protocol; further arguments are a level, or optimisations to disable.

Standard output is reserved for the protocol: output of libraries goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, TypeAlias, TypeVar

from ...core.errors import Deadlock, Invalid, TagloomError, Trap
from ...core.json.cursor import JsonCursor, parse_json
from ...core.json.program import read_program
from ...core.json.value import read_value
from ...core.value import Value
from ..exchange.export.walker import Refusal
from .adapters import load_adapter
from .protocol import (
    PROTOCOL_VERSION,
    Adapter,
    Answer,
    AnswerKind,
    answer_to_json,
    capabilities_to_json,
    read_field,
)

T = TypeVar("T")
"""The type of the result of an action."""
STACK_BYTES, MAX_PYTHON_DEPTH = 512 * 2**20, 20_000
"""Room for backends whose calls are Python's."""
MAX_MESSAGE = 4_000
"""The most characters of an error's message that are sent."""


Compute: TypeAlias = Callable[[Sequence[Value]], Sequence[Value]]
"""Runs a compiled program."""
ANSWERS: tuple[tuple[type[Exception], AnswerKind, str], ...] = (
    (Trap, "trapped", ""),
    (Deadlock, "deadlocked", ""),
    (Invalid, "refused", "invalid"),
    (NotImplementedError, "refused", "kernel"),
    (RecursionError, "refused", "limit"),
    (Exception, "error", ""),
)
"""The kind and the cause of the answer for an exception of the backend; the first class that fits decides."""


def serve(adapter: Adapter, requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until `bye`, or until there are none."""
    programs: list[Compute] = []
    for line in requests:
        cursor = JsonCursor(parse_json(line.decode()))
        reply = answer_request(adapter, programs, cursor)
        replies.write(json.dumps({"seq": read_field(cursor, "seq").integer(0), **reply}).encode() + b"\n")
        replies.flush()
        if reply["reply"] == "bye":
            return


def answer_request(adapter: Adapter, programs: list[Compute], cursor: JsonCursor) -> dict[str, Any]:
    """The content of the reply to a request. The number of a program is its position in `programs`."""
    match read_field(cursor, "request").one_of(("hello", "compile", "run", "drop", "bye")):
        case "hello":
            return {"reply": "hello", "protocol": PROTOCOL_VERSION, **capabilities_to_json(adapter.describe())}
        case "compile":
            program = read_program(read_field(cursor, "program"))
            compiled = attempt(lambda: adapter.compile(program))
            if isinstance(compiled, Answer):
                return answer_to_json(compiled)
            programs.append(compiled)
            return {"reply": "compiled", "program": len(programs) - 1}
        case "run":
            compute = programs[read_field(cursor, "program").integer(0)]
            arguments = read_field(cursor, "arguments").map_entries(read_value)
            results = attempt(lambda: tuple(compute(arguments)))
            return answer_to_json(results if isinstance(results, Answer) else Answer("returned", results))
        case "drop":
            programs[read_field(cursor, "program").integer(0)] = refuse_to_run
            return {"reply": "dropped"}
    return {"reply": "bye"}


def refuse_to_run(arguments: Sequence[Value]) -> Sequence[Value]:
    """Stands for a program that was dropped."""
    raise Refusal("limit", "the program was dropped")


def attempt(action: Callable[[], T]) -> T | Answer:
    """The result of an action of the backend; for a refusal or an exception, the answer that says so."""
    try:
        return action()
    except Refusal as refusal:
        return Answer("refused", cause=refusal.kind, message=refusal.message)
    except Exception as error:
        kind, cause = next((kind, cause) for class_, kind, cause in ANSWERS if isinstance(error, class_))
        return Answer(kind, cause=cause, message=describe_exception(error))


def describe_exception(error: Exception) -> str:
    """An exception in a line: its class and message."""
    return f"{type(error).__name__}: {error}"[:MAX_MESSAGE]


def main(name: str, settings: Sequence[str] = ()) -> None:
    """Serve the adapter of this name on this process's standard streams, with these settings."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints
    try:
        adapter = load_adapter(name, settings)
    except (TagloomError, ImportError) as error:
        sys.exit(f"the backend {name} cannot be loaded by {sys.executable}: {error}")
    sys.setrecursionlimit(MAX_PYTHON_DEPTH)
    threading.stack_size(STACK_BYTES)
    thread = threading.Thread(target=serve, args=(adapter, sys.stdin.buffer, replies))
    thread.start()
    thread.join()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
