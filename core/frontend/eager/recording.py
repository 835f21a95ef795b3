"""Recording: what runs, or is traced, tells the tapes under way what it did.

Owns which tapes those are, and what a record is: values by identity, and what pulls adjoints back through one step. It
refuses to know how a tape goes through its records, which is `tape`'s.

A tape hears what is done where it began: outside of traces, or in one region under trace. What branches, loops and
functions do inside of that is their own; to the tape each is one step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol, TypeAlias

from ...autodiff.rows import Rows, row_use_error
from ...errors import Invalid, Usage
from ...ops.index import row_adjoint
from ...ops.op import OPS, lookup_op
from ...types import HandleType, Type
from ...value import Literal, literal
from ..trace.captures import Resource
from ..trace.operators import ArrayOperators
from ..trace.pytree import flatten, unflatten
from ..trace.source_location import user_location
from ..trace.symbol import Symbol
from ..trace.trace import RegionBuilder, TracedValue, current_region, to_operand
from .array import ConcreteArray

TapeArray: TypeAlias = ConcreteArray | Symbol
"""What tapes know: arrays that ops run on eagerly, and those of a trace."""
StoredValue: TypeAlias = ConcreteArray | TracedValue | Literal
"""What a variable holds: outside of traces an array, in a trace what stands for it there."""
VJP: TypeAlias = Callable[[Sequence[Any], Sequence[int], Collection[int]], Sequence[Any]]
"""The adjoints of the operands at some places, by those of the results; None is that of a result that has none so far,
or of an operand that has none. Those at the places in the last are `Rows`."""


class TapeEntry(NamedTuple):
    """One step, such as a call, with the very objects that went in and came out."""

    operands: tuple[Any, ...]
    """Arrays, and Python's numbers, which are constants."""
    results: tuple[TapeArray, ...]
    """Of floats: what else came out has no adjoint."""
    vjp: VJP


class AppliedOp(Protocol):
    """An op that ran: which, with which attributes, and the types that its operands were taken for."""

    @property
    def op(self) -> str: ...
    @property
    def types(self) -> tuple[Type, ...]: ...
    @property
    def attributes(self) -> Mapping[str, Any]: ...


class OpTapeEntry(NamedTuple):
    """The step of an op."""

    operands: tuple[Any, ...]
    result: TapeArray
    applied_op: AppliedOp

    @property
    def results(self) -> tuple[TapeArray]:
        return (self.result,)

    def vjp(self, adjoints: Sequence[Any], wanted: Sequence[int], rows: Collection[int]) -> list[Any]:
        """What the rule of the op says, summed to the shape of the operand where the op broadcasts."""
        op, attributes, row, do = (
            self.applied_op.op,
            self.applied_op.attributes,
            lookup_op(self.applied_op.op),
            OpDispatcher(),
        )
        if row.gradient is None:
            raise _nondifferentiable_error(op)
        pairs = zip(self.operands, self.applied_op.types, strict=True)
        operands = [
            each if isinstance(each, ConcreteArray | Symbol) else ConcreteArray(literal(each, type_))
            for each, type_ in pairs
        ]
        (adjoint,), result = adjoints, self.result
        pulled = []
        for at in wanted:
            if at in rows and (taken := row_adjoint(do, op, adjoint, operands, attributes)):
                pulled.append(Rows(*taken))
                continue
            made = row.gradient(do, at, adjoint, result, *operands, **attributes)
            if at in rows and made is not None:
                raise row_use_error("a source", op, user_location())
            is_wider = (
                made is not None
                and row.scalar is not None
                and not _has_same_known_shape(do.type(made), operands[at]._type)
            )
            pulled.append(do("sum_like", made, operands[at]) if is_wider else made)
        return pulled


AnyTapeEntry: TypeAlias = TapeEntry | OpTapeEntry
DeferredOpEntry: TypeAlias = tuple[tuple[Any, ...], ConcreteArray, AppliedOp]
"""What an `OpTapeEntry` is made of, when it is needed: that takes 0.3 us."""


class TapeProtocol(Protocol):
    """What records: a tape."""

    region: RegionBuilder | None
    """Where it began: the region under trace; None outside of traces."""
    is_paused: bool
    """Whether it takes nothing down for a while."""

    def record(self, entry: AnyTapeEntry) -> None:
        """Take a step down, if it concerns what is watched."""

    def record_eager_op(self, entry: DeferredOpEntry) -> None:
        """The same of an op that ran eagerly."""

    def is_tracked(self, value: TapeArray) -> bool:
        """Whether a value is watched, or depends on what is."""

    def is_watching(self, variable: Resource) -> bool:
        """Whether a variable is watched, or is to be as soon as it is read."""

    def resolve_watched_array(self, variable: Resource, held: StoredValue, array: TapeArray) -> TapeArray | None:
        """Which array a variable is to it that holds this, others having `array` for it; None where this is the first
        that it sees of the variable."""

    def watch_variable(self, variable: Resource, held: StoredValue, before: TapeArray, array: TapeArray) -> None:
        """Watch a variable that holds this, for which others have `before`, as an array of its own."""

    def record_assignment(self, variable: Resource) -> None:
        """Take it that a variable does not hold any more what it held when it was first seen."""


TAPE_STACK: ContextVar[tuple[TapeProtocol, ...]] = ContextVar("recorders", default=())
"""The tapes under way, the outermost first."""


def recording_tapes() -> Sequence[TapeProtocol]:
    """Those of them that take down what is done here."""
    recorders = TAPE_STACK.get()
    if not recorders:
        return ()
    region = current_region()
    return [each for each in recorders if each.region is region and not each.is_paused]


class OpDispatcher:
    """What gradient rules call ops with here: ops as everybody calls them, which are recorded as any others."""

    def __call__(self, op: str, *operands: Any, **attributes: Any) -> Any:
        return ArrayOperators.apply(op, *operands, **attributes)

    def type(self, operand: Any) -> Type:
        return operand._type if isinstance(operand, ConcreteArray) else to_operand(operand).type


def record_entry(operands: Sequence[Any], results: Sequence[TapeArray], pull: VJP) -> None:
    """Tell all tapes under way of a step, if what it makes can have an adjoint."""
    if results:
        made = TapeEntry(tuple(operands), tuple(results), pull)
        for recorder in recording_tapes():
            recorder.record(made)


class _TracedOp(NamedTuple):
    op: str
    types: tuple[Type, ...]
    attributes: Mapping[str, Any]


def record_op(applied: AppliedOp, operands: tuple[Any, ...], result: TapeArray) -> None:
    """Tell them of an op, if what it makes can have an adjoint."""
    if result._type.dtype.kind != "f":
        return
    made = OpTapeEntry(operands, result, applied)
    for recorder in recording_tapes():
        recorder.record(made)


def record_eager_op(applied: AppliedOp, operands: tuple[Any, ...], result: ConcreteArray) -> None:
    """Tell them of an op that made floats outside of a trace: as `record_op` does, 0.5 us less."""
    for recorder in TAPE_STACK.get():
        if recorder.region is None and not recorder.is_paused:
            recorder.record_eager_op((operands, result, applied))


def record_traced_op(
    op: str,
    operands: Sequence[Any],
    taken: Sequence[TracedValue | Literal],
    attributes: Mapping[str, Any],
    result: Symbol,
) -> None:
    """Tell them of an op of a trace. An operand that is no array of ours is what it was taken for."""
    pairs = zip(operands, taken, strict=True)
    given = tuple(each if isinstance(each, ConcreteArray | Symbol) else as_array(value) for each, value in pairs)
    record_op(_TracedOp(op, tuple(each.type for each in taken), attributes), given, result)


def record_nondifferentiable(op: str, operands: Sequence[Any], result: TapeArray) -> None:
    """Tell them of what cannot be differentiated."""

    def vjp(*_: Any) -> list[Any]:
        raise _nondifferentiable_error(op)

    arrays = [each for each in operands if isinstance(each, ConcreteArray | Symbol)]
    record_entry(arrays, [result] if is_float_array(result) else [], vjp)


def _nondifferentiable_error(op: str) -> Invalid:
    hint = "tl.stop_gradient(x) takes a value for a constant"
    required = "a column gradient in its row" if op in OPS else None
    return Invalid(f"{op} cannot be differentiated", rule="D1", where=user_location(), required=required, hint=hint)


def _has_same_known_shape(one: Type, other: Type) -> bool:
    """Whether shapes are known, and the same."""
    return one.shape == other.shape and one.shape is not None and None not in one.shape


def record_call(
    name: str,
    given: Sequence[Any],
    result: Any,
    assigned: Sequence[TapeArray],
    pullback: Callable[[Any, Collection[int]], Sequence[Any]],
    *,
    draws: bool = False,
) -> None:
    """Tell them of a call of a traced function: one step, whose pullback takes an adjoint nested as the result, and
    those of what variables were assigned, to those of all that was given to the program, in some places as `Rows`.
    `draws` says that it draws random numbers, which the run of a pullback would draw anew.

    Raises Invalid (D5) where what is watched goes into such a call: the gradient would be wrong.
    """
    results, form = flatten((result, tuple(assigned)), by_reference=True)
    places = [at for at, leaf in enumerate(given) if is_float_array(leaf)]
    operands, made = [given[at] for at in places], [leaf for leaf in results if is_float_array(leaf)]
    if draws and made and any(map(_is_tracked, operands)):
        said = f"a tape records {name}, which draws random numbers, and its reverse pass would draw others"
        hint = "draw outside and pass the numbers as an argument, or use tl.value_and_grad, which draws once"
        raise Invalid(said, rule="D5", where=user_location(), hint=hint)
    if any(isinstance(leaf, Symbol) and isinstance(leaf.dtype, HandleType) for leaf in (*given, *results)):
        raise cells_not_recorded_error()

    def vjp(adjoints: Sequence[Any], wanted: Sequence[int], rows: Collection[int]) -> list[Any]:
        found = iter(adjoints)
        filled = [instantiate_adjoint(next(found), leaf) if is_float_array(leaf) else 0 for leaf in results]
        pulled = pullback(unflatten(form, filled), [places[at] for at in rows])
        return [pulled[places[at]] for at in wanted]

    record_entry(operands, made, vjp)


def cells_not_recorded_error() -> Usage:
    """The error where cells are used under a tape that hears it."""
    hint = "make, fill and collect them in one tl.function, and call that; tl.map and tl.scan are recorded"
    return Usage("a tape takes down no cells", where=user_location(), hint=hint)


def _is_tracked(value: TapeArray) -> bool:
    return any(recorder.is_tracked(value) for recorder in recording_tapes())


def as_array(held: StoredValue) -> TapeArray:
    """What is held as an array."""
    return Symbol(held) if isinstance(held, TracedValue) else ConcreteArray(held) if isinstance(held, Literal) else held


def is_float_array(value: Any) -> bool:
    """Whether this can have an adjoint here: an array of ours, of floats."""
    return isinstance(value, ConcreteArray | Symbol) and value.dtype.kind == "f"


def instantiate_adjoint(adjoint: Any, of: TapeArray) -> Any:
    """An adjoint, of the shape of its value as far as types know; zeros where nothing has contributed to it."""
    if adjoint is not None:
        fits = of._type.admits(to_operand(adjoint).type)
        return adjoint if fits else ArrayOperators.apply("sum_like", adjoint, of)
    zero, shape = ConcreteArray(literal(0.0, Type(of.dtype))), of.shape
    if shape is None or None in shape:
        return ArrayOperators.apply("broadcast_like", zero, of)
    return ArrayOperators.apply("broadcast_to", zero, shape=shape) if shape else zero
