"""Recording: what runs at once tells the tapes under way what it did.

Owns which tapes those are, and what a record is: values by identity, and what pulls adjoints back through one step. It
refuses to know how a tape goes through its records, which is `tape`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

from ..derive.rows import otherwise
from ..errors import Invalid, Usage
from ..op import lookup
from ..ops.gradients.index import by_rows
from ..types import Type
from ..value import literal
from .concrete import Concrete
from .operators import Operators
from .resource import Resource
from .rows import Rows
from .source import here
from .structure import flatten, unflatten
from .tracing import to_operand

Pull: TypeAlias = Callable[[Sequence[Any], Sequence[int], Collection[int]], Sequence[Any]]
"""The adjoints of the operands at some places, by those of the results; None is that of a result that has none so far,
or of an operand that has none. Those at the places in the last are `Rows`."""


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One step: an op or a call, with the very objects that went in and came out."""

    operands: tuple[Concrete, ...]
    results: tuple[Concrete, ...]
    pull: Pull


class Recorder(Protocol):
    """What records: a tape."""

    def record(self, record: Record) -> None:
        """Take a step down, if it concerns what is watched."""

    def knows(self, value: Concrete) -> bool:
        """Whether a value is watched, or depends on what is."""

    def read(self, variable: Resource, held: Concrete) -> None:
        """Watch what a variable holds, if that is the first that is seen of it."""


RECORDERS: ContextVar[tuple[Recorder, ...]] = ContextVar("recorders", default=())
"""The tapes under way, the outermost first."""


class AtOnce:
    """What gradient rules call ops with here: ops that run at once, and are recorded as any others."""

    def __call__(self, op: str, *operands: Any, **attributes: Any) -> Any:
        return Operators.apply(op, *operands, **attributes)

    def type(self, operand: Any) -> Type:
        return to_operand(operand).type


def record(operands: Sequence[Concrete], results: Sequence[Concrete], pull: Pull) -> None:
    """Tell all tapes under way of a step."""
    made = Record(tuple(operands), tuple(results), pull)
    for recorder in RECORDERS.get():
        recorder.record(made)


def record_op(
    op: str, operands: Sequence[Any], literals: Sequence[Any], attributes: Mapping[str, Any], result: Concrete
) -> None:
    """Tell them of an op. An operand that is no array of ours is a constant: the literal that it was taken for."""
    given = [
        operand if isinstance(operand, Concrete) else Concrete(taken)
        for operand, taken in zip(operands, literals, strict=True)
    ]
    record(given, [result], partial(_pulled_through, op, given, attributes, result))


def _pulled_through(
    op: str,
    operands: Sequence[Concrete],
    attributes: Mapping[str, Any],
    result: Concrete,
    adjoints: Sequence[Any],
    wanted: Sequence[int],
    rows: Collection[int],
) -> list[Any]:
    """What the rule of an op says, summed to the shape of the operand where the op broadcasts."""
    row, do = lookup(op), AtOnce()
    if row.gradient is None:
        hint = "tl.stop_gradient(x) takes a value for a constant"
        raise Invalid(f"{op} cannot be differentiated", rule="D1", where=here(), hint=hint)
    pulled = []
    for at in wanted:
        if at in rows and (taken := by_rows(do, op, adjoints[0], operands, attributes)):
            pulled.append(Rows(*taken))
            continue
        made = row.gradient(do, at, adjoints[0], result, *operands, **attributes)
        is_wider = made is not None and row.scalar is not None and do.type(made).shape != operands[at].shape
        if at in rows and made is not None:
            raise otherwise("a source", op, here())
        pulled.append(do("sum_like", made, operands[at]) if is_wider else made)
    return pulled


def record_call(
    name: str,
    given: Sequence[Any],
    result: Any,
    assigned: Sequence[Concrete],
    pullback: Callable[[Any, Collection[int]], Sequence[Any]],
    *,
    draws: bool = False,
) -> None:
    """Tell them of a call of a traced function: one step, whose pullback takes an adjoint nested as the result, and
    those of what variables were assigned, to those of all that was given to the program, in some places as `Rows`.
    `draws` says that it draws random numbers, which the run of a pullback would draw anew.

    Raises Usage where what is watched goes into such a draw: the gradient would be wrong.
    """
    results, form = flatten((result, tuple(assigned)), by_reference=True)
    places = [at for at, leaf in enumerate(given) if is_float_array(leaf)]
    operands, made = [given[at] for at in places], [leaf for leaf in results if is_float_array(leaf)]
    if draws and made and any(map(_is_known, operands)):
        said = f"a tape records {name}, which draws random numbers, and its reverse pass would draw others"
        hint = "draw outside and pass the numbers as an argument, or use tl.value_and_grad, which draws once"
        raise Usage(said, where=here(), hint=hint)

    def pull(adjoints: Sequence[Any], wanted: Sequence[int], rows: Collection[int]) -> list[Any]:
        found = iter(adjoints)
        filled = [filled_adjoint(next(found), leaf) if is_float_array(leaf) else 0 for leaf in results]
        pulled = pullback(unflatten(form, filled), [places[at] for at in rows])
        return [pulled[places[at]] for at in wanted]

    record(operands, made, pull)


def _is_known(value: Concrete) -> bool:
    return any(recorder.knows(value) for recorder in RECORDERS.get())


def is_float_array(value: Any) -> bool:
    """Whether this can have an adjoint here: an array of ours, of floats."""
    return isinstance(value, Concrete) and value.dtype.kind == "f"


def filled_adjoint(adjoint: Any, of: Concrete) -> Any:
    """An adjoint; zeros where nothing has contributed to it."""
    if adjoint is not None:
        return adjoint
    zero = Concrete(literal(0.0, Type(of.dtype)))
    return zero if of.shape == () else Operators.apply("broadcast_like", zero, of)
