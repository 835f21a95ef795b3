"""Gradients of functions: `grad`, `value_and_grad`, `jacobian`, `hessian`, `vjp` and `jvp`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ...core.errors import Invalid, TagloomError, Usage, plural
from ...core.frontend.array_api.common import element_count, type_of
from ...core.frontend.array_api.creation import arange, zeros_like
from ...core.frontend.array_api.datatypes import astype
from ...core.frontend.array_api.manipulation import moveaxis, reshape
from ...core.frontend.eager.array import number_to_numpy
from ...core.frontend.eager.gradients import (
    is_float,
    nest_adjoints,
    split_aux,
    symbolic_zeros,
    trace_gradient,
    trace_pullback,
    trace_source_adjoints,
    trace_vjp,
)
from ...core.frontend.eager.variable import Variable
from ...core.frontend.loops import map as map_elements
from ...core.frontend.trace.annotation import DerivedFunction, FunctionSpec
from ...core.frontend.trace.program_builder import current_region, to_operand
from ...core.frontend.trace.pytree import (
    TreeDef,
    count_item_axes,
    expose_static_leaves,
    flatten,
    flatten_like,
    leaf_paths,
    resolve_parts,
    unflatten,
)
from ...core.frontend.trace.source_location import user_location
from ...core.types import Type
from .function import (
    Function,
    call_eagerly,
    derive_pullback,
    get_or_derive,
    leaf_adjoints,
    snapshot_arguments,
    trace_arguments,
)
from .trace_cache import CallReplay

Argnums: TypeAlias = Any
"""The sources of differentiation: the number of an argument, counted from the last if it is negative, a variable, or a
tuple, list or dict of these."""


def grad(
    function: Callable[..., Any], argnums: Argnums = 0, *values: Any, rows: Argnums = (), has_aux: bool = False
) -> Function:
    """A function that computes the gradient of a float-valued function with respect to its argument at `argnums`, or to
    a variable. For a tuple, list or dict of these it computes a tuple, list or dict of gradients. A gradient nests as
    its argument does.

    The result is a function like any other: it can be called, run on any engine, drawn, debugged, and differentiated
    again. The sources, the arguments and variables that `argnums` names, must be floats, of any shape.

    With `has_aux` the function returns a pair; its first part is differentiated; the result is the gradient and the
    second, `(gradient, aux)`.

    Sources that `rows` also names are tables from which the function only takes rows. The gradient of such a table is a
    `tl.Rows`, with those rows. Raises Invalid (D6) if the function uses the table otherwise.

    >>> import tagloom as tl
    >>> @tl.function
    ... def cube(x: tl.float64) -> tl.float64:
    ...     return x * x * x
    >>> grad(cube)(2.0), grad(grad(cube))(2.0)
    (12.0, 12.0)
    """
    refuse_values("grad", values)

    def trace(spec: FunctionSpec, arguments: Sequence[Any], sources: _GradientSources) -> Any:
        value, gradients = trace_gradient(
            _current_region(), spec, arguments, sources.leaves, sources.rows, has_aux=has_aux
        )
        return (sources.nest(gradients), value[1]) if has_aux else sources.nest(gradients)

    return _derive("grad", function, argnums, rows, trace, has_aux)


def value_and_grad(
    function: Callable[..., Any], argnums: Argnums = 0, *values: Any, rows: Argnums = (), has_aux: bool = False
) -> Function:
    """As `grad`, but the function returns the value and the gradient; with `has_aux`, `((value, aux), gradient)`.

    >>> import tagloom as tl
    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    >>> value_and_grad(lambda x: (x * x, {"half": x / 2.0}), has_aux=True)(3.0)
    ((9.0, {'half': 1.5}), 6.0)
    """
    refuse_values("value_and_grad", values)

    def trace(spec: FunctionSpec, arguments: Sequence[Any], sources: _GradientSources) -> Any:
        value, gradients = trace_gradient(
            _current_region(), spec, arguments, sources.leaves, sources.rows, has_aux=has_aux
        )
        return value, sources.nest(gradients)

    return _derive("value_and_grad", function, argnums, rows, trace, has_aux)


def jacobian(function: Callable[..., Any], argnums: Argnums = 0, *values: Any, has_aux: bool = False) -> Function:
    """A function that computes the Jacobian of a function of floats with respect to its argument at `argnums`, or to a
    variable; a tuple, list or dict of these names several, as in `grad`. The Jacobian has the structure of the result,
    with the derivatives of each array in its place. The derivatives of a result of shape `s` with respect to an
    argument of shape `t` have the shape `(*s, *t)`. Each element of a result is one pullback, which computes the
    function again; the pullbacks run in parallel. With `has_aux` the function returns a pair, as in `grad`, and the
    result is `(jacobian, aux)`.

    Raises Invalid (D3) for a result or source that is not of floats, (D5) for an array-valued function that draws
    random numbers or has effects, since they would be repeated.

    >>> import tagloom as tl
    >>> jacobian(lambda x: tl.stack([x[0] * x[1], x[1] * x[1]]))(tl.asarray([2.0, 3.0]))
    asarray([[3., 2.],
             [0., 6.]], dtype=float64)
    """
    refuse_values("jacobian", values)
    return _derive("jacobian", function, argnums, (), partial(trace_jacobian, has_aux=has_aux), has_aux)


def hessian(function: Callable[..., Any], argnums: Argnums = 0, *values: Any, has_aux: bool = False) -> Function:
    """A function that computes the second derivatives of a function of floats: the Jacobian of its Jacobian, with
    respect to the same sources. For one float and one argument of shape `t` the shape is `(*t, *t)`. With `has_aux` the
    function returns a pair, as in `grad`, and the result is `(hessian, aux)`.

    >>> import tagloom as tl
    >>> hessian(lambda x: x[0] * x[0] * x[1])(tl.asarray([2.0, 3.0]))
    asarray([[6., 4.],
             [4., 0.]], dtype=float64)
    """
    refuse_values("hessian", values)
    _GradientSources("hessian", argnums, (), _as_function(function))  # whose errors name hessian
    return jacobian(jacobian(function, argnums, has_aux=has_aux), argnums, has_aux=has_aux)


def trace_jacobian(spec: FunctionSpec, arguments: Sequence[Any], sources: _GradientSources, *, has_aux: bool) -> Any:
    """The derivatives of every result of a call with respect to the sources, nested as the result. With `has_aux` the
    call returns a pair: the derivatives of its first part, and the second part."""
    results, source_adjoints = trace_source_adjoints(_current_region(), spec, arguments, sources.leaves)
    value, aux = split_aux(spec, results) if has_aux else (results, None)
    leaves, structure = flatten(value, by_reference=True, is_leaf=None)
    for path, leaf in zip(leaf_paths(structure, ""), leaves, strict=True):
        if not is_float(type_of(leaf)):
            raise Invalid(
                f"the result{path} of {spec.name} is not of floats, and has no Jacobian",
                rule="D3",
                where=user_location(),
                required="float64 or float32",
                got=type_of(leaf),
            )

    def pull_back(position: int, seed: Any) -> Any:
        seeds = [seed if k == position else symbolic_zeros(leaf) for k, leaf in enumerate(leaves)]
        adjoint = unflatten(structure, seeds)
        return sources.nest(source_adjoints((adjoint, symbolic_zeros(aux)) if has_aux else adjoint))

    pairs = zip(leaves, count_item_axes(structure), strict=True)
    rows = unflatten(structure, [jacobian_rows(*pair, partial(pull_back, k)) for k, pair in enumerate(pairs)])
    return (rows, aux) if has_aux else rows


def jacobian_rows(result: Any, item_axes: int, pull_back: Callable[[Any], Any]) -> Any:
    """The derivatives of one array: `pull_back` maps its adjoint to the nested adjoints of the sources. The items of
    lists are along as many of its axes; those of a source come next, before all other axes."""
    if result.shape == ():
        return pull_back(1.0)
    if result.shape is None or (None in result.shape and len(result.shape) != 1):
        raise Invalid(
            "a result has unknown sizes, which its Jacobian needs",
            rule="D3",
            where=user_location(),
            required="known sizes, or one axis",
            got=type_of(result),
        )
    count = element_count(result, 0) if result.size is None else result.size
    numbers = arange(count)
    positions = numbers if len(result.shape) == 1 else reshape(numbers, result.shape)
    structures: list[TreeDef] = []

    def pull_back_element(k: Any) -> Any:
        leaves, structure = flatten(pull_back(astype(positions == k, result.dtype)), by_reference=True, is_leaf=None)
        structures.append(structure)
        return tuple(leaves)

    columns = map_elements(pull_back_element, numbers)
    shaped = [
        column if len(result.shape) == 1 else reshape(column, (*result.shape, *column.shape[1:])) for column in columns
    ]
    pairs = zip(shaped, count_item_axes(structures[-1]), strict=True)
    return unflatten(structures[-1], [move_item_axes(*pair, len(result.shape), item_axes) for pair in pairs])


def move_item_axes(column: Any, count: int, source: int, destination: int) -> Any:
    """An array with this many of its axes, along which the items of a list are, at another place."""
    if not count or source == destination:
        return column
    return moveaxis(column, tuple(range(source, source + count)), tuple(range(destination, destination + count)))


def refuse_values(kind: str, values: Sequence[Any]) -> None:
    """Raises Usage for `grad(f, x, y)`: the arguments of the function belong behind `grad(f)`."""
    if values:
        raise Usage(
            f"{kind} takes a function, and the positions of the arguments to differentiate with respect to",
            where=user_location(),
            required=f"{kind}(f)(x, y) for the gradient with respect to x, {kind}(f, (0, 1))(x, y) for both",
            got=plural(2 + len(values), "argument"),
            python=TypeError,
        )


def vjp(function: Callable[..., Any], *arguments: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of a function and its pullback. The pullback maps an adjoint, with the nesting and types of the value,
    to a tuple of the adjoints of the arguments, None for an argument that is not a float. With `has_aux` the function
    returns a pair; its first part is the value; the result is `(value, pullback, aux)`.

    Outside of tracing, each pullback runs the function again on the same inputs, without repeating its effects. Raises
    Invalid (D5) if it draws random numbers, which would differ.

    >>> import tagloom as tl
    >>> value, pullback = vjp(lambda x, y: x * y, 2.0, 5.0)
    >>> value, pullback(1.0)
    (10.0, (5.0, 2.0))
    """
    inner, region = _as_function(function), current_region()
    arguments = tuple(inner.source.bind(arguments, {}))
    if region is not None:
        value, pullback = trace_vjp(region, inner.source, arguments)
    else:
        replay = prepare_replay(inner, arguments)
        value = call_eagerly(inner, arguments, callback_log=replay.callback_results)
        pullback = partial(argument_adjoints, inner, replay)
    if not has_aux:
        return value, pullback
    value, aux = split_aux(inner.source, value)
    zeros = zero_adjoint(aux) if region is None else symbolic_zeros(aux)
    return value, lambda adjoint: pullback((adjoint, zeros)), aux


def jvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of a function at `primals`, and its tangent for the `tangents` of the arguments. The tangent is nested
    as the value, with None for leaves that are not floats. Tangents of arguments that are not floats are ignored.

    There is no forward mode. The pullback maps an adjoint u to J'u, which is linear in u; so the pullback of the
    pullback maps tangents t to Jt, for any u. This costs two reverse passes.

    >>> import tagloom as tl
    >>> jvp(lambda x, y: x * y, (2.0, 5.0), (1.0, 0.1))
    (10.0, 5.2)
    """
    inner, region = _as_function(function), current_region()
    for name, argument in (("primals", primals), ("tangents", tangents)):
        if not isinstance(argument, tuple | list):
            raise Usage(
                f"{name} of jvp must be a tuple, with one entry for each argument",
                where=user_location(),
                got=argument,
                python=TypeError,
            )
    inner.source.check_argument_count(len(primals))
    inner.source.check_argument_count(len(tangents))
    tangent_leaves, reverse = tuple(float_tangents(inner.source, primals, tangents)), derive_pullback(inner)
    if region is not None:
        value, specialization, _ = trace_pullback(region, inner.source, primals)
        arguments = (*primals, zero_adjoint(value))
        _, _, pullback = trace_pullback(region, reverse.source, arguments, specialization.captures)
        return value, nest_adjoints(reverse.source, arguments, *pullback(tangent_leaves, (), ()))[-1]
    replay = prepare_replay(inner, primals)
    value = call_eagerly(inner, primals, callback_log=replay.callback_results)
    reverse_replay = replay._replace(arguments=(*replay.arguments, zero_adjoint(value)))
    return value, argument_adjoints(reverse, reverse_replay, tangent_leaves)[-1]


def zero_adjoint(value: Any) -> Any:
    """A zero adjoint for a value, with the same nesting; leaves that are not floats are unchanged."""
    leaves, structure = flatten(value, by_reference=True, is_leaf=None)
    zeros = [zeros_like(leaf) if is_float(type_of(leaf)) else leaf for leaf in leaves]
    return unflatten(structure, list(map(number_to_numpy, zeros)))


def float_tangents(spec: FunctionSpec, primals: Sequence[Any], tangents: Sequence[Any]) -> Iterator[Any]:
    """The tangents of the float leaves of the arguments."""
    for (leaves, structure), tangent in zip(spec.flatten_arguments(primals, Invalid), tangents, strict=True):
        if not any(is_float(type_of(leaf)) for leaf in leaves):
            continue
        form, parts = expose_static_leaves(structure)
        remaining = iter(leaves)
        for part, tangent_leaf in zip(parts, flatten_like(form, tangent, "a tangent"), strict=True):
            if part is None and is_float(type_ := type_of(next(remaining))):
                yield check_tangent(tangent_leaf, type_)


def check_tangent(tangent: Any, type_: Type) -> Any:
    """The tangent of an argument of this type. Raises Invalid (D3) for one of another type; a Python number takes the
    dtype."""
    operand = to_operand(tangent, Type(type_.dtype) if type(tangent) in (int, float) else None)
    if not type_.admits(operand.type):
        raise Invalid(
            "a tangent does not have the type of its argument",
            rule="D3",
            where=user_location(),
            required=type_,
            got=operand.type,
        )
    return _as_array(tangent, type_) if type(tangent) is list else tangent


def prepare_replay(function: Function, arguments: Sequence[Any]) -> CallReplay:
    """Record the inputs of a call, so that its pullback can run it again. Raises Invalid (D5) if that run would
    differ."""
    traced_program = trace_arguments(function, arguments)
    if traced_program.draws_random:
        raise Invalid(
            f"{function.name} draws random numbers, which would differ when its pullback runs it again",
            rule="D5",
            where=user_location(),
            hint="tl.value_and_grad runs it once; or write tl.vjp in a tl.function",
        )
    return CallReplay(snapshot_arguments(function, arguments, traced_program), traced_program.watched_values(), [])


def argument_adjoints(function: Function, replay: CallReplay, adjoint: Any) -> tuple[Any, ...]:
    """The adjoints of concrete arguments, from the adjoint of the result: runs the function again, and then its
    pullback."""
    traced_program = trace_arguments(function, replay.arguments)
    adjoint_leaves = flatten_like(traced_program.structure, adjoint, "an adjoint")
    converted = [
        _as_array(leaf, type_) if type(leaf) in (int, float, list) and is_float(type_) else leaf
        for leaf, type_ in zip(adjoint_leaves, traced_program.program.main.results, strict=False)
    ]
    adjoints = leaf_adjoints(function, replay, (unflatten(traced_program.structure, converted), ()))
    count = len(adjoints) - len(replay.resource_values)
    capture_adjoints = dict(zip(replay.resource_values, adjoints[count:], strict=True))
    nested = nest_adjoints(function.source, replay.arguments, adjoints[:count], capture_adjoints)
    return tuple(map(resolve_parts, nested))


def _as_array(numbers: Any, type_: Type) -> Any:
    """A number, or a list of numbers, as a value of this dtype."""
    return np.asarray(numbers, type_.dtype.numpy)[()]


def _as_function(function: Callable[..., Any]) -> Function:
    return function if isinstance(function, Function) else Function(function)


def _current_region() -> Any:
    region = current_region()
    assert region is not None, "a derived function is only traced"
    return region


class _GradientSources:
    """The sources of a gradient: numbers of arguments and variables, how they nest, and which of them get `Rows`."""

    def __init__(self, kind: str, argnums: Any, rows: Any, function: Function) -> None:
        count = len(function.source.declared_parameters)
        self.leaves, self.structure = self._read_sources(kind, "argnums", argnums, count)
        self.rows = self._read_sources(kind, "rows", rows, count)[0]
        self.key = (kind, self.structure, *map(source_key, self.leaves), "rows", *map(source_key, self.rows))
        numbers = [leaf for leaf in self.leaves if not isinstance(leaf, Variable)]
        source_keys = set(map(source_key, self.leaves))
        if not source_keys or not all(0 <= number < count for number in numbers):
            raise Usage(
                f"argnums of {kind} names no argument of {function.name}",
                where=user_location(),
                required=f"an integer from {-count} to {count - 1}, or several" if count else "a variable",
                got=argnums,
                hint=f"{function.name} takes {plural(count, 'argument')}; for a variable w, argnums=w",
            )
        if len(source_keys) < len(self.leaves):
            message = f"argnums of {kind} names an argument or variable twice"
            raise Usage(message, where=user_location(), required="each argument and variable once", got=argnums)
        if not source_keys.issuperset(map(source_key, self.rows)):
            message = f"rows of {kind} names an argument or variable that argnums does not name"
            raise Usage(
                message, where=user_location(), required="some of argnums", got=rows, hint="grad(loss, (w, b), rows=w)"
            )

    def _read_sources(self, kind: str, word: str, spec: Any, count: int) -> tuple[list[int | Variable], TreeDef]:
        """The sources and their structure; an argument is counted from 0, a negative number from the last one."""
        leaves, structure = flatten(spec, keep_variables=True, is_leaf=None)
        sources: list[int | Variable] = []
        for leaf in leaves:
            source = leaf if isinstance(leaf, Variable) else self._read_argnum(kind, word, leaf, spec)
            is_from_end = not isinstance(source, Variable) and -count <= source < 0
            sources.append(source + count if is_from_end else source)
        return sources, structure

    @staticmethod
    def _read_argnum(kind: str, word: str, leaf: Any, spec: Any) -> int:
        try:
            if not isinstance(leaf, bool):
                return operator.index(leaf)
        except TagloomError:
            raise
        except TypeError:
            pass
        required = "0, or (0, 1), or variables"
        message = f"{word} of {kind} must be integers"
        hint = f"{kind}(f) is a function: write {kind}(f)(x) for the gradient at x"
        raise Usage(message, where=user_location(), required=required, got=spec, hint=hint, python=TypeError)

    def nest(self, gradients: Sequence[Any]) -> Any:
        """The gradients, nested as the sources are."""
        return unflatten(self.structure, gradients)


def source_key(source: int | Variable) -> Any:
    """The cache key of a source: variables are compared by identity."""
    return id(source) if isinstance(source, Variable) else (source,)


def _derive(
    kind: str,
    function: Callable[..., Any],
    argnums: Argnums,
    rows: Argnums,
    trace: Callable[[FunctionSpec, Sequence[Any], _GradientSources], Any],
    has_aux: bool = False,
) -> Function:
    """The derived function whose body `trace` traces. It refers to the spec of `function`, not to `function`, whose
    cache refers to it."""
    inner = _as_function(function)
    sources, spec = _GradientSources(kind, argnums, rows, inner), inner.source

    def python(*arguments: Any) -> Any:
        return trace(spec, spec.keep_defaults_static(arguments, sources.leaves), sources)

    def derive() -> Function:
        derived = DerivedFunction(f"{kind}_{spec.identifier}", spec.python_function, python)
        return Function(
            derived, lambda python_function: replace(spec, python_function=python_function, result_type=None)
        )

    return get_or_derive(inner, (*sources.key, has_aux), derive)
