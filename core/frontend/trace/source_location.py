"""Source locations: the line of user code that is running, and the Python construct that needs a concrete value."""

from __future__ import annotations

import ast
import linecache
import os
import sys
import sysconfig
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain, count
from pathlib import Path
from types import CodeType, FrameType, ModuleType, TracebackType
from weakref import WeakSet

import numpy as np

from ...program.program import Location, ScopeEntry, TracedLocation
from ...python_ast import parse_python

_ROOTS = {Path(__file__).parents[3], Path(__file__).resolve().parents[3]}
"""The package's folder, under the name by which it was imported, and without symbolic links."""
_TAGLOOM_PATHS = (
    *(f"{root / layer}{os.sep}" for root in _ROOTS for layer in ("core", "interp", "viz", "tui")),
    *(str(root / "__init__.py") for root in _ROOTS),
)
_INTERNAL_PATHS = (*_TAGLOOM_PATHS, f"{Path(np.__file__).parent}{os.sep}")
"""The files that are not user code: tagloom's own, and NumPy's, which may call them."""
_INSTALLATION_FOLDERS = tuple({sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_traced_files: set[str] = set()
"""The source files that this process has traced."""


_LIBRARY_PATH = f"{sysconfig.get_paths()['stdlib']}{os.sep}"
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")
"""The folders of installed packages, which may be below Python's own library."""


@lru_cache(maxsize=4096)
def is_internal_file(file: str) -> bool:
    """Whether a file belongs to tagloom or NumPy."""
    return file.startswith(_INTERNAL_PATHS)


@lru_cache(maxsize=4096)
def is_tagloom_file(file: str) -> bool:
    """Whether a file belongs to tagloom."""
    return file.startswith(_TAGLOOM_PATHS)


@lru_cache(maxsize=4096)
def is_installed_file(file: str) -> bool:
    """Whether a file is one of the standard library, or of an installed package other than tagloom."""
    is_of_package = any(folder in file for folder in _PACKAGE_FOLDERS)
    return (is_of_package or file.startswith((*_INSTALLATION_FOLDERS, "<frozen "))) and not is_tagloom_file(file)


@lru_cache(maxsize=4096)
def is_library_file(file: str) -> bool:
    """Whether a file belongs to tagloom, NumPy or Python's own library, and so is not the user's."""
    is_own = file.startswith(_LIBRARY_PATH) and not any(folder in file for folder in _PACKAGE_FOLDERS)
    return is_own or is_internal_file(file)


_UNCONVERTED: dict[tuple[CodeType, str], str] = {}
"""Why a function is not converted, by its code and file."""


def explain_unconverted(code: CodeType, reason: str) -> None:
    """Note why the function with this code is not converted, for errors in it."""
    _UNCONVERTED[code, code.co_filename] = reason


def unconverted_reason(code: CodeType) -> str | None:
    """Why the function with this code is not converted; None where nothing speaks against it."""
    return _UNCONVERTED.get((code, code.co_filename))


def user_unconverted_reason() -> str | None:
    """Why the user code that is running is not converted; None where nothing speaks against it. The function around a
    comprehension counts."""
    frame = user_frame()
    while frame is not None and frame.f_code.co_name in _COMPREHENSIONS:
        frame = frame.f_back
    return None if frame is None else unconverted_reason(frame.f_code)


_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


_INLINED: set[tuple[CodeType, str]] = set()
"""The functions that run in their callers, by code and file."""


def mark_inline(code: CodeType) -> None:
    """Note that calls of the function with this code are not calls of the program."""
    _INLINED.add((code, code.co_filename))


def is_marked_inline(code: CodeType) -> bool:
    """Whether calls of the function with this code are not calls of the program."""
    return (code, code.co_filename) in _INLINED


def user_frame() -> FrameType | None:
    """The innermost frame of user code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_library_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def user_location() -> Location | None:
    """The line of user code that is running."""
    frame = user_frame()
    return TracedLocation(frame.f_code.co_filename, frame.f_lineno, frame.f_code, frame.f_lasti) if frame else None


def raising_location(error: BaseException) -> Location | None:
    """The innermost line of user code through which an exception has come."""
    frames = [(entry.tb_frame.f_code, entry) for entry in _traceback(error)]
    last = next((pair for pair in reversed(frames) if not is_internal_file(pair[0].co_filename)), None)
    return TracedLocation(last[0].co_filename, last[1].tb_lineno, last[0], last[1].tb_lasti) if last else None


def raising_codes(error: BaseException) -> list[CodeType]:
    """The code of the frames through which an exception has come, innermost last."""
    return [entry.tb_frame.f_code for entry in _traceback(error)]


def _traceback(error: BaseException) -> Iterator[TracebackType]:
    entry = error.__traceback__
    while entry is not None:
        yield entry
        entry = entry.tb_next


def user_name_of(value: object) -> str | None:
    """The name of a value in the user code that is running: a local variable, a global that the code uses, or an
    attribute of one of them; or `weights_w1` for the item `weights["w1"]`, and `layers_0` for the first of a list."""
    frame = user_frame()
    if frame is None:
        return None
    global_items = ((name, frame.f_globals[name]) for name in frame.f_code.co_names if name in frame.f_globals)
    items = (*frame.f_locals.items(), *global_items)
    attributes = (getattr(owner, "__dict__", None) for _, owner in items if not isinstance(owner, ModuleType | type))
    named = [*items, *chain.from_iterable(owned.items() for owned in attributes if type(owned) is dict)]
    item_names = ((f"{name}_{key}", item) for name, owner in named for key, item in named_items(owner))
    names = (name for name, named_value in chain(named, item_names) if named_value is value)
    return next((name for name in names if name.isidentifier()), None)


_MAX_NAMED_ITEMS = 1000
"""The most items of a dict or a list that have names."""


def named_items(owner: object) -> Iterable[tuple[str | int, object]]:
    """The items of a dict, a list or a tuple, with their keys or positions; none of a long one, or of another object.
    Keys are strings and integers: other keys, and subclasses of these types, would run user code."""
    if type(owner) not in (dict, list, tuple) or len(owner) > _MAX_NAMED_ITEMS:  # type: ignore[arg-type]
        return ()
    if type(owner) is dict:
        return [(key, item) for key, item in owner.items() if type(key) in (str, int)]
    return enumerate(owner)  # type: ignore[arg-type]


_OPERATION_PATHS = tuple(
    str(root / path)
    for root in _ROOTS
    for path in ("core/frontend/array_api/", "core/frontend/eager/tape.py", "interp/training/")
)
"""The files of tagloom's functions and methods that emit several nodes for one call, such as `conv`."""


def traced_user_location() -> Location | None:
    """The line of user code that is running, the helpers around it, and the function of tagloom that it calls; records
    its file as traced."""
    frame: FrameType | None = sys._getframe(1)
    operation: FrameType | None = None
    while frame is not None and is_library_file(frame.f_code.co_filename):
        if not frame.f_code.co_name.startswith(("_", "<")):
            operation = frame if frame.f_code.co_filename.startswith(_OPERATION_PATHS) else operation
        elif frame.f_code.co_name.startswith("__"):  # an operator, whatever it calls
            operation = None
        frame = frame.f_back
    if frame is None:
        return None
    _traced_files.add(frame.f_code.co_filename)
    scopes = call_scopes(frame, operation)
    return TracedLocation(frame.f_code.co_filename, frame.f_lineno, frame.f_code, frame.f_lasti, scopes)


_TRACING_FUNCTION = "trace_specialization"
"""The function that calls the body of a function that is traced."""

_REGION_FUNCTIONS = ("trace_into_region", "trace_stateful_branch", "if_stmt", "while_stmt", "for_stmt")
"""The functions that call the body of a branch or a loop, which is not a helper."""


def call_scopes(frame: FrameType | None, operation: FrameType | None = None) -> tuple[ScopeEntry, ...]:
    """The calls of helpers between the body of the function that is traced and a frame, the scopes that these have
    entered, and the operation of tagloom that the frame calls, outermost first. Bodies of branches and loops, lambdas
    and comprehensions are not helpers."""
    entries: list[ScopeEntry] = []
    calls: list[tuple[int, FrameType]] = []
    """The helpers, each with the position of its entry."""
    helper, is_region = operation, False
    scopes = entered_scopes()
    while frame is not None and frame.f_code.co_name != _TRACING_FUNCTION:
        if is_internal_file(frame.f_code.co_filename):
            is_region = is_region or frame.f_code.co_name in _REGION_FUNCTIONS
        else:
            if helper is not None and not is_region and not helper.f_code.co_name.startswith("<"):
                calls.append((len(entries), helper))
                entries.append(ScopeEntry(helper_name(helper, frame), frame.f_code, frame.f_lasti))
            entries += [entry for place, entry in reversed(scopes) if place is frame]
            helper, is_region = frame, False
        frame = frame.f_back
    if frame is None:
        return ()
    for (position, _), number in zip(calls, number_calls(frame, [helper for _, helper in calls]), strict=True):
        entries[position] = entries[position]._replace(number=number)
    return tuple(reversed(entries))


FOREIGN_CODES: WeakSet[CodeType] = WeakSet()
"""Code that stands for functions of an imported program. Each of its ops enters it again, so its calls have no
numbers."""
SCOPE_NUMBERS = count(1)
"""The numbers of calls of helpers, and of scopes that are entered."""


def number_calls(tracer: FrameType, helpers: Sequence[FrameType]) -> list[int]:
    """The numbers of calls by their frames, which a tracer has called. A frame keeps its number as long as every node
    that this tracer adds is traced in it."""
    traces = known_calls()
    place = next((place for place, (frame, _) in enumerate(traces) if frame is tracer), len(traces))
    del traces[place + 1 :]
    if place == len(traces):
        traces.append((tracer, []))
    known_frames = traces[place][1]
    numbers = [next((number for frame, number in known_frames if frame is helper), 0) for helper in helpers]
    known_frames[:] = [
        (helper, 0 if helper.f_code in FOREIGN_CODES else number or next(SCOPE_NUMBERS))
        for helper, number in zip(helpers, numbers, strict=True)
    ]
    return [number for _, number in known_frames]


def known_calls() -> list[tuple[FrameType, list[tuple[FrameType, int]]]]:
    """The frames of tracers in this thread, outermost first, each with those of the helpers around its latest node, and
    their numbers. The frames are referred to, so that no other frame takes their place in memory."""
    calls: list[tuple[FrameType, list[tuple[FrameType, int]]]] | None = getattr(_scopes, "calls", None)
    if calls is None:
        calls = _scopes.calls = []
    return calls


@contextmanager
def forget_calls() -> Iterator[None]:
    """A context in which functions are traced; frames that it has added to the known calls are forgotten at its end."""
    calls = known_calls()
    outer_count = len(calls)
    try:
        yield
    finally:
        del calls[outer_count:]


_scopes = threading.local()
"""The scopes that each thread has entered, and the calls of helpers that it is in."""


def entered_scopes() -> list[tuple[FrameType | None, ScopeEntry]]:
    """The scopes that this thread has entered and not left, outermost first, each with the frame that did."""
    entered: list[tuple[FrameType | None, ScopeEntry]] | None = getattr(_scopes, "entered", None)
    if entered is None:
        entered = _scopes.entered = []
    return entered


def helper_name(frame: FrameType, caller: FrameType) -> str:
    """The name of the function of a frame. The name of a method has the class of its object in front, unless the caller
    is a method of the same object. A call of a layer or another object is named by its class alone."""
    name, variables = frame.f_code.co_name, frame.f_code.co_varnames[: frame.f_code.co_argcount]
    owner = frame.f_locals.get(variables[0]) if variables else None
    if owner is None:  # also where the function has deleted it
        return name
    if name == "__call__":
        return type(owner).__name__
    return name if variables[0] != "self" or caller.f_locals.get("self") is owner else f"{type(owner).__name__}.{name}"


def definition_location(code: CodeType) -> Location:
    """The line where a Python function is defined; records its file as traced."""
    _traced_files.add(code.co_filename)
    return Location(code.co_filename, code.co_firstlineno)


def has_traced(file: str) -> bool:
    """Whether this process has traced code of this file; a loaded document may name any file."""
    return file in _traced_files


def describe_construct() -> tuple[str, str]:
    """The construct in user code that needs a truth value, and a hint for a replacement."""
    frame = user_frame()
    if frame is None:
        return "this code", _CONSTRUCT_HINTS[ast.If]
    kinds = [kind for kind in map(construct_kind, enclosing_constructs(frame)) if kind is not None]
    reason = user_unconverted_reason()
    prefix = "" if reason is None else f"{reason}; "
    if not kinds:
        return (
            "this line",
            f"{prefix}write a loop or an `if` in place of a function that asks; or {_CONSTRUCT_HINTS[ast.If][6:]}",
        )
    return _CONSTRUCT_NAMES[kinds[-1]], prefix + _CONSTRUCT_HINTS[kinds[-1]]


_CONSTRUCT_NAMES: dict[type[ast.AST], str] = {
    ast.If: "`if`",
    ast.While: "`while`",
    ast.IfExp: "`x if p else y`",
    ast.BoolOp: "`and` / `or`",
    ast.UnaryOp: "`not`",
    ast.Compare: "a chained comparison",
    ast.Assert: "`assert`",
    ast.comprehension: "a comprehension's `if`",
    ast.In: "`in`",
    ast.Match: "`match`",
    ast.Call: "`max`, `min` or another builtin",
}
_CONSTRUCT_HINTS: dict[type[ast.AST], str] = {
    ast.If: "write tl.cond(p, lambda: ..., lambda: ...)",
    ast.While: "write tl.while_loop(lambda x: ..., lambda x: ..., x)",
    ast.IfExp: "write tl.cond(p, lambda: x, lambda: y), or tl.where(p, x, y) to compute both",
    ast.BoolOp: "write p & q, p | q, or tl.logical_and, tl.logical_or",
    ast.UnaryOp: "write ~p, or tl.logical_not(p)",
    ast.Compare: "write (a < b) & (b < c)",
    ast.Assert: 'write tl.assert_(p, "a message")',
    ast.comprehension: "write a for loop with an `if`, or tl.where(p, x, y) to choose between values; in a lambda with "
    "defaults, or in a comprehension, write a def",
    ast.In: "write (x == a) | (x == b)",
    ast.Match: "write tl.cond(x == a, lambda: ..., lambda: ...)",
    ast.Call: "write tl.maximum(x, y), tl.minimum(x, y), or tagloom's function of that name",
}


def construct_kind(node: ast.AST) -> type[ast.AST] | None:
    """The kind of construct that a syntax node represents; None if it needs no truth value."""
    match node:
        case ast.UnaryOp(op=op) if not isinstance(op, ast.Not):
            return None
        case ast.Compare(ops=[op]):
            return ast.In if isinstance(op, ast.In | ast.NotIn) else None
        case ast.Call(func=ast.Name(id=name)) if name in ("max", "min", "sorted", "any", "all", "bool"):
            return ast.Call
        case ast.Call():
            return None
    return type(node) if type(node) in _CONSTRUCT_NAMES else None


def enclosing_constructs(frame: FrameType) -> Iterator[ast.AST]:
    """The syntax nodes that need the truth of the value that a frame is computing, outermost first.

    The instruction that tests a value has the source position of the value; before Python 3.12 it has the position of
    the whole construct.
    """
    span = TracedLocation(frame.f_code.co_filename, frame.f_lineno, frame.f_code, frame.f_lasti).span
    if span is None:
        return
    begin, end = (span.line, span.column), (span.end_line, span.end_column)
    linecache.checkcache(frame.f_code.co_filename)
    try:
        tree = parse_python("".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals)))
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if any(_span(test)[0] <= begin and end <= _span(test)[1] for test in tested_expressions(node)):
            yield node
        elif isinstance(node, ast.stmt | ast.expr) and _span(node) == (begin, end):
            yield from [node, *(part for part in getattr(node, "generators", ()) if part.ifs)]


def tested_expressions(node: ast.AST) -> Sequence[ast.expr | ast.pattern]:
    """The expressions that a node tests for truth, or whose operands it tests."""
    match node:
        case ast.BoolOp() | ast.UnaryOp() | ast.Compare():
            return [node]
        case ast.comprehension():
            return node.ifs
        case ast.If() | ast.While() | ast.IfExp() | ast.Assert():
            return [node.test]
        case ast.Match():
            return [case.pattern for case in node.cases]
    return []


def _span(node: ast.stmt | ast.expr | ast.pattern) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0)
