"""The conformance protocol, version 1: how a backend describes itself, and its replies. docs/conform.md describes it,
docs/schemas/conform.json is its schema.

A backend is a process that reads requests from its standard input and writes replies to its standard output: JSON, one
object a line, UTF-8. A reply repeats the `seq` of its request. Standard error is for people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from ...core.dtypes import BY_NAME
from ...core.errors import plural
from ...core.json.cursor import JsonCursor
from ...core.json.value import JsonValue, read_value, value_to_json
from ...core.ops.op import OPS
from ...core.program.program import Program
from ...core.types import Type, type_of
from ...core.value import Value
from ..exchange.refusals import REFUSAL_KINDS

T = TypeVar("T")
"""The type of an entry of a list."""
PROTOCOL_VERSION = 1
CONSTRUCTS = ("cond", "while_loop", "call", "recursion", "arrays")
"""The constructs that a backend may support; without arrays, it has scalars only."""

ENDINGS = ("trapped", "deadlocked", "invalid")
"""The endings without results that a backend may promise to report: a trap, a deadlock, and the refusal of a program
that breaks a rule."""

AnswerKind = Literal["returned", "trapped", "deadlocked", "refused", "error", "crash", "hang", "invalid", "not started"]
"""The kind of the result of a program on a backend. The process returned results, trapped, deadlocked, refused the
program, or reported an error; or it died, did not answer in time, sent an invalid reply, or does not start."""


class Answer(NamedTuple):
    """The result of a program on a backend. `cause` is the kind of a refusal, the signal of a crash (or `memory`), or
    the phase of a hang."""

    kind: AnswerKind
    results: tuple[Value, ...] = ()
    cause: str = ""
    message: str = ""


class Level(NamedTuple):
    """A way to run programs with fewer parts of a backend: its process does so if its command ends in `name`. `part` is
    the part that this level adds to the previous one."""

    name: str
    part: str


class Capabilities(NamedTuple):
    """The description that a backend gives of itself. None stands for all. `flags` are the optimisations that its
    process disables if its command ends in their names, `endings` the members of ENDINGS that it always reports.
    `levels` begin with the fewest parts of the backend, and end with all parts: the default, if the command names no
    level."""

    name: str
    version: str
    language: str
    dtypes: tuple[str, ...] | None = None
    ops: tuple[str, ...] | None = None
    constructs: tuple[str, ...] | None = None
    flags: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ()

    def supports_type(self, type_: Type) -> bool:
        """Whether the backend supports values of a type."""
        is_scalar = type_.shape == ()
        return (self.dtypes is None or repr(type_.dtype) in self.dtypes) and (is_scalar or self.supports("arrays"))

    def supports_op(self, name: str) -> bool:
        """Whether the backend supports an op on some dtype."""
        return self.ops is None or name in self.ops

    def supports(self, construct: str) -> bool:
        """Whether the backend supports a construct."""
        return self.constructs is None or construct in self.constructs


ALL_CAPABILITIES = Capabilities("", "", "")
"""The capabilities of a backend that supports everything."""


class Adapter(Protocol):
    """A backend in Python. It lives in a process of its own, and may crash there.

    `compile`, and the function that it returns, raise Refusal for features that the backend does not support. Any other
    exception is an error of the backend, unless the program traps.
    """

    def describe(self) -> Capabilities: ...

    def compile(self, program: Program) -> Callable[[Sequence[Value]], Sequence[Value]]: ...


def read_field(cursor: JsonCursor, key: str) -> JsonCursor:
    """The value of a key of an object; raises Malformed if there is none."""
    cursor.mapping()
    if not cursor.has_key(key):
        cursor.refuse(f"the key {key}")
    return cursor.value_at(key)


def capabilities_to_json(capabilities: Capabilities) -> JsonValue:
    """The content of the reply to `hello`."""
    content: dict[str, Any] = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in capabilities._asdict().items()
        if value is not None
    }
    return {**content, "levels": [level._asdict() for level in capabilities.levels]}


def read_capabilities(cursor: JsonCursor) -> Capabilities:
    """The description that a backend gives of itself; raises Malformed."""

    def entries(key: str, read: Callable[[JsonCursor], T]) -> tuple[T, ...] | None:
        return read_field(cursor, key).map_entries(read) if cursor.has_key(key) else None

    name, version, language = (read_field(cursor, key).name() for key in ("name", "version", "language"))
    return Capabilities(
        name,
        version,
        language,
        entries("dtypes", lambda entry: entry.one_of(BY_NAME)),
        entries("ops", read_op),
        entries("constructs", lambda entry: entry.one_of(CONSTRUCTS)),
        entries("flags", JsonCursor.name) or (),
        entries("endings", lambda entry: entry.one_of(ENDINGS)) or (),
        entries("levels", read_level) or (),
    )


def read_op(cursor: JsonCursor) -> str:
    """The name of an op; raises Malformed."""
    name = cursor.name()
    if name not in OPS:
        similar = ", ".join(get_close_matches(name, OPS))
        cursor.refuse("an op of docs/ops.md", hint=similar and f"similar names: {similar}")
    return name


def read_level(cursor: JsonCursor) -> Level:
    """A level of a backend; raises Malformed."""
    return Level(read_field(cursor, "name").name(), read_field(cursor, "part").text())


def answer_to_json(answer: Answer) -> dict[str, Any]:
    """An answer as the content of a reply."""
    match answer.kind:
        case "returned":
            return {"reply": "returned", "results": list(map(value_to_json, answer.results))}
        case "refused":
            return {"reply": "refused", "kind": answer.cause, "message": answer.message}
    return {"reply": answer.kind, "message": answer.message}


def read_answer(cursor: JsonCursor) -> Answer:
    """The answer of a reply to `compile` or `run`; raises Malformed."""
    match read_field(cursor, "reply").one_of(("returned", "trapped", "deadlocked", "refused", "error")):
        case "returned":
            return Answer("returned", read_field(cursor, "results").map_entries(read_value))
        case "refused":
            kind = read_field(cursor, "kind").one_of(REFUSAL_KINDS)
            return Answer("refused", cause=kind, message=read_field(cursor, "message").text())
        case "trapped":
            return Answer("trapped", message=read_field(cursor, "message").text())
        case "deadlocked":
            return Answer("deadlocked", message=read_field(cursor, "message").text())
    return Answer("error", message=read_field(cursor, "message").text())


def check_results(program: Program, results: Sequence[Value]) -> str | None:
    """Why these cannot be the results of a program: their number, a dtype or a shape. None if they can."""
    types = program.main.results
    if len(types) != len(results):
        return f"it has {plural(len(results), 'result')} instead of {len(types)}"
    for position, (expected, value) in enumerate(zip(types, results, strict=True)):
        if not expected.admits(type_of(value)):
            return f"result {position} is of type {type_of(value)} instead of {expected}"
    return None
