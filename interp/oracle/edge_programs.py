"""Writes programs of few ops on edge values: zeros with either sign, NaN, infinities, denormals, the ends of ranges.

The ops stand in a row, in a branch of a cond, or in the body of a loop; operands are literals, which an optimiser
computes with, or parameters. The operands of some ops are all of one group of the policy, such as MIN and -1. Ops that
systems round in different ways are left out, so no result needs a window.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from random import Random

import numpy as np

from ...core import dtypes
from ...core.dtypes import DType
from ...core.program.program import FunctionDef, Node, Operand, Program, Region, Var
from ...core.types import Type
from ...core.value import Literal, Value, admit
from .policy import window_of
from .protocol import ALL_CAPABILITIES, Capabilities
from .sweep import TRAP, OpSample, edge_values, op_samples, operand_groups

COMMON_DTYPES = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)
"""The dtypes that every system has kernels for; four in five programs begin with one of them."""
GENERATED_DTYPES = tuple(dtype for dtype in dtypes.ALL if dtype not in dtypes.FLOAT_FORMATS)
"""The dtypes of programs: not the floats of 16 bits, whose intermediate results compilers keep in a precision of their
own."""
BOOL, COUNTER = Type(dtypes.bool), Type(dtypes.int64)
EDGE_FLOATS = (0.0, -0.0, 0.5, 1.0, -1.0, np.nan, np.inf, -np.inf)
MAX_OPS, MAX_ITERATIONS = 3, 2
GROUP_SHARE = 0.25
"""The share of ops whose operands are of one group of the policy."""


@cache
def exact_samples() -> dict[DType, dict[str, list[OpSample]]]:
    """The ops that compute element by element and have no window, by the dtype of their last operand and by name."""
    samples: dict[DType, dict[str, list[OpSample]]] = {dtype: defaultdict(list) for dtype in GENERATED_DTYPES}
    for sample in op_samples(value_dtypes=GENERATED_DTYPES):
        if sample.row.scalar is not None and not window_of(sample.row.name, list(map(Type, sample.operand_dtypes))):
            samples[sample.operand_dtypes[-1]][sample.row.name].append(sample)
    return samples


@cache
def sample_groups(sample: OpSample) -> list[list[tuple[Value, ...]]]:
    """The operands of an op on which it does not trap, by the group of the policy."""
    return [operand_tuples for group, operand_tuples in operand_groups(sample).items() if group != TRAP]


@cache
def supported_samples(capabilities: Capabilities) -> dict[DType, list[list[OpSample]]]:
    """The samples that a backend supports, by the dtype of the last operand, in a list for each op; all samples if it
    supports none."""

    def is_supported(sample: OpSample) -> bool:
        types = [*map(Type, sample.operand_dtypes), sample_result(sample)]
        return capabilities.supports_op(sample.row.name) and all(map(capabilities.supports_type, types))

    samples = {
        dtype: [
            supported_group
            for alternatives in by_name.values()
            if (supported_group := list(filter(is_supported, alternatives)))
        ]
        for dtype, by_name in exact_samples().items()
    }
    return {dtype: alternatives for dtype, alternatives in samples.items() if alternatives} or supported_samples(
        ALL_CAPABILITIES
    )


def sample_result(sample: OpSample) -> Type:
    """The type of the result of an op on scalars."""
    return sample.row.type_rule(*map(Type, sample.operand_dtypes), **dict(sample.attributes))


def write_edge_program(
    random: Random, capabilities: Capabilities = ALL_CAPABILITIES
) -> tuple[Program, tuple[Value, ...]]:
    """A program of up to three ops on edge values that a backend supports, and its arguments."""
    return _EdgeWriter(random, capabilities).write()


class _EdgeWriter:
    """Writes one program, whose values are scalars, or vectors of three elements."""

    def __init__(self, random: Random, capabilities: Capabilities) -> None:
        self.random, self.samples = random, supported_samples(capabilities)
        self.shape: tuple[int, ...] = random.choice(((), (3,)) if capabilities.supports("arrays") else ((),))
        self.places = [self.place_in_main]
        if capabilities.supports("cond"):
            self.places.append(self.place_in_branch)
        if capabilities.supports("while_loop") and capabilities.supports_type(COUNTER):
            self.places.append(self.place_in_loop)
        self.parameters: list[Var] = []
        self.arguments: list[Value] = []
        self.nodes: list[Node] = []

    def write(self) -> tuple[Program, tuple[Value, ...]]:
        common = [dtype for dtype in COMMON_DTYPES if dtype in self.samples]
        dtype = self.random.choice(common if common and self.random.random() < 0.8 else list(self.samples))
        for _ in range(self.random.randint(1, MAX_OPS)):
            dtype = self.write_op(dtype)
        results = tuple(result for node in self.nodes for result in node.results)
        region = Region(tuple(self.parameters), tuple(self.nodes), tuple(result.name for result in results))
        body = self.random.choice(self.places)(region, results)
        main = FunctionDef("main", body, tuple(result.type for result in results))
        return Program((main,), "main"), tuple(self.arguments)

    def write_op(self, dtype: DType) -> DType:
        """Append a node of an op on values of a dtype; returns the dtype of its result."""
        sample = self.random.choice(self.random.choice(self.samples.get(dtype) or next(iter(self.samples.values()))))
        types = [Type(operand_dtype, self.shape) for operand_dtype in sample.operand_dtypes]
        result = Var(f"v{len(self.nodes)}", sample.row.type_rule(*types, **dict(sample.attributes)))
        is_grouped = self.random.random() < GROUP_SHARE
        inputs = self.grouped_operands(sample, types) if is_grouped else tuple(map(self.operand, types))
        self.nodes.append(Node(sample.row.name, inputs, (result,), attributes=sample.attributes))
        return result.type.dtype

    def operand(self, type_: Type) -> Operand:
        """An earlier result of this type, a literal, or a new parameter."""
        names = [result.name for node in self.nodes for result in node.results if result.type == type_]
        if names and self.random.random() < 0.5:
            return self.random.choice(names)
        return self.source(type_, self.edge_value(type_))

    def grouped_operands(self, sample: OpSample, types: Sequence[Type]) -> tuple[Operand, ...]:
        """Operands whose elements are all of one group of the policy."""
        operand_tuples = self.random.choice(sample_groups(sample))
        rows = [self.random.choice(operand_tuples) for _ in range(3)]
        columns = zip(*rows, strict=True)
        return tuple(
            self.source(type_, shape_value(type_, column)) for type_, column in zip(types, columns, strict=True)
        )

    def source(self, type_: Type, value: Value) -> Operand:
        """A value as a literal, or as the argument of a new parameter."""
        return Literal(value, type_) if self.random.random() < 0.5 else self.parameter(type_, value)

    def parameter(self, type_: Type, argument: Value) -> str:
        """The name of a new parameter."""
        self.parameters.append(Var(f"x{len(self.parameters)}", type_))
        self.arguments.append(argument)
        return self.parameters[-1].name

    def edge_value(self, type_: Type) -> Value:
        """A value of this type; half of its elements are those at which most rules have an exception."""
        dtype = type_.dtype
        edges = edge_values(dtype)
        common_values = edges[:2] if dtype.kind == "b" else EDGE_FLOATS if dtype.kind == "f" else (0, 1, *dtype.range)
        elements = [self.random.choice(common_values if self.random.random() < 0.5 else edges) for _ in range(3)]
        return shape_value(type_, elements)

    def place_in_main(self, region: Region, results: Sequence[Var]) -> Region:
        """The region as the body of main."""
        return region

    def place_in_branch(self, region: Region, results: Sequence[Var]) -> Region:
        """The region as a branch that is taken; the other one yields zeros. The predicate is a constant, or a
        parameter."""
        is_first = self.random.random() < 0.5
        predicate = Literal(is_first, BOOL) if self.random.random() < 0.5 else self.parameter(BOOL, is_first)
        zeros = Region(region.parameters, (), tuple(map(zero, results)))
        branches = (region, zeros) if is_first else (zeros, region)
        operands = tuple(parameter.name for parameter in region.parameters)
        return self.enclose(Node("cond", (predicate, *operands), (), branches), results)

    def place_in_loop(self, region: Region, results: Sequence[Var]) -> Region:
        """The region as the body of a loop of one or two iterations, which has its results as variables."""
        iterations = Literal(self.random.randint(1, MAX_ITERATIONS), COUNTER)

        def variables(letter: str) -> tuple[Var, ...]:
            return (Var(letter, COUNTER), *prefix_names(letter, results))

        has_next = Node("less", ("k", iterations), (Var("more", BOOL),))
        condition = Region((*variables("k"), *prefix_names("w", region.parameters)), (has_next,), ("more",))
        successor = Node("add", ("b", Literal(1, COUNTER)), (Var("next", COUNTER),))
        body = Region(
            (*variables("b"), *region.parameters),
            (*region.nodes, successor),
            ("next", *region.results, *(parameter.name for parameter in region.parameters)),
        )
        starts: tuple[Operand, ...] = (
            Literal(0, COUNTER),
            *map(zero, results),
            *(parameter.name for parameter in region.parameters),
        )
        loop = Node("while_loop", starts, (Var("r", COUNTER),), (condition, body))
        return self.enclose(loop, results, prefix_names("r", region.parameters))

    def enclose(self, node: Node, results: Sequence[Var], unused_results: Sequence[Var] = ()) -> Region:
        """The region of main: a structured node; main returns its results of these types, and others are unused."""
        outer = prefix_names("r", results)
        structured = Node(node.op, node.inputs, (*node.results, *outer, *unused_results), node.regions)
        return Region(tuple(self.parameters), (structured,), tuple(result.name for result in outer))


def shape_value(type_: Type, elements: Sequence[object]) -> Value:
    """The value of a type with these elements; a scalar is the first one."""
    array = np.array(elements, type_.dtype.numpy)
    return admit(array if type_.shape else array[0])


def prefix_names(prefix: str, variables: Sequence[Var]) -> tuple[Var, ...]:
    """Variables of the same types whose names begin with a prefix."""
    return tuple(Var(f"{prefix}_{variable.name}", variable.type) for variable in variables)


def zero(variable: Var) -> Literal:
    """The literal of a variable's type whose elements are all 0."""
    array = np.zeros([size or 0 for size in variable.type.shape or ()], variable.type.dtype.numpy)
    return Literal(admit(array), variable.type)
