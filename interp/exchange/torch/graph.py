"""Exported programs as data. Their JSON, `models/model.json` in a .pt2 file, has the schema of
`torch/_export/serde/schema.py`, version 8."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ....core import dtypes
from ....core.dtypes import DType
from ....core.errors import Malformed
from ....core.types import Type
from ..refusals import unsupported

SCHEMA_VERSION = 8
"""The major version of the schema."""
MAX_DEPTH = 20
"""The maximal nesting of graphs."""
MAX_NESTING = 100
"""The maximal nesting of containers, and of modules."""
SCALAR_TYPES: Mapping[int, DType] = {
    1: dtypes.uint8, 2: dtypes.int8, 3: dtypes.int16, 4: dtypes.int32, 5: dtypes.int64, 6: dtypes.float16,
    7: dtypes.float32, 8: dtypes.float64, 12: dtypes.bool, 13: dtypes.bfloat16, 28: dtypes.uint16, 34: dtypes.uint32,
    35: dtypes.uint64,
}  # fmt: skip
"""The dtypes, by their numbers in the schema."""
OTHER_SCALAR_TYPES = {
    9: "complex32", 10: "complex64", 11: "complex128", 29: "float8_e4m3fn", 30: "float8_e5m2", 31: "float8_e4m3fnuz",
    32: "float8_e5m2fnuz", 33: "float8_e8m0fnu",
}  # fmt: skip
STRIDED = 7
"""The number of the layout of dense tensors."""


class ScalarType(int):
    """The number of a dtype in the schema."""

    @property
    def dtype(self) -> DType:
        """The dtype; raises Unsupported for one that tagloom lacks."""
        if self not in SCALAR_TYPES:
            name = OTHER_SCALAR_TYPES.get(self, f"number {int(self)}")
            raise unsupported("dtype", f"tagloom has no values of PyTorch's dtype {name}")
        return SCALAR_TYPES[self]


class ValueName(str):
    """The name of a value, as an argument of a node."""

    __slots__ = ()


class OmittedArgument(NamedTuple):
    """An argument that does not change what a node computes: a device, a layout or a memory format."""


class ForeignArgument(NamedTuple):
    """An argument of a kind that tagloom lacks, such as an object of a class of the user's."""

    kind: str


class TensorMeta(NamedTuple):
    """The declaration of a tensor in a program. A size, stride or offset is None if it is known only at run time."""

    scalar_type: ScalarType
    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    offset: int | None
    layout: int

    @property
    def type(self) -> Type:
        """The type; raises Unsupported for one that tagloom lacks."""
        if self.layout != STRIDED:
            raise unsupported("construct", "tagloom has no sparse tensors")
        return Type(self.scalar_type.dtype, self.sizes)


@dataclass(frozen=True, slots=True, eq=False)
class ExportedNode:
    """A node: it applies `target` to arguments, each with its name in the operator's schema; operators with graphs have
    arguments without names. An output is a name, a list of names, or None."""

    name: str
    target: str
    arguments: tuple[tuple[str, Any], ...]
    outputs: tuple[Any, ...]
    modules: tuple[str, ...]
    """The names of the modules around it, outermost first, each within the one before."""
    line: str
    """The line of the user's file where it was traced, as `FILE:LINE`; empty if it is not known."""

    @property
    def output_names(self) -> Iterator[str]:
        return (name for output in self.outputs for name in names_in(output))

    @property
    def graphs(self) -> list[ExportedGraph]:
        """The graphs among its arguments."""
        return [argument for _, argument in self.arguments if isinstance(argument, ExportedGraph)]


@dataclass(frozen=True, slots=True, eq=False)
class ExportedGraph:
    """A graph. Its results are names, or constants of Python."""

    name: str
    parameters: tuple[Any, ...]
    nodes: tuple[ExportedNode, ...]
    results: tuple[Any, ...]
    metas: Mapping[str, TensorMeta]
    symbols: frozenset[str]
    """The names of values that are numbers of Python until the run: sizes, and results of `item`."""


class ProgramInput(NamedTuple):
    """An input of the outermost graph: its kind is "user_input", "parameter", "buffer", "tensor_constant",
    "constant_input", or another; `target` is the name of the parameter, buffer or constant in the module, or the value
    of a constant input."""

    kind: str
    name: str
    target: Any = None


class ProgramOutput(NamedTuple):
    """A result of the outermost graph: "user_output", or a kind that changes `target`, such as "buffer_mutation"."""

    kind: str
    value: Any
    target: str = ""


class StructureSpec(NamedTuple):
    """A node of a pytree: the class of a container, its context (such as the keys of a dict), and its children. The
    class of a leaf is None."""

    container: str | None
    context: Any = None
    children: tuple[StructureSpec, ...] = ()

    @property
    def size(self) -> int:
        """The number of leaves."""
        return 1 if self.container is None else sum(child.size for child in self.children)


class ExportedProgramData(NamedTuple):
    """An exported program, without its arrays."""

    name: str
    """The class of the module; empty if it is not known."""
    graph: ExportedGraph
    inputs: tuple[ProgramInput, ...]
    outputs: tuple[ProgramOutput, ...]
    argument_names: tuple[str, ...]
    argument_spec: StructureSpec
    """The nesting of the positional arguments and of the keyword arguments, a tuple of a tuple and a dict."""
    result_spec: StructureSpec


def names_in(argument: Any) -> Iterator[ValueName]:
    """The names of values in an argument."""
    if isinstance(argument, ValueName):
        yield argument
    elif isinstance(argument, tuple | list):
        for part in argument:
            yield from names_in(part)


def read_exported_program(document: Any) -> ExportedProgramData:
    """The program of a JSON document. Raises Malformed for anything else, Unsupported for another version of the
    schema."""
    try:
        version = read_integer(document["schema_version"]["major"])
        if version == SCHEMA_VERSION:
            return read_program(document["graph_module"])
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        problem = f"{type(error).__name__}: {error}"[:200]
        raise Malformed("this is not an exported program of PyTorch", required="the schema of torch.export",
                        got=problem) from None  # fmt: skip
    hint = "export the model with a current version of PyTorch"
    message = "this exported program has a different version of the schema"
    raise unsupported("construct", message, required=SCHEMA_VERSION, got=version, hint=hint)


def read_program(module: Any) -> ExportedProgramData:
    """The program of a graph module. This and the readers below raise built-in exceptions for a damaged document."""
    signature = module["signature"]
    entry = module["module_call_graph"][0]["signature"]
    names = entry.get("forward_arg_names") or ()
    specs = []
    for key in ("in_spec", "out_spec"):
        version, spec = json.loads(read_text(entry[key]))
        if version != 1:
            raise ValueError(f"a structure of version {version}")
        specs.append(read_structure(spec))
    return ExportedProgramData(
        class_name(module["graph"]["nodes"]),
        read_graph(module["graph"], "forward"),
        tuple(map(read_input, signature["input_specs"])),
        tuple(map(read_output, signature["output_specs"])),
        tuple(map(read_text, names)),
        *specs,
    )


def class_name(nodes: Any) -> str:
    """The class of the outermost module, which nodes name."""
    for node in nodes:
        entry = read_text((node.get("metadata") or {}).get("nn_module_stack", "")).partition(";")[0].split(",")
        if len(entry) == 3 and not entry[1]:
            return entry[2].rpartition(".")[2]
    return ""


def read_structure(spec: Any, depth: int = 0) -> StructureSpec:
    """The structure of a serialized pytree."""
    if depth > MAX_NESTING:
        raise ValueError(f"containers nest deeper than {MAX_NESTING}")
    children = tuple(read_structure(child, depth + 1) for child in spec["children_spec"])
    if spec["type"] is None:
        return StructureSpec(None)
    context = spec["context"]
    try:
        context = json.loads(context) if isinstance(context, str) else None
    except ValueError:
        context = None  # a class of the user's writes its context in its own way
    return StructureSpec(read_text(spec["type"]), context, children)


def read_input(document: Any) -> ProgramInput:
    """An input of the outermost graph: an argument, or a parameter, buffer or constant of the module."""
    ((kind, contents),) = document.items()
    if kind == "user_input":
        return ProgramInput(kind, read_value_name(contents["arg"]))
    if kind == "constant_input":
        ((_, value),) = contents["value"].items()
        constant = None if "as_none" in contents["value"] else value
        if not isinstance(constant, int | float | str | None):
            raise TypeError("a constant input is not a number or a string")
        return ProgramInput(kind, read_text(contents["name"]), constant)
    target = next((read_text(value) for key, value in contents.items() if key.endswith("_name")), "")
    return ProgramInput(read_text(kind), read_text(contents["arg"]["name"]), target)


def read_output(document: Any) -> ProgramOutput:
    """A result of the outermost graph, or the new value of a parameter or buffer."""
    ((kind, contents),) = document.items()
    target = next((read_text(value) for key, value in contents.items() if key.endswith("_name")), "")
    argument = contents["arg"]
    value = read_argument(argument) if kind == "user_output" else ValueName(read_text(argument["name"]))
    return ProgramOutput(read_text(kind), value, target)


def read_graph(document: Any, name: str, depth: int = 0) -> ExportedGraph:
    """A graph, with the graphs among the arguments of its nodes."""
    if depth > MAX_DEPTH:
        raise ValueError(f"graphs nest deeper than {MAX_DEPTH}")
    symbols = [read_text(name) for kind in ("int", "bool", "float") for name in document.get(f"sym_{kind}_values", {})]
    return ExportedGraph(
        name,
        tuple(read_argument(argument) for argument in document["inputs"]),
        tuple(read_node(node, depth) for node in document["nodes"]),
        tuple(read_argument(argument) for argument in document["outputs"]),
        {read_text(name): read_meta(meta) for name, meta in document["tensor_values"].items()},
        frozenset(symbols),
    )


def read_node(document: Any, depth: int) -> ExportedNode:
    """A node of a graph at this depth."""
    arguments = tuple(
        (read_text(argument["name"]), read_argument(argument["arg"], depth)) for argument in document["inputs"]
    )
    outputs = tuple(map(read_argument, document["outputs"]))
    first = next((name for output in outputs for name in names_in(output)), "")
    metadata = document.get("metadata") or {}
    return ExportedNode(
        read_text(document.get("name") or first or document["target"]),
        read_text(document["target"]),
        arguments,
        outputs,
        module_names(read_text(metadata.get("nn_module_stack", ""))),
        traced_line(read_text(metadata.get("stack_trace", ""))),
    )


def module_names(stack: str) -> tuple[str, ...]:
    """The names of nested modules, each within the one before.

    >>> module_names("L__self__,,M;L__self___layers_0,layers.0,Layer;L__self___layers_0_mlp,layers.0.mlp,MLP")
    ('layers.0', 'mlp')
    """
    names, outer = [], ""
    for entry in stack.split(";"):
        path = entry.split(",")[1] if entry.count(",") >= 2 else ""
        if path and path != outer:
            names.append(path.removeprefix(f"{outer}."))
            outer = path
    return tuple(names[:MAX_NESTING])


def traced_line(stack: str) -> str:
    """The innermost line of the user's files in a stack trace.

    >>> traced_line('File "/home/me/model.py", line 10, in forward' + chr(10) + '    x = f(x)')
    'model.py:10'
    """
    frames = [line.strip() for line in stack.splitlines() if line.strip().startswith('File "')]
    for frame in reversed(frames):
        path, _, line_text = frame.removeprefix('File "').partition('", line ')
        number = line_text.partition(",")[0]
        if not path.startswith("<") and number.isdigit():
            return f"{path.replace(chr(92), '/').rpartition('/')[2]}:{number}"
    return ""


def read_meta(document: Any) -> TensorMeta:
    """The declaration of a tensor."""
    return TensorMeta(
        ScalarType(read_integer(document["dtype"])),
        tuple(map(read_size, document["sizes"])),
        tuple(map(read_size, document["strides"])),
        read_size(document["storage_offset"]),
        read_integer(document["layout"]),
    )


def read_size(document: Any) -> int | None:
    """A size, stride or offset; None for an expression, which is known only at run time."""
    if "as_int" not in document:
        return None
    size = read_integer(document["as_int"])
    if size < 0:
        raise ValueError("a size is negative")
    return size


def read_argument(document: Any, depth: int = 0) -> Any:
    """An argument of a node: a name, a Python object, or a list of either."""
    ((kind, contents),) = document.items()
    if kind == "as_graph":
        return read_graph(contents["graph"], read_text(contents["name"]), depth + 1)
    reader = ARGUMENT_READERS.get(kind)
    return ForeignArgument(read_text(kind)) if reader is None else reader(contents)


def read_value_name(document: Any) -> ValueName:
    """The name in an argument that names a value."""
    argument = read_argument(document)
    if isinstance(argument, ForeignArgument):
        return ValueName(read_text(next(iter(document.values()))["name"]))
    if not isinstance(argument, ValueName):
        raise TypeError("an input of the program has no name")
    return argument


def list_reader(read: Callable[[Any], Any]) -> Callable[[Sequence[Any]], list[Any]]:
    """The reader of a list, by the reader of its items."""

    def read_list(contents: Sequence[Any]) -> list[Any]:
        if not isinstance(contents, list):
            raise TypeError(f"a {type(contents).__name__} is not a list")
        return list(map(read, contents))

    return read_list


def read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a {type(value).__name__} is not a string")
    return value


def read_integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"a {type(value).__name__} is not an integer")
    return value


def read_bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"a {type(value).__name__} is not a bool")
    return value


def read_float(value: Any) -> float:
    """A float, which may be written as a string: "Infinity", "-Infinity" or "NaN"."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(f"a {type(value).__name__} is not a number")
    return float(value)


def read_tensor_name(contents: Any) -> ValueName:
    return ValueName(read_text(contents["name"]))


def symbol_reader(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The reader of a number, or of the name of a value that is one, by the reader of numbers."""

    def read_symbol(contents: Any) -> Any:
        ((kind, value),) = contents.items()
        return ValueName(read_text(value)) if kind == "as_name" else read(value)

    return read_symbol


def read_optional_tensor(contents: Any) -> ValueName | None:
    return read_tensor_name(contents["as_tensor"]) if "as_tensor" in contents else None


def read_omitted(contents: Any) -> OmittedArgument:
    return OmittedArgument()


ARGUMENT_READERS: Mapping[str, Callable[[Any], Any]] = {
    "as_none": lambda contents: None,
    "as_tensor": read_tensor_name,
    "as_tensors": list_reader(read_tensor_name),
    "as_optional_tensor": read_optional_tensor,
    "as_optional_tensors": list_reader(read_optional_tensor),
    "as_nested_tensors": list_reader(list_reader(read_tensor_name)),
    "as_int": read_integer,
    "as_ints": list_reader(read_integer),
    "as_int_lists": list_reader(list_reader(read_integer)),
    "as_float": read_float,
    "as_floats": list_reader(read_float),
    "as_bool": read_bool,
    "as_bools": list_reader(read_bool),
    "as_string": read_text,
    "as_strings": list_reader(read_text),
    "as_sym_int": symbol_reader(read_integer),
    "as_sym_ints": list_reader(symbol_reader(read_integer)),
    "as_sym_float": symbol_reader(read_float),
    "as_sym_floats": list_reader(symbol_reader(read_float)),
    "as_sym_bool": symbol_reader(read_bool),
    "as_sym_bools": list_reader(symbol_reader(read_bool)),
    "as_scalar_type": lambda contents: ScalarType(read_integer(contents)),
    "as_memory_format": read_omitted,
    "as_layout": lambda contents: OmittedArgument() if contents == STRIDED else ForeignArgument("a sparse layout"),
    "as_device": read_omitted,
}
"""The readers of arguments, by their kind in the schema; an argument of another kind is a ForeignArgument."""
