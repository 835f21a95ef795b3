"""The names of values in the user's source: the name that the result of a call is assigned to.

The source is parsed, since bytecode does not tell which call of `a, b = f(), g()` gives which name, and differs between
versions of Python.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import FrameType

from ...program.program import SourceSpan, TracedLocation
from ...python_ast import parse_python
from .source_location import is_library_file, user_frame

RETURNED = "return"
"""A placeholder for the name of a result that is returned: the caller names it."""

_ADDING_METHODS = {"append": 1, "add": 1, "appendleft": 1, "insert": 2}
"""The methods that add their last argument to a collection, with the numbers of their arguments: not `tl.add(x, y)`."""


def assignment_target() -> str | None:
    """The name that user code gives to the result of the call that it runs: of a variable, an attribute, a key of a
    dict, or a parameter; if it returns the result, the name that its caller gives. None if there is none."""
    frame = user_frame()
    while frame is not None and not is_library_file(frame.f_code.co_filename):
        name = call_name(frame)
        if name != RETURNED:
            return name
        frame = frame.f_back
    return None


def call_name(frame: FrameType) -> str | None:
    """The name that a frame gives to the result of its present call."""
    code = frame.f_code
    span = TracedLocation(code.co_filename, frame.f_lineno, code, frame.f_lasti).span
    if span is None:
        return None
    lines = linecache.getlines(code.co_filename, frame.f_globals)
    return names_of_calls("".join(lines)).get(span)


@lru_cache(maxsize=16)
def names_of_calls(source: str) -> Mapping[SourceSpan, str]:
    """The names that Python source gives to the results of calls.

    >>> names = names_of_calls("self.w, b = f(), g()\\nlayers = [h(1), h(2)]\\nweights['bias'] = new(x=f())")
    >>> list(names.values())
    ['w', 'b', 'layers', 'layers', 'bias', 'x']
    >>> list(names_of_calls("self.layers.append(f())\\nweights.insert(0, f())\\ntl.add(x, f())").values())
    ['layers', 'weights']
    """
    try:
        tree = parse_python(source)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    return dict(pair for node in ast.walk(tree) for pair in named_calls(node))


def named_calls(node: ast.AST) -> Iterator[tuple[SourceSpan, str]]:
    """The calls to whose results a syntax node gives names, with the names."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in reversed(targets):
                yield from pair_names(target, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
            yield from pair_names(target, value)
        case ast.keyword(arg=str(name), value=value):
            yield from name_calls(name, value)
        case ast.Return(value=ast.expr() as value):
            yield from name_calls(RETURNED, value)
        case ast.Lambda(body=value):
            yield from name_calls(RETURNED, value)
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=method), args=[*others, value]
        ) if _ADDING_METHODS.get(method) == len(others) + 1:
            yield from name_calls(name, value)


def pair_names(target: ast.expr, value: ast.expr) -> Iterator[tuple[SourceSpan, str]]:
    """The calls in a value that is assigned to a target, with the names of their parts of the target."""
    match target, value:
        case ((ast.Tuple() | ast.List()), (ast.Tuple() | ast.List())) if len(target.elts) == len(value.elts):
            for part, part_value in zip(target.elts, value.elts, strict=True):
                yield from pair_names(part, part_value)
        case ast.Name(id=name), _:
            yield from name_calls(name, value)
        case ast.Attribute(attr=name), _:
            yield from name_calls(name, value)
        case ast.Subscript(slice=ast.Constant(value=str(name))), _ if name.isidentifier():
            yield from name_calls(name, value)
        case ast.Subscript(value=owner), _:
            yield from pair_names(owner, value)


def name_calls(name: str, value: ast.expr) -> Iterator[tuple[SourceSpan, str]]:
    """The calls whose results are a value with this name, or its elements."""
    match value:
        case ast.Call():
            assert value.end_lineno is not None and value.end_col_offset is not None
            yield SourceSpan(value.lineno, value.col_offset, value.end_lineno, value.end_col_offset), name
        case ast.List(elts=values) | ast.Tuple(elts=values):
            for element in values:
                yield from name_calls(name, element)
        case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element) | ast.DictComp(value=element):
            yield from name_calls(name, element)
        case ast.IfExp(body=one, orelse=other):
            yield from (*name_calls(name, one), *name_calls(name, other))
        case ast.Dict(keys=keys, values=values):
            for key, element in zip(keys, values, strict=True):
                match key:
                    case ast.Constant(value=str(key_name)) if key_name.isidentifier():
                        yield from name_calls(key_name, element)
                    case _:
                        yield from name_calls(name, element)
