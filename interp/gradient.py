"""Gradients as people ask for them: functions made of functions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from types import CodeType
from typing import Any

from ..core.derive.resolve import first_acting
from ..core.errors import Invalid, Usage, counted
from ..core.frontend.annotation import Source
from ..core.frontend.gradients import is_float, traced_gradient, traced_vjp
from ..core.frontend.source import here
from ..core.frontend.standard.common import type_of
from ..core.frontend.standard.creation import zeros_like
from ..core.frontend.structure import flatten, leaves_as, unflatten
from ..core.frontend.tracing import current
from .function import Function

Places = int | Sequence[int]


class _Derived:
    """What is traced instead of a Python function, under another name and in its place."""

    def __init__(self, name: str, source: Source, traced: Callable[..., Any]) -> None:
        self.__name__ = self.__qualname__ = name
        self.__doc__ = source.python.__doc__
        self.__code__ = _code(source.python.__code__, source.python.__code__.co_filename, name)
        self.traced = traced

    def __call__(self, *arguments: Any) -> Any:
        return self.traced(*arguments)


@cache
def _code(code: CodeType, file: str, name: str) -> CodeType:
    """The code of a function under another name: what tells a derived function from its own. Of two files with the same
    function the code is equal, so that the file is a key."""
    return code.replace(co_name=name, co_filename=file)


def grad(function: Callable[..., Any], argnums: Places = 0) -> Function:
    """The function that gives the gradient of one that returns a float: by its argument at `argnums`, or a tuple, by
    several. The gradient nests as the argument does.

    What it makes is a program as every other is: it is called, run on any engine, drawn, debugged, and differentiated
    again. Arguments by which it differentiates are floats, of any shape.

    >>> import tagloom as tl
    >>> @tl.function
    ... def cube(x: tl.float64) -> tl.float64:
    ...     return x * x * x
    >>> grad(cube)(2.0), grad(grad(cube))(2.0)
    (12.0, 12.0)
    """

    argnums = _places("grad", argnums)

    def traced(source: Source, arguments: Sequence[Any], by: Sequence[int]) -> Any:
        _, gradients = traced_gradient(_region(), source, arguments, by)
        return gradients[0] if isinstance(argnums, int) else gradients

    return _derived("grad", function, argnums, traced)


def value_and_grad(function: Callable[..., Any], argnums: Places = 0) -> Function:
    """As `grad`, with the value before: the function that gives both.

    >>> import tagloom as tl
    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """

    argnums = _places("value_and_grad", argnums)

    def traced(source: Source, arguments: Sequence[Any], by: Sequence[int]) -> Any:
        value, gradients = traced_gradient(_region(), source, arguments, by)
        return value, gradients[0] if isinstance(argnums, int) else gradients

    return _derived("value_and_grad", function, argnums, traced)


def vjp(function: Callable[..., Any], *arguments: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The value of a function, and its pullback: that takes an adjoint, nested as the value and of its types, to those
    of the arguments, as a tuple; None stands for that of an argument that is no float.

    >>> import tagloom as tl
    >>> value, pullback = vjp(lambda x, y: x * y, 2.0, 5.0)
    >>> value, pullback(1.0)
    (10.0, (5.0, 2.0))
    """
    inner, region = _function(function), current()
    if region is not None:
        return traced_vjp(region, inner.source, arguments)
    _check_again(inner, arguments)
    return inner(*arguments), lambda adjoint: pulled_back(inner, arguments, adjoint)


def jvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of a function, and how it changes where its arguments, `primals`, change by `tangents`: nested as the
    value, None where that is no float. The tangent of an argument that is no float does not matter.

    There is no forward mode behind it. A pullback is linear in the adjoint u, which it takes to J'u; so the pullback of
    that takes tangents t to Jt, whatever u. It costs two reverse passes.

    >>> import tagloom as tl
    >>> jvp(lambda x, y: x * y, (2.0, 5.0), (1.0, 0.1))
    (10.0, 5.2)
    """
    inner, region = _function(function), current()
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple | list):
            raise Usage(f"{what} of jvp are a tuple, with one for each argument", where=here(), got=given)
    if region is None:
        _check_again(inner, primals)
    value = inner(*primals)
    inner.source.check_count(len(tangents))
    moved = tuple(tangent for pair in zip(primals, tangents, strict=True) for tangent in _moved(*pair))
    leaves, structure = flatten(value)
    back, floats = _pullback_of(inner), [is_float(type_of(leaf)) for leaf in leaves]
    adjoint = [zeros_like(leaf) if has else leaf for leaf, has in zip(leaves, floats, strict=True)]
    given = (*primals, unflatten(structure, adjoint))
    if region is not None:
        return value, traced_vjp(region, back.source, given)[1](moved)[-1]
    return value, pulled_back(back, given, moved)[-1]


def _moved(primal: Any, tangent: Any) -> Iterator[Any]:
    """The tangents of the floats of an argument: none where it has none."""
    leaves, structure = flatten(primal)
    floats = [is_float(type_of(leaf)) for leaf in leaves]
    if any(floats):
        pairs = zip(leaves_as(structure, tangent, "a tangent"), floats, strict=True)
        yield from (leaf for leaf, has in pairs if has)


def _check_again(function: Function, arguments: Sequence[Any]) -> None:
    """Raises Invalid where a function that is run for its value, and again for its pullback, is not the same (D5)."""
    acting = first_acting(function.trace(*arguments).program.reachable())
    if acting is not None:
        raise Invalid(
            f"{function.name} is run again for its pullback, and has {acting.op}",
            rule="D5",
            where=here(),
            hint="tl.value_and_grad runs it once; or write tl.vjp in a tl.function",
        )


def pulled_back(function: Function, arguments: Sequence[Any], adjoint: Any) -> tuple[Any, ...]:
    """The adjoints of concrete arguments, by that of the result: the function runs, and then its pullback."""
    leaves = iter(_pullback_of(function)(*arguments, adjoint))
    structures = [flatten(argument)[1] for argument in arguments]
    return tuple(
        unflatten(structure, [next(leaves) if is_float(type_) else None for type_ in form.types])
        for structure, form in zip(structures, function.forms(*arguments), strict=True)
    )


def _pullback_of(function: Function) -> Function:
    """The function of arguments and an adjoint that gives the adjoints of those that are floats."""

    def python(*given: Any) -> Any:
        made = traced_vjp(_region(), source, given[:-1])[1](given[-1])
        return tuple(leaf for each in made for leaf in flatten(each)[0] if leaf is not None)

    source = function.source
    if "vjp" not in function.derived:
        derived = _Derived(f"vjp_{source.identifier}", source, python)
        function.derived["vjp"] = Function(derived, _with_adjoint(source))
    return function.derived["vjp"]


Function.pulled = staticmethod(pulled_back)


def _with_adjoint(source: Source) -> Callable[[_Derived], Source]:
    def made(python: _Derived) -> Source:
        return Source(python, (*source.arguments, ("adjoint", source.results)), None)

    return made


def _function(function: Callable[..., Any]) -> Function:
    return function if isinstance(function, Function) else Function(function)


def _region() -> Any:
    region = current()
    assert region is not None, "what is derived is only traced"
    return region


def _places(kind: str, argnums: Any) -> Places:
    """Which arguments are meant: an integer, or several."""
    try:
        is_one = not isinstance(argnums, Sequence)
        return operator.index(argnums) if is_one else tuple(map(operator.index, argnums))
    except TypeError:
        raise Usage(f"argnums of {kind} are no integers", where=here(), required="0, or (0, 1)", got=argnums) from None


def _derived(
    kind: str,
    function: Callable[..., Any],
    argnums: Places,
    traced: Callable[[Source, Sequence[Any], Sequence[int]], Any],
) -> Function:
    """The function that is traced by this, `argnums` having been looked at."""
    inner = _function(function)
    by = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    known = inner.derived.get((kind, argnums if isinstance(argnums, int) else by))
    if known is not None:
        return known
    count = len(inner.source.arguments)
    if not by or any(type(place) is not int or not 0 <= place < count for place in by) or len(set(by)) < len(by):
        raise Usage(
            f"argnums of {kind} names no argument of {inner.name}",
            where=here(),
            required=f"an integer from 0 to {count - 1}, or several" if count else f"{inner.name} with an argument",
            got=argnums,
            hint=f"{inner.name} takes {counted(count, 'argument')}",
        )

    def python(*arguments: Any) -> Any:
        return traced(inner.source, arguments, by)

    name = f"{kind}_{inner.source.identifier}"
    made = Function(
        _Derived(name, inner.source, python), lambda derived: replace(inner.source, python=derived, results=None)
    )
    inner.derived[kind, argnums if isinstance(argnums, int) else by] = made
    return made
