"""Backends that are wrong in one way each, to test what searches for such backends. They run in this process.

RightBackend evaluates a program by recursion. Each twin overrides one of its methods, and its docstring says what it
does wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tagloom.core.ops.op import OPS, build_kernel, trap_message
from tagloom.core.program.program import Node, Operand, Program, Region
from tagloom.core.types import type_of
from tagloom.core.value import Literal, Value, admit
from tagloom.interp.oracle.protocol import Answer, check_results

Values = list[Value]
MOST_TRIPS = 3_000
"""A backend that makes more trips hangs."""


class RightBackend:
    """A backend that is right."""

    capabilities = None
    endings = ()
    levels = ()

    def start(self) -> None:
        """It needs no start."""

    def stop(self) -> None:
        """It has no process."""

    def __enter__(self) -> RightBackend:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def run(self, program: Program, arguments: Sequence[Value]) -> Answer:
        self.program, self.memory = program, {}
        self.depth = self.trips = 0
        try:
            results = tuple(self.region(program.main.body, list(arguments)))
        except Answered as answered:
            return answered.answer
        reason = check_results(program, results)
        return Answer("returned", results) if reason is None else Answer("invalid", message=reason)

    def region(self, region: Region, arguments: Values) -> Values:
        values: dict[str, Value] = {
            parameter.name: value for parameter, value in zip(region.parameters, arguments, strict=True)
        }

        def read(operand: Operand) -> Value:
            return operand.value if isinstance(operand, Literal) else values[operand]

        for node in region.nodes:
            results = self.node(node, list(map(read, node.inputs)), region)
            values.update((result.name, value) for result, value in zip(node.results, results, strict=True))
        return list(map(read, region.results))

    def node(self, node: Node, operands: Values, region: Region) -> Values:
        match node.op:
            case "cond":
                return self.cond(node, operands)
            case "while_loop":
                self.depth += 1
                results = self.loop(node, operands, region)
                self.depth -= 1
                return results
            case "call":
                return self.call(node, operands)
        return [self.op(node, operands)]

    def cond(self, node: Node, operands: Values) -> Values:
        return self.region(node.regions[0 if operands[0] else 1], operands[1:])

    def loop(self, node: Node, state: Values, region: Region) -> Values:
        while self.goes_on(node, state):
            state = self.trip(node, state)
        return state

    def goes_on(self, node: Node, state: Values) -> bool:
        self.trips += 1
        if self.trips > MOST_TRIPS:
            raise Answered(Answer("hang", cause="run", message="it did not answer run in time"))
        return bool(self.region(node.regions[0], state)[0])

    def trip(self, node: Node, state: Values) -> Values:
        return self.region(node.regions[1], state)

    def call(self, node: Node, operands: Values) -> Values:
        return self.region(self.program[node.attribute("function")].body, operands)

    def op(self, node: Node, operands: Values) -> Value:
        return compute(node, operands)


class Answered(Exception):
    """Ends a run with another answer than results."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.answer = answer


def compute(node: Node, operands: Sequence[Value]) -> Value:
    """What the op of a node means."""
    row = OPS[node.op]
    if trap_message(row, tuple(operands), node.attributes) is not None:
        raise Answered(Answer("trapped", message="a trap"))
    return build_kernel(row, list(map(type_of, operands)), node.results[0].type, node.attributes)(*operands)


def zero(value: Value) -> Value:
    return admit(np.zeros_like(np.asarray(value)))


class OneTripLess(RightBackend):
    """Loops of two trips and more end one trip early."""

    def loop(self, node: Node, state: Values, region: Region) -> Values:
        states = [state]
        while self.goes_on(node, states[-1]):
            states.append(self.trip(node, states[-1]))
        return states[-2] if len(states) > 2 else states[-1]


class OneTripMore(RightBackend):
    """Loops make a trip after the condition is false."""

    def loop(self, node: Node, state: Values, region: Region) -> Values:
        return self.trip(node, super().loop(node, state, region))


class AtLeastOneTrip(RightBackend):
    """Loops test their condition after a trip."""

    def loop(self, node: Node, state: Values, region: Region) -> Values:
        return super().loop(node, self.trip(node, state), region)


class StaleVariable(RightBackend):
    """The body sees the last variable as it was one trip before."""

    def loop(self, node: Node, state: Values, region: Region) -> Values:
        stale = state[-1]
        while self.goes_on(node, state):
            state, stale = self.trip(node, [*state[:-1], stale]), state[-1]
        return state


class HoistedVariable(RightBackend):
    """The first variable of a loop counts as invariant if it is a float."""

    def trip(self, node: Node, state: Values) -> Values:
        results = super().trip(node, state)
        return [state[k] if isinstance(state[k], float) else results[k] for k in range(len(state))]


class BothBranches(RightBackend):
    """Of a cond with two results, the second comes from the other branch."""

    def cond(self, node: Node, operands: Values) -> Values:
        first, second = (self.region(branch, operands[1:]) for branch in node.regions)
        right, wrong = (first, second) if operands[0] else (second, first)
        return [right[0], *wrong[1:]]


class SwappedCarry(RightBackend):
    """Two neighbouring variables of one type are exchanged when a loop ends."""

    def loop(self, node: Node, state: Values, region: Region) -> Values:
        state = super().loop(node, state, region)
        for k in range(len(state) - 1):
            if type_of(state[k]) == type_of(state[k + 1]):
                state[k], state[k + 1] = state[k + 1], state[k]
                break
        return state


class LostEarlyExit(RightBackend):
    """In conditions of loops, `logical_and` is its first operand."""

    def goes_on(self, node: Node, state: Values) -> bool:
        self.in_condition = True
        result = super().goes_on(node, state)
        self.in_condition = False
        return result

    def op(self, node: Node, operands: Values) -> Value:
        if node.op == "logical_and" and getattr(self, "in_condition", False):
            return operands[0]
        return super().op(node, operands)


class ForgottenIteration(RightBackend):
    """A loop inside a loop runs in the first iteration only; later ones get its results."""

    def loop(self, node: Node, state: Values, region: Region) -> Values:
        if self.depth < 2:
            self.memory.clear()
            return super().loop(node, state, region)
        if node.name not in self.memory:
            self.memory[node.name] = super().loop(node, state, region)
        return list(self.memory[node.name])


class ForgottenArguments(RightBackend):
    """A function is evaluated once, whatever its arguments."""

    def call(self, node: Node, operands: Values) -> Values:
        name = node.attribute("function")
        if name not in self.memory:
            self.memory[name] = super().call(node, operands)
        return list(self.memory[name])


class NegatedConstant(RightBackend):
    """A cond whose predicate is a constant takes the other branch."""

    def cond(self, node: Node, operands: Values) -> Values:
        negate = isinstance(node.inputs[0], Literal)
        return super().cond(node, [not operands[0] if negate else operands[0], *operands[1:]])


class WrongFolding(RightBackend):
    """The sum of two constants is one more."""

    def op(self, node: Node, operands: Values) -> Value:
        result = super().op(node, operands)
        is_constant = all(isinstance(operand, Literal) for operand in node.inputs)
        return (
            admit(np.asarray(result) + np.asarray(result).dtype.type(1)) if node.op == "add" and is_constant else result
        )


class CommutedComparison(RightBackend):
    """A comparison with a constant on the left has its operands exchanged, and nothing else."""

    def op(self, node: Node, operands: Values) -> Value:
        if node.op in ("less", "less_equal", "greater", "greater_equal") and isinstance(node.inputs[0], Literal):
            operands = operands[::-1]
        return super().op(node, operands)


class CommutedSubtraction(RightBackend):
    """A difference whose left operand is a constant has its operands exchanged."""

    def op(self, node: Node, operands: Values) -> Value:
        flip = node.op == "subtract" and isinstance(node.inputs[0], Literal)
        return super().op(node, operands[::-1] if flip else operands)


class LooseBound(RightBackend):
    """`less` of integers is `less_equal`."""

    def op(self, node: Node, operands: Values) -> Value:
        if node.op == "less" and isinstance(operands[0], int) and isinstance(operands[1], int):
            return operands[0] <= operands[1]
        return super().op(node, operands)


class ZeroTripsForget(RightBackend):
    """A loop without trips gives zeros."""

    def loop(self, node: Node, state: Values, region: Region) -> Values:
        if not self.goes_on(node, state):
            return list(map(zero, state))
        return super().loop(node, state, region)


class ExchangedSelection(RightBackend):
    """`where` of arrays takes the other operand."""

    def op(self, node: Node, operands: Values) -> Value:
        if node.op == "where" and isinstance(operands[1], np.ndarray):
            operands = [operands[0], operands[2], operands[1]]
        return super().op(node, operands)


class SharedResult(RightBackend):
    """Where a branch yields a value twice, the second is zero."""

    def cond(self, node: Node, operands: Values) -> Values:
        results = super().cond(node, operands)
        names = node.regions[0 if operands[0] else 1].results
        return [
            zero(result) if isinstance(name, str) and name in names[:k] else result
            for k, (name, result) in enumerate(zip(names, results, strict=True))
        ]


class NoDeadLoops(RightBackend):
    """Reports an error for a loop whose results are not used."""

    def loop(self, node: Node, state: Values, region: Region) -> Values:
        used = {name for user in region.nodes for name in user.inputs if isinstance(name, str)}
        used |= {name for name in region.results if isinstance(name, str)}
        if not used & {result.name for result in node.results}:
            raise Answered(Answer("error", message="InternalError: node 17 has no users"))
        return super().loop(node, state, region)


class ShallowNesting(RightBackend):
    """Reports an error for a loop in a loop."""

    def loop(self, node: Node, state: Values, region: Region) -> Values:
        if self.depth > 1:
            raise Answered(Answer("error", message="InternalError: frame of depth 2"))
        return super().loop(node, state, region)


class ConstantCondCrash(RightBackend):
    """Dies of a cond whose predicate is a constant."""

    def cond(self, node: Node, operands: Values) -> Values:
        if isinstance(node.inputs[0], Literal):
            raise Answered(Answer("crash", cause="SIGSEGV", message="it was killed by SIGSEGV at compile"))
        return super().cond(node, operands)


class HangingLoops(RightBackend):
    """Hangs on loops of five variables and more."""

    def loop(self, node: Node, state: Values, region: Region) -> Values:
        if len(state) >= 5:
            raise Answered(Answer("hang", cause="run", message="it did not answer run in time"))
        return super().loop(node, state, region)


class WideCounters(RightBackend):
    """Gives int64 where a program returns int32."""

    def run(self, program: Program, arguments: Sequence[Value]) -> Answer:
        answer = super().run(program, arguments)
        results = tuple(int(value) if isinstance(value, np.int32) else value for value in answer.results)
        reason = check_results(program, results) if answer.kind == "returned" else None
        return answer if reason is None else Answer("invalid", message=reason)


class TruncatedRemainder(RightBackend):
    """Integer remainders have the sign of the dividend."""

    def op(self, node: Node, operands: Values) -> Value:
        if node.op == "remainder" and not isinstance(operands[0], np.ndarray | float):
            return admit(np.fmod(np.asarray(operands[0]), np.asarray(operands[1])))
        return super().op(node, operands)


class OldCounter(RightBackend):
    """The counter, where it is the first variable, ends one step early."""

    def loop(self, node: Node, state: Values, region: Region) -> Values:
        before = state
        while self.goes_on(node, state):
            before, state = state, self.trip(node, state)
        return [before[0], *state[1:]]


class LostHandover(RightBackend):
    """A loop that starts with the result of another loop starts with what that one started with."""

    def loop(self, node: Node, state: Values, region: Region) -> Values:
        starts = [self.memory.get(name, value) for name, value in zip(node.inputs, state, strict=True)]
        results = super().loop(node, starts, region)
        self.memory.update((result.name, start) for result, start in zip(node.results, state, strict=True))
        return results


WRONG_BACKENDS: tuple[type[RightBackend], ...] = tuple(RightBackend.__subclasses__())
FAULTY_OPS: dict[type[RightBackend], str] = {
    **dict.fromkeys(WRONG_BACKENDS, "while_loop"),
    **dict.fromkeys((BothBranches, NegatedConstant, SharedResult, ConstantCondCrash), "cond"),
    ForgottenArguments: "call",
    WrongFolding: "add",
    CommutedComparison: "compare",
    CommutedSubtraction: "subtract",
    LooseBound: "less",
    ExchangedSelection: "where",
    TruncatedRemainder: "remainder",
    WideCounters: "",
}
"""The op that each of these twins computes wrongly; none if it computes all rightly, and `compare` for comparisons."""


class FlushedDenormals(RightBackend):
    """Takes denormal operands for zero."""

    def op(self, node: Node, operands: Values) -> Value:
        return super().op(node, list(map(flush, operands)))


def flush(value: Value) -> Value:
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return value
    return admit(np.where(np.abs(array) < np.finfo(array.dtype).tiny, np.copysign(np.zeros_like(array), array), array))


class HalfAway(RightBackend):
    """Rounds halves away from zero."""

    def op(self, node: Node, operands: Values) -> Value:
        if node.op == "round" and np.asarray(operands[0]).dtype.kind == "f":
            array = np.asarray(operands[0])
            return admit(np.copysign(np.floor(np.abs(array) + array.dtype.type(0.5)), array))
        return super().op(node, operands)


class LostNaN(RightBackend):
    """The smaller of a number and NaN is the number."""

    def op(self, node: Node, operands: Values) -> Value:
        if node.op == "minimum" and np.asarray(operands[0]).dtype.kind == "f":
            return admit(np.fmin(*map(np.asarray, operands)))
        return super().op(node, operands)


class CoarseRoots(RightBackend):
    """Square roots are off by one in the last place."""

    def op(self, node: Node, operands: Values) -> Value:
        result = super().op(node, operands)
        root = np.asarray(result)
        return admit(np.nextafter(root, root.dtype.type(np.inf))) if node.op == "sqrt" else result


class QuotientCrash(RightBackend):
    """Dies of the lowest integer divided by -1."""

    def op(self, node: Node, operands: Values) -> Value:
        if node.op == "floor_divide" and np.asarray(operands[0]).dtype.kind == "i":
            low = np.iinfo(np.asarray(operands[0]).dtype).min
            if np.any((np.asarray(operands[0]) == low) & (np.asarray(operands[1]) == -1)):
                raise Answered(Answer("crash", cause="SIGFPE", message="it was killed by SIGFPE at run"))
        return super().op(node, operands)


class NarrowIntegers(RightBackend):
    """int32 is added in eight bits."""

    def op(self, node: Node, operands: Values) -> Value:
        array = np.asarray(super().op(node, operands))
        return admit(array.astype(np.int8).astype(np.int32) if array.dtype == np.int32 else array)


class LostZeroSign(RightBackend):
    """The negative of zero is 0.0."""

    def op(self, node: Node, operands: Values) -> Value:
        array = np.asarray(super().op(node, operands))
        return admit(array + array.dtype.type(0) if array.dtype.kind == "f" else array)


class TruncatedQuotient(RightBackend):
    """Integer quotients are rounded toward zero."""

    def op(self, node: Node, operands: Values) -> Value:
        quotient = np.asarray(super().op(node, operands))
        if node.op != "floor_divide" or quotient.dtype.kind != "i":
            return admit(quotient)
        x, y = map(np.asarray, operands)
        is_raised = ((x < 0) != (y < 0)) & (np.fmod(x, y) != 0)
        return admit(quotient + is_raised.astype(quotient.dtype))


WRONG_OPS: dict[type[RightBackend], tuple[str, str, str]] = {
    FlushedDenormals: ("add", "denormal", "different"),
    HalfAway: ("round", "ordinary", "different"),
    LostNaN: ("minimum", "ordinary", "different"),
    CoarseRoots: ("sqrt", "ordinary", "different"),
    NarrowIntegers: ("add", "ordinary", "different"),
    LostZeroSign: ("negative", "ordinary", "different"),
    TruncatedQuotient: ("floor_divide", "ordinary", "different"),
    QuotientCrash: ("floor_divide", "overflowing-quotient", "crash"),
}
"""Twins that are wrong in single ops: the op, the group of operands that shows it, and the verdict."""
