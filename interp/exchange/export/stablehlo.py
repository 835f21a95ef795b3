"""Programs as StableHLO text: conds are `stablehlo.if`, loops `stablehlo.while`, and functions `func.func`.

StableHLO has static shapes, no promotion and no broadcasting: this target broadcasts operands where the reference does.
Regions see the values around them, so the operands of a cond are captured.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....core import dtypes
from ....core.dtypes import DType
from ....core.ops.indexing import parse_key
from ....core.program.program import Program, UniqueNames, Var
from ....core.types import Type
from ....core.value import Literal
from .compose import compose, compositions, evaluate_entry, spread_key
from .walker import BoundRegion, OpUse, Refusal, Regions, Scopes, export

INDENT = "  "
SPECIAL_SYNTAX = frozenset({"bitcast_convert", "convert", "dot_general", "reshape", "select"})
"""Operations whose short form differs from the form of elementwise operations. They are written in MLIR's general
form."""


def to_stablehlo(program: Program) -> str:
    """The text of a module whose function `main` computes a program. Raises Refusal if StableHLO cannot express it."""
    target = StableHloTarget(program)
    export(program, target, recursion=False)
    lines = ["module {", *(INDENT + line for function in target.functions for line in function), "}"]
    return "\n".join(lines) + "\n"


class SsaValue(NamedTuple):
    """A value of the module: its name, with the `%`, and its type."""

    name: str
    type: Type

    @property
    def sizes(self) -> tuple[int, ...]:
        return static_shape(self.type)


def static_shape(type_: Type) -> tuple[int, ...]:
    """The shape of a type; raises Refusal if a size is known at run time only."""
    if type_.shape is None or None in type_.shape:
        raise Refusal("shape", f"StableHLO needs sizes before the run, and {type_} has some at run time")
    return tuple(size for size in type_.shape if size is not None)


def element_text(dtype: DType) -> str:
    """A dtype in MLIR.

    >>> [element_text(each) for each in (dtypes.bool, dtypes.int8, dtypes.uint16, dtypes.float32, dtypes.bfloat16)]
    ['i1', 'i8', 'ui16', 'f32', 'bf16']
    """
    if dtype is dtypes.bfloat16:
        return "bf16"
    return "i1" if dtype.kind == "b" else f"{ {'i': 'i', 'u': 'ui', 'f': 'f'}[dtype.kind] }{dtype.bits}"


def type_text(type_: Type) -> str:
    """A type in MLIR.

    >>> type_text(Type(dtypes.float64, (2, 3))), type_text(Type(dtypes.bool))
    ('tensor<2x3xf64>', 'tensor<i1>')
    """
    return f"tensor<{''.join(f'{size}x' for size in static_shape(type_))}{element_text(type_.dtype)}>"


def dense_text(value: Any, type_: Type) -> str:
    """An array as an attribute in MLIR, bit for bit.

    >>> print(dense_text([1.5, -0.0, math.inf], Type(dtypes.float64, (3,))))
    dense<[1.5, -0.0, 0x7FF0000000000000]> : tensor<3xf64>
    """
    array = np.asarray(value, type_.dtype.numpy)

    def element(number: Any) -> str:
        if type_.dtype.kind == "b":
            return "true" if number else "false"
        text = repr(number.item())
        if type_.dtype.is_integer or (math.isfinite(number) and "e" not in text):
            return text
        return f"0x{number.view(f'u{number.itemsize}').item():0{2 * number.itemsize}X}"

    def nested(part: Any) -> str:
        return f"[{', '.join(map(nested, part))}]" if np.ndim(part) else element(part)

    return f"dense<{nested(array) if array.size else ''}> : {type_text(type_)}"


class StableHloTarget:
    """Writes lines of text. A value is its name with its type."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.table = compositions("stablehlo")
        self.names = UniqueNames([""])
        self.functions: list[list[str]] = []
        self.function_names = UniqueNames(["main"])
        self.symbols = {program.entry: "main"}
        self.scopes = Scopes[str]()

    def fresh_name(self, base: str) -> str:
        """A new name in MLIR."""
        word = "".join(letter if letter.isascii() and (letter.isalnum() or letter == "_") else "_" for letter in base)
        return "%" + self.names.fresh_name(word if not word[:1].isdigit() else f"_{word}")

    def symbol(self, function: str) -> str:
        """The name of a function in the module, in quotes unless it is a plain word."""
        if function not in self.symbols:
            name = self.function_names.fresh_name(function)
            self.symbols[function] = name if name.isascii() and name.isidentifier() else json.dumps(name)
        return self.symbols[function]

    def line(self, text: str) -> None:
        """Append a line to the current scope."""
        self.scopes.append(text)

    def emit(
        self, operation: str, operands: Sequence[SsaValue], result: Type, base: str, attributes: str = ""
    ) -> SsaValue:
        """Append an operation with one result."""
        name = self.fresh_name(base)
        names = ", ".join(operand.name for operand in operands)
        if not attributes and operation not in SPECIAL_SYNTAX and all(operand.type == result for operand in operands):
            self.line(f"{name} = stablehlo.{operation} {names} : {type_text(result)}")
        else:
            types = ", ".join(type_text(operand.type) for operand in operands)
            braces = f" {{{attributes}}}" if attributes else ""
            self.line(f'{name} = "stablehlo.{operation}"({names}){braces} : ({types}) -> {type_text(result)}')
        return SsaValue(name, result)

    def constant_of(self, value: Any, type_: Type) -> SsaValue:
        """A constant."""
        name = self.fresh_name("c")
        self.line(f"{name} = stablehlo.constant {dense_text(value, type_)}")
        return SsaValue(name, type_)

    def constant(self, literal: Literal) -> SsaValue:
        return self.constant_of(literal.value, literal.type)

    def cast(self, operand: SsaValue, source: Type, dtype: DType) -> SsaValue:
        return self.emit("convert", [operand], Type(dtype, operand.sizes), f"{operand.name[1:]}_{dtype!r}")

    def broadcast(self, operand: SsaValue, sizes: tuple[int, ...]) -> SsaValue:
        """An operand in a larger shape, as NumPy broadcasts it."""
        if operand.sizes == sizes:
            return operand
        dimensions = range(len(sizes) - len(operand.sizes), len(sizes))
        attribute = f"broadcast_dimensions = {int_array(dimensions)}"
        result = Type(operand.type.dtype, sizes)
        return self.emit("broadcast_in_dim", [operand], result, operand.name[1:], attribute)

    def op(self, use: OpUse, operands: Sequence[SsaValue]) -> SsaValue:
        for operand in operands:
            static_shape(operand.type)
        static_shape(use.result.type)
        composer = StableHloComposer(self, use)
        result = evaluate_entry(compose(self.table, use), composer.values(operands), composer.apply)
        assert isinstance(result, SsaValue)
        return result

    def cond(
        self, results: Sequence[Var], predicate: SsaValue, operands: Sequence[SsaValue], branches: Regions
    ) -> list[SsaValue]:
        blocks = [self.block([], branch.write, operands) for branch in branches]
        return self.append_regions("if", [predicate], results, blocks)

    def loop(self, results: Sequence[Var], starts: Sequence[SsaValue], regions: Regions) -> list[SsaValue]:
        blocks = []
        for region in regions:
            parameters = [SsaValue(self.fresh_name(parameter.name), parameter.type) for parameter in region.parameters]
            blocks.append(self.block(parameters, region.write, parameters))
        return self.append_regions("while", starts, results, blocks)

    def block(
        self,
        parameters: Sequence[SsaValue],
        write: Callable[[Sequence[SsaValue]], Sequence[SsaValue]],
        arguments: Sequence[SsaValue],
    ) -> list[str]:
        """The lines of a region: `write` appends its operations for these arguments, and returns their results."""
        with self.scopes.open() as lines:
            results = write(arguments)
            names, types = names_and_types(results)
            self.line(f'"stablehlo.return"({names}) : ({types}) -> ()')
        head = ", ".join(f"{parameter.name}: {type_text(parameter.type)}" for parameter in parameters)
        return [*([f"^block({head}):"] if parameters else []), *(INDENT + line for line in lines)]

    def append_regions(
        self,
        operation: str,
        operands: Sequence[SsaValue],
        results: Sequence[Var],
        blocks: Sequence[list[str]],
        attributes: str = "",
    ) -> list[SsaValue]:
        """Append an operation with regions; its results have the types of `results`."""
        names, types = names_and_types(operands)
        left_side, values = self.result_values(results)
        self.line(f'{left_side} = "stablehlo.{operation}"({names}) ({{')
        for number, block in enumerate(blocks):
            if number:
                self.line("}, {")
            for line in block:
                self.line(INDENT + line)
        braces = f" {{{attributes}}}" if attributes else ""
        self.line(f"}}){braces} : ({types}) -> ({', '.join(type_text(result.type) for result in results)})")
        return values

    def result_values(self, results: Sequence[Var]) -> tuple[str, list[SsaValue]]:
        """The left side of an operation with these results, and its values."""
        name = self.fresh_name(results[0].name)
        if len(results) == 1:
            return name, [SsaValue(name, results[0].type)]
        values = [SsaValue(f"{name}#{position}", result.type) for position, result in enumerate(results)]
        return f"{name}:{len(results)}", values

    def call(self, results: Sequence[Var], function: str, operands: Sequence[SsaValue]) -> list[SsaValue]:
        names, types = names_and_types(operands)
        outputs = ", ".join(type_text(result.type) for result in results)
        left_side, values = self.result_values(results)
        self.line(f"{left_side} = func.call @{self.symbol(function)}({names}) : ({types}) -> ({outputs})")
        return values

    def function(self, name: str, body: BoundRegion) -> None:
        parameters = [SsaValue(self.fresh_name(parameter.name), parameter.type) for parameter in body.parameters]
        with self.scopes.open() as lines:
            results = body.write(parameters)
            names, types = names_and_types(results)
            self.line(f"return {names} : {types}")
        head = ", ".join(f"{parameter.name}: {type_text(parameter.type)}" for parameter in parameters)
        visibility = "public" if name == self.program.entry else "private"
        first = f"func.func {visibility} @{self.symbol(name)}({head}) -> ({types}) {{"
        self.functions.append([first, *(INDENT + line for line in lines), "}"])


def names_and_types(values: Sequence[SsaValue]) -> tuple[str, str]:
    """The names of values and their types, each separated by commas."""
    return ", ".join(value.name for value in values), ", ".join(type_text(value.type) for value in values)


def int_array(numbers: Sequence[int]) -> str:
    """Integers as an attribute in MLIR.

    >>> int_array(range(2)), int_array([])
    ('array<i64: 0, 1>', 'array<i64>')
    """
    return f"array<i64: {', '.join(map(str, numbers))}>" if len(numbers) else "array<i64>"


PREDICATES = frozenset({"compare", "is_finite"})
"""The operations whose results are bool."""


class StableHloComposer(NamedTuple):
    """Writes the operations of an entry of the table for one use of an op."""

    target: StableHloTarget
    use: OpUse

    def values(self, operands: Sequence[SsaValue]) -> dict[str, Any]:
        """The values of the names in an entry of the table."""
        values: dict[str, Any] = {repr(dtype): dtype for dtype in dtypes.ALL}
        values |= self.use.attributes
        values |= zip("xyz", operands, strict=False)
        return values | {"operands": tuple(operands), "dtype": self.use.result.type.dtype}

    def apply(self, operation: str, operands: Sequence[Any], attributes: Mapping[str, Any]) -> SsaValue:
        operation = operation.rstrip("_")
        inputs = [operand if isinstance(operand, SsaValue) else self.number(operand) for operand in operands]
        special = getattr(self, f"write_{operation}", None)
        if special is not None:
            return special(*inputs, **attributes)  # type: ignore[no-any-return]
        sizes = np.broadcast_shapes(*(operand.sizes for operand in inputs))
        inputs = [self.target.broadcast(operand, sizes) for operand in inputs]
        dtype = dtypes.bool if operation in PREDICATES else inputs[-1].type.dtype
        direction = attributes.get("direction")
        text = f"comparison_direction = #stablehlo<comparison_direction {direction}>" if direction else ""
        return self.emit(operation, inputs, Type(dtype, sizes), text)

    def emit(self, operation: str, inputs: Sequence[SsaValue], result: Type, attributes: str = "") -> SsaValue:
        """Append an operation with one result, named after the result of the op."""
        return self.target.emit(operation, inputs, result, self.use.result.name, attributes)

    def number(self, value: Any) -> SsaValue:
        """A number in an entry has the dtype of the op's first operand."""
        return self.target.constant_of(value, Type(self.use.operands[0].dtype))

    def write_select(self, predicate: SsaValue, first: SsaValue, second: SsaValue) -> SsaValue:
        sizes = np.broadcast_shapes(predicate.sizes, first.sizes, second.sizes)
        predicate, first, second = (self.target.broadcast(operand, sizes) for operand in (predicate, first, second))
        return self.emit("select", [predicate, first, second], first.type)

    def write_convert(self, operand: SsaValue, to: DType) -> SsaValue:
        return operand if operand.type.dtype is to else self.emit("convert", [operand], Type(to, operand.sizes))

    def write_bitcast_convert(self, operand: SsaValue) -> SsaValue:
        return self.emit("bitcast_convert", [operand], self.use.result.type)

    def write_reshape(self, operand: SsaValue) -> SsaValue:
        result = self.use.result.type
        return operand if operand.type == result else self.emit("reshape", [operand], result)

    def write_broadcast(self, operand: SsaValue) -> SsaValue:
        return self.target.broadcast(operand, static_shape(self.use.result.type))

    def write_transpose(self, operand: SsaValue, axes: Sequence[int]) -> SsaValue:
        axes = [axis % len(operand.sizes) for axis in axes]
        return self.emit("transpose", [operand], self.use.result.type, f"permutation = {int_array(axes)}")

    def write_concatenate(self, *operands: SsaValue, axis: int) -> SsaValue:
        number = axis % len(operands[0].sizes)
        return self.emit("concatenate", operands, self.use.result.type, f"dimension = {number} : i64")

    def write_size(self, operand: SsaValue, axis: int | None) -> SsaValue:
        size = math.prod(operand.sizes) if axis is None else operand.sizes[axis]
        return self.target.constant_of(size, Type(dtypes.int64))

    def write_slices(self, operand: SsaValue, key: str) -> SsaValue:
        """The elements that a key takes: slices of positive steps, some axes reversed, and a reshape."""
        axes = [entry for entry in spread_key(parse_key(key), len(operand.sizes)) if entry is not None]
        starts, limits, strides, reverse = [], [], [], []
        for position, (entry, size) in enumerate(zip(axes, operand.sizes, strict=True)):
            entry = slice(entry % size, entry % size + 1) if isinstance(entry, int) else entry
            indices = range(size)[entry]
            if indices.step < 0:
                indices = indices[::-1]
                reverse.append(position)
            starts.append(indices.start if len(indices) else 0)
            limits.append(indices[-1] + 1 if len(indices) else 0)
            strides.append(indices.step)
        counts = tuple(-(-(limit - start) // step) for start, limit, step in zip(starts, limits, strides, strict=True))
        result = Type(operand.type.dtype, counts)
        bounds = zip(("start_indices", "limit_indices", "strides"), (starts, limits, strides), strict=True)
        operand = self.emit("slice", [operand], result, ", ".join(f"{name} = {int_array(row)}" for name, row in bounds))
        if reverse:
            operand = self.emit("reverse", [operand], result, f"dimensions = {int_array(reverse)}")
        return self.write_reshape(operand)

    def write_dot(self, x: SsaValue, y: SsaValue) -> SsaValue:
        """A matrix product, whose stacks of matrices have equal shapes."""
        batch = max(len(x.sizes), len(y.sizes), 2) - 2
        if batch and x.sizes[:-2] != y.sizes[:-2]:
            raise Refusal("shape", "products of stacks of matrices of different shapes are not composed")
        contracted = len(x.sizes) - 1, max(len(y.sizes) - 2, 0)
        numbers = (list(range(batch)), list(range(batch)), [contracted[0]], [contracted[1]])
        words = ("lhs_batching", "rhs_batching", "lhs_contracting", "rhs_contracting")
        parts = ", ".join(f"{word}_dimensions = {row}" for word, row in zip(words, numbers, strict=True))
        attributes = f"dot_dimension_numbers = #stablehlo.dot<{parts}>"
        return self.emit("dot_general", [x, y], self.use.result.type, attributes)

    def write_reduce(self, operand: SsaValue, combine: str, axis: Any, keepdims: bool) -> SsaValue:
        """A reduction by one operation, and a reshape that keeps axes of size 1."""
        rank, scalar = len(operand.sizes), Type(operand.type.dtype)
        axes = range(rank) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        dimensions = sorted(axis % rank for axis in axes)
        start = self.target.constant_of(neutral_element(combine, scalar.dtype), scalar)
        pair = [SsaValue(self.target.fresh_name(base), scalar) for base in ("left", "right")]
        block = self.target.block(pair, lambda _: [self.target.emit(combine, pair, scalar, self.use.result.name)], pair)
        sizes = tuple(size for position, size in enumerate(operand.sizes) if position not in dimensions)
        result = Var(self.use.result.name, Type(operand.type.dtype, sizes))
        attributes = f"dimensions = {int_array(dimensions)}"
        (reduced,) = self.target.append_regions("reduce", [operand, start], [result], [block], attributes)
        return self.write_reshape(reduced) if keepdims else reduced


def neutral_element(combine: str, dtype: DType) -> Any:
    """The neutral element of an operation, with which a reduction by it starts. On bools, products and minima are
    conjunctions, sums and maxima disjunctions."""
    if dtype.kind == "b":
        return combine in ("and", "multiply", "minimum")
    low, high = dtype.range if dtype.is_integer else (-math.inf, math.inf)
    return {"add": 0, "multiply": 1, "maximum": low, "minimum": high}[combine]
