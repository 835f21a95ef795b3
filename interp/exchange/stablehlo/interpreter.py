"""The interpretation of modules of StableHLO: their operations applied, while a function is traced, to symbolic values.

A value is an array of NumPy if it is a constant, a symbolic value, or a `Splat`: a scalar that stands for an array of
equal elements, since StableHLO writes `2 * x` as a product of arrays. A function of the module becomes a function of
the program.
"""

from __future__ import annotations

import functools
import linecache
import math
import re
from collections import ChainMap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, TypeAlias

import numpy as np

from ....core.errors import Malformed
from ....core.escape import escape_line
from ....core.frontend.array_api.common import shape_of, type_of
from ....core.frontend.trace.annotation import DerivedFunction
from ....core.frontend.trace.program_builder import MAX_LITERAL_ELEMENTS, suspend_tracing
from ....core.frontend.trace.pytree import TreeType, flat_tuple_type, leaf_type
from ....core.frontend.trace.source_location import user_location
from ....core.types import Type
from ...function.function import Function
from ..folding import MAX_FOLDED_ELEMENTS, is_small_constant
from ..foreign_rows import as_results, call_row
from ..functions import CapturedConstants, function_spec, identifier, unique_identifiers
from ..listing import Listing, abbreviate_name, call_code, call_in_frames
from ..refusals import tl, unsupported
from .module import ForeignModule, ModuleFunction, Operation, OperationBlock, constant_elements
from .operations import ROWS, HloRow

STRUCTURE = re.compile(r"jit\(.*\)|p?jit|while|cond|body|branch_\d+_fun|closed_call|core_call|<.*>")
"""The parts of JAX's names for operations that name a loop, branch or function: the program has these itself."""
STRUCTURED = frozenset({"stablehlo.while", "stablehlo.if", "stablehlo.case"})
"""Operations whose regions are branches or loops."""
SCALAR_IDENTITIES = frozenset({"stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.transpose"})
"""Operations that do not change a scalar."""
Environment: TypeAlias = ChainMap[int, Any]


@dataclass(frozen=True, slots=True)
class Splat:
    """An array of equal elements: one of them, without axes, and its shape."""

    value: Any
    shape: tuple[int, ...]

    def as_array(self) -> Any:
        if isinstance(self.value, np.ndarray) and math.prod(self.shape) <= MAX_LITERAL_ELEMENTS:
            return np.broadcast_to(self.value, self.shape).copy()
        return tl.broadcast_to(self.value, self.shape)


def as_array(value: Any) -> Any:
    """A value in the form that rows take."""
    return value.as_array() if isinstance(value, Splat) else value


@dataclass(frozen=True, slots=True)
class HloRegion:
    """A region of an operation. A call with the values of its parameters returns its results, a list. It sees the
    values around it."""

    interpreter: ModuleInterpreter
    block: OperationBlock
    environment: Environment

    def __call__(self, *arguments: Any) -> list[Any]:
        values = dict(zip(self.block.parameters, arguments, strict=True))
        return self.interpreter.evaluate_block(self.block, self.environment.new_child(values))

    def lift(self, *arguments: Any) -> list[Any]:
        """The results of a region for scalars, applied to each element of arrays of one shape: arrays of this shape."""
        values = dict(zip(self.block.parameters, arguments, strict=True))
        results = self.interpreter.lift_block(self.block, self.environment.new_child(values))
        shape = tl.shape(arguments[0])
        return [result if shape_of(result) == shape else tl.broadcast_to(result, shape) for result in results]


class ModuleInterpreter:
    """Evaluates the functions of one module. The constants of the module are the same objects in each trace."""

    def __init__(self, module: ForeignModule, file: str | None, name: str, has_python_lines: bool = False) -> None:
        """`file` is the path of the module, if it has one. `has_python_lines` says whether operations are in the lines
        of Python that traced them, where these can be read; otherwise, they are in the lines of the module's text."""
        self.has_python_lines = has_python_lines
        lines = [escape_line(line) for line in module.lines] or [""]
        self.module, self.listing = module, Listing(lines, file, name, ".mlir")
        bodies = [function.body for function in module.functions.values() if function.body is not None]
        self.producers = {
            result: operation for body in bodies for operation in body.walk() for result in operation.results
        }
        """The operation that defines each value of the module."""
        self.used_values: set[int] = set()
        """The values on which results depend; operations that define none of them are skipped."""
        for body in bodies:
            collect_used(body, self.used_values)
        self.value_names = {
            number: name for body in bodies for number, name in zip(body.parameters, body.names, strict=True)
        }
        """The names of the parameters of functions, and of loop variables that begin with their values."""
        self.functions: dict[str, Function] = {}
        self.constants: dict[Operation, Any] = {}
        self.captured_constants = CapturedConstants()

    def body_of(self, name: str) -> tuple[ModuleFunction, OperationBlock]:
        """A function of the module and its body; raises Malformed where there is none."""
        module_function = self.module.functions.get(name)
        if module_function is None or module_function.body is None:
            raise Malformed(f"the module has no body of a function {name!r}", where=user_location())
        return module_function, module_function.body

    def signature_of(self, name: str) -> tuple[list[Type], list[Type]]:
        """The types of the parameters and of the results of a function of the module; an error names its line."""
        module_function, body = self.body_of(name)
        location = module_function.location.line, module_function.location.column
        return self.listing.call_at(  # type: ignore[no-any-return]
            location,
            ["func"],
            lambda: ([type_.type for type_ in body.types], [type_.type for type_ in module_function.results]),
        )

    def function(self, name: str) -> Function:
        """The function of the program that stands for one of the module."""
        if name not in self.functions:
            parameters, results = self.signature_of(name)
            result = leaf_type(results[0]) if len(results) == 1 else flat_tuple_type(results)
            own_name, trees = identifier(name, "function"), list(map(leaf_type, parameters))
            self.functions[name] = self.make_function(name, own_name, trees, result, self.evaluate_function)
        return self.functions[name]

    def make_function(
        self,
        name: str,
        own_name: str,
        types: Sequence[TreeType],
        result: TreeType | None,
        evaluate: Callable[..., Any],
        names: Sequence[str] | None = None,
        definition: Callable[..., Any] | None = None,
    ) -> Function:
        """A function of this name, with parameters of these types. It returns the result of `evaluate` for the name of
        a function of the module and the arguments. It is defined where `definition` is, or else in the module's
        text."""
        module_function, body = self.body_of(name)
        definition = definition or self.listing.definition(module_function.location.line)
        python = DerivedFunction(own_name, definition, lambda *arguments: evaluate(name, *arguments))
        parameters = list(zip(names or unique_identifiers(body.names), types, strict=True))
        spec = function_spec(python, parameters, result)
        return Function(python, lambda _: spec)

    def evaluate_function(self, name: str, *arguments: Any) -> Any:
        """The result of a function of the module, a tuple if there are several."""
        results = self.results_of(name, arguments)
        return results[0] if len(results) == 1 else tuple(results)

    def results_of(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """The results of a function of the module, as arrays."""
        module_function, body = self.body_of(name)
        if not module_function.results:
            raise unsupported("construct", f"function {name!r} of the module has no results")
        environment: Environment = ChainMap(dict(zip(body.parameters, arguments, strict=True)))
        results = self.evaluate_block(body, environment)
        location = body.operations[-1].location
        return self.listing.call_at(  # type: ignore[no-any-return]
            (location.line, location.column), ["return"], lambda: list(map(as_array, results))
        )

    def evaluate_block(self, block: OperationBlock, environment: Environment) -> list[Any]:
        """The results of a block, whose parameters the environment has."""
        for operation in block.operations[:-1]:
            if self.used_values.isdisjoint(operation.results):
                continue
            evaluate = functools.partial(self.evaluate_operation, operation, environment)
            results = call_in_frames(self.operation_frames(operation), evaluate)
            environment.update(zip(operation.results, results, strict=True))
        return [environment[number] for number in block.results]

    def operation_frames(self, operation: Operation) -> list[CodeType]:
        """The frames in which an operation is evaluated, outermost first: the frames of the Python functions that
        traced it, and one for each part of its name. They are in its lines of Python, or in the module's text."""
        location, names = operation.location, operation_names(operation)
        functions = [frame.function for frame in location.frames]
        if self.has_python_lines and location.caller is not None:
            frames = [location.caller._replace(function="<model>"), *location.frames]
            last = frames[-1]
            if linecache.getline(last.file, last.span.line):
                frames += [last._replace(function=name) for name in names]
                return [call_code(frame.file, frame.span, abbreviate_name(frame.function)) for frame in frames]
        outer = [self.listing.code(1, 0, abbreviate_name(name)) for name in ("<model>", *functions, *names[:-1])]
        return [*outer, self.listing.code(location.line, location.column, abbreviate_name(names[-1]))]

    def evaluate_operation(self, operation: Operation, environment: Environment) -> Sequence[Any]:
        """The results of an operation, of the types that it declares."""
        row = find_row(operation)
        types = [type_.type for type_ in operation.types]
        operands = [environment[number] for number in operation.operands]
        keywords = self.row_keywords(row, operation, environment, types)

        def compute(*values: Any) -> Sequence[Any]:
            results = as_results(call_row(row, values, keywords))
            if len(results) != len(types):
                raise Malformed(f"{row.name} gives the wrong number of results", where=user_location())
            return results

        shape = types[0].shape if types else ()
        splat_shapes = [operand.shape for operand in operands if isinstance(operand, Splat)]
        if row.is_elementwise and splat_shapes and all(splat_shape == shape for splat_shape in splat_shapes):
            array_operands = [operand for operand in operands if not isinstance(operand, Splat)]
            scalars = [operand.value if isinstance(operand, Splat) else operand for operand in operands]
            if any(shape_of(operand) == shape for operand in array_operands):
                return [check_type(row, value, type_) for value, type_ in zip(compute(*scalars), types, strict=True)]
            if all(shape_of(operand) == () for operand in array_operands):
                sizes = tuple(int(size or 0) for size in shape or ())
                return [Splat(value, sizes) for value in fold_constants(lambda: compute(*scalars), scalars)]
        arrays = operands if row.takes_splats else list(map(as_array, operands))
        if (
            row.takes_regions
            or row.takes_operation
            or row.takes_splats
            or sum(map(size_of, types)) > MAX_FOLDED_ELEMENTS
        ):
            results = compute(*arrays)
        else:
            results = fold_constants(lambda: compute(*arrays), arrays)
        return [check_type(row, value, type_) for value, type_ in zip(results, types, strict=True)]

    def row_keywords(
        self, row: HloRow, operation: Operation, environment: Environment, types: Sequence[Type]
    ) -> dict[str, Any]:
        """The keyword arguments of a row."""
        keywords: dict[str, Any] = {
            name: operation.attributes[name] for name in row.attributes if name in operation.attributes
        }
        if row.takes_result:
            keywords["result"] = types[0]
        if row.takes_operation:
            keywords["operation"] = OperationCall(self, operation, environment)
        if row.takes_regions:
            keywords["regions"] = [HloRegion(self, block, environment) for block in operation.regions]
        return keywords

    def lift_block(self, block: OperationBlock, environment: Environment) -> list[Any]:
        """The results of a block for scalars, whose parameters are arrays in the environment."""
        for operation in block.operations[:-1]:
            row = find_row(operation)
            operands = [environment[number] for number in operation.operands]
            if operation.name in SCALAR_IDENTITIES:
                results: Sequence[Any] = operands
            elif operation.name in ("func.call", "stablehlo.constant"):
                results = self.lift_other(operation, operands)
            elif row.is_elementwise and all(type_.sizes == () for type_ in operation.types):
                types = [type_.type for type_ in operation.types]
                results = as_results(call_row(row, operands, self.row_keywords(row, operation, environment, types)))
            else:
                message = f"a region of a reduction, a sort or a map that uses {operation.name} is not imported"
                raise unsupported("op", message)
            environment.update(zip(operation.results, results, strict=True))
        return [environment[number] for number in block.results]

    def lift_other(self, operation: Operation, operands: Sequence[Any]) -> Sequence[Any]:
        """The results of a constant, or of the body of a function, in a region for scalars."""
        if operation.name == "stablehlo.constant":
            return [as_array(self.constant(operation))]
        _, body = self.body_of(operation.attributes["callee"])
        return self.lift_block(body, ChainMap(dict(zip(body.parameters, operands, strict=True))))

    def constant(self, operation: Operation) -> Any:
        """The value of a constant. A large one is a concrete array, which the program captures."""
        if operation not in self.constants:
            elements, type_ = constant_elements(operation.attributes["value"])
            shape = tuple(int(size or 0) for size in type_.shape or ())
            if elements.size == 1 and shape:
                value: Any = Splat(elements.reshape(()), shape)
            else:
                name = identifier(operation_names(operation)[-1], "constant")
                value = self.captured_constants.admit(elements.reshape(shape), name)
            self.constants[operation] = value
        return self.constants[operation]


@dataclass(frozen=True, slots=True)
class OperationCall:
    """An operation under evaluation, for rows that need more than operands and attributes."""

    interpreter: ModuleInterpreter
    operation: Operation
    environment: Environment


def find_row(operation: Operation) -> HloRow:
    """The row of an operation; raises Unsupported where there is none."""
    row = ROWS.get(operation.name)
    if row is None:
        raise unsupported("op", f"tagloom has no operation {operation.name}")
    return row


def fold_constants(compute: Any, operands: Sequence[Any]) -> Sequence[Any]:
    """The result of `compute`, computed at once if all operands are small constants."""
    if not operands or not all(map(is_small_constant, operands)):
        result: Sequence[Any] = compute()
        return result
    with suspend_tracing():
        return list(map(np.asarray, compute()))


def collect_used(block: OperationBlock, used_values: set[int]) -> None:
    """Add the values that the results of a block depend on, including those in its regions."""
    used_values.update(block.results)
    for operation in reversed(block.operations[:-1]):
        if not used_values.isdisjoint(operation.results):
            for region in reversed(operation.regions):
                collect_used(region, used_values)
            used_values.update(operation.operands)


def check_type(row: HloRow, value: Any, type_: Type) -> Any:
    """A result; None if it is unused. Raises Malformed if it does not have the type that the module declares."""
    if value is None:
        return None
    scalar_form = (value.shape, type_of(value.value).dtype) if isinstance(value, Splat) else None
    shape, dtype = scalar_form or (shape_of(value), type_of(value).dtype)
    if (tuple(shape), dtype) != (type_.shape, type_.dtype):
        actual = Type(dtype, tuple(shape))
        raise Malformed(f"{row.name} does not have the type that the module declares", where=user_location(),
                        required=type_, got=actual)  # fmt: skip
    return value


def size_of(type_: Type) -> int:
    """The number of elements of arrays of a type whose sizes are all static."""
    return math.prod(size or 0 for size in type_.shape or ())


def operation_names(operation: Operation) -> list[str]:
    """The parts of the name that JAX gives to an operation, or else its own name.

    >>> from tagloom.interp.exchange.stablehlo.module import HloLocation
    >>> location = HloLocation(1, 0, "jit(f)/while/body/layer/tanh")
    >>> operation_names(Operation("stablehlo.tanh", (), {}, (), (), (), location))
    ['layer', 'tanh']
    """
    parts = [part for part in operation.location.origin.split("/") if part and not STRUCTURE.fullmatch(part)]
    name = operation.name.rpartition(".")[2]
    if operation.regions and operation.name in STRUCTURED:
        parts.append(f"<{name}>")  # no scope: what is in its regions has its own
    return parts or [name]
