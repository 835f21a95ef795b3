"""Checkpoint files: safetensors, with the graph of objects as JSON in the `__metadata__`.

Tensors are named by the paths of their variables, so that any safetensors reader can use them. Files are not trusted:
reading raises Malformed for any fault, with the file and the position in it, and runs no code.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.errors import Malformed, Usage
from ...core.files import check_path, path_errors, write_atomically
from ...core.frontend.trace.source_location import user_location
from ...core.json.cursor import JsonCursor, describe_json, document_header, parse_json, read_form
from ...core.types import MAX_AXES
from ...core.value import Literal, literal

METADATA_KEY = "tagloom"
"""The metadata key of the graph of objects."""
MAX_HEADER_BYTES = 100_000_000
"""The limit of safetensors readers on the header, which has names and shapes."""
_DTYPES = ("BOOL", "I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64", "F32", "F64", "F16", "BF16")
"""The safetensors names of our dtypes."""


class CheckpointNode(NamedTuple):
    """An object in a file: its edges, by name, to the numbers of other objects, or the tensor of a variable."""

    edges: Mapping[str, int]
    tensor: str | None = None


class CheckpointContents(NamedTuple):
    """The contents of a checkpoint file. The first node is the root."""

    path: str
    nodes: Sequence[CheckpointNode]
    tensors: Mapping[str, Literal]


def write_checkpoint(
    path: str | os.PathLike[str], nodes: Sequence[CheckpointNode], tensors: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Write a checkpoint atomically; raises Usage if the file cannot be written, or would be too large to read."""
    from safetensors.numpy import save  # not before it is used

    forms = [{"edges": node.edges} if node.tensor is None else {"tensor": node.tensor} for node in nodes]
    text = json.dumps(document_header("checkpoint", nodes=forms), separators=(",", ":"))
    data = save(dict(tensors), {METADATA_KEY: text})
    size = int.from_bytes(data[:8], "little")
    if size > MAX_HEADER_BYTES:
        required = f"{MAX_HEADER_BYTES:,} bytes of names and shapes"
        raise Usage("too many objects for a file", where=user_location(), required=required, got=f"{size:,}")
    with path_errors(path, "this checkpoint cannot be written", user_location()):
        write_atomically(Path(path), data)


def read_checkpoint(path: str | os.PathLike[str]) -> CheckpointContents:
    """Read a checkpoint; raises Usage if the file cannot be read, and Malformed if it is not a checkpoint."""
    from safetensors import SafetensorError, safe_open

    name = os.fspath(path)
    check_path(name, "this checkpoint cannot be read", user_location())
    if not os.path.isfile(name):
        raise (
            unreadable_error(name, "it is not a file", IsADirectoryError)
            if os.path.exists(name)
            else unreadable_error(name, "there is no such file", FileNotFoundError)
        )
    try:
        with safe_open(name, framework="np") as file:
            nodes = parse_nodes(file.metadata() or {}, name, file.keys())
            tensors = {key: read_tensor(file, key, name) for key in file.keys()}  # noqa: SIM118 - it is not a dict
    except OSError as error:
        raise unreadable_error(name, error.strerror or str(error), type(error)) from None
    except SafetensorError as error:
        raise Malformed("this is not a safetensors file, or an incomplete one", where=name, got=error) from None
    return CheckpointContents(name, nodes, tensors)


def unreadable_error(path: str, reason: str, python: type[OSError]) -> Usage:
    """The error for a file that cannot be read; it is also of the class `python`."""
    return Usage("this checkpoint cannot be read", where=user_location(), got=path, hint=reason, python=python)


def parse_nodes(metadata: Mapping[str, str], path: str, tensors: Sequence[str]) -> tuple[CheckpointNode, ...]:
    """The graph of objects; every tensor must belong to one variable."""
    if METADATA_KEY not in metadata:
        hint = "safetensors.numpy.load_file reads its tensors"
        raise Malformed("this is not a tagloom checkpoint", where=path, required=f"metadata {METADATA_KEY}", hint=hint)
    cursor = JsonCursor(parse_json(metadata[METADATA_KEY], f"{path}: $"), f"{path}: $")
    read_form(cursor, ("checkpoint",))
    node_list = cursor.fields("tagloom", "version", "nodes")[2]
    nodes = node_list.map_entries(lambda node: parse_node(node, len(node_list.raw_list())))
    if not nodes or nodes[0].tensor is not None:
        node_list.refuse("a root, which has edges")
    tensor_counts, file_counts = Counter(node.tensor for node in nodes if node.tensor is not None), Counter(tensors)
    unmatched = next(iter((tensor_counts - file_counts) | (file_counts - tensor_counts)), None)
    if unmatched is not None:
        node_list.refuse("one node for each tensor of the file, and no other", f"tensor {describe_json(unmatched)}")
    return nodes


def parse_node(cursor: JsonCursor, count: int) -> CheckpointNode:
    """An object of the graph of objects, which has `count` objects."""
    if "tensor" in cursor.mapping():
        return CheckpointNode({}, cursor.fields("tensor")[0].text())
    (edges,) = cursor.fields("edges")
    return CheckpointNode({name: parse_node_number(target, count) for name, target in edges.items()})


def parse_node_number(cursor: JsonCursor, count: int) -> int:
    """The number of an object: an integer from 0 to below `count`."""
    number = cursor.integer(0)
    if number >= count:
        cursor.refuse(f"the number of a node, below {count}")
    return number


def read_tensor(file: Any, name: str, path: str) -> Literal:
    """A tensor of an open file; raises Malformed if its dtype is unknown, or if it has too many axes."""
    tensor_slice = file.get_slice(name)
    dtype, shape = tensor_slice.get_dtype(), tensor_slice.get_shape()
    try:
        if dtype not in _DTYPES or len(shape) > MAX_AXES:
            raise ValueError
        return literal(np.asarray(file.get_tensor(name)))
    except ValueError:
        required = f"one of {', '.join(_DTYPES)}, of {MAX_AXES} axes at most"
        got = f"{dtype} of {len(shape)} axes"
        message = f"tagloom has no values like tensor {describe_json(name)}"
        raise Malformed(message, where=path, required=required, got=got) from None
