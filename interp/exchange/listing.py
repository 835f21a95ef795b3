"""The text of a foreign program: the source that the debugger shows, and to which errors point.

Nodes are evaluated in Python frames whose positions are in this text. So a traced node has its position in the foreign
program, and foreign names as scopes.
"""

from __future__ import annotations

import ast
import itertools
import linecache
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

from ...core.escape import escape_line
from ...core.frontend.trace.source_location import FOREIGN_CODES, definition_location
from ...core.program.program import SourceSpan

MAX_LINE_LENGTH = 400
MAX_NAME_LENGTH = 60


def abbreviate_name(name: str) -> str:
    """A foreign name as it may stand in a line."""
    return escape_line(name)[:MAX_NAME_LENGTH]


class Listing:
    """The lines of a program's text."""

    def __init__(self, lines: Sequence[str], file: str | None, name: str, suffix: str) -> None:
        """`file` is the path of the program, if it has one. A program without a file gets a file name made of `name`
        and `suffix`, with a number if another text has that name."""
        self.lines = list(lines)
        text = [f"{line[:MAX_LINE_LENGTH]}\n" for line in self.lines]
        self.file = file or free_file(name, suffix, text)
        linecache.cache[self.file] = (sum(map(len, text)), None, text, self.file)
        definition_location(self.code(1, 0, "<model>"))

    def code(self, line: int, column: int, name: str) -> CodeType:
        """The code of a call at a position in a line."""
        end = max(len(self.lines[line - 1].encode()), column + 1)
        return call_code(self.file, SourceSpan(line, column, line, end), name)

    def call_at(self, position: tuple[int, int], scopes: Sequence[str], action: Callable[[], Any]) -> Any:
        """Call an action from a position (line, column) in these scopes, at least one; returns its result."""
        line, column = position
        codes = [self.code(1, 0, name) for name in ("<model>", *scopes[:-1])]
        return call_in_frames([*codes, self.code(line, column, scopes[-1])], action)

    def definition(self, line: int = 1) -> Callable[..., Any]:
        """A Python function whose definition is in a line."""

        def program() -> None: ...

        program.__code__ = program.__code__.replace(co_filename=self.file, co_firstlineno=line)
        return program


def call_in_frames(codes: Sequence[CodeType], action: Callable[[], Any]) -> Any:
    """Call an action from frames with these codes, outermost first; returns its result."""
    for code in reversed(codes):
        action = _Frame(code, action)
    return action()


class _Frame:
    """A call of an action from a frame with this code."""

    def __init__(self, code: CodeType, action: Callable[[], Any]) -> None:
        self.code, self.action = code, action

    def __call__(self) -> Any:
        return eval(self.code, {"__builtins__": {}, "evaluate": self.action})


def free_file(name: str, suffix: str, text: list[str]) -> str:
    """A file name that no other text has."""
    for number in itertools.count(1):
        file = f"{name}{suffix}" if number == 1 else f"{name}_{number}{suffix}"
        if file not in linecache.cache or linecache.cache[file][2:3] == (text,):
            return file
    raise AssertionError("there are more numbers than texts")


@lru_cache(maxsize=4096)
def call_code(file: str, span: SourceSpan, name: str) -> CodeType:
    """The code of `evaluate()` at a position in a file, in a function of this name."""
    position = {
        "lineno": span.line,
        "col_offset": span.column,
        "end_lineno": span.end_line,
        "end_col_offset": span.end_column,
    }
    call = ast.Call(ast.Name("evaluate", ast.Load(), **position), [], [], **position)
    code = compile(ast.Expression(call), file, "eval").replace(co_name=name, co_qualname=name)
    FOREIGN_CODES.add(code)
    return code
