"""Reading: from a code object to the syntax tree of the function that it was compiled from.

A function is found by the positions of its code, never by its name: a decorator may have wrapped it, and several
lambdas may stand on one line. The tree is trusted only if it compiles to the same code. This module refuses, in words,
what has no source; it changes nothing.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import TypeAlias

from ...python_ast import parse_python
from .nodes import child_nodes

FunctionNode: TypeAlias = ast.FunctionDef | ast.Lambda
"""A function in a syntax tree."""

FUTURE_FLAGS = 0x1FE0000
"""The flags of a code object that stand for `from __future__ import ...`."""


class NotConvertible(Exception):
    """A function cannot be converted; the message says why, as the end of "f is not converted, since"."""


@dataclass(frozen=True)
class FunctionSource:
    """A function's syntax tree, and what is around it."""

    node: FunctionNode
    file: str
    class_name: str | None
    """The class around the function, which mangles names such as `__x`."""
    statement: ast.stmt
    """The statement of the module that contains the function."""
    imports: tuple[ast.stmt, ...]
    """The imports of the module: the compiler calls functions of modules otherwise than methods."""


def read_source(code: CodeType) -> FunctionSource:
    """The syntax tree of a function with this code, which callers must not change.

    Raises NotConvertible where there is no source, where the file was edited after it was imported, and for
    coroutines."""
    kind = next((words for flag, words in _REFUSED_FLAGS.items() if code.co_flags & flag), None)
    if kind is not None:
        raise NotConvertible(f"it is {kind}")
    matches = _matching_functions(code)
    if not matches:
        linecache.checkcache(code.co_filename)  # the file may have been edited, and then imported again
        matches = _matching_functions(code)
    if not matches:
        has_candidates = bool(_candidates(code))
        # From Python 3.13 on, `<string>` may be the text of `python -c`, which is not that of exec.
        if not linecache.getlines(code.co_filename) or (not has_candidates and code.co_filename.startswith("<")):
            raise NotConvertible(f"it has no source: it was made by exec or typed in ({code.co_filename})")
        if not has_candidates:
            raise NotConvertible(f"its source is not in {code.co_filename}")
        raise NotConvertible(f"{code.co_filename} has changed since it was imported")
    return matches[-1]  # of nested lambdas on one line, the innermost that has all positions


_REFUSED_FLAGS = {
    inspect.CO_COROUTINE: "a coroutine",
    inspect.CO_ASYNC_GENERATOR: "an asynchronous generator",
}


def _candidates(code: CodeType) -> list[FunctionSource]:
    """The functions of a code object's file that have its name and lines."""
    return [source for source in _read_functions(code.co_filename) if _may_be(source.node, code)]


def _matching_functions(code: CodeType) -> list[FunctionSource]:
    """The functions of a code object's file that compile to it, outermost first."""
    matches = [source for source in _candidates(code) if _compiles_to(source, code)]
    return matches or [source for source in _lambdas_within(code) if _compiles_to(source, code, compare_spans=False)]


def _lambdas_within(code: CodeType) -> list[FunctionSource]:
    """The lambdas of a file that lie where all instructions of a lambda's code are said to be.

    pytest before 8.4 gives everything in an `assert` the place of the whole statement."""
    spans = _spans(code)
    if code.co_name != "<lambda>" or len(spans) != 1:
        return []
    functions = _read_functions(code.co_filename)
    return [
        source for source in functions if isinstance(source.node, ast.Lambda) and _is_within(_span(source.node), *spans)
    ]


def _read_functions(file: str) -> tuple[FunctionSource, ...]:
    """All functions of a file, outermost first."""
    lines = linecache.getlines(file)
    return _parse_functions(file, "".join(lines)) if lines else ()


@lru_cache(maxsize=256)
def _parse_functions(file: str, text: str) -> tuple[FunctionSource, ...]:
    try:
        tree = parse_python(text)
    except (SyntaxError, ValueError) as error:
        raise NotConvertible(f"{file} cannot be parsed: {error}") from None

    imports = tuple(_module_imports(tree.body))

    def walk(node: ast.AST, class_name: str | None, statement: ast.stmt) -> Iterator[FunctionSource]:
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            yield FunctionSource(node, file, class_name, statement, imports)
        inner_class = node.name if isinstance(node, ast.ClassDef) else class_name
        for child in child_nodes(node):
            yield from walk(child, inner_class, statement)

    return tuple(source for statement in tree.body for source in walk(statement, None, statement))


def _module_imports(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The imports of a module outside of functions and classes."""
    pending: list[ast.AST] = list(body)
    for node in pending:  # a worklist: the loop appends to it
        if isinstance(node, ast.Import | ast.ImportFrom):
            if not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
                yield node
        elif isinstance(node, ast.If | ast.Try | ast.With):
            pending += ast.iter_child_nodes(node)


def first_line(node: FunctionNode) -> int:
    """The line on which a function begins, with its decorators."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return min((decorator.lineno for decorator in decorators), default=node.lineno)


def _may_be(node: FunctionNode, code: CodeType) -> bool:
    """Whether a code object has the name and the first line of a function, and lies within it."""
    name = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
    if name != code.co_name or first_line(node) != code.co_firstlineno:
        return False
    if isinstance(node, ast.FunctionDef):
        return True
    # Not the lambda itself: a lambda that only returns a lambda has no instruction outside of the latter.
    return all(_is_within(span, _span(node.body)) for span in _spans(code))


Span: TypeAlias = tuple[tuple[int, int], tuple[int, int]]
"""The line and column where something begins, and those where it ends."""


def _is_within(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _span(node: ast.expr) -> Span:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _spans(code: CodeType) -> set[Span]:
    """Where the instructions of a code object are in its file."""
    return {
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if line is not None and end_line is not None and column is not None and end_column and end_column > column
    }


def _compiles_to(source: FunctionSource, code: CodeType, compare_spans: bool = True) -> bool:
    """Whether the source compiles to this code. Code that pytest has changed, since it contains `assert`, is not
    compared."""
    if any(name.startswith("@py") for name in (*code.co_names, *code.co_varnames)):
        return True
    compiled = _compile_statement(source, code.co_flags & FUTURE_FLAGS)
    candidates = compiled.get((code.co_name, first_line(source.node)), ())
    return any(
        _may_be(source.node, candidate) and _is_same_code(candidate, code, compare_spans) for candidate in candidates
    )


_COMPILED_STATEMENTS: dict[tuple[int, int], tuple[ast.stmt, dict[tuple[str, int], list[CodeType]]]] = {}


def _compile_statement(source: FunctionSource, flags: int) -> dict[tuple[str, int], list[CodeType]]:
    """The code objects within the statement of a module around a function, by name and first line."""
    statement = source.statement
    key = id(statement), flags
    if key not in _COMPILED_STATEMENTS:
        if len(_COMPILED_STATEMENTS) > 1000:
            _COMPILED_STATEMENTS.clear()
        module = compile(ast.Module([*source.imports, statement], []), source.file, "exec", flags, dont_inherit=True)
        codes: dict[tuple[str, int], list[CodeType]] = {}
        pending = [module]
        for code in pending:  # a worklist: the loop appends to it
            codes.setdefault((code.co_name, code.co_firstlineno), []).append(code)
            pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        _COMPILED_STATEMENTS[key] = statement, codes
    return _COMPILED_STATEMENTS[key][1]


def _is_same_code(first: CodeType, second: CodeType, compare_spans: bool) -> bool:
    names = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount", "co_kwonlyargcount")
    return (
        all(getattr(first, name) == getattr(second, name) for name in names)
        and (not compare_spans or list(first.co_positions()) == list(second.co_positions()))
        and len(first.co_consts) == len(second.co_consts)
        and all(
            _is_same_constant(*constants, compare_spans)
            for constants in zip(first.co_consts, second.co_consts, strict=True)
        )
    )


def _is_same_constant(first: object, second: object, compare_spans: bool) -> bool:
    if isinstance(first, CodeType) and isinstance(second, CodeType):
        return _is_same_code(first, second, compare_spans)
    return _constant_key(first) == _constant_key(second)


def _constant_key(constant: object) -> Hashable:
    """A key that distinguishes constants: 1 is not True, nor 1.0, and 0.0 is not -0.0, but NaN is NaN."""
    if isinstance(constant, tuple | frozenset):
        return type(constant), type(constant)(map(_constant_key, constant))
    return type(constant), repr(constant) if isinstance(constant, float | complex) else constant
