"""Writes programs for other systems: loops of every shape, conds, calls, and dead code, from a seed.

Patterns that optimisers recognise are frequent: counters with other steps than 1, starts past the bound, operands
either way round, invariant, swapped, duplicated and unused loop variables, constant conditions, results yielded twice.
Programs may run without end: a program that does not end within the limits of the reference is not compared. Numbers
are small and whole, so that sums and products are exact and no predicate depends on rounding; `edge_programs` writes
the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

import numpy as np

from ...core import dtypes
from ...core.ops.op import Attributes
from ...core.program.program import FunctionDef, Node, Operand, Program, Region, Var
from ...core.types import Type
from ...core.value import Literal, Value, admit
from .edge_programs import write_edge_program
from .protocol import ALL_CAPABILITIES, Capabilities

BOOL, INT32, INT64 = Type(dtypes.bool), Type(dtypes.int32), Type(dtypes.int64)
FLOAT, VECTOR = Type(dtypes.float64), Type(dtypes.float64, (3,))
COLUMN, GROWING = Type(dtypes.float64, (2, 1)), Type(dtypes.float64, (None,))
"""A matrix of one column, and a vector whose size may change in a loop. Only a loop variable is `GROWING`: some targets
need all sizes before the run, and refuse it."""
VALUE_TYPES = (INT64, INT64, INT32, FLOAT, FLOAT, VECTOR, COLUMN, BOOL)
GROWING_SHARE = 0.04
"""The share of loops with a variable whose size changes."""
COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "not_equal")
MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}
"""The comparison that means the same with its operands exchanged; the others are symmetric."""
VARIABLE_KINDS = ("accumulator", "accumulator", "invariant", "constant", "swapped", "unused", "copy")
"""The kinds of loop variables beside the counter and its bound: one that is computed from others, one that stays, one
that becomes a constant, two that are exchanged, one that is not used, and two with one start."""
NUMBERS = (0, 1, 2, 3, 5, 7, -0.0, -1, -2, -7)
"""The numbers of literals; in floats zero has a sign."""
DIVISORS = (2, 3, 5, -2, -3)
STEPS = (1, 1, 2, 3, 5, -1)
QUOTIENT_OPS = ("floor_divide", "remainder")
NUMBER_OPS = ("add", "add", "subtract", "multiply", "minimum", "maximum", "where", "negative")
MAX_DEPTH, MAX_LOOPS, MAX_NODES = 3, 4, 50
SEQUENCE_VERSION = 2
"""The version of the sequences of programs: it changes if a seed gives other programs."""
EDGE_INTERVAL = 5
"""Of this many programs in a row, one computes with edge values."""


class FuzzCase(NamedTuple):
    """A program and its arguments."""

    program: Program
    arguments: tuple[Value, ...]


@dataclass
class RegionDraft:
    """A region that is being written: its nodes so far, and the types of the values in scope, in order."""

    nodes: list[Node] = field(default_factory=list)
    scope: dict[str, Type] = field(default_factory=dict)


class FuzzWriter:
    """Writes one program of features that a backend supports. `random` makes every decision."""

    def __init__(self, random: Random, capabilities: Capabilities = ALL_CAPABILITIES) -> None:
        self.random = random
        self.has_calls, self.has_conds = map(capabilities.supports, ("call", "cond"))
        self.types, self.counters, self.compared_types = (
            tuple(filter(capabilities.supports_type, types)) or types[:1]
            for types in (VALUE_TYPES, (INT64, INT32), (INT64, INT32, FLOAT))
        )
        self.number_ops, self.quotient_ops = (
            tuple(filter(capabilities.supports_op, ops)) or ops for ops in (NUMBER_OPS, QUOTIENT_OPS)
        )
        self.has_growing_arrays = capabilities.supports_type(GROWING)
        has_loops = capabilities.supports("while_loop") and any(map(capabilities.supports_type, (INT64, INT32)))
        self.count, self.loops_left, self.nodes_left = 0, MAX_LOOPS if has_loops else 0, MAX_NODES
        self.helpers: list[FunctionDef] = []

    def write_case(self) -> FuzzCase:
        """A program whose main takes up to three parameters, and arguments for it."""
        if self.has_calls and self.random.random() < 0.4:
            self.helpers.append(self.write_function("helper", 4))
        main = self.write_function("main", 8)
        arguments = tuple(self.number(parameter.type) for parameter in main.body.parameters)
        return FuzzCase(Program((main, *self.helpers), "main"), arguments)

    def write_function(self, name: str, statements: int) -> FunctionDef:
        parameters = tuple(
            Var(self.fresh_name("x"), self.random.choice(self.types)) for _ in range(self.random.randint(0, 3))
        )
        draft = RegionDraft(scope={parameter.name: parameter.type for parameter in parameters})
        self.write_statements(draft, 0, self.random.randint(2, statements))
        results = self.pick_results(draft, self.random.randint(1, 3))
        types = tuple(draft.scope[result] if isinstance(result, str) else result.type for result in results)
        return FunctionDef(name, Region(parameters, tuple(draft.nodes), results), types)

    def pick_results(self, draft: RegionDraft, count: int) -> tuple[Operand, ...]:
        """Values of the scope, mostly recent ones; one may occur twice."""
        names = list(draft.scope)
        if not names:
            return (self.literal(INT64),)
        recent = names[-6:]
        return tuple(self.random.choice(recent if self.random.random() < 0.7 else names) for _ in range(count))

    def fresh_name(self, base: str) -> str:
        self.count += 1
        return f"{base}{self.count}"

    def number(self, type_: Type) -> Value:
        """A small whole number of a type."""
        if type_.dtype.kind == "b":
            return self.random.random() < 0.5
        shape = tuple(2 if size is None else size for size in type_.shape or ())
        numbers = [self.random.choice(NUMBERS) for _ in range(math.prod(shape))]
        return admit(np.array(numbers, type_.dtype.numpy).reshape([size or 0 for size in shape]))

    def literal(self, type_: Type) -> Literal:
        return Literal(self.number(type_), type_)

    def operand(self, draft: RegionDraft, type_: Type, literal_share: float = 0.25) -> Operand:
        """A value of this type: a recent one, mostly, or a literal."""
        names = [name for name, candidate_type in draft.scope.items() if candidate_type == type_]
        if not names or self.random.random() < literal_share:
            return self.literal(type_)
        return self.random.choice(names[-3:] if self.random.random() < 0.6 else names)

    def emit(
        self, draft: RegionDraft, op: str, inputs: Sequence[Operand], type_: Type, attributes: Attributes = ()
    ) -> str:
        """Append a node of an op; returns the name of its result."""
        result = Var(self.fresh_name("v"), type_)
        draft.nodes.append(Node(op, tuple(inputs), (result,), attributes=attributes))
        draft.scope[result.name] = type_
        self.nodes_left -= 1
        return result.name

    def write_statements(self, draft: RegionDraft, depth: int, count: int) -> None:
        for _ in range(count):
            if self.nodes_left <= 0:
                return
            chance = self.random.random()
            if depth < MAX_DEPTH and self.loops_left and chance < 0.3:
                self.write_loop(draft, depth)
            elif depth < MAX_DEPTH and self.has_conds and chance < 0.45:
                self.write_cond(draft, depth)
            elif self.helpers and chance < 0.6:
                self.write_call(draft)
            else:
                self.write_op(draft)

    def write_op(self, draft: RegionDraft) -> None:
        type_ = self.random.choice(self.types)
        if type_ is BOOL:
            self.write_predicate(draft)
        elif type_.dtype.is_integer and self.random.random() < 0.25:
            divisor = Literal(admit(self.random.choice(DIVISORS), type_), type_)
            op = self.random.choice(self.quotient_ops)
            self.emit(draft, op, (self.dividend(draft, type_), divisor), type_)
        elif type_.shape and self.random.random() < 0.3:
            self.write_reshape(draft, type_, self.operand(draft, type_, 0.1))
        else:
            op = self.random.choice(self.number_ops)
            operands = [self.operand(draft, type_) for _ in range(1 if op == "negative" else 2)]
            self.emit(draft, op, [self.operand(draft, BOOL)] * (op == "where") + operands, type_)

    def dividend(self, draft: RegionDraft, type_: Type) -> Operand:
        """A value to divide; half of them are subtracted from a number, since systems round negative quotients in
        different ways."""
        operand = self.operand(draft, type_, 0.1)
        if self.random.random() < 0.5:
            return operand
        return self.emit(draft, "subtract", (self.literal(type_), operand), type_)

    def write_reshape(self, draft: RegionDraft, type_: Type, operand: Operand) -> Operand:
        """A reshape to the same shape with one size left open, mostly combined with the value itself."""
        shape = (-1, *(type_.shape or ())[1:])
        reshaped = self.emit(draft, "reshape", (operand,), type_, (("shape", shape),))
        if self.random.random() > 0.7:
            return reshaped
        pair = (operand, reshaped) if self.random.random() < 0.5 else (reshaped, operand)
        return self.emit(draft, self.random.choice(NUMBER_OPS[:6]), pair, type_)

    def write_predicate(self, draft: RegionDraft) -> Operand:
        """A comparison of data, or a constant."""
        if self.random.random() < 0.1:
            return self.literal(BOOL)
        type_ = self.random.choice(self.compared_types)
        operands = (self.operand(draft, type_), self.operand(draft, type_))
        return self.emit(draft, self.random.choice((*COMPARISONS, "equal")), operands, BOOL)

    def write_call(self, draft: RegionDraft) -> None:
        helper = self.random.choice(self.helpers)
        inputs = tuple(self.operand(draft, parameter.type) for parameter in helper.body.parameters)
        self.append_structured(draft, Node("call", inputs, (), attributes=(("function", helper.name),)), helper.results)

    def append_structured(self, draft: RegionDraft, node: Node, types: Sequence[Type]) -> None:
        """Append a node with new results of these types."""
        results = tuple(Var(self.fresh_name("r"), type_) for type_ in types)
        draft.nodes.append(Node(node.op, node.inputs, results, node.regions, node.attributes))
        draft.scope.update((result.name, result.type) for result in results)
        self.nodes_left -= 1

    def write_cond(self, draft: RegionDraft, depth: int) -> None:
        predicate = self.write_predicate(draft)
        names = list(draft.scope)
        captured_names = self.random.sample(names, min(len(names), self.random.randint(0, 4)))
        types = [self.random.choice(self.types) for _ in range(self.random.randint(1, 2))]
        if self.random.random() < 0.15:
            types.append(types[0])
        regions = []
        for _ in range(2):
            parameters = tuple(Var(self.fresh_name("p"), draft.scope[name]) for name in captured_names)
            branch = RegionDraft(scope={parameter.name: parameter.type for parameter in parameters})
            self.write_statements(branch, depth + 1, self.random.randint(0, 3))
            results = tuple(self.operand(branch, type_, 0.1) for type_ in types)
            if len(types) > 1 and types[-1] == types[0] and self.random.random() < 0.5:
                results = (*results[:-1], results[0])
            regions.append(Region(parameters, tuple(branch.nodes), results))
        self.append_structured(draft, Node("cond", (predicate, *captured_names), (), tuple(regions)), types)

    def write_loop(self, draft: RegionDraft, depth: int) -> None:
        """A loop over a counter, with more variables of several kinds in any order; its body may contain anything."""
        self.loops_left -= 1
        counter = self.random.choice(self.counters)
        step = self.random.choice(STEPS)
        bound = self.random.randint(-2, 8)
        start = bound - step * self.random.randint(0, 4) + self.random.choice((0, 0, 0, 1, 2, -1))
        comparison = self.random.choice(COMPARISONS[:2] if step > 0 else COMPARISONS[2:4])
        comparison = "not_equal" if self.random.random() < 0.1 else comparison
        variables: list[tuple[Operand, Type, str]] = [(self.bound(draft, start, counter), counter, "counter")]
        dynamic_bound = self.random.random() < 0.3
        if dynamic_bound:
            variables.append((self.bound(draft, bound, counter), counter, "bound"))
        for _ in range(self.random.randint(0, 4)):
            kind = self.random.choice(VARIABLE_KINDS)
            type_ = self.random.choice(self.types)
            first = self.operand(draft, type_, 0.1 if depth else 0.4)
            variables.append((first, type_, kind))
            if kind == "swapped":
                variables.append((self.operand(draft, type_, 0.4), type_, kind))
            if kind == "copy":
                variables.append((first, type_, "accumulator"))
        if self.random.random() < GROWING_SHARE and self.has_growing_arrays:
            variables.append((self.literal(VECTOR), GROWING, "growing"))
        self.random.shuffle(variables)
        self.append_loop(draft, depth, variables, comparison, step, None if dynamic_bound else bound)

    def bound(self, draft: RegionDraft, number: int, type_: Type) -> Operand:
        """A start or a bound: a literal mostly, the sum of two, or a value."""
        chance = self.random.random()
        literal = Literal(admit(number, type_), type_)
        if chance < 0.7:
            return literal
        if chance < 0.85:
            part = self.random.randint(-3, 3)
            parts = [Literal(admit(value, type_), type_) for value in (number - part, part)]
            return self.emit(draft, "add", parts, type_)
        return self.operand(draft, type_, 0.0)

    def append_loop(
        self,
        draft: RegionDraft,
        depth: int,
        variables: Sequence[tuple[Operand, Type, str]],
        comparison: str,
        step: int,
        bound: int | None,
    ) -> None:
        """The node of a loop with these variables: start, type and kind of each."""
        kinds = [kind for _, _, kind in variables]
        types = [type_ for _, type_, _ in variables]
        regions = self.write_condition(kinds, types, comparison, bound), self.write_body(kinds, types, step, depth)
        starts = tuple(start for start, _, _ in variables)
        self.append_structured(draft, Node("while_loop", starts, (), regions), types)

    def write_condition(
        self, kinds: Sequence[str], types: Sequence[Type], comparison: str, bound: int | None
    ) -> Region:
        """The condition of a loop: a comparison of the counter with a bound, or with the variable that is one, and
        sometimes another predicate."""
        counter, condition = kinds.index("counter"), RegionDraft()
        parameters = self.loop_parameters(condition, "w", types)
        limit: Operand = (
            parameters[kinds.index("bound")].name
            if bound is None
            else Literal(admit(bound, types[counter]), types[counter])
        )
        pair: tuple[Operand, Operand] = (parameters[counter].name, limit)
        if self.random.random() < 0.3:
            comparison, pair = MIRRORED.get(comparison, comparison), (pair[1], pair[0])
        predicate: Operand = self.emit(condition, comparison, pair, BOOL)
        if self.random.random() < 0.15:
            predicate = self.emit(condition, "logical_and", (predicate, self.write_predicate(condition)), BOOL)
        return Region(parameters, tuple(condition.nodes), (predicate,))

    def write_body(self, kinds: Sequence[str], types: Sequence[Type], step: int, depth: int) -> Region:
        """The body of a loop: statements, and the next value of each variable, by its kind."""
        counter, body = kinds.index("counter"), RegionDraft()
        parameters = self.loop_parameters(body, "b", types)
        self.write_statements(body, depth + 1, self.random.randint(0, 3))
        amount = Literal(admit(abs(step), types[counter]), types[counter])
        op = "add" if step > 0 else "subtract"
        operands: tuple[Operand, Operand] = (parameters[counter].name, amount)
        if op == "add" and self.random.random() < 0.3:
            operands = (operands[1], operands[0])
        next_counter = self.emit(body, op, operands, types[counter])
        swapped_positions = [position for position, kind in enumerate(kinds) if kind == "swapped"]
        results: list[Operand] = []
        for position, (kind, type_) in enumerate(zip(kinds, types, strict=True)):
            match kind:
                case "counter":
                    results.append(next_counter)
                case "constant":
                    results.append(self.literal(type_))
                case "accumulator" | "copy" if type_.shape and self.random.random() < 0.25:
                    results.append(self.write_reshape(body, type_, parameters[position].name))
                case "accumulator" | "copy":
                    results.append(self.operand(body, type_, 0.05))
                case "growing":
                    parts: list[Operand] = [parameters[position].name, self.literal(VECTOR)]
                    self.random.shuffle(parts)
                    results.append(self.emit(body, "concat", parts, type_, (("axis", 0),)))
                case "swapped":
                    partners = [
                        partner for partner in swapped_positions if types[partner] == type_ and partner != position
                    ]
                    results.append(parameters[self.random.choice(partners)].name)
                case _:
                    results.append(parameters[position].name)
        return Region(parameters, tuple(body.nodes), tuple(results))

    def loop_parameters(self, draft: RegionDraft, prefix: str, types: Sequence[Type]) -> tuple[Var, ...]:
        """New parameters of a region of a loop, which its statements may use."""
        parameters = tuple(Var(self.fresh_name(prefix), type_) for type_ in types)
        draft.scope.update((parameter.name, parameter.type) for parameter in parameters)
        return parameters


def generate_case(seed: int, number: int, capabilities: Capabilities = ALL_CAPABILITIES) -> FuzzCase:
    """The program of this number in the sequence of a seed, of the dtypes and constructs that a backend supports. One
    in five is of edge values; all others are exact."""
    random = Random(f"{seed}:{number}")
    if number % EDGE_INTERVAL == EDGE_INTERVAL // 2:
        return FuzzCase(*write_edge_program(random, capabilities))
    return FuzzWriter(random, capabilities).write_case()
