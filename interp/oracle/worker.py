"""The process of a Python backend: `python -m tagloom.interp.oracle.worker NAME` serves an adapter under the
conformance protocol; further arguments are a level, or optimisations to disable.

Standard output is the protocol's alone: whatever a library prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

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
    answer_to_json,
    capabilities_to_json,
    read_field,
    refusal_answer,
)

STACK_BYTES, MAX_PYTHON_DEPTH = 512 * 2**20, 20_000
"""Room for backends whose calls are Python's."""
MAX_MESSAGE = 4_000
"""The most characters of an error's message that are sent."""


def serve(adapter: Adapter, requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until `bye`, or until there are none."""
    programs: dict[int, Callable[[Sequence[Value]], Sequence[Value]]] = {}
    for line in requests:
        cursor = JsonCursor(parse_json(line.decode()))
        reply = answer_request(adapter, programs, cursor)
        replies.write(json.dumps({"seq": read_field(cursor, "seq").integer(0), **reply}).encode() + b"\n")
        replies.flush()
        if reply["reply"] == "bye":
            return


def answer_request(
    adapter: Adapter, programs: dict[int, Callable[[Sequence[Value]], Sequence[Value]]], cursor: JsonCursor
) -> dict[str, Any]:
    """The content of the reply to a request."""
    match read_field(cursor, "request").one_of(("hello", "compile", "run", "drop", "bye")):
        case "hello":
            return {"reply": "hello", "protocol": PROTOCOL_VERSION, **capabilities_to_json(adapter.describe())}
        case "compile":
            program = read_program(read_field(cursor, "program"))
            answer = attempt(lambda: programs.update({(handle := len(programs)): adapter.compile(program)}) or handle)
            return answer if isinstance(answer, dict) else {"reply": "compiled", "program": answer}
        case "run":
            compute = programs[read_field(cursor, "program").integer(0)]
            arguments = read_field(cursor, "arguments").map_entries(read_value)
            answer = attempt(lambda: answer_to_json(Answer("returned", tuple(compute(arguments)))))
            return dict(answer)
        case "drop":
            programs[read_field(cursor, "program").integer(0)] = refuse_to_run
            return {"reply": "dropped"}
    return {"reply": "bye"}


def refuse_to_run(arguments: Sequence[Value]) -> Sequence[Value]:
    """Stands for a program that was dropped."""
    raise Refusal("limit", "the program was dropped")


def attempt(action: Callable[[], Any]) -> Any:
    """The result of an action of the backend; for a refusal or an exception, the content of the reply that says so."""
    try:
        return action()
    except Refusal as refusal:
        return answer_to_json(refusal_answer(refusal))
    except Trap as error:
        return answer_to_json(Answer("trapped", message=describe_exception(error)))
    except Deadlock as error:
        return answer_to_json(Answer("deadlocked", message=describe_exception(error)))
    except Invalid as error:
        return answer_to_json(Answer("refused", cause="invalid", message=describe_exception(error)))
    except NotImplementedError as error:
        return answer_to_json(Answer("refused", cause="kernel", message=describe_exception(error)))
    except RecursionError as error:
        return answer_to_json(Answer("refused", cause="limit", message=describe_exception(error)))
    except Exception as error:
        return answer_to_json(Answer("error", message=describe_exception(error)))


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
