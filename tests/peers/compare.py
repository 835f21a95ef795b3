"""The law of peers: a program's derivatives agree with the peer's.

Integers, predicates and all values that do not depend on the arguments are tagloom's own, so that both take the same
way through a program. The peer computes and differentiates everything else by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from support.generators.generator import Case
from support.generators.gradient_programs import differentiate
from support.programs.eager_run import EagerRun, TooLong
from support.programs.gradient_cases import FLAT, REFUSED
from tagloom.core import dtypes
from tagloom.core.errors import Invalid
from tagloom.core.graph.lower import lower
from tagloom.core.ops.op import OPS, build_kernel
from tagloom.core.types import type_of
from tagloom.core.value import Value
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import run_graph

from peers import Function, Peer, Unable, Weights
from peers.ops import KNOWING

BOUND = 1e-9
LIMITS = Limits(firings=20_000)


class PairedValue(NamedTuple):
    """A value as tagloom computed it, and as the peer did if it depends on an argument."""

    known: Value
    moved: Any = None

    def __bool__(self) -> bool:
        return bool(self.known)

    def __int__(self) -> int:
        return int(self.known)  # type: ignore[arg-type]


def paired_ops(peer: Peer) -> Callable[..., PairedValue]:
    """Computes an op by tagloom's kernel, and by the peer's row."""

    def operand(each: PairedValue) -> Any:
        if each.moved is not None:
            return each.moved
        return peer.array(each.known) if is_float(each.known) else np.asarray(each.known)

    def do(op: str, *operands: PairedValue, **attributes: Any) -> PairedValue:
        row, values = OPS[op], [each.known for each in operands]
        types = list(map(type_of, values))
        type_ = row.type_rule(*types, **attributes)
        known = build_kernel(row, types, type_, tuple(attributes.items()))(*values)
        if op in (*FLAT, *REFUSED) or type_.dtype.kind != "f" or all(each.moved is None for each in operands):
            return PairedValue(known)
        if op not in peer.ops or type_.dtype is not dtypes.float64:
            raise Unable(f"{peer.name} has no {op}" if op not in peer.ops else f"{type_.dtype}")
        given = [np.array(known)] * (op in KNOWING) + list(map(operand, operands))
        return PairedValue(known, peer.ops[op](*given, **attributes))

    return do


def is_float(value: Any) -> bool:
    return np.asarray(value).dtype.kind == "f"


def increasing(nth: int, shape: tuple[int, ...]) -> Any:
    """The adjoints that `differentiate` pulls back."""
    return np.full(shape, 0.5 + nth)


def by_peer(
    make: Callable[[Sequence[PairedValue]], Sequence[PairedValue]],
    arguments: Sequence[Value],
    order: int,
    peer: Peer,
    weights: Weights = increasing,
) -> list[Any]:
    """The floats that a peer computes from arguments, followed by the adjoints of the floats among these, by the
    adjoints of all that, and so on up to an order."""
    at = [number for number, value in enumerate(arguments) if is_float(value)]

    def function(floats: list[Any]) -> list[Any]:
        moved = dict(zip(at, floats, strict=True))
        result = make([PairedValue(value, moved.get(number)) for number, value in enumerate(arguments)])
        return [peer.array(each.known) if each.moved is None else each.moved for each in result if is_float(each.known)]

    for _ in range(order):
        function = _further(function, peer, weights)
    return list(map(peer.plain, function([peer.array(arguments[number]) for number in at])))


def _further(function: Function, peer: Peer, weights: Weights) -> Function:
    def further(floats: list[Any]) -> list[Any]:
        results, adjoints = peer.pulled_back(function, floats, weights)
        return [*results, *adjoints]

    return further


class Verdict(NamedTuple):
    """The result for a program: "alike", "different" or "left out", with the reason; and whether any adjoint is not
    0."""

    kind: str
    why: str = ""
    slopes: bool = False


def verdict(case: Case, peer: Peer, orders: int = 2) -> Verdict:
    """Whether the adjoints of the reference machine agree with those of a peer, up to an order."""
    try:
        ours = [of_machine(case, order) for order in range(1, orders + 1)]
        program = EagerRun(case.program, paired_ops(peer), lambda literal: PairedValue(literal.value))
        theirs = by_peer(lambda given: program(*given), case.arguments, orders, peer)
    except Unable as error:
        return Verdict("left out", str(error))
    except TooLong:
        return Verdict("left out", "too long")
    slopes = any(
        np.any(each) for each in ours[0][sum(type_.dtype.kind == "f" for type_ in case.program.main.results) :]
    )
    if not all(np.isfinite(each).all() for each in theirs):
        return Verdict("left out", "not finite there", slopes)
    result = next(filter(None, (difference(mine, theirs) for mine in ours)), "")
    return Verdict("different" if result else "alike", result, slopes)


def of_machine(case: Case, order: int) -> list[Any]:
    """The floats that the derivative of a program returns; raises Unable if there is no derivative, or no result."""
    try:
        derived = differentiate(case, order)
    except Invalid as error:
        raise Unable(f"{error.rule}") from error
    if derived is None:
        raise Unable("no floats")
    run = run_graph(lower(derived.program), derived.arguments, limits=LIMITS)
    if run.status != "Returned":
        raise Unable(run.status)
    return [np.asarray(each) for each in run.results if is_float(each)]


def difference(ours: Sequence[Any], theirs: Sequence[Any]) -> str:
    """The differences of results and adjoints, of which the peer may have more than are compared. Numbers agree within
    BOUND of the larger of 1 and their own size."""
    for at, (mine, other) in enumerate(zip(ours, theirs[: len(ours)], strict=True)):
        if mine.shape != other.shape or not np.allclose(mine, other, rtol=BOUND, atol=BOUND):
            return f"number {at} is {mine.tolist()} here, {other.tolist()} there"
    return ""
