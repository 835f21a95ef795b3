"""The process that parses a module: `python parse.py` reads MLIR, text or bytecode, from its standard input, and writes
the module to its standard output as JSON.

MLIR's parser runs here first, under bounds on memory and time. To start quickly, this file imports nothing of tagloom.
`describe_module` also serves modules that JAX has made in this process.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count, takewhile
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, sdy, stablehlo

MAX_BYTES = 8 * 2**30
"""The most memory of this process, for any module."""
BASE_BYTES, BYTES_PER_BYTE = 2**30, 64
"""The most memory of this process: the first for an empty module, and the second more for each byte of it."""
MAX_SECONDS = 100
"""The most processor time of this process."""
MAX_DEPTH = 60
"""The maximal nesting of regions."""
LARGE_ELEMENTS = 16
"""Constants of more elements are left out of the displayed text."""
READABLE = re.compile(r"(i1|u?i(8|16|32|64)|f(16|32|64)|bf16)")
"""The element types whose constants are read."""
FILE_LOCATION = re.compile(r'^loc\("((?:[^"\\]|\\.)*)":(\d+):(\d+)')
NAME_LOCATION = re.compile(r'^loc\("((?:[^"\\]|\\.)*)"[()]')
PYTHON_LOCATION = re.compile(r'"([^"]*\.py)":(\d+)')
PYTHON_FRAME = re.compile(r'"((?:[^"\\]|\\.)*)"\("((?:[^"\\]|\\.)*)":(\d+):(\d+)(?: to (\d*):(\d+))?')
"""A frame of Python in a location: the name of its function, its file, and the lines and columns of its expression."""
ESCAPE = re.compile(rb"\\(?:([0-9A-Fa-f]{2})|(.))")
"""An escaped byte in a string of MLIR's text."""
PLACED_IN_CALLERS = ("stablehlo.constant", "func.return")
NAME = re.compile(r"%([A-Za-z_$.-][\w$.-]*)")
BUFFER = "-"
"""The name that the parser gives to text without a file."""


def limit_resources(size: int) -> None:
    """Bound processor time, and memory for a module of this many bytes, where the system can."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        memory_limit = min(BASE_BYTES + BYTES_PER_BYTE * size, MAX_BYTES)
        resource.setrlimit(resource.RLIMIT_AS, (memory_limit, MAX_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS + 5))


def open_context() -> Any:
    """A context with the dialects that JAX's modules are written in."""
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.enable_multithreading(False)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for dialect in (stablehlo, chlo, sdy):
        dialect.register_dialect(context)
    return context


def parse(content: bytes) -> dict[str, Any]:
    """A module of text or bytecode, as JSON data; raises an exception if the bytes are not a module."""
    context = open_context()
    with context, ir.Location.unknown():
        if content.startswith(b"ML\xefR"):
            try:
                return describe_module(stablehlo.deserialize_portable_artifact(context, content), None)
            except ValueError:
                return describe_module(ir.Module.parse(content), None)
        text = content.decode()
        return describe_module(ir.Module.parse(text), text)


def describe_module(module: Any, text: str | None) -> dict[str, Any]:
    """A module as JSON data: its text, with a line for each operation, and its functions. The text is the user's,
    unless its operations have locations that are not in it; then MLIR prints the module."""
    operations = [operation for function in module.body.operations for operation in walk_operations(function.operation)]
    if text is None or not all(is_in_text(line_of(operation), text.splitlines()) for operation in operations):
        text = module.operation.get_asm(large_elements_limit=LARGE_ELEMENTS)
        parsed_module = ir.Module.parse(text, context=module.context)
        twins = [twin for function in parsed_module.body.operations for twin in walk_operations(function.operation)]
    else:
        twins = operations
    writer = ModuleWriter(text.splitlines())
    writer.twins.update(zip(operations, twins, strict=True))
    with module.context, ir.Location.unknown():
        functions = [
            writer.function(function.operation)
            for function in module.body.operations
            if function.operation.name == "func.func"
        ]
    name = module.operation.attributes["sym_name"].value if "sym_name" in module.operation.attributes else ""
    return {"name": name, "lines": writer.lines, "functions": functions}


def walk_operations(operation: Any, depth: int = 0) -> Iterator[Any]:
    """An operation and those in its regions, in order."""
    if depth > MAX_DEPTH:
        raise ValueError(f"regions nest deeper than {MAX_DEPTH}")
    yield operation
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from walk_operations(inner.operation, depth + 1)


def line_of(operation: Any) -> tuple[int, int] | None:
    """The line and the column of an operation in the parsed text; None if its location is elsewhere."""
    match = FILE_LOCATION.match(str(operation.location))
    return (int(match[2]), int(match[3])) if match and match[1] == BUFFER else None


def is_in_text(position: tuple[int, int] | None, lines: list[str]) -> bool:
    """Whether a text has this line and column. A text may say others of its operations, by `loc`.

    >>> [is_in_text(position, ["module {", "}"]) for position in (None, (2, 1), (0, 1), (1, 0), (3, 1))]
    [False, True, False, False, False]
    """
    return (
        position is not None
        and 1 <= position[0] <= len(lines)
        and 1 <= position[1] <= len(lines[position[0] - 1].encode()) + 1
    )


class ModuleWriter:
    """Writes the functions of a module as JSON."""

    def __init__(self, lines: list[str]) -> None:
        self.lines, self.numbers = list(lines), count()
        self.values: dict[Any, int] = {}
        self.twins: dict[Any, Any] = {}
        """For each operation, its twin in a copy of the module whose locations are lines of the text."""

    def function(self, function: Any) -> dict[str, Any]:
        """A function; one that is only declared has no body."""
        attributes = function.attributes
        blocks = list(function.regions[0].blocks)
        line, column = line_of(self.twins[function]) or (1, 1)
        type_ = ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value)
        body = self.block(blocks, list(self.twins[function].regions[0].blocks)) if blocks else None
        if body is not None:
            count = count_common_frames(written_operations(body))
            split_frames(body["operations"], [], count)
        return {
            "name": ir.StringAttr(attributes["sym_name"]).value,
            "is_public": "sym_visibility" not in attributes or attributes["sym_visibility"].value == "public",
            "results": list(map(tensor_type, type_.results)),
            "body": body,
            "line": line,
            "column": column - 1,
        }

    def block(self, blocks: list[Any], twins: list[Any]) -> dict[str, Any]:
        """The only block of a region."""
        if len(blocks) != 1:
            raise ValueError("a region has more than one block")
        (block,), (twin,) = blocks, twins
        pairs = zip(block.arguments, twin.arguments, strict=True)
        return {
            "names": [self.argument_name(argument, twin) for argument, twin in pairs],
            "parameters": list(map(self.new_value, block.arguments)),
            "types": [tensor_type(argument.type) for argument in block.arguments],
            "operations": [self.operation(operation.operation) for operation in block.operations],
        }

    def argument_name(self, argument: Any, twin: Any) -> str:
        """The name of a block's argument: the name in its location, or else its name in the text."""
        with suppress(AttributeError):
            name_match = NAME_LOCATION.match(str(argument.location))
            if (
                name_match and "/" not in name_match[1] and "(" not in name_match[1]
            ):  # JAX names some by the operation around them
                return name_match[1]
            line_match = FILE_LOCATION.match(str(twin.location))
            if line_match and int(line_match[2]) <= len(self.lines):
                word = NAME.match(
                    self.lines[int(line_match[2]) - 1].encode()[int(line_match[3]) - 1 :].decode(errors="replace")
                )
                return word[1] if word else ""
        return ""

    def new_value(self, value: Any) -> int:
        return self.values.setdefault(value, next(self.numbers))

    def operation(self, operation: Any) -> dict[str, Any]:
        twin = self.twins[operation]
        line, column = line_of(twin) or (1, 1)
        location = str(operation.location)
        name_match, python = NAME_LOCATION.match(location), PYTHON_LOCATION.search(location)
        if python and line <= len(self.lines):
            comment = f"  // {os.path.basename(python[1])}:{python[2]}"
            if not self.lines[line - 1].endswith(comment):
                self.lines[line - 1] += comment
        regions = zip(operation.regions, twin.regions, strict=True)
        return {
            "name": operation.name,
            "operands": [self.values[operand] for operand in operation.operands],
            "attributes": {name: read_attribute(operation, name) for name in attribute_names(operation.attributes)},
            "regions": [self.block(list(region.blocks), list(region_twin.blocks)) for region, region_twin in regions],
            "results": list(map(self.new_value, operation.results)),
            "types": [tensor_type(result.type) for result in operation.results],
            "line": line,
            "column": column - 1,
            "origin": name_match[1] if name_match else "",
            "frames": python_frames(location),
        }


def python_frames(location: str) -> list[list[Any]]:
    """The frames of Python in which an operation was traced, outermost first, as its location says: the function, the
    file, and the first line and column and the last ones of the expression. A method `__call__` has the name of its
    class.

    >>> frames = ('"Layer.__call__"("a.py":7:12 to :17)', '"f.<locals>.loss"("a.py":9:4 to 10:8)')
    >>> python_frames(f'loc("jit(f)/sub"(callsite({" at ".join(frames)})))')
    [['loss', 'a.py', 9, 4, 10, 8], ['Layer', 'a.py', 7, 12, 7, 17]]
    """
    frames = []
    for name, file, line, column, end_line, end_column in PYTHON_FRAME.findall(location):
        function = unescape(name).removesuffix(".__call__").rpartition(".")[2]
        end = int(end_line or line), int(end_column or int(column) + 1)
        frames.append([function, unescape(file), int(line), int(column), *end])
    return frames[::-1]


def unescape(text: str) -> str:
    """A string of MLIR's text without its escapes.

    >>> unescape(r"caf\\C3\\A9 \\22x\\22 \\\\")
    'café "x" \\\\'
    """
    content = ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()) if match[1] else match[2], text.encode())
    return content.decode(errors="replace")


def written_operations(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The operations of a block as `ModuleWriter` writes them, those in regions included."""
    for operation in block["operations"]:
        yield operation
        for region in operation["regions"]:
            yield from written_operations(region)


def count_common_frames(operations: Iterable[dict[str, Any]]) -> int:
    """The number of frames that all operations of a function share: the frames of the function itself, and of its
    callers. Constants and returns do not count, as JAX gives them the place of a caller.

    >>> stacks = [["main", "f", "g"], [], ["main", "f"]]
    >>> operations = [{"name": "add", "frames": [[name] for name in stack]} for stack in stacks]
    >>> count_common_frames([*operations, {"name": "stablehlo.constant", "frames": [["main"]]}])
    2
    """
    counted_operations = (operation for operation in operations if operation["name"] not in PLACED_IN_CALLERS)
    stacks = [[frame[0] for frame in operation["frames"]] for operation in counted_operations if operation["frames"]]
    return sum(1 for _ in takewhile(lambda level: len(set(level)) == 1, zip(*stacks, strict=False)))


def split_frames(operations: list[dict[str, Any]], outer: list[Any], count: int) -> None:
    """Leave out of the frames of operations the first `count` ones, and those that the operation around them is in,
    `outer`. The last of these becomes the operation's `caller`, None where there is none. So also with the parts of
    JAX's names.

    >>> inner = {"origin": "f/while/body/add", "frames": ["f", "loop", "step"], "regions": []}
    >>> outer = {"origin": "f/while", "frames": ["f", "loop"], "regions": [{"operations": [inner]}]}
    >>> split_frames([outer], [], 1)
    >>> [[each["caller"], each["frames"], each["origin"]] for each in (outer, inner)]
    [['f', ['loop'], 'f/while'], ['loop', ['step'], 'body/add']]
    """
    for operation in operations:
        frames, origin = operation["frames"], operation["origin"]
        start = max(count, common_length(frames, outer))
        operation["caller"] = frames[start - 1] if 0 < start <= len(frames) else None
        operation["frames"] = frames[start:]
        for region in operation["regions"]:
            split_frames(region["operations"], frames, count)
            for inner in region["operations"]:
                inner["origin"] = relative_name(inner["origin"], origin)


def relative_name(name: str, outer: str) -> str:
    """A name of JAX without the parts that the name of the operation around it has, too."""
    parts = name.split("/")
    return "/".join(parts[common_length(parts, outer.split("/")) :])


def common_length(first: list[Any], second: list[Any]) -> int:
    """How many items two lists have in common at their beginnings."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def attribute_names(attributes: Any) -> list[str]:
    """The names of attributes. The bindings iterate over names, or over attributes."""
    return [attribute if isinstance(attribute, str) else attribute.name for attribute in attributes]


def read_attribute(operation: Any, name: str) -> Any:
    """An attribute of an operation as JSON data. The bindings do not read constants of complex numbers; of these, it is
    only the type."""
    try:
        return attribute_value(operation.attributes[name])
    except TypeError:
        return {"type": tensor_type(operation.results[0].type)} if len(operation.results) else None


def tensor_type(type_: Any) -> list[Any]:
    """The element type and the sizes of a type; an open size is None, and so are the sizes of a type without arrays."""
    try:
        ranked_type = ir.RankedTensorType(type_)
    except (ValueError, TypeError):
        return [str(type_), None]
    sizes = [
        None if ranked_type.is_dynamic_dim(axis) else ranked_type.get_dim_size(axis) for axis in range(ranked_type.rank)
    ]
    return [str(ranked_type.element_type), sizes]


def attribute_value(attribute: Any) -> Any:
    """An attribute as JSON data: a number, a string, a list of these, or a dict for an array; MLIR's text for
    others."""
    match attribute:
        case ir.BoolAttr() | ir.IntegerAttr() | ir.FloatAttr() | ir.StringAttr():
            return attribute.value
        case ir.FlatSymbolRefAttr():
            return attribute.value
        case ir.ArrayAttr():
            return list(map(attribute_value, attribute))
        case ir.DenseI64ArrayAttr() | ir.DenseI32ArrayAttr() | ir.DenseBoolArrayAttr():
            return list(attribute)
        case ir.DenseElementsAttr():
            return dense_value(attribute)
    return str(attribute)


def dense_value(attribute: Any) -> dict[str, Any]:
    """A constant array as JSON data: its type, and its elements as bytes, a single one if all are equal."""
    element, sizes = tensor_type(attribute.type)
    if not READABLE.fullmatch(element):
        return {"type": [element, sizes]}
    if attribute.is_splat:
        element_type = ir.RankedTensorType.get([1], ir.ShapedType(attribute.type).element_type)
        attribute = ir.DenseElementsAttr.get_splat(element_type, attribute.get_splat_value())
    content = bfloat16_bits(str(attribute)) if element == "bf16" else np.array(attribute)
    return {"type": [element, sizes], "elements": base64.b64encode(content.tobytes()).decode()}


def bfloat16_bits(text: str) -> np.ndarray[Any, np.dtype[np.uint16]]:
    """The bits of a constant of bfloat16, from its text: the bindings do not read its elements. Many elements are one
    hexadecimal text, and a NaN or an infinity is written by its bits.

    >>> [hex(bits) for bits in bfloat16_bits("dense<[1.500000e+00, 0x7F80]> : tensor<2xbf16>").tolist()]
    ['0x3fc0', '0x7f80']
    """
    content = text.removeprefix("dense<").partition(">")[0]
    if content.startswith('"'):
        return np.frombuffer(bytes.fromhex(content.strip('"').removeprefix("0x")), np.uint16)
    words = re.findall(r"0x[0-9A-Fa-f]+|[-+.0-9eE]+", content)
    singles = [int(word, 16) << 16 if word.startswith("0x") else _single_bits(word) for word in words]
    return np.array([bits >> 16 for bits in singles], np.uint16)


def _single_bits(decimal: str) -> int:
    """The bits of a decimal as float32, with one half of the last place of bfloat16 added."""
    return int(np.float32(decimal).view(np.uint32)) + 0x8000


def main() -> int:
    """Write the module from standard input; returns the exit code."""
    content = sys.stdin.buffer.read()
    limit_resources(len(content))
    try:
        document = json.dumps(parse(content))
    except BaseException as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        details = next((line for line in lines if line.startswith("error:")), lines[0] if lines else "no message")
        print(f"{type(error).__name__}: {details.removeprefix('error: ')}", file=sys.stderr)
        return 1
    with open(1, "w", closefd=False) as output:
        output.write(document)
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)
