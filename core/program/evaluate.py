"""The big-step evaluator: evaluates a structured program directly, without tokens, tags or a graph.

It is an independent semantics, against which lowering and the machines are tested; it is not an engine for users. It is
strict and sequential: it stops at the first trap, and agrees with the token machine on runs that become quiescent.

A region is evaluated by a generator that yields the regions whose results it needs. The stack is a list of such
generators, so `max_depth` and memory bound the depth, not Python's own stack.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias
from typing import Literal as LiteralType

from ..hashing import name_key
from ..ops import effects
from ..ops.effects import EFFECT_OPS, format_text
from ..ops.op import OPS, build_kernel, raise_column_error, trap_message
from ..ops.random import draw_key
from ..tag import ROOT, child_key
from ..types import Handle, Type, element_type, type_of
from ..value import Literal, Value
from ..world import CallbackError, World
from .program import PULLBACK_TARGET, Node, Operand, Program, Region

Values: TypeAlias = tuple[Value, ...]


class EvaluationFrame:
    """The frame of a region: its function, its values by name, and the frames of calls, branches and iterations that
    have a further phase, by the name of their node. `tag_key` is the key that the activation's tag would have."""

    __slots__ = ("child_frames", "function", "tag_key", "values")

    def __init__(self, function: str, key: int) -> None:
        self.function, self.tag_key = function, key
        self.values: dict[str, Value] = {}
        self.child_frames: dict[str, list[tuple[Region, EvaluationFrame]]] = {}

    def record_children(self, node: str, *children: tuple[Region, EvaluationFrame]) -> None:
        """Record the frames of a node whose regions have further phases."""
        self.child_frames.setdefault(node, []).extend(child for child in children if child[0].pullback)


class RegionRequest(NamedTuple):
    """A request to evaluate a phase of a region in a frame, on these arguments."""

    region: Region
    frame: EvaluationFrame
    arguments: Values


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The outcome of an evaluation: results, a trap (node and message), a limit (of steps, depth or memory), or
    Waiting: a get reads an empty cell, and strict evaluation cannot continue."""

    status: LiteralType["Returned", "Trapped", "Exhausted", "Waiting"]
    results: Values | None = None
    trap: tuple[str, str] | None = None


class _TrapRaised(Exception):
    pass


class _LimitReached(Exception):
    pass


class _EmptyCellRead(Exception):
    pass


_RegionGenerator: TypeAlias = Generator[RegionRequest, Values, Values]


def evaluate(
    program: Program,
    arguments: Sequence[Value],
    *,
    max_steps: int = 10_000_000,
    max_depth: int = 250_000,
    seed: int = 0,
    world: World | None = None,
) -> Evaluation:
    """Evaluate a program on admitted arguments. `max_steps` bounds the nodes evaluated, `max_depth` the nested regions;
    `seed` determines the random numbers, and effects go to `world`."""
    evaluator = _Evaluator(program, max_steps, seed, world or World())
    entry = program.main
    stack = [
        evaluator.evaluate_region(RegionRequest(entry.body, EvaluationFrame(entry.name, ROOT.key), tuple(arguments)))
    ]
    results: Values | None = None
    try:
        while True:
            try:
                request = stack[-1].send(results)  # type: ignore[arg-type]  # None starts a generator
            except StopIteration as finished:
                stack.pop()
                results = finished.value
                if not stack:
                    return Evaluation("Returned", results)
            else:
                if len(stack) >= max_depth:
                    return Evaluation("Exhausted")
                stack.append(evaluator.evaluate_region(request))
                results = None
    except _TrapRaised as trap:
        return Evaluation("Trapped", trap=trap.args[0])
    except _EmptyCellRead:
        return Evaluation("Waiting")
    except (_LimitReached, MemoryError):
        return Evaluation("Exhausted")


class _Evaluator:
    def __init__(self, program: Program, max_steps: int, seed: int, world: World) -> None:
        self.program = program
        self.remaining_steps = max_steps
        self.seed = seed
        self.world = world
        self.cells: dict[Handle, dict[int, Value]] = {}

    def evaluate_region(self, request: RegionRequest) -> _RegionGenerator:
        region, frame, arguments = request
        function, key, values = frame.function, frame.tag_key, frame.values
        values.update((parameter.name, value) for parameter, value in zip(region.parameters, arguments, strict=True))

        def value(operand: Operand) -> Value:
            return operand.value if isinstance(operand, Literal) else values[operand]

        for node in region.nodes:
            self.remaining_steps -= 1
            if self.remaining_steps < 0:
                raise _LimitReached
            inputs = tuple(map(value, node.inputs))
            match node.op:
                case "cond":
                    branch, child_frame = node.regions[0 if inputs[0] else 1], EvaluationFrame(function, key)
                    results = yield RegionRequest(branch, child_frame, inputs[1:])
                    frame.record_children(node.name, (branch, child_frame))
                case "while_loop":
                    (condition, body), results, site, iteration = node.regions, inputs, node.site(function), 0
                    frame.record_children(node.name)
                    child_frame = EvaluationFrame(function, child_key(key, site, iteration))
                    while (yield RegionRequest(condition, child_frame, results))[0]:
                        results = yield RegionRequest(body, child_frame, results)
                        frame.record_children(node.name, (body, child_frame))
                        iteration += 1
                        child_frame = EvaluationFrame(function, child_key(key, site, iteration))
                case "call":
                    callee, callee_key = (
                        self.program[node.attribute("function")],
                        child_key(key, node.site(function), 0),
                    )
                    child_frame = EvaluationFrame(callee.name, callee_key)
                    results = yield RegionRequest(callee.body, child_frame, inputs)
                    frame.record_children(node.name, (callee.body, child_frame))
                case "pullback":
                    results = inputs
                    frame.record_children(node.name)
                    for phase, child_frame in reversed(frame.child_frames.pop(node.attribute(PULLBACK_TARGET))):
                        assert phase.pullback is not None
                        results = yield RegionRequest(phase.pullback, child_frame, results)
                        frame.record_children(node.name, (phase.pullback, child_frame))
                case _ if node.op in EFFECT_OPS:
                    results = (self.evaluate_effect(function, node, inputs, key),)
                case _:
                    results = (self.evaluate_op(function, node, inputs),)
            values.update((var.name, result) for var, result in zip(node.results, results, strict=True))
        return tuple(map(value, region.results))

    def evaluate_op(self, function: str, node: Node, inputs: Values) -> Value:
        row = OPS[node.op]
        message = trap_message(row, inputs, node.attributes)
        if message is not None:
            raise _TrapRaised((f"{function}.{node.name}", message))
        kernel = build_kernel(row, list(map(type_of, inputs)), node.results[0].type, node.attributes)
        try:
            return kernel(*inputs)
        except Exception as error:
            raise_column_error(row, inputs, error)

    def evaluate_effect(self, function: str, node: Node, inputs: Values, key: int) -> Value:
        """S13 to S16, in sequence: a cell must be put before it is read."""
        row, node_name = EFFECT_OPS[node.op], f"{function}.{node.name}"
        if row.draw is not None:
            self.raise_trap(node_name, effects.draw_trap_message(row, inputs, node.attributes))
            return effects.draw_values(row, draw_key(self.seed, name_key(node_name), key), inputs, node.attributes)
        match node.op:
            case "print":
                self.world.print(format_text(node.attribute("text"), inputs))
                return True
            case "callback":
                try:
                    return self.world.call(node.attribute("function"), inputs, node.attribute("returns"))
                except CallbackError as failed:
                    self.raise_trap(node_name, str(failed))
            case "breakpoint":
                return inputs[0]
        return self.evaluate_cell_op(node, inputs, node_name)

    def evaluate_cell_op(self, node: Node, inputs: Values, node_name: str) -> Value:
        """S13, for cells that are put before they are read."""
        if node.op == "cells":
            self.raise_trap(node_name, effects.size_trap_message(inputs[0]))  # type: ignore[arg-type]
            handle = Handle(len(self.cells), ROOT, inputs[0], node.results[0].type.dtype)  # type: ignore[arg-type]
            self.cells[handle] = {}
            return handle
        handle, *operands = inputs  # type: ignore[assignment]
        if node.op == "cell_zeros":
            return effects.build_zeros(handle, element_type(Type(handle.dtype)))
        values_by_index = self.cells[handle]
        if node.op == "collect":
            if len(values_by_index) < handle.size:
                raise _EmptyCellRead
            values = [values_by_index[index] for index in range(handle.size)]
            self.raise_trap(node_name, effects.shapes_trap_message(values))
            return effects.stack_values(values, element_type(Type(handle.dtype)))
        index: Any = operands[0]
        self.raise_trap(node_name, effects.index_trap_message(handle, index))
        if node.op == "get":
            if index not in values_by_index:
                raise _EmptyCellRead
            return values_by_index[index]
        self.raise_trap(node_name, effects.second_put_trap_message(index) if index in values_by_index else None)
        values_by_index[index] = operands[1]
        return handle

    def raise_trap(self, node_name: str, message: str | None) -> None:
        if message is not None:
            raise _TrapRaised((node_name, message))
