"""A module of StableHLO as data, which the parser process writes (`parse.py`)."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ....core import dtypes
from ....core.dtypes import DType
from ....core.escape import escape_line
from ....core.program.program import SourceSpan
from ....core.types import Type
from ..refusals import unsupported

DTYPES: Mapping[str, DType] = {
    "i1": dtypes.bool,
    **{f"{dtype.kind.replace('u', 'ui')}{dtype.bits}": dtype for dtype in dtypes.ALL if dtype.kind != "b"},
    "f16": dtypes.float16,
    "bf16": dtypes.bfloat16,
}
"""The dtypes, by their names in MLIR."""


class ForeignType(NamedTuple):
    """A type in MLIR: the name of the element type, and the sizes, None for a dynamic one; None in their place if it is
    no array."""

    element: str
    sizes: tuple[int | None, ...] | None

    @property
    def type(self) -> Type:
        """The type; raises Unsupported for one that tagloom lacks."""
        if self.sizes is None:
            raise unsupported("dtype", f"tagloom has no values of MLIR's type {escape_line(self.element)}")
        if None in self.sizes:
            raise unsupported("shape", "StableHLO with sizes that are known only at run time is not imported")
        if self.element not in DTYPES:
            raise unsupported("dtype", f"tagloom has no values of MLIR's type {escape_line(self.element)}")
        return Type(DTYPES[self.element], self.sizes)


class PythonFrame(NamedTuple):
    """A frame of Python in which an operation was traced: its function, its file, and the expression that ran."""

    function: str
    file: str
    span: SourceSpan


class HloLocation(NamedTuple):
    """The position of an operation in the text of the module: its line from 1, its column from 0; the name that the
    system which wrote the module gave it; the frames of the Python functions in which it was traced, outermost first;
    and the frame that called the first of these, or has traced the operation if there are none."""

    line: int
    column: int
    origin: str = ""
    frames: tuple[PythonFrame, ...] = ()
    caller: PythonFrame | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """An operation. Values are numbers, each defined once in the module."""

    name: str
    operands: tuple[int, ...]
    attributes: Mapping[str, Any]
    regions: tuple[OperationBlock, ...]
    results: tuple[int, ...]
    types: tuple[ForeignType, ...]
    location: HloLocation


@dataclass(frozen=True, slots=True, eq=False)
class OperationBlock:
    """The block of a region or function: its parameters, and its operations. The last operation returns values."""

    names: tuple[str, ...]
    parameters: tuple[int, ...]
    types: tuple[ForeignType, ...]
    operations: tuple[Operation, ...]

    @property
    def results(self) -> tuple[int, ...]:
        return self.operations[-1].operands if self.operations else ()

    def walk(self) -> Iterator[Operation]:
        """The operations, those in regions included."""
        for operation in self.operations:
            yield operation
            for region in operation.regions:
                yield from region.walk()


@dataclass(frozen=True, slots=True, eq=False)
class ModuleFunction:
    """A function of a module; `body` is None if it is only declared."""

    name: str
    is_public: bool
    body: OperationBlock | None
    results: tuple[ForeignType, ...]
    location: HloLocation


class ForeignModule(NamedTuple):
    """A module: its text, and its functions by name."""

    name: str
    lines: tuple[str, ...]
    functions: Mapping[str, ModuleFunction]


def read_module(document: Mapping[str, Any]) -> ForeignModule:
    """The module of a document of `parse.describe_module`."""
    functions = map(_read_function, document["functions"])
    return ForeignModule(
        document["name"], tuple(document["lines"]), {function.name: function for function in functions}
    )


def _read_function(document: Mapping[str, Any]) -> ModuleFunction:
    location = HloLocation(document["line"], document["column"])
    body = None if document["body"] is None else _read_block(document["body"])
    return ModuleFunction(document["name"], document["is_public"], body, _read_types(document["results"]), location)


def _read_block(document: Mapping[str, Any]) -> OperationBlock:
    operations = tuple(map(_read_operation, document["operations"]))
    return OperationBlock(
        tuple(document["names"]), tuple(document["parameters"]), _read_types(document["types"]), operations
    )


def _read_operation(document: Mapping[str, Any]) -> Operation:
    return Operation(
        document["name"],
        tuple(document["operands"]),
        document["attributes"],
        tuple(map(_read_block, document["regions"])),
        tuple(document["results"]),
        _read_types(document["types"]),
        HloLocation(
            document["line"],
            document["column"],
            document["origin"],
            tuple(map(_read_frame, document["frames"])),
            None if document["caller"] is None else _read_frame(document["caller"]),
        ),
    )


def _read_frame(document: Any) -> PythonFrame:
    function, file, *span = document
    return PythonFrame(function, file, SourceSpan(*span))


def _read_types(documents: Any) -> tuple[ForeignType, ...]:
    return tuple(ForeignType(element, None if sizes is None else tuple(sizes)) for element, sizes in documents)


def constant_elements(attribute: Any) -> tuple[np.ndarray[Any, Any], Type]:
    """The elements of a constant array, and its type; a single element if all are equal."""
    if not isinstance(attribute, Mapping):
        raise unsupported("attribute", "the elements of this constant are not in the module's text", got=attribute)
    element, sizes = attribute["type"]
    type_ = ForeignType(element, tuple(sizes)).type
    elements = np.frombuffer(base64.b64decode(attribute["elements"]), type_.dtype.numpy)
    return elements, type_
