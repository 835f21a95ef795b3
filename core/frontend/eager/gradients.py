"""Gradients in a trace: calls whose pullbacks are taken.

Owns writing `d... = pullback c a...` behind a call of a plain function, of which `derive.resolve` makes a split one,
and what tapes that record in a trace are told of calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from ... import dtypes
from ...autodiff.rows import Rows, no_rows, row_types
from ...errors import Invalid, Usage
from ...ops.op import Attributes
from ...program.program import AGAIN, BY_ROWS, PULLED
from ...types import Type
from ...value import Literal, literal
from ..trace.annotation import Source
from ..trace.captures import Held, Resource, is_constant
from ..trace.pytree import Fixed, flatten, leaf_names, leaves_as, opened, unflatten
from ..trace.source_location import here
from ..trace.symbol import Symbol
from ..trace.trace import NoTypeYet, RegionTrace, Value, at, current, to_operand
from .array import Concrete
from .calls import Called, call
from .derived import Derived
from .recording import AtOnce, array_of, filled_adjoint, hearing, record_call
from .variable import Variable

Adjoints: TypeAlias = tuple[list[Any], dict[Resource, Any]]
"""Those of the leaves of the arguments, and those of what a call captured; None is that of what is no float."""
Place: TypeAlias = int | Resource
"""What a call takes: the leaf of its arguments with this number, or what it captures."""
Pullback: TypeAlias = Callable[[Any, Sequence[Any], Collection[Place]], Adjoints]
"""Of the adjoint of a result, those of what is assigned, and the places whose adjoints are by rows."""
_AGAIN: Attributes = ((AGAIN, True),)


def traced_vjp(region: RegionTrace, source: Source, arguments: Sequence[Any]) -> tuple[Any, Callable[[Any], Any]]:
    """The results of a call, and what pulls their adjoints back to those of its arguments, nested as these are; None
    where an argument is no float.

    A pullback is taken once, where the call stands. What is pulled back again, or elsewhere, is computed again there.
    """
    value, _, pullback = traced_pullback(region, source, arguments)
    return value, lambda adjoint: by_argument(source, arguments, *pullback(adjoint, (), ()))


def by_argument(
    source: Source, arguments: Sequence[Any], adjoints: Sequence[Any], captured: Mapping[Resource, Any]
) -> tuple[Any, ...]:
    """Adjoints, nested as the arguments are: of a variable that was given as it is, that of what it held; None of what
    is no value."""
    rest, nested = iter(adjoints), []
    for _, structure in source.taken_apart(arguments, Invalid):
        form, parts = opened(structure)
        nested.append(unflatten(form, [next(rest) if part is None else _of_fixed(part, captured) for part in parts]))
    return tuple(nested)


def _of_fixed(part: Fixed, captured: Mapping[Resource, Any]) -> Any:
    return captured.get(part.value._resource) if isinstance(part.value, Held) else None


def traced_pullback(
    region: RegionTrace,
    source: Source,
    arguments: Sequence[Any],
    held: Mapping[Resource, Value | Literal] | None = None,
    marked: Attributes = (),
) -> tuple[Any, Called, Pullback]:
    """As `traced_vjp`, flat, and for what the call captures, too. The pullback takes the adjoints of the variables that
    are assigned as well; where there are none, they are 0. And it takes the places whose adjoints are `Rows`. A call
    that is made again is given what resources held; `marked` says that it is there for its pullback alone.

    Tapes under way are told of the call, and of the pullback: to them that is a call, too, of a function of its own,
    which computes again."""
    called = call(region, source, arguments, held)
    pulled = False

    def pullback(adjoint: Any, assigned: Sequence[Any], rows: Collection[Place]) -> Adjoints:
        nonlocal pulled
        present = current()
        if present is None:
            raise Usage("a pullback is used after its function was traced", where=here(), hint="pull back in it")
        if hearing():
            return _as_call(present, source, arguments, called, adjoint, assigned, rows)
        if present is not region or pulled:
            again = call(present, source, arguments, called.captured)
            return _pulled(present, source, again, adjoint, assigned, rows, _AGAIN)
        pulled = True
        return _pulled(region, source, called, adjoint, assigned, rows, marked)

    value = unflatten(called.structure, map(Symbol, called.values))
    if hearing():
        _tell(source, called, value, pullback)
    return value, called, pullback


def called_once(name: str, of: Callable[..., Any], python: Callable[[], Any]) -> Any:
    """What a function of nothing returns, by a call of it: so tapes take down a branch, or a loop, as one step. It
    stands where `of` is defined, if that is a function of Python's."""
    region = current()
    assert region is not None, "outside of a trace there is nothing to call"
    placed = of if hasattr(of, "__code__") else called_once
    return traced_pullback(region, Source(Derived(name, placed, python), (), None), ())[0]


def pullback_source(
    source: Source, held: tuple[Resource, ...] | None, rows: Collection[Place], marked: Attributes = ()
) -> Source:
    """The function of arguments and an adjoint that gives the adjoints of those that are floats, by rows in these
    places. With `held`, which is all that the function captures, the adjoint is that of the results and of what is
    assigned, and those of `held` follow."""

    def python(*given: Any) -> Any:
        region = current()
        assert region is not None, "what is derived is only traced"
        _, called, pullback = traced_pullback(region, source, given[:-1], marked=marked)
        of_results, of_assigned = (given[-1], ()) if held is None else given[-1]
        known = held is None or (set(held) == set(called.captured) and len(of_assigned) in (0, len(called.assigned)))
        if not known:
            raise NoTypeYet  # it is not known yet what it captures and assigns
        made, captured = pullback(of_results, of_assigned, rows)
        beside = [captured[each] for each in held or ()]
        return tuple(leaf for leaf in (*made, *beside) if leaf is not None)

    derived = Derived(f"vjp_{source.identifier}", source.python, python)
    form = source.results if held is None else None
    return Source(derived, (*source.arguments, ("adjoint", form)), None, source.static)


def _as_call(
    region: RegionTrace,
    source: Source,
    arguments: Sequence[Any],
    called: Called,
    adjoint: Any,
    assigned: Sequence[Any],
    rows: Collection[Place],
) -> Adjoints:
    """The adjoints by a call of the pullback, of which tapes are told."""
    given = leaves_as(called.structure, adjoint, "an adjoint")
    fitting = unflatten(called.structure, map(_number_as, given, called.values))
    back = pullback_source(source, tuple(called.captured), rows, _AGAIN)
    found, _, _ = traced_pullback(region, back, (*arguments, (fitting, tuple(assigned))), called.captured)
    rest = iter(found)
    made = [next(rest) if is_float(each.type) else None for each in (*called.operands, *called.captured.values())]
    return _apart(called, made)


def _number_as(adjoint: Any, of: Value) -> Any:
    """An adjoint; a number of the dtype of its result, where it is Python's, and any where the result has none."""
    if not is_float(of.type):
        return 0
    return Concrete(literal(adjoint, Type(of.type.dtype))) if type(adjoint) in (int, float) else adjoint


def _apart(called: Called, adjoints: Sequence[Any]) -> Adjoints:
    """Those of what a call took, by where it came from."""
    count = len(called.leaves)
    return list(adjoints[:count]), dict(zip(called.captured, adjoints[count:], strict=True))


def _places_of(called: Called) -> list[Place]:
    """All that a call takes."""
    return [*range(len(called.leaves)), *called.captured]


def _tell(source: Source, called: Called, value: Any, pullback: Pullback) -> None:
    """Tell the tapes under way of a call."""
    places = _places_of(called)

    def pulled(adjoint: Any, rows: Collection[int]) -> list[Any]:
        of_results, of_assigned = adjoint
        made, captured = pullback(of_results, of_assigned, {places[at] for at in rows})
        return [*made, *captured.values()]

    given = [*called.leaves, *(_as_used(*pair) for pair in called.captured.items())]
    record_call(source.name, given, value, [Symbol(each) for each in called.assigned.values()], pulled)


def _as_used(resource: Resource, held: Value | Literal) -> Any:
    """What a resource is known by where it is used: a symbolic value of a function around, or a concrete array."""
    if resource.made_by is not None:
        return Symbol(resource.held)
    return resource.held if is_constant(resource) else array_of(held)


def _pulled(
    region: RegionTrace,
    source: Source,
    called: Called,
    adjoint: Any,
    assigned: Sequence[Any],
    rows: Collection[Place],
    marked: Attributes,
) -> Adjoints:
    zeros = [filled_adjoint(None, Symbol(value)) if is_float(value.type) else 0 for value in called.assigned.values()]
    given = [*leaves_as(called.structure, adjoint, "an adjoint"), *(assigned or zeros)]
    results = [*called.values, *called.assigned.values()]
    inputs = []
    for value, leaf in zip(results, given, strict=True):
        if is_float(value.type):
            operand = to_operand(leaf, Type(value.type.dtype) if type(leaf) in (int, float) else None)
            if not value.type.admits(operand.type):
                got = at(operand.type, operand.location if isinstance(operand, Value) else None)
                said = "an adjoint has another type than its result"
                raise Invalid(said, rule="D3", where=here(), required=value.type, got=got)
            inputs.append(region.operand(operand))
    operands = [*called.operands, *called.captured.values()]
    if not (inputs and any(is_float(operand.type) for operand in operands)):
        raise Invalid(
            f"{source.name} has no {'float among its arguments' if inputs else 'float among its results'}",
            rule="D3",
            where=here(),
            hint="integers and bools have no adjoint; convert with tl.astype(x, tl.float64)",
        )
    by_rows = tuple(at for at, place in enumerate(_places_of(called)) if place in rows)
    fresh, types = list[str](), list[Type]()
    for number, (name, operand) in enumerate(zip(called.names, operands, strict=True)):
        if number in by_rows:
            fresh += [region.names.fresh(f"rows_{name}"), region.names.fresh(f"d_{name}")]
            types += row_types(_table(name, called.parameters[number]))
        elif is_float(operand.type):
            fresh.append(region.names.fresh(f"d_{name}"))
            types.append(called.parameters[number])
    attributes = ((PULLED, results[0].name), *([(BY_ROWS, by_rows)] if by_rows else []), *marked)
    rest = map(Symbol, region.node("pullback", inputs, types, fresh, attributes=attributes))
    made: list[Any] = []
    for number, operand in enumerate(operands):
        if number in by_rows:
            made.append(Rows(next(rest), next(rest)))
        else:
            made.append(filled_adjoint(next(rest), array_of(operand)) if is_float(operand.type) else None)
    return _apart(called, made)


def _table(name: str, type_: Type) -> Type:
    """The type of what has rows; raises Invalid (D6) for any other."""
    if type_.is_scalar or not is_float(type_):
        raise Invalid(f"{name} has no rows", rule="D6", where=here(), required="floats, with axes", got=type_)
    return type_


def is_float(type_: Type) -> bool:
    return type_.dtype.kind == "f"


def traced_gradient(
    region: RegionTrace,
    source: Source,
    arguments: Sequence[Any],
    by: Sequence[int | Variable],
    rows: Sequence[int | Variable] = (),
) -> tuple[Any, tuple[Any, ...]]:
    """The one float that a call returns, and its gradient by the arguments at these places, or by variables: by those
    among `rows` as `Rows`."""
    held = {each: region.held(each._resource) for each in by if isinstance(each, Variable)}
    value, _, pullback = traced_pullback(region, source, arguments)
    leaf = to_operand(value) if isinstance(value, Symbol) else None
    if leaf is None or not (leaf.type.is_scalar and is_float(leaf.type)):
        raise Invalid(
            f"{source.name} returns something else than one float, which has no gradient",
            rule="D3",
            where=here(),
            required="float64 or float32, of no axes",
            got=leaf.type if leaf else flatten(value)[1],
            hint="tl.vjp(f, *arguments) pulls an adjoint of any result back",
        )
    for place in by:
        for name, type_ in _parts(source, arguments, place):
            if not is_float(type_):
                said = f"{name} is no float, and has no gradient"
                raise Invalid(said, rule="D3", where=here(), required=dtypes.float64, got=type_)
    adjoints, captured = pullback(1.0, (), _places(source, arguments, rows))
    pulled = by_argument(source, arguments, adjoints, captured)
    empty = [each._resource for each in rows if isinstance(each, Variable)]
    return value, tuple(
        pulled[each] if not isinstance(each, Variable) else _gradient_by(each, captured, held[each], empty)
        for each in by
    )


def _places(source: Source, arguments: Sequence[Any], rows: Sequence[int | Variable]) -> set[Place]:
    """What the arguments with these numbers, and these variables, are to a call."""
    numbers = {each for each in rows if isinstance(each, int)}
    found: set[Place] = {each._resource for each in rows if isinstance(each, Variable)}
    count = 0
    for number, (leaves, structure) in enumerate(source.taken_apart(arguments, Invalid)):
        if number in numbers:
            found.update(range(count, count + len(leaves)))
            fixed = [part.value for part in opened(structure)[1] if part is not None]
            found.update(value._resource for value in fixed if isinstance(value, Held))
        count += len(leaves)
    return found


def _gradient_by(
    variable: Variable, captured: Mapping[Resource, Any], held: Value | Literal, rows: Sequence[Resource]
) -> Any:
    """The gradient by a variable: 0 where it is not used."""
    if variable._resource in captured:
        return captured[variable._resource]
    table = Symbol(held) if isinstance(held, Value) else Concrete(held)
    return no_rows(AtOnce(), table) if variable._resource in rows else filled_adjoint(None, table)


def _parts(source: Source, arguments: Sequence[Any], place: int | Variable) -> list[tuple[str, Type]]:
    if isinstance(place, Variable):
        return [(f"variable {place.name}", place._type)]
    name = source.arguments[place][0]
    if name in source.static:
        said = f"argument {name} of {source.name} is static, and has no gradient"
        raise Invalid(said, rule="D3", where=here(), required=dtypes.float64, got=repr(arguments[place])[:80])
    leaves, structure = flatten(arguments[place])
    names = leaf_names(structure, name)
    return [
        (f"argument {name} of {source.name}", to_operand(part).type) for name, part in zip(names, leaves, strict=True)
    ]
